//! Scales, ticks and the frame of a diagram.

use crate::canvas::{Canvas, Type, fit, text_width};
use crate::style;

/// How values become positions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Scale {
    Linear,
    Log,
    /// Logarithmic away from zero, linear within about `threshold` of it, so that zeros and small
    /// negative values keep a place.
    SymLog {
        threshold: f64,
    },
}

impl Scale {
    fn of(self, value: f64) -> f64 {
        match self {
            Scale::Linear => value,
            Scale::Log => value.ln(),
            Scale::SymLog { threshold } => (value / threshold).asinh(),
        }
    }
}

/// An axis: what it measures, its range and where it is labelled.
#[derive(Clone, Debug)]
pub struct Axis {
    label: String,
    scale: Scale,
    low: f64,
    high: f64,
    ticks: Vec<(f64, String)>,
    grid: bool,
}

impl Axis {
    /// A linear axis over the values, its ends and ticks at round numbers; `zero` makes it start
    /// at 0 if no value is negative.
    #[must_use]
    pub fn numbers(label: &str, values: &[f64], zero: bool) -> Self {
        let (mut low, mut high) = range(values);
        if zero {
            low = low.min(0.0);
            high = high.max(0.0);
        }
        if high - low < f64::EPSILON * high.abs().max(1.0) {
            (low, high) = if low == 0.0 {
                (0.0, 1.0)
            } else {
                (low - 0.5 * low.abs(), high + 0.5 * high.abs())
            };
        }
        let step = round_step((high - low) / 5.0);
        let end = (high / step - 1e-9).ceil() * step;
        let part = step / 4.0;
        if zero && low < 0.0 && -low < part && end > 0.0 {
            // A little below zero does not need a whole step.
            let mut axis = Self::linear(label, 0.0, end, step);
            axis.low = -part;
            return axis;
        }
        Self::linear(label, (low / step).floor() * step, end, step)
    }

    /// A logarithmic axis over positive values with a tick at each power of ten.
    #[must_use]
    pub fn log(label: &str, values: &[f64]) -> Self {
        let positive: Vec<f64> = values.iter().copied().filter(|v| *v > 0.0).collect();
        let (low, high) = range(&positive);
        let low = 10f64.powf(low.max(f64::MIN_POSITIVE).log10().floor());
        let mut high = 10f64.powf(high.max(f64::MIN_POSITIVE).log10().ceil());
        if high <= low {
            high = low * 10.0;
        }
        let mut ticks = Vec::new();
        let mut at = low;
        while at <= high * 1.0001 && ticks.len() < 40 {
            ticks.push((at, plain(at)));
            at *= 10.0;
        }
        Self {
            label: label.to_string(),
            scale: Scale::Log,
            low,
            high,
            ticks,
            grid: true,
        }
    }

    /// Accuracies in percent. With `bars` it starts at zero; lines that all lie high get a closer
    /// look.
    pub(crate) fn accuracy(label: &str, values: &[f64], bars: bool) -> Self {
        let (low, high) = range(values);
        // Round twenties leave some air below the lowest point.
        let low = if bars || low < 40.0 {
            0.0
        } else {
            ((low.min(100.0) - 5.0) / 20.0).floor() * 20.0
        };
        let high = [5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 80.0, 100.0]
            .into_iter()
            .find(|&top| high <= top)
            .unwrap_or(100.0);
        Self::linear(label, low, high, round_step((high - low) / 5.0))
    }

