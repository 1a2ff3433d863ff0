//! Profilers of the simulated machine: the oracle, and policies that watch the same run.
//!
//! | module | holds |
//! | --- | --- |
//! | [`beat`] | [`Beats`], the probe that gives each cycle an owner |
//! | [`oracle`] | [`Oracle`], the exact profile: cycles by instruction, by what they were spent on, by events |
//! | [`contexts`] | calling contexts, exactly |
//! | [`schedule`] | periods of cycles, instructions or events; fixed or random |
//! | [`sampler`] | [`Samplers`]: any number of policies with their schedules on one run |
//! | [`policy`] | the policies, one file each |
//! | [`registry`] | all profilers by name, with one line each |
//! | [`programs`] | [`Programs`], the exact profiles of all programs of a run |
//! | [`timeline`] | what each interval of a run was spent on |
//! | [`views`] | the exact profile by instruction, block, line and function |
//!
//! Nothing here changes a run: what costs time is guest code and hardware of the chip, of which the registry says what
//! each profiler needs ([`registry::Records`]).
#![warn(missing_docs)]

pub mod beat;
pub mod contexts;
mod observer;
pub mod oracle;
pub mod policy;
pub mod programs;
mod readers;
pub mod registry;
mod rows;
pub mod sampler;
pub mod schedule;
mod table;
pub mod timeline;
pub mod views;

pub use beat::{Beat, Beats, Key, Observer, Past, Turns};
pub use oracle::{Charge, Detail, ExactProfile, Follow, JoinedProfile, Oracle, Row, RowKey, Spent};
pub use programs::Programs;
pub use sampler::{Credits, Sampled, Samplers};
pub use schedule::{Period, Spread, Unit};
