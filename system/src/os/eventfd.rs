//! `eventfd`: a counter behind a descriptor. Writing adds to it; reading takes all of it, or one.

use hps_isa::memory::Memory;
use serde::{Deserialize, Serialize};

use super::Linux;
use super::duplicate::DuplicateError;
use super::errno::Errno;
use super::kinds::{Kind, Operations, Span, in_order};
use super::outcome::{Outcome, Unserved};
use super::readiness::{POLLERR, READABLE, WRITABLE};
use crate::process::Thread;

/// `EFD_SEMAPHORE`
const SEMAPHORE: u64 = 1;
/// The largest value; one more stands for an overflow, which a program cannot cause.
const LARGEST: u64 = u64::MAX - 1;

/// The counter of an `eventfd`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct EventCounter {
    value: u64,
    /// Whether a read takes one instead of everything.
    is_semaphore: bool,
    /// Reads that took something.
    reads: u64,
    /// Writes, also of nothing.
    writes: u64,
}

impl EventCounter {
    /// Value that a read takes, or `None` if it has to wait.
    fn take(&mut self) -> Option<u64> {
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
    fn add(&mut self, added: u64) -> Result<Option<()>, Errno> {
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
}

impl Operations for EventCounter {
    fn anonymous(&self) -> Option<&'static str> {
        Some("[eventfd]")
    }

    fn events(&self) -> u16 {
        match self.value {
            0 => WRITABLE,
            LARGEST => READABLE,
            u64::MAX => READABLE | POLLERR,
            _ => READABLE | WRITABLE,
        }
    }

    fn activity(&self, events: u32) -> Option<u64> {
        let count = |ready: u16, count| match events & u32::from(ready) {
            0 => 0,
            _ => count,
        };
        Some(count(READABLE, self.writes) + count(WRITABLE, self.reads))
    }

    fn duplicate(&self, _has_place: bool) -> Result<Kind, DuplicateError> {
        Ok(Kind::Event(self.clone()))
    }

    fn read(os: &mut Linux, _: &mut Thread, mem: &mut Memory, span: &Span) -> Outcome {
        span.room_for_count(mem)?;
        let taken = os.files.own::<EventCounter>(span.fd)?.take();
        span.give_count(mem, taken, "an eventfd that only it writes")
    }

    fn write(os: &mut Linux, fd: u64, bytes: &[u8], offset: Option<u64>) -> Outcome {
        in_order(offset)?;
        let nonblock = os.files.get(fd)?.flags.nonblock;
        let added = bytes.first_chunk().ok_or(Errno::EINVAL)?;
        let counter = os.files.own::<EventCounter>(fd)?;
        match counter.add(u64::from_le_bytes(*added))? {
            Some(()) => Ok(8),
            None => Err(Unserved::on_file(
                nonblock,
                "room in an eventfd that only it reads",
            )),
        }
    }
}

impl Linux {
    /// `eventfd2`: the flags that close and do not wait are those of `open`.
    pub(super) fn eventfd(&mut self, value: u64, flags: u64) -> Result<u64, Errno> {
        let open_flags = self.abi.open_rules().unplaced(flags & !SEMAPHORE)?;
        let counter = EventCounter {
            value: u64::from(value as u32),
            is_semaphore: flags & SEMAPHORE != 0,
            reads: 0,
            writes: 0,
        };
        self.open_unplaced(Kind::Event(counter), open_flags)
    }
}
