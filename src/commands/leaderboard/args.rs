//! Options of `hps leaderboard`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use hps_system::image::Isa;

use crate::cli::groups::{JobsArgs, JsonArgs, TableArgs};
use crate::cli::{CoreKind, PartArgs, Size, TimeArgs, isa};
use crate::examples;
use crate::output::OutFolder;

/// `hps leaderboard`.
#[derive(Debug, Args)]
#[command(after_long_help = examples::LEADERBOARD)]
pub struct LeaderboardArgs {
    /// Programs: names of programs that come with the project, or paths of static RISC-V or Alpha executables;
    /// without any, all programs that come with the project
    #[arg(value_name = "PROG")]
    pub programs: Vec<String>,
    /// Kind of the profiles (may be repeated); without it all kinds
    #[arg(long, value_enum)]
    pub kind: Vec<BoardKind>,
    /// List the profilers there are, with one line each, and stop
    #[arg(long)]
    pub list: bool,
    /// Only these profilers (--list names them)
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    pub with: Vec<String>,
    /// Overheads that are allowed, in percent: for each, every profiler that costs cycles runs at the sampling point that a
    /// search finds between 90% of it and all of it, in the mean over programs. Without it each runs at 1/100, or takes a
    /// sample in 5,000 cycles
    #[arg(long, value_name = "P%,...", value_delimiter = ',', value_parser = percent)]
    pub budget: Vec<f64>,
    /// Runs of a profiler at its cost at each sampling point, each with another phase or seed
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub runs: u64,
    /// Machine
    #[arg(long, value_name = "NAME|FILE", default_value = "hps-4wide")]
    pub machine: String,
    /// Core model
    #[arg(long, value_enum, default_value_t = CoreKind::Cycle)]
    pub core: CoreKind,
    /// Instruction set of the programs that come with the project (may be repeated); riscv64 if none is given
    #[arg(long, value_name = "ISA", value_parser = isa())]
    pub isa: Vec<Isa>,
    /// Input size of the programs that come with the project
    #[arg(long, value_enum, default_value_t = Size::Small)]
    pub size: Size,
    /// Draw addresses by this seed, as Linux does (may be repeated: each program runs with each seed)
    #[arg(long, value_name = "N")]
    pub address_seed: Vec<u64>,
    /// Numbers of samples that a profiler takes in a run, about; fewer in short runs, since no period is shorter than 97
    /// cycles
    #[arg(long, value_name = "N,...", value_delimiter = ',', default_value = "100,1000,10000", value_parser = clap::value_parser!(u64).range(1..))]
    pub samples: Vec<u64>,
    /// Phases of the period at which each profiler that only watches does so; intervals come from them
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub phases: u64,
    /// Also measure what error remains with infinitely many samples: every cycle is sampled. It is measured anyway unless
    /// --no-bias is given
    #[arg(long, hide = true)]
    pub bias: bool,
    /// Do not measure what error remains with infinitely many samples, for which every cycle is sampled
    #[arg(long, conflicts_with = "bias")]
    pub no_bias: bool,
    /// The programs of the suite of real programs that are built (`hps programs build`), or those of them that are named, in
    /// place of those that come with the project; their folder, if not the usual one
    #[arg(long, value_name = "DIR", num_args = 0..=1, require_equals = true)]
    pub suite: Option<Option<PathBuf>>,
    /// Also compile each program with each profile (clang 14, lld and llvm-profdata), and measure what that gains; for
    /// programs that come with the project, on RISC-V
    #[arg(long)]
    pub compile: bool,
    /// Orders of its functions in which each compiled program runs: places of functions alone change its cycles
    #[arg(long, value_name = "N", default_value_t = 4, requires = "compile", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub orders: u32,
    /// Print each program by itself, too
    #[arg(long)]
    pub by_program: bool,
    /// The host folder that programs of your own see as `/`
    #[arg(long, value_name = "DIR", requires = "programs")]
    pub root: Option<PathBuf>,
    /// The file that programs of your own read as their standard input, from the beginning in every run
    #[arg(long, value_name = "FILE", requires = "programs")]
    pub stdin: Option<PathBuf>,
    #[command(flatten)]
    pub time: TimeArgs,
    /// Folder for results, pictures and the report
    #[arg(long, value_name = "DIR", default_value = "hps-leaderboard")]
    pub out: OutFolder,
    #[command(flatten)]
    pub json: JsonArgs,
    #[command(flatten)]
    pub table: TableArgs,
    #[command(flatten)]
    pub jobs: JobsArgs,
    /// Arguments of programs of your own
    #[arg(last = true, value_name = "ARGS")]
    pub arguments: Vec<String>,
    #[command(flatten)]
    pub parts: PartArgs,
}

/// Kinds of the profiles of a leaderboard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum BoardKind {
    /// Time by instruction: profilers that watch only
    Time,
    /// Time by instruction, with the costs of interrupts, handlers and buffers
    Collected,
    /// Hot methods: calls and back-edges by method
    Method,
    /// Hot call pairs: call site and target
    CallPair,
    /// Hot data streams: repeated sequences of data addresses
    DataStream,
}

/// A share given in percent, with or without the sign.
fn percent(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').unwrap_or(text).trim();
    match number.parse::<f64>() {
        Ok(percent) if percent.is_finite() && percent > 0.0 => Ok(percent / 100.0),
        _ => Err("write a number of percent above 0, such as 1%".to_string()),
    }
}
