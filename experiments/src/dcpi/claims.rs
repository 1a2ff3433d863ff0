//! Claims of the paper held against what was measured.

use hps_dcpi::analysis::frequency::{Point, Rules, cluster, estimate, ratios};
use hps_dcpi::paper;
use hps_profilers::views::Level;

use super::data::{icache, machines, mean, mean_of, setting_of};
use super::edge_samples;
use super::order::{BESIDE, HEAD, error_measure};
use super::{MAIN_PERIOD, PERIODS, figures, main_setting};
use crate::claims::band::{Band, Unit};
use crate::claims::rule::{Condition, all, falls, is_in};
use crate::claims::statement::{
    Statement, mean_percent, of_all, percent, plain, ratio, ratio_to, signed,
};
use crate::claims::{BAND, Claim, Section};
use crate::correlation::correlation;
use crate::table::{Mean, Table};

/// Points of percent by which a share may miss the published one and still agree.
const POINTS: f64 = 10.0;

/// The paper's words for a result that the paper could not know.
const NOT_KNOWN: &str = "not in the paper, which could not know";

/// All claims for one instruction set.
#[must_use]
pub fn claims(table: &Table<'_>, isa: &str) -> Vec<Claim> {
    of_all(statements(table), isa)
}

fn statements(table: &Table<'_>) -> Vec<Statement> {
    let mut all = vec![copy_loop(), super::copy::statement(table)];
    all.extend(frequencies(table));
    all.extend([
        confidence(table),
        super::calibration::statement(table),
        edges(table),
        runs(table),
        more_samples(table),
        edge_samples::edges(table),
        edge_samples::frequencies(table),
        edge_samples::directions(table),
        unexplained(table),
    ]);
    all.extend(icache_stalls(table));
    all.extend([
        named(table),
        ranges(table),
        random(table),
        order(table),
        head(table),
    ]);
    all.extend(super::precise::statements(table));
    all.extend([
        overhead(table),
        configurations(table),
        edge_samples::cost(table),
        handler(table),
        miss_rate(table),
        savings(table),
        conserved(table),
    ]);
    all.extend(figures::statements(table));
    all.extend(not_covered());
    all
}

fn copy_loop() -> Statement {
    let points = paper::COPY_LOOP.iter().map(|&(samples, minimum)| Point {
        samples,
        minimum: f64::from(minimum),
        waits_for: None,
        is_uncertain: false,
    });
    let blocks = vec![points.collect::<Vec<_>>()];
    let rules = Rules::published();
    let members = cluster(&ratios(&blocks), &blocks, &rules);
    let by_rule = estimate(&blocks, &rules).map_or(0.0, |e| e.frequency);
    let without = members.split_last().map_or(0.0, |(_, rest)| {
        rest.iter().map(|r| r.ratio).sum::<f64>() / rest.len().max(1) as f64
    });
    let (printed, truth) = paper::COPY_LOOP_FREQUENCY;
    let near = Band::between(0.95 * truth, 1.05 * truth, Unit::Plain);
    let as_printed = Band::between(printed - 0.5, printed + 0.5, Unit::Plain);
    Statement::new(
        Section::Accuracy,
        "the estimate for the copy loop follows from its samples",
        format!("{printed}, the truth being {truth} (figure 7)"),
    )
    .number(
        "by the rule (the largest ratio is at most 1.5 times the smallest)",
        plain(0, Some(by_rule)),
    )
    .number("without the largest ratio", plain(0, Some(without)))
    .here("{0} by the rule; {1} without the ratio 1636, which the rule includes")
    .confirmed(is_in(0, as_printed))
    .differs(
        all([is_in(0, near), is_in(1, as_printed)]),
        "the printed number leaves one ratio of the cluster out",
    )
}

/// A share beside a published one.
fn share(
    table: &Table<'_>,
    claim: impl Into<String>,
    measure: &str,
    (published, figure): (f64, &str),
) -> Statement {
    let mean = mean_of(table, &main_setting(), measure);
    let off = mean.map(|mean| mean.value - published);
    let near = Band::between(published - POINTS, published + POINTS, Unit::Percent);
    Statement::new(
        Section::Accuracy,
        claim,
        format!("{published:.0}% ({figure})"),
    )
    .over(format!(
        "mean over programs, a sample each {MAIN_PERIOD} cycles"
    ))
    .is(mean_percent(mean.as_ref()))
    .number("", signed(0, off))
    .here("{0}")
    .confirmed(all([
        is_in(0, near),
        Condition::Holds(0, published, Unit::Percent),
    ]))
    .differs(
        is_in(0, Band::at_least(published / 2.0, Unit::Percent)),
        "{1} points",
    )
}

