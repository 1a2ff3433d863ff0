//! The memory system: when an access has its data.
//!
//! Nothing is simulated cycle by cycle: an access is told at once when its data are there, and
//! takes what it needs (MSHRs, ports, bus cycles) for the time it needs them. Calls come in order
//! of time (`now` never falls), or, from the instruction-driven core, nearly so
//! (`MemorySystem::pass`). Contents of guest memory are not held here; addresses are guest
//! addresses, and are their own translations.
//!
//! # Organization
//! Set-associative, write-back, write-allocate, non-blocking caches; two level 1 caches, one
//! unified level 2 cache that is neither inclusive nor exclusive, buses, memory. The data cache may
//! write through instead, without allocating, by way of a write buffer (rule 10); a level 3 cache may
//! lie between level 2 and memory (rule 11). Stores do not change what the instruction cache holds.
//!
//! # Timing rules
//! Names are keys of [`MemoryConfig`]; `beats = line_bytes / bytes_per_cycle` of the bus, rounded
//! up, for the line of the level 1 cache.
//!
//! 1. **Translation.** TLB and cache are looked up at the same time: a TLB hit costs nothing. A TLB
//!    miss moves the access to a later start: `l2_tlb.hit_cycles` if the second level has the page,
//!    else `miss_cycles`. Another access to the same page waits for the end of that walk. At most 8
//!    walks of a TLB are under way; more are retried. Everything below counts from the start.
//! 2. **Hit.** Data are there at `start + hit_cycles`.
//! 3. **Miss.** It is known at `start + hit_cycles`, takes an MSHR of the level 1 cache until its
//!    whole line is there, and sends a request that arrives `l1_l2_bus.latency_cycles` later.
//!    Each port of the level 2 cache begins one request in a cycle.
//! 4. **Level 2 hit.** `l2.hit_cycles` later the line is sent: it takes the bus for `beats` cycles
//!    in the first gap. With `critical_word_first` the data are there after the first of these
//!    cycles, otherwise after the last.
//!    `l1 hit + bus latency + l2 hit + (1 or beats)`.
//! 5. **Level 2 miss.** It is known after `l2.hit_cycles`, takes an MSHR of the level 2 cache, and
//!    `latency_cycles` later memory has its first data. The line takes the memory bus for
//!    `l2.line_bytes / bytes_per_beat × cycles_per_beat` cycles in the first gap. With
//!    `critical_word_first` the transfer to level 1 may begin after the first beat, otherwise after
//!    the last. The level 1 line is whole when both transfers have ended.
//!    `l1 hit + bus latency + l2 hit + latency + cycles_per_beat + 1` with critical word first.
//! 6. **Merge.** An access to a line on its way takes no MSHR. It has its data when the whole line
//!    is there, but not before `start + hit_cycles`.
//! 7. **Write-backs.** A changed line that makes room goes over the bus after the line that
//!    replaces it, in the first gap. The level 2 cache takes it if it has the line (no port, no
//!    time but the bus), else it goes on over the memory bus. Buffers for write-backs are not a
//!    limit.
//! 8. **Retry.** If every MSHR of a cache is taken, or every way of the set waits for its line,
//!    nothing happens and the access is to be tried again when the next of these lines is there. If
//!    every port of a level 1 cache is taken in this cycle, in the next cycle.
//! 9. **Two lines.** An access that crosses a line is two accesses: the second begins one cycle
//!    later and takes no port. It is done when both are. If one is retried, the whole is.
//!
//! 10. **Write-through.** A store is written at `start + hit_cycles` into the line if the cache has
//!     it, and goes into the write buffer in any case: into the entry of its block, if that has not
//!     been sent, else into a new one. The oldest entry is sent when `send_at_entries` have not been
//!     sent, after `send_after_cycles`, or when a miss of a level 1 cache needs its block, which then
//!     comes behind it. It takes the bus for its beats, arrives with the latency of a request, takes
//!     a port of the level 2 cache, and is written `l2.hit_cycles` later, or, if the level 2 cache
//!     misses, when the whole line is there (it allocates); then the entry is free. If all are taken,
//!     the store is retried when the next is free. A translation delays the store, not its entry.
//! 11. **Level 3.** A miss of the level 2 cache looks it up for `l3.hit_cycles`. If it has the line,
//!     that takes the bus of level 3 for its beats; else `latency_cycles` follow and the line takes
//!     the memory bus, as in rule 5, and is in level 3 from then on. Changed lines of level 2 go to
//!     level 3 if it has them, else on to memory.
//!
//! Caches change when an access is accepted, not when its line comes: a victim is gone from then on.

