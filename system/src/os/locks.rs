//! Locks on files: `flock`, and the record locks of `fcntl`.
//!
//! Locks of `flock` and of `F_OFD_*` belong to an open file, so that two opens of one file conflict. Locks of
//! `F_SETLK` belong to a process: those of one process never conflict with one another, and closing any descriptor of
//! the file releases them. `flock` and record locks do not see each other.

use serde::{Deserialize, Serialize};
use std::io::Seek;

use hps_isa::memory::Memory;

use super::Linux;
use super::descriptors::{Descriptors, Kind};
use super::errno::Errno;
use super::outcome::{Outcome, Unserved};
use super::record::Record;

/// Record locks that a process may have; more are refused with `ENOLCK`.
const MAX_RECORDS: usize = 4096;
/// The last byte that can be locked.
const LAST_BYTE: u64 = i64::MAX as u64;

/// Which file a lock is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum LockedFile {
    /// A file of the host. The guest never sees its numbers.
    Host(#[serde(with = "crate::checkpoint::identity")] (u64, u64)),
    /// A file without a path that has a number of its own.
    Numbered(u64),
    /// A stream or a device: only its own open file reaches it.
    Slot(usize),
}

/// Who holds a record lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Owner {
    /// The process with this number.
    Process(u32),
    /// The open file in a slot of [`Descriptors`].
    OpenFile(usize),
}

/// A lock on bytes `first` to `last`.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct RecordLock {
    file: LockedFile,
    owner: Owner,
    is_exclusive: bool,
    first: u64,
    last: u64,
}

impl RecordLock {
    fn overlaps(&self, other: &RecordLock) -> bool {
        self.file == other.file && self.first <= other.last && other.first <= self.last
    }

    fn conflicts(&self, other: &RecordLock) -> bool {
        self.owner != other.owner
            && (self.is_exclusive || other.is_exclusive)
            && self.overlaps(other)
    }
}

/// A lock of `flock`.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct FileLock {
    file: LockedFile,
    slot: usize,
    is_exclusive: bool,
}

/// Every lock of the process.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Locks {
    files: Vec<FileLock>,
    records: Vec<RecordLock>,
}

impl Locks {
    fn is_empty(&self) -> bool {
        self.files.is_empty() && self.records.is_empty()
    }

    /// The first lock in the way of `wanted`.
    fn conflict(&self, wanted: &RecordLock) -> Option<RecordLock> {
        let in_the_way = self.records.iter().filter(|held| held.conflicts(wanted));
        in_the_way.min_by_key(|held| held.first).copied()
    }

    /// Releases what the owner of `range` holds of its bytes.
    fn release(&mut self, range: &RecordLock) {
        let held = std::mem::take(&mut self.records);
        for lock in held {
            if lock.owner != range.owner || !lock.overlaps(range) {
                self.records.push(lock);
                continue;
            }
            if lock.first < range.first {
                let last = range.first - 1;
                self.records.push(RecordLock { last, ..lock });
            }
            if lock.last > range.last {
                let first = range.last + 1;
                self.records.push(RecordLock { first, ..lock });
            }
        }
    }

    /// Sets a lock in place of those that its owner holds of the bytes, and joins it with its neighbours.
    fn set(&mut self, mut new: RecordLock) {
        self.release(&new);
        self.records.retain(|lock| {
            let is_alike = (lock.file, lock.owner, lock.is_exclusive)
                == (new.file, new.owner, new.is_exclusive);
            let is_before = is_alike && lock.last + 1 == new.first;
            let is_behind = is_alike && new.last + 1 == lock.first;
            if is_before {
                new.first = lock.first;
            }
            if is_behind {
                new.last = lock.last;
            }
            !is_before && !is_behind
        });
        self.records.push(new);
    }
}

