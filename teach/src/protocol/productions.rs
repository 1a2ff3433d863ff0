//! Production files as tables.

use serde::{Deserialize, Serialize};

use super::{Problem, Register};

exchanged! {
    /// Productions as entries of the engine's tables.
    pub struct ProductionTables {
        pub patterns: Vec<PatternRow>,
        pub sequences: Vec<SequenceRow>,
        pub conditionals: Vec<ControlRow>,
        pub registers: Vec<Register>,
        pub warnings: Vec<Problem>,
        /// Entries that the engine of the default machine has, and that are taken.
        pub taken: [u64; 3],
        pub capacity: [u64; 3],
    }

    /// An entry of the pattern table.
    pub struct PatternRow {
        pub production: String,
        pub pattern: String,
        pub replacement: String,
        pub control: String,
    }

    /// A replacement sequence.
    pub struct SequenceRow {
        pub production: String,
        pub lines: Vec<String>,
    }

    /// A list of the conditionals table.
    pub struct ControlRow {
        pub productions: Vec<String>,
        pub control: Vec<String>,
    }
}
