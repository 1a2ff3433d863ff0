//! Samples that are collected at their cost: the program does not see them, records are what hardware and handlers
//! say, and every cycle that they take has an owner.

use std::collections::BTreeMap;

use hps_isa::editor::NoEditor;
use hps_lab::{Collected, Collecting, CoreKind, Isa, Lab, LabError, TimedMachine, Watch};
use hps_pipeline::core::{EventSet, Origin};
use hps_profilers::oracle::{Flush, Spent};
use hps_profilers::registry::{self, Records};
use hps_profilers::{Period, Spread, Unit};
use hps_workloads::Size;

const LIMIT: u64 = 400_000;

fn machine(name: &str, core: CoreKind) -> TimedMachine {
    TimedMachine::load(name, core).expect("a machine with such a core")
}

/// The beginning of a program under a profiler that costs, watched by the policy of the same name.
fn collect(name: &str, isa: Isa, machine: &TimedMachine, period: Period) -> Collected<NoEditor> {
    let profiler = registry::find(name).expect("a profiler");
    let workload = hps_workloads::find("bwt").expect("comes with the project");
    let lab = Lab::workload(workload, isa, Size::Small).expect("an image");
    let watch = Watch {
        samplers: vec![((profiler.policy)(), period)],
        ..Watch::default()
    };
    let how = Collecting::new(profiler.records, period);
    let run = lab.timed_by(machine).limit(LIMIT).collected(&how, watch);
    run.unwrap_or_else(|e| panic!("{name}: {e}"))
}

fn undisturbed(isa: Isa, machine: &TimedMachine) -> u64 {
    let workload = hps_workloads::find("bwt").expect("comes with the project");
    let lab = Lab::workload(workload, isa, Size::Small).expect("an image");
    lab.timed_by(machine)
        .limit(LIMIT)
        .run()
        .expect("a run")
        .cycles()
}

/// Samples by address, of the policy and of the records in guest memory.
fn by_address(run: &Collected<NoEditor>) -> [BTreeMap<u64, u64>; 2] {
    let credits = &run.truth.sampled[0].credits;
    let mut blamed = BTreeMap::new();
    for (key, units) in credits.by_instruction() {
        *blamed.entry(key.pc).or_insert(0) += units / credits.units_per_sample;
    }
    let mut stored = BTreeMap::new();
    for record in &run.stored.records {
        *stored.entry(record.pc).or_insert(0) += 1;
    }
    [blamed, stored]
}

#[test]
fn handlers_store_what_the_policy_of_interrupts_says() {
    // The first profiler's handler stores records; the second one counts samples in a hash table.
    for (profiler, isa) in ["interrupt", "dcpi"]
        .into_iter()
        .flat_map(|p| Isa::ALL.map(|i| (p, i)))
    {
        for name in ["hps-4wide", "tiny-2wide"] {
            for core in [CoreKind::Cycle, CoreKind::Instruction] {
                let machine = machine(name, core);
                let what = format!("{profiler}, {isa} on {name}, {core:?}");
                let period = Period::cycles(2503).at_phase(1, 3);
                let run = collect(profiler, isa, &machine, period);
                let [blamed, stored] = by_address(&run);
                assert!(run.stored.records.len() > 70, "{what}");
                assert_eq!(run.stored.lost + run.overflows_lost, 0, "{what}");
                // The run ends with the program: the last interrupt may not have stored its record.
                let taken = run.interrupts.taken_events;
                let count = run.stored.records.len() as u64;
                assert!((taken - 1..=taken).contains(&count), "{what}");
                let differ = blamed.iter().filter(|(pc, n)| stored.get(pc) != Some(n));
                let differ: Vec<_> = differ.collect();
                assert!(
                    differ.len() <= 1 && blamed.len().abs_diff(stored.len()) <= 1,
                    "{what}: {differ:?}"
                );
                let mut neighbours = run.stored.records.windows(2);
                let ordered = neighbours.all(|w| w[0].cycle < w[1].cycle);
                assert_eq!(ordered, profiler == "interrupt", "{what}");
            }
        }
    }
}

