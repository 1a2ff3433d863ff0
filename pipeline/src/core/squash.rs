//! Squash: takes the youngest instructions back, youngest first, and turns fetch.

use hps_sim_core::code::HandlerLink;
use hps_sim_core::editor::DecodeEditor;
use hps_sim_core::ids::DisePc;
use hps_sim_core::inst::{Op, OpClass};

use super::cpi::Cause;
use super::fetch::branch_kind;
use super::probe::StageRecord;
use super::uop::{NONE, UNKNOWN, flag};
use super::{Core, PipelineProbe};

/// Where execution goes on: an address, a position in the expansion there, and the handler that
/// it lies in.
#[derive(Clone, Copy)]
struct Restart {
    pc: u64,
    disepc: DisePc,
    link: Option<HandlerLink>,
}

impl<E: DecodeEditor, P: PipelineProbe> Core<E, P> {
    /// A mispredicted instruction has executed: what follows it is the wrong path.
    pub(super) fn resolve(&mut self, slot: u32) {
        let u = *self.rob.at(slot);
        let position = self.rob.position_of(slot);
        let link = match u.inst.class {
            OpClass::DiseReturn => None,
            OpClass::DiseCall if u.next_disepc == DisePc::NONE && u.inst.op == Op::DiseCcall => {
                let p = u.disepc.production().unwrap_or(0);
                let disepc = DisePc::new(p, u.disepc.index().wrapping_add(1));
                Some(HandlerLink { pc: u.pc, disepc })
            }
            _ => u.has(flag::HANDLER).then_some(u.link),
        };
        let restart = Restart {
            pc: u.next_pc,
            disepc: u.next_disepc,
            link,
        };
        let oldest = self.squash_from(position + 1, restart, Cause::Mispredict);
        match branch_kind(u.inst.class) {
            Some(kind) if u.checkpoint != NONE => {
                let at = u.checkpoint as usize & (self.checkpoints.len() - 1);
                let fallthrough = u.pc.wrapping_add(u64::from(u.inst.len));
                let taken = u.has(flag::TAKEN);
                self.branches
                    .restore(&self.checkpoints[at], kind, taken, u.next_pc, fallthrough);
                self.checkpoint_tail = u.checkpoint.wrapping_add(1);
            }
            _ => self.rewind_predictions(oldest),
        }
    }

    /// Everything from this ROB position on runs again.
    pub(super) fn restart_from(&mut self, position: u64, cause: Cause) {
        let u = *self.rob.at(self.rob.slot_of(position));
        let restart = Restart {
            pc: u.pc,
            disepc: again(u.disepc),
            link: u.has(flag::HANDLER).then_some(u.link),
        };
        let oldest = self.squash_from(position, restart, cause);
        self.rewind_predictions(oldest);
    }

    /// Empties the pipeline at the boundary of the last committed instruction, as an interrupt
    /// would: afterwards `process` holds the precise state, and execution goes on from there.
    pub fn drain_to_boundary(&mut self) {
        self.empty_pipeline();
        self.process.hart.pc = self.fetch.pc;
        self.process.hart.disepc = self.resume;
    }

    fn empty_pipeline(&mut self) {
        if !self.rob.is_empty() {
            self.restart_from(self.rob.head, Cause::Serialize);
            return;
        }
        let restart = if let Some(d) = self.decoded.front() {
            Restart {
                pc: d.pc,
                disepc: again(d.disepc),
                link: (d.flags & flag::HANDLER != 0).then_some(d.link),
            }
        } else if let Some(x) = &self.expansion {
            Restart {
                pc: x.trigger_pc(),
                disepc: again(x.position()),
                link: None,
            }
        } else {
            let pc = self.fetched.front().map_or(self.fetch.pc, |f| f.pc);
            Restart {
                pc,
                disepc: self.resume,
                link: self.link,
            }
        };
        let oldest = self.squash_from(self.rob.tail, restart, Cause::Serialize);
        self.rewind_predictions(oldest);
    }

    /// Sets a DISE register from outside, between two instructions of the program.
    pub fn set_dise_register(&mut self, register: u8, value: u64) {
        self.drain_to_boundary();
        self.process.hart.r[register as usize] = value;
    }

