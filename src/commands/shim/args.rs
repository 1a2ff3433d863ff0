//! The command line of `hps shim`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use hps_experiments::callgraphs::Collector;
use hps_shim::affinity::parse_list;
use hps_shim::counters::Event;
use hps_shim::pace::Pace;
use hps_system::image::Isa;

use super::examples;
use crate::cli::groups::JsonArgs;
use crate::cli::{GuestArgs, isa};
use crate::output::{ExportArg, OutFile, OutFolder};

/// `hps shim`.
#[derive(Debug, Subcommand)]
#[command(after_long_help = examples::SHIM)]
pub enum ShimCommand {
    /// Start a program and observe it to its end
    Run(RunArgs),
    /// Observe a running program that has a tag region
    Attach(AttachArgs),
    /// Measure what observing tags costs (SHIM, Figure 7) or what error correction keeps (Figure 4)
    Overhead(OverheadArgs),
    /// The producer and the consumer of SHIM's Figure 8, drawn as its Figures 9 and 10
    Microbench(MicrobenchArgs),
    /// Analyse raw samples that were kept with --keep
    #[command(after_long_help = "Example:\n  hps shim analyze samples.bin")]
    Analyze(AnalyzeArgs),
    /// Observe a program inside the simulated machine, each sample beside the truth
    #[command(after_long_help = examples::SIMULATE)]
    Simulate(Box<SimulateArgs>),
}

/// Place of the observer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Seat {
    /// On another core
    Cmp,
    /// On another hardware thread of the program's core
    Smt,
}

/// `hps shim simulate`.
#[derive(Debug, Args)]
pub struct SimulateArgs {
    /// Place of the observer: on the program's core, or on another one [default: smt; cmp with --calls]
    #[arg(long, value_enum)]
    pub placement: Option<Seat>,
    /// Find calls: by the tag stack (stack-2, stack-10, stack-full), by a ring of calls (pairs-1k, pairs-8k, pairs-128k,
    /// pairs-1024k) or of calls and returns (sequence-1k and so on)
    #[arg(long, value_name = "HOW", value_parser = collector, conflicts_with_all = ["ipc", "json"])]
    pub calls: Option<Collector>,
    /// Turns of an empty loop between two samples [default: none]
    #[arg(long, value_name = "N", conflicts_with = "sleep")]
    pub wait: Option<u64>,
    /// Cycles of sleep between two samples
    #[arg(long, value_name = "CYCLES", value_parser = clap::value_parser!(u64).range(1..))]
    pub sleep: Option<u64>,
    /// Also read counters that tell the program's instructions (riscv64)
    #[arg(long)]
    pub ipc: bool,
    /// Tags at loop heads too: each branch backwards stores where it goes
    #[arg(long, conflicts_with = "calls")]
    pub loops: bool,
    /// Tags that the program writes itself, by hps_shim.h, instead of those of productions
    #[arg(long, conflicts_with_all = ["calls", "loops"])]
    pub own_tags: bool,
    /// Also read this counter of the program's own, 0 to 7, by hps_shim_count (may be repeated)
    #[arg(long = "own-counter", value_name = "N", requires = "own_tags", value_parser = clap::value_parser!(u8).range(0..8))]
    pub own_counters: Vec<u8>,
    /// Also read the program's own tag stack, up to so many of its outermost entries (30 if no number is given, at most 118)
    #[arg(
        long,
        value_name = "N",
        requires = "own_tags",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "30",
        value_parser = clap::value_parser!(u8).range(1..=hps_lab::observer::MOST_ENTRIES as i64)
    )]
    pub own_stacks: Option<u8>,
    /// Instruction set: chooses the image of a program that comes with the project (riscv64 if none is given)
    #[arg(long, value_name = "ISA", value_parser = isa())]
    pub isa: Option<Isa>,
    #[command(flatten)]
    pub json: JsonArgs,
    /// The machine, with a context for the observer
    #[arg(long, value_name = "NAME|FILE", default_value = "shim-haswell-like")]
    pub machine: String,
    /// Stop after so many instructions of the program
    #[arg(long, value_name = "N")]
    pub max_instructions: Option<u64>,
    #[command(flatten)]
    pub guest: GuestArgs,
    /// The program and its arguments
    #[arg(trailing_var_arg = true, required = true, value_name = "PROGRAM")]
    pub command: Vec<String>,
}

