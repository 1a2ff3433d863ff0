//! Differences between system call interfaces (Linux on each instruction set, OSF/1): numbers, structures, flags, the
//! error convention and signal frames. Everything else in this module is common to them; another one adds an
//! implementation of [`Abi`].

use hps_isa::bus::MemFault;
use hps_isa::hart::Hart;
use hps_isa::memory::Memory;
use hps_isa::trap::Trap;
use serde::{Deserialize, Serialize};

use super::Owner;
use super::calls::Call;
use super::errno::Errno;
use super::flags::{MapRules, OpenRules, SyncRules};
use super::record::{Record, read_words};
use super::signals::{Action, AltStack, Fault, SigInfo, Signal, SignalRules};
use super::sockets::SocketRules;

pub use super::signals::{FrameKind, Restored};

/// A call and its arguments.
pub type DecodedCall = (Call, [u64; 6]);

/// How a file is to be opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenFlags {
    /// For reading.
    pub read: bool,
    /// For writing.
    pub write: bool,
    /// Create it if it does not exist.
    pub create: bool,
    /// The file must not exist before.
    pub exclusive: bool,
    /// Empty it.
    pub truncate: bool,
    /// Write at its end.
    pub append: bool,
    /// Fail rather than wait.
    pub nonblock: bool,
    /// The file must be a directory.
    pub directory: bool,
    /// The file must not be a symbolic link.
    pub nofollow: bool,
    /// Close it at `execve`.
    pub cloexec: bool,
    /// Only a place in the tree, not its content.
    pub path_only: bool,
    /// Of a pipe: each write is a packet.
    pub direct: bool,
    /// A new file without a name, in the folder that the path names.
    pub unnamed: bool,
}

/// Flags of an `mmap` request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MapFlags {
    /// Writes go to the file.
    pub shared: bool,
    /// Neither shared nor private, or both: not valid.
    pub invalid: bool,
    /// Exactly at the address given.
    pub fixed: bool,
    /// ... and only if nothing is mapped there.
    pub no_replace: bool,
    /// Not of a file.
    pub anonymous: bool,
    /// Shared, and unknown flags are an error.
    pub validate: bool,
    /// Some flag is unknown.
    pub unknown: bool,
    /// A stack.
    pub grows_down: bool,
    /// Kept in memory.
    pub locked: bool,
    /// Counts only as far as it is written.
    pub no_reserve: bool,
    /// Of huge pages ...
    pub huge: bool,
    /// ... of a size that exists.
    pub huge_exists: bool,
}

/// The status of a file as the guest sees it. Owners, times and inode numbers do not come from the host,
/// so that a run does not depend on them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileStat {
    /// Number of the file system that holds it.
    pub device: u64,
    /// Number of the file: a hash of its path in the guest.
    pub inode: u64,
    /// Type and permissions.
    pub mode: u32,
    /// Number of links.
    pub links: u32,
    /// Device number of a device file.
    pub rdev: u64,
    /// Size in bytes.
    pub size_bytes: u64,
    /// Every time stamp, in seconds since 1970.
    pub time_seconds: u64,
    /// Whose it is.
    pub owner: Owner,
}

/// Size of a block of a file, as reported, in bytes.
pub const BLOCK_BYTES: u32 = 4096;

impl FileStat {
    /// Nothing but a link: owner and times are those of all files and are filled in last.
    pub(super) const UNFILLED: FileStat = FileStat {
        device: 0,
        inode: 0,
        mode: 0,
        links: 1,
        rdev: 0,
        size_bytes: 0,
        time_seconds: 0,
        owner: Owner { uid: 0, gid: 0 },
    };

    /// Space that the file takes, in units of 512 bytes.
    #[must_use]
    pub fn blocks(&self) -> u64 {
        self.size_bytes.div_ceil(512)
    }
}

