//! The command line.

mod collect;
mod files;
pub mod groups;
pub mod help;
pub mod old;
mod parts;
pub mod profile;
mod results;
mod root;
mod slices;
mod studies;
mod teach;
mod tools;

use std::path::PathBuf;
use std::time::Duration;

use crate::commands::cluster::args::ClusterCommand;
use crate::commands::dcpi::args::DcpiCommand;
use crate::commands::leaderboard::args::LeaderboardArgs;
use crate::commands::shadow::args::ShadowCommand;
use crate::commands::shim::args::ShimCommand;
use crate::commands::validate::ValidateArgs;
use crate::examples;
use crate::output::OutFile;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};
use hps_experiments::Part;
use hps_lab::Program;
use hps_pipeline::sampled::SamplingPlan;
use hps_system::image::Isa;

pub use collect::{CollectArgs, Kind, TablesKind};
pub use files::Writable;
pub use parts::PartArgs;
pub use profile::{FrameKind, ProfileArgs};
pub use results::{ConvertArgs, ResultsCommand};
pub use root::{RootCommand, RootMakeArgs};
pub use slices::{Choose, SliceArgs};
pub use studies::{Paper, ReproduceArgs, SweepArgs};
pub use teach::{AnalyzeArgs, TeachArgs};
pub use tools::{
    BenchArgs, DevCommand, DiseCommand, MachineCommand, Mode, ProgramsArgs, ProgramsCommand,
    SuiteBuildArgs,
};

/// A laboratory for profilers: unmodified RISC-V and Alpha Linux programs on a simulated out-of-order
/// processor, profiled by HPS, compared with the truth.
///
/// Start with `hps sweep`: it runs the programs that come with the project over the paper's grid
/// of burst lengths and frequencies and writes a report with pictures.
///
/// Exit codes: 0 done; 1 something that was checked is bad; 2 an error. `hps run` ends with the
/// exit code of the program.
#[derive(Debug, Parser)]
#[command(name = "hps", version, propagate_version = true, after_long_help = examples::WHOLE)]
pub struct Cli {
    /// Overwrite files that hps did not write where an option names them for results
    #[arg(long, global = true)]
    pub force: bool,
    /// The command to run.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run a program, functionally or (with --machine) timed on a simulated processor
    Run(RunArgs),
    /// Say where a program's time goes, exactly, and what profilers would say
    Profile(ProfileArgs),
    /// Analyze a loop: cycles of an iteration in the steady state, and what limits it
    Analyze(AnalyzeArgs),
    /// Write a page in which a program can be stepped through the processor, with lessons
    Teach(TeachArgs),
    /// Collect a profile with HPS, in bursts, beside the exhaustive one
    Collect(CollectArgs),
    /// All profilers by accuracy and cost: what each gets wrong and what it takes
    Leaderboard(LeaderboardArgs),
    /// Sweep burst length against frequency: accuracy and overhead, tables, pictures, a report
    Sweep(SweepArgs),
    /// Make a paper's evaluation again: its figures, its claims, and what it left open, as a report
    Reproduce(ReproduceArgs),
    /// Make tables of results that are stored: Parquet, CSV, JSON
    #[command(subcommand)]
    Results(ResultsCommand),
    /// Do sweeps, evaluations and leaderboards in parts, on many machines
    #[command(subcommand)]
    Cluster(ClusterCommand),
    /// Sample at random intervals, and say how often instructions ran and why they stalled
    #[command(subcommand)]
    Dcpi(DcpiCommand),
    /// Check and explain DISE production files
    #[command(subcommand)]
    Dise(DiseCommand),
    /// List, show and check machine descriptions
    #[command(subcommand)]
    Machine(MachineCommand),
    /// The programs that come with the project
    Programs(ProgramsArgs),
    /// Make root folders for programs from packages of Debian or images, and say what is in them
    #[command(subcommand)]
    Root(RootCommand),
    /// Run programs natively under SHIM's observer and in the simulator, and say what agrees
    Validate(ValidateArgs),
    /// Shadow profiling: instrumented copies of a program that run while it goes on
    #[command(subcommand)]
    Shadow(ShadowCommand),
    /// Observe programs natively: tags and counters, every few dozen cycles
    #[command(subcommand)]
    Shim(ShimCommand),
    /// Say what this host has and what the lab can do with it
    #[command(after_long_help = "Example:\n  hps doctor")]
    Doctor {
        #[command(flatten)]
        json: groups::JsonArgs,
    },
    /// Work on the lab itself: speed, completions of shells, man pages
    #[command(subcommand)]
    Dev(DevCommand),
}

