//! Curves of errors: against the number of samples, and against overhead where several budgets were asked for.

use hps_experiments::ProfileKind;
use hps_experiments::leaderboard::decisions::QUESTIONS;
use hps_experiments::leaderboard::{AtSamples, Board, Entry, Form, Mean};

use super::over;
use crate::PlotError;
use crate::axis::{Axis, Frame};
use crate::canvas::Canvas;
use crate::figure::Figure;
use crate::figures::layout::{self, Entry as Legend, Swatch};
use crate::figures::{HeatMap, heat_map};
use crate::style;

/// Profilers in one picture: more cannot be told apart.
const TOGETHER: usize = 6;

/// A profiler: a line, and points with their intervals, all in the units of the axes.
struct Curve {
    label: String,
    line: Vec<(f64, f64)>,
    points: Vec<(f64, Mean)>,
}

/// Pictures of curves, a few in each, those with the least last point first.
struct Pictures<'a> {
    id: &'a str,
    title: &'a str,
    subtitle: String,
    x: Axis,
    point: &'a str,
    curves: Vec<Curve>,
}

impl Pictures<'_> {
    fn draw(mut self) -> Result<Vec<(String, Figure)>, PlotError> {
        self.curves.retain(|c| !c.points.is_empty());
        let last = |c: &Curve| c.points.last().map_or(f64::MAX, |p| p.1.mean);
        self.curves.sort_by(|a, b| last(a).total_cmp(&last(b)));
        let points = self.curves.iter().flat_map(|c| &c.points);
        let ends = points.flat_map(|(_, mean)| {
            let (low, high) = mean.interval.unwrap_or((mean.mean, mean.mean));
            [100.0 * low, 100.0 * high.min(1.0)]
        });
        let lines = self.curves.iter().flat_map(|c| c.line.iter().map(|p| p.1));
        let ys: Vec<f64> = ends.chain(lines).collect();
        let y = Axis::numbers("Error: 1 - overlap, %", &ys, true);
        let count = self.curves.len().div_ceil(TOGETHER);
        let each = self.curves.len().div_ceil(count.max(1)).max(1);
        let mut figures = Vec::new();
        for (at, curves) in self.curves.chunks(each).enumerate() {
            let (id, part) = match count {
                1 => (self.id.to_string(), String::new()),
                _ => (
                    format!("{}-{}", self.id, at + 1),
                    format!("; {} of {count}, by error", at + 1),
                ),
            };
            let subtitle = format!("{}{part}", self.subtitle);
            figures.push((id, self.figure(&subtitle, &y, curves)?));
        }
        Ok(figures)
    }

    fn figure(&self, subtitle: &str, y: &Axis, curves: &[Curve]) -> Result<Figure, PlotError> {
        let mut legend: Vec<Legend> = (curves.iter().enumerate())
            .map(|(at, curve)| Legend {
                label: curve.label.clone(),
                color: style::category(at),
                swatch: Swatch::Line(style::marker(at)),
            })
            .collect();
        legend.push(Legend {
            label: self.point.to_string(),
            color: style::MUTED,
            swatch: Swatch::Thin,
        });
        layout::Chart {
            title: self.title,
            subtitle,
            legend: &legend,
            width: style::WIDTH,
            height: 760.0,
            x: &self.x,
            y,
        }
        .figure(|canvas, frame| {
            for (at, curve) in curves.iter().enumerate() {
                draw(canvas, frame, curve, at);
            }
        })
    }
}

fn draw(canvas: &mut Canvas<'_>, frame: &Frame, curve: &Curve, category: usize) {
    let color = style::category(category);
    let line: Vec<_> = curve.line.iter().map(|&(x, y)| frame.at(x, y)).collect();
    canvas.path(&line, color, 3);
    for &(x, mean) in &curve.points {
        if let Some((low, high)) = mean.interval {
            let [from, to] = [low, high].map(|end| frame.at(x, 100.0 * end.clamp(0.0, 1.0)));
            canvas.line(from, to, color, 2);
        }
    }
    for &(x, mean) in &curve.points {
        let y = 100.0 * mean.mean;
        let says = format!("{}: {}", curve.label, frame.words(x, y));
        canvas.point(style::marker(category), frame.at(x, y), (9.0, color), &says);
    }
}

