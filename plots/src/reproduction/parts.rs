//! Parts that several reports of studies are made of.

use crate::PlotError;
use crate::axis::Axis;
use crate::figure::Figure;
use crate::figures::{LineChart, Panel, Series, lines};

/// A diagram of lines over a logarithmic axis, if there are points.
pub(crate) fn diagram(
    (title, subtitle): (&str, &str),
    x: &str,
    y: &str,
    series: Vec<Series>,
) -> Result<Option<Figure>, PlotError> {
    drawn((title, subtitle), y, series, |xs| Axis::log(x, xs))
}

/// A diagram of lines over a linear axis, if there are points.
pub(crate) fn linear_diagram(
    (title, subtitle): (&str, &str),
    x: &str,
    y: &str,
    series: Vec<Series>,
) -> Result<Option<Figure>, PlotError> {
    drawn((title, subtitle), y, series, |xs| {
        Axis::numbers(x, xs, true)
    })
}

fn drawn(
    (title, subtitle): (&str, &str),
    y: &str,
    mut series: Vec<Series>,
    axis: impl Fn(&[f64]) -> Axis,
) -> Result<Option<Figure>, PlotError> {
    series.retain(|s| !s.points.is_empty());
    let points = || series.iter().flat_map(|s| &s.points);
    let (xs, ys): (Vec<f64>, Vec<f64>) = points().copied().unzip();
    if xs.is_empty() {
        return Ok(None);
    }
    let figure = lines(&LineChart {
        title: title.to_string(),
        subtitle: subtitle.to_string(),
        panels: vec![Panel {
            title: String::new(),
            x: axis(&xs),
            y: Axis::numbers(y, &ys, true),
            series,
        }],
    })?;
    Ok(Some(figure))
}

/// "one program", "mean over 10 programs".
pub(crate) fn over(programs: usize) -> String {
    match programs {
        1 => "one program".to_string(),
        _ => format!("mean over {programs} programs"),
    }
}

/// A number with so many digits, or a dash.
pub(crate) fn cell(value: Option<f64>, digits: usize) -> String {
    value.map_or_else(|| "–".to_string(), |v| format!("{v:.digits$}"))
}
