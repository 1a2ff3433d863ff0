//! Aliases that stand for one instruction (those of the GNU assembler and of `objdump`).

use super::super::decode::build;
use super::constant::constant;
use super::operand::Parser;
use super::{hidden_operands, settle};
use crate::asm::{AsmError, Token};
use crate::format::{Format, Operand};
use crate::inst::{Inst, Op};

/// `(mnemonic, number of operands, mnemonic of the operation, its operands)`; `$n` is the n-th operand
/// written.
type Pseudo = (&'static str, usize, &'static str, &'static [&'static str]);

const PSEUDOS: &[Pseudo] = &[
    ("nop", 0, "bis", &["zero", "zero", "zero"]),
    ("unop", 0, "ldq_u", &["zero", "0(sp)"]),
    ("clr", 1, "bis", &["zero", "zero", "$1"]),
    ("mov", 2, "bis", &["zero", "$1", "$2"]),
    ("or", 3, "bis", &["$1", "$2", "$3"]),
    ("andnot", 3, "bic", &["$1", "$2", "$3"]),
    ("xornot", 3, "eqv", &["$1", "$2", "$3"]),
    ("not", 2, "ornot", &["zero", "$1", "$2"]),
    ("sextl", 2, "addl", &["zero", "$1", "$2"]),
    ("negl", 2, "subl", &["zero", "$1", "$2"]),
    ("negl/v", 2, "subl/v", &["zero", "$1", "$2"]),
    ("negq", 2, "subq", &["zero", "$1", "$2"]),
    ("negq/v", 2, "subq/v", &["zero", "$1", "$2"]),
    ("fnop", 0, "cpys", &["$f31", "$f31", "$f31"]),
    ("fclr", 1, "cpys", &["$f31", "$f31", "$1"]),
    ("fabs", 2, "cpys", &["$f31", "$1", "$2"]),
    ("fmov", 2, "cpys", &["$1", "$1", "$2"]),
    ("fneg", 2, "cpysn", &["$1", "$1", "$2"]),
    ("negs", 2, "subs", &["$f31", "$1", "$2"]),
    ("negs/su", 2, "subs/su", &["$f31", "$1", "$2"]),
    ("negs/sui", 2, "subs/sui", &["$f31", "$1", "$2"]),
    ("negt", 2, "subt", &["$f31", "$1", "$2"]),
    ("negt/su", 2, "subt/su", &["$f31", "$1", "$2"]),
    ("negt/sui", 2, "subt/sui", &["$f31", "$1", "$2"]),
    ("br", 1, "br", &["zero", "$1"]),
    ("bsr", 1, "bsr", &["ra", "$1"]),
    ("jmp", 1, "jmp", &["zero", "$1"]),
    ("jsr", 1, "jsr", &["ra", "$1"]),
    ("ret", 0, "ret", &["zero", "(ra)"]),
    ("ret", 1, "ret", &["zero", "$1"]),
    ("jcr", 2, "jsr_coroutine", &["$1", "$2"]),
    ("jcr", 3, "jsr_coroutine", &["$1", "$2", "$3"]),
];

/// The names of all aliases.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    PSEUDOS.iter().map(|p| p.0).chain(["ldiq", "call_pal"])
}

/// The operation and operands that an alias stands for; other mnemonics stand for themselves.
pub(super) fn expand<'a>(mnemonic: Token<'a>, tokens: &[Token<'a>]) -> (&'a str, Vec<Token<'a>>) {
    let found = PSEUDOS
        .iter()
        .find(|&&(name, count, ..)| name == mnemonic.text && count == tokens.len());
    let Some(&(_, _, op, template)) = found else {
        // With another number of operands, the operation says what it takes.
        let named = PSEUDOS.iter().find(|p| p.0 == mnemonic.text);
        return (named.map_or(mnemonic.text, |p| p.2), tokens.to_vec());
    };
    let fill = |item: &&'static str| match item.strip_prefix('$').map(str::as_bytes) {
        // Templates name operands 1 to 3, which the count above guarantees.
        Some([digit @ b'1'..=b'3']) => tokens[usize::from(digit - b'1')],
        _ => Token {
            text: item,
            column: mnemonic.column,
        },
    };
    (op, template.iter().map(fill).collect())
}

/// Forms that a template cannot express: `ldiq`, `call_pal`.
pub(super) fn special(
    parser: &Parser<'_>,
    mnemonic: Token<'_>,
    tokens: &[Token<'_>],
) -> Result<Option<Inst>, AsmError> {
    match (mnemonic.text, tokens) {
        ("ldiq", [rd, value]) => load_immediate(parser, *rd, *value).map(Some),
        ("call_pal", [function]) => {
            let word = parser.0.ranged(*function, 0, 0x3ff_ffff)?;
            let op = Op::ALL.iter().find(|op| {
                op.format() == Format::AlphaPal && i64::from(op.info().match_bits) == word
            });
            let Some(op) = op else {
                return Err(function.error(format!("{word:#x} is no PALcode call of user mode")));
            };
            let mut inst = build(*op);
            hidden_operands(&mut inst);
            settle(&mut inst, mnemonic)?;
            Ok(Some(inst))
        }
        _ => Ok(None),
    }
}

/// `ldiq` where one `lda` or one `ldah` is enough.
fn load_immediate(parser: &Parser<'_>, rd: Token<'_>, value: Token<'_>) -> Result<Inst, AsmError> {
    let imm = parser.0.immediate(value)?;
    let mut target = build(Op::AlphaLda);
    parser.operand(&mut target, Operand::Rd, rd)?;
    match constant(target.rd, imm).as_slice() {
        [inst] => Ok(*inst),
        _ => Err(value.error(format!(
            "{imm} takes more than one instruction: `ldiq` takes -32768 to 32767 here, or 32 bits whose lower 16 are zero"
        ))),
    }
}
