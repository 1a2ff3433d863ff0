//! Levels behind the level 1 caches: level 2 caches, the level 3 cache, the bus to memory, and memory.

use super::bus::Bus;
use super::coherence::{Answer, CoherenceState, Want, cores_of};
use super::contention::{Contention, Met};
use super::contents::{lines, misses};
use super::disorder::DisorderStats;
use super::level2::Level2;
use super::level3::Level3;
use super::link::{Fill, Link};
use super::mshr::{InFlight, Mshrs};
use super::replacement::Requester;
use super::stats::CacheStats;
use super::{CoreId, Level};
use crate::config::{CacheConfig, ChipConfig, L2Place, MemoryConfig};
use crate::contents::Contents;

/// The level 2 caches, the level 3 cache, the bus to memory, and memory: what the cores of a chip reach of each other.
/// A request comes over the [`Link`] of the core that makes it.
#[derive(Clone, Debug)]
pub struct SharedMemory {
    /// One, or one for each core.
    l2s: Box<[Level2]>,
    /// How several cores agree on lines; none if there is only one.
    pub(super) coherence: Option<Box<CoherenceState>>,
    /// Notes about lines for which the cores contend.
    pub(super) contention: Option<Box<Contention>>,
    has_inclusive_l2: bool,
    pub(super) line_shift: u32,
    /// log2 of the bytes of a part of a line: that of the line unless lines come in parts.
    part_shift: u32,
    /// Whether reads wait for an MSHR of the level 2 cache.
    queues: bool,
    hit_cycles: u64,
    /// From a request until the level 2 cache knows that it misses.
    miss_cycles: u64,
    request_cycles: u64,
    memory_cycles: u64,
    critical_word_first: bool,
    pub(super) l3: Option<Box<Level3>>,
    pub(super) memory_bus: Bus,
    /// Counts of the requests of each core in the level 2 cache.
    stats: Box<[CacheStats]>,
    /// Misses of accesses that took no time.
    pub(super) warmed: u64,
    /// No later access lies before this cycle, whatever the cycles of earlier ones.
    pub(super) horizon: u64,
}

hps_isa::save_state! {
    SharedMemory {
        l2s, coherence, contention, has_inclusive_l2: skip, line_shift: skip, part_shift: skip, queues: skip, hit_cycles: skip,
        miss_cycles: skip, request_cycles: skip, memory_cycles, critical_word_first: skip, l3,
        memory_bus, stats, warmed, horizon,
    }
}

/// Sets of a cache.
pub(super) fn sets(config: &CacheConfig) -> usize {
    (config.size_bytes / (config.ways * config.line_bytes)) as usize
}

/// Bytes of the parts in which lines of a cache come: its line unless they come in parts.
pub(super) fn part_bytes(memory: &MemoryConfig, cache: &CacheConfig) -> u32 {
    match memory.part_bytes {
        0 => cache.line_bytes,
        bytes => bytes,
    }
}

/// Cycles until a cache with this hit time knows of a miss.
pub(super) fn miss_cycles(hit_cycles: u32, miss_adds_hit: bool) -> u64 {
    if miss_adds_hit {
        u64::from(hit_cycles)
    } else {
        0
    }
}

impl SharedMemory {
    /// Empty caches for a number of cores.
    #[must_use]
    pub fn new(config: &MemoryConfig, chip: &ChipConfig, cores: usize) -> Self {
        let l2 = &config.l2;
        let caches = if chip.l2 == L2Place::Private {
            cores
        } else {
            1
        };
        SharedMemory {
            l2s: (0..caches).map(|_| Level2::new(config)).collect(),
            coherence: (cores > 1).then(|| Box::new(CoherenceState::new(chip, cores))),
            contention: None,
            has_inclusive_l2: chip.inclusive_l2,
            line_shift: l2.line_bytes.trailing_zeros(),
            part_shift: part_bytes(config, l2).trailing_zeros(),
            queues: config.queues_at_l2,
            hit_cycles: u64::from(l2.hit_cycles),
            miss_cycles: miss_cycles(l2.hit_cycles, config.miss_adds_hit_cycles),
            request_cycles: u64::from(config.l1_l2_bus.latency_cycles),
            memory_cycles: u64::from(config.latency_cycles),
            critical_word_first: config.critical_word_first,
            l3: (config.l3.size_bytes > 0).then(|| Box::new(Level3::new(config))),
            memory_bus: Bus::new(
                config.memory_bus.bytes_per_beat,
                config.memory_bus.cycles_per_beat,
            ),
            stats: vec![CacheStats::default(); cores].into_boxed_slice(),
            warmed: 0,
            horizon: u64::MAX,
        }
    }

