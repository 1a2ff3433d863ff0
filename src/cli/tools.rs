//! The command lines of what looks after the lab: productions, machines, programs, benchmarks.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use hps_system::image::Isa;

use super::groups::{ChosenPrograms, JobsArgs, JsonArgs};
use super::{Size, isa};
use crate::examples;
use crate::output::{ImageArg, OutFolder};

/// `hps dise`.
#[derive(Debug, Subcommand)]
#[command(after_long_help = examples::DISE)]
pub enum DiseCommand {
    /// Check production files together: syntax, table use, conflicts
    #[command(after_long_help = "Example:\n  hps dise check hot_method my.dise")]
    Check {
        /// Files, or names of built-in ones
        #[arg(required = true)]
        files: Vec<String>,
        #[command(flatten)]
        json: JsonArgs,
    },
    /// Say which production wins for which instruction, in each state of the counters' flags
    #[command(after_long_help = "Example:\n  hps dise explain hot_call_pair --program interp")]
    Explain {
        /// Files, or names of built-in ones
        #[arg(required = true)]
        files: Vec<String>,
        /// Explain it for the instructions of this program; without one for one instruction of each
        /// class
        #[arg(long, value_name = "PROGRAM")]
        program: Option<String>,
        /// Instruction set of the productions, and which image of a program that comes with the project
        /// (riscv64 if none is given)
        #[arg(long, value_name = "ISA", value_parser = isa())]
        isa: Option<Isa>,
        #[command(flatten)]
        json: JsonArgs,
    },
    /// List the production files that come with the project, or print one
    #[command(after_long_help = "Example:\n  hps dise list hot_method")]
    List {
        /// Print this one
        name: Option<String>,
        #[command(flatten)]
        json: JsonArgs,
    },
}

/// `hps machine`.
#[derive(Debug, Subcommand)]
#[command(after_long_help = examples::MACHINE)]
pub enum MachineCommand {
    /// Show a machine with every key, its unit, value and origin; without one, list the presets
    #[command(after_long_help = "Examples:\n  hps machine show\n  hps machine show hps-4wide")]
    Show {
        /// Name of a preset, or file
        machine: Option<String>,
        /// Print the resolved RON only
        #[arg(long, requires = "machine", conflicts_with = "json")]
        ron: bool,
        #[command(flatten)]
        json: JsonArgs,
    },
    /// Check machine files: exit code 1 if one of them describes no machine
    #[command(after_long_help = "Example:\n  hps machine check my-machine.ron")]
    Check {
        /// Files, or names of presets
        #[arg(required = true)]
        files: Vec<String>,
        #[command(flatten)]
        json: JsonArgs,
    },
    /// Describe every key: unit, default, meaning
    #[command(after_long_help = "Example:\n  hps machine keys")]
    Keys {
        #[command(flatten)]
        json: JsonArgs,
    },
}

/// `hps programs`.
#[derive(Debug, Args)]
#[command(after_long_help = examples::PROGRAMS, args_conflicts_with_subcommands = true)]
pub struct ProgramsArgs {
    /// The command to run instead of the list.
    #[command(subcommand)]
    pub command: Option<ProgramsCommand>,
    /// Only this instruction set; with --extract the image for it (riscv64 if none is given)
    #[arg(long, value_name = "ISA", value_parser = isa())]
    pub isa: Option<Isa>,
    /// Only the suite of real programs, which `hps programs build` builds
    #[arg(long, conflicts_with = "extract")]
    pub suite: bool,
    /// Count instructions, calls, branches and references of each (the paper's Figure 6)
    #[arg(long)]
    pub measure: bool,
    /// Input size to measure
    #[arg(long, value_enum, default_value_t = Size::Small)]
    pub size: Size,
    /// Write the image of a program to a file, as NAME=FILE
    #[arg(long, value_name = "NAME=FILE")]
    pub extract: Option<ImageArg>,
    #[command(flatten)]
    pub json: JsonArgs,
    /// The folder of the suite [default: $XDG_CACHE_HOME/hps-lab/programs, or ~/.cache/hps-lab/programs]
    #[arg(long, value_name = "DIR")]
    pub folder: Option<PathBuf>,
}

