//! Branch prediction: directions, targets, returns.
//!
//! The contexts of a core share its [`BranchTables`]; each has a [`PredictedPath`] of its own, histories and return
//! address stack. Tables are asked at fetch ([`BranchTables::predict`], which moves the path along the
//! prediction) and trained at commit ([`BranchTables::train`]). A squash restores the path from the
//! [`Checkpoint`] of the squashed branch ([`PredictedPath::restore`], [`PredictedPath::rewind`]); tables
//! change only in `train`, so that a wrong path leaves nothing in them. [`BranchUnit`] is both, for a core with one
//! context. After construction nothing is allocated.

mod bimodal;
mod contents;
mod counters;
mod delay;
mod direction;
mod gshare;
mod history;
mod path;
mod perceptron;
mod ras;
mod tables;
mod tage;
mod targets;
#[cfg(test)]
pub(crate) mod tests;
mod tournament;
mod unit;
mod warm;

use serde::{Deserialize, Serialize};

pub use path::PredictedPath;
pub use tables::BranchTables;
pub use unit::BranchUnit;

use delay::Seen;
use direction::Memo;
use history::{Folds, HistoryState};
use ras::RasState;
use tournament::TournamentPrediction;

/// Kind of a control transfer for the predictor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
    /// The rest of it for a predictor that [has folded histories](PredictedPath::is_folded).
    pub folded: FoldedBasis,
}

hps_isa::save_state! { Checkpoint { basis, ras, folded } }

/// The state from which a branch was predicted, without folded histories.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Basis {
    history: HistoryState,
    tournament: TournamentPrediction,
}

hps_isa::save_state! { Basis { history, tournament } }

/// The folded histories from which a branch was predicted, and what its predictor keeps of the prediction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FoldedBasis {
    memo: Memo,
    folds: Folds,
}

hps_isa::save_state! { FoldedBasis { memo, folds } }

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

hps_isa::save_state! { Site { target_set, target_tag, local } }

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
