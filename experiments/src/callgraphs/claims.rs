//! The thesis's claims, and what its author could not see, held against what was measured.

use crate::claims::band::{Band, Unit};
use crate::claims::rule::{Condition, all, falls, is_in, near, rises};
use crate::claims::statement::{Number, Statement, of_all, plain, points, ratio, ratio_to};
use crate::claims::{BAND, Claim, Section};
use crate::correlation::rank_correlation;
use crate::table::{Table, paired};

/// All claims for one instruction set.
#[must_use]
pub fn claims(table: &Table<'_>, isa: &str) -> Vec<Claim> {
    of_all(statements(table), isa)
}

fn statements(table: &Table<'_>) -> [Statement; 20] {
    [
        tag_cost(table),
        context_cost(table),
        deeper_is_slower(table),
        stack_pushes_cost_nothing(table),
        stack_accuracy(table),
        depth_does_not_matter(table),
        depth_matters_when_slow(table),
        invalid_edges(table),
        bursts_beat_samples(table),
        faster_timers_gain_little(table),
        larger_rings(table),
        rings_beat_stacks(table),
        rings_beat_bursts(table),
        rings_need_no_speed(table),
        orphans(table),
        seen_calls_make_accuracy(table),
        undetectable(table),
        every_invalid_edge_is_explained(table),
        time_weighted(table),
        hps_beside(table),
    ]
}

const FAST: &str = "wait=0";
const INTERRUPTS: &str = "wait=10000";
const MILLISECOND: &str = "wait=100000";
const WAITS: [&str; 4] = [FAST, "wait=1000", INTERRUPTS, MILLISECOND];
/// The three periods of the thesis, and how a claim calls them.
const PERIODS: [(&str, &str); 3] = [
    (FAST, "as fast as possible"),
    (INTERRUPTS, "with 10,000 cycles of sleep"),
    (MILLISECOND, "with 100,000 cycles of sleep"),
];

fn overhead(table: &Table<'_>, scheme: &str, setting: &str) -> Option<f64> {
    table.mean(scheme, setting, "overhead_ratio")
}

fn accuracy(table: &Table<'_>, scheme: &str, setting: &str) -> Option<f64> {
    table.mean(scheme, setting, "accuracy_ratio")
}

/// One number less another.
fn less(more: Option<f64>, by: Option<f64>) -> Option<f64> {
    Some(more? - by?)
}

/// Points of percent that shares may be apart.
fn within_points(most: f64, of: impl Into<Vec<usize>>) -> Condition {
    Condition::Apart(of.into(), most / 100.0, Unit::Ratio)
}

fn tag_cost(table: &Table<'_>) -> Statement {
    let at = |setting| ratio(overhead(table, "tag", setting));
    let nothing = || is_in(1, Band::below(0.01, Unit::Ratio));
    Statement::new(
        Section::Cost,
        "IPC by one tag costs much as fast as possible, little at 200,000 cycles, nothing at a millisecond",
        "about 40% at 200 cycles, none at 1 ms (section 3.3.2, figure 3.2)",
    )
    .over("mean overheads over programs")
    .number("as fast as possible", at(FAST))
    .number("with 100,000 cycles of sleep", at(MILLISECOND))
    .confirmed(all([near(0, 0.4), nothing()]))
    .differs(
        nothing(),
        "counter reads serialize the observer, and leave the core to the program",
    )
}

fn context_cost(table: &Table<'_>) -> Statement {
    let at = |scheme| ratio(overhead(table, scheme, FAST));
    Statement::new(
        Section::Cost,
        "calling contexts cost no more than one tag",
        "\"very similar\" (section 3.4.4), though 65.4 to 69.9% (Table 3.1) against about 40%",
    )
    .over("mean overheads over programs as fast as possible")
    .number("with one tag", at("tag"))
    .number("with two", at("context-2"))
    .number("with the whole context", at("context-full"))
    .confirmed(all([
        within_points(5.0, [0, 1]),
        within_points(5.0, [0, 2]),
    ]))
}

fn deeper_is_slower(table: &Table<'_>) -> Statement {
    let at = |scheme| plain(0, table.mean(scheme, FAST, "period_cycles"));
    Statement::new(
        Section::Cost,
        "the more context, the longer the shortest period",
        "200, 300 and 350 cycles for 2, 10 and all (Table 3.1)",
    )
    .over("mean periods in cycles over programs as fast as possible")
    .number("for 2", at("context-2"))
    .number("for 10", at("context-10"))
    .number("for all", at("context-full"))
    .confirmed(rises([0, 1, 2]))
}

