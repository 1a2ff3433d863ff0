//! Tables of what was measured: a row for each profiler, in the mean over programs and program by program.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use hps_profile::{ProfileKind, summarize};
use hps_profilers::views::Level;
use schemars::JsonSchema;
use serde::Serialize;

use super::decisions::ANSWER;
use super::groups::{self, Group};
use super::mean::{Mean, OfProgram};
use super::pairs::{Pair, pairs};
use super::passive::DRAWN_ERROR;
use super::search::{self, Fit, Tried};
use super::{BIAS, COLLECTED, COSTLY, PASSIVE, STATES, profilers};
use crate::measurement::{Measurement, UnitRecord};

/// Levels of error at which every profiler of cycles is measured, the finest first.
pub const LEVELS: [&str; Level::ALL.len()] = [
    Level::Instruction.name(),
    Level::Block.name(),
    Level::Line.name(),
    Level::Function.name(),
];

/// Measurements of a profiler, for one program or as means over programs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Figures {
    /// Errors (`1 - overlap`) by level: `instruction`, `block`, `line`, `function`, `event-stack`; of a profiler that
    /// costs cycles its sampling error under the name of its kind of profile. Of one that watches with most samples.
    pub errors: BTreeMap<String, Mean>,
    /// Answers by question, from 0 to 1, of one that watches with most samples ([`decisions`](super::decisions)).
    pub answers: BTreeMap<String, Mean>,
    /// Errors and answers by the number of samples that were asked for, of one that watches; the fewest first.
    pub by_samples: Vec<AtSamples>,
    /// Errors of independent draws from what it blames if every cycle is sampled, by their number; the fewest first.
    pub by_draws: Vec<AtSamples>,
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

/// Errors and answers with a number of samples.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct AtSamples {
    /// Samples.
    pub samples: u64,
    /// Errors by level.
    pub errors: BTreeMap<String, Mean>,
    /// Answers by question; none of draws.
    pub answers: BTreeMap<String, Mean>,
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

impl Form {
    /// Sampling points among which a search for a budget looks: periods in cycles, or one in so many events. The period of a
    /// profiler that counts instructions is that of as many samples.
    pub(super) fn points(self) -> RangeInclusive<u64> {
        match self {
            Form::Watching | Form::Collected => 100..=100_000_000,
            Form::Bursts => 1..=1_000_000,
        }
    }

    /// The point without a budget, at which a search begins: 1/100 is the densest of the HPS report's grid.
    pub(super) fn usual_point(self) -> u64 {
        match self {
            Form::Watching | Form::Collected => 5000,
            Form::Bursts => 100,
        }
    }
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
    /// The budget for which the point was looked for, as a ratio.
    pub budget: Option<f64>,
    /// How its overhead lies to the budget.
    pub fit: Fit,
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
    /// The group of each program by its cycles.
    pub groups: BTreeMap<String, Group>,
    /// Profilers, the passive ones first.
    pub entries: Vec<Entry>,
    /// Profilers that follow one another in the order of their errors: told apart, or a draw.
    pub pairs: Vec<Pair>,
}

impl Board {
    /// The budgets of profilers at their cost, the smallest first; `None` stands for none.
    #[must_use]
    pub fn budgets(&self) -> Vec<Option<f64>> {
        budgets(&self.entries)
    }
}

/// The budgets of profilers at their cost, the smallest first; `None` stands for none.
pub(super) fn budgets(entries: &[Entry]) -> Vec<Option<f64>> {
    let at_cost = entries.iter().filter(|e| e.form != Form::Watching);
    let mut budgets: Vec<Option<f64>> = at_cost.map(|e| e.budget).collect();
    budgets.sort_by(|a, b| a.partial_cmp(b).unwrap_or(Ordering::Equal));
    budgets.dedup();
    budgets
}

/// Overheads of a profiler in the mean over programs, by sampling point. What failed has none.
pub(super) fn overheads(
    records: &[UnitRecord],
    name: &str,
    kind: Option<ProfileKind>,
) -> Vec<Tried> {
    let mut points: BTreeMap<u64, Vec<&Measurement>> = BTreeMap::new();
    for m in records.iter().flat_map(|r| &r.measurements) {
        let is_wanted = m.scheme == name && m.profile == kind && m.measure == "overhead_ratio";
        if let (true, Some(point)) = (is_wanted, m.one_in) {
            points.entry(point).or_default().push(m);
        }
    }
    let points = points.into_iter();
    let mean = |of: &[&Measurement]| {
        summarize(&of_programs(of).iter().map(|p| p.value).collect::<Vec<_>>()).mean
    };
    points.map(|(point, of)| (point, mean(&of))).collect()
}

/// The boards of records: one for each instruction set and machine. With budgets, each profiler that costs cycles stands there
/// once for each, at the densest point that stays within it.
#[must_use]
pub fn board(records: &[UnitRecord], budgets: &[f64]) -> Vec<Board> {
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
        .map(|(isa, machine, records)| of_group(isa, machine, records, budgets))
        .collect()
}

fn is_of_board(record: &UnitRecord) -> bool {
    [PASSIVE, BIAS, STATES, COSTLY, COLLECTED].contains(&record.study.as_str())
}

