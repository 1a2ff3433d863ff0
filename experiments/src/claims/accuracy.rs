//! Claims about accuracy and its price (HPS report, sections 6.2 and 6.3).

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use hps_profile::ProfileKind;

use super::band::{Band, Unit};
use super::price::ninety;
use super::rule::{Condition, all, is_in};
use super::statement::{Statement, as_text, plain, ratio_to};
use super::{BAND, Data, Section, Spread};
use crate::bursts;
use crate::estimate::{Estimate, bootstrap, mean_by_phase};
use crate::row::Row;
use crate::spec::paper_burst;
use crate::table::paired;

const SHORT: [ProfileKind; 2] = [ProfileKind::CallPair, ProfileKind::Method];

pub(super) fn statements(data: &Data<'_>) -> Vec<Statement> {
    let mut all = vec![range(data), average(data), proportional(data)];
    all.extend(SHORT.map(|kind| ninety(data, kind)));
    all.push(streams_stay_low(data));
    all.extend(ProfileKind::ALL.map(|kind| burst_length(data, kind)));
    all
}

/// Timed rows at the paper's burst and a frequency.
pub(super) fn timed<'a>(
    data: &'a Data<'_>,
    kinds: &'a [ProfileKind],
    one_in: u64,
) -> impl Iterator<Item = &'a Row> {
    let wanted = move |row: &&Row| {
        let point = row.one_in == one_in && row.burst == paper_burst(row.profile);
        kinds.contains(&row.profile) && point && row.timing.is_some()
    };
    data.rows.iter().copied().filter(wanted)
}

/// A program with its overhead.
pub(super) fn overhead(row: &Row) -> Option<(&str, f64)> {
    let timing = row.timing?;
    let overhead = timing.set_ups.map_or(timing.overhead, |of| of.mean);
    Some((&row.program, overhead))
}

/// Overheads at the paper's burst and a frequency.
fn overheads(data: &Data<'_>, kinds: &[ProfileKind], one_in: u64) -> Option<Spread> {
    Spread::of(timed(data, kinds, one_in).filter_map(overhead))
}

/// Half the 95% interval of a mean overhead that set-ups leave; 0 if there is one set-up, which has no interval.
fn half_width_of_set_ups(data: &Data<'_>, kinds: &[ProfileKind], one_in: u64) -> f64 {
    let set_ups = timed(data, kinds, one_in).filter_map(|row| row.timing?.set_ups);
    let squares: Vec<f64> = set_ups.map(|of| of.half_width.powi(2)).collect();
    match squares.len() {
        0 => 0.0,
        // Programs are timed by themselves, so that their errors are independent.
        count => squares.iter().sum::<f64>().sqrt() / count as f64,
    }
}

fn range(data: &Data<'_>) -> Statement {
    let spread = overheads(data, &SHORT, 100);
    // The paper's 0 and 2.5%, unrounded.
    let published = Band::between(-0.0005, 0.0255, Unit::Ratio);
    let all_overheads = timed(data, &SHORT, 100).filter_map(overhead);
    let outside = all_overheads
        .filter(|(_, share)| !published.contains(*share))
        .count();
    let count = spread.map_or(0, |spread| spread.count);
    Statement::new(
        Section::Accuracy,
        "HPS's overhead for hot call pairs and hot methods at 1/100 lies between 0 and 2.5%",
        "0% to 2.5% (6.2)",
    )
    .number(
        "the mean",
        Spread::number(spread.as_ref(), "programs × profiles"),
    )
    .number("the least", ratio_to(2, spread.map(|spread| spread.low)))
    .number(
        "the greatest",
        ratio_to(2, spread.map(|spread| spread.high)),
    )
    .here("{0}")
    .confirmed(all([is_in(1, published), is_in(2, published)]))
    .differs(
        is_in(0, published),
        format!("{outside} of {count} lie outside"),
    )
}

fn average(data: &Data<'_>) -> Statement {
    let spread = overheads(data, &SHORT, 100);
    let half_width = half_width_of_set_ups(data, &SHORT, 100);
    let interval = match half_width > 0.0 {
        true => format!(", ± {:.2}% over set-ups", 100.0 * half_width),
        false => ", of one set-up".to_string(),
    };
    let mean = Spread::number(spread.as_ref(), "programs × profiles");
    near_published(
        Statement::new(
            Section::Accuracy,
            "It is about 1% on average",
            "just over 1% (6.2)",
        )
        .over("the mean over programs")
        .is(mean.with_interval(Some(half_width)))
        .here(format!("{{0}}{interval}")),
        0.01,
        "{1} times the published",
    )
}

