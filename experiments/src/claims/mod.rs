//! Claims of the HPS report, held against the measurements.
//!
//! Every verdict is computed by the rule that stands beside it, and says what would refute the claim. A number agrees
//! with a published one within a quarter of it ([`BAND`]), unless the paper gives a range itself. Identities that the lab
//! must keep are checks and no claims.

mod accuracy;
pub(crate) mod band;
mod checks;
mod cost;
mod price;
pub(crate) mod rule;
pub(crate) mod statement;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use hps_profile::summarize;

pub use self::statement::rounded;
use self::statement::{Number, Statement};
use crate::figure7::{self, Bar};
use crate::measurement::UnitRecord;
use crate::row::Row;

/// How a claim fares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The numbers measured here agree with the claim.
    Confirmed,
    /// The numbers point in the direction of the claim, but differ: how.
    Differs(String),
    /// The numbers contradict the claim.
    NotConfirmed,
    /// The measurements lie within their own noise and decide nothing: how.
    Draw(String),
    /// A statement that no paper claims holds here.
    Holds,
    /// A statement that no paper claims does not hold here, or only in part: how.
    Fails(String),
    /// Nothing was measured that could decide the claim.
    NotMeasured,
}

impl Verdict {
    /// The verdict in the words for what no paper claims, which cannot be confirmed.
    fn of_what_no_paper_claims(self) -> Verdict {
        match self {
            Verdict::Confirmed => Verdict::Holds,
            Verdict::NotConfirmed => Verdict::Fails(String::new()),
            Verdict::Differs(how) => Verdict::Fails(how),
            other => other,
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Verdict::Confirmed => f.write_str("confirmed"),
            Verdict::Differs(how) => write!(f, "differs: {how}"),
            Verdict::NotConfirmed => f.write_str("not confirmed"),
            Verdict::Draw(how) => write!(f, "a draw: {how}"),
            Verdict::Holds => f.write_str("holds"),
            Verdict::Fails(how) if how.is_empty() => f.write_str("does not hold"),
            Verdict::Fails(how) => write!(f, "does not hold: {how}"),
            Verdict::NotMeasured => f.write_str("not measured"),
        }
    }
}

/// Subject of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Section {
    /// Cost of collecting: Figure 7.
    Cost,
    /// Accuracy and its price: Figures 8 to 10 of the HPS report, the errors of the TIP study.
    Accuracy,
    /// Case studies.
    Cases,
    /// Explanations of numbers that differ, and other findings that no paper claims.
    Explained,
    /// Identities that the lab itself must keep. No paper claims them, so that they are neither confirmed nor not.
    Check,
}

impl Section {
    /// Whether a paper claims what stands here.
    fn is_claimed(self) -> bool {
        matches!(self, Section::Cost | Section::Accuracy | Section::Cases)
    }
}

/// A claim of the paper, or a demand on this reproduction, with its verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// The instruction set of the programs that it was held against.
    pub isa: String,
    /// Subject of the claim.
    pub section: Section,
    /// Text of the claim.
    pub claim: String,
    /// Number or statement of the paper, with its section or figure.
    pub paper: String,
    /// Results measured here.
    pub here: String,
    /// The verdict.
    pub verdict: Verdict,
    /// By which rule.
    pub rule: String,
    /// Outcome that would refute the claim.
    pub refuted_by: String,
}

/// Everything about the programs of one instruction set.
#[derive(Default)]
struct Data<'a> {
    rows: Vec<&'a Row>,
    bars: Vec<Bar>,
    records: Vec<&'a UnitRecord>,
}

/// The claims for each instruction set.
#[must_use]
pub fn claims(rows: &[Row], records: &[UnitRecord]) -> Vec<Claim> {
    let bars = figure7::bars(records);
    // Not those of the studies: one of them has a program of its own, for one instruction set.
    let isas: BTreeSet<&str> = (rows.iter().map(|r| r.isa.as_str()))
        .chain(bars.iter().map(|b| b.isa.as_str()))
        .collect();
    let mut isas: Vec<&str> = isas.into_iter().collect();
    isas.sort_by_key(|isa| *isa != "riscv64");
    let mut all = Vec::new();
    for isa in isas {
        let data = Data {
            rows: rows.iter().filter(|r| r.isa == isa).collect(),
            bars: bars.iter().filter(|b| b.isa == isa).cloned().collect(),
            records: records.iter().filter(|r| r.isa == isa).collect(),
        };
        all.extend(statement::of_all(statements(&data), isa));
    }
    all
}

