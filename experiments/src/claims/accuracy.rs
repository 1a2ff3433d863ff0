//! Claims about accuracy and its price (HPS report, sections 6.2 and 6.3).

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use hps_profile::ProfileKind;

use super::price::ninety;
use super::{BAND, Data, Judged, Section, Spread, Verdict, beside};
use crate::bursts;
use crate::estimate::{Estimate, bootstrap, mean_by_phase};
use crate::row::Row;
use crate::spec::paper_burst;

const SHORT: [ProfileKind; 2] = [ProfileKind::CallPair, ProfileKind::Method];

pub(super) fn claims(data: &Data<'_>) -> Vec<Judged> {
    let mut all = vec![range(data), average(data), proportional(data)];
    all.extend(SHORT.map(|kind| ninety(data, kind)));
    all.push(streams_stay_low(data));
    all.extend(ProfileKind::ALL.map(|kind| burst_length(data, kind)));
    all
}

/// Timed rows at the paper's burst and a frequency.
pub(super) fn timed<'a>(
    data: &'a Data<'_>,
    kinds: &'a [ProfileKind],
    one_in: u64,
) -> impl Iterator<Item = &'a Row> {
    let wanted = move |row: &&Row| {
        let point = row.one_in == one_in && row.burst == paper_burst(row.profile);
        kinds.contains(&row.profile) && point && row.timing.is_some()
    };
    data.rows.iter().copied().filter(wanted)
}

/// A program with its overhead.
pub(super) fn overhead(row: &Row) -> Option<(&str, f64)> {
    let timing = row.timing?;
    let overhead = timing.set_ups.map_or(timing.overhead, |of| of.mean);
    Some((&row.program, overhead))
}

/// Overheads at the paper's burst and a frequency.
fn overheads(data: &Data<'_>, kinds: &[ProfileKind], one_in: u64) -> Option<Spread> {
    Spread::of(timed(data, kinds, one_in).filter_map(overhead))
}

/// Half the 95% interval of a mean overhead that set-ups leave; 0 if there is one set-up, which has no interval.
fn half_width_of_set_ups(data: &Data<'_>, kinds: &[ProfileKind], one_in: u64) -> f64 {
    let set_ups = timed(data, kinds, one_in).filter_map(|row| row.timing?.set_ups);
    let squares: Vec<f64> = set_ups.map(|of| of.half_width.powi(2)).collect();
    match squares.len() {
        0 => 0.0,
        // Programs are timed by themselves, so that their errors are independent.
        count => squares.iter().sum::<f64>().sqrt() / count as f64,
    }
}

fn range(data: &Data<'_>) -> Judged {
    // What the paper prints as 0 and 2.5%, unrounded.
    let holds = |share: f64| (-0.0005..=0.0255).contains(&share);
    let found = overheads(data, &SHORT, 100).map(|s| {
        let all = timed(data, &SHORT, 100).filter_map(overhead);
        let outside = all.filter(|(_, share)| !holds(*share)).count();
        let verdict = match outside {
            0 => Verdict::Confirmed,
            _ if !holds(s.mean) => Verdict::NotConfirmed,
            _ => Verdict::Differs(format!("{outside} of {} lie outside", s.count)),
        };
        (s.percent("programs × profiles"), verdict)
    });
    Judged {
        section: Section::Accuracy,
        claim: "HPS's overhead for hot call pairs and hot methods at 1/100 lies between 0 and 2.5%"
            .into(),
        paper: "0% to 2.5% (6.2)",
        rule: "confirmed if every program lies between -0.05 and 2.55%; differs if the mean does"
            .into(),
        refuted_by: "a mean outside of the published range",
        found,
    }
}

fn average(data: &Data<'_>) -> Judged {
    let found = overheads(data, &SHORT, 100).map(|s| {
        let half_width = half_width_of_set_ups(data, &SHORT, 100);
        let verdict = beside(s.mean, half_width, 0.01);
        let interval = match half_width > 0.0 {
            true => format!(", ± {:.2}% over set-ups", 100.0 * half_width),
            false => ", of one set-up".to_string(),
        };
        (s.percent("programs × profiles") + &interval, verdict)
    });
    Judged {
        section: Section::Accuracy,
        claim: "It is about 1% on average".into(),
        paper: "just over 1% (6.2)",
        rule: band_rule("the mean over programs"),
        refuted_by: "a mean at or below 0; a mean outside of the band differs",
        found,
    }
}

pub(super) fn band_rule(what: &str) -> String {
    format!(
        "confirmed if {what} and its interval lie within {:.0}% of the published number; a draw if the interval reaches \
         over an end of that band; else differs",
        100.0 * BAND
    )
}

