//! What can be asked of memory, page by page and as a whole.

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
        self.regions.iter().flat_map(move |range| {
            let mut start = range.start;
            let same = |a: &u8, b: &u8| a & bits::PERM == b & bits::PERM;
            self.page_bytes(page_indices(&range))
                .chunk_by(same)
                .flat_map(move |pages| {
                    let part = start..start + pages.len() as u64 * PAGE_SIZE;
                    start = part.end;
                    self.given_parts(part, Perm(pages[0] & bits::PERM))
                })
        })
    }

    /// A range with one set of permissions, in parts of the permissions that the program has given them.
    fn given_parts(&self, range: Range<u64>, perm: Perm) -> Vec<(Range<u64>, Perm)> {
        if perm != Perm::NONE || self.absent.is_empty() {
            return vec![(range, perm)];
        }
        let mut parts: Vec<(Range<u64>, Perm)> = Vec::new();
        for at in range.step_by(PAGE_SIZE as usize) {
            let perm = self.given_permissions(page_of(at));
            match parts.last_mut() {
                Some((part, known)) if *known == perm => part.end = at + PAGE_SIZE,
                _ => parts.push((at..at + PAGE_SIZE, perm)),
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

    /// Declares that code was changed by other means than mapping, so that whoever keeps decoded
    /// instructions throws them away.
    pub fn invalidate_code(&mut self) {
        self.code_epoch += 1;
    }

    /// Every byte of the range is mapped (with any permission, or none).
    #[must_use]
    pub fn is_mapped(&self, addr: u64, len: u64) -> bool {
        len == 0
            || addr.checked_add(len).is_some_and(|end| {
                end <= Self::LIMIT && self.regions.first_hole(addr..end).is_none()
            })
    }

    /// No byte of the range is mapped.
    #[must_use]
    pub fn is_free(&self, addr: u64, len: u64) -> bool {
        self.regions.covered_bytes(addr..addr.saturating_add(len)) == 0
    }

    /// The page that holds `addr` has been written since it was mapped or discarded.
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
