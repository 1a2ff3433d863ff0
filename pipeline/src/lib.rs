#![doc = include_str!("../README.md")]

mod by_cycle;
mod by_instruction;
pub mod config;
pub mod contents;
pub mod core;
mod either;
pub mod interrupts;
pub mod kanata;
pub mod memsys;
mod model;
pub mod pmu;
pub mod predict;
pub mod sampled;
pub mod schedule;
pub mod stacks;
pub mod static_schedule;
