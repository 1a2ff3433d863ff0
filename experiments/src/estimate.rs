//! Numbers that are measured at many phases: means with intervals, and what lies inside noise.

use std::cmp::Ordering;

use hps_isa::random::Random;
use hps_profile::summarize;

use crate::row::Row;

/// Differences of accuracies that count as draws where only one phase was measured, so that there is no interval.
const DRAW_OF_ONE_PHASE: f64 = 0.005;

/// A number over phases.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Estimate {
    pub mean: f64,
    /// Half the width of its 95% interval; `None` of a single phase.
    pub half_width: Option<f64>,
}

impl Estimate {
    /// Of the number at each phase; `None` without any.
    pub fn over(phases: &[f64]) -> Option<Estimate> {
        let summary = summarize(phases);
        (summary.count > 0).then_some(Estimate {
            mean: summary.mean,
            half_width: summary.half_width,
        })
    }

    /// How the mean lies to a number: not told apart (`Equal`) if the interval holds it, and of one phase if it is within
    /// half a point.
    pub fn against(&self, number: f64) -> Ordering {
        let noise = self.half_width.unwrap_or(DRAW_OF_ONE_PHASE);
        if (self.mean - number).abs() <= noise {
            return Ordering::Equal;
        }
        self.mean.total_cmp(&number)
    }

    /// In percent with its interval: `12.3 ± 0.4`.
    pub fn percent(&self) -> String {
        let half = self
            .half_width
            .map(|half| format!(" ± {:.1}", 100.0 * half));
        format!("{:.1}{}", 100.0 * self.mean, half.unwrap_or_default())
    }
}

/// Half the width of the 95% interval of the mean accuracy over rows of one point, such as those of several programs, over
/// paired phases. It speaks of where schedules begin, and not of other programs. `None` of a single phase.
#[must_use]
pub fn half_width_over_phases<'a>(rows: impl IntoIterator<Item = &'a Row>) -> Option<f64> {
    summarize(&mean_by_phase(rows)).half_width
}

/// The mean accuracy over rows at each phase. A row that has one phase only counts with it at each.
pub(crate) fn mean_by_phase<'a>(rows: impl IntoIterator<Item = &'a Row>) -> Vec<f64> {
    let all: Vec<Vec<f64>> = rows.into_iter().map(Row::accuracies).collect();
    let all: Vec<Vec<f64>> = all.into_iter().filter(|of| !of.is_empty()).collect();
    let phases = all.iter().map(Vec::len).max().unwrap_or(0);
    let at = |of: &Vec<f64>, phase: usize| of.get(phase).copied().unwrap_or(of[0]);
    (0..phases)
        .map(|phase| all.iter().map(|of| at(of, phase)).sum::<f64>() / all.len() as f64)
        .collect()
}

/// First minus second at each phase; where one side has a single phase, against that.
pub(crate) fn differences(first: &[f64], second: &[f64]) -> Vec<f64> {
    if first.is_empty() || second.is_empty() {
        return Vec::new();
    }
    let at = |of: &[f64], phase: usize| of.get(phase).copied().unwrap_or(of[0]);
    (0..first.len().max(second.len()))
        .map(|phase| at(first, phase) - at(second, phase))
        .collect()
}

/// The 95% interval of a number that is not linear in the phases, by the bootstrap (Efron, 1979): `of` is asked with
/// phases drawn with repetition, 1,000 times, and 2.5% of the answers lie below and above what is given back.
pub(crate) fn bootstrap(phases: usize, mut of: impl FnMut(&[usize]) -> f64) -> (f64, f64) {
    const TIMES: usize = 1000;
    let mut draws = Random::new(7);
    let mut answers: Vec<f64> = (0..TIMES)
        .map(|_| {
            let drawn: Vec<usize> = (0..phases)
                .map(|_| draws.below(phases as u64) as usize)
                .collect();
            of(&drawn)
        })
        .collect();
    answers.sort_by(f64::total_cmp);
    (answers[TIMES / 40], answers[TIMES - 1 - TIMES / 40])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inside_noise_is_a_draw() {
        // Mean 0.02, deviation 0.01, t(0.975, 2) = 4.303: half width 0.0248.
        let noisy = Estimate::over(&[0.01, 0.02, 0.03]).expect("three");
        assert_eq!(noisy.against(0.0), Ordering::Equal);
        assert_eq!(noisy.against(-0.01), Ordering::Greater);
        assert_eq!(noisy.percent(), "2.0 ± 2.5");
        let single = Estimate::over(&[0.004]).expect("one");
        assert_eq!(single.against(0.0), Ordering::Equal);
        assert_eq!(single.against(0.01), Ordering::Less);
        assert_eq!(Estimate::over(&[]), None);
    }

    #[test]
    fn a_bootstrap_of_a_mean_is_about_the_interval_of_the_mean() {
        let values: Vec<f64> = (0..100).map(|i| f64::from(i * 37 % 100)).collect();
        let mean = |drawn: &[usize]| drawn.iter().map(|&i| values[i]).sum::<f64>() / 100.0;
        let (low, high) = bootstrap(100, mean);
        // 49.5 ± 1.984 × 29.01 / 10.
        assert!(
            (low - 43.74).abs() < 0.8 && (high - 55.26).abs() < 0.8,
            "{low} {high}"
        );
    }
}
