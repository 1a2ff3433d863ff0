//! Local and global predictor with a chooser, as in the Alpha 21264 (Kessler, "The Alpha 21264 Microprocessor", 1999).

use std::hint::select_unpredictable;

use super::contents::{column, counters};
use super::counters::{Counters, pc_index};
use super::delay::Delay;
use crate::config::TournamentConfig;
use crate::contents::{Contents, Held, Selector};
use hps_isa::likely::seldom;

/// The tables. The global history is speculative; local histories move when a branch
/// trains them, so they need no repair.
#[derive(Clone, Debug)]
pub(super) struct Tournament {
    local_index_bits: u32,
    local_history_bits: u32,
    local_mask: u32,
    local: Counters,
    global: Counters,
    chooser: Counters,
    /// The local histories, which are taught at commit.
    pub delay: Delay,
}

hps_isa::save_state! {
    Tournament {
        local_index_bits: skip, local_history_bits: skip, local_mask: skip, local, global, chooser,
        delay,
    }
}

/// The parts of a tournament prediction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct TournamentPrediction {
    pub taken: bool,
    /// The local history that was used; training needs it again.
    pub local_history: u16,
}

hps_isa::save_state! { TournamentPrediction { taken, local_history } }

impl Tournament {
    pub fn new(config: &TournamentConfig) -> Self {
        Tournament {
            local_index_bits: config.local_history_entries.trailing_zeros(),
            local_history_bits: config.local_history_bits,
            local_mask: (1 << config.local_history_bits) - 1,
            local: Counters::new(1 << config.local_history_bits, config.local_counter_bits),
            global: Counters::new(config.global_entries as usize, 2),
            chooser: Counters::new(config.chooser_entries as usize, 2),
            delay: Delay::new(config.local_history_entries as usize),
        }
    }

    /// Local histories, counters and chooser, for those who look at them.
    pub fn contents(&self) -> [Contents; 4] {
        let (mask, length) = (self.local_mask, self.local_history_bits);
        let histories = (0..1 << self.local_index_bits).map(|slot| Held::History {
            bits: self.delay.history(slot) & mask,
            length,
        });
        [
            Contents {
                selected_by: Selector::Branch,
                ..column("local_histories", histories.collect())
            },
            counters(&self.local, "local"),
            counters(&self.global, "global"),
            counters(&self.chooser, "chooser"),
        ]
    }

    /// The local history of the branch at `pc`.
    #[inline(always)]
    pub fn slot(&self, pc: u64) -> u16 {
        pc_index(pc, self.local_index_bits) as u16
    }

    /// The prediction of a branch with this local history.
    #[inline(always)]
    pub fn predict(&self, slot: u16, global: u64) -> TournamentPrediction {
        let known = self.delay.history(usize::from(slot));
        let local_history = (known & self.local_mask) as u16;
        let history = global as usize;
        // Both are asked, so that the host need not guess which one is chosen.
        let taken = select_unpredictable(
            self.chooser.taken(history),
            self.global.taken(history),
            self.local.taken(usize::from(local_history)),
        );
        TournamentPrediction {
            taken,
            local_history,
        }
    }

    /// `branches`: how many have been predicted since this one was, itself among them.
    #[inline(always)]
    pub fn train(
        &mut self,
        slot: u16,
        global: u64,
        prediction: TournamentPrediction,
        taken: bool,
        branches: u32,
    ) {
        let slot = usize::from(slot);
        if seldom(self.delay.is_watched()) && prediction.taken == taken {
            self.delay.observe(slot, branches);
        }
        let _ = self.learn(global, prediction.local_history, taken);
        self.delay.push(slot, taken);
    }

    /// Teaches the counters. What they would have predicted.
    #[inline(always)]
    fn learn(&mut self, global: u64, local_history: u16, taken: bool) -> bool {
        let history = global as usize;
        let local_taken = self.local.train(usize::from(local_history), taken);
        let global_taken = self.global.train(history, taken);
        // Towards the one that was right, if only one was.
        let step = i8::from(global_taken == taken) - i8::from(local_taken == taken);
        let by_global = self.chooser.step(history, step);
        if by_global { global_taken } else { local_taken }
    }

    /// A branch that takes no time. In a core its local history would lack the outcomes of those
    /// branches that had been predicted and had not committed, and the counters are taught for
    /// histories of that kind: so they lack here, as far as it can be known, which. Whether it is
    /// predicted right.
    #[inline(always)]
    pub fn warm(&mut self, pc: u64, global: u64, taken: bool) -> bool {
        let slot = usize::from(self.slot(pc));
        let longest = 32 - self.local_history_bits;
        let known = self.delay.committed_history(slot, longest);
        let predicted = self.learn(global, (known & self.local_mask) as u16, taken);
        self.delay.pass(slot, taken, predicted == taken);
        predicted == taken
    }
}
