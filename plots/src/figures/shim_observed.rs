//! Pictures of one observation.

use serde_json::Value;

use super::shim::ShimFigure;
use super::shim_chart::{Curve, CurveChart, CurvePanel, Look, ShareChart, curves, shares};
use super::shim_data::{Points, distribution, list, number, text, xs};
use super::{shim_stacks, stacked_bars};
use crate::PlotError;
use crate::axis::Axis;

const TAGS: usize = 15;

/// All pictures of a result of `hps shim run` or `attach`.
pub(super) fn observed(result: &Value) -> Result<Vec<ShimFigure>, PlotError> {
    let mut all = vec![tags(result)?];
    if list(result, "threads").len() > 1 {
        all.push(threads(result)?);
    }
    if number(&result["stacks"], "sampled") > number(&result["stacks"], "lost") {
        let title = format!("Who calls whom in {}", program(result));
        all.push(shim_stacks::icicle(result, &title, &sampling(result))?);
    }
    let analysis = &result["analysis"];
    if analysis.is_null() {
        return Ok(all);
    }
    if number(&analysis["period"], "count") > 0.0 {
        all.push(periods(result)?);
        all.push(cycles_per_cycle(result)?);
    }
    for (i, rate) in list(analysis, "rates").iter().enumerate() {
        if number(&rate["before_dte"], "count") > number(&rate["before_dte"], "zeros") {
            all.push(rate_figure(result, rate, i)?);
        }
    }
    if !list(&analysis["timeline"], "windows").is_empty() {
        all.push(timeline(result)?);
    }
    Ok(all)
}

fn program(result: &Value) -> String {
    let words = list(result, "command").iter().filter_map(Value::as_str);
    let words: Vec<&str> = words.collect();
    let line = words.join(" ");
    if line.chars().count() > 60 {
        line.chars().take(59).chain(['…']).collect()
    } else {
        line
    }
}

fn sampling(result: &Value) -> String {
    let period = number(result, "mean_period_running_cycles");
    let account = &result["account"];
    format!(
        "{} samples, mean period {period:.0} cycles, {:.1}% kept",
        number(account, "sent"),
        100.0 * number(account, "kept") / number(account, "sent").max(1.0)
    )
}

fn tags(result: &Value) -> Result<ShimFigure, PlotError> {
    let rows = list(result, "tags");
    let mut bars: Vec<(String, Vec<(String, f64)>)> = rows
        .iter()
        .take(TAGS)
        .map(|row| {
            let share = vec![("share of samples".to_owned(), 100.0 * number(row, "share"))];
            (text(row, "name").to_owned(), share)
        })
        .collect();
    let rest: f64 = rows.iter().skip(TAGS).map(|row| number(row, "share")).sum();
    if rows.len() > TAGS {
        let name = format!("{} more", rows.len() - TAGS);
        bars.push((name, vec![("share of samples".to_owned(), 100.0 * rest)]));
    }
    let title = format!("Where {} was", program(result));
    let figure = stacked_bars(&title, &sampling(result), "Samples, %", &bars)?;
    Ok(ShimFigure::new("shim-tags", figure))
}

/// Bars of threads, their parts tags.
fn threads(result: &Value) -> Result<ShimFigure, PlotError> {
    // The tags with the most samples in all threads have parts of their own.
    const PARTS: usize = 8;
    let named: Vec<(&str, &str)> = list(result, "tags")
        .iter()
        .take(PARTS)
        .map(|row| (text(row, "tag"), text(row, "name")))
        .collect();
    let bar = |row: &Value| {
        let mut parts: Vec<(String, f64)> = Vec::new();
        let mut others = 100.0 * number(row, "share");
        for &(tag, name) in &named {
            let of = list(row, "tags").iter().find(|t| text(t, "tag") == tag);
            let points = of.map_or(0.0, |t| 100.0 * number(t, "share") * number(row, "share"));
            others -= points;
            parts.push((name.to_owned(), points));
        }
        parts.push(("all other tags".to_owned(), others.max(0.0)));
        (thread_label(row), parts)
    };
    let bars: Vec<_> = list(result, "threads").iter().take(TAGS).map(bar).collect();
    let title = format!("Threads of {}", program(result));
    let figure = stacked_bars(&title, &sampling(result), "Samples, %", &bars)?;
    Ok(ShimFigure::new("shim-threads", figure))
}

/// Label of a thread in pictures.
pub(super) fn thread_label(row: &Value) -> String {
    match (row["thread"].as_u64(), text(row, "name")) {
        (Some(thread), "") => format!("thread {thread}"),
        (Some(thread), name) => format!("{name} ({thread})"),
        (None, _) => "all other threads".to_owned(),
    }
}

/// A panel of distributions, the horizontal axis logarithmic.
fn panel(title: &str, x: &str, parts: Vec<(String, Points)>) -> CurvePanel {
    let all = || parts.iter().flat_map(|(_, points)| points);
    let horizontal: Vec<f64> = parts.iter().flat_map(|(_, points)| xs(points)).collect();
    let vertical: Vec<f64> = all().map(|p| p.1).collect();
    CurvePanel {
        title: title.to_owned(),
        x: Axis::log(&format!("{x}, log scale"), &horizontal),
        y: Axis::log("Share of intervals, %, log scale", &vertical),
        curves: parts
            .into_iter()
            .map(|(label, points)| Curve {
                label,
                look: Look::Thin,
                points,
            })
            .collect(),
    }
}

