//! The disassembler: standard assembly language without aliases.

use std::fmt::Write;

use super::FENCE_TSO;
use super::constants::NAMES;
use super::registers::{ROUNDING_MODES, csr_name, register_name};
use crate::format::Operand;
use crate::inst::{Inst, Op, reg};

/// Rounding mode that is left out where it cannot matter.
const EXACT_DEFAULT: i64 = 0;
/// Rounding mode that is left out elsewhere: dynamic.
const DYNAMIC: i64 = 7;

/// The instruction in assembly language, as `objdump -M no-aliases` words it, with absolute
/// targets for an instruction at `pc`. A compressed instruction is shown as the one it expands to.
/// [`assemble`](super::asm::assemble) reads it back.
#[must_use]
pub fn disassemble(inst: &Inst, pc: u64) -> String {
    let mut text = mnemonic(inst).to_owned();
    if inst.op == Op::Fence && inst.imm as u32 == FENCE_TSO {
        return text;
    }
    if matches!(inst.op, Op::MopR | Op::MopRr) {
        // Writing to a string cannot fail.
        let _ = write!(text, ".{}", inst.imm);
    }
    let mut separator = " ";
    for &operand in inst.op.format().operands() {
        let before = text.len();
        text.push_str(separator);
        let start = text.len();
        // Writing to a string cannot fail.
        let _ = write_operand(&mut text, inst, operand, pc);
        if text.len() == start {
            text.truncate(before);
        } else {
            separator = ", ";
        }
    }
    text
}

fn mnemonic(inst: &Inst) -> &'static str {
    let is_dise = |r: u8| reg::number_in_handlers(r).is_some();
    match inst.op {
        Op::Fence if inst.imm as u32 == FENCE_TSO => "fence.tso",
        Op::DiseMove if is_dise(inst.rs1) && !is_dise(inst.rd) => "d_mfdr",
        Op::DiseMove if is_dise(inst.rd) && !is_dise(inst.rs1) => "d_mtdr",
        op => op.mnemonic(),
    }
}

/// Appends one operand; nothing for one that is left out.
fn write_operand(text: &mut String, inst: &Inst, operand: Operand, pc: u64) -> std::fmt::Result {
    match operand {
        Operand::Rd | Operand::RdKept | Operand::Fd => text.write_str(register_name(inst.rd)),
        Operand::Rs1 | Operand::Fs1 => text.write_str(register_name(inst.rs1)),
        Operand::Rs2 | Operand::Fs2 => text.write_str(register_name(inst.rs2)),
        Operand::Fs3 => text.write_str(register_name(inst.rs3)),
        Operand::Imm12 | Operand::Index => write!(text, "{}", inst.imm),
        Operand::Shamt6 | Operand::Shamt5 | Operand::Handler => write!(text, "{:#x}", inst.imm),
        Operand::Imm20 => write!(text, "{:#x}", inst.imm >> 12 & 0xf_ffff),
        Operand::MemLoad | Operand::MemStore => {
            write!(text, "{}({})", inst.imm, register_name(inst.rs1))
        }
        Operand::Address => write!(text, "({})", register_name(inst.rs1)),
        Operand::BranchTarget | Operand::JumpTarget => {
            write!(text, "{:#x}", inst.direct_target(pc))
        }
        Operand::Csr => match csr_name((inst.imm & 0xfff) as u16) {
            Some(name) => text.write_str(name),
            None => write!(text, "{:#x}", inst.imm & 0xfff),
        },
        Operand::Zimm => write!(text, "{}", inst.imm >> 12 & 31),
        Operand::FenceSets => {
            write_fence_set(text, inst.imm >> 4)?;
            text.write_str(", ")?;
            write_fence_set(text, inst.imm)
        }
        Operand::RoundingMode if inst.imm == DYNAMIC => Ok(()),
        Operand::RoundingModeExact if inst.imm == EXACT_DEFAULT => Ok(()),
        Operand::RoundingMode | Operand::RoundingModeExact => {
            let name = usize::try_from(inst.imm)
                .ok()
                .and_then(|m| *ROUNDING_MODES.get(m)?);
            text.write_str(name.unwrap_or("?"))
        }
        Operand::RoundingModeTruncate => text.write_str("rtz"),
        Operand::Constant => text.write_str(NAMES[inst.imm as usize & 31]),
        // In the mnemonic.
        Operand::MopNumber5 | Operand::MopNumber3 => Ok(()),
        Operand::Alpha(_) => unreachable!("an operand of another instruction set"),
    }
}

/// The low four bits as letters: input, output, reads, writes.
fn write_fence_set(text: &mut String, bits: i64) -> std::fmt::Result {
    if bits & 15 == 0 {
        return text.write_str("0");
    }
    for (i, letter) in ['i', 'o', 'r', 'w'].into_iter().enumerate() {
        if bits & (8 >> i) != 0 {
            text.push(letter);
        }
    }
    Ok(())
}
