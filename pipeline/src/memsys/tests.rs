//! Tests: exact cycles of hand-computed cases, a brute-force model, conservation.

use super::*;
use crate::config::{
    BusConfig, DrripConfig, L2TlbConfig, MachineConfig, MemoryBusConfig, MemoryConfig, Replacement,
    ShipConfig, SrripConfig, TlbConfig,
};

mod below;
mod model;
mod parts;
mod prefetching;

use crate::predict::tests::Random;
use model::{ModelCache, random_address, small, traffic};
use std::collections::HashMap;

/// The numbers of `hps-4wide`: level 1 hit 2 (data) and 1 (instructions), bus 1 + 2 beats, level 2
/// hit 10, memory 100, memory bus 4 beats of 4 cycles. Every TLB miss costs 30.
fn config() -> MemoryConfig {
    MachineConfig::default().memory
}

/// A memory system whose TLBs know the first pages, so that translations take no time.
fn warm_tlbs(config: &MemoryConfig) -> MemorySystem {
    let mut memory = MemorySystem::new(config);
    for page in 0..32 {
        memory
            .private
            .itlb
            .warm(page * 4096, &mut memory.private.l2_tlb);
        memory
            .private
            .dtlb
            .warm(page * 4096, &mut memory.private.l2_tlb);
    }
    memory
}

fn done(result: AccessResult) -> (u64, Level) {
    match result {
        AccessResult::Done(access) => (access.ready_cycle, access.level),
        AccessResult::Retry { at_cycle } => panic!("refused until {at_cycle}"),
    }
}

fn refused(result: AccessResult) -> u64 {
    match result {
        AccessResult::Retry { at_cycle } => at_cycle,
        AccessResult::Done(access) => panic!("accepted: {access:?}"),
    }
}

#[test]
fn a_miss_to_memory_its_merges_and_the_hit_after_it() {
    let mut memory = warm_tlbs(&config());
    // known 1002, request 1003, level 2 knows 1013, data 1113, first beat 1117, level 1 1118.
    assert_eq!(done(memory.load(1000, 0x40, 8)), (1118, Level::Memory));
    assert!(!memory.is_l1d_hit(1001, 0x40));
    // The line is whole after the fourth beat: 1113 + 16.
    assert_eq!(done(memory.load(1001, 0x48, 8)), (1129, Level::Memory));
    assert_eq!(done(memory.store(1128, 0x50, 8)), (1130, Level::Memory));
    assert!(memory.is_l1d_hit(1129, 0x40));
    assert_eq!(done(memory.load(1129, 0x40, 8)), (1131, Level::L1));
    let stats = memory.stats();
    let l1d = stats.l1d;
    assert_eq!((l1d.read_access_events, l1d.read_miss_events), (3, 1));
    assert_eq!((l1d.read_merge_events, l1d.write_merge_events), (1, 1));
    assert_eq!(stats.l2.read_miss_events, 1);
    assert_eq!(
        (stats.l1_l2_bus.busy_cycles, stats.memory_bus.busy_cycles),
        (2, 16)
    );
}

#[test]
fn without_critical_word_first_an_access_ends_with_its_line() {
    let mut memory = warm_tlbs(&MemoryConfig {
        critical_word_first: false,
        ..config()
    });
    // data 1113, last beat 1129, level 1 after two beats of its bus.
    assert_eq!(done(memory.load(1000, 0x40, 8)), (1131, Level::Memory));
    // The same line from the other cache: known 2001, request 2002, data 2012, two beats.
    assert_eq!(done(memory.fetch(2000, 0x40)), (2014, Level::L2));
}

#[test]
fn a_level_2_hit() {
    let mut memory = warm_tlbs(&config());
    memory.warm_data(0x40, false);
    assert_eq!(done(memory.fetch(1000, 0x40)), (1013, Level::L2));
    assert_eq!(
        done(memory.fetch(1013, 0x40)),
        (1014, Level::L2),
        "whole in 1014"
    );
    assert_eq!(done(memory.fetch(1014, 0x40)), (1015, Level::L1));
}