fn frequencies(table: &Table<'_>) -> impl Iterator<Item = Statement> {
    let limits = [5, 10, 15].into_iter().zip(paper::FREQUENCIES_WITHIN);
    limits.map(|(limit, published)| {
        share(
            table,
            format!("samples whose frequency is within {limit}% of the truth"),
            &format!("frequency_within_{limit}_percent"),
            (published, "figure 8"),
        )
    })
}

fn confidence(table: &Table<'_>) -> Statement {
    let confident = mean(table, &main_setting(), "confident_of_wrong_ratio");
    Statement::new(
        Section::Accuracy,
        "nearly all estimates that err by more than 15% are marked low confidence",
        "nearly all (section 6.2)",
    )
    .over("share of such samples that are of low confidence")
    .is(ratio(confident.map(|share| 1.0 - share)))
    .here("{0} of them")
    .confirmed(is_in(0, Band::at_least(0.8, Unit::Ratio)))
    .differs(is_in(0, Band::at_least(0.5, Unit::Ratio)), "{0} only")
}

fn edges(table: &Table<'_>) -> Statement {
    share(
        table,
        "edge executions whose frequency is within 10% of the truth",
        "edge_within_10_percent",
        (paper::EDGES_WITHIN_10, "figure 9"),
    )
}

fn runs(table: &Table<'_>) -> Statement {
    let of = |runs| mean(table, runs, "frequency_within_5_percent");
    let both = of("runs=1").zip(of("runs=80"));
    let (one, eighty) = paper::ONE_RUN_AND_EIGHTY;
    Statement::new(
        Section::Accuracy,
        "eighty runs give better frequencies than one",
        format!(
            "{one:.0}% of samples within 5% from one run, {eighty:.0}% from eighty (section 6.2)"
        ),
    )
    .over("points that eighty runs of the same length and period, with other seeds, gain")
    .is(plain(1, both.map(|(one, eighty)| eighty - one)))
    .number("", percent(1, of("runs=1")))
    .number("", percent(1, of("runs=80")))
    .here("{1} and {2}")
    .confirmed(is_in(0, Band::near(eighty - one, BAND, Unit::Plain)))
    .differs(
        is_in(0, Band::above(0.0, Unit::Plain)),
        "{0} points are gained",
    )
}

fn more_samples(table: &Table<'_>) -> Statement {
    let of = |period: u64| {
        mean(
            table,
            &format!("period={period}"),
            "frequency_within_10_percent",
        )
    };
    let shares = PERIODS.map(of);
    let gained = shares[0].zip(shares[PERIODS.len() - 1]);
    let mut statement = Statement::new(
        Section::Explained,
        "the number of samples decides how good frequencies are",
        "not in the paper, whose runs have millions of samples",
    )
    .over("share within 10%");
    for (period, share) in PERIODS.into_iter().zip(shares) {
        statement = statement.number(format!("at {period} cycles"), percent(0, share));
    }
    let gain = plain(1, gained.map(|(first, last)| first - last));
    statement
        .number(
            "the shortest period's share in points above the longest one's",
            gain,
        )
        .here("{0} at 16 cycles, {1} at 64, {2} at 256, {3} at 1024, {4} at 4096")
        .confirmed(falls([0, 1, 2, 3, 4]))
        .differs(
            is_in(5, Band::at_least(20.0, Unit::Plain)),
            "where samples are few, shares do not fall with them",
        )
}

fn unexplained(table: &Table<'_>) -> Statement {
    let share = mean(table, &main_setting(), "unexplained_ratio");
    let times = share.map(|share| 100.0 * share / paper::UNEXPLAINED);
    Statement::new(
        Section::Accuracy,
        "stalls without a cause",
        format!("{}% of the samples (section 6.3)", paper::UNEXPLAINED),
    )
    .over("mean over programs")
    .is(ratio(share))
    .number("", plain(2, times))
    .here("{0}")
    .confirmed(is_in(
        0,
        Band::near(paper::UNEXPLAINED / 100.0, BAND, Unit::Ratio),
    ))
    .else_differs("{1} times the published")
}

