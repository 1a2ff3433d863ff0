//! An instruction through fetch, decode and dispatch.

use hps_isa::code::{CodeCache, SLOTS};
use hps_isa::inst::{Inst, OpClass, reg};
use hps_isa::likely::{often, seldom};

use super::edit::Edited;
use super::fetch::Pace;
use super::insts::Code;
use super::path::Path;
use super::work::Kind;
use super::{DecodeEditor, DrivenCore, Full, NEVER, Passing, in_order};
use crate::model::{PipelineProbe, kind};

/// Where nothing can be executed.
const NOTHING: Inst = Inst::illegal(0);

impl<E: DecodeEditor, P: PipelineProbe> DrivenCore<E, P> {
    /// The next instruction of the predicted path, through all stages; or the end of a wrong path. False:
    /// a wrong path begins or ends behind it, or the run does.
    #[inline(always)]
    pub(super) fn step<K: Path>(&mut self, code: &mut Code) -> bool {
        if E::ENABLED && self.edit.is_in_sequence() {
            return self.step_in_sequence::<K>(&mut code.cache);
        }
        if !self.comes_to_group::<K>() {
            return false;
        }
        let position = self.position;
        let pc = self.fetch.pc;
        let nothing;
        let found = self.find(code, pc);
        let Code { cache, insts } = code;
        let inst = if let Some(at) = found {
            insts.take_alone(at)
        } else {
            nothing = self.static_inst(&NOTHING, pc, pc);
            &nothing
        };
        self.fetch.left -= 1;
        if K::IS_WRONG || E::ENABLED {
            self.stats.fetch_instructions += 1;
        }
        let mut predicted_next = inst.next();
        if inst.kind().is_transfer() {
            predicted_next = self.predict(inst);
        } else {
            self.fetch.go_on(inst.next());
            if inst.len == 0 {
                predicted_next = self.fetch_nothing();
            } else if E::ENABLED && inst.class == OpClass::DiseReturn {
                self.fetch.wait();
            }
        }
        self.position = position + 1;
        let decode = if self.fetch.pace == Pace::Even {
            let here = self.stamps.at(position, 0);
            self.stamps.set_decode(here, self.fetch.decode);
            self.fetch.decode
        } else {
            self.decode_alone::<K>(position)
        };
        if K::IS_WRONG && self.fetch.pace != Pace::Even && decode >= self.limit {
            if E::ENABLED {
                self.edit.fetched(decode);
            }
            return true;
        }
        if K::IS_WRONG || E::ENABLED {
            self.stats.decode_instructions += 1;
        }
        if E::RELAYOUT {
            self.edit.here = Edited::laid_out(self.mask_at(cache, pc));
        }
        if E::ENABLED {
            self.edit.fetched(decode);
            self.edit.leave_sequence();
            let mask = self.mask_at(cache, pc);
            if self.edit.concerns(mask) {
                // A sequence has its place.
                self.position = position;
                if self.begins_expansion(inst, mask, (pc, predicted_next), decode) {
                    return self.step_in_sequence::<K>(cache);
                }
                self.position = position + 1;
            }
            if inst.class == OpClass::DiseReturn {
                predicted_next = self.return_from_handler(decode);
            }
        }
        let dispatch = if self.fetch.pace == Pace::Even {
            self.fetch.dispatch
        } else {
            self.window_alone::<K>(position, decode)
        };
        let passing = Passing {
            inst,
            predicted_next,
        };
        self.dispatch::<K>(passing, position, dispatch)
    }

    /// The cycle in which an instruction is decoded whose group is not even. Not before the squash: it is not decoded.
    #[inline(always)]
    pub(super) fn decode_alone<K: Path>(&mut self, position: u64) -> u64 {
        let here = self.stamps.at(position, 0);
        let decode = self.decode_cycle(position);
        self.came_late(decode, 0);
        self.stamps.set_decode(here, decode);
        if K::IS_WRONG && decode >= self.limit {
            self.stamps.set_dispatch(here, decode);
        }
        decode
    }

