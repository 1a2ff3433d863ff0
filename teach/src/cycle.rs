//! The machine's queues, units and reorder buffer in a cycle.

use std::collections::BTreeMap;
use std::ops::Range;

use hps_pipeline::core::{Cause, State};

use crate::protocol::{CycleView, Slot, StateSpan};
use crate::recorder::{Kept, Recorded};
use crate::session::Session;
use crate::step::{Behind, Step};

impl Session {
    /// The contents of queues, units and the reorder buffer, as the stages of all instructions tell them.
    pub(crate) fn cycle_view(&self, recorded: &Recorded, cycle: u64, context: u64) -> CycleView {
        let mut in_flight = recorded.in_flight(cycle);
        in_flight.retain(|&at| u64::from(recorded.rows[at].context) == context);
        let mut rob: Vec<usize> = Vec::new();
        let mut front = Vec::new();
        let mut committed = Vec::new();
        for &at in &in_flight {
            let row = &recorded.rows[at];
            if row.end == cycle && !row.squashed {
                committed.push(self.row(recorded, at));
            }
            // An instruction that leaves in this cycle makes room in it.
            if row.end == cycle {
                continue;
            }
            if row.dispatch <= cycle {
                rob.push(at);
            } else {
                front.push(self.row(recorded, at));
            }
        }
        rob.sort_by_key(|&at| (recorded.rows[at].seq, at));
        let units = &self.ready().machine.units;
        let mut view = CycleView {
            cycle,
            state: state_in(recorded, cycle, context, !committed.is_empty()),
            front,
            rob: Vec::with_capacity(rob.len()),
            committed,
            loads: 0,
            stores: 0,
            waiting: 0,
            busy: BTreeMap::new(),
            misses: BTreeMap::new(),
            so_far: BTreeMap::new(),
            commits_so_far: 0,
            instructions_so_far: 0,
            branches_so_far: 0,
            loads_so_far: 0,
            first_row: in_flight.first().map_or(0, |&at| at as u64),
        };
        for at in rob {
            let row = &recorded.rows[at];
            let (_, unit) = units.of(row.class());
            let step = Step::of(&self.ready().machine);
            let stage = match step.and_then(|step| step.behind(recorded, at)) {
                Some(behind) => stage_in_step(&behind, cycle),
                None => stage(row, cycle, self.read_cycles(), self.address_cycles(row)),
            };
            view.loads += u64::from(row.is_load());
            view.stores += u64::from(row.is_store());
            match stage {
                "waiting" => view.waiting += 1,
                "executing" => *view.busy.entry(unit.pool.clone()).or_default() += 1,
                "memory" => {
                    if let Some(level) = level(row) {
                        *view.misses.entry(level.to_owned()).or_default() += 1;
                    }
                }
                _ => {}
            }
            view.rob.push(Slot {
                row: self.row(recorded, at),
                stage: stage.to_owned(),
                pool: unit.pool.clone(),
                queue: match (row.is_load(), row.is_store()) {
                    (_, true) => "store",
                    (true, _) => "load",
                    _ => "",
                }
                .to_owned(),
            });
        }
        let commits = recorded.commits_until(cycle);
        let sums = recorded.sums(commits);
        view.so_far = sums.by_name();
        view.commits_so_far = commits as u64;
        view.instructions_so_far = sums.program;
        view.branches_so_far = sums.branches;
        view.loads_so_far = sums.loads;
        view
    }
}

impl Session {
    /// Cycles from the issue of an instruction to its first cycle in a unit.
    pub(crate) fn read_cycles(&self) -> u64 {
        u64::from(self.ready().machine.issue.issue_to_execute_cycles)
    }

    /// Cycles from the issue of a load until it has its address.
    pub(crate) fn address_cycles(&self, row: &Kept) -> u64 {
        let machine = &self.ready().machine;
        let (_, unit) = machine.units.of(row.class());
        self.read_cycles() + u64::from(unit.latency_cycles)
    }
}

fn state_in(recorded: &Recorded, cycle: u64, context: u64, commits: bool) -> String {
    if commits {
        return "computing".to_owned();
    }
    match recorded.idle_in(context, cycle) {
        Some(state) => format!("{}: {}", name(state), state.cause().name()),
        None => "not running".to_owned(),
    }
}

fn name(state: State) -> &'static str {
    match state {
        State::Stalled(_) => "stalled",
        State::Flushed(_) => "flushed",
        State::Drained(_) => "drained",
    }
}

/// States of a context in cycles without a commit.
pub(crate) fn states(recorded: &Recorded, cycles: Range<u64>, context: u64) -> Vec<StateSpan> {
    let spans = recorded.idle(context, cycles.clone()).iter();
    let spans = spans.map(|idle| StateSpan {
        first: idle.first.max(cycles.start),
        end: idle.end.min(cycles.end),
        state: name(idle.state).to_owned(),
        cause: idle.state.cause().name().to_owned(),
    });
    spans.collect()
}

/// Stage of an instruction of the window in a cycle. It enters its unit `read` cycles behind its issue. A load or store
/// leaves its unit when it has its address, `address` cycles behind its issue.
fn stage(row: &Kept, cycle: u64, read: u64, address: u64) -> &'static str {
    if row.issue > cycle {
        "waiting"
    } else if row.issue + read > cycle {
        "reading"
    } else if row.complete > cycle && row.class().is_memory() && row.issue + address <= cycle {
        if row.is_load() { "memory" } else { "data" }
    } else if row.complete > cycle {
        "executing"
    } else {
        "done"
    }
}

/// Stage of an instruction that goes through them in step. It reads its registers in the last cycle before execution.
fn stage_in_step(behind: &Behind, cycle: u64) -> &'static str {
    if cycle + 1 < behind.execute {
        "waiting"
    } else if cycle < behind.execute {
        "reading"
    } else if behind.memory.is_none_or(|memory| cycle < memory) {
        "executing"
    } else {
        "memory"
    }
}

/// The level that serves a load which missed the first one.
pub(crate) fn level(row: &Kept) -> Option<&'static str> {
    Some(match row.cause {
        Cause::LoadL2 => "level 2",
        Cause::LoadL3 => "level 3",
        Cause::LoadMemory => "memory",
        Cause::DTlb => "page tables",
        Cause::LoadCore => "another core",
        _ => return None,
    })
}
