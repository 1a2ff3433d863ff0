//! `eventfd`: a counter behind a descriptor. Writing adds to it; reading takes all of it, or one.

use super::Linux;
use super::abi::OpenFlags;
use super::descriptors::{Kind, OpenFile};
use super::errno::Errno;
use super::readiness::{POLLERR, READABLE, WRITABLE};

/// `EFD_SEMAPHORE`
const SEMAPHORE: u64 = 1;
/// The largest value; one more stands for an overflow, which a program cannot cause.
const LARGEST: u64 = u64::MAX - 1;

/// The counter of an `eventfd`.
#[derive(Clone, Debug)]
pub(super) struct EventCounter {
    value: u64,
    /// Whether a read takes one instead of everything.
    is_semaphore: bool,
    /// Reads that took something.
    pub reads: u64,
    /// Writes, also of nothing.
    pub writes: u64,
}

impl EventCounter {
    /// What a read takes, or `None` if it has to wait.
    pub(super) fn take(&mut self) -> Option<u64> {
        let taken = match self.value {
            0 => return None,
            _ if self.is_semaphore => 1,
            all => all,
        };
        self.value -= taken;
        self.reads += 1;
        Some(taken)
    }

    /// Adds; `None` if that has to wait until a read makes room.
    ///
    /// # Errors
    /// `EINVAL` if no counter could ever hold so much.
    pub(super) fn add(&mut self, added: u64) -> Result<Option<()>, Errno> {
        if added > LARGEST {
            return Err(Errno::EINVAL);
        }
        if added > LARGEST - self.value {
            return Ok(None);
        }
        self.value += added;
        self.writes += 1;
        Ok(Some(()))
    }

    /// What the counter is ready for.
    pub(super) fn events(&self) -> u16 {
        match self.value {
            0 => WRITABLE,
            LARGEST => READABLE,
            u64::MAX => READABLE | POLLERR,
            _ => READABLE | WRITABLE,
        }
    }
}

impl Linux {
    /// `eventfd2`: the flags that close and do not wait are those of `open`.
    pub(super) fn eventfd(&mut self, value: u64, flags: u64) -> Result<u64, Errno> {
        let rules = self.abi.open_rules();
        let flags = u64::from(flags as u32);
        if flags & !(SEMAPHORE | rules.cloexec | rules.nonblock) != 0 {
            return Err(Errno::EINVAL);
        }
        let counter = EventCounter {
            value: u64::from(value as u32),
            is_semaphore: flags & SEMAPHORE != 0,
            reads: 0,
            writes: 0,
        };
        let flags = OpenFlags {
            read: true,
            write: true,
            cloexec: flags & rules.cloexec != 0,
            nonblock: flags & rules.nonblock != 0,
            ..OpenFlags::default()
        };
        self.files.insert(
            OpenFile {
                kind: Kind::Event(counter),
                flags,
                path: None,
                number: None,
            },
            self.limits.descriptors(),
        )
    }
}
