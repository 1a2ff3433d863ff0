//! Parts that the assemblers of both instruction sets share: lines, numbers, names that the caller gives.
//!
//! Each assembles one line of text to one [`Inst`]:
//! [`riscv::asm`](crate::riscv::asm), [`alpha::asm`](crate::alpha::asm), or either by
//! [`Isa::assemble`](crate::isa::Isa::assemble). [`program`] assembles programs of many lines with labels and data.

pub mod program;
mod suggest;

pub use suggest::{edit_distance, nearest};

use crate::inst::reg;
use crate::inst::{Inst, Op};
use crate::said;
use crate::said::Said;

/// Text that is not one instruction.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct AsmError {
    /// Where in the text, as a byte offset from its beginning.
    pub column: usize,
    /// Description of the error, with what would be right.
    pub message: Said,
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
pub(crate) struct Token<'a> {
    pub(crate) text: &'a str,
    pub(crate) column: usize,
}

impl Token<'_> {
    pub(crate) fn error(self, message: impl Into<Said>) -> AsmError {
        AsmError {
            column: self.column,
            message: message.into(),
        }
    }
}

/// The mnemonic and the operands between commas.
pub(crate) fn split(text: &str) -> Result<(Token<'_>, Vec<Token<'_>>), AsmError> {
    let start = text.len() - text.trim_start().len();
    let body = text.trim();
    let length = body.find(char::is_whitespace).unwrap_or(body.len());
    let mnemonic = Token {
        text: &body[..length],
        column: start,
    };
    if body.is_empty() {
        return Err(mnemonic.error(said!("an instruction is missing")));
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
            return Err(token.error(said!("an operand is missing")));
        }
        tokens.push(token);
        at += piece.len() + 1;
    }
    Ok((mnemonic, tokens))
}

/// Context in which the operands of one instruction are read.
pub(crate) struct Context<'a> {
    pub(crate) mnemonic: &'a str,
    pub(crate) pc: u64,
    pub(crate) hook: &'a dyn OperandHook,
    /// The register of a name, in the instruction set.
    pub(crate) parse_register: fn(&str) -> Option<u8>,
}

/// Register file that an operand is in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Kind {
    Integer,
    Float,
}

impl Context<'_> {
    /// The token names a register, of whatever kind.
    pub(crate) fn is_register(&self, token: Token<'_>) -> bool {
        self.hook
            .register(token.text)
            .or_else(|| (self.parse_register)(token.text))
            .is_some()
    }

    /// A register that the token names. Whether one of the instruction set is of the right kind is
    /// for `fits` to say.
    pub(crate) fn register(
        &self,
        token: Token<'_>,
        kind: Kind,
        fits: impl Fn(u8) -> bool,
    ) -> Result<u8, AsmError> {
        if let Some(register) = self.hook.register(token.text) {
            return Ok(register);
        }
        let Some(register) = (self.parse_register)(token.text) else {
            return Err(token.error(said!("`{name}` is not a register", name = token.text)));
        };
        if fits(register) {
            return Ok(register);
        }
        let (name, given) = (self.mnemonic, token.text);
        Err(token.error(match kind {
            Kind::Integer => said!(
                "`{name}` takes an integer register here, not `{given}`",
                name = name,
                given = given
            ),
            Kind::Float => said!(
                "`{name}` takes a floating-point register here, not `{given}`",
                name = name,
                given = given
            ),
        }))
    }

    /// Any 64-bit value.
    pub(crate) fn immediate(&self, token: Token<'_>) -> Result<i64, AsmError> {
        self.hook
            .immediate(token.text)
            .or_else(|| parse_number(token.text))
            .ok_or_else(|| {
                token.error(said!(
                    "`{name}` is neither a number nor a known name",
                    name = token.text
                ))
            })
    }

    /// A value between two bounds, both allowed.
    pub(crate) fn ranged(&self, token: Token<'_>, low: i64, high: i64) -> Result<i64, AsmError> {
        let value = self.immediate(token)?;
        if (low..=high).contains(&value) {
            return Ok(value);
        }
        Err(token.error(said!(
            "{value} is out of range: `{name}` takes {low} to {high} here",
            value = value,
            name = self.mnemonic,
            low = low,
            high = high
        )))
    }
}

