//! Tables of what was measured: a row for each profiler, in the mean over programs and program by program.

use std::collections::{BTreeMap, BTreeSet};

use hps_profile::{ProfileKind, Summary, summarize};
use hps_profilers::views::Level;
use schemars::JsonSchema;
use serde::Serialize;

use super::pairs::{Pair, pairs};
use super::{BIAS, COLLECTED, COSTLY, PASSIVE, profilers};
use crate::measurement::{Measurement, UnitRecord};

/// A mean over programs with its spread; of one program its own number.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Mean {
    /// The mean.
    pub mean: f64,
    /// The standard deviation over programs, or of one program over the phases of the period; none of a single value.
    pub deviation: Option<f64>,
    /// Half the width of the 95% interval of the mean by Student's t, over the same values.
    pub half_width: Option<f64>,
    /// The smallest value.
    pub low: f64,
    /// The greatest value.
    pub high: f64,
    /// The number of programs.
    pub programs: usize,
}

/// Levels of error at which every profiler of cycles is measured, the finest first.
pub const LEVELS: [&str; Level::ALL.len()] = [
    Level::Instruction.name(),
    Level::Block.name(),
    Level::Line.name(),
    Level::Function.name(),
];

/// A mean in percent with its interval, for people; a dash if there is none.
#[must_use]
pub fn in_percent(mean: Option<&Mean>) -> String {
    match mean.map(|m| (100.0 * m.mean, m.half_width.map(|half| 100.0 * half))) {
        Some((mean, Some(half))) => format!("{mean:.2} ± {half:.2}"),
        Some((mean, None)) => format!("{mean:.2}"),
        None => "–".to_string(),
    }
}

/// Measurements of a profiler, for one program or as means over programs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Figures {
    /// Errors (`1 - overlap`) by level: `instruction`, `block`, `line`, `function`, `event-stack`; of a profiler that
    /// costs cycles its sampling error under the name of its kind of profile.
    pub errors: BTreeMap<String, Mean>,
    /// Errors with infinitely many samples, by level.
    pub biases: BTreeMap<String, Mean>,
    /// Cycles that it costs, of those of the undisturbed run. None: nothing is charged.
    pub overhead: Option<Mean>,
    /// `1 - overlap` by function of its run's exact profile with the undisturbed one.
    pub perturbation: Option<Mean>,
    /// Memory of the program that it takes, in bytes.
    pub memory_bytes: Option<Mean>,
    /// Samples in a run.
    pub samples: Option<Mean>,
    /// Interrupts and assists in a run.
    pub interrupts: Option<Mean>,
}

/// How a profiler of the board was run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// The profiler watched only.
    Watching,
    /// The profiler collected where cycles go at its cost.
    Collected,
    /// The profiler sampled in bursts.
    Bursts,
}

/// A profiler of the board.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Entry {
    /// Name of the profiler.
    pub name: String,
    /// Description in one line.
    pub about: String,
    /// Hardware, or memory of the program, that it takes.
    pub takes: String,
    /// Events that its period counts.
    pub counts: String,
    /// How it was run.
    pub form: Form,
    /// The kind of profile that it collects; none: where cycles go.
    pub kind: Option<ProfileKind>,
    /// Burst length and frequency as 1 in n, if it samples in bursts; of one that collects at its cost 1 and the period
    /// in cycles.
    pub point: Option<(u64, u64)>,
    /// False: no sampling point stays within the budget, and this is the sparsest one that was run.
    pub within_budget: bool,
    /// In the mean over programs.
    pub mean: Figures,
    /// Each program by itself.
    pub by_program: BTreeMap<String, Figures>,
}

/// The leaderboard of one instruction set on one machine.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Board {
    /// Instruction set.
    pub isa: String,
    /// Machine.
    pub machine: String,
    /// Programs, in the order of results.
    pub programs: Vec<String>,
    /// Cycles of each program's undisturbed run.
    pub cycles: BTreeMap<String, u64>,
    /// Instructions of each program for each cycle of its undisturbed run.
    pub ipc: BTreeMap<String, f64>,
    /// Profilers, the passive ones first.
    pub entries: Vec<Entry>,
    /// Profilers that follow one another in the order of their errors: told apart, or a draw.
    pub pairs: Vec<Pair>,
}

