//! How often intervals of sampled timing hold the exact value.

use hps_experiments::studies::coverage::{BURSTS, ESTIMATE, EXACT, HOLDS, NAME, ONE_IN, UNITS};
use hps_experiments::studies::kernels;
use hps_experiments::{Measurement, ProfileKind, UnitRecord};

use super::data::Numbers;
use crate::PlotError;
use crate::axis::frequency;
use crate::chapter::{Chapter, ChapterTable};

pub(super) fn chapter(records: &[UnitRecord]) -> Result<Option<Chapter>, PlotError> {
    let Some(numbers) = Numbers::of(records, NAME) else {
        return Ok(None);
    };
    let cases = cases(&numbers);
    let all: Vec<&Case> = cases.iter().collect();
    let tally = Tally::of(&all);
    let text = vec![
        format!(
            "Every program, and every kernel that does one thing alone, is timed whole, without a profile and with each kind \
             (bursts {} and {}, {}), and then by units, one in 11,000 to 90,000 instructions. Each estimate is a case: the cycles an instruction, or an overhead. What is nominal \
             95% held the exact value in {} of {} cases, {:.1}%.",
            BURSTS[0],
            BURSTS[1],
            frequency(ONE_IN),
            tally.held,
            tally.cases,
            tally.percent()
        ),
        "Cases of one program share its exact runs and are not independent. An overhead whose units met too few insertions is \
         refused, and is no case."
            .to_string(),
    ];
    Ok(Some(Chapter {
        id: NAME.to_string(),
        title: "Intervals of sampled timing, held against exact runs".to_string(),
        text,
        figures: Vec::new(),
        tables: vec![
            by_group(&cases),
            by_distance(&cases),
            by_program(&numbers, &cases),
        ],
    }))
}

/// An estimate with its interval beside the exact value.
struct Case {
    program: String,
    is_kernel: bool,
    /// `None`: cycles an instruction.
    kind: Option<ProfileKind>,
    period: f64,
    estimate: f64,
    half_width: f64,
    exact: f64,
    holds: bool,
    units: f64,
}

fn cases(numbers: &Numbers<'_>) -> Vec<Case> {
    let mut cases = Vec::new();
    for program in numbers.programs() {
        let of_program = numbers.program(&program);
        for estimate in of_program.measure(ESTIMATE).iter() {
            let point = |m: &Measurement| (m.profile, m.burst, m.x);
            let same = |m: &Measurement| point(m) == point(estimate);
            let value = |measure| of_program.measure(measure).only(same).value();
            let (Some(exact), Some(holds), Some(units)) =
                (value(EXACT), value(HOLDS), value(UNITS))
            else {
                continue;
            };
            cases.push(Case {
                program: program.clone(),
                is_kernel: kernels::NAMES.contains(&estimate.program.as_str()),
                kind: estimate.profile,
                period: estimate.x.unwrap_or(0.0),
                estimate: estimate.value,
                half_width: estimate.interval.unwrap_or(f64::INFINITY),
                exact,
                holds: holds == 1.0,
                units,
            });
        }
    }
    cases
}

/// How many cases held, and how wide and how far off they are.
struct Tally {
    cases: usize,
    held: usize,
    /// Mean error, in half widths: a bias where it is far from 0.
    bias: f64,
}

impl Tally {
    fn of(cases: &[&Case]) -> Tally {
        let errors = cases.iter().map(|c| (c.estimate - c.exact) / c.half_width);
        Tally {
            cases: cases.len(),
            held: cases.iter().filter(|c| c.holds).count(),
            bias: errors.sum::<f64>() / cases.len().max(1) as f64,
        }
    }

    fn percent(&self) -> f64 {
        100.0 * self.held as f64 / self.cases.max(1) as f64
    }

    fn cells(&self) -> [String; 3] {
        [
            format!("{} of {}", self.held, self.cases),
            format!("{:.1}", self.percent()),
            format!("{:+.2}", self.bias),
        ]
    }
}

const TALLY: [&str; 3] = ["held", "%", "mean error in half widths"];

/// Estimated quantities: cycles an instruction, then the overhead of each kind.
fn estimated() -> impl Iterator<Item = (Option<ProfileKind>, &'static str)> {
    let kinds = ProfileKind::ALL.map(|kind| (Some(kind), kind.title()));
    [(None, "cycles an instruction")].into_iter().chain(kinds)
}

fn by_group(cases: &[Case]) -> ChapterTable {
    let head = [&["Of", "Estimated"], &TALLY[..]].concat();
    let mut table = ChapterTable::new("Programs and kernels", 2, &head);
    let groups = [("programs", false), ("kernels", true)];
    for (group, kernels) in groups {
        for (what, overheads) in [("cycles an instruction", false), ("overheads", true)] {
            let of = (cases.iter())
                .filter(|case| case.is_kernel == kernels && case.kind.is_some() == overheads);
            let of: Vec<&Case> = of.collect();
            if !of.is_empty() {
                let mut row = vec![group.to_string(), what.to_string()];
                row.extend(Tally::of(&of).cells());
                table.rows.push(row);
            }
        }
    }
    table
}

fn by_program(numbers: &Numbers<'_>, cases: &[Case]) -> ChapterTable {
    let head = [
        &["Program", "Estimated"],
        &TALLY[..],
        &["mean half width, % of the exact value"],
    ]
    .concat();
    let mut table = ChapterTable::new("By program", 2, &head);
    table.folded = true;
    for program in numbers.programs() {
        for (kind, what) in estimated() {
            let of = cases
                .iter()
                .filter(|c| c.program == program && c.kind == kind);
            let of: Vec<&Case> = of.collect();
            if of.is_empty() {
                continue;
            }
            let width = of
                .iter()
                .map(|c| (c.half_width / c.exact).abs())
                .sum::<f64>()
                / of.len() as f64;
            let mut row = vec![program.clone(), what.to_string()];
            row.extend(Tally::of(&of).cells());
            row.push(format!("{:.1}", 100.0 * width));
            table.rows.push(row);
        }
    }
    table
}

fn by_distance(cases: &[Case]) -> ChapterTable {
    let head = [&["Estimated", "One unit in"], &TALLY[..], &["fewest units"]].concat();
    let mut table = ChapterTable::new("By what is estimated, and from how many units", 1, &head);
    for (kind, what) in estimated() {
        let mut periods: Vec<f64> = cases
            .iter()
            .filter(|c| c.kind == kind)
            .map(|c| c.period)
            .collect();
        periods.sort_by(f64::total_cmp);
        periods.dedup();
        let all = cases.iter().filter(|c| c.kind == kind).collect::<Vec<_>>();
        let lines = periods.iter().map(|period| {
            let of = all
                .iter()
                .copied()
                .filter(|c| c.period == *period)
                .collect();
            (period.to_string(), of)
        });
        for (distance, of) in lines.chain([("all".to_string(), all.clone())]) {
            let of: Vec<&Case> = of;
            if of.is_empty() {
                continue;
            }
            let fewest = of.iter().map(|c| c.units).fold(f64::INFINITY, f64::min);
            let mut row = vec![what.to_string(), distance];
            row.extend(Tally::of(&of).cells());
            row.push(fewest.to_string());
            table.rows.push(row);
        }
    }
    table
}
