//! The leaderboard as a report: accuracy against overhead, errors by level, errors by program.

mod answer;
mod curves;
mod front;
mod tables;
mod worth;

use std::path::Path;

use hps_experiments::UnitRecord;
use hps_experiments::leaderboard::{Board, Entry, Figures, Form, LEVELS, Mean, board, compiled};

use crate::PlotError;
use crate::axis::Axis;
use crate::chapter::Chapter;
use crate::figure::Figure;
use crate::figures::{BarChart, BarPanel, HeatMap, Whiskers, grouped_bars_with, heat_map};
use crate::html::ReportInfo;
use crate::report::ReportFiles;
use crate::reproduction::{Answered, Words, write_measured};
use crate::style;

const WORDS: Words = Words {
    introduction: "The machine is simulated, so that it is known of each cycle which instruction the processor waited \
        for. This page holds profilers against that exact profile. Profilers that watch only share a run: they change \
        no cycle of it, and what their records and interrupts would cost is not charged. At their cost, and in bursts, \
        they have a run of their own under the same oracle, and their error has two parts: the sampling error of what \
        they collect, and the perturbation, by which that run's exact profile differs from the undisturbed one.",
    measure: "Error is 1 - overlap with the exact profile. The overlap of two profiles is the sum, over all members, of \
        the smaller of the two shares: 100% for equal profiles, 0% for profiles without a member in common.",
    files: "measurements.csv has every number, units.jsonl the same with the machine's fingerprint and the program's \
        hash.",
    guide: include_str!("guide.html"),
};

/// Draws what was measured and writes `report.html`, `measurements.csv` and `figures/*.svg` and `figures/*.png` into
/// `dir`. The page comes last. `budgets` are the overheads that were allowed, as ratios.
///
/// # Errors
/// [`PlotError::NoRows`] if nothing was measured, [`PlotError::Write`] naming the file or folder that could not be
/// written, and the errors of drawing.
pub fn write_leaderboard(
    dir: &Path,
    records: &[UnitRecord],
    budgets: &[f64],
    info: &ReportInfo,
) -> Result<ReportFiles, PlotError> {
    write_measured(dir, records, None, (info, &WORDS), || {
        let (mut chapters, mut answers) = (Vec::new(), Vec::new());
        for board in board(records, budgets) {
            answers.extend(answer::of(&board));
            chapters.extend(board_chapters(&board, budgets)?);
        }
        for worth in compiled::worth(records) {
            chapters.push(worth::chapter(&worth)?);
        }
        Ok(Answered::new(chapters, answers))
    })
}

fn board_chapters(board: &Board, budgets: &[f64]) -> Result<Vec<Chapter>, PlotError> {
    let on = format!("{} on {}", board.isa, board.machine);
    let name = |figure: &str| format!("{}-{}-{figure}", board.isa, file_name(&board.machine));
    let id = |chapter: &str| format!("{chapter}-{}-{}", board.isa, file_name(&board.machine));
    let mut overview = Chapter {
        id: id("board"),
        title: format!("Accuracy and cost: {on}"),
        text: vec![tables::overview(board, budgets)],
        tables: tables::boards(board),
        ..Chapter::default()
    };
    match budgets.len() {
        0 | 1 => {
            let front = front::figure(board)?;
            let figures = front.map(|figure| (name("front"), figure));
            overview.figures.extend(figures);
        }
        _ => {
            let all = curves::costs(board)?;
            overview
                .figures
                .extend(all.into_iter().map(|(id, figure)| (name(&id), figure)));
        }
    }
    let mut chapters = vec![overview];
    let watching = board.entries.iter().filter(|e| e.form == Form::Watching);
    let passive: Vec<&Entry> = watching.collect();
    if !passive.is_empty() {
        chapters.push(Chapter {
            id: id("levels"),
            title: format!("Errors by level: {on}"),
            text: vec![
                "A block, a line or a function sums up its instructions, so that errors inside of it vanish. What is \
                 left at the level of functions is what sends an optimizer to the wrong place."
                    .to_string(),
            ],
            figures: vec![(name("levels"), levels(board, &passive)?)],
            ..Chapter::default()
        });
        if let Some(mut chapter) = few_samples(board, &passive, &on)? {
            chapter.id = id("samples");
            for figure in &mut chapter.figures {
                figure.0 = name(&figure.0);
            }
            chapters.push(chapter);
        }
    }
    let mut by_program = Chapter {
        id: id("programs"),
        title: format!("Program by program: {on}"),
        tables: tables::programs(board),
        ..Chapter::default()
    };
    if !passive.is_empty() {
        by_program
            .figures
            .push((name("programs"), program_errors(board, &passive)?));
    }
    let costly = board.entries.iter().filter(|e| e.form != Form::Watching);
    let costly: Vec<&Entry> = costly.collect();
    if !costly.is_empty() {
        by_program
            .figures
            .push((name("overheads"), program_overheads(board, &costly)?));
    }
    chapters.push(by_program);
    Ok(chapters)
}