/// Whether the mean overhead of a profiler at a frequency, or at a period, stays within a budget. What failed does not.
#[must_use]
pub fn fits(
    records: &[UnitRecord],
    name: &str,
    kind: Option<ProfileKind>,
    one_in: u64,
    budget: f64,
) -> bool {
    let overheads: Vec<f64> = (records.iter())
        .flat_map(|r| &r.measurements)
        .filter(|m| m.scheme == name && m.profile == kind && m.one_in == Some(one_in))
        .filter(|m| m.measure == "overhead_ratio")
        .map(|m| m.value)
        .collect();
    !overheads.is_empty() && summarize(&overheads).mean <= budget
}

/// The boards of records: one for each instruction set and machine. With a budget, each profiler that costs cycles
/// stands at the densest point that stays within it.
#[must_use]
pub fn board(records: &[UnitRecord], budget: Option<f64>) -> Vec<Board> {
    let mut groups: Vec<(&str, &str, Vec<UnitRecord>)> = Vec::new();
    for record in records.iter().filter(|r| is_of_board(r)) {
        let of =
            |g: &&mut (&str, &str, Vec<UnitRecord>)| g.0 == record.isa && g.1 == record.machine;
        match groups.iter_mut().find(of) {
            Some(group) => group.2.push(record.clone()),
            None => groups.push((&record.isa, &record.machine, vec![record.clone()])),
        }
    }
    let boards = groups.iter();
    boards
        .map(|(isa, machine, records)| of_group(isa, machine, records, budget))
        .collect()
}

fn is_of_board(record: &UnitRecord) -> bool {
    [PASSIVE, BIAS, COSTLY, COLLECTED].contains(&record.study.as_str())
}

fn of_group(isa: &str, machine: &str, records: &[UnitRecord], budget: Option<f64>) -> Board {
    let mut programs: Vec<String> = Vec::new();
    for record in records {
        if !programs.contains(&record.program) {
            programs.push(record.program.clone());
        }
    }
    let all: Vec<&Measurement> = records.iter().flat_map(|r| &r.measurements).collect();
    let mut entries = Vec::new();
    for info in profilers::all() {
        let of_name: Vec<&Measurement> = all
            .iter()
            .copied()
            .filter(|m| m.scheme == info.name)
            .collect();
        let forms: BTreeSet<(Form, Option<ProfileKind>)> =
            of_name.iter().map(|m| (form_of(m), m.profile)).collect();
        for (form, kind) in forms {
            let of_form = |m: &&Measurement| (form_of(m), m.profile) == (form, kind);
            let of_kind = || of_name.iter().copied().filter(of_form);
            let (point, within_budget) = chosen_point(records, info.name, kind, of_kind(), budget);
            let at_point: Vec<&Measurement> = of_kind().filter(|m| point == point_of(m)).collect();
            let mut by_program = BTreeMap::new();
            for program in &programs {
                let of_program: Vec<_> = at_point
                    .iter()
                    .copied()
                    .filter(|m| m.program == *program)
                    .collect();
                if !of_program.is_empty() {
                    by_program.insert(program.clone(), figures(&of_program, kind));
                }
            }
            entries.push(Entry {
                name: info.name.to_string(),
                about: info.about.to_string(),
                takes: info.takes.to_string(),
                counts: info.counts.to_string(),
                form,
                kind,
                point,
                within_budget,
                mean: figures(&at_point, kind),
                by_program,
            });
        }
    }
    let of_run = |measure: &str, program: &str| {
        let wanted = |m: &&&Measurement| m.measure == measure && m.program == program;
        let of_program = all.iter().filter(|m| m.scheme.is_empty());
        of_program.clone().find(wanted).map(|m| m.value)
    };
    let cycles: BTreeMap<String, u64> = (programs.iter())
        .filter_map(|p| Some((p.clone(), of_run("cycles", p)? as u64)))
        .collect();
    let ipc = (programs.iter())
        .filter_map(|p| Some((p.clone(), of_run("instructions", p)? / of_run("cycles", p)?)))
        .collect();
    Board {
        isa: isa.to_string(),
        machine: machine.to_string(),
        programs,
        cycles,
        ipc,
        pairs: pairs(&entries, &all),
        entries,
    }
}

