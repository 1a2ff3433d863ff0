//! Square root, selection, comparison and classification by their definitions, and examples from
//! the RISC-V manual.

use std::num::FpCategory;

use super::operands::{operand, pair};
use super::{Binary32, Binary64, Format, Round, for_cases};
use crate::fp::flag::{DZ, NV, NX, OF, UF};
use crate::fp::*;

/// Exponent and integer significand of a positive number: it is `significand * 2^(exponent -
/// FRACTION_BITS)`.
fn decompose<F: Format>(a: u64) -> (i32, u128) {
    let fraction = a & (F::IMPLICIT - 1);
    match (a >> F::FRACTION_BITS) as i32 {
        0 => {
            let up = fraction.leading_zeros() - F::IMPLICIT.leading_zeros();
            (F::EMIN - up as i32, u128::from(fraction) << up)
        }
        field => (field - F::EMAX, u128::from(fraction | F::IMPLICIT)),
    }
}

/// Checks a root rounded toward zero by `r^2 <= a < (r + ulp)^2` in integers, the other directions
/// by their distance from it.
fn square_root<F: Format>(seed: u64) {
    for_cases(seed, |rng, _| {
        let a = operand::<F>(rng) & !F::SIGN;
        if a == 0 || a >= F::INFINITY {
            return;
        }
        let root = |rm| {
            let mut flags = 0;
            (F::widen(sqrt::<F>(F::narrow(a), rm, &mut flags)), flags)
        };
        let (low, flags) = root(Round::TowardZero);
        let (exp, significand) = decompose::<F>(a);
        let (root_exp, r) = decompose::<F>(low);
        let odd = exp - 2 * root_exp;
        assert!(
            odd == 0 || odd == 1,
            "the exponent of the root of {a:#x} is {root_exp}"
        );
        let radicand = significand << (F::FRACTION_BITS + odd as u32);
        assert!(
            r * r <= radicand && radicand < (r + 1) * (r + 1),
            "root of {a:#x} toward zero: {low:#x}"
        );
        let inexact = r * r != radicand;
        let above_middle = radicand > r * r + r; // (r + 1/2)^2 is r^2 + r + 1/4; a tie cannot be
        assert_eq!(flags, if inexact { NX } else { 0 }, "root of {a:#x}");
        assert_eq!(root(Round::Down), (low, flags), "root of {a:#x} down");
        assert_eq!(
            root(Round::Up),
            (low + u64::from(inexact), flags),
            "root of {a:#x} up"
        );
        let nearest = (low + u64::from(above_middle), flags);
        assert_eq!(
            root(Round::NearestEven),
            nearest,
            "root of {a:#x} to nearest even"
        );
        assert_eq!(
            root(Round::NearestMaxMagnitude),
            nearest,
            "root of {a:#x} to nearest"
        );
    });
}

#[test]
fn square_root_is_exactly_rounded() {
    square_root::<Binary32>(21);
    square_root::<Binary64>(22);
}

#[test]
fn square_root_of_corners() {
    let root = |a: f64| {
        let mut flags = 0;
        (f64_sqrt(a.to_bits(), Round::NearestEven, &mut flags), flags)
    };
    assert_eq!(root(-0.0), ((-0.0f64).to_bits(), 0));
    assert_eq!(root(0.0), (0, 0));
    assert_eq!(root(f64::INFINITY), (f64::INFINITY.to_bits(), 0));
    assert_eq!(root(-1.0), (Binary64::CANONICAL_NAN, NV));
    assert_eq!(root(f64::NEG_INFINITY), (Binary64::CANONICAL_NAN, NV));
    assert_eq!(root(f64::NAN), (Binary64::CANONICAL_NAN, 0));
}

