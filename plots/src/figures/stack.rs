//! Stacked bars: CPI stacks and other wholes made of parts.

use super::layout::{self, Entry, Swatch};
use crate::PlotError;
use crate::axis::{Axis, plain};
use crate::canvas::{Canvas, Type, fit, text_width};
use crate::figure::Figure;
use crate::style;

/// A bar and its parts: `(label, [(part, value)])`.
type Bar = (String, Vec<(String, f64)>);

/// A CPI stack for each bar: cycles per instruction by what they went to. A bar is a run or a
/// function, its parts must not be negative; equal part names get equal colours.
///
/// # Errors
/// The errors of [`stacked_bars`].
pub fn cpi_stack_figure(title: &str, bars: &[Bar]) -> Result<Figure, PlotError> {
    stacked_bars(title, "", "Cycles per instruction", bars)
}

/// Horizontal stacked bars, one below the other, with the sum at the end of each.
///
/// `value_label` names the values and their unit. Parts are stacked in the order in which they
/// first appear.
///
/// # Errors
/// [`PlotError::BadFigure`] if there is no bar, or a value is negative or not finite.
pub fn stacked_bars(
    title: &str,
    subtitle: &str,
    value_label: &str,
    bars: &[Bar],
) -> Result<Figure, PlotError> {
    if bars.iter().all(|(_, parts)| parts.is_empty()) {
        return Err(PlotError::bad(title, "there are no bars to draw"));
    }
    let mut names: Vec<&str> = Vec::new();
    for (label, parts) in bars {
        for (part, value) in parts {
            if !value.is_finite() || *value < 0.0 {
                let reason =
                    format!("part `{part}` of `{label}` is {value}; parts must be 0 or more");
                return Err(PlotError::bad(title, reason));
            }
            if !names.contains(&part.as_str()) {
                names.push(part);
            }
        }
    }
    let entries: Vec<Entry> = names
        .iter()
        .enumerate()
        .map(|(i, name)| Entry {
            label: (*name).to_string(),
            color: style::category(i),
            swatch: Swatch::Box,
        })
        .collect();
    let width = style::WIDTH;
    let row = if bars.len() > 12 { 44.0 } else { 64.0 };
    let top = layout::header_height(subtitle) + layout::legend_height(&entries, width) + 14.0;
    let height = top + bars.len() as f64 * row + 120.0;
    let sums: Vec<f64> = bars
        .iter()
        .map(|(_, p)| p.iter().map(|(_, v)| v).sum())
        .collect();
    let axis = Axis::numbers(value_label, &sums, true);
    Figure::draw(title, width, height, |canvas| {
        let used = layout::header(canvas, width, title, subtitle);
        layout::legend(canvas, &entries, width, used);
        draw_bars(canvas, bars, &sums, &names, &axis, (top, row, width));
    })
}

fn draw_bars(
    canvas: &mut Canvas<'_>,
    bars: &[Bar],
    sums: &[f64],
    names: &[&str],
    axis: &Axis,
    (top, row, width): (f64, f64, f64),
) {
    let widest = bars
        .iter()
        .map(|(l, _)| text_width(l, style::TICK, false))
        .fold(0.0, f64::max);
    let left = style::MARGIN + widest.min(width * 0.35) + 16.0;
    let right = width - style::MARGIN - 90.0;
    let bottom = top + bars.len() as f64 * row + 8.0;
    let x = |value: f64| left + axis.place(value) * (right - left);
    axis.draw_below(canvas, (left, right), (top, bottom));
    for (i, ((label, parts), sum)) in bars.iter().zip(sums).enumerate() {
        let y = top + (i as f64 + 0.5) * row;
        let (upper, lower) = (y - row * 0.36, y + row * 0.36);
        let name = fit(label, style::TICK, false, left - style::MARGIN - 16.0);
        canvas.text(&name, (left - 14.0, y), Type::new(style::TICK).right());
        let mut done = 0.0;
        for (part, value) in parts {
            let color = style::category(names.iter().position(|n| n == part).unwrap_or(0));
            let (from, to) = (x(done), x(done + value));
            done += value;
            if to - from < 0.5 {
                continue;
            }
            // A thin gap keeps neighbours apart where their colours are close.
            let gap = if to - from > 6.0 { 2.0 } else { 0.0 };
            canvas.rect((from, upper), (to - gap, lower), color);
            canvas.says(
                (from, upper),
                (to, lower),
                &format!("{label}, {part}: {}", plain(*value)),
            );
            // The only part is the sum, which stands at the bar's end.
            let text = format!("{value:.2}");
            if names.len() > 1 && text_width(&text, style::TICK * 0.9, false) + 10.0 < to - from {
                let set = Type::new(style::TICK * 0.9)
                    .color(style::text_on(color))
                    .centered();
                canvas.text(&text, ((from + to) / 2.0, y), set);
            }
        }
        let text = if *sum < 100.0 {
            format!("{sum:.3}")
        } else {
            plain(sum.round())
        };
        canvas.text(&text, (x(*sum) + 10.0, y), Type::new(style::TICK).bold());
    }
}
