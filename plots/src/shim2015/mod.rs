//! The evaluation of SHIM inside the machine as a report: claims, overhead by period (figures 7, 11 and 13), what samples
//! are worth (figures 1, 4 and 6), producers and consumers (figures 8 to 10).

mod answer;
mod functions;
mod phases;

use std::path::Path;

use hps_experiments::claims::{Claim, Section};
use hps_experiments::shim::{Kind, PAIR_WAITS, WAITS};
use hps_experiments::{Table, UnitRecord};

use crate::PlotError;
use crate::chapter::{Chapter, ChapterTable};
use crate::figures::Series;
use crate::html::ReportInfo;
use crate::measured::{Row, means, number, percent};
use crate::report::ReportFiles;
use crate::reproduction::parts::{cell, diagram, over};
use crate::reproduction::{Answered, Words, tables_by_section, write_measured};

const WORDS: Words = Words {
    introduction: "SHIM observes a program from another hardware context, at periods that no interrupt reaches. Its authors \
        filter samples that were disturbed, and say that nobody can check what remains. Here the observer is guest code on \
        a machine that knows what the program did in each cycle: each sample, kept or discarded, is held against the truth. \
        Hardware that the paper proposes is a key of the machine, and is measured beside what there is.",
    measure: "",
    files: "claims.csv has every claim, measurements.csv every number, units.jsonl the same with the machine's \
        fingerprint and the program's hash.",
    guide: include_str!("guide.html"),
};

