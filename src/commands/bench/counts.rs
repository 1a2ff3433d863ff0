//! `hps dev bench --counts`: host instructions for each instruction of the program, which do not depend
//! on how busy the host is. Valgrind counts them, in a process of its own for each run; what start-up
//! takes is left out as the difference of a longer and a shorter run.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, bail};
use hps_lab::counted::CountedLoop;
use hps_pipeline::config::MachineConfig;
use hps_pipeline::core::CoreKind;
use hps_system::image::Isa;
use hps_workloads::Workload;
use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::modes::Subject;
use super::{geometric_mean, subjects};
use crate::cli::{BenchArgs, Mode};
use crate::commands::programs::workload_size;
use crate::document::{Described, Format};
use crate::text::{Align, Table};
use crate::{host, progress};

/// A count that is this much larger than the recorded one is refused.
const TOLERANCE: f64 = 0.05;

/// The lengths of the two runs of a core, in instructions of the program.
const CORE_LENGTHS: [u64; 2] = [200_000, 500_000];

/// The modes that are counted, with the lengths of their two runs in instructions of the program.
const MODES: [(Mode, [u64; 2]); 6] = [
    (Mode::Functional, [1_000_000, 3_000_000]),
    (Mode::Samplers, [500_000, 1_000_000]),
    (Mode::Grid, [500_000, 1_000_000]),
    (Mode::Timed, CORE_LENGTHS),
    (Mode::Instruction, CORE_LENGTHS),
    // The lengths hold two and five units. Units that a run times once are in both.
    (Mode::Sampled, [400_000, 1_000_000]),
];

/// Counts of host instructions, as the record has them.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Counts {
    /// Version of the lab.
    version: String,
    /// Build that was counted.
    #[serde(default)]
    build: Build,
    /// Machine of the timed modes.
    machine: String,
    /// Input size.
    size: String,
    /// Counts of each program.
    programs: Vec<Row>,
}

/// How the loops are compiled. Counts of different builds say nothing about each other.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Build {
    /// The build for users. Older records, which name no build, are of this one.
    #[default]
    Release,
    /// The build for tests: less optimized, and with assertions.
    Test,
}

impl Build {
    /// That of this command.
    const OWN: Build = match cfg!(debug_assertions) {
        true => Build::Test,
        false => Build::Release,
    };

    fn name(self) -> &'static str {
        match self {
            Build::Release => "release",
            Build::Test => "test",
        }
    }
}

/// Host instructions for each instruction of one program.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
struct Row {
    /// Name of the program.
    program: String,
    /// Instruction set. Records without it are of the default one.
    #[serde(default = "default_isa")]
    isa: String,
    /// In functional runs.
    functional: f64,
    /// In functional runs with samplers.
    samplers: f64,
    /// In runs of the grid of samplers.
    grid: f64,
    /// In timed runs.
    timed: f64,
    /// In runs timed by instruction; null where the machine has no instruction-driven core.
    #[serde(deserialize_with = "Option::deserialize")]
    instruction: Option<f64>,
    /// Instructions that this core dispatches for each of the program, wrong paths included. Older records do not
    /// have it.
    #[serde(default)]
    dispatched: Option<f64>,
    /// In runs with sampled timing.
    sampled: f64,
}

fn default_isa() -> String {
    hps_lab::DEFAULT_ISA.name().to_string()
}

impl Row {
    /// Whether both rows are of one program on one instruction set.
    fn is_of(&self, other: &Row) -> bool {
        (&self.program, &self.isa) == (&other.program, &other.isa)
    }

    fn of(&self, mode: Mode) -> Option<f64> {
        match mode {
            Mode::Samplers => Some(self.samplers),
            Mode::Grid | Mode::GridThreads => Some(self.grid),
            Mode::Timed => Some(self.timed),
            Mode::Instruction => self.instruction,
            Mode::Sampled => Some(self.sampled),
            Mode::Functional | Mode::Qemu => Some(self.functional),
        }
    }

    /// Host instructions of the instruction-driven core for each instruction that it dispatches.
    fn each_dispatched(&self) -> Option<f64> {
        Some(self.instruction? / self.dispatched?)
    }
}

