//! A memory that follows another one: made equal to it from time to time, page by page.

use super::{Memory, PAGE_SHIFT, PAGE_SIZE, bits};

impl Memory {
    /// Changes whenever something is mapped, unmapped or re-protected.
    #[must_use]
    pub fn layout_epoch(&self) -> u64 {
        self.layout_epoch
    }

    /// Makes pages equal to those of `source`, which has the same layout. `pages` are their addresses
    /// in any order. Afterwards no page of this memory is dirty.
    pub fn copy_pages(&mut self, source: &Memory, pages: &[u64]) {
        self.clear_dirty();
        for &addr in pages {
            self.copy_page(source, (addr >> PAGE_SHIFT) as usize);
        }
        self.code_epoch = source.code_epoch;
    }

    fn copy_page(&mut self, source: &Memory, page: usize) {
        let start = page << PAGE_SHIFT;
        let bytes = start..start + PAGE_SIZE as usize;
        let (mine, theirs) = (self.pages[page], source.pages[page]);
        if theirs & bits::WRITTEN != 0 {
            self.bytes[bytes.clone()].copy_from_slice(&source.bytes[bytes]);
        } else if mine & bits::WRITTEN != 0 {
            self.bytes[bytes].fill(0);
        }
        let touched = mine & bits::TOUCHED;
        self.pages[page] = theirs & !(bits::DIRTY | bits::FAST_W) | touched;
    }
}
