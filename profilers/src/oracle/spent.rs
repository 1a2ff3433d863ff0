//! Uses of a cycle of an instruction, and their names.

use hps_pipeline::core::Cause;
use serde::{Deserialize, Serialize};

/// Use of a cycle of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Spent {
    /// The instruction committed.
    Computing,
    /// The instruction was the oldest and passed the stages of the window for the first time, behind an empty window.
    Filling,
    /// The instruction was the oldest and not complete, for this cause.
    Stalled(Cause),
    /// The instruction had flushed the window.
    Flushed(Flush),
    /// The instruction had not reached the window, for this cause.
    Drained(Cause),
}

/// Why an instruction flushes the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Flush {
    /// Mispredicted control transfer.
    Misprediction,
    /// Load that had read before an older store.
    Replay,
    /// Serializing instruction.
    Serialization,
    /// Trapping instruction.
    Trap,
    /// First instruction of an interrupt's handler.
    Interrupt,
}

impl Spent {
    /// Use of a cycle in which the instruction at the head stalls. Until the cause of its own wait can be known, the
    /// core names what had emptied the window.
    pub(super) fn of_stall(cause: Cause) -> Spent {
        match cause {
            Cause::Frontend
            | Cause::ICache
            | Cause::ITlb
            | Cause::BtbMiss
            | Cause::Mispredict
            | Cause::Replay
            | Cause::DiseStall => Spent::Filling,
            cause => Spent::Stalled(cause),
        }
    }

    /// The name in reports: the state, and behind a colon what was waited for.
    #[must_use]
    pub fn label(self) -> String {
        match self {
            Spent::Computing => "computing".to_string(),
            Spent::Filling => "stalled:fill".to_string(),
            Spent::Stalled(cause) => format!("stalled:{}", cause.name()),
            Spent::Flushed(flush) => format!("flushed:{}", flush.name()),
            Spent::Drained(cause) => format!("drained:{}", cause.name()),
        }
    }

    /// The place of its state in [`STATES`].
    #[must_use]
    pub fn state(self) -> usize {
        match self {
            Spent::Computing => 0,
            Spent::Filling | Spent::Stalled(_) => 1,
            Spent::Flushed(_) => 2,
            Spent::Drained(_) => 3,
        }
    }
}

/// The four states of the attribution, in the order of [`Spent::state`].
pub const STATES: [&str; 4] = ["computing", "stalled", "flushed", "drained"];

impl Flush {
    /// The name under which it is reported.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Flush::Misprediction => "misprediction",
            Flush::Replay => "replay",
            Flush::Serialization => "serialization",
            Flush::Trap => "trap",
            Flush::Interrupt => "interrupt",
        }
    }
}