impl Descriptors {
    fn locked_file(&self, slot: usize) -> Result<LockedFile, Errno> {
        let (file, _) = self.files[slot].as_ref().ok_or(Errno::EBADF)?;
        if let Some(number) = file.number {
            return Ok(LockedFile::Numbered(number));
        }
        let Some(host) = file.kind.on_host() else {
            return Ok(LockedFile::Slot(slot));
        };
        let found = crate::host::sys::rustix::fs::fstat(host)?;
        Ok(LockedFile::Host((found.st_dev, found.st_ino)))
    }

    /// Releases what closing a descriptor of an open file releases; `is_last` says that no other descriptor
    /// has the file open.
    pub(super) fn release_locks(&mut self, slot: usize, is_last: bool) {
        if self.locks.is_empty() {
            return;
        }
        if let Ok(file) = self.locked_file(slot) {
            let owner = Owner::Process(self.owner);
            let is_of_process = |lock: &RecordLock| lock.owner == owner;
            self.locks
                .records
                .retain(|lock| !(is_of_process(lock) && lock.file == file));
        }
        if is_last {
            self.release_locks_of_open_file(slot);
        }
    }

    /// The open file is closed for good.
    pub(super) fn release_locks_of_open_file(&mut self, slot: usize) {
        let owner = Owner::OpenFile(slot);
        self.locks.records.retain(|lock| lock.owner != owner);
        self.locks.files.retain(|lock| lock.slot != slot);
    }
}

/// How `fcntl` is to set a lock.
#[derive(Clone, Copy, Debug)]
pub(super) struct SetMode {
    pub of_open_file: bool,
    pub waits: bool,
}

/// `l_type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LockType {
    Shared,
    Exclusive,
    Unlocked,
}

/// `struct flock`, with a range of bytes in place of `l_whence`, `l_start` and `l_len`.
struct Request {
    kind: LockType,
    lock: RecordLock,
    pid: u32,
}

impl Linux {
    pub(super) fn flock(&mut self, fd: u64, operation: u64) -> Outcome {
        const SHARED: u32 = 1;
        const EXCLUSIVE: u32 = 2;
        const NONBLOCK: u32 = 4;
        const UNLOCK: u32 = 8;
        self.opened(fd)?;
        let operation = operation as u32;
        let kind = operation & !NONBLOCK;
        if !matches!(kind, SHARED | EXCLUSIVE | UNLOCK) {
            return Err(Errno::EINVAL.into());
        }
        let slot = self.files.slot(fd)?;
        let file = self.files.locked_file(slot)?;
        let is_exclusive = kind == EXCLUSIVE;
        let locks = &mut self.files.locks.files;
        // Converting a lock gives the old one up before it asks for the new one.
        locks.retain(|lock| lock.slot != slot);
        if kind == UNLOCK {
            return Ok(0);
        }
        let is_held = locks
            .iter()
            .any(|held| held.file == file && (held.is_exclusive || is_exclusive));
        if is_held {
            return Err(Unserved::on_file(
                operation & NONBLOCK != 0,
                "a lock (flock) that another open file holds",
            ));
        }
        locks.push(FileLock {
            file,
            slot,
            is_exclusive,
        });
        Ok(0)
    }

    /// `F_GETLK`, `F_OFD_GETLK`: the first lock that is in the way, or that there is none.
    pub(super) fn get_lock(
        &self,
        mem: &mut Memory,
        fd: u64,
        addr: u64,
        of_open_file: bool,
    ) -> Result<u64, Errno> {
        let request = self.lock_request(mem, fd, addr, of_open_file)?;
        if request.kind == LockType::Unlocked || of_open_file && request.pid != 0 {
            return Err(Errno::EINVAL);
        }
        let [shared, exclusive, unlocked] = self.abi.lock_types();
        let Some(held) = self.files.locks.conflict(&request.lock) else {
            mem.write_bytes(addr, &unlocked.to_le_bytes())?;
            return Ok(0);
        };
        let len = match held.last {
            LAST_BYTE => 0,
            last => last - held.first + 1,
        };
        let pid = match held.owner {
            Owner::Process(pid) => pid,
            Owner::OpenFile(_) => u32::MAX,
        };
        let record = Record::new()
            .u16(if held.is_exclusive { exclusive } else { shared })
            .pad_to(8)
            .u64(held.first)
            .u64(len)
            .u32(pid);
        mem.write_bytes(addr, &record.done())?;
        Ok(0)
    }

