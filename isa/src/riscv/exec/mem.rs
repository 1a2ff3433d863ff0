//! Loads and stores, integer and floating point. Any alignment.

use super::fp_half::boxed_half;
use super::{boxed, rs1, rs2, write};
use crate::bus::Bus;
use crate::exec::Outcome;
use crate::hart::Hart;
use crate::inst::Inst;
use crate::trap::TrapCause;

#[inline(always)]
fn address(hart: &Hart, inst: &Inst) -> u64 {
    rs1(hart, inst).wrapping_add(inst.imm as u64)
}

/// `name(value: bytes) = what the register gets;`
macro_rules! loads {
    ($($name:ident($value:ident: $bytes:literal) = $extended:expr;)*) => {$(
        #[inline(always)]
        pub(crate) fn $name<B: Bus>(hart: &mut Hart, bus: &mut B, inst: &Inst, _: u64) -> Outcome {
            match bus.load::<$bytes>(address(hart, inst)) {
                Ok($value) => write(hart, inst, $extended),
                Err(fault) => Outcome::Trap(TrapCause::LoadFault { addr: fault.addr }),
            }
        }
    )*};
}

macro_rules! stores {
    ($($name:ident: $bytes:literal;)*) => {$(
        #[inline(always)]
        pub(crate) fn $name<B: Bus>(hart: &mut Hart, bus: &mut B, inst: &Inst, _: u64) -> Outcome {
            match bus.store::<$bytes>(address(hart, inst), rs2(hart, inst)) {
                Ok(()) => Outcome::Next,
                Err(fault) => Outcome::Trap(TrapCause::StoreFault { addr: fault.addr }),
            }
        }
    )*};
}

loads! {
    lb(value: 1) = value as i8 as i64 as u64;
    lh(value: 2) = value as i16 as i64 as u64;
    lw(value: 4) = value as i32 as i64 as u64;
    ld(value: 8) = value;
    lbu(value: 1) = value;
    lhu(value: 2) = value;
    lwu(value: 4) = value;
    flh(value: 2) = boxed_half(value as u16);
    flw(value: 4) = boxed(value as u32);
    fld(value: 8) = value;
}

stores! {
    sb: 1;
    sh: 2;
    sw: 4;
    sd: 8;
    fsh: 2;
    fsw: 4;
    fsd: 8;
}
