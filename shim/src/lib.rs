#![doc = include_str!("../README.md")]
#![warn(missing_docs)]

pub mod affinity;
pub mod analysis;
pub mod calls;
pub mod change;
pub mod clock;
pub mod contexts;
pub mod counters;
pub mod distribution;
pub mod dte;
pub mod error;
pub mod export;
pub mod guardian;
pub mod keep;
#[cfg(test)]
#[path = "../../tests/support/left_out.rs"]
mod left_out;
pub mod machine;
pub mod microbench;
pub mod observer;
pub mod overhead;
pub mod pace;
pub mod placement;
pub mod plan;
pub mod preload;
pub mod rates;
pub mod region;
pub mod results;
pub mod rings;
pub mod sample;
pub mod session;
pub mod spawn;
pub mod stack_read;
pub mod stack_results;
pub mod stacks;
pub mod stats;
pub mod summary;
pub mod symbols;
pub mod tags;
pub mod threads;
pub mod timeline;
pub mod watch;

pub use dte::{Dte, Stamps};
pub use error::ShimError;
pub use region::Region;
