//! Tests of the clock: a core that is stopped again and again, and cores without a thread.

use std::sync::Arc;

use hps_system::image::ProgramImage;
use hps_system::process::ProcessConfig;

use super::*;
use crate::config::{L1dPrefetch, NextLineConfig};
use crate::model::Cause;
use crate::predict::tests::Random;

fn program(name: &str) -> Process {
    let workload = hps_workloads::find(name).expect("the program exists");
    let image = workload.image("riscv64").expect("it has an image");
    let image = ProgramImage::parse(image, name).expect("the image is a program");
    let args = [&[name], &workload.args(hps_workloads::Size::Small)[..]].concat();
    let config = ProcessConfig {
        args: args.iter().map(|&arg| arg.to_owned()).collect(),
        ..ProcessConfig::default()
    };
    Process::new(Arc::new(image), &config).expect("the program fits into memory")
}

fn preset(name: &str) -> MachineConfig {
    MachineConfig::preset(name).expect("the preset exists")
}

#[test]
fn a_core_that_stops_at_any_cycle_goes_on_as_if_it_had_not() {
    const INSTRUCTIONS: u64 = 150_000;
    for name in ["hps-4wide", "tiny-2wide", "ev5"] {
        let config = preset(name);
        let mut whole = Chip::new(&config, program("lz"));
        assert_eq!(whole.run(INSTRUCTIONS), Stop::Limit);

        let mut parts = Chip::new(&config, program("lz"));
        let mut random = Random::new(5);
        let (mut until, mut stops) = (0, 0);
        let stop = loop {
            // Shorter than a miss, so that stretches of idle cycles are cut.
            until += 1 + random.below(60);
            let Chip {
                processors, shared, ..
            } = &mut parts;
            match processors[0].advance(shared, until, INSTRUCTIONS) {
                ControlFlow::Break(stop) => break stop,
                ControlFlow::Continue(next) => {
                    assert!(next > until && processors[0].resources.now == until);
                    stops += 1;
                }
            }
        };
        assert_eq!(stop, Stop::Limit);
        assert!(stops > 1000, "{name}: {stops} stops");
        let of = |chip: &Chip| CoreStats {
            // A cycle that is idle is skipped only behind another one.
            idle_skipped_cycles: 0,
            ..*chip.stats()
        };
        assert_eq!(of(&parts), of(&whole), "{name}");
        assert_eq!(parts.cpi(), whole.cpi(), "{name}");
        assert_eq!(parts.memory_stats(), whole.memory_stats(), "{name}");
    }
}

/// `hps-4wide` with a number of cores.
fn with_cores(cores: u32) -> MachineConfig {
    let mut config = preset("hps-4wide");
    config.chip.cores = cores;
    config
}

fn chip(config: &MachineConfig, process: Process) -> Chip {
    Chip::of_processors(config, process, NoEditor, NoProbe)
        .expect("nothing but the machine is there")
}

#[test]
fn a_chip_that_is_switched_goes_on_at_the_other_point() {
    let mut config = preset("hps-4wide");
    config.clock_mhz = 3400;
    config.memory.clock_mhz = 3400;
    config.memory.l1d_prefetch = L1dPrefetch::NextLine(NextLineConfig { degree: 1 });
    let slow = OperatingPoint {
        clock_mhz: 850,
        prefetches: false,
    };
    // A machine that begins as the other one is switched to is the same from the first cycle on.
    let mut slow_config = config.clone();
    slow_config.clock_mhz = slow.clock_mhz;
    let mut off_config = slow_config.clone();
    off_config.memory.l1d_prefetch = L1dPrefetch::Off;
    let run = |config: &MachineConfig, switch: Option<OperatingPoint>| {
        let mut chip = chip(config, program("netsimplex"));
        if let Some(point) = switch {
            chip.operate(config, point);
        }
        assert_eq!(chip.run(200_000), Stop::Limit);
        let time = chip.processors[0].resources.params.clone();
        let time = time.guest_counters(chip.process(), 8_500, 0).time_ns;
        (chip.stats().cycles, chip.memory_stats().memory_bus, time)
    };
    let at_first = run(&config, None);
    let switched = run(&config, Some(slow));
    assert_eq!(switched, run(&off_config, None));
    assert!(switched.0 < at_first.0, "memory is nearer in cycles");
    assert_ne!(switched, run(&slow_config, None), "prefetchers rest");
    assert_eq!((at_first.2, switched.2), (2_500, 10_000));
    // Time goes on from where it was.
    let mut chip = chip(&config, program("netsimplex"));
    chip.run(1_000);
    let before = chip.stats().cycles;
    chip.operate(&config, slow);
    let params = &chip.processors[0].resources.params;
    let at = |cycle| params.guest_counters(chip.process(), cycle, 0).time_ns;
    let since = at(before + 850) - before * 1000 / 3400;
    assert!((1000..=1001).contains(&since), "{since}");
}

