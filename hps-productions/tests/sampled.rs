//! Sampled timing under an editor: units begin with a collector at work, and change nothing of it.

use crate::common::{assert_equal, grid, workload};
use hps_dise::DiseEngine;
use hps_isa::isa::Isa;
use hps_isa::probe::NoProbe;
use hps_pipeline::config::MachineConfig;
use hps_pipeline::sampled::{SampledRun, Samples, SamplingPlan};
use hps_productions::software::{SoftwareCollector, SoftwareOptions};
use hps_productions::{Collector, CollectorOptions, SamplePoint};
use hps_profile::ProfileKind;
use hps_sim_core::machine::{Machine, RetiredCounts, Stop};
use hps_system::process::Process;

const PLAN: SamplingPlan = SamplingPlan {
    period: 10_000,
    warm_up: 2000,
    unit: 1000,
    doublings: 0,
    head: 0,
};

const INSTRUCTIONS: u64 = 300_000;

fn collector(kind: ProfileKind, point: SamplePoint) -> Collector {
    let options = CollectorOptions {
        // Full every few bursts, so that units drain it as well.
        buffer_entries: 37,
        ..CollectorOptions::default()
    };
    Collector::new(kind, point, &options).unwrap()
}

fn point(burst: u64, one_in: u64) -> SamplePoint {
    SamplePoint::from_frequency(burst, one_in).unwrap()
}

fn machine() -> MachineConfig {
    MachineConfig::preset("hps-4wide").unwrap()
}

fn installed(of: &Collector, isa: Isa, name: &str) -> (Process, DiseEngine) {
    let mut process = workload(isa, name);
    let engine = of.install(&mut process).unwrap();
    (process, engine)
}

fn sampled(of: &Collector, isa: Isa, name: &str, jobs: usize) -> SampledRun<DiseEngine> {
    let (process, engine) = installed(of, isa, name);
    let run = SampledRun::with_editor(&machine(), process, engine, PLAN).unwrap();
    let mut run = run.on_threads(jobs);
    assert_eq!(run.run(INSTRUCTIONS).unwrap(), Stop::Limit);
    run
}

/// Samples of the program without a collector.
fn plain(isa: Isa, name: &str) -> Samples {
    let mut run = SampledRun::new(&machine(), workload(isa, name), PLAN).unwrap();
    assert_eq!(run.run(INSTRUCTIONS).unwrap(), Stop::Limit);
    run.samples().clone()
}

#[test]
fn a_collector_that_has_not_sampled_costs_nothing() {
    // No burst begins in so few instructions. Everything else is there: decisions at each event, another
    // decode, another loop of the functional machine.
    for (isa, name) in [(Isa::Riscv64, "parse"), (Isa::Alpha, "chess")] {
        let without = plain(isa, name);
        assert_eq!(without.unit_cycles.len(), 30);
        assert_eq!(without.unit_inserted, [0; 30]);
        for kind in ProfileKind::ALL {
            let of = collector(kind, point(100, 10_000));
            let run = sampled(&of, isa, name, 1);
            assert_eq!(*run.samples(), without, "{name}, {kind:?}");
            assert_eq!(run.retired().total(), INSTRUCTIONS);
        }
    }
}

#[test]
fn what_is_collected_is_what_a_functional_run_collects() {
    for (isa, name) in [(Isa::Riscv64, "minicc"), (Isa::Alpha, "interp")] {
        let at = point(7, 20);
        let expected = grid(workload(isa, name), &[at], INSTRUCTIONS);
        for kind in ProfileKind::ALL {
            let of = collector(kind, at);
            let (process, engine) = installed(&of, isa, name);
            let mut functional = Machine::with_editor(process, engine);
            assert_eq!(functional.run(&mut NoProbe, INSTRUCTIONS), Stop::Limit);

            let of = collector(kind, at);
            let run = sampled(&of, isa, name, 2);
            assert!(run.samples().unit_inserted.iter().any(|&n| n > 0));
            assert_eq!(run.retired(), functional.retired, "{name}, {kind:?}");
            assert_eq!(run.process().thread.hart, functional.process.thread.hart);
            let collected = of.read(run.process()).unwrap();
            assert_ne!(assert_equal(collected, &expected.points[0]), 0);
        }
    }
}

#[test]
fn units_are_the_same_for_any_number_of_threads() {
    for kind in ProfileKind::ALL {
        let one = sampled(&collector(kind, point(10, 50)), Isa::Riscv64, "parse", 1);
        assert!(one.samples().unit_inserted.iter().any(|&n| n > 0));
        for jobs in [2, 5] {
            let of = collector(kind, point(10, 50));
            let more = sampled(&of, Isa::Riscv64, "parse", jobs);
            assert_eq!(more.samples(), one.samples(), "{kind:?}, {jobs} threads");
        }
    }
}

#[test]
fn units_hold_their_share_of_what_is_inserted() {
    // Every event and every reference is sampled, so each unit pays.
    let of = collector(ProfileKind::DataStream, SamplePoint::EXHAUSTIVE);
    let run = sampled(&of, Isa::Riscv64, "bwt", 1);
    let RetiredCounts {
        program,
        inserted,
        handler,
    } = run.retired();
    let samples = run.samples();
    let without = plain(Isa::Riscv64, "bwt");
    let pairs = without.unit_cycles.iter().zip(&samples.unit_cycles);
    assert!(pairs.clone().all(|(without, with)| with > without));
    let in_units: u64 = samples.unit_inserted.iter().sum();
    let share = in_units as f64 / (samples.unit_inserted.len() as u64 * PLAN.unit) as f64;
    let wanted = (inserted + handler) as f64 / program as f64;
    assert!(
        (share / wanted - 1.0).abs() < 0.1,
        "{share} of {wanted} a program instruction"
    );
}

#[test]
fn a_new_layout_is_sampled_as_well() {
    let (isa, name) = (Isa::Riscv64, "parse");
    let run = |with_units| {
        let options = SoftwareOptions::default();
        let kind = Some(ProfileKind::Method);
        let of = SoftwareCollector::new(kind, point(10, 50), &options).unwrap();
        let mut process = workload(isa, name);
        let editor = of.install(&mut process).unwrap();
        if with_units {
            let run = SampledRun::with_editor(&machine(), process, editor, PLAN).unwrap();
            let mut run = run.on_threads(2);
            assert_eq!(run.run(INSTRUCTIONS).unwrap(), Stop::Limit);
            (run.retired(), run.finish())
        } else {
            let mut machine = Machine::with_editor(process, editor);
            assert_eq!(machine.run(&mut NoProbe, INSTRUCTIONS), Stop::Limit);
            (machine.retired, (machine.process, Samples::default()))
        }
    };
    let (retired, (process, samples)) = run(true);
    let (functional, (wanted, _)) = run(false);
    assert_eq!(retired, functional);
    assert_eq!(process.thread.hart, wanted.thread.hart);
    let without = plain(isa, name);
    assert_eq!(samples.unit_cycles.len(), without.unit_cycles.len());
    let pairs = without.unit_cycles.iter().zip(&samples.unit_cycles);
    let cost = pairs.map(|(&a, &b)| b as f64 / a as f64).sum::<f64>() / 30.0;
    assert!((1.0..3.0).contains(&cost), "checks cost something: {cost}");
    assert!(samples.unit_inserted.iter().all(|&n| n > 0));
}
