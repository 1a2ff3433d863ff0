//! Which descriptions of the memory system are refused.

use super::{Checks, nearest_power};
use crate::config::MachineConfig;
use crate::config::memory::{CacheConfig, L1dPrefetch, L1dWrite, MemoryConfig, Replacement};

pub(super) fn check(memory: &MemoryConfig, c: &mut Checks) {
    check_cache("memory.l1i", &memory.l1i, c);
    check_cache("memory.l1d", &memory.l1d, c);
    check_cache("memory.l2", &memory.l2, c);
    check_write_buffer(memory, c);
    check_prefetch(memory, c);
    check_l3(memory, c);
    check_parts(memory, c);
    for (path, line) in [
        ("memory.l1i.line_bytes", memory.l1i.line_bytes),
        ("memory.l1d.line_bytes", memory.l1d.line_bytes),
    ] {
        if line > memory.l2.line_bytes {
            c.refuse(
                path,
                format!(
                    "is {line}, more than a line of the level 2 cache; allowed: up to \
                     `memory.l2.line_bytes`, which is {}",
                    memory.l2.line_bytes
                ),
            );
        }
    }
    let bus = &memory.l1_l2_bus;
    let width = "memory.l1_l2_bus.bytes_per_cycle";
    c.power(width, bus.bytes_per_cycle, 1, 1024);
    let latency = "memory.l1_l2_bus.latency_cycles";
    c.range(latency, bus.latency_cycles, 0, 1000);
    let beat = "memory.memory_bus.bytes_per_beat";
    c.power(beat, memory.memory_bus.bytes_per_beat, 1, 1024);
    c.range(
        "memory.memory_bus.cycles_per_beat",
        memory.memory_bus.cycles_per_beat,
        1,
        1000,
    );
    c.range("memory.latency_cycles", memory.latency_cycles, 1, 100_000);
    c.power("memory.page_bytes", memory.page_bytes, 4096, 1 << 30);
    for (path, tlb) in [("memory.itlb", &memory.itlb), ("memory.dtlb", &memory.dtlb)] {
        c.sets(path, tlb.entries, tlb.ways);
        c.range(&format!("{path}.miss_cycles"), tlb.miss_cycles, 0, 10_000);
    }
    if memory.l2_tlb.entries != 0 {
        c.sets("memory.l2_tlb", memory.l2_tlb.entries, memory.l2_tlb.ways);
        let hit = "memory.l2_tlb.hit_cycles";
        c.range(hit, memory.l2_tlb.hit_cycles, 0, 10_000);
    }
}

fn check_write_buffer(memory: &MemoryConfig, c: &mut Checks) {
    let L1dWrite::WriteThrough(buffer) = &memory.l1d_write else {
        return;
    };
    let key = |name: &str| format!("memory.l1d_write.WriteThrough.{name}");
    // A store across two blocks needs two at once.
    c.range(&key("entries"), buffer.entries, 2, 64);
    let most = memory.l1d.line_bytes.clamp(8, 1024);
    c.power(&key("entry_bytes"), buffer.entry_bytes, 8, most);
    c.range(
        &key("send_at_entries"),
        buffer.send_at_entries,
        1,
        u64::from(buffer.entries.clamp(1, 64)),
    );
    c.range(
        &key("send_after_cycles"),
        buffer.send_after_cycles,
        1,
        100_000,
    );
}

/// Parts of lines and waits at level 2 are rules of caches whose accesses come in order of time and that have no peers.
fn check_parts(memory: &MemoryConfig, c: &mut Checks) {
    let is_plain = memory.l1d_write == L1dWrite::WriteBack;
    let part = "memory.part_bytes";
    if memory.part_bytes > 0 {
        let most = memory.l1i.line_bytes.min(memory.l1d.line_bytes);
        c.power(part, memory.part_bytes, 8, most);
    }
    for (key, is_set) in [
        (part, memory.part_bytes > 0),
        ("memory.queues_at_l2", memory.queues_at_l2),
    ] {
        if is_set && is_plain {
            c.refuse(
                key,
                "is set, with caches that write back; allowed: with `memory.l1d_write: WriteThrough(...)`".to_string(),
            );
        }
    }
}

/// How much faster or slower than the cores the clock of memory may be, so that scaled times stay in their bounds.
const CLOCK_RATIO: u32 = 64;

/// The clock of memory, beside that of the cores.
pub(super) fn check_clock(machine: &MachineConfig, c: &mut Checks) {
    if machine.memory.clock_mhz > 0 {
        let cores = machine.clock_mhz;
        let most = u64::from(cores) * u64::from(CLOCK_RATIO);
        let least = cores.div_ceil(CLOCK_RATIO).max(1);
        c.range(
            "memory.clock_mhz",
            machine.memory.clock_mhz,
            least.into(),
            most,
        );
    }
}

