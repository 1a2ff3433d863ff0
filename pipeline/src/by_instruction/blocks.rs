//! Fetch blocks, decoded once for a core.
//!
//! In most groups all instructions are decoded in one cycle and dispatched in one (see
//! [`DrivenCore::plan_group`]). What each of them needs then depends only on the instruction, so it is looked up
//! once: from an address to the end of its fetch block, or to the first control transfer, instructions lie here
//! one behind the other, with their classes, latencies and places in the predictor's tables.

use hps_isa::code::{PAGE_SHIFT, SLOTS};
use hps_isa::likely::{often, seldom};

use super::fetch::Pace;
use super::insts::{At, Code, StaticInst};
use super::path::Path;
use super::work::Kind;
use super::{DecodeEditor, DrivenCore, Passing};
use crate::model::{PipelineProbe, kind};

impl<E: DecodeEditor, P: PipelineProbe> DrivenCore<E, P> {
    /// Steps through the block at the next address, up to the end of the current fetch group.
    #[inline(always)]
    pub(super) fn step_block<K: Path>(&mut self, code: &mut Code) -> bool {
        if E::ENABLED && (E::RELAYOUT || self.edit.is_elsewhere()) {
            return self.step::<K>(code);
        }
        if !self.comes_to_group::<K>() {
            return false;
        }
        if K::IS_WRONG && self.fetch.pace == Pace::Undispatched {
            return self.follow_undispatched(code);
        }
        if seldom(self.fetch.pace == Pace::Uneven) {
            return self.step_unevenly::<K>(code);
        }
        let at = self.find_next(code);
        let left = self.fetch.left;
        let count = left.min(code.insts.rest(at));
        if seldom(count == 0) {
            return self.step_alone::<K>(code);
        }
        let dispatch = self.fetch.dispatch;
        if seldom(!self.has_stations(count as u32)) {
            self.pass::<K>(dispatch);
            if !self.has_stations(count as u32) {
                return self.step_alone::<K>(code);
            }
        }
        let kinds = code.insts.at(at).ahead;
        if seldom(kinds & kind::LIMITED != 0)
            && seldom(!self.is_open_to::<K>(kinds, count as u32, dispatch))
        {
            return self.step_through_queues::<K>(code, (at, count));
        }
        self.take_block::<K, false>(code, (at, count))
    }

    /// Steps through `count` instructions of a block whose queues may fill up on the way.
    #[inline(never)]
    fn step_through_queues<K: Path>(&mut self, code: &mut Code, (at, count): (At, usize)) -> bool {
        let first = code.insts.at(at).kind().bits();
        if !self.is_open::<K>(first, self.fetch.dispatch) {
            // The first instruction may come so late that nothing is drained for it.
            return self.step_alone::<K>(code);
        }
        self.take_block::<K, true>(code, (at, count))
    }

