//! The hash table under [`super::Sequitur`].

use super::memory;

/// One entry: a hash of the key, and the value, from which the key can be read.
#[derive(Debug, Clone, Copy)]
#[repr(align(8))]
struct Slot {
    hash: u32,
    value: u32,
}

/// The value that marks an empty slot.
const EMPTY: u32 = u32::MAX;
const EMPTY_SLOT: Slot = Slot {
    hash: 0,
    value: EMPTY,
};
const LEAST_SLOTS: usize = 64;

/// A set of `u32` below `u32::MAX`, each found by a key that it stands for, by linear probing in one
/// array of 8-byte slots that is at most half full.
///
/// The key is not kept: the caller says whether a value of the right hash has the key. Removal shifts
/// entries back and leaves no tombstones behind.
#[derive(Debug, Clone)]
pub struct Table {
    slots: Box<[Slot]>,
    len: usize,
    /// 32 less the logarithm of the number of slots.
    shift: u32,
}

/// The hash of a key, for all functions of [`Table`]: both halves of a product by an odd constant, so
/// that keys on a lattice, which neighbouring digrams are, do not fall into runs of slots.
#[inline]
pub fn hash(key: u64) -> u32 {
    const GOLDEN_RATIO: u64 = 0x9e37_79b9_7f4a_7c15;
    const MASK: u64 = 0xa076_1d64_78bd_642f;
    let product = u128::from(key ^ MASK) * u128::from(GOLDEN_RATIO);
    (((product >> 64) as u64 ^ product as u64) >> 32) as u32
}

impl Table {
    pub fn new() -> Self {
        Self::with_slots(LEAST_SLOTS)
    }

    fn with_slots(count: usize) -> Self {
        Self {
            slots: memory::filled(count, EMPTY_SLOT),
            len: 0,
            shift: u32::BITS - count.trailing_zeros(),
        }
    }

    /// Removes everything and keeps the memory.
    pub fn clear(&mut self) {
        self.slots.fill(EMPTY_SLOT);
        self.len = 0;
    }

    pub fn memory_bytes(&self) -> usize {
        self.slots.len() * size_of::<Slot>()
    }

    /// The value with this hash that `has_key`; without one, the slot where it belongs.
    #[inline]
    pub fn find(&self, hash: u32, has_key: impl Fn(u32) -> bool) -> Result<u32, usize> {
        let mask = self.slots.len() - 1;
        let mut at = self.home(hash);
        // Ends because the table is never full.
        loop {
            let slot = *self.slot(at);
            if slot.value == EMPTY {
                return Err(at);
            }
            if slot.hash == hash && has_key(slot.value) {
                return Ok(slot.value);
            }
            at = (at + 1) & mask;
        }
    }

    /// The value that a search for this hash looks at first; any value if there is none.
    #[inline]
    pub fn peek(&self, hash: u32) -> u32 {
        self.slot(self.home(hash)).value
    }

    /// Puts `value` into a slot that [`Self::find`] gave, or the next empty one if another value was
    /// put there since.
    #[inline]
    pub fn insert_at(&mut self, mut at: usize, hash: u32, value: u32) {
        debug_assert_ne!(value, EMPTY);
        let mask = self.slots.len() - 1;
        at &= mask;
        while self.slot(at).value != EMPTY {
            at = (at + 1) & mask;
        }
        *self.slot_mut(at) = Slot { hash, value };
        self.len += 1;
        if self.len * 2 > self.slots.len() {
            self.grow();
        }
    }

    /// Removes `value`, which has this hash; says whether it was there.
    #[inline]
    pub fn remove(&mut self, hash: u32, value: u32) -> bool {
        let mask = self.slots.len() - 1;
        let mut hole = self.home(hash);
        loop {
            let there = self.slot(hole).value;
            if there == value {
                break;
            }
            if there == EMPTY {
                return false;
            }
            hole = (hole + 1) & mask;
        }
        let mut at = hole;
        loop {
            at = (at + 1) & mask;
            let slot = *self.slot(at);
            if slot.value == EMPTY {
                break;
            }
            // An entry may move back to the hole unless its home lies behind the hole.
            let home = self.home(slot.hash);
            if (at.wrapping_sub(home) & mask) >= (at.wrapping_sub(hole) & mask) {
                *self.slot_mut(hole) = slot;
                hole = at;
            }
        }
        *self.slot_mut(hole) = EMPTY_SLOT;
        self.len -= 1;
        true
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        let mut larger = Self::with_slots(self.slots.len() * 2);
        larger.len = self.len;
        let mask = larger.slots.len() - 1;
        for slot in self.slots.iter().filter(|slot| slot.value != EMPTY) {
            let mut at = larger.home(slot.hash);
            while larger.slots[at].value != EMPTY {
                at = (at + 1) & mask;
            }
            larger.slots[at] = *slot;
        }
        *self = larger;
    }

    #[inline]
    fn home(&self, hash: u32) -> usize {
        (hash >> self.shift) as usize
    }

    /// A slot; unchecked for the reason that stands at [`super::Sequitur`]'s nodes.
    #[inline(always)]
    fn slot(&self, at: usize) -> &Slot {
        debug_assert!(at < self.slots.len());
        // SAFETY: there are 2^n slots, and `at` is either the upper n bits of a 32-bit hash (`home`)
        // or was masked by 2^n - 1.
        unsafe { self.slots.get_unchecked(at) }
    }

    /// A slot; see [`Self::slot`].
    #[inline(always)]
    fn slot_mut(&mut self, at: usize) -> &mut Slot {
        debug_assert!(at < self.slots.len());
        // SAFETY: as in `slot`.
        unsafe { self.slots.get_unchecked_mut(at) }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// Values stand for the keys `value / 4`; few hashes, so that slots collide.
        #[test]
        fn agrees_with_the_standard_map(
            steps in prop::collection::vec((any::<bool>(), 0u32..320), 0..600),
            hashes in 1u32..100,
        ) {
            let (mut table, mut map) = (Table::new(), HashMap::new());
            let hash_of = |key: u32| hash(u64::from(key % hashes));
            for (remove, value) in steps {
                let key = value / 4;
                if remove {
                    let there = map.get(&key) == Some(&value);
                    if there {
                        map.remove(&key);
                    }
                    prop_assert_eq!(table.remove(hash_of(key), value), there);
                } else {
                    let found = table.find(hash_of(key), |value| value / 4 == key);
                    prop_assert_eq!(found.ok(), map.get(&key).copied());
                    if let Err(at) = found {
                        table.insert_at(at, hash_of(key), value);
                        map.insert(key, value);
                    }
                }
                prop_assert_eq!(table.len, map.len());
            }
            for (&key, &value) in &map {
                prop_assert_eq!(table.find(hash_of(key), |v| v / 4 == key), Ok(value));
            }
            table.clear();
            prop_assert!(table.find(hash_of(1), |_| true).is_err());
        }
    }
}
