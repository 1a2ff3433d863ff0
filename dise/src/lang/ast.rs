//! Syntax tree of a production file, before names are resolved.

use crate::lang::source::{Name, Source};

/// A numeric expression.
#[derive(Clone, Debug)]
pub enum Expr {
    /// A literal.
    Number(i64),
    /// A constant, a parameter, a handler, a data area or `MAX`.
    Name(Name),
    /// `-e`.
    Negate(Box<Expr>, usize),
    /// `a + b`, `a - b`, `a * b` or `a / b`; the offset is that of the operator.
    Binary(Box<Expr>, char, Box<Expr>, usize),
}

/// One side of a comparison.
#[derive(Clone, Debug)]
pub enum Side {
    /// `T.OPCLASS`, `T.RS` ..., with its spelling.
    Field(Name),
    /// A name (of a class, an operation, a register or a number) or an expression.
    Value(Expr, usize),
}

/// A comparison: `==`, `!=`, `<`, `<=`, `>`, `>=`.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// Left side.
    pub left: Side,
    /// The operator as written.
    pub relation: &'static str,
    /// Right side.
    pub right: Side,
    /// Where it starts.
    pub at: usize,
}

/// A pattern.
#[derive(Clone, Debug)]
pub enum Pattern {
    /// `overflow_N` (bit `2 N`) or `zero_N` (bit `2 N + 1`).
    Flag(u32),
    /// A comparison of a field.
    Compare(Comparison),
    /// `! p`.
    Not(Box<Pattern>),
    /// `a && b ...`.
    And(Vec<Pattern>),
    /// `a || b ...`.
    Or(Vec<Pattern>),
}

/// One line of assembly in a handler or in a sequence.
#[derive(Clone, Debug)]
pub struct Line {
    /// Labels in front of it.
    pub labels: Vec<Name>,
    /// The instruction; empty if there are only labels.
    pub text: String,
    /// Where it starts.
    pub at: usize,
}

/// A replacement sequence.
#[derive(Clone, Debug)]
pub enum SequenceBody {
    /// Instructions written in full.
    Lines(Vec<Line>),
    /// `compose(R1, R2, ...)`.
    Compose(Vec<Name>),
}

/// A replacement.
#[derive(Clone, Debug)]
pub enum Replacement {
    /// `null`.
    Null,
    /// A label defined elsewhere in the file.
    Label(Name),
    /// Written in place.
    Inline(SequenceBody),
}

/// An element of conditional control.
#[derive(Clone, Debug)]
pub enum Control {
    /// `inc_N`.
    Inc(u8),
    /// `dec_N`.
    Dec(u8),
    /// `set_N(register)`.
    Set(u8, Name),
    /// A label defined elsewhere in the file.
    Label(Name),
}

/// A production.
#[derive(Clone, Debug)]
pub struct Production {
    /// Label of the production; made from the line number if it has none.
    pub name: Name,
    /// Pattern of the production.
    pub pattern: Pattern,
    /// Replacement of the production.
    pub replacement: Replacement,
    /// Control of the production.
    pub control: Vec<Control>,
}

/// A file.
#[derive(Clone, Debug)]
pub struct File {
    /// The text it was read from.
    pub source: Source,
    /// `const NAME = expr;`
    pub consts: Vec<(Name, Expr)>,
    /// `param NAME = expr;`
    pub params: Vec<(Name, Expr)>,
    /// `register NAME = drN;`, the register in the machine's numbering.
    pub registers: Vec<(Name, u8)>,
    /// `init REGISTER = expr;`
    pub inits: Vec<(Name, Expr)>,
    /// `counter N = REGISTER;`
    pub counters: Vec<(u8, Name)>,
    /// `handler NAME { ... }`
    pub handlers: Vec<(Name, Vec<Line>)>,
    /// `data NAME size align;`
    pub data: Vec<(Name, Expr, Expr)>,
    /// `fragment NAME { ... }`
    pub fragments: Vec<(Name, Vec<Line>)>,
    /// Labelled sequences.
    pub sequences: Vec<(Name, SequenceBody)>,
    /// Labelled conditional control.
    pub controls: Vec<(Name, Vec<Control>)>,
    /// Productions.
    pub productions: Vec<Production>,
    /// Warnings of the parser about accepted input.
    pub warnings: Vec<crate::error::Diagnostic>,
}

impl File {
    /// A file that says nothing yet.
    #[must_use]
    pub fn new(source: Source) -> Self {
        File {
            source,
            consts: Vec::new(),
            params: Vec::new(),
            registers: Vec::new(),
            inits: Vec::new(),
            counters: Vec::new(),
            handlers: Vec::new(),
            data: Vec::new(),
            fragments: Vec::new(),
            sequences: Vec::new(),
            controls: Vec::new(),
            productions: Vec::new(),
            warnings: Vec::new(),
        }
    }

    /// How much has been said so far.
    #[must_use]
    pub fn mark(&self) -> [usize; 12] {
        [
            self.consts.len(),
            self.params.len(),
            self.registers.len(),
            self.inits.len(),
            self.counters.len(),
            self.handlers.len(),
            self.data.len(),
            self.fragments.len(),
            self.sequences.len(),
            self.controls.len(),
            self.productions.len(),
            self.warnings.len(),
        ]
    }

    /// Forgets what was said after a mark.
    pub fn truncate(&mut self, mark: [usize; 12]) {
        let [
            consts,
            params,
            registers,
            inits,
            counters,
            handlers,
            data,
            fragments,
            sequences,
            controls,
            productions,
            warnings,
        ] = mark;
        self.consts.truncate(consts);
        self.params.truncate(params);
        self.registers.truncate(registers);
        self.inits.truncate(inits);
        self.counters.truncate(counters);
        self.handlers.truncate(handlers);
        self.data.truncate(data);
        self.fragments.truncate(fragments);
        self.sequences.truncate(sequences);
        self.controls.truncate(controls);
        self.productions.truncate(productions);
        self.warnings.truncate(warnings);
    }
}
