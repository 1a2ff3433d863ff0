//! The tables of a leaderboard.

use hps_experiments::leaderboard::{
    Board, Entry, Figures, Form, Grid, LEVELS, Mean, grids, in_percent,
};

use super::{over, title_of};
use crate::chapter::ChapterTable;

/// Text above the board.
pub(super) fn overview(board: &Board, budgets: &[f64]) -> String {
    let mut text = format!(
        "Errors are 1 - overlap, the share of the weight that a profile gives to the wrong members, in percent; {}. In \
         parentheses is the 95% interval: of a mean over programs by the bootstrap over programs, of one program by Student's \
         t over the phases of the period, or over its runs. In brackets are the values of fewer than four programs.",
        over(board)
    );
    if !budgets.is_empty() {
        let percent = |budget: &f64| format!("{:.3}%", 100.0 * budget);
        let all: Vec<String> = budgets.iter().map(percent).collect();
        text += &format!(
            " Profilers that cost cycles run where a search over sampling points ends, between 90% of the budget and all of \
             it in the mean over programs ({}); where they do not, the table says why.",
            all.join(", ")
        );
    }
    text
}

/// The profilers that watch only, and those that cost cycles.
pub(super) fn boards(board: &Board) -> Vec<ChapterTable> {
    let all: Vec<(&Entry, &Figures)> = board.entries.iter().map(|e| (e, &e.mean)).collect();
    let mut tables = vec![passive(
        "Where cycles go: profilers that watch only",
        &all,
        true,
    )];
    tables.push(collected(
        "Where cycles go: interrupts, handlers and buffers at their cost",
        &all,
    ));
    tables.push(costly(
        "Profilers that sample in bursts and cost cycles",
        &all,
    ));
    tables.extend(grids(board).into_iter().map(of_grid));
    tables.push(pairs(board));
    tables.retain(|table| !table.rows.is_empty());
    tables
}

fn of_grid(grid: Grid) -> ChapterTable {
    let head: Vec<&str> = grid.head.iter().map(String::as_str).collect();
    let mut table = ChapterTable::new(&grid.title, 1, &head);
    table.rows = grid.rows;
    table
}

/// Who is ahead of whom, and what is a draw.
fn pairs(board: &Board) -> ChapterTable {
    let head = [
        "Run",
        "Budget",
        "By",
        "Profiler",
        "Error",
        "Next",
        "Error of the next is greater by",
        "Pairs",
        "Verdict",
    ];
    let title =
        "Each profiler against the next one: phase by phase if it watches, else program by program";
    let mut table = ChapterTable::new(title, 3, &head);
    table.folded = true;
    for pair in &board.pairs {
        let form = match pair.form {
            Form::Watching => "watches",
            Form::Collected => "at its cost",
            Form::Bursts => "in bursts",
        };
        let half = pair
            .half_width
            .map(|half| format!(" ± {:.2}", 100.0 * half));
        table.rows.push(vec![
            form.to_string(),
            in_budget(pair.budget),
            pair.level.clone(),
            pair.ahead.clone(),
            format!("{:.2}", 100.0 * pair.error),
            pair.behind.clone(),
            format!("{:.2}{}", 100.0 * pair.difference, half.unwrap_or_default()),
            pair.pairs.to_string(),
            if pair.is_draw { "draw" } else { "ahead" }.to_string(),
        ]);
    }
    table
}

/// Each program by itself.
pub(super) fn programs(board: &Board) -> Vec<ChapterTable> {
    let mut tables = Vec::new();
    for program in &board.programs {
        let of_program: Vec<(&Entry, &Figures)> = (board.entries.iter())
            .filter_map(|e| Some((e, e.by_program.get(program)?)))
            .collect();
        let mut title = program.clone();
        if let (Some(cycles), Some(ipc)) = (board.cycles.get(program), board.ipc.get(program)) {
            title += &format!(" ({cycles} cycles, IPC {ipc:.2})");
        }
        tables.push(passive(&title, &of_program, false));
        tables.push(collected(&format!("{title}: at their cost"), &of_program));
        tables.push(costly(&format!("{title}: in bursts"), &of_program));
    }
    tables.retain(|table| !table.rows.is_empty());
    for table in &mut tables {
        table.folded = true;
    }
    tables
}