fn stack_pushes_cost_nothing(table: &Table<'_>) -> Statement {
    Statement::new(
        Section::Cost,
        "maintaining the tag stack costs nothing",
        "0.0% without sampling (Table 3.1)",
    )
    .over("mean overhead over programs of a stack that nobody reads")
    .is(ratio(overhead(table, "stack-full", "alone")))
    .confirmed(is_in(0, Band::below(0.01, Unit::Ratio)))
    .differs(
        is_in(0, Band::below(0.1, Unit::Ratio)),
        "programs here call more often than JavaScript does",
    )
}

/// A claim about numbers at the thesis's three periods.
fn at_periods(statement: Statement, of: impl Fn(&str) -> Number) -> Statement {
    (PERIODS.into_iter()).fold(statement, |statement, (setting, name)| {
        statement.number(name, of(setting))
    })
}

fn stack_accuracy(table: &Table<'_>) -> Statement {
    let statement = Statement::new(
        Section::Accuracy,
        "a tag stack is accurate only as fast as possible",
        "79.4%, 39.3% and 22.7% as fast as possible, at interrupts' period and at 1 ms (Table 4.1)",
    )
    .over("means over programs with the whole stack");
    at_periods(statement, |setting| {
        ratio(accuracy(table, "stack-full", setting))
    })
    .confirmed(all([near(0, 0.794), near(1, 0.393), near(2, 0.227)]))
    .differs(falls([0, 1, 2]), "other periods in calls")
}

fn depth_does_not_matter(table: &Table<'_>) -> Statement {
    let at = |scheme| ratio(accuracy(table, scheme, FAST));
    Statement::new(
        Section::Accuracy,
        "as fast as possible, two elements of the stack tell as much as all",
        "82.2%, 82.3% and 79.4% for 2, 10 and all (Table 4.1)",
    )
    .over("means over programs")
    .number("with 2", at("stack-2"))
    .number("with 10", at("stack-10"))
    .number("with all", at("stack-full"))
    .confirmed(within_points(5.0, [0, 1, 2]))
}

/// A claim that one scheme is more accurate than another, at interrupts' period and at 1 ms.
fn better_at_both(
    table: &Table<'_>,
    (claim, paper): (&str, &str),
    (worse, worse_name): (&str, &str),
    (better, better_name): (&str, &str),
) -> Statement {
    let statement =
        Statement::new(Section::Accuracy, claim, paper).over("mean accuracies over programs");
    (PERIODS[1..].iter())
        .fold(statement, |statement, (setting, period)| {
            let of = |scheme| ratio(accuracy(table, scheme, setting));
            statement
                .number(format!("{worse_name} {period}"), of(worse))
                .number(format!("{better_name} {period}"), of(better))
        })
        .confirmed(all([Condition::Above(1, 0), Condition::Above(3, 2)]))
}

fn depth_matters_when_slow(table: &Table<'_>) -> Statement {
    better_at_both(
        table,
        (
            "when sampling is slow, more of the stack tells more",
            "36.7% and 39.3% at interrupts' period, 20.8% and 22.7% at 1 ms, for 2 and all (Table 4.1)",
        ),
        ("stack-2", "of 2"),
        ("stack-full", "of all"),
    )
}

fn bursts_beat_samples(table: &Table<'_>) -> Statement {
    better_at_both(
        table,
        (
            "bursts of eight calls are more accurate than single ones at the same timer",
            "51.7% for 38.8% at 1 ms, 53.7% for 42.6% at interrupts' period (Table 4.2)",
        ),
        ("yield-1", "of single calls"),
        ("yield-8", "of bursts"),
    )
}

/// The largest mean over programs of all depths and waits.
fn most(table: &Table<'_>, measure: &str) -> Option<f64> {
    let schemes = ["stack-2", "stack-10", "stack-full"];
    let of_scheme = |scheme| {
        WAITS
            .into_iter()
            .filter_map(move |setting| table.mean(scheme, setting, measure))
    };
    schemes.into_iter().flat_map(of_scheme).reduce(f64::max)
}

fn invalid_edges(table: &Table<'_>) -> Statement {
    Statement::new(
        Section::Accuracy,
        "edges that never were have less than 0.1% of the weight of a tag stack's graph",
        "below 0.1% at all periods and depths (section 4.2.5)",
    )
    .over("largest mean over programs of all depths and waits")
    .is(ratio_to(2, most(table, "invalid_ratio")))
    .here("at most {0}")
    .confirmed(is_in(0, Band::below(0.001, Unit::Ratio)))
    .differs(
        is_in(0, Band::below(0.01, Unit::Ratio)),
        "calls are shorter",
    )
}

