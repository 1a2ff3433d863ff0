//! A drawing as pixels: what a [`Canvas`](crate::canvas::Canvas) has drawn, painted once more with anti-aliasing.

use std::sync::OnceLock;

use ab_glyph::{Font, FontRef, OutlineCurve, Point};
use plotters::style::text_anchor::{HPos, VPos};
use tiny_skia::{FillRule, Paint, Path, PathBuilder, Pixmap, Stroke, Transform};

use crate::canvas::Type;
use crate::style::Rgb;

/// Something that has been drawn. Places and lengths are units, of which each becomes a pixel.
#[derive(Clone)]
pub(crate) enum Mark {
    /// A line through points.
    Line {
        points: Vec<(i32, i32)>,
        width: u32,
        color: Rgb,
    },
    /// A filled polygon.
    Area {
        corners: Vec<(i32, i32)>,
        color: Rgb,
    },
    /// A filled circle.
    Disc {
        center: (i32, i32),
        radius: u32,
        color: Rgb,
    },
    /// A text at its anchor.
    Text {
        text: String,
        at: (i32, i32),
        set: Type,
    },
}

/// Paints marks onto a sheet of `width` × `height` pixels. `None` if a bitmap cannot be as large.
pub(crate) fn paint(marks: &[Mark], width: u32, height: u32) -> Option<Pixmap> {
    let mut sheet = Pixmap::new(width, height)?;
    for mark in marks {
        match mark {
            Mark::Line {
                points,
                width,
                color,
            } => {
                let stroke = Stroke {
                    width: *width as f32,
                    ..Stroke::default()
                };
                if let Some(path) = polygon(points, false) {
                    let way = Transform::identity();
                    sheet.stroke_path(&path, &solid(*color), &stroke, way, None);
                }
            }
            Mark::Area { corners, color } => {
                let area = polygon(corners, true);
                fill(&mut sheet, area, *color, Transform::identity());
            }
            Mark::Disc {
                center: (x, y),
                radius,
                color,
            } => {
                let disc = PathBuilder::from_circle(*x as f32, *y as f32, *radius as f32);
                fill(&mut sheet, disc, *color, Transform::identity());
            }
            Mark::Text { text, at, set } => write(&mut sheet, text, *at, *set),
        }
    }
    Some(sheet)
}

fn solid((r, g, b): Rgb) -> Paint<'static> {
    let mut paint = Paint {
        anti_alias: true,
        ..Paint::default()
    };
    paint.set_color_rgba8(r, g, b, u8::MAX);
    paint
}

fn fill(sheet: &mut Pixmap, path: Option<Path>, color: Rgb, transform: Transform) {
    if let Some(path) = path {
        sheet.fill_path(&path, &solid(color), FillRule::Winding, transform, None);
    }
}

/// `None` if nothing lies between the points.
fn polygon(points: &[(i32, i32)], closed: bool) -> Option<Path> {
    let mut path = PathBuilder::new();
    for (at, (x, y)) in points.iter().enumerate() {
        let (x, y) = (*x as f32, *y as f32);
        match at {
            0 => path.move_to(x, y),
            _ => path.line_to(x, y),
        }
    }
    if closed {
        path.close();
    }
    path.finish()
}

/// Writes a text as an SVG viewer would: blanks count once, and the anchor lies as plotters says.
fn write(sheet: &mut Pixmap, text: &str, (x, y): (i32, i32), set: Type) {
    let (x, y, size) = (x as f32, y as f32, set.size as f32);
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let line = Line::of(&text, set.bold, size);
    let left = match set.h {
        HPos::Left => 0.0,
        HPos::Center => line.width / 2.0,
        HPos::Right => line.width,
    };
    // Offsets that plotters writes as `dy`: 0.76 em, and half of an ex, which is half of an em.
    let baseline = match set.v {
        VPos::Top => 0.76 * size,
        VPos::Center => 0.25 * size,
        VPos::Bottom => -0.25 * size,
    };
    let mut transform = Transform::from_translate(x - left, y + baseline);
    if set.upwards {
        transform = transform.post_concat(Transform::from_rotate_at(-90.0, x, y));
    }
    fill(sheet, line.outline, set.color, transform);
}

/// A line of text that begins at the origin.
struct Line {
    outline: Option<Path>,
    width: f32,
}

impl Line {
    fn of(text: &str, bold: bool, size: f32) -> Line {
        let mut outline = PathBuilder::new();
        let mut width = 0.0;
        if let Some(font) = font(bold) {
            let scale = size / font.units_per_em().unwrap_or(1.0);
            let mut before = None;
            for glyph in text.chars().map(|c| font.glyph_id(c)) {
                let kern = before.map_or(0.0, |before| font.kern_unscaled(before, glyph));
                width += kern * scale;
                for curve in font.outline(glyph).into_iter().flat_map(|o| o.curves) {
                    draw(&mut outline, &curve, |p| {
                        (p.x.mul_add(scale, width), -p.y * scale)
                    });
                }
                width += font.h_advance_unscaled(glyph) * scale;
                before = Some(glyph);
            }
        }
        Line {
            outline: outline.finish(),
            width,
        }
    }
}

