//! Decode: where the DISE engine sits.
//!
//! Each fetched instruction either passes or is replaced by a sequence. A call of a handler turns
//! fetch to the handler's code in guest memory; its return turns fetch back to the trigger, which
//! is fetched again and whose expansion goes on behind the call (`PC:DISEPC`).

use hps_isa::code::HandlerLink;
use hps_isa::editor::DecodeEditor;
use hps_isa::ids::DisePc;
use hps_isa::inst::OpClass;
use serde::{Deserialize, Serialize};

use super::front_queue::oldest_checkpoint;
use super::uop::{Front, Inserted, NO_CHECKPOINT, StageCycles, flag};
use super::{Context, Resources};
use crate::model::{Cause, Ends, IssueStall, PipelineProbe, Sent, StageRecord, UNKNOWN, sent};

/// A replacement sequence under way.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Expansion {
    trigger: Front,
    production: u8,
    index: u8,
    /// The trigger itself has been sent on, and with it its branch prediction.
    emitted: bool,
    gap: Cause,
}

hps_isa::save_values!(Expansion);

impl<E: DecodeEditor, P: PipelineProbe> Context<E, P> {
    pub(super) fn decode(&mut self, core: &mut Resources) {
        let now = core.now;
        let room = core.params.decode_buffer - self.front.decoded_len();
        if !E::ENABLED && !E::RELAYOUT && !P::WANTS_STAGES {
            // Nothing stalls decode, and it changes nothing: a run of instructions passes at once.
            let most = core.params.decode_width.min(room);
            let wait = core.params.fetch_to_decode as u32;
            let count = self.front.decode_ripe(now as u32, wait, most);
            core.progressed |= count > 0;
            core.stats.decode_instructions += count as u64;
            return;
        }
        if now < self.decode_stall_until {
            return;
        }
        for _ in 0..core.params.decode_width.min(room) {
            if E::ENABLED {
                if self.decode_waits_for != 0 {
                    return;
                }
                if self.expansion.is_some() {
                    if self.decode_replacement(core) {
                        continue;
                    }
                    return;
                }
            }
            let Some(f) = self.front.fetched() else {
                return;
            };
            if u64::from((now as u32).wrapping_sub(f.cycle)) < core.params.fetch_to_decode {
                return;
            }
            core.progressed = true;
            core.stats.decode_instructions += 1;
            if E::ENABLED && (f.has(flag::MATCHED) || self.resume != DisePc::NONE) {
                let f = *f;
                if self.begins_expansion(core, &f) {
                    self.front.take_fetched();
                    if now < self.decode_stall_until || !self.decode_replacement(core) {
                        return;
                    }
                    continue;
                }
            }
            if self.decode_plain(core) {
                return;
            }
        }
    }

    /// An instruction that is not replaced. True: decode has turned fetch.
    #[inline(always)]
    fn decode_plain(&mut self, core: &mut Resources) -> bool {
        let now = core.now;
        let position = self.decode_position();
        let f = self.front.decode();
        if P::WANTS_STAGES {
            *self.stage_cycles.at_mut(position as usize) = StageCycles::decoded(f.since(now), now);
        }
        f.cycle = now as u32;
        if E::ENABLED {
            if let Some(gap) = self.decode_gap.take() {
                f.gap = gap;
            }
            if self.editor.reads_register(f.inst.rd) {
                self.decode_waits_for = position;
            }
            if let Some(link) = self.link {
                f.flags |= (flag::HANDLER | flag::INSERTED) as u8;
                let f = *f;
                self.insert_handler_instruction(core, &f, position, link);
                return f.inst.class == OpClass::DiseReturn;
            }
        }
        if !E::RELAYOUT || !f.has(flag::MATCHED) {
            f.flags |= flag::PROGRAM as u8;
        }
        E::ENABLED && f.inst.class == OpClass::DiseReturn
    }