/// Draws what was measured and writes `report.html`, `claims.csv`, `measurements.csv` and the pictures into `dir`. The
/// page comes last. `boards` has the measurements of each instruction set.
///
/// # Errors
/// [`PlotError::NoRows`] if nothing was measured, [`PlotError::Write`] naming the file or folder that could not be
/// written, and the errors of drawing.
pub fn write_shim2015(
    dir: &Path,
    boards: &[(&str, Table<'_>)],
    claims: &[Claim],
    records: &[UnitRecord],
    info: &ReportInfo,
) -> Result<ReportFiles, PlotError> {
    write_measured(dir, records, Some(claims), (info, &WORDS), || {
        let mut chapters = vec![claims_chapter(claims)];
        for (isa, found) in boards {
            chapters.extend([costs(isa, found)?, samples(isa, found)?]);
            chapters.extend(functions::chapter(isa, found)?);
            chapters.push(pairs(isa, found)?);
            chapters.extend(phases::chapter(isa, found)?);
        }
        let answers = boards
            .iter()
            .flat_map(|(isa, found)| answer::of(isa, found));
        Ok(Answered::new(chapters, answers.collect()))
    })
}

fn claims_chapter(claims: &[Claim]) -> Chapter {
    let sections = [
        (Section::Cost, "Cost"),
        (Section::Accuracy, "Samples"),
        (Section::Cases, "Clocks and prefetchers"),
        (Section::Explained, "What the paper could not see"),
    ];
    Chapter {
        id: "claims".to_string(),
        title: "What the paper says, and what is seen here".to_string(),
        text: vec![
            "Each verdict is computed from the numbers of this report by the rule beside it. Programs are C programs and not \
             Java's, the machine is a model after the paper's, and nothing but the program and the observer runs on it."
                .to_string(),
        ],
        figures: Vec::new(),
        tables: tables_by_section(claims, &sections),
    }
}

fn wait(turns: u64) -> String {
    format!("wait={turns}")
}

/// The mean period and overhead of a kind of observer at each wait.
fn curve(found: &Table<'_>, kind: Kind) -> Vec<(u64, f64, f64)> {
    let at = |turns: &u64| {
        let period = found.mean(kind.name(), &wait(*turns), "period_cycles")?;
        let overhead = found.mean_excess(kind.name(), &wait(*turns), "alone", "cycles")?;
        Some((*turns, period, 100.0 * overhead.value))
    };
    kind.waits().iter().filter_map(at).collect()
}

fn costs(isa: &str, found: &Table<'_>) -> Result<Chapter, PlotError> {
    let mut chapter = Chapter {
        id: format!("costs-{isa}"),
        title: format!("What observers cost: {isa} on {}", found.machine),
        text: vec![
            "Lines are means over programs. A point to the left is a faster observer; the points of a line differ in its \
             wait. Lowest priority, quiet reads and a small core are the paper's proposals for hardware."
                .to_string(),
        ],
        ..Chapter::default()
    };
    let groups: [(&str, &str, &[Kind]); 2] = [
        (
            "tag",
            "One tag: overhead by period (figure 7)",
            &[
                Kind::TagSmt,
                Kind::TagCmp,
                Kind::TagSmtBackground,
                Kind::TagCmpQuiet,
                Kind::TagCmpLittle,
            ],
        ),
        (
            "ipc",
            "IPC and tag: overhead by period (figures 11 and 13)",
            &[
                Kind::IpcSmt,
                Kind::IpcCmp,
                Kind::IpcSmtBackground,
                Kind::IpcCmpLittle,
            ],
        ),
    ];
    for (name, title, kinds) in groups {
        let series = kinds.iter().map(|kind| Series {
            label: kind.title().to_string(),
            points: curve(found, *kind)
                .into_iter()
                .map(|(_, x, y)| (x, y))
                .collect(),
        });
        let programs = found.programs(kinds[0].name()).len();
        let subtitle = format!("{isa} on {}; {}", found.machine, over(programs));
        let series = series.filter(|s| !s.points.is_empty()).collect();
        if let Some(figure) = diagram(
            (title, &subtitle),
            "Cycles from sample to sample",
            "Overhead, %",
            series,
        )? {
            chapter.figures.push((format!("{isa}-{name}-cost"), figure));
        }
    }
    let mut means = ChapterTable::new(
        "Means over programs",
        1,
        &[
            "Observer",
            "Wait, turns",
            "Period, cycles",
            "Overhead, %",
            "Observer's IPC",
            "Lines taken back, a thousand cycles",
            "Fetched for it, %",
            "Dispatched for it, %",
            "Commit slots that it takes from the program, %",
        ],
    );
    for kind in Kind::ALL {
        for (turns, period, overhead) in curve(found, kind) {
            let of = |measure| found.mean(kind.name(), &wait(turns), measure);
            let share = |measure| cell(of(measure).map(|share| 100.0 * share), 1);
            means.rows.push(vec![
                kind.title().to_string(),
                turns.to_string(),
                format!("{period:.1}"),
                format!("{overhead:.2}"),
                cell(of("observer_ipc"), 2),
                cell(of("upgrades_per_kilocycle"), 2),
                share("observer_fetch_ratio"),
                share("observer_dispatch_ratio"),
                share("slots_to_observer_ratio"),
            ]);
        }
    }
    chapter.tables.push(means);
    for kind in Kind::ALL {
        chapter.tables.extend(by_program(found, kind));
    }
    Ok(chapter)
}

/// The overhead of a kind of observer on each program.
fn by_program(found: &Table<'_>, kind: Kind) -> Option<ChapterTable> {
    let programs = found.programs(kind.name());
    if programs.is_empty() {
        return None;
    }
    let waits: Vec<String> = kind
        .waits()
        .iter()
        .map(|turns| format!("wait {turns}"))
        .collect();
    let mut head = vec!["Program"];
    head.extend(waits.iter().map(String::as_str));
    let mut table = ChapterTable::new(
        &format!("Overhead by program, %: {}", kind.title()),
        1,
        &head,
    );
    table.folded = true;
    let alone = found.by_program(kind.name(), "alone", "cycles");
    for program in programs {
        let mut row = vec![program.to_string()];
        for turns in kind.waits() {
            let observed = found.by_program(kind.name(), &wait(*turns), "cycles");
            let excess = observed
                .get(program)
                .zip(alone.get(program))
                .map(|(o, a)| 100.0 * (o / a - 1.0));
            row.push(cell(excess, 2));
        }
        table.rows.push(row);
    }
    Some(table)
}

fn samples(isa: &str, found: &Table<'_>) -> Result<Chapter, PlotError> {
    let kinds = [
        Kind::IpcSmt,
        Kind::IpcSmtBackground,
        Kind::IpcCmp,
        Kind::IpcCmpLittle,
    ];
    let mut chapter = Chapter {
        id: format!("samples-{isa}"),
        title: format!("What samples are worth: {isa} on {}", found.machine),
        text: vec![
            "Precision: how much of what is discarded is damaged. Recall: how much of what is damaged is discarded. Purity: \
             the share of an interval that the program spent in the function whose tag was read. Overlap: samples by \
             function against cycles by function."
                .to_string(),
        ],
        ..Chapter::default()
    };
    if found.programs(Kind::IpcSmt.name()).is_empty() {
        chapter.text = vec![
            "Programs cannot read counters of instructions on this instruction set.".to_string(),
        ];
        return Ok(chapter);
    }
    let kept = kinds.iter().map(|kind| Series {
        label: kind.title().to_string(),
        points: kind
            .waits()
            .iter()
            .filter_map(|turns| {
                let period = found.mean(kind.name(), &wait(*turns), "period_cycles")?;
                Some((
                    period,
                    100.0 * found.mean(kind.name(), &wait(*turns), "kept_ratio")?,
                ))
            })
            .collect(),
    });
    let subtitle = format!(
        "{isa} on {}; {}",
        found.machine,
        over(found.programs(Kind::IpcSmt.name()).len())
    );
    let title = "Samples that double-time error correction keeps (figure 4(c))";
    let x = "Cycles from sample to sample";
    if let Some(figure) = diagram((title, &subtitle), x, "Kept, %", kept.collect())? {
        chapter.figures.push((format!("{isa}-kept"), figure));
    }
    let tolerances = [1_000, 3_000, 10_000, 30_000, 100_000, 300_000];
    let errors = [0, 100].iter().map(|turns| Series {
        label: format!("wait {turns}"),
        points: tolerances
            .iter()
            .filter_map(|ppm: &u32| {
                let setting = format!("wait={turns},tolerance={ppm}");
                let error = found.mean(Kind::IpcSmt.name(), &setting, "ipc_error_of_kept")?;
                Some((f64::from(*ppm) / 1e4, error))
            })
            .collect(),
    });
    let title = "Error of IPC of what is kept, by tolerance (same core)";
    if let Some(figure) = diagram(
        (title, &subtitle),
        "Tolerance, %",
        "Mean error, instructions a cycle",
        errors.collect(),
    )? {
        chapter.figures.push((format!("{isa}-tolerance"), figure));
    }
    chapter.tables.push(worth(found, &kinds));
    chapter.tables.push(spreads(found));
    Ok(chapter)
}

/// Table of the worth of corrections and tags.
fn worth(found: &Table<'_>, kinds: &[Kind]) -> ChapterTable {
    let columns = [
        number("Period, cycles", "period_cycles", 1),
        percent("Kept, %", "kept_ratio", 1),
        percent("Damaged, %", "damaged_ratio", 1),
        percent("Precision, %", "dte_precision_ratio", 1),
        percent("Recall, %", "dte_recall_ratio", 1),
        percent("Damaged of kept, %", "damaged_kept_ratio", 1),
        number("IPC off, all", "ipc_error_of_all", 3),
        number("IPC off, kept", "ipc_error_of_kept", 3),
        percent("Purity, %", "purity_ratio", 1),
        percent("Overlap, %", "tag_overlap_ratio", 1),
    ];
    let rows = kinds.iter().flat_map(|kind| {
        let of_wait = |turns: &u64| {
            let row = Row::new([kind.title().to_string(), turns.to_string()]);
            row.of(kind.name()).at(wait(*turns))
        };
        kind.waits().iter().map(of_wait)
    });
    let rows = rows.filter(|row| row.has(found, "kept_ratio"));
    let title = "Samples against the truth, means over programs";
    ChapterTable {
        // Waits are written as numbers.
        words: 1,
        ..means(found, title, &["Observer", "Wait"], rows, &columns)
    }
}

/// Distributions: figures 1(b), 4(a), 4(b) and 6.
fn spreads(found: &Table<'_>) -> ChapterTable {
    let rows = [
        ("Cycles per cycle, all samples (figure 4(a))", "cpc_before"),
        ("Cycles per cycle, kept (figure 4(b))", "cpc_after"),
        ("IPC, all samples (figure 4(a))", "ipc_before"),
        ("IPC, kept (figures 1(b), 4(b))", "ipc_after"),
        ("IPC, every 10 kept samples (figure 1(b))", "ipc_every_10"),
        ("IPC, every 100 kept samples (figure 1(b))", "ipc_every_100"),
        ("The observer's own IPC (figure 6)", "own_ipc"),
    ];
    let rows = rows
        .into_iter()
        .flat_map(|(what, name)| [WAITS[0], WAITS[2]].map(|turns| (what, name, turns)));
    let mut table = ChapterTable::new(
        "Distributions on the same core, means over programs of each percentile",
        1,
        &["What", "Wait", "Least", "10%", "Median", "90%", "Most"],
    );
    for (what, name, turns) in rows {
        let columns = ["min", "p10", "p50", "p90", "max"];
        let columns = columns.map(|suffix| number(suffix, format!("{name}_{suffix}"), 3));
        let row = Row::new([what.to_string(), turns.to_string()]);
        let row = row.of(Kind::IpcSmt.name()).at(wait(turns));
        table
            .rows
            .extend(means(found, "", &["", ""], [row], &columns).rows);
    }
    table
}

fn pairs(isa: &str, found: &Table<'_>) -> Result<Chapter, PlotError> {
    let mut chapter = Chapter {
        id: format!("pairs-{isa}"),
        title: format!("Producer and consumer: {isa} on {}", found.machine),
        text: vec![
            "A program does nothing but write a word, an observer nothing but read it. Each has a wait, in turns of an empty \
             loop. On two cores the line goes to and fro; on one core they share units and the first-level cache."
                .to_string(),
        ],
        ..Chapter::default()
    };
    let shown = [
        (
            "pair-cmp",
            "overhead_ratio",
            100.0,
            "Two cores: what the reader costs the writer (figure 9(a))",
            "Overhead, %",
        ),
        (
            "pair-cmp",
            "invalidations_per_kilocycle",
            1.0,
            "Two cores: lines that the reader loses (figure 9(b))",
            "Invalidations in a thousand cycles",
        ),
        (
            "pair-smt",
            "overhead_ratio",
            100.0,
            "One core: what the reader costs the writer (figure 10(a))",
            "Overhead, %",
        ),
        (
            "pair-smt",
            "added_cycles",
            1.0,
            "One core: cycles added to each write (figure 10(b))",
            "Cycles",
        ),
    ];
    for (scheme, measure, factor, title, axis) in shown {
        let series = PAIR_WAITS.iter().map(|producer| Series {
            label: format!("writer waits {producer}"),
            points: PAIR_WAITS
                .iter()
                .filter_map(|consumer| {
                    let setting = format!("producer={producer},consumer={consumer}");
                    let period = found.mean(scheme, &setting, "read_period_cycles")?;
                    Some((period, factor * found.mean(scheme, &setting, measure)?))
                })
                .collect(),
        });
        let subtitle = format!("{isa} on {}", found.machine);
        let x = "Cycles from read to read";
        if let Some(figure) = diagram((title, &subtitle), x, axis, series.collect())? {
            chapter
                .figures
                .push((format!("{isa}-{scheme}-{measure}"), figure));
        }
    }
    Ok(chapter)
}
