//! The oracle, written once more from its definition: cycle by cycle over the records of all instructions.

use std::collections::BTreeMap;

use hps_isa::editor::NoEditor;
use hps_pipeline::config::MachineConfig;
use hps_pipeline::core::{Chip, CoreKind, StageRecord};
use hps_profilers::oracle::units_per_cycle;
use hps_profilers::{ExactProfile, Key};
use hps_system::process::Process;

use crate::common::random::{self, Mix};
use crate::common::{Trace, preset, riscv_workload};
use crate::{cores, watch_process};

/// Units by instruction.
type Units = BTreeMap<(u64, u16), u64>;

fn key(r: &StageRecord) -> (u64, u16) {
    (r.pc, r.disepc.to_bits())
}

/// For each cycle, looks for what commits, for the oldest instruction, or for what emptied the window.
fn by_definition(records: &[StageRecord], cycles: u64, width: u64) -> Units {
    let unit = units_per_cycle(width);
    let mut units = Units::new();
    // In the order of the program; what is squashed lies among what runs again in its place.
    let committed: Vec<&StageRecord> = records.iter().filter(|r| !r.squashed).collect();
    let trapped = records
        .iter()
        .filter(|r| r.squashed && r.seq == committed.last().map_or(1, |c| c.seq + 1))
        .filter(|r| r.complete_cycle != u64::MAX && r.complete_cycle <= r.end_cycle)
        .max_by_key(|r| r.end_cycle);
    let mut next = 0;
    for cycle in 1..=cycles {
        let group = committed[next..]
            .iter()
            .take_while(|r| r.end_cycle == cycle)
            .count();
        if group > 0 {
            for r in &committed[next..next + group] {
                *units.entry(key(r)).or_insert(0) += unit / group as u64;
            }
            next += group;
            continue;
        }
        let last = next.checked_sub(1).map(|at| committed[at]);
        let head = committed.get(next).copied().or(trapped);
        // Whatever stood at the head: the instruction itself, or its earlier life.
        let seq = head.map_or(u64::MAX, |h| h.seq);
        let is_in_window = records.iter().any(|r| {
            let gone = if r.squashed {
                r.end_cycle
            } else {
                r.end_cycle + 1
            };
            r.seq == seq && r.dispatch_cycle < cycle && cycle < gone
        });
        let ran_before = last.is_some_and(|last| {
            records.iter().any(|r| {
                r.seq == seq
                    && r.squashed
                    && r.end_cycle > last.complete_cycle
                    && r.end_cycle <= cycle
                    && r.dispatch_cycle < r.end_cycle
            })
        });
        let trap_is_over = trapped.is_some_and(|t| cycle >= t.end_cycle && next == committed.len());
        let owner = match (head, last) {
            (Some(head), _) if is_in_window || trap_is_over => head,
            (_, Some(last)) if last.mispredicted && !ran_before => last,
            (Some(head), _) => head,
            (None, Some(last)) => last,
            (None, None) => panic!("nothing ran"),
        };
        *units.entry(key(owner)).or_insert(0) += unit;
    }
    units
}

fn told(exact: &ExactProfile) -> Units {
    let mut units = Units::new();
    for row in &exact.rows {
        let Key { pc, disepc } = row.of.key;
        let sum = row.units();
        if sum > 0 {
            *units.entry((pc, disepc.to_bits())).or_insert(0) += sum;
        }
    }
    units
}

fn compare(config: &MachineConfig, process: impl Fn() -> Process, limit: u64, what: &str) {
    let width = u64::from(config.window.commit_width);
    let mut core = Chip::with(config, process(), NoEditor, Trace::default());
    core.run(limit);
    core.settle();
    let cycles = core.stats().cycles;
    core.drain_to_boundary();
    let expected = by_definition(&core.probe().records, cycles, width);
    let watched = watch_process(CoreKind::Cycle, config, process(), limit, None, |_| {});
    let found = told(&watched.exact);
    let differ: Vec<_> = expected
        .iter()
        .map(|(key, units)| (key, *units, found.get(key).copied().unwrap_or(0)))
        .filter(|(_, a, b)| a != b)
        .collect();
    assert!(differ.is_empty(), "{what} on {}: {differ:x?}", config.name);
    assert_eq!(expected, found, "{what} on {}", config.name);
}

#[test]
fn the_oracle_is_its_definition_on_random_programs() {
    for config in MachineConfig::presets().into_iter().map(preset) {
        for seed in 8100..8106 {
            let program = random::program(
                seed,
                Mix {
                    iterations: 3,
                    ..Mix::default()
                },
            );
            let what = format!("random {seed}");
            compare(&config, || program.process(), u64::MAX, &what);
        }
    }
}

#[test]
fn the_oracle_is_its_definition_on_programs_that_come_with_the_project() {
    for (name, machine) in [("bwt", "hps-4wide"), ("interp", "ev6"), ("chess", "ev5")] {
        compare(&preset(machine), || riscv_workload(name), 2_500, name);
    }
}

#[test]
fn units_states_and_instructions_are_conserved() {
    for config in MachineConfig::presets().into_iter().map(preset) {
        for kind in cores(&config) {
            for name in ["netsimplex", "minicc"] {
                let watched =
                    watch_process(kind, &config, riscv_workload(name), 60_000, None, |_| {});
                let (exact, stats) = (&watched.exact, &watched.finished.stats);
                let what = format!("{name} on {}, {}", config.name, kind.name());
                assert_eq!(exact.cycles, stats.cycles, "{what}");
                let units: u64 = exact.rows.iter().map(|r| r.units()).sum();
                assert_eq!(units, exact.cycles * exact.units_per_cycle, "{what}");
                let commits: u64 = exact.rows.iter().map(|r| r.commits).sum();
                assert_eq!(commits, stats.commit_program_instructions, "{what}");
                assert_eq!(commits, exact.commits, "{what}");
            }
        }
    }
}

#[test]
fn both_cores_give_the_same_profile_where_all_accesses_hit() {
    for machine in crate::common_presets() {
        let config = preset(machine);
        for seed in 8200..8206 {
            let program = random::program(seed, crate::STRAIGHT);
            let [a, b] = [CoreKind::Cycle, CoreKind::Instruction]
                .map(|kind| told(&crate::watch(kind, &config, &program).exact));
            assert_eq!(a, b, "random {seed} on {machine}");
        }
    }
}
