//! Schemes on the pipeline: the profiles of the functional machine, and what they cost.

use crate::common::*;
use hps_dise::{DiseConfig, DiseEngine, LoadOptions, ProductionSet};
use hps_isa::isa::Isa;
use hps_isa::memory::{Perm, page_align_up};
use hps_isa::probe::NoProbe;
use hps_pipeline::config::MachineConfig;
use hps_pipeline::core::Chip;
use hps_productions::files::HOT_CALL_PAIR_HANDLER;
use hps_productions::random::{RandomSchedule, ScheduleProbe};
use hps_productions::{
    CollectedProfile, Collector, CollectorOptions, PointProfiles, SamplePoint, Scheme,
};
use hps_profile::ProfileKind;
use hps_sim_core::machine::{Machine, Stop};
use hps_system::process::Process;

fn machine() -> MachineConfig {
    MachineConfig::preset("hps-4wide").unwrap()
}

fn options() -> CollectorOptions {
    CollectorOptions {
        buffer_entries: 37,
        seed: 3,
        ..CollectorOptions::default()
    }
}

/// A core that runs with a collector.
fn core(of: &Collector, mut process: Process) -> Chip<DiseEngine> {
    let engine = of.install(&mut process).unwrap();
    Chip::with(&machine(), process, engine, NoProbe)
}

/// Cycles of a whole run of [`mixed`].
fn cycles(scheme: Scheme, kinds: &[ProfileKind], point: SamplePoint, isa: Isa) -> u64 {
    let of = Collector::of(scheme, kinds, point, &options()).unwrap();
    let mut core = core(&of, assembly(isa, mixed(isa)));
    assert_eq!(core.run(u64::MAX), Stop::Exit(7));
    core.stats().cycles
}

fn reference(scheme: Scheme, point: SamplePoint, isa: Isa) -> PointProfiles {
    let fresh = assembly(isa, mixed(isa));
    if scheme != Scheme::Randomized {
        return grid(fresh, &[point], u64::MAX).points.remove(0);
    }
    let schedule = RandomSchedule::new(point, options().seed);
    let streams = options().streams;
    let mut probe = ScheduleProbe::new(schedule, point, streams.as_ref()).unwrap();
    Machine::new(fresh).run(&mut probe, u64::MAX);
    probe.finish()
}

#[test]
fn every_scheme_collects_exactly_on_the_pipeline() {
    for isa in Isa::ALL {
        let mut alone = Chip::new(&machine(), assembly(isa, mixed(isa)));
        assert_eq!(alone.run(u64::MAX), Stop::Exit(7));
        for (scheme, point) in Scheme::ALL.into_iter().flat_map(|scheme| {
            points(&[(1, 0), (2, 3), (7, 60)])
                .into_iter()
                .map(move |p| (scheme, p))
        }) {
            let expected = reference(scheme, point, isa);
            for kinds in [&KINDS[..1], &KINDS[1..2], &KINDS[2..], &KINDS[..]] {
                let of = Collector::of(scheme, kinds, point, &options()).unwrap();
                let mut core = core(&of, assembly(isa, mixed(isa)));
                assert_eq!(core.run(u64::MAX), Stop::Exit(7));
                for profile in of.read_all(core.process()).unwrap() {
                    assert!(assert_equal(profile, &expected) > 0);
                }
                assert_eq!(
                    core.stats().commit_program_instructions,
                    alone.stats().commit_program_instructions
                );
                assert_eq!(
                    program_registers(core.process()),
                    program_registers(alone.process()),
                    "{scheme} {kinds:?}"
                );
                assert_same_memory(&core.process().mem, &alone.process().mem);
            }
        }
    }
}

#[test]
fn only_hps_has_no_basic_overhead() {
    for isa in Isa::ALL {
        let mut alone = Chip::new(&machine(), assembly(isa, mixed(isa)));
        assert_eq!(alone.run(u64::MAX), Stop::Exit(7));
        let without = alone.stats().cycles;
        for point in points(&[(1, 0), (1, 99), (10, 90)]) {
            assert_eq!(cycles(Scheme::Hps, &[], point, isa), without, "{point}");
            let plain = cycles(Scheme::PlainDise, &[], point, isa);
            assert!(plain > without, "{point}: {plain} and {without} cycles");
        }
        // A point that is never sampled costs its checks all the same, and more where checks are frequent.
        let never = SamplePoint::new(1, 1 << 30).unwrap();
        let basic = cycles(Scheme::PlainDise, &[], never, isa);
        let checked = cycles(Scheme::PlainDise, &KINDS[2..], never, isa);
        assert!(checked > basic, "{checked} and {basic} cycles");
        assert_eq!(cycles(Scheme::Hps, &KINDS, never, isa), without);
        // Drawing costs little, but something.
        let point = SamplePoint::new(1, 9).unwrap();
        let randomized = cycles(Scheme::Randomized, &[], point, isa);
        assert!(randomized > without);
        assert!(randomized < cycles(Scheme::PlainDise, &[], point, isa));
    }
}

