//! Observers as bytes: an oracle and samplers that take over a state go on as the first ones would have.

use std::mem::swap;

use hps_isa::editor::NoEditor;
use hps_isa::state::{SaveState, StateError, from_bytes, to_bytes};
use hps_pipeline::core::{CoreKind, EitherCore};
use hps_profilers::registry::PROFILERS;
use hps_profilers::timeline::Timeline;
use hps_profilers::views::FunctionMap;
use hps_profilers::{Beats, Charge, Oracle, Programs, Samplers};
use hps_sim_core::machine::Stop;
use hps_system::process::Process;

use crate::common::{preset, riscv_workload, threads};
use crate::{Follow, cores, rows_of_contexts};

type Watching = Beats<(Oracle, (Samplers, Option<Timeline>))>;

fn follow(process: &Process) -> Follow {
    let functions = process.image.symbols.functions();
    rows_of_contexts(functions.iter().map(|function| function.addr))
}

fn watching(width: u64, process: &Process, profilers: usize) -> Watching {
    let mut samplers = Samplers::new(width);
    for profiler in &PROFILERS[..profilers] {
        samplers.add((profiler.policy)(), profiler.period(40_000, 40_000, 400, 7));
    }
    let oracle = Oracle::new(width, Charge::Own, Some(follow(process)));
    Beats::new((oracle, (samplers, None)))
}

type Core<P> = EitherCore<NoEditor, P>;

/// The states of all probes.
fn probes<P: SaveState + hps_pipeline::core::PipelineProbe>(core: &mut Core<P>) -> Vec<Vec<u8>> {
    let contexts = core.contexts_mut().into_iter();
    contexts
        .map(|(_, _, probe)| to_bytes("probe", probe))
        .collect()
}

fn moved<P: SaveState + hps_pipeline::core::PipelineProbe>(
    mut core: Core<P>,
    mut fresh: Core<P>,
) -> Core<P> {
    let (state, saved) = (core.save_state(), probes(&mut core));
    let contexts = core.contexts_mut().into_iter().zip(fresh.contexts_mut());
    for ((here, there), saved) in contexts.zip(&saved) {
        swap(here.0, there.0);
        assert_eq!(from_bytes("probe", there.2, saved), Ok(()));
    }
    assert_eq!(fresh.restore_state(&state), Ok(()));
    assert!(probes(&mut fresh) == saved, "something was lost");
    fresh
}

fn check<P: SaveState + hps_pipeline::core::PipelineProbe>(
    what: &str,
    fresh: impl Fn() -> Core<P>,
) -> P {
    let (mut straight, mut core) = (fresh(), fresh());
    for part in [1, 20_011, 7, 50_003] {
        assert_eq!(straight.run(part), Stop::Limit);
        assert_eq!(core.run(part), Stop::Limit);
        core = moved(core, fresh());
    }
    assert_eq!(straight.run(100_000), core.run(100_000));
    assert!(probes(&mut straight) == probes(&mut core), "{what}");
    assert_eq!(straight.stats(), core.stats());
    core.finish().probe
}

#[test]
fn profiles_go_on_in_other_cores() {
    for (machine, workload) in [("hps-4wide", "chess"), ("ev5", "interp"), ("smt-2", "")] {
        let config = preset(machine);
        let width = u64::from(config.window.commit_width);
        let contexts = config.chip.processors() as usize;
        let process = || match contexts {
            1 => riscv_workload(workload),
            _ => threads(contexts).process(),
        };
        for kind in cores(&config) {
            let probe = check(machine, || {
                let process = process();
                let probe = watching(width, &process, PROFILERS.len());
                EitherCore::with(kind, &config, process, NoEditor, probe).expect("a core")
            });
            let (oracle, (samplers, _)) = probe.finish();
            let exact = oracle.finish();
            let nodes = exact.contexts.nodes().len();
            assert!(nodes > if contexts == 1 { 10 } else { 1 }, "{workload}");
            let sampled = samplers.finish();
            assert!(sampled.iter().all(|of| of.credits.credited > 0));
        }
    }
}

#[test]
fn a_timeline_goes_on() {
    let config = preset("hps-4wide");
    let probe = check("a timeline", || {
        let timeline = Timeline::new(FunctionMap::default(), None);
        let process = riscv_workload("place");
        let probe = Beats::new(timeline);
        EitherCore::with(CoreKind::Cycle, &config, process, NoEditor, probe).expect("a core")
    });
    assert!(probe.finish().intervals().len() > 5);
}

#[test]
fn profiles_of_all_programs_go_on() {
    let config = preset("hps-4wide");
    let width = u64::from(config.window.commit_width);
    let probe = check("all programs", || {
        let make = move |_| Oracle::new(width, Charge::Own, Some(follow(&riscv_workload("bwt"))));
        let probe = Beats::new(Programs::new(make)).following_all();
        let process = riscv_workload("bwt");
        EitherCore::with(CoreKind::Cycle, &config, process, NoEditor, probe).expect("a core")
    });
    assert!(probe.finish().finish().iter().flatten().count() == 1);
}

#[test]
fn states_of_others_are_errors() {
    let process = riscv_workload("lz");
    let saved = to_bytes("probe", &watching(4, &process, 5));
    let mut fewer = watching(4, &process, 4);
    let result = from_bytes("probe", &mut fewer, &saved);
    assert!(
        matches!(result, Err(StateError::OtherShape(_))),
        "{result:?}"
    );
    let mut wider = watching(8, &process, 5);
    let result = from_bytes("probe", &mut wider, &saved);
    assert!(
        matches!(result, Err(StateError::OtherShape(_))),
        "{result:?}"
    );
    let mut without = Beats::new((
        Oracle::new(4, Charge::Own, None::<Follow>),
        (Samplers::new(4), None::<Timeline>),
    ));
    assert!(from_bytes("probe", &mut without, &saved).is_err());
}
