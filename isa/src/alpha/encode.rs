//! The encoder: from [`Inst`] to 32 bits.

use super::decode::{DISE_OPCODE, HINT_MASK, LITERAL, LITERAL_BIT, decode, dise};
use super::qualifiers;
use super::registers;
use crate::format::{AlphaOperand, Operand};
use crate::inst::{Inst, Op, reg};
use crate::ops::OpInfo;

/// The encoding, if there is one: none for an immediate or register that does not fit, or an operation
/// of replacement sequences.
#[must_use]
pub fn encode(inst: &Inst) -> Option<u32> {
    match inst.op {
        Op::DiseMove => return encode_dise_move(inst),
        Op::DiseRet => return Some(DISE_OPCODE | dise::RETURN),
        Op::DiseDrain => return Some(DISE_OPCODE | dise::DRAIN),
        Op::AlphaPrefetch => {
            let word = u32::try_from(inst.imm).ok()?;
            return (decode(word) == *inst).then_some(word);
        }
        _ => {}
    }
    let info = inst.op.info();
    if inst.op < Op::AlphaLda || info.mask == 0 {
        return None;
    }
    let mut word = info.match_bits;
    for operand in info.format.operands() {
        let Operand::Alpha(operand) = *operand else {
            return None;
        };
        word |= field(inst, info, operand)?;
    }
    match inst.op {
        Op::AlphaMtFpcr => word |= float(inst.rs1)? << 16 | float(inst.rs1)?,
        Op::AlphaMfFpcr => word |= float(inst.rd)? << 16 | float(inst.rd)?,
        Op::AlphaRpcc => word |= integer(u8::try_from(inst.imm).ok()?)? << 16,
        _ => {}
    }
    Some(word)
}

/// The bits of one operand.
fn field(inst: &Inst, info: &OpInfo, operand: AlphaOperand) -> Option<u32> {
    Some(match operand {
        AlphaOperand::RaWritten => integer(inst.rd)? << 21,
        AlphaOperand::RaFirst => integer(inst.rs1)? << 21,
        AlphaOperand::RaStored | AlphaOperand::RaStoredWritten => integer(inst.rs2)? << 21,
        AlphaOperand::FaWritten => float(inst.rd)? << 21,
        AlphaOperand::FaFirst => float(inst.rs1)? << 21,
        AlphaOperand::FaStored => float(inst.rs2)? << 21,
        AlphaOperand::MemDisp16 => {
            let disp = i16::try_from(inst.imm).ok()?;
            integer(inst.rs1)? << 16 | u32::from(disp as u16)
        }
        AlphaOperand::MemDisp16High => {
            let high = (inst.imm & 0xffff == 0).then_some(inst.imm >> 16)?;
            let disp = i16::try_from(high).ok()?;
            integer(inst.rs1)? << 16 | u32::from(disp as u16)
        }
        AlphaOperand::RbAddress => integer(inst.rs1)? << 16,
        AlphaOperand::Disp21 => {
            let distance = inst.imm.checked_sub(4).filter(|d| d & 3 == 0)? >> 2;
            let in_reach = (-(1 << 20)..1 << 20).contains(&distance);
            in_reach.then_some(distance as u32 & 0x1f_ffff)?
        }
        AlphaOperand::JumpHint => u32::try_from(inst.imm).ok().filter(|&h| h <= HINT_MASK)?,
        AlphaOperand::RbOrLiteral if inst.imm != 0 => {
            let literal = u8::try_from(inst.imm - LITERAL).ok()?;
            let allowed = info.mask & LITERAL_BIT == 0 && inst.rs2 == reg::ZERO;
            allowed.then_some(LITERAL_BIT | u32::from(literal) << 13)?
        }
        AlphaOperand::RbOrLiteral => integer(inst.rs2)? << 16,
        AlphaOperand::RcWritten | AlphaOperand::RcKept => integer(inst.rd)?,
        AlphaOperand::FbSecond => float(inst.rs2)? << 16,
        AlphaOperand::FcWritten | AlphaOperand::FcKept => float(inst.rd)?,
        AlphaOperand::Qualifiers => {
            qualifiers::are_valid(info.format, inst.imm).then_some((inst.imm as u32) << 11)?
        }
        AlphaOperand::PalFunction => 0,
    })
}

fn encode_dise_move(inst: &Inst) -> Option<u32> {
    let dise = |r: u8| reg::number_in_handlers(r).map(|n| u32::from(n) << 16);
    match (dise(inst.rd), dise(inst.rs1)) {
        (None, Some(n)) => Some(DISE_OPCODE | dise::FROM_DISE | integer(inst.rd)? << 21 | n),
        (Some(n), None) => Some(DISE_OPCODE | dise::TO_DISE | integer(inst.rs1)? << 21 | n),
        _ => None,
    }
}

/// The field of an integer register.
fn integer(r: u8) -> Option<u32> {
    match r {
        reg::ZERO | reg::SINK => Some(31),
        registers::V0 => Some(0),
        0..reg::FP => Some(u32::from(r)),
        _ => None,
    }
}

/// The field of a floating-point register.
fn float(r: u8) -> Option<u32> {
    match r {
        reg::ZERO | reg::SINK => Some(31),
        reg::FP..63 => Some(u32::from(r - reg::FP)),
        _ => None,
    }
}
