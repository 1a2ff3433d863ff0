//! Diagrams of the studies: curves with bands, and dots with whiskers in groups.

use super::super::layout::{self, Entry, Swatch};
use crate::PlotError;
use crate::axis::{Axis, Frame, Rect, plain};
use crate::canvas::Canvas;
use crate::figure::Figure;
use crate::style::{self, Rgb};

/// A curve, named by the index of its legend entry.
pub(super) struct Curve {
    pub entry: usize,
    /// Points in ascending order of x.
    pub points: Vec<(f64, f64)>,
    /// `(x, low, high)` around it.
    pub band: Vec<(f64, f64, f64)>,
    /// Whether the curve's points are marked.
    pub marked: bool,
}

/// One diagram of curves.
pub(super) struct CurvePanel {
    pub title: String,
    pub x: Axis,
    pub y: Axis,
    pub curves: Vec<Curve>,
}

/// Diagrams of curves, side by side in rows, under one legend.
pub(super) struct CurveChart {
    pub title: String,
    pub subtitle: String,
    /// Names of the curves.
    pub legend: Vec<String>,
    pub rows: Vec<Vec<CurvePanel>>,
}

const ROW: f64 = 560.0;
const GAP: f64 = 30.0;

/// Draws curves.
///
/// # Errors
/// [`PlotError::BadFigure`] without points.
pub(super) fn curves(chart: &CurveChart) -> Result<Figure, PlotError> {
    let panels = || chart.rows.iter().flatten();
    if panels()
        .flat_map(|p| &p.curves)
        .all(|c| c.points.is_empty())
    {
        return Err(PlotError::bad(&chart.title, "there are no points to draw"));
    }
    let marked = |entry: usize| {
        panels()
            .flat_map(|p| &p.curves)
            .any(|c| c.entry == entry && c.marked)
    };
    let entries: Vec<Entry> = (chart.legend.iter().enumerate())
        .map(|(at, label)| Entry {
            label: label.clone(),
            color: style::category(at),
            swatch: if marked(at) {
                Swatch::Line(style::marker(at))
            } else {
                Swatch::Thin
            },
        })
        .collect();
    let widest = chart.rows.iter().map(Vec::len).max().unwrap_or(1);
    let width = style::WIDTH * if widest > 2 { 1.4 } else { 1.2 };
    draw(
        &chart.title,
        &chart.subtitle,
        &entries,
        width,
        &chart.rows,
        |canvas, outer, panel| {
            let frame = Frame::draw(canvas, outer, &panel.title, &panel.x, &panel.y);
            for curve in &panel.curves {
                band(canvas, &frame, curve);
            }
            for curve in &panel.curves {
                line(canvas, &frame, curve);
            }
        },
    )
}

fn band(canvas: &mut Canvas<'_>, frame: &Frame, curve: &Curve) {
    let low = curve.band.iter().map(|&(x, low, _)| frame.at(x, low));
    let high = curve
        .band
        .iter()
        .rev()
        .map(|&(x, _, high)| frame.at(x, high));
    let outline: Vec<(f64, f64)> = low.chain(high).collect();
    if outline.len() > 2 {
        canvas.polygon(&outline, pale(style::category(curve.entry)));
    }
}

fn line(canvas: &mut Canvas<'_>, frame: &Frame, curve: &Curve) {
    let color = style::category(curve.entry);
    let points: Vec<(f64, f64)> = curve.points.iter().map(|&(x, y)| frame.at(x, y)).collect();
    if points.len() > 1 {
        canvas.path(&points, color, if curve.marked { 5 } else { 3 });
    }
    if curve.marked || points.len() == 1 {
        for (&point, &(x, y)) in points.iter().zip(&curve.points) {
            let shape = style::marker(curve.entry);
            canvas.point(shape, point, (9.0, color), &frame.words(x, y));
        }
    }
}

/// A tint that text and lines can be read on.
fn pale((r, g, b): Rgb) -> Rgb {
    let mix = |c: u8| (f64::from(c) * 0.3 + 255.0 * 0.7).round() as u8;
    (mix(r), mix(g), mix(b))
}

/// A dot with its whiskers.
#[derive(Clone, Copy)]
pub(super) struct Dot {
    pub value: f64,
    /// From where to where, if there is a spread.
    pub whiskers: Option<(f64, f64)>,
}

