//! Plain text for people: tables, numbers, wrapped lines, and writing it all to standard output.
//!
//! Names of functions, files and programs, and what programs print, come from strangers: on a terminal they could set its
//! title, clear it or pretend to be other lines. All text of the command goes through [`out`], [`print`] or `say!`, which
//! show control characters as escapes ([`harmless`]). Only what a program itself prints is passed on as it is
//! ([`pass_on`]).

use std::borrow::Cow;
use std::io::{self, Write};

pub use hps_experiments::grouped;

/// Whether a terminal acts on a character instead of showing it: controls but for line ends and tabs, and the characters
/// that turn the direction of text.
fn is_acted_on(c: char) -> bool {
    (c.is_control() && !matches!(c, '\n' | '\t'))
        || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn escaped(text: &str, is_escaped: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&is_escaped) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '\n' if is_escaped(c) => shown.push_str("\\n"),
            '\t' if is_escaped(c) => shown.push_str("\\t"),
            // JSON reads such an escape as the character that it stands for.
            c if is_escaped(c) => shown.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => shown.push(c),
        }
    }
    Cow::Owned(shown)
}

/// A text whose characters a terminal shows and never acts on; lines and tabs stay.
pub fn harmless(text: &str) -> Cow<'_, str> {
    escaped(text, is_acted_on)
}

/// A name on one line: [`harmless`], with line ends and tabs as `\n` and `\t`.
pub fn one_line(name: &str) -> Cow<'_, str> {
    escaped(name, |c| c.is_control() || is_acted_on(c))
}

/// Standard output for reports: what is written is [`harmless`].
pub fn out() -> Harmless<io::StdoutLock<'static>> {
    Harmless {
        to: io::stdout().lock(),
        kept: Vec::new(),
    }
}

/// A writer of [`harmless`] text.
pub struct Harmless<W: Write> {
    to: W,
    /// The beginning of a character whose rest has not been written.
    kept: Vec<u8>,
}

impl<W: Write> Write for Harmless<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut all = std::mem::take(&mut self.kept);
        all.extend_from_slice(bytes);
        let end = match std::str::from_utf8(&all) {
            Err(e) if e.error_len().is_none() => e.valid_up_to(),
            _ => all.len(),
        };
        self.kept = all.split_off(end);
        let text = String::from_utf8_lossy(&all);
        self.to.write_all(harmless(&text).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

/// Passes on what a program printed, byte for byte: its output is its user's.
pub fn pass_on(stdout: &[u8], stderr: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(stdout)?;
    out.flush()?;
    io::stderr().write_all(stderr)
}

/// On which side the cells of a column are filled up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// Text.
    Left,
    /// Numbers.
    Right,
}

/// A table with a header; columns are as wide as their widest cell.
#[derive(Clone, Debug)]
pub struct Table {
    columns: Vec<(String, Align)>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table without rows.
    pub fn new(columns: &[(&str, Align)]) -> Self {
        let columns = columns
            .iter()
            .map(|&(name, align)| (name.to_string(), align))
            .collect();
        Table {
            columns,
            rows: Vec::new(),
        }
    }

    /// Adds a column.
    pub fn column(&mut self, name: &str, align: Align) {
        self.columns.push((name.to_string(), align));
    }

    /// Adds a row; missing cells are empty. A cell is one line, whatever its text holds.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        let cells = cells.into_iter();
        self.rows
            .push(cells.map(|cell| one_line(&cell).into_owned()).collect());
    }

    /// The text, each line with its end. No line ends in blanks.
    pub fn render(&self) -> String {
        let header: Vec<String> = self.columns.iter().map(|(name, _)| name.clone()).collect();
        let mut widths: Vec<usize> = header.iter().map(|name| name.chars().count()).collect();
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.chars().count());
            }
        }
        let rule: Vec<String> = widths.iter().map(|&width| "-".repeat(width)).collect();
        let mut text = self.line(&header, &widths) + &self.line(&rule, &widths);
        for row in &self.rows {
            text += &self.line(row, &widths);
        }
        text
    }

    fn line(&self, cells: &[String], widths: &[usize]) -> String {
        let mut line = String::new();
        for ((cell, &width), (_, align)) in cells.iter().zip(widths).zip(&self.columns) {
            let fill = " ".repeat(width - cell.chars().count().min(width));
            match align {
                Align::Left => line += &format!("{cell}{fill}  "),
                Align::Right => line += &format!("{fill}{cell}  "),
            }
        }
        format!("{}\n", line.trim_end())
    }
}

/// `part / whole`, and 0 where there is no whole.
pub fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 {
        0.0
    } else {
        part as f64 / whole as f64
    }
}

/// Breaks a text between words so that no line is longer than `width` characters (longer words
/// stay whole). Every line but the first is preceded by `indent` blanks.
pub fn wrapped(text: &str, width: usize, indent: usize) -> String {
    let mut out = String::new();
    let mut used = 0;
    for word in text.split_whitespace() {
        let length = word.chars().count();
        if used > 0 && used + 1 + length > width {
            out.push('\n');
            out.push_str(&" ".repeat(indent));
            used = 0;
        } else if used > 0 {
            out.push(' ');
            used += 1;
        }
        out.push_str(word);
        used += length;
    }
    out
}

/// Writes to standard output.
pub fn print(text: &str) -> io::Result<()> {
    let mut out = out();
    out.write_all(text.as_bytes())?;
    out.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let mut table = Table::new(&[("name", Align::Left), ("n", Align::Right)]);
        table.row(["a".to_string(), "1,000".to_string()]);
        table.row(["longer".to_string()]);
        assert_eq!(
            table.render(),
            "name        n\n------  -----\na       1,000\nlonger\n"
        );
    }

    #[test]
    fn a_terminal_acts_on_nothing_that_is_shown() {
        let hostile = "\x1b]0;PWNED\x07\x1b[31mred\u{9b}2J\u{202e}\x7f";
        let shown = r"\u001b]0;PWNED\u0007\u001b[31mred\u009b2J\u202e\u007f";
        assert_eq!(harmless(hostile), shown);
        assert_eq!(harmless("a\n\tb é"), "a\n\tb é");
        assert_eq!(one_line("a\n\tb\r"), r"a\n\tb\u000d");
        let mut table = Table::new(&[("name", Align::Left)]);
        table.row(["x\ny\x1b".to_string()]);
        assert_eq!(table.render(), "name\n----------\nx\\ny\\u001b\n");
        // A character that comes in two pieces, and bytes that are no UTF-8.
        let mut written = Harmless {
            to: Vec::new(),
            kept: Vec::new(),
        };
        for piece in [&b"\xc3"[..], b"\xa9\xc2", b"\x9b\xff\x1b."] {
            written.write_all(piece).expect("memory");
        }
        assert_eq!(written.to, "é\\u009b\u{fffd}\\u001b.".as_bytes());
    }

    #[test]
    fn digits_are_grouped() {
        for (number, text) in [
            (0, "0"),
            (999, "999"),
            (1000, "1,000"),
            (1_234_567, "1,234,567"),
        ] {
            assert_eq!(grouped(number), text);
        }
    }

    #[test]
    fn long_text_is_broken_between_words() {
        assert_eq!(
            wrapped("one two three four", 9, 2),
            "one two\n  three\n  four"
        );
        assert_eq!(wrapped("immeasurable", 3, 0), "immeasurable");
    }
}
