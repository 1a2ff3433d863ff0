//! The decode-stage editor: sequences in place of instructions, handlers, and what decode waits for.
//! The rules are those of [`decode`](super::super::decode), where they are explained.

use hps_sim_core::code::{CodeCache, HandlerLink};
use hps_sim_core::exec::Outcome;
use hps_sim_core::ids::DisePc;
use hps_sim_core::inst::{Inst, Op, OpClass};

use super::super::cpi::Cause;
use super::super::fetch::{UNKNOWN_TARGET, branch_kind};
use super::super::ring::Ring;
use super::super::uop::kind;
use super::execute::cause_of;
use super::wrong_path::Restart;
use super::{DecodeEditor, DrivenCore, NEVER, Passing, PipelineProbe};
use crate::predict::Checkpoint;

/// Whose an instruction is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Origin {
    /// The program's.
    #[default]
    Program,
    /// Put in by the editor.
    Inserted,
    /// Part of a handler.
    Handler,
}

/// What an editor has made of an instruction.
#[derive(Clone, Copy)]
pub struct Edited {
    pub origin: Origin,
    /// Its position in an expansion.
    pub disepc: DisePc,
    /// Where decode went on in an expansion, beside the address.
    pub predicted_disepc: DisePc,
    /// Where the handler that it is part of returns to.
    pub link: Option<HandlerLink>,
    /// Until when decode stalled for a decision about an older one.
    pub stalled_until: u64,
    /// Since when it was due in decode, in the place of its trigger.
    pub due: Option<u64>,
    /// Why it comes late, if that is decode's doing.
    pub gap: Option<Cause>,
}

impl Edited {
    /// Nothing.
    pub const NOTHING: Edited = Edited {
        origin: Origin::Program,
        disepc: DisePc::NONE,
        predicted_disepc: DisePc::NONE,
        link: None,
        stalled_until: 0,
        due: None,
        gap: None,
    };

    /// Nothing but what a new layout says of an instruction.
    pub fn laid_out(mask: u32) -> Edited {
        use hps_sim_core::editor::laid;
        let origin = match mask {
            0 => Origin::Program,
            mask if mask & laid::HANDLER != 0 => Origin::Handler,
            _ => Origin::Inserted,
        };
        Edited {
            origin,
            ..Edited::NOTHING
        }
    }

    /// The position behind it in its expansion.
    fn following(&self) -> DisePc {
        match self.disepc.production() {
            Some(p) => DisePc::new(p, self.disepc.index().wrapping_add(1)),
            None => DisePc::NONE,
        }
    }
}

/// A replacement sequence under way.
#[derive(Clone)]
struct Expansion {
    trigger: Inst,
    pc: u64,
    /// Where fetch went behind the trigger.
    fetched_next: u64,
    production: u8,
    index: u8,
    /// The trigger itself has been sent on, and with it its branch prediction.
    emitted: bool,
    /// When decode took what it took last, and from when on it may take the next position.
    since: u64,
    from: u64,
    /// Until when decode stalled before it took the trigger, for the first position.
    stalled_until: u64,
    gap: Option<Cause>,
}

impl Expansion {
    fn fallthrough(&self) -> u64 {
        self.pc.wrapping_add(u64::from(self.trigger.len))
    }
}

/// A trigger of which nothing was sent on: a handler was called at its end.
#[derive(Clone, Copy)]
pub struct Gone {
    pub pc: u64,
    /// Why it came late, and since when that was known.
    pub gap: (Cause, u64),
    /// Until when decode stalled before it took it, when it did, and when it found the end of its sequence.
    pub stalled_until: u64,
    pub taken: u64,
    pub ended: u64,
}

