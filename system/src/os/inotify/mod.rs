//! inotify: a descriptor that tells what happens to files and in folders (inotify(7), Linux `fs/notify/`).
//!
//! Watched can be what lies under the root folder; made-up files are refused with `EACCES`. Told is what calls of this
//! program and of its child processes do ([`notices`]). What other processes of the host do to the same files is not
//! told, nor what a program does to a FIFO that it has open. A file that is mapped counts as closed when its descriptors
//! are, and a program that is executed counts as opened and read, but is never told to be closed.
//!
//! A watch holds its file by an `O_PATH` descriptor of the host, so that no other file takes its number.

mod notices;

use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};

use rustc_hash::FxHashMap;

pub(super) use self::notices::Subject;
use hps_isa::memory::Memory;

use super::Linux;
use super::abi::OpenFlags;
use super::account::Seen;
use super::descriptors::{Descriptors, Kind, OpenFile};
use super::duplicate::DuplicateError;
use super::errno::Errno;
use super::kinds::{Operations, Span};
use super::outcome::{Outcome, Unserved};
use super::paths::{Node, identity};
use super::readiness::READABLE;
use super::record::Record;
use super::tree::AT_FDCWD;
use crate::process::Thread;

/// The bits of masks (Linux `include/uapi/linux/inotify.h`), without `IN_` in front of their names.
pub(super) mod mask {
    pub const ACCESS: u32 = 1;
    pub const MODIFY: u32 = 2;
    pub const ATTRIB: u32 = 4;
    pub const CLOSE_WRITE: u32 = 8;
    pub const CLOSE_NOWRITE: u32 = 0x10;
    pub const OPEN: u32 = 0x20;
    pub const MOVED_FROM: u32 = 0x40;
    pub const MOVED_TO: u32 = 0x80;
    pub const CREATE: u32 = 0x100;
    pub const DELETE: u32 = 0x200;
    pub const DELETE_SELF: u32 = 0x400;
    pub const MOVE_SELF: u32 = 0x800;
    pub const ALL_EVENTS: u32 = 0xfff;
    pub const Q_OVERFLOW: u32 = 0x4000;
    pub const IGNORED: u32 = 0x8000;
    pub const ONLYDIR: u32 = 0x0100_0000;
    pub const DONT_FOLLOW: u32 = 0x0200_0000;
    pub const EXCL_UNLINK: u32 = 0x0400_0000;
    pub const MASK_CREATE: u32 = 0x1000_0000;
    pub const MASK_ADD: u32 = 0x2000_0000;
    pub const ISDIR: u32 = 0x4000_0000;
    pub const ONESHOT: u32 = 0x8000_0000;
    /// Bits that a program may ask for; `IN_UNMOUNT` is among them.
    pub const KNOWN: u32 = ALL_EVENTS | 0x2000 | Q_OVERFLOW | IGNORED | 0xf700_0000;
}

/// Size of `struct inotify_event` without the name, of which the size of a name is a multiple.
const EVENT_BYTES: usize = 16;
/// `/proc/sys/fs/inotify/max_queued_events`
const MOST_EVENTS: usize = 16384;
/// `/proc/sys/fs/inotify/max_user_instances`
const MOST_INSTANCES: usize = 128;
/// `/proc/sys/fs/inotify/max_user_watches`: each holds a descriptor of the host.
const MOST_WATCHES: usize = 8192;
/// Bytes of a watch, with the file that it holds.
const WATCH_BYTES: u64 = 512;

/// Device and number of a file.
type Identity = (u64, u64);

/// An event of a watched file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Event {
    wd: i32,
    mask: u32,
    cookie: u32,
    name: Box<[u8]>,
}

impl Event {
    /// Bytes that a read gives of it.
    fn bytes(&self) -> usize {
        let name = match self.name.len() {
            0 => 0,
            bytes => (bytes + 1).next_multiple_of(EVENT_BYTES),
        };
        EVENT_BYTES + name
    }

    /// Bytes that the host keeps for it.
    fn held_bytes(&self) -> u64 {
        (size_of::<Event>() + self.name.len()) as u64
    }

    /// `struct inotify_event`.
    fn encode(&self) -> Vec<u8> {
        let bytes = self.bytes();
        Record::new()
            .u32(self.wd as u32)
            .u32(self.mask)
            .u32(self.cookie)
            .u32((bytes - EVENT_BYTES) as u32)
            .bytes(&self.name)
            .pad_to(bytes)
            .done()
    }
}

