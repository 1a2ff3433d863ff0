//! How accuracy grows along a run.

use hps_experiments::studies::progress::NAME;
use hps_experiments::{ProfileKind, UnitRecord};

use super::chart::{Curve, CurveChart, CurvePanel, curves};
use super::data::{ACCURACY, ACCURACY_AXIS, Numbers, heading, mean, percent};
use crate::PlotError;
use crate::axis::{Axis, frequency};
use crate::chapter::{Chapter, ChapterTable};
use crate::figure::Figure;

/// References that a profile is held against, as results name them, and as panels do.
const AGAINST: [(&str, &str); 2] = [
    ("against=whole", "against the whole run"),
    ("against=so_far", "against the run so far"),
];
const BEFORE: &str = "against=before";

pub(super) fn chapter(records: &[UnitRecord]) -> Result<Option<Chapter>, PlotError> {
    let Some(numbers) = Numbers::of(records, NAME) else {
        return Ok(None);
    };
    let mut chapter = Chapter {
        id: NAME.to_string(),
        title: "How accuracy grows along a run".to_string(),
        text: vec![
            "At some shares of a program's events the profile sampled so far is held against the exhaustive profile of \
             the whole run, which is what a user wants, and against the exhaustive profile so far, which shows what \
             sampling alone loses. Lines are means over programs; where they \
             do not hide each other, bands reach from the lower to the upper quartile."
                .to_string(),
        ],
        ..Chapter::default()
    };
    for kind in numbers.kinds() {
        let of_kind = numbers.kind(kind);
        let name = format!("progress-{}", kind.name().replace('_', "-"));
        chapter.figures.push((name, figure(&of_kind, kind)?));
        chapter.text.extend(found(&of_kind, kind));
    }
    chapter.text.extend(rule(&numbers));
    chapter.tables.push(table(&numbers));
    Ok(Some(chapter))
}

fn figure(of_kind: &Numbers<'_>, kind: ProfileKind) -> Result<Figure, PlotError> {
    let frequencies = of_kind.scheme("hps").frequencies();
    let xs = of_kind.xs();
    let panel = |&(setting, title): &(&str, &str)| {
        let against = of_kind.setting(setting).measure(ACCURACY);
        let mut curves: Vec<Curve> = (frequencies.iter().enumerate())
            .map(|(entry, &one_in)| curve(entry, &against.scheme("hps").one_in(one_in), &xs))
            .collect();
        let exhaustive = against.scheme("exhaustive");
        if !exhaustive.xs().is_empty() {
            // Behind the others, which it is close to; bands would hide each other.
            curves.insert(0, curve(frequencies.len(), &exhaustive, &xs));
            curves.iter_mut().for_each(|curve| curve.band.clear());
        }
        CurvePanel {
            title: title.to_string(),
            x: Axis::log("Events so far (% of the run, log scale)", &xs),
            y: Axis::numbers(ACCURACY_AXIS, &[0.0, 100.0], true),
            curves,
        }
    };
    let sampled = frequencies
        .iter()
        .map(|&n| format!("sampled at {}", frequency(n)));
    curves(&CurveChart {
        title: format!("{}: accuracy along the run", heading(kind)),
        subtitle: format!(
            "mean of {} programs, and their middle half from five on",
            of_kind.programs().len()
        ),
        legend: sampled.chain(["every event, so far".to_string()]).collect(),
        rows: vec![AGAINST.iter().map(panel).collect()],
    })
}

fn curve(entry: usize, numbers: &Numbers<'_>, xs: &[f64]) -> Curve {
    let at = |x: f64| crate::dataset::Spread::of(numbers.at(x).values().iter().map(|v| 100.0 * v));
    let spreads: Vec<_> = xs
        .iter()
        .filter_map(|&x| at(x).map(|spread| (x, spread)))
        .collect();
    Curve {
        entry,
        points: spreads.iter().map(|(x, s)| (*x, s.mean)).collect(),
        band: spreads
            .iter()
            .filter_map(|(x, s)| s.middle.map(|(low, high)| (*x, low, high)))
            .collect(),
        marked: true,
    }
}

