//! Caches, TLBs, buses, memory. The rules that turn these numbers into cycles stand in
//! [`crate::memsys`].

use super::node::{config_enum, config_section};

const KIB: u32 = 1024;

config_section! {
    /// The memory system. Caches are write-back and write-allocate, unless `l1d_write` says otherwise.
    MemoryConfig patched by MemoryPatch {
        /// Level 1 instruction cache.
        l1i: CacheConfig = CacheConfig::default(), "section";
        /// Level 1 data cache.
        l1d: CacheConfig = CacheConfig { hit_cycles: 2, mshrs: 8, ports: 2, ..CacheConfig::default() }, "section";
        /// What the level 1 data cache does with a store.
        l1d_write: L1dWrite = L1dWrite::WriteBack, "policy";
        /// What brings lines into the level 1 data cache before anything asks for them.
        #[serde(skip_serializing_if = "L1dPrefetch::is_off")]
        l1d_prefetch: L1dPrefetch = L1dPrefetch::Off, "policy";
        /// Unified level 2 cache.
        l2: CacheConfig = CacheConfig {
            size_bytes: 1024 * KIB, ways: 8, hit_cycles: 10, mshrs: 16, ..CacheConfig::default()
        }, "section";
        /// Level 3 cache, off chip.
        l3: L3Config = L3Config::default(), "section";
        /// Between the level 1 caches and the level 2 cache.
        l1_l2_bus: BusConfig = BusConfig::default(), "section";
        /// Between the last cache and memory.
        memory_bus: MemoryBusConfig = MemoryBusConfig::default(), "section";
        /// From the arrival of a request at the memory to its first data.
        latency_cycles: u32 = 100, "cycles";
        /// The clock in whose cycles the times of level 3, of the memory bus and of memory are given, which then last as
        /// long whatever the clock of the cores. 0: the clock of the cores.
        #[serde(skip_serializing_if = "is_zero")]
        clock_mhz: u32 = 0, "MHz";
        /// What prefetches in a program do: loads into register 31 on Alpha, prefetch.r and prefetch.w on RISC-V.
        #[serde(skip_serializing_if = "PrefetchInstructions::are_ignored")]
        prefetch_instructions: PrefetchInstructions = PrefetchInstructions::Ignored, "policy";
        /// A cache knows of a miss after its hit time, which the miss's latency then includes; otherwise at once, so that
        /// the times of the levels do not add up.
        #[serde(skip_serializing_if = "is_true")]
        miss_adds_hit_cycles: bool = true, "true or false";
        /// The word that was asked for comes first, and the access ends with it; otherwise an
        /// access ends with its whole line.
        critical_word_first: bool = true, "true or false";
        /// Lines come in parts of so many bytes, the one that was asked for first, then those behind it and those before; an
        /// access to a line on its way has its data with its part. 0: with the whole line.
        #[serde(skip_serializing_if = "is_zero")]
        part_bytes: u32 = 0, "bytes";
        /// A read that finds all MSHRs of the level 2 cache taken waits for one in the MSHR that it has in the level 1 cache;
        /// otherwise the access is tried again.
        #[serde(skip_serializing_if = "is_false")]
        queues_at_l2: bool = false, "true or false";
        /// TLB for instructions.
        itlb: TlbConfig = TlbConfig::default(), "section";
        /// TLB for data.
        dtlb: TlbConfig = TlbConfig { entries: 128, ..TlbConfig::default() }, "section";
        /// Second-level TLB for both.
        l2_tlb: L2TlbConfig = L2TlbConfig::default(), "section";
        /// Pages, as the TLBs see them.
        page_bytes: u32 = 4096, "bytes";
    }
}

fn is_zero(value: &u32) -> bool {
    *value == 0
}

config_enum! {
    /// Effect of prefetches in a program.
    PrefetchInstructions {
        /// Nothing, as any no-operation.
        Ignored,
        /// They bring a line into the level 1 data cache as a load does, with its place in the queue, its unit and its
        /// port, and end without waiting for it, as the 21264's do. They never fault.
        Performed,
    }
}

impl PrefetchInstructions {
    fn are_ignored(&self) -> bool {
        *self == PrefetchInstructions::Ignored
    }
}

impl MemoryConfig {
    /// Whether prefetches in a program access the cache.
    #[must_use]
    pub fn performs_prefetches(&self) -> bool {
        self.prefetch_instructions == PrefetchInstructions::Performed
    }

