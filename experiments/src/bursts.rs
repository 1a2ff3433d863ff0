//! Bursts against each other at the same frequency, phase by phase.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use hps_profile::ProfileKind;

use crate::estimate::{Estimate, differences, mean_by_phase};
use crate::row::Row;

/// The bursts at one frequency, over the programs that have a row for each of them. A burst that samples nothing has an
/// accuracy of 0 there: it has found nothing.
pub(crate) struct AtFrequency {
    pub one_in: u64,
    /// Mean accuracy by burst, the shortest first.
    pub means: Vec<(u64, Estimate)>,
    /// The burst with the highest mean.
    pub best: u64,
    /// Bursts that the phases do not tell from the best one.
    pub draws: Vec<u64>,
    /// Each longer burst less the shortest one.
    pub gains: Vec<(u64, Estimate)>,
}

impl AtFrequency {
    /// Which burst is best, in words: `1/100: burst 10 (45.2 ± 0.8%)`.
    pub fn words(&self) -> String {
        let best = self.means.iter().find(|(burst, _)| *burst == self.best);
        let drawn: Vec<String> = self.draws.iter().map(u64::to_string).collect();
        let drawn = match drawn.is_empty() {
            true => String::new(),
            false => format!(", a draw with {}", drawn.join(" and ")),
        };
        format!(
            "1/{}: burst {} ({}%{drawn})",
            self.one_in,
            self.best,
            best.map_or(String::new(), |(_, mean)| mean.percent())
        )
    }
}

/// Compares the bursts of a kind of profile at each frequency, the highest first.
pub(crate) fn compare(rows: &[&Row], kind: ProfileKind) -> Vec<AtFrequency> {
    let of_kind = || {
        rows.iter()
            .filter(|row| row.profile == kind && row.accuracy.is_some())
    };
    let frequencies: BTreeSet<u64> = of_kind().map(|row| row.one_in).collect();
    let at = |one_in: u64| {
        let here: Vec<&Row> = of_kind()
            .filter(|row| row.one_in == one_in)
            .copied()
            .collect();
        let bursts: BTreeSet<u64> = here.iter().map(|row| row.burst).collect();
        let mut programs: BTreeMap<(&str, &str, &str), BTreeSet<u64>> = BTreeMap::new();
        for row in &here {
            programs.entry(identity(row)).or_default().insert(row.burst);
        }
        let whole = |row: &&&Row| programs.get(&identity(row)) == Some(&bursts);
        let of_burst = |burst: u64| {
            let rows = here.iter().filter(whole).filter(|row| row.burst == burst);
            mean_by_phase(rows.copied())
        };
        let by_phase: Vec<(u64, Vec<f64>)> = bursts.iter().map(|&b| (b, of_burst(b))).collect();
        at_frequency(one_in, &by_phase)
    };
    frequencies.into_iter().filter_map(at).collect()
}

/// A program with its input; rows of several machines have the same accuracies.
fn identity(row: &Row) -> (&str, &str, &str) {
    (&row.program, &row.program_hash, &row.input)
}

fn at_frequency(one_in: u64, by_phase: &[(u64, Vec<f64>)]) -> Option<AtFrequency> {
    let mean = |(burst, phases): &(u64, Vec<f64>)| Some((*burst, Estimate::over(phases)?));
    let means: Vec<(u64, Estimate)> = by_phase.iter().filter_map(mean).collect();
    let (_, shortest) = by_phase.first()?;
    let (best, _) = *means.iter().max_by(|a, b| a.1.mean.total_cmp(&b.1.mean))?;
    let (_, of_best) = by_phase.iter().find(|(burst, _)| *burst == best)?;
    let behind = |phases: &[f64]| Estimate::over(&differences(of_best, phases));
    let is_draw =
        |phases: &[f64]| behind(phases).is_some_and(|d| d.against(0.0) == Ordering::Equal);
    let draws = by_phase
        .iter()
        .filter(|(burst, of)| *burst != best && is_draw(of));
    let gain = |(burst, phases): &(u64, Vec<f64>)| {
        Some((*burst, Estimate::over(&differences(phases, shortest))?))
    };
    Some(AtFrequency {
        one_in,
        best,
        draws: draws.map(|(burst, _)| *burst).collect(),
        gains: by_phase[1..].iter().filter_map(gain).collect(),
        means,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_burst_and_its_draws_are_told_phase_by_phase() {
        // Phases move both bursts by far more than they differ; pairs tell them apart nevertheless.
        let noise = [0.1, 0.3, 0.5, 0.2];
        let of =
            |ahead: [f64; 4]| -> Vec<f64> { noise.iter().zip(ahead).map(|(n, a)| n + a).collect() };
        let by_phase = [
            (1, of([0.0; 4])),
            (10, of([0.05, 0.06, 0.05, 0.06])),
            (100, of([0.16, -0.05, 0.12, -0.02])),
        ];
        let found = at_frequency(100, &by_phase).expect("rows");
        assert_eq!((found.best, &found.draws[..]), (10, &[100][..]));
        let verdicts: Vec<_> = found
            .gains
            .iter()
            .map(|(b, g)| (*b, g.against(0.0)))
            .collect();
        assert_eq!(verdicts, [(10, Ordering::Greater), (100, Ordering::Equal)]);
    }
}