    /// The cycle in which dispatch comes to it where there is a place in the window, too.
    #[inline(always)]
    pub(super) fn window_alone<K: Path>(&mut self, position: u64, decode: u64) -> u64 {
        let dispatch = self.window_cycle::<K>(position, decode);
        self.came_late(decode, dispatch);
        dispatch
    }

    /// Begins the next group if the next instruction has no place in this one. `false` if a wrong path has ended.
    #[inline(always)]
    pub(super) fn comes_to_group<K: Path>(&mut self) -> bool {
        let f = &self.fetch;
        let mut begins = f.left == 0;
        if seldom(!begins) && seldom(f.pace == Pace::Uneven) {
            begins = self.has_no_room(self.position);
        }
        if often(begins) && seldom(!self.begin_group::<K>()) {
            self.squash();
            return false;
        }
        true
    }

    /// Dispatches the last instruction, in the first cycle in which the window has a place for it, as soon as
    /// there is room elsewhere, too; then executes it and gives it its further cycles. As [`Self::step`].
    #[inline(always)]
    pub(super) fn dispatch<K: Path>(
        &mut self,
        passing: Passing<'_>,
        position: u64,
        mut dispatch: u64,
    ) -> bool {
        let inst = passing.inst;
        let here = self.stamps.at(position, 0);
        self.stamps.set_dispatch(here, dispatch);
        debug_assert!(
            self.full == Full::NEVER || self.full.position < position,
            "what comes to dispatch has not waited there"
        );
        let limited = inst.kind().bits() & kind::LIMITED;
        if (self.waiting >= self.params.reservation_stations) | (limited != 0) {
            let cycle = self.wait_for_room::<K>(dispatch, limited, position);
            if cycle > dispatch {
                dispatch = cycle;
                self.stamps.set_dispatch(here, dispatch);
                self.came_late(0, dispatch);
                self.fetch.pace = Pace::Uneven;
            }
        }
        if self.stores.next_drain <= dispatch && !(K::IS_WRONG && dispatch >= self.limit) {
            self.drain_until(dispatch);
        }
        if E::ENABLED && inst.rd >= reg::DISE && self.editor.reads_register(inst.rd) {
            // Microinstructions read it in decode.
            self.edit.wait_until(dispatch);
            self.fetch.pace = Pace::Uneven;
        }
        if K::IS_WRONG {
            if dispatch >= self.limit {
                return true;
            }
            self.stats.dispatch_instructions += 1;
        }
        self.dispatched = dispatch;
        if P::WANTS_CYCLES {
            self.told_dispatch = dispatch;
        }
        self.waiting += 1;
        if E::ENABLED && self.is_unpredicted(inst) {
            return self.execute_unpredicted::<K>(passing);
        }
        self.complete::<K>(passing)
    }

    /// Executes an instruction that has been dispatched, and gives it its further cycles. As [`Self::step`].
    #[inline(always)]
    pub(super) fn complete<K: Path>(&mut self, passing: Passing<'_>) -> bool {
        let inst = passing.inst;
        if self.computes(inst) {
            let ready = self.ready_by_two(inst);
            self.finish_computed::<K>(inst, ready);
            return true;
        }
        self.complete_other::<K>(passing)
    }

    /// Completes an instruction that is no computation.
    #[inline(always)]
    pub(super) fn complete_other<K: Path>(&mut self, passing: Passing<'_>) -> bool {
        let kind = passing.inst.kind();
        if matches!(kind, Kind::Load | Kind::ConvertingLoad) {
            return self.execute_load::<K>(passing);
        }
        if kind.is_transfer() {
            return self.execute_transfer::<K>(passing);
        }
        if matches!(kind, Kind::Store | Kind::ConvertingStore) {
            return self.execute_store::<K>(passing);
        }
        if kind == Kind::ByThree && self.takes_effect(passing.inst) {
            let ready = self.ready(passing.inst);
            self.finish_computed::<K>(passing.inst, ready);
            return true;
        }
        if kind == Kind::Alone {
            self.execute_serializing(passing);
            return false;
        }
        self.execute::<K>(passing)
    }

