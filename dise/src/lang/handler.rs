//! Handlers: assembly text to guest code.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use hps_sim_core::inst::{Inst, Op, reg};
use hps_sim_core::riscv::asm::{OperandHook, assemble};
use hps_sim_core::riscv::{encode, parse_register, register_name};

use crate::error::DiseError;
use crate::lang::ast::Line;
use crate::lang::expression::parse_expression;
use crate::lang::operands::Piece;
use crate::lang::source::{Name, Source, nearest};
use crate::lang::symbols::Symbols;

/// One line with its address in the handler.
struct Placed<'a> {
    line: &'a Line,
    offset: u64,
}

/// A handler whose lines have addresses relative to its start.
pub(super) struct Layout<'a> {
    lines: Vec<Placed<'a>>,
    labels: BTreeMap<&'a str, u64>,
    /// Its size in bytes.
    pub size: u64,
}

/// What a layout needs to know before addresses are known.
pub(super) struct Early<'a> {
    pub source: &'a Source,
    pub symbols: &'a Symbols,
    /// Names of handlers and data areas, whose addresses come later.
    pub address_names: &'a BTreeSet<String>,
}

impl Early<'_> {
    /// Gives every line of a handler its place. The size of `li` depends on its value, that of
    /// all other lines only on their mnemonic.
    pub fn layout<'l>(&self, name: &Name, lines: &'l [Line]) -> Result<Layout<'l>, DiseError> {
        let mut layout = Layout {
            lines: Vec::new(),
            labels: BTreeMap::new(),
            size: 0,
        };
        for line in lines {
            for label in &line.labels {
                if layout.labels.insert(&label.text, layout.size).is_some() {
                    let message =
                        format!("label `{}` is defined twice in this handler", label.text);
                    return Err(self.source.error(label.at, message));
                }
            }
            if !line.text.is_empty() {
                layout.lines.push(Placed {
                    line,
                    offset: layout.size,
                });
                layout.size += 4 * self.instructions(line)?;
            }
        }
        if layout.lines.is_empty() {
            let message = format!("handler `{}` is empty", name.text);
            return Err(self
                .source
                .error_help(name.at, message, "it needs at least `d_ret`"));
        }
        Ok(layout)
    }

    fn instructions(&self, line: &Line) -> Result<u64, DiseError> {
        let (mnemonic, rest) = Piece {
            text: &line.text,
            at: line.at,
        }
        .split_mnemonic();
        let operands = rest.split_operands();
        match (mnemonic, operands.as_slice()) {
            ("li", [_, value]) => Ok(load_immediate(0, self.literal(*value)?).len() as u64),
            ("la", [_, name]) => match self.symbols.values.get(name.text) {
                Some(value) => Ok(load_immediate(0, *value).len() as u64),
                None => Ok(2),
            },
            _ => Ok(1),
        }
    }

    fn literal(&self, piece: Piece<'_>) -> Result<i64, DiseError> {
        if self.address_names.contains(piece.text) {
            let message = format!("`{}` is an address", piece.text);
            return Err(self
                .source
                .error_help(piece.at, message, "load it with `la`"));
        }
        let expr = parse_expression(self.source, piece.at, piece.at + piece.text.len())?;
        self.symbols.evaluate(&expr, self.source)
    }
}

/// Assembles a handler that starts at `base`.
pub(super) fn code(
    layout: &Layout<'_>,
    base: u64,
    source: &Source,
    symbols: &Symbols,
) -> Result<Vec<u32>, DiseError> {
    let mut words = Vec::new();
    for placed in &layout.lines {
        let pc = base + placed.offset;
        let hook = Hook {
            layout,
            base,
            symbols,
            unresolved: RefCell::new(None),
        };
        for inst in instructions(placed.line, pc, source, &hook)? {
            let word = encode(&inst).ok_or_else(|| {
                let message = format!("`{}` cannot be encoded in a handler", inst.op.mnemonic());
                let help = "DISE branches and calls belong in replacement sequences; immediates must fit the encoding";
                source.error_help(placed.line.at, message, help)
            })?;
            words.push(word);
        }
    }
    Ok(words)
}

fn instructions(
    line: &Line,
    pc: u64,
    source: &Source,
    hook: &Hook<'_, '_>,
) -> Result<Vec<Inst>, DiseError> {
    let (mnemonic, rest) = Piece {
        text: &line.text,
        at: line.at,
    }
    .split_mnemonic();
    let operands = rest.split_operands();
    match (mnemonic, operands.as_slice()) {
        ("li" | "la", [register, value]) => {
            let rd = integer_register(source, *register)?;
            let target = hook
                .immediate(value.text)
                .ok_or_else(|| hook.unknown(source, *value))?;
            if mnemonic == "li" || hook.symbols.values.contains_key(value.text) {
                return Ok(load_immediate(rd, target));
            }
            load_address(rd, (target as u64).wrapping_sub(pc) as i64)
                .ok_or_else(|| source.error(value.at, "the address is more than 2 GiB away"))
        }
        ("li" | "la", _) => Err(source.error(line.at, format!("`{mnemonic}` takes 2 operands"))),
        _ => match assemble(&line.text, pc, hook) {
            Ok(inst) => Ok(vec![inst]),
            Err(error) => {
                let help = hook
                    .unresolved
                    .borrow()
                    .as_deref()
                    .and_then(|token| nearest(token, hook.names()));
                let help = help.map(|near| format!("did you mean `{near}`?"));
                Err(source
                    .diagnostic(line.at + error.column, error.message, help)
                    .into())
            }
        },
    }
}

