//! The command line of `hps shadow`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use hps_system::image::Isa;

use super::examples;
use super::native_args::{AttachArgs, RunArgs};
use crate::cli::groups::{JsonArgs, nanoseconds};
use crate::cli::{CoreKind, GuestArgs, isa};
use crate::output::OutFolder;

/// `hps shadow`.
#[derive(Debug, Subcommand)]
#[command(after_long_help = examples::SHADOW)]
pub enum ShadowCommand {
    /// Run a native program with shadows: what they see of it while it goes on
    #[command(after_long_help = "Example:\n  hps shadow run --load 0.5 --perfect gzip -c data")]
    Run(Box<RunArgs>),
    /// Attach to a running process, and let it go again: what shadows see of it meanwhile
    #[command(after_long_help = "Example:\n  hps shadow attach --seconds 10 1234")]
    Attach(Box<AttachArgs>),
    /// Run a program with shadows in the lab: what they see beside the perfect profile, what they cost, where they
    /// diverge
    #[command(after_long_help = "Example:\n  hps shadow simulate --load 0.5 minicc small")]
    Simulate(Box<SimulateArgs>),
    /// Print a policy of system calls, as a file that can be changed
    #[command(after_long_help = "Example:\n  hps shadow policy paper > my-policy.ron")]
    Policy(PolicyArgs),
}

/// Place where shadows run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum ShadowsOn {
    /// On processors of their own.
    Host,
    /// On other contexts of the parent's chip.
    Chip,
}

/// `hps shadow simulate`.
#[derive(Debug, Args)]
pub struct SimulateArgs {
    /// Shadows that are alive on average
    #[arg(long, value_name = "N", default_value_t = 1.0)]
    pub load: f64,
    /// Instructions of a shadow
    #[arg(long, value_name = "N", default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(1..))]
    pub length: u64,
    /// Simulated time between two signals of the monitor [default: a twentieth of a shadow's life]
    #[arg(long = "period", value_name = "TIME", value_parser = nanoseconds)]
    pub period_ns: Option<f64>,
    /// Fork only where the program has come into a phase that shadows have not seen often enough
    #[arg(long)]
    pub by_phase: bool,
    /// Fork ever more rarely while shadows see the edges that shadows before them saw
    #[arg(long, conflicts_with = "by_phase")]
    pub converge: bool,
    /// Shadows one behind the other: they see the whole run. Nothing is charged; on the chip, the program waits for contexts
    #[arg(long, conflicts_with_all = ["load", "period_ns", "by_phase", "converge"])]
    pub end_to_end: bool,
    /// Place where shadows run: host, on processors of their own, with costs charged by keys; chip, on other contexts
    /// of the machine, which share its caches and buses, so that this sharing is measured (--core cycle --machine cmp-4
    /// or smt-2)
    #[arg(long, value_enum, value_name = "WHERE", default_value_t = ShadowsOn::Host)]
    pub shadows_on: ShadowsOn,
    /// Look for hot data streams, too
    #[arg(long)]
    pub streams: bool,
    /// Policy of system calls: paper, strict, pretend, or a file
    #[arg(long, value_name = "NAME|FILE", default_value = "paper")]
    pub policy: String,
    /// A file with costs; what it leaves out has its default
    #[arg(long, value_name = "FILE")]
    pub costs: Option<PathBuf>,
    /// Slowdown of instrumented code, as a factor of the program's time
    #[arg(long, value_name = "FACTOR")]
    pub slowdown: Option<f64>,
    /// Values that a table holds for each instruction
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=4096))]
    pub entries: u64,
    /// Executions between two flushes of a table's lower half
    #[arg(long, value_name = "N", default_value_t = 2000, value_parser = clap::value_parser!(u64).range(1..))]
    pub flush_every: u64,
    /// Write the profiles into this folder, a file for each key (path, long_path, edge, call_pair, value, and with --streams data_stream): what shadows
    /// saw, and in `perfect` what there was
    #[arg(long, value_name = "DIR")]
    pub out: Option<OutFolder>,
    #[command(flatten)]
    pub json: JsonArgs,
    /// Instruction set: chooses the image of a program that comes with the project (riscv64 if none is given)
    #[arg(long, value_name = "ISA", value_parser = isa())]
    pub isa: Option<Isa>,
    /// The machine on which the program is timed
    #[arg(long, value_name = "NAME|FILE", default_value = "hps-4wide")]
    pub machine: String,
    /// Core model
    #[arg(long, value_enum, default_value_t = CoreKind::Instruction)]
    pub core: CoreKind,
    #[command(flatten)]
    pub guest: GuestArgs,
    /// The program and its arguments
    #[arg(trailing_var_arg = true, required = true, value_name = "PROGRAM")]
    pub command: Vec<String>,
}

/// `hps shadow policy`.
#[derive(Debug, Args)]
pub struct PolicyArgs {
    /// paper, strict or pretend
    pub name: String,
}
