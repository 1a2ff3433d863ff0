//! Profiles of a run.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

exchanged! {
    /// Profilers that watch, with the level of the profiles.
    pub struct ProfileOrder {
        /// `function`, `line` or `instruction`.
        pub level: String,
        pub profilers: Vec<ProfilerOrder>,
        pub hps: Option<HpsOrder>,
        /// Members of each profile that are told.
        pub top: u64,
    }

    /// A profiler with its period.
    pub struct ProfilerOrder {
        pub name: String,
        /// Period in the profiler's own unit.
        pub period: u64,
        pub seed: u64,
        /// Every period varies randomly by this percentage.
        pub random_percent: u64,
    }

    /// A profile that HPS collects.
    pub struct HpsOrder {
        /// `method` or `call_pair`.
        pub kind: String,
        pub burst: u64,
        pub sparsity: u64,
        pub random_period: bool,
    }

    /// Profiles of a run.
    pub struct Profiles {
        pub cycles: u64,
        pub truth: Vec<Member>,
        pub opinions: Vec<Opinion>,
        pub hps: Option<HpsResult>,
        /// Why profilers or HPS were not asked; empty if they were.
        pub missing: String,
        /// Shares of the run that were computing, stalled, flushed and drained.
        pub states: BTreeMap<String, f64>,
    }

    /// A member of a profile.
    pub struct Member {
        pub name: String,
        /// Address of its first instruction.
        pub pc: String,
        /// Share of the member in the whole, 0 to 1.
        pub share: f64,
        /// Shares of the member by use.
        pub parts: BTreeMap<String, f64>,
    }

    /// Profile of a profiler, beside the truth.
    pub struct Opinion {
        pub profiler: String,
        pub samples: u64,
        pub lost: u64,
        /// The share of time that it gives to the wrong members, 0 to 1.
        pub error: f64,
        /// Shares of the profiler, in the order of the truth's members.
        pub shares: Vec<f64>,
        /// Samples with their cycles and the blamed addresses; the first 5,000.
        pub marks: Vec<Mark>,
    }

    /// A sample.
    pub struct Mark {
        pub cycle: u64,
        pub pc: String,
    }

    /// A profile that HPS has collected.
    pub struct HpsResult {
        /// Cycles with HPS.
        pub cycles: u64,
        /// Cycles more than without, as a share of those.
        pub overhead: f64,
        /// Overlap of the top 90%, renormalized, 0 to 1.
        pub accuracy: f64,
        pub sampled_events: u64,
        pub exact_events: u64,
        /// Name, share of the exact profile, share of the sampled one.
        pub members: Vec<(String, f64, f64)>,
    }
}
