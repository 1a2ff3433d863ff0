//! Options of `hps cluster`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::examples;
use crate::output::OutFolder;

/// `hps cluster`.
#[derive(Debug, Subcommand)]
#[command(after_long_help = examples::CLUSTER)]
pub enum ClusterCommand {
    /// Join result folders, in any order, with overlaps and gaps
    #[command(after_long_help = "Example:\n  hps cluster merge joined part-1 part-2")]
    Merge(MergeArgs),
    /// Plan a run and write batch scripts for Slurm that do it
    #[command(after_long_help = "Example:\n  hps cluster slurm --parts 20 --out results my.ron")]
    Slurm(SlurmArgs),
}

/// `hps cluster merge`.
#[derive(Debug, Args)]
pub struct MergeArgs {
    /// The folder for the joined results; what lies there is joined too
    #[arg(value_name = "INTO")]
    pub into: OutFolder,
    /// Folders with results of runs or of parts
    #[arg(value_name = "FROM", required = true)]
    pub from: Vec<PathBuf>,
}

/// `hps cluster slurm`.
#[derive(Debug, Args)]
pub struct SlurmArgs {
    /// Folder for results [default: the command's]
    #[arg(long, value_name = "DIR")]
    pub out: Option<OutFolder>,
    /// Parts, each a task of a job array; without it as many as keep each within --hours
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub parts: Option<u32>,
    /// Hours that a part should take, about
    #[arg(long, value_name = "HOURS", default_value_t = 2.0)]
    pub hours: f64,
    /// Tasks of a job array, at most; there are more arrays if there are more parts [default: what the cluster takes, as
    /// `scontrol show config` says; 1000 where there is none]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub chunk: Option<u32>,
    /// Tasks of an array that run at a time, at most
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub at_once: Option<u32>,
    /// Processors of a part
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub cpus: u32,
    /// The time limit of a part is this many times what the plan expects
    #[arg(long, value_name = "FACTOR", default_value_t = 3.0)]
    pub slack: f64,
    /// Times that failed or missing pieces are planned and submitted again
    #[arg(long, value_name = "N", default_value_t = 2)]
    pub again: u32,
    /// Each part works in a folder of its own below DIR on its node: the plan is copied there, and results are copied back
    /// every minute, on SIGTERM and at the end. Without it parts work in the folder for results, which all nodes share
    #[arg(long, value_name = "DIR")]
    pub copy: Option<PathBuf>,
    /// Another option of sbatch for parts, such as --sbatch=--partition=long (may be repeated)
    #[arg(long, value_name = "OPTION", allow_hyphen_values = true)]
    pub sbatch: Vec<String>,
    /// A sweep definition, or any command that can be done in parts behind `--`: sweep, reproduce, leaderboard
    #[arg(required = true, num_args = 1.., trailing_var_arg = true, value_name = "SPEC|COMMAND")]
    pub run: Vec<String>,
}