    /// Instruction that the code cache holds for an address of the page that is read.
    #[inline(always)]
    fn decoded_at<'a>(&self, code: &'a CodeCache, pc: u64) -> &'a Inst {
        let place = self.fetch.place_of(pc);
        if place < SLOTS {
            &code.slots(self.fetch.page_index)[place].inst
        } else {
            &NOTHING
        }
    }

    /// Decodes what the code cache does not hold yet. What can't be decoded stays an illegal instruction of no
    /// length.
    #[inline(never)]
    fn decode_at(&self, code: &mut CodeCache, pc: u64) {
        let _ = code.lookup(pc, &self.process.mem, &self.editor);
    }

    /// Instruction at an address of any page, decoded if need be.
    pub(super) fn read_slot<'a>(&mut self, code: &'a mut CodeCache, pc: u64) -> &'a Inst {
        if self.fetch.place_of(pc) >= SLOTS {
            self.read_page(code, pc);
        }
        if self.decoded_at(code, pc).len == 0 {
            self.decode_at(code, pc);
        }
        self.decoded_at(code, pc)
    }

    /// Mask of the editor for an address of the page that is read (see [`DecodeEditor::static_mask`]).
    #[inline(always)]
    fn mask_at(&self, code: &CodeCache, pc: u64) -> u32 {
        let place = self.fetch.place_of(pc);
        if place < SLOTS {
            code.slots(self.fetch.page_index)[place].mask
        } else {
            0
        }
    }

    /// Whether the queue behind fetch has no room for an instruction in the cycle of its group.
    #[inline(always)]
    pub(super) fn has_no_room(&self, position: u64) -> bool {
        self.taken(position, 0) > self.fetch.cycle
    }

    /// When decode takes what lies a whole queue behind fetch before the instruction that is `ahead` behind
    /// the next one, which has this position.
    #[inline(always)]
    pub(super) fn taken(&self, position: u64, ahead: usize) -> u64 {
        let places = self.params.fetch_buffer;
        if E::ENABLED {
            return self.edit.taken(places - ahead);
        }
        let s = &self.stamps;
        s.decode(s.at(position + ahead as u64, places as u64))
    }

    /// The cycle in which an instruction of the group that is being fetched is decoded.
    #[inline(always)]
    fn decode_cycle(&self, position: u64) -> u64 {
        self.decode_cycle_from(self.fetch.cycle + self.params.fetch_to_decode, position)
    }

    /// The cycle in which decode comes to what it could take from this cycle on.
    #[inline(always)]
    pub(super) fn decode_cycle_from(&self, from: u64, position: u64) -> u64 {
        let (p, s) = (&self.params, &self.stamps);
        let ripe = from.max(s.dispatch(s.at(position, p.decode_buffer as u64)));
        let width_ago = s.decode(s.at(position, p.decode_width as u64));
        let last = s.decode(s.at(position, 1));
        if !E::ENABLED {
            return in_order(ripe, last, width_ago);
        }
        let ripe = self.edit.in_time(ripe);
        let cycle = self.edit.unstalled(in_order(ripe, last, width_ago));
        // The end of a sequence has taken the place of an instruction.
        let ends = self.edit.ends_in(cycle);
        let is_full = ends > 0 && {
            let position = position + ends as u64;
            ends >= p.decode_width
                || s.decode(s.at(position, p.decode_width as u64)) >= cycle
                || ends >= p.decode_buffer
                || s.dispatch(s.at(position, p.decode_buffer as u64)) > cycle
        };
        cycle + u64::from(is_full)
    }

    /// The first cycle in which dispatch has come to an instruction.
    #[inline(always)]
    fn dispatch_cycle(&self, position: u64, decode: u64) -> u64 {
        let (p, s) = (&self.params, &self.stamps);
        let width_ago = s.dispatch(s.at(position, p.dispatch_width as u64));
        let last = s.dispatch(s.at(position, 1));
        in_order(decode + p.decode_to_dispatch, last, width_ago)
    }

    /// The cycle in which there is a place in the window, too, not before the next squash if that comes
    /// first.
    #[inline(never)]
    pub(super) fn window_cycle<K: Path>(&mut self, position: u64, decode: u64) -> u64 {
        let mut cycle = self.dispatch_cycle(position, decode);
        let rob = self.params.rob_entries;
        let window = if K::IS_WRONG && position >= self.window_end {
            self.limit
        } else {
            self.stamps.commit(position, rob)
        };
        if window > cycle {
            self.stats.rename_rob_full_cycles += self.until_limit::<K>(cycle, window);
            cycle = window;
        }
        // Waiting instructions are counted up to the last time that their number mattered.
        if cycle > self.calendar.recent() {
            self.pass::<K>(cycle);
        }
        cycle
    }

    /// True: the group that is fetched in this cycle comes into stages that the one before it has left, and there is
    /// room for it in the queues between them.
    #[inline(always)]
    pub(super) fn flows(&self, cycle: u64) -> bool {
        self.flows_from <= cycle
    }

    /// [`Self::flows_from`] as long as no instruction has waited.
    pub(super) fn flows_at_first(&self) -> u64 {
        if self.groups_flow { 0 } else { NEVER }
    }

    /// An instruction has waited for decode or dispatch until these cycles.
    #[inline(always)]
    fn came_late(&mut self, decode: u64, dispatch: u64) {
        let from = decode.max(dispatch.saturating_sub(self.params.fetch_to_decode));
        self.flows_from = self.flows_from.max(from);
    }

    /// Whether the queues behind fetch and behind decode have room for all of the group that is fetched and
    /// decoded in these cycles.
    #[inline(always)]
    fn finds_room(&self, first: u64, cycle: u64, decode: u64) -> bool {
        let (p, s) = (&self.params, &self.stamps);
        let last = first + p.fetch_width as u64 - 1;
        self.taken(first, p.fetch_width - 1) <= cycle
            && s.dispatch(s.at(last, p.decode_buffer as u64)) <= decode
    }

    /// Finds out whether all instructions of the group that begins are decoded in one cycle and dispatched in one. All
    /// have the cycles of the first instruction if nothing keeps out the last one that the group may have. The group
    /// then needs no checks for single instructions, which are half of the work of these stages.
    #[inline(always)]
    pub(super) fn plan_group<K: Path>(&mut self, flows: bool) {
        let (first, cycle) = (self.position, self.fetch.cycle);
        let (p, s) = (&self.params, &self.stamps);
        let last = first + p.fetch_width as u64 - 1;
        let before = s.at(first, 1);
        let mut decode = cycle + p.fetch_to_decode;
        let mut dispatch = decode + p.decode_to_dispatch;
        let mut fits = flows || self.groups_fit;
        let mut late = None;
        // Most groups come into stages that the group before them has left.
        debug_assert_eq!(flows, self.flows(cycle));
        let mut is_alone = flows;
        if !flows {
            is_alone = s.decode(before) < decode && s.dispatch(before) < dispatch;
            if E::ENABLED {
                is_alone &= self.edit.is_free_in(decode);
            }
            if !is_alone {
                decode = self.decode_cycle(first);
                dispatch = self.dispatch_cycle(first, decode);
            }
            fits = fits && self.finds_room(first, cycle, decode);
        }
        debug_assert!(!flows || self.finds_room(first, cycle, decode));
        debug_assert!(!flows || s.decode(before) < decode && s.dispatch(before) < dispatch);
        let mut is_even =
            s.commit(last, p.rob_entries) <= dispatch && dispatch <= self.calendar.recent();
        if !is_alone {
            fits = fits && s.decode(s.at(last, p.decode_width as u64)) < decode;
            is_even = is_even && s.dispatch(s.at(last, p.dispatch_width as u64)) < dispatch;
            late = Some((decode, dispatch));
        }
        if E::ENABLED {
            fits &= is_alone || self.edit.is_free_in(decode);
        }
        if K::IS_WRONG {
            is_even = is_even && last < self.window_end;
            if !E::ENABLED && dispatch >= self.limit {
                // The group is squashed before dispatch, so it does not matter what else keeps it from dispatch, or
                // from decode if it is not even decoded by then.
                is_even = true;
                if decode >= self.limit {
                    fits = self.groups_fit && self.taken(first, p.fetch_width - 1) <= cycle;
                }
            } else {
                is_even |= decode >= self.limit;
            }
        }
        let pace = if !(fits & is_even) {
            Pace::Uneven
        } else if !K::IS_WRONG || dispatch < self.limit {
            Pace::Even
        } else if E::ENABLED && decode < self.limit {
            // Decode still asks the editor.
            Pace::Uneven
        } else {
            Pace::Undispatched
        };
        if pace != Pace::Uneven {
            // Instructions that are not decoded before the squash have no cycle of dispatch.
            let is_decoded = !K::IS_WRONG || decode < self.limit;
            let dispatch = if is_decoded { dispatch } else { decode };
            self.stamps
                .set_group(first, self.params.fetch_width, decode, dispatch);
        }
        if let Some((decode, dispatch)) = late {
            self.came_late(decode, dispatch);
        }
        let f = &mut self.fetch;
        f.pace = pace;
        f.decode = decode;
        f.dispatch = dispatch;
    }

    /// Plans a group that [flows](Self::flows).
    #[inline(always)]
    pub(super) fn plan_flowing_group<K: Path>(&mut self) {
        let first = self.position;
        let (p, s) = (&self.params, &self.stamps);
        let last = first + p.fetch_width as u64 - 1;
        let decode = self.fetch.cycle + p.fetch_to_decode;
        let dispatch = decode + p.decode_to_dispatch;
        let mut is_even =
            s.commit(last, p.rob_entries) <= dispatch && dispatch <= self.calendar.recent();
        if K::IS_WRONG {
            is_even &= dispatch < self.limit && last < self.window_end;
        }
        if seldom(!is_even) {
            return self.plan_group_slowly::<K>();
        }
        debug_assert!(self.finds_room(first, self.fetch.cycle, decode));
        self.stamps
            .set_group(first, self.params.fetch_width, decode, dispatch);
        let f = &mut self.fetch;
        f.pace = Pace::Even;
        f.decode = decode;
        f.dispatch = dispatch;
    }

    #[inline(never)]
    fn plan_group_slowly<K: Path>(&mut self) {
        self.plan_group::<K>(true);
    }

    /// Plans a group that [flows](Self::flows) behind a group that is squashed before dispatch.
    #[inline(always)]
    pub(super) fn plan_undispatched_group(&mut self) {
        let first = self.position;
        let decode = self.fetch.cycle + self.params.fetch_to_decode;
        let dispatch = decode + self.params.decode_to_dispatch;
        debug_assert!(self.finds_room(first, self.fetch.cycle, decode));
        debug_assert!(self.fetch.pace == Pace::Undispatched && dispatch >= self.limit);
        let is_decoded = decode < self.limit;
        self.stamps.set_group(
            first,
            self.params.fetch_width,
            decode,
            if is_decoded { dispatch } else { decode },
        );
        self.fetch.decode = decode;
        self.fetch.dispatch = dispatch;
    }
}
