//! Software bursty tracing: the program does the same, and the profiles are HPS's where the events are.

use std::collections::HashSet;

use crate::common::*;
use hps_isa::alpha::registers::{GP, PV};
use hps_isa::inst::{Inst, Op, OpClass};
use hps_isa::isa::Isa;
use hps_isa::probe::{NoProbe, Probe, Retired};
use hps_productions::{
    AddressCounts, Checks, CollectedProfile, Collector, CollectorOptions, GridProbe, PointProfiles,
    SamplePoint, SoftwareCollector, SoftwareEditor, SoftwareError, SoftwareOptions,
};
use hps_profile::{ProfileKind, StreamConfig};
use hps_sim_core::machine::Machine;
use hps_system::process::Process;

const KINDS: [ProfileKind; 3] = [
    ProfileKind::Method,
    ProfileKind::CallPair,
    ProfileKind::DataStream,
];

fn options(checks: Checks) -> SoftwareOptions {
    SoftwareOptions {
        checks,
        ..SoftwareOptions::default()
    }
}

fn collector(
    kind: Option<ProfileKind>,
    point: SamplePoint,
    options: &SoftwareOptions,
) -> SoftwareCollector {
    SoftwareCollector::new(kind, point, options).unwrap_or_else(|e| panic!("{e}"))
}

fn installed(collector: &SoftwareCollector, mut process: Process) -> Machine<SoftwareEditor> {
    let editor = collector
        .install(&mut process)
        .unwrap_or_else(|e| panic!("{e}"));
    Machine::with_editor(process, editor)
}

/// Everything that the program leaves behind is what a plain run leaves.
fn assert_same_end(plain: &Machine, machine: &Machine<SoftwareEditor>) {
    assert_eq!(machine.retired.program, plain.retired.program);
    assert_eq!(
        program_registers(&machine.process),
        program_registers(&plain.process)
    );
    assert_same_memory(&plain.process.mem, &machine.process.mem);
    assert_eq!(
        machine.process.os.captured_stdout(),
        plain.process.os.captured_stdout()
    );
}

#[test]
fn programs_do_the_same() {
    let point = SamplePoint::new(10, 90).unwrap();
    for isa in Isa::ALL {
        for (name, kind, reduced_checks) in [
            ("interp", Some(ProfileKind::DataStream), false),
            ("minicc", Some(ProfileKind::CallPair), true),
            ("ray", Some(ProfileKind::Method), false),
            ("objstore", None, true),
        ] {
            let mut plain = Machine::new(workload(isa, name));
            finish(&mut plain, 0);
            for checks in [Checks::Entries, Checks::CallSites] {
                let options = SoftwareOptions {
                    reduced_checks,
                    streams: None,
                    ..options(checks)
                };
                let collector = collector(kind, point, &options);
                let mut machine = installed(&collector, workload(isa, name));
                finish(&mut machine, 0);
                assert_same_end(&plain, &machine);
                assert!(machine.retired.inserted > 0);
                assert_eq!(machine.retired.handler > 0, kind.is_some());
            }
        }
    }
}

#[test]
fn every_register_survives_every_check_and_handler() {
    for isa in Isa::ALL {
        let mut plain = Machine::new(assembly(isa, mixed(isa)));
        finish(&mut plain, 7);
        for kind in KINDS.map(Some).into_iter().chain([None]) {
            for checks in [Checks::None, Checks::Entries, Checks::CallSites] {
                for point in [SamplePoint::EXHAUSTIVE, SamplePoint::new(3, 4).unwrap()] {
                    // The smallest tables: every path through the handlers is taken.
                    let options = SoftwareOptions {
                        method_slots: 1,
                        pair_slots: 1,
                        buffer_entries: 1,
                        ..options(checks)
                    };
                    let collector = collector(kind, point, &options);
                    let mut machine = installed(&collector, assembly(isa, mixed(isa)));
                    finish(&mut machine, 7);
                    assert_same_end(&plain, &machine);
                }
            }
        }
    }
}

