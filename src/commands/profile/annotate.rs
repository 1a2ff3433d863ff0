//! The code of a function with what each instruction cost.

use std::io::Write;

use anyhow::bail;
use hps_isa::ids::DisePc;
use hps_pipeline::core::EventSet;
use hps_profilers::Key;
use hps_profilers::views::{InstructionTime, Stack};

use super::exact::{Shown, mostly};
use crate::listing::Listing;
use crate::text::{Align, grouped};

/// The events of most units of an instruction, if any happened to it.
pub(super) fn events(stack: &Stack) -> String {
    let some = stack.events.iter().filter(|(events, _)| !events.is_empty());
    let Some((events, units)) =
        some.max_by_key(|(events, units)| (**units, std::cmp::Reverse(**events)))
    else {
        return String::new();
    };
    if *units * 100 < stack.units() {
        return String::new();
    }
    let share = 100.0 * *units as f64 / stack.units().max(1) as f64;
    format!("{} {share:.0}%", names(*events))
}

fn names(events: EventSet) -> String {
    events.names().collect::<Vec<_>>().join("+")
}

/// The instruction at an address as the program's memory holds it at the end of the run, or else as its file has it.
pub(super) fn disassembly(shown: &Shown<'_>, key: Key) -> String {
    let isa = shown.image.isa;
    let process = &shown.truth.ran.process;
    let mut bytes = [0; 4];
    let mut is_read = false;
    if process.os.program_number() == shown.number {
        let read = process
            .mem
            .read_bytes_forced(key.pc, &mut bytes)
            .or_else(|_| process.mem.read_bytes_forced(key.pc, &mut bytes[..2]));
        is_read = read.is_ok();
    }
    if !is_read && !shown.symbols.read_code(key.pc, &mut bytes) {
        return "(no longer there)".to_string();
    }
    let inst = isa.decode(u32::from_le_bytes(bytes));
    let text = isa.disassemble(&inst, key.pc);
    match key.disepc {
        DisePc::NONE => text,
        at => format!("[{at:?} of the expansion of] {text}"),
    }
}

/// The place in the map of the function of a name or an address.
fn find(shown: &Shown<'_>, name: &str) -> anyhow::Result<usize> {
    let functions = shown.map.functions();
    let digits = name.strip_prefix("0x").unwrap_or("");
    if let Ok(address) = u64::from_str_radix(digits, 16) {
        if let Some(at) = shown.map.find(address) {
            return Ok(at);
        }
        bail!("--annotate {name}: no function holds this address");
    }
    let exact = chosen(shown, name)?;
    let same_linkage = || {
        let symbol = shown.symbols.function_named(name)?;
        shown.map.find(symbol.addr)
    };
    if let Some(at) = exact.or_else(same_linkage) {
        return Ok(at);
    }
    let mut similar: Vec<&str> = functions
        .iter()
        .map(|f| f.name.as_str())
        .filter(|f| f.contains(name))
        .collect();
    similar.truncate(8);
    if similar.is_empty() {
        bail!(
            "--annotate {name}: the program has no such function; without --annotate, functions are listed"
        );
    }
    bail!(
        "--annotate {name}: the program has no such function; there are {}",
        similar.join(", ")
    )
}

/// The place of the function of this name, or `FILE:NAME`; none if there is none, an error if there are several.
fn chosen(shown: &Shown<'_>, name: &str) -> anyhow::Result<Option<usize>> {
    let functions = shown.map.functions();
    let named = |at: &usize| {
        let function = &functions[*at];
        function.name == name
            || name.strip_suffix(&function.name).is_some_and(|file| {
                let known = shown.map.file(shown.symbols, *at);
                let file = file.strip_suffix(':');
                file.zip(known).is_some_and(|(file, known)| {
                    known == file || known.ends_with(&format!("/{file}"))
                })
            })
    };
    let found: Vec<usize> = (0..functions.len()).filter(named).collect();
    if let [first, _, ..] = found[..] {
        let places = found.iter().map(|&at| {
            let file = shown.map.file(shown.symbols, at);
            let file = file.map(|file| format!(" of {file}")).unwrap_or_default();
            format!("{:#x}{file}", functions[at].entry)
        });
        bail!(
            "--annotate {name}: the program has {} functions of this name: {}; name one by its address, as {:#x}, or by its \
             file, as FILE:NAME",
            found.len(),
            places.collect::<Vec<_>>().join(", "),
            functions[first].entry
        );
    }
    Ok(found.first().copied())
}

/// Prints the instructions of a function that ran, with their cost and each profiler's opinion.
pub(super) fn annotate(shown: &Shown<'_>, name: &str, out: &mut impl Write) -> anyhow::Result<()> {
    let place = find(shown, name)?;
    let function = &shown.map.functions()[place];
    let inside: Vec<&InstructionTime> = shown
        .instructions
        .iter()
        .filter(|one| shown.map.find(one.key.pc) == Some(place))
        .collect();
    let own: u64 = inside.iter().map(|one| one.stack.units()).sum();
    writeln!(
        out,
        "\n{} at {:#x}: {:.2}% of all cycles, {} of {} instructions that ran",
        function.name,
        function.entry,
        shown.percent(own),
        inside.len(),
        shown.instructions.len()
    )?;
    if inside.is_empty() {
        writeln!(out, "none of its instructions has run")?;
        return Ok(());
    }
    let mut columns = vec![
        ("cycles", Align::Right),
        ("of it", Align::Right),
        ("times", Align::Right),
        ("CPI", Align::Right),
    ];
    columns.extend(shown.truth.sampled.iter().map(|s| (s.policy, Align::Right)));
    columns.extend([("mostly", Align::Left), ("events", Align::Left)]);
    let executed = shown.truth.exact.executed();
    let opinions: Vec<_> = shown
        .truth
        .sampled
        .iter()
        .map(|sampled| {
            let weights = sampled.by_instruction(&executed);
            let all: u64 = weights.values().sum();
            (weights, all)
        })
        .collect();
    let mut listing = Listing::new(columns);
    for one in inside {
        let units = one.stack.units();
        let head = [
            grouped(shown.cycles(units).round() as u64),
            format!("{:.1}%", 100.0 * units as f64 / own.max(1) as f64),
            grouped(one.commits),
            format!("{:.2}", shown.cycles(units) / one.commits.max(1) as f64),
        ];
        // Cycles of the run that the profiler gives to the instruction.
        let said = opinions.iter().map(|(weights, all)| {
            let weight = weights.get(&one.key).copied().unwrap_or(0);
            let cycles = weight as f64 / (*all).max(1) as f64 * shown.truth.exact.cycles as f64;
            grouped(cycles.round() as u64)
        });
        let tail = [mostly(&one.stack), events(&one.stack)];
        listing.row(
            head.into_iter().chain(said).chain(tail).collect(),
            shown.symbols.source_line(one.key.pc),
            one.key.pc,
            disassembly(shown, one.key),
        );
    }
    write!(out, "{}", listing.render())?;
    Ok(())
}
