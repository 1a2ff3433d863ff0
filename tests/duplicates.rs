//! A duplicated machine goes on as the one that it was made of, and a run that begins as a duplicate
//! of a sparser one is the run from the beginning, to the cycle.

use crate::guest::{
    Subject, find, in_parallel, machine, mostly_riscv, outcome_of_core, small, title,
};
use hps_dise::DiseEngine;
use hps_isa::memory::PAGE_SIZE;
use hps_isa::probe::NoProbe;
use hps_lab::Core;
use hps_pipeline::config::MachineConfig;
use hps_pipeline::core::CoreKind;
use hps_productions::{Collector, CollectorOptions, SamplePoint};
use hps_profile::ProfileKind;
use hps_sim_core::machine::{Machine, Stop};
use hps_system::image::Isa;
use hps_system::os::{DuplicateError, Output, Stdin};
use hps_system::process::{Process, ProcessConfig};

fn collector(kind: ProfileKind, point: SamplePoint) -> Collector {
    let options = CollectorOptions {
        streams: None,
        ..CollectorOptions::default()
    };
    Collector::new(kind, point, &options).unwrap_or_else(|e| panic!("{e}"))
}

/// A core under a profiler.
type Profiled = Core<DiseEngine, NoProbe>;

const KINDS: [CoreKind; 2] = [CoreKind::Cycle, CoreKind::Instruction];

fn profiled(
    kind: CoreKind,
    subject: Subject,
    collector: &Collector,
    machine: &MachineConfig,
) -> Profiled {
    let lab = small(subject).on_machine(machine).core(kind);
    let core = lab.edited_by(collector).open();
    core.unwrap_or_else(|e| panic!("{e}"))
}

/// One collector goes on where another one has been.
fn take_over(by: &Collector, of: &Collector, core: &mut Profiled) -> bool {
    let (process, editor) = core.parts_mut();
    by.take_over(of, &mut process.thread.hart, editor)
}

/// Every number that a core counts.
fn numbers(core: &Profiled) -> String {
    format!(
        "{:?} {:?} {:?} {:?} {:?}",
        core.stats(),
        core.cpi(),
        core.memory_stats(),
        core.editor().counters(),
        core.editor().stats()
    )
}

/// Everything that the program can see.
fn assert_same_memory(a: &Process, b: &Process, what: &str) {
    assert_eq!(a.thread.hart, b.thread.hart, "{what}");
    let ranges: Vec<_> = a.mem.mapped_ranges().collect();
    assert_eq!(ranges, b.mem.mapped_ranges().collect::<Vec<_>>(), "{what}");
    let (mut x, mut y) = ([0; PAGE_SIZE as usize], [0; PAGE_SIZE as usize]);
    for page in ranges
        .into_iter()
        .flat_map(|r| r.step_by(PAGE_SIZE as usize))
    {
        assert_eq!(a.mem.permissions(page), b.mem.permissions(page), "{what}");
        let read = (
            a.mem.read_bytes(page, &mut x),
            b.mem.read_bytes(page, &mut y),
        );
        assert_eq!(read.0, read.1, "{what}: {page:#x}");
        assert!(x == y, "{what}: page {page:#x}");
    }
}

#[test]
fn both_go_on_as_one_would_alone() {
    let machines = ["hps-4wide", "tiny-2wide", "wide-8"]
        .map(|name| MachineConfig::preset(name).unwrap_or_else(|e| panic!("{e}")));
    let numbered: Vec<_> = mostly_riscv().into_iter().enumerate().collect();
    let runs: Vec<_> = numbered
        .into_iter()
        .flat_map(|run| KINDS.map(|kind| (run, kind)))
        .collect();
    in_parallel(&runs, |&((number, subject), kind)| {
        let name = format!("{} on {kind:?}", title(subject));
        let machine = &machines[number % 3];
        let collector = collector(
            ProfileKind::ALL[number % 3],
            SamplePoint::from_frequency(10, 20).unwrap_or_else(|e| panic!("{e}")),
        );
        let mut straight = profiled(kind, subject, &collector, machine);
        let mut divided = profiled(kind, subject, &collector, machine);
        // In the middle of a cycle, of bursts, and of handlers.
        for part in [30_001, 7, 50_002] {
            assert_eq!(straight.run(part), Stop::Limit);
            assert_eq!(divided.run(part), Stop::Limit);
            let mut copy = divided.duplicate().unwrap_or_else(|e| panic!("{e}"));
            assert_eq!(numbers(&copy), numbers(&divided), "{name}");
            copy.run(1000);
            // One that ran ahead leaves no trace in the other. Once it is the one that goes on.
            if part == 7 {
                assert_eq!(straight.run(1000), Stop::Limit);
                divided = copy;
            }
        }
        assert_eq!(straight.run(100_000), Stop::Limit);
        assert_eq!(divided.run(100_000), Stop::Limit);
        assert_eq!(numbers(&straight), numbers(&divided), "{name}");
        assert_same_memory(straight.process(), divided.process(), &name);
    });
}

