//! A sparsity that grows as the profile converges.

use hps_experiments::studies::adaptive::{
    CHUNK_SAMPLES, FIRST, INTERVAL, LONGEST, NAME, TIMED_THRESHOLD,
};
use hps_experiments::{ProfileKind, UnitRecord};

use super::chart::{Curve, CurveChart, CurvePanel, Dot, DotChart, DotPanel, curves, dots};
use super::data::{
    ACCURACY, ACCURACY_AXIS, Numbers, OVERHEAD, extremes, heading, mean, percent, points,
};
use crate::PlotError;
use crate::axis::{Axis, frequency};
use crate::chapter::{Chapter, ChapterTable};
use crate::figure::Figure;

/// Profiles that the consumer keeps, as results name them and as pictures do.
const KEEPS: [(&str, &str); 2] = [
    ("counted", "adaptive, samples counted"),
    ("weighted", "adaptive, samples weighted by their period"),
];
const GAIN: &str = "accuracy_gain_ratio";
const TIMED: &str = "timed";

pub(super) fn chapter(records: &[UnitRecord]) -> Result<Option<Chapter>, PlotError> {
    let Some(all) = Numbers::of(records, NAME) else {
        return Ok(None);
    };
    let numbers = all.only(|m| m.setting != TIMED);
    let timed = all.setting(TIMED);
    let mut text = vec![format!(
        "The policy begins at {} and burst 1. Every {INTERVAL} instructions the consumer reads the profile; when \
         {CHUNK_SAMPLES} samples have come since it last judged, it compares the profile with the one of that time, \
         and if they overlap by at least a threshold, it doubles the period, up to {}. It is held against the fixed \
         period that takes as many samples (between two measured ones by interpolation), which only hindsight knows. Since samples thin out, each \
         may be counted once, or weighted by the period at which it was taken.",
        frequency(FIRST),
        frequency(LONGEST),
    )];
    let mut figures = vec![("adaptive".to_string(), mean_figure(&numbers)?)];
    for kind in numbers.kinds() {
        let of_kind = numbers.kind(kind);
        text.extend(found(&of_kind, kind));
        let name = format!("adaptive-{}", kind.name().replace('_', "-"));
        figures.push((name, program_figure(&of_kind, kind)?));
    }
    text.extend(cost(&timed));
    text.extend(timed.extent());
    Ok(Some(Chapter {
        id: NAME.to_string(),
        title: "Sparsity that adapts".to_string(),
        text,
        figures,
        tables: vec![table(&timed)],
    }))
}

/// Mean accuracy against the share of events sampled, over programs.
fn mean_figure(numbers: &Numbers<'_>) -> Result<Figure, PlotError> {
    let panel = |kind: ProfileKind| {
        let of_kind = numbers.kind(kind);
        let fixed = of_kind.scheme("fixed");
        let mut all = vec![Curve {
            entry: 0,
            points: fixed
                .frequencies()
                .into_iter()
                .rev()
                .filter_map(|n| mean_point(&fixed.one_in(n), None))
                .collect(),
            band: Vec::new(),
            marked: true,
        }];
        let adaptive = of_kind.scheme("adaptive");
        for (at, (keeps, _)) in KEEPS.iter().enumerate() {
            let thresholds = adaptive.xs().into_iter();
            let mut points: Vec<_> = thresholds
                .filter_map(|x| mean_point(&adaptive.at(x), Some(keeps)))
                .collect();
            points.sort_by(|a, b| a.0.total_cmp(&b.0));
            all.push(Curve {
                entry: at + 1,
                points,
                band: Vec::new(),
                marked: true,
            });
        }
        let points = || all.iter().flat_map(|c| &c.points);
        let xs: Vec<f64> = points().map(|p| p.0).collect();
        let ys: Vec<f64> = points().map(|p| p.1).collect();
        CurvePanel {
            title: heading(kind),
            x: Axis::log("Samples (geometric mean of programs, log scale)", &xs),
            y: Axis::accuracy(ACCURACY_AXIS, &ys, false),
            curves: all,
        }
    };
    let keeps = KEEPS.iter().map(|(_, title)| title.to_string());
    curves(&CurveChart {
        title: "Adaptive and fixed sparsity: accuracy at equal cost".to_string(),
        subtitle: format!(
            "mean of {} programs; adaptive points from left to right: rising thresholds of convergence",
            numbers.programs().len()
        ),
        legend: ["fixed".to_string()].into_iter().chain(keeps).collect(),
        rows: vec![numbers.kinds().into_iter().map(panel).collect()],
    })
}

/// Geometric mean of samples and mean accuracy in percent.
fn mean_point(numbers: &Numbers<'_>, keeps: Option<&str>) -> Option<(f64, f64)> {
    let samples = numbers.measure("samples").values();
    let logarithms: Vec<f64> = samples
        .iter()
        .filter(|&&s| s > 0.0)
        .map(|s| s.ln())
        .collect();
    let accuracy = numbers.measure(ACCURACY);
    let accuracy = keeps.map_or_else(|| accuracy.mean(), |keeps| accuracy.setting(keeps).mean());
    Some((mean(&logarithms)?.exp(), 100.0 * accuracy?))
}

