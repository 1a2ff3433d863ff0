//! HPS: the sampling framework, the profile productions and their handlers, and what reads them.
//!
//! The Hybrid Profiling Support report (HPS) samples in bursts: productions without a replacement
//! count procedure calls and back-edges in the decode stage, and while a flag is on, productions of
//! a profile type call handlers in front of the instructions of interest. This crate holds
//!
//! | module | holds |
//! | --- | --- |
//! | [`point`] | [`SamplePoint`]: burst length and sparsity, and what they mean |
//! | [`files`] | the production files, which travel in the binary |
//! | [`collector`] | [`Collector`]: loads productions, installs them in a process, reads the profile |
//! | [`scheme`] | [`Scheme`]: HPS, plain DISE, HPS with a randomized period |
//! | [`random`] | the same schedules in software: [`RandomSchedule`](random::RandomSchedule), [`ScheduleProbe`](random::ScheduleProbe) |
//! | [`grid`] | [`GridProbe`]: the same profiles for many points from one functional run |
//! | [`counts`], [`stream`] | profiles as both of them collect them |
//! | [`software`] | the same profiles by duplicated code with checks, which HPS is compared with |
//! | [`unique`], [`statistics`] | the columns of the report's Figure 6 |
//!
//! A collector and the grid agree count for count: both follow the definition at [`SamplePoint`].
#![warn(missing_docs)]

pub mod collector;
pub mod counts;
pub mod files;
pub mod grid;
pub mod point;
pub mod random;
pub mod scheme;
pub mod software;
pub mod statistics;
pub mod stream;
pub mod unique;

pub use collector::{CollectedProfile, Collector, CollectorError, CollectorOptions};
pub use counts::{AddressCounts, MethodMap};
pub use files::ProductionFile;
pub use grid::{GridError, GridProbe, GridResult, PointProfiles};
pub use point::{SamplePoint, SamplePointError};
pub use scheme::Scheme;
pub use software::{
    Checks, LayoutStatistics, SoftwareCollector, SoftwareEditor, SoftwareError, SoftwareOptions,
};
pub use statistics::ProgramStatistics;
pub use stream::{StreamRecorder, TraceDigest};
pub use unique::UniqueAddresses;
