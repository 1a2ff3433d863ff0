//! Branch prediction: directions, targets, returns.
//!
//! One [`BranchUnit`] belongs to a hardware context. It is asked at fetch ([`BranchUnit::predict`],
//! which moves histories and the return address stack along the predicted path), told of a squash
//! ([`BranchUnit::restore`], [`BranchUnit::rewind`]) and taught at commit ([`BranchUnit::train`]).
//! What a wrong path moved is brought back from the [`Checkpoint`] of the squashed branch; tables
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
    /// Its target stands in the instruction.
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
    /// Address of the next instruction; 0 if nobody knows (an indirect branch seen for the first
    /// time).
    pub target: u64,
    /// Of a branch that is predicted taken: fetch knows the target at once, since the branch target
    /// buffer knows the branch (a direct one with the right target: short tags alias) or since the
    /// return address stack gives it.
    pub btb_hit: bool,
}

/// Everything `restore`, `rewind` and `train` need of the state before a branch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Checkpoint {
    /// All that `train` needs, if there is nothing folded.
    pub basis: Basis,
    ras: RasState,
    /// What it needs, too, of a predictor that [has folded histories](BranchUnit::is_folded).
    pub folded: FoldedBasis,
}

/// What a branch was predicted from, but for folded histories.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Basis {
    history: HistoryState,
    tournament: TournamentPrediction,
}

/// Folded histories from which a branch was predicted, and how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FoldedBasis {
    tage: TagePrediction,
    folds: Folds,
}

/// Where a branch lies in tables that are found by its address alone, for those who ask more than once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Site {
    /// Its set of the branch target buffer,
    pub target_set: u32,
    /// and its tag there.
    pub target_tag: u32,
    /// Its local history, if the predictor has any.
    pub local: u16,
}

impl Site {
    #[inline(always)]
    fn target(&self) -> (u32, u32) {
        (self.target_set, self.target_tag)
    }
}

const _: () = assert!(size_of::<Checkpoint>() <= 96);

/// How late branches taught in a core.
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
    /// An untaught unit of a configuration that passed its check.
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

    /// Every direction and target must be right: the core has to ask with
    /// [`predict_known`](Self::predict_known).
    #[inline]
    #[must_use]
    pub fn is_perfect(&self) -> bool {
        self.perfect
    }

    /// It has histories of which a [`Checkpoint`] holds a [`FoldedBasis`].
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

    /// Where the branch at `pc` lies in the tables.
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

    /// Whether a conditional branch is predicted taken, and whether fetch knows its target then. It does not move
    /// the return address stack, so that `cp` gets that only from [`checkpoint_returns`](Self::checkpoint_returns).
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

    /// [`predict_conditional`](Self::predict_conditional) of a branch that will neither teach nor be taken back by itself.
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

    /// The history moves along a prediction. That, and whether fetch knows the target.
    #[inline(always)]
    fn follow_conditional(&mut self, site: &Site, taken: bool, target: u64) -> (bool, bool) {
        self.history.push_direction(taken);
        (taken, taken && self.btb.knows(site.target(), target))
    }

    /// [`predict_at`](Self::predict_at) of a jump or a call to an address that stands in it, which decode knows if
    /// nobody else does: so it is always right, and nobody asks for the state before it. `link` is the address behind a
    /// call. Whether fetch knows the target.
    #[inline(always)]
    pub fn predict_direct(&mut self, site: &Site, link: Option<u64>, target: u64) -> bool {
        if let Some(link) = link {
            self.ras.push(link);
        }
        self.btb.knows(site.target(), target)
    }

    /// The prediction of a branch that is always taken, but for a return that the stack knows.
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

    /// The prediction of a perfect predictor: the outcome itself. Fills `cp` and moves the state
    /// as [`predict`](Self::predict) does.
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

    /// A squash behind this branch: brings the state before it back and applies what it did.
    /// `target` is the address it went to, `fallthrough` the one behind it.
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

    /// Brings the state before the branch back and applies nothing: the branch will be fetched
    /// again. A squash at another instruction uses the checkpoint of the oldest squashed branch.
    pub fn rewind(&mut self, cp: &Checkpoint) {
        self.history.state = cp.basis.history;
        if self.history.is_folded() {
            self.history.folds = cp.folded.folds;
        }
        self.ras.restore(&cp.ras);
    }

    /// Teaches the outcome of a branch at its commit: in program order, right path only. `target`
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

    /// [`train_at`](Self::train_at) of any other, which is always taken.
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

    /// The same of a jump or a call to an address that stands in it.
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

    /// The part of a checkpoint that is the return address stack's.
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

    /// The direction of a branch by anything but a tournament.
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
