//! Pattern, replacement and conditionals tables that are too small: when they begin to miss, and what
//! it costs.
//!
//! A set of productions misses if, and only if, it needs more entries than the table has; then the
//! controller brings in what is missing, least recently used out first, and decode waits. Only one
//! table is made smaller at a time. All runs share the point of the merged profiles.

use hps_dise::{DiseConfig, check};
use hps_pipeline::core::CoreStats;
use hps_productions::{Collector, CollectorOptions, SamplePoint};
use hps_profile::ProfileKind;
use hps_system::image::Isa;

use super::StudyOptions;
use super::common::{
    Label, collect, extent, overhead, same_instructions, timed_alone, timed_profiled, unit_of_each,
};
use super::merged::BURST;
use crate::cluster::Effort;
use crate::measurement::{Measurement, Unit};
use hps_lab::Program;
use hps_lab::{TimedMachine, dise_config};

/// The study's name in results.
pub const NAME: &str = "tables";

/// The frequency at which it is measured.
const ONE_IN: u64 = 100;

/// One unit for each of the first programs.
pub fn units<'a>(
    programs: &'a [Program],
    machine: &'a TimedMachine,
    options: &StudyOptions,
) -> Vec<Unit<'a>> {
    let limit = options.table_instructions;
    let key = serde_json::json!({ "instructions": limit, "burst": BURST, "one_in": ONE_IN });
    unit_of_each(
        &programs[..programs.len().min(options.timed_programs)],
        NAME,
        "small tables",
        &key,
        // Four sets of kinds, three tables, about four sizes of each.
        Effort::default().and_first(limit, 50.0, machine.core),
        move |program| measure(program, machine, limit),
    )
}

/// A table of the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Table {
    Pattern,
    Replacement,
    Conditionals,
}

impl Table {
    const ALL: [Table; 3] = [Table::Pattern, Table::Replacement, Table::Conditionals];

    /// The name of its size in a machine description.
    fn setting(self) -> &'static str {
        match self {
            Table::Pattern => "pt_entries",
            Table::Replacement => "rt_entries",
            Table::Conditionals => "ct_entries",
        }
    }

    fn resize(self, dise: &mut DiseConfig, entries: usize) {
        match self {
            Table::Pattern => dise.pt_entries = entries,
            Table::Replacement => dise.rt_entries = entries,
            Table::Conditionals => dise.ct_entries = entries,
        }
    }
}

/// Sets of profiles to collect: each kind alone, then all of them.
fn sets() -> Vec<Vec<ProfileKind>> {
    let singles = ProfileKind::ALL.map(|kind| vec![kind]);
    singles
        .into_iter()
        .chain([ProfileKind::ALL.to_vec()])
        .collect()
}

/// Entries that a set of productions needs of each table, and the least with which it runs at all.
struct Needs {
    entries: [usize; 3],
    least: [usize; 3],
}

impl Needs {
    fn of(program: &Program, collector: &Collector) -> Needs {
        let set = collector.productions(program.image.isa);
        let report = check(set);
        // A collector holds the productions of all instruction sets, whichever its program needs.
        let all = Isa::ALL.map(|isa| &collector.productions(isa).tables().productions);
        let productions = || all.iter().flat_map(|productions| productions.iter());
        let sequences = productions().filter_map(|p| p.replacement.as_ref());
        let longest = sequences.map(|s| s.templates.len()).max().unwrap_or(1);
        let controls = productions().map(|p| p.control.len());
        Needs {
            entries: [report.pt_entries, report.rt_entries, report.ct_entries],
            least: [1, longest, controls.max().unwrap_or(1)],
        }
    }

    /// Sizes below what is needed: one entry too few, then three quarters, half and a quarter.
    fn sizes(&self, table: Table) -> Vec<usize> {
        let (needed, least) = (self.entries[table as usize], self.least[table as usize]);
        let below = [
            needed.saturating_sub(1),
            needed * 3 / 4,
            needed / 2,
            needed / 4,
        ];
        let mut sizes = below.map(|size| size.max(least)).to_vec();
        sizes.retain(|&size| size < needed);
        sizes.dedup();
        sizes
    }
}

