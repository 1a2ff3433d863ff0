//! Against `rustc_apfloat`, the Rust compiler's port of LLVM's `APFloat`, in all rounding
//! directions.
//!
//! Three things are not compared with it but with definitions:
//!
//! - Operations on a NaN: it propagates payloads.
//! - The underflow flag: it calls a result tiny if what is *delivered* is subnormal, so a number
//!   just below the smallest normal one that is delivered as that one does not underflow there,
//!   though rounded with an unbounded exponent it may stay below.
//! - The overflow flag: it is missing there if the largest finite number is delivered.
//!
//! For both flags the tests compute the inexact result again from operands scaled by 2^64 or
//! 2^-64, where the exponent does not bind, and compare it with the bound scaled alike.

use rustc_apfloat::ieee::{Double, Single};
use rustc_apfloat::{Float, FloatConvert, Status, StatusAnd};

use super::operands::{operand, pair, triple};
use super::{Binary32, Binary64, Format, Round, for_cases};
use crate::fp::flag::{DZ, NV, NX, OF, UF};
use crate::fp::{self, Integer};

/// The exponent by which results are scaled to judge their range; above the precision of either
/// format.
const SCALE: i32 = 64;

trait Reference: Format {
    type Ap: Float;
}

impl Reference for Binary32 {
    type Ap = Single;
}

impl Reference for Binary64 {
    type Ap = Double;
}

fn direction(rm: Round) -> rustc_apfloat::Round {
    match rm {
        Round::NearestEven => rustc_apfloat::Round::NearestTiesToEven,
        Round::TowardZero => rustc_apfloat::Round::TowardZero,
        Round::Down => rustc_apfloat::Round::TowardNegative,
        Round::Up => rustc_apfloat::Round::TowardPositive,
        Round::NearestMaxMagnitude => rustc_apfloat::Round::NearestTiesToAway,
    }
}

fn flags_of(status: Status) -> u8 {
    let map = [
        (Status::INVALID_OP, NV),
        (Status::DIV_BY_ZERO, DZ),
        (Status::OVERFLOW, OF),
        (Status::UNDERFLOW, UF),
        (Status::INEXACT, NX),
    ];
    map.iter()
        .filter(|(bit, _)| status.intersects(*bit))
        .fold(0, |flags, (_, flag)| flags | flag)
}

fn ap<F: Reference>(a: u64) -> F::Ap {
    F::Ap::from_bits(u128::from(a))
}

fn is_signaling<F: Format>(a: u64) -> bool {
    a & !F::SIGN > F::INFINITY && a & F::QUIET == 0
}

/// The bits and flags RISC-V wants of a reference result. `scaled` computes it 2^k times as large.
fn expected<F: Format, A: Float>(result: StatusAnd<A>, scaled: impl Fn(i32) -> A) -> (u64, u8) {
    let mut flags = flags_of(result.status) & !(UF | OF);
    if flags & NX != 0 {
        let (least, greatest) = (A::smallest_normalized(), A::largest());
        let magnitude = result.value.abs();
        if magnitude <= least && scaled(SCALE).abs() < least.scalbn(SCALE) {
            flags |= UF;
        }
        if magnitude >= greatest && scaled(-SCALE).abs() > greatest.scalbn(-SCALE) {
            flags |= OF;
        }
    }
    let bits = if result.value.is_nan() {
        F::CANONICAL_NAN
    } else {
        result.value.to_bits() as u64
    };
    (bits, flags)
}

/// A term of a sum scaled by 2^k. One too small to be scaled down exactly is left: it is so far
/// below a sum near overflow that only its sign bears on the rounding.
fn scale_term<A: Float>(x: A, k: i32) -> A {
    if k < 0 && x.ilogb() < 0 {
        x
    } else {
        x.scalbn(k)
    }
}

/// Factors of a product scaled by 2^k: the smaller one scaled up or the larger one scaled down.
fn scale_factors<A: Float>(x: A, y: A, k: i32) -> (A, A) {
    if (x.ilogb() < y.ilogb()) == (k > 0) {
        (scale_term(x, k), y)
    } else {
        (x, scale_term(y, k))
    }
}

