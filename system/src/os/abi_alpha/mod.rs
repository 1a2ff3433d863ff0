//! Linux on Alpha, and what OSF/1 shares with it: Linux took over that system's numbers, structures
//! and conventions so that its programs could run (Linux `arch/alpha/include/uapi/asm/*.h`,
//! `arch/alpha/kernel/{entry.S,osf_sys.c,signal.c,traps.c}`).
//!
//! The number of a call is in `v0`, its arguments in `a0` to `a5`. On return `a3` says whether it
//! failed, and `v0` holds the result or the error number, which is positive.

mod calls;
mod frame;
mod structures;

use hps_isa::alpha::{self, fpcr, registers};
use hps_isa::bus::MemFault;
use hps_isa::hart::Hart;
use hps_isa::inst::reg;
use hps_isa::memory::Memory;
use hps_isa::trap::{Trap, TrapCause};

use super::abi::{
    Abi, DecodedCall, FcntlCommand, FileStat, FrameKind, FsStat, HandlerEntry, IoctlRequest,
    ProgramStart, Resource, Restored, StatFormat, generic_fcntl_command,
};
use super::call_names;
use super::errno::Errno;
use super::flags::{MapRules, OpenRules, SyncRules};
use super::signals::{Fault, Signal, SignalRules};
use super::sockets::{SocketOption, SocketRules};

pub(super) use self::calls::{FORK, VFORK, at_cwd, common_call};
pub(super) use self::structures::osf_stat;

/// The page of every Alpha so far, in bytes.
pub const PAGE_BYTES: u64 = 8192;

/// A system call interface of Alpha: what differs between Linux and OSF/1.
#[derive(Debug)]
pub struct Alpha {
    pub(super) system: (&'static str, &'static str),
    pub(super) call: fn(u64, [u64; 6]) -> Option<DecodedCall>,
    pub(super) native_stat: fn(&FileStat) -> Vec<u8>,
    pub(super) start: fn(&mut Hart, &ProgramStart),
    /// `sigreturn` leaves the floating-point state alone if the context says that it holds none
    /// (`longjmp` uses it so).
    pub(super) optional_fp: bool,
}

/// That of Linux.
pub static LINUX: Alpha = Alpha {
    system: ("Linux", "6.1.0"),
    call: calls::linux_call,
    native_stat: structures::stat,
    start: |_, _| {},
    optional_fp: false,
};

/// `O_*`.
const OPEN_RULES: OpenRules = OpenRules {
    create: 0o1000,
    exclusive: 0o4000,
    truncate: 0o2000,
    append: 0o10,
    nonblock: 0o4,
    directory: 0o100_000,
    nofollow: 0o200_000,
    cloexec: 0o10_000_000,
    path_only: 0o40_000_000,
    direct: 0o2_000_000,
    unnamed: 0o100_000_000,
};

/// `MAP_*`.
const MAP_RULES: MapRules = MapRules {
    fixed: 0x100,
    fixed_no_replace: 0x20_0000,
    anonymous: 0x10,
    grows_down: 0x1000,
    locked: 0x8000,
    no_reserve: 0x1_0000,
    huge: 0x10_0000,
    huge_sizes: &[],
    // DENYWRITE, EXECUTABLE, POPULATE, NONBLOCK, STACK
    ignored: 0xe_6000,
};

/// `MS_*` and `MCL_*`.
const SYNC_RULES: SyncRules = SyncRules {
    sync: 2,
    invalidate: 4,
    lock_current: 0x2000,
    lock_future: 0x4000,
    lock_on_fault: 0x8000,
};

