//! The binary formats and the host types that carry them. Binary16 lies in [`half`](super::half).

use std::ops::{Add, Div, Mul, Neg, Sub};

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::super::Binary16 {}
    impl Sealed for super::Binary32 {}
    impl Sealed for super::Binary64 {}
}

/// IEEE 754 binary32 ("single precision").
#[derive(Clone, Copy, Debug)]
pub enum Binary32 {}

/// IEEE 754 binary64 ("double precision").
#[derive(Clone, Copy, Debug)]
pub enum Binary64 {}

/// An IEEE 754 interchange format of at most 64 bits.
///
/// The algorithms hold values of either format right-aligned in a `u64`; [`Format::widen`] and
/// [`Format::narrow`] convert.
pub trait Format: sealed::Sealed + Copy + 'static {
    /// Raw bits of a value.
    type Bits: Copy + Eq + std::fmt::Debug;
    /// The host type of the same format.
    type Host: HostFloat;

    /// Width of the stored fraction, in bits.
    const FRACTION_BITS: u32;
    /// Width of the biased exponent, in bits.
    const EXPONENT_BITS: u32;

    /// Significant bits of a normal number, the implicit one included.
    const PRECISION: u32 = Self::FRACTION_BITS + 1;
    /// Largest exponent of a finite number, which is also the exponent bias.
    const EMAX: i32 = (1 << (Self::EXPONENT_BITS - 1)) - 1;
    /// Exponent of the smallest normal number.
    const EMIN: i32 = 1 - Self::EMAX;
    /// The implicit leading bit of a normal number, at its place above the fraction.
    const IMPLICIT: u64 = 1 << Self::FRACTION_BITS;
    /// The sign bit.
    const SIGN: u64 = 1 << (Self::FRACTION_BITS + Self::EXPONENT_BITS);
    /// Plus infinity; also the mask of the exponent field.
    const INFINITY: u64 = ((1 << Self::EXPONENT_BITS) - 1) << Self::FRACTION_BITS;
    /// The bit that tells a quiet NaN from a signaling one.
    const QUIET: u64 = 1 << (Self::FRACTION_BITS - 1);
    /// The canonical NaN of RISC-V: positive, quiet, the rest of the fraction zero.
    const CANONICAL_NAN: u64 = Self::INFINITY | Self::QUIET;

    /// The bits, zero-extended to 64.
    fn widen(bits: Self::Bits) -> u64;
    /// The low bits of `wide`.
    fn narrow(wide: u64) -> Self::Bits;

    /// Reads the bits as a host number.
    #[inline]
    fn host(bits: Self::Bits) -> Self::Host {
        Self::Host::from_wide(Self::widen(bits))
    }

    /// The bits of a host number.
    #[inline]
    fn bits(x: Self::Host) -> Self::Bits {
        Self::narrow(x.to_wide())
    }
}

impl Format for Binary32 {
    type Bits = u32;
    type Host = f32;
    const FRACTION_BITS: u32 = 23;
    const EXPONENT_BITS: u32 = 8;

    #[inline]
    fn widen(bits: u32) -> u64 {
        u64::from(bits)
    }

    #[inline]
    fn narrow(wide: u64) -> u32 {
        wide as u32
    }
}

impl Format for Binary64 {
    type Bits = u64;
    type Host = f64;
    const FRACTION_BITS: u32 = 52;
    const EXPONENT_BITS: u32 = 11;

    #[inline]
    fn widen(bits: u64) -> u64 {
        bits
    }

    #[inline]
    fn narrow(wide: u64) -> u64 {
        wide
    }
}

