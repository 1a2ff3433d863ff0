//! Sampled timing, after SMARTS (Wunderlich, Wenisch, Falsafi and Hoe, ISCA 2003): in each period of a
//! run a short unit at a drawn place is timed, the rest runs functionally and keeps caches and predictors warm.
//!
//! Before each unit the core runs for a while unmeasured, until queues and window are as full as in a
//! run that is timed from its beginning. The units give cycles and events; the estimate for the whole
//! run, with its confidence interval, is made by the caller.

mod crew;
mod lane;

use std::collections::{BTreeMap, VecDeque};
use std::thread;

use hps_sim_core::editor::{DecodeEditor, NoEditor};
use hps_sim_core::machine::{Machine, RetiredCounts, Stop};
use hps_sim_core::memory::MemoryError;
use hps_sim_core::process::Process;
use hps_sim_core::random::Random;
use serde::{Deserialize, Serialize};

use crate::by_cycle::{WARM_EVENTS, Warm, WarmEdited, WarmEvents};
use crate::config::MachineConfig;
use crate::model::CpiStack;
use crew::{Crew, Shift};
use lane::{Lane, Start, Unit};

/// Where and how long units are, in instructions of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SamplingPlan {
    /// From the beginning of a unit to that of the next.
    pub period: u64,
    /// Timed before each unit and not measured: the mean of lengths that are drawn evenly from half as long to half as
    /// long again.
    pub warm_up: u64,
    /// Measured.
    pub unit: u64,
}

impl Default for SamplingPlan {
    /// Units of 1,000 instructions behind 2,000 of warm-up in the mean, one in 200,000.
    fn default() -> Self {
        SamplingPlan {
            period: 200_000,
            warm_up: 2000,
            unit: 1000,
        }
    }
}

/// A plan that cannot be followed.
#[derive(Debug, thiserror::Error)]
pub enum SamplingError {
    /// Units of nothing.
    #[error("a unit of 0 instructions measures nothing; give it at least 1")]
    EmptyUnit,
    /// Units overlap.
    #[error(
        "a period of {period} instructions is too short for a warm-up of {warm_up} and a unit of {unit}; \
         give it at least {}",
        warm_up.saturating_add(*unit)
    )]
    Overlap {
        /// The period.
        period: u64,
        /// The warm-up.
        warm_up: u64,
        /// The unit.
        unit: u64,
    },
    /// The host refuses memory.
    #[error(transparent)]
    Memory(#[from] MemoryError),
}

/// Where a unit lies, in instructions of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Places {
    /// Its warm-up begins.
    begin: u64,
    /// It is measured from here on.
    measured: u64,
    /// It ends.
    end: u64,
}

impl SamplingPlan {
    /// Where a unit lies: at a place of its period that is drawn evenly by its number, the same in every run. At a fixed
    /// place units would be in step with loops whose length divides the period, and none would lie where the program
    /// begins. The length of the warm-up is drawn too: a unit begins with an empty pipeline, and what that stirs up in a
    /// loop of streams comes and goes for thousands of instructions. Behind warm-ups of one length all units would meet
    /// it in step, as a bias.
    fn places(&self, unit: u64) -> Places {
        let mut draws = Random::from_number(0, 2 * unit);
        let least = self.warm_up / 2;
        let most = self
            .warm_up
            .saturating_add(least)
            .min(self.period - self.unit);
        let warm_up = least + draws.below(most - least + 1);
        let room = self.period - warm_up - self.unit;
        let begin = unit * self.period + draws.below(room + 1);
        let measured = begin + warm_up;
        Places {
            begin,
            measured,
            end: measured + self.unit,
        }
    }

    /// Whether units fit into their period.
    ///
    /// # Errors
    /// If they do not.
    pub fn validate(&self) -> Result<(), SamplingError> {
        let SamplingPlan {
            period,
            warm_up,
            unit,
        } = *self;
        if unit == 0 {
            return Err(SamplingError::EmptyUnit);
        }
        if warm_up.checked_add(unit).is_none_or(|timed| timed > period) {
            return Err(SamplingError::Overlap {
                period,
                warm_up,
                unit,
            });
        }
        Ok(())
    }
}

