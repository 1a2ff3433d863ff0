//! Software bursty tracing in the pipeline: the same as in the functional machine, and not for free.

use crate::common::*;
use hps_isa::isa::Isa;
use hps_isa::probe::NoProbe;
use hps_pipeline::config::{MachineConfig, Predictor};
use hps_pipeline::core::Chip;
use hps_productions::{
    Checks, CollectedProfile, Collector, SamplePoint, SoftwareCollector, SoftwareEditor,
    SoftwareOptions,
};
use hps_profile::ProfileKind;
use hps_sim_core::machine::{Machine, RetiredCounts};
use hps_system::process::Process;

/// Instructions of the program that are run: enough for some bursts.
const LIMIT: u64 = 60_000;
/// ... and enough for costs to show above what another layout changes by itself.
const LONGER: u64 = 300_000;

fn machine() -> MachineConfig {
    MachineConfig::preset("hps-4wide").unwrap()
}

fn core(
    config: &MachineConfig,
    collector: &SoftwareCollector,
    mut process: Process,
) -> Chip<SoftwareEditor> {
    let editor = collector.install(&mut process).unwrap();
    Chip::with(config, process, editor, NoProbe)
}

fn assert_same_profile(a: CollectedProfile, b: CollectedProfile) {
    match (a, b) {
        (CollectedProfile::Nothing, CollectedProfile::Nothing) => {}
        (
            CollectedProfile::Method { addresses: a, .. },
            CollectedProfile::Method { addresses: b, .. },
        ) => assert_eq!(a, b),
        (
            CollectedProfile::CallPair { call_pairs: a, .. },
            CollectedProfile::CallPair { call_pairs: b, .. },
        ) => assert_eq!(a, b),
        (CollectedProfile::DataStream(a), CollectedProfile::DataStream(b)) => {
            assert_eq!((a.references(), a.digest()), (b.references(), b.digest()));
        }
        (a, b) => panic!("{a:?} and {b:?}"),
    }
}

/// The core does what the functional machine does, instruction for instruction.
fn assert_both_machines_agree(
    config: &MachineConfig,
    collector: &SoftwareCollector,
    fresh: &dyn Fn() -> Process,
    limit: u64,
) {
    let mut process = fresh();
    let editor = collector.install(&mut process).unwrap();
    let mut functional = Machine::with_editor(process, editor);
    let stop = functional.run(&mut NoProbe, limit);
    let expected = collector.read(&functional.process).unwrap();

    let mut core = core(config, collector, fresh());
    assert_eq!(core.run(limit), stop);
    let retired = RetiredCounts {
        program: core.stats().commit_program_instructions,
        inserted: core.stats().commit_inserted_instructions,
        handler: core.stats().commit_handler_instructions,
    };
    assert_eq!(retired, functional.retired);
    assert_eq!(
        core.process().os.captured_stdout(),
        functional.process.os.captured_stdout()
    );
    assert_same_profile(collector.read(core.process()).unwrap(), expected);
    core.drain_to_boundary();
    assert_same_memory(&core.process().mem, &functional.process.mem);
    if limit == u64::MAX {
        return;
    }
    assert_eq!(
        program_registers(core.process()),
        program_registers(&functional.process)
    );
}

#[test]
fn the_pipeline_does_what_the_functional_machine_does() {
    let point = SamplePoint::new(5, 45).unwrap();
    for isa in Isa::ALL {
        for (name, kind, checks) in [
            ("chess", Some(ProfileKind::Method), Checks::Entries),
            ("interp", Some(ProfileKind::CallPair), Checks::CallSites),
            ("ray", Some(ProfileKind::DataStream), Checks::Entries),
            ("minicc", None, Checks::Entries),
            ("lz", None, Checks::None),
        ] {
            let options = SoftwareOptions {
                checks,
                streams: None,
                ..SoftwareOptions::default()
            };
            let collector = SoftwareCollector::new(kind, point, &options).unwrap();
            assert_both_machines_agree(&machine(), &collector, &|| workload(isa, name), LIMIT);
        }
    }
}

#[test]
fn small_programs_do_the_same_to_their_ends_on_every_machine() {
    let mut perfect = machine();
    perfect.branch.predictor = Predictor::Perfect;
    let in_order = MachineConfig::preset("ev5").unwrap();
    for isa in Isa::ALL {
        for config in [&machine(), &perfect, &in_order] {
            for kind in [ProfileKind::Method, ProfileKind::DataStream] {
                let options = SoftwareOptions {
                    checks: Checks::CallSites,
                    streams: None,
                    buffer_entries: 16,
                    ..SoftwareOptions::default()
                };
                let point = SamplePoint::new(3, 4).unwrap();
                let collector = SoftwareCollector::new(Some(kind), point, &options).unwrap();
                let fresh = || assembly(isa, mixed(isa));
                assert_both_machines_agree(config, &collector, &fresh, u64::MAX);
            }
        }
    }
}

#[test]
fn checks_cost_cycles_and_counting_in_decode_does_not() {
    let point = SamplePoint::new(1, 1_000_000).unwrap();
    for isa in Isa::ALL {
        let fresh = || workload(isa, "chess");
        let mut plain = Chip::new(&machine(), fresh());
        plain.run(LONGER);

        let hps = Collector::framework_only(point, &Default::default()).unwrap();
        let mut process = fresh();
        let engine = hps.install(&mut process).unwrap();
        let mut with_hps = Chip::with(&machine(), process, engine, NoProbe);
        with_hps.run(LONGER);
        assert_eq!(with_hps.stats().cycles, plain.stats().cycles);

        let cycles = |options: &SoftwareOptions| {
            let collector = SoftwareCollector::new(None, point, options).unwrap();
            let mut core = core(&machine(), &collector, fresh());
            core.run(LONGER);
            assert_eq!(
                core.stats().commit_program_instructions,
                plain.stats().commit_program_instructions
            );
            core.stats().cycles
        };
        // A copy into which nothing is inserted lies in cache lines as the original does; what is left
        // is that predictors see other addresses.
        let copied = cycles(&SoftwareOptions::layout_only());
        let difference = copied.abs_diff(plain.stats().cycles);
        assert!(difference * 100 <= plain.stats().cycles, "{isa}: {copied}");
        let reduced = SoftwareOptions {
            reduced_checks: true,
            ..SoftwareOptions::default()
        };
        let (all, reduced) = (cycles(&SoftwareOptions::default()), cycles(&reduced));
        assert!(
            plain.stats().cycles < reduced && reduced < all,
            "{isa}: {} cycles, {reduced} with few checks, {all} with all",
            plain.stats().cycles
        );
    }
}