/// Runs the programs in one mode, in this process, whose instructions valgrind counts.
pub fn counted_run(args: &BenchArgs, mode: Mode, instructions: u64) -> anyhow::Result<u8> {
    let machine = MachineConfig::load(&args.machine)?;
    for (workload, isa) in subjects(args)? {
        let subject = Subject::new(workload, isa, workload_size(args.size))?;
        let run = counted_loop(mode).run(&subject.program, &machine, instructions);
        run.map_err(anyhow::Error::from_boxed)?;
    }
    Ok(0)
}

/// Runs the command; the result is the exit code.
pub fn counts(args: &BenchArgs) -> anyhow::Result<u8> {
    let Some(valgrind) = host::find(&["valgrind"]) else {
        bail!("valgrind was not found; it counts the instructions (Debian package: valgrind)");
    };
    let programs = subjects(args)?;
    let machine = MachineConfig::load(&args.machine)?;
    let is_driven = CoreKind::Instruction.check(&machine).is_ok();
    let recorded = args.compare.as_deref().map(read).transpose()?;
    if let Some(recorded) = &recorded
        && recorded.build != Build::OWN
    {
        bail!(
            "the record is of a {} build, and this is a {} build; workloads/ has a record of each",
            recorded.build.name(),
            Build::OWN.name()
        );
    }
    let json = args.json.open()?;
    let bar = progress::bar((programs.len() * MODES.len()) as u64, "counts");
    let rows: anyhow::Result<Vec<Row>> = programs
        .par_iter()
        .map(|&(workload, isa)| {
            let mut values = [0.0; MODES.len()];
            for (value, (mode, lengths)) in values.iter_mut().zip(MODES) {
                if mode != Mode::Instruction || is_driven {
                    *value = count(&valgrind, args, (workload, isa), mode, lengths)?;
                }
                bar.inc(1);
            }
            let [functional, samplers, grid, timed, instruction, sampled] = values;
            let subject = Subject::new(workload, isa, workload_size(args.size))?;
            let dispatched = is_driven.then(|| dispatched(&subject, &machine));
            Ok(Row {
                program: workload.name.to_string(),
                isa: isa.name().to_string(),
                functional,
                samplers,
                grid,
                timed,
                instruction: is_driven.then_some(instruction),
                dispatched: dispatched.transpose()?,
                sampled,
            })
        })
        .collect();
    bar.finish_and_clear();
    let counts = Counts {
        version: env!("CARGO_PKG_VERSION").to_string(),
        build: Build::OWN,
        machine: args.machine.clone(),
        size: workload_size(args.size).arg().to_string(),
        programs: rows?,
    };
    args.json.print_text(&counts.render(recorded.as_ref()))?;
    json.write(&FORMAT.of(&counts))?;
    match recorded {
        Some(recorded) => verdict(&counts, &recorded, args.compare.as_deref()),
        None => Ok(0),
    }
}

fn read(path: &Path) -> anyhow::Result<Counts> {
    let text = hps_system::host::read_text(path)
        .with_context(|| format!("{}: cannot be read", path.display()))?;
    serde_json::from_str(&text).with_context(|| {
        format!(
            "{}: not the counts that `hps dev bench --counts --json=FILE` writes",
            path.display()
        )
    })
}

/// Host instructions for each instruction of the program between two lengths of a run.
fn count(
    valgrind: &Path,
    args: &BenchArgs,
    subject: (&Workload, Isa),
    mode: Mode,
    lengths: [u64; 2],
) -> anyhow::Result<f64> {
    let short = counted(valgrind, args, subject, mode, lengths[0])?;
    let long = counted(valgrind, args, subject, mode, lengths[1])?;
    let host = long.checked_sub(short).with_context(|| {
        format!(
            "{}: the longer run took fewer instructions ({long}) than the shorter one ({short})",
            subject.0.name
        )
    })?;
    Ok(host as f64 / (lengths[1] - lengths[0]) as f64)
}

/// Instructions that the instruction-driven core dispatches for each of the program between the two lengths of its runs.
fn dispatched(subject: &Subject, machine: &MachineConfig) -> anyhow::Result<f64> {
    let [short, long] = CORE_LENGTHS;
    let dispatched = |length| -> anyhow::Result<u64> {
        let stats = subject.core_prefix(CoreKind::Instruction, machine, length)?;
        Ok(stats.dispatch_instructions)
    };
    Ok((dispatched(long)? - dispatched(short)?) as f64 / (long - short) as f64)
}

