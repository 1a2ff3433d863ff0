//! The probe that keeps what happened to each instruction.

use hps_dise::DiseEngine;
use hps_isa::editor::NoEditor;
use std::collections::BTreeMap;
use std::ops::Range;

use hps_isa::ids::DisePc;
use hps_isa::inst::{Inst, OpClass};
use hps_isa::probe::Probe;
use hps_pipeline::core::{Cause, Commit, EventSet, PipelineProbe, StageRecord, State, Stretch};

use crate::protocol::Share;

/// Stands for a cycle that was never reached.
pub(crate) const NEVER: u64 = u64::MAX;

/// Record of an instruction: its stages, and its end.
#[derive(Clone, Debug)]
pub(crate) struct Kept {
    /// The number of its hardware context.
    pub context: u16,
    pub seq: u64,
    pub pc: u64,
    pub disepc: DisePc,
    pub inst: Inst,
    pub is_program: bool,
    pub is_handler: bool,
    pub squashed: bool,
    pub mispredicted: bool,
    pub cause: Cause,
    pub gap: Cause,
    pub fetch: u64,
    pub decode: u64,
    pub dispatch: u64,
    pub issue: u64,
    pub complete: u64,
    pub end: u64,
    /// Place among the commits; `None` if the instruction was squashed.
    pub commit: Option<u32>,
}

impl Kept {
    pub(crate) fn class(&self) -> OpClass {
        self.inst.class
    }

    pub(crate) fn is_load(&self) -> bool {
        matches!(self.class(), OpClass::Load | OpClass::Atomic)
    }

    pub(crate) fn is_store(&self) -> bool {
        matches!(self.class(), OpClass::Store | OpClass::Atomic)
    }
}

/// A commit, with the parts that questions need.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Committed {
    pub cycle: u64,
    pub pc: u64,
    pub events: EventSet,
    pub addr: u64,
    pub class: OpClass,
    pub is_program: bool,
    pub is_inserted: bool,
    pub taken: bool,
    pub target: u64,
}

/// A stretch of cycles without a commit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Idle {
    pub first: u64,
    pub end: u64,
    pub state: State,
}

/// Keeps instructions, commits and stretches.
#[derive(Debug, Default)]
pub(crate) struct Recorder {
    /// Most rows that are kept: about 100 bytes each.
    most_rows: usize,
    pub rows: Vec<Kept>,
    pub left_out: u64,
    pub commits: Vec<Committed>,
    /// By hardware context.
    pub idle: Vec<Vec<Idle>>,
    /// Commits that stages have been told of.
    finished: u32,
}

impl Recorder {
    /// A recorder that keeps at most `most_rows` instructions, wrong paths included.
    pub(crate) fn new(most_rows: u64) -> Recorder {
        Recorder {
            most_rows: most_rows as usize,
            ..Recorder::default()
        }
    }
}

hps_lab::timed_loops! { NoEditor: Recorder; DiseEngine: Recorder }
hps_lab::attach! { Recorder }

impl Probe for Recorder {}

impl PipelineProbe for Recorder {
    const WANTS_STAGES: bool = true;
    const WANTS_CYCLES: bool = true;

    fn stand_in(&self) -> Option<Recorder> {
        Some(Recorder::default())
    }

    fn finished(&mut self, r: &StageRecord) {
        let commit = (!r.squashed).then_some(self.finished);
        self.finished += u32::from(!r.squashed);
        if self.rows.len() >= self.most_rows {
            self.left_out += 1;
            return;
        }
        self.rows.push(Kept {
            context: r.context.processor,
            seq: r.seq,
            pc: r.pc,
            disepc: r.disepc,
            inst: r.inst,
            is_program: r.is_program,
            is_handler: r.is_handler,
            squashed: r.squashed,
            mispredicted: r.mispredicted,
            cause: r.cause,
            gap: r.gap,
            fetch: r.fetch_cycle,
            decode: r.decode_cycle,
            dispatch: r.dispatch_cycle,
            issue: r.issue_cycle,
            complete: r.complete_cycle,
            end: r.end_cycle,
            commit,
        });
    }

