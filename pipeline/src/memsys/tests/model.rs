//! Random traffic: a brute-force model of both levels, and what must hold of the counters.

use super::*;
use crate::config::CacheConfig;

/// One cache of the brute-force model: sets as lists, the newest last.
pub(super) struct ModelCache {
    sets: HashMap<u64, Vec<(u64, bool)>>,
    set_count: u64,
    ways: usize,
    line_bytes: u64,
}

impl ModelCache {
    pub(super) fn new(config: &CacheConfig) -> Self {
        let line_bytes = u64::from(config.line_bytes);
        ModelCache {
            sets: HashMap::new(),
            set_count: u64::from(config.size_bytes) / (line_bytes * u64::from(config.ways)),
            ways: config.ways as usize,
            line_bytes,
        }
    }

    fn set(&mut self, addr: u64) -> &mut Vec<(u64, bool)> {
        let set = addr / self.line_bytes % self.set_count;
        self.sets.entry(set).or_default()
    }

    /// Uses a line if it is there.
    pub(super) fn touch(&mut self, addr: u64, write: bool) -> bool {
        let line = addr / self.line_bytes;
        let set = self.set(addr);
        let Some(at) = set.iter().position(|(known, _)| *known == line) else {
            return false;
        };
        let (_, dirty) = set.remove(at);
        set.push((line, dirty || write));
        true
    }

    /// Brings a line in; gives the address of a changed line that made room.
    pub(super) fn bring(&mut self, addr: u64, write: bool) -> Option<u64> {
        let (line, ways, line_bytes) = (addr / self.line_bytes, self.ways, self.line_bytes);
        let set = self.set(addr);
        let victim = (set.len() == ways).then(|| set.remove(0));
        set.push((line, write));
        victim.filter(|v| v.1).map(|v| v.0 * line_bytes)
    }
}

/// The brute-force model of both levels.
struct Model {
    l1i: ModelCache,
    l1d: ModelCache,
    l2: ModelCache,
    write_backs: u64,
    l2_write_backs: u64,
    forwarded: u64,
}

impl Model {
    fn new(config: &MemoryConfig) -> Self {
        Model {
            l1i: ModelCache::new(&config.l1i),
            l1d: ModelCache::new(&config.l1d),
            l2: ModelCache::new(&config.l2),
            write_backs: 0,
            l2_write_backs: 0,
            forwarded: 0,
        }
    }

    fn access(&mut self, addr: u64, fetch: bool, write: bool) -> Level {
        let l1 = if fetch { &mut self.l1i } else { &mut self.l1d };
        if l1.touch(addr, write) {
            return Level::L1;
        }
        let mut level = Level::L2;
        if !self.l2.touch(addr, false) {
            level = Level::Memory;
            self.l2_write_backs += u64::from(self.l2.bring(addr, false).is_some());
        }
        if let Some(victim) = l1.bring(addr, write) {
            self.write_backs += 1;
            self.forwarded += u64::from(!self.l2.touch(victim, true));
        }
        level
    }
}

/// Caches so small that everything happens.
pub(super) fn small(replacement: Replacement) -> MemoryConfig {
    let mut config = config();
    let caches = [
        (&mut config.l1i, 512, 2, 32),
        (&mut config.l1d, 512, 2, 32),
        (&mut config.l2, 2048, 4, 64),
    ];
    for (cache, size_bytes, ways, line_bytes) in caches {
        cache.size_bytes = size_bytes;
        cache.ways = ways;
        cache.line_bytes = line_bytes;
        cache.replacement = replacement.clone();
        cache.mshrs = 3;
    }
    config
}

/// An address that is likely to have been used before.
pub(super) fn random_address(random: &mut Random) -> u64 {
    let span = if random.below(2) == 0 { 1024 } else { 16_384 };
    random.below(span)
}

#[test]
fn hits_and_misses_are_those_of_a_brute_force_model() {
    let config = small(Replacement::Lru);
    let (mut memory, mut model) = (MemorySystem::new(&config), Model::new(&config));
    let mut random = Random::new(17);
    for step in 0..40_000_u64 {
        // Steps are so far apart that nothing is on its way any more.
        let now = step * 1000;
        let addr = random_address(&mut random) & !7;
        let (fetch, write) = (random.below(4) == 0, random.below(3) == 0);
        let result = match (fetch, write) {
            (true, _) => memory.fetch(now, addr),
            (false, false) => memory.load(now, addr, 8),
            (false, true) => memory.store(now, addr, 8),
        };
        let expected = model.access(addr, fetch, write && !fetch);
        assert_eq!(done(result).1, expected, "step {step}");
    }
    let stats = memory.stats();
    assert_eq!(stats.l1d.write_back_events, model.write_backs);
    assert_eq!(stats.l2.write_back_events, model.l2_write_backs);
    assert_eq!(stats.l2.write_miss_events, model.forwarded);
    assert!(
        model.forwarded > 0 && model.l2_write_backs > 0,
        "the trace is too tame"
    );
}

