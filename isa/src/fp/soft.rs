//! The slow path: arithmetic on integer significands, exact in every case.
//!
//! A finite nonzero number is held as `(-1)^sign * sig * 2^(exp - 63)` with the leading bit of
//! `sig` set. Bits that fall off to the right are gathered in the lowest bit kept ("jamming"): with
//! at least two bits below the precision of the result, that bit decides every rounding as the full
//! tail would.

use super::flag::{DZ, NV, NX, OF, UF};
use super::{Format, Round};

/// A finite nonzero number.
#[derive(Clone, Copy)]
pub(super) struct Unpacked {
    pub(super) sign: bool,
    pub(super) exp: i32,
    pub(super) sig: u64,
}

/// A finite nonzero number `(-1)^sign * sig * 2^(exp - 125)` with bit 125 the leading one of `sig`:
/// two bits of headroom.
#[derive(Clone, Copy)]
struct Wide {
    sign: bool,
    exp: i32,
    sig: u128,
}

#[inline]
pub(super) fn is_negative<F: Format>(a: u64) -> bool {
    a & F::SIGN != 0
}

#[inline]
pub(super) fn magnitude<F: Format>(a: u64) -> u64 {
    a & !F::SIGN
}

#[inline]
pub(super) fn is_nan<F: Format>(a: u64) -> bool {
    magnitude::<F>(a) > F::INFINITY
}

#[inline]
pub(super) fn is_signaling<F: Format>(a: u64) -> bool {
    is_nan::<F>(a) && a & F::QUIET == 0
}

#[inline]
fn is_infinite<F: Format>(a: u64) -> bool {
    magnitude::<F>(a) == F::INFINITY
}

#[inline]
fn is_zero<F: Format>(a: u64) -> bool {
    magnitude::<F>(a) == 0
}

#[inline]
fn signed<F: Format>(sign: bool, magnitude: u64) -> u64 {
    if sign { magnitude | F::SIGN } else { magnitude }
}

/// The result of an operation with a NaN among its operands, in format `F`; a signaling one raises
/// `NV`.
///
/// This is the one place that decides which NaN comes out: RISC-V always takes the canonical one,
/// an ISA that propagates payloads (Alpha) chooses here among `operands`.
pub(super) fn nan_from<F: Format>(operands: &[u64], flags: &mut u8) -> u64 {
    if operands.iter().any(|&a| is_signaling::<F>(a)) {
        *flags |= NV;
    }
    F::CANONICAL_NAN
}

/// The NaN an invalid operation on numbers yields; raises `NV`.
fn invalid<F: Format>(flags: &mut u8) -> u64 {
    *flags |= NV;
    F::CANONICAL_NAN
}

/// Splits a finite nonzero number.
pub(super) fn unpack<F: Format>(a: u64) -> Unpacked {
    let fraction = a & (F::IMPLICIT - 1);
    let biased = ((a & F::INFINITY) >> F::FRACTION_BITS) as i32;
    let (low_exp, significand) = if biased == 0 {
        (F::EMIN, fraction)
    } else {
        (biased - F::EMAX, fraction | F::IMPLICIT)
    };
    let zeros = significand.leading_zeros();
    Unpacked {
        sign: is_negative::<F>(a),
        exp: low_exp + (63 - F::FRACTION_BITS as i32) - zeros as i32,
        sig: significand << zeros,
    }
}

/// Shifts right by `count >= 0`, jamming.
fn shift_right_jam(sig: u64, count: u32) -> u64 {
    if count >= 64 {
        u64::from(sig != 0)
    } else {
        sig >> count | u64::from(sig & ((1 << count) - 1) != 0)
    }
}

/// Shifts right by `count >= 0`, jamming.
fn shift_right_jam_wide(sig: u128, count: u32) -> u128 {
    if count >= 128 {
        u128::from(sig != 0)
    } else {
        sig >> count | u128::from(sig & ((1 << count) - 1) != 0)
    }
}

/// Whether a magnitude with `tail` below its last kept bit is rounded up; `half` is the tail of a
/// tie, `odd` the last kept bit.
#[inline]
pub(super) fn rounds_up(rm: Round, sign: bool, odd: bool, tail: u64, half: u64) -> bool {
    match rm {
        Round::NearestEven => tail > half || (tail == half && odd),
        Round::TowardZero => false,
        Round::Down => sign && tail != 0,
        Round::Up => !sign && tail != 0,
        Round::NearestMaxMagnitude => tail >= half,
    }
}

