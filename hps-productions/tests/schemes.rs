//! Plain DISE samples what HPS samples; profiles that are collected together are those collected alone;
//! the randomized period is the one that its description computes.

use crate::common::*;
use hps_dise::{DiseConfig, DiseEngine};
use hps_isa::isa::Isa;
use hps_isa::probe::NoProbe;
use hps_productions::random::{FixedSchedule, RandomGaps, RandomSchedule, ScheduleProbe};
use hps_productions::{Collector, CollectorOptions, PointProfiles, SamplePoint, Scheme};
use hps_profile::{ProfileKind, StreamConfig};
use hps_sim_core::machine::Machine;
use hps_system::process::Process;

/// Every way to collect something: each subset of the profile types but the empty one.
fn subsets() -> Vec<Vec<ProfileKind>> {
    let chosen = |mask: usize| {
        let kinds = KINDS.into_iter().enumerate();
        kinds
            .filter(|(bit, _)| mask >> bit & 1 != 0)
            .map(|(_, kind)| kind)
            .collect()
    };
    (1..8).map(chosen).collect()
}

/// A small buffer, so that it is drained in the middle of bursts.
fn options(seed: u64) -> CollectorOptions {
    CollectorOptions {
        buffer_entries: 37,
        seed,
        ..CollectorOptions::default()
    }
}

/// Runs with a collector and compares each of its profiles; the machine at the end.
fn check(
    collector: &Collector,
    mut process: Process,
    expected: &PointProfiles,
    limit: u64,
) -> Machine<DiseEngine> {
    let engine = collector.install(&mut process).unwrap();
    let mut machine = Machine::with_editor(process, engine);
    machine.run(&mut NoProbe, limit);
    let collected = collector.read_all(&machine.process).unwrap();
    assert_eq!(collected.len(), collector.kinds().len());
    for (kind, profile) in collector.kinds().iter().zip(collected) {
        let sampled = assert_equal(profile, expected);
        assert!(sampled > 0, "{kind}: nothing sampled");
    }
    machine
}

#[test]
fn every_subset_is_collected_exactly_in_every_scheme() {
    for isa in Isa::ALL {
        let points = points(&[(1, 0), (3, 0), (1, 1), (3, 2), (10, 90)]);
        let expected = grid(assembly(isa, mixed(isa)), &points, u64::MAX);
        for expected in &expected.points {
            for scheme in [Scheme::Hps, Scheme::PlainDise] {
                for kinds in subsets() {
                    let of = Collector::of(scheme, &kinds, expected.point, &options(0)).unwrap();
                    check(&of, assembly(isa, mixed(isa)), expected, u64::MAX);
                }
            }
        }
    }
}

#[test]
fn workloads_are_collected_exactly_with_plain_dise() {
    for isa in Isa::ALL {
        let points = points(&[(1, 99), (100, 900)]);
        for name in ["ray", "interp"] {
            let expected = grid(workload(isa, name), &points, 400_000);
            for expected in &expected.points {
                let options = CollectorOptions::default();
                let of = Collector::of(Scheme::PlainDise, &KINDS, expected.point, &options);
                check(&of.unwrap(), workload(isa, name), expected, 400_000);
            }
        }
    }
}

#[test]
fn kinds_keep_their_order_and_stand_once() {
    let kinds = [
        ProfileKind::DataStream,
        ProfileKind::Method,
        ProfileKind::DataStream,
    ];
    let point = SamplePoint::new(1, 9).unwrap();
    let collector = Collector::of(Scheme::PlainDise, &kinds, point, &options(0)).unwrap();
    assert_eq!(collector.kinds(), &kinds[..2]);
    assert_eq!(collector.kind(), Some(ProfileKind::DataStream));
    assert_eq!(collector.scheme(), Scheme::PlainDise);
}

fn scheduled<S: hps_productions::random::Schedule + std::fmt::Debug>(
    process: Process,
    schedule: S,
    point: SamplePoint,
    limit: u64,
) -> PointProfiles {
    let mut probe = ScheduleProbe::new(schedule, point, Some(&StreamConfig::default())).unwrap();
    Machine::new(process).run(&mut probe, limit);
    probe.finish()
}

#[test]
fn the_schedule_of_the_definition_is_the_grids() {
    for isa in Isa::ALL {
        let points = points(&[(1, 0), (3, 2), (10, 90)]);
        let expected = grid(assembly(isa, mixed(isa)), &points, u64::MAX);
        for expected in &expected.points {
            let schedule = FixedSchedule::new(expected.point);
            let found = scheduled(
                assembly(isa, mixed(isa)),
                schedule,
                expected.point,
                u64::MAX,
            );
            assert_eq!(found.addresses, expected.addresses);
            assert_eq!(found.call_pairs, expected.call_pairs);
            let digest = |profiles: &PointProfiles| profiles.stream.as_ref().map(|s| s.digest());
            assert_eq!(digest(&found), digest(expected));
        }
    }
}

