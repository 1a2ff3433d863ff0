//! Caches, TLBs, buses, memory: load-to-use and bandwidth of each level.

use hps_pipeline::config::{DrripConfig, MachineConfig, Replacement, ShipConfig, SrripConfig};
use hps_pipeline::core::Cause;

use super::{
    PRESETS, address_cycles, every_preset, l1_beats, l1_cycles, l2_cycles, l3_cycles, memory_beats,
    memory_cycles, pool, steady, warm_loop, width,
};
use crate::common::assemble::DATA;
use crate::common::{Program, Run, issues, repeat, steps};

/// A ring of pointers at these offsets, chased.
fn chase(offsets: &[u64], times: u64) -> Program {
    let next = |i: usize| DATA + offsets[(i + 1) % offsets.len()];
    let words: Vec<(u64, u64)> = offsets
        .iter()
        .enumerate()
        .map(|(i, &at)| (at, next(i)))
        .collect();
    let bytes = offsets.iter().max().expect("a ring has nodes") + 64;
    warm_loop(
        "mv a0, s0",
        times,
        &repeat(24, |_| "ld a0, 0(a0)".to_string()),
        bytes,
    )
    .with_words(words)
}

/// A node for each of `count` steps of `stride`.
fn ring(count: u32, stride: u32) -> Vec<u64> {
    (0..u64::from(count))
        .map(|i| i * u64::from(stride))
        .collect()
}

/// One way of a cache: addresses this far apart meet in one set.
fn way_bytes(cache: &hps_pipeline::config::CacheConfig) -> u32 {
    cache.size_bytes / cache.ways
}

fn assert_load_to_use(m: &MachineConfig, offsets: &[u64], expected: u64, level: Cause) {
    // Three times around at least: the first time is cold.
    let times = 6.max(offsets.len() as u64 / 8);
    let run = Run::of(m, &chase(offsets, times));
    let loads = &run.last_iteration("main")[..24];
    assert_eq!(
        steps(&issues(loads)),
        vec![address_cycles(m) + expected; 23],
        "{level:?} on {}",
        m.name
    );
    assert!(
        loads.iter().all(|r| r.cause == level),
        "{level:?} on {}",
        m.name
    );
}

/// The presets, and one without critical word first.
fn machines() -> Vec<MachineConfig> {
    let mut all: Vec<MachineConfig> = every_preset()
        .iter()
        .map(|name| steady(name, |_| {}))
        .collect();
    all.push(steady("hps-4wide", |m| {
        m.name = "whole lines".to_string();
        m.memory.critical_word_first = false;
        m.memory.l1_l2_bus.latency_cycles = 3;
        m.memory.l1_l2_bus.bytes_per_cycle = 8;
    }));
    all
}

#[test]
fn memory_with_a_clock_of_its_own_takes_as_long_at_any_clock() {
    // 60 ns and beats of 4 ns, whatever the cores do.
    for (clock_mhz, latency, beat) in [(1000, 60, 4), (500, 30, 2), (3400, 204, 14), (100, 6, 1)] {
        let m = steady("hps-4wide", |m| {
            m.clock_mhz = clock_mhz;
            m.memory.clock_mhz = 1000;
            m.memory.latency_cycles = 60;
            m.memory.memory_bus.cycles_per_beat = 4;
        });
        let mut in_cycles = m.clone();
        in_cycles.memory.latency_cycles = latency;
        in_cycles.memory.memory_bus.cycles_per_beat = beat;
        let beyond = ring(m.memory.l2.ways + 1, way_bytes(&m.memory.l2));
        assert_load_to_use(&m, &beyond, memory_cycles(&in_cycles), Cause::LoadMemory);
    }
}

