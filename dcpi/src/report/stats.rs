//! `dcpistats`: how samples vary over several sets, as in the paper's figure 3; and the difference of two.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::percent;

/// How the samples of a procedure vary over sets.
#[derive(Clone, Debug, PartialEq)]
pub struct Spread {
    /// The procedure.
    pub procedure: String,
    /// Samples of the procedure in each set.
    pub counts: Vec<u64>,
}

impl Spread {
    /// All its samples.
    #[must_use]
    pub fn sum(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The mean over sets.
    #[must_use]
    pub fn mean(&self) -> f64 {
        self.sum() as f64 / self.counts.len().max(1) as f64
    }

    /// The standard deviation, of a sample.
    #[must_use]
    pub fn deviation(&self) -> f64 {
        let mean = self.mean();
        let squares = self.counts.iter().map(|c| (*c as f64 - mean).powi(2));
        let freedom = self.counts.len().saturating_sub(1).max(1);
        (squares.sum::<f64>() / freedom as f64).sqrt()
    }

    /// The fewest and the most.
    #[must_use]
    pub fn extremes(&self) -> (u64, u64) {
        let least = self.counts.iter().min().copied().unwrap_or(0);
        (least, self.counts.iter().max().copied().unwrap_or(0))
    }

    /// The distance of the extremes in percent of the sum, by which the paper sorts.
    #[must_use]
    pub fn range_percent(&self) -> f64 {
        let (least, most) = self.extremes();
        percent((most - least) as f64, self.sum() as f64)
    }
}

/// The spreads of procedures over sets of samples, the widest first.
#[must_use]
pub fn spreads(sets: &[BTreeMap<String, u64>]) -> Vec<Spread> {
    let mut all: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
    for (at, set) in sets.iter().enumerate() {
        for (procedure, count) in set {
            let counts = all.entry(procedure).or_insert_with(|| vec![0; sets.len()]);
            counts[at] += count;
        }
    }
    let mut spreads: Vec<Spread> = all
        .into_iter()
        .map(|(procedure, counts)| Spread {
            procedure: procedure.to_string(),
            counts,
        })
        .collect();
    spreads.sort_by(|a, b| b.range_percent().total_cmp(&a.range_percent()));
    spreads
}

/// The listing. Procedures with less than a share of all samples (in percent) are left out: their spread is chance.
#[must_use]
pub fn stats(sets: &[BTreeMap<String, u64>], least_percent: f64, top: usize) -> String {
    let totals: Vec<u64> = sets.iter().map(|set| set.values().sum()).collect();
    let total: u64 = totals.iter().sum();
    let mut out = "Number of samples of type cycles\n".to_string();
    for (at, count) in totals.iter().enumerate() {
        let _ = write!(out, "set {:>2} = {count:>9}", at + 1);
        out += if (at + 1).is_multiple_of(4) {
            "\n"
        } else {
            "   "
        };
    }
    let _ = writeln!(out, "\nTOTAL {total}\n");
    let _ = writeln!(
        out,
        "{:>8} {:>12} {:>7} {:>4} {:>12} {:>11} {:>10} {:>10}  procedure",
        "range%", "sum", "sum%", "N", "mean", "std-dev", "min", "max"
    );
    let wanted = spreads(sets);
    let wanted = wanted
        .iter()
        .filter(|s| percent(s.sum() as f64, total as f64) >= least_percent);
    for spread in wanted.take(top) {
        let (least, most) = spread.extremes();
        let _ = writeln!(
            out,
            "{:>7.2}% {:>12} {:>6.2}% {:>4} {:>12.2} {:>11.2} {:>10} {:>10}  {}",
            spread.range_percent(),
            spread.sum(),
            percent(spread.sum() as f64, total as f64),
            spread.counts.len(),
            spread.mean(),
            spread.deviation(),
            least,
            most,
            spread.procedure
        );
    }
    out
}

/// The difference of two sets, by procedure, the largest first: as shares, so that sets of different length compare.
#[must_use]
pub fn difference(
    before: &BTreeMap<String, u64>,
    after: &BTreeMap<String, u64>,
    top: usize,
) -> String {
    let (all_before, all_after) = (before.values().sum::<u64>(), after.values().sum::<u64>());
    let names: std::collections::BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let mut rows: Vec<(f64, u64, u64, &String)> = names
        .into_iter()
        .map(|name| {
            let count = |set: &BTreeMap<String, u64>| set.get(name).copied().unwrap_or(0);
            let (a, b) = (count(before), count(after));
            let share = percent(b as f64, all_after as f64) - percent(a as f64, all_before as f64);
            (share, a, b, name)
        })
        .collect();
    rows.sort_by(|a, b| b.0.abs().total_cmp(&a.0.abs()).then_with(|| a.3.cmp(b.3)));
    let mut out = format!("{all_before} samples before, {all_after} after\n\n");
    let _ = writeln!(
        out,
        "{:>9} {:>10} {:>10}  procedure",
        "points", "before", "after"
    );
    for (share, a, b, name) in rows.into_iter().take(top) {
        let _ = writeln!(out, "{share:>+8.2}% {a:>10} {b:>10}  {name}");
    }
    out
}
