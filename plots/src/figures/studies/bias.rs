//! Bias of fixed periods, and the gain of random ones.

use hps_experiments::studies::bias::NAME;
use hps_experiments::{ProfileKind, UnitRecord};

use super::chart::{Curve, CurveChart, CurvePanel, Dot, DotChart, DotPanel, curves, dots};
use super::data::{
    ACCURACY, ACCURACY_AXIS, LOOPS, Numbers, extremes, heading, mean, percent, points,
};
use crate::PlotError;
use crate::axis::{Axis, frequency};
use crate::chapter::{Chapter, ChapterTable};

/// Schemes, as results name them and as pictures do.
const SCHEMES: [(&str, &str); 3] = [
    ("fixed", "fixed period"),
    ("detuned", "one event longer"),
    (
        "randomized",
        "random period (mean; from least to most accurate seed)",
    ),
];
/// Means of less than this, in shares, are no difference worth a word.
const DRAW: f64 = 0.005;

pub(super) fn chapter(records: &[UnitRecord]) -> Result<Option<Chapter>, PlotError> {
    let Some(numbers) = Numbers::of(records, NAME) else {
        return Ok(None);
    };
    let loops = numbers.setting(LOOPS);
    let programs = numbers.setting("");
    let mut chapter = Chapter {
        id: NAME.to_string(),
        title: "Bias: fixed and random periods".to_string(),
        text: vec![
            "A loop whose length in events shares factors with the sampling period is always sampled at the same few \
             places. A random period, drawn anew for each burst from half to one and a half times the nominal \
             distance, cannot fall into step."
                .to_string(),
        ],
        ..Chapter::default()
    };
    if !loops.programs().is_empty() {
        chapter
            .figures
            .push(("bias-loops".to_string(), loop_figure(&loops)?));
        chapter
            .text
            .extend(loops.programs().iter().filter_map(|p| loop_text(&loops, p)));
    }
    for kind in programs.kinds() {
        let of_kind = programs.kind(kind);
        let name = format!("bias-{}", kind.name().replace('_', "-"));
        chapter
            .figures
            .push((name, program_figure(&of_kind, kind)?));
        chapter.text.extend(program_text(&of_kind, kind));
    }
    chapter.tables.push(table(&programs));
    Ok(Some(chapter))
}

fn loop_figure(loops: &Numbers<'_>) -> Result<crate::Figure, PlotError> {
    let panel = |program: &String| {
        let of_program = loops.program(program).measure(ACCURACY);
        let curve = |entry: usize, scheme: &str| {
            let of_scheme = of_program.scheme(scheme);
            Curve {
                entry,
                points: of_scheme
                    .iter()
                    .filter_map(|m| Some((m.x?, 100.0 * m.value)))
                    .collect(),
                band: Vec::new(),
                marked: false,
            }
        };
        CurvePanel {
            title: format!(
                "{} events in each iteration",
                program.trim_start_matches("loop")
            ),
            x: Axis::numbers("Sampling period (events)", &of_program.xs(), false),
            y: Axis::numbers(ACCURACY_AXIS, &[0.0, 100.0], true),
            // The random one in front.
            curves: vec![curve(0, "fixed"), curve(1, "randomized")],
        }
    };
    curves(&CurveChart {
        title: "A loop of known length, sampled at every period".to_string(),
        subtitle: "hot method profile, burst 1; random periods: mean of all seeds".to_string(),
        legend: vec!["fixed period".to_string(), "random period".to_string()],
        rows: vec![loops.programs().iter().map(panel).collect()],
    })
}

fn loop_text(loops: &Numbers<'_>, program: &str) -> Option<String> {
    let length = program.trim_start_matches("loop");
    let of_program = loops.program(program).measure(ACCURACY);
    let named = |scheme: &str| -> Vec<(String, f64)> {
        let of_scheme = of_program.scheme(scheme);
        of_scheme
            .iter()
            .filter_map(|m| Some((m.x?.to_string(), m.value)))
            .collect()
    };
    let values = |named: &[(String, f64)]| named.iter().map(|n| n.1).collect::<Vec<_>>();
    let (fixed, random) = (named("fixed"), named("randomized"));
    let (worst, best) = extremes(&fixed)?;
    let (least, _) = extremes(&random)?;
    let bad: Vec<&str> = fixed
        .iter()
        .filter(|f| f.1 < 0.8)
        .map(|f| f.0.as_str())
        .collect();
    Some(format!(
        "{length} events in each iteration: fixed periods are {} accurate in the mean, from {} at period {} to {}; \
         {} of {} periods stay below 80% ({}). Random periods are {} accurate in the mean and {} at the worst, \
         period {}.",
        percent(mean(&values(&fixed))?, 1),
        percent(worst.1, 1),
        worst.0,
        percent(best.1, 1),
        bad.len(),
        fixed.len(),
        if bad.is_empty() {
            "none".to_string()
        } else {
            bad.join(", ")
        },
        percent(mean(&values(&random))?, 1),
        percent(least.1, 1),
        least.0,
    ))
}