    /// From now on level 3, the memory bus and memory take as long as `config` says, in cycles of the cores. What is under
    /// way comes when it was to come.
    pub(crate) fn set_times(&mut self, config: &MemoryConfig) {
        self.memory_cycles = u64::from(config.latency_cycles);
        self.memory_bus
            .set_cycles_per_beat(config.memory_bus.cycles_per_beat);
        if let Some(l3) = &mut self.l3 {
            l3.set_times(&config.l3);
        }
    }

    /// The caches that a core reaches, in a cycle, and what is on its way to its level 2 cache.
    pub(super) fn contents(&self, core: CoreId, now: u64) -> Vec<Contents> {
        let l2 = &self.l2s[self.l2_of(core)];
        let shift = self.line_shift;
        let ready = |line| (l2.mshrs.find(now, line).map(|fill| fill.end), false);
        let mut all = vec![lines(&l2.tags, "l2", shift, ready)];
        let l3 = self.l3.as_ref();
        all.extend(l3.map(|l3| lines(&l3.tags, "l3", shift, |_| (None, false))));
        all.push(misses(&l2.mshrs, "l2_misses", shift, now));
        all
    }

    /// Accesses will not come in order of time.
    pub(super) fn expect_disorder(&mut self, l2: &CacheConfig) {
        for cache in &mut self.l2s {
            cache.mshrs = Mshrs::out_of_order(l2.mshrs);
        }
    }

    /// Misses of a core's level 2 cache that were given registers out of order of time.
    pub(super) fn crowded_of(&self, core: CoreId) -> DisorderStats {
        self.l2s[self.l2_of(core)].mshrs.crowded
    }

    /// The place of a core's level 2 cache.
    #[inline]
    fn l2_of(&self, core: CoreId) -> usize {
        usize::from(core.0).min(self.l2s.len() - 1)
    }

    /// Whether the cores have level 2 caches of their own.
    pub(super) fn has_private_l2(&self) -> bool {
        self.l2s.len() > 1
    }

    /// Counts of the requests of a core in the level 2 cache.
    pub(super) fn stats_of(&self, core: CoreId) -> &CacheStats {
        &self.stats[usize::from(core.0)]
    }

    fn count(&mut self, core: CoreId) -> &mut CacheStats {
        &mut self.stats[usize::from(core.0)]
    }

    /// Cycle before which anything that has ended matters to no access any more.
    #[inline]
    pub(super) fn past(&self, now: u64) -> u64 {
        now.min(self.horizon)
    }

