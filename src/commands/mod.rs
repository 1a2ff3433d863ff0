//! The commands of `hps`, one file each.

mod analyze;
mod bench;
pub mod cluster;
mod collect;
mod contention;
pub mod dcpi;
mod dise;
mod doctor;
pub mod leaderboard;
mod machine;
mod manual;
mod preloadable;
mod profile;
pub mod programs;
mod reproduce;
mod results;
mod root;
mod run;
pub mod shadow;
pub mod shim;
mod sweep;
mod teach;
pub mod validate;

use hps_lab::{LabError, TimedMachine};

use crate::cli::{self, Cli, Command, DevCommand};

/// Runs a command; the result is the exit code.
pub fn dispatch(cli: Cli) -> anyhow::Result<u8> {
    match cli.command {
        Command::Sweep(args) => sweep::sweep(&args),
        Command::Reproduce(args) => reproduce::reproduce(&args),
        Command::Results(command) => results::results(&command),
        Command::Cluster(command) => cluster::cluster(&command),
        Command::Run(args) => run::run(&args),
        Command::Analyze(args) => analyze::analyze(&args),
        Command::Teach(args) => teach::teach(&args),
        Command::Profile(args) => profile::profile(&args),
        Command::Collect(args) => collect::collect(&args),
        Command::Leaderboard(args) => leaderboard::leaderboard(&args),
        Command::Dcpi(command) => dcpi::dcpi(&command),
        Command::Dise(command) => dise::dise(&command),
        Command::Machine(command) => machine::machine(&command),
        Command::Programs(args) => programs::programs(&args),
        Command::Root(command) => root::root(&command),
        Command::Validate(args) => validate::validate(&args),
        Command::Shadow(command) => shadow::shadow(&command),
        Command::Shim(command) => shim::shim(&command),
        Command::Doctor { json } => doctor::doctor(&json),
        Command::Dev(DevCommand::Bench(args)) => bench::bench(&args),
        Command::Dev(DevCommand::Completions { shell }) => manual::completions(shell),
        Command::Dev(DevCommand::Man { folder }) => manual::man(&folder),
        Command::Dev(DevCommand::Schemas { folder }) => results::write_schemas(&folder),
    }
}

/// The machine that was asked for, if a core of this kind can simulate it.
pub fn timed_machine(name: &str, core: cli::CoreKind) -> anyhow::Result<TimedMachine> {
    TimedMachine::load(name, core.into()).map_err(|error| match error {
        LabError::NotDriven { .. } => anyhow::anyhow!("{error}; use --core cycle"),
        error => error.into(),
    })
}

/// Note of reports whose machine was simulated by the instruction-driven core.
pub const INSTRUCTION_CORE_NOTE: &str = "The machine was simulated an instruction at a time: caches are asked in \
    program order instead of in order of time, so that cycles differ a little from those of the reference, a cycle at a \
    time.";
