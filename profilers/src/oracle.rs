//! The oracle: where each cycle of a run goes, exactly.
//!
//! Time-proportional attribution (Gottschall, Eeckhout, Jahre, "TIP: Time-Proportional Instruction Profiling",
//! MICRO 2021): each cycle belongs to the instruction or instructions whose latency the processor exposes in it.
//!
//! | the core is | the cycle belongs to |
//! | --- | --- |
//! | computing | each of the *n* instructions that commit, 1/*n* each |
//! | stalled | the oldest instruction, which is not complete |
//! | flushed | the instruction that emptied the window: mispredicted, serializing, trapping, or a load that runs again |
//! | drained | the next instruction to commit, which the front-end or dispatch has not delivered |
//!
//! Weights are whole numbers: a cycle is lcm(1..=commit width) units, so that every share of it is one, and sums
//! are equalities. The cycles of an instruction are split further by what it waited for and by the set of events
//! that its execution met: *event stacks*, as in "TEA: Time-Proportional Event Analysis" (ISCA 2023).

use std::ops::Deref;
use std::sync::Arc;

use hps_isa::ids::DisePc;
use hps_pipeline::core::{Cause, Commit, EventSet, FlushReason, Origin, State, TrapTaken};
use hps_system::interpreted::Interpreted;
use hps_system::symbols::{CodeWatch, Entries};
use rustc_hash::FxHashSet;
use serde::{Deserialize, Serialize};

use crate::beat::{Beat, Key, Observer, Past, Turns, key_of};
use crate::contexts::{Code, ContextTree, ContextUnits, NodeId, Place, UnitCounter};
use crate::rows::Rows;
use crate::table::{Hot, HotTable};
use crate::views::FunctionMap;

mod joined;
mod spent;

pub use joined::JoinedProfile;
pub use spent::{Flush, STATES, Spent};

/// To which row the instructions go that a decode-stage editor puts in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Charge {
    /// Each has a row of its own, by address and position in the expansion; a handler's by its address.
    #[default]
    Own,
    /// To the instruction of the program that was expanded.
    Trigger,
}

/// Data kept of each calling context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// Units of the context. Rows are of an instruction in all contexts together.
    Units,
    /// Units of the context, and a row for each instruction that ran in it: the data for files with call stacks.
    Rows,
}

/// The calling contexts that are to be kept, and what tells them apart.
#[derive(Clone, Debug)]
pub struct Follow {
    /// Entries of functions, which tell tail calls from jumps.
    pub entries: Entries,
    /// The functions that the program names.
    pub functions: FunctionMap,
    /// Tells of code that the program maps while it runs.
    pub watch: Option<CodeWatch>,
    /// Data kept of each context.
    pub detail: Detail,
}

/// Units of a cycle on a machine with this commit width: lcm(1..=width).
#[must_use]
pub fn units_per_cycle(commit_width: u64) -> u64 {
    (1..=commit_width.max(1)).fold(1, |lcm, n| {
        let (mut a, mut b) = (lcm, n);
        while b != 0 {
            (a, b) = (b, a % b);
        }
        lcm / a * n
    })
}

/// Key of a row of the oracle: an instruction, in a calling context if these are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct RowKey {
    /// The calling context; [`NodeId::ROOT`] unless rows of each are kept.
    pub node: NodeId,
    /// The instruction.
    pub key: Key,
}

/// Units, by what they were spent on and by events.
pub type Cell = (Spent, EventSet, u64);

/// The cells of a row: a part of those of all rows, which are one allocation.
#[derive(Clone, Debug)]
pub struct Cells {
    all: Arc<Vec<Cell>>,
    begin: u32,
    end: u32,
}

impl Deref for Cells {
    type Target = [Cell];

    fn deref(&self) -> &[Cell] {
        &self.all[self.begin as usize..self.end as usize]
    }
}

