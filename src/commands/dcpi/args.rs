//! The command line of `hps dcpi`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use hps_dcpi::collect::Follow;
use hps_dcpi::samples::{Event, Range};
use hps_sim_core::image::Isa;

use super::examples;
use crate::cli::{GuestArgs, isa};
use crate::output::{ExportArg, OutFile, OutFolder};

/// `hps dcpi`.
#[derive(Debug, Subcommand)]
#[command(after_long_help = examples::DCPI)]
pub enum DcpiCommand {
    /// Run a program on a machine and add samples of it to a database
    #[command(
        after_long_help = "Example:\n  hps dcpi collect --isa alpha --period 480..512 --events all minicc small"
    )]
    Collect(Box<CollectArgs>),
    /// Samples by procedure or image
    #[command(after_long_help = "Example:\n  hps dcpi prof --by-image")]
    Prof(ProfArgs),
    /// A procedure by instruction: frequency, cycles, why it stalls; or where the cycles of all procedures go
    #[command(
        after_long_help = "Example:\n  hps dcpi calc execute.constprop.0\n  hps dcpi calc --summary"
    )]
    Calc(CalcArgs),
    /// How samples of procedures vary over sets: epochs of a database, or databases
    #[command(after_long_help = "Example:\n  hps dcpi stats dcpi-db")]
    Stats(StatsArgs),
    /// The difference of two databases, by procedure
    #[command(after_long_help = "Example:\n  hps dcpi diff db-before db-after")]
    Diff(DiffArgs),
    /// Samples by source line
    #[command(after_long_help = "Example:\n  hps dcpi annotate --top 10")]
    Annotate(ProfArgs),
    /// The graph of a procedure as a drawing: SVG, or in the language of Graphviz
    #[command(
        after_long_help = "Example:\n  hps dcpi cfg execute.constprop.0 -o execute.svg\n  hps dcpi cfg execute.constprop.0 -o execute.dot"
    )]
    Cfg(CfgArgs),
    /// Procedures, where the cycles go, and the first procedures by instruction with their graphs, on a page
    #[command(after_long_help = "Example:\n  hps dcpi page -o minicc.html")]
    Page(PageArgs),
    /// Samples in a format of another tool
    #[command(after_long_help = "Example:\n  hps dcpi export pprof:minicc.pb.gz")]
    Export(ExportArgs),
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
    /// The machine. Only one that issues in order has minimum head times, on which `calc` rests
    #[arg(long, value_name = "NAME|FILE", default_value = "ev5")]
    pub machine: String,
    /// Cycles between two samples, drawn uniformly from MIN..MAX (both included), or one number for a fixed period
    #[arg(long, value_name = "MIN..MAX", default_value = "61440..65536", value_parser = range)]
    pub period: Range,
    /// Events that are sampled beside cycles: imiss, dmiss, branchmp, dtbmiss, itbmiss, or `all`
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    pub events: Vec<String>,
    /// Events of these between two samples
    #[arg(long, value_name = "MIN..MAX", default_value = "240..272", value_parser = range)]
    pub event_period: Range,
    /// Let all events of --events share one counter: each counts in turns, and a sample stands for as many periods as
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

/// Which samples.
#[derive(Debug, Args)]
pub struct SetArgs {
    /// The folder of the database
    #[arg(long, value_name = "DIR", default_value = "dcpi-db")]
    pub db: PathBuf,
    /// Only these epochs
    #[arg(long, value_name = "N,...", value_delimiter = ',')]
    pub epoch: Vec<u32>,
    /// Only this program: its name as it was collected, or the beginning of its hash
    #[arg(long, value_name = "NAME")]
    pub image: Option<String>,
}

/// `hps dcpi prof` and `hps dcpi annotate`.
#[derive(Debug, Args)]
pub struct ProfArgs {
    #[command(flatten)]
    pub set: SetArgs,
    /// By image instead of by procedure
    #[arg(long)]
    pub by_image: bool,
    /// How many lines to list
    #[arg(long, default_value_t = 20)]
    pub top: usize,
}

/// `hps dcpi calc`.
#[derive(Debug, Args)]
pub struct CalcArgs {
    #[command(flatten)]
    pub set: SetArgs,
    /// Where the cycles go instead, of this procedure or of all
    #[arg(long)]
    pub summary: bool,
    /// The procedure, by its name
    #[arg(value_name = "PROCEDURE", required_unless_present = "summary")]
    pub procedure: Option<String>,
}

/// `hps dcpi stats`.
#[derive(Debug, Args)]
pub struct StatsArgs {
    /// The databases; of one, its epochs are the sets
    #[arg(value_name = "DIR", required = true)]
    pub databases: Vec<PathBuf>,
    /// Leave out procedures with less than this share of all samples
    #[arg(long, value_name = "PERCENT", default_value_t = 0.5)]
    pub least: f64,
    /// How many procedures to list
    #[arg(long, default_value_t = 20)]
    pub top: usize,
}

/// `hps dcpi diff`.
#[derive(Debug, Args)]
pub struct DiffArgs {
    /// The database before
    #[arg(value_name = "BEFORE")]
    pub before: PathBuf,
    /// The database after
    #[arg(value_name = "AFTER")]
    pub after: PathBuf,
    /// How many procedures to list
    #[arg(long, default_value_t = 20)]
    pub top: usize,
}

/// `hps dcpi cfg`.
#[derive(Debug, Args)]
pub struct CfgArgs {
    #[command(flatten)]
    pub set: SetArgs,
    /// The file, a picture if its name ends with `.svg`; the language of Graphviz on standard output without it
    #[arg(long, short, value_name = "FILE.svg|FILE.dot")]
    pub out: Option<OutFile>,
    /// The procedure, by its name
    #[arg(value_name = "PROCEDURE")]
    pub procedure: String,
}

/// `hps dcpi page`.
#[derive(Debug, Args)]
pub struct PageArgs {
    #[command(flatten)]
    pub set: SetArgs,
    /// The file
    #[arg(long, short, value_name = "FILE.html", default_value = "dcpi.html")]
    pub out: OutFile,
    /// How many procedures to show by instruction
    #[arg(long, default_value_t = 10)]
    pub top: usize,
}

/// `hps dcpi export`.
#[derive(Debug, Args)]
pub struct ExportArgs {
    #[command(flatten)]
    pub set: SetArgs,
    /// The event
    #[arg(long, value_name = "NAME", default_value = "cycles", value_parser = event)]
    pub event: Event,
    /// The files, each in the format that the end of its name or FORMAT says: pprof, firefox, speedscope, callgrind,
    /// folded, perf-script, perf-script-all, flame-graph, llvm-samples
    #[arg(value_name = "[FORMAT:]FILE", required = true)]
    pub files: Vec<ExportArg>,
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
            let one = event(name).map_err(|e| format!("--events {name}: {e}"))?;
            if one != Event::Cycles && !found.contains(&one) {
                found.push(one);
            }
        }
        Ok(found)
    }
}