/// Memory in which handlers keep their data is absent for a wrong path, as it is without handlers.
#[test]
fn wrong_paths_see_no_memory_of_handlers() {
    for isa in Isa::ALL {
        // The branch is taken, which is not known before the products are; the load never commits.
        let text = match isa {
            Isa::Riscv64 => {
                "addi t0, zero, 1\nslli t0, t0, 33\naddi t1, zero, 3\nmul t1, t1, t1\nmul t1, t1, t1\n\
                 mul t1, t1, t1\nmul t1, t1, t1\nbnez t1, over\nld t2, 24(t0)\nsd t2, 32(t0)\nover:\n"
            }
            Isa::Alpha => {
                "lda t0, 1\nsll t0, 33, t0\nlda t1, 3\nmulq t1, t1, t1\nmulq t1, t1, t1\n\
                 mulq t1, t1, t1\nmulq t1, t1, t1\nbne t1, over\nldq t2, 24(t0)\nstq t2, 32(t0)\nover:\n"
            }
        };
        let process = || assembly(isa, &format!("{text}{}", exit(isa, 7)));
        let mut alone = Chip::new(&machine(), process());
        assert_eq!(alone.run(u64::MAX), Stop::Exit(7));
        // Something was fetched behind the branch.
        assert!(alone.stats().squash_instructions > 0);
        let never = SamplePoint::new(1, 1 << 30).unwrap();
        let of = Collector::of(Scheme::Hps, &KINDS, never, &options()).unwrap();
        let mut beside = core(&of, process());
        assert_eq!(beside.run(u64::MAX), Stop::Exit(7));
        assert_eq!(beside.stats().cycles, alone.stats().cycles);
        assert_eq!(beside.memory_stats(), alone.memory_stats());
        // Nor has the functional machine anything there for the program.
        let mut process = assembly(
            isa,
            &text
                .replace("bnez t1, over", "")
                .replace("bne t1, over", ""),
        );
        let engine = of.install(&mut process).unwrap();
        let stop = Machine::with_editor(process, engine).run(&mut NoProbe, 100);
        assert!(matches!(stop, Stop::Fault(_)), "{stop:?}");
    }
}

/// Why there is no scheme for exhaustive profiles: the framework of HPS costs nothing at their point.
#[test]
fn exhaustive_hps_costs_what_unconditional_productions_cost() {
    let text = "C1: T.OPCLASS == direct_call => { use CallPair_direct ; T.INSN }
                C2: T.OPCLASS == indirect_call => { use CallPair_indirect ; T.INSN }";
    for isa in Isa::ALL {
        let handler = (HOT_CALL_PAIR_HANDLER.text, "handler");
        let load = LoadOptions::default().for_isa(isa);
        let set = ProductionSet::parse_files(&[handler, (text, "all")], &load).unwrap();
        let mut process = assembly(isa, mixed(isa));
        for (base, code) in set.handler_image() {
            let size = page_align_up(code.len() as u64).unwrap();
            process.mem.map(base, size, Perm::RX).unwrap();
            process.mem.write_bytes_forced(base, &code).unwrap();
        }
        for area in set.data_areas() {
            let size = page_align_up(area.size).unwrap();
            process.mem.map(area.address, size, Perm::RW).unwrap();
        }
        set.init_registers(&mut process.thread.hart.r);
        let engine = set.engine(&DiseConfig::default()).unwrap();
        let mut unconditional = Chip::with(&machine(), process, engine, NoProbe);
        assert_eq!(unconditional.run(u64::MAX), Stop::Exit(7));
        let kinds = [ProfileKind::CallPair];
        let exhaustive = |scheme| cycles(scheme, &kinds, SamplePoint::EXHAUSTIVE, isa);
        assert_eq!(exhaustive(Scheme::Hps), unconditional.stats().cycles);
        assert!(exhaustive(Scheme::PlainDise) > unconditional.stats().cycles);
    }
}

#[test]
fn a_change_has_the_same_effect_on_both_machines() {
    let [from, to] = [(2, 8), (5, 21)].map(|(b, s)| SamplePoint::new(b, s).unwrap());
    for isa in Isa::ALL {
        let mut totals = Vec::new();
        for scheme in Scheme::ALL {
            let of = Collector::of(scheme, &KINDS, from, &options()).unwrap();
            let mut functional = {
                let mut process = assembly(isa, mixed(isa));
                let engine = of.install(&mut process).unwrap();
                Machine::with_editor(process, engine)
            };
            functional.run(&mut NoProbe, 4321);
            of.set_point(&mut functional.process.thread.hart.r, to)
                .unwrap();
            finish(&mut functional, 7);
            let expected = of.read_all(&functional.process).unwrap();

            let of = Collector::of(scheme, &KINDS, from, &options()).unwrap();
            let mut core = core(&of, assembly(isa, mixed(isa)));
            assert_eq!(core.run(4321), Stop::Limit);
            core.drain_to_boundary();
            of.set_point(&mut core.process_mut().thread.hart.r, to)
                .unwrap();
            assert_eq!(core.run(u64::MAX), Stop::Exit(7));
            let found = of.read_all(core.process()).unwrap();
            assert_eq!(numbers(&found), numbers(&expected), "{scheme} on {isa}");
            totals.push(numbers(&found));
        }
        assert_eq!(totals[0], totals[1], "HPS and plain DISE on {isa}");
    }
}

/// Members with their counts, what was lost or the length of the trace, and the trace's digest.
type Numbers = (Vec<(u64, u64)>, u64, u64);

/// Numbers in profiles.
fn numbers(profiles: &[CollectedProfile]) -> Vec<Numbers> {
    let number = |profile: &CollectedProfile| match profile {
        CollectedProfile::Nothing => (Vec::new(), 0, 0),
        CollectedProfile::Method { addresses, lost } => (addresses.sorted(), *lost, 0),
        CollectedProfile::CallPair { call_pairs, lost } => {
            let pairs = call_pairs.iter();
            let mut pairs: Vec<_> = pairs.map(|(p, n)| (p.site ^ p.target << 20, n)).collect();
            pairs.sort_unstable();
            (pairs, *lost, 0)
        }
        CollectedProfile::DataStream(trace) => {
            (Vec::new(), trace.references(), trace.digest().value())
        }
    };
    profiles.iter().map(number).collect()
}
