//! Effects of operations, one small function each, by extension.
//!
//! Every function has the same shape, `(hart, bus, inst, pc) -> Outcome`, and is inlined into
//! [`execute`](crate::exec::execute), the one `match` that the tables generate. Destination registers are written
//! without a check: the decoder turns the zero register into `reg::SINK`.

pub(crate) mod atomic;
pub(crate) mod bits;
pub(crate) mod control;
pub(crate) mod csr;
pub(crate) mod dise;
pub(crate) mod fp_convert;
pub(crate) mod fp_double;
pub(crate) mod fp_half;
pub(crate) mod fp_more;
pub(crate) mod fp_single;
pub(crate) mod int;
pub(crate) mod mem;
pub(crate) mod muldiv;
#[cfg(test)]
mod tests;
pub(crate) mod wide;

use crate::exec::Outcome;
use crate::fp::Round;
use crate::hart::Hart;
use crate::inst::Inst;
use crate::trap::TrapCause;

#[inline(always)]
pub(crate) fn rs1(hart: &Hart, inst: &Inst) -> u64 {
    hart.r[inst.rs1 as usize]
}

#[inline(always)]
pub(crate) fn rs2(hart: &Hart, inst: &Inst) -> u64 {
    hart.r[inst.rs2 as usize]
}

#[inline(always)]
fn rs3(hart: &Hart, inst: &Inst) -> u64 {
    hart.r[inst.rs3 as usize]
}

/// Writes the destination and goes on.
#[inline(always)]
fn write(hart: &mut Hart, inst: &Inst, value: u64) -> Outcome {
    hart.r[inst.rd as usize] = value;
    Outcome::Next
}

/// The low 32 bits, sign-extended: the result of every `...w` operation.
#[inline(always)]
pub(crate) fn sext32(value: u64) -> u64 {
    value as i32 as i64 as u64
}

#[inline(always)]
fn illegal() -> Outcome {
    Outcome::Trap(TrapCause::IllegalInstruction)
}

/// The rounding direction of a floating-point instruction; none if `frm` holds a reserved value
/// and the instruction asks for it.
#[inline(always)]
fn rounding(hart: &Hart, inst: &Inst) -> Option<Round> {
    const DYNAMIC: u8 = 7;
    let mode = inst.imm as u8;
    Round::from_riscv(if mode == DYNAMIC {
        hart.fcsr >> 5
    } else {
        mode
    })
}

/// The upper half of a register that holds a single-precision value.
const BOX: u64 = 0xffff_ffff_0000_0000;

/// A single-precision operand: a value that is not NaN-boxed is the canonical NaN.
#[inline(always)]
fn unbox(value: u64) -> u32 {
    const CANONICAL_NAN: u32 = 0x7fc0_0000;
    if value >= BOX {
        value as u32
    } else {
        CANONICAL_NAN
    }
}

#[inline(always)]
fn boxed(value: u32) -> u64 {
    BOX | u64::from(value)
}

/// Functions of two registers: `name(a, b) = value;`.
macro_rules! register_ops {
    ($($name:ident($a:ident, $b:ident) = $value:expr;)*) => {$(
        #[inline(always)]
        pub(crate) fn $name<B>(hart: &mut Hart, _: &mut B, inst: &Inst, _: u64) -> Outcome {
            let ($a, $b) = (rs1(hart, inst), rs2(hart, inst));
            write(hart, inst, $value)
        }
    )*};
}
use register_ops;

/// Functions of one register and the immediate: `name(a, imm) = value;`.
macro_rules! immediate_ops {
    ($($name:ident($a:ident, $imm:ident) = $value:expr;)*) => {$(
        #[inline(always)]
        pub(crate) fn $name<B>(hart: &mut Hart, _: &mut B, inst: &Inst, _: u64) -> Outcome {
            let ($a, $imm) = (rs1(hart, inst), inst.imm as u64);
            write(hart, inst, $value)
        }
    )*};
}
use immediate_ops;

/// Functions of one register: `name(a) = value;`.
macro_rules! unary_ops {
    ($($name:ident($a:ident) = $value:expr;)*) => {$(
        #[inline(always)]
        pub(crate) fn $name<B>(hart: &mut Hart, _: &mut B, inst: &Inst, _: u64) -> Outcome {
            let $a = rs1(hart, inst);
            write(hart, inst, $value)
        }
    )*};
}
use unary_ops;

/// Floating-point functions that round: `name(operands) = |rm, flags| value;`, where each operand
/// is `variable: source` and `write` and `read` convert between registers and values.
macro_rules! rounding_ops {
    ($read:expr, $write:expr;
     $($name:ident($($a:ident: $source:ident),*) = |$rm:ident, $flags:ident| $value:expr;)*) => {$(
        #[inline(always)]
        pub(crate) fn $name<B>(hart: &mut Hart, _: &mut B, inst: &Inst, _: u64) -> Outcome {
            let Some($rm) = rounding(hart, inst) else { return illegal() };
            $(let $a = $read($source(hart, inst));)*
            let $flags = &mut hart.fcsr;
            let value = $value;
            write(hart, inst, $write(value))
        }
    )*};
}
use rounding_ops;

/// Floating-point functions that do not round but may raise flags.
macro_rules! flag_ops {
    ($read:expr, $write:expr;
     $($name:ident($($a:ident: $source:ident),*) = |$flags:ident| $value:expr;)*) => {$(
        #[inline(always)]
        pub(crate) fn $name<B>(hart: &mut Hart, _: &mut B, inst: &Inst, _: u64) -> Outcome {
            $(let $a = $read($source(hart, inst));)*
            let $flags = &mut hart.fcsr;
            let value = $value;
            write(hart, inst, $write(value))
        }
    )*};
}
use flag_ops;
