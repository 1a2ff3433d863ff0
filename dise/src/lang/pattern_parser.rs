//! Patterns: comparisons of fields, flags, and their combinations.

use crate::error::DiseError;
use crate::flags::{overflow_bit, zero_bit};
use crate::lang::ast::{Comparison, Expr, Pattern, Side};
use crate::lang::parser::{Parser, numbered};

const RELATIONS: [&str; 6] = ["==", "!=", "<=", ">=", "<", ">"];

impl Parser {
    /// A whole pattern. `&&` binds tighter than `||`; two pattern parts without an operator
    /// between them (as the report prints one, Figure 5) bind tighter still.
    pub(super) fn pattern(&mut self) -> Result<Pattern, DiseError> {
        self.nested(|p| {
            let at = p.peek().start;
            let mut mixed = false;
            let mut parts = vec![p.conjunction(&mut mixed)?];
            while p.accept("||") {
                parts.push(p.conjunction(&mut mixed)?);
            }
            if mixed && parts.len() > 1 {
                p.warn(
                    at,
                    "`&&` and `||` are mixed without parentheses",
                    "`&&` binds tighter: add parentheses",
                );
            }
            Ok(one_or(parts, Pattern::Or))
        })
    }

    fn conjunction(&mut self, mixed: &mut bool) -> Result<Pattern, DiseError> {
        let mut parts = vec![self.part()?];
        while self.accept("&&") {
            parts.push(self.part()?);
        }
        *mixed |= parts.len() > 1;
        Ok(one_or(parts, Pattern::And))
    }

    /// A run of flags, or pattern parts side by side.
    fn part(&mut self) -> Result<Pattern, DiseError> {
        if self.flag_follows(0) {
            return self.flags();
        }
        let mut parts = vec![self.unary()?];
        while self.is_mark(0, "(") {
            let at = self.peek().start;
            let message =
                "two parts of a pattern without an operator between them are taken as `||`";
            self.warn(at, message, "write `||`");
            parts.push(self.unary()?);
        }
        Ok(one_or(parts, Pattern::Or))
    }

    /// The Conditional of Figure 3: flags in a row, joined with `&&` and `||`, belong together as
    /// if in parentheses.
    fn flags(&mut self) -> Result<Pattern, DiseError> {
        let at = self.peek().start;
        let mut mixed = false;
        let mut alternatives = Vec::new();
        loop {
            let mut parts = vec![self.unary()?];
            while self.is_mark(0, "&&") && self.flag_follows(1) {
                self.next();
                parts.push(self.unary()?);
            }
            mixed |= parts.len() > 1;
            alternatives.push(one_or(parts, Pattern::And));
            if !(self.is_mark(0, "||") && self.flag_follows(1)) {
                break;
            }
            self.next();
        }
        if mixed && alternatives.len() > 1 {
            let help = "`&&` binds tighter: add parentheses";
            self.warn(at, "`&&` and `||` are mixed without parentheses", help);
        }
        Ok(one_or(alternatives, Pattern::Or))
    }

    /// Whether `!`* and a flag stand at `ahead`.
    fn flag_follows(&self, mut ahead: usize) -> bool {
        while self.is_mark(ahead, "!") {
            ahead += 1;
        }
        flag(self.word_at(ahead)).is_some()
    }

    fn unary(&mut self) -> Result<Pattern, DiseError> {
        self.nested(|p| {
            if p.accept("!") {
                return Ok(Pattern::Not(Box::new(p.unary()?)));
            }
            if p.accept("(") {
                let inner = p.pattern()?;
                p.expect(")", "to close the pattern")?;
                return Ok(inner);
            }
            let at = p.peek().start;
            if let Some((kind, counter)) = flag(p.word_at(0)).map(|(kind, n)| (kind.to_owned(), n))
            {
                p.next();
                let counter = p.counter_number(counter, at)?;
                let bit = if kind == "overflow" {
                    overflow_bit(counter)
                } else {
                    zero_bit(counter)
                };
                return Ok(Pattern::Flag(bit.trailing_zeros()));
            }
            p.comparison(at)
        })
    }

    fn comparison(&mut self, at: usize) -> Result<Pattern, DiseError> {
        let left = self.side()?;
        let Some(relation) = RELATIONS
            .into_iter()
            .find(|relation| self.is_mark(0, relation))
        else {
            if let Side::Value(Expr::Name(name), _) = &left {
                let flags = [
                    "overflow_0",
                    "overflow_1",
                    "overflow_2",
                    "zero_0",
                    "zero_1",
                    "zero_2",
                ];
                let help = "a pattern is made of comparisons (T.OPCLASS == load) and flags (overflow_N, zero_N)";
                return Err(self.file.source.unknown(name, "flag or field", flags, help));
            }
            return Err(self.unexpected("a comparison: ==, !=, <, <=, > or >="));
        };
        self.next();
        let right = self.side()?;
        Ok(Pattern::Compare(Comparison {
            left,
            relation,
            right,
            at,
        }))
    }

    fn side(&mut self) -> Result<Side, DiseError> {
        let at = self.peek().start;
        if self.word_at(0).starts_with("T.") {
            return Ok(Side::Field(self.name("a field")?));
        }
        Ok(Side::Value(self.expression()?, at))
    }
}

/// Splits `overflow_1` into `("overflow", 1)`.
fn flag(word: &str) -> Option<(&str, u64)> {
    numbered(word, &["overflow", "zero"])
}

fn one_or(mut parts: Vec<Pattern>, many: impl FnOnce(Vec<Pattern>) -> Pattern) -> Pattern {
    match parts.len() {
        1 => parts.remove(0),
        _ => many(parts),
    }
}
