//! Functions that interpreters execute, for people and as JSON.

use std::io::Write;

use hps_profilers::ExactProfile;
use hps_profilers::views::{InterpretedLine, InterpretedTime, interpreted};
use hps_system::interpreted::{Function, Place};
use rustc_hash::FxHashMap;
use schemars::JsonSchema;
use serde::Serialize;

use super::apart::numbers;
use super::exact::Shown;
use crate::text::{Align, Table, grouped};

/// Functions and lines, by own time.
fn found<'a>(shown: &'a Shown<'_>) -> &'a (Vec<InterpretedTime>, Vec<InterpretedLine>) {
    let find = || interpreted(&shown.truth.exact);
    shown.interpreted.get_or_init(find)
}

/// Prints the tables of interpreted functions and their lines, if the program has run an interpreter.
pub(super) fn print(shown: &Shown<'_>, out: &mut impl Write) -> anyhow::Result<()> {
    print_functions(shown, out)?;
    if shown.truth.exact.interpreted.interpreters.is_empty() {
        return Ok(());
    }
    let (_, lines) = found(shown);
    let top = shown.args.top;
    write!(
        out,
        "\nhottest interpreted lines, of {}\n{}",
        lines.len(),
        line_table(shown, &lines[..top.min(lines.len())]).render()
    )?;
    Ok(())
}

/// Prints the table of interpreted functions, if the program has run an interpreter.
pub(super) fn print_functions(shown: &Shown<'_>, out: &mut impl Write) -> anyhow::Result<()> {
    let exact = &shown.truth.exact;
    if exact.interpreted.interpreters.is_empty() {
        return Ok(());
    }
    let (times, _) = found(shown);
    let top = shown.args.top;
    let own: u64 = times.iter().map(|time| time.own_units).sum();
    write!(
        out,
        "\ninterpreted functions ({}), exactly, {} of {}; {:.2}% of all cycles are outside of them\n{}",
        exact.interpreted.interpreters.join(", "),
        top.min(times.len()),
        times.len(),
        100.0 - shown.percent(own),
        function_table(shown, &times[..top.min(times.len())]).render()
    )?;
    Ok(())
}

fn function_table(shown: &Shown<'_>, times: &[InterpretedTime]) -> Table {
    let mut table = Table::new(&[
        ("own", Align::Right),
        ("with calls", Align::Right),
        ("cycles", Align::Right),
        ("instructions", Align::Right),
        ("CPI", Align::Right),
        ("calls", Align::Right),
        ("function", Align::Left),
        ("defined at", Align::Left),
    ]);
    for time in times {
        let function = function(shown, time.function);
        table.row([
            format!("{:.2}%", shown.percent(time.own_units)),
            format!("{:.2}%", shown.percent(time.inclusive_units)),
            grouped(shown.cycles(time.own_units).round() as u64),
            grouped(time.commits),
            shown.cpi(time.own_units, time.commits),
            grouped(time.calls),
            function.name.clone(),
            format!("{}:{}", function.file, function.first_line),
        ]);
    }
    table
}

fn line_table(shown: &Shown<'_>, lines: &[InterpretedLine]) -> Table {
    let mut table = Table::new(&[
        ("own", Align::Right),
        ("cycles", Align::Right),
        ("CPI", Align::Right),
        ("line", Align::Left),
        ("function", Align::Left),
    ]);
    for line in lines {
        let Place {
            function: at,
            line: number,
        } = line.place;
        let function = function(shown, at);
        table.row([
            format!("{:.2}%", shown.percent(line.units)),
            grouped(shown.cycles(line.units).round() as u64),
            shown.cpi(line.units, line.commits),
            match number {
                0 => format!("{}:?", function.file),
                _ => format!("{}:{number}", function.file),
            },
            function.name.clone(),
        ]);
    }
    table
}

fn function<'a>(shown: &Shown<'a>, number: u32) -> &'a Function {
    &shown.truth.exact.interpreted.names.functions()[number as usize]
}

/// Time of an interpreted function in all programs of a run.
#[derive(Default)]
pub(super) struct SharedTime {
    /// Sums over programs, each of which has a number of its own for the function.
    time: InterpretedTime,
    /// The numbers of the programs that have executed it.
    programs: Vec<u32>,
}

/// Interpreted functions of all programs, most of their own time first.
pub(super) type Together = Vec<(Function, SharedTime)>;

/// Puts the interpreted functions of programs, which are given with their numbers, together.
pub(super) fn together<'a>(
    programs: impl IntoIterator<Item = (u32, &'a ExactProfile)>,
) -> Together {
    let mut all: FxHashMap<Function, SharedTime> = FxHashMap::default();
    for (number, exact) in programs {
        for time in interpreted(exact).0 {
            let function = &exact.interpreted.names.functions()[time.function as usize];
            let shared = all.entry(function.clone()).or_default();
            shared.time.calls += time.calls;
            shared.time.commits += time.commits;
            shared.time.own_units += time.own_units;
            shared.time.inclusive_units += time.inclusive_units;
            shared.programs.push(number);
        }
    }
    let mut all: Together = all.into_iter().collect();
    all.sort_by(|(a, x), (b, y)| {
        let place = |f: &Function| (f.file.clone(), f.first_line, f.name.clone());
        let order = y.time.own_units.cmp(&x.time.own_units);
        order.then_with(|| place(a).cmp(&place(b)))
    });
    all
}

