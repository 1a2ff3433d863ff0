//! Confidence intervals.

use hps_profile::summarize;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A mean with its 95% confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Interval {
    /// The mean.
    pub mean: f64,
    /// Half the width of the interval around it. Infinite with fewer than two values.
    pub half_width: f64,
}

impl Interval {
    /// The interval of the mean of independent values, by Student's t distribution.
    #[must_use]
    pub fn of_mean(values: impl ExactSizeIterator<Item = f64> + Clone) -> Interval {
        let values: Vec<f64> = values.collect();
        let summary = summarize(&values);
        Interval {
            mean: summary.mean,
            half_width: summary.half_width.unwrap_or(f64::INFINITY),
        }
    }

    /// Whether a value lies in the interval.
    #[must_use]
    pub fn contains(&self, value: f64) -> bool {
        (value - self.mean).abs() <= self.half_width
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_those_of_the_table() {
        // t(0.975, 4) = 2.776; the deviation of 1..=5 is 1.5811.
        let interval = Interval::of_mean([1.0, 2.0, 3.0, 4.0, 5.0].into_iter());
        assert!((interval.mean - 3.0).abs() < 1e-12);
        assert!((interval.half_width - 2.776_445 * 1.581_139 / 5f64.sqrt()).abs() < 1e-5);
        assert!(interval.contains(4.9) && !interval.contains(5.0));
    }

    #[test]
    fn one_value_says_nothing() {
        assert_eq!(
            Interval::of_mean([7.0].into_iter()).half_width,
            f64::INFINITY
        );
        assert_eq!(Interval::of_mean([].into_iter()).half_width, f64::INFINITY);
    }
}
