//! The driver's hash table of samples (section 4.2), for studies of its shape (section 5.4).

/// How entries of a bucket are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Replacement {
    /// A counter that every eviction advances names the entry to evict: what DCPI does.
    Modulo,
    /// A hit swaps its entry with the first, a new entry comes in front, and the last one is evicted: what the paper
    /// found better.
    Front,
}

/// A table of (process, address, event) with counts.
#[derive(Clone, Debug)]
pub struct Table {
    ways: usize,
    buckets: usize,
    replacement: Replacement,
    entries: Vec<Option<(u64, u64)>>,
    next: usize,
    /// Samples that found their entry.
    pub hits: u64,
    /// Samples that did not.
    pub misses: u64,
    /// Samples in entries that were evicted.
    pub evicted: u64,
    /// Entries looked at before the right one was found, over all hits.
    pub probes: u64,
}

impl Table {
    /// DCPI's: 4,096 buckets of four entries of 16 bytes, each a line of the cache.
    #[must_use]
    pub fn published() -> Table {
        Table::new(4096, 4, Replacement::Modulo)
    }

    /// An empty table. `buckets` is rounded up to a power of two.
    #[must_use]
    pub fn new(buckets: usize, ways: usize, replacement: Replacement) -> Table {
        let buckets = buckets.max(1).next_power_of_two();
        Table {
            ways: ways.max(1),
            buckets,
            replacement,
            entries: vec![None; buckets * ways.max(1)],
            next: 0,
            hits: 0,
            misses: 0,
            evicted: 0,
            probes: 0,
        }
    }

    /// Adds a sample of a key: process, address and event in one number.
    pub fn add(&mut self, key: u64) {
        let hash = (key >> 2).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        let first = (hash as usize & (self.buckets - 1)) * self.ways;
        let bucket = &mut self.entries[first..first + self.ways];
        let found = bucket.iter().position(|e| e.is_some_and(|(k, _)| k == key));
        if let Some(at) = found {
            self.hits += 1;
            self.probes += at as u64;
            if let Some((_, count)) = &mut bucket[at] {
                *count += 1;
            }
            if self.replacement == Replacement::Front {
                bucket.swap(0, at);
            }
            return;
        }
        self.misses += 1;
        let new = Some((key, 1));
        let old = match (bucket.iter().position(Option::is_none), self.replacement) {
            (Some(free), Replacement::Modulo) => std::mem::replace(&mut bucket[free], new),
            (None, Replacement::Modulo) => {
                let at = self.next % self.ways;
                self.next = self.next.wrapping_add(1);
                std::mem::replace(&mut bucket[at], new)
            }
            (_, Replacement::Front) => {
                bucket.rotate_right(1);
                std::mem::replace(&mut bucket[0], new)
            }
        };
        self.evicted += old.map_or(0, |(_, count)| count);
    }

    /// Samples that are in the table.
    #[must_use]
    pub fn kept(&self) -> u64 {
        self.entries.iter().flatten().map(|(_, count)| count).sum()
    }

    /// Share of samples that did not find their entry.
    #[must_use]
    pub fn miss_ratio(&self) -> f64 {
        self.misses as f64 / (self.hits + self.misses).max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::{Replacement, Table};
    use hps_isa::random::Random;

    #[test]
    fn samples_are_kept_or_evicted() {
        for replacement in [Replacement::Modulo, Replacement::Front] {
            let mut table = Table::new(16, 4, replacement);
            let mut random = Random::new(4);
            for _ in 0..10_000 {
                let wide = random.below(400);
                table.add(4 * random.below(wide + 1));
            }
            assert_eq!(table.kept() + table.evicted, 10_000);
            assert_eq!(table.hits + table.misses, 10_000);
            assert!(table.evicted > 1000 && table.hits > 1000);
        }
    }

    #[test]
    fn the_front_keeps_what_comes_often() {
        // One bucket: a key that comes every other time, among many that come once.
        let misses = |replacement| {
            let mut table = Table::new(1, 4, replacement);
            for i in 0..1000 {
                table.add(4);
                table.add(4 * (i + 2));
            }
            table.misses
        };
        // The front key is never evicted; the counter evicts it every fourth time.
        assert_eq!(misses(Replacement::Front), 1001);
        assert!(misses(Replacement::Modulo) > 1200);
    }
}
