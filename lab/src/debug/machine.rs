//! Machines as a debugger sees them: stopped between two instructions of the program.

use hps_dise::DiseEngine;
use hps_isa::editor::NoEditor;
use hps_isa::hart::Hart;
use hps_isa::ids::DisePc;
use hps_isa::probe::NoProbe;
use hps_isa::state::SaveState;
use hps_pipeline::contents::Contents;
use hps_pipeline::core::{CoreStats, CpiStack, EitherCore, InFlight};
use hps_pipeline::memsys::MemoryStats;
use hps_sim_core::machine::{Machine, Stop};
use hps_system::process::Process;

use crate::checkpoint::run::{Stepped, Watched};
use crate::edit::{Edit, Editable};
use crate::loops::{FunctionalLoop, TimedLoop};

/// A machine of one context that stops between two instructions and shows the state there.
pub(crate) trait Debugged: Stepped {
    /// The process on the context. Registers of the thread there are those of [`hart`](Self::hart).
    fn process(&self) -> &Process;

    /// Executes up to `limit` further instructions of the program. A run in parts of any length is one run.
    fn go_on(&mut self, limit: u64) -> Stop;

    /// Lets the operating system do what is due before the next instruction, where that is not the cycles' business.
    fn settle(&mut self) -> Option<Stop>;

    /// The instruction that comes next: its address, and its position in an expansion.
    fn next(&self) -> (u64, DisePc);

    /// Registers of the thread on the context behind the last instruction that has been executed, or has committed.
    fn hart(&self) -> Hart;

    /// Makes a change. `false` if it cannot be made: memory is not mapped.
    fn apply(&mut self, edit: &Edit) -> bool;

    /// Counters of a timed run, its commit slots by owner, and what its memory system counts.
    fn timing(&self) -> Option<(CoreStats, CpiStack, MemoryStats)> {
        None
    }

    /// Contents of caches, TLBs and predictors, if the core has them as of a cycle.
    fn contents(&mut self) -> Option<Vec<Contents>> {
        None
    }

    /// Instructions in flight, if the core has any.
    fn in_flight(&self) -> Option<Vec<InFlight>> {
        None
    }

    /// The DISE engine of the decode stage.
    fn engine(&self) -> Option<&DiseEngine>;
}

/// An editor whose state the debugger shows.
pub trait ShownEditor: SaveState {
    /// The DISE engine, if it is one.
    fn engine(&self) -> Option<&DiseEngine>;
}

impl ShownEditor for NoEditor {
    fn engine(&self) -> Option<&DiseEngine> {
        None
    }
}

impl ShownEditor for DiseEngine {
    fn engine(&self) -> Option<&DiseEngine> {
        Some(self)
    }
}

impl<E: FunctionalLoop<NoProbe> + ShownEditor> Debugged for Watched<E, NoProbe> {
    fn process(&self) -> &Process {
        &self.machine.process
    }

    fn go_on(&mut self, limit: u64) -> Stop {
        self.run(limit)
    }

    fn settle(&mut self) -> Option<Stop> {
        Machine::settle(&mut self.machine, &mut NoProbe)
    }

    fn next(&self) -> (u64, DisePc) {
        let hart = &self.machine.process.thread.hart;
        (hart.pc, hart.disepc)
    }

    fn hart(&self) -> Hart {
        self.machine.process.thread.hart.clone()
    }

    fn apply(&mut self, edit: &Edit) -> bool {
        self.machine.edit(0, edit).is_ok()
    }

    fn engine(&self) -> Option<&DiseEngine> {
        self.machine.editor.engine()
    }
}

impl<E: TimedLoop<NoProbe> + ShownEditor> Debugged for EitherCore<E, NoProbe> {
    fn process(&self) -> &Process {
        EitherCore::process(self)
    }

    fn go_on(&mut self, limit: u64) -> Stop {
        match self.stats().cycles {
            0 => TimedLoop::run(self, limit),
            _ => TimedLoop::go_on(self, limit),
        }
    }

    fn settle(&mut self) -> Option<Stop> {
        None
    }

    fn next(&self) -> (u64, DisePc) {
        self.next_to_commit()
    }

    fn hart(&self) -> Hart {
        self.committed_hart()
    }

    fn apply(&mut self, edit: &Edit) -> bool {
        self.edit(0, edit).is_ok()
    }

    fn timing(&self) -> Option<(CoreStats, CpiStack, MemoryStats)> {
        Some((*self.stats(), *self.cpi(), self.memory_stats()))
    }

    fn contents(&mut self) -> Option<Vec<Contents>> {
        match self {
            EitherCore::Cycle(chip) => {
                let cycle = chip.stats().cycles;
                Some(chip.contents(0, cycle))
            }
            EitherCore::Instruction(_) => None,
        }
    }

    fn in_flight(&self) -> Option<Vec<InFlight>> {
        match self {
            EitherCore::Cycle(chip) => Some(chip.in_flight()),
            EitherCore::Instruction(_) => None,
        }
    }

    fn engine(&self) -> Option<&DiseEngine> {
        self.editor().engine()
    }
}
