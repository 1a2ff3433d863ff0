//! The reorder buffer as a ring.

use super::ring::Ring;
use super::uop::MicroOp;

/// The reorder buffer. Positions only grow (a squash takes back the youngest); the slot of a
/// position is its low bits. Positions start at 1, so that 0 is older than all of them.
pub struct Rob {
    ring: Ring<MicroOp>,
    /// Position of the oldest instruction.
    pub head: u64,
    /// One past the youngest.
    pub tail: u64,
}

impl Rob {
    pub fn new(entries: usize) -> Self {
        Rob {
            ring: Ring::new(entries.max(64), MicroOp::EMPTY),
            head: 1,
            tail: 1,
        }
    }

    /// Slots, a power of two.
    pub fn slots(&self) -> usize {
        self.ring.places()
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
    pub fn slot_of(&self, position: u64) -> u32 {
        (position as usize & (self.ring.places() - 1)) as u32
    }

    /// The position of the instruction in a slot that is in use.
    #[inline(always)]
    pub fn position_of(&self, slot: u32) -> u64 {
        let mask = self.ring.places() as u64 - 1;
        self.head + (u64::from(slot).wrapping_sub(self.head) & mask)
    }

    /// The instruction in a slot, or at a position.
    #[inline(always)]
    pub fn at(&self, slot: impl Into<u64>) -> &MicroOp {
        self.ring.at(slot.into() as usize)
    }

    #[inline(always)]
    pub fn at_mut(&mut self, slot: impl Into<u64>) -> &mut MicroOp {
        self.ring.at_mut(slot.into() as usize)
    }

    #[inline(always)]
    pub fn head(&self) -> Option<&MicroOp> {
        if self.is_empty() {
            None
        } else {
            Some(self.at(self.head))
        }
    }
}
