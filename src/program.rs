//! Surroundings of guest programs, as options of commands give them.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, bail};
use hps_experiments::{OwnProgram, Part};
use hps_lab::input;
use hps_lab::{
    DEFAULT_ISA, Files, GuestLimits, GuestOptions, LabError, Program, Region, ThreadRules,
};
use hps_sim_core::asm::program::assemble;
use hps_sim_core::host;
use hps_sim_core::image::{Isa, ProgramImage};
use hps_sim_core::os::{Output, Owner, Stdin};
use hps_workloads::{Size, suite};
use rustix::fs::FileType;

use crate::cli::groups::SubjectArgs;
use crate::cli::{GuestArgs, RegionArgs, Writable};

/// The surroundings that the options give to a program. Its standard streams pass through.
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
            writable: guest.writable.is_some(),
        },
        None => Files::WorkingFolder,
    };
    Ok(GuestOptions {
        files,
        scratch: (guest.writable == Some(Writable::Scratch)).then(std::env::temp_dir),
        cwd: guest.cwd.clone(),
        env,
        seed: guest.seed,
        address_seed: guest.address_seed,
        owner: Owner {
            uid: guest.uid,
            gid: guest.gid.unwrap_or(guest.uid),
        },
        start_seconds: guest.start_time,
        threads: ThreadRules {
            slice_ns: guest.time_slice,
            seed: guest.thread_seed,
            limit: guest.max_threads,
        },
        limits: GuestLimits {
            memory_bytes: guest.memory_limit << 20,
            output_bytes: guest.output_limit.map(|mib| mib << 20),
            file_bytes: Some(guest.file_limit << 20),
            time: guest.time.limit,
            open_files: guest.max_open_files,
        },
        stdin: Stdin::Inherit,
        stdout: Output::Inherit,
        stderr: Output::Inherit,
    })
}

/// Programs of the user's own in a study: each is found by its path, and has these arguments, root and standard input.
pub fn own_programs(
    paths: &[String],
    arguments: &[String],
    (root, stdin): (Option<&Path>, Option<&Path>),
) -> anyhow::Result<Vec<OwnProgram>> {
    let absolute = |path: &Path| -> anyhow::Result<String> {
        let path = std::path::absolute(path)
            .with_context(|| format!("{}: cannot be found", path.display()))?;
        Ok(path.to_string_lossy().into_owned())
    };
    let own = |path: &String| {
        Ok(OwnProgram {
            path: absolute(path.as_ref())?,
            called: Some(path.clone()),
            args: arguments.to_vec(),
            root: root.map(absolute).transpose()?,
            stdin: stdin.map(absolute).transpose()?,
            ..OwnProgram::default()
        })
    };
    paths.iter().map(own).collect()
}

/// The program of a name in the folder of `--root`, the one of a file, the one of that name that comes with the project, or
/// the one that `hps programs build` has built, with its arguments and what it gets from outside. A program that was built
/// takes `small` or `large`, or nothing for small, for its own arguments, files and input.
pub fn find(
    name: &str,
    isa: Option<Isa>,
    arguments: &[String],
    guest: &GuestOptions,
) -> anyhow::Result<Program> {
    if let Some(program) = under_root(name, isa, arguments, guest)? {
        return Ok(program);
    }
    let mut program = match Program::find(name, isa) {
        Err(LabError::UnknownProgram { name, known }) => {
            return match of_suite(&name, isa, arguments, guest)? {
                Some(program) => Ok(program),
                None => Err(not_found(LabError::UnknownProgram { name, known }, guest).into()),
            };
        }
        found => found?,
    };
    let mut args = std::mem::take(&mut program.process.args);
    args.extend_from_slice(arguments);
    let program = program.with(guest.process_config(args));
    if let Some(refusal) = program.image.debug_refusal() {
        say!("hps: warning: {}: {refusal}", program.name);
    }
    Ok(program)
}

/// The error for a name that no program has, with the folders of `--root` that were searched, if there is one.
fn not_found(error: LabError, guest: &GuestOptions) -> LabError {
    match (&error, &guest.files) {
        (LabError::UnknownProgram { name, .. }, Files::Under { .. }) => {
            Program::not_on_path(&guest.process_config(vec![name.clone()])).unwrap_or(error)
        }
        _ => error,
    }
}

/// The program of a name in the folder of `--root`, if that has one. A relative path is first one of the host.
fn under_root(
    name: &str,
    isa: Option<Isa>,
    arguments: &[String],
    guest: &GuestOptions,
) -> anyhow::Result<Option<Program>> {
    let Files::Under { root, .. } = &guest.files else {
        return Ok(None);
    };
    let is_relative = name.contains('/') && !name.starts_with('/');
    let is_hosts =
        name.contains('/') && root.canonicalize().is_ok_and(|root| root == Path::new("/"));
    if is_hosts || is_relative && Path::new(name).exists() {
        return Ok(None);
    }
    let args = [&[name.to_string()], arguments].concat();
    let found = Program::under_root(guest.process_config(args), isa)?;
    if found.is_none() && name.contains('/') && !Path::new(name).exists() {
        bail!(
            "{name}: there is no such program under {} (--root), nor on this host; name it as the program will see it",
            root.display()
        );
    }
    Ok(found)
}

