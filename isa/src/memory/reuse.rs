//! Memory of processes that have ended, for processes that begin: setting up address space and page tables takes longer
//! than emptying those of a small process.

use super::{Memory, MemoryError, PAGE_SIZE, bits, page_indices};
use crate::memory::regions::Regions;
use crate::memory::tracked::Tracked;

impl Memory {
    /// Memory of processes with more than this is given back to the host, in bytes.
    const MOST_REUSED_BYTES: u64 = 16 << 20;

    /// Whether emptying this memory pays.
    pub fn is_worth_reuse(&self) -> bool {
        let touched = self.written_pages + self.retired_pages;
        self.bytes.is_whole()
            && self.high.is_none()
            && touched * PAGE_SIZE <= Self::MOST_REUSED_BYTES
    }

    /// Makes this a memory in which nothing is mapped, and nothing ever was.
    ///
    /// # Errors
    /// [`MemoryError::Reserve`] if the host refuses: the memory can't be used any more.
    pub fn empty(&mut self) -> Result<(), MemoryError> {
        let shown = self.clear_shared()?;
        let ranges: Vec<_> = self.used.iter().collect();
        for range in ranges {
            for own in shown.holes(range.clone()) {
                for page in page_indices(&own) {
                    if self.page_byte(page) & (bits::WRITTEN | bits::TOUCHED) != 0 {
                        self.page_content_mut(page).fill(0);
                    }
                }
            }
            self.page_bytes_mut(page_indices(&range)).fill(0);
        }
        self.regions = Regions::default();
        self.used = Regions::default();
        self.absent.clear();
        self.mapped_bytes = 0;
        self.reserved_pages = 0;
        self.is_refused = false;
        self.tracked = Tracked::default();
        self.copied_pages = 0;
        self.retired_pages = 0;
        self.written_pages = 0;
        self.peak_written_pages = 0;
        self.dirty.clear();
        self.code_epoch = 0;
        self.layout_epoch = 0;
        self.thread_word = None;
        Ok(())
    }
}
