//! Control transfer (Architecture Reference Manual, 4.3).

use super::first;
use crate::exec::Outcome;
use crate::hart::Hart;
use crate::inst::Inst;

#[inline(always)]
fn link(hart: &mut Hart, inst: &Inst, pc: u64) {
    hart.r[inst.rd as usize] = inst.link(pc);
}

#[inline(always)]
pub(crate) fn br<B>(hart: &mut Hart, _: &mut B, inst: &Inst, pc: u64) -> Outcome {
    link(hart, inst, pc);
    Outcome::Taken(inst.direct_target(pc))
}

#[inline(always)]
pub(crate) fn bsr<B>(hart: &mut Hart, bus: &mut B, inst: &Inst, pc: u64) -> Outcome {
    br(hart, bus, inst, pc)
}

/// Target of an indirect jump. Its displacement is a hint for prediction and changes nothing.
#[inline(always)]
pub(crate) fn jump_target(hart: &Hart, inst: &Inst) -> u64 {
    first(hart, inst) & !3
}

/// JMP, JSR, RET and JSR_COROUTINE, which differ in what they tell the predictor.
#[inline(always)]
pub(crate) fn jump<B>(hart: &mut Hart, _: &mut B, inst: &Inst, pc: u64) -> Outcome {
    // The target is read first: ra may be rb.
    let target = jump_target(hart, inst);
    link(hart, inst, pc);
    Outcome::Taken(target)
}

/// Conditional branches: `name holds(a) = condition;`.
macro_rules! branches {
    ($($name:ident $condition:ident($a:ident) = $holds:expr;)*) => {
        /// Conditions of the branches, by name.
        pub(crate) mod condition {$(
            #[inline(always)]
            pub(crate) const fn $condition($a: u64) -> bool {
                $holds
            }
        )*}
        $(
            #[inline(always)]
            pub(crate) fn $name<B>(hart: &mut Hart, _: &mut B, inst: &Inst, pc: u64) -> Outcome {
                if condition::$condition(first(hart, inst)) {
                    Outcome::Taken(inst.direct_target(pc))
                } else {
                    Outcome::Next
                }
            }
        )*
    };
}

// Floating-point branches test bits, not values: a NaN counts by its sign. Both zeros are zero: shifting
// the sign out leaves zero for them alone.
branches! {
    blbc is_even(a) = a & 1 == 0;
    blbs is_odd(a) = a & 1 != 0;
    beq is_zero(a) = a == 0;
    bne is_not_zero(a) = a != 0;
    blt is_negative(a) = (a as i64) < 0;
    ble is_not_positive(a) = a as i64 <= 0;
    bge is_not_negative(a) = a as i64 >= 0;
    bgt is_positive(a) = a as i64 > 0;
    fbeq is_fp_zero(a) = a << 1 == 0;
    fbne is_fp_not_zero(a) = a << 1 != 0;
    fblt is_fp_negative(a) = a > 1 << 63;
    fble is_fp_not_positive(a) = a as i64 <= 0;
    fbge is_fp_not_negative(a) = a <= 1 << 63;
    fbgt is_fp_positive(a) = a as i64 > 0;
}
