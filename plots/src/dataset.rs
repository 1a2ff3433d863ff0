//! Rows grouped into comparable sets, and the means the paper shows.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use hps_experiments::{
    AccuracyResult, CoreKind, ProfileKind, Row, Sampled, TimingResult, half_width_over_phases,
    paper_burst,
};

/// Units with insertions below which an interval is not to be trusted.
const FEW_UNITS: u64 = 10;

/// A number that a row may hold, in percent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Metric {
    /// Overlap with shares of the members that the 90% cut leaves.
    Renormalized,
    /// Overlap with shares of the whole profile.
    Capped,
    /// Cycles added, of the cycles without profiling.
    Overhead,
}

impl Metric {
    /// The row's value in percent, if it has a finite one.
    pub(crate) fn of(self, row: &Row) -> Option<f64> {
        let fraction = match self {
            Metric::Renormalized => row.mean_accuracy(),
            Metric::Capped => match &row.phases {
                Some(phases) => phases.sampled().then_some(phases.capped),
                None => sampled(row).map(|a| a.capped),
            },
            Metric::Overhead => row.timing.map(|t| match t.set_ups {
                Some(set_ups) => set_ups.mean,
                None => t.overhead,
            }),
        };
        fraction.map(|f| f * 100.0).filter(|p| p.is_finite())
    }
}

/// The accuracy of a point that sampled anything. A program that ends before its first burst has none: an accuracy
/// of 0 would say that its samples are wrong.
fn sampled(row: &Row) -> Option<AccuracyResult> {
    row.accuracy.filter(|a| a.samples > 0)
}

/// Half the width of the 95% interval around a row's overhead in percent: of the mean over set-ups if there are several,
/// or of sampled timing.
pub(crate) fn half_width(row: &Row) -> Option<f64> {
    let set_ups = row.timing.and_then(|t| Some(t.set_ups?.half_width));
    let sampled = row.sampled().map(|s| s.half_width);
    set_ups.or(sampled).map(|half| 100.0 * half)
}

/// Half the width of the 95% interval around a row's mean accuracy over phases, in percent.
pub(crate) fn half_width_of_accuracy(row: &Row) -> Option<f64> {
    let half = row.phases.as_ref()?.half_width?;
    row.mean_accuracy().map(|_| 100.0 * half)
}

/// A mean over programs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Mean {
    /// In percent.
    pub value: f64,
    /// Programs that had a value.
    pub programs: usize,
    /// Half the width of its 95% interval: of an accuracy over phases, of an overhead over set-ups or if timing was
    /// sampled. It says nothing about other programs.
    pub half_width: Option<f64>,
}

/// Programs below which there are no quartiles: of fewer values they say nothing.
const LEAST_FOR_QUARTILES: usize = 5;

/// How values of several programs lie.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Spread {
    pub mean: f64,
    pub low: f64,
    pub high: f64,
    /// Programs that had a value.
    pub programs: usize,
    /// Between the quartiles: where the middle half of the programs lies. None with fewer than five programs.
    pub middle: Option<(f64, f64)>,
    /// The values, the smallest first.
    values: Vec<f64>,
}

impl Spread {
    /// None without values.
    pub(crate) fn of(values: impl IntoIterator<Item = f64>) -> Option<Spread> {
        let mut values: Vec<f64> = values.into_iter().filter(|v| v.is_finite()).collect();
        values.sort_by(f64::total_cmp);
        let (low, high) = (*values.first()?, *values.last()?);
        // Between the two nearest values, as spreadsheets do.
        let quantile = |part: f64| {
            let at = part * (values.len() - 1) as f64;
            let below = values[at.floor() as usize];
            below + (values[at.ceil() as usize] - below) * at.fract()
        };
        Some(Spread {
            mean: values.iter().sum::<f64>() / values.len() as f64,
            low,
            high,
            programs: values.len(),
            middle: (values.len() >= LEAST_FOR_QUARTILES).then(|| (quantile(0.25), quantile(0.75))),
            values,
        })
    }

    /// Values that a picture of the spread needs room for.
    pub(crate) fn marks(&self) -> impl Iterator<Item = f64> {
        let ends = self.middle.map(|(low, high)| [low, high]);
        ends.into_iter().flatten().chain([self.mean])
    }

    /// The middle half, or the values themselves where there are too few for quartiles.
    pub(crate) fn middle_or_values(&self, decimals: usize) -> String {
        match self.middle {
            Some((low, high)) => format!("{low:.decimals$} to {high:.decimals$}"),
            None => {
                let values = self.values.iter().map(|v| format!("{v:.decimals$}"));
                values.collect::<Vec<_>>().join(", ")
            }
        }
    }
}

