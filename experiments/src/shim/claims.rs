//! The claims of the SHIM paper, and what its authors could not see, held against what was measured.

use super::measure::SLEEPS;
use super::{Kind, PAIR_WAITS, WAITS, functions, phases};
use crate::claims::band::{Band, Unit};
use crate::claims::rule::{all, falls, is_in, near};
use crate::claims::statement::{Number, Statement, of_all, plain, ratio, ratio_to, signed_percent};
use crate::claims::{Claim, Section};
use crate::table::{Table, mean};

/// All claims for one instruction set. Claims about counters are measured where programs can read them.
#[must_use]
pub fn claims(table: &Table<'_>, isa: &str) -> Vec<Claim> {
    of_all(statements(table), isa)
}

fn statements(table: &Table<'_>) -> Vec<Statement> {
    let [few_have_most, differences_vanish, each_is_told] = functions::statements(table);
    let mut all = vec![
        tag_cost(table),
        one_tag(table, Kind::TagCmp, "7(a)", (30.0, 1.0), (1213.0, 0.02)),
        one_tag(table, Kind::TagSmt, "7(b)", (15.0, 0.61), (1500.0, 0.26)),
        rates_cost(table),
        kept_at_full_speed(table),
        kept_from_a_period_on(table),
        nothing_impossible_is_kept(table),
        steady_observer(table),
        finer_samples_show_more(table),
        few_have_most,
        differences_vanish,
        each_is_told,
        remote_counters(table),
        cheaper(
            table,
            Kind::TagSmt,
            Kind::TagSmtBackground,
            "thread priority (sections 1 and 6.1)",
        ),
        cheaper(
            table,
            Kind::TagCmp,
            Kind::TagCmpQuiet,
            "reads that take no part in coherence (sections 1 and 6.1)",
        ),
        slow_pairs(table),
        traffic_explains(table),
        wrong_values_come_from_skew(table),
        what_is_kept_is_right(table),
        holds_are_found(table),
        no_bias(table),
    ];
    let not_covered = [
        (
            "periods and gaps between good samples on one core",
            "figure 5",
        ),
        (
            "what a consumer costs a producer on the same core",
            "figures 10(a) and 10(b)",
        ),
        (
            "tags beside IPC and misses at 495 and 729 cycles",
            "figure 12",
        ),
    ];
    all.extend(not_covered.map(|(claim, paper)| Statement::new(Section::Accuracy, claim, paper)));
    if phases::are_measured(table) {
        all.extend(phases::statements(table));
    }
    all
}

/// All claims, those about phases among them.
#[cfg(test)]
pub(crate) fn all_claims(table: &Table<'_>, isa: &str) -> Vec<Claim> {
    of_all(
        statements(table)
            .into_iter()
            .chain(phases::statements(table)),
        isa,
    )
}

fn wait(turns: u64) -> String {
    format!("wait={turns}")
}

/// The mean overhead of a kind of observer.
fn cost(table: &Table<'_>, kind: Kind, turns: u64) -> Option<f64> {
    let excess = table.mean_excess(kind.name(), &wait(turns), "alone", "cycles");
    Some(excess?.value)
}

/// The mean period of a kind of observer in cycles.
fn period(table: &Table<'_>, kind: Kind, turns: u64) -> Number {
    plain(0, table.mean(kind.name(), &wait(turns), "period_cycles"))
}

/// A mean over programs of an observer of counters on the same core.
fn ipc_smt(table: &Table<'_>, turns: u64, measure: &str) -> Option<f64> {
    table.mean(Kind::IpcSmt.name(), &wait(turns), measure)
}

fn over(part: Option<f64>, whole: Option<f64>) -> Option<f64> {
    Some(part? / whole?)
}

