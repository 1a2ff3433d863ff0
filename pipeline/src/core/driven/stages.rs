//! An instruction through fetch, decode and dispatch.

use hps_sim_core::bus::NoMemory;
use hps_sim_core::code::{CodeCache, SLOTS};
use hps_sim_core::exec::{self, Outcome};
use hps_sim_core::hart::Hart;
use hps_sim_core::inst::{Inst, OpClass, reg};

use super::super::uop::kind;
use super::edit::Edited;
use super::{DecodeEditor, DrivenCore, Passing, PipelineProbe, in_order};

/// Cycles after which the calendar of issue forgets at the latest. Far less than it holds.
pub(super) const LONG_AGO: u64 = 512;

/// Where nothing can be executed.
const NOTHING: Inst = Inst::illegal(0);

/// Executes what only computes. False: it traps, and nothing has changed.
#[inline(never)]
fn compute(hart: &mut Hart, inst: &Inst, pc: u64) -> bool {
    exec::execute(hart, &mut NoMemory, inst, pc) == Outcome::Next
}

impl<E: DecodeEditor, P: PipelineProbe> DrivenCore<E, P> {
    /// The next instruction of the predicted path, through all stages; or the end of a wrong path. False:
    /// a wrong path begins or ends behind it, or the run does.
    #[inline(always)]
    pub(super) fn step<const ASTRAY: bool>(&mut self, code: &mut CodeCache) -> bool {
        if E::ENABLED && self.edit.is_in_sequence() {
            return self.step_in_sequence::<ASTRAY>(code);
        }
        let f = &self.fetch;
        if ((f.left == 0) | (f.pc >= f.block_end) || !f.is_even && self.has_no_room(self.position))
            && !self.begin_group::<ASTRAY>()
        {
            self.squash();
            return false;
        }
        if self.fetch.place_of(self.fetch.pc) >= SLOTS {
            self.read_page(code, self.fetch.pc);
        }
        let position = self.position;
        let pc = self.fetch.pc;
        let mut inst = self.decoded_at(code, pc);
        let mut kind = self.kinds[inst.class as usize];
        self.fetch.left -= 1;
        if ASTRAY || E::ENABLED {
            self.stats.fetch_instructions += 1;
        }
        let mut next = pc.wrapping_add(u64::from(inst.len));
        let mut predicted_next = next;
        self.fetch.pc = next;
        if kind & kind::TURNS_FETCH != 0 {
            if kind & kind::TRANSFERS == 0 {
                self.decode_at(code, pc);
                inst = self.decoded_at(code, pc);
                kind = self.kinds[inst.class as usize];
                next = pc.wrapping_add(u64::from(inst.len));
                predicted_next = next;
                self.fetch.pc = next;
            }
            if kind & kind::TRANSFERS != 0 {
                predicted_next = self.predict(pc, inst, next);
            } else if inst.len == 0 {
                predicted_next = self.fetch_nothing();
            } else if E::ENABLED && inst.class == OpClass::DiseReturn {
                self.fetch.wait();
            }
        }
        self.position = position + 1;
        let here = self.stamps.at(position, 0);
        let (decode, mut dispatch);
        if self.fetch.is_even {
            (decode, dispatch) = (self.fetch.decode, self.fetch.dispatch);
            self.stamps.set_decode(here, decode);
        } else {
            decode = self.decode_cycle(position);
            self.stamps.set_decode(here, decode);
            if ASTRAY && decode >= self.limit {
                self.stamps.set_dispatch(here, decode);
                if E::ENABLED {
                    self.edit.fetched(decode);
                }
                return true;
            }
            dispatch = 0;
            if !E::ENABLED {
                dispatch = self.window_cycle::<ASTRAY>(position, decode);
            }
        }
        if ASTRAY || E::ENABLED {
            self.stats.decode_instructions += 1;
        }
        if E::RELAYOUT {
            self.edit.here = Edited::laid_out(self.mask_at(code, pc));
        }
        if E::ENABLED {
            self.edit.fetched(decode);
            self.edit.leave_sequence();
            let mask = self.mask_at(code, pc);
            if self.edit.concerns(mask) {
                // A sequence has its place.
                self.position = position;
                if self.begins_expansion(inst, mask, (pc, predicted_next), decode) {
                    return self.step_in_sequence::<ASTRAY>(code);
                }
                self.position = position + 1;
            }
            if inst.class == OpClass::DiseReturn {
                predicted_next = self.return_from_handler(decode);
            }
            if !self.fetch.is_even {
                dispatch = self.window_cycle::<ASTRAY>(position, decode);
            }
        }
        let passing = Passing {
            inst,
            pc,
            next,
            predicted_next,
            decode,
            dispatch,
        };
        self.dispatch::<ASTRAY>(passing, kind, position)
    }