mod calendar;
mod level1;
mod level3;
mod lower;
mod mshr;
mod stats;
mod tags;
#[cfg(test)]
mod tests;
mod tlb;
mod write_buffer;

pub use stats::{BusStats, CacheStats, MemoryStats, TlbStats, WriteBufferStats};

use crate::config::MemoryConfig;
use hps_sim_core::likely::{often, seldom};
use level1::Level1;
use lower::Lower;
use mshr::Mshrs;
use tlb::{L2Tlb, Tlb, Translation};

/// Where data come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// A level 1 cache.
    L1,
    /// The level 2 cache.
    L2,
    /// The level 3 cache.
    L3,
    /// Memory.
    Memory,
}

/// An accepted access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// Cycle in which the data are there (for a store: in which it is written).
    pub ready_cycle: u64,
    /// Where the data come from; for a merged access that of the miss it joined.
    pub level: Level,
    /// It waited for a translation.
    pub tlb_miss: bool,
}

/// What becomes of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessResult {
    /// Accepted.
    Done(Access),
    /// Refused; to be tried again in this cycle, which is after `now`.
    Retry {
        /// The cycle.
        at_cycle: u64,
    },
}

/// Caches, TLBs, buses and memory of one core.
#[derive(Clone, Debug)]
pub struct MemorySystem {
    l1i: Level1,
    l1d: Level1,
    itlb: Tlb,
    dtlb: Tlb,
    l2_tlb: L2Tlb,
    lower: Lower,
}

impl MemorySystem {
    /// An empty memory system of a configuration that passed its check.
    #[must_use]
    pub fn new(config: &MemoryConfig) -> Self {
        MemorySystem {
            l1i: Level1::new(&config.l1i),
            l1d: Level1::new(&config.l1d),
            itlb: Tlb::new(&config.itlb, config.page_bytes),
            dtlb: Tlb::new(&config.dtlb, config.page_bytes),
            l2_tlb: L2Tlb::new(&config.l2_tlb),
            lower: Lower::new(config),
        }
    }

    /// An empty memory system whose accesses may come out of order of time.
    pub(crate) fn out_of_order(config: &MemoryConfig) -> Self {
        let mut memory = MemorySystem::new(config);
        memory.l1i.mshrs = Mshrs::out_of_order(config.l1i.mshrs);
        memory.l1d.mshrs = Mshrs::out_of_order(config.l1d.mshrs);
        memory.lower.expect_disorder(&config.l2);
        memory
    }

    /// Fast path of [`fetch`](Self::fetch): a hit that nothing delays, which most fetches are. The instructions are
    /// there after the hit time. `false` for all other fetches, and then nothing has changed.
    #[inline(always)]
    pub(crate) fn fetch_quickly(&mut self, now: u64, addr: u64) -> bool {
        let l1i = &mut self.l1i;
        // Most come in a cycle of their own.
        let is_quick = often(l1i.port_cycle != now)
            && often(self.itlb.is_quick(now, addr))
            && often(l1i.quick_hit(now, 0, addr, false).is_some());
        if is_quick {
            l1i.port_cycle = now;
            l1i.ports_taken = 1;
            self.itlb.count_quick();
        }
        is_quick
    }

    /// Fetches instructions of the line at `addr`.
    #[inline]
    pub fn fetch(&mut self, now: u64, addr: u64) -> AccessResult {
        if !self.l1i.take_port(now) {
            return AccessResult::Retry { at_cycle: now + 1 };
        }
        let (delay, tlb_miss) = match self.itlb.translate(now, addr, &mut self.l2_tlb) {
            Translation::After { delay, missed } => (delay, missed),
            Translation::Retry(at_cycle) => return AccessResult::Retry { at_cycle },
        };
        if let Some(ready_cycle) = self.l1i.quick_hit(now, delay, addr, false) {
            return hit(ready_cycle, tlb_miss);
        }
        result(
            self.l1i.access(&mut self.lower, now, delay, addr, false),
            tlb_miss,
        )
    }

    /// Loads `size` bytes.
    #[inline]
    pub fn load(&mut self, now: u64, addr: u64, size: u8) -> AccessResult {
        self.data(now, addr, size, false)
    }

