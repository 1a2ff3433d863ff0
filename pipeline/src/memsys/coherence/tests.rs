//! Coherence: its invariants over random traffic, and accesses whose cycles follow from the keys.

use std::collections::HashMap;

use crate::config::{Coherence, L1dPrefetch, L2Place, MachineConfig, NextLineConfig};
use crate::memsys::{Access, AccessResult, CoreId, Level, PrivateMemory, SharedMemory};
use crate::predict::tests::Random;

/// The caches of a chip without its cores.
struct Caches {
    cores: Vec<PrivateMemory>,
    shared: SharedMemory,
    now: u64,
}

impl Caches {
    fn new(config: &MachineConfig) -> Caches {
        let count = config.chip.cores as usize;
        let core = |number| PrivateMemory::new(&config.memory, CoreId(number), true);
        Caches {
            cores: (0..count as u16).map(core).collect(),
            shared: SharedMemory::new(&config.memory, &config.chip, count),
            now: 1000,
        }
    }

    /// An access of a core, tried until it is accepted. Time has gone on to then.
    fn access(&mut self, core: usize, addr: u64, write: bool) -> Access {
        loop {
            let Caches { cores, shared, now } = self;
            let memory = &mut cores[core];
            memory.obey(shared, *now);
            let accessed = if write {
                memory.store(shared, *now, addr, 8)
            } else {
                memory.load(shared, *now, addr, 8)
            };
            match accessed {
                AccessResult::Done(access) => return access,
                AccessResult::Retry { at_cycle } => *now = at_cycle,
            }
        }
    }

    /// A core fetches instructions, if it can at once.
    fn fetch(&mut self, core: usize, addr: u64) {
        let Caches { cores, shared, now } = self;
        let memory = &mut cores[core];
        memory.obey(shared, *now);
        _ = memory.fetch(shared, *now, addr);
    }

    /// Cycles of an access behind everything before it.
    fn latency(&mut self, core: usize, addr: u64, write: bool) -> (u64, Level) {
        self.now += 10_000;
        let begin = self.now;
        let access = self.access(core, addr, write);
        (access.ready_cycle - begin, access.level)
    }

    /// Whether a core's level 1 data cache has a line, and whether it is changed there.
    fn has(&mut self, core: usize, addr: u64) -> (bool, bool) {
        let Caches { cores, shared, now } = self;
        let memory = &mut cores[core];
        memory.obey(shared, *now);
        let line = addr >> memory.l1d.line_shift;
        (memory.l1d.tags.holds(line), memory.l1d.tags.is_dirty(line))
    }
}

fn machine(cores: u32, change: impl FnOnce(&mut MachineConfig)) -> MachineConfig {
    let mut config = MachineConfig::preset("cmp-4").expect("the preset exists");
    config.chip.cores = cores;
    change(&mut config);
    assert_eq!(config.violations(), []);
    config
}

fn next_line() -> L1dPrefetch {
    L1dPrefetch::NextLine(NextLineConfig { degree: 1 })
}

/// Caches so small that lines leave them.
fn tiny(config: &mut MachineConfig) {
    config.memory.l1d.size_bytes = 1024;
    config.memory.l2.size_bytes = 4096;
    config.memory.l3.size_bytes = 16384;
}

