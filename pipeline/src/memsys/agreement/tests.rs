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
        let access = self.access(core, addr, write);
        (access.ready_cycle - self.now, access.level)
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
            let agreement = caches.shared.agreement.as_ref().unwrap();
            for (core, (has, changed)) in have.into_iter().enumerate() {
                let id = CoreId(core as u16);
                let may_have = agreement.may_have(id, line);
                let may_write = agreement.may_write(id, line);
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
    for core in [2, 1, 2, 1] {
        assert_eq!(caches.latency(core, line, true), (from_core, Level::Core));
    }
    // False sharing: other bytes of the line cost just as much.
    assert_eq!(caches.latency(2, line + 56, true), (from_core, Level::Core));
    assert_eq!(caches.latency(1, line + 8, true), (from_core, Level::Core));

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
    // A line that another core has as well is waited for, and asked for again.
    let config = machine(2, |m| m.memory.l1d_prefetch = next_line());
    let mut caches = Caches::new(&config);
    for core in 0..2 {
        caches.access(core, 0x1800, false);
    }
    caches.latency(1, 0x1040, false);
    caches.now += 10_000;
    caches.access(0, 0x1000, false);
    let (before, _) = (caches.now, caches.access(0, 0x1040, true));
    assert!(caches.now > before, "it waits for its line");
    assert!(!caches.has(1, 0x1040).0);
}
