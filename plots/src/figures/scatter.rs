//! Accuracy against overhead: the shape of the paper's Figure 8, with every point named.

use hps_experiments::claims::between;

use super::layout::{self, Entry, Swatch};
use crate::PlotError;
use crate::axis::{Axis, Frame, Rect};
use crate::canvas::{Canvas, Type, text_width};
use crate::figure::Figure;
use crate::style;

/// A curve of named points.
pub(crate) struct Curve {
    pub label: String,
    /// Colour and marker, as for lines.
    pub category: usize,
    /// `(x, y, name)`; an empty name is not written.
    pub points: Vec<(f64, f64, String)>,
}

/// Curves in front of thin ones.
pub(crate) struct Scatter {
    pub title: String,
    pub subtitle: String,
    pub x: Axis,
    pub y: Axis,
    pub curves: Vec<Curve>,
    /// The points of a curve are joined by a line.
    pub joined: bool,
    pub thin: Vec<Vec<(f64, f64)>>,
    pub thin_label: String,
}

const NAME: f64 = 24.0;

pub(crate) fn scatter(chart: &Scatter) -> Result<Figure, PlotError> {
    if chart.curves.iter().all(|c| c.points.is_empty()) {
        return Err(PlotError::bad(&chart.title, "there are no points to draw"));
    }
    let mut entries: Vec<Entry> = chart
        .curves
        .iter()
        .map(|c| Entry {
            label: c.label.clone(),
            color: style::category(c.category),
            swatch: Swatch::Line(style::marker(c.category)),
        })
        .collect();
    if !chart.thin.is_empty() {
        entries.push(Entry {
            label: chart.thin_label.clone(),
            color: style::FAINT,
            swatch: Swatch::Thin,
        });
    }
    layout::Chart {
        title: &chart.title,
        subtitle: &chart.subtitle,
        legend: &entries,
        width: style::WIDTH,
        height: 720.0,
        x: &chart.x,
        y: &chart.y,
    }
    .figure(|canvas, frame| draw_curves(canvas, chart, frame))
}

fn draw_curves(canvas: &mut Canvas<'_>, chart: &Scatter, frame: &Frame) {
    let mut ink = Vec::new();
    for line in &chart.thin {
        let points: Vec<_> = line.iter().map(|&(x, y)| frame.at(x, y)).collect();
        canvas.path(&points, style::FAINT, 2);
        for &point in &points {
            canvas.marker(style::Marker::Circle, point, 3.0, style::FAINT);
            ink.push((point, 15.0));
        }
        trace(&points, 1.0, &mut ink);
    }
    let mut names = Vec::new();
    for curve in &chart.curves {
        let color = style::category(curve.category);
        let points: Vec<_> = curve.points.iter().map(|p| frame.at(p.0, p.1)).collect();
        if chart.joined && points.len() > 1 {
            let values: Vec<(f64, f64)> = curve.points.iter().map(|p| (p.0, p.1)).collect();
            let path = along(&values, frame);
            canvas.path(&path, color, 5);
            trace(&path, 12.0, &mut ink);
        }
        for (&at, (x, y, name)) in points.iter().zip(&curve.points) {
            let says = format!("{}, {name}: {}", curve.label, frame.words(*x, *y));
            canvas.point(style::marker(curve.category), at, (11.0, color), &says);
            ink.push((at, 80.0));
            if !name.is_empty() {
                names.push((at, name.as_str()));
            }
        }
    }
    place_names(canvas, frame.area, &names, &ink);
}

/// The line through points of overhead and accuracy as verdicts interpolate it ([`between`]), whatever the scale of the
/// axis: on a logarithmic one it is straight from point to point.
pub(crate) fn along(values: &[(f64, f64)], frame: &Frame) -> Vec<(f64, f64)> {
    const STEPS: usize = 16;
    let Some(&(x, y)) = values.first() else {
        return Vec::new();
    };
    let mut path = vec![frame.at(x, y)];
    for pair in values.windows(2) {
        let (from, to) = (pair[0], pair[1]);
        path.extend((1..=STEPS).map(|step| {
            let part = step as f64 / STEPS as f64;
            frame.at(between(from.0, to.0, part), from.1 + part * (to.1 - from.1))
        }));
    }
    path
}

