//! `hps collect`.

use clap::{Args, ValueEnum};

use super::groups::{JsonArgs, SubjectArgs};
use super::{CoreKind, StartArgs};
use crate::examples;

/// A kind of profile on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Kind {
    /// Hot methods: calls and back-edges by method
    Method,
    /// Hot call pairs: call site and target
    CallPair,
    /// Hot data streams: repeated sequences of data addresses
    DataStream,
}

/// Owners of the tables that HPS's handlers write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TablesKind {
    /// Each hardware context has its own
    Context,
    /// Each thread of the program has its own, the first 63 one each: the kernel switches their address with the thread
    Thread,
    /// One table for all: two contexts that count in it at once may lose an event
    Shared,
}

/// `hps collect`.
#[derive(Debug, Args)]
#[command(after_long_help = examples::COLLECT)]
pub struct CollectArgs {
    /// Kind of the profile
    #[arg(long, value_enum, default_value_t = Kind::Method)]
    pub kind: Kind,
    /// Burst length, in events (calls and back-edges) [default: 1, and 100 for data streams]
    #[arg(long)]
    pub burst: Option<u64>,
    /// Sample one event in this many [default: 100]
    #[arg(long, value_name = "N")]
    pub one_in: Option<u64>,
    /// Change the sampling while the program runs: AT:BURST:ONE_IN, from that many instructions on
    /// (may be repeated)
    #[arg(long, value_name = "AT:BURST:ONE_IN")]
    pub change: Vec<String>,
    /// Draw the number of events between bursts anew each time, with the same mean: no loop can be in step with it
    #[arg(long)]
    pub random_period: bool,
    /// Count a jump to the entry of a function (a tail call) as an entry of the method, or as a call pair [default:
    /// yes for methods, no for call pairs]. `no` is the HPS report's definition: calls and back-edges
    #[arg(long, value_name = "yes|no", num_args = 0..=1, require_equals = true, default_missing_value = "yes", value_parser = yes_or_no)]
    pub tail_calls: Option<bool>,
    /// Owners of the tables that the handlers write, for programs with threads and machines with several hardware
    /// contexts; the profile holds all tables, and each is listed. Not of data streams [default: context if there are
    /// several]
    #[arg(long, value_enum, value_name = "WHOSE")]
    pub tables: Option<TablesKind>,
    /// Seed of --random-period
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1,
        requires = "random_period"
    )]
    pub period_seed: u64,
    /// Time it on this machine, and report the overhead; functional only without
    #[arg(long, value_name = "NAME|FILE")]
    pub machine: Option<String>,
    /// Core model
    #[arg(long, value_enum, default_value_t = CoreKind::Cycle)]
    pub core: CoreKind,
    /// Leave what wrong paths did to the counters unrepaired
    #[arg(long, requires = "machine")]
    pub unrepaired: bool,
    /// Members to list
    #[arg(long, default_value_t = 15)]
    pub top: usize,
    #[command(flatten)]
    pub json: JsonArgs,
    #[command(flatten)]
    pub start: StartArgs,
    #[command(flatten)]
    pub subject: SubjectArgs,
}

fn yes_or_no(text: &str) -> Result<bool, String> {
    match text {
        "yes" => Ok(true),
        "no" => Ok(false),
        _ => Err("write yes or no".to_owned()),
    }
}
