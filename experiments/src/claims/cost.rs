//! Claims about what each scheme costs (HPS report, sections 4 and 6.1, Figure 7).

use std::collections::BTreeMap;

use hps_profile::ProfileKind;

use super::{BAND, Data, Judged, Section, Spread, Verdict, beside};
use crate::figure7::Bar;
use crate::schemes::{Part, Scheme};

pub(super) fn claims(data: &Data<'_>) -> Vec<Judged> {
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

fn no_basic_overhead(data: &Data<'_>) -> Judged {
    let bars: Vec<&Bar> = of(data, Scheme::Hps).collect();
    let found = (!bars.is_empty()).then(|| {
        let free = |bar: &&&Bar| cycles(bar, Part::Basic) == 0 && cycles(bar, Part::Checks) == 0;
        let count = bars.iter().filter(free).count();
        let largest = bars
            .iter()
            .flat_map(|b| [cycles(b, Part::Basic), cycles(b, Part::Checks)])
            .map(i64::abs)
            .max()
            .unwrap_or(0);
        let verdict = match largest {
            0 => Verdict::Confirmed,
            _ => Verdict::Differs(format!("up to {largest} cycles")),
        };
        (
            format!(
                "exactly 0 cycles in {count} of {} programs × profiles",
                bars.len()
            ),
            verdict,
        )
    });
    Judged {
        section: Section::Cost,
        claim: "HPS has no basic overhead and no instrumentation checks: while it does not sample, it costs nothing".into(),
        paper: "completely eliminated (4.2, 6.1)",
        rule: "confirmed if counting alone, and everything with bursts that never begin, take exactly the cycles of the \
               run without DISE, for every program and profile"
            .into(),
        refuted_by: "one cycle more or fewer in any run that takes no sample",
        found,
    }
}

fn basic_overhead(data: &Data<'_>, scheme: Scheme) -> Judged {
    let bars: Vec<&Bar> = of(data, scheme).collect();
    let spread = Spread::of(
        bars.iter()
            .map(|bar| (&*bar.program, bar.share(Part::Basic))),
    );
    let found = spread.map(|s| {
        let verdict = match bars.iter().all(|bar| cycles(bar, Part::Basic) > 0) {
            true => Verdict::Confirmed,
            false if s.mean > 0.0 => Verdict::Differs("not for every program".into()),
            false => Verdict::NotConfirmed,
        };
        (s.percent("programs × profiles"), verdict)
    });
    Judged {
        section: Section::Cost,
        claim: format!("The basic overhead of {} is not zero", scheme.title()),
        paper: "the second part of each bar of Figure 7",
        rule: "confirmed if counting events alone takes more cycles than the run without DISE, for every program and \
               profile"
            .into(),
        refuted_by: "a mean at or below 0: counting that costs nothing",
        found,
    }
}

/// What HPS removes of plain DISE's overhead, in points.
fn removed(
    data: &Data<'_>,
    what: &str,
    kinds: &[ProfileKind],
    paper: &'static str,
    points: f64,
) -> Judged {
    let overheads = |scheme| {
        let bars = of(data, scheme).filter(|bar| kinds.contains(&bar.kind));
        bars.map(|bar| ((&*bar.program, bar.kind), bar.overhead()))
            .collect::<BTreeMap<_, _>>()
    };
    let (plain, hps) = (overheads(Scheme::PlainDise), overheads(Scheme::Hps));
    let both = plain
        .iter()
        .filter_map(|(key, plain)| Some((key.0, plain - hps.get(key)?)));
    let found = Spread::of(both).map(|s| {
        let mean = 100.0 * s.mean;
        // Whole runs of a deterministic machine: there is no noise in them.
        let verdict = beside(mean, 0.0, points);
        let here = format!(
            "{} points on average, {:.1} to {:.1} over {} programs × profiles",
            s.mean_percent(1),
            100.0 * s.low,
            100.0 * s.high,
            s.count
        );
        (here, verdict)
    });
    Judged {
        section: Section::Cost,
        claim: format!(
            "HPS removes {points:.0} percentage points of plain DISE's overhead for {what}"
        ),
        paper,
        rule: format!(
            "plain DISE's overhead less HPS's, mean over programs; confirmed within {:.0}% of the published number, \
             not confirmed if it is not above 0",
            100.0 * BAND
        ),
        refuted_by: "a mean at or below 0: HPS that costs as much as plain DISE",
        found,
    }
}

/// Basic overhead of the software scheme, with its copies, against what the paper quotes.
fn software_range(
    data: &Data<'_>,
    scheme: Scheme,
    paper: &'static str,
    (low, high): (f64, f64),
) -> Judged {
    let bars = of(data, scheme);
    let basic = Spread::of(bars.map(|b| {
        let share = b.share(Part::Basic) + b.share(Part::Duplication);
        (&*b.program, share)
    }));
    let found = basic.map(|s| {
        let verdict = match 100.0 * s.mean {
            mean if (low..=high).contains(&mean) => Verdict::Confirmed,
            mean => Verdict::Differs(format!("{mean:.1}%")),
        };
        (s.percent("programs × profiles"), verdict)
    });
    Judged {
        section: Section::Cost,
        claim: format!(
            "The basic overhead of {} is {low:.0} to {high:.0}% of the time",
            scheme.title()
        ),
        paper,
        rule: "duplicated code and checks that never lead to a sample; confirmed if the mean lies in that range".into(),
        refuted_by: "a mean outside of the range",
        found,
    }
}

fn checks_dominate(data: &Data<'_>) -> Judged {
    let bars = of(data, Scheme::PlainDise).filter(|bar| bar.kind == ProfileKind::DataStream);
    let bars: Vec<&Bar> = bars.collect();
    let mean = |part| Spread::of(bars.iter().map(|bar| (&*bar.program, bar.share(part))));
    let parts = [Part::Checks, Part::Basic, Part::Sampling].map(mean);
    let found = match parts {
        [Some(checks), Some(basic), Some(sampling)] => {
            let verdict = match checks.mean > basic.mean && checks.mean > sampling.mean {
                true => Verdict::Confirmed,
                false => Verdict::NotConfirmed,
            };
            let here = format!(
                "means: checks {}%, basic {}%, sampling {}%",
                checks.mean_percent(1),
                basic.mean_percent(1),
                sampling.mean_percent(1)
            );
            Some((here, verdict))
        }
        _ => None,
    };
    Judged {
        section: Section::Cost,
        claim: "Instrumentation checks dominate plain DISE's overhead for hot data streams".into(),
        paper: "dominant (6.1, Figure 7)",
        rule:
            "confirmed if they cost more than either of the other parts, in the mean over programs"
                .into(),
        refuted_by: "another part that costs more in the mean",
        found,
    }
}
