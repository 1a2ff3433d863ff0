//! Titles and legends.

use crate::PlotError;
use crate::axis::{Axis, Frame, Rect};
use crate::canvas::{Canvas, Type, fit, text_width};
use crate::figure::Figure;
use crate::style::{self, Marker, Rgb};

/// How an entry of a legend looks.
#[derive(Clone, Copy)]
pub(crate) enum Swatch {
    Line(Marker),
    Thin,
    Box,
}

/// One entry of a legend.
pub(crate) struct Entry {
    pub label: String,
    pub color: Rgb,
    pub swatch: Swatch,
}

impl Swatch {
    fn width(self) -> f64 {
        match self {
            Swatch::Line(_) | Swatch::Thin => 52.0,
            Swatch::Box => 28.0,
        }
    }
}

const GAP: f64 = 34.0;
const ROW: f64 = 38.0;

/// Draws title and subtitle; returns the height used. Titles too wide are set smaller first.
pub(crate) fn header(canvas: &mut Canvas<'_>, width: f64, title: &str, subtitle: &str) -> f64 {
    let room = width - 2.0 * style::MARGIN;
    let natural = text_width(title, style::TITLE, true);
    let size = (style::TITLE * (room / natural.max(1.0)).min(1.0)).max(style::TITLE * 0.8);
    let title = fit(title, size, true, room);
    canvas.text(
        &title,
        (style::MARGIN, style::MARGIN + style::TITLE * 0.4),
        Type::new(size).bold(),
    );
    let mut used = style::MARGIN + style::TITLE * 1.2;
    if !subtitle.is_empty() {
        let text = fit(subtitle, style::SUBTITLE, false, room);
        canvas.text(
            &text,
            (style::MARGIN, used + style::SUBTITLE * 0.4),
            Type::new(style::SUBTITLE).color(style::MUTED),
        );
        used += style::SUBTITLE * 1.4;
    }
    used + 6.0
}

/// Height of the header that [`header`] draws.
pub(crate) fn header_height(subtitle: &str) -> f64 {
    let sub = if subtitle.is_empty() {
        0.0
    } else {
        style::SUBTITLE * 1.4
    };
    style::MARGIN + style::TITLE * 1.2 + sub + 6.0
}

/// Height of a legend in a figure of the given width.
pub(crate) fn legend_height(entries: &[Entry], width: f64) -> f64 {
    let rows = place(entries, width).last().map_or(0, |(row, _)| row + 1);
    rows as f64 * ROW + 6.0
}

/// Draws a legend in rows below `top`; returns the height used.
pub(crate) fn legend(canvas: &mut Canvas<'_>, entries: &[Entry], width: f64, top: f64) -> f64 {
    for (entry, (row, x)) in entries.iter().zip(place(entries, width)) {
        let y = top + row as f64 * ROW + ROW / 2.0;
        let end = x + entry.swatch.width();
        let middle = ((x + end) / 2.0, y);
        match entry.swatch {
            Swatch::Line(shape) => {
                canvas.line((x, y), (end, y), entry.color, 5);
                canvas.marker(shape, middle, 9.0, entry.color);
            }
            Swatch::Thin => canvas.line((x, y), (end, y), entry.color, 2),
            Swatch::Box => canvas.rect((x, y - 13.0), (end, y + 13.0), entry.color),
        }
        let room = width - style::MARGIN - end - 12.0;
        let label = fit(&entry.label, style::LABEL, false, room);
        canvas.text(&label, (end + 10.0, y), Type::new(style::LABEL));
    }
    legend_height(entries, width)
}

/// Title, subtitle, legend and axes of a figure with one diagram.
pub(crate) struct Chart<'a> {
    pub title: &'a str,
    pub subtitle: &'a str,
    pub legend: &'a [Entry],
    pub width: f64,
    /// Height of the diagram with its axes, without title and legend.
    pub height: f64,
    pub x: &'a Axis,
    pub y: &'a Axis,
}

impl Chart<'_> {
    /// The figure, whose diagram `draw` fills.
    pub fn figure(&self, draw: impl FnOnce(&mut Canvas<'_>, &Frame)) -> Result<Figure, PlotError> {
        let (title, subtitle, width) = (self.title, self.subtitle, self.width);
        let top = header_height(subtitle) + legend_height(self.legend, width);
        let height = top + self.height;
        Figure::draw(title, width, height, |canvas| {
            let used = header(canvas, width, title, subtitle);
            legend(canvas, self.legend, width, used);
            let outer = Rect {
                left: style::MARGIN,
                top,
                right: width - style::MARGIN,
                bottom: height - style::MARGIN * 0.6,
            };
            let frame = Frame::draw(canvas, outer, "", self.x, self.y);
            draw(canvas, &frame);
        })
    }
}

/// Row and left edge of each entry.
fn place(entries: &[Entry], width: f64) -> Vec<(usize, f64)> {
    let mut places = Vec::with_capacity(entries.len());
    let (mut row, mut x) = (0, style::MARGIN);
    for entry in entries {
        let wide = entry.swatch.width() + 10.0 + text_width(&entry.label, style::LABEL, false);
        if x > style::MARGIN && x + wide > width - style::MARGIN {
            row += 1;
            x = style::MARGIN;
        }
        places.push((row, x));
        x += wide + GAP;
    }
    places
}
