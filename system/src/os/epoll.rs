//! `epoll`: a set of descriptors to watch, and waits for those that are ready.
//!
//! Watched can be pipes, sockets, `eventfd`s and the standard streams. As in Linux, files and folders are refused with
//! `EPERM`, and a watch ends when the last descriptor of its open file is closed. An epoll inside another one
//! is refused with `ELOOP`, which Linux says of chains that are too long.
//!
//! With `EPOLLET` a watch tells of a descriptor once for each write (or, of the writing side, each read) since
//! it last told.

use hps_isa::memory::Memory;
use serde::{Deserialize, Serialize};

use super::Linux;
use super::abi::OpenFlags;
use super::descriptors::{Descriptors, Kind};
use super::duplicate::DuplicateError;
use super::errno::Errno;
use super::kinds::Operations;
use super::outcome::Outcome;
use super::readiness::{POLLERR, POLLHUP, Wait};
use super::record::Record;
use super::time::TimeFormat;
use crate::process::Thread;

const ADD: u32 = 1;
const DELETE: u32 = 2;
const MODIFY: u32 = 3;

const EDGE: u32 = 1 << 31;
const ONE_SHOT: u32 = 1 << 30;
const WAKE_UP: u32 = 1 << 29;
const EXCLUSIVE: u32 = 1 << 28;
/// How to watch, as opposed to what for.
const PRIVATE: u32 = EDGE | ONE_SHOT | WAKE_UP | EXCLUSIVE;
/// Bits that may be combined with `EPOLLEXCLUSIVE`: flags, `EPOLLIN`, `EPOLLOUT` and the events that are always told.
const WITH_EXCLUSIVE: u32 = EXCLUSIVE | WAKE_UP | EDGE | 1 | 4 | 8 | 16;
/// Size of `struct epoll_event`, in bytes.
const EVENT_BYTES: u64 = 16;
/// All watches of a process, so that a guest cannot fill the memory of the host.
const MAX_WATCHES: usize = 1 << 16;

/// A set of watched descriptors.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Epoll {
    watches: Vec<Watch>,
}

/// A descriptor that is watched.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Watch {
    fd: u32,
    /// The slot of its open file.
    slot: usize,
    events: u32,
    data: u64,
    /// Activity of the file when the watch last told of it; `None` if it has not told since it was set.
    told: Option<u64>,
}

impl Epoll {
    /// Ends the watches on an open file that is closed.
    pub(super) fn forget(&mut self, slot: usize) {
        self.watches.retain(|watch| watch.slot != slot);
    }

    fn find(&self, fd: u32, slot: usize) -> Option<usize> {
        let is_it = |watch: &Watch| watch.fd == fd && watch.slot == slot;
        self.watches.iter().position(is_it)
    }
}

impl Watch {
    /// The events to tell of, 0 if none, and the activity of the file.
    fn ready(&self, files: &Descriptors) -> (u32, u64) {
        let Some((file, _)) = &files.files[self.slot] else {
            return (0, 0);
        };
        let activity = file.kind.activity(self.events);
        let is_old = self.events & EDGE != 0 && activity.is_some() && activity == self.told;
        let wanted = self.events & !PRIVATE;
        let events = match wanted {
            // A one-shot watch that has told.
            0 => 0,
            _ if is_old => 0,
            _ => u32::from(file.kind.events()) & wanted,
        };
        (events, activity.unwrap_or(0))
    }
}

impl Operations for Epoll {
    fn anonymous(&self) -> Option<&'static str> {
        Some("[eventpoll]")
    }

    /// An epoll depends on others and is said to be ready for nothing.
    fn events(&self) -> u16 {
        0
    }

    fn duplicate(&self, _has_place: bool) -> Result<Kind, DuplicateError> {
        Ok(Kind::Epoll(self.clone()))
    }
}

impl Descriptors {
    /// Whether an epoll would tell of something.
    pub(super) fn has_ready(&self, epoll: &Epoll) -> bool {
        epoll.watches.iter().any(|watch| watch.ready(self).0 != 0)
    }

    /// Whether an epoll tells of each time that something becomes ready.
    pub(super) fn watches_edges(&self) -> bool {
        let mut files = self.files.iter().flatten();
        files.any(|(file, _)| match &file.kind {
            Kind::Epoll(epoll) => epoll.watches.iter().any(|w| w.events & EDGE != 0),
            _ => false,
        })
    }

    fn watches(&mut self) -> usize {
        self.all_of::<Epoll>()
            .map(|epoll| epoll.watches.len())
            .sum()
    }
}

impl Linux {
    /// The older `epoll_create`, whose size only has to be positive.
    pub(super) fn epoll_create(&mut self, size: u64) -> Result<u64, Errno> {
        if size as i32 <= 0 {
            return Err(Errno::EINVAL);
        }
        self.epoll_create1(0)
    }

    pub(super) fn epoll_create1(&mut self, flags: u64) -> Result<u64, Errno> {
        let rules = self.abi.open_rules();
        let flags = u64::from(flags as u32);
        if flags & !rules.cloexec != 0 {
            return Err(Errno::EINVAL);
        }
        let flags = OpenFlags {
            read: true,
            write: true,
            cloexec: flags != 0,
            ..OpenFlags::default()
        };
        self.open_unplaced(Kind::Epoll(Epoll::default()), flags)
    }

