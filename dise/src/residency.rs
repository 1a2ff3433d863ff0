//! Which patterns and sequences are in tables that are too small for all of them.

use bitvec::vec::BitVec;

/// Items of different sizes in a table of fixed size, replaced least-recently-used first by the
/// controller. If everything fits, everything is resident from the start and nothing misses.
#[derive(Clone, Debug)]
pub struct Residency {
    sizes: Vec<usize>,
    resident: BitVec,
    /// Time of the last use of each item.
    last_use: Vec<u64>,
    capacity: usize,
    used: usize,
    clock: u64,
    all_fit: bool,
}

hps_isa::save_state! {
    Residency {
        sizes: same, resident, last_use: each, capacity: skip, used, clock, all_fit: skip,
    }
}

impl Residency {
    /// A table of `capacity` entries for items of the given sizes.
    #[must_use]
    pub fn new(sizes: Vec<usize>, capacity: usize) -> Self {
        let all_fit = sizes.iter().sum::<usize>() <= capacity;
        Residency {
            resident: BitVec::repeat(false, sizes.len()),
            last_use: vec![0; sizes.len()],
            sizes,
            capacity,
            used: 0,
            clock: 0,
            all_fit,
        }
    }

    /// Whether nothing can ever miss.
    #[inline]
    #[must_use]
    pub const fn all_fit(&self) -> bool {
        self.all_fit
    }

    /// Forgets what is resident.
    pub fn reset(&mut self) {
        self.resident.fill(false);
        self.used = 0;
        self.clock = 0;
    }

    /// Uses an item; true if it had to be brought in.
    pub fn touch(&mut self, item: usize) -> bool {
        if self.all_fit {
            return false;
        }
        self.clock += 1;
        let miss = !self.resident[item];
        if miss {
            while self.used > 0 && self.used + self.sizes[item] > self.capacity {
                self.evict();
            }
            self.used += self.sizes[item];
            self.resident.set(item, true);
        }
        self.last_use[item] = self.clock;
        miss
    }

    fn evict(&mut self) {
        let resident = self.resident.iter_ones();
        if let Some(oldest) = resident.min_by_key(|item| self.last_use[*item]) {
            self.resident.set(oldest, false);
            self.used -= self.sizes[oldest];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fits_never_misses() {
        let mut table = Residency::new(vec![3, 5], 8);
        assert!(!table.touch(0) && !table.touch(1));
    }

    #[test]
    fn least_recently_used_goes_first() {
        let mut table = Residency::new(vec![1, 1, 1], 2);
        assert!(table.touch(0) && table.touch(1));
        assert!(!table.touch(0));
        assert!(table.touch(2), "2 replaces 1");
        assert!(!table.touch(0));
        assert!(table.touch(1));
    }

    #[test]
    fn large_items_push_out_several() {
        let mut table = Residency::new(vec![2, 2, 4], 4);
        assert!(table.touch(0) && table.touch(1) && table.touch(2));
        assert!(table.touch(0) && table.touch(1));
        assert!(!table.touch(0));
    }
}
