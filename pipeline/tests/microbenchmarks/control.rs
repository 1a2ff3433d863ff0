//! Branches: what a right prediction, a wrong one and a missing target cost.

use hps_pipeline::config::{Predictor, RasRepair};

use super::{PRESETS, every_preset, steady, warm_loop};
use crate::common::{Program, Run, machine, preset, repeat};

/// Cycles of a loop of `n` iterations around a body.
fn cycles(m: &hps_pipeline::config::MachineConfig, lead: &str, body: &str, n: u64) -> u64 {
    let text = format!(
        "li s1, {n}\n.align 64\n{lead}\nmain:\n{body}\naddi s1, s1, -1\nbnez s1, main\nebreak\n"
    );
    Run::of(m, &Program::new(&text, 8)).stats.cycles
}

#[test]
fn a_predicted_loop_runs_at_fetch_bandwidth() {
    for name in PRESETS {
        let m = steady(name, |_| {});
        let fetch = u64::from(m.fetch.fetch_width_insts);
        let block = u64::from(m.fetch.fetch_block_bytes / 4);
        // Seven instructions; an iteration ends at its taken branch.
        let body = repeat(5, |i| format!("addi a{i}, zero, {i}"));
        // From the first instruction of a block.
        let expected = if 7 <= block {
            7_u64.div_ceil(fetch)
        } else {
            block.div_ceil(fetch) + (7 - block).div_ceil(fetch)
        };
        let one = cycles(&m, "", &body, 1000);
        let two = cycles(&m, "", &body, 2000);
        assert_eq!(two - one, 1000 * expected, "{name}");
        // From the last instruction of a block: that one is fetched alone.
        let lead = repeat(block as usize - 1, |_| "nop".to_string());
        let rest = 6_u64.min(block).div_ceil(fetch) + 6_u64.saturating_sub(block).div_ceil(fetch);
        let one = cycles(&m, &lead, &body, 1000);
        let two = cycles(&m, &lead, &body, 2000);
        assert_eq!(two - one, 1000 * (1 + rest), "{name}, across a block");
    }
}

#[test]
fn a_misprediction_costs_the_depth_of_the_pipeline() {
    for name in every_preset() {
        for (fetch, decode, dispatch, issue, branch) in
            [(3, 3, 1, 2, 1), (1, 1, 1, 0, 1), (8, 4, 2, 3, 2)]
        {
            let m = machine(name, |m| {
                m.branch.predictor = Predictor::AlwaysNotTaken;
                m.fetch.fetch_to_decode_cycles = fetch;
                m.fetch.fetch_buffer_insts = 128;
                m.decode.decode_to_dispatch_cycles = decode;
                m.issue.dispatch_to_issue_cycles = dispatch;
                m.issue.issue_to_execute_cycles = issue;
                m.units.branch.latency_cycles = branch;
            });
            let body = "from:\nbeq zero, zero, to\nnop\nnop\nnop\n.align 64\nto:\nnop";
            let run = Run::of(&m, &warm_loop("", 6, body, 8));
            let (from, to) = (run.at("from")[5], run.at("to")[5]);
            assert!(from.mispredicted);
            // The right path is fetched when the branch completes (and later where a misprediction takes longer), instead of
            // one cycle behind it.
            let lost = to.fetch_cycle - from.fetch_cycle - 1;
            assert_eq!(lost, u64::from(m.min_mispredict_penalty_cycles()), "{name}");
            let extra = u64::from(m.branch.mispredict_extra_cycles);
            assert_eq!(to.fetch_cycle, from.complete_cycle + extra, "{name}");
            // Period of a loop: fetch to execute of a count and its branch, one after the other.
            let m_loop = |n| cycles(&m, "", "", n);
            let period = m.min_mispredict_penalty_cycles() + 1 + m.units.int_alu.latency_cycles;
            assert_eq!(m_loop(200) - m_loop(100), 100 * u64::from(period), "{name}");
        }
    }
}

