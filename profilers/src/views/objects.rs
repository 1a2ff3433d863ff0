//! The exact profile by object: the program, its loader and libraries, and code that was made while it ran.

use std::collections::BTreeMap;

use hps_system::symbols::Symbols;

use super::{FunctionMap, InstructionTime, Stack};

/// The cycles of an object.
#[derive(Clone, Debug, Default)]
pub struct ObjectTime {
    /// The place of the object in [`Symbols::objects`]; `None`: code that lies in none of them.
    pub object: Option<usize>,
    /// Instructions that committed.
    pub commits: u64,
    /// Committed instructions that no symbol names.
    pub nameless_commits: u64,
    /// Units of the object.
    pub stack: Stack,
}

/// The objects that took any cycles, most first.
#[must_use]
pub fn objects(
    instructions: &[InstructionTime],
    symbols: &Symbols,
    map: &FunctionMap,
) -> Vec<ObjectTime> {
    let mut all: BTreeMap<Option<usize>, ObjectTime> = BTreeMap::new();
    for one in instructions {
        let object = symbols.object_index(one.key.pc);
        let time = all.entry(object).or_insert_with(|| ObjectTime {
            object,
            ..ObjectTime::default()
        });
        time.commits += one.commits;
        if map.is_nameless(one.key.pc) {
            time.nameless_commits += one.commits;
        }
        time.stack.merge(&one.stack);
    }
    let mut all: Vec<ObjectTime> = all.into_values().collect();
    all.sort_by_key(|time| std::cmp::Reverse(time.stack.units()));
    all
}
