//! Terminals by number and numbers by terminal.

use super::code::Code;
use super::memory;

#[derive(Debug, Clone, Copy)]
struct Slot {
    terminal: u64,
    number: Code,
}

/// The number that marks an empty slot.
const EMPTY: Code = Code::MAX;
const EMPTY_SLOT: Slot = Slot {
    terminal: 0,
    number: EMPTY,
};
const LEAST_SLOTS: usize = 64;

/// Numbers terminals from 0 on, by linear probing in an array of 16-byte slots that is at most half
/// full. Over [`Table`](super::table::Table), which would have to look the terminal up, the grid pass
/// took 1.5% to 3.9% more host instructions (`hps dev bench --counts` of `bwt`, `netsimplex`, `chess`).
#[derive(Debug, Clone)]
pub struct Numbers {
    slots: Box<[Slot]>,
    /// 64 less the logarithm of the number of slots.
    shift: u32,
    /// By number.
    terminals: Vec<u64>,
}

impl Numbers {
    pub fn new() -> Self {
        let mut numbers = Self {
            slots: Box::default(),
            shift: 0,
            terminals: Vec::new(),
        };
        numbers.allocate(LEAST_SLOTS);
        numbers
    }

    /// Removes everything and keeps the memory.
    pub fn clear(&mut self) {
        self.slots.fill(EMPTY_SLOT);
        self.terminals.clear();
    }

    pub fn memory_bytes(&self) -> usize {
        self.slots.len() * size_of::<Slot>() + self.terminals.capacity() * size_of::<u64>()
    }

    pub fn terminals(&self) -> &[u64] {
        &self.terminals
    }

    /// Starts to bring what [`Self::of`] will need into the processor's cache.
    #[inline(always)]
    pub fn bring_near(&self, terminal: u64) {
        memory::prefetch(&self.slots, self.home(terminal));
    }

    /// The number of a terminal, a new one if it has none.
    #[inline(always)]
    pub fn of(&mut self, terminal: u64) -> Code {
        let mask = self.slots.len() - 1;
        let mut at = self.home(terminal) & mask;
        // Ends because the table is never full.
        loop {
            debug_assert!(at < self.slots.len());
            // SAFETY: `at` was masked by the number of slots, a power of two, less one.
            let slot = *unsafe { self.slots.get_unchecked(at) };
            if slot.terminal == terminal && slot.number != EMPTY {
                return slot.number;
            }
            if slot.number == EMPTY {
                return self.insert(at, terminal);
            }
            at = (at + 1) & mask;
        }
    }

    #[inline(never)]
    fn insert(&mut self, at: usize, terminal: u64) -> Code {
        let number = self.terminals.len() as Code;
        self.slots[at] = Slot { terminal, number };
        self.terminals.push(terminal);
        if self.terminals.len() * 2 > self.slots.len() {
            self.allocate(self.slots.len() * 2);
        }
        number
    }

    /// A table of `count` slots, a power of two, with all terminals.
    fn allocate(&mut self, count: usize) {
        self.slots = memory::filled(count, EMPTY_SLOT);
        self.shift = u64::BITS - count.trailing_zeros();
        for (number, &terminal) in self.terminals.iter().enumerate() {
            let mut at = self.home(terminal);
            while self.slots[at].number != EMPTY {
                at = (at + 1) & (count - 1);
            }
            self.slots[at] = Slot {
                terminal,
                number: number as Code,
            };
        }
    }

    /// Addresses lie on a lattice: the upper half of the first product is folded in, so that they do
    /// not fall into runs of slots.
    #[inline(always)]
    fn home(&self, terminal: u64) -> usize {
        const GOLDEN_RATIO: u64 = 0x9e37_79b9_7f4a_7c15;
        let product = terminal.wrapping_mul(GOLDEN_RATIO);
        ((product ^ (product >> 32)).wrapping_mul(GOLDEN_RATIO) >> self.shift) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_follow_the_first_occurrence_and_survive_growth() {
        let mut numbers = Numbers::new();
        for round in 0..2 {
            for i in 0..5_000u64 {
                // Zero, lattices and the greatest value.
                let terminal = if i % 2 == 0 { i << 20 } else { u64::MAX - i };
                assert_eq!(u64::from(numbers.of(terminal)), i, "round {round}");
            }
        }
        assert_eq!(numbers.terminals().len(), 5_000);
        numbers.clear();
        assert_eq!((numbers.of(7), numbers.of(0), numbers.of(7)), (0, 1, 0));
    }
}
