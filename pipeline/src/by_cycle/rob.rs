//! The reorder buffer as a ring.

use serde::{Deserialize, Serialize};

use super::uop::MicroOp;

/// A place in the ROB. Only the ROB and the sets over its slots make them, so that one that is not
/// [`Slot::NONE`] is always less than the number of slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Slot(u32);

hps_isa::save_values!(Slot);

impl Slot {
    /// No slot: the end of a list.
    pub const NONE: Slot = Slot(u32::MAX);

    #[inline(always)]
    pub fn index(self) -> usize {
        self.0 as usize
    }

    /// Slot of a bit in a set over all slots of the ROB.
    #[inline(always)]
    pub(super) fn of_bit(word: usize, bit: u32) -> Slot {
        Slot(word as u32 * 64 + bit)
    }

    /// Whether it is one of so many slots, or none.
    pub(super) fn is_among(self, slots: usize) -> bool {
        self == Slot::NONE || self.index() < slots
    }

    #[cfg(test)]
    pub(super) fn new(index: u32) -> Slot {
        Slot(index)
    }
}

/// The reorder buffer. Positions only grow (a squash takes back the youngest); the slot of a
/// position is its low bits. Positions start at 1, so that 0 is older than all of them.
#[derive(Clone)]
pub struct Rob {
    slots: Box<[MicroOp]>,
    mask: u64,
    /// Position of the oldest instruction.
    pub head: u64,
    /// One past the youngest.
    pub tail: u64,
}

hps_isa::save_state! { Rob { slots, mask: skip, head, tail } }

impl Rob {
    pub fn new(entries: usize) -> Self {
        let slots = entries.next_power_of_two().max(64);
        Rob {
            slots: vec![MicroOp::EMPTY; slots].into_boxed_slice(),
            mask: slots as u64 - 1,
            head: 1,
            tail: 1,
        }
    }

    /// Slots that restored instructions name.
    pub fn named_slots(&self) -> impl Iterator<Item = Slot> {
        self.slots.iter().map(|u| u.next_parked)
    }

    /// Forgets all instructions.
    pub fn clear(&mut self) {
        self.slots.fill(MicroOp::EMPTY);
    }

    /// Slots, a power of two.
    pub fn slots(&self) -> usize {
        self.slots.len()
    }

    #[inline(always)]
    pub fn len(&self) -> u64 {
        self.tail - self.head
    }

    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.tail == self.head
    }

    #[inline(always)]
    pub fn slot_of(&self, position: u64) -> Slot {
        Slot((position & self.mask) as u32)
    }

    /// The position of the instruction in a slot that is in use.
    #[inline(always)]
    pub fn position_of(&self, slot: Slot) -> u64 {
        self.head + (u64::from(slot.0).wrapping_sub(self.head) & self.mask)
    }

    #[inline(always)]
    pub fn at(&self, slot: Slot) -> &MicroOp {
        debug_assert!(slot.index() < self.slots.len());
        // SAFETY: a core has one ROB; its slots come from `slot_of`, which masks them, or from sets
        // that have one bit for each slot. Lists are followed only up to `Slot::NONE`.
        unsafe { self.slots.get_unchecked(slot.index()) }
    }

    #[inline(always)]
    pub fn at_mut(&mut self, slot: Slot) -> &mut MicroOp {
        debug_assert!(slot.index() < self.slots.len());
        // SAFETY: as in `at`.
        unsafe { self.slots.get_unchecked_mut(slot.index()) }
    }

    #[inline(always)]
    pub fn head(&self) -> Option<&MicroOp> {
        if self.is_empty() {
            None
        } else {
            Some(self.at(self.slot_of(self.head)))
        }
    }
}
