//! The arguments of `hps validate`.

use std::path::PathBuf;

use clap::Args;

use hps_shim::calls::Collector;
use hps_system::image::Isa;

use crate::cli::groups::JsonArgs;
use crate::cli::{GuestArgs, Size, isa};
use crate::examples;
use crate::output::OutFolder;

/// `hps validate`.
#[derive(Debug, Args)]
#[command(after_long_help = examples::VALIDATE)]
pub struct ValidateArgs {
    /// An executable of this host, compiled with -finstrument-functions and linked dynamically
    #[arg(long, value_name = "FILE", requires = "simulated")]
    pub native: Option<PathBuf>,
    /// Static RISC-V or Alpha executable of the same program
    #[arg(long, value_name = "FILE", requires = "native", visible_aliases = ["riscv", "alpha"])]
    pub simulated: Option<String>,
    /// Executable of --simulated, instrumented as well and linked with shim/preload/hps_shim_stand_in.c, so that the
    /// hooks take their time on both sides
    #[arg(
        long,
        value_name = "FILE",
        requires = "native",
        visible_aliases = ["riscv-instrumented", "alpha-instrumented"]
    )]
    pub simulated_instrumented: Option<String>,
    /// Instruction set of the simulated form of the programs that come with the project
    #[arg(long, value_name = "ISA", value_parser = isa(), default_value = "riscv64", conflicts_with = "native")]
    pub isa: Isa,
    /// Standard input of the pair's program, in both forms
    #[arg(long, value_name = "FILE", requires = "native")]
    pub stdin: Option<PathBuf>,
    /// Input size of the programs that come with the project
    #[arg(long, value_enum, default_value_t = Size::Small)]
    pub size: Size,
    /// Simulate the images that come with the project instead of rebuilding the programs for the
    /// simulated instruction set without inlining (without a cross compiler this is the default)
    #[arg(long)]
    pub image: bool,
    /// Native runs under the observer; 0: count calls only
    #[arg(long, default_value_t = 15)]
    pub runs: usize,
    /// From sample to sample: `fast`, cycles, or a time such as 10us
    #[arg(long, default_value = "2000")]
    pub period: String,
    /// Machine of the timed run
    #[arg(long, value_name = "NAME|FILE", default_value = "hps-4wide")]
    pub machine: String,
    /// Count events of the processor (instructions, branches, misses of caches and TLBs) in user mode of the program
    /// without hooks, --runs times each, and set them beside those of the simulated machine
    #[arg(long, conflicts_with_all = ["no_timing", "report", "calls", "image"])]
    pub counters: bool,
    /// As --counters, and write the counts into this folder, as a record of this machine that others can read beside theirs
    #[arg(long, value_name = "DIR", conflicts_with_all = ["no_timing", "report", "calls", "image"])]
    pub record: Option<OutFolder>,
    /// Show the records of a folder, those of all machines in one table, and count nothing
    #[arg(long, value_name = "DIR", conflicts_with_all = ["counters", "record", "native", "args", "json"])]
    pub records: Option<PathBuf>,
    /// Simulate functionally only: instructions, no cycles
    #[arg(long)]
    pub no_timing: bool,
    /// Burst length of HPS's method profile, in events
    #[arg(long, default_value_t = 1)]
    pub burst: u64,
    /// HPS samples one event in this many
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub one_in: u64,
    /// Compare collectors of calls, natively and in the simulation: stack-2, stack-10, stack-full, pairs-8k, pairs-128k,
    /// pairs-1024k, sequence-8k, sequence-128k, sequence-1024k
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', value_parser = collector)]
    pub calls: Vec<Collector>,
    /// Write a page for each program into this folder: time by function, calls, collectors of calls (stack-full,
    /// pairs-8k and sequence-8k, if --calls names no others), and how far samples are apart on both sides
    #[arg(long, value_name = "DIR")]
    pub report: Option<OutFolder>,
    /// Machine on which observers sit beside the program, on a core of their own
    #[arg(long, value_name = "NAME|FILE", default_value = "shim-haswell-like")]
    pub observed_on: String,
    /// Most instructions of a simulated run beside an observer
    #[arg(long, value_name = "N", default_value_t = 2_000_000, value_parser = clap::value_parser!(u64).range(1..))]
    pub observed_instructions: u64,
    /// Functions to list, for one program
    #[arg(long, default_value_t = 20)]
    pub top: usize,
    /// Folder for what is compiled
    #[arg(long, value_name = "DIR", default_value = "hps-validate")]
    pub out: OutFolder,
    #[command(flatten)]
    pub json: JsonArgs,
    #[command(flatten)]
    pub guest: GuestArgs,
    /// Programs that come with the project (all without any); for a pair its arguments, which begin
    /// behind `--`
    #[arg(value_name = "PROG|ARG")]
    pub args: Vec<String>,
}

/// A collector that both sides have.
fn collector(name: &str) -> Result<Collector, String> {
    use hps_experiments::callgraphs::Collector as Simulated;
    let collector: Collector = name.parse()?;
    let known: Vec<String> = Simulated::of_calls().map(Simulated::name).collect();
    match known.iter().any(|known| known == name) {
        true => Ok(collector),
        false => Err(format!(
            "{name} is not in the simulation; there are {}",
            known.join(", ")
        )),
    }
}

impl ValidateArgs {
    /// The collectors of calls that are compared.
    pub fn collectors(&self) -> Vec<Collector> {
        match (self.calls.as_slice(), &self.report) {
            ([], Some(_)) => vec![
                Collector::Stack(None),
                Collector::Pairs(8 << 10),
                Collector::Sequence(8 << 10),
            ],
            (named, _) => named.to_vec(),
        }
    }
}
