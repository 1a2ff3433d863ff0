//! The command lines of `hps analyze` and `hps teach`.

use clap::Args;
use hps_system::image::Isa;

use super::groups::JsonArgs;
use super::isa;
use crate::examples;
use crate::output::OutFile;

/// `hps analyze`.
#[derive(Debug, Args)]
#[command(after_long_help = examples::ANALYZE)]
pub struct AnalyzeArgs {
    /// Instruction set of assembly text, or of a program that comes with the project (riscv64 if none is given)
    #[arg(long, value_name = "ISA", value_parser = isa())]
    pub isa: Option<Isa>,
    /// The machine: the name of a preset (`hps machine show`) or a RON file
    #[arg(long, value_name = "NAME|FILE", default_value = "hps-4wide")]
    pub machine: String,
    /// Instructions that are looked at
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    pub max_instructions: u64,
    #[command(flatten)]
    pub json: JsonArgs,
    /// A file of assembly text (FILE.s), or a program, and its arguments
    #[arg(trailing_var_arg = true, required = true, num_args = 1.., value_names = ["PROG", "ARGS"])]
    pub command: Vec<String>,
}

/// `hps teach`.
#[derive(Debug, Args)]
#[command(after_long_help = examples::TEACH)]
pub struct TeachArgs {
    /// Instruction set of assembly text, or of a program that comes with the project (riscv64 if none is given)
    #[arg(long, value_name = "ISA", value_parser = isa())]
    pub isa: Option<Isa>,
    /// The machine that the page begins with: the name of a preset (`hps machine show`)
    #[arg(long, value_name = "NAME", default_value = "hps-4wide")]
    pub machine: String,
    /// Write the page to this file
    #[arg(long, value_name = "FILE.html", default_value = "hps-lesson.html")]
    pub out: OutFile,
    /// Only write the page, and do not open it
    #[arg(long)]
    pub no_open: bool,
    /// Serve the page on this port of the loopback instead (0: any that is free), until interrupted; the simulator then
    /// runs here, and takes larger programs and longer runs than a page
    #[arg(long, value_name = "PORT", conflicts_with_all = ["out", "no_open"])]
    pub serve: Option<u16>,
    /// A program inside the page: a file of assembly text (FILE.s) or of C (FILE.c, which takes Debian's
    /// gcc-riscv64-linux-gnu), an executable, or a program that comes with the project; and its arguments
    #[arg(trailing_var_arg = true, num_args = 0.., value_names = ["PROG", "ARGS"])]
    pub command: Vec<String>,
}
