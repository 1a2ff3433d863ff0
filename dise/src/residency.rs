//! Which patterns and sequences are in tables that are too small for all of them.

/// Items of different sizes in a table of fixed size, replaced least-recently-used first by the
/// controller. If everything fits, everything is resident from the start and nothing misses.
#[derive(Clone, Debug)]
pub struct Residency {
    sizes: Vec<usize>,
    /// Time of the last use; 0 for items that are not resident.
    last_use: Vec<u64>,
    capacity: usize,
    used: usize,
    clock: u64,
    all_fit: bool,
}

impl Residency {
    /// A table of `capacity` entries for items of the given sizes.
    #[must_use]
    pub fn new(sizes: Vec<usize>, capacity: usize) -> Self {
        let all_fit = sizes.iter().sum::<usize>() <= capacity;
        Residency {
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
        self.last_use.fill(0);
        self.used = 0;
        self.clock = 0;
    }

    /// Uses an item; true if it had to be brought in.
    pub fn touch(&mut self, item: usize) -> bool {
        if self.all_fit {
            return false;
        }
        self.clock += 1;
        let miss = self.last_use[item] == 0;
        if miss {
            while self.used > 0 && self.used + self.sizes[item] > self.capacity {
                self.evict();
            }
            self.used += self.sizes[item];
        }
        self.last_use[item] = self.clock;
        miss
    }

    fn evict(&mut self) {
        let resident = self
            .last_use
            .iter()
            .enumerate()
            .filter(|(_, time)| **time != 0);
        if let Some((oldest, _)) = resident.min_by_key(|(_, time)| **time) {
            self.last_use[oldest] = 0;
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