fn found(of_kind: &Numbers<'_>, kind: ProfileKind) -> Vec<String> {
    let sentence = |one_in: u64| {
        let numbers = of_kind.scheme("hps").one_in(one_in).measure(ACCURACY);
        let whole = numbers.setting(AGAINST[0].0);
        let at = |numbers: &Numbers<'_>, x: f64| numbers.at(x).mean();
        let good: Vec<f64> = whole
            .programs()
            .iter()
            .filter_map(|program| good_from(&whole.program(program)))
            .collect();
        let mut sorted = good.clone();
        sorted.sort_by(f64::total_cmp);
        let median = sorted.get(sorted.len().saturating_sub(1) / 2)?;
        Some(format!(
            "{} at {}: {} after 1% of the events, {} after 10%, {} at the end, against the whole run; after 10% {} \
             against the run so far. The median program is within 5 points of its last accuracy from {median}% of its \
             events on, the slowest from {}%.",
            heading(kind),
            frequency(one_in),
            percent(at(&whole, 1.0)?, 1),
            percent(at(&whole, 10.0)?, 1),
            percent(at(&whole, 100.0)?, 1),
            percent(at(&numbers.setting(AGAINST[1].0), 10.0)?, 1),
            sorted.last()?,
        ))
    };
    let frequencies = of_kind.scheme("hps").frequencies().into_iter();
    frequencies.filter_map(sentence).collect()
}

/// From which share on a program's accuracy stays within 5 points of its last.
fn good_from(whole: &Numbers<'_>) -> Option<f64> {
    let xs = whole.xs();
    let last = whole.at(*xs.last()?).value()?;
    let is_far = |x: &f64| whole.at(*x).value().is_none_or(|v| (v - last).abs() > 0.05);
    let far = xs.iter().rposition(is_far);
    xs.get(far.map_or(0, |at| at + 1)).copied()
}

/// Convergence that a user can see without the truth: how much the profile still changed between two looks, and how
/// accurate profiles were that had changed so little.
fn changes(numbers: &Numbers<'_>, kind: ProfileKind) -> Vec<(f64, f64)> {
    let sampled = numbers.scheme("hps").kind(kind).measure(ACCURACY);
    let before = sampled.setting(BEFORE);
    let whole = sampled.setting(AGAINST[0].0);
    before
        .iter()
        .filter_map(|b| {
            let mut same = whole.iter().filter(|w| {
                (&w.program, &w.isa, w.one_in, w.x) == (&b.program, &b.isa, b.one_in, b.x)
            });
            Some((b.value, same.next()?.value))
        })
        .collect()
}

/// Overlaps with the profile at the look before, below which a profile belongs to the class.
const CLASSES: [(f64, f64); 5] = [
    (0.0, 0.6),
    (0.6, 0.8),
    (0.8, 0.9),
    (0.9, 0.95),
    (0.95, 1.01),
];

fn of_class(changes: &[(f64, f64)], (low, high): (f64, f64)) -> Vec<f64> {
    let inside = changes
        .iter()
        .filter(|(overlap, _)| (low..high).contains(overlap));
    inside.map(|(_, accuracy)| *accuracy).collect()
}

fn rule(numbers: &Numbers<'_>) -> Vec<String> {
    let sentence = |kind: ProfileKind| {
        let changes = changes(numbers, kind);
        let stable = of_class(&changes, (0.95, 1.01));
        let unstable = of_class(&changes, (0.0, 0.8));
        let good = stable.iter().filter(|&&a| a >= 0.9).count();
        Some(format!(
            "When is a profile good enough? {}: profiles that overlap by 95% or more with the ones at half (or two \
             fifths) of their events are {} accurate against the whole run in the mean, {good} of {} above 90%; those \
             with an overlap below 80% are {} accurate.",
            heading(kind),
            percent(mean(&stable)?, 1),
            stable.len(),
            mean(&unstable).map_or("– (there are none)".to_string(), |m| percent(m, 1)),
        ))
    };
    numbers.kinds().into_iter().filter_map(sentence).collect()
}

fn table(numbers: &Numbers<'_>) -> ChapterTable {
    let head = [
        "profile",
        "overlap with the profile before %",
        "profiles",
        "mean accuracy %",
        "least %",
    ];
    let title = "What the change of a profile between two looks says about its accuracy against the whole run";
    let mut table = ChapterTable::new(title, 2, &head);
    for kind in numbers.kinds() {
        let changes = changes(numbers, kind);
        for class in CLASSES {
            let accuracies = of_class(&changes, class);
            let least = accuracies.iter().copied().fold(f64::INFINITY, f64::min);
            let cell = |value: Option<f64>| {
                value.map_or("–".to_string(), |v| format!("{:.1}", 100.0 * v))
            };
            table.rows.push(vec![
                kind.title().to_string(),
                format!("{:.0} to {:.0}", 100.0 * class.0, 100.0 * class.1.min(1.0)),
                accuracies.len().to_string(),
                cell(mean(&accuracies)),
                cell(Some(least).filter(|v| v.is_finite())),
            ]);
        }
    }
    table
}