/// The frequencies that are drawn: all would not be legible.
fn drawn(numbers: &Numbers<'_>) -> Vec<u64> {
    let all = numbers.frequencies();
    let decades: Vec<u64> = all
        .iter()
        .copied()
        .filter(|n| [100, 1000, 10_000].contains(n))
        .collect();
    if decades.is_empty() { all } else { decades }
}

fn program_figure(of_kind: &Numbers<'_>, kind: ProfileKind) -> Result<crate::Figure, PlotError> {
    let programs = of_kind.programs();
    let panel = |&one_in: &u64| {
        let values: Vec<Vec<Option<Dot>>> = programs
            .iter()
            .map(|program| {
                let numbers = of_kind.program(program).one_in(one_in);
                SCHEMES
                    .iter()
                    .map(|(scheme, _)| dot(&numbers.scheme(scheme)))
                    .collect()
            })
            .collect();
        let dots = || values.iter().flatten().flatten();
        let lowest = dots().map(|d| d.whiskers.map_or(d.value, |w| w.0));
        let all: Vec<f64> = lowest.chain([100.0]).collect();
        DotPanel {
            title: frequency(one_in),
            groups: programs.clone(),
            y: Axis::accuracy(ACCURACY_AXIS, &all, false),
            values,
        }
    };
    dots(&DotChart {
        title: format!("{}: fixed and random periods", heading(kind)),
        subtitle: "every event counted as in the functional machine".to_string(),
        legend: SCHEMES.iter().map(|(_, title)| title.to_string()).collect(),
        panels: drawn(of_kind).iter().map(panel).collect(),
    })
}

fn dot(numbers: &Numbers<'_>) -> Option<Dot> {
    let ends = (
        numbers.measure("accuracy_least_ratio").value(),
        numbers.measure("accuracy_most_ratio").value(),
    );
    Some(Dot {
        value: 100.0 * numbers.measure(ACCURACY).value()?,
        whiskers: ends
            .0
            .zip(ends.1)
            .map(|(least, most)| (100.0 * least, 100.0 * most)),
    })
}

/// Gain of random periods over fixed ones, program by program.
fn gains(of_kind: &Numbers<'_>, one_in: u64, scheme: &str) -> Vec<(String, f64)> {
    let gain = |program: String| {
        let numbers = of_kind.program(&program).one_in(one_in).measure(ACCURACY);
        let gain = numbers.scheme(scheme).value()? - numbers.scheme("fixed").value()?;
        Some((program, gain))
    };
    of_kind.programs().into_iter().filter_map(gain).collect()
}

fn program_text(of_kind: &Numbers<'_>, kind: ProfileKind) -> Vec<String> {
    let sentence = |one_in: u64| {
        let random = gains(of_kind, one_in, "randomized");
        let detuned = gains(of_kind, one_in, "detuned");
        let values = |named: &[(String, f64)]| named.iter().map(|n| n.1).collect::<Vec<_>>();
        let (worst, best) = extremes(&random)?;
        let count = |wanted: &dyn Fn(f64) -> bool| random.iter().filter(|g| wanted(g.1)).count();
        Some(format!(
            "{} at {}: random periods change accuracy by {} points in the mean of {} programs (from {} in {} to {} in \
             {}; better for {}, worse for {}, within half a point for {}); a period one event longer by {}.",
            heading(kind),
            frequency(one_in),
            points(mean(&values(&random))?, 2),
            random.len(),
            points(worst.1, 1),
            worst.0,
            points(best.1, 1),
            best.0,
            count(&|g| g > DRAW),
            count(&|g| g < -DRAW),
            count(&|g| g.abs() <= DRAW),
            points(mean(&values(&detuned))?, 2),
        ))
    };
    drawn(of_kind).into_iter().filter_map(sentence).collect()
}

fn table(programs: &Numbers<'_>) -> ChapterTable {
    let head = [
        "profile",
        "frequency",
        "programs",
        "fixed %",
        "one event longer %",
        "random %",
        "mean distance between seeds, points",
    ];
    let mut table = ChapterTable::new("Mean accuracy over programs", 1, &head);
    for kind in programs.kinds() {
        let of_kind = programs.kind(kind);
        for one_in in of_kind.frequencies() {
            let numbers = of_kind.one_in(one_in);
            let means = SCHEMES.map(|(scheme, _)| numbers.scheme(scheme).measure(ACCURACY).mean());
            let random = numbers.scheme("randomized");
            let ends =
                ["accuracy_least_ratio", "accuracy_most_ratio"].map(|m| random.measure(m).mean());
            let cell = |value: Option<f64>| {
                value.map_or("–".to_string(), |v| format!("{:.2}", 100.0 * v))
            };
            let mut row = vec![
                kind.title().to_string(),
                frequency(one_in),
                numbers.programs().len().to_string(),
            ];
            row.extend(means.map(cell));
            row.push(cell(ends[1].zip(ends[0]).map(|(most, least)| most - least)));
            table.rows.push(row);
        }
    }
    table
}
