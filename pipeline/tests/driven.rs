//! The instruction-driven core against the cycle-driven one, which is its oracle: the same cycles where
//! all accesses hit, nearly the same elsewhere, and the same program. That it computes what the
//! functional machine computes, also when something faults, is checked in `functional_equality`.

mod blocks;
mod wrong_path;

use std::sync::Arc;

use hps_isa::editor::{DecodeEditor, NoEditor};
use hps_isa::isa::Isa;
use hps_isa::probe::{NoProbe, Probe};
use hps_pipeline::config::{
    L1dPrefetch, MachineConfig, NextLineConfig, StreamConfig, StrideConfig,
};
use hps_pipeline::core::{
    Cause, Chip, CoreStats, CpiStack, DrivenCore, NotDriven, PipelineProbe, StagesProbe,
};
use hps_pipeline::stacks::FunctionStacks;
use hps_sim_core::machine::{Machine, Stop};
use hps_system::process::Process;
use hps_workloads::Workload;

use crate::common::compare::PROGRAM_REGISTERS;
use crate::common::random::{self, Mix};
use crate::common::{Program, machine, preset, workload};

/// Out-of-order presets.
pub const PRESETS: [&str; 5] = [
    "hps-4wide",
    "wide-8",
    "simplescalar-4wide",
    "tiny-2wide",
    "ev6",
];

/// Nothing that goes to memory or holds its unit.
pub const STRAIGHT: Mix = Mix {
    iterations: 24,
    statements: 60,
    csr: false,
    sync: false,
    memory: false,
    atomics: false,
    divide: false,
};

fn driven<P: PipelineProbe>(
    config: &MachineConfig,
    process: Process,
    probe: P,
) -> DrivenCore<NoEditor, P> {
    DrivenCore::with(config, process, NoEditor, probe)
        .unwrap_or_else(|e| panic!("{}: {e}", config.name))
}

/// A random program that ends with a breakpoint.
pub fn faulting(seed: u64, mix: Mix) -> Program {
    random::program(seed, mix)
}

/// The random program of that seed, ended by a call of `exit`.
pub fn exiting(seed: u64, mix: Mix) -> Program {
    let text = random::text(seed, mix).replace("ebreak", "li a7, 93\necall");
    Program::new(&text, random::DATA_BYTES)
}

/// A commit slot: the instruction that it was for, and its owner.
type Slot = (u64, Cause);

/// Every commit slot, in order.
#[derive(Default)]
pub struct Slots(Vec<Slot>);

impl Probe for Slots {}

impl PipelineProbe for Slots {
    const WANTS_SLOTS: bool = true;
    fn slots(&mut self, pc: u64, cause: Cause, count: u64) {
        self.0.extend((0..count).map(|_| (pc, cause)));
    }
}

/// A probe that keeps [`Slots`].
pub fn all_slots() -> StagesProbe {
    StagesProbe::new(Slots::default())
}

/// End of a program. The front end behind a call of `exit` is not compared: an instruction-driven core has no
/// instructions there.
#[derive(Clone, Copy, PartialEq)]
pub enum Ends {
    /// With a call of `exit`.
    Exit,
    /// With a fault, up to which everything is fetched.
    Fault,
}

fn comparable(stats: &CoreStats, ends: Ends) -> CoreStats {
    let mut stats = CoreStats {
        idle_skipped_cycles: 0,
        ..*stats
    };
    if ends == Ends::Exit {
        stats.fetch_instructions = 0;
        stats.decode_instructions = 0;
        stats.btb_misfetch_events = 0;
        if stats.dise_redirect_events > 0 {
            stats.dise_expansion_events = 0;
            stats.dise_stall_cycles = 0;
            stats.dise_redirect_events = 0;
            stats.squash_instructions = 0;
        }
    }
    stats
}

/// Runs a program on both cores; cycles and counters are the same, and who owns the slots if asked.
fn assert_same(config: &MachineConfig, program: &Program, ends: Ends, slots: bool, what: &str) {
    let oracle = Chip::with(config, program.process(), NoEditor, all_slots());
    let core = driven(config, program.process(), all_slots());
    assert_same_run(oracle, core, config, ends, slots, what);
}