/// A collector of calls, by its name.
fn collector(name: &str) -> Result<Collector, String> {
    let found = Collector::of_calls().find(|collector| collector.name() == name);
    found.ok_or_else(|| {
        let known: Vec<String> = Collector::of_calls().map(Collector::name).collect();
        format!("there are {}", known.join(", "))
    })
}

/// Processors of the program and the observer.
#[derive(Debug, Args, Clone, Default)]
pub struct PlaceArgs {
    /// Place of the observer; chosen if not given
    #[arg(long, value_enum)]
    pub placement: Option<Seat>,
    /// The observer's CPU
    #[arg(long, value_name = "CPU")]
    pub observer_cpu: Option<usize>,
    /// The program's CPUs, such as 0-3,6
    #[arg(long, value_name = "LIST", value_parser = cpus)]
    pub program_cpus: Option<Cpus>,
}

/// A list of CPUs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Cpus(pub Vec<usize>);

fn cpus(text: &str) -> Result<Cpus, String> {
    parse_list(text)
        .map(Cpus)
        .ok_or_else(|| "a list of CPUs is numbers and ranges: 0-3,6".to_owned())
}

/// Options of sampling.
#[derive(Debug, Args, Clone)]
pub struct SampleArgs {
    /// From sample to sample: `fast`, `pause:N` (pause instructions), N (cycles on average, drawn
    /// from 3/4 to 5/4 of it), or a time to sleep such as 50us
    #[arg(long, value_name = "PERIOD", default_value = "1200")]
    pub period: Pace,
    /// Count this event, by perf's name: cycles, instructions, cache-misses, task-clock,
    /// page-faults, rNNN, …, or soft:0 to soft:7 of the program's own (may be repeated)
    #[arg(long = "event", value_name = "NAME", value_delimiter = ',')]
    pub events: Vec<Event>,
    /// Also count events that the kernel tells only by interrupting the program's processor, once for each sample
    #[arg(long)]
    pub allow_interrupts: bool,
    /// Tags alone into a histogram, without time stamps: the fastest
    #[arg(long, conflicts_with_all = ["events", "ring", "keep"])]
    pub tally: bool,
    /// Count tags and kept samples only, without distributions and time line: faster
    #[arg(long, conflicts_with_all = ["tally", "ring"])]
    pub brief: bool,
    /// Analyse on a thread behind a ring of this many samples, instead of in the observer's loop
    #[arg(long, value_name = "SAMPLES", num_args = 0..=1, default_missing_value = "65536")]
    pub ring: Option<usize>,
    /// Keep raw samples in this file (needs --ring)
    #[arg(long, value_name = "FILE", requires = "ring")]
    pub keep: Option<OutFile>,
    /// Read the stack of tags with each sample: shares of functions with all that they call
    #[arg(long, conflicts_with = "tally")]
    pub stacks: bool,
    /// Keep samples whose cycles per cycle are within this many per cent of 1
    #[arg(long, value_name = "PERCENT", default_value_t = 1.0)]
    pub tolerance: f64,
    #[command(flatten)]
    pub place: PlaceArgs,
}

/// Destinations of results.
#[derive(Debug, Args, Clone, Default)]
pub struct OutArgs {
    /// Write a report with pictures and all numbers into this folder
    #[arg(long, value_name = "DIR")]
    pub out: Option<OutFolder>,
    #[command(flatten)]
    pub json: JsonArgs,
}

/// Files for other tools.
#[derive(Debug, Args, Clone, Default)]
pub struct ExportArgs {
    /// Write the profile for another tool, in the format that the end of the name or FORMAT says (may be repeated):
    /// pprof, firefox, speedscope, callgrind, folded, perf-script, perf-script-all, flame-graph, llvm-samples
    #[arg(long, value_name = "[FORMAT:]FILE")]
    pub export: Vec<ExportArg>,
    /// Show the code of this function (a name, or an address as 0x1234) with its samples, instead of the table of tags
    #[arg(long, value_name = "FUNCTION")]
    pub annotate: Option<String>,
    /// Tags to list
    #[arg(long, default_value_t = 20)]
    pub top: usize,
}

