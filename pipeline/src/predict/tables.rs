//! Tables of the predictors: directions and targets.

use super::direction::{Direction, Histories, direction};
use super::history::History;
use super::path::PredictedPath;
use super::targets::{Btb, TargetCache};
use super::{Basis, BranchKind, Checkpoint, FoldedBasis, Predicted, Site};
use crate::config::{BranchConfig, Predictor};

/// Tables of the direction predictor, branch target buffer and target cache: what the contexts of a core share.
#[derive(Clone, Debug)]
pub struct BranchTables {
    pub(super) direction: Direction,
    pub(super) btb: Btb,
    pub(super) indirect: Option<TargetCache>,
    perfect: bool,
}

hps_isa::save_state! { BranchTables { direction, btb, indirect, perfect: skip } }

impl BranchTables {
    /// Untrained tables of a configuration that passed its check.
    #[must_use]
    pub fn new(config: &BranchConfig) -> Self {
        BranchTables {
            direction: direction(&config.predictor).0,
            btb: Btb::new(&config.btb),
            indirect: (config.indirect.entries > 0).then(|| TargetCache::new(&config.indirect)),
            perfect: config.predictor == Predictor::Perfect,
        }
    }

    /// Prediction is perfect: the core has to call [`predict_known`](Self::predict_known) with the outcome.
    #[inline]
    #[must_use]
    pub fn is_perfect(&self) -> bool {
        self.perfect
    }

    /// Predicts the branch at `pc`, fills `cp` with the state before it, and moves histories and
    /// return address stack along the prediction. `fallthrough` is the address behind the branch,
    /// `direct_target` that of a direct branch (0 for an indirect one).
    #[inline]
    pub fn predict(
        &self,
        path: &mut PredictedPath,
        pc: u64,
        kind: BranchKind,
        fallthrough: u64,
        direct_target: u64,
        cp: &mut Checkpoint,
    ) -> Predicted {
        let site = self.site(pc);
        self.predict_at(path, (pc, &site), kind, fallthrough, direct_target, cp)
    }

    /// The places of the branch at `pc` in the tables.
    #[inline(always)]
    #[must_use]
    pub fn site(&self, pc: u64) -> Site {
        let local = match &self.direction {
            Direction::Tournament(p) => p.slot(pc),
            _ => 0,
        };
        let (target_set, target_tag) = self.btb.place(pc);
        Site {
            target_set,
            target_tag,
            local,
        }
    }

    /// [`predict`](Self::predict) of a branch whose site is known.
    #[inline(always)]
    pub fn predict_at(
        &self,
        path: &mut PredictedPath,
        (pc, site): (u64, &Site),
        kind: BranchKind,
        fallthrough: u64,
        direct_target: u64,
        cp: &mut Checkpoint,
    ) -> Predicted {
        if kind == BranchKind::Conditional {
            path.checkpoint_returns(cp);
            let (taken, btb_hit) = self.predict_conditional(path, (pc, site), direct_target, cp);
            return Predicted {
                taken,
                target: if taken { direct_target } else { fallthrough },
                btb_hit,
            };
        }
        path.begin_prediction(cp);
        path.checkpoint_returns(cp);
        if kind == BranchKind::Return && path.ras.exists() {
            let target = path.ras.peek();
            path.ras.pop();
            return Predicted {
                taken: true,
                target,
                btb_hit: true,
            };
        }
        self.predict_transfer(path, (pc, site), kind, fallthrough, direct_target)
    }

    /// Predicts a conditional branch: whether it is taken, and whether fetch then knows its target. The return address
    /// stack does not move; `checkpoint_returns` saves it in `cp` if that is needed.
    #[inline(always)]
    pub fn predict_conditional(
        &self,
        path: &mut PredictedPath,
        (pc, site): (u64, &Site),
        direct_target: u64,
        cp: &mut Checkpoint,
    ) -> (bool, bool) {
        path.begin_prediction(cp);
        let taken = self.predict_direction(path, (pc, site), cp);
        self.follow_conditional(path, site, taken, direct_target)
    }

    /// [`predict_conditional`](Self::predict_conditional) of a branch that is squashed before dispatch: it trains
    /// nothing, and no squash returns to it.
    #[inline(always)]
    pub fn predict_undispatched_conditional(
        &self,
        path: &mut PredictedPath,
        (pc, site): (u64, &Site),
        direct_target: u64,
    ) -> (bool, bool) {
        let taken = if let Direction::Tournament(p) = &self.direction {
            p.predict(site.local, path.history.state.global).taken
        } else {
            self.predict_otherwise(path, pc, &mut Checkpoint::default())
        };
        self.follow_conditional(path, site, taken, direct_target)
    }

    /// Moves the history along a prediction. Returns the prediction, and whether fetch knows the target.
    #[inline(always)]
    fn follow_conditional(
        &self,
        path: &mut PredictedPath,
        site: &Site,
        taken: bool,
        target: u64,
    ) -> (bool, bool) {
        path.history.push_direction(taken);
        (taken, taken && self.btb.knows(site.target(), target))
    }

    /// [`predict_at`](Self::predict_at) of a direct jump or call. Decode knows the target at the latest, so the
    /// prediction is always right and needs no checkpoint. `link` is the address behind a call. Returns whether fetch
    /// knows the target.
    #[inline(always)]
    pub fn predict_direct(
        &self,
        path: &mut PredictedPath,
        site: &Site,
        link: Option<u64>,
        target: u64,
    ) -> bool {
        if let Some(link) = link {
            path.ras.push(link);
        }
        self.btb.knows(site.target(), target)
    }

