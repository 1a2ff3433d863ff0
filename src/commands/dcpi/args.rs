//! The command line of `hps dcpi`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use hps_dcpi::collect::Follow;
use hps_dcpi::samples::{Event, Range};
use hps_system::image::Isa;

use super::examples;
use crate::cli::groups::JsonArgs;
use crate::cli::{GuestArgs, isa};
use crate::output::{ExportArg, OutFile, OutFolder};

/// `hps dcpi`.
#[derive(Debug, Subcommand)]
#[command(after_long_help = examples::DCPI)]
pub enum DcpiCommand {
    /// Run a program on a machine and add samples of it to a database
    #[command(
        after_long_help = "Example:\n  hps dcpi collect --isa alpha --period 480..512 --event all minicc small"
    )]
    Collect(Box<CollectArgs>),
    /// Say what samples of a database tell: procedures, instructions, lines, graphs, a page, files for other tools
    #[command(after_long_help = examples::REPORT)]
    Report(Box<ReportArgs>),
}

/// `hps dcpi collect`.
#[derive(Debug, Args)]
pub struct CollectArgs {
    /// The folder of the database, made if there is none
    #[arg(long, value_name = "DIR", default_value = "dcpi-db")]
    pub db: OutFolder,
    /// Instruction set: chooses the image of a program that comes with the project (riscv64 if none is given)
    #[arg(long, value_name = "ISA", value_parser = isa())]
    pub isa: Option<Isa>,
    /// The machine. Only one that issues in order has minimum head times, on which frequencies rest
    #[arg(long, value_name = "NAME|FILE", default_value = "ev5")]
    pub machine: String,
    /// Cycles between two samples, drawn uniformly from MIN..MAX (both included), or one number for a fixed period
    #[arg(long, value_name = "MIN..MAX", default_value = "61440..65536", value_parser = range)]
    pub period: Range,
    /// Events that are sampled beside cycles: imiss, dmiss, branchmp, dtbmiss, itbmiss, or `all`
    #[arg(long = "event", value_name = "NAME,...", value_delimiter = ',')]
    pub events: Vec<String>,
    /// Events of these between two samples
    #[arg(long, value_name = "MIN..MAX", default_value = "240..272", value_parser = range)]
    pub event_period: Range,
    /// Let all events of --event share one counter: each counts in turns, and a sample stands for as many periods as
    /// there are turns
    #[arg(long, requires = "events")]
    pub multiplex: bool,
    /// Of --multiplex: how long a turn is, in cycles
    #[arg(long, value_name = "N", default_value_t = 16_384, requires = "multiplex", value_parser = clap::value_parser!(u64).range(1..))]
    pub turn_cycles: u64,
    /// Edge samples: `transfer` tells where a sampled transfer of control leads, which the handler finds out by reading
    /// the registers of the instruction; a number of instructions is followed behind each sample of cycles, each by a
    /// further interrupt. Estimates of edges become better
    #[arg(long, value_name = "transfer|N", value_parser = follow, conflicts_with = "charged")]
    pub follow: Option<Follow>,
    /// Let the program pay: interrupts, and the handler in guest code with its hash table and buffers. Where an interrupt
    /// finds the program is where it goes on; misses of wrong paths count too
    #[arg(long, conflicts_with = "merge_every")]
    pub charged: bool,
    /// Of --charged: what the daemon takes for an entry that it reads, in turns of an empty loop
    #[arg(long, value_name = "N", default_value_t = 100, requires = "charged")]
    pub daemon_loops: u32,
    /// Seed of the periods: collections with different seeds sample different cycles
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub period_seed: u64,
    /// Begin a new epoch
    #[arg(long)]
    pub new_epoch: bool,
    /// Write samples to the database each so many instructions
    #[arg(long, value_name = "N", default_value_t = 50_000_000, value_parser = clap::value_parser!(u64).range(1..))]
    pub merge_every: u64,
    /// Stop after this many instructions of the program
    #[arg(long, value_name = "N")]
    pub max_instructions: Option<u64>,
    #[command(flatten)]
    pub guest: GuestArgs,
    /// Program and its arguments
    #[arg(trailing_var_arg = true, required = true, num_args = 1.., value_names = ["PROG", "ARGS"])]
    pub command: Vec<String>,
}

