//! `hps profile`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use hps_sim_core::image::Isa;

use super::{CoreKind, GuestArgs, RegionArgs, isa};
use crate::examples;
use crate::output::{ExportArg, OutFile, OutFolder};

/// A kind of profile on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Kind {
    /// Hot methods: calls and back-edges by method
    Method,
    /// Hot call pairs: call site and target
    CallPair,
    /// Hot data streams: repeated sequences of data addresses
    DataStream,
}

/// Whose tables the handlers of HPS write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TablesKind {
    /// Each hardware context has its own
    Context,
    /// Each thread of the program has its own, the first 63 one each: the kernel switches their address with the thread
    Thread,
    /// One for all: two contexts that count in it at once may lose an event
    Shared,
}

/// `hps profile`.
#[derive(Debug, Args)]
#[command(after_long_help = examples::PROFILE)]
pub struct ProfileArgs {
    /// Instruction set: chooses the image of a program that comes with the project (riscv64 if
    /// none is given); a file must be for it
    #[arg(long, value_name = "ISA", value_parser = isa())]
    pub isa: Option<Isa>,
    /// Show these profilers' opinion beside the truth (hps profilers lists them; `all` for all)
    #[arg(
        long,
        value_name = "NAME,...",
        value_delimiter = ',',
        conflicts_with = "kind"
    )]
    pub with: Vec<String>,
    /// Period of the profilers of --with, in what each counts: a prime is in step with few loops
    #[arg(long, value_name = "N", default_value_t = 997, value_parser = clap::value_parser!(u64).range(1..), requires = "with")]
    pub period: u64,
    /// What the periods of --with count instead: cycles, instructions, or an event of instructions that commit (l1d_miss,
    /// l2_miss, llc_miss, dtlb_miss, forwarded, store_wait, mispredicted, replayed, l1i_miss, ...)
    #[arg(long, value_name = "EVENT", requires = "with")]
    pub event: Option<String>,
    /// Let the program pay for the profilers of --with: interrupts, handlers that store records, buffers. The profile is
    /// that of the run under them
    #[arg(long, requires = "with", conflicts_with = "export")]
    pub charged: bool,
    /// Show the code of this function (a name or an address), with what each instruction cost
    #[arg(long, value_name = "FUNCTION", conflicts_with = "kind")]
    pub annotate: Option<String>,
    /// Write the profile for another tool, in the format that the end of the name or FORMAT says (may be repeated):
    /// pprof, firefox, speedscope, callgrind, folded, perf-script, perf-script-all, flame-graph, llvm-samples
    #[arg(long, value_name = "[FORMAT:]FILE", conflicts_with = "kind")]
    pub export: Vec<ExportArg>,
    /// Write the exact profile into this folder, a file for each key: instruction, block, line, function, context,
    /// event_stack, time_slice
    #[arg(long, value_name = "DIR", conflicts_with = "kind")]
    pub save: Option<OutFolder>,
    /// Show how the run goes over time
    #[arg(long, conflicts_with = "kind")]
    pub timeline: bool,
    /// Where the program has child processes: follow the N-th program that a process begins, by fork or by execve, in
    /// place of the first one
    #[arg(long, value_name = "N", conflicts_with_all = ["kind", "charged"], value_parser = clap::value_parser!(u32).range(1..))]
    pub process: Option<u32>,
    /// Stop after this many instructions of the program
    #[arg(long, value_name = "N", conflicts_with = "kind")]
    pub max_instructions: Option<u64>,
    /// A profile collected by HPS instead, beside the exhaustive one
    #[arg(long, value_enum)]
    pub kind: Option<Kind>,
    /// Of HPS: burst length, in events (calls and back-edges) [default: 1, and 100 for data streams]
    #[arg(long)]
    pub burst: Option<u64>,
    /// Of HPS: sample one event in this many [default: 100]
    #[arg(long, value_name = "N")]
    pub one_in: Option<u64>,
    /// Of HPS: change the sampling while the program runs: AT:BURST:ONE_IN, from that many instructions on
    /// (may be repeated)
    #[arg(long, value_name = "AT:BURST:ONE_IN")]
    pub change: Vec<String>,
    /// Of HPS: draw the number of events between bursts anew each time, with the same mean: no loop can be in step with it
    #[arg(long)]
    pub random_period: bool,
    /// Of HPS: count a jump to the entry of a function (a tail call) as an entry of the method, or as a call pair [default:
    /// yes for methods, no for call pairs]. `no` is the HPS report's definition: calls and back-edges
    #[arg(long, value_name = "yes|no", num_args = 0..=1, require_equals = true, default_missing_value = "yes", value_parser = yes_or_no)]
    pub tail_calls: Option<bool>,
    /// Of HPS: whose tables the handlers write, for programs with threads and machines with several hardware contexts; the
    /// profile holds all of them, and each is listed. Not of data streams [default: context if there are several]
    #[arg(long, value_enum, value_name = "WHOSE")]
    pub tables: Option<TablesKind>,
    /// Seed of --random-period
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1,
        requires = "random_period"
    )]
    pub period_seed: u64,
    /// The file that the program reads as its standard input, from the beginning in each of its runs; without it a
    /// pipe or a redirected file given to this command, kept in memory (at most 256 MiB)
    #[arg(long, value_name = "FILE")]
    pub stdin: Option<PathBuf>,
    /// The machine [default: hps-4wide]. With --kind: time it on this machine, and report the overhead;
    /// functional only without
    #[arg(long, value_name = "NAME|FILE")]
    pub machine: Option<String>,
    /// How the machine is simulated
    #[arg(long, value_enum, default_value_t = CoreKind::Cycle)]
    pub core: CoreKind,
    /// Of HPS: leave what wrong paths did to the counters unrepaired
    #[arg(long, requires = "machine")]
    pub unrepaired: bool,
    /// How many functions, lines and instructions, or members, to list
    #[arg(long, default_value_t = 15)]
    pub top: usize,
    /// Write everything as JSON to this file
    #[arg(long, value_name = "FILE.json")]
    pub json: Option<OutFile>,
    #[command(flatten)]
    pub region: RegionArgs,
    #[command(flatten)]
    pub guest: GuestArgs,
    /// Program (a static RISC-V or Alpha executable, or the name of one that comes with the project) and its
    /// arguments; whatever stands behind the program is its own, options too
    #[arg(trailing_var_arg = true, required = true, num_args = 1.., value_names = ["PROG", "ARGS"])]
    pub command: Vec<String>,
}

fn yes_or_no(text: &str) -> Result<bool, String> {
    match text {
        "yes" => Ok(true),
        "no" => Ok(false),
        _ => Err("write yes or no".to_owned()),
    }
}

impl ProfileArgs {
    /// The kind of profile that HPS is to collect: the one named, or if an option of HPS is given, hot methods.
    pub fn collected_kind(&self) -> Option<Kind> {
        let is_hps = self.burst.is_some()
            || self.one_in.is_some()
            || !self.change.is_empty()
            || self.random_period
            || self.tail_calls.is_some()
            || self.tables.is_some()
            || self.unrepaired;
        self.kind.or(is_hps.then_some(Kind::Method))
    }

    /// The program.
    pub fn program(&self) -> &str {
        self.command.first().map_or("", String::as_str)
    }

    /// Its arguments.
    pub fn arguments(&self) -> &[String] {
        self.command.get(1..).unwrap_or_default()
    }
}
