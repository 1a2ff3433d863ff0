//! Fetch blocks, decoded once for a core.
//!
//! Of most groups all instructions are decoded in one cycle and dispatched in one (see
//! [`DrivenCore::plan_group`]). Little is left to ask of each of them then but what it is, and that does not
//! change: from an address to the end of its fetch block, or to the first control transfer, instructions
//! lie here one behind the other, with all that this machine knows of them.

use hps_sim_core::code::{PAGE_SHIFT, SLOTS};
use hps_sim_core::likely::{often, seldom};

use super::super::uop::kind;
use super::fetch::Pace;
use super::insts::{Code, StaticInst};
use super::{DecodeEditor, DrivenCore, Passing, PipelineProbe, RISCV_REGISTERS};

impl<E: DecodeEditor, P: PipelineProbe> DrivenCore<E, P> {
    /// As [`Self::step`], for as many instructions of the block at the next address as the group takes.
    #[inline(always)]
    pub(super) fn step_block<const ASTRAY: bool>(&mut self, code: &mut Code) -> bool {
        if E::ENABLED && (E::RELAYOUT || self.edit.is_elsewhere()) {
            return self.step::<ASTRAY>(code);
        }
        if !self.comes_to_group::<ASTRAY>() {
            return false;
        }
        if ASTRAY && self.fetch.pace == Pace::InVain {
            return self.follow_in_vain(code);
        }
        if seldom(self.fetch.pace == Pace::Uneven) {
            return self.step_alone::<ASTRAY>(code);
        }
        let index = self.find_next(code);
        let left = self.fetch.left;
        let count = left.min(code.insts.rest(index));
        if seldom(count == 0) {
            return self.step_alone::<ASTRAY>(code);
        }
        let insts = code.insts.take(index, count);
        let (decode, dispatch) = (self.fetch.decode, self.fetch.dispatch);
        if seldom(!self.has_stations(count as u32)) {
            self.pass::<ASTRAY>(dispatch);
            if !self.has_stations(count as u32) {
                return self.step_alone::<ASTRAY>(code);
            }
        }
        let kinds = insts[0].ahead;
        let is_open =
            kinds & kind::LIMITED == 0 || self.is_open_to::<ASTRAY>(kinds, count as u32, dispatch);
        if seldom(!is_open) && !self.is_open::<ASTRAY>(insts[0].kind, dispatch) {
            // It may come so late that nothing is drained for it.
            return self.step_alone::<ASTRAY>(code);
        }
        if seldom(self.stores.next_drain <= dispatch) {
            self.drain_until_here(dispatch);
        }
        self.dispatched = dispatch;
        if ASTRAY && !E::ENABLED && dispatch + self.params.dispatch_to_issue >= self.limit {
            let done = self.dispatch_block_in_vain(insts);
            if seldom(done < count) {
                code.insts.end_at(&insts[done - 1]);
            }
            return true;
        }
        if E::ENABLED {
            self.edit.leave_sequence();
        }
        if seldom(!is_open) {
            let first = self.position;
            let goes_on = self.step_through_queues::<ASTRAY>(insts);
            code.insts
                .end_at(&insts[(self.position - first) as usize - 1]);
            return goes_on;
        }
        let mut goes_on = true;
        let first = self.position;
        let mut last = &insts[0];
        for inst in insts {
            last = inst;
            self.position += 1;
            if E::ENABLED {
                self.edit.fetched(decode);
            }
            if inst.kind == 0 && often(self.computes(inst)) {
                let ready = self.ready_by_two(inst);
                self.finish_computed::<ASTRAY>(inst, ready);
                continue;
            }
            if inst.kind & kind::TRANSFERS != 0 {
                // The last one of its block.
                self.fetch.left = left - count;
                self.count_block::<ASTRAY>(count, 0);
                return self.predict_and_execute::<ASTRAY>(inst);
            }
            let passing = Passing {
                inst,
                predicted_next: inst.next(),
            };
            if inst.kind == kind::LOADS {
                goes_on = self.execute_load_here::<ASTRAY>(passing);
            } else if !ASTRAY && inst.kind == kind::STORES {
                goes_on = self.execute_store_here::<ASTRAY>(passing);
            } else {
                goes_on = self.complete_other::<ASTRAY>(passing);
            }
            if seldom(!goes_on | (self.fetch.pace != Pace::Even)) {
                code.insts.end_at(last);
                break;
            }
        }
        let done = (self.position - first) as usize;
        self.leave_block(last, left - done);
        self.count_block::<ASTRAY>(done, 0);
        goes_on
    }

