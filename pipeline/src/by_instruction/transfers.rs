//! Execution of control transfers, and the cycles behind their dispatch.

use hps_isa::editor;
use hps_isa::exec::Turn;
use hps_isa::ids::DisePc;
use hps_isa::inst::OpClass;
use hps_isa::likely::{often, seldom};

use super::commit::Seen;
use super::execute::cause_of;
use super::insts::StaticInst;
use super::path::Path;
use super::{DecodeEditor, DrivenCore, Passing};
use crate::model::{Cause, EventSet, Origin, PipelineProbe};

impl<E: DecodeEditor, P: PipelineProbe> DrivenCore<E, P> {
    /// Executes a control transfer that has been dispatched and predicted, and gives it its further cycles.
    #[inline(never)]
    pub(super) fn execute_transfer<K: Path>(&mut self, passing: Passing<'_>) -> bool {
        if passing.inst.class == OpClass::Branch {
            return self.execute_conditional::<K>(passing);
        }
        self.execute_jump::<K>(passing)
    }

    /// Predicts and then executes a transfer of a group whose cycles are known.
    #[inline(always)]
    pub(super) fn predict_and_execute<K: Path>(&mut self, inst: &StaticInst) -> bool {
        if often(inst.class == OpClass::Branch) {
            return self.predict_and_execute_conditional::<K>(inst);
        }
        self.predict_and_execute_jump::<K>(inst)
    }

    #[inline(never)]
    fn predict_and_execute_conditional<K: Path>(&mut self, inst: &StaticInst) -> bool {
        self.learn(self.fetch.cycle);
        let predicted_next = self.predict_conditional(inst);
        self.execute_conditional::<K>(Passing {
            inst,
            predicted_next,
        })
    }

    #[inline(never)]
    fn predict_and_execute_jump<K: Path>(&mut self, inst: &StaticInst) -> bool {
        self.learn(self.fetch.cycle);
        let predicted_next = self.predict_jump(inst);
        self.execute_jump::<K>(Passing {
            inst,
            predicted_next,
        })
    }

    /// A conditional branch, which is all that may go straight on.
    #[inline(always)]
    fn execute_conditional<K: Path>(&mut self, i: Passing<'_>) -> bool {
        let inst = i.inst;
        let ready = self.ready_by_two(inst);
        let taken = self.is_taken(inst);
        let next = if !taken && E::ENABLED {
            self.not_taken(i)
        } else if !taken {
            (inst.next(), DisePc::NONE)
        } else {
            let target = inst.direct_target(inst.pc);
            (self.place_of_target(inst, target), DisePc::NONE)
        };
        self.finish_transfer::<K>(i, ready, next, taken)
    }

    /// Whether a conditional branch is taken.
    #[inline(always)]
    fn is_taken(&mut self, inst: &StaticInst) -> bool {
        let r = &self.process.thread.hart.r;
        let (a, b) = (r[usize::from(inst.rs1)], r[usize::from(inst.rs2)]);
        let condition = inst.condition();
        if seldom(!condition.is_known()) {
            let (hart, mem) = self.process.hart_and_memory();
            // The branch continues with the next instruction, or elsewhere.
            return !inst.op.straight()(hart, mem, inst, inst.pc);
        }
        condition.holds(a, b)
    }

    /// Any other control transfer.
    #[inline(always)]
    fn execute_jump<K: Path>(&mut self, i: Passing<'_>) -> bool {
        let inst = i.inst;
        let ready = self.ready_by_two(inst);
        let (hart, mem) = self.process.hart_and_memory();
        if inst.class.is_direct() {
            hart.r[usize::from(inst.rd)] = inst.link(inst.pc);
            let next_pc = self.place_of_target(inst, inst.direct_target(inst.pc));
            return self.finish_transfer::<K>(i, ready, (next_pc, DisePc::NONE), true);
        }
        let (Turn::Taken, target) = inst.op.transfer()(hart, mem, inst, inst.pc) else {
            return self.transfer_faults::<K>(i, ready);
        };
        let next_pc = self.place_of_target(inst, target);
        self.finish_transfer::<K>(i, ready, (next_pc, DisePc::NONE), true)
    }

    /// Where an editor has put the code at an address to which an instruction of the program goes.
    #[inline(always)]
    fn place_of_target(&mut self, inst: &StaticInst, target: u64) -> u64 {
        if !E::RELAYOUT || self.edit.here.origin != Origin::Program {
            return target;
        }
        let hart = &mut self.process.thread.hart;
        editor::transfer(&self.editor, hart, inst, inst.pc, target)
    }

    #[cold]
    #[inline(never)]
    fn transfer_faults<K: Path>(&mut self, i: Passing<'_>, ready: u64) -> bool {
        let outcome = self.evaluate::<K>(i.inst, i.inst.pc);
        self.faults_at::<K>(i, ready, cause_of(outcome))
    }

    /// Issues a control transfer, commits it on the right path, and follows a wrong path that begins behind it.
    #[inline(always)]
    fn finish_transfer<K: Path>(
        &mut self,
        i: Passing<'_>,
        ready: u64,
        (next_pc, next_disepc): (u64, DisePc),
        taken: bool,
    ) -> bool {
        let when = self.issue::<K>(ready, i.inst);
        self.set_when(i.inst.rd, when);
        let done = self.done(when, Cause::Execute);
        let mut missed = next_pc != i.predicted_next;
        if E::ENABLED {
            missed |= next_disepc != self.edit.here.predicted_disepc;
        }
        if !K::IS_WRONG {
            let seen = Seen {
                addr: 0,
                next_pc: if taken { next_pc } else { i.inst.next() },
                taken,
                events: EventSet::MISPREDICTED.when(missed),
            };
            let commit = self.commit(i.inst, done, seen);
            self.stats.count_branch(i.inst.class, missed);
            if seldom(missed) {
                // Before the checkpoint goes with the lesson.
                self.begin_wrong_path(i, done, (next_pc, next_disepc), taken);
            }
            self.teach(commit, i.inst, next_pc, taken);
        } else if seldom(missed) {
            self.begin_wrong_path(i, done, (next_pc, next_disepc), taken);
        }
        !missed
    }
}
