//! Gshare: two-bit counters by address xor global history (McFarling, "Combining Branch Predictors", 1993).

use super::contents::counters;
use super::counters::{Counters, pc_index};
use super::direction::{DirectionPredictor, Histories, Memo};
use crate::config::GshareConfig;
use crate::contents::Contents;

/// The counters. A history shorter than the index meets its upper bits.
#[derive(Clone, Debug)]
pub(super) struct Gshare {
    counters: Counters,
    index_bits: u32,
    history_bits: u32,
}

hps_isa::save_state! { Gshare { counters, index_bits: skip, history_bits: skip } }

impl Gshare {
    pub fn new(config: &GshareConfig) -> Self {
        Gshare {
            counters: Counters::new(config.entries as usize, 2),
            index_bits: config.entries.trailing_zeros(),
            history_bits: config.history_bits,
        }
    }

    #[inline]
    fn index(&self, pc: u64, global: u64) -> usize {
        let history = global & ((1 << self.history_bits) - 1);
        let shift = self.index_bits - self.history_bits;
        pc_index(pc, self.index_bits) ^ (history << shift) as usize
    }
}

impl DirectionPredictor for Gshare {
    fn predict(&self, pc: u64, histories: Histories<'_>, _memo: &mut Memo) -> bool {
        self.counters.taken(self.index(pc, histories.state.global))
    }

    fn train(&mut self, pc: u64, histories: Histories<'_>, _memo: &Memo, taken: bool) {
        let index = self.index(pc, histories.state.global);
        self.counters.train(index, taken);
    }

    fn contents(&self) -> Vec<Contents> {
        vec![counters(&self.counters, "gshare")]
    }

    fn duplicate(&self) -> Box<dyn DirectionPredictor> {
        Box::new(self.clone())
    }
}
