//! The exact profile by instruction, line, block and function: what people read.

mod depth;
mod functions;
mod interpreted;
pub mod keyed;
mod levels;
mod lines;
mod objects;
mod symbolized;

pub use depth::Depth;
pub use functions::Function;
pub use functions::{FunctionMap, FunctionTime, functions};
pub use interpreted::{InterpretedLine, InterpretedTime, interpreted};
pub use levels::{Level, Levels, Member, Members};
pub use lines::{LineTime, lines};
pub use objects::{ObjectTime, objects};
pub use symbolized::{Frames, MOST_FRAMES, Named, ThreadNames, symbolized, symbolized_weights};

use std::collections::BTreeMap;

use hps_pipeline::core::{EventSet, Origin};
use rustc_hash::FxHashMap;

use crate::beat::Key;
use crate::oracle::{ExactProfile, STATES, Spent};

/// Units of cycles by their use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stack {
    /// Units by what they were spent on.
    pub spent: BTreeMap<Spent, u64>,
    /// Units by the events of the instruction.
    pub events: BTreeMap<EventSet, u64>,
}

impl Stack {
    /// Adds a cell.
    pub fn add(&mut self, spent: Spent, events: EventSet, units: u64) {
        *self.spent.entry(spent).or_insert(0) += units;
        *self.events.entry(events).or_insert(0) += units;
    }

    /// Adds another stack.
    pub fn merge(&mut self, other: &Stack) {
        for (&spent, units) in &other.spent {
            *self.spent.entry(spent).or_insert(0) += units;
        }
        for (&events, units) in &other.events {
            *self.events.entry(events).or_insert(0) += units;
        }
    }

    /// All units.
    #[must_use]
    pub fn units(&self) -> u64 {
        self.spent.values().sum()
    }

    /// Units by state, in the order of [`STATES`].
    #[must_use]
    pub fn states(&self) -> [u64; STATES.len()] {
        let mut states = [0; STATES.len()];
        for (spent, units) in &self.spent {
            states[spent.state()] += units;
        }
        states
    }

    /// Largest use of units other than commits, and its units.
    #[must_use]
    pub fn mostly(&self) -> Option<(Spent, u64)> {
        let waits = self.spent.iter().filter(|(s, _)| **s != Spent::Computing);
        // The first of equal ones.
        waits
            .map(|(&spent, &units)| (spent, units))
            .max_by_key(|&(spent, units)| (units, std::cmp::Reverse(spent)))
    }
}

/// An instruction over all its calling contexts.
#[derive(Clone, Debug)]
pub struct InstructionTime {
    /// Which.
    pub key: Key,
    /// Origin of the instruction.
    pub origin: Origin,
    /// Whether the instruction begins a basic block.
    pub begins_block: bool,
    /// How often it committed.
    pub commits: u64,
    /// Units of the instruction.
    pub stack: Stack,
}

/// The instructions in ascending order of address and position.
#[must_use]
pub fn instructions(exact: &ExactProfile) -> Vec<InstructionTime> {
    let mut places: FxHashMap<Key, usize> = FxHashMap::default();
    let mut all: Vec<InstructionTime> = Vec::new();
    for row in &exact.rows {
        let at = *places.entry(row.of.key).or_insert_with(|| {
            all.push(InstructionTime {
                key: row.of.key,
                origin: row.origin,
                begins_block: row.begins_block,
                commits: 0,
                stack: Stack::default(),
            });
            all.len() - 1
        });
        let one = &mut all[at];
        one.commits += row.commits;
        for &(spent, events, units) in &row.cells {
            one.stack.add(spent, events, units);
        }
    }
    all.sort_unstable_by_key(|one| one.key);
    all
}
