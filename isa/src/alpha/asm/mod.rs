//! The assembler: one line of text to one [`Inst`].
//!
//! The assembler knows the operations of the table in the syntax that [`disassemble`](super::disassemble) writes, the
//! usual aliases, and qualifiers in the mnemonic (`addt/su`). A literal is a number, with or without `#`. Constants of
//! any size are [`constant()`]'s.

mod constant;
mod operand;
mod pseudo;
#[cfg(test)]
mod tests;

pub use constant::constant;

use super::decode::{build, hidden_operands, prefetch};
use super::encode::encode;
use super::qualifiers;
use super::registers::parse_register;
pub use crate::asm::{AsmError, NoHook, OperandHook};
use operand::Parser;

use crate::asm::{Context, Token, check_dise_move, split, unknown_mnemonic, wrong_count};
use crate::format::{AlphaOperand, Format, Operand};
use crate::inst::{Inst, Op, OpClass, reg};
use crate::isa::Isa;

/// Assembles one instruction that will lie at `pc`.
///
/// # Errors
/// An unknown mnemonic (with the nearest one), qualifiers that the operation does not have, a wrong
/// number of operands, a register of the wrong kind, an immediate or a distance that does not fit.
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
    let (name, tokens) = pseudo::expand(mnemonic, &tokens);
    let (op, qualifiers) = qualified(name, mnemonic)?;
    instruction(&parser, op, qualifiers, mnemonic, &tokens)
}

/// The operation of a mnemonic and its qualifiers.
fn qualified(name: &str, mnemonic: Token<'_>) -> Result<(Op, i64), AsmError> {
    if let Some(op) = named(name) {
        return Ok((op, qualifiers::parse(op.format(), "").unwrap_or(0)));
    }
    let split = name
        .rsplit_once('/')
        .and_then(|(base, suffix)| Some((named(base)?, suffix)));
    let Some((op, suffix)) = split else {
        return Err(unknown(mnemonic));
    };
    match qualifiers::parse(op.format(), suffix) {
        Some(value) if !suffix.is_empty() => Ok((op, value)),
        _ => {
            let all: Vec<String> = qualifiers::all(op.format())
                .map(|suffix| format!("/{suffix}"))
                .collect();
            let help = if all.is_empty() {
                "none".to_owned()
            } else {
                all.join(" ")
            };
            Err(mnemonic.error(format!(
                "`{}` has no qualifier `/{suffix}`; it has {help}",
                op.mnemonic()
            )))
        }
    }
}

/// The operation of a mnemonic of the table, and its qualifiers as they lie in `imm` (0 for an
/// operation without).
#[must_use]
pub fn operation(mnemonic: &str) -> Option<(Op, i64)> {
    let token = Token {
        text: mnemonic,
        column: 0,
    };
    qualified(mnemonic, token).ok()
}

/// The operation of a mnemonic without qualifiers.
fn named(name: &str) -> Option<Op> {
    match name {
        "prefetch" => None,
        _ => Op::from_mnemonic(Isa::Alpha, name),
    }
}

fn unknown(mnemonic: Token<'_>) -> AsmError {
    let known = Op::ALL
        .iter()
        .filter(|&&op| op.isa() != Some(Isa::Riscv64) && op != Op::Illegal)
        .map(|op| op.mnemonic());
    let known = known.chain(pseudo::names()).chain(["d_mfdr", "d_mtdr"]);
    unknown_mnemonic(mnemonic, known)
}

/// An operation of the table with its operands.
fn instruction(
    parser: &Parser<'_>,
    op: Op,
    qualifiers: i64,
    mnemonic: Token<'_>,
    tokens: &[Token<'_>],
) -> Result<Inst, AsmError> {
    let mut inst = Inst {
        imm: qualifiers,
        ..build(op)
    };
    let mut rest = tokens;
    let wrong_count = || wrong_operands(op.format(), mnemonic, tokens.len());
    for &operand in op.format().operands() {
        match (operand, rest) {
            (Operand::Alpha(AlphaOperand::Qualifiers | AlphaOperand::PalFunction), _) => {}
            (Operand::Alpha(AlphaOperand::JumpHint), []) => inst.imm = default_hint(op),
            (_, []) => return Err(wrong_count()),
            (_, [token, tail @ ..]) => {
                parser.operand(&mut inst, operand, *token)?;
                rest = tail;
            }
        }
    }
    if let (Op::AlphaRpcc, [token]) = (op, rest) {
        inst.imm = i64::from(parser.integer(*token)?);
        rest = &[];
    }
    if !rest.is_empty() {
        return Err(wrong_count());
    }
    check_dise_move(&inst, mnemonic)?;
    hidden_operands(&mut inst);
    settle(&mut inst, mnemonic)?;
    Ok(inst)
}

/// Compilers mark returns with 1.
fn default_hint(op: Op) -> i64 {
    i64::from(op == Op::AlphaRet)
}

/// Settles an instruction as the decoder does: a load into the zero register is a prefetch. Refuses a literal that the
/// operation does not take.
fn settle(inst: &mut Inst, mnemonic: Token<'_>) -> Result<(), AsmError> {
    let loads = matches!(inst.op.format(), Format::AlphaLoad | Format::AlphaFpLoad)
        && inst.class != OpClass::IntAlu;
    if loads
        && inst.rd == reg::SINK
        && let Some(word) = encode(inst)
    {
        *inst = prefetch(word);
    }
    let literal = matches!(
        inst.op.format(),
        Format::AlphaOperate | Format::AlphaOperateB
    ) && inst.imm != 0;
    if literal && inst.op.info().mask & super::decode::LITERAL_BIT != 0 {
        return Err(mnemonic.error(format!("`{}` takes no literal", mnemonic.text)));
    }
    Ok(())
}

/// The error for a number of operands that the format does not have.
fn wrong_operands(format: Format, mnemonic: Token<'_>, given: usize) -> AsmError {
    let names: Vec<&str> = format
        .operands()
        .iter()
        .filter_map(|&operand| operand::describe(operand))
        .collect();
    wrong_count(mnemonic, &names, names.len(), given)
}
