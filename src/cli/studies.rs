//! The command lines of studies over many programs: `hps sweep` and `hps reproduce`.

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Args, ValueEnum};
use hps_system::image::Isa;

use super::groups::{ChosenPrograms, JobsArgs, JsonArgs, TableArgs};
use super::{CoreKind, PartArgs, Size, TimeArgs, isa};
use crate::examples;
use crate::output::OutFolder;

/// `hps sweep`.
#[derive(Debug, Args)]
#[command(after_long_help = examples::SWEEP)]
pub struct SweepArgs {
    /// Sweep definition (RON); without it the paper's grid over all programs
    pub spec: Option<PathBuf>,
    /// Folder for results, pictures and the report
    #[arg(long, value_name = "DIR", default_value = "hps-results")]
    pub out: OutFolder,
    #[command(flatten)]
    pub programs: ChosenPrograms,
    /// The file that each --program of your own (a path) reads as its standard input, from the beginning in every run
    #[arg(long, value_name = "FILE", requires = "program")]
    pub stdin: Option<PathBuf>,
    /// The exit code with which each --program of your own (a path) must end for its results to count
    #[arg(long, value_name = "CODE", requires = "program", default_value_t = 0)]
    pub expect_exit: i32,
    /// Instruction set of the programs that come with the project (may be repeated: each program
    /// runs on each, and the report puts them side by side); riscv64 if none is given
    #[arg(long, value_name = "ISA", value_parser = isa())]
    pub isa: Vec<Isa>,
    /// Input size of the programs that come with the project
    #[arg(long, value_enum)]
    pub size: Option<Size>,
    /// Draw addresses by this seed, as Linux does (may be repeated: each program runs with each seed, and results name the
    /// seed with the input)
    #[arg(long, value_name = "N")]
    pub address_seed: Vec<u64>,
    /// Time the whole grid instead of the points of the paper's Figure 8
    #[arg(long)]
    pub all_timed: bool,
    /// Accuracy only, nothing timed
    #[arg(long, conflicts_with = "all_timed")]
    pub no_timing: bool,
    /// Phases of each point's schedule over which accuracies get their mean, spread and 95% interval; 0: only the phase
    /// that is timed [default: the definition's, or 30]
    #[arg(long, value_name = "N")]
    pub phases: Option<u32>,
    /// Set-ups in which points are timed, the usual one and others whose environment is larger, so that overheads get their
    /// mean, spread and 95% interval [default: the definition's, or 1]
    #[arg(long, value_name = "N", conflicts_with_all = ["no_timing", "sample"])]
    pub set_ups: Option<u32>,
    /// Machine (may be repeated)
    #[arg(long, value_name = "NAME|FILE")]
    pub machine: Vec<String>,
    /// Core model, with and without a profiler [default: the definition's, or cycle]
    #[arg(long, value_enum, conflicts_with_all = ["no_timing", "sample"])]
    pub core: Option<CoreKind>,
    /// Time only short units of each run, and tell overheads with their 95% confidence interval; in
    /// between the program runs functionally, with its profile collected, and keeps caches and
    /// predictors warm. The interval speaks of sampling alone
    #[arg(long, conflicts_with = "no_timing")]
    pub sample: bool,
    /// Instructions from one timed unit to the next [default: the definition's, or 200000]
    #[arg(long, value_name = "N", conflicts_with = "no_timing")]
    pub sample_period: Option<u64>,
    /// Instructions of a timed unit [default: the definition's, or 1000]
    #[arg(long, value_name = "N", conflicts_with = "no_timing")]
    pub sample_unit: Option<u64>,
    /// Instructions that are timed before each unit and not measured, in the mean [default: the definition's, or 2000]
    #[arg(long, value_name = "N", conflicts_with = "no_timing")]
    pub sample_warm_up: Option<u64>,
    #[command(flatten)]
    pub jobs: JobsArgs,
    /// Print the resolved definition and stop
    #[arg(long)]
    pub print_spec: bool,
    #[command(flatten)]
    pub json: JsonArgs,
    #[command(flatten)]
    pub table: TableArgs,
    #[command(flatten)]
    pub parts: PartArgs,
}

