//! When the framework samples: the corrected productions, the printed ones, and a change on the way.

mod common;

use common::*;
use hps_dise::{DiseConfig, DiseEngine, LoadOptions, ProductionSet};
use hps_productions::files::{
    self, FIGURE4_PREAMBLE, FIGURE4_PRINTED, FRAMEWORK, HOT_METHOD, ProductionFile,
};
use hps_productions::{CollectedProfile, Collector, CollectorOptions, SamplePoint};
use hps_profile::ProfileKind;
use hps_sim_core::machine::Machine;
use hps_sim_core::probe::NoProbe;

/// 100 calls one after the other, then the end. The `i`th call is the `i`th event.
fn calls() -> String {
    let mut text = String::new();
    (0..100).for_each(|_| text += "jal ra, leaf\n");
    text + "addi a0, zero, 0\naddi a7, zero, 93\necall\nleaf:\nret\n"
}

/// A loop of 100 rounds with a call, a forward branch and a back-edge in each.
const LOOP: &str = "
    addi s2, zero, 100
round:
    jal ra, leaf
    bnez s2, ahead
ahead:
    addi s2, s2, -1
    bgtz s2, round
    addi a0, zero, 0
    addi a7, zero, 93
    ecall
leaf:
    ret
";

/// Counts what is sampled among the program's calls and back-edges, with this framework.
fn sampled(framework: &[ProductionFile], program: &str, burst: i64, sparsity: i64) -> u64 {
    let options = LoadOptions::with_params([("burst", burst), ("sparsity", sparsity)]);
    let observer = "
        Seen: (T.OPCLASS == proc_call || (T.OPCLASS == branch && T.Target <= T.PC)) && overflow_1 => { T.INSN }
    ";
    let files: Vec<(&str, &str)> = framework
        .iter()
        .map(|file| (file.text, file.name))
        .chain([(observer, "observer")])
        .collect();
    let set = ProductionSet::parse_files(&files, &options).unwrap_or_else(|e| panic!("{e}"));
    let mut process = assembly(program);
    set.init_registers(&mut process.hart.r);
    let mut engine = DiseEngine::new(&set, &DiseConfig::default()).unwrap();
    engine.reset(&process.hart.r);
    let mut machine = Machine::with_editor(process, engine);
    finish(&mut machine, 0);
    machine.editor.stats().expansion_events
}

#[test]
fn the_corrected_framework_samples_what_was_asked_for() {
    for (burst, sparsity) in [(1, 9), (5, 5), (3, 7), (10, 0)] {
        let point = SamplePoint {
            burst: burst as u64,
            sparsity: sparsity as u64,
        };
        for (program, events) in [(calls(), 100), (LOOP.to_owned(), 200)] {
            let expected = (0..events)
                .filter(|&completed| point.is_on(completed))
                .count() as u64;
            assert_eq!(
                sampled(&[FRAMEWORK], &program, burst, sparsity),
                expected,
                "{point}"
            );
        }
    }
}

#[test]
fn the_printed_framework_does_not() {
    let printed = [FIGURE4_PREAMBLE, FIGURE4_PRINTED];
    // P3 and P5 are the same pattern: both run at the first call of a burst, and P5 ends it there.
    // One of 6 events is sampled, where 5 of 10 were asked for.
    assert_eq!(sampled(&printed, &calls(), 5, 5), 100 / 6);
    // With a burst of 1 overflow_2 is set from the start, and no production matches a call then:
    // the burst never ends.
    assert_eq!(sampled(&printed, &calls(), 1, 9), 100 - 9);
    // Forward branches are counted instead of back-edges: here the one that is always taken ends
    // the bursts that calls cannot end.
    let forward = sampled(&printed, LOOP, 1, 9);
    assert_ne!(forward, sampled(&[FRAMEWORK], LOOP, 1, 9));
}

#[test]
fn sampling_changes_in_the_middle_of_a_run() {
    let first = SamplePoint::new(2, 8).unwrap();
    let then = SamplePoint::new(5, 5).unwrap();
    let collector =
        Collector::new(ProfileKind::Method, first, &CollectorOptions::default()).unwrap();
    let program = calls();
    let mut process = assembly(&program);
    let engine = collector.install(&mut process).unwrap();
    let mut machine = Machine::with_editor(process, engine);
    let total = |machine: &Machine<DiseEngine>| match collector.read(&machine.process) {
        Ok(CollectedProfile::Method { addresses, .. }) => addresses.total(),
        other => panic!("{other:?}"),
    };
    // Each call is two instructions: 35 events, in the middle of the fourth period.
    machine.run(&mut NoProbe, 70);
    assert_eq!(total(&machine), 6);
    for (register, value) in then.registers() {
        machine.process.hart.r[usize::from(register)] = value;
    }
    // The fourth period ends as it began, at event 40; the other 60 are six periods of the new kind.
    finish(&mut machine, 0);
    assert_eq!(total(&machine), 8 + 6 * 5);
}

#[test]
fn profiles_stay_apart_when_they_are_loaded_together() {
    let options = LoadOptions::with_params([("burst", 1), ("sparsity", 0)]);
    let set = files::load(&[FRAMEWORK, HOT_METHOD, files::HOT_DATA_STREAM], &options).unwrap();
    let names: Vec<&str> = set
        .tables()
        .productions
        .iter()
        .map(|p| p.name.as_str())
        .collect();
    assert_eq!(names.len(), 9);
    assert!(
        names.contains(&"hot_method:M1") && names.contains(&"hot_data_stream:D1"),
        "{names:?}"
    );
}
