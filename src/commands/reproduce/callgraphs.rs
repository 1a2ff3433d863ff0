//! `hps reproduce callgraphs-2015`: observers of calls inside the machine, and every call beside what they find.

use hps_experiments::Table;
use hps_experiments::callgraphs::{CallGraphStudy, claims};
use hps_plots::{ReportInfo, write_callgraphs2015};

use super::shim::observed_machine;
use super::{all_failed, by_isa, command, measured, programs, tell};
use crate::cli::{ReproduceArgs, Size};

/// Instructions of a program that are observed.
fn limit(size: Size) -> u64 {
    match size {
        Size::Small => 2_000_000,
        Size::Large => 40_000_000,
    }
}

/// Measures what is missing, prints the claims and writes the report; the exit code is 1 if anything failed.
pub(super) fn reproduce(args: &ReproduceArgs) -> anyhow::Result<u8> {
    let study = CallGraphStudy {
        machine: observed_machine(args)?,
        programs: programs::programs(args)?,
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
        title: "Call graphs with SHIM, made again beside every call".to_string(),
        command: command(args),
        version: hps_experiments::VERSION.to_string(),
        notes: notes(study.limit),
        machine_text: study.machine.to_ron(),
    };
    let files = write_callgraphs2015(&args.folder(), &boards, &claims, &records, &info)?;
    tell(args, &claims, &files, &records)
}

/// Notes on the numbers, for the reader.
fn notes(limit: u64) -> Vec<String> {
    vec![
        format!(
            "The first {limit} instructions of each program are timed from the first one on, on a deterministic machine: the \
             same run gives the same cycles again. What observers find leaves their memory at no cost; what lies in a ring \
             when the program ends is read then."
        ),
        "Not here: managed runtimes, and the direct observation of frames (section 4.3), since programs keep no frame \
         pointers."
            .to_string(),
    ]
}
