//! Guest memory above the window of the fast path.
//!
//! Few programs use it. The host's memory for it is reserved when a guest first maps something there; before that all
//! its page bytes read as 0.

use std::ops::Range;

use super::{Memory, MemoryError, PAGE_COUNT, PAGE_SHIFT, PAGE_SIZE, Room};

const HIGH_PAGES: usize = (Memory::LIMIT >> PAGE_SHIFT) as usize - PAGE_COUNT;

/// Pages from [`Memory::WINDOW`] up to [`Memory::LIMIT`].
pub(super) struct High {
    bytes: Room,
    pages: Vec<u8>,
}

impl High {
    fn new() -> Result<High, MemoryError> {
        Ok(High {
            bytes: Room::new(Memory::LIMIT - Memory::WINDOW)?,
            // The host commits what is used of it.
            pages: vec![0; HIGH_PAGES],
        })
    }
}

/// Positions of page numbers above the window in its own table.
fn above(pages: &Range<usize>) -> Range<usize> {
    pages.start - PAGE_COUNT..pages.end - PAGE_COUNT
}

/// Ranges of pages lie on one side of the window's border here: no mapping crosses it.
impl Memory {
    /// Makes sure that there is host memory for a range.
    pub(super) fn prepare(&mut self, range: &Range<u64>) -> Result<(), MemoryError> {
        if range.end <= Self::WINDOW {
            return self.bytes.prepare(range);
        }
        if self.high.is_none() {
            self.high = Some(High::new()?);
        }
        Ok(())
    }

    /// Calls `act` with the host memory that holds a range, and with the range's place in that memory.
    pub(super) fn room_of<T>(
        &mut self,
        range: &Range<u64>,
        act: impl FnOnce(&mut Room, Range<u64>) -> T,
    ) -> T {
        match &mut self.high {
            Some(high) if range.start >= Self::WINDOW => {
                let inside = range.start - Self::WINDOW..range.end - Self::WINDOW;
                act(&mut high.bytes, inside)
            }
            _ => act(&mut self.bytes, range.clone()),
        }
    }

    /// The byte of any page, 0 behind the last one.
    pub(super) fn page_byte(&self, page: usize) -> u8 {
        let byte = self.pages.get(page).or_else(|| {
            let high = self.high.as_ref()?;
            high.pages.get(page - PAGE_COUNT)
        });
        byte.copied().unwrap_or(0)
    }

    /// The byte of a page that is or was mapped.
    pub(super) fn page_byte_mut(&mut self, page: usize) -> &mut u8 {
        &mut self.page_bytes_mut(page..page + 1)[0]
    }

    /// The bytes of pages; of none where nothing was ever mapped above the window.
    pub(super) fn page_bytes(&self, pages: Range<usize>) -> &[u8] {
        if pages.end <= PAGE_COUNT {
            return &self.pages[pages];
        }
        match &self.high {
            Some(high) => &high.pages[above(&pages)],
            None => &[],
        }
    }

    /// The bytes of pages, to be changed; of none where nothing was ever mapped above the window.
    pub(super) fn page_bytes_mut(&mut self, pages: Range<usize>) -> &mut [u8] {
        if pages.end <= PAGE_COUNT {
            return &mut self.pages[pages];
        }
        match &mut self.high {
            Some(high) => &mut high.pages[above(&pages)],
            None => &mut [],
        }
    }

    /// The content of mapped memory.
    pub(super) fn content(&self, addr: u64, len: usize) -> &[u8] {
        match (&self.high, addr.checked_sub(Self::WINDOW)) {
            (Some(high), Some(at)) => high.bytes.part(at, len),
            _ => self.bytes.part(addr, len),
        }
    }

    /// The content of mapped memory, to be changed.
    pub(super) fn content_mut(&mut self, addr: u64, len: usize) -> &mut [u8] {
        match (&mut self.high, addr.checked_sub(Self::WINDOW)) {
            (Some(high), Some(at)) => high.bytes.part_mut(at, len),
            _ => self.bytes.part_mut(addr, len),
        }
    }

    /// The content of a page that is or was mapped.
    pub(super) fn page_content(&self, page: usize) -> &[u8] {
        self.content((page as u64) << PAGE_SHIFT, PAGE_SIZE as usize)
    }

    /// The content of a page that is or was mapped, to be changed.
    pub(super) fn page_content_mut(&mut self, page: usize) -> &mut [u8] {
        if let Some(shares) = &mut self.shares {
            shares.part_with(page);
        }
        self.content_mut((page as u64) << PAGE_SHIFT, PAGE_SIZE as usize)
    }

    /// Whether a page above the window lacks a bit.
    #[cold]
    #[inline(never)]
    pub(super) fn high_lacks(&self, addr: u64, bit: u8) -> bool {
        self.page_byte(super::page_of(addr)) & bit == 0
    }
}