fn of_group(isa: &str, machine: &str, records: &[UnitRecord], budgets: &[f64]) -> Board {
    let mut programs: Vec<String> = Vec::new();
    for record in records {
        if !programs.contains(&record.program) {
            programs.push(record.program.clone());
        }
    }
    let all: Vec<&Measurement> = records.iter().flat_map(|r| &r.measurements).collect();
    let mut entries = Vec::new();
    for info in profilers::all() {
        let of_name = all.iter().copied().filter(|m| m.scheme == info.name);
        let of_name: Vec<&Measurement> = of_name.collect();
        let forms: BTreeSet<(Form, Option<ProfileKind>)> =
            of_name.iter().map(|m| (form_of(m), m.profile)).collect();
        for (form, kind) in forms {
            let of_form = |m: &&Measurement| (form_of(m), m.profile) == (form, kind);
            let of_kind: Vec<_> = of_name.iter().copied().filter(of_form).collect();
            let tried = overheads(records, info.name, kind);
            for Choice { point, budget, fit } in choices(form, &of_kind, &tried, budgets) {
                let at_point: Vec<&Measurement> = (of_kind.iter().copied())
                    .filter(|m| point == point_of(m))
                    .collect();
                let of_program = |program: &String| {
                    let mine = at_point.iter().copied().filter(|m| m.program == *program);
                    let mine: Vec<_> = mine.collect();
                    (!mine.is_empty()).then(|| (program.clone(), figures(&mine, kind)))
                };
                entries.push(Entry {
                    name: info.name.to_string(),
                    about: info.about.to_string(),
                    takes: info.takes.to_string(),
                    counts: info.counts.to_string(),
                    form,
                    kind,
                    point,
                    budget,
                    fit,
                    mean: figures(&at_point, kind),
                    by_program: programs.iter().filter_map(of_program).collect(),
                });
            }
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
        groups: groups::of(&all),
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

/// A point at which a profiler stands on the board.
struct Choice {
    point: Option<(u64, u64)>,
    budget: Option<f64>,
    fit: Fit,
}

/// Bursts and frequencies at which a profiler stands on the board: for each budget the densest within it, or else the sparsest
/// that was run; without a budget the densest.
fn choices(
    form: Form,
    measurements: &[&Measurement],
    tried: &[Tried],
    budgets: &[f64],
) -> Vec<Choice> {
    let points = measurements.iter().filter_map(|m| point_of(m));
    let densest = points
        .clone()
        .min_by_key(|&(burst, one_in)| (one_in, burst));
    if budgets.is_empty() || densest.is_none() {
        return vec![Choice {
            point: densest,
            budget: None,
            fit: Fit::Free,
        }];
    }
    let of_budget = |&budget: &f64| {
        let (one_in, fit) = search::chosen(&form.points(), tried, budget)?;
        Some(Choice {
            point: points.clone().find(|point| point.1 == one_in),
            budget: Some(budget),
            fit,
        })
    };
    budgets.iter().filter_map(of_budget).collect()
}

fn figures(measurements: &[&Measurement], kind: Option<ProfileKind>) -> Figures {
    let mut settings: BTreeMap<(&str, &str, Option<u64>), Vec<&Measurement>> = BTreeMap::new();
    for &m in measurements {
        let key = (&*m.measure, &*m.setting, m.x.map(|x| x as u64));
        settings.entry(key).or_default().push(m);
    }
    let mut found = Figures::default();
    let mut deviations: BTreeMap<(String, Option<u64>), f64> = BTreeMap::new();
    let (mut samples, mut draws) = (BTreeMap::new(), BTreeMap::new());
    for ((measure, setting, x), values) in settings {
        let mut mean = mean(&values);
        let level = kind.map_or(setting, |kind| kind.name()).to_string();
        match measure {
            "error_deviation_ratio" => drop(deviations.insert((level, x), mean.mean)),
            "error_ratio" => {
                // The measure of deviations comes first.
                if let Some(deviation) = deviations.get(&(level.clone(), x))
                    && mean.programs == 1
                {
                    mean.deviation = Some(*deviation);
                }
                found.errors.insert(level.clone(), mean);
                at(&mut samples, x).errors.insert(level, mean);
            }
            ANSWER => {
                found.answers.insert(level.clone(), mean);
                at(&mut samples, x).answers.insert(level, mean);
            }
            DRAWN_ERROR => {
                at(&mut draws, x).errors.insert(level, mean);
            }
            "bias_ratio" => drop(found.biases.insert(level, mean)),
            "overhead_ratio" => found.overhead = Some(mean),
            "perturbation_ratio" => found.perturbation = Some(mean),
            "memory_bytes" => found.memory_bytes = Some(mean),
            "samples" => found.samples = Some(mean),
            "interrupts" => found.interrupts = Some(mean),
            _ => {}
        }
    }
    // A profiler at its cost has one number of samples, which its point decides.
    samples.remove(&0);
    found.by_samples = samples.into_values().collect();
    found.by_draws = draws.into_values().collect();
    found
}

/// The entry of a number of samples; 0 stands for none.
fn at(all: &mut BTreeMap<u64, AtSamples>, samples: Option<u64>) -> &mut AtSamples {
    let samples = samples.unwrap_or(0);
    all.entry(samples).or_insert_with(|| AtSamples {
        samples,
        ..AtSamples::default()
    })
}

/// The mean over programs, of each in the mean over its runs; of one program its number with its interval.
pub(super) fn mean(values: &[&Measurement]) -> Mean {
    Mean::over(&of_programs(values))
}

/// The number of each program, in the mean over its runs.
fn of_programs(values: &[&Measurement]) -> Vec<OfProgram> {
    let mut programs: BTreeMap<&str, Vec<&Measurement>> = BTreeMap::new();
    for m in values {
        programs.entry(&m.program).or_default().push(m);
    }
    let of_program = |of: Vec<&Measurement>| match of.as_slice() {
        [one] => OfProgram {
            value: one.value,
            deviation: None,
            half_width: one.interval,
        },
        runs => OfProgram::over(&runs.iter().map(|m| m.value).collect::<Vec<_>>()),
    };
    programs.into_values().map(of_program).collect()
}
