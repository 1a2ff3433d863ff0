//! Profiles that the handlers collect on the pipeline equal, count for count, those that one functional pass computes
//! for the same sampling point.
//!
//! Both sides are compared after exactly N instructions of the program. On the pipeline this
//! boundary lies behind the Nth committed instruction: its own handler ran in front of it, that of
//! the next instruction may be in flight but has not committed, and what it would have written is
//! taken back by `drain_to_boundary`.

use crate::guest::{
    Subject, assembled, captured, everywhere, find, in_parallel, machine, mostly_riscv,
    outcome_of_core, small, title,
};
use crate::support::{every_by_day, is_night};
use hps_dise::{DiseConfig, DiseEngine};
use hps_isa::probe::NoProbe;
use hps_lab::Core;
use hps_lab::Lab;
use hps_pipeline::core::CoreKind;
use hps_productions::{
    CollectedProfile, Collector, CollectorOptions, GridProbe, GridResult, PointProfiles,
    SamplePoint,
};
use hps_profile::ProfileKind;
use hps_sim_core::machine::Stop;
use hps_system::image::Isa;

fn point(burst: u64, one_in: u64) -> SamplePoint {
    SamplePoint::from_frequency(burst, one_in).unwrap_or_else(|e| panic!("{e}"))
}

/// Traces are compared by number and digest; their analysis is the same code on both sides.
fn options(repair_counters: bool) -> CollectorOptions {
    let dise = DiseConfig {
        repair_counters,
        ..DiseConfig::default()
    };
    CollectorOptions {
        dise,
        streams: None,
        ..CollectorOptions::default()
    }
}

fn collector(kind: ProfileKind, at: SamplePoint, repair: bool) -> Collector {
    Collector::new(kind, at, &options(repair)).unwrap_or_else(|e| panic!("{e}"))
}

/// A core at the beginning of a program under a profiler.
fn core(lab: Lab<'_>, kind: CoreKind, collector: &Collector) -> Core<DiseEngine, NoProbe> {
    let machine = machine();
    let lab = lab.on_machine(&machine).core(kind).edited_by(collector);
    lab.open().unwrap_or_else(|e| panic!("{e}"))
}

/// The profiles of all points after each of these numbers of instructions, by one run for each.
fn grids(subject: Subject, points: &[SamplePoint], boundaries: &[u64]) -> Vec<GridResult> {
    let profiles_after = |&boundary: &u64| {
        let probe = GridProbe::with_memory(points, None).unwrap_or_else(|e| panic!("{e}"));
        let ran = small(subject).watched_by(probe).limit(boundary).run();
        ran.unwrap_or_else(|e| panic!("{e}")).probe.finish()
    };
    boundaries.iter().map(profiles_after).collect()
}

/// Whether a collected profile is the expected one, and how many events or references it holds.
fn equals(collected: &CollectedProfile, expected: &PointProfiles) -> (bool, u64) {
    match collected {
        CollectedProfile::Nothing => panic!("nothing is collected"),
        CollectedProfile::Method { addresses, lost } => (
            *lost == 0 && *addresses == expected.addresses,
            addresses.total(),
        ),
        CollectedProfile::CallPair { call_pairs, lost } => (
            *lost == 0 && *call_pairs == expected.call_pairs,
            call_pairs.total(),
        ),
        CollectedProfile::DataStream(trace) => {
            let stream = expected
                .stream
                .as_ref()
                .expect("the pass recorded references");
            let same = (trace.references(), trace.bursts(), trace.digest())
                == (stream.references(), stream.bursts(), stream.digest());
            (same, trace.references())
        }
    }
}

#[track_caller]
fn assert_equal(what: &str, collected: &CollectedProfile, expected: &PointProfiles) -> u64 {
    let (same, samples) = equals(collected, expected);
    assert!(
        same,
        "{what}, {}: collected {collected:?}, expected {expected:?}",
        expected.point
    );
    samples
}

const KINDS: [CoreKind; 2] = [CoreKind::Cycle, CoreKind::Instruction];

