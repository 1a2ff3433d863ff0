//! The rows of the oracle while the run goes on: one for each instruction, in each calling context if that is asked for.

use hps_isa::ids::DisePc;
use hps_pipeline::core::{EventSet, Origin};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::beat::Key;
use crate::contexts::NodeId;
use crate::oracle::{Cell, RowKey, Spent};
use crate::table::Hot;

/// log2 of the bytes of a line of code, whose instructions are looked up together.
const LINE_SHIFT: u32 = 5;
/// Places of a line: instructions begin at even addresses.
const PLACES: usize = 1 << (LINE_SHIFT - 1);

/// No cell.
const NO_CELL: u32 = u32::MAX;

/// A row while the run goes on. Programs that recurse have tens of millions: 40 bytes each.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Live {
    pc: u64,
    node: NodeId,
    /// Cell of the row that was made last, or [`NO_CELL`].
    last_cell: u32,
    disepc: DisePc,
    /// Origin of the instruction.
    pub origin: Origin,
    /// Whether it begins a basic block.
    pub begins_block: bool,
    /// How often it committed.
    pub commits: u64,
    /// Units of cycles in which it committed and nothing had happened to it.
    pub computing: u64,
}

impl Live {
    /// The instruction and the context of the row.
    pub fn of(&self) -> RowKey {
        RowKey {
            node: self.node,
            key: Key {
                pc: self.pc,
                disepc: self.disepc,
            },
        }
    }
}

/// A line of code in a calling context.
type Line = (NodeId, u64);

/// The rows of a run. An instruction finds its row through the line of code that holds it, since the instructions of
/// one context run one behind the other.
#[derive(Clone, Debug)]
pub(crate) struct Rows {
    all: Vec<Live>,
    /// Cells of all rows, each with the one of its row that was made before it. Rows have few.
    cells: Vec<(Cell, u32)>,
    /// The place in `rows_of` of each line.
    lines: FxHashMap<Line, u32>,
    /// The row of each instruction of a line, or [`Hot::NO_ROW`].
    rows_of: Vec<[u32; PLACES]>,
    last: (Line, u32),
    /// Rows of instructions of expansions, and of those at odd addresses.
    others: FxHashMap<RowKey, u32>,
}

hps_isa::save_state! { Rows { all, cells, lines, rows_of, last, others } }

impl Rows {
    pub fn new() -> Self {
        Rows {
            all: Vec::new(),
            cells: Vec::new(),
            lines: FxHashMap::default(),
            rows_of: Vec::new(),
            // No line has this number.
            last: ((NodeId::ROOT, u64::MAX), 0),
            others: FxHashMap::default(),
        }
    }

    /// All rows, in the order in which they were first asked for.
    pub fn all(&self) -> &[Live] {
        &self.all
    }

    /// A row by its number.
    pub fn at(&mut self, row: u32) -> &mut Live {
        &mut self.all[row as usize]
    }

    /// Adds units to a row.
    pub fn add(&mut self, row: u32, spent: Spent, events: EventSet, units: u64) {
        let live = &mut self.all[row as usize];
        let mut at = live.last_cell;
        while at != NO_CELL {
            let ((of, met, sum), before) = &mut self.cells[at as usize];
            if (*of, *met) == (spent, events) {
                *sum += units;
                return;
            }
            at = *before;
        }
        let cell = ((spent, events, units), live.last_cell);
        live.last_cell = self.cells.len() as u32;
        self.cells.push(cell);
    }

    /// Appends the cells of a row in their order.
    pub fn collect_cells(&self, live: &Live, into: &mut Vec<Cell>) {
        let begin = into.len();
        if live.computing > 0 {
            into.push((Spent::Computing, EventSet::NONE, live.computing));
        }
        let mut at = live.last_cell;
        while at != NO_CELL {
            let (cell, before) = self.cells[at as usize];
            into.push(cell);
            at = before;
        }
        into[begin..].sort_unstable_by_key(|&(spent, events, _)| (spent, events));
    }

