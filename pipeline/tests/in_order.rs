//! The in-order core: what issues together, what waits for what, and what it counts.

use std::collections::BTreeMap;

use crate::common::random::{self, Mix};
use crate::common::{Program, Run, issues, machine, preset, repeat, steps};
use hps_isa::editor::NoEditor;
use hps_isa::inst::OpClass;
use hps_isa::isa::Isa;
use hps_pipeline::config::{InOrderConfig, MachineConfig, Predictor, Scheduling, Slotting};
use hps_pipeline::core::{Cause, Chip, IssueStall, Pipe, StageRecord, StagesProbe};
use hps_pipeline::kanata::KanataLog;
use hps_pipeline::schedule::{issue_rows, listing};
use hps_sim_core::machine::Stop;

/// `ev5`, every branch of a loop predicted, data in one page.
fn ev5(change: impl FnOnce(&mut MachineConfig)) -> MachineConfig {
    machine("ev5", |m| {
        m.branch.predictor = Predictor::AlwaysTaken;
        m.memory.page_bytes = 1 << 22;
        change(m);
    })
}

/// The machine of the HPS paper, in order and without issue slots.
fn free() -> MachineConfig {
    machine("hps-4wide", |m| {
        m.issue.scheduling = Scheduling::InOrder(InOrderConfig::default());
    })
}

/// A loop around a body that begins a block of instructions.
fn looped(prologue: &str, times: u64, body: &str) -> Program {
    let text = format!(
        "la s0, data\n{prologue}\nli s1, {times}\n.align 64\nmain:\n{body}\n\
         addi s1, s1, -1\nbnez s1, main\nebreak\n"
    );
    Program::new(&text, 1 << 16)
}

/// The copy loop of the DCPI paper (figure 2), instruction for instruction, but for pointers that
/// stay where they are, so that every access hits.
const COPY: &str = "
    la t1, data
    addi t2, t1, 1024
    li t0, 0
    li s2, 400
    .align 64
    main:
    ld t4, 0(t1)
    addi t0, t0, 4
    ld t5, 8(t1)
    ld t6, 16(t1)
    ld a0, 24(t1)
    addi t1, t1, 0
    sd t4, 0(t2)
    sltu t3, t0, s2
    sd t5, 8(t2)
    sd t6, 16(t2)
    sd a0, 24(t2)
    addi t2, t2, 0
    bnez t3, main
    ebreak";

/// The copy loop as the paper prints it, in Alpha's own instructions.
const COPY_ALPHA: &str = "
    la t1, data
    lda t2, 1024(t1)
    clr t0
    li v0, 400
    .align 64
    main:
    ldq t4, 0(t1)
    addq t0, 4, t0
    ldq t5, 8(t1)
    ldq t6, 16(t1)
    ldq a0, 24(t1)
    lda t1, 0(t1)
    stq t4, 0(t2)
    cmpult t0, v0, t3
    stq t5, 8(t2)
    stq t6, 16(t2)
    stq a0, 24(t2)
    lda t2, 0(t2)
    bne t3, main
    bpt";

#[test]
fn the_copy_loop_issues_in_the_pairs_and_with_the_static_stalls_that_the_dcpi_paper_prints() {
    for (isa, text) in [(Isa::Alpha, COPY_ALPHA), (Isa::Riscv64, COPY)] {
        issues_as_printed(isa, &Run::of(&preset("ev5"), &Program::of(isa, text, 4096)));
    }
}

fn issues_as_printed(isa: Isa, run: &Run) {
    let iterations = run.at("main");
    let last = run.last_iteration("main");
    // The paper: best case 8 cycles for 13 instructions.
    assert_eq!(last.len(), 13);
    assert_eq!(steps(&issues(&iterations[60..100])), vec![8; 39]);
    let rows = issue_rows(last, Some(1));
    let head: Vec<u64> = rows.iter().map(|r| r.head_cycles).collect();
    // Column M of figure 7.
    assert_eq!(head, [1, 0, 1, 0, 1, 0, 1, 0, 1, 1, 1, 0, 1]);
    use Pipe::{E0, E1};
    let pipes: Vec<Pipe> = rows.iter().filter_map(|r| r.pipe).collect();
    assert_eq!(pipes, [E0, E1, E0, E1, E0, E1, E0, E1, E0, E0, E0, E1, E1]);
    use IssueStall::{Block, Slot};
    let stalls: Vec<IssueStall> = rows
        .iter()
        .filter(|r| r.head_cycles > 0)
        .map(|r| r.stall)
        .collect();
    // Stores that follow a store wait for its pipe (the `s` of figure 2); the first of a block waits
    // for the block before it.
    assert_eq!(stalls, [Block, Slot, Block, Slot, Block, Slot, Slot, Block]);
    let text = listing(isa, last);
    assert_eq!(text.lines().count(), 14);
    assert_eq!(text.matches("(together with the one before)").count(), 5);
    assert_eq!(text.matches("(slot)").count(), 4, "{text}");
}

