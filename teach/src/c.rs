//! Programs in C: the host's cross compiler makes assembly text of them that names the line of C behind each instruction.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::{Read, Write as _};
use std::process::{Command, Stdio};

use hps_isa::asm::program::{self, ProgramError};
use hps_isa::isa::Isa;
use hps_isa::said;
use hps_isa::said::Said;
use hps_lab::host;

use crate::protocol::Problem;

/// Functions that every program has: `print` and `write`.
pub const RUNTIME: &str = include_str!("../web/c/runtime.s");

/// Functions that GCC calls by itself.
const MEMORY: &str = include_str!("../web/c/memory.s");

/// What comes before `main`.
const START: &str = "# Compiled from C: the number behind # is the line of C.
_start: call   main
        li     a7, 93
        ecall
";

/// Options of GCC: plain assembly text without what only a linker could resolve.
const OPTIONS: &[&str] = &[
    "-O1",
    "-g1",
    "-S",
    "-w",
    "-march=rv64gc",
    "-mabi=lp64d",
    "-mcmodel=medany",
    "-fno-pic",
    "-ffreestanding",
    "-fno-common",
    "-fno-asynchronous-unwind-tables",
    "-fno-stack-protector",
    "-fno-section-anchors",
    "-fno-tree-loop-distribute-patterns",
    "-fno-inline",
    "-fno-reorder-functions",
    "-msmall-data-limit=0",
    "-fmax-errors=1",
    "-fdiagnostics-color=never",
    "-fno-diagnostics-show-caret",
];

/// The compiler may use this much processor time, in seconds, and memory, in KiB.
const LIMITS: &str = "ulimit -t 10; ulimit -v 2097152; exec \"$@\"";
/// Most bytes of assembly text, and of messages.
const MOST_BYTES: u64 = 4 << 20;

fn problem(message: impl Into<Said>, line: usize, column: usize) -> Problem {
    let place = |number: usize| (number > 0).then_some(number as u64);
    Problem {
        line: place(line),
        column: place(column),
        ..Problem::new(message.into()).at("c")
    }
}

/// Assembly text of a program in C, with the functions that it may call.
///
/// # Errors
/// The compiler is missing or refuses the program, or the program needs what is not there. The place is `c`.
pub fn compile(c: &str) -> Result<String, Problem> {
    let text = translate(c)? + RUNTIME;
    program::assemble(Isa::Riscv64, &text)
        .map(|_| ())
        .map_err(|error| refused(&text, &error))?;
    Ok(text)
}

/// Assembly text of a program in C, without [`RUNTIME`].
///
/// # Errors
/// The errors of [`compile`].
pub fn translate(c: &str) -> Result<String, Problem> {
    let cleaned = Cleaned::of(&compiled(c)?);
    let labels: BTreeSet<&str> = cleaned.labels().collect();
    if !labels.contains("main") {
        return Err(problem("there is no function `main`", 0, 0));
    }
    let own = RUNTIME.lines().filter_map(label);
    if let Some(name) = own.chain(["_start"]).find(|name| labels.contains(name)) {
        let said = format!("`{name}` is there already: give it another name");
        return Err(problem(said, 0, 0));
    }
    let mut text = format!("{START}{}", cleaned.text());
    let needs = |name: &str| text.contains(&format!(" {name}")) && !labels.contains(name);
    if ["memset", "memcpy", "memmove"].into_iter().any(needs) {
        text += "        .text\n";
        text += MEMORY;
    }
    Ok(text)
}

/// What GCC makes of a program.
fn compiled(c: &str) -> Result<String, Problem> {
    let name = host::cross_compiler_name(Isa::Riscv64);
    let compiler = host::find(&[&name]).ok_or_else(|| {
        let said = format!("{name} is not here; install Debian's gcc-riscv64-linux-gnu");
        problem(said, 0, 0)
    })?;
    let fails = |error: std::io::Error| problem(format!("{name} cannot be run: {error}"), 0, 0);
    let mut child = Command::new("sh")
        .args(["-c", LIMITS, "sh"])
        .arg(&compiler)
        .args(OPTIONS)
        .args(["-o", "-", "-x", "c", "-"])
        .env("LC_ALL", "C")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(fails)?;
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let (text, said) = std::thread::scope(|scope| {
        // A compiler that ends early does not read all.
        scope.spawn(move || stdin.map(|mut pipe| pipe.write_all(c.as_bytes())));
        let said = scope.spawn(move || read(stderr));
        (read(stdout), said.join().unwrap_or_default())
    });
    let status = child.wait().map_err(fails)?;
    if text.len() as u64 > MOST_BYTES {
        return Err(problem(
            "the program becomes more than 4 MiB of assembly",
            0,
            0,
        ));
    }
    match status.success() {
        true => Ok(text),
        false => Err(first_error(&said)),
    }
}