fn measure(
    program: &Program,
    machine: &TimedMachine,
    limit: u64,
) -> Result<Vec<Measurement>, String> {
    let alone = timed_alone(program, machine, limit)?;
    let point = SamplePoint::from_frequency(BURST, ONE_IN).map_err(|e| e.to_string())?;
    let mut measured = extent(&Label::new(program, "baseline"), &alone);
    for kinds in sets() {
        let run = |dise: DiseConfig| {
            let options = CollectorOptions {
                dise,
                streams: None,
                ..CollectorOptions::default()
            };
            let collector = collect(&kinds, point, &options)?;
            let run = timed_profiled(program, machine, &collector, limit)?;
            same_instructions(&run.stats, alone.commit_program_instructions)?;
            Ok::<_, String>((run, collector))
        };
        let mut full = dise_config(machine);
        // Merged sets may be larger than the machine's tables; the first run is without misses.
        full.rt_entries = full.rt_entries.max(4096);
        full.ct_entries = full.ct_entries.max(256);
        let (fits, collector) = run(full.clone())?;
        let needs = Needs::of(program, &collector);
        let label = match kinds[..] {
            [kind] => Label::new(program, "hps").kind(kind),
            _ => Label::new(program, "merged"),
        };
        let label = label.at(BURST, ONE_IN);
        for table in Table::ALL {
            let needed = needs.entries[table as usize];
            let label = label.clone().setting(table.setting());
            measured.push(label.is("entries_needed", needed as f64));
            let at = label.clone().x(needed as f64);
            measured.extend(cost(&at, &fits.stats, &alone, misses(fits.dise())));
            for entries in needs.sizes(table) {
                let mut dise = full.clone();
                table.resize(&mut dise, entries);
                let (small, _) = run(dise)?;
                let at = label.clone().x(entries as f64);
                measured.extend(cost(&at, &small.stats, &alone, misses(small.dise())));
            }
        }
    }
    Ok(measured)
}

fn misses(stats: &hps_dise::DiseStats) -> u64 {
    stats.pt_miss_events + stats.rt_miss_events + stats.ct_miss_events
}

fn cost(label: &Label, stats: &CoreStats, alone: &CoreStats, misses: u64) -> Vec<Measurement> {
    let instructions = stats.commit_program_instructions.max(1) as f64;
    vec![
        label.is("overhead_ratio", overhead(stats, alone)),
        label.is(
            "misses_per_kilo_instruction",
            1000.0 * misses as f64 / instructions,
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::super::testing::program_of;
    use super::*;

    #[test]
    fn tables_miss_exactly_when_they_are_too_small() {
        for isa in Isa::ALL {
            misses_when_too_small(&program_of("lz", isa));
        }
    }

    fn misses_when_too_small(program: &Program) {
        let machine = TimedMachine::default();
        let measured = measure(program, &machine, 10_000).expect("measured");
        let needed: Vec<_> = measured
            .iter()
            .filter(|m| m.measure == "entries_needed")
            .collect();
        assert_eq!(needed.len(), 4 * 3);
        for need in needed {
            let of_table = || {
                measured.iter().filter(|m| {
                    (&m.scheme, m.profile, &m.setting)
                        == (&need.scheme, need.profile, &need.setting)
                })
            };
            let overhead = |x: f64| {
                let mut all = of_table().filter(|m| m.measure == "overhead_ratio");
                all.find(|m| m.x == Some(x)).expect("measured").value
            };
            for misses in of_table().filter(|m| m.measure == "misses_per_kilo_instruction") {
                let x = misses.x.expect("a size");
                if x >= need.value {
                    assert_eq!(
                        misses.value, 0.0,
                        "{} {:?}: {x}",
                        need.setting, need.profile
                    );
                } else if need.setting != "rt_entries" {
                    // Patterns and counting are needed at every event; sequences only in bursts.
                    assert!(
                        misses.value > 0.0,
                        "{} {:?}: {x}",
                        need.setting,
                        need.profile
                    );
                    // A few misses may hide behind what the program waits for anyway: at most 11 in
                    // the whole run where Alpha's patterns lack a quarter of their entries or less.
                    let costs = overhead(x) > overhead(need.value);
                    let hidden = program.image.isa == Isa::Alpha
                        && misses.value <= 1.1
                        && overhead(x) == overhead(need.value);
                    assert!(
                        costs || hidden || need.setting == "ct_entries",
                        "{} {:?} at {x}: {} and {}, {} misses",
                        need.setting,
                        need.profile,
                        overhead(x),
                        overhead(need.value),
                        misses.value
                    );
                }
            }
        }
    }
}