fn proportional(data: &Data<'_>) -> Judged {
    let pair = |kind| {
        let often = overheads(data, &[kind], 100)?;
        let seldom = overheads(data, &[kind], 1000)?;
        let of_program = |one_in| -> BTreeMap<&str, f64> {
            timed(data, std::slice::from_ref(&kind), one_in)
                .filter_map(overhead)
                .collect()
        };
        let rare = of_program(1000);
        let both = of_program(100).into_iter();
        let both: Vec<(f64, f64)> = both.filter_map(|(p, o)| Some((o, *rare.get(p)?))).collect();
        let interval = bootstrap(both.len(), |drawn| {
            let sum = |of: fn(&(f64, f64)) -> f64| drawn.iter().map(|&i| of(&both[i])).sum::<f64>();
            sum(|b| b.0) / sum(|b| b.1)
        });
        let interval = (both.len() > 2).then_some(interval);
        (seldom.mean > 0.0).then(|| (kind, often.mean / seldom.mean, interval))
    };
    type Ratio = (ProfileKind, f64, Option<(f64, f64)>);
    let ratios: Vec<Ratio> = ProfileKind::ALL.into_iter().filter_map(pair).collect();
    let found = (!ratios.is_empty()).then(|| {
        let here = |(kind, ratio, interval): &Ratio| {
            let why = reason(data, *kind).unwrap_or_default();
            let interval =
                interval.map(|(low, high)| format!(" ({low:.1} to {high:.1} over programs)"));
            let interval = interval.unwrap_or_default();
            format!("{}: {ratio:.1} times{interval}{why}", kind.title())
        };
        let here: Vec<String> = ratios.iter().map(here).collect();
        let verdicts = ratios.iter().map(|(_, ratio, _)| beside(*ratio, 0.0, 10.0));
        let apart = verdicts
            .filter(|verdict| *verdict != Verdict::Confirmed)
            .count();
        let verdict = match apart {
            0 => Verdict::Confirmed,
            _ if ratios.iter().any(|(_, ratio, _)| *ratio <= 1.0) => Verdict::NotConfirmed,
            _ => Verdict::Differs(format!(
                "{apart} of {} profiles by another factor",
                ratios.len()
            )),
        };
        (here.join("; "), verdict)
    });
    Judged {
        section: Section::Accuracy,
        claim: "The overhead is proportional to the sampling frequency".into(),
        paper: "proportional (6.2): ten times as much at 1/100 as at 1/1000",
        rule: format!(
            "confirmed if the mean at 1/100 is ten times that at 1/1000 within {:.0}% for each profile",
            100.0 * BAND
        ),
        refuted_by: "a profile that costs no more at 1/100 than at 1/1000",
        found,
    }
}

/// The cycles that a sample costs at 1/100 and at 1/1000, and the misses of the level 1 caches that it causes, in words.
fn reason(data: &Data<'_>, kind: ProfileKind) -> Option<String> {
    let of = |one_in| {
        let mut sums = [0.0; 4];
        for row in timed(data, &[kind], one_in) {
            let (timing, accuracy) = (row.timing?, row.accuracy?);
            let misses = timing.extra_misses?;
            let handlers = timing.inserted_instructions + timing.handler_instructions;
            let cycles = timing.cycles as f64 - timing.baseline_cycles as f64;
            let extra = [
                cycles,
                handlers as f64,
                misses.instruction as f64,
                misses.data as f64,
            ];
            let samples = accuracy.samples.max(1) as f64;
            (sums.iter_mut().zip(extra)).for_each(|(sum, of)| *sum += of / samples);
        }
        let rows = timed(data, &[kind], one_in).count() as f64;
        (rows > 0.0).then(|| sums.map(|sum| sum / rows))
    };
    let (often, seldom) = (of(100)?, of(1000)?);
    let what = [
        "cycles",
        "inserted instructions",
        "misses for instructions",
        "misses for data",
    ];
    let each = what.iter().zip(often.iter().zip(seldom));
    let each = each.map(|(what, (often, seldom))| format!("{often:.2} and {seldom:.2} {what}"));
    let each: Vec<String> = each.collect();
    Some(format!(
        " (a sample causes at 1/100 and at 1/1000 {})",
        each.join(", ")
    ))
}

