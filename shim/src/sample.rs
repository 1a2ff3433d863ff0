//! One sample, and who takes it.

use crate::dte::Stamps;

/// Counters that a sample can hold.
pub const MAX_COUNTERS: usize = 8;

/// Values that the observer reads in one turn of its loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(C)]
pub struct Sample {
    /// Time stamp before the counters.
    pub start: u64,
    /// Time stamp behind the counters.
    pub end: u64,
    /// The observed thread, by the kernel's id; 0 if there is none.
    pub thread: u64,
    /// Tag of the thread.
    pub tag: u64,
    /// The counters in the order asked for; the rest is 0.
    pub counters: [u64; MAX_COUNTERS],
}

impl Sample {
    /// The two stamps.
    #[inline(always)]
    #[must_use]
    pub fn stamps(&self) -> Stamps {
        Stamps {
            start: self.start,
            end: self.end,
        }
    }

    /// Takes over another sample with the first `counters` of its counters.
    ///
    /// Field by field: a copy of the whole would read in one piece what was just written in several,
    /// and wait for it.
    #[inline(always)]
    pub fn become_like(&mut self, other: &Self, counters: usize) {
        self.start = other.start;
        self.end = other.end;
        self.thread = other.thread;
        self.tag = other.tag;
        let counts = self.counters.iter_mut().zip(&other.counters);
        for (mine, count) in counts.take(counters) {
            *mine = *count;
        }
    }
}

/// Takes the observer's samples: a ring, or an analysis right in the observer's loop.
pub trait Sink {
    /// Takes a sample. False if there was no room: the sample is dropped, and the observer counts it.
    fn take(&mut self, sample: &Sample) -> bool;
}

impl Sink for rtrb::Producer<Sample> {
    #[inline(always)]
    fn take(&mut self, sample: &Sample) -> bool {
        self.push(*sample).is_ok()
    }
}

impl Sink for Vec<Sample> {
    fn take(&mut self, sample: &Sample) -> bool {
        self.push(*sample);
        true
    }
}
