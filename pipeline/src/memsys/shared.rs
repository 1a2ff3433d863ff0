//! What the cores of a chip share: the level 2 cache, the level 3 cache, the bus to memory, and memory.

use super::bus::Bus;
use super::calendar::Calendar;
use super::level3::Level3;
use super::link::{Fill, Link};
use super::mshr::{InFlight, Mshrs};
use super::stats::CacheStats;
use super::tags::Tags;
use super::{CoreId, Level};
use crate::config::{CacheConfig, MemoryConfig};

/// The level 2 cache, the level 3 cache, the bus to memory, and memory: what the cores of a chip share. A request
/// comes over the [`Link`] of the core that makes it.
#[derive(Clone, Debug)]
pub struct SharedMemory {
    tags: Tags,
    mshrs: Mshrs,
    ports: Box<[Calendar]>,
    line_shift: u32,
    hit_cycles: u64,
    request_cycles: u64,
    memory_cycles: u64,
    critical_word_first: bool,
    pub(super) l3: Option<Box<Level3>>,
    pub(super) memory_bus: Bus,
    /// What the requests of each core met in the level 2 cache.
    stats: Box<[CacheStats]>,
    /// Misses of accesses that took no time.
    pub(super) warmed: u64,
    /// No later access lies before this cycle, whatever the cycles of earlier ones.
    pub(super) horizon: u64,
}

/// Sets of a cache.
pub(super) fn sets(config: &CacheConfig) -> usize {
    (config.size_bytes / (config.ways * config.line_bytes)) as usize
}

impl SharedMemory {
    /// Empty caches for a number of cores.
    #[must_use]
    pub fn new(config: &MemoryConfig, cores: usize) -> Self {
        let l2 = &config.l2;
        SharedMemory {
            tags: Tags::new(sets(l2), l2.ways as usize, l2.replacement.clone()),
            mshrs: Mshrs::new(l2.mshrs),
            ports: (0..l2.ports).map(|_| Calendar::new()).collect(),
            line_shift: l2.line_bytes.trailing_zeros(),
            hit_cycles: u64::from(l2.hit_cycles),
            request_cycles: u64::from(config.l1_l2_bus.latency_cycles),
            memory_cycles: u64::from(config.latency_cycles),
            critical_word_first: config.critical_word_first,
            l3: (config.l3.size_bytes > 0)
                .then(|| Box::new(Level3::new(&config.l3, l2.line_bytes))),
            memory_bus: Bus::new(
                config.memory_bus.bytes_per_beat,
                config.memory_bus.cycles_per_beat,
            ),
            stats: vec![CacheStats::default(); cores].into_boxed_slice(),
            warmed: 0,
            horizon: u64::MAX,
        }
    }

    /// Accesses will not come in order of time.
    pub(super) fn expect_disorder(&mut self, l2: &CacheConfig) {
        self.mshrs = Mshrs::out_of_order(l2.mshrs);
    }

    /// What the requests of a core met in the level 2 cache.
    pub(super) fn stats_of(&self, core: CoreId) -> &CacheStats {
        &self.stats[usize::from(core.0)]
    }

    fn count(&mut self, core: CoreId) -> &mut CacheStats {
        &mut self.stats[usize::from(core.0)]
    }

    /// What ended before this cycle matters to no access any more.
    #[inline]
    pub(super) fn past(&self, now: u64) -> u64 {
        now.min(self.horizon)
    }

    /// Brings a line of `bytes` at `addr` over a link to a level 1 cache that knows in cycle `known` that it
    /// misses. `Err`: nothing happened; try again in that cycle.
    pub(super) fn read(
        &mut self,
        link: &mut Link,
        now: u64,
        known: u64,
        addr: u64,
        bytes: u64,
    ) -> Result<Fill, u64> {
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
                    self.count(link.core).read_merge_events += 1;
                    (looked_up.max(primary.end_for(now)), primary.level)
                }
            };
            whole_from = sent_from;
        } else {
            let (first, end, from) = self.bring(link.core, now, start, line)?;
            let past = self.past(now);
            self.ports[port].book(past, start, 1);
            self.count(link.core).read_miss_events += 1;
            let early = self.critical_word_first;
            sent_from = if early { first } else { end };
            (whole_from, level) = (end, from);
        }
        self.count(link.core).read_access_events += 1;
        let past = self.past(now);
        let (first, last) = link.bus.transfer(past, sent_from, bytes);
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
    fn bring(
        &mut self,
        core: CoreId,
        now: u64,
        start: u64,
        line: u64,
    ) -> Result<(u64, u64, Level), u64> {
        let (slot, way) = match self.room(now, line) {
            Ok(room) => room,
            Err(at_cycle) => {
                self.count(core).mshr_full_events += 1;
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
        self.count(core).fill_events += 1;
        if let Some(victim) = self.tags.fill(line, way, false)
            && victim.dirty
        {
            self.count(core).write_back_events += 1;
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

    /// Takes a changed line of `bytes` from a level 1 cache over a link, not before cycle `from`.
    pub(super) fn write_back(
        &mut self,
        link: &mut Link,
        now: u64,
        from: u64,
        addr: u64,
        bytes: u64,
    ) {
        let past = self.past(now);
        let (_, end) = link.bus.transfer(past, from, bytes);
        self.count(link.core).write_access_events += 1;
        if !self.tags.access(addr >> self.line_shift, true) {
            self.count(link.core).write_miss_events += 1;
            self.write_below(now, end, addr >> self.line_shift, bytes);
        }
    }

    /// Writes an entry of a link's write buffer, sent in cycle `from`: the cycle in which it is written.
    pub(super) fn write_through(
        &mut self,
        link: &mut Link,
        now: u64,
        from: u64,
        addr: u64,
        bytes: u64,
    ) -> Result<u64, u64> {
        let line = addr >> self.line_shift;
        let (port, start) = self.first_port(from + self.request_cycles);
        let held = self.tags.holds(line);
        let mut written = start + self.hit_cycles;
        if held {
            let on_its_way = self.mshrs.find(now, line);
            written = written.max(on_its_way.map_or(0, |primary| primary.end));
        } else {
            written = written.max(self.bring(link.core, now, start, line)?.1);
            self.count(link.core).write_miss_events += 1;
        }
        let past = self.past(now);
        self.ports[port].book(past, start, 1);
        self.tags.access(line, true);
        self.count(link.core).write_access_events += 1;
        let (_, arrived) = link.bus.transfer(past, from, bytes);
        Ok(written.max(arrived))
    }

    /// Touches a line without time or events. `back`: a changed line of a level 1 cache is written back.
    pub(super) fn warm(&mut self, addr: u64, write: bool, back: bool) {
        let line = addr >> self.line_shift;
        if back {
            // A line that is not there goes on.
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
