//! The memory system: when an access has its data.
//!
//! Nothing is simulated cycle by cycle: an access is told at once when its data are there, and
//! takes what it needs (MSHRs, ports, bus cycles) for the time it needs them. Calls come in order
//! of time (`now` never falls), or, from the instruction-driven core, nearly so
//! (`MemorySystem::pass`). Contents of guest memory are not held here; addresses are guest
//! addresses, and are their own translations but for those of child processes (rule 1).
//!
//! # Organization
//! Set-associative, write-back, write-allocate, non-blocking caches; two level 1 caches, one
//! unified level 2 cache that is neither inclusive nor exclusive, buses, memory. The data cache may
//! write through instead, without allocating, by way of a write buffer (rule 10); a level 3 cache may
//! lie between level 2 and memory (rule 11). Stores do not change what the instruction cache holds.
//!
//! Level 1 caches, TLBs, write buffer and the bus to level 2 belong to a core ([`PrivateMemory`]), everything
//! behind them to the chip ([`SharedMemory`]), level 2 caches of single cores included: there cores find each other's
//! lines. Every request to the chip says which core makes it.
//!
//! # Timing rules
//! Names are keys of [`MemoryConfig`]; `beats = line_bytes / bytes_per_cycle` of the bus, rounded
//! up, for the line of the level 1 cache.
//!
//! 1. **Translation.** TLB and cache are looked up at the same time: a TLB hit costs nothing. A TLB
//!    miss moves the access to a later start: `l2_tlb.hit_cycles` if the second level has the page,
//!    else `miss_cycles`. Another access to the same page waits for the end of that walk. At most 8
//!    walks of a TLB are under way; more are retried. Everything below counts from the start. When another process
//!    has its turn on a context, all translations of its core are forgotten; caches are not. Each process has lines of
//!    its own, but for memory that it shares with others (`place.rs`); all caches are looked up by these places. Stores on
//!    their way to the cache then count as the new process's.
//! 2. **Hit.** Data are there at `start + hit_cycles`.
//! 3. **Miss.** It is known at `start + hit_cycles`, takes an MSHR of the level 1 cache until its
//!    whole line is there, and sends a request that arrives `l1_l2_bus.latency_cycles` later.
//!    Each port of the level 2 cache begins one request in a cycle. Without `miss_adds_hit_cycles` a cache of any level
//!    knows of a miss at once, and its hit time is no part of what a miss takes.
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
//!    is there, but not before `start + hit_cycles`. With `part_bytes` it has them when its part of the line is
//!    there: of a line that comes from below, the part that was asked for comes first, and those behind it and
//!    around one after the other until the whole line is there.
//! 7. **Write-backs.** A changed line that makes room goes over the bus after the line that
//!    replaces it, in the first gap. The level 2 cache takes it if it has the line (no port, no
//!    time but the bus), else it goes on over the memory bus. Buffers for write-backs are not a
//!    limit.
//! 8. **Retry.** If every MSHR of a cache is taken, or every way of the set waits for its line,
//!    nothing happens and the access is to be tried again when the next of these lines is there. If
//!    every port of a level 1 cache is taken in this cycle, in the next cycle. With `queues_at_l2` a read that finds
//!    every MSHR of the level 2 cache taken keeps that of its level 1 cache, and begins there when one is free.
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
//! 12. **Several cores.** Each has level 1 caches, and by `chip.l2` a level 2 cache; what lies behind is shared. They
//!     agree on lines of the size of level 2 by MESI: a line is in the caches of one core, which may write it, or of any
//!     number that may read it. A read that no other core has is exclusive. A request that leaves a core's own caches,
//!     and a store to a line that it shares (an upgrade, which takes an MSHR of the level 1 cache), asks the others when
//!     it is known that it has to: behind the look-up of level 2, and for an upgrade in a shared level 2 cache when it
//!     arrives. If another core has the line exclusively, that core sends it `transfer_cycles` later, instead of what
//!     lies behind; if it was changed and is only read, it goes to the shared levels as well. If others share a line
//!     that is to be written, the answer is there `invalidate_cycles` later. With `Snooping` each question first takes
//!     the one bus of all cores for `snoop_bus_cycles`. Instruction caches do not take part.
//!
//!     A line has one transfer at a time: a question is answered `transfer_cycles` or `invalidate_cycles` behind the end of
//!     the transfer before it, when the line is where that one has brought it: whole in the level 1 cache of the core that
//!     asked, or in the shared levels that another reader gets it from. A write waits besides until all copies that are read
//!     are there. A changed line that leaves a core is there for others when it has been written. So the questions of cores
//!     about one line are answered in the order in which they are asked, and `n` operations on one word that cores share
//!     take at least `n × (transfer_cycles + beats)`. A store keeps its place in the store queue until its line has come
//!     from another core, and is performed then; the stores behind it may use the line for `keep_cycles` from the turn of
//!     the next core's question on, the time in which that comes to the owner. A core that is asked for a line on its way to
//!     it passes it on when it has come: what asked for it is done then, and later loads and atomics ask again and get the
//!     line behind the other core, since they have to find what that one writes. Contexts of one core share its caches,
//!     and ask nobody for each other's lines.
//!
//! 13. **Prefetching.** With `l1d_prefetch`, the level 1 data cache may want other lines behind a line that has missed,
//!     and behind the first use of a line that was prefetched. Each takes an MSHR and a way and sends its request when
//!     the cache knows of that miss or hit, after the request for the missing line. Without a free MSHR or way, or if the
//!     level 2 cache would have it retried, the prefetch is dropped. From then on the line is one like any other, and the
//!     cores agree on it as on one that is read; a store joins it on its way if no other core has it. No line of another page is wanted. Warming accesses bring the same
//!     lines, without time.
//!
//! Caches change when an access is accepted, not when its line comes: a victim is gone from then on.

