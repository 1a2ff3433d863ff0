//! `hps leaderboard`: all profilers by accuracy and cost.

pub mod args;
mod list;
mod programs;
mod tables;
mod worth;

use anyhow::{Context, bail};
use clap::ValueEnum;
use hps_experiments::leaderboard::compiled::{self, Compiling, Worth};
use hps_experiments::leaderboard::{self, Board, Leaderboard};
use hps_experiments::{ProfileKind, UnitRecord, frames};
use hps_lab::host::shell_word;
use hps_plots::{ReportFiles, ReportInfo};
use hps_system::image::Isa;
use hps_workloads::clang::Clang;
use schemars::JsonSchema;
use serde::Serialize;

use self::args::{BoardKind, LeaderboardArgs};
use super::cluster::parts;
use super::{INSTRUCTION_CORE_NOTE, timed_machine};
use crate::cli::{CoreKind, Size};
use crate::document::{Described, Format};
use crate::progress;

/// Format of a leaderboard.
pub const FORMAT: Format = Format::new("hps-leaderboard", 2);

/// All profilers by accuracy and cost.
#[derive(Debug, Serialize, JsonSchema)]
pub struct LeaderboardDocument<'a> {
    /// Version of the lab.
    version: &'a str,
    /// The command that makes the same numbers again.
    command: String,
    /// A board for each instruction set and machine.
    boards: &'a [Board],
    /// Worth of profiles to a compiler; empty without `--compile`.
    compiled: &'a [Worth],
}

/// Measures what is missing and prints the board; the exit code is 1 if anything failed.
pub fn leaderboard(args: &LeaderboardArgs) -> anyhow::Result<u8> {
    if args.list {
        return list::list(args);
    }
    args.table.check()?;
    args.jobs.apply()?;
    let machine = timed_machine(&args.machine, args.core)?;
    let profilers = leaderboard::chosen(&args.with)?;
    let kinds = kinds(args);
    let compiling = match args.compile {
        true => Some(compiling(args)?),
        false => None,
    };
    let progress = progress::Units::new("leaderboard");
    let by_isa = programs::by_isa(args)?;
    let boards = by_isa.into_iter().map(|programs| Leaderboard {
        programs,
        machine: machine.clone(),
        profilers: profilers.clone(),
        kinds: kinds.clone(),
        samples: sorted(&args.samples),
        phases: args.phases,
        bias: !args.no_bias,
        watching: wants(args, BoardKind::Time),
        charged: wants(args, BoardKind::Collected),
        runs: args.runs,
        budgets: args.budget.clone(),
        compiling: compiling.clone(),
    });
    let boards: Vec<Leaderboard> = boards.collect();
    if boards.iter().all(Leaderboard::is_empty) {
        bail!("none of these profilers collects what --kind asks for on this machine and core");
    }
    let done = parts::carry_out(&args.parts, &args.out, |keep| {
        let mut records: Vec<UnitRecord> = Vec::new();
        for board in &boards {
            records.extend(board.run(keep, &progress)?);
        }
        anyhow::Ok(records)
    })?;
    progress.clear();
    let records = match done {
        Ok(records) => records,
        Err(code) => return Ok(code),
    };
    let code = failed(&records);
    if records.iter().all(|record| record.failure.is_some()) {
        return Ok(code);
    }
    let info = ReportInfo {
        title: "Leaderboard of profilers".to_string(),
        command: command(args),
        version: hps_experiments::VERSION.to_string(),
        notes: notes(args),
        machine_text: machine.to_ron(),
    };
    let files = hps_plots::write_leaderboard(&args.out, &records, &args.budget, &info)?;
    args.table.write(&frames::measurements(&records))?;
    let boards = leaderboard::board(&records, &args.budget);
    let file = args.out.join("board.csv");
    let refusal = || {
        format!(
            "{}: cannot be written; choose another folder with --out",
            file.display()
        )
    };
    std::fs::write(&file, frames::board(&boards).to_csv()?).with_context(refusal)?;
    let worths = compiled::worth(&records);
    show(args, &boards, &worths, &files)?;
    Ok(code)
}

/// Names what failed; the exit code of the command.
fn failed(records: &[UnitRecord]) -> u8 {
    let failures: Vec<&UnitRecord> = records.iter().filter(|r| r.failure.is_some()).collect();
    for record in failures.iter().take(5) {
        let why = record.failure.as_deref().unwrap_or_default();
        say!("hps: failed: {} ({}): {why}", record.program, record.isa);
    }
    if failures.len() > 5 {
        say!("hps: and {} more failed", failures.len() - 5);
    }
    u8::from(!failures.is_empty())
}

fn show(
    args: &LeaderboardArgs,
    boards: &[Board],
    worths: &[Worth],
    files: &ReportFiles,
) -> anyhow::Result<()> {
    args.json.write(&FORMAT.of(&LeaderboardDocument {
        version: hps_experiments::VERSION,
        command: command(args),
        boards,
        compiled: worths,
    }))?;
    let mut out = String::new();
    for board in boards {
        out += &tables::board(board, args.by_program);
        out.push('\n');
    }
    for worth in worths {
        out += &worth::worth(worth, args.by_program);
        out.push('\n');
    }
    out += &format!("again   {}\n", command(args));
    out += &format!("report  {}\n", files.html.display());
    args.json.print_text(&out)?;
    Ok(())
}

