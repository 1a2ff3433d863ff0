//! OSF/1 (Digital Unix), for programs in its own file format: its numbers and structures (the Tru64
//! UNIX reference pages, section 2; `osf_sys.c` of Linux, which serves the same calls). What Linux took
//! over from it lies in [`abi_alpha`](super::abi_alpha).

use hps_isa::alpha::registers;
use hps_isa::hart::Hart;

use super::abi::{DecodedCall, ProgramStart};
use super::abi_alpha::{Alpha, FORK, VFORK, at_cwd, common_call, osf_stat};
use super::calls::Call;

/// The interface of OSF/1.
pub static OSF1: Alpha = Alpha {
    system: ("OSF1", "V4.0"),
    call,
    native_stat: osf_stat,
    start,
    optional_fp: true,
};

/// The file's global pointer and the address of the first procedure are in their registers, and the
/// arguments of `main` in those of a call.
fn start(hart: &mut Hart, start: &ProgramStart) {
    let argv = start.stack + 8;
    let envp = argv + (start.argument_count + 1) * 8;
    let mut set = |register: u8, value| hart.r[usize::from(register)] = value;
    set(registers::GP, start.global_pointer.unwrap_or(0));
    set(registers::PV, start.entry);
    set(registers::A0, start.argument_count);
    set(registers::A0 + 1, argv);
    set(registers::A0 + 2, envp);
}

fn call(number: u64, a: [u64; 6]) -> Option<DecodedCall> {
    Some(match number {
        // syscall: the number is the first argument.
        0 if a[0] != 0 => return call(a[0], [a[1], a[2], a[3], a[4], a[5], 0]),
        // fork, execve, vfork
        2 => (Call::Clone, FORK),
        66 => (Call::Clone, VFORK),
        11 | 59 => (Call::Execve, a),
        // wait4 and its predecessor
        7 => (Call::OsfWait4, a),
        84 => (Call::OsfWait4, [a[0], a[1], a[2], 0, 0, 0]),
        // The older open and creat
        5 => at_cwd(Call::Openat, [a[0], a[1], a[2]]),
        8 => at_cwd(Call::Openat, [a[0], O_WRONLY_CREAT_TRUNC, a[1]]),
        // fdatasync
        261 => (Call::Fdatasync, a),
        _ => return common_call(number, a),
    })
}

/// `O_WRONLY | O_CREAT | O_TRUNC`
const O_WRONLY_CREAT_TRUNC: u64 = 0o3001;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indirect_calls_and_old_ones() {
        assert_eq!(
            call(0, [4, 1, 2, 3, 0, 0]),
            Some((Call::Write, [1, 2, 3, 0, 0, 0]))
        );
        assert_eq!(call(0, [0; 6]), None);
        let (made, arguments) = call(8, [7, 0o644, 0, 0, 0, 0]).unwrap();
        assert_eq!(made, Call::Openat);
        assert_eq!(&arguments[1..4], [7, O_WRONLY_CREAT_TRUNC, 0o644]);
        // What Linux added has no meaning here.
        assert_eq!(call(339, [0; 6]), None);
    }
}
