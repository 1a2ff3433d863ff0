//! Lines that come before anything asks for them (rule 13).

use super::*;
use crate::config::{
    CacheConfig, L1dPrefetch, L1dWrite, NextLineConfig, StreamConfig, StrideConfig,
    WriteBufferConfig,
};

fn with(l1d_prefetch: L1dPrefetch) -> MemoryConfig {
    MemoryConfig {
        l1d_prefetch,
        ..config()
    }
}

fn next_line() -> MemoryConfig {
    with(L1dPrefetch::NextLine(NextLineConfig { degree: 1 }))
}

#[test]
fn the_next_line_comes_behind_the_one_that_missed() {
    let mut memory = warm_tlbs(&next_line());
    // The line that is asked for is not delayed.
    assert_eq!(done(memory.load(1000, 0x40, 8)), (1118, Level::Memory));
    // The next one: the port of level 2 is free a cycle later, in 1004; level 2 knows 1014, data 1114, and the memory bus
    // is free in 1129: the fourth beat ends in 1145.
    assert_eq!(done(memory.load(1120, 0x80, 8)), (1145, Level::Memory));
    let stats = memory.stats();
    assert_eq!(stats.l1d.read_miss_events, 1);
    assert_eq!(stats.l1d.read_merge_events, 1);
    // The line's first use wants the third line.
    let prefetch = stats.prefetch;
    assert_eq!((prefetch.issue_events, prefetch.use_events), (2, 1));
    assert_eq!(prefetch.late_events, 1);
    assert_eq!(done(memory.load(2000, 0xc0, 8)), (2002, Level::L1));
    assert_eq!(memory.stats().prefetch.late_events, 1);
    // Later uses are hits as any.
    assert_eq!(done(memory.load(2010, 0xc0, 8)), (2012, Level::L1));
    assert_eq!(memory.stats().prefetch.use_events, 2);
}

#[test]
fn nothing_is_wanted_without_an_mshr_or_beyond_the_page() {
    let mut memory = warm_tlbs(&MemoryConfig {
        l1d: CacheConfig {
            mshrs: 1,
            ..config().l1d
        },
        ..next_line()
    });
    assert_eq!(done(memory.load(1000, 0x40, 8)), (1118, Level::Memory));
    assert_eq!(memory.stats().prefetch.refused_events, 1);
    assert_eq!(done(memory.load(2000, 0x80, 8)), (2118, Level::Memory));
    // The last line of a page.
    let refused = memory.stats().prefetch.refused_events;
    assert_eq!(done(memory.load(3000, 0xfc0, 8)), (3118, Level::Memory));
    let prefetch = memory.stats().prefetch;
    assert_eq!(
        (prefetch.refused_events, prefetch.issue_events),
        (refused, 0)
    );
}

/// Lines of a walk that miss, of so many.
fn misses(config: &MemoryConfig, lines: u64, stride: u64) -> u64 {
    let mut memory = warm_tlbs(config);
    for at in 0..lines {
        done(memory.load(1000 + 400 * at, at * stride * 64, 8));
    }
    memory.stats().l1d.read_miss_events
}

#[test]
fn walks_miss_as_each_prefetcher_learns_them() {
    let stride = with(L1dPrefetch::Stride(StrideConfig::default()));
    let stream = with(L1dPrefetch::Stream(StreamConfig::default()));
    // Two pages of 64 lines.
    assert_eq!(misses(&config(), 128, 1), 128);
    assert_eq!(
        misses(&next_line(), 128, 1),
        2,
        "the first line of each page"
    );
    assert_eq!(misses(&stride, 128, 1), 6, "three lines of each page");
    assert_eq!(
        misses(&stream, 128, 1),
        3,
        "two lines, and one behind the first page"
    );
    // Every fourth line: sixteen of a page.
    assert_eq!(misses(&next_line(), 32, 4), 32);
    assert_eq!(misses(&stride, 32, 4), 6);
    assert_eq!(misses(&stream, 32, 4), 32);
}

