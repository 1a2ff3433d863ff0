//! Assembly text of many lines to a program: a static ELF file in memory.
//!
//! A line has labels (`name:`), then an instruction or a directive, then a comment (`#` or `//`).
//!
//! | directive | meaning |
//! | --- | --- |
//! | `.text`, `.data` | what follows is code, or data |
//! | `.byte` `.half` `.word` `.dword` (`.quad`) `v, ...` | values, also labels, in data |
//! | `.zero n` (`.space n`) | zeros in data |
//! | `.ascii "..."`, `.asciz "..."` (`.string`) | text in data |
//! | `.balign n` | the next multiple of `n` bytes; code is filled with `nop` |
//! | `.equ NAME, v` | a name for a number |
//! | `.globl NAME` | the label begins a function |
//! | `.rept n` ... `.endr` | the lines between them, `n` times |
//! | `.macro NAME p1, p2=default` ... `.endm` | a line `NAME a, b` stands for the lines between them |
//!
//! In the lines of a macro `\p1` is an argument, `\@` the number of macros used before, and `\()` ends a name. An
//! argument has its place or the name of its parameter (`NAME p2=b, p1=a`); one that is left out is the default. Quotes
//! around it keep its blanks and commas.
//!
//! Lines that are repeated or come of macros keep the number of the line that was written. At most 64 of `.rept` and
//! macros lie inside of each other, and at most 1,048,576 lines and 64 MiB of text come of them.
//!
//! `li rd, value` takes any value and `la rd, label` any label, in every instruction set. Execution begins at
//! `_start`, or at the first instruction. Labels that `.globl` names are functions; without any, the whole code is the
//! function `_start`.

mod data;
mod elf;
mod expand;

use std::borrow::Cow;
use std::collections::BTreeMap;

use expand::{Line, Place};

use crate::asm::OperandHook;
use crate::isa::Isa;
use crate::said;
use crate::said::Said;

/// Where code begins.
pub const CODE: u64 = 0x1_0000;
/// Where data begins.
pub const DATA: u64 = 0x100_0000;
/// Most bytes of code, and of data.
const MOST_BYTES: u64 = 1 << 22;

/// Error in a program's text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {message}")]
pub struct ProgramError {
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1, in bytes.
    pub column: usize,
    /// Description of the error, with what would be right.
    pub message: Said,
}

/// A program that was assembled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AssembledProgram {
    /// An executable file.
    pub file: Vec<u8>,
    /// The line, from 1, of each instruction, in ascending order of address. An instruction of a macro has the line of
    /// the macro's body.
    pub lines: Vec<(u64, usize)>,
    /// Labels, and names for numbers.
    pub names: BTreeMap<String, i64>,
}

/// Assembles a program.
///
/// # Errors
/// The first line that is wrong.
pub fn assemble(isa: Isa, text: &str) -> Result<AssembledProgram, ProgramError> {
    let mut program = Builder::new(isa);
    expand::expand(&mut program, text)?;
    program.finish()
}

/// A statement that takes space, and where its text begins.
struct Statement<'a> {
    place: Place,
    column: usize,
    text: Cow<'a, str>,
    /// The bytes at the beginning of its line that are as they were written.
    written: usize,
    address: u64,
    /// Instructions, if it is code.
    instructions: u64,
}

impl<'a> Statement<'a> {
    fn new(line: &Line<'a>, from: usize, to: usize) -> Self {
        Statement {
            place: line.place.clone(),
            column: from,
            text: line.part(from, to),
            written: line.written,
            address: 0,
            instructions: 0,
        }
    }

    fn error(&self, column: usize, message: impl Into<Said>) -> ProgramError {
        self.place
            .error((self.column + column).min(self.written), message)
    }
}

struct Builder<'a> {
    isa: Isa,
    in_data: bool,
    code_end: u64,
    data_end: u64,
    statements: Vec<Statement<'a>>,
    names: BTreeMap<String, i64>,
    functions: Vec<(Place, String)>,
}

impl<'a> Builder<'a> {
    fn new(isa: Isa) -> Self {
        Builder {
            isa,
            in_data: false,
            code_end: CODE,
            data_end: DATA,
            statements: Vec::new(),
            names: BTreeMap::new(),
            functions: Vec::new(),
        }
    }

    /// Places what a line says.
    fn line(&mut self, line: &Line<'a>) -> Result<(), ProgramError> {
        let whole: &str = &line.text;
        let mut text = without_comment(whole);
        while let Some((label, rest)) = label(text) {
            let column = offset(whole, text).min(line.written);
            let at = if self.in_data {
                self.data_end
            } else {
                self.code_end
            };
            self.define(&line.place, column, label, at as i64)?;
            text = rest;
        }
        let body = text.trim();
        if body.is_empty() {
            return Ok(());
        }
        let begin = offset(whole, body);
        let statement = Statement::new(line, begin, begin + body.len());
        let (word, rest) = split_word(body);
        match word {
            ".text" => self.in_data = false,
            ".data" | ".bss" | ".rodata" => self.in_data = true,
            ".section" => self.in_data = !rest.contains("text"),
            ".globl" | ".global" => self.functions.push((line.place.clone(), rest.to_owned())),
            ".equ" | ".set" => {
                let (name, value) = rest
                    .split_once(',')
                    .ok_or_else(|| statement.error(0, said!("write `.equ NAME, value`")))?;
                let value = self.number(&statement, value.trim())?;
                self.define(&line.place, begin.min(line.written), name.trim(), value)?;
            }
            ".balign" | ".align" | ".p2align" => self.align(statement)?,
            _ if self.in_data => self.place_data(statement)?,
            _ if word.starts_with('.') => {
                return Err(
                    statement.error(0, said!("`{name}` is no directive of code", name = word))
                );
            }
            _ => self.place_code(statement)?,
        }
        Ok(())
    }