    /// Fast path of an access that has a port already, in a cycle that may lie before those of earlier calls: the
    /// cycle in which the data of a hit that nothing delays are there. `None` for all other accesses, and then nothing
    /// has changed. The data cache must write back.
    #[inline(always)]
    pub(crate) fn hit_quickly(
        &mut self,
        now: u64,
        addr: u64,
        size: u8,
        write: bool,
    ) -> Option<u64> {
        debug_assert!(self.lower.write_buffer.is_none());
        let l1d = &mut self.l1d;
        if seldom(l1d.crosses(addr, size)) || seldom(!self.dtlb.is_quick(now, addr)) {
            return None;
        }
        let ready_cycle = l1d.quick_hit(now, 0, addr, write)?;
        self.dtlb.count_quick();
        Some(ready_cycle)
    }

    /// An access that has a port already, for which `hit_quickly` gave no answer.
    #[inline(never)]
    pub(crate) fn access_on_port(
        &mut self,
        now: u64,
        addr: u64,
        size: u8,
        write: bool,
    ) -> AccessResult {
        self.data_on_port(now, addr, size, write)
    }

    /// Promises that no later access lies before `cycle`. Without this call, no access lies before the last one.
    #[inline]
    pub(crate) fn pass(&mut self, cycle: u64) {
        self.lower.horizon = cycle;
    }

    /// Counts an access to data that found no port.
    #[inline]
    pub(crate) fn count_busy_port(&mut self) {
        self.l1d.stats.port_busy_events += 1;
    }

    /// Stores `size` bytes: after commit, in program order.
    #[inline]
    pub fn store(&mut self, now: u64, addr: u64, size: u8) -> AccessResult {
        if self.lower.write_buffer.is_some() {
            return self.store_through(now, addr, size);
        }
        self.data(now, addr, size, true)
    }

    /// A store of a write-through cache: into its line, if that is there, and into the write buffer.
    #[inline(never)]
    fn store_through(&mut self, now: u64, addr: u64, size: u8) -> AccessResult {
        if !self.l1d.take_port(now) {
            return AccessResult::Retry { at_cycle: now + 1 };
        }
        let last = addr.wrapping_add(u64::from(size.max(1)) - 1);
        let crosses = self.l1d.crosses(addr, size);
        let (mut delay, mut tlb_miss) = (0, false);
        for part in std::iter::once(addr).chain(crosses.then_some(last)) {
            match self.dtlb.translate(now, part, &mut self.l2_tlb) {
                Translation::After { delay: d, missed } => {
                    delay = delay.max(d);
                    tlb_miss |= missed;
                }
                Translation::Retry(at_cycle) => return AccessResult::Retry { at_cycle },
            }
        }
        if let Err(at_cycle) = self.lower.put_store(now, addr, last) {
            return AccessResult::Retry { at_cycle };
        }
        let l1d = &mut self.l1d;
        for part in std::iter::once(addr).chain(crosses.then_some(last)) {
            l1d.stats.write_access_events += 1;
            if !l1d.tags.access(part >> l1d.line_shift, false) {
                l1d.stats.write_miss_events += 1;
            }
        }
        AccessResult::Done(Access {
            ready_cycle: now + delay + l1d.hit_cycles + u64::from(crosses),
            level: Level::L1,
            tlb_miss,
        })
    }

    #[inline(always)]
    fn data(&mut self, now: u64, addr: u64, size: u8, write: bool) -> AccessResult {
        if !self.l1d.take_port(now) {
            return AccessResult::Retry { at_cycle: now + 1 };
        }
        self.data_on_port(now, addr, size, write)
    }

    #[inline(always)]
    fn data_on_port(&mut self, now: u64, addr: u64, size: u8, write: bool) -> AccessResult {
        if self.l1d.crosses(addr, size) {
            return self.data_in_two_lines(now, addr, write);
        }
        self.data_in_line(now, addr, write)
    }

    #[inline(always)]
    fn data_in_line(&mut self, now: u64, addr: u64, write: bool) -> AccessResult {
        let (delay, tlb_miss) = match self.dtlb.translate(now, addr, &mut self.l2_tlb) {
            Translation::After { delay, missed } => (delay, missed),
            Translation::Retry(at_cycle) => return AccessResult::Retry { at_cycle },
        };
        if let Some(ready_cycle) = self.l1d.quick_hit(now, delay, addr, write) {
            return hit(ready_cycle, tlb_miss);
        }
        result(
            self.l1d.access(&mut self.lower, now, delay, addr, write),
            tlb_miss,
        )
    }

