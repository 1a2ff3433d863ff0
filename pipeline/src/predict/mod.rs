//! Branch prediction: directions, targets, returns.
//!
//! One [`BranchUnit`] belongs to a hardware context. It is asked at fetch ([`BranchUnit::predict`],
//! which moves histories and the return address stack along the predicted path), told of a squash
//! ([`BranchUnit::restore`], [`BranchUnit::rewind`]) and trained at commit ([`BranchUnit::train`]).
//! A squash restores histories and stack from the [`Checkpoint`] of the squashed branch; tables
//! change only in `train`, so that a wrong path leaves nothing in them. After construction nothing
//! is allocated.

mod counters;
mod delay;
mod history;
mod ras;
mod simple;
mod tage;
mod targets;
#[cfg(test)]
pub(crate) mod tests;
mod warm;

use crate::config::{BranchConfig, Predictor};
use delay::Seen;
use history::{Folds, History, HistoryState};
use hps_sim_core::likely::seldom;
use ras::{Ras, RasState};
use simple::{Bimodal, Gshare, Tournament, TournamentPrediction};
use tage::{Tage, TagePrediction};
use targets::{Btb, TargetCache};

/// What a control transfer is to the predictor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BranchKind {
    /// Conditional and direct.
    Conditional,
    /// Unconditional and direct.
    Jump,
    /// Direct call.
    Call,
    /// Indirect, neither call nor return.
    IndirectJump,
    /// Indirect call.
    IndirectCall,
    /// Procedure return.
    Return,
}

impl BranchKind {
    /// The target stands in the instruction.
    #[inline(always)]
    #[must_use]
    pub const fn is_direct(self) -> bool {
        matches!(
            self,
            BranchKind::Conditional | BranchKind::Jump | BranchKind::Call
        )
    }
}

/// A prediction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Predicted {
    /// Whether the branch leaves the straight line.
    pub taken: bool,
    /// Address of the next instruction; 0 if it is unknown (an indirect branch that is fetched for the first
    /// time).
    pub target: u64,
    /// Fetch knows the target of a branch that is predicted taken at once: from the branch target buffer (for a
    /// direct branch only if the target is right, since short tags alias) or from the return address stack.
    pub btb_hit: bool,
}

/// Everything `restore`, `rewind` and `train` need of the state before a branch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Checkpoint {
    /// The state that `train` needs, without folded histories.
    pub basis: Basis,
    ras: RasState,
    /// The rest of it for a predictor that [has folded histories](BranchUnit::is_folded).
    pub folded: FoldedBasis,
}

/// The state from which a branch was predicted, without folded histories.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Basis {
    history: HistoryState,
    tournament: TournamentPrediction,
}

/// The folded histories from which a branch was predicted, and the prediction of TAGE.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FoldedBasis {
    tage: TagePrediction,
    folds: Folds,
}

/// The places of a branch in the tables that its address alone selects, for callers that look up a branch more
/// than once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Site {
    /// Set of the branch target buffer.
    pub target_set: u32,
    /// Tag in that set.
    pub target_tag: u32,
    /// Index of the local history, if the predictor has local histories.
    pub local: u16,
}

impl Site {
    #[inline(always)]
    fn target(&self) -> (u32, u32) {
        (self.target_set, self.target_tag)
    }
}

const _: () = assert!(size_of::<Checkpoint>() <= 96);

/// How late branches trained the predictor of a core.
#[derive(Clone, Debug)]
pub struct Lateness(Seen);

/// The direction predictor in use.
#[derive(Clone, Debug)]
enum Direction {
    Always(bool),
    Bimodal(Bimodal),
    Gshare(Gshare),
    Tournament(Tournament),
    Tage(Box<Tage>),
}

/// Branch predictor, branch target buffer, return address stack and target cache.
#[derive(Clone, Debug)]
pub struct BranchUnit {
    direction: Direction,
    history: History,
    btb: Btb,
    ras: Ras,
    indirect: Option<TargetCache>,
    perfect: bool,
}