#[test]
fn one_writes_or_many_read_and_everybody_reads_the_last_write() {
    const LINES: u64 = 200;
    let kinds: [fn(&mut MachineConfig); 7] = [
        |_| {},
        |m| m.chip.l2 = L2Place::Shared,
        |m| m.chip.coherence = Coherence::Snooping,
        |m| m.chip.inclusive_l2 = false,
        |m| {
            m.chip.l2 = L2Place::Shared;
            m.chip.inclusive_l2 = false;
        },
        |m| m.memory.l1d_prefetch = next_line(),
        |m| {
            m.chip.l2 = L2Place::Shared;
            m.memory.l1d_prefetch = next_line();
        },
    ];
    for (kind, change) in kinds.into_iter().enumerate() {
        let config = machine(3, |m| {
            tiny(m);
            change(m);
        });
        let mut caches = Caches::new(&config);
        let mut random = Random::new(41 + kind as u64);
        // When each line was written last and by whom, and since when a core has its copy.
        let mut written: HashMap<u64, (u64, usize)> = HashMap::new();
        let mut copied: HashMap<(usize, u64), u64> = HashMap::new();
        let (mut hits, mut sent) = (0, 0);
        for step in 0..30_000 {
            caches.now += 1 + random.below(20);
            let core = random.below(3) as usize;
            let line = random.below(LINES);
            let write = random.below(3) == 0;
            let addr = line * 64 + 8 * random.below(8);
            if random.below(8) == 0 {
                // Code beside the data: a fetch changes nothing for the data caches.
                caches.fetch(random.below(3) as usize, addr);
            }
            let had_next = caches.has(core, addr + 64).0;
            let access = caches.access(core, addr, write);
            if !had_next && caches.has(core, addr + 64).0 {
                copied.insert((core, line + 1), step);
            }
            if access.level == Level::L1 {
                hits += 1;
                let copy = copied.get(&(core, line)).copied().unwrap_or(0);
                let (last, by) = written.get(&line).copied().unwrap_or((0, core));
                assert!(
                    by == core || copy > last,
                    "core {core} reads an old line {line}"
                );
            } else {
                copied.insert((core, line), step);
            }
            sent += u64::from(access.level == Level::Core);
            if write {
                written.insert(line, (step, core));
                copied.insert((core, line), step);
            }
            let have: Vec<(bool, bool)> = (0..3).map(|c| caches.has(c, addr)).collect();
            let changed = have.iter().filter(|(_, changed)| *changed).count();
            let holders = have.iter().filter(|(has, _)| *has).count();
            assert!(
                changed == 0 || holders == 1,
                "kind {kind}, line {line}: {have:?}"
            );
            let coherence = caches.shared.coherence.as_ref().unwrap();
            for (core, (has, changed)) in have.into_iter().enumerate() {
                let id = CoreId(core as u16);
                let may_have = coherence.may_have(id, line);
                let may_write = coherence.may_write(id, line);
                assert!(
                    may_have || !has,
                    "kind {kind}: core {core} has line {line} unknown"
                );
                assert!(
                    may_write || !changed,
                    "kind {kind}: core {core} writes line {line}"
                );
            }
        }
        assert!(
            hits > 1000 && sent > 1000,
            "kind {kind}: {hits} hits, {sent} sent"
        );
        for core in &caches.cores {
            let Some(prefetcher) = &core.l1d.prefetcher else {
                continue;
            };
            let stats = core.stats(&caches.shared).prefetch;
            let ends = stats.use_events + stats.waste_events + prefetcher.unused();
            assert_eq!(stats.issue_events, ends, "kind {kind}");
            assert!(stats.use_events > 100, "kind {kind}: {stats:?}");
        }
    }
}

#[test]
fn cycles_of_shared_lines_follow_from_the_keys() {
    let config = machine(4, |_| {});
    let (memory, chip) = (&config.memory, &config.chip);
    let l1 = u64::from(memory.l1d.hit_cycles);
    let bus = u64::from(memory.l1_l2_bus.latency_cycles);
    let l2 = u64::from(memory.l2.hit_cycles);
    let (transfer, invalidate) = (
        u64::from(chip.transfer_cycles),
        u64::from(chip.invalidate_cycles),
    );
    let mut caches = Caches::new(&config);
    let line = 0x10_0000;
    // The pages' translations are there before.
    for core in 0..4 {
        caches.access(core, line + 1024 + 64 * core as u64, false);
    }
    // The first core has it alone: it may write without asking.
    caches.latency(0, line, false);
    assert_eq!(caches.latency(0, line, true), (l1, Level::L1));
    // A changed line comes from its core: behind both caches' look-ups, and the first beat.
    let from_core = l1 + bus + l2 + transfer + 1;
    assert_eq!(caches.latency(1, line, false), (from_core, Level::Core));
    // Another reader finds it in level 3, where it went then.
    let (_, level) = caches.latency(2, line, false);
    assert_eq!(level, Level::L3);
    // An upgrade asks, and waits for the acknowledgements of the others.
    let upgrade = l1 + bus + l2 + invalidate + bus;
    assert_eq!(caches.latency(1, line, true).0, upgrade);
    assert!(!caches.has(0, line).0 && !caches.has(2, line).0);
    // Ping-pong: each write takes the changed line from the other core.
    // A write is performed when the whole line is there.
    let beats = u64::from(
        memory
            .l1d
            .line_bytes
            .div_ceil(memory.l1_l2_bus.bytes_per_cycle),
    );
    let written = (from_core + beats - 1, Level::Core);
    for core in [2, 1, 2, 1] {
        assert_eq!(caches.latency(core, line, true), written);
    }
    // False sharing: other bytes of the line cost just as much.
    assert_eq!(caches.latency(2, line + 56, true), written);
    assert_eq!(caches.latency(1, line + 8, true), written);

    let of = |core: usize| caches.cores[core].stats(&caches.shared).coherence;
    assert_eq!((of(1).upgrade_events, of(0).upgrade_events), (1, 0));
    assert_eq!(of(0).downgrade_events, 1);
    assert_eq!(of(1).changed_transfer_events, of(1).transfer_events);
}