/// The command that was chosen in the end, and its arguments.
pub fn chosen<'a>(
    mut command: &'a clap::Command,
    mut matches: &'a clap::ArgMatches,
) -> (&'a clap::Command, &'a clap::ArgMatches) {
    while let Some((name, inner)) = matches.subcommand() {
        let Some(found) = command.find_subcommand(name) else {
            break;
        };
        (command, matches) = (found, inner);
    }
    (command, matches)
}

/// Options of the command among the arguments of the program that it runs.
pub fn strays(command: &clap::Command, matches: &clap::ArgMatches) -> Vec<String> {
    let (command, matches) = chosen(command, matches);
    let trailing = command
        .get_arguments()
        .find(|arg| arg.is_trailing_var_arg_set());
    let words = trailing.and_then(|arg| matches.get_raw(arg.get_id().as_str()));
    let words = words
        .into_iter()
        .flatten()
        .skip(1)
        .filter_map(|word| word.to_str());
    let is_option = |word: &&str| {
        let name = word
            .strip_prefix("--")
            .and_then(|rest| rest.split('=').next());
        name.is_some_and(|name| {
            command
                .get_arguments()
                .any(|arg| arg.get_long() == Some(name))
        })
    };
    words.filter(is_option).map(str::to_string).collect()
}

/// Instruction sets by their names.
pub(crate) fn isa() -> impl TypedValueParser<Value = Isa> {
    PossibleValuesParser::new(Isa::ALL.map(Isa::name))
        .try_map(|name| Isa::from_name(&name).ok_or("not an instruction set"))
}

/// A time in seconds, with or without a point.
fn seconds(text: &str) -> Result<Duration, String> {
    let number = text.parse::<f64>().map_err(|cause| cause.to_string())?;
    Duration::try_from_secs_f64(number).map_err(|cause| cause.to_string())
}

/// The limit on the time of each run of a guest program.
#[derive(Debug, Args, Clone, Copy)]
pub struct TimeArgs {
    /// Time that a run may take, in seconds of the host; it stops beyond [default: no limit]
    #[arg(long = "time-limit", value_name = "SECONDS", value_parser = seconds)]
    pub limit: Option<Duration>,
}

impl TimeArgs {
    /// Limits each run of a program.
    pub fn apply(self, program: &mut Program) {
        program.process.time_limit = self.limit;
    }

    /// The option as a command line has it, if it is given.
    pub fn words(self) -> Option<String> {
        let limit = self.limit?.as_secs_f64();
        Some(format!("--time-limit {limit}"))
    }
}

