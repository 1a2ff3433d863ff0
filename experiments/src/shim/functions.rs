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
use crate::claims::Section;
use crate::claims::band::{Band, Unit};
use crate::claims::rule::{all, is_in, near};
use crate::claims::statement::{Statement, plain, ratio};
use crate::measurement::Measurement;
use crate::table::Table;

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

/// Samples of a function and the work that they measured.
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

fn at(table: &Table<'_>, every: usize, measure: &str) -> Option<f64> {
    table.mean(SCHEME, &setting(every), measure)
}

/// The claims of Figures 1(a) and 1(c).
pub(super) fn statements(table: &Table<'_>) -> [Statement; 3] {
    [
        few_have_most(table),
        differences_vanish(table),
        each_is_told(table),
    ]
}

fn few_have_most(table: &Table<'_>) -> Statement {
    let share = |first: usize| ratio(at(table, 1, &format!("hottest_{first}_share_ratio")));
    let most = || is_in(1, Band::at_least(0.9, Unit::Ratio));
    Statement::new(
        Section::Accuracy,
        "few functions have most of the samples",
        "the hottest method of lusearch has 36%, the hundred hottest 97% (figure 1(a))",
    )
    .over("shares of kept samples, means over programs")
    .number("in one", share(1))
    .number("in a hundred", share(100))
    .number("in ten", share(10))
    .here("{0} in one, {2} in ten, {1} in a hundred")
    .confirmed(all([near(0, 0.36), most()]))
    .differs(most(), "these programs have fewer functions")
}

fn differences_vanish(table: &Table<'_>) -> Statement {
    let deviation = |every| at(table, every, "function_ipc_deviation");
    let (fine, coarse) = (deviation(1), deviation(100));
    Statement::new(
        Section::Accuracy,
        "coarse samples hide how functions differ",
        "the mean IPC of a method is 0.04 to 2.39 at 500 cycles and about 1.14 for all at 5 million (figure 1(c))",
    )
    .over(
        "standard deviation of the IPC of the hundred hottest functions, weighted by cycles, means over programs, that of \
         hundreds of samples over that of samples as they are",
    )
    .is(plain(2, coarse.zip(fine).map(|(coarse, fine)| coarse / fine)))
    .number("", plain(3, fine))
    .number("", plain(3, coarse))
    .here("{1} as they are, {2} by hundreds")
    .also("; it is {}", plain(3, at(table, 1, "true_function_ipc_deviation")))
    .confirmed(is_in(0, Band::at_most(0.5, Unit::Plain)))
    .differs(
        is_in(0, Band::below(1.0, Unit::Plain)),
        "a hundred samples are fewer than fifty thousand cycles here",
    )
}

fn each_is_told(table: &Table<'_>) -> Statement {
    let error = |every| at(table, every, "function_ipc_error");
    let truth = at(table, 1, "true_function_ipc_deviation");
    Statement::new(
        Section::Explained,
        "fine samples tell the IPC of each function",
        "not asked there, for want of the truth",
    )
    .over(
        "mean error of the IPC of the hundred hottest functions, weighted by cycles, over the deviation of the true ones",
    )
    .is(plain(2, error(1).zip(truth).map(|(error, truth)| error / truth)))
    .number("", plain(3, error(1)))
    .number("", plain(3, error(100)))
    .number("", plain(3, truth))
    .here("{1} off as they are, {2} by hundreds; they deviate by {3}")
    .confirmed(is_in(0, Band::at_most(0.25, Unit::Plain)))
    .differs(
        is_in(0, Band::at_most(1.0, Unit::Plain)),
        "an interval is charged to the tag at its end, and holds other functions",
    )
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
