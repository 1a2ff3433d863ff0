//! Conversions between floating-point numbers and integers and between the formats.

use super::flag::{NV, NX};
use super::format::HostFloat;
use super::soft::{
    Unpacked, is_nan, is_negative, magnitude, nan_from, round_pack, rounds_up, unpack,
};
use super::{Format, Round};

mod sealed {
    pub trait Sealed {}
    impl Sealed for i32 {}
    impl Sealed for u32 {}
    impl Sealed for i64 {}
    impl Sealed for u64 {}
}

/// An integer type to convert to and from: `i32`, `u32`, `i64` or `u64`.
pub trait Integer: sealed::Sealed + Copy + PartialEq + std::fmt::Debug + 'static {
    /// The smallest value.
    const LEAST: i128;
    /// The largest value.
    const GREATEST: i128;
    /// The value.
    fn widen(self) -> i128;
    /// The value modulo the size of the type.
    fn narrow(wide: i128) -> Self;
}

macro_rules! integer {
    ($($int:ident)*) => {$(
        impl Integer for $int {
            const LEAST: i128 = $int::MIN as i128;
            const GREATEST: i128 = $int::MAX as i128;

            #[inline]
            fn widen(self) -> i128 {
                i128::from(self)
            }

            #[inline]
            fn narrow(wide: i128) -> Self {
                wide as $int
            }
        }
    )*};
}
integer!(i32 u32 i64 u64);

/// Rounds `a` to an integer. A result out of range, an infinity or a NaN raises `NV` alone and
/// gives the nearest end of the range, the greatest value for a NaN; else an inexact result raises
/// `NX`.
#[inline]
pub fn to_int<F: Format, I: Integer>(a: F::Bits, rm: Round, flags: &mut u8) -> I {
    let x = F::host(a);
    if x.magnitude() < F::Host::TWO_63 {
        let truncated = x.truncate_i64();
        let exact = F::Host::nearest_i64(truncated) == x;
        let wide = i128::from(truncated);
        if (exact || rm == Round::TowardZero) && (I::LEAST..=I::GREATEST).contains(&wide) {
            *flags |= if exact { 0 } else { NX };
            return I::narrow(wide);
        }
    }
    to_int_soft::<F, I>(F::widen(a), rm, flags)
}

/// The slow path of [`to_int`].
#[inline(never)]
pub(super) fn to_int_soft<F: Format, I: Integer>(a: u64, rm: Round, flags: &mut u8) -> I {
    if magnitude::<F>(a) == 0 {
        return I::narrow(0);
    }
    let sign = is_negative::<F>(a) && !is_nan::<F>(a);
    let in_range = if magnitude::<F>(a) < F::INFINITY {
        round_to_i128(unpack::<F>(a), rm)
    } else {
        None
    };
    match in_range {
        Some((value, exact)) if (I::LEAST..=I::GREATEST).contains(&value) => {
            *flags |= if exact { 0 } else { NX };
            I::narrow(value)
        }
        _ => {
            *flags |= NV;
            I::narrow(if sign { I::LEAST } else { I::GREATEST })
        }
    }
}

/// The number rounded to an integer and whether that is exact; `None` for magnitudes of 2^64 and
/// above.
pub(super) fn round_to_i128(x: Unpacked, rm: Round) -> Option<(i128, bool)> {
    // The integer part, and the fraction with its point above bit 63 and its tail jammed.
    let (integer, tail) = match x.exp {
        64.. => return None,
        63 => (x.sig, 0),
        0..63 => (x.sig >> (63 - x.exp), x.sig << (x.exp + 1)),
        -1 => (0, x.sig),
        _ => (0, 1),
    };
    let up = rounds_up(rm, x.sign, integer & 1 != 0, tail, 1 << 63);
    let magnitude = i128::from(integer) + i128::from(up);
    Some((if x.sign { -magnitude } else { magnitude }, tail == 0))
}

/// The integer `x` rounded to format `F`. Raises `NX`, and `OF` in binary16.
#[inline]
pub fn from_int<F: Format, I: Integer>(x: I, rm: Round, flags: &mut u8) -> F::Bits {
    let wide = x.widen();
    let magnitude = wide.unsigned_abs() as u64;
    let exact = magnitude >> F::PRECISION == 0
        || magnitude >> magnitude.trailing_zeros() >> F::PRECISION == 0;
    if F::Host::HOLDS_INTEGERS && (exact || rm == Round::NearestEven) {
        *flags |= if exact { 0 } else { NX };
        let host = if I::LEAST < 0 {
            F::Host::nearest_i64(wide as i64)
        } else {
            F::Host::nearest_u64(magnitude)
        };
        return F::bits(host);
    }
    F::narrow(from_int_soft::<F>(wide, rm, flags))
}

/// The slow path of [`from_int`], for magnitudes below 2^64.
#[inline(never)]
pub(super) fn from_int_soft<F: Format>(x: i128, rm: Round, flags: &mut u8) -> u64 {
    let magnitude = x.unsigned_abs() as u64;
    if magnitude == 0 {
        return 0;
    }
    let zeros = magnitude.leading_zeros();
    round_pack::<F>(
        Unpacked {
            sign: x < 0,
            exp: 63 - zeros as i32,
            sig: magnitude << zeros,
        },
        rm,
        flags,
    )
}

/// `a` of format `F` rounded to format `G`.
#[inline]
pub fn resize<F: Format, G: Format>(a: F::Bits, rm: Round, flags: &mut u8) -> G::Bits {
    let wide = F::host(a).to_f64();
    let host = G::Host::nearest_f64(wide);
    // Equal: exact, be it zero, infinite or subnormal. NaN equals nothing.
    let exact = host.to_f64() == wide;
    if exact || (rm == Round::NearestEven && host.well_inside()) {
        *flags |= if exact { 0 } else { NX };
        return G::bits(host);
    }
    G::narrow(resize_soft::<F, G>(F::widen(a), rm, flags))
}

/// The slow path of [`resize`].
#[inline(never)]
pub(super) fn resize_soft<F: Format, G: Format>(a: u64, rm: Round, flags: &mut u8) -> u64 {
    let sign = if is_negative::<F>(a) { G::SIGN } else { 0 };
    match magnitude::<F>(a) {
        0 => sign,
        m if m == F::INFINITY => sign | G::INFINITY,
        m if m > F::INFINITY => {
            // The flag is judged in the format of the operand, the NaN given in that of the result.
            nan_from::<F>(&[a], flags);
            G::CANONICAL_NAN
        }
        _ => round_pack::<G>(unpack::<F>(a), rm, flags),
    }
}