/// Operations on `f32` and `f64` that the fast paths need.
pub trait HostFloat:
    Copy
    + PartialOrd
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
{
    /// Plus zero.
    const ZERO: Self;
    /// The smallest positive normal number.
    const MIN_POSITIVE: Self;
    /// Plus infinity.
    const INFINITY: Self;
    /// 2^63, the first number above the range of `i64`.
    const TWO_63: Self;
    /// True if no integer of 64 bits overflows.
    const HOLDS_INTEGERS: bool = true;

    /// The number whose bits these are.
    fn from_wide(bits: u64) -> Self;
    /// The bits of the number, zero-extended to 64.
    fn to_wide(self) -> u64;
    /// The magnitude.
    fn magnitude(self) -> Self;
    /// The correctly rounded square root.
    fn root(self) -> Self;
    /// The nearest number to `x`, ties to even.
    fn nearest_i64(x: i64) -> Self;
    /// The nearest number to `x`, ties to even.
    fn nearest_u64(x: u64) -> Self;
    /// The nearest number to `x`, ties to even.
    fn nearest_f64(x: f64) -> Self;
    /// The integer part, saturated.
    fn truncate_i64(self) -> i64;
    /// The number as `f64`.
    fn to_f64(self) -> f64;

    /// `self * y + z` rounded once to nearest even, and whether that is inexact; `None` where the
    /// host cannot tell.
    ///
    /// The value is right for any finite result strictly above the smallest normal magnitude; the
    /// second part may be a mere `true` if `nx_accrued` says that the caller does not care.
    fn fused(self, y: Self, z: Self, nx_accrued: bool) -> Option<(Self, bool)>;

    /// Whether the number is neither NaN nor infinite.
    #[inline]
    fn finite(self) -> bool {
        self.magnitude() < Self::INFINITY
    }

    /// Whether the number is finite and strictly above the smallest normal magnitude: a result that neither overflowed
    /// nor underflowed.
    #[inline]
    fn well_inside(self) -> bool {
        let magnitude = self.magnitude();
        magnitude > Self::MIN_POSITIVE && magnitude < Self::INFINITY
    }

    /// The rounding error of `sum = x + y`, exact if finite (Knuth's TwoSum); an overflow on the
    /// way leaves it infinite or NaN.
    #[inline]
    fn sum_error(x: Self, y: Self, sum: Self) -> Self {
        let x_part = sum - y;
        let y_part = sum - x_part;
        (x - x_part) + (y - y_part)
    }
}

macro_rules! host_float_common {
    ($float:ident, $bits:ident) => {
        const ZERO: Self = 0.0;
        const MIN_POSITIVE: Self = $float::MIN_POSITIVE;
        const INFINITY: Self = $float::INFINITY;
        const TWO_63: Self = 9_223_372_036_854_775_808.0;

        #[inline]
        fn from_wide(bits: u64) -> Self {
            $float::from_bits(bits as $bits)
        }

        #[inline]
        fn to_wide(self) -> u64 {
            u64::from(self.to_bits())
        }

        #[inline]
        fn magnitude(self) -> Self {
            self.abs()
        }

        #[inline]
        fn root(self) -> Self {
            self.sqrt()
        }

        #[inline]
        fn nearest_i64(x: i64) -> Self {
            x as $float
        }

        #[inline]
        fn nearest_u64(x: u64) -> Self {
            x as $float
        }

        #[inline]
        fn nearest_f64(x: f64) -> Self {
            x as $float
        }

        #[inline]
        fn truncate_i64(self) -> i64 {
            self as i64
        }

        #[inline]
        fn to_f64(self) -> f64 {
            f64::from(self)
        }
    };
}

impl HostFloat for f32 {
    host_float_common!(f32, u32);

    /// The product of two `f32` is exact in `f64`; the sum is rounded there to odd, which makes the
    /// second rounding harmless (53 >= 24 + 2 bits; Boldo and Melquiond, "Emulation of a FMA and
    /// correctly rounded sums", 2008).
    #[inline]
    fn fused(self, y: f32, z: f32, _nx_accrued: bool) -> Option<(f32, bool)> {
        let product = f64::from(self) * f64::from(y);
        let addend = f64::from(z);
        let sum = product + addend;
        let error = f64::sum_error(product, addend, sum);
        // The exact sum lies beyond an inexact even `sum` if the error has its sign, else one step
        // nearer to zero, where the pattern is odd. No branches: they could not be predicted.
        let step = 2 * i64::from((error > 0.0) == (sum > 0.0)) - 1;
        let needed = i64::from(error != 0.0) & !(sum.to_bits() as i64) & 1;
        let odd = f64::from_bits(sum.to_bits().wrapping_add_signed(step * needed));
        let rounded = odd as f32;
        Some((rounded, error != 0.0 || f64::from(rounded) != sum))
    }
}

/// Whether `f64::mul_add` is trusted to round once: it is a machine instruction or the C library's
/// `fma`, and some C libraries for Windows round twice.
const HOST_FMA_EXACT: bool = cfg!(any(
    target_feature = "fma",
    target_arch = "aarch64",
    not(windows)
));

impl HostFloat for f64 {
    host_float_common!(f64, u64);

    #[inline]
    fn fused(self, y: f64, z: f64, nx_accrued: bool) -> Option<(f64, bool)> {
        (HOST_FMA_EXACT && nx_accrued).then(|| (self.mul_add(y, z), true))
    }
}
