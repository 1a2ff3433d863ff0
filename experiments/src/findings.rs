//! What the paper says about burst lengths, held against the rows of a sweep.
//!
//! HPS report, section 6.3: for hot methods and hot call pairs short bursts are more accurate at
//! the same frequency; for hot data streams long ones are.

use std::collections::{BTreeMap, BTreeSet};

use hps_profile::ProfileKind;

use crate::row::Row;

/// Accuracies closer than this (in shares) are a draw: well below what one sample more or less
/// moves at the lowest frequencies.
const DRAW: f64 = 0.005;

/// One sentence for each kind of profile, and one for each program that behaves differently, with
/// the reason as far as the rows show it.
#[must_use]
pub fn findings(rows: &[Row]) -> Vec<String> {
    let mut notes = Vec::new();
    for kind in ProfileKind::ALL {
        let of_kind: Vec<&Row> =
            rows.iter().filter(|r| r.profile == kind && r.accuracy.is_some()).collect();
        let bursts: BTreeSet<u64> = of_kind.iter().map(|r| r.burst).collect();
        let (Some(&short), Some(&long)) = (bursts.first(), bursts.last()) else { continue };
        if short == long {
            continue;
        }
        let programs: BTreeSet<&str> = of_kind.iter().map(|r| r.program.as_str()).collect();
        let mut as_published = Vec::new();
        let mut draws = Vec::new();
        let mut otherwise = Vec::new();
        for program in programs {
            let c = compare(&of_kind, program, short, long);
            let gain = if kind == ProfileKind::DataStream { -c.short_gain } else { c.short_gain };
            match gain {
                g if g > DRAW => as_published.push(program),
                g if g >= -DRAW => draws.push(program),
                _ => otherwise.push((program, c)),
            }
        }
        let winner = if kind == ProfileKind::DataStream { "long" } else { "short" };
        notes.push(format!(
            "{}: the paper says that {winner} bursts are more accurate. Burst {short} against {long}, mean over the \
             frequencies: so here for {} of {} programs{}{}.",
            kind.title(),
            as_published.len(),
            as_published.len() + draws.len() + otherwise.len(),
            list(", a draw for ", &draws),
            list(", the other way round for ", &otherwise.iter().map(|o| o.0).collect::<Vec<_>>()),
        ));
        for (program, c) in otherwise {
            notes.push(explain(kind, program, short, long, &c));
        }
    }
    notes
}

/// What the rows of one program say about a short and a long burst.
struct Comparison {
    /// Mean accuracy with the short burst minus that with the long one.
    short_gain: f64,
    /// Fewest samples behind any of the accuracies.
    fewest_samples: u64,
    /// Members of the exhaustive profile.
    members: u64,
    population: u64,
}

fn compare(rows: &[&Row], program: &str, short: u64, long: u64) -> Comparison {
    let mut by_frequency: BTreeMap<u64, [Option<f64>; 2]> = BTreeMap::new();
    let mut fewest = u64::MAX;
    let (mut members, mut population) = (0, 0);
    for row in rows.iter().filter(|r| r.program == program) {
        let Some(a) = &row.accuracy else { continue };
        let side = match row.burst {
            b if b == short => 0,
            b if b == long => 1,
            _ => continue,
        };
        by_frequency.entry(row.one_in).or_default()[side] = Some(a.renormalized);
        fewest = fewest.min(a.samples);
        members = a.members_exact;
        population = a.population;
    }
    let gains: Vec<f64> =
        by_frequency.values().filter_map(|[s, l]| Some(s.as_ref()? - l.as_ref()?)).collect();
    let mean = if gains.is_empty() { 0.0 } else { gains.iter().sum::<f64>() / gains.len() as f64 };
    Comparison { short_gain: mean, fewest_samples: fewest, members, population }
}

fn explain(kind: ProfileKind, program: &str, short: u64, long: u64, c: &Comparison) -> String {
    let points = 100.0 * c.short_gain.abs();
    let better = if c.short_gain > 0.0 { short } else { long };
    let reason = if c.members == 0 {
        "its exhaustive profile has no member that reaches the threshold".to_string()
    } else if kind == ProfileKind::DataStream {
        format!(
            "its {} hot streams are so short or so regular that single bursts of {short} already hold them, while \
             the longer bursts are {} times fewer",
            c.members,
            long / short.max(1)
        )
    } else {
        format!(
            "its events recur with a period that a fixed sampling period of the short burst meets at the same \
             phases; {} members over {} events, {} samples at the lowest frequency",
            c.members, c.population, c.fewest_samples
        )
    };
    format!("  {program}: burst {better} is {points:.1} points better; the likely reason: {reason}.")
}

fn list(prefix: &str, names: &[&str]) -> String {
    if names.is_empty() { String::new() } else { format!("{prefix}{}", names.join(", ")) }
}
