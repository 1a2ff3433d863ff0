//! The exact profile by source line.

use std::collections::BTreeMap;

use hps_system::symbols::Symbols;

use super::{InstructionTime, Stack};

/// The cycles of a source line.
#[derive(Clone, Debug)]
pub struct LineTime {
    /// `file:line`.
    pub line: String,
    /// The lowest address of its instructions that ran.
    pub pc: u64,
    /// Instructions that committed.
    pub commits: u64,
    /// Units of the line.
    pub stack: Stack,
}

/// The lines that took any cycles, most first. None if no object has a line table.
#[must_use]
pub fn lines(instructions: &[InstructionTime], symbols: &Symbols) -> Vec<LineTime> {
    let mut all: BTreeMap<String, LineTime> = BTreeMap::new();
    for one in instructions {
        let Some(line) = symbols.source_line(one.key.pc) else {
            continue;
        };
        let entry = all.entry(line);
        let time = entry.or_insert_with_key(|line| LineTime {
            line: line.clone(),
            pc: one.key.pc,
            commits: 0,
            stack: Stack::default(),
        });
        time.commits += one.commits;
        time.stack.merge(&one.stack);
    }
    let mut all: Vec<LineTime> = all.into_values().collect();
    all.sort_by_key(|time| std::cmp::Reverse(time.stack.units()));
    all
}