#[test]
fn the_randomized_period_is_the_reference() {
    for isa in Isa::ALL {
        for point in points(&[(1, 0), (1, 1), (1, 2), (3, 5), (2, 40), (10, 90)]) {
            for seed in [0, 1, u64::MAX] {
                let fresh = || assembly(isa, mixed(isa));
                let schedule = RandomSchedule::new(point, seed);
                let expected = scheduled(fresh(), schedule, point, u64::MAX);
                for kinds in [&KINDS[..1], &KINDS[1..], &KINDS[..]] {
                    let of = Collector::of(Scheme::Randomized, kinds, point, &options(seed));
                    check(&of.unwrap(), fresh(), &expected, u64::MAX);
                }
            }
        }
    }
}

#[test]
fn it_draws_once_for_each_burst() {
    for isa in Isa::ALL {
        let point = SamplePoint::new(2, 20).unwrap();
        let of = Collector::of(Scheme::Randomized, &[], point, &options(5)).unwrap();
        let mut process = assembly(isa, mixed(isa));
        let engine = of.install(&mut process).unwrap();
        let mut machine = Machine::with_editor(process, engine);
        finish(&mut machine, 7);
        let events = grid(assembly(isa, mixed(isa)), &[], u64::MAX);
        let mut left = events.exhaustive.events();
        let mut gaps = RandomGaps::new(point, 5);
        let mut begun = 0;
        while left > 0 {
            begun += 1;
            left = left.saturating_sub(gaps.next_gap() + point.burst);
        }
        let stats = machine.editor.stats();
        assert!(begun > 100);
        assert_eq!(stats.expansion_events, begun);
        assert_eq!(machine.retired.inserted, 8 * begun);
    }
}

/// Instructions of an event and of a check, as the comments of `plain/framework.dise` give them.
#[test]
fn plain_dise_executes_two_or_three_instructions_outside_of_bursts() {
    for isa in Isa::ALL {
        let never = SamplePoint::new(1, 1 << 30).unwrap();
        let all = grid(assembly(isa, mixed(isa)), &[], u64::MAX).exhaustive;
        let events = all.events();
        let references = all.stream.as_ref().map_or(0, |s| s.references());
        for (kinds, expected) in [
            (&[][..], 3 * events),
            (&[ProfileKind::CallPair][..], 3 * events),
            (&KINDS[..2], 3 * events),
            (&KINDS[2..], 3 * events + 2 * references),
            (&KINDS[..], 3 * events + 2 * references),
        ] {
            let of = Collector::of(Scheme::PlainDise, kinds, never, &options(0)).unwrap();
            let mut process = assembly(isa, mixed(isa));
            let engine = of.install(&mut process).unwrap();
            let mut machine = Machine::with_editor(process, engine);
            finish(&mut machine, 7);
            assert_eq!(machine.retired.inserted, expected, "{isa}: {kinds:?}");
            assert_eq!(machine.retired.handler, 0);
        }
    }
}

#[test]
fn a_conditionals_table_that_is_too_small_costs_time_alone() {
    let point = SamplePoint::new(1, 9).unwrap();
    let with = |ct_entries| {
        let dise = DiseConfig {
            ct_entries,
            ..DiseConfig::default()
        };
        CollectorOptions { dise, ..options(0) }
    };
    for isa in Isa::ALL {
        let expected = grid(assembly(isa, mixed(isa)), &[point], u64::MAX);
        let run = |ct_entries| {
            let of = Collector::of(Scheme::Hps, &KINDS, point, &with(ct_entries)).unwrap();
            let fresh = assembly(isa, mixed(isa));
            let machine = check(&of, fresh, &expected.points[0], u64::MAX);
            let stats = machine.editor.stats();
            (stats.ct_miss_events, stats.miss_stall_cycles)
        };
        // inc_1, inc_2 and three of CC3, of which CC2 never runs at a burst of 1.
        assert_eq!(run(5), (0, 0));
        let events = expected.exhaustive.events();
        let (misses, stall) = run(3);
        // CC1 and CC3 push each other out, once each in every period; all periods are whole.
        assert_eq!((events % 10, misses), (0, events / 10 * 2));
        assert_eq!(stall, 30 * misses);
        assert!(Collector::of(Scheme::Hps, &KINDS, point, &with(2)).is_err());
    }
}