fn tag_cost(table: &Table<'_>) -> Statement {
    Statement::new(
        Section::Cost,
        "writing a tag at each call and return costs about 1%",
        "one store at each yield point costs 1% on average (section 6.1)",
    )
    .over("mean over programs of cycles with tags over cycles without")
    .is(ratio(table.mean(
        Kind::TagSmt.name(),
        "alone",
        "tag_cost_ratio",
    )))
    .confirmed(near(0, 0.01))
    .differs(
        is_in(0, Band::at_most(0.1, Unit::Ratio)),
        "tags at calls and returns only, of C programs",
    )
}

/// Overhead falls from full speed to a period of some thousand cycles.
fn costs_fall(
    table: &Table<'_>,
    (claim, paper): (String, String),
    kind: Kind,
    (turns, wait): (u64, &str),
    [fast, slow]: [f64; 2],
) -> Statement {
    Statement::new(Section::Cost, claim, paper)
        .over("mean overheads over programs")
        .number("at full speed", ratio(cost(table, kind, 0)))
        .number(wait, ratio(cost(table, kind, turns)))
        .number("", period(table, kind, 0))
        .number("", period(table, kind, turns))
        .here("{0} at {2} cycles, {1} at {3}")
        .confirmed(all([near(0, fast), near(1, slow)]))
        .differs(falls([0, 1]), "{0} and {1}")
}

fn one_tag(
    table: &Table<'_>,
    kind: Kind,
    figure: &str,
    fast: (f64, f64),
    slow: (f64, f64),
) -> Statement {
    let claim = format!("{}: overhead falls with the period", kind.title());
    let paper = format!(
        "{:.0}% at {:.0} cycles, {:.0}% at {:.0} (figure {figure})",
        100.0 * fast.1,
        fast.0,
        100.0 * slow.1,
        slow.0
    );
    let wait = (1_000, "with a wait of 1,000 turns");
    costs_fall(table, (claim, paper), kind, wait, [fast.1, slow.1])
        .also(" waiting in a loop, {}", ratio(cost(table, kind, SLEEPS)))
        .also(" at {} asleep", period(table, kind, SLEEPS))
}

fn rates_cost(table: &Table<'_>) -> Statement {
    let claim = "IPC on the same core costs much at full speed and little when it is rare";
    let paper = "47% at about 400 cycles, 6.3% at 185,000 (section 6.3, figure 11)";
    costs_fall(
        table,
        (claim.to_string(), paper.to_string()),
        Kind::IpcSmt,
        (10_000, "with 10,000 cycles of sleep"),
        [0.47, 0.063],
    )
}

fn kept_at_full_speed(table: &Table<'_>) -> Statement {
    Statement::new(
        Section::Accuracy,
        "at full speed double-time error correction keeps less than half of the samples",
        "below 50% at the highest rate (figure 4(c))",
    )
    .over("mean over programs on the same core")
    .is(ratio(ipc_smt(table, 0, "kept_ratio")))
    .confirmed(is_in(0, Band::below(0.5, Unit::Ratio)))
    .differs(
        is_in(0, Band::at_most(0.9, Unit::Ratio)),
        "nothing but the program disturbs this observer",
    )
}

fn kept_from_a_period_on(table: &Table<'_>) -> Statement {
    let at = WAITS.iter().filter_map(|turns| {
        let period = ipc_smt(table, *turns, "period_cycles")?;
        let kept = ipc_smt(table, *turns, "kept_ratio")?;
        (period >= 2_500.0).then_some((period, kept))
    });
    let least = at.min_by(|a, b| a.1.total_cmp(&b.1));
    Statement::new(
        Section::Accuracy,
        "from a period of 2,500 cycles on at least 90% are kept",
        "90% from 2,000 (caption) or 2,500 cycles (text) on (figure 4(c))",
    )
    .over("least mean over programs on the same core of all waits with such a period")
    .is(ratio(least.map(|(_, kept)| kept)))
    .number("", plain(0, least.map(|(period, _)| period)))
    .here("at least {0} (at {1} cycles)")
    .confirmed(is_in(0, Band::at_least(0.9, Unit::Ratio)))
}

