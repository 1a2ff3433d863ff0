//! Sizes of the machine that a run had, for its diagrams.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

exchanged! {
    /// Capacities, for the block diagram.
    pub struct Sizes {
        pub fetch_width: u64,
        pub dispatch_width: u64,
        pub issue_width: u64,
        pub commit_width: u64,
        pub fetch_buffer: u64,
        pub rob: u64,
        pub stations: u64,
        pub load_queue: u64,
        pub store_queue: u64,
        /// Pools of units with their numbers.
        pub pools: BTreeMap<String, u64>,
        pub predictor: String,
        /// Instructions issue in program order.
        pub in_order: bool,
        /// How instructions go through the stages: `free`, `in step` or `one cycle`.
        pub flow: String,
        /// In step: results are forwarded.
        pub forwarding: bool,
        /// In step: branches are decided in decode.
        pub branches_in_decode: bool,
        /// Cycles from fetch to decode, from there to dispatch, to issue, and to execution.
        pub stages: [u64; 4],
        /// Caches from level 1 on.
        pub caches: Vec<CacheSize>,
        /// Cycles of the memory behind them.
        pub memory_cycles: u64,
        pub cores: u64,
        /// Hardware threads of a core.
        pub threads: u64,
    }

    /// A cache of the machine.
    pub struct CacheSize {
        /// `l1i`, `l1d`, `l2` or `l3`.
        pub name: String,
        pub bytes: u64,
        pub ways: u64,
        pub line_bytes: u64,
        pub hit_cycles: u64,
        /// All cores share it.
        pub shared: bool,
    }
}
