//! The predictors of a core with one context.

use super::path::PredictedPath;
use super::tables::BranchTables;
use super::{Basis, BranchKind, Checkpoint, FoldedBasis, Predicted, Site};
use crate::config::BranchConfig;

/// Predictor tables, and the predicted path of the only context that uses them.
#[derive(Clone, Debug)]
pub struct BranchUnit {
    pub(crate) tables: BranchTables,
    pub(crate) path: PredictedPath,
}

hps_isa::save_state! { BranchUnit { tables, path } }

impl BranchUnit {
    /// An untrained unit of a configuration that passed its check.
    #[must_use]
    pub fn new(config: &BranchConfig) -> Self {
        BranchUnit {
            tables: BranchTables::new(config),
            path: PredictedPath::new(config),
        }
    }

    /// [`PredictedPath::is_folded`].
    #[inline(always)]
    #[must_use]
    pub fn is_folded(&self) -> bool {
        self.path.is_folded()
    }

    /// [`BranchTables::predict`].
    #[inline]
    pub fn predict(
        &mut self,
        pc: u64,
        kind: BranchKind,
        fallthrough: u64,
        direct_target: u64,
        cp: &mut Checkpoint,
    ) -> Predicted {
        (self.tables).predict(&mut self.path, pc, kind, fallthrough, direct_target, cp)
    }

    /// [`BranchTables::site`].
    #[inline(always)]
    #[must_use]
    pub fn site(&self, pc: u64) -> Site {
        self.tables.site(pc)
    }

    /// [`BranchTables::predict_at`].
    #[inline(always)]
    pub fn predict_at(
        &mut self,
        site: (u64, &Site),
        kind: BranchKind,
        fallthrough: u64,
        direct_target: u64,
        cp: &mut Checkpoint,
    ) -> Predicted {
        (self.tables).predict_at(&mut self.path, site, kind, fallthrough, direct_target, cp)
    }

    /// [`BranchTables::predict_conditional`].
    #[inline(always)]
    pub fn predict_conditional(
        &mut self,
        site: (u64, &Site),
        direct_target: u64,
        cp: &mut Checkpoint,
    ) -> (bool, bool) {
        (self.tables).predict_conditional(&mut self.path, site, direct_target, cp)
    }

    /// [`BranchTables::predict_undispatched_conditional`].
    #[inline(always)]
    pub fn predict_undispatched_conditional(
        &mut self,
        site: (u64, &Site),
        direct_target: u64,
    ) -> (bool, bool) {
        (self.tables).predict_undispatched_conditional(&mut self.path, site, direct_target)
    }

    /// [`BranchTables::predict_direct`].
    #[inline(always)]
    pub fn predict_direct(&mut self, site: &Site, link: Option<u64>, target: u64) -> bool {
        self.tables
            .predict_direct(&mut self.path, site, link, target)
    }

    /// [`PredictedPath::predict_known`].
    pub fn predict_known(
        &mut self,
        kind: BranchKind,
        taken: bool,
        target: u64,
        fallthrough: u64,
        cp: &mut Checkpoint,
    ) -> Predicted {
        self.path
            .predict_known(kind, taken, target, fallthrough, cp)
    }

    /// [`PredictedPath::restore`].
    #[inline]
    pub fn restore(
        &mut self,
        cp: &Checkpoint,
        kind: BranchKind,
        taken: bool,
        target: u64,
        fallthrough: u64,
    ) {
        self.path.restore(cp, kind, taken, target, fallthrough);
    }

    /// [`PredictedPath::rewind`].
    #[inline]
    pub fn rewind(&mut self, cp: &Checkpoint) {
        self.path.rewind(cp);
    }

    /// [`BranchTables::train`].
    #[inline]
    pub fn train(&mut self, cp: &Checkpoint, pc: u64, kind: BranchKind, taken: bool, target: u64) {
        self.tables.train(&self.path, cp, pc, kind, taken, target);
    }

    /// [`BranchTables::train_conditional`].
    #[inline(always)]
    pub fn train_conditional(
        &mut self,
        basis: (&Basis, &FoldedBasis),
        site: (u64, &Site),
        taken: bool,
        target: u64,
    ) {
        self.tables
            .train_conditional(&self.path, basis, site, taken, target);
    }

    /// [`BranchTables::train_transfer`].
    #[inline(always)]
    pub fn train_transfer(
        &mut self,
        basis: &Basis,
        site: (u64, &Site),
        kind: BranchKind,
        target: u64,
    ) {
        self.tables
            .train_transfer(&self.path, basis, site, kind, target);
    }

    /// [`BranchTables::train_direct`].
    #[inline(always)]
    pub fn train_direct(&mut self, site: &Site, target: u64) {
        self.tables.train_direct(site, target);
    }

    /// [`PredictedPath::checkpoint`].
    #[inline(always)]
    pub(crate) fn checkpoint(&self, cp: &mut Checkpoint) {
        self.path.checkpoint(cp);
    }

    /// [`PredictedPath::checkpoint_returns`].
    #[inline(always)]
    pub(crate) fn checkpoint_returns(&self, cp: &mut Checkpoint) {
        self.path.checkpoint_returns(cp);
    }
}
