//! Sweeps: definitions, the runner and the result store. Holds no drawing.
//!
//! A [`SweepSpec`] is what a user writes; a [`Plan`] is what will be done, with an id for every
//! point; [`run`] does it and keeps every finished point in a [`Store`].

mod findings;
mod interval;
pub mod machine;
mod plan;
mod row;
mod runner;
mod spec;
mod store;
mod timed;

pub use findings::findings;
pub use hps_profile::ProfileKind;
pub use interval::Interval;
pub use plan::{Plan, PlanError, Point, Program, VERSION};
pub use row::{AccuracyResult, Row, TimingResult};
pub use runner::{Observer, run};
pub use spec::{InputSize, OwnProgram, SpecError, SweepSpec, Timing, paper_burst};
pub use store::{Store, StoreError};
