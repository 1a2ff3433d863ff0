//! The answer of a sweep: for each kind of profile the cheapest burst and frequency that are accurate enough.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use hps_profile::ProfileKind;

use crate::estimate::Estimate;
use crate::row::Row;
use crate::table::Mean;

/// Accuracy that is enough, as a mean over programs.
pub const ENOUGH: f64 = 0.9;

/// A way to profile, with what it reaches and costs.
#[derive(Clone, Debug)]
pub struct Candidate<T> {
    /// The way.
    pub what: T,
    /// Mean accuracy over programs, in `0..=1`.
    pub accuracy: Mean,
    /// Mean overhead over programs as a fraction; `None` if nothing was timed.
    pub overhead: Option<Mean>,
    /// Sampling rate, by which ways that were not timed are compared.
    pub rate: f64,
}

impl<T> Candidate<T> {
    /// Cost: its overhead, or how often it samples if nothing was timed.
    fn cost(&self) -> f64 {
        self.overhead.map_or(self.rate, |overhead| overhead.value)
    }
}

/// Why a way was chosen among several.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// Mean accuracy over programs, in `0..=1`.
    pub accuracy: Mean,
    /// Mean overhead over programs as a fraction; `None` if nothing was timed.
    pub overhead: Option<Mean>,
    /// Ways that were compared.
    pub points: usize,
    /// How many of them have an accuracy of [`ENOUGH`]. Without any the most accurate one is chosen.
    pub enough: usize,
}

impl Choice {
    /// The cheapest of the candidates that are accurate enough, or else the most accurate one.
    pub fn among<'c, T>(all: &[&'c Candidate<T>]) -> Option<(&'c T, Choice)> {
        let enough = all.iter().filter(|c| c.accuracy.value >= ENOUGH);
        let cheapest = enough.clone().min_by(|a, b| a.cost().total_cmp(&b.cost()));
        let closest = (all.iter()).max_by(|a, b| a.accuracy.value.total_cmp(&b.accuracy.value));
        let chosen = cheapest.or(closest)?;
        let choice = Choice {
            accuracy: chosen.accuracy,
            overhead: chosen.overhead,
            points: all.len(),
            enough: enough.count(),
        };
        Some((&chosen.what, choice))
    }

    /// Accuracy and overhead as text: `92.7 ± 1.3% accurate at 0.70 ± 0.31% overhead`.
    #[must_use]
    pub fn measured(&self) -> String {
        let mut text = format!("{} accurate", self.accuracy.percent(1));
        if let Some(overhead) = &self.overhead {
            let _ = write!(text, " at {} overhead", overhead.percent(2));
        }
        text
    }

    /// Why this point: how many were compared, and how many are accurate enough.
    #[must_use]
    pub fn reason(&self) -> String {
        let enough = 100.0 * ENOUGH;
        let cheapest = match self.overhead {
            Some(_) => "cheapest",
            None => "rarest",
        };
        let programs = self.overhead.unwrap_or(self.accuracy).over();
        match (self.points, self.enough) {
            (1, 0) => format!("the one point measured, below {enough:.0}%; {programs}"),
            (1, _) => format!("the one point measured; {programs}"),
            (points, 0) => {
                format!(
                    "the most accurate of {points} points, none of which reaches {enough:.0}%; {programs}"
                )
            }
            (points, 1) => {
                format!("the only one of {points} points that reaches {enough:.0}%; {programs}")
            }
            (points, reach) => format!(
                "the {cheapest} of the {reach} points out of {points} that reach {enough:.0}%; {programs}"
            ),
        }
    }
}

/// Which burst and frequency to take for a kind of profile, of the points that most programs have.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// Instruction set.
    pub isa: String,
    /// Machine.
    pub machine: String,
    /// Kind of profile.
    pub kind: ProfileKind,
    /// Burst length in events.
    pub burst: u64,
    /// One event in this many is sampled.
    pub one_in: u64,
    /// Why this point. Its accuracy is a mean over programs, each a mean over its phases.
    pub choice: Choice,
}

/// A burst and a frequency, with the means over the programs that have them.
type Point = Candidate<(u64, u64)>;

impl Point {
    fn of(at: (u64, u64), rows: &[&Row]) -> Option<Point> {
        let accuracy = |row: &&Row| Estimate::over(&row.accuracies()).map(|e| e.mean);
        let overhead = |row: &&Row| row.timing.as_ref().map(|timing| timing.overhead);
        Some(Candidate {
            what: at,
            accuracy: Mean::of(rows.iter().filter_map(accuracy))?,
            overhead: Mean::of(rows.iter().filter_map(overhead)),
            rate: 1.0 / at.1 as f64,
        })
    }

    fn timed(&self) -> usize {
        self.overhead.map_or(0, |overhead| overhead.count)
    }
}

