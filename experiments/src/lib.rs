#![doc = include_str!("../README.md")]

pub mod claims;
pub mod figure6;
pub mod figure7;
mod findings;
mod interval;
mod limits;
mod measurement;
pub mod paper;
mod plan;
mod reproduce;
mod row;
mod runner;
mod sampled;
pub mod schemes;
mod spec;
mod store;
pub mod studies;
mod timed;
mod truth;
pub mod validation;

pub use findings::findings;
pub use hps_lab::{Expected, Program, TimedMachine, VERSION};
pub use hps_pipeline::core::CoreKind;
pub use hps_pipeline::sampled::SamplingPlan;
pub use hps_profile::ProfileKind;
pub use interval::Interval;
pub use limits::RunLimits;
pub use measurement::{Measurement, Unit, UnitRecord, Work, run_units};
pub use plan::{Plan, PlanError, Point, load_programs, stands_for};
pub use reproduce::{FIGURES, Outcome, ReproduceError, Reproduction, chapters};
pub use row::{AccuracyResult, Row, Sampled, TimingResult};
pub use runner::{Observer, run};
pub use sampled::{SampledCpi, WARMING_ERROR, cycles_per_instruction};
pub use spec::{InputSize, OwnProgram, SpecError, SweepSpec, Timing, paper_burst};
pub use store::{Record, Records, Store, StoreError, line};
pub use truth::{Difference, Truth, difference};