mod address_space;
mod bus;
mod calendar;
mod coherence;
mod contention;
mod contents;
mod disorder;
mod level1;
mod level2;
mod level3;
mod link;
mod mshr;
mod prefetch;
mod private;
mod replacement;
mod shared;
mod stats;
mod system;
mod tags;
#[cfg(test)]
mod tests;
mod tlb;
mod transactions;
mod write_buffer;

pub(crate) use address_space::AddressSpace;
pub(crate) use contention::Accessor;
use serde::{Deserialize, Serialize};

pub use contention::{ContendedLine, Touch, TouchKind};
pub use disorder::DisorderStats;
pub use private::PrivateMemory;
pub use shared::SharedMemory;
pub use stats::{
    BusStats, CacheStats, CoherenceStats, MemoryStats, PrefetchStats, TlbStats, WriteBufferStats,
};
pub use system::MemorySystem;
pub use transactions::{Copies, Transaction, TransactionKind};

/// Where data come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Level {
    /// A level 1 cache.
    L1,
    /// The level 2 cache.
    L2,
    /// The level 3 cache.
    L3,
    /// The caches of another core.
    Core,
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
    /// Cycles until its translation was there.
    pub walk_cycles: u32,
    /// Whether the access waited for a translation.
    pub tlb_miss: bool,
}

// Each access is returned by value, in registers as long as it is no larger.
const _: () = assert!(size_of::<AccessResult>() <= 16);

impl Access {
    /// Both parts of an access to two lines.
    fn and(self, second: Access) -> Access {
        Access {
            ready_cycle: self.ready_cycle.max(second.ready_cycle),
            level: self.level.max(second.level),
            walk_cycles: self.walk_cycles.max(second.walk_cycles),
            tlb_miss: self.tlb_miss || second.tlb_miss,
        }
    }
}

/// Outcome of an access.
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

impl AccessResult {
    /// Of an access that ends once it has begun, since nothing waits for its data.
    pub(crate) fn without_wait(self, cycle: u64) -> Self {
        match self {
            AccessResult::Done(_) => AccessResult::Done(Access {
                ready_cycle: cycle,
                level: Level::L1,
                walk_cycles: 0,
                tlb_miss: false,
            }),
            retry @ AccessResult::Retry { .. } => retry,
        }
    }
}

/// A core of the chip, from 0: whose request it is.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct CoreId(pub u16);

hps_isa::save_values!(Level);

impl CoreId {
    /// The only core of a chip with one core.
    pub const FIRST: CoreId = CoreId(0);
}
