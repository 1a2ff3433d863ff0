//! All profilers by name: those that watch only, and those that cost cycles.

use hps_profilers::registry::{PROFILERS, Profiler};
use serde::Serialize;

use super::{observers, rings, shadows};
use crate::schemes::Scheme;

/// A profiler of the leaderboard.
#[derive(Clone, Serialize)]
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
    pub records: String,
    /// Cost to the program.
    pub cost: Cost,
    #[serde(skip)]
    how: How,
}

impl std::fmt::Debug for ProfilerInfo {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

/// Cost of a profiler to the program that it profiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
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

#[derive(Clone, Copy)]
enum How {
    Watches(&'static Profiler),
    Runs(Scheme),
    Shadows,
    Observes,
    ObservesCalls,
}

impl ProfilerInfo {
    /// The policy, if it watches only.
    #[must_use]
    pub fn passive(&self) -> Option<&'static Profiler> {
        match self.how {
            How::Watches(profiler) => Some(profiler),
            How::Runs(_) | How::Shadows | How::Observes | How::ObservesCalls => None,
        }
    }

    /// The scheme, if it costs cycles.
    #[must_use]
    pub fn scheme(&self) -> Option<Scheme> {
        match self.how {
            How::Runs(scheme) => Some(scheme),
            How::Watches(_) | How::Shadows | How::Observes | How::ObservesCalls => None,
        }
    }
}

impl ProfilerInfo {
    /// Whether it forks shadows.
    #[must_use]
    pub fn has_shadows(&self) -> bool {
        matches!(self.how, How::Shadows)
    }

    /// Whether it observes from another core.
    #[must_use]
    pub fn observes(&self) -> bool {
        matches!(self.how, How::Observes)
    }

    /// Whether it observes calls from another core.
    #[must_use]
    pub fn observes_calls(&self) -> bool {
        matches!(self.how, How::ObservesCalls)
    }
}

/// The name of a scheme among profilers: `software` is a policy there.
pub(super) fn scheme_name(scheme: Scheme) -> &'static str {
    match scheme {
        Scheme::Hps => "hps",
        Scheme::PlainDise => "plain-dise",
        Scheme::Software => "bursty-tracing",
        Scheme::SoftwareReduced => "bursty-tracing-reduced",
    }
}

fn scheme_info(scheme: Scheme) -> ProfilerInfo {
    let (about, takes) = match scheme {
        Scheme::Hps => (
            "HPS: bursts that the decode stage switches on and off by conditional control",
            "DISE with conditional control, handlers and tables in memory",
        ),
        Scheme::PlainDise => (
            "DISE without conditional control: each event and each place of interest is expanded",
            "DISE, handlers and tables in memory",
        ),
        Scheme::Software => (
            "software bursty tracing: a second copy of the code, checks at entries and back-edges",
            "two copies of the code, handlers and tables in memory",
        ),
        Scheme::SoftwareReduced => (
            "software bursty tracing with the published reductions of checks",
            "two copies of the code, handlers and tables in memory",
        ),
    };
    ProfilerInfo {
        name: scheme_name(scheme),
        about,
        takes,
        counts: "calls and back-edges",
        records: "handlers count".to_string(),
        cost: Cost::Executed,
        how: How::Runs(scheme),
    }
}

fn policy_info(profiler: &'static Profiler) -> ProfilerInfo {
    ProfilerInfo {
        name: profiler.name,
        about: profiler.about,
        takes: profiler.hardware,
        counts: profiler.counts.describe(),
        records: profiler.records.describe(),
        cost: match profiler.records.cost() {
            true => Cost::Either,
            false => Cost::Free,
        },
        how: How::Watches(profiler),
    }
}

fn shadow_info() -> ProfilerInfo {
    ProfilerInfo {
        name: shadows::NAME,
        about: "shadow profiling: copies of the program run instrumented while it goes on",
        takes: "idle processors, memory for pages that are written",
        counts: "instructions of copies",
        records: "the copies leave profiles".to_string(),
        cost: Cost::Charged,
        how: How::Shadows,
    }
}

fn observer_info() -> ProfilerInfo {
    ProfilerInfo {
        name: observers::NAME,
        about: "SHIM: an observer on another core reads tags that the program writes at calls and returns",
        takes: "a second core, DISE that writes tags",
        counts: "cycles",
        records: "the observer keeps samples".to_string(),
        cost: Cost::Executed,
        how: How::Observes,
    }
}

fn ring_info() -> ProfilerInfo {
    ProfilerInfo {
        name: rings::NAME,
        about: "SHIM: an observer on another core empties a ring in which the program stores its calls until it is full",
        takes: "a second core, DISE that stores calls",
        counts: "cycles",
        records: "the observer keeps calls".to_string(),
        cost: Cost::Executed,
        how: How::ObservesCalls,
    }
}

/// All profilers, those that watch only first.
#[must_use]
pub fn all() -> Vec<ProfilerInfo> {
    let policies = PROFILERS.iter().map(policy_info);
    policies
        .chain(Scheme::ALL.into_iter().map(scheme_info))
        .chain([shadow_info(), observer_info(), ring_info()])
        .collect()
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
