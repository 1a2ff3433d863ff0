//! Arithmetic: the fast paths on the host's floating-point unit, falling back to `soft`.
//!
//! The rules by which a host result is accepted are given in the module documentation of [`super`];
//! each function states why its own test suffices.

use super::flag::NX;
use super::format::HostFloat;
use super::{Format, Round, soft};

/// The significand of a finite nonzero number with its trailing zeros removed.
#[inline]
fn odd_significand<F: Format>(a: F::Bits) -> u64 {
    let a = F::widen(a);
    let fraction = a & (F::IMPLICIT - 1);
    let significand = if a & F::INFINITY == 0 {
        fraction
    } else {
        fraction | F::IMPLICIT
    };
    significand >> significand.trailing_zeros()
}

/// `x + y` on the host, if its result and flags are certain. A finite sum of finite numbers cannot
/// underflow inexactly: a sum in the subnormal range is exact.
#[inline]
fn host_add<F: Format>(x: F::Host, y: F::Host, flags: &mut u8) -> Option<F::Bits> {
    let sum = x + y;
    if !sum.finite() {
        return None;
    }
    if *flags & NX == 0 {
        let error = F::Host::sum_error(x, y, sum);
        if !error.finite() {
            return None;
        }
        *flags |= if error == F::Host::ZERO { 0 } else { NX };
    }
    Some(F::bits(sum))
}

/// `a + b`.
#[inline]
pub fn add<F: Format>(a: F::Bits, b: F::Bits, rm: Round, flags: &mut u8) -> F::Bits {
    if rm == Round::NearestEven
        && let Some(sum) = host_add::<F>(F::host(a), F::host(b), flags)
    {
        return sum;
    }
    F::narrow(soft::add::<F>(F::widen(a), F::widen(b), rm, flags))
}

/// `a - b`.
#[inline]
pub fn sub<F: Format>(a: F::Bits, b: F::Bits, rm: Round, flags: &mut u8) -> F::Bits {
    if rm == Round::NearestEven
        && let Some(difference) = host_add::<F>(F::host(a), -F::host(b), flags)
    {
        return difference;
    }
    F::narrow(soft::sub::<F>(F::widen(a), F::widen(b), rm, flags))
}

/// `a * b`.
#[inline]
pub fn mul<F: Format>(a: F::Bits, b: F::Bits, rm: Round, flags: &mut u8) -> F::Bits {
    if rm == Round::NearestEven {
        let (x, y) = (F::host(a), F::host(b));
        let product = x * y;
        if product.well_inside() {
            // Exact if the product of the significands, which do not bear on the range, fits the
            // precision.
            if *flags & NX == 0 {
                let exact =
                    u128::from(odd_significand::<F>(a)) * u128::from(odd_significand::<F>(b));
                *flags |= if exact >> F::PRECISION == 0 { 0 } else { NX };
            }
            return F::bits(product);
        }
        // A zero product is exact only if a factor is zero; infinity times zero is NaN, which
        // equals nothing.
        if product == F::Host::ZERO && (x == F::Host::ZERO || y == F::Host::ZERO) {
            return F::bits(product);
        }
    }
    F::narrow(soft::mul::<F>(F::widen(a), F::widen(b), rm, flags))
}

/// `a / b`.
#[inline]
pub fn div<F: Format>(a: F::Bits, b: F::Bits, rm: Round, flags: &mut u8) -> F::Bits {
    if rm == Round::NearestEven {
        let (x, y) = (F::host(a), F::host(b));
        let quotient = x / y;
        // A zero or infinite divisor gives an infinity, a zero or a NaN.
        if quotient.well_inside() {
            // The quotient is within half an ulp, so it is exact if quotient times divisor is the
            // dividend up to a power of two.
            if *flags & NX == 0 {
                let back = u128::from(odd_significand::<F>(F::bits(quotient)))
                    * u128::from(odd_significand::<F>(b));
                *flags |= if back == u128::from(odd_significand::<F>(a)) {
                    0
                } else {
                    NX
                };
            }
            return F::bits(quotient);
        }
        if quotient == F::Host::ZERO && x == F::Host::ZERO {
            return F::bits(quotient);
        }
    }
    F::narrow(soft::div::<F>(F::widen(a), F::widen(b), rm, flags))
}

/// The square root of `a`.
#[inline]
pub fn sqrt<F: Format>(a: F::Bits, rm: Round, flags: &mut u8) -> F::Bits {
    if rm == Round::NearestEven {
        let root = F::host(a).root();
        if root.well_inside() {
            // The result is exact if its square is the operand up to a power of two.
            if *flags & NX == 0 {
                let odd = u128::from(odd_significand::<F>(F::bits(root)));
                *flags |= if odd * odd == u128::from(odd_significand::<F>(a)) {
                    0
                } else {
                    NX
                };
            }
            return F::bits(root);
        }
    }
    F::narrow(soft::sqrt::<F>(F::widen(a), rm, flags))
}

/// `a * b + c` with a single rounding; infinity times zero is invalid whatever `c` is.
///
/// The other fused operations follow by flipping signs: `a*b - c` negates `c`, `-(a*b) + c` negates
/// `a`, `-(a*b) - c` negates both.
#[inline]
pub fn mul_add<F: Format>(
    a: F::Bits,
    b: F::Bits,
    c: F::Bits,
    rm: Round,
    flags: &mut u8,
) -> F::Bits {
    if rm == Round::NearestEven {
        let (x, y, z) = (F::host(a), F::host(b), F::host(c));
        if let Some((result, inexact)) = x.fused(y, z, *flags & NX != 0) {
            if result.well_inside() {
                *flags |= if inexact { NX } else { 0 };
                return F::bits(result);
            }
            if result == F::Host::ZERO && (x == F::Host::ZERO || y == F::Host::ZERO) {
                return F::bits(result);
            }
        }
    }
    F::narrow(soft::mul_add::<F>(
        F::widen(a),
        F::widen(b),
        F::widen(c),
        rm,
        flags,
    ))
}

/// Operations in the state that most programs are in: rounding is to nearest even and `NX` is
/// accrued. They give the result only if it is certainly the host's and raises no flag but `NX`,
/// so that there is nothing to note; for everything else there are the full functions.
pub mod accrued {
    use super::super::Format;
    use super::super::format::HostFloat;

    /// `a + b`.
    #[inline(always)]
    pub fn add<F: Format>(a: F::Bits, b: F::Bits) -> Option<F::Bits> {
        let sum = F::host(a) + F::host(b);
        sum.finite().then(|| F::bits(sum))
    }

    /// `a - b`.
    #[inline(always)]
    pub fn sub<F: Format>(a: F::Bits, b: F::Bits) -> Option<F::Bits> {
        let difference = F::host(a) - F::host(b);
        difference.finite().then(|| F::bits(difference))
    }

    /// `a * b`.
    #[inline(always)]
    pub fn mul<F: Format>(a: F::Bits, b: F::Bits) -> Option<F::Bits> {
        let product = F::host(a) * F::host(b);
        product.well_inside().then(|| F::bits(product))
    }

    /// `a / b`.
    #[inline(always)]
    pub fn div<F: Format>(a: F::Bits, b: F::Bits) -> Option<F::Bits> {
        let quotient = F::host(a) / F::host(b);
        quotient.well_inside().then(|| F::bits(quotient))
    }

    /// The square root of `a`.
    #[inline(always)]
    pub fn sqrt<F: Format>(a: F::Bits) -> Option<F::Bits> {
        let root = F::host(a).root();
        root.well_inside().then(|| F::bits(root))
    }
}
