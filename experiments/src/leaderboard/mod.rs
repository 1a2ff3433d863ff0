//! The leaderboard: what each profiler gets wrong, and what it costs.
//!
//! | profiler | run | error |
//! | --- | --- | --- |
//! | watches only ([`passive`]) | all of them watch one run, each at several phases of its period | `1 - overlap` with the exact profile of that run, by instruction, block, line and function |
//! | watches, at its cost ([`collected`]) | one for those whose records cost the same, under the oracle | *sampling error*: `1 - overlap` with the exact profile of that run; *perturbation* as below |
//! | forks shadows ([`shadows`]) | one without the oracle | *sampling error*: `1 - overlap` of its calls with the exact counts; its cost is charged |
//! | observes from another core ([`observers`]) | one beside the program, whose tags productions write | *sampling error*: `1 - overlap` by function with the exact profile of the undisturbed run |
//! | observes calls from another core ([`rings`]) | one beside the program, which stores its calls | *sampling error*: `1 - overlap` of its calls with the exact counts |
//! | costs cycles ([`costly`]) | one for each, under the oracle | *sampling error*: `1 - overlap` of its profile with the exact counts of its kind; *perturbation*: `1 - overlap` of that run's exact profile by function with the undisturbed run's |
//!
//! If asked for, [`compiled`] adds what a profile is worth to a compiler.
//!
//! Every unit of work is kept in a store, so that a run that was stopped goes on where it stopped. [`board()`] makes
//! tables of the records.

mod board;
mod collected;
pub mod compiled;
mod contender;
mod costly;
pub mod decisions;
mod exact;
mod grids;
mod groups;
mod mean;
mod observers;
mod pairs;
mod passive;
mod profilers;
mod rings;
mod search;
mod shadows;
mod states;
mod undisturbed;

use std::collections::HashSet;
use std::sync::Mutex;

pub use board::{AtSamples, Board, Entry, Figures, Form, LEVELS, board};
pub use collected::STUDY as COLLECTED;
pub use costly::STUDY as COSTLY;
pub use grids::{Grid, grids};
pub use groups::Group;
pub use mean::{Mean, in_percent};
pub use pairs::Pair;
pub use passive::{BIAS, LEAST_PERIOD_CYCLES, STUDY as PASSIVE};
pub use profilers::{Cost, ProfilerInfo, UnknownProfiler, all, chosen};
pub use search::Fit;
pub use states::{DRAWS, GROUP, STUDY as STATES};

use crate::cluster::Keep;
use crate::measurement::{Unit, UnitRecord, run_units};
use crate::runner::Observer;
use crate::store::{Records, StoreError};
use contender::Contender;
use exact::Exact;
use hps_lab::{Program, TimedMachine};
use hps_profile::ProfileKind;
use hps_profilers::registry::Profiler;
use undisturbed::Undisturbed;

/// A leaderboard to be measured: programs, machine, profilers and sampling.
#[derive(Clone, Debug)]
pub struct Leaderboard {
    /// The programs.
    pub programs: Vec<Program>,
    /// The machine.
    pub machine: TimedMachine,
    /// The profilers.
    pub profilers: Vec<ProfilerInfo>,
    /// Kinds of profile of the profilers that cost cycles, out of which each collects one a run.
    pub kinds: Vec<ProfileKind>,
    /// Samples that each passive profiler takes in a run, about: several numbers, the fewest first; fewer
    /// in short runs, since no period is shorter than [`LEAST_PERIOD_CYCLES`].
    pub samples: Vec<u64>,
    /// Phases of the period at which each passive profiler watches.
    pub phases: u64,
    /// Also measure what remains with infinitely many samples.
    pub bias: bool,
    /// Run the profilers of cycles as watchers.
    pub watching: bool,
    /// Run the profilers of cycles at their cost.
    pub charged: bool,
    /// Runs of each profiler at its cost at each point, each with another phase or seed.
    pub runs: u64,
    /// Overheads that are allowed, in the mean over programs, as ratios: for each, every profiler runs at the densest sampling
    /// point that stays within it. None: each runs at 1/100, or takes a sample in 5,000 cycles.
    pub budgets: Vec<f64>,
    /// Also compile each program of the project with each profile.
    pub compiling: Option<compiled::Compiling>,
}

