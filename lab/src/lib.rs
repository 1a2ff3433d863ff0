//! Puts a run together: program, instruction set, machine, core, editor, probe, limits, sampling.
//!
//! ```
//! use hps_lab::{CoreKind, Isa, Lab};
//!
//! let ran = Lab::program("bwt", Isa::Riscv64)?
//!     .args(["small"])
//!     .on("hps-4wide")?
//!     .core(CoreKind::Instruction)
//!     .limit(10_000)
//!     .run()?;
//! assert_eq!(ran.instructions(), 10_000);
//! assert!(ran.cycles() > 2500);
//! # Ok::<(), hps_lab::LabError>(())
//! ```
//!
//! | to say | call |
//! | --- | --- |
//! | which program | [`Lab::program`] (name or file), [`Lab::workload`] (with an input and what it must print), [`Lab::image`], [`Lab::of`] (a [`Program`]) |
//! | what it gets from outside | [`Lab::args`], [`Lab::guest`] ([`GuestOptions`]), [`Lab::limits`], [`Lab::input`], [`Lab::output`] |
//! | on which machine | nothing for a functional run; `on("hps-4wide")`, `on_machine(&config)`, `timed_by(&machine)` |
//! | by which core | `core(CoreKind::Instruction)`; `sampled(plan)` times units only |
//! | with what in decode | [`Lab::edited_by`] (a collector, [`Productions`]), [`Lab::edited`] (a function) |
//! | watched by whom | [`Lab::watched_by`] (a probe, or a tuple of them) |
//! | with the exact profile, and profilers beside it | [`watched`](Lab::watched) instead of `run` ([`Watch`]) |
//! | how far | [`Lab::limit`] |
//! | go | `run()` gives a [`Ran`]; `open()` gives the machine or the core, to be stepped |
//!
//! | file | holds |
//! | --- | --- |
//! | `lab.rs` | the builder: what every run has |
//! | `mode.rs` | functional, timed and sampled runs: `open` and `run` |
//! | `program.rs` | programs by name or file, of the project and of the suite |
//! | `guest.rs` | what a program gets from outside: files, environment, limits, streams |
//! | `input.rs` | standard input that is read once and replayed |
//! | `machine.rs` | machines with the core that simulates them; their DISE engines |
//! | `productions.rs`, `install.rs` | production files; what installs an editor |
//! | `ran.rs`, `end.rs`, `provenance.rs` | what a run left behind, how it ended, what determined it |
//! | `truth.rs` | a run under the oracle, with profilers |
//! | `error.rs` | why a run cannot begin |
//! | `host.rs` | processors of the host, programs on its search path |
//!
//! Options of the command and drawing are not here, and neither is any loop of the simulator.
#![warn(missing_docs)]

mod end;
mod error;
mod guest;
pub mod host;
pub mod input;
mod install;
mod lab;
pub mod machine;
mod mode;
mod productions;
mod program;
mod provenance;
mod ran;
mod truth;

pub use end::{EndError, Faulted, place};
pub use error::{LabError, MapError, ProductionsError};
pub use guest::{Files, GuestLimits, GuestOptions};
pub use hps_pipeline::core::CoreKind;
pub use hps_pipeline::sampled::SamplingPlan;
pub use hps_sim_core::image::Isa;
pub use install::{Install, Installer};
pub use lab::Lab;
pub use machine::{TimedMachine, dise_config};
pub use mode::{Functional, Sampled, Timed};
pub use productions::Productions;
pub use program::{DEFAULT_ISA, Expected, Program, image_of};
pub use provenance::{MachineProvenance, Provenance, fingerprint};
pub use ran::{Ran, Timing, Units, retired};
pub use truth::{Truth, Watch};

/// Version of the lab. Results are comparable only within one.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
