//! Guest programs as commands take them: a file, or the name of one that comes with the project.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, bail};
use hps_sim_core::image::{Isa, ProgramImage};
use hps_sim_core::os::{Output, Stdin};
use hps_sim_core::process::{Process, ProcessConfig};
use hps_workloads::Workload;

use crate::cli::GuestArgs;

/// The instruction set of a program that comes with the project, if none is asked for.
pub const DEFAULT_ISA: Isa = Isa::Riscv64;

/// Loads a program by file or name. A file wins over a name only if the name has a path in it. An
/// instruction set chooses between the images of a name; of a file it must be the one.
pub fn load(program: &str, isa: Option<Isa>) -> anyhow::Result<Arc<ProgramImage>> {
    let path = Path::new(program);
    if !program.contains('/')
        && let Some(workload) = hps_workloads::find(program)
    {
        return load_workload(workload, isa.unwrap_or(DEFAULT_ISA));
    }
    if !path.exists() && !program.contains('/') {
        let names: Vec<_> = hps_workloads::all().iter().map(|w| w.name).collect();
        bail!(
            "{program}: neither a file nor a program that comes with the project ({})",
            names.join(", ")
        );
    }
    let image = ProgramImage::load(path)?;
    match isa {
        Some(isa) if isa != image.isa => {
            bail!("{program}: a program for {}, not for {isa}", image.isa)
        }
        _ => Ok(Arc::new(image)),
    }
}

/// Loads a program that comes with the project.
pub fn load_workload(workload: &Workload, isa: Isa) -> anyhow::Result<Arc<ProgramImage>> {
    let image = image_of(workload, isa)?;
    Ok(Arc::new(ProgramImage::parse(image, workload.name)?))
}

/// The image of a program that comes with the project.
pub fn image_of(workload: &Workload, isa: Isa) -> anyhow::Result<&'static [u8]> {
    workload
        .image(isa.name())
        .with_context(|| format!("{}: there is no image of it for {isa}", workload.name))
}

/// The process configuration that the options ask for; streams pass through.
pub fn process_config(
    guest: &GuestArgs,
    program: &str,
    args: &[String],
) -> anyhow::Result<ProcessConfig> {
    let mut env = Vec::new();
    for pair in &guest.env {
        let (name, value) = pair
            .split_once('=')
            .with_context(|| format!("--env {pair}: write NAME=VALUE"))?;
        env.push((name.to_string(), value.to_string()));
    }
    let (root, cwd) = folders(guest);
    let mut argv = vec![program.to_string()];
    argv.extend(args.iter().cloned());
    Ok(ProcessConfig {
        args: argv,
        env,
        root,
        cwd,
        writable: guest.writable,
        seed: guest.seed,
        memory_limit_bytes: guest.memory_limit << 20,
        output_limit_bytes: guest.output_limit.map(|mib| mib << 20),
        file_limit_bytes: Some(guest.file_limit << 20),
        time_limit_seconds: guest.time_limit,
        open_files_limit: guest.max_open_files,
        stdin: Stdin::Inherit,
        stdout: Output::Inherit,
        stderr: Output::Inherit,
    })
}

/// The root folder and the folder that the program starts in, as it sees it.
fn folders(guest: &GuestArgs) -> (Option<PathBuf>, String) {
    let here = std::env::current_dir().ok();
    let root = match &guest.root {
        _ if guest.no_files => None,
        Some(root) => Some(root.clone()),
        // Nothing can be read in a folder that was removed, and the host's /proc is never shown.
        None => here
            .clone()
            .filter(|here| here.is_dir() && !here.starts_with("/proc")),
    };
    let below = || {
        let root = root.as_ref()?.canonicalize().ok()?;
        let below = here?.strip_prefix(&root).ok()?.to_str()?.to_string();
        Some(format!("/{below}"))
    };
    let start = guest.cwd.clone().or_else(below);
    (root, start.unwrap_or_else(|| "/".to_string()))
}

/// The configuration of a program that comes with the project, its output kept for comparison.
pub fn captured(workload: &Workload, size: hps_workloads::Size) -> ProcessConfig {
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

/// Where an address lies: function and, where the program has it, the source line.
pub fn place(image: &ProgramImage, pc: u64) -> String {
    let mut text = match image.symbols.function_at(pc) {
        Some(f) => format!("{}+{:#x}", f.name, pc - f.addr),
        None => format!("{pc:#x}"),
    };
    if let Some(line) = image.source_line(pc) {
        text.push_str(&format!(" ({line})"));
    }
    text
}
