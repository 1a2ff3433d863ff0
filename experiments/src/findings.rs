//! Claims of the paper about burst lengths, held against the rows of a sweep.
//!
//! HPS report, section 6.3: for hot methods and hot call pairs short bursts are more accurate at
//! the same frequency; for hot data streams long ones are.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use hps_profile::ProfileKind;

use crate::bursts::{self, AtFrequency};
use crate::estimate::{Estimate, differences};
use crate::row::Row;

/// Gains (in shares) that say nothing about periods one event longer, which are measured at one phase.
const DRAW: f64 = 0.005;

/// One sentence for each kind of profile, and one for each program that behaves differently, with
/// the reason as far as the rows show it. Each names its profile; those that go on are indented.
#[must_use]
pub fn findings(rows: &[Row]) -> Vec<String> {
    let isas: BTreeSet<&str> = rows.iter().map(|r| r.isa.as_str()).collect();
    let mut notes = Vec::new();
    for &isa in &isas {
        let of_isa: Vec<&Row> = rows.iter().filter(|r| r.isa == isa).collect();
        let on = match isas.len() {
            1 => String::new(),
            _ => format!(" on {isa}"),
        };
        notes.extend(findings_of(&of_isa, &on));
    }
    notes
}

/// Findings for one instruction set. `on` is appended to each profile's name.
fn findings_of(rows: &[&Row], on: &str) -> Vec<String> {
    let mut notes = Vec::new();
    for kind in ProfileKind::ALL {
        let of_kind: Vec<&Row> = rows
            .iter()
            .copied()
            .filter(|r| r.profile == kind && r.accuracy.is_some())
            .collect();
        let bursts: BTreeSet<u64> = of_kind.iter().map(|r| r.burst).collect();
        let (Some(&short), Some(&long)) = (bursts.first(), bursts.last()) else {
            continue;
        };
        if short == long {
            continue;
        }
        let programs: BTreeSet<&str> = of_kind.iter().map(|r| r.program.as_str()).collect();
        let mut as_published = Vec::new();
        let mut draws = Vec::new();
        let mut otherwise = Vec::new();
        let mut silent = Vec::new();
        for program in programs {
            let Some(c) = compare(&of_kind, program, short, long) else {
                silent.push(program);
                continue;
            };
            let short_wins = match kind {
                ProfileKind::DataStream => Ordering::Less,
                _ => Ordering::Greater,
            };
            match c.gain.against(0.0) {
                Ordering::Equal => draws.push((program, c)),
                order if order == short_wins => as_published.push(program),
                _ => otherwise.push((program, c)),
            }
        }
        let winner = if kind == ProfileKind::DataStream {
            "long"
        } else {
            "short"
        };
        let name = format!("{}{on}", kind.title());
        notes.push(format!(
            "{name}: the paper says that {winner} bursts are more accurate. Burst {short} against {long}, mean over the \
             frequencies at which both sampled anything{}: so here for {} of {} programs{}{}{}.",
            phases_of(&of_kind),
            as_published.len(),
            as_published.len() + draws.len() + otherwise.len(),
            list(", a draw for ", &draws.iter().map(|d| d.0).collect::<Vec<_>>()),
            list(", the other way round for ", &otherwise.iter().map(|o| o.0).collect::<Vec<_>>()),
            list("; at no frequency did both sample anything in ", &silent),
        ));
        let best: Vec<String> = (bursts::compare(&of_kind, kind).iter())
            .map(AtFrequency::words)
            .collect();
        if !best.is_empty() {
            notes.push(format!(
                "  {name}: the best burst in the mean over programs, 0% where nothing is sampled: {}.",
                best.join(", ")
            ));
        }
        notes.extend(never_sampled(&of_kind, &name));
        for (program, c) in draws {
            let [with_short, with_long] = c.means.map(|mean| 100.0 * mean);
            notes.push(format!(
                "  {name}, {program}: burst {short} has {with_short:.1}% and burst {long} {with_long:.1}% of its {} members' \
                 weight; {} and {} samples at the lowest frequency.",
                c.members, c.fewest_samples[0], c.fewest_samples[1]
            ));
        }
        for (program, c) in otherwise {
            let why = explain(kind, program, short, long, &c);
            notes.push(format!("  {name}, {why}"));
        }
    }
    notes
}

/// Over how many phases accuracies are means, in words.
fn phases_of(rows: &[&Row]) -> String {
    let count = rows
        .iter()
        .filter_map(|row| Some(row.phases.as_ref()?.count()));
    match count.max() {
        Some(phases) => format!(" and over {phases} phases, a draw if the 95% interval holds 0"),
        None => ", of one phase, a draw within half a point".to_string(),
    }
}