/// Draws the gain of the policy in each program, at the threshold of the timed runs.
fn program_figure(of_kind: &Numbers<'_>, kind: ProfileKind) -> Result<Figure, PlotError> {
    let adaptive = of_kind.scheme("adaptive").at(TIMED_THRESHOLD);
    let programs = adaptive.programs();
    let values: Vec<Vec<Option<Dot>>> = programs
        .iter()
        .map(|program| {
            let gain = |keeps: &str| {
                adaptive
                    .program(program)
                    .setting(keeps)
                    .measure(GAIN)
                    .value()
            };
            let dot = |(keeps, _): &(&str, &str)| {
                gain(keeps).map(|gain| Dot {
                    value: 100.0 * gain,
                    whiskers: None,
                })
            };
            KEEPS.iter().map(dot).collect()
        })
        .collect();
    let all: Vec<f64> = values
        .iter()
        .flatten()
        .flatten()
        .map(|dot| dot.value)
        .collect();
    dots(&DotChart {
        title: format!("{}: adaptive against fixed sparsity", heading(kind)),
        subtitle: format!(
            "accuracy at a threshold of {} less that of the fixed period with as many samples",
            percent(TIMED_THRESHOLD, 0)
        ),
        legend: KEEPS.iter().map(|(_, title)| title.to_string()).collect(),
        panels: vec![DotPanel {
            title: String::new(),
            groups: programs,
            y: Axis::numbers("Gain (% points)", &all, true),
            values,
        }],
    })
}

fn found(of_kind: &Numbers<'_>, kind: ProfileKind) -> Vec<String> {
    let adaptive = of_kind.scheme("adaptive");
    let sentence = |threshold: f64| {
        let at = adaptive.at(threshold);
        let gains = |keeps: &str| -> Vec<(String, f64)> {
            let programs = at.programs().into_iter();
            let gain = |p: String| {
                let gain = at.program(&p).setting(keeps).measure(GAIN).value()?;
                Some((p, gain))
            };
            programs.filter_map(gain).collect()
        };
        let values = |named: &[(String, f64)]| named.iter().map(|n| n.1).collect::<Vec<_>>();
        let (counted, weighted) = (gains("counted"), gains("weighted"));
        let (worst, best) = extremes(&weighted)?;
        Some(format!(
            "{}, threshold {}: {} samples in the mean; against the fixed period with as many samples {} points when \
             samples are counted, {} when they are weighted (from {} in {} to {} in {}; better for {} of {} programs).",
            heading(kind),
            percent(threshold, 0),
            at.measure("samples").mean()?.round(),
            points(mean(&values(&counted))?, 1),
            points(mean(&values(&weighted))?, 1),
            points(worst.1, 1),
            worst.0,
            points(best.1, 1),
            best.0,
            weighted.iter().filter(|g| g.1 > 0.0).count(),
            weighted.len(),
        ))
    };
    adaptive.xs().into_iter().filter_map(sentence).collect()
}

fn cost(timed: &Numbers<'_>) -> Option<String> {
    let of = |scheme: &str, measure: &str| timed.scheme(scheme).measure(measure).mean();
    Some(format!(
        "Timed, hot methods, in the mean of {} programs: the policy costs {} of cycles for {:.0} samples with {:.0} \
         handler instructions, the fixed period with as many samples {} for {:.0} with {:.0}; they are {} and {} \
         accurate. The cost of the policy includes the {INTERVAL}-instruction interrupts at which the consumer looks, \
         which the fixed period does without.",
        timed.programs().len(),
        percent(of("adaptive", OVERHEAD)?, 3),
        of("adaptive", "samples")?,
        of("adaptive", "handler_instructions")?,
        percent(of("fixed", OVERHEAD)?, 3),
        of("fixed", "samples")?,
        of("fixed", "handler_instructions")?,
        percent(of("adaptive", ACCURACY)?, 1),
        percent(of("fixed", ACCURACY)?, 1),
    ))
}

fn table(timed: &Numbers<'_>) -> ChapterTable {
    let head = [
        "program",
        "sparsity",
        "frequency at the beginning",
        "samples",
        "handler instructions",
        "overhead %",
        "accuracy %",
    ];
    let mut table = ChapterTable::new("Timed runs, hot methods", 2, &head);
    for program in timed.programs() {
        for scheme in ["adaptive", "fixed"] {
            let run = timed.program(&program).scheme(scheme);
            let cell = |measure: &str, factor: f64, decimals: usize| {
                let value = run.measure(measure).value();
                value.map_or("–".to_string(), |v| format!("{:.decimals$}", v * factor))
            };
            let one_in = run.frequencies().first().copied();
            table.rows.push(vec![
                program.clone(),
                scheme.to_string(),
                one_in.map_or("–".to_string(), frequency),
                cell("samples", 1.0, 0),
                cell("handler_instructions", 1.0, 0),
                cell(OVERHEAD, 100.0, 3),
                cell(ACCURACY, 100.0, 2),
            ]);
        }
    }
    table
}
