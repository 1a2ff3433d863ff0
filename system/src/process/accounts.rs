//! Use of the contexts by each program of a run with several processes.

use hps_isa::hart::GuestCounters;
use serde::{Deserialize, Serialize};

use super::{HardwareEvents, Process};
use crate::os::PID;

/// Counts of contexts while a program ran on them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramUsage {
    /// Number of the program's process; 0 if the program has not run.
    pub pid: u32,
    /// Cycles, instructions and time. The system call with which it gives a context away, and the cycles until that is
    /// done, count for the program that goes on.
    pub counters: GuestCounters,
    /// Events, where the machine [counts](super::OfferedEvents) them for each thread.
    pub events: HardwareEvents,
}

/// Counts of a context when it was last given to a program.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Accounts {
    counters: GuestCounters,
    events: HardwareEvents,
    /// The program on the context since then, and its process.
    pub counts_for: Option<(u32, u32)>,
}

impl Accounts {
    /// Accounts of the context on which a run begins.
    pub(super) fn of_first() -> Accounts {
        Accounts {
            counts_for: Some((1, PID)),
            ..Accounts::default()
        }
    }

    /// The program on the context since then, and its use of the context.
    fn since(
        &self,
        counters: GuestCounters,
        events: HardwareEvents,
    ) -> Option<(u32, ProgramUsage)> {
        let (program, pid) = self.counts_for?;
        let usage = ProgramUsage {
            pid,
            counters: counters.since(self.counters),
            events: events.since(self.events),
        };
        Some((program, usage))
    }
}

/// Adds what a program has used to what it had used before.
fn add(all: &mut Vec<ProgramUsage>, program: u32, usage: ProgramUsage) {
    let index = program as usize - 1;
    if all.len() <= index {
        all.resize(index + 1, ProgramUsage::default());
    }
    let one = &mut all[index];
    one.pid = usage.pid;
    one.counters = one.counters.plus(usage.counters);
    one.events = one.events.plus(usage.events);
}

impl Process {
    /// Adds the context's counts since then to the program that was on it, in runs with several programs.
    pub(super) fn account(&mut self) {
        if self.guest.os.later_programs().is_empty() {
            return;
        }
        let (counters, events) = (self.thread.hart.counters, self.thread.events);
        if let Some((program, usage)) = self.accounts.since(counters, events) {
            add(&mut self.guest.os.family.usage, program, usage);
        }
        self.accounts.counters = counters;
        self.accounts.events = events;
    }

    /// Use of the contexts by each program of the run, in the order of their numbers
    /// ([`Linux::program_number`](crate::os::Linux::program_number)). `end` has the counts of this context at the end
    /// of the run. Counts of other contexts since their last system calls belong to no program.
    #[must_use]
    pub fn usage(&self, end: GuestCounters) -> Vec<ProgramUsage> {
        let mut all = self.guest.os.family.usage.clone();
        if let Some((program, usage)) = self.accounts.since(end, self.thread.events) {
            add(&mut all, program, usage);
        }
        all
    }
}