/// What the editor has under way.
#[derive(Clone)]
pub struct Edit {
    /// The instruction on its way through the stages.
    pub here: Edited,
    /// It is, or may be, not as the program has it, or behind one that was not.
    pub is_edited: bool,
    expansion: Option<Expansion>,
    /// The state of the predictors before the trigger's prediction, if it is a control transfer.
    trigger_checkpoint: Checkpoint,
    /// Decode is in a handler, which returns there.
    link: Option<HandlerLink>,
    /// The next instruction that is fetched is a trigger whose expansion goes on here.
    resume: DisePc,
    /// Decode takes nothing before this cycle.
    not_before: u64,
    /// From this cycle on none of what follows keeps anything out.
    free_from: u64,
    /// In this cycle decode made a decision for which it stalls until that one.
    stalled: (u64, u64),
    /// The last trigger of which nothing was left to be sent on.
    gone: Option<Gone>,
    /// In this cycle decode has found the ends of so many sequences.
    ends: (u64, usize),
    /// When decode takes what was fetched, by the order of fetch.
    taken: Ring<u64>,
    fetched: usize,
}

impl Edit {
    /// Nothing yet; the first instruction is a trigger if `resume` says so.
    pub fn new<E: DecodeEditor>(in_flight: usize, resume: DisePc) -> Self {
        Edit {
            here: Edited::NOTHING,
            is_edited: true,
            expansion: None,
            trigger_checkpoint: Checkpoint::default(),
            link: None,
            resume,
            not_before: 0,
            free_from: 0,
            stalled: (0, 0),
            gone: None,
            ends: (0, 0),
            taken: Ring::new(if E::ENABLED { in_flight } else { 0 }, 0),
            fetched: 0,
        }
    }

    /// When decode takes the instruction that is `back` places before the next one to be fetched.
    #[inline(always)]
    pub fn taken(&self, back: usize) -> u64 {
        *self.taken.at(self.fetched.wrapping_sub(back))
    }

    /// An instruction has been fetched that decode takes in this cycle.
    #[inline(always)]
    pub fn fetched(&mut self, decode: u64) {
        *self.taken.at_mut(self.fetched) = decode;
        self.fetched = self.fetched.wrapping_add(1);
    }

    /// The queue behind fetch, of so many places, is empty.
    fn empty_queue(&mut self, places: usize) {
        for back in 1..=places {
            *self.taken.at_mut(self.fetched.wrapping_sub(back)) = 0;
        }
    }

    #[inline(always)]
    pub fn is_in_sequence(&self) -> bool {
        self.expansion.is_some()
    }

    /// The state of the predictors before a trigger that has not been sent on, if it was predicted.
    pub fn trigger_checkpoint(&self) -> Option<&Checkpoint> {
        let x = self.expansion.as_ref()?;
        let waits = !x.emitted && branch_kind(x.trigger.class).is_some();
        waits.then_some(&self.trigger_checkpoint)
    }

    /// Whether the editor has anything to say of an instruction of this mask.
    #[inline(always)]
    pub fn concerns(&self, mask: u32) -> bool {
        mask != 0 || self.resume != DisePc::NONE
    }

    /// The next instruction is outside of sequences: of the handler that decode is in, or the program's.
    #[inline(always)]
    pub fn leave_sequence(&mut self) {
        if self.is_edited {
            let origin = match self.link {
                Some(_) => Origin::Handler,
                None => Origin::Program,
            };
            self.here = Edited {
                origin,
                link: self.link,
                stalled_until: self.stalled.1,
                ..Edited::NOTHING
            };
            self.is_edited = self.link.is_some();
        }
    }

    /// Decode takes nothing before this cycle.
    #[inline(always)]
    pub fn wait_until(&mut self, cycle: u64) {
        self.not_before = cycle;
        self.free_from = self.free_from.max(cycle);
    }

    /// The first cycle from `cycle` on that has not to be waited for.
    #[inline(always)]
    pub fn in_time(&self, cycle: u64) -> u64 {
        cycle.max(self.not_before)
    }

    /// Decode takes instructions in this cycle as they come.
    #[inline(always)]
    pub fn is_free_in(&self, cycle: u64) -> bool {
        cycle >= self.free_from
    }

