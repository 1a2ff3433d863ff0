//! The statistics of a run for people.

use std::fmt::Write;

use hps_pipeline::core::Cause;

use super::rates::Doubt;
use super::statistics::{End, FunctionDocument, Part, Stack, Statistics};
use crate::commands::contention;
use crate::text::{Align, Table, grouped, ratio};

/// Width of the longest bar of a CPI stack, in characters.
const BAR: f64 = 40.0;
/// Functions listed.
const FUNCTIONS: usize = 20;

/// A table for standard error.
pub fn render(statistics: &Statistics) -> String {
    let mut out = head(statistics);
    if let Some(stack) = &statistics.cpi_stack {
        let measured = statistics
            .sampling
            .as_ref()
            .map_or(statistics.instructions, |s| s.units * s.unit_instructions);
        out += &cpi(stack, measured);
    }
    out += &by_core(statistics);
    out += &by_program(statistics);
    out += &contention::table(&statistics.contended_lines, "--json");
    if let Some(rates) = &statistics.rates {
        let mut table = Table::new(&[("rate", Align::Left), ("value", Align::Right)]);
        for (name, value) in rates {
            table.row([(*name).to_string(), format!("{value:.4}")]);
        }
        out += &format!("\n{}", table.render());
    }
    out += &counters(statistics);
    if let Some(functions) = &statistics.by_function {
        out += &by_function(functions);
    }
    if let Some(dise) = &statistics.dise {
        let columns = [
            ("production", Align::Left),
            ("matches", Align::Right),
            ("controls", Align::Right),
            ("replaced", Align::Right),
        ];
        let mut table = Table::new(&columns);
        for p in &dise.stats.productions {
            let numbers = [p.match_events, p.control_events, p.expansion_events].map(grouped);
            table.row([p.name.clone()].into_iter().chain(numbers));
        }
        out += &format!(
            "\nDISE, at decode, wrong paths included\n{}",
            table.render()
        );
    }
    out
}

fn head(s: &Statistics) -> String {
    let mut out = String::new();
    let mut line = |name: &str, value: String| {
        // Writing into a String cannot fail.
        let _ = writeln!(out, "{name:<22}{value}");
    };
    line(
        "program",
        [std::slice::from_ref(&s.program), s.arguments.as_slice()]
            .concat()
            .join(" "),
    );
    match &s.machine {
        Some(machine) => line("machine", machine.name.clone()),
        None => line("machine", "none: functional run".to_string()),
    }
    if let Some(core) = s.core_driven_by {
        line("core", format!("{core}-driven"));
    }
    match &s.end {
        End::Exit => line("ended", format!("exit code {}", s.exit_code)),
        End::Limit => line("ended", "at the limit of instructions".to_string()),
        End::Fault { cause, .. } => line("ended", cause.clone()),
    }
    if let Some(processes) = s.processes {
        line(
            "processes",
            format!("{}; all counts are of all of them", grouped(processes)),
        );
    }
    line("instructions", grouped(s.instructions));
    if s.retired.inserted + s.retired.handler > 0 {
        line("inserted", grouped(s.retired.inserted));
        line("in handlers", grouped(s.retired.handler));
    }
    if let (Some(cycles), Some(ipc)) = (s.cycles, s.ipc) {
        line("cycles", grouped(cycles));
        line("IPC", format!("{ipc:.4}"));
    }
    if let Some(slices) = &s.slices {
        line("in slices", slices.sentence());
    }
    if let Some(Doubt { too_many, too_few }) = s.doubt {
        let percent = |share: f64| format!("{:.1}%", 100.0 * share.min(1.0));
        line(
            "cycles in doubt",
            format!(
                "up to {} too many, {} too few: caches are asked in program order (--core cycle has none)",
                percent(too_many),
                percent(too_few)
            ),
        );
    }
    if let (Some(sampling), Some(ipc)) = (&s.sampling, s.ipc) {
        line(
            "IPC, sampled",
            format!(
                "{ipc:.4}; 95% confidence: {:.4} to {:.4}",
                sampling.ipc_from, sampling.ipc_to
            ),
        );
        line(
            "units",
            format!(
                "{} of {} instructions, one in {}",
                grouped(sampling.units),
                grouped(sampling.unit_instructions),
                grouped(sampling.period_instructions)
            ),
        );
    }
    line(
        "host seconds",
        format!(
            "{:.3} ({:.2} million instructions a second)",
            s.host_seconds, s.host_mips
        ),
    );
    out
}

