//! A chip behind a commit, as a debugger shows and changes it: committed state, and what is in flight.

use hps_isa::editor::DecodeEditor;
use hps_isa::hart::Hart;
use hps_isa::ids::DisePc;
use hps_system::process::Process;

use super::super::uop::flag;
use super::super::{Context, Processor};
use super::Chip;
use crate::model::{Flight, InFlight, PipelineProbe, UNKNOWN};

impl<E: DecodeEditor, P: PipelineProbe> Chip<E, P> {
    /// Registers behind the last committed instruction of a context, with the address of the next one. Unlike
    /// [`drain_to_boundary`](Self::drain_to_boundary) this takes nothing back. `None` if no thread is there.
    #[must_use]
    pub fn committed_hart(&self, processor: usize) -> Option<Hart> {
        let context = &self.processors.get(processor)?.context;
        (!context.rests).then(|| context.committed_hart())
    }

    /// Looks at the process of a context's thread, or changes it: its memory is that of this process. `None` if no thread is
    /// there.
    pub fn with_process<R>(
        &mut self,
        processor: usize,
        look: impl FnOnce(&mut Process) -> R,
    ) -> Option<R> {
        if self.processors.get(processor)?.context.rests {
            return None;
        }
        self.lend_to(processor);
        let result = look(&mut self.processors[processor].context.process);
        self.end_turns();
        Some(result)
    }

    /// [`drain_to_boundary`](Self::drain_to_boundary) of any context. Nothing is done where nothing is in flight.
    pub fn drain_context(&mut self, processor: usize) {
        let now = self.processors.iter().map(|one| one.resources.now).max();
        if self.processors.len() == 1 {
            return self.drain_to_boundary();
        }
        if self.processors[processor].context.has_nothing_in_flight() {
            return;
        }
        self.lend_to(processor);
        self.lend_core_to(processor);
        let one = &mut self.processors[processor];
        if one.resources.paused {
            // The run has ended in the middle of this context's cycle.
            one.context.drain_to_boundary(&mut one.resources);
        } else {
            one.skip_to(now.unwrap_or(0).min(one.next_cycle - 1));
            one.context.empty_between_cycles(&mut one.resources);
            one.next_cycle = one.next_cycle.min(one.resources.now + 1);
        }
        self.end_turns();
    }

    /// The place of the instruction that commits next, as far as that is known.
    #[must_use]
    pub fn next_to_commit(&self) -> (u64, DisePc) {
        self.first().context.next_to_commit()
    }

    /// Empties the pipeline at the boundary of the last committed instruction, and lets fetch go on at another address.
    pub fn go_on_at(&mut self, pc: u64) {
        let Processor {
            context, resources, ..
        } = self.first_mut();
        context.go_on_at(resources, pc);
    }

    /// Instructions that the first context has in flight, the oldest first: the window, and behind it what has been
    /// fetched.
    #[must_use]
    pub fn in_flight(&self) -> Vec<InFlight> {
        let Processor {
            context, resources, ..
        } = self.first();
        let now = resources.now;
        let window = context.rob.head..context.rob.tail;
        let window = window.map(|position| context.flight(position, now));
        let decoded = context
            .front
            .all_decoded()
            .map(|one| (one, Flight::Decoded));
        let fetched = context
            .front
            .all_fetched()
            .map(|one| (one, Flight::Fetched));
        let front = decoded.chain(fetched).map(|(one, state)| InFlight {
            pc: one.pc,
            inst: one.inst,
            // Decode inserts instructions: what has been fetched is the program's, or of a handler.
            is_program: match state {
                Flight::Fetched => !one.has(flag::HANDLER),
                _ => one.has(flag::PROGRAM),
            },
            state,
        });
        window.chain(front).collect()
    }
}

impl<E: DecodeEditor, P: PipelineProbe> Context<E, P> {
    fn has_nothing_in_flight(&self) -> bool {
        let mut front = self.front.all_decoded().chain(self.front.all_fetched());
        self.rob.is_empty() && self.expansion.is_none() && front.next().is_none()
    }

    fn committed_hart(&self) -> Hart {
        let mut hart = self.process.thread.hart.clone();
        for position in (self.rob.head..self.rob.tail).rev() {
            let u = self.rob.at(self.rob.slot_of(position));
            hart.r[usize::from(u.front.inst.rd)] = u.old_value;
            hart.fcsr = u.old_fcsr;
        }
        (hart.pc, hart.disepc) = self.next_to_commit();
        hart
    }

    fn next_to_commit(&self) -> (u64, DisePc) {
        match self.rob.head() {
            Some(head) => (head.front.pc, self.disepc_of(head, self.rob.head)),
            None => {
                let restart = self.restart_of_front_end();
                (restart.pc, restart.disepc)
            }
        }
    }

    fn flight(&self, position: u64, now: u64) -> InFlight {
        let u = self.rob.at(self.rob.slot_of(position));
        let is_known = u.complete_cycle != UNKNOWN;
        let state = if u.has(flag::PARKED) {
            Flight::WaitsForStore
        } else if u.has(flag::WAITS_FOR_HEAD) && !u.has(flag::ISSUED) {
            Flight::WaitsToBeOldest
        } else if !u.has(flag::ISSUED) && u.pending > 0 {
            Flight::WaitsForOperands(u.pending)
        } else if !u.has(flag::ISSUED) {
            Flight::Ready
        } else if is_known && u.complete_cycle <= now {
            Flight::Complete
        } else {
            Flight::Executes {
                until_cycle: is_known.then_some(u.complete_cycle),
                level: u.front.inst.class.is_memory().then_some(u.level),
            }
        };
        InFlight {
            pc: u.front.pc,
            inst: u.front.inst,
            is_program: u.has(flag::PROGRAM),
            state,
        }
    }
}