/// The copy loop with a pointer or both of them moving.
fn moving(read: bool) -> Run {
    let mut text = COPY
        .replace("addi t2, t2, 0", "addi t2, t2, 32")
        .replace("li s2, 400", "li s2, 4000")
        .replace("addi t2, t1, 1024", "li t2, 0x1080000");
    if read {
        text = text.replace("addi t1, t1, 0", "addi t1, t1, 32");
    }
    Run::of(&preset("ev5"), &Program::new(&text, 1 << 20))
}

#[test]
fn the_copy_loop_with_moving_pointers_stalls_at_its_stores() {
    let waits = |run: &Run, i: u64, why: IssueStall| {
        let all = nth(run, i);
        let waited = all.iter().filter(|r| r.issue_stall == why);
        waited.count() as f64 / all.len() as f64
    };
    // `stq t4` waits for the load of its value, and so do the stores behind it, whose words come
    // with the rest of the line; nothing else waits for an operand.
    let run = moving(true);
    assert!(waits(&run, 6, IssueStall::Operand) > 0.9);
    for i in (0..13).filter(|i| ![6, 8, 9, 10].contains(i)) {
        assert!(waits(&run, i, IssueStall::Operand) < 0.1, "instruction {i}");
    }
    assert!(run.stats.issue_operand_stall_cycles * 2 > run.stats.cycles);
    // Values that hit, stores that the caches do not take fast enough: the write buffer overflows.
    let run = moving(false);
    let s = run.stats;
    assert!(s.issue_write_buffer_stall_cycles * 2 > s.cycles, "{s:?}");
    assert!(run.memory.write_buffer.full_events > 100);
    let stores: f64 = [6, 8, 9, 10]
        .into_iter()
        .map(|i| waits(&run, i, IssueStall::WriteBuffer))
        .sum();
    assert!(stores > 0.4, "{stores}");
    assert!(run.cpi.get(Cause::StoreWait) * 2 > run.cpi.total());
}

/// Every execution of the `i`th instruction of the loop, without the first and last ten.
fn nth(run: &Run, i: u64) -> Vec<StageRecord> {
    let pc = run.program.address("main") + 4 * i;
    let all: Vec<StageRecord> = run
        .committed
        .iter()
        .filter(|r| r.pc == pc)
        .copied()
        .collect();
    all[10..all.len() - 10].to_vec()
}

/// Everything that issued, by cycle, in the order of issue.
fn by_cycle(run: &Run) -> BTreeMap<u64, Vec<StageRecord>> {
    let mut all: BTreeMap<u64, Vec<StageRecord>> = BTreeMap::new();
    for r in run.committed.iter().chain(&run.squashed) {
        if r.issue_cycle <= r.end_cycle {
            all.entry(r.issue_cycle).or_default().push(*r);
        }
    }
    all.values_mut().for_each(|g| g.sort_by_key(|r| r.seq));
    all
}

#[test]
fn random_programs_issue_in_order_and_in_the_pipes() {
    for seed in 7000..7012u64 {
        let program = random::program(
            seed,
            Mix {
                iterations: 8,
                ..Mix::default()
            },
        );
        for m in [preset("ev5"), free()] {
            let run = Run::of(&m, &program);
            let what = format!("seed {seed} on {}", m.name);
            assert!(issues(&run.committed).is_sorted(), "{what}: program order");
            let slotted = m.name == "ev5";
            let mut counts = [0u64; 5];
            for (cycle, group) in by_cycle(&run) {
                counts[group.len()] += 1;
                let seqs: Vec<u64> = group.iter().map(|r| r.seq).collect();
                assert!(
                    seqs.windows(2).all(|w| w[1] == w[0] + 1),
                    "{what}, cycle {cycle}: neighbours, {seqs:?}"
                );
                if slotted {
                    assert_fits(&group, &format!("{what}, cycle {cycle}"));
                }
            }
            let s = run.stats;
            let issued = [
                s.issue_single_cycles,
                s.issue_dual_cycles,
                s.issue_triple_cycles,
                s.issue_quad_or_more_cycles,
            ];
            assert_eq!(issued, counts[1..], "{what}");
            let cycles = s.issue_none_cycles + issued.iter().sum::<u64>();
            // The last cycle ends at the commit of the trap.
            assert!(
                cycles == s.cycles || cycles + 1 == s.cycles,
                "{what}: {s:?}"
            );
            let stalls = s.issue_frontend_stall_cycles
                + s.issue_operand_stall_cycles
                + s.issue_unit_stall_cycles
                + s.issue_memory_stall_cycles
                + s.issue_write_buffer_stall_cycles;
            assert_eq!(
                stalls, s.issue_none_cycles,
                "{what}: every lost cycle has a cause"
            );
        }
    }
}

