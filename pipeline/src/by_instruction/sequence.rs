//! Decode with an editor: sequences in place of instructions, and handlers. The rules are those of
//! `by_cycle/decode.rs`, where they are explained.

use hps_isa::code::{CodeCache, HandlerLink};
use hps_isa::exec::Outcome;
use hps_isa::ids::DisePc;
use hps_isa::inst::{Inst, OpClass};

use super::commit::Seen;
use super::edit::{Edited, Expansion, Gone};
use super::execute::cause_of;
use super::fetch::Pace;
use super::insts::StaticInst;
use super::path::{Path, WrongPath};
use super::{DecodeEditor, DrivenCore, NEVER, Passing};
use crate::model::{
    Cause, Ends, EventSet, Origin, PipelineProbe, Restart, Sent, UNKNOWN_TARGET, branch_kind,
    not_taken, sent,
};

impl<E: DecodeEditor, P: PipelineProbe> DrivenCore<E, P> {
    /// Where execution continues behind the last instruction.
    pub(super) fn next_restart(&self) -> Restart {
        match &self.edit.expansion {
            Some(x) => Restart {
                pc: x.pc,
                disepc: x.position().again(),
                link: None,
            },
            None => Restart {
                pc: self.fetch.pc,
                disepc: self.edit.resume,
                link: self.edit.link,
            },
        }
    }

    /// At an address and a position there, where the instruction on its way is: in its handler or outside.
    #[inline(always)]
    pub(super) fn restart_at(&self, pc: u64, disepc: DisePc) -> Restart {
        let link = if E::ENABLED {
            self.edit.here.link
        } else {
            None
        };
        Restart { pc, disepc, link }
    }

    /// Where the instruction at `pc` that is on its way starts again.
    pub(super) fn restart_here(&self, pc: u64) -> Restart {
        self.restart_at(pc, self.edit.here.disepc.again())
    }

    /// Asks the editor about an instruction that decode takes in `decode`. True: its expansion begins or goes
    /// on, and it has no position of its own.
    #[inline(never)]
    pub(super) fn begins_expansion(
        &mut self,
        inst: &Inst,
        mask: u32,
        (pc, fetched_next): (u64, u64),
        decode: u64,
    ) -> bool {
        let mut x = Expansion {
            trigger: *inst,
            pc,
            fetched_next,
            production: 0,
            index: 0,
            emitted: false,
            since: decode,
            from: decode,
            stalled_until: self.edit.here.stalled_until,
            gap: None,
        };
        if self.edit.resume != DisePc::NONE {
            let at = std::mem::replace(&mut self.edit.resume, DisePc::NONE);
            x.production = at.production().unwrap_or(0);
            x.index = at.index();
        } else if self.edit.link.is_some() {
            return false;
        } else {
            let seq = self.position;
            if self.depth == 0 && seq > 0 {
                self.editor.commit(seq - 1);
            }
            let regs = &self.process.thread.hart.r;
            let decision = self.editor.decide(seq, mask, pc, inst, regs);
            if decision.stall_cycles > 0 {
                let stall = u64::from(decision.stall_cycles);
                self.edit.stall(decode, stall);
                self.edit.is_edited = true;
                self.fetch.pace = Pace::Uneven;
                self.stats.dise_stall_cycles += stall;
                x.gap = Some(Cause::DiseStall);
                x.from = decode + stall;
            }
            let Some(production) = decision.production else {
                self.edit.here.gap = x.gap;
                return false;
            };
            self.stats.dise_expansion_events += 1;
            x.production = production;
        }
        self.fetch.pace = Pace::Uneven;
        if let Some(kind) = branch_kind(inst.class) {
            self.edit.trigger_checkpoint = self.last_checkpoint(kind);
        }
        self.edit.expansion = Some(x);
        true
    }