    fn define(
        &mut self,
        place: &Place,
        column: usize,
        name: &str,
        value: i64,
    ) -> Result<(), ProgramError> {
        match self.names.insert(name.to_owned(), value) {
            None => Ok(()),
            Some(_) => Err(place.error(column, said!("`{name}` is defined twice", name = name))),
        }
    }

    fn align(&mut self, mut statement: Statement<'a>) -> Result<(), ProgramError> {
        let (word, rest) = split_word(&statement.text);
        let number = self.number(&statement, rest)?;
        // GNU's `.align` counts bits on these machines.
        let to = match word {
            ".balign" => u64::try_from(number).ok(),
            _ => u32::try_from(number)
                .ok()
                .and_then(|bits| 1u64.checked_shl(bits)),
        };
        let to = to.filter(|to| to.is_power_of_two() && *to <= 1 << 16);
        let to = to.ok_or_else(|| {
            statement.error(0, said!("an alignment is a power of two up to 64 KiB"))
        })?;
        if self.in_data {
            self.data_end = self.data_end.next_multiple_of(to);
        } else {
            statement.instructions = (self.code_end.next_multiple_of(to) - self.code_end) / 4;
            statement.address = self.code_end;
            self.code_end += 4 * statement.instructions;
            self.statements.push(statement);
        }
        Ok(())
    }

    fn place_code(&mut self, mut statement: Statement<'a>) -> Result<(), ProgramError> {
        statement.address = self.code_end;
        statement.instructions = match split_word(&statement.text) {
            ("li", operands) => {
                let value = operands.split_once(',').map(|(_, value)| value.trim());
                let value =
                    value.ok_or_else(|| statement.error(0, said!("write `li register, value`")))?;
                let value = self.number(&statement, value)?;
                load_value(self.isa, "zero", value).len() as u64
            }
            ("la", _) => 2,
            _ => 1,
        };
        self.code_end += 4 * statement.instructions;
        if self.code_end - CODE > MOST_BYTES {
            return Err(statement.error(0, said!("the code is larger than 4 MiB")));
        }
        self.statements.push(statement);
        Ok(())
    }

    fn place_data(&mut self, mut statement: Statement<'a>) -> Result<(), ProgramError> {
        statement.address = self.data_end;
        let bytes = data::size(&statement, |text| self.number(&statement, text))?;
        self.data_end += bytes;
        if self.data_end - DATA > MOST_BYTES {
            return Err(statement.error(0, said!("the data are larger than 4 MiB")));
        }
        self.statements.push(statement);
        Ok(())
    }

    /// The value of a number, or of a name that is known already.
    fn number(&self, statement: &Statement<'_>, text: &str) -> Result<i64, ProgramError> {
        data::value(text, &self.names).ok_or_else(|| {
            let column = statement.text.find(text).unwrap_or(0);
            statement.error(
                column,
                said!(
                    "`{name}` is neither a number nor a name that is defined above",
                    name = text
                ),
            )
        })
    }

    /// Assembles what was placed: all labels are known.
    fn finish(self) -> Result<AssembledProgram, ProgramError> {
        let mut code = Vec::new();
        let mut data = vec![0; (self.data_end - DATA) as usize];
        let mut lines = Vec::new();
        for statement in &self.statements {
            if statement.address >= DATA {
                let at = (statement.address - DATA) as usize;
                data::write(statement, &self.names, &mut data[at..])?;
                continue;
            }
            for at in 0..statement.instructions {
                lines.push((statement.address + 4 * at, statement.place.number));
            }
            self.encode(statement, &mut code)?;
        }
        if code.is_empty() {
            return Err(ProgramError {
                line: 1,
                column: 1,
                message: said!("there is no instruction"),
            });
        }
        let entry = self.names.get("_start").map_or(CODE, |&at| at as u64);
        if !(CODE..self.code_end).contains(&entry) {
            return Err(ProgramError {
                line: 1,
                column: 1,
                message: said!("`_start` is no instruction"),
            });
        }
        let mut functions = vec![("_start".to_owned(), entry)];
        for (place, name) in &self.functions {
            match self.names.get(name) {
                Some(&at) if (CODE as i64..self.code_end as i64).contains(&at) => {
                    functions.push((name.clone(), at as u64));
                }
                Some(_) => {}
                None => return Err(place.error(0, said!("`{name}` is no label", name = name))),
            }
        }
        let file = elf::write(self.isa, entry, &code, &data, &functions);
        Ok(AssembledProgram {
            file,
            lines,
            names: self.names,
        })
    }