/// Prints the table of the interpreted functions of all programs, whose cycles have so many units, if there are any.
pub(super) fn print_together(
    all: &Together,
    (top, cycles, units_per_cycle): (usize, u64, u64),
    out: &mut impl Write,
) -> anyhow::Result<()> {
    if all.is_empty() {
        return Ok(());
    }
    let percent = |units: u64| {
        let all = (cycles * units_per_cycle).max(1);
        format!("{:.2}%", 100.0 * units as f64 / all as f64)
    };
    let mut table = Table::new(&[
        ("own", Align::Right),
        ("with calls", Align::Right),
        ("instructions", Align::Right),
        ("calls", Align::Right),
        ("programs", Align::Left),
        ("function", Align::Left),
        ("defined at", Align::Left),
    ]);
    for (function, SharedTime { time, programs }) in all.iter().take(top) {
        table.row([
            percent(time.own_units),
            percent(time.inclusive_units),
            grouped(time.commits),
            grouped(time.calls),
            numbers(programs),
            function.name.clone(),
            format!("{}:{}", function.file, function.first_line),
        ]);
    }
    write!(
        out,
        "\ninterpreted functions of all programs, {} of {}\n{}",
        top.min(all.len()),
        all.len(),
        table.render()
    )?;
    Ok(())
}

/// An interpreted function of all programs.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct SharedDocument<'a> {
    #[serde(flatten)]
    function: FunctionDocument<'a>,
    /// Numbers of the programs that have executed it.
    in_programs: &'a [u32],
}

/// The interpreted functions of all programs.
pub(super) fn together_document(all: &Together) -> Vec<SharedDocument<'_>> {
    let functions = all.iter().map(|(function, shared)| SharedDocument {
        function: FunctionDocument::new(function, &shared.time),
        in_programs: &shared.programs,
    });
    functions.collect()
}

/// What interpreters executed. Times are in equal parts of a cycle.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct InterpretedDocument<'a> {
    /// Name and version of each interpreter that was read.
    interpreters: &'a [String],
    /// Functions, by own time.
    functions: Vec<FunctionDocument<'a>>,
    /// Lines, by own time.
    lines: Vec<InterpretedLineDocument<'a>>,
    /// Sentences on interpreters that could not be read.
    notes: &'a [String],
}

/// An interpreted function.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "InterpretedFunctionDocument")]
struct FunctionDocument<'a> {
    /// Qualified name.
    name: &'a str,
    /// Source file, as the program names it.
    file: &'a str,
    /// Line of its definition.
    first_line: u32,
    /// How often it was entered; a generator each time it goes on.
    calls: u64,
    /// Instructions that committed while it was the innermost one, those of native code included.
    instructions: u64,
    /// Units of these.
    own_units: u64,
    /// Units while it was on the stack, each once.
    inclusive_units: u64,
}

impl<'a> FunctionDocument<'a> {
    fn new(function: &'a Function, time: &InterpretedTime) -> Self {
        FunctionDocument {
            name: &function.name,
            file: &function.file,
            first_line: function.first_line,
            calls: time.calls,
            instructions: time.commits,
            own_units: time.own_units,
            inclusive_units: time.inclusive_units,
        }
    }
}

/// A line of an interpreted function.
#[derive(Debug, Serialize, JsonSchema)]
struct InterpretedLineDocument<'a> {
    /// Name of the function.
    function: &'a str,
    /// Source file, as the program names it.
    file: &'a str,
    /// The line, if it is known.
    line: Option<u32>,
    /// Instructions that committed while it ran.
    instructions: u64,
    /// Units of these.
    own_units: u64,
}

/// Interpreted functions and lines; `None` if the program has run no interpreter.
pub(super) fn document<'a>(shown: &'a Shown<'a>) -> Option<InterpretedDocument<'a>> {
    let found_in = &shown.truth.exact.interpreted;
    if found_in.interpreters.is_empty() && found_in.notes.is_empty() {
        return None;
    }
    let (times, lines) = found(shown);
    let of_function =
        |time: &InterpretedTime| FunctionDocument::new(function(shown, time.function), time);
    let of_line = |line: &InterpretedLine| {
        let function = function(shown, line.place.function);
        InterpretedLineDocument {
            function: &function.name,
            file: &function.file,
            line: Some(line.place.line).filter(|line| *line != 0),
            instructions: line.commits,
            own_units: line.units,
        }
    };
    Some(InterpretedDocument {
        interpreters: &found_in.interpreters,
        functions: times.iter().map(of_function).collect(),
        lines: lines.iter().map(of_line).collect(),
        notes: &found_in.notes,
    })
}
