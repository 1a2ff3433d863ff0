//! Collecting changes nothing in the program: not its output, registers or memory.

use crate::common::*;
use hps_dise::{DiseConfig, DiseEngine, LoadOptions};
use hps_isa::isa::Isa;
use hps_productions::files::{self, IDENTITY};
use hps_productions::{Collector, CollectorError, CollectorOptions, SamplePoint, Scheme};
use hps_profile::ProfileKind;
use hps_sim_core::machine::Machine;
use hps_system::process::Process;

/// Each profile alone, and all of them together, in every scheme.
fn schemes_and_kinds() -> Vec<(Scheme, Vec<ProfileKind>)> {
    let kinds = KINDS
        .map(|kind| vec![kind])
        .into_iter()
        .chain([KINDS.to_vec()]);
    let each = |kinds: Vec<_>| Scheme::ALL.map(|scheme| (scheme, kinds.clone()));
    kinds.flat_map(each).collect()
}

fn assert_untouched(plain: &Process, profiled: &Process) {
    assert_eq!(program_registers(plain), program_registers(profiled));
    assert_same_memory(&plain.mem, &profiled.mem);
    assert_eq!(plain.os.captured_stdout(), profiled.os.captured_stdout());
}

#[test]
fn a_whole_run_is_the_same_with_every_profile() {
    for isa in Isa::ALL {
        let mut plain = Machine::new(workload(isa, "ray"));
        finish(&mut plain, 0);
        let expected = hps_workloads::find("ray").unwrap().expected_small;
        assert_eq!(
            String::from_utf8_lossy(plain.process.os.captured_stdout()),
            expected
        );
        for scheme in Scheme::ALL {
            let kinds = KINDS;
            let point = SamplePoint::from_frequency(10, 100).unwrap();
            let options = CollectorOptions {
                streams: None,
                ..CollectorOptions::default()
            };
            let collector = Collector::of(scheme, &kinds, point, &options).unwrap();
            let mut process = workload(isa, "ray");
            let engine = collector.install(&mut process).unwrap();
            let mut machine = Machine::with_editor(process, engine);
            finish(&mut machine, 0);
            assert!(machine.retired.handler > 0);
            assert_eq!(
                machine.retired.program, plain.retired.program,
                "{scheme} {kinds:?}"
            );
            assert_untouched(&plain.process, &machine.process);
        }
    }
}

#[test]
fn every_register_survives_every_handler() {
    for isa in Isa::ALL {
        let mut plain = Machine::new(assembly(isa, mixed(isa)));
        finish(&mut plain, 7);
        for ((scheme, kinds), sparsity) in schemes_and_kinds()
            .into_iter()
            .flat_map(|which| [(which.clone(), 0), (which, 3)])
        {
            // The smallest tables: every path through the handlers is taken.
            let options = CollectorOptions {
                method_slots: 1,
                pair_slots: 1,
                buffer_entries: 1,
                ..CollectorOptions::default()
            };
            let point = SamplePoint::new(2, sparsity).unwrap();
            let collector = Collector::of(scheme, &kinds, point, &options).unwrap();
            let mut process = assembly(isa, mixed(isa));
            let engine = collector.install(&mut process).unwrap();
            let mut machine = Machine::with_editor(process, engine);
            finish(&mut machine, 7);
            assert_eq!(machine.retired.program, plain.retired.program);
            assert_untouched(&plain.process, &machine.process);
        }
    }
}

#[test]
fn the_identity_production_changes_nothing() {
    for isa in Isa::ALL {
        let set = files::load(&[IDENTITY], &LoadOptions::default().for_isa(isa)).unwrap();
        for (fresh, code) in [
            ((|isa| assembly(isa, mixed(isa))) as fn(Isa) -> Process, 7),
            (|isa| workload(isa, "lz"), 0),
        ] {
            let mut plain = Machine::new(fresh(isa));
            finish(&mut plain, code);
            let mut machine = Machine::with_editor(
                fresh(isa),
                DiseEngine::new(&set, &DiseConfig::default()).unwrap(),
            );
            finish(&mut machine, code);
            let stats = machine.editor.stats();
            assert!(stats.expansion_events > 1000);
            assert_eq!(stats.inserted_instructions, 0);
            assert_eq!(machine.retired, plain.retired);
            assert_untouched(&plain.process, &machine.process);
        }
    }
}

#[test]
fn a_second_installation_is_refused() {
    for isa in Isa::ALL {
        let point = SamplePoint::from_frequency(1, 100).unwrap();
        let collector =
            Collector::new(ProfileKind::Method, point, &CollectorOptions::default()).unwrap();
        let mut process = assembly(isa, mixed(isa));
        assert!(matches!(
            collector.read(&process),
            Err(CollectorError::NotInstalled { .. })
        ));
        collector.install(&mut process).unwrap();
        assert!(matches!(
            collector.install(&mut process),
            Err(CollectorError::Map { .. })
        ));
    }
}

#[test]
fn impossible_options_are_refused_by_name() {
    let refused = |options: CollectorOptions| {
        Collector::new(ProfileKind::Method, SamplePoint::EXHAUSTIVE, &options)
            .unwrap_err()
            .to_string()
    };
    let message = refused(CollectorOptions {
        method_slots: 100,
        ..CollectorOptions::default()
    });
    assert_eq!(
        message,
        "method_slots is 100, but must be a power of two up to 4194304"
    );
    assert!(
        refused(CollectorOptions {
            buffer_entries: 0,
            ..CollectorOptions::default()
        })
        .contains("buffer_entries")
    );
    let dise = DiseConfig {
        counters: 2,
        ..DiseConfig::default()
    };
    assert!(
        refused(CollectorOptions {
            dise,
            ..CollectorOptions::default()
        })
        .contains("counter")
    );
    let point = SamplePoint {
        burst: 0,
        sparsity: 9,
    };
    assert!(Collector::framework_only(point, &DiseConfig::default()).is_err());
}