/// What was measured.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Samples {
    /// Cycles of each whole unit, in order.
    pub unit_cycles: Vec<u64>,
    /// Instructions of sequences and handlers that committed in each whole unit; zeros without an
    /// editor.
    pub unit_inserted: Vec<u64>,
    /// What functional warming met in the instructions of each whole unit: an estimate of the mean cycles
    /// may rest on it, since it is known for the whole run.
    pub unit_events: Vec<WarmEvents>,
    /// What functional warming met in the whole run so far.
    pub events: WarmEvents,
    /// Commit slots of all units together, each from the commit in front of its first instruction to that of
    /// its last one. Units begin and end within cycles: the slots of one differ from the commit width times
    /// its cycles by less than the commit width.
    pub cpi: CpiStack,
    /// Instructions that ran on the core, warm-up included.
    pub timed_instructions: u64,
}

/// How many units a functional pass may be ahead of what units have taught it.
const LAG: u64 = 8;

/// The first unit that begins with what this one taught: soon for the first ones, since then nothing
/// is known, later far enough behind for several threads to time units at once.
fn known_from(unit: u64) -> u64 {
    unit + 1 + unit.min(LAG - 1)
}

/// A run with sampled timing. A functional machine runs the whole program and keeps caches and
/// predictors warm; each unit is timed beside it on a shadow of the program, from the warm state at
/// its beginning. What happens in a unit changes nothing but what units teach ([`Learned`]), which
/// comes at fixed places, so that results do not depend on the number of threads.
///
/// An editor edits the whole program: the functional machine's collects what that of an exact run would.
/// Each unit begins between two instructions of the program with a clone of it, which must share nothing
/// with it, such as a consumer of what it drains.
///
/// [`Learned`]: crate::core::Learned
pub struct SampledRun<E: DecodeEditor = NoEditor> {
    plan: SamplingPlan,
    config: MachineConfig,
    jobs: usize,
    functional: Machine<E>,
    warm: Warm,
    /// Lanes that time no unit now.
    free: VecDeque<Lane<E>>,
    /// For each lane the pages that have changed in the program since its shadow was equal to it.
    stale: Vec<Vec<u64>>,
    /// Lanes whose units are being timed.
    away: usize,
    /// The next unit to begin; all before it have begun.
    next: u64,
    /// Units from here on have not taught yet.
    untaught: u64,
    /// Units from here on are not among the samples yet.
    unpublished: u64,
    /// The events up to where the last unit was measured from, and how many have been noted.
    before_unit: WarmEvents,
    noted: u64,
    /// The events of units that are not among the samples yet, in order.
    passed: VecDeque<WarmEvents>,
    /// Timed units that are still needed.
    units: BTreeMap<u64, Unit>,
    samples: Samples,
}

impl SampledRun {
    /// A run of `process` from where it is, on one thread.
    ///
    /// # Errors
    /// A plan whose units do not fit.
    pub fn new(
        config: &MachineConfig,
        process: Process,
        plan: SamplingPlan,
    ) -> Result<Self, SamplingError> {
        SampledRun::with_editor(config, process, NoEditor, plan)
    }
}

impl<E: DecodeEditor + Clone + Send> SampledRun<E> {
    /// A sampled run with an editor in the decode stage.
    ///
    /// # Errors
    /// A plan whose units do not fit.
    pub fn with_editor(
        config: &MachineConfig,
        process: Process,
        editor: E,
        plan: SamplingPlan,
    ) -> Result<Self, SamplingError> {
        plan.validate()?;
        Ok(SampledRun {
            plan,
            config: config.clone(),
            jobs: 1,
            warm: Warm::new(config, process.image.isa, process.thread.hart.pc),
            functional: Machine::with_editor(process, editor),
            free: VecDeque::new(),
            stale: Vec::new(),
            away: 0,
            next: 0,
            untaught: 0,
            unpublished: 0,
            before_unit: [0; WARM_EVENTS],
            noted: 0,
            passed: VecDeque::new(),
            units: BTreeMap::new(),
            samples: Samples::default(),
        })
    }

