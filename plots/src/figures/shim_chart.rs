//! Curves with confidence intervals, curves of many points, points of others to compare with, and
//! shares over time.

use super::layout::{self, Entry, Swatch};
use crate::PlotError;
use crate::axis::{Axis, Frame, Rect};
use crate::canvas::Canvas;
use crate::figure::Figure;
use crate::style::{self, Marker, Rgb};

/// How a curve looks.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Look {
    /// Few points: markers with their intervals, joined.
    Points,
    /// Many points: a line.
    Thin,
    /// Somebody else's points: grey, not joined.
    Reference,
}

/// A curve of points `(x, y, half the interval around y)`.
pub(crate) struct Curve {
    pub label: String,
    pub look: Look,
    pub points: Vec<(f64, f64, f64)>,
}

/// One diagram.
pub(crate) struct CurvePanel {
    pub title: String,
    pub x: Axis,
    pub y: Axis,
    pub curves: Vec<Curve>,
}

/// Diagrams side by side under one legend; equal labels have equal colours.
pub(crate) struct CurveChart {
    pub title: String,
    pub subtitle: String,
    pub panels: Vec<CurvePanel>,
}

fn color(look: Look, index: usize) -> Rgb {
    match look {
        Look::Reference => style::MUTED,
        _ => style::category(index),
    }
}

fn marker(look: Look, index: usize) -> Marker {
    match look {
        Look::Reference => Marker::Diamond,
        _ => style::marker(index),
    }
}

/// Draws it.
///
/// # Errors
/// [`PlotError::BadFigure`] without a point, or with one that is not finite.
pub(crate) fn curves(chart: &CurveChart) -> Result<Figure, PlotError> {
    let all = || chart.panels.iter().flat_map(|p| &p.curves);
    if all().all(|c| c.points.is_empty()) {
        return Err(PlotError::bad(&chart.title, "there are no points to draw"));
    }
    let finite = |&(x, y, e): &(f64, f64, f64)| x.is_finite() && y.is_finite() && e.is_finite();
    if !all().flat_map(|c| &c.points).all(finite) {
        return Err(PlotError::bad(
            &chart.title,
            "a point is not a finite number",
        ));
    }
    let mut labels: Vec<(&str, Look)> = Vec::new();
    for curve in all() {
        if !labels.iter().any(|(label, _)| *label == curve.label) {
            labels.push((&curve.label, curve.look));
        }
    }
    let entries: Vec<Entry> = labels
        .iter()
        .enumerate()
        .map(|(i, &(label, look))| Entry {
            label: label.to_owned(),
            color: color(look, i),
            swatch: match look {
                Look::Thin => Swatch::Box,
                _ => Swatch::Line(marker(look, i)),
            },
        })
        .collect();
    let many = chart.panels.len() > 1;
    let width = style::WIDTH * if many { 1.3 } else { 1.0 };
    let top = layout::header_height(&chart.subtitle) + layout::legend_height(&entries, width);
    let height = top + if many { 600.0 } else { 720.0 };
    Figure::draw(&chart.title, width, height, |canvas| {
        let used = layout::header(canvas, width, &chart.title, &chart.subtitle);
        layout::legend(canvas, &entries, width, used);
        let gap = RIGHT + 12.0;
        let count = chart.panels.len() as f64;
        let each = (width - 2.0 * style::MARGIN - RIGHT - gap * (count - 1.0)) / count;
        for (i, panel) in chart.panels.iter().enumerate() {
            let left = style::MARGIN + i as f64 * (each + gap);
            let outer = Rect {
                left,
                top,
                right: left + each,
                bottom: height - style::MARGIN * 0.6,
            };
            let frame = Frame::draw(canvas, outer, &panel.title, &panel.x, &panel.y);
            for curve in &panel.curves {
                let index = labels.iter().position(|(l, _)| *l == curve.label);
                draw(canvas, &frame, curve, index.unwrap_or(0));
            }
        }
    })
}

