//! Guest programs as commands take them: a file, or the name of one that comes with the project.

use std::sync::Arc;

use anyhow::Context;
pub use hps_lab::{DEFAULT_ISA, image_of};
use hps_lab::{Files, GuestLimits, GuestOptions, Program};
use hps_sim_core::image::{Isa, ProgramImage};
use hps_sim_core::os::{Output, Stdin};
use hps_sim_core::process::{Process, ProcessConfig};
use hps_workloads::{Size, Workload};

use crate::cli::GuestArgs;

/// The image of a program by file or name: see [`Program::find`].
pub fn load(program: &str, isa: Option<Isa>) -> anyhow::Result<Arc<ProgramImage>> {
    Ok(Program::find(program, isa)?.image)
}

/// Loads a program that comes with the project.
pub fn load_workload(workload: &Workload, isa: Isa) -> anyhow::Result<Arc<ProgramImage>> {
    Ok(Program::workload(workload, isa, Size::Small)?.image)
}

/// What the options give to a program; streams pass through.
pub fn guest_options(guest: &GuestArgs) -> anyhow::Result<GuestOptions> {
    let mut env = Vec::new();
    for pair in &guest.env {
        let (name, value) = pair
            .split_once('=')
            .with_context(|| format!("--env {pair}: write NAME=VALUE"))?;
        env.push((name.to_string(), value.to_string()));
    }
    let files = match &guest.root {
        _ if guest.no_files => Files::None,
        Some(root) => Files::Under {
            root: root.clone(),
            writable: guest.writable,
        },
        None => Files::WorkingFolder,
    };
    Ok(GuestOptions {
        files,
        cwd: guest.cwd.clone(),
        env,
        seed: guest.seed,
        limits: GuestLimits {
            memory_bytes: guest.memory_limit << 20,
            output_bytes: guest.output_limit.map(|mib| mib << 20),
            file_bytes: Some(guest.file_limit << 20),
            time_seconds: guest.time_limit,
            open_files: guest.max_open_files,
        },
        stdin: Stdin::Inherit,
        stdout: Output::Inherit,
        stderr: Output::Inherit,
    })
}

/// The process configuration that the options ask for; streams pass through.
pub fn process_config(
    guest: &GuestArgs,
    program: &str,
    args: &[String],
) -> anyhow::Result<ProcessConfig> {
    let args = [&[program.to_string()], args].concat();
    Ok(guest_options(guest)?.process_config(args))
}

/// The configuration of a program that comes with the project, its output kept for comparison.
pub fn captured(workload: &Workload, size: Size) -> ProcessConfig {
    let args = [workload.name].into_iter().chain(workload.args(size));
    ProcessConfig {
        args: args.map(str::to_string).collect(),
        stdout: Output::Capture,
        ..ProcessConfig::default()
    }
}

/// A fresh process.
pub fn process(image: &Arc<ProgramImage>, config: &ProcessConfig) -> anyhow::Result<Process> {
    Ok(Process::new(Arc::clone(image), config)?)
}
