//! Other clocks and prefetchers that rest, while a program runs: dynamic voltage and frequency scaling.

use hps_isa::editor::DecodeEditor;
use serde::{Deserialize, Serialize};

use super::Chip;
use crate::config::{L1dPrefetch, MachineConfig};
use crate::model::PipelineProbe;

/// Settings that can be switched for all cores of a chip while they run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct OperatingPoint {
    /// The clock of the cores, in MHz.
    pub clock_mhz: u32,
    /// Whether their prefetchers bring lines.
    pub prefetches: bool,
}

impl OperatingPoint {
    /// The point at which a machine begins.
    #[must_use]
    pub fn of(machine: &MachineConfig) -> OperatingPoint {
        OperatingPoint {
            clock_mhz: machine.clock_mhz,
            prefetches: machine.memory.l1d_prefetch != L1dPrefetch::Off,
        }
    }
}

impl<E: DecodeEditor, P: PipelineProbe> Chip<E, P> {
    /// Switches all cores, between two runs, and gives the cycle from which that holds. Times of memory that are given in
    /// cycles of a clock of its own (`memory.clock_mhz`) stay as long. What is under way comes in the cycle in which it was
    /// to come; a thread that sleeps wakes in the cycle that was planned. Where the machine has no prefetchers, none come.
    pub fn operate(&mut self, machine: &MachineConfig, point: OperatingPoint) -> u64 {
        let now = self.processors[0].resources.now;
        self.shared
            .set_times(&machine.memory.in_cycles_of(point.clock_mhz));
        for one in &mut self.processors {
            one.resources.params.set_clock(now, point.clock_mhz);
            one.resources.memory.set_prefetching(point.prefetches);
        }
        now
    }
}
