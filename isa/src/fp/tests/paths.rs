//! The fast path against the slow one, with and without `NX` accrued beforehand.

use super::operands::{operand, pair, triple};
use super::{Binary32, Binary64, Format, Round, for_cases};
use crate::fp::flag::{NV, NX};
use crate::fp::{self, Integer, convert, soft};

/// Requires both paths to give the same bits and flags from several initial flags.
fn same<F: Format>(
    name: &str,
    operands: &[u64],
    rm: Round,
    public: impl Fn(&mut u8) -> F::Bits,
    slow: impl Fn(&mut u8) -> u64,
) {
    for initial in [0, NX, NV] {
        let (mut flags, mut slow_flags) = (initial, initial);
        let bits = F::widen(public(&mut flags));
        let slow_bits = slow(&mut slow_flags);
        assert!(
            (bits, flags) == (slow_bits, slow_flags),
            "{name}, {rm:?}, operands {operands:#x?}, flags before {initial:#x}: \
             {bits:#x} with flags {flags:#x}, but {slow_bits:#x} with {slow_flags:#x} on the slow path"
        );
    }
}

/// Mostly to nearest even, the one direction with a fast path for arithmetic.
fn mostly_nearest(rm: Round) -> Round {
    if rm == Round::Down {
        rm
    } else {
        Round::NearestEven
    }
}

fn arithmetic<F: Format>(seed: u64) {
    for_cases(seed, |rng, rm| {
        let rm = mostly_nearest(rm);
        let (a, b, c) = triple::<F>(rng);
        let (x, y, z) = (F::narrow(a), F::narrow(b), F::narrow(c));
        let pair = [a, b];
        same::<F>(
            "add",
            &pair,
            rm,
            |f| fp::add::<F>(x, y, rm, f),
            |f| soft::add::<F>(a, b, rm, f),
        );
        same::<F>(
            "sub",
            &pair,
            rm,
            |f| fp::sub::<F>(x, y, rm, f),
            |f| soft::sub::<F>(a, b, rm, f),
        );
        same::<F>(
            "mul",
            &pair,
            rm,
            |f| fp::mul::<F>(x, y, rm, f),
            |f| soft::mul::<F>(a, b, rm, f),
        );
        same::<F>(
            "div",
            &pair,
            rm,
            |f| fp::div::<F>(x, y, rm, f),
            |f| soft::div::<F>(a, b, rm, f),
        );
        same::<F>(
            "sqrt",
            &[a],
            rm,
            |f| fp::sqrt::<F>(x, rm, f),
            |f| soft::sqrt::<F>(a, rm, f),
        );
        same::<F>(
            "mul_add",
            &[a, b, c],
            rm,
            |f| fp::mul_add::<F>(x, y, z, rm, f),
            |f| soft::mul_add::<F>(a, b, c, rm, f),
        );
    });
}

#[test]
fn arithmetic_paths_agree() {
    arithmetic::<Binary32>(11);
    arithmetic::<Binary64>(12);
}

/// Operands whose exact result fits the format: the inexactness tests must not raise `NX`.
fn exact_results<F: Format>(seed: u64) {
    for_cases(seed, |rng, _| {
        let rm = Round::NearestEven;
        let mut small = |bits: u32| {
            let integer = rng.next() as i64 >> (63 - rng.below(u64::from(bits)));
            fp::from_int::<F, i64>(integer, rm, &mut 0)
        };
        let half = F::PRECISION / 2;
        let (a, b, c) = (small(half), small(half), small(F::PRECISION - 2));
        let mut flags = 0;
        let product = fp::mul::<F>(a, b, rm, &mut flags);
        fp::add::<F>(a, c, rm, &mut flags);
        fp::sub::<F>(a, c, rm, &mut flags);
        fp::mul_add::<F>(a, b, c, rm, &mut flags);
        if F::widen(b) & !F::SIGN != 0 {
            assert_eq!(fp::div::<F>(product, b, rm, &mut flags), a);
        }
        let square = fp::mul::<F>(a, a, rm, &mut flags);
        assert_eq!(
            F::widen(fp::sqrt::<F>(square, rm, &mut flags)),
            F::widen(a) & !F::SIGN
        );
        assert_eq!(flags, 0, "operands {a:?}, {b:?}, {c:?}");
    });
}

#[test]
fn exact_results_raise_nothing() {
    exact_results::<Binary32>(13);
    exact_results::<Binary64>(14);
}

fn one_integer<F: Format, I: Integer>(a: u64, x: u64, rm: Round) {
    for initial in [0, NX] {
        let (mut flags, mut slow_flags) = (initial, initial);
        let fast: I = fp::to_int::<F, I>(F::narrow(a), rm, &mut flags);
        let slow: I = convert::to_int_soft::<F, I>(a, rm, &mut slow_flags);
        assert_eq!(
            (fast, flags),
            (slow, slow_flags),
            "{a:#x} to integer, {rm:?}"
        );
    }
    let value = I::narrow(i128::from(x));
    same::<F>(
        "from_int",
        &[x],
        rm,
        |f| fp::from_int::<F, I>(value, rm, f),
        |f| convert::from_int_soft::<F>(value.widen(), rm, f),
    );
}

fn conversions<F: Format, G: Format>(seed: u64) {
    for_cases(seed, |rng, rm| {
        let (a, b) = pair::<F>(rng);
        let x = rng.integer();
        one_integer::<F, i32>(a, x, rm);
        one_integer::<F, u32>(a, x, rm);
        one_integer::<F, i64>(a, x, rm);
        one_integer::<F, u64>(a, x, rm);
        let resize = |f: &mut u8| fp::resize::<F, G>(F::narrow(b), rm, f);
        same::<G>("resize", &[b], rm, resize, |f| {
            convert::resize_soft::<F, G>(b, rm, f)
        });
        // Numbers of the other format's range.
        let c = fp::resize::<G, F>(G::narrow(operand::<G>(rng)), rm, &mut 0);
        let c = F::widen(c) ^ rng.below(8);
        let resize = |f: &mut u8| fp::resize::<F, G>(F::narrow(c), rm, f);
        same::<G>("resize", &[c], rm, resize, |f| {
            convert::resize_soft::<F, G>(c, rm, f)
        });
    });
}

#[test]
fn conversion_paths_agree() {
    conversions::<Binary32, Binary64>(15);
    conversions::<Binary64, Binary32>(16);
}
