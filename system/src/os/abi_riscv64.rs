//! Linux on riscv64: the generic system call numbers, structures and signal frame
//! (Linux `include/uapi/asm-generic/unistd.h`, `stat.h`, `fcntl.h`, `mman.h`;
//! `arch/riscv/include/uapi/asm/{sigcontext,ucontext,ptrace,hwcap}.h`; `arch/riscv/kernel/signal.c`).

use hps_isa::bus::MemFault;
use hps_isa::hart::{Hart, NO_RESERVATION};
use hps_isa::inst::reg;
use hps_isa::memory::Memory;

use super::abi::{
    Abi, BLOCK_BYTES, DecodedCall, FcntlCommand, FileStat, FrameKind, FsStat, HandlerEntry,
    IoctlRequest, Resource, Restored, StatFormat, generic_fcntl_command,
};
use super::call_names;
use super::calls::Call;
use super::errno::Errno;
use super::flags::{MapRules, OpenRules, SyncRules};
use super::record::{Record, read_words};
use super::signals::{AltStack, SIGINFO_BYTES, Signal, SignalRules};
use super::sockets::{SocketOption, SocketRules};

const RA: usize = 1;
const SP: usize = 2;
const TP: usize = 4;
const A0: usize = 10;
const A7: usize = 17;

/// The system call interface of riscv64.
#[derive(Clone, Copy, Debug)]
pub struct Riscv64;

/// `O_*` of the generic ABI.
const OPEN_RULES: OpenRules = OpenRules {
    create: 0o100,
    exclusive: 0o200,
    truncate: 0o1000,
    append: 0o2000,
    nonblock: 0o4000,
    directory: 0o200_000,
    nofollow: 0o400_000,
    cloexec: 0o2_000_000,
    path_only: 0o10_000_000,
    direct: 0o40_000,
    unnamed: 0o20_000_000,
};

/// `MAP_*` of the generic ABI.
const MAP_RULES: MapRules = MapRules {
    fixed: 0x10,
    fixed_no_replace: 0x10_0000,
    anonymous: 0x20,
    grows_down: 0x100,
    locked: 0x2000,
    no_reserve: 0x4000,
    huge: 0x4_0000,
    huge_sizes: &[21, 30],
    // DENYWRITE, EXECUTABLE, POPULATE, NONBLOCK, STACK, UNINITIALIZED
    ignored: 0x403_9800,
};

/// `MS_*` and `MCL_*`.
const SYNC_RULES: SyncRules = SyncRules {
    sync: 4,
    invalidate: 2,
    lock_current: 1,
    lock_future: 2,
    lock_on_fault: 4,
};

/// `SOCK_NONBLOCK`, `SOL_SOCKET` and `SO_*`.
const SOCKET_RULES: SocketRules = SocketRules {
    nonblock: 0o4000,
    level: 1,
    options: &[
        (1, SocketOption::Kept), // SO_DEBUG
        (2, SocketOption::SharesAddress),
        (3, SocketOption::Type),
        (4, SocketOption::Error),
        (5, SocketOption::Kept), // SO_DONTROUTE
        (6, SocketOption::Kept), // SO_BROADCAST
        (7, SocketOption::Buffer),
        (8, SocketOption::Buffer),
        (9, SocketOption::Kept),  // SO_KEEPALIVE
        (10, SocketOption::Kept), // SO_OOBINLINE
        (12, SocketOption::Kept), // SO_PRIORITY
        (13, SocketOption::Linger),
        (15, SocketOption::SharesAddress),
        (16, SocketOption::Kept), // SO_PASSCRED
        (17, SocketOption::PeerCredentials),
        (18, SocketOption::Kept), // SO_RCVLOWAT
        (20, SocketOption::ReceiveTimeout),
        (30, SocketOption::Listens),
        (38, SocketOption::Protocol),
        (39, SocketOption::Domain),
    ],
};

/// `struct rt_sigframe`: offsets in bytes.
mod frame {
    pub const UCONTEXT: usize = super::SIGINFO_BYTES;
    /// `uc_stack`: behind `uc_flags` and `uc_link`.
    pub const STACK: usize = UCONTEXT + 16;
    pub const MASK: usize = UCONTEXT + 40;
    /// `uc_mcontext`: the mask has room for 1024 signals, then alignment to 16.
    pub const REGISTERS: usize = UCONTEXT + 176;
    pub const FP: usize = REGISTERS + 32 * 8;
    pub const FCSR: usize = FP + 32 * 8;
    /// The union of floating-point states is as large as that of the Q extension.
    pub const BYTES: usize = FP + 528;
}