/// `offset(register)` or `(register)`: the offset, which may be empty, and the register.
pub(crate) fn split_memory<'a>(token: Token<'a>) -> Option<(Token<'a>, Token<'a>)> {
    let head = token.text.strip_suffix(')')?;
    let open = head.rfind('(')?;
    let inner = &head[open + 1..];
    let lead = inner.len() - inner.trim_start().len();
    let register = Token {
        text: inner.trim(),
        column: token.column + open + 1 + lead,
    };
    let offset = Token {
        text: token.text[..open].trim(),
        column: token.column,
    };
    Some((offset, register))
}

/// `d_mfdr` reads a DISE register, `d_mtdr` writes one, `d_move` takes any two registers.
pub(crate) fn check_dise_move(inst: &Inst, mnemonic: Token<'_>) -> Result<(), AsmError> {
    let dise = |r: u8| r >= reg::DISE && r != reg::SINK;
    if inst.op != Op::DiseMove {
        return Ok(());
    }
    match mnemonic.text {
        "d_mfdr" if dise(inst.rd) || !dise(inst.rs1) => Err(mnemonic.error(said!(
            "`d_mfdr` moves from a DISE register: `d_mfdr rd, drN`"
        ))),
        "d_mtdr" if !dise(inst.rd) || dise(inst.rs1) => Err(mnemonic.error(said!(
            "`d_mtdr` moves to a DISE register: `d_mtdr drN, rs1`"
        ))),
        _ => Ok(()),
    }
}

/// The error for a mnemonic that is in no table, with the nearest one that is.
pub(crate) fn unknown_mnemonic<'a>(
    mnemonic: Token<'_>,
    known: impl Iterator<Item = &'a str>,
) -> AsmError {
    match nearest(mnemonic.text, known) {
        Some(near) => mnemonic.error(said!(
            "unknown instruction `{name}`; did you mean `{near}`?",
            name = mnemonic.text,
            near = near
        )),
        None => mnemonic.error(said!("unknown instruction `{name}`", name = mnemonic.text)),
    }
}

/// The error for an instruction with another number of operands than those of these names.
pub(crate) fn wrong_count(
    mnemonic: Token<'_>,
    names: &[&str],
    count: usize,
    given: usize,
) -> AsmError {
    let (name, names) = (mnemonic.text, names.join(", "));
    mnemonic.error(match count {
        0 => said!(
            "`{name}` takes no operands, not {given}",
            name = name,
            given = given
        ),
        1 => said!(
            "`{name}` takes 1 operand ({names}), not {given}",
            name = name,
            names = names,
            given = given
        ),
        _ => said!(
            "`{name}` takes {count} operands ({names}), not {given}",
            name = name,
            count = count,
            names = names,
            given = given
        ),
    })
}

/// Decimal, `0x` or `0b`, with a sign.
pub(crate) fn parse_number(text: &str) -> Option<i64> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let magnitude = if let Some(hex) = digits
        .strip_prefix("0x")
        .or_else(|| digits.strip_prefix("0X"))
    {
        unsigned(hex, 16)?
    } else if let Some(binary) = digits.strip_prefix("0b") {
        unsigned(binary, 2)?
    } else {
        unsigned(digits, 10)?
    };
    if negative {
        0i64.checked_sub_unsigned(magnitude)
    } else {
        // Addresses and masks of the upper half are written without a sign.
        Some(magnitude as i64)
    }
}

fn unsigned(digits: &str, radix: u32) -> Option<u64> {
    if digits.starts_with('+') {
        return None;
    }
    u64::from_str_radix(digits, radix).ok()
}
