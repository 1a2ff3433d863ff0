//! `hps programs build`: builds the suite and compares what it prints.

use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, bail};
use hps_lab::{Lab, Program};
use hps_sim_core::machine::Stop;
use hps_system::image::Isa;
use hps_workloads::Size;
use hps_workloads::suite::{self, Builder, Built, Made, SuiteError, SuiteProgram};
use rayon::prelude::*;

use crate::cli::SuiteBuildArgs;
use crate::text::{Align, Table, grouped, print};
use crate::{host, progress};

/// Outcome of building a program for an instruction set.
struct Outcome {
    name: &'static str,
    isa: &'static str,
    result: anyhow::Result<Done>,
}

/// A program that is built and prints what it must.
struct Done {
    made: Made,
    /// Instructions of each run that was compared.
    instructions: Vec<(Size, u64)>,
}

/// Runs the command; the result is the exit code: 1 if something is not as it must be.
pub fn build(args: &SuiteBuildArgs) -> anyhow::Result<u8> {
    let programs: Vec<&'static SuiteProgram> = match args.names.is_empty() {
        true => suite::all()?.iter().collect(),
        false => args
            .names
            .iter()
            .map(|name| suite::find(name))
            .collect::<Result<_, _>>()?,
    };
    let isas = args.isa.map_or(Isa::ALL.to_vec(), |isa| vec![isa]);
    let folder = args.folder.as_deref();
    let folder = folder.map_or_else(suite::default_folder, Path::to_path_buf);
    let builder = Builder::new(&folder)?;
    let fetched = fetch(&builder, &programs, &isas, args.fetch);
    if args.fetch {
        return report_sources(&builder, &programs, &fetched);
    }

    let pairs: Vec<_> = programs
        .iter()
        .zip(fetched)
        .flat_map(|(&program, fetched)| {
            let fetched = fetched.map_err(|e| e.to_string());
            isas.iter().map(move |&isa| (program, isa, fetched.clone()))
        })
        .collect();
    let sizes = match args.small {
        true => vec![Size::Small],
        false => Size::ALL.to_vec(),
    };
    let bar = progress::bar(pairs.len() as u64, "programs");
    let threads = rayon::ThreadPoolBuilder::new()
        .num_threads(args.jobs.jobs)
        .build()
        .context("threads cannot be started")?;
    let outcomes: Vec<Outcome> = threads.install(|| {
        pairs
            .into_par_iter()
            .map(|(program, isa, fetched)| {
                bar.set_message(format!("{} {isa}", program.name));
                let result = fetched
                    .map_err(anyhow::Error::msg)
                    .and_then(|()| build_one(&builder, program, isa, &sizes));
                bar.inc(1);
                Outcome {
                    name: &program.name,
                    isa: isa.name(),
                    result,
                }
            })
            .collect()
    });
    bar.finish_and_clear();
    print(&report(&outcomes, &sizes))?;
    print(&format!(
        "\nEverything is kept in {}.\n",
        builder.folder().display()
    ))?;
    Ok(u8::from(outcomes.iter().any(|o| o.result.is_err())))
}