fn periods(result: &Value) -> Result<ShimFigure, PlotError> {
    let analysis = &result["analysis"];
    let parts = vec![
        ("period".to_owned(), distribution(&analysis["period"])),
        (
            "gap between kept samples".to_owned(),
            distribution(&analysis["gap"]),
        ),
    ];
    let figure = curves(&CurveChart {
        title: "Period and gap of kept samples (as SHIM's Figure 5)".to_owned(),
        subtitle: sampling(result),
        panels: vec![panel("", "Cycles of the time stamp counter", parts)],
    })?;
    Ok(ShimFigure::new("shim-periods", figure))
}

/// Before and after correction, for this and for the measurement of correction itself.
pub(super) fn correction(
    before: &Value,
    after: &Value,
    subtitle: String,
) -> Result<crate::figure::Figure, PlotError> {
    let both = [distribution(before), distribution(after)];
    let horizontal: Vec<f64> = both.iter().flat_map(|points| xs(points)).collect();
    let vertical: Vec<f64> = both.iter().flatten().map(|p| p.1).collect();
    let panels = both.into_iter().enumerate().map(|(i, points)| CurvePanel {
        title: ["All samples", "Samples kept"][i].to_owned(),
        x: Axis::log("Cycles per cycle, log scale", &horizontal),
        y: Axis::log("Share of intervals, %, log scale", &vertical),
        curves: vec![Curve {
            label: ["before correction", "after correction"][i].to_owned(),
            look: Look::Thin,
            points,
        }],
    });
    curves(&CurveChart {
        title: "Double-time error correction (as SHIM's Figure 4(a) and (b))".to_owned(),
        subtitle,
        panels: panels.collect(),
    })
}

fn cycles_per_cycle(result: &Value) -> Result<ShimFigure, PlotError> {
    let analysis = &result["analysis"];
    let figure = correction(
        &analysis["cpc_before"],
        &analysis["cpc_after"],
        sampling(result),
    )?;
    Ok(ShimFigure::new("shim-cpc", figure))
}

fn rate_figure(result: &Value, rate: &Value, index: usize) -> Result<ShimFigure, PlotError> {
    let name = text(rate, "name");
    let periods = list(rate, "periods").iter().filter_map(|at| {
        let points = distribution(&at["rates"]);
        let label = format!("every {:.0} cycles", number(at, "mean_cycles"));
        (!points.is_empty()).then_some((label, points))
    });
    let by_tag = list(rate, "by_tag");
    let name_of = |tag: u64| {
        let found = list(result, "tags")
            .iter()
            .find(|row| text(row, "tag") == format!("{tag:#x}"));
        found.map_or(format!("{tag:#x}"), |row| text(row, "name").to_owned())
    };
    let mut most: Vec<&Value> = by_tag.iter().collect();
    most.sort_by(|a, b| number(&b[1], "count").total_cmp(&number(&a[1], "count")));
    let tags = most.into_iter().take(4).filter_map(|pair| {
        let points = distribution(&pair[1]);
        (!points.is_empty()).then(|| (name_of(pair[0].as_u64().unwrap_or(0)), points))
    });
    let figure = curves(&CurveChart {
        title: format!("{name}: by period and by tag"),
        subtitle: sampling(result),
        panels: vec![
            panel(
                "The whole program (as SHIM's Figure 1(b))",
                name,
                periods.collect(),
            ),
            panel("By tag, each sample's own interval", name, tags.collect()),
        ],
    })?;
    Ok(ShimFigure::new(&format!("shim-rate-{index}"), figure))
}

fn timeline(result: &Value) -> Result<ShimFigure, PlotError> {
    let line = &result["analysis"]["timeline"];
    let rows = list(line, "rows");
    let name = |tag: &Value| {
        let wanted = format!("{:#x}", tag.as_u64().unwrap_or(0));
        let found = list(result, "tags")
            .iter()
            .find(|row| text(row, "tag") == wanted);
        found.map_or(wanted.clone(), |row| text(row, "name").to_owned())
    };
    let mut parts: Vec<String> = rows.iter().map(name).collect();
    let windows = list(line, "windows");
    let count = |window: &Value, i: usize| window["tags"][i].as_f64().unwrap_or(0.0);
    let last = windows
        .first()
        .map_or(0, |w| list(w, "tags").len().saturating_sub(1));
    let others = windows.iter().any(|w| count(w, last) > 0.0);
    if others {
        parts.push("all others".to_owned());
    }
    let places: Vec<usize> = (0..rows.len()).chain(others.then_some(last)).collect();
    let share = |window: &Value| {
        let all: f64 = places.iter().map(|&i| count(window, i)).sum();
        let part = |&i: &usize| 100.0 * count(window, i) / all;
        (all > 0.0).then(|| places.iter().map(part).collect())
    };
    let ticks = number(result, "ticks_per_second").max(1.0);
    let figure = shares(&ShareChart {
        title: format!("{} over time", program(result)),
        subtitle: format!("{}; white: no samples", sampling(result)),
        parts,
        windows: windows.iter().map(share).collect(),
        window: number(line, "window_cycles") / ticks * 1e3,
        x_label: "Time, ms".to_owned(),
        y_label: "Samples by tag, %".to_owned(),
    })?;
    Ok(ShimFigure::new("shim-timeline", figure))
}