impl BranchUnit {
    /// An untrained unit of a configuration that passed its check.
    #[must_use]
    pub fn new(config: &BranchConfig) -> Self {
        let mut history = History::short();
        let direction = match &config.predictor {
            Predictor::Perfect | Predictor::AlwaysNotTaken => Direction::Always(false),
            Predictor::AlwaysTaken => Direction::Always(true),
            Predictor::Bimodal(p) => Direction::Bimodal(Bimodal::new(p.entries)),
            Predictor::Gshare(p) => Direction::Gshare(Gshare::new(p)),
            Predictor::Tournament(p) => Direction::Tournament(Tournament::new(p)),
            Predictor::Tage(p) => {
                history = Tage::history(p);
                Direction::Tage(Box::new(Tage::new(p)))
            }
        };
        BranchUnit {
            direction,
            history,
            btb: Btb::new(&config.btb),
            ras: Ras::new(config.ras_entries, config.ras_repair.clone()),
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

    /// The predictor has folded histories, so that a [`Checkpoint`] needs its [`FoldedBasis`].
    #[inline(always)]
    #[must_use]
    pub fn is_folded(&self) -> bool {
        self.history.is_folded()
    }

    /// Predicts the branch at `pc`, fills `cp` with the state before it, and moves histories and
    /// return address stack along the prediction. `fallthrough` is the address behind the branch,
    /// `direct_target` that of a direct branch (0 for an indirect one).
    #[inline]
    pub fn predict(
        &mut self,
        pc: u64,
        kind: BranchKind,
        fallthrough: u64,
        direct_target: u64,
        cp: &mut Checkpoint,
    ) -> Predicted {
        let site = self.site(pc);
        self.predict_at((pc, &site), kind, fallthrough, direct_target, cp)
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
        &mut self,
        (pc, site): (u64, &Site),
        kind: BranchKind,
        fallthrough: u64,
        direct_target: u64,
        cp: &mut Checkpoint,
    ) -> Predicted {
        if kind == BranchKind::Conditional {
            self.checkpoint_returns(cp);
            let (taken, btb_hit) = self.predict_conditional((pc, site), direct_target, cp);
            return Predicted {
                taken,
                target: if taken { direct_target } else { fallthrough },
                btb_hit,
            };
        }
        self.checkpoint(cp);
        if kind == BranchKind::Return && self.ras.exists() {
            let target = self.ras.peek();
            self.ras.pop();
            return Predicted {
                taken: true,
                target,
                btb_hit: true,
            };
        }
        self.predict_transfer((pc, site), kind, fallthrough, direct_target)
    }

    /// Predicts a conditional branch: whether it is taken, and whether fetch then knows its target. The return address
    /// stack does not move; `checkpoint_returns` saves it in `cp` if that is needed.
    #[inline(always)]
    pub fn predict_conditional(
        &mut self,
        (pc, site): (u64, &Site),
        direct_target: u64,
        cp: &mut Checkpoint,
    ) -> (bool, bool) {
        self.checkpoint_history(cp);
        let taken = self.predict_direction((pc, site), cp);
        self.follow_conditional(site, taken, direct_target)
    }

    /// [`predict_conditional`](Self::predict_conditional) of a branch that is squashed before dispatch: it trains
    /// nothing, and no squash returns to it.
    #[inline(always)]
    pub fn predict_conditional_in_vain(
        &mut self,
        (pc, site): (u64, &Site),
        direct_target: u64,
    ) -> (bool, bool) {
        let taken = if let Direction::Tournament(p) = &self.direction {
            p.predict(site.local, self.history.state.global).taken
        } else {
            self.predict_otherwise(pc, &mut Checkpoint::default())
        };
        self.follow_conditional(site, taken, direct_target)
    }

    /// Moves the history along a prediction. Returns the prediction, and whether fetch knows the target.
    #[inline(always)]
    fn follow_conditional(&mut self, site: &Site, taken: bool, target: u64) -> (bool, bool) {
        self.history.push_direction(taken);
        (taken, taken && self.btb.knows(site.target(), target))
    }

    /// [`predict_at`](Self::predict_at) of a direct jump or call. Decode knows the target at the latest, so the
    /// prediction is always right and needs no checkpoint. `link` is the address behind a call. Returns whether fetch
    /// knows the target.
    #[inline(always)]
    pub fn predict_direct(&mut self, site: &Site, link: Option<u64>, target: u64) -> bool {
        if let Some(link) = link {
            self.ras.push(link);
        }
        self.btb.knows(site.target(), target)
    }

    /// Predicts an unconditional transfer that the return address stack does not predict.
    #[inline(never)]
    fn predict_transfer(
        &mut self,
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
                let cached = cache.and_then(|cache| cache.lookup(pc, self.history.state.path));
                Predicted {
                    taken: true,
                    target: cached.or(in_btb).unwrap_or(0),
                    btb_hit: in_btb.is_some(),
                }
            }
        };
        self.advance(kind, predicted.taken, predicted.target, fallthrough);
        predicted
    }