/// Runs and counts of programs that several units of work need.
struct Shared<'a> {
    undisturbed: Vec<Undisturbed<'a>>,
    exact: Vec<Exact<'a>>,
}

impl Leaderboard {
    /// Runs what is asked for and not kept yet (`units.jsonl`), and gives the records of all units that are there.
    ///
    /// # Errors
    /// [`StoreError`] if results cannot be read or written. What fails is a record that says why, and runs again
    /// next time.
    pub fn run(&self, keep: &Keep, observer: &dyn Observer) -> Result<Vec<UnitRecord>, StoreError> {
        let store = keep.units()?;
        let records = self.run_into(&store, observer)?;
        keep.tidy(store)?;
        Ok(records)
    }

    /// Runs what an open store wants, and gives the records of all units that are there. With budgets, a search goes on from
    /// a point once all programs ran there.
    ///
    /// # Errors
    /// [`StoreError`] if results cannot be written.
    pub fn run_into(
        &self,
        store: &Mutex<Records<UnitRecord>>,
        observer: &dyn Observer,
    ) -> Result<Vec<UnitRecord>, StoreError> {
        let shared = Shared {
            undisturbed: (self.programs.iter())
                .map(|program| Undisturbed::new(program, &self.machine))
                .collect(),
            exact: (self.programs.iter())
                .map(|program| Exact::new(program, self.kinds.contains(&ProfileKind::DataStream)))
                .collect(),
        };
        let contenders = self.contenders();
        let mut units = self.passive_units(&shared);
        let (mut records, mut asked) = (Vec::new(), HashSet::new());
        loop {
            for contender in &contenders {
                for point in contender.wanted(&records, &self.budgets, &mut asked) {
                    for (undisturbed, exact) in shared.undisturbed.iter().zip(&shared.exact) {
                        units.extend(contender.units(undisturbed, exact, point, self.runs));
                    }
                }
            }
            if units.is_empty() {
                break;
            }
            let found = run_units(&units, &self.machine, store, observer)?;
            let is_whole = found.len() == units.len();
            records.extend(found);
            units.clear();
            if !is_whole {
                break;
            }
        }
        Ok(records)
    }

    /// Whether none of its profilers runs: no kind of profile that is asked for, or no machine for it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let watches = self.watching && !self.passive().is_empty();
        !watches && self.contenders().is_empty()
    }

    /// The profilers at their cost: those with runs of their own, then those that watch, which share runs.
    fn contenders(&self) -> Vec<Contender> {
        let own = self.profilers.iter().flat_map(|p| p.contenders(self));
        own.chain(collected::contenders(self)).collect()
    }

    fn passive_units<'a>(&'a self, shared: &'a Shared<'a>) -> Vec<Unit<'a>> {
        let passive = self.passive();
        let mut units = Vec::new();
        if passive.is_empty() || !self.watching {
            return units;
        }
        for undisturbed in &shared.undisturbed {
            for &samples in &self.samples {
                units.push(states::unit(undisturbed, samples));
                let passive = passive.clone();
                units.push(passive::unit(undisturbed, passive, samples, self.phases));
            }
        }
        if self.bias {
            for undisturbed in &shared.undisturbed {
                units.push(passive::bias_unit(undisturbed, passive.clone()));
            }
        }
        if let Some(compiling) = &self.compiling {
            units.extend(self.programs.iter().filter_map(|program| {
                let (passive, samples) = (passive.clone(), *self.samples.last()?);
                compiled::unit(program, &self.machine, passive, samples, compiling)
            }));
        }
        units
    }

    /// The profilers that watch.
    fn passive(&self) -> Vec<&'static Profiler> {
        self.profilers.iter().filter_map(|p| p.passive()).collect()
    }
}
