#![doc = include_str!("../README.md")]
#![warn(missing_docs)]

pub mod accuracy;
pub mod analysis;
pub mod collect;
pub mod database;
pub mod paper;
pub mod report;
pub mod samples;
pub mod table;
