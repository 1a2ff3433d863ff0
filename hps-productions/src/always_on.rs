//! Readers of the tables in guest memory in which productions count all the time ([`BRANCHES`](crate::files::BRANCHES),
//! [`PATHS`](crate::files::PATHS), [`VALUES`](crate::files::VALUES)).

use std::collections::BTreeMap;

use hps_dise::ProductionSet;
use hps_system::process::Process;

use crate::collector::CollectorError;
use crate::interrupt_handlers::{WORD, read_words};

/// Words of a slot, as `productions/handlers/hot_call_pair.dise` lays it out.
const SLOT: usize = 4;

/// Words of a row, the first of its values and the last of them, as `productions/handlers/values.dise` lays them out.
const ROW: usize = 32;
const FIRST: usize = 4;
const LAST: usize = 24;

/// Pairs of numbers with their counts.
pub type CountedPairs = BTreeMap<(u64, u64), u64>;

/// The most frequent values of an instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CountedValues {
    /// Address of the instruction.
    pub pc: u64,
    /// Executions of the instruction.
    pub executions: u64,
    /// Values with their counts, the frequent ones first.
    pub values: Vec<(u64, u64)>,
}

/// Pairs of numbers in the table of hot call pairs with their counts, and counts for which there was no room: branches and
/// outcomes, or beginnings and hashes of paths.
///
/// # Errors
/// [`CollectorError::NotInstalled`]: the productions have no such table, or it is not in the process.
pub fn counted_pairs(
    productions: &ProductionSet,
    process: &Process,
) -> Result<(CountedPairs, u64), CollectorError> {
    let words = table(productions, "CallPair_table", process)?;
    let mut slots = words.chunks_exact(SLOT);
    let lost = slots.next().map_or(0, |in_front| in_front[2]);
    let used = slots.filter(|slot| slot[2] != 0);
    Ok((
        used.map(|slot| ((slot[0], slot[1]), slot[2])).collect(),
        lost,
    ))
}

/// Counts of productions with the table of values, and executions of instructions for which there was no room.
///
/// # Errors
/// [`CollectorError::NotInstalled`]: the productions have no such table, or it is not in the process.
pub fn counted_values(
    productions: &ProductionSet,
    process: &Process,
) -> Result<(Vec<CountedValues>, u64), CollectorError> {
    let words = table(productions, "Value_table", process)?;
    let (in_front, rows) = words.split_at(ROW.min(words.len()));
    let counted = rows.chunks_exact(ROW).filter(|row| row[0] != 0).map(|row| {
        let values = row[FIRST..LAST].chunks_exact(2);
        CountedValues {
            pc: row[0],
            executions: row[1],
            values: values
                .map(|pair| (pair[0], pair[1]))
                .take_while(|(_, count)| *count > 0)
                .collect(),
        }
    });
    Ok((counted.collect(), in_front.get(1).copied().unwrap_or(0)))
}

/// The words of a table.
fn table(
    productions: &ProductionSet,
    name: &str,
    process: &Process,
) -> Result<Vec<u64>, CollectorError> {
    let mut areas = productions.data_areas().iter();
    let area = areas.find(|area| area.name == name);
    let area = area.ok_or(CollectorError::NotInstalled { addr: 0 })?;
    read_words(&process.mem, area.address, area.size / WORD)
}