fn faster_timers_gain_little(table: &Table<'_>) -> Statement {
    let gain = |of: fn(&Table<'_>, &str, &str) -> Option<f64>| {
        let at = |setting| of(table, "yield-8", setting);
        points(less(at(INTERRUPTS), at(MILLISECOND)))
    };
    Statement::new(
        Section::Accuracy,
        "a faster timer gains little accuracy for much overhead",
        "2.1 points for 10.2 points of overhead, bursts of 8 (Table 4.2)",
    )
    .over("bursts of 8 at ten times the rate, means over programs")
    .number("the gain in accuracy", gain(accuracy))
    .number("that in overhead", gain(overhead))
    .here("{0} for {1}")
    .confirmed(Condition::Above(1, 0))
}

fn larger_rings(table: &Table<'_>) -> Statement {
    let at = |scheme| ratio(accuracy(table, scheme, FAST));
    Statement::new(
        Section::Accuracy,
        "a ring of calls and returns is the better the larger it is",
        "69.9%, 86.8% and 96.1% with 10 KB, 100 KB and 1 MB (Table 4.4)",
    )
    .over("mean accuracies over programs as fast as possible")
    .number("with 8 KB", at("sequence-8k"))
    .number("with 128 KB", at("sequence-128k"))
    .number("with 1 MB", at("sequence-1024k"))
    .confirmed(rises([0, 1, 2]))
}

fn rings_beat_stacks(table: &Table<'_>) -> Statement {
    let costs = |scheme| overhead(table, scheme, FAST);
    let (stack, ring) = ("stack-full", "sequence-1024k");
    let more_accurate = || Condition::Above(0, 1);
    Statement::new(
        Section::Accuracy,
        "a ring is more accurate than a tag stack, at the same overhead",
        "96.1% at 5.7% against 79.4% at 5.3% (Table 4.4)",
    )
    .over("means over programs as fast as possible")
    .number(
        "the accuracy of the ring of 1 MB",
        ratio(accuracy(table, ring, FAST)),
    )
    .number("that of the stack", ratio(accuracy(table, stack, FAST)))
    .number(
        "what the ring costs more",
        ratio(less(costs(ring), costs(stack))),
    )
    .number("", ratio(costs(ring)))
    .number("", ratio(costs(stack)))
    .here("{0} at {3} against {1} at {4}")
    .confirmed(all([
        more_accurate(),
        is_in(2, Band::at_most(0.05, Unit::Ratio)),
    ]))
    .differs(
        more_accurate(),
        "the place of the next record goes to and fro between the cores at each call and return",
    )
}

fn rings_beat_bursts(table: &Table<'_>) -> Statement {
    let ring = accuracy(table, "pairs-128k", FAST);
    let bursts = accuracy(table, "yield-8", MILLISECOND);
    Statement::new(
        Section::Accuracy,
        "a ring of some 100 KB is 20 points more accurate than bursts of eight at 1 ms",
        "72.0% against 51.7% (Table 4.3)",
    )
    .over("what the ring gains, means over programs")
    .is(points(less(ring, bursts)))
    .number("", ratio(ring))
    .number("", ratio(bursts))
    .here("{1} against {2}")
    .confirmed(is_in(0, Band::near(0.203, BAND, Unit::Ratio)))
    .differs(is_in(0, Band::above(0.0, Unit::Ratio)), "{0}")
}

fn rings_need_no_speed(table: &Table<'_>) -> Statement {
    let statement = Statement::new(
        Section::Accuracy,
        "rings need no fast observer",
        "86.8%, 86.6% and 85.6% at three periods with 100 KB (Table 4.4)",
    )
    .over("mean accuracies over programs at three periods");
    at_periods(statement, |setting| {
        ratio(accuracy(table, "sequence-128k", setting))
    })
    .confirmed(within_points(5.0, [0, 1, 2]))
}

fn orphans(table: &Table<'_>) -> Statement {
    let at = |scheme| ratio(table.mean(scheme, FAST, "orphan_ratio"));
    Statement::new(
        Section::Accuracy,
        "the larger the ring, the fewer calls whose caller it does not tell",
        "Figure 4.20",
    )
    .over("mean shares over programs as fast as possible")
    .number("with 1 KB", at("sequence-1k"))
    .number("with 8 KB", at("sequence-8k"))
    .number("with 128 KB", at("sequence-128k"))
    .confirmed(falls([0, 1, 2]))
}

