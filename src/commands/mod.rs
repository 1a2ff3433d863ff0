//! One file a command.

mod bench;
mod dise;
mod doctor;
mod machine;
mod profile;
mod programs;
mod reproduce;
mod run;
pub mod shim;
mod sweep;
pub mod validate;

use hps_pipeline::config::MachineConfig;
use hps_pipeline::core::CoreKind;

use crate::cli::{self, Cli, Command};

/// Runs a command; the result is the exit code.
pub fn dispatch(cli: Cli) -> anyhow::Result<u8> {
    match cli.command {
        Command::Sweep(args) => sweep::sweep(&args),
        Command::Reproduce(args) => reproduce::reproduce(&args),
        Command::Run(args) => run::run(&args),
        Command::Profile(args) => profile::profile(&args),
        Command::Dise(command) => dise::dise(&command),
        Command::Machine(command) => machine::machine(&command),
        Command::Programs(args) => programs::programs(&args),
        Command::Bench(args) => bench::bench(&args),
        Command::Validate(args) => validate::validate(&args),
        Command::Shim(command) => shim::shim(&command),
        Command::Doctor => doctor::doctor(),
    }
}

/// The core that was asked for, if it can simulate the machine.
pub fn core_for(kind: cli::CoreKind, machine: &MachineConfig) -> anyhow::Result<CoreKind> {
    let kind = CoreKind::from(kind);
    match kind.check(machine) {
        Ok(()) => Ok(kind),
        Err(reason) => anyhow::bail!(
            "machine {} has no instruction-driven core: {reason}; use --core cycle",
            machine.name
        ),
    }
}
