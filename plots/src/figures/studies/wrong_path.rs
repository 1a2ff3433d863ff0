//! Effect of wrong paths on counters that are not repaired.

use hps_experiments::studies::wrong_path::NAME;
use hps_experiments::{ProfileKind, UnitRecord};

use super::chart::{Dot, DotChart, DotPanel, dots};
use super::data::{ACCURACY, Numbers, OVERHEAD, extremes, mean, percent, points};
use crate::PlotError;
use crate::axis::Axis;
use crate::chapter::{Chapter, ChapterTable};

const REPAIRED: &str = "repaired";
const UNREPAIRED: &str = "unrepaired";

pub(super) fn chapter(records: &[UnitRecord]) -> Result<Option<Chapter>, PlotError> {
    let Some(numbers) = Numbers::of(records, NAME) else {
        return Ok(None);
    };
    let programs = by_mispredictions(&numbers);
    let kinds = numbers.kinds();
    let figure = dots(&DotChart {
        title: "Counters that keep what wrong paths did to them".to_string(),
        subtitle: format!(
            "at 1/100 · in brackets: mispredictions per 1,000 instructions · {}",
            numbers.origin
        ),
        legend: kinds.iter().map(|kind| kind.title().to_string()).collect(),
        panels: vec![
            panel(
                &numbers,
                &programs,
                &kinds,
                "Samples",
                "More samples (%)",
                |n| excess(n).map(|share| 100.0 * share),
            ),
            panel(
                &numbers,
                &programs,
                &kinds,
                "Accuracy",
                "Change (% points)",
                |n| change(n, ACCURACY).map(|share| 100.0 * share),
            ),
        ],
    })?;
    let mut text = vec![
        "Calls and back-edges on a wrong path are decoded and counted like any others. HPS takes these counts \
         back when the path is squashed; the pictures show a machine that does not."
            .to_string(),
        check(&numbers),
    ];
    text.extend(kinds.iter().filter_map(|&kind| found(&numbers, kind)));
    text.extend(correlation(&numbers));
    text.extend(numbers.extent());
    Ok(Some(Chapter {
        id: NAME.to_string(),
        title: "Wrong paths and the counters".to_string(),
        text,
        figures: vec![("wrong-path".to_string(), figure)],
        tables: vec![table(&numbers, &programs, &kinds)],
    }))
}

fn mispredictions(numbers: &Numbers<'_>, program: &str) -> f64 {
    let of_program = numbers.program(program);
    let found = of_program
        .measure("mispredictions_per_kilo_instruction")
        .value();
    found.unwrap_or(0.0)
}

fn by_mispredictions(numbers: &Numbers<'_>) -> Vec<String> {
    let mut programs = numbers.programs();
    programs.sort_by(|a, b| mispredictions(numbers, a).total_cmp(&mispredictions(numbers, b)));
    programs
}

/// Samples beyond those of the definition, as a share of them.
fn excess(numbers: &Numbers<'_>) -> Option<f64> {
    let unrepaired = numbers.setting(UNREPAIRED);
    let nominal = unrepaired
        .measure("samples_nominal")
        .value()
        .filter(|&n| n > 0.0)?;
    Some(unrepaired.measure("samples").value()? / nominal - 1.0)
}

fn change(numbers: &Numbers<'_>, measure: &str) -> Option<f64> {
    let numbers = numbers.measure(measure);
    Some(numbers.setting(UNREPAIRED).value()? - numbers.setting(REPAIRED).value()?)
}

