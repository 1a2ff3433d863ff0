//! A sheet to draw on: plotters' SVG backend with text measured in an embedded font, and a list of what is drawn, for
//! [bitmaps](crate::bitmap).

use std::sync::Once;

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::bitmap::Mark;
use crate::style::{self, Marker, Rgb};

/// The generic family every viewer has; measured here as DejaVu Sans, which is as wide as the
/// widest of the usual ones.
const FAMILY: &str = "sans-serif";
/// plotters divides a font's size by this before it writes it as `font-size`.
const PLOTTERS_FONT_FACTOR: f64 = 1.24;

/// How a text is set.
#[derive(Clone, Copy)]
pub(crate) struct Type {
    pub size: f64,
    pub color: Rgb,
    pub bold: bool,
    pub h: HPos,
    pub v: VPos,
    pub upwards: bool,
}

impl Type {
    pub(crate) fn new(size: f64) -> Self {
        Self {
            size,
            color: style::INK,
            bold: false,
            h: HPos::Left,
            v: VPos::Center,
            upwards: false,
        }
    }
    pub(crate) fn color(mut self, color: Rgb) -> Self {
        self.color = color;
        self
    }
    pub(crate) fn bold(mut self) -> Self {
        self.bold = true;
        self
    }
    pub(crate) fn centered(mut self) -> Self {
        self.h = HPos::Center;
        self
    }
    pub(crate) fn right(mut self) -> Self {
        self.h = HPos::Right;
        self
    }
    pub(crate) fn top(mut self) -> Self {
        self.v = VPos::Top;
        self
    }
    pub(crate) fn upwards(mut self) -> Self {
        self.upwards = true;
        self
    }

    fn plotters(self) -> TextStyle<'static> {
        register_fonts();
        let weight = if self.bold {
            FontStyle::Bold
        } else {
            FontStyle::Normal
        };
        let font = FontDesc::new(
            FontFamily::Name(FAMILY),
            self.size * PLOTTERS_FONT_FACTOR,
            weight,
        );
        let font = if self.upwards {
            font.transform(FontTransform::Rotate270)
        } else {
            font
        };
        let (r, g, b) = self.color;
        font.color(&RGBColor(r, g, b)).pos(Pos::new(self.h, self.v))
    }
}

/// Tooltip of an area of a drawing.
#[derive(Clone)]
pub(crate) struct Tip {
    /// Corners of the area, in units.
    pub from: (i32, i32),
    pub to: (i32, i32),
    pub text: String,
}

/// Marks and tooltips that were drawn.
#[derive(Default)]
pub(crate) struct Drawn {
    pub marks: Vec<Mark>,
    pub tips: Vec<Tip>,
}

/// Draws onto an SVG and notes what it draws; the first fault is kept and reported at the end.
pub(crate) struct Canvas<'a> {
    backend: SVGBackend<'a>,
    drawn: Drawn,
    fault: Option<String>,
}

impl<'a> Canvas<'a> {
    /// A white sheet of the given size in units.
    pub(crate) fn new(buffer: &'a mut String, width: u32, height: u32) -> Self {
        let mut canvas = Self {
            backend: SVGBackend::with_string(buffer, (width, height)),
            drawn: Drawn::default(),
            fault: None,
        };
        canvas.rect(
            (0.0, 0.0),
            (f64::from(width), f64::from(height)),
            style::PAPER,
        );
        canvas
    }

    /// Ends the drawing: what has been drawn, or what went wrong.
    pub(crate) fn finish(mut self) -> Result<Drawn, String> {
        let end = self.backend.present();
        self.note(end);
        self.fault.take().map_or(Ok(self.drawn), Err)
    }

    /// Says what stands between two corners to whoever points there.
    pub(crate) fn says(&mut self, from: (f64, f64), to: (f64, f64), text: &str) {
        let (from, to) = (unit(&from), unit(&to));
        self.drawn.tips.push(Tip {
            from,
            to,
            text: printable(text),
        });
    }

    /// A data point of about `radius` units that says what it is.
    pub(crate) fn point(
        &mut self,
        shape: Marker,
        at: (f64, f64),
        (radius, color): (f64, Rgb),
        text: &str,
    ) {
        self.marker(shape, at, radius, color);
        let reach = radius + 3.0;
        self.says(
            (at.0 - reach, at.1 - reach),
            (at.0 + reach, at.1 + reach),
            text,
        );
    }

    fn note<E: std::fmt::Display>(&mut self, outcome: Result<(), E>) {
        if let Err(e) = outcome {
            self.fault.get_or_insert_with(|| e.to_string());
        }
    }

    /// A line through points.
    pub(crate) fn path(&mut self, points: &[(f64, f64)], color: Rgb, width: u32) {
        let points: Vec<(i32, i32)> = points.iter().map(unit).collect();
        let end = self
            .backend
            .draw_path(points.iter().copied(), &stroke(color, width));
        self.note(end);
        self.drawn.marks.push(Mark::Line {
            points,
            width,
            color,
        });
    }

