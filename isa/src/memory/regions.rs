//! Mapped ranges: disjoint, merged intervals.

use std::collections::BTreeMap;
use std::ops::Range;

/// Disjoint ranges that do not touch, keyed by their start.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
pub(super) struct Regions {
    map: BTreeMap<u64, u64>,
}

impl Regions {
    /// The parts of `range` that are mapped, in ascending order.
    pub(super) fn overlaps(&self, range: Range<u64>) -> impl Iterator<Item = Range<u64>> + '_ {
        let before = self.map.range(..range.start).next_back();
        let inside = self.map.range(range.start..range.end.max(range.start));
        before
            .into_iter()
            .chain(inside)
            .filter_map(move |(&start, &end)| {
                let part = start.max(range.start)..end.min(range.end);
                (part.start < part.end).then_some(part)
            })
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = Range<u64>> + '_ {
        self.map.iter().map(|(&start, &end)| start..end)
    }

    pub(super) fn contains(&self, addr: u64) -> bool {
        self.map
            .range(..=addr)
            .next_back()
            .is_some_and(|(_, &end)| addr < end)
    }

    pub(super) fn covered_bytes(&self, range: Range<u64>) -> u64 {
        self.overlaps(range).map(|part| part.end - part.start).sum()
    }

    /// The parts of `range` that are not mapped.
    pub(super) fn holes(&self, range: Range<u64>) -> impl Iterator<Item = Range<u64>> + '_ {
        let end = range.end;
        let mut at = range.start;
        self.overlaps(range)
            .chain(std::iter::once(end..end))
            .filter_map(move |part| {
                let hole = at..part.start;
                at = part.end;
                (hole.start < hole.end).then_some(hole)
            })
    }

    pub(super) fn first_hole(&self, range: Range<u64>) -> Option<u64> {
        self.holes(range).next().map(|hole| hole.start)
    }

    /// Adds a range of which nothing is mapped.
    pub(super) fn insert(&mut self, range: Range<u64>) {
        let mut merged = range;
        if let Some((&start, &end)) = self.map.range(..merged.start).next_back()
            && end == merged.start
        {
            merged.start = start;
        }
        if let Some(end) = self.map.remove(&merged.end) {
            merged.end = end;
        }
        self.map.insert(merged.start, merged.end);
    }

    /// Takes `range` out and returns the parts of it that were mapped.
    pub(super) fn remove(&mut self, range: Range<u64>) -> Vec<Range<u64>> {
        let parts: Vec<_> = self.overlaps(range).collect();
        for part in &parts {
            let found = self
                .map
                .range(..=part.start)
                .next_back()
                .map(|(&s, &e)| s..e);
            let Some(whole) = found else { continue };
            self.map.remove(&whole.start);
            if whole.start < part.start {
                self.map.insert(whole.start, part.start);
            }
            if part.end < whole.end {
                self.map.insert(part.end, whole.end);
            }
        }
        parts
    }

    /// The highest start of a free gap of `len` bytes within `floor..below`.
    pub(super) fn find_gap(&self, len: u64, floor: u64, below: u64) -> Option<u64> {
        let mut top = below;
        for (&start, &end) in self.map.range(..below).rev() {
            let gap_start = end.max(floor);
            if gap_start < top && top - gap_start >= len {
                break;
            }
            top = top.min(start);
            if top <= floor {
                return None;
            }
        }
        (top >= floor && top - floor >= len).then(|| top - len)
    }
}
