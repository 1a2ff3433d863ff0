//! Where the cycles of a procedure go, as in the paper's figure 4.

use hps_pipeline::static_schedule::{Operand, StaticStall};

use super::culprits::Kind;
use super::procedure::{InstructionRow, Procedure};

/// A range of samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
pub struct Cycles {
    /// At least.
    pub least: f64,
    /// At most.
    pub most: f64,
}

/// Where the cycles of one or more procedures go, in samples.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct Summary {
    /// Executed instructions, in samples: the sum of the frequencies.
    pub instructions: f64,
    /// Samples that the static schedule explains: frequency times minimum head time.
    pub best: f64,
    /// Samples of instructions whose frequency is known.
    pub samples: f64,
    /// Dynamic stalls by cause, in the order of [`Kind::ALL`].
    pub dynamic: [Cycles; Kind::ALL.len()],
    /// Dynamic stalls without a cause.
    pub unexplained_stall: f64,
    /// Samples that instructions lack compared with their static schedule: negative.
    pub unexplained_gain: f64,
    /// Static stalls: slotting, and waits for operands Ra, Rb and Rc and for units.
    pub fixed: [f64; 5],
    /// One cycle for each instruction that issues first of its group, those that slotting costs apart.
    pub execution: f64,
}

impl Summary {
    /// The summary of a procedure.
    #[must_use]
    pub fn of(procedure: &Procedure) -> Summary {
        let mut summary = Summary::default();
        for row in &procedure.rows {
            summary.add_row(row);
        }
        summary
    }

    /// Adds the summary of another procedure.
    pub fn add(&mut self, other: &Summary) {
        self.instructions += other.instructions;
        self.best += other.best;
        self.samples += other.samples;
        for (mine, theirs) in self.dynamic.iter_mut().zip(other.dynamic) {
            mine.least += theirs.least;
            mine.most += theirs.most;
        }
        self.unexplained_stall += other.unexplained_stall;
        self.unexplained_gain += other.unexplained_gain;
        for (mine, theirs) in self.fixed.iter_mut().zip(other.fixed) {
            *mine += theirs;
        }
        self.execution += other.execution;
    }

    fn add_row(&mut self, row: &InstructionRow) {
        let Some(estimate) = row.frequency else {
            return;
        };
        let frequency = estimate.frequency;
        self.instructions += frequency;
        self.samples += row.samples as f64;
        self.best += frequency * f64::from(row.slotted.head_cycles);
        let slotting = row.slotted.slotting_cycles();
        self.fixed[0] += frequency * f64::from(slotting);
        if row.slotted.head_cycles > 0 && slotting == 0 {
            self.execution += frequency;
        }
        for stall in row.slotted.stalls.iter().skip(1) {
            let place = match stall {
                StaticStall::Dependence { operand, .. } => match operand {
                    Operand::Ra => 1,
                    Operand::Rb => 2,
                    Operand::Rc => 3,
                },
                StaticStall::Unit { .. } => 4,
                _ => 0,
            };
            self.fixed[place] += frequency;
        }
        if row.dynamic < 0.0 {
            self.unexplained_gain += row.dynamic;
        } else if row.culprits.is_empty() {
            self.unexplained_stall += row.dynamic;
        } else {
            let most: f64 = row.culprits.iter().map(|c| c.most).sum();
            self.unexplained_stall += (row.dynamic - most).max(0.0);
            for culprit in &row.culprits {
                let sum = &mut self.dynamic[culprit.kind as usize];
                sum.least += culprit.least;
                sum.most += culprit.most;
            }
        }
    }

    /// Dynamic stalls: what the static schedule leaves.
    #[must_use]
    pub fn dynamic_stalls(&self) -> f64 {
        self.samples - self.best
    }
}
