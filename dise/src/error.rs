//! Everything that can be wrong with a production set or an engine.

use std::fmt;

use hps_isa::isa::Isa;
use thiserror::Error;

/// Why productions cannot be loaded.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum DiseError {
    /// The text of a production file is wrong.
    #[error("{0}")]
    Text(Box<Diagnostic>),
    /// A parameter is overridden that no file declares.
    #[error("there is no parameter `{name}`; declared parameters: {known}")]
    UnknownParam {
        /// The parameter.
        name: String,
        /// The declared ones.
        known: String,
    },
    /// Sets to be merged give a parameter different values.
    #[error(
        "parameter `{name}` is {first} in one set and {second} in another; load both with the same value"
    )]
    MergedParam {
        /// The parameter.
        name: String,
        /// Value in an earlier set.
        first: i64,
        /// Value in a later set.
        second: i64,
    },
    /// Sets to be merged were loaded at different addresses.
    #[error(
        "one set has its handlers at {first:#x}, another at {second:#x}; load both with the same base"
    )]
    MergedBase {
        /// Address in an earlier set.
        first: u64,
        /// Address in a later one.
        second: u64,
    },
    /// Merged sets are for different instruction sets.
    #[error("one set is for {first}, another for {second}; load both for the same instruction set")]
    MergedIsa {
        /// Instruction set of an earlier set.
        first: Isa,
        /// That of a later one.
        second: Isa,
    },
    /// Handlers cannot lie there.
    #[error("handlers cannot lie at {base:#x}; use a multiple of 4096 below 2^48")]
    HandlerBase {
        /// The address.
        base: u64,
    },
    /// A configuration value is out of range.
    #[error("DISE configuration: {field} is {value}, but must be between {least} and {most}")]
    Config {
        /// Name of the field.
        field: &'static str,
        /// Value of the field.
        value: usize,
        /// Least allowed value.
        least: usize,
        /// Largest allowed value.
        most: usize,
    },
    /// More patterns than a mask has bits.
    #[error(
        "the productions need {needed} pattern entries, but at most {most} are supported; \
         use fewer productions, or patterns with fewer alternatives"
    )]
    TooManyPatterns {
        /// Entries that the set needs.
        needed: usize,
        /// Entries that are supported.
        most: usize,
    },
    /// A counter beyond the configured number.
    #[error(
        "{production} uses counter {counter}, but the engine has {counters} (numbered from 0); \
         raise `counters` in the DISE configuration"
    )]
    NoSuchCounter {
        /// The production, or the place, that uses it.
        production: String,
        /// The counter.
        counter: u8,
        /// How many there are.
        counters: usize,
    },
    /// `set_N` or an initial value names a register that is not a DISE register.
    #[error("{place}: register number {register} is not a DISE register")]
    NotADiseRegister {
        /// Where.
        place: String,
        /// The register in the machine's numbering.
        register: u8,
    },
    /// A replacement sequence is empty or too long.
    #[error(
        "the replacement sequence of {production} has {len} instructions; \
         it must have between 1 and {most} (replacement-table entries, and at most 255)"
    )]
    SequenceLength {
        /// The production.
        production: String,
        /// Length of its sequence.
        len: usize,
        /// Longest allowed.
        most: usize,
    },
    /// A list of microinstructions is longer than the conditionals table.
    #[error(
        "the conditional control of {production} has {len} microinstructions, but the conditionals table has \
         {entries} entries; use fewer, or raise `ct_entries` in the DISE configuration"
    )]
    ControlLength {
        /// The production.
        production: String,
        /// Microinstructions in its list.
        len: usize,
        /// Entries of the table.
        entries: usize,
    },
    /// A DISE branch leaves its sequence.
    #[error(
        "instruction {index} of the replacement sequence of {production} branches to {target}, \
         but the sequence has {len} instructions"
    )]
    BranchTarget {
        /// The production.
        production: String,
        /// Position of the branch.
        index: usize,
        /// Target of the branch.
        target: i64,
        /// Length of the sequence.
        len: usize,
    },
}

/// A message about a place in a production file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// File name as given to the parser.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// The line of the source.
    pub source_line: String,
    /// Description of the problem.
    pub message: String,
    /// Proposed remedy.
    pub help: Option<String>,
}

/// Characters of a line of the source that are shown at most.
const SHOWN_CHARACTERS: usize = 160;

impl Diagnostic {
    /// The part of the line of the source that is shown: all of it, or what is around the place; and the place in it, from 0.
    fn shown(&self) -> (String, usize) {
        let line: Vec<char> = self.source_line.chars().collect();
        let at = self.column.saturating_sub(1);
        if line.len() <= SHOWN_CHARACTERS {
            return (line.into_iter().collect(), at);
        }
        let last = line.len() - SHOWN_CHARACTERS;
        let start = at.saturating_sub(SHOWN_CHARACTERS / 2).min(last);
        let end = start + SHOWN_CHARACTERS;
        let cut = |is_cut| if is_cut { "…" } else { "" };
        let before = cut(start > 0);
        let text: String = line[start..end].iter().collect();
        let behind = cut(end < line.len());
        let at = at - start + before.chars().count();
        (format!("{before}{text}{behind}"), at)
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = self.line.to_string();
        let margin = " ".repeat(number.len());
        let (line, at) = self.shown();
        // Tabs stay tabs, so that the caret stands below its character.
        let indent: String = line
            .chars()
            .take(at)
            .map(|c| if c == '\t' { '\t' } else { ' ' })
            .collect();
        writeln!(
            f,
            "{}:{}:{}: {}",
            self.file, self.line, self.column, self.message
        )?;
        writeln!(f, "{margin} |")?;
        writeln!(f, "{number} | {line}")?;
        write!(f, "{margin} | {indent}^")?;
        if let Some(help) = &self.help {
            write!(f, "\n{margin} = help: {help}")?;
        }
        Ok(())
    }
}

impl From<Diagnostic> for DiseError {
    fn from(diagnostic: Diagnostic) -> Self {
        DiseError::Text(Box::new(diagnostic))
    }
}

#[cfg(test)]
mod tests {
    use super::Diagnostic;

    #[test]
    fn of_a_long_line_what_is_around_the_place_is_shown() {
        let line: String = ('a'..='z').cycle().take(1000).collect();
        for (column, is_cut) in [(1, "a"), (500, "…"), (1000, "…"), (1001, "…")] {
            let diagnostic = Diagnostic {
                file: "f".to_string(),
                line: 1,
                column,
                source_line: line.clone(),
                message: "m".to_string(),
                help: None,
            };
            let text = diagnostic.to_string();
            let lines: Vec<&str> = text.lines().collect();
            let (shown, caret) = (&lines[2][4..], &lines[3][4..]);
            assert!(
                shown.chars().count() <= 162 && shown.starts_with(is_cut),
                "{text}"
            );
            let at = caret.chars().position(|c| c == '^').expect("a caret");
            assert_eq!(
                shown.chars().nth(at),
                line.chars().nth(column - 1),
                "{text}"
            );
        }
    }
}
