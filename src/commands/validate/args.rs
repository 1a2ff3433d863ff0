//! The arguments of `hps validate`.

use std::path::PathBuf;

use clap::Args;

use hps_sim_core::image::Isa;

use crate::cli::{GuestArgs, Size, isa};
use crate::examples;

/// `hps validate`.
#[derive(Debug, Args)]
#[command(after_long_help = examples::VALIDATE)]
pub struct ValidateArgs {
    /// An executable of this host, compiled with -finstrument-functions and linked dynamically
    #[arg(long, value_name = "FILE", requires = "simulated")]
    pub native: Option<PathBuf>,
    /// The same program as a static RISC-V or Alpha executable
    #[arg(long, value_name = "FILE", requires = "native", visible_aliases = ["riscv", "alpha"])]
    pub simulated: Option<String>,
    /// That executable instrumented as well and linked with shim/preload/hps_shim_stand_in.c, so that the
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
    /// What the program of the pair reads from standard input, in both forms
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
    /// Simulate functionally only: instructions, no cycles
    #[arg(long)]
    pub no_timing: bool,
    /// Burst length of HPS's method profile, in events
    #[arg(long, default_value_t = 1)]
    pub burst: u64,
    /// HPS samples one event in this many
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub one_in: u64,
    /// How many functions to list, for one program
    #[arg(long, default_value_t = 20)]
    pub top: usize,
    /// Folder for what is compiled
    #[arg(long, value_name = "DIR", default_value = "hps-validate")]
    pub out: PathBuf,
    /// Write everything as JSON to this file
    #[arg(long, value_name = "FILE.json")]
    pub json: Option<PathBuf>,
    #[command(flatten)]
    pub guest: GuestArgs,
    /// Programs that come with the project (all without any); for a pair its arguments, which begin
    /// behind `--`
    #[arg(value_name = "PROG|ARG")]
    pub args: Vec<String>,
}
