//! Sampled timing, after SMARTS (Wunderlich, Wenisch, Falsafi and Hoe, ISCA 2003): in each period of a
//! run a short unit at a drawn place is timed, the rest runs functionally and keeps caches and predictors warm.
//!
//! Before each unit the core runs for a while unmeasured, until queues and window are as full as in a
//! run that is timed from its beginning. The units give cycles and events; the estimate for the whole
//! run, with its confidence interval, is made by the caller.

mod crew;
mod lane;
mod plan;

use std::collections::{BTreeMap, VecDeque};
use std::thread;

use crate::by_cycle::{WARM_EVENTS, Warm, WarmEdited, WarmEvents};
use crate::config::MachineConfig;
use crate::model::CpiStack;
use crew::{Crew, Shift};
use hps_isa::editor::{DecodeEditor, NoEditor};
use hps_sim_core::machine::{Machine, RetiredCounts, Stop};
use hps_system::process::Process;
use lane::{Lane, Start, Unit};
pub use plan::{SamplingError, SamplingPlan};

/// The beginning of a run, timed whole; zeros if it was not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// Instructions of the program.
    pub instructions: u64,
    /// Cycles that they took.
    pub cycles: u64,
    /// Events that functional warming met in these instructions.
    pub events: WarmEvents,
}

/// Measurements of a sampled run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Samples {
    /// The beginning of the run, if it was timed whole ([`SamplingPlan::head`]).
    pub head: Head,
    /// Cycles of each whole unit that counts, in order.
    pub unit_cycles: Vec<u64>,
    /// Instructions of sequences and handlers that committed in each whole unit; zeros without an
    /// editor.
    pub unit_inserted: Vec<u64>,
    /// Events of functional warming in the instructions of each whole unit: an estimate of the mean cycles may rest on
    /// them, since they are known for the whole run.
    pub unit_events: Vec<WarmEvents>,
    /// Events of functional warming in the whole run so far.
    pub events: WarmEvents,
    /// Commit slots of all units together, each from the commit in front of its first instruction to that of
    /// its last one. Units begin and end within cycles: the slots of one differ from the commit width times
    /// its cycles by less than the commit width.
    pub cpi: CpiStack,
    /// Instructions that ran on the core, warm-up included, also for units that count no more.
    pub timed_instructions: u64,
    /// Instructions of the run for each unit that counts: the plan's period, or less of it in a short run
    /// ([`SamplingPlan::doublings`]).
    pub period: u64,
}

impl Samples {
    /// Keeps one of each two neighbours, with its commit slots: periods are twice as long from now on.
    fn thin(&mut self, level: u32, stacks: &mut Vec<CpiStack>) {
        let all = self.unit_cycles.len();
        let kept: Vec<usize> = (0..all.div_ceil(2))
            .map(|pair| (2 * pair + SamplingPlan::stays(level, pair as u64)).min(all - 1))
            .collect();
        self.unit_cycles = kept.iter().map(|&at| self.unit_cycles[at]).collect();
        self.unit_inserted = kept.iter().map(|&at| self.unit_inserted[at]).collect();
        self.unit_events = kept.iter().map(|&at| self.unit_events[at]).collect();
        *stacks = kept.iter().map(|&at| stacks[at]).collect();
        self.cpi = CpiStack::default();
        for stack in stacks {
            self.cpi.merge(stack);
        }
    }
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
    /// How often the units so far have been thinned, and the commit slots of each of them as long as they may be again.
    thinned: u32,
    stacks: Vec<CpiStack>,
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
            samples: Samples {
                period: plan.length(0),
                ..Samples::default()
            },
            thinned: 0,
            stacks: Vec::new(),
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

    /// Measurements so far.
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
        loop {
            let done = self.instructions();
            // A sequence that holds its trigger twice may go beyond.
            if done >= end {
                return Ok(Stop::Limit);
            }
            let period = self.plan.period_at(done);
            let (unit, places) = (period.unit, self.plan.places(period));
            if done == places.begin && self.next == unit {
                self.begin_unit(crew)?;
            }
            if (places.measured..places.end).contains(&done) && self.noted == unit {
                self.before_unit = self.warm.events();
                self.noted += 1;
            }
            let next = [places.begin, places.measured, places.end];
            let next = next.into_iter().find(|&place| place > done);
            let ahead = next.unwrap_or(period.end()) - done;
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
        let period = self.plan.period_at(done);
        let units = period.unit + u64::from(done >= self.plan.places(period).end);
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

    /// Trains warming with the results of those units that are known when the next one begins.
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
        let passed = self.plan.period_at(self.instructions()).unit;
        while self.unpublished < passed
            && let Some(unit) = self.units.get(&self.unpublished)
        {
            self.samples.timed_instructions += unit.instructions;
            let events = self.passed.pop_front().unwrap_or_default();
            let is_head = self.unpublished == 0 && self.plan.head > 0;
            if let Some(measured) = unit.measured.as_ref().filter(|_| is_head) {
                let places = self.plan.places(self.plan.period_of(0));
                self.samples.head = Head {
                    instructions: places.end,
                    cycles: measured.cycles,
                    events,
                };
            } else if let Some(measured) = &unit.measured {
                let level = self.plan.period_of(self.unpublished).level;
                while self.thinned < level {
                    self.thinned += 1;
                    self.samples.thin(self.thinned, &mut self.stacks);
                    self.samples.period = self.plan.length(self.thinned);
                }
                self.samples.unit_events.push(events);
                self.samples.unit_cycles.push(measured.cycles);
                self.samples.unit_inserted.push(measured.inserted);
                self.samples.cpi.merge(&measured.cpi);
                if level < self.plan.doublings {
                    self.stacks.push(measured.cpi);
                }
            }
            self.unpublished += 1;
        }
        self.samples.events = self.warm.events();
        self.units = self.units.split_off(&self.unpublished.min(self.untaught));
    }
}
