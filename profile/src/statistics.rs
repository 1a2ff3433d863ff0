//! Means of repeated measurements and comparisons of pairs, with 95% intervals.

use std::cmp::Ordering;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, StudentsT};
use statrs::function::erf::erf;
use statrs::function::factorial::ln_binomial;

/// Mean, standard deviation and 95% interval of independent values.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Summary {
    /// The number of values.
    pub count: usize,
    /// The arithmetic mean; 0 without values.
    pub mean: f64,
    /// The standard deviation of a sample, with `count - 1` below the root. `None` with fewer than
    /// two values.
    pub standard_deviation: Option<f64>,
    /// Half the width of the 95% interval of the mean by Student's t distribution with `count - 1`
    /// degrees of freedom: the interval is `mean - half_width` to `mean + half_width`. `None` with
    /// fewer than two values, which say nothing about their spread.
    pub half_width: Option<f64>,
}

impl Summary {
    /// Whether the 95% interval holds `value`. With fewer than two values it holds everything.
    #[must_use]
    pub fn contains(&self, value: f64) -> bool {
        match self.half_width {
            Some(half_width) => (value - self.mean).abs() <= half_width,
            None => true,
        }
    }
}

/// Mean, standard deviation and the 95% interval of the mean. The interval assumes independent
/// values that are roughly normal, or many of them.
///
/// A value that is not finite makes the results not finite.
#[must_use]
pub fn summarize(values: &[f64]) -> Summary {
    let count = values.len() as f64;
    if values.len() < 2 {
        return Summary {
            count: values.len(),
            mean: values.first().copied().unwrap_or(0.0),
            standard_deviation: None,
            half_width: None,
        };
    }
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let standard_error = (squares / (count - 1.0) / count).sqrt();
    Summary {
        count: values.len(),
        mean,
        standard_deviation: Some((squares / (count - 1.0)).sqrt()),
        half_width: half_width(standard_error, count - 1.0),
    }
}

/// Half the width of the 95% interval around an estimate with this standard error, by Student's t distribution with so
/// many degrees of freedom. `None` without any.
#[must_use]
pub fn half_width(standard_error: f64, freedom: f64) -> Option<f64> {
    let t = StudentsT::new(0.0, 1.0, freedom).ok()?;
    Some(t.inverse_cdf(0.975) * standard_error)
}

/// Mean error `1 - overlap` of a profile of `samples` independent draws from a distribution: what an unbiased profiler
/// cannot beat but by drawing evenly. `shares` sum to 1.
///
/// The error is half the sum of the deviations of the shares. The mean deviation of a binomial count is De Moivre's
/// `2 (k + 1) C(n, k + 1) p^(k + 1) (1 - p)^(n - k)` with `k` the whole part of `n p`.
#[must_use]
pub fn error_of_draws(shares: impl Iterator<Item = f64>, samples: u64) -> f64 {
    let n = samples.max(1);
    let deviations = shares.filter(|p| *p > 0.0 && *p < 1.0).map(|p| {
        let k = ((n as f64 * p) as u64).min(n - 1);
        let ways = ln_binomial(n, k + 1);
        let chance = ways + (k + 1) as f64 * p.ln() + (n - k) as f64 * (-p).ln_1p();
        2.0 * (k + 1) as f64 * chance.exp() / n as f64
    });
    deviations.sum::<f64>() / 2.0
}

/// Mean error `1 - overlap` of a profile of `samples` independent draws from one distribution against another one: that of a
/// biased profiler. `shares` are the shares of each member in the truth and in the distribution drawn from.
#[must_use]
pub fn error_of_biased_draws(shares: impl Iterator<Item = (f64, f64)>, samples: u64) -> f64 {
    let n = samples.max(1) as f64;
    let deviations = shares.map(|(truth, drawn)| mean_deviation(n, drawn, truth));
    deviations.sum::<f64>() / 2.0
}

/// Variance of a count above which the count is taken to be normal; the mean deviation is then off by less than one part in
/// a thousand.
const NORMAL_VARIANCE: f64 = 400.0;

/// Chance of a count below which it and all less likely ones do not matter.
const NEGLIGIBLE: f64 = 1e-18;

