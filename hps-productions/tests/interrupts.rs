//! HPS on a machine that takes interrupts: it collects what it collects without them.

use crate::common::*;
use hps_dise::{DiseEngine, LoadOptions, ProductionSet};
use hps_isa::editor::Interruptible;
use hps_isa::isa::Isa;
use hps_isa::layout;
use hps_isa::memory::{Perm, page_align_up};
use hps_isa::probe::NoProbe;
use hps_pipeline::config::MachineConfig;
use hps_pipeline::core::{CoreKind, EitherCore};
use hps_pipeline::interrupts::Interrupts;
use hps_pipeline::pmu::{CounterConfig, Event, Pmu};
use hps_productions::{Collector, CollectorOptions, Scheme};
use hps_sim_core::machine::Stop;
use hps_system::process::Process;

/// Puts an empty handler of interrupts behind everything that profiles take. Returns its address.
fn install_handler(isa: Isa, process: &mut Process) -> u64 {
    let load = LoadOptions {
        handler_base: layout::HANDLER_BASE + 0x3000_0000,
        ..LoadOptions::default().for_isa(isa)
    };
    let set = ProductionSet::parse("handler Take { d_ret }", "take.dise", &load).unwrap();
    for (base, code) in set.handler_image() {
        let size = page_align_up(code.len() as u64).unwrap();
        process.mem.map(base, size, Perm::RX).unwrap();
        process.mem.write_bytes_forced(base, &code).unwrap();
    }
    set.symbols()["Take"]
}

#[test]
fn profiles_are_the_same_with_interrupts() {
    let machine = MachineConfig::preset("hps-4wide").unwrap();
    let costs = &machine.interrupts;
    let options = CollectorOptions {
        buffer_entries: 37,
        seed: 3,
        ..CollectorOptions::default()
    };
    let mut taken = 0;
    for isa in Isa::ALL {
        for point in points(&[(1, 0), (2, 3)]) {
            let expected = grid(assembly(isa, mixed(isa)), &[point], u64::MAX);
            let expected = expected.points.first().unwrap();
            let of = Collector::of(Scheme::Hps, &KINDS, point, &options).unwrap();
            for kind in [CoreKind::Cycle, CoreKind::Instruction] {
                let run = |counters: &[CounterConfig]| {
                    let mut process = assembly(isa, mixed(isa));
                    let engine = Interruptible(of.install(&mut process).unwrap());
                    let handler = install_handler(isa, &mut process);
                    let mut core = EitherCore::<Interruptible<DiseEngine>, NoProbe>::with(
                        kind, &machine, process, engine, NoProbe,
                    )
                    .unwrap();
                    if !counters.is_empty() {
                        let pmu = Pmu::new(counters).unwrap();
                        core.attach_interrupts(Interrupts::new(costs, pmu, handler).unwrap());
                    }
                    assert_eq!(core.run_to_end(), Stop::Exit(7));
                    core
                };
                let without = run(&[]);
                for counter in [
                    CounterConfig::timer(1009),
                    CounterConfig::every(Event::INSTRUCTIONS, 499),
                ] {
                    let core = run(&[counter]);
                    for profile in of.read_all(core.process()).unwrap() {
                        assert!(assert_equal(profile, expected) > 0);
                    }
                    let (mine, theirs) = (core.stats(), without.stats());
                    assert_eq!(
                        mine.commit_inserted_instructions,
                        theirs.commit_inserted_instructions
                    );
                    // Each handler is one instruction, and nothing commits from entry to return.
                    let events = core.interrupts().unwrap().stats().taken_events;
                    assert_eq!(
                        mine.commit_handler_instructions,
                        theirs.commit_handler_instructions + events
                    );
                    let least = u64::from(costs.entry_cycles + costs.return_cycles);
                    let each = (mine.cycles - theirs.cycles) as f64 / events as f64;
                    assert!(
                        (least as f64..least as f64 + 60.0).contains(&each),
                        "{each} cycles each on {isa}"
                    );
                    taken += events;
                }
            }
        }
    }
    assert!(taken > 100, "{taken}");
}
