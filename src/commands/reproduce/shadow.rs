//! `hps reproduce shadow-2007`: profiles of shadows against perfect ones, by load and sample size.

use anyhow::bail;
use hps_experiments::shadow::{Data, ShadowStudy, claims};
use hps_lab::TimedMachine;
use hps_plots::{ReportInfo, write_shadow};

use super::{all_failed, by_isa, command, measured, programs, refuse_parts, tell};
use crate::cli::{CoreKind, ReproduceArgs, Size};
use crate::commands::{INSTRUCTION_CORE_NOTE, timed_machine};

/// Measures what is missing, prints the claims and writes the report; the exit code is 1 if anything failed.
pub(super) fn reproduce(args: &ReproduceArgs) -> anyhow::Result<u8> {
    refuse_parts(args)?;
    let machine = timed_machine(args.machine(), args.core)?;
    let folder = args.folder();
    let programs = programs::programs(args)?;
    let samples = match args.size {
        Size::Small if args.suite.is_none() && !args.programs.has_own() => ShadowStudy::SMALL,
        _ => ShadowStudy::LARGE,
    };
    let study = ShadowStudy {
        programs,
        machine: machine.clone(),
        samples: samples.to_vec(),
        chips: chips(args, samples == ShadowStudy::SMALL)?,
    };
    let records = match measured(args, |keep, observer| Ok(study.run(keep, observer)?))? {
        Ok(records) => records,
        Err(code) => return Ok(code),
    };
    if let Some(code) = all_failed(&records) {
        return Ok(code);
    }
    let view = |isa: &str| Data::of(&records, isa, &study.samples);
    let (boards, claims) = by_isa(&study.programs, view, claims);
    let info = ReportInfo {
        title: "Shadow profiling: instrumentation on idle processors, made again".to_string(),
        command: command(args),
        version: hps_experiments::VERSION.to_string(),
        notes: notes(args),
        machine_text: machine.to_ron(),
    };
    let files = write_shadow(&folder, &boards, &claims, &records, &info)?;
    tell(args, &claims, &files, &records)
}

/// The machines on whose other contexts shadows run. Without an option, those of the study if runs are short: each cycle of
/// the program and of its shadows is simulated.
fn chips(args: &ReproduceArgs, is_short: bool) -> anyhow::Result<Vec<TimedMachine>> {
    let names: Vec<&str> = match &args.chips[..] {
        [] if is_short => ShadowStudy::CHIPS.to_vec(),
        [only] if only == "none" => Vec::new(),
        named => named.iter().map(String::as_str).collect(),
    };
    let machines = names.into_iter().map(|name| {
        let machine = timed_machine(name, CoreKind::Cycle)?;
        if machine.config.chip.processors() < 2 {
            bail!(
                "--chips {name}: the machine has one context, and no other one for shadows; smt-2 and cmp-4 have several"
            );
        }
        Ok(machine)
    });
    machines.collect()
}

/// Notes on the numbers, for the reader.
fn notes(args: &ReproduceArgs) -> Vec<String> {
    let mut notes = vec![
        "What the program takes was timed from its first instruction to its last, without shadows. What shadows cost it is \
         charged: forks, page faults and signals with values measured on a host. Shadows compete with it for nothing, but for \
         those of the chapter about chips."
            .to_string(),
    ];
    if args.size == Size::Small {
        notes.push(
            "Small inputs run for a few million instructions, in which a single fork is a large part: overheads are those of \
             a program that runs for milliseconds. --size large has runs in which they can be small."
                .to_string(),
        );
    }
    if args.core == CoreKind::Instruction {
        notes.push(INSTRUCTION_CORE_NOTE.to_string());
    }
    notes
}
