//! A level 1 cache: its tags, MSHRs and ports.

use super::coherence::Want;
use super::disorder::Evictions;
use super::link::{Fill, Link};
use super::mshr::{InFlight, Mshrs};
use super::prefetch::Prefetcher;
use super::shared::{self, SharedMemory};
use super::tags::Tags;
use super::{CacheStats, Level};
use crate::config::{CacheConfig, MemoryConfig};
use hps_isa::likely::seldom;
use serde::{Deserialize, Serialize};

/// A line that has come for a store that never took it is forgotten so much later.
const FORGOTTEN_CYCLES: u64 = 1000;

/// Levels below a level 1 cache: the core's link, and the shared levels that the link leads to.
pub(super) type Below<'a> = (&'a mut Link, &'a mut SharedMemory);

/// A level 1 cache.
#[derive(Clone, Debug)]
pub(super) struct Level1 {
    pub(super) tags: Tags,
    pub(super) mshrs: Mshrs,
    pub(super) line_shift: u32,
    pub(super) line_bytes: u64,
    /// Mask of the offset of a byte in its line.
    pub(super) offset_mask: u64,
    /// log2 of the bytes of a part of a line: that of the line unless lines come in parts.
    pub(super) part_shift: u32,
    pub(super) hit_cycles: u64,
    /// From an access until it is known that it misses.
    pub(super) miss_cycles: u64,
    /// Whether the cache holds data; otherwise it holds instructions.
    is_for_data: bool,
    pub(super) ports: u32,
    /// Cycle of the last access, and how many ports it took.
    pub(super) port_cycle: u64,
    pub(super) ports_taken: u32,
    pub(super) stats: CacheStats,
    /// Brings lines that nothing has asked for yet.
    pub(super) prefetcher: Option<Box<Prefetcher>>,
    /// Misses of warming accesses.
    pub(super) warmed: u64,
    /// Evicted lines, where accesses do not come in order of time.
    pub(super) evictions: Option<Box<Evictions>>,
    /// Lines that stores wait for, or that go to other cores soon.
    passes: Vec<Pass>,
}

hps_isa::save_state! {
    Level1 {
        tags, mshrs, line_shift: skip, line_bytes: skip, offset_mask: skip, part_shift: skip, hit_cycles: skip,
        miss_cycles: skip, is_for_data: skip, ports: skip, port_cycle, ports_taken, stats,
        prefetcher, warmed, evictions, passes,
    }
}

/// A line on its way from a core to the next.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Pass {
    line: u64,
    /// The cycle in which it comes.
    comes: u64,
    /// Stores of this core may change it before this cycle, whoever has it next.
    until: u64,
    /// The oldest store of the queue waits for it, and is performed when it comes.
    is_awaited: bool,
}

impl Level1 {
    pub(super) fn new(config: &CacheConfig, memory: &MemoryConfig, is_for_data: bool) -> Self {
        Level1 {
            tags: Tags::new(
                shared::sets(config),
                config.ways as usize,
                &config.replacement,
            ),
            mshrs: Mshrs::new(config.mshrs),
            line_shift: config.line_bytes.trailing_zeros(),
            line_bytes: u64::from(config.line_bytes),
            offset_mask: u64::from(config.line_bytes) - 1,
            part_shift: shared::part_bytes(memory, config).trailing_zeros(),
            hit_cycles: u64::from(config.hit_cycles),
            miss_cycles: shared::miss_cycles(config.hit_cycles, memory.miss_adds_hit_cycles),
            is_for_data,
            ports: config.ports,
            port_cycle: u64::MAX,
            ports_taken: 0,
            stats: CacheStats::default(),
            prefetcher: None,
            warmed: 0,
            evictions: None,
            passes: Vec::with_capacity(config.mshrs as usize),
        }
    }

    /// Takes a port in this cycle, if one is left.
    #[inline]
    pub(super) fn take_port(&mut self, now: u64) -> bool {
        if self.port_cycle != now {
            self.port_cycle = now;
            self.ports_taken = 0;
        }
        let free = self.ports_taken < self.ports;
        self.ports_taken += u32::from(free);
        self.stats.port_busy_events += u64::from(!free);
        free
    }

    /// Whether a piece of memory lies in more than one line.
    #[inline(always)]
    pub(super) fn crosses(&self, addr: u64, size: u8) -> bool {
        (addr & self.offset_mask) + u64::from(size) > self.line_bytes
    }

