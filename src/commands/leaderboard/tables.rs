//! A board as text.

use hps_experiments::leaderboard::{Board, Entry, Figures, Form, Grid, LEVELS, grids, in_percent};

use crate::text::{Align, Table, grouped};

/// The tables of a board: in the mean over programs, and each program by itself if asked for.
pub fn board(board: &Board, by_program: bool) -> String {
    let (count, over) = match board.programs.len() {
        1 => ("1 program".to_string(), "of its phases or runs"),
        count @ 2..4 => (
            format!("{count} programs"),
            "none: in brackets are the programs' values",
        ),
        count => (
            format!("{count} programs"),
            "by the bootstrap over programs",
        ),
    };
    let mut text = format!(
        "{} on {}, {count}: errors (1 - overlap) and overheads in %; in parentheses the 95% interval ({over})\n\n",
        board.isa, board.machine
    );
    text += &figures(board, |entry| Some(&entry.mean), true);
    for grid in grids(board) {
        text.push('\n');
        text += &rendered(&grid);
    }
    if by_program {
        for program in &board.programs {
            text += &format!("\n{program}");
            if let (Some(cycles), Some(ipc)) = (board.cycles.get(program), board.ipc.get(program)) {
                text += &format!(": {} cycles, IPC {ipc:.2}", grouped(*cycles));
            }
            text += "\n\n";
            text += &figures(board, |entry| entry.by_program.get(program), false);
        }
    }
    text
}

fn rendered(grid: &Grid) -> String {
    let mut table = Table::new(&[]);
    for (at, head) in grid.head.iter().enumerate() {
        table.column(head, if at == 0 { Align::Left } else { Align::Right });
    }
    for row in &grid.rows {
        table.row(row.clone());
    }
    format!("{}\n{}", grid.title, table.render())
}

/// The profilers that watch only, those that collect the same at their cost, and those that sample in bursts.
fn figures<'a>(
    board: &'a Board,
    of: impl Fn(&'a Entry) -> Option<&'a Figures>,
    with_hardware: bool,
) -> String {
    let all = || board.entries.iter().filter_map(|e| Some((e, of(e)?)));
    let forms = [Form::Watching, Form::Collected, Form::Bursts];
    let tables = forms.into_iter().filter_map(|form| {
        let entries: Vec<_> = all().filter(|(e, _)| e.form == form).collect();
        let table = match form {
            Form::Watching => passive_table(&entries, with_hardware),
            Form::Collected => collected_table(&entries),
            Form::Bursts => costly_table(&entries),
        };
        (!entries.is_empty()).then_some(table)
    });
    tables.collect::<Vec<_>>().join("\n")
}

fn passive_table(entries: &[(&Entry, &Figures)], with_hardware: bool) -> String {
    let mut table = Table::new(&[("where cycles go", Align::Left)]);
    for level in LEVELS {
        table.column(level, Align::Right);
    }
    table.column("with events", Align::Right);
    table.column("overhead", Align::Right);
    table.column("samples", Align::Right);
    if with_hardware {
        table.column("takes", Align::Left);
    }
    for (entry, figures) in entries {
        let mut cells = vec![entry.name.clone()];
        cells.extend(LEVELS.map(|level| in_percent(figures.errors.get(level))));
        cells.push(in_percent(figures.errors.get("event-stack")));
        cells.push("none charged".to_string());
        cells.push(samples(figures));
        if with_hardware {
            cells.push(entry.takes.clone());
        }
        table.row(cells);
    }
    table.render() + "with events: error over instructions with their sets of events\n"
}

fn collected_table(entries: &[(&Entry, &Figures)]) -> String {
    let has_budget = has_budget(entries);
    let mut table = Table::new(&[("at its cost", Align::Left)]);
    if has_budget {
        table.column("budget", Align::Right);
    }
    table.column("period", Align::Right);
    for level in LEVELS {
        table.column(level, Align::Right);
    }
    for head in ["perturbation", "overhead", "samples", "interrupts"] {
        table.column(head, Align::Right);
    }
    table.column("", Align::Left);
    for (entry, figures) in entries {
        let mut cells = vec![entry.name.clone()];
        cells.extend(has_budget.then(|| budget(entry)));
        let period = entry.point.map(|(_, period)| grouped(period));
        cells.push(period.unwrap_or_default());
        cells.extend(LEVELS.map(|level| in_percent(figures.errors.get(level))));
        cells.extend([
            in_percent(figures.perturbation.as_ref()),
            in_percent(figures.overhead.as_ref()),
            samples(figures),
            (figures.interrupts).map_or_else(String::new, |i| grouped(i.mean.round() as u64)),
            remark(entry),
        ]);
        table.row(cells);
    }
    let mut text = table.render();
    text += "errors against the exact profile of the program's own cycles in that run; period in cycles\n";
    text
}

/// Whether points were looked for, so that the budget is worth a column.
fn has_budget(entries: &[(&Entry, &Figures)]) -> bool {
    entries.iter().any(|(entry, _)| entry.budget.is_some())
}

fn budget(entry: &Entry) -> String {
    let percent = entry.budget.map(|budget| 100.0 * budget);
    percent.map_or_else(String::new, |percent| format!("{percent:.3}"))
}

/// Why a profiler does not spend its budget.
fn remark(entry: &Entry) -> String {
    entry.fit.reason().to_string()
}

fn costly_table(entries: &[(&Entry, &Figures)]) -> String {
    let has_budget = has_budget(entries);
    let mut table = Table::new(&[
        ("profiler in bursts", Align::Left),
        ("profile", Align::Left),
    ]);
    if has_budget {
        table.column("budget", Align::Right);
    }
    for head in [
        "burst, 1/n",
        "sampling error",
        "perturbation",
        "overhead",
        "memory KiB",
        "samples",
    ] {
        table.column(head, Align::Right);
    }
    table.column("", Align::Left);
    for (entry, figures) in entries {
        let (Some(kind), Some((burst, one_in))) = (entry.kind, entry.point) else {
            continue;
        };
        let memory = figures.memory_bytes.map(|m| m.mean / 1024.0);
        let mut cells = vec![entry.name.clone(), kind.title().to_string()];
        cells.extend(has_budget.then(|| budget(entry)));
        cells.extend([
            format!("{burst}, 1/{one_in}"),
            in_percent(figures.errors.get(kind.name())),
            in_percent(figures.perturbation.as_ref()),
            in_percent(figures.overhead.as_ref()),
            memory.map_or_else(String::new, |kib| format!("{kib:.0}")),
            samples(figures),
            remark(entry),
        ]);
        table.row(cells);
    }
    table.render()
}

fn samples(figures: &Figures) -> String {
    let mean = figures.samples.map(|s| s.mean.round() as u64);
    mean.map_or_else(String::new, grouped)
}
