//! Rows of machines whose instructions go through the stages in step, or take one cycle.

use hps_pipeline::config::{InStepConfig, MachineConfig, Stages};

use crate::recorder::{Kept, NEVER, Recorded};

/// When an instruction that has issued is behind decode.
pub(crate) struct Behind {
    pub execute: u64,
    /// The first cycle in memory, if it comes there.
    pub memory: Option<u64>,
    /// The cycle of write back.
    pub write: Option<u64>,
}

/// The rules of a machine.
#[derive(Clone, Copy)]
pub(crate) struct Step<'a> {
    machine: &'a MachineConfig,
    /// `None`: one cycle takes all stages.
    stages: Option<&'a InStepConfig>,
}

impl<'a> Step<'a> {
    /// `None` for machines whose instructions go on by themselves.
    pub fn of(machine: &'a MachineConfig) -> Option<Step<'a>> {
        let stages = match machine.issue.stages() {
            Stages::Free => return None,
            Stages::OneCycle => None,
            Stages::InStep(step) => Some(step),
        };
        Some(Step { machine, stages })
    }

    /// The stages of a row behind decode.
    pub fn behind(&self, recorded: &Recorded, at: usize) -> Option<Behind> {
        let kept = &recorded.rows[at];
        if kept.issue == NEVER || kept.complete == NEVER {
            return None;
        }
        let execute = kept.issue + u64::from(self.machine.issue.issue_to_execute_cycles);
        if self.stages.is_none() {
            return Some(Behind {
                execute,
                memory: (kept.end > execute).then_some(execute + 1),
                write: None,
            });
        }
        // What is complete has left execute, and loads have their data in the cycle behind.
        let write = kept.complete + u64::from(self.machine.window.complete_to_commit_cycles);
        let memory = match kept.class().is_memory() {
            false => kept.complete,
            true => {
                let (_, unit) = self.machine.units.of(kept.class());
                let address = execute + u64::from(unit.latency_cycles);
                let free = self.place_is_free(recorded, at);
                address.max(free).min(write - 1)
            }
        };
        Some(Behind {
            execute,
            memory: Some(memory),
            write: Some(write),
        })
    }

    /// When the instruction that was in the same place of its stages before has left memory.
    fn place_is_free(&self, recorded: &Recorded, at: usize) -> u64 {
        let kept = &recorded.rows[at];
        let before = kept
            .seq
            .wrapping_sub(u64::from(self.machine.issue.issue_width));
        let older = recorded.rows[at.saturating_sub(64)..at].iter().rev();
        let mut same = older.filter(|one| one.seq == before && one.context == kept.context);
        same.find(|one| !one.squashed).map_or(0, |one| one.end)
    }

    /// Cycles from the operands of an instruction to its result, as it was.
    pub fn latency(&self, kept: &Kept) -> u64 {
        let read = u64::from(self.machine.issue.issue_to_execute_cycles);
        let cycles = match self.stages {
            Some(step) if !step.forwarding => kept.end.saturating_sub(kept.issue),
            Some(_) if kept.is_load() => kept.end.saturating_sub(kept.issue + read),
            _ => kept.complete.saturating_sub(kept.issue + read),
        };
        cycles.max(1)
    }

    /// The cycle from which on a result can be used.
    pub fn ready(&self, recorded: &Recorded, at: usize) -> Option<u64> {
        let behind = self.behind(recorded, at)?;
        let kept = &recorded.rows[at];
        Some(match self.stages {
            Some(step) if !step.forwarding || kept.is_load() => behind.write?,
            Some(_) => behind.memory?,
            None => kept.end,
        })
    }
}
