//! A chip between two cycles: it is stopped there, and says what it holds.

use std::ops::ControlFlow;

use hps_isa::editor::DecodeEditor;
use hps_isa::inst::OpClass;
use hps_isa::likely::seldom;
use hps_sim_core::machine::Stop;

use super::super::uop::flag;
use super::super::{Context, Processor};
use super::{Chip, earliest};
use crate::contents::{Contents, MemoryOp, Window};
use crate::model::{PipelineProbe, UNKNOWN};

impl<E: DecodeEditor, P: PipelineProbe> Chip<E, P> {
    /// Goes on up to the end of a cycle, or until the program has ended: the reason then. The calls need not end where
    /// calls of [`run`](Self::run) would; nothing else of the run depends on it.
    ///
    /// # Panics
    /// Like [`run`](Self::run).
    pub fn run_to_cycle(&mut self, cycle: u64) -> Option<Stop> {
        self.plan_turns();
        if seldom(self.copies.is_some()) {
            let stop = self.run_with_copies(cycle, u64::MAX);
            self.end_turns();
            return stop;
        }
        let stop = loop {
            let next_cycles = self.processors.iter().map(|one| one.next_cycle);
            let (processor, until) = match &self.hardware_threads {
                None => earliest(next_cycles, |processor, _| processor),
                Some(hardware_threads) => {
                    earliest(next_cycles, |at, cycle| hardware_threads.order(at, cycle))
                }
            };
            let next = self.processors[processor].next_cycle;
            if next > cycle {
                break None;
            }
            let until = match self.shows_memory_events() {
                true => next,
                false => until.min(cycle),
            };
            if let ControlFlow::Break(stop) = self.take_turn(processor, until, u64::MAX) {
                break Some(stop);
            }
        };
        self.end_turns();
        stop
    }

    /// Contents of the tables that a context uses, as of the end of a cycle: those of its core, and those of the chip
    /// that its core reaches. `cycle` has to be the one up to which the chip [has gone on](Self::run_to_cycle).
    ///
    /// # Panics
    /// There is no such context.
    pub fn contents(&mut self, processor: usize, cycle: u64) -> Vec<Contents> {
        self.lend_core_to(processor);
        let Processor {
            context, resources, ..
        } = &self.processors[processor];
        let mut all = resources.memory.contents(&self.shared, cycle);
        all.extend(resources.branches.contents());
        all.extend(context.path.returns());
        self.end_turns();
        all
    }

    /// Instructions and memory operations that a context has in flight.
    ///
    /// # Panics
    /// There is no such context.
    #[must_use]
    pub fn window(&self, processor: usize) -> Window {
        let Processor {
            context, resources, ..
        } = &self.processors[processor];
        Window {
            fetch_pc: context.fetch.pc,
            fetch_from_cycle: context.fetch.stall_until,
            history: context.path.directions(),
            in_order: context.rob.head..context.rob.tail,
            memory: context.memory_in_flight(resources.now),
        }
    }
}

impl<E: DecodeEditor, P: PipelineProbe> Context<E, P> {
    fn memory_in_flight(&self, now: u64) -> Vec<MemoryOp> {
        let stores = &self.stores;
        let committed = (stores.head..stores.commit).map(|at| self.store(at, None, now));
        let mut all: Vec<MemoryOp> = committed.collect();
        for position in self.rob.head..self.rob.tail {
            let op = self.rob.at(self.rob.slot_of(position));
            match op.inst_class() {
                OpClass::Load => all.push(MemoryOp {
                    seq: Some(position),
                    is_store: false,
                    // The address is computed when the load issues.
                    address: op.has(flag::ISSUED).then_some(op.addr),
                    size: op.front.inst.op.access_bytes(),
                    value: None,
                    waits: op.has(flag::PARKED),
                }),
                OpClass::Store | OpClass::Atomic => {
                    all.push(self.store(op.store_pos, Some(position), now));
                }
                _ => {}
            }
        }
        all
    }

    fn store(&self, at: u64, seq: Option<u64>, now: u64) -> MemoryOp {
        let entry = self.stores.get(at);
        let is_there = entry.data_cycle != UNKNOWN && entry.data_cycle <= now;
        MemoryOp {
            seq,
            is_store: true,
            address: entry.addr_known.then_some(entry.addr),
            size: entry.size,
            value: is_there.then_some(entry.data),
            waits: false,
        }
    }
}