fn icache_stalls(table: &Table<'_>) -> impl Iterator<Item = Statement> {
    let procedures = icache(table);
    type Procedure = (f64, f64, f64);
    type End = (&'static str, fn(&Procedure) -> f64);
    let ends: [End; 3] = [
        ("top", |p| p.2),
        ("bottom", |p| p.1),
        ("middle", |p| (p.1 + p.2) / 2.0),
    ];
    let with_published = ends.into_iter().zip(paper::ICACHE_CORRELATION);
    with_published.map(move |((end, pick), published)| {
        let points: Vec<(f64, f64)> = procedures.iter().map(|p| (p.0, pick(p))).collect();
        let found = correlation(&points);
        Statement::new(
            Section::Accuracy,
            format!("the {end} of the range of I-cache stalls correlates with I-cache misses"),
            format!("{published} over 1,310 procedures (figure 10)"),
        )
        .over("correlation over procedures")
        .is(plain(2, found))
        .number("", signed(2, found.map(|r| r - published)))
        .here(format!("{{0}} over {} procedures", points.len()))
        .confirmed(is_in(
            0,
            Band::between(published - 0.1, published + 0.1, Unit::Plain),
        ))
        .differs(is_in(0, Band::at_least(0.5, Unit::Plain)), "{1}")
    })
}

fn named(table: &Table<'_>) -> Statement {
    let of = |measure| mean(table, &main_setting(), measure);
    Statement::new(
        Section::Explained,
        "stall cycles whose true cause is among the named ones",
        NOT_KNOWN,
    )
    .over("mean over programs; stalls that are so short on average that no cause is named count as missed")
    .is(ratio(of("named_stall_ratio")))
    .number("", ratio(of("silent_stall_ratio")))
    .here("{0}; {1} lie at instructions for which no cause is named")
    .confirmed(is_in(0, Band::at_least(0.75, Unit::Ratio)))
}

fn ranges(table: &Table<'_>) -> Statement {
    Statement::new(
        Section::Explained,
        "the range of a named cause holds its true cycles",
        NOT_KNOWN,
    )
    .over("share of the cycles, with a tenth or two samples for the error of sampling")
    .is(ratio(mean(table, &main_setting(), "in_range_stall_ratio")))
    .confirmed(is_in(0, Band::at_least(0.75, Unit::Ratio)))
}

/// A number of each machine on which the analysis was tried, in percent, the machine in order first.
pub(super) fn by_machine<'a>(
    table: &Table<'a>,
    measure: &str,
    factor: f64,
) -> Option<Vec<(&'a str, f64)>> {
    let of = |machine: &'a str| {
        let mean = mean(table, &setting_of(machine), measure)?;
        Some((machine, factor * mean))
    };
    let all: Vec<_> = machines(table).into_iter().map(of).collect::<Option<_>>()?;
    (all.len() > 1).then_some(all)
}

pub(super) fn listed(all: &[(&str, f64)]) -> String {
    let each = all
        .iter()
        .map(|(machine, value)| format!("{machine} {value:.1}%"));
    each.collect::<Vec<_>>().join(", ")
}

fn order(table: &Table<'_>) -> Statement {
    let frequencies = by_machine(table, "frequency_within_10_percent", 1.0);
    let edges = by_machine(table, "edge_within_10_percent", 1.0);
    let found = frequencies.zip(edges);
    let text = found.as_ref().map(|(frequencies, edges)| {
        format!(
            "frequencies: {}; edges: {}",
            listed(frequencies),
            listed(edges)
        )
    });
    let in_order = found.as_ref().map(|(frequencies, _)| frequencies[0].1);
    let most = found.as_ref().and_then(|(frequencies, _)| {
        let of_others = frequencies[1..].iter().map(|(_, share)| *share);
        of_others.reduce(f64::max)
    });
    Statement::new(
        Section::Explained,
        "out of order the analysis finds fewer frequencies and edges within 10%",
        "the paper assumes issue in order (section 6.1.3), without a number",
    )
    .over(format!(
        "share of frequencies; a sample each {MAIN_PERIOD} cycles of the oldest instruction that has not issued, analyzed as if in order"
    ))
    .number("that of the machine in order", percent(1, in_order))
    .number("the largest of a machine that issues out of order", percent(1, most))
    .here(text.unwrap_or_default())
    .confirmed(Condition::Above(0, 1))
}