/// Mean of `|X / n - truth|`, where `X` counts which of `n` draws hit a member of the share `drawn`.
fn mean_deviation(n: f64, drawn: f64, truth: f64) -> f64 {
    if drawn <= 0.0 || drawn >= 1.0 {
        return (drawn.clamp(0.0, 1.0) - truth).abs();
    }
    let (mean, at) = (n * drawn, n * truth);
    let variance = mean * (1.0 - drawn);
    if variance > NORMAL_VARIANCE {
        // The mean of a folded normal distribution.
        let (off, deviation) = (mean - at, variance.sqrt());
        let z = off / deviation;
        let spread = deviation * (2.0 / std::f64::consts::PI).sqrt() * (-z * z / 2.0).exp();
        return (spread + off * erf(z / std::f64::consts::SQRT_2)) / n;
    }
    // Counts from the likeliest one on, both ways, until they are too unlikely to matter.
    let mode = ((n + 1.0) * drawn).floor().min(n);
    let odds = drawn / (1.0 - drawn);
    let chance_of_mode =
        (ln_binomial(n as u64, mode as u64) + mode * drawn.ln() + (n - mode) * (-drawn).ln_1p())
            .exp();
    let mut sum = chance_of_mode * (mode - at).abs();
    let (mut count, mut chance) = (mode, chance_of_mode);
    while count < n && chance > NEGLIGIBLE {
        chance *= (n - count) / (count + 1.0) * odds;
        count += 1.0;
        sum += chance * (count - at).abs();
    }
    (count, chance) = (mode, chance_of_mode);
    while count > 0.0 && chance > NEGLIGIBLE {
        chance *= count / (n - count + 1.0) / odds;
        count -= 1.0;
        sum += chance * (count - at).abs();
    }
    sum / n
}

/// How the first values of pairs lie to the second ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The first ones are smaller: the interval of the mean difference lies below 0.
    Smaller,
    /// The interval of the mean difference holds 0: the pairs do not tell the two apart.
    Draw,
    /// The first ones are greater: the interval of the mean difference lies above 0.
    Greater,
}

/// A comparison of pairs, such as two profilers' errors for the same programs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PairedComparison {
    /// The differences, first minus second.
    pub difference: Summary,
    /// Whether they are a draw at the 95% level.
    pub verdict: Verdict,
}

