//! The hash table under [`super::Sequitur`].

/// One entry of 12 bytes; a `u64` key would make it 16.
#[derive(Debug, Clone, Copy)]
struct Slot {
    key: [u32; 2],
    value: u32,
}

/// The value that marks an empty slot.
const EMPTY: u32 = u32::MAX;
const EMPTY_SLOT: Slot = Slot {
    key: [0; 2],
    value: EMPTY,
};
const LEAST_SLOTS: usize = 16;

/// A map from `u64` to a `u32` below `u32::MAX`, by linear probing in one array of 12-byte slots
/// that is at most half full (at 3/4, probing cost a fifth of the speed on loops).
///
/// It is here because an insertion and a removal for each symbol are what Sequitur spends its time
/// on, mostly waiting for memory: one array is one cache miss where a general table has two, and
/// removal by shifting back leaves no tombstones behind.
#[derive(Debug, Clone)]
pub struct Table {
    slots: Box<[Slot]>,
    len: usize,
    /// 64 less the logarithm of the number of slots.
    shift: u32,
}

impl Table {
    pub fn new() -> Self {
        Self::with_slots(LEAST_SLOTS)
    }

    fn with_slots(count: usize) -> Self {
        Self {
            slots: vec![EMPTY_SLOT; count].into_boxed_slice(),
            len: 0,
            shift: u64::BITS - count.trailing_zeros(),
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

    /// The value of `key`; when it has none, it is given `value` and the result is `None`.
    pub fn get_or_insert(&mut self, key: u64, value: u32) -> Option<u32> {
        let at = self.find(key);
        if self.slots[at].value != EMPTY {
            return Some(self.slots[at].value);
        }
        self.fill(at, key, value);
        None
    }

    /// Gives `key` this value, whatever it had.
    pub fn set(&mut self, key: u64, value: u32) {
        let at = self.find(key);
        if self.slots[at].value == EMPTY {
            self.fill(at, key, value);
        } else {
            self.slots[at].value = value;
        }
    }

    /// Removes `key` if it has this value; says whether it had.
    pub fn remove_if(&mut self, key: u64, value: u32) -> bool {
        let mut hole = self.find(key);
        if self.slots[hole].value != value {
            return false;
        }
        let mask = self.slots.len() - 1;
        let mut at = hole;
        loop {
            at = (at + 1) & mask;
            let slot = self.slots[at];
            if slot.value == EMPTY {
                break;
            }
            // An entry may move back to the hole unless its home lies behind the hole.
            let home = self.home(slot.key);
            if (at.wrapping_sub(home) & mask) >= (at.wrapping_sub(hole) & mask) {
                self.slots[hole] = slot;
                hole = at;
            }
        }
        self.slots[hole] = EMPTY_SLOT;
        self.len -= 1;
        true
    }

    fn fill(&mut self, at: usize, key: u64, value: u32) {
        debug_assert_ne!(value, EMPTY);
        self.slots[at] = Slot {
            key: halves(key),
            value,
        };
        self.len += 1;
        if self.len * 2 > self.slots.len() {
            self.grow();
        }
    }

    #[cold]
    fn grow(&mut self) {
        let mut larger = Self::with_slots(self.slots.len() * 2);
        larger.len = self.len;
        let mask = larger.slots.len() - 1;
        for slot in self.slots.iter().filter(|slot| slot.value != EMPTY) {
            let mut at = larger.home(slot.key);
            while larger.slots[at].value != EMPTY {
                at = (at + 1) & mask;
            }
            larger.slots[at] = *slot;
        }
        *self = larger;
    }

    /// The slot that holds `key`, or the empty one where it belongs.
    fn find(&self, key: u64) -> usize {
        let (mask, key) = (self.slots.len() - 1, halves(key));
        let mut at = self.home(key);
        // Ends because the table is never full.
        while self.slots[at].value != EMPTY && self.slots[at].key != key {
            at = (at + 1) & mask;
        }
        at
    }

    /// Two rounds of multiplicative hashing. After only one, keys on a lattice, which neighbouring
    /// digrams are, still fall into runs of full slots that halve the speed.
    fn home(&self, [low, high]: [u32; 2]) -> usize {
        const GOLDEN_RATIO: u64 = 0x9e37_79b9_7f4a_7c15;
        let product = ((u64::from(high) << 32) | u64::from(low)).wrapping_mul(GOLDEN_RATIO);
        ((product ^ (product >> 32)).wrapping_mul(GOLDEN_RATIO) >> self.shift) as usize
    }
}

fn halves(key: u64) -> [u32; 2] {
    [key as u32, (key >> 32) as u32]
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn agrees_with_the_standard_map(
            steps in prop::collection::vec((0u8..3, 0u64..80, 0u32..4, any::<bool>()), 0..600)
        ) {
            let (mut table, mut map) = (Table::new(), HashMap::new());
            for (step, key, value, far) in steps {
                let key = if far { key << 40 } else { key };
                match step {
                    0 => {
                        let before = map.get(&key).copied();
                        map.entry(key).or_insert(value);
                        prop_assert_eq!(table.get_or_insert(key, value), before);
                    }
                    1 => {
                        map.insert(key, value);
                        table.set(key, value);
                    }
                    _ => {
                        let same = map.get(&key) == Some(&value);
                        if same {
                            map.remove(&key);
                        }
                        prop_assert_eq!(table.remove_if(key, value), same);
                    }
                }
                prop_assert_eq!(table.len, map.len());
            }
            for (&key, &value) in &map {
                prop_assert_eq!(table.get_or_insert(key, EMPTY - 1), Some(value));
            }
            table.clear();
            prop_assert_eq!(table.get_or_insert(1, 2), None);
        }
    }
}