    /// Predicts an unconditional transfer that the return address stack does not predict.
    #[inline(never)]
    fn predict_transfer(
        &self,
        path: &mut PredictedPath,
        (pc, site): (u64, &Site),
        kind: BranchKind,
        fallthrough: u64,
        direct_target: u64,
    ) -> Predicted {
        let predicted = match kind {
            BranchKind::Conditional | BranchKind::Jump | BranchKind::Call => Predicted {
                taken: true,
                target: direct_target,
                btb_hit: self.btb.knows(site.target(), direct_target),
            },
            BranchKind::IndirectJump | BranchKind::IndirectCall | BranchKind::Return => {
                let in_btb = self.btb.lookup(site.target());
                let cache = self.indirect.as_ref();
                let cached = cache.and_then(|cache| cache.lookup(pc, path.history.state.path));
                Predicted {
                    taken: true,
                    target: cached.or(in_btb).unwrap_or(0),
                    btb_hit: in_btb.is_some(),
                }
            }
        };
        path.advance(kind, predicted.taken, predicted.target, fallthrough);
        predicted
    }

    /// Trains the predictor with the outcome of a branch at its commit: in program order, right path only. `target`
    /// is the address of the next instruction.
    pub fn train(
        &mut self,
        path: &PredictedPath,
        cp: &Checkpoint,
        pc: u64,
        kind: BranchKind,
        taken: bool,
        target: u64,
    ) {
        let site = self.site(pc);
        self.train_at(path, cp, (pc, &site), kind, taken, target);
    }

    /// [`train`](Self::train) of a branch whose site is known.
    #[inline(always)]
    pub fn train_at(
        &mut self,
        path: &PredictedPath,
        cp: &Checkpoint,
        (pc, site): (u64, &Site),
        kind: BranchKind,
        taken: bool,
        target: u64,
    ) {
        if kind == BranchKind::Conditional {
            return self.train_conditional(
                path,
                (&cp.basis, &cp.folded),
                (pc, site),
                taken,
                target,
            );
        }
        debug_assert!(taken, "only conditional branches may go straight on");
        self.train_transfer(path, &cp.basis, (pc, site), kind, target);
    }

    /// [`train_at`](Self::train_at) of a conditional branch.
    #[inline(always)]
    pub fn train_conditional(
        &mut self,
        path: &PredictedPath,
        basis: (&Basis, &FoldedBasis),
        (pc, site): (u64, &Site),
        taken: bool,
        target: u64,
    ) {
        self.train_direction(path, basis, (pc, site), taken);
        if taken {
            self.btb.train(site.target(), target);
        }
    }

    /// [`train_at`](Self::train_at) of an unconditional transfer.
    #[inline(always)]
    pub fn train_transfer(
        &mut self,
        path: &PredictedPath,
        basis: &Basis,
        (pc, site): (u64, &Site),
        kind: BranchKind,
        target: u64,
    ) {
        if !(kind.is_direct() || kind == BranchKind::Return && path.ras.exists()) {
            self.train_indirect(basis, pc, target);
        }
        self.btb.train(site.target(), target);
    }

    /// [`train_at`](Self::train_at) of a direct jump or call.
    #[inline(always)]
    pub fn train_direct(&mut self, site: &Site, target: u64) {
        self.btb.train(site.target(), target);
    }

    #[inline(never)]
    fn train_indirect(&mut self, basis: &Basis, pc: u64, target: u64) {
        if let Some(cache) = &mut self.indirect {
            cache.train(pc, basis.history.path, target);
        }
    }

    #[inline(always)]
    pub(super) fn predict_direction(
        &self,
        path: &PredictedPath,
        (pc, site): (u64, &Site),
        cp: &mut Checkpoint,
    ) -> bool {
        if let Direction::Tournament(p) = &self.direction {
            let prediction = p.predict(site.local, path.history.state.global);
            cp.basis.tournament = prediction;
            return prediction.taken;
        }
        self.predict_otherwise(path, pc, cp)
    }

    /// Predicts a direction with any predictor but a tournament.
    #[cold]
    #[inline(never)]
    fn predict_otherwise(&self, path: &PredictedPath, pc: u64, cp: &mut Checkpoint) -> bool {
        let History { state, folds, .. } = &path.history;
        match &self.direction {
            Direction::Always(taken) => *taken,
            Direction::Tournament(p) => p.predict(p.slot(pc), state.global).taken,
            Direction::Other(p) => p.predict(pc, Histories { state, folds }, &mut cp.folded.memo),
        }
    }

    #[inline(always)]
    pub(super) fn train_direction(
        &mut self,
        path: &PredictedPath,
        (basis, folded): (&Basis, &FoldedBasis),
        (pc, site): (u64, &Site),
        taken: bool,
    ) {
        if let Direction::Tournament(p) = &mut self.direction {
            let branches = path.history.since(&basis.history);
            let global = basis.history.global;
            p.train(site.local, global, basis.tournament, taken, branches);
        } else {
            self.train_otherwise((basis, folded), pc, taken);
        }
    }

    #[cold]
    #[inline(never)]
    fn train_otherwise(&mut self, (basis, folded): (&Basis, &FoldedBasis), pc: u64, taken: bool) {
        match &mut self.direction {
            Direction::Always(_) | Direction::Tournament(_) => {}
            Direction::Other(p) => {
                let histories = Histories {
                    state: &basis.history,
                    folds: &folded.folds,
                };
                p.train(pc, histories, &folded.memo, taken);
            }
        }
    }
}
