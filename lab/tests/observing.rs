//! Observers inside the machine: what they read is what was, and the program does not notice.

use std::collections::HashMap;

use hps_lab::observer::{Disturbance, Observed, Observer, Placement, Signals, Throttle};
use hps_lab::{Isa, Lab, LabError, Productions, Program};
use hps_pipeline::config::{MachineConfig, SmtPolicy};
use hps_sim_core::machine::Stop;
use hps_workloads::Size;

fn machine() -> MachineConfig {
    let mut machine = MachineConfig::preset("shim-haswell-like").expect("the preset exists");
    machine.counters.read_cycles = 0;
    machine
}

fn program(name: &str, isa: Isa) -> Program {
    let workload = hps_workloads::find(name).expect("the program exists");
    Program::workload(workload, isa, Size::Small).expect("it has an image")
}

fn tags(isa: Isa, machine: &MachineConfig) -> Productions {
    let tags = Productions::load(isa, &["shim_tag".to_string()], HashMap::new());
    tags.expect("the file is good")
        .on(machine)
        .expect("they fit")
}

const SAMPLES: Signals = Signals::Samples { counters: 3 };

fn observer(placement: Placement, signals: Signals, throttle: Throttle) -> Observer {
    Observer {
        placement,
        signals,
        throttle,
    }
}

const PLACEMENTS: [Placement; 2] = [Placement::Smt, Placement::Cmp];

/// In one cycle contexts of a core take turns in being the first, and cores come in their order.
fn counts_its_cycle(placement: Placement, cycle: u64) -> bool {
    placement == Placement::Cmp || cycle.is_multiple_of(2)
}

#[test]
fn samples_are_the_truth_where_reads_cost_nothing() {
    let (machine, program) = (machine(), program("lz", Isa::Riscv64));
    let tags = tags(Isa::Riscv64, &machine);
    for placement in PLACEMENTS {
        let lab = Lab::of(&program).on_machine(&machine).edited_by(&tags);
        let (mut last, mut samples, mut tags_seen) = (None, 0, 0);
        let observer = observer(placement, SAMPLES, Throttle::Spin(20));
        let observed = lab
            .limit(200_000)
            .observe(&observer, |sample, reads, reckoning| {
                let at = |cycle: u64| {
                    reckoning.before(cycle + u64::from(counts_its_cycle(placement, cycle)))
                };
                let truth = match placement {
                    Placement::Smt => at(reads.counters[0]),
                    Placement::Cmp => at(reads.counters[2]),
                };
                let [core, own, remote] = sample.counters;
                let read = match placement {
                    Placement::Smt => core.wrapping_sub(own),
                    Placement::Cmp => remote,
                };
                assert_eq!((sample.start, sample.end), (reads.start, reads.end));
                if let Some((read_before, true_before)) = last {
                    assert_eq!(
                        read.wrapping_sub(read_before),
                        truth - true_before,
                        "{placement:?}, sample {samples}"
                    );
                }
                last = Some((read, truth));
                samples += 1;
                // A stored tag is in memory when the store commits, one instruction before the call that it announces.
                let is_there = reckoning.place_before(reads.tag) == sample.tag;
                let comes = reckoning.cycles_at(sample.tag, reads.tag, reads.tag + 200) > 0;
                tags_seen += u64::from(is_there || comes);
            });
        let observed = observed.expect("it runs");
        assert_eq!(observed.stop, Stop::Limit);
        assert_eq!(observed.samples, samples);
        for one in &observed.contexts {
            assert_eq!(
                one.cpi.total(),
                4 * one.stats.cycles,
                "{placement:?}: {:?}",
                one.context
            );
        }
        assert!(samples > 500, "{placement:?}: {samples}");
        assert!(
            tags_seen * 100 >= samples * 99,
            "{placement:?}: {tags_seen} of {samples}"
        );
    }
}

fn whole(program: &Program, machine: &MachineConfig, observer: Option<&Observer>) -> Observed {
    let tags = tags(program.image.isa, machine);
    let lab = Lab::of(program).on_machine(machine).edited_by(&tags);
    let observed = match observer {
        Some(observer) => lab.observe(observer, |_, _, _| {}),
        None => lab.unobserved(Placement::Cmp),
    };
    observed.expect("it runs")
}

