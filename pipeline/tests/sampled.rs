//! Sampled timing: its results do not depend on threads, or on how a run is cut.

use std::sync::Arc;

use hps_isa::probe::NoProbe;
use hps_pipeline::config::MachineConfig;
use hps_pipeline::core::Warm;
use hps_pipeline::sampled::{SampledRun, Samples, SamplingPlan};
use hps_sim_core::machine::{Machine, Stop};
use hps_system::image::ProgramImage;
use hps_system::os::Output;
use hps_system::process::{Process, ProcessConfig};
use hps_workloads::Size;

use crate::common::assemble::{DATA, Program};

const PLAN: SamplingPlan = SamplingPlan {
    period: 10_000,
    warm_up: 2000,
    unit: 1000,
    doublings: 0,
    head: 0,
};

const INSTRUCTIONS: u64 = 400_000;

fn process(name: &str) -> Process {
    let workload = hps_workloads::find(name).expect("a program of the project");
    let image = workload.image("riscv64").expect("its image");
    let image = ProgramImage::parse(image, name).expect("an image");
    let args = [&[name], &workload.args(Size::Small)[..]].concat();
    let config = ProcessConfig {
        args: args.iter().map(|&arg| arg.to_owned()).collect(),
        stdout: Output::Capture,
        ..ProcessConfig::default()
    };
    Process::new(Arc::new(image), &config).expect("memory for it")
}

fn run(name: &str, machine: &str, jobs: usize) -> SampledRun {
    let machine = MachineConfig::preset(machine).expect("a preset");
    let run = SampledRun::new(&machine, process(name), PLAN).expect("a plan that fits");
    run.on_threads(jobs)
}

fn samples(name: &str, machine: &str, jobs: usize) -> Samples {
    let mut run = run(name, machine, jobs);
    assert!(matches!(run.run(INSTRUCTIONS), Ok(Stop::Limit)));
    let samples = run.samples().clone();
    assert_eq!(
        samples.unit_cycles.len() as u64,
        INSTRUCTIONS / PLAN.period,
        "{name}: every unit is measured"
    );
    samples
}

#[test]
fn the_number_of_threads_changes_nothing() {
    // Local histories and store sets are learned from units; so is a store-wait table.
    for (name, machine) in [("parse", "hps-4wide"), ("minicc", "ev6")] {
        let one = samples(name, machine, 1);
        for jobs in [2, 3, 16] {
            assert_eq!(samples(name, machine, jobs), one, "{name}, {jobs} threads");
        }
    }
}

#[test]
fn a_run_in_parts_is_the_run_in_one() {
    let mut parts = run("parse", "hps-4wide", 2);
    let mut done = 0;
    // Limits before, at the beginning of, in, at the end of and behind a unit.
    for part in [6000, 1000, 500, 2500, 8800, 81_200, 300_000] {
        assert!(matches!(parts.run(part), Ok(Stop::Limit)));
        done += part;
        assert_eq!(parts.instructions(), done);
        assert_eq!(parts.samples().unit_cycles.len() as u64, done / PLAN.period);
    }
    assert_eq!(*parts.samples(), samples("parse", "hps-4wide", 1));
}

#[test]
fn the_program_does_not_notice() {
    let mut functional = Machine::new(process("interp"));
    assert_eq!(functional.run(&mut NoProbe, INSTRUCTIONS), Stop::Limit);
    let mut sampled = run("interp", "hps-4wide", 2);
    assert!(matches!(sampled.run(INSTRUCTIONS), Ok(Stop::Limit)));
    assert_eq!(
        sampled.process().thread.hart,
        functional.process.thread.hart
    );
    let output = |process: &Process| process.os.captured_stdout().to_vec();
    assert_eq!(output(sampled.process()), output(&functional.process));
}

#[test]
fn units_that_print_and_map_change_nothing_outside() {
    // Every instruction is timed: all that the program does, its shadows do too.
    let machine = MachineConfig::preset("hps-4wide").expect("a preset");
    let plan = SamplingPlan {
        period: 3000,
        warm_up: 0,
        unit: 3000,
        doublings: 0,
        head: 0,
    };
    let workload = hps_workloads::find("minicc").expect("a program of the project");
    let mut exact = Machine::new(process("minicc"));
    let stop = exact.run_to_end();
    let instructions = exact.retired.program;
    let mut run = SampledRun::new(&machine, process("minicc"), plan).expect("a plan that fits");
    assert!(matches!(run.run(instructions - 1_500_000), Ok(Stop::Limit)));
    let (process, samples) = run.finish();
    assert!(samples.unit_cycles.len() as u64 > (instructions - 1_500_000) / 3000 - 3);
    let mut rest = Machine::new(process);
    assert_eq!(rest.run_to_end(), stop);
    assert_eq!(
        String::from_utf8_lossy(rest.process.os.captured_stdout()),
        workload.expected_small
    );
}

#[test]
fn loads_of_wrong_paths_warm_the_data_cache() {
    // An untaught predictor says not taken. What would follow loads a pointer, and from where it points.
    let wrong_path = "
        lui s0, 4096
        addi t1, zero, 1
        bne t1, zero, over
        ld t2, 0x400(s0)
        ld t3, 0(t2)
        sd t3, 0x600(s0)
        ld t3, 1(zero)
        ld t3, 0x700(s0)
    over:
        addi a0, zero, 7
        addi a7, zero, 93
        ecall";
    let machine = MachineConfig::preset("hps-4wide").expect("a preset");
    let warmed = |text: &str, limit: u64| {
        let program = Program::new(text, 4096).with_words([(0x400, DATA + 0x800)]);
        let process = program.process();
        let (isa, pc) = (process.image.isa, process.thread.hart.pc);
        let mut warm = Warm::new(&machine, isa, pc);
        let mut functional = Machine::new(process);
        let stop = functional.run(&mut warm, limit);
        (warm.events(), stop, functional.process.thread.hart.r[7])
    };
    let (events, stop, t2) = warmed(wrong_path, u64::MAX);
    // Both lines, and not what lies behind a load that faults.
    let [mispredicted, l1i, l1d, l2, dtlb] = events;
    assert_eq!((mispredicted, l1i, l1d, l2, dtlb), (1, 1, 2, 3, 1));
    // The wrong path has had no effect.
    assert_eq!((stop, t2), (Stop::Exit(7), 0));
    // A short run takes the plain loop.
    assert_eq!(warmed(wrong_path, 5).0[2], 2);
    let right = wrong_path
        .replace("bne", "beq")
        .replace("ld t3, 1(zero)", "ld t3, 0(t2)");
    assert_eq!(warmed(&right, u64::MAX).0[0], 0);
}
