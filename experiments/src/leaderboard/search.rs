//! The search for the sampling point that costs what a budget allows.
//!
//! Overhead grows with the sampling rate, about in proportion to it. The search takes the rate at which a line through two
//! known points meets the budget, and halves the bracket where the line is a bad guide. What it asks for follows from what is
//! known alone, so that a run that was stopped asks for the same points again.

use std::ops::RangeInclusive;

use schemars::JsonSchema;
use serde::Serialize;

/// The least part of a budget that a profiler is to use.
const LEAST: f64 = 0.9;
/// The part of a budget that the search aims at.
const AIM: f64 = 0.96;
/// Points that are tried for each budget.
pub(super) const MOST: usize = 10;
/// Greatest step towards denser or sparser points, as a factor.
const STEP: f64 = 64.0;

/// A sampling point, one in so many events or a period in cycles, and its overhead in the mean over programs, as a ratio.
pub(super) type Tried = (u64, f64);

/// How the overhead of a point lies to the budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Fit {
    /// There is no budget.
    Free,
    /// From 90% of the budget to all of it.
    Spent,
    /// Less than 90% of the budget: the densest point costs no more.
    Densest,
    /// Less than 90% of the budget: of the points that were tried, denser ones cost more than the budget.
    Jumps,
    /// More than the budget: the sparsest point costs no less.
    Above,
}

impl Fit {
    /// The name in results.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Fit::Free => "free",
            Fit::Spent => "spent",
            Fit::Densest => "densest",
            Fit::Jumps => "jumps",
            Fit::Above => "above",
        }
    }

    /// The reason why a point uses less than its budget, or more; nothing if it uses it.
    #[must_use]
    pub const fn reason(self) -> &'static str {
        match self {
            Fit::Free | Fit::Spent => "",
            Fit::Densest => "the densest point costs no more",
            Fit::Jumps => "denser points tried cost too much",
            Fit::Above => "above the budget at every point",
        }
    }
}

/// The point of a profiler for a budget among those that were tried, and how it lies to the budget; `None` if none was.
pub(super) fn chosen(
    points: &RangeInclusive<u64>,
    tried: &[Tried],
    budget: f64,
) -> Option<(u64, Fit)> {
    let within = tried.iter().filter(|t| t.1 <= budget);
    let Some(most) = within.max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0))) else {
        let sparsest = tried.iter().max_by_key(|t| t.0)?;
        return Some((sparsest.0, Fit::Above));
    };
    let fit = match most {
        (_, overhead) if *overhead >= LEAST * budget => Fit::Spent,
        (point, _) if point == points.start() => Fit::Densest,
        _ => Fit::Jumps,
    };
    Some((most.0, fit))
}

/// The point to try next for a budget; `None` if the search is over, at the latest when `most` points were tried.
pub(super) fn next(
    points: &RangeInclusive<u64>,
    first: u64,
    (tried, most): (&[Tried], usize),
    budget: f64,
) -> Option<u64> {
    if tried.is_empty() {
        return Some(first.clamp(*points.start(), *points.end()));
    }
    let (_, fit) = chosen(points, tried, budget)?;
    if matches!(fit, Fit::Spent | Fit::Densest) || tried.len() >= most {
        return None;
    }
    let within = tried.iter().filter(|t| t.1 <= budget);
    let cheap = within.min_by_key(|t| t.0).copied();
    let denser = |t: &&Tried| cheap.is_none_or(|cheap| t.0 < cheap.0);
    let above = tried.iter().filter(|t| t.1 > budget).filter(denser);
    let dear = above.max_by_key(|t| t.0).copied();
    let wanted = match (dear, cheap) {
        (Some(dear), Some(cheap)) => between(dear, cheap, budget, tried.len())?,
        (None, Some(cheap)) => {
            let beside = tried.iter().filter(|t| t.0 > cheap.0);
            let wanted = beyond(cheap, beside.min_by_key(|t| t.0).copied(), budget);
            let point = cheap.0 as f64;
            (wanted.unwrap_or(0.0)).clamp(point / STEP, point / 1.1)
        }
        (Some(dear), None) => {
            let beside = tried.iter().filter(|t| t.0 < dear.0);
            let wanted = beyond(dear, beside.max_by_key(|t| t.0).copied(), budget);
            let point = dear.0 as f64;
            (wanted.unwrap_or(f64::MAX)).clamp(1.1 * point, STEP * point)
        }
        (None, None) => return None,
    };
    let wanted = (wanted.round() as u64).clamp(*points.start(), *points.end());
    (!tried.iter().any(|t| t.0 == wanted)).then_some(wanted)
}

