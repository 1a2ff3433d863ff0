//! Line diagrams: one or more panels side by side under one legend.

use super::layout::{self, Entry, Swatch};
use crate::axis::{Axis, Frame, Rect};
use crate::figure::Figure;
use crate::{PlotError, style};

/// A line through points, in the order given.
#[derive(Clone, Debug)]
pub struct Series {
    /// Label in the legend; panels give equal labels equal colours.
    pub label: String,
    /// The points `(x, y)` in the units of the axes.
    pub points: Vec<(f64, f64)>,
}

/// One diagram of a figure.
#[derive(Clone, Debug)]
pub struct Panel {
    /// Heading above the diagram; empty for none.
    pub title: String,
    /// Horizontal axis.
    pub x: Axis,
    /// Vertical axis.
    pub y: Axis,
    /// The lines.
    pub series: Vec<Series>,
}

/// A figure of line diagrams.
#[derive(Clone, Debug)]
pub struct LineChart {
    /// Title.
    pub title: String,
    /// Second, smaller line; empty for none.
    pub subtitle: String,
    /// The diagrams, left to right.
    pub panels: Vec<Panel>,
}

/// Draws line diagrams.
///
/// # Errors
/// [`PlotError::BadFigure`] if there is no panel, no point or a point that is not finite.
pub fn lines(chart: &LineChart) -> Result<Figure, PlotError> {
    let all = || chart.panels.iter().flat_map(|p| &p.series);
    let mut points = all().flat_map(|s| &s.points).peekable();
    if points.peek().is_none() {
        return Err(PlotError::bad(&chart.title, "there are no points to draw"));
    }
    if points.any(|(x, y)| !x.is_finite() || !y.is_finite()) {
        return Err(PlotError::bad(
            &chart.title,
            "a point is not a finite number",
        ));
    }
    let mut labels: Vec<&str> = Vec::new();
    for series in all() {
        if !labels.contains(&series.label.as_str()) {
            labels.push(&series.label);
        }
    }
    let entries: Vec<Entry> = labels
        .iter()
        .enumerate()
        .map(|(i, label)| Entry {
            label: (*label).to_string(),
            color: style::category(i),
            swatch: Swatch::Line(style::marker(i)),
        })
        .collect();
    let width = if chart.panels.len() > 1 {
        style::WIDTH * 1.3
    } else {
        style::WIDTH
    };
    let top = layout::header_height(&chart.subtitle) + layout::legend_height(&entries, width);
    let height = top + if chart.panels.len() > 1 { 600.0 } else { 720.0 };
    Figure::draw(&chart.title, width, height, |canvas| {
        let used = layout::header(canvas, width, &chart.title, &chart.subtitle);
        layout::legend(canvas, &entries, width, used);
        let gap = 30.0;
        let count = chart.panels.len() as f64;
        let each = (width - 2.0 * style::MARGIN - gap * (count - 1.0)) / count;
        for (i, panel) in chart.panels.iter().enumerate() {
            let left = style::MARGIN + i as f64 * (each + gap);
            let outer = Rect {
                left,
                top,
                right: left + each,
                bottom: height - style::MARGIN * 0.6,
            };
            let frame = Frame::draw(canvas, outer, &panel.title, &panel.x, &panel.y);
            for series in &panel.series {
                let index = labels.iter().position(|l| *l == series.label).unwrap_or(0);
                draw_series(canvas, &frame, series, index);
            }
        }
    })
}

fn draw_series(
    canvas: &mut crate::canvas::Canvas<'_>,
    frame: &Frame,
    series: &Series,
    index: usize,
) {
    let color = style::category(index);
    let points: Vec<_> = series.points.iter().map(|&(x, y)| frame.at(x, y)).collect();
    if points.len() > 1 {
        canvas.path(&points, color, 5);
    }
    for (&point, &(x, y)) in points.iter().zip(&series.points) {
        let says = format!("{}: {}", series.label, frame.words(x, y));
        canvas.point(style::marker(index), point, (10.0, color), &says);
    }
}
