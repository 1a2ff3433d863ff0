//! Shared memory, semaphores and message queues of System V (sysvipc(7), Linux `ipc/`).
//!
//! Objects belong to all processes of the run and are named by keys. Structures and numbers of requests are the same on
//! both instruction sets.

mod message;
mod semaphore;
mod shared;

pub(super) use self::message::Queue;
pub(super) use self::semaphore::Semaphores;
pub(super) use self::shared::Segment;

use serde::{Deserialize, Serialize};
use std::fs::File;

use hps_isa::memory::Memory;

use super::errno::Errno;
use super::identity::{Credentials, capability};
use super::record::Record;
use super::{Linux, Owner};

/// `IPC_PRIVATE`: a new object without a key.
const PRIVATE: i32 = 0;
const CREATE: u64 = 0o1000;
const EXCLUSIVE: u64 = 0o2000;
const NOWAIT: u64 = 0o4000;
const REMOVE: u64 = 0;
const SET: u64 = 1;
const STAT: u64 = 2;
const INFO: u64 = 3;
/// A request for the structures that all interfaces have alike.
const IPC_64: u64 = 0x100;
/// Reading and altering, by anybody.
const READS: u32 = 0o444;
const ALTERS: u32 = 0o222;
/// A number has the place of its object in the lower bits, and how often the place has been used in the upper ones.
const PLACES: usize = 1 << 15;
/// Objects of a kind that the run may have.
const MOST: usize = 256;

/// The objects of all kinds.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Ipc {
    segments: Table<Segment>,
    semaphores: Table<Semaphores>,
    queues: Table<Queue>,
}

/// Bytes of the host for a message beside its text, and for a change of a semaphore that is to be undone.
const RECORD_BYTES: u64 = 64;

impl Ipc {
    /// Bytes that the host keeps for semaphores and messages.
    pub(super) fn held_bytes(&self) -> u64 {
        let sets = self.semaphores.iter();
        let of_sets: u64 = sets.map(|(_, entry)| entry.object.held_bytes()).sum();
        let queues = self.queues.iter();
        of_sets + queues.map(|(_, e)| e.object.held_bytes()).sum::<u64>()
    }

    /// The files of all segments.
    pub(super) fn segment_files(&self) -> impl Iterator<Item = &File> {
        self.segments.iter().map(|(_, entry)| entry.object.file())
    }
}

/// Whose an object is, and who may use it.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Access {
    key: i32,
    owner: Owner,
    creator: Owner,
    mode: u32,
    sequence: u16,
}

impl Access {
    /// `struct ipc64_perm`.
    fn record(&self) -> Record {
        Record::new()
            .u32(self.key as u32)
            .u32(self.owner.uid)
            .u32(self.owner.gid)
            .u32(self.creator.uid)
            .u32(self.creator.gid)
            .u32(self.mode)
            .u16(self.sequence)
            .pad_to(48)
    }

    /// Whether a process may do what the bits of `wanted` ask for.
    fn permit(&self, own: &Credentials, wanted: u32) -> Result<(), Errno> {
        let wanted = (wanted >> 6 | wanted >> 3 | wanted) & 7;
        let is_one = |owner: &Owner| own.euid() == owner.uid;
        let is_in = |owner: &Owner| own.is_in_group(owner.gid);
        let owners = [self.owner, self.creator];
        let granted = if owners.iter().any(is_one) {
            self.mode >> 6
        } else if owners.iter().any(is_in) {
            self.mode >> 3
        } else {
            self.mode
        };
        match wanted & !granted != 0 && !own.may(capability::IPC_OWNER) {
            true => Err(Errno::EACCES),
            false => Ok(()),
        }
    }

    /// Whether a process may change or remove the object.
    fn permit_change(&self, own: &Credentials) -> Result<(), Errno> {
        let is_one = [self.owner.uid, self.creator.uid].contains(&own.euid());
        match is_one || own.may(capability::SYS_ADMIN) {
            true => Ok(()),
            false => Err(Errno::EPERM),
        }
    }

    /// `IPC_SET`: takes owner and mode from a structure that begins with them.
    fn change(&mut self, mem: &Memory, at: u64) -> Result<(), Errno> {
        let uid = mem.read::<4>(at.wrapping_add(4))? as u32;
        let gid = mem.read::<4>(at.wrapping_add(8))? as u32;
        let mode = mem.read::<4>(at.wrapping_add(20))? as u32;
        self.owner = Owner { uid, gid };
        self.mode = self.mode & !0o777 | mode & 0o777;
        Ok(())
    }
}

