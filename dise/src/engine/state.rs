//! What a run changes of the engine, for checkpoints.

use super::DiseEngine;

hps_sim_core::save_state!(DiseEngine {
    patterns: skip,
    conditions: skip,
    owner: skip,
    replacing: skip,
    rules: skip,
    initial: skip,
    counters,
    pattern_table,
    replacement_table,
    conditionals_table,
    config: same,
    registers_read: skip,
    stats,
    drain: skip,
    entries: skip,
    context_tables: skip,
    is_off,
});
