//! Errors in a machine description, with their place and the remedy.

use super::locate::{LineColumn, line_column, locate};
use super::sections::MachineConfig;
use hps_isa::asm::edit_distance;
use std::fmt;
use thiserror::Error;

/// A value that no machine can have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Path of the key, e.g. `window.rob_entries`.
    pub path: String,
    /// Description of the error and of the allowed values.
    pub message: String,
}

/// A [`Violation`] with its place in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Located {
    /// File, or preset.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// The violation.
    pub violation: Violation,
    /// The file does not give the key; it has it from its base, and the place is that of the
    /// section around it.
    pub inherited: bool,
}

impl fmt::Display for Located {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Located {
            file, line, column, ..
        } = self;
        let Violation { path, message } = &self.violation;
        write!(f, "{file}:{line}:{column}: `{path}` {message}")?;
        if self.inherited {
            write!(f, " (the value comes from the base)")?;
        }
        Ok(())
    }
}

/// Why a machine description was refused.
#[derive(Debug, Error)]
pub enum ConfigError {
    /// Not RON, not a key, or not a value of the key's type.
    #[error("{file}:{line}:{column}: {message}")]
    Syntax {
        /// File, or preset.
        file: String,
        /// Line, from 1.
        line: usize,
        /// Column, from 1.
        column: usize,
        /// Description of the error, and the remedy.
        message: String,
    },
    /// Values that no machine can have.
    #[error("{}", lines(.0))]
    Impossible(Vec<Located>),
    /// There is no preset of this name.
    #[error("there is no machine `{name}`; there are: {known}")]
    UnknownPreset {
        /// The name asked for.
        name: String,
        /// All names.
        known: String,
    },
    /// The file cannot be read.
    #[error("cannot read the machine description `{file}`: {source}")]
    Unreadable {
        /// The file.
        file: String,
        /// Why.
        source: std::io::Error,
    },
}

fn lines(all: &[Located]) -> String {
    let texts: Vec<String> = all.iter().map(ToString::to_string).collect();
    texts.join("\n")
}

/// Gives violations their places in `text`.
pub(super) fn place_in(text: &str, file: &str, violations: Vec<Violation>) -> ConfigError {
    let located = violations
        .into_iter()
        .map(|violation| {
            let (LineColumn { line, column }, exact) = locate(text, &violation.path);
            Located {
                file: file.to_string(),
                line,
                column,
                violation,
                inherited: !exact,
            }
        })
        .collect();
    ConfigError::Impossible(located)
}

/// Turns a parser's error into ours: the place of the key and the nearest valid one.
pub(super) fn syntax(text: &str, file: &str, error: &ron::error::SpannedError) -> ConfigError {
    let end = &error.span.end;
    let mut place = LineColumn {
        line: end.line,
        column: end.col,
    };
    let message = match &error.code {
        ron::Error::NoSuchStructField {
            expected, found, ..
        } => {
            place = word_before(text, place, found);
            unknown("key", found, expected) + &elsewhere(found)
        }
        ron::Error::NoSuchEnumVariant {
            expected, found, ..
        } => {
            place = word_before(text, place, found);
            unknown("value", found, expected)
        }
        other @ (ron::Error::ExpectedStructLike | ron::Error::ExpectedNamedStructLike(_)) => {
            match variant_before(text, &place) {
                Some(name) => {
                    place = word_before(text, place, name);
                    format!(
                        "`{name}` has keys of its own: write `{name}()`, or name some of them in the parentheses"
                    )
                }
                None => other.to_string(),
            }
        }
        other => other.to_string(),
    };
    ConfigError::Syntax {
        file: file.to_string(),
        line: place.line,
        column: place.column,
        message,
    }
}

/// The name of a variant that stands in front of a place, behind which the parser wanted something.
fn variant_before<'a>(text: &'a str, end: &LineColumn) -> Option<&'a str> {
    let line = text.lines().nth(end.line.checked_sub(1)?)?;
    let to = line.char_indices().nth(end.column.checked_sub(1)?);
    let before = line[..to.map_or(line.len(), |(offset, _)| offset)].trim_end();
    let is_of_word = |c: char| c.is_alphanumeric() || c == '_';
    let name = &before[before.rfind(|c| !is_of_word(c)).map_or(0, |at| at + 1)..];
    name.starts_with(|c: char| c.is_uppercase()).then_some(name)
}

/// The parser stops behind the word it does not know: the place of that word.
fn word_before(text: &str, end: LineColumn, word: &str) -> LineColumn {
    let line_start: usize = text
        .split_inclusive('\n')
        .take(end.line - 1)
        .map(str::len)
        .sum();
    let line_end = text[line_start..]
        .char_indices()
        .nth(end.column + word.chars().count())
        .map_or(text.len(), |(offset, _)| line_start + offset);
    text[..line_end]
        .rfind(word)
        .map_or(end, |offset| line_column(text, offset))
}

fn unknown(what: &str, found: &str, expected: &[&str]) -> String {
    let nearest = expected
        .iter()
        .min_by_key(|name| edit_distance(name, found))
        .map_or(String::new(), |name| format!(" did you mean `{name}`?"));
    format!(
        "there is no {what} `{found}` here;{nearest} Allowed: {}",
        expected.join(", ")
    )
}

/// Names the sections that do have the key.
fn elsewhere(found: &str) -> String {
    let homes: Vec<String> = MachineConfig::keys()
        .into_iter()
        .filter(|key| key.path.rsplit('.').next() == Some(found))
        .map(|key| format!("`{}`", key.path))
        .collect();
    if homes.is_empty() {
        String::new()
    } else {
        format!(" (there is {})", homes.join(", "))
    }
}
