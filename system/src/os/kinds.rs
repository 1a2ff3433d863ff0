//! The kinds of descriptors: one row each, and what each has to say of itself.
//!
//! A kind is a type with [`Operations`], which stand in one file with all else that the kind does. They are an enum and not
//! boxed, since the calls of one kind (`timerfd_settime`) ask a descriptor for the type behind it, and many ask whether it is
//! a file of the host.

use std::fmt::Debug;
use std::fs::File;

use hps_isa::memory::Memory;

use super::Linux;
use super::abi::{FileStat, FsStat};
use super::account::Seen;
use super::duplicate::DuplicateError;
use super::epoll::Epoll;
use super::errno::Errno;
use super::eventfd::EventCounter;
use super::gate::DescriptorKind;
use super::inotify::Inotify;
use super::listing::Listing;
use super::outcome::{Outcome, Unserved};
use super::paths::{Folder, GuestPath, Node};
use super::perf::PerfFile;
use super::pipes::PipeEnd;
use super::processes::ProcessFile;
use super::procfs::{Device, MadeFolder, MadeText};
use super::readiness::{READABLE, WRITABLE};
use super::signalfd::SignalFile;
use super::sockets::SocketEnd;
use super::stat::{FILE_SYSTEM, S_IFIFO, special_stat};
use super::streams::{Input, Which};
use super::timerfd::TimerFile;
use crate::host::sys::fd::BorrowedFd;
use crate::process::Thread;

/// Guest memory that a read fills.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    pub fd: u64,
    pub addr: u64,
    pub len: u64,
    /// Where to read, if not at the file's position.
    pub offset: Option<u64>,
    /// The descriptor does not wait.
    pub nonblock: bool,
}

impl Span {
    /// How many of its bytes can be written, from the first on.
    ///
    /// # Errors
    /// `EFAULT` if none of some can.
    pub(super) fn room(&self, mem: &Memory) -> Result<u64, Errno> {
        match mem.writable_prefix_bytes(self.addr, self.len) {
            0 if self.len > 0 => Err(Errno::EFAULT),
            room => Ok(room),
        }
    }

    /// [`room`](Self::room) of a kind without positions.
    ///
    /// # Errors
    /// `ESPIPE` if an offset is given.
    pub(super) fn room_in_order(&self, mem: &Memory) -> Result<u64, Errno> {
        let room = self.room(mem)?;
        in_order(self.offset).map(|()| room)
    }

    /// Whether there is room for a count of 64 bits.
    ///
    /// # Errors
    /// `EINVAL` if none is asked for; those of [`room_in_order`](Self::room_in_order).
    pub(super) fn room_for_count(&self, mem: &Memory) -> Result<(), Errno> {
        match self.room_in_order(mem)? {
            _ if self.len < 8 => Err(Errno::EINVAL),
            ..8 => Err(Errno::EFAULT),
            _ => Ok(()),
        }
    }

    /// Gives a count, or waits for `what` if there is none.
    pub(super) fn give_count(
        &self,
        mem: &mut Memory,
        count: Option<u64>,
        what: &'static str,
    ) -> Outcome {
        let count = count.ok_or_else(|| Unserved::on_file(self.nonblock, what))?;
        mem.write_bytes(self.addr, &count.to_le_bytes())?;
        Ok(8)
    }
}

/// Refuses an offset, for kinds without positions.
pub(super) fn in_order(offset: Option<u64>) -> Result<(), Errno> {
    match offset {
        None => Ok(()),
        Some(_) => Err(Errno::ESPIPE),
    }
}

/// Where an open file is, as far as `stat` tells it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Whereabouts<'a> {
    pub path: Option<&'a GuestPath>,
    /// The number of its inode, where it has no path.
    pub number: u64,
    /// The guest may change files.
    pub is_writable: bool,
}