    #[inline]
    pub(super) fn next_line(&self, addr: u64) -> u64 {
        ((addr >> self.line_shift) + 1) << self.line_shift
    }

    /// Fast path of an access to the newest line of its set, if that line is not on its way: the cycle in which
    /// the data are there. `None` for all other accesses, and then nothing has changed.
    #[inline(always)]
    pub(super) fn quick_hit(
        &mut self,
        now: u64,
        delay: u64,
        addr: u64,
        write: bool,
    ) -> Option<u64> {
        let line = addr >> self.line_shift;
        if seldom(!self.mshrs.is_quiet(now, line)) || seldom(!self.tags.use_newest(line, write)) {
            return None;
        }
        if write {
            self.stats.write_access_events += 1;
        } else {
            self.stats.read_access_events += 1;
        }
        Some(now + delay + self.hit_cycles)
    }

    /// Accesses the cache `delay` cycles after `now`, the time that the translation takes. Returns the cycle in which
    /// the data are there and their origin, or the cycle in which to retry.
    #[inline(never)]
    pub(super) fn access(
        &mut self,
        (link, shared): Below<'_>,
        now: u64,
        delay: u64,
        addr: u64,
        write: bool,
    ) -> Result<(u64, Level), u64> {
        let line = addr >> self.line_shift;
        let known = now + delay + self.hit_cycles;
        // Who asks is worked out only where a policy may want to know it.
        let is_there = self.tags.use_recent(line, write)
            || (self.tags).search(line, write, link.requester(self.want(write)));
        let (ready, level) = if is_there {
            match self.mshrs.find(now, line) {
                None => (known, Level::L1),
                Some(primary) => {
                    self.count_merge(write);
                    (known.max(self.part_of(&primary, now, addr)), primary.level)
                }
            }
        } else {
            let known = now + delay + self.miss_cycles;
            self.miss((link, shared), now, known, addr, write)?
        };
        if write {
            self.stats.write_access_events += 1;
        } else {
            self.stats.read_access_events += 1;
        }
        Ok((ready, level))
    }

    /// Cycle in which the data of an access to a line on its way are there.
    fn part_of(&self, primary: &InFlight, now: u64, addr: u64) -> u64 {
        let part = (addr & self.offset_mask) >> self.part_shift;
        primary.part_for(now, part, self.line_bytes >> self.part_shift)
    }

    /// Purpose for which an access wants a line.
    fn want(&self, write: bool) -> Want {
        match (self.is_for_data, write) {
            (false, _) => Want::Fetch,
            (true, false) => Want::Read,
            (true, true) => Want::Write,
        }
    }

    fn count_merge(&mut self, write: bool) {
        if write {
            self.stats.write_merge_events += 1;
        } else {
            self.stats.read_merge_events += 1;
        }
    }

    #[cold]
    fn miss(
        &mut self,
        (link, shared): Below<'_>,
        now: u64,
        known: u64,
        addr: u64,
        write: bool,
    ) -> Result<(u64, Level), u64> {
        let line = addr >> self.line_shift;
        let (slot, way) = match self.room(now, line) {
            Ok(room) => room,
            Err(at_cycle) => {
                self.stats.mshr_full_events += 1;
                if let Some(evictions) = &mut self.evictions {
                    evictions.missed(line, now, at_cycle - now, false);
                }
                return Err(at_cycle);
            }
        };
        let want = self.want(write);
        let (fill, victim) = self.bring((link, shared), now, known, (addr, slot, way), want)?;
        if write {
            self.stats.write_miss_events += 1;
        } else {
            self.stats.read_miss_events += 1;
        }
        if let Some(evictions) = &mut self.evictions {
            evictions.missed(line, now, fill.ready.saturating_sub(known), true);
            if let Some(victim) = victim {
                evictions.evicted(victim, now);
            }
        }
        if let (Some(prefetcher), Some(victim)) = (&mut self.prefetcher, victim) {
            prefetcher.dropped(victim);
        }
        Ok((fill.ready, fill.level))
    }

