//! How often each tag was seen.

/// A histogram by tag, of bounded size: the observer's loop allocates nothing.
#[derive(Debug, Clone)]
pub struct TagCounts {
    entries: Box<[(u64, u64)]>,
    used: usize,
    lost: u64,
}

impl TagCounts {
    /// Room for `tags` different tags, rounded up to a power of two; half of the table stays empty.
    #[must_use]
    pub fn new(tags: usize) -> Self {
        let size = (tags.max(8) * 2).next_power_of_two();
        Self {
            entries: vec![(0, 0); size].into_boxed_slice(),
            used: 0,
            lost: 0,
        }
    }

    /// Counts a tag. The result is the tag's place, the same each time; `None` if the table is full,
    /// which [`TagCounts::lost`] counts.
    #[inline(always)]
    pub fn add(&mut self, tag: u64) -> Option<usize> {
        let mask = self.entries.len() - 1;
        // Fibonacci hashing: addresses that differ in any bit differ in the high ones.
        let hash = tag.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut at = (hash >> 32) as usize & mask;
        loop {
            let entry = &mut self.entries[at];
            if entry.0 == tag && entry.1 != 0 {
                entry.1 += 1;
                return Some(at);
            }
            if entry.1 == 0 {
                return self.insert(at, tag);
            }
            at = (at + 1) & mask;
        }
    }

    #[cold]
    fn insert(&mut self, at: usize, tag: u64) -> Option<usize> {
        if self.used * 2 >= self.entries.len() {
            self.lost += 1;
            return None;
        }
        self.used += 1;
        self.entries[at] = (tag, 1);
        Some(at)
    }

    /// Samples whose tag found no place.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// The tag at a place that [`TagCounts::add`] returned.
    #[must_use]
    pub fn tag_at(&self, place: usize) -> u64 {
        self.entries[place].0
    }

    /// Places in the table.
    #[must_use]
    pub fn places(&self) -> usize {
        self.entries.len()
    }

    /// Samples of `tag`.
    #[must_use]
    pub fn of(&self, tag: u64) -> u64 {
        self.iter()
            .find(|(t, _)| *t == tag)
            .map_or(0, |(_, count)| count)
    }

    /// All samples counted.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.iter().map(|(_, count)| count).sum()
    }

    /// Tags with their samples, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (u64, u64)> {
        self.entries.iter().copied().filter(|(_, count)| *count > 0)
    }

    /// Tags with their samples, the most first, equal ones by tag.
    #[must_use]
    pub fn listing(&self) -> Vec<(u64, u64)> {
        most_first(self.iter())
    }

    /// Tags with other counts of theirs, kept by place; in the order of [`TagCounts::listing`].
    #[must_use]
    pub fn listing_of(&self, by_place: &[u64]) -> Vec<(u64, u64)> {
        let counts = self.entries.iter().zip(by_place);
        most_first(counts.map(|((tag, _), count)| (*tag, *count)))
    }
}

fn most_first(counts: impl Iterator<Item = (u64, u64)>) -> Vec<(u64, u64)> {
    let mut all: Vec<_> = counts.filter(|(_, count)| *count > 0).collect();
    all.sort_unstable_by_key(|&(tag, count)| (std::cmp::Reverse(count), tag));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_counted_and_none_is_lost_in_silence() {
        let mut counts = TagCounts::new(8);
        for round in 0..10_u64 {
            for tag in 0..12_u64 {
                counts.add(tag * 0x1000 + u64::from(round > 100));
            }
        }
        assert_eq!(counts.total() + counts.lost(), 120);
        assert_eq!(counts.iter().count(), 8);
        assert!(counts.lost() == 40);
    }

    #[test]
    fn tag_nothing_is_a_tag_like_others() {
        let mut counts = TagCounts::new(8);
        let place = counts.add(0);
        assert_eq!(counts.add(0), place);
        counts.add(u64::MAX);
        counts.add(u64::MAX);
        counts.add(u64::MAX);
        assert_eq!(counts.listing(), vec![(u64::MAX, 3), (0, 2)]);
    }
}
