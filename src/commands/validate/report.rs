//! The comparison for people.

use std::fmt::Write;

use hps_experiments::validation::{Comparison, Origin, TimeComparison};

use crate::text::{Align, Table, grouped, wrapped};

/// Columns of a line of text.
const WIDTH: usize = 100;

fn percent(share: f64) -> String {
    format!("{:.1}%", 100.0 * share)
}

fn percent_or_dash(share: Option<f64>) -> String {
    share.map_or_else(|| "-".to_owned(), percent)
}

/// The report on one program, in full.
pub fn one(comparison: &Comparison, top: usize) -> String {
    let mut text = String::new();
    let c = comparison;
    let _ = writeln!(
        text,
        "{}",
        wrapped(&format!("{}: {}", c.program, c.verdict), WIDTH, 4)
    );
    let _ = writeln!(
        text,
        "natively {} runs of {:.1} ms, {} samples, one in {:.0} cycles; simulated {} instructions{}",
        c.runs,
        1e3 * c.native_seconds,
        grouped(c.samples),
        c.mean_period_cycles,
        grouped(c.instructions),
        match (c.cycles, c.simulated_ipc) {
            (Some(cycles), Some(ipc)) => format!(" in {} cycles (IPC {ipc:.2})", grouped(cycles)),
            _ => String::new(),
        }
    );
    match (c.native_instructions, c.native_ipc) {
        (Some(instructions), Some([least, middle, most])) => {
            let _ = writeln!(
                text,
                "natively {} instructions, hooks included, IPC {middle:.2} ({least:.2} to {most:.2})",
                grouped(instructions as u64)
            );
        }
        _ => {
            let why = c.native_counters_missing.as_deref();
            let why = why.unwrap_or("the program was not observed");
            let line = format!("no native instructions and IPC: {why}");
            let _ = writeln!(text, "{}", wrapped(&line, WIDTH, 4));
        }
    }
    if let Some(time) = &c.time {
        let _ = writeln!(
            text,
            "native time overlaps: cycles {}, cycles without hooks {}, samples of an observer inside {}, \
             instructions {}, exhaustive method profile {}, HPS {} (native runs differ by {})",
            percent_or_dash(time.instrumented_cycles),
            percent_or_dash(time.cycles),
            percent_or_dash(time.observed),
            percent(time.instructions),
            percent(time.exhaustive),
            percent(time.hps),
            percent(time.native_spread)
        );
    }
    let _ = writeln!(
        text,
        "HPS overlaps the exhaustive method profile by {} (both simulated)\n",
        percent(c.hps_accuracy)
    );
    let mut table = Table::new(&[
        ("time", Align::Right),
        ("cycles", Align::Right),
        ("no hooks", Align::Right),
        ("inside", Align::Right),
        ("instr.", Align::Right),
        ("events", Align::Right),
        ("HPS", Align::Right),
        ("calls", Align::Right),
        ("simulated", Align::Right),
        ("function", Align::Left),
    ]);
    for row in c.functions.iter().take(top) {
        table.row([
            percent_or_dash(row.native_time),
            percent_or_dash(row.instrumented_cycles),
            percent_or_dash(row.cycles),
            percent_or_dash(row.observed),
            percent(row.instructions),
            percent(row.exhaustive),
            percent(row.hps),
            grouped(row.native_calls),
            if row.native_calls == row.simulated_calls {
                "=".to_owned()
            } else {
                grouped(row.simulated_calls)
            },
            row.function.clone(),
        ]);
    }
    text += &table.render();
    text += &graph(comparison, top);
    text += &observers(comparison);
    text
}

/// The call graphs of both sides: how many edges agree, and those that do not.
fn graph(comparison: &Comparison, top: usize) -> String {
    let graph = &comparison.call_graph;
    let mut text = format!(
        "\ncall graph: {} of {} edges are called equally often, the graphs overlap by {}\n",
        graph.equal,
        graph.edges,
        percent(graph.overlap)
    );
    if graph.differences.is_empty() {
        return text;
    }
    let mut table = Table::new(&[
        ("natively", Align::Right),
        ("simulated", Align::Right),
        ("caller", Align::Left),
        ("callee", Align::Left),
    ]);
    for edge in graph.differences.iter().take(top) {
        let caller = if edge.caller.is_empty() {
            "(begin)".to_owned()
        } else {
            edge.caller.clone()
        };
        table.row([
            grouped(edge.native),
            grouped(edge.simulated),
            caller,
            edge.callee.clone(),
        ]);
    }
    text += &table.render();
    text
}