fn passive(title: &str, entries: &[(&Entry, &Figures)], with_hardware: bool) -> ChapterTable {
    let has_bias = entries.iter().any(|(_, f)| !f.biases.is_empty());
    let mut head = vec![
        "Profiler",
        "Instruction",
        "Block",
        "Line",
        "Function",
        "Event stacks",
    ];
    if has_bias {
        head.push("Every cycle sampled");
    }
    head.push("Samples");
    if with_hardware {
        head.extend(["A period counts", "Takes"]);
    }
    let mut table = ChapterTable::new(title, 1, &head);
    let watching = entries.iter().filter(|(e, _)| e.form == Form::Watching);
    for (entry, figures) in watching {
        let mut cells = vec![entry.name.clone()];
        let levels = LEVELS.iter().chain(&["event-stack"]);
        cells.extend(levels.map(|level| in_percent(figures.errors.get(*level))));
        if has_bias {
            cells.push(in_percent(figures.biases.get("instruction")));
        }
        cells.push(count(figures.samples.as_ref()));
        if with_hardware {
            cells.extend([entry.counts.clone(), entry.takes.clone()]);
        }
        table.rows.push(cells);
    }
    table
}

fn collected(title: &str, entries: &[(&Entry, &Figures)]) -> ChapterTable {
    let head = [
        "Profiler",
        "Budget",
        "Period, cycles",
        "Instruction",
        "Block",
        "Line",
        "Function",
        "Perturbation",
        "Overhead",
        "Memory, KiB",
        "Samples",
        "Interrupts",
    ];
    let mut table = ChapterTable::new(title, 1, &head);
    let collected = entries.iter().filter(|(e, _)| e.form == Form::Collected);
    for (entry, figures) in collected {
        let mut cells = vec![
            with_reason(entry, entry.name.clone()),
            in_budget(entry.budget),
            entry.point.map_or_else(String::new, |(_, n)| n.to_string()),
        ];
        cells.extend(LEVELS.map(|level| in_percent(figures.errors.get(level))));
        cells.extend([
            in_percent(figures.perturbation.as_ref()),
            in_percent(figures.overhead.as_ref()),
            kib(figures),
            count(figures.samples.as_ref()),
            count(figures.interrupts.as_ref()),
        ]);
        table.rows.push(cells);
    }
    table
}

/// A name, with the reason why the profiler does not spend its budget.
fn with_reason(entry: &Entry, name: String) -> String {
    match entry.fit.reason() {
        "" => name,
        reason => format!("{name} ({reason})"),
    }
}

/// A budget in percent; a dash without one.
fn in_budget(budget: Option<f64>) -> String {
    budget.map_or_else(
        || "–".to_string(),
        |budget| format!("{:.3}", 100.0 * budget),
    )
}

fn kib(figures: &Figures) -> String {
    let memory = figures.memory_bytes.map(|m| m.mean / 1024.0);
    memory.map_or_else(String::new, |kib| format!("{kib:.0}"))
}

fn costly(title: &str, entries: &[(&Entry, &Figures)]) -> ChapterTable {
    let head = [
        "Profiler",
        "Budget",
        "Burst, 1/n",
        "Sampling error",
        "Perturbation",
        "Overhead",
        "Memory, KiB",
        "Samples",
        "Takes",
    ];
    let mut table = ChapterTable::new(title, 1, &head);
    for (entry, figures) in entries {
        let (Some(kind), Some((burst, one_in))) = (entry.kind, entry.point) else {
            continue;
        };
        table.rows.push(vec![
            with_reason(entry, title_of(entry)),
            in_budget(entry.budget),
            format!("{burst}, 1/{one_in}"),
            in_percent(figures.errors.get(kind.name())),
            in_percent(figures.perturbation.as_ref()),
            in_percent(figures.overhead.as_ref()),
            kib(figures),
            count(figures.samples.as_ref()),
            entry.takes.clone(),
        ]);
    }
    table
}

fn count(mean: Option<&Mean>) -> String {
    mean.map_or_else(String::new, |m| format!("{:.0}", m.mean))
}
