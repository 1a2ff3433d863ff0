//! Predictors of the directions of conditional branches.
//!
//! Each is a file here with a [`DirectionPredictor`]. The tournament of local and global histories is what most machines of
//! the lab have: it is asked without a dynamic call.

use std::fmt::Debug;

use hps_isa::state::{SaveState, Saved, StateError};

use super::bimodal::Bimodal;
use super::gshare::Gshare;
use super::history::{Folds, History, HistoryState};
use super::perceptron::Perceptron;
use super::tage::Tage;
use super::tournament::Tournament;
use crate::config::Predictor;
use crate::contents::Contents;

/// The histories that a branch is predicted from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Histories<'a> {
    /// Directions of the last 64 conditional branches, and the path.
    pub state: &'a HistoryState,
    /// Longer histories, folded as the predictor [wants](History::folded).
    pub folds: &'a Folds,
}

/// Data that a predictor with folded histories keeps of a prediction until it is trained with the outcome.
pub(super) type Memo = [u8; 8];

/// A predictor of directions. Its tables change only in `train`, which is called at commit, in program order.
pub(super) trait DirectionPredictor: SaveState + Debug + Send + Sync {
    /// Whether the branch at `pc` is taken. What `memo` holds then comes back in `train`, if the predictor has folded
    /// histories.
    fn predict(&self, pc: u64, histories: Histories<'_>, memo: &mut Memo) -> bool;

    /// Learns where the branch went that was predicted from these histories.
    fn train(&mut self, pc: u64, histories: Histories<'_>, memo: &Memo, taken: bool);

    /// The tables, for those who look at them.
    fn contents(&self) -> Vec<Contents>;

    /// A copy.
    fn duplicate(&self) -> Box<dyn DirectionPredictor>;
}

impl Clone for Box<dyn DirectionPredictor> {
    fn clone(&self) -> Self {
        self.duplicate()
    }
}

/// The direction predictor in use.
#[derive(Clone, Debug)]
pub(super) enum Direction {
    Always(bool),
    Tournament(Tournament),
    Other(Box<dyn DirectionPredictor>),
}

impl SaveState for Direction {
    fn save_to(&self, to: &mut Vec<u8>) {
        match self {
            Direction::Always(_) => {}
            Direction::Tournament(tournament) => tournament.save_to(to),
            Direction::Other(other) => other.save_to(to),
        }
    }

    fn restore_from(&mut self, from: &mut Saved<'_>) -> Result<(), StateError> {
        match self {
            Direction::Always(_) => Ok(()),
            Direction::Tournament(tournament) => tournament.restore_from(from),
            Direction::Other(other) => other.restore_from(from),
        }
    }
}

/// The direction predictor of a machine, and the histories that it needs.
pub(super) fn direction(config: &Predictor) -> (Direction, History) {
    let direction = match config {
        Predictor::Perfect | Predictor::AlwaysNotTaken => Direction::Always(false),
        Predictor::AlwaysTaken => Direction::Always(true),
        Predictor::Tournament(p) => Direction::Tournament(Tournament::new(p)),
        Predictor::Bimodal(p) => Direction::Other(Box::new(Bimodal::new(p.entries))),
        Predictor::Gshare(p) => Direction::Other(Box::new(Gshare::new(p))),
        Predictor::Perceptron(p) => Direction::Other(Box::new(Perceptron::new(p))),
        Predictor::Tage(p) => {
            return (Direction::Other(Box::new(Tage::new(p))), Tage::history(p));
        }
    };
    (direction, History::short())
}
