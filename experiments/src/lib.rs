//! Sweep definitions, the runner and the result store. Holds no drawing.

mod row;
mod spec;
mod store;

pub use row::{AccuracyResult, ProfileKind, Row, TimingResult};
pub use spec::{InputSize, OwnProgram, SpecError, SweepSpec, Timing, paper_burst};
pub use store::{Store, StoreError};
