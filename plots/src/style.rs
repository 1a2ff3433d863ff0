//! Colours, markers and sizes that all figures share.
//!
//! Figures are drawn in units of half a CSS pixel: plotters places everything on whole units, and
//! with two of them to a pixel the rounding cannot be seen.

/// Red, green and blue.
pub(crate) type Rgb = (u8, u8, u8);

/// Units of a drawing to one CSS pixel of the SVG.
pub(crate) const UNITS_PER_PIXEL: u32 = 2;

/// Ordinary text and axes.
pub(crate) const INK: Rgb = (0x22, 0x26, 0x2b);
/// Subtitles and notes.
pub(crate) const MUTED: Rgb = (0x5a, 0x63, 0x6d);
/// Grid lines.
pub(crate) const GRID: Rgb = (0xe3, 0xe7, 0xeb);
/// Lines that stay in the background.
pub(crate) const FAINT: Rgb = (0xa9, 0xb2, 0xbb);
/// The paper.
pub(crate) const PAPER: Rgb = (0xff, 0xff, 0xff);

/// Font size of titles.
pub(crate) const TITLE: f64 = 34.0;
/// Font size of subtitles.
pub(crate) const SUBTITLE: f64 = 24.0;
/// Font size of axis labels and legends.
pub(crate) const LABEL: f64 = 25.0;
/// Font size of tick labels.
pub(crate) const TICK: f64 = 23.0;
/// Margin around a figure.
pub(crate) const MARGIN: f64 = 30.0;
/// Usual width of a figure.
pub(crate) const WIDTH: f64 = 1440.0;

/// Categories (bursts, parts of a stack): the colours of Okabe and Ito first, then ones of Paul Tol
/// that stay apart from them in the common kinds of colour blindness.
const CATEGORIES: [Rgb; 12] = [
    (0x00, 0x72, 0xb2),
    (0xd5, 0x5e, 0x00),
    (0x00, 0x9e, 0x73),
    (0xcc, 0x79, 0xa7),
    (0xe6, 0x9f, 0x00),
    (0x56, 0xb4, 0xe9),
    (0x33, 0x22, 0x88),
    (0xf0, 0xe4, 0x42),
    (0x88, 0x22, 0x55),
    (0x99, 0x99, 0x33),
    (0x88, 0x88, 0x88),
    (0x11, 0x11, 0x11),
];

/// Light to dark blue.
pub(crate) const BLUES: [Rgb; 5] = [
    (0xf4, 0xf8, 0xfc),
    (0xc6, 0xdb, 0xef),
    (0x6b, 0xae, 0xd6),
    (0x21, 0x71, 0xb5),
    (0x08, 0x30, 0x6b),
];
/// Light to dark orange.
pub(crate) const ORANGES: [Rgb; 5] = [
    (0xff, 0xf7, 0xee),
    (0xfd, 0xd0, 0xa2),
    (0xfd, 0x8d, 0x3c),
    (0xd9, 0x48, 0x01),
    (0x7f, 0x27, 0x04),
];
/// Purple through teal to yellow (viridis), for ordered categories.
const ORDERED: [Rgb; 5] = [
    (0x44, 0x01, 0x54),
    (0x3b, 0x52, 0x8b),
    (0x21, 0x91, 0x8c),
    (0x5e, 0xc9, 0x62),
    (0xfd, 0xd0, 0x25),
];

/// Shape of a point; it goes with the colour so that neither has to be told apart alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Marker {
    Circle,
    Square,
    Triangle,
    Diamond,
    TriangleDown,
}

/// The colour of category `index`.
pub(crate) fn category(index: usize) -> Rgb {
    CATEGORIES[index % CATEGORIES.len()]
}

/// The marker of category `index`.
pub(crate) fn marker(index: usize) -> Marker {
    const ALL: [Marker; 5] = [
        Marker::Circle,
        Marker::Square,
        Marker::Triangle,
        Marker::Diamond,
        Marker::TriangleDown,
    ];
    ALL[index % ALL.len()]
}

/// The colour of step `index` of `count` ordered categories.
pub(crate) fn ordered(index: usize, count: usize) -> Rgb {
    let at = if count < 2 {
        0.0
    } else {
        index as f64 / (count - 1) as f64
    };
    ramp(&ORDERED, at)
}

/// The colour at `at` in `0..=1` of a ramp.
pub(crate) fn ramp(stops: &[Rgb; 5], at: f64) -> Rgb {
    let x = at.clamp(0.0, 1.0) * (stops.len() - 1) as f64;
    let low = (x.floor() as usize).min(stops.len() - 2);
    let part = x - low as f64;
    let mix = |a: u8, b: u8| (f64::from(a) + (f64::from(b) - f64::from(a)) * part).round() as u8;
    let (a, b) = (stops[low], stops[low + 1]);
    (mix(a.0, b.0), mix(a.1, b.1), mix(a.2, b.2))
}

/// Ink on a coloured ground: unlike [`INK`], which pages change in the dark, it stays.
const INK_ON_COLOR: Rgb = (0x21, 0x25, 0x2a);
/// Paper on a coloured ground, as white letters.
const PAPER_ON_COLOR: Rgb = (0xfe, 0xfe, 0xfe);

/// Ink or paper, whichever reads better on `ground`.
pub(crate) fn text_on(ground: Rgb) -> Rgb {
    let linear = |c: u8| (f64::from(c) / 255.0).powf(2.2);
    let luminance =
        0.2126 * linear(ground.0) + 0.7152 * linear(ground.1) + 0.0722 * linear(ground.2);
    if luminance > 0.25 {
        INK_ON_COLOR
    } else {
        PAPER_ON_COLOR
    }
}
