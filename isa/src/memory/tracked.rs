//! Ranges whose writes are noted, for mappings whose content has to reach a file, and ranges that show the same
//! file, so that a store to one is seen in the other.

use std::ops::Range;

use super::regions::Regions;
use super::{Memory, PAGE_SHIFT, bits, page_indices};

/// Ranges that are tracked, and their pages that were written.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
pub(super) struct Tracked {
    ranges: Regions,
    written: Vec<u32>,
    pub(super) mirrors: Vec<Mirror>,
}

/// A range whose stores are repeated at the same distance from `to`.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Mirror {
    /// A range of whole pages.
    pub from: Range<u64>,
    /// Start of the mirror image.
    pub to: u64,
}

impl Tracked {
    /// Notes that a page is written.
    pub(super) fn note(&mut self, page: usize) {
        if self.ranges.contains((page as u64) << PAGE_SHIFT) {
            self.written.push(page as u32);
        }
    }

    /// Whether stores to a page have to take the slow path each time.
    pub(super) fn has_mirror(&self, page: usize) -> bool {
        let addr = (page as u64) << PAGE_SHIFT;
        self.mirrors
            .iter()
            .any(|mirror| mirror.from.contains(&addr))
    }
}

impl Memory {
    /// Notes the writes to these ranges of whole pages, and to no others. Mirrors are of such ranges.
    pub fn track(&mut self, ranges: impl IntoIterator<Item = Range<u64>>, mirrors: Vec<Mirror>) {
        self.tracked.ranges = Regions::default();
        self.tracked.mirrors = mirrors;
        for range in ranges {
            self.tracked.ranges.remove(range.clone());
            self.tracked.ranges.insert(range);
        }
        self.slow_tracked_down();
    }

    /// Whether there are ranges whose writes are noted.
    #[must_use]
    pub fn is_tracking(&self) -> bool {
        self.tracked.ranges.iter().next().is_some()
    }

    /// The pages of tracked ranges that were written since the last time, in ascending order.
    pub fn take_tracked(&mut self) -> Vec<u64> {
        let mut pages = std::mem::take(&mut self.tracked.written);
        pages.sort_unstable();
        pages.dedup();
        for &page in &pages {
            *self.page_byte_mut(page as usize) &= !bits::FAST_W;
        }
        pages
            .into_iter()
            .map(|page| u64::from(page) << PAGE_SHIFT)
            .collect()
    }

    /// Stores in the mirror images of a place what has been stored there. An image that is not mapped has none.
    #[cold]
    #[inline(never)]
    pub(super) fn mirror(&mut self, addr: u64, bytes: &[u8]) {
        for index in 0..self.tracked.mirrors.len() {
            let Mirror { from, to } = &self.tracked.mirrors[index];
            let start = addr.max(from.start);
            let end = (addr + bytes.len() as u64).min(from.end);
            if start < end {
                let image = to + (start - from.start);
                let part = &bytes[(start - addr) as usize..(end - addr) as usize];
                let _ = self.write_bytes_forced(image, part);
            }
        }
    }

    /// Lets the next write to each tracked page be noted.
    pub(super) fn slow_tracked_down(&mut self) {
        let ranges: Vec<_> = self.tracked.ranges.iter().collect();
        for range in ranges {
            for byte in self.page_bytes_mut(page_indices(&range)) {
                *byte &= !bits::FAST_W;
            }
        }
    }
}
