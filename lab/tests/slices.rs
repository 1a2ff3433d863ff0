//! Runs in slices against runs without them, and what their folders keep.

use std::path::Path;

use hps_isa::editor::NoEditor;
use hps_lab::slices::{Sliced, Slicing};
use hps_lab::{
    CoreKind, Isa, Lab, LabError, Program, Ran, Timed, Timing, Truth, WARM_BY_ALL, Watch,
};
use hps_pipeline::config::MachineConfig;
use hps_profilers::{Period, registry};
use hps_sim_core::machine::Stop;
use hps_workloads::Size;

const LENGTH: u64 = 400_000;
const SLICE: u64 = 70_000;

fn machine() -> MachineConfig {
    MachineConfig::load("hps-4wide").expect("a preset")
}

fn program(name: &str, isa: Isa) -> Program {
    let workload = hps_workloads::find(name).expect("comes with the project");
    Program::workload(workload, isa, Size::Small).expect("an image")
}

fn lab<'a>(program: &'a Program, machine: &'a MachineConfig) -> Lab<'a, Timed<'a>> {
    Lab::of(program).limit(LENGTH).on_machine(machine)
}

fn slicing() -> Slicing {
    Slicing {
        warm: WARM_BY_ALL,
        run_in: 10_000,
        jobs: 2,
        ..Slicing::of_length(SLICE)
    }
}

type Joined = Ran<NoEditor, (), Timing>;

fn joined(sliced: Result<Sliced<Joined>, LabError>) -> Joined {
    sliced.expect("runs").joined.expect("all slices")
}

fn watch(_: u64) -> Watch {
    let pebs = registry::find("tip").expect("a profiler");
    Watch {
        samplers: vec![((pebs.policy)(), Period::cycles(997))],
        ..Watch::default()
    }
}

fn truth(sliced: Result<Sliced<Truth<NoEditor>>, LabError>) -> Truth<NoEditor> {
    sliced.expect("runs").joined.expect("all slices")
}

#[test]
fn one_slice_is_the_run_itself() {
    let machine = machine();
    for isa in Isa::ALL {
        let program = program("bwt", isa);
        for core in [CoreKind::Cycle, CoreKind::Instruction] {
            let straight = lab(&program, &machine).core(core).run().expect("runs");
            let whole = Slicing::of_length(LENGTH);
            let sliced = joined(lab(&program, &machine).core(core).sliced(&whole));
            assert_eq!(sliced.timing.core, straight.timing.core);
            assert_eq!(sliced.timing.memory, straight.timing.memory);
            assert_eq!(sliced.timing.cpi, straight.timing.cpi);
        }
    }
}

#[test]
fn slices_conserve_instructions_cycles_and_slots() {
    let machine = machine();
    for isa in Isa::ALL {
        let program = program("parse", isa);
        for core in [CoreKind::Cycle, CoreKind::Instruction] {
            let run = || lab(&program, &machine).core(core);
            let straight = run().watched(watch(0)).expect("runs");
            let sliced = truth(run().sliced_watched(&slicing(), &watch));
            let (timing, exact) = (&sliced.ran.timing, &sliced.exact);
            assert_eq!(timing.core.commit_program_instructions, LENGTH);
            assert_eq!(exact.commits, LENGTH);
            assert_eq!(exact.cycles, timing.core.cycles);
            let slots = u64::from(machine.window.commit_width) * timing.core.cycles;
            assert_eq!(timing.cpi.total(), slots);
            let units: u64 = exact.weights().map(|(_, units)| units).sum();
            assert_eq!(units, exact.cycles * exact.units_per_cycle);
            // Each instruction commits as often as without slices.
            let commits = |truth: &Truth<NoEditor>| {
                let rows = truth.exact.rows.iter().map(|row| (row.of.key, row.commits));
                let mut rows: Vec<_> = rows.filter(|(_, commits)| *commits > 0).collect();
                rows.sort_unstable();
                rows
            };
            assert_eq!(commits(&sliced), commits(&straight));
            let (own, whole) = (timing.core.cycles, straight.ran.cycles());
            let error = (own as f64 - whole as f64).abs() / whole as f64;
            assert!(
                error < 0.02,
                "{isa:?} {core:?}: {own} cycles, {whole} without slices"
            );
            let samples = |truth: &Truth<NoEditor>| truth.sampled[0].credits.credited;
            let (own, whole) = (samples(&sliced), samples(&straight));
            assert!(
                own.abs_diff(whole) <= 8,
                "{own} samples, {whole} without slices"
            );
        }
    }
}

#[test]
fn threads_change_nothing() {
    let (machine, program) = (machine(), program("interp", Isa::Riscv64));
    let run = |jobs| {
        let slicing = Slicing { jobs, ..slicing() };
        joined(lab(&program, &machine).sliced(&slicing))
    };
    let (one, three) = (run(1), run(3));
    assert_eq!(one.timing.core, three.timing.core);
    assert_eq!(one.timing.memory, three.timing.memory);
    assert_eq!(one.timing.cpi, three.timing.cpi);
}

