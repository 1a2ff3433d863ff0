//! Operands of replacement instructions: literals and directives for the instantiation logic.

use hps_isa::inst::reg;
use hps_isa::isa::Isa;

use crate::error::DiseError;
use crate::lang::expression::parse_expression;
use crate::lang::lexer::number;
use crate::lang::parser::numbered;
use crate::lang::source::{Name, Source};
use crate::lang::symbols::Symbols;
use crate::tables::{ImmediateSource, RegisterSource};

/// A piece of the source text: an operand, or a whole instruction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece<'a> {
    pub text: &'a str,
    /// Byte offset in the source.
    pub at: usize,
}

impl<'a> Piece<'a> {
    /// Without white space around it.
    pub fn trimmed(text: &'a str, at: usize) -> Self {
        let start = text.trim_start();
        Piece {
            text: start.trim_end(),
            at: at + text.len() - start.len(),
        }
    }

    /// Splits `mnemonic operands`. A parenthesis also ends the mnemonic: `call(H)`.
    pub fn split_mnemonic(self) -> (&'a str, Piece<'a>) {
        let end = self
            .text
            .find(|c: char| c.is_whitespace() || c == '(')
            .unwrap_or(self.text.len());
        (
            &self.text[..end],
            Piece::trimmed(&self.text[end..], self.at + end),
        )
    }

    /// Splits at commas.
    pub fn split_operands(self) -> Vec<Piece<'a>> {
        if self.text.is_empty() {
            return Vec::new();
        }
        let mut at = self.at;
        self.text
            .split(',')
            .map(|part| {
                let piece = Piece::trimmed(part, at);
                at += part.len() + 1;
                piece
            })
            .collect()
    }

    /// Splits `imm(reg)`; the first part may be empty.
    pub fn split_memory(self) -> Option<(Piece<'a>, Piece<'a>)> {
        let open = self.text.rfind('(')?;
        let inner = self.text[open + 1..].strip_suffix(')')?;
        Some((
            Piece::trimmed(&self.text[..open], self.at),
            Piece::trimmed(inner, self.at + open + 1),
        ))
    }

    /// Converts the piece to a name.
    pub fn name(self) -> Name {
        Name {
            text: self.text.to_owned(),
            at: self.at,
        }
    }
}

/// The bank that a register operand must come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bank {
    /// Integer and DISE registers.
    Integer,
    /// Floating-point registers.
    Float,
}

/// Directives for registers.
const DIRECTIVES: [(&str, RegisterSource); 3] = [
    ("T.RS", RegisterSource::Rs),
    ("T.RT", RegisterSource::Rt),
    ("T.RD", RegisterSource::Rd),
];

fn register_directive(text: &str) -> Option<RegisterSource> {
    let found = DIRECTIVES
        .iter()
        .find(|(name, _)| name.eq_ignore_ascii_case(text));
    found.map(|(_, from)| *from)
}

/// Resolves operands.
pub(super) struct Operands<'a> {
    pub symbols: &'a Symbols,
    pub source: &'a Source,
}

