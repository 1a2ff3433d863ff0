//! `hps dev bench`: how fast each mode is, beside QEMU's user mode on the same binary.

mod counts;
mod modes;
mod tables;

use anyhow::{Context, bail};
use hps_experiments::Interval;
use hps_pipeline::config::MachineConfig;
use hps_pipeline::core::CoreKind;
use hps_system::image::Isa;
use hps_workloads::Workload;
use schemars::JsonSchema;
use serde::Serialize;

use crate::cli::{BenchArgs, Mode};
use crate::commands::programs::workload_size;
use crate::document::{Described, Format};
use crate::{host, progress};
use modes::{Qemu, Subject};

/// The modes in the order of the table.
const MODES: [Mode; 8] = [
    Mode::Qemu,
    Mode::Functional,
    Mode::Samplers,
    Mode::Grid,
    Mode::GridThreads,
    Mode::Timed,
    Mode::Instruction,
    Mode::Sampled,
];

/// Seconds by [`MODES`].
type Seconds = [Option<f64>; MODES.len()];

/// Measurements of `hps dev bench`.
#[derive(Debug, Serialize, JsonSchema)]
struct Bench {
    /// Version of the lab.
    version: &'static str,
    /// Input size.
    size: &'static str,
    /// Machine of the timed modes.
    machine: String,
    /// Runs of each mode, of which the fastest counts.
    runs: usize,
    /// Threads of the grid where it has several.
    threads: usize,
    /// Why the machine is not timed by instruction, if that was asked for.
    not_by_instruction: Option<String>,
    /// Measurements of each instruction set.
    isas: Vec<OfIsa>,
}

/// Measurements with the images for one instruction set.
#[derive(Debug, Serialize, JsonSchema)]
struct OfIsa {
    /// Instruction set.
    isa: &'static str,
    /// Path of QEMU.
    qemu: Option<String>,
    /// Measurements of each program.
    programs: Vec<Row>,
    /// Geometric means over the programs.
    geometric_mean: Means,
}

/// Measurements of one program. Speeds are in million instructions of the program a host second, on one thread unless
/// the name says otherwise.
#[derive(Debug, Serialize, JsonSchema)]
struct Row {
    /// Name of the program.
    program: &'static str,
    /// Instructions of the program.
    instructions: u64,
    /// Cycles on the machine, if it was timed.
    cycles: Option<u64>,
    /// Cycles on the machine by the instruction-driven core.
    instruction_cycles: Option<u64>,
    /// Cycles an instruction on the machine by sampled timing, if there was any.
    sampled_cpi: Option<Interval>,
    /// The fastest run of each mode in seconds, in the order of [`MODES`]: QEMU, functional, samplers, grid,
    /// grid on several threads, timed, by instruction, sampled.
    seconds: Seconds,
    #[serde(flatten)]
    means: Means,
}

/// Speeds and QEMU's speed divided by that of each mode.
#[derive(Debug, Default, Serialize, JsonSchema)]
struct Means {
    /// Speed of QEMU's user mode, in million instructions of the program a second.
    qemu_mips: Option<f64>,
    /// Speed of functional runs, in million instructions of the program a second.
    functional_mips: Option<f64>,
    /// Speed of functional runs with samplers, in million instructions of the program a second.
    samplers_mips: Option<f64>,
    /// Speed of the grid of samplers, in million instructions of the program a second.
    grid_mips: Option<f64>,
    /// Speed of the grid of samplers on several threads, in million instructions of the program a second.
    grid_threads_mips: Option<f64>,
    /// Speed of timed runs, in million instructions of the program a second.
    timed_mips: Option<f64>,
    /// Speed of runs timed by instruction, in million instructions of the program a second.
    instruction_mips: Option<f64>,
    /// Speed of runs with sampled timing, in million instructions of the program a second.
    sampled_mips: Option<f64>,
    /// Speed of QEMU's user mode by that of functional runs.
    qemu_per_functional: Option<f64>,
    /// Speed of QEMU's user mode by that of functional runs with samplers.
    qemu_per_samplers: Option<f64>,
    /// Speed of QEMU's user mode by that of the grid of samplers.
    qemu_per_grid: Option<f64>,
    /// Speed of QEMU's user mode by that of the grid of samplers on several threads.
    qemu_per_grid_threads: Option<f64>,
    /// Speed of QEMU's user mode by that of timed runs.
    qemu_per_timed: Option<f64>,
    /// Speed of QEMU's user mode by that of runs timed by instruction.
    qemu_per_instruction: Option<f64>,
    /// Speed of runs timed by instruction by that of timed runs.
    instruction_per_timed: Option<f64>,
    /// Speed of runs with sampled timing by that of timed runs.
    sampled_per_timed: Option<f64>,
}

