//! `hps programs`: the programs that come with the project and the suite of real programs, and what
//! they do when they run.

mod build;
mod suite;

use std::path::Path;

use anyhow::{Context, bail};
use hps_experiments::figure6;
use hps_lab::{DEFAULT_ISA, Program, image_of};
use hps_productions::ProgramStatistics;
use hps_system::image::Isa;
use hps_workloads::Workload;
use schemars::JsonSchema;
use serde::Serialize;

use crate::cli::{ProgramsArgs, ProgramsCommand, Size};
use crate::document::{Described, Format};
use crate::text::{Align, Table, grouped, print};
use crate::{host, progress};

/// A program as it is listed.
#[derive(Debug, Serialize, JsonSchema)]
struct Listed {
    /// Name of the program.
    name: &'static str,
    /// The SPECint2000 program that it stands for.
    stands_for: &'static str,
    /// Description in one line.
    description: &'static str,
    /// Instruction set of the executable.
    isa: &'static str,
    /// Size of the executable.
    image_bytes: usize,
    /// Counts of a run; only with `--measure`.
    #[serde(skip_serializing_if = "Option::is_none")]
    measured: Option<Measured>,
}

/// Counts of a run.
#[derive(Debug, Serialize, JsonSchema)]
struct Measured {
    /// Input size.
    size: &'static str,
    #[serde(flatten)]
    statistics: ProgramStatistics,
}

/// Runs the command; the result is the exit code.
pub fn programs(args: &ProgramsArgs) -> anyhow::Result<u8> {
    match &args.command {
        Some(ProgramsCommand::Build(build)) => return build::build(build),
        None if args.suite => return suite::list(args),
        None => {}
    }
    if let Some(order) = &args.extract {
        extract(&order.0, args.isa.unwrap_or(DEFAULT_ISA))?;
        return Ok(0);
    }
    let size = workload_size(args.size);
    let isas = args.isa.map_or(Isa::ALL.to_vec(), |isa| vec![isa]);
    let wanted: Vec<(&Workload, Isa)> = hps_workloads::all()
        .iter()
        .flat_map(|workload| isas.iter().map(move |&isa| (workload, isa)))
        .collect();
    let mut all = Vec::new();
    let bar = args
        .measure
        .then(|| progress::bar(wanted.len() as u64, "programs"));
    for (workload, isa) in wanted {
        let measured = match &bar {
            Some(bar) => {
                bar.set_message(workload.name);
                let statistics = measure(&Program::workload(workload, isa, size)?)?;
                bar.inc(1);
                Some(Measured {
                    size: size.arg(),
                    statistics,
                })
            }
            None => None,
        };
        all.push(Listed {
            name: workload.name,
            stands_for: workload.stands_for,
            description: workload.description,
            isa: isa.name(),
            image_bytes: image_of(workload, isa)?.len(),
            measured,
        });
    }
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
    args.json.write(&all)?;
    if args.json.is_printed() {
        return Ok(0);
    }
    if args.measure {
        let rows = all
            .iter()
            .filter_map(|p| Some((p.name, p.isa, p.measured.as_ref()?)));
        print(&measured_table(rows))?;
    } else {
        print(&list(&all))?;
        print(&format!(
            "\nReal programs, from pinned sources of Debian and the Cargo registry:\n\n{}",
            suite::table(args)?
        ))?;
    }
    Ok(0)
}

/// The size as the programs know it.
pub fn workload_size(size: Size) -> hps_workloads::Size {
    match size {
        Size::Small => hps_workloads::Size::Small,
        Size::Large => hps_workloads::Size::Large,
    }
}

fn list(all: &[Listed]) -> String {
    let columns = [
        ("program", Align::Left),
        ("stands for", Align::Left),
        ("instruction sets", Align::Left),
        ("description", Align::Left),
    ];
    let mut table = Table::new(&columns);
    for images in all.chunk_by(|a, b| a.name == b.name) {
        let p = &images[0];
        let isas: Vec<&str> = images.iter().map(|image| image.isa).collect();
        table.row([p.name, p.stands_for, &isas.join(", "), p.description].map(str::to_string));
    }
    table.render()
        + "\nEach takes `small` or `large` as its argument: `hps run bwt small` runs the image for riscv64,\n\
           `hps run --isa alpha bwt small` that for alpha. They have the same sources and print the same.\n"
}

/// The columns of the paper's Figure 6.
fn measured_table<'a>(all: impl Iterator<Item = (&'a str, &'a str, &'a Measured)>) -> String {
    let mut table = Table::new(&[("program", Align::Left), ("ISA", Align::Left)]);
    for name in [
        "methods",
        "call sites",
        "call pairs",
        "calls",
        "branches",
        "back-edges",
        "memory references",
        "instructions",
        "unique addresses",
    ] {
        table.column(name, Align::Right);
    }
    for (name, isa, Measured { statistics: s, .. }) in all {
        let numbers = [
            s.methods,
            s.call_sites,
            s.call_pairs,
            s.calls,
            s.branches,
            s.back_edges,
            s.memory_references.unwrap_or(0),
            s.instructions,
            s.unique_addresses.unwrap_or(0),
        ];
        let start = [name, isa].map(str::to_string);
        table.row(start.into_iter().chain(numbers.map(grouped)));
    }
    table.render()
        + "\nMethods, call sites and call pairs are those that were executed; branches are conditional branches and\n\
           jumps; back-edges are those that go backwards, taken or not; an address is an aligned 8-byte granule.\n"
}

/// Runs a program functionally and counts; its output must be the expected one.
fn measure(program: &Program) -> anyhow::Result<ProgramStatistics> {
    figure6::statistics(program)
        .map_err(anyhow::Error::msg)
        .with_context(|| format!("{}, {}", program.title(), program.input))
}

/// `NAME=FILE`: writes an image.
fn extract(order: &str, isa: Isa) -> anyhow::Result<()> {
    let (name, file) = order
        .split_once('=')
        .with_context(|| format!("--extract {order}: write NAME=FILE"))?;
    let Some(workload) = hps_workloads::find(name) else {
        let names: Vec<&str> = hps_workloads::all().iter().map(|w| w.name).collect();
        bail!(
            "--extract {order}: there is no program `{name}`; there are: {}",
            names.join(", ")
        );
    };
    let image = image_of(workload, isa)?;
    host::write_executable(Path::new(file), image).with_context(|| {
        format!("{file}: cannot be written; name a file in a folder that exists")
    })?;
    print(&format!("{file}: {} bytes, for {isa} Linux\n", image.len()))?;
    Ok(())
}

/// Format of the list of programs.
const FORMAT: Format = Format::new("hps-programs", 1);

/// What the command writes as JSON.
fn described() -> Described {
    FORMAT.described::<Vec<Listed>>(&["programs"])
}

/// What the commands write as JSON.
pub fn all_described() -> Vec<Described> {
    vec![described(), suite::described()]
}
