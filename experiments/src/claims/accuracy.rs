//! Claims about accuracy and its price (HPS report, sections 6.2 and 6.3).

use std::collections::{BTreeMap, BTreeSet};

use hps_profile::ProfileKind;

use super::{Data, Judged, Spread, Verdict};
use crate::row::{AccuracyResult, Row};
use crate::spec::paper_burst;

const SHORT: [ProfileKind; 2] = [ProfileKind::CallPair, ProfileKind::Method];

pub(super) fn claims(data: &Data<'_>) -> Vec<Judged> {
    let mut all = vec![range(data), average(data), proportional(data)];
    all.extend(SHORT.map(|kind| ninety(data, kind)));
    all.push(streams_stay_low(data));
    all.extend(ProfileKind::ALL.map(|kind| burst_length(data, kind)));
    all
}

/// Overheads at the paper's burst and a frequency.
fn overheads(data: &Data<'_>, kinds: &[ProfileKind], one_in: u64) -> Option<Spread> {
    let wanted = |row: &&&Row| {
        kinds.contains(&row.profile)
            && row.one_in == one_in
            && row.burst == paper_burst(row.profile)
    };
    let rows = data.rows.iter().filter(wanted);
    Spread::of(rows.filter_map(|row| row.timing.map(|t| t.overhead)))
}

fn range(data: &Data<'_>) -> Judged {
    let found = overheads(data, &SHORT, 100).map(|s| {
        let verdict = match (100.0 * s.low, 100.0 * s.high) {
            (low, high) if low >= -0.1 && high <= 2.55 => Verdict::Confirmed,
            (low, high) => Verdict::Differs(format!("{low:.2} to {high:.2}%")),
        };
        (s.percent("programs × profiles"), verdict)
    });
    Judged {
        claim: "HPS's overhead for hot call pairs and hot methods at 1/100 lies between 0 and 2.5%"
            .into(),
        paper: "0% to 2.5% (6.2)",
        rule: "confirmed if every program lies between -0.1 and 2.55%".into(),
        found,
    }
}

fn average(data: &Data<'_>) -> Judged {
    let found = overheads(data, &SHORT, 100).map(|s| {
        let verdict = match 100.0 * s.mean {
            mean if (0.5..=1.5).contains(&mean) => Verdict::Confirmed,
            mean => Verdict::Differs(format!("{mean:.2}%")),
        };
        (s.percent("programs × profiles"), verdict)
    });
    Judged {
        claim: "It is about 1% on average".into(),
        paper: "just over 1% (6.2)",
        rule: "confirmed if the mean lies between 0.5 and 1.5%".into(),
        found,
    }
}

fn proportional(data: &Data<'_>) -> Judged {
    let pair = |kind| {
        let often = overheads(data, &[kind], 100)?;
        let seldom = overheads(data, &[kind], 1000)?;
        (seldom.mean > 0.0).then(|| (kind, often.mean / seldom.mean))
    };
    let ratios: Vec<(ProfileKind, f64)> = ProfileKind::ALL.into_iter().filter_map(pair).collect();
    let found = (!ratios.is_empty()).then(|| {
        let here: Vec<String> = ratios
            .iter()
            .map(|(kind, ratio)| format!("{}: {ratio:.1} times", kind.title()))
            .collect();
        let verdict = if ratios.iter().all(|(_, r)| (5.0..=20.0).contains(r)) {
            Verdict::Confirmed
        } else {
            Verdict::Differs("not by ten for each".into())
        };
        (here.join(", "), verdict)
    });
    Judged {
        claim: "The overhead is proportional to the sampling frequency".into(),
        paper: "proportional (6.2): ten times as much at 1/100 as at 1/1000",
        rule: "confirmed if the mean at 1/100 is 5 to 20 times that at 1/1000 for each profile"
            .into(),
        found,
    }
}

/// Mean accuracy and overhead over the programs that have both, from the highest frequency on.
fn curve(data: &Data<'_>, kind: ProfileKind) -> Vec<(f64, f64)> {
    let burst = paper_burst(kind);
    let rows = || {
        data.rows
            .iter()
            .filter(|r| r.profile == kind && r.burst == burst)
    };
    let frequencies: BTreeSet<u64> = rows().map(|r| r.one_in).collect();
    let mean = |one_in: u64| {
        let both = |r: &&Row| Some((r.accuracy?.renormalized, r.timing?.overhead));
        let of: Vec<(f64, f64)> = rows()
            .filter(|r| r.one_in == one_in)
            .filter_map(both)
            .collect();
        let accuracy = Spread::of(of.iter().map(|p| p.0))?.mean;
        Some((accuracy, Spread::of(of.iter().map(|p| p.1))?.mean))
    };
    frequencies.into_iter().filter_map(mean).collect()
}

/// The overhead at which a curve passes an accuracy: `Ok` between two points, `Err` with the
/// cheapest point if all are above it.
fn price(curve: &[(f64, f64)], accuracy: f64) -> Option<Result<f64, f64>> {
    let above = curve.iter().rposition(|p| p.0 >= accuracy)?;
    let (high, cost) = curve[above];
    let Some(&(low, cheaper)) = curve.get(above + 1) else {
        return Some(Err(cost));
    };
    let part = (accuracy - low) / (high - low);
    Some(Ok(cheaper + part * (cost - cheaper)))
}

