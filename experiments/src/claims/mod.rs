//! What the HPS report claims, held against what was measured.
//!
//! Every verdict is computed by the rule that stands beside it.

mod accuracy;
mod cost;

use std::collections::BTreeSet;
use std::fmt;

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
    /// Nothing was measured that could decide the claim.
    NotMeasured,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Verdict::Confirmed => f.write_str("confirmed"),
            Verdict::Differs(how) => write!(f, "differs: {how}"),
            Verdict::NotConfirmed => f.write_str("not confirmed"),
            Verdict::NotMeasured => f.write_str("not measured"),
        }
    }
}

/// What a claim is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Section {
    /// What collecting costs: Figure 7.
    Cost,
    /// Accuracy and its price: Figures 8 to 10 of the HPS report, the errors of the TIP study.
    Accuracy,
    /// What explains that a number differs.
    Explained,
}

/// A claim of the paper, or a demand on this reproduction, with its verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// The instruction set of the programs that it was held against.
    pub isa: String,
    /// What it is about.
    pub section: Section,
    /// What is claimed.
    pub claim: String,
    /// What the paper says, with its section or figure.
    pub paper: String,
    /// What was measured here.
    pub here: String,
    /// The verdict.
    pub verdict: Verdict,
    /// By which rule.
    pub rule: String,
}

/// A claim before its instruction set is known.
pub(crate) struct Draft {
    pub section: Section,
    pub claim: String,
    pub paper: String,
    pub rule: String,
    /// What was measured, and the verdict; none if nothing was.
    pub found: Option<(String, Verdict)>,
}

impl Draft {
    /// The claim on an instruction set.
    pub fn of(self, isa: &str) -> Claim {
        let (here, verdict) = self.found.unwrap_or((String::new(), Verdict::NotMeasured));
        Claim {
            isa: isa.to_string(),
            section: self.section,
            claim: self.claim,
            paper: self.paper,
            here,
            verdict,
            rule: self.rule,
        }
    }
}

/// Everything about the programs of one instruction set.
struct Data<'a> {
    rows: Vec<&'a Row>,
    bars: Vec<Bar>,
    records: Vec<&'a UnitRecord>,
}

/// A claim without the instruction set: what, paper, rule, and what the data say.
struct Judged {
    claim: String,
    paper: &'static str,
    rule: String,
    /// What was measured, and the verdict; none if nothing was.
    found: Option<(String, Verdict)>,
}

impl Judged {
    fn of(self, isa: &str, section: Section) -> Claim {
        let draft = Draft {
            section,
            claim: self.claim,
            paper: self.paper.to_string(),
            rule: self.rule,
            found: self.found,
        };
        draft.of(isa)
    }
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
        let costs = cost::claims(&data).into_iter();
        let others = accuracy::claims(&data).into_iter();
        let judged = costs
            .map(|judged| (Section::Cost, judged))
            .chain(others.map(|judged| (Section::Accuracy, judged)));
        all.extend(judged.map(|(section, judged)| judged.of(isa, section)));
    }
    all
}

/// Mean, least and greatest of some shares.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Spread {
    mean: f64,
    low: f64,
    high: f64,
    count: usize,
}

impl Spread {
    fn of(values: impl IntoIterator<Item = f64>) -> Option<Spread> {
        let values: Vec<f64> = values.into_iter().filter(|v| v.is_finite()).collect();
        let fold = |first, by: fn(f64, f64) -> f64| values.iter().copied().fold(first, by);
        (!values.is_empty()).then(|| Spread {
            mean: values.iter().sum::<f64>() / values.len() as f64,
            low: fold(f64::INFINITY, f64::min),
            high: fold(f64::NEG_INFINITY, f64::max),
            count: values.len(),
        })
    }

    /// In percent, with what it is a mean over.
    fn percent(&self, what: &str) -> String {
        let [mean, low, high] = [self.mean, self.low, self.high].map(|v| 100.0 * v);
        format!(
            "mean {mean:.2}%, {low:.2} to {high:.2}% over {} {what}",
            self.count
        )
    }
}
