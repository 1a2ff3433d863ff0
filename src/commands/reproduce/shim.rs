//! `hps reproduce shim-2015`: an observer inside the machine, and the truth beside each of its samples.

use anyhow::bail;
use hps_experiments::shim::phases::{self, Extent};
use hps_experiments::shim::{ShimStudy, claims};
use hps_experiments::{Table, TimedMachine};
use hps_lab::Isa;
use hps_plots::{ReportInfo, write_shim2015};

use super::{all_failed, by_isa, command, isas, measured, programs, refuse_parts, tell};
use crate::cli::{CoreKind, ReproduceArgs, Size};
use crate::commands::timed_machine;

/// The machine after the paper's.
const MACHINE: &str = "shim-haswell-like";

/// The machine of a study with observers: the one asked for, or one after the paper's.
///
/// # Errors
/// The machine has no place for observers, or not the counters that they read.
pub(super) fn observed_machine(args: &ReproduceArgs) -> anyhow::Result<TimedMachine> {
    refuse_parts(args)?;
    if args.core == CoreKind::Instruction {
        bail!(
            "an observer needs a context of its own, which only the cycle-driven core has: leave --core out"
        );
    }
    let machine = timed_machine(args.machine.as_deref().unwrap_or(MACHINE), args.core)?;
    if let Some(lacking) = ShimStudy::lacking(&machine.config) {
        bail!(
            "machine {} does not do for this study: {lacking}; `{MACHINE}` does",
            machine.name
        );
    }
    Ok(machine)
}

/// Instructions of a program that are observed.
fn limit(size: Size) -> u64 {
    match size {
        Size::Small => 1_000_000,
        Size::Large => 20_000_000,
    }
}

/// Times that the program of two phases goes through both.
fn rounds(size: Size) -> u64 {
    match size {
        Size::Small => 20,
        Size::Large => 100,
    }
}

/// Measures what is missing, prints the claims and writes the report; the exit code is 1 if anything failed.
pub(super) fn reproduce(args: &ReproduceArgs) -> anyhow::Result<u8> {
    let machine = observed_machine(args)?;
    let folder = args.folder();
    let programs = programs::programs(args)?;
    let isas = isas(&programs);
    let producers: Result<Vec<_>, _> = isas.iter().map(|isa| ShimStudy::producer(*isa)).collect();
    // The phases are those of the evaluation's own program. They say nothing of a program of the user's.
    let with_phases = !args.programs.has_own() && isas.contains(&Isa::Riscv64);
    let phases = with_phases.then(|| phases::program(Extent::of(rounds(args.size))));
    let study = ShimStudy {
        phases: phases.transpose()?,
        programs,
        producers: producers?,
        machine: machine.clone(),
        limit: limit(args.size),
    };
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
        title: "SHIM: an observer on another hardware thread, made again beside the truth"
            .to_string(),
        command: command(args),
        version: hps_experiments::VERSION.to_string(),
        notes: notes(&study),
        machine_text: machine.to_ron(),
    };
    let files = write_shim2015(&folder, &boards, &claims, &records, &info)?;
    tell(args, &claims, &files, &records)
}

/// Notes on the numbers, for the reader.
fn notes(study: &ShimStudy) -> Vec<String> {
    vec![
        format!(
            "The first {} instructions of each program are timed from the first one on, on a deterministic machine: the same \
             run gives the same cycles again. Samples leave the observer's memory at no cost.",
            study.limit
        ),
        "Not here: managed runtimes, and other threads, which \
         disturb an observer on a real machine. Interrupts of its processor are times in which it stands still."
            .to_string(),
    ]
}