/// Runs both cores from their beginnings.
pub fn assert_same_run<E: DecodeEditor>(
    mut oracle: Chip<E, StagesProbe>,
    mut core: DrivenCore<E, StagesProbe>,
    config: &MachineConfig,
    ends: Ends,
    slots: bool,
    what: &str,
) -> CoreStats {
    let what = format!("{what} on {}", config.name);
    let stop = oracle.run_to_end();
    assert_eq!(matches!(stop, Stop::Exit(_)), ends == Ends::Exit, "{what}");
    assert_eq!(core.run_to_end(), stop, "{what}");
    assert_eq!(
        comparable(oracle.stats(), ends),
        comparable(core.stats(), ends),
        "{what}: counters"
    );
    assert_eq!(oracle.cpi().total(), core.cpi().total(), "{what}: slots");
    if slots {
        let width = config.window.commit_width as usize;
        // A sequence behind the end may own what is left of the last cycle.
        let behind = ends == Ends::Exit && core.stats().dise_expansion_events > 0;
        let (Slots(oracle), Slots(of_core)) = (oracle.probe().probe(), core.probe().probe());
        let kept = oracle.len() - if behind { width } else { 0 };
        assert_eq!(oracle.len(), of_core.len(), "{what}: slots");
        assert_same_owners(&oracle[..kept], &of_core[..kept], &what);
    }
    *core.stats()
}

/// Every slot is for the same instruction and has the same owner.
fn assert_same_owners(oracle: &[Slot], core: &[Slot], what: &str) {
    for (at, (wanted, got)) in oracle.iter().zip(core).enumerate() {
        assert!(
            wanted == got,
            "{what}: slot {at} is {wanted:x?} or {got:x?}"
        );
    }
}

#[test]
fn random_programs_without_memory_take_the_same_cycles() {
    for name in PRESETS {
        let config = preset(name);
        for seed in 5000..5040 {
            let mix = Mix {
                csr: seed % 3 == 0,
                sync: seed % 9 == 0,
                ..STRAIGHT
            };
            let what = format!("seed {seed}");
            assert_same(&config, &exiting(seed, mix), Ends::Exit, !mix.csr, &what);
            assert_same(&config, &faulting(seed, mix), Ends::Fault, !mix.csr, &what);
        }
    }
}

#[test]
fn random_programs_with_memory_take_nearly_all_the_same_cycles() {
    let mix = Mix {
        memory: true,
        ..STRAIGHT
    };
    for name in ["hps-4wide", "simplescalar-4wide", "tiny-2wide", "ev6"] {
        let config = machine(name, near);
        let mut same = 0;
        for seed in 5000..5020 {
            let program = exiting(seed, mix);
            let mut oracle = Chip::new(&config, program.process());
            let stop = oracle.run_to_end();
            let mut core = driven(&config, program.process(), NoProbe);
            assert_eq!(core.run_to_end(), stop, "seed {seed} on {name}");
            assert_close(
                core.stats(),
                oracle.stats(),
                0.01,
                &format!("seed {seed} on {name}"),
            );
            same += u32::from(core.stats().cycles == oracle.stats().cycles);
        }
        assert!(same >= 17, "{name}: {same} of 20");
    }
}

#[test]
fn random_programs_that_miss_take_nearly_the_same_cycles() {
    let mix = Mix {
        iterations: 2000,
        divide: false,
        ..Mix::default()
    };
    for name in PRESETS {
        for seed in 5100..5106 {
            let program = random::program(seed, mix);
            let what = format!("seed {seed} on {name}");
            let mut oracle = Chip::new(&preset(name), program.process());
            assert_eq!(oracle.run(60_000), Stop::Limit, "{what}");
            let mut core = driven(&preset(name), program.process(), NoProbe);
            assert_eq!(core.run(60_000), Stop::Limit, "{what}");
            assert_close(core.stats(), oracle.stats(), 0.03, &what);
        }
    }
}