#[test]
fn a_taken_branch_that_the_btb_does_not_know_turns_fetch_in_decode() {
    for name in PRESETS {
        for to_decode in [1, 3, 6] {
            for (entries, ways) in [(1, 1), (64, 4)] {
                let m = steady(name, |m| {
                    m.fetch.fetch_to_decode_cycles = to_decode;
                    m.fetch.fetch_buffer_insts = 64;
                    m.branch.btb.entries = entries;
                    m.branch.btb.ways = ways;
                });
                // The buffer is taught at commit. So many jumps behind it, nothing is left of this
                // one in a single entry when it is fetched again.
                let others = repeat(40, |i| format!("j J{i}\nnop\nJ{i}:"));
                let body = format!("from:\nj to\n.align 64\nto:\nnop\n{others}");
                let run = Run::of(&m, &warm_loop("", 6, &body, 8));
                let (from, to) = (run.at("from")[5], run.at("to")[5]);
                let expected = if entries == 1 {
                    u64::from(to_decode)
                } else {
                    1
                };
                assert_eq!(
                    to.fetch_cycle - from.fetch_cycle,
                    expected,
                    "{name}, {entries} entries"
                );
                assert!(!from.mispredicted);
            }
        }
    }
}

/// A chain of `depth` functions, each called from one place, run `times` times.
fn call_chain(depth: usize, times: u64) -> Program {
    let functions = repeat(depth, |i| {
        let call = if i + 1 < depth {
            format!("call F{}", i + 1)
        } else {
            "nop".to_string()
        };
        format!("F{i}:\naddi sp, sp, -16\nsd ra, 0(sp)\n{call}\nld ra, 0(sp)\naddi sp, sp, 16\nret")
    });
    let text = format!(
        "li s1, {times}\nmain:\ncall F0\naddi s1, s1, -1\nbnez s1, main\nebreak\n{functions}"
    );
    Program::new(&text, 8)
}

#[test]
fn a_return_address_stack_mispredicts_exactly_the_calls_that_do_not_fit() {
    for entries in [1, 4, 8] {
        for depth in [1, 3, 4, 5, 8, 9, 13] {
            let m = machine("hps-4wide", |m| {
                m.branch.predictor = Predictor::AlwaysTaken;
                m.branch.ras_entries = entries;
                m.branch.ras_repair = RasRepair::Full;
            });
            let run = Run::of(&m, &call_chain(depth, 10));
            let lost = (depth as u64).saturating_sub(u64::from(entries));
            assert_eq!(
                run.stats.branch_return_mispredicted_events,
                10 * lost,
                "{depth} calls deep, {entries} entries"
            );
        }
    }
}

#[test]
fn a_perfect_predictor_never_mispredicts() {
    // Directions from a generator, indirect calls to targets that change, calls deeper than the
    // stack.
    let text = "
        li s1, 400
        li a0, 12345
        la s2, F0
        la s3, F1
        main:
        slli a1, a0, 13
        xor a0, a0, a1
        srli a1, a0, 7
        xor a0, a0, a1
        slli a1, a0, 17
        xor a0, a0, a1
        andi a2, a0, 4
        beqz a2, skip
        addi a3, a3, 1
        skip:
        andi a2, a0, 8
        mv t5, s2
        beqz a2, go
        mv t5, s3
        go:
        jalr t5
        addi s1, s1, -1
        bnez s1, main
        j end
        F0:
        addi a4, a4, 1
        ret
        F1:
        addi a5, a5, 1
        ret
        end:
        ebreak
        ";
    let program = Program::new(text, 8);
    for name in PRESETS {
        let m = machine(name, |m| {
            m.branch.predictor = Predictor::Perfect;
            m.branch.ras_entries = 2;
        });
        let run = Run::of(&m, &program);
        assert_eq!(run.stats.branch_mispredicted_events, 0, "{name}");
        let end = program.address("end");
        assert!(
            run.squashed.iter().all(|r| r.pc >= end),
            "{name}: nothing but the end is squashed"
        );
        let real = Run::of(&preset(name), &program);
        assert!(
            real.stats.branch_mispredicted_events > 100,
            "{name}: the branches are hard"
        );
        assert!(run.stats.cycles < real.stats.cycles, "{name}");
    }
}