/// `SOCK_NONBLOCK`, `SOL_SOCKET` and `SO_*`.
const SOCKET_RULES: SocketRules = SocketRules {
    nonblock: 0x4000_0000,
    level: 0xffff,
    options: &[
        (0x1, SocketOption::Kept), // SO_DEBUG
        (0x4, SocketOption::SharesAddress),
        (0x8, SocketOption::Kept),  // SO_KEEPALIVE
        (0x10, SocketOption::Kept), // SO_DONTROUTE
        (0x11, SocketOption::Kept), // SO_PASSCRED
        (0x12, SocketOption::PeerCredentials),
        (0x20, SocketOption::Kept), // SO_BROADCAST
        (0x80, SocketOption::Linger),
        (0x100, SocketOption::Kept), // SO_OOBINLINE
        (0x200, SocketOption::SharesAddress),
        (0x1001, SocketOption::Buffer),
        (0x1002, SocketOption::Buffer),
        (0x1007, SocketOption::Error),
        (0x1008, SocketOption::Type),
        (0x1010, SocketOption::Kept), // SO_RCVLOWAT
        (0x1012, SocketOption::ReceiveTimeout),
        (0x1014, SocketOption::Listens),
        (0x1028, SocketOption::Protocol),
        (0x1029, SocketOption::Domain),
    ],
};

/// Requests of `ioctl`, with direction, size and group in them.
mod request {
    pub const FIOCLEX: u64 = 0x2000_6601;
    pub const FIONCLEX: u64 = 0x2000_6602;
    pub const FIOASYNC: u64 = 0x8004_667d;
    pub const FIONBIO: u64 = 0x8004_667e;
    pub const FIONREAD: u64 = 0x4004_667f;
}

/// `SA_*`, `how` of `sigprocmask` and the numbers of signals.
const SIGNAL_RULES: SignalRules = SignalRules {
    on_stack: 1,
    restart: 2,
    reset_handler: 0x10,
    no_defer: 8,
    block: 1,
    unblock: 2,
    set_mask: 3,
    no_child_wait: 0x20,
    no_child_stop: 4,
    stop: 17,
    stops: [17, 18, 21, 22],
    go_on: 19,
    child: 20,
    // SIGURG, SIGCONT, SIGCHLD and SIGWINCH.
    ignored: [16, 19, 20, 28],
};

/// `si_code` of a breakpoint, and of a trap about which nothing is known.
const TRAP_BRKPT: i32 = 1;
const TRAP_UNK: i32 = 5;

/// Signal and code of a trap that the program raised itself (`asm/gentrap.h`): integer and floating-point errors by
/// their `si_code`; all else is a trap of the run-time system.
fn raised(code: i64) -> (Signal, i32) {
    let fpe = |code| (Signal::Fpe, code);
    match code as i32 {
        -1 => fpe(2),   // GEN_INTOVF: FPE_INTOVF
        -2 => fpe(1),   // GEN_INTDIV: FPE_INTDIV
        -3 => fpe(4),   // GEN_FLTOVF: FPE_FLTOVF
        -4 => fpe(3),   // GEN_FLTDIV: FPE_FLTDIV
        -5 => fpe(5),   // GEN_FLTUND: FPE_FLTUND
        -6 => fpe(7),   // GEN_FLTINV: FPE_FLTINV
        -7 => fpe(6),   // GEN_FLTINE: FPE_FLTRES
        -11 => fpe(14), // GEN_ROPRAND: FPE_FLTUNK
        _ => (Signal::Trap, TRAP_UNK),
    }
}

fn errno_number(errno: Errno) -> u16 {
    match errno {
        Errno::EAGAIN => 35,
        Errno::EDEADLK => 11,
        Errno::EOPNOTSUPP => 45,
        Errno::EINPROGRESS => 36,
        Errno::ENOTSOCK => 38,
        Errno::EDESTADDRREQ => 39,
        Errno::EMSGSIZE => 40,
        Errno::ENOBUFS => 55,
        Errno::ETOOMANYREFS => 59,
        Errno::ENOPROTOOPT => 42,
        Errno::EPROTONOSUPPORT => 43,
        Errno::ESOCKTNOSUPPORT => 44,
        Errno::EAFNOSUPPORT => 47,
        Errno::EADDRINUSE => 48,
        Errno::EADDRNOTAVAIL => 49,
        Errno::ENETUNREACH => 51,
        Errno::ECONNRESET => 54,
        Errno::EISCONN => 56,
        Errno::ENOTCONN => 57,
        Errno::ECONNREFUSED => 61,
        Errno::ETIMEDOUT => 60,
        Errno::ELOOP => 62,
        Errno::ENAMETOOLONG => 63,
        Errno::ENOTEMPTY => 66,
        Errno::EDQUOT => 69,
        Errno::ENOLCK => 77,
        Errno::ENOSYS => 78,
        Errno::ENOMSG => 80,
        Errno::EIDRM => 81,
        Errno::EOVERFLOW => 112,
        Errno::ELIBBAD => 123,
        other => other.generic_number(),
    }
}

