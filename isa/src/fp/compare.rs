//! Minimum, maximum, comparisons and classification.

use std::cmp::Ordering;

use super::Format;
use super::flag::NV;
use super::soft::{is_nan, is_negative, is_signaling, magnitude, nan_from};

/// A key that orders numbers (not NaNs) by value with -0 below +0.
#[inline]
fn order_key<F: Format>(a: u64) -> i64 {
    let magnitude = magnitude::<F>(a) as i64;
    if is_negative::<F>(a) {
        !magnitude
    } else {
        magnitude
    }
}

/// The lesser (`least`) or greater of two operands, a number being preferred to a NaN.
#[inline]
fn select<F: Format>(a: F::Bits, b: F::Bits, least: bool, flags: &mut u8) -> F::Bits {
    let (x, y) = (F::widen(a), F::widen(b));
    if is_nan::<F>(x) || is_nan::<F>(y) {
        let nan = nan_from::<F>(&[x, y], flags);
        return match (is_nan::<F>(x), is_nan::<F>(y)) {
            (true, true) => F::narrow(nan),
            (true, _) => b,
            _ => a,
        };
    }
    if (order_key::<F>(x) < order_key::<F>(y)) == least {
        a
    } else {
        b
    }
}

/// IEEE 754-2019 `minimumNumber`: the lesser operand, -0 below +0; the other operand if one is NaN.
/// A signaling NaN raises `NV`.
#[inline]
pub fn min<F: Format>(a: F::Bits, b: F::Bits, flags: &mut u8) -> F::Bits {
    select::<F>(a, b, true, flags)
}

/// IEEE 754-2019 `maximumNumber`: the greater operand, -0 below +0; the other operand if one is
/// NaN. A signaling NaN raises `NV`.
#[inline]
pub fn max<F: Format>(a: F::Bits, b: F::Bits, flags: &mut u8) -> F::Bits {
    select::<F>(a, b, false, flags)
}

/// IEEE 754-2019 `minimum`: the lesser operand, -0 below +0; the canonical NaN if either is NaN. A
/// signaling NaN raises `NV`.
#[inline]
pub fn min_or_nan<F: Format>(a: F::Bits, b: F::Bits, flags: &mut u8) -> F::Bits {
    or_nan::<F>(a, b, true, flags)
}

/// IEEE 754-2019 `maximum`: the greater operand, -0 below +0; the canonical NaN if either is NaN. A
/// signaling NaN raises `NV`.
#[inline]
pub fn max_or_nan<F: Format>(a: F::Bits, b: F::Bits, flags: &mut u8) -> F::Bits {
    or_nan::<F>(a, b, false, flags)
}

fn or_nan<F: Format>(a: F::Bits, b: F::Bits, least: bool, flags: &mut u8) -> F::Bits {
    let operands = [F::widen(a), F::widen(b)];
    if operands.into_iter().any(is_nan::<F>) {
        return F::narrow(nan_from::<F>(&operands, flags));
    }
    select::<F>(a, b, least, flags)
}

/// `a == b`; false if either is NaN. Quiet: only a signaling NaN raises `NV`.
#[inline]
pub fn eq<F: Format>(a: F::Bits, b: F::Bits, flags: &mut u8) -> bool {
    let order = F::host(a).partial_cmp(&F::host(b));
    if order.is_none() && (is_signaling::<F>(F::widen(a)) || is_signaling::<F>(F::widen(b))) {
        *flags |= NV;
    }
    order == Some(Ordering::Equal)
}

/// `a < b`; false if either is NaN. Signaling: any NaN raises `NV`.
#[inline]
pub fn lt<F: Format>(a: F::Bits, b: F::Bits, flags: &mut u8) -> bool {
    ordered::<F>(a, b, flags) && F::host(a) < F::host(b)
}

/// `a <= b`; false if either is NaN. Signaling: any NaN raises `NV`.
#[inline]
pub fn le<F: Format>(a: F::Bits, b: F::Bits, flags: &mut u8) -> bool {
    ordered::<F>(a, b, flags) && F::host(a) <= F::host(b)
}

/// `a < b`; false if either is NaN. Quiet: only a signaling NaN raises `NV`.
#[inline]
pub fn lt_quiet<F: Format>(a: F::Bits, b: F::Bits, flags: &mut u8) -> bool {
    // For its flag.
    eq::<F>(a, b, flags);
    F::host(a) < F::host(b)
}

/// `a <= b`; false if either is NaN. Quiet: only a signaling NaN raises `NV`.
#[inline]
pub fn le_quiet<F: Format>(a: F::Bits, b: F::Bits, flags: &mut u8) -> bool {
    eq::<F>(a, b, flags);
    F::host(a) <= F::host(b)
}

/// Whether neither operand is NaN; raises `NV` if one is.
#[inline]
fn ordered<F: Format>(a: F::Bits, b: F::Bits, flags: &mut u8) -> bool {
    let ordered = F::host(a).partial_cmp(&F::host(b)).is_some();
    if !ordered {
        *flags |= NV;
    }
    ordered
}

/// The class of `a` as the one-hot mask of the RISC-V `fclass` instructions: bit 0 -inf, 1 negative
/// normal, 2 negative subnormal, 3 -0, 4 +0, 5 positive subnormal, 6 positive normal, 7 +inf, 8
/// signaling NaN, 9 quiet NaN.
#[inline]
pub fn classify<F: Format>(a: F::Bits) -> u32 {
    let a = F::widen(a);
    if is_nan::<F>(a) {
        return if is_signaling::<F>(a) { 1 << 8 } else { 1 << 9 };
    }
    let size = match magnitude::<F>(a) {
        0 => 0,
        m if m < F::IMPLICIT => 1,
        m if m < F::INFINITY => 2,
        _ => 3,
    };
    1 << if is_negative::<F>(a) {
        3 - size
    } else {
        4 + size
    }
}
