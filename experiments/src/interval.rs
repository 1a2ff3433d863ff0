//! Confidence intervals.

use hps_profile::{half_width, summarize};
use serde::{Deserialize, Serialize};

/// Values that a regression wants for each number that it rests on.
const PER_NUMBER: usize = 10;

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

    /// The interval of the mean over a whole of which `values` are an independent sample, by regression (Cochran,
    /// Sampling Techniques, chapter 7). Each value comes with `known` numbers, whose means over the whole are `means`.
    /// The part of the values that the numbers explain is no uncertainty. The variance is the larger one of those with even
    /// and with uneven residuals. With fewer than 10 values for each number the
    /// interval is that of [`of_mean`](Self::of_mean), since a regression on few values underestimates its error. It is
    /// also [`of_mean`](Self::of_mean) where that interval is narrower: then the means lie too far from the sample.
    #[must_use]
    pub fn of_regression<const K: usize>(
        values: &[f64],
        known: &[[f64; K]],
        means: [f64; K],
    ) -> Interval {
        let count = values.len() as f64;
        let plain = Interval::of_mean(values.iter().copied());
        if values.len() < PER_NUMBER * K || values.len() != known.len() {
            return plain;
        }
        let mean = values.iter().sum::<f64>() / count;
        let centre: [f64; K] =
            std::array::from_fn(|i| known.iter().map(|x| x[i]).sum::<f64>() / count);
        let apart = |x: &[f64; K]| -> [f64; K] { std::array::from_fn(|i| x[i] - centre[i]) };
        let mut squares = [[0.0; K]; K];
        let mut products = [0.0; K];
        for (value, x) in values.iter().zip(known) {
            let x = apart(x);
            for i in 0..K {
                products[i] += x[i] * (value - mean);
                for j in 0..K {
                    squares[i][j] += x[i] * x[j];
                }
            }
        }
        let ahead = apart(&means);
        let (slopes, used) = solve(squares, products);
        let (leverages, _) = solve(squares, ahead);
        let dot = |a: &[f64; K], b: &[f64; K]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let residuals = values
            .iter()
            .zip(known)
            .map(|(value, x)| value - mean - dot(&slopes, &apart(x)));
        let freedom = count - 1.0 - used as f64;
        let variance = residuals.map(|r| r * r).sum::<f64>() / freedom;
        let even = variance * (1.0 / count + dot(&leverages, &ahead));
        // Units with many events also vary more, and a few of them draw the line to themselves. So each counts with its
        // own residual, as it would be without the unit (HC3 of MacKinnon and White, Journal of Econometrics 29, 1985).
        let own: f64 = (values.iter().zip(known))
            .map(|(value, x)| {
                let x = apart(x);
                let residual = value - mean - dot(&slopes, &x);
                let pull = 1.0 / count + dot(&solve(squares, x).0, &x);
                let weight = 1.0 / count + dot(&leverages, &x);
                (weight * residual / (1.0 - pull).max(f64::EPSILON)).powi(2)
            })
            .sum();
        let spread = even.max(own).sqrt();
        let half_width = half_width(spread, freedom).unwrap_or(f64::INFINITY);
        if half_width > plain.half_width {
            return plain;
        }
        Interval {
            mean: mean + dot(&slopes, &ahead),
            half_width,
        }
    }

    /// The interval of `Σcost / Σbase` over a whole of which `units` are a sample and whose mean `extra` is known:
    /// the regression estimate of the mean cost over the mean base, with its linearised variance (Cochran,
    /// Sampling Techniques, chapters 6 and 7). Only units with extras have costs, so the number of these units
    /// gives the degrees of freedom.
    #[must_use]
    pub fn of_overhead(units: &[PairedUnit], mean_extra: f64) -> Interval {
        let count = units.len() as f64;
        let mean = |of: fn(&PairedUnit) -> f64| units.iter().map(of).sum::<f64>() / count;
        let (base, cost, extra) = (mean(|u| u.base), mean(|u| u.cost), mean(|u| u.extra));
        let sum = |of: &dyn Fn(&PairedUnit) -> f64| units.iter().map(of).sum::<f64>();
        let squares = sum(&|u| (u.extra - extra).powi(2));
        let products = sum(&|u| (u.extra - extra) * (u.cost - cost));
        // If all units have equal extras, there is nothing to correct.
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
        let half_width = half_width((variance / count).sqrt(), freedom)
            .map_or(f64::INFINITY, |half_width| half_width / base);
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

/// Solves the normal equations of a regression by elimination, and says for how many numbers: one that follows from
/// those before it, or never changes, gets the slope 0.
fn solve<const K: usize>(mut squares: [[f64; K]; K], mut products: [f64; K]) -> ([f64; K], usize) {
    const FOLLOWS: f64 = 1e-9;
    let whole: [f64; K] = std::array::from_fn(|i| squares[i][i]);
    let mut used = [false; K];
    for i in 0..K {
        used[i] = squares[i][i] > FOLLOWS * whole[i];
        if !used[i] {
            continue;
        }
        for j in (0..K).filter(|&j| j != i) {
            let factor = squares[j][i] / squares[i][i];
            let row = squares[i];
            for (value, of_row) in squares[j].iter_mut().zip(row) {
                *value -= factor * of_row;
            }
            products[j] -= factor * products[i];
        }
    }
    let slope = |i: usize| {
        if used[i] {
            products[i] / squares[i][i]
        } else {
            0.0
        }
    };
    (
        std::array::from_fn(slope),
        used.iter().filter(|&&used| used).count(),
    )
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
    fn what_is_known_of_the_whole_is_no_uncertainty() {
        // value = 2 + 3a - b, of units whose a and b are not those of the whole. The third number never changes, the
        // fourth follows from the first.
        let known: Vec<[f64; 4]> = (0..60)
            .map(|i| {
                let (a, b) = (f64::from(i % 7), f64::from(i * i % 11));
                [a, b, 5.0, 2.0 * a + 1.0]
            })
            .collect();
        let values: Vec<f64> = known.iter().map(|x| 2.0 + 3.0 * x[0] - x[1]).collect();
        let interval = Interval::of_regression(&values, &known, [10.0, 1.0, 5.0, 21.0]);
        assert!((interval.mean - 31.0).abs() < 1e-9, "{interval:?}");
        assert!(interval.half_width < 1e-6, "{interval:?}");
    }

    #[test]
    fn numbers_that_say_nothing_leave_the_mean() {
        let values: Vec<f64> = (0..50).map(|i| f64::from(i * 37 % 50)).collect();
        let known = vec![[4.0]; 50];
        let regression = Interval::of_regression(&values, &known, [4.0]);
        let mean = Interval::of_mean(values.iter().copied());
        assert_eq!(regression, mean);
        // Too far away for one, from values that nearly follow from it.
        let known: Vec<[f64; 1]> = values
            .iter()
            .map(|v| [v + 3.0 * noise(*v as u64)])
            .collect();
        let far = Interval::of_regression(&values, &known, [1e4]);
        assert_eq!(far, mean);
        // Too few for a regression.
        let few = Interval::of_regression(&values[..9], &known[..9], [25.0]);
        assert_eq!(few, Interval::of_mean(values[..9].iter().copied()));
    }

    /// Noise that is the same in every run (SplitMix64), in -1..1.
    fn noise(seed: u64) -> f64 {
        let mut z = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    }

    #[test]
    fn intervals_of_regressions_hold_the_mean_as_often_as_they_say() {
        // 400 samples of 100 from a whole whose value is 4x + noise, x in -1..1, so that both means are 0.
        let mut held = 0;
        let (mut wide, mut narrow) = (0.0, 0.0);
        for sample in 0..400_u64 {
            let x = |i: u64| noise(sample * 1000 + 2 * i);
            let known: Vec<[f64; 1]> = (0..100).map(|i| [x(i)]).collect();
            let values: Vec<f64> = (0..100)
                .map(|i| 4.0 * x(i) + noise(sample * 1000 + 2 * i + 1))
                .collect();
            let regression = Interval::of_regression(&values, &known, [0.0]);
            held += u32::from(regression.contains(0.0));
            narrow += regression.half_width;
            wide += Interval::of_mean(values.iter().copied()).half_width;
        }
        // 95% of 400 is 380, with a standard deviation of 4.4.
        assert!((365..=395).contains(&held), "{held} of 400");
        assert!(narrow * 3.5 < wide, "{narrow} and {wide}");
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
