//! What the contexts of a core share.

use crate::config::{MachineConfig, UnitTable};
use crate::memsys::PrivateMemory;
use crate::model::{CoreStats, CpiStack, Params};
use crate::predict::BranchTables;

use super::units::Units;

/// What the contexts of a core share: its clock, units, stations, predictor tables, caches and TLBs, and its counters.
#[derive(Clone)]
pub(crate) struct Resources {
    pub params: Params,
    /// Counters of the core.
    pub stats: CoreStats,
    /// Commit slots by owner.
    pub cpi: CpiStack,
    pub memory: PrivateMemory,
    pub branches: BranchTables,
    pub units: Units,
    /// The cycle that the core has come to.
    pub now: u64,
    /// The last cycle of its turn. What may concern another core brings it forward.
    pub until: u64,
    /// Something happened in this cycle.
    pub progressed: bool,
    /// The last run stopped at its limit in the middle of this cycle.
    pub paused: bool,
    /// Commit slots used in this cycle.
    pub committed_in_cycle: u64,
    pub reservations_used: u32,
    /// Number of them in the queue of floating-point instructions.
    pub fp_queue_used: u32,
}

impl Resources {
    /// An idle core in front of its first cycle.
    pub fn new(
        config: &MachineConfig,
        params: Params,
        memory: PrivateMemory,
        branches: BranchTables,
    ) -> Self {
        Resources {
            params,
            stats: CoreStats::default(),
            cpi: CpiStack::default(),
            memory,
            branches,
            units: Units::new(&UnitTable::new(&config.units)),
            now: 0,
            until: 0,
            progressed: false,
            paused: false,
            committed_in_cycle: 0,
            reservations_used: 0,
            fp_queue_used: 0,
        }
    }
}
