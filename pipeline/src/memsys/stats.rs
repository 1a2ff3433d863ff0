//! Counters of the memory system.

use hps_sim_core::process::HardwareEvents;
use serde::{Deserialize, Serialize};

use super::{DisorderStats, PrivateMemory};

/// Events of one cache. An access that has to be tried again counts once, when it is accepted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CacheStats {
    /// Reads: fetches, loads; for the level 2 cache the requests of the level 1 caches.
    pub read_access_events: u64,
    /// Reads that asked the next level for their line.
    pub read_miss_events: u64,
    /// Reads that found their line on its way.
    pub read_merge_events: u64,
    /// Writes: stores; for the level 2 cache the write-backs of the level 1 data cache.
    pub write_access_events: u64,
    /// Writes that asked the next level for their line (of a write-through cache: that did not find
    /// it); for the level 2 and 3 caches the write-backs that they do not hold and hand on.
    pub write_miss_events: u64,
    /// Writes that found their line on its way.
    pub write_merge_events: u64,
    /// Lines brought in.
    pub fill_events: u64,
    /// Changed lines written to the next level when they made room.
    pub write_back_events: u64,
    /// Accesses refused because every MSHR, or every way of the set, waits for a line.
    pub mshr_full_events: u64,
    /// Accesses refused because every port is taken in that cycle.
    pub port_busy_events: u64,
}

/// Events of one TLB.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TlbStats {
    /// Translations, those of accesses that the cache then refused included.
    pub access_events: u64,
    /// Translations that it did not hold.
    pub miss_events: u64,
    /// Translations that waited for a walk that another one had begun.
    pub merge_events: u64,
    /// Accesses refused because too many walks were under way.
    pub walks_full_events: u64,
}

/// Events of the write buffer of a write-through data cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WriteBufferStats {
    /// Stores, those that joined an entry included. A store across two blocks counts twice.
    pub store_events: u64,
    /// Stores that joined an entry.
    pub merge_events: u64,
    /// Entries sent to the level 2 cache.
    pub send_events: u64,
    /// Entries sent since a read needed them.
    pub read_conflict_events: u64,
    /// Stores refused because every entry is taken.
    pub full_events: u64,
}

/// Lines that the prefetcher of the level 1 data cache brings. A line is used, lost, or neither yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PrefetchStats {
    /// Lines that it has brought, or that are on their way.
    pub issue_events: u64,
    /// Used ones among them.
    pub use_events: u64,
    /// Lines among them that were still on their way then.
    pub late_events: u64,
    /// Lines that made room before anything had used them.
    pub waste_events: u64,
    /// Lines that it wanted for which there was no MSHR or no way.
    pub refused_events: u64,
}

/// Traffic of one bus.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BusStats {
    /// Bytes moved, in both directions.
    pub data_bytes: u64,
    /// Cycles in which data moved.
    pub busy_cycles: u64,
}

/// Costs of coherence to one of several cores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CoherenceStats {
    /// Writes to a line that it shared, for which it had to ask.
    pub upgrade_events: u64,
    /// Lines that another core sent, as it had them exclusively.
    pub transfer_events: u64,
    /// Lines among them that the other core had changed.
    pub changed_transfer_events: u64,
    /// Lines that it lost, since another core writes them.
    pub invalidation_events: u64,
    /// Lines that it may only read any more, since another core reads them.
    pub downgrade_events: u64,
    /// Cycles that its requests waited for earlier transfers of their lines.
    pub queue_cycles: u64,
}

hps_sim_core::save_values!(
    CacheStats,
    TlbStats,
    WriteBufferStats,
    PrefetchStats,
    BusStats,
    CoherenceStats
);

/// Everything that the memory system counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryStats {
    /// Level 1 instruction cache.
    pub l1i: CacheStats,
    /// Level 1 data cache.
    pub l1d: CacheStats,
    /// Level 2 cache.
    pub l2: CacheStats,
    /// Level 3 cache; all zero if there is none.
    pub l3: CacheStats,
    /// Write buffer; all zero if the data cache writes back.
    pub write_buffer: WriteBufferStats,
    /// Instruction TLB.
    pub itlb: TlbStats,
    /// Data TLB.
    pub dtlb: TlbStats,
    /// Second-level TLB; all zero if there is none.
    pub l2_tlb: TlbStats,
    /// Bus between level 1 and level 2.
    pub l1_l2_bus: BusStats,
    /// Bus of the level 3 cache.
    pub l3_bus: BusStats,
    /// Bus to memory.
    pub memory_bus: BusStats,
    /// Lines that other cores want; all zero if there is only one core.
    pub coherence: CoherenceStats,
    /// Prefetcher of the level 1 data cache; all zero if there is none.
    pub prefetch: PrefetchStats,
    /// Effects of accesses out of order of time; all zero where accesses come in order.
    pub disorder: DisorderStats,
}

macro_rules! add {
    ($mine:expr, $theirs:expr, $($field:ident),+) => {
        $( $mine.$field += $theirs.$field; )+
    };
}

impl CacheStats {
    fn add(&mut self, other: &CacheStats) {
        add!(
            self,
            other,
            read_access_events,
            read_miss_events,
            read_merge_events,
            write_access_events,
            write_miss_events,
            write_merge_events,
            fill_events,
            write_back_events,
            mshr_full_events,
            port_busy_events
        );
    }
}