/// How the profiler of a measurement was run.
fn form_of(measurement: &Measurement) -> Form {
    match (measurement.burst, measurement.one_in) {
        (Some(_), _) => Form::Bursts,
        (None, Some(_)) => Form::Collected,
        (None, None) => Form::Watching,
    }
}

/// Burst and frequency of a measurement; of one at a period 1 and the period.
fn point_of(measurement: &Measurement) -> Option<(u64, u64)> {
    let one_in = measurement.one_in?;
    Some((measurement.burst.unwrap_or(1), one_in))
}

/// Burst and frequency at which a profiler stands on the board: the densest within the budget, or else the sparsest
/// that was run; without a budget the densest.
fn chosen_point<'a>(
    records: &[UnitRecord],
    name: &str,
    kind: Option<ProfileKind>,
    measurements: impl Iterator<Item = &'a Measurement>,
    budget: Option<f64>,
) -> (Option<(u64, u64)>, bool) {
    let mut points: Vec<(u64, u64)> = measurements.filter_map(point_of).collect();
    points.sort_unstable_by_key(|&(burst, one_in)| (one_in, burst));
    points.dedup();
    let Some(budget) = budget.filter(|_| !points.is_empty()) else {
        return (points.first().copied(), true);
    };
    let within = points
        .iter()
        .find(|p| fits(records, name, kind, p.1, budget));
    match within {
        Some(&point) => (Some(point), true),
        None => (points.last().copied(), false),
    }
}

fn figures(measurements: &[&Measurement], kind: Option<ProfileKind>) -> Figures {
    let mut settings: Vec<(&str, &str)> = Vec::new();
    for m in measurements {
        settings.push((&m.measure, &m.setting));
    }
    settings.sort_unstable();
    settings.dedup();
    let mut found = Figures::default();
    let mut deviations: BTreeMap<String, f64> = BTreeMap::new();
    for (measure, setting) in settings {
        let of_setting = |m: &&&Measurement| m.measure == measure && m.setting == setting;
        let values: Vec<&Measurement> = measurements.iter().filter(of_setting).copied().collect();
        let mean = mean(&values);
        let level = kind.map_or(setting, |kind| kind.name()).to_string();
        match measure {
            "error_ratio" => drop(found.errors.insert(level, mean)),
            "error_deviation_ratio" => drop(deviations.insert(level, mean.mean)),
            "bias_ratio" => drop(found.biases.insert(level, mean)),
            "overhead_ratio" => found.overhead = Some(mean),
            "perturbation_ratio" => found.perturbation = Some(mean),
            "memory_bytes" => found.memory_bytes = Some(mean),
            "samples" => found.samples = Some(mean),
            "interrupts" => found.interrupts = Some(mean),
            _ => {}
        }
    }
    for (level, error) in &mut found.errors {
        if error.programs == 1 {
            error.deviation = deviations.get(level).copied();
        }
    }
    found
}

/// The mean over programs; of one program its number with its interval.
pub(super) fn mean(values: &[&Measurement]) -> Mean {
    let numbers: Vec<f64> = values.iter().map(|m| m.value).collect();
    let Summary {
        mean,
        standard_deviation,
        half_width,
        ..
    } = summarize(&numbers);
    let fold = |first, by: fn(f64, f64) -> f64| numbers.iter().copied().fold(first, by);
    Mean {
        mean,
        deviation: standard_deviation,
        half_width: match values {
            [one] => one.interval,
            _ => half_width,
        },
        low: fold(f64::INFINITY, f64::min),
        high: fold(f64::NEG_INFINITY, f64::max),
        programs: numbers.len(),
    }
}