fn check_prefetch(memory: &MemoryConfig, c: &mut Checks) {
    let key = |name: &str| format!("memory.l1d_prefetch.{name}");
    match &memory.l1d_prefetch {
        L1dPrefetch::Off => {}
        L1dPrefetch::NextLine(p) => {
            c.range(&key("NextLine.degree"), p.degree, 1, 16);
        }
        L1dPrefetch::Stride(p) => {
            c.range(&key("Stride.entries"), p.entries, 1, 1 << 16);
            c.range(&key("Stride.degree"), p.degree, 1, 16);
        }
        L1dPrefetch::Stream(p) => {
            c.range(&key("Stream.streams"), p.streams, 1, 256);
            c.range(&key("Stream.degree"), p.degree, 1, 16);
            c.range(&key("Stream.distance"), p.distance, 1, 64);
        }
    }
}

fn check_l3(memory: &MemoryConfig, c: &mut Checks) {
    let l3 = &memory.l3;
    if l3.size_bytes == 0 {
        return;
    }
    if c.range("memory.l3.ways", l3.ways, 1, 64) && memory.l2.line_bytes != 0 {
        let set_bytes = u64::from(l3.ways) * u64::from(memory.l2.line_bytes);
        let size = u64::from(l3.size_bytes);
        if !size.is_multiple_of(set_bytes) || !(size / set_bytes).is_power_of_two() {
            let sets = nearest_power((size / set_bytes).clamp(1, 1 << 20) as u32);
            c.refuse(
                "memory.l3.size_bytes",
                format!(
                    "is {size}, which does not make a power of two of sets of {} ways of {} bytes; \
                     allowed: 0, or {set_bytes} times a power of two, e.g. {}",
                    l3.ways,
                    memory.l2.line_bytes,
                    u64::from(sets) * set_bytes
                ),
            );
        }
        c.range("memory.l3.size_bytes", l3.size_bytes, set_bytes, 1 << 28);
    }
    check_replacement("memory.l3", &l3.replacement, l3.ways, c);
    c.range("memory.l3.hit_cycles", l3.hit_cycles, 1, 1000);
    c.power("memory.l3.bytes_per_beat", l3.bytes_per_beat, 1, 1024);
    c.range("memory.l3.cycles_per_beat", l3.cycles_per_beat, 1, 1000);
}

fn check_cache(path: &str, cache: &CacheConfig, c: &mut Checks) {
    let key = |name: &str| format!("{path}.{name}");
    let shape = c.power(&key("line_bytes"), cache.line_bytes, 16, 1024)
        & c.range(&key("ways"), cache.ways, 1, 64);
    if shape {
        let set_bytes = u64::from(cache.ways) * u64::from(cache.line_bytes);
        let size = u64::from(cache.size_bytes);
        if size == 0 || !size.is_multiple_of(set_bytes) || !(size / set_bytes).is_power_of_two() {
            let sets = nearest_power((size / set_bytes).clamp(1, 1 << 20) as u32);
            c.refuse(
                &key("size_bytes"),
                format!(
                    "is {size}, which does not make a power of two of sets of {} ways of {} \
                     bytes; allowed: {set_bytes} times a power of two, e.g. {}",
                    cache.ways,
                    cache.line_bytes,
                    u64::from(sets) * set_bytes
                ),
            );
        }
        c.range(&key("size_bytes"), cache.size_bytes, set_bytes, 1 << 28);
    }
    c.range(&key("hit_cycles"), cache.hit_cycles, 1, 1000);
    c.range(&key("mshrs"), cache.mshrs, 1, 64);
    c.range(&key("ports"), cache.ports, 1, 16);
    check_replacement(path, &cache.replacement, cache.ways, c);
}

fn check_replacement(path: &str, replacement: &Replacement, ways: u32, c: &mut Checks) {
    let key = |name: &str| format!("{path}.replacement.{name}");
    match replacement {
        Replacement::Plru if !ways.is_power_of_two() => c.refuse(
            &format!("{path}.replacement"),
            format!(
                "is Plru, which needs a power of two of ways, not {ways}; allowed: another policy, or `{path}.ways` of {}",
                nearest_power(ways)
            ),
        ),
        Replacement::Lru | Replacement::Random | Replacement::Plru => {}
        Replacement::Srrip(p) => {
            c.range(&key("Srrip.bits"), p.bits, 1, 7);
        }
        Replacement::Ship(p) => {
            c.range(&key("Ship.bits"), p.bits, 1, 7);
            c.power(&key("Ship.counters"), p.counters, 2, 1 << 20);
            c.range(&key("Ship.counter_bits"), p.counter_bits, 1, 8);
        }
        Replacement::Drrip(p) => {
            c.range(&key("Drrip.bits"), p.bits, 1, 7);
            c.power(&key("Drrip.leader_sets"), p.leader_sets, 1, 1 << 16);
            c.range(&key("Drrip.selector_bits"), p.selector_bits, 1, 24);
            c.range(&key("Drrip.long_one_in"), p.long_one_in, 1, 1 << 16);
        }
    }
}