    /// Runs on `jobs` threads, of which one runs the program and the others time units; 0: one for
    /// each processor. For each of them, up to 8, there is at most a copy of the pages that the
    /// program has written.
    #[must_use]
    pub fn on_threads(self, jobs: usize) -> Self {
        let processors = || thread::available_parallelism().map_or(1, usize::from);
        SampledRun {
            jobs: if jobs == 0 { processors() } else { jobs },
            ..self
        }
    }

    /// The program.
    #[must_use]
    pub fn process(&self) -> &Process {
        &self.functional.process
    }

    /// The program, and what was measured.
    #[must_use]
    pub fn finish(self) -> (Process, Samples) {
        (self.functional.process, self.samples)
    }

    /// Instructions of the program so far.
    #[must_use]
    pub fn instructions(&self) -> u64 {
        self.functional.retired.program
    }

    /// Instructions so far, by origin: exact, as in a run that is timed whole.
    #[must_use]
    pub fn retired(&self) -> RetiredCounts {
        self.functional.retired
    }

    /// What was measured so far.
    #[must_use]
    pub fn samples(&self) -> &Samples {
        &self.samples
    }

    /// Runs until `limit` further instructions of the program have retired, or until it ends.
    ///
    /// # Errors
    /// If the host refuses memory for the shadows.
    pub fn run(&mut self, limit: u64) -> Result<Stop, SamplingError> {
        let end = self.instructions().saturating_add(limit);
        let crew = Crew::new(self.plan);
        thread::scope(|scope| {
            let _shift = Shift(&crew);
            for _ in 1..self.jobs.min(LAG as usize + 1) {
                scope.spawn(|| crew.work());
            }
            let stop = self.run_until(end, &crew);
            while self.away > 0 {
                self.collect(&crew, true);
            }
            self.publish();
            stop
        })
    }

    fn run_until(&mut self, end: u64, crew: &Crew<E>) -> Result<Stop, SamplingError> {
        let SamplingPlan { period, .. } = self.plan;
        loop {
            let done = self.instructions();
            // A sequence that holds its trigger twice may go beyond.
            if done >= end {
                return Ok(Stop::Limit);
            }
            let unit = done / period;
            let places = self.plan.places(unit);
            if done == places.begin && self.next == unit {
                self.begin_unit(crew)?;
            }
            if (places.measured..places.end).contains(&done) && self.noted == unit {
                self.before_unit = self.warm.events();
                self.noted += 1;
            }
            let next = [places.begin, places.measured, places.end];
            let next = next.into_iter().find(|&place| place > done);
            let ahead = next.unwrap_or((unit + 1) * period) - done;
            let stop = self.go_on(ahead.min(end - done));
            self.note_events();
            if stop != Stop::Limit {
                return Ok(stop);
            }
        }
    }

    /// Behind a unit: what warming met in it.
    fn note_events(&mut self) {
        let done = self.instructions();
        let unit = done / self.plan.period;
        let units = unit + u64::from(done >= self.plan.places(unit).end);
        if units > self.unpublished + self.passed.len() as u64 {
            let events = self.warm.events();
            let met = std::array::from_fn(|i| events[i] - self.before_unit[i]);
            self.passed.push_back(met);
        }
    }

    /// Runs the program functionally.
    fn go_on(&mut self, instructions: u64) -> Stop {
        if E::ENABLED || E::RELAYOUT {
            let mut warm = WarmEdited::<E>::new(&mut self.warm);
            self.functional.run(&mut warm, instructions)
        } else {
            self.functional.run(&mut self.warm, instructions)
        }
    }

    /// A unit begins here.
    fn begin_unit(&mut self, crew: &Crew<E>) -> Result<(), SamplingError> {
        self.teach(crew);
        let unit = self.next;
        self.next += 1;
        let source = &mut self.functional.process;
        let changed: Vec<u64> = source.mem.dirty_pages().collect();
        source.mem.clear_dirty();
        for stale in &mut self.stale {
            stale.extend_from_slice(&changed);
        }
        let mut lane = self.free_lane(crew)?;
        self.warm.settle(self.functional.process.thread.hart.pc);
        let clock = self.functional.guest_counters();
        let stale = std::mem::take(&mut self.stale[lane.number]);
        let start = Start {
            unit,
            source: &mut self.functional.process,
            clock,
            editor: &self.functional.editor,
            warm: &self.warm,
        };
        lane.begin(&self.config, start, stale)?;
        self.away += 1;
        crew.put(lane);
        Ok(())
    }

