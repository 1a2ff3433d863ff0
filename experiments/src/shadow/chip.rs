//! Shadows on other contexts of the chip that times their parent: what slows the parent down, by cause.

use hps_lab::shadow::{
    Alone, ChipRun, OnChip, ShadowOptions, ShadowOutcome, profiled, profiled_on_chip,
};
use hps_lab::{Program, TimedMachine};
use hps_pipeline::core::Cause;
use hps_shadow::Graphs;

use crate::measurement::Measurement;

/// The scheme of these numbers.
pub const SCHEME: &str = "chip";

/// Slowdowns of shadows: at full speed, where they compete most, and the key's default.
pub const SLOWDOWNS: [f64; 2] = [1.0, 10.0];

/// The load.
const LOAD: f64 = 1.0;

/// Causes of a parent's slowdown. The shares of the cycles of a run alone sum to the whole slowdown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The operating system delivers signals.
    Signals,
    /// The operating system forks.
    Forks,
    /// The operating system serves page faults, and copies pages.
    Faults,
    /// The context is idle beside that. Below 0 where two of the first three are served at once, so that cycles are counted
    /// for both.
    Coincidence,
    /// The parent runs, but slower: caches, buses and core that it shares, and what interruptions left of its state.
    Shared,
}

impl Part {
    /// All of them.
    pub const ALL: [Part; 5] = [
        Part::Signals,
        Part::Forks,
        Part::Faults,
        Part::Coincidence,
        Part::Shared,
    ];

    /// The measure in results.
    #[must_use]
    pub fn measure(self) -> &'static str {
        match self {
            Part::Signals => "signals_ratio",
            Part::Forks => "forks_ratio",
            Part::Faults => "faults_ratio",
            Part::Coincidence => "coincidence_ratio",
            Part::Shared => "shared_ratio",
        }
    }

    /// For people.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Part::Signals => "signals",
            Part::Forks => "forks",
            Part::Faults => "page faults",
            Part::Coincidence => "coincidence",
            Part::Shared => "shared caches, buses and core",
        }
    }

    /// Cycles of a run with shadows.
    fn cycles(self, chip: &OnChip, alone: &ChipRun) -> i64 {
        match self {
            Part::Signals => chip.signal_cycles as i64,
            Part::Forks => chip.fork_cycles as i64,
            Part::Faults => chip.faults.cycles as i64,
            Part::Coincidence => chip.idle_beside_cycles(alone),
            Part::Shared => chip.lost_cycles(alone),
        }
    }
}

/// The name of a setting in measurements.
#[must_use]
pub fn setting(machine: &str, slowdown: f64) -> String {
    format!("machine={machine},slowdown={slowdown:.0}")
}

/// The machine of a setting.
pub(super) fn machine_of(setting: &str) -> Option<&str> {
    let (machine, _) = setting.strip_prefix("machine=")?.split_once(',')?;
    Some(machine)
}

/// Measures one program on one machine.
pub(super) fn measure(
    program: &Program,
    machine: &TimedMachine,
    sample: u64,
) -> Result<Vec<Measurement>, String> {
    let text = |e: hps_lab::LabError| e.to_string();
    let graphs = Graphs::new(&program.image);
    let alone = Alone::measure(program, machine).map_err(text)?;
    let mut all = Vec::new();
    for slowdown in SLOWDOWNS {
        let options = options(sample, slowdown);
        let (with, charged) = rayon::join(
            || profiled_on_chip(program, &graphs, machine, (&alone, &options)).map_err(text),
            || profiled(program, &graphs, &alone.timeline, &options).map_err(text),
        );
        let ((outcome, chip), charged) = (with?, charged?);
        program
            .check_end(outcome.stop, &outcome.process)
            .map_err(|e| e.to_string())?;
        let setting = setting(&machine.name, slowdown);
        let numbers = numbers((&outcome, &chip), &alone.run, &charged);
        all.extend(numbers.into_iter().map(|(measure, value)| Measurement {
            setting: setting.clone(),
            x: Some(slowdown),
            ..Measurement::new(program, SCHEME, measure, value)
        }));
    }
    Ok(all)
}

