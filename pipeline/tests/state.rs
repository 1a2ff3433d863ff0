//! The state of a core as bytes: a core that takes it over goes on as the first one would have.

use std::mem::swap;

use hps_dise::{DiseEngine, ProductionSet};
use hps_isa::editor::{DecodeEditor, Interruptible, NoEditor};
use hps_isa::isa::Isa;
use hps_isa::probe::NoProbe;
use hps_isa::state::StateError;
use hps_pipeline::config::{
    BimodalConfig, DrripConfig, GshareConfig, HistoryUpdate, L1dPrefetch, L1dWrite, MachineConfig,
    MemDep, NextLineConfig, PerceptronConfig, Predictor, RasRepair, Replacement, ShipConfig,
    SrripConfig, StoreSetsConfig, StoreWaitConfig, StreamConfig, StrideConfig, TageConfig,
    TournamentConfig, WriteBufferConfig,
};
use hps_pipeline::core::{Chip, CoreKind, Counted, EitherCore, PipelineProbe, StagesProbe};
use hps_pipeline::pmu::{CounterConfig, Event};
use hps_sim_core::machine::Stop;
use hps_system::process::Process;

use crate::common::random::{self, Mix};
use crate::common::{
    Program, Trace, machine, preset, riscv_workload, single_core_presets, threads,
};
use crate::dise::{COUNTS_ONLY, RESTARTS, install, set};
use crate::driven::exiting;
use crate::interrupts::{Code, costs, records};

/// Instructions behind which a core is replaced: in the middle of a cycle, of misses and of wrong paths.
const PARTS: [u64; 5] = [1, 10_007, 3, 23_456, 999];
/// Instructions behind the last part.
const REST: u64 = 40_000;

/// A mix of programs that run for longer than all parts together.
fn long() -> Mix {
    Mix {
        iterations: 2000,
        ..Mix::default()
    }
}

/// A second core with the program of the first one, its editor and its probe, whose state came there as bytes.
fn moved<E: DecodeEditor, P: PipelineProbe>(
    mut core: EitherCore<E, P>,
    mut fresh: EitherCore<E, P>,
    what: &str,
) -> EitherCore<E, P> {
    let bytes = core.save_state();
    for (here, there) in core.contexts_mut().into_iter().zip(fresh.contexts_mut()) {
        swap(here.0, there.0);
        swap(here.1, there.1);
        swap(here.2, there.2);
    }
    fresh
        .restore_state(&bytes)
        .unwrap_or_else(|e| panic!("{what}: {e}"));
    assert!(fresh.save_state() == bytes, "{what}: something was lost");
    fresh
}

/// Runs a core in parts, and another one whose state is moved to a fresh core behind each of them.
fn check<E: DecodeEditor, P: PipelineProbe>(what: &str, fresh: &dyn Fn() -> EitherCore<E, P>) {
    let (mut straight, mut core) = (fresh(), fresh());
    for part in PARTS {
        assert_eq!(straight.run(part), Stop::Limit, "{what} ends too early");
        assert_eq!(core.run(part), Stop::Limit, "{what}");
        core = moved(core, fresh(), what);
        assert!(core.save_state() == straight.save_state(), "{what}: {part}");
    }
    assert_eq!(core.run(REST), straight.run(REST), "{what}");
    assert_ends_equal(core, straight, what);
}

fn assert_ends_equal<E: DecodeEditor, P: PipelineProbe>(
    core: EitherCore<E, P>,
    straight: EitherCore<E, P>,
    what: &str,
) {
    assert!(core.save_state() == straight.save_state(), "{what}");
    let (got, wanted) = (core.finish(), straight.finish());
    assert_eq!(got.stats, wanted.stats, "{what}");
    assert_eq!(got.cpi, wanted.cpi, "{what}");
    assert_eq!(got.memory, wanted.memory, "{what}");
    assert_eq!(got.contended, wanted.contended, "{what}");
    let of = |other: &Counted| (other.context, other.stats, other.cpi, other.memory);
    let [got_others, others] = [&got.others, &wanted.others].map(|all| all.iter().map(of));
    assert!(got_others.eq(others), "{what}");
    let [got, wanted] = [&got.process, &wanted.process];
    assert_eq!(got.thread.hart, wanted.thread.hart, "{what}");
    let output = |process: &Process| process.os.captured_stdout().to_vec();
    assert_eq!(output(got), output(wanted), "{what}");
}

