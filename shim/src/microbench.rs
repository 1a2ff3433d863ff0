//! The microbenchmark of SHIM's Figure 8: a producer writes one word, a consumer reads it, and both
//! wait in between by reading the time stamp counter.
//!
//! Times of the producer are its thread's time on a CPU, so that others on a busy host do not count;
//! runs with and without a consumer alternate, and each pair gives one overhead.

use std::hint::black_box;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::affinity;
use crate::clock;
use crate::error::ShimError;
use crate::observer::thread_time;
use crate::placement::Placement;
use crate::stats::Estimate;

/// The shared word, alone in its pair of cache lines.
#[repr(align(128))]
#[derive(Default)]
struct Word(AtomicU64);

/// Parameters of the microbenchmark.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Microbench {
    /// Writes of the producer in a run, at most: runs with long waits are shortened.
    pub writes: u64,
    /// Waits, in reads of the time stamp counter.
    pub waits: Vec<u32>,
    /// Pairs of runs for each point.
    pub rounds: usize,
}

/// Who waits; the other one is as fast as it can.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Waiter {
    /// The producer (`p_wait`).
    Producer,
    /// The consumer (`c_wait`).
    Consumer,
}

/// One point of Figures 9(a), 10(a) and 10(b).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MicroPoint {
    /// Who waits.
    pub waiter: Waiter,
    /// How long, in reads of the time stamp counter.
    pub wait: u32,
    /// Cycles from write to write without a consumer.
    pub producer_cycles: Estimate,
    /// Cycles from read to read, beside the producer, while the consumer ran.
    pub consumer_cycles: Estimate,
    /// Time that the consumer adds to the producer's, in percent.
    pub overhead_percent: Estimate,
    /// Cycles that the consumer adds to one write.
    pub added_cycles: Estimate,
    /// Share of the consumer's reads that found a new value, in percent.
    pub fresh_percent: Estimate,
    /// Time that the consumer was on its CPU, in percent.
    pub consumer_share_percent: Estimate,
}

/// One run of the producer.
fn produce(word: &Word, writes: u64, wait: u32) -> f64 {
    let begin = thread_time();
    let mut dummy = 0;
    for i in 0..writes {
        for _ in 0..wait {
            black_box(clock::now());
        }
        word.0.store(i, Ordering::Relaxed);
        // The paper's second write, which makes the first visible.
        dummy = black_box(i);
    }
    black_box(dummy);
    (thread_time() - begin).as_secs_f64()
}

struct Consumed {
    reads: u64,
    fresh: u64,
    seconds: f64,
    share: f64,
}

fn consume(word: &Word, wait: u32, stop: &AtomicBool) -> Consumed {
    let (wall, begin) = (std::time::Instant::now(), thread_time());
    let (mut reads, mut fresh, mut last) = (0, 0, u64::MAX);
    while !stop.load(Ordering::Relaxed) {
        for _ in 0..wait {
            black_box(clock::now());
        }
        let value = word.0.load(Ordering::Relaxed);
        fresh += u64::from(value != last);
        last = value;
        reads += 1;
    }
    let seconds = (thread_time() - begin).as_secs_f64();
    Consumed {
        reads,
        fresh,
        seconds,
        share: seconds / wall.elapsed().as_secs_f64().max(1e-9),
    }
}

/// The producer beside a consumer; its seconds, and what the consumer did.
fn together(
    placement: &Placement,
    writes: u64,
    waits: (u32, u32),
) -> Result<(f64, Consumed), ShimError> {
    let (word, stop, begun) = (
        Word::default(),
        AtomicBool::new(false),
        AtomicBool::new(false),
    );
    std::thread::scope(|scope| {
        let consumer = scope.spawn(|| {
            let pinned = affinity::pin(placement.observer);
            begun.store(true, Ordering::Release);
            pinned.map(|()| consume(&word, waits.1, &stop))
        });
        while !begun.load(Ordering::Acquire) {
            std::thread::yield_now();
        }
        let seconds = produce(&word, writes, waits.0);
        stop.store(true, Ordering::Relaxed);
        let consumed = consumer.join().unwrap_or_else(|_| {
            let panicked = std::io::Error::other("its thread panicked");
            Err(ShimError::system("the consumer", panicked))
        })?;
        Ok((seconds, consumed))
    })
}

