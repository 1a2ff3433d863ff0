//! Calls that ask and advise about memory that is mapped: `madvise`, `msync`, `mincore`.

use std::ops::Range;

use hps_isa::layout;
use hps_isa::memory::Memory;

use super::Linux;
use super::errno::Errno;

/// `MADV_*` that every interface has alike.
mod advice {
    pub const WILLNEED: u64 = 3;
    pub const FREE: u64 = 8;
    pub const REMOVE: u64 = 9;
    pub const DONTFORK: u64 = 10;
    pub const DOFORK: u64 = 11;
    pub const WIPEONFORK: u64 = 18;
    pub const KEEPONFORK: u64 = 19;
    pub const DONTNEED_LOCKED: u64 = 24;
    pub const COLLAPSE: u64 = 25;
    pub const HWPOISON: u64 = 100;
    pub const SOFT_OFFLINE: u64 = 101;
}

/// Effect of an advice on pages.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Effect {
    Nothing,
    /// Pages have their first content again.
    Discard {
        even_locked: bool,
    },
    /// Nothing, but pages of files are refused.
    AnonymousOnly,
    /// Children have the pages, or do not have them.
    Inherit(bool),
    /// Children have the pages of private memory as zeros, or as they are.
    Wipe(bool),
    /// Only shared memory with a file behind it could have a hole.
    Refused,
}

impl Linux {
    pub(super) fn madvise(&mut self, mem: &mut Memory, a: &[u64; 6]) -> Result<u64, Errno> {
        let [addr, len, advice, ..] = *a;
        let pages = self.pages();
        let effect = self.effect(advice)?;
        let rounded = pages.align_up(len).ok_or(Errno::EINVAL)?;
        let end = addr.checked_add(rounded).ok_or(Errno::EINVAL)?;
        if !pages.is_aligned(addr) {
            return Err(Errno::EINVAL);
        }
        // The kernel goes from mapping to mapping; holes are reported when all else is done.
        let mut covered = 0;
        for part in guest_parts(mem, addr..end) {
            covered += part.end - part.start;
            self.advise(mem, part, effect)?;
        }
        if covered == rounded {
            Ok(0)
        } else {
            Err(Errno::ENOMEM)
        }
    }

    fn effect(&self, raw: u64) -> Result<Effect, Errno> {
        let raw = u64::from(raw as u32);
        if raw == self.abi.advice_dontneed() {
            return Ok(Effect::Discard { even_locked: false });
        }
        match raw {
            0..=advice::WILLNEED => Ok(Effect::Nothing),
            advice::FREE => Ok(Effect::AnonymousOnly),
            advice::DONTFORK | advice::DOFORK => Ok(Effect::Inherit(raw == advice::DOFORK)),
            advice::WIPEONFORK | advice::KEEPONFORK => Ok(Effect::Wipe(raw == advice::WIPEONFORK)),
            advice::REMOVE => Ok(Effect::Refused),
            advice::DONTNEED_LOCKED => Ok(Effect::Discard { even_locked: true }),
            12..=advice::COLLAPSE => Ok(Effect::Nothing),
            advice::HWPOISON | advice::SOFT_OFFLINE => Err(Errno::EPERM),
            _ => Err(Errno::EINVAL),
        }
    }

