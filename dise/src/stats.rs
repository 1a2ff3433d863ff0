//! Statistics of the engine.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Events of one production, at decode: wrong paths are included.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProductionStats {
    /// Label of the production.
    pub name: String,
    /// Instructions that matched pattern and conditional, whether or not the production won.
    pub match_events: u64,
    /// Times that its microinstructions ran.
    pub control_events: u64,
    /// Instructions that it replaced.
    pub expansion_events: u64,
}

/// Events of the engine, counted where they happen, in decode: wrong paths are included.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DiseStats {
    /// Instructions whose static pattern matched some entry.
    pub decide_events: u64,
    /// Matches of productions with a null replacement, which fail the match.
    pub null_match_events: u64,
    /// Instructions that were replaced.
    pub expansion_events: u64,
    /// Instructions that the expansions' sequences hold beside their triggers. Branches within
    /// sequences may skip some of them.
    pub inserted_instructions: u64,
    /// Instructions that matched a pattern which was not in the pattern table.
    pub pt_miss_events: u64,
    /// Expansions whose sequence was not in the replacement table.
    pub rt_miss_events: u64,
    /// Instructions with a microinstruction list to run that was not in the conditionals table.
    pub ct_miss_events: u64,
    /// Decode stall for expansions, in cycles.
    pub expansion_stall_cycles: u64,
    /// Decode stall for table misses, in cycles.
    pub miss_stall_cycles: u64,
    /// Each production, in the order of the file.
    pub productions: Vec<ProductionStats>,
}

hps_isa::save_state! {
    ProductionStats {
        name: same, match_events, control_events, expansion_events,
    }
}

hps_isa::save_state! {
    DiseStats {
        decide_events, null_match_events, expansion_events, inserted_instructions, pt_miss_events,
        rt_miss_events, ct_miss_events, expansion_stall_cycles, miss_stall_cycles,
        productions: each,
    }
}
