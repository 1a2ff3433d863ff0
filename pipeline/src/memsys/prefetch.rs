//! Prefetchers of the level 1 data cache: which lines to bring before anything asks for them.
//!
//! A prefetcher is told of each line that missed, and of the first use of each line that it has brought: one that works
//! well would hear of no misses. It sees addresses and no instructions. It asks for no line of another page, whose
//! translation it does not have.

use hps_isa::state::{SaveState, Saved, StateError};
use rustc_hash::{FxBuildHasher, FxHashSet};

use super::stats::PrefetchStats;
use crate::config::{L1dPrefetch, StreamConfig, StrideConfig};

/// The highest degree that a machine may have.
pub const MOST_WANTED: usize = 16;

/// A prefetcher with what it has learnt.
#[derive(Clone, Debug)]
pub(super) struct Prefetcher {
    kind: Kind,
    /// Lines of a page, as a shift.
    page_shift: u32,
    /// Lines that it has brought, that are in the cache, and that nothing has used.
    unused: FxHashSet<u64>,
    /// Lines that [`train`](Self::train) answers with.
    wanted: Vec<u64>,
    /// Whether the prefetcher brings lines. Otherwise it learns, and wants none.
    pub is_on: bool,
    pub stats: PrefetchStats,
}

hps_isa::save_state! { Prefetcher { kind, page_shift: skip, unused, wanted, is_on, stats } }

#[derive(Clone, Debug)]
enum Kind {
    NextLine(u32),
    Stride(Strides),
    Stream(Streams),
}

impl SaveState for Kind {
    fn save_to(&self, to: &mut Vec<u8>) {
        match self {
            Kind::NextLine(_) => {}
            Kind::Stride(strides) => strides.save_to(to),
            Kind::Stream(streams) => streams.save_to(to),
        }
    }

    fn restore_from(&mut self, from: &mut Saved<'_>) -> Result<(), StateError> {
        match self {
            Kind::NextLine(_) => Ok(()),
            Kind::Stride(strides) => strides.restore_from(from),
            Kind::Stream(streams) => streams.restore_from(from),
        }
    }
}

impl Prefetcher {
    /// The prefetcher of a machine; `None` if it has none. A page has `1 << page_shift` lines, the cache `lines`.
    pub fn new(config: &L1dPrefetch, page_shift: u32, lines: usize) -> Option<Box<Prefetcher>> {
        let kind = match config {
            L1dPrefetch::Off => return None,
            L1dPrefetch::NextLine(config) => Kind::NextLine(config.degree),
            L1dPrefetch::Stride(config) => Kind::Stride(Strides::new(config)),
            L1dPrefetch::Stream(config) => Kind::Stream(Streams::new(config)),
        };
        Some(Box::new(Prefetcher {
            kind,
            page_shift,
            unused: FxHashSet::with_capacity_and_hasher(lines, FxBuildHasher),
            wanted: Vec::with_capacity(MOST_WANTED),
            is_on: true,
            stats: PrefetchStats::default(),
        }))
    }

    /// Whether it has brought a line that nothing has used.
    pub fn is_unused(&self, line: u64) -> bool {
        self.unused.contains(&line)
    }

    /// Lines that were brought and are neither used nor lost.
    #[cfg(test)]
    pub fn unused(&self) -> u64 {
        self.unused.len() as u64
    }

    /// A line of the cache is used, which may be `on_its_way`. Says whether that is the first use of a line that was
    /// prefetched.
    fn used(&mut self, line: u64, on_its_way: bool) -> bool {
        let is_first = self.unused.remove(&line);
        self.stats.use_events += u64::from(is_first);
        self.stats.late_events += u64::from(is_first && on_its_way);
        is_first
    }

    /// The cache has lost a line.
    pub fn dropped(&mut self, line: u64) {
        self.stats.waste_events += u64::from(self.unused.remove(&line));
    }

    /// A line was brought that nothing has asked for.
    pub fn brought(&mut self, line: u64) {
        self.stats.issue_events += 1;
        self.unused.insert(line);
    }