    fn committed(&mut self, commit: &Commit) {
        use hps_pipeline::core::Origin;
        self.commits.push(Committed {
            cycle: commit.cycle,
            pc: commit.pc,
            events: commit.events,
            addr: commit.addr,
            class: commit.class,
            is_program: commit.origin == Origin::Program,
            is_inserted: commit.origin == Origin::Inserted,
            taken: commit.taken,
            target: commit.target,
        });
    }

    fn stretch(&mut self, stretch: &Stretch) {
        let (first, end) = (stretch.first_cycle, stretch.end_cycle());
        let context = usize::from(stretch.context.processor);
        if context >= self.idle.len() {
            self.idle.resize_with(context + 1, Vec::new);
        }
        let idle = &mut self.idle[context];
        match idle.last_mut() {
            Some(last) if last.end == first && last.state == stretch.state => last.end = end,
            _ => idle.push(Idle {
                first,
                end,
                state: stretch.state,
            }),
        }
    }
}

/// Records in the order of fetch, with sums and indices that make questions quick.
#[derive(Debug)]
pub(crate) struct Recorded {
    pub rows: Vec<Kept>,
    pub left_out: u64,
    pub commits: Vec<Committed>,
    idle: Vec<Vec<Idle>>,
    /// The last cycle of any row up to each row.
    last_end: Vec<u64>,
    /// Places of the rows that committed.
    committed: Vec<u32>,
    /// Sums up to and without each block of [`BLOCK`] commits.
    sums: Vec<Sums>,
}

/// Commits of a block of sums.
const BLOCK: usize = 1024;

/// Numbers of commits by class and event.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sums {
    pub program: u64,
    pub branches: u64,
    pub loads: u64,
    pub events: [u64; EventSet::ALL.len()],
}

impl Sums {
    fn add(&mut self, commit: &Committed) {
        self.program += u64::from(commit.is_program);
        self.branches += u64::from(commit.class == OpClass::Branch);
        self.loads += u64::from(matches!(commit.class, OpClass::Load | OpClass::Atomic));
        if !commit.events.is_empty() {
            for (at, (event, _)) in EventSet::ALL.iter().enumerate() {
                self.events[at] += u64::from(commit.events.has(*event));
            }
        }
    }

    /// The events that happened, by name.
    pub(crate) fn by_name(&self) -> BTreeMap<String, u64> {
        let all = EventSet::ALL.iter().zip(self.events);
        all.map(|((_, name), count)| ((*name).to_owned(), count))
            .collect()
    }
}

impl Recorded {
    pub(crate) fn new(recorder: Recorder) -> Recorded {
        let Recorder {
            mut rows,
            left_out,
            commits,
            idle,
            ..
        } = recorder;
        let seq = |row: &Kept| if row.seq == 0 { u64::MAX } else { row.seq };
        rows.sort_by_key(|row| (row.fetch, row.context, seq(row)));
        let mut last = 0;
        let last_end = rows
            .iter()
            .map(|row| {
                last = last.max(row.end);
                last
            })
            .collect();
        let numbered = (0u32..).zip(&rows);
        let committed = numbered.filter(|(_, row)| !row.squashed).map(|(at, _)| at);
        let committed = committed.collect();
        let mut sum = Sums::default();
        let mut sums = Vec::with_capacity(commits.len() / BLOCK + 1);
        for block in commits.chunks(BLOCK) {
            sums.push(sum.clone());
            block.iter().for_each(|commit| sum.add(commit));
        }
        sums.push(sum);
        Recorded {
            rows,
            left_out,
            commits,
            idle,
            last_end,
            committed,
            sums,
        }
    }

    /// Places of the rows that committed, in the order of fetch.
    pub(crate) fn committed(&self) -> &[u32] {
        &self.committed
    }

    /// Number of rows in front of a row that committed.
    pub(crate) fn committed_before(&self, at: usize) -> usize {
        self.committed.partition_point(|&one| (one as usize) < at)
    }

    /// The place of the row of a commit.
    pub(crate) fn row_of_commit(&self, commit: u32) -> Option<usize> {
        self.rows.iter().position(|row| row.commit == Some(commit))
    }

    /// The last cycle of all rows up to and including a row.
    pub(crate) fn last_end(&self, at: usize) -> u64 {
        self.last_end[at]
    }

