//! DISE in the instruction-driven core, with the cycle-driven one as its oracle. That both compute the same
//! is checked in `dise`.

use hps_dise::{DiseConfig, DiseEngine, ProductionSet};
use hps_isa::inst::reg;
use hps_isa::probe::NoProbe;
use hps_pipeline::config::{MachineConfig, Predictor};
use hps_pipeline::core::{Chip, CoreKind, CoreStats, DrivenCore, EitherCore, PipelineProbe};
use hps_sim_core::machine::Stop;
use hps_system::process::Process;

use crate::common::compare::ALL_REGISTERS;
use crate::common::random::Mix;
use crate::common::{Program, machine, preset};
use crate::dise::{COUNTS_ONLY, RESTARTS, costs, install, set};
use crate::driven::{
    Ends, PRESETS, STRAIGHT, all_slots, assert_close, assert_same_run, exiting, faulting, near,
};

/// Sequences, branches in them by data of their own, handlers, calls on a condition, returns, triggers at the
/// beginning, in the middle and at the end, and microinstructions that read what a sequence and a handler
/// write. Nothing goes to memory.
pub const COMPUTED: &str = "
    register period = dr0;
    init period = MAX - 20;
    counter 1 = period;
    init dr3 = 5;

    A: T.OPCLASS == cond_branch && !overflow_1 => {
        addi dr4, dr4, 1
        andi dr5, dr4, 3
        d_bne dr5, zero, skip
        mul dr6, dr4, dr4
        call(Count)
        skip: T.INSN
        addi dr7, dr7, 1
    }, count
    B: T.OPCLASS == cond_branch && overflow_1 => {
        addi dr4, dr4, 3
        andi dr5, dr4, 7
        li   dr2, MAX - 30
        add  period, dr2, dr5
        T.INSN
    }, again
    C: T.OPCLASS == mul => { T.INSN ; andi dr2, dr4, 4 ; d_ccall dr2, Count }
    D: T.OPCLASS == return => { addi dr11, dr11, 1 ; T.INSN }
    E: T.OPCLASS == proc_call && !overflow_1 => null, count

    count: inc_1;
    again: set_1(period);

    handler Count {
        d_mtdr dr8, t0
        d_mtdr dr9, t1
        d_mfdr t0, dr3
        slli   t1, t0, 13
        xor    t0, t0, t1
        srli   t1, t0, 7
        xor    t0, t0, t1
        d_mtdr dr3, t0
        andi   t1, t0, 16
        beqz   t1, done
        mul    t0, t0, t0
        d_mtdr period, zero
    done:
        d_mfdr t0, dr8
        d_mfdr t1, dr9
        d_ret
    }
";

fn installed(set: &ProductionSet, dise: &DiseConfig, program: &Program) -> (Process, DiseEngine) {
    let mut process = program.process();
    let engine = install(set, dise, &mut process);
    (process, engine)
}

fn oracle<P: PipelineProbe>(
    config: &MachineConfig,
    (process, engine): (Process, DiseEngine),
    probe: P,
) -> Chip<DiseEngine, P> {
    Chip::with(config, process, engine, probe)
}

fn driven<P: PipelineProbe>(
    config: &MachineConfig,
    (process, engine): (Process, DiseEngine),
    probe: P,
) -> DrivenCore<DiseEngine, P> {
    DrivenCore::with(config, process, engine, probe)
        .unwrap_or_else(|e| panic!("{}: {e}", config.name))
}

#[test]
fn sequences_without_memory_take_the_same_cycles() {
    let set = set(COMPUTED);
    let (mut expansions, mut handlers) = (0, 0);
    for (i, name) in PRESETS.into_iter().enumerate() {
        for seed in 5000..5040 {
            let config = machine(name, |m| match seed % 5 {
                1 => m.branch.predictor = Predictor::AlwaysNotTaken,
                2 => m.branch.predictor = Predictor::AlwaysTaken,
                _ => {}
            });
            let dise = &costs()[(seed as usize + i) % 4];
            let what = format!("seed {seed}");
            for (program, ends) in [
                (exiting(seed, STRAIGHT), Ends::Exit),
                (faulting(seed, STRAIGHT), Ends::Fault),
            ] {
                let begin = || installed(&set, dise, &program);
                let oracle = oracle(&config, begin(), all_slots());
                let core = driven(&config, begin(), all_slots());
                let stats = assert_same_run(oracle, core, &config, ends, true, &what);
                expansions += stats.dise_expansion_events;
                handlers += stats.commit_handler_instructions;
            }
        }
    }
    assert!(
        expansions > 10_000 && handlers > 10_000,
        "{expansions} {handlers}"
    );
}

