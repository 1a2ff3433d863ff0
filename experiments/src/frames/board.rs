//! The leaderboard's boards: one row for each contender.

use hps_frames::{Column, Frame, Table, Unit, count, flag, real, text};
use hps_profile::ProfileKind;

use crate::leaderboard::{Board, Entry, Fit, Form, Mean};

/// A contender of a board.
struct Row<'a> {
    board: &'a Board,
    entry: &'a Entry,
}

impl Row<'_> {
    fn error(&self, level: &str) -> Option<f64> {
        value(self.entry.mean.errors.get(level))
    }

    fn error_half_width(&self, level: &str) -> Option<f64> {
        half_width(self.entry.mean.errors.get(level))
    }

    fn kind_error(&self) -> Option<f64> {
        self.error(self.entry.kind?.name())
    }

    fn kind_error_half_width(&self) -> Option<f64> {
        self.error_half_width(self.entry.kind?.name())
    }

    fn answer(&self, question: &str) -> Option<f64> {
        value(self.entry.mean.answers.get(question))
    }

    fn bias(&self, level: &str) -> Option<f64> {
        value(self.entry.mean.biases.get(level))
    }
}

fn value(mean: Option<&Mean>) -> Option<f64> {
    Some(mean?.mean)
}

fn half_width(mean: Option<&Mean>) -> Option<f64> {
    mean?.half_width()
}

fn form(form: Form) -> &'static str {
    match form {
        Form::Watching => "watching",
        Form::Collected => "collected",
        Form::Bursts => "bursts",
    }
}

/// Contenders of boards, in their order, in the mean over programs.
#[must_use]
pub fn board(boards: &[Board]) -> Frame {
    let rows = boards.iter().flat_map(|board| {
        let entries = board.entries.iter();
        entries.map(move |entry| Row { board, entry })
    });
    let mut columns = contender();
    columns.extend(errors());
    columns.extend(costs());
    columns.extend(decisions());
    let row = "a profiler of a leaderboard, in the mean over programs";
    Table::new("hps-board", 2, row, columns).frame(&rows.collect::<Vec<_>>())
}

/// Columns that say which contender it is.
fn contender<'a>() -> Vec<Column<Row<'a>>> {
    vec![
        text("isa", Unit::Text, "instruction set", |r| {
            Some(r.board.isa.as_str())
        }),
        text("machine", Unit::Text, "name of the machine", |r| {
            Some(r.board.machine.as_str())
        }),
        text("profiler", Unit::Text, "name of the profiler", |r| {
            Some(r.entry.name.as_str())
        }),
        text(
            "form",
            Unit::Word,
            "`watching`, `collected` (at its cost) or `bursts`",
            |r| Some(form(r.entry.form)),
        ),
        text(
            "kind",
            Unit::Word,
            "kind of profile that it collects; missing: where cycles go",
            |r| r.entry.kind.map(ProfileKind::name),
        ),
        count(
            "burst",
            Unit::Events,
            "burst length; of a profiler at its cost 1",
            |r| Some(r.entry.point?.0),
        ),
        count(
            "one_in",
            Unit::EventsOrCycles,
            "one event in so many is sampled; of a profiler at its cost the period in cycles",
            |r| Some(r.entry.point?.1),
        ),
        flag(
            "within_budget",
            Unit::Word,
            "false: no point stays within the budget, and this is the sparsest",
            |r| Some(r.entry.fit != Fit::Above),
        ),
        count(
            "programs",
            Unit::Number,
            "programs of the board, over which the next columns are means",
            |r| Some(r.board.programs.len() as u64),
        ),
    ]
}

