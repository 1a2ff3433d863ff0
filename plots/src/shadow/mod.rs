//! The evaluation of shadow profiling as a report: claims, figures 2 to 7, policies of system calls and divergences.

mod chip;
mod executed;

use std::path::Path;

use hps_experiments::claims::{Claim, Section};
use hps_experiments::shadow::bursts::ONE_IN;
use hps_experiments::shadow::{Data, LOADS, SCHEME, ShadowStudy, setting};
use hps_experiments::{Candidate, Cells, UnitRecord};

use crate::PlotError;
use crate::answer::cheapest;
use crate::axis::Axis;
use crate::chapter::{Chapter, ChapterTable};
use crate::figure::Figure;
use crate::figures::{LineChart, Panel, Series, lines};
use crate::html::ReportInfo;
use crate::measured::{Column, Row, by_program, means, number, percent};
use crate::report::ReportFiles;
use crate::reproduction::parts::cell;
use crate::reproduction::{Answered, Words, tables_by_section, write_measured};

const WORDS: Words = Words {
    introduction: "A program forks short-lived shadows of itself, which run instrumented on processors that are idle while \
        the program goes on. Two numbers choose how much is seen: how many shadows live on average, and how many \
        instructions each of them runs. Its authors held profiles of shadows against profiles of whole runs. Here the \
        future of the parent is known as well: where a shadow did something else is seen.",
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
pub fn write_shadow(
    dir: &Path,
    boards: &[(&str, Data<'_>)],
    claims: &[Claim],
    records: &[UnitRecord],
    info: &ReportInfo,
) -> Result<ReportFiles, PlotError> {
    write_measured(dir, records, Some(claims), (info, &WORDS), || {
        let mut chapters = vec![claims_chapter(claims)];
        let mut answers = Vec::new();
        for (isa, data) in boards.iter().filter(|(_, d)| !d.programs().is_empty()) {
            answers.extend(answers_of(isa, data));
            chapters.extend([grid(isa, data)?, details(isa, data)?]);
            chapters.extend(executed::chapter(isa, data));
            chapters.extend(chip::chapter(isa, data)?);
        }
        Ok(Answered::new(chapters, answers))
    })
}

/// Which load and sample size to take.
fn answers_of(isa: &str, data: &Data<'_>) -> Vec<(String, String)> {
    let kinds = [
        ("hot paths", "path_accuracy_ratio"),
        ("hot paths across functions", "long_path_accuracy_ratio"),
        ("who calls whom", "call_overlap_ratio"),
    ];
    let answer = |(of, measure): (&str, &str)| {
        let grid = (LOADS.iter()).flat_map(|load| data.samples.iter().map(|s| (*load, *s)));
        let candidate = |(load, sample): (f64, u64)| {
            let at = setting(load, sample);
            let cells = |measure| Cells::of(measure).scheme(SCHEME).setting(&at);
            Some(Candidate {
                what: format!("load {load:.1}, samples of {} instructions", short(sample)),
                accuracy: data.table().mean_of(cells(measure))?,
                overhead: Some(data.table().mean_of(cells("overhead_ratio"))?),
                rate: 0.0,
            })
        };
        let all: Vec<_> = grid.filter_map(candidate).collect();
        Some((
            format!("{of} ({isa} on {})", data.machine()),
            cheapest(&all)?,
        ))
    };
    kinds.into_iter().filter_map(answer).collect()
}

fn claims_chapter(claims: &[Claim]) -> Chapter {
    let sections = [
        (Section::Accuracy, "Accuracy"),
        (Section::Cost, "Cost"),
        (Section::Explained, "What the paper could not see"),
    ];
    let tables = tables_by_section(claims, &sections);
    Chapter {
        id: "claims".to_string(),
        title: "What the paper says, and what is seen here".to_string(),
        text: vec![
            "Each verdict is computed from the numbers of this report by the rule beside it. The text of the paper that was \
             at hand has lost most of its numbers; only claims whose meaning is certain are judged, and no number is given \
             as the paper's that is not in its text."
                .to_string(),
        ],
        figures: Vec::new(),
        tables,
    }
}

/// Content of a figure of the grid.
struct Shown {
    file: &'static str,
    title: &'static str,
    axis: &'static str,
    measure: &'static str,
    factor: f64,
}

const FIGURES: [Shown; 8] = [
    Shown {
        file: "path-accuracy",
        title: "Accuracy of paths within functions (figure 3)",
        axis: "Weight of hot paths found, %",
        measure: "path_accuracy_ratio",
        factor: 100.0,
    },
    Shown {
        file: "long-path-accuracy",
        title: "Accuracy of paths across functions (figure 3)",
        axis: "Weight of hot paths found, %",
        measure: "long_path_accuracy_ratio",
        factor: 100.0,
    },
    Shown {
        file: "invariance",
        title: "Difference of the invariance of values (figure 4)",
        axis: "Difference, percentage points",
        measure: "invariance_difference",
        factor: 100.0,
    },
    Shown {
        file: "slowdown",
        title: "What shadows cost the program (figure 5)",
        axis: "Overhead, %",
        measure: "overhead_ratio",
        factor: 100.0,
    },
    Shown {
        file: "faults",
        title: "Page faults that shadows cause (figure 6)",
        axis: "Faults a second of the program",
        measure: "added_faults_per_second",
        factor: 1.0,
    },
    Shown {
        file: "coverage",
        title: "Instructions that shadows execute (figure 7)",
        axis: "Share of the program's, %",
        measure: "coverage_ratio",
        factor: 100.0,
    },
    Shown {
        file: "calls",
        title: "Overlap of call pairs",
        axis: "Overlap, %",
        measure: "call_overlap_ratio",
        factor: 100.0,
    },
    Shown {
        file: "edges",
        title: "Overlap of edges",
        axis: "Overlap, %",
        measure: "edge_overlap_ratio",
        factor: 100.0,
    },
];

fn grid(isa: &str, data: &Data<'_>) -> Result<Chapter, PlotError> {
    let mut chapter = Chapter {
        id: format!("grid-{isa}"),
        title: format!("Loads and sample sizes: {isa} on {}", data.machine()),
        text: vec![
            "Lines are means over programs; the tables below have each program. A sample is given in instructions, a load \
             as shadows that are alive on average."
                .to_string(),
        ],
        ..Chapter::default()
    };
    for shown in &FIGURES {
        if let Some(figure) = by_sample(isa, data, shown)? {
            chapter
                .figures
                .push((format!("{isa}-{}", shown.file), figure));
        }
        chapter.tables.push(table(data, shown));
    }
    Ok(chapter)
}

/// A measure by sample size, a line for each load.
fn by_sample(isa: &str, data: &Data<'_>, shown: &Shown) -> Result<Option<Figure>, PlotError> {
    let series: Vec<Series> = LOADS
        .iter()
        .map(|load| Series {
            label: format!("load {load:.1}"),
            points: data
                .samples
                .iter()
                .filter_map(|sample| {
                    let mean = data.mean(&setting(*load, *sample), shown.measure)?;
                    Some((*sample as f64 / 1000.0, mean * shown.factor))
                })
                .collect(),
        })
        .collect();
    let values: Vec<f64> = series.iter().flat_map(|s| &s.points).map(|p| p.1).collect();
    if values.is_empty() {
        return Ok(None);
    }
    let xs: Vec<f64> = data.samples.iter().map(|s| *s as f64 / 1000.0).collect();
    let figure = lines(&LineChart {
        title: shown.title.to_string(),
        subtitle: format!(
            "{isa} on {}; mean over {} programs",
            data.machine(),
            data.programs().len()
        ),
        panels: vec![Panel {
            title: String::new(),
            x: Axis::log("Thousands of instructions of a sample", &xs),
            y: Axis::numbers(shown.axis, &values, true),
            series,
        }],
    })?;
    Ok(Some(figure))
}

/// A measure of each program at all settings.
fn table(data: &Data<'_>, shown: &Shown) -> ChapterTable {
    let settings = LOADS
        .iter()
        .flat_map(|load| data.samples.iter().map(|sample| (*load, *sample)));
    let columns = settings.map(|(load, sample)| {
        let head = format!("{load:.1}-{}", short(sample));
        let column = number(head, shown.measure, 1).times(shown.factor);
        column.of(SCHEME).at(setting(load, sample))
    });
    let columns: Vec<Column> = columns.collect();
    let title = format!("{}: {}", shown.title, shown.axis);
    by_program(data.table(), &title, &data.programs(), &columns).folded()
}

/// Thousands and millions of instructions.
fn short(count: u64) -> String {
    match count {
        0..1_000 => count.to_string(),
        1_000..1_000_000 => format!("{}K", count / 1_000),
        _ => format!("{}M", count / 1_000_000),
    }
}

/// System calls, policies, divergences, variants.
fn details(isa: &str, data: &Data<'_>) -> Result<Chapter, PlotError> {
    let mut chapter = Chapter {
        id: format!("shadows-{isa}"),
        title: format!("System calls, divergences, and other ways to choose shadows: {isa}"),
        text: vec![format!(
            "Variants run at load 1.0 with samples of {} instructions.",
            short(ShadowStudy::main_sample(&data.samples))
        )],
        ..Chapter::default()
    };
    if let Some(figure) = calls(isa, data)? {
        chapter
            .figures
            .push((format!("{isa}-system-calls"), figure));
    }
    let main = setting(1.0, ShadowStudy::main_sample(&data.samples));
    let title = "Variants, means over programs";
    chapter.tables.push(variants(data, title, &ways(&main)));
    chapter.tables.push(beside_bursts(data));
    for (measure, title, head) in [
        (
            "divergences",
            "Divergences by the call that caused them, all programs",
            "Call and what became of it",
        ),
        ("ends", "Why shadows ended, all programs", "Why"),
    ] {
        let mut table = ChapterTable::new(title, 2, &["Policy", head, "Shadows"]);
        for (policy, setting) in [
            ("paper", main.as_str()),
            ("strict", "policy=strict"),
            ("pretend", "policy=pretend"),
        ] {
            for (what, count) in data.counted(setting, measure) {
                table.rows.push(vec![
                    policy.to_string(),
                    what.to_string(),
                    format!("{count:.0}"),
                ]);
            }
        }
        chapter.tables.push(table);
    }
    Ok(chapter)
}

/// System calls by group over the run: figure 2.
fn calls(isa: &str, data: &Data<'_>) -> Result<Option<Figure>, PlotError> {
    let by_group = data.calls_over_time();
    let series: Vec<Series> = by_group
        .into_iter()
        .map(|(group, points)| Series {
            label: group.to_string(),
            points,
        })
        .collect();
    let points = || series.iter().flat_map(|s| &s.points);
    let ys: Vec<f64> = points().map(|p| p.1).collect();
    if ys.is_empty() {
        return Ok(None);
    }
    let xs: Vec<f64> = points().map(|p| p.0).collect();
    let figure = lines(&LineChart {
        title: "System calls by group over the run (figure 2)".to_string(),
        subtitle: format!("{isa}; all programs, each run in twenty parts of equal length"),
        panels: vec![Panel {
            title: String::new(),
            x: Axis::numbers("Part of the run", &xs, true),
            y: Axis::numbers("System calls", &ys, true),
            series,
        }],
    })?;
    Ok(Some(figure))
}

/// Calls that shadows find, and that HPS's bursts find, by what they cost.
fn beside_bursts(data: &Data<'_>) -> ChapterTable {
    let title = "Calls found by shadows and by HPS's bursts, means over programs";
    let head = [
        "What collects",
        "Setting",
        "Overhead, %",
        "Overlap of call pairs, %",
    ];
    let mut table = ChapterTable::new(title, 2, &head);
    let shadows = LOADS.iter().flat_map(|load| {
        data.samples.iter().filter_map(move |sample| {
            let name = setting(*load, *sample);
            let overhead = data.mean(&name, "overhead_ratio");
            let found = overhead.zip(data.mean(&name, "call_overlap_ratio"))?;
            Some((
                "shadows",
                format!("load {load:.1}, {}", short(*sample)),
                found,
            ))
        })
    });
    let bursts = ONE_IN.iter().filter_map(|one_in| {
        let setting = format!("one event in {one_in}");
        Some(("HPS", setting, data.bursts(*one_in)?))
    });
    let mut rows: Vec<_> = shadows.chain(bursts).collect();
    rows.sort_by(|a, b| a.2.0.total_cmp(&b.2.0));
    for (what, setting, (overhead, overlap)) in rows {
        let numbers = [overhead, overlap].map(|share| cell(Some(100.0 * share), 1));
        let words = [what.to_string(), setting];
        table.rows.push(words.into_iter().chain(numbers).collect());
    }
    table
}

/// Ways to choose shadows, and what they cost, beside the setting of the grid.
fn ways(main: &str) -> [(&str, &str); 8] {
    [
        ("periodic, the paper's policy", main),
        (
            "every call that is not benign ends the shadow",
            "policy=strict",
        ),
        ("no call ends the shadow", "policy=pretend"),
        ("at new phases", "phase"),
        ("rarer while they see nothing new", "convergence"),
        ("translations are kept", "kept-translations"),
        ("slowdown 3", "slowdown=3"),
        ("slowdown 30", "slowdown=30"),
    ]
}

/// Table of accuracy and cost of shadows in each variant: its name and its setting.
fn variants(data: &Data<'_>, title: &str, rows: &[(&str, &str)]) -> ChapterTable {
    let columns = [
        percent("Paths, %", "path_accuracy_ratio", 1),
        percent("Long paths, %", "long_path_accuracy_ratio", 1),
        percent("Invariance, points off", "invariance_difference", 1),
        percent("Overhead, %", "overhead_ratio", 1),
        percent("Coverage, %", "coverage_ratio", 1),
        number("Shadows", "shadows", 1),
        percent("End early, %", "ended_early_ratio", 1),
        percent("Diverge, %", "diverged_ratio", 1),
        percent("Transfers behind, %", "diverged_transfers_ratio", 1),
    ];
    let rows = rows
        .iter()
        .map(|(name, setting)| Row::new([*name]).of(SCHEME).at(*setting));
    means(data.table(), title, &["Variant"], rows, &columns)
}
