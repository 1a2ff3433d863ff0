//! A run in parts, on many machines: its plan, the parts, and their results joined.
//!
//! Nothing here runs other machines: Slurm, GNU parallel or `xargs` do that. [`Order`] is what is asked for, [`Keep`]
//! is what the run is told of it.
//!
//! - **One way for every run.** A run does its work through the stores that a [`Keep`] opens: whole, a part of it, or
//!   nothing, in which case an [`Agenda`] hears of every piece of work.
//! - **The plan is a file.** It holds the costs of all pieces, so that each part cuts it the same way ([`cut`]).
//! - **A part has a folder of its own**, below `parts` in the folder of the run. What it has finished is on the disk.
//!   It does not try again what has failed; a new plan does.
//! - **Joined stores have one form** (`tidy.rs`), which a run on one machine leaves too. Records have no host times.
//! - **What does not belong together is refused** (`belongs.rs`): another version, another machine under the same
//!   name, another image of the same program.

pub(crate) mod agenda;
mod belongs;
pub(crate) mod cost;
mod cut;
mod keep;
#[cfg(test)]
mod large;
mod merge;
mod order;
mod plan_file;
mod slurm;
mod status;
#[cfg(test)]
mod tests;
pub(crate) mod tidy;

use std::path::{Path, PathBuf};

pub use agenda::{Agenda, Effort, Offer, Piece, Shared, State};
pub use cost::Size;
pub use cut::{Load, cut, seconds};
pub use keep::Keep;
pub use merge::{Merged, ROWS, UNITS, merge};
pub use order::{Came, Order, PartDone, merge_parts};
pub use plan_file::{FILE as PLAN_FILE, Head, Part, PlanFile, Planned, PlannedProgram};
pub use slurm::{FOLDER as SLURM_FOLDER, Needs, Slurm};
pub use status::{PartStatus, Status, part_folders};

use crate::store::StoreError;

/// The folder of the parts, in the folder of a run.
pub const PARTS: &str = "parts";

/// A plan or a store that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ClusterError {
    /// A store cannot be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A file cannot be read or written.
    #[error("{path}: {source}")]
    Io {
        /// File.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// There is no such folder.
    #[error("{path}: there is no such folder")]
    NoFolder {
        /// Folder.
        path: PathBuf,
    },
    /// There is no plan.
    #[error("{path}: there is no plan; make it by the same command with --plan")]
    NoPlan {
        /// Where it would be.
        path: PathBuf,
    },
    /// The plan ends too early.
    #[error("{path}: the plan is not whole; make it again by the same command with --plan")]
    CutOff {
        /// The plan.
        path: PathBuf,
    },
    /// The plan holds a number or a name that no plan of the lab has.
    #[error("{path}:{line}: {problem}; make the plan again by the same command with --plan")]
    Forged {
        /// The plan.
        path: PathBuf,
        /// Line in the plan.
        line: usize,
        /// The number or name that is wrong.
        problem: String,
    },
    /// The plan is for another command.
    #[error(
        "{path}: {pieces} of its {of} pieces of work are none of this command; make the plan again by this command with \
         --plan"
    )]
    OtherPlan {
        /// The plan.
        path: PathBuf,
        /// Pieces that the command does not have.
        pieces: usize,
        /// Pieces of the plan.
        of: usize,
    },
    /// Two results do not belong together.
    #[error("{one} and {other} do not belong together: {difference}")]
    NotTogether {
        /// Where the first one is.
        one: String,
        /// Where the other one is.
        other: String,
        /// In what they differ.
        difference: String,
    },
    /// Two stores hold different results of one piece of work.
    #[error(
        "{other}:{line}: its result of {id} is another one than that in {one}, although the same determines both; one of \
         them is damaged, or the program saw something else"
    )]
    Disagree {
        /// The first store.
        one: PathBuf,
        /// The other store.
        other: PathBuf,
        /// Line in the other store.
        line: usize,
        /// The piece of work.
        id: String,
    },
    /// No piece of work of that name has failed.
    #[error("--retry {name}: nothing of that name has failed; failed: {}", if failed.is_empty() { "nothing" } else { failed })]
    NotFailed {
        /// The name.
        name: String,
        /// Pieces that have failed.
        failed: String,
    },
}

impl ClusterError {
    fn io(path: &Path) -> impl Fn(std::io::Error) -> ClusterError + use<> {
        let path = path.to_path_buf();
        move |source| ClusterError::Io {
            path: path.clone(),
            source,
        }
    }
}
