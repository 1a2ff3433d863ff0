//! Models that the cycle-driven core and the instruction-driven core share: the numbers of a machine, the owners of
//! commit slots, memory dependence, statistics, and the events that probes are told.
//!
//! Policies lie here, loops do not: each core has its own.

mod blame;
mod cpi;
mod dyn_probe;
mod finished;
mod flight;
mod in_order;
pub(crate) mod kind;
mod memdep;
mod observe;
mod params;
mod probe;
mod replacement;
mod restart;
mod ring;
mod slotting;
mod stats;
mod transfers;

pub(crate) use blame::{Standing, Walk, cause_of_fetch, cause_of_load, owner_of};
pub use cpi::{Cause, CpiStack};
pub use dyn_probe::{CyclesProbe, DynProbe, StagesProbe};
pub use finished::{Counted, Finished};
pub use flight::{Flight, InFlight};
pub use in_order::{IssueStall, Pipe};
pub(crate) use memdep::{MemoryDependence, Wait};
pub use observe::{
    Commit, ContextId, EventSet, FlushReason, Origin, Squash, State, Stored, Stretch, TrapTaken,
};
pub(crate) use params::{DEADLOCK_CYCLES, Params, TIME_SLICE, cycles_of_ns};
pub use probe::{AtCommit, PipelineProbe, StageRecord};
pub(crate) use replacement::{Ends, Sent, not_taken, sent};
pub(crate) use restart::Restart;
pub(crate) use ring::Ring;
pub(crate) use slotting::{Group, Traits};
pub use stats::CoreStats;
pub(crate) use transfers::{UNKNOWN_TARGET, branch_kind, moves_frames, predicted_next};

/// A cycle or a position that is not known yet.
pub(crate) const UNKNOWN: u64 = u64::MAX;
