//! Tables that a board shows as text and on its page: errors by the number of samples, decisions, and groups of programs.

use hps_profilers::views::Level;

use super::board::{AtSamples, Board, Entry, Form};
use super::decisions::{CAUSE, EVENT_PRECISION, EVENT_RECALL, QUESTIONS};
use super::groups::Group;
use super::mean::{Mean, in_percent};
use crate::grouped::grouped;

/// A table as text: the first column names profilers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grid {
    /// Heading.
    pub title: String,
    /// Heads of columns.
    pub head: Vec<String>,
    /// Rows of cells.
    pub rows: Vec<Vec<String>>,
}

impl Grid {
    fn new(title: impl Into<String>, head: impl IntoIterator<Item = String>) -> Grid {
        let profiler = ["profiler".to_string()].into_iter();
        Grid {
            title: title.into(),
            head: profiler.chain(head).collect(),
            rows: Vec::new(),
        }
    }

    fn row(&mut self, entry: &Entry, cells: impl IntoIterator<Item = String>) {
        let name = [entry.name.clone()].into_iter();
        self.rows.push(name.chain(cells).collect());
    }
}

/// The tables of a board that have rows.
#[must_use]
pub fn grids(board: &Board) -> Vec<Grid> {
    let mut all = vec![samples(board), decisions(board), groups(board)];
    all.retain(|grid| !grid.rows.is_empty());
    all
}

fn watching(board: &Board) -> impl Iterator<Item = &Entry> {
    board.entries.iter().filter(|e| e.form == Form::Watching)
}

/// The numbers of samples at which profilers watched, the fewest first.
fn sizes(board: &Board, of: impl Fn(&Entry) -> &[AtSamples]) -> Vec<u64> {
    let mut all: Vec<u64> = watching(board)
        .flat_map(|e| of(e).iter().map(|at| at.samples))
        .collect();
    all.sort_unstable();
    all.dedup();
    all
}

fn plain(mean: Option<&Mean>) -> String {
    mean.map_or_else(|| "–".to_string(), |m| format!("{:.2}", 100.0 * m.mean))
}

fn samples(board: &Board) -> Grid {
    let level = Level::Instruction.name();
    let (measured, drawn) = (
        sizes(board, |e| &e.mean.by_samples),
        sizes(board, |e| &e.mean.by_draws),
    );
    let most = measured.last().copied().unwrap_or(0);
    let drawn: Vec<u64> = drawn.into_iter().filter(|n| *n > most).collect();
    let head = measured.iter().map(|n| grouped(*n));
    let head = head.chain(drawn.iter().map(|n| format!("{} drawn", grouped(*n))));
    let mut grid = Grid::new(
        "Error by instruction in %, by the number of samples: measured, of independent draws, and with every cycle sampled (∞)",
        head.chain(["∞".to_string()]),
    );
    let at = |of: &[AtSamples], n: u64| {
        let at = of.iter().find(|at| at.samples == n);
        plain(at.and_then(|at| at.errors.get(level)))
    };
    for entry in watching(board) {
        let figures = &entry.mean;
        if measured.len() + drawn.len() < 2 && figures.biases.is_empty() {
            continue;
        }
        let cells = measured.iter().map(|n| at(&figures.by_samples, *n));
        let cells = cells.chain(drawn.iter().map(|n| at(&figures.by_draws, *n)));
        grid.row(entry, cells.chain([plain(figures.biases.get(level))]));
    }
    grid
}

fn decisions(board: &Board) -> Grid {
    let sizes = sizes(board, |e| &e.mean.by_samples);
    let counts: Vec<String> = sizes.iter().map(|n| grouped(*n)).collect();
    let hottest = QUESTIONS.map(|(level, ..)| format!("hottest {}", level.name()));
    let top = QUESTIONS.map(|(level, ..)| format!("five {}s", level.name()));
    let head = hottest.into_iter().chain(top);
    let events = ["its cause", "events: precision", "recall"].map(str::to_string);
    let mut grid = Grid::new(
        format!(
            "Right decisions in %, with {} samples: the hottest named, how many of the five hottest, the events of the \
             hottest instruction, and time by events",
            counts.join(" / ")
        ),
        head.chain(events),
    );
    for entry in watching(board) {
        let by_samples = &entry.mean.by_samples;
        let cell = |question: &str| {
            let at = by_samples.iter().filter_map(|at| at.answers.get(question));
            let at: Vec<String> = at.map(|m| format!("{:.0}", 100.0 * m.mean)).collect();
            match at.is_empty() {
                true => "–".to_string(),
                false => at.join(" / "),
            }
        };
        let questions = QUESTIONS.iter().map(|q| q.1);
        let questions = questions.chain(QUESTIONS.iter().map(|q| q.2));
        let questions = questions.chain([CAUSE, EVENT_PRECISION, EVENT_RECALL]);
        if !entry.mean.answers.is_empty() {
            grid.row(entry, questions.map(cell));
        }
    }
    grid
}

fn groups(board: &Board) -> Grid {
    let of_group = |group: Group| {
        let programs = board.programs.iter();
        programs.filter(move |p| board.groups.get(*p) == Some(&group))
    };
    let there = || {
        let all = Group::ALL.into_iter();
        all.filter(|group| of_group(*group).next().is_some())
    };
    let head = there().map(|group| format!("{} ({})", group.name(), of_group(group).count()));
    let mut grid = Grid::new(
        "Error by instruction in %, by what programs' cycles go to (number of programs)",
        head,
    );
    if board.programs.len() < 2 {
        return grid;
    }
    for entry in watching(board) {
        let cells = there().map(|group| {
            let errors: Vec<f64> = of_group(group)
                .filter_map(|program| {
                    let figures = entry.by_program.get(program)?;
                    Some(figures.errors.get(Level::Instruction.name())?.mean)
                })
                .collect();
            let mean = (!errors.is_empty()).then(|| Mean::of_values(&errors));
            in_percent(mean.as_ref())
        });
        grid.row(entry, cells);
    }
    grid
}
