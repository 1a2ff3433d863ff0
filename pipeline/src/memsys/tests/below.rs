//! Write-through, write buffer and the level 3 cache: exact cycles, a brute-force model, conservation.

use super::*;
use crate::config::{L1dWrite, L3Config, WriteBufferConfig};

fn buffer() -> WriteBufferConfig {
    WriteBufferConfig {
        entries: 3,
        entry_bytes: 32,
        send_at_entries: 2,
        send_after_cycles: 64,
    }
}

/// The machine of the other tests with a data cache that writes through: level 2 hit 10, bus 1 and
/// one beat for an entry.
fn through(buffer: WriteBufferConfig) -> MemoryConfig {
    MemoryConfig {
        l1d_write: L1dWrite::WriteThrough(buffer),
        ..config()
    }
}

fn store(memory: &mut MemorySystem, now: u64, addr: u64) -> AccessResult {
    memory.store(now, addr, 8)
}

#[test]
fn stores_to_a_block_join_until_it_is_sent() {
    let mut memory = warm_tlbs(&through(buffer()));
    for addr in [0x0, 0x100, 0x200] {
        memory.warm_fetch(addr);
    }
    for (now, addr) in [(1000, 0x00), (1001, 0x08), (1002, 0x18)] {
        assert_eq!(done(store(&mut memory, now, addr)), (now + 2, Level::L1));
    }
    let stats = |memory: &MemorySystem| memory.stats().write_buffer;
    assert_eq!(
        (stats(&memory).merge_events, stats(&memory).send_events),
        (2, 0)
    );
    // A second block: the first is sent. A store to the first comes too late to join.
    done(store(&mut memory, 1003, 0x100));
    assert_eq!(stats(&memory).send_events, 1);
    done(store(&mut memory, 1004, 0x00));
    assert_eq!(
        (stats(&memory).merge_events, stats(&memory).send_events),
        (2, 2)
    );
    assert_eq!(stats(&memory).store_events, 5);
    let l2 = memory.stats().l2;
    assert_eq!((l2.write_access_events, l2.write_miss_events), (2, 0));
    assert_eq!(memory.stats().l1_l2_bus.data_bytes, 2 * 32);
}

#[test]
fn a_full_buffer_refuses_until_its_oldest_entry_is_written() {
    let mut memory = warm_tlbs(&through(buffer()));
    for addr in [0x000, 0x100, 0x200, 0x300, 0x400] {
        memory.warm_fetch(addr);
    }
    // The second store sends the first block: arrives in 1002, written in 1012. The third sends the
    // second block: written in 1013.
    done(store(&mut memory, 1000, 0x000));
    done(store(&mut memory, 1001, 0x100));
    done(store(&mut memory, 1002, 0x200));
    let before = memory.stats();
    assert_eq!(refused(store(&mut memory, 1003, 0x300)), 1012);
    let after = memory.stats();
    assert_eq!(
        after.write_buffer.full_events,
        before.write_buffer.full_events + 1
    );
    assert_eq!(after.l1d, before.l1d, "a refused store is not counted");
    // A store to a block that waits needs no entry.
    done(store(&mut memory, 1003, 0x210));
    done(store(&mut memory, 1012, 0x300));
}

#[test]
fn an_entry_alone_is_sent_after_its_time() {
    let mut memory = warm_tlbs(&through(buffer()));
    memory.warm_fetch(0);
    memory.warm_fetch(0x100);
    done(store(&mut memory, 1000, 0));
    // Sent in 1064, written in 1075: a store to it goes into a new entry.
    done(store(&mut memory, 1070, 0x8));
    let stats = memory.stats().write_buffer;
    assert_eq!((stats.merge_events, stats.send_events), (0, 1));
    assert_eq!(memory.stats().l2.write_access_events, 1);
}

#[test]
fn a_store_that_misses_allocates_in_level_2_alone() {
    let mut memory = warm_tlbs(&through(buffer()));
    done(store(&mut memory, 1000, 0x000));
    done(store(&mut memory, 1000, 0x100));
    let stats = memory.stats();
    assert_eq!(
        (stats.l1d.write_access_events, stats.l1d.write_miss_events),
        (2, 2)
    );
    assert_eq!((stats.l1d.fill_events, stats.l1d.write_back_events), (0, 0));
    assert_eq!((stats.l2.write_miss_events, stats.l2.fill_events), (1, 1));
    // Level 1 does not have it, level 2 does. The line of the first store was whole in 1127.
    assert!(!memory.is_l1d_hit(5000, 0x000));
    assert_eq!(done(memory.load(5000, 0x000, 8)).1, Level::L2);
    // A store into a line that is there writes it, and leaves it clean.
    assert_eq!(done(memory.load(6000, 0x000, 8)), (6002, Level::L1));
    done(store(&mut memory, 6001, 0x000));
    assert_eq!(memory.stats().l1d.write_miss_events, 2);
    assert_eq!(done(memory.load(6003, 0x000, 8)), (6005, Level::L1));
}