#[test]
fn two_level_1_caches_share_a_line_on_its_way() {
    let mut memory = warm_tlbs(&config());
    assert_eq!(done(memory.load(1000, 0x40, 8)), (1118, Level::Memory));
    // The level 2 line is whole in 1129; the bus is free then.
    assert_eq!(done(memory.fetch(1010, 0x40)), (1130, Level::Memory));
    let l2 = memory.stats().l2;
    assert_eq!(
        (
            l2.read_access_events,
            l2.read_miss_events,
            l2.read_merge_events
        ),
        (2, 1, 1)
    );
}

#[test]
fn the_memory_bus_limits_misses_and_leaves_gaps_to_hits() {
    let mut memory = warm_tlbs(&config());
    memory.warm_fetch(0x1000);
    assert_eq!(done(memory.load(1000, 0x000, 8)), (1118, Level::Memory));
    // The second request reaches the level 2 port a cycle later and waits for the memory bus:
    // 1113..1129 is taken, first beat 1133.
    assert_eq!(done(memory.load(1000, 0x040, 8)), (1134, Level::Memory));
    assert_eq!(done(memory.load(1001, 0x080, 8)), (1150, Level::Memory));
    // A level 2 hit after them finds the level 1 bus free long before their lines come.
    assert_eq!(done(memory.load(1004, 0x1000, 8)), (1018, Level::L2));
}

#[test]
fn one_request_begins_in_a_cycle_at_each_port_of_level_2() {
    for (ports, second) in [(1, 1015), (2, 1015)] {
        let mut config = config();
        config.l2.ports = ports;
        config.l1_l2_bus.bytes_per_cycle = 64;
        let mut memory = warm_tlbs(&config);
        memory.warm_fetch(0x1000);
        memory.warm_fetch(0x1040);
        assert_eq!(done(memory.load(1000, 0x1000, 8)), (1014, Level::L2));
        // With one port the request waits there, with two the line waits for the bus.
        assert_eq!(done(memory.load(1000, 0x1040, 8)), (second, Level::L2));
    }
}

#[test]
fn ports_of_level_1_are_per_cycle() {
    let mut memory = warm_tlbs(&config());
    memory.warm_data(0, false);
    assert_eq!(done(memory.load(1000, 0, 8)), (1002, Level::L1));
    assert_eq!(done(memory.store(1000, 8, 8)), (1002, Level::L1));
    assert_eq!(refused(memory.load(1000, 16, 8)), 1001);
    assert_eq!(done(memory.load(1001, 16, 8)), (1003, Level::L1));
    assert_eq!(memory.stats().l1d.port_busy_events, 1);
}

#[test]
fn full_mshrs_refuse_until_the_next_line_is_there() {
    let mut config = config();
    config.l1d.mshrs = 2;
    let mut memory = warm_tlbs(&config);
    done(memory.load(1000, 0x000, 8));
    done(memory.load(1000, 0x040, 8));
    let before = memory.stats();
    // The first line is whole in 1129.
    assert_eq!(refused(memory.load(1001, 0x080, 8)), 1129);
    let mut expected = before;
    expected.l1d.mshr_full_events = 1;
    // The refused access was translated nevertheless.
    expected.dtlb.access_events += 1;
    assert_eq!(memory.stats(), expected);
    // Merges need no MSHR.
    done(memory.load(1002, 0x008, 8));
    // Known 1131, request 1132, data 1242, first beat 1246.
    assert_eq!(done(memory.load(1129, 0x080, 8)), (1247, Level::Memory));

    config.l1d.mshrs = 8;
    config.l2.mshrs = 1;
    let mut memory = warm_tlbs(&config);
    done(memory.load(1000, 0x000, 8));
    assert_eq!(refused(memory.load(1000, 0x040, 8)), 1129);
    assert_eq!(memory.stats().l2.mshr_full_events, 1);
    assert_eq!(memory.stats().l1d.read_access_events, 1);
}

#[test]
fn lines_on_their_way_do_not_make_room() {
    let mut config = config();
    config.l1d.ways = 1;
    config.l1d.size_bytes = 1024;
    let mut memory = warm_tlbs(&config);
    done(memory.load(1000, 0x000, 8));
    assert_eq!(refused(memory.load(1001, 0x400, 8)), 1129);
    done(memory.load(1129, 0x400, 8));
}

