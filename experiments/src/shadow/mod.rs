//! The evaluation of shadow profiling (Moseley, Shye, Reddi, Grunwald, Peri: "Shadow Profiling: Hiding Instrumentation
//! Costs with Parallelism", CGO 2007), made again, and what its authors could not see: where shadows did something else
//! than their parent.
//!
//! Each program is timed once without shadows, and profiled once as a whole. All settings of load and sample size then
//! run functionally against that time and that profile. Beside that, instrumentation is executed as guest code, and shadows
//! run on other contexts of chips.

mod added_claims;
pub mod bursts;
pub mod chip;
mod claims;
mod data;
pub mod executed;
mod measure;

use hps_lab::{Program, TimedMachine};

pub use claims::claims;
pub use data::{Data, SCHEME};

use crate::cluster::{Effort, Keep};
use crate::measurement::{Unit, UnitRecord, run_units};
use crate::runner::Observer;
use crate::store::StoreError;

/// Loads: shadows that are alive on average. These are the paper's.
pub const LOADS: [f64; 3] = [0.5, 1.0, 2.0];

/// Places on the axis of time at which system calls are counted.
pub const TIMES: u64 = 20;

/// The name of the study in results.
const STUDY: &str = "shadow";

/// The study: programs, machine, sizes of samples.
#[derive(Clone, Debug)]
pub struct ShadowStudy {
    /// The programs.
    pub programs: Vec<Program>,
    /// The machine on which they are timed.
    pub machine: TimedMachine,
    /// Instructions of a sample, in ascending order.
    pub samples: Vec<u64>,
    /// Machines with several contexts, on which shadows run beside the programs; simulated by the cycle-driven core.
    pub chips: Vec<TimedMachine>,
}

/// The name of a setting in measurements.
#[must_use]
pub fn setting(load: f64, sample: u64) -> String {
    format!("load={load:.1},sample={sample}")
}

impl ShadowStudy {
    /// Six sizes of samples for runs of hundreds of millions of instructions, in which a fork costs what a few hundred
    /// thousand instructions do. (The paper's sizes are lost in the text that is at hand.)
    pub const LARGE: [u64; 6] = [
        100_000, 300_000, 1_000_000, 3_000_000, 10_000_000, 30_000_000,
    ];
    /// Six sizes for runs of a few million instructions.
    pub const SMALL: [u64; 6] = [1_000, 3_000, 10_000, 30_000, 100_000, 300_000];

    /// Machines on whose other contexts shadows run if nothing else is asked for.
    pub const CHIPS: [&str; 2] = ["smt-2", "cmp-4"];

    /// The sample size at which the paper's claims on a single setting are judged: the fifth of six.
    #[must_use]
    pub fn main_sample(samples: &[u64]) -> u64 {
        samples
            .iter()
            .rev()
            .nth(1)
            .or(samples.last())
            .copied()
            .unwrap_or(0)
    }

    /// Runs what is asked for and not kept yet, and gives the records of all units that are there.
    ///
    /// # Errors
    /// [`StoreError`] if results cannot be read or written.
    pub fn run(&self, keep: &Keep, observer: &dyn Observer) -> Result<Vec<UnitRecord>, StoreError> {
        let store = keep.units()?;
        let units: Vec<Unit<'_>> = (self.programs.iter())
            .flat_map(|program| [self.grid(program), self.executed(program)])
            .collect();
        let mut records = run_units(&units, &self.machine, &store, observer)?;
        for machine in &self.chips {
            let on_chip = |program| self.on_chip(program, machine);
            let units: Vec<Unit<'_>> = self.programs.iter().map(on_chip).collect();
            records.extend(run_units(&units, machine, &store, observer)?);
        }
        keep.tidy(store)?;
        Ok(records)
    }

    fn grid<'a>(&'a self, program: &'a Program) -> Unit<'a> {
        Unit {
            study: STUDY,
            title: format!("{} ({})", program.name, program.image.isa),
            key: serde_json::json!({ "loads": LOADS, "samples": self.samples, "times": TIMES }),
            program,
            // Each setting runs the program once more, and a part of it with probes.
            effort: Effort::runs(8.0, 1.0, self.machine.core),
            run: Box::new(|| measure::measure(program, &self.machine, &self.samples)),
        }
    }

    fn executed<'a>(&'a self, program: &'a Program) -> Unit<'a> {
        let main = Self::main_sample(&self.samples);
        Unit {
            study: STUDY,
            title: format!(
                "{} ({}): executed instrumentation",
                program.name, program.image.isa
            ),
            key: serde_json::json!({ "executed": executed::INSTRUCTIONS, "bursts": bursts::ONE_IN, "sample": main }),
            program,
            // Instrumented runs take several times as long.
            effort: Effort::runs(3.0, 1.0 + bursts::ONE_IN.len() as f64, self.machine.core)
                .and_first(executed::INSTRUCTIONS, 60.0, self.machine.core),
            run: Box::new(|| measure::measure_executed(program, &self.machine, &self.samples)),
        }
    }

    fn on_chip<'a>(&'a self, program: &'a Program, machine: &'a TimedMachine) -> Unit<'a> {
        let main = Self::main_sample(&self.samples);
        let slowdowns = chip::SLOWDOWNS;
        Unit {
            study: STUDY,
            title: format!(
                "{} ({}): shadows on {}",
                program.name, program.image.isa, machine.name
            ),
            key: serde_json::json!({ "on_chip": slowdowns, "sample": main }),
            program,
            // Alone, and with shadows that run beside it.
            effort: Effort::runs(2.0, 1.0 + 2.0 * slowdowns.len() as f64, machine.core),
            run: Box::new(move || chip::measure(program, machine, main)),
        }
    }
}