/// `hps programs build`.
#[derive(Debug, Subcommand)]
pub enum ProgramsCommand {
    /// Build the suite of real programs: fetch pinned sources, compile, compare with QEMU
    Build(SuiteBuildArgs),
}

/// `hps programs build`.
#[derive(Debug, Args)]
#[command(after_long_help = examples::PROGRAMS_BUILD)]
pub struct SuiteBuildArgs {
    /// Only these programs
    #[arg(value_name = "NAME")]
    pub names: Vec<String>,
    /// Only this instruction set
    #[arg(long, value_name = "ISA", value_parser = isa())]
    pub isa: Option<Isa>,
    /// Folder for sources and results [default: $XDG_CACHE_HOME/hps-lab/programs, or ~/.cache/hps-lab/programs]
    #[arg(long, value_name = "DIR")]
    pub folder: Option<OutFolder>,
    #[command(flatten)]
    pub jobs: JobsArgs,
    /// Compare only the small runs with QEMU and the expected output, not the large ones
    #[arg(long)]
    pub small: bool,
    /// Fetch and check the sources and stop
    #[arg(long)]
    pub fetch: bool,
}

/// `hps dev`.
#[derive(Debug, Subcommand)]
#[command(after_long_help = examples::DEV)]
pub enum DevCommand {
    /// Measure the speed of each mode, beside QEMU on the same binary
    Bench(Box<BenchArgs>),
    /// Print a shell's completions of this command
    #[command(
        after_long_help = "Example:\n  hps dev completions bash > ~/.local/share/bash-completion/completions/hps"
    )]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Write man pages of all commands
    #[command(after_long_help = "Example:\n  hps dev man ~/.local/share/man/man1")]
    Man {
        /// Folder for the pages, such as ~/.local/share/man/man1
        folder: OutFolder,
    },
    /// Write the JSON Schema of each table and of each JSON document of a command
    #[command(after_long_help = "Example:\n  hps dev schemas docs/formats/schemas")]
    Schemas {
        /// Folder for the schemas
        folder: OutFolder,
    },
}

/// `hps dev bench`.
#[derive(Debug, Args)]
#[command(after_long_help = examples::BENCH)]
pub struct BenchArgs {
    /// Input size
    #[arg(long, value_enum, default_value_t = Size::Small)]
    pub size: Size,
    /// Instruction set (may be repeated: the ratios to QEMU stand side by side); riscv64 if none is
    /// given
    #[arg(long, value_name = "ISA", value_parser = isa())]
    pub isa: Vec<Isa>,
    /// Machine of the timed mode
    #[arg(long, value_name = "NAME|FILE", default_value = "hps-4wide")]
    pub machine: String,
    #[command(flatten)]
    pub programs: ChosenPrograms,
    /// Runs of each mode; the fastest counts
    #[arg(long, default_value_t = 3)]
    pub runs: usize,
    #[command(flatten)]
    pub json: JsonArgs,
    /// Leave a mode out (may be repeated)
    #[arg(long, value_enum)]
    pub without: Vec<Mode>,
    /// Count host instructions with valgrind instead of taking times
    #[arg(long, conflicts_with_all = ["runs", "without"])]
    pub counts: bool,
    /// Fail if a count is more than 5% above the one in this file, which --counts --json=FILE wrote
    #[arg(long, value_name = "FILE.json", requires = "counts")]
    pub compare: Option<PathBuf>,
    /// The run that is counted
    #[arg(long, hide = true, value_enum, requires = "counted_instructions")]
    pub counted_mode: Option<Mode>,
    /// The length of the run that --counted-mode names
    #[arg(long, hide = true)]
    pub counted_instructions: Option<u64>,
}

/// A mode of `hps dev bench`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Mode {
    /// QEMU's user mode
    Qemu,
    /// The functional machine
    Functional,
    /// The functional machine with the whole grid of samplers and the exhaustive counts, on one thread
    Samplers,
    /// The functional machine with the samplers and the hot data streams of the exhaustive trace, on one thread
    Grid,
    /// The grid, spread over all processors of the host
    GridThreads,
    /// The pipeline, a cycle at a time
    Timed,
    /// The pipeline, an instruction at a time, as `hps run --core instruction`
    Instruction,
    /// The pipeline for one short unit in many instructions, as `hps run --sample` by default
    Sampled,
}
