//! When the framework samples: the corrected productions, the printed ones, and a change on the way.

use crate::common::*;
use hps_dise::{DiseConfig, DiseEngine, LoadOptions, ProductionSet};
use hps_isa::inst::reg;
use hps_isa::isa::Isa;
use hps_isa::probe::NoProbe;
use hps_productions::files::{
    self, FIGURE4_PREAMBLE, FIGURE4_PRINTED, FRAMEWORK, HOT_METHOD, ProductionFile,
};
use hps_productions::{
    CollectedProfile, Collector, CollectorError, CollectorOptions, SamplePoint, Scheme,
};
use hps_profile::ProfileKind;
use hps_sim_core::machine::Machine;

/// 100 calls one after the other, then the end. The `i`th call is the `i`th event.
fn calls(isa: Isa) -> String {
    call(isa, "leaf").repeat(100) + &exit(isa, 0) + "leaf:\nret\n"
}

/// A loop of 100 rounds with a call, a forward branch and a back-edge in each.
fn rounds(isa: Isa) -> String {
    let branch = match isa {
        Isa::Riscv64 => "bnez s2, ahead\nahead:\n",
        Isa::Alpha => "bne s2, ahead\nahead:\n",
    };
    let body = call(isa, "leaf") + branch;
    repeat(isa, 100, &body) + &exit(isa, 0) + "leaf:\nret\n"
}

/// Counts what is sampled among the program's calls and back-edges, with this framework.
fn sampled(
    isa: Isa,
    framework: &[ProductionFile],
    program: &str,
    burst: i64,
    sparsity: i64,
) -> u64 {
    let options = LoadOptions::with_params([("burst", burst), ("sparsity", sparsity)]).for_isa(isa);
    let observer = "
        Seen: (T.OPCLASS == proc_call || (T.OPCLASS == branch && T.Target <= T.PC)) && overflow_1 => { T.INSN }
    ";
    let files: Vec<(&str, &str)> = framework
        .iter()
        .map(|file| (file.text, file.name))
        .chain([(observer, "observer")])
        .collect();
    let set = ProductionSet::parse_files(&files, &options).unwrap_or_else(|e| panic!("{e}"));
    let mut process = assembly(isa, program);
    set.init_registers(&mut process.thread.hart.r);
    let mut engine = DiseEngine::new(&set, &DiseConfig::default()).unwrap();
    engine.reset(&process.thread.hart.r);
    let mut machine = Machine::with_editor(process, engine);
    finish(&mut machine, 0);
    machine.editor.stats().expansion_events
}

#[test]
fn the_corrected_framework_samples_what_was_asked_for() {
    for isa in Isa::ALL {
        for (burst, sparsity) in [(1, 9), (5, 5), (3, 7), (10, 0)] {
            let point = SamplePoint {
                burst: burst as u64,
                sparsity: sparsity as u64,
            };
            for (program, events) in [(calls(isa), 100), (rounds(isa), 200)] {
                let expected = (0..events)
                    .filter(|&completed| point.is_on(completed))
                    .count() as u64;
                assert_eq!(
                    sampled(isa, &[FRAMEWORK], &program, burst, sparsity),
                    expected,
                    "{point}"
                );
            }
        }
    }
}

#[test]
fn the_printed_framework_does_not() {
    for isa in Isa::ALL {
        let printed = [FIGURE4_PREAMBLE, FIGURE4_PRINTED];
        // P3 and P5 are the same pattern: both run at the first call of a burst, and P5 ends it there.
        // One of 6 events is sampled, where 5 of 10 were asked for.
        assert_eq!(sampled(isa, &printed, &calls(isa), 5, 5), 100 / 6);
        // With a burst of 1 overflow_2 is set from the start, and no production matches a call then:
        // the burst never ends.
        assert_eq!(sampled(isa, &printed, &calls(isa), 1, 9), 100 - 9);
        // Forward branches are counted instead of back-edges: here the one that is always taken ends
        // the bursts that calls cannot end.
        let forward = sampled(isa, &printed, &rounds(isa), 1, 9);
        assert_ne!(forward, sampled(isa, &[FRAMEWORK], &rounds(isa), 1, 9));
    }
}

#[test]
fn sampling_changes_in_the_middle_of_a_run() {
    for (scheme, isa) in [Scheme::Hps, Scheme::PlainDise]
        .into_iter()
        .flat_map(|scheme| Isa::ALL.map(|isa| (scheme, isa)))
    {
        let first = SamplePoint::new(2, 8).unwrap();
        let then = SamplePoint::new(4, 6).unwrap();
        let kinds = [ProfileKind::Method];
        let collector = Collector::of(scheme, &kinds, first, &CollectorOptions::default()).unwrap();
        let program = calls(isa);
        let mut process = assembly(isa, &program);
        let engine = collector.install(&mut process).unwrap();
        let mut machine = Machine::with_editor(process, engine);
        let total = |machine: &Machine<DiseEngine>| match collector.read(&machine.process) {
            Ok(CollectedProfile::Method { addresses, .. }) => addresses.total(),
            other => panic!("{other:?}"),
        };
        // Each call is two instructions: 35 events, in the middle of the fourth period.
        machine.run(&mut NoProbe, 70);
        assert_eq!(total(&machine), 6, "{scheme}");
        collector
            .set_point(&mut machine.process.thread.hart.r, then)
            .unwrap();
        // The fourth period ends as it began, at event 40; the other 60 are six periods of the new kind.
        finish(&mut machine, 0);
        assert_eq!(total(&machine), 8 + 6 * 4, "{scheme}");
    }
}

#[test]
fn impossible_changes_are_refused() {
    let of = |kinds: &[ProfileKind], sparsity| {
        let point = SamplePoint::new(1, sparsity).unwrap();
        Collector::of(Scheme::Hps, kinds, point, &CollectorOptions::default()).unwrap()
    };
    let mut regs = [0; reg::COUNT];
    let mut change = |collector: &Collector, burst, sparsity| {
        collector.set_point(&mut regs, SamplePoint { burst, sparsity })
    };
    let streams = of(&[ProfileKind::DataStream], 99);
    assert!(change(&streams, 10, 90).is_ok());
    assert!(change(&streams, 0, 90).is_err());
    assert_eq!(
        change(&streams, 1, 0),
        Err(CollectorError::Change { from: 99, to: 0 })
    );
    assert!(change(&of(&[ProfileKind::DataStream], 0), 1, 99).is_err());
    assert!(change(&of(&[ProfileKind::Method], 99), 1, 0).is_ok());
}

#[test]
fn profiles_stay_apart_when_they_are_loaded_together() {
    for isa in Isa::ALL {
        let options = LoadOptions::with_params([("burst", 1), ("sparsity", 0)]).for_isa(isa);
        let set = files::load(&[FRAMEWORK, HOT_METHOD, files::HOT_DATA_STREAM], &options).unwrap();
        let names: Vec<&str> = set
            .tables()
            .productions
            .iter()
            .map(|p| p.name.as_str())
            .collect();
        // Alpha has a production more, for accesses that ignore low bits of their address.
        assert_eq!(names.len(), if isa == Isa::Alpha { 10 } else { 9 });
        assert!(
            names.contains(&"hot_method:M1") && names.contains(&"hot_data_stream:D1"),
            "{names:?}"
        );
    }
}
