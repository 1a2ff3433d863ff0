//! Machine descriptions: every size and every cycle count of a machine, read from a RON file.
//!
//! A section is declared once (see `node`), with unit, default and meaning of each key; the
//! struct, the reader of partial files, the writer and the documentation at run time
//! ([`MachineConfig::keys`]) follow from that. A file gives only what differs from its `base`;
//! impossible values are refused with file, line, column and what would be allowed.

mod branch;
mod check;
mod chip;
mod counters;
mod error;
mod interrupts;
mod little;
mod load;
mod locate;
mod memory;
mod node;
mod sections;
mod stages;
#[cfg(test)]
mod tests;
mod units;

pub use branch::{
    BimodalConfig, BranchConfig, BtbConfig, GshareConfig, HistoryUpdate, IndirectConfig,
    PerceptronConfig, Predictor, RasRepair, TageConfig, TournamentConfig,
};
pub use chip::{ChipConfig, Coherence, L2Place, SmtPolicy, SmtQueues};
pub use counters::{CountersConfig, SelectedEvents};
pub use error::{ConfigError, Located, Violation};
pub use interrupts::InterruptConfig;
pub use little::{CoreConfig, CoreMemoryConfig, LittleConfig};
pub use memory::{
    BusConfig, CacheConfig, DrripConfig, L1dPrefetch, L1dWrite, L2TlbConfig, L3Config,
    MemoryBusConfig, MemoryConfig, NextLineConfig, PrefetchInstructions, Replacement, ShipConfig,
    SrripConfig, StreamConfig, StrideConfig, TlbConfig, WriteBufferConfig,
};
pub use node::{KeyDoc, Source};
pub use sections::{
    AddressGeneration, DecodeConfig, DiseConfig, ExpansionCost, FetchConfig, InOrderConfig,
    InStepConfig, IssueConfig, MachineConfig, MemDep, Scheduling, Slotting, SpeculationConfig,
    Stages, StoreSetsConfig, StoreWaitConfig, WindowConfig,
};
pub use units::{Named, UnitConfig, UnitTable, UnitTiming, UnitsConfig};