/// A walk over 512 lines of data, each of which has to come before the next one is asked for.
const WALK: &str = "la s0, data\nli s1, 512\nmain:\nld a0, 0(s0)\nsub a0, a0, a0\nadd s0, s0, a0\naddi s0, s0, 64\naddi s1, s1, -1\nbnez s1, main\nli a7, 93\necall";

#[test]
fn prefetchers_save_nearly_the_same_cycles() {
    let cycles = |prefetch: &L1dPrefetch| {
        let config = machine("hps-4wide", |m| m.memory.l1d_prefetch = prefetch.clone());
        let program = Program::of(Isa::Riscv64, WALK, 512 * 64);
        let mut oracle = Chip::new(&config, program.process());
        oracle.run_to_end();
        let mut core = driven(&config, program.process(), NoProbe);
        core.run_to_end();
        let what = format!("{prefetch:?}");
        assert_close(core.stats(), oracle.stats(), 0.03, &what);
        for stats in [oracle.memory_stats(), core.memory_stats()] {
            let brought = stats.prefetch.issue_events;
            let is_much = brought > 400;
            assert_eq!(is_much, *prefetch != L1dPrefetch::Off, "{what}: {brought}");
        }
        core.stats().cycles
    };
    let alone = cycles(&L1dPrefetch::Off);
    for prefetch in [
        L1dPrefetch::NextLine(NextLineConfig { degree: 4 }),
        L1dPrefetch::Stride(StrideConfig::default()),
        L1dPrefetch::Stream(StreamConfig::default()),
    ] {
        let saved = 1.0 - cycles(&prefetch) as f64 / alone as f64;
        assert!(saved > 0.0, "{prefetch:?}: {saved}");
    }
}

/// Equal counts of committed instructions, and cycles that differ by at most `share`.
pub fn assert_close(got: &CoreStats, wanted: &CoreStats, share: f64, what: &str) {
    let committed = |s: &CoreStats| {
        [
            s.commit_program_instructions,
            s.branch_committed_events,
            s.branch_conditional_events,
            s.load_committed_events,
            s.store_committed_events,
            s.atomic_committed_events,
            s.syscall_events,
        ]
    };
    assert_eq!(committed(got), committed(wanted), "{what}");
    let error = got.cycles as f64 / wanted.cycles as f64 - 1.0;
    assert!(error.abs() <= share, "{what}: cycles differ by {error}");
}

/// Misses cost as little as can be.
pub fn near(m: &mut MachineConfig) {
    let memory = &mut m.memory;
    for cache in [&mut memory.l1i, &mut memory.l1d, &mut memory.l2] {
        cache.size_bytes = 1 << 20;
        cache.ways = 1;
        cache.line_bytes = 1024;
        cache.mshrs = 64;
    }
    memory.l2.hit_cycles = 1;
    memory.l2.ports = 8;
    memory.l3.size_bytes = 0;
    memory.latency_cycles = 1;
    memory.l1_l2_bus.bytes_per_cycle = 1024;
    memory.l1_l2_bus.latency_cycles = 0;
    memory.memory_bus.bytes_per_beat = 1024;
    memory.memory_bus.cycles_per_beat = 1;
    memory.itlb.miss_cycles = 0;
    memory.dtlb.miss_cycles = 0;
    memory.l2_tlb.entries = 0;
}

