//! Perceptron predictor (Jiménez and Lin, "Dynamic branch prediction with perceptrons", HPCA 2001).
//!
//! A table holds one perceptron for each of many addresses: a bias and a weight for each of the last directions. The
//! branch is taken if the sum of the bias and of all weights, each with the sign of its direction, is not negative.
//! Training moves each weight towards coherence of its direction with the outcome, if the prediction was wrong or its sum
//! no larger than a threshold.

use super::contents::column;
use super::counters::pc_index;
use super::direction::{DirectionPredictor, Histories, Memo};
use crate::config::PerceptronConfig;
use crate::contents::{Contents, Held, Selector};

/// The table.
#[derive(Clone, Debug)]
pub(super) struct Perceptron {
    /// For each perceptron its bias, then the weight of the newest direction, and so on.
    weights: Box<[i8]>,
    index_bits: u32,
    history_bits: usize,
    threshold: i32,
}

hps_isa::save_state! {
    Perceptron {
        weights, index_bits: skip, history_bits: skip, threshold: skip,
    }
}

impl Perceptron {
    pub fn new(config: &PerceptronConfig) -> Self {
        let history_bits = config.history_bits as usize;
        Perceptron {
            weights: vec![0; config.entries as usize * (history_bits + 1)].into_boxed_slice(),
            index_bits: config.entries.trailing_zeros(),
            history_bits,
            // Section 5.3 of the paper: the best threshold for a length of history.
            threshold: (1.93 * history_bits as f64 + 14.0) as i32,
        }
    }

    /// Where the weights of the perceptron of `pc` begin.
    fn first(&self, pc: u64) -> usize {
        pc_index(pc, self.index_bits) * (self.history_bits + 1)
    }

    fn sum(&self, pc: u64, global: u64) -> i32 {
        let first = self.first(pc);
        let weights = &self.weights[first + 1..][..self.history_bits];
        let directions = weights.iter().enumerate().map(|(back, weight)| {
            let taken = (global >> back) & 1 == 1;
            if taken {
                i32::from(*weight)
            } else {
                -i32::from(*weight)
            }
        });
        i32::from(self.weights[first]) + directions.sum::<i32>()
    }
}

/// One step towards coherence, or away from it, within eight bits.
fn step(weight: &mut i8, agrees: bool) {
    *weight = weight.saturating_add(if agrees { 1 } else { -1 });
}

impl DirectionPredictor for Perceptron {
    fn predict(&self, pc: u64, histories: Histories<'_>, _memo: &mut Memo) -> bool {
        self.sum(pc, histories.state.global) >= 0
    }

    fn train(&mut self, pc: u64, histories: Histories<'_>, _memo: &Memo, taken: bool) {
        let global = histories.state.global;
        let sum = self.sum(pc, global);
        if (sum >= 0) == taken && sum.abs() > self.threshold {
            return;
        }
        let first = self.first(pc);
        step(&mut self.weights[first], taken);
        let weights = &mut self.weights[first + 1..][..self.history_bits];
        for (back, weight) in weights.iter_mut().enumerate() {
            step(weight, ((global >> back) & 1 == 1) == taken);
        }
    }

    fn contents(&self) -> Vec<Contents> {
        // From -128 on: a weight that is not negative is in the upper half.
        let weights = self.weights.iter().map(|weight| Held::Counter {
            value: weight.cast_unsigned() ^ 0x80,
            most: u8::MAX,
        });
        vec![Contents {
            sets: 1 << self.index_bits,
            ways: self.history_bits + 1,
            selected_by: Selector::Branch,
            ..column("perceptrons", weights.collect())
        }]
    }

    fn duplicate(&self) -> Box<dyn DirectionPredictor> {
        Box::new(self.clone())
    }
}