/// Dividend and divisor of a quotient scaled by 2^k, which is near the end of the range it leaves.
fn scale_quotient<A: Float>(x: A, y: A, k: i32) -> (A, A) {
    if (x.ilogb() < 0) == (k > 0) {
        (x.scalbn(k), y)
    } else {
        (x, y.scalbn(-k))
    }
}

fn check<F: Format>(name: &str, operands: &[u64], rm: Round, got: (u64, u8), want: (u64, u8)) {
    let bits = F::PRECISION + F::EXPONENT_BITS;
    assert_eq!(
        got, want,
        "{name}, binary{bits}, {rm:?}, operands {operands:#x?}: got {:#x} with flags {:#x}, want {:#x} with {:#x}",
        got.0, got.1, want.0, want.1
    );
}

/// Result of an operation with a NaN operand; `invalid` tells of a reason for `NV` other than a signaling NaN.
fn nan_result<F: Format>(operands: &[u64], invalid: bool) -> Option<(u64, u8)> {
    let any_nan = operands.iter().any(|&a| a & !F::SIGN > F::INFINITY);
    let invalid = invalid || operands.iter().any(|&a| is_signaling::<F>(a));
    any_nan.then_some((F::CANONICAL_NAN, if invalid { NV } else { 0 }))
}

/// Runs a function on fresh flags; returns its widened result and the flags.
fn run<F: Format>(operation: impl FnOnce(&mut u8) -> F::Bits) -> (u64, u8) {
    let mut flags = 0;
    let bits = operation(&mut flags);
    (F::widen(bits), flags)
}

fn two_operands<F: Reference>(seed: u64) {
    for_cases(seed, |rng, rm| {
        let (a, b) = pair::<F>(rng);
        let (na, nb, r) = (F::narrow(a), F::narrow(b), direction(rm));
        let (x, y) = (ap::<F>(a), ap::<F>(b));
        let nan = nan_result::<F>(&[a, b], false);

        let scaled = |k| scale_term(x, k).add_r(scale_term(y, k), r).value;
        let want = nan.unwrap_or_else(|| expected::<F, _>(x.add_r(y, r), scaled));
        check::<F>(
            "add",
            &[a, b],
            rm,
            run::<F>(|f| fp::add::<F>(na, nb, rm, f)),
            want,
        );

        let scaled = |k| scale_term(x, k).sub_r(scale_term(y, k), r).value;
        let want = nan.unwrap_or_else(|| expected::<F, _>(x.sub_r(y, r), scaled));
        check::<F>(
            "sub",
            &[a, b],
            rm,
            run::<F>(|f| fp::sub::<F>(na, nb, rm, f)),
            want,
        );

        let scaled = |k| {
            let (x, y) = scale_factors(x, y, k);
            x.mul_r(y, r).value
        };
        let want = nan.unwrap_or_else(|| expected::<F, _>(x.mul_r(y, r), scaled));
        check::<F>(
            "mul",
            &[a, b],
            rm,
            run::<F>(|f| fp::mul::<F>(na, nb, rm, f)),
            want,
        );

        let scaled = |k| {
            let (x, y) = scale_quotient(x, y, k);
            x.div_r(y, r).value
        };
        let want = nan.unwrap_or_else(|| expected::<F, _>(x.div_r(y, r), scaled));
        check::<F>(
            "div",
            &[a, b],
            rm,
            run::<F>(|f| fp::div::<F>(na, nb, rm, f)),
            want,
        );
    });
}

#[test]
fn two_operands_agree() {
    two_operands::<Binary32>(1);
    two_operands::<Binary64>(2);
}

fn fused<F: Reference>(seed: u64) {
    for_cases(seed, |rng, rm| {
        let (a, b, c) = triple::<F>(rng);
        let (x, y, z, r) = (ap::<F>(a), ap::<F>(b), ap::<F>(c), direction(rm));
        let invalid = (x.is_zero() && y.is_infinite()) || (x.is_infinite() && y.is_zero());
        let scaled = |k| {
            let (x, y) = scale_factors(x, y, k);
            x.mul_add_r(y, scale_term(z, k), r).value
        };
        let want = nan_result::<F>(&[a, b, c], invalid)
            .unwrap_or_else(|| expected::<F, _>(x.mul_add_r(y, z, r), scaled));
        let got = run::<F>(|f| fp::mul_add::<F>(F::narrow(a), F::narrow(b), F::narrow(c), rm, f));
        check::<F>("mul_add", &[a, b, c], rm, got, want);
    });
}