/// A watched file.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Watch {
    wd: i32,
    /// Events, `EXCL_UNLINK` and `ONESHOT`.
    mask: u32,
    /// Holds the file.
    _node: Node,
}

/// An inotify instance: watches, and the events that have not been read.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Inotify {
    #[serde(with = "crate::checkpoint::identities")]
    watches: BTreeMap<Identity, Watch>,
    /// Files by their watch descriptors.
    #[serde(with = "crate::checkpoint::to_identities")]
    watched: FxHashMap<i32, Identity>,
    last_wd: i32,
    events: VecDeque<Event>,
    has_overflowed: bool,
    /// How often an event has been queued.
    pub(super) arrivals: u64,
}

impl Inotify {
    /// Bytes that the host keeps for it.
    fn held_bytes(&self) -> u64 {
        let events: u64 = self.events.iter().map(Event::held_bytes).sum();
        events + self.watches.len() as u64 * WATCH_BYTES
    }

    /// Takes as many whole events as fit into `len` bytes.
    ///
    /// # Errors
    /// `EAGAIN` if there is none, `EINVAL` if the first one does not fit, `EFAULT` if the place of one cannot be written.
    fn take(&mut self, mem: &mut Memory, addr: u64, len: u64) -> Result<u64, Errno> {
        let mut done = 0;
        while let Some(event) = self.events.front() {
            if event.bytes() as u64 > len - done {
                return if done == 0 {
                    Err(Errno::EINVAL)
                } else {
                    Ok(done)
                };
            }
            let bytes = event.encode();
            self.has_overflowed &= event.mask != mask::Q_OVERFLOW;
            // An event that cannot be written is lost, as in Linux.
            self.events.pop_front();
            mem.write_bytes(addr.wrapping_add(done), &bytes)?;
            done += bytes.len() as u64;
        }
        match done {
            0 => Err(Errno::EAGAIN),
            done => Ok(done),
        }
    }

    /// Queues an event, unless it is equal to the last one there.
    fn push(&mut self, event: Event, queued: &mut Queued) {
        let has_room = event.held_bytes() <= queued.room;
        let event = if self.events.len() >= MOST_EVENTS || !has_room {
            if std::mem::replace(&mut self.has_overflowed, true) {
                return;
            }
            Event {
                wd: -1,
                mask: mask::Q_OVERFLOW,
                cookie: 0,
                name: Box::default(),
            }
        } else {
            let is_same = |last: &Event| {
                last.mask & mask::IGNORED == 0
                    && (last.wd, last.mask, &last.name) == (event.wd, event.mask, &event.name)
            };
            if self.events.back().is_some_and(is_same) {
                return;
            }
            event
        };
        queued.count(event.held_bytes());
        self.events.push_back(event);
        self.arrivals += 1;
    }

    /// Something happened to a file: tells it where it is watched.
    fn hear(&mut self, subject: &Subject, what: u32, cookie: u32, queued: &mut Queued) {
        let is_self = what & (mask::DELETE_SELF | mask::MOVE_SELF) != 0;
        let what = match subject.is_folder && !is_self {
            true => what | mask::ISDIR,
            false => what,
        };
        if let Some((folder, name)) = &subject.place {
            self.tell(*folder, name, what, (cookie, subject.is_unlinked), queued);
        }
        if let Some(own) = subject.own {
            self.tell(own, &[], what, (cookie, false), queued);
        }
    }

    fn tell(
        &mut self,
        watched: Identity,
        name: &[u8],
        what: u32,
        (cookie, is_unlinked): (u32, bool),
        queued: &mut Queued,
    ) {
        let Some(watch) = self.watches.get(&watched) else {
            return;
        };
        let is_excluded = is_unlinked && watch.mask & mask::EXCL_UNLINK != 0;
        if watch.mask & mask::ALL_EVENTS & what == 0 || is_excluded {
            return;
        }
        let (wd, is_last) = (watch.wd, watch.mask & mask::ONESHOT != 0);
        let event = Event {
            wd,
            mask: what,
            cookie,
            name: name.into(),
        };
        self.push(event, queued);
        if is_last {
            self.end_watch(watched, queued);
        }
    }

