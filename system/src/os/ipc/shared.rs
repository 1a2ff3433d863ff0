//! Segments of shared memory: files in memory that processes map.

use std::fs::File;

use hps_isa::layout;
use hps_isa::memory::{Memory, Perm};

use super::super::Linux;
use super::super::errno::Errno;
use super::super::file_mappings::identity;
use super::super::memory_files::new_memory_file;
use super::{ALTERS, INFO, IPC_64, MOST, READS, REMOVE, SET, STAT};
use crate::os::record::Record;

const READ_ONLY: u64 = 0o10000;
const ROUND: u64 = 0o20000;
const REMAP: u64 = 0o40000;
const EXECUTE: u64 = 0o100_000;
/// The last process that has it mapped takes it away.
const DEST: u32 = 0o1000;
const LOCK: u64 = 11;
const UNLOCK: u64 = 12;
const SHM_STAT: u64 = 13;
const SHM_INFO: u64 = 14;
const SHM_STAT_ANY: u64 = 15;

/// A segment of memory.
#[derive(Debug, serde::Serialize, serde::Deserialize)]
pub(in super::super) struct Segment {
    #[serde(with = "crate::checkpoint::kept")]
    file: File,
    #[serde(with = "crate::checkpoint::identity")]
    identity: (u64, u64),
    bytes: u64,
    attached_at: u64,
    detached_at: u64,
    changed_at: u64,
    creator: u32,
    last: u32,
}

impl Segment {
    pub(super) fn file(&self) -> &File {
        &self.file
    }
}

impl Linux {
    pub(in super::super) fn shmget(&mut self, a: &[u64; 6]) -> Result<u64, Errno> {
        let [key, bytes, flags, ..] = *a;
        self.drop_segments();
        let (now, pid) = (self.date_seconds(), self.pid);
        let page = self.abi.page_bytes();
        let most = Memory::LIMIT;
        let check = |segment: &Segment| match bytes > segment.bytes {
            true => Err(Errno::EINVAL),
            false => Ok(()),
        };
        let make = || {
            if bytes == 0 || bytes > most {
                return Err(Errno::EINVAL);
            }
            let file = new_memory_file()?;
            file.set_len(bytes.next_multiple_of(page))?;
            Ok(Segment {
                identity: identity(&file)?,
                file,
                bytes,
                attached_at: 0,
                detached_at: 0,
                changed_at: now,
                creator: pid,
                last: 0,
            })
        };
        let segments = &mut self.family.ipc.segments;
        segments.open(&self.credentials, key as i32, flags, check, make)
    }

    pub(in super::super) fn shmat(&mut self, mem: &mut Memory, a: &[u64; 6]) -> Result<u64, Errno> {
        let [id, wanted, flags, ..] = *a;
        let pages = self.pages();
        let wanted = match flags & ROUND {
            0 => wanted,
            _ => wanted - wanted % pages.0,
        };
        if !pages.is_aligned(wanted) || wanted == 0 && flags & REMAP != 0 {
            return Err(Errno::EINVAL);
        }
        let writes = flags & READ_ONLY == 0;
        let entry = self.family.ipc.segments.get(id)?;
        let asked = if writes { READS | ALTERS } else { READS };
        entry.access.permit(&self.credentials, asked)?;
        let len = pages.align_up(entry.object.bytes).ok_or(Errno::EINVAL)?;
        let file = entry.object.file.try_clone()?;
        let addr = match wanted {
            0 => self.find_gap(mem, len)?,
            addr if !layout::is_guest_range(addr, len) => return Err(Errno::EINVAL),
            addr if flags & REMAP == 0 && !mem.is_free(addr, len) => return Err(Errno::EINVAL),
            addr => addr,
        };
        let perm = if writes { Perm::RW } else { Perm::R };
        let perm = match flags & EXECUTE {
            0 => perm,
            _ => perm.union(Perm::X),
        };
        let mapped = self
            .space
            .mappings
            .hold(&file, None, 0, (true, writes), u64::MAX)?;
        mem.map(addr, len, perm)?;
        self.forget(addr, len);
        mapped.copy_to(mem, addr..addr + len)?;
        self.space
            .mappings
            .place(mem, pages.0, addr..addr + len, mapped)?;
        self.track_shared(mem);
        let (now, pid) = (self.date_seconds(), self.pid);
        let segment = &mut self.family.ipc.segments.get(id)?.object;
        (segment.attached_at, segment.last) = (now, pid);
        Ok(addr)
    }

