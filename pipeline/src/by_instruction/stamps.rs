//! The cycles in which the youngest instructions were decoded, dispatched and committed.

use hps_isa::likely::often;

/// Instructions whose cycles are kept at most: more than the reorder buffer and the queues in front of it
/// hold, and those that are asked for by the first ones behind a squash.
pub const STAMPS: usize = 1024;

/// Instructions whose cycles are set at once, usually.
pub const AT_ONCE: usize = 4;

/// Cycles of the youngest instructions, by position: younger ones ask for them.
#[derive(Clone)]
pub struct Stamps {
    mask: u64,
    /// From this place on, a group set at once would run into the end; the first one if groups are larger.
    turn: usize,
    decode: [u64; STAMPS],
    dispatch: [u64; STAMPS],
    /// Commits of the right path only, each at the place of the next instruction.
    commit: [u64; STAMPS],
}

hps_isa::save_state! { Stamps { mask: skip, turn: skip, decode, dispatch, commit } }

impl Stamps {
    /// Stamps for groups of `group` instructions; `None` if `in_flight` instructions are too many.
    pub fn new(in_flight: usize, group: usize) -> Option<Self> {
        let places = in_flight.next_power_of_two();
        (places <= STAMPS).then_some(Stamps {
            mask: places as u64 - 1,
            turn: if group <= AT_ONCE {
                (places + 1).saturating_sub(AT_ONCE)
            } else {
                0
            },
            decode: [0; STAMPS],
            dispatch: [0; STAMPS],
            commit: [0; STAMPS],
        })
    }

    /// Instructions whose cycles are kept.
    pub fn places(&self) -> u64 {
        self.mask + 1
    }

    /// Where the cycles of the instruction stand that is `back` positions before another one.
    #[inline(always)]
    pub fn at(&self, position: u64, back: u64) -> Place {
        Place((position.wrapping_sub(back) & self.mask) as usize)
    }

    #[inline(always)]
    pub fn decode(&self, place: Place) -> u64 {
        // SAFETY: places come from `at`, and `mask` is less than `STAMPS` and never changes.
        unsafe { *self.decode.get_unchecked(place.0) }
    }

    #[inline(always)]
    pub fn dispatch(&self, place: Place) -> u64 {
        // SAFETY: as above.
        unsafe { *self.dispatch.get_unchecked(place.0) }
    }

    /// When the instruction committed that is `back` positions before another one.
    #[inline(always)]
    pub fn commit(&self, position: u64, back: u64) -> u64 {
        let place = self.at(position, back - 1);
        // SAFETY: as above.
        unsafe { *self.commit.get_unchecked(place.0) }
    }

    #[inline(always)]
    pub fn set_decode(&mut self, place: Place, cycle: u64) {
        // SAFETY: as above.
        unsafe { *self.decode.get_unchecked_mut(place.0) = cycle };
    }

    #[inline(always)]
    pub fn set_dispatch(&mut self, place: Place, cycle: u64) {
        // SAFETY: as above.
        unsafe { *self.dispatch.get_unchecked_mut(place.0) = cycle };
    }

    /// Decode and dispatch of `count` instructions from a position on, and perhaps of a few behind them.
    #[inline(always)]
    pub fn set_group(&mut self, position: u64, count: usize, decode: u64, dispatch: u64) {
        let Place(first) = self.at(position, 0);
        if often(first < self.turn) {
            debug_assert!(count <= AT_ONCE);
            // SAFETY: `turn` is such that as many places follow each one before it.
            unsafe {
                let group = first..first + AT_ONCE;
                self.decode.get_unchecked_mut(group.clone()).fill(decode);
                self.dispatch.get_unchecked_mut(group).fill(dispatch);
            }
            return;
        }
        for position in position..position + count as u64 {
            let place = self.at(position, 0);
            self.set_decode(place, decode);
            self.set_dispatch(place, dispatch);
        }
    }

    /// The commit of the last instruction, where the next one has this position.
    #[inline(always)]
    pub fn set_last_commit(&mut self, position: u64, cycle: u64) {
        let place = self.at(position, 0);
        // SAFETY: as above.
        unsafe { *self.commit.get_unchecked_mut(place.0) = cycle };
    }
}

/// A place among the [`Stamps`] of a core, of which there is only one.
#[derive(Clone, Copy)]
pub struct Place(usize);