fn kinds(config: &MachineConfig) -> impl Iterator<Item = CoreKind> {
    let kinds = [CoreKind::Cycle, CoreKind::Instruction];
    kinds.into_iter().filter(|kind| kind.check(config).is_ok())
}

/// Both cores of a machine, as far as it has both, with a program.
fn check_machine(config: &MachineConfig, process: &dyn Fn() -> Process) {
    for kind in kinds(config) {
        let fresh = || {
            EitherCore::with(kind, config, process(), NoEditor, NoProbe)
                .unwrap_or_else(|e| panic!("{e}"))
        };
        check(&format!("{} {kind:?}", config.name), &fresh);
    }
}

#[test]
fn programs_go_on_in_other_cores_of_all_presets() {
    for (name, workload) in single_core_presets()
        .into_iter()
        .zip(["lz", "chess", "netsimplex"].iter().cycle())
    {
        check_machine(&preset(name), &|| riscv_workload(workload));
    }
}

#[test]
fn all_predictors_and_policies_go_on() {
    let predictors = [
        Predictor::Perfect,
        Predictor::AlwaysTaken,
        Predictor::AlwaysNotTaken,
        Predictor::Bimodal(BimodalConfig::default()),
        Predictor::Gshare(GshareConfig::default()),
        Predictor::Tournament(TournamentConfig::default()),
        Predictor::Perceptron(PerceptronConfig::default()),
        Predictor::Tage(TageConfig::default()),
    ];
    let replacements = [
        Replacement::Lru,
        Replacement::Random,
        Replacement::Plru,
        Replacement::Srrip(SrripConfig::default()),
        Replacement::Drrip(DrripConfig::default()),
        Replacement::Ship(ShipConfig::default()),
    ];
    let dependences = [
        MemDep::Aggressive,
        MemDep::Conservative,
        MemDep::StoreSets(StoreSetsConfig::default()),
        MemDep::StoreWait(StoreWaitConfig::default()),
    ];
    let prefetchers = [
        L1dPrefetch::Off,
        L1dPrefetch::NextLine(NextLineConfig::default()),
        L1dPrefetch::Stride(StrideConfig::default()),
        L1dPrefetch::Stream(StreamConfig::default()),
    ];
    let repairs = [RasRepair::Full, RasRepair::TopEntry, RasRepair::None];
    let program = exiting(31, long());
    for number in 0..24 {
        let mut config = machine("hps-4wide", |m| {
            m.branch.predictor = predictors[number % predictors.len()].clone();
            m.branch.ras_repair = repairs[number % repairs.len()].clone();
            m.speculation.memory_dependence = dependences[number / 2 % dependences.len()].clone();
            m.memory.l1d_prefetch = prefetchers[number / 3 % prefetchers.len()].clone();
            for cache in [&mut m.memory.l1d, &mut m.memory.l2] {
                cache.size_bytes /= 8;
                cache.replacement = replacements[number % replacements.len()].clone();
            }
            if number % 5 == 4 {
                m.branch.history_update = HistoryUpdate::AtCommit;
                m.memory.l1d_write = L1dWrite::WriteThrough(WriteBufferConfig::default());
            }
        });
        config.name = format!("machine {number}");
        match number % 2 {
            0 => check_machine(&config, &|| riscv_workload("objstore")),
            _ => check_machine(&config, &|| program.process()),
        }
    }
}

#[test]
fn chips_of_several_cores_and_contexts_go_on() {
    let with = |name: &str, cores, contexts| {
        machine(name, |m| {
            m.chip.cores = cores;
            m.chip.contexts = contexts;
        })
    };
    let machines = [
        preset("cmp-4"),
        preset("smt-2"),
        preset("big-little"),
        with("hps-4wide", 2, 2),
    ];
    for config in machines {
        let program = threads(config.chip.processors() as usize);
        let fresh = || {
            let mut core = EitherCore::with(
                CoreKind::Cycle,
                &config,
                program.process(),
                NoEditor,
                NoProbe,
            )
            .unwrap_or_else(|e| panic!("{e}"));
            core.record_contention();
            core
        };
        check(&config.name, &fresh);
        let mut core = fresh();
        core.run(REST);
        let counted = core.finish().others;
        let work = |other: &Counted| other.stats.commit_program_instructions > 1000;
        assert!(counted.iter().all(work), "{}: threads wait", config.name);
    }
}

