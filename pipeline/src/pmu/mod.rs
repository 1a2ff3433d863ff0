//! The performance monitoring unit: counters of events, each of which raises an interrupt line when
//! it overflows.
//!
//! A counter begins with its period and counts down; at zero it overflows and begins again with its
//! next period. A counter of cycles is a timer. Each counter has one pending bit: what overflows while
//! its earlier overflow still waits to be taken is lost, and counted as such.
//!
//! The count of an overflow has its cycle: that of the commit for what commits, that of the change for
//! every other event of the cycle-driven core. The instruction-driven core sees an event that does not
//! commit when the next instruction of the right path commits.

mod event;
mod selected;

pub(crate) use event::Readings;
pub use event::{Event, UnknownEvent};
pub(crate) use selected::{Selection, selected};

use hps_isa::random::Random;
use serde::{Deserialize, Serialize};

/// A counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CounterConfig {
    /// Event that the counter counts.
    pub event: Event,
    /// Events from one overflow to the next: at least one; with a `spread`, the least number of them.
    pub period: u64,
    /// Each period is drawn anew, from `period` to `period + spread`, all of them equally often. In
    /// events; 0: each is the same.
    #[serde(default)]
    pub spread: u64,
    /// Seed of the random periods. Equal seeds give equal periods.
    #[serde(default)]
    pub seed: u64,
    /// The first period ends so many events earlier: less than `period`.
    #[serde(default)]
    pub phase: u64,
    /// From the overflow to the cycle in which the counter raises its line, in cycles.
    #[serde(default)]
    pub skid_cycles: u64,
    /// Turns with other events that share the counter; `None`: it counts always.
    #[serde(default)]
    pub turns: Option<Turns>,
}

/// Turns in which events share a counter: each counts while it has its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Turns {
    /// Which turn it has, from 0.
    pub number: u64,
    /// How many events take turns: more than `number`.
    pub of: u64,
    /// How long a turn is, in cycles: at least one.
    pub cycles: u64,
}

impl Turns {
    /// Whether the event counts in a cycle.
    #[must_use]
    pub fn counts_in(&self, cycle: u64) -> bool {
        cycle / self.cycles % self.of == self.number
    }
}

impl CounterConfig {
    /// A counter that overflows at every `period`-th event.
    #[must_use]
    pub fn every(event: Event, period: u64) -> Self {
        CounterConfig {
            event,
            period,
            spread: 0,
            seed: 0,
            phase: 0,
            skid_cycles: 0,
            turns: None,
        }
    }

    /// A timer.
    #[must_use]
    pub fn timer(period_cycles: u64) -> Self {
        CounterConfig::every(Event::CYCLES, period_cycles)
    }
}

/// Why there is no such PMU.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PmuError {
    /// The PMU has no counter.
    #[error("a PMU without counters raises no interrupt")]
    NoCounter,
    /// A period of no event.
    #[error("counter {counter} has a period of 0; allowed: 1 and more")]
    NoPeriod {
        /// The number of the counter.
        counter: usize,
    },
    /// A phase that is no part of the period.
    #[error(
        "counter {counter} has a phase of {phase} in periods of {period}; allowed: less than the period"
    )]
    LatePhase {
        /// The number of the counter.
        counter: usize,
        /// Phase of the counter.
        phase: u64,
        /// Period of the counter.
        period: u64,
    },
    /// Turns that nobody can have, or of a timer.
    #[error(
        "counter {counter} has turn {} of {} with {} cycles each; allowed: a number below how many there are, at least 1 \
         cycle, and none for cycles, whose overflow is known in advance",
        turns.number, turns.of, turns.cycles
    )]
    BadTurns {
        /// The number of the counter.
        counter: usize,
        /// Turns of the counter.
        turns: Turns,
    },
    /// A period that no run comes to the end of.
    #[error(
        "counter {counter} has periods of up to {period} + {spread}; allowed: up to {}",
        LONGEST
    )]
    TooLong {
        /// The number of the counter.
        counter: usize,
        /// Period of the counter.
        period: u64,
        /// Spread of the counter.
        spread: u64,
    },
}

