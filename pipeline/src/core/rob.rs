//! The reorder buffer as a ring, and the ready set as a bit for each of its slots.

use super::uop::MicroOp;

/// The reorder buffer. Positions only grow (a squash takes back the youngest); the slot of a
/// position is its low bits. Positions start at 1, so that 0 is older than all of them.
pub struct Rob {
    ring: Vec<MicroOp>,
    mask: u64,
    /// Position of the oldest instruction.
    pub head: u64,
    /// One past the youngest.
    pub tail: u64,
}

impl Rob {
    pub fn new(entries: usize) -> Self {
        let size = entries.next_power_of_two().max(64);
        Rob {
            ring: vec![MicroOp::EMPTY; size],
            mask: size as u64 - 1,
            head: 1,
            tail: 1,
        }
    }

    pub fn slots(&self) -> usize {
        self.ring.len()
    }

    #[inline]
    pub fn len(&self) -> u64 {
        self.tail - self.head
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.tail == self.head
    }

    #[inline]
    pub fn slot_of(&self, position: u64) -> u32 {
        (position & self.mask) as u32
    }

    /// The position of the instruction in a slot that is in use.
    #[inline]
    pub fn position_of(&self, slot: u32) -> u64 {
        self.head + (u64::from(slot).wrapping_sub(self.head) & self.mask)
    }

    #[inline]
    pub fn at(&self, slot: u32) -> &MicroOp {
        &self.ring[(u64::from(slot) & self.mask) as usize]
    }

    #[inline]
    pub fn at_mut(&mut self, slot: u32) -> &mut MicroOp {
        &mut self.ring[(u64::from(slot) & self.mask) as usize]
    }

    #[inline]
    pub fn head(&self) -> Option<&MicroOp> {
        if self.is_empty() { None } else { Some(self.at(self.slot_of(self.head))) }
    }
}

/// One bit for each ROB slot: the instruction in it has its operands and waits for a unit.
pub struct ReadySet {
    words: Vec<u64>,
}

impl ReadySet {
    pub fn new(slots: usize) -> Self {
        ReadySet { words: vec![0; slots.div_ceil(64)] }
    }

    #[inline]
    pub fn insert(&mut self, slot: u32) {
        self.words[slot as usize / 64] |= 1 << (slot % 64);
    }

    #[inline]
    pub fn remove(&mut self, slot: u32) {
        self.words[slot as usize / 64] &= !(1 << (slot % 64));
    }

    #[inline]
    pub fn any(&self) -> bool {
        self.words.iter().any(|&w| w != 0)
    }

    /// The first member at or after `slot`, going round once; `budget` is how many slots are left
    /// to look at. Returns the slot and what is left of the budget behind it.
    #[inline]
    pub fn next_from(&self, slot: u32, budget: u32) -> Option<(u32, u32)> {
        let size = self.words.len() as u32 * 64;
        let mut at = slot;
        let mut left = budget;
        while left > 0 {
            let bits = self.words[at as usize / 64] >> (at % 64);
            let span = (64 - at % 64).min(left);
            if bits != 0 {
                let skip = bits.trailing_zeros();
                if skip < span {
                    return Some((at + skip, left - skip - 1));
                }
            }
            left -= span;
            at = (at + span) % size;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ready_set_is_walked_in_age_order_across_the_end_of_the_ring() {
        let mut set = ReadySet::new(128);
        for slot in [3, 64, 100, 127] {
            set.insert(slot);
        }
        let mut found = Vec::new();
        let (mut at, mut left) = (100, 128);
        while let Some((slot, rest)) = set.next_from(at, left) {
            found.push(slot);
            at = (slot + 1) % 128;
            left = rest;
        }
        assert_eq!(found, [100, 127, 3, 64]);
        set.remove(127);
        assert_eq!(set.next_from(101, 30), None);
        assert!(set.any());
    }
}