/// The program of assembly text in a file, with its arguments and what it gets from outside.
pub fn assembled(
    file: &str,
    isa: Option<Isa>,
    arguments: &[String],
    guest: &GuestOptions,
) -> anyhow::Result<Program> {
    let text = host::read_text(file.as_ref())
        .with_context(|| format!("{file}: the assembly text cannot be read"))?;
    let assembled = assemble(isa.unwrap_or(DEFAULT_ISA), &text)
        .map_err(|e| anyhow::anyhow!("{file}:{}:{}: {}", e.line, e.column, e.message))?;
    let image = ProgramImage::parse(&assembled.file, file)?;
    let mut program = Program::of_image(file, Arc::new(image));
    let mut args = std::mem::take(&mut program.process.args);
    args.extend_from_slice(arguments);
    let program = program.with(guest.process_config(args));
    if let Some(refusal) = program.image.debug_refusal() {
        say!("hps: warning: {}: {refusal}", program.name);
    }
    Ok(program)
}

/// The program of the suite with this name, if it has been built.
fn of_suite(
    name: &str,
    isa: Option<Isa>,
    arguments: &[String],
    guest: &GuestOptions,
) -> anyhow::Result<Option<Program>> {
    let size = match arguments {
        [size] if *size == Size::Large.arg() => Size::Large,
        _ => Size::Small,
    };
    let isa = isa.unwrap_or(DEFAULT_ISA).name();
    let built = suite::built(&suite::default_folder(), size);
    let Some(built) = built.iter().find(|b| b.name == name && b.isa == isa) else {
        return Ok(None);
    };
    let mut program = Program::built(built, size.arg())?;
    let own = std::mem::take(&mut program.process);
    let takes_own = arguments.is_empty() || *arguments == [size.arg()];
    let args = match takes_own {
        true => own.args,
        false => [&own.args[..1], arguments].concat(),
    };
    let mut program = program.with(guest.process_config(args));
    if takes_own {
        (program.process.root, program.process.cwd) = (own.root, own.cwd);
        program.process.stdin = own.stdin;
    }
    Ok(Some(program))
}

/// The input of a program that a command runs several times, each time from the beginning: of the file that `--stdin`
/// names, or this command's own, if that ends.
pub fn repeated_stdin(subject: &SubjectArgs) -> anyhow::Result<Stdin> {
    if let Some(file) = &subject.stdin {
        return Ok(Stdin::Bytes(input::read_file(file)?));
    }
    let given = std::io::stdin();
    let kind = rustix::fs::fstat(&given).map(|stat| FileType::from_raw_mode(stat.st_mode));
    // Terminals and devices may never end.
    match kind {
        Ok(FileType::Fifo | FileType::RegularFile | FileType::Socket) => {
            Ok(Stdin::Bytes(input::read_host(subject.guest.time.limit)?))
        }
        _ => Ok(Stdin::Empty),
    }
}

/// The region of the program that `part` names.
pub fn region(part: &Part) -> anyhow::Result<Option<Region>> {
    part.region().map_err(anyhow::Error::msg)
}

/// Number of instructions of the part that count; `None` for all. `program` has its region and its surroundings.
pub fn region_length(args: &RegionArgs, program: &Program) -> anyhow::Result<Option<u64>> {
    Ok(args.part().length(program)?)
}

/// A program that a command runs several times and shows once: each run has the input of the command, and what it
/// prints is kept.
pub fn seen_once(
    command: &[String],
    isa: Option<Isa>,
    guest: &GuestArgs,
) -> anyhow::Result<Program> {
    let (name, arguments) = command.split_first().context("a program is named")?;
    let options = guest_options(guest)?;
    let mut program = match under_root(name, isa, arguments, &options)? {
        Some(program) => program,
        None => {
            let found = Program::find(name, isa);
            let mut program = found.map_err(|error| not_found(error, &options))?;
            let mut all = std::mem::take(&mut program.process.args);
            all.truncate(1);
            all.extend(arguments.iter().cloned());
            program.with(options.process_config(all))
        }
    };
    if program.process.writable && program.process.scratch.is_none() {
        bail!("--writable: the program runs more than once, and would find its own changes");
    }
    let is_terminal = std::io::IsTerminal::is_terminal(&std::io::stdin());
    let input = match is_terminal {
        true => Vec::new(),
        false => input::read_host(program.process.time_limit)?,
    };
    program.process.stdin = Stdin::Bytes(input);
    program.process.stdout = Output::Capture;
    program.process.stderr = Output::Capture;
    Ok(program)
}
