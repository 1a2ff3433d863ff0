//! Global branch history: speculative, checkpointed at each branch, brought back by a squash.

use hps_isa::likely::seldom;

/// Most tagged tables of TAGE.
pub(super) const MAX_TABLES: usize = 8;
/// Folded histories of each table: index, tag, second tag.
const FOLDS: usize = 3;
/// Bits kept of the long history: the longest history (1024) and more branches than can be in
/// flight, a power of two.
const RING_BITS: u32 = 16_384;

/// Folded long histories: for each table index, tag and second tag.
pub(super) type Folds = [[u16; FOLDS]; MAX_TABLES];

/// The part of the history that a checkpoint holds, but for what is folded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct HistoryState {
    /// Directions of conditional branches, the newest in bit 0.
    pub global: u64,
    /// Number of directions pushed, modulo 2^32: the end of the long history in the ring.
    position: u32,
    /// Directions and bits of indirect targets, the newest at the bottom.
    pub path: u32,
}

hps_isa::save_state! { HistoryState { global, position, path } }

/// How one history of `length` bits is folded to `width` bits: bit `i` of the history (0 is the
/// newest) goes to bit `i mod width`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Fold {
    width: u32,
    out_shift: u32,
}

impl Fold {
    fn new(length: u32, width: u32) -> Self {
        Fold {
            width,
            out_shift: length % width,
        }
    }

    /// The folded value after a bit came in and the bit that was `length` back went out.
    #[inline]
    fn step(self, value: u16, newest: u32, oldest: u32) -> u16 {
        let mut next = (u32::from(value) << 1) | newest;
        next ^= oldest << self.out_shift;
        next ^= next >> self.width;
        (next & ((1 << self.width) - 1)) as u16
    }
}

/// One table's long history.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Table {
    length: u32,
    folds: [Fold; FOLDS],
}

/// All histories.
#[derive(Clone, Debug)]
pub(super) struct History {
    /// State that a checkpoint copies.
    pub state: HistoryState,
    /// Folds that a checkpoint copies of a history that [has folded parts](Self::is_folded).
    pub folds: Folds,
    tables: [Table; MAX_TABLES],
    table_count: usize,
    ring: Box<[u64]>,
}

hps_isa::save_state! { History { state, folds, tables: skip, table_count: skip, ring } }

impl History {
    /// Histories without folded parts.
    pub fn short() -> Self {
        History {
            state: HistoryState::default(),
            folds: Folds::default(),
            tables: [Table::default(); MAX_TABLES],
            table_count: 0,
            ring: Box::default(),
        }
    }

    /// Histories of `lengths` (at most [`MAX_TABLES`]) folded to indices and tags.
    pub fn folded(lengths: &[u32], index_bits: u32, tag_bits: u32) -> Self {
        let mut history = History::short();
        history.ring = vec![0; RING_BITS as usize / 64].into_boxed_slice();
        history.table_count = lengths.len().min(MAX_TABLES);
        for (table, &length) in history.tables.iter_mut().zip(lengths) {
            let widths = [index_bits, tag_bits, tag_bits - 1];
            *table = Table {
                length,
                folds: widths.map(|width| Fold::new(length, width)),
            };
        }
        history
    }

    #[inline(always)]
    pub fn is_folded(&self) -> bool {
        self.table_count > 0
    }

    /// A conditional branch went this way.
    #[inline(always)]
    pub fn push_direction(&mut self, taken: bool) {
        let newest = u32::from(taken);
        let state = &mut self.state;
        state.global = (state.global << 1) | u64::from(taken);
        state.path = (state.path << 1) | newest;
        let position = state.position;
        state.position = position.wrapping_add(1);
        if seldom(self.is_folded()) {
            self.push_long(newest, position);
        }
    }

    /// Shifts a direction into a history without folded parts in which nothing is in flight.
    /// [`since`](Self::since) does not count it.
    #[inline(always)]
    pub fn push_short(&mut self, taken: bool) {
        debug_assert!(!self.is_folded());
        let state = &mut self.state;
        state.global = (state.global << 1) | u64::from(taken);
        state.path = (state.path << 1) | u32::from(taken);
    }

    /// Conditional branches on the predicted path since an earlier state, that branch included.
    #[inline]
    pub fn since(&self, earlier: &HistoryState) -> u32 {
        self.state.position.wrapping_sub(earlier.position)
    }

    /// An indirect jump or call went there.
    #[inline]
    pub fn push_target(&mut self, target: u64) {
        let bits = ((target >> 1) ^ (target >> 3) ^ (target >> 6)) as u32 & 3;
        self.state.path = (self.state.path << 2) | bits;
    }

    #[inline(never)]
    fn push_long(&mut self, newest: u32, position: u32) {
        for (table, folds) in self.tables[..self.table_count].iter().zip(&mut self.folds) {
            let oldest = ring_bit(&self.ring, position.wrapping_sub(table.length));
            for (fold, value) in table.folds.iter().zip(folds) {
                *value = fold.step(*value, newest, oldest);
            }
        }
        let at = position % RING_BITS;
        let word = &mut self.ring[at as usize / 64];
        *word = (*word & !(1 << (at % 64))) | (u64::from(newest) << (at % 64));
    }
}

#[inline]
fn ring_bit(ring: &[u64], position: u32) -> u32 {
    let at = position % RING_BITS;
    (ring[at as usize / 64] >> (at % 64)) as u32 & 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::predict::tests::Random;

    /// Folds a history from scratch.
    fn folded(bits: &[bool], length: u32, width: u32) -> u16 {
        let recent = bits.iter().rev().take(length as usize).enumerate();
        recent.fold(0, |value, (back, &taken)| {
            value ^ (u16::from(taken) << (back as u32 % width))
        })
    }

    #[test]
    fn folds_are_what_recomputation_gives() {
        let lengths = [1, 5, 10, 11, 64, 130, 999, 1024];
        let (index_bits, tag_bits) = (10, 11);
        let mut history = History::folded(&lengths, index_bits, tag_bits);
        let mut bits = Vec::new();
        let mut random = Random::new(7);
        for step in 0..40_000 {
            let taken = random.below(3) == 0;
            bits.push(taken);
            history.push_direction(taken);
            if step % 97 == 0 {
                for (table, &length) in lengths.iter().enumerate() {
                    let expected = [index_bits, tag_bits, tag_bits - 1]
                        .map(|width| folded(&bits, length, width));
                    assert_eq!(history.folds[table], expected, "length {length}");
                }
            }
        }
    }

    #[test]
    fn a_checkpoint_brings_the_long_history_back() {
        let mut history = History::folded(&[4, 200, 1024], 9, 9);
        let mut straight = history.clone();
        let mut random = Random::new(8);
        for _ in 0..300 {
            for _ in 0..40 {
                let taken = random.below(2) == 0;
                history.push_direction(taken);
                straight.push_direction(taken);
            }
            let checkpoint = (history.state, history.folds);
            for _ in 0..random.below(6000) {
                history.push_direction(random.below(2) == 0);
                history.push_target(random.next());
            }
            (history.state, history.folds) = checkpoint;
            assert_eq!(checkpoint, (straight.state, straight.folds));
        }
    }
}
