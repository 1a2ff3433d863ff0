//! Programs whose attribution follows on paper, for the oracle and for policies that sample every cycle.

use std::collections::BTreeMap;

use hps_pipeline::core::{Cause, CoreKind, EventSet};
use hps_profilers::oracle::Flush;
use hps_profilers::registry::find;
use hps_profilers::{Key, Period, Samplers, Spent};

use crate::common::{Program, preset, repeat};
use crate::{Watched, cores, watch_process};

/// The body `times` times, the loop warm after the first.
fn looped(before: &str, times: u64, body: &str) -> String {
    format!(
        "{before}\nli s1, {times}\nloop:\n{body}\naddi s1, s1, -1\nbnez s1, loop\nli a7, 93\nli a0, 0\necall\n"
    )
}

fn run(kind: CoreKind, machine: &str, program: &Program, policies: &[&str]) -> Watched {
    let add = |samplers: &mut Samplers| {
        for name in policies {
            let profiler = find(name).expect("a profiler");
            samplers.add((profiler.policy)(), Period::cycles(1));
        }
    };
    watch_process(
        kind,
        &preset(machine),
        program.process(),
        u64::MAX,
        None,
        add,
    )
}

/// Cycles of the instruction at an address, in hundredths, by what they were spent on.
fn cycles_at(watched: &Watched, pc: u64) -> BTreeMap<Spent, f64> {
    let mut cycles = BTreeMap::new();
    for row in watched
        .exact
        .rows
        .iter()
        .filter(|r| r.of.key == Key::of_program(pc))
    {
        for &(spent, _, units) in &row.cells {
            *cycles.entry(spent).or_insert(0.0) +=
                units as f64 / watched.exact.units_per_cycle as f64;
        }
    }
    cycles
}

fn sampled_at(watched: &Watched, policy: usize, pc: u64) -> f64 {
    let credits = &watched.sampled[policy].credits;
    let units = credits
        .by_instruction()
        .get(&Key::of_program(pc))
        .copied()
        .unwrap_or(0);
    units as f64 / credits.units_per_sample as f64
}

const TIMES: u64 = 200;

/// A division between additions: with a record for each instruction, what is weighted by retire latency counts each cycle
/// once for each instruction that commits in the cycle before.
#[test]
fn retire_latency_weighs_a_record_by_the_cycles_since_the_commit_before() {
    let body = "slow:\ndiv a0, a0, a1\nbehind:\nadd a0, a0, zero";
    let program = Program::new(&looped("li a0, 1000000\nli a1, 1", TIMES, body), 8);
    let config = preset("hps-4wide");
    let latency = f64::from(config.units.int_div.latency_cycles);
    for kind in cores(&config) {
        let add = |samplers: &mut Samplers| {
            let profiler = find("pebs-timed").expect("a profiler");
            let every = Period {
                unit: hps_profilers::Unit::Instructions,
                ..Period::cycles(1)
            };
            samplers.add((profiler.policy)(), every);
        };
        let watched = watch_process(kind, &config, program.process(), u64::MAX, None, add);
        let [slow, behind] = ["slow", "behind"]
            .map(|label| sampled_at(&watched, 0, program.address(label)) / TIMES as f64);
        assert!((slow - latency).abs() < 0.2, "{kind:?}: {slow}, {latency}");
        assert!((behind - 1.0).abs() < 0.2, "{kind:?}: {behind}");
    }
}