    /// Leaves what is particular to an instruction of a handler.
    fn insert_handler_instruction(
        &mut self,
        core: &mut Resources,
        f: &Front,
        position: u64,
        link: HandlerLink,
    ) {
        let returns = f.inst.class == OpClass::DiseReturn;
        // The return of a handler goes where its link says; decode knows that for certain.
        let (predicted_next, predicted_disepc) = if returns {
            (link.pc, link.disepc)
        } else {
            (self.fetched_next(f), DisePc::NONE)
        };
        *self.inserted.at_mut(position as usize) = Inserted {
            disepc: DisePc::NONE,
            predicted_next,
            predicted_disepc,
            link,
        };
        if returns {
            self.return_from_handler(core);
        }
    }

    /// The position that the next instruction to leave decode will have.
    #[inline(always)]
    pub(super) fn decode_position(&self) -> u64 {
        self.rob.tail + self.front.decoded_len() as u64
    }

    /// Asks the editor about an instruction that it may be interested in, and starts or resumes its
    /// expansion.
    fn begins_expansion(&mut self, core: &mut Resources, f: &Front) -> bool {
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
        if self.link.is_some() {
            return false;
        }
        let seq = self.decode_position();
        let Ok(slot) = self.code.lookup(f.pc, &self.process.mem, &self.editor) else {
            return false;
        };
        let decision =
            self.editor
                .decide(seq, slot.mask, f.pc, &f.inst, &self.process.thread.hart.r);
        if decision.stall_cycles > 0 {
            self.decode_stall_until = core.now + u64::from(decision.stall_cycles);
            core.stats.dise_stall_cycles += u64::from(decision.stall_cycles);
            self.decode_gap = Some(Cause::DiseStall);
        }
        let Some(production) = decision.production else {
            return false;
        };
        core.stats.dise_expansion_events += 1;
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

    /// Sends the next replacement instruction on. `false` if decode is done for this cycle.
    fn decode_replacement(&mut self, core: &mut Resources) -> bool {
        let Some(mut x) = self.expansion.take() else {
            return true;
        };
        let f = x.trigger;
        let Some(r) = self
            .editor
            .replacement(x.production, x.index, f.pc, &f.inst)
        else {
            return self.end_expansion(core, &x);
        };
        core.progressed = true;
        let mut checkpoint = NO_CHECKPOINT;
        if r.is_trigger {
            checkpoint = f.checkpoint;
            x.emitted = true;
        }
        let here = x.position();
        let Sent { next, ends } = sent(&r, here, f.pc, (f.fallthrough(), self.fetched_next(&f)));
        let position = self.decode_position();
        *self.inserted.at_mut(position as usize) = Inserted {
            disepc: here,
            predicted_next: next.0,
            predicted_disepc: next.1,
            link: Inserted::NOTHING.link,
        };
        let program = if r.is_trigger { flag::PROGRAM } else { 0 };
        let d = Front {
            inst: r.inst,
            pc: f.pc,
            cycle: core.now as u32,
            checkpoint,
            gap: std::mem::replace(&mut x.gap, Cause::Frontend),
            flags: (flag::INSERTED | program) as u8,
        };
        // Microinstructions read DISE registers in decode: a write to one of those has to execute
        // before anything behind it is decoded.
        if self.editor.reads_register(r.inst.rd) {
            self.decode_waits_for = position;
        }
        if P::WANTS_STAGES {
            *self.stage_cycles.at_mut(position as usize) =
                StageCycles::decoded(f.since(core.now), core.now);
        }
        self.front.insert_decoded(d);
        if ends == Ends::Calls {
            let link = HandlerLink {
                pc: f.pc,
                disepc: here.following(),
            };
            self.call_handler(core, &x, link, r.inst.imm as u64);
            return false;
        }
        if ends == Ends::Leaves {
            return self.end_expansion(core, &x);
        }
        x.index = next.1.index();
        self.expansion = Some(x);
        true
    }

    /// The end of a sequence. If the trigger was a transfer and is not part of what was sent on,
    /// fetch has followed a prediction that no longer holds.
    fn end_expansion(&mut self, core: &mut Resources, x: &Expansion) -> bool {
        let f = &x.trigger;
        let fallthrough = f.fallthrough();
        if x.emitted || self.fetched_next(f) == fallthrough {
            return true;
        }
        self.turn_fetch(core, Some(f), fallthrough);
        false
    }

    fn call_handler(
        &mut self,
        core: &mut Resources,
        x: &Expansion,
        link: HandlerLink,
        handler: u64,
    ) {
        self.link = Some(link);
        // The trigger is fetched, and its branch predicted, once more behind the handler.
        let again = if x.emitted { None } else { Some(&x.trigger) };
        self.turn_fetch(core, again, handler);
    }

    fn return_from_handler(&mut self, core: &mut Resources) {
        if let Some(link) = self.link.take() {
            self.resume = link.disepc;
            if E::INTERRUPTIBLE && link.is_interrupt() {
                return self.return_from_interrupt(core, link.pc);
            }
            self.turn_fetch(core, None, link.pc);
        }
    }

    /// Decode turns fetch: what has been fetched behind is dropped, together with the predictions
    /// made for it (and for `trigger`, if it has to be predicted again).
    fn turn_fetch(&mut self, core: &mut Resources, trigger: Option<&Front>, pc: u64) {
        core.stats.dise_redirect_events += 1;
        if let Some(oracle) = &mut self.oracle {
            oracle.lose();
        }
        let mut oldest = self.drop_fetched(core).unwrap_or(NO_CHECKPOINT);
        if let Some(t) = trigger
            && t.checkpoint != NO_CHECKPOINT
        {
            oldest = t.checkpoint;
        }
        self.rewind_predictions(oldest);
        self.fetch.redirect(pc, Cause::DiseStall, core.now);
    }

    /// Drops everything between fetch and decode. Returns the oldest checkpoint among it.
    pub(super) fn drop_fetched(&mut self, core: &mut Resources) -> Option<u16> {
        let oldest = oldest_checkpoint(self.front.all_fetched());
        core.stats.squash_instructions += self.front.fetched_len() as u64;
        if P::WANTS_STAGES {
            for f in self.front.all_fetched().rev() {
                self.probe.finished(&StageRecord {
                    context: self.id,
                    program: self.process.program(),
                    seq: 0,
                    pc: f.pc,
                    disepc: DisePc::NONE,
                    inst: f.inst,
                    is_program: self.link.is_none(),
                    is_handler: self.link.is_some(),
                    fetch_cycle: f.since(core.now),
                    decode_cycle: UNKNOWN,
                    dispatch_cycle: UNKNOWN,
                    issue_cycle: UNKNOWN,
                    complete_cycle: UNKNOWN,
                    end_cycle: core.now,
                    squashed: true,
                    mispredicted: false,
                    cause: f.gap,
                    gap: f.gap,
                    pipe: None,
                    issue_stall: IssueStall::None,
                });
            }
        }
        self.front.clear_fetched();
        oldest
    }

    /// Brings the predictors back to before the branch that owns this checkpoint.
    pub(super) fn rewind_predictions(&mut self, checkpoint: u16) {
        if checkpoint != NO_CHECKPOINT {
            let at = usize::from(checkpoint);
            self.path.rewind(self.checkpoints.at(at));
            self.checkpoint_tail = checkpoint;
        }
    }
}

impl Expansion {
    /// The trigger.
    pub fn trigger(&self) -> &Front {
        &self.trigger
    }

    /// Address of the trigger.
    pub fn trigger_pc(&self) -> u64 {
        self.trigger.pc
    }

    /// The position that comes next.
    pub fn position(&self) -> DisePc {
        DisePc::new(self.production, self.index)
    }

    /// The checkpoint of the trigger, if it has not been sent on with an instruction.
    pub fn checkpoint(&self) -> Option<u16> {
        (!self.emitted && self.trigger.checkpoint != NO_CHECKPOINT)
            .then_some(self.trigger.checkpoint)
    }
}
