//! The cost of a profile of a wanted accuracy (HPS report, section 6.2, Figure 8).

use std::collections::BTreeSet;

use hps_profile::ProfileKind;

use super::accuracy::{near_published, overhead, timed};
use super::statement::{Statement, as_text};
use super::{Data, Section, Spread, between};
use crate::estimate::{Estimate, bootstrap, mean_by_phase};

/// A point of a line of means: accuracies by phase, and overhead.
struct OnLine {
    accuracies: Vec<f64>,
    overhead: f64,
}

/// Means over the programs that have accuracy and overhead, from the highest frequency on.
fn line(data: &Data<'_>, kind: ProfileKind) -> Vec<OnLine> {
    let frequencies: BTreeSet<u64> = data.rows.iter().map(|row| row.one_in).collect();
    let mean = |one_in: u64| {
        let both =
            || timed(data, std::slice::from_ref(&kind), one_in).filter(|r| r.accuracy.is_some());
        Some(OnLine {
            overhead: Spread::of(both().filter_map(overhead))?.mean,
            accuracies: mean_by_phase(both()),
        })
    };
    frequencies.into_iter().filter_map(mean).collect()
}

/// Where a line passes an accuracy.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Price {
    /// At this overhead.
    At(f64),
    /// The cheapest point, at this overhead, is above it.
    AtMost(f64),
    /// All points are below it.
    Never,
}

/// The overhead at which a line of accuracies and overheads, from the highest frequency on, passes an accuracy. Between
/// two points overheads are interpolated as [`between`] does.
fn price(line: &[(f64, f64)], accuracy: f64) -> Price {
    let Some(above) = line.iter().rposition(|point| point.0 >= accuracy) else {
        return Price::Never;
    };
    let (high, cost) = line[above];
    match line.get(above + 1) {
        None => Price::AtMost(cost),
        Some(&(low, cheaper)) => Price::At(between(cheaper, cost, (accuracy - low) / (high - low))),
    }
}

/// The price on the line of these phases' means.
fn price_of_phases(line: &[OnLine], phases: &[usize], accuracy: f64) -> Price {
    let mean = |of: &OnLine| {
        let at = |&phase: &usize| {
            of.accuracies
                .get(phase)
                .copied()
                .unwrap_or(of.accuracies[0])
        };
        phases.iter().map(at).sum::<f64>() / phases.len() as f64
    };
    let line: Vec<(f64, f64)> = line.iter().map(|of| (mean(of), of.overhead)).collect();
    price(&line, accuracy)
}

pub(super) fn ninety(data: &Data<'_>, kind: ProfileKind) -> Statement {
    const WANTED: f64 = 0.9;
    const PUBLISHED: f64 = 0.002;
    let line = line(data, kind);
    let phases = line.iter().map(|of| of.accuracies.len()).max().unwrap_or(0);
    let best = line.first().and_then(|of| Estimate::over(&of.accuracies));
    let found = best.as_ref().map(|_| {
        let all: Vec<usize> = (0..phases).collect();
        price_of_phases(&line, &all, WANTED)
    });
    let draw = |drawn: &[usize]| match price_of_phases(&line, drawn, WANTED) {
        Price::At(cost) | Price::AtMost(cost) => cost,
        Price::Never => f64::INFINITY,
    };
    let (low, high) = match phases {
        0 | 1 => (f64::NAN, f64::NAN),
        _ => bootstrap(phases, draw),
    };
    let interval = match (low.is_finite(), high.is_finite()) {
        (true, true) => format!(" ({:.3} to {:.3}% over phases)", 100.0 * low, 100.0 * high),
        (true, false) => format!(" (from {:.3}% on, or not at all, over phases)", 100.0 * low),
        _ => " (of one phase)".to_string(),
    };
    let text = |cost: f64| format!("{:.3}%{interval}", 100.0 * cost);
    let number = |value: f64, half_width: f64, text: String| {
        as_text(Some((value, text))).with_interval(Some(half_width))
    };
    let cost = match found {
        None => as_text(None),
        Some(Price::At(cost)) => {
            // The wider side stands for both.
            let half = (cost - low).max(high - cost);
            number(cost, if half.is_nan() { 0.0 } else { half }, text(cost))
        }
        // The price lies between nothing and this.
        Some(Price::AtMost(cost)) => {
            number(cost / 2.0, cost / 2.0, format!("at most {}", text(cost)))
        }
        Some(Price::Never) => {
            let best = best.as_ref().map(Estimate::percent).unwrap_or_default();
            let text = format!("not reached: {best}% accurate at the highest frequency");
            number(0.0, 0.0, text)
        }
    };
    let statement = Statement::new(
        Section::Accuracy,
        format!("A {} profile that is 90% accurate costs about 0.2%", kind.title()),
        "about 0.2% (6.2, Figure 8)",
    )
    .over(
        "the overhead at which the line of means over programs (renormalized accuracy over phases against overhead, burst 1; \
         straight in the logarithm of the overhead) passes 90%, and 0 if it never does",
    )
    .is(cost)
    .here("{0}");
    match found {
        Some(Price::AtMost(_)) => near_published(statement, PUBLISHED, "it costs less"),
        _ => near_published(statement, PUBLISHED, "{1} times the published"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_price_of_an_accuracy_lies_on_the_line() {
        let line = [(0.98, 0.010), (0.94, 0.004), (0.86, 0.001), (0.5, 0.0005)];
        // Half of the way from 0.001 to 0.004 on a logarithmic scale.
        let Price::At(between) = price(&line, 0.9) else {
            panic!("between two points")
        };
        assert!((between - 0.002).abs() < 1e-12);
        assert_eq!(price(&line, 0.99), Price::Never);
        assert_eq!(price(&line, 0.4), Price::AtMost(0.0005));
    }
}