#[test]
fn load_to_use_of_each_level_is_the_sum_of_its_parts() {
    for m in machines() {
        assert_load_to_use(&m, &[0], l1_cycles(&m), Cause::LoadL1);
        // One line more than a set has ways, least recently used first out: every access misses.
        let l1 = ring(m.memory.l1d.ways + 1, way_bytes(&m.memory.l1d));
        assert_load_to_use(&m, &l1, l2_cycles(&m), Cause::LoadL2);
        let ways = m.memory.l2.ways.max(m.memory.l1d.ways) + 1;
        // Neighbours in different lines of a cache whose only way waits for the end of the last.
        let apart = |offsets: Vec<u64>, line: u32| -> Vec<u64> {
            let numbered = offsets.into_iter().zip(0..);
            numbered
                .map(|(at, i)| at + i % 2 * u64::from(line))
                .collect()
        };
        let (l3, line) = (&m.memory.l3, m.memory.l2.line_bytes);
        if l3.size_bytes == 0 {
            let beyond = if m.memory.l2.ways == 1 {
                apart(ring(2 * ways, way_bytes(&m.memory.l2)), line)
            } else {
                ring(ways, way_bytes(&m.memory.l2))
            };
            assert_load_to_use(&m, &beyond, memory_cycles(&m), Cause::LoadMemory);
            continue;
        }
        let line = m.memory.l1d.line_bytes;
        assert_eq!(2 * line, m.memory.l2.line_bytes);
        let beyond = ring(ways, way_bytes(&m.memory.l2));
        assert_load_to_use(&m, &apart(beyond, line), l3_cycles(&m), Cause::LoadL3);
        let ways = ways.max(l3.ways + 1);
        let beyond = apart(ring(ways, l3.size_bytes / l3.ways), line);
        assert_load_to_use(&m, &beyond, memory_cycles(&m), Cause::LoadMemory);
    }
}

#[test]
fn a_load_across_two_lines_takes_one_cycle_more() {
    for m in machines() {
        let line = u64::from(m.memory.l1d.line_bytes);
        let run = Run::of(&m, &across(line));
        let loads = &run.last_iteration("main")[..24];
        assert_eq!(
            steps(&issues(loads)),
            vec![address_cycles(&m) + l1_cycles(&m) + 1; 23],
            "{}",
            m.name
        );
    }
}

/// A pointer to itself, four bytes in front of the end of the second line.
fn across(line: u64) -> Program {
    let at = 2 * line - 4;
    let text = format!("addi a0, s0, {at}");
    let itself = DATA + at;
    warm_loop(&text, 6, &repeat(24, |_| "ld a0, 0(a0)".to_string()), 4096)
        .with_words([(at, itself)])
}

#[test]
fn a_tlb_miss_adds_its_walk() {
    for name in PRESETS {
        let m = steady(name, |m| m.memory.page_bytes = 4096);
        // Pages that meet in one set of the TLB, and one more than it has ways; the lines meet in
        // no set of the cache.
        let (tlb, line) = (&m.memory.dtlb, u64::from(m.memory.l1d.line_bytes));
        let stride = u64::from(tlb.entries / tlb.ways * m.memory.page_bytes);
        let offsets: Vec<u64> = (0..=u64::from(tlb.ways))
            .map(|i| i * (stride + line))
            .collect();
        let second = &m.memory.l2_tlb;
        let walk = if second.entries > 0 {
            second.hit_cycles
        } else {
            tlb.miss_cycles
        };
        assert_load_to_use(&m, &offsets, l1_cycles(&m) + u64::from(walk), Cause::DTlb);
    }
}

#[test]
fn loads_that_hit_are_bound_by_units_and_ports() {
    for ports in [1, 2, 3] {
        for name in PRESETS {
            let m = steady(name, |m| m.memory.l1d.ports = ports);
            let body = repeat(96, |i| format!("ld a{}, {}(s0)", i % 6, i % 4 * 8));
            let run = Run::of(&m, &warm_loop("", 4, &body, 64));
            let issued = &issues(run.last_iteration("main"))[48..96];
            let units = pool(&m, &m.units.load.pool);
            let rate = width(&m).min(units).min(u64::from(ports)) as usize;
            // At most as many loads are between dispatch and commit as the load queue holds.
            let queue = u64::from(m.window.load_queue_entries);
            if queue < rate as u64 * (super::dispatch_to_commit(&m, l1_cycles(&m)) + 1) {
                continue;
            }
            for i in 0..48 - rate {
                assert_eq!(
                    issued[i + rate] - issued[i],
                    1,
                    "{name}, {ports} ports, load {i}"
                );
            }
        }
    }
}

/// Loads one word of each line of a region, again and again.
fn stream(lines: u64, line: u64, passes: u64) -> Program {
    const UNROLLED: u64 = 16;
    let loads = repeat(UNROLLED as usize, |i| {
        format!("ld a{}, {}(t0)", i % 6 + 1, i as u64 * line)
    });
    let text = format!(
        "la s0, data\nli s2, {passes}\n.align 64\npass:\nmv t0, s0\nli s1, {}\n.align 64\nmain:\n{loads}\
         li t1, {}\nadd t0, t0, t1\naddi s1, s1, -1\nbnez s1, main\naddi s2, s2, -1\nbnez s2, pass\nebreak\n",
        lines / UNROLLED,
        UNROLLED * line
    );
    Program::new(&text, lines * line)
}