    /// Takes `count` instructions of a block through all stages, in the cycles of their group. `MAY_FILL`: a queue may
    /// fill up on the way, so that those behind are dispatched late.
    #[inline(always)]
    fn take_block<K: Path, const MAY_FILL: bool>(
        &mut self,
        code: &mut Code,
        (at, count): (At, usize),
    ) -> bool {
        let insts = code.insts.take(at, count);
        let (decode, dispatch) = (self.fetch.decode, self.fetch.dispatch);
        if seldom(self.stores.next_drain <= dispatch) {
            self.drain_until_here(dispatch);
        }
        self.dispatched = dispatch;
        if K::IS_WRONG && self.is_squashed_before_issue(dispatch) {
            return self.dispatch_unissued_block(code, at, insts);
        }
        if P::WANTS_CYCLES {
            self.told_dispatch = dispatch;
        }
        if E::ENABLED {
            self.edit.leave_sequence();
        }
        if !MAY_FILL {
            self.waiting += count as u32;
        }
        let left = self.fetch.left - count;
        let mut late = 0;
        for inst in insts {
            self.position += 1;
            if E::ENABLED {
                self.edit.fetched(decode);
            }
            if !MAY_FILL && self.computes(inst) {
                let ready = self.ready_by_two(inst);
                self.finish_computed::<K>(inst, ready);
                continue;
            }
            if inst.kind().is_transfer() {
                // The last one of its block. It waits for room in no queue.
                if MAY_FILL {
                    self.waiting += 1;
                }
                self.fetch.left = left;
                self.count_block::<K>(count, late);
                return self.predict_and_execute::<K>(inst);
            }
            let passing = Passing {
                inst,
                predicted_next: inst.next(),
            };
            let goes_on = if MAY_FILL && !self.is_open::<K>(inst.kind().bits(), dispatch) {
                late += 1;
                self.dispatch_late::<K>(passing, self.position - 1)
            } else if MAY_FILL {
                self.waiting += 1;
                self.complete::<K>(passing)
            } else if inst.kind() == Kind::Load {
                self.execute_load_here::<K>(passing)
            } else if !K::IS_WRONG && inst.kind() == Kind::Store {
                self.execute_store_here::<K>(passing)
            } else {
                self.complete_other::<K>(passing)
            };
            debug_assert!(MAY_FILL || self.fetch.pace == Pace::Even);
            if seldom(!goes_on || MAY_FILL && self.fetch.pace != Pace::Even) {
                let done = self.leave_block_at(code, at, inst, left + count);
                if !MAY_FILL {
                    self.waiting -= (count - done) as u32;
                }
                self.count_block::<K>(done, late);
                return goes_on;
            }
        }
        self.fetch.left = left;
        self.fetch.go_on(insts[count - 1].next());
        self.count_block::<K>(count, late);
        true
    }

    /// Steps through the block at the next address if its instructions are decoded or dispatched in different cycles.
    #[inline(never)]
    fn step_unevenly<K: Path>(&mut self, code: &mut Code) -> bool {
        let at = self.find_next(code);
        let left = self.fetch.left;
        let count = left.min(code.insts.rest(at));
        // An editor is asked about each.
        if E::ENABLED || seldom(count == 0) || seldom(self.each_alone) {
            return self.step_alone::<K>(code);
        }
        let insts = code.insts.take(at, count);
        let mut goes_on = true;
        let mut done = 0;
        let mut last = &insts[0];
        for inst in insts {
            let position = self.position;
            if done > 0 && seldom(self.has_no_room(position)) {
                // The instruction begins a group.
                break;
            }
            last = inst;
            done += 1;
            self.position = position + 1;
            let mut predicted_next = inst.next();
            if inst.kind().is_transfer() {
                self.fetch.left = left - done;
                predicted_next = self.predict(inst);
            }
            if K::IS_WRONG {
                self.stats.fetch_instructions += 1;
            }
            let decode = self.decode_alone::<K>(position);
            if K::IS_WRONG && decode >= self.limit {
                continue;
            }
            if K::IS_WRONG {
                self.stats.decode_instructions += 1;
            }
            let dispatch = self.window_alone::<K>(position, decode);
            let passing = Passing {
                inst,
                predicted_next,
            };
            goes_on = self.dispatch::<K>(passing, position, dispatch);
            if seldom(!goes_on) {
                break;
            }
        }
        self.leave_block_at(code, at, last, left);
        goes_on
    }

    /// Nothing of a wrong path that is dispatched in this cycle issues before the squash; without an editor, which may
    /// ask for more.
    #[inline(always)]
    fn is_squashed_before_issue(&self, dispatch: u64) -> bool {
        !E::ENABLED && dispatch + self.params.dispatch_to_issue >= self.limit
    }

    /// Ends fetch from a block at this instruction, where `count` instructions could have been taken from `first` on.
    /// Returns how many were taken.
    #[inline(never)]
    pub(super) fn leave_block_at(
        &mut self,
        code: &Code,
        first: At,
        last: &StaticInst,
        left: usize,
    ) -> usize {
        let done = code.insts.end_at(first, last);
        self.leave_block(last, left - done);
        done
    }

