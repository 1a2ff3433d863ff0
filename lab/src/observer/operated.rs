//! A chip whose clock and prefetchers are switched while it runs, by what the observer has sampled.

use hps_isa::editor::DecodeEditor;
use hps_pipeline::config::MachineConfig;
use hps_pipeline::core::{Chip, CyclesProbe, OperatingPoint};

/// Cost of a switch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Operating {
    /// Nanoseconds after a change of the clock in which no context fetches. Prefetchers are switched at once.
    pub clock_switch_ns: u64,
}

/// A switch of the chip to another operating point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Switch {
    /// The first cycle at the new point.
    pub cycle: u64,
    /// The new point.
    pub point: OperatingPoint,
}

/// The operating point of a run.
pub(super) struct Operated {
    operating: Operating,
    now: OperatingPoint,
    /// All switches, in order.
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

    /// Switches the chip, unless it is at this point already.
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
