//! The encoder: from [`Inst`] to 32 bits.

use crate::format::Operand;
use crate::inst::{Inst, Op, reg};
use crate::isa::Isa;

/// The 32-bit encoding, also of an instruction that was 16 bits long. `None` for an immediate or register that does not
/// fit, and for an operation of replacement sequences.
#[must_use]
pub fn encode(inst: &Inst) -> Option<u32> {
    if inst.op == Op::DiseMove {
        return encode_dise_move(inst);
    }
    let info = inst.op.info();
    if info.mask == 0 || inst.op.isa() == Some(Isa::Alpha) {
        return None;
    }
    let mut word = info.match_bits;
    for operand in info.format.operands() {
        word |= match operand {
            Operand::Rd => integer(inst.rd)? << 7,
            Operand::RdKept => {
                let rd = integer(inst.rd)?;
                if integer(inst.rs3)? != rd {
                    return None;
                }
                rd << 7
            }
            Operand::Rs1 | Operand::Address => integer(inst.rs1)? << 15,
            Operand::Rs2 => integer(inst.rs2)? << 20,
            Operand::Fd => float(inst.rd)? << 7,
            Operand::Fs1 => float(inst.rs1)? << 15,
            Operand::Fs2 => float(inst.rs2)? << 20,
            Operand::Fs3 => float(inst.rs3)? << 27,
            Operand::Imm12 => signed(inst.imm, 12)? << 20,
            Operand::Shamt6 => unsigned(inst.imm, 6)? << 20,
            Operand::Shamt5 => unsigned(inst.imm, 5)? << 20,
            Operand::Imm20 => {
                let upper = i32::try_from(inst.imm).ok().filter(|v| v & 0xfff == 0)?;
                upper as u32
            }
            Operand::MemLoad => integer(inst.rs1)? << 15 | signed(inst.imm, 12)? << 20,
            Operand::MemStore => {
                let imm = signed(inst.imm, 12)?;
                integer(inst.rs1)? << 15 | imm >> 5 << 25 | (imm & 31) << 7
            }
            Operand::BranchTarget => branch_bits(even(inst.imm, 13)?),
            Operand::JumpTarget => jump_bits(even(inst.imm, 21)?),
            Operand::Csr => (inst.imm as u32 & 0xfff) << 20,
            Operand::Zimm => unsigned(inst.imm >> 12, 5)? << 15,
            Operand::FenceSets => unsigned(inst.imm, 12)? << 20,
            Operand::RoundingMode | Operand::RoundingModeExact => {
                unsigned(inst.imm, 3).filter(|&mode| mode != 5 && mode != 6)? << 12
            }
            Operand::Constant => unsigned(inst.imm, 5)? << 15,
            Operand::MopNumber5 => {
                let n = unsigned(inst.imm, 5)?;
                (n & 3) << 20 | (n >> 2 & 3) << 26 | n >> 4 << 30
            }
            Operand::MopNumber3 => {
                let n = unsigned(inst.imm, 3)?;
                (n & 3) << 26 | n >> 2 << 30
            }
            Operand::RoundingModeTruncate => 0,
            Operand::Index | Operand::Handler | Operand::Alpha(_) => return None,
        };
    }
    Some(word)
}

fn encode_dise_move(inst: &Inst) -> Option<u32> {
    let dise = |r: u8| reg::number_in_handlers(r).map(u32::from);
    match (dise(inst.rd), dise(inst.rs1)) {
        (None, Some(n)) => Some(0x0000_000b | integer(inst.rd)? << 7 | n << 15),
        (Some(n), None) => Some(0x0000_100b | n << 7 | integer(inst.rs1)? << 15),
        _ => None,
    }
}

fn integer(r: u8) -> Option<u32> {
    match r {
        reg::SINK => Some(0),
        0..reg::FP => Some(u32::from(r)),
        _ => None,
    }
}

fn float(r: u8) -> Option<u32> {
    (reg::FP..reg::DISE)
        .contains(&r)
        .then(|| u32::from(r - reg::FP))
}

/// The low `bits` bits of a value that fits in them as a signed number.
fn signed(value: i64, bits: u32) -> Option<u32> {
    let limit = 1i64 << (bits - 1);
    (-limit..limit)
        .contains(&value)
        .then_some(value as u32 & ((1 << bits) - 1))
}

fn unsigned(value: i64, bits: u32) -> Option<u32> {
    (0..1i64 << bits).contains(&value).then_some(value as u32)
}

fn even(value: i64, bits: u32) -> Option<u32> {
    signed(value, bits).filter(|v| v & 1 == 0)
}

fn branch_bits(offset: u32) -> u32 {
    (offset >> 1 & 15) << 8
        | (offset >> 5 & 63) << 25
        | (offset >> 11 & 1) << 7
        | (offset >> 12 & 1) << 31
}

fn jump_bits(offset: u32) -> u32 {
    (offset >> 1 & 0x3ff) << 21
        | (offset >> 11 & 1) << 20
        | (offset >> 12 & 0xff) << 12
        | (offset >> 20 & 1) << 31
}