/// Compares pairs by the 95% interval of their mean difference, first minus second (the paired t
/// test). Fewer than two pairs are a draw, and so is a difference that is not a number.
#[must_use]
pub fn compare_pairs(pairs: &[(f64, f64)]) -> PairedComparison {
    let differences: Vec<f64> = pairs.iter().map(|(first, second)| first - second).collect();
    let difference = summarize(&differences);
    let verdict = match difference.mean.partial_cmp(&0.0) {
        Some(Ordering::Less) if !difference.contains(0.0) => Verdict::Smaller,
        Some(Ordering::Greater) if !difference.contains(0.0) => Verdict::Greater,
        _ => Verdict::Draw,
    };
    PairedComparison {
        difference,
        verdict,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_summary_is_that_of_the_t_table() {
        // Squares around 3: 4 + 1 + 0 + 1 + 4 = 10, so that the deviation is the root of 10 / 4.
        // The table's t for 4 degrees of freedom at 95% (two-sided) is 2.776.
        let summary = summarize(&[1.0, 2.0, 3.0, 4.0, 5.0]);
        assert_eq!((summary.count, summary.mean), (5, 3.0));
        assert_eq!(summary.standard_deviation, Some(2.5_f64.sqrt()));
        let half_width = summary.half_width.unwrap();
        assert!((half_width - 2.776 * (2.5_f64 / 5.0).sqrt()).abs() < 1e-3);
        assert!(summary.contains(3.0 + half_width * 0.999));
        assert!(!summary.contains(3.0 - half_width * 1.001));
        // Two values: t for one degree of freedom is 12.706, the deviation of (0, 2) the root of 2.
        let half_width = summarize(&[0.0, 2.0]).half_width.unwrap();
        assert!((half_width - 12.706).abs() < 1e-3);
    }

    #[test]
    fn draws_err_as_counting_all_of_them_says() {
        // A fair coin: of two draws, both fall on one side half of the time, and then half the weight is wrong.
        assert!((error_of_draws([0.5, 0.5].into_iter(), 2) - 0.25).abs() < 1e-12);
        // One draw of shares 0.2 and 0.8 puts everything on one of them: 0.2 * 0.8 + 0.8 * 0.2.
        assert!((error_of_draws([0.2, 0.8].into_iter(), 1) - 0.32).abs() < 1e-12);
        // Three draws, by counting: P(X = x) = C(3, x) 0.3^x 0.7^(3 - x), error |x / 3 - 0.3|.
        let chances = [0.343, 0.441, 0.189, 0.027];
        let errors = [0.3, 1.0 / 30.0, 2.0 / 3.0 - 0.3, 0.7];
        let by_hand: f64 = chances.iter().zip(errors).map(|(p, e)| p * e).sum();
        assert!((error_of_draws([0.3, 0.7].into_iter(), 3) - by_hand).abs() < 1e-12);
        assert_eq!(error_of_draws([1.0].into_iter(), 10), 0.0);
        // Many draws: the root of 2 p (1 - p) / (pi n) for each share.
        let many = error_of_draws([0.5, 0.5].into_iter(), 1_000_000);
        let normal = (0.5 / (std::f64::consts::PI * 1e6)).sqrt();
        assert!((many / normal - 1.0).abs() < 1e-3, "{many} {normal}");
    }

    #[test]
    fn biased_draws_err_as_counting_all_of_them_says() {
        // Without a bias both definitions agree, for few draws and for many.
        let shares = [0.001, 0.019, 0.08, 0.3, 0.6];
        for samples in [1, 2, 10, 1000, 100_000] {
            let unbiased = error_of_draws(shares.into_iter(), samples);
            let found = error_of_biased_draws(shares.map(|p| (p, p)).into_iter(), samples);
            assert!(
                (found / unbiased - 1.0).abs() < 1e-3,
                "{samples}: {found} {unbiased}"
            );
        }
        // Two draws of a fair coin against shares of 1 and 0: all right in a quarter, half wrong in a half.
        let all_wrong = error_of_biased_draws([(1.0, 0.5), (0.0, 0.5)].into_iter(), 2);
        assert!((all_wrong - 0.5).abs() < 1e-12, "{all_wrong}");
        // A member that is never drawn is missing as a whole, and so is one that is drawn and not there.
        let elsewhere = [(0.25, 0.0), (0.75, 0.75), (0.0, 0.25)];
        let limit = error_of_biased_draws(elsewhere.into_iter(), 10_000_000);
        assert!((limit - 0.25).abs() < 1e-4, "{limit}");
    }

    #[test]
    fn the_mean_deviation_of_a_count_is_that_of_all_counts() {
        // By the definition, for counts on both sides of the limit at which they are taken to be normal.
        for (n, drawn, truth) in [(50, 0.3, 0.31), (4000, 0.2, 0.19), (3000, 0.15, 0.15)] {
            let (n, mut sum) = (n as u64, 0.0);
            for k in 0..=n {
                let chance = ln_binomial(n, k)
                    + k as f64 * f64::ln(drawn)
                    + (n - k) as f64 * f64::ln(1.0 - drawn);
                sum += chance.exp() * (k as f64 / n as f64 - truth).abs();
            }
            let found = mean_deviation(n as f64, drawn, truth);
            assert!((found / sum - 1.0).abs() < 1e-3, "{n}: {found} {sum}");
        }
    }

    #[test]
    fn few_values_have_no_interval() {
        let none = summarize(&[]);
        assert_eq!((none.mean, none.half_width), (0.0, None));
        let one = summarize(&[7.0]);
        assert_eq!((one.mean, one.standard_deviation), (7.0, None));
        assert!(one.contains(-1e9));
        assert_eq!(compare_pairs(&[(1.0, 2.0)]).verdict, Verdict::Draw);
        assert_eq!(compare_pairs(&[]).verdict, Verdict::Draw);
        let unknown = [(f64::NAN, 1.0), (0.0, 1.0)];
        assert_eq!(compare_pairs(&unknown).verdict, Verdict::Draw);
    }

    #[test]
    fn pairs_are_a_draw_when_zero_lies_in_the_interval() {
        // Differences -1, -2, -3: mean -2, deviation 1, half width 4.303 / sqrt(3) = 2.484: a draw
        // although each first value is smaller.
        let draw = compare_pairs(&[(0.0, 1.0), (0.0, 2.0), (0.0, 3.0)]);
        assert_eq!(draw.verdict, Verdict::Draw);
        assert!((draw.difference.half_width.unwrap() - 2.484).abs() < 1e-3);
        // Differences -1, -2, -3, -2: half width 3.182 * sqrt(2 / 3) / 2 = 1.299.
        let smaller = compare_pairs(&[(0.0, 1.0), (0.0, 2.0), (0.0, 3.0), (5.0, 7.0)]);
        assert_eq!(smaller.verdict, Verdict::Smaller);
        // A constant difference has no spread; none at all is a draw.
        assert_eq!(compare_pairs(&[(2.0, 1.0); 2]).verdict, Verdict::Greater);
        assert_eq!(compare_pairs(&[(2.0, 2.0); 9]).verdict, Verdict::Draw);
    }

    proptest! {
        #[test]
        fn swapped_pairs_swap_the_verdict(
            pairs in prop::collection::vec((-1e3..1e3, -1e3..1e3), 0..20)
        ) {
            let swapped: Vec<(f64, f64)> = pairs.iter().map(|&(a, b)| (b, a)).collect();
            let (one, other) = (compare_pairs(&pairs), compare_pairs(&swapped));
            let expected = match one.verdict {
                Verdict::Smaller => Verdict::Greater,
                Verdict::Draw => Verdict::Draw,
                Verdict::Greater => Verdict::Smaller,
            };
            prop_assert_eq!(other.verdict, expected);
            prop_assert_eq!(one.verdict == Verdict::Draw, one.difference.contains(0.0));
        }
    }
}
