//! Distinct data addresses, exactly and in bounded memory.

use hps_isa::inst::Inst;
use hps_isa::memory::Memory;
use hps_isa::probe::Probe;

/// Bytes that count as one address.
pub const GRANULE_BYTES: u64 = 8;

const PAGE_SHIFT: u32 = 12;
const GRANULE_SHIFT: u32 = GRANULE_BYTES.trailing_zeros();
const WORDS: usize = 1 << (PAGE_SHIFT - GRANULE_SHIFT - 6);
const REGION_SHIFT: u32 = 24;
const PAGES_PER_REGION: usize = 1 << (REGION_SHIFT - PAGE_SHIFT);

/// One bit for each granule of a guest page. Plain words: each reference of a run sets one of them.
type PageBits = [u64; WORDS];

/// Counts the distinct aligned 8-byte granules in which the program's loads, stores and atomics
/// begin.
///
/// The probe keeps a bitmap for each guest page with a reference, 64 bytes for 4 KiB, plus 16 KiB for each 16 MiB
/// region: at most about 1/64 of the memory that the guest has mapped. The count is exact.
#[derive(Clone, Debug)]
pub struct UniqueAddresses {
    /// By region, by page: index in `pages` plus one.
    regions: Vec<Option<Box<[u32; PAGES_PER_REGION]>>>,
    pages: Vec<PageBits>,
    count: u64,
}

impl Default for UniqueAddresses {
    fn default() -> Self {
        UniqueAddresses {
            regions: vec![None; (Memory::LIMIT >> REGION_SHIFT) as usize],
            pages: Vec::new(),
            count: 0,
        }
    }
}

impl UniqueAddresses {
    /// Takes a reference in. Addresses outside the guest's address space are ignored: nothing can
    /// be there.
    #[inline]
    pub fn insert(&mut self, address: u64) {
        let Some(region) = self.regions.get_mut((address >> REGION_SHIFT) as usize) else {
            return;
        };
        let region = region.get_or_insert_with(|| Box::new([0; PAGES_PER_REGION]));
        let page = &mut region[(address >> PAGE_SHIFT) as usize & (PAGES_PER_REGION - 1)];
        if *page == 0 {
            self.pages.push([0; WORDS]);
            *page = self.pages.len() as u32;
        }
        let granule = (address >> GRANULE_SHIFT) as usize & (WORDS * 64 - 1);
        let word = &mut self.pages[*page as usize - 1][granule / 64];
        let bit = 1 << (granule % 64);
        self.count += u64::from(*word & bit == 0);
        *word |= bit;
    }

    /// Distinct granules so far.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }
}

impl Probe for UniqueAddresses {
    const WANTS_MEMORY: bool = true;

    #[inline]
    fn memory(&mut self, _pc: u64, _inst: &Inst, addr: u64) {
        self.insert(addr);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn granules_are_counted_once() {
        let mut unique = UniqueAddresses::default();
        let mut set = std::collections::HashSet::new();
        let mut x = 1_u64;
        for i in 0..20_000_u64 {
            x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let address = if i % 2 == 0 {
                x >> 50
            } else {
                (x >> 40) << 12 | i & 0xfff
            };
            unique.insert(address);
            if address < Memory::LIMIT {
                set.insert(address / GRANULE_BYTES);
            }
        }
        assert_eq!(unique.count(), set.len() as u64);
        unique.insert(u64::MAX);
        assert_eq!(unique.count(), set.len() as u64);
    }
}