/// Reads up to one byte more than is allowed. A writer of more is ended by its closed pipe.
fn read(pipe: Option<impl Read>) -> String {
    let mut bytes = Vec::new();
    if let Some(pipe) = pipe {
        // An error ends the text, and the status of the compiler says why.
        let _ = pipe.take(MOST_BYTES + 1).read_to_end(&mut bytes);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The first error among messages of GCC: `<stdin>:LINE:COLUMN: error: MESSAGE`.
fn first_error(said: &str) -> Problem {
    if said.contains("signal terminated program") || said.contains("out of memory") {
        let limits =
            said!("the compiler takes more than 10 seconds of processor time or 2 GiB of memory");
        return problem(limits, 0, 0);
    }
    for line in said.lines() {
        let Some((place, message)) = line.split_once("error: ") else {
            continue;
        };
        let mut numbers = place.strip_prefix("<stdin>:").unwrap_or("").split(':');
        let mut number = || numbers.next()?.trim().parse().ok();
        let (line, column) = (number().unwrap_or(0), number().unwrap_or(0));
        return problem(message, line, column);
    }
    problem(said.trim(), 0, 0)
}

/// The line of C behind the `#` of a line of assembly; 0 if it names none.
fn line_of_c(assembly: &str) -> usize {
    let number = assembly.rsplit_once("# ").map(|(_, number)| number);
    number.and_then(|number| number.parse().ok()).unwrap_or(0)
}

/// The program needs what the assembler does not know: a function that is not there, most often.
fn refused(text: &str, error: &ProgramError) -> Problem {
    let line = text.lines().nth(error.line.wrapping_sub(1)).unwrap_or("");
    let statement = line.split('#').next().unwrap_or("").trim();
    let message = match statement.split_once(' ') {
        Some(("call" | "tail", name)) => said!(
            "there is no function `{name}`: a program has its own functions, `void print(long)` and \
             `long write(long file, const char *text, long length)`",
            name = name.trim()
        ),
        _ => said!(
            "`{statement}`, which GCC makes of it, is refused: {message}",
            statement = statement,
            message = error.message
        ),
    };
    problem(message, line_of_c(line), 0)
}

/// The label of a line of assembly text.
fn label(line: &str) -> Option<&str> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || "_.$".contains(c);
    let (name, _) = line.split_once(':')?;
    (!name.is_empty() && name.chars().all(is_name)).then_some(name)
}

/// A line of cleaned assembly.
enum Line {
    Label(String),
    /// A directive.
    Data(String),
    Instruction {
        text: String,
        line: usize,
    },
}

/// GCC's assembly without what only an assembler of object files needs.
struct Cleaned(Vec<Line>);

impl Cleaned {
    fn of(text: &str) -> Cleaned {
        let mut reading = Reading {
            lines: Vec::new(),
            used: BTreeSet::new(),
            common: Vec::new(),
            files: BTreeSet::new(),
            line: 0,
            keeps: true,
        };
        for line in text.lines() {
            reading.take(line.trim());
        }
        let Reading {
            mut lines,
            used,
            common,
            ..
        } = reading;
        if !common.is_empty() {
            lines.push(Line::Data(".data".to_owned()));
            lines.extend(common);
        }
        lines.retain(|line| match line {
            Line::Label(name) => !name.starts_with(".L") || used.contains(name),
            _ => true,
        });
        Cleaned(lines)
    }

    fn labels(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|line| match line {
            Line::Label(name) => Some(name.as_str()),
            _ => None,
        })
    }

    fn text(&self) -> String {
        let mut out = String::new();
        for line in &self.0 {
            // Writing into a text does not fail.
            let _ = match line {
                Line::Label(name) => writeln!(out, "{}:", renamed(name)),
                Line::Data(text) => writeln!(out, "        {text}"),
                Line::Instruction { text, line: 0 } => writeln!(out, "        {text}"),
                Line::Instruction { text, line } => {
                    let text = format!("        {text}");
                    writeln!(out, "{text:<40} # {line}")
                }
            };
        }
        out
    }
}

/// What is known on the way through GCC's text.
struct Reading {
    lines: Vec<Line>,
    /// Labels of GCC that something names.
    used: BTreeSet<String>,
    /// Data of `.comm`, which belong behind everything else.
    common: Vec<Line>,
    /// Numbers of the program's own text among the files.
    files: BTreeSet<String>,
    line: usize,
    keeps: bool,
}

