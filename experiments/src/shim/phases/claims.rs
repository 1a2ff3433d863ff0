//! Claims of the paper about clocks and prefetchers (section 7), held against the measurements.

use super::{Goal, PHASES, REQUESTS, Setting};
use crate::claims::Section;
use crate::claims::band::{Band, Unit};
use crate::claims::rule::{falls, is_in};
use crate::claims::statement::{Number, Statement, as_text, plain, signed_percent};
use crate::table::Table;

/// Whether the program of two phases was measured.
pub(in crate::shim) fn are_measured(table: &Table<'_>) -> bool {
    !table.programs(&Setting::ALL[0].name()).is_empty()
}

/// All claims of section 7.
pub(in crate::shim) fn statements(table: &Table<'_>) -> Vec<Statement> {
    let (full, full_off) = (Setting::of(1, true), Setting::of(1, false));
    let (slow, slow_off) = (Setting::of(4, true), Setting::of(4, false));
    let [stacks, globals] = PHASES;
    vec![
        changes(
            table,
            (stacks, "ipc"),
            (full, slow),
            "poor locality: instructions a cycle rise when the clock falls",
            ("0.59 at 3.4 GHz, 0.83 at 0.8 GHz (figure 14)", 0.59, 0.83),
        ),
        changes(
            table,
            (globals, "ipc"),
            (full_off, slow_off),
            "good locality without a prefetcher: they rise a little",
            ("1.15 at 3.4 GHz, 1.29 at 0.8 GHz (figure 18)", 1.15, 1.29),
        ),
        changes(
            table,
            (stacks, "ipc"),
            (full, full_off),
            "poor locality: a prefetcher hardly matters to instructions a cycle",
            ("0.60 with it, 0.57 without (figure 16)", 0.60, 0.57),
        ),
        changes(
            table,
            (stacks, REQUESTS),
            (full, full_off),
            "poor locality: a prefetcher asks memory for more than is used",
            (
                "0.91 requests in 100 cycles with it, 0.68 without (figure 16)",
                0.91,
                0.68,
            ),
        ),
        changes(
            table,
            (stacks, REQUESTS),
            (full, slow),
            "poor locality: memory is asked more often when the clock falls",
            (
                "0.91 requests in 100 cycles at 3.4 GHz, 1.09 at 0.8 GHz (figure 14)",
                0.91,
                1.09,
            ),
        ),
        changes(
            table,
            (globals, "ipc"),
            (full, full_off),
            "good locality: a prefetcher helps",
            ("1.48 with it, 1.15 without (figure 17)", 1.48, 1.15),
        ),
        changes(
            table,
            (globals, REQUESTS),
            (full, full_off),
            "good locality: a prefetcher does not change how often memory is asked",
            ("unaffected, without a number (figure 17)", 1.0, 1.0),
        ),
        only_falls(
            table,
            (globals, "ipc"),
            (full, slow),
            "good locality with a prefetcher: instructions a cycle fall when the clock falls",
            "a lower IPC at 0.8 GHz, without a number (figure 15)",
        ),
        changes(
            table,
            (globals, REQUESTS),
            (full, slow),
            "good locality with a prefetcher: memory is asked as often when the clock falls",
            ("no clear change, without a number (figure 15)", 1.0, 1.0),
        ),
        go_together(table),
        by_phase(table, Goal::EnergyTime),
        by_phase(table, Goal::EnergyTime2),
    ]
}

/// A number of a phase in a setting, with as many decimals as small ones need.
fn at(table: &Table<'_>, setting: Setting, (phase, measure): (&str, &str)) -> Number {
    let value = table.mean(&setting.name(), phase, measure);
    plain(if value < Some(0.1) { 3 } else { 2 }, value)
}

/// A number changes from one point to another as the paper's does.
fn changes(
    table: &Table<'_>,
    what: (&str, &str),
    (from, to): (Setting, Setting),
    claim: &str,
    (paper, paper_from, paper_to): (&str, f64, f64),
) -> Statement {
    let (from, to) = (at(table, from, what), at(table, to, what));
    let change = to.value.zip(from.value).map(|(to, from)| to / from - 1.0);
    let published = paper_to / paper_from - 1.0;
    let near = Band::between(published - 0.1, published + 0.1, Unit::Ratio);
    let statement = Statement::new(Section::Cases, claim, paper)
        .over(format!(
            "`{}`, change from one to the other, {:+.0}% in the paper",
            what.0,
            100.0 * published
        ))
        .is(signed_percent(0, change))
        .number("", from)
        .number("", to)
        .here("{1} and {2}: {0}")
        .confirmed(is_in(0, near));
    // A change agrees if it has the paper's sign or is small; where the paper has no change, there is no sign.
    let same_sign = match published {
        change if change > 0.0 => Band::above(-0.05, Unit::Ratio),
        change if change < 0.0 => Band::below(0.05, Unit::Ratio),
        _ => return statement,
    };
    statement.differs(is_in(0, same_sign), "{0}")
}

/// A number falls from one point to another, as the paper says without a number.
fn only_falls(
    table: &Table<'_>,
    what: (&str, &str),
    (from, to): (Setting, Setting),
    claim: &str,
    paper: &str,
) -> Statement {
    Statement::new(Section::Cases, claim, paper)
        .over(format!("`{}`", what.0))
        .number("one", at(table, from, what))
        .number("the other", at(table, to, what))
        .here("{0} and {1}")
        .confirmed(falls([0, 1]))
}

/// Where IPC is low, memory is asked most.
fn go_together(table: &Table<'_>) -> Statement {
    let base = Setting::ALL[0].name();
    let correlation = table.mean(&base, "timeline", "ipc_requests_correlation_ratio");
    Statement::new(
        Section::Cases,
        "low IPC goes with much traffic to memory",
        "a strong correlation over time (figure 19)",
    )
    .over("coefficient of correlation over the samples of both phases")
    .is(plain(2, correlation))
    .confirmed(is_in(0, Band::at_most(-0.7, Unit::Plain)))
    .differs(is_in(0, Band::below(0.0, Unit::Plain)), "a weak one")
}

/// A processor that is switched by what is sampled beats every fixed point.
fn by_phase(table: &Table<'_>, goal: Goal) -> Statement {
    let of = |scheme: &str| table.mean(scheme, "all", goal.name());
    let scheme = goal.scheme();
    let fixed = Setting::ALL
        .into_iter()
        .filter_map(|setting| Some((of(&setting.name())?, setting.title())));
    let best = fixed.min_by(|a, b| a.0.total_cmp(&b.0));
    let least = best.as_ref().map(|(least, _)| *least);
    let over_best = of(&scheme)
        .zip(least)
        .map(|(switched, least)| switched / least);
    Statement::new(
        Section::Cases,
        format!(
            "switching clock and prefetcher by phase beats every fixed setting, by {}",
            goal.title()
        ),
        "hinted at in the conclusion of section 7",
    )
    .over("that of the whole run, switched by samples alone, over that of the best fixed setting")
    .is(plain(2, over_best))
    .number("", as_text(best))
    .number("", plain(0, table.mean(&scheme, "all", "switches")))
    .number("", signed_percent(1, over_best.map(|share| share - 1.0)))
    .here("{0} of {1}, with {2} switches")
    .confirmed(is_in(0, Band::below(0.95, Unit::Plain)))
    .differs(is_in(0, Band::below(1.0, Unit::Plain)), "{3}")
}