#[test]
fn fused_agrees() {
    fused::<Binary32>(3);
    fused::<Binary64>(4);
}

/// Checks a conversion to `I`; an invalid one gives the end of the range that RISC-V prescribes.
fn one_to_int<F: Reference, I: Integer>(a: u64, rm: Round) {
    let (x, r, mut exact) = (ap::<F>(a), direction(rm), false);
    let (status, value) = if I::LEAST < 0 {
        let width = if I::GREATEST == i128::from(i32::MAX) {
            32
        } else {
            64
        };
        let result = x.to_i128_r(width, r, &mut exact);
        (result.status, result.value)
    } else {
        let width = if I::GREATEST == i128::from(u32::MAX) {
            32
        } else {
            64
        };
        let result = x.to_u128_r(width, r, &mut exact);
        (result.status, result.value as i128)
    };
    let want = if status.intersects(Status::INVALID_OP) {
        (
            if x.is_negative() && !x.is_nan() {
                I::LEAST
            } else {
                I::GREATEST
            },
            NV,
        )
    } else {
        (value, flags_of(status))
    };
    let mut flags = 0;
    let got: I = fp::to_int::<F, I>(F::narrow(a), rm, &mut flags);
    assert_eq!(
        (got.widen(), flags),
        want,
        "{a:#x} to {}..={}, {rm:?}",
        I::LEAST,
        I::GREATEST
    );
}

fn one_from_int<F: Reference, I: Integer>(x: u64, rm: Round) {
    let value = I::narrow(i128::from(x));
    let reference = F::Ap::from_i128_r(value.widen(), direction(rm));
    let want = expected::<F, _>(reference, |_| reference.value);
    check::<F>(
        "from_int",
        &[x],
        rm,
        run::<F>(|f| fp::from_int::<F, I>(value, rm, f)),
        want,
    );
}

fn integers<F: Reference>(seed: u64) {
    for_cases(seed, |rng, rm| {
        let a = operand::<F>(rng);
        one_to_int::<F, i32>(a, rm);
        one_to_int::<F, u32>(a, rm);
        one_to_int::<F, i64>(a, rm);
        one_to_int::<F, u64>(a, rm);
        let x = rng.integer();
        one_from_int::<F, i32>(x, rm);
        one_from_int::<F, u32>(x, rm);
        one_from_int::<F, i64>(x, rm);
        one_from_int::<F, u64>(x, rm);
    });
}

#[test]
fn integer_conversions_agree() {
    integers::<Binary32>(5);
    integers::<Binary64>(6);
}

#[test]
fn format_conversions_agree() {
    for_cases(7, |rng, rm| {
        let (r, mut loses) = (direction(rm), false);
        let a = if rng.below(2) == 0 {
            operand::<Binary64>(rng)
        } else {
            // A number near the range of binary32: one of its numbers, with more bits below it.
            let near = f64::from(f32::from_bits(operand::<Binary32>(rng) as u32)).to_bits();
            near ^ (rng.next() & rng.next() & rng.next() & 0x3fff_ffff)
        };
        let x = ap::<Binary64>(a);
        let scaled = |k| -> Single { x.scalbn(k).convert_r(r, &mut false).value };
        let want = match nan_result::<Binary64>(&[a], false) {
            Some((_, flags)) => (Binary32::CANONICAL_NAN, flags),
            None => {
                let converted: StatusAnd<Single> = x.convert_r(r, &mut loses);
                expected::<Binary32, _>(converted, scaled)
            }
        };
        check::<Binary32>(
            "to binary32",
            &[a],
            rm,
            run::<Binary32>(|f| fp::f64_to_f32(a, rm, f)),
            want,
        );

        let b = operand::<Binary32>(rng);
        let want = match nan_result::<Binary32>(&[b], false) {
            Some((_, flags)) => (Binary64::CANONICAL_NAN, flags),
            None => {
                let converted: StatusAnd<Double> = ap::<Binary32>(b).convert_r(r, &mut loses);
                expected::<Binary64, _>(converted, |_| converted.value)
            }
        };
        check::<Binary64>(
            "to binary64",
            &[b],
            rm,
            run::<Binary64>(|f| fp::f32_to_f64(b as u32, f)),
            want,
        );
    });
}