    fn encode(&self, statement: &Statement<'_>, code: &mut Vec<u8>) -> Result<(), ProgramError> {
        let (word, rest) = split_word(&statement.text);
        let all = match word {
            ".balign" | ".align" | ".p2align" => {
                vec!["nop".to_owned(); statement.instructions as usize]
            }
            "li" | "la" => {
                let (register, value) = rest.split_once(',').ok_or_else(|| {
                    statement.error(0, said!("write `{name} register, value`", name = word))
                })?;
                let value = self.number(statement, value.trim())?;
                match word {
                    "li" => load_value(self.isa, register.trim(), value),
                    _ => load_address(self.isa, register.trim(), value),
                }
            }
            _ => vec![statement.text.clone().into_owned()],
        };
        for (at, text) in all.iter().enumerate() {
            let pc = statement.address + 4 * at as u64;
            let inst = self
                .isa
                .assemble(text, pc, &Names(&self.names))
                .map_err(|e| statement.error(e.column, e.message))?;
            let word = self
                .isa
                .encode(&inst)
                .ok_or_else(|| statement.error(0, said!("this instruction has no encoding")))?;
            code.extend_from_slice(&word.to_le_bytes());
        }
        Ok(())
    }
}

struct Names<'a>(&'a BTreeMap<String, i64>);

impl OperandHook for Names<'_> {
    fn register(&self, _: &str) -> Option<u8> {
        None
    }

    fn immediate(&self, token: &str) -> Option<i64> {
        self.0.get(token).copied()
    }
}

/// Where a part of a text begins in it.
fn offset(whole: &str, part: &str) -> usize {
    part.as_ptr().addr() - whole.as_ptr().addr()
}

fn split_word(text: &str) -> (&str, &str) {
    let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    (word, rest.trim())
}

/// The text before a comment. Marks of comments inside quotes are text.
fn without_comment(line: &str) -> &str {
    let mut quoted = false;
    let mut before = ' ';
    for (at, c) in line.char_indices() {
        match c {
            '"' if before != '\\' => quoted = !quoted,
            '#' if !quoted => return &line[..at],
            '/' if !quoted && before == '/' => return &line[..at - 1],
            _ => {}
        }
        before = c;
    }
    line
}

/// A label at the beginning, and what follows it.
fn label(text: &str) -> Option<(&str, &str)> {
    let (name, rest) = text.split_once(':')?;
    let name = name.trim();
    let is_name = |c: char| c.is_ascii_alphanumeric() || "_.$".contains(c);
    (!name.is_empty() && name.chars().all(is_name)).then_some((name, rest))
}

/// Instructions that put a value into a register.
fn load_value(isa: Isa, register: &str, value: i64) -> Vec<String> {
    match isa {
        Isa::Riscv64 => load_riscv(register, value),
        Isa::Alpha => {
            let constant = crate::alpha::asm::constant(1, value);
            let all = constant.iter().map(|inst| isa.disassemble(inst, 0));
            let own = isa.register_name(1);
            all.map(|text| replace_register(&text, own, register))
                .collect()
        }
    }
}

/// Replaces a register's name where it stands alone.
fn replace_register(text: &str, from: &str, to: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(from) {
        let end = at + from.len();
        let alone = |c: Option<char>| c.is_none_or(|c| !c.is_ascii_alphanumeric());
        let is_alone = alone(rest[..at].chars().next_back()) && alone(rest[end..].chars().next());
        out.push_str(&rest[..at]);
        out.push_str(if is_alone { to } else { from });
        rest = &rest[end..];
    }
    out + rest
}

fn load_riscv(register: &str, value: i64) -> Vec<String> {
    let low = value << 52 >> 52;
    if value == low {
        return vec![format!("addi {register}, zero, {value}")];
    }
    if i64::from(value as i32) == value {
        let upper = (value.wrapping_add(0x800) >> 12) & 0xf_ffff;
        let mut all = vec![format!("lui {register}, {upper}")];
        if low != 0 {
            all.push(format!("addiw {register}, {register}, {low}"));
        }
        return all;
    }
    let mut all = load_riscv(register, value.wrapping_sub(low) >> 12);
    all.push(format!("slli {register}, {register}, 12"));
    if low != 0 {
        all.push(format!("addi {register}, {register}, {low}"));
    }
    all
}

/// Two instructions that put an address below 2 GiB into a register.
fn load_address(isa: Isa, register: &str, address: i64) -> Vec<String> {
    match isa {
        Isa::Riscv64 => {
            let low = address << 52 >> 52;
            vec![
                format!("lui {register}, {}", (address - low) >> 12),
                format!("addi {register}, {register}, {low}"),
            ]
        }
        Isa::Alpha => {
            let low = i64::from(address as i16);
            vec![
                format!("ldah {register}, {}(zero)", (address - low) >> 16),
                format!("lda {register}, {low}({register})"),
            ]
        }
    }
}