/// Dots in groups side by side: `values[group][series]`.
pub(super) struct DotPanel {
    pub title: String,
    pub groups: Vec<String>,
    pub y: Axis,
    pub values: Vec<Vec<Option<Dot>>>,
}

/// Diagrams of dots, below each other, under one legend.
pub(super) struct DotChart {
    pub title: String,
    pub subtitle: String,
    /// Names of the series.
    pub legend: Vec<String>,
    pub panels: Vec<DotPanel>,
}

/// Draws dots.
///
/// # Errors
/// [`PlotError::BadFigure`] without values.
pub(super) fn dots(chart: &DotChart) -> Result<Figure, PlotError> {
    let mut values = chart.panels.iter().flat_map(|p| &p.values).flatten();
    if values.all(Option::is_none) {
        return Err(PlotError::bad(&chart.title, "there are no values to draw"));
    }
    let entries: Vec<Entry> = (chart.legend.iter().enumerate())
        .map(|(at, label)| Entry {
            label: label.clone(),
            color: style::category(at),
            swatch: Swatch::Line(style::marker(at)),
        })
        .collect();
    let groups = chart
        .panels
        .iter()
        .map(|p| p.groups.len())
        .max()
        .unwrap_or(1);
    let slots = (groups * chart.legend.len()) as f64;
    let width = (slots * 34.0 + 240.0).clamp(style::WIDTH, 2.0 * style::WIDTH);
    let rows: Vec<Vec<&DotPanel>> = chart.panels.iter().map(|panel| vec![panel]).collect();
    draw(
        &chart.title,
        &chart.subtitle,
        &entries,
        width,
        &rows,
        |canvas, outer, panel| {
            let x = Axis::groups("", &panel.groups);
            let frame = Frame::draw(canvas, outer, &panel.title, &x, &panel.y);
            for group in 1..panel.groups.len() {
                let (x, _) = frame.at(group as f64, 0.0);
                canvas.line((x, frame.area.top), (x, frame.area.bottom), style::GRID, 2);
            }
            for (group, values) in panel.values.iter().enumerate() {
                let slot = 0.8 / values.len().max(1) as f64;
                for (series, dot) in values.iter().enumerate() {
                    let x = group as f64 + 0.1 + (series as f64 + 0.5) * slot;
                    if let Some(dot) = dot {
                        let names = (&panel.groups[group], &chart.legend[series]);
                        let says = format!("{}, {}: {}", names.0, names.1, plain(dot.value));
                        draw_dot(canvas, &frame, x, (series, dot), &says);
                    }
                }
            }
        },
    )
}

fn draw_dot(
    canvas: &mut Canvas<'_>,
    frame: &Frame,
    x: f64,
    (series, dot): (usize, &Dot),
    says: &str,
) {
    let color = style::category(series);
    if let Some((low, high)) = dot.whiskers {
        let ends = [low, high].map(|value| frame.at(x, value));
        canvas.line(ends[0], ends[1], color, 4);
        for (x, y) in ends {
            canvas.line((x - 7.0, y), (x + 7.0, y), color, 4);
        }
    }
    let (shape, at) = (style::marker(series), frame.at(x, dot.value));
    canvas.point(shape, at, (9.0, color), says);
}

/// Draws panels in rows under title and legend.
fn draw<P>(
    title: &str,
    subtitle: &str,
    entries: &[Entry],
    width: f64,
    rows: &[Vec<P>],
    mut panel: impl FnMut(&mut Canvas<'_>, Rect, &P),
) -> Result<Figure, PlotError> {
    let top = layout::header_height(subtitle) + layout::legend_height(entries, width);
    let height = top + rows.len() as f64 * ROW + style::MARGIN * 0.6;
    Figure::draw(title, width, height, |canvas| {
        let used = layout::header(canvas, width, title, subtitle);
        layout::legend(canvas, entries, width, used);
        for (row, panels) in rows.iter().enumerate() {
            let count = panels.len().max(1) as f64;
            let each = (width - 2.0 * style::MARGIN - GAP * (count - 1.0)) / count;
            for (column, content) in panels.iter().enumerate() {
                let left = style::MARGIN + column as f64 * (each + GAP);
                let upper = top + row as f64 * ROW;
                let outer = Rect {
                    left,
                    top: upper,
                    right: left + each,
                    bottom: upper + ROW - 10.0,
                };
                panel(canvas, outer, content);
            }
        }
    })
}