    #[cold]
    fn data_in_two_lines(&mut self, now: u64, addr: u64, write: bool) -> AccessResult {
        let first = match self.data_in_line(now, addr, write) {
            AccessResult::Done(access) => access,
            retry => return retry,
        };
        let next = self.l1d.next_line(addr);
        match self.data_in_line(now + 1, next, write) {
            AccessResult::Done(second) => AccessResult::Done(Access {
                ready_cycle: first.ready_cycle.max(second.ready_cycle),
                level: first.level.max(second.level),
                tlb_miss: first.tlb_miss || second.tlb_miss,
            }),
            retry => retry,
        }
    }

    /// Whether a load of the line at `addr` would hit the level 1 data cache; changes nothing.
    #[inline]
    #[must_use]
    pub fn is_l1d_hit(&self, now: u64, addr: u64) -> bool {
        let line = addr >> self.l1d.line_shift;
        self.l1d.tags.holds(line) && self.l1d.mshrs.find(now, line).is_none()
    }

    /// Flushes the instruction cache (an instruction-stream synchronisation).
    pub fn flush_l1i(&mut self) {
        self.l1i.tags.clear();
    }

    /// A fetch that takes no time and counts nothing: functional warming.
    #[inline(always)]
    pub fn warm_fetch(&mut self, addr: u64) {
        let mapped = self.itlb.is_last(addr) || self.itlb.is_newest(addr);
        if !(mapped && self.l1i.tags.is_newest(addr >> self.l1i.line_shift)) {
            self.warm_fetch_slowly(addr);
        }
    }

    #[inline(never)]
    fn warm_fetch_slowly(&mut self, addr: u64) {
        self.itlb.warm(addr, &mut self.l2_tlb);
        self.l1i.warm(&mut self.lower, addr, false);
    }

    /// An access to data that takes no time and counts nothing: functional warming. Of those that
    /// cross a line only the first one is warmed.
    pub fn warm_data(&mut self, addr: u64, write: bool) {
        self.dtlb.warm(addr, &mut self.l2_tlb);
        if write && self.lower.write_buffer.is_some() {
            self.l1d.tags.access(addr >> self.l1d.line_shift, false);
            self.lower.warm(addr, true);
        } else {
            self.l1d.warm(&mut self.lower, addr, write);
        }
    }

    /// Fast path of [`warm_data`](Self::warm_data) for a page and a line that are the newest of their sets. `false`
    /// for all other accesses, and then nothing has changed.
    #[inline(always)]
    pub fn warm_newest(&mut self, addr: u64, write: bool) -> bool {
        self.dtlb.is_newest(addr)
            && !(write && self.lower.write_buffer.is_some())
            && (self.l1d.tags).use_newest(addr >> self.l1d.line_shift, write)
    }

    /// Misses of warming accesses: of the instruction cache, the data cache, the level 2 cache and the TLB for
    /// data.
    #[must_use]
    pub fn warmed(&self) -> [u64; 4] {
        [
            self.l1i.warmed,
            self.l1d.warmed,
            self.lower.warmed,
            self.dtlb.warmed,
        ]
    }

    /// Everything counted so far.
    #[must_use]
    pub fn stats(&self) -> MemoryStats {
        let (l3, buffer) = (self.lower.l3.as_ref(), self.lower.write_buffer.as_ref());
        MemoryStats {
            l1i: self.l1i.stats,
            l1d: self.l1d.stats,
            l2: self.lower.stats,
            l3: l3.map_or_else(CacheStats::default, |l3| l3.stats),
            write_buffer: buffer.map_or_else(WriteBufferStats::default, |b| b.stats),
            itlb: self.itlb.stats,
            dtlb: self.dtlb.stats,
            l2_tlb: self.l2_tlb.stats,
            l1_l2_bus: self.lower.l1_l2_bus.stats,
            l3_bus: l3.map_or_else(BusStats::default, |l3| l3.bus.stats),
            memory_bus: self.lower.memory_bus.stats,
        }
    }
}

#[inline(always)]
fn hit(ready_cycle: u64, tlb_miss: bool) -> AccessResult {
    AccessResult::Done(Access {
        ready_cycle,
        level: Level::L1,
        tlb_miss,
    })
}

#[inline]
fn result(accessed: Result<(u64, Level), u64>, tlb_miss: bool) -> AccessResult {
    match accessed {
        Ok((ready_cycle, level)) => AccessResult::Done(Access {
            ready_cycle,
            level,
            tlb_miss,
        }),
        Err(at_cycle) => AccessResult::Retry { at_cycle },
    }
}
