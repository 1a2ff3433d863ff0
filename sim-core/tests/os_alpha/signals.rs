//! Signal frames, masks, faults, the control word of floating point.

use hps_isa::alpha::fpcr;
use hps_isa::hart::Hart;
use hps_isa::inst::reg;
use hps_isa::isa::Isa;
use hps_isa::layout;
use hps_isa::trap::{Trap, TrapCause};
use hps_system::os::{SyscallResult, exit_code_of_fault};

use super::{EINVAL, NO_FD, PID, guest};
use crate::os_support::alpha::*;
use crate::os_support::{BUFFER, Guest};

const SIGTRAP: u64 = 5;
const SIGFPE: u64 = 8;
const SIGBUS: u64 = 10;
const USR1: u64 = 30;
const USR2: u64 = 31;
const HANDLER: u64 = 0x10104;
const RESTORER: u64 = 0x10108;
const SA_ONSTACK: u64 = 1;
const SA_NODEFER: u64 = 8;
const SA_RESETHAND: u64 = 0x10;
const SA_SIGINFO: u64 = 0x40;

fn handle(guest: &mut Guest, signal: u64, flags: u64, restorer: u64) {
    guest.put_words(BUFFER, &[HANDLER, flags, 1 << (USR2 - 1)]);
    assert_eq!(guest.alpha(352, &[signal, BUFFER, 0, 8, restorer]), Ok(0));
}

fn blocked(guest: &mut Guest) -> u64 {
    guest.alpha(48, &[1, 0]).unwrap()
}

/// Sends itself a signal that it handles, and returns the registers before.
fn enter(guest: &mut Guest, flags: u64, restorer: u64) -> Hart {
    handle(guest, USR1, flags, restorer);
    let hart = &mut guest.0.thread.hart;
    hart.pc = 0x10200;
    hart.r[1] = 0x1111;
    hart.r[29] = 0x2929;
    hart.r[reg::FP as usize + 9] = 0x9999;
    fpcr::write(hart, 1 << 58 | 1 << 53);
    let before = hart.clone();
    assert_eq!(guest.raw_alpha(37, &[PID, USR1]), SyscallResult::Continue);
    assert_eq!(guest.0.thread.hart.pc, HANDLER);
    assert_eq!(guest.0.thread.hart.r[PV], HANDLER);
    assert_eq!(guest.0.thread.hart.r[A0], USR1);
    before
}

/// Checks `struct sigcontext` at `context`, then changes what it restores.
fn check_context(guest: &mut Guest, context: u64, before: &Hart) {
    let word = |at: u64| guest.word(context + at);
    assert_eq!(
        (word(8), word(16), word(24)),
        (0, 0x10200, 8),
        "mask, pc, ps"
    );
    assert_eq!((word(32), word(32 + 19 * 8)), (0, 0), "the result of kill");
    assert_eq!((word(32 + 8), word(32 + 29 * 8)), (0x1111, 0x2929));
    assert_eq!((word(32 + 30 * 8), word(32 + 31 * 8)), (before.r[SP], 0));
    assert_eq!((word(296 + 9 * 8), word(296 + 31 * 8)), (0x9999, 0));
    assert_eq!(word(552), 1 << 63 | 1 << 58 | 1 << 53, "fpcr");
    assert_eq!(blocked(guest), 1 << (USR1 - 1) | 1 << (USR2 - 1));
    let hart = &mut guest.0.thread.hart;
    hart.r[1] = 0;
    hart.r[29] = 0;
    hart.r[reg::FP as usize + 9] = 0;
    fpcr::write(hart, 2 << 58);
}

fn check_restored(guest: &mut Guest, before: &Hart) {
    let hart = &guest.0.thread.hart;
    assert_eq!((hart.pc, hart.r[SP]), (0x10200, before.r[SP]));
    assert_eq!((hart.r[1], hart.r[29]), (0x1111, 0x2929));
    assert_eq!(hart.r[reg::FP as usize + 9], 0x9999);
    assert_eq!(fpcr::read(hart), 1 << 63 | 1 << 58 | 1 << 53);
    assert_eq!((hart.r[0], hart.r[V0], hart.r[A3]), (0, 0, 0));
    assert_eq!(blocked(guest), 0);
}

