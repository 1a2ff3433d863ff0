//! The list of pages that were written since a point in time, in the order of the first write to each.
//!
//! An operating system that shares pages until they are written learns this list by page faults. Here the first write
//! to a page takes the slow path once, since [`bits::FAST_W`] is not set.

use super::{Memory, PAGE_SHIFT, bits};

/// The first write to a page since [`Memory::clear_dirty`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct FirstWrite(u32);

/// Flag of a page that had content, above the numbers of all pages.
const HAD_CONTENT: u32 = 1 << 31;

impl FirstWrite {
    pub(super) fn new(page: usize, had_content: bool) -> FirstWrite {
        FirstWrite(page as u32 | if had_content { HAD_CONTENT } else { 0 })
    }

    fn page(self) -> usize {
        (self.0 & !HAD_CONTENT) as usize
    }

    /// The address of the page.
    #[must_use]
    pub fn addr(self) -> u64 {
        (self.page() as u64) << PAGE_SHIFT
    }

    /// Whether the page had been written before, and so had content that a copy of the memory shares. Other pages are
    /// zero: an operating system makes them at this write, with or without a copy.
    #[must_use]
    pub fn had_content(self) -> bool {
        self.0 & HAD_CONTENT != 0
    }
}

impl Memory {
    /// The first write to each page since [`Memory::clear_dirty`] (since creation, if it was never called), in order.
    #[must_use]
    pub fn first_writes(&self) -> &[FirstWrite] {
        &self.dirty
    }

    /// Addresses of the pages whose content changed since [`Memory::clear_dirty`] (since creation,
    /// if it was never called), in the order of their first change. A page that was unmapped since
    /// is among them.
    pub fn dirty_pages(&self) -> impl Iterator<Item = u64> + '_ {
        self.dirty.iter().map(|write| write.addr())
    }

    /// Starts a new list of dirty pages.
    pub fn clear_dirty(&mut self) {
        for write in std::mem::take(&mut self.dirty) {
            *self.page_byte_mut(write.page()) &= !(bits::DIRTY | bits::FAST_W);
        }
    }
}
