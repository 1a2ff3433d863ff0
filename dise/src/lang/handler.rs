//! Handlers: assembly text to guest code.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use hps_isa::asm::OperandHook;
use hps_isa::inst::{Inst, reg};
use hps_isa::isa::Isa;

use crate::error::DiseError;
use crate::lang::ast::Line;
use crate::lang::constant::{address_instructions, load_address, load_immediate};
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
    /// Size in bytes.
    pub size: u64,
}

/// Inputs of a layout before addresses are known.
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
        let isa = self.symbols.isa;
        match (mnemonic, operands.as_slice()) {
            ("li", [_, value]) => Ok(load_immediate(isa, 1, self.literal(*value)?).len() as u64),
            ("la", [_, name]) => match self.symbols.values.get(name.text) {
                Some(value) => Ok(load_immediate(isa, 1, *value).len() as u64),
                None => Ok(address_instructions(isa)),
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
            let word = symbols.isa.encode(&inst).ok_or_else(|| {
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
    let isa = hook.symbols.isa;
    match (mnemonic, operands.as_slice()) {
        ("li" | "la", [register, value]) => {
            let rd = integer_register(isa, source, *register)?;
            let target = hook
                .immediate(value.text)
                .ok_or_else(|| hook.unknown(source, *value))?;
            if mnemonic == "li" || hook.symbols.values.contains_key(value.text) {
                return Ok(load_immediate(isa, rd, target));
            }
            load_address(isa, rd, target as u64, pc)
                .ok_or_else(|| source.error(value.at, "the address is too far away"))
        }
        ("li" | "la", _) => Err(source.error(line.at, format!("`{mnemonic}` takes 2 operands"))),
        _ => match isa.assemble(&line.text, pc, hook) {
            Ok(inst) => Ok(vec![inst]),
            Err(error) => {
                let help = hook
                    .unresolved
                    .borrow()
                    .as_deref()
                    .and_then(|token| nearest(token, hook.names()));
                let help = help.map(|near| format!("did you mean `{near}`?"));
                Err(source
                    .diagnostic(line.at + error.column, String::from(error.message), help)
                    .into())
            }
        },
    }
}

fn integer_register(isa: Isa, source: &Source, piece: Piece<'_>) -> Result<u8, DiseError> {
    match isa.parse_register(piece.text) {
        Some(register) if register < reg::FP => Ok(register),
        _ => {
            let known: Vec<&str> = (0..reg::FP).map(|r| isa.register_name(r)).collect();
            Err(source.unknown(&piece.name(), "register", known, "use an integer register"))
        }
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
        if register.is_none() && self.symbols.isa.parse_register(token).is_none() {
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
