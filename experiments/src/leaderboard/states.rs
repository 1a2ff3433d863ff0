//! The states of an undisturbed run's cycles, which explain what profilers get wrong.

use std::collections::BTreeMap;

use hps_pipeline::core::Cause;
use hps_profile::error_of_draws;
use hps_profilers::oracle::{STATES, Spent};
use hps_profilers::views::Stack;
use hps_profilers::{ExactProfile, Key};

use super::passive;
use super::undisturbed::Undisturbed;
use crate::cluster::Effort;
use crate::measurement::{Measurement, Unit};

/// The name of the study in results.
pub const STUDY: &str = "leaderboard-states";
/// Instructions that commit together, in the mean over the cycles in which any commit.
pub const GROUP: &str = "instructions_per_committing_cycle";

/// Cycles in which the oldest instruction waits for memory beyond the first level, or for a translation, of all cycles.
pub const MEMORY: &str = "memory_ratio";

/// Mean error by instruction of as many independent draws from the exact profile as a run takes samples; `x` says how
/// many were asked for.
pub const DRAWS: &str = "draws_error_ratio";

/// Cycles of a run by state.
#[derive(Clone, Debug)]
pub(super) struct States {
    /// Shares of all cycles by instruction.
    instructions: Vec<f64>,
    /// Shares of all cycles, in the order of [`STATES`].
    shares: [f64; STATES.len()],
    /// Share of cycles that wait for memory.
    memory: f64,
    /// Instructions that committed.
    commits: u64,
    cycles: u64,
}

impl States {
    pub fn of(exact: &ExactProfile) -> States {
        let mut stack = Stack::default();
        let mut by_instruction: BTreeMap<Key, u64> = BTreeMap::new();
        for (key, units) in exact.weights() {
            *by_instruction.entry(key).or_insert(0) += units;
        }
        for row in &exact.rows {
            for &(spent, events, units) in &row.cells {
                stack.add(spent, events, units);
            }
        }
        let all = (exact.cycles * exact.units_per_cycle).max(1) as f64;
        let memory = stack.spent.iter().filter(|(spent, _)| is_memory(**spent));
        let memory = memory.map(|(_, units)| units).sum::<u64>() as f64 / all;
        let instructions = by_instruction.into_values();
        States {
            instructions: instructions.map(|units| units as f64 / all).collect(),
            shares: stack.states().map(|units| units as f64 / all),
            memory,
            commits: exact.commits,
            cycles: exact.cycles,
        }
    }

    /// Mean error of so many independent draws.
    fn error_of_draws(&self, samples: u64) -> f64 {
        error_of_draws(self.instructions.iter().copied(), samples)
    }

    fn group(&self) -> f64 {
        self.commits as f64 / (self.shares[0] * self.cycles as f64).max(1.0)
    }
}

/// Whether a cycle waits for memory.
fn is_memory(spent: Spent) -> bool {
    let Spent::Stalled(cause) = spent else {
        return false;
    };
    let level = [Cause::LoadL2, Cause::LoadL3, Cause::LoadMemory];
    let other = [Cause::DTlb, Cause::StoreWait, Cause::LoadCore];
    level.contains(&cause) || other.contains(&cause) || cause == Cause::Coherence
}

/// The unit that says so.
pub(super) fn unit<'a>(undisturbed: &'a Undisturbed<'a>, samples: u64) -> Unit<'a> {
    Unit {
        study: STUDY,
        title: format!("{}: cycles by state", undisturbed.program.title()),
        key: serde_json::json!({ "samples": samples, "memory": true }),
        program: undisturbed.program,
        effort: Effort::runs(0.0, 0.0, undisturbed.machine.core)
            .beside_undisturbed(undisturbed.machine.core),
        run: Box::new(move || {
            let found = undisturbed.found()?;
            let states = &found.states;
            let taken = passive::samples_of(found.cycles, samples);
            let shares = STATES.iter().zip(states.shares);
            let mut measured: Vec<Measurement> = shares
                .map(|(state, share)| Measurement {
                    setting: (*state).to_string(),
                    ..Measurement::new(undisturbed.program, "", "share_ratio", share)
                })
                .collect();
            for (measure, value) in [(GROUP, states.group()), (MEMORY, states.memory)] {
                measured.push(Measurement::new(undisturbed.program, "", measure, value));
            }
            measured.push(Measurement {
                x: Some(samples as f64),
                ..Measurement::new(undisturbed.program, "", DRAWS, states.error_of_draws(taken))
            });
            Ok(measured)
        }),
    }
}