/// A division of 64 bits that depends on the one before: nothing else is on the critical path, so that all cycles
/// but those of filling the pipeline are the divisions', half each.
#[test]
fn dependent_divisions_own_their_latency() {
    let program = Program::new(
        &looped(
            "li a0, 1000000\nli a1, 1",
            TIMES,
            "first:\ndiv a0, a0, a1\nsecond:\ndiv a0, a0, a1",
        ),
        8,
    );
    for kind in cores(&preset("hps-4wide")) {
        let watched = run(kind, "hps-4wide", &program, &["tip", "nci", "lci"]);
        let [first, second] = ["first", "second"].map(|label| program.address(label));
        let total = watched.exact.cycles as f64;
        let stalled = |pc| {
            let cycles = cycles_at(&watched, pc);
            cycles
                .get(&Spent::Stalled(Cause::LongLatency))
                .copied()
                .unwrap_or(0.0)
        };
        let (a, b) = (stalled(first), stalled(second));
        assert!(a + b > 0.9 * total, "{a} and {b} of {total}");
        assert!((a - b).abs() < 0.02 * total, "{a} and {b} of {total}");
        // Instructions behind a division commit with it or wait for the next division: the last instruction to commit
        // is not the division that is waited for.
        let lci_first = sampled_at(&watched, 2, first);
        assert!(
            lci_first > 0.4 * total,
            "the second division is blamed on the first: {lci_first}"
        );
        for (policy, name) in [(0, "tip"), (1, "nci")] {
            let found = sampled_at(&watched, policy, first);
            let exact: f64 = cycles_at(&watched, first).values().sum();
            assert!(
                (found - exact).abs() <= 0.01 * total,
                "{name}: {found} for {exact}"
            );
        }
    }
}

/// Independent additions, eight a cycle at most: groups of the commit width commit together, and each instruction
/// gets an equal part.
#[test]
fn groups_share_their_cycle() {
    let body = repeat(64, |i| format!("i{i}:\naddi x{}, x0, {i}", 10 + i % 8));
    let program = Program::new(&looped("", TIMES, &body), 8);
    for kind in cores(&preset("hps-4wide")) {
        let watched = run(kind, "hps-4wide", &program, &["tip", "nci", "nci-ilp"]);
        // All groups but the few in which an iteration ends are full: a quarter of a cycle each.
        let parts: Vec<f64> = (0..64)
            .map(|i| {
                let cycles = cycles_at(&watched, program.address(&format!("i{i}")));
                cycles.get(&Spent::Computing).copied().unwrap_or(0.0) / TIMES as f64
            })
            .collect();
        let quarter = parts.iter().filter(|&&p| (p - 0.25).abs() < 0.02).count();
        assert!(quarter >= 56, "{kind:?}: {parts:?}");
        // NCI blames the oldest of each group alone.
        let blamed = (0..64)
            .filter(|i| {
                sampled_at(&watched, 1, program.address(&format!("i{i}"))) > 0.9 * TIMES as f64
            })
            .count();
        assert!(
            (14..=18).contains(&blamed),
            "{kind:?}: one of each four, {blamed} of 64"
        );
    }
}

/// A branch that depends on the low bit of a linear congruence of long period is mispredicted half of the time; the
/// cycles in which the window is empty behind it are its own, as flushed.
#[test]
fn a_mispredicted_branch_owns_the_refill() {
    let body = "mul a0, a0, a1\naddi a0, a0, 1013\nsrli a2, a0, 33\nandi a2, a2, 1\n\
                branch:\nbnez a2, over\naddi a3, a3, 1\nover:\naddi a4, a4, 1";
    let program = Program::new(&looped("li a0, 12345\nli a1, 1103515245", 2000, body), 8);
    for kind in cores(&preset("hps-4wide")) {
        let watched = run(kind, "hps-4wide", &program, &["tip", "nci"]);
        let branch = program.address("branch");
        let cycles = cycles_at(&watched, branch);
        let flushed = cycles
            .get(&Spent::Flushed(Flush::Misprediction))
            .copied()
            .unwrap_or(0.0);
        let missed = watched.finished.stats.branch_mispredicted_events as f64;
        assert!(missed > 400.0, "{missed}");
        // The refill of the front-end takes the same number of cycles each time, but for the few that are fetched
        // for the first time and those of the loop's branch.
        let config = preset("hps-4wide");
        let refill = f64::from(
            config.memory.l1i.hit_cycles
                + config.fetch.fetch_to_decode_cycles
                + config.decode.decode_to_dispatch_cycles,
        );
        let each = flushed / missed;
        assert!(
            (each - refill).abs() <= 3.0,
            "{each} cycles of {refill} each"
        );
        // NCI blames what is fetched behind it.
        assert!(sampled_at(&watched, 1, branch) < 0.5 * flushed + 2000.0);
        let tip = sampled_at(&watched, 0, branch);
        let exact: f64 = cycles.values().sum();
        assert!(
            (tip - exact).abs() < 0.01,
            "tip with a period of one is the oracle: {tip} {exact}"
        );
    }
}