fn streams_stay_low(data: &Data<'_>) -> Judged {
    const LIMIT: f64 = 0.5;
    let kind = ProfileKind::DataStream;
    let of_kind = || {
        let rows = data.rows.iter().copied();
        rows.filter(|row| row.profile == kind && row.burst == paper_burst(kind))
    };
    let frequencies: BTreeSet<u64> = of_kind().map(|row| row.one_in).collect();
    let means = frequencies.into_iter().filter_map(|one_in| {
        let sampled = of_kind().filter(|row| row.one_in == one_in && row.mean_accuracy().is_some());
        Some((one_in, Estimate::over(&mean_by_phase(sampled))?))
    });
    let means: Vec<(u64, Estimate)> = means.collect();
    let highest = means.iter().max_by(|a, b| a.1.mean.total_cmp(&b.1.mean));
    let found = highest.map(|(one_in, highest)| {
        let verdict = match highest.against(LIMIT) {
            Ordering::Less => Verdict::Confirmed,
            Ordering::Equal => Verdict::Draw("the interval holds 50%".to_string()),
            Ordering::Greater => Verdict::NotConfirmed,
        };
        let here = format!(
            "at most {}% in the mean over programs, at 1/{one_in}, of {} frequencies",
            highest.percent(),
            means.len()
        );
        (here, verdict)
    });
    Judged {
        section: Section::Accuracy,
        claim: "Hot data streams are found less accurately: below 50% at burst 100".into(),
        paper: "the axis of Figure 10 ends at 50% (6.3); 6 of 14 programs",
        rule: "confirmed if the mean over all programs that sampled anything, with its interval over phases, stays below \
               50% at every frequency"
            .into(),
        refuted_by: "a mean above 50% at one frequency, beyond its interval",
        found,
    }
}

fn burst_length(data: &Data<'_>, kind: ProfileKind) -> Judged {
    let long_wins = kind == ProfileKind::DataStream;
    let wins = if long_wins {
        Ordering::Greater
    } else {
        Ordering::Less
    };
    let at = bursts::compare(&data.rows, kind);
    let gains: Vec<Ordering> = (at.iter())
        .flat_map(|at| &at.gains)
        .map(|(_, gain)| gain.against(0.0))
        .collect();
    let found = (!gains.is_empty()).then(|| {
        let count = |wanted: Ordering| gains.iter().filter(|g| **g == wanted).count();
        let (as_published, draws) = (count(wins), count(Ordering::Equal));
        let contrary = count(wins.reverse());
        let best: Vec<String> = at.iter().map(bursts::AtFrequency::words).collect();
        let here = format!(
            "longer bursts against the shortest at each frequency: as published in {as_published} of {}, a draw in \
             {draws}, the other way round in {contrary}; best at {}",
            gains.len(),
            best.join(", ")
        );
        let verdict = match (as_published, contrary) {
            (0, 0) => Verdict::Draw("nothing is told apart".to_string()),
            (won, 0) if won > draws => Verdict::Confirmed,
            (won, lost) if won > lost => Verdict::Differs(format!("so in {won} of {}", gains.len())),
            _ => Verdict::NotConfirmed,
        };
        (here, verdict)
    });
    Judged {
        section: Section::Accuracy,
        claim: format!(
            "{} bursts are more accurate for {}s at the same frequency",
            if long_wins { "Long" } else { "Short" },
            kind.title()
        ),
        paper: if long_wins {
            "longer bursts perform significantly better (6.3, Figure 10)"
        } else {
            "a burst length of 1 performs significantly better (6.3, Figure 10)"
        },
        rule: "every longer burst against the shortest at every frequency, means over programs, by the 95% interval of \
               the difference over paired phases; a burst that samples nothing is 0% accurate. Confirmed if most are as \
               published and none the other way round; differs if more are as published than the other way round"
            .into(),
        refuted_by: "as many comparisons the other way round as as published",
        found,
    }
}

#[cfg(test)]
mod tests {
    use super::super::between;
    use super::*;

    #[test]
    fn a_number_within_its_noise_of_the_band_decides_nothing() {
        assert_eq!(beside(0.011, 0.001, 0.01), Verdict::Confirmed);
        assert!(matches!(beside(0.012, 0.001, 0.01), Verdict::Draw(_)));
        assert!(matches!(beside(0.013, 0.001, 0.01), Verdict::Draw(_)));
        assert_eq!(
            beside(0.02, 0.001, 0.01),
            Verdict::Differs("2.00 times the published".to_string())
        );
        // Ten times within a quarter: 6.6 times is another factor.
        assert!(matches!(beside(6.6, 0.0, 10.0), Verdict::Differs(_)));
        assert_eq!(beside(-0.01, 0.001, 0.01), Verdict::NotConfirmed);
        assert_eq!(beside(7.5, 0.0, 10.0), Verdict::Confirmed);
    }

    #[test]
    fn lines_are_straight_on_the_scale_of_the_verdict() {
        assert!((between(0.01, 1.0, 0.5) - 0.1).abs() < 1e-12);
        assert!((between(-1.0, 1.0, 0.25) + 0.5).abs() < 1e-12);
    }
}
