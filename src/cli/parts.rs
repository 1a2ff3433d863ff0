//! Options that do a run in parts.

use clap::Args;
use hps_experiments::cluster::{Order, Part};

/// Options for the work of one process on a run that can be resumed; without any of them, the whole run.
#[derive(Debug, Args, Clone, Default)]
#[command(next_help_heading = "In parts, on several machines")]
pub struct PartArgs {
    /// Write what there is to do with estimated costs into plan.jsonl in the folder for results, and stop
    #[arg(long, group = "order")]
    pub plan: bool,
    /// Do part I of N of the plan, in a folder of its own below the folder for results. Parts cost about the same
    #[arg(long, value_name = "I/N", group = "order")]
    pub shard: Option<Part>,
    /// Join what parts have done, and write the report if nothing is missing
    #[arg(long, group = "order")]
    pub merge: bool,
    /// Say what is done, failed, running and missing
    #[arg(long, group = "order")]
    pub status: bool,
    /// Join what parts have done, and try failed pieces again whose names begin so (may be repeated; --status names them)
    #[arg(long, value_name = "NAME", group = "order")]
    pub retry: Vec<String>,
}

impl PartArgs {
    /// Options that ask for the plan.
    pub fn planning() -> PartArgs {
        PartArgs {
            plan: true,
            ..PartArgs::default()
        }
    }

    /// The order that these options give.
    pub fn order(&self) -> Order {
        match self.shard {
            Some(part) => Order::Part(part),
            None if self.plan => Order::Plan,
            None if self.merge => Order::Merge,
            None if self.status => Order::Status,
            None if !self.retry.is_empty() => Order::Retry(self.retry.clone()),
            None => Order::Whole,
        }
    }
}