fn integer_register(source: &Source, piece: Piece<'_>) -> Result<u8, DiseError> {
    match parse_register(piece.text) {
        Some(register) if register < reg::FP => Ok(register),
        _ => {
            let known: Vec<&str> = (0..reg::FP).map(register_name).collect();
            Err(source.unknown(&piece.name(), "register", known, "use an integer register"))
        }
    }
}

/// `rd = value` in one to eight instructions: upper and lower parts, shifted into place from the
/// top.
fn load_immediate(rd: u8, value: i64) -> Vec<Inst> {
    let low = value << 52 >> 52;
    if value == low {
        return vec![inst(Op::Addi, rd, reg::ZERO, value)];
    }
    let high = value.wrapping_sub(low);
    if i32::try_from(value).is_ok() {
        let mut out = vec![inst(Op::Lui, rd, reg::ZERO, i64::from(high as i32))];
        if low != 0 {
            out.push(inst(Op::Addiw, rd, rd, low));
        }
        return out;
    }
    let shift = high.trailing_zeros();
    let mut out = load_immediate(rd, high >> shift);
    out.push(inst(Op::Slli, rd, rd, i64::from(shift)));
    if low != 0 {
        out.push(inst(Op::Addi, rd, rd, low));
    }
    out
}

/// `rd = pc + distance` in two instructions.
fn load_address(rd: u8, distance: i64) -> Option<Vec<Inst>> {
    let low = distance << 52 >> 52;
    let high = i32::try_from(distance - low).ok()?;
    Some(vec![
        inst(Op::Auipc, rd, reg::ZERO, i64::from(high)),
        inst(Op::Addi, rd, rd, low),
    ])
}

fn inst(op: Op, rd: u8, rs1: u8, imm: i64) -> Inst {
    let rd = if rd == reg::ZERO { reg::SINK } else { rd };
    Inst {
        op,
        class: op.class(),
        rd,
        rs1,
        imm,
        ..Inst::illegal(4)
    }
}

/// Names for the assembler: labels of the handler, symbols, expressions, DISE registers.
struct Hook<'a, 'l> {
    layout: &'a Layout<'l>,
    base: u64,
    symbols: &'a Symbols,
    /// The last token without a meaning here, for advice if the assembler does not know it either.
    unresolved: RefCell<Option<String>>,
}

impl Hook<'_, '_> {
    fn names(&self) -> impl Iterator<Item = &str> {
        self.layout
            .labels
            .keys()
            .copied()
            .chain(self.symbols.names())
            .chain(self.symbols.registers.keys().map(String::as_str))
    }

    fn unknown(&self, source: &Source, piece: Piece<'_>) -> DiseError {
        source.unknown(
            &piece.name(),
            "name or expression",
            self.names(),
            "labels are local to their handler",
        )
    }
}

impl OperandHook for Hook<'_, '_> {
    fn register(&self, token: &str) -> Option<u8> {
        let register = self.symbols.registers.get(token).copied();
        if register.is_none() && parse_register(token).is_none() {
            *self.unresolved.borrow_mut() = Some(token.to_owned());
        }
        register
    }

    fn immediate(&self, token: &str) -> Option<i64> {
        if let Some(offset) = self.layout.labels.get(token) {
            return Some((self.base + offset) as i64);
        }
        let source = Source {
            name: String::new(),
            text: token.to_owned(),
        };
        let value = parse_expression(&source, 0, token.len())
            .and_then(|e| self.symbols.evaluate(&e, &source));
        if value.is_err() {
            *self.unresolved.borrow_mut() = Some(token.to_owned());
        }
        value.ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the instructions of `load_immediate` compute.
    fn run(code: &[Inst]) -> i64 {
        code.iter().fold(0_i64, |value, i| match i.op {
            Op::Addi if i.rs1 == reg::ZERO => i.imm,
            Op::Addi => value.wrapping_add(i.imm),
            Op::Addiw => i64::from(value.wrapping_add(i.imm) as i32),
            Op::Lui => i.imm,
            Op::Slli => value << i.imm,
            _ => unreachable!("{:?}", i.op),
        })
    }

    #[test]
    fn immediates_of_every_size() {
        let mut values = vec![
            0,
            1,
            -1,
            2047,
            2048,
            -2048,
            -2049,
            0x7fff_ffff,
            0x8000_0000,
            -0x8000_0000,
        ];
        values.extend([
            0x7fff_f800,
            0xffff_ffff,
            i64::MAX,
            i64::MIN,
            0x2_0000_0000,
            0x1234_5678_9abc_def0,
        ]);
        values.extend(
            (0..64).flat_map(|s| [1_i64 << s, (1_i64 << s).wrapping_sub(1), !(1_i64 << s)]),
        );
        for value in values {
            let code = load_immediate(5, value);
            assert_eq!(run(&code), value, "{value:#x}");
            assert!(
                code.len() <= 8 && code.iter().all(|i| encode(i).is_some()),
                "{value:#x}"
            );
        }
    }

    #[test]
    fn addresses_within_two_gib() {
        for distance in [0, 4, -4, 0x800, 0x7ff, -0x801, 0x7fff_0000] {
            let code = load_address(5, distance).unwrap();
            assert_eq!(code[0].imm + code[1].imm, distance);
        }
        assert!(load_address(5, 1 << 32).is_none());
    }
}
