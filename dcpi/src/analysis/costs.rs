//! How long at most what may delay an instruction takes, from the description of a machine.

use hps_pipeline::config::{L1dWrite, MachineConfig};

/// Upper bounds of what one event costs, in cycles, and sizes that decide whether it is possible.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Costs {
    /// A line of the instruction cache comes from memory.
    pub instruction_fill: f64,
    /// A load is served by memory.
    pub load_fill: f64,
    /// A miss of the instruction TLB.
    pub itb_miss: f64,
    /// A miss of the data TLB.
    pub dtb_miss: f64,
    /// From the issue of a mispredicted branch to that of the instruction behind it.
    pub mispredict: f64,
    /// Bubbles in fetch behind a taken branch.
    pub bubble: f64,
    /// The slowest multiplication, division or square root.
    pub long_operation: f64,
    /// A store waits until the oldest entry of a full write buffer has gone to memory.
    pub write: f64,
    /// Bytes of a line of the instruction cache.
    pub line_bytes: u64,
    /// Bytes of a page.
    pub page_bytes: u64,
}

impl Costs {
    /// The costs of a machine.
    #[must_use]
    pub fn of(machine: &MachineConfig) -> Costs {
        let memory = &machine.memory.in_cycles_of(machine.clock_mhz);
        let line = f64::from(memory.l2.line_bytes);
        let bus = f64::from(memory.memory_bus.cycles_per_beat)
            * (line / f64::from(memory.memory_bus.bytes_per_beat.max(1))).ceil();
        let l3 = if memory.l3.size_bytes == 0 {
            0.0
        } else {
            let beats = (line / f64::from(memory.l3.bytes_per_beat.max(1))).ceil();
            f64::from(memory.l3.hit_cycles) + beats * f64::from(memory.l3.cycles_per_beat)
        };
        let l2 = f64::from(memory.l2.hit_cycles) + f64::from(memory.l1_l2_bus.latency_cycles);
        let fill = l2 + l3 + bus + f64::from(memory.latency_cycles);
        let entries = match &memory.l1d_write {
            L1dWrite::WriteThrough(buffer) => buffer.entries,
            L1dWrite::WriteBack => 1,
        };
        let units = &machine.units;
        let long = [
            &units.int_mul,
            &units.int_div,
            &units.fp_div,
            &units.fp_sqrt,
        ];
        let long = long.iter().map(|u| u.latency_cycles).max().unwrap_or(0);
        let refill = machine.min_mispredict_penalty_cycles() + machine.fetch.fetch_to_decode_cycles;
        Costs {
            instruction_fill: fill,
            load_fill: fill,
            itb_miss: f64::from(memory.itlb.miss_cycles),
            dtb_miss: f64::from(memory.dtlb.miss_cycles),
            mispredict: f64::from(refill),
            bubble: f64::from(machine.fetch.fetch_to_decode_cycles),
            long_operation: f64::from(long),
            write: fill * f64::from(entries),
            line_bytes: u64::from(memory.l1i.line_bytes),
            page_bytes: u64::from(memory.page_bytes),
        }
    }
}
