//! Resources of a core as one of its contexts has them.

use hps_isa::inst::OpClass;

use crate::config::{MachineConfig, UnitTable};
use crate::memsys::PrivateMemory;
use crate::model::{CoreStats, CpiStack, Params};
use crate::predict::BranchTables;

use super::counters::Selected;
use super::units::Units;

/// Resources of a core as one of its contexts has them. Caches and TLBs, predictor tables and units are the core's:
/// where it has several contexts, they [lend](Self::lend) them to each other. The clock, the account, and how much of
/// the core's widths and queues it may use are its own.
#[derive(Clone)]
pub(crate) struct Resources {
    pub params: Params,
    /// Counters of the context.
    pub stats: CoreStats,
    /// Commit slots by owner.
    pub cpi: CpiStack,
    pub memory: PrivateMemory,
    pub branches: BranchTables,
    pub units: Units,
    /// The cycle that the context has come to.
    pub now: u64,
    /// The last cycle of its turn. What may concern another core brings it forward.
    pub until: u64,
    /// Something happened in this cycle.
    pub progressed: bool,
    /// The last run stopped at its limit in the middle of this cycle.
    pub paused: bool,
    /// Commit slots used in this cycle.
    pub committed_in_cycle: u64,
    /// Of the instructions that may issue in a cycle, those that did not, the last time that any was ready.
    pub issue_left: usize,
    /// Other contexts of the core run, too, or this one may not have all of it: it has what is left.
    pub shares: bool,
    /// The counters that programs may select.
    pub selected: Box<[Selected]>,
    pub reservations_used: u32,
    /// Number of them in the queue of floating-point instructions.
    pub fp_queue_used: u32,
}

hps_isa::save_state! {
    Resources {
        params, stats, cpi, memory, branches, units, now, until, progressed, paused,
        committed_in_cycle, issue_left, shares, selected, reservations_used, fp_queue_used,
    }
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
            units: Units::new(&UnitTable::new(&config.units))
                .with_longer(OpClass::Csr, config.counters.read_cycles),
            now: 0,
            until: 0,
            progressed: false,
            paused: false,
            committed_in_cycle: 0,
            issue_left: 0,
            shares: false,
            selected: Box::default(),
            reservations_used: 0,
            fp_queue_used: 0,
        }
    }

    /// Lends memory, predictors and units of the core to another of its contexts.
    pub fn lend(&mut self, to: &mut Resources) {
        std::mem::swap(&mut self.memory, &mut to.memory);
        std::mem::swap(&mut self.branches, &mut to.branches);
        std::mem::swap(&mut self.units, &mut to.units);
    }
}
