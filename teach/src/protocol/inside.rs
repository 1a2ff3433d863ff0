//! Contents of the machine beside instructions.

use serde::{Deserialize, Serialize};

exchanged! {
    /// Cycles of a context in one state.
    pub struct StateSpan {
        /// The first one.
        pub first: u64,
        /// The one behind the last.
        pub end: u64,
        /// `stalled`, `flushed` or `drained`; cycles with a commit are in none.
        pub state: String,
        /// By what.
        pub cause: String,
    }

    /// Tables and queues of a context.
    pub struct InsideView {
        pub cycle: u64,
        pub tables: Vec<TableView>,
        /// Address that fetch goes on at.
        pub fetch_pc: String,
        /// The cycle up to which fetch waits, if it does.
        pub fetch_from: Option<u64>,
        /// Directions of the last branches on the predicted path, the newest last: `1` is taken.
        pub history: String,
        /// Loads and stores in flight, the oldest first.
        pub memory: Vec<MemoryOpView>,
    }

    /// A table.
    pub struct TableView {
        pub name: String,
        pub sets: u64,
        pub ways: u64,
        /// Bytes of addresses that an entry is for; 0 if it is not found by an address.
        pub bytes: u64,
        /// The entries of a set lie in the order of their use, the newest first.
        pub by_use: bool,
        /// Entries that hold something.
        pub taken: u64,
        /// The set that the row uses.
        pub set: Option<u64>,
        /// If they were asked for: a letter for each entry, set by set. `.` nothing, `c` a clean line or page, `d` a dirty
        /// line, `m` on its way, `p` prefetched and not used, `t` a target or return address, `T` the return address on
        /// top, `h` a history, and counters from `0` (surely not taken) to `3` (surely taken).
        pub letters: Option<String>,
        /// With them: numbers that change when anything of a set changes.
        pub digests: Option<Vec<u64>>,
    }

    /// An entry of a table.
    pub struct EntryView {
        pub letter: String,
        /// Key of the entry: an address, or a tag.
        pub key: String,
        /// The function or symbol there.
        pub place: String,
        /// Content of the entry, in words.
        pub text: String,
        /// The address, if it has one.
        pub address: Option<String>,
    }

    /// A load or a store in flight.
    pub struct MemoryOpView {
        /// Row of the access; none if the row was not kept, or if it has committed and waits for the cache.
        pub row: Option<u64>,
        pub text: String,
        pub is_store: bool,
        /// True if the access has committed and waits for the cache.
        pub committed: bool,
        /// True if the access waits for an older store.
        pub waits: bool,
        pub address: Option<String>,
        pub size: u64,
        pub value: Option<String>,
    }
}