/// The status of the file system as the guest sees it: no value comes from the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FsStat {
    /// Number of the kind of file system.
    pub kind: u32,
    /// Size of the file system in blocks of [`BLOCK_BYTES`].
    pub blocks: u32,
    /// Blocks that are free.
    pub free: u32,
    /// Files that it can hold.
    pub files: u32,
    /// Files that it can still hold.
    pub free_files: u32,
    /// Longest name of a file, in bytes.
    pub name_bytes: u32,
}

/// Which of a file's structures a call wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatFormat {
    /// `struct stat` of `fstat` and its family.
    Native,
    /// `struct stat64` of `fstat64` and its family, where it is another one.
    Large,
    /// The second `struct stat` of OSF/1.
    Osf,
}

/// Command of `fcntl`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FcntlCommand {
    /// `F_DUPFD`, and `F_DUPFD_CLOEXEC`.
    Duplicate {
        /// Close it at `execve`.
        cloexec: bool,
    },
    /// `F_GETFD`
    GetDescriptorFlags,
    /// `F_SETFD`
    SetDescriptorFlags,
    /// `F_GETFL`
    GetStatusFlags,
    /// `F_SETFL`
    SetStatusFlags,
    /// `F_GETLK`, and `F_OFD_GETLK`
    GetLock {
        /// The lock belongs to the open file instead of the process.
        of_open_file: bool,
    },
    /// `F_SETLK` and `F_SETLKW`, and `F_OFD_SETLK` and `F_OFD_SETLKW`
    SetLock {
        /// The lock belongs to the open file instead of the process.
        of_open_file: bool,
        /// Wait until no other lock is in the way.
        waits: bool,
    },
    /// `F_SETPIPE_SZ`
    SetPipeSize,
    /// `F_GETPIPE_SZ`
    GetPipeSize,
    /// `F_ADD_SEALS`
    AddSeals,
    /// `F_GET_SEALS`
    GetSeals,
    /// `F_SETOWN`
    SetOwner,
    /// `F_GETOWN`
    GetOwner,
    /// `F_SETOWN_EX`
    SetOwnerOfKind,
    /// `F_GETOWN_EX`
    GetOwnerOfKind,
    /// `F_SETSIG`
    SetSignal,
    /// `F_GETSIG`
    GetSignal,
}

/// Request of `ioctl`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IoctlRequest {
    /// `FIOCLEX`, `FIONCLEX`
    CloseOnExec(bool),
    /// `FIONBIO`
    Nonblock,
    /// `FIONREAD`
    BytesToRead,
    /// `FIOASYNC`
    Async,
}

/// A resource whose limit has an effect or a value of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resource {
    /// Size of the stack, in bytes.
    Stack,
    /// Size of a core dump, in bytes.
    Core,
    /// Number of open files.
    Files,
    /// Size to which a file may grow, in bytes.
    FileSize,
    /// Memory that may be locked, in bytes.
    LockedMemory,
    /// Signals that may wait for the processes of a user.
    PendingSignals,
}

/// State with which a signal handler is entered.
#[derive(Clone, Copy, Debug)]
pub struct HandlerEntry {
    /// The signal and its cause.
    pub info: SigInfo,
    /// Address of the handler.
    pub handler: u64,
    /// The signals that were blocked, to be restored.
    pub mask: u64,
    /// The alternate stack, to be restored.
    pub alt_stack: AltStack,
    /// Where the stack begins: the interrupted stack pointer or the top of the alternate stack.
    pub stack_top: u64,
    /// The action's `SA_*`.
    pub flags: u64,
    /// Where the handler is to return to, if the program said so.
    pub restorer: u64,
    /// Address of the trampoline, which it returns to otherwise.
    pub trampoline: u64,
}

/// State with which a program starts.
#[derive(Clone, Copy, Debug)]
pub struct ProgramStart {
    /// Address of the first instruction.
    pub entry: u64,
    /// The global pointer, for a file that names one.
    pub global_pointer: Option<u64>,
    /// Address of the argument count, which the arguments and then the environment follow.
    pub stack: u64,
    /// Number of arguments.
    pub argument_count: u64,
}

