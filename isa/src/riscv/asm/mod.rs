//! The assembler: one line of text to one [`Inst`].
//!
//! The assembler knows the operations of the table in the syntax that [`disassemble`](super::disassemble) writes, and
//! the usual pseudo-instructions that stand for a single instruction. Programs of more than one line, labels and
//! symbols are the caller's; an [`OperandHook`] lets it give names to registers and immediates.

mod operand;
mod pseudo;
#[cfg(test)]
mod tests;

use super::FENCE_TSO;
use super::decode::{build, class_of};
use super::registers::parse_register;
pub use crate::asm::{AsmError, NoHook, OperandHook};
use operand::Parser;

use crate::asm::{Context, Token, check_dise_move, split, wrong_count};
use crate::format::{Format, Operand};
use crate::inst::{Inst, Op};
use crate::isa::Isa;

/// Assembles one instruction that will lie at `pc`.
///
/// # Errors
/// An unknown mnemonic (with the nearest one), a wrong number of operands, a register of the wrong
/// kind, an immediate or a distance that does not fit.
pub fn assemble(text: &str, pc: u64, operands: &dyn OperandHook) -> Result<Inst, AsmError> {
    let (mnemonic, tokens) = split(text)?;
    let parser = Parser(Context {
        mnemonic: mnemonic.text,
        pc,
        hook: operands,
        parse_register,
    });
    if let Some(inst) = pseudo::special(&parser, mnemonic, &tokens)? {
        return Ok(inst);
    }
    let (op, tokens) = match pseudo::expand(mnemonic, &tokens) {
        Some(expansion) => expansion,
        None => match operation(mnemonic.text) {
            Some(op) => (op, tokens),
            None => return Err(pseudo::unknown(mnemonic, tokens.len())),
        },
    };
    let number = mop_number(mnemonic.text);
    let op = pseudo::immediate_form(&parser, op, &tokens).unwrap_or(op);
    let inst = instruction(&parser, op, mnemonic, &tokens)?;
    Ok(match number {
        Some((_, imm)) => Inst { imm, ..inst },
        None => inst,
    })
}

/// The operation and the number of `mop.r.N` and `mop.rr.N`.
fn mop_number(mnemonic: &str) -> Option<(Op, i64)> {
    let (op, digits, count) = match mnemonic.strip_prefix("mop.")?.split_once('.')? {
        ("r", digits) => (Op::MopR, digits, 32),
        ("rr", digits) => (Op::MopRr, digits, 8),
        _ => return None,
    };
    let number = digits.parse().ok()?;
    (0..count).contains(&number).then_some((op, number))
}

/// The operation of a mnemonic. The ordering suffixes of atomics are accepted; they change nothing
/// here.
fn operation(mnemonic: &str) -> Option<Op> {
    if mnemonic.starts_with("mop.") {
        return mop_number(mnemonic).map(|(op, _)| op);
    }
    Op::from_mnemonic(Isa::Riscv64, mnemonic).or_else(|| {
        let (base, ordering) = mnemonic.rsplit_once('.')?;
        let op = Op::from_mnemonic(Isa::Riscv64, base)?;
        let atomic = matches!(
            op.format(),
            Format::Atomic | Format::AtomicCas | Format::LoadReserved
        );
        (atomic && matches!(ordering, "aq" | "rl" | "aqrl")).then_some(op)
    })
}

/// An operation of the table with its operands.
fn instruction(
    parser: &Parser<'_>,
    op: Op,
    mnemonic: Token<'_>,
    tokens: &[Token<'_>],
) -> Result<Inst, AsmError> {
    let mut inst = build(op, 4);
    let mut rest = tokens;
    let wrong_count = || wrong_operands(op.format(), mnemonic, tokens.len());
    for &operand in op.format().operands() {
        match (operand, rest) {
            (Operand::RoundingMode, []) => inst.imm = 7,
            (Operand::RoundingModeExact, []) => inst.imm = 0,
            (Operand::MopNumber5 | Operand::MopNumber3, _) => {}
            (Operand::FenceSets, [first, second, tail @ ..]) => {
                inst.imm = parser.fence_set(*first)? << 4 | parser.fence_set(*second)?;
                rest = tail;
            }
            (Operand::FenceSets, _) | (_, []) => return Err(wrong_count()),
            (_, [token, tail @ ..]) => {
                parser.operand(&mut inst, operand, *token)?;
                rest = tail;
            }
        }
    }
    if !rest.is_empty() {
        return Err(wrong_count());
    }
    check_dise_move(&inst, mnemonic)?;
    inst.class = class_of(&inst);
    Ok(inst)
}

/// The error for a number of operands that the format does not have.
fn wrong_operands(format: Format, mnemonic: Token<'_>, given: usize) -> AsmError {
    let names: Vec<&str> = format
        .operands()
        .iter()
        .filter(|operand| !matches!(operand, Operand::MopNumber5 | Operand::MopNumber3))
        .map(|&operand| operand::describe(operand))
        .collect();
    let count = names.len() + usize::from(format == Format::Fence);
    wrong_count(mnemonic, &names, count, given)
}

/// `fence.tso`, which is a fence of its own.
fn fence_tso() -> Inst {
    Inst {
        imm: i64::from(FENCE_TSO),
        ..build(Op::Fence, 4)
    }
}