    /// Whether a cache learns from the instructions that access it.
    #[must_use]
    pub fn learns_by_instruction(&self) -> bool {
        let first = [&self.l1i, &self.l1d, &self.l2].map(|cache| &cache.replacement);
        let mut all = first.into_iter().chain([&self.l3.replacement]);
        all.any(Replacement::learns_by_instruction)
    }
}

fn is_false(value: &bool) -> bool {
    !*value
}

fn is_true(value: &bool) -> bool {
    *value
}

impl MemoryConfig {
    /// The same memory system with all times in cycles of cores with this clock, rounded up to whole ones.
    #[must_use]
    pub fn in_cycles_of(&self, core_mhz: u32) -> MemoryConfig {
        let mut memory = self.clone();
        if memory.clock_mhz == 0 || memory.clock_mhz == core_mhz {
            return memory;
        }
        let scale = |cycles: &mut u32| {
            let scaled =
                (u64::from(*cycles) * u64::from(core_mhz)).div_ceil(u64::from(self.clock_mhz));
            *cycles = u32::try_from(scaled).unwrap_or(u32::MAX);
        };
        scale(&mut memory.l3.hit_cycles);
        scale(&mut memory.l3.cycles_per_beat);
        scale(&mut memory.memory_bus.cycles_per_beat);
        scale(&mut memory.latency_cycles);
        memory.clock_mhz = core_mhz;
        memory
    }
}

config_section! {
    /// One cache.
    CacheConfig patched by CachePatch {
        /// Capacity; size / (ways × line) is a power of two.
        size_bytes: u32 = 32 * KIB, "bytes";
        /// Associativity.
        ways: u32 = 2, "ways";
        /// Line, a power of two.
        line_bytes: u32 = 64, "bytes";
        /// From the access to the data if the line is there; also the time a miss takes to be
        /// known.
        hit_cycles: u32 = 1, "cycles";
        /// Lines that may be on their way at once.
        mshrs: u32 = 4, "entries";
        /// Accesses that may begin in a cycle.
        ports: u32 = 1, "ports";
        /// Which line of a set makes room.
        replacement: Replacement = Replacement::Lru, "policy";
    }
}

config_enum! {
    /// Write policy of the level 1 data cache.
    L1dWrite {
        /// Writes its line, which it brings in first if it is not there; the changed line goes to
        /// the level 2 cache when it makes room.
        WriteBack,
        /// Writes its line if it is there, and hands the store on through a write buffer.
        WriteThrough(WriteBufferConfig),
    }
}

config_enum! {
    /// Brings lines into the level 1 data cache, at a miss and at the first use of a line that was brought so.
    L1dPrefetch {
        /// Nothing.
        Off,
        /// The next lines.
        NextLine(NextLineConfig),
        /// Lines at a distance that was seen twice in succession in a page.
        Stride(StrideConfig),
        /// Runs of neighbouring lines, upwards or downwards.
        Stream(StreamConfig),
    }
}

impl L1dPrefetch {
    fn is_off(&self) -> bool {
        *self == L1dPrefetch::Off
    }
}

config_section! {
    /// A prefetcher of next lines.
    NextLineConfig patched by NextLinePatch {
        /// Lines that are brought at once.
        degree: u32 = 1, "lines";
    }
}

config_section! {
    /// A prefetcher of strides.
    StrideConfig patched by StridePatch {
        /// Pages whose strides are known.
        entries: u32 = 64, "entries";
        /// Lines that are brought at once.
        degree: u32 = 2, "lines";
    }
}

config_section! {
    /// A prefetcher of streams.
    StreamConfig patched by StreamPatch {
        /// Streams that are known.
        streams: u32 = 8, "entries";
        /// Lines that are brought at once.
        degree: u32 = 2, "lines";
        /// How far ahead of the program they may be.
        distance: u32 = 8, "lines";
    }
}

config_section! {
    /// The write buffer between a write-through data cache and the level 2 cache.
    WriteBufferConfig patched by WriteBufferPatch {
        /// Blocks with stores that the level 2 cache has not taken.
        entries: u32 = 6, "entries";
        /// Block of an entry, a power of two; stores to the same block share an entry until it is
        /// sent.
        entry_bytes: u32 = 32, "bytes";
        /// Number of unsent entries at which the oldest one is sent.
        send_at_entries: u32 = 2, "entries";
        /// It is sent after this time at the latest.
        send_after_cycles: u32 = 64, "cycles";
    }
}

