//! `hps shadow`: profiles of short-lived copies of a program that run instrumented while it goes on.

pub mod args;
mod chip;
mod examples;
mod native;
mod native_args;
mod native_live;
mod native_report;
pub mod results;
mod simulate;

use args::ShadowCommand;

use crate::document::Described;

/// Runs the command; the result is the exit code.
pub fn shadow(command: &ShadowCommand) -> anyhow::Result<u8> {
    match command {
        ShadowCommand::Run(args) => native::run(args),
        ShadowCommand::Attach(args) => native::attach(args),
        ShadowCommand::Simulate(args) => simulate::simulate(args),
        ShadowCommand::Policy(args) => simulate::policy(args),
    }
}

/// What the commands write as JSON.
pub fn all_described() -> Vec<Described> {
    vec![native::described()]
}