    /// Brings the line of an address into a way of its set, with an MSHR that is free. Also says which line made room.
    fn bring(
        &mut self,
        (link, shared): Below<'_>,
        now: u64,
        known: u64,
        (addr, slot, way): (u64, usize, usize),
        want: Want,
    ) -> Result<(Fill, Option<u64>), u64> {
        let (line, bytes) = (addr >> self.line_shift, 1 << self.line_shift);
        let fill = link.read(shared, now, known, (addr, bytes), want)?;
        let in_flight = InFlight {
            line,
            start: InFlight::started(now),
            end: fill.end,
            level: fill.level,
            first: fill.ready,
            asked: (addr & self.offset_mask) >> self.part_shift,
        };
        self.mshrs.take(slot, in_flight);
        self.stats.fill_events += 1;
        let victim = (self.tags).fill(line, way, want == Want::Write, link.requester(want));
        if let Some(victim) = victim {
            let addr = victim.line << self.line_shift;
            let mut written = 0;
            if victim.dirty {
                self.stats.write_back_events += 1;
                written = shared.write_back(link, now, fill.end, addr, bytes);
            }
            if link.has_peers && self.is_for_data && !self.holds_any(addr, shared.line_shift) {
                shared.level1_dropped(link.core, now, addr, written);
            }
        }
        Ok((fill, victim.map(|victim| victim.line)))
    }

    /// Brings a line that the prefetcher wants, if it is not there, an MSHR and a way are free, and the levels below
    /// accept the request.
    pub(super) fn prefetch(&mut self, below: Below<'_>, now: u64, known: u64, line: u64) {
        if self.tags.holds(line) || self.mshrs.find(now, line).is_some() {
            return;
        }
        let (link, shared) = below;
        link.is_prefetching = true;
        let brought = self.room(now, line).and_then(|(slot, way)| {
            let below = (&mut *link, shared);
            let addr = line << self.line_shift;
            self.bring(below, now, known, (addr, slot, way), Want::Read)
        });
        link.is_prefetching = false;
        let Some(prefetcher) = &mut self.prefetcher else {
            return;
        };
        match brought {
            Ok((_, victim)) => {
                // The first use of the line has to be noticed.
                self.tags.hide_newest(line);
                prefetcher.brought(line);
                if let Some(victim) = victim {
                    prefetcher.dropped(victim);
                }
            }
            Err(_) => prefetcher.stats.refused_events += 1,
        }
    }

    /// Takes a line away, if it is there. Says whether it was dirty.
    pub(super) fn remove(&mut self, line: u64) -> bool {
        if let Some(prefetcher) = &mut self.prefetcher {
            prefetcher.dropped(line);
        }
        self.tags.remove(line)
    }

    /// Another core writes a line. One on its way goes there when it has come: no later access of this core joins it.
    pub(super) fn pass_on(&mut self, line: u64) {
        self.mshrs.pass_on(line);
        self.remove(line);
    }

    /// The oldest store of a context waits for a line that comes from another core, if it has asked for one.
    pub(super) fn await_line(&mut self, now: u64, line: u64) -> Option<u64> {
        let end = self.mshrs.find(now, line)?.end;
        // A store whose process has ended does not come any more.
        let is_known = |pass: &Pass| pass.comes.max(pass.until) + FORGOTTEN_CYCLES > now;
        self.passes.retain(is_known);
        self.passes.push(Pass {
            line,
            comes: end,
            until: end,
            is_awaited: true,
        });
        Some(end)
    }

    /// Another core gets a line that this one has changed, or will have changed when it comes. Stores may go on until then.
    pub(super) fn keep_until(&mut self, now: u64, line: u64, until: u64) {
        if !self.tags.is_dirty(line) {
            return;
        }
        let comes = self.mshrs.find(now, line).map_or(now, |fill| fill.end);
        if let Some(pass) = self.passes.iter_mut().find(|pass| pass.line == line) {
            (pass.comes, pass.until) = (comes, until);
        } else if until > now {
            (self.passes).retain(|pass| pass.is_awaited || pass.until > now);
            self.passes.push(Pass {
                line,
                comes,
                until,
                is_awaited: false,
            });
        }
    }

    /// The cycle in which a line comes that stores wait for.
    pub(super) fn awaited_until(&self, now: u64, line: u64) -> Option<u64> {
        let found = self.passes.iter().find(|pass| pass.line == line)?;
        (found.comes > now).then_some(found.comes)
    }

    /// A store may be performed, since its line has come, or has not yet gone.
    pub(super) fn may_still_store(&mut self, now: u64, line: u64) -> bool {
        let Some(at) = self.passes.iter().position(|pass| pass.line == line) else {
            return false;
        };
        let pass = &mut self.passes[at];
        let is_within = now < pass.until;
        // A store that has waited was counted when it asked.
        let has_waited = std::mem::take(&mut pass.is_awaited);
        self.stats.write_access_events += u64::from(is_within && !has_waited);
        if pass.until <= now {
            self.passes.swap_remove(at);
        }
        has_waited || is_within
    }

