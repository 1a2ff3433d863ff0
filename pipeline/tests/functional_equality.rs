//! The pipeline, cycle-driven and instruction-driven, computes what the functional machine computes: on random programs, for every
//! preset, predictor and memory dependence policy; and its state is precise when something faults.

use crate::common::compare::{Outcome, PROGRAM_REGISTERS};
use crate::common::random::{self, Mix};
use crate::common::{Program, machine, preset};
use hps_isa::editor::NoEditor;
use hps_isa::trap::TrapCause;
use hps_pipeline::config::{
    BimodalConfig, ExpansionCost, GshareConfig, MachineConfig, MemDep, PerceptronConfig, Predictor,
    RasRepair, StoreSetsConfig, StoreWaitConfig, TageConfig, TournamentConfig,
};
use hps_sim_core::machine::Stop;

/// Far more than any of the programs executes.
const LIMIT: u64 = 200_000;

fn predictors() -> Vec<Predictor> {
    vec![
        Predictor::Perfect,
        Predictor::AlwaysTaken,
        Predictor::AlwaysNotTaken,
        Predictor::Bimodal(BimodalConfig::default()),
        Predictor::Gshare(GshareConfig::default()),
        Predictor::Tournament(TournamentConfig::default()),
        Predictor::Perceptron(PerceptronConfig::default()),
        Predictor::Tage(TageConfig::default()),
    ]
}

fn policies() -> Vec<MemDep> {
    vec![
        MemDep::Aggressive,
        MemDep::Conservative,
        MemDep::StoreSets(StoreSetsConfig {
            clear_interval_cycles: 5_000,
            ..StoreSetsConfig::default()
        }),
        MemDep::StoreWait(StoreWaitConfig {
            clear_interval_cycles: 5_000,
            ..StoreWaitConfig::default()
        }),
    ]
}

/// Every combination of preset, predictor and policy, some with further peculiarities.
fn machines() -> Vec<MachineConfig> {
    let mut all = Vec::new();
    for name in crate::common::single_core_presets() {
        for predictor in predictors() {
            for policy in policies() {
                let index = all.len();
                all.push(machine(name, |m| {
                    m.branch.predictor = predictor.clone();
                    m.speculation.memory_dependence = policy.clone();
                    peculiarities(m, index);
                }));
            }
        }
    }
    all
}

fn peculiarities(m: &mut MachineConfig, index: usize) {
    m.branch.ras_repair =
        [RasRepair::None, RasRepair::TopEntry, RasRepair::Full][index % 3].clone();
    // Stages in step have a depth of their own.
    let is_free = m.issue.stages().are_free();
    match index % 8 {
        1 if is_free => {
            m.window.complete_to_commit_cycles = 0;
            m.issue.issue_to_execute_cycles = 0;
        }
        2 => m.fetch.taken_branches_per_cycle = 3,
        3 => m.branch.ras_entries = 0,
        4 => {
            m.window.store_queue_entries = 1;
            m.window.load_queue_entries = 1;
        }
        5 => {
            m.window.reservation_stations = 1;
            m.window.fp_queue_entries = m.window.fp_queue_entries.min(1);
        }
        6 if is_free => m.dise.expansion_cost = ExpansionCost::ExtraStage,
        7 => {
            m.window.rob_entries = 2;
            m.window.reservation_stations = 2;
            m.window.fp_queue_entries = m.window.fp_queue_entries.min(2);
            m.window.load_queue_entries = 2;
            m.window.store_queue_entries = 2;
        }
        _ => {}
    }
}

fn check(program: &Program, config: &MachineConfig, expected: &Outcome, what: &str) {
    let got = Outcome::pipeline(config, program.process(), hps_isa::editor::NoEditor, LIMIT);
    check_outcome(expected, &got, what);
    if let Some(got) = Outcome::driven(config, program.process(), NoEditor, LIMIT) {
        check_outcome(expected, &got, &format!("{what}, by instruction"));
    }
}

fn check_outcome(expected: &Outcome, got: &Outcome, what: &str) {
    expected.assert_equal(got, PROGRAM_REGISTERS, what);
    assert_eq!(expected.hart.pc, got.hart.pc, "{what}: where it ended");
    expected.assert_same_memory(got, 0..0, what);
}

#[test]
fn random_programs_compute_the_same_on_every_machine() {
    let machines = machines();
    assert_eq!(machines.len(), 11 * predictors().len() * 4);
    let mut instructions = 0;
    for seed in 0..252u64 {
        // Synchronisations throw all decoded code away, which takes a while.
        let mix = Mix {
            sync: seed.is_multiple_of(60),
            ..Mix::default()
        };
        let program = random::program(seed, mix);
        let expected = Outcome::plain(program.process(), LIMIT);
        assert!(
            matches!(expected.stop, Stop::Fault(t) if t.cause == TrapCause::Breakpoint),
            "seed {seed} ends"
        );
        assert!(expected.retired.program > 500, "seed {seed} is long enough");
        instructions += expected.retired.program;
        // Each program meets two machines, and each machine one or two programs.
        for k in [0, 84] {
            let at = (seed as usize + k) % machines.len();
            let m = &machines[at];
            let what = format!(
                "seed {seed}, {}, {:?}, {:?}, machine {at}",
                m.name, m.branch.predictor, m.speculation.memory_dependence
            );
            check(&program, m, &expected, &what);
        }
    }
    assert!(
        instructions > 252 * 1500,
        "the programs are long enough: {instructions}"
    );
}