#[test]
fn a_changed_line_is_written_back_after_the_line_that_replaces_it() {
    let mut config = config();
    config.l1d.ways = 1;
    config.l1d.size_bytes = 1024;
    config.critical_word_first = false;
    let mut memory = warm_tlbs(&config);
    for addr in [0x000, 0x400, 0x040] {
        memory.warm_fetch(addr);
    }
    // known 1002, request 1003, data 1013, bus 1013..1015.
    assert_eq!(done(memory.store(1000, 0x000, 8)), (1015, Level::L2));
    // Replaces the changed line: bus 2013..2015 for the fill, 2015..2017 for the write-back.
    assert_eq!(done(memory.load(2000, 0x400, 8)), (2015, Level::L2));
    // A fetch whose line would be sent in 2015 waits for the write-back.
    memory.private.l1i.tags.clear();
    assert_eq!(done(memory.fetch(2003, 0x040)), (2019, Level::L2));
    let stats = memory.stats();
    assert_eq!(stats.l1d.write_back_events, 1);
    assert_eq!(
        (stats.l2.write_access_events, stats.l2.write_miss_events),
        (1, 0)
    );
    assert_eq!(stats.l1_l2_bus.data_bytes, 4 * 64);
    assert_eq!(stats.memory_bus.data_bytes, 0);
}

#[test]
fn a_tlb_miss_moves_the_access() {
    let mut memory = MemorySystem::new(&config());
    memory
        .private
        .l1d
        .warm((&mut memory.private.link, &mut memory.shared), 0x40, false);
    let first = memory.load(1000, 0x40, 8);
    let access = |ready_cycle, walk_cycles: u32, tlb_miss| {
        AccessResult::Done(Access {
            ready_cycle,
            level: Level::L1,
            walk_cycles,
            tlb_miss,
        })
    };
    assert_eq!(first, access(1032, 30, true));
    assert_eq!(
        memory.load(1010, 0x40, 8),
        access(1032, 20, true),
        "the same walk"
    );
    assert_eq!(memory.load(1030, 0x40, 8), access(1032, 0, false));
    let dtlb = memory.stats().dtlb;
    assert_eq!(
        (dtlb.access_events, dtlb.miss_events, dtlb.merge_events),
        (3, 1, 1)
    );
}

#[test]
fn a_second_level_tlb_serves_what_the_first_lost() {
    let mut config = config();
    config.dtlb = TlbConfig {
        entries: 1,
        ways: 1,
        miss_cycles: 30,
    };
    config.l2_tlb = L2TlbConfig {
        entries: 16,
        ways: 4,
        hit_cycles: 7,
    };
    let mut memory = MemorySystem::new(&config);
    memory.private.l1d.warm(
        (&mut memory.private.link, &mut memory.shared),
        0x0040,
        false,
    );
    memory.private.l1d.warm(
        (&mut memory.private.link, &mut memory.shared),
        0x1080,
        false,
    );
    assert_eq!(done(memory.load(1000, 0x0040, 8)).0, 1032);
    assert_eq!(done(memory.load(2000, 0x1080, 8)).0, 2032);
    assert_eq!(done(memory.load(3000, 0x0040, 8)).0, 3009);
    let stats = memory.stats();
    assert_eq!(
        (stats.l2_tlb.access_events, stats.l2_tlb.miss_events),
        (3, 2)
    );
    // Another page replaces the one whose walk is under way; both walks go on.
    assert_eq!(done(memory.load(4000, 0x1080, 8)).0, 4009);
    assert_eq!(done(memory.load(4000, 0x0040, 8)).0, 4009);
}

#[test]
fn too_many_walks_are_refused() {
    let mut memory = MemorySystem::new(&MemoryConfig {
        l1d: crate::config::CacheConfig {
            ports: 16,
            mshrs: 16,
            ..config().l1d
        },
        ..config()
    });
    for page in 0..8 {
        done(memory.load(1000 + page, page * 4096 + page * 64, 8));
    }
    assert_eq!(refused(memory.load(1008, 0x9000, 8)), 1030);
    assert_eq!(memory.stats().dtlb.walks_full_events, 1);
}

#[test]
fn an_access_to_two_lines_is_two_accesses() {
    let mut memory = warm_tlbs(&config());
    memory.warm_data(0x3c, false);
    memory.warm_data(0x40, false);
    assert_eq!(done(memory.load(1000, 0x3c, 8)), (1003, Level::L1));
    assert_eq!(memory.stats().l1d.read_access_events, 2);
    assert_eq!(done(memory.load(1000, 0x38, 8)), (1002, Level::L1));
    // The second line misses; its access begins in 1002.
    let second = done(memory.load(1001, 0x7c, 8));
    assert_eq!(second, (1120, Level::Memory));
    // The end of the address space wraps.
    done(memory.load(5000, u64::MAX - 1, 8));
}

