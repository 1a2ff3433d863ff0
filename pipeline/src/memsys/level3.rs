//! The level 3 cache: off chip, with the level 2 cache's lines. It has no MSHRs of its own: it is
//! asked only for lines that have one in the level 2 cache.

use super::Level;
use super::bus::Bus;
use super::replacement::Requester;
use super::stats::CacheStats;
use super::tags::Tags;
use crate::config::{L3Config, MemoryConfig};

/// The level 3 cache and its bus.
#[derive(Clone, Debug)]
pub(super) struct Level3 {
    pub tags: Tags,
    line_bytes: u64,
    hit_cycles: u64,
    miss_adds_hit: bool,
    pub bus: Bus,
    pub stats: CacheStats,
}

hps_isa::save_state! {
    Level3 {
        tags, line_bytes: skip, hit_cycles, miss_adds_hit: skip, bus, stats,
    }
}

impl Level3 {
    pub fn new(memory: &MemoryConfig) -> Self {
        let (config, line_bytes) = (&memory.l3, memory.l2.line_bytes);
        let sets = config.size_bytes / (config.ways * line_bytes);
        Level3 {
            tags: Tags::new(sets as usize, config.ways as usize, &config.replacement),
            line_bytes: u64::from(line_bytes),
            hit_cycles: u64::from(config.hit_cycles),
            miss_adds_hit: memory.miss_adds_hit_cycles,
            bus: Bus::new(config.bytes_per_beat, config.cycles_per_beat),
            stats: CacheStats::default(),
        }
    }

    /// From now on everything takes as long as `config` says.
    pub fn set_times(&mut self, config: &L3Config) {
        self.hit_cycles = u64::from(config.hit_cycles);
        self.bus.set_cycles_per_beat(config.cycles_per_beat);
    }

    /// A read of which the level 2 cache knows in cycle `known` that it misses: the cycles in which
    /// first beat and whole line are there, and where the line comes from.
    pub fn read(
        &mut self,
        now: u64,
        known: u64,
        (line, by): (u64, Requester),
        memory_bus: &mut Bus,
        memory_cycles: u64,
    ) -> (u64, u64, Level) {
        self.stats.read_access_events += 1;
        let looked_up = known + self.hit_cycles;
        if self.tags.access(line, false, by) {
            let (first, end) = self.bus.transfer(now, looked_up, self.line_bytes);
            return (first, end, Level::L3);
        }
        self.stats.read_miss_events += 1;
        self.stats.fill_events += 1;
        let missed = if self.miss_adds_hit { looked_up } else { known };
        let from = missed + memory_cycles;
        let (first, end) = memory_bus.transfer(now, from, self.line_bytes);
        if self.fill(line, by) {
            self.stats.write_back_events += 1;
            memory_bus.transfer(now, end, self.line_bytes);
        }
        (first, end, Level::Memory)
    }

    /// Takes `bytes` of a changed line from the level 2 cache, not before cycle `from`; hands them
    /// on to memory if it does not have the line. Returns the cycle in which they are there.
    pub fn write(
        &mut self,
        now: u64,
        from: u64,
        line: u64,
        bytes: u64,
        memory_bus: &mut Bus,
    ) -> u64 {
        let (_, end) = self.bus.transfer(now, from, bytes);
        self.stats.write_access_events += 1;
        if self.tags.access(line, true, Requester::WRITE_BACK) {
            return end;
        }
        self.stats.write_miss_events += 1;
        memory_bus.transfer(now, end, bytes).1
    }

    /// Brings a line in. True: a changed line made room.
    fn fill(&mut self, line: u64, by: Requester) -> bool {
        let way = self.tags.choose(line, |_| false);
        let victim = way.and_then(|way| self.tags.fill(line, way, false, by));
        victim.is_some_and(|victim| victim.dirty)
    }

    /// Touches a line without time or events.
    pub fn warm(&mut self, line: u64, write: bool, by: Requester) {
        if !self.tags.access(line, write, by) && !write {
            self.fill(line, by);
        }
    }
}