    /// Brings the line of `bytes` that holds `addr` over a link to a level 1 cache that knows in cycle `known` that it
    /// misses. `Err`: nothing happened; try again in that cycle.
    pub(super) fn read(
        &mut self,
        link: &mut Link,
        now: u64,
        known: u64,
        (addr, bytes): (u64, u64),
        want: Want,
    ) -> Result<Fill, u64> {
        let line = addr >> self.line_shift;
        let arrival = known + self.request_cycles;
        let at = self.l2_of(link.core);
        let (port, start) = self.l2s[at].first_port(arrival);
        let past = self.past(now);
        let (sent_from, whole_from, level);
        let mut has_asked = self.coherence.is_some();
        if self.l2s[at].tags.holds(line) {
            self.l2s[at].ports[port].book(past, start, 1);
            (self.l2s[at].tags).access(line, false, link.requester(want));
            let looked_up = start + self.hit_cycles;
            let mut rest = 0;
            let from_cache = match self.l2s[at].mshrs.find(now, line) {
                None => (looked_up, Level::L2),
                Some(primary) => {
                    self.count(link.core).read_merge_events += 1;
                    let comes = primary.part_for(now, self.part_of(addr), self.parts());
                    rest = self.rest(&primary, now, addr, bytes);
                    (looked_up.max(comes), primary.level)
                }
            };
            let answer = self.ask_at_hit(link.core, now, looked_up, line, want);
            has_asked = answer.is_some();
            (sent_from, level) = match answer {
                Some(answer) if answer.from_core || answer.cycle > from_cache.0 => {
                    (answer.cycle, Level::Core)
                }
                _ => from_cache,
            };
            whole_from = sent_from.max(rest);
        } else {
            let (first, end, from) = self.bring(link, now, start, addr, want)?;
            self.l2s[at].ports[port].book(past, start, 1);
            self.count(link.core).read_miss_events += 1;
            let early = self.critical_word_first;
            sent_from = if early { first } else { end };
            let fill = self.l2s[at].mshrs.find(now, line);
            let rest = fill.filter(|_| self.parts() > 1);
            let rest = rest.map(|fill| self.rest(&fill, now, addr, bytes));
            (whole_from, level) = (rest.unwrap_or(end), from);
        }
        self.count(link.core).read_access_events += 1;
        let (first, last) = link.bus.transfer(past, sent_from, bytes);
        let end = last.max(whole_from);
        if has_asked && let Some(coherence) = &mut self.coherence {
            coherence.arrives(link.core, line, end, Some(level));
        }
        let ready = if self.critical_word_first { first } else { end };
        Ok(Fill { ready, end, level })
    }

    /// Parts of a line.
    #[inline]
    fn parts(&self) -> u64 {
        1 << (self.line_shift - self.part_shift)
    }

    /// Number of the part that holds an address.
    #[inline]
    fn part_of(&self, addr: u64) -> u64 {
        addr >> self.part_shift & (self.parts() - 1)
    }

    /// Cycle in which all parts of the `bytes` around an address are there of a line on its way; 0 where lines come whole.
    fn rest(&self, fill: &InFlight, now: u64, addr: u64, bytes: u64) -> u64 {
        let parts = self.parts();
        if parts <= 1 {
            return 0;
        }
        let first = self.part_of(addr & !(bytes - 1));
        let of_line = first..first + (bytes >> self.part_shift);
        let ends = of_line.map(|part| fill.part_for(now, part, parts));
        ends.max().unwrap_or(0)
    }

    /// A request finds its line in the level 2 cache in cycle `looked_up`: asks other cores if they may matter.
    #[inline]
    fn ask_at_hit(
        &mut self,
        core: CoreId,
        now: u64,
        looked_up: u64,
        line: u64,
        want: Want,
    ) -> Option<Answer> {
        self.coherence.as_ref()?;
        if self.has_private_l2() && want != Want::Write {
            // The core has the line already.
            return None;
        }
        self.ask(core, now, looked_up, line, want)
    }

    /// Asks other cores about a line, and takes it from those that lose it. `None`: there are none, or the core may do
    /// with it what it wants.
    #[cold]
    fn ask(&mut self, core: CoreId, now: u64, at: u64, line: u64, want: Want) -> Option<Answer> {
        let past = self.past(now);
        let has_private_l2 = self.has_private_l2();
        let coherence = self.coherence.as_mut()?;
        if want == Want::Write && coherence.change(core, line, now) {
            return None;
        }
        let had_line = coherence.may_have(core, line);
        let answer = coherence.ask(core, past, at, line, want);
        if let Some(contention) = &mut self.contention
            && (answer.from_core || answer.losers != 0 || answer.shared_from > at)
        {
            let met = Met {
                requests: 1,
                transfers: u64::from(answer.from_core),
                invalidations: u64::from(answer.losers.count_ones()),
                waited: answer.cycle - at,
            };
            contention.note(core, line, self.line_shift, want == Want::Fetch, met);
        }
        if want == Want::Fetch && !has_private_l2 && !had_line {
            // The level 1 instruction cache does not take part, and the data cache has not asked.
            coherence.forget(core, line, past, 0);
        }
        if has_private_l2 {
            for loser in cores_of(answer.losers) {
                let cache = self.l2_of(loser);
                self.l2s[cache].tags.remove(line);
            }
        }
        if answer.write_back {
            if has_private_l2 {
                for cache in &mut self.l2s {
                    cache.tags.clean(line);
                }
                let written = self.write_below(now, answer.cycle, line, 1 << self.line_shift);
                if let Some(coherence) = &mut self.coherence {
                    coherence.is_written(line, written);
                }
            } else {
                self.l2s[0].tags.access(line, true, Requester::WRITE_BACK);
            }
        }
        Some(answer)
    }