fn nothing_impossible_is_kept(table: &Table<'_>) -> Statement {
    let most = |measure: &str| {
        let by_wait = WAITS.iter().flat_map(|turns| {
            let all = table.by_program(Kind::IpcSmt.name(), &wait(*turns), measure);
            all.into_values()
        });
        by_wait.reduce(f64::max)
    };
    let statement = Statement::new(
        Section::Accuracy,
        "no kept sample has an IPC above the width of the machine",
        "IPC up to 37 before, none above 4 after, on a machine of width 4 (figures 4(a), 4(b))",
    )
    .number("before the correction", plain(2, most("ipc_before_max")))
    .number("after it", plain(2, most("ipc_after_max")))
    .here("{0} before, {1} after");
    // A machine whose description is not known has no width to judge by.
    let Some(width) = table.commit_width() else {
        return statement.over("the machine's description is not known");
    };
    let possible = Band::at_most(f64::from(width), Unit::Plain);
    let impossible = Band::above(f64::from(width), Unit::Plain);
    // Where nothing impossible occurs, the correction has nothing to remove.
    statement
        .over(format!(
            "largest IPC of all samples of all programs and waits, on a machine of width {width}"
        ))
        .confirmed(all([is_in(0, impossible), is_in(1, possible)]))
        .differs(is_in(1, possible), "none is above it before either")
}

fn steady_observer(table: &Table<'_>) -> Statement {
    let at = |what: &str| ipc_smt(table, 100, &format!("own_ipc_{what}"));
    let [low, middle, high] = ["p10", "p50", "p90"].map(at);
    let span = high.zip(low).map(|(high, low)| high - low);
    Statement::new(
        Section::Accuracy,
        "the observer's own IPC hardly varies",
        "67% of samples from 0.48 to 0.51, 99% from 0.43 to 0.54, at 476 cycles (figure 6)",
    )
    .over("span of 80% of samples (10th to 90th percentile, means over programs) with a wait of 100 turns, over the median")
    .is(ratio(over(span, middle)))
    .number("", plain(2, low))
    .number("", plain(2, high))
    .number("", plain(2, middle))
    .here("{1} to {2}, median {3}")
    .confirmed(is_in(0, Band::at_most(0.25, Unit::Ratio)))
    .differs(
        is_in(0, Band::at_most(1.0, Unit::Ratio)),
        "the program takes slots from it, more in some phases",
    )
}

fn finer_samples_show_more(table: &Table<'_>) -> Statement {
    let ends = |name: &str| ["p10", "p90"].map(|end| ipc_smt(table, 100, &format!("{name}_{end}")));
    let [fine, coarse] = ["ipc_after", "ipc_every_100"].map(ends);
    let span = |[low, high]: [Option<f64>; 2]| Some(high? - low?);
    Statement::new(
        Section::Accuracy,
        "fine samples show extremes that coarse ones hide",
        "finest: 10% below 0.93, 10% above 1.45; coarse: 1.0 to 1.3 (figure 1(b))",
    )
    .over("span from the 10th to the 90th percentile of IPC, means over programs, of samples as they are over that of hundreds")
    .is(plain(2, over(span(fine), span(coarse))))
    .number("", plain(2, fine[0]))
    .number("", plain(2, fine[1]))
    .number("", plain(2, coarse[0]))
    .number("", plain(2, coarse[1]))
    .here("{1} to {2} as they are, {3} to {4} by hundreds")
    .confirmed(is_in(0, Band::at_least(1.25, Unit::Plain)))
}

fn remote_counters(table: &Table<'_>) -> Statement {
    Statement::new(
        Section::Cost,
        "counters that another core can read make IPC and tags free",
        "three counters at about 300 cycles, no significant overhead (figure 13, projected)",
    )
    .over("mean over programs at full speed from another core")
    .is(ratio(cost(table, Kind::IpcCmp, 0)))
    .number("", period(table, Kind::IpcCmp, 0))
    .here("{0} at {1} cycles")
    .confirmed(is_in(0, Band::at_most(0.01, Unit::Ratio)))
    .differs(
        is_in(0, Band::at_most(0.05, Unit::Ratio)),
        "{0} at full speed",
    )
}

