//! The stages of textbooks, against what Patterson and Hennessy (Computer Organization and Design, RISC-V edition, chapter
//! 4) draw by hand.

use crate::common::random::{self, Mix};
use crate::common::{Program, Run, machine, preset, steps};
use hps_pipeline::config::{InOrderConfig, InStepConfig, MachineConfig, Scheduling, Stages};
use hps_pipeline::core::{Cause, Chip, IssueStall, StageRecord};
use hps_pipeline::static_schedule::StaticScheduler;
use hps_sim_core::machine::Stop;
use hps_system::cfg::Placed;

/// `five-stage` with other rules for operands.
fn stages(forwarding: bool, branches_in_decode: bool) -> MachineConfig {
    machine("five-stage", |m| {
        m.issue.scheduling = Scheduling::InOrder(InOrderConfig {
            stages: Stages::InStep(InStepConfig {
                forwarding,
                branches_in_decode,
            }),
            ..InOrderConfig::default()
        });
    })
}

/// A loop around a body, whose caches are warm in its last iteration.
fn warm(config: &MachineConfig, body: &str) -> Vec<StageRecord> {
    let text = format!(
        "la s0, data\nli s1, 4\n.align 64\nmain:\n{body}\nlast:\naddi s1, s1, -1\nnop\nnop\nnop\nbnez s1, main\nebreak\n"
    );
    let run = Run::of(config, &Program::new(&text, 4096));
    run.last_iteration("main").to_vec()
}

/// Bubbles in write back in front of each instruction of a body behind the first.
fn bubbles(config: &MachineConfig, body: &str) -> Vec<u64> {
    let records = warm(config, body);
    let count = body
        .lines()
        .filter(|line| !line.trim().ends_with(':'))
        .count();
    let ends: Vec<u64> = records[..count].iter().map(|r| r.end_cycle).collect();
    steps(&ends).iter().map(|step| step - 1).collect()
}

#[test]
fn an_instruction_is_in_each_stage_for_a_cycle() {
    let all = warm(
        &preset("five-stage"),
        "add a0, a1, a2\nld a3, 0(s0)\nsd a1, 8(s0)\nmv a4, a1",
    );
    for (at, r) in all[..4].iter().enumerate() {
        let fetch = all[0].fetch_cycle + at as u64;
        // The cycle of write back is the fifth.
        assert_eq!(
            [
                r.fetch_cycle,
                r.decode_cycle,
                r.dispatch_cycle,
                r.issue_cycle,
                r.complete_cycle,
                r.end_cycle
            ],
            [fetch, fetch + 1, fetch + 1, fetch + 1, fetch + 3, fetch + 4],
            "{at}"
        );
    }
}

#[test]
fn results_are_forwarded_or_wait_for_write_back() {
    let alu = "sub a0, a1, a2\nadd a3, a0, a4";
    let one_between = "sub a0, a1, a2\nadd t0, t1, t2\nadd a3, a0, a4";
    let two_between = "sub a0, a1, a2\nadd t0, t1, t2\nadd t0, t1, t2\nadd a3, a0, a4";
    let load = "ld a0, 0(s0)\nadd a3, a0, a4";
    let load_between = "ld a0, 0(s0)\nadd t0, t1, t2\nadd a3, a0, a4";
    let stored = "ld a0, 0(s0)\nsd a0, 8(s0)";
    let address = "addi t3, s0, 8\nld a0, 0(t3)";
    for (body, forwarded, waited) in [
        (alu, vec![0], vec![2]),
        (one_between, vec![0, 0], vec![0, 1]),
        (two_between, vec![0; 3], vec![0; 3]),
        (load, vec![1], vec![2]),
        (load_between, vec![0, 0], vec![0, 1]),
        (stored, vec![1], vec![2]),
        (address, vec![0], vec![2]),
    ] {
        assert_eq!(
            bubbles(&stages(true, false), body),
            forwarded,
            "forwarding: {body}"
        );
        assert_eq!(
            bubbles(&preset("five-stage-stalls"), body),
            waited,
            "no forwarding: {body}"
        );
    }
    let records = warm(&preset("five-stage"), load);
    assert_eq!(records[1].issue_stall, IssueStall::Operand);
    // The stall is in decode, and what is behind it stays in fetch.
    assert_eq!(records[1].issue_cycle - records[1].decode_cycle, 1);
    assert_eq!(records[2].decode_cycle - records[2].fetch_cycle, 2);
}

