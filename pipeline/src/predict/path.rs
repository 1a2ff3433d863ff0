//! What follows the predicted path: histories and the return address stack of a hardware context.

use hps_sim_core::likely::seldom;

use super::history::History;
use super::ras::Ras;
use super::tage::Tage;
use super::{BranchKind, Checkpoint, Predicted};
use crate::config::{BranchConfig, Predictor};

/// Histories and return address stack along the predicted path of one hardware context. A squash restores them from
/// the [`Checkpoint`] of the squashed branch.
#[derive(Clone, Debug)]
pub struct PredictedPath {
    pub(super) history: History,
    pub(super) ras: Ras,
}

impl PredictedPath {
    /// The beginning of a path, for a configuration that passed its check.
    #[must_use]
    pub fn new(config: &BranchConfig) -> Self {
        PredictedPath {
            history: match &config.predictor {
                Predictor::Tage(p) => Tage::history(p),
                _ => History::short(),
            },
            ras: Ras::new(config.ras_entries, config.ras_repair.clone()),
        }
    }

    /// The predictor has folded histories, so that a [`Checkpoint`] needs its [`FoldedBasis`].
    #[inline(always)]
    #[must_use]
    pub fn is_folded(&self) -> bool {
        self.history.is_folded()
    }

    /// The prediction of a perfect predictor, which is the outcome. Fills `cp` and moves the state as
    /// [`BranchTables::predict`](super::BranchTables::predict) does.
    pub fn predict_known(
        &mut self,
        kind: BranchKind,
        taken: bool,
        target: u64,
        fallthrough: u64,
        cp: &mut Checkpoint,
    ) -> Predicted {
        self.checkpoint(cp);
        self.advance(kind, taken, target, fallthrough);
        Predicted {
            taken,
            target,
            btb_hit: true,
        }
    }

    /// Restores the state after this branch, for a squash of all younger instructions. `target` is the address that
    /// the branch went to, `fallthrough` the one behind it.
    pub fn restore(
        &mut self,
        cp: &Checkpoint,
        kind: BranchKind,
        taken: bool,
        target: u64,
        fallthrough: u64,
    ) {
        self.rewind(cp);
        self.advance(kind, taken, target, fallthrough);
    }

    /// Restores the state before the branch, which will be fetched again. A squash at another instruction uses the
    /// checkpoint of the oldest squashed branch.
    pub fn rewind(&mut self, cp: &Checkpoint) {
        self.history.state = cp.basis.history;
        if self.history.is_folded() {
            self.history.folds = cp.folded.folds;
        }
        self.ras.restore(&cp.ras);
    }

    #[inline(always)]
    pub(crate) fn checkpoint(&self, cp: &mut Checkpoint) {
        self.checkpoint_history(cp);
        self.checkpoint_returns(cp);
    }

    #[inline(always)]
    pub(super) fn checkpoint_history(&self, cp: &mut Checkpoint) {
        cp.basis.history = self.history.state;
        if seldom(self.history.is_folded()) {
            cp.folded.folds = self.history.folds;
        }
    }

    /// Saves the return address stack in a checkpoint.
    #[inline(always)]
    pub(crate) fn checkpoint_returns(&self, cp: &mut Checkpoint) {
        cp.ras = self.ras.checkpoint();
    }

    /// Moves histories and return address stack past a branch.
    #[inline]
    pub(super) fn advance(&mut self, kind: BranchKind, taken: bool, target: u64, fallthrough: u64) {
        match kind {
            BranchKind::Conditional => self.history.push_direction(taken),
            BranchKind::Jump => {}
            BranchKind::Call => self.ras.push(fallthrough),
            BranchKind::IndirectJump => self.history.push_target(target),
            BranchKind::IndirectCall => {
                self.history.push_target(target);
                self.ras.push(fallthrough);
            }
            BranchKind::Return => self.ras.pop(),
        }
    }
}
