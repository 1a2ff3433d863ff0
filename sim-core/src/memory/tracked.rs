//! Ranges whose writes are noted, for mappings whose content has to reach a file.

use std::ops::Range;

use super::regions::Regions;
use super::{Memory, PAGE_SHIFT, bits, page_indices};

/// Ranges that are tracked, and their pages that were written.
#[derive(Clone, Debug, Default)]
pub(super) struct Tracked {
    ranges: Regions,
    written: Vec<u32>,
}

impl Tracked {
    /// Notes that a page is written.
    pub(super) fn note(&mut self, page: usize) {
        if self.ranges.contains((page as u64) << PAGE_SHIFT) {
            self.written.push(page as u32);
        }
    }
}

impl Memory {
    /// Notes the writes to these ranges of whole pages, and to no others.
    pub fn track(&mut self, ranges: impl IntoIterator<Item = Range<u64>>) {
        self.tracked.ranges = Regions::default();
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
            self.pages[page as usize] &= !bits::FAST_W;
        }
        pages
            .into_iter()
            .map(|page| u64::from(page) << PAGE_SHIFT)
            .collect()
    }

    /// Lets the next write to each tracked page be noted.
    pub(super) fn slow_tracked_down(&mut self) {
        for range in self.tracked.ranges.iter() {
            for byte in &mut self.pages[page_indices(&range)] {
                *byte &= !bits::FAST_W;
            }
        }
    }
}
