//! A chip that is stopped between two cycles: it goes on as if it had not been, and what its tables hold is what the
//! program has used.

use std::collections::BTreeSet;

use crate::common::{machine, preset, riscv_workload};
use hps_pipeline::config::MachineConfig;
use hps_pipeline::contents::{Contents, Held};
use hps_pipeline::core::Chip;
use hps_sim_core::machine::Stop;
use hps_system::process::Process;

/// Instructions of the runs.
const INSTRUCTIONS: u64 = 6000;

fn program() -> Process {
    riscv_workload("lz")
}

/// Machines whose cores and tables differ: a tournament, a tournament with three levels and write-through, TAGE.
fn machines() -> [MachineConfig; 4] {
    [
        preset("hps-4wide"),
        preset("ev5"),
        preset("wide-8"),
        machine("tiny-2wide", |config| config.memory.l1d.mshrs = 2),
    ]
}

fn table<'a>(all: &'a [Contents], name: &str) -> &'a Contents {
    let found = all.iter().find(|one| one.name == name);
    found.unwrap_or_else(|| panic!("there is a table {name}"))
}

#[test]
fn a_chip_that_is_stopped_in_each_cycle_counts_what_another_one_counts() {
    for config in machines() {
        let mut whole = Chip::new(&config, program());
        assert_eq!(whole.run(INSTRUCTIONS), Stop::Limit);
        let cycles = whole.stats().cycles;
        let mut stopped = Chip::new(&config, program());
        for cycle in 1..cycles {
            assert_eq!(stopped.run_to_cycle(cycle), None);
        }
        // The last cycle of the first chip ends behind its last instruction.
        let left = INSTRUCTIONS - stopped.stats().commit_program_instructions;
        assert_eq!(stopped.run(left), Stop::Limit);
        let mut stats = *stopped.stats();
        // Only how many cycles were passed over at once differs.
        stats.idle_skipped_cycles = whole.stats().idle_skipped_cycles;
        assert_eq!(stats, *whole.stats(), "{}", config.name);
        assert_eq!(stopped.memory_stats(), whole.memory_stats());
        let last =
            [&mut stopped, &mut whole].map(|chip| (chip.contents(0, cycles), chip.window(0)));
        assert_eq!(last[0], last[1], "{}", config.name);
    }
}

#[test]
fn tables_hold_what_was_used() {
    for config in machines() {
        let mut chip = Chip::new(&config, program());
        let before = chip.contents(0, 0);
        for one in &before {
            assert_eq!(one.entries.len(), one.sets * one.ways, "{}", one.name);
            if !matches!(one.entries[0], Held::Counter { .. } | Held::History { .. }) {
                assert_eq!(one.taken(), 0, "{}", one.name);
            }
        }
        // Stopped behind a cycle in which lines are on their way.
        let mut cycle = 20_000;
        let all = loop {
            assert_eq!(chip.run_to_cycle(cycle), None);
            let all = chip.contents(0, cycle);
            if table(&all, "l1d_misses").taken() > 0 {
                break all;
            }
            cycle += 1;
        };
        let memory = chip.memory_stats();
        let l1d = table(&all, "l1d");
        // Each line came once for each miss, and none has gone that is still there.
        let lines = l1d.taken() as u64;
        assert!(
            lines > 10 && lines <= memory.l1d.fill_events,
            "{}: {lines}",
            config.name
        );
        let mut seen = BTreeSet::new();
        for (at, held) in l1d.entries.iter().enumerate() {
            if let Held::Line { address, .. } = held {
                assert_eq!(l1d.set_of(*address), Some(at / l1d.ways));
                assert!(seen.insert(*address), "{address:#x} is there twice");
            }
        }
        // A line on its way has a register, and a register has a line.
        let fills = table(&all, "l1d_misses")
            .entries
            .iter()
            .filter_map(|held| match held {
                Held::Moving {
                    address,
                    ready_cycle,
                    ..
                } => Some((*address, *ready_cycle)),
                _ => None,
            });
        let coming = l1d.entries.iter().filter_map(|held| match held {
            Held::Line {
                address,
                ready_cycle,
                ..
            } => ready_cycle.map(|at| (*address, Some(at))),
            _ => None,
        });
        let coming: BTreeSet<_> = coming.collect();
        assert_eq!(fills.collect::<BTreeSet<_>>(), coming, "{}", config.name);
        // The dirty ones are stores' work; a write-through cache has none.
        let dirty = l1d.entries.iter();
        let dirty = dirty.filter(|held| matches!(held, Held::Line { dirty: true, .. }));
        assert_eq!(dirty.count() > 0, config.name != "ev5", "{}", config.name);
        if let Some(btb) = all.iter().find(|one| one.name == "btb") {
            assert!(btb.taken() > 10);
        }
        let window = chip.window(0);
        assert!(!window.in_order.is_empty());
        for op in window.memory.iter().filter(|op| op.seq.is_some()) {
            assert!(op.seq.is_some_and(|seq| window.in_order.contains(&seq)));
        }
    }
}