/// Adds a part of a glyph's outline. Parts follow each other; a contour that ends where it began is closed.
fn draw(path: &mut PathBuilder, curve: &OutlineCurve, place: impl Fn(Point) -> (f32, f32)) {
    let (OutlineCurve::Line(first, _)
    | OutlineCurve::Quad(first, ..)
    | OutlineCurve::Cubic(first, ..)) = *curve;
    let (x, y) = place(first);
    if path
        .last_point()
        .is_none_or(|last| (last.x, last.y) != (x, y))
    {
        path.move_to(x, y);
    }
    match *curve {
        OutlineCurve::Line(_, to) => {
            let (x, y) = place(to);
            path.line_to(x, y);
        }
        OutlineCurve::Quad(_, by, to) => {
            let ((bx, by), (x, y)) = (place(by), place(to));
            path.quad_to(bx, by, x, y);
        }
        OutlineCurve::Cubic(_, by, and, to) => {
            let ((bx, by), (ax, ay), (x, y)) = (place(by), place(and), place(to));
            path.cubic_to(bx, by, ax, ay, x, y);
        }
    }
}

/// The embedded fonts alone: pictures do not depend on what is installed.
fn font(bold: bool) -> Option<&'static FontRef<'static>> {
    static FONTS: OnceLock<[Option<FontRef<'static>>; 2]> = OnceLock::new();
    let fonts = FONTS.get_or_init(|| {
        let both = [dejavu::sans::regular(), dejavu::sans::bold()];
        both.map(|data| FontRef::try_from_slice(data).ok())
    });
    fonts[usize::from(bold)].as_ref()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The least and the greatest column and row that hold another color than white.
    fn extent(sheet: &Pixmap) -> Option<[u32; 4]> {
        let dark = |at: &(u32, u32)| {
            let pixel = sheet.pixel(at.0, at.1);
            pixel.is_some_and(|p| p.alpha() > 0)
        };
        let all = (0..sheet.width()).flat_map(|x| (0..sheet.height()).map(move |y| (x, y)));
        all.filter(dark).fold(None, |extent, (x, y)| {
            let [left, top, right, bottom] = extent.unwrap_or([x, y, x, y]);
            Some([left.min(x), top.min(y), right.max(x), bottom.max(y)])
        })
    }

    fn text(text: &str, set: Type) -> Option<[u32; 4]> {
        let text = text.to_string();
        let mark = Mark::Text {
            text,
            at: (100, 100),
            set,
        };
        extent(&paint(&[mark], 200, 200).unwrap())
    }

    #[test]
    fn marks_lie_where_they_were_drawn() {
        let color = (0, 0, 0);
        let line = Mark::Line {
            points: vec![(10, 20), (50, 20)],
            width: 2,
            color,
        };
        let drawn = |mark| extent(&paint(&[mark], 100, 100).unwrap());
        assert_eq!(drawn(line), Some([10, 19, 49, 20]));
        let corners = vec![(10, 10), (30, 10), (30, 40), (10, 40)];
        assert_eq!(drawn(Mark::Area { corners, color }), Some([10, 10, 29, 39]));
        let disc = Mark::Disc {
            center: (50, 50),
            radius: 5,
            color,
        };
        assert_eq!(drawn(disc), Some([45, 45, 54, 54]));
        let nothing = Mark::Line {
            points: vec![(10, 20)],
            width: 2,
            color,
        };
        assert_eq!(drawn(nothing), None);
    }

    #[test]
    fn texts_lie_at_their_anchors() {
        let set = Type::new(20.0);
        let [left, top, right, bottom] = text("HHHH", set).unwrap();
        assert!((100..104).contains(&left), "{left}");
        // A capital is 0.73 em high, and the baseline a quarter of an em below the anchor.
        assert!(bottom == 104 && (89..92).contains(&top), "{top} {bottom}");
        let width = right - left;
        assert!((55..62).contains(&width), "{width}");
        let [_, _, right, _] = text("HHHH", set.right()).unwrap();
        assert!((96..100).contains(&right), "{right}");
        let [left, _, right, _] = text("HHHH", set.centered()).unwrap();
        assert!((left + right).abs_diff(200) <= 2, "{left} {right}");
        let [left, top, right, bottom] = text("HHHH", set.upwards()).unwrap();
        assert!(bottom - top == width && bottom < 100, "{top} {bottom}");
        assert!(right == 104 && left < 100, "{left} {right}");
        assert_eq!(text("", set), None);
        assert_eq!(text(" a  b ", set), text("a b", set));
        assert_ne!(text("HHHH", set), text("HHHH", set.bold()));
    }
}