/// Errors and decisions by the number of samples.
fn few_samples(board: &Board, passive: &[&Entry], on: &str) -> Result<Option<Chapter>, PlotError> {
    let mut figures = curves::samples(board)?;
    figures.extend(curves::decisions(board, passive)?.map(|f| ("decisions".to_string(), f)));
    if figures.is_empty() {
        return Ok(None);
    }
    Ok(Some(Chapter {
        title: format!("How many samples are enough: {on}"),
        text: vec![
            "Two things make a profile wrong. Too few samples do, and more of them help: their error falls with the square \
             root of their number. The profiler does where it blames the wrong instruction, and no number of samples helps. \
             Points are measured, at several phases of the period. Lines are what independent draws of one instruction each \
             from the profiler's own blame would err by, which ends at its bias; profilers that share a sample among the \
             instructions of a group err by less."
                .to_string(),
        ],
        figures,
        ..Chapter::default()
    }))
}

/// Small letters, digits and hyphens alone.
fn file_name(text: &str) -> String {
    let keep = |c: char| {
        if c.is_ascii_alphanumeric() {
            c.to_ascii_lowercase()
        } else {
            '-'
        }
    };
    text.chars().map(keep).collect()
}

/// Caption: what the mean is taken over.
pub(super) fn over(board: &Board) -> String {
    match board.programs.len() {
        1 => format!("{}, mean over phases of the period", board.programs[0]),
        count => format!("mean over {count} programs"),
    }
}

fn levels(board: &Board, passive: &[&Entry]) -> Result<Figure, PlotError> {
    let mut whiskers = Whiskers::new();
    let mut tops = Vec::new();
    let mut values = Vec::new();
    for (group, entry) in passive.iter().enumerate() {
        let of_level = |level: &str| entry.mean.errors.get(level).copied();
        for (bar, mean) in LEVELS.iter().map(|level| of_level(level)).enumerate() {
            if let Some((low, high)) = mean.and_then(|m| m.interval) {
                let ends = (100.0 * low.max(0.0), 100.0 * high.min(1.0));
                whiskers.insert([0, 0, group, bar], ends);
                tops.push(ends.1);
            }
        }
        let bars = LEVELS.map(|level| of_level(level).map(|m| 100.0 * m.mean));
        tops.extend(bars.iter().flatten());
        values.push(bars.to_vec());
    }
    let panel = BarPanel {
        title: String::new(),
        groups: passive.iter().map(|e| e.name.clone()).collect(),
        group_label: String::new(),
        values,
        y: Axis::numbers("Error: 1 - overlap, %", &tops, true),
    };
    let chart = BarChart {
        title: "What each profiler gets wrong, by level".to_string(),
        subtitle: format!("{} on {}; {}", board.isa, board.machine, over(board)),
        bars: (LEVELS.iter().enumerate())
            .map(|(at, level)| (format!("by {level}"), style::category(at)))
            .collect(),
        rows: vec![(680.0, vec![panel])],
    };
    grouped_bars_with(&chart, "95% interval of the mean", &whiskers)
}

fn program_errors(board: &Board, passive: &[&Entry]) -> Result<Figure, PlotError> {
    heat(
        board,
        passive,
        "Error by instruction, program by program",
        ("Error, %", style::ORANGES),
        |figures| figures.errors.get("instruction"),
    )
}

fn program_overheads(board: &Board, costly: &[&Entry]) -> Result<Figure, PlotError> {
    heat(
        board,
        costly,
        "Overhead, program by program",
        ("Overhead, %", style::BLUES),
        |figures| figures.overhead.as_ref(),
    )
}

fn heat(
    board: &Board,
    entries: &[&Entry],
    title: &str,
    (unit, colors): (&str, [style::Rgb; 5]),
    of: impl Fn(&Figures) -> Option<&Mean>,
) -> Result<Figure, PlotError> {
    let value = |entry: &Entry, program: &String| {
        let figures = entry.by_program.get(program)?;
        of(figures).map(|m| 100.0 * m.mean)
    };
    let row = |entry: &&Entry| board.programs.iter().map(|p| value(entry, p)).collect();
    heat_map(&HeatMap {
        title: title.to_string(),
        subtitle: format!("{} on {}", board.isa, board.machine),
        row_label: String::new(),
        column_label: String::new(),
        rows: entries.iter().map(|e| title_of(e)).collect(),
        columns: board.programs.clone(),
        values: entries.iter().map(row).collect(),
        colors,
        unit: unit.to_string(),
        decimals: 1,
    })
}

/// A profiler with its kind of profile, or that it collects at its cost.
pub(super) fn title_of(entry: &Entry) -> String {
    match (entry.form, entry.kind) {
        (Form::Collected, _) => format!("{}, at its cost", entry.name),
        (_, Some(kind)) => format!("{}, {}", entry.name, kind.title()),
        (_, None) => entry.name.clone(),
    }
}
