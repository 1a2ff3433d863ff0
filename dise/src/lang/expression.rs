//! Numeric expressions: `+`, `-`, `*`, `/`, parentheses.

use crate::error::DiseError;
use crate::lang::ast::Expr;
use crate::lang::lexer::{Kind, tokens_between};
use crate::lang::parser::Parser;
use crate::lang::source::Source;

/// Parses the expression between byte offsets `start` and `end`.
///
/// # Errors
/// [`DiseError::Text`] if it is none.
pub(super) fn parse_expression(
    source: &Source,
    start: usize,
    end: usize,
) -> Result<Expr, DiseError> {
    let tokens = tokens_between(source, start, end)?;
    let mut parser = Parser::new(source.clone(), tokens);
    let expression = parser.expression()?;
    match parser.peek().kind {
        Kind::End => Ok(expression),
        _ => Err(parser.unexpected("the end of the operand")),
    }
}

/// Operators that an expression may have. They bound how deep its tree can be, which is walked recursively.
const MAX_OPERATORS: usize = 1000;

impl Parser {
    /// `term { (+ | -) term }`.
    pub(super) fn expression(&mut self) -> Result<Expr, DiseError> {
        if self.expressions == 0 {
            self.operators = 0;
        }
        self.expressions += 1;
        let sum = self.nested(|p| {
            let mut left = p.term()?;
            while let Some(op) = p.operator(&["+", "-"]) {
                let right = p.term()?;
                left = p.binary(left, op, right)?;
            }
            Ok(left)
        });
        self.expressions -= 1;
        sum
    }

    fn term(&mut self) -> Result<Expr, DiseError> {
        let mut left = self.primary()?;
        while let Some(op) = self.operator(&["*", "/"]) {
            let right = self.primary()?;
            left = self.binary(left, op, right)?;
        }
        Ok(left)
    }

    fn binary(
        &mut self,
        left: Expr,
        (operator, at): (char, usize),
        right: Expr,
    ) -> Result<Expr, DiseError> {
        self.operators += 1;
        if self.operators > MAX_OPERATORS {
            let message = format!("this expression has more than {MAX_OPERATORS} operators");
            let help = "give parts of it names with `const`";
            return Err(self.file.source.error_help(at, message, help));
        }
        Ok(Expr::Binary(Box::new(left), operator, Box::new(right), at))
    }

    fn operator(&mut self, marks: &[&str]) -> Option<(char, usize)> {
        let at = self.peek().start;
        let mark = marks.iter().find(|mark| self.is_mark(0, mark))?;
        self.next();
        Some((mark.chars().next()?, at))
    }

    pub(super) fn primary(&mut self) -> Result<Expr, DiseError> {
        let token = self.peek().clone();
        match token.kind {
            Kind::Number(value) => {
                self.next();
                Ok(Expr::Number(value))
            }
            Kind::Word => Ok(Expr::Name(self.name("a number")?)),
            Kind::Mark("-") => {
                self.next();
                let inner = self.nested(Parser::primary)?;
                Ok(Expr::Negate(Box::new(inner), token.start))
            }
            Kind::Mark("(") => {
                self.next();
                let inner = self.expression()?;
                self.expect(")", "to close the expression")?;
                Ok(inner)
            }
            _ => Err(self.unexpected("a number, a name or `(`")),
        }
    }
}
