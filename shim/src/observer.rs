//! The observer's loop (SHIM, Figure 2).

use std::sync::atomic::{AtomicBool, Ordering};

use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::clock::{self, Clock};
use crate::counters::Counter;
use crate::error::ShimError;
use crate::pace::{Pace, Pacer};
use crate::region::{LIVE, Region, SLOTS, Slot};
use crate::sample::{MAX_COUNTERS, Sample, Sink};
use crate::tags::TagCounts;

/// Counts and times of an observer's run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Observed {
    /// Samples taken.
    pub sent: u64,
    /// Samples among those sent for which the sink had no room.
    pub dropped: u64,
    /// Cycles in which it sampled: from the first sample to the last.
    pub cycles: u64,
    /// Nanoseconds of its thread on a CPU.
    pub cpu_ns: u64,
    /// Nanoseconds from begin to end: what is missing of `cpu_ns` it slept, or others had.
    pub wall_ns: u64,
    /// Cycles from begin to end.
    pub wall_cycles: u64,
}

impl Observed {
    /// Mean cycles from sample to sample; 0 for fewer than two samples.
    #[must_use]
    pub fn mean_period(&self) -> f64 {
        if self.sent < 2 {
            return 0.0;
        }
        self.cycles as f64 / (self.sent - 1) as f64
    }

    /// Mean cycles from sample to sample without the time in which the observer was not running; for
    /// an observer that does not sleep.
    #[must_use]
    pub fn mean_period_running(&self) -> f64 {
        let ran = self.running_share() * self.wall_cycles as f64;
        ran / self.sent.max(1) as f64
    }

    /// The share of time, 0 to 1, in which its thread was on a CPU.
    #[must_use]
    pub fn running_share(&self) -> f64 {
        (self.cpu_ns as f64 / self.wall_ns.max(1) as f64).min(1.0)
    }
}

/// Takes the time of an observation, of its thread and of the world.
struct Stopwatch {
    cpu: Duration,
    wall: Instant,
    cycles: u64,
}

/// Time of the calling thread on a CPU.
#[must_use]
pub fn thread_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

impl Stopwatch {
    fn start() -> Self {
        Self {
            cpu: thread_time(),
            wall: Instant::now(),
            cycles: clock::now(),
        }
    }

    fn stop(&self, done: &mut Observed) {
        done.cpu_ns = thread_time().saturating_sub(self.cpu).as_nanos() as u64;
        done.wall_ns = self.wall.elapsed().as_nanos() as u64;
        done.wall_cycles = clock::now().wrapping_sub(self.cycles);
    }
}

/// Goes from one live thread of the region to the next, so that each has the same share of samples.
struct Threads<'a> {
    region: Option<&'a Region>,
    next: usize,
}

impl<'a> Threads<'a> {
    #[inline(always)]
    fn next(&mut self) -> Option<&'a Slot> {
        let layout = self.region?.layout();
        let used = (layout.header.threads.load(Ordering::Relaxed) as usize).min(SLOTS);
        for _ in 0..used {
            if self.next >= used {
                self.next = 0;
            }
            let slot = &layout.slots[self.next];
            self.next += 1;
            if slot.live.load(Ordering::Relaxed) == LIVE {
                return Some(slot);
            }
        }
        None
    }
}

/// Samples with time stamps until `stop` is set.
///
/// In the paper's order: start stamp, each counter behind a serializing read, end stamp, the observed
/// thread's identity, its tag. While the program has no live thread there is nothing to sample, unless
/// counters were asked for.
///
/// # Errors
/// Errors of reading a counter ([`ShimError::Multiplexed`] and others); all samples before it have
/// been sent. [`ShimError::TooManyCounters`] before the first.
pub fn observe<C: Clock, S: Sink>(
    region: Option<&Region>,
    counters: &mut [Counter],
    pace: Pace,
    clock: &mut C,
    sink: &mut S,
    stop: &AtomicBool,
) -> Result<Observed, ShimError> {
    if counters.len() > MAX_COUNTERS {
        return Err(ShimError::TooManyCounters {
            asked: counters.len(),
            most: MAX_COUNTERS,
        });
    }
    let mut done = Observed::default();
    let mut first = None;
    let mut pacer = Pacer::new(pace);
    let mut threads = Threads { region, next: 0 };
    let mut sample = Sample::default();
    let watch = Stopwatch::start();
    while !stop.load(Ordering::Relaxed) {
        let slot = threads.next();
        if slot.is_none() && counters.is_empty() {
            clock::pause();
            continue;
        }
        if let Some(slot) = slot {
            clock::fetch_ahead(&slot.tag);
            counters
                .iter()
                .for_each(|counter| counter.fetch(Some(slot)));
        }
        sample.start = clock.start();
        for (value, counter) in sample.counters.iter_mut().zip(counters.iter_mut()) {
            let _ = clock::serialized();
            *value = counter.read(slot)?;
        }
        sample.end = clock.end();
        (sample.thread, sample.tag) = slot.map_or((0, 0), |slot| {
            let thread = u64::from(slot.tid.load(Ordering::Relaxed));
            (thread, slot.tag.load(Ordering::Relaxed))
        });
        done.cycles = sample
            .start
            .wrapping_sub(*first.get_or_insert(sample.start));
        done.sent += 1;
        done.dropped += u64::from(!sink.take(&sample));
        pacer.wait(stop);
    }
    watch.stop(&mut done);
    Ok(done)
}

/// Samples tags alone, without time stamps, straight into a histogram: the fastest there is.
///
/// The clock is read once in 256 samples, so cycles without a live thread count for up to 256 samples.
pub fn tally(region: &Region, pace: Pace, tags: &mut TagCounts, stop: &AtomicBool) -> Observed {
    const TURN: u64 = 256;
    let mut done = Observed::default();
    let mut pacer = Pacer::new(pace);
    let mut threads = Threads {
        region: Some(region),
        next: 0,
    };
    let fast = pace == Pace::Fast;
    let watch = Stopwatch::start();
    while !stop.load(Ordering::Relaxed) {
        let Some(slot) = threads.next() else {
            clock::pause();
            continue;
        };
        let alone = region.layout().header.threads.load(Ordering::Relaxed) == 1;
        let from = clock::now();
        let mut taken = 0;
        if fast && alone {
            for _ in 0..TURN {
                tags.add(slot.tag.load(Ordering::Relaxed));
            }
            taken = TURN;
        } else {
            let mut slot = slot;
            while taken < TURN && !stop.load(Ordering::Relaxed) {
                tags.add(slot.tag.load(Ordering::Relaxed));
                taken += 1;
                pacer.wait(stop);
                let Some(next) = threads.next() else { break };
                slot = next;
            }
        }
        done.sent += taken;
        done.cycles += clock::now().wrapping_sub(from);
    }
    watch.stop(&mut done);
    done.dropped = tags.lost();
    done
}