impl Abi for Alpha {
    fn call_number(&self, hart: &Hart) -> u64 {
        hart.r[usize::from(registers::V0)]
    }

    fn arguments(&self, hart: &Hart) -> [u64; 6] {
        std::array::from_fn(|i| hart.r[usize::from(registers::A0) + i])
    }

    fn call(&self, number: u64, arguments: [u64; 6]) -> Option<DecodedCall> {
        (self.call)(number, arguments)
    }

    fn call_name(&self, number: u64) -> Option<&'static str> {
        call_names::alpha(number)
    }

    fn set_result(&self, hart: &mut Hart, result: Result<u64, Errno>) {
        let (value, failed) = match result {
            Ok(value) => (value, 0),
            Err(errno) => (u64::from(errno_number(errno)), 1),
        };
        hart.r[usize::from(registers::V0)] = value;
        hart.r[usize::from(registers::A3)] = failed;
    }

    fn set_second_result(&self, hart: &mut Hart, value: u64) {
        hart.r[usize::from(registers::A4)] = value;
    }

    fn stack_pointer(&self, hart: &Hart) -> u64 {
        hart.r[usize::from(registers::SP)]
    }

    fn set_stack_pointer(&self, hart: &mut Hart, value: u64) {
        hart.r[usize::from(registers::SP)] = value;
    }

    fn set_initial_registers(&self, hart: &mut Hart, start: &ProgramStart) {
        fpcr::reset(hart);
        (self.start)(hart, start);
    }

    fn set_thread_pointer(&self, hart: &mut Hart, value: u64) {
        hart.r[usize::from(reg::UNIQUE)] = value;
    }

    fn clone_has_tls_last(&self) -> bool {
        true
    }

    fn page_bytes(&self) -> u64 {
        PAGE_BYTES
    }

    fn system(&self) -> (&'static str, &'static str) {
        self.system
    }

    fn machine(&self) -> &'static str {
        "alpha"
    }

    /// The EV6 with the count instructions is Linux's `ev67`.
    fn platform(&self) -> Option<&'static str> {
        Some("ev67")
    }

    /// Bits that `amask` clears.
    fn hwcap(&self) -> u64 {
        alpha::EXTENSIONS
    }

    fn errno_number(&self, errno: Errno) -> u16 {
        errno_number(errno)
    }

    fn socket_rules(&self) -> &'static SocketRules {
        &SOCKET_RULES
    }

    fn open_rules(&self) -> &'static OpenRules {
        &OPEN_RULES
    }

    fn map_rules(&self) -> &'static MapRules {
        &MAP_RULES
    }

    fn stat(&self, stat: &FileStat, format: StatFormat) -> Vec<u8> {
        match format {
            StatFormat::Native => (self.native_stat)(stat),
            StatFormat::Large => structures::stat64(stat),
            StatFormat::Osf => structures::second_osf_stat(stat),
        }
    }

    fn statfs(&self, stat: &FsStat) -> Vec<u8> {
        structures::statfs(stat)
    }

    fn fcntl_command(&self, raw: u64) -> Option<FcntlCommand> {
        generic_fcntl_command(raw, [7, 8, 9], [5, 6])
    }

    fn lock_types(&self) -> [u16; 3] {
        [1, 2, 8]
    }

    fn ioctl_request(&self, raw: u64) -> Option<IoctlRequest> {
        match raw {
            request::FIOCLEX => Some(IoctlRequest::CloseOnExec(true)),
            request::FIONCLEX => Some(IoctlRequest::CloseOnExec(false)),
            request::FIOASYNC => Some(IoctlRequest::Async),
            request::FIONBIO => Some(IoctlRequest::Nonblock),
            request::FIONREAD => Some(IoctlRequest::BytesToRead),
            _ => None,
        }
    }

    fn resource_number(&self, resource: Resource) -> usize {
        match resource {
            Resource::Stack => 3,
            Resource::Core => 4,
            Resource::Files => 6,
            Resource::FileSize => 1,
            Resource::LockedMemory => 9,
            Resource::PendingSignals => 11,
        }
    }

    fn unlimited(&self) -> u64 {
        i64::MAX as u64
    }

    fn sync_rules(&self) -> &'static SyncRules {
        &SYNC_RULES
    }

    fn advice_dontneed(&self) -> u64 {
        6
    }

    fn signal_rules(&self) -> &'static SignalRules {
        &SIGNAL_RULES
    }

    fn signal_number(&self, signal: Signal) -> u8 {
        match signal {
            Signal::Illegal => 4,
            Signal::Trap => 5,
            Signal::Fpe => 8,
            Signal::Bus => 10,
            Signal::Segv => 11,
            Signal::Pipe => 13,
            Signal::FileSize => 25,
            Signal::Alarm => 14,
            Signal::VirtualAlarm => 26,
            Signal::Profiling => 27,
            Signal::Io => 23,
        }
    }

    fn fault_signal(&self, trap: &Trap) -> Signal {
        match trap.cause {
            TrapCause::Raised { code } => raised(code).0,
            _ => Signal::of(trap),
        }
    }

    /// PALcode hands traps of instructions over with the address of the next one, and there the
    /// program goes on; faults of memory it hands over with their own.
    fn fault(&self, trap: &Trap, hart: &mut Hart, is_mapped: bool) -> Fault {
        let fault = Fault::of(trap, is_mapped);
        let next = trap.pc.wrapping_add(4);
        let after = Fault {
            addr: next,
            resume: next,
            ..fault
        };
        match trap.cause {
            TrapCause::Arithmetic { exceptions } => {
                let inst = alpha::decode(trap.encoding);
                let code = fpcr::complete_trapped(hart, &inst, exceptions);
                Fault { code, ..after }
            }
            TrapCause::Raised { code } => Fault {
                code: raised(code).1,
                trap_number: code as i32,
                ..after
            },
            TrapCause::Breakpoint => Fault {
                code: TRAP_BRKPT,
                ..after
            },
            TrapCause::IllegalInstruction => after,
            _ => fault,
        }
    }

    fn trampoline(&self) -> &'static [u8] {
        &frame::TRAMPOLINE
    }

    fn enter_handler(
        &self,
        hart: &mut Hart,
        mem: &mut Memory,
        entry: &HandlerEntry,
    ) -> Result<u64, MemFault> {
        frame::enter(hart, mem, entry)
    }

    fn leave_handler(
        &self,
        hart: &mut Hart,
        mem: &Memory,
        kind: FrameKind,
    ) -> Result<Restored, MemFault> {
        frame::leave(hart, mem, kind, self.optional_fp)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failure_is_said_in_a3() {
        let mut hart = Hart::default();
        let (v0, a3) = (usize::from(registers::V0), usize::from(registers::A3));
        LINUX.set_result(&mut hart, Err(Errno::ENOSYS));
        assert_eq!((hart.r[v0], hart.r[a3]), (78, 1));
        LINUX.set_result(&mut hart, Ok(u64::MAX));
        assert_eq!((hart.r[v0], hart.r[a3]), (u64::MAX, 0));
    }
}
