//! Squash: takes the youngest instructions back, youngest first, and turns fetch.

use hps_isa::code::HandlerLink;
use hps_isa::editor::DecodeEditor;
use hps_isa::ids::DisePc;
use hps_isa::inst::{Op, OpClass, reg};

use super::front_queue::oldest_checkpoint;
use super::rob::Slot;
use super::uop::{Front, Inserted, MicroOp, NO_CHECKPOINT, flag};
use super::{Context, Resources};
use crate::model::{
    Cause, IssueStall, PipelineProbe, Restart, Squash, StageRecord, UNKNOWN, branch_kind, kind,
};

impl<E: DecodeEditor, P: PipelineProbe> Context<E, P> {
    /// A mispredicted instruction has executed: what follows it is the wrong path.
    pub(super) fn resolve(&mut self, core: &mut Resources, slot: Slot) {
        let u = *self.rob.at(slot);
        let position = self.rob.position_of(slot);
        let inserted = self.inserted_of(&u, position);
        let link = match u.inst_class() {
            OpClass::DiseReturn => None,
            OpClass::DiseCall
                if u.next_disepc == DisePc::NONE && u.front.inst.op == Op::DiseCcall =>
            {
                let at = inserted.disepc;
                let p = at.production().unwrap_or(0);
                let disepc = DisePc::new(p, at.index().wrapping_add(1));
                Some(HandlerLink {
                    pc: u.front.pc,
                    disepc,
                })
            }
            _ => (E::ENABLED && u.has(flag::HANDLER)).then_some(inserted.link),
        };
        let restart = Restart {
            pc: u.next_pc,
            disepc: u.next_disepc,
            link,
        };
        // Behind a fence there was stale code, and no prediction was wrong.
        let cause = match u.inst_class() {
            OpClass::FenceI => Cause::Serialize,
            _ => Cause::Mispredict,
        };
        let oldest = self.squash_from(core, position + 1, restart, cause);
        if cause == Cause::Mispredict {
            self.fetch.stall_until += core.params.mispredict_extra;
        }
        match branch_kind(u.inst_class()) {
            Some(kind) if u.front.checkpoint != NO_CHECKPOINT => {
                let checkpoint = self.checkpoints.at(usize::from(u.front.checkpoint));
                let taken = u.has(flag::TAKEN);
                self.path
                    .restore(checkpoint, kind, taken, u.next_pc, u.front.fallthrough());
                self.checkpoint_tail = self.checkpoint_after(u.front.checkpoint);
            }
            _ => self.rewind_predictions(oldest),
        }
    }

    /// Everything from this ROB position on runs again.
    pub(super) fn restart_from(&mut self, core: &mut Resources, position: u64, cause: Cause) {
        let u = *self.rob.at(self.rob.slot_of(position));
        let inserted = self.inserted_of(&u, position);
        let restart = Restart {
            pc: u.front.pc,
            disepc: inserted.disepc.again(),
            link: (E::ENABLED && u.has(flag::HANDLER)).then_some(inserted.link),
        };
        let oldest = self.squash_from(core, position, restart, cause);
        self.rewind_predictions(oldest);
    }

    /// Empties the pipeline at the boundary of the last committed instruction, as an interrupt
    /// would: afterwards `process` holds the precise state, and execution goes on from there.
    pub fn drain_to_boundary(&mut self, core: &mut Resources) {
        self.empty_pipeline(core);
        self.process.thread.hart.pc = self.fetch.pc;
        self.process.thread.hart.disepc = self.resume;
    }

    /// Empties the pipeline at the boundary of the last committed instruction, and lets fetch go on at another address.
    pub fn go_on_at(&mut self, core: &mut Resources, pc: u64) {
        self.drain_to_boundary(core);
        self.resume = DisePc::NONE;
        self.fetch.redirect(pc, Cause::Serialize, core.now);
        self.process.thread.hart.pc = pc;
        self.process.thread.hart.disepc = DisePc::NONE;
    }

    pub(super) fn empty_pipeline(&mut self, core: &mut Resources) {
        if !self.rob.is_empty() {
            self.restart_from(core, self.rob.head, Cause::Serialize);
            return;
        }
        let restart = self.restart_of_front_end();
        let oldest = self.squash_from(core, self.rob.tail, restart, Cause::Serialize);
        self.rewind_predictions(oldest);
    }

