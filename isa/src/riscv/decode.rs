//! The decoder: from 16 or 32 bits to [`Inst`].
//!
//! 32-bit words are looked up by major opcode and `funct3` in lists built at compile time from the
//! table; the few rows of a list are tried in turn. Callers keep what they have decoded.
//!
//! `Inst` leaves out parts of the encoding: the ordering bits `aq` and `rl` of atomics (memory is sequentially
//! consistent in execution order, so they change nothing), and the reserved fields of `fence` and `fence.i`, which the
//! specification tells implementations to ignore.

use super::rvc;
use crate::format::Operand;
use crate::inst::{Inst, Op, OpClass, reg};
use crate::ops::OpInfo;

/// Number of lists: 32 major opcodes of 32-bit instructions times 8 values of `funct3`.
const BUCKETS: usize = 256;
/// A word of this major opcode (bits 6..2) whose bits 1..0 are set.
const fn bucket_word(bucket: usize) -> u32 {
    ((bucket as u32 & 0x1f) << 2) | 3 | ((bucket as u32 >> 5) << 12)
}

/// The row is one of this instruction set with an encoding: those of Alpha come behind.
const fn is_own(info: &OpInfo) -> bool {
    info.mask != 0 && (info.op as u16) < Op::AlphaLda as u16
}

const fn in_bucket(info: &OpInfo, bucket: usize) -> bool {
    const FIELDS: u32 = 0x0000_707f;
    let seen = info.mask & FIELDS;
    is_own(info) && info.match_bits & seen == bucket_word(bucket) & seen
}

crate::ops::lists!(BUCKETS, in_bucket);

/// Decodes the instruction whose first two or four bytes are `word`. A 16-bit encoding uses the low half only. Words
/// without an instruction become [`Inst::illegal`]; encodings longer than 32 bits (low five bits set) are reported as
/// illegal with length 4.
#[must_use]
pub fn decode(word: u32) -> Inst {
    if word & 3 != 3 {
        return rvc::decode(word as u16);
    }
    let bucket = ((word >> 2) & 0x1f | ((word >> 12) & 7) << 5) as usize;
    let list = &CANDIDATES[STARTS[bucket] as usize..STARTS[bucket + 1] as usize];
    let matching = list
        .iter()
        .map(|op| op.info())
        .find(|info| word & info.mask == info.match_bits);
    match matching {
        Some(info) => with_operands(info, word),
        None => dise_move(word).unwrap_or(Inst::illegal(4)),
    }
}

/// `d_mfdr rd, drN` and `d_mtdr drN, rs1`: custom-0 with `funct3` 0 and 1, the number of the DISE or
/// interrupt register ([`reg::of_handlers`]) in the field of the other register.
fn dise_move(word: u32) -> Option<Inst> {
    let rd = (word >> 7 & 31) as u8;
    let rs1 = (word >> 15 & 31) as u8;
    let (rd, rs1) = match word & 0xfff0_707f {
        0x0000_000b => (destination(rd), reg::of_handlers(rs1)?),
        0x0000_100b => (reg::of_handlers(rd)?, rs1),
        _ => return None,
    };
    Some(Inst {
        rd,
        rs1,
        ..build(Op::DiseMove, 4)
    })
}

/// An instruction without operands yet.
pub(super) fn build(op: Op, len: u8) -> Inst {
    Inst {
        op,
        class: op.class(),
        ..Inst::illegal(len)
    }
}

/// The zero register as a destination is the sink.
pub(super) const fn destination(x: u8) -> u8 {
    if x == reg::ZERO { reg::SINK } else { x }
}

/// Class of a jump, by the link registers `ra` and `t0` (unprivileged specification, 2.5.1). A `jal` that writes
/// another register is not a call by that convention.
pub(super) fn class_of(inst: &Inst) -> OpClass {
    let link = |r: u8| r == 1 || r == 5;
    match inst.op {
        Op::Jal if link(inst.rd) => OpClass::Call,
        Op::Jalr if link(inst.rd) => OpClass::CallIndirect,
        Op::Jalr if inst.rd == reg::SINK && link(inst.rs1) => OpClass::Return,
        op => op.class(),
    }
}

fn with_operands(info: &OpInfo, word: u32) -> Inst {
    let field = |at: u32| (word >> at & 31) as u8;
    let signed = word as i32;
    let mut inst = build(info.op, 4);
    for operand in info.format.operands() {
        match operand {
            Operand::Rd => inst.rd = destination(field(7)),
            Operand::RdKept => {
                inst.rd = destination(field(7));
                inst.rs3 = field(7);
            }
            Operand::Rs1 | Operand::Address => inst.rs1 = field(15),
            Operand::Rs2 => inst.rs2 = field(20),
            Operand::Fd => inst.rd = reg::FP + field(7),
            Operand::Fs1 => inst.rs1 = reg::FP + field(15),
            Operand::Fs2 => inst.rs2 = reg::FP + field(20),
            Operand::Fs3 => inst.rs3 = reg::FP + field(27),
            Operand::Imm12 => inst.imm = i64::from(signed >> 20),
            Operand::Shamt6 => inst.imm = i64::from(word >> 20 & 63),
            Operand::Shamt5 => inst.imm = i64::from(word >> 20 & 31),
            Operand::Imm20 => inst.imm = i64::from(signed & !0xfff),
            Operand::MemLoad => {
                inst.rs1 = field(15);
                inst.imm = i64::from(signed >> 20);
            }
            Operand::MemStore => {
                inst.rs1 = field(15);
                inst.imm = i64::from((signed >> 25 << 5) | (signed >> 7 & 31));
            }
            Operand::BranchTarget => inst.imm = branch_offset(word),
            Operand::JumpTarget => inst.imm = jump_offset(word),
            Operand::Csr => inst.imm |= i64::from(word >> 20),
            Operand::Zimm => inst.imm |= i64::from(field(15)) << 12,
            Operand::FenceSets => inst.imm = i64::from(fence_sets(word >> 20)),
            Operand::RoundingMode | Operand::RoundingModeExact => {
                let mode = word >> 12 & 7;
                if mode == 5 || mode == 6 {
                    return Inst::illegal(4);
                }
                inst.imm = i64::from(mode);
            }
            Operand::Constant => inst.imm = i64::from(field(15)),
            Operand::MopNumber5 => {
                inst.imm =
                    i64::from(word >> 20 & 3 | (word >> 26 & 3) << 2 | (word >> 30 & 1) << 4);
            }
            Operand::MopNumber3 => inst.imm = i64::from(word >> 26 & 3 | (word >> 30 & 1) << 2),
            Operand::RoundingModeTruncate => {}
            // Operations with these have no encoding.
            Operand::Index | Operand::Handler | Operand::Alpha(_) => {}
        }
    }
    inst.class = class_of(&inst);
    inst
}

fn branch_offset(word: u32) -> i64 {
    let bits = (word >> 8 & 15) << 1 | (word >> 25 & 63) << 5 | (word >> 7 & 1) << 11;
    i64::from((word as i32 >> 31) << 12 | bits as i32)
}

fn jump_offset(word: u32) -> i64 {
    let bits = (word >> 21 & 0x3ff) << 1 | (word >> 20 & 1) << 11 | (word >> 12 & 0xff) << 12;
    i64::from((word as i32 >> 31) << 20 | bits as i32)
}

/// `fm`, predecessors and successors; every reserved `fm` is a plain fence.
fn fence_sets(bits: u32) -> u32 {
    if bits == super::FENCE_TSO {
        bits
    } else {
        bits & 0xff
    }
}
