//! The figures of a sweep: which rows go into which picture.

use std::collections::BTreeSet;

use super::bars::{BarChart, BarPanel, Whiskers, grouped_bars_with};
use super::heatmap::{HeatMap, heat_map};
use super::lines::{LineChart, Panel, Series, lines};
use super::scatter::{Curve, Scatter, scatter};
use super::slug::slug;
use super::spread::{SpreadCurve, SpreadPoint, spread};
use crate::PlotError;
use crate::axis::{Axis, frequency};
use crate::dataset::{DataSet, KindData, Metric, Spread, half_width, half_width_of_accuracy};
use crate::figure::Figure;
use crate::style;

/// Programs side by side in one row of bars.
const PROGRAMS_PER_ROW: usize = 20;

const ACCURACY: &str = "Accuracy (overlap, %)";
const OVERHEAD: &str = "Overhead (% of cycles)";

/// A figure of a sweep with what a report needs to know about it.
pub(crate) struct SweepFigure {
    /// File name without extension.
    pub name: String,
    pub figure: Figure,
    /// One of many, one for each program.
    pub per_program: bool,
}

/// All figures of one kind of profile, those over all programs first.
pub(crate) fn sweep_figures(
    set: &DataSet<'_>,
    data: &KindData<'_>,
    prefix: &str,
) -> Result<Vec<SweepFigure>, PlotError> {
    let about = About { set, data };
    let mut made = Vec::new();
    let mut add = |name: &str, per_program: bool, figure: Option<Figure>| {
        if let Some(figure) = figure {
            let name = format!("{prefix}{}-{name}", data.kind.name().replace('_', "-"));
            made.push(SweepFigure {
                name,
                figure,
                per_program,
            });
        }
    };
    add(
        "accuracy-frequency",
        false,
        about.against_frequency(Metric::Renormalized)?,
    );
    add(
        "overhead-frequency",
        false,
        about.against_frequency(Metric::Overhead)?,
    );
    add(
        "accuracy-overhead",
        false,
        about.accuracy_against_overhead()?,
    );
    add("accuracy-heatmap", false, about.map(Metric::Renormalized)?);
    if about.whole_grid_timed() {
        add("overhead-heatmap", false, about.map(Metric::Overhead)?);
    }
    add("bursts", false, about.bursts()?);
    add("programs", false, about.programs()?);
    let mut used = BTreeSet::new();
    for (program, name) in data.names.iter().enumerate() {
        let figure = about.one_program(program)?;
        add(&format!("program-{}", slug(name, &mut used)), true, figure);
    }
    Ok(made)
}

/// A figure of the paper's evaluation for one kind of profile: 8, 9 or 10.
pub(crate) fn paper_figure(
    number: u8,
    set: &DataSet<'_>,
    data: &KindData<'_>,
) -> Result<Option<Figure>, PlotError> {
    let about = About { set, data };
    match number {
        8 => about.figure_8(),
        9 => about.programs(),
        _ => about.bursts(),
    }
}

struct About<'a> {
    set: &'a DataSet<'a>,
    data: &'a KindData<'a>,
}

