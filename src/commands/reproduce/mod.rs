//! `hps reproduce`: a paper's evaluation made again, with a report.

mod callgraphs;
mod dcpi;
mod list;
mod programs;
mod shadow;
mod shim;
mod tip;

use std::io::Write;

use anyhow::bail;
use clap::ValueEnum;
use hps_experiments::claims::{Claim, claims};
use hps_experiments::cluster::Keep;
use hps_experiments::{Observer, Program, Reproduction, UnitRecord, frames};
use hps_lab::Isa;
use hps_lab::host::{path_word, shell_word, shell_words};
use hps_plots::{ReportFiles, ReportInfo, text_of, write_reproduction};

use super::cluster::parts;
use super::{INSTRUCTION_CORE_NOTE, timed_machine};
use crate::cli::{CoreKind, Paper, ReproduceArgs, Size};
use crate::progress;

/// Runs the command; the exit code is 1 if anything failed.
pub fn reproduce(args: &ReproduceArgs) -> anyhow::Result<u8> {
    if args.list {
        return list::list(args.named_paper().as_deref());
    }
    programs::check(args)?;
    args.table.check()?;
    args.jobs.apply()?;
    if !args.chips.is_empty() && args.paper() != Paper::Shadow2007 {
        bail!(
            "--chips names machines of shadow-2007; {} has no shadows",
            paper_name(args)
        );
    }
    match args.paper() {
        Paper::Hps2005 => hps(args),
        Paper::Tip2021 => tip::reproduce(args),
        Paper::Dcpi1997 => dcpi::reproduce(args),
        Paper::Shadow2007 => shadow::reproduce(args),
        Paper::Shim2015 => shim::reproduce(args),
        Paper::CallGraphs2015 => callgraphs::reproduce(args),
    }
}

fn hps(args: &ReproduceArgs) -> anyhow::Result<u8> {
    let machine = timed_machine(args.machine(), args.core)?;
    let reproduction = Reproduction {
        programs: programs::programs(args)?,
        machine,
        only: args.only.clone(),
    };
    let outcome = match measured(args, |keep, observer| Ok(reproduction.run(keep, observer)?))? {
        Ok(outcome) => outcome,
        Err(code) => return Ok(code),
    };
    let info = ReportInfo {
        title: "HPS: Hybrid Profiling Support, made again".to_string(),
        command: command(args),
        version: hps_experiments::VERSION.to_string(),
        notes: notes(args.core, &outcome),
        machine_text: reproduction.machine.to_ron(),
    };
    let files = write_reproduction(&args.folder(), &outcome, &info)?;
    let claims = claims(&outcome.rows, &outcome.records);
    show(args, &claims, &files, &outcome.records)?;
    Ok(failed(&outcome.failures()))
}

/// Measures what the results of a study lack, and shows how far it is. The exit code, if there is nothing to report.
fn measured<T>(
    args: &ReproduceArgs,
    measure: impl Fn(&Keep, &dyn Observer) -> anyhow::Result<T>,
) -> anyhow::Result<Result<T, u8>> {
    let folder = args.folder();
    progress::when_interrupted(format!(
        "stopped; what is done is kept in {}: the same command goes on with the rest",
        folder.display()
    ));
    let progress = progress::Units::new(&paper_name(args));
    let done = parts::carry_out(&args.parts, &folder, |keep| measure(keep, &progress))?;
    progress.clear();
    Ok(done)
}