    /// Overheads in percent, for lines: linear, or logarithmic where they span more than a factor
    /// of 20. A logarithmic axis keeps a place for zeros and negative values if there are any.
    pub(crate) fn overhead(label: &str, values: &[f64]) -> Self {
        let (low, high) = range(values);
        let sizes = || values.iter().map(|v| v.abs()).filter(|v| *v >= 0.0005);
        let small = sizes().fold(f64::INFINITY, f64::min);
        let large = sizes().fold(0.0, f64::max);
        if large <= small * 20.0 {
            return Self::numbers(label, values, true);
        }
        let decade = 10f64.powf(small.log10().floor());
        let scale = if low > 0.0 && low >= decade {
            Scale::Log
        } else {
            Scale::SymLog { threshold: decade }
        };
        let steps = one_two_five(decade, large);
        let mut marks: Vec<f64> = steps.iter().map(|&(m, _)| m).collect();
        if scale != Scale::Log {
            marks.extend(steps.iter().map(|(m, _)| -m));
            marks.push(0.0);
            marks.sort_by(f64::total_cmp);
        }
        let top = marks.iter().copied().find(|&m| m >= high).unwrap_or(high);
        let floor = if scale == Scale::Log {
            low
        } else {
            low.min(0.0)
        };
        let bottom = marks
            .iter()
            .copied()
            .rev()
            .find(|&m| m <= floor)
            .unwrap_or(floor);
        // The steps between powers of ten would crowd a long axis.
        let labelled = |m: f64| m == 0.0 || steps.iter().any(|&(s, whole)| whole && s == m.abs());
        let ticks = (marks.iter())
            .filter(|&&m| m >= bottom && m <= top && labelled(m))
            .map(|&m| (m, plain(m)))
            .collect();
        let how = match scale {
            Scale::SymLog { .. } => format!("log scale from {} on, linear below", plain(decade)),
            _ => "log scale".to_string(),
        };
        Self {
            label: format!("{label}, {how}"),
            scale,
            low: bottom,
            high: top,
            ticks,
            grid: true,
        }
    }

    /// Sampling frequencies, highest first: `1/100` on the left, `1/10000` on the right.
    pub(crate) fn frequency(one_in: &[u64]) -> Self {
        let values: Vec<f64> = one_in.iter().map(|&n| n.max(1) as f64).collect();
        let (low, high) = range(&values);
        let ticks = one_in
            .iter()
            .map(|&n| (n.max(1) as f64, frequency(n)))
            .collect();
        // Some air at both ends; the same factor makes it equal on a logarithmic scale.
        let air = (high / low).powf(0.05).max(1.15);
        Self {
            label: "Sampling frequency".to_string(),
            scale: Scale::Log,
            low: low / air,
            high: high * air,
            ticks,
            grid: true,
        }
    }

    /// Groups side by side: group `i` lies between `i` and `i + 1`.
    pub(crate) fn groups(label: &str, names: &[String]) -> Self {
        let ticks = names
            .iter()
            .enumerate()
            .map(|(i, n)| (i as f64 + 0.5, n.clone()))
            .collect();
        Self {
            label: label.to_string(),
            scale: Scale::Linear,
            low: 0.0,
            high: names.len().max(1) as f64,
            ticks,
            grid: false,
        }
    }

    fn linear(label: &str, low: f64, high: f64, step: f64) -> Self {
        let decimals = (-step.log10().floor()).max(0.0) as usize;
        // A step such as 2.5 needs one digit more than its size says.
        let decimals =
            decimals + usize::from((step * 10f64.powi(decimals as i32)).fract().abs() > 1e-6);
        let count = ((high - low) / step).round() as i64;
        let ticks = (0..=count.clamp(1, 60))
            .map(|i| low + i as f64 * step)
            .map(|v| {
                (
                    v,
                    format!("{:.decimals$}", if v.abs() < step * 1e-9 { 0.0 } else { v }),
                )
            })
            .collect();
        Self {
            label: label.to_string(),
            scale: Scale::Linear,
            low,
            high,
            ticks,
            grid: true,
        }
    }

    /// Where the value lies between the axis' ends, `0..=1` for values in range.
    pub(crate) fn place(&self, value: f64) -> f64 {
        // A logarithmic axis has no place for zero: what lies below its range lies at its end.
        let value = match self.scale {
            Scale::Log if value < self.low => self.low,
            _ => value,
        };
        let (a, b) = (self.scale.of(self.low), self.scale.of(self.high));
        (self.scale.of(value) - a) / (b - a)
    }