/// Points at which programs end before their first burst: no accuracy, and no overhead either.
fn never_sampled(rows: &[&Row], name: &str) -> Vec<String> {
    // By point, programs that sample nothing and all: a program has a row for each machine.
    let mut points: BTreeMap<(u64, u64), [BTreeSet<&str>; 2]> = BTreeMap::new();
    for row in rows {
        let [none, all] = points.entry((row.burst, row.one_in)).or_default();
        if row.mean_accuracy().is_none() {
            none.insert(&row.program);
        }
        all.insert(&row.program);
    }
    let silent = points.into_iter().filter(|(_, [none, _])| !none.is_empty());
    silent
        .map(|((burst, one_in), [none, all])| {
            format!(
                "  {name}, burst {burst} at 1/{one_in}: {} of {} programs end before their first burst or sample nothing in it \
                 (a period is {} events).",
                none.len(),
                all.len(),
                burst * one_in
            )
        })
        .collect()
}

/// The accuracy of a point at the engine's phase, and what it is with the period one event longer.
type Accuracies = (f64, Option<f64>);

/// Comparison of a short and a long burst from the rows of one program.
struct Comparison {
    /// Mean accuracy with the short and the long burst.
    means: [f64; 2],
    /// How much more accurate the short burst is, phase by phase.
    gain: Estimate,
    /// The gain at the engine's phase.
    engine_gain: f64,
    /// The gain at that phase with periods one event longer, where that was measured.
    detuned_gain: Option<f64>,
    /// The fewest samples at a frequency at which both sampled anything, with the short and the long burst.
    fewest_samples: [u64; 2],
    /// Members of the exhaustive profile.
    members: u64,
}

impl Comparison {
    /// How much more accurate the short burst is.
    fn short_gain(&self) -> f64 {
        self.gain.mean
    }
}

/// `None` if at no frequency both bursts sampled anything.
fn compare(rows: &[&Row], program: &str, short: u64, long: u64) -> Option<Comparison> {
    let mut by_frequency: BTreeMap<u64, [Option<(Accuracies, u64)>; 2]> = BTreeMap::new();
    let mut rows_of: BTreeMap<u64, [Option<&Row>; 2]> = BTreeMap::new();
    let mut members = 0;
    for row in rows.iter().filter(|r| r.program == program) {
        // Nothing sampled says nothing: the program has fewer events than one sampling period.
        let (Some(a), Some(_)) = (&row.accuracy, row.mean_accuracy()) else {
            continue;
        };
        let side = match row.burst {
            b if b == short => 0,
            b if b == long => 1,
            _ => continue,
        };
        by_frequency.entry(row.one_in).or_default()[side] =
            Some(((a.renormalized, a.detuned), a.samples));
        rows_of.entry(row.one_in).or_default()[side] = Some(row);
        members = a.members_exact;
    }
    let both = |[s, l]: &[Option<(Accuracies, u64)>; 2]| Some(((*s)?, (*l)?));
    let at_both: Vec<_> = by_frequency.values().filter_map(both).collect();
    let fewest_samples = [
        at_both.iter().map(|(s, _)| s.1).min()?,
        at_both.iter().map(|(_, l)| l.1).min()?,
    ];
    let pairs: Vec<(Accuracies, Accuracies)> = at_both.iter().map(|(s, l)| (s.0, l.0)).collect();
    let detuned: Option<Vec<f64>> = pairs.iter().map(|(s, l)| Some(s.1? - l.1?)).collect();
    let of_both = rows_of.values().filter_map(|[s, l]| Some([(*s)?, (*l)?]));
    let of_both: Vec<[&Row; 2]> = of_both.collect();
    let mean = |side: usize| {
        let of_side = of_both.iter().filter_map(|rows| rows[side].mean_accuracy());
        of_side.sum::<f64>() / of_both.len() as f64
    };
    let gains = of_both.iter();
    let gains: Vec<Vec<f64>> = gains
        .map(|[s, l]| differences(&s.accuracies(), &l.accuracies()))
        .collect();
    let phases = gains.iter().map(Vec::len).min()?;
    let by_phase: Vec<f64> = (0..phases)
        .map(|phase| gains.iter().map(|of| of[phase]).sum::<f64>() / gains.len() as f64)
        .collect();
    Some(Comparison {
        means: [mean(0), mean(1)],
        gain: Estimate::over(&by_phase)?,
        engine_gain: pairs.iter().map(|(s, l)| s.0 - l.0).sum::<f64>() / pairs.len() as f64,
        detuned_gain: detuned
            .filter(|d| !d.is_empty())
            .map(|d| d.iter().sum::<f64>() / d.len() as f64),
        fewest_samples,
        members,
    })
}

