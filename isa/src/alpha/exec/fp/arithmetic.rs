//! Addition, subtraction, multiplication, division, square root.

use super::ieee::{Floating, is_denormal, operate};
use super::{fa, fb, write};
use crate::exec::Outcome;
use crate::fp::flag::NX;
use crate::fp::{self, Binary32, Binary64, Format, Round};
use crate::hart::Hart;
use crate::inst::Inst;

/// The bits of the immediate that say how to round and whether an inexact result may trap.
const ROUNDING_AND_INEXACT: i64 = 0b0_1011;
const NORMAL: i64 = 0b0_0010;
const CHOPPED: i64 = 0b0_0000;

/// The instruction rounds to nearest and cannot trap for an inexact result, whatever FPCR holds.
#[inline(always)]
pub(crate) fn is_plain(inst: &Inst) -> bool {
    inst.imm & ROUNDING_AND_INEXACT == NORMAL
}

/// The instruction rounds toward zero and cannot trap for an inexact result.
#[inline(always)]
pub(crate) fn is_chopped(inst: &Inst) -> bool {
    inst.imm & ROUNDING_AND_INEXACT == CHOPPED
}

/// The common case of an operation that rounds to nearest ([`is_plain`]) with inexact results accrued
/// already: operands and result are normal numbers (or, of a sum, zero), so that no trap, no exception and
/// no control bit bears on it. Everything else is `None`.
#[inline(always)]
fn common<F: Floating>(
    hart: &Hart,
    [a, b]: [u64; 2],
    compute: impl Fn(F::Bits, F::Bits) -> Option<F::Bits>,
) -> Option<u64> {
    let (x, y) = (F::from_register(a), F::from_register(b));
    if hart.fcsr & NX == 0 || is_denormal::<Binary64>(a) || is_denormal::<Binary64>(b) {
        return None;
    }
    // A register that is no S_floating number may hold a denormal one after all.
    if F::PRECISION < Binary64::PRECISION && (is_denormal::<F>(x) || is_denormal::<F>(y)) {
        return None;
    }
    let bits = F::widen(compute(F::narrow(x), F::narrow(y))?);
    (!is_denormal::<F>(bits)).then(|| F::to_register(bits))
}

/// Operations: `name, common_name, full_name: Format, operands = function of fp::accrued, function of fp`.
macro_rules! arithmetic {
    ($($name:ident, $common:ident, $full:ident: $format:ident, |$hart:ident, $inst:ident| $operands:expr,
       |$x:ident, $y:ident| $fast:expr, |$rm:ident, $flags:ident| $exact:expr;)*) => {$(
        pub(crate) fn $name<B>(hart: &mut Hart, _: &mut B, inst: &Inst, _: u64) -> Outcome {
            if is_plain(inst)
                && let Some(value) = $common(hart, inst)
            {
                return write(hart, inst, value);
            }
            $full(hart, inst)
        }

        /// The result of this operation in the common case; only for an instruction that
        /// [`is_plain`].
        #[inline(always)]
        pub(crate) fn $common($hart: &Hart, $inst: &Inst) -> Option<u64> {
            common::<$format>($hart, $operands, |$x, $y| $fast)
        }

        #[inline(never)]
        fn $full($hart: &mut Hart, $inst: &Inst) -> Outcome {
            operate::<$format, $format>($hart, $inst, $operands, |x, y, $rm: Round, $flags| {
                let ($x, $y) = ($format::narrow(x), $format::narrow(y));
                $format::widen($exact)
            })
        }
    )*};
}

arithmetic! {
    adds, common_adds, full_adds: Binary32, |hart, inst| [fa(hart, inst), fb(hart, inst)],
        |x, y| fp::accrued::add::<Binary32>(x, y), |rm, flags| fp::f32_add(x, y, rm, flags);
    subs, common_subs, full_subs: Binary32, |hart, inst| [fa(hart, inst), fb(hart, inst)],
        |x, y| fp::accrued::sub::<Binary32>(x, y), |rm, flags| fp::f32_sub(x, y, rm, flags);
    muls, common_muls, full_muls: Binary32, |hart, inst| [fa(hart, inst), fb(hart, inst)],
        |x, y| fp::accrued::mul::<Binary32>(x, y), |rm, flags| fp::f32_mul(x, y, rm, flags);
    divs, common_divs, full_divs: Binary32, |hart, inst| [fa(hart, inst), fb(hart, inst)],
        |x, y| fp::accrued::div::<Binary32>(x, y), |rm, flags| fp::f32_div(x, y, rm, flags);
    sqrts, common_sqrts, full_sqrts: Binary32, |hart, inst| [fb(hart, inst); 2],
        |_x, y| fp::accrued::sqrt::<Binary32>(y), |rm, flags| fp::f32_sqrt(y, rm, flags);
    addt, common_addt, full_addt: Binary64, |hart, inst| [fa(hart, inst), fb(hart, inst)],
        |x, y| fp::accrued::add::<Binary64>(x, y), |rm, flags| fp::f64_add(x, y, rm, flags);
    subt, common_subt, full_subt: Binary64, |hart, inst| [fa(hart, inst), fb(hart, inst)],
        |x, y| fp::accrued::sub::<Binary64>(x, y), |rm, flags| fp::f64_sub(x, y, rm, flags);
    mult, common_mult, full_mult: Binary64, |hart, inst| [fa(hart, inst), fb(hart, inst)],
        |x, y| fp::accrued::mul::<Binary64>(x, y), |rm, flags| fp::f64_mul(x, y, rm, flags);
    divt, common_divt, full_divt: Binary64, |hart, inst| [fa(hart, inst), fb(hart, inst)],
        |x, y| fp::accrued::div::<Binary64>(x, y), |rm, flags| fp::f64_div(x, y, rm, flags);
    sqrtt, common_sqrtt, full_sqrtt: Binary64, |hart, inst| [fb(hart, inst); 2],
        |_x, y| fp::accrued::sqrt::<Binary64>(y), |rm, flags| fp::f64_sqrt(y, rm, flags);
}
