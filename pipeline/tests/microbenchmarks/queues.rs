//! Features of the Alpha presets beside the others: issue queues by kind, latencies of single operations, longer loads
//! into floating-point registers.

use hps_isa::inst::OpClass;
use hps_pipeline::core::StageRecord;

use super::{l1_cycles, steady, warm_loop};
use crate::common::random::{self, Mix};
use crate::common::{Run, issues, preset, repeat, steps};

fn is_float(r: &StageRecord) -> bool {
    matches!(
        r.inst.class,
        OpClass::FpAdd
            | OpClass::FpMul
            | OpClass::FpFma
            | OpClass::FpDiv
            | OpClass::FpSqrt
            | OpClass::FpCvt
    )
}

/// The most instructions of a kind that were dispatched and had not issued at the end of a cycle.
fn most_waiting(run: &Run, kind: impl Fn(&StageRecord) -> bool) -> i64 {
    let mut changes = Vec::new();
    let dispatched = |r: &&StageRecord| r.dispatch_cycle <= r.end_cycle && kind(r);
    for r in run.committed.iter().chain(&run.squashed).filter(dispatched) {
        changes.push((r.dispatch_cycle, 1));
        changes.push((r.issue_cycle.min(r.end_cycle), -1));
    }
    // Instructions that leave in a cycle leave before others enter.
    changes.sort_unstable();
    let (mut waiting, mut most) = (0, 0);
    for (_, change) in changes {
        waiting += change;
        most = most.max(waiting);
    }
    most
}

#[test]
fn floating_point_instructions_have_their_own_queue() {
    let m = steady("ev6", |_| {});
    // A division holds everything that depends on it; integer instructions go on behind it until
    // the queue is full.
    let body = "fdiv.d fa0, fa1, fa2\n".to_string()
        + &repeat(10, |i| format!("fadd.d fa{}, fa0, fa1", 3 + i % 4))
        + &repeat(100, |i| format!("add a{}, s0, s1", i % 6));
    let run = Run::of(
        &m,
        &warm_loop("fcvt.d.l fa1, s0\nfcvt.d.l fa2, s0", 8, &body, 64),
    );
    let last = run.last_iteration("main");
    let (division, integer) = (&last[0], &last[11..111]);
    let early = integer
        .iter()
        .filter(|r| r.issue_cycle < division.complete_cycle);
    assert!(
        early.count() >= 30,
        "integer instructions pass those that wait"
    );
    assert_eq!(run.stats.rename_reservation_stations_full_cycles, 0);
    // Twenty dependents do not fit.
    let body = "fdiv.d fa0, fa1, fa2\n".to_string()
        + &repeat(20, |i| format!("fadd.d fa{}, fa0, fa1", 3 + i % 4))
        + &repeat(40, |i| format!("add a{}, s0, s1", i % 6));
    let run = Run::of(
        &m,
        &warm_loop("fcvt.d.l fa1, s0\nfcvt.d.l fa2, s0", 8, &body, 64),
    );
    assert!(run.stats.rename_fp_queue_full_cycles > 0);
    assert_eq!(
        most_waiting(&run, is_float),
        i64::from(m.window.fp_queue_entries)
    );
}

#[test]
fn neither_queue_ever_holds_more_than_it_has_places_for() {
    let m = preset("ev6");
    let (mut floats, mut others) = (0, 0);
    for seed in 8000..8010 {
        let run = Run::of(&m, &random::program(seed, Mix::default()));
        floats = floats.max(most_waiting(&run, is_float));
        others = others.max(most_waiting(&run, |r| !is_float(r)));
    }
    assert!(floats <= i64::from(m.window.fp_queue_entries), "{floats}");
    assert!(
        others <= i64::from(m.window.reservation_stations),
        "{others}"
    );
    assert!(floats > 4 && others > 15, "{floats} {others}");
}

#[test]
fn single_operations_have_their_own_latency() {
    for (name, cases) in [
        (
            "ev6",
            [
                ("fdiv.d fa0, fa0, fa1", 15),
                ("fdiv.s fa0, fa0, fa1", 12),
                ("fsqrt.d fa0, fa0", 33),
                ("fsqrt.s fa0, fa0", 18),
                ("mul a0, a0, a1", 7),
            ],
        ),
        (
            "ev5",
            [
                ("fdiv.d fa0, fa0, fa1", 31),
                ("mul a0, a0, a1", 12),
                ("mulw a0, a0, a1", 8),
                ("mulh a0, a0, a1", 14),
                ("sll a0, a0, a1", 1),
            ],
        ),
    ] {
        let m = steady(name, |_| {});
        for (instruction, latency) in cases {
            let body = repeat(24, |_| instruction.to_string());
            let run = Run::of(&m, &warm_loop("li a0, 77\nli a1, 3", 4, &body, 8));
            let chain = &issues(run.last_iteration("main"))[12..24];
            assert_eq!(steps(chain), vec![latency; 11], "{instruction} on {name}");
        }
    }
}

#[test]
fn a_load_into_a_floating_point_register_takes_longer() {
    for extra in [0, 1, 3] {
        let m = steady("ev6", |m| m.units.fp_load_extra_cycles = extra);
        let body = "load:\nfld fa0, 0(s0)\nuse:\nfadd.d fa1, fa0, fa0\n\
                    load2:\nld a0, 8(s0)\nuse2:\nadd a1, a0, a0";
        let run = Run::of(&m, &warm_loop("", 60, body, 64));
        let distance =
            |from: &str, to: &str| run.at(to)[50].issue_cycle - run.at(from)[50].issue_cycle;
        assert_eq!(distance("load", "use"), l1_cycles(&m) + u64::from(extra));
        assert_eq!(distance("load2", "use2"), l1_cycles(&m));
    }
}
