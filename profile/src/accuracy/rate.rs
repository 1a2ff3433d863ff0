//! Errors of rates, such as misses per instruction.

use serde::{Deserialize, Serialize};

/// Events per something: misses per instruction, cycles per instruction, samples per second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rate {
    /// Events in the numerator.
    pub events: u64,
    /// Events in the denominator.
    pub base: u64,
}

impl Rate {
    /// `events / base`; `None` if the base is 0.
    #[must_use]
    pub fn value(self) -> Option<f64> {
        (self.base > 0).then(|| self.events as f64 / self.base as f64)
    }
}

/// The relative error of a rate, `|e - t| / t` for the estimate `e` and the truth `t`, 0 or more:
/// 0.1 is 10% off in either direction, and an estimate of 0 is 1.
///
/// `None` where no relative error exists: one of the bases is 0, or the true rate is 0 and the
/// estimate is not. Two rates of 0 give 0.
#[must_use]
pub fn rate_error(estimated: Rate, truth: Rate) -> Option<f64> {
    if estimated.base == 0 || truth.base == 0 {
        return None;
    }
    // Both rates times both bases: the difference of nearly equal rates is exact.
    let found = u128::from(estimated.events) * u128::from(truth.base);
    let wanted = u128::from(truth.events) * u128::from(estimated.base);
    let difference = found.abs_diff(wanted);
    match (difference, wanted) {
        (0, _) => Some(0.0),
        (_, 0) => None,
        (difference, wanted) => Some(difference as f64 / wanted as f64),
    }
}