/// Errors by instruction and by function against the number of samples.
pub(super) fn samples(board: &Board) -> Result<Vec<(String, Figure)>, PlotError> {
    let mut all = Vec::new();
    for (level, title) in [
        ("instruction", "Error by instruction against samples"),
        ("function", "Error by function against samples"),
    ] {
        let at = |at: &AtSamples| Some((at.samples as f64, *at.errors.get(level)?));
        let watching = board.entries.iter().filter(|e| e.form == Form::Watching);
        let curve = |entry: &Entry| Curve {
            label: entry.name.clone(),
            line: (entry.mean.by_draws.iter())
                .filter_map(|draws| at(draws).map(|(x, mean)| (x, 100.0 * mean.mean)))
                .collect(),
            points: entry.mean.by_samples.iter().filter_map(at).collect(),
        };
        let curves: Vec<Curve> = watching.map(curve).collect();
        let xs: Vec<f64> = (curves.iter())
            .flat_map(|c| (c.line.iter().map(|p| p.0)).chain(c.points.iter().map(|p| p.0)))
            .collect();
        // A single number of samples is no curve.
        if xs.iter().all(|x| Some(x) == xs.first()) {
            continue;
        }
        let pictures = Pictures {
            id: &format!("samples-{level}"),
            title,
            subtitle: format!("{} on {}; {}", board.isa, board.machine, over(board)),
            x: Axis::log("Samples in a run", &xs),
            point: "points: measured, with 95% intervals; lines: independent draws",
            curves,
        };
        all.extend(pictures.draw()?);
    }
    Ok(all)
}

/// Errors against overhead, for each kind of profile, where several budgets were asked for.
pub(super) fn costs(board: &Board) -> Result<Vec<(String, Figure)>, PlotError> {
    let mut all = Vec::new();
    let kinds = [None].into_iter().chain(ProfileKind::ALL.map(Some));
    for kind in kinds {
        let level = kind.map_or("instruction", ProfileKind::name);
        let mut curves: Vec<Curve> = Vec::new();
        let of_kind = (board.entries.iter()).filter(|e| e.form != Form::Watching && e.kind == kind);
        for entry in of_kind {
            let (Some(overhead), Some(error)) = (entry.mean.overhead, entry.mean.errors.get(level))
            else {
                continue;
            };
            let x = 100.0 * overhead.mean;
            let curve = match curves.iter_mut().find(|c| c.label == entry.name) {
                Some(curve) => curve,
                None => {
                    curves.push(Curve {
                        label: entry.name.clone(),
                        line: Vec::new(),
                        points: Vec::new(),
                    });
                    let last = curves.len() - 1;
                    &mut curves[last]
                }
            };
            // A profiler that cannot spend two budgets has one point for both.
            if !curve.points.iter().any(|p| p.0 == x) {
                curve.points.push((x, *error));
            }
        }
        for curve in &mut curves {
            curve.points.sort_by(|a, b| a.0.total_cmp(&b.0));
            let line = curve.points.iter().map(|(x, mean)| (*x, 100.0 * mean.mean));
            curve.line = line.collect();
        }
        let xs: Vec<f64> = curves
            .iter()
            .flat_map(|c| c.points.iter().map(|p| p.0))
            .collect();
        if xs.is_empty() {
            continue;
        }
        let of = kind.map_or("where cycles go, by instruction", ProfileKind::title);
        let pictures = Pictures {
            id: &format!("costs-{level}"),
            title: &format!("Error against overhead: {of}"),
            subtitle: format!("{} on {}; {}", board.isa, board.machine, over(board)),
            x: Axis::overhead("Overhead, %", &xs),
            point: "up and down: the 95% interval over programs",
            curves,
        };
        all.extend(pictures.draw()?);
    }
    Ok(all)
}

/// Which decisions are right, by the number of samples; none if nobody was asked.
pub(super) fn decisions(board: &Board, passive: &[&Entry]) -> Result<Option<Figure>, PlotError> {
    let first = passive.iter().find(|e| !e.mean.answers.is_empty());
    let Some(first) = first else {
        return Ok(None);
    };
    let sizes: Vec<u64> = first.mean.by_samples.iter().map(|at| at.samples).collect();
    let mut columns = Vec::new();
    let mut asked = Vec::new();
    for (level, hottest, top) in QUESTIONS {
        for (question, name) in [
            (hottest, level.name().to_string()),
            (top, format!("five {}s", level.name())),
        ] {
            for &samples in &sizes {
                columns.push(format!("{name}, {samples}"));
                asked.push((question, samples));
            }
        }
    }
    let row = |entry: &&Entry| {
        let of = |&(question, samples): &(&str, u64)| {
            let at = entry
                .mean
                .by_samples
                .iter()
                .find(|at| at.samples == samples)?;
            at.answers.get(question).map(|mean| 100.0 * mean.mean)
        };
        asked.iter().map(of).collect()
    };
    heat_map(&HeatMap {
        title: "Right names of the hottest, and of the five hottest, by samples".to_string(),
        subtitle: format!("{} on {}; {}", board.isa, board.machine, over(board)),
        row_label: String::new(),
        column_label: String::new(),
        rows: passive.iter().map(|e| e.name.clone()).collect(),
        columns,
        values: passive.iter().map(row).collect(),
        colors: style::BLUES,
        unit: "Right, %".to_string(),
        decimals: 0,
    })
    .map(Some)
}
