//! Confidence intervals.

use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, StudentsT};

/// A timed unit with and without a collector.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PairedUnit {
    /// Cycles without.
    pub base: f64,
    /// Cycles that it takes more with one.
    pub cost: f64,
    /// Instructions that were put in.
    pub extra: f64,
}

/// A mean with its 95% confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// The mean.
    pub mean: f64,
    /// Half the width of the interval around it. Infinite with fewer than two values.
    pub half_width: f64,
}

impl Interval {
    /// Of the mean of independent values, by Student's t distribution.
    #[must_use]
    pub fn of_mean(values: impl ExactSizeIterator<Item = f64> + Clone) -> Interval {
        let count = values.len() as f64;
        let mean = values.clone().sum::<f64>() / count.max(1.0);
        let squares: f64 = values.map(|value| (value - mean).powi(2)).sum();
        let half_width = StudentsT::new(0.0, 1.0, count - 1.0).map_or(f64::INFINITY, |t| {
            t.inverse_cdf(0.975) * (squares / (count - 1.0) / count).sqrt()
        });
        Interval { mean, half_width }
    }

    /// Of `Σcost / Σbase` over a whole of which `units` are a part and whose mean `extra` is known: the
    /// regression estimate of the mean cost over the mean base, with its linearised variance (Cochran,
    /// Sampling Techniques, chapters 6 and 7). Costs come with extras, so what is known of them is known
    /// from the units that have any: they are the degrees of freedom.
    #[must_use]
    pub fn of_overhead(units: &[PairedUnit], mean_extra: f64) -> Interval {
        let count = units.len() as f64;
        let mean = |of: fn(&PairedUnit) -> f64| units.iter().map(of).sum::<f64>() / count;
        let (base, cost, extra) = (mean(|u| u.base), mean(|u| u.cost), mean(|u| u.extra));
        let sum = |of: &dyn Fn(&PairedUnit) -> f64| units.iter().map(of).sum::<f64>();
        let squares = sum(&|u| (u.extra - extra).powi(2));
        let products = sum(&|u| (u.extra - extra) * (u.cost - cost));
        // Where all have the same, or nothing, there is nothing to be corrected.
        let slope = if squares > 0.0 {
            products / squares
        } else {
            0.0
        };
        let ratio = (cost + slope * (mean_extra - extra)) / base;
        let residual =
            |u: &PairedUnit| (u.cost - cost) - slope * (u.extra - extra) - ratio * (u.base - base);
        let variance = sum(&|u| residual(u).powi(2)) / (count - 2.0);
        let informed = units.iter().filter(|u| u.extra > 0.0).count();
        let freedom = match informed {
            0 => count - 2.0,
            some => (some as f64 - 1.0).min(count - 2.0),
        };
        let half_width = StudentsT::new(0.0, 1.0, freedom).map_or(f64::INFINITY, |t| {
            t.inverse_cdf(0.975) * (variance / count).sqrt() / base
        });
        Interval {
            mean: ratio,
            half_width,
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

    fn unit(base: f64, cost: f64, extra: f64) -> PairedUnit {
        PairedUnit { base, cost, extra }
    }

    #[test]
    fn without_extras_an_overhead_is_a_ratio() {
        // Σcost/Σbase = 6/60; residuals 0, 1, -1; one degree of freedom: t(0.975, 1) = 12.7062.
        let units = [(10.0, 1.0), (20.0, 3.0), (30.0, 2.0)].map(|(b, c)| unit(b, c, 0.0));
        let interval = Interval::of_overhead(&units, 0.0);
        assert!((interval.mean - 0.1).abs() < 1e-12);
        let wanted = 12.706_205 * (2.0_f64 / 3.0).sqrt() / 20.0;
        assert!((interval.half_width - wanted).abs() < 1e-6, "{interval:?}");
    }

    #[test]
    fn what_extras_explain_is_no_uncertainty() {
        // Three cycles an extra instruction, of which the units have fewer than the whole.
        let units: Vec<_> = (0..12).map(|i| f64::from(i % 4)).collect();
        let units: Vec<_> = units.iter().map(|&x| unit(100.0, 3.0 * x, x)).collect();
        let interval = Interval::of_overhead(&units, 2.5);
        assert!((interval.mean - 3.0 * 2.5 / 100.0).abs() < 1e-12);
        assert!(interval.half_width < 1e-9, "{interval:?}");
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
