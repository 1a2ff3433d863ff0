//! Accuracies of a point over the phases of its schedule: how much of one accuracy is chance.

use hps_profile::summarize;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Accuracies of a point when its schedule begins elsewhere, at phases that are drawn evenly over its period
/// ([`hps_productions::grid::Phase::drawn`], by number from 0 on). Rows of any point have the same phases at the same
/// places, so that they can be compared phase by phase. Shares in `0..=1`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Phases {
    /// Mean of `renormalized`.
    pub mean: f64,
    /// Standard deviation of `renormalized` over phases: how far a single phase may mislead. 0 of a single one.
    pub deviation: f64,
    /// Half the width of the 95% interval of the mean, by Student's t distribution; `None` of a single phase.
    pub half_width: Option<f64>,
    /// Mean of the overlap by shares of whole profiles ([`crate::AccuracyResult::capped`]).
    pub capped: f64,
    /// Phases at which nothing was sampled.
    pub silent: u64,
    /// Renormalized accuracies, rounded to a millionth; 0 where nothing was sampled.
    pub renormalized: Vec<f64>,
}

impl Phases {
    /// Of the accuracy at each phase, renormalized and capped, and whether anything was sampled there.
    #[must_use]
    pub fn of(phases: &[(f64, f64, bool)]) -> Phases {
        let round = |share: f64| (share * 1e6).round() / 1e6;
        let renormalized: Vec<f64> = phases.iter().map(|phase| round(phase.0)).collect();
        let summary = summarize(&renormalized);
        let capped: Vec<f64> = phases.iter().map(|phase| phase.1).collect();
        Phases {
            mean: summary.mean,
            deviation: summary.standard_deviation.unwrap_or(0.0),
            half_width: summary.half_width,
            capped: summarize(&capped).mean,
            silent: phases.iter().filter(|phase| !phase.2).count() as u64,
            renormalized,
        }
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.renormalized.len()
    }

    /// Whether anything was sampled at any phase.
    #[must_use]
    pub fn sampled(&self) -> bool {
        (self.silent as usize) < self.count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_silent_phase_counts_as_an_accuracy_of_nothing() {
        // 0.9, 0.6 and 0: mean 0.5, squares 0.16 + 0.01 + 0.25, deviation sqrt(0.42 / 2) = 0.458258; the half width is
        // t(0.975, 2) = 4.302653 times that over sqrt(3).
        let phases = Phases::of(&[(0.9, 0.8, true), (0.6, 0.4, true), (0.0, 0.0, false)]);
        assert!((phases.mean - 0.5).abs() < 1e-12 && (phases.capped - 0.4).abs() < 1e-12);
        assert!((phases.deviation - 0.458_258).abs() < 1e-6);
        let half_width = phases.half_width.expect("three phases");
        assert!((half_width - 4.302_653 * 0.458_258 / 3f64.sqrt()).abs() < 1e-5);
        assert_eq!((phases.silent, phases.count()), (1, 3));
        assert!(phases.sampled() && !Phases::of(&[(0.0, 0.0, false)]).sampled());
    }
}
