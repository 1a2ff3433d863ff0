//! What executing one instruction means, shared by the functional machine and the pipeline.

use crate::trap::TrapCause;

/// What happens after an instruction has executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Go on with the next instruction in memory.
    Next,
    /// A control transfer that is taken, and its target.
    Taken(u64),
    /// A system call: the machine asks the operating system layer, then goes on behind it.
    Syscall,
    /// Code may have been modified: decoded instructions must be thrown away.
    FenceI,
    /// Branch within a replacement sequence, to this index.
    DiseTaken(u8),
    /// Call of a handler at this address.
    DiseCall(u64),
    /// Return of a handler.
    DiseReturn,
    /// The profile consumer reads its buffer here.
    DiseDrain,
    /// The instruction faults. Nothing was changed.
    Trap(TrapCause),
}
