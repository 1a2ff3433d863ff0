//! The listings of the paper's figures 1, 3 and 4, of programs that run here: samples by procedure, how they vary over sets,
//! and where cycles go.
//!
//! The paper prints them for single programs (x11perf, wave5), which do not run here. So their sizes differ, but
//! their parts must sum to the whole as the printed ones do.

use std::collections::BTreeMap;

use hps_dcpi::analysis::{Procedure, Summary};
use hps_dcpi::paper;
use hps_dcpi::report::{by_procedure, spreads};
use hps_dcpi::samples::{Counts, Event, Samples};
use hps_lab::Program;

use super::data::{mean, mean_of};
use super::main_setting;
use crate::claims::band::{Band, Unit};
use crate::claims::rule::{all, is_in};
use crate::claims::statement::{Statement, mean_ratio, percent, plain, ratio};
use crate::claims::{BAND, Section};
use crate::table::Table;

/// Sets of samples of figure 3.
const SETS: usize = 8;

/// Least share of all samples of a procedure whose variation is told: below it, variation is chance.
const LEAST_PERCENT: f64 = 1.0;

/// Numbers of the listings, by their measures.
pub(super) type Numbers = Vec<(&'static str, f64)>;

fn share(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

/// Samples by procedure (figure 1): the shares of the first and of the first five, and what their sum lacks.
pub(super) fn procedures(program: &Program, samples: &Samples) -> Numbers {
    let lines = by_procedure(
        Some(&program.image),
        &program.name,
        samples,
        &[Event::Cycles],
    );
    let counts: Vec<f64> = lines.iter().map(|line| line.counts[0] as f64).collect();
    let total = samples.of(Event::Cycles).map_or(0, Counts::total) as f64;
    let first = |n: usize| share(counts.iter().take(n).sum(), total);
    vec![
        ("first_procedure_ratio", first(1)),
        ("first_five_procedures_ratio", first(5)),
        ("unlisted_samples", total - counts.iter().sum::<f64>()),
    ]
}

/// How samples of procedures vary over sets that differ in their seeds alone (figure 3): the widest range in percent of
/// the sum, how far deviations are from those of chance, and what the sets lack.
pub(super) fn variation(program: &Program, sets: &[&Counts]) -> Numbers {
    let sets = &sets[..sets.len().min(SETS)];
    let by_name = |counts: &&Counts| {
        let mut samples = Samples::default();
        samples.events.insert(Event::Cycles, (*counts).clone());
        let lines = by_procedure(
            Some(&program.image),
            &program.name,
            &samples,
            &[Event::Cycles],
        );
        lines
            .into_iter()
            .map(|line| (line.procedure, line.counts[0]))
            .collect()
    };
    let by_set: Vec<BTreeMap<String, u64>> = sets.iter().map(by_name).collect();
    let total: u64 = sets.iter().map(|counts| counts.total()).sum();
    let all = spreads(&by_set);
    let listed: u64 = all.iter().map(|spread| spread.sum()).sum();
    let least = LEAST_PERCENT / 100.0 * total as f64;
    let large = all.iter().filter(|spread| spread.sum() as f64 >= least);
    let range = large
        .clone()
        .map(|spread| spread.range_percent())
        .fold(0.0, f64::max);
    // A count of so many samples of so many has the variance of a share.
    let beside_chance = large.clone().map(|spread| {
        let of = share(spread.sum() as f64, total as f64);
        share(spread.deviation().powi(2), spread.mean() * (1.0 - of))
    });
    let variance = share(beside_chance.sum(), large.count() as f64);
    vec![
        ("widest_range_percent", range),
        ("variance_beside_chance", variance),
        ("unlisted_samples_of_sets", total as f64 - listed as f64),
    ]
}

/// Where cycles go (figure 4), as shares of the samples: of stalls by cause, the least and the most that all causes take
/// together.
pub(super) fn cycles(procedures: &[(Procedure, Summary)]) -> Numbers {
    let mut summary = Summary::default();
    let mut named = 0.0;
    for (procedure, own) in procedures {
        summary.add(own);
        for row in &procedure.rows {
            let most: f64 = row.culprits.iter().map(|culprit| culprit.most).sum();
            named += row.dynamic.max(0.0).min(most);
        }
    }
    let of = |part: f64| share(part, summary.samples);
    let fixed: f64 = summary.fixed.iter().sum();
    let causes = || summary.dynamic.iter();
    let parts =
        summary.execution + fixed + named + summary.unexplained_stall + summary.unexplained_gain;
    vec![
        ("execution_ratio", of(summary.execution)),
        ("static_stall_ratio", of(fixed)),
        ("named_ratio", of(named)),
        ("least_named_ratio", of(causes().map(|c| c.least).sum())),
        ("most_named_ratio", of(causes().map(|c| c.most).sum())),
        ("unexplained_gain_ratio", of(summary.unexplained_gain)),
        ("unsummed_ratio", of(summary.samples - parts)),
    ]
}

/// The statements of the three figures.
pub(super) fn statements(table: &Table<'_>) -> Vec<Statement> {
    vec![
        first_procedure(table),
        variation_of_runs(table),
        parts(table),
        gain(table),
        summed(table),
    ]
}

fn first_procedure(table: &Table<'_>) -> Statement {
    let of = |measure| mean_of(table, &main_setting(), measure);
    let [first, five] = paper::X11PERF_PROCEDURES.map(|percent| percent / 100.0);
    Statement::new(
        Section::Accuracy,
        "samples by procedure: the first procedure, and the first five",
        format!(
            "{:.1}% and {:.1}% of x11perf (figure 1)",
            100.0 * first,
            100.0 * five
        ),
    )
    .over("mean over programs, which are others")
    .is(mean_ratio(of("first_procedure_ratio").as_ref()))
    .number("", mean_ratio(of("first_five_procedures_ratio").as_ref()))
    .here("{0} and {1}")
    .confirmed(all([
        is_in(0, Band::near(first, BAND, Unit::Ratio)),
        is_in(1, Band::near(five, BAND, Unit::Ratio)),
    ]))
    .else_differs("other programs: {0} and {1}")
}

fn variation_of_runs(table: &Table<'_>) -> Statement {
    let widest = mean(table, "runs=1", "widest_range_percent");
    let published = paper::WAVE5_RANGE;
    Statement::new(
        Section::Accuracy,
        "the widest range of a procedure's samples over eight runs",
        format!("{published}% of their sum, smooth_ of wave5, by where pages lie in the board cache (figure 3)"),
    )
    .over(
        "mean over programs, procedures with 1% of the samples; eight sets of samples with other seeds, since runs of the lab \
         repeat to the cycle",
    )
    .is(percent(2, widest))
    .number("", plain(2, mean(table, "runs=1", "variance_beside_chance")))
    .here("{0}; variances are {1} times those of chance")
    .confirmed(is_in(0, Band::near(published, BAND, Unit::Percent)))
    .else_differs("here is chance alone: variances are {1} times its")
}

fn parts(table: &Table<'_>) -> Statement {
    let of = |measure| mean(table, &main_setting(), measure);
    let [execution, fixed] = paper::SMOOTH_EXECUTION_AND_STATIC.map(|percent| percent / 100.0);
    Statement::new(
        Section::Accuracy,
        "cycles of execution and of static stalls",
        format!(
            "{:.1}% and {:.1}% of smooth_ of wave5 (figure 4)",
            100.0 * execution,
            100.0 * fixed
        ),
    )
    .over("mean over programs, which are others")
    .is(ratio(of("execution_ratio")))
    .number("", ratio(of("static_stall_ratio")))
    .number("", ratio(of("least_named_ratio")))
    .number("", ratio(of("most_named_ratio")))
    .here("{0} and {1}; dynamic stalls with a cause take {2} to {3}")
    .confirmed(all([
        is_in(0, Band::near(execution, BAND, Unit::Ratio)),
        is_in(1, Band::near(fixed, BAND, Unit::Ratio)),
    ]))
    .else_differs("other programs: {0} and {1}")
}

fn gain(table: &Table<'_>) -> Statement {
    let published = paper::SMOOTH_GAIN / 100.0;
    Statement::new(
        Section::Accuracy,
        "samples that instructions lack beside their static schedule",
        format!("{:.1}% of smooth_ of wave5 (figure 4)", paper::SMOOTH_GAIN),
    )
    .over("mean over programs, which are others")
    .is(ratio(mean(
        table,
        &main_setting(),
        "unexplained_gain_ratio",
    )))
    .confirmed(is_in(0, Band::near(published, BAND, Unit::Ratio)))
    .else_differs("other programs")
}

fn summed(table: &Table<'_>) -> Statement {
    let of = |measure| mean(table, &main_setting(), measure);
    let sets = mean(table, "runs=1", "unlisted_samples_of_sets");
    let named = of("named_ratio");
    let below = named
        .zip(of("least_named_ratio"))
        .map(|(named, least)| named - least);
    let above = named
        .zip(of("most_named_ratio"))
        .map(|(named, most)| most - named);
    const ROUNDING: f64 = 1e-6;
    Statement::new(
        Section::Check,
        "the parts of figures 1, 3 and 4 sum to the whole",
        "each printed figure does; figure 4 has a net error of -0.1%",
    )
    .number(
        "samples that are of no line by procedure",
        plain(0, of("unlisted_samples")),
    )
    .number("of no line over sets", plain(0, sets))
    .number(
        "of cycles in no part of the summary",
        percent(4, of("unsummed_ratio")),
    )
    .number("of cycles above the least that causes take", ratio(below))
    .number("below the most", ratio(above))
    .confirmed(all([
        is_in(0, Band::between(0.0, 0.0, Unit::Plain)),
        is_in(1, Band::between(0.0, 0.0, Unit::Plain)),
        is_in(2, Band::between(-ROUNDING, ROUNDING, Unit::Percent)),
        is_in(3, Band::at_least(0.0, Unit::Ratio)),
        is_in(4, Band::at_least(0.0, Unit::Ratio)),
    ]))
}
