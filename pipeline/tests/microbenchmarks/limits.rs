//! Stores, memory dependences, and what bounds the window.

use hps_pipeline::config::{MachineConfig, MemDep, StoreSetsConfig, StoreWaitConfig};

use super::{
    PRESETS, address_cycles, dispatch_to_commit, l1_cycles, memory_cycles, pool, steady, warm_loop,
    width,
};
use crate::common::{Run, issues, repeat, steps};

fn cycles(value: u32) -> u64 {
    u64::from(value)
}

#[test]
fn a_load_gets_its_value_from_the_store_queue() {
    for name in PRESETS {
        for forward in [1, 2, 5] {
            let m = steady(name, |m| {
                m.speculation.store_forward_latency_cycles = forward
            });
            // The data are there first: address, then the forwarding.
            let body = "sd s2, 0(s0)\nload:\nld a0, 0(s0)\nuse:\nadd a1, a0, a0";
            let run = Run::of(&m, &warm_loop("", 6, body, 64));
            let (load, used) = (run.at("load")[4], run.at("use")[4]);
            let expected = cycles(m.units.load.latency_cycles + forward);
            assert_eq!(
                used.issue_cycle - load.issue_cycle,
                expected,
                "{name}, early data"
            );
            // The data come last: their latency, then the forwarding.
            let body = "slow:\ndiv a2, s1, s3\nsd a2, 0(s0)\nld a0, 0(s0)\nuse:\nadd a1, a0, a0";
            let run = Run::of(&m, &warm_loop("li s3, 3", 6, body, 64));
            let (slow, used) = (run.at("slow")[4], run.at("use")[4]);
            let expected = cycles(m.units.int_div.latency_cycles + forward);
            assert_eq!(
                used.issue_cycle - slow.issue_cycle,
                expected,
                "{name}, late data"
            );
            // The loop's last branch is mispredicted, and a wrong path is forwarded to as well.
            assert!(run.stats.store_forward_events >= 6, "{name}");
            assert_eq!(run.stats.memory_violation_events, 0, "{name}");
        }
    }
}

#[test]
fn a_value_that_goes_through_memory_adds_up() {
    // Each link: add one, store it, load it. The load has its address long before the store has its data, and waits
    // for them in the queue: forwarding takes them when the addition is done.
    for name in PRESETS {
        for forward in [1, 3] {
            let m = steady(name, |m| {
                m.speculation.store_forward_latency_cycles = forward;
                m.speculation.memory_dependence = MemDep::Conservative;
            });
            let body = repeat(16, |_| {
                "addi a0, a0, 1\nsd a0, 0(s0)\nld a0, 0(s0)".to_string()
            });
            let run = Run::of(&m, &warm_loop("", 4, &body, 64));
            let adds: Vec<u64> = run.last_iteration("main")[..48]
                .iter()
                .step_by(3)
                .map(|r| r.issue_cycle)
                .collect();
            let expected = cycles(m.units.int_alu.latency_cycles + forward);
            assert_eq!(
                steps(&adds[4..]),
                vec![expected; 11],
                "{name}, forwarding {forward}"
            );
        }
    }
}

#[test]
fn a_load_of_more_than_a_store_wrote_waits_until_the_store_is_in_the_cache() {
    for name in PRESETS {
        let m = steady(name, |_| {});
        let body = "store:\nsw s1, 0(s0)\nload:\nld a0, 0(s0)\n".to_string()
            + &repeat(20, |_| "nop".to_string());
        let run = Run::of(&m, &warm_loop("", 6, &body, 64));
        for i in 1..6 {
            let (store, load) = (run.at("store")[i], run.at("load")[i]);
            // Written in the cycle behind its commit; the load looks again in the next. Its address it has.
            assert_eq!(
                load.issue_cycle,
                store.end_cycle + 2,
                "{name}, iteration {i}"
            );
            let execute = cycles(m.issue.issue_to_execute_cycles);
            assert_eq!(
                load.complete_cycle - load.issue_cycle,
                cycles(m.memory.l1d.hit_cycles) + execute,
                "{name}, iteration {i}"
            );
        }
    }
}

/// A store whose address comes out of a division, and a load of the same place.
const CONFLICT: &str = "
    div a1, s1, s2
    and a1, a1, zero
    add a1, a1, s0
    store:
    sd s1, 0(a1)
    load:
    ld a2, 0(s0)
    add a3, a3, a2";

fn conflict(m: &MachineConfig) -> Run {
    Run::of(m, &warm_loop("li s2, 1", 20, CONFLICT, 64))
}

