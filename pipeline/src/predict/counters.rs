//! Saturating counters.

/// A table of saturating counters of 2 to 7 bits that begin weakly not taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Counters {
    values: Box<[u8]>,
    max: u8,
}

impl Counters {
    /// `entries` (a power of two) counters of `bits` bits.
    pub fn new(entries: usize, bits: u32) -> Self {
        Counters {
            values: vec![(1 << (bits - 1)) - 1; entries].into_boxed_slice(),
            max: ((1_u32 << bits) - 1) as u8,
        }
    }

    /// Taken if the counter is in its upper half. `index` is reduced to the table.
    #[inline]
    pub fn taken(&self, index: usize) -> bool {
        self.values[index & (self.values.len() - 1)] > self.max / 2
    }

    /// One step towards the outcome. Whether it said taken before.
    #[inline(always)]
    pub fn train(&mut self, index: usize, taken: bool) -> bool {
        self.step(index, 2 * i32::from(taken) - 1)
    }

    /// One step up (1) or down (-1), or none (0). Whether it said taken before.
    #[inline(always)]
    pub fn step(&mut self, index: usize, step: i32) -> bool {
        let index = index & (self.values.len() - 1);
        let value = &mut self.values[index];
        let before = *value;
        // Without a branch: outcomes are what is hard to predict, on the host too.
        *value = (i32::from(before) + step).max(0).min(i32::from(self.max)) as u8;
        before > self.max / 2
    }
}

/// An index of `bits` (at least 1) bits from an address. Four-byte instructions are indexed by
/// their word number; the other half of a word goes to the far half of the table, so that code
/// without two-byte instructions uses all of it.
#[inline]
pub(super) fn pc_index(pc: u64, bits: u32) -> usize {
    let half = ((pc >> 1) & 1) << (bits - 1);
    (((pc >> 2) ^ half) & ((1 << bits) - 1)) as usize
}
