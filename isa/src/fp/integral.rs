//! Rounding to integers that stay floating-point numbers, and the modular conversion of Zfa.

use super::convert::{from_int_soft, round_to_i128};
use super::flag::{NV, NX};
use super::soft::{Unpacked, is_nan, is_negative, magnitude, nan_from, unpack};
use super::{Binary64, Format, Round};

/// `a` rounded to an integer in its own format. An infinity, a zero and a number without a fraction are
/// returned as they are; a zero result keeps the sign of `a`. A signaling NaN raises `NV`.
///
/// Raises `NX` for an inexact result only if `says_inexact` (`froundnx`; `fround` raises nothing).
#[inline(never)]
pub fn round_to_integral<F: Format>(
    a: F::Bits,
    rm: Round,
    says_inexact: bool,
    flags: &mut u8,
) -> F::Bits {
    let wide = F::widen(a);
    if is_nan::<F>(wide) {
        return F::narrow(nan_from::<F>(&[wide], flags));
    }
    if magnitude::<F>(wide) == 0 || magnitude::<F>(wide) == F::INFINITY {
        return a;
    }
    let x = unpack::<F>(wide);
    if x.exp >= F::FRACTION_BITS as i32 {
        return a;
    }
    let Some((integer, exact)) = round_to_i128(x, rm) else {
        unreachable!("a number with a fraction is below 2^64")
    };
    if says_inexact && !exact {
        *flags |= NX;
    }
    // Exact: an integer of at most as many bits as the significand, or the next power of two.
    let sign = if is_negative::<F>(wide) { F::SIGN } else { 0 };
    let rounded = from_int_soft::<F>(integer, Round::TowardZero, &mut 0);
    F::narrow(magnitude::<F>(rounded) | sign)
}

/// A binary64 number truncated to an integer, its low 32 bits, as JavaScript wants them (`fcvtmod.w.d`).
/// Infinities and NaNs give 0. `NV` says that the integer is not an `i32`, `NX` that it is one and inexact.
pub fn f64_to_i32_modular(a: u64, flags: &mut u8) -> i32 {
    if magnitude::<Binary64>(a) >= Binary64::INFINITY {
        *flags |= NV;
        return 0;
    }
    if magnitude::<Binary64>(a) == 0 {
        return 0;
    }
    let Unpacked { sign, exp, sig } = unpack::<Binary64>(a);
    let (low, exact) = match exp {
        ..0 => (0, false),
        0..63 => (sig >> (63 - exp), sig << (exp + 1) == 0),
        63..95 => (sig << (exp - 63), true),
        _ => (0, true),
    };
    let low = if sign { low.wrapping_neg() } else { low } as i32;
    let fits = exp < 31 || exp == 31 && sign && sig >> 32 == 1 << 31;
    if !fits {
        *flags |= NV;
    } else if !exact {
        *flags |= NX;
    }
    low
}
