//! The suite of real programs: sources pinned by their SHA-256, built on this machine for each
//! instruction set, with inputs of a small and a large run.
//!
//! The manifest (`workloads/suite/suite.ron`) and our drivers travel inside the library; sources
//! are fetched through `apt-get` and `cargo`, whichever registries these use, and are kept with all
//! that was made of them in one folder ([`default_folder`]). [`Builder`] builds; [`built`] tells
//! what is there and how to run it.

mod build;
mod error;
mod fetch;
mod inputs;
mod manifest;
mod store;
mod tools;

pub use build::{Builder, Made};
pub use error::SuiteError;
pub use manifest::{Input, Language, Origin, Run, Source, SuiteProgram, Tool, all, find, parse};
pub use store::{Built, built, default_folder, record_verified};
pub use tools::find_tool;

pub use crate::sha256_hex;

#[cfg(test)]
mod tests;
