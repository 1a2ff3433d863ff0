//! Claims about what each scheme costs (HPS report, sections 4 and 6.1, Figure 7).

use std::collections::BTreeMap;

use hps_profile::ProfileKind;

use super::band::{Band, Unit};
use super::rule::{Condition, all, is_in};
use super::statement::{Statement, as_text, plain};
use super::{BAND, Data, Section, Spread};
use crate::figure7::Bar;
use crate::schemes::{Part, Scheme};

pub(super) fn statements(data: &Data<'_>) -> Vec<Statement> {
    let streams = &[ProfileKind::DataStream];
    let others = &[ProfileKind::CallPair, ProfileKind::Method];
    vec![
        no_basic_overhead(data),
        basic_overhead(data, Scheme::PlainDise),
        removed(data, "hot data streams", streams, "106 points (6.1)", 106.0),
        removed(
            data,
            "hot call pairs and hot methods",
            others,
            "16 points (6.1)",
            16.0,
        ),
        checks_dominate(data),
        basic_overhead(data, Scheme::Software),
        software_range(
            data,
            Scheme::Software,
            "6 to 35% (6, of reference 17)",
            (6.0, 35.0),
        ),
        software_range(
            data,
            Scheme::SoftwareReduced,
            "3 to 18% (6, of reference 17)",
            (3.0, 18.0),
        ),
    ]
}

fn of<'a>(data: &'a Data<'_>, scheme: Scheme) -> impl Iterator<Item = &'a Bar> {
    data.bars.iter().filter(move |bar| bar.scheme == scheme)
}

fn cycles(bar: &Bar, part: Part) -> i64 {
    bar.cycles(part).unwrap_or(0)
}

const PROGRAMS: &str = "programs × profiles";

fn no_basic_overhead(data: &Data<'_>) -> Statement {
    let added = |bar: &Bar| [cycles(bar, Part::Basic), cycles(bar, Part::Checks)];
    let bars: Vec<&Bar> = of(data, Scheme::Hps).collect();
    let free = bars.iter().filter(|bar| added(bar) == [0, 0]).count();
    let largest = bars.iter().flat_map(|bar| added(bar)).map(i64::abs).max();
    Statement::new(
        Section::Cost,
        "HPS has no basic overhead and no instrumentation checks: while it does not sample, it costs nothing",
        "completely eliminated (4.2, 6.1)",
    )
    .over(
        "cycles more or fewer than the run without DISE that counting alone takes, and everything with bursts that never begin, \
         the most of all programs and profiles",
    )
    .is(plain(0, largest.map(|cycles| cycles as f64)))
    .here(format!("exactly 0 cycles in {free} of {} {PROGRAMS}", bars.len()))
    .confirmed(is_in(0, Band::at_most(0.0, Unit::Plain)))
    .else_differs("up to {0} cycles")
}

fn basic_overhead(data: &Data<'_>, scheme: Scheme) -> Statement {
    let bars: Vec<&Bar> = of(data, scheme).collect();
    let shares = bars
        .iter()
        .map(|bar| (&*bar.program, bar.share(Part::Basic)));
    let spread = Spread::of(shares);
    let least = bars.iter().map(|bar| cycles(bar, Part::Basic)).min();
    Statement::new(
        Section::Cost,
        format!("The basic overhead of {} is not zero", scheme.title()),
        "the second part of each bar of Figure 7",
    )
    .over("what counting events alone takes more than the run without DISE")
    .number(
        "the fewest cycles of all programs and profiles",
        plain(0, least.map(|cycles| cycles as f64)),
    )
    .number("the mean share", Spread::number(spread.as_ref(), PROGRAMS))
    .here("{1}")
    .confirmed(is_in(0, Band::above(0.0, Unit::Plain)))
    .differs(
        is_in(1, Band::above(0.0, Unit::Ratio)),
        "not for every program",
    )
}

/// The points that HPS removes of plain DISE's overhead.
fn removed(
    data: &Data<'_>,
    what: &str,
    kinds: &[ProfileKind],
    paper: &str,
    points: f64,
) -> Statement {
    let overheads = |scheme| {
        let bars = of(data, scheme).filter(|bar| kinds.contains(&bar.kind));
        bars.map(|bar| ((&*bar.program, bar.kind), bar.overhead()))
            .collect::<BTreeMap<_, _>>()
    };
    let (plain_dise, hps) = (overheads(Scheme::PlainDise), overheads(Scheme::Hps));
    let both = plain_dise
        .iter()
        .filter_map(|(key, plain)| Some((key.0, plain - hps.get(key)?)));
    let spread = Spread::of(both);
    let text = spread.map(|s| {
        let text = format!(
            "{} points on average, {:.1} to {:.1} over {} {PROGRAMS}",
            s.mean_percent(1),
            100.0 * s.low,
            100.0 * s.high,
            s.count
        );
        (100.0 * s.mean, text)
    });
    let times = spread.map(|s| 100.0 * s.mean / points);
    Statement::new(
        Section::Cost,
        format!("HPS removes {points:.0} percentage points of plain DISE's overhead for {what}"),
        paper,
    )
    // Whole runs of a deterministic machine: there is no noise in them.
    .over("plain DISE's overhead less HPS's in points, mean over programs")
    .is(as_text(text))
    .number("", plain(2, times))
    .here("{0}")
    .confirmed(is_in(0, Band::near(points, BAND, Unit::Plain)))
    .differs(
        is_in(0, Band::above(0.0, Unit::Plain)),
        "{1} times the published",
    )
}

/// Basic overhead of the software scheme, with its copies, against what the paper quotes.
fn software_range(
    data: &Data<'_>,
    scheme: Scheme,
    paper: &str,
    (low, high): (f64, f64),
) -> Statement {
    let basic = Spread::of(of(data, scheme).map(|b| {
        let share = b.share(Part::Basic) + b.share(Part::Duplication);
        (&*b.program, share)
    }));
    let mean = basic.map(|s| 100.0 * s.mean);
    Statement::new(
        Section::Cost,
        format!(
            "The basic overhead of {} is {low:.0} to {high:.0}% of the time",
            scheme.title()
        ),
        paper,
    )
    .over("duplicated code and checks that never lead to a sample, mean over programs")
    .is(Spread::number(basic.as_ref(), PROGRAMS))
    .number("", plain(1, mean))
    .here("{0}")
    .confirmed(is_in(
        0,
        Band::between(low / 100.0, high / 100.0, Unit::Ratio),
    ))
    .else_differs("{1}%")
}

fn checks_dominate(data: &Data<'_>) -> Statement {
    let bars = of(data, Scheme::PlainDise).filter(|bar| bar.kind == ProfileKind::DataStream);
    let bars: Vec<&Bar> = bars.collect();
    let mean = |part| {
        let spread = Spread::of(bars.iter().map(|bar| (&*bar.program, bar.share(part))));
        as_text(spread.map(|s| (s.mean, format!("{}%", s.mean_percent(1)))))
    };
    Statement::new(
        Section::Cost,
        "Instrumentation checks dominate plain DISE's overhead for hot data streams",
        "dominant (6.1, Figure 7)",
    )
    .over("means over programs")
    .number("the cost of checks", mean(Part::Checks))
    .number("the basic overhead", mean(Part::Basic))
    .number("the cost of sampling", mean(Part::Sampling))
    .here("means: checks {0}, basic {1}, sampling {2}")
    .confirmed(all([Condition::Above(0, 1), Condition::Above(0, 2)]))
}
