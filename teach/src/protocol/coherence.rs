//! Messages between the caches of several cores.

use serde::{Deserialize, Serialize};

use super::Sentence;

exchanged! {
    /// Messages about lines that several cores asked for, in the order of their cycles.
    pub struct CoherenceView {
        /// Why there are none; empty if there are.
        pub missing: String,
        /// `directory` or `snooping`.
        pub protocol: String,
        pub cores: u64,
        /// The lines, those with the most messages first.
        pub lines: Vec<CoherentLine>,
        pub messages: Vec<Message>,
        /// Messages of the lines that were too many to be told.
        pub left_out: u64,
    }

    /// A line that several cores asked for.
    pub struct CoherentLine {
        pub address: String,
        /// Symbols in it.
        pub place: String,
        /// Numbers of the cores.
        pub cores: Vec<u64>,
        pub messages: u64,
    }

    /// A part of a request. The model decides a request at once; its parts have cycles of their own.
    pub struct Message {
        pub cycle: u64,
        pub line: String,
        /// `request`, `invalidation`, `forward`, `acknowledgement`, `data`, `right` (to write), `write_back`, `change` (E to M,
        /// nobody is told), or `drop` (the line leaves the caches of a core).
        pub kind: String,
        /// `core 0`, `directory`, `bus`, `level 2`, `level 3` or `memory`.
        pub from: String,
        pub to: String,
        /// The number of its request in the run.
        pub request: u64,
        /// A letter for each core, before and behind it: modified, exclusive, shared, invalid.
        pub before: String,
        pub after: String,
        /// In words, to be joined by `; `.
        pub said: Vec<Sentence>,
    }
}