/// The claim that its only number lies near a published ratio, with its interval. `{1}` in `how` is that number over the
/// published one.
pub(super) fn near_published(statement: Statement, published: f64, how: &str) -> Statement {
    let times = statement.value_of(0).map(|value| value / published);
    statement
        .number("", plain(2, times))
        .confirmed(is_in(0, Band::near(published, BAND, Unit::Ratio)))
        .differs(is_in(0, Band::above(0.0, Unit::Ratio)), how)
        .by_interval()
}

fn proportional(data: &Data<'_>) -> Statement {
    let mut statement = Statement::new(
        Section::Accuracy,
        "The overhead is proportional to the sampling frequency",
        "proportional (6.2): ten times as much at 1/100 as at 1/1000",
    )
    .over("the mean at 1/100 over that at 1/1000");
    let factors: Vec<_> = (ProfileKind::ALL.into_iter())
        .filter_map(|kind| Some((kind, factor(data, kind)?)))
        .collect();
    // Kinds that were not measured are not judged; of none nothing is said.
    let kinds: Vec<(ProfileKind, Option<Factor>)> = match factors.is_empty() {
        true => ProfileKind::ALL.map(|kind| (kind, None)).into(),
        false => factors
            .into_iter()
            .map(|(kind, factor)| (kind, Some(factor)))
            .collect(),
    };
    let places = 0..kinds.len();
    for (kind, factor) in kinds {
        let name = format!("for {}s", kind.title());
        let text = factor.map(|factor| (factor.value, factor.text(data, kind)));
        statement = statement.number(name, as_text(text));
    }
    let within = |band: Band| places.clone().map(|at| is_in(at, band)).collect::<Vec<_>>();
    let listed: Vec<String> = places.clone().map(|at| format!("{{{at}}}")).collect();
    statement
        .here(listed.join("; "))
        .confirmed(all(within(Band::near(10.0, BAND, Unit::Plain))))
        .differs(
            all(within(Band::above(1.0, Unit::Plain))),
            "by another factor",
        )
}

/// Times that an overhead is larger at 1/100 than at 1/1000.
struct Factor {
    value: f64,
    interval: Option<(f64, f64)>,
}

impl Factor {
    fn text(&self, data: &Data<'_>, kind: ProfileKind) -> String {
        let interval = self.interval;
        let interval =
            interval.map(|(low, high)| format!(" ({low:.1} to {high:.1} over programs)"));
        format!(
            "{}: {:.1} times{}{}",
            kind.title(),
            self.value,
            interval.unwrap_or_default(),
            reason(data, kind).unwrap_or_default()
        )
    }
}

fn factor(data: &Data<'_>, kind: ProfileKind) -> Option<Factor> {
    let often = overheads(data, &[kind], 100)?;
    let seldom = overheads(data, &[kind], 1000)?;
    let of_program = |one_in| -> BTreeMap<&str, f64> {
        let of_kind = timed(data, std::slice::from_ref(&kind), one_in);
        of_kind.filter_map(overhead).collect()
    };
    let (frequent, rare) = (of_program(100), of_program(1000));
    let both: Vec<(f64, f64)> = paired(&frequent, &rare).collect();
    let interval = bootstrap(both.len(), |drawn| {
        let sum = |of: fn(&(f64, f64)) -> f64| drawn.iter().map(|&i| of(&both[i])).sum::<f64>();
        sum(|b| b.0) / sum(|b| b.1)
    });
    (seldom.mean > 0.0).then(|| Factor {
        value: often.mean / seldom.mean,
        interval: (both.len() > 2).then_some(interval),
    })
}