#[test]
fn reordered_code_saves_the_two_stalls_of_section_4_6() {
    let cycles = |body: &str| {
        let all = warm(&preset("five-stage"), body);
        all[6].end_cycle - all[0].fetch_cycle + 1
    };
    let plain = "ld t0, 0(s0)\nld t1, 8(s0)\nadd t2, t0, t1\nsd t2, 24(s0)\nld t3, 16(s0)\nadd t4, t0, t3\nsd t4, 32(s0)";
    let reordered = "ld t0, 0(s0)\nld t1, 8(s0)\nld t3, 16(s0)\nadd t2, t0, t1\nsd t2, 24(s0)\nadd t4, t0, t3\nsd t4, 32(s0)";
    assert_eq!((cycles(plain), cycles(reordered)), (13, 11));
}

#[test]
fn branches_cost_what_is_fetched_before_they_are_decided() {
    let in_memory = machine("five-stage", |m| m.branch.mispredict_extra_cycles = 1);
    let (in_execute, in_decode) = (stages(true, false), stages(true, true));
    let taken = "beqz zero, on\nnop\non:\nnop";
    let not_taken = "bnez zero, on\non:\nnop";
    let jump = "j on\nnop\non:\nnop";
    for (config, body, lost) in [
        (&in_execute, taken, 2),
        (&in_memory, taken, 3),
        (&in_decode, taken, 1),
        (&in_execute, not_taken, 0),
        (&in_decode, not_taken, 0),
        (&in_execute, jump, 1),
        (&in_decode, jump, 1),
    ] {
        let all = warm(config, body);
        assert_eq!(all[1].end_cycle - all[0].end_cycle - 1, lost, "{body}");
    }
    for config in [&in_execute, &in_memory, &in_decode] {
        let penalty = u64::from(config.min_mispredict_penalty_cycles());
        let all = warm(config, taken);
        assert_eq!(all[1].fetch_cycle - all[0].fetch_cycle, penalty + 1);
    }
}

#[test]
fn a_branch_in_decode_waits_for_its_operands() {
    for (forwarding, producer, decode, execute) in [
        (true, "addi a0, a0, 1", 1, 0),
        (true, "ld a0, 0(s0)", 2, 1),
        (false, "addi a0, a0, 1", 2, 2),
    ] {
        let body = format!("{producer}\nbltz a0, on\non:\nnop");
        assert_eq!(
            bubbles(&stages(forwarding, true), &body)[0],
            decode,
            "{producer}"
        );
        assert_eq!(
            bubbles(&stages(forwarding, false), &body)[0],
            execute,
            "{producer}"
        );
    }
}

#[test]
fn an_instruction_that_stays_holds_all_behind_it() {
    // A multiplication of three cycles stays in execute for two more; a division for 19.
    let body = "mul a0, a1, a2\nadd t0, t1, t2\nadd t0, t1, t2";
    assert_eq!(
        bubbles(&preset("five-stage"), &format!("nop\n{body}")),
        [2, 0, 0]
    );
    // A load that misses stays in memory. What does not use it waits in execute, its user in decode.
    for (next, later) in [("add t0, t1, t2", 1), ("add t0, a0, t2", 2)] {
        let text = format!(
            "la s0, data\nli s1, 6\n.align 64\nmain:\naddi s0, s0, 1024\nload:\nld a0, 0(s0)\nnext:\n{next}\n\
             after:\nadd t3, t4, t5\naddi s1, s1, -1\nbnez s1, main\nebreak\n"
        );
        let run = Run::of(&preset("five-stage"), &Program::new(&text, 1 << 14));
        let (load, next, after) = (run.at("load")[4], run.at("next")[4], run.at("after")[4]);
        assert!(load.end_cycle - load.issue_cycle > 20, "a miss: {load:?}");
        assert_eq!(next.end_cycle, load.end_cycle + later);
        assert_eq!(after.end_cycle, next.end_cycle + 1);
        assert!(
            after.issue_cycle >= load.end_cycle - 1,
            "it stays in decode"
        );
    }
}