/// Savings of proposed hardware at full speed.
fn cheaper(table: &Table<'_>, today: Kind, proposed: Kind, what: &str) -> Statement {
    let (before, after) = (cost(table, today, 0), cost(table, proposed, 0));
    Statement::new(
        Section::Cost,
        format!("proposed hardware, {what}: a tag costs less at full speed"),
        "expected to remove the overhead (sections 1 and 6.1; not measured there)",
    )
    .over("mean overheads over programs")
    .number("what is left of it", ratio_to(0, over(after, before)))
    .number("that of today", ratio(before))
    .number("", ratio(after))
    .number("", period(table, proposed, 0))
    .here("{2} instead of {1}, at {3} cycles")
    .confirmed(is_in(0, Band::at_most(0.25, Unit::Ratio)))
    .differs(is_in(0, Band::below(1.0, Unit::Ratio)), "{2} of {1} remain")
    .draw(
        is_in(1, Band::below(0.005, Unit::Ratio)),
        "there is little to save",
    )
}

fn pair(table: &Table<'_>, producer: u64, consumer: u64, measure: &str) -> Option<f64> {
    let setting = format!("producer={producer},consumer={consumer}");
    table.mean("pair-cmp", &setting, measure)
}

fn slow_pairs(table: &Table<'_>) -> Statement {
    let at = |producer, consumer| pair(table, producer, consumer, "overhead_ratio");
    let slowest = PAIR_WAITS[PAIR_WAITS.len() - 1];
    let slow: Option<Vec<f64>> = (PAIR_WAITS.iter())
        .flat_map(|wait| [at(slowest, *wait), at(*wait, slowest)])
        .collect();
    let most = slow.map(|slow| slow.into_iter().fold(0.0, f64::max));
    Statement::new(
        Section::Cost,
        "a pair on two cores costs little when either side is slow",
        "below 5% when producer or consumer is slow (figure 9(a))",
    )
    .over("dearest of all pairs on two cores in which one side waits 1,000 turns")
    .is(ratio(most))
    .number("", ratio(at(0, 0)))
    .here("at most {0}; both fast {1}")
    .confirmed(is_in(0, Band::below(0.05, Unit::Ratio)))
}

fn traffic_explains(table: &Table<'_>) -> Statement {
    let at = |consumer| {
        let invalidations = pair(table, 0, consumer, "invalidations_per_kilocycle")?;
        Some((invalidations, pair(table, 0, consumer, "overhead_ratio")?))
    };
    let rows: Option<Vec<(f64, f64)>> = PAIR_WAITS.into_iter().map(at).collect();
    let rows = rows.map(|mut rows| {
        rows.sort_by(|a, b| a.0.total_cmp(&b.0));
        rows
    });
    let falls = rows.as_ref().map(|rows| {
        let falls = rows.windows(2).map(|pair| pair[0].1 - pair[1].1);
        falls.fold(f64::NEG_INFINITY, f64::max)
    });
    let fewest = rows.as_ref().and_then(|rows| rows.first());
    let most = rows.as_ref().and_then(|rows| rows.last());
    Statement::new(
        Section::Cost,
        "invalidations explain what an observer on another core costs",
        "overhead follows write invalidations (figure 9(b))",
    )
    .over(
        "a producer that never waits, by the consumer's wait: the greatest fall of its overhead from one rate of invalidations to \
         the next higher one",
    )
    .is(ratio(falls))
    .number("", plain(1, fewest.map(|row| row.0)))
    .number("", ratio(fewest.map(|row| row.1)))
    .number("", plain(1, most.map(|row| row.0)))
    .number("", ratio(most.map(|row| row.1)))
    .here("{1} a thousand cycles: {2}; {3}: {4}")
    .confirmed(is_in(0, Band::at_most(0.01, Unit::Ratio)))
}