fn draw(canvas: &mut Canvas<'_>, frame: &Frame, curve: &Curve, index: usize) {
    let color = color(curve.look, index);
    let points: Vec<_> = curve
        .points
        .iter()
        .map(|&(x, y, _)| frame.at(x, y))
        .collect();
    if curve.look == Look::Thin {
        return draw_thin(canvas, &points, &curve.points, color);
    }
    if points.len() > 1 && curve.look == Look::Points {
        canvas.path(&points, color, 5);
    }
    for (&at, &(x, y, half)) in points.iter().zip(&curve.points) {
        if half > 0.0 {
            let (low, high) = (frame.at(x, y - half).1, frame.at(x, y + half).1);
            // An interval that leaves the diagram is cut at its edge.
            let (low, high) = (low.min(frame.area.bottom), high.max(frame.area.top));
            canvas.line((at.0, low), (at.0, high), color, 3);
            for end in [low, high] {
                canvas.line((at.0 - 9.0, end), (at.0 + 9.0, end), color, 3);
            }
        }
        let says = format!("{}: {}", curve.label, frame.words(x, y));
        canvas.point(marker(curve.look, index), at, (10.0, color), &says);
    }
}

/// A distribution's line: buckets that are not neighbours are not joined, lonely ones are dots.
fn draw_thin(
    canvas: &mut Canvas<'_>,
    points: &[(f64, f64)],
    values: &[(f64, f64, f64)],
    color: Rgb,
) {
    /// Neighbouring buckets' middles are at most 1/64 apart.
    const NEIGHBOURS: f64 = 1.03;
    let mut from = 0;
    for to in 1..=points.len() {
        if to < points.len() && values[to].0 < values[to - 1].0 * NEIGHBOURS {
            continue;
        }
        match &points[from..to] {
            [lonely] => canvas.marker(Marker::Circle, *lonely, 3.0, color),
            part => canvas.path(part, color, 4),
        }
        from = to;
    }
}

/// Room for the last label of a logarithmic axis, which is wider than half of it.
const RIGHT: f64 = 36.0;

/// Shares of a whole in windows of time.
pub(crate) struct ShareChart {
    pub title: String,
    pub subtitle: String,
    /// Names of the parts.
    pub parts: Vec<String>,
    /// For each window its parts, which sum to 100, or nothing if there is nothing to share.
    pub windows: Vec<Option<Vec<f64>>>,
    /// Length of a window in the axis' unit.
    pub window: f64,
    pub x_label: String,
    pub y_label: String,
}

/// Draws shares as stacked columns without gaps.
///
/// # Errors
/// [`PlotError::BadFigure`] without a window.
pub(crate) fn shares(chart: &ShareChart) -> Result<Figure, PlotError> {
    if chart.windows.iter().all(Option::is_none) {
        return Err(PlotError::bad(&chart.title, "there is nothing to draw"));
    }
    let entries: Vec<Entry> = chart
        .parts
        .iter()
        .enumerate()
        .map(|(i, label)| Entry {
            label: label.clone(),
            color: style::category(i),
            swatch: Swatch::Box,
        })
        .collect();
    let width = style::WIDTH;
    let top = layout::header_height(&chart.subtitle) + layout::legend_height(&entries, width);
    let height = top + 560.0;
    let end = chart.windows.len() as f64 * chart.window;
    let x = Axis::numbers(&chart.x_label, &[0.0, end], true);
    let y = Axis::numbers(&chart.y_label, &[0.0, 100.0], true);
    Figure::draw(&chart.title, width, height, |canvas| {
        let used = layout::header(canvas, width, &chart.title, &chart.subtitle);
        layout::legend(canvas, &entries, width, used);
        let outer = Rect {
            left: style::MARGIN,
            top,
            right: width - style::MARGIN - RIGHT,
            bottom: height - style::MARGIN * 0.6,
        };
        let frame = Frame::draw(canvas, outer, "", &x, &y);
        for (i, window) in chart.windows.iter().enumerate() {
            let from = i as f64 * chart.window;
            let mut below = 0.0;
            for (part, share) in window.iter().flatten().enumerate() {
                let (left, bottom) = frame.at(from, below);
                below += share;
                let (right, upper) = frame.at(from + chart.window, below);
                if bottom - upper >= 0.5 {
                    let right = right.max(left + 1.0);
                    canvas.rect((left, upper), (right, bottom), style::category(part));
                }
            }
        }
    })
}
