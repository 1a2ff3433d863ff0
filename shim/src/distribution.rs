//! Distributions on a logarithmic axis.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Sub-buckets of a doubling: buckets are at most 1/64 wide.
const PER_DOUBLING_BITS: u32 = 6;
const LOWEST_EXPONENT: i32 = -40;
const HIGHEST_EXPONENT: i32 = 64;
const BUCKETS: usize = ((HIGHEST_EXPONENT - LOWEST_EXPONENT) as usize) << PER_DOUBLING_BITS;

/// Counts of non-negative values in buckets of equal ratio, with the exact sum.
///
/// A bucket is the exponent and the first six bits of the fraction of the value as a double, so that
/// counting is a shift and an increment in the observer's loop.
#[derive(Debug, Clone)]
pub struct Distribution {
    buckets: Box<[u64]>,
    zeros: u64,
    outside: u64,
    sum: f64,
    lowest: f64,
    highest: f64,
}

/// One bucket: values from `from` to below `to`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Bucket {
    /// The lowest value.
    pub from: f64,
    /// Where the next bucket begins.
    pub to: f64,
    /// Values counted.
    pub count: u64,
}

/// A distribution as it is kept in results.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default, JsonSchema)]
pub struct DistributionResult {
    /// Values counted.
    pub count: u64,
    /// Values that were 0, which have no place on a logarithmic axis.
    pub zeros: u64,
    /// Values too large for any bucket, or no numbers.
    pub outside: u64,
    /// The mean of the samples.
    pub mean: f64,
    /// The smallest.
    pub min: f64,
    /// The 10th percentile, as the middle of its bucket.
    pub p10: f64,
    /// The 50th.
    pub median: f64,
    /// The 90th.
    pub p90: f64,
    /// The 99th.
    pub p99: f64,
    /// The largest.
    pub max: f64,
    /// Buckets that are not empty.
    pub buckets: Vec<Bucket>,
}

impl Default for Distribution {
    fn default() -> Self {
        Self {
            buckets: vec![0; BUCKETS].into_boxed_slice(),
            zeros: 0,
            outside: 0,
            sum: 0.0,
            lowest: f64::INFINITY,
            highest: 0.0,
        }
    }
}

fn bound(index: usize) -> f64 {
    let exponent = (index >> PER_DOUBLING_BITS) as i32 + LOWEST_EXPONENT;
    let part = (index & ((1 << PER_DOUBLING_BITS) - 1)) as f64 / f64::from(1 << PER_DOUBLING_BITS);
    (1.0 + part) * 2f64.powi(exponent)
}

impl Distribution {
    /// Counts a value. Values below 2^-40 count as zeros.
    #[inline(always)]
    pub fn add(&mut self, value: f64) {
        const SHIFT: u32 = 52 - PER_DOUBLING_BITS;
        const FIRST: u64 = ((1023 + LOWEST_EXPONENT) as u64) << PER_DOUBLING_BITS;
        let place = (value.to_bits() >> SHIFT).wrapping_sub(FIRST);
        if let Some(bucket) = self.buckets.get_mut(place as usize) {
            *bucket += 1;
        } else if !self.add_unusual(value) {
            return;
        }
        self.sum += value;
        if value < self.lowest {
            self.lowest = value;
        }
        if value > self.highest {
            self.highest = value;
        }
    }

    #[cold]
    fn add_unusual(&mut self, value: f64) -> bool {
        let zero = (0.0..1.0).contains(&value);
        if zero {
            self.zeros += 1;
        } else {
            self.outside += 1;
        }
        zero
    }

    /// Adds all that another one counted.
    pub fn merge(&mut self, other: &Self) {
        for (count, more) in self.buckets.iter_mut().zip(&other.buckets) {
            *count += more;
        }
        self.zeros += other.zeros;
        self.outside += other.outside;
        self.sum += other.sum;
        self.lowest = self.lowest.min(other.lowest);
        self.highest = self.highest.max(other.highest);
    }

    /// Values counted, without those outside.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.zeros + self.buckets.iter().sum::<u64>()
    }

    /// Mean of the values counted; 0 without any.
    #[must_use]
    pub fn mean(&self) -> f64 {
        let count = self.count();
        if count == 0 {
            0.0
        } else {
            self.sum / count as f64
        }
    }

    /// The value below which `share` (0 to 1) of the values lie, to the width of a bucket.
    #[must_use]
    pub fn quantile(&self, share: f64) -> f64 {
        let count = self.count();
        let wanted = ((count as f64 * share).ceil() as u64).clamp(1, count.max(1));
        let mut seen = self.zeros;
        if seen >= wanted {
            return 0.0;
        }
        for (index, bucket) in self.buckets.iter().enumerate() {
            seen += bucket;
            if seen >= wanted {
                let middle = (bound(index) + bound(index + 1)) / 2.0;
                return middle.clamp(self.lowest, self.highest);
            }
        }
        0.0
    }

    /// Summary that results keep.
    #[must_use]
    pub fn result(&self) -> DistributionResult {
        let count = self.count();
        let buckets = self
            .buckets
            .iter()
            .enumerate()
            .filter(|(_, count)| **count > 0)
            .map(|(index, count)| Bucket {
                from: bound(index),
                to: bound(index + 1),
                count: *count,
            });
        DistributionResult {
            count,
            zeros: self.zeros,
            outside: self.outside,
            mean: self.mean(),
            min: if count == 0 { 0.0 } else { self.lowest },
            p10: self.quantile(0.1),
            median: self.quantile(0.5),
            p90: self.quantile(0.9),
            p99: self.quantile(0.99),
            max: self.highest,
            buckets: buckets.collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_fall_between_their_buckets_bounds() {
        for value in [1e-9, 0.04, 0.999, 1.0, 3.5, 17.0, 1e6, 1.8e19] {
            let mut one = Distribution::default();
            one.add(value);
            let result = one.result();
            assert_eq!((result.count, result.buckets.len()), (1, 1));
            let bucket = result.buckets[0];
            assert!(
                bucket.from <= value && value < bucket.to,
                "{value} {bucket:?}"
            );
            assert!(bucket.to / bucket.from < 1.016);
            assert_eq!((result.mean, result.min, result.max), (value, value, value));
        }
    }

    #[test]
    fn quantiles_are_right_to_a_bucket() {
        let mut many = Distribution::default();
        for value in 1..=10_000_u64 {
            many.add(value as f64);
        }
        let result = many.result();
        assert!((result.median / 5000.0 - 1.0).abs() < 0.02);
        assert!((result.p90 / 9000.0 - 1.0).abs() < 0.02);
        assert_eq!(result.mean, 5000.5);
    }

    #[test]
    fn parts_merge_into_the_whole() {
        let values = [0.0, 0.5, 3.0, 3.0, 1e9, f64::NAN, 0.125];
        let (mut whole, mut parts) = (Distribution::default(), <[Distribution; 2]>::default());
        for (i, value) in values.into_iter().enumerate() {
            whole.add(value);
            parts[i % 2].add(value);
        }
        let [mut merged, rest] = parts;
        merged.merge(&rest);
        assert_eq!(merged.result(), whole.result());
    }

    #[test]
    fn zeros_and_what_has_no_place_are_counted_apart() {
        let mut odd = Distribution::default();
        for value in [0.0, f64::NAN, f64::INFINITY, -1.0, 2.0] {
            odd.add(value);
        }
        assert_eq!((odd.zeros, odd.outside, odd.count()), (1, 3, 2));
        assert_eq!(odd.mean(), 1.0);
    }
}
