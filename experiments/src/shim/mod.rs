//! The evaluation of SHIM (Yang, Blackburn, McKinley: "Computer Performance Microscopy with SHIM", ISCA 2015) made again
//! where the truth is known: an observer in the machine, on a second context or a second core.
//!
//! Each program runs without an observer, and beside one for each kind of observer and wait. For every sample, kept or
//! discarded, what the program did in its interval is known.

mod claims;
pub mod functions;
mod held;
mod intervals;
mod measure;
mod pair;
pub mod phases;
mod stacks;

use hps_lab::{Program, TimedMachine};
use hps_pipeline::config::MachineConfig;

#[cfg(test)]
pub(crate) use claims::all_claims;
pub use claims::claims;
pub use intervals::{Apart, Counting, Interval, Intervals, OwnCount, Places, Work};
pub use measure::{Kind, WAITS};
pub use pair::{Pair, WAITS as PAIR_WAITS};
pub use stacks::{Stacks, true_totals};

use crate::cluster::{Effort, Keep};
use crate::measurement::{Unit, UnitRecord, run_units};
use crate::runner::Observer;
use crate::store::StoreError;

/// Events that `hpmcounter3` and the counters behind it have to count.
pub const COUNTERS: [&str; 3] = [
    "instructions of core",
    "instructions",
    "instructions of processor 0",
];

/// The study: programs, machine, how much of each program.
#[derive(Clone, Debug)]
pub struct ShimStudy {
    /// The programs.
    pub programs: Vec<Program>,
    /// Producers of the pair study, one for each instruction set.
    pub producers: Vec<Program>,
    /// The program of the study of clocks and prefetchers ([`phases`]), where programs can read counters.
    pub phases: Option<Program>,
    /// The machine: with a second context and a second core, and counters of the core, of the observer and of processor
    /// 0, in this order.
    pub machine: TimedMachine,
    /// Instructions of a program that run.
    pub limit: u64,
}

impl ShimStudy {
    /// Runs what is asked for and not kept yet, and gives the records of all units that are there.
    ///
    /// # Errors
    /// [`StoreError`] if results cannot be read or written.
    pub fn run(&self, keep: &Keep, observer: &dyn Observer) -> Result<Vec<UnitRecord>, StoreError> {
        let store = keep.units()?;
        let observed = self.programs.iter().map(|p| self.observed(p));
        let paired = self.producers.iter().map(|p| self.paired(p));
        let phased = self.phases.iter().map(|p| self.phased(p));
        let units: Vec<Unit<'_>> = observed.chain(paired).chain(phased).collect();
        let records = run_units(&units, &self.machine, &store, observer)?;
        keep.tidy(store)?;
        Ok(records)
    }

    fn observed<'a>(&'a self, program: &'a Program) -> Unit<'a> {
        let runs = Kind::ALL
            .iter()
            .map(|kind| kind.waits().len())
            .sum::<usize>();
        Unit {
            study: "shim",
            title: format!("{} ({})", program.name, program.image.isa),
            key: serde_json::json!({
                "limit": self.limit,
                "waits": WAITS,
                "kinds": Kind::ALL.map(Kind::name),
                "functions": (functions::WAIT, functions::EVERY, functions::QUANTILES),
            }),
            program,
            effort: Effort::default().and_first(self.limit, 3.0 * runs as f64, self.machine.core),
            run: Box::new(|| measure::measure(program, &self.machine, self.limit)),
        }
    }

    fn paired<'a>(&'a self, producer: &'a Program) -> Unit<'a> {
        Unit {
            study: "pair",
            title: format!("producer and consumer ({})", producer.image.isa),
            key: serde_json::json!({ "waits": PAIR_WAITS }),
            program: producer,
            effort: Effort::default().and_first(300_000, 100.0, self.machine.core),
            run: Box::new(|| measure::pairs(producer, &self.machine)),
        }
    }

    fn phased<'a>(&'a self, program: &'a Program) -> Unit<'a> {
        let runs = phases::Setting::ALL.len() + phases::Goal::ALL.len();
        Unit {
            study: "phases",
            title: "clocks and prefetchers by phase".to_string(),
            key: serde_json::json!({ "sleep": phases::SLEEP }),
            program,
            effort: Effort::default().and_first(12_000_000, runs as f64, self.machine.core),
            run: Box::new(|| phases::measure(program, &self.machine)),
        }
    }

    /// The first thing that a machine lacks for the study, in words.
    #[must_use]
    pub fn lacking(machine: &MachineConfig) -> Option<String> {
        let selected: Vec<&str> = machine
            .counters
            .selected
            .0
            .iter()
            .map(String::as_str)
            .collect();
        if machine.chip.cores < 2 || machine.chip.contexts < 2 {
            return Some(
                "it needs two cores with two contexts each (chip.cores, chip.contexts)".to_string(),
            );
        }
        (selected != COUNTERS).then(|| format!("counters.selected has to be {COUNTERS:?}"))
    }

    /// The producer of an instruction set, as a program.
    ///
    /// # Errors
    /// [`hps_lab::LabError`]: it cannot be assembled.
    pub fn producer(isa: hps_lab::Isa) -> Result<Program, hps_lab::LabError> {
        pair::program(isa, 0)
    }
}