config_section! {
    /// The level 3 cache: off chip, with the lines of the level 2 cache and a bus of its own.
    L3Config patched by L3Patch {
        /// Capacity; size / (ways × line of level 2) is a power of two. 0 has none.
        size_bytes: u32 = 0, "bytes";
        /// Associativity.
        ways: u32 = 1, "ways";
        /// From a miss of the level 2 cache to the first beat of the line; also the time a miss
        /// takes to be known.
        hit_cycles: u32 = 12, "cycles";
        /// Data moved in one beat of its bus.
        bytes_per_beat: u32 = 16, "bytes";
        /// Length of a beat of its bus.
        cycles_per_beat: u32 = 4, "cycles";
        /// Which line of a set makes room.
        #[serde(skip_serializing_if = "Replacement::is_lru")]
        replacement: Replacement = Replacement::Lru, "policy";
    }
}

config_enum! {
    /// Which line of a set makes room.
    Replacement {
        /// The least recently used.
        Lru,
        /// A random one, from a generator with a fixed seed.
        Random,
        /// Tree pseudo-LRU; the ways must be a power of two.
        Plru,
        /// Static re-reference interval prediction (Jaleel et al., 2010): what was used once goes before what was used
        /// again.
        Srrip(SrripConfig),
        /// Signature-based hit prediction (Wu et al., 2011): lines of instructions whose lines are not used again leave
        /// first. The cycle-driven core alone has it.
        Ship(ShipConfig),
        /// Dynamic re-reference interval prediction: a part of what does not fit stays, if that is worth more.
        Drrip(DrripConfig),
    }
}

impl Replacement {
    /// Whether it learns from the instructions that ask.
    fn learns_by_instruction(&self) -> bool {
        matches!(self, Replacement::Ship(_))
    }

    fn is_lru(&self) -> bool {
        *self == Replacement::Lru
    }
}

config_section! {
    /// Static re-reference interval prediction.
    SrripConfig patched by SrripPatch {
        /// Prediction of each line.
        bits: u32 = 2, "bits";
    }
}

config_section! {
    /// Signature-based hit prediction.
    ShipConfig patched by ShipPatch {
        /// Prediction of each line.
        bits: u32 = 2, "bits";
        /// Counters that the addresses of instructions select, a power of two.
        counters: u32 = 16_384, "entries";
        /// Each counter.
        counter_bits: u32 = 3, "bits";
    }
}

config_section! {
    /// Dynamic re-reference interval prediction.
    DrripConfig patched by DrripPatch {
        /// Prediction of each line.
        bits: u32 = 2, "bits";
        /// Sets that show what either way of bringing lines in is worth, a power of two; an eighth of the sets at most.
        leader_sets: u32 = 32, "sets";
        /// Counter of their misses.
        selector_bits: u32 = 10, "bits";
        /// Of so many lines that are brought in to leave soon, one is not.
        long_one_in: u32 = 32, "lines";
    }
}

config_section! {
    /// The bus between two caches. Requests have wires of their own; data compete.
    BusConfig patched by BusPatch {
        /// Data moved in a cycle.
        bytes_per_cycle: u32 = 32, "bytes";
        /// From the sender to the receiver of a request.
        latency_cycles: u32 = 1, "cycles";
    }
}

config_section! {
    /// The bus to memory.
    MemoryBusConfig patched by MemoryBusPatch {
        /// Data moved in one beat.
        bytes_per_beat: u32 = 16, "bytes";
        /// Length of a beat.
        cycles_per_beat: u32 = 4, "cycles";
    }
}

config_section! {
    /// One TLB.
    TlbConfig patched by TlbPatch {
        /// All entries; entries / ways is a power of two.
        entries: u32 = 64, "entries";
        /// Associativity; the same as the entries makes it fully associative.
        ways: u32 = 4, "ways";
        /// A miss of every level: the page table walk.
        miss_cycles: u32 = 30, "cycles";
    }
}

config_section! {
    /// The second-level TLB.
    L2TlbConfig patched by L2TlbPatch {
        /// All entries; entries / ways is a power of two. 0 has none.
        entries: u32 = 0, "entries";
        /// Associativity.
        ways: u32 = 4, "ways";
        /// What a miss of the first level costs if the second level hits.
        hit_cycles: u32 = 7, "cycles";
    }
}