/// Checks invariants of the counters, whatever happened.
fn check_conservation(config: &MemoryConfig, stats: &MemoryStats) {
    for cache in [&stats.l1i, &stats.l1d] {
        let misses = cache.read_miss_events + cache.write_miss_events;
        assert_eq!(cache.fill_events, misses);
    }
    let l1_misses = stats.l1i.fill_events + stats.l1d.fill_events;
    assert_eq!(stats.l2.read_access_events, l1_misses);
    assert_eq!(stats.l2.fill_events, stats.l2.read_miss_events);
    assert_eq!(stats.l2.write_access_events, stats.l1d.write_back_events);
    let l1d_line = u64::from(config.l1d.line_bytes);
    let l2_line = u64::from(config.l2.line_bytes);
    assert_eq!(
        stats.l1_l2_bus.data_bytes,
        stats.l1i.fill_events * u64::from(config.l1i.line_bytes)
            + (stats.l1d.fill_events + stats.l1d.write_back_events) * l1d_line
    );
    assert_eq!(
        stats.memory_bus.data_bytes,
        (stats.l2.fill_events + stats.l2.write_back_events) * l2_line
            + stats.l2.write_miss_events * l1d_line
    );
    assert!(stats.l1i.write_back_events == 0);
}

/// Dense random traffic, retried as told. Returns the accepted accesses by level.
pub(super) fn traffic(
    memory: &mut MemorySystem,
    config: &MemoryConfig,
    seed: u64,
) -> HashMap<Level, u64> {
    let mut random = Random::new(seed);
    let mut levels = HashMap::new();
    let mut now = 0;
    for _ in 0..20_000 {
        now += random.below(3) * random.below(8);
        let addr = random_address(&mut random);
        let (kind, size) = (random.below(4), 1 << random.below(4));
        for tries in 0.. {
            assert!(tries < 1000, "an access is retried for ever");
            let result = match kind {
                0 => memory.fetch(now, addr),
                1 | 2 => memory.load(now, addr, size),
                _ => memory.store(now, addr, size),
            };
            match result {
                AccessResult::Done(access) => {
                    let hit = if kind == 0 { &config.l1i } else { &config.l1d };
                    assert!(access.ready_cycle >= now + u64::from(hit.hit_cycles));
                    *levels.entry(access.level).or_default() += 1;
                    break;
                }
                AccessResult::Retry { at_cycle } => {
                    assert!(at_cycle > now);
                    now = at_cycle;
                }
            }
        }
    }
    levels
}

#[test]
fn nothing_is_lost_in_dense_traffic() {
    for replacement in [
        Replacement::Lru,
        Replacement::Random,
        Replacement::Plru,
        Replacement::Srrip(SrripConfig::default()),
        Replacement::Drrip(DrripConfig::default()),
        Replacement::Ship(ShipConfig::default()),
    ] {
        for critical_word_first in [true, false] {
            let mut config = small(replacement.clone());
            config.critical_word_first = critical_word_first;
            config.l1_l2_bus = BusConfig {
                bytes_per_cycle: 8,
                latency_cycles: 2,
            };
            config.memory_bus = MemoryBusConfig {
                bytes_per_beat: 8,
                cycles_per_beat: 2,
            };
            let mut memory = MemorySystem::new(&config);
            let levels = traffic(&mut memory, &config, 5);
            check_conservation(&config, &memory.stats());
            assert_eq!(levels.values().sum::<u64>(), 20_000);
            let stats = memory.stats();
            assert!(stats.l1d.mshr_full_events > 0 && stats.l1d.read_merge_events > 0);
            assert!(stats.l2.write_miss_events > 0);
            // The same traffic gives the same cycles and events.
            let mut again = MemorySystem::new(&config);
            traffic(&mut again, &config, 5);
            assert_eq!(again.stats(), stats);
        }
    }
}

#[test]
fn buses_are_never_busier_than_time() {
    let config = small(Replacement::Lru);
    let mut memory = MemorySystem::new(&config);
    let mut last = 0;
    for line in 0..2000_u64 {
        let mut now = last;
        while let AccessResult::Retry { at_cycle } = memory.load(now, line * 64, 8) {
            now = at_cycle;
        }
        last = now;
    }
    let busy = memory.stats().memory_bus.busy_cycles;
    // A stream of misses keeps the bus busy, three lines at a time.
    assert!(busy <= last + 1000, "{busy} {last}");
    assert!(busy * 4 > last, "{busy} {last}");
}
