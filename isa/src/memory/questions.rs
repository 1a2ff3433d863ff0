//! Questions about memory, page by page and as a whole.

use std::ops::Range;

use super::{Memory, PAGE_SIZE, Perm, bits, page_indices, page_of};

impl Memory {
    /// The highest address at which `len` bytes (whole pages) are free, between `floor` and
    /// `below`; `None` if there is no such gap.
    #[must_use]
    pub fn find_gap(&self, len: u64, floor: u64, below: u64) -> Option<u64> {
        self.regions.find_gap(len, floor, below.min(Self::LIMIT))
    }

    /// Bytes mapped now, with any permission; reservations count where they have been written.
    #[must_use]
    pub fn mapped_bytes(&self) -> u64 {
        self.mapped_bytes
    }

    /// Bytes of mapped pages that have been written since they were mapped or discarded.
    #[must_use]
    pub fn resident_bytes(&self) -> u64 {
        self.written_pages * PAGE_SIZE
    }

    /// The most that [`Memory::resident_bytes`] has ever been.
    #[must_use]
    pub fn peak_resident_bytes(&self) -> u64 {
        self.peak_written_pages * PAGE_SIZE
    }

    /// The mapped ranges in ascending order, each of one set of permissions, as the program has given them.
    pub fn mapped_parts(&self) -> impl Iterator<Item = (Range<u64>, Perm)> + '_ {
        self.regions.iter().flat_map(|range| self.parts_of(range))
    }

    /// A mapped range, in parts of one set of permissions.
    fn parts_of(&self, range: Range<u64>) -> Vec<(Range<u64>, Perm)> {
        let mut parts: Vec<(Range<u64>, Perm)> = Vec::new();
        let mut add = |part: Range<u64>, perm| match parts.last_mut() {
            Some((last, known)) if *known == perm => last.end = part.end,
            _ => parts.push((part, perm)),
        };
        let mut start = range.start;
        let same = |a: &u8, b: &u8| a & bits::PERM == b & bits::PERM;
        for pages in self.page_bytes(page_indices(&range)).chunk_by(same) {
            let part = start..start + pages.len() as u64 * PAGE_SIZE;
            start = part.end;
            let perm = Perm(pages[0] & bits::PERM);
            if perm != Perm::NONE || self.absent.is_empty() {
                add(part, perm);
                continue;
            }
            for at in part.step_by(PAGE_SIZE as usize) {
                add(at..at + PAGE_SIZE, self.given_permissions(page_of(at)));
            }
        }
        parts
    }

    /// The most that may be mapped, in bytes.
    #[must_use]
    pub fn limit_bytes(&self) -> u64 {
        self.limit_bytes
    }

    /// Changes whenever a page that is or becomes executable is mapped, unmapped or re-protected.
    #[must_use]
    pub fn code_epoch(&self) -> u64 {
        self.code_epoch
    }

    /// Declares that code was changed by other means than mapping, so that caches of decoded instructions are emptied.
    pub fn invalidate_code(&mut self) {
        self.code_epoch += 1;
    }

    /// Whether every byte of the range is mapped (with any permission, or none).
    #[must_use]
    pub fn is_mapped(&self, addr: u64, len: u64) -> bool {
        len == 0
            || addr.checked_add(len).is_some_and(|end| {
                end <= Self::LIMIT && self.regions.first_hole(addr..end).is_none()
            })
    }

    /// Whether no byte of the range is mapped.
    #[must_use]
    pub fn is_free(&self, addr: u64, len: u64) -> bool {
        self.regions.covered_bytes(addr..addr.saturating_add(len)) == 0
    }

    /// Whether the page that holds `addr` has been written since it was mapped or discarded.
    #[must_use]
    pub fn is_written(&self, addr: u64) -> bool {
        self.page_byte(page_of(addr)) & bits::WRITTEN != 0
    }

    /// Permissions that the program has given the page that holds `addr`; `None` where nothing is mapped.
    #[must_use]
    pub fn permissions(&self, addr: u64) -> Option<Perm> {
        let mapped = addr < Self::LIMIT && self.regions.contains(addr);
        mapped.then(|| self.given_permissions(page_of(addr)))
    }

    /// The mapped parts of `range` in ascending order. Neighbours are merged.
    pub fn mapped_within(&self, range: Range<u64>) -> impl Iterator<Item = Range<u64>> + '_ {
        self.regions.overlaps(range)
    }

    /// The mapped ranges in ascending order. Neighbours are merged, whatever their permissions.
    pub fn mapped_ranges(&self) -> impl Iterator<Item = Range<u64>> + '_ {
        self.regions.iter()
    }
}
