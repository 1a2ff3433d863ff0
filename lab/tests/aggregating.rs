//! Samples that DCPI's handler counts in guest memory.

use hps_isa::editor::NoEditor;
use hps_isa::probe::NoProbe;
use hps_lab::{Aggregated, Isa, Lab, Program};
use hps_pipeline::pmu::{CounterConfig, Event};
use hps_productions::TableOptions;
use hps_workloads::Size;

/// A program under counters of cycles and committed loads, on a machine in order.
fn sampled(isa: Isa, options: TableOptions) -> (Program, Aggregated<NoEditor, NoProbe>) {
    let workload = hps_workloads::find("minicc").expect("it exists");
    let program = Program::workload(workload, isa, Size::Small).expect("an image");
    let counters = [
        CounterConfig {
            spread: 64,
            seed: 4,
            skid_cycles: 6,
            ..CounterConfig::every(Event::CYCLES, 1500)
        },
        CounterConfig::every(
            Event::named("load_committed_events").expect("an event"),
            997,
        ),
    ];
    let lab = Lab::of(&program).on("ev5").expect("a machine");
    let found = lab.aggregated(&counters, options).expect("it runs");
    (program.clone(), found)
}

#[test]
fn samples_are_kept_evicted_or_dropped_and_the_program_does_not_notice() {
    let whole = TableOptions::default();
    let small = TableOptions {
        buckets: 16,
        buffer_entries: 100,
        ..whole
    };
    // The file takes three buffers and a part of the fourth.
    let full = TableOptions {
        file_entries: 350,
        ..small
    };
    for isa in Isa::ALL {
        for (options, many, drops) in [
            (whole, false, false),
            (small, true, false),
            (full, true, true),
        ] {
            let (program, found) = sampled(isa, options);
            let [kept, evicted, dropped] = found.samples.totals();
            let what =
                format!("{isa}, {options:?}: {kept} kept, {evicted} evicted, {dropped} dropped");
            assert_eq!(
                kept + evicted + dropped,
                found.interrupts.taken_events,
                "{what}"
            );
            assert_eq!(
                found.interrupts.taken_events,
                found.interrupts.returned_events
            );
            assert!(found.interrupts.taken_events > 3000, "{what}");
            // The counter of evictions may name an entry in a bucket that has empty ones: the large table evicts, too.
            assert_eq!(10 * (evicted + dropped) > kept, many, "{what}");
            assert_eq!(dropped > 0, drops, "{what}");
            if drops {
                let in_file = found.samples.evicted.len();
                assert!((350..450).contains(&in_file), "{what}: {in_file}");
            }
            let range = program.image.segments[0].addr..program.image.end();
            for entry in found.samples.entries() {
                assert!(range.contains(&entry.pc), "{what}: {entry:x?}");
                assert!(entry.source < 2, "{what}: {entry:?}");
            }
            let of = |source| {
                let all = found.samples.entries().filter(|e| e.source == source);
                all.map(|e| e.count).sum::<u64>()
            };
            assert!(
                drops || of(0) > 1000 && of(1) > 500,
                "{what}: {} and {}",
                of(0),
                of(1)
            );
            found.ran.successful().expect("it prints what it must");
        }
    }
}

#[test]
fn the_daemon_costs_what_it_is_said_to() {
    let small = TableOptions {
        buckets: 16,
        buffer_entries: 100,
        ..TableOptions::default()
    };
    let slow = TableOptions {
        daemon_loops: 500,
        ..small
    };
    let [(_, free), (_, paid)] = [small, slow].map(|options| sampled(Isa::Alpha, options));
    let cycles = |found: &Aggregated<_, _>| found.interrupts.handled_cycles;
    // Whole buffers are read, an entry at a time; the paid run has a few more samples, since it is longer.
    let entries = paid.samples.evicted.len() / 100 * 100;
    let dearer = cycles(&paid) - cycles(&free);
    // A turn takes two cycles on this machine.
    let least = 2 * 500 * entries as u64;
    assert!(
        (least..least * 5 / 4).contains(&dearer),
        "{dearer} for {entries} entries"
    );
}
