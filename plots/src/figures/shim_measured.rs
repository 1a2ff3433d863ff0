//! Pictures of measurements of the observer itself: overhead, correction, the microbenchmark.

use serde_json::Value;

use super::shim::ShimFigure;
use super::shim_chart::{Curve, CurveChart, CurvePanel, Look, curves};
use super::shim_data::{Points, estimate, list, number, placement, text, xs, ys};
use super::shim_observed::correction;
use crate::PlotError;
use crate::axis::Axis;

/// Period in cycles and overhead in percent of one tag read from another core, as SHIM's section 6.1
/// says: "a 30 cycle period … around 100%", "at a 1213 cycle sample period to only 2%".
const PAPER_OVERHEAD: [(f64, f64); 2] = [(30.0, 100.0), (1213.0, 2.0)];
/// Period and percent of samples kept, on SMT with counters, as section 4.1 says: "at the highest
/// frequency DTE discards over 50%", "at periods of >= 2500, 90% or more of samples are valid".
const PAPER_KEPT: [(f64, f64); 2] = [(476.0, 50.0), (2500.0, 90.0)];

fn reference(label: &str, points: &[(f64, f64)]) -> Curve {
    Curve {
        label: label.to_owned(),
        look: Look::Reference,
        points: points.iter().map(|&(x, y)| (x, y, 0.0)).collect(),
    }
}

/// Period and another estimate of each point.
fn against_period(result: &Value, what: &str) -> Points {
    let mut points: Points = list(result, "points")
        .iter()
        .filter(|point| number(&point["period_cycles"], "mean") > 0.0)
        .map(|point| {
            let (y, half) = estimate(&point[what]);
            (number(&point["period_cycles"], "median"), y, half)
        })
        .collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    points
}

fn rounds(result: &Value) -> f64 {
    let first = list(result, "points").first();
    first.map_or(0.0, |point| number(&point["overhead_percent"], "runs"))
}

/// Overhead against period.
pub(super) fn overhead(file: &Value, stamped: bool) -> Result<ShimFigure, PlotError> {
    let result = &file["result"];
    let points = against_period(result, "overhead_percent");
    let noise = number(&result["noise_percent"], "half_width");
    let mut horizontal: Vec<f64> = xs(&points).collect();
    let mut vertical: Vec<f64> = ys(&points).collect();
    let what = if stamped {
        "tags with time stamps and correction"
    } else {
        "tags alone"
    };
    let mut all = vec![Curve {
        label: format!("measured here, {what}"),
        look: Look::Points,
        points,
    }];
    if !stamped {
        let paper = reference("SHIM's paper, its text on Figure 7(a)", &PAPER_OVERHEAD);
        horizontal.extend(xs(&paper.points));
        vertical.extend(ys(&paper.points));
        all.push(paper);
    }
    let tag = number(&result["tag_cycles"], "median");
    let writes = if tag > 0.0 {
        let digits = usize::from(tag < 10.0);
        format!("a tag every {tag:.digits$} cycles; ")
    } else {
        String::new()
    };
    // Values below one per cent would stretch a logarithmic axis for nothing.
    vertical.retain(|v| v.abs() >= 1.0);
    vertical.push(0.0);
    let figure = curves(&CurveChart {
        title: "What observing costs (as SHIM's Figure 7(a))".to_owned(),
        subtitle: format!(
            "{writes}{} rounds, 95% conf.; noise ±{noise:.1}%; {}",
            rounds(result),
            placement(file)
        ),
        panels: vec![CurvePanel {
            title: String::new(),
            x: Axis::log("Mean period, cycles, log scale", &horizontal),
            y: Axis::overhead("Overhead, %", &vertical),
            curves: all,
        }],
    })?;
    Ok(ShimFigure::new("shim-overhead", figure))
}

