//! Decode: where the DISE engine sits.
//!
//! Each fetched instruction either passes or is replaced by a sequence. A call of a handler turns
//! fetch to the handler's code in guest memory; its return turns fetch back to the trigger, which
//! is fetched again and whose expansion goes on behind the call (`PC:DISEPC`).

use hps_sim_core::code::HandlerLink;
use hps_sim_core::editor::DecodeEditor;
use hps_sim_core::ids::DisePc;
use hps_sim_core::inst::{Inst, Op, OpClass};

use super::cpi::Cause;
use super::probe::StageRecord;
use super::uop::{Decoded, Fetched, NO_LINK, NONE, UNKNOWN, flag};
use super::{Core, PipelineProbe};

/// A replacement sequence under way.
pub(super) struct Expansion {
    trigger: Fetched,
    production: u8,
    index: u8,
    /// The trigger itself has been sent on, and with it its branch prediction.
    emitted: bool,
    gap: Cause,
}

impl<E: DecodeEditor, P: PipelineProbe> Core<E, P> {
    pub(super) fn decode(&mut self) {
        if self.now < self.decode_stall_until {
            return;
        }
        for _ in 0..self.params.decode_width {
            if self.decoded.len() >= self.params.decode_buffer {
                return;
            }
            if E::ENABLED {
                if self.decode_waits_for != 0 {
                    return;
                }
                if self.expansion.is_some() {
                    if self.decode_replacement() {
                        continue;
                    }
                    return;
                }
            }
            let Some(f) = self.fetched.front() else {
                return;
            };
            if f.ready_cycle > self.now {
                return;
            }
            let f = *f;
            self.fetched.pop_front();
            self.progressed = true;
            self.stats.decode_instructions += 1;
            if E::ENABLED && self.begins_expansion(&f) {
                if self.now < self.decode_stall_until || !self.decode_replacement() {
                    return;
                }
                continue;
            }
            self.decode_plain(&f);
            if E::ENABLED && f.inst.class == OpClass::DiseReturn {
                return;
            }
        }
    }

    /// An instruction that is not replaced.
    #[inline]
    fn decode_plain(&mut self, f: &Fetched) {
        // Without an editor there are no handlers; the compiler sees it here.
        let link = if E::ENABLED { self.link } else { None };
        let flags = match (link, f.fault) {
            (None, None) => flag::PROGRAM,
            (None, Some(_)) => flag::PROGRAM | flag::FETCH_FAULT,
            (Some(_), None) => flag::HANDLER,
            (Some(_), Some(_)) => flag::HANDLER | flag::FETCH_FAULT,
        };
        let seq = self.take_seq();
        let gap = self.decode_gap.take().unwrap_or(f.gap);
        // The return of a handler goes where its link says; decode knows that for certain.
        let (predicted_next, predicted_disepc) = match link {
            Some(link) if f.inst.class == OpClass::DiseReturn => (link.pc, link.disepc),
            _ => (f.predicted_next, DisePc::NONE),
        };
        let (now, ready_cycle) = (self.now, self.now + self.params.decode_to_dispatch);
        *self.decoded.push() = Decoded {
            seq,
            pc: f.pc,
            inst: f.inst,
            disepc: DisePc::NONE,
            predicted_disepc,
            flags,
            checkpoint: f.checkpoint,
            predicted_next,
            link: link.unwrap_or(NO_LINK),
            ready_cycle,
            fetch_cycle: f.fetch_cycle,
            decode_cycle: now,
            fault: f.fault,
            gap,
        };
        if E::ENABLED {
            self.wait_for_register_write(seq, &f.inst);
            if f.inst.class == OpClass::DiseReturn {
                self.return_from_handler(link);
            }
        }
    }

    #[inline]
    fn take_seq(&mut self) -> u64 {
        let seq = self.next_seq;
        self.next_seq += 1;
        seq
    }