fn head(table: &Table<'_>) -> Statement {
    let of = |policy| by_machine(table, &error_measure(policy, Level::Instruction), 100.0);
    let both = of(HEAD).zip(of("tip"));
    let text = both.as_ref().map(|(head, _)| {
        let beside = BESIDE.iter().filter_map(|policy| {
            let all = of(policy)?;
            Some(format!("{policy}: {}", listed(&all)))
        });
        std::iter::once(format!("head of the queue: {}", listed(head)))
            .chain(beside)
            .collect::<Vec<_>>()
            .join("; ")
    });
    let least = both.as_ref().and_then(|(head, tip)| {
        let more = head[1..].iter().zip(&tip[1..]);
        more.map(|(head, tip)| head.1 - tip.1).reduce(f64::min)
    });
    Statement::new(
        Section::Explained,
        "out of order the head of the issue queue does not say who stalls",
        "section 7 leaves it open",
    )
    .over(format!(
        "time that samples of the head give to wrong instructions, in points above TIP's, the least of all machines that issue \
         out of order; a sample each {MAIN_PERIOD} cycles"
    ))
    .is(plain(1, least))
    .here(text.unwrap_or_default())
    .confirmed(is_in(0, Band::above(0.0, Unit::Plain)))
}

fn random(table: &Table<'_>) -> Statement {
    let of = |setting: &str| percent(1, mean(table, setting, "frequency_within_5_percent"));
    Statement::new(
        Section::Accuracy,
        "random periods give better frequencies than a fixed one",
        "random periods avoid correlations (section 4.1.1), without a number",
    )
    .over(format!(
        "samples within 5%; a fixed period of {MAIN_PERIOD} against one that varies by a sixteenth"
    ))
    .number("the share with random periods", of(&main_setting()))
    .number("that with a fixed one", of("fixed"))
    .here("{0} against {1}")
    .confirmed(Condition::Above(0, 1))
}

/// The mean slowdown of a configuration over programs.
fn slowdown(table: &Table<'_>, setting: &str) -> Option<Mean> {
    mean_of(table, setting, "overhead_ratio")
}

fn overhead(table: &Table<'_>) -> Statement {
    let (low, high) = paper::OVERHEAD;
    let mean_slowdown = slowdown(table, "");
    let half = mean_slowdown.and_then(|mean| mean.half_width);
    let spread = match half {
        Some(half) => format!(
            " ± {:.2}% on average, the 95% interval over programs",
            100.0 * half
        ),
        None => "% of one program".to_string(),
    };
    let value = mean_slowdown.map(|mean| 100.0 * mean.value);
    let side = if value < Some(low) { "below" } else { "above" };
    Statement::new(
        Section::Cost,
        "slowdown at 60-64 K cycles a sample",
        format!("{low:.0}-{high:.0}% for most workloads (section 5.1)"),
    )
    .over("mean over programs; cycles alone are sampled, and the handler with its hash table runs as guest code")
    .is(ratio_to(2, mean_slowdown.map(|mean| mean.value)))
    .number("", plain(2, value))
    .number("", plain(0, mean(table, "", "cycles_per_interrupt")))
    .here(format!(
        "{{1}}{spread}; {{2}} cycles from the taking of an interrupt to the return of its handler"
    ))
    .confirmed(is_in(0, Band::between(low / 100.0, high / 100.0, Unit::Ratio)))
    .else_differs(side)
}

fn configurations(table: &Table<'_>) -> Statement {
    let means = ["", "events=default", "events=mux"]
        .map(|setting| slowdown(table, setting).map(|mean| 100.0 * mean.value));
    let published = paper::CONFIGURATIONS.map(|(mean, spread)| format!("{mean:.1} ± {spread:.1}"));
    let within = |at: usize| {
        let (mean, spread) = paper::CONFIGURATIONS[at];
        is_in(
            at,
            Band::between(mean - spread, mean + spread, Unit::Percent),
        )
    };
    let is_below = |at: usize| {
        let (mean, spread) = paper::CONFIGURATIONS[at];
        means[at].is_none_or(|here| here < mean + spread)
    };
    let side = if (0..3).all(is_below) {
        "below"
    } else {
        "above"
    };
    let growth = means[1].zip(means[0]).map(|(with, without)| with - without);
    Statement::new(
        Section::Cost,
        "slowdown with cycles, with misses of the instruction cache too, and with three events that share a counter",
        format!("{}% for SPECint95 (table 3)", published.join(", ")),
    )
    .over(
        "means over programs; an interrupt each 3840 to 4096 misses or mispredictions, whose period the paper does not print",
    )
    .number("with cycles", plain(2, means[0]))
    .number("with misses", plain(2, means[1]))
    .number("with three events", percent(2, means[2]))
    .number("what misses add", percent(2, growth))
    .here("{0}, {1} and {2}")
    .confirmed(all([within(0), within(1), within(2)]))
    .differs(is_in(3, Band::at_least(0.0, Unit::Percent)), side)
}

