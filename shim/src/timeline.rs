//! Timeline of a run: a fixed number of windows over the whole run, and an excerpt sample by sample.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::sample::{MAX_COUNTERS, Sample};

/// Windows kept at most; when they are full, pairs are joined.
pub const WINDOWS: usize = 512;
/// Tags with a row of their own, in the order in which they were first seen.
pub const ROWS: usize = 8;
/// Samples of an excerpt.
pub const EXCERPT: usize = 2048;

/// One window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Window {
    /// Samples by row; the last is all other tags.
    pub tags: [u32; ROWS + 1],
    /// Samples kept.
    pub kept: u32,
    /// Cycles between kept samples.
    pub cycles: u64,
    /// Counts between kept samples, by counter.
    pub counts: [u64; MAX_COUNTERS],
}

/// A kept sample of the excerpt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Moment {
    /// Cycles since the run began.
    pub at: u64,
    /// Cycles since the sample before.
    pub period: u64,
    /// Tag of the program.
    pub tag: u64,
    /// Counts since the sample before, by counter.
    pub counts: [u64; MAX_COUNTERS],
}

/// Collects windows and the excerpt while samples come.
#[derive(Debug, Clone)]
pub struct Timeline {
    origin: Option<u64>,
    shift: u32,
    windows: Vec<Window>,
    rows: Vec<u64>,
    /// The row of a tag by its place in the table of tags; [`UNSEEN`] before its first sample. A search
    /// through the rows would end at a place that no processor predicts.
    row_at: Box<[u8]>,
    excerpt: Vec<Moment>,
    kept: u64,
    restart: u64,
}

const UNSEEN: u8 = u8::MAX;

/// A time line as it is kept in results.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TimelineResult {
    /// Cycles of a window.
    pub window_cycles: u64,
    /// Tags of the rows.
    pub rows: Vec<u64>,
    /// The windows, from the first sample on.
    pub windows: Vec<Window>,
    /// Consecutive kept samples.
    pub excerpt: Vec<Moment>,
}

impl Timeline {
    /// An empty one; `places` is the size of the tag table whose places [`Timeline::add`] is given.
    #[must_use]
    pub fn new(places: usize) -> Self {
        Self {
            origin: None,
            shift: 12,
            windows: Vec::with_capacity(WINDOWS),
            rows: Vec::with_capacity(ROWS),
            row_at: vec![UNSEEN; places].into_boxed_slice(),
            excerpt: Vec::with_capacity(EXCERPT),
            kept: 0,
            restart: 16_384,
        }
    }

    /// Puts a sample, whose tag has this place, into its window; `since` is the sample before it if the
    /// interval was kept.
    #[inline(always)]
    pub fn add(
        &mut self,
        sample: &Sample,
        place: Option<usize>,
        since: Option<&Sample>,
        counters: usize,
    ) {
        let at = sample
            .start
            .wrapping_sub(*self.origin.get_or_insert(sample.start));
        let row = match place.map(|place| (place, self.row_at[place])) {
            None => ROWS,
            Some((place, UNSEEN)) => self.new_row(place, sample.tag),
            Some((_, row)) => usize::from(row),
        };
        let index = (at >> self.shift) as usize;
        let index = if index < self.windows.len() {
            index
        } else {
            self.reach(at)
        };
        let window = &mut self.windows[index];
        window.tags[row] += 1;
        let Some(since) = since else { return };
        let period = sample.start.wrapping_sub(since.start);
        window.kept += 1;
        window.cycles += period;
        for i in 0..counters.min(MAX_COUNTERS) {
            window.counts[i] =
                window.counts[i].wrapping_add(sample.counters[i].wrapping_sub(since.counters[i]));
        }
        self.kept += 1;
        if self.kept == self.restart {
            // Later excerpts are more of the program and less of its start.
            self.restart *= 4;
            self.excerpt.clear();
        }
        if self.excerpt.len() < EXCERPT {
            let counts =
                std::array::from_fn(|i| sample.counters[i].wrapping_sub(since.counters[i]));
            self.excerpt.push(Moment {
                at,
                period,
                tag: sample.tag,
                counts,
            });
        }
    }

    #[cold]
    fn new_row(&mut self, place: usize, tag: u64) -> usize {
        let row = self.rows.len();
        if row < ROWS {
            self.rows.push(tag);
        }
        self.row_at[place] = row as u8;
        row
    }

    /// Makes windows up to the one of cycle `at`, joining pairs until it is within reach.
    #[cold]
    fn reach(&mut self, at: u64) -> usize {
        while at >> self.shift >= WINDOWS as u64 {
            let joined = self.windows.chunks(2).map(|pair| match pair {
                [a, b] => a.joined(b),
                rest => rest[0],
            });
            self.windows = joined.collect();
            self.windows.reserve(WINDOWS);
            self.shift += 1;
        }
        let index = (at >> self.shift) as usize;
        if index >= self.windows.len() {
            self.windows.resize(index + 1, Window::default());
        }
        index
    }

    /// Windows and excerpt that results keep.
    #[must_use]
    pub fn result(&self) -> TimelineResult {
        TimelineResult {
            window_cycles: 1 << self.shift,
            rows: self.rows.clone(),
            windows: self.windows.clone(),
            excerpt: self.excerpt.clone(),
        }
    }
}

impl Window {
    fn joined(&self, other: &Self) -> Self {
        Self {
            tags: std::array::from_fn(|i| self.tags[i].saturating_add(other.tags[i])),
            kept: self.kept.saturating_add(other.kept),
            cycles: self.cycles + other.cycles,
            counts: std::array::from_fn(|i| self.counts[i].wrapping_add(other.counts[i])),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_join_and_no_sample_is_lost() {
        let mut line = Timeline::new(11);
        let mut before: Option<Sample> = None;
        for i in 0..50_000_u64 {
            let sample = Sample {
                start: 1_000_000 + i * 997,
                tag: i % 11,
                counters: [i * 3; MAX_COUNTERS],
                ..Sample::default()
            };
            line.add(&sample, Some(sample.tag as usize), before.as_ref(), 1);
            before = Some(sample);
        }
        let result = line.result();
        assert!(result.windows.len() <= WINDOWS && result.windows.len() > WINDOWS / 2);
        assert_eq!(result.rows, (0..8).collect::<Vec<_>>());
        let sum: u64 = result
            .windows
            .iter()
            .flat_map(|w| w.tags)
            .map(u64::from)
            .sum();
        assert_eq!(sum, 50_000);
        let counts: u64 = result.windows.iter().map(|w| w.counts[0]).sum();
        assert_eq!(counts, 49_999 * 3);
        assert_eq!(result.excerpt.len(), EXCERPT);
        assert!(result.excerpt[0].at >= 16_384 * 997);
    }
}
