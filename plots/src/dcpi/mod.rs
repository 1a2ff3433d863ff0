//! The evaluation of DCPI as a report: claims, histograms of errors, samples against accuracy, I-cache stalls.

use std::path::Path;

use hps_dcpi::accuracy::CAUSES;
use hps_dcpi::paper;
use hps_experiments::claims::{Claim, Section};
use hps_experiments::dcpi::order::{BESIDE, HEAD, Level, error_measure, followed_measure};
use hps_experiments::dcpi::{
    CONFIDENCES, FOLLOWS, MAIN_PERIOD, PERIODS, blame_setting, bucket_name, data, follow_setting,
    setting_of,
};
use hps_experiments::{Mean, Table, UnitRecord};

use crate::PlotError;
use crate::axis::Axis;
use crate::chapter::{Chapter, ChapterTable};
use crate::figure::Figure;
use crate::figures::{BarChart, BarPanel, Curve, Scatter, Whiskers, grouped_bars_with, scatter};
use crate::html::ReportInfo;
use crate::measured::{self, Column, Row, means, number, percent};
use crate::report::ReportFiles;
use crate::reproduction::{Answered, Words, tables_by_section, write_measured};
use crate::style;

const WORDS: Words = Words {
    introduction: "DCPI samples the program counter at random intervals, and works out from samples alone how often each \
        instruction ran, how many cycles it took and why it stalled. Its authors could check frequencies by \
        instrumenting, and culprits by counting events only. Here programs run on a simulated machine in order, whose \
        counts and causes are exact.",
    measure: "",
    files: "claims.csv has every claim, measurements.csv every number, units.jsonl the same with the machine's \
        fingerprint and the program's hash.",
    guide: include_str!("guide.html"),
};

