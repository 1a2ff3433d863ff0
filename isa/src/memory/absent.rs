//! Pages that are mapped and have nothing behind them: those of a file's mapping behind the end of the file.
//!
//! Page bytes of these pages have no permissions, so that every access faults without a look at this list. The fault's
//! handler asks [`Memory::is_absent`] why. The permissions that the program has given the pages are kept here.

use std::ops::Range;

use super::{Memory, PAGE_SHIFT, PAGE_SIZE, Perm, bits, page_indices, page_of};

impl Memory {
    /// Takes away the mapped pages of a range of whole pages, and their content: each access to them faults.
    pub fn withhold(&mut self, range: Range<u64>) {
        let parts: Vec<_> = self.regions.overlaps(range).collect();
        for part in parts {
            for page in page_indices(&part) {
                let byte = self.page_byte(page);
                if self.absent.contains_key(&page) {
                    continue;
                }
                if byte & bits::WRITTEN != 0 {
                    self.zero_page(page);
                }
                *self.page_byte_mut(page) &= !(bits::PERM | bits::FAST_W);
                self.absent.insert(page, Perm(byte & bits::PERM));
                self.note_layout(byte);
            }
        }
    }

    /// Gives back the pages of a range that were taken away, as zeros. Returns where they are.
    pub fn give_back(&mut self, range: Range<u64>) -> Vec<Range<u64>> {
        let pages = self.absent_within(&range);
        let mut parts: Vec<Range<u64>> = Vec::new();
        for (page, perm) in pages {
            self.absent.remove(&page);
            *self.page_byte_mut(page) |= perm.0;
            self.note_layout(perm.0);
            let addr = (page as u64) << PAGE_SHIFT;
            match parts.last_mut() {
                Some(part) if part.end == addr => part.end += PAGE_SIZE,
                _ => parts.push(addr..addr + PAGE_SIZE),
            }
        }
        parts
    }

    /// Whether an access with these permissions is refused only because the page was taken away.
    #[must_use]
    pub fn is_absent(&self, addr: u64, wanted: Perm) -> bool {
        let perm = self.absent.get(&page_of(addr));
        perm.is_some_and(|perm| perm.contains(wanted))
    }

    /// The permissions that the program has given a page.
    pub(super) fn given_permissions(&self, page: usize) -> Perm {
        let present = || Perm(self.page_byte(page) & bits::PERM);
        self.absent.get(&page).copied().unwrap_or_else(present)
    }

    /// The range has new permissions: those of pages that were taken away are kept for later.
    pub(super) fn protect_absent(&mut self, range: &Range<u64>, perm: Perm) {
        for (page, _) in self.absent_within(range) {
            self.absent.insert(page, perm);
            *self.page_byte_mut(page) &= !(bits::PERM | bits::FAST_W);
        }
    }

    /// The range is mapped anew, or not mapped any more.
    pub(super) fn forget_absent(&mut self, range: &Range<u64>) {
        for (page, _) in self.absent_within(range) {
            self.absent.remove(&page);
        }
    }

    fn absent_within(&self, range: &Range<u64>) -> Vec<(usize, Perm)> {
        if self.absent.is_empty() || range.is_empty() {
            return Vec::new();
        }
        let found = self.absent.range(page_indices(range));
        found.map(|(page, perm)| (*page, *perm)).collect()
    }

    fn note_layout(&mut self, byte: u8) {
        self.layout_epoch += 1;
        self.code_epoch += u64::from(byte & bits::X != 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: u64 = PAGE_SIZE;

    #[test]
    fn pages_that_were_taken_away_fault_and_come_back_as_zeros() {
        let mut mem = Memory::new(1 << 20).unwrap();
        mem.map(0x10000, 3 * PAGE, Perm::RW).unwrap();
        mem.write_bytes(0x10000 + PAGE, b"gone").unwrap();
        mem.withhold(0x10000 + PAGE..0x10000 + 3 * PAGE);
        assert!(mem.read::<8>(0x10000 + PAGE).is_err());
        assert!(mem.write_bytes(0x10000 + 2 * PAGE, b"x").is_err());
        assert_eq!(mem.permissions(0x10000 + PAGE), Some(Perm::RW));
        assert!(mem.is_absent(0x10000 + PAGE, Perm::W));
        assert!(!mem.is_absent(0x10000 + PAGE, Perm::X));
        assert_eq!(mem.mapped_parts().count(), 1);
        // Permissions that come meanwhile hold later.
        mem.protect(0x10000 + PAGE, PAGE, Perm::R).unwrap();
        assert!(mem.read::<8>(0x10000 + PAGE).is_err());
        let all = 0x10000..0x10000 + 3 * PAGE;
        let back = mem.give_back(all.clone());
        let absent = 0x10000 + PAGE..0x10000 + 3 * PAGE;
        assert_eq!(back, std::slice::from_ref(&absent));
        assert_eq!(mem.read::<4>(0x10000 + PAGE), Ok(0));
        assert!(mem.write_bytes(0x10000 + PAGE, b"x").is_err());
        mem.write_bytes(0x10000 + 2 * PAGE, b"x").unwrap();
        assert_eq!(mem.give_back(all), []);
    }

    #[test]
    fn copies_have_the_same_absent_pages_and_new_mappings_have_none() {
        let mut mem = Memory::new(1 << 20).unwrap();
        mem.map(0x10000, 2 * PAGE, Perm::RW).unwrap();
        mem.withhold(0x10000..0x10000 + 2 * PAGE);
        let copy = mem.duplicate().unwrap();
        assert!(copy.is_absent(0x10000, Perm::R));
        mem.map(0x10000, PAGE, Perm::RW).unwrap();
        mem.unmap(0x10000 + PAGE, PAGE).unwrap();
        assert!(!mem.is_absent(0x10000, Perm::R));
        assert!(!mem.is_absent(0x10000 + PAGE, Perm::R));
        assert_eq!(mem.read::<8>(0x10000), Ok(0));
    }
}
