//! Agreement of a native and a simulated run, and its limits.

use std::collections::{BTreeMap, BTreeSet};

use hps_profile::{Profile, overlap_without_cut};
use schemars::JsonSchema;
use serde::Serialize;

use super::Times;
use super::functional::Functional;
use super::graph::GraphComparison;
use super::observers::{CollectorComparison, PeriodComparison};
use super::slots::Timed;

/// Pipeline runs of a program.
#[derive(Default)]
pub struct Pipeline {
    /// The program without hooks.
    pub plain: Option<Timed>,
    /// Instrumented.
    pub instrumented: Option<Timed>,
}

/// Where the simulated executable comes from, which decides how exactly calls can agree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// Built from the same sources without inlining, as the native one was.
    Rebuilt,
    /// The image that comes with the project: functions are inlined there and not natively.
    Image,
    /// The user's.
    User,
}

/// How often a function was called on both sides.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CallDifference {
    /// The function.
    pub function: String,
    /// Entries natively.
    pub native: u64,
    /// Calls in the simulation.
    pub simulated: u64,
}

/// Calls, function by function.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct CallComparison {
    /// Functions entered natively.
    pub functions: usize,
    /// Number of them that are called equally often in the simulation.
    pub equal: usize,
    /// All calls natively.
    pub native: u64,
    /// All calls of these functions in the simulation.
    pub simulated: u64,
    /// Overlap of the two profiles of calls, 0 to 1.
    pub overlap: f64,
    /// The functions that differ, the largest difference first.
    pub differences: Vec<CallDifference>,
}

/// Overlaps of the native profile of time with what the simulation measures, 0 to 1: the sum over
/// functions of the smaller share.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct TimeComparison {
    /// With cycles by function of the program instrumented as it is natively: the comparable
    /// measure. Both are time, and the hooks take theirs on both sides.
    pub instrumented_cycles: Option<f64>,
    /// With cycles by function of the program without hooks.
    pub cycles: Option<f64>,
    /// With samples of an observer inside the simulated machine, of the program without hooks; `None` if there was none.
    pub observed: Option<f64>,
    /// With instructions by function.
    pub instructions: f64,
    /// With the exhaustive method profile: calls and back-edges, which are no time.
    pub exhaustive: f64,
    /// With the method profile that HPS samples.
    pub hps: f64,
    /// Half of the native runs lie closer to their median than this share.
    pub native_spread: f64,
}

/// One function on both sides.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct FunctionRow {
    /// The function.
    pub function: String,
    /// Share of native time; `None` if it was not measured.
    pub native_time: Option<f64>,
    /// Share of simulated cycles, instrumented; `None` if it was not timed so.
    pub instrumented_cycles: Option<f64>,
    /// Share of simulated cycles, without hooks; `None` if it was not timed.
    pub cycles: Option<f64>,
    /// Share of the samples of an observer inside the simulated machine; `None` if there was none.
    pub observed: Option<f64>,
    /// Share of simulated instructions.
    pub instructions: f64,
    /// Share of calls and back-edges.
    pub exhaustive: f64,
    /// Share in the method profile of HPS.
    pub hps: f64,
    /// Calls natively.
    pub native_calls: u64,
    /// Calls in the simulation.
    pub simulated_calls: u64,
}

/// Everything about one program.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Comparison {
    /// The program.
    pub program: String,
    /// Instruction set of the simulated form.
    pub isa: &'static str,
    /// Where its simulated executable comes from.
    pub origin: Origin,
    /// Whether both printed the same.
    pub same_output: bool,
    /// Calls.
    pub calls: CallComparison,
    /// Calls by caller and callee.
    pub call_graph: GraphComparison,
    /// How far samples of observers are apart; `None` if none were compared.
    pub periods: Option<PeriodComparison>,
    /// Comparison of the collectors of calls on both sides.
    pub collectors: Vec<CollectorComparison>,
    /// Time; `None` if the native run could not be observed.
    pub time: Option<TimeComparison>,
    /// Overlap of HPS's method profile with the exhaustive one, both simulated.
    pub hps_accuracy: f64,
    /// Functions, those with the most time first.
    pub functions: Vec<FunctionRow>,
    /// Samples that say what the native program was in.
    pub samples: u64,
    /// Mean cycles from sample to sample.
    pub mean_period_cycles: f64,
    /// Native runs.
    pub runs: usize,
    /// Seconds of an instrumented native run, median.
    pub native_seconds: f64,
    /// Instructions in the simulation.
    pub instructions: u64,
    /// Cycles in the simulation.
    pub cycles: Option<u64>,
    /// Cycles of the instrumented program in the simulation.
    pub instrumented_cycles: Option<u64>,
    /// Instructions for each cycle in the simulation.
    pub simulated_ipc: Option<f64>,
    /// Instructions that the native processor counted in user mode, hooks included, median over the
    /// runs; `None` without a performance monitoring unit.
    pub native_instructions: Option<f64>,
    /// Native instructions for each cycle: least, median and most of the runs.
    pub native_ipc: Option<[f64; 3]>,
    /// Why it counted nothing.
    pub native_counters_missing: Option<String>,
    /// Verdict in one line: what agrees and what does not.
    pub verdict: String,
}

