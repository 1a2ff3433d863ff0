//! `hps shim simulate --calls`: the calls that an observer finds, beside every call.

use std::io::Write;

use hps_experiments::callgraphs::{Collector, ObservedGraph, observe_graph};
use hps_lab::Program;
use hps_pipeline::config::MachineConfig;

use super::args::{Seat, SimulateArgs};
use super::simulate::{function_name, percent, placement, throttle};
use crate::commands::run::fault;
use crate::program::seen_once;
use crate::text::{self, Align, Table, grouped};

/// Edges in the table.
const EDGES: usize = 20;

/// Runs the program alone, with what is written for an observer, and beside that, and prints both graphs.
pub(super) fn simulate(args: &SimulateArgs, collector: Collector) -> anyhow::Result<u8> {
    let machine = MachineConfig::load(&args.machine)?;
    let limit = args.max_instructions.unwrap_or(u64::MAX);
    let program = seen_once(&args.command, args.isa, &args.guest)?.with_objects(limit)?;
    let how = (collector, placement(args, Seat::Cmp), throttle(args));
    let graph = observe_graph(&program, &machine, how, limit).map_err(anyhow::Error::msg)?;
    let os = &graph.process.os;
    text::pass_on(os.captured_stdout(), os.captured_stderr())?;
    let mut out = text::out();
    write!(out, "{}", summary(&graph, collector).render())?;
    if graph.calls > 0 {
        write!(out, "\n{}", edges(&program, &graph).render())?;
    }
    fault::say_end(graph.stop, &graph.process, graph.instructions, None);
    Ok(graph.stop.exit_code(program.image.isa) as u8)
}

fn summary(graph: &ObservedGraph, collector: Collector) -> Table {
    let mut table = Table::new(&[("what", Align::Left), ("value", Align::Right)]);
    let mut row = |what: &str, value: String| table.row([what.to_string(), value]);
    let over = |cycles: u64| percent(cycles as f64 / graph.cycles_alone.max(1) as f64 - 1.0);
    row("collector", collector.title());
    row("instructions", grouped(graph.instructions));
    row("cycles, alone", grouped(graph.cycles_alone));
    row("overhead of what is written", over(graph.cycles_written));
    row("overhead with the observer", over(graph.cycles_observed));
    row("calls", grouped(graph.calls));
    row("calls found", grouped(graph.calls_found));
    row("accuracy, by function", percent(graph.accuracy));
    row("found that never were", percent(graph.invalid));
    match collector {
        Collector::Stack(_) => row("found while they changed", percent(graph.torn)),
        Collector::Sequence(_) => row("calls without a caller", grouped(graph.orphans)),
        _ => {}
    }
    table
}

/// Edges by their true shares, with what was found.
fn edges(program: &Program, graph: &ObservedGraph) -> Table {
    let mut table = Table::new(&[
        ("caller", Align::Left),
        ("callee", Align::Left),
        ("found", Align::Right),
        ("calls", Align::Right),
    ]);
    for ((caller, callee), found, truth) in graph.edges.iter().take(EDGES) {
        let cells = [
            function_name(program, *caller),
            function_name(program, *callee),
            percent(*found),
            percent(*truth),
        ];
        table.row(cells);
    }
    table
}
