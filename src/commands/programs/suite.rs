//! The suite of real programs: what is built, how each is run, and what it does.

use std::path::PathBuf;

use anyhow::bail;
use hps_lab::Program;
use hps_system::image::Isa;
use hps_workloads::suite::{self, Built, SuiteProgram};
use schemars::JsonSchema;
use serde::Serialize;

use super::{Measured, measure, measured_table, workload_size};
use crate::cli::ProgramsArgs;
use crate::document::{Described, Format};
use crate::progress;
use crate::text::{Align, Table};

/// A program of the suite as it is listed.
#[derive(Debug, Serialize, JsonSchema)]
struct Listed {
    /// Name of the program.
    name: &'static str,
    /// The SPECint2000 program that it stands for; empty if there is none.
    stands_for: &'static str,
    /// Description in one line.
    description: &'static str,
    /// License of its sources.
    license: &'static str,
    /// Instruction set of the executable.
    isa: &'static str,
    /// The executable and its command line, if it is built.
    built: Option<Built>,
    /// Counts of a run; only with `--measure`.
    #[serde(skip_serializing_if = "Option::is_none")]
    measured: Option<Measured>,
}

/// `hps programs --suite`; the result is the exit code.
pub fn list(args: &ProgramsArgs) -> anyhow::Result<u8> {
    let mut all = listed(args)?;
    if args.measure {
        measure_all(args, &mut all)?;
    }
    args.json.write(&all)?;
    let text = match args.measure {
        true => {
            let rows = all.iter();
            measured_table(rows.filter_map(|p| Some((p.name, p.isa, p.measured.as_ref()?))))
        }
        false => table(args)?,
    };
    args.json.print_text(&text)?;
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
        let stands_for = match p.stands_for {
            "" => "-",
            some => some,
        };
        table.row([p.name, stands_for, &isas, p.description].map(str::to_string));
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
        listed.measured = Some(Measured {
            size: size.arg(),
            statistics: measure(&Program::built(built, size.arg())?)?,
        });
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(())
}

/// Format of the list of real programs.
const FORMAT: Format = Format::new("hps-suite", 1);

/// What the command writes as JSON.
pub fn described() -> Described {
    FORMAT.described::<Vec<Listed>>(&["programs --suite"])
}