/// The rules of the 21164 for what issues in one cycle, written once more.
fn assert_fits(group: &[StageRecord], what: &str) {
    let mut pipes: Vec<Pipe> = group.iter().filter_map(|r| r.pipe).collect();
    assert_eq!(
        pipes.len(),
        group.len(),
        "{what}: every instruction has a pipe"
    );
    pipes.sort();
    pipes.dedup();
    assert_eq!(pipes.len(), group.len(), "{what}: one instruction a pipe");
    let block = group[0].pc / 16;
    assert!(
        group.iter().all(|r| r.pc / 16 == block),
        "{what}: one block"
    );
    let count = |class: OpClass| group.iter().filter(|r| r.inst.class == class).count();
    let (loads, stores) = (count(OpClass::Load), count(OpClass::Store));
    assert!(stores == 0 || (stores == 1 && loads == 0), "{what}");
    for r in group {
        let pipe = r.pipe.expect("counted above");
        match r.inst.class {
            OpClass::Store | OpClass::Atomic | OpClass::IntMul | OpClass::IntDiv => {
                assert_eq!(pipe, Pipe::E0, "{what}");
            }
            OpClass::Branch | OpClass::Jump | OpClass::Call | OpClass::Return => {
                assert_eq!(pipe, Pipe::E1, "{what}");
            }
            OpClass::FpAdd | OpClass::FpDiv | OpClass::FpSqrt => {
                assert_eq!(pipe, Pipe::FA, "{what}")
            }
            OpClass::FpMul => assert_eq!(pipe, Pipe::FM, "{what}"),
            _ => {}
        }
    }
}

/// From the issue of one label to that of another, in a warm iteration.
fn distance(m: &MachineConfig, prologue: &str, body: &str) -> u64 {
    let run = Run::of(m, &looped(prologue, 12, body));
    let (from, to) = (run.at("from"), run.at("to"));
    to[9].issue_cycle - from[9].issue_cycle
}

#[test]
fn static_latencies_of_the_21164() {
    let m = ev5(|_| {});
    let float = "fcvt.d.l fa1, s0\nfcvt.d.l fa2, s0";
    for (producer, consumer, cycles) in [
        ("add a0, a1, a2", "add a3, a0, a0", 1),
        ("sll a0, a1, a2", "add a3, a0, a0", 1),
        ("ld a0, 0(s0)", "add a3, a0, a0", 2),
        ("mulw a0, a1, a2", "add a3, a0, a0", 8),
        ("mul a0, a1, a2", "add a3, a0, a0", 12),
        ("mulhu a0, a1, a2", "add a3, a0, a0", 14),
        ("fadd.d fa0, fa1, fa2", "fadd.d fa3, fa0, fa0", 4),
        ("fmul.d fa0, fa1, fa2", "fadd.d fa3, fa0, fa0", 4),
        ("fdiv.d fa0, fa1, fa2", "fadd.d fa3, fa0, fa0", 31),
        ("fdiv.s fa0, fa1, fa2", "fadd.d fa3, fa0, fa0", 15),
        ("fld fa0, 0(s0)", "fadd.d fa3, fa0, fa0", 2),
    ] {
        let body = format!("from:\n{producer}\nnop\nto:\n{consumer}\nnop");
        assert_eq!(distance(&m, float, &body), cycles, "{producer}");
    }
}

#[test]
fn comparison_and_logic_issue_with_the_branch_that_tests_them() {
    for (together, producer, cycles) in [
        (true, "sltu a0, zero, s0", 0),
        (true, "ori a0, s0, 1", 0),
        (true, "addi a0, s0, 1", 1),
        (false, "sltu a0, zero, s0", 1),
    ] {
        let m = ev5(|m| {
            if let Scheduling::InOrder(order) = &mut m.issue.scheduling {
                order.compare_and_branch_together = together;
            }
        });
        // One block: two instructions that take both pipes, then the pair.
        let body = format!("nop\nnop\nfrom:\n{producer}\nto:\nbnez a0, on\non:");
        let got = distance(&m, "", &body);
        assert_eq!(got, cycles, "{producer}, together: {together}");
    }
}

