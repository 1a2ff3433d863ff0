//! Functions by samples at several periods (SHIM, Figure 1), beside what they did.
//!
//! Where programs cannot read counters of instructions, the truth stands for them, and what is off is what the tag is
//! charged with.

use std::collections::HashMap;

use hps_lab::observer::{Observed, Observer, Placement, Signals, Throttle};
use hps_pipeline::config::MachineConfig;
use hps_shim::Dte;

use super::intervals::{Counting, Interval, Intervals, Work, percentile};
use super::measure::Study;
use crate::claims::{Draft, Section, Verdict};
use crate::found::Found;
use crate::measurement::Measurement;

/// The scheme of these numbers: an observer on the program's core.
pub const SCHEME: &str = "functions-smt";

/// Every so many kept samples make one, as the paper's coarser periods are subsamples of its finest one.
pub const EVERY: [usize; 3] = [1, 10, 100];
/// The paper's hundred hottest methods, and fewer.
pub const HOTTEST: [usize; 11] = [1, 2, 3, 5, 7, 10, 20, 30, 50, 70, 100];
/// Shares of intervals, in percent, of which it is told below which IPC they lie.
pub const QUANTILES: [u32; 13] = [0, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 95, 100];
/// The wait at which functions are looked at, in turns of an empty loop.
pub const WAIT: u64 = 100;
/// Fewer samples than that say nothing of a function's mean.
const FEWEST: u64 = 2;

/// The setting of a number about every so many samples.
#[must_use]
pub fn setting(every: usize) -> String {
    format!("wait={WAIT},every={every}")
}

/// The setting of a number about a function, by its place among the hottest ones, from 1.
#[must_use]
pub fn setting_of_rank(every: usize, rank: usize) -> String {
    format!("{},rank={rank}", setting(every))
}

/// The setting of an IPC below which a share of intervals lies.
#[must_use]
pub fn setting_of_quantile(every: usize, percent: u32) -> String {
    format!("{},quantile={percent}", setting(every))
}

/// What samples say of a function.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Seen {
    samples: u64,
    work: Work,
}

/// Every `factor` kept samples as one: its tag is the last one's, its interval all of theirs.
fn seen(all: &[Interval], factor: usize, dte: Dte) -> HashMap<usize, Seen> {
    let kept: Vec<&Interval> = all.iter().filter(|i| i.is_kept(dte)).collect();
    let mut by_function: HashMap<usize, Seen> = HashMap::new();
    for group in kept.chunks_exact(factor) {
        let function = by_function.entry(group[factor - 1].place).or_default();
        function.samples += 1;
        for interval in group {
            function.work.cycles += interval.cycles();
            function.work.instructions += interval.measured;
        }
    }
    by_function
}

/// Measures a program whose instruction set has no counters of instructions that programs can read.
pub(super) fn measure(
    study: &Study<'_>,
    machine: &MachineConfig,
) -> Result<Vec<Measurement>, String> {
    let observer = Observer {
        placement: Placement::Smt,
        signals: Signals::Samples { counters: 0 },
        throttle: Throttle::Spin(WAIT),
    };
    let mut intervals = Intervals::new(&study.program.image, Counting::Exact);
    let observed = study
        .lab(machine)
        .observe(&observer, |s, r, reckoning| intervals.see(s, r, reckoning));
    observed
        .and_then(Observed::unless_cut)
        .map_err(|e| e.to_string())?;
    Ok(measurements(study, &intervals))
}

/// The numbers of a run as measurements.
pub(super) fn measurements(study: &Study<'_>, intervals: &Intervals<'_>) -> Vec<Measurement> {
    let numbers = numbers(intervals).into_iter();
    let measurement = |(setting, measure, value): (String, String, f64)| Measurement {
        setting,
        x: Some(WAIT as f64),
        ..Measurement::new(study.program, SCHEME, &measure, value)
    };
    numbers.map(measurement).collect()
}

