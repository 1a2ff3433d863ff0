//! Replacement sequences: assembly text to templates.
//!
//! The operands of each operation come from the same table as those of the program's
//! instructions. Immediates may have 64 bits, since replacement instructions are kept predecoded.

use std::collections::BTreeMap;

use hps_isa::alpha;
use hps_isa::format::{AlphaOperand, Format, Operand};
use hps_isa::inst::{Inst, Op, OpClass, reg};
use hps_isa::isa::Isa;

use crate::config::MAX_SEQUENCE;
use crate::error::DiseError;
use crate::lang::fragments::Placed;
use crate::lang::operands::{Bank, Operands, Piece};
use crate::lang::parser::is_trigger;
use crate::lang::shorthand;
use crate::lang::source::Source;
use crate::lang::symbols::Symbols;
use crate::tables::{ImmediateSource, RegisterSource, Template};

/// Assembles the lines of a sequence that starts at `at`.
pub(super) fn assemble(
    lines: &[Placed<'_>],
    at: usize,
    source: &Source,
    symbols: &Symbols,
) -> Result<Vec<Template>, DiseError> {
    let mut labels = BTreeMap::new();
    let mut count = 0;
    for line in lines {
        for label in line.labels {
            if labels.insert(label.text.as_str(), count).is_some() {
                let message = format!("label `{}` is defined twice in this sequence", label.text);
                return Err(line.source.error(label.at, message));
            }
        }
        count += usize::from(!line.text.is_empty());
    }
    if count == 0 {
        let help = "use `null` for no replacement, or `T.INSN` for the instruction itself";
        return Err(source.error_help(at, "this replacement sequence is empty", help));
    }
    if count > MAX_SEQUENCE {
        let message =
            format!("this sequence has {count} instructions, at most {MAX_SEQUENCE} are possible");
        return Err(source.error_help(at, message, "move work to a handler"));
    }
    let labels = &labels;
    let instructions = lines.iter().filter(|line| !line.text.is_empty());
    instructions
        .map(|line| {
            let source = line.source;
            let operands = Operands { symbols, source };
            let context = Context {
                operands,
                labels,
                count,
            };
            context.line(line)
        })
        .collect()
}

struct Context<'a> {
    operands: Operands<'a>,
    labels: &'a BTreeMap<&'a str, usize>,
    count: usize,
}

/// A template under construction.
struct Draft {
    inst: Inst,
    rd: RegisterSource,
    rs1: RegisterSource,
    rs2: RegisterSource,
    imm: ImmediateSource,
}