/// Collectors of calls and distances of samples, a line for each side.
fn observers(comparison: &Comparison) -> String {
    let mut text = String::new();
    if !comparison.collectors.is_empty() {
        let mut table = Table::new(&[
            ("collector", Align::Left),
            ("", Align::Left),
            ("written", Align::Right),
            ("observed", Align::Right),
            ("found", Align::Right),
            ("accuracy", Align::Right),
            ("invalid", Align::Right),
            ("changed", Align::Right),
            ("no caller", Align::Right),
            ("overlap", Align::Right),
        ]);
        for c in &comparison.collectors {
            for (at, (side, found)) in [("native", &c.native), ("simulated", &c.simulated)]
                .into_iter()
                .enumerate()
            {
                let once = |text: String| if at == 0 { text } else { String::new() };
                table.row([
                    once(c.name.clone()),
                    side.to_owned(),
                    percent(found.written),
                    percent(found.observed),
                    percent(found.found),
                    percent(found.accuracy),
                    percent(found.invalid),
                    percent(found.changed),
                    percent(found.orphans),
                    once(percent(c.overlap)),
                ]);
            }
        }
        let _ = write!(text, "\n{}", table.render());
    }
    if let Some(periods) = &comparison.periods {
        let mut table = Table::new(&[
            ("cycles between samples", Align::Left),
            ("samples", Align::Right),
            ("kept", Align::Right),
            ("10%", Align::Right),
            ("median", Align::Right),
            ("90%", Align::Right),
            ("gap: median", Align::Right),
            ("90%", Align::Right),
        ]);
        for (side, seen) in [
            ("native", &periods.native),
            ("simulated", &periods.simulated),
        ] {
            let cycles = |value: f64| format!("{value:.0}");
            table.row([
                side.to_owned(),
                grouped(seen.samples),
                percent(seen.kept),
                cycles(seen.period.p10),
                cycles(seen.period.median),
                cycles(seen.period.p90),
                cycles(seen.gap.median),
                cycles(seen.gap.p90),
            ]);
        }
        let _ = write!(text, "\n{}", table.render());
    }
    if !text.is_empty() {
        let said = "Written, observed: what the program pays when nobody reads, and with the observer. Found: share \
            of all calls. Accuracy: overlap with every call, over functions. Invalid: found, and never made. Changed: \
            read while the stack changed (natively) or while caller and callee were no call (simulated). In the \
            simulation productions write for observers, into the program without hooks, of which at most \
            --observed-instructions run on --observed-on. Inside, in the table of functions: samples of such an observer.";
        let _ = write!(text, "\n{}", wrapped(said, WIDTH, 0));
    }
    text
}

/// All programs in one table, and a line for each.
pub fn all(comparisons: &[Comparison]) -> String {
    let mut table = Table::new(&[
        ("program", Align::Left),
        ("calls", Align::Right),
        ("equal", Align::Right),
        ("overlap", Align::Right),
        ("time: cycles", Align::Right),
        ("no hooks", Align::Right),
        ("instr.", Align::Right),
        ("events", Align::Right),
        ("HPS", Align::Right),
        ("HPS: events", Align::Right),
        ("runs differ", Align::Right),
    ]);
    for c in comparisons {
        let time =
            |of: fn(&TimeComparison) -> Option<f64>| percent_or_dash(c.time.as_ref().and_then(of));
        table.row([
            c.program.clone(),
            grouped(c.calls.native),
            format!("{}/{}", c.calls.equal, c.calls.functions),
            percent(c.calls.overlap),
            time(|t| t.instrumented_cycles),
            time(|t| t.cycles),
            time(|t| Some(t.instructions)),
            time(|t| Some(t.exhaustive)),
            time(|t| Some(t.hps)),
            percent(c.hps_accuracy),
            time(|t| Some(t.native_spread)),
        ]);
    }
    let mut text = table.render();
    text.push('\n');
    for c in comparisons {
        let line = format!("{}: {}", c.program, c.verdict);
        let _ = writeln!(text, "{}", wrapped(&line, WIDTH, 4));
    }
    text
}

/// Explanation of the numbers, and of what cannot agree.
pub fn explanation(origin: Origin, isa: &str) -> String {
    let calls = match origin {
        Origin::Rebuilt => {
            "Calls: entries counted natively and calls counted in the simulation, by function. Both \
             executables were built from the same sources without inlining, clones and tail calls, so \
             every difference is an error of one side, or a call that one compiler inserts (copies of \
             structures)."
                .to_owned()
        }
        Origin::Image => format!(
            "Calls: entries counted natively and calls counted in the simulation, by function. The \
             committed image has inlined functions and the native executable has not (install Debian's \
             gcc-{isa}-linux-gnu and g++-{isa}-linux-gnu to have the programs rebuilt without): there \
             the simulation sees fewer."
        ),
        Origin::User => {
            "Calls: entries counted natively and calls counted in the simulation, by function. They are \
             equal where both executables inline the same (the flags in scripts/real-programs.sh see to \
             that) and the program does the same, which may depend on addresses (seeds of hash tables)."
                .to_owned()
        }
    };
    let time = "Time: shares of the tags that the observer saw, medians over the runs, compared with \
        shares of cycles in the simulation, where the program is instrumented in the same way (the \
        measure that can agree); with cycles of the program without hooks; with instructions, which \
        are no time; with events (calls and back-edges), which is what HPS's method profile counts; \
        and with what HPS samples of them. Code without tags, such as a library's, counts for its \
        caller on both sides.";
    let cannot = "What cannot agree: another instruction set has other instructions in each function \
        and another compiler back-end other code; the native processor has other caches, widths and \
        latencies than the simulated one; natively the kernel's work counts for the function that asks \
        for it, above all page faults for the one that touches memory first (memset), and the simulator \
        has no kernel; the observer's reads take the tag's cache line away, which slows the next entry; \
        and whatever else runs on the host takes its time from whichever function it interrupts.";
    let mut text = String::new();
    for part in [calls.as_str(), time, cannot] {
        text += &wrapped(part, WIDTH, 0);
        text.push('\n');
    }
    text
}
