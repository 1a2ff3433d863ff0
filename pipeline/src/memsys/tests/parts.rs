//! Lines that come in parts, and reads that wait for an MSHR of the level 2 cache.

use super::*;
use crate::config::{L1dWrite, WriteBufferConfig};

/// The machine of the other tests with caches that write through.
fn through() -> MemoryConfig {
    MemoryConfig {
        l1d_write: L1dWrite::WriteThrough(WriteBufferConfig::default()),
        ..config()
    }
}

#[test]
fn a_merge_has_its_data_with_its_part() {
    let mut memory = warm_tlbs(&MemoryConfig {
        part_bytes: 16,
        ..through()
    });
    // The first beat, as without parts, is there in 1117, and a cycle later in level 1; the fourth is in 1129.
    assert_eq!(done(memory.load(1000, 0x68, 8)), (1118, Level::Memory));
    // The part itself, and then those behind it and around: the other three come within 11 cycles.
    for (now, addr, cycle) in [
        (1001, 0x60, 1118),
        (1002, 0x70, 1118 + 11 / 3),
        (1003, 0x40, 1118 + 22 / 3),
        (1004, 0x58, 1129),
    ] {
        assert_eq!(done(memory.load(now, addr, 8)), (cycle, Level::Memory));
    }
    // The other cache finds the line on its way in level 2. Its part comes last, and the bus takes a cycle.
    assert_eq!(done(memory.fetch(1005, 0x50)), (1130, Level::Memory));
}

#[test]
fn a_line_of_level_1_is_whole_with_its_own_parts() {
    let lines = |config: &mut MemoryConfig| {
        for cache in [&mut config.l1i, &mut config.l1d] {
            cache.line_bytes = 32;
        }
    };
    let mut config = MemoryConfig {
        part_bytes: 16,
        ..through()
    };
    lines(&mut config);
    let mut memory = warm_tlbs(&config);
    assert_eq!(done(memory.load(1000, 0x40, 8)), (1118, Level::Memory));
    // The second beat of four: 1121.
    assert_eq!(done(memory.load(1001, 0x50, 8)), (1121, Level::Memory));
    assert!(memory.is_l1d_hit(1121, 0x50));
    // The third beat comes to level 2 in 1125, and a cycle later to level 1.
    assert_eq!(done(memory.load(1001, 0x60, 8)), (1126, Level::Memory));
}

#[test]
fn reads_wait_for_an_mshr_of_level_2_where_they_queue() {
    let with = |queues_at_l2| {
        let mut config = MemoryConfig {
            queues_at_l2,
            ..through()
        };
        config.l2.mshrs = 1;
        warm_tlbs(&config)
    };
    let mut memory = with(false);
    assert_eq!(done(memory.load(1000, 0x40, 8)), (1118, Level::Memory));
    assert_eq!(refused(memory.load(1001, 0x140, 8)), 1129);
    let mut memory = with(true);
    assert_eq!(done(memory.load(1000, 0x40, 8)), (1118, Level::Memory));
    // Begins in level 2 in 1129: known in 1139, data in 1239, first beat in 1243, and a cycle later in level 1.
    assert_eq!(done(memory.load(1001, 0x140, 8)), (1244, Level::Memory));
    // The third begins when the second is whole, in 1255.
    assert_eq!(done(memory.load(1002, 0x240, 8)), (1370, Level::Memory));
    assert_eq!(memory.stats().l2.fill_events, 3);
    // Of the second line, a merge as ever.
    assert_eq!(done(memory.load(1003, 0x148, 8)), (1255, Level::Memory));
}

#[test]
fn nothing_is_lost_in_dense_traffic_of_parts_that_queues() {
    let config = MemoryConfig {
        part_bytes: 8,
        queues_at_l2: true,
        ..small(Replacement::Lru)
    };
    let config = MemoryConfig {
        l1d_write: through().l1d_write,
        ..config
    };
    let mut memory = MemorySystem::new(&config);
    let levels = traffic(&mut memory, &config, 9);
    assert_eq!(levels.values().sum::<u64>(), 20_000);
    let l2 = memory.stats().l2;
    assert_eq!(l2.fill_events, l2.read_miss_events + l2.write_miss_events);
    assert!(l2.mshr_full_events > 0);
}
