//! Schedules of bursts in software: what a framework does, event by event.
//!
//! Schedules are written independently of the productions and of the [grid](crate::grid), so that tests can compare all
//! three, and [`ScheduleProbe`] collects with any of them in one functional run.

use hps_isa::inst::Inst;
use hps_isa::probe::Probe;
use hps_profile::{Profile, StreamConfig, StreamConfigError};

use hps_profile::CallPair;

use crate::counts::AddressCounts;
use crate::grid::PointProfiles;
use crate::point::SamplePoint;
use crate::stream::StreamRecorder;

/// The numbers of events between bursts that `random_period.dise` draws.
///
/// The generator is xorshift64 with shifts 13, 7 and 17; a draw is the upper half of the product of its
/// state and `2 h + 1`, with `h = sparsity / 2` rounded down, so that distances are uniform in
/// `sparsity - h ..= sparsity + h`. The first two are the sparsity itself, since the framework starts
/// with it and a draw is used two bursts later.
#[derive(Clone, Debug)]
pub struct RandomGaps {
    state: u64,
    point: SamplePoint,
    given: u64,
}

/// How many different distances there are.
pub(crate) const fn width(point: SamplePoint) -> u64 {
    2 * (point.sparsity / 2) + 1
}

/// The first state of the generator for a seed: never 0, and different for seeds that differ.
///
/// The finalizer of splitmix64 mixes the seed, since xorshift needs long to leave states with few bits set.
#[must_use]
pub const fn first_state(seed: u64) -> u64 {
    let mut x = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^= x >> 31;
    if x == 0 { 1 } else { x }
}

impl RandomGaps {
    /// For a point and a seed ([`CollectorOptions::seed`](crate::CollectorOptions::seed)).
    #[must_use]
    pub fn new(point: SamplePoint, seed: u64) -> Self {
        RandomGaps {
            state: first_state(seed),
            point,
            given: 0,
        }
    }

    /// The number of events until the next burst.
    pub fn next_gap(&mut self) -> u64 {
        self.given += 1;
        if self.given <= 2 {
            return self.point.sparsity;
        }
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        let draw = (u128::from(self.state) * u128::from(width(self.point))) >> 64;
        self.point.sparsity - self.point.sparsity / 2 + draw as u64
    }
}

/// When sampling is on.
pub trait Schedule {
    /// Whether the next instruction is sampled.
    fn is_on(&self) -> bool;

    /// The next instruction was an event. True if a burst ended with it.
    fn complete_event(&mut self) -> bool;
}

/// Bursts at equal distances, as [`SamplePoint`] defines them.
#[derive(Clone, Debug)]
pub struct FixedSchedule {
    point: SamplePoint,
    completed: u64,
}

impl FixedSchedule {
    /// For a point.
    #[must_use]
    pub const fn new(point: SamplePoint) -> Self {
        FixedSchedule {
            point,
            completed: 0,
        }
    }
}

impl Schedule for FixedSchedule {
    fn is_on(&self) -> bool {
        self.point.is_on(self.completed)
    }

    fn complete_event(&mut self) -> bool {
        self.completed += 1;
        self.completed.is_multiple_of(self.point.period())
    }
}

/// Bursts at random distances, as [`Scheme::Randomized`](crate::Scheme::Randomized) has them.
#[derive(Clone, Debug)]
pub struct RandomSchedule {
    gaps: RandomGaps,
    to_burst: u64,
    left_in_burst: u64,
}

impl RandomSchedule {
    /// For a point and a seed ([`CollectorOptions::seed`](crate::CollectorOptions::seed)).
    #[must_use]
    pub fn new(point: SamplePoint, seed: u64) -> Self {
        let mut gaps = RandomGaps::new(point, seed);
        RandomSchedule {
            to_burst: gaps.next_gap(),
            left_in_burst: point.burst,
            gaps,
        }
    }
}

impl Schedule for RandomSchedule {
    fn is_on(&self) -> bool {
        self.to_burst == 0
    }

    fn complete_event(&mut self) -> bool {
        if self.to_burst > 0 {
            self.to_burst -= 1;
            return false;
        }
        self.left_in_burst -= 1;
        if self.left_in_burst > 0 {
            return false;
        }
        self.left_in_burst = self.gaps.point.burst;
        self.to_burst = self.gaps.next_gap();
        true
    }
}