/// A mean over programs and waits.
fn over_waits(table: &Table<'_>, measure: &str) -> Option<f64> {
    let all: Option<Vec<f64>> = (WAITS.iter())
        .map(|turns| ipc_smt(table, *turns, measure))
        .collect();
    mean(all?)
}

fn wrong_values_come_from_skew(table: &Table<'_>) -> Statement {
    Statement::new(
        Section::Accuracy,
        "what is damaged is discarded",
        "all wrong values come from skew, which the correction finds (section 4.1); not checked there, for want of the truth",
    )
    .over(
        "share of samples more than 5% (and an instruction) off that is discarded, mean over programs and waits on the same \
         core",
    )
    .is(ratio(over_waits(table, "dte_recall_ratio")))
    .number("", ratio(over_waits(table, "damaged_ratio")))
    .here("{0} of the {1} that are damaged")
    .confirmed(is_in(0, Band::at_least(0.95, Unit::Ratio)))
    .differs(is_in(0, Band::at_least(0.5, Unit::Ratio)), "{0} of it")
}

fn what_is_kept_is_right(table: &Table<'_>) -> Statement {
    let at = |measure| ipc_smt(table, 0, measure);
    let (kept, ipc) = (at("ipc_error_of_kept"), at("true_ipc_of_kept"));
    Statement::new(
        Section::Explained,
        "kept samples tell the IPC of their interval",
        "assumed (section 4.1)",
    )
    .over("mean error of IPC at full speed on the same core, over the true IPC")
    .is(ratio(over(kept, ipc)))
    .number("", plain(3, kept))
    .number("", plain(3, at("ipc_error_of_all")))
    .number("", plain(2, ipc))
    .here("{1} off ({2} before), IPC {3}")
    .confirmed(is_in(0, Band::at_most(0.05, Unit::Ratio)))
    .differs(
        is_in(0, Band::at_most(0.25, Unit::Ratio)),
        "{0} off: the counters are read some cycles behind the stamp, and the program moves on",
    )
}

/// Holds of an observer between its stamps are found, and holds elsewhere do no harm.
fn holds_are_found(table: &Table<'_>) -> Statement {
    let of_both = |measure: &str| {
        let kinds = [Kind::IpcSmt, Kind::IpcCmp].into_iter();
        mean(kinds.filter_map(|kind| table.mean(kind.name(), "held", measure)))
    };
    Statement::new(
        Section::Explained,
        "an observer that is interrupted within a sample is found out",
        "the reason for double-time error correction (section 4.1)",
    )
    .over(
        "share of the samples with such a time between their stamps that are discarded, of observers at full speed that stand \
         still for 5,000 cycles now and then, means over programs",
    )
    .is(ratio(of_both("held_within_found_ratio")))
    .number("", ratio(of_both("held_between_kept_ratio")))
    .here("{0} are discarded; of those with such a time elsewhere {1} are kept, rightly")
    .confirmed(is_in(0, Band::at_least(0.99, Unit::Ratio)))
}

fn no_bias(table: &Table<'_>) -> Statement {
    let at = |measure| ipc_smt(table, 0, measure);
    let (kept, all) = (at("true_ipc_of_kept"), at("true_ipc_of_all"));
    Statement::new(
        Section::Explained,
        "the correction has no favourites",
        "not asked there",
    )
    .over("true IPC of kept intervals over that of all, less one, means over programs at full speed on the same core")
    .is(signed_percent(1, over(kept, all).map(|share| share - 1.0)))
    .number("", plain(3, kept))
    .number("", plain(3, all))
    .here("{0}: {1} of {2}")
    .confirmed(is_in(0, Band::between(-0.02, 0.02, Unit::Ratio)))
    .differs(is_in(0, Band::between(-0.1, 0.1, Unit::Ratio)), "{0}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::statement::tests::assert_that_each_limit_counts;

    #[test]
    fn each_limit_of_a_claim_counts() {
        let table = Table::of(&[], "riscv64");
        let mut all = statements(&table);
        all.extend(phases::statements(&table));
        assert_that_each_limit_counts(&all);
    }
}