    /// Takes back every instruction at `first` and younger, in the window and before it, and turns
    /// fetch. Returns the oldest branch checkpoint among them; predictors are the caller's.
    fn squash_from(&mut self, first: u64, restart: Restart, cause: Cause) -> u32 {
        if let Some(oracle) = &mut self.oracle {
            oracle.lose();
        }
        let mut oldest = self.drop_fetched();
        let mut seq = self.next_seq;
        if let Some(x) = self.expansion.take() {
            oldest = x.checkpoint().unwrap_or(oldest);
        }
        while let Some(d) = self.decoded.pop_back() {
            seq = d.seq;
            if d.checkpoint != NONE {
                oldest = d.checkpoint;
            }
            self.stats.squash_instructions += 1;
            if P::WANTS_STAGES {
                self.probe.finished(&StageRecord {
                    seq: d.seq,
                    pc: d.pc,
                    disepc: d.disepc,
                    inst: d.inst,
                    is_program: d.flags & flag::PROGRAM != 0,
                    is_handler: d.flags & flag::HANDLER != 0,
                    fetch_cycle: d.fetch_cycle,
                    decode_cycle: d.decode_cycle,
                    dispatch_cycle: UNKNOWN,
                    issue_cycle: UNKNOWN,
                    complete_cycle: UNKNOWN,
                    end_cycle: self.now,
                    squashed: true,
                    mispredicted: false,
                    cause: d.gap,
                });
            }
        }
        while self.rob.tail > first {
            self.rob.tail -= 1;
            let slot = self.rob.slot_of(self.rob.tail);
            let u = self.rob.at(slot);
            seq = u.seq;
            if u.checkpoint != NONE {
                oldest = u.checkpoint;
            }
            self.undo(slot);
        }
        for position in self.stores.commit..self.stores.tail {
            let e = self.stores.get_mut(position);
            if e.violator != UNKNOWN && e.violator >= first {
                e.violator = UNKNOWN;
            }
        }
        if E::ENABLED {
            self.editor.squash(seq);
        }
        self.decode_stall_until = 0;
        self.decode_gap = None;
        self.decode_waits_for = 0;
        self.link = restart.link;
        self.resume = restart.disepc;
        self.fetch.redirect(restart.pc, cause, self.now);
        oldest
    }

    /// Takes back the youngest instruction of the window.
    fn undo(&mut self, slot: u32) {
        let u = self.rob.at(slot);
        // What is used below, read out before anything changes: a copy of the whole is 200 bytes.
        let (class, rd, flags, linked) = (u.inst.class, u.inst.rd as usize, u.flags, u.linked);
        let (producers, next_consumers) = (u.producer, u.next_consumer);
        let (old_value, old_fcsr, old_producer) = (u.old_value, u.old_fcsr, u.old_producer);
        self.stats.squash_instructions += 1;
        self.ready.remove(slot, u.pool);
        if flags & flag::ISSUED == 0 {
            self.reservations_used -= 1;
        }
        if flags & flag::PARKED != 0 {
            self.unpark(slot);
        }
        // Consumers enter the lists of their producers in age order, so the youngest is in front.
        for k in (0..3).rev() {
            if linked & (1 << k) != 0 {
                let producer = self.rob.at_mut(producers[k]);
                debug_assert_eq!(producer.first_consumer, slot * 4 + k as u32);
                producer.first_consumer = next_consumers[k];
            }
        }
        if matches!(class, OpClass::Load | OpClass::Atomic) {
            self.loads_used -= 1;
        }
        if matches!(class, OpClass::Store | OpClass::Atomic) {
            self.stores.pop_youngest();
        }
        let hart = &mut self.process.hart;
        if class == OpClass::Atomic {
            hart.reservation = self.reservations_before[slot as usize];
        }
        hart.r[rd] = old_value;
        hart.fcsr = old_fcsr;
        self.producers[rd] = old_producer;
        if P::WANTS_STAGES {
            self.probe
                .finished(&self.rob.at(slot).record(self.now, true));
        }
    }
}

/// Where an instruction starts again: at the beginning of its expansion the editor decides anew,
/// since its decision has been taken back as well.
fn again(disepc: DisePc) -> DisePc {
    if disepc.index() == 0 {
        DisePc::NONE
    } else {
        disepc
    }
}
