//! What executes with nothing else in flight: system calls, accesses to control registers, fences of code.

use hps_sim_core::exec::Outcome;
use hps_sim_core::ids::DisePc;
use hps_sim_core::machine::Stop;
use hps_sim_core::os::SyscallResult;
use hps_sim_core::process::Process;
use hps_sim_core::trap::TrapCause;

use super::commit::Seen;
use super::execute::cause_of;
use super::path::RightPath;
use super::{DecodeEditor, DrivenCore, Passing};
use crate::model::{Cause, EventSet, Origin, PipelineProbe};

impl<E: DecodeEditor, P: PipelineProbe> DrivenCore<E, P> {
    /// Executes such an instruction.
    #[cold]
    #[inline(never)]
    pub(super) fn execute_alone(&mut self, i: Passing<'_>) {
        let ready = self.ready(i.inst);
        self.process.hart.counters = self.guest_counters(self.dispatched);
        let in_handler = self.edit.here.origin == Origin::Handler;
        let (mut next_pc, mut next_disepc) = (i.predicted_next, self.edit.here.predicted_disepc);
        match self.evaluate::<RightPath>(i.inst, i.inst.pc) {
            Outcome::Next => {}
            Outcome::Syscall if !in_handler => {
                self.stats.syscall_events += 1;
                let next = if E::RELAYOUT {
                    let original = self.editor.original(i.inst.pc);
                    original.wrapping_add(u64::from(i.inst.len))
                } else {
                    i.inst.next()
                };
                let Process { hart, mem, os, .. } = &mut self.process;
                hart.pc = next;
                hart.disepc = DisePc::NONE;
                self.code_changes = true;
                match os.syscall(hart, mem) {
                    SyscallResult::Continue => {
                        if hart.pc != next || hart.disepc != DisePc::NONE {
                            // A signal was delivered, or a handler of one returned.
                            (next_pc, next_disepc) = (hart.pc, hart.disepc);
                            if E::RELAYOUT {
                                next_pc = self.editor.place(i.inst.pc, next_pc);
                            }
                        }
                    }
                    SyscallResult::Exit(status) => self.halted = Some(status),
                    SyscallResult::Trap => {
                        self.faults_at::<RightPath>(i, ready, TrapCause::Stopped);
                        return;
                    }
                }
            }
            Outcome::FenceI => {
                // Other machines that run this process later have to know, too.
                self.process.mem.invalidate_code();
                self.code_changes = true;
            }
            Outcome::DiseDrain if in_handler => {
                let mem = &self.process.mem;
                self.editor
                    .drain(&mut |addr, buf| mem.read_bytes(addr, buf).is_ok());
            }
            outcome => {
                self.faults_at::<RightPath>(i, ready, cause_of(outcome));
                return;
            }
        }
        let when = self.issue::<RightPath>(ready, i.inst);
        self.set_when(i.inst.rd, when);
        let done = self.done(when, Cause::Execute);
        let missed = (next_pc, next_disepc) != (i.predicted_next, self.edit.here.predicted_disepc);
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
}