impl Context<'_> {
    fn source(&self) -> &Source {
        self.operands.source
    }

    fn line(&self, line: &Placed<'_>) -> Result<Template, DiseError> {
        let piece = Piece {
            text: line.text,
            at: line.at,
        };
        let (mnemonic, rest) = piece.split_mnemonic();
        if is_trigger(mnemonic) && rest.text.is_empty() {
            return Ok(Template::Trigger);
        }
        let (op, imm, pieces) = self.expand_pseudo(mnemonic, line.at, rest)?;
        self.instruction(op, imm, line.at, &pieces)
    }

    /// The operation, its immediate so far, and its full operands: shorthand gets those that it
    /// leaves out.
    fn expand_pseudo<'p>(
        &self,
        mnemonic: &str,
        at: usize,
        rest: Piece<'p>,
    ) -> Result<(Op, i64, Vec<Piece<'p>>), DiseError> {
        let given = rest.split_operands();
        let arity = |n: usize| {
            if given.len() == n {
                Ok(())
            } else {
                Err(self.arity(mnemonic, at, n))
            }
        };
        if matches!(mnemonic, "call" | "d_call") {
            arity(1)?;
            return Ok((Op::DiseCall, 0, vec![strip_parentheses(given[0])]));
        }
        let Some(shorthand) = shorthand::find(self.isa(), mnemonic) else {
            let (op, imm) = self.operation(mnemonic, at)?;
            return Ok((op, imm, given));
        };
        arity(shorthand.written)?;
        let fill = |item: &&'static str| match item.strip_prefix('$').map(str::as_bytes) {
            // The count above guarantees that the operand is there.
            Some([digit]) => given[usize::from(digit - b'1')],
            _ => Piece { text: item, at },
        };
        let pieces = shorthand.operands.iter().map(fill).collect();
        Ok((shorthand.op, 0, pieces))
    }

    fn isa(&self) -> Isa {
        self.operands.symbols.isa
    }

    /// The operation of a mnemonic, and the immediate that qualifiers in it make.
    fn operation(&self, mnemonic: &str, at: usize) -> Result<(Op, i64), DiseError> {
        let isa = self.isa();
        let found = match isa {
            Isa::Riscv64 => Op::from_mnemonic(isa, mnemonic).map(|op| (op, 0)),
            Isa::Alpha => alpha::asm::operation(mnemonic),
        };
        let Some((op, imm)) = found else {
            let known = Op::ALL
                .iter()
                .filter(|op| op.isa().is_none_or(|of| of == isa))
                .map(|op| op.mnemonic());
            let known = known.chain(shorthand::names()).chain(["call", "T.INSN"]);
            let name = Piece { text: mnemonic, at }.name();
            let help = "a sequence holds instructions, call(HANDLER) and T.INSN";
            return Err(self.source().unknown(&name, "instruction", known, help));
        };
        let refused = match op.class() {
            OpClass::DiseReturn | OpClass::DiseDrain => "belongs in a handler",
            OpClass::JumpIndirect | OpClass::Syscall | OpClass::Break => {
                "cannot stand in a replacement sequence"
            }
            OpClass::FenceI | OpClass::Fence | OpClass::Csr => {
                "cannot stand in a replacement sequence"
            }
            OpClass::CallIndirect | OpClass::Return => "cannot stand in a replacement sequence",
            _ if op.format() == Format::AlphaPal => "cannot stand in a replacement sequence",
            _ => return Ok((op, imm)),
        };
        let message = format!("`{mnemonic}` {refused}");
        Err(self.source().error_help(at, message, "call a handler"))
    }

    fn arity(&self, mnemonic: &str, at: usize, expected: usize) -> DiseError {
        self.source().error(
            at,
            format!(
                "`{mnemonic}` takes {expected} operand{}",
                if expected == 1 { "" } else { "s" }
            ),
        )
    }

    fn instruction(
        &self,
        op: Op,
        imm: i64,
        at: usize,
        pieces: &[Piece<'_>],
    ) -> Result<Template, DiseError> {
        let operands: Vec<Operand> = op
            .format()
            .operands()
            .iter()
            .filter(|operand| **operand != Operand::Alpha(AlphaOperand::Qualifiers))
            .copied()
            .collect();
        let optional = operands.iter().filter(|o| is_rounding(**o)).count();
        if pieces.len() > operands.len() || pieces.len() + optional < operands.len() {
            return Err(self.arity(op.mnemonic(), at, operands.len() - optional));
        }
        let mut draft = Draft {
            inst: Inst {
                op,
                class: op.class(),
                imm,
                ..Inst::illegal(4)
            },
            rd: RegisterSource::Literal,
            rs1: RegisterSource::Literal,
            rs2: RegisterSource::Literal,
            imm: ImmediateSource::Literal,
        };
        for (i, operand) in operands.iter().enumerate() {
            match pieces.get(i) {
                Some(piece) => self.operand(&mut draft, *operand, *piece)?,
                None => {
                    draft.inst.imm = if *operand == Operand::RoundingModeExact {
                        0
                    } else {
                        7
                    }
                }
            }
        }
        let Draft {
            mut inst,
            rd,
            rs1,
            rs2,
            imm,
        } = draft;
        if rd == RegisterSource::Literal && inst.rd == reg::ZERO {
            inst.rd = reg::SINK;
        }
        // Link registers as the decoder takes them (unprivileged specification, 2.5.1).
        if op == Op::Jal && matches!(inst.rd, 1 | 5) {
            inst.class = OpClass::Call;
        }
        Ok(Template::Inst {
            inst,
            rd,
            rs1,
            rs2,
            imm,
        })
    }

    fn operand(
        &self,
        draft: &mut Draft,
        operand: Operand,
        piece: Piece<'_>,
    ) -> Result<(), DiseError> {
        let ops = &self.operands;
        match operand {
            Operand::Rd => (draft.inst.rd, draft.rd) = ops.register(piece, Bank::Integer)?,
            Operand::Fd => (draft.inst.rd, draft.rd) = ops.register(piece, Bank::Float)?,
            Operand::Rs1 => (draft.inst.rs1, draft.rs1) = ops.register(piece, Bank::Integer)?,
            Operand::Fs1 => (draft.inst.rs1, draft.rs1) = ops.register(piece, Bank::Float)?,
            Operand::Rs2 => (draft.inst.rs2, draft.rs2) = ops.register(piece, Bank::Integer)?,
            Operand::Fs2 => (draft.inst.rs2, draft.rs2) = ops.register(piece, Bank::Float)?,
            Operand::Fs3 => {
                let (register, from) = ops.register(piece, Bank::Float)?;
                if from != RegisterSource::Literal {
                    return Err(self
                        .source()
                        .error(piece.at, "the third source cannot be a directive"));
                }
                draft.inst.rs3 = register;
            }
            Operand::Imm12 => (draft.inst.imm, draft.imm) = ops.immediate(piece)?,
            Operand::Shamt5 => draft.inst.imm = self.ranged(piece, 0, 31)?,
            Operand::Shamt6 => draft.inst.imm = self.ranged(piece, 0, 63)?,
            Operand::Imm20 => draft.inst.imm = self.ranged(piece, -0x8_0000, 0xf_ffff)? << 44 >> 32,
            Operand::MemLoad | Operand::MemStore | Operand::Address => {
                self.memory(draft, operand, piece)?
            }
            Operand::BranchTarget | Operand::JumpTarget => self.target(draft, piece)?,
            Operand::Index => draft.inst.imm = self.index(piece)?,
            Operand::Handler => draft.inst.imm = self.handler(piece)?,
            Operand::RoundingMode | Operand::RoundingModeExact => {
                draft.inst.imm = self.rounding(piece)?
            }
            Operand::Alpha(operand) => self.alpha_operand(draft, operand, piece)?,
            Operand::Csr
            | Operand::Zimm
            | Operand::FenceSets
            | Operand::RdKept
            | Operand::RoundingModeTruncate
            | Operand::Constant
            | Operand::MopNumber5
            | Operand::MopNumber3 => {
                return Err(self.source().error(
                    piece.at,
                    "this operand cannot stand in a replacement sequence",
                ));
            }
        }
        Ok(())
    }

    fn alpha_operand(
        &self,
        draft: &mut Draft,
        operand: AlphaOperand,
        piece: Piece<'_>,
    ) -> Result<(), DiseError> {
        use AlphaOperand as A;
        let ops = &self.operands;
        match operand {
            A::RaWritten | A::RcWritten => {
                (draft.inst.rd, draft.rd) = ops.register(piece, Bank::Integer)?;
            }
            A::FaWritten | A::FcWritten => {
                (draft.inst.rd, draft.rd) = ops.register(piece, Bank::Float)?;
            }
            A::RaFirst => (draft.inst.rs1, draft.rs1) = ops.register(piece, Bank::Integer)?,
            A::FaFirst => (draft.inst.rs1, draft.rs1) = ops.register(piece, Bank::Float)?,
            A::RaStored => (draft.inst.rs2, draft.rs2) = ops.register(piece, Bank::Integer)?,
            A::FaStored | A::FbSecond => {
                (draft.inst.rs2, draft.rs2) = ops.register(piece, Bank::Float)?;
            }
            A::RaStoredWritten => {
                (draft.inst.rs2, draft.rs2) = ops.register(piece, Bank::Integer)?;
                (draft.inst.rd, draft.rd) = (draft.inst.rs2, draft.rs2);
            }
            A::RcKept | A::FcKept => {
                let bank = match operand {
                    A::RcKept => Bank::Integer,
                    _ => Bank::Float,
                };
                let (register, from) = ops.register(piece, bank)?;
                if from != RegisterSource::Literal {
                    let message = "what a conditional move keeps cannot be a directive";
                    return Err(self.source().error(piece.at, message));
                }
                (draft.inst.rs3, draft.inst.rd) = (register, register);
            }
            A::RbOrLiteral if ops.is_register(piece) => {
                (draft.inst.rs2, draft.rs2) = ops.register(piece, Bank::Integer)?;
            }
            A::RbOrLiteral => draft.inst.imm = alpha::LITERAL | self.ranged(piece, 0, 255)?,
            // Without a base it is an absolute address or a constant.
            A::MemDisp16 if piece.split_memory().is_none() => {
                (draft.inst.imm, draft.imm) = ops.immediate(piece)?;
            }
            A::MemDisp16 => self.memory(draft, Operand::MemLoad, piece)?,
            A::RbAddress => self.memory(draft, Operand::Address, piece)?,
            A::MemDisp16High => {
                self.memory(draft, Operand::MemLoad, piece)?;
                if draft.imm != ImmediateSource::Literal {
                    let message = "a directive cannot stand here";
                    return Err(self.source().error_help(piece.at, message, "use `lda`"));
                }
                draft.inst.imm <<= 16;
            }
            A::Disp21 => self.target(draft, piece)?,
            A::JumpHint | A::Qualifiers | A::PalFunction => {
                let message = "this operand cannot stand in a replacement sequence";
                return Err(self.source().error(piece.at, message));
            }
        }
        Ok(())
    }

    fn ranged(&self, piece: Piece<'_>, least: i64, most: i64) -> Result<i64, DiseError> {
        let (value, from) = self.operands.immediate(piece)?;
        if from != ImmediateSource::Literal {
            return Err(self
                .source()
                .error(piece.at, "a directive cannot stand here"));
        }
        if !(least..=most).contains(&value) {
            return Err(self.source().error(
                piece.at,
                format!("{value} is not between {least} and {most}"),
            ));
        }
        Ok(value)
    }

    /// `imm(reg)`; atomics have no immediate.
    fn memory(
        &self,
        draft: &mut Draft,
        operand: Operand,
        piece: Piece<'_>,
    ) -> Result<(), DiseError> {
        let Some((imm, base)) = piece.split_memory() else {
            return Err(self
                .source()
                .error(piece.at, "expected an address: `offset(register)`"));
        };
        (draft.inst.rs1, draft.rs1) = self.operands.register(base, Bank::Integer)?;
        if imm.text.is_empty() {
            return Ok(());
        }
        if operand == Operand::Address {
            return Err(self.source().error(imm.at, "this address has no offset"));
        }
        (draft.inst.imm, draft.imm) = self.operands.immediate(imm)?;
        Ok(())
    }

    /// A branch or jump out of the sequence, to an address.
    fn target(&self, draft: &mut Draft, piece: Piece<'_>) -> Result<(), DiseError> {
        if self.labels.contains_key(piece.text) {
            let message = format!("`{}` is a label of this sequence", piece.text);
            let help =
                "branches within a sequence are d_beq, d_bne, d_blt, d_bge, d_bltu, d_bgeu, d_br";
            return Err(self.source().error_help(piece.at, message, help));
        }
        let (value, from) = self.operands.immediate(piece)?;
        (draft.inst.imm, draft.imm) = match from {
            ImmediateSource::Literal => (value, ImmediateSource::PcRelative),
            // Relative to the trigger already: the distance is the immediate itself.
            ImmediateSource::Pc => (value, ImmediateSource::Literal),
            ImmediateSource::Imm => (value, ImmediateSource::Imm),
            _ => {
                return Err(self
                    .source()
                    .error(piece.at, "this directive is not a branch target"));
            }
        };
        Ok(())
    }

    /// A label of the sequence, or a position in it.
    fn index(&self, piece: Piece<'_>) -> Result<i64, DiseError> {
        if let Some(index) = self.labels.get(piece.text) {
            return self.in_sequence(*index as i64, piece);
        }
        if piece.text.starts_with(|c: char| c.is_ascii_digit()) {
            return self.in_sequence(self.operands.number(piece)?, piece);
        }
        let help = "put `label:` in front of an instruction of this sequence";
        Err(self
            .source()
            .unknown(&piece.name(), "label", self.labels.keys().copied(), help))
    }

    fn in_sequence(&self, index: i64, piece: Piece<'_>) -> Result<i64, DiseError> {
        if (0..self.count as i64).contains(&index) {
            return Ok(index);
        }
        let message = format!(
            "branch to instruction {index}, but the sequence has {}",
            self.count
        );
        Err(self
            .source()
            .error_help(piece.at, message, "instructions are numbered from 0"))
    }

    fn handler(&self, piece: Piece<'_>) -> Result<i64, DiseError> {
        let is_name = piece
            .text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || c == '_')
            && !piece.text.is_empty();
        if is_name
            && !piece.text.starts_with(|c: char| c.is_ascii_digit())
            && self.operands.symbols.value(piece.text).is_none()
        {
            let known = self.operands.symbols.addresses.keys().map(String::as_str);
            let help = format!("define it: `handler {} {{ ... }}`", piece.text);
            return Err(self
                .source()
                .unknown(&piece.name(), "handler", known, &help));
        }
        self.operands.number(piece)
    }

    fn rounding(&self, piece: Piece<'_>) -> Result<i64, DiseError> {
        let modes = [
            ("rne", 0),
            ("rtz", 1),
            ("rdn", 2),
            ("rup", 3),
            ("rmm", 4),
            ("dyn", 7),
        ];
        match modes.iter().find(|(name, _)| *name == piece.text) {
            Some((_, mode)) => Ok(*mode),
            None => {
                let names = modes.map(|(name, _)| name);
                Err(self.source().unknown(
                    &piece.name(),
                    "rounding mode",
                    names,
                    "use rne, rtz, rdn, rup, rmm or dyn",
                ))
            }
        }
    }
}

const fn is_rounding(operand: Operand) -> bool {
    matches!(operand, Operand::RoundingMode | Operand::RoundingModeExact)
}

fn strip_parentheses(piece: Piece<'_>) -> Piece<'_> {
    match piece
        .text
        .strip_prefix('(')
        .and_then(|text| text.strip_suffix(')'))
    {
        Some(inner) => Piece::trimmed(inner, piece.at + 1),
        None => piece,
    }
}
