//! The pipeline stages that the depths of a configuration add up to.
//!
//! An instruction that waits for nothing passes these cycles, counted from its fetch (`hps-4wide`
//! in brackets):
//!
//! | from | until | cycles | stages |
//! | --- | --- | --- | --- |
//! | fetch | decode | `fetch_to_decode_cycles` (3) | fetch1 fetch2 fetch3 |
//! | decode | dispatch | `decode_to_dispatch_cycles` (3) | decode rename1 rename2 |
//! | dispatch | issue | `dispatch_to_issue_cycles` (1) | dispatch |
//! | issue | execute | `issue_to_execute_cycles` (2) | issue regread |
//! | execute | complete | latency of its unit (1) | execute |
//! | complete | commit | `complete_to_commit_cycles` (1) | writeback |
//! | commit | | 1 | commit |
//!
//! An instruction fetched in cycle 0 is decoded in cycle 3, dispatched in cycle 6, issued in
//! cycle 7, executes in cycle 9, is complete in cycle 10 and commits in cycle 11: 12 stages.
//!
//! Where instructions go in step ([`Stages::InStep`]), decode, dispatch and issue are one cycle, in which registers are
//! read, and what is complete has left execute and goes through memory.

use super::sections::{ExpansionCost, InStepConfig, MachineConfig, Stages};
use super::units::UnitTable;

impl MachineConfig {
    /// From decode to dispatch, with the stage that `ExpansionCost::ExtraStage` adds.
    #[must_use]
    pub fn decode_to_dispatch_cycles(&self) -> u32 {
        let extra = u32::from(self.dise.expansion_cost == ExpansionCost::ExtraStage);
        self.decode.decode_to_dispatch_cycles + extra
    }

    /// Cycles from fetch to the first cycle of execution of an instruction that waits for nothing.
    #[must_use]
    pub fn fetch_to_execute_cycles(&self) -> u32 {
        self.fetch.fetch_to_decode_cycles
            + self.decode_to_dispatch_cycles()
            + self.issue.dispatch_to_issue_cycles
            + self.issue.issue_to_execute_cycles
    }

    /// Number of pipeline stages, with one cycle of execution.
    #[must_use]
    pub fn pipeline_stages(&self) -> u32 {
        if *self.issue.stages() == Stages::OneCycle {
            return 1;
        }
        let execute_and_commit = 2;
        self.fetch_to_execute_cycles() + self.window.complete_to_commit_cycles + execute_and_commit
    }

    /// Fetch cycles that a mispredicted branch loses at least.
    ///
    /// A branch fetched in cycle 0 completes in cycle `fetch_to_execute_cycles` + its latency, and
    /// the right path is fetched `mispredict_extra_cycles` behind that; after a right prediction it would have been
    /// fetched in cycle 1. (9 for `hps-4wide`.)
    #[must_use]
    pub fn min_mispredict_penalty_cycles(&self) -> u32 {
        let executes = match self.issue.stages() {
            Stages::InStep(InStepConfig {
                branches_in_decode: true,
                ..
            }) => 0,
            _ => self.units.branch.latency_cycles,
        };
        self.fetch_to_execute_cycles() + executes + self.branch.mispredict_extra_cycles - 1
    }

    /// The functional units, resolved to an array lookup for each class.
    #[must_use]
    pub fn unit_table(&self) -> UnitTable {
        UnitTable::new(&self.units)
    }

    /// Names of the stages in order, one for each of [`pipeline_stages`](Self::pipeline_stages).
    #[must_use]
    pub fn stage_names(&self) -> Vec<String> {
        let mut names = Vec::new();
        match self.issue.stages() {
            Stages::Free => {}
            Stages::OneCycle => return vec!["all".to_string()],
            Stages::InStep(_) => {
                numbered(&mut names, "fetch", self.fetch.fetch_to_decode_cycles);
                numbered(&mut names, "decode", self.issue.issue_to_execute_cycles);
                names.extend(["execute", "memory", "writeback"].map(str::to_string));
                return names;
            }
        }
        numbered(&mut names, "fetch", self.fetch.fetch_to_decode_cycles);
        names.push("decode".to_string());
        numbered(&mut names, "rename", self.decode_to_dispatch_cycles() - 1);
        numbered(&mut names, "dispatch", self.issue.dispatch_to_issue_cycles);
        let issue = self.issue.issue_to_execute_cycles;
        if issue > 0 {
            names.push("issue".to_string());
            numbered(&mut names, "regread", issue - 1);
        }
        names.push("execute".to_string());
        let writeback = self.window.complete_to_commit_cycles;
        numbered(&mut names, "writeback", writeback);
        names.push("commit".to_string());
        names
    }
}

fn numbered(names: &mut Vec<String>, name: &str, count: u32) {
    if count == 1 {
        names.push(name.to_string());
    } else {
        names.extend((1..=count).map(|number| format!("{name}{number}")));
    }
}
