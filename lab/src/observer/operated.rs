//! A chip whose clock and prefetchers are switched while it runs, by what the observer has sampled.

use hps_pipeline::config::MachineConfig;
use hps_pipeline::core::{Chip, CyclesProbe, OperatingPoint};
use hps_sim_core::editor::DecodeEditor;


/// What switching costs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Operating {
    /// So long no context fetches after the clock has changed, in nanoseconds. Prefetchers are switched at once.
    pub clock_switch_ns: u64,
}

/// The chip goes on at another operating point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Switch {
    /// From this cycle on.
    pub cycle: u64,
    /// The other point.
    pub point: OperatingPoint,
}

/// The operating point of a run.
pub(super) struct Operated {
    operating: Operating,
    now: OperatingPoint,
    /// All changes.
    pub switches: Vec<Switch>,
}

impl Operated {
    pub fn new(operating: Operating, machine: &MachineConfig) -> Operated {
        Operated {
            operating,
            now: OperatingPoint::of(machine),
            switches: Vec::new(),
        }
    }

    /// Switches the chip, unless it is there already.
    pub fn switch<E: DecodeEditor>(
        &mut self,
        chip: &mut Chip<E, CyclesProbe>,
        machine: &MachineConfig,
        point: OperatingPoint,
    ) {
        if point == self.now {
            return;
        }
        let cycle = chip.operate(machine, point);
        if point.clock_mhz != self.now.clock_mhz {
            let cycles = self.operating.clock_switch_ns * u64::from(point.clock_mhz) / 1000;
            for processor in 0..chip.processors() {
                chip.hold(processor, cycles);
            }
        }
        self.now = point;
        self.switches.push(Switch { cycle, point });
    }
}
