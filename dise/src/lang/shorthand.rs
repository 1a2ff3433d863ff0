//! Shorthand of replacement sequences, which reads alike in every instruction set.

use hps_isa::inst::Op;
use hps_isa::isa::Isa;

/// Meaning of a shorthand: operation and operands; `$n` is the n-th operand written.
pub(super) struct Shorthand {
    pub op: Op,
    pub operands: &'static [&'static str],
    /// Operands that are written.
    pub written: usize,
}

/// Name, operands written, what it is on RISC-V, what it is on Alpha.
type Row = (
    &'static str,
    usize,
    (Op, &'static [&'static str]),
    (Op, &'static [&'static str]),
);

const ROWS: &[Row] = &[
    (
        "nop",
        0,
        (Op::Addi, &["zero", "zero", "0"]),
        (Op::AlphaBis, &["zero", "zero", "zero"]),
    ),
    (
        "li",
        2,
        (Op::Addi, &["$1", "zero", "$2"]),
        (Op::AlphaLda, &["$1", "$2"]),
    ),
    (
        "la",
        2,
        (Op::Addi, &["$1", "zero", "$2"]),
        (Op::AlphaLda, &["$1", "$2"]),
    ),
    (
        "mv",
        2,
        (Op::Addi, &["$1", "$2", "0"]),
        (Op::AlphaBis, &["zero", "$2", "$1"]),
    ),
    (
        "not",
        2,
        (Op::Xori, &["$1", "$2", "-1"]),
        (Op::AlphaOrnot, &["zero", "$2", "$1"]),
    ),
    (
        "neg",
        2,
        (Op::Sub, &["$1", "zero", "$2"]),
        (Op::AlphaSubq, &["zero", "$2", "$1"]),
    ),
    (
        "sub",
        3,
        (Op::Sub, &["$1", "$2", "$3"]),
        (Op::AlphaSubq, &["$2", "$3", "$1"]),
    ),
    (
        "inc",
        1,
        (Op::Addi, &["$1", "$1", "1"]),
        (Op::AlphaAddq, &["$1", "1", "$1"]),
    ),
    (
        "dec",
        1,
        (Op::Addi, &["$1", "$1", "-1"]),
        (Op::AlphaSubq, &["$1", "1", "$1"]),
    ),
    (
        "snez",
        2,
        (Op::Sltu, &["$1", "zero", "$2"]),
        (Op::AlphaCmpult, &["zero", "$2", "$1"]),
    ),
    (
        "j",
        1,
        (Op::Jal, &["zero", "$1"]),
        (Op::AlphaBr, &["zero", "$1"]),
    ),
    (
        "beqz",
        2,
        (Op::Beq, &["$1", "zero", "$2"]),
        (Op::AlphaBeq, &["$1", "$2"]),
    ),
    (
        "bnez",
        2,
        (Op::Bne, &["$1", "zero", "$2"]),
        (Op::AlphaBne, &["$1", "$2"]),
    ),
];

/// Names of all shorthand.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    ROWS.iter().map(|row| row.0)
}

/// Meaning of a mnemonic, if it is shorthand.
pub(super) fn find(isa: Isa, mnemonic: &str) -> Option<Shorthand> {
    let row = ROWS.iter().find(|row| row.0 == mnemonic)?;
    let (op, operands) = match isa {
        Isa::Riscv64 => row.2,
        Isa::Alpha => row.3,
    };
    Some(Shorthand {
        op,
        operands,
        written: row.1,
    })
}