impl TlbStats {
    fn add(&mut self, other: &TlbStats) {
        add!(
            self,
            other,
            access_events,
            miss_events,
            merge_events,
            walks_full_events
        );
    }
}

impl MemoryStats {
    /// Adds what another core of the same chip has counted of its own; what lies behind counts for all cores already.
    pub fn add_core(&mut self, other: &MemoryStats) {
        self.l1i.add(&other.l1i);
        self.l1d.add(&other.l1d);
        self.l2.add(&other.l2);
        self.itlb.add(&other.itlb);
        self.dtlb.add(&other.dtlb);
        self.l2_tlb.add(&other.l2_tlb);
        add!(
            self.write_buffer,
            other.write_buffer,
            store_events,
            merge_events,
            send_events,
            read_conflict_events,
            full_events
        );
        add!(self.l1_l2_bus, other.l1_l2_bus, data_bytes, busy_cycles);
        add!(
            self.coherence,
            other.coherence,
            upgrade_events,
            transfer_events,
            changed_transfer_events,
            invalidation_events,
            downgrade_events,
            queue_cycles
        );
        add!(
            self.prefetch,
            other.prefetch,
            issue_events,
            use_events,
            late_events,
            waste_events,
            refused_events
        );
    }
}

impl PrivateMemory {
    /// Fills in what threads may count of the caches and TLBs of their core.
    pub(crate) fn tell_threads(&self, events: &mut HardwareEvents) {
        let (l1d, l1i) = (&self.l1d.stats, &self.l1i.stats);
        events.l1d_reads = l1d.read_access_events;
        events.l1d_read_misses = l1d.read_miss_events;
        events.l1d_writes = l1d.write_access_events;
        events.l1d_write_misses = l1d.write_miss_events;
        events.l1i_reads = l1i.read_access_events;
        events.l1i_read_misses = l1i.read_miss_events;
        events.dtlb_accesses = self.dtlb.stats.access_events;
        events.dtlb_misses = self.dtlb.stats.miss_events;
        events.itlb_accesses = self.itlb.stats.access_events;
        events.itlb_misses = self.itlb.stats.miss_events;
    }
}

macro_rules! named {
    ($out:ident, $part:literal, $from:expr, $($field:ident),+) => {
        $( $out.push((concat!($part, ".", stringify!($field)), $from.$field)); )+
    };
}

macro_rules! cache {
    ($out:ident, $part:literal, $from:expr) => {
        named!(
            $out,
            $part,
            $from,
            read_access_events,
            read_miss_events,
            read_merge_events,
            write_access_events,
            write_miss_events,
            write_merge_events,
            fill_events,
            write_back_events,
            mshr_full_events,
            port_busy_events
        );
    };
}

macro_rules! tlb {
    ($out:ident, $part:literal, $from:expr) => {
        named!(
            $out,
            $part,
            $from,
            access_events,
            miss_events,
            merge_events,
            walks_full_events
        );
    };
}

impl MemoryStats {
    /// The names of all counters.
    #[must_use]
    pub fn names() -> Vec<&'static str> {
        let mut all = MemoryStats::default();
        all.coherence.upgrade_events = 1;
        all.prefetch.issue_events = 1;
        all.entries().into_iter().map(|(name, _)| name).collect()
    }

    /// A counter by its name; 0 if nothing is called so.
    #[must_use]
    pub fn named(&self, name: &str) -> u64 {
        let entries = self.entries();
        let found = entries.iter().find(|(known, _)| *known == name);
        found.map_or(0, |(_, count)| *count)
    }

    /// Every counter with its name as reported, e.g. `l1d.read_miss_events`.
    #[must_use]
    pub fn entries(&self) -> Vec<(&'static str, u64)> {
        let mut out = Vec::with_capacity(size_of::<MemoryStats>() / size_of::<u64>());
        cache!(out, "l1i", self.l1i);
        cache!(out, "l1d", self.l1d);
        cache!(out, "l2", self.l2);
        cache!(out, "l3", self.l3);
        named!(
            out,
            "write_buffer",
            self.write_buffer,
            store_events,
            merge_events,
            send_events,
            read_conflict_events,
            full_events
        );
        tlb!(out, "itlb", self.itlb);
        tlb!(out, "dtlb", self.dtlb);
        tlb!(out, "l2_tlb", self.l2_tlb);
        named!(out, "l1_l2_bus", self.l1_l2_bus, data_bytes, busy_cycles);
        named!(out, "l3_bus", self.l3_bus, data_bytes, busy_cycles);
        named!(out, "memory_bus", self.memory_bus, data_bytes, busy_cycles);
        if self.coherence != CoherenceStats::default() {
            named!(
                out,
                "coherence",
                self.coherence,
                upgrade_events,
                transfer_events,
                changed_transfer_events,
                invalidation_events,
                downgrade_events,
                queue_cycles
            );
        }
        if self.disorder != DisorderStats::default() {
            named!(
                out,
                "disorder",
                self.disorder,
                early_eviction_events,
                early_eviction_cycles,
                crowded_events,
                crowded_cycles
            );
        }
        if self.prefetch != PrefetchStats::default() {
            named!(
                out,
                "prefetch",
                self.prefetch,
                issue_events,
                use_events,
                late_events,
                waste_events,
                refused_events
            );
        }
        out
    }
}
