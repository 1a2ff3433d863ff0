//! Stages, latencies of the units, and what they start in a cycle.

use hps_pipeline::config::{MachineConfig, UnitConfig};

use super::{PRESETS, every_preset, pool, steady, warm_loop, width};
use crate::common::{Run, issues, repeat, steps};

type UnitOf = fn(&MachineConfig) -> &UnitConfig;

/// A class, an instruction that depends on itself, and one that depends on nothing.
const CLASSES: [(&str, &str, &str, UnitOf); 9] = [
    ("int_alu", "xor a0, a0, a1", "xor a2, a0, a1", |m| {
        &m.units.int_alu
    }),
    ("int_mul", "mul a0, a0, a1", "mul a2, a0, a1", |m| {
        &m.units.int_mul
    }),
    ("int_div", "div a0, a0, a1", "div a2, a0, a1", |m| {
        &m.units.int_div
    }),
    (
        "fp_add",
        "fadd.d fa0, fa0, fa1",
        "fadd.d fa2, fa0, fa1",
        |m| &m.units.fp_add,
    ),
    (
        "fp_mul",
        "fmul.d fa0, fa0, fa1",
        "fmul.d fa2, fa0, fa1",
        |m| &m.units.fp_mul,
    ),
    (
        "fp_fma",
        "fmadd.d fa0, fa0, fa1, fa3",
        "fmadd.d fa2, fa0, fa1, fa3",
        |m| &m.units.fp_fma,
    ),
    (
        "fp_div",
        "fdiv.d fa0, fa0, fa1",
        "fdiv.d fa2, fa0, fa1",
        |m| &m.units.fp_div,
    ),
    ("fp_sqrt", "fsqrt.d fa0, fa0", "fsqrt.d fa2, fa1", |m| {
        &m.units.fp_sqrt
    }),
    ("fp_cvt", "fcvt.s.d fa0, fa0", "fcvt.s.d fa2, fa1", |m| {
        &m.units.fp_cvt
    }),
];

/// Presets, and one whose units all differ.
fn machines(presets: &[&str]) -> Vec<MachineConfig> {
    let mut all: Vec<MachineConfig> = presets.iter().map(|name| steady(name, |_| {})).collect();
    all.push(steady("hps-4wide", |m| {
        m.name = "odd units".to_string();
        let u = &mut m.units;
        let units = [
            &mut u.int_alu,
            &mut u.int_mul,
            &mut u.int_div,
            &mut u.fp_add,
            &mut u.fp_mul,
            &mut u.fp_fma,
            &mut u.fp_div,
            &mut u.fp_sqrt,
            &mut u.fp_cvt,
        ];
        for (i, unit) in units.into_iter().enumerate() {
            unit.latency_cycles = 3 + 2 * i as u32;
            unit.interval_cycles = 1 + i as u32;
        }
    }));
    all
}

#[test]
fn an_instruction_that_waits_for_nothing_passes_the_stages_of_the_configuration() {
    for mut m in machines(&every_preset()) {
        for (fetch, decode, dispatch, issue, commit) in
            [(3, 3, 1, 2, 1), (2, 1, 1, 0, 0), (7, 5, 4, 6, 3)]
        {
            m.fetch.fetch_to_decode_cycles = fetch;
            m.fetch.fetch_buffer_insts = 64;
            m.decode.decode_to_dispatch_cycles = decode;
            m.issue.dispatch_to_issue_cycles = dispatch;
            m.issue.issue_to_execute_cycles = issue;
            m.window.complete_to_commit_cycles = commit;
            let run = Run::of(&m, &warm_loop("", 1, "nop", 8));
            let r = &run.committed[0];
            let f = r.fetch_cycle;
            let (d, x) = (f + u64::from(fetch), u64::from(fetch + decode));
            let alu = u64::from(m.units.int_alu.latency_cycles);
            let issued = f + x + u64::from(dispatch);
            let complete = issued + u64::from(issue) + alu;
            let expected = [d, f + x, issued, complete, complete + u64::from(commit)];
            let got = [
                r.decode_cycle,
                r.dispatch_cycle,
                r.issue_cycle,
                r.complete_cycle,
                r.end_cycle,
            ];
            assert_eq!(got, expected, "{}, fetched in cycle {f}", m.name);
            // With one cycle of execution, the number of stages is what the configuration says.
            assert_eq!(
                r.end_cycle - f + 1,
                u64::from(m.pipeline_stages()) + alu - 1,
                "{}",
                m.name
            );
        }
    }
}

#[test]
fn a_dependent_chain_takes_the_latency_of_its_class_for_each_link() {
    for m in machines(&every_preset()) {
        for (class, chained, _, unit) in CLASSES {
            let run = Run::of(
                &m,
                &warm_loop(
                    "li a0, 77\nli a1, 3",
                    4,
                    &repeat(24, |_| chained.to_string()),
                    8,
                ),
            );
            let chain = &issues(run.last_iteration("main"))[12..24];
            let latency = u64::from(unit(&m).latency_cycles);
            assert_eq!(steps(chain), vec![latency; 11], "{class} on {}", m.name);
        }
    }
}

#[test]
fn independent_instructions_are_bound_by_the_width_or_by_their_units() {
    for m in machines(&PRESETS) {
        for (class, _, independent, unit) in CLASSES {
            let unit = unit(&m);
            let run = Run::of(
                &m,
                &warm_loop(
                    "li a0, 77\nli a1, 3",
                    4,
                    &repeat(128, |_| independent.to_string()),
                    8,
                ),
            );
            let issued = &issues(run.last_iteration("main"))[64..128];
            // Issue rate as instructions in cycles, the lower one of two limits: the width of the machine, or one
            // instruction on each unit of the pool every interval.
            let (units, interval) = (pool(&m, &unit.pool), u64::from(unit.interval_cycles));
            let (count, cycles) = if units < width(&m) * interval {
                (units, interval)
            } else {
                (width(&m), 1)
            };
            for i in 0..64 - count as usize {
                let distance = issued[i + count as usize] - issued[i];
                assert_eq!(distance, cycles, "{class} on {}, instruction {i}", m.name);
            }
        }
    }
}

#[test]
fn classes_that_share_a_pool_share_its_units() {
    // A division holds the only unit for its interval; a multiplication behind it waits so long.
    for name in ["hps-4wide", "tiny-2wide"] {
        let m = steady(name, |_| {});
        assert_eq!(m.units.int_div.pool, m.units.int_mul.pool);
        assert_eq!(pool(&m, &m.units.int_div.pool), 1);
        let body = "first:\ndiv a2, a0, a1\nsecond:\nmul a3, a0, a1";
        let run = Run::of(&m, &warm_loop("li a0, 77\nli a1, 3", 3, body, 8));
        let (div, mul) = (run.at("first")[2], run.at("second")[2]);
        let interval = u64::from(m.units.int_div.interval_cycles);
        assert_eq!(mul.issue_cycle - div.issue_cycle, interval, "{name}");
    }
}