    /// Whether a core has a line alone; if so, it begins to write it.
    pub(super) fn may_change(&mut self, core: CoreId, now: u64, addr: u64) -> bool {
        let line = addr >> self.line_shift;
        let coherence = self.coherence.as_mut();
        coherence.is_none_or(|coherence| coherence.change(core, line, now))
    }

    /// A core that shares a line wants to write it: the cycle in which it may. `known`: the cycle in which its level 1
    /// cache knows that it has to ask. `None`: it may already.
    pub(super) fn upgrade(&mut self, core: CoreId, now: u64, known: u64, addr: u64) -> Option<u64> {
        let line = addr >> self.line_shift;
        if self.coherence.as_mut()?.change(core, line, now) {
            return None;
        }
        let mut at = known + self.request_cycles;
        if self.has_private_l2() {
            at += self.miss_cycles;
        }
        let answer = self.ask(core, now, at, line, Want::Write)?;
        let end = answer.cycle + self.request_cycles;
        let coherence = self.coherence.as_mut()?;
        coherence.count_upgrade(core);
        coherence.arrives(core, line, end, None);
        Some(end)
    }

    /// A level 1 data cache has dropped a line, which is where it went in cycle `there`, and may not have any other of the
    /// level 2 cache's line.
    pub(super) fn level1_dropped(&mut self, core: CoreId, now: u64, addr: u64, there: u64) {
        let line = addr >> self.line_shift;
        let past = self.past(now);
        let keeps = self.has_private_l2() && {
            let cache = self.l2_of(core);
            self.l2s[cache].tags.holds(line)
        };
        if let Some(coherence) = &mut self.coherence
            && !keeps
        {
            coherence.leave(core, line, past, there);
        }
    }

    /// Hands on a changed line of a level 1 cache that has followed its line out of the level 2 cache.
    pub(super) fn write_orphan(&mut self, now: u64, addr: u64, bytes: u64) {
        self.write_below(now, now, addr >> self.line_shift, bytes);
    }

    /// A miss of a level 2 cache that begins its access at `start`: the cycles in which the
    /// first beat and the whole line are there, and where it comes from.
    fn bring(
        &mut self,
        link: &Link,
        now: u64,
        start: u64,
        addr: u64,
        want: Want,
    ) -> Result<(u64, u64, Level), u64> {
        let (core, by) = (link.core, link.requester(want));
        let (at, line) = (self.l2_of(core), addr >> self.line_shift);
        let queues = self.queues && want != Want::Write;
        let mut free = now;
        let (slot, way) = loop {
            match self.l2s[at].room(free, line) {
                Ok(room) => break room,
                Err(at_cycle) => {
                    self.count(core).mshr_full_events += 1;
                    if !queues {
                        return Err(at_cycle);
                    }
                    free = at_cycle.max(free + 1);
                }
            }
        };
        // Entries of a write buffer may have begun before now.
        let start = if free > now { start.max(free) } else { start };
        let bytes = 1 << self.line_shift;
        let known = start + self.miss_cycles;
        let past = self.past(now);
        let answer = if self.coherence.is_some() {
            self.ask(core, now, known, line, want)
        } else {
            None
        };
        let known = answer.map_or(known, |answer| known.max(answer.shared_from));
        let (memory_bus, memory_cycles) = (&mut self.memory_bus, self.memory_cycles);
        let (mut first, mut end, mut level) = match (&answer, &mut self.l3) {
            (Some(answer), _) if answer.from_core => (answer.cycle, answer.cycle, Level::Core),
            (_, Some(l3)) => l3.read(past, known, (line, by), memory_bus, memory_cycles),
            (_, None) => {
                let (first, end) = memory_bus.transfer(past, known + memory_cycles, bytes);
                (first, end, Level::Memory)
            }
        };
        if let Some(answer) = answer
            && answer.cycle > first
        {
            (first, end, level) = (answer.cycle, end.max(answer.cycle), Level::Core);
        }
        let in_flight = InFlight {
            line,
            start: InFlight::started(now),
            end,
            level,
            first,
            asked: self.part_of(addr),
        };
        self.l2s[at].mshrs.take(slot, in_flight);
        self.count(core).fill_events += 1;
        if let Some(victim) = self.l2s[at].tags.fill(line, way, false, by) {
            let mut written = 0;
            if victim.dirty {
                self.count(core).write_back_events += 1;
                written = self.write_below(now, end, victim.line, bytes);
            }
            if self.coherence.is_some() {
                self.level2_dropped(core, now, victim.line, written);
            }
        }
        Ok((first, end, level))
    }