#[test]
fn plain_frames() {
    let mut guest = guest();
    let before = enter(&mut guest, 0, 0);
    let frame = guest.0.thread.hart.r[SP];
    assert_eq!(frame, (before.r[SP] - 664) & !31);
    assert_eq!(
        (guest.0.thread.hart.r[A0 + 1], guest.0.thread.hart.r[A0 + 2]),
        (0, frame)
    );
    assert_eq!(guest.0.thread.hart.r[RA], layout::TRAMPOLINE + 16);
    // mov sp,a0; lda v0,103; callsys
    let code = [0, 4, 8].map(|at| {
        guest
            .0
            .mem
            .fetch_four_bytes(layout::TRAMPOLINE + 16 + at)
            .unwrap()
    });
    assert_eq!(code, [0x47fe_0410, 0x201f_0067, 0x83]);
    check_context(&mut guest, frame, &before);
    // A forged register 31 stays zero.
    guest.put_words(frame + 32 + 31 * 8, &[99]);
    assert_eq!(guest.raw_alpha(103, &[frame]), SyscallResult::Continue);
    check_restored(&mut guest, &before);
}

#[test]
fn frames_with_information() {
    let mut guest = guest();
    let before = enter(&mut guest, SA_SIGINFO, RESTORER);
    let frame = guest.0.thread.hart.r[SP];
    assert_eq!(frame, (before.r[SP] - 848) & !31);
    assert_eq!(
        (guest.0.thread.hart.r[A0 + 1], guest.0.thread.hart.r[A0 + 2]),
        (frame, frame + 128)
    );
    assert_eq!(guest.0.thread.hart.r[RA], RESTORER);
    assert_eq!(
        (
            guest.half(frame),
            guest.half(frame + 8),
            guest.half(frame + 16)
        ),
        (30, 0, 1000)
    );
    // The kernel's own way back, for programs without one.
    let code = [0, 4, 8].map(|at| {
        guest
            .0
            .mem
            .fetch_four_bytes(layout::TRAMPOLINE + at)
            .unwrap()
    });
    assert_eq!(code, [0x47fe_0410, 0x201f_015f, 0x83]);
    check_context(&mut guest, frame + 128 + 48, &before);
    // A handler may change the mask that is restored.
    assert_eq!(guest.word(frame + 128 + 696), 0);
    assert_eq!(guest.raw_alpha(351, &[frame]), SyscallResult::Continue);
    check_restored(&mut guest, &before);
    for addr in [0, 1 << 34, u64::MAX - 100] {
        for number in [103, 351] {
            let forged = super::guest().raw_alpha(number, &[addr]);
            assert_eq!(forged, SyscallResult::Exit(139));
        }
    }
}

#[test]
fn actions_masks_and_stacks() {
    let mut guest = guest();
    handle(&mut guest, USR1, SA_NODEFER | SA_RESETHAND, 0);
    assert_eq!(guest.raw_alpha(37, &[PID, USR1]), SyscallResult::Continue);
    assert_eq!(blocked(&mut guest), 1 << (USR2 - 1));
    assert_eq!(guest.raw_alpha(37, &[PID, USR1]), SyscallResult::Exit(158));
    let mut guest = super::guest();
    // SIGSTOP is 17 and SIGCHLD 20. Nobody is there who could let the process go on.
    assert_eq!(guest.alpha(352, &[17, BUFFER, 0, 8, 0]), Err(EINVAL));
    assert_eq!(guest.alpha(37, &[PID, 20]), Ok(0));
    assert_eq!(guest.raw_alpha(37, &[PID, 17]), SyscallResult::Trap);
    let mut guest = super::guest();
    // sigaction of OSF/1: handler, mask, flags
    guest.put_words(BUFFER, &[HANDLER, 1, SA_ONSTACK]);
    assert_eq!(guest.alpha(156, &[USR1, BUFFER, 0]), Ok(0));
    assert_eq!(guest.alpha(156, &[USR1, 0, BUFFER + 64]), Ok(0));
    assert_eq!(guest.get(BUFFER, 24), guest.get(BUFFER + 64, 24));
    let stack = guest.alpha(71, &[0, 0x4000, 3, 0x12, NO_FD, 0]).unwrap();
    guest.put_words(BUFFER, &[stack + 0x4000, 0]);
    assert_eq!(guest.alpha(112, &[BUFFER, 0]), Ok(0), "sigstack");
    // sigsuspend takes the mask itself. Nobody can send what it waits for.
    assert_eq!(guest.raw_alpha(111, &[0]), SyscallResult::Trap);
}

fn fault(cause: TrapCause, encoding: u32) -> Trap {
    Trap {
        cause,
        pc: 0x10200,
        encoding,
    }
}

