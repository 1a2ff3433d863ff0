//! Pictures and the page of a native and a simulated run side by side (`hps validate --report`).

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::bars::{BarChart, BarPanel, grouped_bars};
use super::shim::{ShimFigure, write_page};
use super::shim_chart::{Curve, CurveChart, CurvePanel, Look, curves};
use super::shim_data::{distribution, list, number, text, xs};
use crate::PlotError;
use crate::axis::Axis;
use crate::style;

/// Functions in the picture.
const FUNCTIONS: usize = 15;

/// Writes `report.html`, `result.json` and pictures into `dir`, which is created if it is missing; `summary` is the
/// comparison in words. Returns the page.
///
/// # Errors
/// [`PlotError::Write`] naming what could not be written, and the errors of drawing.
pub fn write_validation_report(
    dir: &Path,
    comparison: &Value,
    summary: &str,
) -> Result<PathBuf, PlotError> {
    let mut figures = Vec::new();
    if !comparison["time"].is_null() {
        figures.push(time(comparison)?);
    }
    if !list(comparison, "collectors").is_empty() {
        figures.push(collectors(comparison)?);
    }
    if !comparison["periods"].is_null() {
        figures.push(periods(comparison)?);
    }
    let title = format!("{}, natively and simulated", text(comparison, "program"));
    write_page(dir, comparison, (&title, summary), &figures)
}

/// Program, instruction set and machines, for subtitles.
fn subject(comparison: &Value, machine: &str) -> String {
    format!(
        "{} · {} · {} · hps {}",
        text(comparison, "program"),
        text(comparison, "isa"),
        text(comparison, machine),
        text(comparison, "version")
    )
}

/// Bars of both sides.
fn sides() -> Vec<(String, style::Rgb)> {
    let named = ["natively", "simulated"].into_iter().enumerate();
    named
        .map(|(at, name)| (name.to_owned(), style::category(at)))
        .collect()
}

/// Shares of time by function.
fn time(comparison: &Value) -> Result<ShimFigure, PlotError> {
    let functions = list(comparison, "functions");
    let functions = &functions[..functions.len().min(FUNCTIONS)];
    // The best that the simulation has to compare with native time.
    let measure = ["instrumented_cycles", "cycles", "instructions"]
        .into_iter()
        .find(|measure| !comparison["time"][*measure].is_null())
        .unwrap_or("instructions");
    let has_observer = !comparison["time"]["observed"].is_null();
    let keys: Vec<&str> = ["native_time", measure, "observed"]
        .into_iter()
        .take(if has_observer { 3 } else { 2 })
        .collect();
    let mut bars = sides();
    if has_observer {
        bars.push((
            "by an observer inside the simulated machine".to_owned(),
            style::category(2),
        ));
    }
    let value = |of: &Value, key: &str| of[key].as_f64().map(|share| 100.0 * share);
    let values: Vec<Vec<Option<f64>>> = functions
        .iter()
        .map(|f| keys.iter().map(|key| value(f, key)).collect())
        .collect();
    let all: Vec<f64> = values.iter().flatten().flatten().copied().collect();
    let chart = BarChart {
        title: "Time by function".to_owned(),
        subtitle: format!(
            "{} · simulated: {}",
            subject(comparison, "machine"),
            measure.replace('_', " ")
        ),
        bars,
        rows: vec![(
            500.0,
            vec![BarPanel {
                title: String::new(),
                groups: functions
                    .iter()
                    .map(|f| text(f, "function").to_owned())
                    .collect(),
                group_label: String::new(),
                values,
                y: Axis::numbers("Share of time, %", &all, true),
            }],
        )],
    };
    Ok(ShimFigure::new("time", grouped_bars(&chart)?))
}

/// Accuracy and overhead of collectors of calls.
fn collectors(comparison: &Value) -> Result<ShimFigure, PlotError> {
    let collectors = list(comparison, "collectors");
    let panel = |title: &str, label: &str, key: &str| {
        let values: Vec<Vec<Option<f64>>> = collectors
            .iter()
            .map(|c| {
                let of = |side: &str| Some(100.0 * number(&c[side], key));
                vec![of("native"), of("simulated")]
            })
            .collect();
        let all: Vec<f64> = values.iter().flatten().flatten().copied().collect();
        BarPanel {
            title: title.to_owned(),
            groups: collectors
                .iter()
                .map(|c| text(c, "name").to_owned())
                .collect(),
            group_label: String::new(),
            y: Axis::numbers(label, &all, true),
            values,
        }
    };
    let chart = BarChart {
        title: "Call graphs by observers".to_owned(),
        subtitle: subject(comparison, "observed_on"),
        bars: sides(),
        rows: vec![(
            520.0,
            vec![
                panel(
                    "Accuracy: overlap with every call",
                    "Overlap, %",
                    "accuracy",
                ),
                panel("Overhead: time, or cycles", "Overhead, %", "observed"),
            ],
        )],
    };
    Ok(ShimFigure::new("call-graphs", grouped_bars(&chart)?))
}

/// How far samples, and kept samples, are apart.
fn periods(comparison: &Value) -> Result<ShimFigure, PlotError> {
    let panel = |title: &str, key: &str| {
        let curves: Vec<Curve> = ["native", "simulated"]
            .into_iter()
            .zip(sides())
            .map(|(side, (label, _))| Curve {
                label,
                look: Look::Thin,
                points: distribution(&comparison["periods"][side][key]),
            })
            .collect();
        let horizontal: Vec<f64> = curves.iter().flat_map(|c| xs(&c.points)).collect();
        let vertical: Vec<f64> = curves.iter().flat_map(|c| &c.points).map(|p| p.1).collect();
        CurvePanel {
            title: title.to_owned(),
            x: Axis::log("Cycles, log scale", &horizontal),
            y: Axis::log("Share, %, log scale", &vertical),
            curves,
        }
    };
    let figure = curves(&CurveChart {
        title: "Cycles between samples (as SHIM's Figure 5)".to_owned(),
        subtitle: subject(comparison, "observed_on"),
        panels: vec![
            panel("Period", "period"),
            panel("Gap between kept samples", "gap"),
        ],
    })?;
    Ok(ShimFigure::new("periods", figure))
}