/// `hps shim run`.
#[derive(Debug, Args)]
#[command(after_long_help = examples::RUN)]
pub struct RunArgs {
    #[command(flatten)]
    pub sample: SampleArgs,
    #[command(flatten)]
    pub output: OutArgs,
    #[command(flatten)]
    pub export: ExportArgs,
    /// Preload the library that turns the calls of -finstrument-functions, or the patchable entries of
    /// -fpatchable-function-entry=5, into tags; it is compiled by the host's C compiler
    #[arg(long, value_name = "HOW", num_args = 0..=1, require_equals = true, default_missing_value = "auto")]
    pub preload: Option<Preload>,
    /// Find calls of a program compiled with -finstrument-functions, who called whom how often: by the stack of tags
    /// (stack-N, stack-full), by a ring of calls (pairs-SIZEk) or of calls and returns (sequence-SIZEk); it preloads a library
    /// of its own
    #[arg(
        long,
        value_name = "HOW",
        conflicts_with_all = ["tally", "brief", "ring", "stacks", "events", "out", "export", "annotate", "json"]
    )]
    pub calls: Option<hps_shim::calls::Collector>,
    /// The program and its arguments
    #[arg(trailing_var_arg = true, required = true, num_args = 1.., value_names = ["PROG", "ARGS"])]
    pub command: Vec<OsString>,
}

/// Way in which the tag library makes tags.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Preload {
    /// The way that fits the program: `patch` if it has patchable entries and no hooks, else `stack`
    Auto,
    /// At each entry and exit, with the thread's stack of functions
    Stack,
    /// At each entry and exit the tag alone: cheaper; wrong where functions were inlined
    Flat,
    /// Entries patched at start (x86-64): the tag is the function entered last
    Patch,
}

/// `hps shim attach`.
#[derive(Debug, Args)]
#[command(after_long_help = examples::ATTACH)]
pub struct AttachArgs {
    #[command(flatten)]
    pub sample: SampleArgs,
    #[command(flatten)]
    pub output: OutArgs,
    #[command(flatten)]
    pub export: ExportArgs,
    /// Observe for this number of seconds, or until the program ends
    #[arg(long, default_value_t = 10.0)]
    pub seconds: f64,
    /// The process
    pub pid: u32,
}

/// `hps shim overhead`.
#[derive(Debug, Args)]
#[command(after_long_help = examples::OVERHEAD)]
pub struct OverheadArgs {
    /// Sample with time stamps: how many samples double-time error correction keeps
    #[arg(long)]
    pub kept: bool,
    /// Periods, as for `hps shim run`
    #[arg(
        long = "period",
        value_name = "PERIOD",
        value_delimiter = ',',
        default_value = "fast,100,200,400,800,1200,2500,5000,20000,184000"
    )]
    pub periods: Vec<Pace>,
    /// Pairs of runs for each period, alone and observed
    #[arg(long, default_value_t = 20)]
    pub rounds: usize,
    /// Steps of about 4 cycles between two tags of the built-in program
    #[arg(long, value_name = "STEPS", default_value_t = 12)]
    pub work: u32,
    /// Tags that the built-in program writes in a run
    #[arg(long, default_value_t = 1_000_000)]
    pub tags: u64,
    #[command(flatten)]
    pub place: PlaceArgs,
    #[command(flatten)]
    pub output: OutArgs,
    /// Preload the tag library, as for `hps shim run`
    #[arg(long, value_name = "HOW", num_args = 0..=1, require_equals = true, default_missing_value = "auto")]
    pub preload: Option<Preload>,
    /// A program that writes tags and its arguments; without one a loop that writes a tag every 50
    /// cycles or so
    #[arg(trailing_var_arg = true, num_args = 0.., value_names = ["PROG", "ARGS"])]
    pub command: Vec<OsString>,
}

/// `hps shim microbench`.
#[derive(Debug, Args)]
#[command(after_long_help = examples::MICROBENCH)]
pub struct MicrobenchArgs {
    /// Waits, in reads of the time stamp counter
    #[arg(
        long,
        value_name = "N",
        value_delimiter = ',',
        default_value = "0,1,2,4,8,16,32,64,128,256"
    )]
    pub waits: Vec<u32>,
    /// Pairs of runs for each point
    #[arg(long, default_value_t = 20)]
    pub rounds: usize,
    /// Writes of the producer in a run without waits
    #[arg(long, default_value_t = 2_000_000)]
    pub writes: u64,
    #[command(flatten)]
    pub place: PlaceArgs,
    #[command(flatten)]
    pub output: OutArgs,
}

/// `hps shim analyze`.
#[derive(Debug, Args)]
pub struct AnalyzeArgs {
    /// Keep samples whose cycles per cycle are within this many per cent of 1
    #[arg(long, value_name = "PERCENT", default_value_t = 1.0)]
    pub tolerance: f64,
    #[command(flatten)]
    pub json: JsonArgs,
    /// The file
    pub samples: PathBuf,
}
