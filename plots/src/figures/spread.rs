//! The paper's Figure 8 with its spread: mean accuracy against mean overhead, and where the middle
//! half of the programs lies if there are five or more.

use super::layout::{self, Entry, Swatch};
use super::scatter::{along, place_names, trace};
use crate::PlotError;
use crate::axis::{Axis, Frame};
use crate::canvas::Canvas;
use crate::dataset::Spread;
use crate::figure::Figure;
use crate::style;

/// A point of a curve, in percent.
pub(crate) struct SpreadPoint {
    pub name: String,
    pub overhead: Spread,
    pub accuracy: Spread,
}

/// A curve of means; the first one's points are named.
pub(crate) struct SpreadCurve {
    pub label: String,
    pub points: Vec<SpreadPoint>,
    /// Each program, as (overhead, accuracy).
    pub programs: Vec<(f64, f64)>,
}

/// Draws the curves.
///
/// # Errors
/// [`PlotError::BadFigure`] without points.
pub(crate) fn spread(
    title: &str,
    subtitle: &str,
    (x_label, y_label): (&str, &str),
    curves: &[SpreadCurve],
) -> Result<Figure, PlotError> {
    let points = || curves.iter().flat_map(|c| &c.points);
    if points().next().is_none() {
        return Err(PlotError::bad(title, "there are no points to draw"));
    }
    let programs = || curves.iter().flat_map(|c| &c.programs);
    let mut xs: Vec<f64> = programs().map(|p| p.0).collect();
    let mut ys: Vec<f64> = programs().map(|p| p.1).collect();
    for point in points() {
        xs.extend(point.overhead.marks());
        ys.extend(point.accuracy.marks());
    }
    let mut entries: Vec<Entry> = (curves.iter().enumerate())
        .map(|(at, curve)| Entry {
            label: curve.label.clone(),
            color: style::category(at),
            swatch: Swatch::Line(style::marker(at)),
        })
        .collect();
    if points().any(|p| p.accuracy.middle.is_some()) {
        entries.push(Entry {
            label: "middle half of programs".to_string(),
            color: style::MUTED,
            swatch: Swatch::Thin,
        });
    }
    let (x, y) = (
        Axis::overhead(x_label, &xs),
        Axis::accuracy(y_label, &ys, false),
    );
    layout::Chart {
        title,
        subtitle,
        legend: &entries,
        width: style::WIDTH,
        height: 720.0,
        x: &x,
        y: &y,
    }
    .figure(|canvas, frame| draw_curves(canvas, frame, curves))
}

fn draw_curves(canvas: &mut Canvas<'_>, frame: &Frame, curves: &[SpreadCurve]) {
    let mut ink = Vec::new();
    for &(x, y) in curves.iter().flat_map(|c| &c.programs) {
        let at = frame.at(x, y);
        canvas.marker(style::Marker::Circle, at, 4.0, style::FAINT);
        ink.push((at, 15.0));
    }
    let mut names = Vec::new();
    for (category, curve) in curves.iter().enumerate() {
        let color = style::category(category);
        for point in &curve.points {
            let (x, y) = (&point.overhead, &point.accuracy);
            let across = x.middle.map(|(a, b)| [a, b].map(|v| frame.at(v, y.mean)));
            let upwards = y.middle.map(|(a, b)| [a, b].map(|v| frame.at(x.mean, v)));
            for ends in [across, upwards].into_iter().flatten() {
                canvas.line(ends[0], ends[1], color, 2);
                trace(&ends, 4.0, &mut ink);
            }
        }
        let values: Vec<(f64, f64)> = (curve.points.iter())
            .map(|p| (p.overhead.mean, p.accuracy.mean))
            .collect();
        let path = along(&values, frame);
        if path.len() > 1 {
            canvas.path(&path, color, 5);
        }
        trace(&path, 12.0, &mut ink);
        let means: Vec<(f64, f64)> = values.iter().map(|&(x, y)| frame.at(x, y)).collect();
        for (&at, point) in means.iter().zip(&curve.points) {
            let (x, y) = (point.overhead.mean, point.accuracy.mean);
            let says = format!("{}, {}: {}", curve.label, point.name, frame.words(x, y));
            canvas.point(style::marker(category), at, (11.0, color), &says);
            ink.push((at, 80.0));
            if category == 0 {
                names.push((at, point.name.as_str()));
            }
        }
    }
    place_names(canvas, frame.area, &names, &ink);
}
