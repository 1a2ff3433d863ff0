//! Profilers against each other: who is ahead of whom, and what lies inside noise.
//!
//! Profilers that watch do so at the same phases of their periods, so that their errors are compared phase by phase, each
//! in the mean over programs. Profilers at their cost have one run for each program, and are compared program by program.
//! Differences whose 95% interval holds 0 are draws.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::board::{Entry, Form, LEVELS, budgets};
use crate::estimate::Estimate;
use crate::measurement::Measurement;

/// Measure of a watching profiler's error at one phase, whose number is `run`; `x` says how many samples were asked for.
pub(super) const PHASE_ERROR: &str = "phase_error_ratio";

/// Two profilers that follow one another in the order of their errors.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Pair {
    /// How both were run.
    pub form: Form,
    /// The budget, if both were to spend one, as a ratio.
    pub budget: Option<f64>,
    /// The level, or the kind of profile.
    pub level: String,
    /// The one with the smaller error.
    pub ahead: String,
    /// The next one.
    pub behind: String,
    /// Error of the first.
    pub error: f64,
    /// By how much the error of the second is greater, in the mean over pairs.
    pub difference: f64,
    /// Half the width of its 95% interval by Student's t; none of a single pair.
    pub half_width: Option<f64>,
    /// Phases, or programs, that were compared.
    pub pairs: usize,
    /// The interval holds 0.
    pub is_draw: bool,
}

/// The profilers of a board in the order of their errors, each against the next one.
pub(super) fn pairs(entries: &[Entry], measurements: &[&Measurement]) -> Vec<Pair> {
    let mut found = Vec::new();
    let watching = || entries.iter().filter(|e| e.form == Form::Watching);
    for level in LEVELS {
        let errors = watching().map(|e| (e.name.clone(), by_phase(measurements, &e.name, level)));
        found.extend(in_order((Form::Watching, None), level, errors.collect()));
    }
    let at_cost = || entries.iter().filter(|e| e.form != Form::Watching);
    let mut kinds: Vec<_> = entries.iter().map(|e| e.kind).collect();
    kinds.sort_unstable();
    kinds.dedup();
    for budget in budgets(entries) {
        for &kind in &kinds {
            let (form, levels) = match kind {
                None => (Form::Collected, LEVELS.to_vec()),
                Some(kind) => (Form::Bursts, vec![kind.name()]),
            };
            for level in levels {
                let of_group = at_cost().filter(|e| (e.kind, e.budget) == (kind, budget));
                let errors = of_group.map(|e| (e.name.clone(), by_program(e, level)));
                found.extend(in_order((form, budget), level, errors.collect()));
            }
        }
    }
    found
}

/// Errors that go together by what they were measured at.
type Errors = BTreeMap<String, f64>;

/// The mean error over programs at each phase with most samples, of the programs that have all.
fn by_phase(measurements: &[&Measurement], profiler: &str, level: &str) -> Errors {
    let mut sums: BTreeMap<String, (f64, f64)> = BTreeMap::new();
    let wanted =
        |m: &&&Measurement| m.scheme == profiler && m.measure == PHASE_ERROR && m.setting == level;
    let wanted = || measurements.iter().filter(wanted);
    let most_samples = wanted().filter_map(|m| m.x).fold(0.0, f64::max);
    for m in wanted().filter(|m| m.x == Some(most_samples)) {
        if let Some(phase) = m.run {
            let (sum, count) = sums.entry(phase.to_string()).or_default();
            *sum += m.value;
            *count += 1.0;
        }
    }
    let most = sums.values().map(|s| s.1).fold(0.0, f64::max);
    let whole = sums.into_iter().filter(|(_, (_, count))| *count == most);
    whole
        .map(|(phase, (sum, count))| (phase, sum / count))
        .collect()
}

fn by_program(entry: &Entry, level: &str) -> Errors {
    let of_program = entry.by_program.iter();
    of_program
        .filter_map(|(program, figures)| Some((program.clone(), figures.errors.get(level)?.mean)))
        .collect()
}

fn in_order(
    (form, budget): (Form, Option<f64>),
    level: &str,
    all: Vec<(String, Errors)>,
) -> Vec<Pair> {
    let mean = |of: &Errors| of.values().sum::<f64>() / of.len() as f64;
    let mut all: Vec<(String, Errors)> = all.into_iter().filter(|(_, of)| !of.is_empty()).collect();
    all.sort_by(|a, b| mean(&a.1).total_cmp(&mean(&b.1)));
    let pair = |two: &[(String, Errors)]| {
        let [(ahead, first), (behind, second)] = two else {
            return None;
        };
        let both = first
            .iter()
            .filter_map(|(at, a)| Some((a, second.get(at)?)));
        let differences: Vec<f64> = both.map(|(a, b)| b - a).collect();
        let estimate = Estimate::over(&differences)?;
        Some(Pair {
            form,
            budget,
            level: level.to_string(),
            ahead: ahead.clone(),
            behind: behind.clone(),
            error: mean(first),
            difference: estimate.mean,
            half_width: estimate.half_width,
            pairs: differences.len(),
            is_draw: estimate.against(0.0) == Ordering::Equal,
        })
    };
    all.windows(2).filter_map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn errors(of: [f64; 4]) -> Errors {
        (0..4).map(|at| (at.to_string(), of[at])).collect()
    }

    #[test]
    fn pairs_tell_apart_what_spreads_hide() {
        // Phases move both by ten times as much as they differ: 0.02 at each phase, but for 0.001.
        let noise = [0.1, 0.3, 0.2, 0.4];
        let shifted = |by: [f64; 4]| errors(std::array::from_fn(|i| noise[i] + by[i]));
        let all = vec![
            ("c".to_string(), shifted([0.1, -0.02, 0.09, -0.01])),
            ("b".to_string(), shifted([0.02, 0.021, 0.02, 0.019])),
            ("a".to_string(), shifted([0.0; 4])),
        ];
        let found = in_order((Form::Watching, None), "function", all);
        let verdicts: Vec<_> = (found.iter())
            .map(|p| (p.ahead.as_str(), p.behind.as_str(), p.is_draw, p.pairs))
            .collect();
        assert_eq!(verdicts, [("a", "b", false, 4), ("b", "c", true, 4)]);
        assert!(
            (found[0].difference - 0.02).abs() < 1e-12 && (found[0].error - 0.25).abs() < 1e-12
        );
        // Deviation sqrt(2 × 0.001² / 3) = 0.000816, t(0.975, 3) = 3.182446, over the root of 4.
        let half = found[0].half_width.expect("four phases");
        assert!(
            (half - 3.182_446 * 0.000_816_497 / 2.0).abs() < 1e-7,
            "{half}"
        );
    }

    #[test]
    fn what_has_no_errors_is_not_compared() {
        let all = vec![
            ("a".to_string(), errors([0.1; 4])),
            ("b".to_string(), Errors::new()),
        ];
        assert!(in_order((Form::Watching, None), "line", all).is_empty());
    }
}
