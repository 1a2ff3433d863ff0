//! What the time line asks beside its rows.

use serde::{Deserialize, Serialize};

exchanged! {
    /// An older instruction whose result an instruction reads, and that was in flight with it.
    pub struct SourceView {
        /// Place of the older instruction in the order of fetch.
        pub row: u64,
        /// Name of the register; `memory` if a load gets the value of a store in flight.
        pub register: String,
        pub text: String,
        /// The first cycle in which the result can be used; none if the instruction never computed it.
        pub ready: Option<u64>,
    }

    /// An instruction that is looked for.
    #[serde(tag = "is", rename_all = "snake_case")]
    pub enum Sought {
        /// The next instruction whose text has these words, at this address (`0x…`), or of this number (`#12`).
        Text { text: String },
        /// The instruction that ends the longest time without a commit: the longest of all has the rank 0.
        LongestWait { rank: u64 },
    }

    /// Cycles of a part of the run by what a context did in them.
    pub struct Share {
        pub computing: u64,
        pub stalled: u64,
        pub flushed: u64,
        pub drained: u64,
    }
}