/// The longest period and the longest skid: sums of a few of them do not overflow.
const LONGEST: u64 = 1 << 60;

/// An overflow that waits to be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pending {
    /// The counter's number.
    pub source: usize,
    /// The cycle in which it overflowed.
    pub overflow_cycle: u64,
    /// The cycle in which it raised its line.
    pub raised_cycle: u64,
    /// Events that the counter has counted.
    pub count: u64,
}

/// The counters of a core.
#[derive(Clone, Debug)]
pub struct Pmu {
    counters: Vec<Counter>,
    counts_events: bool,
}

hps_isa::save_state! { Pmu { counters: each, counts_events: skip } }

#[derive(Clone, Debug)]
struct Counter {
    config: CounterConfig,
    random: Random,
    /// Readings when the counter was started, when it was looked at last, and when it overflows next.
    start: u64,
    seen: u64,
    next: u64,
    /// The cycle of the overflow that waits to be taken.
    pending: Option<u64>,
    lost: u64,
}

hps_isa::save_state! { Counter { config: same, random, start, seen, next, pending, lost } }

impl Pmu {
    /// The counters, whose numbers are those of the sources of interrupts.
    ///
    /// # Errors
    /// [`PmuError`].
    pub fn new(counters: &[CounterConfig]) -> Result<Self, PmuError> {
        if counters.is_empty() {
            return Err(PmuError::NoCounter);
        }
        for (counter, config) in counters.iter().enumerate() {
            let CounterConfig {
                period,
                spread,
                phase,
                ..
            } = *config;
            if period == 0 {
                return Err(PmuError::NoPeriod { counter });
            }
            if let Some(turns) = config.turns
                && (turns.number >= turns.of || turns.cycles == 0 || config.event.is_cycles())
            {
                return Err(PmuError::BadTurns { counter, turns });
            }
            if phase >= period {
                return Err(PmuError::LatePhase {
                    counter,
                    phase,
                    period,
                });
            }
            if period.max(spread).max(config.skid_cycles) > LONGEST {
                return Err(PmuError::TooLong {
                    counter,
                    period,
                    spread,
                });
            }
        }
        Ok(Pmu {
            counters: counters.iter().map(Counter::new).collect(),
            counts_events: counters.iter().any(|c| !c.event.is_cycles()),
        })
    }

    /// Overflows of all counters that fell while an earlier one of the same counter was pending.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.counters.iter().map(|c| c.lost).sum()
    }

    /// Whether [`Pmu::count`] has anything to do.
    pub(crate) fn counts_events(&self) -> bool {
        self.counts_events
    }

    /// Counts from here on.
    pub(crate) fn start<'a>(&mut self, readings: impl Into<Readings<'a>>) {
        let readings = readings.into();
        for c in &mut self.counters {
            c.start = c.config.event.read(readings);
            c.seen = c.start;
            c.next = c.start + c.period() - c.config.phase;
        }
    }

    /// Counts what has happened by the end of cycle `to`, where it has been counted by the end of cycle
    /// `from` before.
    pub(crate) fn count<'a>(&mut self, readings: impl Into<Readings<'a>>, from: u64, to: u64) {
        let readings = readings.into();
        for c in &mut self.counters {
            if !c.config.event.is_cycles() {
                c.count(c.config.event.read(readings), from, to);
            }
        }
    }

    /// Lets time pass to a cycle.
    pub(crate) fn pass(&mut self, cycle: u64) {
        for c in &mut self.counters {
            if c.config.event.is_cycles() {
                c.count(cycle, c.seen, cycle);
            }
        }
    }

    /// The first cycle in which a line is raised, from what is known.
    pub(crate) fn next_line(&self) -> Option<u64> {
        let lines = self.counters.iter().filter_map(|c| {
            let is_known = c.config.event.is_cycles();
            let overflow = c.pending.or(is_known.then_some(c.next))?;
            Some(overflow + c.config.skid_cycles)
        });
        lines.min()
    }

    /// Takes the overflow of the first counter whose line has been raised by a cycle.
    pub(crate) fn take<'a>(
        &mut self,
        readings: impl Into<Readings<'a>>,
        now: u64,
        line: u64,
    ) -> Option<Pending> {
        let readings = readings.into();
        self.pass(now);
        let (source, c) = self.counters.iter_mut().enumerate().find(|(_, c)| {
            let raised = c.pending.map(|overflow| overflow + c.config.skid_cycles);
            raised.is_some_and(|raised| raised <= line)
        })?;
        let count = match c.config.event {
            event if event.is_cycles() => now,
            event => event.read(readings),
        };
        let overflow_cycle = c.pending.take()?;
        Some(Pending {
            source,
            overflow_cycle,
            raised_cycle: overflow_cycle + c.config.skid_cycles,
            count: count - c.start,
        })
    }
}

