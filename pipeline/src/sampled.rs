//! Sampled timing, after SMARTS (Wunderlich, Wenisch, Falsafi and Hoe, ISCA 2003): short units of a
//! run are timed at a fixed distance, the rest runs functionally and keeps caches and predictors warm.
//!
//! Before each unit the core runs for a while unmeasured, until queues and window are as full as they
//! would be. What comes out is the mean of the units' cycles per instruction, with the confidence
//! interval of a mean of so many; the exact number needs the whole run timed.

use hps_sim_core::editor::NoEditor;
use hps_sim_core::image::LoadError;
use hps_sim_core::machine::{Machine, Stop};
use hps_sim_core::probe::NoProbe;
use hps_sim_core::process::{Process, ProcessConfig};

use crate::config::MachineConfig;
use crate::core::{Core, CpiStack};

/// Where and how long units are, in instructions of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SamplingPlan {
    /// From the beginning of a unit to that of the next.
    pub period: u64,
    /// Timed before each unit and not measured.
    pub warm_up: u64,
    /// Measured.
    pub unit: u64,
}

impl Default for SamplingPlan {
    /// Units of 1,000 instructions behind 2,000 of warm-up, one in 100,000.
    fn default() -> Self {
        SamplingPlan {
            period: 100_000,
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
    /// The core cannot be set up.
    #[error(transparent)]
    Load(#[from] LoadError),
}

impl SamplingPlan {
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
#[derive(Clone, Debug, Default)]
pub struct Samples {
    /// Cycles of each whole unit, in order.
    pub unit_cycles: Vec<u64>,
    /// Commit slots of all units together.
    pub cpi: CpiStack,
    /// Instructions that ran on the core, warm-up included.
    pub timed_instructions: u64,
}

/// A run with sampled timing.
pub struct SampledRun {
    plan: SamplingPlan,
    functional: Machine,
    core: Core,
    samples: Samples,
}

impl SampledRun {
    /// A run of `process` from where it is.
    ///
    /// # Errors
    /// A plan whose units do not fit, or no memory.
    pub fn new(
        config: &MachineConfig,
        process: Process,
        plan: SamplingPlan,
    ) -> Result<Self, SamplingError> {
        plan.validate()?;
        // The core holds the program only while it times a unit.
        let placeholder = Process::new(process.image.clone(), &ProcessConfig::default())?;
        Ok(SampledRun {
            plan,
            functional: Machine::new(process),
            core: Core::with(config, placeholder, NoEditor, NoProbe),
            samples: Samples::default(),
        })
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

    /// What was measured so far.
    #[must_use]
    pub fn samples(&self) -> &Samples {
        &self.samples
    }

    /// Runs until `limit` further instructions of the program have retired, or until it ends.
    pub fn run(&mut self, limit: u64) -> Stop {
        let end = self.instructions().saturating_add(limit);
        loop {
            let SamplingPlan {
                period,
                warm_up,
                unit,
            } = self.plan;
            // A unit lies at the end of its period, so that the first one is warm as well.
            let in_period = self.instructions() % period;
            let ahead = (period - warm_up - unit).saturating_sub(in_period);
            let left = end - self.instructions();
            let mut warming = self.core.warming(self.functional.process.hart.pc);
            let stop = self.functional.run(&mut warming, ahead.min(left));
            if stop != Stop::Limit {
                return stop;
            }
            let left = end - self.instructions();
            if left == 0 {
                return Stop::Limit;
            }
            if let Some(stop) = self.time_unit(left) {
                return stop;
            }
        }
    }

    /// Times what is left of a period, or so much of it.
    fn time_unit(&mut self, left: u64) -> Option<Stop> {
        let in_period = self.instructions() % self.plan.period;
        let to_end = self.plan.period - in_period;
        let to_unit = to_end.saturating_sub(self.plan.unit);
        self.hand_over();
        let committed = self.core.stats.commit_program_instructions;
        let mut stop = self.core_run(to_unit.min(left));
        // A unit is measured whole or not at all.
        if stop == Stop::Limit && left >= to_end {
            let (cycle, cpi) = (self.core.stats.cycles, self.core.cpi);
            stop = self.core_run(to_end - to_unit);
            if stop == Stop::Limit && to_end - to_unit == self.plan.unit {
                self.samples
                    .unit_cycles
                    .push(self.core.stats.cycles - cycle);
                self.samples.cpi.merge(&self.core.cpi.since(&cpi));
            }
        } else if stop == Stop::Limit {
            stop = self.core_run(left.saturating_sub(to_unit));
        }
        let committed = self.core.stats.commit_program_instructions - committed;
        self.samples.timed_instructions += committed;
        self.take_back(committed);
        (stop != Stop::Limit).then_some(stop)
    }

    fn core_run(&mut self, limit: u64) -> Stop {
        if limit == 0 {
            return Stop::Limit;
        }
        self.core.run(limit)
    }

    /// The program goes to the core; the guest's clocks go on.
    fn hand_over(&mut self) {
        let now = self.functional.guest_counters();
        self.core.exchange(&mut self.functional.process);
        let before = self.core.process.counters_before;
        let behind = now.minus(self.core.guest_counters());
        self.core.process.counters_before = before.plus(behind);
    }

    /// The program comes back, so many instructions later.
    fn take_back(&mut self, committed: u64) {
        let now = self.core.guest_counters();
        self.core.exchange(&mut self.functional.process);
        self.functional.retired.program += committed;
        let before = self.functional.process.counters_before;
        let behind = now.minus(self.functional.guest_counters());
        self.functional.process.counters_before = before.plus(behind);
    }
}
