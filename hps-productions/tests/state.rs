//! A collection that goes on in another core, with an engine and a collector that took their states from bytes.

use std::mem::swap;

use hps_dise::{DiseConfig, DiseEngine};
use hps_isa::isa::Isa;
use hps_isa::probe::NoProbe;
use hps_isa::state::{StateError, from_bytes, to_bytes};
use hps_pipeline::config::MachineConfig;
use hps_pipeline::core::{CoreKind, EitherCore};
use hps_productions::{CollectedProfile, Collector, CollectorOptions, SamplePoint, Scheme};
use hps_profile::{ProfileKind, StreamConfig};
use hps_sim_core::machine::Stop;

use crate::common::{KINDS, workload};

type Core = EitherCore<DiseEngine, NoProbe>;

fn collector(scheme: Scheme, dise: DiseConfig) -> Collector {
    let options = CollectorOptions {
        // Drained every few bursts.
        buffer_entries: 37,
        streams: Some(StreamConfig {
            max_grammar_symbols: 900,
            ..StreamConfig::default()
        }),
        dise,
        ..CollectorOptions::default()
    };
    let point = SamplePoint::from_frequency(10, 20).expect("a point");
    Collector::of(scheme, &KINDS, point, &options).expect("a collector")
}

/// Tables that are too small, so that what is resident changes.
fn small_tables() -> DiseConfig {
    DiseConfig {
        pt_entries: 2,
        ..DiseConfig::default()
    }
}

fn core(of: &Collector, kind: CoreKind, isa: Isa) -> Core {
    let config = MachineConfig::preset("hps-4wide").expect("a preset");
    let mut process = workload(isa, "parse");
    let engine = of.install(&mut process).expect("there is room");
    EitherCore::with(kind, &config, process, engine, NoProbe).expect("a core")
}

fn profiles(of: &Collector, core: &mut Core) -> Vec<String> {
    core.drain_to_boundary();
    let all = of.read_all(core.process()).expect("it is installed");
    let all = all.into_iter().map(|profile| match profile {
        CollectedProfile::Method { addresses, lost } => format!("{:?} {lost}", addresses.sorted()),
        CollectedProfile::CallPair { call_pairs, lost } => {
            format!("{:?} {lost}", call_pairs.listing())
        }
        CollectedProfile::DataStream(recorder) => format!(
            "{} {:?} {:?}",
            recorder.references(),
            recorder.digest(),
            recorder.finish()
        ),
        CollectedProfile::Nothing => String::new(),
    });
    all.collect()
}

#[test]
fn collections_go_on() {
    for (isa, scheme, dise) in [
        (Isa::Riscv64, Scheme::Hps, DiseConfig::default()),
        (Isa::Alpha, Scheme::Randomized, DiseConfig::default()),
        (Isa::Riscv64, Scheme::Hps, small_tables()),
    ] {
        for kind in [CoreKind::Cycle, CoreKind::Instruction] {
            let straight_of = collector(scheme, dise.clone());
            let mut of = collector(scheme, dise.clone());
            let mut straight = core(&straight_of, kind, isa);
            let mut moving = core(&of, kind, isa);
            for part in [1, 30_001, 7, 50_002] {
                assert_eq!(straight.run(part), Stop::Limit);
                assert_eq!(moving.run(part), Stop::Limit);
                let states = [
                    moving.save_state(),
                    to_bytes("editor", moving.editor()),
                    to_bytes("collector", &of),
                ];
                let wanted = [
                    straight.save_state(),
                    to_bytes("editor", straight.editor()),
                    to_bytes("collector", &straight_of),
                ];
                assert!(
                    states == wanted,
                    "{isa:?} {scheme:?} {kind:?} behind {part}"
                );
                let mut fresh_of = collector(scheme, dise.clone());
                let mut fresh = core(&fresh_of, kind, isa);
                {
                    let mut here = moving.contexts_mut();
                    let mut there = fresh.contexts_mut();
                    swap(here[0].0, there[0].0);
                    let restored = from_bytes("editor", there[0].1, &states[1]);
                    assert_eq!(restored, Ok(()));
                }
                assert_eq!(from_bytes("collector", &mut fresh_of, &states[2]), Ok(()));
                assert_eq!(fresh.restore_state(&states[0]), Ok(()));
                (moving, of) = (fresh, fresh_of);
            }
            assert_eq!(straight.run(100_000), moving.run(100_000));
            assert_eq!(straight.stats(), moving.stats());
            assert_eq!(straight.editor().stats(), moving.editor().stats());
            let wanted = profiles(&straight_of, &mut straight);
            assert_eq!(profiles(&of, &mut moving), wanted);
            assert!(
                wanted.iter().all(|profile| profile.len() > 100),
                "{wanted:?}"
            );
        }
    }
}

#[test]
fn states_of_other_productions_are_errors() {
    let of = collector(Scheme::Hps, DiseConfig::default());
    let used = core(&of, CoreKind::Cycle, Isa::Riscv64);
    let saved = to_bytes("editor", used.editor());
    let mut others = [
        collector(Scheme::Randomized, DiseConfig::default()),
        collector(Scheme::Hps, small_tables()),
    ]
    .map(|of| core(&of, CoreKind::Cycle, Isa::Riscv64));
    for other in &mut others {
        let result = from_bytes("editor", other.parts_mut().1, &saved);
        assert!(
            matches!(result, Err(StateError::OtherShape(_))),
            "{result:?}"
        );
    }
    let saved = to_bytes("collector", &of);
    let point = SamplePoint::new(10, 0).expect("a point");
    let options = CollectorOptions::default();
    let kind = ProfileKind::DataStream;
    let mut other = Collector::new(kind, point, &options).expect("a collector");
    let result = from_bytes("collector", &mut other, &saved);
    assert!(
        matches!(result, Err(StateError::OtherShape(_))),
        "{result:?}"
    );
}