/// Compares a collected profile with that of the functional pass; how much it holds.
fn assert_equal(collected: CollectedProfile, expected: &PointProfiles, title: &str) -> u64 {
    let point = expected.point;
    match collected {
        CollectedProfile::Nothing => panic!("{title}, {point}: nothing collected"),
        CollectedProfile::Method { addresses, lost } => {
            assert_eq!(lost, 0, "{title}, {point}");
            assert_eq!(addresses, expected.addresses, "{title}, {point}");
            addresses.total()
        }
        CollectedProfile::CallPair { call_pairs, lost } => {
            assert_eq!(lost, 0, "{title}, {point}");
            assert_eq!(call_pairs, expected.call_pairs, "{title}, {point}");
            call_pairs.total()
        }
        CollectedProfile::DataStream(recorder) => {
            let stream = expected.stream.clone().unwrap();
            let of = |r: &hps_productions::StreamRecorder| (r.references(), r.bursts(), r.digest());
            assert_eq!(of(&recorder), of(&stream), "{title}, {point}");
            recorder.references()
        }
    }
}

/// With HPS's events, every kind at every point is HPS's profile.
fn assert_profiles_are_hps_s(title: &str, fresh: &dyn Fn() -> Process, points: &[(u64, u64)]) {
    let points: Vec<SamplePoint> = points
        .iter()
        .map(|&(burst, sparsity)| SamplePoint::new(burst, sparsity).unwrap())
        .collect();
    let mut probe = GridProbe::with_memory(&points, None::<&StreamConfig>).unwrap();
    let mut plain = Machine::new(fresh());
    let stop = plain.run(&mut probe, u64::MAX);
    let expected = probe.finish();
    for expected in &expected.points {
        for kind in KINDS {
            let options = SoftwareOptions {
                streams: None,
                ..options(Checks::CallSites)
            };
            let collector = collector(Some(kind), expected.point, &options);
            let mut machine = installed(&collector, fresh());
            assert_eq!(machine.run_to_end(), stop);
            assert_eq!(machine.retired.program, plain.retired.program, "{title}");
            let collected = collector.read(&machine.process).unwrap();
            assert!(assert_equal(collected, expected, title) > 0, "{title}");
        }
    }
}

#[test]
fn profiles_are_those_of_hps_where_the_events_are() {
    for isa in Isa::ALL {
        assert_profiles_are_hps_s(
            &format!("assembly on {isa}"),
            &|| assembly(isa, mixed(isa)),
            &[(1, 0), (1, 1), (1, 9), (3, 4), (7, 0), (50, 13)],
        );
        for (name, points) in [
            ("chess", &[(1, 99), (50, 450)][..]),
            ("ray", &[(1, 0)]),
            ("interp", &[(10, 90)]),
        ] {
            let title = format!("{name} on {isa}");
            assert_profiles_are_hps_s(&title, &|| workload(isa, name), points);
        }
    }
}

/// Model of the counts of [`Checks::Entries`], from its definition and a plain run: entries that are reached otherwise
/// than by a back-edge, and back-edges.
struct EntryModel<'a> {
    entries: &'a HashSet<u64>,
    point: SamplePoint,
    events: u64,
    by_back_edge: bool,
    addresses: AddressCounts,
    references: u64,
}

impl Probe for EntryModel<'_> {
    const WANTS_RETIRED: bool = true;

    fn retired(&mut self, event: &Retired<'_>) {
        if self.entries.contains(&event.pc) && !self.by_back_edge {
            self.events += 1;
        }
        let inst = event.inst;
        let is_on = self.point.is_on(self.events);
        if is_on && inst.class.is_memory() {
            self.references += 1;
        }
        if is_on && inst.class.is_call() {
            self.addresses.add(event.target, 1);
        } else if is_on && inst.is_back_edge() {
            self.addresses.add(inst.direct_target(event.pc), 1);
        }
        self.events += u64::from(inst.is_back_edge());
        self.by_back_edge = inst.is_back_edge() && event.taken;
    }
}

/// Targets of direct calls.
struct Called(HashSet<u64>);

impl Probe for Called {
    const WANTS_CONTROL: bool = true;
    fn control(&mut self, _: u64, inst: &Inst, target: u64, _: bool) {
        if inst.class == OpClass::Call {
            self.0.insert(target);
        }
    }
}

