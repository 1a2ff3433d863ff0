//! The command lines of `hps shadow run` and `hps shadow attach`.

use std::ffi::OsString;

use clap::{Args, ValueEnum};

use crate::cli::groups::{JsonArgs, nanoseconds};
use crate::output::{ExportArg, OutFolder};

/// How shadows are forked and what they may do.
#[derive(Debug, Args)]
pub struct SamplingArgs {
    /// Shadows that are alive on average
    #[arg(long, value_name = "N", default_value_t = 1.0)]
    pub load: f64,
    /// Let shadows cost at most so many per cent of the program's processor time, with the pages that are copied because the
    /// program writes to them after a fork; where forks become rare, samples become longer
    #[arg(long, value_name = "PERCENT")]
    pub max_overhead: Option<f64>,
    /// Threads whose shadows are forked: `running`, each as it happens to run at a signal, or `turn`, each as often as the
    /// others
    #[arg(long, value_enum, default_value_t = Threads::Running)]
    pub threads: Threads,
    /// Instructions of a shadow; with --max-overhead, at least so many
    #[arg(long, value_name = "N", default_value_t = 10_000_000, value_parser = clap::value_parser!(u64).range(1..=1 << 60))]
    pub length: u64,
    /// Processor time of the program between two signals of the monitor; the kernel rounds it up to its tick
    #[arg(long = "period", value_name = "TIME", default_value = "4ms", value_parser = nanoseconds)]
    pub period_ns: f64,
    /// Values that shadows note: `first` arguments of calls, or `all` six registers of arguments and the results of functions,
    /// which makes shadows slower
    #[arg(long, value_enum, default_value_t = Values::First)]
    pub values: Values,
    /// Policy of system calls: paper, strict, pretend, or a file
    #[arg(long, value_name = "NAME|FILE", default_value = "paper")]
    pub policy: String,
    /// Kill shadows that live longer, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 20.0)]
    pub longest: f64,
}

/// Values that shadows note.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Values {
    /// First arguments of calls
    First,
    /// All registers of arguments, and results
    All,
}

/// Threads whose shadows are forked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Threads {
    /// Each as it happens to run at a signal
    Running,
    /// Each as often as the others
    Turn,
}

/// Results that are shown and written.
#[derive(Debug, Args)]
pub struct ShownArgs {
    /// Show shadows, overhead and hot functions each second while the program runs; where standard error is no terminal, as
    /// a line each ten seconds
    #[arg(long)]
    pub live: bool,
    /// Lines of each list
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub top: usize,
    /// Write the profiles into this folder, a file for each key (path, long_path, edge, call_pair, value, and value_REGISTER with --values all): what shadows saw, and
    /// with --full, --end-to-end or --perfect, in `perfect`, what there was
    #[arg(long, value_name = "DIR")]
    pub out: Option<OutFolder>,
    /// Write the instructions that shadows executed for another tool, in the format that the end of the name or FORMAT says
    /// (may be repeated): pprof, firefox, speedscope, callgrind, folded, perf-script, perf-script-all, flame-graph, llvm-samples
    #[arg(long, value_name = "[FORMAT:]FILE")]
    pub export: Vec<ExportArg>,
    #[command(flatten)]
    pub json: JsonArgs,
}

/// `hps shadow run`.
#[derive(Debug, Args)]
pub struct RunArgs {
    #[command(flatten)]
    pub sampling: SamplingArgs,
    /// Run the program itself instrumented from start to end, without shadows
    #[arg(long, conflicts_with_all = ["load", "max_overhead", "threads", "period_ns", "end_to_end", "perfect", "runs"])]
    pub full: bool,
    /// The program itself runs instrumented, and a shadow begins wherever one ends: they see the whole run
    #[arg(long, conflicts_with_all = ["load", "max_overhead", "threads", "period_ns", "perfect", "runs"])]
    pub end_to_end: bool,
    /// Run the program once more, instrumented from start to end, and say how accurate the profiles of shadows are; its
    /// output goes nowhere then, and standard input is read from its begin if it is a file
    #[arg(long)]
    pub perfect: bool,
    /// Measure what shadows cost: run the program so many times with them and twice as often alone, without its output
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(2..=1000))]
    pub runs: Option<u64>,
    #[command(flatten)]
    pub shown: ShownArgs,
    /// The program and its arguments
    #[arg(trailing_var_arg = true, required = true, value_name = "PROGRAM")]
    pub command: Vec<OsString>,
}

/// `hps shadow attach`.
#[derive(Debug, Args)]
pub struct AttachArgs {
    #[command(flatten)]
    pub sampling: SamplingArgs,
    /// Let the process go after so many seconds [default: at Ctrl-C, or at its end]
    #[arg(long, visible_alias = "duration")]
    pub seconds: Option<f64>,
    #[command(flatten)]
    pub shown: ShownArgs,
    /// The process
    #[arg(value_name = "PID", value_parser = clap::value_parser!(i32).range(1..))]
    pub process: i32,
}
