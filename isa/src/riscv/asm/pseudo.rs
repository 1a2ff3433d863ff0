//! Pseudo-instructions that stand for one instruction (unprivileged specification, chapter
//! "RISC-V Assembly Programmer's Handbook", and the aliases of the GNU assembler).

use super::super::decode::{build, class_of, destination};
use super::fence_tso;
use super::operand::Parser;
use crate::asm::{AsmError, Token, unknown_mnemonic};
use crate::inst::{Inst, Op};
use crate::isa::Isa;
use crate::ops::OPS;
use crate::said;

/// `(mnemonic, number of operands, operation, its operands)`; `$n` is the n-th operand written.
type Pseudo = (&'static str, usize, Op, &'static [&'static str]);

const PSEUDOS: &[Pseudo] = &[
    ("nop", 0, Op::Addi, &["zero", "zero", "0"]),
    ("mv", 2, Op::Addi, &["$1", "$2", "0"]),
    ("not", 2, Op::Xori, &["$1", "$2", "-1"]),
    ("neg", 2, Op::Sub, &["$1", "zero", "$2"]),
    ("negw", 2, Op::Subw, &["$1", "zero", "$2"]),
    ("sext.w", 2, Op::Addiw, &["$1", "$2", "0"]),
    ("zext.b", 2, Op::Andi, &["$1", "$2", "255"]),
    ("zext.w", 2, Op::AddUw, &["$1", "$2", "zero"]),
    ("seqz", 2, Op::Sltiu, &["$1", "$2", "1"]),
    ("snez", 2, Op::Sltu, &["$1", "zero", "$2"]),
    ("sltz", 2, Op::Slt, &["$1", "$2", "zero"]),
    ("sgtz", 2, Op::Slt, &["$1", "zero", "$2"]),
    ("sgt", 3, Op::Slt, &["$1", "$3", "$2"]),
    ("sgtu", 3, Op::Sltu, &["$1", "$3", "$2"]),
    ("beqz", 2, Op::Beq, &["$1", "zero", "$2"]),
    ("bnez", 2, Op::Bne, &["$1", "zero", "$2"]),
    ("blez", 2, Op::Bge, &["zero", "$1", "$2"]),
    ("bgez", 2, Op::Bge, &["$1", "zero", "$2"]),
    ("bltz", 2, Op::Blt, &["$1", "zero", "$2"]),
    ("bgtz", 2, Op::Blt, &["zero", "$1", "$2"]),
    ("bgt", 3, Op::Blt, &["$2", "$1", "$3"]),
    ("ble", 3, Op::Bge, &["$2", "$1", "$3"]),
    ("bgtu", 3, Op::Bltu, &["$2", "$1", "$3"]),
    ("bleu", 3, Op::Bgeu, &["$2", "$1", "$3"]),
    ("j", 1, Op::Jal, &["zero", "$1"]),
    ("jal", 1, Op::Jal, &["ra", "$1"]),
    ("call", 1, Op::Jal, &["ra", "$1"]),
    ("tail", 1, Op::Jal, &["zero", "$1"]),
    ("jr", 1, Op::Jalr, &["zero", "$1"]),
    ("jalr", 1, Op::Jalr, &["ra", "$1"]),
    ("ret", 0, Op::Jalr, &["zero", "ra"]),
    ("fence", 0, Op::Fence, &["iorw", "iorw"]),
    ("pause", 0, Op::Fence, &["w", "0"]),
    ("csrr", 2, Op::Csrrs, &["$1", "$2", "zero"]),
    ("csrw", 2, Op::Csrrw, &["zero", "$1", "$2"]),
    ("csrs", 2, Op::Csrrs, &["zero", "$1", "$2"]),
    ("csrc", 2, Op::Csrrc, &["zero", "$1", "$2"]),
    ("csrwi", 2, Op::Csrrwi, &["zero", "$1", "$2"]),
    ("csrsi", 2, Op::Csrrsi, &["zero", "$1", "$2"]),
    ("csrci", 2, Op::Csrrci, &["zero", "$1", "$2"]),
    ("rdcycle", 1, Op::Csrrs, &["$1", "cycle", "zero"]),
    ("rdtime", 1, Op::Csrrs, &["$1", "time", "zero"]),
    ("rdinstret", 1, Op::Csrrs, &["$1", "instret", "zero"]),
    ("frcsr", 1, Op::Csrrs, &["$1", "fcsr", "zero"]),
    ("fscsr", 1, Op::Csrrw, &["zero", "fcsr", "$1"]),
    ("fscsr", 2, Op::Csrrw, &["$1", "fcsr", "$2"]),
    ("frrm", 1, Op::Csrrs, &["$1", "frm", "zero"]),
    ("fsrm", 1, Op::Csrrw, &["zero", "frm", "$1"]),
    ("fsrm", 2, Op::Csrrw, &["$1", "frm", "$2"]),
    ("fsrmi", 1, Op::Csrrwi, &["zero", "frm", "$1"]),
    ("fsrmi", 2, Op::Csrrwi, &["$1", "frm", "$2"]),
    ("frflags", 1, Op::Csrrs, &["$1", "fflags", "zero"]),
    ("fsflags", 1, Op::Csrrw, &["zero", "fflags", "$1"]),
    ("fsflags", 2, Op::Csrrw, &["$1", "fflags", "$2"]),
    ("fsflagsi", 1, Op::Csrrwi, &["zero", "fflags", "$1"]),
    ("fsflagsi", 2, Op::Csrrwi, &["$1", "fflags", "$2"]),
    ("fmv.s", 2, Op::FsgnjS, &["$1", "$2", "$2"]),
    ("fabs.s", 2, Op::FsgnjxS, &["$1", "$2", "$2"]),
    ("fneg.s", 2, Op::FsgnjnS, &["$1", "$2", "$2"]),
    ("fgt.s", 3, Op::FltS, &["$1", "$3", "$2"]),
    ("fge.s", 3, Op::FleS, &["$1", "$3", "$2"]),
    ("fmv.d", 2, Op::FsgnjD, &["$1", "$2", "$2"]),
    ("fabs.d", 2, Op::FsgnjxD, &["$1", "$2", "$2"]),
    ("fneg.d", 2, Op::FsgnjnD, &["$1", "$2", "$2"]),
    ("fgt.d", 3, Op::FltD, &["$1", "$3", "$2"]),
    ("fge.d", 3, Op::FleD, &["$1", "$3", "$2"]),
    ("fmv.x.s", 2, Op::FmvXW, &["$1", "$2"]),
    ("fmv.s.x", 2, Op::FmvWX, &["$1", "$2"]),
];

/// `add rd, rs1, imm` is read as `addi`, and so on, as GNU tools write it.
const IMMEDIATE_FORMS: &[(Op, Op)] = &[
    (Op::Add, Op::Addi),
    (Op::Slt, Op::Slti),
    (Op::Sltu, Op::Sltiu),
    (Op::Xor, Op::Xori),
    (Op::Or, Op::Ori),
    (Op::And, Op::Andi),
    (Op::Sll, Op::Slli),
    (Op::Srl, Op::Srli),
    (Op::Sra, Op::Srai),
    (Op::Addw, Op::Addiw),
    (Op::Sllw, Op::Slliw),
    (Op::Srlw, Op::Srliw),
    (Op::Sraw, Op::Sraiw),
    (Op::Ror, Op::Rori),
    (Op::Rorw, Op::Roriw),
    (Op::Bclr, Op::Bclri),
    (Op::Bext, Op::Bexti),
    (Op::Binv, Op::Binvi),
    (Op::Bset, Op::Bseti),
    (Op::Csrrw, Op::Csrrwi),
    (Op::Csrrs, Op::Csrrsi),
    (Op::Csrrc, Op::Csrrci),
];

/// The operation with an immediate that `op` means if its third operand is one.
pub(super) fn immediate_form(parser: &Parser<'_>, op: Op, tokens: &[Token<'_>]) -> Option<Op> {
    let &(_, immediate) = IMMEDIATE_FORMS
        .iter()
        .find(|&&(register, _)| register == op)?;
    let [_, _, third] = tokens else { return None };
    (!parser.0.is_register(*third) && parser.0.immediate(*third).is_ok()).then_some(immediate)
}

/// The operation and operands that a pseudo-instruction stands for.
pub(super) fn expand<'a>(
    mnemonic: Token<'a>,
    tokens: &[Token<'a>],
) -> Option<(Op, Vec<Token<'a>>)> {
    let &(_, _, op, template) = PSEUDOS
        .iter()
        .find(|&&(name, count, ..)| name == mnemonic.text && count == tokens.len())?;
    let fill = |item: &&'static str| match item.strip_prefix('$') {
        // Templates name operands 1 to 3, which the count above guarantees.
        Some(digit) => tokens[usize::from(digit.as_bytes()[0] - b'1')],
        None => Token {
            text: item,
            column: mnemonic.column,
        },
    };
    Some((op, template.iter().map(fill).collect()))
}

