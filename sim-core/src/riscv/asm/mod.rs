//! The assembler: one line of text to one [`Inst`].
//!
//! It knows the operations of the table in the syntax that [`disassemble`](super::disassemble)
//! writes, and the usual pseudo-instructions that stand for a single instruction. Programs of more
//! than one line, labels and symbols are the caller's; an [`OperandHook`] lets it give names to
//! registers and immediates.

mod operand;
mod pseudo;
mod suggest;
#[cfg(test)]
mod tests;

use super::FENCE_TSO;
use super::decode::{build, class_of};
use super::format::{Format, Operand};
use crate::inst::{Inst, Op, reg};
use operand::Parser;

/// Text that is not one instruction.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct AsmError {
    /// Where in the text, as a byte offset from its beginning.
    pub column: usize,
    /// What is wrong and what would be right.
    pub message: String,
}

/// Names that the caller gives to operands. It is asked before the assembler looks at a token
/// itself.
pub trait OperandHook {
    /// The register that a token names. It is taken as it is, of whatever kind.
    fn register(&self, token: &str) -> Option<u8>;
    /// The value of a token; for the target of a branch, jump or call an absolute address.
    fn immediate(&self, token: &str) -> Option<i64>;
}

/// No names but those of the instruction set.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoHook;

impl OperandHook for NoHook {
    fn register(&self, _: &str) -> Option<u8> {
        None
    }
    fn immediate(&self, _: &str) -> Option<i64> {
        None
    }
}

/// A piece of the text and where it begins.
#[derive(Clone, Copy, Debug)]
struct Token<'a> {
    text: &'a str,
    column: usize,
}

impl Token<'_> {
    fn error(self, message: impl Into<String>) -> AsmError {
        AsmError {
            column: self.column,
            message: message.into(),
        }
    }
}

/// Assembles one instruction that will lie at `pc`.
///
/// # Errors
/// An unknown mnemonic (with the nearest one), a wrong number of operands, a register of the wrong
/// kind, an immediate or a distance that does not fit.
pub fn assemble(text: &str, pc: u64, operands: &dyn OperandHook) -> Result<Inst, AsmError> {
    let (mnemonic, tokens) = split(text)?;
    let parser = Parser {
        mnemonic: mnemonic.text,
        pc,
        hook: operands,
    };
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
    let op = pseudo::immediate_form(&parser, op, &tokens).unwrap_or(op);
    instruction(&parser, op, mnemonic, &tokens)
}

/// The mnemonic and the operands between commas.
fn split(text: &str) -> Result<(Token<'_>, Vec<Token<'_>>), AsmError> {
    let start = text.len() - text.trim_start().len();
    let body = text.trim();
    let length = body.find(char::is_whitespace).unwrap_or(body.len());
    let mnemonic = Token {
        text: &body[..length],
        column: start,
    };
    if body.is_empty() {
        return Err(mnemonic.error("an instruction is missing"));
    }
    let mut tokens = Vec::new();
    if body.len() == length {
        return Ok((mnemonic, tokens));
    }
    let mut at = start + length;
    for piece in body[length..].split(',') {
        let lead = piece.len() - piece.trim_start().len();
        let token = Token {
            text: piece.trim(),
            column: at + lead,
        };
        if token.text.is_empty() {
            return Err(token.error("an operand is missing"));
        }
        tokens.push(token);
        at += piece.len() + 1;
    }
    Ok((mnemonic, tokens))
}

/// The operation of a mnemonic. The ordering suffixes of atomics are accepted; they change nothing
/// here.
fn operation(mnemonic: &str) -> Option<Op> {
    Op::from_mnemonic(mnemonic).or_else(|| {
        let (base, ordering) = mnemonic.rsplit_once('.')?;
        let op = Op::from_mnemonic(base)?;
        let atomic = matches!(op.format(), Format::Atomic | Format::LoadReserved);
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
    let wrong_count = || {
        let wanted = expected(op.format());
        mnemonic.error(format!(
            "`{}` takes {wanted}, not {}",
            mnemonic.text,
            tokens.len()
        ))
    };
    for &operand in op.format().operands() {
        match (operand, rest) {
            (Operand::RoundingMode, []) => inst.imm = 7,
            (Operand::RoundingModeExact, []) => inst.imm = 0,
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
    if op == Op::DiseMove {
        check_dise_move(&inst, mnemonic)?;
    }
    inst.class = class_of(&inst);
    Ok(inst)
}

/// `d_mfdr` reads a DISE register, `d_mtdr` writes one, `d_move` takes any two registers.
fn check_dise_move(inst: &Inst, mnemonic: Token<'_>) -> Result<(), AsmError> {
    let dise = |r: u8| r >= reg::DISE && r != reg::SINK;
    match mnemonic.text {
        "d_mfdr" if dise(inst.rd) || !dise(inst.rs1) => {
            Err(mnemonic.error("`d_mfdr` moves from a DISE register: `d_mfdr rd, drN`"))
        }
        "d_mtdr" if !dise(inst.rd) || dise(inst.rs1) => {
            Err(mnemonic.error("`d_mtdr` moves to a DISE register: `d_mtdr drN, rs1`"))
        }
        _ => Ok(()),
    }
}

/// "3 operands (rd, rs1, imm)" for an error message.
fn expected(format: Format) -> String {
    let names: Vec<&str> = format
        .operands()
        .iter()
        .map(|&operand| operand::describe(operand))
        .collect();
    let count = names.len() + usize::from(format == Format::Fence);
    match count {
        0 => "no operands".to_owned(),
        1 => format!("1 operand ({})", names.join(", ")),
        _ => format!("{count} operands ({})", names.join(", ")),
    }
}

/// `fence.tso`, which is a fence of its own.
fn fence_tso() -> Inst {
    Inst {
        imm: i64::from(FENCE_TSO),
        ..build(Op::Fence, 4)
    }
}