/// Options that name a set of samples.
#[derive(Debug, Args)]
pub struct SetArgs {
    /// The folder of the database; several of stats and diff, the one before first (may be repeated)
    #[arg(long, value_name = "DIR", default_value = "dcpi-db")]
    pub db: Vec<PathBuf>,
    /// Only these epochs
    #[arg(long, value_name = "N,...", value_delimiter = ',')]
    pub epoch: Vec<u32>,
    /// Only this object: a program or library by its path as it was collected, the last part of it, or the beginning of its
    /// hash or build id; `unknown` is code outside of all objects
    #[arg(long, value_name = "NAME")]
    pub program: Option<String>,
}

/// View of a database that is reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum View {
    /// Samples by procedure, or with --by-image by object
    Prof,
    /// A procedure by instruction: frequency, cycles, why it stalls
    Calc,
    /// Causes of the cycles of a procedure, or of all
    Summary,
    /// Samples by source line
    Annotate,
    /// Variation of procedures' samples over sets: epochs of a database, or databases
    Stats,
    /// The difference of two databases, by procedure
    Diff,
    /// The graph of a procedure as a drawing: SVG, or in the language of Graphviz
    Cfg,
    /// Procedures, where the cycles go, and the first procedures by instruction with their graphs, on a page
    Page,
}

/// `hps dcpi report`.
#[derive(Debug, Args)]
pub struct ReportArgs {
    /// View of the samples
    #[arg(
        long = "as",
        value_enum,
        value_name = "VIEW",
        default_value_t = View::Prof,
        conflicts_with = "export",
        overrides_with = "view"
    )]
    pub view: View,
    #[command(flatten)]
    pub set: SetArgs,
    /// Of prof: by object instead of by procedure
    #[arg(long)]
    pub by_image: bool,
    /// Of stats: leave out procedures with less than this share of all samples
    #[arg(long, value_name = "PERCENT", default_value_t = 0.5)]
    pub least: f64,
    /// Lines to list, or of page, procedures to show by instruction [default: 20; of page, 10]
    #[arg(long, value_name = "N")]
    pub top: Option<usize>,
    /// Of cfg and page: the file. A graph is a picture if the name ends with `.svg`, else in the language of Graphviz
    /// [default: of cfg, standard output; of page, dcpi.html]
    #[arg(
        long,
        short,
        value_name = "FILE",
        default_value_if("view", "page", "dcpi.html")
    )]
    pub out: Option<OutFile>,
    /// Write the samples for another tool instead, in the format that the end of the name or FORMAT says (may be
    /// repeated): pprof, firefox, speedscope, callgrind, folded, perf-script, perf-script-all, flame-graph, llvm-samples
    #[arg(long, value_name = "[FORMAT:]FILE")]
    pub export: Vec<ExportArg>,
    #[command(flatten)]
    pub json: JsonArgs,
    /// Of --export: the event
    #[arg(long, value_name = "NAME", default_value = "cycles", value_parser = event, requires = "export")]
    pub event: Event,
    /// Of calc, summary and cfg: the procedure, by its name
    #[arg(value_name = "PROCEDURE")]
    pub procedure: Option<String>,
}

fn range(text: &str) -> Result<Range, String> {
    let number = |part: &str| part.trim().parse::<u64>().ok();
    let parts = text.split_once("..").unwrap_or((text, text));
    let found = number(parts.0).zip(number(parts.1));
    found
        .and_then(|(least, most)| Range::new(least, most))
        .ok_or_else(|| "a range is MIN..MAX with 0 < MIN <= MAX, or one number".to_string())
}

fn follow(text: &str) -> Result<Follow, String> {
    match (text, text.parse()) {
        ("transfer", _) => Ok(Follow::Transfer),
        (_, Ok(steps @ 1..=1024)) => Ok(Follow::Next(steps)),
        _ => Err(
            "it is `transfer`, or how many instructions are followed, from 1 to 1024".to_string(),
        ),
    }
}

fn event(text: &str) -> Result<Event, String> {
    let names = Event::ALL.map(Event::name);
    Event::from_name(text).ok_or_else(|| format!("an event is one of {}", names.join(", ")))
}

impl CollectArgs {
    /// The events beside cycles.
    pub fn other_events(&self) -> Result<Vec<Event>, String> {
        let others = || Event::ALL.into_iter().filter(|e| *e != Event::Cycles);
        if self.events.iter().any(|name| name == "all") {
            return Ok(others().collect());
        }
        let mut found = Vec::new();
        for name in &self.events {
            let one = event(name).map_err(|e| format!("--event {name}: {e}"))?;
            if one != Event::Cycles && !found.contains(&one) {
                found.push(one);
            }
        }
        Ok(found)
    }
}
