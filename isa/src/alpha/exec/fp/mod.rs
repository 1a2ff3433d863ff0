//! IEEE floating point: what an EV6 computes, and what Linux completes in software.
//!
//! A register holds T_floating, which is binary64; S_floating, binary32, lies in it in the T layout
//! (Architecture Reference Manual 2.2.6). Every arithmetic operation runs in two levels, as on the real
//! machine ([`ieee`]): the hardware, by the manual and by the 21264's Hardware Reference Manual, A.8; and,
//! where the hardware traps an instruction with `/S`, the kernel's completion, by `alpha_fp_emul` in
//! Linux's `arch/alpha/math-emu/math.c`.

mod arithmetic;
mod compare;
mod convert;
mod ieee;
mod moves;
#[cfg(test)]
mod tests;

pub(crate) use arithmetic::*;
pub(crate) use compare::*;
pub(crate) use convert::*;
pub(crate) use moves::*;

use crate::exec::Outcome;
use crate::hart::Hart;
use crate::inst::Inst;

#[inline(always)]
fn fa(hart: &Hart, inst: &Inst) -> u64 {
    hart.r[inst.rs1 as usize]
}

#[inline(always)]
fn fb(hart: &Hart, inst: &Inst) -> u64 {
    hart.r[inst.rs2 as usize]
}

/// Writes the destination and goes on.
#[inline(always)]
fn write(hart: &mut Hart, inst: &Inst, value: u64) -> Outcome {
    hart.r[inst.rd as usize] = value;
    Outcome::Next
}