/// The compiler, if there is something that it can compile.
fn compiling(args: &LeaderboardArgs) -> anyhow::Result<Compiling> {
    if !args.isa.is_empty() && !args.isa.contains(&Isa::Riscv64) {
        bail!("--compile: LLVM compiles for RISC-V and not for Alpha; give --isa riscv64");
    }
    if !args.programs.is_empty() && args.programs.iter().all(|p| p.contains('/')) {
        bail!("--compile is for the programs that come with the project, whose sources are known");
    }
    Ok(Compiling {
        clang: Clang::find().context("--compile")?,
        orders: args.orders,
    })
}

/// Notes on the numbers, for the reader.
fn notes(args: &LeaderboardArgs) -> Vec<String> {
    let mut notes = vec![
        format!(
            "Profilers that watch only take about {} samples in a run, at {} phases of a period of at least {} cycles.",
            joined(&sorted(&args.samples), " or "),
            args.phases,
            leaderboard::LEAST_PERIOD_CYCLES
        ),
        format!(
            "Profilers at their cost run {} times at each sampling point, each time with another phase or seed.",
            args.runs
        ),
    ];
    if args.core == CoreKind::Instruction {
        notes.push(INSTRUCTION_CORE_NOTE.to_string());
    }
    notes
}

fn wants(args: &LeaderboardArgs, kind: BoardKind) -> bool {
    args.kind.is_empty() || args.kind.contains(&kind)
}

/// The kinds of profile of profilers that cost cycles.
fn kinds(args: &LeaderboardArgs) -> Vec<ProfileKind> {
    let all = [
        (BoardKind::Method, ProfileKind::Method),
        (BoardKind::CallPair, ProfileKind::CallPair),
        (BoardKind::DataStream, ProfileKind::DataStream),
    ];
    let kinds = all.into_iter().filter(|(kind, _)| wants(args, *kind));
    kinds.map(|(_, kind)| kind).collect()
}

/// The command that makes the same numbers again.
fn command(args: &LeaderboardArgs) -> String {
    let mut words = vec!["hps leaderboard".to_string()];
    words.extend(args.programs.iter().map(|program| shell_word(program)));
    for kind in &args.kind {
        let value = kind.to_possible_value();
        words.extend(value.map(|value| format!("--kind {}", value.get_name())));
    }
    if !args.with.is_empty() {
        words.push(format!("--with {}", args.with.join(",")));
    }
    if !args.budget.is_empty() {
        let budgets: Vec<String> = (args.budget.iter())
            .map(|budget| format!("{}%", rounded(100.0 * budget)))
            .collect();
        words.push(format!("--budget {}", budgets.join(",")));
    }
    words.push(format!("--machine {}", shell_word(&args.machine)));
    if args.core == CoreKind::Instruction {
        words.push("--core instruction".to_string());
    }
    words.extend(args.isa.iter().map(|isa| format!("--isa {isa}")));
    if args.size == Size::Large {
        words.push("--size large".to_string());
    }
    words.push(format!(
        "--samples {} --phases {} --runs {}",
        joined(&sorted(&args.samples), ","),
        args.phases,
        args.runs
    ));
    if args.no_bias {
        words.push("--no-bias".to_string());
    }
    if let Some(folder) = &args.suite {
        let folder = folder
            .as_ref()
            .map(|dir| shell_word(&dir.to_string_lossy()));
        words.push(folder.map_or("--suite".to_string(), |dir| format!("--suite={dir}")));
    }
    if args.compile {
        words.push(format!("--compile --orders {}", args.orders));
    }
    if let Some(root) = &args.root {
        words.push(format!("--root {}", shell_word(&root.to_string_lossy())));
    }
    if let Some(stdin) = &args.stdin {
        words.push(format!("--stdin {}", shell_word(&stdin.to_string_lossy())));
    }
    words.extend(args.time.words());
    if !args.arguments.is_empty() {
        words.push("--".to_string());
        words.extend(args.arguments.iter().map(|word| shell_word(word)));
    }
    words.join(" ")
}

/// Numbers in ascending order, each once.
fn sorted(numbers: &[u64]) -> Vec<u64> {
    let mut sorted = numbers.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    sorted
}

fn joined(numbers: &[u64], between: &str) -> String {
    let words: Vec<String> = numbers.iter().map(u64::to_string).collect();
    words.join(between)
}

/// A percentage as it was written, without what binary fractions add to it.
fn rounded(percent: f64) -> f64 {
    (percent * 1e9).round() / 1e9
}

/// What the command writes as JSON.
fn described() -> Described {
    FORMAT.described::<LeaderboardDocument<'_>>(&["leaderboard"])
}

/// What the commands write as JSON.
pub fn all_described() -> Vec<Described> {
    vec![described(), list::described()]
}