/// One system call interface.
pub trait Abi: Send + Sync + std::fmt::Debug {
    /// The number of the call that `hart` makes.
    fn call_number(&self, hart: &Hart) -> u64;
    /// The arguments of the call.
    fn arguments(&self, hart: &Hart) -> [u64; 6];
    /// The call with this number, if it has a meaning here, and its arguments in the order in which
    /// [`Call`] has them: calls that only an older interface has become their successors.
    fn call(&self, number: u64, arguments: [u64; 6]) -> Option<DecodedCall>;
    /// The name that Linux has for the call with this number, whether it is served or not.
    fn call_name(&self, number: u64) -> Option<&'static str>;
    /// Returns from the call.
    fn set_result(&self, hart: &mut Hart, result: Result<u64, Errno>);
    /// The second result of the few calls that have one.
    fn set_second_result(&self, _hart: &mut Hart, _value: u64) {}

    /// The stack pointer.
    fn stack_pointer(&self, hart: &Hart) -> u64;
    /// Sets the stack pointer.
    fn set_stack_pointer(&self, hart: &mut Hart, value: u64);

    /// The registers that a program starts with, besides the stack pointer.
    fn set_initial_registers(&self, _hart: &mut Hart, _start: &ProgramStart) {}
    /// Sets the thread pointer, from which a thread finds its own data.
    fn set_thread_pointer(&self, hart: &mut Hart, value: u64);
    /// Whether `clone` takes the thread pointer as its last argument, behind the place of the child's number,
    /// instead of in front of it.
    fn clone_has_tls_last(&self) -> bool;
    /// The unit of memory protection that the program sees, in bytes: a multiple of
    /// [`PAGE_SIZE`](hps_isa::memory::PAGE_SIZE).
    fn page_bytes(&self) -> u64 {
        hps_isa::memory::PAGE_SIZE
    }

    /// `uname -s` and `uname -r`.
    fn system(&self) -> (&'static str, &'static str) {
        ("Linux", "6.1.0")
    }
    /// `uname -m`.
    fn machine(&self) -> &'static str;
    /// `AT_PLATFORM`, if Linux gives one.
    fn platform(&self) -> Option<&'static str>;
    /// `AT_HWCAP`.
    fn hwcap(&self) -> u64;

    /// The number of an error.
    fn errno_number(&self, errno: Errno) -> u16 {
        errno.generic_number()
    }
    /// Flags and options of sockets.
    fn socket_rules(&self) -> &'static SocketRules;
    /// Flags of `openat`.
    fn open_rules(&self) -> &'static OpenRules;
    /// Flags of `mmap`.
    fn map_rules(&self) -> &'static MapRules;
    /// `struct stat`.
    fn stat(&self, stat: &FileStat, format: StatFormat) -> Vec<u8>;
    /// `struct statfs`.
    fn statfs(&self, stat: &FsStat) -> Vec<u8>;
    /// Decodes the command of `fcntl`.
    fn fcntl_command(&self, raw: u64) -> Option<FcntlCommand>;
    /// `F_RDLCK`, `F_WRLCK` and `F_UNLCK`
    fn lock_types(&self) -> [u16; 3];
    /// Decodes the request of `ioctl`.
    fn ioctl_request(&self, raw: u64) -> Option<IoctlRequest>;
    /// `RLIMIT_*` of a resource.
    fn resource_number(&self, resource: Resource) -> usize;
    /// `RLIM_INFINITY` of `getrlimit`.
    fn unlimited(&self) -> u64 {
        u64::MAX
    }
    /// `MADV_DONTNEED`
    fn advice_dontneed(&self) -> u64;
    /// Flags of `msync` and `mlockall`.
    fn sync_rules(&self) -> &'static SyncRules;