#[test]
fn a_chip_goes_on_behind_any_cycle() {
    for config in [preset("hps-4wide"), preset("ev5"), preset("smt-2")] {
        let program = threads(config.chip.processors() as usize);
        let fresh = || {
            Chip::of_processors(&config, program.process(), NoEditor, NoProbe)
                .unwrap_or_else(|e| panic!("{e}"))
        };
        let (mut straight, mut core) = (fresh(), fresh());
        let mut random = random::Random(9);
        let mut cycle = 0;
        for _ in 0..60 {
            cycle += 1 + random.below(90);
            assert_eq!(straight.run_to_cycle(cycle), None);
            assert_eq!(core.run_to_cycle(cycle), None);
            let EitherCore::Cycle(next) = moved(
                EitherCore::Cycle(Box::new(core)),
                EitherCore::Cycle(Box::new(fresh())),
                &config.name,
            ) else {
                unreachable!("it is a chip")
            };
            core = *next;
            assert!(core.save_state() == straight.save_state(), "{cycle}");
        }
        let [core, straight] = [core, straight].map(|chip| EitherCore::Cycle(Box::new(chip)));
        assert_ends_equal(core, straight, &config.name);
    }
}

#[test]
fn expansions_go_on() {
    for text in [RESTARTS, COUNTS_ONLY] {
        let set: ProductionSet = set(text);
        for (name, seed) in [("hps-4wide", 71), ("tiny-2wide", 72), ("ev5", 73)] {
            let config = preset(name);
            let program = exiting(seed, long());
            for kind in kinds(&config) {
                let fresh = || -> EitherCore<DiseEngine, NoProbe> {
                    let mut process = program.process();
                    let engine = install(&set, &hps_dise::DiseConfig::default(), &mut process);
                    EitherCore::with(kind, &config, process, engine, NoProbe)
                        .unwrap_or_else(|e| panic!("{e}"))
                };
                check(&format!("productions on {name} {kind:?}"), &fresh);
            }
        }
    }
}

#[test]
fn interrupts_go_on() {
    let code = Code::new(Isa::Riscv64, records(Isa::Riscv64));
    let program = exiting(74, long());
    for name in ["hps-4wide", "ev5"] {
        let config = machine(name, |m| costs(m, 2, 11, 7));
        let counters = [
            CounterConfig::timer(101),
            CounterConfig {
                spread: 90,
                seed: 4,
                ..CounterConfig::every(Event::INSTRUCTIONS, 211)
            },
        ];
        for kind in kinds(&config) {
            let fresh = || -> EitherCore<Interruptible<NoEditor>, NoProbe> {
                let process = program.process();
                match kind {
                    CoreKind::Cycle => EitherCore::Cycle(Box::new(
                        code.plain(&config, process, &counters, NoProbe),
                    )),
                    CoreKind::Instruction => EitherCore::Instruction(Box::new(
                        code.plain_driven(&config, process, &counters, NoProbe),
                    )),
                }
            };
            check(&format!("interrupts on {name} {kind:?}"), &fresh);
            let mut core = fresh();
            core.run(REST);
            let taken = core.interrupts().map_or(0, |all| all.log().len());
            assert!(taken > 100, "{taken}");
        }
    }
}

#[test]
fn stages_that_a_probe_wants_go_on() {
    let program = exiting(75, long());
    for name in ["hps-4wide", "ev5"] {
        let config = preset(name);
        let fresh = || {
            let probe = StagesProbe::new(Trace::default());
            EitherCore::with(CoreKind::Cycle, &config, program.process(), NoEditor, probe)
                .unwrap_or_else(|e| panic!("{e}"))
        };
        check(&format!("stages on {name}"), &fresh);
        let (mut straight, mut core) = (fresh(), fresh());
        straight.run(20_000);
        straight.run(20_000);
        core.run(20_000);
        core = moved(core, fresh(), name);
        core.run(20_000);
        let [got, wanted] = [core, straight].map(|core| {
            let probe = core.finish().probe;
            format!("{:?}", probe.probe::<Trace>().records)
        });
        assert!(got == wanted, "{name}");
    }
}