    /// The next position of the sequence under way, through all stages. As [`Self::step`].
    #[inline(never)]
    pub(super) fn step_in_sequence<K: Path>(&mut self, code: &mut CodeCache) -> bool {
        let Some(mut x) = self.edit.expansion.take() else {
            return true;
        };
        let position = self.position;
        let decode = self.decode_cycle_from(x.from, position);
        if K::IS_WRONG && decode >= self.limit {
            // Nothing more is decoded, but fetch goes on.
            self.edit.wait_until(NEVER);
            return true;
        }
        let replacement = self
            .editor
            .replacement(x.production, x.index, x.pc, &x.trigger);
        let Some(r) = replacement else {
            self.edit.ends_sequence_in(decode);
            self.edit.gone = Some(Gone {
                pc: x.pc,
                gap: self.fetch.gap_of(position),
                stalled_until: x.stalled_until,
                taken: x.since,
                ended: decode,
            });
            // The instruction behind the sequence has this position, but did not wait for the group.
            self.fetch.first.position = u64::MAX;
            self.end_expansion(code, &x, decode);
            return true;
        };
        x.emitted |= r.is_trigger;
        let here = x.position();
        let Sent { next, ends } = sent(&r, here, x.pc, (x.fallthrough(), x.fetched_next));
        self.edit.here = Edited {
            origin: if r.is_trigger {
                Origin::Program
            } else {
                Origin::Inserted
            },
            disepc: here,
            predicted_disepc: next.1,
            link: None,
            stalled_until: std::mem::take(&mut x.stalled_until),
            due: Some(x.since),
            gap: x.gap.replace(Cause::Frontend),
        };
        self.edit.is_edited = true;
        self.position = position + 1;
        let place = self.stamps.at(position, 0);
        self.stamps.set_decode(place, decode);
        let (pc, inst) = (x.pc, r.inst);
        let fallthrough = x.fallthrough();
        match ends {
            Ends::Calls => {
                self.edit.link = Some(HandlerLink {
                    pc,
                    disepc: here.following(),
                });
                // The trigger is fetched, and its branch predicted, once more behind the handler.
                let again = (!x.emitted).then_some(&x.trigger);
                self.turn_fetch(code, again, inst.imm as u64, decode);
            }
            Ends::Leaves => self.end_expansion(code, &x, decode),
            Ends::Not => {
                x.index = next.1.index();
                (x.since, x.from) = (decode, decode);
                self.edit.expansion = Some(x);
            }
        }
        let dispatch = self.window_cycle::<K>(position, decode);
        let passing = Passing {
            inst: &self.static_inst(&inst, pc, fallthrough),
            predicted_next: next.0,
        };
        self.dispatch::<K>(passing, position, dispatch)
    }

    /// The end of a sequence. If the trigger was a transfer and is not part of what was sent on, fetch has
    /// followed a prediction that no longer holds.
    fn end_expansion(&mut self, code: &mut CodeCache, x: &Expansion, decode: u64) {
        let fallthrough = x.fallthrough();
        if !x.emitted && x.fetched_next != fallthrough {
            self.turn_fetch(code, Some(&x.trigger), fallthrough, decode);
        }
    }

    /// Decodes a handler's return: fetch, which waits for it, continues at the trigger, behind the call. Returns the
    /// address of the trigger.
    pub(super) fn return_from_handler(&mut self, decode: u64) -> u64 {
        let Some(link) = self.edit.link.take() else {
            return UNKNOWN_TARGET;
        };
        self.edit.here.predicted_disepc = link.disepc;
        self.edit.resume = link.disepc;
        if E::INTERRUPTIBLE && link.is_interrupt() {
            self.return_from_interrupt(link.pc, decode);
            return link.pc;
        }
        self.stats.dise_redirect_events += 1;
        self.edit.empty_queue(self.params.fetch_buffer);
        self.fetch.redirect(link.pc, Cause::DiseStall, decode);
        self.fetch.pace = Pace::Uneven;
        link.pc
    }

    /// Decode turns fetch in cycle `decode`: what has been fetched behind by then is dropped, together with
    /// the predictions made for it, and for the trigger that is fetched `again`.
    fn turn_fetch(&mut self, code: &mut CodeCache, again: Option<&Inst>, pc: u64, decode: u64) {
        self.stats.dise_redirect_events += 1;
        let mut before = self.edit.trigger_checkpoint;
        if again.is_none_or(|trigger| branch_kind(trigger.class).is_none()) {
            self.branches.checkpoint(&mut before);
        }
        self.fetch_until_turned(code, decode);
        self.branches.rewind(&before);
        self.edit.empty_queue(self.params.fetch_buffer);
        self.fetch.redirect(pc, Cause::DiseStall, decode);
    }

