//! Conversions between formats, and to and from integers.

use super::arithmetic::{is_chopped, is_plain};
use super::ieee::{
    Qualifiers, complete, conclude, is_denormal, is_nan, is_signaling, operate, trap,
};
use super::{fb, write};
use crate::alpha::exec::mem::s_to_register;
use crate::alpha::fpcr::{self, IOV};
use crate::exec::Outcome;
use crate::fp::flag::{NV, NX};
use crate::fp::{self, Binary32, Binary64, Format, Round};
use crate::hart::Hart;
use crate::inst::Inst;

#[inline(never)]
fn narrow(hart: &mut Hart, inst: &Inst) -> Outcome {
    let operands = [fb(hart, inst); 2];
    operate::<Binary64, Binary32>(hart, inst, operands, |_, y, rm, flags| {
        u64::from(fp::f64_to_f32(y, rm, flags))
    })
}

#[inline(never)]
fn widen(hart: &mut Hart, inst: &Inst) -> Outcome {
    let operands = [fb(hart, inst); 2];
    operate::<Binary32, Binary64>(hart, inst, operands, |_, y, _, flags| {
        fp::f32_to_f64(y as u32, flags)
    })
}

/// A finite number rounded to an integer, the low 64 bits of it, and the flags: an overflow, which is
/// inexact as a result.
fn to_integer(bits: u64, rm: Round) -> (u64, u8) {
    const LEAST: u64 = (-9_223_372_036_854_775_808.0f64).to_bits();
    let exponent = (bits >> Binary64::FRACTION_BITS & 0x7ff) as i32 - Binary64::EMAX;
    if exponent < 63 || bits == LEAST {
        let mut flags = 0;
        let value = fp::f64_to_i64(bits, rm, &mut flags);
        return (value as u64, flags);
    }
    let significand = bits & (Binary64::IMPLICIT - 1) | Binary64::IMPLICIT;
    let magnitude = significand
        .checked_shl((exponent - Binary64::FRACTION_BITS as i32) as u32)
        .unwrap_or(0);
    let negative = bits & Binary64::SIGN != 0;
    let value = if negative {
        magnitude.wrapping_neg()
    } else {
        magnitude
    };
    (value, IOV | NX)
}

#[inline(never)]
fn to_quad(hart: &mut Hart, inst: &Inst) -> Outcome {
    let mut b = fb(hart, inst);
    let qualifiers = Qualifiers::of(inst);
    let rm = qualifiers.rounding(hart);
    let finite = b & Binary64::INFINITY != Binary64::INFINITY;
    if is_denormal::<Binary64>(b) {
        if !qualifiers.completion() {
            return trap(NV);
        }
        if fpcr::flushes_operands(hart) {
            b = 0;
        } else if fpcr::maps_denormals_to_zero(hart) {
            return complete(hart, inst, 0, 0, IOV | NX);
        } else {
            let (value, flags) = to_integer(b, rm);
            return complete(hart, inst, value, 0, IOV | flags);
        }
    }
    if !finite {
        if !qualifiers.completion() {
            return trap(NV);
        }
        // The kernel does not call a quiet NaN invalid, which the hardware does.
        let quiet = is_nan::<Binary64>(b) && !is_signaling::<Binary64>(b);
        return conclude(hart, inst, 0, NV, |_| (0, if quiet { 0 } else { NV }));
    }
    let (value, flags) = to_integer(b, rm);
    // The kernel calls an overflow invalid, and not inexact.
    let exceptions = if flags & IOV == 0 { flags } else { NV };
    conclude(hart, inst, value, flags, |_| (value, exceptions))
}

#[inline(always)]
fn from_quad(
    hart: &mut Hart,
    inst: &Inst,
    convert: impl Fn(i64, Round, &mut u8) -> u64,
) -> Outcome {
    let mut flags = 0;
    let rm = Qualifiers::of(inst).rounding(hart);
    let value = convert(fb(hart, inst) as i64, rm, &mut flags);
    if flags == 0 {
        return write(hart, inst, value);
    }
    conclude(hart, inst, value, flags, |_| (value, flags))
}