/// Delivers a fault to a handler and returns signal, code, address and trap number of its
/// information, and the program counter of its context.
fn delivered(signal: u64, trap: &Trap, prepare: impl Fn(&mut Guest)) -> (u32, u32, u64, u32, u64) {
    let mut guest = guest();
    prepare(&mut guest);
    handle(&mut guest, signal, SA_SIGINFO, 0);
    assert!(guest.0.deliver_fault(trap), "{trap}");
    let info = guest.sp();
    (
        guest.half(info),
        guest.half(info + 8),
        guest.word(info + 16),
        guest.half(info + 24),
        guest.word(info + 128 + 48 + 16),
    )
}

#[test]
fn faults() {
    let next = 0x10204;
    // divt/su $f1,$f2,$f3 with the exception enabled, and divt without software completion.
    let enable = |guest: &mut Guest| fpcr::set_ieee_fp_control(&mut guest.0.thread.hart, 0x7e);
    let trap = fault(TrapCause::Arithmetic { exceptions: 1 << 2 }, 0x5822_b463);
    assert_eq!(delivered(SIGFPE, &trap, enable), (8, 3, next, 0, next));
    let trap = fault(TrapCause::Arithmetic { exceptions: 1 << 2 }, 0x5822_1463);
    assert_eq!(delivered(SIGFPE, &trap, |_| ()), (8, 7, next, 0, next));
    let none = |_: &mut Guest| ();
    for (code, signal, si_code) in [
        (-1, SIGFPE, 2),
        (-2, SIGFPE, 1),
        (-3, SIGFPE, 4),
        (-4, SIGFPE, 3),
        (-5, SIGFPE, 5),
        (-6, SIGFPE, 7),
        (-7, SIGFPE, 6),
        (-11, SIGFPE, 14),
        (-13, SIGTRAP, 5),
        (77, SIGTRAP, 5),
    ] {
        let trap = fault(TrapCause::Raised { code }, 0xaa);
        assert_eq!(
            delivered(signal, &trap, none),
            (signal as u32, si_code, next, code as u32, next)
        );
    }
    let trap = fault(TrapCause::Breakpoint, 0x80);
    assert_eq!(delivered(SIGTRAP, &trap, none), (5, 1, next, 0, next));
    let trap = fault(TrapCause::IllegalInstruction, 0);
    assert_eq!(delivered(4, &trap, none), (4, 1, next, 0, next));
    let trap = fault(TrapCause::Misaligned { addr: 0x12801 }, 0);
    assert_eq!(delivered(SIGBUS, &trap, none), (10, 1, 0x12801, 0, 0x10200));
    let trap = fault(TrapCause::LoadFault { addr: 8 }, 0);
    assert_eq!(delivered(11, &trap, none), (11, 1, 8, 0, 0x10200));
    let trap = fault(TrapCause::StoreFault { addr: 0x10000 }, 0);
    assert_eq!(delivered(11, &trap, none), (11, 2, 0x10000, 0, 0x10200));
    // What ends a program without handlers.
    let bus = fault(TrapCause::MisalignedAtomic { addr: 1 }, 0);
    assert_eq!(exit_code_of_fault(Isa::Alpha, &bus), 138);
    let raised = fault(TrapCause::Raised { code: -13 }, 0);
    assert_eq!(exit_code_of_fault(Isa::Alpha, &raised), 133);
}

#[test]
fn the_floating_point_control_word() {
    let mut guest = guest();
    // Set: overflow enabled, inexact accrued; the rounding mode stays.
    fpcr::write(&mut guest.0.thread.hart, 3 << 58);
    guest.put_words(BUFFER, &[1 << 3 | 1 << 21]);
    assert_eq!(guest.alpha(257, &[14, BUFFER]), Ok(0));
    assert_eq!(fpcr::read(&guest.0.thread.hart) >> 58 & 3, 3);
    assert_eq!(guest.alpha(256, &[45, BUFFER + 8]), Ok(0));
    assert_eq!(guest.word(BUFFER + 8), 1 << 3 | 1 << 21);
    // Raising what is not enabled only accrues it.
    guest.put_words(BUFFER, &[1 << 18]);
    assert_eq!(guest.alpha(257, &[1001, BUFFER]), Ok(0));
    assert_eq!(guest.alpha(256, &[45, BUFFER + 8]), Ok(0));
    assert_eq!(guest.word(BUFFER + 8), 1 << 3 | 1 << 21 | 1 << 18);
    handle(&mut guest, SIGFPE, SA_SIGINFO, 0);
    guest.put_words(BUFFER, &[1 << 19]);
    assert_eq!(
        guest.raw_alpha(257, &[1001, BUFFER]),
        SyscallResult::Continue
    );
    assert_eq!(guest.0.thread.hart.pc, HANDLER);
    assert_eq!(guest.half(guest.sp() + 8), 4, "FPE_FLTOVF");
}
