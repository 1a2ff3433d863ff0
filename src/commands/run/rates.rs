//! Rates made of the counters of a timed run.

use std::collections::BTreeMap;

use hps_pipeline::core::Counted;
use hps_pipeline::memsys::{CacheStats, MemoryStats, TlbStats};

use schemars::JsonSchema;
use serde::Serialize;

use super::execute::Timed;
use crate::text::ratio;

/// Estimated error of the instruction-driven core's cycles, as shares of all cycles. The core accesses caches in
/// program order.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct Doubt {
    /// Cycles of misses on lines that accesses of later cycles had evicted.
    pub too_many: f64,
    /// Cycles for which misses held registers that accesses of other cycles would have held.
    pub too_few: f64,
}

impl Doubt {
    /// The estimate for a run.
    pub fn of(timed: &Timed) -> Doubt {
        let disorder = &timed.memory.disorder;
        let share = |cycles: u64| ratio(cycles, timed.core.cycles);
        Doubt {
            too_many: share(disorder.early_eviction_cycles),
            too_few: share(disorder.crowded_cycles),
        }
    }
}

/// Rates of a timed run, by name.
pub fn rates(timed: &Timed) -> BTreeMap<&'static str, f64> {
    let Timed { core, memory, .. } = timed;
    let instructions = core.commit_program_instructions;
    let mpki = |events: u64| 1000.0 * ratio(events, instructions);
    let MemoryStats {
        l1i,
        l1d,
        l2,
        itlb,
        dtlb,
        l1_l2_bus,
        memory_bus,
        ..
    } = memory;
    BTreeMap::from([
        ("branch_mpki", mpki(core.branch_mispredicted_events)),
        (
            "branch_mispredicted_rate",
            ratio(
                core.branch_mispredicted_events,
                core.branch_committed_events,
            ),
        ),
        (
            "branch_conditional_mispredicted_rate",
            ratio(
                core.branch_conditional_mispredicted_events,
                core.branch_conditional_events,
            ),
        ),
        (
            "squash_per_commit",
            ratio(core.squash_instructions, instructions),
        ),
        ("l1i_miss_rate", miss_rate(l1i)),
        ("l1i_mpki", mpki(misses(l1i))),
        ("l1d_miss_rate", miss_rate(l1d)),
        ("l1d_mpki", mpki(misses(l1d))),
        ("l2_miss_rate", miss_rate(l2)),
        ("l2_mpki", mpki(misses(l2))),
        ("itlb_miss_rate", tlb_rate(itlb)),
        ("dtlb_miss_rate", tlb_rate(dtlb)),
        (
            "store_forward_rate",
            ratio(core.store_forward_events, core.load_committed_events),
        ),
        ("memory_violation_mpki", mpki(core.memory_violation_events)),
        (
            "l1_l2_bus_busy",
            ratio(l1_l2_bus.busy_cycles, core.cycles * buses(&timed.contexts)),
        ),
        (
            "memory_bus_busy",
            ratio(memory_bus.busy_cycles, core.cycles),
        ),
    ])
}

/// Number of buses between levels 1 and 2: one for each core, and so for each context that is the first of its core.
fn buses(contexts: &[Counted]) -> u64 {
    let first = contexts.iter().filter(|one| one.context.context == 0);
    (first.count() as u64).max(1)
}

fn misses(cache: &CacheStats) -> u64 {
    cache.read_miss_events + cache.write_miss_events
}

fn miss_rate(cache: &CacheStats) -> f64 {
    ratio(
        misses(cache),
        cache.read_access_events + cache.write_access_events,
    )
}

fn tlb_rate(tlb: &TlbStats) -> f64 {
    ratio(tlb.miss_events, tlb.access_events)
}
