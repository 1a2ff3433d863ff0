#![doc = include_str!("../README.md")]
#![warn(missing_docs)]

pub mod accuracy;
pub mod control;
pub mod divergence;
mod graphs;
mod keyed;
pub mod numbering;
pub mod paths;
pub mod policy;
pub mod profiles;
#[cfg(test)]
mod tests;
pub mod values;

pub use graphs::Graphs;