#[test]
fn a_load_that_misses_holds_only_what_needs_it() {
    let m = ev5(|_| {});
    let body = "
        addi s0, s0, 1024
        nop
        nop
        nop
        from:
        ld a0, 0(s0)
        add a1, a2, a3
        to:
        add a1, a2, a3
        nop
        other:
        add a4, a0, a0
        nop
        nop
        nop";
    let run = Run::of(&m, &looped("", 12, body));
    for i in 2..10 {
        let (load, free, user) = (run.at("from")[i], run.at("to")[i], run.at("other")[i]);
        assert_eq!(free.issue_cycle, load.issue_cycle + 1);
        assert!(user.issue_cycle > load.issue_cycle + 20, "a miss to memory");
        assert_eq!(user.issue_cycle + 1, load.complete_cycle);
        assert_eq!(user.issue_stall, IssueStall::Operand);
    }
}

#[test]
fn a_result_does_not_overtake_an_older_one_of_its_register() {
    let m = ev5(|_| {});
    let body = "from:\nmul a0, a1, a2\nto:\nadd a0, a3, a4\nnop\nnop";
    // The multiplication's result comes 12 cycles after its issue, the addition's one after.
    assert_eq!(distance(&m, "", body), 11);
    let other = "from:\nmul a0, a1, a2\nto:\nadd a5, a3, a4\nnop\nnop";
    assert_eq!(distance(&m, "", other), 0);
}

#[test]
fn independent_instructions_are_bound_by_pipes_and_blocks() {
    let m = ev5(|_| {});
    let float = "fcvt.d.l fa1, s0\nfcvt.d.l fa2, s0";
    for (body, cycles) in [
        // Cycles of each block of four.
        (
            [
                "add a0, a1, a2",
                "add a3, a1, a2",
                "add a4, a1, a2",
                "add a5, a1, a2",
            ],
            2,
        ),
        (
            [
                "sll a0, a1, a2",
                "sll a3, a1, a2",
                "sll a4, a1, a2",
                "sll a5, a1, a2",
            ],
            4,
        ),
        (
            [
                "ld a0, 0(s0)",
                "add a3, a1, a2",
                "fadd.d fa0, fa1, fa2",
                "fmul.d fa3, fa1, fa2",
            ],
            1,
        ),
        (
            [
                "fmul.d fa0, fa1, fa2",
                "fmul.d fa3, fa1, fa2",
                "add a0, a1, a2",
                "add a3, a1, a2",
            ],
            2,
        ),
        (
            [
                "sd a1, 0(s0)",
                "sd a1, 8(s0)",
                "sd a1, 16(s0)",
                "sd a1, 24(s0)",
            ],
            4,
        ),
        (
            [
                "sd a1, 0(s0)",
                "add a3, a1, a2",
                "ld a4, 64(s0)",
                "ld a5, 72(s0)",
            ],
            2,
        ),
        (
            [
                "add a0, a1, a2",
                "ld a4, 64(s0)",
                "sd a1, 0(s0)",
                "add a3, a1, a2",
            ],
            2,
        ),
    ] {
        let text = repeat(16, |_| body.join("\n"));
        let run = Run::of(&m, &looped(float, 6, &text));
        let firsts: Vec<u64> = run.last_iteration("main")[..64]
            .chunks(4)
            .map(|block| block[0].issue_cycle)
            .collect();
        assert_eq!(steps(&firsts[4..]), vec![cycles; 11], "{body:?}");
    }
}

#[test]
fn without_slots_the_width_and_the_units_bound_issue() {
    let m = machine("hps-4wide", |m| {
        m.issue.scheduling = Scheduling::InOrder(InOrderConfig {
            slotting: Slotting::Free,
            ..InOrderConfig::default()
        });
        m.branch.predictor = Predictor::AlwaysTaken;
    });
    let run = Run::of(
        &m,
        &looped("", 6, &repeat(64, |i| format!("add a{}, s0, s1", i % 6))),
    );
    let issued = &issues(run.last_iteration("main"))[16..64];
    assert!((0..44).all(|i| issued[i + 4] - issued[i] == 1));
    assert!(run.committed.iter().all(|r| r.pipe.is_none()));
    // A load unit that is taken holds what is behind it, too: three loads of two units.
    let body = repeat(16, |_| {
        "ld a0, 0(s0)\nld a1, 0(s0)\nld a2, 0(s0)\nadd a3, s0, s1".to_string()
    });
    let run = Run::of(&m, &looped("", 6, &body));
    let last = &run.last_iteration("main")[16..64];
    let firsts: Vec<u64> = last.chunks(8).map(|two| two[0].issue_cycle).collect();
    assert_eq!(steps(&firsts), vec![3; 5]);
    assert!(last.iter().any(|r| r.issue_stall == IssueStall::Unit));
}