/// Collects on all machines and compares at every boundary.
fn compare(subject: Subject, points: &[SamplePoint], boundaries: &[u64]) {
    let name = title(subject);
    let expected = grids(subject, points, boundaries);
    for kind in ProfileKind::ALL {
        for (at, &point) in points.iter().enumerate() {
            let mut cores = KINDS.map(|of| {
                let collector = collector(kind, point, true);
                let core = core(small(subject), of, &collector);
                (collector, core)
            });
            let functional_collector = collector(kind, point, true);
            let lab = small(subject).edited_by(&functional_collector);
            let mut functional = lab.open().unwrap_or_else(|e| panic!("{e}"));
            let mut samples = 0;
            for (&boundary, grid) in boundaries.iter().zip(&expected) {
                for (at_core, (collector, core)) in cores.iter_mut().enumerate() {
                    let done = core.stats().commit_program_instructions;
                    assert_eq!(core.run(boundary - done), Stop::Limit);
                    core.drain_to_boundary();
                    let collected = collector.read(core.process());
                    let collected = collected.unwrap_or_else(|e| panic!("{e}"));
                    let what = format!(
                        "{name}: {kind} on {:?} after {boundary} instructions",
                        KINDS[at_core]
                    );
                    samples = assert_equal(&what, &collected, &grid.points[at]);
                }

                functional.run(&mut NoProbe, boundary - functional.retired.program);
                let collected = functional_collector
                    .read(&functional.process)
                    .unwrap_or_else(|e| panic!("{e}"));
                let what = format!(
                    "{name}: {kind} on the functional machine after {boundary} instructions"
                );
                assert_equal(&what, &collected, &grid.points[at]);
            }
            assert!(
                samples > 0,
                "{name}: {kind} at {point}: nothing was sampled"
            );
        }
    }
}

#[test]
fn every_program_profile_and_point() {
    let points = [point(1, 100), point(10, 500), point(100, 20)];
    let numbered: Vec<_> = mostly_riscv().into_iter().enumerate().collect();
    in_parallel(&numbered, |&(number, subject)| {
        // By day each program with one of the points in turn.
        let points = match is_night() {
            true => &points[..],
            false => &points[number % points.len()..][..1],
        };
        compare(subject, points, &[100_001, 200_002, 300_003])
    });
}

#[test]
fn every_program_and_profile_exhaustively() {
    let boundaries = [20_000, 20_001, 20_002, 20_003, 30_000];
    in_parallel(&everywhere(), |&subject| {
        compare(subject, &[SamplePoint::EXHAUSTIVE], &boundaries)
    });
}

#[test]
fn whole_runs() {
    // Each program with one of the profiles in turn.
    let numbered = every_by_day(8, mostly_riscv().into_iter().enumerate().collect());
    in_parallel(&numbered, |&(number, subject)| {
        let (w, name) = (subject.0, title(subject));
        let kind = ProfileKind::ALL[number % 3];
        let at = point(100, 500);
        let collector = collector(kind, at, true);
        let mut core = core(small(subject), CoreKind::Cycle, &collector);
        let run = outcome_of_core(&mut core);
        assert_eq!(
            (run.code, String::from_utf8_lossy(&run.stdout)),
            (0, w.expected_small.into()),
            "{name}"
        );
        core.drain_to_boundary();
        let collected = collector
            .read(core.process())
            .unwrap_or_else(|e| panic!("{e}"));
        let expected = grids(subject, &[at], &[u64::MAX]);
        let samples = assert_equal(
            &format!("{name}: {kind}"),
            &collected,
            &expected[0].points[0],
        );
        assert!(samples > 0, "{name}: {kind}: nothing was sampled");
    });
}

/// More instructions than [`FAULTS`] has. (Were its pages outside the address space, it would fault
/// for ever.)
const ENOUGH: u64 = 10_000;