fn statements(data: &Data<'_>) -> Vec<Statement> {
    let mut all = cost::statements(data);
    all.extend(accuracy::statements(data));
    all.extend(checks::statements(data));
    all
}

/// The claims on an instruction set, of which nothing was measured.
#[cfg(test)]
pub(crate) fn unmeasured(isa: &str) -> Vec<Claim> {
    statement::of_all(statements(&Data::default()), isa)
}

/// How far a number may be from a published one and still agree, as a share of it.
pub(crate) const BAND: f64 = 0.25;

/// The place between two numbers at a part of the way from the first to the second: on a logarithmic scale if both are
/// positive, else on a linear one. Verdicts interpolate overheads so, and figures draw their lines so.
#[must_use]
pub fn between(first: f64, second: f64, part: f64) -> f64 {
    if first > 0.0 && second > 0.0 {
        (first.ln() + part * (second.ln() - first.ln())).exp()
    } else {
        first + part * (second - first)
    }
}

/// Mean, least and greatest of some shares, each of a program.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Spread {
    mean: f64,
    /// Half the width of the 95% interval that the mean over other programs like these would have, by Student's t over the
    /// means of the programs. Shares of whole runs have no other noise, and verdicts speak of the programs that were run.
    half_width: Option<f64>,
    low: f64,
    high: f64,
    count: usize,
}

impl Spread {
    fn of<'a>(values: impl IntoIterator<Item = (&'a str, f64)>) -> Option<Spread> {
        let values = values.into_iter().filter(|(_, v)| v.is_finite());
        let values: Vec<(&str, f64)> = values.collect();
        let mut programs: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
        for (program, value) in &values {
            programs.entry(program).or_default().push(*value);
        }
        let means: Vec<f64> = programs.values().map(|of| summarize(of).mean).collect();
        let all = || values.iter().map(|(_, value)| *value);
        (!values.is_empty()).then(|| Spread {
            mean: all().sum::<f64>() / values.len() as f64,
            half_width: summarize(&means).half_width,
            low: all().fold(f64::INFINITY, f64::min),
            high: all().fold(f64::NEG_INFINITY, f64::max),
            count: values.len(),
        })
    }

    /// The mean of shares in percent, with its interval.
    fn mean_percent(&self, decimals: usize) -> String {
        let half = self
            .half_width
            .map(|half| format!(" ± {:.decimals$}", 100.0 * half));
        format!(
            "{:.decimals$}{}",
            100.0 * self.mean,
            half.unwrap_or_default()
        )
    }

    /// The mean as a number of a claim, with what it is a mean over.
    fn number(spread: Option<&Spread>, what: &str) -> Number {
        statement::as_text(spread.map(|spread| (spread.mean, spread.percent(what))))
    }

    /// In percent, with what it is a mean over.
    fn percent(&self, what: &str) -> String {
        let [low, high] = [self.low, self.high].map(|v| 100.0 * v);
        format!(
            "mean {}%, {low:.2} to {high:.2}% over {} {what}",
            self.mean_percent(2),
            self.count
        )
    }
}

/// Meaning of the intervals of costs, for the page.
pub const COST_INTERVALS: &str = "Intervals of costs (±) are those of the mean over other programs like these, by Student's t \
    over programs: whole runs of a deterministic machine have no other noise, and a verdict speaks of the programs that were \
    run. Intervals of accuracies are over the phases of schedules, for these programs.";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_limit_of_a_claim_counts() {
        statement::tests::assert_that_each_limit_counts(&statements(&Data::default()));
    }

    #[test]
    fn lines_are_straight_on_the_scale_of_the_verdict() {
        assert!((between(0.01, 1.0, 0.5) - 0.1).abs() < 1e-12);
        assert!((between(-1.0, 1.0, 0.25) + 0.5).abs() < 1e-12);
    }
}