    /// Counts what has been taken of a block, and what of it came too late to be dispatched here.
    #[inline(always)]
    fn count_block<K: Path>(&mut self, done: usize, late: usize) {
        if K::IS_WRONG || E::ENABLED {
            self.stats.fetch_instructions += done as u64;
            self.stats.decode_instructions += done as u64;
        }
        if K::IS_WRONG {
            self.stats.dispatch_instructions += (done - late) as u64;
        }
    }

    /// Lets fetch continue behind the last instruction that it has taken from a block.
    #[inline(always)]
    pub(super) fn leave_block(&mut self, last: &StaticInst, left: usize) {
        // Where a transfer leads has been predicted.
        if !last.kind().is_transfer() {
            self.fetch.left = left;
            self.fetch.go_on(last.next());
        }
    }

    /// Steps through an instruction that belongs to no block, or to a group whose instructions have cycles of their
    /// own.
    #[inline(never)]
    pub(super) fn step_alone<K: Path>(&mut self, code: &mut Code) -> bool {
        self.step::<K>(code)
    }

    /// [`Self::dispatch`] out of line.
    #[inline(never)]
    pub(super) fn dispatch_late<K: Path>(&mut self, passing: Passing<'_>, position: u64) -> bool {
        self.dispatch::<K>(passing, position, self.fetch.dispatch)
    }

    /// Where the next instruction lies; zero: there is nothing that could be executed.
    #[inline(always)]
    pub(super) fn find_next(&mut self, code: &mut Code) -> At {
        let at = code.insts.after_last(self.fetch.way);
        if often(code.insts.at(at).pc == self.fetch.pc) {
            return at;
        }
        self.find_elsewhere(code)
    }

    /// Finds the block if another one was executed the last time.
    #[inline(never)]
    fn find_elsewhere(&mut self, code: &mut Code) -> At {
        let Some(at) = self.find(code, self.fetch.pc) else {
            return 0;
        };
        code.insts.note_after_last(self.fetch.way, at);
        at
    }

    /// The place of the instruction at an address; `None` if no instruction can be executed there.
    #[inline(always)]
    pub(super) fn find(&mut self, code: &mut Code, pc: u64) -> Option<At> {
        if seldom(self.fetch.place_of(pc) >= SLOTS) {
            self.read_page(&mut code.cache, pc);
        }
        let place = self.fetch.place_of(pc);
        if place >= SLOTS {
            return None;
        }
        match code.cache.slots(self.fetch.page_index)[place].note {
            0 => self.lay_out(code, pc),
            note => Some(note as At),
        }
    }

    /// Decodes the block that begins at `pc`, in the page that is read; what the editor has to say something about
    /// belongs to none. Returns where its first instruction lies, if there is one.
    #[cold]
    #[inline(never)]
    fn lay_out(&mut self, code: &mut Code, pc: u64) -> Option<At> {
        let Code { cache, insts } = code;
        let block_last = pc | self.params.fetch_block_mask;
        let first = insts.end();
        let mut at = pc;
        while at <= block_last && (at ^ pc) >> PAGE_SHIFT == 0 {
            let Ok(slot) = cache.lookup(at, &self.process.mem, &self.editor) else {
                break;
            };
            let next = at.wrapping_add(u64::from(slot.inst.len));
            let inst = self.static_inst(&slot.inst, at, next);
            let is_alone = matches!(inst.kind(), Kind::TurnsFetch | Kind::Alone)
                || E::ENABLED && (slot.mask != 0 || self.editor.reads_register(inst.rd))
                || E::RELAYOUT;
            if is_alone && at != pc {
                break;
            }
            self.use_registers(inst.writes_below());
            if slot.note == 0 {
                slot.note = insts.end() as u32;
            }
            insts.push(inst);
            at = next;
            if is_alone {
                return Some(first);
            }
            if inst.kind().is_transfer() {
                break;
            }
        }
        insts.end_block(first);
        (first < insts.end()).then_some(first)
    }
}