fn ninety(data: &Data<'_>, kind: ProfileKind) -> Judged {
    let curve = curve(data, kind);
    let found = curve.first().map(|&(best, _)| match price(&curve, 0.9) {
        Some(price) => {
            let (at_most, cost) = match price {
                Ok(cost) => ("", 100.0 * cost),
                Err(cost) => ("at most ", 100.0 * cost),
            };
            let verdict = match cost {
                cost if cost <= 0.3 => Verdict::Confirmed,
                cost => Verdict::Differs(format!("{cost:.2}%")),
            };
            (format!("{at_most}{cost:.2}%"), verdict)
        }
        None => {
            let here = format!("not reached: {:.1}% accurate at 1/100", 100.0 * best);
            (here, Verdict::NotConfirmed)
        }
    });
    Judged {
        claim: format!("A {} profile that is 90% accurate costs about 0.2%", kind.title()),
        paper: "about 0.2% (6.2, Figure 8)",
        rule: "confirmed if the line of means over programs (renormalized accuracy against overhead, burst 1) passes \
               90% at 0.3% or less; not confirmed if it stays below 90%"
            .into(),
        found,
    }
}

fn streams_stay_low(data: &Data<'_>) -> Judged {
    let kind = ProfileKind::DataStream;
    let means = curve_of_accuracy(data, kind, paper_burst(kind));
    let found = Spread::of(means.values().copied()).map(|s| {
        let verdict = match 100.0 * s.high {
            high if high <= 50.0 => Verdict::Confirmed,
            high => Verdict::Differs(format!("{high:.1}% at best")),
        };
        let here = format!(
            "means over programs of {:.1} to {:.1}% over {} frequencies",
            100.0 * s.low,
            100.0 * s.high,
            s.count
        );
        (here, verdict)
    });
    Judged {
        claim: "Hot data streams are found less accurately: below 50% at burst 100".into(),
        paper: "the axis of Figure 10 ends at 50% (6.3); 6 of 14 programs",
        rule: "confirmed if the mean over all programs that sampled anything stays at or below 50% at every frequency"
            .into(),
        found,
    }
}

/// Mean accuracies over programs that sampled anything, by frequency.
fn curve_of_accuracy(data: &Data<'_>, kind: ProfileKind, burst: u64) -> BTreeMap<u64, f64> {
    let mut by_frequency: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
    let rows = data.rows.iter();
    for row in rows.filter(|r| r.profile == kind && r.burst == burst) {
        if let Some(accuracy) = row.accuracy.filter(|a| a.samples > 0) {
            let of = by_frequency.entry(row.one_in).or_default();
            of.push(accuracy.renormalized);
        }
    }
    let mean = |(one_in, values)| Some((one_in, Spread::of(values)?.mean));
    by_frequency.into_iter().filter_map(mean).collect()
}

/// Closer than this (in shares) is a draw.
const DRAW: f64 = 0.005;

fn burst_length(data: &Data<'_>, kind: ProfileKind) -> Judged {
    let long_wins = kind == ProfileKind::DataStream;
    let gains = gains_of_long(data, kind);
    let found = Spread::of(gains.values().copied()).map(|s| {
        let sign = if long_wins { 1.0 } else { -1.0 };
        let programs = |wanted: &dyn Fn(f64) -> bool| gains.values().filter(|g| wanted(**g)).count();
        let here = format!(
            "burst 100 is {:+.1} points against burst 1 (programs: {}); as published for {}, a draw for {}, \
             the other way round for {}",
            100.0 * s.mean,
            s.count,
            programs(&|g| sign * g > DRAW),
            programs(&|g| g.abs() <= DRAW),
            programs(&|g| sign * g < -DRAW),
        );
        let verdict = match sign * s.mean {
            gain if gain > DRAW => Verdict::Confirmed,
            gain if gain >= -DRAW => Verdict::Differs("no difference on average".into()),
            _ => Verdict::NotConfirmed,
        };
        (here, verdict)
    });
    Judged {
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
        rule: "confirmed if so by more than half a point in the mean over programs, each the mean over the frequencies \
               at which both bursts sampled anything"
            .into(),
        found,
    }
}

/// How much more accurate burst 100 is than burst 1, by program.
fn gains_of_long<'a>(data: &Data<'a>, kind: ProfileKind) -> BTreeMap<(&'a str, &'a str), f64> {
    let sampled = |row: &Row| row.accuracy.filter(|a| a.samples > 0);
    let mut pairs: BTreeMap<_, BTreeMap<u64, [Option<AccuracyResult>; 2]>> = BTreeMap::new();
    for &row in data.rows.iter().filter(|r| r.profile == kind) {
        let side = match row.burst {
            1 => 0,
            100 => 1,
            _ => continue,
        };
        let program = (row.program.as_str(), row.program_hash.as_str());
        let of = pairs
            .entry(program)
            .or_default()
            .entry(row.one_in)
            .or_default();
        of[side] = sampled(row);
    }
    let gain = |[short, long]: &[Option<AccuracyResult>; 2]| {
        Some(long.as_ref()?.renormalized - short.as_ref()?.renormalized)
    };
    let of_program = |(program, by_frequency): (_, BTreeMap<u64, _>)| {
        let gains = by_frequency.values().filter_map(gain);
        Some((program, Spread::of(gains)?.mean))
    };
    pairs.into_iter().filter_map(of_program).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_price_of_an_accuracy_lies_on_the_line() {
        let curve = [(0.98, 0.010), (0.94, 0.004), (0.86, 0.002), (0.5, 0.001)];
        let between = price(&curve, 0.9)
            .and_then(Result::ok)
            .expect("between two");
        assert!((between - 0.003).abs() < 1e-12);
        assert_eq!(price(&curve, 0.99), None);
        assert_eq!(price(&curve, 0.4), Some(Err(0.001)));
    }
}