/// A paper whose evaluation can be made again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Paper {
    /// Mousa and Krintz, HPS: Hybrid Profiling Support, UCSB technical report 2005-08
    #[value(name = "hps-2005")]
    Hps2005,
    /// Gottschall, Eeckhout and Jahre, TIP: Time-Proportional Instruction Profiling, MICRO 2021, with the errors of TEA,
    /// ISCA 2023
    #[value(name = "tip-2021")]
    Tip2021,
    /// Anderson and others, Continuous Profiling: Where Have All the Cycles Gone?, SOSP 1997
    #[value(name = "dcpi-1997")]
    Dcpi1997,
    /// Moseley and others, Shadow Profiling: Hiding Instrumentation Costs with Parallelism, CGO 2007
    #[value(name = "shadow-2007")]
    Shadow2007,
    /// Yang, Blackburn and McKinley, Computer Performance Microscopy with SHIM, ISCA 2015
    #[value(name = "shim-2015")]
    Shim2015,
    /// Olsauskas-Warren, High Frequency Dynamic Profiling of Managed Runtimes with SHIM, ANU thesis 2015
    #[value(name = "callgraphs-2015")]
    CallGraphs2015,
}

/// `hps reproduce`.
#[derive(Debug, Args, Clone)]
#[command(after_long_help = examples::REPRODUCE)]
pub struct ReproduceArgs {
    /// The paper
    #[arg(value_enum, required_unless_present = "list")]
    paper: Option<Paper>,
    /// Say what each evaluation shows, figure by figure, and what of it stands here; of one paper, if it is named
    #[arg(long)]
    pub list: bool,
    /// Instruction set of the programs that come with the project (may be repeated); riscv64 if none
    /// is given
    #[arg(long, value_name = "ISA", value_parser = isa())]
    pub isa: Vec<Isa>,
    #[command(flatten)]
    pub programs: ChosenPrograms,
    /// The host folder that your own program sees as `/`
    #[arg(long, value_name = "DIR", requires = "program")]
    pub root: Option<PathBuf>,
    /// The file that your own program reads as its standard input, from the beginning in every run
    #[arg(long, value_name = "FILE", requires = "program")]
    pub stdin: Option<PathBuf>,
    /// The real programs that `hps programs build` built, instead; in this folder if it was another
    /// than the usual one. Programs that stand for none of SPECint2000's only if --program names them
    #[arg(long, value_name = "DIR", num_args = 0..=1)]
    pub suite: Option<Option<PathBuf>>,
    /// Input size of the programs that come with the project, and of the suite
    #[arg(long, value_enum, default_value_t = Size::Small)]
    pub size: Size,
    /// Machine [default: hps-4wide; of dcpi-1997, ev5]
    #[arg(long, value_name = "NAME|FILE")]
    pub machine: Option<String>,
    /// Core model
    #[arg(long, value_enum, default_value_t = CoreKind::Cycle)]
    pub core: CoreKind,
    /// Folder for results, pictures and the report [default: the paper's name]
    #[arg(long, value_name = "DIR")]
    pub out: Option<OutFolder>,
    /// Of hps-2005: only these figures and studies
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', value_parser = PossibleValuesParser::new(hps_experiments::chapters()))]
    pub only: Vec<String>,
    /// Of shadow-2007: machines on whose other contexts shadows run, each cycle simulated; `none` for none [default: smt-2 and
    /// cmp-4 with small inputs, else none]
    #[arg(long, value_name = "NAME|FILE,...", value_delimiter = ',')]
    pub chips: Vec<String>,
    /// Of tip-2021: samples that a policy takes in a run, about; fewer in short runs
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(4..))]
    pub samples: u64,
    /// Of tip-2021: phases of the period at which each policy watches
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub phases: u64,
    #[command(flatten)]
    pub time: TimeArgs,
    #[command(flatten)]
    pub jobs: JobsArgs,
    #[command(flatten)]
    pub json: JsonArgs,
    #[command(flatten)]
    pub table: TableArgs,
    /// Arguments of your own program
    #[arg(last = true, value_name = "ARGS")]
    pub arguments: Vec<String>,
    #[command(flatten)]
    pub parts: PartArgs,
}

impl ReproduceArgs {
    /// The paper; the first one if only a list is wanted.
    pub fn paper(&self) -> Paper {
        self.paper.unwrap_or(Paper::Hps2005)
    }

    /// The name of the paper that was named.
    pub fn named_paper(&self) -> Option<String> {
        let value = self.paper.as_ref()?.to_possible_value()?;
        Some(value.get_name().to_string())
    }

    /// The machine of the studies that do not ask for one of their own.
    pub fn machine(&self) -> &str {
        self.machine.as_deref().unwrap_or("hps-4wide")
    }

    /// The folder for results.
    pub fn folder(&self) -> PathBuf {
        let default = || self.paper().to_possible_value();
        let name = |value: clap::builder::PossibleValue| PathBuf::from(value.get_name());
        let given = self.out.as_deref().map(PathBuf::from);
        given.or_else(|| default().map(name)).unwrap_or_default()
    }
}