/// Fetches what is needed for programs that are not built yet, or all that they have.
fn fetch(
    builder: &Builder,
    programs: &[&'static SuiteProgram],
    isas: &[Isa],
    all: bool,
) -> Vec<Result<(), SuiteError>> {
    let bar = progress::bar(programs.len() as u64, "sources");
    let fetched = programs.iter().map(|program| {
        bar.set_message(program.name.clone());
        let built = |isa: &Isa| builder.is_built(program, isa.name());
        let result = match !all && isas.iter().all(built) {
            true => Ok(()),
            false => builder.fetch(program),
        };
        bar.inc(1);
        result
    });
    let fetched = fetched.collect();
    bar.finish_and_clear();
    fetched
}

fn report_sources(
    builder: &Builder,
    programs: &[&'static SuiteProgram],
    fetched: &[Result<(), SuiteError>],
) -> anyhow::Result<u8> {
    let mut text = String::new();
    for (program, result) in programs.iter().zip(fetched) {
        text += &match result {
            Ok(()) => format!("{}: there, as pinned\n", program.name),
            Err(error) => format!("{}: {error}\n", program.name),
        };
    }
    text += &format!(
        "\nSources are kept in {}.\n",
        builder.folder().join("sources").display()
    );
    print(&text)?;
    Ok(u8::from(fetched.iter().any(Result::is_err)))
}

fn build_one(
    builder: &Builder,
    program: &SuiteProgram,
    isa: Isa,
    sizes: &[Size],
) -> anyhow::Result<Done> {
    let made = builder.build(program, isa.name())?;
    let mut instructions = Vec::new();
    for &size in sizes {
        let built = builder
            .built(program, isa.name(), size)
            .context("it was built and is not there")?;
        let count = match built.instructions {
            Some(count) => count,
            None => {
                let count =
                    compare(&built, isa).with_context(|| format!("the {} run", size.arg()))?;
                suite::record_verified(builder.folder(), &built, size, count)?;
                count
            }
        };
        instructions.push((size, count));
    }
    Ok(Done { made, instructions })
}

/// Runs a program under QEMU and on the functional machine; both must print what the manifest says.
/// The result is the number of instructions.
fn compare(built: &Built, isa: Isa) -> anyhow::Result<u64> {
    let by_qemu = under_qemu(built, isa)?;
    let program = Program::built(built, "")?;
    let ran = Lab::of(&program).run()?;
    let output = ran.stdout();
    if ran.stop == Stop::Exit(0) && output != by_qemu {
        let same = output.iter().zip(&by_qemu).take_while(|(a, b)| a == b);
        bail!(
            "{} for {isa}: QEMU printed something else, from byte {} on",
            built.name,
            same.count()
        );
    }
    let ran = ran.successful().with_context(|| program.title())?;
    Ok(ran.instructions())
}

/// Standard output of a program under QEMU.
fn under_qemu(built: &Built, isa: Isa) -> anyhow::Result<Vec<u8>> {
    let Some(qemu) = host::qemu(isa) else {
        bail!(
            "{} is missing; install Debian's package qemu-user",
            host::qemu_name(isa)
        );
    };
    let stdin = match &built.stdin {
        Some(file) => File::open(file)
            .with_context(|| format!("{}: cannot be read", file.display()))?
            .into(),
        None => Stdio::null(),
    };
    let output = Command::new(&qemu)
        .arg("-0")
        .arg(&built.name)
        .arg(&built.image)
        .args(&built.args)
        .current_dir(&built.root)
        .env_clear()
        .stdin(stdin)
        .output()
        .with_context(|| format!("{}: cannot be started", qemu.display()))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!(
            "{} for {isa}: under QEMU it ended with {}: {}",
            built.name,
            output.status,
            said.lines().last().unwrap_or("it said nothing")
        );
    }
    Ok(output.stdout)
}

fn report(outcomes: &[Outcome], sizes: &[Size]) -> String {
    let columns = [
        ("program", Align::Left),
        ("ISA", Align::Left),
        ("state", Align::Left),
    ];
    let mut table = Table::new(&columns);
    for size in sizes {
        table.column(&format!("instructions, {}", size.arg()), Align::Right);
    }
    let mut reasons = String::new();
    for Outcome { name, isa, result } in outcomes {
        let mut row = vec![(*name).to_string(), (*isa).to_string()];
        match result {
            Ok(done) => {
                row.push(match done.made {
                    Made::Fresh => "built".to_string(),
                    Made::Kept => "kept".to_string(),
                });
                row.extend(done.instructions.iter().map(|&(_, count)| grouped(count)));
            }
            Err(error) => {
                row.push("FAILED".to_string());
                reasons += &format!("{name} for {isa}: {error:#}\n");
            }
        }
        table.row(row);
    }
    match reasons.is_empty() {
        true => table.render(),
        false => format!(
            "{}\nNot built, or not as it must be:\n{reasons}",
            table.render()
        ),
    }
}
