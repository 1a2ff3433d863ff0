//! Both cores, and what they share.

pub use crate::by_cycle::{
    Chip, CopyTerms, EndedCopy, Learned, NotTogether, OperatingPoint, PageFaults, WARM_EVENTS,
    Warm, WarmEvents,
};
pub use crate::by_instruction::{DrivenCore, NotDriven};
pub use crate::either::{CoreKind, EitherCore, NotSimulated};
pub use crate::model::{
    AtCommit, Cause, Commit, ContextId, CoreStats, Counted, CpiStack, CyclesProbe, DynProbe,
    EventSet, Finished, Flight, FlushReason, InFlight, IssueStall, Origin, Pipe, PipelineProbe,
    Squash, StageRecord, StagesProbe, State, Stored, Stretch, TrapTaken,
};