#[test]
fn stores_wait_at_issue_for_the_write_buffer() {
    let m = ev5(|_| {});
    // A block of 32 bytes each, all in level 2 after the first round.
    let body = repeat(32, |i| format!("sd s1, {}(s0)", 32 * i));
    let run = Run::of(&m, &looped("", 20, &body));
    let s = run.stats;
    assert!(s.issue_write_buffer_stall_cycles > 100, "{s:?}");
    let buffer = run.memory.write_buffer;
    assert!(
        buffer.full_events > 0 && buffer.merge_events < 40,
        "{buffer:?}"
    );
    // Eight stores of a block share its entry: nothing waits.
    let body = repeat(32, |i| format!("sd s1, {}(s0)", 8 * i));
    let run = Run::of(&m, &looped("", 20, &body));
    let buffer = run.memory.write_buffer;
    assert!(
        buffer.merge_events * 4 > buffer.store_events * 2,
        "{buffer:?}"
    );
    assert_eq!(run.memory.l1d.write_back_events, 0);
}

#[test]
fn the_21164_has_seven_stages_and_loses_five_cycles_the_21264_seven() {
    let (ev5, ev6) = (preset("ev5"), preset("ev6"));
    assert_eq!(ev5.pipeline_stages(), 7);
    assert_eq!(ev5.min_mispredict_penalty_cycles(), 5);
    assert_eq!(ev6.min_mispredict_penalty_cycles(), 7);
}

#[test]
fn a_duplicate_goes_on_as_the_original() {
    let program = random::program(7100, Mix::default());
    for limit in [1, 500, 3333] {
        let mut core = Chip::new(&preset("ev5"), program.process());
        assert_eq!(core.run(limit), Stop::Limit);
        let mut other = core.duplicate().expect("nothing is shared");
        let ends = (core.run_to_end(), other.run_to_end());
        assert_eq!(ends.0, ends.1);
        assert_eq!(core.stats(), other.stats());
        assert_eq!(core.memory_stats(), other.memory_stats());
        assert_eq!(core.process().thread.hart.r, other.process().thread.hart.r);
    }
}

#[test]
fn the_head_of_the_issue_queue_is_what_issues_next() {
    let program = Program::new(COPY, 4096);
    let mut core = Chip::new(&preset("ev5"), program.process());
    let code = program.address("main")..program.address("main") + 13 * 4;
    let mut seen = 0;
    for _ in 0..900 {
        core.run(1);
        seen += u64::from(core.issue_head().is_some_and(|pc| code.contains(&pc)));
    }
    assert!(seen > 700, "{seen}");
    let mut out_of_order = Chip::new(&preset("hps-4wide"), program.process());
    out_of_order.run(100);
    assert_eq!(out_of_order.issue_head(), None);
}

#[test]
fn the_pipeline_log_shows_pipes_pairs_and_stalls() {
    let program = Program::new(COPY, 4096);
    let mut core = Chip::with(
        &preset("ev5"),
        program.process(),
        NoEditor,
        StagesProbe::new(KanataLog::new(Isa::Riscv64, 0..u64::MAX, usize::MAX)),
    );
    core.run_to_end();
    let mut log = Vec::new();
    core.probe()
        .probe::<KanataLog>()
        .write(&mut log, &|p| format!("P{p}"), &|_| None)
        .expect("a vector can be written to");
    let log = String::from_utf8(log).expect("the log is text");
    let main = program.address("main");
    for wanted in [
        format!("{main:x}: ld t4,0(t1) [E0]"),
        format!("; issued in E0, dual issue with {:x} in E1", main + 4),
        format!("; issued in E1, dual issue with {main:x} in E0"),
        "; issued in E0 alone; waited for issue: slot".to_string(),
        "\t1\tblock".to_string(),
    ] {
        let text = log.replace(", ", ",");
        assert!(
            log.contains(&wanted) || text.contains(&wanted.replace(", ", ",")),
            "no `{wanted}`"
        );
    }
}