/// Nothing is translated: in runs of a few million instructions it would take longer than they do.
fn options(sample: u64, slowdown: f64) -> ShadowOptions {
    let mut options = ShadowOptions::at_load(LOAD, sample);
    options.costs.slowdown = slowdown;
    options.costs.translate_ns = 0.0;
    options
}

fn numbers(
    (outcome, chip): (&ShadowOutcome<'_>, &OnChip),
    alone: &ChipRun,
    charged: &ShadowOutcome<'_>,
) -> Vec<(&'static str, f64)> {
    let share = |cycles: i64| cycles as f64 / alone.cycles.max(1) as f64;
    let width = |run: &ChipRun| (run.cpi.total() / run.cycles.max(1)).max(1);
    let sibling = |run: &ChipRun| (run.cpi.get(Cause::Sibling) / width(run)) as i64;
    let faults = outcome.copied_pages + outcome.reused_pages;
    let mut all = vec![
        ("alone_cycles", alone.cycles as f64),
        ("cycles", chip.run.cycles as f64),
        (
            "overhead_ratio",
            share(chip.run.cycles as i64 - alone.cycles as i64),
        ),
        ("charged_ratio", charged.overhead()),
        ("sibling_ratio", share(sibling(&chip.run) - sibling(alone))),
        ("shadows", outcome.shadows as f64),
        ("charged_shadows", charged.shadows as f64),
        ("copied_pages", outcome.copied_pages as f64),
        ("reused_pages", outcome.reused_pages as f64),
        (
            "fault_cycles",
            chip.faults.cycles as f64 / faults.max(1) as f64,
        ),
        ("ended", chip.ended as f64),
        ("apart", chip.apart as f64),
    ];
    all.extend(Part::ALL.map(|part| (part.measure(), share(part.cycles(chip, alone)))));
    for (measure, of) in MISSES {
        all.push((measure, of(&chip.run) as f64 / of(alone).max(1) as f64));
    }
    all
}

/// A count of caches and buses; its measure is the count with shadows, divided by that of the run alone.
type Misses = (&'static str, fn(&ChipRun) -> u64);

const MISSES: [Misses; 4] = [
    ("l1i_misses_ratio", |run| run.memory.l1i.read_miss_events),
    ("l1d_misses_ratio", |run| {
        run.memory.l1d.read_miss_events + run.memory.l1d.write_miss_events
    }),
    ("l2_misses_ratio", |run| run.memory.l2.read_miss_events),
    ("bus_bytes_ratio", |run| run.memory.memory_bus.data_bytes),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use hps_lab::{CoreKind, Isa};
    use hps_workloads::Size;

    use super::*;

    #[test]
    fn parts_of_a_slowdown_sum_to_it() {
        let workload = hps_workloads::find("place").expect("comes with the project");
        let program = Program::workload(workload, Isa::Riscv64, Size::Small).expect("an image");
        let machine = TimedMachine::load("smt-2", CoreKind::Cycle).expect("a machine");
        let measured = measure(&program, &machine, 30_000).expect("a run");
        for slowdown in SLOWDOWNS {
            let name = setting("smt-2", slowdown);
            assert_eq!(machine_of(&name), Some("smt-2"));
            let of_setting = measured.iter().filter(|m| m.setting == name);
            let found: BTreeMap<&str, f64> =
                of_setting.map(|m| (m.measure.as_str(), m.value)).collect();
            let slower = found["cycles"] / found["alone_cycles"] - 1.0;
            let sum: f64 = Part::ALL.iter().map(|part| found[part.measure()]).sum();
            assert!((sum - slower).abs() < 1e-9, "{sum} of {slower}");
            assert!((found["overhead_ratio"] - slower).abs() < 1e-9);
            assert!(
                found["shadows"] > 0.0 && found["forks_ratio"] > 0.0,
                "{found:?}"
            );
            assert_eq!(found["apart"], 0.0);
        }
    }
}