/// The answers of rows, by instruction set, machine and kind of profile. Rows of a sweep that goes on may be missing: points
/// that fewer programs have than others are not compared, since programs differ more than points.
#[must_use]
pub fn answers<'r>(rows: impl IntoIterator<Item = &'r Row>) -> Vec<Answer> {
    /// Rows by burst and frequency.
    type Points<'r> = BTreeMap<(u64, u64), Vec<&'r Row>>;
    let mut sets: BTreeMap<(&str, &str, ProfileKind), Points<'_>> = BTreeMap::new();
    for row in rows.into_iter().filter(|row| row.failure.is_none()) {
        let set = sets.entry((&row.isa, &row.machine, row.profile));
        let points = set.or_default();
        points.entry((row.burst, row.one_in)).or_default().push(row);
    }
    sets.into_iter()
        .filter_map(|((isa, machine, kind), points)| {
            let points = points.into_iter();
            let all: Vec<Point> = points
                .filter_map(|(at, rows)| Point::of(at, &rows))
                .collect();
            let most = |count: fn(&Point) -> usize| all.iter().map(count).max();
            let (timed, measured) = (most(Point::timed)?, most(|c| c.accuracy.count)?);
            let whole = all.iter().filter(|c| match timed {
                0 => c.accuracy.count == measured,
                _ => c.timed() == timed,
            });
            let (&(burst, one_in), choice) = Choice::among(&whole.collect::<Vec<_>>())?;
            Some(Answer {
                isa: isa.to_string(),
                machine: machine.to_string(),
                kind,
                burst,
                one_in,
                choice,
            })
        })
        .collect()
}

impl Answer {
    /// What was measured at the point: `burst 1, 1/1000: 92.7 ± 1.3% accurate at 0.70 ± 0.31% overhead`.
    #[must_use]
    pub fn point(&self) -> String {
        let measured = self.choice.measured();
        format!("burst {}, 1/{}: {measured}", self.burst, self.one_in)
    }
}

/// The answers as text, one a line: of which kind of profile (and instruction set and machine, if there are several), and the
/// answer.
#[must_use]
pub fn answer_lines(answers: &[Answer]) -> Vec<(String, String)> {
    let several = |of: fn(&Answer) -> &str| {
        let names: BTreeSet<&str> = answers.iter().map(of).collect();
        names.len() > 1
    };
    let (isas, machines) = (several(|a| &a.isa), several(|a| &a.machine));
    let line = |answer: &Answer| {
        let mut of = answer.kind.title().to_string();
        if isas {
            let _ = write!(of, ", {}", answer.isa);
        }
        if machines {
            let _ = write!(of, ", {}", answer.machine);
        }
        (
            of,
            format!("{} ({})", answer.point(), answer.choice.reason()),
        )
    };
    answers.iter().map(line).collect()
}

/// The answers of rows as text; empty without any.
#[must_use]
pub fn answers_text<'r>(rows: impl IntoIterator<Item = &'r Row>) -> String {
    let lines = answer_lines(&answers(rows)).into_iter();
    lines
        .map(|(of, answer)| format!("{of}: {answer}\n"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::TimingResult;

    fn row(program: &str, at: (u64, u64), accuracy: f64, overhead: Option<f64>) -> Row {
        let mut row = Row::example(program, ProfileKind::Method, at, accuracy);
        row.timing = overhead.map(|overhead| TimingResult {
            baseline_cycles: 1000,
            cycles: 1000,
            overhead,
            instructions: 1000,
            inserted_instructions: 0,
            handler_instructions: 0,
            extra_misses: None,
            set_ups: None,
            core: hps_pipeline::core::CoreKind::Cycle,
            sampled: None,
        });
        row
    }

    fn chosen(rows: &[Row]) -> ((u64, u64), usize, usize) {
        let [answer] = &answers(rows)[..] else {
            panic!("one kind, one answer");
        };
        (
            (answer.burst, answer.one_in),
            answer.choice.enough,
            answer.choice.points,
        )
    }

    #[test]
    fn the_cheapest_accurate_point_is_taken() {
        let mut rows = vec![
            row("a", (1, 10), 0.99, Some(0.2)),
            row("a", (1, 100), 0.95, Some(0.02)),
            row("a", (10, 100), 0.93, Some(0.03)),
            row("a", (1, 1000), 0.80, Some(0.002)),
        ];
        assert_eq!(chosen(&rows), ((1, 100), 3, 4));
        assert_eq!(
            answers_text(&rows),
            "hot method: burst 1, 1/100: 95.0% accurate at 2.00% overhead (the cheapest of the 3 points out of 4 that reach \
             90%; 1 program)\n"
        );
        // A second program takes the mean below what is enough.
        rows.extend([
            row("b", (1, 10), 0.97, Some(0.2)),
            row("b", (1, 100), 0.80, Some(0.01)),
            row("b", (10, 100), 0.90, Some(0.05)),
        ]);
        assert_eq!(chosen(&rows), ((10, 100), 2, 3));
    }

    #[test]
    fn without_an_accurate_point_the_closest_is_named() {
        let rows = [
            row("a", (1, 10), 0.5, Some(0.2)),
            row("a", (1, 100), 0.6, Some(0.02)),
        ];
        assert_eq!(chosen(&rows), ((1, 100), 0, 2));
        assert!(answers_text(&rows).contains("none of which reaches 90%"));
    }

    #[test]
    fn without_times_the_rarest_sampling_is_cheapest() {
        let rows = [
            row("a", (1, 10), 0.95, None),
            row("a", (1, 100), 0.91, None),
            row("a", (1, 1000), 0.6, None),
        ];
        assert_eq!(chosen(&rows), ((1, 100), 2, 3));
        assert!(answers_text(&rows).contains("the rarest of the 2 points"));
    }

    #[test]
    fn failed_rows_answer_nothing() {
        let mut failed = row("a", (1, 10), 0.95, None);
        failed.failure = Some("it broke".to_string());
        assert!(answers(&[failed]).is_empty());
    }
}