#[test]
fn snooping_takes_the_bus_of_all() {
    let config = machine(4, |m| {
        m.chip.coherence = Coherence::Snooping;
        m.chip.snoop_bus_cycles = 50;
    });
    let mut caches = Caches::new(&config);
    let lines = [0x10_0000, 0x20_0000, 0x30_0000];
    for (core, line) in lines.iter().enumerate() {
        caches.access(core, line + 1024 + 64 * core as u64, false);
    }
    caches.now += 10_000;
    let ready: Vec<u64> = (0..3)
        .map(|core| caches.access(core, lines[core], false).ready_cycle)
        .collect();
    // Memory overlaps; the questions come one after the other.
    assert!(ready[1] - ready[0] >= 4 && ready[2] > ready[1], "{ready:?}");
    let alone = {
        let mut caches = Caches::new(&machine(4, |_| {}));
        caches.access(0, lines[0] + 1024, false);
        caches.latency(0, lines[0], false).0
    };
    // The question and memory's answer overlap where memory takes longer.
    assert!(ready[0] - caches.now >= alone);
    assert!(ready[2] - caches.now >= 150);
}

#[test]
fn a_prefetch_takes_part_in_the_protocol() {
    let config = machine(2, |m| m.memory.l1d_prefetch = next_line());
    let mut caches = Caches::new(&config);
    caches.access(0, 0x1040, true);
    assert_eq!(caches.has(0, 0x1040), (true, true));
    // The next line of this miss is changed in the other core's cache, which keeps it clean.
    caches.latency(1, 0x1000, false);
    assert_eq!(caches.has(0, 0x1040), (true, false));
    assert_eq!(caches.has(1, 0x1040), (true, false));
    let stats = |caches: &Caches, core: usize| caches.cores[core].stats(&caches.shared);
    assert_eq!(stats(&caches, 1).prefetch.issue_events, 1);
    assert_eq!(stats(&caches, 0).coherence.downgrade_events, 1);
    // The other core writes it before it is used here: that prefetch was wasted.
    caches.latency(0, 0x1040, true);
    assert_eq!(caches.has(1, 0x1040), (false, false));
    let prefetch = stats(&caches, 1).prefetch;
    assert_eq!((prefetch.use_events, prefetch.waste_events), (0, 1));
}

#[test]
fn stores_join_lines_that_a_prefetch_brings() {
    // A store to every word of a run of lines, one a cycle: as fast as without a prefetcher, whatever the cores.
    let cycles = |prefetch: L1dPrefetch, cores: u32| {
        let config = machine(cores, |m| {
            m.memory.l1d_prefetch = prefetch;
            m.memory.page_bytes = 1 << 22;
        });
        let mut caches = Caches::new(&config);
        caches.access(0, 0x20_0000, false);
        let begin = caches.now;
        for word in 0..2048 {
            caches.access(0, 0x10_0000 + 8 * word, true);
            caches.now += 1;
        }
        caches.now - begin
    };
    let off = cycles(L1dPrefetch::Off, 2);
    let on = cycles(next_line(), 2);
    assert!(on <= off + off / 10, "{on} cycles, {off} without");
    // A line that another core has as well is asked for again, and comes behind that.
    let config = machine(2, |m| m.memory.l1d_prefetch = next_line());
    let mut caches = Caches::new(&config);
    for core in 0..2 {
        caches.access(core, 0x1800, false);
    }
    caches.latency(1, 0x1040, false);
    caches.now += 10_000;
    caches.access(0, 0x1000, false);
    let begin = caches.now;
    let written = caches.access(0, 0x1040, true);
    let chip = &config.chip;
    let least = u64::from(chip.transfer_cycles + chip.invalidate_cycles);
    assert!(written.ready_cycle > begin + least, "{written:?}");
    assert!(!caches.has(1, 0x1040).0);
}