/// Columns of errors.
fn errors<'a>() -> Vec<Column<Row<'a>>> {
    vec![
        real(
            "instruction_error",
            Unit::Share,
            "`1 - overlap` by instruction with the truth of its run",
            |r| r.error("instruction"),
        ),
        real(
            "instruction_error_half_width",
            Unit::Share,
            "half the width of its 95% interval",
            |r| r.error_half_width("instruction"),
        ),
        real(
            "block_error",
            Unit::Share,
            "`1 - overlap` by block with the truth of its run",
            |r| r.error("block"),
        ),
        real(
            "block_error_half_width",
            Unit::Share,
            "half the width of its 95% interval",
            |r| r.error_half_width("block"),
        ),
        real(
            "line_error",
            Unit::Share,
            "`1 - overlap` by line with the truth of its run",
            |r| r.error("line"),
        ),
        real(
            "line_error_half_width",
            Unit::Share,
            "half the width of its 95% interval",
            |r| r.error_half_width("line"),
        ),
        real(
            "function_error",
            Unit::Share,
            "`1 - overlap` by function with the truth of its run",
            |r| r.error("function"),
        ),
        real(
            "function_error_half_width",
            Unit::Share,
            "half the width of its 95% interval",
            |r| r.error_half_width("function"),
        ),
        real(
            "event_stack_error",
            Unit::Share,
            "`1 - overlap` by event stack with the truth of its run",
            |r| r.error("event-stack"),
        ),
        real(
            "event_stack_error_half_width",
            Unit::Share,
            "half the width of its 95% interval",
            |r| r.error_half_width("event-stack"),
        ),
        real(
            "kind_error",
            Unit::Share,
            "`1 - overlap` of its kind of profile with the exhaustive one",
            Row::kind_error,
        ),
        real(
            "kind_error_half_width",
            Unit::Share,
            "half the width of its 95% interval",
            Row::kind_error_half_width,
        ),
        real(
            "instruction_bias",
            Unit::Share,
            "error with every cycle sampled; not with `--no-bias`",
            |r| r.bias("instruction"),
        ),
        real(
            "block_bias",
            Unit::Share,
            "error with every cycle sampled; not with `--no-bias`",
            |r| r.bias("block"),
        ),
        real(
            "line_bias",
            Unit::Share,
            "error with every cycle sampled; not with `--no-bias`",
            |r| r.bias("line"),
        ),
        real(
            "function_bias",
            Unit::Share,
            "error with every cycle sampled; not with `--no-bias`",
            |r| r.bias("function"),
        ),
        real(
            "event_stack_bias",
            Unit::Share,
            "error with every cycle sampled; not with `--no-bias`",
            |r| r.bias("event-stack"),
        ),
    ]
}

/// Columns of costs.
fn costs<'a>() -> Vec<Column<Row<'a>>> {
    vec![
        real(
            "overhead",
            Unit::Share,
            "cycles that it costs, of those of the undisturbed run",
            |r| value(r.entry.mean.overhead.as_ref()),
        ),
        real(
            "overhead_half_width",
            Unit::Share,
            "half the width of its 95% interval",
            |r| half_width(r.entry.mean.overhead.as_ref()),
        ),
        real(
            "perturbation",
            Unit::Share,
            "`1 - overlap` by function of its run's exact profile with the undisturbed one",
            |r| value(r.entry.mean.perturbation.as_ref()),
        ),
        real(
            "perturbation_half_width",
            Unit::Share,
            "half the width of its 95% interval",
            |r| half_width(r.entry.mean.perturbation.as_ref()),
        ),
        real(
            "memory_bytes",
            Unit::Bytes,
            "memory of the program that it takes",
            |r| value(r.entry.mean.memory_bytes.as_ref()),
        ),
        real("samples", Unit::Number, "samples in a run", |r| {
            value(r.entry.mean.samples.as_ref())
        }),
        real(
            "interrupts",
            Unit::Number,
            "interrupts and assists in a run",
            |r| value(r.entry.mean.interrupts.as_ref()),
        ),
    ]
}

/// Columns of budgets and decisions, which came with version 2.
fn decisions<'a>() -> Vec<Column<Row<'a>>> {
    vec![
        real(
            "budget",
            Unit::Share,
            "overhead for which the point was looked for; missing without a budget",
            |r| r.entry.budget,
        ),
        text(
            "fit",
            Unit::Word,
            "`free`: no budget; `spent`: from 90% to all of it; `densest`, `jumps`, `above`: [why not](#an-entry)",
            |r| Some(r.entry.fit.name()),
        ),
        real(
            "hottest_function",
            Unit::Share,
            "right names of the hottest function, as a share of phases; of profilers that watch",
            |r| r.answer("hottest-function"),
        ),
        real(
            "hottest_line",
            Unit::Share,
            "the same of the hottest line",
            |r| r.answer("hottest-line"),
        ),
        real(
            "hottest_instruction",
            Unit::Share,
            "the same of the hottest instruction",
            |r| r.answer("hottest-instruction"),
        ),
        real(
            "top_five_functions",
            Unit::Share,
            "share of the five hottest functions that it names",
            |r| r.answer("top-five-functions"),
        ),
        real("top_five_lines", Unit::Share, "the same of lines", |r| {
            r.answer("top-five-lines")
        }),
        real(
            "top_five_instructions",
            Unit::Share,
            "the same of instructions",
            |r| r.answer("top-five-instructions"),
        ),
        real(
            "cause",
            Unit::Share,
            "right events of the hottest instruction, as a share of phases; of profilers that tell events",
            |r| r.answer("cause"),
        ),
        real(
            "event_precision",
            Unit::Share,
            "share of the time that it tells at (instruction, event) that is true",
            |r| r.answer("event-precision"),
        ),
        real(
            "event_recall",
            Unit::Share,
            "share of the true time at (instruction, event) that it tells",
            |r| r.answer("event-recall"),
        ),
    ]
}
