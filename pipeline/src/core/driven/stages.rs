//! An instruction through fetch, decode and dispatch.

use hps_sim_core::code::{CodeCache, SLOTS};
use hps_sim_core::editor::NoEditor;
use hps_sim_core::inst::Inst;

use super::super::uop::kind;
use super::{DrivenCore, Passing, PipelineProbe, in_order};

/// Cycles after which the calendar of issue forgets at the latest. Far less than it holds.
pub(super) const LONG_AGO: u64 = 512;

/// Where nothing can be executed.
const NOTHING: Inst = Inst::illegal(0);

impl<P: PipelineProbe> DrivenCore<P> {
    /// The next instruction of the predicted path, through all stages; or the end of a wrong path. False:
    /// a wrong path begins or ends behind it, or the run does.
    #[inline(always)]
    pub(super) fn step<const ASTRAY: bool>(&mut self, code: &mut CodeCache) -> bool {
        let position = self.position;
        let p = &self.params;
        let s = &self.stamps;
        let room = s.decode(s.at(position, p.fetch_buffer as u64));
        let f = &self.fetch;
        if ((f.left == 0) | (f.pc >= f.block_end) | (room > f.cycle))
            && !self.begin_group::<ASTRAY>(room)
        {
            self.squash();
            return false;
        }
        let pc = self.fetch.pc;
        if self.fetch.place_of(pc) >= SLOTS {
            self.read_page(code, pc);
        }
        let mut inst = self.decoded_at(code, pc);
        let mut kind = kind::of(inst.class);
        if kind & (kind::TURNS_FETCH | kind::TRANSFERS) == kind::TURNS_FETCH {
            inst = self.decode_at(code, pc);
            kind = kind::of(inst.class);
        }
        self.fetch.left -= 1;
        let fetch = self.fetch.cycle;
        let next = pc.wrapping_add(u64::from(inst.len));
        let mut predicted_next = next;
        if ASTRAY {
            self.stats.fetch_instructions += 1;
        }
        if kind & kind::TRANSFERS != 0 {
            predicted_next = self.predict(pc, inst, next);
        } else {
            self.fetch.pc = next;
            if inst.len == 0 {
                predicted_next = self.fetch_nothing();
            }
        }
        let p = &self.params;
        let s = &mut self.stamps;
        let (here, last) = (s.at(position, 0), s.at(position, 1));
        let room = s.dispatch(s.at(position, p.decode_buffer as u64));
        let width_ago = s.decode(s.at(position, p.decode_width as u64));
        let ripe = (fetch + p.fetch_to_decode).max(room);
        let decode = in_order(ripe, s.decode(last), width_ago);
        s.set_decode(here, decode);
        self.position = position + 1;
        if ASTRAY {
            if decode >= self.limit {
                s.set_dispatch(here, decode);
                return true;
            }
            self.stats.decode_instructions += 1;
        }
        let dispatch = self.dispatch_cycle::<ASTRAY>(position, decode, kind);
        self.stamps.set_dispatch(here, dispatch);
        if ASTRAY {
            if dispatch >= self.limit {
                return true;
            }
            self.stats.dispatch_instructions += 1;
        }
        self.dispatched = dispatch;
        if kind & kind::SERIALIZES != 0 {
            let inst = *inst;
            let passing = Passing {
                inst: &inst,
                pc,
                next,
                predicted_next,
                decode,
                dispatch,
            };
            self.execute_alone(code, passing);
            return false;
        }
        let passing = Passing {
            inst,
            pc,
            next,
            predicted_next,
            decode,
            dispatch,
        };
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

    /// The same if that does not say what is there: it is decoded.
    #[inline(never)]
    fn decode_at<'a>(&mut self, code: &'a mut CodeCache, pc: u64) -> &'a Inst {
        match code.lookup(pc, &self.process.mem, &NoEditor) {
            Ok(slot) => &slot.inst,
            Err(_) => &NOTHING,
        }
    }

    /// The cycle in which an instruction is dispatched, not before the next squash if that comes first.
    /// Up to then the cache has taken its stores.
    #[inline(always)]
    fn dispatch_cycle<const ASTRAY: bool>(&mut self, position: u64, decode: u64, kind: u8) -> u64 {
        let p = &self.params;
        let s = &self.stamps;
        let width_ago = s.dispatch(s.at(position, p.dispatch_width as u64));
        let last = s.dispatch(s.at(position, 1));
        let mut cycle = in_order(decode + p.decode_to_dispatch, last, width_ago);
        let window = if ASTRAY && position >= self.first_astray.saturating_add(p.rob_entries) {
            self.limit
        } else {
            s.commit(s.at(position, p.rob_entries))
        };
        if window > cycle {
            self.stats.rename_rob_full_cycles += self.until_limit::<ASTRAY>(cycle, window);
            cycle = window;
        }
        let limited = kind & p.limited_kinds;
        // What waits is counted up to the last time that it mattered.
        let is_long_ago = cycle - self.calendar.passed() > LONG_AGO;
        if (self.waiting >= p.reservation_stations) | (limited != 0) | is_long_ago {
            cycle = self.wait_for_room::<ASTRAY>(cycle, limited, position);
        }
        if self.stores.next_drain <= cycle && !(ASTRAY && cycle >= self.limit) {
            self.drain_until(cycle);
        }
        cycle
    }
}
