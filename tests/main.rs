//! Tests that cross crates, and tests of the command.
//!
//! The tests are one program: the simulator is compiled into it once. Tests of SHIM measure time on a processor of
//! their own and are programs beside this one; Cargo runs programs of tests one after another.

mod basic_overhead;
mod callgraphs_inside;
mod cases;
mod charged;
mod checkpoints;
mod cli;
mod compile;
mod count_for_count;
mod damaged_input;
mod dcpi;
mod dcpi_cli;
mod debug;
mod duplicates;
mod ecoff;
mod guest;
mod leaderboard;
#[path = "../pipeline/tests/listed.rs"]
mod listed;
mod litmus;
mod overlap;
mod programs;
mod readme;
mod real_programs;
mod reproduce;
mod sampled;
mod shadow_native;
mod shim_inside;
mod shim_shown;
mod slices;
mod suite;
mod support;
mod tip;
mod truth;