    /// Microinstructions read DISE registers in decode: a write to one of those has to execute
    /// before anything behind it is decoded.
    #[inline]
    fn wait_for_register_write(&mut self, seq: u64, inst: &Inst) {
        if self.editor.reads_register(inst.rd) {
            self.decode_waits_for = seq;
        }
    }

    /// Asks the editor about an instruction, and starts or resumes its expansion.
    #[inline]
    fn begins_expansion(&mut self, f: &Fetched) -> bool {
        let gap = self.decode_gap.unwrap_or(f.gap);
        if self.resume != DisePc::NONE {
            let at = std::mem::replace(&mut self.resume, DisePc::NONE);
            self.decode_gap = None;
            self.expansion = Some(Expansion {
                trigger: *f,
                production: at.production().unwrap_or(0),
                index: at.index(),
                emitted: false,
                gap,
            });
            return true;
        }
        if f.mask == 0 || self.link.is_some() || f.fault.is_some() {
            return false;
        }
        let decision =
            self.editor
                .decide(self.next_seq, f.mask, f.pc, &f.inst, &self.process.hart.r);
        if decision.stall_cycles > 0 {
            self.decode_stall_until = self.now + u64::from(decision.stall_cycles);
            self.stats.dise_stall_cycles += u64::from(decision.stall_cycles);
            self.decode_gap = Some(Cause::DiseStall);
        }
        let Some(production) = decision.production else {
            return false;
        };
        self.stats.dise_expansion_events += 1;
        let gap = self.decode_gap.take().unwrap_or(gap);
        self.expansion = Some(Expansion {
            trigger: *f,
            production,
            index: 0,
            emitted: false,
            gap,
        });
        true
    }

    /// Sends the next replacement instruction on. False: decode is done for this cycle.
    fn decode_replacement(&mut self) -> bool {
        let Some(mut x) = self.expansion.take() else {
            return true;
        };
        let f = x.trigger;
        let Some(r) = self
            .editor
            .replacement(x.production, x.index, f.pc, &f.inst)
        else {
            return self.end_expansion(&x);
        };
        self.progressed = true;
        let fallthrough = f.pc.wrapping_add(u64::from(f.inst.len));
        let seq = self.take_seq();
        // What follows if nothing is mispredicted: the next position, unless this is the last.
        let mut next = (f.pc, DisePc::new(x.production, x.index.wrapping_add(1)));
        let mut checkpoint = NONE;
        let mut leaves = r.is_last;
        if r.is_trigger {
            checkpoint = f.checkpoint;
            x.emitted = true;
            leaves |= f.predicted_next != fallthrough;
        }
        if leaves {
            let target = if x.emitted {
                f.predicted_next
            } else {
                fallthrough
            };
            next = (
                if r.is_trigger { target } else { fallthrough },
                DisePc::NONE,
            );
        }
        if matches!(r.inst.op, Op::DiseBr) {
            next = (f.pc, DisePc::new(x.production, r.inst.imm as u8));
            leaves = false;
        }
        let (now, ready_cycle) = (self.now, self.now + self.params.decode_to_dispatch);
        *self.decoded.push() = Decoded {
            seq,
            pc: f.pc,
            inst: r.inst,
            disepc: DisePc::new(x.production, x.index),
            predicted_disepc: next.1,
            flags: if r.is_trigger { flag::PROGRAM } else { 0 },
            checkpoint,
            predicted_next: next.0,
            link: NO_LINK,
            ready_cycle,
            fetch_cycle: f.fetch_cycle,
            decode_cycle: now,
            fault: None,
            gap: std::mem::replace(&mut x.gap, Cause::Frontend),
        };
        self.wait_for_register_write(seq, &r.inst);
        if r.inst.class == OpClass::DiseCall && r.inst.op == Op::DiseCall {
            let link = HandlerLink {
                pc: f.pc,
                disepc: DisePc::new(x.production, x.index + 1),
            };
            if let Some(d) = self.decoded.back_mut() {
                d.predicted_next = r.inst.imm as u64;
                d.predicted_disepc = DisePc::NONE;
            }
            self.call_handler(&x, link, r.inst.imm as u64);
            return false;
        }
        if leaves {
            return self.end_expansion(&x);
        }
        x.index = next.1.index();
        self.expansion = Some(x);
        true
    }

