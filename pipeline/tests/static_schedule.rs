//! The static scheduler against the core in order, with every access a hit.

use crate::common::random::{Random, line};
use crate::common::{DCPI_COPY_LOOP, Program, Run, machine, preset};
use hps_isa::inst::OpClass;
use hps_isa::isa::Isa;
use hps_pipeline::config::{InOrderConfig, L1dWrite, MachineConfig, Predictor, Scheduling};
use hps_pipeline::core::IssueStall;
use hps_pipeline::schedule::issue_rows;
use hps_pipeline::static_schedule::{NotInOrder, Operand, StaticScheduler, StaticStall};
use hps_system::cfg::Placed;

/// The instructions from one label to another.
fn between(program: &Program, isa: Isa, from: &str, to: &str) -> Vec<Placed> {
    let process = program.process();
    let mut pc = program.address(from);
    let mut found = Vec::new();
    while pc < program.address(to) {
        let word = process.mem.fetch_four_bytes(pc).expect("code");
        let inst = isa.decode(word);
        found.push(Placed { pc, inst });
        pc += u64::from(inst.len);
    }
    found
}

#[test]
fn the_copy_loop_has_the_minimum_head_times_that_the_dcpi_paper_prints() {
    // At the address at which the paper has it, modulo a block.
    let text = format!(".align 16\nmain:{DCPI_COPY_LOOP}\nend:\nbpt");
    let program = Program::of(Isa::Alpha, &text, 64);
    let block = between(&program, Isa::Alpha, "main", "end");
    let scheduler = StaticScheduler::new(&preset("ev5")).expect("ev5 is in order");
    let slotted = scheduler.schedule(&block);
    let heads: Vec<u32> = slotted.iter().map(|s| s.head_cycles).collect();
    // Column M of figure 7.
    assert_eq!(heads, [1, 0, 1, 0, 1, 0, 1, 0, 1, 1, 1, 0, 1]);
    // The `s` of figure 2: stores that follow a store. The first one behind a comparison waits for its block instead.
    let slots: Vec<usize> = (0..block.len())
        .filter(|at| slotted[*at].slotting_cycles() > 0)
        .collect();
    assert!(slots.contains(&9) && slots.contains(&10), "{slots:?}");
}

#[test]
fn machines_out_of_order_have_no_static_schedule() {
    let refused = StaticScheduler::new(&preset("ev6")).err();
    assert_eq!(
        refused,
        Some(NotInOrder {
            machine: "ev6".to_string()
        })
    );
}

/// A loop around a random block. Divisions in front of the block let everything older complete, while the front-end
/// runs ahead.
fn program(isa: Isa, random: &mut Random) -> Program {
    let count = 4 + random.below(16);
    let mut body: Vec<String> = (0..count).map(|_| line(isa, random)).collect();
    if random.below(2) == 0 {
        body.push(match (isa, random.below(2)) {
            (Isa::Riscv64, 0) => "sltu a0, a1, a2\nbnez a0, end".to_string(),
            (Isa::Riscv64, _) => "beq a1, a2, end".to_string(),
            (Isa::Alpha, 0) => "cmpeq t0, t1, t2\nbne t2, end".to_string(),
            (Isa::Alpha, _) => "beq t1, end".to_string(),
        });
    }
    let body = body.join("\n");
    let text = match isa {
        Isa::Riscv64 => format!(
            "la s0, data\nli s1, 8\nli s2, 3\nfcvt.d.l fa7, s2\nfcvt.d.l fa0, s2\nfcvt.d.l fa1, s2\n\
             fcvt.d.l fa2, s2\nfcvt.d.l fa3, s2\n.align 64\nmain:\n\
             nop\nnop\nfdiv.d fa6, fa7, fa7\nfdiv.d fa5, fa6, fa6\nfadd.d fa4, fa5, fa5\nnop\nnop\nnop\n\
             block:\n{body}\nend:\naddi s1, s1, -1\nbnez s1, main\nebreak\n"
        ),
        Isa::Alpha => format!(
            "la s0, data\nli s1, 8\nli s2, 3\nstq s2, 512(s0)\nldt $f10, 512(s0)\ncvtqt $f10, $f10\n\
             cpys $f10, $f10, $f1\ncpys $f10, $f10, $f2\ncpys $f10, $f10, $f3\ncpys $f10, $f10, $f4\n.align 64\nmain:\n\
             nop\nnop\ndivt $f10, $f10, $f11\ndivt $f11, $f11, $f12\naddt $f12, $f12, $f13\nnop\nnop\nnop\n\
             block:\n{body}\nend:\nsubq s1, 1, s1\nbne s1, main\nbpt\n"
        ),
    };
    Program::of(isa, &text, 1 << 13)
}

