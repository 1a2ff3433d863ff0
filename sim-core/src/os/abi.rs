//! What differs between the Linux system call interfaces of two instruction sets: numbers,
//! structures, flags, the error convention and signal frames. Everything else in this module is
//! common to them; another instruction set adds an implementation of [`Abi`].

use super::errno::Errno;
use super::numbers::Call;
use super::signals::{Action, AltStack, SigInfo, Signal};
use crate::bus::MemFault;
use crate::hart::Hart;
use crate::memory::Memory;

/// How a file is to be opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OpenFlags {
    /// For reading.
    pub read: bool,
    /// For writing.
    pub write: bool,
    /// Create it if it does not exist.
    pub create: bool,
    /// It must not exist before.
    pub exclusive: bool,
    /// Empty it.
    pub truncate: bool,
    /// Write at its end.
    pub append: bool,
    /// Fail rather than wait.
    pub nonblock: bool,
    /// It must be a directory.
    pub directory: bool,
    /// It must not be a symbolic link.
    pub nofollow: bool,
    /// Close it at `execve`.
    pub cloexec: bool,
    /// Only a place in the tree, not its content.
    pub path_only: bool,
}

/// What `mmap` is asked for.
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
}

/// What the guest is told of a file. Owners, times and inode numbers do not come from the host,
/// so that a run does not depend on them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileStat {
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
}

/// Size of a block of a file, as reported, in bytes.
pub const BLOCK_BYTES: u32 = 4096;

impl FileStat {
    /// Space that the file takes, in units of 512 bytes.
    #[must_use]
    pub fn blocks(&self) -> u64 {
        self.size_bytes.div_ceil(512)
    }
}

/// What a signal handler is entered with.
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
    /// Address of the trampoline, which the handler returns to.
    pub trampoline: u64,
}

/// What a handler's frame restores besides the registers.
#[derive(Clone, Copy, Debug)]
pub struct Restored {
    /// The address of the frame.
    pub frame: u64,
    /// The signals to block.
    pub mask: u64,
    /// The alternate stack.
    pub alt_stack: AltStack,
}

/// One Linux system call interface.
pub trait Abi: Send + Sync + std::fmt::Debug {
    /// The number of the call that `hart` makes.
    fn call_number(&self, hart: &Hart) -> u64;
    /// The call with this number, if it has a meaning here.
    fn call(&self, number: u64) -> Option<Call>;
    /// The arguments of the call.
    fn arguments(&self, hart: &Hart) -> [u64; 6];
    /// Returns from the call.
    fn set_result(&self, hart: &mut Hart, result: Result<u64, Errno>);

    /// The stack pointer.
    fn stack_pointer(&self, hart: &Hart) -> u64;
    /// Sets the stack pointer.
    fn set_stack_pointer(&self, hart: &mut Hart, value: u64);

    /// `uname -m`.
    fn machine(&self) -> &'static str;
    /// `AT_PLATFORM`, if Linux gives one.
    fn platform(&self) -> Option<&'static str>;
    /// `AT_HWCAP`.
    fn hwcap(&self) -> u64;

    /// Decodes the flags of `openat`.
    fn open_flags(&self, raw: u64) -> OpenFlags;
    /// Encodes the flags that `fcntl(F_GETFL)` reports.
    fn status_flags(&self, flags: OpenFlags) -> u64;
    /// Decodes the flags of `mmap`.
    fn map_flags(&self, raw: u64) -> MapFlags;
    /// `struct stat`.
    fn stat(&self, stat: &FileStat) -> Vec<u8>;

    /// The number of a signal that the kernel itself raises.
    fn signal_number(&self, signal: Signal) -> u8;
    /// Reads `struct sigaction`.
    ///
    /// # Errors
    /// It cannot be read.
    fn read_action(&self, mem: &Memory, addr: u64) -> Result<Action, MemFault>;
    /// Writes `struct sigaction`.
    ///
    /// # Errors
    /// It cannot be written.
    fn write_action(&self, mem: &mut Memory, addr: u64, action: &Action) -> Result<(), MemFault>;
    /// The code that calls `rt_sigreturn`.
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
    /// Restores the state of `hart` from the signal frame at its stack pointer.
    ///
    /// # Errors
    /// The frame cannot be read; `hart` is then unchanged.
    fn leave_handler(&self, hart: &mut Hart, mem: &Memory) -> Result<Restored, MemFault>;
}