/// Shared and private second levels under both protocols.
fn kinds_of_chips(cores: u32) -> Vec<MachineConfig> {
    let chip = |l2: L2Place, coherence: Coherence| {
        machine(cores, |m| {
            m.chip.l2 = l2;
            m.chip.coherence = coherence;
        })
    };
    vec![
        chip(L2Place::Private, Coherence::Directory),
        chip(L2Place::Shared, Coherence::Directory),
        chip(L2Place::Private, Coherence::Snooping),
        chip(L2Place::Shared, Coherence::Snooping),
    ]
}

impl Caches {
    /// An atomic access of a core at a time: when it is done.
    fn atomic_at(&mut self, core: usize, now: u64, addr: u64) -> u64 {
        self.now = self.now.max(now);
        loop {
            let Caches { cores, shared, now } = self;
            cores[core].obey(shared, *now);
            match cores[core].store_together(shared, *now, addr, 8) {
                AccessResult::Done(access) => return access.ready_cycle,
                AccessResult::Retry { at_cycle } => *now = at_cycle,
            }
        }
    }
}

/// From the end of one transfer of a contended line to that of the next one: the way from core to core, and over the bus to
/// the level 1 cache. Questions wait for the line and cost nothing.
fn hand_over_cycles(config: &MachineConfig) -> u64 {
    let memory = &config.memory;
    let beats = memory
        .l1d
        .line_bytes
        .div_ceil(memory.l1_l2_bus.bytes_per_cycle);
    u64::from(config.chip.transfer_cycles + beats)
}

/// A line of a page whose translations every core has.
const WORD: u64 = 0x10_0000;

fn translated(config: &MachineConfig) -> Caches {
    let mut caches = Caches::new(config);
    for core in 0..caches.cores.len() {
        caches.access(core, WORD + 1024 + 64 * core as u64, false);
    }
    caches.now += 10_000;
    caches
}

#[test]
fn the_throughput_of_a_contended_word_is_a_transfer_each_whatever_the_cores() {
    for cores in 2..=4 {
        for config in kinds_of_chips(cores) {
            let mut caches = translated(&config);
            let mut free = vec![caches.now; cores as usize];
            let mut done = Vec::new();
            for _ in 0..20 * cores {
                let first = (0..free.len()).min_by_key(|core| free[*core]).unwrap();
                let ready = caches.atomic_at(first, free[first], WORD);
                free[first] = ready + 1;
                done.push(ready);
            }
            let apart = hand_over_cycles(&config);
            let steady = done.windows(2).skip(2 * cores as usize);
            for pair in steady {
                assert_eq!(pair[1] - pair[0], apart, "{cores} {:?}", config.chip);
            }
            let waited = caches.cores.iter().map(|core| {
                let coherence = core.stats(&caches.shared).coherence;
                coherence.queue_cycles
            });
            assert!(waited.sum::<u64>() > 0);
        }
    }
}