#[test]
fn a_flushed_instruction_cache_misses() {
    let mut memory = warm_tlbs(&config());
    memory.warm_fetch(0x40);
    assert_eq!(done(memory.fetch(1000, 0x40)).1, Level::L1);
    memory.private.flush_l1i();
    assert_eq!(done(memory.fetch(1001, 0x40)).1, Level::L2);
}

#[test]
fn warming_leaves_what_timed_accesses_leave() {
    let config = small(Replacement::Lru);
    let (mut timed, mut warmed) = (MemorySystem::new(&config), MemorySystem::new(&config));
    let mut random = Random::new(23);
    // Warming touches only the first line of an access that crosses a line.
    let address = |random: &mut Random| random_address(random) & !7;
    let mut quick = 0;
    let mut warm = |memory: &mut MemorySystem, addr, write| {
        if memory.warm_newest(addr, write) {
            quick += 1;
        } else {
            memory.warm_data(addr, write);
        }
    };
    let mut addr = 0;
    for step in 0..5000_u64 {
        // Now and then the same line again, which is its set's newest.
        if random.below(3) > 0 {
            addr = address(&mut random);
        }
        match random.below(3) {
            0 => {
                let _ = timed.fetch(step * 1000, addr);
                warmed.warm_fetch(addr);
            }
            1 => {
                let _ = timed.load(step * 1000, addr, 8);
                warm(&mut warmed, addr, false);
            }
            _ => {
                let _ = timed.store(step * 1000, addr, 8);
                warm(&mut warmed, addr, true);
            }
        }
    }
    assert_eq!(warmed.stats(), MemoryStats::default());
    assert!((500..2500).contains(&quick), "{quick} quick accesses");
    let missed = |s: &CacheStats| s.read_miss_events + s.write_miss_events;
    let stats = timed.stats();
    let misses = [
        missed(&stats.l1i),
        missed(&stats.l1d),
        stats.l2.read_miss_events,
        stats.dtlb.miss_events,
    ];
    assert_eq!(warmed.warmed(), misses);
    for step in 6000..8000_u64 {
        let addr = address(&mut random);
        let (a, b) = (
            timed.load(step * 1000, addr, 8),
            warmed.load(step * 1000, addr, 8),
        );
        assert_eq!(a, b);
    }
}

#[test]
fn every_counter_is_reported_once_with_its_unit() {
    // Written only where there are several cores, where there is a prefetcher, and where accesses come out of order.
    let mut stats = MemoryStats::default();
    stats.coherence.upgrade_events = 1;
    stats.prefetch.issue_events = 1;
    stats.disorder.crowded_events = 1;
    let entries = stats.entries();
    let mut names: Vec<&str> = entries.iter().map(|(name, _)| *name).collect();
    assert_eq!(names.len() * 8, size_of::<MemoryStats>());
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), entries.len());
    let units = ["_events", "_cycles", "_bytes"];
    assert!(names.iter().all(|n| units.iter().any(|u| n.ends_with(u))));
}

#[test]
fn a_quick_fetch_is_a_fetch() {
    let mut random = Random::new(31);
    let mut small = config();
    small.l1i.size_bytes = 1024;
    let mut memory = MemorySystem::out_of_order(&small);
    let mut other = memory.clone();
    let (mut now, mut quick) = (1000, 0);
    for _ in 0..20_000 {
        now += random.below(3);
        // Mostly a few lines, so that many are the newest of their set; sometimes another page.
        let addr = 0x40 * random.below(6) + 0x1000 * (random.below(50) / 49) * random.below(200);
        let hit = now + u64::from(small.l1i.hit_cycles);
        let before = memory.stats();
        if memory.fetch_quickly(now, addr) {
            quick += 1;
            assert_eq!(other.fetch(now, addr), super::private::hit(hit, 0, false));
        } else {
            assert_eq!(memory.stats(), before);
            assert_eq!(other.fetch(now, addr), memory.fetch(now, addr));
        }
        assert_eq!(memory.stats(), other.stats());
    }
    assert!((1_000..19_000).contains(&quick), "{quick}");
}
