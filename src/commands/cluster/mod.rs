//! `hps cluster`: runs in parts, on several machines; and what the options of each run say of parts.

pub mod args;
pub mod parts;
mod slurm;

use hps_experiments::cluster::merge;

use self::args::{ClusterCommand, MergeArgs};
use crate::text;

/// Runs the command.
pub fn cluster(command: &ClusterCommand) -> anyhow::Result<u8> {
    match command {
        ClusterCommand::Merge(args) => join(args),
        ClusterCommand::Slurm(args) => slurm::slurm(args),
    }
}

fn join(args: &MergeArgs) -> anyhow::Result<u8> {
    let merged = merge(&args.into, &args.from)?;
    text::print(&format!(
        "stores   {}\ndone     {}\nfailed   {}\n",
        merged.stores, merged.done, merged.failed
    ))?;
    Ok(0)
}
