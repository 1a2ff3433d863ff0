//! When a core looks at its interrupts, and what a handler finds in registers.

use hps_isa::inst::reg;

use super::{Interrupts, Taken};
use crate::pmu::Readings;

/// The interrupts of a core, and when it has to look at them.
#[derive(Clone)]
pub(crate) struct Lines {
    /// From this cycle on every commit may be followed by an interrupt, or be one that is waited for.
    pub look_from: u64,
    /// The boundary behind the last commit, which was in this cycle, is one at which an interrupt is taken.
    pub found: Option<u64>,
    /// Some counter counts events that nobody knows in advance.
    pub count: bool,
    /// In order: no instruction of the program has committed since the last handler returned, so that no
    /// interrupt is taken yet.
    pub waits_for_program: bool,
    /// Of the instruction-driven core: instructions that had committed when its run began.
    pub committed_before: u64,
    pub interrupts: Option<Box<Interrupts>>,
}

hps_isa::save_state! {
    Lines {
        look_from, found, count: skip, waits_for_program, committed_before, interrupts,
    }
}

impl Lines {
    /// No interrupts.
    pub fn none() -> Self {
        Lines {
            look_from: u64::MAX,
            found: None,
            count: false,
            waits_for_program: false,
            committed_before: 0,
            interrupts: None,
        }
    }

    /// Puts interrupts in place.
    pub fn attach(&mut self, interrupts: Interrupts) {
        self.count = interrupts.counts_events();
        self.interrupts = Some(Box::new(interrupts));
        self.plan();
    }

    /// Whether the handler of an interrupt runs, or none is there to come.
    pub fn are_masked(&self) -> bool {
        self.interrupts.as_ref().is_none_or(|i| i.is_in_handler())
    }

    /// The handler's return commits in a cycle.
    pub fn leave(&mut self, cycle: u64) {
        if let Some(interrupts) = &mut self.interrupts {
            interrupts.leave(cycle);
        }
        self.plan();
    }

    /// Finds out from when on to look.
    pub fn plan(&mut self) {
        self.look_from = match &self.interrupts {
            Some(_) if self.waits_for_program => 0,
            Some(interrupts) => interrupts.next_look(),
            None => u64::MAX,
        };
    }

    /// Counts what has happened by the end of cycle `to`, where it has been counted by the end of cycle
    /// `from` before.
    pub fn count_events(&mut self, readings: Readings<'_>, from: u64, to: u64) {
        if let Some(interrupts) = &mut self.interrupts {
            interrupts.count(readings, from, to);
        }
        self.plan();
    }
}

/// Writes what a handler reads into the interrupt registers.
pub(crate) fn set_registers(registers: &mut [u64; reg::COUNT], taken: &Taken) {
    registers[usize::from(reg::INTERRUPT_PC)] = taken.pc;
    registers[usize::from(reg::INTERRUPT_SOURCE)] = taken.source as u64;
    registers[usize::from(reg::INTERRUPT_COUNT)] = taken.count;
    registers[usize::from(reg::INTERRUPT_CYCLE)] = taken.cycle;
}