/// The cycles that a sample costs at 1/100 and at 1/1000, and the misses of the level 1 caches that it causes, in words.
fn reason(data: &Data<'_>, kind: ProfileKind) -> Option<String> {
    let of = |one_in| {
        let mut sums = [0.0; 4];
        for row in timed(data, &[kind], one_in) {
            let (timing, accuracy) = (row.timing?, row.accuracy?);
            let misses = timing.extra_misses?;
            let handlers = timing.inserted_instructions + timing.handler_instructions;
            let cycles = timing.cycles as f64 - timing.baseline_cycles as f64;
            let extra = [
                cycles,
                handlers as f64,
                misses.instruction as f64,
                misses.data as f64,
            ];
            let samples = accuracy.samples.max(1) as f64;
            (sums.iter_mut().zip(extra)).for_each(|(sum, of)| *sum += of / samples);
        }
        let rows = timed(data, &[kind], one_in).count() as f64;
        (rows > 0.0).then(|| sums.map(|sum| sum / rows))
    };
    let (often, seldom) = (of(100)?, of(1000)?);
    let what = [
        "cycles",
        "inserted instructions",
        "misses for instructions",
        "misses for data",
    ];
    let each = what.iter().zip(often.iter().zip(seldom));
    let each = each.map(|(what, (often, seldom))| format!("{often:.2} and {seldom:.2} {what}"));
    let each: Vec<String> = each.collect();
    Some(format!(
        " (a sample causes at 1/100 and at 1/1000 {})",
        each.join(", ")
    ))
}

fn streams_stay_low(data: &Data<'_>) -> Statement {
    let kind = ProfileKind::DataStream;
    let of_kind = || {
        let rows = data.rows.iter().copied();
        rows.filter(|row| row.profile == kind && row.burst == paper_burst(kind))
    };
    let frequencies: BTreeSet<u64> = of_kind().map(|row| row.one_in).collect();
    let means = frequencies.into_iter().filter_map(|one_in| {
        let sampled = of_kind().filter(|row| row.one_in == one_in && row.mean_accuracy().is_some());
        Some((one_in, Estimate::over(&mean_by_phase(sampled))?))
    });
    let means: Vec<(u64, Estimate)> = means.collect();
    let highest = means.iter().max_by(|a, b| a.1.mean.total_cmp(&b.1.mean));
    let text = highest.map(|(one_in, highest)| {
        let text = format!(
            "at most {}% in the mean over programs, at 1/{one_in}, of {} frequencies",
            highest.percent(),
            means.len()
        );
        (highest.mean, text)
    });
    let half_width = highest.and_then(|(_, highest)| highest.half_width);
    Statement::new(
        Section::Accuracy,
        "Hot data streams are found less accurately: below 50% at burst 100",
        "the axis of Figure 10 ends at 50% (6.3); 6 of 14 programs",
    )
    .over("the highest mean of all frequencies over all programs that sampled anything, with its interval over phases")
    .is(as_text(text).with_interval(half_width))
    .confirmed(is_in(0, Band::below(0.5, Unit::Ratio)))
    .by_interval()
}

fn burst_length(data: &Data<'_>, kind: ProfileKind) -> Statement {
    let long_wins = kind == ProfileKind::DataStream;
    let wins = match long_wins {
        true => Ordering::Greater,
        false => Ordering::Less,
    };
    let at = bursts::compare(&data.rows, kind);
    let gains: Vec<Ordering> = (at.iter())
        .flat_map(|at| &at.gains)
        .map(|(_, gain)| gain.against(0.0))
        .collect();
    let count = |wanted: Ordering| {
        let of = gains.iter().filter(|gain| **gain == wanted).count();
        plain(0, (!gains.is_empty()).then_some(of as f64))
    };
    let best: Vec<String> = at.iter().map(bursts::AtFrequency::words).collect();
    let (claim, paper) = match long_wins {
        true => (
            "Long",
            "longer bursts perform significantly better (6.3, Figure 10)",
        ),
        false => (
            "Short",
            "a burst length of 1 performs significantly better (6.3, Figure 10)",
        ),
    };
    let undecided = Band::at_most(0.0, Unit::Plain);
    Statement::new(
        Section::Accuracy,
        format!("{claim} bursts are more accurate for {}s at the same frequency", kind.title()),
        paper,
    )
    .over(
        "every longer burst against the shortest at every frequency, means over programs, by the 95% interval of the difference \
         over paired phases; a burst that samples nothing is 0% accurate",
    )
    .number("as many as are as published", count(wins))
    .number("those that are a draw", count(Ordering::Equal))
    .number("those the other way round", count(wins.reverse()))
    .here(format!(
        "longer bursts against the shortest at each frequency: as published in {{0}} of {}, a draw in {{1}}, the other way \
         round in {{2}}; best at {}",
        gains.len(),
        best.join(", ")
    ))
    .confirmed(all([Condition::Above(0, 1), is_in(2, undecided)]))
    .differs(Condition::Above(0, 2), format!("so in {{0}} of {}", gains.len()))
    .draw(all([is_in(0, undecided), is_in(2, undecided)]), "nothing is told apart")
}