/// Loads that chase pointers over more lines than the caches hold, each waited for alone: stalled, and with the
/// events of a miss in all levels.
#[test]
fn a_load_that_misses_owns_its_wait_and_names_the_level() {
    let nodes = 40_000u64;
    let stride = 4096 + 64;
    let words: Vec<(u64, u64)> = (0..nodes)
        .map(|i| {
            let at = i * stride;
            let next = ((i + 1) % nodes) * stride;
            (at, crate::common::assemble::DATA + next)
        })
        .collect();
    let text = looped("la a0, data", 1000, "load:\nld a0, 0(a0)");
    let program = Program::new(&text, nodes * stride + 64).with_words(words);
    for kind in cores(&preset("hps-4wide")) {
        let watched = run(kind, "hps-4wide", &program, &["tea"]);
        let load = program.address("load");
        let total = watched.exact.cycles * watched.exact.units_per_cycle;
        let missed = EventSet::L1D_MISS
            .with(EventSet::LLC_MISS)
            .with(EventSet::DTLB_MISS);
        let row = watched
            .exact
            .rows
            .iter()
            .find(|r| r.of.key.pc == load)
            .expect("a row");
        let waits: u64 = row
            .cells
            .iter()
            .filter(|(spent, events, _)| matches!(spent, Spent::Stalled(_)) && events.has(missed))
            .map(|(_, _, units)| units)
            .sum();
        assert!(
            waits * 10 > total * 9,
            "{kind:?}: {waits} of {total}: {:?}",
            row.cells
        );
        assert_eq!(row.commits, 1000);
        let tea: u64 = watched.sampled[0]
            .credits
            .weights
            .iter()
            .filter(|((key, events), _)| key.pc == load && events.has(missed))
            .map(|(_, units)| units)
            .sum();
        let exact: u64 = row
            .cells
            .iter()
            .filter(|(_, events, _)| events.has(missed))
            .map(|(_, _, units)| units)
            .sum();
        assert_eq!(tea, exact, "with a period of one cycle TEA is the oracle");
    }
}

/// More stores than the queue holds, each to a line of its own that misses: the window stays full behind the oldest
/// store, or the next one waits for a place in the queue.
#[test]
fn stores_that_fill_their_queue_own_the_wait() {
    let body = repeat(16, |i| format!("s{i}:\nsd zero, {}(a0)", i * 64)) + "addi a0, a0, 1024";
    let program = Program::new(&looped("la a0, data", 400, &body), 1 << 20);
    let config = preset("tiny-2wide");
    for kind in cores(&config) {
        let watched = run(kind, "tiny-2wide", &program, &[]);
        let total = watched.exact.cycles as f64;
        let stores: f64 = (0..16)
            .map(|i| {
                cycles_at(&watched, program.address(&format!("s{i}")))
                    .values()
                    .sum::<f64>()
            })
            .sum();
        assert!(stores > 0.9 * total, "{kind:?}: {stores} of {total}");
        let events: EventSet = watched
            .exact
            .rows
            .iter()
            .flat_map(|r| &r.cells)
            .fold(EventSet::NONE, |all, (_, events, _)| all.with(*events));
        assert!(events.has(EventSet::STORE_QUEUE_FULL), "{kind:?}");
    }
}
