//! Loads and stores, integer and floating point, and the locked pairs (Architecture Reference Manual,
//! 4.2, 4.8).
//!
//! Plain accesses may have any alignment, as a program sees it after Linux has completed them, unless
//! it asked for SIGBUS instead ([`reg::UNALIGNED`]). Locked ones must be aligned.
//!
//! A store-conditional succeeds if, and only if, the reservation is on its address; either way the
//! reservation is gone. Other stores of the same processor in between do not break it: the manual
//! leaves that open (4.2.5). QEMU compares the address *and* the value in memory.

use super::{first, sext32, write};
use crate::bus::Bus;
use crate::exec::Outcome;
use crate::hart::{Hart, NO_RESERVATION};
use crate::inst::{Inst, reg};
use crate::trap::TrapCause;

/// Whether the process wants a trap for an access of `N` bytes at `addr`. A bus that refuses unaligned accesses
/// needs no test here: its user executes a refused access again on another bus.
#[inline(always)]
fn traps<const N: usize, B: Bus>(hart: &Hart, addr: u64) -> bool {
    !B::ONLY_ALIGNED && !addr.is_multiple_of(N as u64) && hart.r[reg::UNALIGNED as usize] != 0
}

/// The address that [`Inst::data_address`] gives, without a test of the operation.
#[inline(always)]
fn address(hart: &Hart, inst: &Inst) -> u64 {
    first(hart, inst).wrapping_add(inst.imm as u64)
}

/// Address of the quadword that `ldq_u` or `stq_u` accesses.
#[inline(always)]
fn quadword_around(hart: &Hart, inst: &Inst) -> u64 {
    address(hart, inst) & !7
}

/// `name(value: bytes at address) = what the register gets;`
macro_rules! loads {
    ($($name:ident($value:ident: $bytes:literal at $address:ident) = $extended:expr;)*) => {$(
        #[inline(always)]
        pub(crate) fn $name<B: Bus>(hart: &mut Hart, bus: &mut B, inst: &Inst, _: u64) -> Outcome {
            let addr = $address(hart, inst);
            if traps::<$bytes, B>(hart, addr) {
                return Outcome::Trap(TrapCause::Misaligned { addr });
            }
            match bus.load::<$bytes>(addr) {
                Ok($value) => write(hart, inst, $extended),
                Err(fault) => Outcome::Trap(TrapCause::LoadFault { addr: fault.addr }),
            }
        }
    )*};
}

/// `name(register: bytes at address) = what memory gets;`
macro_rules! stores {
    ($($name:ident($value:ident: $bytes:literal at $address:ident) = $stored:expr;)*) => {$(
        #[inline(always)]
        pub(crate) fn $name<B: Bus>(hart: &mut Hart, bus: &mut B, inst: &Inst, _: u64) -> Outcome {
            let addr = $address(hart, inst);
            if traps::<$bytes, B>(hart, addr) {
                return Outcome::Trap(TrapCause::Misaligned { addr });
            }
            let $value = hart.r[inst.rs2 as usize];
            match bus.store::<$bytes>(addr, $stored) {
                Ok(()) => Outcome::Next,
                Err(fault) => Outcome::Trap(TrapCause::StoreFault { addr: fault.addr }),
            }
        }
    )*};
}

loads! {
    ldbu(value: 1 at address) = value;
    ldwu(value: 2 at address) = value;
    ldl(value: 4 at address) = sext32(value);
    ldq(value: 8 at address) = value;
    ldq_u(value: 8 at quadword_around) = value;
    lds(value: 4 at address) = s_to_register(value as u32);
    ldt(value: 8 at address) = value;
}

stores! {
    stb(value: 1 at address) = value;
    stw(value: 2 at address) = value;
    stl(value: 4 at address) = value;
    stq(value: 8 at address) = value;
    stq_u(value: 8 at quadword_around) = value;
    sts(value: 4 at address) = u64::from(register_to_s(value));
    stt(value: 8 at address) = value;
}

/// An S_floating value as a register holds it: the exponent widened, the fraction at the top (table
/// 2-2 of the manual). Subnormal values keep their exponent of zero.
#[inline(always)]
pub(crate) const fn s_to_register(bits: u32) -> u64 {
    let bits = bits as u64;
    let sign = bits >> 31 << 63;
    let rest = (bits & 0x3fff_ffff) << 29;
    let top = bits >> 30 & 1;
    let exponent = bits >> 23 & 0x7f;
    let middle: u64 = match (top, exponent) {
        (0, 0) | (1, 0..=0x7e) => 0,
        _ => 7,
    };
    sign | top << 62 | middle << 59 | rest
}

/// The S_floating value that a register holds: the reverse, for any register.
#[inline(always)]
pub(crate) const fn register_to_s(bits: u64) -> u32 {
    (bits >> 32 & 0xc000_0000 | bits >> 29 & 0x3fff_ffff) as u32
}

#[inline(always)]
fn load_locked<const N: usize, B: Bus>(hart: &mut Hart, bus: &mut B, inst: &Inst) -> Outcome {
    let addr = address(hart, inst);
    if !addr.is_multiple_of(N as u64) {
        return Outcome::Trap(TrapCause::MisalignedAtomic { addr });
    }
    match bus.load::<N>(addr) {
        Ok(value) => {
            hart.reservation = addr;
            write(hart, inst, if N == 4 { sext32(value) } else { value })
        }
        Err(fault) => Outcome::Trap(TrapCause::LoadFault { addr: fault.addr }),
    }
}

#[inline(always)]
fn store_conditional<const N: usize, B: Bus>(hart: &mut Hart, bus: &mut B, inst: &Inst) -> Outcome {
    let addr = address(hart, inst);
    if !addr.is_multiple_of(N as u64) {
        return Outcome::Trap(TrapCause::MisalignedAtomic { addr });
    }
    let held = hart.reservation == addr;
    let value = hart.r[inst.rs2 as usize];
    if held && let Err(fault) = bus.store::<N>(addr, value) {
        return Outcome::Trap(TrapCause::StoreFault { addr: fault.addr });
    }
    hart.reservation = NO_RESERVATION;
    write(hart, inst, u64::from(held))
}

#[inline(always)]
pub(crate) fn ldl_l<B: Bus>(hart: &mut Hart, bus: &mut B, inst: &Inst, _: u64) -> Outcome {
    load_locked::<4, B>(hart, bus, inst)
}

#[inline(always)]
pub(crate) fn ldq_l<B: Bus>(hart: &mut Hart, bus: &mut B, inst: &Inst, _: u64) -> Outcome {
    load_locked::<8, B>(hart, bus, inst)
}

#[inline(always)]
pub(crate) fn stl_c<B: Bus>(hart: &mut Hart, bus: &mut B, inst: &Inst, _: u64) -> Outcome {
    store_conditional::<4, B>(hart, bus, inst)
}

#[inline(always)]
pub(crate) fn stq_c<B: Bus>(hart: &mut Hart, bus: &mut B, inst: &Inst, _: u64) -> Outcome {
    store_conditional::<8, B>(hart, bus, inst)
}