    /// Decode stalls from a cycle on for a decision that it makes there.
    fn stall(&mut self, decode: u64, cycles: u64) {
        self.stalled = (decode, decode + cycles);
        self.free_from = self.free_from.max(decode + cycles);
    }

    /// The first cycle from `cycle` on in which decode does not stall.
    #[inline(always)]
    pub fn unstalled(&self, cycle: u64) -> u64 {
        let (decided, until) = self.stalled;
        if cycle > decided {
            cycle.max(until)
        } else {
            cycle
        }
    }

    /// Whose the instruction on its way is.
    #[inline(always)]
    pub fn origin<E: DecodeEditor>(&self) -> Origin {
        if E::ENABLED || E::RELAYOUT {
            self.here.origin
        } else {
            Origin::Program
        }
    }

    /// The last trigger of which nothing was left, once.
    pub fn take_gone(&mut self) -> Option<Gone> {
        self.gone.take()
    }

    /// How many ends of sequences decode has found in this cycle.
    #[inline(always)]
    pub fn ends_in(&self, cycle: u64) -> usize {
        if self.ends.0 == cycle { self.ends.1 } else { 0 }
    }

    fn ends_sequence_in(&mut self, cycle: u64) {
        self.ends = (cycle, self.ends_in(cycle) + 1);
        self.free_from = self.free_from.max(cycle + 1);
    }

    /// The next instruction is a trigger whose expansion goes on there.
    pub fn resume(&mut self, at: DisePc) {
        self.resume = at;
    }

    /// Goes on elsewhere.
    pub fn restart(&mut self, restart: &Restart, queue: usize) {
        self.expansion = None;
        self.link = restart.link;
        self.resume = restart.disepc;
        self.is_edited = true;
        self.not_before = 0;
        self.free_from = 0;
        self.stalled = (0, 0);
        self.gone = None;
        self.ends = (0, 0);
        self.empty_queue(queue);
    }
}

impl<E: DecodeEditor, P: PipelineProbe> DrivenCore<E, P> {
    /// Where execution goes on behind the last instruction.
    pub(super) fn next_restart(&self) -> Restart {
        match &self.edit.expansion {
            Some(x) => Restart {
                pc: x.pc,
                disepc: again(DisePc::new(x.production, x.index)),
                link: None,
            },
            None => Restart {
                pc: self.fetch.pc,
                disepc: self.edit.resume,
                link: self.edit.link,
            },
        }
    }

    /// At an address, where the instruction on its way is: in its handler or outside.
    #[inline(always)]
    pub(super) fn restart_at(&self, pc: u64) -> Restart {
        Restart {
            pc,
            disepc: DisePc::NONE,
            link: if E::ENABLED {
                self.edit.here.link
            } else {
                None
            },
        }
    }