#[test]
fn a_run_stopped_anywhere_has_the_state_of_that_instruction() {
    for seed in 1000..1030u64 {
        let program = random::program(
            seed,
            Mix {
                iterations: 4,
                ..Mix::default()
            },
        );
        let config = preset(
            crate::common::single_core_presets()
                [seed as usize % crate::common::single_core_presets().len()],
        );
        for limit in [1, 7, 33, 150 + seed % 61, 300 + seed % 97] {
            let expected = Outcome::plain(program.process(), limit);
            let got =
                Outcome::pipeline(&config, program.process(), hps_isa::editor::NoEditor, limit);
            let what = format!("seed {seed}, stopped after {limit}");
            check_outcome(&expected, &got, &what);
            if let Some(got) = Outcome::driven(&config, program.process(), NoEditor, limit) {
                check_outcome(&expected, &got, &format!("{what}, by instruction"));
            }
        }
    }
}

/// A load from nowhere, behind a slow branch that hides it, in front of stores that must not be
/// seen.
fn faulting(cause: &str) -> Program {
    let text = format!(
        "
        la s0, data
        li a0, 12345
        li a1, 7
        li t4, 50
        main:
        div a2, a0, a1
        sd a2, 0(s0)
        andi a3, a2, 1
        add a0, a0, a2
        beqz a3, even
        addi a1, a1, 3
        even:
        sd a1, 8(s0)
        addi t4, t4, -1
        bnez t4, main
        fdiv.d fa0, fa1, fa2
        {cause}
        sd t4, 16(s0)
        sd a0, 24(s0)
        fadd.d fa0, fa0, fa0
        frflags a5
        j main
        "
    );
    Program::new(&text, 4096)
}

#[test]
fn faults_are_precise() {
    for (cause, wanted) in [
        (
            "ld a4, -8(zero)",
            TrapCause::LoadFault { addr: u64::MAX - 7 },
        ),
        ("sd a4, 64(zero)", TrapCause::StoreFault { addr: 64 }),
        ("amoadd.d a4, a4, (zero)", TrapCause::LoadFault { addr: 0 }),
        ("ebreak", TrapCause::Breakpoint),
        ("jr zero", TrapCause::FetchFault),
    ] {
        let program = faulting(cause);
        let expected = Outcome::plain(program.process(), LIMIT);
        let Stop::Fault(trap) = expected.stop else {
            panic!("`{cause}` faults")
        };
        if !cause.starts_with("amo") {
            assert_eq!(trap.cause, wanted, "`{cause}`");
        }
        for (i, config) in machines().iter().enumerate().step_by(5) {
            check(
                &program,
                config,
                &expected,
                &format!("`{cause}` on machine {i}"),
            );
        }
    }
}

#[test]
fn a_load_that_faults_on_a_wrong_path_is_never_seen() {
    // The pointer is null in every second iteration, and the branch that says so waits for a
    // division.
    let program = Program::new(
        "
        la s0, data
        li t4, 200
        li a1, 1
        main:
        andi a0, t4, 1
        neg a0, a0
        and a0, a0, s0
        div a2, t4, a1
        andi a2, a2, 1
        beqz a2, skip
        ld a3, 0(a0)
        add a4, a4, a3
        sd t4, 0(s0)
        skip:
        addi t4, t4, -1
        bnez t4, main
        ebreak
        ",
        4096,
    );
    let expected = Outcome::plain(program.process(), LIMIT);
    for (i, config) in machines().iter().enumerate().step_by(3) {
        check(&program, config, &expected, &format!("machine {i}"));
    }
}

/// The handler steps over the instruction at fault; RISC-V Linux keeps its address in the first
/// register of the context, 176 bytes into the frame's `ucontext`.
const SIGNALS: &str = "
    la s0, data
    la t0, handler
    sd t0, 64(s0)
    li t0, 4
    sd t0, 72(s0)
    sd zero, 80(s0)
    li a0, 11
    addi a1, s0, 64
    li a2, 0
    li a3, 8
    li a7, 134
    ecall
    mv s3, a0
    li s1, 30
    main:
    andi a4, s1, 3
    slli a4, a4, 4
    addi a5, a5, 13
    sd a5, 0(s0)
    bnez a4, fine
    ld a5, 8(zero)
    fine:
    ld a6, 0(s0)
    add a5, a5, a6
    addi s1, s1, -1
    bnez s1, main
    ebreak
    handler:
    ld t0, 176(a2)
    addi t0, t0, 4
    sd t0, 176(a2)
    ld t1, 32(s0)
    addi t1, t1, 1
    sd t1, 32(s0)
    ret
";

#[test]
fn signal_handlers_of_the_program_run_in_both_machines() {
    let program = Program::new(SIGNALS, 4096);
    let expected = Outcome::plain(program.process(), LIMIT);
    assert_eq!(expected.hart.r[19], 0, "rt_sigaction succeeds");
    let page = &expected.pages[&crate::common::assemble::DATA];
    assert_eq!(page[32], 7, "the handler ran once in four of 30 iterations");
    for (i, config) in machines().iter().enumerate().step_by(7) {
        let what = format!("machine {i}");
        let editor = hps_isa::editor::NoEditor;
        let got = Outcome::pipeline(config, program.process(), editor, LIMIT);
        check_outcome(&expected, &got, &what);
        // By instruction, the state alone.
        if let Some(got) = Outcome::driven(config, program.process(), NoEditor, LIMIT) {
            assert_eq!(got.stop, expected.stop, "{what}");
            assert_eq!(got.retired.program, expected.retired.program, "{what}");
            for r in PROGRAM_REGISTERS.map(usize::from) {
                assert_eq!(got.hart.r[r], expected.hart.r[r], "{what}: register {r}");
            }
            assert_eq!(got.hart.pc, expected.hart.pc, "{what}");
            expected.assert_same_memory(&got, 0..0, &what);
        }
    }
}