/// Comparison and selection against the relations of the host's numbers.
fn relations<F: Format>(seed: u64) {
    for_cases(seed, |rng, _| {
        let (a, b) = pair::<F>(rng);
        let b = if rng.below(8) == 0 {
            a ^ (rng.below(2) * F::SIGN)
        } else {
            b
        };
        let (x, y) = (F::narrow(a), F::narrow(b));
        let (hx, hy) = (F::host(x), F::host(y));
        let nan = |v: u64| v & !F::SIGN > F::INFINITY;
        let signaling = |v: u64| nan(v) && v & F::QUIET == 0;
        let quiet_flags = if signaling(a) || signaling(b) { NV } else { 0 };
        let signaling_flags = if nan(a) || nan(b) { NV } else { 0 };
        let with_flags = |op: fn(F::Bits, F::Bits, &mut u8) -> bool| {
            let mut flags = 0;
            (op(x, y, &mut flags), flags)
        };
        assert_eq!(
            with_flags(eq::<F>),
            (hx == hy, quiet_flags),
            "{a:#x} == {b:#x}"
        );
        assert_eq!(
            with_flags(lt::<F>),
            (hx < hy, signaling_flags),
            "{a:#x} < {b:#x}"
        );
        assert_eq!(
            with_flags(le::<F>),
            (hx <= hy, signaling_flags),
            "{a:#x} <= {b:#x}"
        );

        let (lesser, greater) = match (nan(a), nan(b)) {
            (true, true) => (F::CANONICAL_NAN, F::CANONICAL_NAN),
            (true, false) => (b, b),
            (false, true) => (a, a),
            _ if hx < hy => (a, b),
            _ if hx > hy => (b, a),
            // Equal: the same bits, or zeros of which the negative one is the lesser.
            _ => (a | b, a & b),
        };
        let mut flags = 0;
        assert_eq!(
            (F::widen(min::<F>(x, y, &mut flags)), flags),
            (lesser, quiet_flags),
            "min {a:#x} {b:#x}"
        );
        let mut flags = 0;
        assert_eq!(
            (F::widen(max::<F>(x, y, &mut flags)), flags),
            (greater, quiet_flags),
            "max {a:#x} {b:#x}"
        );
    });
}

#[test]
fn relations_hold() {
    relations::<Binary32>(23);
    relations::<Binary64>(24);
}

fn class_bit(category: FpCategory, negative: bool, quiet: bool) -> u32 {
    match (category, negative) {
        (FpCategory::Infinite, true) => 0,
        (FpCategory::Normal, true) => 1,
        (FpCategory::Subnormal, true) => 2,
        (FpCategory::Zero, true) => 3,
        (FpCategory::Zero, false) => 4,
        (FpCategory::Subnormal, false) => 5,
        (FpCategory::Normal, false) => 6,
        (FpCategory::Infinite, false) => 7,
        (FpCategory::Nan, _) => 8 + u32::from(quiet),
    }
}

#[test]
fn classes_match_the_manual() {
    for_cases(25, |rng, _| {
        let a = operand::<Binary32>(rng) as u32;
        let x = f32::from_bits(a);
        let bit = class_bit(x.classify(), x.is_sign_negative(), a & 1 << 22 != 0);
        assert_eq!(f32_classify(a), 1 << bit, "{a:#x}");
        let a = operand::<Binary64>(rng);
        let x = f64::from_bits(a);
        let bit = class_bit(x.classify(), x.is_sign_negative(), a & 1 << 51 != 0);
        assert_eq!(f64_classify(a), 1 << bit, "{a:#x}");
    });
}

