//! The decoder: from 32 bits to [`Inst`].
//!
//! Words are looked up by major opcode and the low three bits of the function in lists built at
//! compile time from the table; the few rows of a list are tried in turn. Callers keep what they have
//! decoded.
//!
//! `Inst` leaves out parts of the encoding: fields that should be zero, and the registers of barriers, which the manual
//! gives no meaning.

use super::qualifiers;
use super::registers::{self, destination, fp_destination, fp_number, number};
use crate::format::{AlphaOperand, Operand};
use crate::inst::{Inst, Op, OpClass, reg};
use crate::ops::OpInfo;

/// In `imm` of an operate instruction: bits 7..0 are a literal, and there is no second register.
pub const LITERAL: i64 = 0x100;
/// In an operate instruction: bits 20..13 are a literal.
pub(super) const LITERAL_BIT: u32 = 1 << 12;
/// `jmp`, `jsr`, `ret` hold 14 bits of a hint.
pub(super) const HINT_MASK: u32 = 0x3fff;
/// The reserved major opcode of DISE operations in handlers; the function lies in the low 16 bits,
/// `ra` is the register of the program, `rb` the number of the DISE or interrupt register.
pub(super) const DISE_OPCODE: u32 = 0x0400_0000;
/// Functions of [`DISE_OPCODE`].
pub(super) mod dise {
    pub(crate) const FROM_DISE: u32 = 0;
    pub(crate) const TO_DISE: u32 = 1;
    pub(crate) const RETURN: u32 = 2;
    pub(crate) const DRAIN: u32 = 3;
}

/// Number of lists: 64 major opcodes times 8.
const BUCKETS: usize = 512;
/// The bits of a word that choose its list.
const FIELDS: u32 = 0xfc00_00e0;

const fn bucket_of(word: u32) -> usize {
    (word >> 26 << 3 | word >> 5 & 7) as usize
}

const fn bucket_word(bucket: usize) -> u32 {
    (bucket as u32 >> 3) << 26 | (bucket as u32 & 7) << 5
}

const fn in_bucket(info: &OpInfo, bucket: usize) -> bool {
    let own = info.mask != 0 && info.op as u16 >= Op::AlphaLda as u16;
    let seen = info.mask & FIELDS;
    own && info.match_bits & seen == bucket_word(bucket) & seen
}

crate::ops::lists!(BUCKETS, in_bucket);

/// Decodes an instruction. Words without an instruction become [`Inst::illegal`]: VAX floating point, privileged
/// PALcode calls, reserved opcodes, qualifiers that an operation does not have.
#[must_use]
pub fn decode(word: u32) -> Inst {
    let bucket = bucket_of(word);
    let list = &CANDIDATES[STARTS[bucket] as usize..STARTS[bucket + 1] as usize];
    list.iter()
        .map(|op| op.info())
        .filter(|info| word & info.mask == info.match_bits)
        .find_map(|info| with_operands(info, word))
        .or_else(|| dise_operation(word))
        .unwrap_or(Inst::illegal(4))
}

/// The operations of handlers, in the reserved major opcode 1.
fn dise_operation(word: u32) -> Option<Inst> {
    let (ra, rb) = fields(word);
    if word & 0xfc00_0000 != DISE_OPCODE {
        return None;
    }
    match word & 0xffff {
        dise::FROM_DISE => Some(Inst {
            rd: destination(ra),
            rs1: reg::of_handlers(rb)?,
            ..build(Op::DiseMove)
        }),
        dise::TO_DISE => Some(Inst {
            rd: reg::of_handlers(rb)?,
            rs1: number(ra),
            ..build(Op::DiseMove)
        }),
        dise::RETURN if word == DISE_OPCODE | dise::RETURN => Some(build(Op::DiseRet)),
        dise::DRAIN if word == DISE_OPCODE | dise::DRAIN => Some(build(Op::DiseDrain)),
        _ => None,
    }
}

/// `ra` and `rb`.
fn fields(word: u32) -> (u8, u8) {
    ((word >> 21 & 31) as u8, (word >> 16 & 31) as u8)
}

/// An instruction without operands yet.
pub(super) fn build(op: Op) -> Inst {
    Inst {
        op,
        class: op.class(),
        ..Inst::illegal(4)
    }
}