fn panel(
    numbers: &Numbers<'_>,
    programs: &[String],
    kinds: &[ProfileKind],
    title: &str,
    label: &str,
    value: impl Fn(&Numbers<'_>) -> Option<f64>,
) -> DotPanel {
    let dot = |program: &String, kind: &ProfileKind| {
        let value = value(&numbers.program(program).kind(*kind))?;
        Some(Dot {
            value,
            whiskers: None,
        })
    };
    let values: Vec<Vec<Option<Dot>>> = programs
        .iter()
        .map(|program| kinds.iter().map(|kind| dot(program, kind)).collect())
        .collect();
    let all: Vec<f64> = values
        .iter()
        .flatten()
        .flatten()
        .map(|dot| dot.value)
        .collect();
    let named = |program: &String| format!("{program} ({:.1})", mispredictions(numbers, program));
    DotPanel {
        title: title.to_string(),
        groups: programs.iter().map(named).collect(),
        y: Axis::numbers(label, &all, true),
        values,
    }
}

/// Whether repaired counters did what the definition says.
fn check(numbers: &Numbers<'_>) -> String {
    let repaired = numbers.setting(REPAIRED);
    let pairs: Vec<(f64, f64)> = repaired
        .measure("samples")
        .values()
        .into_iter()
        .zip(repaired.measure("samples_nominal").values())
        .collect();
    let exact = pairs
        .iter()
        .filter(|(samples, nominal)| samples == nominal)
        .count();
    format!(
        "With repaired counters {exact} of {} runs took exactly the samples that the definition says.",
        pairs.len()
    )
}

fn found(numbers: &Numbers<'_>, kind: ProfileKind) -> Option<String> {
    let numbers = numbers.kind(kind);
    let each = |value: &dyn Fn(&Numbers<'_>) -> Option<f64>| -> Vec<(String, f64)> {
        let programs = numbers.programs().into_iter();
        programs
            .filter_map(|p| value(&numbers.program(&p)).map(|v| (p, v)))
            .collect()
    };
    let values = |named: &[(String, f64)]| named.iter().map(|n| n.1).collect::<Vec<_>>();
    let samples = each(&excess);
    let accuracy = each(&|n| change(n, ACCURACY));
    let overhead = each(&|n| change(n, OVERHEAD));
    let (least, most) = extremes(&samples)?;
    let (worst, best) = extremes(&accuracy)?;
    Some(format!(
        "{}: without repair {} more samples in the mean of {} programs (from {} in {} to {} in {}); accuracy \
         changes by {} points in the mean (from {} in {} to {} in {}), overhead by {} points.",
        super::data::heading(kind),
        percent(mean(&values(&samples))?, 1),
        samples.len(),
        percent(least.1, 1),
        least.0,
        percent(most.1, 1),
        most.0,
        points(mean(&values(&accuracy))?, 1),
        points(worst.1, 1),
        worst.0,
        points(best.1, 1),
        best.0,
        points(mean(&values(&overhead))?, 2),
    ))
}

/// How far mispredictions explain the samples, over programs.
fn correlation(numbers: &Numbers<'_>) -> Option<String> {
    let events = numbers.kind(ProfileKind::Method);
    let pairs: Vec<(f64, f64)> = events
        .programs()
        .iter()
        .filter_map(|p| Some((mispredictions(numbers, p), excess(&events.program(p))?)))
        .collect();
    let (xs, ys): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
    let (x, y) = (mean(&xs)?, mean(&ys)?);
    let sum =
        |f: &dyn Fn(f64, f64) -> f64| pairs.iter().map(|&(a, b)| f(a - x, b - y)).sum::<f64>();
    let (xy, xx, yy) = (sum(&|a, b| a * b), sum(&|a, _| a * a), sum(&|_, b| b * b));
    if pairs.len() < 3 || xx == 0.0 || yy == 0.0 {
        return None;
    }
    Some(format!(
        "Over {} programs the additional samples of events correlate with mispredictions per instruction at {:.2}.",
        pairs.len(),
        xy / (xx * yy).sqrt()
    ))
}

fn table(numbers: &Numbers<'_>, programs: &[String], kinds: &[ProfileKind]) -> ChapterTable {
    let head = [
        "program",
        "profile",
        "mispredictions per 1,000 instructions",
        "of branches %",
        "squashed per committed",
        "samples, repaired",
        "unrepaired",
        "accuracy %, repaired",
        "unrepaired",
        "overhead %, repaired",
        "unrepaired",
    ];
    let mut table = ChapterTable::new("Repaired and unrepaired counters", 2, &head);
    table.folded = true;
    let cell = |value: Option<f64>, factor: f64, decimals: usize| {
        value.map_or("–".to_string(), |v| format!("{:.decimals$}", v * factor))
    };
    for program in programs {
        let of_program = numbers.program(program);
        for &kind in kinds {
            let of_kind = of_program.kind(kind);
            let mut row = vec![program.clone(), kind.title().to_string()];
            for (measure, factor, decimals) in [
                ("mispredictions_per_kilo_instruction", 1.0, 2),
                ("misprediction_ratio", 100.0, 2),
                ("squashed_per_committed_ratio", 1.0, 3),
            ] {
                row.push(cell(of_program.measure(measure).value(), factor, decimals));
            }
            for (measure, factor, decimals) in [
                ("samples", 1.0, 0),
                (ACCURACY, 100.0, 2),
                (OVERHEAD, 100.0, 3),
            ] {
                for setting in [REPAIRED, UNREPAIRED] {
                    let value = of_kind.setting(setting).measure(measure).value();
                    row.push(cell(value, factor, decimals));
                }
            }
            table.rows.push(row);
        }
    }
    table
}
