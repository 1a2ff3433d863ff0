//! A memory that follows another one: made equal to it from time to time, page by page.

use super::{Memory, MemoryError, bits, page_indices, page_of};

/// Changes of code count from 0 on in each address space; the bits from this one on number the space.
const SPACE_SHIFT: u32 = 40;

impl Memory {
    /// Changes whenever something is mapped, unmapped or re-protected.
    #[must_use]
    pub fn layout_epoch(&self) -> u64 {
        self.layout_epoch
    }

    /// Makes this the memory of another process, the `space`-th one: its code is not that of any other memory of the run,
    /// whatever either changes.
    pub fn begin_space(&mut self, space: u64) {
        self.code_epoch = space << SPACE_SHIFT;
    }

    /// The number of the process's address space: 0 for that of the first one.
    #[must_use]
    pub fn space(&self) -> u64 {
        self.code_epoch >> SPACE_SHIFT
    }

    /// Says how much may be mapped from now on, in bytes.
    pub fn set_limit(&mut self, limit_bytes: u64) {
        self.limit_bytes = limit_bytes;
    }

    /// Makes this memory equal to `source` where it was equal before and has not changed its own layout
    /// since. `pages` are the addresses, in any order, of all pages that have changed in one of the two.
    /// Afterwards no page of this memory is dirty.
    ///
    /// # Errors
    /// [`MemoryError::Reserve`](super::MemoryError::Reserve); then nothing has changed.
    pub fn copy_pages(&mut self, source: &Memory, pages: &[u64]) -> Result<(), MemoryError> {
        for range in source.used.iter() {
            self.prepare(&range)?;
        }
        self.clear_dirty();
        self.mapped_bytes = source.mapped_bytes;
        self.reserved_pages = source.reserved_pages;
        self.tracked.mirrors.clone_from(&source.tracked.mirrors);
        self.is_refused = source.is_refused;
        self.written_pages = source.written_pages;
        self.peak_written_pages = source.peak_written_pages;
        if self.layout_epoch != source.layout_epoch {
            self.copy_layout(source);
        }
        for &addr in pages {
            self.copy_page(source, page_of(addr));
        }
        self.code_epoch = source.code_epoch;
        Ok(())
    }

    /// Takes over mappings, but no content: the caller copies pages that were written and have come or gone, since they
    /// are dirty. Page bytes outside of both memories' mappings differ in dirty pages only.
    fn copy_layout(&mut self, source: &Memory) {
        const TAKEN: u8 = bits::PERM | bits::TOUCHED | bits::RESERVED;
        let mapped = self.regions.iter().chain(source.regions.iter());
        let pages: Vec<_> = mapped.map(|range| page_indices(&range)).collect();
        for page in pages.into_iter().flatten() {
            let theirs = source.page_byte(page);
            let mine = self.page_byte_mut(page);
            *mine = *mine & bits::WRITTEN | theirs & TAKEN;
        }
        self.regions = source.regions.clone();
        self.absent.clone_from(&source.absent);
        let fresh: Vec<_> = source
            .used
            .iter()
            .flat_map(|range| self.used.holes(range))
            .collect();
        fresh.into_iter().for_each(|hole| self.used.insert(hole));
        self.retired_pages = source.retired_pages;
        self.layout_epoch = source.layout_epoch;
    }

    fn copy_page(&mut self, source: &Memory, page: usize) {
        let (mine, theirs) = (self.page_byte(page), source.page_byte(page));
        if theirs & bits::WRITTEN != 0 {
            self.page_content_mut(page)
                .copy_from_slice(source.page_content(page));
        } else if mine & bits::WRITTEN != 0 {
            self.page_content_mut(page).fill(0);
        }
        let touched = mine & bits::TOUCHED;
        *self.page_byte_mut(page) = theirs & !(bits::DIRTY | bits::FAST_W) | touched;
    }
}