/// Rows that may be compared with each other: one version, machine and instruction set, and one
/// input for each program.
#[derive(Debug)]
pub(crate) struct DataSet<'a> {
    pub version: &'a str,
    pub isa: &'a str,
    pub machine: &'a str,
    pub fingerprint: &'a str,
    /// Set where the rows had to be separated by input.
    pub input: Option<&'a str>,
    pub rows: Vec<&'a Row>,
}

/// One program of a set.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Program<'a> {
    pub name: &'a str,
    pub input: &'a str,
    pub hash: &'a str,
}

/// Separates rows into comparable sets, in a fixed order. Of rows with the same id the last one
/// that succeeded counts, or the last one.
pub(crate) fn group(rows: &[Row]) -> Vec<DataSet<'_>> {
    let mut latest: BTreeMap<&str, &Row> = BTreeMap::new();
    for row in rows {
        let known = latest.entry(row.id.as_str()).or_insert(row);
        if row.failure.is_none() || known.failure.is_some() {
            *known = row;
        }
    }
    let mut inputs: BTreeMap<(&str, &str), BTreeSet<&str>> = BTreeMap::new();
    for row in latest.values() {
        inputs
            .entry((&row.program, &row.program_hash))
            .or_default()
            .insert(&row.input);
    }
    let by_input = inputs.values().any(|set| set.len() > 1);
    let mut sets: BTreeMap<_, Vec<&Row>> = BTreeMap::new();
    for row in latest.into_values() {
        let input = by_input.then_some(row.input.as_str());
        let key = (
            row.version.as_str(),
            row.isa.as_str(),
            row.machine.as_str(),
            row.machine_fingerprint.as_str(),
            input,
        );
        sets.entry(key).or_default().push(row);
    }
    sets.into_iter()
        .map(|((version, isa, machine, fingerprint, input), mut rows)| {
            rows.sort_by_key(|r| (&r.program, &r.program_hash, r.profile, r.burst, r.one_in));
            DataSet {
                version,
                isa,
                machine,
                fingerprint,
                input,
                rows,
            }
        })
        .collect()
}

/// Whether any of these rows was timed on the instruction-driven core.
fn is_by_instruction(rows: &[&Row]) -> bool {
    let on = |row: &&Row| {
        row.timing
            .as_ref()
            .is_some_and(|t| t.core == CoreKind::Instruction)
    };
    rows.iter().any(on)
}

/// How exact a row's numbers are, beside those of other rows of its point.
fn exactness(row: &Row) -> u8 {
    match &row.timing {
        _ if row.failure.is_some() => 0,
        Some(t) if t.sampled.is_some() => 1,
        Some(t) if t.core == CoreKind::Instruction => 2,
        _ => 3,
    }
}

impl<'a> DataSet<'a> {
    /// Origin of a figure's numbers: machine, instruction set, input and version.
    pub(crate) fn origin(&self) -> String {
        let input = self
            .input
            .map(|i| format!(" · input {i}"))
            .unwrap_or_default();
        let core = if is_by_instruction(&self.rows) {
            " · instruction-driven core"
        } else {
            ""
        };
        format!(
            "{}{core} · {}{input} · hps {}",
            self.machine, self.isa, self.version
        )
    }

    /// Notes on how rows were timed, in sentences without their full stops; empty if every cycle was simulated in the
    /// order of time.
    pub(crate) fn timing_notes(&self) -> Vec<String> {
        let by_instruction = is_by_instruction(&self.rows).then(|| {
            "timed on the instruction-driven core, which asks caches in program order: cycles differ a little from those \
             of the cycle-driven core, with and without the profiler"
                .to_string()
        });
        self.sampling().into_iter().chain(by_instruction).collect()
    }

    /// Notes on where schedules begin and on set-ups, in sentences without their full stops.
    pub(crate) fn phase_notes(&self) -> Vec<String> {
        let phases = self
            .rows
            .iter()
            .filter_map(|row| Some(row.phases.as_ref()?.count()));
        let phases = phases.max().map(|count| {
            format!(
                "accuracies are means over {count} phases, evenly drawn places of a schedule's period where it begins, and \
                 0 at a phase that samples nothing; ± is half of the 95% interval of the mean over phases, the same ones \
                 for every program and point"
            )
        });
        let set_ups = self
            .rows
            .iter()
            .filter_map(|row| Some(row.timing?.set_ups?.count));
        let set_ups = set_ups.max().map(|count| {
            format!(
                "overheads are means over {count} set-ups, environments of other sizes that move the stack; ± is half of \
                 the 95% interval of the mean over them"
            )
        });
        phases.into_iter().chain(set_ups).collect()
    }

