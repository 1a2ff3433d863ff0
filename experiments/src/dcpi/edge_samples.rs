//! Claims about edge samples, of which the paper has prototypes and no numbers (section 7).

use super::data::{machines, mean, setting_of};
use super::order::followed_measure;
use super::{FOLLOWS, Follow, MAIN_PERIOD, follow_setting};
use crate::claims::Section;
use crate::claims::band::{Band, Unit};
use crate::claims::rule::{all, is_in};
use crate::claims::statement::{Statement, percent, ratio, ratio_to, signed};
use crate::table::Table;

const PAPER: &str = "prototypes, without numbers (section 7)";

/// Way in which edges are sampled, in words.
fn told(follow: Follow) -> String {
    match follow {
        Follow::Nothing => "without".to_string(),
        Follow::Transfer => "by reading the sampled transfer".to_string(),
        Follow::Next(steps) => format!("by {steps} further interrupts"),
    }
}

/// A claim about shares of an estimate within 10% of the truth: edge samples change them by more points than this.
fn gained(
    table: &Table<'_>,
    claim: &str,
    (what, measure): (&str, &str),
    more_than: f64,
) -> Statement {
    let without = mean(table, &format!("period={MAIN_PERIOD}"), measure);
    let gained = Band::above(more_than, Unit::Plain);
    let mut statement = Statement::new(Section::Explained, claim, PAPER).over(format!(
        "points that the share of {what} within 10% gains; a sample each {MAIN_PERIOD} cycles"
    ));
    let mut here = format!("{}: {{{}}}", told(Follow::Nothing), 2 * FOLLOWS.len());
    for (at, follow) in FOLLOWS.into_iter().enumerate() {
        let with = mean(table, &follow_setting(follow), measure);
        let more = with.zip(without).map(|(with, without)| with - without);
        statement = statement
            .number(told(follow), signed(0, more))
            .number("", percent(1, with));
        here += &format!("; {}: {{{}}}", told(follow), 2 * at + 1);
    }
    statement
        .number("", percent(1, without))
        .here(here)
        .confirmed(all((0..FOLLOWS.len())
            .map(|at| is_in(2 * at, gained))
            .collect::<Vec<_>>()))
}

pub(super) fn edges(table: &Table<'_>) -> Statement {
    gained(
        table,
        "edge samples give better estimates of edges",
        ("executions of edges", "edge_within_10_percent"),
        0.0,
    )
}

pub(super) fn frequencies(table: &Table<'_>) -> Statement {
    gained(
        table,
        "edge samples do not make frequencies of instructions worse",
        ("samples", "frequency_within_10_percent"),
        -1.0,
    )
}

pub(super) fn directions(table: &Table<'_>) -> Statement {
    let mut statement = Statement::new(
        Section::Explained,
        "edge samples tell where branches lead",
        PAPER,
    )
    .over(
        "executions of which the share of an edge among the edge samples of its block is within 10% of the truth; instructions \
         that issue with others at the head are never sampled, so that reading the sampled transfer does not meet all",
    );
    let mut here = Vec::new();
    for (at, follow) in FOLLOWS.into_iter().enumerate() {
        let of = |measure| ratio(mean(table, &follow_setting(follow), measure));
        statement = statement
            .number(told(follow), of("direction_within_10_ratio"))
            .number("", of("direction_met_ratio"));
        here.push(format!(
            "{}: {{{}}} of the executions of branches are met, {{{}}} of these are within 10%",
            told(follow),
            2 * at + 1,
            2 * at
        ));
    }
    let out_of_order = machines(table).into_iter().skip(1).filter_map(|machine| {
        let measure = followed_measure(FOLLOWS[1], "direction_within_10_ratio");
        let right = mean(table, &setting_of(machine), &measure)?;
        Some(format!("{:.1}% on {machine}", 100.0 * right))
    });
    let out_of_order: Vec<String> = out_of_order.collect();
    if !out_of_order.is_empty() {
        here.push(format!(
            "the same {}: {}",
            told(FOLLOWS[1]),
            out_of_order.join(", ")
        ));
    }
    let right = Band::at_least(0.75, Unit::Ratio);
    statement
        .here(here.join("; "))
        .confirmed(all((0..FOLLOWS.len())
            .map(|at| is_in(2 * at, right))
            .collect::<Vec<_>>()))
}

pub(super) fn cost(table: &Table<'_>) -> Statement {
    let alone = mean(table, "", "overhead_ratio");
    let mut statement = Statement::new(Section::Cost, "slowdown with edge samples", PAPER).over(
        "the published 3% at most, if each further interrupt costs what the measured ones do; further interrupts are not executed",
    );
    for follow in FOLLOWS {
        let whole = alone.map(|ratio| ratio * follow.interrupts() as f64);
        statement = statement.number(told(follow), ratio_to(2, whole));
    }
    let little = Band::at_most(0.03, Unit::Ratio);
    statement.confirmed(all((0..FOLLOWS.len())
        .map(|at| is_in(at, little))
        .collect::<Vec<_>>()))
}