    /// Flags, masks and numbers of signals.
    fn signal_rules(&self) -> &'static SignalRules;
    /// The number of a signal that the kernel itself raises.
    fn signal_number(&self, signal: Signal) -> u8;
    /// The signal that a fault raises.
    fn fault_signal(&self, trap: &Trap) -> Signal {
        Signal::of(trap)
    }
    /// Fault as a program that handles it is told of it, and where the program goes on. `is_mapped` says that there is
    /// memory at the address of a refused access. What the kernel does before it raises the signal is done to `hart`.
    fn fault(&self, trap: &Trap, _hart: &mut Hart, is_mapped: bool) -> Fault {
        Fault::of(trap, is_mapped)
    }
    /// Reads the kernel's `struct sigaction`.
    ///
    /// # Errors
    /// If the structure cannot be read.
    fn read_action(&self, mem: &Memory, addr: u64) -> Result<Action, MemFault> {
        let [handler, flags, mask] = read_words(mem, addr)?;
        Ok(Action {
            handler,
            flags,
            mask,
            restorer: 0,
        })
    }
    /// Writes the kernel's `struct sigaction`.
    ///
    /// # Errors
    /// If the structure cannot be written.
    fn write_action(&self, mem: &mut Memory, addr: u64, action: &Action) -> Result<(), MemFault> {
        let record = Record::new()
            .u64(action.handler)
            .u64(action.flags)
            .u64(action.mask);
        mem.write_bytes(addr, &record.done())
    }
    /// The code that handlers return to.
    fn trampoline(&self) -> &'static [u8];
    /// Saves the state of `hart` in a signal frame and enters a handler; returns the address of
    /// the frame.
    ///
    /// # Errors
    /// The frame cannot be written; `hart` is then unchanged.
    fn enter_handler(
        &self,
        hart: &mut Hart,
        mem: &mut Memory,
        entry: &HandlerEntry,
    ) -> Result<u64, MemFault>;
    /// Restores the state of `hart` from the signal frame that a handler leaves.
    ///
    /// # Errors
    /// The frame cannot be read; `hart` is then unchanged.
    fn leave_handler(
        &self,
        hart: &mut Hart,
        mem: &Memory,
        kind: FrameKind,
    ) -> Result<Restored, MemFault>;
}

/// The commands of `fcntl` whose numbers are common to all interfaces, and those of `F_GETLK`,
/// `F_SETLK` and `F_SETLKW`, and of `F_SETOWN` and `F_GETOWN`.
pub(super) fn generic_fcntl_command(
    raw: u64,
    locks: [u64; 3],
    owners: [u64; 2],
) -> Option<FcntlCommand> {
    let [get, set, set_and_wait] = locks;
    Some(match raw {
        0 => FcntlCommand::Duplicate { cloexec: false },
        1 => FcntlCommand::GetDescriptorFlags,
        2 => FcntlCommand::SetDescriptorFlags,
        3 => FcntlCommand::GetStatusFlags,
        4 => FcntlCommand::SetStatusFlags,
        n if n == get || n == 36 => FcntlCommand::GetLock {
            of_open_file: n != get,
        },
        n if n == set || n == set_and_wait => FcntlCommand::SetLock {
            of_open_file: false,
            waits: n == set_and_wait,
        },
        n if n == owners[0] => FcntlCommand::SetOwner,
        n if n == owners[1] => FcntlCommand::GetOwner,
        10 => FcntlCommand::SetSignal,
        11 => FcntlCommand::GetSignal,
        15 => FcntlCommand::SetOwnerOfKind,
        16 => FcntlCommand::GetOwnerOfKind,
        37 | 38 => FcntlCommand::SetLock {
            of_open_file: true,
            waits: raw == 38,
        },
        1030 => FcntlCommand::Duplicate { cloexec: true },
        1031 => FcntlCommand::SetPipeSize,
        1032 => FcntlCommand::GetPipeSize,
        1033 => FcntlCommand::AddSeals,
        1034 => FcntlCommand::GetSeals,
        _ => return None,
    })
}

/// A file's number in the 32 bits of older structures. Never 0, which means "no file".
pub(super) const fn short_inode(inode: u64) -> u32 {
    match (inode >> 32) as u32 ^ inode as u32 {
        0 => 1,
        n => n,
    }
}
