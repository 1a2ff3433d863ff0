//! `hps reproduce`: a paper's evaluation made again, with a report.

mod programs;

use std::io::Write;

use anyhow::Context;
use hps_experiments::{Observer, Reproduction};
use hps_plots::{ReportInfo, claims_text, write_reproduction};
use indicatif::ProgressBar;

use super::timed_machine;
use crate::cli::{CoreKind, ReproduceArgs, Size};
use crate::progress;

/// Runs the command; the exit code is 1 if anything failed.
pub fn reproduce(args: &ReproduceArgs) -> anyhow::Result<u8> {
    if args.threads > 0 {
        rayon::ThreadPoolBuilder::new()
            .num_threads(args.threads)
            .build_global()
            .context("--threads: the threads could not be started")?;
    }
    let machine = timed_machine(&args.machine, args.core)?;
    let reproduction = Reproduction {
        programs: programs::programs(args)?,
        machine,
        only: args.only.clone(),
    };
    let progress = Progress {
        bar: progress::bar(0, "hps-2005"),
    };
    let outcome = reproduction.run(&args.out, &progress)?;
    progress.bar.finish_and_clear();
    let info = ReportInfo {
        title: "HPS: Hybrid Profiling Support, made again".to_string(),
        command: command(args),
        version: hps_experiments::VERSION.to_string(),
        notes: notes(args.core, &outcome),
        machine_text: reproduction.machine.to_ron(),
    };
    let files = write_reproduction(&args.out, &outcome, &info)?;
    let mut out = std::io::stdout().lock();
    writeln!(out, "{}", claims_text(&outcome))?;
    writeln!(out, "report: {}", files.html.display())?;
    let failures = outcome.failures();
    for (what, why) in failures.iter().take(5) {
        say!("hps: failed: {what}: {why}");
    }
    if failures.len() > 5 {
        say!("hps: and {} more; the report names all", failures.len() - 5);
    }
    Ok(u8::from(!failures.is_empty()))
}

/// What a reader has to know of the numbers.
fn notes(core: CoreKind, outcome: &hps_experiments::Outcome) -> Vec<String> {
    let mut notes = vec![intervals(outcome)];
    if core == CoreKind::Instruction {
        notes.push(
            "The machine was simulated an instruction at a time: caches are asked in program order instead of in \
             order of time, so that cycles differ a little from those of the reference, a cycle at a time."
                .to_string(),
        );
    }
    notes
}

/// What numbers have confidence intervals, in words.
fn intervals(outcome: &hps_experiments::Outcome) -> String {
    let all = || outcome.records.iter().flat_map(|r| &r.measurements);
    let count = all().filter(|m| m.interval.is_some()).count();
    let mut text = "No number here is an estimate of sampled timing: every run was timed from its first instruction on \
                    (those of the studies up to the limit that they name) on a deterministic machine, so that the same \
                    run gives the same cycles again. Spreads are over programs."
        .to_string();
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
    let mut words = vec!["hps reproduce hps-2005".to_string()];
    words.extend(args.isa.iter().map(|isa| format!("--isa {isa}")));
    if !args.programs.is_empty() {
        words.push(format!("--programs {}", args.programs.join(",")));
    }
    if let Some(program) = &args.program {
        words.push(format!("--program {}", program.display()));
    }
    if let Some(root) = &args.root {
        words.push(format!("--root {}", root.display()));
    }
    if let Some(folder) = &args.suite {
        words.push("--suite".to_string());
        words.extend(folder.iter().map(|folder| folder.display().to_string()));
    }
    if args.size == Size::Large {
        words.push("--size large".to_string());
    }
    if args.machine != "hps-4wide" {
        words.push(format!("--machine {}", args.machine));
    }
    if args.core == CoreKind::Instruction {
        words.push("--core instruction".to_string());
    }
    if !args.only.is_empty() {
        words.push(format!("--only {}", args.only.join(",")));
    }
    if !args.arguments.is_empty() {
        words.push(format!("-- {}", args.arguments.join(" ")));
    }
    words.join(" ")
}

struct Progress {
    bar: ProgressBar,
}

impl Observer for Progress {
    fn planned(&self, units: u64) {
        // The sweep and the other units plan apart from each other.
        self.bar.inc_length(units);
    }
    fn done(&self, what: &str) {
        self.bar.set_message(what.to_string());
        self.bar.inc(1);
    }
}
