//! Means over programs with what they say of other programs.

use hps_profile::{Summary, summarize};
use schemars::JsonSchema;
use serde::Serialize;

use crate::estimate::bootstrap;

/// Programs from which on a mean has an interval. Fewer say too little of others: their values are shown.
const ENOUGH: usize = 4;

/// A mean over programs with its spread; of one program its own number.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Mean {
    /// The mean.
    pub mean: f64,
    /// The standard deviation over programs; of one program over the phases of the period, or over its runs. None of a single
    /// value.
    pub deviation: Option<f64>,
    /// The 95% interval of the mean: over programs by the bootstrap, from four on; of one program over its phases or runs by
    /// Student's t.
    pub interval: Option<(f64, f64)>,
    /// The smallest value.
    pub low: f64,
    /// The greatest value.
    pub high: f64,
    /// The number of programs.
    pub programs: usize,
}

/// A number of one program: its mean over runs or phases, with their deviation and half the width of its 95% interval.
#[derive(Clone, Copy, Debug)]
pub(super) struct OfProgram {
    pub value: f64,
    pub deviation: Option<f64>,
    pub half_width: Option<f64>,
}

impl OfProgram {
    /// A number over several runs.
    pub fn over(runs: &[f64]) -> OfProgram {
        let Summary {
            mean,
            standard_deviation,
            half_width,
            ..
        } = summarize(runs);
        OfProgram {
            value: mean,
            deviation: standard_deviation,
            half_width,
        }
    }
}

impl Mean {
    /// The mean over programs.
    pub(super) fn over(programs: &[OfProgram]) -> Mean {
        let values: Vec<f64> = programs.iter().map(|p| p.value).collect();
        let summary = summarize(&values);
        let fold = |first, by: fn(f64, f64) -> f64| values.iter().copied().fold(first, by);
        let (deviation, interval) = match programs {
            [one] => {
                let ends = |half| (one.value - half, one.value + half);
                (one.deviation, one.half_width.map(ends))
            }
            _ => (summary.standard_deviation, over_programs(&values)),
        };
        Mean {
            mean: summary.mean,
            deviation,
            interval,
            low: fold(f64::INFINITY, f64::min),
            high: fold(f64::NEG_INFINITY, f64::max),
            programs: values.len(),
        }
    }

    /// The mean over programs of one value each.
    pub(super) fn of_values(values: &[f64]) -> Mean {
        let programs = values.iter().map(|value| OfProgram::over(&[*value]));
        Mean::over(&programs.collect::<Vec<_>>())
    }

    /// Half the width of the interval.
    #[must_use]
    pub fn half_width(&self) -> Option<f64> {
        self.interval.map(|(low, high)| (high - low) / 2.0)
    }

    /// The values of two or three programs, which have no interval.
    fn few(&self) -> Vec<f64> {
        match self.programs {
            2 => vec![self.low, self.high],
            3 => vec![self.low, 3.0 * self.mean - self.low - self.high, self.high],
            _ => Vec::new(),
        }
    }
}

/// The interval of a mean over programs: which programs there are is chance.
fn over_programs(values: &[f64]) -> Option<(f64, f64)> {
    let of = |drawn: &[usize]| drawn.iter().map(|&at| values[at]).sum::<f64>() / drawn.len() as f64;
    (values.len() >= ENOUGH).then(|| bootstrap(values.len(), of))
}

/// A mean in percent, for people: behind it its interval in parentheses, or in brackets the values of fewer than four programs.
/// A dash if there is none.
#[must_use]
pub fn in_percent(mean: Option<&Mean>) -> String {
    let Some(mean) = mean else {
        return "–".to_string();
    };
    let number = |value: f64| format!("{:.2}", 100.0 * value);
    let values: Vec<String> = mean.few().into_iter().map(number).collect();
    let spread = match mean.interval {
        Some((low, high)) => format!(" ({}–{})", number(low), number(high)),
        None if values.is_empty() => String::new(),
        None => format!(" [{}]", values.join(", ")),
    };
    number(mean.mean) + &spread
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_programs_show_their_values_and_more_an_interval() {
        assert_eq!(in_percent(Some(&Mean::of_values(&[0.1]))), "10.00");
        assert_eq!(
            in_percent(Some(&Mean::of_values(&[0.3, 0.1]))),
            "20.00 [10.00, 30.00]"
        );
        assert_eq!(
            in_percent(Some(&Mean::of_values(&[0.3, 0.1, 0.11]))),
            "17.00 [10.00, 11.00, 30.00]"
        );
        let four = Mean::of_values(&[0.1, 0.1, 0.1, 0.5]);
        let (low, high) = four.interval.expect("four programs");
        // All draws without the fourth are 10%; with all four it would be 50%, once in 256 draws.
        assert!(low == 0.1 && high > 0.3 && high <= 0.5, "{four:?}");
        assert_eq!(in_percent(None), "–");
    }

    #[test]
    fn the_interval_of_one_program_is_over_its_runs() {
        // t(0.975, 2) = 4.302653; the deviation of 1, 2, 3 is 1.
        let one = Mean::over(&[OfProgram::over(&[0.01, 0.02, 0.03])]);
        let half = one.half_width().expect("three runs");
        assert!(
            (half - 0.01 * 4.302_653 / 3f64.sqrt()).abs() < 1e-7,
            "{half}"
        );
        assert_eq!((one.programs, one.low, one.high), (1, 0.02, 0.02));
    }
}
