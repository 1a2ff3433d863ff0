//! Keys that other machines need and no preset of this pipeline's own has: a program each, whose cycles say that the key does
//! what it promises.

use hps_isa::inst::OpClass;
use hps_pipeline::config::{
    AddressGeneration, GshareConfig, HistoryUpdate, MachineConfig, Predictor, PrefetchInstructions,
};
use hps_pipeline::core::{DrivenCore, NotDriven, StageRecord};

use super::{PRESETS, l1_cycles, steady, warm_loop};
use crate::common::{Run, issues, machine, repeat, steps};

#[test]
fn a_misprediction_takes_as_many_cycles_more_as_it_is_told() {
    for name in PRESETS {
        // The loop's own branch is taken.
        let iteration = |extra| {
            let m = steady(name, |m| {
                m.branch.predictor = Predictor::AlwaysNotTaken;
                m.branch.mispredict_extra_cycles = extra;
            });
            let run = Run::of(&m, &warm_loop("", 8, "addi a0, a0, 1", 64));
            let mains = issues(&run.at("main"));
            steps(&mains)[4]
        };
        assert_eq!(iteration(7), iteration(0) + 7, "{name}");
    }
}

#[test]
fn an_address_of_its_own_takes_an_issue_slot_and_a_unit() {
    let separate = |m: &mut MachineConfig| m.issue.address_generation = AddressGeneration::Separate;
    for name in PRESETS {
        let m = steady(name, separate);
        let program = warm_loop("mv a0, s0", 6, &repeat(24, |_| "ld a0, 0(a0)".into()), 64);
        let program = program.with_words(vec![(0, crate::common::assemble::DATA)]);
        let run = Run::of(&m, &program);
        let addition = u64::from(m.units.int_alu.latency_cycles);
        let loads = &run.last_iteration("main")[..24];
        assert_eq!(
            steps(&issues(loads)),
            vec![addition + l1_cycles(&m); 23],
            "{name}"
        );
    }
    // Two slots in a cycle: two loads, or a load and its address.
    let independent = repeat(96, |i| format!("ld a{}, {}(s0)", i % 6, 8 * (i % 24)));
    for (address_generation, cycles) in [
        (AddressGeneration::WithAccess, 24),
        (AddressGeneration::Separate, 48),
    ] {
        let m = steady("hps-4wide", |m| {
            m.issue.issue_width = 2;
            m.issue.address_generation = address_generation.clone();
        });
        let run = Run::of(&m, &warm_loop("", 12, &independent, 256));
        let loads = issues(&run.last_iteration("main")[..96]);
        assert!((loads[95] - loads[47]).abs_diff(cycles) <= 2, "{loads:?}");
    }
}

/// The most loads and stores that were in the window at once.
fn most_accesses(run: &Run) -> i64 {
    let is_access = |r: &&StageRecord| matches!(r.inst.class, OpClass::Load | OpClass::Store);
    let mut changes = Vec::new();
    for r in run.committed.iter().filter(is_access) {
        changes.push((r.dispatch_cycle, 1));
        changes.push((r.end_cycle, -1));
    }
    changes.sort_unstable();
    let (mut now, mut most) = (0, 0);
    for (_, change) in changes {
        now += change;
        most = most.max(now);
    }
    most
}

#[test]
fn one_queue_holds_loads_and_stores_together() {
    // Behind a division nothing commits.
    let body = "div a1, a1, s3\n".to_string()
        + &repeat(12, |i| match i % 2 {
            0 => format!("ld a{}, {}(s0)", 2 + i % 4, 8 * i),
            _ => format!("sd s2, {}(s0)", 128 + 8 * i),
        });
    for name in PRESETS {
        let m = steady(name, |m| {
            (m.window.load_queue_entries, m.window.store_queue_entries) = (6, 6);
            m.window.memory_queue_entries = 0;
        });
        let program = warm_loop("li s3, 3", 12, &body, 256);
        let apart = Run::of(&m, &program);
        for entries in [4, 7] {
            let mut m = m.clone();
            m.window.memory_queue_entries = entries;
            let run = Run::of(&m, &program);
            assert_eq!(most_accesses(&run), i64::from(entries), "{name}");
            assert!(run.stats.cycles >= apart.stats.cycles, "{name}");
        }
        assert!(most_accesses(&apart) > 7, "{name}");
    }
}

#[test]
fn a_history_that_learns_at_commit_misses_what_is_in_flight() {
    // Every second time the branch is taken; its own last outcome tells.
    let tight = "xori a0, a0, 1\nbnez a0, skip\naddi a1, a1, 1\nskip:\n";
    // The outcome has committed when the branch is fetched again.
    let apart = format!("{tight}{}", repeat(40, |_| "fence.i".into()));
    let mispredicted = |body: &str, history_update| {
        let m = machine("hps-4wide", |m| {
            m.memory.page_bytes = 1 << 22;
            m.branch.predictor = Predictor::Gshare(GshareConfig {
                history_bits: 4,
                ..GshareConfig::default()
            });
            m.branch.history_update = history_update;
        });
        let run = Run::of(&m, &warm_loop("li s3, 3", 400, body, 64));
        assert_eq!(
            DrivenCore::check(&m).err(),
            (m.branch.history_update == HistoryUpdate::AtCommit).then_some(NotDriven::LateHistory)
        );
        run.committed.iter().filter(|r| r.mispredicted).count()
    };
    let both = |body: &str| {
        [HistoryUpdate::Speculative, HistoryUpdate::AtCommit].map(|u| mispredicted(body, u))
    };
    let [early, late] = both(tight);
    assert!(late > 50 && early < 50, "{early} and {late}");
    let [early, late] = both(&apart);
    assert!(early < 50 && late < 50, "{early} and {late}");
}

#[test]
fn a_prefetch_brings_its_line_and_waits_for_nothing() {
    // A line of its own in each iteration, asked for (prefetch.r) a chain of divisions before it is read.
    let chain = repeat(24, |_| "div a1, a1, s3\n".into());
    let body = format!(
        "addi s0, s0, 512\nori zero, s0, 1\n{chain}add a2, s0, a1\nld a0, 0(a2)\nmv a3, a0"
    );
    for name in PRESETS {
        let run_with = |prefetch_instructions| {
            let m = steady(name, |m| {
                m.memory.prefetch_instructions = prefetch_instructions
            });
            let run = Run::of(&m, &warm_loop("li s3, 1\nli a1, 0", 12, &body, 8192));
            let last = run.last_iteration("main");
            let begins = issues(last);
            let touched = last[1].complete_cycle - begins[1];
            (
                touched,
                begins[28] - begins[27],
                run.stats.load_committed_events,
            )
        };
        let (alone, missed, loads) = run_with(PrefetchInstructions::Ignored);
        let (touch, hit, with_touches) = run_with(PrefetchInstructions::Performed);
        assert!(missed > hit + 20, "{name}: {missed} and {hit}");
        assert!(touch <= alone + 1, "{name}: {touch} and {alone}");
        assert_eq!((loads, with_touches), (12, 24), "{name}");
    }
}
