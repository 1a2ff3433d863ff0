//! The disassembler: assembly language as `objdump` for Alpha words it, aliases included.
//!
//! Two differences remain: targets have a `0x` (`objdump` leaves it out where it knows symbols), and
//! what is no instruction of a user program on an EV6 (VAX floating point, privileged PALcode calls)
//! has no name here.

use std::fmt::Write;

use super::decode::{LITERAL, decode};
use super::qualifiers;
use super::registers::{RA, register_name};
use crate::format::{AlphaOperand, Format, Operand};
use crate::inst::{Inst, Op, reg};

/// The instruction in assembly language, with absolute targets for one at `pc`.
/// [`assemble`](super::asm::assemble) reads it back.
#[must_use]
pub fn disassemble(inst: &Inst, pc: u64) -> String {
    if inst.op == Op::AlphaPrefetch {
        return prefetch(inst);
    }
    let (mnemonic, operands) = alias(inst).unwrap_or((mnemonic(inst), inst.op.format().operands()));
    let mut text = mnemonic.to_owned();
    if let Some((traps, rounding)) = qualifiers::suffix(inst.op.format(), inst.imm)
        && !(traps.is_empty() && rounding.is_empty())
    {
        let _ = write!(text, "/{traps}{rounding}");
    }
    let mut separator = ' ';
    for &operand in operands {
        let before = text.len();
        text.push(separator);
        let start = text.len();
        // Writing to a string cannot fail.
        let _ = write_operand(&mut text, inst, operand, pc);
        if text.len() == start {
            text.truncate(before);
        } else {
            separator = ',';
        }
    }
    text
}

/// The text of a word as an instruction; `.long` with the word if it is no instruction.
#[must_use]
pub fn disassemble_word(word: u32, pc: u64) -> String {
    let inst = decode(word);
    if inst.op == Op::Illegal {
        return format!(".long {word:#x}");
    }
    disassemble(&inst, pc)
}

fn mnemonic(inst: &Inst) -> &'static str {
    let is_dise = |r: u8| reg::number_in_handlers(r).is_some();
    match inst.op {
        Op::DiseMove if is_dise(inst.rs1) && !is_dise(inst.rd) => "d_mfdr",
        Op::DiseMove if is_dise(inst.rd) && !is_dise(inst.rs1) => "d_mtdr",
        Op::AlphaBis => "or",
        Op::AlphaBic => "andnot",
        Op::AlphaJsrCoroutine => "jcr",
        op => op.mnemonic(),
    }
}

/// The load that a prefetch is, as it is written down.
fn prefetch(inst: &Inst) -> String {
    let word = inst.imm as u32;
    let load = Op::ALL.iter().find(|op| {
        op.isa().is_some_and(|isa| isa == crate::isa::Isa::Alpha)
            && matches!(op.format(), Format::AlphaLoad | Format::AlphaFpLoad)
            && op.info().match_bits == word & 0xfc00_0000
    });
    match load {
        Some(Op::AlphaLdqU) => "unop".to_owned(),
        Some(op) => {
            let target = match op.format() {
                Format::AlphaFpLoad => "$f31",
                _ => "zero",
            };
            let base = register_name(super::registers::number((word >> 16 & 31) as u8));
            format!("{} {target},{}({base})", op.mnemonic(), word as i16)
        }
        None => inst.op.mnemonic().to_owned(),
    }
}

const NONE: &[Operand] = &[];
const B_C: &[Operand] = Format::AlphaOperateB.operands();
const C: &[Operand] = Format::AlphaOperateC.operands();
const FB_FC: &[Operand] = Format::AlphaFpPlainUnary.operands();
const FC: &[Operand] = &[Operand::Alpha(AlphaOperand::FcWritten)];
const RB: &[Operand] = &[Operand::Alpha(AlphaOperand::RbAddress)];
const TARGET: &[Operand] = &[Operand::Alpha(AlphaOperand::Disp21)];

