//! Questions that the HPS paper left open, as studies.
//!
//! | study | question |
//! | --- | --- |
//! | [`wrong_path`] | what wrong paths do to counters that a squash does not repair |
//! | [`bias`] | what fixed periods do in loops whose length divides them, and what random ones gain |
//! | [`merged`] | what several kinds of profile cost in one run, against one run for each |
//! | [`adaptive`] | what a sparsity that grows as the profile converges gains against a fixed one |
//! | [`tables`] | when the engine's tables begin to miss, and what it costs |
//! | [`progress`] | how accuracy grows along a run |
//! | [`set_ups`] | how much a single set-up can mislead |
//! | [`link_order`] | how much one order of linking can mislead |
//! | [`phase_costs`] | how much one phase can mislead about costs |
//! | [`coverage`] | how often intervals of sampled timing hold the exact value |
//! | [`choices`] | what the publications leave open, and how far each choice moves accuracies |
//!
//! Each gives units of work, which [`run_units`](crate::run_units) runs and keeps.

pub mod adaptive;
pub mod bias;
pub mod choices;
mod common;
pub mod coverage;
pub mod kernels;
pub mod link_order;
pub mod merged;
pub mod phase_costs;
pub mod progress;
pub mod set_ups;
mod stream;
mod synthetic;
pub mod tables;
#[cfg(test)]
pub(crate) mod testing;
pub mod wrong_path;

use crate::measurement::Unit;
use hps_lab::Program;
use hps_lab::TimedMachine;

/// How much is run.
///
/// Timed runs take a hundred times as long as functional ones for each instruction, so they are limited:
/// both sides of a comparison stop at the same instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StudyOptions {
    /// Instructions of functional runs, at most.
    pub functional_instructions: u64,
    /// Instructions of timed runs, at most.
    pub timed_instructions: u64,
    /// Instructions of timed runs with tables that are too small, of which there are many.
    pub table_instructions: u64,
    /// Number of programs, counted from the first, for which merged profiles, adaptive sparsity and small
    /// tables are timed. Wrong paths are timed for all programs.
    pub timed_programs: usize,
    /// Instructions of timed runs in other set-ups, at most.
    pub set_up_instructions: u64,
    /// Set-ups of each program, the configured one among them.
    pub set_ups: u32,
    /// Phases over which choices are compared.
    pub choice_phases: u32,
    /// Seeds of random periods.
    pub seeds: Vec<u64>,
}

impl Default for StudyOptions {
    /// For the small inputs of the programs that come with the project.
    fn default() -> Self {
        StudyOptions {
            functional_instructions: u64::MAX,
            timed_instructions: 2_000_000,
            table_instructions: 400_000,
            timed_programs: 10,
            set_up_instructions: 1_000_000,
            set_ups: 16,
            choice_phases: 10,
            seeds: (1..=5).collect(),
        }
    }
}

/// The names of all studies, in the order of [`units`].
pub const NAMES: [&str; 11] = [
    wrong_path::NAME,
    bias::NAME,
    merged::NAME,
    adaptive::NAME,
    tables::NAME,
    progress::NAME,
    set_ups::NAME,
    link_order::NAME,
    phase_costs::NAME,
    choices::NAME,
    coverage::NAME,
];

/// The units of all studies on these programs and this machine.
#[must_use]
pub fn units<'a>(
    programs: &'a [Program],
    machine: &'a TimedMachine,
    options: &StudyOptions,
) -> Vec<Unit<'a>> {
    let mut units = wrong_path::units(programs, machine, options);
    units.extend(bias::units(programs, options));
    units.extend(merged::units(programs, machine, options));
    units.extend(adaptive::units(programs, machine, options));
    units.extend(tables::units(programs, machine, options));
    units.extend(progress::units(programs, options));
    units.extend(set_ups::units(programs, machine, options));
    units.extend(link_order::units(programs, machine, options));
    units.extend(phase_costs::units(programs, machine, options));
    units.extend(choices::units(programs, options));
    units.extend(coverage::units(programs, machine));
    units
}