#[test]
fn interrupts_own_the_cycles_that_they_take() {
    for isa in Isa::ALL {
        for (name, core) in [
            ("hps-4wide", CoreKind::Cycle),
            ("hps-4wide", CoreKind::Instruction),
            ("ev5", CoreKind::Cycle),
        ] {
            let machine = machine(name, core);
            let run = collect("nci", isa, &machine, Period::cycles(5003));
            let exact = &run.truth.exact;
            let all: u64 = exact.rows.iter().map(hps_profilers::Row::units).sum();
            let cycles = run.truth.ran.cycles();
            assert_eq!(all, cycles * exact.units_per_cycle);
            let handlers = exact.rows.iter().filter(|r| r.origin == Origin::Handler);
            let (mut entries, mut handled) = (0, 0);
            for row in handlers {
                handled += row.units();
                let cells = row.cells.iter();
                entries += cells
                    .filter(|(spent, _, _)| *spent == Spent::Flushed(Flush::Interrupt))
                    .map(|&(_, _, units): &(Spent, EventSet, u64)| units)
                    .sum::<u64>();
            }
            let costs = &machine.config.interrupts;
            let taken = run.interrupts.taken_events;
            let entry = entries as f64 / exact.units_per_cycle as f64 / taken as f64;
            assert!(
                (f64::from(costs.entry_cycles)..f64::from(costs.entry_cycles) + 40.0)
                    .contains(&entry),
                "{entry} cycles of entry on {name}, {core:?}"
            );
            // Cycles lost by the program went to the handlers, but for those of cache lines that handlers displaced.
            let lost = cycles - undisturbed(isa, &machine);
            let handled = handled / exact.units_per_cycle;
            let share = handled as f64 / lost as f64;
            assert!(
                (0.7..1.15).contains(&share),
                "{handled} of {lost} cycles on {name}, {core:?}"
            );
        }
    }
}

#[test]
fn records_are_charged_as_they_come_into_memory() {
    let machine = machine("hps-4wide", CoreKind::Cycle);
    let isa = Isa::Riscv64;
    let without = undisturbed(isa, &machine);
    let cost = |name: &str, period| {
        let run = collect(name, isa, &machine, period);
        let lost = run.truth.ran.cycles() - without;
        (run.interrupts.taken_events, lost)
    };
    let period = Period::cycles(2003);
    let (outside, nothing) = cost("lci", period);
    assert_eq!((outside, nothing), (0, 0));
    let (taken, short) = cost("nci", period);
    let (assists, assisted) = cost("pebs", period);
    let (rings, ring) = cost("lbr", period);
    assert!(taken > 50 && assists > 50);
    // A ring has 96 words more to store; stores retire one a cycle at best.
    assert!(ring as f64 / rings as f64 > short as f64 / taken as f64 + 48.0);
    let each = assisted as f64 / assists as f64;
    let assist = f64::from(machine.config.interrupts.assist_cycles);
    assert!(
        (assist..assist + 150.0).contains(&each),
        "{each} cycles each"
    );
    let operations = Period {
        mean: 100,
        unit: Unit::Instructions,
        spread: Spread::Random {
            percent: 50,
            seed: 3,
        },
        phase: 0,
    };
    // An interrupt for 64 records, of which there are 4,000.
    let (full, _) = cost("spe", operations);
    assert!((60..=64).contains(&full), "{full} full buffers");
}

#[test]
fn periods_of_events_are_refused() {
    let machine = machine("hps-4wide", CoreKind::Cycle);
    let workload = hps_workloads::find("bwt").expect("comes with the project");
    let lab = Lab::workload(workload, Isa::Riscv64, Size::Small).expect("an image");
    let period = Period {
        unit: Unit::Events(EventSet::L1D_MISS),
        ..Period::cycles(10)
    };
    let how = Collecting::new(
        Records::Interrupt {
            words: 4,
            delay_cycles: 0,
        },
        period,
    );
    let refused = lab.timed_by(&machine).collected(&how, Watch::default());
    assert!(matches!(refused.err(), Some(LabError::CollectedEvents)));
}