/// Loops for both instruction sets: a name, RISC-V, Alpha. They go to one line at most.
pub const LOOPS: [(&str, &str, &str); 6] = [
    (
        "a chain",
        "li s1, 3000\nmain:\nadd a0, a0, s1\nxor a1, a0, s1\nadd a0, a0, a1\naddi s1, s1, -1\nbnez s1, main\nli a7, 93\necall",
        "li s1, 3000\nmain:\naddq a0, s1, a0\nxor a0, s1, a1\naddq a0, a1, a0\nsubq s1, 1, s1\nbne s1, main\nli v0, 1\ncallsys",
    ),
    (
        "multiplications side by side",
        "li s1, 2000\nmain:\nmul a0, s1, s1\nmul a1, s1, a2\nadd a2, a2, s1\nmul a3, a2, a0\naddi s1, s1, -1\nbnez s1, main\nli a7, 93\necall",
        "li s1, 2000\nmain:\nmulq s1, s1, a0\nmulq s1, a2, a1\naddq a2, s1, a2\nmulq a2, a0, a3\nsubq s1, 1, s1\nbne s1, main\nli v0, 1\ncallsys",
    ),
    (
        "a branch by the data",
        "li s1, 3000\nli a2, 12345\nmain:\nslli a3, a2, 13\nxor a2, a2, a3\nsrli a3, a2, 7\nxor a2, a2, a3\nandi a4, a2, 1\nbeqz a4, even\naddi a5, a5, 3\nmul a5, a5, a2\neven:\naddi s1, s1, -1\nbnez s1, main\nli a7, 93\necall",
        "li s1, 3000\nli a2, 12345\nmain:\nsll a2, 13, a3\nxor a2, a3, a2\nsrl a2, 7, a3\nxor a2, a3, a2\nblbc a2, even\naddq a5, 3, a5\nmulq a5, a2, a5\neven:\nsubq s1, 1, s1\nbne s1, main\nli v0, 1\ncallsys",
    ),
    (
        "loads of a line",
        "la s0, data\nli s1, 3000\nmain:\nld a0, 0(s0)\nadd a1, a1, a0\nld a2, 8(s0)\nxor a1, a1, a2\nlw a3, 20(s0)\naddi s1, s1, -1\nbnez s1, main\nli a7, 93\necall",
        "la s0, data\nli s1, 3000\nmain:\nldq a0, 0(s0)\naddq a1, a0, a1\nldq a2, 8(s0)\nxor a1, a2, a1\nldl a3, 20(s0)\nsubq s1, 1, s1\nbne s1, main\nli v0, 1\ncallsys",
    ),
    (
        "stores that are forwarded",
        "la s0, data\nli s1, 3000\nld a0, 0(s0)\nadd s1, s1, a0\nmain:\nsd s1, 0(s0)\nld a0, 0(s0)\nadd a1, a1, a0\nsd a1, 8(s0)\naddi s1, s1, -1\nbnez s1, main\nli a7, 93\necall",
        "la s0, data\nli s1, 3000\nldq a0, 0(s0)\naddq s1, a0, s1\nmain:\nstq s1, 0(s0)\nldq a0, 0(s0)\naddq a1, a0, a1\nstq a1, 8(s0)\nsubq s1, 1, s1\nbne s1, main\nli v0, 1\ncallsys",
    ),
    (
        "calls",
        "li s1, 2000\nmain:\ncall f\nmul a0, a0, s1\ncall g\naddi s1, s1, -1\nbnez s1, main\nli a7, 93\necall\nf:\naddi a0, a0, 7\nret\ng:\nxor a0, a0, s1\nadd a2, a2, a0\nret",
        "li s1, 2000\nmain:\nbsr ra, f\nmulq a0, s1, a0\nbsr ra, g\nsubq s1, 1, s1\nbne s1, main\nli v0, 1\ncallsys\nf:\naddq a0, 7, a0\nret zero, (ra), 1\ng:\nxor a0, s1, a0\naddq a2, a0, a2\nret zero, (ra), 1",
    ),
];

#[test]
fn loops_take_the_same_cycles_on_both_instruction_sets() {
    for name in PRESETS {
        for (what, riscv, alpha) in LOOPS {
            for (isa, text) in [(Isa::Riscv64, riscv), (Isa::Alpha, alpha)] {
                let program = Program::of(isa, text, 4096);
                assert_same(
                    &preset(name),
                    &program,
                    Ends::Exit,
                    true,
                    &format!("{what}, {isa}"),
                );
            }
        }
    }
}

const INSTRUCTIONS: u64 = 200_000;

/// The programs of the project on both instruction sets, each on one preset.
fn workloads() -> Vec<(&'static Workload, Isa, &'static str)> {
    let all = hps_workloads::all().iter().enumerate();
    all.flat_map(|(i, w)| {
        [
            (w, Isa::Riscv64, PRESETS[i % 5]),
            (w, Isa::Alpha, PRESETS[(i + 2) % 5]),
        ]
    })
    .collect()
}

