//! The basic overhead of HPS is zero: with the sampling framework loaded and nothing to collect, a
//! program takes exactly the cycles that it takes without DISE (HPS report, section 5).

use crate::guest::{
    Subject, everywhere, find, in_parallel, machine, mostly_riscv, outcome_of_core, small, title,
};
use crate::support::every_by_day;
use hps_dise::{DiseConfig, DiseEngine, ExpansionCost, LoadOptions};
use hps_isa::editor::{DecodeEditor, NoEditor};
use hps_isa::probe::NoProbe;
use hps_lab::{Install, TimedLoop};
use hps_pipeline::core::CoreStats;
use hps_productions::files::{self, IDENTITY};
use hps_productions::{Collector, SamplePoint};
use hps_sim_core::machine::Stop;
use hps_system::image::Isa;

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

/// A core, the cycle-driven one.
type Core<E = NoEditor> = hps_lab::Core<E, NoProbe>;

fn plain(subject: Subject) -> Core {
    core(subject, NoEditor)
}

fn with_framework(subject: Subject, point: SamplePoint, dise: &DiseConfig) -> Core<DiseEngine> {
    let collector = Collector::framework_only(point, dise).unwrap_or_else(|e| panic!("{e}"));
    core(subject, &collector)
}

fn with_identity(subject: Subject, cost: ExpansionCost) -> Core<DiseEngine> {
    let set = files::load(&[IDENTITY], &LoadOptions::default()).unwrap_or_else(|e| panic!("{e}"));
    let lab = small(subject).edited(|_| DiseEngine::new(&set, &config(cost)));
    let core = lab.on_machine(&machine()).open();
    core.unwrap_or_else(|e| panic!("{e}"))
}

fn core<I: Install<Editor: TimedLoop<NoProbe>>>(subject: Subject, installs: I) -> Core<I::Editor> {
    let lab = small(subject).edited_by(installs);
    let core = lab.on_machine(&machine()).open();
    core.unwrap_or_else(|e| panic!("{e}"))
}

fn cycles<E: TimedLoop<NoProbe>>(core: &mut Core<E>, instructions: u64) -> u64 {
    assert_eq!(core.run(instructions), Stop::Limit);
    assert_eq!(core.stats().commit_program_instructions, instructions);
    core.stats().cycles
}

/// Nothing that the machine counts may differ, cycles first.
fn assert_same<E: DecodeEditor>(name: &str, plain: &Core, other: &Core<E>) {
    assert_eq!(plain.stats().cycles, other.stats().cycles, "{name}: cycles");
    assert_eq!(plain.stats(), other.stats(), "{name}");
    assert_eq!(plain.cpi(), other.cpi(), "{name}");
    assert_eq!(plain.memory_stats(), other.memory_stats(), "{name}");
    let none = CoreStats::default();
    let s = other.stats();
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
    // All programs on RISC-V and on Alpha come in turns: by day some of both.
    in_parallel(&every_by_day(3, everywhere()), |&subject| {
        let name = &title(subject);
        let prefix = match subject.1 {
            Isa::Riscv64 => PREFIX,
            Isa::Alpha => PREFIX / 3,
        };
        let (mut without, mut with) = (
            plain(subject),
            with_framework(subject, point, &DiseConfig::default()),
        );
        cycles(&mut without, prefix);
        cycles(&mut with, prefix);
        assert_same(name, &without, &with);
        assert_was_sampling(name, with.editor());
    });
}

#[test]
fn nor_in_whole_runs_at_any_frequency() {
    let points = vec![
        (
            ("minicc", Isa::Riscv64),
            SamplePoint {
                burst: 1,
                sparsity: 1,
            },
        ),
        (("ray", Isa::Riscv64), SamplePoint::EXHAUSTIVE),
        (("parse", Isa::Alpha), SamplePoint::EXHAUSTIVE),
    ];
    in_parallel(&every_by_day(3, points), |&((name, isa), point)| {
        let subject = (find(name), isa);
        let (mut without, mut with) = (
            plain(subject),
            with_framework(subject, point, &DiseConfig::default()),
        );
        let expected = outcome_of_core(&mut without);
        assert_eq!(expected.stdout, subject.0.expected_small.as_bytes());
        assert_eq!(outcome_of_core(&mut with), expected);
        assert_same(name, &without, &with);
        assert_was_sampling(name, with.editor());
    });
}

#[test]
fn what_costs_cycles_is_seen() {
    let point = SamplePoint::from_frequency(10, 100).unwrap_or_else(|e| panic!("{e}"));
    in_parallel(&mostly_riscv(), |&subject| {
        let name = title(subject);
        let without = cycles(&mut plain(subject), SHORT_PREFIX);
        // A longer pipeline makes every misprediction dearer.
        let mut longer = with_framework(subject, point, &config(ExpansionCost::ExtraStage));
        assert!(
            cycles(&mut longer, SHORT_PREFIX) > without,
            "{name}: one more stage is free"
        );
        assert_eq!(longer.stats().dise_stall_cycles, 0, "{name}");
        // Replacing instructions by themselves stalls decode each time.
        let mut stalled = with_identity(subject, ExpansionCost::Stall);
        let free = cycles(
            &mut with_identity(subject, ExpansionCost::Free),
            SHORT_PREFIX,
        );
        let dear = cycles(&mut stalled, SHORT_PREFIX);
        assert!(
            dear > without && dear > free,
            "{name}: {dear} cycles, {free} if free, {without} without"
        );
        let s = stalled.stats();
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