/// Numbers of a run, each with its setting and its name.
fn numbers(intervals: &Intervals<'_>) -> Vec<(String, String, f64)> {
    let dte = Dte::default();
    let finest = seen(&intervals.all, 1, dte);
    let mut order: Vec<(usize, u64)> = finest.iter().map(|(f, seen)| (*f, seen.samples)).collect();
    order.sort_by_key(|(function, samples)| (std::cmp::Reverse(*samples), *function));
    let hottest = HOTTEST[HOTTEST.len() - 1];
    let order: Vec<usize> = order.into_iter().map(|(f, _)| f).take(hottest).collect();
    let truth = |function: &usize| {
        intervals
            .true_work
            .get(function)
            .copied()
            .unwrap_or_default()
    };
    let (mut out, mut ranked) = (Vec::new(), Vec::new());
    for every in EVERY {
        let seen = seen(&intervals.all, every, dte);
        let samples: u64 = seen.values().map(|seen| seen.samples).sum();
        if samples == 0 {
            continue;
        }
        let mut number = |name: String, value| out.push((setting(every), name, value));
        let of = |function: &usize| seen.get(function).copied().unwrap_or_default();
        for first in HOTTEST {
            let these: u64 = order.iter().take(first).map(|f| of(f).samples).sum();
            number(
                format!("hottest_{first}_share_ratio"),
                these as f64 / samples as f64,
            );
        }
        let told: Vec<(Work, Work)> = order
            .iter()
            .filter(|function| of(function).samples >= FEWEST)
            .map(|function| (of(function).work, truth(function)))
            .collect();
        number("functions".to_string(), seen.len() as f64);
        for (rank, function) in (1..).zip(&order) {
            if of(function).samples >= FEWEST {
                let setting = setting_of_rank(every, rank);
                let truth = truth(function).ipc();
                ranked.push((
                    setting.clone(),
                    "function_ipc".to_string(),
                    of(function).work.ipc(),
                ));
                ranked.push((setting, "true_function_ipc".to_string(), truth));
            }
        }
        let mut ipc = intervals.ipc_of_every(every, dte);
        for percent in QUANTILES {
            if let Some(value) = percentile(&mut ipc, f64::from(percent) / 100.0) {
                let setting = setting_of_quantile(every, percent);
                ranked.push((setting, "interval_ipc".to_string(), value));
            }
        }
        let [ipc, true_ipc] = [
            spread(told.iter().map(|(work, truth)| (work.ipc(), truth.cycles))),
            spread(told.iter().map(|(_, truth)| (truth.ipc(), truth.cycles))),
        ];
        for (what, of) in [("function_ipc", ipc), ("true_function_ipc", true_ipc)] {
            let Some(of) = of else { continue };
            number(format!("{what}_min"), of.least);
            number(format!("{what}_max"), of.most);
            number(format!("{what}_deviation"), of.deviation);
        }
        let error = told
            .iter()
            .map(|(work, truth)| ((work.ipc() - truth.ipc()).abs(), truth.cycles));
        if let Some(error) = spread(error) {
            number("function_ipc_error".to_string(), error.mean);
        }
    }
    out.extend(ranked);
    out
}

/// Values with weights.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Spread {
    least: f64,
    most: f64,
    mean: f64,
    deviation: f64,
}

fn spread(values: impl Iterator<Item = (f64, f64)> + Clone) -> Option<Spread> {
    let weights: f64 = values.clone().map(|(_, weight)| weight).sum();
    if weights <= 0.0 {
        return None;
    }
    let mean = values
        .clone()
        .map(|(value, weight)| value * weight)
        .sum::<f64>()
        / weights;
    let squares = values
        .clone()
        .map(|(value, weight)| (value - mean).powi(2) * weight);
    Some(Spread {
        least: values
            .clone()
            .map(|(value, _)| value)
            .fold(f64::INFINITY, f64::min),
        most: values
            .clone()
            .map(|(value, _)| value)
            .fold(f64::NEG_INFINITY, f64::max),
        mean,
        deviation: (squares.sum::<f64>() / weights).sqrt(),
    })
}

fn at(found: &Found<'_>, every: usize, measure: &str) -> Option<f64> {
    found.mean(SCHEME, &setting(every), measure)
}

/// The claims of Figures 1(a) and 1(c).
pub(super) fn claims(found: &Found<'_>) -> [Draft; 3] {
    [
        few_have_most(found),
        differences_vanish(found),
        each_is_told(found),
    ]
}

