//! Whether estimates of high confidence are right as often as their confidence says, at every density of samples.

use super::PERIODS;
use super::data::by_program;
use crate::claims::Section;
use crate::claims::band::{Band, Unit};
use crate::claims::rule::{all, is_in};
use crate::claims::statement::{Statement, ratio};
use crate::table::Table;

/// Least share of what is of high confidence that is within 10% of the truth, by samples.
const CALIBRATED: f64 = 0.9;

/// Of the samples of high confidence of all programs, each of which counts as much, the share within 10%; `None` without
/// any.
fn near(table: &Table<'_>, setting: &str) -> Option<f64> {
    let shares = by_program(table, setting, "high_share_ratio");
    let near = by_program(table, setting, "high_within_10_ratio");
    let all: f64 = shares.values().sum();
    let of_near = shares
        .iter()
        .filter_map(|(program, share)| Some(share * near.get(program)?));
    (all > 0.0).then(|| of_near.sum::<f64>() / all)
}

/// The claim at all periods.
pub(super) fn statement(table: &Table<'_>) -> Statement {
    let mut statement = Statement::new(
        Section::Explained,
        "of the samples of high confidence at least nine in ten are within 10% of the true frequency, at every period",
        "the paper has confidence without a number",
    )
    .over("all programs together, each counts as much");
    for period in PERIODS {
        let near = near(table, &format!("period={period}"));
        statement = statement.number(format!("at {period} cycles"), ratio(near));
    }
    let places = 0..PERIODS.len();
    let each = places.map(|at| is_in(at, Band::at_least(CALIBRATED, Unit::Ratio)));
    statement
        .here("{0} at 16 cycles, {1} at 64, {2} at 256, {3} at 1024, {4} at 4096")
        .confirmed(all(each.collect::<Vec<_>>()))
}