    /// How timing was sampled, in a sentence; `None` if every cycle was simulated.
    fn sampling(&self) -> Option<String> {
        let rows = || self.rows.iter().filter(|row| row.sampled().is_some());
        let sampled: Vec<&Sampled> = rows().filter_map(|row| row.sampled()).collect();
        let plan = sampled.first()?.plan;
        let units = || sampled.iter().map(|s| s.units);
        let units = match (units().min()?, units().max()?) {
            (fewest, most) if fewest == most => most.to_string(),
            (fewest, most) => format!("{fewest} to {most}"),
        };
        let mut text = format!(
            "timing sampled: {units} units a run, each of {} instructions behind {} of warm-up, one in {}; ± is half of \
             the 95% confidence interval, which speaks of sampling alone; cycles are estimates",
            plan.unit, plan.warm_up, plan.period
        );
        if sampled.iter().any(|s| s.plan != plan) {
            text.push_str("; there are rows of other plans");
        }
        let hardly_met = |row: &&&Row| {
            let inserted = |t: &TimingResult| t.inserted_instructions + t.handler_instructions > 0;
            row.timing.as_ref().is_some_and(inserted)
                && row
                    .sampled()
                    .is_some_and(|s| s.units_with_insertions < FEW_UNITS)
        };
        match rows().filter(hardly_met).count() {
            0 => {}
            few => {
                let _ = write!(
                    text,
                    "; {few} of {} points met insertions in fewer than {FEW_UNITS} units: there the interval says \
                     little, and a smaller period is needed",
                    sampled.len()
                );
            }
        }
        Some(text)
    }

    /// The kinds of profile present, in the paper's order.
    pub(crate) fn kinds(&self) -> Vec<KindData<'a>> {
        ProfileKind::ALL
            .into_iter()
            .map(|kind| KindData::new(kind, &self.rows))
            .filter(|data| !data.programs.is_empty())
            .collect()
    }
}

/// The rows of one kind of profile in a set, by program, burst and frequency.
#[derive(Debug)]
pub(crate) struct KindData<'a> {
    pub kind: ProfileKind,
    pub programs: Vec<Program<'a>>,
    /// Names that tell the programs apart, parallel to `programs`.
    pub names: Vec<String>,
    /// Ascending.
    pub bursts: Vec<u64>,
    /// `n` of 1/n, ascending: highest frequency first.
    pub frequencies: Vec<u64>,
    points: BTreeMap<(usize, u64, u64), &'a Row>,
}

impl<'a> KindData<'a> {
    fn new(kind: ProfileKind, rows: &[&'a Row]) -> Self {
        let rows: Vec<&'a Row> = rows.iter().copied().filter(|r| r.profile == kind).collect();
        let identity = |r: &'a Row| Program {
            name: &r.program,
            input: &r.input,
            hash: &r.program_hash,
        };
        let programs: Vec<Program<'a>> = rows
            .iter()
            .map(|r| identity(r))
            .collect::<BTreeSet<_>>()
            .into_iter()
            .collect();
        let mut points = BTreeMap::new();
        for row in &rows {
            let program = programs.binary_search(&identity(row)).unwrap_or_default();
            let known = points
                .entry((program, row.burst, row.one_in))
                .or_insert(*row);
            // A point that was timed in several ways is shown with its most exact number.
            if row.failure.is_none() && exactness(row) >= exactness(known) {
                *known = *row;
            }
        }
        let unique = |of: fn(&Row) -> u64| {
            rows.iter()
                .map(|r| of(r))
                .collect::<BTreeSet<_>>()
                .into_iter()
                .collect()
        };
        Self {
            kind,
            names: names(&programs),
            programs,
            bursts: unique(|r| r.burst),
            frequencies: unique(|r| r.one_in),
            points,
        }
    }