    pub(in super::super) fn shmdt(&mut self, mem: &mut Memory, addr: u64) -> Result<u64, Errno> {
        let found = self
            .space
            .mappings
            .ranges
            .within(addr..addr.saturating_add(1));
        let Some((_, file)) = found.into_iter().next() else {
            return Err(Errno::EINVAL);
        };
        let segments = &self.family.ipc.segments;
        let is_it = |identity: (u64, u64)| identity == file.identity;
        let segment = segments
            .iter()
            .find(|(_, entry)| is_it(entry.object.identity));
        let Some((id, entry)) = segment.filter(|_| file.offset() == 0) else {
            return Err(Errno::EINVAL);
        };
        let len = self
            .pages()
            .align_up(entry.object.bytes)
            .ok_or(Errno::EINVAL)?;
        // Parts of it may have been unmapped or replaced before.
        let parts = self.space.mappings.ranges.within(addr..addr + len);
        for (part, file) in parts {
            if is_it(file.identity) {
                mem.unmap(part.start, part.end - part.start)?;
                self.forget(part.start, part.end - part.start);
            }
        }
        self.track_shared(mem);
        let (now, pid) = (self.date_seconds(), self.pid);
        let segment = &mut self.family.ipc.segments.get(id)?.object;
        (segment.detached_at, segment.last) = (now, pid);
        self.drop_segments();
        Ok(0)
    }

    pub(in super::super) fn shmctl(
        &mut self,
        mem: &mut Memory,
        a: &[u64; 6],
    ) -> Result<u64, Errno> {
        let [id, request, buffer, ..] = *a;
        let request = u64::from(request as u32) & !IPC_64;
        self.drop_segments();
        let now = self.date_seconds();
        match request {
            INFO => {
                // shmmax, shmmin, shmmni, shmseg, shmall
                let most = MOST as u64;
                let record = Record::new().u64(Memory::LIMIT).u64(1).u64(most).u64(most);
                let all = Memory::LIMIT / self.abi.page_bytes();
                mem.write_bytes(buffer, &record.u64(all).pad_to(72).done())?;
                return Ok(self.family.ipc.segments.highest());
            }
            SHM_INFO => {
                let page = self.abi.page_bytes();
                let segments = &self.family.ipc.segments;
                let count = segments.iter().count() as u32;
                let pages = segments.iter().map(|(_, e)| e.object.bytes.div_ceil(page));
                let record = Record::new().u32(count).u32(0).u64(pages.sum());
                mem.write_bytes(buffer, &record.pad_to(48).done())?;
                return Ok(segments.highest());
            }
            _ => {}
        }
        let (id, result) = match request {
            SHM_STAT | SHM_STAT_ANY => {
                let (id, _) = self.family.ipc.segments.at_place(id)?;
                (id, id)
            }
            _ => (id, 0),
        };
        let identity = self.family.ipc.segments.get(id)?.object.identity;
        let attached = self.attachments(identity);
        let entry = self.family.ipc.segments.get(id)?;
        match request {
            STAT | SHM_STAT | SHM_STAT_ANY => {
                if request != SHM_STAT_ANY {
                    entry.access.permit(&self.credentials, READS)?;
                }
                let segment = &entry.object;
                let record = entry
                    .access
                    .record()
                    .u64(segment.bytes)
                    .u64(segment.attached_at)
                    .u64(segment.detached_at)
                    .u64(segment.changed_at)
                    .u32(segment.creator)
                    .u32(segment.last)
                    .u64(attached)
                    .pad_to(112);
                mem.write_bytes(buffer, &record.done())?;
            }
            SET => {
                mem.readable(buffer, 112)?;
                entry.access.permit_change(&self.credentials)?;
                entry.access.change(mem, buffer)?;
                entry.object.changed_at = now;
            }
            REMOVE => {
                entry.access.permit_change(&self.credentials)?;
                entry.access.mode |= DEST;
                // Nobody finds it by its key any more.
                entry.access.key = super::PRIVATE;
                self.drop_segments();
            }
            LOCK | UNLOCK => entry.access.permit_change(&self.credentials)?,
            _ => return Err(Errno::EINVAL),
        }
        Ok(result)
    }

    /// How often a segment is mapped, in all processes.
    fn attachments(&self, identity: (u64, u64)) -> u64 {
        let of = |os: &Linux| {
            let all = os.space.mappings.ranges.within(0..u64::MAX).into_iter();
            let starts = all.filter(|(_, file)| file.identity == identity && file.offset() == 0);
            starts.count() as u64
        };
        of(self) + self.other_processes().map(of).sum::<u64>()
    }

    /// Takes away segments that are removed and that nobody has mapped.
    fn drop_segments(&mut self) {
        let segments = self.family.ipc.segments.iter();
        let removed: Vec<(u64, (u64, u64))> = segments
            .filter(|(_, entry)| entry.access.mode & DEST != 0)
            .map(|(id, entry)| (id, entry.object.identity))
            .collect();
        for (id, identity) in removed {
            if self.attachments(identity) == 0 {
                self.family.ipc.segments.remove(id);
            }
        }
    }
}