impl<'a> IntoIterator for &'a Cells {
    type Item = &'a Cell;
    type IntoIter = std::slice::Iter<'a, Cell>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// The cycles of one instruction, in one calling context if rows of each are kept.
#[derive(Clone, Debug)]
pub struct Row {
    /// Which.
    pub of: RowKey,
    /// Origin of the instruction.
    pub origin: Origin,
    /// Whether the instruction begins a basic block: something jumped to it, or a control transfer lies in front of it.
    pub begins_block: bool,
    /// How often it committed.
    pub commits: u64,
    /// Units of the instruction, by their use and by events, in that order.
    pub cells: Cells,
}

impl Row {
    /// All its units.
    #[must_use]
    pub fn units(&self) -> u64 {
        self.cells.iter().map(|(_, _, units)| units).sum()
    }
}

/// The exact profile of a run.
#[derive(Clone, Debug)]
pub struct ExactProfile {
    /// Units of a cycle.
    pub units_per_cycle: u64,
    /// Cycles of the run; of several hardware contexts, the cycles of all of them in which a thread ran.
    pub cycles: u64,
    /// Cycles of hardware contexts in which no thread ran.
    pub idle_cycles: u64,
    /// Cycles in which another program than the one that is followed ran, in a run of several processes.
    pub other_cycles: u64,
    /// Instructions that committed, those of an editor included.
    pub commits: u64,
    /// Rows in no particular order.
    pub rows: Vec<Row>,
    /// The calling contexts.
    pub contexts: ContextTree,
    /// The units of each, if contexts are kept.
    pub context_units: ContextUnits,
    /// The interpreters whose functions contexts name.
    pub interpreted: Interpreted,
}

impl ExactProfile {
    /// Units by instruction; one that ran in several contexts comes several times.
    pub fn weights(&self) -> impl Iterator<Item = (Key, u64)> + Clone + '_ {
        self.rows.iter().map(|row| (row.of.key, row.units()))
    }

    /// Addresses of all instructions that ran, in ascending order.
    #[must_use]
    pub fn executed(&self) -> Vec<u64> {
        let mut executed: Vec<u64> = self.rows.iter().map(|row| row.of.key.pc).collect();
        executed.sort_unstable();
        executed.dedup();
        executed
    }
}

/// Collects the exact profile of a run.
#[derive(Clone, Debug)]
pub struct Oracle {
    units: u64,
    /// Units of each of n instructions that commit together.
    shares: Vec<u64>,
    charge: Charge,
    keeps_contexts: bool,
    keeps_rows_of_contexts: bool,
    table: HotTable,
    rows: Rows,
    contexts: ContextTree,
    context_units: UnitCounter,
    cycles: u64,
    idle_cycles: u64,
    other_cycles: u64,
    commits: u64,
    /// Where the hardware context stands that beats are of.
    at: Standing,
    /// Where the others stand, by their numbers.
    others: Vec<Standing>,
    here: usize,
}

hps_isa::save_state! {
    Oracle {
        units: same, shares: skip, charge: skip, keeps_contexts: same, keeps_rows_of_contexts: same,
        table, rows, contexts, context_units, cycles, idle_cycles, other_cycles, commits, at,
        others, here,
    }
}

/// Where a hardware context stands.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Standing {
    /// The row of the instruction that committed or trapped last, and where it ran.
    last: Option<(u32, Place)>,
    last_trapped: bool,
    /// The next instruction begins a block.
    after_transfer: bool,
    /// The trigger that was expanded last.
    trigger: Key,
    /// The thread of the last commit; 0: none yet.
    thread: u32,
}

hps_isa::save_values!(Standing);

impl Standing {
    const BEGIN: Standing = Standing {
        last: None,
        last_trapped: false,
        after_transfer: true,
        trigger: Key {
            pc: 0,
            disepc: DisePc::NONE,
        },
        thread: 0,
    };
}

impl Oracle {
    /// An oracle for a machine with this commit width. `follow` is given if calling contexts are to be kept.
    #[must_use]
    pub fn new(commit_width: u64, charge: Charge, follow: Option<Follow>) -> Self {
        let units = units_per_cycle(commit_width);
        let share = |n: u64| units.checked_div(n).unwrap_or(0);
        let detail = follow.as_ref().map(|follow| follow.detail);
        let follow = follow.map(|f| (f.entries, f.functions, f.watch));
        let (entries, functions, watch) = follow.unwrap_or_default();
        Oracle {
            units,
            shares: (0..=commit_width.max(1)).map(share).collect(),
            charge,
            keeps_contexts: detail.is_some(),
            keeps_rows_of_contexts: detail == Some(Detail::Rows),
            table: HotTable::new(),
            rows: Rows::new(),
            contexts: ContextTree::new(entries, watch.clone()),
            context_units: UnitCounter::new(functions, watch),
            cycles: 0,
            idle_cycles: 0,
            other_cycles: 0,
            commits: 0,
            at: Standing::BEGIN,
            others: Vec::new(),
            here: 0,
        }
    }

