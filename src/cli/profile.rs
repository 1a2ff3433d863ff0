//! `hps profile`.

use clap::{Args, ValueEnum};

use super::groups::{JsonArgs, SubjectArgs, TableArgs};
use super::{CoreKind, RegionArgs, SliceArgs};
use crate::examples;
use crate::output::{ExportArg, OutFolder};

/// Programs of a run that a profile is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Followed {
    /// The one with this number.
    One(u32),
    /// All of them.
    All,
}

fn followed(text: &str) -> Result<Followed, String> {
    match (text, text.parse()) {
        ("all", _) => Ok(Followed::All),
        (_, Ok(number @ 1..)) => Ok(Followed::One(number)),
        _ => Err("write the number of a program, from 1 on, or `all`".to_string()),
    }
}

/// `hps profile`.
#[derive(Debug, Args)]
#[command(after_long_help = examples::PROFILE)]
pub struct ProfileArgs {
    /// Show these profilers' opinion beside the truth (hps leaderboard --list names them; `all` for all)
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    pub with: Vec<String>,
    /// Period of the profilers of --with, in what each counts: a prime is in step with few loops
    #[arg(long, value_name = "N", default_value_t = 997, value_parser = clap::value_parser!(u64).range(1..), requires = "with")]
    pub period: u64,
    /// Event that the periods of --with count instead: cycles, instructions, or an event of instructions that commit
    /// (l1d_miss, l2_miss, llc_miss, dtlb_miss, forwarded, store_wait, mispredicted, replayed, l1i_miss, ...)
    #[arg(long, value_name = "EVENT", requires = "with")]
    pub event: Option<String>,
    /// Let the program pay for the profilers of --with: interrupts, handlers that store records, buffers. The profile is
    /// that of the run under them
    #[arg(long, requires = "with", conflicts_with = "export")]
    pub charged: bool,
    /// Show the code of this function (a name or an address), with what each instruction cost
    #[arg(long, value_name = "FUNCTION")]
    pub annotate: Option<String>,
    /// Write the profile for another tool, in the format that the end of the name or FORMAT says (may be repeated):
    /// pprof, firefox, speedscope, callgrind, folded, perf-script, perf-script-all, flame-graph, llvm-samples
    #[arg(long, value_name = "[FORMAT:]FILE")]
    pub export: Vec<ExportArg>,
    /// Write the exact profile into this folder, a file for each key: instruction, block, line, function, context,
    /// event_stack, time_slice
    #[arg(long, value_name = "DIR")]
    pub out: Option<OutFolder>,
    /// Frames of stacks in an interpreter (whose state can be read: CPython 3.13)
    #[arg(long, value_enum, value_name = "KIND", default_value_t = FrameKind::Nested)]
    pub frames: FrameKind,
    /// Show how the run goes over time
    #[arg(long)]
    pub timeline: bool,
    /// Follow the N-th program of the run, or all of them: every fork and every execve of a process begins one. All are
    /// told together and apart; without the option the first one is followed
    #[arg(long, value_name = "N|all", conflicts_with = "charged", value_parser = followed)]
    pub process: Option<Followed>,
    /// Stop after this many instructions of the program
    #[arg(long, value_name = "N")]
    pub max_instructions: Option<u64>,
    /// The machine
    #[arg(long, value_name = "NAME|FILE", default_value = "hps-4wide")]
    pub machine: String,
    /// Core model
    #[arg(long, value_enum, default_value_t = CoreKind::Cycle)]
    pub core: CoreKind,
    /// Functions, lines and instructions to list
    #[arg(long, default_value_t = 15)]
    pub top: usize,
    #[command(flatten)]
    pub json: JsonArgs,
    #[command(flatten)]
    pub table: TableArgs,
    #[command(flatten)]
    pub region: RegionArgs,
    #[command(flatten)]
    pub sliced: SliceArgs,
    #[command(flatten)]
    pub subject: SubjectArgs,
}

impl ProfileArgs {
    /// The number of the one program that is followed; `None` if all are.
    pub fn program(&self) -> Option<u32> {
        match self.process {
            Some(Followed::One(number)) => Some(number),
            None => Some(1),
            Some(Followed::All) => None,
        }
    }
}

/// Frames of stacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FrameKind {
    /// Interpreted functions inside of the native functions that execute them
    Nested,
    /// Exported stacks of interpreted functions alone
    Interpreted,
    /// Native functions alone: interpreters are not looked for
    Native,
}