#[test]
fn an_aggressive_load_runs_again_when_the_store_finds_it() {
    for name in PRESETS {
        let m = steady(name, |m| {
            m.speculation.memory_dependence = MemDep::Aggressive
        });
        let run = conflict(&m);
        assert_eq!(run.stats.memory_violation_events, 20, "{name}");
        let last = (run.at("store")[18], run.at("load")[18]);
        let found = last.0.issue_cycle
            + cycles(m.units.store.latency_cycles + m.issue.issue_to_execute_cycles);
        assert_eq!(
            last.1.fetch_cycle, found,
            "{name}: the load is fetched again when it is found"
        );
    }
}

#[test]
fn predictors_learn_from_one_violation_and_conservative_loads_have_none() {
    for name in PRESETS {
        for (policy, violations) in [
            (MemDep::StoreSets(StoreSetsConfig::default()), 1),
            (MemDep::StoreWait(StoreWaitConfig::default()), 1),
            (MemDep::Conservative, 0),
        ] {
            let m = steady(name, |m| m.speculation.memory_dependence = policy.clone());
            let run = conflict(&m);
            assert_eq!(
                run.stats.memory_violation_events, violations,
                "{name}, {policy:?}"
            );
            for i in 2..20 {
                let (store, load) = (run.at("store")[i], run.at("load")[i]);
                assert_eq!(
                    load.issue_cycle,
                    store.issue_cycle + 1,
                    "{name}, {policy:?}, iteration {i}"
                );
            }
        }
    }
}

#[test]
fn a_store_wait_table_forgets_when_it_is_cleared() {
    for (clear_interval_cycles, at_least) in [(1000, 10), (1_000_000, 1)] {
        let m = steady("ev6", |m| {
            m.speculation.memory_dependence = MemDep::StoreWait(StoreWaitConfig {
                clear_interval_cycles,
                ..StoreWaitConfig::default()
            });
        });
        let run = Run::of(&m, &warm_loop("li s2, 1", 600, CONFLICT, 64));
        let found = run.stats.memory_violation_events;
        // Once in each interval that begins after a clearing.
        let intervals = run.stats.cycles / clear_interval_cycles + 1;
        assert!(
            found >= at_least && found <= intervals,
            "{found} of {intervals}"
        );
    }
}

#[test]
fn one_miss_in_each_window_of_the_reorder_buffer_does_not_overlap_with_the_next() {
    for name in PRESETS {
        let m = steady(name, |_| {});
        let entries = m.window.rob_entries as usize;
        let window = "ld t0, 0(a0)\naddi a0, a0, 64\n".to_string()
            + &repeat(entries - 2, |_| "nop".to_string());
        let run = Run::of(
            &m,
            &warm_loop("mv a0, s0", 3, &repeat(6, |_| window.clone()), 4096),
        );
        let body = run.last_iteration("main");
        let loads: Vec<_> = body[..6 * entries].iter().step_by(entries).collect();
        let expected = dispatch_to_commit(&m, address_cycles(&m) + memory_cycles(&m));
        for pair in loads.windows(2).skip(1) {
            assert_eq!(
                pair[1].dispatch_cycle, pair[0].end_cycle,
                "{name}: its entry is free then"
            );
            assert_eq!(
                pair[1].issue_cycle - pair[0].issue_cycle,
                expected,
                "{name}"
            );
        }
        // Nothing enters before what is a whole buffer older has left.
        for (old, new) in run.committed.iter().zip(&run.committed[entries..]) {
            assert!(new.dispatch_cycle >= old.end_cycle, "{name}");
        }
        // The stall is counted in every cycle, also in those that were skipped.
        let misses = 18 * (memory_cycles(&m) - entries as u64 / width(&m) - 20).max(1);
        assert!(
            run.stats.rename_rob_full_cycles > misses / 2,
            "{name}: {:?}",
            run.stats
        );
    }
}

#[test]
fn dependents_of_a_miss_fill_the_reservation_stations() {
    for name in PRESETS {
        let m = steady(name, |m| m.window.rob_entries = 512);
        let stations = m.window.reservation_stations as usize;
        let window = "addi a0, a0, 64\nld t0, 0(a0)\n".to_string()
            + &repeat(stations, |_| "add t1, t0, t0".to_string());
        let run = Run::of(
            &m,
            &warm_loop("mv a0, s0", 3, &repeat(5, |_| window.clone()), 4096),
        );
        let body = run.last_iteration("main");
        let per = stations + 2;
        // The next pair enters when the first dependents leave, in the cycle of the result. Its
        // addition is younger than all of them, and issues behind them, then its load.
        let rate = cycles(m.issue.issue_width).min(pool(&m, "int_alu"));
        let turn = (stations as u64 / rate).max(cycles(m.issue.dispatch_to_issue_cycles));
        let expected =
            memory_cycles(&m) + turn + cycles(m.units.int_alu.latency_cycles) + address_cycles(&m);
        for k in 1..4 {
            let (load, dependent, next) = (
                &body[k * per + 1],
                &body[k * per + 2],
                &body[(k + 1) * per + 1],
            );
            assert_eq!(
                dependent.issue_cycle - load.issue_cycle,
                memory_cycles(&m),
                "{name}"
            );
            assert_eq!(next.dispatch_cycle, dependent.issue_cycle, "{name}");
            assert_eq!(next.issue_cycle - load.issue_cycle, expected, "{name}");
        }
    }
}