/// The usual name of a special case.
fn alias(inst: &Inst) -> Option<(&'static str, &'static [Operand])> {
    let first_zero = inst.rs1 == reg::ZERO;
    let register = inst.imm & LITERAL == 0;
    let no_destination = inst.rd == reg::SINK;
    Some(match inst.op {
        Op::AlphaBis if register && first_zero && inst.rs2 == reg::ZERO && no_destination => {
            ("nop", NONE)
        }
        Op::AlphaBis if register && first_zero && inst.rs2 == reg::ZERO => ("clr", C),
        Op::AlphaBis if first_zero || register && inst.rs1 == inst.rs2 => ("mov", B_C),
        Op::AlphaOrnot if first_zero => ("not", B_C),
        Op::AlphaAddl if first_zero => ("sextl", B_C),
        Op::AlphaSubl if first_zero => ("negl", B_C),
        Op::AlphaSublV if first_zero => ("negl/v", B_C),
        Op::AlphaSubq if first_zero => ("negq", B_C),
        Op::AlphaSubqV if first_zero => ("negq/v", B_C),
        Op::AlphaSubs if first_zero && has_short_negation(inst.imm) => ("negs", FB_FC),
        Op::AlphaSubt if first_zero && has_short_negation(inst.imm) => ("negt", FB_FC),
        Op::AlphaCpys if first_zero && inst.rs2 == reg::ZERO && no_destination => ("fnop", NONE),
        Op::AlphaCpys if first_zero && inst.rs2 == reg::ZERO => ("fclr", FC),
        Op::AlphaCpys if first_zero => ("fabs", FB_FC),
        Op::AlphaCpys if inst.rs1 == inst.rs2 => ("fmov", FB_FC),
        Op::AlphaCpysn if inst.rs1 == inst.rs2 => ("fneg", FB_FC),
        Op::AlphaBr if no_destination => ("br", TARGET),
        Op::AlphaJmp if no_destination && inst.imm == 0 => ("jmp", RB),
        Op::AlphaRet if no_destination && inst.rs1 == RA && inst.imm == 1 => ("ret", NONE),
        _ => return None,
    })
}

/// Negations have names without qualifiers, with `/su` and with `/sui`, rounding to nearest.
fn has_short_negation(value: i64) -> bool {
    matches!((value >> 2, value & 3), (0 | 5 | 7, 2))
}

/// The name of a floating-point register as a source or destination.
fn fp_name(register: u8) -> &'static str {
    match register {
        reg::ZERO | reg::SINK => "$f31",
        r => register_name(r),
    }
}

/// Appends one operand; nothing for one that is left out.
fn write_operand(text: &mut String, inst: &Inst, operand: Operand, pc: u64) -> std::fmt::Result {
    use AlphaOperand as A;
    let operand = match operand {
        Operand::Alpha(operand) => operand,
        Operand::Rd => return text.write_str(register_name(inst.rd)),
        Operand::Rs1 => return text.write_str(register_name(inst.rs1)),
        Operand::Rs2 => return text.write_str(register_name(inst.rs2)),
        Operand::Index => return write!(text, "{}", inst.imm),
        Operand::Handler => return write!(text, "{:#x}", inst.imm),
        _ => unreachable!("an operand of another instruction set"),
    };
    match operand {
        A::RaWritten | A::RcWritten | A::RcKept => text.write_str(register_name(inst.rd))?,
        A::RaFirst => text.write_str(register_name(inst.rs1))?,
        A::RaStored | A::RaStoredWritten => text.write_str(register_name(inst.rs2))?,
        A::FaWritten | A::FcWritten | A::FcKept => text.write_str(fp_name(inst.rd))?,
        A::FaFirst => text.write_str(fp_name(inst.rs1))?,
        A::FaStored | A::FbSecond => text.write_str(fp_name(inst.rs2))?,
        A::MemDisp16 | A::MemDisp16High => {
            let high = operand == A::MemDisp16High;
            write!(text, "{}", inst.imm >> if high { 16 } else { 0 })?;
            // An address computed from nothing is a constant.
            let computed = matches!(inst.op, Op::AlphaLda | Op::AlphaLdah);
            if inst.rs1 != reg::ZERO || !computed {
                write!(text, "({})", register_name(inst.rs1))?;
            }
        }
        A::RbAddress => write!(text, "({})", register_name(inst.rs1))?,
        A::Disp21 => write!(text, "{:#x}", inst.direct_target(pc))?,
        A::JumpHint => match inst.op {
            Op::AlphaJmp | Op::AlphaJsr => write!(text, "{:#x}", hinted_target(inst, pc))?,
            _ => write!(text, "{:#x}", inst.imm)?,
        },
        A::RbOrLiteral if inst.imm & LITERAL == 0 => text.write_str(register_name(inst.rs2))?,
        A::RbOrLiteral => match inst.imm - LITERAL {
            0 => text.write_str("0")?,
            literal => write!(text, "{literal:#x}")?,
        },
        A::Qualifiers | A::PalFunction => {}
    }
    if inst.op == Op::AlphaRpcc && inst.imm != 0 {
        write!(text, ",{}", register_name(inst.imm as u8))?;
    }
    Ok(())
}

/// Expected target of `jmp` and `jsr`: the hint is a displacement like that of a branch.
fn hinted_target(inst: &Inst, pc: u64) -> u64 {
    let distance = i64::from((inst.imm as i32) << 18 >> 18) * 4;
    pc.wrapping_add(4).wrapping_add(distance as u64)
}
