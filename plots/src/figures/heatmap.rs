//! Burst × frequency as coloured cells with their numbers.

use super::layout;
use crate::PlotError;
use crate::axis::{Rect, plain};
use crate::canvas::{Canvas, Type, text_width};
use crate::figure::Figure;
use crate::style::{self, Rgb};

/// A table drawn as colours and numbers.
pub(crate) struct HeatMap {
    pub title: String,
    pub subtitle: String,
    pub row_label: String,
    pub column_label: String,
    pub rows: Vec<String>,
    pub columns: Vec<String>,
    /// `values[row][column]`.
    pub values: Vec<Vec<Option<f64>>>,
    pub colors: [Rgb; 5],
    /// Unit of the numbers, beside the colour bar.
    pub unit: String,
    pub decimals: usize,
}

/// Height of a cell where there are few rows, and where there are many.
const CELL_HEIGHTS: [f64; 2] = [108.0, 62.0];
/// Rows that count as few, at most.
const FEW_ROWS: usize = 8;

impl HeatMap {
    fn cell_height(&self) -> f64 {
        CELL_HEIGHTS[usize::from(self.rows.len() > FEW_ROWS)]
    }

    fn area(&self, top: f64) -> Rect {
        let names = widest(&self.rows);
        Rect {
            left: style::MARGIN + style::LABEL * 1.8 + names + 16.0,
            top,
            right: style::WIDTH - style::MARGIN - 190.0,
            bottom: top + self.rows.len() as f64 * self.cell_height(),
        }
    }

    /// Names of columns that do not fit side by side stand upright.
    fn names_stand(&self) -> bool {
        let wide = self.area(0.0).width() / self.columns.len().max(1) as f64;
        widest(&self.columns) > wide - 6.0
    }

    /// The size at which the numbers of all cells fit into cells of this width.
    fn text_size(&self, wide: f64) -> f64 {
        let fits = |size: &f64| {
            let mut numbers = self.values.iter().flatten().flatten();
            let fits_cell =
                |v: &f64| text_width(&number(*v, self.decimals), *size, false) < wide - 6.0;
            *size < 0.55 * self.cell_height() && numbers.all(fits_cell)
        };
        let sizes = [32.0, 26.0, 22.0, 20.0, 18.0];
        sizes.into_iter().find(fits).unwrap_or(16.0)
    }

    /// Room below the cells: names, and the label of the columns.
    fn room_below(&self) -> f64 {
        if self.names_stand() {
            widest(&self.columns) + 90.0
        } else {
            120.0
        }
    }
}

fn widest(names: &[String]) -> f64 {
    let widths = names.iter().map(|n| text_width(n, style::TICK, false));
    widths.fold(0.0, f64::max)
}

pub(crate) fn heat_map(map: &HeatMap) -> Result<Figure, PlotError> {
    let known: Vec<f64> = map.values.iter().flatten().flatten().copied().collect();
    if known.is_empty() {
        return Err(PlotError::bad(&map.title, "no cell has a value"));
    }
    let low = known.iter().copied().fold(f64::INFINITY, f64::min);
    let high = known.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let width = style::WIDTH;
    let top = layout::header_height(&map.subtitle) + 24.0;
    let area = map.area(top);
    let height = area.bottom + map.room_below();
    Figure::draw(&map.title, width, height, |canvas| {
        layout::header(canvas, width, &map.title, &map.subtitle);
        draw_cells(canvas, map, area, low, high);
        draw_names(canvas, map, area);
        draw_bar(canvas, map, area, low, high);
    })
}

fn draw_cells(canvas: &mut Canvas<'_>, map: &HeatMap, area: Rect, low: f64, high: f64) {
    let wide = area.width() / map.columns.len().max(1) as f64;
    let tall = map.cell_height();
    let size = map.text_size(wide);
    for (r, row) in map.values.iter().enumerate() {
        for (c, value) in row.iter().enumerate() {
            let from = (
                area.left + c as f64 * wide + 2.0,
                area.top + r as f64 * tall + 2.0,
            );
            let to = (from.0 + wide - 4.0, from.1 + tall - 4.0);
            let middle = ((from.0 + to.0) / 2.0, (from.1 + to.1) / 2.0);
            let (color, text) = match value {
                Some(v) => {
                    let part = if high > low {
                        (v - low) / (high - low)
                    } else {
                        0.5
                    };
                    (style::ramp(&map.colors, part), number(*v, map.decimals))
                }
                None => (style::GRID, "–".to_string()),
            };
            canvas.rect(from, to, color);
            canvas.text(
                &text,
                middle,
                Type::new(size).color(style::text_on(color)).centered(),
            );
            let (row, column) = (&map.rows[r], &map.columns[c]);
            let says = format!(
                "{} {row}, {} {column}: {text} {}",
                map.row_label, map.column_label, map.unit
            );
            canvas.says(from, to, &says);
        }
    }
}

fn draw_names(canvas: &mut Canvas<'_>, map: &HeatMap, area: Rect) {
    let wide = area.width() / map.columns.len().max(1) as f64;
    for (r, name) in map.rows.iter().enumerate() {
        let y = area.top + (r as f64 + 0.5) * map.cell_height();
        canvas.text(name, (area.left - 14.0, y), Type::new(style::TICK).right());
    }
    for (c, name) in map.columns.iter().enumerate() {
        let x = area.left + (c as f64 + 0.5) * wide;
        let set = if map.names_stand() {
            Type::new(style::TICK).right().upwards()
        } else {
            Type::new(style::TICK).centered().top()
        };
        canvas.text(name, (x, area.bottom + 12.0), set);
    }
    let middle = (
        (area.left + area.right) / 2.0,
        (area.top + area.bottom) / 2.0,
    );
    canvas.text(
        &map.column_label,
        (middle.0, area.bottom + map.room_below() - 46.0),
        Type::new(style::LABEL).centered(),
    );
    canvas.text(
        &map.row_label,
        (style::MARGIN + style::LABEL * 0.5, middle.1),
        Type::new(style::LABEL).centered().upwards(),
    );
}

fn draw_bar(canvas: &mut Canvas<'_>, map: &HeatMap, area: Rect, low: f64, high: f64) {
    const STEPS: usize = 64;
    let left = area.right + 36.0;
    let tall = area.bottom - area.top - 4.0;
    for step in 0..STEPS {
        let part = (step as f64 + 0.5) / STEPS as f64;
        let bottom = area.bottom - 2.0 - step as f64 / STEPS as f64 * tall;
        let top = area.bottom - 2.0 - (step + 1) as f64 / STEPS as f64 * tall;
        canvas.rect(
            (left, top.floor()),
            (left + 30.0, bottom),
            style::ramp(&map.colors, part),
        );
    }
    let marks: &[f64] = if high > low { &[0.0, 0.5, 1.0] } else { &[0.5] };
    for &part in marks {
        let y = area.bottom - 2.0 - part * tall;
        // The end labels stay within the bar's height.
        let y = y.clamp(area.top + 12.0, area.bottom - 12.0);
        let text = number(low + part * (high - low), map.decimals);
        canvas.text(&text, (left + 40.0, y), Type::new(style::TICK));
    }
    canvas.text(
        &map.unit,
        (left + 138.0, (area.top + area.bottom) / 2.0),
        Type::new(style::LABEL).centered().upwards(),
    );
}

/// Fixed decimals; more of them where these would show a value as zero.
fn number(value: f64, decimals: usize) -> String {
    let fixed = format!("{value:.decimals$}");
    let shows_zero = fixed.chars().all(|c| matches!(c, '0' | '.' | '-'));
    if shows_zero { plain(value) } else { fixed }
}