/// The calls of the functions that were entered natively.
pub fn calls(native: &BTreeMap<String, u64>, simulated: &BTreeMap<String, u64>) -> CallComparison {
    let of_simulation = |name: &String| simulated.get(name).copied().unwrap_or(0);
    let mut differences: Vec<CallDifference> = native
        .iter()
        .map(|(function, &native)| CallDifference {
            function: function.clone(),
            native,
            simulated: of_simulation(function),
        })
        .filter(|d| d.native != d.simulated)
        .collect();
    differences.sort_by_key(|d| std::cmp::Reverse(d.native.abs_diff(d.simulated)));
    let both = |counts: &BTreeMap<String, u64>| -> Profile<String> {
        let named = native.keys().map(|name| (name.clone(), counts.get(name)));
        named
            .map(|(name, n)| (name, n.copied().unwrap_or(0)))
            .collect()
    };
    let (a, b) = (both(native), both(simulated));
    CallComparison {
        functions: native.len(),
        equal: native.len() - differences.len(),
        native: a.total(),
        simulated: b.total(),
        overlap: overlap_without_cut(&a, &b),
        differences,
    }
}

/// The part of a profile that speaks of these functions.
fn only(profile: &Profile<String>, names: &BTreeSet<String>) -> Profile<String> {
    let kept = profile.iter().filter(|(name, _)| names.contains(*name));
    kept.map(|(name, weight)| (name.clone(), weight)).collect()
}

/// Overlaps of native time with each simulated measure.
pub fn times(
    native: &Times,
    functional: &Functional,
    timed: &Pipeline,
    samples: Option<&Profile<String>>,
    observed: &BTreeSet<String>,
) -> TimeComparison {
    let with = |profile: &Profile<String>| overlap_without_cut(&native.shares, profile);
    TimeComparison {
        instrumented_cycles: timed.instrumented.as_ref().map(|t| with(&t.slots)),
        cycles: timed.plain.as_ref().map(|t| with(&t.slots)),
        observed: samples.map(with),
        instructions: with(&functional.instructions),
        exhaustive: with(&functional.events),
        hps: with(&only(&functional.sampled, observed)),
        native_spread: native.spread,
    }
}

/// Every function with its shares, most native time first (most cycles or instructions without it).
pub fn functions(
    native_calls: &BTreeMap<String, u64>,
    native: Option<&Times>,
    functional: &Functional,
    timed: &Pipeline,
    samples: Option<&Profile<String>>,
) -> Vec<FunctionRow> {
    let share = |timed: &Option<Timed>, name| timed.as_ref().map(|t| t.slots.share(name));
    let sampled = {
        let observed = native_calls.keys().cloned().collect();
        only(&functional.sampled, &observed)
    };
    let mut rows: Vec<FunctionRow> = native_calls
        .iter()
        .map(|(name, &calls)| FunctionRow {
            function: name.clone(),
            native_time: native.map(|n| n.shares.share(name)),
            instrumented_cycles: share(&timed.instrumented, name),
            cycles: share(&timed.plain, name),
            observed: samples.map(|samples| samples.share(name)),
            instructions: functional.instructions.share(name),
            exhaustive: functional.events.share(name),
            hps: sampled.share(name),
            native_calls: calls,
            simulated_calls: functional.calls.get(name).copied().unwrap_or(0),
        })
        .collect();
    let weight = |row: &FunctionRow| row.native_time.unwrap_or(simulated_time(row));
    rows.sort_by(|a, b| weight(b).total_cmp(&weight(a)));
    rows
}

