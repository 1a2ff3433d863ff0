//! Calls that keep pages in memory. All pages are; what counts is the limit (`RLIMIT_MEMLOCK`) and that
//! locked pages cannot be thrown away.

use hps_isa::layout;
use hps_isa::memory::Memory;
use serde::{Deserialize, Serialize};

use super::Linux;
use super::errno::Errno;
use super::identity::capability;
use super::memory_advice::guest_parts;
use super::ranges::Ranges;

/// Memory that is locked.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Locks {
    pub ranges: Ranges<()>,
    /// New mappings are locked as well.
    pub future: bool,
}

impl Locks {
    fn bytes(&self) -> u64 {
        self.ranges.bytes_within(0..u64::MAX)
    }
}

impl Linux {
    /// `mlock` and `mlock2`.
    pub(super) fn mlock(
        &mut self,
        mem: &Memory,
        addr: u64,
        len: u64,
        flags: u64,
    ) -> Result<u64, Errno> {
        const ONFAULT: u64 = 1;
        if flags as u32 as u64 & !ONFAULT != 0 {
            return Err(Errno::EINVAL);
        }
        let limit = self.lock_limit()?;
        let (start, end) = self.whole_pages(addr, len)?;
        let already = self.space.locks.ranges.bytes_within(start..end);
        if self.space.locks.bytes() - already + (end - start) > limit {
            return Err(Errno::ENOMEM);
        }
        let is_whole = mem.is_mapped(start, end - start);
        // Pages in front of a gap are locked nevertheless.
        let mut reached = start;
        for part in guest_parts(mem, start..end) {
            if part.start != reached {
                break;
            }
            reached = part.end;
            self.space.locks.ranges.insert(part, ());
        }
        if is_whole { Ok(0) } else { Err(Errno::ENOMEM) }
    }

    pub(super) fn munlock(&mut self, mem: &Memory, a: &[u64; 6]) -> Result<u64, Errno> {
        let (start, end) = self.whole_pages(a[0], a[1])?;
        self.space.locks.ranges.remove(start..end);
        if mem.is_mapped(start, end - start) {
            Ok(0)
        } else {
            Err(Errno::ENOMEM)
        }
    }

    pub(super) fn mlockall(&mut self, mem: &Memory, flags: u64) -> Result<u64, Errno> {
        let rules = self.abi.sync_rules();
        let flags = u64::from(flags as u32);
        let known = rules.lock_current | rules.lock_future | rules.lock_on_fault;
        if flags & !known != 0 || flags == 0 || flags == rules.lock_on_fault {
            return Err(Errno::EINVAL);
        }
        let limit = self.lock_limit()?;
        if flags & rules.lock_current != 0 {
            // The stack counts as it grows.
            if mem.mapped_bytes().saturating_sub(layout::STACK_BYTES) > limit {
                return Err(Errno::ENOMEM);
            }
            for part in guest_parts(mem, 0..Memory::LIMIT) {
                self.space.locks.ranges.insert(part, ());
            }
        }
        self.space.locks.future = flags & rules.lock_future != 0;
        Ok(0)
    }

    pub(super) fn munlockall(&mut self) {
        self.space.locks = Locks::default();
    }

    /// Whether a new mapping of `len` bytes may be locked, which it asks for itself or not.
    pub(super) fn check_lock_of_mapping(&self, len: u64, asks: bool) -> Result<(), Errno> {
        let limit = match self.lock_limit() {
            Err(errno) if asks => return Err(errno),
            limit => limit.unwrap_or(0),
        };
        if self.space.locks.bytes() + len > limit {
            return Err(Errno::EAGAIN);
        }
        Ok(())
    }

    /// How much may be locked; nothing at all is another error than too much.
    fn lock_limit(&self) -> Result<u64, Errno> {
        if self.may(capability::IPC_LOCK) {
            return Ok(u64::MAX);
        }
        match self.limits.locked_bytes() {
            0 => Err(Errno::EPERM),
            bytes => Ok(bytes),
        }
    }

    /// The pages that hold a range.
    fn whole_pages(&self, addr: u64, len: u64) -> Result<(u64, u64), Errno> {
        let pages = self.pages();
        let start = addr - addr % pages.0;
        let end = addr.checked_add(len).and_then(|end| pages.align_up(end));
        Ok((start, end.ok_or(Errno::EINVAL)?))
    }
}