    /// The end of a sequence. If the trigger was a transfer and is not part of what was sent on,
    /// fetch has followed a prediction that no longer holds.
    fn end_expansion(&mut self, x: &Expansion) -> bool {
        let f = &x.trigger;
        let fallthrough = f.pc.wrapping_add(u64::from(f.inst.len));
        if x.emitted || f.predicted_next == fallthrough {
            return true;
        }
        self.turn_fetch(Some(f), fallthrough);
        false
    }

    fn call_handler(&mut self, x: &Expansion, link: HandlerLink, handler: u64) {
        self.link = Some(link);
        // The trigger is fetched, and its branch predicted, once more behind the handler.
        let again = if x.emitted { None } else { Some(&x.trigger) };
        self.turn_fetch(again, handler);
    }

    fn return_from_handler(&mut self, link: Option<HandlerLink>) {
        self.link = None;
        if let Some(link) = link {
            self.resume = link.disepc;
            self.turn_fetch(None, link.pc);
        }
    }

    /// Decode turns fetch: what has been fetched behind is dropped, together with the predictions
    /// made for it (and for `trigger`, if it has to be predicted again).
    fn turn_fetch(&mut self, trigger: Option<&Fetched>, pc: u64) {
        self.stats.dise_redirect_events += 1;
        if let Some(oracle) = &mut self.oracle {
            oracle.lose();
        }
        let mut oldest = self.drop_fetched();
        if let Some(t) = trigger
            && t.checkpoint != NONE
        {
            oldest = t.checkpoint;
        }
        self.rewind_predictions(oldest);
        self.fetch.redirect(pc, Cause::DiseStall, self.now);
    }

    /// Drops everything between fetch and decode. Returns the oldest checkpoint among it.
    pub(super) fn drop_fetched(&mut self) -> u32 {
        let mut oldest = NONE;
        while let Some(f) = self.fetched.pop_back() {
            if f.checkpoint != NONE {
                oldest = f.checkpoint;
            }
            self.stats.squash_instructions += 1;
            if P::WANTS_STAGES {
                self.probe.finished(&StageRecord {
                    seq: 0,
                    pc: f.pc,
                    disepc: DisePc::NONE,
                    inst: f.inst,
                    is_program: self.link.is_none(),
                    is_handler: self.link.is_some(),
                    fetch_cycle: f.fetch_cycle,
                    decode_cycle: UNKNOWN,
                    dispatch_cycle: UNKNOWN,
                    issue_cycle: UNKNOWN,
                    complete_cycle: UNKNOWN,
                    end_cycle: self.now,
                    squashed: true,
                    mispredicted: false,
                    cause: f.gap,
                });
            }
        }
        oldest
    }

    /// Brings the predictors back to before the branch that owns this checkpoint.
    pub(super) fn rewind_predictions(&mut self, checkpoint: u32) {
        if checkpoint != NONE {
            let at = checkpoint as usize & (self.checkpoints.len() - 1);
            self.branches.rewind(&self.checkpoints[at]);
            self.checkpoint_tail = checkpoint;
        }
    }
}

impl Expansion {
    /// Address of the trigger.
    pub fn trigger_pc(&self) -> u64 {
        self.trigger.pc
    }

    /// The position that comes next.
    pub fn position(&self) -> DisePc {
        DisePc::new(self.production, self.index)
    }

    /// The checkpoint of the trigger, if it has not been sent on with an instruction.
    pub fn checkpoint(&self) -> Option<u32> {
        (!self.emitted && self.trigger.checkpoint != NONE).then_some(self.trigger.checkpoint)
    }
}