    /// The same for a block for all of which there may be no room in the queues.
    #[inline(never)]
    fn step_through_queues<const ASTRAY: bool>(&mut self, insts: &[StaticInst]) -> bool {
        let (decode, dispatch) = (self.fetch.decode, self.fetch.dispatch);
        let left = self.fetch.left;
        let (mut done, mut late) = (0, 0);
        let mut goes_on = true;
        for inst in insts {
            done += 1;
            self.position += 1;
            if E::ENABLED {
                self.edit.fetched(decode);
            }
            if inst.kind & kind::TRANSFERS != 0 {
                self.fetch.left = left - done;
                self.count_block::<ASTRAY>(done, late);
                return self.predict_and_execute::<ASTRAY>(inst);
            }
            let passing = Passing {
                inst,
                predicted_next: inst.next(),
            };
            if self.is_open::<ASTRAY>(inst.kind, dispatch) {
                goes_on = self.complete::<ASTRAY>(passing);
            } else {
                late += 1;
                goes_on = self.dispatch_late::<ASTRAY>(passing, self.position - 1);
            }
            if !goes_on || self.fetch.pace != Pace::Even {
                break;
            }
        }
        self.leave_block(&insts[done - 1], left - done);
        self.count_block::<ASTRAY>(done, late);
        goes_on
    }

    /// Counts what has been taken of a block, and what of it came too late to be dispatched here.
    #[inline(always)]
    fn count_block<const ASTRAY: bool>(&mut self, done: usize, late: usize) {
        if ASTRAY || E::ENABLED {
            self.stats.fetch_instructions += done as u64;
            self.stats.decode_instructions += done as u64;
        }
        if ASTRAY {
            self.stats.dispatch_instructions += (done - late) as u64;
        }
    }

    /// Fetch goes on behind the last instruction that it has taken of a block.
    #[inline(always)]
    pub(super) fn leave_block(&mut self, last: &StaticInst, left: usize) {
        // Where a transfer leads has been predicted.
        if last.kind & kind::TRANSFERS == 0 {
            self.fetch.left = left;
            self.fetch.go_on(last.next());
        }
    }

    /// What belongs to no block, or to a group whose instructions have cycles of their own.
    #[inline(never)]
    pub(super) fn step_alone<const ASTRAY: bool>(&mut self, code: &mut Code) -> bool {
        self.step::<ASTRAY>(code)
    }

    /// As [`Self::dispatch`].
    #[inline(never)]
    pub(super) fn dispatch_late<const ASTRAY: bool>(
        &mut self,
        passing: Passing<'_>,
        position: u64,
    ) -> bool {
        self.dispatch::<ASTRAY>(passing, position, self.fetch.dispatch)
    }

    /// The index of the next instruction; zero: there is nothing that could be executed.
    #[inline(always)]
    pub(super) fn find_next(&mut self, code: &mut Code) -> usize {
        let index = code.insts.after_last(self.fetch.turn);
        if often(code.insts.at(index).pc == self.fetch.pc) {
            return index;
        }
        self.find_elsewhere(code)
    }

    /// The same if something else was executed the last time.
    #[inline(never)]
    fn find_elsewhere(&mut self, code: &mut Code) -> usize {
        let Some(index) = self.find(code, self.fetch.pc) else {
            return 0;
        };
        code.insts.note_after_last(self.fetch.turn, index);
        index
    }

    /// The index of the instruction at an address. None: there is nothing that could be executed.
    #[inline(always)]
    pub(super) fn find(&mut self, code: &mut Code, pc: u64) -> Option<usize> {
        if seldom(self.fetch.place_of(pc) >= SLOTS) {
            self.read_page(&mut code.cache, pc);
        }
        let place = self.fetch.place_of(pc);
        if place >= SLOTS {
            return None;
        }
        match code.cache.slots(self.fetch.page_index)[place].note {
            0 => self.lay_out(code, pc),
            note => Some(note as usize),
        }
    }

    /// Decodes the block that begins at `pc`, in the page that is read; what the editor has to say something about
    /// belongs to none. Returns the index of its first instruction, if there is one.
    #[cold]
    #[inline(never)]
    fn lay_out(&mut self, code: &mut Code, pc: u64) -> Option<usize> {
        let Code { cache, insts } = code;
        let block = self.params.fetch_block_bytes;
        let block_end = (pc & !(block - 1)) + block;
        let first = insts.len();
        let mut at = pc;
        while at < block_end && (at ^ pc) >> PAGE_SHIFT == 0 {
            let Ok(slot) = cache.lookup(at, &self.process.mem, &self.editor) else {
                break;
            };
            let next = at.wrapping_add(u64::from(slot.inst.len));
            let inst = self.static_inst(&slot.inst, at, next);
            let turns = inst.kind & (kind::TURNS_FETCH | kind::TRANSFERS) == kind::TURNS_FETCH;
            let is_alone = turns
                || inst.kind & kind::SERIALIZES != 0
                || E::ENABLED && (slot.mask != 0 || self.editor.reads_register(inst.rd))
                || E::RELAYOUT;
            if is_alone && at != pc {
                break;
            }
            if (self.registers..RISCV_REGISTERS).contains(&usize::from(inst.rd)) {
                self.use_float_registers();
            }
            if slot.note == 0 {
                slot.note = insts.len() as u32;
            }
            insts.push(inst);
            at = next;
            if is_alone {
                return Some(first);
            }
            if inst.kind & kind::TRANSFERS != 0 {
                break;
            }
        }
        insts.end_block(first);
        (first < insts.len()).then_some(first)
    }
}
