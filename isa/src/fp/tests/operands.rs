//! Random operands that favour the corners of the formats.

use super::Format;

/// Marsaglia's xorshift64* generator.
pub(super) struct Rng(u64);

impl Rng {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub(super) fn below(&mut self, bound: u64) -> u64 {
        (self.next() >> 32) % bound
    }

    /// An integer with a random number of significant bits, now and then next to a power of two.
    pub(super) fn integer(&mut self) -> u64 {
        let length = self.below(65) as u32;
        let bits = match self.below(4) {
            0 => 0,
            1 => u64::MAX,
            _ => self.next(),
        };
        let value = bits
            .checked_shr(64 - length)
            .unwrap_or(0)
            .wrapping_add(self.below(5))
            .wrapping_sub(2);
        if self.below(3) == 0 {
            value.wrapping_neg()
        } else {
            value
        }
    }
}

/// A fraction field: random, sparse, dense, or random with trailing zeros.
fn fraction<F: Format>(rng: &mut Rng) -> u64 {
    let bit = |rng: &mut Rng| 1 << rng.below(u64::from(F::FRACTION_BITS));
    let bits = match rng.below(5) {
        0 => bit(rng) | bit(rng),
        1 => !(bit(rng) & bit(rng)),
        2 => rng.next() << rng.below(u64::from(F::FRACTION_BITS) + 1),
        3 => rng.below(4).wrapping_sub(2),
        _ => rng.next(),
    };
    bits & (F::IMPLICIT - 1)
}

/// A number with a random sign, an exponent near `exp` (clamped to the finite range) and a fraction
/// from `fraction`.
fn near<F: Format>(rng: &mut Rng, exp: i64, spread: u64) -> u64 {
    let exp = exp + rng.below(2 * spread + 1) as i64 - spread as i64;
    let field = (exp + i64::from(F::EMAX)).clamp(0, 2 * i64::from(F::EMAX)) as u64;
    let sign = if rng.below(2) == 0 { 0 } else { F::SIGN };
    sign | field << F::FRACTION_BITS | fraction::<F>(rng)
}

fn special<F: Format>(rng: &mut Rng) -> u64 {
    let one = (F::EMAX as u64) << F::FRACTION_BITS;
    let two_63 = (F::EMAX as u64 + 63) << F::FRACTION_BITS;
    let table = [
        0,
        1,
        F::IMPLICIT - 1,
        F::IMPLICIT,
        F::IMPLICIT + 1,
        one,
        one - 1,
        one + 1,
        one - F::IMPLICIT,
        two_63,
        two_63 - 1,
        F::INFINITY - 1,
        F::INFINITY,
        F::INFINITY + 1,
        F::CANONICAL_NAN,
        F::SIGN - 1,
    ];
    let sign = if rng.below(2) == 0 { 0 } else { F::SIGN };
    sign | table[rng.below(table.len() as u64) as usize]
}

/// The unbiased exponent as stored, the same for all subnormal numbers.
fn exponent<F: Format>(a: u64) -> i64 {
    ((a & F::INFINITY) >> F::FRACTION_BITS) as i64 - i64::from(F::EMAX)
}

/// A random operand. Special values and neighbours of the formats' limits are frequent.
pub(super) fn operand<F: Format>(rng: &mut Rng) -> u64 {
    match rng.below(10) {
        0 => special::<F>(rng),
        1 => near::<F>(rng, i64::from(F::EMIN), 3),
        2 => near::<F>(rng, i64::from(F::EMAX), 3),
        3 => near::<F>(rng, 0, 3),
        4 => near::<F>(rng, 0, 70),
        5 => near::<F>(rng, i64::from(F::EMIN) / 2, 3),
        6 => fraction::<F>(rng) >> rng.below(u64::from(F::FRACTION_BITS)),
        7 => rng.next() & (F::SIGN | (F::SIGN - 1)),
        8 => near::<F>(rng, 31, 34),
        _ => near::<F>(rng, i64::from(F::EMIN), 2 * u64::from(F::PRECISION)),
    }
}

/// Two operands; the second is often chosen so that sum, product or quotient meets a corner:
/// cancellation, a tie, or a result near either end of the exponent range.
pub(super) fn pair<F: Format>(rng: &mut Rng) -> (u64, u64) {
    let a = operand::<F>(rng);
    let exp = exponent::<F>(a);
    let precision = i64::from(F::PRECISION);
    let b = match rng.below(10) {
        0 => {
            a.wrapping_add(rng.below(5)).wrapping_sub(2)
                ^ if rng.below(4) == 0 { 0 } else { F::SIGN }
        }
        1 => near::<F>(rng, exp, 2),
        2 => near::<F>(rng, exp - precision, 2),
        3 => near::<F>(rng, i64::from(F::EMIN) - exp, 2),
        4 => near::<F>(rng, i64::from(F::EMIN) - exp, precision as u64 + 3),
        5 => near::<F>(rng, i64::from(F::EMAX) - exp, 2),
        6 => near::<F>(rng, exp - i64::from(F::EMIN), 2),
        7 => near::<F>(rng, exp - i64::from(F::EMAX), 2),
        _ => operand::<F>(rng),
    };
    let b = b & (F::SIGN | (F::SIGN - 1));
    if rng.below(2) == 0 { (a, b) } else { (b, a) }
}

/// Three operands; the third is often close to minus the product of the others, or far from it by
/// about the precision.
pub(super) fn triple<F: Format>(rng: &mut Rng) -> (u64, u64, u64) {
    let (a, b) = pair::<F>(rng);
    let exp = exponent::<F>(a) + exponent::<F>(b);
    let precision = i64::from(F::PRECISION);
    let c = match rng.below(6) {
        0 => {
            let product = F::widen(F::bits(F::host(F::narrow(a)) * F::host(F::narrow(b))));
            product.wrapping_add(rng.below(5)).wrapping_sub(2) ^ F::SIGN
        }
        1 => near::<F>(rng, exp, 2),
        2 => near::<F>(rng, exp + precision, 3),
        3 => near::<F>(rng, exp - precision, precision as u64 + 3),
        _ => operand::<F>(rng),
    };
    (a, b, c & (F::SIGN | (F::SIGN - 1)))
}
