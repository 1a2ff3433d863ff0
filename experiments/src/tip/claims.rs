//! Claims of the studies held against what was measured, and what explains the differences.

use hps_profile::compare_pairs;

use super::NARROW;
use super::data::{Data, PUBLISHED, Published, fewer, level_of};
use crate::claims::band::{Band, Unit};
use crate::claims::rule::{Condition, all, is_in, near};
use crate::claims::statement::{Number, Statement, as_text, mean_ratio, of_all, plain, ratio};
use crate::claims::{BAND, Claim, Section};
use crate::correlation::correlation;
use crate::table::{Mean, mean, paired};

/// Correlation from which on a cause is said to explain.
const CORRELATION: f64 = 0.7;

/// All claims for one instruction set, and behind them what explains the differences.
#[must_use]
pub fn claims(data: &Data<'_>, isa: &str) -> Vec<Claim> {
    of_all(statements(data), isa)
}

pub(super) fn statements(data: &Data<'_>) -> Vec<Statement> {
    let published = PUBLISHED.iter().map(|p| average(data, p));
    let greatest = PUBLISHED.iter().filter_map(|p| greatest(data, p));
    let mut all: Vec<Statement> = published.chain(greatest).collect();
    all.extend([
        order(data),
        unbiased(data),
        width_explains(data),
        flushes_explain(data),
        samples_explain(data),
        draws_explain(data),
        lost_tags(data),
    ]);
    all
}

fn percent(ratio: f64) -> String {
    format!("{:.1}%", 100.0 * ratio)
}

/// A number over a published one.
fn times(value: Option<f64>, published: f64) -> Number {
    plain(2, value.map(|value| value / published))
}

fn average(data: &Data<'_>, published: &Published) -> Statement {
    let mean = data.mean_error(published.policy);
    let programs = mean.map(|mean| mean.count as f64);
    Statement::new(
        Section::Accuracy,
        format!("mean error of {}", published.name),
        format!(
            "{} ({}, abstract)",
            percent(published.mean),
            published.study
        ),
    )
    .over("mean over programs")
    .is(mean_ratio(mean.as_ref()))
    .number("", times(mean.map(|mean| mean.value), published.mean))
    .number("", plain(0, programs))
    .here("{0} over {2} programs")
    .confirmed(all([
        near(0, published.mean),
        Condition::Holds(0, published.mean, Unit::Ratio),
    ]))
    .else_differs("{1} times the published")
}

fn greatest(data: &Data<'_>, published: &Published) -> Option<Statement> {
    let bound = published.greatest?;
    let errors = data.errors(data.machine, published.policy, level_of(published.policy));
    let worst = errors.into_iter().max_by(|a, b| a.1.total_cmp(&b.1));
    let named = worst.map(|(program, error)| (error, format!("{} ({program})", percent(error))));
    let statement = Statement::new(
        Section::Accuracy,
        format!("greatest error of {}", published.name),
        format!("{} ({}, abstract)", percent(bound), published.study),
    )
    .over("greatest of all programs")
    .is(as_text(named))
    .number("", times(worst.map(|(_, error)| error), bound))
    .here("{0}")
    // The paper's number bounds every program's error.
    .confirmed(is_in(0, Band::at_most(bound * (1.0 + BAND), Unit::Ratio)))
    .else_differs("{1} times the published");
    Some(statement)
}

/// The mean of differences by program in points, with its interval.
fn difference(worse: &str, better: &str, of: Option<Mean>) -> Number {
    let half = of.and_then(|mean| mean.half_width);
    let text = of.map(|mean| {
        let [mean, half] = [mean.value, half.unwrap_or_default()].map(|share| 100.0 * share);
        format!("{worse} - {better}: {mean:+.1} ± {half:.1} points")
    });
    as_text(of.map(|mean| mean.value).zip(text)).with_interval(half)
}

fn order(data: &Data<'_>) -> Statement {
    let of = |policy| data.errors(data.machine, policy, "instruction");
    let steps = [
        ("software", "nci"),
        ("ibs", "nci"),
        ("lci", "nci"),
        ("nci", "tip"),
    ];
    let mut statement = Statement::new(
        Section::Accuracy,
        "Software, Dispatch and LCI err more than NCI, and NCI more than TIP",
        "61.8, 53.1, 55.4 > 9.3 > 1.6% (TIP, MICRO 2021, abstract)",
    )
    .over("mean paired differences over programs");
    for (worse, better) in steps {
        let (worse_errors, better_errors) = (of(worse), of(better));
        let pairs: Vec<(f64, f64)> = paired(&worse_errors, &better_errors).collect();
        let compared = compare_pairs(&pairs).difference;
        let mean = (compared.count > 1).then_some(Mean {
            value: compared.mean,
            half_width: compared.half_width,
            count: compared.count,
        });
        let name = format!("{worse} less {better}");
        statement = statement.number(name, difference(worse, better, mean));
    }
    statement
        .here("{0}; {1}; {2}; {3}")
        .confirmed(all((0..steps.len())
            .map(|step| is_in(step, Band::above(0.0, Unit::Ratio)))
            .collect::<Vec<_>>()))
        .by_interval()
}