    /// Where the instruction at `pc` that is on its way starts again. At the beginning of its expansion
    /// the editor decides anew, since its decision is taken back as well.
    pub(super) fn restart_here(&self, pc: u64) -> Restart {
        let disepc = if E::ENABLED {
            again(self.edit.here.disepc)
        } else {
            DisePc::NONE
        };
        Restart {
            disepc,
            ..self.restart_at(pc)
        }
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
            let regs = &self.process.hart.r;
            let decision = self.editor.decide(seq, mask, pc, inst, regs);
            if decision.stall_cycles > 0 {
                let stall = u64::from(decision.stall_cycles);
                self.edit.stall(decode, stall);
                self.edit.is_edited = true;
                self.fetch.is_even = false;
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
        self.fetch.is_even = false;
        if branch_kind(inst.class).is_some() {
            self.edit.trigger_checkpoint = self.last_checkpoint();
        }
        self.edit.expansion = Some(x);
        true
    }

    /// The next position of the sequence under way, through all stages. As [`Self::step`].
    #[inline(never)]
    pub(super) fn step_in_sequence<const ASTRAY: bool>(&mut self, code: &mut CodeCache) -> bool {
        let Some(mut x) = self.edit.expansion.take() else {
            return true;
        };
        let position = self.position;
        let decode = self.decode_cycle_from(x.from, position);
        if ASTRAY && decode >= self.limit {
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
            // What comes behind it has this position, but did not wait for the group.
            self.fetch.first.position = u64::MAX;
            self.end_expansion(code, &x, decode);
            return true;
        };
        // What follows if nothing is mispredicted: the next position, unless this is the last.
        let here = DisePc::new(x.production, x.index);
        let fallthrough = x.fallthrough();
        let mut next = (x.pc, DisePc::new(x.production, x.index.wrapping_add(1)));
        let mut leaves = r.is_last;
        if r.is_trigger {
            x.emitted = true;
            leaves |= x.fetched_next != fallthrough;
        }
        if leaves {
            let target = if r.is_trigger {
                x.fetched_next
            } else {
                fallthrough
            };
            next = (target, DisePc::NONE);
        }
        if r.inst.op == Op::DiseBr {
            next = (x.pc, DisePc::new(x.production, r.inst.imm as u8));
            leaves = false;
        }
        let calls = r.inst.op == Op::DiseCall;
        if calls {
            next = (r.inst.imm as u64, DisePc::NONE);
        }
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
        if calls {
            self.edit.link = Some(HandlerLink {
                pc,
                disepc: DisePc::new(x.production, x.index + 1),
            });
            // The trigger is fetched, and its branch predicted, once more behind the handler.
            self.turn_fetch(
                code,
                (!x.emitted).then_some(&x.trigger),
                inst.imm as u64,
                decode,
            );
        } else if leaves {
            self.end_expansion(code, &x, decode);
        } else {
            x.index = next.1.index();
            (x.since, x.from) = (decode, decode);
            self.edit.expansion = Some(x);
        }
        let passing = Passing {
            inst: &inst,
            pc,
            next: fallthrough,
            predicted_next: next.0,
            decode,
            dispatch: self.window_cycle::<ASTRAY>(position, decode),
        };
        let kind = self.kinds[inst.class as usize];
        self.dispatch::<ASTRAY>(passing, kind, position)
    }

    /// The end of a sequence. If the trigger was a transfer and is not part of what was sent on, fetch has
    /// followed a prediction that no longer holds.
    fn end_expansion(&mut self, code: &mut CodeCache, x: &Expansion, decode: u64) {
        let fallthrough = x.fallthrough();
        if !x.emitted && x.fetched_next != fallthrough {
            self.turn_fetch(code, Some(&x.trigger), fallthrough, decode);
        }
    }

    /// A return is decoded: fetch, which waits for that, goes on behind the call, with the trigger. Returns
    /// its address.
    pub(super) fn return_from_handler(&mut self, decode: u64) -> u64 {
        let Some(link) = self.edit.link.take() else {
            return UNKNOWN_TARGET;
        };
        self.edit.here.predicted_disepc = link.disepc;
        self.edit.resume = link.disepc;
        self.stats.dise_redirect_events += 1;
        self.edit.empty_queue(self.params.fetch_buffer);
        self.fetch.redirect(link.pc, Cause::DiseStall, decode);
        self.fetch.is_even = false;
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
        self.fetch_in_vain(code, decode);
        self.branches.rewind(&before);
        self.edit.empty_queue(self.params.fetch_buffer);
        self.fetch.redirect(pc, Cause::DiseStall, decode);
    }

    /// Fetches on until a cycle in which all that is dropped.
    fn fetch_in_vain(&mut self, code: &mut CodeCache, until: u64) {
        let limit = std::mem::replace(&mut self.limit, until);
        // What is sent on in this cycle still asks for it.
        let first = self.fetch.first.clone();
        while self.fetch.cycle < until {
            let f = &self.fetch;
            let ended = (f.left == 0) | (f.pc >= f.block_end);
            let full = self.has_no_room(self.position);
            if (ended || full) && !self.turn_to_group::<true>() {
                break;
            }
            let pc = self.fetch.pc;
            let inst = *self.read_slot(code, pc);
            let next = pc.wrapping_add(u64::from(inst.len));
            self.fetch.left -= 1;
            self.fetch.pc = next;
            self.stats.fetch_instructions += 1;
            self.stats.squash_instructions += 1;
            self.edit.fetched(NEVER);
            if branch_kind(inst.class).is_some() {
                self.predict(pc, &inst, next);
            } else if inst.len == 0 {
                self.fetch_nothing();
            } else if inst.class == OpClass::DiseReturn {
                self.fetch.wait();
            }
        }
        self.limit = limit;
        self.fetch.first = first;
    }

    /// Executes what DISE alone has, and control transfers of which nobody has predicted anything: decode knows
    /// where it went on.
    #[inline(never)]
    pub(super) fn execute_unpredicted<const ASTRAY: bool>(&mut self, i: Passing<'_>) -> bool {
        self.waiting += 1;
        let inst = i.inst;
        let ready = self.ready(inst, i.dispatch);
        let here = self.edit.here;
        let mut link = here.link;
        let mut taken = false;
        let (next_pc, next_disepc) = match self.evaluate::<ASTRAY>(inst, i.pc) {
            Outcome::Next if inst.class == OpClass::Branch => self.not_taken(&i),
            Outcome::Next => (i.pc, here.following()),
            Outcome::Taken(target) => {
                taken = true;
                (target, DisePc::NONE)
            }
            Outcome::DiseTaken(index) => {
                let production = here.disepc.production().unwrap_or(0);
                (i.pc, DisePc::new(production, index))
            }
            Outcome::DiseCall(handler) => {
                link = Some(HandlerLink {
                    pc: i.pc,
                    disepc: here.following(),
                });
                (handler, DisePc::NONE)
            }
            Outcome::DiseReturn if here.link.is_some() => {
                link = None;
                (i.predicted_next, here.predicted_disepc)
            }
            outcome => return self.faults_at::<ASTRAY>(i, ready, cause_of(outcome)),
        };
        let when = self.issue::<ASTRAY>(ready, inst.class, self.latency(inst.op));
        self.set_when(inst.rd, when);
        let done = self.done(when, Cause::Execute);
        if !ASTRAY {
            let seen = super::commit::Seen {
                addr: 0,
                next_pc: if taken { next_pc } else { i.next },
                taken,
            };
            self.commit(&i, done, seen);
        }
        if (next_pc, next_disepc) == (i.predicted_next, here.predicted_disepc) {
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

    /// Where a conditional branch goes on that is not taken: in its sequence, or in the program behind it.
    pub(super) fn not_taken(&self, i: &Passing<'_>) -> (u64, DisePc) {
        let here = &self.edit.here;
        if here.disepc == DisePc::NONE {
            return (i.next, DisePc::NONE);
        }
        if here.predicted_disepc != DisePc::NONE || i.predicted_next == i.next {
            return (i.predicted_next, here.predicted_disepc);
        }
        // Predicted taken out of the middle of a sequence, but it goes on.
        let next = here.following();
        let more = next
            .production()
            .and_then(|p| self.editor.replacement(p, next.index(), i.pc, i.inst));
        match more {
            Some(_) => (i.pc, next),
            None => (i.next, DisePc::NONE),
        }
    }

    /// Whether an instruction is one for [`Self::execute_unpredicted`].
    #[inline(always)]
    pub(super) fn is_unpredicted(&self, inst: &Inst, kind: u8) -> bool {
        let here = &self.edit.here;
        if !self.edit.is_edited {
            return false;
        }
        let alone = matches!(
            inst.class,
            OpClass::DiseBranch | OpClass::DiseCall | OpClass::DiseReturn
        );
        alone || here.origin == Origin::Inserted && kind & kind::TRANSFERS != 0
    }
}

/// Where an instruction starts again.
fn again(disepc: DisePc) -> DisePc {
    if disepc.index() == 0 {
        DisePc::NONE
    } else {
        disepc
    }
}
