//! Several kinds of profile in one run.

use hps_experiments::UnitRecord;
use hps_experiments::studies::merged::NAME;

use super::data::{Numbers, OVERHEAD, extremes, heading, mean, percent, points};
use crate::PlotError;
use crate::axis::{Axis, frequency};
use crate::chapter::{Chapter, ChapterTable};
use crate::figure::Figure;
use crate::figures::{BarChart, BarPanel, grouped_bars};
use crate::style;

pub(super) fn chapter(records: &[UnitRecord]) -> Result<Option<Chapter>, PlotError> {
    let Some(numbers) = Numbers::of(records, NAME) else {
        return Ok(None);
    };
    let mut text = vec![
        "Hot data streams, hot call pairs and hot methods collected in one run, against one run for each. All share \
         one framework, and so one burst length and frequency. A call that two kinds want is expanded once, for both."
            .to_string(),
        equality(&numbers),
    ];
    text.extend(
        numbers
            .frequencies()
            .into_iter()
            .filter_map(|n| found(&numbers.one_in(n), n)),
    );
    text.extend(numbers.extent());
    Ok(Some(Chapter {
        id: NAME.to_string(),
        title: "Several profiles in one run".to_string(),
        text,
        figures: vec![("merged".to_string(), figure(&numbers)?)],
        tables: vec![table(&numbers)],
    }))
}

/// Bars of the figure: a kind alone, the sum of all, the merged run.
fn overheads(numbers: &Numbers<'_>) -> Vec<(String, Option<f64>)> {
    let overhead = numbers.measure(OVERHEAD);
    let alone = overhead.scheme("hps");
    let kinds = alone.kinds().into_iter();
    let singles = kinds.map(|kind| (format!("{} alone", kind.title()), alone.kind(kind).value()));
    let both = [("sum of the three", "sum"), ("all in one run", "merged")];
    singles
        .chain(both.map(|(title, scheme)| (title.to_string(), overhead.scheme(scheme).value())))
        .collect()
}

fn figure(numbers: &Numbers<'_>) -> Result<Figure, PlotError> {
    let programs = numbers.programs();
    let bars: Vec<_> = overheads(numbers)
        .into_iter()
        .map(|(title, _)| title)
        .collect();
    let panel = |one_in: u64| {
        let of_program = |program: &String| -> Vec<Option<f64>> {
            let all = overheads(&numbers.one_in(one_in).program(program)).into_iter();
            all.map(|(_, overhead)| overhead.map(|share| 100.0 * share))
                .collect()
        };
        let values: Vec<Vec<Option<f64>>> = programs.iter().map(of_program).collect();
        let all: Vec<f64> = values.iter().flatten().flatten().copied().collect();
        BarPanel {
            title: frequency(one_in),
            groups: programs.clone(),
            group_label: String::new(),
            y: Axis::numbers("Overhead (% of cycles)", &all, true),
            values,
        }
    };
    let panels = numbers.frequencies().into_iter().map(panel);
    grouped_bars(&BarChart {
        title: "Three profiles in one run and in three".to_string(),
        subtitle: format!("{}{}", burst(numbers), numbers.origin),
        bars: (bars.into_iter().enumerate())
            .map(|(at, title)| (title, style::category(at)))
            .collect(),
        rows: panels.map(|panel| (520.0, vec![panel])).collect(),
    })
}

fn burst(numbers: &Numbers<'_>) -> String {
    let burst = numbers.iter().find_map(|m| m.burst);
    burst.map_or_else(String::new, |burst| format!("burst {burst} · "))
}

fn equality(numbers: &Numbers<'_>) -> String {
    let equal = numbers.measure("equal_profiles").values();
    let runs = equal.len();
    format!(
        "Of the {} profiles that merged runs collected, {} are the ones of runs alone, count for count.",
        3 * runs,
        equal.iter().sum::<f64>()
    )
}

fn found(numbers: &Numbers<'_>, one_in: u64) -> Option<String> {
    let overhead = numbers.measure(OVERHEAD);
    let pair = |program: &String| {
        let of_program = overhead.program(program);
        let sum = of_program.scheme("sum").value()?;
        Some((sum, of_program.scheme("merged").value()?))
    };
    let pairs: Vec<(f64, f64)> = numbers.programs().iter().filter_map(pair).collect();
    let saved: Vec<(String, f64)> = numbers
        .programs()
        .into_iter()
        .filter_map(|program| pair(&program).map(|(sum, merged)| (program, sum - merged)))
        .collect();
    let (least, most) = extremes(&saved)?;
    let sums: Vec<f64> = pairs.iter().map(|p| p.0).collect();
    let merged: Vec<f64> = pairs.iter().map(|p| p.1).collect();
    let singles: Vec<String> = overhead
        .scheme("hps")
        .kinds()
        .into_iter()
        .filter_map(|kind| {
            let mean = overhead.scheme("hps").kind(kind).mean()?;
            Some(format!("{} {}", kind.title(), percent(mean, 2)))
        })
        .collect();
    Some(format!(
        "At {}, in the mean of {} programs: {}; together {} as the sum of three runs and {} in one run, {} points \
         less (from {} in {} to {} in {}).",
        frequency(one_in),
        pairs.len(),
        singles.join(", "),
        percent(mean(&sums)?, 2),
        percent(mean(&merged)?, 2),
        points(mean(&sums)? - mean(&merged)?, 2).trim_start_matches('+'),
        points(least.1, 2),
        least.0,
        points(most.1, 2),
        most.0,
    ))
}

fn table(numbers: &Numbers<'_>) -> ChapterTable {
    let head = [
        "program",
        "collected",
        "frequency",
        "cycles",
        "overhead %",
        "inserted instructions",
        "handler instructions",
    ];
    let mut table = ChapterTable::new("Cost of each run", 2, &head);
    table.folded = true;
    for program in numbers.programs() {
        for one_in in numbers.frequencies() {
            let all = numbers.program(&program).one_in(one_in);
            let alone = all.scheme("hps");
            let runs = alone
                .kinds()
                .into_iter()
                .map(|kind| (heading(kind), alone.kind(kind)));
            for (title, run) in runs.chain([("all in one run".to_string(), all.scheme("merged"))]) {
                let cell = |measure: &str, factor: f64, decimals: usize| {
                    let value = run.measure(measure).value();
                    value.map_or("–".to_string(), |v| format!("{:.decimals$}", v * factor))
                };
                table.rows.push(vec![
                    program.clone(),
                    title,
                    frequency(one_in),
                    cell("cycles", 1.0, 0),
                    cell(OVERHEAD, 100.0, 3),
                    cell("inserted_instructions", 1.0, 0),
                    cell("handler_instructions", 1.0, 0),
                ]);
            }
        }
    }
    table
}
