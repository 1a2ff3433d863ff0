//! The memory that an event shares with its program: a page about it (`struct perf_event_mmap_page`), and a ring of records.

use serde::{Deserialize, Serialize};
use std::ops::Range;

use hps_isa::bus::MemFault;
use hps_isa::memory::Memory;

use super::super::Linux;
use super::super::errno::Errno;
use super::super::record::Record;
use super::samples::Wakes;

/// Where in the first page the kernel says up to where it has written, and the program up to where it has read.
const HEAD: u64 = 1024;
const TAIL: u64 = 1032;

/// A mapped buffer.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Buffer {
    /// Address of the buffer's first page.
    at: u64,
    /// Addresses of the ring.
    ring: Range<u64>,
    /// Bytes written since it is there.
    head: u64,
    /// Old records are written over: the program cannot say what it has read.
    overwrites: bool,
    /// Records for which there was no room since the last one.
    lost: u64,
    /// Samples and bytes since who polls was woken.
    unseen: (u32, u64),
}

impl Buffer {
    pub(super) fn lost(&self) -> u64 {
        self.lost
    }

    pub(super) fn overlaps(&self, range: &Range<u64>) -> bool {
        self.at < range.end && range.start < self.ring.end
    }

    /// Writes the record of a sample, with the one about those that were lost before it. Says whether that wakes who polls.
    pub(super) fn write(&mut self, mem: &mut Memory, bytes: &[u8], wakes: Wakes) -> bool {
        let size = self.ring.end - self.ring.start;
        let unread = match mem.read::<8>(self.at + TAIL) {
            Ok(tail) if !self.overwrites => self.head.wrapping_sub(tail),
            _ => 0,
        };
        let has_room = unread
            .checked_add(bytes.len() as u64)
            .is_some_and(|needed| needed <= size);
        if !has_room || self.append(mem, bytes).is_err() {
            self.lost += 1;
            return false;
        }
        self.lost = 0;
        self.unseen.0 += 1;
        self.unseen.1 += bytes.len() as u64;
        let is_due = match wakes {
            Wakes::Samples(count) => self.unseen.0 >= count,
            Wakes::Bytes(0) => self.unseen.1 > size / 2,
            Wakes::Bytes(bytes) => self.unseen.1 > u64::from(bytes),
        };
        if is_due {
            self.unseen = (0, 0);
        }
        is_due
    }

    /// Writes bytes behind the last ones, and then their new end.
    fn append(&mut self, mem: &mut Memory, bytes: &[u8]) -> Result<(), MemFault> {
        let size = self.ring.end - self.ring.start;
        let at = self.head % size;
        let first = bytes.len().min((size - at) as usize);
        mem.write_bytes_forced(self.ring.start + at, &bytes[..first])?;
        mem.write_bytes_forced(self.ring.start, &bytes[first..])?;
        self.head = self.head.wrapping_add(bytes.len() as u64);
        mem.write_bytes_forced(self.at + HEAD, &self.head.to_le_bytes())
    }
}

impl Linux {
    /// Checks what of an event is to be mapped: the page about it, and a ring of a power of two of pages.
    pub(in super::super) fn check_event_mapping(
        &self,
        fd: u64,
        (offset, len): (u64, u64),
        is_shared: bool,
    ) -> Result<(), Errno> {
        let file = self.perf_file(fd)?.ok_or(Errno::EBADF)?;
        let pages = len / self.abi.page_bytes();
        let is_ring = pages == 1 || (pages - 1).is_power_of_two();
        if !is_shared || offset != 0 || !is_ring {
            return Err(Errno::EINVAL);
        }
        // The kernel lets both mappings share the ring.
        match file.lock().buffer {
            Some(_) => Err(Errno::EBUSY),
            None => Ok(()),
        }
    }

    /// An event has been mapped there.
    pub(in super::super) fn event_is_mapped(
        &mut self,
        mem: &mut Memory,
        fd: u64,
        range: &Range<u64>,
        is_writable: bool,
    ) -> Result<(), Errno> {
        /// Where the ring begins and how long it is, in the first page.
        const DATA: u64 = 1040;
        /// `cap_bit0_is_deprecated`: programs cannot read the counter itself.
        const CAPABILITIES: (u64, u64) = (40, 1 << 1);
        let file = self.perf_file(fd)?.ok_or(Errno::EBADF)?;
        let page = self.abi.page_bytes();
        let ring = range.start + page..range.end;
        let data = Record::new().u64(page).u64(ring.end - ring.start).done();
        mem.write_bytes_forced(range.start + DATA, &data)?;
        mem.write_bytes_forced(range.start + CAPABILITIES.0, &CAPABILITIES.1.to_le_bytes())?;
        if !ring.is_empty() {
            file.lock().buffer = Some(Buffer {
                at: range.start,
                ring,
                head: 0,
                overwrites: !is_writable,
                lost: 0,
                unseen: (0, 0),
            });
        }
        Ok(())
    }
}