fn miss_rate(table: &Table<'_>) -> Statement {
    const LOW: f64 = 0.003;
    let missed = mean(table, "table=published", "table_miss_ratio");
    Statement::new(
        Section::Cost,
        "samples that miss in the driver's hash table",
        "0.3-6.7%, 38.1% for gcc, whose compilations are processes of their own (table 4)",
    )
    .over("mean over programs of a single process, 16 K entries")
    .is(ratio_to(2, missed))
    .confirmed(is_in(0, Band::between(LOW, 0.067, Unit::Ratio)))
    .else_differs(if missed < Some(LOW) { "below" } else { "above" })
}

fn savings(table: &Table<'_>) -> Statement {
    let of = |setting: &str| mean(table, setting, "table_handler_cycles");
    let both = of("table=4-way").zip(of("table=6-way-front"));
    let (low, high) = paper::TABLE_SAVINGS;
    let misses = |setting: &str| ratio(mean(table, setting, "table_miss_ratio"));
    Statement::new(
        Section::Cost,
        "six ways with new entries in front make the table cheaper",
        format!("{low:.0}-{high:.0}% of the whole cost (section 5.4)"),
    )
    .over(
        "what the handler saves with tables of 64 buckets, so that entries are evicted, at the published 416 cycles for a hit \
         and 700 for a miss",
    )
    .is(ratio(both.map(|(old, new)| 1.0 - new / old)))
    .number("", misses("table=4-way"))
    .number("", misses("table=6-way"))
    .number("", misses("table=4-way-front"))
    .number("", misses("table=6-way-front"))
    .here("misses {1} with four ways, {2} with six, {3} with four in front, {4} with six in front; {0} saved")
    .confirmed(is_in(0, Band::between(low / 100.0, high / 100.0, Unit::Ratio)))
    .differs(is_in(0, Band::above(0.0, Unit::Ratio)), "{0} is saved")
}

fn handler(table: &Table<'_>) -> Statement {
    // Entry and return with a hit, and with a miss.
    const HIT: f64 = 214.0 + 416.0;
    const MISS: f64 = 214.0 + 700.0;
    let of = |measure| mean(table, "period=4096", measure);
    let cycles = of("cycles_per_interrupt");
    Statement::new(
        Section::Cost,
        "cycles of an interrupt",
        "416 for a hit and 700 for a miss in SPECint95 (table 4), and at best 214 for entry and return",
    )
    .over("cycles of an interrupt, a sample each 4,096 cycles")
    .is(plain(0, cycles))
    .number("", ratio_to(0, of("handler_miss_ratio")))
    .here("{0} on average, from its taking to the return of the handler; {1} miss")
    .confirmed(is_in(0, Band::between(HIT, MISS, Unit::Plain)))
    .else_differs(if cycles < Some(HIT) { "below" } else { "above" })
}

fn conserved(table: &Table<'_>) -> Statement {
    let of_table = mean(table, "table=4-way", "table_unaccounted_samples");
    let of_handler = |setting| mean(table, setting, "unaccounted_samples");
    let lost = of_table.zip(of_handler("")).zip(of_handler("period=4096"));
    Statement::new(
        Section::Check,
        "no sample is lost",
        "a demand on this reproduction",
    )
    .over(
        "samples that were taken, less those that are kept, evicted and dropped, in the model of the table and in the memory of \
         the handler",
    )
    .is(plain(0, lost.map(|((table, long), short)| table + long + short)))
    .here("{0} are not accounted for")
    .confirmed(is_in(0, Band::between(0.0, 0.0, Unit::Plain)))
}

/// Numbers that the paper reports and no study here measures.
fn not_covered() -> [Statement; 2] {
    [
        (
            Section::Cost,
            "aggregate samples a second, memory and disk space of the daemon",
            "by workload (table 5)",
        ),
        (
            Section::Cost,
            "cycles of the daemon for a sample",
            "by workload (table 4)",
        ),
    ]
    .map(|(section, claim, paper)| Statement::new(section, claim, paper))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::statement::tests::assert_that_each_limit_counts;

    #[test]
    fn each_limit_of_a_claim_counts() {
        assert_that_each_limit_counts(&statements(&Table::of(&[], "alpha")));
    }
}
