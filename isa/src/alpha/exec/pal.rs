//! Barriers, hints, counters (Architecture Reference Manual, 4.11) and the PALcode calls of user mode.

use super::{first, write};
use crate::exec::Outcome;
use crate::hart::Hart;
use crate::inst::{Inst, reg};
use crate::trap::TrapCause;

/// Memory is sequentially consistent in execution order, and traps are precise: nothing to do.
#[inline(always)]
pub(crate) fn fence<B>(_: &mut Hart, _: &mut B, _: &Inst, _: u64) -> Outcome {
    Outcome::Next
}

/// Does nothing: for prefetches and other hints.
#[inline(always)]
pub(crate) fn hint<B>(_: &mut Hart, _: &mut B, _: &Inst, _: u64) -> Outcome {
    Outcome::Next
}

/// The cycle counter has 32 bits; the upper half of the register is the operating system's, and Linux
/// leaves it zero.
#[inline(always)]
pub(crate) fn rpcc<B>(hart: &mut Hart, _: &mut B, inst: &Inst, _: u64) -> Outcome {
    let cycle = hart.counters.cycle & 0xffff_ffff;
    write(hart, inst, cycle)
}

/// Reads the interrupt flag and leaves it at `new`.
#[inline(always)]
fn interrupt_flag(hart: &mut Hart, inst: &Inst, new: u64) -> Outcome {
    let old = std::mem::replace(&mut hart.r[reg::INTERRUPT_FLAG as usize], new);
    write(hart, inst, old)
}

#[inline(always)]
pub(crate) fn rc<B>(hart: &mut Hart, _: &mut B, inst: &Inst, _: u64) -> Outcome {
    interrupt_flag(hart, inst, 0)
}

#[inline(always)]
pub(crate) fn rs<B>(hart: &mut Hart, _: &mut B, inst: &Inst, _: u64) -> Outcome {
    interrupt_flag(hart, inst, 1)
}

#[inline(always)]
pub(crate) fn bpt<B>(_: &mut Hart, _: &mut B, _: &Inst, _: u64) -> Outcome {
    Outcome::Trap(TrapCause::Breakpoint)
}

/// Raises code 0: Linux handles `bugchk` as a trap of a code that it does not know (`arch/alpha/kernel/traps.c`,
/// `do_entIF`).
#[inline(always)]
pub(crate) fn bugchk<B>(_: &mut Hart, _: &mut B, _: &Inst, _: u64) -> Outcome {
    Outcome::Trap(TrapCause::Raised { code: 0 })
}

#[inline(always)]
pub(crate) fn callsys<B>(_: &mut Hart, _: &mut B, _: &Inst, _: u64) -> Outcome {
    Outcome::Syscall
}

#[inline(always)]
pub(crate) fn imb<B>(_: &mut Hart, _: &mut B, _: &Inst, _: u64) -> Outcome {
    Outcome::FenceI
}

/// Reads the unique value, which the decoder names as the source.
#[inline(always)]
pub(crate) fn rduniq<B>(hart: &mut Hart, _: &mut B, inst: &Inst, _: u64) -> Outcome {
    let value = first(hart, inst);
    write(hart, inst, value)
}

/// Writes the unique value, which the decoder names as the destination.
#[inline(always)]
pub(crate) fn wruniq<B>(hart: &mut Hart, _: &mut B, inst: &Inst, _: u64) -> Outcome {
    let value = first(hart, inst);
    write(hart, inst, value)
}

/// Raises the trap whose code the decoder names as the source.
#[inline(always)]
pub(crate) fn gentrap<B>(hart: &mut Hart, _: &mut B, inst: &Inst, _: u64) -> Outcome {
    Outcome::Trap(TrapCause::Raised {
        code: first(hart, inst) as i64,
    })
}
