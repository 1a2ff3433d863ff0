//! Acyclic paths within functions and across them, edges and calls, from the transfers of control of a run.
//!
//! **Within functions**: Ball and Larus's paths ([`numbering`](crate::numbering)). A call is a step of its caller's path;
//! the callee has a path of its own meanwhile.
//!
//! **Across functions**: one path at a time goes on through calls and returns, and ends at back edges only, wherever
//! they are, or after [`MOST_SEGMENTS`] calls and returns. Between two calls or returns it is a sum of edge values; at a
//! call or return, what there is of the path is hashed (64 bits). So the number of a path is that hash together with the
//! sum behind it, and is the same in all profiles of a program.
//!
//! **Where numbers do not fit**: functions with more than 2^62 paths, with indirect jumps of unknown targets, and code
//! that no function holds have hashes of their transfers as numbers (64 bits), and end paths at transfers to addresses
//! that do not lie ahead.
//!
//! **Memory** is bounded: at most [`MOST_PATHS`] paths of each kind are kept. Executions of further ones are counted
//! together.

mod profiler;
mod transfers;

use rustc_hash::FxHashMap;
use std::hash::Hash;

pub use profiler::PathProfiler;

/// Paths of one kind that are kept.
pub const MOST_PATHS: usize = 1 << 22;

/// Calls and returns on a path across functions.
pub const MOST_SEGMENTS: u32 = 64;

/// A path within a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Path {
    /// Number of the function in the order of addresses.
    pub function: u32,
    /// Number of the path in it.
    pub number: u64,
}

/// A path across functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LongPath {
    /// A hash of what came before the last call or return; 0 for nothing.
    pub before: u64,
    /// Where control was behind that.
    pub from: u64,
    /// Sum of edge values since then.
    pub number: u64,
}

/// Executions and length of a path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Executions {
    /// How often it was executed.
    pub count: u64,
    /// Length in instructions; for a path within one function, without those of functions that it calls.
    pub instructions: u64,
}

impl Executions {
    /// Instructions that were executed on the path.
    #[must_use]
    pub fn weight(&self) -> u64 {
        self.count * self.instructions
    }
}

/// Paths and how often each was executed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Paths<K: Eq + Hash> {
    /// The paths.
    pub all: FxHashMap<K, Executions>,
    /// Executions of paths for which there was no room.
    pub dropped: u64,
}

impl<K: Eq + Hash> Default for Paths<K> {
    fn default() -> Self {
        Paths {
            all: FxHashMap::default(),
            dropped: 0,
        }
    }
}

impl<K: Eq + Hash> Paths<K> {
    fn add(&mut self, path: K, instructions: u64) {
        if let Some(known) = self.all.get_mut(&path) {
            known.count += 1;
        } else if self.all.len() < MOST_PATHS {
            let first = Executions {
                count: 1,
                instructions,
            };
            self.all.insert(path, first);
        } else {
            self.dropped += 1;
        }
    }
}