/// Collects all three profiles of a run with any schedule.
///
/// The probe sees what the engine sees: events are procedure calls and back-edges, and each instruction is judged with
/// the events before it. For many points with equal distances the [grid](crate::GridProbe) is faster.
#[derive(Debug)]
pub struct ScheduleProbe<S> {
    schedule: S,
    point: SamplePoint,
    addresses: AddressCounts,
    call_pairs: Profile<CallPair>,
    stream: StreamRecorder,
    burst_ended: bool,
}

impl<S: Schedule> ScheduleProbe<S> {
    /// A probe for a schedule of this point. Without `streams` only number and digest of references are
    /// kept.
    ///
    /// # Errors
    /// Impossible settings of the analysis.
    pub fn new(
        schedule: S,
        point: SamplePoint,
        streams: Option<&StreamConfig>,
    ) -> Result<Self, StreamConfigError> {
        Ok(ScheduleProbe {
            schedule,
            point,
            addresses: AddressCounts::default(),
            call_pairs: Profile::new(),
            stream: StreamRecorder::new(streams)?,
            burst_ended: false,
        })
    }

    /// The profiles.
    #[must_use]
    pub fn finish(self) -> PointProfiles {
        PointProfiles {
            point: self.point,
            addresses: self.addresses,
            call_pairs: self.call_pairs,
            tail_calls: Profile::new(),
            stream: Some(self.stream),
        }
    }
}

impl<S: Schedule> Probe for ScheduleProbe<S> {
    const WANTS_CONTROL: bool = true;
    const WANTS_MEMORY: bool = true;

    fn control(&mut self, pc: u64, inst: &Inst, target: u64, _taken: bool) {
        let is_call = inst.class.is_call();
        if !is_call && !inst.is_back_edge() {
            return;
        }
        if self.schedule.is_on() {
            let target = if is_call {
                target
            } else {
                inst.direct_target(pc)
            };
            self.addresses.add(target, 1);
            if is_call {
                self.call_pairs.add(CallPair { site: pc, target }, 1);
            }
        }
        // Without a gap all bursts are one.
        self.burst_ended |= self.schedule.complete_event() && self.point.sparsity > 0;
    }

    fn memory(&mut self, _pc: u64, _inst: &Inst, addr: u64) {
        if self.schedule.is_on() {
            if std::mem::take(&mut self.burst_ended) {
                self.stream.next_burst();
            }
            self.stream.push(addr);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_uniform_around_the_sparsity() {
        for sparsity in [1_u64, 2, 9, 990] {
            let point = SamplePoint { burst: 1, sparsity };
            let mut gaps = RandomGaps::new(point, 42);
            assert_eq!((gaps.next_gap(), gaps.next_gap()), (sparsity, sparsity));
            let draws: Vec<u64> = (0..20_000).map(|_| gaps.next_gap()).collect();
            let (least, most) = (sparsity - sparsity / 2, sparsity + sparsity / 2);
            assert!(draws.iter().all(|gap| (least..=most).contains(gap)));
            assert!(draws.contains(&least) && draws.contains(&most) || sparsity > 500);
            let mean = draws.iter().sum::<u64>() as f64 / draws.len() as f64;
            // The standard deviation of the mean is at most sparsity / sqrt(12 n).
            let allowed = 4.0 * sparsity as f64 / (12.0 * draws.len() as f64).sqrt();
            assert!((mean - sparsity as f64).abs() <= allowed, "{mean}");
        }
    }

    #[test]
    fn seeds_differ_and_repeat() {
        let point = SamplePoint {
            burst: 1,
            sparsity: 1000,
        };
        let draws = |seed| -> Vec<u64> {
            let mut gaps = RandomGaps::new(point, seed);
            (0..20).map(|_| gaps.next_gap()).collect()
        };
        assert_eq!(draws(1), draws(1));
        assert_ne!(draws(1), draws(2));
        assert_ne!(first_state(0), 0);
    }

    #[test]
    fn the_fixed_schedule_is_the_definition() {
        let point = SamplePoint {
            burst: 2,
            sparsity: 3,
        };
        let mut schedule = FixedSchedule::new(point);
        let mut on = Vec::new();
        let mut ends = Vec::new();
        for event in 0..10 {
            on.push(schedule.is_on());
            if schedule.complete_event() {
                ends.push(event);
            }
        }
        let period = [false, false, false, true, true];
        assert_eq!(on, [period, period].concat());
        assert_eq!(ends, [4, 9]);
    }
}
