//! `hps analyze`: cycles of an iteration in the steady state of a loop, and what limits it.

use anyhow::Context as _;
use hps_pipeline::config::MachineConfig;
use hps_system::os::{Output, Stdin};
use hps_teach::analyze::analyze as analyzed;
use hps_teach::protocol::{Analysis, AnalyzedLine, Bound};
use schemars::JsonSchema;
use serde::Serialize;

use crate::cli::AnalyzeArgs;
use crate::document::{Described, Format};
use crate::program;
use crate::text::{Align, Table};

/// Runs the program and prints the analysis of its loop.
pub fn analyze(args: &AnalyzeArgs) -> anyhow::Result<u8> {
    let machine = MachineConfig::load(&args.machine)?;
    let guest = hps_lab::GuestOptions {
        stdin: Stdin::Empty,
        stdout: Output::Discard,
        stderr: Output::Discard,
        ..hps_lab::GuestOptions::default()
    };
    let (name, arguments) = args.command.split_first().context("a program is missing")?;
    let program = match is_assembly(name) {
        true => program::assembled(name, args.isa, arguments, &guest)?,
        false => program::find(name, args.isa, arguments, &guest)?,
    };
    let analysis = analyzed(&program, &machine, args.max_instructions)
        .map_err(|problem| anyhow::anyhow!("{name}: {}", problem.message))?;
    args.json.write(&FORMAT.of(&LoopDocument::new(&analysis)))?;
    args.json.print_text(&render(&analysis, &machine.name))?;
    Ok(0)
}

/// Format of an analysis.
pub const FORMAT: Format = Format::new("hps-loop", 1);

/// The steady state of a loop.
#[derive(Debug, Serialize, JsonSchema)]
pub struct LoopDocument<'a> {
    /// Version of the lab.
    version: &'static str,
    /// Address of the first instruction of an iteration.
    head: &'a str,
    /// Share of the taken branches backwards that go to the head, of all in what ran: 1 if this is the only loop.
    share: f64,
    /// Iterations of the steady state.
    iterations: u64,
    /// Instructions of an iteration.
    instructions: f64,
    /// Cycles of an iteration, measured.
    cycles: f64,
    /// Bounds of an iteration: the least cycles that each resource allows.
    bounds: Vec<BoundDocument<'a>>,
    /// The largest bounds, or the cause of most lost cycles beyond them.
    limited_by: &'a [String],
    /// Instructions of an iteration.
    lines: Vec<LineDocument<'a>>,
}

/// A limit.
#[derive(Debug, Serialize, JsonSchema)]
struct BoundDocument<'a> {
    /// Name of the resource.
    name: &'a str,
    /// Cycles of an iteration that it takes at least.
    cycles: f64,
}

/// An instruction of a loop.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "LoopLineDocument")]
struct LineDocument<'a> {
    /// Address of the instruction.
    pc: &'a str,
    /// The instruction in assembly language.
    text: &'a str,
    /// Executions in an iteration.
    times: f64,
    /// Pool of units that executes it.
    pool: &'a str,
    /// Cycles from its operands to its result, of a store to its address.
    latency: f64,
    /// Whether it is on the chain that carries one iteration's result to the next.
    on_chain: bool,
    /// Cycles of an iteration that it adds to the chain: the bound of the chain is their sum.
    chain: f64,
    /// Events of the instruction: misses, mispredictions, the store that its value came from.
    notes: &'a [String],
}

impl<'a> LoopDocument<'a> {
    fn new(analysis: &'a Analysis) -> Self {
        let bound = |bound: &'a Bound| BoundDocument {
            name: &bound.name,
            cycles: bound.cycles,
        };
        let line = |line: &'a AnalyzedLine| LineDocument {
            pc: &line.pc,
            text: &line.text,
            times: line.times,
            pool: &line.pool,
            latency: line.latency,
            on_chain: line.on_chain,
            chain: line.chain,
            notes: &line.notes,
        };
        LoopDocument {
            version: env!("CARGO_PKG_VERSION"),
            head: &analysis.head,
            share: analysis.share,
            iterations: analysis.iterations,
            instructions: analysis.instructions,
            cycles: analysis.cycles,
            bounds: analysis.bounds.iter().map(bound).collect(),
            limited_by: &analysis.limited_by,
            lines: analysis.lines.iter().map(line).collect(),
        }
    }
}

/// Whether a program is given as assembly text.
pub fn is_assembly(name: &str) -> bool {
    std::path::Path::new(name)
        .extension()
        .is_some_and(|ending| ending.eq_ignore_ascii_case("s"))
}

fn render(analysis: &Analysis, machine: &str) -> String {
    let words = |name: &str| name.replace('_', " ");
    let mut out = format!(
        "loop at {} on {machine}: {:.2} cycles an iteration, {:.2} instructions, limited by {}\n({} iterations of its \
         steady state; {:.0}% of the taken branches backwards are this loop's)\n\n",
        analysis.head,
        analysis.cycles,
        analysis.instructions,
        words(&analysis.limited_by.join(" and ")),
        analysis.iterations,
        100.0 * analysis.share
    );
    let mut bounds = Table::new(&[("bound", Align::Left), ("cycles", Align::Right)]);
    for bound in &analysis.bounds {
        bounds.row([words(&bound.name), format!("{:.2}", bound.cycles)]);
    }
    out += &bounds.render();
    out.push('\n');
    let mut lines = Table::new(&[
        ("address", Align::Left),
        ("times", Align::Right),
        ("units", Align::Left),
        ("latency", Align::Right),
        ("chain", Align::Right),
        ("instruction", Align::Left),
        ("what happens", Align::Left),
    ]);
    for line in &analysis.lines {
        let chain = match line.on_chain {
            true => format!("{:.2}", line.chain),
            false => String::new(),
        };
        lines.row([
            line.pc.clone(),
            format!("{:.2}", line.times),
            words(&line.pool),
            format!("{:.1}", line.latency),
            chain,
            line.text.clone(),
            line.notes.join(", "),
        ]);
    }
    out + &lines.render()
}

/// What the command writes as JSON.
pub fn described() -> Described {
    FORMAT.described::<LoopDocument<'_>>(&["analyze"])
}