impl Reading {
    fn take(&mut self, text: &str) {
        let (first, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        let rest = rest.trim();
        match first {
            ".file" => {
                let (number, names) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
                if names.ends_with("\"<stdin>\"") {
                    self.files.insert(number.to_owned());
                }
            }
            ".loc" => {
                let mut words = rest.split_whitespace();
                let is_own = words.next().is_some_and(|file| self.files.contains(file));
                let line = words.next().and_then(|line| line.parse().ok());
                self.line = line.filter(|_| is_own).unwrap_or(0);
            }
            ".section" | ".text" | ".data" | ".bss" => {
                self.keeps = !rest.contains("debug") && !rest.contains("note");
                let is_code = first == ".text" || rest.contains("text");
                if self.keeps {
                    let section = if is_code { ".text" } else { ".data" };
                    self.lines.push(Line::Data(section.to_owned()));
                }
            }
            _ if !self.keeps => {}
            ".comm" => self.take_common(rest),
            ".string" | ".ascii" | ".asciz" => {
                self.lines.push(Line::Data(format!("{first} {rest}")));
            }
            ".zero" | ".byte" | ".half" | ".word" | ".dword" | ".2byte" | ".4byte" | ".8byte"
            | ".quad" | ".align" | ".globl" => {
                let rest = self.named(rest);
                self.lines.push(Line::Data(format!("{first} {rest}")));
            }
            _ => match label(text).filter(|name| text.len() == name.len() + 1) {
                Some(name) => self.lines.push(Line::Label(name.to_owned())),
                None if first.is_empty() || first.starts_with(['.', '#']) => {}
                None => text
                    .split(';')
                    .for_each(|one| self.take_instruction(one.trim())),
            },
        }
    }

    /// Room of a variable: its name, bytes, and alignment in bytes.
    fn take_common(&mut self, rest: &str) {
        let mut parts = rest.split(',');
        let mut next = || parts.next().unwrap_or("").trim();
        let (name, bytes, alignment) = (next(), next(), next());
        if !alignment.is_empty() {
            self.common.push(Line::Data(format!(".balign {alignment}")));
        }
        self.common.push(Line::Label(name.to_owned()));
        self.common.push(Line::Data(format!(".zero {bytes}")));
    }

    /// An instruction. Where it names a symbol as memory, the symbol's address comes first.
    fn take_instruction(&mut self, text: &str) {
        let (name, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        let rest = self.named(rest.trim());
        let operands: Vec<&str> = rest.split(',').map(str::trim).collect();
        let size = name.strip_prefix('f').unwrap_or(name);
        let size = size.strip_suffix('u').unwrap_or(size);
        let is_access = matches!(size, "lb" | "lh" | "lw" | "ld" | "sb" | "sh" | "sw" | "sd");
        let mut push = |name: &str, operands: &[&str]| {
            let text = format!("{name:<6} {}", operands.join(", "));
            let (text, line) = (text.trim_end().to_owned(), self.line);
            self.lines.push(Line::Instruction { text, line });
        };
        match operands[..] {
            _ if name == "lla" => push("la", &operands),
            [register, symbol] if is_access && !symbol.contains('(') => {
                push("la", &[register, symbol]);
                push(name, &[register, &format!("0({register})")]);
            }
            [register, symbol, address] if is_access => {
                push("la", &[address, symbol]);
                push(name, &[register, &format!("0({address})")]);
            }
            _ => push(name, &operands),
        }
    }

    /// Operands with names that stand in a program that somebody writes, too.
    fn named(&mut self, operands: &str) -> String {
        let is_name = |c: char| c.is_ascii_alphanumeric() || "_.$".contains(c);
        let mut out = String::new();
        let mut rest = operands;
        while let Some(first) = rest.chars().next() {
            let end = rest.find(|c| !is_name(c)).unwrap_or(rest.len());
            let length = end.max(first.len_utf8());
            let (token, behind) = rest.split_at(length);
            if token.starts_with(".L") {
                self.used.insert(token.to_owned());
            }
            out += &renamed(token);
            rest = behind;
        }
        out
    }
}

/// A name of GCC, `.L5` or `count.0`, as a plain name.
fn renamed(name: &str) -> String {
    let name = name
        .strip_prefix('.')
        .filter(|rest| rest.starts_with('L'))
        .unwrap_or(name);
    match name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        true => name.replace('.', "_"),
        false => name.to_owned(),
    }
}