#[test]
fn idle_cores_cost_no_cycle() {
    const INSTRUCTIONS: u64 = 100_000;
    let run = |cores| {
        let mut chip = chip(&with_cores(cores), program("bwt"));
        assert_eq!(chip.run(INSTRUCTIONS), Stop::Limit);
        chip.finish()
    };
    let (two, four) = (run(2), run(4));
    assert_eq!(two.stats, four.stats);
    assert_eq!(two.cpi, four.cpi);
    assert_eq!(two.memory, four.memory);
    assert_eq!((two.others.len(), four.others.len()), (1, 3));
    let width = u64::from(with_cores(1).window.commit_width);
    for other in &four.others {
        assert_eq!(other.stats.cycles, four.stats.cycles);
        assert_eq!(other.cpi.get(Cause::Idle), width * four.stats.cycles);
        assert_eq!(other.cpi.total(), width * four.stats.cycles);
    }
}

#[test]
fn a_context_without_a_thread_costs_the_others_nothing() {
    const INSTRUCTIONS: u64 = 100_000;
    let run = |contexts| {
        let mut config = preset("hps-4wide");
        config.chip.contexts = contexts;
        let mut chip = chip(&config, program("lz"));
        assert_eq!(chip.run(INSTRUCTIONS), Stop::Limit);
        chip.finish()
    };
    let (one, two, four) = (run(1), run(2), run(4));
    let of = |stats: CoreStats| CoreStats {
        // A cycle that is idle is skipped only behind another one.
        idle_skipped_cycles: 0,
        ..stats
    };
    assert_eq!(of(one.stats), of(two.stats));
    assert_eq!(one.cpi, two.cpi);
    assert_eq!(one.memory, two.memory);
    assert_eq!(two.stats, four.stats);
    for other in two.others.iter().chain(&four.others) {
        assert_eq!(other.cpi.get(Cause::Idle), one.cpi.total());
        assert_eq!(other.memory, MemoryStats::default());
    }
}

#[test]
fn a_limit_counts_the_instructions_of_all_cores_and_can_be_gone_beyond() {
    let config = with_cores(2);
    let mut chip = chip(&config, program("lz"));
    for done in [1000, 2500, 2501] {
        assert_eq!(chip.run(done - chip.instructions()), Stop::Limit);
        assert_eq!(chip.instructions(), done);
    }
    let whole = {
        let mut whole = Chip::of_processors(&config, program("lz"), NoEditor, NoProbe).unwrap();
        assert_eq!(whole.run(2501), Stop::Limit);
        whole.finish()
    };
    assert_eq!(chip.finish().stats, whole.stats);
}

#[test]
fn a_core_alone_has_no_limit() {
    assert_eq!(of(&[7]), (0, NO_LIMIT));
}

#[test]
fn the_earliest_core_goes_up_to_the_next_one_and_the_first_of_two_comes_first() {
    // Core 1 may have cycles 5 and 6 for itself; in cycle 7 core 0 comes before it.
    assert_eq!(of(&[7, 5, 9]), (1, 6));
    // Core 0 comes before core 2 in cycle 9, so it may have that cycle, too.
    assert_eq!(of(&[8, 12, 9]), (0, 9));
    assert_eq!(of(&[4, 4]), (0, 4));
    assert_eq!(of(&[5, 4]), (1, 4));
}

#[test]
fn contexts_of_a_core_take_turns_in_being_the_first() {
    let mut config = with_cores(2);
    config.chip.contexts = 2;
    let chip = chip(&config, program("lz"));
    let hardware_threads = chip
        .hardware_threads
        .as_ref()
        .expect("contexts share cores");
    // Processors 0 and 2 are of one core, 1 and 3 of the other.
    let order = |cycle| [0, 1, 2, 3].map(|processor| hardware_threads.order(processor, cycle));
    assert_eq!(order(4), [0, 2, 1, 3]);
    assert_eq!(order(5), [1, 3, 0, 2]);
    let earliest = |next: [u64; 4]| {
        earliest(next.into_iter(), |at, cycle| {
            hardware_threads.order(at, cycle)
        })
    };
    assert_eq!(earliest([4, 9, 4, 9]), (0, 4));
    assert_eq!(earliest([5, 9, 5, 9]), (2, 5));
    assert_eq!(earliest([4, 9, 5, 9]), (0, 4));
}

fn of(next_cycles: &[u64]) -> (usize, u64) {
    earliest(next_cycles.iter().copied(), |processor, _| processor)
}