    /// Dispatches the last instruction, in the first cycle in which the window has a place for it, as soon as
    /// there is room elsewhere, too; then executes it and gives it its further cycles. As [`Self::step`].
    #[inline(always)]
    pub(super) fn dispatch<const ASTRAY: bool>(
        &mut self,
        passing: Passing<'_>,
        kind: u8,
        position: u64,
    ) -> bool {
        let Passing {
            inst,
            pc,
            next,
            predicted_next,
            decode,
            mut dispatch,
        } = passing;
        let here = self.stamps.at(position, 0);
        self.stamps.set_dispatch(here, dispatch);
        debug_assert!(
            self.full.0 == u64::MAX || self.full.0 < position,
            "what comes to dispatch has not waited there"
        );
        if (self.waiting >= self.params.reservation_stations) | (kind & kind::LIMITED != 0) {
            let cycle = self.wait_for_room::<ASTRAY>(dispatch, kind & kind::LIMITED, position);
            if cycle > dispatch {
                dispatch = cycle;
                self.stamps.set_dispatch(here, dispatch);
                self.fetch.is_even = false;
            }
        }
        if self.stores.next_drain <= dispatch && !(ASTRAY && dispatch >= self.limit) {
            self.drain_until(dispatch);
        }
        if E::ENABLED && inst.rd >= reg::DISE && self.editor.reads_register(inst.rd) {
            // Microinstructions read it in decode.
            self.edit.wait_until(dispatch);
            self.fetch.is_even = false;
        }
        if ASTRAY {
            if dispatch >= self.limit {
                return true;
            }
            self.stats.dispatch_instructions += 1;
        }
        self.dispatched = dispatch;
        if E::ENABLED && self.is_unpredicted(inst, kind) {
            let passing = Passing {
                dispatch,
                ..passing
            };
            return self.execute_unpredicted::<ASTRAY>(passing);
        }
        if kind == 0 && compute(&mut self.process.hart, inst, pc) {
            // One of its own: this one need not be in memory for a call.
            let passing = Passing {
                inst,
                pc,
                next,
                predicted_next: next,
                decode,
                dispatch,
            };
            self.finish_computed::<ASTRAY>(&passing);
            return true;
        }
        let passing = Passing {
            inst,
            pc,
            next,
            predicted_next,
            decode,
            dispatch,
        };
        if kind == kind::LOADS {
            return self.execute_load::<ASTRAY>(passing);
        }
        if kind & kind::TRANSFERS != 0 {
            return self.execute_transfer::<ASTRAY>(passing);
        }
        if kind == kind::STORES {
            return self.execute_store::<ASTRAY>(passing);
        }
        if kind & kind::SERIALIZES != 0 {
            self.execute_alone(passing);
            return false;
        }
        self.execute::<ASTRAY>(passing, kind)
    }

    /// What the code cache holds for an address of the page that is read.
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

    /// What lies at an address of any page, decoded if need be.
    pub(super) fn read_slot<'a>(&mut self, code: &'a mut CodeCache, pc: u64) -> &'a Inst {
        if self.fetch.place_of(pc) >= SLOTS {
            self.read_page(code, pc);
        }
        if self.decoded_at(code, pc).len == 0 {
            self.decode_at(code, pc);
        }
        self.decoded_at(code, pc)
    }

    /// What the editor is interested in at an address of the page that is read (see
    /// [`DecodeEditor::static_mask`]).
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
    pub(super) fn window_cycle<const ASTRAY: bool>(&mut self, position: u64, decode: u64) -> u64 {
        let mut cycle = self.dispatch_cycle(position, decode);
        let rob = self.params.rob_entries;
        let window = if ASTRAY && position >= self.first_astray.saturating_add(rob) {
            self.limit
        } else {
            self.stamps.commit(self.stamps.at(position, rob))
        };
        if window > cycle {
            self.stats.rename_rob_full_cycles += self.until_limit::<ASTRAY>(cycle, window);
            cycle = window;
        }
        // What waits is counted up to the last time that it mattered.
        if cycle - self.calendar.passed() > LONG_AGO {
            self.pass::<ASTRAY>(cycle);
        }
        cycle
    }

    /// Finds out whether all instructions of the group that begins are decoded in one cycle and
    /// dispatched in one: those of the first if nothing keeps out the last that it may have. Then nobody
    /// asks again for each of them, which is half of the work of these stages.
    #[inline(always)]
    pub(super) fn plan_group<const ASTRAY: bool>(&mut self) {
        let (first, cycle) = (self.position, self.fetch.cycle);
        let (p, s) = (&self.params, &self.stamps);
        let last = first + p.fetch_width as u64 - 1;
        let before = s.at(first, 1);
        let mut decode = cycle + p.fetch_to_decode;
        let mut dispatch = decode + p.decode_to_dispatch;
        // Most groups come into stages that the group before them has left.
        let mut is_alone = s.decode(before) < decode && s.dispatch(before) < dispatch;
        if E::ENABLED {
            is_alone &= self.edit.is_free_in(decode);
        }
        if !is_alone {
            decode = self.decode_cycle(first);
            dispatch = self.dispatch_cycle(first, decode);
        }
        let mut is_even = self.groups_fit
            && self.taken(first, p.fetch_width - 1) <= cycle
            && s.dispatch(s.at(last, p.decode_buffer as u64)) <= decode
            && s.commit(s.at(last, p.rob_entries)) <= dispatch
            && dispatch - self.calendar.passed() <= LONG_AGO;
        if !is_alone {
            is_even = is_even
                && s.decode(s.at(last, p.decode_width as u64)) < decode
                && s.dispatch(s.at(last, p.dispatch_width as u64)) < dispatch;
        }
        if E::ENABLED {
            is_even &= is_alone || self.edit.is_free_in(decode);
        }
        if ASTRAY {
            is_even &= (dispatch < self.limit) & (last - self.first_astray < p.rob_entries);
        }
        let f = &mut self.fetch;
        f.is_even = is_even;
        f.decode = decode;
        f.dispatch = dispatch;
    }
}
