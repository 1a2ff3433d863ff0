//! IEEE 754 binary16 ("half precision").
//!
//! Few hosts compute in it, so that it has no fast path for arithmetic: [`Half`] never calls a result
//! [finite](HostFloat::finite) or [well inside](HostFloat::well_inside), and everything goes to `soft`.
//! Comparisons and exact conversions work on the number as binary32, which holds every binary16 number.

use std::cmp::Ordering;
use std::ops::{Add, Div, Mul, Neg, Sub};

use super::convert::resize_soft;
use super::format::HostFloat;
use super::{Binary32, Binary64, Format, Round};

/// IEEE 754 binary16 ("half precision").
#[derive(Clone, Copy, Debug)]
pub enum Binary16 {}

impl Format for Binary16 {
    type Bits = u16;
    type Host = Half;
    const FRACTION_BITS: u32 = 10;
    const EXPONENT_BITS: u32 = 5;

    #[inline]
    fn widen(bits: u16) -> u64 {
        u64::from(bits)
    }

    #[inline]
    fn narrow(wide: u64) -> u16 {
        wide as u16
    }
}

/// A binary16 number as the host holds it: in binary32. Sums, products and quotients are not rounded to
/// binary16 before their bits are asked for.
#[derive(Clone, Copy, Debug)]
pub struct Half(f32);

impl PartialEq for Half {
    fn eq(&self, other: &Half) -> bool {
        self.0 == other.0
    }
}

impl PartialOrd for Half {
    fn partial_cmp(&self, other: &Half) -> Option<Ordering> {
        self.0.partial_cmp(&other.0)
    }
}

macro_rules! operators {
    ($($operator:ident $function:ident;)*) => {$(
        impl $operator for Half {
            type Output = Half;
            fn $function(self, other: Half) -> Half {
                Half(self.0.$function(other.0))
            }
        }
    )*};
}
operators! { Add add; Sub sub; Mul mul; Div div; }

impl Neg for Half {
    type Output = Half;
    fn neg(self) -> Half {
        Half(-self.0)
    }
}

impl HostFloat for Half {
    const ZERO: Self = Half(0.0);
    const MIN_POSITIVE: Self = Half(1.0 / 16384.0);
    const INFINITY: Self = Half(f32::INFINITY);
    const TWO_63: Self = Half(9_223_372_036_854_775_808.0);
    /// The largest number is 65504.
    const HOLDS_INTEGERS: bool = false;

    fn from_wide(bits: u64) -> Self {
        let wide = resize_soft::<Binary16, Binary32>(bits, Round::NearestEven, &mut 0);
        Half(f32::from_bits(wide as u32))
    }

    fn to_wide(self) -> u64 {
        let bits = u64::from(self.0.to_bits());
        resize_soft::<Binary32, Binary16>(bits, Round::NearestEven, &mut 0)
    }

    fn magnitude(self) -> Self {
        Half(self.0.abs())
    }

    fn root(self) -> Self {
        Half(self.0.sqrt())
    }

    fn nearest_i64(x: i64) -> Self {
        Half::nearest_f64(x as f64)
    }

    fn nearest_u64(x: u64) -> Self {
        Half::nearest_f64(x as f64)
    }

    fn nearest_f64(x: f64) -> Self {
        let half = resize_soft::<Binary64, Binary16>(x.to_bits(), Round::NearestEven, &mut 0);
        Half::from_wide(half)
    }

    fn truncate_i64(self) -> i64 {
        self.0 as i64
    }

    fn to_f64(self) -> f64 {
        f64::from(self.0)
    }

    fn fused(self, _: Half, _: Half, _: bool) -> Option<(Half, bool)> {
        None
    }

    fn finite(self) -> bool {
        false
    }

    fn well_inside(self) -> bool {
        false
    }
}