    /// Where what has not been dispatched yet starts again.
    pub(super) fn restart_of_front_end(&self) -> Restart {
        if let Some(d) = self.front.decoded() {
            let inserted = self.inserted_in_decode(d, self.rob.tail);
            Restart {
                pc: d.pc,
                disepc: inserted.disepc.again(),
                link: (E::ENABLED && d.has(flag::HANDLER)).then_some(inserted.link),
            }
        } else if let Some(x) = &self.expansion {
            Restart {
                pc: x.trigger_pc(),
                disepc: x.position().again(),
                link: None,
            }
        } else {
            let pc = self.front.fetched().map_or(self.fetch.pc, |f| f.pc);
            Restart {
                pc,
                disepc: self.resume,
                link: self.link,
            }
        }
    }

    /// Takes back every instruction at `first` and younger, in the window and before it, and turns
    /// fetch. Returns the oldest branch checkpoint among them; predictors are the caller's.
    fn squash_from(
        &mut self,
        core: &mut Resources,
        first: u64,
        restart: Restart,
        cause: Cause,
    ) -> u16 {
        if let Some(oracle) = &mut self.oracle {
            oracle.lose();
        }
        if P::WANTS_CYCLES && self.rob.tail > first {
            self.observe_squash(core, first);
        }
        let mut oldest = self.drop_fetched(core).unwrap_or(NO_CHECKPOINT);
        if let Some(x) = self.expansion.take() {
            oldest = x.checkpoint().unwrap_or(oldest);
        }
        oldest = self.drop_decoded(core).unwrap_or(oldest);
        while self.rob.tail > first {
            self.rob.tail -= 1;
            let checkpoint = self.undo(core, self.rob.tail);
            if checkpoint != NO_CHECKPOINT {
                oldest = checkpoint;
            }
        }
        for position in self.stores.commit..self.stores.tail {
            let e = self.stores.get_mut(position);
            if e.violator != UNKNOWN && e.violator >= first {
                e.violator = UNKNOWN;
            }
        }
        self.events.squash(first);
        if let Some(order) = &mut self.in_order {
            order.squash(first);
        }
        if E::ENABLED {
            self.editor.squash(first);
        }
        self.decode_stall_until = 0;
        self.decode_gap = None;
        self.decode_waits_for = 0;
        self.link = restart.link;
        self.resume = restart.disepc;
        self.fetch.redirect(restart.pc, cause, core.now);
        oldest
    }

    /// Tells the probe that everything in the window at `first` and younger is taken back.
    fn observe_squash(&mut self, core: &mut Resources, first: u64) {
        let now = core.now;
        let dispatch = |position| self.rob.at(self.rob.slot_of(position)).front.since(now);
        let kept_dispatch_cycle = if first > self.rob.head {
            dispatch(first - 1)
        } else {
            self.last_commit_dispatch
        };
        let last_dispatch_cycle = dispatch(self.rob.tail - 1);
        if last_dispatch_cycle > kept_dispatch_cycle {
            self.probe.squashed(&Squash {
                context: self.id,
                cycle: now,
                kept_dispatch_cycle,
                last_dispatch_cycle,
            });
        }
    }

    /// Drops everything between decode and dispatch. Returns the oldest checkpoint among it.
    fn drop_decoded(&mut self, core: &mut Resources) -> Option<u16> {
        let oldest = oldest_checkpoint(self.front.all_decoded());
        core.stats.squash_instructions += self.front.decoded_len() as u64;
        if P::WANTS_STAGES {
            for (at, d) in self.front.all_decoded().enumerate().rev() {
                let position = self.rob.tail + at as u64;
                let cycles = self.stage_cycles.at(position as usize);
                self.probe.finished(&StageRecord {
                    context: self.id,
                    program: self.process.program(),
                    seq: position,
                    pc: d.pc,
                    disepc: self.inserted_in_decode(d, position).disepc,
                    inst: d.inst,
                    is_program: d.has(flag::PROGRAM),
                    is_handler: d.has(flag::HANDLER),
                    fetch_cycle: cycles.fetch,
                    decode_cycle: cycles.decode,
                    dispatch_cycle: UNKNOWN,
                    issue_cycle: UNKNOWN,
                    complete_cycle: UNKNOWN,
                    end_cycle: core.now,
                    squashed: true,
                    mispredicted: false,
                    cause: d.gap,
                    gap: d.gap,
                    pipe: None,
                    issue_stall: IssueStall::None,
                });
            }
        }
        self.front.clear();
        oldest
    }

