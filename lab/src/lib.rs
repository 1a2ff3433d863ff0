#![doc = include_str!("../README.md")]
#![warn(missing_docs)]

mod aggregating;
#[cfg(not(target_family = "wasm"))]
pub mod checkpoint;
mod collecting;
pub mod counted;
#[cfg(not(target_family = "wasm"))]
pub mod debug;
mod edit;
mod end;
mod error;
mod guest;
#[cfg(not(target_family = "wasm"))]
pub mod host;
pub mod input;
mod install;
mod interrupted;
mod lab;
mod loops;
pub mod machine;
mod mode;
#[cfg(not(target_family = "wasm"))]
mod named;
pub mod observer;
mod processes;
mod productions;
mod program;
mod provenance;
mod ran;
mod region;
#[cfg(not(target_family = "wasm"))]
pub mod root;
pub mod shadow;
#[cfg(not(target_family = "wasm"))]
pub mod slices;
mod stopwatch;
mod truth;
mod yielding;

pub use aggregating::Aggregated;
pub use collecting::{Collected, Collecting};
pub use edit::{Edit, Editable, NotEdited, PlacedEdit};
pub use end::{EndError, Faulted, place, stop_reason};
pub use error::{LabError, MapError, ProductionsError, message};
pub use guest::{Files, GuestLimits, GuestOptions};
pub use hps_pipeline::core::CoreKind;
pub use hps_pipeline::sampled::SamplingPlan;
pub use hps_system::image::Isa;
pub use hps_system::os::ThreadRules;
#[cfg(not(target_family = "wasm"))]
pub use hps_workloads::work_folder;
pub use install::{Install, Installer};
pub use lab::Lab;
pub use loops::{Attach, ChipLoop, Core, FunctionalLoop, SampledLoop, TimedLoop};
pub use machine::{TimedMachine, dise_config};
pub use mode::{Functional, Sampled, Timed};
pub use productions::Productions;
pub use program::{DEFAULT_ISA, Expected, Program, image_of};
pub use provenance::{MachineProvenance, Provenance, fingerprint};
pub use ran::{Ran, Timing, Units, retired};
pub use region::{BEGIN_MARKER, END_MARKER, Place, Region, WARM_BY_ALL};
pub use truth::{Apart, Polled, Truth, Watch, Watching};
pub use yielding::Yielded;

/// Version of the lab. Results are comparable only within one.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
