//! What is behind the level 1 caches: write buffer, bus, level 2 cache, level 3 cache, bus, memory.

use super::Level;
use super::calendar::Calendar;
use super::level3::Level3;
use super::mshr::{InFlight, Mshrs};
use super::stats::{BusStats, CacheStats};
use super::tags::Tags;
use super::write_buffer::WriteBuffer;
use crate::config::{CacheConfig, L1dWrite, MemoryConfig};

/// Data wires with the cycles in which they are taken.
#[derive(Clone, Debug)]
pub(super) struct Bus {
    calendar: Calendar,
    bytes_per_beat: u64,
    cycles_per_beat: u64,
    pub stats: BusStats,
}

impl Bus {
    pub fn new(bytes_per_beat: u32, cycles_per_beat: u32) -> Self {
        Bus {
            calendar: Calendar::new(),
            bytes_per_beat: u64::from(bytes_per_beat),
            cycles_per_beat: u64::from(cycles_per_beat),
            stats: BusStats::default(),
        }
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

/// When a line comes to a level 1 cache, and from where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fill {
    /// The data that were asked for are there.
    pub ready: u64,
    /// The whole line is there.
    pub end: u64,
    pub level: Level,
}

/// Write buffer, level 2 cache, level 3 cache, buses and memory.
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
    /// The write buffer of a write-through data cache.
    pub write_buffer: Option<Box<WriteBuffer>>,
    pub l3: Option<Box<Level3>>,
    pub l1_l2_bus: Bus,
    pub memory_bus: Bus,
    pub stats: CacheStats,
    /// Misses of accesses that took no time.
    pub warmed: u64,
    /// No later access lies before this cycle, whatever the cycles of earlier ones.
    pub horizon: u64,
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
            write_buffer: match &config.l1d_write {
                L1dWrite::WriteBack => None,
                L1dWrite::WriteThrough(buffer) => Some(Box::new(WriteBuffer::new(buffer))),
            },
            l3: (config.l3.size_bytes > 0)
                .then(|| Box::new(Level3::new(&config.l3, l2.line_bytes))),
            l1_l2_bus: Bus::new(config.l1_l2_bus.bytes_per_cycle, 1),
            memory_bus: Bus::new(
                config.memory_bus.bytes_per_beat,
                config.memory_bus.cycles_per_beat,
            ),
            stats: CacheStats::default(),
            warmed: 0,
            horizon: u64::MAX,
        }
    }

    /// Accesses will not come in order of time.
    pub fn expect_disorder(&mut self, l2: &CacheConfig) {
        self.mshrs = Mshrs::out_of_order(l2.mshrs);
    }

    /// What ended before this cycle matters to no access any more.
    #[inline]
    fn past(&self, now: u64) -> u64 {
        now.min(self.horizon)
    }

    /// Brings a line of `bytes` at `addr` to a level 1 cache that knows in cycle `known` that it
    /// misses. `Err`: nothing happened; try again in that cycle.
    pub fn read(&mut self, now: u64, known: u64, addr: u64, bytes: u64) -> Result<Fill, u64> {
        if self.write_buffer.is_some() {
            self.send_overlapping(now, addr, bytes)?;
        }
        let line = addr >> self.line_shift;
        let arrival = known + self.request_cycles;
        let (port, start) = self.first_port(arrival);
        let (sent_from, whole_from, level);
        if self.tags.holds(line) {
            let past = self.past(now);
            self.ports[port].book(past, start, 1);
            self.tags.access(line, false);
            let looked_up = start + self.hit_cycles;
            (sent_from, level) = match self.mshrs.find(now, line) {
                None => (looked_up, Level::L2),
                Some(primary) => {
                    self.stats.read_merge_events += 1;
                    (looked_up.max(primary.end_for(now)), primary.level)
                }
            };
            whole_from = sent_from;
        } else {
            let (first, end, from) = self.bring(now, start, line)?;
            let past = self.past(now);
            self.ports[port].book(past, start, 1);
            self.stats.read_miss_events += 1;
            let early = self.critical_word_first;
            sent_from = if early { first } else { end };
            (whole_from, level) = (end, from);
        }
        self.stats.read_access_events += 1;
        let past = self.past(now);
        let (first, last) = self.l1_l2_bus.transfer(past, sent_from, bytes);
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
    /// first beat and the whole line are there, and where it comes from.
    fn bring(&mut self, now: u64, start: u64, line: u64) -> Result<(u64, u64, Level), u64> {
        let (slot, way) = match self.room(now, line) {
            Ok(room) => room,
            Err(at_cycle) => {
                self.stats.mshr_full_events += 1;
                return Err(at_cycle);
            }
        };
        let bytes = 1 << self.line_shift;
        let known = start + self.hit_cycles;
        let past = self.past(now);
        let (memory_bus, memory_cycles) = (&mut self.memory_bus, self.memory_cycles);
        let (first, end, level) = match &mut self.l3 {
            Some(l3) => l3.read(past, known, line, memory_bus, memory_cycles),
            None => {
                let (first, end) = memory_bus.transfer(past, known + memory_cycles, bytes);
                (first, end, Level::Memory)
            }
        };
        let in_flight = InFlight {
            line,
            start: InFlight::started(now),
            end,
            level,
        };
        self.mshrs.take(slot, in_flight);
        self.stats.fill_events += 1;
        if let Some(victim) = self.tags.fill(line, way, false)
            && victim.dirty
        {
            self.stats.write_back_events += 1;
            self.write_below(now, end, victim.line, bytes);
        }
        Ok((first, end, level))
    }

    /// Hands `bytes` of a changed line of the level 2 cache's size on.
    fn write_below(&mut self, now: u64, from: u64, line: u64, bytes: u64) {
        let past = self.past(now);
        match &mut self.l3 {
            Some(l3) => l3.write(past, from, line, bytes, &mut self.memory_bus),
            None => {
                self.memory_bus.transfer(past, from, bytes);
            }
        }
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
        let past = self.past(now);
        let (_, end) = self.l1_l2_bus.transfer(past, from, bytes);
        self.stats.write_access_events += 1;
        if !self.tags.access(addr >> self.line_shift, true) {
            self.stats.write_miss_events += 1;
            self.write_below(now, end, addr >> self.line_shift, bytes);
        }
    }

    /// Takes a store from `addr` to `last` into the write buffer. `Err`: it is full until that cycle
    /// at least.
    pub fn put_store(&mut self, now: u64, addr: u64, last: u64) -> Result<(), u64> {
        // Taken out meanwhile, since sending its entries needs everything else.
        let Some(mut buffer) = self.write_buffer.take() else {
            return Ok(());
        };
        let put = buffer.put(now, addr, last, |from, addr, bytes| {
            self.write_through(now, from, addr, bytes)
        });
        self.write_buffer = Some(buffer);
        put
    }

    /// A read has to find what was stored before it: sends the stores to these bytes that have not
    /// been sent, and those in front of them.
    fn send_overlapping(&mut self, now: u64, addr: u64, bytes: u64) -> Result<(), u64> {
        let Some(mut buffer) = self.write_buffer.take() else {
            return Ok(());
        };
        let sent = buffer.send_overlapping(now, addr, bytes, |from, addr, bytes| {
            self.write_through(now, from, addr, bytes)
        });
        self.write_buffer = Some(buffer);
        sent
    }

    /// Writes an entry of the write buffer, sent in cycle `from`: the cycle in which it is written.
    fn write_through(&mut self, now: u64, from: u64, addr: u64, bytes: u64) -> Result<u64, u64> {
        let line = addr >> self.line_shift;
        let (port, start) = self.first_port(from + self.request_cycles);
        let held = self.tags.holds(line);
        let mut written = start + self.hit_cycles;
        if held {
            let on_its_way = self.mshrs.find(now, line);
            written = written.max(on_its_way.map_or(0, |primary| primary.end));
        } else {
            written = written.max(self.bring(now, start, line)?.1);
            self.stats.write_miss_events += 1;
        }
        let past = self.past(now);
        self.ports[port].book(past, start, 1);
        self.tags.access(line, true);
        self.stats.write_access_events += 1;
        let (_, arrived) = self.l1_l2_bus.transfer(past, from, bytes);
        Ok(written.max(arrived))
    }

    /// Touches a line without time or events.
    pub fn warm(&mut self, addr: u64, write: bool) {
        let line = addr >> self.line_shift;
        if write && self.write_buffer.is_none() {
            // A write-back: a line that is not there goes on.
            if !self.tags.access(line, true)
                && let Some(l3) = &mut self.l3
            {
                l3.warm(line, true);
            }
        } else if !self.tags.access(line, write)
            && let Some(way) = self.tags.choose(line, |_| false)
        {
            self.warmed += 1;
            if let Some(l3) = &mut self.l3 {
                l3.warm(line, false);
            }
            if let Some(victim) = self.tags.fill(line, way, write)
                && victim.dirty
                && let Some(l3) = &mut self.l3
            {
                l3.warm(victim.line, true);
            }
        }
    }
}
