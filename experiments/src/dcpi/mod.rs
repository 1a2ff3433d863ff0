//! The evaluation of DCPI (Anderson and others: "Continuous Profiling: Where Have All the Cycles Gone?", SOSP 1997),
//! made again: frequencies, edges and cycles against exact counts, culprits against true causes, the hash table.
//!
//! Each program runs once on a machine in order. All counters watch that run: they change nothing, so that one run
//! serves every period, every seed and the truth. A run of its own under interrupts and a handler in guest code says
//! what sampling costs.

mod calibration;
mod claims;
pub mod copy;
pub mod data;
mod edge_samples;
mod figures;
mod measure;
pub mod order;
pub mod precise;

use hps_dcpi::collect::Follow;
use hps_dcpi::collect::truth::Spent;
use hps_lab::{Program, TimedMachine};
use hps_pipeline::static_schedule::{NotInOrder, StaticScheduler};

pub use claims::claims;
pub use data::{bucket_name, setting_of};

use crate::cluster::{Effort, Keep};
use crate::measurement::{Unit, UnitRecord, run_units};
use crate::runner::Observer;
use crate::store::StoreError;

/// Mean periods at which cycles are sampled. The second one is that of the main results.
pub const PERIODS: [u64; 5] = [16, 64, 256, 1024, 4096];

/// The periods at which one set of samples is too few to say how often estimates of high confidence are right.
const SPARSE: [u64; 2] = [1024, 4096];

/// Sets of samples at each of these periods.
const SPARSE_SETS: u64 = 8;

/// The mean period of the main results.
pub const MAIN_PERIOD: u64 = 64;

/// Information of samples beside their addresses in the study of edge samples, at the period of the main results.
pub const FOLLOWS: [Follow; 2] = [Follow::Transfer, Follow::Next(4)];

/// The setting of samples that tell so much.
#[must_use]
pub fn follow_setting(follow: Follow) -> String {
    match follow {
        Follow::Nothing => "follow=nothing".to_string(),
        Follow::Transfer => "follow=transfer".to_string(),
        Follow::Next(steps) => format!("follow={steps}"),
    }
}

/// Names of confidences in measures, from low on.
pub const CONFIDENCES: [&str; 3] = ["low", "medium", "high"];

/// The setting of what is said of a cause of stalls.
#[must_use]
pub fn blame_setting(cause: Spent) -> String {
    format!("cause={}", cause.name())
}

/// The mean period at which one run is compared with eighty: a multiple of their number.
pub const RUNS_PERIOD: u64 = 1040;

/// The setting of the main results.
fn main_setting() -> String {
    format!("period={MAIN_PERIOD}")
}

/// How many runs are put together.
pub const RUNS: u64 = 80;

/// The study: programs and machine.
#[derive(Clone, Debug)]
pub struct DcpiStudy {
    /// The programs.
    pub programs: Vec<Program>,
    /// The machine, which issues in order.
    pub machine: TimedMachine,
    /// Machines that need not, which the same analysis is tried on.
    pub others: Vec<TimedMachine>,
    /// The copy loop of figure 2 and its machine, if it is run.
    pub copy: Option<(Program, TimedMachine)>,
}

impl DcpiStudy {
    /// Whether the machine can be analyzed.
    ///
    /// # Errors
    /// [`NotInOrder`] if it issues out of order.
    pub fn check(&self) -> Result<(), NotInOrder> {
        StaticScheduler::new(&self.machine.config).map(|_| ())
    }

    /// Runs what is asked for and not kept yet, and gives the records of all units that are there.
    ///
    /// # Errors
    /// [`StoreError`] if results cannot be read or written.
    pub fn run(&self, keep: &Keep, observer: &dyn Observer) -> Result<Vec<UnitRecord>, StoreError> {
        let store = keep.units()?;
        let units: Vec<Unit<'_>> = self
            .programs
            .iter()
            .flat_map(|p| self.units(p).into_iter().chain(self.units_of_others(p)))
            .chain(self.unit_of_copy())
            .collect();
        let records = run_units(&units, &self.machine, &store, observer)?;
        keep.tidy(store)?;
        Ok(records)
    }

    fn units<'a>(&'a self, program: &'a Program) -> [Unit<'a>; 2] {
        let unit = |study, run| Unit {
            study,
            title: format!("{} ({}), {study}", program.name, program.image.isa),
            key: serde_json::json!({ "periods": PERIODS, "runs": RUNS, "handler": "table", "blame": "by cause", "figures": [1, 3, 4], "calibration": "by period", "follow": FOLLOWS.map(follow_setting) }),
            program,
            effort: Effort::runs(0.0, 1.0, self.machine.core),
            run,
        };
        [
            unit(
                "dcpi-estimates",
                Box::new(|| measure::estimates(program, &self.machine)),
            ),
            unit(
                "dcpi-overhead",
                Box::new(|| measure::overhead(program, &self.machine)),
            ),
        ]
    }

    /// The copy loop of figure 2.
    fn unit_of_copy(&self) -> Option<Unit<'_>> {
        let (program, machine) = self.copy.as_ref()?;
        Some(Unit {
            study: "dcpi-copy",
            title: format!("the copy loop of figure 2 on {}", machine.name),
            key: serde_json::json!({ "on": machine.fingerprint() }),
            program,
            effort: Effort::runs(0.0, 1.0, machine.core),
            run: Box::new(move || copy::measurements(program, machine)),
        })
    }

    /// The analysis on each machine, this one first, beside other policies.
    fn units_of_others<'a>(&'a self, program: &'a Program) -> Vec<Unit<'a>> {
        let machines = match self.others.is_empty() {
            true => &[][..],
            false => std::slice::from_ref(&self.machine),
        };
        let machines = machines.iter().chain(&self.others);
        let unit = |machine: &'a TimedMachine| Unit {
            study: "dcpi-order",
            title: format!(
                "{} ({}) on {}, dcpi-order",
                program.name, program.image.isa, machine.name
            ),
            key: serde_json::json!({ "period": MAIN_PERIOD, "on": machine.fingerprint(), "precise": precise::PRECISE, "follow": FOLLOWS.map(follow_setting) }),
            program,
            effort: Effort::runs(0.0, 2.0, machine.core),
            run: Box::new(|| order::order(program, machine)),
        };
        machines.map(unit).collect()
    }
}
