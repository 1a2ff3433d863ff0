//! All profilers by name: those that watch only, and those that cost cycles.

use std::borrow::Cow;

use hps_profilers::registry::{PROFILERS, Profiler};
use schemars::JsonSchema;
use serde::Serialize;

use super::contender::Contender;
use super::{Leaderboard, costly, observers, rings, shadows};

/// A profiler of the leaderboard.
#[derive(Clone, Serialize, JsonSchema)]
pub struct ProfilerInfo {
    /// Name on the command line and in results.
    pub name: &'static str,
    /// Description in one line.
    pub about: &'static str,
    /// Hardware, or memory of the program, that it takes.
    pub takes: &'static str,
    /// Events that its period counts.
    pub counts: &'static str,
    /// How its records come into memory.
    pub records: Cow<'static, str>,
    /// Cost to the program.
    pub cost: Cost,
    #[serde(skip)]
    pub(super) how: How,
}

impl std::fmt::Debug for ProfilerInfo {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

/// Cost of a profiler to the program that it profiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Cost {
    /// Nothing is charged: it watches.
    Free,
    /// The profiler watches, or runs at its cost: interrupts, handlers and buffers on the simulated machine.
    Either,
    /// Time: what it does to the program is charged by a table.
    Charged,
    /// Cycles and memory: what it does runs on the simulated machine.
    Executed,
}

/// How a profiler gets onto a board.
#[derive(Clone, Copy)]
pub(super) enum How {
    /// A policy watches runs; at its cost it shares them with other policies.
    Watches(&'static Profiler),
    /// The profiler has runs of its own: makes the contenders of a board.
    Runs(fn(&Leaderboard) -> Vec<Contender>),
}

impl ProfilerInfo {
    /// The policy, if it watches.
    #[must_use]
    pub fn passive(&self) -> Option<&'static Profiler> {
        match self.how {
            How::Watches(profiler) => Some(profiler),
            How::Runs(_) => None,
        }
    }

    /// Contenders of a board, if the profiler has runs of its own.
    pub(super) fn contenders(&self, board: &Leaderboard) -> Vec<Contender> {
        match self.how {
            How::Watches(_) => Vec::new(),
            How::Runs(contenders) => contenders(board),
        }
    }
}

fn policy_info(profiler: &'static Profiler) -> ProfilerInfo {
    ProfilerInfo {
        name: profiler.name,
        about: profiler.about,
        takes: profiler.hardware,
        counts: profiler.counts.describe(),
        records: profiler.records.describe().into(),
        cost: match profiler.records.cost() {
            true => Cost::Either,
            false => Cost::Free,
        },
        how: How::Watches(profiler),
    }
}

/// Profilers with runs of their own, each described in its file.
const COSTLY: [ProfilerInfo; 7] = [
    costly::HPS,
    costly::PLAIN_DISE,
    costly::BURSTY_TRACING,
    costly::BURSTY_TRACING_REDUCED,
    shadows::PROFILER,
    observers::PROFILER,
    rings::PROFILER,
];

/// All profilers, those that watch only first.
#[must_use]
pub fn all() -> Vec<ProfilerInfo> {
    let policies = PROFILERS.iter().map(policy_info);
    policies.chain(COSTLY).collect()
}

/// There is no profiler of a name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no profiler {name}; there are {known} (hps leaderboard --list)")]
pub struct UnknownProfiler {
    /// The name asked for.
    pub name: String,
    /// All names, separated by commas.
    pub known: String,
}

/// The profilers of some names, in their usual order; all of them if none is named.
///
/// # Errors
/// The first name that no profiler has.
pub fn chosen(names: &[String]) -> Result<Vec<ProfilerInfo>, UnknownProfiler> {
    let mut all = all();
    if names.is_empty() {
        return Ok(all);
    }
    if let Some(name) = names
        .iter()
        .find(|n| all.iter().all(|p| p.name != n.as_str()))
    {
        let known: Vec<&str> = all.iter().map(|p| p.name).collect();
        return Err(UnknownProfiler {
            name: name.clone(),
            known: known.join(", "),
        });
    }
    all.retain(|p| names.iter().any(|name| name == p.name));
    Ok(all)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_are_unique_and_unknown_ones_are_refused_with_what_there_is() {
        let all = all();
        let names: BTreeSet<&str> = all.iter().map(|p| p.name).collect();
        assert_eq!(names.len(), all.len());
        let two = chosen(&["tip".to_string(), "hps".to_string()]).expect("both exist");
        assert_eq!(
            two.iter().map(|p| p.name).collect::<Vec<_>>(),
            ["tip", "hps"]
        );
        let error = chosen(&["gprof".to_string()])
            .expect_err("not there")
            .to_string();
        assert!(
            error.contains("no profiler gprof") && error.contains("bursty-tracing"),
            "{error}"
        );
    }
}