/// Behaviour of a kind of descriptor in all calls. The defaults are those of a stream without readers and writers.
pub(super) trait Operations: Debug {
    /// The name in `/proc/PID/fd` of what has no place in any file system; it has no type either, and no positions.
    fn anonymous(&self) -> Option<&'static str> {
        None
    }

    /// The role that a gate is told. `has_place` says that it was opened by a path.
    fn role(&self, _has_place: bool) -> DescriptorKind {
        match self.anonymous() {
            Some(_) => DescriptorKind::Event,
            None => DescriptorKind::MadeUp,
        }
    }

    /// The text in `/proc/PID/fd`, where it has no path. `number` is the one of its inode.
    fn link(&self, number: u64) -> String {
        match self.anonymous() {
            Some(name) => format!("anon_inode:{name}"),
            None => format!("pipe:[{number}]"),
        }
    }

    /// The answer of `stat`.
    fn stat(&self, at: &Whereabouts) -> Result<FileStat, Errno> {
        let kind = match self.anonymous() {
            Some(_) => 0,
            None => S_IFIFO,
        };
        Ok(special_stat(kind | 0o600, at.number))
    }

    /// The file system that holds it.
    fn file_system(&self) -> FsStat {
        FILE_SYSTEM
    }

    /// A pipe, or a stream, which looks like one.
    fn is_fifo(&self) -> bool {
        false
    }

    /// The host's descriptor of a file or folder.
    fn on_host(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    /// The folder of the host that it stands for.
    fn folder(&self) -> Result<Folder, Errno> {
        Err(Errno::ENOTDIR)
    }

    /// `lseek`.
    fn seek(&mut self, _offset: i64, _whence: u64) -> Result<u64, Errno> {
        match self.anonymous() {
            Some(_) => Ok(0),
            None => Err(Errno::ESPIPE),
        }
    }

    /// `FIONREAD`.
    fn bytes_to_read(&self) -> Result<u32, Errno> {
        Err(Errno::ENOTTY)
    }

    /// Events that it is ready for.
    fn events(&self) -> u16 {
        READABLE | WRITABLE
    }

    /// How often it has become ready for `events`; `None` if it becomes ready again at each look: more input may have come,
    /// and output has always gone.
    fn activity(&self, _events: u32) -> Option<u64> {
        None
    }

    /// The reason for which a `write` that was cut short waits.
    fn waits_for_room(&self) -> Option<&'static str> {
        None
    }

    /// Bytes that the host keeps because it is open. Bytes that several descriptors share count once.
    fn held_bytes(&self, _has_place: bool, _seen: &mut Seen<'_>) -> u64 {
        0
    }

    /// A copy for another run, which shares nothing with this one. There is none of what others are at the other end of.
    fn duplicate(&self, _has_place: bool) -> Result<Kind, DuplicateError> {
        Err(DuplicateError::Pipe)
    }

    /// `read` and its kin.
    fn read(_: &mut Linux, _: &mut Thread, mem: &mut Memory, span: &Span) -> Outcome
    where
        Self: Sized,
    {
        span.room_in_order(mem)?;
        Err(Errno::EINVAL.into())
    }

    /// `write` and its kin.
    fn write(_os: &mut Linux, _fd: u64, _bytes: &[u8], offset: Option<u64>) -> Outcome
    where
        Self: Sized,
    {
        in_order(offset)?;
        Err(Errno::EINVAL.into())
    }

    /// `ioctl`.
    fn control(
        os: &mut Linux,
        _thread: &mut Thread,
        mem: &mut Memory,
        arguments: &[u64; 6],
    ) -> Result<u64, Errno>
    where
        Self: Sized,
    {
        os.ioctl(mem, arguments)
    }
}

/// A type that is a kind of descriptor.
pub(super) trait OfKind: Sized {
    fn of(kind: &mut Kind) -> Option<&mut Self>;
}

/// Reads from a descriptor of a kind.
type Read = fn(&mut Linux, &mut Thread, &mut Memory, &Span) -> Outcome;
/// Writes to a descriptor of a kind.
type Write = fn(&mut Linux, u64, &[u8], Option<u64>) -> Outcome;
/// Serves `ioctl` on a descriptor of a kind.
type Control = fn(&mut Linux, &mut Thread, &mut Memory, &[u64; 6]) -> Result<u64, Errno>;

macro_rules! kinds {
    ($($(#[$attribute:meta])* $name:ident($type:ty),)*) => {
        /// An object that is read or written through a descriptor.
        #[derive(Debug, serde::Serialize, serde::Deserialize)]
        pub(super) enum Kind {
            $($(#[$attribute])* $name($type),)*
        }

        impl Kind {
            pub(super) fn reader(&self) -> Read {
                match self { $(Kind::$name(_) => <$type>::read,)* }
            }

            pub(super) fn writer(&self) -> Write {
                match self { $(Kind::$name(_) => <$type>::write,)* }
            }

            pub(super) fn controller(&self) -> Control {
                match self { $(Kind::$name(_) => <$type>::control,)* }
            }
        }

        impl std::ops::Deref for Kind {
            type Target = dyn Operations;

            fn deref(&self) -> &Self::Target {
                match self { $(Kind::$name(one) => one,)* }
            }
        }

        impl std::ops::DerefMut for Kind {
            fn deref_mut(&mut self) -> &mut Self::Target {
                match self { $(Kind::$name(one) => one,)* }
            }
        }

        $(impl OfKind for $type {
            fn of(kind: &mut Kind) -> Option<&mut Self> {
                match kind {
                    Kind::$name(one) => Some(one),
                    _ => None,
                }
            }
        })*
    };
}

kinds! {
    Input(Input),
    Output(Which),
    /// A regular file of the host.
    #[serde(with = "crate::checkpoint::kept")]
    File(File),
    Directory(Listing),
    Pipe(PipeEnd),
    /// A `timerfd`.
    Timer(TimerFile),
    /// An `eventfd`.
    Event(EventCounter),
    Epoll(Epoll),
    /// A `signalfd`.
    Signal(SignalFile),
    Inotify(Inotify),
    /// A `pidfd`.
    Process(ProcessFile),
    /// An event of `perf_event_open`.
    Perf(PerfFile),
    Socket(SocketEnd),
    Device(Device),
    /// A file of `/proc` or `/sys`.
    MadeText(MadeText),
    /// A folder of `/proc`, `/sys` or `/dev`.
    MadeFolder(MadeFolder),
    /// Opened with `O_PATH`.
    Place(Node),
}