/// Runs the command; the result is the exit code.
pub fn bench(args: &BenchArgs) -> anyhow::Result<u8> {
    if let (Some(mode), Some(instructions)) = (args.counted_mode, args.counted_instructions) {
        return counts::counted_run(args, mode, instructions);
    }
    if args.counts {
        return counts::counts(args);
    }
    if args.runs == 0 {
        bail!("--runs 0: give at least 1");
    }
    let machine = MachineConfig::load(&args.machine)?;
    let subjects = subjects(args)?;
    let size = workload_size(args.size);
    let json = args.json.open()?;
    let not_driven = if args.without.contains(&Mode::Instruction) {
        None
    } else {
        CoreKind::Instruction.check(&machine).err()
    };
    let sets = isas(args)
        .into_iter()
        .map(|isa| Set::new(isa, args, not_driven.is_none()))
        .collect::<anyhow::Result<Vec<Set>>>()?;
    if sets.iter().any(|set| !set.wanted.contains(&true)) {
        bail!("there is nothing to measure: every mode is left out");
    }

    let steps = |set: &Set| set.wanted.iter().filter(|w| **w).count();
    let steps = args.runs * subjects.len() / sets.len() * sets.iter().map(steps).sum::<usize>();
    let bar = progress::bar(steps as u64, "bench");
    let mut rows: Vec<(Isa, Row)> = Vec::new();
    for (workload, isa) in subjects {
        let Some(set) = sets.iter().find(|set| set.isa == isa) else {
            continue;
        };
        let subject = Subject::new(workload, isa, size)?;
        bar.set_message(format!("{} ({isa})", workload.name));
        rows.push((isa, measure(&subject, set, args.runs, &machine, &bar)?));
    }
    bar.finish_and_clear();

    let bench = Bench {
        version: env!("CARGO_PKG_VERSION"),
        size: size.arg(),
        machine: machine.name,
        runs: args.runs,
        threads: host::processors(),
        not_by_instruction: not_driven.map(|reason| reason.to_string()),
        isas: sets
            .iter()
            .map(|set| {
                let of_set = rows.extract_if(.., |(isa, _)| *isa == set.isa);
                OfIsa::new(set, of_set.map(|(_, row)| row).collect())
            })
            .collect(),
    };
    args.json
        .print_text(&bench.render(args.without.contains(&Mode::Qemu)))?;
    json.write(&FORMAT.of(&bench))?;
    Ok(0)
}

/// The instruction sets that were asked for.
fn isas(args: &BenchArgs) -> Vec<Isa> {
    let mut isas = Vec::new();
    for &isa in &args.isa {
        if !isas.contains(&isa) {
            isas.push(isa);
        }
    }
    if isas.is_empty() {
        isas.push(hps_lab::DEFAULT_ISA);
    }
    isas
}

/// The programs that were asked for, on each instruction set.
fn subjects(args: &BenchArgs) -> anyhow::Result<Vec<(&'static Workload, Isa)>> {
    let programs = if args.programs.program.is_empty() {
        hps_workloads::all().iter().collect()
    } else {
        let find = |name: &String| {
            hps_workloads::find(name)
                .with_context(|| format!("there is no program `{name}`; hps programs lists them"))
        };
        args.programs
            .all()
            .iter()
            .map(find)
            .collect::<anyhow::Result<Vec<_>>>()?
    };
    let isas = isas(args);
    let on_each = |w: &'static Workload| isas.iter().map(move |&isa| (w, isa)).collect::<Vec<_>>();
    Ok(programs.into_iter().flat_map(on_each).collect())
}