/// Rounds a nonzero number, whose `sig` has its leading bit set and its tail jammed, to format `F`.
pub(super) fn round_pack<F: Format>(x: Unpacked, rm: Round, flags: &mut u8) -> u64 {
    let Unpacked { sign, exp, sig } = x;
    if exp > F::EMAX {
        return overflow::<F>(sign, rm, flags);
    }
    let shift = 64 - F::PRECISION;
    let (half, mask) = (1 << (shift - 1), (1 << shift) - 1);
    let up = |sig: u64| rounds_up(rm, sign, sig >> shift & 1 != 0, sig & mask, half);

    let (exponent_field, sig, tiny) = if exp >= F::EMIN {
        ((exp - F::EMIN) as u64, sig, false)
    } else {
        // Tiny after rounding: still below the smallest normal number when rounded as if the
        // exponent had no bound.
        let reaches_normal = exp == F::EMIN - 1 && sig | mask == u64::MAX && up(sig);
        (
            0,
            shift_right_jam(sig, (F::EMIN - exp) as u32),
            !reaches_normal,
        )
    };
    if sig & mask != 0 {
        *flags |= if tiny { UF | NX } else { NX };
    }
    // The implicit bit, if present, and a carry out of the fraction add to the exponent field as
    // they should.
    let magnitude = (exponent_field << F::FRACTION_BITS) + (sig >> shift) + u64::from(up(sig));
    if magnitude >= F::INFINITY {
        overflow::<F>(sign, rm, flags)
    } else {
        signed::<F>(sign, magnitude)
    }
}

/// The result of an operation whose rounded magnitude exceeds the largest finite number.
fn overflow<F: Format>(sign: bool, rm: Round, flags: &mut u8) -> u64 {
    *flags |= OF | NX;
    let to_infinity = match rm {
        Round::NearestEven | Round::NearestMaxMagnitude => true,
        Round::TowardZero => false,
        Round::Down => sign,
        Round::Up => !sign,
    };
    signed::<F>(
        sign,
        if to_infinity {
            F::INFINITY
        } else {
            F::INFINITY - 1
        },
    )
}

/// Rounds `(-1)^sign * sig * 2^(exp - 127)`, `sig` nonzero, to format `F`.
fn round_pack_wide<F: Format>(sign: bool, exp: i32, sig: u128, rm: Round, flags: &mut u8) -> u64 {
    let zeros = sig.leading_zeros();
    let sig = sig << zeros;
    let jammed = (sig >> 64) as u64 | u64::from(sig as u64 != 0);
    round_pack::<F>(
        Unpacked {
            sign,
            exp: exp - zeros as i32,
            sig: jammed,
        },
        rm,
        flags,
    )
}

/// The zero an exact cancellation gives.
fn cancelled<F: Format>(rm: Round) -> u64 {
    signed::<F>(rm == Round::Down, 0)
}

impl Unpacked {
    fn widen(self) -> Wide {
        Wide {
            sign: self.sign,
            exp: self.exp,
            sig: u128::from(self.sig) << 62,
        }
    }

    /// The exact product.
    fn product(self, other: Unpacked) -> Wide {
        let sig = u128::from(self.sig) * u128::from(other.sig);
        // The leading bit is bit 126 or 127; the lowest bits are zero since each factor has at most
        // 53 significant ones.
        let high = (sig >> 127) as u32;
        Wide {
            sign: self.sign != other.sign,
            exp: self.exp + other.exp + high as i32,
            sig: sig >> (1 + high),
        }
    }
}

/// Adds two numbers of which each has at most 106 significant bits, so that jamming happens only
/// when they are far apart.
fn add_wide<F: Format>(x: Wide, y: Wide, rm: Round, flags: &mut u8) -> u64 {
    let (big, small) = if (x.exp, x.sig) >= (y.exp, y.sig) {
        (x, y)
    } else {
        (y, x)
    };
    let aligned = shift_right_jam_wide(small.sig, (big.exp - small.exp) as u32);
    let sig = if big.sign == small.sign {
        big.sig + aligned
    } else {
        big.sig - aligned
    };
    if sig == 0 {
        return cancelled::<F>(rm);
    }
    round_pack_wide::<F>(big.sign, big.exp + 2, sig, rm, flags)
}

/// `a + b`.
#[inline(never)]
pub(super) fn add<F: Format>(a: u64, b: u64, rm: Round, flags: &mut u8) -> u64 {
    if is_nan::<F>(a) || is_nan::<F>(b) {
        return nan_from::<F>(&[a, b], flags);
    }
    match (is_infinite::<F>(a), is_infinite::<F>(b)) {
        (true, true) if a != b => return invalid::<F>(flags),
        (true, _) => return a,
        (_, true) => return b,
        _ => {}
    }
    match (is_zero::<F>(a), is_zero::<F>(b)) {
        (true, true) => return if a == b { a } else { cancelled::<F>(rm) },
        (true, _) => return b,
        (_, true) => return a,
        _ => {}
    }
    add_wide::<F>(unpack::<F>(a).widen(), unpack::<F>(b).widen(), rm, flags)
}

/// `a - b`.
#[inline(never)]
pub(super) fn sub<F: Format>(a: u64, b: u64, rm: Round, flags: &mut u8) -> u64 {
    if is_nan::<F>(b) {
        return nan_from::<F>(&[a, b], flags);
    }
    add::<F>(a, b ^ F::SIGN, rm, flags)
}

