//! The evaluation of TIP (Gottschall, Eeckhout, Jahre: "TIP: Time-Proportional Instruction Profiling", MICRO 2021) and
//! of TEA (the same, ISCA 2023), made again: what sampling policies get wrong, beside the published errors, and what
//! explains the differences.
//!
//! | runs | machine | to learn |
//! | --- | --- | --- |
//! | all policies of the studies, at several phases | the one asked for | errors, against the published ones |
//! | the same with every cycle sampled | the one asked for | bias, which no number of samples takes away |
//! | policies at commit, both ways | the same with a commit width of 1, and presets of other widths | what the width explains |
//! | TIP with a quarter of the samples | the one asked for | what the number of samples explains |

mod claims;
mod data;
#[cfg(test)]
mod tests;

use hps_lab::{Program, TimedMachine};
use hps_pipeline::config::MachineConfig;

pub use claims::claims;
pub use data::{Data, PUBLISHED, Point, Published};

use crate::cluster::Keep;
use crate::leaderboard::{Leaderboard, ProfilerInfo, all};
use crate::measurement::UnitRecord;
use crate::runner::Observer;
use crate::store::StoreError;

/// Policies of the studies that run here on the machine asked for.
const POLICIES: [&str; 11] = [
    "software",
    "ibs",
    "ibs-row",
    "spe",
    "lci",
    "lci-before",
    "nci",
    "nci-ilp",
    "pebs",
    "tip",
    "tea",
];
/// Policies that run on machines of other widths.
const OF_WIDTHS: [&str; 4] = ["lci", "nci", "nci-ilp", "tip"];
/// Presets of other widths.
const WIDTHS: [&str; 2] = ["tiny-2wide", "wide-8"];

/// Ending of the name of a machine whose commit width is set to 1.
pub const NARROW: &str = "-commit-1";

/// The study: programs, machine and sampling.
#[derive(Clone, Debug)]
pub struct TipStudy {
    /// The programs, all of one instruction set.
    pub programs: Vec<Program>,
    /// The machine.
    pub machine: TimedMachine,
    /// Samples in a run, about.
    pub samples: u64,
    /// Phases of the period.
    pub phases: u64,
}

impl TipStudy {
    /// The machines on which policies at commit run: the one asked for, with a commit width of 1, and presets of other
    /// widths that the same core can simulate.
    #[must_use]
    pub fn other_machines(&self) -> Vec<TimedMachine> {
        let mut narrow = self.machine.clone();
        narrow.config.window.commit_width = 1;
        narrow.config.name = self.machine.name.clone() + NARROW;
        let mut machines = Vec::new();
        if self.machine.window.commit_width != 1 {
            machines.push(narrow);
        }
        for name in WIDTHS {
            let preset = MachineConfig::preset(name).ok();
            let preset = preset.filter(|p| p.name != self.machine.name);
            machines.extend(preset.map(|config| TimedMachine {
                config,
                core: self.machine.core,
            }));
        }
        machines.retain(|m| m.core.check(&m.config).is_ok());
        machines
    }

    /// Runs what is asked for and not kept yet, and gives the records of all units that are there.
    ///
    /// # Errors
    /// [`StoreError`] if results cannot be read or written.
    pub fn run(&self, keep: &Keep, observer: &dyn Observer) -> Result<Vec<UnitRecord>, StoreError> {
        let store = keep.units()?;
        let whole = self.board(self.machine.clone(), &POLICIES);
        let mut records = whole.run_into(&store, observer)?;
        let few = Leaderboard {
            samples: vec![data::fewer(self.samples)],
            bias: false,
            ..self.board(self.machine.clone(), &["tip"])
        };
        records.extend(few.run_into(&store, observer)?);
        for machine in self.other_machines() {
            let board = Leaderboard {
                phases: self.phases.min(3),
                ..self.board(machine, &OF_WIDTHS)
            };
            records.extend(board.run_into(&store, observer)?);
        }
        keep.tidy(store)?;
        Ok(records)
    }

    fn board(&self, machine: TimedMachine, policies: &[&str]) -> Leaderboard {
        let profilers: Vec<ProfilerInfo> = all()
            .into_iter()
            .filter(|p| policies.contains(&p.name))
            .collect();
        Leaderboard {
            programs: self.programs.clone(),
            machine,
            profilers,
            kinds: Vec::new(),
            samples: vec![self.samples],
            phases: self.phases,
            bias: true,
            watching: true,
            charged: false,
            runs: 1,
            budgets: Vec::new(),
            compiling: None,
        }
    }
}
