//! Set-ups of a run that should not matter and do: where the stack lies.
//!
//! The size of the environment moves the stack of a process, and with it which of its lines share sets of the caches and
//! which addresses an access crosses (Mytkowicz, Diwan, Hauswirth and Sweeney, "Producing Wrong Data Without Doing
//! Anything Obviously Wrong!", ASPLOS 2009). An overhead of one set-up is one draw of many.

use hps_profile::summarize;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use hps_isa::random::Random;
use hps_lab::Program;

/// The variable that makes an environment larger.
const VARIABLE: &str = "HPS_SET_UP";
/// A page: beyond it, stacks lie to sets of lines as they did before.
const MOST_BYTES: u64 = 4096;

/// An overhead over several set-ups, the configured one among them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SetUps {
    /// How many.
    pub count: u64,
    /// Mean of the overheads.
    pub mean: f64,
    /// Standard deviation of the overheads: how far a single set-up may mislead.
    pub deviation: f64,
    /// Half the width of the 95% interval of the mean, by Student's t distribution.
    pub half_width: f64,
    /// The smallest.
    pub least: f64,
    /// The greatest.
    pub greatest: f64,
}

impl SetUps {
    /// Of the overhead in each set-up; `None` of fewer than two.
    #[must_use]
    pub fn of(overheads: &[f64]) -> Option<SetUps> {
        let summary = summarize(overheads);
        Some(SetUps {
            count: summary.count as u64,
            mean: summary.mean,
            deviation: summary.standard_deviation?,
            half_width: summary.half_width?,
            least: overheads.iter().copied().fold(f64::INFINITY, f64::min),
            greatest: overheads.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        })
    }
}

/// A program in a set-up: number 0 as it is configured, others with an environment that is larger by up to a page, drawn
/// by their number, the same in every run.
#[must_use]
pub fn in_set_up(program: &Program, number: u32) -> Program {
    let mut program = program.clone();
    if number > 0 {
        let bytes = Random::new(u64::from(number)).below(MOST_BYTES);
        let value = "x".repeat(bytes as usize);
        program.process.env.push((VARIABLE.to_string(), value));
    }
    program
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::studies::testing::program;

    #[test]
    fn set_ups_move_the_stack_and_nothing_else() {
        let program = program("parse");
        let stack = |number| {
            let process = in_set_up(&program, number).load().expect("loaded");
            // x2 is the stack pointer of RISC-V.
            process.thread.hart.r[2]
        };
        let all: std::collections::BTreeSet<u64> = (0..20).map(stack).collect();
        assert!(all.len() >= 18, "{all:?}");
        assert_eq!(stack(3), stack(3));
    }

    #[test]
    fn a_mean_over_set_ups_has_its_spread() {
        let found = SetUps::of(&[0.01, 0.03]).expect("two");
        assert!((found.mean - 0.02).abs() < 1e-12 && (found.least, found.greatest) == (0.01, 0.03));
        // t(0.975, 1) = 12.7062, over a standard error of 0.01.
        assert!((found.half_width - 0.127_062).abs() < 1e-6);
        assert_eq!(SetUps::of(&[0.01]), None);
    }
}