    fn advise(&mut self, mem: &mut Memory, part: Range<u64>, effect: Effect) -> Result<(), Errno> {
        let marks = match effect {
            Effect::Inherit(_) => Some(&mut self.space.mappings.kept_from_children),
            Effect::Wipe(_) => Some(&mut self.space.mappings.wiped_in_children),
            _ => None,
        };
        if let (Some(marks), Effect::Inherit(true) | Effect::Wipe(false)) = (marks, effect) {
            marks.remove(part);
            return Ok(());
        }
        let is_shared = !self
            .space
            .mappings
            .anonymous
            .within(part.clone())
            .is_empty();
        let has_file = || !self.space.mappings.ranges.within(part.clone()).is_empty();
        match effect {
            Effect::Nothing => Ok(()),
            Effect::AnonymousOnly if has_file() => Err(Errno::EINVAL),
            Effect::AnonymousOnly => Ok(()),
            Effect::Refused => Err(Errno::EINVAL),
            Effect::Inherit(_) => {
                self.space.mappings.kept_from_children.insert(part, ());
                Ok(())
            }
            Effect::Wipe(_) if is_shared || has_file() => Err(Errno::EINVAL),
            Effect::Wipe(_) => {
                self.space.mappings.wiped_in_children.insert(part, ());
                Ok(())
            }
            Effect::Discard { even_locked } => {
                if !even_locked && self.space.locks.ranges.bytes_within(part.clone()) > 0 {
                    return Err(Errno::EINVAL);
                }
                mem.discard(part.start, part.end - part.start)?;
                self.space.mappings.restore(mem, part)
            }
        }
    }

    /// Writes to shared mappings of files have been written back before the call.
    pub(super) fn msync(&self, mem: &Memory, a: &[u64; 6]) -> Result<u64, Errno> {
        const ASYNC: u64 = 1;
        let [addr, len, flags, ..] = *a;
        let flags = u64::from(flags as u32);
        let rules = self.abi.sync_rules();
        let pages = self.pages();
        let has = |flag| flags & flag != 0;
        if flags & !(ASYNC | rules.sync | rules.invalidate) != 0
            || (has(ASYNC) && has(rules.sync))
            || !pages.is_aligned(addr)
        {
            return Err(Errno::EINVAL);
        }
        let len = pages.align_up(len).ok_or(Errno::ENOMEM)?;
        let end = addr.checked_add(len).ok_or(Errno::ENOMEM)?;
        if has(rules.invalidate) && self.space.locks.ranges.bytes_within(addr..end) > 0 {
            return Err(Errno::EBUSY);
        }
        if mem.is_mapped(addr, len) {
            Ok(0)
        } else {
            Err(Errno::ENOMEM)
        }
    }

    /// Pages of files and pages that have been written are in memory.
    pub(super) fn mincore(&self, mem: &mut Memory, a: &[u64; 6]) -> Result<u64, Errno> {
        let [addr, len, vector, ..] = *a;
        let pages = self.pages();
        if !pages.is_aligned(addr) {
            return Err(Errno::EINVAL);
        }
        let len = pages.align_up(len).ok_or(Errno::ENOMEM)?;
        let end = addr.checked_add(len).filter(|&end| end <= Memory::LIMIT);
        let end = end.ok_or(Errno::ENOMEM)?;
        let count = len / pages.0;
        if mem.writable_prefix_bytes(vector, count) < count {
            return Err(Errno::EFAULT);
        }
        if !mem.is_mapped(addr, len) {
            return Err(Errno::ENOMEM);
        }
        let of_files = self.space.mappings.ranges.within(addr..end);
        let mut resident: Vec<u8> = (addr..end)
            .step_by(pages.0 as usize)
            .map(|page| u8::from(mem.is_written(page) || mem.is_written(page + pages.0 - 1)))
            .collect();
        for (part, _) in of_files {
            let first = (part.start - addr) / pages.0;
            let last = (part.end - addr).div_ceil(pages.0);
            resident[first as usize..last as usize].fill(1);
        }
        mem.write_bytes(vector, &resident)?;
        Ok(0)
    }
}

/// The mapped parts of `range`, without what belongs to the handlers of profilers.
pub(super) fn guest_parts(mem: &Memory, range: Range<u64>) -> Vec<Range<u64>> {
    let below = range.start..range.end.min(layout::HANDLER_BASE);
    let above = range.start.max(layout::HANDLER_END)..range.end;
    [below, above]
        .into_iter()
        .filter(|part| part.start < part.end)
        .flat_map(|part| mem.mapped_within(part))
        .collect()
}
