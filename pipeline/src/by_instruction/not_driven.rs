//! What the instruction-driven core does not have.

use super::stamps::STAMPS;

/// Why a machine has no instruction-driven core.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotDriven {
    /// It issues in order.
    #[error("its scheduling is in order (issue.scheduling)")]
    InOrder,
    /// Its predictor is perfect.
    #[error("its branch predictor is perfect (branch.predictor)")]
    Perfect,
    /// Its histories learn of branches when they commit.
    #[error("its branch history is updated at commit (branch.history_update)")]
    LateHistory,
    /// Its data cache writes through.
    #[error("its data cache writes through (memory.l1d_write)")]
    WriteThrough,
    /// A cache learns from the instructions that access it.
    #[error(
        "a cache learns from the instructions that access it (memory.l1d.replacement, memory.l2.replacement)"
    )]
    Replacement,
    /// Its window is too large.
    #[error(
        "its reorder buffer and twice the queues before it hold more than {STAMPS} instructions"
    )]
    Window,
    /// It has too many pools of units.
    #[error(
        "it has more than 6 pools of pipelined units that are fewer than issue.issue_width, or one of more than 127 \
         units (units.pools)"
    )]
    Pools,
    /// It has several cores.
    #[error("it has several cores or contexts (chip.cores, chip.contexts)")]
    Cores,
    /// Its counters are not those that there always are.
    #[error("it says what its counters count or cost (counters)")]
    Counters,
    /// A probe wants the stages of each instruction.
    #[error("a pipeline log is asked for, which only the cycle-driven core keeps")]
    Log,
}