/// The view of a paper on the measurements of each instruction set, and the paper's claims judged by them.
fn by_isa<View>(
    programs: &[Program],
    view: impl Fn(&str) -> View,
    claims: impl Fn(&View, &str) -> Vec<Claim>,
) -> (Vec<(&'static str, View)>, Vec<Claim>) {
    let names = isas(programs).into_iter().map(Isa::name);
    let boards: Vec<_> = names.map(|isa| (isa, view(isa))).collect();
    let of_all = boards.iter().flat_map(|(isa, view)| claims(view, isa));
    let all = of_all.collect();
    (boards, all)
}

/// The instruction sets of programs, in their order.
fn isas(programs: &[Program]) -> Vec<Isa> {
    let mut isas: Vec<Isa> = programs.iter().map(|program| program.image.isa).collect();
    isas.dedup();
    isas
}

/// The paper, as the command line names it.
fn paper_name(args: &ReproduceArgs) -> String {
    let value = args.paper().to_possible_value();
    value.map_or_else(String::new, |value| value.get_name().to_string())
}

/// Refuses a choice of figures, which only one paper has.
fn refuse_parts(args: &ReproduceArgs) -> anyhow::Result<()> {
    if !args.only.is_empty() {
        let name = paper_name(args);
        bail!("--only names figures of hps-2005; {name} is made as a whole");
    }
    Ok(())
}

/// Names what failed if nothing was measured: then there is nothing to report. The exit code of the command.
fn all_failed(records: &[UnitRecord]) -> Option<u8> {
    let failures: Option<Vec<_>> = records.iter().map(UnitRecord::failed_unit).collect();
    failures
        .filter(|all| !all.is_empty())
        .map(|all| failed(&all))
}

/// Prints claims and where the report is, and writes both tables that are asked for; names what failed. Gives the exit
/// code of the command.
fn tell(
    args: &ReproduceArgs,
    claims: &[Claim],
    files: &ReportFiles,
    records: &[UnitRecord],
) -> anyhow::Result<u8> {
    show(args, claims, files, records)?;
    let failures = records.iter().filter_map(UnitRecord::failed_unit);
    Ok(failed(&failures.collect::<Vec<_>>()))
}

/// Prints claims and where the report is; writes measurements as a table and claims as JSON, if they are asked for.
fn show(
    args: &ReproduceArgs,
    claims: &[Claim],
    files: &ReportFiles,
    records: &[UnitRecord],
) -> anyhow::Result<()> {
    args.table.write(&frames::measurements(records))?;
    let version = hps_experiments::VERSION;
    (args.json).write(&frames::claims(claims).document(version))?;
    let mut out = args.json.text();
    writeln!(out, "{}", text_of(claims))?;
    writeln!(out, "report: {}", files.html.display())?;
    Ok(())
}

/// Names what failed; the exit code of the command.
fn failed(failures: &[(String, &str)]) -> u8 {
    for (what, why) in failures.iter().take(5) {
        say!("hps: failed: {what}: {why}");
    }
    if failures.len() > 5 {
        say!("hps: and {} more failed", failures.len() - 5);
    }
    u8::from(!failures.is_empty())
}

/// Notes on the numbers, for the reader.
fn notes(core: CoreKind, outcome: &hps_experiments::Outcome) -> Vec<String> {
    let mut notes = vec![
        intervals(outcome),
        hps_experiments::claims::COST_INTERVALS.to_string(),
    ];
    if core == CoreKind::Instruction {
        notes.push(INSTRUCTION_CORE_NOTE.to_string());
    }
    notes
}

/// Note that says which numbers have confidence intervals.
fn intervals(outcome: &hps_experiments::Outcome) -> String {
    let coverage = hps_experiments::studies::coverage::NAME;
    let others = outcome.records.iter().filter(|r| r.study != coverage);
    let count = (others.clone().flat_map(|r| &r.measurements))
        .filter(|m| m.interval.is_some())
        .count();
    let sampled = match others.count() < outcome.records.len() {
        true => " but those of the chapter that judges it",
        false => "",
    };
    let mut text = format!(
        "No number here is an estimate of sampled timing{sampled}: every run was timed from its first instruction on (those of \
         the studies up to the limit that they name) on a deterministic machine, so that the same run gives the same cycles \
         again."
    );
    if count > 0 {
        text += &format!(
            " {count} numbers of the studies are means over seeds of random periods; these have a 95% confidence \
             interval, in measurements.csv."
        );
    }
    text
}

/// The command that makes the same results again.
fn command(args: &ReproduceArgs) -> String {
    let mut words = vec![match args.paper() {
        Paper::CallGraphs2015 => "hps reproduce callgraphs-2015".to_string(),
        Paper::Dcpi1997 => "hps reproduce dcpi-1997".to_string(),
        Paper::Hps2005 => "hps reproduce hps-2005".to_string(),
        Paper::Shadow2007 => "hps reproduce shadow-2007".to_string(),
        Paper::Shim2015 => "hps reproduce shim-2015".to_string(),
        Paper::Tip2021 => format!(
            "hps reproduce tip-2021 --samples {} --phases {}",
            args.samples, args.phases
        ),
    }];
    words.extend(args.isa.iter().map(|isa| format!("--isa {isa}")));
    words.extend(args.programs.words());
    if let Some(root) = &args.root {
        words.push(format!("--root {}", path_word(root)));
    }
    if let Some(folder) = &args.suite {
        words.push("--suite".to_string());
        words.extend(folder.iter().map(|folder| path_word(folder)));
    }
    if args.size == Size::Large {
        words.push("--size large".to_string());
    }
    if let Some(machine) = &args.machine {
        words.push(format!("--machine {}", shell_word(machine)));
    }
    if args.core == CoreKind::Instruction {
        words.push("--core instruction".to_string());
    }
    if !args.only.is_empty() {
        words.push(format!("--only {}", args.only.join(",")));
    }
    if !args.chips.is_empty() {
        words.push(format!("--chips {}", args.chips.join(",")));
    }
    words.extend(args.time.words());
    if !args.arguments.is_empty() {
        words.push(format!("-- {}", shell_words(&args.arguments)));
    }
    words.join(" ")
}