    pub(super) fn epoll_ctl(&mut self, mem: &Memory, a: &[u64; 6]) -> Result<u64, Errno> {
        let [epfd, operation, fd, event, ..] = *a;
        let operation = operation as u32;
        let (events, data) = match operation {
            DELETE => (0, 0),
            _ => {
                mem.readable(event, EVENT_BYTES)?;
                (
                    mem.read::<4>(event)? as u32,
                    mem.read::<8>(event.wrapping_add(8))?,
                )
            }
        };
        self.files.get(epfd)?;
        let slot = self.files.slot(fd)?;
        let kind = &self.files.get(fd)?.kind;
        let nests = matches!(kind, Kind::Epoll(_));
        match kind {
            Kind::Place(_) => return Err(Errno::EBADF),
            Kind::File(_)
            | Kind::Directory(_)
            | Kind::Device(_)
            | Kind::MadeText(_)
            | Kind::MadeFolder(_) => return Err(Errno::EPERM),
            _ => {}
        }
        let is_itself = self.files.slot(epfd)? == slot;
        let is_full = self.files.watches() >= MAX_WATCHES;
        let epoll = self.files.own::<Epoll>(epfd)?;
        if is_itself {
            return Err(Errno::EINVAL);
        }
        if events & EXCLUSIVE != 0
            && (operation == MODIFY || nests || events & !WITH_EXCLUSIVE != 0)
        {
            return Err(Errno::EINVAL);
        }
        let found = epoll.find(fd as u32, slot);
        let watch = Watch {
            fd: fd as u32,
            slot,
            // Errors and hang-ups are always told.
            events: events | u32::from(POLLERR | POLLHUP),
            data,
            told: None,
        };
        match (operation, found) {
            (ADD, _) if nests => return Err(Errno::ELOOP),
            (ADD, Some(_)) => return Err(Errno::EEXIST),
            (ADD, None) if is_full => return Err(Errno::ENOSPC),
            (ADD, None) => epoll.watches.push(watch),
            (DELETE | MODIFY, None) => return Err(Errno::ENOENT),
            (DELETE, Some(index)) => {
                epoll.watches.remove(index);
            }
            (MODIFY, Some(index)) if epoll.watches[index].events & EXCLUSIVE != 0 => {
                return Err(Errno::EINVAL);
            }
            (MODIFY, Some(index)) => epoll.watches[index] = watch,
            _ => return Err(Errno::EINVAL),
        }
        Ok(0)
    }

    /// `epoll_pwait`, and without a mask `epoll_wait`: milliseconds, for ever if they are negative.
    pub(super) fn epoll_pwait(
        &mut self,
        thread: &mut Thread,
        mem: &mut Memory,
        a: &[u64; 6],
    ) -> Outcome {
        let [.., milliseconds, mask, mask_bytes] = *a;
        let wait = self.wait_milliseconds(milliseconds);
        let mask = self.read_mask(mem, mask, mask_bytes)?;
        self.wait_for_watches(thread, mem, a, wait, mask)
    }

    /// `epoll_pwait2`: a `struct timespec`, which stays as it is.
    pub(super) fn epoll_pwait2(
        &mut self,
        thread: &mut Thread,
        mem: &mut Memory,
        a: &[u64; 6],
    ) -> Outcome {
        let [.., timeout, mask, mask_bytes] = *a;
        let wait = self.read_wait(mem, timeout, TimeFormat::Nanoseconds)?;
        let mask = self.read_mask(mem, mask, mask_bytes)?;
        self.wait_for_watches(thread, mem, a, wait, mask)
    }

    fn wait_for_watches(
        &mut self,
        thread: &mut Thread,
        mem: &mut Memory,
        a: &[u64; 6],
        wait: Wait,
        mask: Option<u64>,
    ) -> Outcome {
        let [epfd, buffer, count, ..] = *a;
        let count = match usize::try_from(count as i32) {
            Ok(count @ 1..) if count as u64 <= i32::MAX as u64 / EVENT_BYTES => count,
            _ => return Err(Errno::EINVAL.into()),
        };
        let told = self.tell(mem, epfd, buffer, count)?;
        if told > 0 {
            return Ok(told);
        }
        self.wait_masked(
            thread,
            wait,
            mask,
            "an event (epoll_wait) that nobody can cause",
        )
    }

    /// Writes at most `count` events. Watches that have told go behind the others, so that each gets its turn.
    fn tell(
        &mut self,
        mem: &mut Memory,
        epfd: u64,
        buffer: u64,
        count: usize,
    ) -> Result<u64, Errno> {
        let mut watches = std::mem::take(&mut self.files.own::<Epoll>(epfd)?.watches);
        let mut have_told = Vec::new();
        let mut fault = None;
        let mut at = buffer;
        watches.retain_mut(|watch| {
            let (events, activity) = if have_told.len() < count && fault.is_none() {
                watch.ready(&self.files)
            } else {
                (0, 0)
            };
            if events == 0 {
                return true;
            }
            let record = Record::new().u32(events).u32(0).u64(watch.data);
            if let Err(refused) = mem.write_bytes(at, &record.done()) {
                fault = Some(refused);
                return true;
            }
            at = at.wrapping_add(EVENT_BYTES);
            watch.told = Some(activity);
            if watch.events & ONE_SHOT != 0 {
                watch.events &= PRIVATE;
            }
            have_told.push(watch.clone());
            false
        });
        let told = have_told.len() as u64;
        watches.append(&mut have_told);
        self.files.own::<Epoll>(epfd)?.watches = watches;
        match fault {
            Some(refused) if told == 0 => Err(refused.into()),
            _ => Ok(told),
        }
    }
}
