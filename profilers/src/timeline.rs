//! Time series of a run: what each interval of cycles was spent on, and in which functions.

use std::ops::Range;

use hps_pipeline::core::State;
use hps_system::symbols::CodeWatch;
use rustc_hash::FxHashMap;

use crate::beat::{Beat, Observer};
use crate::oracle::STATES;
use crate::views::FunctionMap;

/// Most intervals that are kept: beyond, neighbours become one.
const MAX_INTERVALS: usize = 128;
/// Cycles of the first interval.
const FIRST_INTERVAL: u64 = 1 << 10;

/// One interval.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Interval {
    /// Cycles by state, in the order of [`STATES`].
    pub states: [u64; STATES.len()],
    /// Instructions that committed.
    pub commits: u64,
    /// Cycles by the function of the instruction that committed next, by its entry; [`NO_FUNCTION`] stands for code outside
    /// of all functions.
    pub functions: FxHashMap<u64, u64>,
}

hps_isa::save_state! { Interval { states, commits, functions } }

impl Interval {
    /// All cycles of it.
    #[must_use]
    pub fn cycles(&self) -> u64 {
        self.states.iter().sum()
    }

    fn merge(&mut self, other: &Interval) {
        for (mine, theirs) in self.states.iter_mut().zip(other.states) {
            *mine += theirs;
        }
        self.commits += other.commits;
        for (&function, &cycles) in &other.functions {
            *self.functions.entry(function).or_insert(0) += cycles;
        }
    }
}

/// Collects the time series of a run of unknown length.
#[derive(Clone, Debug)]
pub struct Timeline {
    functions: FunctionMap,
    watch: Option<CodeWatch>,
    /// The function that was asked for last, and its addresses.
    last: (u64, Range<u64>),
    interval_cycles: u64,
    intervals: Vec<Interval>,
}

hps_isa::save_state! {
    Timeline {
        functions: skip, watch: skip, last, interval_cycles, intervals: list,
    }
}

/// Stands for the entry of code outside of all functions.
pub const NO_FUNCTION: u64 = u64::MAX;

impl Timeline {
    /// An empty series over these functions, and those of code that `watch` tells of.
    #[must_use]
    pub fn new(functions: FunctionMap, watch: Option<CodeWatch>) -> Self {
        Timeline {
            functions,
            watch,
            last: (NO_FUNCTION, 0..0),
            interval_cycles: FIRST_INTERVAL,
            intervals: Vec::new(),
        }
    }

    /// Cycles of an interval; the last one may be shorter.
    #[must_use]
    pub fn interval_cycles(&self) -> u64 {
        self.interval_cycles
    }

    /// The intervals from the first cycle on.
    #[must_use]
    pub fn intervals(&self) -> &[Interval] {
        &self.intervals
    }

    /// The name of a function of an interval; `None` for code outside of all functions.
    #[must_use]
    pub fn name(&self, function: u64) -> Option<&str> {
        let at = self.functions.find(function)?;
        Some(&self.functions.functions()[at].name)
    }

    fn function(&mut self, pc: u64) -> u64 {
        if !self.last.1.contains(&pc) {
            self.functions.renew(self.watch.as_mut());
            let Some(at) = self.functions.find(pc) else {
                return NO_FUNCTION;
            };
            let found = &self.functions.functions()[at];
            self.last = (found.entry, found.entry..found.end);
        }
        self.last.0
    }

    /// The interval of a cycle, from 1.
    fn at(&mut self, cycle: u64) -> &mut Interval {
        let mut at = ((cycle - 1) / self.interval_cycles) as usize;
        while at >= MAX_INTERVALS {
            self.halve();
            at = ((cycle - 1) / self.interval_cycles) as usize;
        }
        if at >= self.intervals.len() {
            self.intervals.resize(at + 1, Interval::default());
        }
        &mut self.intervals[at]
    }

    fn halve(&mut self) {
        self.interval_cycles *= 2;
        let pairs = self.intervals.chunks(2).map(|pair| {
            let mut merged = pair[0].clone();
            if let Some(second) = pair.get(1) {
                merged.merge(second);
            }
            merged
        });
        self.intervals = pairs.collect();
    }

    /// Gives cycles from `first` on to a state, each to its interval.
    fn add(&mut self, first: u64, cycles: u64, state: usize, function: u64) {
        let (mut from, end) = (first, first + cycles);
        while from < end {
            // The last cycle of the run so far decides how long intervals are.
            self.at(end - 1);
            let interval = self.interval_cycles;
            let next = ((from - 1) / interval + 1) * interval + 1;
            let count = next.min(end) - from;
            let here = self.at(from);
            here.states[state] += count;
            *here.functions.entry(function).or_insert(0) += count;
            from += count;
        }
    }
}

impl Observer for Timeline {
    fn beat(&mut self, beat: &Beat<'_>) {
        let function = self.function(beat.next.pc);
        for stretch in beat.idle {
            let state = match stretch.state {
                State::Stalled(_) => 1,
                State::Flushed(_) => 2,
                State::Drained(_) => 3,
            };
            self.add(stretch.first_cycle, stretch.cycles, state, function);
        }
        if !beat.group.is_empty() {
            self.add(beat.end_cycle, 1, 0, function);
            self.at(beat.end_cycle).commits += beat.group.len() as u64;
        }
    }
}

#[cfg(test)]
mod tests {
    use hps_pipeline::core::{Cause, ContextId, Stretch};

    use super::*;
    use crate::beat::Key;
    use crate::views::Function;
    use hps_pipeline::core::EventSet;

    /// One stretch of so many cycles, told as a beat.
    fn stall(timeline: &mut Timeline, first_cycle: u64, cycles: u64, pc: u64) {
        let stretch = Stretch {
            context: ContextId::FIRST,
            first_cycle,
            cycles,
            state: State::Stalled(Cause::Execute),
            next_pc: pc,
        };
        timeline.beat(&Beat {
            idle: &[stretch],
            group: &[],
            last: None,
            next: Key::of_program(pc),
            trapped: EventSet::NONE,
            squashes: &[],
            end_cycle: first_cycle + cycles - 1,
            turns: None,
        });
    }

    #[test]
    fn cycles_fall_into_their_intervals_however_long_these_become() {
        let function = |entry: u64| Function {
            name: format!("at {entry}"),
            entry,
            end: entry + 0x100,
        };
        let functions = [function(0x100), function(0x200)].into_iter().collect();
        let mut timeline = Timeline::new(functions, None);
        stall(&mut timeline, 1, FIRST_INTERVAL + 10, 0x104);
        assert_eq!(timeline.intervals()[1].cycles(), 10);
        let long = FIRST_INTERVAL * (MAX_INTERVALS as u64 + 3);
        stall(&mut timeline, FIRST_INTERVAL + 11, long, 0x204);
        let intervals = timeline.intervals();
        assert!(intervals.len() <= MAX_INTERVALS);
        let all: u64 = intervals.iter().map(Interval::cycles).sum();
        assert_eq!(all, FIRST_INTERVAL + 10 + long);
        let full = intervals.len() - 1;
        let is_full = |i: &Interval| i.cycles() == timeline.interval_cycles();
        assert!(intervals[..full].iter().all(is_full));
        assert_eq!(intervals[0].functions[&0x100], FIRST_INTERVAL + 10);
        assert_eq!(intervals[1].functions.get(&0x100), None);
    }
}
