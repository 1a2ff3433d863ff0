//! Tests of the clock: a core that is stopped again and again, and two cores on one chip.

use std::sync::Arc;

use hps_sim_core::image::ProgramImage;
use hps_sim_core::inst::reg;
use hps_sim_core::machine::Machine;
use hps_sim_core::process::ProcessConfig;

use super::*;
use crate::memsys::{CoreId, PrivateMemory};
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
            let Chip { cores, shared } = &mut parts;
            match cores[0].advance(shared, until, INSTRUCTIONS) {
                ControlFlow::Break(stop) => break stop,
                ControlFlow::Continue(next) => {
                    assert!(next > until && cores[0].resources.now == until);
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

/// A core of a chip with several cores, in front of a program.
fn core(config: &MachineConfig, number: u16, process: Process) -> Core {
    let Chip { mut cores, .. } = Chip::new(config, process);
    let mut core = cores.remove(0);
    core.context.id.core = CoreId(number);
    core.resources.memory = PrivateMemory::new(&config.memory, CoreId(number));
    core
}

#[test]
fn two_cores_share_a_chip_and_each_computes_what_it_would_alone() {
    const INSTRUCTIONS: u64 = 100_000;
    let config = preset("hps-4wide");
    let names = ["lz", "bwt"];
    let cores = (0..).zip(names);
    let mut chip: Chip = Chip {
        cores: cores
            .map(|(i, name)| core(&config, i, program(name)))
            .collect(),
        shared: SharedMemory::new(&config.memory, names.len()),
    };
    assert_eq!(chip.run_cores(INSTRUCTIONS), Stop::Limit);

    // The core that has not stopped has not gone beyond the cycle of the other one.
    let stopped = chip.cores.iter().position(|core| core.resources.paused);
    let stopped = stopped.expect("one core has come to its limit");
    let other = &chip.cores[1 - stopped];
    let end = chip.cores[stopped].resources.now;
    assert!(other.resources.now <= end && other.next_cycle >= end);

    for (core, name) in chip.cores.iter_mut().zip(names) {
        let done = core.resources.stats.commit_program_instructions;
        assert!(done > INSTRUCTIONS / 10, "{name}: {done} instructions");
        let l2 = core.resources.memory.stats(&chip.shared).l2;
        let mut alone = Chip::new(&config, program(name));
        alone.run(done);
        // Each request is counted for the core that makes it.
        assert!(l2.read_access_events > 0, "{name}");
        assert!(l2.read_access_events < 2 * alone.memory_stats().l2.read_access_events);

        core.context.drain_to_boundary(&mut core.resources);
        let mut machine = Machine::new(program(name));
        machine.run(&mut NoProbe, done);
        let (hart, expected) = (
            &core.context.process.thread.hart,
            &machine.process.thread.hart,
        );
        let named = ..usize::from(reg::DISE);
        assert_eq!(hart.pc, expected.pc, "{name}");
        assert_eq!(hart.r[named], expected.r[named], "{name}");
    }
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

fn of(next_cycles: &[u64]) -> (usize, u64) {
    earliest(next_cycles.iter().copied())
}