    /// Whether it has any line of the level 2 cache's line at an address.
    fn holds_any(&self, addr: u64, line_shift: u32) -> bool {
        self.lines_in(addr >> line_shift, line_shift)
            .any(|line| self.tags.holds(line))
    }

    /// The lines of this cache that lie in a line of the level 2 cache.
    pub(super) fn lines_in(&self, line: u64, line_shift: u32) -> std::ops::Range<u64> {
        let shift = line_shift - self.line_shift;
        line << shift..(line + 1) << shift
    }

    /// Has the right to write a line that it holds: asks for it if it has to. The cycle in which it may be written, or in
    /// which to try again.
    pub(super) fn own(
        &mut self,
        (link, shared): Below<'_>,
        now: u64,
        delay: u64,
        addr: u64,
    ) -> Result<u64, u64> {
        let line = addr >> self.line_shift;
        let known = now + delay + self.hit_cycles;
        if self.tags.is_dirty(line) {
            return Ok(known);
        }
        if let Some(primary) = self.mshrs.find(now, line) {
            let prefetcher = self.prefetcher.as_ref();
            let is_prefetched = prefetcher.is_some_and(|prefetcher| prefetcher.is_unused(line));
            if is_prefetched && shared.may_change(link.core, now, addr) {
                return Ok(known);
            }
            if primary.level != Level::Core {
                // The line may come for reading only. Another core may take it before it is asked for again.
                return Err(primary.end);
            }
        }
        let slot = self.mshrs.free(now)?;
        let Some(end) = shared.upgrade(link.core, now, known, addr) else {
            return Ok(known);
        };
        let in_flight = InFlight {
            line,
            start: InFlight::started(now),
            end,
            level: Level::Core,
            first: end,
            asked: 0,
        };
        // A line that other cores want is asked for at once, also while it comes to be read.
        self.mshrs.pass_on(line);
        self.mshrs.take(slot, in_flight);
        Ok(end)
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

    /// Warms the cache with an access that takes no time.
    #[inline]
    pub(super) fn warm(&mut self, (link, shared): Below<'_>, addr: u64, write: bool) {
        let line = addr >> self.line_shift;
        if !(self.tags).access(line, write, link.requester(self.want(write))) {
            self.warm_miss((link, shared), addr, write);
        }
    }

    /// Warms a cache that has a prefetcher, which learns of the access, and whose lines come at once.
    pub(super) fn warm_and_prefetch(&mut self, (link, shared): Below<'_>, addr: u64, write: bool) {
        let line = addr >> self.line_shift;
        let counted = self.prefetcher.as_ref().map(|prefetcher| prefetcher.stats);
        let has_missed = !self.tags.holds(line);
        self.warm((&mut *link, &mut *shared), addr, write);
        let Some(prefetcher) = &mut self.prefetcher else {
            return;
        };
        let wanted = prefetcher.behind(line, has_missed, false);
        for &line in &wanted {
            if !self.tags.holds(line) {
                link.is_prefetching = true;
                self.warm_fill((&mut *link, &mut *shared), line, false);
                link.is_prefetching = false;
                self.tags.hide_newest(line);
                if let Some(prefetcher) = &mut self.prefetcher {
                    prefetcher.brought(line);
                }
            }
        }
        if let (Some(prefetcher), Some(counted)) = (&mut self.prefetcher, counted) {
            prefetcher.give_back(wanted);
            prefetcher.stats = counted;
        }
    }

    #[inline(never)]
    fn warm_miss(&mut self, below: Below<'_>, addr: u64, write: bool) {
        self.warmed += 1;
        self.warm_fill(below, addr >> self.line_shift, write);
    }

    fn warm_fill(&mut self, (link, shared): Below<'_>, line: u64, write: bool) {
        link.warm(shared, line << self.line_shift, false);
        if let Some(way) = self.tags.choose(line, |_| false)
            && let Some(victim) =
                (self.tags).fill(line, way, write, link.requester(self.want(write)))
        {
            if victim.dirty {
                link.warm(shared, victim.line << self.line_shift, true);
            }
            if let Some(prefetcher) = &mut self.prefetcher {
                prefetcher.dropped(victim.line);
            }
        }
    }
}
