//! Exact profiles of parts of a run, joined into the one of the whole run.
//!
//! A part begins in the middle of a run: what the oracle has counted before the part begins is taken away from what it has
//! counted at its end. In the cycle in which one part ends and the next one begins, an instruction may lose units to those
//! that commit with it. So counts have signs until all parts are there.

use std::sync::Arc;

use hps_pipeline::core::{EventSet, Origin};
use hps_system::interpreted::Interpreted;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::{Cell, Cells, ExactProfile, Row, RowKey, Spent};
use crate::beat::Key;
use crate::contexts::{ContextTree, ContextUnits, NodeId};

/// Counts of parts of a run, over instructions in all calling contexts together.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct JoinedProfile {
    units_per_cycle: u64,
    cycles: i64,
    idle_cycles: i64,
    other_cycles: i64,
    commits: i64,
    rows: FxHashMap<Key, JoinedRow>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct JoinedRow {
    origin: Origin,
    begins_block: bool,
    commits: i64,
    cells: FxHashMap<(Spent, EventSet), i64>,
}

impl JoinedProfile {
    /// The part of a run between two of its profiles.
    #[must_use]
    pub fn between(begin: &ExactProfile, end: &ExactProfile) -> JoinedProfile {
        let mut part = JoinedProfile::default();
        part.count(end, 1);
        part.count(begin, -1);
        part
    }

    fn count(&mut self, profile: &ExactProfile, sign: i64) {
        self.units_per_cycle = profile.units_per_cycle;
        self.cycles += sign * profile.cycles as i64;
        self.idle_cycles += sign * profile.idle_cycles as i64;
        self.other_cycles += sign * profile.other_cycles as i64;
        self.commits += sign * profile.commits as i64;
        for row in &profile.rows {
            let mine = self.rows.entry(row.of.key).or_default();
            mine.origin = row.origin;
            mine.begins_block |= row.begins_block;
            mine.commits += sign * row.commits as i64;
            for &(spent, events, units) in &row.cells {
                *mine.cells.entry((spent, events)).or_insert(0) += sign * units as i64;
            }
        }
    }

    /// Adds other parts of the run.
    pub fn merge(&mut self, other: JoinedProfile) {
        self.units_per_cycle = self.units_per_cycle.max(other.units_per_cycle);
        self.cycles += other.cycles;
        self.idle_cycles += other.idle_cycles;
        self.other_cycles += other.other_cycles;
        self.commits += other.commits;
        for (key, row) in other.rows {
            let mine = self.rows.entry(key).or_default();
            mine.origin = row.origin;
            mine.begins_block |= row.begins_block;
            mine.commits += row.commits;
            for (cell, units) in row.cells {
                *mine.cells.entry(cell).or_insert(0) += units;
            }
        }
    }

    /// Lets the parts stand for so many times as much. Fractions of units and commits are lost.
    pub fn scale(&mut self, factor: f64) {
        let scale = |count: &mut i64| *count = (*count as f64 * factor).round() as i64;
        for count in [
            &mut self.cycles,
            &mut self.idle_cycles,
            &mut self.other_cycles,
            &mut self.commits,
        ] {
            scale(count);
        }
        for row in self.rows.values_mut() {
            scale(&mut row.commits);
            row.cells.values_mut().for_each(scale);
        }
    }

    /// The profile of the whole run. It tells no calling contexts apart.
    #[must_use]
    pub fn finish(self) -> ExactProfile {
        let count = |count: i64| count.max(0) as u64;
        let mut rows: Vec<(Key, JoinedRow)> = self.rows.into_iter().collect();
        rows.retain(|(_, row)| row.commits > 0 || row.cells.values().any(|&units| units > 0));
        rows.sort_unstable_by_key(|(key, _)| *key);
        let mut cells: Vec<Cell> = Vec::new();
        let mut ends = Vec::with_capacity(rows.len());
        for (_, row) in &rows {
            let begin = cells.len();
            let positive = row.cells.iter().filter(|&(_, &units)| units > 0);
            cells.extend(positive.map(|(&(spent, events), &units)| (spent, events, count(units))));
            cells[begin..].sort_unstable_by_key(|&(spent, events, _)| (spent, events));
            ends.push((begin as u32, cells.len() as u32));
        }
        let all = Arc::new(cells);
        let rows = rows.into_iter().zip(ends);
        let rows = rows.map(|((key, row), (begin, end))| Row {
            of: RowKey {
                node: NodeId::ROOT,
                key,
            },
            origin: row.origin,
            begins_block: row.begins_block,
            commits: count(row.commits),
            cells: Cells {
                all: Arc::clone(&all),
                begin,
                end,
            },
        });
        ExactProfile {
            units_per_cycle: self.units_per_cycle,
            cycles: count(self.cycles),
            idle_cycles: count(self.idle_cycles),
            other_cycles: count(self.other_cycles),
            commits: count(self.commits),
            rows: rows.collect(),
            contexts: ContextTree::new(Default::default(), None),
            context_units: ContextUnits::default(),
            interpreted: Interpreted::default(),
        }
    }
}