/// The overhead without samples and what each sample costs, by a line through two points.
fn line(a: Tried, b: Tried) -> (f64, f64) {
    let (rate_a, rate_b) = (1.0 / a.0 as f64, 1.0 / b.0 as f64);
    let slope = (a.1 - b.1) / (rate_a - rate_b);
    (a.1 - slope * rate_a, slope)
}

/// The point where a line through the outermost point and the one beside it meets the budget: what is there without samples,
/// such as checks, is known from two. `None` if the line never does.
fn beyond(outermost: Tried, beside: Option<Tried>, budget: f64) -> Option<f64> {
    let (point, overhead) = outermost;
    let (floor, slope) = match beside {
        Some(beside) => line(beside, outermost),
        None => (0.0, overhead * point as f64),
    };
    let left = AIM * budget - floor;
    (slope > 0.0 && left > 0.0).then(|| slope / left)
}

/// A point between a neighbour that costs too much and one that costs too little; `None` if there is none.
fn between(dear: Tried, cheap: Tried, budget: f64, tries: usize) -> Option<f64> {
    let (low, high) = (dear.0 + 1, cheap.0.checked_sub(1)?);
    if low > high {
        return None;
    }
    let (floor, slope) = line(dear, cheap);
    let on_line = slope / (AIM * budget - floor);
    let middle = (dear.0 as f64 * cheap.0 as f64).sqrt();
    let wanted = match tries % 3 == 2 || !on_line.is_finite() {
        true => middle,
        false => on_line,
    };
    Some(wanted.clamp(low as f64, high as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    const POINTS: RangeInclusive<u64> = 2..=1_000_000;

    /// Searches a curve of overheads; gives what was tried and the choice.
    fn search(first: u64, budget: f64, curve: impl Fn(u64) -> f64) -> (Vec<Tried>, u64, Fit) {
        let mut tried = Vec::new();
        while let Some(point) = next(&POINTS, first, (&tried, MOST), budget) {
            assert!(POINTS.contains(&point), "{point}");
            assert!(tried.iter().all(|t: &Tried| t.0 != point), "{point} again");
            tried.push((point, curve(point)));
        }
        let (point, fit) = chosen(&POINTS, &tried, budget).expect("something was tried");
        (tried, point, fit)
    }

    #[test]
    fn what_grows_with_the_rate_is_found_within_a_tenth_of_the_budget() {
        for budget in [0.001, 0.005, 0.01, 0.05] {
            for first in [2, 100, 5000, 1_000_000] {
                // In proportion; with a basic overhead of half the least budget; less than in proportion; in steps.
                let curves: [&dyn Fn(u64) -> f64; 4] = [
                    &|n| 2.0 / n as f64,
                    &|n| 0.0005 + 5.0 / n as f64,
                    &|n| 0.3 * (n as f64).powf(-0.6),
                    &|n| (200.0 / n as f64 * 1e4).floor() / 1e4,
                ];
                for (at, curve) in curves.iter().enumerate() {
                    let (tried, point, fit) = search(first, budget, curve);
                    let overhead = curve(point);
                    assert_eq!(fit, Fit::Spent, "{at}: {budget} from {first}: {tried:?}");
                    assert!(overhead <= budget && overhead >= 0.9 * budget);
                }
            }
        }
    }

    #[test]
    fn a_budget_that_cannot_be_spent_is_told_with_its_reason() {
        // Checks that cost 3% whatever the rate.
        let (tried, point, fit) = search(100, 0.01, |n| 0.03 + 1.0 / n as f64);
        assert_eq!((point, fit), (*POINTS.end(), Fit::Above), "{tried:?}");
        // Next to nothing at the densest point.
        let (_, point, fit) = search(100, 0.01, |n| 0.001 / n as f64);
        assert_eq!((point, fit), (*POINTS.start(), Fit::Densest));
        // From 2% to 0.5% between two neighbours.
        let (tried, point, fit) = search(100, 0.01, |n| if n <= 777 { 0.02 } else { 0.005 });
        assert_eq!(fit, Fit::Jumps, "{tried:?}");
        assert!(point > 777);
    }

    #[test]
    fn overheads_that_rise_again_end_the_search() {
        // Caches make a sparser point dearer, and some cost less than nothing.
        let (tried, _, _) = search(100, 0.01, |n| 0.02 + 0.015 * (n as f64).ln().sin());
        assert!(tried.len() <= MOST);
        let (tried, _, fit) = search(100, 0.01, |n| -0.001 + 0.3 / (n as f64 + 40.0));
        assert!(
            tried.len() <= MOST && fit == Fit::Densest,
            "{tried:?} {fit:?}"
        );
    }
}