fn unbiased(data: &Data<'_>) -> Statement {
    let biases = data.biases(data.machine, "tip");
    let worst = biases.values().copied().reduce(f64::max);
    Statement::new(
        Section::Explained,
        "all of TIP's error comes from the number of samples",
        "TIP is time-proportional (TIP, MICRO 2021)",
    )
    .over("greatest bias of TIP in a program, with every cycle sampled")
    .is(ratio(worst))
    .here("greatest bias {0}")
    .confirmed(is_in(0, Band::below(1e-9, Unit::Ratio)))
}

fn width_explains(data: &Data<'_>) -> Statement {
    let runs: Vec<(f64, f64)> = (data.points("nci").iter())
        .map(|p| (p.group, p.bias))
        .collect();
    let found = (runs.len() > 3).then(|| correlation(&runs)).flatten();
    let by_machine = data.machines().into_iter().filter_map(|machine| {
        let bias = mean(data.biases(machine, "nci").into_values())?;
        let group = mean(data.groups(machine).into_values())?;
        Some(format!(
            "{machine}: {} at {group:.2} instructions",
            percent(bias)
        ))
    });
    let by_machine = by_machine.collect::<Vec<_>>().join(", ");
    Statement::new(
        Section::Explained,
        "NCI errs with the number of instructions that commit together",
        "–",
    )
    .over("correlation of its bias and the instructions per committing cycle over programs and machines")
    .is(plain(2, found))
    .here(format!(
        "correlation {{0}} over {} runs; bias of NCI by instructions per committing cycle: {by_machine}",
        runs.len()
    ))
    .confirmed(is_in(0, Band::at_least(CORRELATION, Unit::Plain)))
}

fn flushes_explain(data: &Data<'_>) -> Statement {
    let narrow = data.machines().into_iter().find(|m| m.ends_with(NARROW));
    let machine = narrow.unwrap_or(NARROW);
    let (biases, flushed) = (data.biases(machine, "nci"), data.shares(machine, "flushed"));
    let pairs: Vec<(f64, f64)> = paired(&biases, &flushed).collect();
    let most = pairs
        .iter()
        .map(|(bias, share)| bias - share)
        .reduce(f64::max);
    Statement::new(
        Section::Explained,
        "where instructions commit one by one, NCI errs behind flushes only",
        "–",
    )
    .over("the bias of NCI less the share of cycles behind flushes, with a commit width of 1, the greatest of all programs")
    .is(ratio(most))
    .number("", ratio(mean(pairs.iter().map(|(bias, _)| *bias))))
    .number("", ratio(mean(pairs.iter().map(|(_, share)| *share))))
    .here("bias {1} in the mean, cycles behind flushes {2}")
    .confirmed(is_in(0, Band::at_most(1e-9, Unit::Ratio)))
}

fn samples_explain(data: &Data<'_>) -> Statement {
    let few = data.errors_of_few("tip");
    let many = data.errors(data.machine, "tip", "instruction");
    let pairs: Vec<(f64, f64)> = paired(&few, &many).collect();
    let (few, many) = (
        mean(pairs.iter().map(|p| p.0)),
        mean(pairs.iter().map(|p| p.1)),
    );
    let published = PUBLISHED.iter().find(|p| p.policy == "tip");
    let enough = published.zip(many);
    let enough = enough.map(|(p, many)| data.samples as f64 * (many / p.mean).powi(2));
    Statement::new(
        Section::Explained,
        "TIP's error halves with four times the samples",
        "–",
    )
    .over("mean error with a quarter of the samples over that with all")
    .is(plain(2, few.zip(many).map(|(few, many)| few / many)))
    .number("", ratio(few))
    .number("", ratio(many))
    .number("", plain(0, enough))
    .here(format!(
        "{{1}} with {} samples, {{2}} with {}; by this law {{3}} samples give the published error",
        fewer(data.samples),
        data.samples
    ))
    .confirmed(is_in(0, Band::near(2.0, BAND, Unit::Plain)))
    .else_differs("by a factor of {0}")
}

fn draws_explain(data: &Data<'_>) -> Statement {
    let errors = data.errors(data.machine, "tip", "instruction");
    let draws = data.draws();
    let pairs: Vec<(f64, f64)> = paired(&errors, &draws).collect();
    let (tip, draws) = (
        mean(pairs.iter().map(|p| p.0)),
        mean(pairs.iter().map(|p| p.1)),
    );
    Statement::new(
        Section::Explained,
        "TIP errs by no more than as many independent draws from the truth",
        "–",
    )
    .over("its mean error over that of the draws, computed from the exact profile; TIP shares a sample among the instructions that commit together, a draw does not")
    .is(plain(2, tip.zip(draws).map(|(tip, draws)| tip / draws)))
    .number("", ratio(tip))
    .number("", ratio(draws))
    .here("TIP {1}, draws {2}")
    .confirmed(is_in(0, Band::at_most(1.0, Unit::Plain)))
    .else_differs("{0} times as much")
}

fn lost_tags(data: &Data<'_>) -> Statement {
    let (taken, lost) = data.taken_and_lost("ibs");
    let share = (taken > 0.0).then(|| lost / (taken + lost));
    Statement::new(
        Section::Explained,
        "dispatch tagging loses samples to squashes",
        "–",
    )
    .over("the share of tagged instructions that are squashed")
    .is(ratio(share))
    .here("{0} of the tags were squashed")
    .confirmed(is_in(0, Band::above(0.0, Unit::Ratio)))
}