    /// `F_SETLK`, `F_SETLKW` and their `F_OFD_*`.
    pub(super) fn set_lock(&mut self, mem: &Memory, fd: u64, addr: u64, mode: SetMode) -> Outcome {
        let request = self.lock_request(mem, fd, addr, mode.of_open_file)?;
        if mode.of_open_file && request.pid != 0 {
            return Err(Errno::EINVAL.into());
        }
        let flags = self.files.get(fd)?.flags;
        match request.kind {
            LockType::Shared if !flags.read => return Err(Errno::EBADF.into()),
            LockType::Exclusive if !flags.write => return Err(Errno::EBADF.into()),
            LockType::Unlocked => {
                self.files.locks.release(&request.lock);
                return Ok(0);
            }
            _ => {}
        }
        if self.files.locks.conflict(&request.lock).is_some() {
            return Err(Unserved::on_file(
                !mode.waits,
                "a record lock (fcntl) that somebody else holds",
            ));
        }
        if self.files.locks.records.len() >= MAX_RECORDS {
            return Err(Errno::ENOLCK.into());
        }
        self.files.locks.set(request.lock);
        Ok(0)
    }

    fn lock_request(
        &self,
        mem: &Memory,
        fd: u64,
        addr: u64,
        of_open_file: bool,
    ) -> Result<Request, Errno> {
        let slot = self.files.slot(fd)?;
        // The whole structure, whose last part is padding.
        mem.readable(addr, 32)?;
        let [kind, whence] = [mem.read::<2>(addr)?, mem.read::<2>(addr + 2)?];
        let [start, len] = [mem.read::<8>(addr + 8)?, mem.read::<8>(addr + 16)?];
        let pid = mem.read::<4>(addr + 24)? as u32;
        let (first, last) = self.lock_range(fd, whence, start as i64, len as i64)?;
        let [shared, exclusive, unlocked] = self.abi.lock_types().map(u64::from);
        let kind = match kind {
            kind if kind == shared => LockType::Shared,
            kind if kind == exclusive => LockType::Exclusive,
            kind if kind == unlocked => LockType::Unlocked,
            _ => return Err(Errno::EINVAL),
        };
        let lock = RecordLock {
            file: self.files.locked_file(slot)?,
            owner: if of_open_file {
                Owner::OpenFile(slot)
            } else {
                Owner::Process(self.pid)
            },
            is_exclusive: kind == LockType::Exclusive,
            first,
            last,
        };
        Ok(Request { kind, lock, pid })
    }

    /// The first and the last byte of a range; a negative length lies before `start`, none reaches to the
    /// end.
    fn lock_range(&self, fd: u64, whence: u64, start: i64, len: i64) -> Result<(u64, u64), Errno> {
        let base = match (whence, &self.files.get(fd)?.kind) {
            (0, _) => 0,
            (1, Kind::File(host)) => (&*host).stream_position()?,
            (2, Kind::File(host)) => host.metadata()?.len(),
            (1 | 2, _) => 0,
            _ => return Err(Errno::EINVAL),
        };
        let start = (base as i64).checked_add(start).ok_or(Errno::EOVERFLOW)?;
        if start < 0 {
            return Err(Errno::EINVAL);
        }
        let (first, last) = match len {
            0 => (start, i64::MAX),
            1.. => (start, start.checked_add(len - 1).ok_or(Errno::EOVERFLOW)?),
            _ => (start + len, start - 1),
        };
        if first < 0 {
            return Err(Errno::EINVAL);
        }
        Ok((first as u64, last as u64))
    }
}