/// Samples a line as spots of ink that a name should not cover, each of the given weight.
pub(crate) fn trace(points: &[(f64, f64)], weight: f64, ink: &mut Vec<((f64, f64), f64)>) {
    for pair in points.windows(2) {
        let (a, b) = (pair[0], pair[1]);
        let steps = ((b.0 - a.0).hypot(b.1 - a.1) / 10.0)
            .ceil()
            .clamp(1.0, 500.0);
        for i in 0..=steps as usize {
            let t = i as f64 / steps;
            ink.push(((a.0 + (b.0 - a.0) * t, a.1 + (b.1 - a.1) * t), weight));
        }
    }
}

/// Writes each name beside its point where it covers least and never another name.
pub(crate) fn place_names(
    canvas: &mut Canvas<'_>,
    area: Rect,
    names: &[((f64, f64), &str)],
    ink: &[((f64, f64), f64)],
) {
    let mut taken: Vec<Rect> = Vec::new();
    for &(at, name) in names {
        let best = candidates(at, text_width(name, NAME, false))
            .filter(|b| b.left > area.left && b.right < area.right)
            .filter(|b| b.top > area.top && b.bottom < area.bottom)
            .filter(|b| taken.iter().all(|t| !meet(b, t)))
            .map(|b| {
                let covered: f64 = ink
                    .iter()
                    .filter(|(p, _)| inside(&b, *p))
                    .map(|(_, weight)| weight)
                    .sum();
                let middle = ((b.left + b.right) / 2.0, (b.top + b.bottom) / 2.0);
                let away = (middle.0 - at.0).hypot(middle.1 - at.1);
                (covered + away * 0.25, b)
            })
            .min_by(|a, b| a.0.total_cmp(&b.0));
        let Some((_, place)) = best else { continue };
        let middle = (
            (place.left + place.right) / 2.0,
            (place.top + place.bottom) / 2.0,
        );
        let near = (
            at.0.clamp(place.left, place.right),
            at.1.clamp(place.top, place.bottom),
        );
        let away = (near.0 - at.0).hypot(near.1 - at.1);
        if away > 34.0 {
            // From the point's edge to the name.
            let edge = |c: f64, n: f64| c + (n - c) * 14.0 / away;
            canvas.line(
                (edge(at.0, near.0), edge(at.1, near.1)),
                near,
                style::MUTED,
                2,
            );
        }
        // Thin lines behind the name would strike it through.
        canvas.rect(
            (place.left, place.top + 3.0),
            (place.right, place.bottom - 1.0),
            style::PAPER,
        );
        canvas.text(name, middle, Type::new(NAME).centered());
        taken.push(place);
    }
}

/// Places for a name of the given width around a point, near ones and farther ones.
fn candidates(at: (f64, f64), width: f64) -> impl Iterator<Item = Rect> {
    const DIRECTIONS: [(f64, f64); 8] = [
        (1.0, 1.0),
        (1.0, -1.0),
        (0.0, 1.0),
        (0.0, -1.0),
        (-1.0, -1.0),
        (-1.0, 1.0),
        (1.0, 0.0),
        (-1.0, 0.0),
    ];
    [18.0, 40.0, 75.0, 120.0].into_iter().flat_map(move |away| {
        DIRECTIONS.into_iter().map(move |(dx, dy)| {
            let x = at.0 + dx * (away + width / 2.0);
            let y = at.1 + dy * (away + NAME * 0.5);
            let (half_width, half_height) = (width / 2.0 + 5.0, NAME * 0.62);
            Rect {
                left: x - half_width,
                top: y - half_height,
                right: x + half_width,
                bottom: y + half_height,
            }
        })
    })
}

fn meet(a: &Rect, b: &Rect) -> bool {
    a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom
}

fn inside(r: &Rect, (x, y): (f64, f64)) -> bool {
    x > r.left - 6.0 && x < r.right + 6.0 && y > r.top - 4.0 && y < r.bottom + 4.0
}