/// Whether what the core says of the last cycle in which an instruction waited is what the scheduler says.
fn agree(dynamic: IssueStall, fixed: StaticStall) -> bool {
    match fixed {
        StaticStall::Start => true,
        StaticStall::Block => dynamic == IssueStall::Block,
        StaticStall::Width => dynamic == IssueStall::Width,
        StaticStall::Slot => dynamic == IssueStall::Slot,
        StaticStall::Dependence { .. } => dynamic == IssueStall::Operand,
        StaticStall::Unit { .. } => dynamic == IssueStall::Unit,
    }
}

fn perfect(m: &mut MachineConfig) {
    m.branch.predictor = Predictor::AlwaysTaken;
    m.memory.page_bytes = 1 << 22;
    m.memory.l1d_write = L1dWrite::WriteBack;
    m.memory.l1d.ports = 4;
}

#[test]
fn random_blocks_issue_on_the_core_when_the_scheduler_says() {
    let ev5 = machine("ev5", perfect);
    let free = machine("hps-4wide", |m| {
        perfect(m);
        m.issue.scheduling = Scheduling::InOrder(InOrderConfig::default());
    });
    let mut random = Random(1997);
    let mut waited = [0; 3];
    for round in 0..240 {
        let isa = Isa::ALL[round % 2];
        let m = if round % 6 < 4 { &ev5 } else { &free };
        let program = program(isa, &mut random);
        let block = between(&program, isa, "block", "end");
        let slotted = StaticScheduler::new(m).expect("in order").schedule(&block);
        let run = Run::of(m, &program);
        let last = run.last_iteration("block");
        let before = run.at("block").len();
        assert!(before > 4, "the block is warm");
        let rows = issue_rows(last, Some(1));
        let listing = hps_pipeline::schedule::listing(isa, &last[..block.len()]);
        for (at, (row, fixed)) in rows.iter().zip(&slotted).enumerate() {
            let what = format!(
                "round {round} on {}, instruction {at}: {fixed:?}\n{listing}",
                m.name
            );
            assert_eq!(row.pc, block[at].pc, "{what}");
            assert_eq!(row.head_cycles, u64::from(fixed.head_cycles), "{what}");
            assert_eq!(row.pipe, fixed.pipe, "{what}");
            // Of a memory instruction the core says less.
            if let Some(stall) = fixed.stalls.last()
                && !block[at].inst.class.is_memory()
            {
                assert!(agree(row.stall, *stall), "{what}: {:?}", row.stall);
            }
            for stall in &fixed.stalls {
                match stall {
                    StaticStall::Slot => waited[0] += 1,
                    StaticStall::Dependence { .. } => waited[1] += 1,
                    StaticStall::Unit { .. } => waited[2] += 1,
                    _ => {}
                }
            }
        }
    }
    assert!(waited.iter().all(|w| *w > 50), "{waited:?}");
}

#[test]
fn a_dependence_names_its_operand_and_who_makes_it() {
    let text = "main:\nmulq t0, t1, t2\naddq t3, t3, t4\naddq t4, t2, t5\nend:\nbpt";
    let program = Program::of(Isa::Alpha, text, 64);
    let block = between(&program, Isa::Alpha, "main", "end");
    let scheduler = StaticScheduler::new(&preset("ev5")).expect("in order");
    let last = scheduler
        .schedule(&block)
        .pop()
        .expect("three instructions");
    // The multiplication takes twelve cycles.
    assert_eq!(last.head_cycles, 12);
    let waits = StaticStall::Dependence {
        operand: Operand::Rb,
        producer: 0,
    };
    assert_eq!(last.stalls[1..], vec![waits; 11]);
    assert!(block.iter().all(|p| p.inst.class != OpClass::Illegal));
}
