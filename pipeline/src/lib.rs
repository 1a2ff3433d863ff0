#![doc = include_str!("../README.md")]

pub mod config;
pub mod core;
pub mod interrupts;
pub mod kanata;
pub mod memsys;
pub mod pmu;
pub mod predict;
pub mod sampled;
pub mod schedule;
pub mod stacks;