fn few_have_most(found: &Found<'_>) -> Draft {
    let share = |first: usize| at(found, 1, &format!("hottest_{first}_share_ratio"));
    Draft {
        section: Section::Accuracy,
        claim: "few functions have most of the samples".to_string(),
        paper: "the hottest method of lusearch has 36%, the hundred hottest 97% (figure 1(a))".to_string(),
        rule: "shares of kept samples, means over programs: confirmed if the hottest function has 27 to 45% and a hundred at \
               least 90%, differs if a hundred have 90%, not confirmed if they have less"
            .to_string(),
        found: share(1).zip(share(10)).zip(share(100)).map(|((first, ten), hundred)| {
            let verdict = match (first, hundred) {
                (0.27..=0.45, 0.9..) => Verdict::Confirmed,
                (_, 0.9..) => Verdict::Differs("these programs have fewer functions".to_string()),
                _ => Verdict::NotConfirmed,
            };
            let shares = [first, ten, hundred].map(|share| format!("{:.1}%", 100.0 * share));
            (format!("{} in one, {} in ten, {} in a hundred", shares[0], shares[1], shares[2]), verdict)
        }),
    }
}

fn differences_vanish(found: &Found<'_>) -> Draft {
    let deviation = |every| at(found, every, "function_ipc_deviation");
    Draft {
        section: Section::Accuracy,
        claim: "coarse samples hide how functions differ".to_string(),
        paper: "the mean IPC of a method is 0.04 to 2.39 at 500 cycles and about 1.14 for all at 5 million (figure 1(c))"
            .to_string(),
        rule: "standard deviation of the IPC of the hundred hottest functions, weighted by cycles, means over programs: \
               confirmed if that of hundreds of samples is at most half of that of samples as they are, differs if it is \
               smaller, not confirmed if it is not"
            .to_string(),
        found: deviation(1).zip(deviation(100)).map(|(fine, coarse)| {
            let verdict = if coarse <= fine / 2.0 {
                Verdict::Confirmed
            } else if coarse < fine {
                Verdict::Differs("a hundred samples are fewer than fifty thousand cycles here".to_string())
            } else {
                Verdict::NotConfirmed
            };
            let mut here = format!("{fine:.3} as they are, {coarse:.3} by hundreds");
            if let Some(truth) = at(found, 1, "true_function_ipc_deviation") {
                here += &format!("; it is {truth:.3}");
            }
            (here, verdict)
        }),
    }
}

fn each_is_told(found: &Found<'_>) -> Draft {
    let error = |every| at(found, every, "function_ipc_error");
    Draft {
        section: Section::Explained,
        claim: "fine samples tell the IPC of each function".to_string(),
        paper: "not asked there, for want of the truth".to_string(),
        rule: "mean error of the IPC of the hundred hottest functions, weighted by cycles, over the deviation of the true \
               ones: holds up to a quarter, differs up to one, does not hold if it is more"
            .to_string(),
        found: error(1)
            .zip(error(100))
            .zip(at(found, 1, "true_function_ipc_deviation"))
            .map(|((fine, coarse), truth)| {
                let verdict = match fine / truth {
                    ..=0.25 => Verdict::Confirmed,
                    ..=1.0 => Verdict::Differs(
                        "an interval is charged to the tag at its end, and holds other functions".to_string(),
                    ),
                    _ => Verdict::NotConfirmed,
                };
                (format!("{fine:.3} off as they are, {coarse:.3} by hundreds; they deviate by {truth:.3}"), verdict)
            }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_spread_by_their_weights() {
        // 1 with weight 3, 5 with weight 1: mean 2, variance (3 * 1 + 9) / 4.
        let of = spread([(1.0, 3.0), (5.0, 1.0)].into_iter()).expect("there is weight");
        assert_eq!((of.least, of.most, of.mean), (1.0, 5.0, 2.0));
        assert!((of.deviation - 3.0_f64.sqrt()).abs() < 1e-12);
        assert_eq!(spread([(1.0, 0.0)].into_iter()), None);
    }
}