fn with_operands(info: &OpInfo, word: u32) -> Option<Inst> {
    let (ra, rb) = fields(word);
    let rc = (word & 31) as u8;
    let mut inst = build(info.op);
    for operand in info.format.operands() {
        let Operand::Alpha(operand) = *operand else {
            continue;
        };
        match operand {
            AlphaOperand::RaWritten => inst.rd = destination(ra),
            AlphaOperand::RaFirst => inst.rs1 = number(ra),
            AlphaOperand::RaStored => inst.rs2 = number(ra),
            AlphaOperand::RaStoredWritten => {
                inst.rs2 = number(ra);
                inst.rd = destination(ra);
            }
            AlphaOperand::FaWritten => inst.rd = fp_destination(ra),
            AlphaOperand::FaFirst => inst.rs1 = fp_number(ra),
            AlphaOperand::FaStored => inst.rs2 = fp_number(ra),
            AlphaOperand::MemDisp16 => {
                inst.rs1 = number(rb);
                inst.imm = i64::from(word as i16);
            }
            AlphaOperand::MemDisp16High => {
                inst.rs1 = number(rb);
                inst.imm = i64::from(word as i16) << 16;
            }
            AlphaOperand::RbAddress => inst.rs1 = number(rb),
            AlphaOperand::Disp21 => inst.imm = 4 + i64::from((word << 11) as i32 >> 11) * 4,
            AlphaOperand::JumpHint => inst.imm = i64::from(word & HINT_MASK),
            AlphaOperand::RbOrLiteral if word & LITERAL_BIT != 0 => {
                inst.imm = LITERAL | i64::from(word >> 13 & 0xff);
            }
            AlphaOperand::RbOrLiteral => inst.rs2 = number(rb),
            AlphaOperand::RcWritten => inst.rd = destination(rc),
            AlphaOperand::RcKept => {
                inst.rd = destination(rc);
                inst.rs3 = number(rc);
            }
            AlphaOperand::FbSecond => inst.rs2 = fp_number(rb),
            AlphaOperand::FcWritten => inst.rd = fp_destination(rc),
            AlphaOperand::FcKept => {
                inst.rd = fp_destination(rc);
                inst.rs3 = fp_number(rc);
            }
            AlphaOperand::Qualifiers => {
                inst.imm = i64::from(word >> 11 & 31);
                if !qualifiers::are_valid(info.format, inst.imm) {
                    return None;
                }
            }
            AlphaOperand::PalFunction => {}
        }
    }
    complete(&mut inst, word).then_some(inst)
}

/// Completes an instruction by properties that its operands do not tell. Gives whether the word is an instruction.
fn complete(inst: &mut Inst, word: u32) -> bool {
    let (ra, rb) = fields(word);
    match inst.op {
        // All three fields name the register.
        Op::AlphaMtFpcr | Op::AlphaMfFpcr => {
            return ra == rb && u32::from(ra) == word & 31;
        }
        // The second register is not read, but shown.
        Op::AlphaRpcc => inst.imm = i64::from(number(rb)),
        _ if inst.class == OpClass::Load || is_load_locked(inst.op) => {
            if inst.rd == reg::SINK {
                *inst = prefetch(word);
            }
        }
        _ => hidden_operands(inst),
    }
    true
}

fn is_load_locked(op: Op) -> bool {
    matches!(op, Op::AlphaLdlL | Op::AlphaLdqL)
}

/// A load into register 31 reads nothing and never traps (21264 hardware reference manual, 2.6);
/// `ldq_u` into it, the universal no-op, does not even wait for its base.
pub(super) fn prefetch(word: u32) -> Inst {
    let (_, rb) = fields(word);
    let unop = word >> 26 == Op::AlphaLdqU.info().match_bits >> 26;
    Inst {
        imm: i64::from(word),
        rs1: if unop { reg::ZERO } else { number(rb) },
        ..build(Op::AlphaPrefetch)
    }
}

/// The registers that PALcode functions use.
pub(super) fn hidden_operands(inst: &mut Inst) {
    match inst.op {
        Op::AlphaRduniq => {
            inst.rd = registers::V0;
            inst.rs1 = reg::UNIQUE;
        }
        Op::AlphaWruniq => {
            inst.rd = reg::UNIQUE;
            inst.rs1 = registers::A0;
        }
        Op::AlphaGentrap => inst.rs1 = registers::A0,
        _ => {}
    }
}
