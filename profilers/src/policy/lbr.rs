//! LBR: the last branch records.
//!
//! A ring in hardware holds the last 8 to 32 taken branches with the cycles since the one before (Intel SDM volume
//! 3, "Last Branch, Interrupt, and Exception Recording"; `perf record -b`). A sample reads the whole ring. Each
//! branch is an edge of the control flow; between the target of one and the address of the next lies straight-line
//! code, for whose execution the recorded cycles are known.
//!
//! The instruction profile gives the cycles of each such range to its instructions, equally: the records do not
//! tell which of them the processor waited for.

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use hps_pipeline::core::EventSet;

use super::{Moment, Policy};
use crate::beat::{Beat, Key};
use crate::registry::{Counts, Profiler, Records};
use crate::sampler::Credits;

/// Records of a ring, as in Intel's processors since Skylake.
const ENTRIES: usize = 32;

/// A ring of branch records: three words for each, and where the interrupt was taken.
const RECORDS: Records = Records::Interrupt {
    words: 4 + 3 * ENTRIES as u32,
    delay_cycles: 0,
};

/// Intel's last branch records.
pub const LBR: Profiler = Profiler {
    name: "lbr",
    about: "last branch records: cycles of straight-line code, spread over its instructions",
    hardware: "a ring of 32 taken branches with cycles",
    counts: Counts::Cycles,
    records: RECORDS,
    is_stored: false,
    policy: || Box::new(Lbr::new(ENTRIES)),
};

/// A taken branch.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Record {
    from: u64,
    to: u64,
    cycle: u64,
}

/// Branch records that samples have read from rings.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BranchRecords {
    /// How often a branch was read, by address and target.
    pub edges: FxHashMap<(u64, u64), u64>,
    /// How often straight-line code was read, by its first and last address, and its cycles.
    pub ranges: FxHashMap<(u64, u64), (u64, u64)>,
}

hps_isa::save_state! { BranchRecords { edges, ranges } }

/// Keeps the last taken branches; a sample reads them all.
#[derive(Clone, Debug)]
pub struct Lbr {
    entries: usize,
    ring: Vec<Record>,
    /// The place of the oldest record once the ring is full.
    oldest: usize,
    records: BranchRecords,
}

hps_isa::save_state! { Lbr { entries: skip, ring, oldest, records } }

impl Lbr {
    /// A ring of `entries` records, at least two.
    #[must_use]
    pub fn new(entries: usize) -> Self {
        Lbr {
            entries: entries.max(2),
            ring: Vec::with_capacity(entries.max(2)),
            oldest: 0,
            records: BranchRecords::default(),
        }
    }
}

impl Policy for Lbr {
    fn name(&self) -> &'static str {
        "lbr"
    }

    fn watches(&self) -> bool {
        true
    }

    fn watch(&mut self, beat: &Beat<'_>) {
        for commit in beat.group {
            if !commit.taken {
                continue;
            }
            let record = Record {
                from: commit.pc,
                to: commit.target,
                cycle: commit.cycle,
            };
            if self.ring.len() < self.entries {
                self.ring.push(record);
            } else {
                self.ring[self.oldest] = record;
                self.oldest = (self.oldest + 1) % self.entries;
            }
        }
    }

    fn sample(&mut self, _: &Moment<'_>, credits: &mut Credits) -> bool {
        let (newer, older) = self.ring.split_at(self.oldest.min(self.ring.len()));
        let mut before: Option<Record> = None;
        for record in older.iter().chain(newer) {
            *self
                .records
                .edges
                .entry((record.from, record.to))
                .or_insert(0) += 1;
            if let Some(before) = before
                && before.to <= record.from
            {
                let range = self.records.ranges.entry((before.to, record.from));
                let (count, cycles) = range.or_insert((0, 0));
                *count += 1;
                *cycles += record.cycle - before.cycle;
            }
            before = Some(*record);
        }
        credits.credited += 1;
        false
    }

    fn branches(&self) -> Option<&BranchRecords> {
        Some(&self.records)
    }
}

impl BranchRecords {
    /// Takes away what had been read at an earlier time.
    pub fn subtract(&mut self, earlier: &BranchRecords) {
        for (edge, count) in &earlier.edges {
            if let Some(mine) = self.edges.get_mut(edge) {
                *mine -= count;
            }
        }
        for (range, (count, cycles)) in &earlier.ranges {
            if let Some(mine) = self.ranges.get_mut(range) {
                *mine = (mine.0 - count, mine.1 - cycles);
            }
        }
        self.edges.retain(|_, count| *count > 0);
        self.ranges.retain(|_, (count, _)| *count > 0);
    }

    /// Lets what was read stand for so many times as much.
    pub fn scale(&mut self, factor: f64) {
        let scale = |count: &mut u64| *count = (*count as f64 * factor).round() as u64;
        self.edges.values_mut().for_each(scale);
        for (count, cycles) in self.ranges.values_mut() {
            scale(count);
            scale(cycles);
        }
    }

    /// Adds what was read from the rings of another hardware context, or in another part of the run.
    pub fn add(&mut self, other: &BranchRecords) {
        for (&edge, count) in &other.edges {
            *self.edges.entry(edge).or_insert(0) += count;
        }
        for (&range, &(count, cycles)) in &other.ranges {
            let sum = self.ranges.entry(range).or_insert((0, 0));
            *sum = (sum.0 + count, sum.1 + cycles);
        }
    }

    /// How often each instruction has run in what was read: the sum over the ranges that it lies in. `executed` are
    /// the addresses of all instructions that have run, in ascending order.
    #[must_use]
    pub fn executions(&self, executed: &[u64]) -> FxHashMap<Key, u64> {
        let mut counts = FxHashMap::default();
        for (&(first, last), &(count, _)) in &self.ranges {
            let from = executed.partition_point(|&pc| pc < first);
            let to = executed.partition_point(|&pc| pc <= last);
            for &pc in executed.get(from..to).unwrap_or_default() {
                *counts.entry(Key::of_program(pc)).or_insert(0) += count;
            }
        }
        counts
    }

    /// Gives the cycles of each range to its instructions, equally. `executed` are the addresses of all
    /// instructions that have run, in ascending order.
    #[must_use]
    pub fn by_instruction(
        &self,
        executed: &[u64],
        units_per_cycle: u64,
    ) -> FxHashMap<(Key, EventSet), u64> {
        let mut weights = FxHashMap::default();
        for (&(first, last), &(_, cycles)) in &self.ranges {
            let from = executed.partition_point(|&pc| pc < first);
            let to = executed.partition_point(|&pc| pc <= last);
            let count = (to - from) as u64;
            if count == 0 {
                continue;
            }
            let (share, mut rest) = (
                cycles * units_per_cycle / count,
                cycles * units_per_cycle % count,
            );
            for &pc in &executed[from..to] {
                let more = u64::from(rest > 0);
                rest -= more;
                *weights
                    .entry((Key::of_program(pc), EventSet::NONE))
                    .or_insert(0) += share + more;
            }
        }
        weights
    }
}
