//! `hps programs`: the programs that come with the project, and what they do when they run.

use std::path::Path;

use anyhow::{Context, bail};
use hps_productions::{GridProbe, ProgramStatistics, UniqueAddresses};
use hps_sim_core::machine::{Machine, Stop};
use hps_workloads::Workload;
use serde::Serialize;

use crate::cli::{ProgramsArgs, Size};
use crate::text::{Align, Table, grouped, print};
use crate::{host, program, progress};

/// A program as it is listed.
#[derive(Debug, Serialize)]
struct Listed {
    name: &'static str,
    stands_for: &'static str,
    description: &'static str,
    image_bytes: usize,
    /// With `--measure`.
    #[serde(skip_serializing_if = "Option::is_none")]
    measured: Option<Measured>,
}

/// What a run was.
#[derive(Debug, Serialize)]
struct Measured {
    size: &'static str,
    #[serde(flatten)]
    statistics: ProgramStatistics,
}

/// Runs the command; the result is the exit code.
pub fn programs(args: &ProgramsArgs) -> anyhow::Result<u8> {
    if let Some(order) = &args.extract {
        extract(order)?;
        return Ok(0);
    }
    let size = workload_size(args.size);
    let mut all = Vec::new();
    let bar = args
        .measure
        .then(|| progress::bar(hps_workloads::all().len() as u64, "programs"));
    for workload in hps_workloads::all() {
        let measured = match &bar {
            Some(bar) => {
                bar.set_message(workload.name);
                let statistics = measure(workload, size)?;
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
            image_bytes: workload.image_riscv64.len(),
            measured,
        });
    }
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
    if args.json {
        print(&(serde_json::to_string_pretty(&all)? + "\n"))?;
    } else if args.measure {
        print(&measured_table(&all))?;
    } else {
        print(&list(&all))?;
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
        ("description", Align::Left),
    ];
    let mut table = Table::new(&columns);
    for p in all {
        table.row([p.name, p.stands_for, p.description].map(str::to_string));
    }
    table.render() + "\nEach takes `small` or `large` as its argument: `hps run bwt small`.\n"
}

/// The columns of the paper's Figure 6.
fn measured_table(all: &[Listed]) -> String {
    let mut table = Table::new(&[("program", Align::Left)]);
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
    for p in all {
        let Some(Measured { statistics: s, .. }) = &p.measured else {
            continue;
        };
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
        table.row([p.name.to_string()].into_iter().chain(numbers.map(grouped)));
    }
    table.render()
        + "\nMethods, call sites and call pairs are those that were executed; branches are conditional branches and\n\
           jumps; back-edges are those that go backwards, taken or not; an address is an aligned 8-byte granule.\n"
}

/// Runs a program functionally and counts; its output must be the expected one.
fn measure(workload: &Workload, size: hps_workloads::Size) -> anyhow::Result<ProgramStatistics> {
    let image = program::load(workload.name)?;
    let process = program::process(&image, &program::captured(workload, size))?;
    let mut probe = (
        GridProbe::with_memory(&[], None)?,
        UniqueAddresses::default(),
    );
    let mut machine = Machine::new(process);
    let stop = machine.run(&mut probe, u64::MAX);
    expect(workload, size, stop, machine.process.os.captured_stdout())?;
    let (grid, unique) = probe;
    let result = grid.finish();
    let methods = result.method_map(&image.symbols);
    Ok(result.statistics(&methods, machine.retired.program, Some(unique.count())))
}

/// Refuses a run that did not do what the program must do.
pub fn expect(
    workload: &Workload,
    size: hps_workloads::Size,
    stop: Stop,
    output: &[u8],
) -> anyhow::Result<()> {
    if stop != Stop::Exit(0) {
        bail!(
            "{} {}: ended with {stop:?} instead of exit code 0",
            workload.name,
            size.arg()
        );
    }
    if output != workload.expected(size).as_bytes() {
        bail!(
            "{} {}: its output is not the expected one; it begins with {:?}",
            workload.name,
            size.arg(),
            String::from_utf8_lossy(&output[..output.len().min(80)])
        );
    }
    Ok(())
}

/// `NAME=FILE`: writes an image.
fn extract(order: &str) -> anyhow::Result<()> {
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
    host::write_executable(Path::new(file), workload.image_riscv64).with_context(|| {
        format!("{file}: cannot be written; name a file in a folder that exists")
    })?;
    print(&format!(
        "{file}: {} bytes, for RISC-V Linux\n",
        workload.image_riscv64.len()
    ))?;
    Ok(())
}