#[test]
fn a_run_taken_over_is_the_run_from_the_beginning() {
    let all: Vec<_> = hps_workloads::all()
        .iter()
        .flat_map(|w| ProfileKind::ALL.map(|kind| (w, kind)))
        .flat_map(|(w, kind)| KINDS.map(|core| (w, kind, core)))
        .collect();
    let is_sampled = in_parallel(&all, |&(w, kind, core)| {
        let subject = (w, Isa::Riscv64);
        let what = format!("{}: {kind} on {core:?}", w.name);
        let machine = machine();
        let (sparse, dense) = (
            SamplePoint::new(100, 1_000_000),
            SamplePoint::new(100, 7000),
        );
        let (sparse, dense) = (sparse.expect("a point"), dense.expect("a point"));
        let ahead_of = collector(kind, sparse);
        let mut ahead = profiled(core, subject, &ahead_of, &machine);
        while dense.sparsity - (sparse.sparsity - ahead_of.events_left(ahead.editor())) > 1500 {
            assert_eq!(ahead.run(1000), Stop::Limit);
        }
        let mut begun = ahead.duplicate().unwrap_or_else(|e| panic!("{e}"));
        let by = collector(kind, dense);
        assert!(take_over(&by, &ahead_of, &mut begun));

        let straight_by = collector(kind, dense);
        let mut straight = profiled(core, subject, &straight_by, &machine);
        assert_eq!(
            straight.run(begun.stats().commit_program_instructions),
            Stop::Limit
        );
        for _ in 0..2 {
            assert_eq!(numbers(&begun), numbers(&straight), "{what}");
            assert_eq!(begun.run(120_000), Stop::Limit);
            assert_eq!(straight.run(120_000), Stop::Limit);
        }
        begun.drain_to_boundary();
        straight.drain_to_boundary();
        assert_eq!(numbers(&begun), numbers(&straight), "{what}");
        assert_same_memory(begun.process(), straight.process(), &what);
        let expansions = begun.editor().stats().expansion_events;
        let (a, b) = (
            by.read(begun.process()),
            straight_by.read(straight.process()),
        );
        assert_eq!(format!("{a:?}"), format!("{b:?}"), "{what}");

        // Now that it has sampled, nobody can take it over.
        let late = collector(kind, SamplePoint::new(100, 6000).expect("a point"));
        assert!(!take_over(&late, &by, &mut begun));
        // Nor the run ahead by one with another burst length, or another profile.
        for (kind, burst) in [
            (kind, 10),
            (
                ProfileKind::ALL[usize::from(kind == ProfileKind::ALL[0])],
                100,
            ),
        ] {
            let other = collector(kind, SamplePoint::new(burst, 20_000).expect("a point"));
            assert!(!take_over(&other, &ahead_of, &mut ahead));
        }
        expansions > 0
    });
    // A program may call nothing for a while.
    let sampled = is_sampled.iter().filter(|&&is| is).count();
    assert!(sampled >= 50, "only {sampled} of {} sampled", all.len());
}

#[test]
fn a_duplicate_ends_like_its_original() {
    let lab = small((find("chess"), Isa::Riscv64));
    let core = lab.on_machine(&machine()).open();
    let mut core = core.unwrap_or_else(|e| panic!("{e}"));
    core.run(1_000_000);
    let mut copy = core.duplicate().unwrap_or_else(|e| panic!("{e}"));
    let (first, second) = (outcome_of_core(&mut core), outcome_of_core(&mut copy));
    assert_eq!(first, second);
    assert_eq!(first.stdout, find("chess").expected_small.as_bytes());
}

/// Reads four bytes of `/f`, counts for a while, and reads four more; the exit code is their sum.
const READER: &str = "
    addi t0, zero, 47
    sb t0, -16(sp)
    addi t0, zero, 102
    sb t0, -15(sp)
    sb zero, -14(sp)
    addi a0, zero, -100
    addi a1, sp, -16
    addi a2, zero, 0
    addi a3, zero, 0
    addi a7, zero, 56
    ecall
    mv s0, a0
    addi a1, sp, -32
    addi a2, zero, 4
    addi a7, zero, 63
    ecall
    lui s1, 1
    again:
    addi s1, s1, -1
    bgtz s1, again
    mv a0, s0
    addi a1, sp, -32
    addi a2, zero, 4
    addi a7, zero, 63
    ecall
    lbu a0, -32(sp)
    lbu t0, -31(sp)
    add a0, a0, t0
    lbu t0, -30(sp)
    add a0, a0, t0
    lbu t0, -29(sp)
    add a0, a0, t0
    addi a7, zero, 93
    ecall
";

#[test]
fn open_files_are_read_on_by_both() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("f"), [9, 9, 9, 9, 1, 2, 4, 8]).expect("a file");
    let config = ProcessConfig {
        root: Some(folder.path().to_path_buf()),
        ..crate::guest::captured(&["reader"])
    };
    let lab = crate::guest::assembled(READER, &config);
    let mut first = lab.open().unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(first.run(&mut NoProbe, 1000), Stop::Limit);
    let copy = first.process.duplicate().unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(first.run_to_end(), Stop::Exit(15));
    assert_eq!(Machine::new(copy).run_to_end(), Stop::Exit(15));
}

#[test]
fn what_both_would_share_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let refused = |config: ProcessConfig| {
        let lab = small((find("bwt"), Isa::Riscv64)).configured(config);
        let mut process = lab.subject().start().unwrap_or_else(|e| panic!("{e}"));
        process.duplicate().err()
    };
    assert_eq!(refused(ProcessConfig::default()), None);
    for config in [
        ProcessConfig {
            stdout: Output::Inherit,
            ..ProcessConfig::default()
        },
        ProcessConfig {
            stdin: Stdin::Inherit,
            ..ProcessConfig::default()
        },
    ] {
        assert_eq!(refused(config), Some(DuplicateError::Stream));
    }
    let writable = ProcessConfig {
        root: Some(folder.path().to_path_buf()),
        writable: true,
        ..ProcessConfig::default()
    };
    assert_eq!(refused(writable), Some(DuplicateError::Writable));
}
