//! Tables of the engine that are too small.

use hps_experiments::UnitRecord;
use hps_experiments::studies::tables::NAME;

use super::chart::{Curve, CurveChart, CurvePanel, curves};
use super::data::{Numbers, OVERHEAD, heading, percent};
use crate::PlotError;
use crate::axis::Axis;
use crate::chapter::{Chapter, ChapterTable};
use crate::figure::Figure;

/// Tables, as results name their sizes and as pictures do.
const TABLES: [(&str, &str); 3] = [
    ("pt_entries", "Pattern table"),
    ("rt_entries", "Replacement table"),
    ("ct_entries", "Conditionals table"),
];

pub(super) fn chapter(records: &[UnitRecord]) -> Result<Option<Chapter>, PlotError> {
    let Some(numbers) = Numbers::of(records, NAME) else {
        return Ok(None);
    };
    let mut text = vec![
        "A set of productions misses if it needs more entries than a table has; then decode waits for the controller \
         at each miss. One table at a time is made smaller than what the set needs; the right end of each line is the \
         size that holds everything, where nothing misses."
            .to_string(),
    ];
    text.extend(TABLES.iter().filter_map(|table| found(&numbers, *table)));
    text.extend(numbers.extent());
    Ok(Some(Chapter {
        id: NAME.to_string(),
        title: "Sizes of the engine's tables".to_string(),
        text,
        figures: vec![("tables".to_string(), figure(&numbers)?)],
        tables: vec![table(&numbers)],
    }))
}

/// Sets of collected profiles, with their numbers: each kind, then all together.
fn sets<'a>(numbers: &Numbers<'a>) -> Vec<(String, Numbers<'a>)> {
    let alone = numbers.scheme("hps");
    let singles = alone
        .kinds()
        .into_iter()
        .map(|kind| (heading(kind), alone.kind(kind)));
    let all = ("All three".to_string(), numbers.scheme("merged"));
    singles.chain([all]).collect()
}

fn figure(numbers: &Numbers<'_>) -> Result<Figure, PlotError> {
    let panel = |&(setting, title): &(&str, &str)| {
        let of_table = numbers.setting(setting).measure(OVERHEAD);
        let curves: Vec<Curve> = sets(&of_table)
            .into_iter()
            .enumerate()
            .map(|(entry, (_, set))| Curve {
                entry,
                points: set
                    .xs()
                    .iter()
                    .filter_map(|&x| Some((x, 100.0 * set.at(x).mean()?)))
                    .collect(),
                band: Vec::new(),
                marked: true,
            })
            .collect();
        let values: Vec<f64> = curves.iter().flat_map(|c| &c.points).map(|p| p.1).collect();
        CurvePanel {
            title: title.to_string(),
            x: Axis::numbers("Entries", &of_table.xs(), true),
            y: Axis::overhead("Overhead (% of cycles)", &values),
            curves,
        }
    };
    curves(&CurveChart {
        title: "Tables that are too small".to_string(),
        subtitle: format!(
            "mean of {} programs · burst 10 at 1/100 · {}",
            numbers.programs().len(),
            numbers.origin
        ),
        legend: sets(numbers).into_iter().map(|(title, _)| title).collect(),
        rows: vec![TABLES.iter().map(panel).collect()],
    })
}

fn found(numbers: &Numbers<'_>, (setting, title): (&str, &str)) -> Option<String> {
    let of_table = numbers.setting(setting);
    let each: Vec<String> = sets(&of_table)
        .into_iter()
        .filter_map(|(name, set)| {
            let needed = set.measure("entries_needed").value()?;
            let overhead = set.measure(OVERHEAD);
            let fits = overhead.at(needed).mean()?;
            let smaller: Vec<f64> = overhead.xs().into_iter().filter(|&x| x < needed).collect();
            let (Some(&next), Some(&least)) = (smaller.last(), smaller.first()) else {
                return Some(format!(
                    "{} need {needed}, all of them for one sequence or list",
                    name.to_lowercase()
                ));
            };
            Some(format!(
                "{} need {needed}: overhead {} with all of them, {} with {next}, {} with {least}",
                name.to_lowercase(),
                percent(fits, 2),
                percent(overhead.at(next).mean()?, 2),
                percent(overhead.at(least).mean()?, 2),
            ))
        })
        .collect();
    (!each.is_empty()).then(|| format!("{title}, entries: {}.", each.join("; ")))
}

fn table(numbers: &Numbers<'_>) -> ChapterTable {
    let head = [
        "collected",
        "table",
        "entries",
        "needed",
        "misses per 1,000 instructions",
        "overhead %",
    ];
    let mut table = ChapterTable::new("Misses and their cost, means over programs", 2, &head);
    table.folded = true;
    for (name, set) in sets(numbers) {
        for (setting, title) in TABLES {
            let of_table = set.setting(setting);
            let needed = of_table.measure("entries_needed").value();
            for x in of_table.xs() {
                let cell = |measure: &str, factor: f64, decimals: usize| {
                    let value = of_table.at(x).measure(measure).mean();
                    value.map_or("–".to_string(), |v| format!("{:.decimals$}", v * factor))
                };
                table.rows.push(vec![
                    name.clone(),
                    title.to_string(),
                    format!("{x}"),
                    needed.map_or("–".to_string(), |n| format!("{n}")),
                    cell("misses_per_kilo_instruction", 1.0, 2),
                    cell(OVERHEAD, 100.0, 2),
                ]);
            }
        }
    }
    table
}