fn counted_loop(mode: Mode) -> CountedLoop {
    match mode {
        Mode::Samplers => CountedLoop::Samplers,
        Mode::Grid | Mode::GridThreads => CountedLoop::Grid,
        Mode::Timed => CountedLoop::Timed,
        Mode::Instruction => CountedLoop::Instruction,
        Mode::Sampled => CountedLoop::Sampled,
        Mode::Functional | Mode::Qemu => CountedLoop::Functional,
    }
}

/// The name of a mode that is counted, as `--without` takes it.
fn name_of(mode: Mode) -> &'static str {
    counted_loop(mode).name()
}

fn counted(
    valgrind: &Path,
    args: &BenchArgs,
    (workload, isa): (&Workload, Isa),
    mode: Mode,
    instructions: u64,
) -> anyhow::Result<u64> {
    let size = workload_size(args.size).arg();
    let mut command = Command::new(valgrind);
    command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]);
    let own = std::env::current_exe().context("this command's own file is not known")?;
    command
        .arg(own)
        .args(["dev", "bench", "--program", workload.name])
        .args(["--isa", isa.name()])
        .args(["--machine", &args.machine, "--size", size])
        .args(["--counted-mode", name_of(mode)])
        .args(["--counted-instructions", &instructions.to_string()]);
    let output = command
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("{}: cannot be run", valgrind.display()))?;
    let messages = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        bail!(
            "{} under {}: {}\n{messages}",
            workload.name,
            valgrind.display(),
            output.status
        );
    }
    total(&messages).with_context(|| {
        format!(
            "{}: no line `Collected : ...` in what it printed:\n{messages}",
            valgrind.display()
        )
    })
}

/// The number of instructions in callgrind's messages.
fn total(messages: &str) -> Option<u64> {
    let line = messages.lines().find(|line| line.contains("Collected :"))?;
    line.split(':').next_back()?.trim().parse().ok()
}

/// Fails if a count is worse than the recorded one by more than the tolerance.
fn verdict(counts: &Counts, recorded: &Counts, path: Option<&Path>) -> anyhow::Result<u8> {
    let mut worse = Vec::new();
    for row in &counts.programs {
        let Some(old) = recorded.programs.iter().find(|r| r.is_of(row)) else {
            bail!(
                "the record has no program `{}` for {}; record anew",
                row.program,
                row.isa
            );
        };
        for (mode, _) in MODES {
            let Some(now) = row.of(mode) else {
                continue;
            };
            let then = old.of(mode).with_context(|| {
                format!(
                    "the record has no {mode:?} of `{}` for {}; record anew",
                    row.program, row.isa
                )
            })?;
            if now > then * (1.0 + TOLERANCE) {
                worse.push(format!(
                    "{} ({}) {mode:?}: {now:.1} instead of {then:.1}",
                    row.program, row.isa
                ));
            }
        }
    }
    if worse.is_empty() {
        return Ok(0);
    }
    let path = path.map_or_else(String::new, |p| p.display().to_string());
    say!(
        "error: more than {:.0}% above the record {path}:\n  {}\nIf that is meant, or the compiler is \
         another one, record anew: hps dev bench --counts --json={path}",
        TOLERANCE * 100.0,
        worse.join("\n  ")
    );
    Ok(1)
}