#[test]
fn programs_of_the_project_run_as_on_the_other_machines() {
    for (w, isa, name) in workloads() {
        let what = format!("{} ({isa}) on {name}", w.name);
        let config = preset(name);
        let mut functional = Machine::new(workload(w, isa));
        let stop = functional.run(&mut NoProbe, INSTRUCTIONS);
        let mut oracle = Chip::new(&config, workload(w, isa));
        assert_eq!(oracle.run(INSTRUCTIONS), stop, "{what}");
        let mut core = driven(&config, workload(w, isa), NoProbe);
        assert_eq!(core.run(INSTRUCTIONS), stop, "{what}");

        // All but the clocks.
        let state = |p: &Process| {
            let r: Vec<u64> = PROGRAM_REGISTERS
                .map(|i| p.thread.hart.r[i as usize])
                .collect();
            (
                r,
                p.thread.hart.pc,
                p.thread.hart.fcsr,
                p.thread.hart.reservation,
            )
        };
        assert_eq!(state(core.process()), state(&functional.process), "{what}");
        let output = |process: &Process| process.os.captured_stdout().to_vec();
        assert_eq!(
            output(core.process()),
            output(&functional.process),
            "{what}"
        );
        assert_close(core.stats(), oracle.stats(), 0.03, &what);
    }
}

#[test]
fn every_slot_has_one_owner() {
    for name in PRESETS {
        for seed in 6000..6010 {
            for program in [
                exiting(seed, Mix::default()),
                faulting(seed, Mix::default()),
            ] {
                let config = preset(name);
                let mut core = driven(&config, program.process(), NoProbe);
                core.run_to_end();
                let slots = u64::from(config.window.commit_width) * core.stats().cycles;
                assert_eq!(core.cpi().total(), slots, "seed {seed} on {name}");
            }
        }
    }
}

#[test]
fn stacks_of_functions_sum_to_the_whole() {
    for (w, isa, name) in workloads() {
        let process = workload(w, isa);
        let stacks = FunctionStacks::new(Arc::clone(&process.image.symbols), None);
        let mut core = driven(&preset(name), process, StagesProbe::new(stacks));
        core.run(50_000);
        let ranking = core.probe().probe::<FunctionStacks>().ranking();
        assert!(ranking.len() > 1, "{} ({isa})", w.name);
        let mut sum = CpiStack::default();
        ranking.iter().for_each(|f| sum.merge(&f.stack));
        assert_eq!(sum, *core.cpi(), "{} ({isa})", w.name);
        assert_eq!(
            sum.get(Cause::Base),
            core.stats().commit_program_instructions
        );
    }
}

#[test]
fn what_a_machine_lacks_is_said() {
    let process = || exiting(1, STRAIGHT).process();
    let refused = |config: &MachineConfig| DrivenCore::new(config, process()).err();
    assert_eq!(refused(&preset("ev5")), Some(NotDriven::InOrder));
    let changed = |change: fn(&mut MachineConfig)| refused(&machine("hps-4wide", change));
    assert_eq!(changed(|_| ()), None);
    let perfect = |m: &mut MachineConfig| {
        m.branch.predictor = hps_pipeline::config::Predictor::Perfect;
    };
    assert_eq!(changed(perfect), Some(NotDriven::Perfect));
    let through = |m: &mut MachineConfig| {
        m.memory.l1d_write = hps_pipeline::config::L1dWrite::WriteThrough(Default::default());
    };
    assert_eq!(changed(through), Some(NotDriven::WriteThrough));
    let learns = |m: &mut MachineConfig| {
        m.memory.l2.replacement = hps_pipeline::config::Replacement::Ship(Default::default());
    };
    assert_eq!(changed(learns), Some(NotDriven::Replacement));
    assert_eq!(
        changed(|m| m.window.rob_entries = 4096),
        Some(NotDriven::Window)
    );
    for name in PRESETS {
        assert_eq!(refused(&preset(name)), None, "{name}");
    }
}