/// Forms that a template cannot express: `li`, `fence.tso`, `jalr rd, rs1, imm`.
pub(super) fn special(
    parser: &Parser<'_>,
    mnemonic: Token<'_>,
    tokens: &[Token<'_>],
) -> Result<Option<Inst>, AsmError> {
    use crate::format::Operand::{Imm12, Rd, Rs1};
    let mut inst = match (mnemonic.text, tokens) {
        ("fence.tso", []) => return Ok(Some(fence_tso())),
        ("li", [rd, value]) => load_immediate(parser, *rd, *value)?,
        ("jalr", [rd, rs1, imm]) => {
            let mut inst = build(Op::Jalr, 4);
            for (operand, token) in [(Rd, rd), (Rs1, rs1), (Imm12, imm)] {
                parser.operand(&mut inst, operand, *token)?;
            }
            inst
        }
        _ => return Ok(None),
    };
    inst.class = class_of(&inst);
    Ok(Some(inst))
}

/// `li` where one `addi` or one `lui` is enough.
fn load_immediate(parser: &Parser<'_>, rd: Token<'_>, value: Token<'_>) -> Result<Inst, AsmError> {
    use crate::format::Operand::Rd;
    let imm = parser.0.immediate(value)?;
    let op = match imm {
        -2048..=2047 => Op::Addi,
        _ if imm & 0xfff == 0 && i32::try_from(imm).is_ok() => Op::Lui,
        _ => {
            return Err(value.error(format!(
                "{imm} takes more than one instruction: `li` takes -2048 to 2047 here, or 32 bits whose lower 12 are zero"
            )));
        }
    };
    let mut inst = Inst {
        imm,
        ..build(op, 4)
    };
    parser.operand(&mut inst, Rd, rd)?;
    inst.rd = destination(inst.rd);
    Ok(inst)
}

/// The error for a mnemonic that is in no table, or is one of a pseudo-instruction with another
/// number of operands.
pub(super) fn unknown(mnemonic: Token<'_>, operands: usize) -> AsmError {
    let counts: Vec<String> = PSEUDOS
        .iter()
        .filter(|p| p.0 == mnemonic.text)
        .map(|p| p.1.to_string())
        .collect();
    if !counts.is_empty() {
        let counts = counts.join(" or ");
        return mnemonic.error(said!(
            "`{name}` takes {counts} operands, not {given}",
            name = mnemonic.text,
            counts = counts,
            given = operands
        ));
    }
    if mnemonic.text == "li" {
        return mnemonic.error(said!(
            "`{name}` takes {counts} operands, not {given}",
            name = "li",
            counts = 2,
            given = operands
        ));
    }
    let known = OPS[1..]
        .iter()
        .filter(|info| info.op.isa() != Some(Isa::Alpha))
        .map(|info| info.mnemonic)
        .chain(PSEUDOS.iter().map(|p| p.0));
    unknown_mnemonic(
        mnemonic,
        known.chain(["li", "fence.tso", "d_mfdr", "d_mtdr"]),
    )
}
