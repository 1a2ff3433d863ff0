//! Disjoint ranges of guest addresses, each with something that is known about it.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ops::Range;

/// Record of what is known about a range of addresses.
pub(super) trait Piece: Clone {
    /// Record for the rest, behind the first `bytes` bytes.
    fn skip(&self, bytes: u64) -> Self;
}

impl Piece for () {
    fn skip(&self, _bytes: u64) {}
}

/// Disjoint ranges, keyed by their start.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Ranges<T> {
    map: BTreeMap<u64, (u64, T)>,
}

impl<T> Default for Ranges<T> {
    fn default() -> Self {
        Ranges {
            map: BTreeMap::new(),
        }
    }
}

impl<T: Piece> Ranges<T> {
    /// Records `piece` for `range`, in place of what was recorded there.
    pub(super) fn insert(&mut self, range: Range<u64>, piece: T) {
        self.remove(range.clone());
        self.map.insert(range.start, (range.end, piece));
    }

    /// The recorded parts of `range`, in ascending order.
    pub(super) fn within(&self, range: Range<u64>) -> Vec<(Range<u64>, T)> {
        let before = self.map.range(..range.start).next_back();
        let inside = self.map.range(range.start..range.end.max(range.start));
        before
            .into_iter()
            .chain(inside)
            .filter_map(|(&start, (end, piece))| {
                let part = start.max(range.start)..range.end.min(*end);
                (part.start < part.end).then(|| (part.clone(), piece.skip(part.start - start)))
            })
            .collect()
    }

    /// Forgets what is recorded for `range` and returns it.
    pub(super) fn remove(&mut self, range: Range<u64>) -> Vec<(Range<u64>, T)> {
        // Nearly every call is about memory of which nothing is recorded.
        if self.map.is_empty() {
            return Vec::new();
        }
        let parts = self.within(range);
        for (part, _) in &parts {
            let Some((&start, _)) = self.map.range(..=part.start).next_back() else {
                continue;
            };
            let Some((end, piece)) = self.map.remove(&start) else {
                continue;
            };
            if part.end < end {
                self.map
                    .insert(part.end, (end, piece.skip(part.end - start)));
            }
            if start < part.start {
                self.map.insert(start, (part.start, piece));
            }
        }
        parts
    }

    /// The recorded range that ends at `end`.
    pub(super) fn ending_at(&self, end: u64) -> Option<(Range<u64>, &T)> {
        let (&start, (found, piece)) = self.map.range(..end).next_back()?;
        (*found == end).then_some((start..end, piece))
    }

    /// Whether one of the pieces is such a one.
    pub(super) fn any(&self, is_one: impl Fn(&T) -> bool) -> bool {
        self.map.values().any(|(_, piece)| is_one(piece))
    }

    /// Changes every piece.
    pub(super) fn for_each(&mut self, change: impl Fn(&mut T)) {
        self.map.values_mut().for_each(|(_, piece)| change(piece));
    }

    /// Bytes of `range` that are recorded.
    pub(super) fn bytes_within(&self, range: Range<u64>) -> u64 {
        let parts = self.within(range);
        parts.iter().map(|(part, _)| part.end - part.start).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An offset that moves with the address.
    #[derive(Clone, Debug, PartialEq)]
    struct Offset(u64);

    impl Piece for Offset {
        fn skip(&self, bytes: u64) -> Offset {
            Offset(self.0 + bytes)
        }
    }

    #[test]
    fn a_hole_splits_a_range_and_keeps_both_offsets() {
        let mut ranges = Ranges::default();
        ranges.insert(10..20, Offset(100));
        assert_eq!(ranges.remove(13..15), [(13..15, Offset(103))]);
        assert_eq!(
            ranges.within(0..100),
            [(10..13, Offset(100)), (15..20, Offset(105))]
        );
        assert_eq!(ranges.bytes_within(12..16), 2);
        assert_eq!(ranges.ending_at(13), Some((10..13, &Offset(100))));
        assert_eq!(ranges.ending_at(14), None);
    }

    #[test]
    fn a_new_range_replaces_what_it_covers() {
        let mut ranges = Ranges::default();
        ranges.insert(0..10, Offset(0));
        ranges.insert(20..30, Offset(50));
        ranges.insert(5..25, Offset(7));
        assert_eq!(
            ranges.within(0..100),
            [(0..5, Offset(0)), (5..25, Offset(7)), (25..30, Offset(55))]
        );
    }
}
