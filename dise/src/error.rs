//! Everything that can be wrong with a production set or an engine.

use std::fmt;

use hps_sim_core::isa::Isa;
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
        /// Its value in an earlier set.
        first: i64,
        /// Its value in a later one.
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
        /// Its value.
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
        /// Its target.
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
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub help: Option<String>,
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = self.line.to_string();
        let margin = " ".repeat(number.len());
        // Tabs stay tabs, so that the caret stands below its character.
        let indent: String = self
            .source_line
            .chars()
            .take(self.column.saturating_sub(1))
            .map(|c| if c == '\t' { '\t' } else { ' ' })
            .collect();
        writeln!(
            f,
            "{}:{}:{}: {}",
            self.file, self.line, self.column, self.message
        )?;
        writeln!(f, "{margin} |")?;
        writeln!(f, "{number} | {}", self.source_line)?;
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