/// `a * b`.
#[inline(never)]
pub(super) fn mul<F: Format>(a: u64, b: u64, rm: Round, flags: &mut u8) -> u64 {
    if is_nan::<F>(a) || is_nan::<F>(b) {
        return nan_from::<F>(&[a, b], flags);
    }
    let sign = is_negative::<F>(a ^ b);
    let zero = is_zero::<F>(a) || is_zero::<F>(b);
    if is_infinite::<F>(a) || is_infinite::<F>(b) {
        return if zero {
            invalid::<F>(flags)
        } else {
            signed::<F>(sign, F::INFINITY)
        };
    }
    if zero {
        return signed::<F>(sign, 0);
    }
    let product = unpack::<F>(a).product(unpack::<F>(b));
    round_pack_wide::<F>(sign, product.exp + 2, product.sig, rm, flags)
}

/// `a / b`.
#[inline(never)]
pub(super) fn div<F: Format>(a: u64, b: u64, rm: Round, flags: &mut u8) -> u64 {
    if is_nan::<F>(a) || is_nan::<F>(b) {
        return nan_from::<F>(&[a, b], flags);
    }
    let sign = is_negative::<F>(a ^ b);
    match (is_infinite::<F>(a), is_infinite::<F>(b)) {
        (true, true) => return invalid::<F>(flags),
        (true, _) => return signed::<F>(sign, F::INFINITY),
        (_, true) => return signed::<F>(sign, 0),
        _ => {}
    }
    match (is_zero::<F>(a), is_zero::<F>(b)) {
        (true, true) => return invalid::<F>(flags),
        (true, _) => return signed::<F>(sign, 0),
        (_, true) => {
            *flags |= DZ;
            return signed::<F>(sign, F::INFINITY);
        }
        _ => {}
    }
    let (x, y) = (unpack::<F>(a), unpack::<F>(b));
    let dividend = u128::from(x.sig) << 63;
    let divisor = u128::from(y.sig);
    // Between 2^62 and 2^64, since both significands lie between 2^63 and 2^64.
    let quotient = (dividend / divisor) as u64;
    let jam = u64::from(u128::from(quotient) * divisor != dividend);
    let zeros = quotient.leading_zeros();
    let sig = quotient << zeros | jam;
    round_pack::<F>(
        Unpacked {
            sign,
            exp: x.exp - y.exp - zeros as i32,
            sig,
        },
        rm,
        flags,
    )
}

/// The square root of `a`.
#[inline(never)]
pub(super) fn sqrt<F: Format>(a: u64, rm: Round, flags: &mut u8) -> u64 {
    if is_nan::<F>(a) {
        return nan_from::<F>(&[a], flags);
    }
    if is_zero::<F>(a) || a == F::INFINITY {
        return a;
    }
    if is_negative::<F>(a) {
        return invalid::<F>(flags);
    }
    let x = unpack::<F>(a);
    // An even exponent halves; the radicand then lies in [2^126, 2^128) and its root in [2^63,
    // 2^64).
    let radicand = u128::from(x.sig) << (63 + (x.exp & 1));
    let root = radicand.isqrt();
    let jam = u64::from(root * root != radicand);
    round_pack::<F>(
        Unpacked {
            sign: false,
            exp: x.exp >> 1,
            sig: root as u64 | jam,
        },
        rm,
        flags,
    )
}

/// `a * b + c` with a single rounding; infinity times zero is invalid whatever `c` is.
#[inline(never)]
pub(super) fn mul_add<F: Format>(a: u64, b: u64, c: u64, rm: Round, flags: &mut u8) -> u64 {
    let zero = is_zero::<F>(a) || is_zero::<F>(b);
    let infinite = is_infinite::<F>(a) || is_infinite::<F>(b);
    if is_nan::<F>(a) || is_nan::<F>(b) {
        return nan_from::<F>(&[a, b, c], flags);
    }
    if zero && infinite {
        return invalid::<F>(flags);
    }
    if is_nan::<F>(c) {
        return nan_from::<F>(&[a, b, c], flags);
    }
    let sign = is_negative::<F>(a ^ b);
    if infinite {
        let product = signed::<F>(sign, F::INFINITY);
        return if is_infinite::<F>(c) && c != product {
            invalid::<F>(flags)
        } else {
            product
        };
    }
    if is_infinite::<F>(c) {
        return c;
    }
    if zero {
        return add::<F>(signed::<F>(sign, 0), c, rm, flags);
    }
    let product = unpack::<F>(a).product(unpack::<F>(b));
    if is_zero::<F>(c) {
        return round_pack_wide::<F>(sign, product.exp + 2, product.sig, rm, flags);
    }
    add_wide::<F>(product, unpack::<F>(c).widen(), rm, flags)
}