/// A window, MSHRs and sets (which hold lines on their way) that bound nothing.
fn unbound(m: &mut MachineConfig) {
    m.window.rob_entries = 1024;
    m.window.reservation_stations = 512;
    m.window.load_queue_entries = 256;
    m.window.memory_queue_entries = 0;
    m.memory.l1d.mshrs = 64;
    m.memory.l2.mshrs = 64;
    m.memory.l1d.size_bytes = 16 << 10;
    m.memory.l1d.ways = 8;
    m.memory.l2.size_bytes = 1 << 20;
    m.memory.l2.ways = 16;
}

/// Completion cycles of the loads of an iteration in the middle: so far from the end that fetch,
/// which runs ahead by the whole window, does not disturb the bus with code behind the loop.
fn completions(run: &Run) -> Vec<u64> {
    let heads: Vec<usize> = (0..run.committed.len())
        .filter(|&i| run.committed[i].pc == run.program.address("main"))
        .collect();
    let from = heads[heads.len() / 2];
    run.committed[from..from + 16]
        .iter()
        .map(|r| r.complete_cycle)
        .collect()
}

/// Cycles that caches with these hit times add to a miss.
fn looked_up(m: &MachineConfig, hit_cycles: u32) -> u32 {
    match m.memory.miss_adds_hit_cycles {
        true => hit_cycles,
        false => 0,
    }
}

/// Lines of four times the data cache, which the second level holds.
fn l2_stream(m: &MachineConfig) -> Program {
    let line = m.memory.l1d.line_bytes;
    stream(
        u64::from(4 * m.memory.l1d.size_bytes / line),
        u64::from(line),
        5,
    )
}

#[test]
fn a_stream_from_the_second_level_is_bound_by_the_bus() {
    for name in PRESETS {
        for bytes in [8, 16, 64] {
            let m = steady(name, |m| {
                unbound(m);
                m.memory.l1_l2_bus.bytes_per_cycle = bytes;
            });
            let run = Run::of(&m, &l2_stream(&m));
            // One request a cycle enters the only port of the second level.
            assert_eq!(m.memory.l2.ports, 1);
            let expected = l1_beats(&m).max(1);
            assert_eq!(
                steps(&completions(&run)),
                vec![expected; 15],
                "{name}, {bytes} bytes in a cycle"
            );
        }
    }
}

#[test]
fn a_stream_from_the_second_level_is_bound_by_few_mshrs() {
    for name in PRESETS {
        for mshrs in [1, 2] {
            let m = steady(name, |m| {
                unbound(m);
                m.memory.l1d.mshrs = mshrs;
            });
            let run = Run::of(&m, &l2_stream(&m));
            // A register is taken from the access until the whole line is there.
            let on_the_way = looked_up(&m, m.memory.l1d.hit_cycles)
                + m.memory.l1_l2_bus.latency_cycles
                + m.memory.l2.hit_cycles;
            let taken = u64::from(on_the_way) + l1_beats(&m);
            let done = completions(&run);
            for i in 0..16 - mshrs as usize {
                let distance = done[i + mshrs as usize] - done[i];
                assert_eq!(distance, taken, "{name}, {mshrs} MSHRs, load {i}");
            }
        }
    }
}

#[test]
fn a_stream_from_memory_is_bound_by_the_memory_bus_or_by_one_mshr() {
    for name in PRESETS {
        let line = u64::from(steady(name, |_| {}).memory.l2.line_bytes);
        // Every line is new: all of them come from memory.
        let program = stream(2048, line, 1);
        let m = steady(name, unbound);
        let run = Run::of(&m, &program);
        assert_eq!(
            steps(&completions(&run)),
            vec![memory_beats(&m); 15],
            "{name}: bus"
        );
        let m = steady(name, |m| {
            unbound(m);
            m.memory.l2.mshrs = 1;
        });
        let run = Run::of(&m, &program);
        let on_chip = looked_up(&m, m.memory.l1d.hit_cycles + m.memory.l2.hit_cycles)
            + m.memory.l1_l2_bus.latency_cycles;
        let taken = u64::from(on_chip + m.memory.latency_cycles) + memory_beats(&m);
        assert_eq!(
            steps(&completions(&run)),
            vec![taken; 15],
            "{name}: one MSHR"
        );
    }
}