impl About<'_> {
    fn title(&self, what: &str) -> String {
        let kind = self.data.kind.title();
        let capital = kind[..1].to_uppercase();
        format!("{capital}{} profile: {what}", &kind[1..])
    }

    fn mean_of(&self, metric: Metric) -> String {
        let count = match self.data.coverage(metric) {
            Some((few, most)) if few != most => format!("{few}–{most}"),
            Some((_, most)) => most.to_string(),
            None => self.data.programs.len().to_string(),
        };
        let noun = if count == "1" { "program" } else { "programs" };
        let how = match metric {
            Metric::Overhead => self.within(None),
            _ => String::new(),
        };
        format!("mean of {count} {noun} · {}{how}", self.set.origin())
    }

    /// How far from the shown overheads the exact ones may be, for a caption: of one program, or of the
    /// means. Empty if every cycle was simulated.
    fn within(&self, program: Option<usize>) -> String {
        let data = self.data;
        let half_width = |burst, f| match program {
            Some(p) => half_width(data.row(p, burst, f)?),
            None => data.mean(Metric::Overhead, burst, f)?.half_width,
        };
        let grid = data
            .bursts
            .iter()
            .flat_map(|&b| data.frequencies.iter().map(move |&f| (b, f)));
        let all: Vec<f64> = grid.filter_map(|(b, f)| half_width(b, f)).collect();
        if all.is_empty() {
            return String::new();
        }
        let mean = all.iter().sum::<f64>() / all.len() as f64;
        let how = match self.set.rows.iter().any(|row| row.sampled().is_some()) {
            true => "timing sampled",
            false => "several set-ups",
        };
        format!(" · {how}, overhead ±{mean:.3} on average")
    }

    fn burst_name(burst: u64) -> String {
        format!("burst {burst}")
    }

    fn axis(metric: Metric, values: &[f64]) -> Axis {
        match metric {
            Metric::Overhead => Axis::overhead(OVERHEAD, values),
            _ => Axis::accuracy(ACCURACY, values, false),
        }
    }

    /// One line for each burst, over frequency; `None` if there is no value.
    fn panel(
        &self,
        metric: Metric,
        title: &str,
        value: impl Fn(u64, u64) -> Option<f64>,
    ) -> Option<Panel> {
        let series: Vec<Series> = self
            .data
            .bursts
            .iter()
            .map(|&burst| Series {
                label: Self::burst_name(burst),
                points: (self.data.frequencies.iter())
                    .filter_map(|&f| Some((f.max(1) as f64, value(burst, f)?)))
                    .collect(),
            })
            .filter(|s| !s.points.is_empty())
            .collect();
        let values: Vec<f64> = series.iter().flat_map(|s| &s.points).map(|p| p.1).collect();
        (!values.is_empty()).then(|| Panel {
            title: title.to_string(),
            x: Axis::frequency(&self.data.frequencies),
            y: Self::axis(metric, &values),
            series,
        })
    }

    fn against_frequency(&self, metric: Metric) -> Result<Option<Figure>, PlotError> {
        let value = |burst, f| self.data.mean(metric, burst, f).map(|m| m.value);
        let Some(panel) = self.panel(metric, "", value) else {
            return Ok(None);
        };
        let what = match metric {
            Metric::Overhead => "overhead against sampling frequency",
            _ => "accuracy against sampling frequency",
        };
        lines(&LineChart {
            title: self.title(what),
            subtitle: self.mean_of(metric),
            panels: vec![panel],
        })
        .map(Some)
    }

    fn one_program(&self, program: usize) -> Result<Option<Figure>, PlotError> {
        let value = |metric, burst, f| self.data.value(metric, program, burst, f);
        let panels: Vec<Panel> = [
            (Metric::Renormalized, "Accuracy"),
            (Metric::Overhead, "Overhead"),
        ]
        .into_iter()
        .filter_map(|(metric, title)| self.panel(metric, title, |b, f| value(metric, b, f)))
        .collect();
        if panels.is_empty() {
            return Ok(None);
        }
        let single = panels.len() == 1;
        let panels = panels
            .into_iter()
            .map(|p| {
                if single {
                    Panel {
                        title: String::new(),
                        ..p
                    }
                } else {
                    p
                }
            })
            .collect();
        lines(&LineChart {
            title: format!(
                "{}: {} profile",
                self.data.names[program],
                self.data.kind.title()
            ),
            subtitle: format!("{}{}", self.set.origin(), self.within(Some(program))),
            panels,
        })
        .map(Some)
    }

    fn accuracy_against_overhead(&self) -> Result<Option<Figure>, PlotError> {
        let data = self.data;
        let shown = data.shown_burst();
        let mut curves = Vec::new();
        for (category, &burst) in data.bursts.iter().enumerate() {
            let points: Vec<_> = data
                .frequencies
                .iter()
                .filter_map(|&f| {
                    let (accuracy, overhead) = data.mean_pair(burst, f)?;
                    let name = if burst == shown {
                        frequency(f)
                    } else {
                        String::new()
                    };
                    Some((overhead, accuracy, name))
                })
                .collect();
            if !points.is_empty() {
                let label = format!("{}, mean", Self::burst_name(burst));
                curves.push(Curve {
                    label,
                    category,
                    points,
                });
            }
        }
        if curves.is_empty() {
            return Ok(None);
        }
        let thin: Vec<Vec<(f64, f64)>> = (0..data.programs.len())
            .map(|p| {
                let pairs = data
                    .frequencies
                    .iter()
                    .filter_map(|&f| data.pair(p, shown, f));
                pairs
                    .map(|(accuracy, overhead)| (overhead, accuracy))
                    .collect::<Vec<_>>()
            })
            .filter(|line| line.len() > 1)
            .collect();
        let main = curves.iter().flat_map(|c| &c.points).map(|p| (p.0, p.1));
        let all: Vec<(f64, f64)> = main.chain(thin.iter().flatten().copied()).collect();
        let xs: Vec<f64> = all.iter().map(|p| p.0).collect();
        let ys: Vec<f64> = all.iter().map(|p| p.1).collect();
        scatter(&Scatter {
            title: self.title("accuracy against overhead"),
            subtitle: self.mean_of(Metric::Overhead),
            x: Axis::overhead(OVERHEAD, &xs),
            y: Axis::accuracy(ACCURACY, &ys, false),
            curves,
            joined: true,
            thin,
            thin_label: format!("each program, burst {shown}"),
        })
        .map(Some)
    }

    /// Whether every burst and frequency that has an accuracy also has an overhead.
    fn whole_grid_timed(&self) -> bool {
        let data = self.data;
        data.bursts.len() > 1
            && data.bursts.iter().all(|&b| {
                data.frequencies.iter().all(|&f| {
                    data.mean(Metric::Overhead, b, f).is_some()
                        || data.mean(Metric::Renormalized, b, f).is_none()
                })
            })
    }

    fn map(&self, metric: Metric) -> Result<Option<Figure>, PlotError> {
        let data = self.data;
        if data.bursts_with(metric).is_empty() {
            return Ok(None);
        }
        let row = |&b: &u64| {
            data.frequencies
                .iter()
                .map(|&f| data.mean(metric, b, f).map(|m| m.value))
                .collect()
        };
        let (what, colors, unit, decimals) = match metric {
            Metric::Overhead => (
                "overhead by burst and frequency",
                style::ORANGES,
                OVERHEAD,
                2,
            ),
            _ => ("accuracy by burst and frequency", style::BLUES, ACCURACY, 1),
        };
        heat_map(&HeatMap {
            title: self.title(what),
            subtitle: self.mean_of(metric),
            row_label: "Burst (events)".to_string(),
            column_label: "Sampling frequency".to_string(),
            rows: data.bursts.iter().map(ToString::to_string).collect(),
            columns: data.frequencies.iter().map(|&f| frequency(f)).collect(),
            values: data.bursts.iter().map(row).collect(),
            colors,
            unit: unit.to_string(),
            decimals,
        })
        .map(Some)
    }

    /// The paper's Figure 10: accuracy by frequency and burst, the mean above, programs below.
    fn bursts(&self) -> Result<Option<Figure>, PlotError> {
        let data = self.data;
        if data.bursts_with(Metric::Renormalized).is_empty() {
            return Ok(None);
        }
        let value = |program: Option<usize>, burst, f| match program {
            Some(p) => data.value(Metric::Renormalized, p, burst, f),
            None => data.mean(Metric::Renormalized, burst, f).map(|m| m.value),
        };
        let grid = |program| -> Vec<Vec<Option<f64>>> {
            let group = |&f: &u64| data.bursts.iter().map(|&b| value(program, b, f)).collect();
            data.frequencies.iter().map(group).collect()
        };
        let mut shown = vec![("Mean of all programs".to_string(), grid(None))];
        for (p, why) in self.representative() {
            shown.push((format!("{} ({why})", data.names[p]), grid(Some(p))));
        }
        let all: Vec<f64> = shown
            .iter()
            .flat_map(|(_, g)| g)
            .flatten()
            .flatten()
            .copied()
            .collect();
        let mut panels = shown.into_iter().map(|(title, values)| BarPanel {
            title,
            groups: data.frequencies.iter().map(|&f| frequency(f)).collect(),
            group_label: "Sampling frequency".to_string(),
            values,
            // One scale for all, so that the panels can be compared.
            y: Axis::accuracy(ACCURACY, &all, true),
        });
        let mut rows = vec![(520.0, panels.by_ref().take(1).collect())];
        let selected: Vec<BarPanel> = panels.collect();
        if !selected.is_empty() {
            rows.push((460.0, selected));
        }
        let bars = data.bursts.iter().enumerate();
        let chart = BarChart {
            title: self.title("accuracy by burst length"),
            subtitle: self.mean_of(Metric::Renormalized),
            bars: bars
                .map(|(i, &b)| (Self::burst_name(b), style::category(i)))
                .collect(),
            rows,
        };
        grouped_bars_with(&chart, "middle half of programs", &self.whiskers()).map(Some)
    }

    /// On the bars of the mean: where the middle half of the programs lies.
    fn whiskers(&self) -> Whiskers {
        let data = self.data;
        let points = data.frequencies.iter().enumerate().flat_map(|(group, &f)| {
            let bursts = data.bursts.iter().enumerate();
            bursts.map(move |(bar, &b)| ([0, 0, group, bar], b, f))
        });
        points
            .filter_map(|(place, burst, f)| {
                let spread = data.spread(Metric::Renormalized, burst, f)?;
                Some((place, spread.middle?))
            })
            .collect()
    }

    /// The paper's Figure 8: mean accuracy, in both readings, against mean overhead.
    fn figure_8(&self) -> Result<Option<Figure>, PlotError> {
        let data = self.data;
        let burst = data.shown_burst();
        let curve = |metric: Metric, label: &str| {
            let both = |p: usize, f: u64| {
                let overhead = data.value(Metric::Overhead, p, burst, f)?;
                Some((overhead, data.value(metric, p, burst, f)?))
            };
            let pairs = |f: u64| (0..data.programs.len()).filter_map(move |p| both(p, f));
            let point = |&f: &u64| {
                Some(SpreadPoint {
                    name: frequency(f),
                    overhead: Spread::of(pairs(f).map(|p| p.0))?,
                    accuracy: Spread::of(pairs(f).map(|p| p.1))?,
                })
            };
            SpreadCurve {
                label: label.to_string(),
                points: data.frequencies.iter().filter_map(point).collect(),
                programs: data.frequencies.iter().flat_map(|&f| pairs(f)).collect(),
            }
        };
        let curves = [
            curve(Metric::Renormalized, "renormalized, mean"),
            curve(Metric::Capped, "capped at about 90%, mean"),
        ];
        if curves.iter().all(|c| c.points.is_empty()) {
            return Ok(None);
        }
        let title = self.title(&format!("accuracy against overhead, burst {burst}"));
        let subtitle = format!(
            "{} · dots: programs · lines: straight in log overhead",
            self.mean_of(Metric::Overhead)
        );
        spread(&title, &subtitle, (OVERHEAD, ACCURACY), &curves).map(Some)
    }

    /// Meaning of the intervals around the values of single programs.
    fn meaning_of_intervals(&self) -> &'static str {
        let rows = || {
            self.set
                .rows
                .iter()
                .filter(|row| row.profile == self.data.kind)
        };
        let phases = rows().any(|row| row.phases.is_some());
        let set_ups = rows().any(|row| row.timing.is_some_and(|t| t.set_ups.is_some()));
        let sampled = rows().any(|row| row.sampled().is_some());
        match (phases, set_ups, sampled) {
            (true, true, _) => "95% interval: phases, set-ups",
            (true, false, true) => "95% interval: phases, sampling",
            (true, false, false) => "95% interval over phases",
            (false, true, _) => "95% interval of the mean over set-ups",
            (false, false, _) => "95% interval of sampled timing",
        }
    }

    /// The programs with the highest, the middle and the lowest accuracy over the whole grid.
    fn representative(&self) -> Vec<(usize, &'static str)> {
        let data = self.data;
        let mut means: Vec<(f64, usize)> = (0..data.programs.len())
            .filter_map(|p| {
                let values: Vec<f64> = data
                    .bursts
                    .iter()
                    .flat_map(|&b| data.frequencies.iter().map(move |&f| (b, f)))
                    .filter_map(|(b, f)| data.value(Metric::Renormalized, p, b, f))
                    .collect();
                (!values.is_empty()).then(|| (values.iter().sum::<f64>() / values.len() as f64, p))
            })
            .collect();
        means.sort_by(|a, b| b.0.total_cmp(&a.0));
        match means.len() {
            0 | 1 => Vec::new(),
            2 => vec![(means[0].1, "highest"), (means[1].1, "lowest")],
            n => vec![
                (means[0].1, "highest"),
                (means[n / 2].1, "middle"),
                (means[n - 1].1, "lowest"),
            ],
        }
    }

    /// The paper's Figure 9: each program's accuracy and overhead at the burst of Figure 8.
    fn programs(&self) -> Result<Option<Figure>, PlotError> {
        let data = self.data;
        let burst = data.shown_burst();
        let mut rows = Vec::new();
        let mut whiskers = Whiskers::new();
        for (metric, name) in [
            (Metric::Renormalized, "Accuracy"),
            (Metric::Overhead, "Overhead"),
        ] {
            let value = |p: usize, f: u64| data.value(metric, p, burst, f);
            let range = |p: usize, f: u64| {
                let row = data.row(p, burst, f)?;
                let half = match metric {
                    Metric::Overhead => half_width(row),
                    _ => half_width_of_accuracy(row),
                };
                let value = value(p, f)?;
                half.map(|half| (value - half, value + half))
            };
            let all: Vec<f64> = (0..data.programs.len())
                .flat_map(|p| data.frequencies.iter().map(move |&f| (p, f)))
                .flat_map(|(p, f)| match range(p, f) {
                    Some((low, high)) => vec![low, high],
                    None => value(p, f).into_iter().collect(),
                })
                .collect();
            if all.is_empty() {
                continue;
            }
            let y = match metric {
                // Bars show a value by their length, so they stay on a linear scale.
                Metric::Overhead => Axis::numbers(OVERHEAD, &all, true),
                _ => Axis::accuracy(ACCURACY, &all, true),
            };
            let programs: Vec<usize> = (0..data.programs.len()).collect();
            for chunk in programs.chunks(PROGRAMS_PER_ROW) {
                let panel = BarPanel {
                    title: name.to_string(),
                    groups: chunk.iter().map(|&p| data.names[p].clone()).collect(),
                    group_label: String::new(),
                    values: (chunk.iter())
                        .map(|&p| data.frequencies.iter().map(|&f| value(p, f)).collect())
                        .collect(),
                    y: y.clone(),
                };
                for (group, &p) in chunk.iter().enumerate() {
                    for (bar, &f) in data.frequencies.iter().enumerate() {
                        let place = [rows.len(), 0, group, bar];
                        whiskers.extend(range(p, f).map(|range| (place, range)));
                    }
                }
                rows.push((500.0, vec![panel]));
            }
        }
        if rows.is_empty() {
            return Ok(None);
        }
        let count = data.frequencies.len();
        let bars = data.frequencies.iter().enumerate();
        let noun = if data.programs.len() == 1 {
            "program"
        } else {
            "programs"
        };
        let chart = BarChart {
            title: self.title(&format!("each program at burst {burst}")),
            subtitle: format!("{} {noun} · {}", data.programs.len(), self.set.origin()),
            bars: bars
                .map(|(i, &f)| (frequency(f), style::ordered(i, count)))
                .collect(),
            rows,
        };
        grouped_bars_with(&chart, self.meaning_of_intervals(), &whiskers).map(Some)
    }
}