#[test]
fn a_load_enters_when_the_queue_has_room() {
    for name in PRESETS {
        for entries in [1, 2, 3] {
            let m = steady(name, |m| {
                m.window.load_queue_entries = entries;
                m.memory.l1d.mshrs = 8;
                m.memory.l2.mshrs = 8;
            });
            let body =
                repeat(24, |i| format!("ld a{}, {}(s2)", i % 6, i * 64)) + "addi s2, s2, 1536\n";
            let run = Run::of(&m, &warm_loop("mv s2, s0", 3, &body, 8192));
            let loads = &run.last_iteration("main")[..24];
            for i in 4..24 {
                let freed = loads[i - entries as usize].end_cycle;
                assert_eq!(
                    loads[i].dispatch_cycle, freed,
                    "{name}, {entries} entries, load {i}"
                );
            }
        }
    }
}

#[test]
fn stores_leave_their_queue_one_a_cycle_behind_commit() {
    for name in PRESETS {
        for entries in [1, 2, 4, 16] {
            let m = steady(name, |m| {
                m.window.store_queue_entries = entries;
                m.window.memory_queue_entries = 0;
            });
            let body = repeat(96, |i| format!("sd s2, {}(s0)", i % 4 * 8));
            let run = Run::of(&m, &warm_loop("", 4, &body, 64));
            let stores = &run.last_iteration("main")[48..96];
            // A queue of stores takes their way through the window and one cycle to the cache, or
            // a cycle each if that is longer.
            let address = address_cycles(&m) + cycles(m.units.store.latency_cycles);
            let way = dispatch_to_commit(&m, address) + 1;
            let expected = way.max(cycles(entries));
            for i in 0..48 - entries as usize {
                let distance =
                    stores[i + entries as usize].dispatch_cycle - stores[i].dispatch_cycle;
                assert_eq!(distance, expected, "{name}, {entries} entries, store {i}");
            }
        }
    }
}

#[test]
fn serializing_instructions_execute_alone() {
    for name in PRESETS {
        let m = steady(name, |_| {});
        let run = Run::of(
            &m,
            &warm_loop("", 4, &repeat(12, |_| "frflags a0".to_string()), 64),
        );
        let alone = &run.last_iteration("main")[..12];
        let expected = dispatch_to_commit(&m, cycles(m.units.int_alu.latency_cycles));
        assert_eq!(steps(&issues(alone)), vec![expected; 11], "{name}");
        // A store has to be in the cache, which takes the cycle behind its commit.
        let run = Run::of(
            &m,
            &warm_loop("", 4, "store:\nsd s1, 0(s0)\nalone:\nfrflags a0", 64),
        );
        let (store, alone) = (run.at("store")[2], run.at("alone")[2]);
        assert_eq!(alone.dispatch_cycle, store.end_cycle + 1, "{name}");
    }
}

#[test]
fn an_atomic_waits_for_every_older_store_to_be_in_the_cache() {
    for name in PRESETS {
        let m = steady(name, |_| {});
        let run = Run::of(
            &m,
            &warm_loop(
                "",
                4,
                &repeat(12, |_| "amoadd.d a0, s1, (s0)".to_string()),
                64,
            ),
        );
        let atomics = &run.last_iteration("main")[..12];
        // Alone at the head: from its issue through its hit to commit, and a cycle to the cache.
        let access = cycles(m.units.atomic.latency_cycles + m.memory.l1d.hit_cycles);
        // The write takes a port of the cache; if that is the only one, the next read comes later.
        let port = u64::from(m.memory.l1d.ports == 1);
        let expected = access
            + cycles(m.issue.issue_to_execute_cycles + m.window.complete_to_commit_cycles)
            + 1
            + port;
        assert_eq!(steps(&issues(atomics)), vec![expected; 11], "{name}");
        assert_eq!(
            l1_cycles(&m) - cycles(m.units.load.latency_cycles),
            access - cycles(m.units.atomic.latency_cycles),
            "{name}: an atomic reads as a load does"
        );
    }
}
