#![doc = include_str!("../README.md")]

pub mod analyze;
#[cfg(not(target_family = "wasm"))]
pub mod c;
mod coherence;
mod cycle;
mod dise;
mod edits;
mod find;
mod inside;
mod listing;
mod profiles;
pub mod protocol;
mod recorder;
mod rerun;
mod rows;
mod seek;
mod session;
mod setup;
mod sources;
mod state;
mod step;
mod summary;
#[cfg(target_family = "wasm")]
mod wasm;

#[cfg(test)]
mod tests;

pub use session::{Compiler, Session};

/// The page in a browser, with the simulator inside, as `scripts/build-teach-page.sh` builds it.
#[cfg(not(target_family = "wasm"))]
pub const PAGE: &str = include_str!("../page.html");
