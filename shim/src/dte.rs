//! Double-time error correction (SHIM, section 4.1).
//!
//! Each sample has a stamp before (`start`) and one behind (`end`) its counters. If reading them took
//! as long as in the sample before, then the cycles between the two starts are the cycles between the
//! two ends, `CPC = (Ce_n - Ce_{n-1}) / (Cs_n - Cs_{n-1})` is 1, and rates over the interval can be
//! trusted. The comparison is exact: products of integers in 128 bits, nothing divided.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How far from 1 the cycles per cycle of a kept sample may be, in parts per million, inclusive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Dte {
    /// The paper's 1%: 10,000.
    pub tolerance_ppm: u32,
}

impl Default for Dte {
    fn default() -> Self {
        Self {
            tolerance_ppm: 10_000,
        }
    }
}

/// The two stamps of a sample, in ticks of the time stamp counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamps {
    /// Before the counters were read.
    pub start: u64,
    /// After.
    pub end: u64,
}

impl Dte {
    /// Whether the interval between two samples can be trusted.
    ///
    /// An interval without length is never kept: nothing can be computed over it.
    #[inline(always)]
    #[must_use]
    pub fn keeps(self, before: Stamps, after: Stamps) -> bool {
        let starts = after.start.wrapping_sub(before.start);
        let ends = after.end.wrapping_sub(before.end);
        if starts == 0 {
            return false;
        }
        let apart = u128::from(starts.abs_diff(ends)) * 1_000_000;
        apart <= u128::from(starts) * u128::from(self.tolerance_ppm)
    }

    /// Cycles per cycle of an interval, for distributions; infinite if the starts are equal.
    #[must_use]
    pub fn cycles_per_cycle(before: Stamps, after: Stamps) -> f64 {
        let starts = after.start.wrapping_sub(before.start);
        let ends = after.end.wrapping_sub(before.end);
        ends as f64 / starts as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamps(start: u64, end: u64) -> Stamps {
        Stamps { start, end }
    }

    #[test]
    fn one_per_cent_is_kept_and_a_tick_more_is_not() {
        let dte = Dte::default();
        let before = stamps(1000, 1050);
        assert!(dte.keeps(before, stamps(2000, 2050)));
        assert!(dte.keeps(before, stamps(2000, 2060)));
        assert!(!dte.keeps(before, stamps(2000, 2061)));
        assert!(dte.keeps(before, stamps(2000, 2040)));
        assert!(!dte.keeps(before, stamps(2000, 2039)));
    }

    /// An integer division would call 199/100 one, and so would single precision for long intervals.
    #[test]
    fn ratios_are_not_truncated() {
        let dte = Dte::default();
        assert!(!dte.keeps(stamps(0, 0), stamps(100, 199)));
        let long = 1_u64 << 62;
        let part = long / 100;
        assert!(dte.keeps(stamps(0, 0), stamps(long, long + part)));
        assert!(!dte.keeps(stamps(0, 0), stamps(long, long + part + 1)));
    }

    #[test]
    fn stamps_may_wrap_and_empty_intervals_go() {
        let dte = Dte::default();
        assert!(dte.keeps(stamps(u64::MAX - 9, u64::MAX), stamps(990, 1000)));
        assert!(!dte.keeps(stamps(5, 6), stamps(5, 6)));
    }
}