#[test]
fn a_line_that_is_asked_for_on_its_way_comes_behind_its_owner() {
    for config in kinds_of_chips(4) {
        let (memory, chip) = (&config.memory, &config.chip);
        let mut caches = translated(&config);
        caches.atomic_at(0, 0, WORD);
        caches.now += 10_000;
        let now = caches.now;
        let owned = caches.atomic_at(1, now, WORD);
        let apart = hand_over_cycles(&config);
        assert_eq!(caches.atomic_at(2, now, WORD), owned + apart);
        let beats = apart - u64::from(chip.transfer_cycles);
        // The owner asks again, for it has to find what the other one writes.
        assert_eq!(caches.atomic_at(1, now + 1, WORD + 8), owned + 2 * apart);
        let read = caches.access(0, WORD + 8, false);
        assert_eq!(read.level, Level::Core);
        assert_eq!(read.ready_cycle, owned + 3 * apart);
        // The second level that serves another reader has the line when that transfer is done.
        let second = caches.access(2, WORD, false);
        let answered = read.ready_cycle - 1;
        let served = match chip.l2 {
            // The question of the reader reaches the second level early, and waits.
            L2Place::Shared => answered + 1,
            L2Place::Private => {
                let l3 = &memory.l3;
                let written = memory.l2.line_bytes.div_ceil(l3.bytes_per_beat) * l3.cycles_per_beat;
                answered + u64::from(written + l3.hit_cycles + l3.cycles_per_beat) + 1
            }
        };
        assert_eq!(second.ready_cycle, served, "{chip:?}");
        // Copies are taken away when all have come.
        let whole = second.ready_cycle + beats - 1;
        let written = caches.access(3, WORD, true);
        assert!(written.ready_cycle >= whole + u64::from(chip.invalidate_cycles));
        // A store is performed when its line comes, behind what another core asked for before.
        caches.now += 10_000;
        let before = caches.atomic_at(0, 0, WORD);
        let stored = caches.access(2, WORD, true);
        assert_eq!(stored.ready_cycle, before + apart + beats - 1);
        assert_eq!(caches.now, stored.ready_cycle);
        assert_eq!(caches.access(2, WORD + 8, true).level, Level::L1);
    }
}

#[test]
fn stores_use_a_line_until_the_next_question_for_it_is_there() {
    for config in kinds_of_chips(2) {
        let keep = u64::from(config.chip.keep_cycles);
        let apart = hand_over_cycles(&config);
        let mut caches = translated(&config);
        caches.atomic_at(0, 0, WORD);
        caches.now += 10_000;
        // Core 1 stores, and core 0 asks for the line while it comes.
        let begin = caches.now;
        let memory = &mut caches.cores[1];
        memory.obey(&mut caches.shared, begin);
        let AccessResult::Retry { at_cycle: comes } =
            memory.store(&mut caches.shared, begin, WORD, 8)
        else {
            panic!("the line is not there yet")
        };
        // An atomic has its data with the first beat, a store with the whole line.
        let first = comes + u64::from(config.chip.transfer_cycles) + 1;
        assert_eq!(caches.atomic_at(0, begin + 1, WORD), first);
        let transfers = |caches: &Caches| {
            let of = |core: usize| caches.cores[core].stats(&caches.shared).coherence;
            (0..2).map(|core| of(core).transfer_events).sum::<u64>()
        };
        let before = transfers(&caches);
        // The first store has what it waited for, and others come behind it.
        for cycle in comes..comes + keep {
            caches.now = cycle;
            caches.access(1, WORD + 8 * (cycle % 4), true);
            assert_eq!((caches.now, transfers(&caches)), (cycle, before));
        }
        let written = caches.cores[1]
            .stats(&caches.shared)
            .l1d
            .write_access_events;
        assert_eq!(written, keep);
        caches.now = comes + keep;
        caches.access(1, WORD, true);
        assert_eq!(transfers(&caches), before + 1);
        assert_eq!(caches.now, comes + 2 * apart);
    }
}

#[test]
fn a_line_on_its_way_back_is_there_when_it_is_written() {
    for coherence in [Coherence::Directory, Coherence::Snooping] {
        let config = machine(2, |m| {
            m.chip.l2 = L2Place::Shared;
            m.chip.coherence = coherence;
            m.memory.l1d.size_bytes = 1024;
            m.memory.page_bytes = 1 << 22;
        });
        let ways = u64::from(config.memory.l1d.ways);
        let mut caches = translated(&config);
        caches.latency(0, WORD, true);
        caches.now += 10_000;
        let set = |way: u64| WORD + way * 1024;
        // The last of them takes the way of the changed line, which follows it over the bus.
        let replaced = (1..=ways).map(|way| caches.access(0, set(way), false).ready_cycle);
        let replaced = replaced.last().unwrap();
        assert!(!caches.has(0, WORD).0);
        let beats = hand_over_cycles(&config) - u64::from(config.chip.transfer_cycles);
        let read = caches.access(1, WORD, false);
        assert!(
            read.ready_cycle >= replaced + 2 * beats,
            "{} before {replaced}",
            read.ready_cycle
        );
    }
}
