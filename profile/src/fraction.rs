//! An exact fraction between 0 and 1.

use serde::{Deserialize, Serialize};

/// A share between 0 and 1, held in parts per million so that every comparison against it is
/// integer arithmetic and comes out the same on any machine.
///
/// Serialized as a plain number such as `0.9`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct Fraction {
    parts_per_million: u32,
}

/// A number that is not a [`Fraction`].
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[error("{value} is not a fraction: give a number from 0 to 1, such as 0.9 for 90%")]
pub struct FractionError {
    /// The number that was refused.
    pub value: f64,
}

impl Fraction {
    /// One million, the denominator.
    pub const DENOMINATOR: u32 = 1_000_000;
    /// Nothing.
    pub const ZERO: Self = Self {
        parts_per_million: 0,
    };
    /// The whole.
    pub const ONE: Self = Self {
        parts_per_million: Self::DENOMINATOR,
    };
    /// 90%, the cut of the HPS paper, section 5.
    pub const NINETY_PERCENT: Self = Self {
        parts_per_million: 900_000,
    };

    /// A fraction of `percent` hundredths; more than 100 gives the whole.
    pub const fn from_percent(percent: u32) -> Self {
        let percent = if percent > 100 { 100 } else { percent };
        Self {
            parts_per_million: percent * (Self::DENOMINATOR / 100),
        }
    }

    /// The fraction nearest to `value`, in steps of one millionth.
    ///
    /// # Errors
    /// When `value` is not a number from 0 to 1.
    pub fn from_f64(value: f64) -> Result<Self, FractionError> {
        if !(0.0..=1.0).contains(&value) {
            return Err(FractionError { value });
        }
        // In range by the test above, so that the cast is exact after rounding.
        Ok(Self {
            parts_per_million: (value * f64::from(Self::DENOMINATOR)).round() as u32,
        })
    }

    /// The fraction as a number from 0 to 1.
    pub fn as_f64(self) -> f64 {
        f64::from(self.parts_per_million) / f64::from(Self::DENOMINATOR)
    }

    /// Parts per million.
    pub const fn parts_per_million(self) -> u32 {
        self.parts_per_million
    }

    /// The smallest integer that is at least this fraction of `whole`.
    pub fn ceil_of(self, whole: u64) -> u64 {
        let product = u128::from(whole) * u128::from(self.parts_per_million);
        // At most `whole`, because the fraction is at most one.
        product.div_ceil(u128::from(Self::DENOMINATOR)) as u64
    }
}

impl TryFrom<f64> for Fraction {
    type Error = FractionError;

    fn try_from(value: f64) -> Result<Self, FractionError> {
        Self::from_f64(value)
    }
}

impl From<Fraction> for f64 {
    fn from(fraction: Fraction) -> Self {
        fraction.as_f64()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_to_a_millionth_and_refuses_the_rest() {
        assert_eq!(Fraction::from_f64(0.9), Ok(Fraction::NINETY_PERCENT));
        assert_eq!(Fraction::from_percent(100), Fraction::ONE);
        for bad in [-0.1, 1.1, f64::NAN, f64::INFINITY] {
            assert!(Fraction::from_f64(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn ceil_of_is_exact_at_the_extremes() {
        assert_eq!(Fraction::NINETY_PERCENT.ceil_of(10), 9);
        assert_eq!(Fraction::NINETY_PERCENT.ceil_of(11), 10);
        assert_eq!(Fraction::ONE.ceil_of(u64::MAX), u64::MAX);
        assert_eq!(Fraction::ZERO.ceil_of(u64::MAX), 0);
    }

    #[test]
    fn serializes_as_a_number() {
        assert_eq!(
            serde_json::to_string(&Fraction::from_percent(1)).unwrap(),
            "0.01"
        );
        assert_eq!(
            serde_json::from_str::<Fraction>("0.9").unwrap(),
            Fraction::NINETY_PERCENT
        );
        let message = serde_json::from_str::<Fraction>("1.5")
            .unwrap_err()
            .to_string();
        assert!(message.contains("1.5 is not a fraction"), "{message}");
    }
}