fn seen_calls_make_accuracy(table: &Table<'_>) -> Statement {
    let mut points: Vec<(f64, f64)> = Vec::new();
    for setting in WAITS {
        let seen = table.by_program("stack-full", setting, "found_ratio");
        let accuracies = table.by_program("stack-full", setting, "accuracy_ratio");
        points.extend(paired(&seen, &accuracies));
    }
    let correlation = (points.len() > 3).then(|| rank_correlation(&points));
    Statement::new(
        Section::Accuracy,
        "the more of the calls are seen, the more accurate is the graph",
        "Figure 4.11",
    )
    .over("rank correlation over programs and waits of the share of calls seen with accuracy, whole stack")
    .is(plain(2, correlation.flatten()))
    .here(format!("{{0}} over {} points", points.len()))
    .confirmed(is_in(0, Band::at_least(0.5, Unit::Plain)))
    .differs(is_in(0, Band::above(0.0, Unit::Plain)), "{0}")
}

fn undetectable(table: &Table<'_>) -> Statement {
    let at = |measure| table.mean("stack-full", FAST, measure);
    let wrong = at("invalid_torn_ratio");
    let right = less(at("torn_ratio"), wrong);
    let more = right.zip(wrong).map(|(right, wrong)| right - 10.0 * wrong);
    Statement::new(
        Section::Explained,
        "edges that were read while they changed, and look right, are at most ten times those that look wrong",
        "postulated, not measured (section 4.2.5)",
    )
    .over(
        "the weight of calls that were not one when they were read, and that the complete graph has, less ten times that of the \
         others, means over programs, whole stack as fast as possible",
    )
    .is(ratio_to(2, more))
    .number("", ratio_to(2, right))
    .number("", ratio_to(2, wrong))
    .here("{1} look right, {2} wrong")
    .confirmed(is_in(0, Band::at_most(0.0, Unit::Ratio)))
}

fn every_invalid_edge_is_explained(table: &Table<'_>) -> Statement {
    let (torn, other) = (
        most(table, "invalid_torn_ratio"),
        most(table, "invalid_other_ratio"),
    );
    // Nothing that was never read is explained as well.
    let share = other.zip(torn).map(|(other, torn)| match other == 0.0 {
        true => 0.0,
        false => other / torn,
    });
    Statement::new(
        Section::Explained,
        "edges that never were come from reading what changes",
        "so assumed (section 4.2.5)",
    )
    .over(
        "the weight of edges that never were, though caller and callee were on the stack as read, over that of edges that were \
         read while they changed, largest means over programs of all depths and waits",
    )
    .is(plain(2, share))
    .number("", ratio_to(2, torn))
    .number("", ratio_to(2, other))
    .here("{1} read while they changed, {2} of functions that were entered by a jump from the one called")
    .confirmed(is_in(0, Band::below(1.0, Unit::Plain)))
}

fn time_weighted(table: &Table<'_>) -> Statement {
    let statement = Statement::new(
        Section::Explained,
        "time-weighted graphs get better with each increase of the rate",
        "said without a measurement (section 5.1.2)",
    )
    .over("mean overlap over programs of samples by caller and callee with cycles");
    at_periods(statement, |setting| {
        ratio(table.mean("context-2", setting, "time_accuracy_ratio"))
    })
    .confirmed(rises([2, 1, 0]))
}

fn hps_beside(table: &Table<'_>) -> Statement {
    let (hps, ring) = (("hps-8", "one_in=80"), ("pairs-8k", INTERRUPTS));
    let of = |what: fn(&Table<'_>, &str, &str) -> Option<f64>, (scheme, setting): (&str, &str)| {
        ratio(what(table, scheme, setting))
    };
    Statement::new(
        Section::Explained,
        "HPS is more accurate than a ring of 8 KB, for less",
        "not asked there",
    )
    .over("means over programs of HPS in bursts of 8 of 80 events and of that ring with 10,000 cycles of sleep")
    .number("the accuracy of HPS", of(accuracy, hps))
    .number("that of the ring", of(accuracy, ring))
    .number("the overhead of HPS", of(overhead, hps))
    .number("that of the ring", of(overhead, ring))
    .here("{0} at {2} against {1} at {3}")
    .confirmed(all([Condition::Above(0, 1), Condition::Above(3, 2)]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::statement::tests::assert_that_each_limit_counts;

    #[test]
    fn each_limit_of_a_claim_counts() {
        assert_that_each_limit_counts(&statements(&Table::of(&[], "riscv64")));
    }
}