/// Options that give a guest program its surroundings: files, user, limits, environment.
#[derive(Debug, Args, Clone)]
pub struct GuestArgs {
    /// The host folder that the program sees as `/`; without it, it sees the working folder so, and can
    /// only read
    #[arg(long, value_name = "DIR")]
    pub root: Option<PathBuf>,
    /// The folder, as the program sees it, that the program starts in. Without it, that is the working
    /// folder if it lies under the root, else `/`
    #[arg(long, value_name = "PATH")]
    pub cwd: Option<String>,
    /// Give the program no files
    #[arg(long, conflicts_with_all = ["root", "cwd"])]
    pub no_files: bool,
    /// Let the program change files: under the root, or in a copy of it that is thrown away in the end (`scratch`), so that
    /// one root serves many runs side by side. A file is copied when the program first opens it
    #[arg(long, value_name = "WHERE", requires = "root", num_args = 0..=1, require_equals = true, default_missing_value = "root")]
    pub writable: Option<Writable>,
    /// User as which the program runs, and whose all files are; 0 is root, who has all capabilities
    #[arg(long, value_name = "UID", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(..=4_294_967_294))]
    pub uid: u32,
    /// Group of the program and its files [default: the number of the user]
    #[arg(long, value_name = "GID", value_parser = clap::value_parser!(u32).range(..=4_294_967_294))]
    pub gid: Option<u32>,
    /// Date on which the run begins, in seconds since 1970 [default: 1767225600, the first of January 2026]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(..=4_102_444_800))]
    pub start_time: Option<u64>,
    /// Seed of all randomness that the program can see
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
    /// Draw the addresses of the program (if it is position-independent), its loader, heap, stack and mappings as Linux
    /// draws them: each seed gives one layout [default: addresses are fixed]
    #[arg(long, value_name = "SEED")]
    pub address_seed: Option<u64>,
    /// Memory that the program may map, in MiB
    #[arg(long, value_name = "MIB", default_value_t = 2048, value_parser = clap::value_parser!(u64).range(1..=65536))]
    pub memory_limit: u64,
    /// Bytes that the program may write to streams and files, in MiB; the run stops beyond [default: no limit]
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u64).range(..=1 << 40))]
    pub output_limit: Option<u64>,
    /// With --writable: by how much the program may make files longer, all together, in MiB; holes count
    #[arg(long, value_name = "MIB", default_value_t = 16384, value_parser = clap::value_parser!(u64).range(..=1 << 40))]
    pub file_limit: u64,
    #[command(flatten)]
    pub time: TimeArgs,
    /// Files that the program may have open
    #[arg(long, value_name = "N", default_value_t = 1024, value_parser = clap::value_parser!(u64).range(3..=1 << 20))]
    pub max_open_files: u64,
    /// Time for which a thread of the program runs while others are ready, in simulated nanoseconds (in a functional
    /// run, instructions)
    #[arg(long, value_name = "NS", default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(100..))]
    pub time_slice: u64,
    /// Draw time slices between half of --time-slice and one and a half: each seed gives one interleaving of threads
    #[arg(long, value_name = "SEED")]
    pub thread_seed: Option<u64>,
    /// Threads that the program may have at a time
    #[arg(long, value_name = "N", default_value_t = 8192, value_parser = clap::value_parser!(u32).range(1..=1 << 20))]
    pub max_threads: u32,
    /// Environment variable of the program (may be repeated)
    #[arg(long, value_name = "NAME=VALUE")]
    pub env: Vec<String>,
}

/// Options for the part of a program that counts. Everything before that part runs functionally.
#[derive(Debug, Args, Clone)]
pub struct RegionArgs {
    #[command(flatten)]
    pub start: StartArgs,
    /// End behind so many instructions of the part that counts, or where the program comes to this function. For a
    /// function the program runs once more, with empty standard input if that is this command's
    #[arg(long, value_name = "FUNCTION|N", conflicts_with = "max_instructions")]
    pub until: Option<String>,
    /// Begin and end at the markers in the program: HPS_REGION_BEGIN and HPS_REGION_END of hps_region.h
    #[arg(long, conflicts_with_all = ["from", "until", "max_instructions"])]
    pub between_markers: bool,
}

/// Options for the place where the part of a program that counts begins.
#[derive(Debug, Args, Clone)]
pub struct StartArgs {
    /// Begin behind so many instructions of the program. Caches and predictors are empty there unless --warm is given
    #[arg(long, value_name = "N")]
    pub skip: Option<u64>,
    /// Begin where the program comes to this function for the first time (behind --skip)
    #[arg(long, value_name = "FUNCTION")]
    pub from: Option<String>,
    /// Begin with the caches, TLBs and predictors that the last N instructions in front of the part leave there, or all
    /// of them (--warm alone)
    #[arg(long, value_name = "N", num_args = 0..=1, require_equals = true, default_missing_value = "all")]
    pub warm: Option<String>,
}

