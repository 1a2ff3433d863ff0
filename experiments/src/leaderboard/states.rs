//! What an undisturbed run spends its cycles on, which explains what profilers get wrong.

use hps_profilers::ExactProfile;
use hps_profilers::oracle::STATES;
use hps_profilers::views::Stack;

use super::undisturbed::Undisturbed;
use crate::measurement::{Measurement, Unit};

/// The name of the study in results.
pub const STUDY: &str = "leaderboard-states";
/// Instructions that commit together, in the mean over the cycles in which any commit.
pub const GROUP: &str = "instructions_per_committing_cycle";

/// Cycles of a run by state.
#[derive(Clone, Copy, Debug)]
pub(super) struct States {
    /// Shares of all cycles, in the order of [`STATES`].
    shares: [f64; STATES.len()],
    /// Instructions that committed.
    commits: u64,
    cycles: u64,
}

impl States {
    pub fn of(exact: &ExactProfile) -> States {
        let mut stack = Stack::default();
        for row in &exact.rows {
            for &(spent, events, units) in &row.cells {
                stack.add(spent, events, units);
            }
        }
        let all = (exact.cycles * exact.units_per_cycle).max(1) as f64;
        States {
            shares: stack.states().map(|units| units as f64 / all),
            commits: exact.commits,
            cycles: exact.cycles,
        }
    }

    fn group(&self) -> f64 {
        self.commits as f64 / (self.shares[0] * self.cycles as f64).max(1.0)
    }
}

/// The unit that says so.
pub(super) fn unit<'a>(undisturbed: &'a Undisturbed<'a>) -> Unit<'a> {
    Unit {
        study: STUDY,
        title: format!("{}: cycles by state", undisturbed.program.title()),
        key: serde_json::json!({}),
        program: undisturbed.program,
        run: Box::new(move || {
            let states = undisturbed.found()?.states;
            let shares = STATES.iter().zip(states.shares);
            let mut measured: Vec<Measurement> = shares
                .map(|(state, share)| Measurement {
                    setting: (*state).to_string(),
                    ..Measurement::new(undisturbed.program, "", "share_ratio", share)
                })
                .collect();
            measured.push(Measurement::new(
                undisturbed.program,
                "",
                GROUP,
                states.group(),
            ));
            Ok(measured)
        }),
    }
}
