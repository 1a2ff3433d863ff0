//! Operations of replacement sequences and of handlers (DISE, ISCA 2003). The outcome says only what happened; the
//! machine changes `PC:DISEPC` accordingly.

use super::{rs1, rs2, unary_ops, write};
use crate::exec::Outcome;
use crate::hart::Hart;
use crate::inst::Inst;

macro_rules! branches {
    ($($name:ident($a:ident, $b:ident) = $taken:expr;)*) => {$(
        #[inline(always)]
        pub(crate) fn $name<B>(hart: &mut Hart, _: &mut B, inst: &Inst, _: u64) -> Outcome {
            let ($a, $b) = (rs1(hart, inst), rs2(hart, inst));
            if $taken { Outcome::DiseTaken(inst.imm as u8) } else { Outcome::Next }
        }
    )*};
}

branches! {
    beq(a, b) = a == b;
    bne(a, b) = a != b;
    blt(a, b) = (a as i64) < b as i64;
    bge(a, b) = a as i64 >= b as i64;
    bltu(a, b) = a < b;
    bgeu(a, b) = a >= b;
}

unary_ops! {
    copy(a) = a;
}

#[inline(always)]
pub(crate) fn br<B>(_: &mut Hart, _: &mut B, inst: &Inst, _: u64) -> Outcome {
    Outcome::DiseTaken(inst.imm as u8)
}

#[inline(always)]
pub(crate) fn call<B>(_: &mut Hart, _: &mut B, inst: &Inst, _: u64) -> Outcome {
    Outcome::DiseCall(inst.imm as u64)
}

#[inline(always)]
pub(crate) fn ccall<B>(hart: &mut Hart, _: &mut B, inst: &Inst, _: u64) -> Outcome {
    if rs1(hart, inst) != 0 {
        Outcome::DiseCall(inst.imm as u64)
    } else {
        Outcome::Next
    }
}

#[inline(always)]
pub(crate) fn ret<B>(_: &mut Hart, _: &mut B, _: &Inst, _: u64) -> Outcome {
    Outcome::DiseReturn
}

#[inline(always)]
pub(crate) fn drain<B>(_: &mut Hart, _: &mut B, _: &Inst, _: u64) -> Outcome {
    Outcome::DiseDrain
}
