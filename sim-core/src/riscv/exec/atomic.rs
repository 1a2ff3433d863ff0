//! A: load-reserved, store-conditional and atomic read-modify-write.
//!
//! A store-conditional succeeds if, and only if, the reservation is on its address and of any
//! size; either way the reservation is gone. Stores of the same hart do not break it, as the
//! specification allows ("A" chapter: only another hart's store or another store-conditional
//! must). QEMU differs in a corner that the specification leaves open: it compares the address
//! *and* the value in memory, so that there a plain store of another value in between makes the
//! store-conditional fail.

use super::{rs1, rs2, sext32, write};
use crate::bus::Bus;
use crate::exec::Outcome;
use crate::hart::{Hart, NO_RESERVATION};
use crate::inst::Inst;
use crate::trap::TrapCause;

#[inline(always)]
fn aligned<const N: usize>(hart: &Hart, inst: &Inst) -> Result<u64, Outcome> {
    let addr = rs1(hart, inst);
    if addr.is_multiple_of(N as u64) {
        Ok(addr)
    } else {
        Err(Outcome::Trap(TrapCause::MisalignedAtomic { addr }))
    }
}

/// The value of `N` bytes as a register holds it.
#[inline(always)]
fn extend<const N: usize>(value: u64) -> u64 {
    if N == 4 { sext32(value) } else { value }
}

#[inline(always)]
fn load_reserved<const N: usize, B: Bus>(hart: &mut Hart, bus: &mut B, inst: &Inst) -> Outcome {
    let addr = match aligned::<N>(hart, inst) {
        Ok(addr) => addr,
        Err(trap) => return trap,
    };
    match bus.load::<N>(addr) {
        Ok(value) => {
            hart.reservation = addr;
            write(hart, inst, extend::<N>(value))
        }
        Err(fault) => Outcome::Trap(TrapCause::LoadFault { addr: fault.addr }),
    }
}

#[inline(always)]
fn store_conditional<const N: usize, B: Bus>(hart: &mut Hart, bus: &mut B, inst: &Inst) -> Outcome {
    let addr = match aligned::<N>(hart, inst) {
        Ok(addr) => addr,
        Err(trap) => return trap,
    };
    let held = hart.reservation == addr;
    if held && let Err(fault) = bus.store::<N>(addr, rs2(hart, inst)) {
        return Outcome::Trap(TrapCause::StoreFault { addr: fault.addr });
    }
    hart.reservation = NO_RESERVATION;
    write(hart, inst, u64::from(!held))
}

/// Replaces `N` bytes at `rs1` by `update(memory, rs2)`, both as registers hold them.
#[inline(always)]
fn read_modify_write<const N: usize, B: Bus>(
    hart: &mut Hart,
    bus: &mut B,
    inst: &Inst,
    update: impl FnOnce(u64, u64) -> u64,
) -> Outcome {
    let addr = match aligned::<N>(hart, inst) {
        Ok(addr) => addr,
        Err(trap) => return trap,
    };
    // The read of an atomic that is refused is a store fault too.
    let updated = bus.load::<N>(addr).and_then(|raw| {
        let old = extend::<N>(raw);
        bus.store::<N>(addr, update(old, extend::<N>(rs2(hart, inst))))?;
        Ok(old)
    });
    match updated {
        Ok(old) => write(hart, inst, old),
        Err(fault) => Outcome::Trap(TrapCause::StoreFault { addr: fault.addr }),
    }
}

macro_rules! atomics {
    ($($word:ident $double:ident($old:ident, $operand:ident) = $value:expr;)*) => {$(
        #[inline(always)]
        pub(crate) fn $word<B: Bus>(hart: &mut Hart, bus: &mut B, inst: &Inst, _: u64) -> Outcome {
            read_modify_write::<4, B>(hart, bus, inst, |$old, $operand| $value)
        }
        #[inline(always)]
        pub(crate) fn $double<B: Bus>(hart: &mut Hart, bus: &mut B, inst: &Inst, _: u64) -> Outcome {
            read_modify_write::<8, B>(hart, bus, inst, |$old, $operand| $value)
        }
    )*};
}

// Both operands are sign-extended, which also keeps the unsigned order of words.
atomics! {
    amoswap_w amoswap_d(_old, operand) = operand;
    amoadd_w amoadd_d(old, operand) = old.wrapping_add(operand);
    amoxor_w amoxor_d(old, operand) = old ^ operand;
    amoand_w amoand_d(old, operand) = old & operand;
    amoor_w amoor_d(old, operand) = old | operand;
    amomin_w amomin_d(old, operand) = (old as i64).min(operand as i64) as u64;
    amomax_w amomax_d(old, operand) = (old as i64).max(operand as i64) as u64;
    amominu_w amominu_d(old, operand) = old.min(operand);
    amomaxu_w amomaxu_d(old, operand) = old.max(operand);
}

#[inline(always)]
pub(crate) fn lr_w<B: Bus>(hart: &mut Hart, bus: &mut B, inst: &Inst, _: u64) -> Outcome {
    load_reserved::<4, B>(hart, bus, inst)
}

#[inline(always)]
pub(crate) fn lr_d<B: Bus>(hart: &mut Hart, bus: &mut B, inst: &Inst, _: u64) -> Outcome {
    load_reserved::<8, B>(hart, bus, inst)
}

#[inline(always)]
pub(crate) fn sc_w<B: Bus>(hart: &mut Hart, bus: &mut B, inst: &Inst, _: u64) -> Outcome {
    store_conditional::<4, B>(hart, bus, inst)
}

#[inline(always)]
pub(crate) fn sc_d<B: Bus>(hart: &mut Hart, bus: &mut B, inst: &Inst, _: u64) -> Outcome {
    store_conditional::<8, B>(hart, bus, inst)
}