    /// The counts of an instruction, of those in the calling context where execution is now if rows are kept of each.
    #[inline(always)]
    fn hot(&mut self, key: Key) -> &mut Hot {
        let node = match self.keeps_rows_of_contexts {
            true => self.contexts.here(),
            false => NodeId::ROOT,
        };
        let hot = self.table.at(key);
        if hot.node != node || hot.row == Hot::NO_ROW {
            if hot.code == Code::UNKNOWN && self.keeps_contexts {
                hot.code = self.context_units.code_at(key.pc);
            }
            self.rows.turn(hot, RowKey { node, key });
        }
        hot
    }

    /// The row of the next instruction, and where execution is when it runs.
    fn row_here(&mut self, key: Key) -> (u32, Place) {
        let &mut Hot { row, code, .. } = self.hot(key);
        (row, self.place(code, self.at.after_transfer))
    }

    /// Code where execution is. Outside of functions that the program names, it is that of the first instruction since
    /// the last transfer of control: a place for each of a context's instructions would be many.
    #[inline(always)]
    fn place(&self, code: Code, after_transfer: bool) -> Place {
        let node = self.contexts.here();
        match self.at.last {
            Some((_, last))
                if code.is_one() && !after_transfer && last.code.is_one() && last.node == node =>
            {
                last
            }
            _ => Place { node, code },
        }
    }

    /// The instruction to whose row the cycles of another one go.
    #[inline]
    fn charged(&self, key: Key, origin: Origin) -> Key {
        match (self.charge, origin) {
            (Charge::Own, _) => key,
            // The trigger itself, inside its expansion, is the program's instruction.
            (Charge::Trigger, Origin::Program | Origin::Inserted) => Key::of_program(key.pc),
            (Charge::Trigger, Origin::Handler) => self.at.trigger,
        }
    }

    fn stretches(&mut self, beat: &Beat<'_>) {
        let origin = beat.group.first().map_or(Origin::Program, |c| c.origin);
        let next = self.charged(beat.next, origin);
        for stretch in beat.idle {
            if stretch.state == State::Drained(Cause::Idle) {
                // No thread runs: the cycles are nobody's.
                self.idle_cycles += stretch.cycles;
                continue;
            }
            self.cycles += stretch.cycles;
            let units = stretch.cycles * self.units;
            let Past { events, .. } = beat.owner(stretch.state);
            let (spent, of_last) = match stretch.state {
                State::Stalled(cause) => (Spent::of_stall(cause), false),
                State::Drained(cause) => (Spent::Drained(cause), false),
                State::Flushed(FlushReason::Replay) => (Spent::Flushed(Flush::Replay), false),
                State::Flushed(FlushReason::Misprediction) => {
                    (Spent::Flushed(Flush::Misprediction), true)
                }
                State::Flushed(FlushReason::Serialization) if self.at.last_trapped => {
                    (Spent::Flushed(Flush::Trap), true)
                }
                State::Flushed(FlushReason::Serialization) if beat.enters_interrupt() => {
                    (Spent::Flushed(Flush::Interrupt), false)
                }
                State::Flushed(FlushReason::Serialization) => {
                    (Spent::Flushed(Flush::Serialization), true)
                }
            };
            let (row, place) = match self.at.last {
                Some(last) if of_last => last,
                _ => self.row_here(next),
            };
            self.rows.add(row, spent, events, units);
            if self.keeps_contexts {
                self.context_units.add(place, units);
            }
        }
    }

    #[inline(always)]
    fn commit(&mut self, commit: &Commit, events: EventSet, share: u64) {
        if self.keeps_contexts {
            self.contexts.arrive(commit);
        }
        let key = self.charged(key_of(commit), commit.origin);
        let after_transfer =
            std::mem::replace(&mut self.at.after_transfer, commit.class.is_control());
        let hot = self.hot(key);
        hot.commits += 1;
        hot.begins_block |= after_transfer;
        let (row, code) = (hot.row, hot.code);
        if events.is_empty() {
            hot.computing += share;
        } else {
            self.rows.add(row, Spent::Computing, events, share);
        }
        if commit.origin != Origin::Program {
            self.note_edited(row, commit);
        }
        let place = self.place(code, after_transfer);
        self.at.last = Some((row, place));
        if self.keeps_contexts {
            self.context_units.add(place, share);
            self.contexts.leave(commit);
        }
    }

