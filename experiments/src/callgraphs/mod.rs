//! The evaluation of call graphs with SHIM (Olsauskas-Warren: "High Frequency Dynamic Profiling of Managed Runtimes with
//! SHIM", ANU 2015) made again where every call is known: observers of tag stacks and rings beside the program, and what
//! they are compared with: yield points that a timer asks, HPS, last branch records.
//!
//! A call graph is frequency-weighted: a caller, a callee, and how often the one has called the other. Its accuracy is
//! the overlap with the complete graph of the same run, over functions (as the thesis has it for JavaScript) and over
//! call sites (as it has it for Java).

mod claims;
mod collector;
mod graph;
mod measure;
mod others;
mod paper;
mod single;

use hps_lab::{CoreKind, Program, TimedMachine};

pub use claims::claims;
pub use collector::{Collector, FULL_DEPTH, RINGS, WAITS};
pub use measure::{QUIET, QUIETLY};
pub use others::{OTHERS, Other};
pub use paper::{PaperRow, rows as paper_rows};
pub use single::{ObservedGraph, observe_graph};

use crate::cluster::{Effort, Keep};
use crate::measurement::{Unit, UnitRecord, run_units};
use crate::runner::Observer;
use crate::store::StoreError;

/// The study: programs, machine, how much of each program.
#[derive(Clone, Debug)]
pub struct CallGraphStudy {
    /// The programs.
    pub programs: Vec<Program>,
    /// The machine: with a second context and a second core, and counters of the core and of the observer.
    pub machine: TimedMachine,
    /// Instructions of a program that run.
    pub limit: u64,
}

impl CallGraphStudy {
    /// Runs what is asked for and not kept yet, and gives the records of all units that are there.
    ///
    /// # Errors
    /// [`StoreError`] if results cannot be read or written.
    pub fn run(&self, keep: &Keep, observer: &dyn Observer) -> Result<Vec<UnitRecord>, StoreError> {
        let store = keep.units()?;
        let units: Vec<Unit<'_>> = self.programs.iter().map(|p| self.unit(p)).collect();
        let records = run_units(&units, &self.machine, &store, observer)?;
        keep.tidy(store)?;
        Ok(records)
    }

    fn unit<'a>(&'a self, program: &'a Program) -> Unit<'a> {
        let runs: usize = Collector::all().iter().map(|c| 1 + c.waits().len()).sum();
        let runs = (runs + QUIET.len() + OTHERS.len()) as f64;
        Unit {
            study: "callgraphs",
            title: format!("{} ({})", program.name, program.image.isa),
            key: serde_json::json!({
                "limit": self.limit,
                "waits": WAITS,
                "quiet": QUIET.map(Collector::name),
            }),
            program,
            effort: Effort::default().and_first(self.limit, 2.0 * runs, CoreKind::Cycle),
            run: Box::new(|| measure::measure(program, &self.machine, self.limit)),
        }
    }
}
