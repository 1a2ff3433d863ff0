//! `hps dcpi`: continuous profiling with random samples, and its tools.

pub mod args;
mod collect;
mod examples;
mod objects;
mod page;
mod report;
pub mod results;
mod sets;

use args::DcpiCommand;

/// Runs the command; the result is the exit code.
pub fn dcpi(command: &DcpiCommand) -> anyhow::Result<u8> {
    match command {
        DcpiCommand::Collect(args) => collect::collect(args),
        DcpiCommand::Report(args) => report::report(args),
    }
}
