//! Zicsr: the floating-point CSRs and the user counters. Every other CSR is illegal, and so are a counter that the machine
//! does not select and writing a counter.

use super::super::registers::{
    CSR_CYCLE, CSR_FCSR, CSR_FFLAGS, CSR_FRM, CSR_INSTRET, CSR_TIME, hpm_index,
};
use super::{illegal, rs1, write};
use crate::exec::Outcome;
use crate::hart::Hart;
use crate::inst::{Inst, reg};

const FLAGS: u8 = 0x1f;

/// The number of the CSR that an instruction names.
#[inline(always)]
fn number(inst: &Inst) -> u16 {
    (inst.imm & 0xfff) as u16
}

/// The 5-bit immediate.
#[inline(always)]
fn zimm(inst: &Inst) -> u64 {
    (inst.imm >> 12 & 31) as u64
}

fn read(hart: &Hart, csr: u16) -> Option<u64> {
    Some(match csr {
        CSR_FFLAGS => u64::from(hart.fcsr & FLAGS),
        CSR_FRM => u64::from(hart.fcsr >> 5),
        CSR_FCSR => u64::from(hart.fcsr),
        CSR_CYCLE => hart.counters.cycle,
        CSR_TIME => hart.counters.time_ns,
        CSR_INSTRET => hart.counters.instret,
        _ => return hpm_index(csr).and(hart.selected),
    })
}

fn set(hart: &mut Hart, csr: u16, value: u64) -> Option<()> {
    hart.fcsr = match csr {
        CSR_FFLAGS => hart.fcsr & !FLAGS | value as u8 & FLAGS,
        CSR_FRM => hart.fcsr & FLAGS | (value as u8 & 7) << 5,
        CSR_FCSR => value as u8,
        _ => return None,
    };
    Some(())
}

/// Reads a CSR into `rd` and, if `update` gives a value, writes that.
fn access(hart: &mut Hart, inst: &Inst, update: impl FnOnce(u64) -> Option<u64>) -> Outcome {
    let csr = number(inst);
    let Some(old) = read(hart, csr) else {
        return illegal();
    };
    if let Some(value) = update(old)
        && set(hart, csr, value).is_none()
    {
        return illegal();
    }
    write(hart, inst, old)
}

pub(crate) fn csrrw<B>(hart: &mut Hart, _: &mut B, inst: &Inst, _: u64) -> Outcome {
    let operand = rs1(hart, inst);
    access(hart, inst, |_| Some(operand))
}

pub(crate) fn csrrs<B>(hart: &mut Hart, _: &mut B, inst: &Inst, _: u64) -> Outcome {
    let operand = rs1(hart, inst);
    access(hart, inst, |old| {
        (inst.rs1 != reg::ZERO).then_some(old | operand)
    })
}

pub(crate) fn csrrc<B>(hart: &mut Hart, _: &mut B, inst: &Inst, _: u64) -> Outcome {
    let operand = rs1(hart, inst);
    access(hart, inst, |old| {
        (inst.rs1 != reg::ZERO).then_some(old & !operand)
    })
}

pub(crate) fn csrrwi<B>(hart: &mut Hart, _: &mut B, inst: &Inst, _: u64) -> Outcome {
    access(hart, inst, |_| Some(zimm(inst)))
}

pub(crate) fn csrrsi<B>(hart: &mut Hart, _: &mut B, inst: &Inst, _: u64) -> Outcome {
    access(hart, inst, |old| {
        (zimm(inst) != 0).then_some(old | zimm(inst))
    })
}

pub(crate) fn csrrci<B>(hart: &mut Hart, _: &mut B, inst: &Inst, _: u64) -> Outcome {
    access(hart, inst, |old| {
        (zimm(inst) != 0).then_some(old & !zimm(inst))
    })
}