/// Code that changes itself: the old instruction is executed until the program says that it has changed it.
const OLD_CODE: &str = "
    main:
    la s0, changed
    li s2, 3000
    again:
    li t0, 0x00150513       # addi a0, a0, 1
    li t1, 0x00250513       # addi a0, a0, 2
    andi t2, s2, 1
    beqz t2, one
    mv t0, t1
    one:
    sw t0, 0(s0)
    li t3, 5
    changed:
    addi a0, a0, 4
    addi t3, t3, -1
    bnez t3, changed
    andi t2, s2, 7
    bnez t2, next
    fence.i
    next:
    addi s2, s2, -1
    bnez s2, again
    li a7, 93
    ecall
";

#[test]
fn old_code_stays_until_a_fence() {
    let program = Program::new(OLD_CODE, 8);
    let writable = || {
        let mut process = program.process();
        let page = program.address("main");
        let all = hps_isa::memory::Perm::RWX;
        process.mem.protect(page, 4096, all).expect("the code");
        process
    };
    for kind in [CoreKind::Cycle, CoreKind::Instruction] {
        let config = preset("hps-4wide");
        let fresh = || {
            EitherCore::with(kind, &config, writable(), NoEditor, NoProbe)
                .unwrap_or_else(|e| panic!("{e}"))
        };
        let (mut straight, mut core) = (fresh(), fresh());
        for part in (1..150).map(|number| number % 41 + 1) {
            assert_eq!(straight.run(part), core.run(part));
            core = moved(core, fresh(), "old code");
        }
        assert_eq!(straight.run_to_end(), core.run_to_end());
        assert_ends_equal(core, straight, &format!("{kind:?}"));
    }
}

/// A state that was changed behind its checksum's back.
fn sealed(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes.truncate(bytes.len() - 4);
    let mut crc = !0_u32;
    for byte in &bytes {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg());
        }
    }
    bytes.extend((!crc).to_le_bytes());
    bytes
}

#[test]
fn other_states_are_errors() {
    let program = exiting(76, long());
    let config = preset("tiny-2wide");
    let core = |kind, config: &MachineConfig| {
        EitherCore::with(kind, config, program.process(), NoEditor, NoProbe)
            .unwrap_or_else(|e| panic!("{e}"))
    };
    for kind in [CoreKind::Cycle, CoreKind::Instruction] {
        let mut used = core(kind, &config);
        used.run(20_000);
        let bytes = used.save_state();
        assert_eq!(sealed(bytes.clone()), bytes);
        let mut fresh = core(kind, &config);
        for length in (0..bytes.len()).step_by(1009).chain([bytes.len() - 1]) {
            let result = fresh.restore_state(&bytes[..length]);
            assert_eq!(result, Err(StateError::Damaged), "{length}");
        }
        let mut random = random::Random(3);
        let (mut wrong, mut other) = (0, 0);
        for _ in 0..300 {
            let mut bytes = bytes.clone();
            let at = random.below(bytes.len() as u64) as usize;
            bytes[at] ^= 1 + random.below(255) as u8;
            let damaged = fresh.restore_state(&bytes);
            assert_eq!(damaged, Err(StateError::Damaged));
            bytes.truncate(bytes.len() - (random.below(2) * random.below(50)) as usize);
            // Without the checksum it is either refused or the state of a machine, though another state.
            match fresh.restore_state(&sealed(bytes)) {
                Ok(()) => other += 1,
                Err(_) => wrong += 1,
            }
        }
        assert!(wrong > 30 && other > 30, "{wrong} {other}");
        for name in ["hps-4wide", "wide-8"] {
            let result = core(kind, &preset(name)).restore_state(&bytes);
            assert!(
                matches!(result, Err(StateError::OtherShape(_))),
                "{result:?}"
            );
        }
        let other_kind = match kind {
            CoreKind::Cycle => CoreKind::Instruction,
            CoreKind::Instruction => CoreKind::Cycle,
        };
        let result = core(other_kind, &config).restore_state(&bytes);
        assert!(
            matches!(result, Err(StateError::OtherShape(_))),
            "{result:?}"
        );
        let mut interruptible =
            Chip::with(&config, program.process(), Interruptible(NoEditor), NoProbe);
        assert!(interruptible.restore_state(&bytes).is_err());
    }
}
