//! Statements of a production file. Hand-written recursive descent.

use hps_isa::inst::reg;
use hps_isa::isa::Isa;

use crate::config::MAX_COUNTERS;
use crate::error::DiseError;
use crate::lang::ast::{Control, File, Line, Production, Replacement, SequenceBody};
use crate::lang::lexer::{Kind, Token, tokens};
use crate::lang::source::{Name, Source, nearest};

/// Words that start a definition.
pub const KEYWORDS: [&str; 9] = [
    "const", "param", "register", "init", "counter", "handler", "fragment", "data", "isa",
];

/// How deep expressions and patterns may be nested.
const MAX_DEPTH: usize = 64;

/// Parses a file, and keeps what is for one instruction set.
///
/// # Errors
/// [`DiseError::Text`] at the first place that cannot be read.
pub fn parse(source: Source, isa: Isa) -> Result<File, DiseError> {
    let tokens = tokens(&source)?;
    let mut parser = Parser::new(source, tokens);
    while parser.peek().kind != Kind::End {
        let before = parser.file.mark();
        parser.statement()?;
        if parser.section.is_some_and(|section| section != isa) {
            parser.file.truncate(before);
        }
    }
    Ok(parser.file)
}

/// A position in the tokens of a file.
pub(super) struct Parser {
    pub(super) file: File,
    tokens: Vec<Token>,
    position: usize,
    depth: usize,
    /// Expressions that are being parsed, one inside the other.
    pub(super) expressions: usize,
    /// Operators of the outermost expression so far.
    pub(super) operators: usize,
    /// The instruction set for which statements are; `None` for all of them.
    section: Option<Isa>,
}

impl Parser {
    /// At the first of `tokens` of `source`.
    pub(super) fn new(source: Source, tokens: Vec<Token>) -> Self {
        Parser {
            file: File::new(source),
            tokens,
            position: 0,
            depth: 0,
            expressions: 0,
            operators: 0,
            section: None,
        }
    }

    pub(super) fn peek(&self) -> &Token {
        self.peek_at(0)
    }

    pub(super) fn peek_at(&self, ahead: usize) -> &Token {
        &self.tokens[(self.position + ahead).min(self.tokens.len() - 1)]
    }

    pub(super) fn next(&mut self) -> Token {
        let token = self.peek().clone();
        self.position += 1;
        token
    }

    pub(super) fn text(&self, token: &Token) -> &str {
        &self.file.source.text[token.start..token.end]
    }

    /// The word at `ahead`, or nothing.
    pub(super) fn word_at(&self, ahead: usize) -> &str {
        let token = self.peek_at(ahead);
        if token.kind == Kind::Word {
            self.text(token)
        } else {
            ""
        }
    }

    pub(super) fn is_mark(&self, ahead: usize, mark: &str) -> bool {
        matches!(self.peek_at(ahead).kind, Kind::Mark(m) if m == mark)
    }

    pub(super) fn accept(&mut self, mark: &str) -> bool {
        let found = self.is_mark(0, mark);
        self.position += usize::from(found);
        found
    }

    pub(super) fn expect(&mut self, mark: &str, context: &str) -> Result<(), DiseError> {
        if self.accept(mark) {
            return Ok(());
        }
        Err(self.unexpected(&format!("`{mark}` {context}")))
    }

    pub(super) fn name(&mut self, what: &str) -> Result<Name, DiseError> {
        if self.peek().kind != Kind::Word {
            return Err(self.unexpected(what));
        }
        let token = self.next();
        Ok(Name {
            text: self.text(&token).to_owned(),
            at: token.start,
        })
    }

    /// "expected ..., found ..." at the next token.
    pub(super) fn unexpected(&self, expected: &str) -> DiseError {
        let token = self.peek();
        let found = match token.kind {
            Kind::End => "the end of the file".to_owned(),
            Kind::Block => "a block `{ ... }`".to_owned(),
            _ => format!("`{}`", self.text(token)),
        };
        self.file
            .source
            .error(token.start, format!("expected {expected}, found {found}"))
    }

    pub(super) fn warn(&mut self, at: usize, message: &str, help: &str) {
        let warning = self
            .file
            .source
            .diagnostic(at, message, Some(help.to_owned()));
        self.file.warnings.push(warning);
    }

