//! Values that instructions compute: tables of the most frequent ones (Calder, Feller and Eustace, "Value Profiling and
//! Optimization", JILP 1999), which shadow profiling keeps for each instruction.
//!
//! A table holds at most [`TableShape::entries`] values with their counts. A value for which there is no room is not
//! counted. After every [`TableShape::flush_every`] executions the less frequent half is thrown away, so that values
//! that become frequent later find room. Counts are never too high, and exact if an instruction computes no more
//! different values than half of the entries.

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

/// The shape of value tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TableShape {
    /// Values that a table holds.
    pub entries: usize,
    /// Executions between two flushes of the less frequent half.
    pub flush_every: u64,
}

impl Default for TableShape {
    fn default() -> Self {
        TableShape {
            entries: 10,
            flush_every: 2000,
        }
    }
}

/// The values of one instruction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ValueTable {
    /// Executions of the instruction.
    pub executions: u64,
    /// Values with their counts, in no order.
    pub values: Vec<(u64, u64)>,
    to_flush: u64,
}

impl ValueTable {
    /// Counts a value.
    pub fn add(&mut self, value: u64, shape: &TableShape) {
        self.executions += 1;
        if let Some(at) = self.values.iter().position(|(v, _)| *v == value) {
            self.values[at].1 += 1;
            // Frequent values are found sooner.
            if at > 0 && self.values[at - 1].1 < self.values[at].1 {
                self.values.swap(at - 1, at);
            }
        } else if self.values.len() < shape.entries {
            self.values.push((value, 1));
        }
        self.to_flush += 1;
        if self.to_flush >= shape.flush_every {
            self.to_flush = 0;
            self.values
                .sort_by_key(|(v, count)| (std::cmp::Reverse(*count), *v));
            self.values.truncate(shape.entries.div_ceil(2));
        }
    }

    fn merge(&mut self, other: &ValueTable, shape: &TableShape) {
        self.executions += other.executions;
        for (value, count) in &other.values {
            match self.values.iter_mut().find(|(v, _)| v == value) {
                Some(known) => known.1 += count,
                None => self.values.push((*value, *count)),
            }
        }
        self.values
            .sort_by_key(|(v, count)| (std::cmp::Reverse(*count), *v));
        self.values.truncate(shape.entries);
    }

    /// The most frequent value and its count. Of several the smallest.
    #[must_use]
    pub fn top(&self) -> Option<(u64, u64)> {
        let by_count = |(value, count): &(u64, u64)| (*count, std::cmp::Reverse(*value));
        self.values.iter().copied().max_by_key(by_count)
    }

    /// The count of a value, if the table has it.
    #[must_use]
    pub fn count(&self, value: u64) -> Option<u64> {
        let found = self.values.iter().find(|(v, _)| *v == value);
        found.map(|(_, count)| *count)
    }

    /// The share of executions in which the most frequent value was computed, 0 to 1.
    #[must_use]
    pub fn invariance(&self) -> f64 {
        let top = self.top().map_or(0, |(_, count)| count);
        top as f64 / self.executions.max(1) as f64
    }
}

/// Collects a table for every instruction with a destination register. The program's code bounds its memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ValueProfiler {
    shape: TableShape,
    places: FxHashMap<u64, u32>,
    tables: Vec<(u64, ValueTable)>,
}

impl ValueProfiler {
    /// A profiler that has seen nothing.
    #[must_use]
    pub fn new(shape: TableShape) -> ValueProfiler {
        ValueProfiler {
            shape,
            ..ValueProfiler::default()
        }
    }

    /// The instruction at `pc` has computed a value.
    #[inline]
    pub fn add(&mut self, pc: u64, value: u64) {
        let place = *self.places.entry(pc).or_insert_with(|| {
            self.tables.push((pc, ValueTable::default()));
            self.tables.len() as u32 - 1
        });
        self.tables[place as usize].1.add(value, &self.shape);
    }

    /// Adds what another profiler has seen, with the most frequent values of both. Into an empty one, it is a copy.
    pub fn merge(&mut self, other: &ValueProfiler) {
        if self.tables.is_empty() {
            *self = other.clone();
            return;
        }
        for (pc, table) in &other.tables {
            let place = *self.places.entry(*pc).or_insert_with(|| {
                self.tables.push((*pc, ValueTable::default()));
                self.tables.len() as u32 - 1
            });
            self.tables[place as usize].1.merge(table, &self.shape);
        }
    }

    /// The table of an instruction.
    #[must_use]
    pub fn table(&self, pc: u64) -> Option<&ValueTable> {
        let place = self.places.get(&pc)?;
        Some(&self.tables[*place as usize].1)
    }

    /// Instructions with their tables, in the order of their first executions.
    #[must_use]
    pub fn tables(&self) -> &[(u64, ValueTable)] {
        &self.tables
    }
}
