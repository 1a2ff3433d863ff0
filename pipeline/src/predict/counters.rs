//! Saturating counters.

pub(super) use crate::contents::pc_index;

/// A table of saturating counters of 2 to 7 bits that begin weakly not taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Counters {
    values: Box<[u8]>,
    /// The last index.
    last: usize,
    /// The least value that says taken.
    taken_from: u8,
    /// The largest value.
    most: u8,
}

hps_isa::save_state! { Counters { values, last: skip, taken_from: skip, most: skip } }

impl Counters {
    /// `entries` (a power of two) counters of `bits` bits.
    pub fn new(entries: usize, bits: u32) -> Self {
        assert!(entries.is_power_of_two(), "the index is masked");
        Counters {
            values: vec![(1 << (bits - 1)) - 1; entries].into_boxed_slice(),
            last: entries - 1,
            taken_from: 1 << (bits - 1),
            most: ((1_u32 << bits) - 1) as u8,
        }
    }

    /// Taken if the counter is in its upper half. `index` is reduced to the table.
    #[inline]
    pub fn taken(&self, index: usize) -> bool {
        *self.value(index) >= self.taken_from
    }

    #[inline(always)]
    fn value(&self, index: usize) -> &u8 {
        // SAFETY: no table is empty, the last index is one less than the length, neither changes, and bits that
        // are masked with it are no more.
        unsafe { self.values.get_unchecked(index & self.last) }
    }

    /// The values, and the largest that there can be.
    pub fn values(&self) -> (&[u8], u8) {
        (&self.values, self.most)
    }

    /// One step towards the outcome. Whether it said taken before.
    #[inline(always)]
    pub fn train(&mut self, index: usize, taken: bool) -> bool {
        self.step(index, 2 * i8::from(taken) - 1)
    }

    /// One step up (1) or down (-1), or none (0). Whether it said taken before.
    #[inline(always)]
    pub fn step(&mut self, index: usize, step: i8) -> bool {
        // SAFETY: as in `value`.
        let value = unsafe { self.values.get_unchecked_mut(index & self.last) };
        let before = *value;
        // A step beyond either end lies above the largest value. No branch: outcomes are what is hard to predict, on
        // the host too.
        let behind = before.wrapping_add(step as u8);
        *value = if behind > self.most { before } else { behind };
        before >= self.taken_from
    }
}