#[test]
fn two_places_in_each_stage_take_independent_pairs() {
    let m = preset("five-stage-dual");
    let pairs = warm(
        &m,
        "add a0, a1, a2\nadd a3, a1, a2\nadd a4, a1, a2\nadd a5, a1, a2",
    );
    let ends: Vec<u64> = pairs[..4].iter().map(|r| r.end_cycle).collect();
    assert_eq!(steps(&ends), [0, 1, 0]);
    let chain = warm(
        &m,
        "add a0, a1, a2\nadd a3, a0, a2\nadd a4, a3, a2\nadd a5, a4, a2",
    );
    let ends: Vec<u64> = chain[..4].iter().map(|r| r.end_cycle).collect();
    assert_eq!(steps(&ends), [1, 1, 1]);
}

#[test]
fn in_one_cycle_an_instruction_is_fetched_executed_and_committed() {
    let m = preset("single-cycle");
    let all = warm(
        &m,
        "ld a0, 0(s0)\nadd a1, a0, a0\nmul a1, a1, a1\nsd a1, 8(s0)\nbeqz zero, on\nnop\non:\njal ra, there\nthere:\nnop",
    );
    for (at, r) in all.iter().enumerate() {
        let cycle = all[0].fetch_cycle + at as u64;
        assert_eq!(
            [
                r.fetch_cycle,
                r.decode_cycle,
                r.dispatch_cycle,
                r.issue_cycle,
                r.complete_cycle,
                r.end_cycle
            ],
            [cycle; 6],
            "{at}: {r:?}"
        );
    }
    assert_eq!(all.len(), 12);
    let run = Run::of(&m, &random::program(7300, Mix::default()));
    assert_eq!(run.stats.branch_mispredicted_events, 0);
    assert_eq!(run.cpi.get(Cause::Base), run.committed.len() as u64);
}

#[test]
fn static_schedules_know_when_results_are_there() {
    let records = warm(
        &preset("five-stage"),
        "add a0, a1, a2\nld a3, 0(s0)\nmul a4, a1, a2",
    );
    for (name, cycles) in [
        ("five-stage", [1, 2, 3]),
        ("five-stage-stalls", [3, 3, 5]),
        ("single-cycle", [1, 1, 1]),
    ] {
        let rules = StaticScheduler::new(&preset(name)).expect("it issues in order");
        let placed = records[..3].iter().map(|r| Placed {
            pc: r.pc,
            inst: r.inst,
        });
        let latencies: Vec<u64> = placed.map(|one| rules.latency_cycles(&one)).collect();
        assert_eq!(latencies, cycles, "{name}");
    }
}

/// Variants on which random programs run.
fn variants() -> Vec<MachineConfig> {
    let mut all: Vec<MachineConfig> = [
        "five-stage",
        "five-stage-stalls",
        "five-stage-dual",
        "single-cycle",
    ]
    .into_iter()
    .map(preset)
    .collect();
    all.extend([stages(true, true), stages(false, true)]);
    let mut seven = stages(true, false);
    seven.fetch.fetch_to_decode_cycles = 2;
    seven.fetch.fetch_buffer_insts = 2;
    seven.issue.issue_to_execute_cycles = 2;
    assert_eq!(seven.pipeline_stages(), 7);
    seven.check().expect("a deeper pipeline is one");
    all.push(seven);
    all
}

