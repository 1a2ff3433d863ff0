//! Sampling points: burst length and sparsity.

use std::fmt;

use hps_isa::inst::reg;
use serde::{Deserialize, Serialize};

/// The largest value of a DISE counter, at which it overflows.
pub const COUNTER_MAX: u64 = u32::MAX as u64;

/// The number of `sampleFreq` (`dr0`) in the machine's register numbering.
pub const SAMPLE_FREQ: u8 = reg::DISE;
/// The number of `burstLength` (`dr1`) in the machine's register numbering.
pub const BURST_LENGTH: u8 = reg::DISE + 1;

/// Burst length and sparsity, both in events.
///
/// An event is a procedure call, direct or indirect, or a back-edge: a direct branch or jump whose
/// target is not after it, whether it is taken or not, since DISE sees it in decode. With
/// `completed` events of the program decoded before an instruction, sampling is on for this
/// instruction if `completed mod (sparsity + burst) >= sparsity`. An event is judged like any other
/// instruction, with the events before it.
///
/// `frequency = burst / (burst + sparsity)` (HPS report, section 5). A sparsity of 0 samples
/// everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct SamplePoint {
    /// Events in a burst, at least 1.
    pub burst: u64,
    /// Events between the end of a burst and the beginning of the next.
    pub sparsity: u64,
}

/// A burst length or a sparsity that the counters cannot hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SamplePointError {
    /// A burst length out of range.
    #[error("the burst length is {0}, but must be between 1 and {COUNTER_MAX}")]
    Burst(u64),
    /// A sparsity out of range.
    #[error("the sparsity is {0}, but must be between 0 and {COUNTER_MAX}")]
    Sparsity(u64),
    /// A sampling frequency above 1.
    #[error("a frequency of 1/{0} is impossible: give 1 to sample everything, or more")]
    Frequency(u64),
}

impl SamplePoint {
    /// Everything is sampled.
    pub const EXHAUSTIVE: SamplePoint = SamplePoint {
        burst: 1,
        sparsity: 0,
    };

    /// A point with this burst length and sparsity.
    ///
    /// # Errors
    /// If a counter of 32 bits cannot count them.
    pub fn new(burst: u64, sparsity: u64) -> Result<Self, SamplePointError> {
        let point = SamplePoint { burst, sparsity };
        point.validate()?;
        Ok(point)
    }

    /// The point with this burst length and frequency `1/one_in`: sparsity is
    /// `burst * (one_in - 1)`.
    ///
    /// # Errors
    /// If `one_in` is 0 or a counter of 32 bits cannot count burst or sparsity.
    pub fn from_frequency(burst: u64, one_in: u64) -> Result<Self, SamplePointError> {
        let between = one_in
            .checked_sub(1)
            .ok_or(SamplePointError::Frequency(one_in))?;
        Self::new(burst, burst.saturating_mul(between))
    }

    /// The points of the HPS report (section 5): bursts of 1, 10, 50 and 100 events, each at
    /// frequencies 1/100, 1/500, 1/1000, 1/5000 and 1/10000.
    #[must_use]
    pub fn paper_grid() -> Vec<SamplePoint> {
        let point = |burst: u64, one_in: u64| SamplePoint {
            burst,
            sparsity: burst * (one_in - 1),
        };
        let frequencies = [100, 500, 1000, 5000, 10_000];
        [1, 10, 50, 100]
            .iter()
            .flat_map(|&burst| frequencies.map(|one_in| point(burst, one_in)))
            .collect()
    }

    /// Whether counters of 32 bits can count both.
    ///
    /// # Errors
    /// The first value out of range.
    pub fn validate(&self) -> Result<(), SamplePointError> {
        if self.burst == 0 || self.burst > COUNTER_MAX {
            return Err(SamplePointError::Burst(self.burst));
        }
        if self.sparsity > COUNTER_MAX {
            return Err(SamplePointError::Sparsity(self.sparsity));
        }
        Ok(())
    }

    /// Events from the beginning of a burst to that of the next.
    #[must_use]
    pub const fn period(&self) -> u64 {
        self.burst.saturating_add(self.sparsity)
    }

    /// The share of events that is sampled, 0 to 1.
    #[must_use]
    pub fn frequency(&self) -> f64 {
        self.burst as f64 / self.period() as f64
    }

    /// Whether an instruction is sampled that has `completed` events before it.
    #[must_use]
    pub const fn is_on(&self, completed: u64) -> bool {
        completed % self.period() >= self.sparsity
    }

    /// Contents of the two sampling registers, with their numbers in the machine's numbering: `MAX - sparsity` in
    /// [`SAMPLE_FREQ`], `MAX - (burst - 1)` in [`BURST_LENGTH`].
    ///
    /// Written to a running machine, they take effect when the counters are next loaded: at the end
    /// of the burst that runs or comes next.
    #[must_use]
    pub const fn registers(&self) -> [(u8, u64); 2] {
        let sample_freq = COUNTER_MAX.saturating_sub(self.sparsity);
        let burst_length = COUNTER_MAX.saturating_sub(self.burst.saturating_sub(1));
        [(SAMPLE_FREQ, sample_freq), (BURST_LENGTH, burst_length)]
    }
}

impl fmt::Display for SamplePoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "burst {}, sparsity {}", self.burst, self.sparsity)?;
        if self.burst > 0 && self.period().is_multiple_of(self.burst) {
            write!(f, " (1/{})", self.period() / self.burst)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frequencies_of_the_report() {
        assert_eq!(
            SamplePoint::from_frequency(1, 100),
            Ok(SamplePoint {
                burst: 1,
                sparsity: 99
            })
        );
        assert_eq!(
            SamplePoint::from_frequency(100, 100),
            Ok(SamplePoint {
                burst: 100,
                sparsity: 9900
            })
        );
        let grid = SamplePoint::paper_grid();
        assert_eq!(grid.len(), 20);
        assert!(grid.iter().all(|p| p.validate().is_ok()));
        assert!((grid[0].frequency() - 0.01).abs() < 1e-15);
        assert_eq!(grid[19].to_string(), "burst 100, sparsity 999900 (1/10000)");
    }

    #[test]
    fn impossible_points_are_refused() {
        assert_eq!(SamplePoint::new(0, 5), Err(SamplePointError::Burst(0)));
        assert_eq!(
            SamplePoint::new(1, 1 << 32),
            Err(SamplePointError::Sparsity(1 << 32))
        );
        assert_eq!(
            SamplePoint::from_frequency(1, 0),
            Err(SamplePointError::Frequency(0))
        );
        assert!(SamplePoint::from_frequency(1 << 31, u64::MAX).is_err());
        assert!(SamplePoint::new(COUNTER_MAX, COUNTER_MAX).is_ok());
    }

    #[test]
    fn registers_hold_distances_to_the_maximum() {
        let point = SamplePoint {
            burst: 1,
            sparsity: 99,
        };
        assert_eq!(
            point.registers(),
            [(64, COUNTER_MAX - 99), (65, COUNTER_MAX)]
        );
        assert!(SamplePoint::EXHAUSTIVE.is_on(0) && SamplePoint::EXHAUSTIVE.is_on(12345));
        assert!(!point.is_on(98) && point.is_on(99) && !point.is_on(100));
    }
}
