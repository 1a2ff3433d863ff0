//! The `hps` command: a laboratory for profilers.

mod cli;
mod commands;
mod host;
mod productions;
mod program;
mod progress;
mod text;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let cli = cli::Cli::parse();
    match commands::dispatch(cli) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            if is_broken_pipe(&error) {
                return ExitCode::SUCCESS;
            }
            eprintln!("hps: error: {error:#}");
            ExitCode::from(2)
        }
    }
}

/// The reader of our output has gone (`hps … | head`): not an error of ours.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause
            .downcast_ref::<std::io::Error>()
            .is_some_and(|e| e.kind() == std::io::ErrorKind::BrokenPipe)
    })
}
