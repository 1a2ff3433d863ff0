//! `hps reproduce dcpi-1997`: what samples tell of frequencies, cycles and stalls, beside the published numbers.

use anyhow::bail;
use hps_experiments::Table;
use hps_experiments::dcpi::{DcpiStudy, claims, copy};
use hps_lab::{Program, TimedMachine};
use hps_plots::{ReportInfo, write_dcpi};
use hps_system::image::Isa;

use super::{all_failed, by_isa, command, measured, programs, refuse_parts, tell};
use crate::cli::{CoreKind, ReproduceArgs};
use crate::commands::timed_machine;

/// The machine of the study.
const MACHINE: &str = "ev5";
/// Machines that issue out of order, on which the analysis is tried unless one is asked for.
const OTHERS: [&str; 2] = ["ev6", "hps-4wide"];

/// The copy loop, which is a program of Alpha, unless the evaluation is of other programs or machines than its own.
fn copy_loop(
    args: &ReproduceArgs,
    core: CoreKind,
) -> anyhow::Result<Option<(Program, TimedMachine)>> {
    if !args.isa.contains(&Isa::Alpha) || args.machine.is_some() {
        return Ok(None);
    }
    let program = copy::program().map_err(anyhow::Error::msg)?;
    Ok(Some((program, timed_machine(copy::MACHINE, core)?)))
}

/// Measures what is missing, prints the claims and writes the report; the exit code is 1 if anything failed.
pub(super) fn reproduce(args: &ReproduceArgs) -> anyhow::Result<u8> {
    refuse_parts(args)?;
    if args.core != CoreKind::Cycle {
        bail!("--core: only the cycle-driven core issues in order");
    }
    let machine = timed_machine(args.machine.as_deref().unwrap_or(MACHINE), args.core)?;
    let folder = args.folder();
    let mut args_of_study = args.clone();
    if args.isa.is_empty() {
        // The paper's instruction set.
        args_of_study.isa.push(Isa::Alpha);
    }
    let programs = programs::programs(&args_of_study)?;
    let study = DcpiStudy {
        programs,
        machine: machine.clone(),
        others: match args.machine {
            None => OTHERS
                .iter()
                .map(|name| timed_machine(name, args.core))
                .collect::<anyhow::Result<_>>()?,
            Some(_) => Vec::new(),
        },
        copy: copy_loop(&args_of_study, args.core)?,
    };
    study.check()?;
    let records = match measured(args, |keep, observer| Ok(study.run(keep, observer)?))? {
        Ok(records) => records,
        Err(code) => return Ok(code),
    };
    if let Some(code) = all_failed(&records) {
        return Ok(code);
    }
    let view = |isa: &str| Table::of(&records, isa);
    let (boards, claims) = by_isa(&study.programs, view, claims);
    let info = ReportInfo {
        title: "DCPI: where have all the cycles gone, made again".to_string(),
        command: command(args),
        version: hps_experiments::VERSION.to_string(),
        notes: vec![
            "Every run was timed from its first instruction on. Counters watch the run without changing it, but for the \
             overhead, which has runs of its own."
                .to_string(),
        ],
        machine_text: machine.to_ron(),
    };
    let files = write_dcpi(&folder, &boards, &claims, &records, &info)?;
    tell(args, &claims, &files, &records)
}