/// An object and who may use it.
#[derive(Debug, Serialize, Deserialize)]
struct Entry<T> {
    access: Access,
    object: T,
}

/// The objects of one kind.
#[derive(Debug, Serialize, Deserialize)]
struct Table<T> {
    places: Vec<(u16, Option<Entry<T>>)>,
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Table { places: Vec::new() }
    }
}

impl<T> Table<T> {
    /// The object with a number.
    fn get(&mut self, id: u64) -> Result<&mut Entry<T>, Errno> {
        let id = usize::try_from(id as i32).map_err(|_| Errno::EINVAL)?;
        let place = self.places.get_mut(id % PLACES);
        let (sequence, entry) = place.ok_or(Errno::EINVAL)?;
        let entry = entry.as_mut().ok_or(Errno::EINVAL)?;
        match usize::from(*sequence) == id / PLACES {
            true => Ok(entry),
            false => Err(Errno::EINVAL),
        }
    }

    /// The object at a place of the table, and its number.
    fn at_place(&mut self, place: u64) -> Result<(u64, &mut Entry<T>), Errno> {
        let index = usize::try_from(place as i32).map_err(|_| Errno::EINVAL)?;
        let (sequence, entry) = self.places.get_mut(index).ok_or(Errno::EINVAL)?;
        let id = index + PLACES * usize::from(*sequence);
        Ok((id as u64, entry.as_mut().ok_or(Errno::EINVAL)?))
    }

    fn remove(&mut self, id: u64) -> Option<Entry<T>> {
        let (sequence, entry) = self.places.get_mut(id as usize % PLACES)?;
        // Numbers stay positive.
        *sequence = (*sequence + 1) % 0x7fff;
        entry.take()
    }

    /// The number of the object with a key.
    fn find(&self, key: i32) -> Option<u64> {
        let is_it = |entry: &Option<Entry<T>>| entry.as_ref().is_some_and(|e| e.access.key == key);
        let index = self.places.iter().position(|(_, entry)| is_it(entry))?;
        Some((index + PLACES * usize::from(self.places[index].0)) as u64)
    }

    /// All objects and their numbers.
    fn iter(&self) -> impl Iterator<Item = (u64, &Entry<T>)> {
        let numbered = self.places.iter().enumerate();
        numbered.filter_map(|(index, (sequence, entry))| {
            let id = index + PLACES * usize::from(*sequence);
            Some((id as u64, entry.as_ref()?))
        })
    }

    /// The highest place that is used.
    fn highest(&self) -> u64 {
        let used = self.places.iter().rposition(|(_, entry)| entry.is_some());
        used.unwrap_or(0) as u64
    }

    /// `shmget`, `semget` and `msgget`: the number of the object with a key, which `check` looks at, or of a new one that
    /// `make` gives.
    fn open(
        &mut self,
        own: &Credentials,
        key: i32,
        flags: u64,
        check: impl FnOnce(&T) -> Result<(), Errno>,
        make: impl FnOnce() -> Result<T, Errno>,
    ) -> Result<u64, Errno> {
        let known = (key != PRIVATE).then(|| self.find(key)).flatten();
        if let Some(id) = known {
            if flags & (CREATE | EXCLUSIVE) == CREATE | EXCLUSIVE {
                return Err(Errno::EEXIST);
            }
            let entry = self.get(id)?;
            entry.access.permit(own, flags as u32 & 0o777)?;
            check(&entry.object)?;
            return Ok(id);
        }
        if key != PRIVATE && flags & CREATE == 0 {
            return Err(Errno::ENOENT);
        }
        let object = make()?;
        let index = match self.places.iter().position(|(_, entry)| entry.is_none()) {
            Some(index) => index,
            None if self.places.len() >= MOST => return Err(Errno::ENOSPC),
            None => {
                self.places.push((0, None));
                self.places.len() - 1
            }
        };
        let owner = Owner {
            uid: own.euid(),
            gid: own.egid(),
        };
        let (sequence, place) = &mut self.places[index];
        let access = Access {
            key,
            owner,
            creator: owner,
            mode: flags as u32 & 0o777,
            sequence: *sequence,
        };
        *place = Some(Entry { access, object });
        Ok((index + PLACES * usize::from(*sequence)) as u64)
    }
}

impl Linux {
    /// A process ends: what it asked to be undone of its operations on semaphores is.
    pub(super) fn undo_semaphores(&mut self) {
        let pid = self.pid;
        let mut has_changed = false;
        for (_, entry) in &mut self.family.ipc.semaphores.places {
            if let Some(entry) = entry {
                has_changed |= entry.object.undo(pid);
            }
        }
        if has_changed {
            self.wake_on_files();
        }
    }
}
