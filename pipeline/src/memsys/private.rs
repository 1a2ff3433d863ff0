//! The level 1 caches and TLBs of a core.

mod copying;
mod peers;
mod prefetching;

use hps_isa::likely::{often, seldom};

use super::address_space::AddressSpace;
use super::coherence::Want;
use super::disorder::{DisorderStats, Evictions};
use super::level1::Level1;
use super::link::Link;
use super::mshr::Mshrs;
use super::prefetch::Prefetcher;
use super::shared::SharedMemory;
use super::tlb::{L2Tlb, Tlb, Translation};
use super::{
    Access, AccessResult, BusStats, CacheStats, CoherenceStats, CoreId, Level, MemoryStats,
    PrefetchStats, WriteBufferStats,
};
use crate::config::MemoryConfig;

/// Memory system of one core: level 1 caches, TLBs, and the link to the shared levels. Accesses that may miss take the
/// shared levels as an argument.
#[derive(Clone, Debug)]
pub struct PrivateMemory {
    pub(super) l1i: Level1,
    pub(super) l1d: Level1,
    pub(super) itlb: Tlb,
    pub(super) dtlb: Tlb,
    pub(super) l2_tlb: L2Tlb,
    pub(super) link: Link,
    /// Where the addresses lie that the context uses which has these caches.
    pub(super) space: AddressSpace,
}

hps_isa::save_state! { PrivateMemory { l1i, l1d, itlb, dtlb, l2_tlb, link, space } }

impl PrivateMemory {
    /// The empty caches of a core, of a configuration that passed its check.
    #[must_use]
    pub fn new(config: &MemoryConfig, core: CoreId, has_peers: bool) -> Self {
        let mut l1d = Level1::new(&config.l1d, config, true);
        let page_shift = config.page_bytes.trailing_zeros() - l1d.line_shift;
        let lines = config.l1d.size_bytes / config.l1d.line_bytes;
        l1d.prefetcher = Prefetcher::new(&config.l1d_prefetch, page_shift, lines as usize);
        PrivateMemory {
            l1i: Level1::new(&config.l1i, config, false),
            l1d,
            itlb: Tlb::new(&config.itlb, config.page_bytes),
            dtlb: Tlb::new(&config.dtlb, config.page_bytes),
            l2_tlb: L2Tlb::new(&config.l2_tlb),
            link: Link::new(config, core, has_peers),
            space: AddressSpace::default(),
        }
    }

    /// Whether other cores have caches, too.
    #[must_use]
    pub fn has_peers(&self) -> bool {
        self.link.has_peers
    }

    /// Addresses lie at these places from now on.
    pub(crate) fn set_address_space(&mut self, space: &AddressSpace) {
        if self.space != *space {
            self.space.clone_from(space);
        }
    }

    /// Another process runs: forgets all translations.
    pub(crate) fn forget_translations(&mut self) {
        self.itlb.clear();
        self.dtlb.clear();
        self.l2_tlb.clear();
    }