/// Entries by their definition: functions and what calls lead to, but of two around an `ldgp` the second.
fn entries(fresh: &dyn Fn() -> Process) -> HashSet<u64> {
    let mut machine = Machine::new(fresh());
    let mut called = Called(HashSet::new());
    machine.run(&mut called, u64::MAX);
    let process = fresh();
    let functions = process.image.symbols.functions().iter().map(|f| f.addr);
    let all: HashSet<u64> = functions.chain(called.0).collect();
    if process.image.isa == Isa::Riscv64 {
        return all;
    }
    let decode = |addr| Isa::Alpha.decode(process.mem.fetch_four_bytes(addr).unwrap_or(0));
    let is_second_half = |addr: u64| {
        let (high, low) = (decode(addr), decode(addr + 4));
        (high.op, high.rd, high.rs1) == (Op::AlphaLdah, GP, PV)
            && (low.op, low.rd, low.rs1) == (Op::AlphaLda, GP, GP)
    };
    let has_second = |&addr: &u64| is_second_half(addr) && all.contains(&(addr + 8));
    all.iter().copied().filter(|a| !has_second(a)).collect()
}

#[test]
fn entries_are_counted_where_they_are_published() {
    for isa in Isa::ALL {
        for (name, burst, sparsity) in [("chess", 3, 20), ("minicc", 10, 90), ("ray", 1, 50)] {
            let fresh = || workload(isa, name);
            let entries = entries(&fresh);
            let point = SamplePoint::new(burst, sparsity).unwrap();
            let mut model = EntryModel {
                entries: &entries,
                point,
                events: 0,
                by_back_edge: false,
                addresses: AddressCounts::default(),
                references: 0,
            };
            Machine::new(fresh()).run(&mut model, u64::MAX);
            let run = |kind| {
                let options = SoftwareOptions {
                    streams: None,
                    ..options(Checks::Entries)
                };
                let collector = collector(Some(kind), point, &options);
                let mut machine = installed(&collector, fresh());
                finish(&mut machine, 0);
                collector.read(&machine.process).unwrap()
            };
            let title = format!("{name} on {isa}");
            match run(ProfileKind::Method) {
                CollectedProfile::Method { addresses, lost } => {
                    assert_eq!((addresses, lost), (model.addresses.clone(), 0), "{title}");
                }
                other => panic!("{other:?}"),
            }
            match run(ProfileKind::DataStream) {
                CollectedProfile::DataStream(r) => {
                    assert_eq!(r.references(), model.references, "{title}");
                }
                other => panic!("{other:?}"),
            }
        }
    }
}

/// A loop of 100 calls of `f`, which tail-calls `g`, below or above itself; both are called directly.
fn tail_calls(isa: Isa, forward: bool) -> String {
    let (f, g, jump) = match isa {
        Isa::Riscv64 => ("f:\nj g\n", "g:\nret\n", "j"),
        Isa::Alpha => ("f:\nbr g\n", "g:\nret\n", "br"),
    };
    let functions = if forward {
        format!("{f}{g}")
    } else {
        format!("{g}{f}")
    };
    // Whatever never runs makes `g` an entry.
    let never = format!("{jump} behind\n{}behind:\n", call(isa, "g"));
    never + &repeat(isa, 100, &call(isa, "f")) + &exit(isa, 0) + &functions
}

/// Methods sampled at a burst of 1 and a sparsity of 1, by HPS's events and by entries.
fn sampled(isa: Isa, forward: bool) -> [u64; 2] {
    [Checks::CallSites, Checks::Entries].map(|checks| {
        let point = SamplePoint::new(1, 1).unwrap();
        let collector = collector(Some(ProfileKind::Method), point, &options(checks));
        let mut machine = installed(&collector, assembly(isa, &tail_calls(isa, forward)));
        finish(&mut machine, 0);
        match collector.read(&machine.process).unwrap() {
            CollectedProfile::Method { addresses, .. } => addresses.total(),
            other => panic!("{other:?}"),
        }
    })
}

#[test]
fn forward_tail_calls_are_entries_and_no_calls() {
    for isa in Isa::ALL {
        // A round is a call and a back-edge: each second event is sampled.
        // With entries it is `f`, `g` and the back-edge: at the call two of the three are still to
        // come, so that the call of each second round is sampled, and the back-edge of the others.
        assert_eq!(sampled(isa, true), [100, 100]);
        // A backward one is a back-edge, which counts once for both. A round is three events.
        assert_eq!(sampled(isa, false), [150, 150]);
    }
}