/// Reads and writes 40 pages that are not there; its signal handler maps each of them, and returns to
/// the instruction that faulted.
const FAULTS: &str = "
    auipc t0, 0
    addi t0, t0, 96
    sd t0, -32(sp)
    addi t1, zero, 4
    sd t1, -24(sp)
    sd zero, -16(sp)
    addi a0, zero, 11
    addi a1, sp, -32
    addi a2, zero, 0
    addi a3, zero, 8
    addi a7, zero, 134
    ecall
    addi s0, zero, 3
    slli s0, s0, 32
    addi s2, zero, 20
    lui s3, 1
    page:
    ld t2, 8(s0)
    add s0, s0, s3
    sd s2, 16(s0)
    add s0, s0, s3
    addi s2, s2, -1
    bgtz s2, page
    j finish
    nop
    handler:
    mv a0, s0
    lui a1, 1
    addi a2, zero, 3
    addi a3, zero, 50
    addi a4, zero, -1
    addi a5, zero, 0
    addi a7, zero, 222
    ecall
    ret
    finish:
    addi a0, zero, 5
    addi a7, zero, 93
    ecall
";

/// A fault in the middle of a replacement sequence interrupts it at `PC:DISEPC`: after the signal
/// handler it goes on there, and the reference is not recorded a second time.
#[test]
fn a_fault_inside_a_sequence_goes_on_there() {
    let lab = || assembled(FAULTS, &captured(&["faults"]));
    let probe =
        GridProbe::with_memory(&[SamplePoint::EXHAUSTIVE], None).unwrap_or_else(|e| panic!("{e}"));
    let ran = lab().watched_by(probe).limit(ENOUGH).run().expect("a run");
    assert_eq!(ran.stop, Stop::Exit(5));
    let expected = ran.probe.finish();
    // Each page once, and three writes at the start. (A reference is recorded in front of its
    // instruction: one of the signal handler's own would come behind that of the fault.)
    assert_eq!(expected.memory_references, Some(40 + 3));
    for kind in [ProfileKind::DataStream, ProfileKind::Method] {
        let collector = collector(kind, SamplePoint::EXHAUSTIVE, true);
        let functional = lab().edited_by(&collector).limit(ENOUGH).run();
        let functional = functional.unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(functional.stop, Stop::Exit(5));
        let collected = collector
            .read(&functional.process)
            .unwrap_or_else(|e| panic!("{e}"));
        assert_equal(
            &format!("{kind} on the functional machine"),
            &collected,
            &expected.points[0],
        );

        for of in KINDS {
            let what = format!("{kind} on {of:?}");
            let mut core = core(lab(), of, &collector);
            assert_eq!(core.run(ENOUGH), Stop::Exit(5));
            core.drain_to_boundary();
            let collected = collector
                .read(core.process())
                .unwrap_or_else(|e| panic!("{e}"));
            assert_equal(&what, &collected, &expected.points[0]);
        }
    }
}

/// Without repair the counters keep what wrong paths did to them: bursts begin elsewhere, and the
/// profile is another one. The program is none the wiser.
#[test]
fn wrong_paths_pollute_counters_that_are_not_repaired() {
    let at = point(1, 100);
    let limit = 300_000;
    let subjects: Vec<Subject> = hps_workloads::all()
        .iter()
        .map(|w| (w, Isa::Riscv64))
        .collect();
    let is_polluted = in_parallel(&subjects, |&subject| {
        let w = subject.0;
        let collector = collector(ProfileKind::Method, at, false);
        let mut core = core(small(subject), CoreKind::Cycle, &collector);
        assert_eq!(core.run(limit), Stop::Limit);
        core.drain_to_boundary();
        let collected = collector
            .read(core.process())
            .unwrap_or_else(|e| panic!("{e}"));
        let (same, samples) = equals(&collected, &grids(subject, &[at], &[limit])[0].points[0]);
        assert!(samples > 0, "{}", w.name);
        !same
    });
    let polluted: Vec<&str> = hps_workloads::all()
        .iter()
        .zip(is_polluted)
        .filter(|(_, is)| *is)
        .map(|(w, _)| w.name)
        .collect();
    assert!(
        polluted.contains(&"chess"),
        "wrong paths left no mark in chess, only in {polluted:?}"
    );
    assert!(polluted.len() >= 5, "{polluted:?}");

    let collector = collector(ProfileKind::Method, at, false);
    let chess = small((find("chess"), Isa::Riscv64));
    let mut core = core(chess, CoreKind::Cycle, &collector);
    let run = outcome_of_core(&mut core);
    assert_eq!(
        (run.code, run.stdout.as_slice()),
        (0, find("chess").expected_small.as_bytes())
    );
}
