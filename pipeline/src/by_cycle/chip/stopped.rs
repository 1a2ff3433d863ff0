//! A chip of one context behind a commit, as a debugger shows it: committed state, and what is in flight.

use hps_isa::editor::DecodeEditor;
use hps_isa::hart::Hart;
use hps_isa::ids::DisePc;

use super::super::uop::flag;
use super::super::{Context, Processor};
use super::Chip;
use crate::model::{Flight, InFlight, PipelineProbe, UNKNOWN};

impl<E: DecodeEditor, P: PipelineProbe> Chip<E, P> {
    /// Registers behind the last committed instruction of the first context, with the address of the next one. Unlike
    /// [`drain_to_boundary`](Self::drain_to_boundary) this takes nothing back.
    #[must_use]
    pub fn committed_hart(&self) -> Hart {
        self.first().context.committed_hart()
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
