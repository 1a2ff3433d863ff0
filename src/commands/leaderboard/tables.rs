//! A board as text.

use hps_experiments::leaderboard::{Board, Entry, Figures, Form, LEVELS, Mean, in_percent};

use crate::text::{Align, Table, grouped};

/// The tables of a board: in the mean over programs, and each program by itself if asked for.
pub fn board(board: &Board, by_program: bool) -> String {
    let (count, over) = match board.programs.len() {
        1 => ("1 program".to_string(), "phases of the period"),
        count => (format!("{count} programs"), "programs"),
    };
    let mut text = format!(
        "{} on {}, {count}: errors (1 - overlap) and overheads in %, mean over {over} ± its 95% interval\n\n",
        board.isa, board.machine
    );
    text += &figures(board, |entry| Some(&entry.mean), true);
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
    let has_bias = entries.iter().any(|(_, f)| !f.biases.is_empty());
    let mut table = Table::new(&[("where cycles go", Align::Left)]);
    for level in LEVELS {
        table.column(level, Align::Right);
    }
    if has_bias {
        table.column("∞ samples", Align::Right);
    }
    table.column("overhead", Align::Right);
    table.column("samples", Align::Right);
    if with_hardware {
        table.column("takes", Align::Left);
    }
    for (entry, figures) in entries {
        let mut cells = vec![entry.name.clone()];
        cells.extend(LEVELS.map(|level| in_percent(figures.errors.get(level))));
        if has_bias {
            cells.push(plain(figures.biases.get("instruction")));
        }
        cells.push("none charged".to_string());
        cells.push(samples(figures));
        if with_hardware {
            cells.push(entry.takes.clone());
        }
        table.row(cells);
    }
    let mut text = table.render();
    if has_bias {
        text += "∞ samples: the error by instruction if every cycle is sampled\n";
    }
    for (entry, figures) in entries {
        if let Some(error) = figures.errors.get("event-stack") {
            text += &format!(
                "{}: {} over instructions with their sets of events\n",
                entry.name,
                in_percent(Some(error))
            );
        }
    }
    text
}

fn collected_table(entries: &[(&Entry, &Figures)]) -> String {
    let mut table = Table::new(&[("at its cost", Align::Left), ("period", Align::Right)]);
    for level in LEVELS {
        table.column(level, Align::Right);
    }
    for head in ["perturbation", "overhead", "samples", "interrupts"] {
        table.column(head, Align::Right);
    }
    table.column("", Align::Left);
    for (entry, figures) in entries {
        let mut cells = vec![
            entry.name.clone(),
            entry
                .point
                .map_or_else(String::new, |(_, period)| grouped(period)),
        ];
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

/// Remark on a profiler whose cost is above the budget.
fn remark(entry: &Entry) -> String {
    match entry.within_budget {
        true => String::new(),
        false => "above the budget at every point".to_string(),
    }
}

fn costly_table(entries: &[(&Entry, &Figures)]) -> String {
    let mut table = Table::new(&[
        ("profiler in bursts", Align::Left),
        ("profile", Align::Left),
        ("burst, 1/n", Align::Right),
        ("sampling error", Align::Right),
        ("perturbation", Align::Right),
        ("overhead", Align::Right),
        ("memory KiB", Align::Right),
        ("samples", Align::Right),
        ("", Align::Left),
    ]);
    for (entry, figures) in entries {
        let (Some(kind), Some((burst, one_in))) = (entry.kind, entry.point) else {
            continue;
        };
        let memory = figures.memory_bytes.map(|m| m.mean / 1024.0);
        table.row([
            entry.name.clone(),
            kind.title().to_string(),
            format!("{burst}, 1/{one_in}"),
            in_percent(figures.errors.get(kind.name())),
            in_percent(figures.perturbation.as_ref()),
            in_percent(figures.overhead.as_ref()),
            memory.map_or_else(String::new, |kib| format!("{kib:.0}")),
            samples(figures),
            remark(entry),
        ]);
    }
    table.render()
}

fn samples(figures: &Figures) -> String {
    let mean = figures.samples.map(|s| s.mean.round() as u64);
    mean.map_or_else(String::new, grouped)
}

/// In percent.
fn plain(mean: Option<&Mean>) -> String {
    mean.map_or_else(|| "–".to_string(), |m| format!("{:.2}", 100.0 * m.mean))
}