/// Modes to measure with the images for one instruction set.
struct Set {
    isa: Isa,
    qemu: Option<Qemu>,
    /// By [`MODES`].
    wanted: [bool; MODES.len()],
}

impl Set {
    fn new(isa: Isa, args: &BenchArgs, is_driven: bool) -> anyhow::Result<Set> {
        let qemu = if args.without.contains(&Mode::Qemu) {
            None
        } else {
            Qemu::find(isa)?
        };
        let is_possible = |mode| match mode {
            Mode::Qemu => qemu.is_some(),
            Mode::GridThreads => host::processors() > 1,
            Mode::Instruction => is_driven,
            _ => true,
        };
        let wanted = MODES.map(|mode| !args.without.contains(&mode) && is_possible(mode));
        Ok(Set { isa, qemu, wanted })
    }
}

impl OfIsa {
    fn new(set: &Set, programs: Vec<Row>) -> OfIsa {
        let version = |qemu: &Qemu| {
            host::version(&qemu.path).unwrap_or_else(|| qemu.path.display().to_string())
        };
        OfIsa {
            isa: set.isa.name(),
            qemu: set.qemu.as_ref().map(version),
            geometric_mean: Means::geometric(&programs),
            programs,
        }
    }
}

/// The fastest of some runs of each mode. Modes take turns, so that a busy moment of the host does
/// not fall on one of them alone.
fn measure(
    subject: &Subject,
    set: &Set,
    runs: usize,
    machine: &MachineConfig,
    bar: &indicatif::ProgressBar,
) -> anyhow::Result<Row> {
    let mut best: Seconds = [None; MODES.len()];
    let mut instructions = None;
    let mut cycles = None;
    let mut instruction_cycles = None;
    let mut sampled_cpi = None;
    for _ in 0..runs {
        let wanted = MODES.into_iter().zip(set.wanted).enumerate();
        for (at, (mode, _)) in wanted.filter(|(_, (_, wanted))| *wanted) {
            let seconds = match (mode, &set.qemu) {
                (Mode::Qemu, Some(qemu)) => qemu.run(subject)?,
                (Mode::Qemu, None) => continue,
                (Mode::Functional, _) => {
                    let (seconds, retired) = subject.functional()?;
                    instructions = Some(retired);
                    seconds
                }
                (Mode::Samplers, _) => subject.samplers()?,
                (Mode::Grid, _) => subject.grid(1)?,
                (Mode::GridThreads, _) => subject.grid(host::processors())?,
                (Mode::Timed, _) => {
                    let (seconds, retired, took) = subject.timed(CoreKind::Cycle, machine)?;
                    instructions = Some(retired);
                    cycles = Some(took);
                    seconds
                }
                (Mode::Instruction, _) => {
                    let (seconds, retired, took) = subject.timed(CoreKind::Instruction, machine)?;
                    instructions = Some(retired);
                    instruction_cycles = Some(took);
                    seconds
                }
                (Mode::Sampled, _) => {
                    let (seconds, retired, cpi) = subject.sampled(machine)?;
                    instructions = Some(retired);
                    sampled_cpi = Some(cpi);
                    seconds
                }
            };
            best[at] = Some(best[at].map_or(seconds, |fastest| fastest.min(seconds)));
            bar.inc(1);
        }
    }
    // QEMU does not count.
    let instructions = match instructions {
        Some(n) => n,
        None => subject.functional()?.1,
    };
    Ok(Row {
        program: subject.workload.name,
        instructions,
        cycles,
        instruction_cycles,
        sampled_cpi,
        seconds: best,
        means: Means::of(instructions, &best),
    })
}