    /// Draws the axis horizontally below `top..bottom`, with grid lines, from `left` to `right`.
    pub(crate) fn draw_below(
        &self,
        canvas: &mut Canvas<'_>,
        (left, right): (f64, f64),
        (top, bottom): (f64, f64),
    ) {
        for (value, text) in &self.ticks {
            let x = left + self.place(*value) * (right - left);
            let color = if *value == 0.0 {
                style::INK
            } else {
                style::GRID
            };
            canvas.line((x, top), (x, bottom), color, 2);
            canvas.text(
                text,
                (x, bottom + 10.0),
                Type::new(style::TICK).centered().top(),
            );
        }
        let at = ((left + right) / 2.0, bottom + 72.0);
        canvas.text(&self.label, at, Type::new(style::LABEL).centered());
    }

    fn tick_width(&self) -> f64 {
        self.ticks
            .iter()
            .map(|(_, t)| text_width(t, style::TICK, false))
            .fold(0.0, f64::max)
    }
}

/// `1/100` for one in a hundred.
pub(crate) fn frequency(one_in: u64) -> String {
    format!("1/{one_in}")
}

/// A number without trailing zeros and without an exponent where it is of readable size.
pub(crate) fn plain(value: f64) -> String {
    if value != 0.0 && !(1e-4..1e7).contains(&value.abs()) {
        return format!("{value:.0e}");
    }
    let text = format!("{value:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}

/// 1, 2 and 5 times each power of ten from `decade` to beyond `large`, and whether it is a power.
fn one_two_five(decade: f64, large: f64) -> Vec<(f64, bool)> {
    let mut steps = Vec::new();
    let mut at = decade;
    while at <= large * 10.0 && steps.len() < 60 {
        steps.extend([(at, true), (2.0 * at, false), (5.0 * at, false)]);
        at *= 10.0;
    }
    steps
}

/// Smallest of 1, 2, 2.5, 5 × 10ⁿ that is at least `raw`.
fn round_step(raw: f64) -> f64 {
    let size = 10f64.powf(raw.max(1e-12).log10().floor());
    [1.0, 2.0, 2.5, 5.0, 10.0]
        .into_iter()
        .map(|m| m * size)
        .find(|&step| step >= raw * 0.999_999)
        .unwrap_or(10.0 * size)
}

fn range(values: &[f64]) -> (f64, f64) {
    let finite = || values.iter().copied().filter(|v| v.is_finite());
    let low = finite().fold(f64::INFINITY, f64::min);
    if low.is_infinite() {
        return (0.0, 1.0);
    }
    (low, finite().fold(f64::NEG_INFINITY, f64::max))
}

/// A rectangle in units.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rect {
    pub left: f64,
    pub top: f64,
    pub right: f64,
    pub bottom: f64,
}

impl Rect {
    pub(crate) fn width(&self) -> f64 {
        self.right - self.left
    }
}

/// Smallest size of tick labels, of the usual one.
const SMALLEST: f64 = 0.8;
/// Room between neighbouring tick labels.
const TICK_GAP: f64 = 6.0;

/// The plotting area of a diagram whose axes have been drawn.
pub(crate) struct Frame {
    pub area: Rect,
    x: Axis,
    y: Axis,
}

impl Frame {
    /// The values of a point in words, with the labels of the axes.
    pub(crate) fn words(&self, x: f64, y: f64) -> String {
        let of = |axis: &Axis, value: f64| {
            // An axis of names or frequencies has its own words for a place.
            let named = axis.ticks.iter().find(|(at, _)| *at == value);
            let value = named.map_or_else(|| plain(value), |(_, name)| name.clone());
            match axis.label.is_empty() {
                true => value,
                false => format!("{} {value}", axis.label),
            }
        };
        format!("{}; {}", of(&self.y, y), of(&self.x, x))
    }

    /// Draws the axes into `outer` and returns what is left for the data.
    pub(crate) fn draw(
        canvas: &mut Canvas<'_>,
        outer: Rect,
        title: &str,
        x: &Axis,
        y: &Axis,
    ) -> Self {
        let title_height = if title.is_empty() {
            style::TICK * 0.6
        } else {
            style::LABEL * 1.9
        };
        let left = outer.left + style::LABEL * 1.5 + y.tick_width() + 16.0;
        let slot = (outer.right - 12.0 - left) / x.ticks.len().max(1) as f64;
        // Names of groups that do not fit side by side stand upright.
        let upright = !x.grid && x.tick_width() > slot - 8.0;
        let names = if upright {
            x.tick_width().min(230.0)
        } else {
            style::TICK
        };
        let label = if x.label.is_empty() {
            0.0
        } else {
            style::LABEL * 1.6
        };
        let area = Rect {
            left,
            top: outer.top + title_height,
            right: outer.right - 12.0,
            bottom: outer.bottom - names - 18.0 - label,
        };
        let frame = Self {
            area,
            x: x.clone(),
            y: y.clone(),
        };
        if !title.is_empty() {
            let room = area.width();
            let text = fit(title, style::LABEL, true, room);
            canvas.text(
                &text,
                (area.left, outer.top + style::LABEL * 0.8),
                Type::new(style::LABEL).bold(),
            );
        }
        frame.draw_y(canvas, outer);
        frame.draw_x(canvas, outer, upright, names);
        frame
    }

    /// The place of a point.
    pub(crate) fn at(&self, x: f64, y: f64) -> (f64, f64) {
        (
            self.area.left + self.x.place(x) * self.area.width(),
            self.area.bottom - self.y.place(y) * (self.area.bottom - self.area.top),
        )
    }

    /// The largest size at which the labels below the axis do not touch, down to the smallest.
    fn x_tick_size(&self) -> f64 {
        let fits = |size: f64| {
            let spans: Vec<(f64, f64)> = (self.x.ticks.iter())
                .map(|(v, t)| (self.at(*v, self.y.low).0, text_width(t, size, false) / 2.0))
                .collect();
            spans
                .windows(2)
                .all(|w| w[0].0 + w[0].1 + TICK_GAP < w[1].0 - w[1].1)
        };
        let shrunk = [1.0, 0.95, 0.9, 0.85]
            .into_iter()
            .map(|part| part * style::TICK);
        shrunk
            .into_iter()
            .find(|&size| fits(size))
            .unwrap_or(SMALLEST * style::TICK)
    }

    fn draw_y(&self, canvas: &mut Canvas<'_>, outer: Rect) {
        let a = self.area;
        let mut free_below = f64::INFINITY;
        for (value, text) in &self.y.ticks {
            let y = self.at(self.x.low, *value).1;
            let strong = *value == 0.0 || *value == self.y.low;
            canvas.line(
                (a.left, y),
                (a.right, y),
                if strong { style::FAINT } else { style::GRID },
                2,
            );
            if y < free_below {
                canvas.text(text, (a.left - 12.0, y), Type::new(style::TICK).right());
                free_below = y - style::TICK * 1.1;
            }
        }
        let middle = (a.top + a.bottom) / 2.0;
        let label = fit(&self.y.label, style::LABEL, false, a.bottom - a.top + 60.0);
        canvas.text(
            &label,
            (outer.left + style::LABEL * 0.5, middle),
            Type::new(style::LABEL).centered().upwards(),
        );
    }

    fn draw_x(&self, canvas: &mut Canvas<'_>, outer: Rect, upright: bool, names: f64) {
        let a = self.area;
        canvas.line((a.left, a.bottom), (a.right, a.bottom), style::INK, 2);
        let size = if upright {
            style::TICK
        } else {
            self.x_tick_size()
        };
        let mut used_to = f64::NEG_INFINITY;
        for (value, text) in &self.x.ticks {
            let x = self.at(*value, self.y.low).0;
            if self.x.grid {
                canvas.line((x, a.top), (x, a.bottom), style::GRID, 2);
                canvas.line((x, a.bottom), (x, a.bottom + 8.0), style::INK, 2);
            }
            if upright {
                let text = fit(text, size, false, names);
                canvas.text(
                    &text,
                    (x, a.bottom + 14.0),
                    Type::new(size).right().upwards(),
                );
                continue;
            }
            let half = text_width(text, size, false) / 2.0;
            if x - half > used_to + TICK_GAP {
                canvas.text(text, (x, a.bottom + 14.0), Type::new(size).centered().top());
                used_to = x + half;
            }
        }
        if !self.x.label.is_empty() {
            let at = ((a.left + a.right) / 2.0, outer.bottom - style::LABEL * 0.6);
            canvas.text(&self.x.label, at, Type::new(style::LABEL).centered());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_steps() {
        for (raw, step) in [
            (0.9, 1.0),
            (1.0, 1.0),
            (1.1, 2.0),
            (2.2, 2.5),
            (0.03, 0.05),
            (70.0, 100.0),
        ] {
            assert!(
                (round_step(raw) - step).abs() < 1e-9,
                "{raw}: {}",
                round_step(raw)
            );
        }
    }

    #[test]
    fn linear_axis_covers_its_values_with_few_round_ticks() {
        let axis = Axis::numbers("v", &[-0.3, 1.0, 4.2], true);
        assert!(axis.low <= -0.3 && axis.high >= 4.2);
        let labels: Vec<_> = axis.ticks.iter().map(|(_, l)| l.as_str()).collect();
        assert_eq!(labels, ["-1", "0", "1", "2", "3", "4", "5"]);
        assert!((axis.place(axis.high) - 1.0).abs() < 1e-12 && axis.place(axis.low).abs() < 1e-12);
    }

    #[test]
    fn a_little_below_zero_takes_little_room() {
        let axis = Axis::numbers("v", &[-0.1, 4.2], true);
        assert_eq!((axis.low, axis.high), (-0.25, 5.0));
        let labels: Vec<_> = axis.ticks.iter().map(|(_, l)| l.as_str()).collect();
        assert_eq!(labels, ["0", "1", "2", "3", "4", "5"]);
        assert!(axis.place(0.0) > 0.0 && axis.place(-0.1) > 0.0);
    }

    #[test]
    fn wide_overheads_are_logarithmic_and_keep_zero_and_negatives() {
        let axis = Axis::overhead("o", &[0.0, -0.02, 0.01, 2.4]);
        assert_eq!(axis.scale, Scale::SymLog { threshold: 0.01 });
        assert_eq!(axis.label, "o, log scale from 0.01 on, linear below");
        assert!(axis.low <= -0.02 && axis.high >= 2.4, "{axis:?}");
        let places: Vec<f64> = [-0.02, 0.0, 0.01, 0.1, 2.4]
            .iter()
            .map(|&v| axis.place(v))
            .collect();
        assert!(places.windows(2).all(|w| w[0] < w[1]) && places[0] >= 0.0 && places[4] <= 1.0);
        assert_eq!(Axis::overhead("o", &[0.5, 1.0]).scale, Scale::Linear);
        let positive = Axis::overhead("o", &[0.014, 0.9]);
        assert_eq!(
            (positive.scale, positive.low, positive.high),
            (Scale::Log, 0.01, 1.0)
        );
        assert_eq!((positive.place(0.0), positive.place(0.01)), (0.0, 0.0));
    }

    #[test]
    fn equal_values_and_no_values_still_make_an_axis() {
        for values in [&[][..], &[0.0, 0.0], &[7.0], &[f64::NAN]] {
            let axis = Axis::numbers("v", values, true);
            assert!(axis.high > axis.low && axis.ticks.len() > 1, "{axis:?}");
        }
    }

    #[test]
    fn frequencies_run_from_often_to_seldom() {
        let axis = Axis::frequency(&[100, 500, 1000, 5000, 10_000]);
        assert_eq!(axis.ticks[0].1, "1/100");
        assert!(axis.place(100.0) < axis.place(10_000.0));
    }
}
