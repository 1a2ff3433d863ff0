//! The suite of real programs: what is built, how each is run, and what it does.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, bail};
use hps_sim_core::image::{Isa, ProgramImage};
use hps_sim_core::machine::Stop;
use hps_sim_core::os::{Output, Stdin};
use hps_sim_core::process::ProcessConfig;
use hps_workloads::suite::{self, Built, SuiteProgram};
use serde::Serialize;

use super::{Measured, measured_table, statistics, workload_size};
use crate::cli::ProgramsArgs;
use crate::progress;
use crate::text::{Align, Table, grouped, print};

/// A program of the suite as it is listed.
#[derive(Debug, Serialize)]
struct Listed {
    name: &'static str,
    stands_for: &'static str,
    description: &'static str,
    license: &'static str,
    isa: &'static str,
    /// How it is run, if it is built.
    built: Option<Built>,
    /// With `--measure`.
    #[serde(skip_serializing_if = "Option::is_none")]
    measured: Option<Measured>,
}

/// `hps programs --suite`; the result is the exit code.
pub fn list(args: &ProgramsArgs) -> anyhow::Result<u8> {
    let mut all = listed(args)?;
    if args.measure {
        measure_all(args, &mut all)?;
    }
    if args.json {
        print(&(serde_json::to_string_pretty(&all)? + "\n"))?;
    } else if args.measure {
        let rows = all
            .iter()
            .filter_map(|p| Some((p.name, p.isa, p.measured.as_ref()?)));
        print(&measured_table(rows))?;
    } else {
        print(&table(args)?)?;
    }
    Ok(0)
}

fn folder(args: &ProgramsArgs) -> PathBuf {
    args.folder.clone().unwrap_or_else(suite::default_folder)
}

fn listed(args: &ProgramsArgs) -> anyhow::Result<Vec<Listed>> {
    let mut built = suite::built(&folder(args), workload_size(args.size));
    let isas = args.isa.map_or(Isa::ALL.to_vec(), |isa| vec![isa]);
    let everywhere = suite::all()?
        .iter()
        .flat_map(|program| isas.iter().map(move |isa| (program, isa.name())));
    Ok(everywhere
        .map(|(program, isa)| {
            let at = built
                .iter()
                .position(|b| b.name == program.name && b.isa == isa);
            let SuiteProgram {
                name,
                stands_for,
                description,
                license,
                ..
            } = program;
            Listed {
                name,
                stands_for,
                description,
                license,
                isa,
                built: at.map(|at| built.swap_remove(at)),
                measured: None,
            }
        })
        .collect())
}

/// The programs, and on which instruction sets they are built.
pub fn table(args: &ProgramsArgs) -> anyhow::Result<String> {
    let columns = [
        ("program", Align::Left),
        ("stands for", Align::Left),
        ("built for", Align::Left),
        ("description", Align::Left),
    ];
    let mut table = Table::new(&columns);
    for program in listed(args)?.chunk_by(|a, b| a.name == b.name) {
        let p = &program[0];
        let isas: Vec<&str> = program
            .iter()
            .filter(|p| p.built.is_some())
            .map(|p| p.isa)
            .collect();
        let isas = match isas.is_empty() {
            true => "-".to_string(),
            false => isas.join(", "),
        };
        table.row([p.name, p.stands_for, &isas, p.description].map(str::to_string));
    }
    Ok(table.render()
        + &format!(
            "\n`hps programs build` builds what is not built; it is kept in {}.\n",
            folder(args).display()
        ))
}

fn measure_all(args: &ProgramsArgs, all: &mut [Listed]) -> anyhow::Result<()> {
    let size = workload_size(args.size);
    let there = all.iter().filter(|p| p.built.is_some()).count();
    if there == 0 {
        bail!(
            "none of the suite is built in {}; build it with `hps programs build`",
            folder(args).display()
        );
    }
    let bar = progress::bar(there as u64, "programs");
    for listed in all {
        let Some(built) = &listed.built else { continue };
        bar.set_message(format!("{} {}", built.name, built.isa));
        let image = load(built)?;
        let check = |stop: Stop, output: &[u8]| expect(built, stop, output);
        listed.measured = Some(Measured {
            size: size.arg(),
            statistics: statistics(&image, &process_config(built)?, check)?,
        });
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(())
}

/// Loads a program of the suite.
pub fn load(built: &Built) -> anyhow::Result<Arc<ProgramImage>> {
    Ok(Arc::new(ProgramImage::load(&built.image)?))
}

/// How a program of the suite is run: it may read its files and change nothing, and its output is
/// kept for comparison.
pub fn process_config(built: &Built) -> anyhow::Result<ProcessConfig> {
    let stdin = match &built.stdin {
        Some(file) => Stdin::Bytes(
            std::fs::read(file).with_context(|| format!("{}: cannot be read", file.display()))?,
        ),
        None => Stdin::Empty,
    };
    Ok(ProcessConfig {
        args: [vec![built.name.clone()], built.args.clone()].concat(),
        root: Some(built.root.clone()),
        stdin,
        stdout: Output::Capture,
        ..ProcessConfig::default()
    })
}

/// Refuses a run that did not do what the program must do.
pub fn expect(built: &Built, stop: Stop, output: &[u8]) -> anyhow::Result<()> {
    let what = format!("{} for {}", built.name, built.isa);
    if stop != Stop::Exit(0) {
        bail!("{what}: ended with {stop:?} instead of exit code 0");
    }
    let found = suite::sha256_hex(output);
    if found != built.expected_stdout_sha256 {
        bail!(
            "{what}: printed {} bytes whose SHA-256 is {found}, but the manifest says {}",
            grouped(output.len() as u64),
            built.expected_stdout_sha256
        );
    }
    Ok(())
}
