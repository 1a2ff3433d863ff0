//! Means with confidence intervals.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Two-sided 95% quantiles of Student's t for 1 to 30 degrees of freedom.
const T95: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
    2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056,
    2.052, 2.048, 2.045, 2.042,
];

/// A mean of several runs.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Estimate {
    /// The mean.
    pub mean: f64,
    /// Half the width of its 95% confidence interval; `null` in files for fewer than two runs.
    pub half_width: Option<f64>,
    /// The middle run, which a disturbed one does not move.
    pub median: f64,
    /// The smallest.
    pub min: f64,
    /// How many runs.
    pub runs: usize,
}

impl Estimate {
    /// The estimate from these runs.
    #[must_use]
    pub fn of(values: &[f64]) -> Self {
        let runs = values.len();
        if runs == 0 {
            return Self::default();
        }
        let mean = values.iter().sum::<f64>() / runs as f64;
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let median = (sorted[(runs - 1) / 2] + sorted[runs / 2]) / 2.0;
        let half_width = (runs > 1).then(|| {
            let squares: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
            let error = (squares / (runs - 1) as f64 / runs as f64).sqrt();
            T95.get(runs - 2).copied().unwrap_or(1.96) * error
        });
        Self {
            mean,
            half_width,
            median,
            min: sorted[0],
            runs,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_students() {
        let five = Estimate::of(&[10.0, 12.0, 9.0, 11.0, 13.0]);
        assert_eq!((five.mean, five.median, five.min), (11.0, 11.0, 9.0));
        // s = sqrt(2.5), s / sqrt(5) = 0.70711, times 2.776.
        assert!((five.half_width.unwrap() - 1.96293).abs() < 1e-4);
        assert_eq!(Estimate::of(&[4.0]).half_width, None);
        assert_eq!(Estimate::of(&[]).runs, 0);
    }
}
