//! The summary at the paper's points, for a terminal and for the report.

use std::fmt::Write as _;

use hps_experiments::{ProfileKind, Row};

use crate::axis::frequency;
use crate::dataset::{DataSet, KindData, Metric, group};

/// A kind of profile at one frequency: means over programs, in percent.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SummaryLine {
    pub kind: ProfileKind,
    pub burst: u64,
    pub one_in: u64,
    /// Programs with an accuracy, of all.
    pub programs: (usize, usize),
    pub renormalized: Option<f64>,
    /// Half the width of its 95% interval over phases, if there are several.
    pub accuracy_half_width: Option<f64>,
    pub capped: Option<f64>,
    pub overhead: Option<f64>,
    /// Half the width of its 95% interval, if timing was sampled or several set-ups were timed.
    pub half_width: Option<f64>,
}

/// The lines of one kind, at the burst of the paper's Figure 8 (or the nearest one there is).
pub(crate) fn summary_lines(data: &KindData<'_>) -> Vec<SummaryLine> {
    let burst = data.shown_burst();
    let line = |&one_in: &u64| {
        let mean = |metric| data.mean(metric, burst, one_in);
        let value = |metric| mean(metric).map(|m| m.value);
        SummaryLine {
            kind: data.kind,
            burst,
            one_in,
            programs: (
                mean(Metric::Renormalized).map_or(0, |m| m.programs),
                data.programs.len(),
            ),
            renormalized: value(Metric::Renormalized),
            accuracy_half_width: mean(Metric::Renormalized).and_then(|m| m.half_width),
            capped: value(Metric::Capped),
            overhead: value(Metric::Overhead),
            half_width: mean(Metric::Overhead).and_then(|m| m.half_width),
        }
    };
    data.frequencies.iter().map(line).collect()
}

/// A percentage with the given decimals, or a dash.
pub(crate) fn percent(value: Option<f64>, decimals: usize) -> String {
    value.map_or_else(|| "–".to_string(), |v| format!("{v:.decimals$}"))
}

/// A percentage with half of its confidence interval, if it has one.
pub(crate) fn percent_within(value: Option<f64>, half_width: Option<f64>) -> String {
    within(value, half_width, 3)
}

/// A percentage with the given decimals and half of its confidence interval, if it has one.
pub(crate) fn within(value: Option<f64>, half_width: Option<f64>, decimals: usize) -> String {
    let around = half_width.filter(|_| value.is_some());
    let around = around.map_or_else(String::new, |h| format!(" ± {h:.decimals$}"));
    percent(value, decimals) + &around
}

/// Where a row lies: `hot method of NAME (input) at burst 1, 1/100`.
pub(crate) fn place(row: &Row) -> String {
    format!(
        "{} of {} ({}) at burst {}, {}",
        row.profile.title(),
        row.program,
        row.input,
        row.burst,
        frequency(row.one_in)
    )
}

/// The failed rows of a set, by reason, in the order of the set.
pub(crate) fn failures<'a>(set: &DataSet<'a>) -> Vec<(&'a str, Vec<&'a Row>)> {
    let mut reasons: Vec<(&str, Vec<&Row>)> = Vec::new();
    for &row in &set.rows {
        let Some(reason) = row.failure.as_deref() else {
            continue;
        };
        match reasons.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, rows)) => rows.push(row),
            None => reasons.push((reason, vec![row])),
        }
    }
    reasons
}

/// The summary as text: for each machine and version one table with aligned columns and no lines,
/// then the points that failed. Accuracies are means over programs in percent, overhead is the
/// cycles added in percent, with half of their 95% interval where timing was sampled. Says so if there are no rows.
#[must_use]
pub fn summary_table(rows: &[Row]) -> String {
    if rows.is_empty() {
        return "no result rows\n".to_string();
    }
    let mut text = String::new();
    for (index, set) in group(rows).iter().enumerate() {
        if index > 0 {
            text.push('\n');
        }
        let _ = writeln!(text, "{}", one_line(&set.origin()));
        text.push_str(&align(&cells(set)));
        for how in set.phase_notes().into_iter().chain(set.timing_notes()) {
            let _ = writeln!(text, "{how}");
        }
        write_failures(&mut text, set);
    }
    text
}

fn cells(set: &DataSet<'_>) -> Vec<Vec<String>> {
    let head = [
        "profile",
        "burst",
        "frequency",
        "programs",
        "accuracy %",
        "capped %",
        "overhead %",
    ];
    let mut table = vec![head.map(str::to_string).to_vec()];
    for data in set.kinds() {
        table.extend(summary_lines(&data).into_iter().map(|line| {
            vec![
                line.kind.title().to_string(),
                line.burst.to_string(),
                frequency(line.one_in),
                format!("{}/{}", line.programs.0, line.programs.1),
                within(line.renormalized, line.accuracy_half_width, 2),
                percent(line.capped, 2),
                percent_within(line.overhead, line.half_width),
            ]
        }));
    }
    table
}

/// Columns two spaces apart, the first to the left, numbers to the right.
pub(crate) fn align(table: &[Vec<String>]) -> String {
    let width = |c: usize| {
        let cells = table.iter().filter_map(|row| row.get(c));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let columns = table.first().map_or(0, Vec::len);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for row in table {
        for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
            let _ = match column {
                0 => write!(text, "{cell:<width$}"),
                _ => write!(text, "  {cell:>width$}"),
            };
        }
        text.push('\n');
    }
    text
}

fn write_failures(text: &mut String, set: &DataSet<'_>) {
    /// Points named for each reason; a broken program fails at every point.
    const NAMED: usize = 3;
    for (reason, rows) in failures(set) {
        let noun = if rows.len() == 1 { "point" } else { "points" };
        let _ = writeln!(text, "{} {noun} failed: {}", rows.len(), one_line(reason));
        for row in rows.iter().take(NAMED) {
            let _ = writeln!(text, "  {}", one_line(&place(row)));
        }
        if rows.len() > NAMED {
            let _ = writeln!(text, "  and {} more", rows.len() - NAMED);
        }
    }
}

/// The text without line breaks and terminal control characters.
pub(crate) fn one_line(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect()
}
