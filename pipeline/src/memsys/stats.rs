//! Counters of the memory system.

use hps_system::process::HardwareEvents;
use serde::{Deserialize, Serialize};

use super::{DisorderStats, PrivateMemory};

/// Declares counters of events: the struct, its sum and its difference.
macro_rules! events {
    ($(#[$about:meta])* $name:ident { $($(#[$doc:meta])* $field:ident,)+ }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        pub struct $name {
            $($(#[$doc])* pub $field: u64,)+
        }

        impl $name {
            /// Adds what others have counted.
            pub(super) fn add(&mut self, other: &$name) {
                $(self.$field += other.$field;)+
            }

            /// The counters of a part of a run that stands for so many times as much.
            pub(super) fn scaled(&self, factor: f64) -> $name {
                $name { $($field: (self.$field as f64 * factor).round() as u64,)+ }
            }

            /// Counts since an earlier state of these counters.
            pub(super) fn since(&self, earlier: &$name) -> $name {
                $name { $($field: self.$field - earlier.$field,)+ }
            }
        }
    };
}
pub(super) use events;

events! {
    /// Events of one cache. An access that has to be tried again counts once, when it is accepted.
    CacheStats {
        /// Reads: fetches, loads; for the level 2 cache the requests of the level 1 caches.
        read_access_events,
        /// Reads that asked the next level for their line.
        read_miss_events,
        /// Reads that found their line on its way.
        read_merge_events,
        /// Writes: stores; for the level 2 cache the write-backs of the level 1 data cache.
        write_access_events,
        /// Writes that asked the next level for their line (of a write-through cache: that did not find
        /// it); for the level 2 and 3 caches the write-backs that they do not hold and hand on.
        write_miss_events,
        /// Writes that found their line on its way.
        write_merge_events,
        /// Lines brought in.
        fill_events,
        /// Changed lines written to the next level when they made room.
        write_back_events,
        /// Accesses refused because every MSHR, or every way of the set, waits for a line.
        mshr_full_events,
        /// Accesses refused because every port is taken in that cycle.
        port_busy_events,
    }
}

events! {
    /// Events of one TLB.
    TlbStats {
        /// Translations, those of accesses that the cache then refused included.
        access_events,
        /// Translations that it did not hold.
        miss_events,
        /// Translations that waited for a walk that another one had begun.
        merge_events,
        /// Accesses refused because too many walks were under way.
        walks_full_events,
    }
}

events! {
    /// Events of the write buffer of a write-through data cache.
    WriteBufferStats {
        /// Stores, those that joined an entry included. A store across two blocks counts twice.
        store_events,
        /// Stores that joined an entry.
        merge_events,
        /// Entries sent to the level 2 cache.
        send_events,
        /// Entries sent since a read needed them.
        read_conflict_events,
        /// Stores refused because every entry is taken.
        full_events,
    }
}

events! {
    /// Lines that the prefetcher of the level 1 data cache brings. A line is used, lost, or neither yet.
    PrefetchStats {
        /// Lines that it has brought, or that are on their way.
        issue_events,
        /// Used ones among them.
        use_events,
        /// Lines among them that were still on their way then.
        late_events,
        /// Lines that made room before anything had used them.
        waste_events,
        /// Lines that it wanted for which there was no MSHR or no way.
        refused_events,
    }
}

events! {
    /// Traffic of one bus.
    BusStats {
        /// Bytes moved, in both directions.
        data_bytes,
        /// Cycles in which data moved.
        busy_cycles,
    }
}

events! {
    /// Costs of coherence to one of several cores.
    CoherenceStats {
        /// Writes to a line that it shared, for which it had to ask.
        upgrade_events,
        /// Lines that another core sent, as it had them exclusively.
        transfer_events,
        /// Lines among them that the other core had changed.
        changed_transfer_events,
        /// Lines that it lost, since another core writes them.
        invalidation_events,
        /// Lines that it may only read any more, since another core reads them.
        downgrade_events,
        /// Cycles that its requests waited for earlier transfers of their lines.
        queue_cycles,
    }
}

hps_isa::save_values!(
    CacheStats,
    TlbStats,
    WriteBufferStats,
    PrefetchStats,
    BusStats,
    CoherenceStats
);

/// Everything that the memory system counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
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

/// Adds parts of other counters.
macro_rules! add {
    ($mine:expr, $theirs:expr; $($part:ident),+) => {
        $( $mine.$part.add(&$theirs.$part); )+
    };
}

impl MemoryStats {
    /// Adds what another core of the same chip has counted of its own; what lies behind counts for all cores already.
    pub fn add_core(&mut self, other: &MemoryStats) {
        add!(self, other; l1i, l1d, l2, itlb, dtlb, l2_tlb, write_buffer, l1_l2_bus, coherence, prefetch);
    }

    /// Adds what another part of the run has counted.
    pub fn add(&mut self, other: &MemoryStats) {
        self.add_core(other);
        add!(self, other; l3, l3_bus, memory_bus, disorder);
    }

    /// Counts since an earlier state of these counters.
    #[must_use]
    pub fn since(&self, earlier: &MemoryStats) -> MemoryStats {
        MemoryStats {
            l1i: self.l1i.since(&earlier.l1i),
            l1d: self.l1d.since(&earlier.l1d),
            l2: self.l2.since(&earlier.l2),
            l3: self.l3.since(&earlier.l3),
            write_buffer: self.write_buffer.since(&earlier.write_buffer),
            itlb: self.itlb.since(&earlier.itlb),
            dtlb: self.dtlb.since(&earlier.dtlb),
            l2_tlb: self.l2_tlb.since(&earlier.l2_tlb),
            l1_l2_bus: self.l1_l2_bus.since(&earlier.l1_l2_bus),
            l3_bus: self.l3_bus.since(&earlier.l3_bus),
            memory_bus: self.memory_bus.since(&earlier.memory_bus),
            coherence: self.coherence.since(&earlier.coherence),
            prefetch: self.prefetch.since(&earlier.prefetch),
            disorder: self.disorder.since(&earlier.disorder),
        }
    }

    /// The counters of a part of a run that stands for so many times as much.
    #[must_use]
    pub fn scaled(&self, factor: f64) -> MemoryStats {
        MemoryStats {
            l1i: self.l1i.scaled(factor),
            l1d: self.l1d.scaled(factor),
            l2: self.l2.scaled(factor),
            l3: self.l3.scaled(factor),
            write_buffer: self.write_buffer.scaled(factor),
            itlb: self.itlb.scaled(factor),
            dtlb: self.dtlb.scaled(factor),
            l2_tlb: self.l2_tlb.scaled(factor),
            l1_l2_bus: self.l1_l2_bus.scaled(factor),
            l3_bus: self.l3_bus.scaled(factor),
            memory_bus: self.memory_bus.scaled(factor),
            coherence: self.coherence.scaled(factor),
            prefetch: self.prefetch.scaled(factor),
            disorder: self.disorder.scaled(factor),
        }
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