    /// Guards recursion against hostile nesting.
    pub(super) fn nested<T>(
        &mut self,
        inner: impl FnOnce(&mut Self) -> Result<T, DiseError>,
    ) -> Result<T, DiseError> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            let at = self.peek().start;
            return Err(self
                .file
                .source
                .error(at, format!("nested deeper than {MAX_DEPTH} levels")));
        }
        let result = inner(self);
        self.depth -= 1;
        result
    }

    fn statement(&mut self) -> Result<(), DiseError> {
        if self.is_heading() {
            return Ok(());
        }
        let word = self.word_at(0).to_owned();
        if self.is_mark(1, ":") && !word.is_empty() {
            return self.labelled();
        }
        if KEYWORDS.contains(&word.as_str()) {
            return self.definition(&word);
        }
        if word.starts_with("T.") {
            let at = self.peek().start;
            let line = self.file.source.diagnostic(at, "", None).line;
            return self.production(Name {
                text: format!("line{line}"),
                at,
            });
        }
        let at = self.peek().start;
        let message = format!(
            "expected a definition or a label with `:`, found `{}`",
            self.found()
        );
        let help = match nearest(&word, KEYWORDS) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("definitions start with {}", KEYWORDS.join(", ")),
        };
        Err(self.file.source.error_help(at, message, help))
    }

    fn found(&self) -> String {
        let token = self.peek();
        if token.kind == Kind::Block {
            "{".to_owned()
        } else {
            self.text(token).to_owned()
        }
    }

    /// Skips a heading as in the paper's figures: a line of at least two words and nothing else,
    /// the first of them capitalised.
    fn is_heading(&mut self) -> bool {
        if !self.peek().first_of_line
            || !self
                .word_at(0)
                .starts_with(|c: char| c.is_ascii_uppercase())
        {
            return false;
        }
        let mut words = 0;
        while !self.word_at(words).is_empty() && (words == 0 || !self.peek_at(words).first_of_line)
        {
            words += 1;
        }
        let heading = words >= 2 && self.peek_at(words).first_of_line;
        self.position += if heading { words } else { 0 };
        heading
    }

    /// `LABEL:` and what follows decides what it labels.
    fn labelled(&mut self) -> Result<(), DiseError> {
        let label = self.name("a label")?;
        self.expect(":", "after the label")?;
        if self.is_control(0) {
            let items = self.control_list(true)?;
            self.file.controls.push((label, items));
        } else if self.is_sequence_start() {
            let body = self.sequence()?;
            self.file.sequences.push((label, body));
        } else {
            self.production(label)?;
        }
        Ok(())
    }

    fn production(&mut self, name: Name) -> Result<(), DiseError> {
        let pattern = self.pattern()?;
        self.expect("=>", "after the pattern")?;
        let replacement = self.replacement()?;
        let control = if self.accept(",") {
            self.control_list(false)?
        } else {
            Vec::new()
        };
        self.accept(";");
        self.file.productions.push(Production {
            name,
            pattern,
            replacement,
            control,
        });
        Ok(())
    }

    fn replacement(&mut self) -> Result<Replacement, DiseError> {
        if self.is_sequence_start() {
            return Ok(Replacement::Inline(self.sequence()?));
        }
        if self.is_control(0) && self.word_at(0) != "null" {
            return Err(
                self.unexpected("a replacement (`null`, a label or `{ ... }`) before the control")
            );
        }
        let name = self.name("a replacement: `null`, a label or `{ ... }`")?;
        Ok(if name.text == "null" {
            Replacement::Null
        } else {
            Replacement::Label(name)
        })
    }

    fn is_sequence_start(&self) -> bool {
        let word = self.word_at(0);
        self.peek().kind == Kind::Block
            || is_trigger(word)
            || (matches!(word, "call" | "compose") && self.is_mark(1, "("))
    }

    /// `{ ... }`, `compose(...)`, or `call(...)` and `T.INSN` one after the other.
    fn sequence(&mut self) -> Result<SequenceBody, DiseError> {
        if self.peek().kind == Kind::Block {
            let block = self.next();
            return Ok(SequenceBody::Lines(block_lines(&self.file.source, &block)));
        }
        if self.word_at(0) == "compose" {
            self.position += 2;
            let mut parts = vec![self.name("the label of a sequence")?];
            while self.accept(",") {
                parts.push(self.name("the label of a sequence")?);
            }
            self.expect(")", "after the sequences")?;
            return Ok(SequenceBody::Compose(parts));
        }
        let mut lines = Vec::new();
        loop {
            if is_trigger(self.word_at(0)) {
                let token = self.next();
                lines.push(Line {
                    labels: Vec::new(),
                    text: self.text(&token).to_owned(),
                    at: token.start,
                });
            } else if self.word_at(0) == "call" && self.is_mark(1, "(") {
                let start = self.peek().start;
                self.position += 2;
                self.name("the name of a handler")?;
                let end = self.peek().end;
                self.expect(")", "after the handler")?;
                let text = self.file.source.text[start..end].to_owned();
                lines.push(Line {
                    labels: Vec::new(),
                    text,
                    at: start,
                });
            } else {
                return Ok(SequenceBody::Lines(lines));
            }
            if self.is_mark(0, ";") && (is_trigger(self.word_at(1)) || self.word_at(1) == "call") {
                self.position += 1;
            }
        }
    }

    /// Whether a microinstruction or `null` stands at `ahead` (and not a label of that name).
    fn is_control(&self, ahead: usize) -> bool {
        let word = self.word_at(ahead);
        (word == "null" || micro_name(word).is_some()) && !self.is_mark(ahead + 1, ":")
    }

    /// Microinstructions, separated by `,` or `;`. `definition`: the right side of a label, where
    /// labels are not allowed.
    fn control_list(&mut self, definition: bool) -> Result<Vec<Control>, DiseError> {
        let mut items = Vec::new();
        loop {
            let name = self.name("inc_N, dec_N, set_N(register), null or a label")?;
            match micro_name(&name.text) {
                Some((kind, counter)) => items.push(self.micro(&name, kind, counter)?),
                None if name.text == "null" => {}
                None if definition => {
                    let help = "conditional control is made of inc_N, dec_N and set_N(register)";
                    let message = format!("expected a microinstruction, found `{}`", name.text);
                    return Err(self.file.source.error_help(name.at, message, help));
                }
                None => items.push(Control::Label(name)),
            }
            if self.accept(",") || (self.accept(";") && self.is_control(0)) {
                continue;
            }
            return Ok(items);
        }
    }

    fn micro(&mut self, name: &Name, kind: &str, counter: u64) -> Result<Control, DiseError> {
        let counter = self.counter_number(counter, name.at)?;
        Ok(match kind {
            "inc" => Control::Inc(counter),
            "dec" => Control::Dec(counter),
            _ => {
                self.expect("(", "and a DISE register after set_N")?;
                let register = self.name("a DISE register")?;
                self.expect(")", "after the register")?;
                Control::Set(counter, register)
            }
        })
    }

    pub(super) fn counter_number(&self, counter: u64, at: usize) -> Result<u8, DiseError> {
        if counter < MAX_COUNTERS as u64 {
            return Ok(counter as u8);
        }
        let message = format!("counter {counter} does not exist");
        let help = format!("counters are numbered from 0 to {}", MAX_COUNTERS - 1);
        Err(self.file.source.error_help(at, message, help))
    }

    fn definition(&mut self, keyword: &str) -> Result<(), DiseError> {
        self.position += 1;
        match keyword {
            "handler" => {
                let name = self.name("the name of the handler")?;
                if self.peek().kind != Kind::Block {
                    return Err(self.unexpected("`{` and the handler's assembly"));
                }
                let block = self.next();
                let lines = block_lines(&self.file.source, &block);
                self.file.handlers.push((name, lines));
                self.accept(";");
                return Ok(());
            }
            "fragment" => {
                let name = self.name("the name of the fragment")?;
                if self.peek().kind != Kind::Block {
                    return Err(self.unexpected("`{` and the fragment's instructions"));
                }
                let block = self.next();
                let lines = block_lines(&self.file.source, &block);
                self.file.fragments.push((name, lines));
                self.accept(";");
                return Ok(());
            }
            "data" => {
                let name = self.name("the name of the data area")?;
                let size = self.primary()?;
                let align = self.primary()?;
                self.file.data.push((name, size, align));
            }
            "counter" => {
                let token = self.next();
                let Kind::Number(number) = token.kind else {
                    self.position -= 1;
                    return Err(self.unexpected("the number of a counter"));
                };
                let counter = self.counter_number(number as u64, token.start)?;
                self.expect("=", "after the counter")?;
                let register = self.name("a DISE register")?;
                self.file.counters.push((counter, register));
            }
            "isa" => self.section = self.instruction_set()?,
            _ => self.binding(keyword)?,
        }
        self.expect(";", &format!("at the end of the {keyword} definition"))
    }

    /// The name of an instruction set, or `any`.
    fn instruction_set(&mut self) -> Result<Option<Isa>, DiseError> {
        let name = self.name("the name of an instruction set, or `any`")?;
        if name.text == "any" {
            return Ok(None);
        }
        match Isa::from_name(&name.text) {
            Some(isa) => Ok(Some(isa)),
            None => {
                let known = Isa::ALL.map(Isa::name).into_iter().chain(["any"]);
                let help = "use riscv64, alpha or any";
                Err(self
                    .file
                    .source
                    .unknown(&name, "instruction set", known, help))
            }
        }
    }

    /// `const`, `param`, `init`: name and expression; `register`: name and register.
    fn binding(&mut self, keyword: &str) -> Result<(), DiseError> {
        let name = self.name(&format!("a name after `{keyword}`"))?;
        self.expect("=", "after the name")?;
        if keyword == "register" {
            let register = self.name("a DISE register, dr0 to dr15")?;
            let Some(number) = dise_register(&register.text) else {
                let message = format!("`{}` is not a DISE register", register.text);
                return Err(self
                    .file
                    .source
                    .error_help(register.at, message, "use dr0 to dr15"));
            };
            self.file.registers.push((name, number));
            return Ok(());
        }
        let value = self.expression()?;
        match keyword {
            "const" => self.file.consts.push((name, value)),
            "param" => self.file.params.push((name, value)),
            _ => self.file.inits.push((name, value)),
        }
        Ok(())
    }
}