/// Why a program behaves differently, as far as it was measured.
fn explain(kind: ProfileKind, program: &str, short: u64, long: u64, c: &Comparison) -> String {
    let gain = Estimate {
        mean: c.gain.mean.abs(),
        ..c.gain
    };
    let points = gain.percent();
    let better = if c.short_gain() > 0.0 { short } else { long };
    let [few_short, few_long] = c.fewest_samples;
    let reason = match c.detuned_gain {
        _ if c.members == 0 => {
            "its exhaustive profile has no member above the threshold".to_string()
        }
        Some(detuned) if detuned > c.engine_gain + DRAW => format!(
            "a fixed period in step with its loops: with periods one event longer the short burst gains {:.1} points on \
             the long one, to {:+.1}",
            100.0 * (detuned - c.engine_gain),
            100.0 * detuned
        ),
        Some(detuned) => format!(
            "not the period (one event longer leaves {:+.1} points); its {} members are few enough for {few_long} \
             samples at the lowest frequency ({few_short} with the short burst)",
            100.0 * detuned,
            c.members
        ),
        None if kind == ProfileKind::DataStream => format!(
            "its {} hot streams fit into single bursts of {short}, which begin at {} times as many places ({few_short} and \
             {few_long} references sampled at the lowest frequency)",
            c.members,
            long / short.max(1)
        ),
        None => format!("{few_short} and {few_long} samples at the lowest frequency"),
    };
    format!("{program}: burst {better} is {points} points better. {reason}.")
}

fn list(prefix: &str, names: &[&str]) -> String {
    if names.is_empty() {
        String::new()
    } else {
        format!("{prefix}{}", names.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(program: &str, burst: u64, one_in: u64, accuracy: f64, samples: u64) -> Row {
        let mut row = Row::example(program, ProfileKind::DataStream, (burst, one_in), accuracy);
        row.accuracy.as_mut().expect("it is measured").samples = samples;
        row
    }

    #[test]
    fn a_program_that_never_sampled_is_no_draw() {
        let rows = [
            row("silent", 1, 100, 0.4, 3),
            row("silent", 100, 100, 0.0, 0),
            row("drawn", 1, 100, 0.300, 20),
            row("drawn", 100, 100, 0.304, 30),
        ];
        let notes = findings(&rows).join("\n");
        assert!(
            notes.contains("for 0 of 1 programs, a draw for drawn; at no frequency did both sample anything in silent."),
            "{notes}"
        );
        assert!(!notes.contains(&u64::MAX.to_string()), "{notes}");
        assert!(!notes.contains("-0.0%"), "{notes}");
    }

    #[test]
    fn winners_draws_and_silence_are_told_apart() {
        let rows = [
            row("as-published", 1, 100, 0.2, 10),
            row("as-published", 100, 100, 0.5, 10),
            row("drawn", 1, 100, 0.300, 20),
            row("drawn", 100, 100, 0.304, 30),
            row("otherwise", 1, 100, 0.5, 10),
            row("otherwise", 100, 100, 0.2, 10),
            // Says nothing about bursts: one of the two sampled nothing.
            row("as-published", 1, 10_000, 0.9, 1),
            row("as-published", 100, 10_000, 0.0, 0),
        ];
        let notes = findings(&rows);
        assert!(
            notes[0].contains(
                "for 1 of 3 programs, a draw for drawn, the other way round for otherwise"
            ),
            "{notes:#?}"
        );
        // Only one program is at the frequency where nothing is sampled in long bursts, with 90 and 0%.
        assert_eq!(
            notes[1],
            "  hot data stream: the best burst in the mean over programs, 0% where nothing is sampled: 1/100: burst 100 (33.5%, a draw with \
             1), 1/10000: burst 1 (90.0%)."
        );
        assert!(
            notes[2].starts_with("  hot data stream, burst 100 at 1/10000: 1 of 1 programs")
                && notes[2].contains("1000000 events"),
            "{notes:#?}"
        );
        assert!(
            notes[3].starts_with("  hot data stream, drawn: burst 1 has 30.0% and burst 100 30.4%"),
            "{notes:#?}"
        );
        assert!(
            notes[4].starts_with("  hot data stream, otherwise: burst 1 is 30.0 points better"),
            "{notes:#?}"
        );
        assert_eq!(notes.len(), 5);
        // Findings are per instruction set, never pooled.
        let [mut short, mut long] = [(1, 0.5), (100, 0.2)].map(|(burst, accuracy)| {
            let mut row = row("as-published", burst, 100, accuracy, 10);
            row.isa = "other".to_string();
            row
        });
        short.id += "other";
        long.id += "other";
        let both = findings(&[&rows[..], &[short, long]].concat());
        // The rows' instruction set has an empty name.
        let unnamed = |note: &String| note.replacen(" on ", "", 1);
        let first: Vec<String> = both[1..5].iter().map(unnamed).collect();
        assert_eq!(first, notes[1..]);
        assert!(
            both[5].starts_with("hot data stream on other: the paper says"),
            "{both:#?}"
        );
        assert!(both[5].contains("for 0 of 1 programs"), "{both:#?}");
    }
}