    /// Ends a watch, which is told.
    fn end_watch(&mut self, watched: Identity, queued: &mut Queued) {
        let Some(watch) = self.watches.remove(&watched) else {
            return;
        };
        self.watched.remove(&watch.wd);
        let event = Event {
            wd: watch.wd,
            mask: mask::IGNORED,
            cookie: 0,
            name: Box::default(),
        };
        self.push(event, queued);
    }
}

/// Events that instances have queued since they were looked at.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Queued {
    /// Bytes that may be queued.
    room: u64,
    /// Bytes that have been queued.
    bytes: u64,
}

impl Queued {
    fn count(&mut self, bytes: u64) {
        self.room = self.room.saturating_sub(bytes);
        self.bytes += bytes;
    }
}

/// State that all instances share.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Watching {
    /// There has been an instance.
    pub(super) is_used: bool,
    queued: Queued,
    last_cookie: u32,
    /// Files without a name any more, which are watched until nobody has them open.
    #[serde(with = "crate::checkpoint::identity_list")]
    nameless: Vec<Identity>,
}

impl Operations for Inotify {
    fn anonymous(&self) -> Option<&'static str> {
        Some("inotify")
    }

    fn bytes_to_read(&self) -> Result<u32, Errno> {
        Ok(self.events.iter().map(Event::bytes).sum::<usize>() as u32)
    }

    fn events(&self) -> u16 {
        match self.events.is_empty() {
            true => 0,
            false => READABLE,
        }
    }

    fn activity(&self, _events: u32) -> Option<u64> {
        Some(self.arrivals)
    }

    fn held_bytes(&self, _has_place: bool, _seen: &mut Seen<'_>) -> u64 {
        Inotify::held_bytes(self)
    }

    fn duplicate(&self, _has_place: bool) -> Result<Kind, DuplicateError> {
        Ok(Kind::Inotify(self.clone()))
    }

    /// Takes whole events until the next one does not fit.
    fn read(os: &mut Linux, _: &mut Thread, mem: &mut Memory, span: &Span) -> Outcome {
        span.room_in_order(mem)?;
        let instance = os.files.own::<Inotify>(span.fd)?;
        match instance.take(mem, span.addr, span.len) {
            Err(Errno::EAGAIN) => Err(Unserved::on_file(
                span.nonblock,
                "an event of a file (inotify) that nobody causes",
            )),
            taken => Ok(taken?),
        }
    }
}

impl Descriptors {
    /// Something happened to a file.
    fn notify(&mut self, subject: &Subject, what: u32, cookie: u32) {
        let mut queued = std::mem::take(&mut self.watching.queued);
        for instance in self.all_of::<Inotify>() {
            instance.hear(subject, what, cookie, &mut queued);
        }
        self.watching.queued = queued;
    }

    /// An open file is closed for the last time.
    pub(super) fn notify_close(&mut self, file: &OpenFile) {
        if !self.watching.is_used {
            return;
        }
        let what = match file.flags.write {
            true => mask::CLOSE_WRITE,
            false => mask::CLOSE_NOWRITE,
        };
        if let Some(subject) = Subject::of_open(file) {
            self.notify(&subject, what, 0);
        }
    }

    fn instances(&self) -> impl Iterator<Item = &Inotify> {
        let files = self.files.iter().flatten();
        files.filter_map(|(file, _)| match &file.kind {
            Kind::Inotify(instance) => Some(instance),
            _ => None,
        })
    }
}

impl Linux {
    pub(super) fn inotify_init(&mut self, flags: u64) -> Result<u64, Errno> {
        let flags = self.abi.open_rules().unplaced(flags)?;
        if self.files.instances().count() >= MOST_INSTANCES {
            return Err(Errno::EMFILE);
        }
        self.files.watching.is_used = true;
        let flags = OpenFlags {
            write: false,
            ..flags
        };
        self.open_unplaced(Kind::Inotify(Inotify::default()), flags)
    }

