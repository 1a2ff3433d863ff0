//! The basic overhead of HPS is zero: with the sampling framework loaded and nothing to collect, a
//! program takes exactly the cycles that it takes without DISE (HPS report, section 5).

mod guest;

use guest::{find, in_parallel, machine, outcome_of_core, workload};
use hps_dise::{DiseConfig, DiseEngine, ExpansionCost, LoadOptions};
use hps_pipeline::core::{Core, CoreStats};
use hps_productions::files::{self, IDENTITY};
use hps_productions::{Collector, SamplePoint};
use hps_sim_core::editor::DecodeEditor;
use hps_sim_core::machine::Stop;
use hps_sim_core::process::Process;
use hps_workloads::Size;

/// Instructions of each program that are compared.
const PREFIX: u64 = 1_500_000;
/// Instructions of each program that the more expensive variants run.
const SHORT_PREFIX: u64 = 250_000;

fn config(expansion_cost: ExpansionCost) -> DiseConfig {
    DiseConfig {
        expansion_cost,
        ..DiseConfig::default()
    }
}

fn plain(name: &str) -> Core {
    Core::new(&machine(), workload(name, Size::Small))
}

fn with_framework(name: &str, point: SamplePoint, dise: &DiseConfig) -> Core<DiseEngine> {
    let collector = Collector::framework_only(point, dise).unwrap_or_else(|e| panic!("{e}"));
    let mut process = workload(name, Size::Small);
    let engine = collector
        .install(&mut process)
        .unwrap_or_else(|e| panic!("{e}"));
    core(process, engine)
}

fn with_identity(name: &str, cost: ExpansionCost) -> Core<DiseEngine> {
    let set = files::load(&[IDENTITY], &LoadOptions::default()).unwrap_or_else(|e| panic!("{e}"));
    let engine = DiseEngine::new(&set, &config(cost)).unwrap_or_else(|e| panic!("{e}"));
    core(workload(name, Size::Small), engine)
}

fn core(process: Process, engine: DiseEngine) -> Core<DiseEngine> {
    Core::with(&machine(), process, engine, hps_sim_core::probe::NoProbe)
}

fn cycles<E: DecodeEditor>(core: &mut Core<E>, instructions: u64) -> u64 {
    assert_eq!(core.run(instructions), Stop::Limit);
    assert_eq!(core.stats.commit_program_instructions, instructions);
    core.stats.cycles
}

/// Nothing that the machine counts may differ, cycles first.
fn assert_same<E: DecodeEditor>(name: &str, plain: &Core, other: &Core<E>) {
    assert_eq!(plain.stats.cycles, other.stats.cycles, "{name}: cycles");
    assert_eq!(plain.stats, other.stats, "{name}");
    assert_eq!(plain.cpi, other.cpi, "{name}");
    assert_eq!(plain.memory_stats(), other.memory_stats(), "{name}");
    let none = CoreStats::default();
    let s = &other.stats;
    assert_eq!(
        (
            s.dise_stall_cycles,
            s.dise_expansion_events,
            s.dise_redirect_events
        ),
        (
            none.dise_stall_cycles,
            none.dise_expansion_events,
            none.dise_redirect_events
        ),
        "{name}"
    );
}

/// The framework must have decided about many events and have been through whole bursts.
fn assert_was_sampling(name: &str, engine: &DiseEngine) {
    assert!(
        engine.stats().null_match_events > 1000,
        "{name}: {:?}",
        engine.stats()
    );
    assert!(engine.counters()[3] > 0, "{name}: no burst ended");
}

#[test]
fn the_framework_costs_no_cycle() {
    let point = SamplePoint::from_frequency(10, 100).unwrap_or_else(|e| panic!("{e}"));
    in_parallel(hps_workloads::all(), |w| {
        let (mut without, mut with) = (
            plain(w.name),
            with_framework(w.name, point, &DiseConfig::default()),
        );
        cycles(&mut without, PREFIX);
        cycles(&mut with, PREFIX);
        assert_same(w.name, &without, &with);
        assert_was_sampling(w.name, &with.editor);
    });
}

#[test]
fn nor_in_whole_runs_at_any_frequency() {
    let points = [
        (
            "minicc",
            SamplePoint {
                burst: 1,
                sparsity: 1,
            },
        ),
        ("ray", SamplePoint::EXHAUSTIVE),
    ];
    in_parallel(&points, |&(name, point)| {
        let (mut without, mut with) = (
            plain(name),
            with_framework(name, point, &DiseConfig::default()),
        );
        let expected = outcome_of_core(&mut without);
        assert_eq!(expected.stdout, find(name).expected_small.as_bytes());
        assert_eq!(outcome_of_core(&mut with), expected);
        assert_same(name, &without, &with);
        assert_was_sampling(name, &with.editor);
    });
}

#[test]
fn what_costs_cycles_is_seen() {
    let point = SamplePoint::from_frequency(10, 100).unwrap_or_else(|e| panic!("{e}"));
    in_parallel(hps_workloads::all(), |w| {
        let name = w.name;
        let without = cycles(&mut plain(name), SHORT_PREFIX);
        // A longer pipeline makes every misprediction dearer.
        let mut longer = with_framework(name, point, &config(ExpansionCost::ExtraStage));
        assert!(
            cycles(&mut longer, SHORT_PREFIX) > without,
            "{name}: one more stage is free"
        );
        assert_eq!(longer.stats.dise_stall_cycles, 0, "{name}");
        // Replacing instructions by themselves stalls decode each time.
        let mut stalled = with_identity(name, ExpansionCost::Stall);
        let free = cycles(&mut with_identity(name, ExpansionCost::Free), SHORT_PREFIX);
        let dear = cycles(&mut stalled, SHORT_PREFIX);
        assert!(
            dear > without && dear > free,
            "{name}: {dear} cycles, {free} if free, {without} without"
        );
        let s = &stalled.stats;
        assert_eq!(
            s.dise_stall_cycles, s.dise_expansion_events,
            "{name}: one cycle each"
        );
        assert!(
            s.dise_expansion_events > SHORT_PREFIX / 10,
            "{name}: {}",
            s.dise_expansion_events
        );
        assert_eq!(
            (
                s.commit_inserted_instructions,
                s.commit_handler_instructions
            ),
            (0, 0),
            "{name}"
        );
    });
}