#[test]
fn every_line_that_was_brought_is_used_lost_or_there() {
    for prefetch in [
        L1dPrefetch::NextLine(NextLineConfig { degree: 3 }),
        L1dPrefetch::Stride(StrideConfig::default()),
        L1dPrefetch::Stream(StreamConfig::default()),
    ] {
        let config = MemoryConfig {
            l1d_prefetch: prefetch.clone(),
            ..small(Replacement::Lru)
        };
        let mut memory = warm_tlbs(&config);
        let mut random = Random::new(7);
        let (mut now, mut at) = (1000, 0);
        for _ in 0..20_000 {
            now += random.below(40);
            at = match random.below(8) {
                0 => random.below(1 << 14),
                _ => (at + 64) % (1 << 14),
            };
            let write = random.below(4) == 0;
            let access = |memory: &mut MemorySystem, now| match write {
                true => memory.store(now, at & !7, 8),
                false => memory.load(now, at & !7, 8),
            };
            while let AccessResult::Retry { at_cycle } = access(&mut memory, now) {
                now = at_cycle;
            }
        }
        let stats = memory.stats().prefetch;
        let unused = memory.private.l1d.prefetcher.as_ref().map(|p| p.unused());
        let kept = stats.use_events + stats.waste_events + unused.unwrap_or(0);
        assert_eq!(stats.issue_events, kept, "{prefetch:?}");
        assert!(stats.use_events > 100, "{prefetch:?}: {stats:?}");
        assert!(stats.waste_events > 10, "{prefetch:?}: {stats:?}");
        assert!(stats.late_events <= stats.use_events);
    }
}

#[test]
fn a_store_of_a_write_through_cache_uses_what_was_brought() {
    let mut memory = warm_tlbs(&MemoryConfig {
        l1d_write: L1dWrite::WriteThrough(WriteBufferConfig::default()),
        ..next_line()
    });
    // A store that misses brings nothing.
    done(memory.store(1000, 0x40, 8));
    assert_eq!(memory.stats().prefetch, PrefetchStats::default());
    done(memory.load(2000, 0x40, 8));
    done(memory.store(3000, 0x80, 8));
    // The line behind the one that is used comes as well.
    let prefetch = memory.stats().prefetch;
    assert_eq!((prefetch.issue_events, prefetch.use_events), (2, 1));
    assert_eq!(done(memory.load(4000, 0xc0, 8)), (4002, Level::L1));
}

#[test]
fn warming_brings_what_timed_accesses_bring() {
    for prefetch in [
        L1dPrefetch::NextLine(NextLineConfig { degree: 2 }),
        L1dPrefetch::Stride(StrideConfig::default()),
        L1dPrefetch::Stream(StreamConfig::default()),
    ] {
        let mut config = MemoryConfig {
            l1d_prefetch: prefetch,
            ..small(Replacement::Lru)
        };
        // No prefetch is refused.
        (config.l1d.mshrs, config.l2.mshrs) = (8, 8);
        let (mut timed, mut warmed) = (warm_tlbs(&config), warm_tlbs(&config));
        let mut random = Random::new(11);
        let mut addr = 0;
        let mut next = || {
            addr = match random.below(8) {
                0 => random.below(1 << 14) & !7,
                _ => (addr + 64) % (1 << 14),
            };
            (addr, random.below(4) == 0)
        };
        for step in 1..5000_u64 {
            let (addr, write) = next();
            _ = match write {
                true => timed.store(step * 10_000, addr, 8),
                false => timed.load(step * 10_000, addr, 8),
            };
            if !warmed.warm_newest(addr, write) {
                warmed.warm_data(addr, write);
            }
        }
        assert_eq!(warmed.stats(), MemoryStats::default());
        for step in 5000..7000_u64 {
            let (addr, _) = next();
            let now = step * 10_000;
            assert_eq!(timed.load(now, addr, 8), warmed.load(now, addr, 8));
        }
    }
}