#[test]
fn a_load_that_misses_waits_for_the_stores_to_its_line() {
    let mut memory = warm_tlbs(&through(buffer()));
    done(store(&mut memory, 1000, 0x20));
    // The store is sent now: arrives in 1002, level 2 knows in 1012, data 1112, line 1116..1128. The
    // read comes behind it and has its data when the line is whole, a beat later.
    let (ready, level) = done(memory.load(1001, 0x00, 8));
    assert_eq!(level, Level::Memory);
    let stats = memory.stats();
    assert_eq!(stats.write_buffer.read_conflict_events, 1);
    assert_eq!(
        (stats.l2.read_merge_events, stats.l2.write_miss_events),
        (1, 1)
    );
    assert_eq!(ready, 1001 + 1 + 10 + 100 + 16 + 1);
    // Another line does not wait.
    done(store(&mut memory, 2000, 0x2020));
    done(memory.load(2001, 0x4000, 8));
    assert_eq!(memory.stats().write_buffer.read_conflict_events, 1);
}

#[test]
fn a_store_across_two_blocks_takes_two_entries() {
    let mut memory = warm_tlbs(&through(buffer()));
    done(memory.store(1000, 0x1c, 8));
    let stats = memory.stats().write_buffer;
    assert_eq!((stats.store_events, stats.merge_events), (2, 0));
    done(memory.store(1001, 0x30, 8));
    assert_eq!(memory.stats().write_buffer.merge_events, 1);
}

/// A level 3 cache of 4 KiB: hit 20, a line in 4 beats of 5 cycles.
fn with_l3(config: MemoryConfig) -> MemoryConfig {
    MemoryConfig {
        l3: L3Config {
            size_bytes: 4096,
            ways: 1,
            hit_cycles: 20,
            bytes_per_beat: 16,
            cycles_per_beat: 5,
            replacement: Replacement::Lru,
        },
        ..config
    }
}

#[test]
fn a_miss_of_level_2_goes_by_way_of_level_3() {
    let mut config = with_l3(config());
    // One line in each set of both levels, twice as many sets in level 3.
    config.l2.size_bytes = 2048;
    config.l2.ways = 1;
    config.l1d.size_bytes = 1024;
    config.l1d.ways = 1;
    let mut memory = warm_tlbs(&config);
    // Level 2 knows in 1013, level 3 in 1033, data 1133, first beat 1137, level 1 1138.
    assert_eq!(done(memory.load(1000, 0x000, 8)), (1138, Level::Memory));
    // Another line in both first levels, in another set of level 3.
    assert_eq!(done(memory.load(2000, 0x800, 8)), (2138, Level::Memory));
    // Level 3 knows in 3033, first beat 3038, level 1 3039.
    assert_eq!(done(memory.load(3000, 0x000, 8)), (3039, Level::L3));
    let stats = memory.stats();
    assert_eq!(
        (stats.l3.read_access_events, stats.l3.read_miss_events),
        (3, 2)
    );
    assert_eq!(
        (stats.l3_bus.data_bytes, stats.l3_bus.busy_cycles),
        (64, 20)
    );
    assert_eq!(stats.memory_bus.data_bytes, 2 * 64);
}

/// The brute-force model of three levels of data caches.
struct Model3 {
    l1: ModelCache,
    l2: ModelCache,
    l3: ModelCache,
    writes_through: bool,
    /// Changed lines that level 3 did not have, and those that made room in it.
    past_l3: u64,
    out_of_l3: u64,
}

impl Model3 {
    fn new(config: &MemoryConfig) -> Self {
        let l3 = crate::config::CacheConfig {
            size_bytes: config.l3.size_bytes,
            ways: config.l3.ways,
            ..config.l2.clone()
        };
        Model3 {
            l1: ModelCache::new(&config.l1d),
            l2: ModelCache::new(&config.l2),
            l3: ModelCache::new(&l3),
            writes_through: config.l1d_write != L1dWrite::WriteBack,
            past_l3: 0,
            out_of_l3: 0,
        }
    }

    fn write_l3(&mut self, addr: u64) {
        self.past_l3 += u64::from(!self.l3.touch(addr, true));
    }

    /// Level 2 misses.
    fn below(&mut self, addr: u64) -> Level {
        let level = if self.l3.touch(addr, false) {
            Level::L3
        } else {
            self.out_of_l3 += u64::from(self.l3.bring(addr, false).is_some());
            Level::Memory
        };
        if let Some(victim) = self.l2.bring(addr, false) {
            self.write_l3(victim);
        }
        level
    }