    /// A line has missed, or was found. Says which lines to bring behind it; [`give_back`](Self::give_back) has to follow.
    pub fn behind(&mut self, line: u64, has_missed: bool, on_its_way: bool) -> Vec<u64> {
        if has_missed || self.used(line, on_its_way) {
            self.train(line);
        } else {
            self.wanted.clear();
        }
        std::mem::take(&mut self.wanted)
    }

    /// Takes back the list that [`behind`](Self::behind) gave, so that none is allocated again.
    pub fn give_back(&mut self, wanted: Vec<u64>) {
        self.wanted = wanted;
    }

    /// Learns of a line that missed, or that was prefetched and is used, and says which lines to bring, in this order.
    fn train(&mut self, line: u64) -> &[u64] {
        let page = line >> self.page_shift;
        self.wanted.clear();
        match &mut self.kind {
            Kind::NextLine(degree) => {
                let ahead = 1..=u64::from(*degree);
                self.wanted.extend(ahead.map(|ahead| line + ahead));
            }
            Kind::Stride(strides) => strides.train(page, line, &mut self.wanted),
            Kind::Stream(streams) => streams.train(line, self.page_shift, &mut self.wanted),
        }
        let page_shift = self.page_shift;
        let is_on = self.is_on;
        self.wanted.retain(|of| is_on && of >> page_shift == page);
        &self.wanted
    }
}

/// Strides by page.
#[derive(Clone, Debug)]
struct Strides {
    entries: Box<[Stride]>,
    degree: u32,
}

hps_isa::save_state! { Strides { entries, degree: skip } }

#[derive(Clone, Copy, Debug, Default)]
struct Stride {
    page: u64,
    last: u64,
    stride: i64,
    /// The stride was seen twice in succession.
    is_steady: bool,
}

hps_isa::save_state! { Stride { page, last, stride, is_steady } }

impl Strides {
    fn new(config: &StrideConfig) -> Strides {
        let empty = Stride {
            page: u64::MAX,
            ..Stride::default()
        };
        Strides {
            entries: vec![empty; config.entries as usize].into_boxed_slice(),
            degree: config.degree,
        }
    }

    fn train(&mut self, page: u64, line: u64, wanted: &mut Vec<u64>) {
        let at = (page % self.entries.len() as u64) as usize;
        let entry = &mut self.entries[at];
        if entry.page != page {
            *entry = Stride {
                page,
                last: line,
                ..Stride::default()
            };
            return;
        }
        let stride = line.wrapping_sub(entry.last) as i64;
        if stride == 0 {
            return;
        }
        entry.is_steady = stride == entry.stride;
        entry.stride = stride;
        entry.last = line;
        if !entry.is_steady {
            return;
        }
        let ahead = 1..=i64::from(self.degree);
        wanted.extend(ahead.map(|n| line.wrapping_add_signed(n * stride)));
    }
}

/// Runs of neighbouring lines, upwards or downwards.
#[derive(Clone, Debug)]
struct Streams {
    streams: Box<[Stream]>,
    degree: u32,
    distance: u32,
    /// Counts events, for the stream that was used least recently.
    time: u64,
}

hps_isa::save_state! { Streams { streams, degree: skip, distance: skip, time } }

#[derive(Clone, Copy, Debug, Default)]
struct Stream {
    last: u64,
    /// 1 or -1; 0: it has one line so far.
    direction: i64,
    /// Lines up to this one were asked for.
    ahead: u64,
    used_at: u64,
}

hps_isa::save_state! { Stream { last, direction, ahead, used_at } }

/// How far the next line of a stream may lie from the last one.
const NEAR: u64 = 2;

impl Streams {
    fn new(config: &StreamConfig) -> Streams {
        let empty = Stream {
            // Near no line.
            last: u64::MAX / 2,
            ..Stream::default()
        };
        Streams {
            streams: vec![empty; config.streams as usize].into_boxed_slice(),
            degree: config.degree,
            distance: config.distance,
            time: 0,
        }
    }