impl Operands<'_> {
    /// A register or a directive for one. With a directive, the literal is the zero register.
    pub fn register(
        &self,
        piece: Piece<'_>,
        bank: Bank,
    ) -> Result<(u8, RegisterSource), DiseError> {
        let isa = self.symbols.isa;
        if let Some(from) = register_directive(piece.text) {
            return Ok((reg::ZERO, from));
        }
        let named = self
            .symbols
            .registers
            .get(piece.text)
            .copied()
            .or_else(|| isa.parse_register(piece.text));
        let Some(register) = named else {
            let mut known: Vec<&str> = DIRECTIVES.map(|(name, _)| name).to_vec();
            known.extend(self.symbols.registers.keys().map(String::as_str));
            known
                .extend((0..reg::DISE + reg::DISE_COUNT).map(|r| -> &str { isa.register_name(r) }));
            let help = "use a name of the ABI, dr0 to dr15, T.RS, T.RT or T.RD";
            return Err(self.source.unknown(&piece.name(), "register", known, help));
        };
        let is_float = (reg::FP..reg::DISE).contains(&register);
        // Alpha's `$f31` is the zero register, too.
        let fits = is_float == (bank == Bank::Float)
            || isa == Isa::Alpha && bank == Bank::Float && register == reg::ZERO;
        if !fits {
            let expected = if is_float {
                "an integer or DISE register"
            } else {
                "a floating-point register"
            };
            let message = format!("`{}` cannot stand here: expected {expected}", piece.text);
            return Err(self.source.error(piece.at, message));
        }
        Ok((register, RegisterSource::Literal))
    }

    /// The piece names a register or a directive for one.
    pub fn is_register(&self, piece: Piece<'_>) -> bool {
        register_directive(piece.text).is_some()
            || self.symbols.registers.contains_key(piece.text)
            || self.symbols.isa.parse_register(piece.text).is_some()
    }

    /// An expression, a directive, or a directive plus or minus an expression.
    pub fn immediate(&self, piece: Piece<'_>) -> Result<(i64, ImmediateSource), DiseError> {
        if !piece.text.starts_with("T.") {
            return Ok((self.number(piece)?, ImmediateSource::Literal));
        }
        let word_end = piece
            .text
            .find(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '.'));
        let (word, rest) = piece.text.split_at(word_end.unwrap_or(piece.text.len()));
        let from = self.directive(Piece {
            text: word,
            at: piece.at,
        })?;
        let rest = Piece::trimmed(rest, piece.at + word.len());
        let offset = match rest.text.chars().next() {
            None => 0,
            Some('+') => self.number(Piece {
                text: &rest.text[1..],
                at: rest.at + 1,
            })?,
            Some('-') => self.number(rest)?,
            Some(_) => {
                let help = "write the directive first: T.IMM + 8, T.PC - 4";
                return Err(self.source.error_help(
                    rest.at,
                    "expected `+` or `-` after the directive",
                    help,
                ));
            }
        };
        Ok((offset, from))
    }

    fn directive(&self, piece: Piece<'_>) -> Result<ImmediateSource, DiseError> {
        let known = [
            "T.IMM",
            "T.PC",
            "T.Target",
            "T.COUNT_0",
            "T.COUNT_1",
            "T.COUNT_2",
            "T.COUNT_3",
        ];
        let word = piece.text[2..].to_ascii_uppercase();
        if let Some((_, counter)) = numbered(&word, &["COUNT"]) {
            return match u8::try_from(counter)
                .ok()
                .filter(|c| usize::from(*c) < crate::config::MAX_COUNTERS)
            {
                Some(counter) => Ok(ImmediateSource::Count(counter)),
                None => Err(self
                    .source
                    .error(piece.at, format!("counter {counter} does not exist"))),
            };
        }
        match word.as_str() {
            "IMM" => Ok(ImmediateSource::Imm),
            "PC" => Ok(ImmediateSource::Pc),
            "TARGET" => Ok(ImmediateSource::Target),
            _ => {
                let help = "immediates are T.IMM, T.PC, T.Target or T.COUNT_N";
                Err(self.source.unknown(&piece.name(), "directive", known, help))
            }
        }
    }

    /// The value of an expression.
    pub fn number(&self, piece: Piece<'_>) -> Result<i64, DiseError> {
        // Also for operands that shorthand fills in, whose text is not at their place.
        match piece.text.strip_prefix('-') {
            Some(digits) if let Some(value) = number(digits) => return Ok(value.wrapping_neg()),
            None if let Some(value) = number(piece.text) => return Ok(value),
            _ => {}
        }
        let expr = parse_expression(self.source, piece.at, piece.at + piece.text.len())?;
        self.symbols.evaluate(&expr, self.source)
    }
}