    /// Fetches on until a cycle in which all that is dropped.
    fn fetch_until_turned(&mut self, code: &mut CodeCache, until: u64) {
        let limit = std::mem::replace(&mut self.limit, until);
        // Instructions that are sent on in this cycle still ask for the group's first one.
        let first = self.fetch.first.clone();
        while self.fetch.cycle < until {
            let f = &self.fetch;
            let full = self.has_no_room(self.position);
            if (f.left == 0 || full) && !self.turn_to_group::<WrongPath>() {
                break;
            }
            let pc = self.fetch.pc;
            let inst = *self.read_slot(code, pc);
            let next = pc.wrapping_add(u64::from(inst.len));
            self.fetch.left -= 1;
            self.stats.fetch_instructions += 1;
            self.stats.squash_instructions += 1;
            self.edit.fetched(NEVER);
            if branch_kind(inst.class).is_some() {
                self.predict(&self.static_inst(&inst, pc, next));
                continue;
            }
            self.fetch.go_on(next);
            if inst.len == 0 {
                self.fetch_nothing();
            } else if inst.class == OpClass::DiseReturn {
                self.fetch.wait();
            }
        }
        self.limit = limit;
        self.fetch.first = first;
    }

    /// Executes operations that only DISE has, and control transfers without a prediction: decode knows where fetch
    /// continued.
    #[inline(never)]
    pub(super) fn execute_unpredicted<K: Path>(&mut self, i: Passing<'_>) -> bool {
        let inst = i.inst;
        let ready = self.ready(inst);
        let here = self.edit.here;
        let mut link = here.link;
        let mut taken = false;
        let (next_pc, next_disepc) = match self.evaluate::<K>(inst, i.inst.pc) {
            Outcome::Next if inst.class == OpClass::Branch => self.not_taken(i),
            Outcome::Next => (i.inst.pc, here.disepc.following()),
            Outcome::Taken(target) => {
                taken = true;
                (target, DisePc::NONE)
            }
            Outcome::DiseTaken(index) => {
                let production = here.disepc.production().unwrap_or(0);
                (i.inst.pc, DisePc::new(production, index))
            }
            Outcome::DiseCall(handler) => {
                link = Some(HandlerLink {
                    pc: i.inst.pc,
                    disepc: here.disepc.following(),
                });
                (handler, DisePc::NONE)
            }
            Outcome::DiseReturn if here.link.is_some() => {
                link = None;
                (i.predicted_next, here.predicted_disepc)
            }
            outcome => return self.faults_at::<K>(i, ready, cause_of(outcome)),
        };
        let when = self.issue::<K>(ready, inst);
        self.set_when(inst.rd, when);
        let done = self.done(when, Cause::Execute);
        let missed = (next_pc, next_disepc) != (i.predicted_next, here.predicted_disepc);
        if !K::IS_WRONG {
            let seen = Seen {
                addr: 0,
                next_pc: if taken { next_pc } else { i.inst.next() },
                taken,
                events: EventSet::MISPREDICTED.when(missed),
            };
            self.commit(i.inst, done, seen);
        }
        if !missed {
            return true;
        }
        let restart = Restart {
            pc: next_pc,
            disepc: next_disepc,
            link,
        };
        self.goes_elsewhere(done, restart);
        false
    }

    /// Where a conditional branch goes on that is not taken.
    #[inline]
    pub(super) fn not_taken(&self, i: Passing<'_>) -> (u64, DisePc) {
        let here = &self.edit.here;
        let predicted = (i.predicted_next, here.predicted_disepc);
        not_taken(&self.editor, i.inst, i.inst.pc, here.disepc, predicted)
    }

    /// Whether an instruction is one for [`Self::execute_unpredicted`].
    #[inline(always)]
    pub(super) fn is_unpredicted(&self, inst: &StaticInst) -> bool {
        let here = &self.edit.here;
        if !self.edit.is_edited {
            return false;
        }
        let alone = matches!(
            inst.class,
            OpClass::DiseBranch | OpClass::DiseCall | OpClass::DiseReturn
        );
        alone || here.origin == Origin::Inserted && inst.kind().is_transfer()
    }
}