    /// Keeps what an instruction has counted in its last context.
    pub fn keep(&mut self, hot: &mut Hot) {
        if let Some(live) = self.all.get_mut(hot.row as usize) {
            live.commits += std::mem::take(&mut hot.commits);
            live.computing += std::mem::take(&mut hot.computing);
            live.begins_block |= hot.begins_block;
        }
    }

    /// Turns an instruction to its row in another context.
    #[inline(never)]
    pub fn turn(&mut self, hot: &mut Hot, of: RowKey) {
        self.keep(hot);
        let next = self.all.len() as u32;
        let known = self.place(of);
        if *known == Hot::NO_ROW {
            *known = next;
        }
        let row = *known;
        if row == next {
            self.all.push(Live {
                pc: of.key.pc,
                node: of.node,
                disepc: of.key.disepc,
                last_cell: NO_CELL,
                origin: Origin::Program,
                begins_block: false,
                commits: 0,
                computing: 0,
            });
        }
        (hot.row, hot.node) = (row, of.node);
    }

    /// Where the number of a row is kept.
    fn place(&mut self, of: RowKey) -> &mut u32 {
        let RowKey { node, key } = of;
        if key.disepc != DisePc::NONE || key.pc & 1 != 0 {
            return self.others.entry(of).or_insert(Hot::NO_ROW);
        }
        let line = (node, key.pc >> LINE_SHIFT);
        if line != self.last.0 {
            let next = self.rows_of.len() as u32;
            let at = *self.lines.entry(line).or_insert(next);
            if at == next {
                self.rows_of.push([Hot::NO_ROW; PLACES]);
            }
            self.last = (line, at);
        }
        &mut self.rows_of[self.last.1 as usize][(key.pc >> 1) as usize % PLACES]
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::table::HotTable;

    type Cells = BTreeMap<(Spent, EventSet), u64>;

    /// Rows found by a walk over all of them, as the definition says.
    #[derive(Default)]
    struct Walked(Vec<(RowKey, u64, Cells)>);

    impl Walked {
        fn count(&mut self, of: RowKey, cell: (Spent, EventSet), units: u64) {
            let row = self.0.iter().position(|(row, ..)| *row == of);
            let row = row.unwrap_or_else(|| {
                self.0.push((of, 0, BTreeMap::new()));
                self.0.len() - 1
            });
            self.0[row].1 += 1;
            *self.0[row].2.entry(cell).or_default() += units;
        }
    }

    #[test]
    fn rows_are_those_of_a_walk_over_all_contexts() {
        let mut random = 1_u64;
        let mut draw = |end: u64| {
            random = random.wrapping_mul(6364136223846793005).wrapping_add(1);
            (random >> 33) % end
        };
        let (mut table, mut rows, mut walked) = (HotTable::new(), Rows::new(), Walked::default());
        for _ in 0..20_000 {
            let disepc = match draw(10) {
                0 => DisePc::new(1, draw(3) as u8),
                _ => DisePc::NONE,
            };
            // Neighbours, the same place of other lines, and odd addresses.
            let pc = [0x1000, 0x1020, 0x9000][draw(3) as usize] + draw(9);
            let key = Key { pc, disepc };
            let node = NodeId::of_test(draw(12) as u32);
            let of = RowKey { node, key };
            let hot = table.at(key);
            if hot.node != node || hot.row == Hot::NO_ROW {
                rows.turn(hot, of);
            }
            hot.commits += 1;
            let row = hot.row;
            let spent = [Spent::Filling, Spent::Computing][draw(2) as usize];
            let cell = (
                spent,
                [EventSet::L1D_MISS, EventSet::TRAPPED][draw(2) as usize],
            );
            let units = draw(100);
            rows.add(row, cell.0, cell.1, units);
            walked.count(of, cell, units);
        }
        for hot in table.all() {
            rows.keep(hot);
        }
        assert_eq!(rows.all().len(), walked.0.len());
        for (live, (of, commits, cells)) in rows.all().iter().zip(&walked.0) {
            assert_eq!((live.of(), live.commits), (*of, *commits));
            let mut found = Vec::new();
            rows.collect_cells(live, &mut found);
            let cells = cells
                .iter()
                .map(|(&(spent, events), &units)| (spent, events, units));
            assert_eq!(found, cells.collect::<Vec<_>>());
        }
    }
}
