//! What the machine holds in a cycle.

use std::collections::BTreeMap;

use hps_pipeline::core::{Cause, State};

use crate::protocol::{CycleView, Slot};
use crate::recorder::{Kept, Recorded};
use crate::session::Session;

impl Session {
    /// The contents of queues, units and the reorder buffer, as the stages of all instructions tell them.
    pub(crate) fn cycle_view(&self, recorded: &Recorded, cycle: u64) -> CycleView {
        let in_flight = recorded.in_flight(cycle);
        let mut rob: Vec<usize> = Vec::new();
        let mut front = Vec::new();
        let mut committed = Vec::new();
        for &at in &in_flight {
            let row = &recorded.rows[at];
            if row.end == cycle && !row.squashed {
                committed.push(self.row(recorded, at));
            }
            // What leaves in this cycle makes room in it.
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
        let machine = &self.ready().machine;
        let units = &machine.units;
        let mut view = CycleView {
            cycle,
            state: self.state_in(recorded, cycle, !committed.is_empty()),
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
            let address = machine.issue.issue_to_execute_cycles + unit.latency_cycles;
            let stage = stage(row, cycle, u64::from(address));
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

    fn state_in(&self, recorded: &Recorded, cycle: u64, commits: bool) -> String {
        if commits {
            return "computing".to_owned();
        }
        match recorded.idle_in(cycle) {
            Some(State::Stalled(cause)) => format!("stalled: {}", cause.name()),
            Some(State::Flushed(_)) => match recorded.idle_in(cycle).map(State::cause) {
                Some(cause) => format!("flushed: {}", cause.name()),
                None => "flushed".to_owned(),
            },
            Some(State::Drained(cause)) => format!("drained: {}", cause.name()),
            None => "not running".to_owned(),
        }
    }
}

/// What an instruction in the window does in a cycle. A load leaves its unit when it has its address, so many cycles
/// behind its issue.
fn stage(row: &Kept, cycle: u64, address: u64) -> &'static str {
    if row.issue > cycle {
        "waiting"
    } else if row.complete > cycle && row.is_load() && row.issue + address <= cycle {
        "memory"
    } else if row.complete > cycle {
        "executing"
    } else {
        "done"
    }
}

/// The level that serves a load which missed the first one.
fn level(row: &Kept) -> Option<&'static str> {
    Some(match row.cause {
        Cause::LoadL2 => "level 2",
        Cause::LoadL3 => "level 3",
        Cause::LoadMemory => "memory",
        Cause::DTlb => "page tables",
        Cause::LoadCore => "another core",
        _ => return None,
    })
}
