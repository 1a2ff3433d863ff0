//! Bimodal predictor: two-bit counters by address (Smith, "A study of branch prediction strategies", 1981).

use super::contents::by_branch;
use super::counters::{Counters, pc_index};
use super::direction::{DirectionPredictor, Histories, Memo};
use crate::contents::Contents;

/// Two-bit counters by address.
#[derive(Clone, Debug)]
pub(super) struct Bimodal {
    counters: Counters,
    bits: u32,
}

hps_isa::save_state! { Bimodal { counters, bits: skip } }

impl Bimodal {
    pub fn new(entries: u32) -> Self {
        Bimodal {
            counters: Counters::new(entries as usize, 2),
            bits: entries.trailing_zeros(),
        }
    }

    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    #[inline]
    pub fn taken(&self, pc: u64) -> bool {
        self.counters.taken(pc_index(pc, self.bits))
    }

    #[inline]
    pub fn learn(&mut self, pc: u64, taken: bool) {
        self.counters.train(pc_index(pc, self.bits), taken);
    }
}

impl DirectionPredictor for Bimodal {
    fn predict(&self, pc: u64, _histories: Histories<'_>, _memo: &mut Memo) -> bool {
        self.taken(pc)
    }

    fn train(&mut self, pc: u64, _histories: Histories<'_>, _memo: &Memo, taken: bool) {
        self.learn(pc, taken);
    }

    fn contents(&self) -> Vec<Contents> {
        vec![by_branch(&self.counters, "bimodal")]
    }

    fn duplicate(&self) -> Box<dyn DirectionPredictor> {
        Box::new(self.clone())
    }
}
