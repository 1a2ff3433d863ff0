//! Tests of productions, collectors and schemes on whole programs.
//!
//! All tests are one program: the simulator is compiled into it once.

mod collect;
mod common;
mod interrupts;
#[path = "../../pipeline/tests/listed.rs"]
mod listed;
mod pipeline;
mod sampled;
mod sampling;
mod schemes;
mod software;
mod software_pipeline;
mod state;
mod transparency;