/// The trigger's directive in a sequence, in both spellings of the papers.
pub(super) fn is_trigger(word: &str) -> bool {
    word.eq_ignore_ascii_case("T.INSN") || word.eq_ignore_ascii_case("T.INST")
}

/// A register `dr0` to `dr15` in the machine's numbering.
pub(super) fn dise_register(name: &str) -> Option<u8> {
    // DISE registers have these names in every instruction set.
    let register = Isa::Riscv64.parse_register(name)?;
    (reg::DISE..reg::DISE + reg::DISE_COUNT)
        .contains(&register)
        .then_some(register)
}

/// Splits `inc_3` into `("inc", 3)`.
pub(super) fn micro_name(word: &str) -> Option<(&str, u64)> {
    numbered(word, &["inc", "dec", "set"])
}

/// Splits `prefix_N` if the prefix is one of those given. Numbers that are too large stay large.
pub(super) fn numbered<'a>(word: &'a str, prefixes: &[&str]) -> Option<(&'a str, u64)> {
    let (prefix, digits) = word.split_once('_')?;
    let numeric = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    (numeric && prefixes.contains(&prefix)).then(|| (prefix, digits.parse().unwrap_or(u64::MAX)))
}

/// Splits assembly into lines at newlines and `;`, and takes labels off their fronts.
fn block_lines(source: &Source, block: &Token) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut at = block.start;
    for full in source.text[block.start..block.end].split('\n') {
        let code = full.split('#').next().unwrap_or("");
        let mut offset = at;
        for piece in code.split(';') {
            lines.extend(block_line(piece, offset));
            offset += piece.len() + 1;
        }
        at += full.len() + 1;
    }
    lines
}

fn block_line(piece: &str, mut at: usize) -> Option<Line> {
    let mut rest = piece;
    let mut labels = Vec::new();
    loop {
        let trimmed = rest.trim_start();
        at += rest.len() - trimmed.len();
        rest = trimmed;
        let Some((label, tail)) = rest.split_once(':') else {
            break;
        };
        let is_label = label.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_' || c == '.')
            && label
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '.');
        if !is_label {
            break;
        }
        labels.push(Name {
            text: label.to_owned(),
            at,
        });
        at += label.len() + 1;
        rest = tail;
    }
    let text = rest.trim_end().to_owned();
    (!labels.is_empty() || !text.is_empty()).then_some(Line { labels, text, at })
}