impl RegionArgs {
    /// The part of the program that counts.
    pub fn part(&self) -> Part {
        Part {
            until: self.until.clone(),
            between_markers: self.between_markers,
            ..self.start.part()
        }
    }
}

impl StartArgs {
    /// The part of the program that counts, up to its end.
    pub fn part(&self) -> Part {
        Part {
            skip: self.skip.unwrap_or(0),
            from: self.from.clone(),
            until: None,
            between_markers: false,
            warm: self.warm.clone(),
        }
    }
}

/// `hps run`.
#[derive(Debug, Args)]
#[command(after_long_help = examples::RUN)]
pub struct RunArgs {
    /// Instruction set: chooses the image of a program that comes with the project (riscv64 if
    /// none is given); a file must be for it
    #[arg(long, value_name = "ISA", value_parser = isa())]
    pub isa: Option<Isa>,
    /// The program is a file of assembly text
    #[arg(long)]
    pub asm: bool,
    /// Run timed on this machine: the name of a preset (`hps machine show`) or a RON file
    #[arg(long, value_name = "NAME|FILE")]
    pub machine: Option<String>,
    /// With --machine: how it is simulated. Both simulate every instruction and wrong paths too
    #[arg(long, value_enum, default_value_t = CoreKind::Cycle, requires = "machine")]
    pub core: CoreKind,
    #[command(flatten)]
    pub region: RegionArgs,
    #[command(flatten)]
    pub guest: GuestArgs,
    #[command(flatten)]
    pub json: groups::JsonArgs,
    /// Keep the copy of the root that the program works on (--writable=scratch, which this implies), whole, as this folder,
    /// which does not exist yet or is empty
    #[arg(long, value_name = "DIR", requires = "root")]
    pub scratch: Option<PathBuf>,
    /// Interpret the program: compile none of its code. Only the speed of a functional run depends on it
    #[arg(long)]
    pub no_translator: bool,
    /// Print statistics on standard error when the program ends
    #[arg(long)]
    pub stats: bool,
    /// With --machine: attribute cycles to functions (CPI stack by function in the statistics)
    #[arg(long, requires = "machine")]
    pub by_function: bool,
    /// With --machine: write a pipeline log in the Kanata format, for the Konata viewer, to a FILE.kanata, a FILE.log
    /// or `-` (standard output); to a FILE.txt as text: what issued when, beside what, in which pipe, and what it had
    /// waited for
    #[arg(long, value_name = "FILE", requires = "machine")]
    pub trace: Option<OutFile>,
    /// Cycles that the pipeline log covers, as FROM..TO
    #[arg(
        long,
        value_name = "FROM..TO",
        default_value = "0..2000",
        requires = "trace"
    )]
    pub trace_cycles: String,
    /// With --machine: time only short units of the run and tell the IPC with its 95% confidence
    /// interval; in between the program runs functionally and keeps caches and predictors warm. The
    /// interval allows for what that cannot keep warm as well
    #[arg(long, requires = "machine", conflicts_with_all = ["productions", "trace", "by_function"])]
    pub sample: bool,
    /// Instructions from one timed unit to the next [default: 6,250 at the beginning, doubled five times, and 200,000 from
    /// the 40 millionth instruction on]
    #[arg(long, value_name = "N", requires = "sample")]
    pub sample_period: Option<u64>,
    /// Instructions of a timed unit
    #[arg(long, value_name = "N", default_value_t = SamplingPlan::default().unit, requires = "sample")]
    pub sample_unit: u64,
    /// Instructions that are timed before each unit and not measured, in the mean: half as many to half as many again
    #[arg(long, value_name = "N", default_value_t = SamplingPlan::default().warm_up, requires = "sample")]
    pub sample_warm_up: u64,
    /// Production files for the DISE engine: built-in names (hps dise list) or files (may be
    /// repeated; all are loaded together)
    #[arg(long, value_name = "NAME|FILE")]
    pub productions: Vec<String>,
    /// Value of a parameter that the production files declare (may be repeated)
    #[arg(long = "param", value_name = "NAME=VALUE", requires = "productions")]
    pub params: Vec<String>,
    /// Stop after this many instructions of the program (exit code 0)
    #[arg(long, value_name = "N")]
    pub max_instructions: Option<u64>,
    /// Wait for gdb on a port of this host (0: a free one), or on HOST:PORT, and let it step the program, forward and back
    #[arg(long, value_name = "PORT", conflicts_with_all = [
        "by_function", "trace", "sample", "json", "stats", "max_instructions", "until", "between_markers", "scratch",
        "checkpoint_every", "from_checkpoint", "slices", "slice_length",
    ])]
    pub gdb: Option<String>,
    #[command(flatten)]
    pub checkpoint: CheckpointArgs,
    #[command(flatten)]
    pub sliced: SliceArgs,
    /// Program (a RISC-V or Alpha executable, a dynamic one with --root, or the name of one that comes with the project)
    /// and its arguments; whatever stands behind the program is its own, options too
    #[arg(
        trailing_var_arg = true,
        required_unless_present = "from_checkpoint",
        num_args = 1..,
        value_names = ["PROG", "ARGS"]
    )]
    pub command: Vec<String>,
}