    /// Address and bytes of a load that got the value of a store in flight.
    pub(crate) fn forwarded_from(&self, row: &Kept) -> Option<(u64, u64)> {
        let commit = self.commits.get(row.commit? as usize)?;
        let is_forwarded = row.is_load() && commit.events.has(EventSet::FORWARDED);
        is_forwarded.then(|| (commit.addr, u64::from(row.inst.op.access_bytes())))
    }

    /// Whether a row is a store that writes some of these bytes.
    pub(crate) fn writes(&self, row: &Kept, (address, bytes): (u64, u64)) -> bool {
        let commit = row.commit.and_then(|at| self.commits.get(at as usize));
        row.is_store()
            && commit.is_some_and(|store| {
                store.addr < address.saturating_add(bytes)
                    && address
                        < store
                            .addr
                            .saturating_add(u64::from(row.inst.op.access_bytes()))
            })
    }

    /// Cycles of a range by what a context does in them.
    pub(crate) fn share(&self, context: u64, cycles: Range<u64>) -> Share {
        let mut share = Share {
            computing: cycles.end - cycles.start,
            stalled: 0,
            flushed: 0,
            drained: 0,
        };
        for idle in self.idle(context, cycles.clone()) {
            let count = idle.end.min(cycles.end) - idle.first.max(cycles.start);
            share.computing -= count;
            *match idle.state {
                State::Stalled(_) => &mut share.stalled,
                State::Flushed(_) => &mut share.flushed,
                State::Drained(_) => &mut share.drained,
            } += count;
        }
        share
    }

    /// A cycle in the middle of the run in which an iteration of the hottest loop begins to commit: what branches go
    /// back to most often. Without a loop the cycle in the middle.
    pub(crate) fn steady(&self) -> u64 {
        let mut taken: BTreeMap<u64, u64> = BTreeMap::new();
        for commit in &self.commits {
            let is_back = commit.taken && commit.class == OpClass::Branch;
            if is_back && commit.is_program && commit.target <= commit.pc {
                *taken.entry(commit.target).or_default() += 1;
            }
        }
        let middle = self.commits.len() / 2;
        let head = taken.into_iter().max_by_key(|&(head, count)| (count, head));
        let mut later = self.commits[middle..].iter();
        let first = match head {
            Some((head, _)) => later.find(|commit| commit.pc == head),
            None => later.next(),
        };
        let commit = first.or(self.commits.get(middle));
        commit.map_or(0, |commit| commit.cycle)
    }

    /// Places of the rows that are in flight in a cycle, in the order of fetch.
    pub(crate) fn in_flight(&self, cycle: u64) -> Vec<usize> {
        let behind = self.rows.partition_point(|row| row.fetch <= cycle);
        let first = self.last_end.partition_point(|&end| end < cycle);
        (first..behind)
            .filter(|&at| self.rows[at].end >= cycle)
            .collect()
    }

    /// Number of instructions that have committed up to and including a cycle.
    pub(crate) fn commits_until(&self, cycle: u64) -> usize {
        self.commits.partition_point(|commit| commit.cycle <= cycle)
    }

    /// Sums over the first commits.
    pub(crate) fn sums(&self, commits: usize) -> Sums {
        let block = commits / BLOCK;
        let mut sum = self.sums[block.min(self.sums.len() - 1)].clone();
        for commit in &self.commits[block * BLOCK..commits] {
            sum.add(commit);
        }
        sum
    }

    /// The stretches of a context that have a cycle of a range.
    pub(crate) fn idle(&self, context: u64, cycles: Range<u64>) -> &[Idle] {
        let Some(all) = self.idle.get(context as usize) else {
            return &[];
        };
        let first = all.partition_point(|idle| idle.end <= cycles.start);
        let behind = all.partition_point(|idle| idle.first < cycles.end);
        &all[first..behind.max(first)]
    }

    /// State of a context in a cycle without a commit; `None` if it has no such state.
    pub(crate) fn idle_in(&self, context: u64, cycle: u64) -> Option<State> {
        let idle = self.idle(context, cycle..cycle + 1);
        idle.first().map(|idle| idle.state)
    }
}