    fn train(&mut self, line: u64, page_shift: u32, wanted: &mut Vec<u64>) {
        self.time += 1;
        let continues = |stream: &&mut Stream| {
            let step = line.wrapping_sub(stream.last) as i64;
            let is_near = step != 0 && step.unsigned_abs() <= NEAR;
            is_near && (stream.direction == 0 || step.signum() == stream.direction)
        };
        let Some(stream) = self.streams.iter_mut().find(continues) else {
            let oldest = self.streams.iter_mut().min_by_key(|s| s.used_at);
            if let Some(stream) = oldest {
                *stream = Stream {
                    last: line,
                    direction: 0,
                    ahead: line,
                    used_at: self.time,
                };
            }
            return;
        };
        let direction = (line.wrapping_sub(stream.last) as i64).signum();
        if stream.direction == 0 {
            stream.ahead = line;
        }
        (stream.last, stream.direction, stream.used_at) = (line, direction, self.time);
        let is_behind = |ahead: u64| (line.wrapping_sub(ahead) as i64) * direction > 0;
        if is_behind(stream.ahead) {
            stream.ahead = line;
        }
        let end = line.wrapping_add_signed(direction * i64::from(self.distance));
        while stream.ahead != end && wanted.len() < self.degree as usize {
            let next = stream.ahead.wrapping_add_signed(direction);
            // The lines of the next page are asked for when the program gets there.
            if next >> page_shift != line >> page_shift {
                break;
            }
            stream.ahead = next;
            wanted.push(next);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::NextLineConfig;

    fn prefetcher(config: L1dPrefetch) -> Box<Prefetcher> {
        // Pages of 64 lines.
        Prefetcher::new(&config, 6, 64).expect("it is one")
    }

    #[test]
    fn the_next_lines_of_the_same_page_are_wanted() {
        let mut next = prefetcher(L1dPrefetch::NextLine(NextLineConfig { degree: 2 }));
        assert_eq!(next.train(10), [11, 12]);
        assert_eq!(next.train(62), [63]);
        assert!(next.train(63).is_empty());
        assert!(Prefetcher::new(&L1dPrefetch::Off, 6, 64).is_none());
    }

    #[test]
    fn a_stride_is_followed_once_it_was_seen_twice() {
        let config = StrideConfig {
            entries: 4,
            degree: 2,
        };
        let mut strides = prefetcher(L1dPrefetch::Stride(config));
        assert!(strides.train(10).is_empty());
        assert!(strides.train(13).is_empty());
        assert_eq!(strides.train(16), [19, 22]);
        // Another page has a stride of its own, downwards.
        for line in [100, 96] {
            assert!(strides.train(line).is_empty());
        }
        assert_eq!(strides.train(92), [88, 84]);
        assert_eq!(strides.train(19), [22, 25]);
        assert!(strides.train(20).is_empty(), "it has changed");
    }

    #[test]
    fn streams_run_ahead_in_their_direction() {
        let config = StreamConfig {
            streams: 2,
            degree: 2,
            distance: 4,
        };
        let mut streams = prefetcher(L1dPrefetch::Stream(config));
        assert!(streams.train(10).is_empty());
        assert_eq!(streams.train(11), [12, 13]);
        // A second stream between, downwards.
        assert!(streams.train(50).is_empty());
        assert_eq!(streams.train(49), [48, 47]);
        assert_eq!(streams.train(12), [14, 15]);
        assert_eq!(streams.train(13), [16, 17], "no further than its distance");
        assert_eq!(streams.train(14), [18]);
        assert_eq!(streams.train(48), [46, 45]);
        // A third stream takes the place of the one used least recently.
        assert!(streams.train(30).is_empty());
        assert!(streams.train(15).is_empty());
    }

    #[test]
    fn what_was_brought_is_used_late_or_lost_once() {
        let mut next = prefetcher(L1dPrefetch::NextLine(NextLineConfig { degree: 1 }));
        for line in [1, 2, 3] {
            next.brought(line);
        }
        assert!(next.used(1, false) && next.used(2, true));
        assert!(!next.used(1, false));
        next.dropped(3);
        next.dropped(3);
        let PrefetchStats {
            issue_events,
            use_events,
            late_events,
            waste_events,
            ..
        } = next.stats;
        assert_eq!(
            (issue_events, use_events, late_events, waste_events),
            (3, 2, 1, 1)
        );
    }
}
