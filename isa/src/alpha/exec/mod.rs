//! Effects of operations, one small function each, by group. They are inlined into [`execute`](crate::exec::execute).
//!
//! An instruction that traps has changed nothing, arithmetic ones included: traps are precise, as they
//! are on the EV6, but where that machine writes the low bits of a sum that overflows before it traps,
//! the destination keeps its old value here. Either is allowed: after an arithmetic trap without
//! software completion the destination is unpredictable (Architecture Reference Manual, 4.7.6).

pub(crate) mod bytes;
pub(crate) mod control;
pub(crate) mod fp;
pub(crate) mod int;
pub(crate) mod media;
pub(crate) mod mem;
pub(crate) mod pal;
#[cfg(test)]
mod tests;

use crate::exec::Outcome;
use crate::hart::Hart;
use crate::inst::Inst;

/// The first operand of an integer operation.
#[inline(always)]
pub(crate) fn first(hart: &Hart, inst: &Inst) -> u64 {
    hart.r[inst.rs1 as usize]
}

/// The second operand of an integer operation: a register or a literal. Of the two, the one that
/// the instruction does not have is zero.
#[inline(always)]
fn second(hart: &Hart, inst: &Inst) -> u64 {
    hart.r[inst.rs2 as usize].wrapping_add(u64::from(inst.imm as u8))
}

/// Writes the destination and goes on.
#[inline(always)]
fn write(hart: &mut Hart, inst: &Inst, value: u64) -> Outcome {
    hart.r[inst.rd as usize] = value;
    Outcome::Next
}

/// The low 32 bits, sign-extended: the result of every longword operation.
#[inline(always)]
const fn sext32(value: u64) -> u64 {
    value as i32 as i64 as u64
}

/// Functions of both operands: `name(a, b) = value;`.
macro_rules! operate_ops {
    ($($name:ident($a:ident, $b:ident) = $value:expr;)*) => {$(
        #[inline(always)]
        pub(crate) fn $name<B>(hart: &mut Hart, _: &mut B, inst: &Inst, _: u64) -> Outcome {
            let ($a, $b) = (first(hart, inst), second(hart, inst));
            write(hart, inst, $value)
        }
    )*};
}
use operate_ops;

/// Functions of the second operand alone: `name(b) = value;`.
macro_rules! second_ops {
    ($($name:ident($b:ident) = $value:expr;)*) => {$(
        #[inline(always)]
        pub(crate) fn $name<B>(hart: &mut Hart, _: &mut B, inst: &Inst, _: u64) -> Outcome {
            let $b = second(hart, inst);
            write(hart, inst, $value)
        }
    )*};
}
use second_ops;