    /// The commits of a beat of a program that runs an interpreter.
    #[inline(never)]
    fn interpreted_group(&mut self, beat: &Beat<'_>, turns: Turns<'_>, share: u64) {
        let names = turns.names;
        let mut turns = self.contexts.interpret(turns.of_beat, 0, names);
        for (at, commit) in beat.group.iter().enumerate() {
            let events = match at {
                0 => beat.next_events(),
                _ => commit.events,
            };
            self.commit(commit, events, share);
            self.context_units.count_commit();
            turns = self.contexts.interpret(turns, at + 1, names);
        }
    }

    #[cold]
    fn note_edited(&mut self, row: u32, commit: &Commit) {
        if self.charge == Charge::Own {
            self.rows.at(row).origin = commit.origin;
        }
        if commit.origin == Origin::Inserted {
            self.at.trigger = Key::of_program(commit.pc);
        }
    }

    /// The profile of a run that is over.
    #[must_use]
    pub fn finish(mut self) -> ExactProfile {
        for hot in self.table.all() {
            self.rows.keep(hot);
        }
        let mut cells: Vec<Cell> = Vec::new();
        let ends = self.rows.all().iter().map(|live| {
            self.rows.collect_cells(live, &mut cells);
            cells.len() as u32
        });
        let ends: Vec<u32> = ends.collect();
        let cells = Arc::new(cells);
        let begins_of = std::iter::once(0).chain(ends.iter().copied());
        // Whether an instruction begins a block does not depend on its context.
        let begins: FxHashSet<Key> = (self.rows.all().iter())
            .filter(|live| live.begins_block)
            .map(|live| live.of().key)
            .collect();
        let rows = self.rows.all().iter().zip(begins_of.zip(&ends));
        let rows = rows.map(|(live, (begin, &end))| Row {
            of: live.of(),
            origin: live.origin,
            begins_block: begins.contains(&live.of().key),
            commits: live.commits,
            cells: Cells {
                all: Arc::clone(&cells),
                begin,
                end,
            },
        });
        ExactProfile {
            units_per_cycle: self.units,
            cycles: self.cycles,
            idle_cycles: self.idle_cycles,
            other_cycles: self.other_cycles,
            commits: self.commits,
            rows: rows.collect(),
            contexts: self.contexts,
            context_units: self.context_units.finish(),
            interpreted: Interpreted::default(),
        }
    }
}

impl Observer for Oracle {
    #[inline]
    fn beat(&mut self, beat: &Beat<'_>) {
        if !beat.idle.is_empty() {
            if self.keeps_contexts
                && let Some(first) = beat.group.first()
            {
                // The stretches belong to where the next instruction is.
                self.contexts.arrive(first);
            }
            self.stretches(beat);
        }
        let Some((first, others)) = beat.group.split_first() else {
            return;
        };
        let count = beat.group.len();
        self.at.last_trapped = false;
        self.cycles += 1;
        self.commits += count as u64;
        let share = self.shares[count];
        if let Some(turns) = beat.turns {
            self.interpreted_group(beat, turns, share);
            return;
        }
        // Events of the front-end belong to the first commit.
        self.commit(first, beat.next_events(), share);
        for commit in others {
            self.commit(commit, commit.events, share);
        }
    }

    fn elsewhere(&mut self, beat: &Beat<'_>) {
        for stretch in beat.idle {
            match stretch.state {
                State::Drained(Cause::Idle) => self.idle_cycles += stretch.cycles,
                _ => self.other_cycles += stretch.cycles,
            }
        }
        self.other_cycles += u64::from(!beat.group.is_empty());
    }

    fn trap(&mut self, trap: &TrapTaken) {
        let key = Key {
            pc: trap.pc,
            disepc: trap.disepc,
        };
        self.at.last = Some(self.row_here(key));
        self.at.last_trapped = true;
        self.at.after_transfer = true;
        if self.keeps_contexts {
            self.contexts.interrupted(trap.pc);
        }
    }

    fn turn_to(&mut self, context: usize) {
        let most = context.max(self.here) + 1;
        if self.others.len() < most {
            self.others.resize(most, Standing::BEGIN);
        }
        self.at.thread = self.contexts.thread();
        self.others[self.here] = self.at;
        self.at = self.others[context];
        self.here = context;
        if self.at.thread != 0 {
            self.contexts.turn_to(self.at.thread);
        }
    }

    fn stand_in(&self) -> Option<Self> {
        Some(self.clone())
    }
}