/// Verdict in one line: what agrees and what does not.
pub fn verdict(
    same_output: bool,
    origin: Origin,
    calls: &CallComparison,
    time: Option<&TimeComparison>,
    functions: &[FunctionRow],
) -> String {
    let output = if same_output {
        "same output"
    } else {
        "DIFFERENT output"
    };
    let mut parts = vec![output.to_owned(), said_of_calls(calls, origin)];
    if let Some(time) = time {
        let (measure, overlap) = match (time.instrumented_cycles, time.cycles) {
            (Some(cycles), _) => ("cycles", cycles),
            (None, Some(cycles)) => ("cycles without hooks", cycles),
            (None, None) => ("instructions", time.instructions),
        };
        let mut text = format!("time overlaps {measure} by {:.1}%", 100.0 * overlap);
        if let Some((row, native, simulated)) = widest(functions) {
            text += &format!(
                ", farthest apart in {} ({:.1}% natively, {:.1}% simulated)",
                row.function,
                100.0 * native,
                100.0 * simulated
            );
        }
        parts.push(text);
    }
    parts.join("; ")
}

fn said_of_calls(calls: &CallComparison, origin: Origin) -> String {
    if calls.differences.is_empty() {
        return format!(
            "all {} calls of {} functions agree",
            calls.native, calls.functions
        );
    }
    let fewer = calls.differences.iter().filter(|d| d.simulated < d.native);
    let fewer = fewer.count();
    let more = calls.differences.len() - fewer;
    let mut text = format!(
        "calls of {} of {} functions agree",
        calls.equal, calls.functions
    );
    if fewer > 0 {
        text += &format!(", {fewer} called less often in the simulation");
        if origin == Origin::Image {
            text += " (inlined there)";
        }
    }
    if more > 0 {
        text += &format!(", {more} more often");
    }
    if let Some(first) = calls.differences.first() {
        text += &format!(
            " (most: {}, {} natively and {} simulated)",
            first.function, first.native, first.simulated
        );
    }
    text
}

/// The best that the simulation has to compare with native time.
fn simulated_time(row: &FunctionRow) -> f64 {
    row.instrumented_cycles
        .or(row.cycles)
        .unwrap_or(row.instructions)
}

/// The function whose shares of time lie farthest apart.
fn widest(functions: &[FunctionRow]) -> Option<(&FunctionRow, f64, f64)> {
    functions
        .iter()
        .filter_map(|row| Some((row, row.native_time?, simulated_time(row))))
        .max_by(|a, b| (a.1 - a.2).abs().total_cmp(&(b.1 - b.2).abs()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(members: &[(&str, u64)]) -> BTreeMap<String, u64> {
        members.iter().map(|(n, c)| ((*n).to_owned(), *c)).collect()
    }

    #[test]
    fn calls_are_compared_by_name() {
        let native = counts(&[("a", 10), ("b", 30), ("c", 60)]);
        let simulated = counts(&[("a", 10), ("b", 20), ("elsewhere", 5)]);
        let seen = calls(&native, &simulated);
        assert_eq!((seen.functions, seen.equal), (3, 1));
        assert_eq!((seen.native, seen.simulated), (100, 30));
        assert_eq!(seen.differences[0].function, "c");
        assert!((seen.overlap - (0.1 + 0.3)).abs() < 1e-12, "{seen:?}");
        let said = said_of_calls(&seen, Origin::Image);
        assert_eq!(
            said,
            "calls of 1 of 3 functions agree, 2 called less often in the simulation (inlined there) \
             (most: c, 60 natively and 0 simulated)"
        );
        let same = calls(&native, &native);
        assert_eq!((same.equal, same.overlap), (3, 1.0));
        assert_eq!(
            said_of_calls(&same, Origin::Rebuilt),
            "all 100 calls of 3 functions agree"
        );
    }

    #[test]
    fn the_verdict_names_the_widest_gap() {
        let row = |name: &str, native, cycles| FunctionRow {
            function: name.to_owned(),
            native_time: Some(native),
            instrumented_cycles: Some(cycles),
            cycles: Some(0.0),
            observed: None,
            instructions: 0.0,
            exhaustive: 0.0,
            hps: 0.0,
            native_calls: 1,
            simulated_calls: 1,
        };
        let rows = [row("a", 0.5, 0.45), row("b", 0.3, 0.4), row("c", 0.2, 0.15)];
        let time = TimeComparison {
            instrumented_cycles: Some(0.9),
            cycles: Some(0.85),
            observed: None,
            instructions: 0.8,
            exhaustive: 0.7,
            hps: 0.6,
            native_spread: 0.01,
        };
        let one = counts(&[("a", 1), ("b", 1), ("c", 1)]);
        let said = verdict(
            true,
            Origin::Rebuilt,
            &calls(&one, &one),
            Some(&time),
            &rows,
        );
        assert_eq!(
            said,
            "same output; all 3 calls of 3 functions agree; time overlaps cycles by 90.0%, farthest \
             apart in b (30.0% natively, 40.0% simulated)"
        );
    }
}