    /// A level 2 cache has dropped a line, which is where it went in cycle `there`.
    #[cold]
    fn level2_dropped(&mut self, core: CoreId, now: u64, line: u64, there: u64) {
        let whose = self.has_private_l2().then_some(core);
        let past = self.past(now);
        if let Some(coherence) = &mut self.coherence
            && self.has_inclusive_l2
        {
            coherence.leave_level2(whose, line, past, there);
        }
    }

    /// Hands `bytes` of a changed line of the level 2 cache's size on: the cycle in which they are there.
    fn write_below(&mut self, now: u64, from: u64, line: u64, bytes: u64) -> u64 {
        let past = self.past(now);
        match &mut self.l3 {
            Some(l3) => l3.write(past, from, line, bytes, &mut self.memory_bus),
            None => self.memory_bus.transfer(past, from, bytes).1,
        }
    }

    /// Takes a changed line of `bytes` from a level 1 cache over a link, not before cycle `from`: the cycle in which it is
    /// there.
    pub(super) fn write_back(
        &mut self,
        link: &mut Link,
        now: u64,
        from: u64,
        addr: u64,
        bytes: u64,
    ) -> u64 {
        let past = self.past(now);
        let (_, end) = link.bus.transfer(past, from, bytes);
        self.count(link.core).write_access_events += 1;
        let at = self.l2_of(link.core);
        let line = addr >> self.line_shift;
        if !(self.l2s[at].tags).access(line, true, Requester::WRITE_BACK) {
            self.count(link.core).write_miss_events += 1;
            return self.write_below(now, end, addr >> self.line_shift, bytes);
        }
        end
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
        let at = self.l2_of(link.core);
        let (port, start) = self.l2s[at].first_port(from + self.request_cycles);
        let held = self.l2s[at].tags.holds(line);
        let mut written = start + self.hit_cycles;
        if held {
            let on_its_way = self.l2s[at].mshrs.find(now, line);
            written = written.max(on_its_way.map_or(0, |primary| primary.end));
        } else {
            written = written.max(self.bring(link, now, start, addr, Want::Write)?.1);
            self.count(link.core).write_miss_events += 1;
        }
        let past = self.past(now);
        self.l2s[at].ports[port].book(past, start, 1);
        (self.l2s[at].tags).access(line, true, link.requester(Want::Write));
        self.count(link.core).write_access_events += 1;
        let (_, arrived) = link.bus.transfer(past, from, bytes);
        Ok(written.max(arrived))
    }

    /// Touches a line without time or events, on a chip with one core. `back`: a changed line of a level 1 cache is written back.
    pub(super) fn warm(&mut self, addr: u64, write: bool, back: bool, by: Requester) {
        let line = addr >> self.line_shift;
        let tags = &mut self.l2s[0].tags;
        if back {
            // A line that is not there goes on.
            if !tags.access(line, true, Requester::WRITE_BACK)
                && let Some(l3) = &mut self.l3
            {
                l3.warm(line, true, Requester::WRITE_BACK);
            }
        } else if !tags.access(line, write, by)
            && let Some(way) = tags.choose(line, |_| false)
        {
            self.warmed += 1;
            if let Some(l3) = &mut self.l3 {
                l3.warm(line, false, by);
            }
            if let Some(victim) = tags.fill(line, way, write, by)
                && victim.dirty
                && let Some(l3) = &mut self.l3
            {
                l3.warm(victim.line, true, Requester::WRITE_BACK);
            }
        }
    }
}
