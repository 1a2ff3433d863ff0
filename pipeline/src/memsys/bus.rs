//! Buses.

use super::calendar::Calendar;
use super::stats::BusStats;

/// Data wires with the cycles in which they are taken.
#[derive(Clone, Debug)]
pub(super) struct Bus {
    calendar: Calendar,
    bytes_per_beat: u64,
    cycles_per_beat: u64,
    pub stats: BusStats,
}

hps_isa::save_state! { Bus { calendar, bytes_per_beat: skip, cycles_per_beat, stats } }

impl Bus {
    pub fn new(bytes_per_beat: u32, cycles_per_beat: u32) -> Self {
        Bus {
            calendar: Calendar::new(),
            bytes_per_beat: u64::from(bytes_per_beat),
            cycles_per_beat: u64::from(cycles_per_beat),
            stats: BusStats::default(),
        }
    }

    /// From now on a beat takes so many cycles.
    pub fn set_cycles_per_beat(&mut self, cycles: u32) {
        self.cycles_per_beat = u64::from(cycles);
    }

    /// Moves `bytes` in the first gap from cycle `from` on: the cycles in which the first beat
    /// and the last are there.
    pub fn transfer(&mut self, now: u64, from: u64, bytes: u64) -> (u64, u64) {
        let cycles = bytes.div_ceil(self.bytes_per_beat) * self.cycles_per_beat;
        let start = self.calendar.book(now, from, cycles);
        self.stats.data_bytes += bytes;
        self.stats.busy_cycles += cycles;
        (start + self.cycles_per_beat, start + cycles)
    }
}
