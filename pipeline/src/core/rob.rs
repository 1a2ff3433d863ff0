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
        if self.is_empty() {
            None
        } else {
            Some(self.at(self.slot_of(self.head)))
        }
    }
}

/// The ready instructions: for each pool of units, one bit for each ROB slot.
///
/// Instructions of a pool without a free unit are left out of a cycle's walk as a whole, so that
/// each step of the walk issues something.
pub struct ReadySet {
    /// `pool * words + word`.
    bits: Vec<u64>,
    words: usize,
    /// Members of each pool.
    count: Vec<u32>,
    /// Pools with members, as bits.
    pools: u32,
}

impl ReadySet {
    pub fn new(slots: usize, pools: usize) -> Self {
        let words = slots.div_ceil(64);
        ReadySet {
            bits: vec![0; words * pools],
            words,
            count: vec![0; pools],
            pools: 0,
        }
    }

    #[inline]
    pub fn insert(&mut self, slot: u32, pool: u8) {
        let word = &mut self.bits[pool as usize * self.words + slot as usize / 64];
        let bit = 1 << (slot % 64);
        self.count[pool as usize] += u32::from(*word & bit == 0);
        self.pools |= 1 << pool;
        *word |= bit;
    }

    #[inline]
    pub fn remove(&mut self, slot: u32, pool: u8) {
        let word = &mut self.bits[pool as usize * self.words + slot as usize / 64];
        let bit = 1 << (slot % 64);
        let count = &mut self.count[pool as usize];
        *count -= u32::from(*word & bit != 0);
        self.pools &= !(u32::from(*count == 0) << pool);
        *word &= !bit;
    }

    /// Pools with members, as bits.
    #[inline]
    pub fn pools(&self) -> u32 {
        self.pools
    }

    #[inline]
    pub fn any(&self) -> bool {
        self.pools != 0
    }

    /// Word `step` of the walk from the oldest instruction, whose slot is `head`, over the members
    /// of these pools: its bits, and the slot of its bit 0. The word of the head comes twice, its
    /// upper part first and its lower part last; behind that the walk has ended.
    #[inline]
    pub fn walk(&self, head: u32, step: usize, pools: u32) -> Option<(u64, u32)> {
        if step > self.words {
            return None;
        }
        let word = (head as usize / 64 + step) & (self.words - 1);
        let mut bits = 0;
        let mut rest = pools;
        while rest != 0 {
            bits |= self.bits[rest.trailing_zeros() as usize * self.words + word];
            rest &= rest - 1;
        }
        let above = u64::MAX << (head % 64);
        if step == 0 {
            bits &= above;
        } else if step == self.words {
            bits &= !above;
        }
        Some((bits, (word * 64) as u32))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ready_set_is_walked_in_age_order_across_the_end_of_the_ring() {
        let mut set = ReadySet::new(128, 2);
        for slot in [3, 64, 100, 127] {
            set.insert(slot, (slot % 2) as u8);
        }
        assert_eq!(set.pools(), 3);
        let mut found = Vec::new();
        for step in 0.. {
            let Some((mut bits, base)) = set.walk(100, step, set.pools()) else {
                break;
            };
            while bits != 0 {
                found.push(base + bits.trailing_zeros());
                bits &= bits - 1;
            }
        }
        assert_eq!(found, [100, 127, 3, 64]);
        for slot in found {
            set.remove(slot, (slot % 2) as u8);
        }
        assert!(!set.any());
    }

    #[test]
    fn a_pool_left_out_is_not_walked() {
        let mut set = ReadySet::new(64, 2);
        set.insert(5, 0);
        set.insert(9, 1);
        set.insert(9, 1);
        assert_eq!(set.walk(0, 0, 2), Some((1 << 9, 0)));
        assert_eq!(set.walk(6, 0, 1), Some((0, 0)));
        assert_eq!(set.walk(6, 1, 1), Some((1 << 5, 0)));
        assert_eq!(set.walk(6, 2, 1), None);
        set.remove(9, 1);
        assert_eq!(set.pools(), 1);
    }
}
