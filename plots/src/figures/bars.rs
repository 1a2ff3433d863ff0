//! Grouped bars in panels: the shape of the paper's Figures 9 and 10.

use std::collections::BTreeMap;

use super::layout::{self, Entry, Swatch};
use crate::PlotError;
use crate::axis::{Axis, Frame, Rect, plain};
use crate::canvas::{Canvas, Type};
use crate::figure::Figure;
use crate::style::{self, Rgb};

/// One diagram of grouped bars.
pub(crate) struct BarPanel {
    pub title: String,
    pub groups: Vec<String>,
    pub group_label: String,
    /// `values[group][bar]`; `None` leaves the bar's place empty and marks it.
    pub values: Vec<Vec<Option<f64>>>,
    pub y: Axis,
}

/// Bars in rows of panels under one legend; all panels share the bars' names and colours.
pub(crate) struct BarChart {
    pub title: String,
    pub subtitle: String,
    pub bars: Vec<(String, Rgb)>,
    /// Rows of panels, top to bottom, with the height of each row in units.
    pub rows: Vec<(f64, Vec<BarPanel>)>,
}

/// Whiskers on bars: from where to where, by row, panel, group and bar.
pub(crate) type Whiskers = BTreeMap<[usize; 4], (f64, f64)>;

pub(crate) fn grouped_bars(chart: &BarChart) -> Result<Figure, PlotError> {
    grouped_bars_with(chart, "", &Whiskers::new())
}

/// Grouped bars with whiskers, which `meaning` explains in the legend.
pub(crate) fn grouped_bars_with(
    chart: &BarChart,
    meaning: &str,
    whiskers: &Whiskers,
) -> Result<Figure, PlotError> {
    let widest = chart
        .rows
        .iter()
        .map(|(_, panels)| {
            panels
                .iter()
                .map(|p| p.groups.len() * chart.bars.len())
                .sum::<usize>()
        })
        .max()
        .unwrap_or(0);
    // A bar narrower than 8 units could not be seen: wide figures for many programs.
    let width = (widest as f64 * 17.0 + 200.0).clamp(style::WIDTH, 2.0 * style::WIDTH);
    let mut entries: Vec<Entry> = chart
        .bars
        .iter()
        .map(|(label, color)| Entry {
            label: label.clone(),
            color: *color,
            swatch: Swatch::Box,
        })
        .collect();
    if !whiskers.is_empty() {
        entries.push(Entry {
            label: meaning.to_string(),
            color: style::INK,
            swatch: Swatch::Thin,
        });
    }
    let top = layout::header_height(&chart.subtitle) + layout::legend_height(&entries, width);
    let height = top + chart.rows.iter().map(|(h, _)| h).sum::<f64>() + style::MARGIN * 0.6;
    Figure::draw(&chart.title, width, height, |canvas| {
        let used = layout::header(canvas, width, &chart.title, &chart.subtitle);
        layout::legend(canvas, &entries, width, used);
        let mut y = top;
        for (row, (row_height, panels)) in chart.rows.iter().enumerate() {
            let gap = 24.0;
            let count = panels.len().max(1) as f64;
            let each = (width - 2.0 * style::MARGIN - gap * (count - 1.0)) / count;
            for (i, panel) in panels.iter().enumerate() {
                let left = style::MARGIN + i as f64 * (each + gap);
                let outer = Rect {
                    left,
                    top: y,
                    right: left + each,
                    bottom: y + row_height - 10.0,
                };
                let of_bar = |group, bar| whiskers.get(&[row, i, group, bar]).copied();
                draw_panel(canvas, outer, panel, &chart.bars, &of_bar);
            }
            y += row_height;
        }
    })
}

fn draw_panel(
    canvas: &mut Canvas<'_>,
    outer: Rect,
    panel: &BarPanel,
    bars: &[(String, Rgb)],
    whiskers: &dyn Fn(usize, usize) -> Option<(f64, f64)>,
) {
    let x = Axis::groups(&panel.group_label, &panel.groups);
    let frame = Frame::draw(canvas, outer, &panel.title, &x, &panel.y);
    let slot = 0.84 / bars.len().max(1) as f64;
    for (group, values) in panel.values.iter().enumerate() {
        for (bar, (value, (name, color))) in values.iter().zip(bars).enumerate() {
            let start = group as f64 + 0.08 + bar as f64 * slot;
            let (left, zero) = frame.at(start, 0.0);
            let (right, _) = frame.at(start + slot, 0.0);
            let Some(value) = value else {
                missing(canvas, ((left + right) / 2.0, frame.area.bottom - 12.0));
                continue;
            };
            let end = frame.at(start, *value).1;
            // A value that rounds to nothing still leaves a trace.
            let end = if (end - zero).abs() < 2.0 {
                zero - 2.0
            } else {
                end
            };
            let air = ((right - left) * 0.08).min(3.0);
            canvas.rect(
                (left + air, end.min(zero)),
                (right - air, end.max(zero)),
                *color,
            );
            let says = format!("{}, {name}: {}", panel.groups[group], plain(*value));
            canvas.says((left, frame.area.top), (right, frame.area.bottom), &says);
            if let Some((low, high)) = whiskers(group, bar) {
                let middle = (left + right) / 2.0;
                let [low, high] = [low, high].map(|v| frame.at(start, v).1);
                canvas.line((middle, low), (middle, high), style::INK, 2);
                let half = (right - left) * 0.22;
                for y in [low, high] {
                    canvas.line((middle - half, y), (middle + half, y), style::INK, 2);
                }
            }
        }
    }
}

fn missing(canvas: &mut Canvas<'_>, at: (f64, f64)) {
    canvas.text(
        "–",
        at,
        Type::new(style::TICK * 0.8).color(style::MUTED).centered(),
    );
}