impl Counts {
    fn render(&self, recorded: Option<&Counts>) -> String {
        type Column<'a> = (&'a str, Box<dyn Fn(&Row) -> Option<f64> + 'a>);
        let mut columns: Vec<Column<'_>> = Vec::new();
        for (mode, _) in MODES {
            let name = match mode {
                Mode::Timed => &self.machine,
                Mode::Instruction => "by instruction",
                _ => name_of(mode),
            };
            columns.push((name, Box::new(move |row| row.of(mode))));
            if let Some(recorded) = recorded {
                let old =
                    move |row: &Row| recorded.programs.iter().find(|o| o.is_of(row))?.of(mode);
                columns.push(("record", Box::new(old)));
            }
            if mode == Mode::Instruction {
                columns.push(("each dispatched", Box::new(Row::each_dispatched)));
            }
        }
        let mut table = Table::new(&[("program", Align::Left), ("ISA", Align::Left)]);
        for (name, _) in &columns {
            table.column(name, Align::Right);
        }
        let mut line = |program: &str, isa: &str, of: &dyn Fn(&Column<'_>) -> Option<f64>| {
            let counts = columns.iter().map(of);
            let counts = counts.map(|n| n.map_or("-".to_string(), |n| format!("{n:.1}")));
            table.row(
                [program.to_string(), isa.to_string()]
                    .into_iter()
                    .chain(counts),
            );
        };
        for row in &self.programs {
            line(&row.program, &row.isa, &|(_, of)| of(row));
        }
        line("geometric mean", "", &|(_, of)| {
            geometric_mean(self.programs.iter().map(of))
        });
        format!(
            "{}\nHost instructions for each instruction of the program, start-up left out; input size {}. `each dispatched`\n\
             is `by instruction` for each instruction that this core dispatches, those of wrong paths too.\n",
            table.render(),
            self.size
        )
    }
}

/// Format of counts of host instructions.
const FORMAT: Format = Format::new("hps-bench-counts", 2);

/// What the command writes as JSON.
pub fn described() -> Described {
    FORMAT.described::<Counts>(&["dev bench --counts"])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(timed: f64) -> Counts {
        Counts {
            version: String::new(),
            build: Build::Test,
            machine: "tiny-2wide".to_string(),
            size: "small".to_string(),
            programs: vec![Row {
                program: "bwt".to_string(),
                isa: default_isa(),
                functional: 20.0,
                samplers: 40.0,
                grid: 100.0,
                timed,
                instruction: Some(300.0),
                dispatched: Some(1.5),
                sampled: 150.0,
            }],
        }
    }

    #[test]
    fn the_total_is_found_in_callgrinds_messages() {
        let text = "==1== Events    : Ir\n==1== Collected : 559997148\n==1==\n";
        assert_eq!(total(text), Some(559_997_148));
        assert_eq!(total("==1== nothing"), None);
    }

    #[test]
    fn only_what_is_more_than_a_twentieth_worse_is_refused() {
        let recorded = counts(1000.0);
        assert_eq!(verdict(&counts(1049.0), &recorded, None).ok(), Some(0));
        assert_eq!(verdict(&counts(1051.0), &recorded, None).ok(), Some(1));
        assert_eq!(verdict(&counts(10.0), &recorded, None).ok(), Some(0));
        // A record of one instruction set says nothing about another.
        let mut other = counts(10.0);
        other.programs[0].isa = "alpha".to_string();
        assert!(verdict(&other, &recorded, None).is_err());
        // Modes for which the machine has no core are not compared; modes that only the record lacks are recorded.
        let mut without = counts(1000.0);
        without.programs[0].instruction = None;
        assert_eq!(verdict(&without, &recorded, None).ok(), Some(0));
        assert!(verdict(&recorded, &without, None).is_err());
        let mut slower = counts(1000.0);
        slower.programs[0].instruction = Some(316.0);
        assert_eq!(verdict(&slower, &recorded, None).ok(), Some(1));
    }

    #[test]
    fn the_table_says_what_each_dispatched_instruction_takes() {
        let mut all = counts(1000.0);
        all.programs.push(Row {
            program: "lz".to_string(),
            instruction: Some(400.0),
            dispatched: Some(2.0),
            ..all.programs[0].clone()
        });
        let text = all.render(None);
        let last = |name: &str| {
            let line = text.lines().find(|line| line.starts_with(name));
            let cells = line.expect("its row").split_whitespace().rev();
            cells.take(3).collect::<Vec<_>>()
        };
        assert_eq!(last("lz"), ["150.0", "200.0", "400.0"]);
        assert_eq!(last("geometric mean"), ["150.0", "200.0", "346.4"]);
    }

    #[test]
    fn a_record_has_all_keys() {
        let mut document = serde_json::to_value(counts(1.0)).expect("JSON");
        assert!(serde_json::from_value::<Counts>(document.clone()).is_ok());
        let row = document["programs"][0].as_object_mut().expect("a row");
        row.remove("instruction");
        assert!(serde_json::from_value::<Counts>(document).is_err());
    }
}
