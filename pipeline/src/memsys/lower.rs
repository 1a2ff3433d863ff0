//! What is behind the level 1 caches: bus, level 2 cache, bus, memory.

use super::Level;
use super::calendar::Calendar;
use super::mshr::{InFlight, Mshrs};
use super::stats::{BusStats, CacheStats};
use super::tags::{Tags, Victim};
use crate::config::{CacheConfig, MemoryConfig};

/// Data wires with the cycles in which they are taken.
#[derive(Clone, Debug)]
pub(super) struct Bus {
    calendar: Calendar,
    bytes_per_beat: u64,
    cycles_per_beat: u64,
    pub stats: BusStats,
}

impl Bus {
    fn new(bytes_per_beat: u32, cycles_per_beat: u32) -> Self {
        Bus {
            calendar: Calendar::new(),
            bytes_per_beat: u64::from(bytes_per_beat),
            cycles_per_beat: u64::from(cycles_per_beat),
            stats: BusStats::default(),
        }
    }

    /// Moves `bytes` in the first gap from cycle `from` on: the cycles in which the first beat
    /// and the last are there.
    fn transfer(&mut self, now: u64, from: u64, bytes: u64) -> (u64, u64) {
        let cycles = bytes.div_ceil(self.bytes_per_beat) * self.cycles_per_beat;
        let start = self.calendar.book(now, from, cycles);
        self.stats.data_bytes += bytes;
        self.stats.busy_cycles += cycles;
        (start + self.cycles_per_beat, start + cycles)
    }
}

/// When a line comes to a level 1 cache, and from where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fill {
    /// The data that were asked for are there.
    pub ready: u64,
    /// The whole line is there.
    pub end: u64,
    pub level: Level,
}

/// Level 2 cache, buses and memory.
#[derive(Clone, Debug)]
pub(super) struct Lower {
    tags: Tags,
    mshrs: Mshrs,
    ports: Box<[Calendar]>,
    line_shift: u32,
    hit_cycles: u64,
    request_cycles: u64,
    memory_cycles: u64,
    critical_word_first: bool,
    pub l1_l2_bus: Bus,
    pub memory_bus: Bus,
    pub stats: CacheStats,
}

/// Sets of a cache.
pub(super) fn sets(config: &CacheConfig) -> usize {
    (config.size_bytes / (config.ways * config.line_bytes)) as usize
}

impl Lower {
    pub fn new(config: &MemoryConfig) -> Self {
        let l2 = &config.l2;
        Lower {
            tags: Tags::new(sets(l2), l2.ways as usize, l2.replacement.clone()),
            mshrs: Mshrs::new(l2.mshrs),
            ports: (0..l2.ports).map(|_| Calendar::new()).collect(),
            line_shift: l2.line_bytes.trailing_zeros(),
            hit_cycles: u64::from(l2.hit_cycles),
            request_cycles: u64::from(config.l1_l2_bus.latency_cycles),
            memory_cycles: u64::from(config.latency_cycles),
            critical_word_first: config.critical_word_first,
            l1_l2_bus: Bus::new(config.l1_l2_bus.bytes_per_cycle, 1),
            memory_bus: Bus::new(
                config.memory_bus.bytes_per_beat,
                config.memory_bus.cycles_per_beat,
            ),
            stats: CacheStats::default(),
        }
    }

    /// Brings a line of `bytes` at `addr` to a level 1 cache that knows in cycle `known` that it
    /// misses. `Err`: nothing happened; try again in that cycle.
    pub fn read(&mut self, now: u64, known: u64, addr: u64, bytes: u64) -> Result<Fill, u64> {
        let line = addr >> self.line_shift;
        let arrival = known + self.request_cycles;
        let (port, start) = self.first_port(arrival);
        let (sent_from, whole_from, level);
        if self.tags.holds(line) {
            self.ports[port].book(now, start, 1);
            self.tags.access(line, false);
            let looked_up = start + self.hit_cycles;
            (sent_from, level) = match self.mshrs.find(now, line) {
                None => (looked_up, Level::L2),
                Some(primary) => {
                    self.stats.read_merge_events += 1;
                    (looked_up.max(primary.end), primary.level)
                }
            };
            whole_from = sent_from;
        } else {
            let (first, end) = self.read_memory(now, start, line)?;
            self.ports[port].book(now, start, 1);
            let early = self.critical_word_first;
            sent_from = if early { first } else { end };
            (whole_from, level) = (end, Level::Memory);
        }
        self.stats.read_access_events += 1;
        let (first, last) = self.l1_l2_bus.transfer(now, sent_from, bytes);
        let end = last.max(whole_from);
        let ready = if self.critical_word_first { first } else { end };
        Ok(Fill { ready, end, level })
    }

    /// The port that is free first for a request that arrives at `arrival`, and when.
    fn first_port(&self, arrival: u64) -> (usize, u64) {
        let starts = self.ports.iter().map(|port| port.find(arrival, 1));
        let (port, start) = starts
            .enumerate()
            .min_by_key(|(_, start)| *start)
            .unwrap_or((0, arrival));
        (port, start)
    }

    /// A miss of the level 2 cache that begins its access at `start`: the cycles in which the
    /// first beat and the whole line are there.
    fn read_memory(&mut self, now: u64, start: u64, line: u64) -> Result<(u64, u64), u64> {
        let (slot, way) = match self.room(now, line) {
            Ok(room) => room,
            Err(at_cycle) => {
                self.stats.mshr_full_events += 1;
                return Err(at_cycle);
            }
        };
        let bytes = 1 << self.line_shift;
        let from = start + self.hit_cycles + self.memory_cycles;
        let (first, end) = self.memory_bus.transfer(now, from, bytes);
        let in_flight = InFlight {
            line,
            end,
            level: Level::Memory,
        };
        self.mshrs.take(slot, in_flight);
        self.stats.read_miss_events += 1;
        self.stats.fill_events += 1;
        if let Some(Victim { dirty: true, .. }) = self.tags.fill(line, way, false) {
            self.stats.write_back_events += 1;
            self.memory_bus.transfer(now, end, bytes);
        }
        Ok((first, end))
    }

    /// A free MSHR and a way for a line, or the cycle in which to ask again.
    fn room(&mut self, now: u64, line: u64) -> Result<(usize, usize), u64> {
        let slot = self.mshrs.free(now)?;
        let mshrs = &self.mshrs;
        match self.tags.choose(line, |old| mshrs.find(now, old).is_some()) {
            Some(way) => Ok((slot, way)),
            None => Err(self.mshrs.next_end(now)),
        }
    }

    /// Takes a changed line of `bytes` from a level 1 cache, not before cycle `from`.
    pub fn write_back(&mut self, now: u64, from: u64, addr: u64, bytes: u64) {
        let (_, end) = self.l1_l2_bus.transfer(now, from, bytes);
        self.stats.write_access_events += 1;
        if !self.tags.access(addr >> self.line_shift, true) {
            self.stats.write_miss_events += 1;
            self.memory_bus.transfer(now, end, bytes);
        }
    }

    /// Touches a line without time or events.
    pub fn warm(&mut self, addr: u64, write: bool) {
        let line = addr >> self.line_shift;
        if write {
            // A write-back: a line that is not there goes on to memory.
            self.tags.access(line, true);
        } else if !self.tags.access(line, false)
            && let Some(way) = self.tags.choose(line, |_| false)
        {
            self.tags.fill(line, way, false);
        }
    }
}
