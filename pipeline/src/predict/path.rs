//! State along the predicted path: histories and the return address stack of a hardware context.

use hps_isa::likely::seldom;

use super::direction::direction;
use super::history::{Folds, History, HistoryState};
use super::ras::Ras;
use super::{BranchKind, Checkpoint, Predicted};
use crate::config::{BranchConfig, HistoryUpdate};

/// Histories and return address stack along the predicted path of one hardware context. A squash restores them from
/// the [`Checkpoint`] of the squashed branch.
#[derive(Clone, Debug)]
pub struct PredictedPath {
    pub(super) history: History,
    pub(super) ras: Ras,
    /// The histories of the branches that have committed, where those in flight are in none.
    committed: Option<Box<Histories>>,
    /// There is more to do before a prediction than to copy what all histories have.
    is_special: bool,
}

hps_isa::save_state! { PredictedPath { history, ras, committed, is_special: skip } }

/// Histories at one moment.
#[derive(Clone, Debug, Default)]
struct Histories {
    state: HistoryState,
    folds: Folds,
}

hps_isa::save_state! { Histories { state, folds } }

impl PredictedPath {
    /// The beginning of a path, for a configuration that passed its check.
    #[must_use]
    pub fn new(config: &BranchConfig) -> Self {
        let (_, history) = direction(&config.predictor);
        let is_late = config.history_update == HistoryUpdate::AtCommit;
        PredictedPath {
            is_special: is_late || history.is_folded(),
            history,
            ras: Ras::new(config.ras_entries, config.ras_repair.clone()),
            committed: is_late.then(Box::default),
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

    /// A transfer has committed, and the tables are trained.
    #[inline(always)]
    pub fn committed(&mut self, kind: BranchKind, taken: bool, target: u64) {
        if seldom(self.committed.is_some()) {
            self.commit(kind, taken, target);
        }
    }

    /// The histories are those of what has committed, where they are to hold nothing else.
    #[cold]
    fn show_committed(&mut self) {
        if let Some(committed) = &self.committed {
            self.history.state = committed.state;
            self.history.folds = committed.folds;
        }
    }

    #[cold]
    fn commit(&mut self, kind: BranchKind, taken: bool, target: u64) {
        self.show_committed();
        match kind {
            BranchKind::Conditional => self.history.push_direction(taken),
            BranchKind::IndirectJump | BranchKind::IndirectCall => self.history.push_target(target),
            BranchKind::Jump | BranchKind::Call | BranchKind::Return => {}
        }
        if let Some(committed) = &mut self.committed {
            committed.state = self.history.state;
            committed.folds = self.history.folds;
        }
    }

    #[inline(always)]
    pub(crate) fn checkpoint(&self, cp: &mut Checkpoint) {
        self.checkpoint_history(cp);
        self.checkpoint_returns(cp);
    }

    #[inline(always)]
    fn checkpoint_history(&self, cp: &mut Checkpoint) {
        cp.basis.history = self.history.state;
        if seldom(self.history.is_folded()) {
            cp.folded.folds = self.history.folds;
        }
    }

    /// Saves the histories in the checkpoint of a transfer that is predicted next, by what they hold then: what was
    /// predicted, or only what has committed.
    #[inline(always)]
    pub(super) fn begin_prediction(&mut self, cp: &mut Checkpoint) {
        cp.basis.history = self.history.state;
        if seldom(self.is_special) {
            self.show_committed();
            self.checkpoint_history(cp);
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