/// The fraction kept against period, and cycles per cycle at the shortest.
pub(super) fn kept(file: &Value) -> Result<Vec<ShimFigure>, PlotError> {
    let result = &file["result"];
    let points = against_period(result, "kept_percent");
    let paper = reference(
        "SHIM's paper, its text on Figure 4(c): SMT, with counters",
        &PAPER_KEPT,
    );
    let horizontal: Vec<f64> = xs(&points).chain(xs(&paper.points)).collect();
    let vertical = [0.0, 100.0];
    let figure = curves(&CurveChart {
        title: "Samples that correction keeps (as SHIM's Figure 4(c))".to_owned(),
        subtitle: format!(
            "{} rounds, 95% confidence; {}",
            rounds(result),
            placement(file)
        ),
        panels: vec![CurvePanel {
            title: String::new(),
            x: Axis::log("Mean period, cycles, log scale", &horizontal),
            y: Axis::numbers("Samples kept, %", &vertical, true),
            curves: vec![
                Curve {
                    label: "measured here".to_owned(),
                    look: Look::Points,
                    points,
                },
                paper,
            ],
        }],
    })?;
    let mut all = vec![ShimFigure::new("shim-kept", figure)];
    let shortest = list(result, "points")
        .iter()
        .filter(|point| number(&point["cpc_before"], "count") > 0.0)
        .min_by(|a, b| {
            let period = |p: &Value| number(&p["period_cycles"], "median");
            period(a).total_cmp(&period(b))
        });
    if let Some(point) = shortest {
        let subtitle = format!(
            "period {} ({:.0} cycles achieved), last round; {}",
            text(point, "pace"),
            number(&point["period_cycles"], "median"),
            placement(file)
        );
        let figure = correction(&point["cpc_before"], &point["cpc_after"], subtitle)?;
        all.push(ShimFigure::new("shim-cpc", figure));
    }
    Ok(all)
}

/// A point's period in cycles: of who waits.
fn micro_points(file: &Value, waiter: &str, what: &str) -> Points {
    list(file, "result")
        .iter()
        .filter(|point| text(point, "waiter") == waiter)
        .map(|point| {
            let (y, half) = estimate(&point[what]);
            let period = number(&point[format!("{waiter}_cycles")], "median");
            (period, y, half)
        })
        .collect()
}

/// The microbenchmark: overhead, and cycles added to a write.
pub(super) fn microbench(file: &Value) -> Result<Vec<ShimFigure>, PlotError> {
    let smt = text(&file["placement"], "seat") == "smt";
    let paper = if smt { "Figure 10" } else { "Figure 9" };
    let one = |what: &str, label: &str, title: String, name: &str| {
        let series = [
            ("producer", "the producer waits, the consumer does not"),
            ("consumer", "the consumer waits, the producer does not"),
        ];
        let all: Vec<Curve> = series
            .iter()
            .map(|(waiter, label)| Curve {
                label: (*label).to_owned(),
                look: Look::Points,
                points: micro_points(file, waiter, what),
            })
            .collect();
        let horizontal: Vec<f64> = all.iter().flat_map(|c| xs(&c.points)).collect();
        let vertical: Vec<f64> = all.iter().flat_map(|c| ys(&c.points)).collect();
        let figure = curves(&CurveChart {
            title,
            subtitle: format!("95% confidence; {}", placement(file)),
            panels: vec![CurvePanel {
                title: String::new(),
                x: Axis::log("Period of who waits, cycles, log scale", &horizontal),
                y: Axis::numbers(label, &vertical, true),
                curves: all,
            }],
        })?;
        Ok(ShimFigure::new(name, figure))
    };
    Ok(vec![
        one(
            "overhead_percent",
            "Overhead of the producer, %",
            format!("One word written and read (as SHIM's {paper}(a))"),
            "shim-microbench",
        )?,
        one(
            "added_cycles",
            "Cycles added to a write",
            "What reading adds to one write (as SHIM's Figure 10(b))".to_owned(),
            "shim-added",
        )?,
    ])
}