#[test]
fn sequences_with_memory_take_nearly_the_same_cycles() {
    let mix = Mix {
        memory: true,
        ..STRAIGHT
    };
    let set = set(RESTARTS);
    for name in PRESETS {
        let config = machine(name, near);
        for seed in 5000..5020 {
            let program = exiting(seed, mix);
            let begin = || installed(&set, &costs()[seed as usize % 4], &program);
            let what = format!("seed {seed} on {name}");
            let mut oracle = oracle(&config, begin(), NoProbe);
            let stop = oracle.run_to_end();
            let mut core = driven(&config, begin(), NoProbe);
            assert_eq!(core.run_to_end(), stop, "{what}");
            assert_close(core.stats(), oracle.stats(), 0.02, &what);
            let expansions = oracle.stats().dise_expansion_events;
            let others = expansions.abs_diff(core.stats().dise_expansion_events);
            assert!(others * 50 < expansions, "{what}: {others} of {expansions}");
        }
    }
}

#[test]
fn counting_costs_no_cycle() {
    let set = set(COUNTS_ONLY);
    for name in PRESETS {
        let config = preset(name);
        for seed in 6000..6006 {
            let program = exiting(seed, Mix::default());
            let mut plain = DrivenCore::new(&config, program.process()).expect("a preset has it");
            let stop = plain.run_to_end();
            let begin = installed(&set, &DiseConfig::default(), &program);
            let mut counted = driven(&config, begin, NoProbe);
            let what = format!("{name}, seed {seed}");
            assert_eq!(counted.run_to_end(), stop, "{what}");
            assert_eq!(counted.stats(), plain.stats(), "{what}");
            assert_eq!(counted.cpi(), plain.cpi(), "{what}");
            assert_eq!(counted.memory_stats(), plain.memory_stats(), "{what}");
        }
    }
}

#[test]
fn a_run_is_the_same_however_it_is_cut() {
    let set = set(RESTARTS);
    for (seed, name) in (7000..).zip(PRESETS) {
        let program = exiting(seed, Mix::default());
        let begin = || installed(&set, &costs()[seed as usize % 4], &program);
        let config = preset(name);
        let mut whole = driven(&config, begin(), NoProbe);
        let stop = whole.run_to_end();
        for piece in [1, 7, 1000] {
            let mut parts = driven(&config, begin(), NoProbe);
            let ended = loop {
                match parts.run(piece) {
                    Stop::Limit => {}
                    stop => break stop,
                }
            };
            let what = format!("seed {seed} on {name} in pieces of {piece}");
            assert_eq!(ended, stop, "{what}");
            assert_eq!(parts.stats(), whole.stats(), "{what}");
            assert_eq!(parts.cpi(), whole.cpi(), "{what}");
            assert_eq!(
                parts.process().thread.hart,
                whole.process().thread.hart,
                "{what}"
            );
        }
    }
}

#[test]
fn a_register_is_set_between_two_instructions() {
    // Between bursts of counting, the period changes: what is counted from then on must agree.
    let set = set(COMPUTED);
    for (seed, name) in (7100..).zip(PRESETS) {
        let program = exiting(seed, STRAIGHT);
        let begin = || installed(&set, &DiseConfig::default(), &program);
        let config = preset(name);
        let kinds = [CoreKind::Cycle, CoreKind::Instruction];
        let [oracle, core] = kinds.map(|kind| {
            let (process, engine) = begin();
            let mut core = EitherCore::with(kind, &config, process, engine, NoProbe)
                .unwrap_or_else(|e| panic!("{name}: {e}"));
            for (at, period) in [(0, 20), (301, 3), (40, 900), (500, 12)] {
                assert_eq!(core.run(at), Stop::Limit, "{name}");
                core.set_dise_register(reg::DISE, u64::MAX - period);
            }
            let stop = core.run_to_end();
            core.drain_to_boundary();
            (stop, core.finish())
        });
        let what = format!("seed {seed} on {name}");
        assert_eq!(oracle.0, core.0, "{what}");
        let (oracle, core) = (oracle.1, core.1);
        let registers =
            |process: &Process| process.thread.hart.r[..usize::from(ALL_REGISTERS.end)].to_vec();
        assert_eq!(
            registers(&oracle.process),
            registers(&core.process),
            "{what}"
        );
        assert_eq!(oracle.editor.counters(), core.editor.counters(), "{what}");
        let committed = |s: &CoreStats| {
            [
                s.commit_program_instructions,
                s.commit_inserted_instructions,
                s.commit_handler_instructions,
            ]
        };
        assert_eq!(committed(&oracle.stats), committed(&core.stats), "{what}");
        assert_close(&core.stats, &oracle.stats, 0.01, &what);
    }
}
