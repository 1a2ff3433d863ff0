//! `hps reproduce tip-2021`: what sampling policies get wrong, beside the published errors.

use hps_experiments::tip::{Data, TipStudy, claims};
use hps_lab::Isa;
use hps_plots::{ReportInfo, write_tip};

use super::{all_failed, by_isa, command, isas, measured, programs, refuse_parts, tell};
use crate::cli::{CoreKind, ReproduceArgs};
use crate::commands::{INSTRUCTION_CORE_NOTE, timed_machine};

/// Measures what is missing, prints the claims and writes the report; the exit code is 1 if anything failed.
pub(super) fn reproduce(args: &ReproduceArgs) -> anyhow::Result<u8> {
    refuse_parts(args)?;
    let machine = timed_machine(args.machine(), args.core)?;
    let folder = args.folder();
    let programs = programs::programs(args)?;
    let of_isa = |isa: Isa| programs.iter().filter(move |p| p.image.isa == isa).cloned();
    let done = measured(args, |keep, observer| {
        let mut records = Vec::new();
        for isa in isas(&programs) {
            let study = TipStudy {
                programs: of_isa(isa).collect(),
                machine: machine.clone(),
                samples: args.samples,
                phases: args.phases,
            };
            records.extend(study.run(keep, observer)?);
        }
        Ok(records)
    })?;
    let records = match done {
        Ok(records) => records,
        Err(code) => return Ok(code),
    };
    if let Some(code) = all_failed(&records) {
        return Ok(code);
    }
    let view = |isa: &str| Data::of(&records, isa, &machine.config.name, args.samples);
    let (boards, claims) = by_isa(&programs, view, claims);
    let info = ReportInfo {
        title: "TIP and TEA: what sampling policies get wrong, made again".to_string(),
        command: command(args),
        version: hps_experiments::VERSION.to_string(),
        notes: notes(args),
        machine_text: machine.to_ron(),
    };
    let files = write_tip(&folder, &boards, &claims, &records, &info)?;
    tell(args, &claims, &files, &records)
}

/// Notes on the numbers, for the reader.
fn notes(args: &ReproduceArgs) -> Vec<String> {
    let mut notes = vec![format!(
        "Policies take about {} samples in a run, fewer in short ones, at {} phases of the period.",
        args.samples, args.phases
    )];
    if args.core == CoreKind::Instruction {
        notes.push(INSTRUCTION_CORE_NOTE.to_string());
    }
    notes
}