/// The table of out-of-range conversions in the "F" chapter of the RISC-V manual.
#[test]
fn conversions_saturate_as_the_manual_says() {
    let rm = Round::TowardZero;
    let checked = |a: f64, nan_or_value: (i32, u32, i64, u64)| {
        let (a, mut flags) = (a.to_bits(), [0; 4]);
        let [f0, f1, f2, f3] = &mut flags;
        let got = (
            f64_to_i32(a, rm, f0),
            f64_to_u32(a, rm, f1),
            f64_to_i64(a, rm, f2),
            f64_to_u64(a, rm, f3),
        );
        assert_eq!(got, nan_or_value);
        assert_eq!(flags, [NV; 4]);
    };
    let greatest = (i32::MAX, u32::MAX, i64::MAX, u64::MAX);
    checked(f64::INFINITY, greatest);
    checked(f64::NAN, greatest);
    checked(-f64::NAN, greatest);
    checked(1e300, greatest);
    checked(f64::NEG_INFINITY, (i32::MIN, 0, i64::MIN, 0));
    checked(-1e300, (i32::MIN, 0, i64::MIN, 0));

    let mut flags = 0;
    assert_eq!(f64_to_u32((-0.75f64).to_bits(), rm, &mut flags), 0);
    assert_eq!(flags, NX);
    flags = 0;
    assert_eq!(
        f64_to_u32((-0.75f64).to_bits(), Round::NearestEven, &mut flags),
        0
    );
    assert_eq!(flags, NV);
    flags = 0;
    assert_eq!(
        f64_to_i64((-9_223_372_036_854_775_808.0f64).to_bits(), rm, &mut flags),
        i64::MIN
    );
    assert_eq!(flags, 0);
}

/// Tininess is judged on the result rounded as if the exponent had no bound, not on what is
/// delivered.
#[test]
fn tininess_is_detected_after_rounding() {
    let rm = Round::NearestEven;
    let smallest_normal = 0x0080_0000; // 2^-126
    // Half of (2 - 2^-23) * 2^-126 has 24 significant bits and lies below 2^-126: tiny, although a
    // tie between subnormal numbers delivers 2^-126.
    let mut flags = 0;
    assert_eq!(
        f32_mul(0x00ff_ffff, 0.5f32.to_bits(), rm, &mut flags),
        smallest_normal
    );
    assert_eq!(flags, UF | NX);
    // 2^-126 - 2^-152 rounded to 24 significant bits is 2^-126: not tiny.
    let (eighth, minus_least) = (0.125f32.to_bits(), 0x8000_0001);
    flags = 0;
    assert_eq!(
        f32_mul_add(eighth, minus_least, smallest_normal, rm, &mut flags),
        smallest_normal
    );
    assert_eq!(flags, NX);
}

#[test]
fn exceptions_have_their_flags() {
    let one = 1f64.to_bits();
    let (infinity, nan) = (Binary64::INFINITY, Binary64::CANONICAL_NAN);
    let rm = Round::NearestEven;
    let flags_of = |op: &dyn Fn(&mut u8) -> u64, want: u64| {
        let mut flags = 0;
        assert_eq!(op(&mut flags), want);
        flags
    };
    assert_eq!(flags_of(&|f| f64_div(one, 0, rm, f), infinity), DZ);
    assert_eq!(flags_of(&|f| f64_div(0, 0, rm, f), nan), NV);
    assert_eq!(flags_of(&|f| f64_sub(infinity, infinity, rm, f), nan), NV);
    assert_eq!(flags_of(&|f| f64_mul_add(infinity, 0, nan, rm, f), nan), NV);
    assert_eq!(flags_of(&|f| f64_mul_add(one, one, nan, rm, f), nan), 0);
    assert_eq!(
        flags_of(
            &|f| f64_mul(f64::MAX.to_bits(), f64::MAX.to_bits(), rm, f),
            infinity
        ),
        OF | NX
    );
    assert_eq!(
        flags_of(
            &|f| f64_mul(f64::MAX.to_bits(), f64::MAX.to_bits(), Round::Down, f),
            f64::MAX.to_bits()
        ),
        OF | NX
    );
    assert_eq!(
        flags_of(&|f| f64_sub(one, one, Round::Down, f), Binary64::SIGN),
        0
    );
    assert_eq!(flags_of(&|f| f64_sub(one, one, rm, f), 0), 0);
    assert_eq!(
        Round::ALL.map(|rm| Round::from_riscv(rm as u8)),
        Round::ALL.map(Some)
    );
    assert_eq!([5, 6, 7].map(Round::from_riscv), [None; 3]);
}