    /// Takes back the youngest instruction of the window. Returns its checkpoint.
    #[inline(always)]
    fn undo(&mut self, core: &mut Resources, position: u64) -> u16 {
        let slot = self.rob.slot_of(position);
        let u = *self.rob.at(slot);
        let inst = u.front.inst;
        let (rd, class) = (inst.rd as usize, inst.class);
        core.stats.squash_instructions += 1;
        // Now the producers are again those that it found.
        self.producers[rd] = u.old_producer;
        let hart = &mut self.process.thread.hart;
        hart.r[rd] = u.old_value;
        hart.fcsr = u.old_fcsr;
        if !u.has(flag::ISSUED) {
            core.reservations_used -= 1;
            if kind::of(class) & kind::FLOAT != 0 {
                core.fp_queue_used -= core.params.fp_queue_place;
            }
            if u.has(flag::PARKED) {
                self.unpark(slot);
            } else if u.pending > 0 {
                for register in [inst.rs1, inst.rs2, inst.rs3] {
                    self.forget_source(slot, register);
                }
            } else if !u.has(flag::WAITS_FOR_HEAD) {
                self.scheduler.unschedule(core.now, u.ready_cycle, slot);
            }
        }
        if class.is_memory() {
            self.undo_memory(slot, &u);
        }
        if P::WANTS_STAGES {
            let record = self.record(core, &u, position, true);
            self.probe.finished(&record);
        }
        u.front.checkpoint
    }

    /// A consumer does not wait for the producer of a register any more.
    #[inline]
    fn forget_source(&mut self, slot: Slot, register: u8) {
        let producer = self.producers[register as usize];
        if register != reg::ZERO && producer >= self.rob.head {
            let at = self.rob.slot_of(producer);
            self.scheduler.forget(slot, at);
        }
    }

    #[inline]
    fn undo_memory(&mut self, slot: Slot, u: &MicroOp) {
        let class = u.inst_class();
        if class == OpClass::Store {
            self.forget_source(slot, u.front.inst.rs2);
        } else {
            self.loads_used -= 1;
        }
        if class != OpClass::Load {
            self.stores.pop_youngest();
        }
        if class == OpClass::Atomic {
            self.process.thread.hart.reservation = *self.reservations_before.at(slot.index());
        }
    }

    /// Additions of DISE to an instruction of the window.
    #[inline]
    pub(super) fn inserted_of(&self, u: &MicroOp, position: u64) -> Inserted {
        self.inserted_in_decode(&u.front, position)
    }

    #[inline]
    fn inserted_in_decode(&self, d: &Front, position: u64) -> Inserted {
        if E::ENABLED && d.has(flag::INSERTED) {
            *self.inserted.at(position as usize)
        } else {
            Inserted::NOTHING
        }
    }

    /// The position of an instruction of the window in an expansion.
    #[inline]
    pub(super) fn disepc_of(&self, u: &MicroOp, position: u64) -> DisePc {
        self.inserted_of(u, position).disepc
    }

    /// The record of an instruction of the window at the end of its life.
    pub(super) fn record(
        &self,
        core: &Resources,
        u: &MicroOp,
        position: u64,
        squashed: bool,
    ) -> StageRecord {
        let cycles = self.stage_cycles.at(position as usize);
        let is_memory = u.inst_class().is_memory();
        StageRecord {
            context: self.id,
            program: self.process.program_of(u.inst_class()),
            seq: position,
            pc: u.front.pc,
            disepc: self.disepc_of(u, position),
            inst: u.front.inst,
            is_program: u.has(flag::PROGRAM),
            is_handler: u.has(flag::HANDLER),
            fetch_cycle: cycles.fetch,
            decode_cycle: cycles.decode,
            dispatch_cycle: u.front.since(core.now),
            issue_cycle: cycles.issue,
            complete_cycle: u.complete_cycle,
            end_cycle: core.now,
            squashed,
            mispredicted: u.has(flag::MISPREDICTED),
            cause: if is_memory { u.level } else { Cause::Execute },
            gap: u.front.gap,
            pipe: cycles.pipe,
            issue_stall: cycles.stall,
        }
    }
}