    /// A straight line.
    pub(crate) fn line(&mut self, from: (f64, f64), to: (f64, f64), color: Rgb, width: u32) {
        let (from, to) = (unit(&from), unit(&to));
        let end = self.backend.draw_line(from, to, &stroke(color, width));
        self.note(end);
        self.drawn.marks.push(Mark::Line {
            points: vec![from, to],
            width,
            color,
        });
    }

    /// A filled rectangle.
    pub(crate) fn rect(&mut self, from: (f64, f64), to: (f64, f64), color: Rgb) {
        let ((left, top), (right, bottom)) = (unit(&from), unit(&to));
        let end = self
            .backend
            .draw_rect((left, top), (right, bottom), &fill(color), true);
        self.note(end);
        self.drawn.marks.push(Mark::Area {
            corners: vec![(left, top), (right, top), (right, bottom), (left, bottom)],
            color,
        });
    }

    /// A filled polygon.
    pub(crate) fn polygon(&mut self, corners: &[(f64, f64)], color: Rgb) {
        let corners: Vec<(i32, i32)> = corners.iter().map(unit).collect();
        let end = self
            .backend
            .fill_polygon(corners.iter().copied(), &fill(color));
        self.note(end);
        self.drawn.marks.push(Mark::Area { corners, color });
    }

    /// A filled circle.
    fn disc(&mut self, center: (f64, f64), radius: f64, color: Rgb) {
        let (center, radius) = (unit(&center), radius.round().max(1.0) as u32);
        let end = self.backend.draw_circle(center, radius, &fill(color), true);
        self.note(end);
        self.drawn.marks.push(Mark::Disc {
            center,
            radius,
            color,
        });
    }

    /// A data point of about `radius` units.
    pub(crate) fn marker(&mut self, shape: Marker, at: (f64, f64), radius: f64, color: Rgb) {
        let (x, y) = at;
        let r = radius;
        match shape {
            Marker::Circle => self.disc(at, radius, color),
            Marker::Square => {
                let r = r * 0.9;
                self.polygon(
                    &[
                        (x - r, y - r),
                        (x + r, y - r),
                        (x + r, y + r),
                        (x - r, y + r),
                    ],
                    color,
                );
            }
            Marker::Triangle => self.polygon(
                &[
                    (x, y - 1.25 * r),
                    (x + 1.15 * r, y + 0.8 * r),
                    (x - 1.15 * r, y + 0.8 * r),
                ],
                color,
            ),
            Marker::TriangleDown => self.polygon(
                &[
                    (x, y + 1.25 * r),
                    (x + 1.15 * r, y - 0.8 * r),
                    (x - 1.15 * r, y - 0.8 * r),
                ],
                color,
            ),
            Marker::Diamond => {
                let r = r * 1.3;
                self.polygon(&[(x, y - r), (x + r, y), (x, y + r), (x - r, y)], color);
            }
        }
    }

    /// Text at a point, anchored as `set` says. Characters XML cannot hold are replaced.
    pub(crate) fn text(&mut self, text: &str, at: (f64, f64), set: Type) {
        let (text, at) = (printable(text), unit(&at));
        let end = self.backend.draw_text(&text, &set.plotters(), at);
        self.note(end);
        self.drawn.marks.push(Mark::Text { text, at, set });
    }
}

/// Width in units of a text in the embedded font: at least what common sans-serif fonts take.
pub(crate) fn text_width(text: &str, size: f64, bold: bool) -> f64 {
    let set = Type {
        bold,
        ..Type::new(size)
    };
    set.plotters()
        .font
        .box_size(&printable(text))
        // Without a font only the number of characters is known; 0.7 em is a wide letter.
        .map_or(text.chars().count() as f64 * size * 0.7, |(w, _)| {
            f64::from(w)
        })
}

/// The text, shortened with an ellipsis if it is wider than `room` units.
pub(crate) fn fit(text: &str, size: f64, bold: bool, room: f64) -> String {
    if text_width(text, size, bold) <= room {
        return text.to_string();
    }
    let letters: Vec<char> = text.chars().collect();
    for keep in (1..letters.len()).rev() {
        let short: String = letters[..keep]
            .iter()
            .collect::<String>()
            .trim_end()
            .to_string()
            + "…";
        if text_width(&short, size, bold) <= room {
            return short;
        }
    }
    "…".to_string()
}

/// The text without characters that XML 1.0 forbids.
pub(crate) fn printable(text: &str) -> String {
    text.chars()
        .map(|c| match c {
            '\t' | '\n' | '\r' => ' ',
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => '\u{fffd}',
            c => c,
        })
        .collect()
}

fn register_fonts() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // A refusal leaves texts unmeasured, for which `text_width` has an estimate.
        let _ = plotters::style::register_font(FAMILY, FontStyle::Normal, dejavu::sans::regular());
        let _ = plotters::style::register_font(FAMILY, FontStyle::Bold, dejavu::sans::bold());
    });
}

fn unit(p: &(f64, f64)) -> (i32, i32) {
    (p.0.round() as i32, p.1.round() as i32)
}

fn fill((r, g, b): Rgb) -> ShapeStyle {
    RGBColor(r, g, b).filled()
}

fn stroke((r, g, b): Rgb, width: u32) -> ShapeStyle {
    RGBColor(r, g, b).stroke_width(width)
}