#[test]
fn code_without_checks_stays_in_its_copy() {
    for isa in Isa::ALL {
        let mut plain = Machine::new(workload(isa, "lz"));
        finish(&mut plain, 0);
        let point = SamplePoint::new(1, 1).unwrap();
        let layout = SoftwareOptions::layout_only();
        let kind = Some(ProfileKind::Method);
        let mut machine = installed(&collector(kind, point, &layout), workload(isa, "lz"));
        finish(&mut machine, 0);
        assert_same_end(&plain, &machine);
        assert_eq!(machine.retired.handler, 0);
        assert_eq!(machine.editor.statistics().checks(), 0);
        // With a sparsity of 0 it is the instrumented copy: everything is collected.
        let collector = collector(kind, SamplePoint::EXHAUSTIVE, &layout);
        let mut machine = installed(&collector, workload(isa, "lz"));
        finish(&mut machine, 0);
        let mut probe = GridProbe::new(&[]).unwrap();
        Machine::new(workload(isa, "lz")).run(&mut probe, u64::MAX);
        let all = probe.finish().exhaustive;
        assert_equal(collector.read(&machine.process).unwrap(), &all, "lz");
    }
}

#[test]
fn reductions_take_checks_away() {
    for isa in Isa::ALL {
        let point = SamplePoint::new(10, 90).unwrap();
        let run = |reduced_checks| {
            let options = SoftwareOptions {
                reduced_checks,
                ..options(Checks::Entries)
            };
            let collector = collector(None, point, &options);
            let mut machine = installed(&collector, workload(isa, "chess"));
            finish(&mut machine, 0);
            (collector.statistics(), machine.retired.inserted)
        };
        let ((all, all_inserted), (reduced, reduced_inserted)) = (run(false), run(true));
        assert_eq!(all.boring_back_edges, 0);
        assert!(reduced.boring_back_edges > 0);
        assert_eq!(
            reduced.back_edge_checks + reduced.boring_back_edges,
            all.back_edge_checks
        );
        assert!(reduced.entry_checks < all.entry_checks, "{isa}");
        assert!(reduced_inserted < all_inserted);
        assert!(all.spilled_checks < all.checks());
    }
}

#[test]
fn a_run_can_be_stopped_and_read_in_the_middle() {
    for isa in Isa::ALL {
        let point = SamplePoint::new(3, 4).unwrap();
        let kind = ProfileKind::DataStream;
        let collector = collector(Some(kind), point, &options(Checks::CallSites));
        let mut machine = installed(&collector, assembly(isa, mixed(isa)));
        for limit in [1, 1000, 2500, u64::MAX] {
            machine.run(&mut NoProbe, limit - machine.retired.program.min(limit));
            let mut probe = GridProbe::with_memory(&[point], None).unwrap();
            Machine::new(assembly(isa, mixed(isa))).run(&mut probe, limit);
            let collected = collector.read(&machine.process).unwrap();
            assert_equal(collected, &probe.finish().points[0], "mixed");
        }
    }
}

#[test]
fn what_is_installed_is_not_installed_again() {
    for isa in Isa::ALL {
        let point = SamplePoint::new(1, 99).unwrap();
        for kind in [None, Some(ProfileKind::Method)] {
            let collector = collector(kind, point, &SoftwareOptions::default());
            let mut process = workload(isa, "lz");
            if kind.is_some() {
                assert!(matches!(
                    collector.read(&process),
                    Err(SoftwareError::NotInstalled { .. })
                ));
            }
            collector.install(&mut process).unwrap();
            assert!(collector.install(&mut process).is_err());
        }
    }
    let point = SamplePoint {
        burst: 0,
        sparsity: 1,
    };
    assert!(SoftwareCollector::new(None, point, &SoftwareOptions::default()).is_err());
}

/// A fault at address 0, whose handler goes on behind the instruction; signals that the program sends to
/// itself; a handler that is called like any function.
const SIGNALS_RISCV: &str = "
    addi s2, zero, 40
    auipc s3, 0
    addi s3, s3, 120
    sd s3, 0(s1)
    sd zero, 8(s1)
    sd zero, 16(s1)
    addi a0, zero, 11
    addi a1, s1, 0
    addi a2, zero, 0
    addi a3, zero, 8
    addi a7, zero, 134
    ecall
    addi a0, zero, 10
    addi a1, s1, 0
    addi a2, zero, 0
    addi a3, zero, 8
    addi a7, zero, 134
    ecall
    addi s4, zero, 0
