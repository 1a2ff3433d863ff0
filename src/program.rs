//! Surroundings of guest programs, as options of commands give them.

use std::path::Path;

use anyhow::{Context, bail};
use hps_experiments::{OwnProgram, Part};
use hps_lab::input;
use hps_lab::{Files, GuestLimits, GuestOptions, Program, Region, ThreadRules};
use hps_system::image::Isa;
use hps_system::os::{Output, Owner, Stdin};
use rustix::fs::FileType;

use crate::cli::groups::SubjectArgs;
use crate::cli::{GuestArgs, RegionArgs, Size, Writable};
use crate::commands::programs::workload_size;

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

/// The program that a command names ([`Program::named`]); a warning is said if its line tables cannot be read.
pub fn find(
    name: &str,
    isa: Option<Isa>,
    arguments: &[String],
    guest: &GuestOptions,
) -> anyhow::Result<Program> {
    Ok(warned(Program::named(name, isa, arguments, guest)?))
}

/// The program of assembly text in a file ([`Program::assembled`]).
pub fn assembled(
    file: &str,
    isa: Option<Isa>,
    arguments: &[String],
    guest: &GuestOptions,
) -> anyhow::Result<Program> {
    Ok(warned(Program::assembled(file, isa, arguments, guest)?))
}

fn warned(program: Program) -> Program {
    if let Some(refusal) = program.image.debug_refusal() {
        say!("hps: warning: {}: {refusal}", program.name);
    }
    program
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
    let mut program = find(name, isa, arguments, &guest_options(guest)?)?;
    if program.process.writable && program.process.scratch.is_none() {
        bail!("--writable: the program runs more than once, and would find its own changes");
    }
    // A program of the suite brings its input.
    if matches!(program.process.stdin, Stdin::Inherit) {
        let is_terminal = std::io::IsTerminal::is_terminal(&std::io::stdin());
        let input = match is_terminal {
            true => Vec::new(),
            false => input::read_host(program.process.time_limit)?,
        };
        program.process.stdin = Stdin::Bytes(input);
    }
    program.process.stdout = Output::Capture;
    program.process.stderr = Output::Capture;
    Ok(program)
}

/// The programs of the suite that are built, one instruction set behind the other; all of them without names. `folder`: not
/// where they usually lie.
pub fn suite_programs(
    names: &[String],
    folder: Option<&Path>,
    isas: &[Isa],
    size: Size,
) -> anyhow::Result<Vec<Program>> {
    let folder = folder.map_or_else(hps_workloads::suite::default_folder, Path::to_path_buf);
    let size = workload_size(size);
    let built = hps_workloads::suite::built(&folder, size);
    let wanted = |name: &String| names.is_empty() || names.contains(name);
    let mut programs = Vec::new();
    for isa in isas {
        let of_isa = built
            .iter()
            .filter(|b| b.isa == isa.name() && wanted(&b.name));
        for built in of_isa {
            programs.push(Program::built(built, size.arg())?);
        }
    }
    if programs.is_empty() {
        bail!(
            "{}: none of these programs is built there; `hps programs build` builds them",
            folder.display()
        );
    }
    Ok(programs)
}
