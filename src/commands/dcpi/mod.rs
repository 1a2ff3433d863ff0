//! `hps dcpi`: continuous profiling with random samples, and its tools.

pub mod args;
mod collect;
mod examples;
mod page;
mod sets;
mod tools;

use args::DcpiCommand;

/// Runs the command; the result is the exit code.
pub fn dcpi(command: &DcpiCommand) -> anyhow::Result<u8> {
    match command {
        DcpiCommand::Collect(args) => collect::collect(args),
        DcpiCommand::Prof(args) => tools::prof(args),
        DcpiCommand::Annotate(args) => tools::annotate(args),
        DcpiCommand::Calc(args) => tools::calc(args),
        DcpiCommand::Stats(args) => tools::stats(args),
        DcpiCommand::Diff(args) => tools::diff(args),
        DcpiCommand::Cfg(args) => tools::cfg(args),
        DcpiCommand::Page(args) => page::page(args),
        DcpiCommand::Export(args) => tools::export(args),
    }
}
