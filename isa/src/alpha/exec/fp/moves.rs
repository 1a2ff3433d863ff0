//! Moves, sign operations, conditional moves, and FPCR: nothing here looks at its operands as numbers,
//! so nothing traps.

use super::{fa, fb, write};
use crate::alpha::exec::mem::{register_to_s, s_to_register};
use crate::alpha::fpcr;
use crate::exec::Outcome;
use crate::hart::Hart;
use crate::inst::Inst;

const SIGN: u64 = 1 << 63;
const SIGN_AND_EXPONENT: u64 = 0xfff << 52;

/// Functions of one or two registers: `name(a, b) = value;`.
macro_rules! moves {
    ($($name:ident($a:ident, $b:ident) = $value:expr;)*) => {$(
        #[inline(always)]
        pub(crate) fn $name<B>(hart: &mut Hart, _: &mut B, inst: &Inst, _: u64) -> Outcome {
            let ($a, $b) = (fa(hart, inst), fb(hart, inst));
            write(hart, inst, $value)
        }
    )*};
}

moves! {
    ftoit(a, _b) = a;
    ftois(a, _b) = register_to_s(a) as i32 as u64;
    itoft(a, _b) = a;
    itofs(a, _b) = s_to_register(a as u32);
    cpys(a, b) = a & SIGN | b & !SIGN;
    cpysn(a, b) = !a & SIGN | b & !SIGN;
    cpyse(a, b) = a & SIGN_AND_EXPONENT | b & !SIGN_AND_EXPONENT;
    cvtlq(_a, b) = ((b >> 32 & 0xc000_0000 | b >> 29 & 0x3fff_ffff) as i32) as u64;
}

/// Conditional moves: `name(a) = condition;`.
macro_rules! conditional_moves {
    ($($name:ident($a:ident) = $holds:expr;)*) => {$(
        #[inline(always)]
        pub(crate) fn $name<B>(hart: &mut Hart, _: &mut B, inst: &Inst, _: u64) -> Outcome {
            let $a = fa(hart, inst);
            let old = hart.r[inst.rs3 as usize];
            let value = if $holds { fb(hart, inst) } else { old };
            write(hart, inst, value)
        }
    )*};
}

/// Zero of either sign.
#[inline(always)]
fn is_zero(a: u64) -> bool {
    a & !SIGN == 0
}

/// Negative and not zero.
#[inline(always)]
fn is_less(a: u64) -> bool {
    a > SIGN
}

conditional_moves! {
    fcmoveq(a) = is_zero(a);
    fcmovne(a) = !is_zero(a);
    fcmovlt(a) = is_less(a);
    fcmovge(a) = !is_less(a);
    fcmovle(a) = is_less(a) || is_zero(a);
    fcmovgt(a) = !is_less(a) && !is_zero(a);
}

pub(crate) fn mt_fpcr<B>(hart: &mut Hart, _: &mut B, inst: &Inst, _: u64) -> Outcome {
    let value = fa(hart, inst);
    fpcr::write(hart, value);
    Outcome::Next
}

pub(crate) fn mf_fpcr<B>(hart: &mut Hart, _: &mut B, inst: &Inst, _: u64) -> Outcome {
    let value = fpcr::read(hart);
    write(hart, inst, value)
}