round:
    ld t4, 0(zero)
    addi a7, zero, 172
    ecall
    addi a1, zero, 10
    addi a7, zero, 129
    ecall
    jal ra, leaf
    addi s2, s2, -1
    bgtz s2, round
    addi a0, s4, 0
    addi a7, zero, 93
    ecall
handler:
    ld t1, 512(s1)
    addi t2, zero, 3
inside:
    addi t2, t2, -1
    bnez t2, inside
    addi t2, zero, 11
    sd a0, 520(s1)
    bne a0, t2, sent
    ld t1, 176(a2)
    addi t1, t1, 4
    sd t1, 176(a2)
sent:
    ret
leaf:
    sd s2, 528(s1)
    ret
";

const SIGNALS_ALPHA: &str = "
    lda s2, 40
    br s3, here
here:
    lda s3, 128(s3)
    stq s3, 0(s1)
    lda t0, 64
    stq t0, 8(s1)
    stq zero, 16(s1)
    lda a0, 11
    lda a1, 0(s1)
    lda a2, 0
    lda a3, 8
    lda a4, 0
    lda v0, 352
    callsys
    lda a0, 30
    lda a1, 0(s1)
    lda a2, 0
    lda a3, 8
    lda a4, 0
    lda v0, 352
    callsys
round:
    ldq t4, 0(zero)
    lda v0, 20
    callsys
    mov v0, a0
    lda a1, 30
    lda v0, 37
    callsys
    bsr ra, leaf
    lda s2, -1(s2)
    bgt s2, round
    lda a0, 0
    lda v0, 1
    callsys
handler:
    ldq t1, 512(s1)
    lda t2, 3
inside:
    lda t2, -1(t2)
    bne t2, inside
    stq a0, 520(s1)
    cmpeq a0, 11, t2
    beq t2, sent
    ldq t1, 64(a2)
    lda t1, 4(t1)
    stq t1, 64(a2)
sent:
    ret
leaf:
    stq s2, 528(s1)
    ret
";

#[test]
fn signals_find_the_copy_that_runs() {
    // Segmentation faults and SIGUSR1. The frame keeps the program counter at 176 behind the third
    // argument on RISC-V, at 64 on Alpha.
    signals_with(&|| assembly(Isa::Riscv64, SIGNALS_RISCV));
    signals_with(&|| assembly(Isa::Alpha, SIGNALS_ALPHA));
}

fn signals_with(fresh: &dyn Fn() -> Process) {
    let mut plain = Machine::new(fresh());
    finish(&mut plain, 0);
    assert!(plain.retired.program > 40 * 20, "{:?}", plain.retired);
    // A reference that faults is recorded before it does, by both.
    for (burst, sparsity) in [(1, 0), (2, 3), (5, 5), (10, 97)] {
        let point = SamplePoint::new(burst, sparsity).unwrap();
        for kind in KINDS {
            let hps = Collector::new(kind, point, &CollectorOptions::default()).unwrap();
            let mut process = fresh();
            let engine = hps.install(&mut process).unwrap();
            let mut with_hps = Machine::with_editor(process, engine);
            finish(&mut with_hps, 0);
            let collector = collector(Some(kind), point, &options(Checks::CallSites));
            let mut machine = installed(&collector, fresh());
            finish(&mut machine, 0);
            assert_same_end(&plain, &machine);
            let expected = as_point(hps.read(&with_hps.process).unwrap(), point);
            let collected = collector.read(&machine.process).unwrap();
            assert!(assert_equal(collected, &expected, "signals") > 0);
        }
    }
}

/// A collected profile in the form of those of a functional pass.
fn as_point(collected: CollectedProfile, point: SamplePoint) -> PointProfiles {
    let mut profiles = GridProbe::new(&[point]).unwrap().finish().points.remove(0);
    match collected {
        CollectedProfile::Nothing => {}
        CollectedProfile::Method { addresses, .. } => profiles.addresses = addresses,
        CollectedProfile::CallPair { call_pairs, .. } => profiles.call_pairs = call_pairs,
        CollectedProfile::DataStream(recorder) => profiles.stream = Some(*recorder),
    }
    profiles
}