    pub(super) fn inotify_add_watch(&mut self, mem: &Memory, a: &[u64; 6]) -> Result<u64, Errno> {
        let [fd, path, wanted, ..] = *a;
        let wanted = wanted as u32;
        if wanted == 0 || wanted & !mask::KNOWN != 0 {
            return Err(Errno::EINVAL);
        }
        let file = self.files.get(fd)?;
        let is_contradiction = wanted & mask::MASK_ADD != 0 && wanted & mask::MASK_CREATE != 0;
        if is_contradiction || !matches!(file.kind, Kind::Inotify(_)) {
            return Err(Errno::EINVAL);
        }
        let path = self.path_argument(mem, path)?;
        let node = self.watchable(&path, wanted)?;
        let watches = self.files.instances().map(|one| one.watches.len());
        let is_full = watches.sum::<usize>() >= MOST_WATCHES;
        let watched = identity(&node.stat);
        let instance = self.files.own::<Inotify>(fd)?;
        let kept = wanted & (mask::ALL_EVENTS | mask::EXCL_UNLINK | mask::ONESHOT);
        if let Some(watch) = instance.watches.get_mut(&watched) {
            if wanted & mask::MASK_CREATE != 0 {
                return Err(Errno::EEXIST);
            }
            watch.mask = match wanted & mask::MASK_ADD {
                0 => kept,
                _ => watch.mask | kept,
            };
            return Ok(watch.wd as u64);
        }
        if is_full {
            return Err(Errno::ENOSPC);
        }
        self.charge(WATCH_BYTES, Errno::ENOMEM)?;
        let instance = self.files.own::<Inotify>(fd)?;
        instance.last_wd += 1;
        let wd = instance.last_wd;
        let watch = Watch {
            wd,
            mask: kept,
            _node: node,
        };
        instance.watches.insert(watched, watch);
        instance.watched.insert(wd, watched);
        Ok(wd as u64)
    }

    /// The file at a path that is to be watched, which the process must be allowed to read.
    fn watchable(&self, path: &[u8], wanted: u32) -> Result<Node, Errno> {
        let follow = wanted & mask::DONT_FOLLOW == 0;
        let (dirfd, path) = self.on_host(AT_FDCWD as u64, path, follow)?;
        let place = self.resolve(dirfd, &path, follow)?;
        let node = place.existing()?;
        if wanted & mask::ONLYDIR != 0 && !node.is_dir() {
            return Err(Errno::ENOTDIR);
        }
        let read = OpenFlags {
            read: true,
            ..OpenFlags::default()
        };
        self.permit(node, read)?;
        Ok(node.clone())
    }

    pub(super) fn inotify_rm_watch(&mut self, fd: u64, wd: u64) -> Result<u64, Errno> {
        let mut queued = std::mem::take(&mut self.files.watching.queued);
        let result = match &mut self.files.get_mut(fd).map(|file| &mut file.kind) {
            Ok(Kind::Inotify(instance)) => match instance.watched.get(&(wd as i32)) {
                Some(watched) => {
                    instance.end_watch(*watched, &mut queued);
                    Ok(0)
                }
                None => Err(Errno::EINVAL),
            },
            Ok(_) => Err(Errno::EINVAL),
            Err(errno) => Err(*errno),
        };
        self.files.watching.queued = queued;
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(mask: u32, name: &str) -> Event {
        Event {
            wd: 1,
            mask,
            cookie: 0,
            name: name.as_bytes().into(),
        }
    }

    #[test]
    fn a_full_queue_tells_once_that_events_are_lost() {
        let mut instance = Inotify::default();
        let mut queued = Queued {
            room: 1 << 30,
            bytes: 0,
        };
        for number in 0..MOST_EVENTS + 5 {
            instance.push(event(mask::OPEN, &number.to_string()), &mut queued);
        }
        assert_eq!(instance.events.len(), MOST_EVENTS + 1);
        assert_eq!(
            instance.events.back().map(|event| (event.wd, event.mask)),
            Some((-1, mask::Q_OVERFLOW))
        );
        assert_eq!(queued.bytes, instance.held_bytes());
    }

    #[test]
    fn events_that_there_is_no_memory_for_are_lost() {
        let mut instance = Inotify::default();
        let mut queued = Queued {
            room: event(mask::OPEN, "name").held_bytes(),
            bytes: 0,
        };
        instance.push(event(mask::OPEN, "name"), &mut queued);
        instance.push(event(mask::ACCESS, "name"), &mut queued);
        let masks: Vec<u32> = instance.events.iter().map(|event| event.mask).collect();
        assert_eq!(masks, [mask::OPEN, mask::Q_OVERFLOW]);
    }
}
