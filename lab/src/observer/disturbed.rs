//! Observers that are held up.

use hps_isa::editor::DecodeEditor;
use hps_isa::random::Random;
use hps_pipeline::core::{Chip, CyclesProbe};

use super::Disturbance;

/// Times at which an observer is held up: those to come, and those that were.
pub(super) struct Holds {
    processor: usize,
    disturbance: Option<Disturbance>,
    random: Random,
    /// Instructions of all contexts at which the observer is held up next.
    next: u64,
    /// Instructions of all contexts that have been asked for.
    asked: u64,
    /// The cycles in which the observer was held up.
    pub at: Vec<u64>,
}

impl Holds {
    pub fn new(disturbance: Option<Disturbance>, processor: usize) -> Holds {
        let mut holds = Holds {
            processor,
            disturbance,
            random: Random::new(disturbance.map_or(0, |d| d.seed)),
            next: 0,
            asked: 0,
            at: Vec::new(),
        };
        holds.plan();
        holds
    }

    fn plan(&mut self) {
        if let Some(disturbance) = self.disturbance {
            let mean = disturbance.every_instructions.max(2);
            self.next = self.asked + mean / 2 + self.random.below(mean);
        }
    }

    /// Number of instructions, at most `most`, that run before the observer is held up.
    pub fn before_next(&mut self, most: u64) -> u64 {
        let run = match self.disturbance {
            Some(_) => most.min(self.next - self.asked).max(1),
            None => most,
        };
        self.asked += run;
        run
    }

    /// Holds the observer up if the instructions asked for have come to the next time.
    pub fn come_to<E: DecodeEditor>(&mut self, chip: &mut Chip<E, CyclesProbe>) {
        let Some(disturbance) = self.disturbance else {
            return;
        };
        if self.asked >= self.next {
            self.at.push(chip.hold(self.processor, disturbance.cycles));
            self.plan();
        }
    }
}
