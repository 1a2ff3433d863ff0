//! A, Zabha, Zacas: load-reserved, store-conditional, atomic read-modify-write and compare-and-swap;
//! Zicbom, which is as rare and as far from being speculated.
//!
//! A store-conditional succeeds if, and only if, the reservation is on its address and of any
//! size; either way the reservation is gone. Stores of the same hart do not break it, as the
//! specification allows ("A" chapter: only another hart's store or another store-conditional
//! must). QEMU differs in a corner that the specification leaves open: it compares the address
//! *and* the value in memory, so that there a plain store of another value in between makes the
//! store-conditional fail.

use super::{rs1, rs2, rs3, sext32, write};
use crate::bus::Bus;
use crate::exec::Outcome;
use crate::hart::{Hart, NO_RESERVATION};
use crate::inst::{CACHE_BLOCK_BYTES, Inst};
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
    match N {
        1 => value as i8 as i64 as u64,
        2 => value as i16 as i64 as u64,
        4 => sext32(value),
        _ => value,
    }
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

/// Functions of bytes, halfwords, words and doublewords: `names(memory, operand) = value;`.
macro_rules! atomics {
    ($($byte:ident $half:ident $word:ident $double:ident($old:ident, $operand:ident) = $value:expr;)*) => {$(
        atomics! { @of 1 $byte($old, $operand) = $value }
        atomics! { @of 2 $half($old, $operand) = $value }
        atomics! { @of 4 $word($old, $operand) = $value }
        atomics! { @of 8 $double($old, $operand) = $value }
    )*};
    (@of $bytes:literal $name:ident($old:ident, $operand:ident) = $value:expr) => {
        #[inline(always)]
        pub(crate) fn $name<B: Bus>(hart: &mut Hart, bus: &mut B, inst: &Inst, _: u64) -> Outcome {
            read_modify_write::<$bytes, B>(hart, bus, inst, |$old, $operand| $value)
        }
    };
}

// Both operands are sign-extended, which also keeps the unsigned order of what is narrower.
atomics! {
    amoswap_b amoswap_h amoswap_w amoswap_d(_old, operand) = operand;
    amoadd_b amoadd_h amoadd_w amoadd_d(old, operand) = old.wrapping_add(operand);
    amoxor_b amoxor_h amoxor_w amoxor_d(old, operand) = old ^ operand;
    amoand_b amoand_h amoand_w amoand_d(old, operand) = old & operand;
    amoor_b amoor_h amoor_w amoor_d(old, operand) = old | operand;
    amomin_b amomin_h amomin_w amomin_d(old, operand) = (old as i64).min(operand as i64) as u64;
    amomax_b amomax_h amomax_w amomax_d(old, operand) = (old as i64).max(operand as i64) as u64;
    amominu_b amominu_h amominu_w amominu_d(old, operand) = old.min(operand);
    amomaxu_b amomaxu_h amomaxu_w amomaxu_d(old, operand) = old.max(operand);
}

/// Replaces `N` bytes at `rs1` by `rs2` if they are those of `rs3`, which is also the destination.
#[inline(always)]
fn compare_and_swap<const N: usize, B: Bus>(hart: &mut Hart, bus: &mut B, inst: &Inst) -> Outcome {
    let addr = match aligned::<N>(hart, inst) {
        Ok(addr) => addr,
        Err(trap) => return trap,
    };
    let swapped = bus.load::<N>(addr).and_then(|raw| {
        let old = extend::<N>(raw);
        if old == extend::<N>(rs3(hart, inst)) {
            bus.store::<N>(addr, rs2(hart, inst))?;
        }
        Ok(old)
    });
    match swapped {
        Ok(old) => write(hart, inst, old),
        Err(fault) => Outcome::Trap(TrapCause::StoreFault { addr: fault.addr }),
    }
}

macro_rules! compare_and_swaps {
    ($($name:ident: $bytes:literal;)*) => {$(
        #[inline(always)]
        pub(crate) fn $name<B: Bus>(hart: &mut Hart, bus: &mut B, inst: &Inst, _: u64) -> Outcome {
            compare_and_swap::<$bytes, B>(hart, bus, inst)
        }
    )*};
}

compare_and_swaps! {
    amocas_b: 1;
    amocas_h: 2;
    amocas_w: 4;
    amocas_d: 8;
}

/// Zicbom. Memory always holds what caches do: the block must be accessible, and nothing else happens.
#[inline(always)]
pub(crate) fn cbo<B: Bus>(hart: &mut Hart, bus: &mut B, inst: &Inst, _: u64) -> Outcome {
    match bus.load::<1>(rs1(hart, inst) & !(CACHE_BLOCK_BYTES - 1)) {
        Ok(_) => Outcome::Next,
        Err(fault) => Outcome::Trap(TrapCause::StoreFault { addr: fault.addr }),
    }
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