/// `SA_*`, `how` of `rt_sigprocmask` and the numbers of signals in the generic ABI.
const SIGNAL_RULES: SignalRules = SignalRules {
    on_stack: 0x0800_0000,
    no_defer: 0x4000_0000,
    restart: 0x1000_0000,
    reset_handler: 0x8000_0000,
    block: 0,
    unblock: 1,
    set_mask: 2,
    no_child_wait: 2,
    no_child_stop: 1,
    stop: 19,
    stops: [19, 20, 21, 22],
    go_on: 18,
    child: 17,
    // SIGCHLD, SIGCONT, SIGURG and SIGWINCH.
    ignored: [17, 18, 23, 28],
};

impl Abi for Riscv64 {
    fn call_number(&self, hart: &Hart) -> u64 {
        hart.r[A7]
    }

    fn arguments(&self, hart: &Hart) -> [u64; 6] {
        std::array::from_fn(|i| hart.r[A0 + i])
    }

    fn call(&self, number: u64, arguments: [u64; 6]) -> Option<DecodedCall> {
        Call::of_generic(number).map(|call| (call, arguments))
    }

    fn call_name(&self, number: u64) -> Option<&'static str> {
        call_names::riscv64(number)
    }

    fn set_result(&self, hart: &mut Hart, result: Result<u64, Errno>) {
        hart.r[A0] = match result {
            Ok(value) => value,
            Err(errno) => -i64::from(errno.generic_number()) as u64,
        };
    }

    fn stack_pointer(&self, hart: &Hart) -> u64 {
        hart.r[SP]
    }

    fn set_stack_pointer(&self, hart: &mut Hart, value: u64) {
        hart.r[SP] = value;
    }

    fn set_thread_pointer(&self, hart: &mut Hart, value: u64) {
        hart.r[TP] = value;
    }

    fn clone_has_tls_last(&self) -> bool {
        false
    }

    fn machine(&self) -> &'static str {
        "riscv64"
    }

    /// Linux gives none on this instruction set (`ELF_PLATFORM` is null).
    fn platform(&self) -> Option<&'static str> {
        None
    }

    /// One bit for each single-letter extension: A, C, D, F, I, M.
    fn hwcap(&self) -> u64 {
        b"ACDFIM"
            .iter()
            .fold(0, |bits, letter| bits | 1 << (letter - b'A'))
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

    fn statfs(&self, stat: &FsStat) -> Vec<u8> {
        let space = [stat.blocks, stat.free, stat.free];
        let files = [stat.files, stat.free_files];
        let words = [&[stat.kind, BLOCK_BYTES][..], &space, &files].concat();
        let record = words
            .into_iter()
            .fold(Record::new(), |r, word| r.u64(u64::from(word)));
        // The identity of the file system is not told.
        let record = record.pad_to(64).u64(u64::from(stat.name_bytes));
        record.u64(u64::from(BLOCK_BYTES)).pad_to(120).done()
    }

    fn fcntl_command(&self, raw: u64) -> Option<FcntlCommand> {
        generic_fcntl_command(raw, [5, 6, 7], [8, 9])
    }

    fn lock_types(&self) -> [u16; 3] {
        [0, 1, 2]
    }

    fn ioctl_request(&self, raw: u64) -> Option<IoctlRequest> {
        match raw {
            0x5421 => Some(IoctlRequest::Nonblock),
            0x541b => Some(IoctlRequest::BytesToRead),
            0x5450 => Some(IoctlRequest::CloseOnExec(false)),
            0x5452 => Some(IoctlRequest::Async),
            0x5451 => Some(IoctlRequest::CloseOnExec(true)),
            _ => None,
        }
    }

    fn resource_number(&self, resource: Resource) -> usize {
        match resource {
            Resource::Stack => 3,
            Resource::Core => 4,
            Resource::Files => 7,
            Resource::FileSize => 1,
            Resource::LockedMemory => 8,
            Resource::PendingSignals => 11,
        }
    }

    fn sync_rules(&self) -> &'static SyncRules {
        &SYNC_RULES
    }

    fn advice_dontneed(&self) -> u64 {
        4
    }

    fn stat(&self, stat: &FileStat, _: StatFormat) -> Vec<u8> {
        let mut record = Record::new()
            .u64(stat.device)
            .u64(stat.inode)
            .u32(stat.mode)
            .u32(stat.links)
            .u32(stat.owner.uid)
            .u32(stat.owner.gid)
            .u64(stat.rdev)
            .pad_to(48)
            .u64(stat.size_bytes)
            .u32(BLOCK_BYTES)
            .pad_to(64)
            .u64(stat.blocks());
        for _ in ["access", "modification", "change"] {
            record = record.u64(stat.time_seconds).u64(0);
        }
        record.pad_to(128).done()
    }

    fn signal_rules(&self) -> &'static SignalRules {
        &SIGNAL_RULES
    }

    fn signal_number(&self, signal: Signal) -> u8 {
        match signal {
            Signal::Illegal => 4,
            Signal::Trap => 5,
            Signal::Bus => 7,
            Signal::Segv => 11,
            Signal::Pipe => 13,
            Signal::Fpe => 8,
            Signal::FileSize => 25,
            Signal::Alarm => 14,
            Signal::VirtualAlarm => 26,
            Signal::Profiling => 27,
            Signal::Io => 29,
        }
    }

    fn trampoline(&self) -> &'static [u8] {
        // li a7, 139 (rt_sigreturn); ecall
        &[0x93, 0x08, 0xb0, 0x08, 0x73, 0x00, 0x00, 0x00]
    }

    fn enter_handler(
        &self,
        hart: &mut Hart,
        mem: &mut Memory,
        entry: &HandlerEntry,
    ) -> Result<u64, MemFault> {
        let addr = entry.stack_top.wrapping_sub(frame::BYTES as u64) & !15;
        let mut record = Record::new()
            .bytes(&entry.info.encode())
            .pad_to(frame::STACK)
            .bytes(&entry.alt_stack.encode())
            .u64(entry.mask)
            .pad_to(frame::REGISTERS)
            .u64(hart.pc);
        for value in &hart.r[1..32] {
            record = record.u64(*value);
        }
        for value in &hart.r[usize::from(reg::FP)..usize::from(reg::FP) + 32] {
            record = record.u64(*value);
        }
        let record = record.u32(u32::from(hart.fcsr)).pad_to(frame::BYTES);
        mem.write_bytes(addr, &record.done())?;

        hart.r[RA] = entry.trampoline;
        hart.r[SP] = addr;
        hart.r[A0] = u64::from(entry.info.signal);
        hart.r[A0 + 1] = addr;
        hart.r[A0 + 2] = addr + frame::UCONTEXT as u64;
        hart.pc = entry.handler;
        hart.reservation = NO_RESERVATION;
        Ok(addr)
    }

    fn leave_handler(
        &self,
        hart: &mut Hart,
        mem: &Memory,
        _: FrameKind,
    ) -> Result<Restored, MemFault> {
        let addr = hart.r[SP];
        // The range was checked to lie below 2^36 before any of the sums below is formed.
        mem.readable(addr, frame::BYTES as u64)?;
        let at = |offset: usize| addr + offset as u64;
        let registers: [u64; 32] = read_words(mem, at(frame::REGISTERS))?;
        let fp: [u64; 32] = read_words(mem, at(frame::FP))?;
        let fcsr = mem.read::<4>(at(frame::FCSR))?;
        let [mask] = read_words(mem, at(frame::MASK))?;
        let alt_stack = AltStack::read(mem, at(frame::STACK))?;
        hart.pc = registers[0];
        hart.r[1..32].copy_from_slice(&registers[1..]);
        hart.r[usize::from(reg::FP)..usize::from(reg::FP) + 32].copy_from_slice(&fp);
        hart.fcsr = fcsr as u8;
        hart.reservation = NO_RESERVATION;
        Ok(Restored {
            frame: addr,
            mask,
            alt_stack: Some(alt_stack),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn structures_have_the_sizes_of_linux() {
        let stat = FileStat {
            device: 1,
            inode: 1,
            mode: 2,
            links: 3,
            rdev: 4,
            size_bytes: 513,
            time_seconds: 5,
            owner: crate::os::Owner::default(),
        };
        let bytes = Riscv64.stat(&stat, StatFormat::Native);
        assert_eq!(bytes.len(), 128);
        assert_eq!(bytes[48..56], 513u64.to_le_bytes());
        assert_eq!(bytes[64..72], 2u64.to_le_bytes());
        assert_eq!(bytes[88..96], 5u64.to_le_bytes());
        // sizeof(struct rt_sigframe), sizeof(struct sigcontext).
        assert_eq!(frame::BYTES, 1088);
        assert_eq!(frame::BYTES - frame::REGISTERS, 784);
    }

    #[test]
    fn hwcap_is_imafdc() {
        assert_eq!(Riscv64.hwcap(), 0x112d);
    }
}