/// Draws what was measured and writes `report.html`, `claims.csv`, `measurements.csv` and the pictures into `dir`. The
/// page comes last. `boards` has the records of each instruction set.
///
/// # Errors
/// [`PlotError::NoRows`] if nothing was measured, [`PlotError::Write`] naming the file or folder that could not be
/// written, and the errors of drawing.
pub fn write_dcpi(
    dir: &Path,
    boards: &[(&str, Table<'_>)],
    claims: &[Claim],
    records: &[UnitRecord],
    info: &ReportInfo,
) -> Result<ReportFiles, PlotError> {
    write_measured(dir, records, Some(claims), (info, &WORDS), || {
        let mut chapters = vec![claims_chapter(claims)];
        let measured = boards
            .iter()
            .filter(|(_, measured)| !data::programs(measured).is_empty());
        let mut answers = Vec::new();
        for (isa, data) in measured {
            chapters.extend(of_isa(isa, data)?);
            answers.extend(answers_of(isa, data));
        }
        Ok(Answered::new(chapters, answers))
    })
}

/// How far frequencies and culprits can be trusted.
fn answers_of(isa: &str, measured: &Table<'_>) -> Vec<(String, String)> {
    let mean = |measure| data::mean_of(measured, &setting(), measure);
    let on = format!("({isa} on {})", measured.machine);
    let often = mean("frequency_within_10_percent").map(|share| {
        let share = Mean {
            value: share.value / 100.0,
            half_width: share.half_width.map(|half| half / 100.0),
            ..share
        };
        format!(
            "{} of samples are at instructions whose estimated frequency is within 10% of the true one, published: {}%; \
             a sample each {MAIN_PERIOD} cycles; {}",
            share.percent(1),
            paper::FREQUENCIES_WITHIN[1],
            share.over()
        )
    });
    let why = mean("named_stall_ratio").map(|share| {
        format!(
            "the true cause is among the named ones for {} of dynamic stall cycles; {}",
            share.percent(1),
            share.over()
        )
    });
    let both = [
        ("how often instructions run", often),
        ("why they stall", why),
    ];
    (both.into_iter())
        .filter_map(|(of, answer)| Some((format!("{of} {on}"), answer?)))
        .collect()
}

fn claims_chapter(claims: &[Claim]) -> Chapter {
    let sections = [
        (Section::Accuracy, "Estimates"),
        (Section::Cost, "Cost"),
        (Section::Explained, "What explains the differences"),
        (Section::Check, "Checks of the lab"),
    ];
    let tables = tables_by_section(claims, &sections);
    Chapter {
        id: "claims".to_string(),
        title: "What the paper says, and what is seen here".to_string(),
        text: vec![
            "Each verdict is computed from the numbers of this report by the rule beside it. Programs, inputs and machine \
             are others than the paper's, and runs are far shorter, so that samples are taken more often."
                .to_string(),
        ],
        figures: Vec::new(),
        tables,
    }
}

fn of_isa(isa: &str, measured: &Table<'_>) -> Result<Vec<Chapter>, PlotError> {
    let name = |figure: &str| format!("{isa}-{figure}");
    let here = [("here", setting())];
    let mut estimates = Chapter {
        id: format!("estimates-{isa}"),
        title: format!(
            "Frequencies and cycles against exact counts: {isa} on {}",
            measured.machine
        ),
        figures: vec![
            (
                name("frequencies"),
                histogram(
                    isa,
                    measured,
                    "Errors of instruction frequencies (figure 8)",
                    "weighted by samples",
                    "frequency",
                    &here,
                )?,
            ),
            (
                name("edges"),
                histogram(
                    isa,
                    measured,
                    "Errors of edge frequencies (figure 9)",
                    "weighted by edge executions",
                    "edge",
                    &[
                        ("samples of addresses", setting()),
                        (
                            "edge samples by reading the sampled transfer",
                            follow_setting(FOLLOWS[0]),
                        ),
                        (
                            "edge samples by further interrupts",
                            follow_setting(FOLLOWS[1]),
                        ),
                    ],
                )?,
            ),
            (
                name("cpi"),
                histogram(
                    isa,
                    measured,
                    "Errors of cycles per instruction",
                    "weighted by samples",
                    "cpi",
                    &here,
                )?,
            ),
            (name("periods"), periods(isa, measured)?),
        ],
        ..Chapter::default()
    };
    estimates.tables.push(programs_table(measured));
    estimates.tables.push(calibration_table(measured));
    estimates.tables.push(edges_table(measured));
    let mut culprits = Chapter {
        id: format!("culprits-{isa}"),
        title: format!("Culprits against true causes: {isa}"),
        ..Chapter::default()
    };
    if let Some(figure) = icache(isa, measured)? {
        culprits.figures.push((name("icache"), figure));
    }
    culprits.tables.push(culprits_table(measured));
    culprits.tables.push(blame_table(measured));
    let mut chapters = vec![estimates, culprits];
    if data::machines(measured).len() > 1 {
        chapters.push(Chapter {
            id: format!("order-{isa}"),
            title: format!("What issue in order is worth: {isa}"),
            tables: vec![machines_table(measured)],
            ..Chapter::default()
        });
    }
    Ok(chapters)
}

/// Estimates and errors of samples on machines that issue in order and out of order.
fn machines_table(measured: &Table<'_>) -> ChapterTable {
    let title = format!(
        "A sample each {MAIN_PERIOD} cycles; means over programs, in percent: estimates and shares of edge samples within 10% of the truth, and time that \
         samples give to wrong instructions and functions"
    );
    let mut columns = vec![
        number("Frequencies", "frequency_within_10_percent", 1),
        number("Edges", "edge_within_10_percent", 1),
        number("CPI", "cpi_within_10_percent", 1),
        number(
            "Edges with edge samples",
            followed_measure(FOLLOWS[1], "edge_within_10_percent"),
            1,
        ),
        percent(
            "Directions",
            followed_measure(FOLLOWS[1], "direction_within_10_ratio"),
            1,
        ),
    ];
    for (level, of) in [
        (Level::Instruction, "instruction"),
        (Level::Function, "function"),
    ] {
        for policy in std::iter::once(HEAD).chain(BESIDE) {
            let measure = error_measure(policy, level);
            columns.push(percent(format!("{policy}, {of}"), measure, 1));
        }
    }
    let rows = data::machines(measured).into_iter();
    let rows = rows.map(|machine| Row::new([machine]).at(setting_of(machine)));
    means(measured, &title, &["Machine"], rows, &columns)
}

fn setting() -> String {
    format!("period={MAIN_PERIOD}")
}

fn histogram(
    isa: &str,
    measured: &Table<'_>,
    title: &str,
    weight: &str,
    estimate: &str,
    bars: &[(&str, String)],
) -> Result<Figure, PlotError> {
    let series = bars.iter();
    let series: Vec<_> = series
        .map(|(_, setting)| data::histogram(measured, setting, estimate))
        .collect();
    let buckets = 0..series.first().map_or(0, |s| s.len());
    let panel = BarPanel {
        title: String::new(),
        groups: buckets.clone().map(bucket_name).collect(),
        group_label: "Error of the estimate, %".to_string(),
        values: buckets
            .map(|at| series.iter().map(|s| Some(s[at])).collect())
            .collect(),
        y: Axis::numbers("Share, %", &series.concat(), true),
    };
    let chart = BarChart {
        title: title.to_string(),
        subtitle: format!(
            "{isa} on {}, {weight}; a sample each {MAIN_PERIOD} cycles; mean over {} programs",
            measured.machine,
            data::programs(measured).len()
        ),
        bars: bars
            .iter()
            .enumerate()
            .map(|(at, (label, _))| ((*label).to_string(), style::category(at)))
            .collect(),
        rows: vec![(480.0, vec![panel])],
    };
    grouped_bars_with(&chart, "", &Whiskers::new())
}

/// Shares within a few percent by period, beside the published ones.
fn periods(isa: &str, measured: &Table<'_>) -> Result<Figure, PlotError> {
    let measures = [5, 10, 15].map(|limit| format!("frequency_within_{limit}_percent"));
    let mut groups = vec!["published".to_string()];
    let mut values = vec![paper::FREQUENCIES_WITHIN.map(Some).to_vec()];
    for period in PERIODS {
        let of = |measure: &String| data::mean(measured, &format!("period={period}"), measure);
        groups.push(format!("{period}"));
        values.push(measures.iter().map(of).collect());
    }
    let tops: Vec<f64> = values.iter().flatten().flatten().copied().collect();
    let panel = BarPanel {
        title: String::new(),
        groups,
        group_label: "Cycles between two samples".to_string(),
        y: Axis::numbers("Share of samples, %", &tops, true),
        values,
    };
    let chart = BarChart {
        title: "Frequencies near the truth, by the period of sampling".to_string(),
        subtitle: format!(
            "{isa} on {}; mean over {} programs; published: runs with millions of samples",
            measured.machine,
            data::programs(measured).len()
        ),
        bars: ["within 5%", "within 10%", "within 15%"]
            .iter()
            .enumerate()
            .map(|(at, label)| ((*label).to_string(), style::category(at)))
            .collect(),
        rows: vec![(520.0, vec![panel])],
    };
    grouped_bars_with(&chart, "", &Whiskers::new())
}

/// The range of I-cache stalls of each procedure against its misses.
fn icache(isa: &str, measured: &Table<'_>) -> Result<Option<Figure>, PlotError> {
    let points = data::icache(measured);
    if points.is_empty() {
        return Ok(None);
    }
    let curve = |label: &str, category, pick: fn(&(f64, f64, f64)) -> f64| Curve {
        label: label.to_string(),
        category,
        points: points
            .iter()
            .map(|p| (p.0, pick(p), String::new()))
            .collect(),
    };
    let xs: Vec<f64> = points.iter().map(|p| p.0).collect();
    let ys: Vec<f64> = points.iter().map(|p| p.2).collect();
    let figure = scatter(&Scatter {
        title: "I-cache stall cycles against I-cache misses (figure 10)".to_string(),
        subtitle: format!(
            "{isa} on {}; two marks for each procedure",
            measured.machine
        ),
        x: Axis::numbers("I-cache misses, from samples", &xs, true),
        y: Axis::numbers(
            "Stall cycles that the analysis gives the I-cache",
            &ys,
            true,
        ),
        curves: vec![
            curve("top of the range", 0, |p| p.2),
            curve("bottom of the range", 1, |p| p.1),
        ],
        joined: false,
        thin: Vec::new(),
        thin_label: String::new(),
    })?;
    Ok(Some(figure))
}

fn by_program(measured: &Table<'_>, title: &str, columns: &[Column]) -> ChapterTable {
    measured::by_program(measured, title, &data::programs(measured), columns)
}

fn programs_table(measured: &Table<'_>) -> ChapterTable {
    let title =
        format!("Estimates by program, a sample each {MAIN_PERIOD} cycles; shares in percent");
    let columns = [
        number("Samples, thousands", "samples", 1).times(0.001),
        number("Frequency within 5%", "frequency_within_5_percent", 1),
        number("within 10%", "frequency_within_10_percent", 1),
        number("within 15%", "frequency_within_15_percent", 1),
        number("Edges within 10%", "edge_within_10_percent", 1),
        number("CPI within 10%", "cpi_within_10_percent", 1),
    ];
    by_program(
        measured,
        &title,
        &columns.map(|column| column.at(setting())),
    )
}

/// Table of the gain by edge samples, by program.
fn edges_table(measured: &Table<'_>) -> ChapterTable {
    let title = format!(
        "Edge samples by program, a sample each {MAIN_PERIOD} cycles; shares in percent: estimates within 10%, executions of \
         branches of which there are edge samples, and directions within 10%"
    );
    let [transfer, next] = FOLLOWS.map(follow_setting);
    let edges = |head| number(head, "edge_within_10_percent", 1);
    let met = |head| percent(head, "direction_met_ratio", 1);
    let directions = |head| percent(head, "direction_within_10_ratio", 1);
    let columns = [
        edges("Edges, without").at(setting()),
        edges("by the sampled transfer").at(&*transfer),
        edges("by further interrupts").at(&*next),
        met("Branches met by the sampled transfer").at(&*transfer),
        met("by further interrupts").at(&*next),
        directions("Directions by the sampled transfer").at(&*transfer),
        directions("by further interrupts").at(&*next),
    ];
    by_program(measured, &title, &columns)
}

/// Table of what confidence is worth, by program.
fn calibration_table(measured: &Table<'_>) -> ChapterTable {
    let title = "Confidence by program, in percent: samples of each confidence, and those of them within 10% of the true \
                 frequency";
    let columns = CONFIDENCES.iter().rev().flat_map(|name| {
        [
            percent(*name, format!("{name}_share_ratio"), 1),
            percent("within 10%", format!("{name}_within_10_ratio"), 1),
        ]
    });
    let columns: Vec<Column> = columns.map(|column| column.at(setting())).collect();
    by_program(measured, title, &columns)
}

/// Table of how much of what is blamed on a cause is really its.
fn blame_table(measured: &Table<'_>) -> ChapterTable {
    let title = "Stalls by cause, means over programs in percent: share of all stalls; of the cycles that are blamed on the \
                 cause, those that have it (precision); of those that have it, the blamed ones (recall); with samples of \
                 events and of cycles alone";
    let columns = [
        percent("Stalls", "blame_real_ratio", 1),
        percent("Precision", "blame_precision_ratio", 1),
        percent("Recall", "blame_recall_ratio", 1),
        percent("Precision, cycles alone", "blame_alone_precision_ratio", 1),
        percent("Recall, cycles alone", "blame_alone_recall_ratio", 1),
    ];
    let rows = CAUSES.into_iter();
    let rows = rows.map(|cause| Row::new([cause.name()]).at(blame_setting(cause)));
    means(measured, title, &["Cause"], rows, &columns)
}

fn culprits_table(measured: &Table<'_>) -> ChapterTable {
    let columns = [
        ("Dynamic stalls", "dynamic_stall_ratio"),
        ("Without a cause", "unexplained_ratio"),
        ("True cause named", "named_stall_ratio"),
        (
            "At instructions without a named cause",
            "silent_stall_ratio",
        ),
        ("Range holds the true cycles", "in_range_stall_ratio"),
    ];
    let columns = columns.map(|(head, measure)| percent(head, measure, 1).at(setting()));
    by_program(measured, "Culprits by program, in percent", &columns)
}