    /// A lane that is free, a new one, or the next that becomes free.
    fn free_lane(&mut self, crew: &Crew<E>) -> Result<Lane<E>, SamplingError> {
        self.collect(crew, false);
        loop {
            if let Some(lane) = self.free.pop_front() {
                return Ok(lane);
            }
            if self.stale.len() < self.jobs.min(LAG as usize) {
                let Machine {
                    process, editor, ..
                } = &mut self.functional;
                let lane = Lane::new(self.stale.len(), &self.config, process, editor)?;
                self.stale.push(Vec::new());
                return Ok(lane);
            }
            self.collect(crew, true);
        }
    }

    /// What the units taught that are known when the next one begins.
    fn teach(&mut self, crew: &Crew<E>) {
        while known_from(self.untaught) <= self.next {
            while !self.units.contains_key(&self.untaught) {
                self.collect(crew, true);
            }
            if let Some(unit) = self.units.get(&self.untaught) {
                self.warm.learn(&unit.learned);
            }
            self.untaught += 1;
        }
        self.publish();
    }

    /// Takes units that have been timed.
    fn collect(&mut self, crew: &Crew<E>, wait: bool) {
        for (lane, unit) in crew.take(wait && self.away > 0) {
            self.away -= 1;
            self.units.insert(lane.unit, unit);
            self.free.push_back(lane);
        }
    }

    /// Units that the program has passed become samples, in their order.
    fn publish(&mut self) {
        let passed = self.instructions() / self.plan.period;
        while self.unpublished < passed
            && let Some(unit) = self.units.get(&self.unpublished)
        {
            self.samples.timed_instructions += unit.instructions;
            let events = self.passed.pop_front().unwrap_or_default();
            if let Some(measured) = &unit.measured {
                self.samples.unit_events.push(events);
                self.samples.unit_cycles.push(measured.cycles);
                self.samples.unit_inserted.push(measured.inserted);
                self.samples.cpi.merge(&measured.cpi);
            }
            self.unpublished += 1;
        }
        self.samples.events = self.warm.events();
        self.units = self.units.split_off(&self.unpublished.min(self.untaught));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_lie_at_drawn_places_of_their_periods_behind_drawn_warm_ups() {
        let plan = SamplingPlan {
            period: 10_000,
            warm_up: 2000,
            unit: 1000,
        };
        let (mut sevenths, mut warm_ups) = ([0; 7], [0; 4]);
        for unit in 0..700 {
            let places = plan.places(unit);
            assert_eq!(places, plan.places(unit));
            let warm_up = places.measured - places.begin;
            assert!((1000..=3000).contains(&warm_up), "{warm_up}");
            warm_ups[((warm_up - 1000) / 500).min(3) as usize] += 1;
            assert_eq!(places.end - places.measured, plan.unit);
            assert_eq!(
                (places.begin / 10_000, (places.end - 1) / 10_000),
                (unit, unit)
            );
            sevenths[(places.begin % 10_000 / 1000).min(6) as usize] += 1;
        }
        // 100 each, with a standard deviation of 9.3.
        assert!(
            sevenths.iter().all(|n| (60..140).contains(n)),
            "{sevenths:?}"
        );
        // 175 each, with a standard deviation of 11.5.
        assert!(
            warm_ups.iter().all(|n| (130..220).contains(n)),
            "{warm_ups:?}"
        );
    }

    #[test]
    fn a_unit_with_its_warm_up_may_fill_its_period() {
        let plan = SamplingPlan {
            period: 3000,
            warm_up: 2000,
            unit: 1000,
        };
        for unit in 0..100 {
            let places = plan.places(unit);
            assert!(places.begin >= 3000 * unit && places.end <= 3000 * (unit + 1));
        }
    }
}