#[test]
fn code_from_the_second_level_stalls_fetch_once_a_line() {
    // Straight code of twice the instruction cache, of which the second level holds all.
    let m = steady("tiny-2wide", |m| {
        m.memory.l2.size_bytes = 65_536;
        m.memory.l1_l2_bus.latency_cycles = 2;
    });
    let insts = 2 * m.memory.l1i.size_bytes / 4;
    let run = Run::of(
        &m,
        &warm_loop("", 4, &repeat(insts as usize, |_| "nop".to_string()), 8),
    );
    let line = m.memory.l1i.line_bytes;
    let per_line = (line / 4) as usize;
    let body = &run.last_iteration("main")[..insts as usize];
    let heads: Vec<u64> = body
        .chunks(per_line)
        .map(|line| line[0].fetch_cycle)
        .collect();
    // A hit's time is part of the fetch stages. What is beyond it stalls fetch: request, second
    // level, first part of the line.
    let stall = u64::from(m.memory.l1_l2_bus.latency_cycles + m.memory.l2.hit_cycles) + 1;
    let fetch = u64::from(line / 4 / m.fetch.fetch_width_insts);
    assert_eq!(steps(&heads), vec![stall + fetch; heads.len() - 1]);
}

/// Passes over lines that are used twice in each, and behind them over four times what the data cache holds.
fn reuse_and_scan(m: &MachineConfig, passes: u64, scan: &str) -> Program {
    let line = u64::from(m.memory.l1d.line_bytes);
    let lines = u64::from(m.memory.l1d.size_bytes) / line;
    let (reused, scanned) = (lines / 2, 4 * lines);
    let text = format!(
        "la s0, data\nli s1, {scan_begin}\nadd s1, s0, s1\nli s2, {passes}\n\
         pass:\nmv t0, s0\nli t1, {reused}\n\
         reuse:\nld a0, 0(t0)\nadd a1, a1, a0\nld a0, 8(t0)\nadd a1, a1, a0\n\
         addi t0, t0, {line}\naddi t1, t1, -1\nbnez t1, reuse\n\
         mv t0, s1\nli t1, {scanned}\n\
         scan:\n{scan}\naddi t0, t0, {line}\naddi t1, t1, -1\nbnez t1, scan\n\
         addi s2, s2, -1\nbnez s2, pass\nebreak\n",
        scan_begin = reused * line,
    );
    Program::new(&text, (reused + scanned) * line)
}

/// The least recently used line is always one that will be used again. Other policies learn that, from what happens to
/// lines or from the instructions that bring them in, be these loads or stores.
#[test]
fn policies_that_learn_keep_what_is_used_again() {
    let passes = 12;
    for scan in ["ld a0, 0(t0)", "sd a1, 0(t0)"] {
        // Misses in a pass, in lines of the cache: 4 of the scan, and half a one of what would fit.
        let misses = |replacement: Replacement| {
            let m = steady("hps-4wide", |m| {
                m.memory.l1d.replacement = replacement.clone();
                m.memory.l1d.ways = 4;
            });
            let run = Run::of(&m, &reuse_and_scan(&m, passes, scan));
            let lines = u64::from(m.memory.l1d.size_bytes / m.memory.l1d.line_bytes);
            let l1d = &run.memory.l1d;
            let all = l1d.read_miss_events + l1d.write_miss_events;
            all as f64 / (lines * passes) as f64
        };
        let lru = misses(Replacement::Lru);
        let srrip = misses(Replacement::Srrip(SrripConfig::default()));
        let drrip = misses(Replacement::Drrip(DrripConfig::default()));
        let ship = misses(Replacement::Ship(ShipConfig::default()));
        let all = format!("{scan}: {lru} {srrip} {drrip} {ship}");
        // The scan is so long that it makes all lines of a set old, with SRRIP too.
        assert!(
            (4.45..4.55).contains(&lru) && (4.45..4.55).contains(&srrip),
            "{all}"
        );
        assert!(
            (3.5..4.1).contains(&drrip) && (3.5..3.95).contains(&ship),
            "{all}"
        );
    }
}