impl Means {
    fn of(instructions: u64, seconds: &Seconds) -> Self {
        let speeds = seconds.map(|s| {
            s.filter(|s| *s > 0.0)
                .map(|s| instructions as f64 / s / 1e6)
        });
        let [
            qemu,
            functional,
            samplers,
            grid,
            grid_threads,
            timed,
            instruction,
            sampled,
        ] = speeds;
        let per = |mode: Option<f64>| Some(qemu? / mode?);
        Means {
            qemu_mips: qemu,
            functional_mips: functional,
            samplers_mips: samplers,
            grid_mips: grid,
            grid_threads_mips: grid_threads,
            timed_mips: timed,
            instruction_mips: instruction,
            sampled_mips: sampled,
            qemu_per_functional: per(functional),
            qemu_per_samplers: per(samplers),
            qemu_per_grid: per(grid),
            qemu_per_grid_threads: per(grid_threads),
            qemu_per_timed: per(timed),
            qemu_per_instruction: per(instruction),
            instruction_per_timed: instruction.zip(timed).map(|(i, t)| i / t),
            sampled_per_timed: sampled.zip(timed).map(|(s, t)| s / t),
        }
    }

    fn geometric(rows: &[Row]) -> Self {
        let mean =
            |of: fn(&Means) -> Option<f64>| geometric_mean(rows.iter().map(|row| of(&row.means)));
        Means {
            qemu_mips: mean(|m| m.qemu_mips),
            functional_mips: mean(|m| m.functional_mips),
            samplers_mips: mean(|m| m.samplers_mips),
            grid_mips: mean(|m| m.grid_mips),
            grid_threads_mips: mean(|m| m.grid_threads_mips),
            timed_mips: mean(|m| m.timed_mips),
            instruction_mips: mean(|m| m.instruction_mips),
            sampled_mips: mean(|m| m.sampled_mips),
            qemu_per_functional: mean(|m| m.qemu_per_functional),
            qemu_per_samplers: mean(|m| m.qemu_per_samplers),
            qemu_per_grid: mean(|m| m.qemu_per_grid),
            qemu_per_grid_threads: mean(|m| m.qemu_per_grid_threads),
            qemu_per_timed: mean(|m| m.qemu_per_timed),
            qemu_per_instruction: mean(|m| m.qemu_per_instruction),
            instruction_per_timed: mean(|m| m.instruction_per_timed),
            sampled_per_timed: mean(|m| m.sampled_per_timed),
        }
    }
}

/// The geometric mean; none unless every value is there and above zero.
fn geometric_mean(values: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    let logarithms: Option<Vec<f64>> = values
        .map(|v| v.filter(|v| *v > 0.0).map(f64::ln))
        .collect();
    let logarithms = logarithms.filter(|all| !all.is_empty())?;
    Some((logarithms.iter().sum::<f64>() / logarithms.len() as f64).exp())
}

/// Format of measurements of speed.
const FORMAT: Format = Format::new("hps-bench", 1);

/// What the command writes as JSON.
fn described() -> Described {
    FORMAT.described::<Bench>(&["dev bench"])
}

/// What the commands write as JSON.
pub fn all_described() -> Vec<Described> {
    vec![described(), counts::described()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_are_geometric() {
        let mean = geometric_mean([Some(2.0), Some(8.0)].into_iter()).expect("a mean");
        assert!((mean - 4.0).abs() < 1e-12);
        assert_eq!(geometric_mean([Some(2.0), None].into_iter()), None);
        assert_eq!(geometric_mean(std::iter::empty()), None);
    }

    #[test]
    fn ratios_are_qemus_speed_by_ours() {
        let means = Means::of(
            100_000_000,
            &[
                Some(0.1),
                Some(1.0),
                Some(0.4),
                None,
                Some(2.0),
                Some(25.0),
                Some(5.0),
                Some(2.5),
            ],
        );
        assert!((means.functional_mips.expect("measured") - 100.0).abs() < 1e-9);
        assert!((means.qemu_per_functional.expect("measured") - 10.0).abs() < 1e-9);
        assert!((means.qemu_per_timed.expect("measured") - 250.0).abs() < 1e-9);
        assert!((means.qemu_per_instruction.expect("measured") - 50.0).abs() < 1e-9);
        assert!((means.instruction_per_timed.expect("measured") - 5.0).abs() < 1e-9);
        assert!((means.sampled_per_timed.expect("measured") - 10.0).abs() < 1e-9);
        assert_eq!(means.cells()[11..], ["20.0", "1/50.0"]);
        assert_eq!(
            means.cells()[3..9],
            ["250.0", "1/4.0", "-", "-", "50.0", "1/20.0"]
        );
    }
}
