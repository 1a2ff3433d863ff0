#![doc = include_str!("../README.md")]
#![warn(missing_docs)]

pub mod aggregating;
pub mod always_on;
pub mod collector;
pub mod counts;
pub mod files;
pub mod grid;
mod interrupt_handlers;
pub mod point;
pub mod random;
pub mod sampling;
pub mod scheme;
pub mod software;
pub mod statistics;
pub mod stream;
pub mod unique;
pub mod yield_points;

pub use aggregating::{TableEntry, TableHandler, TableOptions, TableSamples};
pub use always_on::{CountedPairs, CountedValues, counted_pairs, counted_values};
pub use collector::{
    CollectedProfile, Collector, CollectorError, CollectorOptions, Tables, TablesOf,
};
pub use counts::{AddressCounts, MethodMap};
pub use files::ProductionFile;
pub use grid::{GridError, GridProbe, GridResult, PointProfiles};
pub use point::{SamplePoint, SamplePointError};
pub use sampling::{SampleHandler, SampleHandlers, SampleOptions, SampleRecord, SampleRecords};
pub use scheme::Scheme;
pub use software::{
    Checks, LayoutStatistics, SoftwareCollector, SoftwareEditor, SoftwareError, SoftwareOptions,
};
pub use statistics::ProgramStatistics;
pub use stream::{StreamRecorder, TraceDigest};
pub use unique::UniqueAddresses;
pub use yield_points::{YieldHandler, counted_calls};