impl Microbench {
    /// Runs all points. Calls `tell` with each before it is measured.
    ///
    /// # Errors
    /// [`ShimError::Pin`].
    pub fn run(
        &self,
        placement: &Placement,
        ticks_per_second: f64,
        tell: impl FnMut(Waiter, u32) + Send,
    ) -> Result<Vec<MicroPoint>, ShimError> {
        // On a thread of its own, which takes its binding with it.
        std::thread::scope(|scope| {
            let all = scope.spawn(|| self.run_here(placement, ticks_per_second, tell));
            all.join().unwrap_or_else(|_| {
                let panicked = std::io::Error::other("its thread panicked");
                Err(ShimError::system("the producer", panicked))
            })
        })
    }

    fn run_here(
        &self,
        placement: &Placement,
        ticks: f64,
        mut tell: impl FnMut(Waiter, u32),
    ) -> Result<Vec<MicroPoint>, ShimError> {
        affinity::pin(placement.program.first().copied().unwrap_or(0))?;
        let mut points = Vec::new();
        for waiter in [Waiter::Producer, Waiter::Consumer] {
            for &wait in &self.waits {
                tell(waiter, wait);
                points.push(self.point(placement, ticks, waiter, wait)?);
            }
        }
        Ok(points)
    }

    fn point(
        &self,
        placement: &Placement,
        ticks: f64,
        waiter: Waiter,
        wait: u32,
    ) -> Result<MicroPoint, ShimError> {
        let waits = match waiter {
            Waiter::Producer => (wait, 0),
            Waiter::Consumer => (0, wait),
        };
        let writes = (self.writes / (1 + u64::from(waits.0))).max(1_000);
        let per_write = |seconds: f64| seconds * ticks / writes as f64;
        let mut columns: [Vec<f64>; 6] = Default::default();
        for _ in 0..self.rounds {
            let alone = per_write(produce(&Word::default(), writes, waits.0));
            let (seconds, consumed) = together(placement, writes, waits)?;
            let beside = per_write(seconds);
            let reads = consumed.reads.max(1) as f64;
            let row = [
                alone,
                consumed.seconds * ticks / reads,
                (beside / alone - 1.0) * 100.0,
                beside - alone,
                consumed.fresh as f64 / reads * 100.0,
                consumed.share * 100.0,
            ];
            for (column, value) in columns.iter_mut().zip(row) {
                column.push(value);
            }
        }
        let [producer, consumer, overhead, added, fresh, share] =
            columns.map(|column| Estimate::of(&column));
        Ok(MicroPoint {
            waiter,
            wait,
            producer_cycles: producer,
            consumer_cycles: consumer,
            overhead_percent: overhead,
            added_cycles: added,
            fresh_percent: fresh,
            consumer_share_percent: share,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Machine;
    use crate::placement::{Wish, place};

    #[test]
    fn each_point_is_measured_and_the_binding_ends_with_it() {
        let machine = Machine::find().unwrap();
        let placement = match place(&machine, &Wish::default(), false) {
            Ok(placement) => placement,
            Err(error) => {
                assert!(machine.allowed.len() == 1, "{error}");
                assert!(matches!(error, crate::ShimError::OneCpu { .. }), "{error}");
                eprintln!(
                    "only one CPU may be used: measuring is refused, which is all that is tested"
                );
                return;
            }
        };
        let bench = Microbench {
            writes: 20_000,
            waits: vec![0, 10],
            rounds: 2,
        };
        let before = affinity::allowed().unwrap();
        let mut told = 0;
        let points = bench.run(&placement, 1e9, |_, _| told += 1).unwrap();
        assert_eq!((points.len(), told), (4, 4));
        assert_eq!(affinity::allowed().unwrap(), before);
        for point in &points {
            assert_eq!(point.overhead_percent.runs, 2);
            assert!(point.producer_cycles.mean > 0.0 && point.consumer_cycles.mean > 0.0);
            assert!((0.0..=100.0).contains(&point.fresh_percent.mean));
        }
    }
}