#[test]
fn joints_tell_of_slices_that_begin_cold() {
    let (machine, program) = (machine(), program("netsimplex", Isa::Riscv64));
    let error = |warm| {
        let slicing = Slicing { warm, ..slicing() };
        let sliced = lab(&program, &machine).sliced(&slicing).expect("runs");
        assert_eq!(sliced.joints.all.len() as u64, LENGTH.div_ceil(SLICE) - 1);
        let errors = sliced.joints.all.iter().map(|joint| joint.run_in_error());
        errors.sum::<f64>() / sliced.joints.all.len() as f64
    };
    let (cold, warm) = (error(0), error(300_000));
    assert!(cold > 0.05, "empty caches cost {cold}");
    assert!(
        warm.abs() < cold / 4.0,
        "{warm} with warm caches, {cold} without"
    );
}

#[test]
fn a_program_that_ends_prints_once_and_has_all_its_instructions() {
    let (machine, program) = (machine(), program("lz", Isa::Riscv64));
    let straight = Lab::of(&program).run().expect("runs");
    let all = straight.instructions();
    // The last slice would begin with the last instruction, or behind it.
    for length in [all / 3, all / 3 + 1, all - 1, all, all + 1] {
        let slicing = Slicing {
            run_in: 20_000,
            ..Slicing::of_length(length)
        };
        let sliced = Lab::of(&program).on_machine(&machine).sliced(&slicing);
        let ran = joined(sliced);
        assert_eq!(ran.stop, Stop::Exit(0));
        assert_eq!(ran.stdout(), straight.stdout());
        assert_eq!(ran.instructions(), all, "slices of {length}");
    }
}

fn results(folder: &Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder").flatten();
    let paths = entries.map(|entry| entry.path());
    let mut all: Vec<_> = paths
        .filter(|path| path.extension().is_some_and(|end| end == "slice"))
        .collect();
    all.sort();
    all
}

#[test]
fn a_folder_keeps_what_is_done() {
    let (machine, program) = (machine(), program("chess", Isa::Riscv64));
    let folder = tempfile::tempdir().expect("a folder");
    let kept = Slicing {
        folder: Some(folder.path().to_owned()),
        ..slicing()
    };
    let run = |slicing: &Slicing| lab(&program, &machine).sliced(slicing);
    let first = run(&kept).expect("runs");
    let count = LENGTH.div_ceil(SLICE);
    assert_eq!(
        (first.timed, results(folder.path()).len() as u64),
        (count, count)
    );
    let first = first.joined.expect("all slices");

    // One is missing, one is cut, and one has a wrong byte.
    let files = results(folder.path());
    std::fs::remove_file(&files[1]).expect("removed");
    let bytes = std::fs::read(&files[2]).expect("read");
    std::fs::write(&files[2], &bytes[..bytes.len() - 3]).expect("cut");
    let mut bytes = std::fs::read(&files[3]).expect("read");
    *bytes.last_mut().expect("a byte") ^= 1;
    std::fs::write(&files[3], bytes).expect("changed");
    let again = run(&kept).expect("runs");
    assert_eq!(again.timed, 3);
    assert_eq!(again.joined.expect("all").timing.core, first.timing.core);

    let other = Slicing {
        warm: 60_000,
        ..kept.clone()
    };
    let refused = run(&other).expect_err("another run").to_string();
    assert!(refused.contains("another slices"), "{refused}");
}

#[test]
fn parts_are_joined() {
    let (machine, program) = (machine(), program("chess", Isa::Alpha));
    let folder = tempfile::tempdir().expect("a folder");
    let whole = joined(lab(&program, &machine).sliced(&slicing()));
    let part = |part| Slicing {
        folder: Some(folder.path().to_owned()),
        part,
        ..slicing()
    };
    for number in 1..=3 {
        let sliced = lab(&program, &machine).sliced(&part(Some((number, 3))));
        let sliced = sliced.expect("runs");
        assert!(sliced.joined.is_none());
        assert_eq!(sliced.timed, 2);
    }
    let sliced = lab(&program, &machine).sliced(&part(None)).expect("runs");
    assert_eq!(sliced.timed, 0);
    let joined = sliced.joined.expect("all slices");
    assert_eq!(joined.timing.core, whole.timing.core);
    assert_eq!(joined.timing.memory, whole.timing.memory);
}

#[test]
fn chips_with_several_contexts_are_refused() {
    let program = program("lz", Isa::Riscv64);
    let machine = MachineConfig::load("cmp-4").expect("a preset");
    let refused = lab(&program, &machine)
        .sliced(&slicing())
        .expect_err("refused");
    assert!(matches!(refused, LabError::NotSliced { .. }), "{refused:?}");
}