impl Counter {
    fn new(config: &CounterConfig) -> Self {
        Counter {
            config: *config,
            random: Random::new(config.seed),
            start: 0,
            seen: 0,
            next: u64::MAX,
            pending: None,
            lost: 0,
        }
    }

    /// The next period.
    fn period(&mut self) -> u64 {
        let CounterConfig { period, spread, .. } = self.config;
        if spread == 0 {
            return period;
        }
        period + self.random.below(spread + 1)
    }

    /// Counts up to `value`, the reading at the end of cycle `to`. The last seen reading is of the end of cycle `from`.
    fn count(&mut self, value: u64, from: u64, to: u64) {
        if self.config.turns.is_some_and(|turns| !turns.counts_in(to)) {
            // Events in the turns of others move the overflow back.
            self.next += value - self.seen;
            self.seen = value;
            return;
        }
        while value >= self.next {
            // Cycles that are skipped together change a counter once each, or not at all.
            let overflow = if value - self.seen == to - from {
                from + (self.next - self.seen)
            } else {
                to
            };
            match self.pending {
                Some(_) => self.lost += 1,
                None => self.pending = Some(overflow),
            }
            self.next += self.period();
        }
        self.seen = value;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::CoreStats;

    fn pmu(counters: &[CounterConfig]) -> Pmu {
        let mut pmu = Pmu::new(counters).expect("good counters");
        pmu.start(&CoreStats::default());
        pmu
    }

    fn loads(count: u64) -> CoreStats {
        CoreStats {
            load_committed_events: count,
            ..CoreStats::default()
        }
    }

    #[test]
    fn a_timer_raises_its_line_at_each_period() {
        let timer = CounterConfig {
            skid_cycles: 3,
            ..CounterConfig::timer(100)
        };
        let mut pmu = pmu(&[timer]);
        let stats = CoreStats::default();
        assert_eq!(pmu.next_line(), Some(103));
        assert_eq!(pmu.take(&stats, 102, 102), None);
        let taken = pmu.take(&stats, 140, 140).expect("raised in cycle 103");
        assert_eq!(
            (taken.source, taken.overflow_cycle, taken.count),
            (0, 100, 140)
        );
        assert_eq!(pmu.next_line(), Some(203));
        // Overflows in cycles 200, 300 and 400: the first is pending, two are lost.
        pmu.pass(400);
        assert_eq!((pmu.next_line(), pmu.lost()), (Some(203), 2));
        let taken = pmu.take(&stats, 401, 401).expect("pending");
        assert_eq!((taken.overflow_cycle, pmu.next_line()), (200, Some(503)));
    }

    #[test]
    fn events_that_share_a_counter_count_in_their_turns() {
        let event = Event::named("load_committed_events").expect("an event");
        let turns = |number, of, cycles| Turns { number, of, cycles };
        let config = CounterConfig {
            turns: Some(turns(1, 2, 100)),
            ..CounterConfig::every(event, 10)
        };
        let mut pmu = pmu(&[config]);
        // A load in each cycle of four turns of 100 cycles: the second and the fourth count.
        let mut taken = Vec::new();
        for cycle in 1..400 {
            pmu.count(&loads(cycle), cycle - 1, cycle);
            taken.extend(
                pmu.take(&loads(cycle), cycle, cycle)
                    .map(|p| p.overflow_cycle),
            );
        }
        let ours = |cycle: &u64| cycle / 100 % 2 == 1;
        assert_eq!(
            (taken.len(), taken.iter().all(ours)),
            (20, true),
            "{taken:?}"
        );
        for wrong in [turns(2, 2, 100), turns(0, 1, 0)] {
            let config = CounterConfig {
                turns: Some(wrong),
                ..config
            };
            let refused = Pmu::new(&[config]);
            assert!(
                matches!(refused, Err(PmuError::BadTurns { .. })),
                "{wrong:?}"
            );
        }
        let timer = CounterConfig {
            turns: Some(turns(0, 1, 1)),
            ..CounterConfig::timer(9)
        };
        assert!(matches!(Pmu::new(&[timer]), Err(PmuError::BadTurns { .. })));
    }

    #[test]
    fn an_event_that_overflows_in_a_stretch_of_cycles_has_its_own_cycle() {
        let event = Event::named("load_committed_events").expect("an event");
        let mut pmu = pmu(&[CounterConfig::every(event, 10)]);
        assert_eq!(pmu.next_line(), None);
        // Four in a cycle, then one in each of 20 cycles.
        pmu.count(&loads(4), 6, 7);
        pmu.count(&loads(24), 7, 27);
        assert_eq!((pmu.next_line(), pmu.lost()), (Some(13), 1));
        let taken = pmu.take(&loads(24), 30, 30).expect("pending");
        assert_eq!((taken.overflow_cycle, taken.count), (13, 24));
        // Twelve in one cycle.
        pmu.count(&loads(36), 30, 31);
        assert_eq!(pmu.next_line(), Some(31));
    }

    #[test]
    fn the_first_counter_comes_first_and_the_other_stays_pending() {
        let mut pmu = pmu(&[CounterConfig::timer(70), CounterConfig::timer(50)]);
        let stats = CoreStats::default();
        pmu.pass(75);
        assert_eq!(pmu.take(&stats, 75, 75).map(|p| p.source), Some(0));
        assert_eq!(pmu.next_line(), Some(50));
        assert_eq!(pmu.take(&stats, 75, 75).map(|p| p.source), Some(1));
        assert_eq!(pmu.take(&stats, 75, 75), None);
        assert_eq!(pmu.next_line(), Some(100));
    }

    #[test]
    fn random_periods_follow_from_the_seed_and_fill_their_range() {
        let periods = |seed| {
            let config = CounterConfig {
                spread: 9,
                seed,
                ..CounterConfig::timer(20)
            };
            let mut counter = Counter::new(&config);
            (0..1000).map(|_| counter.period()).collect::<Vec<_>>()
        };
        assert_eq!(periods(5), periods(5));
        assert_ne!(periods(5), periods(6));
        for period in 20..30 {
            let count = periods(5).iter().filter(|&&p| p == period).count();
            // 100 of 1,000 are expected, give or take three times the root of 90.
            assert!((70..=130).contains(&count), "{count} of {period}");
        }
        assert!(periods(5).iter().all(|p| (20..30).contains(p)));
    }

    #[test]
    fn periods_that_cannot_be_are_refused() {
        assert_eq!(Pmu::new(&[]).err(), Some(PmuError::NoCounter));
        let none = Pmu::new(&[CounterConfig::timer(5), CounterConfig::timer(0)]).err();
        assert_eq!(none, Some(PmuError::NoPeriod { counter: 1 }));
        let phase = CounterConfig {
            phase: 5,
            ..CounterConfig::timer(5)
        };
        let late = Pmu::new(&[phase]).err();
        assert!(matches!(late, Some(PmuError::LatePhase { phase: 5, .. })));
        let long = Pmu::new(&[CounterConfig::timer(u64::MAX)]).err();
        assert!(matches!(long, Some(PmuError::TooLong { counter: 0, .. })));
    }
}