#[test]
fn no_stage_holds_more_than_its_places() {
    for m in variants() {
        let width = m.issue.issue_width as usize;
        let read = u64::from(m.issue.issue_to_execute_cycles);
        for seed in 7200..7206u64 {
            let program = random::program(
                seed,
                Mix {
                    iterations: 6,
                    ..Mix::default()
                },
            );
            let run = Run::of(&m, &program);
            let what = format!("seed {seed} on {}", m.name);
            let all = || run.committed.iter().chain(&run.squashed);
            let cycles = run.stats.cycles as usize + 2;
            let (mut decode, mut behind, mut write) =
                (vec![0; cycles], vec![0; cycles], vec![0; cycles]);
            for r in all() {
                let end = r.end_cycle.min(run.stats.cycles) as usize;
                let from = (r.decode_cycle as usize).min(end);
                let left = r.issue_cycle.saturating_add(1).min(end as u64) as usize;
                for place in &mut decode[from.min(left)..left] {
                    *place += 1;
                }
                if r.issue_cycle <= r.end_cycle {
                    for place in &mut behind[((r.issue_cycle + read) as usize).min(end)..end] {
                        *place += 1;
                    }
                }
                write[end] += usize::from(!r.squashed);
            }
            assert!(decode.iter().all(|&held| held <= width), "{what}: decode");
            // Execute and memory.
            assert!(
                behind.iter().all(|&held| held <= 2 * width),
                "{what}: execute and memory"
            );
            assert!(
                write.iter().all(|&held| held <= width),
                "{what}: write back"
            );
            let slots = u64::from(m.window.commit_width) * run.stats.cycles;
            assert_eq!(run.cpi.total(), slots, "{what}: every slot has an owner");
        }
    }
}

#[test]
fn the_program_computes_what_it_computes_elsewhere() {
    for seed in 7210..7216u64 {
        let program = random::program(seed, Mix::default());
        let mut reference = Chip::new(&preset("hps-4wide"), program.process());
        let stop = reference.run_to_end();
        for m in variants() {
            let mut core = Chip::new(&m, program.process());
            assert_eq!(core.run_to_end(), stop, "seed {seed} on {}", m.name);
            assert_eq!(
                core.process().thread.hart.r,
                reference.process().thread.hart.r,
                "seed {seed} on {}",
                m.name
            );
        }
    }
}

#[test]
fn a_duplicate_and_pieces_give_the_same_run() {
    let program = random::program(7220, Mix::default());
    for m in variants() {
        let mut whole = Chip::new(&m, program.process());
        whole.run_to_end();
        let mut core = Chip::new(&m, program.process());
        while core.run(7) == Stop::Limit {}
        assert_eq!(core.stats(), whole.stats(), "{} in pieces", m.name);
        let mut first = Chip::new(&m, program.process());
        first.run(501);
        let mut second = first.duplicate().expect("nothing is shared");
        first.run_to_end();
        second.run_to_end();
        assert_eq!(first.stats(), second.stats(), "{} twice", m.name);
        assert_eq!(first.stats(), whole.stats(), "{} in two parts", m.name);
    }
}

#[test]
fn what_such_a_machine_does_not_have_is_refused_by_its_key() {
    for (base, text, says) in [
        (
            "five-stage",
            "decode: (decode_to_dispatch_cycles: 1)",
            "decode.decode_to_dispatch_cycles",
        ),
        (
            "five-stage",
            "window: (commit_width: 2)",
            "window.commit_width",
        ),
        (
            "five-stage",
            "window: (complete_to_commit_cycles: 0)",
            "window.complete_to_commit_cycles",
        ),
        (
            "five-stage",
            "dise: (expansion_cost: ExtraStage)",
            "dise.expansion_cost",
        ),
        (
            "single-cycle",
            "issue: (issue_to_execute_cycles: 1)",
            "issue.issue_to_execute_cycles",
        ),
        (
            "single-cycle",
            "issue: (issue_width: 2)",
            "issue.issue_width",
        ),
        (
            "ev5",
            "issue: (scheduling: InOrder(slotting: Alpha21164, stages: InStep()))",
            "issue.scheduling",
        ),
        (
            "hps-4wide",
            "decode: (decode_to_dispatch_cycles: 0)",
            "decode.decode_to_dispatch_cycles",
        ),
    ] {
        let error = MachineConfig::from_ron(&format!("(base: {base:?}, {text})"), "mine.ron");
        let error = error.expect_err("no such machine").to_string();
        assert!(
            error.contains(says) && error.contains("mine.ron:1"),
            "{error}"
        );
    }
}
