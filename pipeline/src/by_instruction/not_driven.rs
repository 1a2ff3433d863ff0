//! Features of a machine that the instruction-driven core lacks.

use super::stamps::STAMPS;

/// Why a machine has no instruction-driven core.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotDriven {
    /// The machine issues in order.
    #[error("its scheduling is in order (issue.scheduling)")]
    InOrder,
    /// The predictor is perfect.
    #[error("its branch predictor is perfect (branch.predictor)")]
    Perfect,
    /// Branch histories are updated at commit.
    #[error("its branch history is updated at commit (branch.history_update)")]
    LateHistory,
    /// The data cache writes through.
    #[error("its data cache writes through (memory.l1d_write)")]
    WriteThrough,
    /// A cache learns from the instructions that access it.
    #[error(
        "a cache learns from the instructions that access it (memory.l1d.replacement, memory.l2.replacement)"
    )]
    Replacement,
    /// The window is too large.
    #[error(
        "its reorder buffer and twice the queues before it hold more than {STAMPS} instructions"
    )]
    Window,
    /// The machine has too many pools of units.
    #[error(
        "it has more than 6 pools of pipelined units that are fewer than issue.issue_width, or one of more than 127 \
         units (units.pools)"
    )]
    Pools,
    /// The machine has several cores or contexts.
    #[error("it has several cores or contexts (chip.cores, chip.contexts)")]
    Cores,
    /// The counters differ from those that there always are.
    #[error("it says what its counters count or cost (counters)")]
    Counters,
    /// A probe wants the stages of each instruction.
    #[error("a pipeline log is asked for, which only the cycle-driven core keeps")]
    Log,
}
