//! Control transfer, system instructions and memory ordering.

use super::{illegal as illegal_trap, rs1, rs2};
use crate::exec::Outcome;
use crate::hart::Hart;
use crate::inst::Inst;
use crate::trap::TrapCause;

#[inline(always)]
pub(crate) fn illegal<B>(_: &mut Hart, _: &mut B, _: &Inst, _: u64) -> Outcome {
    illegal_trap()
}

#[inline(always)]
fn link(hart: &mut Hart, inst: &Inst, pc: u64) {
    hart.r[inst.rd as usize] = inst.link(pc);
}

#[inline(always)]
pub(crate) fn jal<B>(hart: &mut Hart, _: &mut B, inst: &Inst, pc: u64) -> Outcome {
    link(hart, inst, pc);
    Outcome::Taken(inst.direct_target(pc))
}

#[inline(always)]
pub(crate) fn jalr<B>(hart: &mut Hart, _: &mut B, inst: &Inst, pc: u64) -> Outcome {
    // The target is read first: rd may be rs1.
    let target = rs1(hart, inst).wrapping_add(inst.imm as u64) & !1;
    link(hart, inst, pc);
    Outcome::Taken(target)
}

macro_rules! branches {
    ($($name:ident($a:ident, $b:ident) = $taken:expr;)*) => {$(
        #[inline(always)]
        pub(crate) fn $name<B>(hart: &mut Hart, _: &mut B, inst: &Inst, pc: u64) -> Outcome {
            let ($a, $b) = (rs1(hart, inst), rs2(hart, inst));
            if $taken { Outcome::Taken(inst.direct_target(pc)) } else { Outcome::Next }
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

#[inline(always)]
pub(crate) fn ecall<B>(_: &mut Hart, _: &mut B, _: &Inst, _: u64) -> Outcome {
    Outcome::Syscall
}

#[inline(always)]
pub(crate) fn ebreak<B>(_: &mut Hart, _: &mut B, _: &Inst, _: u64) -> Outcome {
    Outcome::Trap(TrapCause::Breakpoint)
}

/// Memory is sequentially consistent in execution order: nothing to do.
#[inline(always)]
pub(crate) fn fence<B>(_: &mut Hart, _: &mut B, _: &Inst, _: u64) -> Outcome {
    Outcome::Next
}

#[inline(always)]
pub(crate) fn fence_i<B>(_: &mut Hart, _: &mut B, _: &Inst, _: u64) -> Outcome {
    Outcome::FenceI
}