    /// The prediction of a perfect predictor, which is the outcome. Fills `cp` and moves the state as
    /// [`predict`](Self::predict) does.
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

    /// Trains the predictor with the outcome of a branch at its commit: in program order, right path only. `target`
    /// is the address of the next instruction.
    pub fn train(&mut self, cp: &Checkpoint, pc: u64, kind: BranchKind, taken: bool, target: u64) {
        let site = self.site(pc);
        self.train_at(cp, (pc, &site), kind, taken, target);
    }

    /// [`train`](Self::train) of a branch whose site is known.
    #[inline(always)]
    pub fn train_at(
        &mut self,
        cp: &Checkpoint,
        (pc, site): (u64, &Site),
        kind: BranchKind,
        taken: bool,
        target: u64,
    ) {
        if kind == BranchKind::Conditional {
            return self.train_conditional((&cp.basis, &cp.folded), (pc, site), taken, target);
        }
        debug_assert!(taken, "only conditional branches may go straight on");
        self.train_transfer(&cp.basis, (pc, site), kind, target);
    }

    /// [`train_at`](Self::train_at) of a conditional branch.
    #[inline(always)]
    pub fn train_conditional(
        &mut self,
        basis: (&Basis, &FoldedBasis),
        (pc, site): (u64, &Site),
        taken: bool,
        target: u64,
    ) {
        self.train_direction(basis, (pc, site), taken);
        if taken {
            self.btb.train(site.target(), target);
        }
    }

    /// [`train_at`](Self::train_at) of an unconditional transfer.
    #[inline(always)]
    pub fn train_transfer(
        &mut self,
        basis: &Basis,
        (pc, site): (u64, &Site),
        kind: BranchKind,
        target: u64,
    ) {
        if !(kind.is_direct() || kind == BranchKind::Return && self.ras.exists()) {
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

    /// Saves the return address stack in a checkpoint.
    #[inline(always)]
    pub(crate) fn checkpoint_returns(&self, cp: &mut Checkpoint) {
        cp.ras = self.ras.checkpoint();
    }

    #[inline(always)]
    fn predict_direction(&self, (pc, site): (u64, &Site), cp: &mut Checkpoint) -> bool {
        if let Direction::Tournament(p) = &self.direction {
            let prediction = p.predict(site.local, self.history.state.global);
            cp.basis.tournament = prediction;
            return prediction.taken;
        }
        self.predict_otherwise(pc, cp)
    }

    /// Predicts a direction with any predictor but a tournament.
    #[cold]
    #[inline(never)]
    fn predict_otherwise(&self, pc: u64, cp: &mut Checkpoint) -> bool {
        let history = &self.history;
        match &self.direction {
            Direction::Always(taken) => *taken,
            Direction::Bimodal(p) => p.predict(pc),
            Direction::Gshare(p) => p.predict(pc, history.state.global),
            Direction::Tournament(p) => p.predict(p.slot(pc), history.state.global).taken,
            Direction::Tage(p) => {
                cp.folded.tage = p.predict(pc, &history.folds);
                cp.folded.tage.taken
            }
        }
    }

    #[inline(always)]
    fn train_direction(
        &mut self,
        (basis, folded): (&Basis, &FoldedBasis),
        (pc, site): (u64, &Site),
        taken: bool,
    ) {
        if let Direction::Tournament(p) = &mut self.direction {
            let branches = self.history.since(&basis.history);
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
            Direction::Bimodal(p) => p.train(pc, taken),
            Direction::Gshare(p) => p.train(pc, basis.history.global, taken),
            Direction::Tage(p) => p.train(pc, &folded.folds, &folded.tage, taken),
        }
    }

    /// Moves histories and return address stack past a branch.
    #[inline]
    fn advance(&mut self, kind: BranchKind, taken: bool, target: u64, fallthrough: u64) {
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
