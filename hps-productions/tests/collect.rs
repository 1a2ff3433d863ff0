//! Collection by the DISE engine equals, count for count, one functional pass.

use crate::common::*;
use hps_isa::isa::Isa;
use hps_productions::{CollectedProfile, Collector, CollectorOptions, GridProbe, SamplePoint};
use hps_profile::ProfileKind;
use hps_sim_core::machine::Machine;
use hps_system::process::Process;

/// Collects every kind at every point and compares with the grid after `limit` instructions.
fn compare(
    fresh: impl Fn() -> Process,
    points: &[SamplePoint],
    options: &CollectorOptions,
    limit: u64,
) {
    let expected = grid(fresh(), points, limit);
    for expected in &expected.points {
        for kind in KINDS {
            let collector = Collector::new(kind, expected.point, options).unwrap();
            let mut process = fresh();
            let engine = collector.install(&mut process).unwrap();
            let mut machine = Machine::with_editor(process, engine);
            // The probe sees the program's own events only, whatever the handlers do.
            let mut beside = GridProbe::new(&[expected.point]).unwrap();
            machine.run(&mut beside, limit);
            let collected = collector.read(&machine.process).unwrap();
            assert!(
                assert_equal(collected, expected) > 0,
                "{kind} at {}: nothing sampled",
                expected.point
            );
            assert_eq!(beside.finish().points[0].addresses, expected.addresses);
        }
    }
}

#[test]
fn workloads_are_collected_exactly() {
    for isa in Isa::ALL {
        let points = points(&[(1, 99), (10, 490), (100, 900), (50, 50)]);
        for name in ["ray", "interp", "lz"] {
            compare(
                || workload(isa, name),
                &points,
                &CollectorOptions::default(),
                1_500_000,
            );
        }
    }
}

#[test]
fn every_kind_of_event_is_collected_exactly() {
    for isa in Isa::ALL {
        let points = points(&[(1, 0), (7, 0), (1, 1), (3, 2), (10, 90), (2, 7)]);
        let options = CollectorOptions {
            buffer_entries: 37,
            ..CollectorOptions::default()
        };
        compare(|| assembly(isa, mixed(isa)), &points, &options, u64::MAX);
        let all = grid(assembly(isa, mixed(isa)), &[], u64::MAX).exhaustive;
        // 400 rounds with three calls each, and a fourth call in three rounds of four.
        assert_eq!(
            (all.call_pairs.total(), all.call_pairs.len()),
            (400 * 3 + 300, 4)
        );
        assert_eq!(all.events() - all.call_pairs.total(), 400 * (3 + 1 + 1 + 1));
        assert_eq!(
            all.stream.map(|s| s.references()),
            Some(400 * (3 + 5 + 3) + 300)
        );
    }
}

#[test]
fn a_run_can_be_read_in_the_middle() {
    for isa in Isa::ALL {
        let point = SamplePoint::new(3, 4).unwrap();
        for kind in KINDS {
            let collector = Collector::new(kind, point, &CollectorOptions::default()).unwrap();
            let mut process = assembly(isa, mixed(isa));
            let engine = collector.install(&mut process).unwrap();
            let mut machine = Machine::with_editor(process, engine);
            for limit in [1000, 2500, u64::MAX] {
                let so_far = limit.saturating_sub(machine.retired.program);
                machine.run(&mut hps_isa::probe::NoProbe, so_far);
                let expected = grid(assembly(isa, mixed(isa)), &[point], limit);
                assert_equal(
                    collector.read(&machine.process).unwrap(),
                    &expected.points[0],
                );
            }
        }
    }
}

#[test]
fn what_finds_no_room_is_counted() {
    for isa in Isa::ALL {
        let options = CollectorOptions {
            method_slots: 1,
            pair_slots: 1,
            ..CollectorOptions::default()
        };
        // More targets than the slots that a table of one slot tries.
        let calls: String = (0..40).map(|i| call(isa, &format!("f{i}"))).collect();
        let mut text = repeat(isa, 5, &calls) + &exit(isa, 0);
        (0..40).for_each(|i| text += &format!("f{i}:\nret\n"));
        let all = grid(assembly(isa, &text), &[], u64::MAX).exhaustive;
        for kind in [ProfileKind::Method, ProfileKind::CallPair] {
            let collector = Collector::new(kind, SamplePoint::EXHAUSTIVE, &options).unwrap();
            let mut process = assembly(isa, &text);
            let engine = collector.install(&mut process).unwrap();
            let mut machine = Machine::with_editor(process, engine);
            finish(&mut machine, 0);
            let (found, lost, of, members) = match collector.read(&machine.process).unwrap() {
                CollectedProfile::Method { addresses, lost } => (
                    addresses.total(),
                    lost,
                    all.addresses.total(),
                    addresses.len(),
                ),
                CollectedProfile::CallPair { call_pairs, lost } => (
                    call_pairs.total(),
                    lost,
                    all.call_pairs.total(),
                    call_pairs.len(),
                ),
                _ => unreachable!(),
            };
            assert_eq!(found + lost, of, "{kind}");
            assert_eq!((members, lost > 0), (16, true), "{kind}");
        }
    }
}

#[test]
fn the_framework_alone_collects_nothing() {
    for isa in Isa::ALL {
        let point = SamplePoint::new(2, 3).unwrap();
        let collector = Collector::framework_only(point, &Default::default()).unwrap();
        let mut process = assembly(isa, mixed(isa));
        let engine = collector.install(&mut process).unwrap();
        let mut machine = Machine::with_editor(process, engine);
        finish(&mut machine, 7);
        assert!(matches!(
            collector.read(&machine.process),
            Ok(CollectedProfile::Nothing)
        ));
        assert_eq!((machine.retired.inserted, machine.retired.handler), (0, 0));
        let stats = machine.editor.stats();
        let events = grid(assembly(isa, mixed(isa)), &[], u64::MAX)
            .exhaustive
            .events();
        assert_eq!(stats.null_match_events, events);
        assert_eq!(
            (stats.expansion_events, stats.expansion_stall_cycles),
            (0, 0)
        );
        assert_eq!(u64::from(machine.editor.counters()[3]), events / 5);
    }
}
