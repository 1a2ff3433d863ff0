//! Instructions that execute with nothing else in flight: system calls, accesses to control registers, fences of code.

use hps_isa::exec::Outcome;
use hps_sim_core::machine::Stop;
use hps_system::process::{Alone, Then};

use super::commit::Seen;
use super::insts::StaticInst;
use super::path::RightPath;
use super::{DecodeEditor, DrivenCore, Passing};
use crate::model::{Cause, EventSet, Origin, PipelineProbe};

impl<E: DecodeEditor, P: PipelineProbe> DrivenCore<E, P> {
    /// Executes such an instruction.
    #[cold]
    #[inline(never)]
    pub(super) fn execute_serializing(&mut self, i: Passing<'_>) {
        let ready = self.ready(i.inst);
        self.process.thread.hart.counters = self.guest_counters(self.dispatched);
        let in_handler = self.edit.here.origin == Origin::Handler;
        let then = match self.evaluate::<RightPath>(i.inst, i.inst.pc) {
            // An access to a control register.
            Outcome::Next => Then::Next,
            outcome => self.serve(i.inst, outcome, in_handler),
        };
        let predicted = (i.predicted_next, self.edit.here.predicted_disepc);
        let (next_pc, next_disepc) = match then {
            Then::Next => predicted,
            Then::Elsewhere { pc, disepc } => (pc, disepc),
            Then::Exit(status) => {
                self.halted = Some(status);
                predicted
            }
            Then::Fault(cause) => {
                self.faults_at::<RightPath>(i, ready, cause);
                return;
            }
        };
        let when = self.issue::<RightPath>(ready, i.inst);
        self.set_when(i.inst.rd, when);
        let done = self.done(when, Cause::Execute);
        let missed = (next_pc, next_disepc) != predicted;
        // Where a signal led is no target of the instruction.
        let seen = Seen {
            events: EventSet::MISPREDICTED.when(missed),
            ..Seen::straight(i.inst)
        };
        self.commit(i.inst, done, seen);
        if missed {
            self.goes_elsewhere(done, self.restart_at(next_pc, next_disepc));
        }
        if let Some(status) = self.halted {
            self.account_rest_of_cycle(next_pc);
            self.stop = Some(Stop::Exit(status));
        }
    }

    fn serve(&mut self, inst: &StaticInst, outcome: Outcome, in_handler: bool) -> Then {
        let what = match Alone::of(outcome, in_handler) {
            Ok(what) => what,
            Err(cause) => return Then::Fault(cause),
        };
        if what == Alone::Syscall {
            self.stats.syscall_events += 1;
        }
        let (pc, next) = (inst.pc, inst.next());
        let done = self
            .process
            .execute_serializing(&mut self.editor, what, pc, next);
        self.code_changes |= done.code_changed;
        if what == Alone::Syscall && self.process.os.has_deadline() {
            // When the operating system is to be asked again may have changed.
            self.stop = Some(Stop::Limit);
            self.attend_at = 1;
        }
        done.then
    }
}