/// Checkpoints of a run.
#[derive(Clone, Debug, Default, Args)]
pub struct CheckpointArgs {
    /// Keep the whole state in a file of --checkpoints each time the program has executed this many instructions
    #[arg(long, value_name = "N", requires = "checkpoints", value_parser = clap::value_parser!(u64).range(1..))]
    pub checkpoint_every: Option<u64>,
    /// The folder for checkpoints; those that are there stay, and what they have is not stored again
    #[arg(long, value_name = "DIR", requires = "checkpoint_every")]
    pub checkpoints: Option<PathBuf>,
    /// Go on from a checkpoint: a file, or the last one of a folder. The program and its options are those of the run
    /// that wrote it; --stats, --json, --max-instructions and options for further checkpoints may be given anew
    #[arg(long, value_name = "FILE|DIR")]
    pub from_checkpoint: Option<PathBuf>,
    /// Go on from each checkpoint as soon as it is written, in place of the state in memory: a check of checkpoints
    #[arg(long, requires = "checkpoint_every", hide = true)]
    pub checkpoint_check: bool,
}

impl GuestArgs {
    /// Whether the program changes files of the host.
    pub fn writes_host(&self) -> bool {
        self.writable == Some(Writable::Root)
    }
}

impl RunArgs {
    /// The program.
    pub fn program(&self) -> &str {
        self.command.first().map_or("", String::as_str)
    }

    /// The arguments of the program.
    pub fn arguments(&self) -> &[String] {
        self.command.get(1..).unwrap_or_default()
    }
}

/// The first of these options that was given.
pub fn first_given(options: &[(bool, &'static str)]) -> Option<&'static str> {
    let given = options.iter().find(|(is_given, _)| *is_given);
    given.map(|(_, name)| *name)
}

/// Core models: driven by cycles or by instructions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CoreKind {
    /// A cycle at a time: the reference, for every machine, with pipeline logs and sampled timing
    Cycle,
    /// An instruction at a time, in program order: faster, and equal cycles where all accesses hit. Caches are
    /// asked in program order instead of in order of time. On hps-4wide the IPC of the project's programs differs
    /// by up to 0.8% (docs/measurements/core-agreement.md); where lines conflict in a cache or MSHRs are few, cycles
    /// may be several times too many or too few (docs/measurements/core-accuracy.md), which --stats says. For out-of-order machines;
    /// without pipeline logs and sampled timing
    Instruction,
}

impl From<CoreKind> for hps_pipeline::core::CoreKind {
    fn from(kind: CoreKind) -> Self {
        match kind {
            CoreKind::Cycle => hps_pipeline::core::CoreKind::Cycle,
            CoreKind::Instruction => hps_pipeline::core::CoreKind::Instruction,
        }
    }
}

/// Input size of the programs that come with the project.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Size {
    /// 5 to 8 million instructions
    Small,
    /// 300 million instructions and more
    Large,
}
