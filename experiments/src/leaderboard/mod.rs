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
mod costly;
mod exact;
mod observers;
mod pairs;
mod passive;
mod profilers;
mod rings;
mod shadows;
mod states;
mod undisturbed;

use std::sync::Mutex;

pub use board::{Board, Entry, Figures, Form, LEVELS, Mean, board, fits, in_percent};
pub use collected::{PERIODS, STUDY as COLLECTED};
pub use costly::{FREQUENCIES, STUDY as COSTLY};
pub use pairs::Pair;
pub use passive::{BIAS, LEAST_PERIOD_CYCLES, STUDY as PASSIVE};
pub use profilers::{Cost, ProfilerInfo, UnknownProfiler, all, chosen};
pub use states::{DRAWS, GROUP, STUDY as STATES};

use crate::cluster::Keep;
use crate::measurement::{Unit, UnitRecord, run_units};
use crate::runner::Observer;
use crate::store::{Records, StoreError};
use costly::Point;
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
    /// Samples that each passive profiler takes in a run, about.
    pub samples: u64,
    /// Phases of the period at which each passive profiler watches.
    pub phases: u64,
    /// Also measure what remains with infinitely many samples.
    pub bias: bool,
    /// Run the profilers of cycles as watchers.
    pub watching: bool,
    /// Run the profilers of cycles at their cost.
    pub charged: bool,
    /// The greatest overhead that is allowed, in the mean over programs, as a ratio: each profiler runs at the
    /// densest sampling point that stays within it. None: each runs at the densest point of the paper's grid, or the
    /// shortest of [`PERIODS`].
    pub budget: Option<f64>,
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

    /// Runs what an open store wants, and gives the records of all units that are there. With a budget, sparser points
    /// are looked at only once all denser ones are there.
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
        let mut open = self.points();
        let mut open_groups = match self.charged {
            true => collected::groups(&self.passive()),
            false => Vec::new(),
        };
        let mut has_open_shadows = self.profilers.iter().any(ProfilerInfo::has_shadows)
            && self.kinds.contains(&shadows::KIND);
        let mut has_open_observers = self.charged
            && self.profilers.iter().any(ProfilerInfo::observes)
            && observers::with_observer(&self.machine).is_some();
        let mut has_open_rings = self.profilers.iter().any(ProfilerInfo::observes_calls)
            && self.kinds.contains(&rings::KIND)
            && observers::with_observer(&self.machine).is_some();
        let mut units = self.passive_units(&shared);
        let mut records = Vec::new();
        // Denser points first; a profiler that has found one within the budget runs at no sparser one.
        for (&one_in, &period) in FREQUENCIES.iter().zip(PERIODS) {
            units.extend(self.costly_units(&shared, &open, one_in));
            if has_open_shadows {
                let pairs = shared.undisturbed.iter().zip(&shared.exact);
                units.extend(pairs.map(|(u, exact)| shadows::unit(u, exact, one_in)));
            }
            if has_open_rings {
                let pairs = shared.undisturbed.iter().zip(&shared.exact);
                units.extend(pairs.map(|(u, exact)| rings::unit(u, exact, period)));
            }
            if has_open_observers {
                let of_programs = shared.undisturbed.iter();
                units.extend(of_programs.map(|u| observers::unit(u, period)));
            }
            for undisturbed in &shared.undisturbed {
                let of_groups = open_groups.iter().cloned();
                units.extend(of_groups.map(|g| collected::unit(undisturbed, g, period)));
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
            let Some(budget) = self.budget else {
                break;
            };
            open.retain(|point| !fits(&records, point.name(), Some(point.kind), one_in, budget));
            has_open_shadows = has_open_shadows
                && !fits(&records, shadows::NAME, Some(shadows::KIND), one_in, budget);
            has_open_rings =
                has_open_rings && !fits(&records, rings::NAME, Some(rings::KIND), period, budget);
            has_open_observers =
                has_open_observers && !fits(&records, observers::NAME, None, period, budget);
            // The profilers of a group cost the same.
            let is_open = |name| !fits(&records, name, None, period, budget);
            open_groups.retain(|g| g.profilers.first().is_some_and(|p| is_open(p.name)));
        }
        Ok(records)
    }

    fn passive_units<'a>(&'a self, shared: &'a Shared<'a>) -> Vec<Unit<'a>> {
        let passive = self.passive();
        let mut units = Vec::new();
        if passive.is_empty() || !self.watching {
            return units;
        }
        for undisturbed in &shared.undisturbed {
            units.push(states::unit(undisturbed, self.samples));
            units.push(passive::unit(
                undisturbed,
                passive.clone(),
                self.samples,
                self.phases,
            ));
        }
        if self.bias {
            for undisturbed in &shared.undisturbed {
                units.push(passive::bias_unit(undisturbed, passive.clone()));
            }
        }
        if let Some(compiling) = &self.compiling {
            units.extend(self.programs.iter().filter_map(|program| {
                let passive = passive.clone();
                compiled::unit(program, &self.machine, passive, self.samples, compiling)
            }));
        }
        units
    }

    /// The profilers that watch.
    fn passive(&self) -> Vec<&'static Profiler> {
        self.profilers.iter().filter_map(|p| p.passive()).collect()
    }

    /// The profilers that cost cycles, with each kind of profile.
    fn points(&self) -> Vec<Point> {
        let costly = self.profilers.iter().filter_map(|p| p.scheme());
        let with_kinds = |scheme| self.kinds.iter().map(move |&kind| Point { scheme, kind });
        costly.flat_map(with_kinds).collect()
    }

    fn costly_units<'a>(
        &'a self,
        shared: &'a Shared<'a>,
        points: &[Point],
        one_in: u64,
    ) -> Vec<Unit<'a>> {
        let mut units = Vec::new();
        for (undisturbed, exact) in shared.undisturbed.iter().zip(&shared.exact) {
            for &point in points {
                units.push(costly::unit(undisturbed, exact, point, one_in));
            }
        }
        units
    }
}