    fn access(&mut self, addr: u64, write: bool) -> Level {
        if write && self.writes_through {
            self.l1.touch(addr, false);
            if !self.l2.touch(addr, true) {
                self.below(addr);
                self.l2.touch(addr, true);
            }
            return Level::L1;
        }
        if self.l1.touch(addr, write) {
            return Level::L1;
        }
        let level = if self.l2.touch(addr, false) {
            Level::L2
        } else {
            self.below(addr)
        };
        if let Some(victim) = self.l1.bring(addr, write)
            && !self.l2.touch(victim, true)
        {
            self.write_l3(victim);
        }
        level
    }
}

#[test]
fn hits_and_misses_of_three_levels_are_those_of_a_brute_force_model() {
    for writes_through in [false, true] {
        let mut config = with_l3(small(Replacement::Lru));
        if writes_through {
            // Sent at once: the order of accesses is that of the model.
            config.l1d_write = L1dWrite::WriteThrough(WriteBufferConfig {
                send_at_entries: 1,
                ..buffer()
            });
        }
        let (mut memory, mut model) = (MemorySystem::new(&config), Model3::new(&config));
        let mut random = Random::new(29);
        let mut seen = HashMap::new();
        for step in 0..30_000_u64 {
            let addr = random_address(&mut random) & !7;
            let write = random.below(3) == 0;
            let got = if write {
                done(memory.store(step * 1000, addr, 8)).1
            } else {
                done(memory.load(step * 1000, addr, 8)).1
            };
            let expected = model.access(addr, write);
            assert_eq!(got, expected, "step {step}, through: {writes_through}");
            *seen.entry(got).or_insert(0) += 1;
        }
        assert_eq!(seen.len(), 4, "{seen:?}");
        let stats = memory.stats();
        assert_eq!(stats.l3.write_miss_events, model.past_l3);
        assert_eq!(stats.l3.write_back_events, model.out_of_l3);
        assert_eq!(stats.l3.read_access_events, stats.l2.fill_events);
        assert_eq!(stats.l3.fill_events, stats.l3.read_miss_events);
        assert!(model.past_l3 > 0 && model.out_of_l3 > 0);
        if writes_through {
            let buffer = stats.write_buffer;
            assert_eq!(stats.l1d.write_back_events, 0);
            assert_eq!(
                buffer.store_events,
                buffer.merge_events + buffer.send_events
            );
            assert_eq!(stats.l2.write_access_events, buffer.send_events);
            let l2 = stats.l2;
            assert_eq!(l2.fill_events, l2.read_miss_events + l2.write_miss_events);
        }
    }
}

#[test]
fn nothing_is_lost_in_dense_traffic_through_the_buffer() {
    for send_at_entries in [1, 2, 3] {
        let config = with_l3(MemoryConfig {
            l1d_write: L1dWrite::WriteThrough(WriteBufferConfig {
                send_at_entries,
                ..buffer()
            }),
            ..small(Replacement::Lru)
        });
        let mut memory = MemorySystem::new(&config);
        let levels = traffic(&mut memory, &config, 9);
        assert_eq!(levels.values().sum::<u64>(), 20_000);
        let stats = memory.stats();
        let buffer = stats.write_buffer;
        let left = buffer.store_events - buffer.merge_events - buffer.send_events;
        // The block that level 2 refused last waits, too.
        assert!(left <= 3, "{left} are still there");
        assert!(buffer.full_events > 0 && buffer.read_conflict_events > 0);
        assert!(buffer.merge_events > 0 || send_at_entries == 1);
        assert_eq!(stats.l2.write_access_events, buffer.send_events);
        assert_eq!(
            stats.l1d.fill_events, stats.l1d.read_miss_events,
            "stores bring nothing in"
        );
        assert_eq!(
            stats.l1_l2_bus.data_bytes,
            32 * (stats.l1d.fill_events + stats.l1i.fill_events + buffer.send_events)
        );
        let mut again = MemorySystem::new(&config);
        traffic(&mut again, &config, 9);
        assert_eq!(again.stats(), stats);
    }
}

#[test]
fn warming_leaves_what_timed_accesses_leave_in_three_levels() {
    let config = with_l3(MemoryConfig {
        l1d_write: L1dWrite::WriteThrough(WriteBufferConfig {
            send_at_entries: 1,
            ..buffer()
        }),
        ..small(Replacement::Lru)
    });
    let (mut timed, mut warmed) = (MemorySystem::new(&config), MemorySystem::new(&config));
    let mut random = Random::new(31);
    for step in 0..5000_u64 {
        let addr = random_address(&mut random) & !7;
        if random.below(3) == 0 {
            done(timed.store(step * 1000, addr, 8));
            warmed.warm_data(addr, true);
        } else {
            done(timed.load(step * 1000, addr, 8));
            warmed.warm_data(addr, false);
        }
    }
    assert_eq!(warmed.stats(), MemoryStats::default());
    for step in 6000..8000_u64 {
        let addr = random_address(&mut random) & !7;
        let (a, b) = (
            timed.load(step * 1000, addr, 8),
            warmed.load(step * 1000, addr, 8),
        );
        assert_eq!(a, b);
    }
}