/// A table of the cores, or of their contexts where cores have several.
fn by_core(statistics: &Statistics) -> String {
    if statistics.cores.is_empty() {
        return String::new();
    }
    let columns = [
        ("core", Align::Right),
        ("instructions", Align::Right),
        ("IPC", Align::Right),
        ("idle", Align::Right),
        ("mostly", Align::Left),
    ];
    let mut table = Table::new(&columns);
    let has_siblings = statistics.cores.iter().any(|one| one.context > 0);
    for document in &statistics.cores {
        let (core, stack) = (&document.core, &document.cpi_stack);
        let instructions = core.commit_program_instructions;
        let of_idle = |part: &&Part| part.cause == Cause::Idle.name();
        let idle = stack
            .parts
            .iter()
            .find(of_idle)
            .map_or(0, |part| part.slots);
        table.row([
            match has_siblings {
                true => format!("{}.{}", document.number, document.context),
                false => document.number.to_string(),
            },
            grouped(instructions),
            format!("{:.4}", ratio(instructions, core.cycles)),
            format!("{:.2}%", 100.0 * ratio(idle, stack.total_slots)),
            mostly(stack),
        ]);
    }
    format!("\n{}", table.render())
}

/// A table of the programs, in a run with several processes.
fn by_program(statistics: &Statistics) -> String {
    if statistics.programs.is_empty() {
        return String::new();
    }
    let columns = [
        ("program", Align::Right),
        ("process", Align::Right),
        ("file", Align::Left),
        ("instructions", Align::Right),
        ("cycles", Align::Right),
        ("IPC", Align::Right),
        ("mispredicted", Align::Right),
        ("L1D misses", Align::Right),
    ];
    let mut table = Table::new(&columns);
    for one in &statistics.programs {
        let share = |part: u64, whole: u64| match whole {
            0 => String::new(),
            _ => format!("{:.2}%", 100.0 * ratio(part, whole)),
        };
        let ipc = |cycles| format!("{:.4}", ratio(one.instructions, cycles));
        table.row([
            one.number.to_string(),
            one.pid.to_string(),
            one.name.clone(),
            grouped(one.instructions),
            one.cycles.map_or_else(String::new, grouped),
            one.cycles.map_or_else(String::new, ipc),
            share(one.branch_mispredicted_events, one.branch_events),
            share(one.l1d_read_miss_events, one.l1d_read_events),
        ]);
    }
    format!("\n{}", table.render())
}

/// The three largest parts of a stack.
fn mostly(stack: &Stack) -> String {
    let mut parts: Vec<_> = stack.parts.iter().filter(|p| p.slots > 0).collect();
    parts.sort_by_key(|p| std::cmp::Reverse(p.slots));
    let percent = |slots: u64| 100.0 * ratio(slots, stack.total_slots);
    let mostly: Vec<String> = parts
        .iter()
        .take(3)
        .map(|p| format!("{} {:.0}%", p.cause, percent(p.slots)))
        .collect();
    mostly.join(", ")
}

fn cpi(stack: &Stack, instructions: u64) -> String {
    let whole = stack.cpi(instructions);
    let mean = stack.contexts.map_or_else(String::new, |contexts| {
        format!(", in the mean of {contexts} contexts")
    });
    let mut out = format!("\nCPI stack: {whole:.4} cycles an instruction{mean}\n");
    let longest = stack
        .parts
        .iter()
        .map(|p| p.slots)
        .max()
        .unwrap_or(0)
        .max(1) as f64;
    for part in &stack.parts {
        let share = match stack.total_slots {
            0 => 0.0,
            _ => 100.0 * part.cycles / stack.total_cycles,
        };
        let bar = "#".repeat((BAR * part.slots as f64 / longest).round() as usize);
        let line = format!("  {:<14}{:>8.4} {share:>6.2}%  {bar}", part.cause, part.cpi);
        out += &format!("{}\n", line.trim_end());
    }
    out
}

/// Every counter that is not zero.
fn counters(statistics: &Statistics) -> String {
    let core = serde_json::to_value(statistics.core).unwrap_or_default();
    let core = core
        .as_object()
        .into_iter()
        .flatten()
        .filter_map(|(name, value)| Some((name.clone(), value.as_u64()?)));
    let memory = statistics
        .memory
        .iter()
        .flatten()
        .map(|(name, value)| ((*name).to_string(), *value));
    let mut table = Table::new(&[("counter", Align::Left), ("count", Align::Right)]);
    let mut any = false;
    for (name, value) in core.chain(memory).filter(|(_, value)| *value > 0) {
        table.row([name, grouped(value)]);
        any = true;
    }
    if any {
        format!("\n{}", table.render())
    } else {
        String::new()
    }
}

fn by_function(functions: &[FunctionDocument]) -> String {
    let columns = [
        ("cycles", Align::Right),
        ("share", Align::Right),
        ("function", Align::Left),
        ("mostly", Align::Left),
    ];
    let mut table = Table::new(&columns);
    for f in functions.iter().take(FUNCTIONS) {
        let cycles = format!("{:.0}", f.stack.total_cycles);
        table.row([
            cycles,
            format!("{:.2}%", 100.0 * f.share),
            f.function.clone(),
            mostly(&f.stack),
        ]);
    }
    let mut out = format!("\n{}", table.render());
    if functions.len() > FUNCTIONS {
        out += &format!("({} more functions)\n", functions.len() - FUNCTIONS);
    }
    out
}