    /// Accesses will not come in order of time.
    pub(super) fn expect_disorder(&mut self, config: &MemoryConfig) {
        self.l1i.mshrs = Mshrs::out_of_order(config.l1i.mshrs);
        self.l1d.mshrs = Mshrs::out_of_order(config.l1d.mshrs);
        self.l1d.evictions = Some(Box::new(Evictions::new()));
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
    pub fn fetch(&mut self, shared: &mut SharedMemory, now: u64, addr: u64) -> AccessResult {
        if !self.l1i.take_port(now) {
            return AccessResult::Retry { at_cycle: now + 1 };
        }
        let addr = self.space.of(addr);
        let (delay, tlb_miss) = match self.itlb.translate(now, addr, &mut self.l2_tlb) {
            Translation::After { delay, missed } => (delay, missed),
            Translation::Retry(at_cycle) => return AccessResult::Retry { at_cycle },
        };
        if let Some(ready_cycle) = self.l1i.quick_hit(now, delay, addr, false) {
            return hit(ready_cycle, delay, tlb_miss);
        }
        let instruction = std::mem::replace(&mut self.link.instruction, addr);
        let fetched = self
            .l1i
            .access((&mut self.link, shared), now, delay, addr, false);
        self.link.instruction = instruction;
        if seldom(self.link.has_peers) {
            self.obey(shared, now);
        }
        result(fetched, delay, tlb_miss)
    }

    /// The next accesses to data are those of this instruction, for caches that learn from it.
    #[inline]
    pub(crate) fn tell_instruction(&mut self, pc: u64) {
        self.link.instruction = pc;
    }

    /// Loads `size` bytes.
    #[inline]
    pub fn load(
        &mut self,
        shared: &mut SharedMemory,
        now: u64,
        addr: u64,
        size: u8,
    ) -> AccessResult {
        let addr = self.space.of(addr);
        self.data(shared, now, addr, size, false)
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
        debug_assert!(self.link.write_buffer.is_none());
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
        shared: &mut SharedMemory,
        now: u64,
        addr: u64,
        size: u8,
        write: bool,
    ) -> AccessResult {
        self.data_on_port(shared, now, addr, size, write)
    }

    /// Counts an access to data that found no port.
    #[inline]
    pub(crate) fn count_busy_port(&mut self) {
        self.l1d.stats.port_busy_events += 1;
    }

    /// Stores `size` bytes: after commit, in program order.
    #[inline]
    pub fn store(
        &mut self,
        shared: &mut SharedMemory,
        now: u64,
        addr: u64,
        size: u8,
    ) -> AccessResult {
        let place = self.space.of(addr);
        if seldom(self.link.stores_apart) {
            return self.store_apart(shared, now, place, size);
        }
        self.data(shared, now, place, size, true)
    }

    /// A store to a write-through cache, or where other cores have caches, too.
    #[inline(never)]
    fn store_apart(
        &mut self,
        shared: &mut SharedMemory,
        now: u64,
        addr: u64,
        size: u8,
    ) -> AccessResult {
        if self.link.write_buffer.is_some() {
            self.store_through(shared, now, addr, size)
        } else {
            self.store_alone(shared, now, (addr, size), false)
        }
    }

    /// A store of a write-through cache: into its line, if that is there, and into the write buffer.
    #[inline(never)]
    fn store_through(
        &mut self,
        shared: &mut SharedMemory,
        now: u64,
        addr: u64,
        size: u8,
    ) -> AccessResult {
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
        if let Err(at_cycle) = self.link.put_store(shared, now, addr, last) {
            return AccessResult::Retry { at_cycle };
        }
        let l1d = &mut self.l1d;
        for part in std::iter::once(addr).chain(crosses.then_some(last)) {
            l1d.stats.write_access_events += 1;
            let by = self.link.requester(Want::Write);
            if !l1d.tags.access(part >> l1d.line_shift, false, by) {
                l1d.stats.write_miss_events += 1;
            }
        }
        if seldom(self.l1d.prefetcher.is_some()) {
            self.prefetch_behind_store(shared, now, delay, (addr, last));
        }
        let l1d = &self.l1d;
        AccessResult::Done(Access {
            ready_cycle: now + delay + l1d.hit_cycles + u64::from(crosses),
            level: Level::L1,
            walk_cycles: delay as u32,
            tlb_miss,
        })
    }

    #[inline(always)]
    fn data(
        &mut self,
        shared: &mut SharedMemory,
        now: u64,
        addr: u64,
        size: u8,
        write: bool,
    ) -> AccessResult {
        if !self.l1d.take_port(now) {
            return AccessResult::Retry { at_cycle: now + 1 };
        }
        self.data_on_port(shared, now, addr, size, write)
    }

    #[inline(always)]
    fn data_on_port(
        &mut self,
        shared: &mut SharedMemory,
        now: u64,
        addr: u64,
        size: u8,
        write: bool,
    ) -> AccessResult {
        if self.l1d.crosses(addr, size) {
            return self.data_in_two_lines(shared, now, addr, write);
        }
        self.data_in_line(shared, now, addr, write)
    }

    #[inline(always)]
    fn data_in_line(
        &mut self,
        shared: &mut SharedMemory,
        now: u64,
        addr: u64,
        write: bool,
    ) -> AccessResult {
        let (delay, tlb_miss) = match self.dtlb.translate(now, addr, &mut self.l2_tlb) {
            Translation::After { delay, missed } => (delay, missed),
            Translation::Retry(at_cycle) => return AccessResult::Retry { at_cycle },
        };
        if let Some(ready_cycle) = self.l1d.quick_hit(now, delay, addr, write) {
            return hit(ready_cycle, delay, tlb_miss);
        }
        if seldom(self.l1d.prefetcher.is_some()) {
            let accessed = self.access_and_prefetch(shared, now, delay, addr, write);
            return result(accessed, delay, tlb_miss);
        }
        result(
            self.access(shared, now, delay, addr, write),
            delay,
            tlb_miss,
        )
    }

    #[inline(always)]
    fn access(
        &mut self,
        shared: &mut SharedMemory,
        now: u64,
        delay: u64,
        addr: u64,
        write: bool,
    ) -> Result<(u64, Level), u64> {
        let accessed = self
            .l1d
            .access((&mut self.link, shared), now, delay, addr, write);
        if seldom(self.link.has_peers) {
            // The core's own level 2 cache may have dropped lines that the level 1 caches have.
            self.obey(shared, now);
        }
        accessed
    }

    #[cold]
    fn data_in_two_lines(
        &mut self,
        shared: &mut SharedMemory,
        now: u64,
        addr: u64,
        write: bool,
    ) -> AccessResult {
        let first = match self.data_in_line(shared, now, addr, write) {
            AccessResult::Done(access) => access,
            retry => return retry,
        };
        let next = self.l1d.next_line(addr);
        match self.data_in_line(shared, now + 1, next, write) {
            AccessResult::Done(second) => AccessResult::Done(first.and(second)),
            retry => retry,
        }
    }

    /// Whether a load of the line at `addr` would hit the level 1 data cache; changes nothing.
    #[inline]
    #[must_use]
    pub fn is_l1d_hit(&self, now: u64, addr: u64) -> bool {
        let line = self.space.of(addr) >> self.l1d.line_shift;
        self.l1d.tags.holds(line) && self.l1d.mshrs.find(now, line).is_none()
    }

    /// Flushes the instruction cache (an instruction-stream synchronisation).
    pub fn flush_l1i(&mut self) {
        self.l1i.tags.clear();
    }

    /// A fetch that takes no time and counts nothing: functional warming.
    #[inline(always)]
    pub fn warm_fetch(&mut self, shared: &mut SharedMemory, addr: u64) {
        let mapped = self.itlb.is_last(addr) || self.itlb.is_newest(addr);
        if !(mapped && self.l1i.tags.is_newest(addr >> self.l1i.line_shift)) {
            self.warm_fetch_slowly(shared, addr);
        }
    }

    #[inline(never)]
    fn warm_fetch_slowly(&mut self, shared: &mut SharedMemory, addr: u64) {
        self.itlb.warm(addr, &mut self.l2_tlb);
        self.l1i.warm((&mut self.link, shared), addr, false);
    }

    /// An access to data that takes no time and counts nothing: functional warming. Of those that
    /// cross a line only the first one is warmed.
    pub fn warm_data(&mut self, shared: &mut SharedMemory, addr: u64, write: bool) {
        self.dtlb.warm(addr, &mut self.l2_tlb);
        if write && self.link.write_buffer.is_some() {
            let by = self.link.requester(Want::Write);
            (self.l1d.tags).access(addr >> self.l1d.line_shift, false, by);
            self.link.warm(shared, addr, true);
        } else if seldom(self.l1d.prefetcher.is_some()) {
            self.l1d
                .warm_and_prefetch((&mut self.link, shared), addr, write);
        } else {
            self.l1d.warm((&mut self.link, shared), addr, write);
        }
    }

    /// Fast path of [`warm_data`](Self::warm_data) for a page and a line that are the newest of their sets. `false`
    /// for all other accesses, and then nothing has changed.
    #[inline(always)]
    pub fn warm_newest(&mut self, addr: u64, write: bool) -> bool {
        self.dtlb.is_newest(addr)
            && !(write && self.link.write_buffer.is_some())
            && (self.l1d.tags).use_newest(addr >> self.l1d.line_shift, write)
    }

    /// Misses of warming accesses: of the instruction cache, the data cache, the level 2 cache and the TLB for
    /// data.
    #[must_use]
    pub fn warmed(&self, shared: &SharedMemory) -> [u64; 4] {
        [
            self.l1i.warmed,
            self.l1d.warmed,
            shared.warmed,
            self.dtlb.warmed,
        ]
    }

    /// Effects of accesses out of order of time.
    fn disorder(&self, shared: &SharedMemory) -> DisorderStats {
        let mut all = self
            .l1d
            .evictions
            .as_ref()
            .map(|e| e.stats)
            .unwrap_or_default();
        all.add(&self.l1d.mshrs.crowded);
        all.add(&shared.crowded_of(self.link.core));
        all
    }

    /// Everything counted so far for this core, with the level 3 cache and the buses behind it, which count for all cores.
    #[must_use]
    pub fn stats(&self, shared: &SharedMemory) -> MemoryStats {
        let (l3, buffer) = (shared.l3.as_ref(), self.link.write_buffer.as_ref());
        let prefetcher = self.l1d.prefetcher.as_ref();
        MemoryStats {
            l1i: self.l1i.stats,
            l1d: self.l1d.stats,
            l2: *shared.stats_of(self.link.core),
            l3: l3.map_or_else(CacheStats::default, |l3| l3.stats),
            write_buffer: buffer.map_or_else(WriteBufferStats::default, |b| b.stats),
            itlb: self.itlb.stats,
            dtlb: self.dtlb.stats,
            l2_tlb: self.l2_tlb.stats,
            disorder: self.disorder(shared),
            l1_l2_bus: self.link.bus.stats,
            l3_bus: l3.map_or_else(BusStats::default, |l3| l3.bus.stats),
            memory_bus: shared.memory_bus.stats,
            coherence: shared
                .coherence
                .as_ref()
                .map_or_else(CoherenceStats::default, |a| *a.stats_of(self.link.core)),
            prefetch: prefetcher.map_or_else(PrefetchStats::default, |p| p.stats),
        }
    }
}

#[inline(always)]
pub(super) fn hit(ready_cycle: u64, delay: u64, tlb_miss: bool) -> AccessResult {
    AccessResult::Done(Access {
        ready_cycle,
        level: Level::L1,
        walk_cycles: delay as u32,
        tlb_miss,
    })
}

#[inline]
fn result(accessed: Result<(u64, Level), u64>, delay: u64, tlb_miss: bool) -> AccessResult {
    match accessed {
        Ok((ready_cycle, level)) => AccessResult::Done(Access {
            ready_cycle,
            level,
            walk_cycles: delay as u32,
            tlb_miss,
        }),
        Err(at_cycle) => AccessResult::Retry { at_cycle },
    }
}