#[inline(never)]
fn quad_to_single(hart: &mut Hart, inst: &Inst) -> Outcome {
    from_quad(hart, inst, |x, rm, flags| {
        s_to_register(fp::f32_from_i64(x, rm, flags))
    })
}

#[inline(never)]
fn quad_to_double(hart: &mut Hart, inst: &Inst) -> Outcome {
    from_quad(hart, inst, fp::f64_from_i64)
}

/// Inexact results are accrued already.
#[inline(always)]
fn accrued(hart: &Hart) -> bool {
    hart.fcsr & NX != 0
}

/// Conversions: `name, common_name, full, when: common case`. The common case is that of numbers that
/// convert without a new exception, by an instruction for which `when` holds.
macro_rules! conversions {
    ($($(#[$doc:meta])* $name:ident, $common:ident, $full:ident, $when:ident:
       |$hart:ident, $b:ident| $value:expr;)*) => {$(
        pub(crate) fn $name<B>(hart: &mut Hart, _: &mut B, inst: &Inst, _: u64) -> Outcome {
            if $when(inst)
                && let Some(value) = $common(hart, inst)
            {
                return write(hart, inst, value);
            }
            $full(hart, inst)
        }

        $(#[$doc])*
        #[inline(always)]
        pub(crate) fn $common($hart: &Hart, inst: &Inst) -> Option<u64> {
            let $b = fb($hart, inst);
            $value
        }
    )*};
}

conversions! {
    /// The result if both it and the operand are normal; for an instruction that [`is_plain`].
    cvtts, common_cvtts, narrow, is_plain: |hart, b| {
        let wide = f64::from_bits(b);
        let single = wide as f32;
        let normal = single.abs() > f32::MIN_POSITIVE && single.is_finite();
        (normal && (accrued(hart) || f64::from(single) == wide)).then(|| f64::from(single).to_bits())
    };
    /// The result if the operand is normal or +0.
    cvtst, common_cvtst, widen, always: |_hart, b| {
        let normal = matches!(b >> 52 & 0x7ff, 0x381..0x47f) && b & 0x1fff_ffff == 0;
        (normal || b == 0).then_some(b)
    };
    /// The result if the operand is in range and not denormal; for an instruction that [`is_chopped`].
    cvttq, common_cvttq, to_quad, is_chopped: |hart, b| {
        const TWO_63: f64 = 9_223_372_036_854_775_808.0;
        let number = f64::from_bits(b);
        if number.abs() >= TWO_63 || number.is_nan() || is_denormal::<Binary64>(b) {
            return None;
        }
        let integer = number as i64;
        (accrued(hart) || integer as f64 == number).then_some(integer as u64)
    };
    /// The result; for an instruction that [`is_plain`].
    cvtqs, common_cvtqs, quad_to_single, is_plain: |hart, b| {
        let integer = b as i64;
        let exact = integer.unsigned_abs() >> f32::MANTISSA_DIGITS == 0;
        (accrued(hart) || exact).then(|| f64::from(integer as f32).to_bits())
    };
    /// The result; for an instruction that [`is_plain`].
    cvtqt, common_cvtqt, quad_to_double, is_plain: |hart, b| {
        let integer = b as i64;
        let exact = integer.unsigned_abs() >> f64::MANTISSA_DIGITS == 0;
        (accrued(hart) || exact).then(|| (integer as f64).to_bits())
    };
}

fn always(_: &Inst) -> bool {
    true
}

pub(crate) fn cvtql<B>(hart: &mut Hart, _: &mut B, inst: &Inst, _: u64) -> Outcome {
    let b = fb(hart, inst);
    let value = (b & 0xc000_0000) << 32 | (b & 0x3fff_ffff) << 29;
    if b == b as i32 as u64 {
        return write(hart, inst, value);
    }
    conclude(hart, inst, value, IOV | NX, |_| (value, NV))
}