/// Samples of an observer that is held up: between its stamps that is found, elsewhere it does no harm. An observer fetches
/// its sample at once if it has a core for itself, and is held up elsewhere.
#[test]
fn an_observer_that_is_held_up_within_a_sample_is_found_out() {
    let (machine, program) = (machine(), program("lz", Isa::Riscv64));
    let tags = tags(Isa::Riscv64, &machine);
    for placement in PLACEMENTS {
        let lab = Lab::of(&program).on_machine(&machine).edited_by(&tags);
        let disturbance = Disturbance {
            every_instructions: 4_000,
            cycles: 2_000,
            seed: 1,
        };
        let how = observer(placement, SAMPLES, Throttle::None);
        let mut samples = Vec::new();
        let observed = lab
            .limit(500_000)
            .observe_disturbed(&how, disturbance, |sample, _, _| samples.push(*sample))
            .expect("it runs");
        assert!(observed.held_at.len() > 50, "{placement:?}");
        let (mut within, mut found, mut between) = (0, 0, 0);
        // Instructions that were fetched before the hold go on, which shortens the gap.
        let long = disturbance.cycles * 9 / 10;
        for pair in samples.windows(2) {
            let [before, after] = [pair[0], pair[1]];
            let starts = after.start - before.start;
            let is_within = after.end - after.start > long;
            let ends = after.end - before.end;
            within += u64::from(is_within);
            // Double-time error correction at the paper's tolerance.
            let is_kept = (ends as f64 / starts as f64 - 1.0).abs() <= 0.01;
            found += u64::from(is_within && !is_kept);
            between += u64::from(!is_within && starts > long && is_kept);
        }
        assert!(
            within + between > 50 && (within > 2 || placement == Placement::Cmp),
            "{placement:?}: {within} {between}"
        );
        assert_eq!(found, within, "{placement:?}");
    }
}

#[test]
fn programs_compute_the_same_under_observation() {
    let machine = machine();
    // Both signals in both places, each on one instruction set.
    for (isa, signals) in [
        (Isa::Riscv64, [Signals::Tag, SAMPLES]),
        (Isa::Alpha, [SAMPLES, Signals::Tag]),
    ] {
        let program = program("interp", isa);
        let alone = whole(&program, &machine, None);
        assert!(matches!(alone.stop, Stop::Exit(_)), "{:?}", alone.stop);
        for (placement, signals) in PLACEMENTS.into_iter().zip(signals) {
            let observer = observer(placement, signals, Throttle::None);
            let observed = whole(&program, &machine, Some(&observer));
            let what = format!("{isa:?}, {observer:?}");
            assert_eq!(observed.stop, alone.stop, "{what}");
            assert_eq!(observed.instructions, alone.instructions, "{what}");
            let printed = |ran: &Observed| ran.process.os.captured_stdout().to_vec();
            assert_eq!(printed(&observed), printed(&alone), "{what}");
            assert!(observed.samples > 1000, "{what}: {}", observed.samples);
        }
    }
}

#[test]
fn an_observer_that_sleeps_or_waits_in_the_background_costs_little() {
    let program = program("lz", Isa::Riscv64);
    let mut machine = machine();
    let run = |machine: &MachineConfig, throttle: Option<Throttle>, placement| {
        let lab = Lab::of(&program).on_machine(machine).limit(300_000);
        match throttle {
            None => lab.unobserved(placement).expect("it runs").cycles as f64,
            Some(throttle) => {
                let observer = observer(placement, SAMPLES, throttle);
                lab.observe(&observer, |_, _, _| {})
                    .expect("it runs")
                    .cycles as f64
            }
        }
    };
    let without = {
        let lab = Lab::of(&program).on_machine(&machine).limit(300_000);
        lab.run().expect("it runs").timing.core.cycles as f64
    };
    for placement in PLACEMENTS {
        let alone = run(&machine, None, placement);
        assert!(
            (alone / without - 1.0).abs() < 0.002,
            "{placement:?}: {alone} {without}"
        );
        let sleeping = run(&machine, Some(Throttle::Sleep(50_000)), placement);
        assert!(
            sleeping / alone < 1.005,
            "{placement:?}: {sleeping} {alone}"
        );
    }
    let alone = run(&machine, None, Placement::Smt);
    let spinning = run(&machine, Some(Throttle::Spin(1000)), Placement::Smt);
    assert!(
        spinning / alone > 1.2,
        "a loop beside it takes a part: {spinning} {alone}"
    );
    machine.chip.smt_policy = SmtPolicy::Background;
    let behind = run(&machine, Some(Throttle::Spin(1000)), Placement::Smt);
    assert!(behind < spinning, "{behind} {spinning}");
}

#[test]
fn machines_without_a_place_for_an_observer_say_so() {
    let program = program("lz", Isa::Riscv64);
    for (machine, placement, key) in [
        ("cmp-4", Placement::Smt, "chip.contexts"),
        ("smt-2", Placement::Cmp, "chip.cores"),
    ] {
        let machine = MachineConfig::preset(machine).expect("the preset exists");
        let observed = Lab::of(&program).on_machine(&machine).unobserved(placement);
        let error = observed.expect_err("there is no place");
        assert!(matches!(error, LabError::NoPlace { .. }));
        assert!(error.to_string().contains(key), "{error}");
    }
}
