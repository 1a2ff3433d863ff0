//! The exact profile as tables, for people.

use std::io::Write;

use hps_profilers::views::{FunctionTime, InstructionTime, lines, objects};

use super::exact::{Shown, mostly};
use super::{annotate, interpreted};
use crate::text::{Align, Table, grouped};

/// Prints the tables of functions, objects, lines and instructions.
pub(super) fn print(
    shown: &Shown<'_>,
    times: &[FunctionTime],
    out: &mut impl Write,
) -> anyhow::Result<()> {
    let top = shown.args.top;
    interpreted::print(shown, out)?;
    function_table(shown, &times[..top.min(times.len())], times.len(), out)?;
    object_table(shown, top, out)?;
    let lines = lines(shown.instructions, shown.symbols);
    if !lines.is_empty() {
        let columns = [
            ("own", Align::Right),
            ("cycles", Align::Right),
            ("CPI", Align::Right),
            ("mostly", Align::Left),
            ("line", Align::Left),
        ];
        let mut table = Table::new(&columns);
        for time in lines.iter().take(top) {
            table.row([
                format!("{:.2}%", shown.percent(time.stack.units())),
                grouped(shown.cycles(time.stack.units()).round() as u64),
                shown.cpi(time.stack.units(), time.commits),
                mostly(&time.stack),
                time.line.clone(),
            ]);
        }
        write!(
            out,
            "\nhottest lines, of {}\n{}",
            lines.len(),
            table.render()
        )?;
    }
    instruction_table(shown, top, out)
}

pub(super) fn function_table(
    shown: &Shown<'_>,
    times: &[FunctionTime],
    of: usize,
    out: &mut impl Write,
) -> anyhow::Result<()> {
    let columns = [
        ("own", Align::Right),
        ("with calls", Align::Right),
        ("cycles", Align::Right),
        ("calls", Align::Right),
        ("CPI", Align::Right),
        ("comp", Align::Right),
        ("stall", Align::Right),
        ("flush", Align::Right),
        ("drain", Align::Right),
        ("mostly", Align::Left),
        ("function", Align::Left),
    ];
    let columns = match shown.symbols.objects().len() {
        0 | 1 => &columns[..],
        _ => &[&columns[..], &[("object", Align::Left)]].concat(),
    };
    let mut table = Table::new(columns);
    for time in times {
        let own = time.own.units();
        let states = time
            .own
            .states()
            .map(|units| format!("{:.0}%", 100.0 * units as f64 / own.max(1) as f64));
        let [computing, stalled, flushed, drained] = states;
        let entry = shown.map.functions()[time.function].entry;
        let object = shown.object(shown.symbols.object_index(entry)).to_string();
        let known = |text: String| match shown.slices {
            None => text,
            Some(_) => "-".to_string(),
        };
        let row = [
            format!("{:.2}%", shown.percent(own)),
            known(format!("{:.2}%", shown.percent(time.inclusive_units))),
            grouped(shown.cycles(own).round() as u64),
            known(grouped(time.calls)),
            shown.cpi(own, time.commits),
            computing,
            stalled,
            flushed,
            drained,
            mostly(&time.own),
            shown.map.label(shown.symbols, time.function),
            object,
        ];
        table.row(row.into_iter().take(columns.len()));
    }
    write!(
        out,
        "\nfunctions, {} of {of}\n{}",
        times.len(),
        table.render()
    )?;
    Ok(())
}

/// Table of time by object, if the program has several.
fn object_table(shown: &Shown<'_>, top: usize, out: &mut impl Write) -> anyhow::Result<()> {
    if shown.symbols.objects().len() < 2 {
        return Ok(());
    }
    let times = objects(shown.instructions, shown.symbols, shown.map);
    let columns = [
        ("own", Align::Right),
        ("cycles", Align::Right),
        ("instructions", Align::Right),
        ("without names", Align::Right),
        ("CPI", Align::Right),
        ("mostly", Align::Left),
        ("object", Align::Left),
    ];
    let mut table = Table::new(&columns);
    for time in times.iter().take(top) {
        let units = time.stack.units();
        let nameless = 100.0 * time.nameless_commits as f64 / time.commits.max(1) as f64;
        table.row([
            format!("{:.2}%", shown.percent(units)),
            grouped(shown.cycles(units).round() as u64),
            grouped(time.commits),
            format!("{nameless:.1}%"),
            shown.cpi(units, time.commits),
            mostly(&time.stack),
            shown.object(time.object).to_string(),
        ]);
    }
    write!(out, "\nobjects, of {}\n{}", times.len(), table.render())?;
    Ok(())
}

fn instruction_table(shown: &Shown<'_>, top: usize, out: &mut impl Write) -> anyhow::Result<()> {
    let mut hottest: Vec<&InstructionTime> = shown.instructions.iter().collect();
    hottest.sort_by_key(|one| (std::cmp::Reverse(one.stack.units()), one.key));
    let columns = [
        ("own", Align::Right),
        ("times", Align::Right),
        ("CPI", Align::Right),
        ("mostly", Align::Left),
        ("events", Align::Left),
        ("instruction", Align::Left),
        ("in", Align::Left),
    ];
    let mut table = Table::new(&columns);
    for one in hottest.into_iter().take(top) {
        let units = one.stack.units();
        table.row([
            format!("{:.2}%", shown.percent(units)),
            grouped(one.commits),
            shown.cpi(units, one.commits),
            mostly(&one.stack),
            annotate::events(&one.stack),
            annotate::disassembly(shown, one.key),
            shown.place(one.key.pc),
        ]);
    }
    write!(
        out,
        "\nhottest instructions, of {}\n{}",
        shown.instructions.len(),
        table.render()
    )?;
    Ok(())
}