    /// The row of a point.
    pub(crate) fn row(&self, program: usize, burst: u64, one_in: u64) -> Option<&'a Row> {
        self.points.get(&(program, burst, one_in)).copied()
    }

    /// A program's value at a point, in percent.
    pub(crate) fn value(
        &self,
        metric: Metric,
        program: usize,
        burst: u64,
        one_in: u64,
    ) -> Option<f64> {
        metric.of(self.row(program, burst, one_in)?)
    }

    /// The mean over the programs that have a value at a point.
    pub(crate) fn mean(&self, metric: Metric, burst: u64, one_in: u64) -> Option<Mean> {
        let values: Vec<f64> = (0..self.programs.len())
            .filter_map(|p| self.value(metric, p, burst, one_in))
            .collect();
        let rows = (0..self.programs.len()).filter_map(|p| self.row(p, burst, one_in));
        // The programs' errors are independent.
        let squares = rows.filter_map(half_width).map(|h| h * h);
        let squares = squares.reduce(|sum, square| sum + square);
        let count = values.len() as f64;
        (!values.is_empty()).then(|| Mean {
            value: values.iter().sum::<f64>() / count,
            programs: values.len(),
            half_width: match metric {
                Metric::Overhead => squares.map(|sum| sum.sqrt() / count),
                Metric::Renormalized => {
                    let rows = (0..self.programs.len()).filter_map(|p| self.row(p, burst, one_in));
                    let sampled = rows.filter(|row| row.mean_accuracy().is_some());
                    half_width_over_phases(sampled).map(|half| 100.0 * half)
                }
                Metric::Capped => None,
            },
        })
    }

    /// How the programs that have a value at a point lie.
    pub(crate) fn spread(&self, metric: Metric, burst: u64, one_in: u64) -> Option<Spread> {
        let programs = 0..self.programs.len();
        Spread::of(programs.filter_map(|p| self.value(metric, p, burst, one_in)))
    }

    /// The mean accuracy and overhead over the programs that have both at a point.
    pub(crate) fn mean_pair(&self, burst: u64, one_in: u64) -> Option<(f64, f64)> {
        let pairs: Vec<(f64, f64)> = (0..self.programs.len())
            .filter_map(|p| self.pair(p, burst, one_in))
            .collect();
        let count = pairs.len() as f64;
        (!pairs.is_empty()).then(|| {
            (
                pairs.iter().map(|p| p.0).sum::<f64>() / count,
                pairs.iter().map(|p| p.1).sum::<f64>() / count,
            )
        })
    }

    /// A program's accuracy and overhead at a point, if it has both.
    pub(crate) fn pair(&self, program: usize, burst: u64, one_in: u64) -> Option<(f64, f64)> {
        Some((
            self.value(Metric::Renormalized, program, burst, one_in)?,
            self.value(Metric::Overhead, program, burst, one_in)?,
        ))
    }

    /// Bursts with at least one value of the metric.
    pub(crate) fn bursts_with(&self, metric: Metric) -> Vec<u64> {
        let has = |burst: &u64| {
            self.frequencies
                .iter()
                .any(|&f| self.mean(metric, *burst, f).is_some())
        };
        self.bursts.iter().copied().filter(has).collect()
    }

    /// The burst of the paper's Figure 8, or the nearest to it that the rows have.
    pub(crate) fn shown_burst(&self) -> u64 {
        let wanted = paper_burst(self.kind);
        self.bursts
            .iter()
            .copied()
            .min_by_key(|b| b.abs_diff(wanted))
            .unwrap_or(wanted)
    }

    /// Fewest and most programs behind the means of a metric, over the points that have any.
    pub(crate) fn coverage(&self, metric: Metric) -> Option<(usize, usize)> {
        let counts = || {
            self.bursts
                .iter()
                .flat_map(|&b| self.frequencies.iter().map(move |&f| (b, f)))
                .filter_map(|(b, f)| self.mean(metric, b, f))
                .map(|m| m.programs)
        };
        Some((counts().min()?, counts().max()?))
    }
}

/// Names of programs, with input or hash where the name alone would be ambiguous.
fn names(programs: &[Program<'_>]) -> Vec<String> {
    programs
        .iter()
        .map(|p| {
            let same = || programs.iter().filter(|q| q.name == p.name);
            let mut name = p.name.to_string();
            if same().any(|q| q.input != p.input) {
                name = format!("{name} ({})", p.input);
            }
            if same().any(|q| q.input == p.input && q.hash != p.hash) {
                name = format!("{name} @{}", p.hash.chars().take(8).collect::<String>());
            }
            name
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quartiles_are_those_of_the_textbook() {
        let spread = Spread::of([4.0, 1.0, 3.0, 2.0, 10.0]).expect("values");
        assert_eq!((spread.low, spread.high, spread.mean), (1.0, 10.0, 4.0));
        assert_eq!(spread.middle, Some((2.0, 4.0)));
        assert_eq!(spread.middle_or_values(1), "2.0 to 4.0");
        let four = Spread::of([4.0, 1.0, f64::NAN, 3.0, 2.0]).expect("values");
        assert_eq!((four.middle, four.programs), (None, 4));
        assert_eq!(four.middle_or_values(1), "1.0, 2.0, 3.0, 4.0");
        assert_eq!(Spread::of([]), None);
    }
}
