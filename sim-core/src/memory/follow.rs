//! A memory that follows another one: made equal to it from time to time, page by page.

use super::{Memory, PAGE_SHIFT, PAGE_SIZE, bits, page_indices};

impl Memory {
    /// Changes whenever something is mapped, unmapped or re-protected.
    #[must_use]
    pub fn layout_epoch(&self) -> u64 {
        self.layout_epoch
    }

    /// Makes this memory equal to `source` where it was equal before and has not changed its own layout
    /// since. `pages` are the addresses, in any order, of all pages that have changed in one of the two.
    /// Afterwards no page of this memory is dirty.
    pub fn copy_pages(&mut self, source: &Memory, pages: &[u64]) {
        self.clear_dirty();
        self.written_pages = source.written_pages;
        self.peak_written_pages = source.peak_written_pages;
        if self.layout_epoch != source.layout_epoch {
            self.copy_layout(source);
        }
        for &addr in pages {
            self.copy_page(source, (addr >> PAGE_SHIFT) as usize);
        }
        self.code_epoch = source.code_epoch;
    }

    /// Takes over what is mapped, but no content: what was written in pages that come or go has made them
    /// dirty. Outside of what is or was mapped nothing is different but where it did.
    fn copy_layout(&mut self, source: &Memory) {
        let mapped = self.regions.iter().chain(source.regions.iter());
        for page in mapped.flat_map(|range| page_indices(&range)) {
            let (mine, theirs) = (self.pages[page], source.pages[page]);
            self.pages[page] = mine & bits::WRITTEN | theirs & (bits::PERM | bits::TOUCHED);
        }
        self.regions = source.regions.clone();
        self.mapped_bytes = source.mapped_bytes;
        self.retired_pages = source.retired_pages;
        self.layout_epoch = source.layout_epoch;
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
