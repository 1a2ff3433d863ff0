//! `hps bench`: how fast each mode is, beside QEMU's user mode on the same binary.

mod counts;
mod modes;

use std::path::Path;

use anyhow::{Context, bail};
use hps_experiments::Interval;
use hps_pipeline::config::MachineConfig;
use hps_pipeline::core::CoreKind;
use hps_sim_core::image::Isa;
use hps_workloads::Workload;
use serde::Serialize;

use crate::cli::{BenchArgs, Mode};
use crate::commands::programs::workload_size;
use crate::text::{Align, Table, grouped, print};
use crate::{host, program, progress};
use modes::{Qemu, Subject};

/// The modes in the order of the table.
const MODES: [Mode; 7] = [
    Mode::Qemu,
    Mode::Functional,
    Mode::Grid,
    Mode::GridThreads,
    Mode::Timed,
    Mode::Instruction,
    Mode::Sampled,
];

/// Seconds by [`MODES`].
type Seconds = [Option<f64>; MODES.len()];

/// What was measured.
#[derive(Debug, Serialize)]
struct Bench {
    version: &'static str,
    size: &'static str,
    machine: String,
    runs: usize,
    /// Threads of the grid where it has several.
    threads: usize,
    /// Why the machine is not timed by instruction, if that was asked for.
    not_by_instruction: Option<String>,
    isas: Vec<OfIsa>,
}

/// What was measured with the images for one instruction set.
#[derive(Debug, Serialize)]
struct OfIsa {
    isa: &'static str,
    qemu: Option<String>,
    programs: Vec<Row>,
    /// Geometric means over the programs.
    geometric_mean: Means,
}

/// One program. Speeds are in million instructions of the program a host second, on one thread unless
/// the name says otherwise.
#[derive(Debug, Serialize)]
struct Row {
    program: &'static str,
    instructions: u64,
    /// Cycles on the machine, if it was timed.
    cycles: Option<u64>,
    /// The same by the instruction-driven core.
    instruction_cycles: Option<u64>,
    /// Cycles an instruction on the machine by sampled timing, if there was any.
    sampled_cpi: Option<Interval>,
    /// The fastest run of each mode in seconds, in the order of [`MODES`]: QEMU, functional, grid,
    /// grid on several threads, timed, by instruction, sampled.
    seconds: Seconds,
    #[serde(flatten)]
    means: Means,
}

/// Speeds and QEMU's speed divided by that of each mode.
#[derive(Debug, Default, Serialize)]
struct Means {
    qemu_mips: Option<f64>,
    functional_mips: Option<f64>,
    grid_mips: Option<f64>,
    grid_threads_mips: Option<f64>,
    timed_mips: Option<f64>,
    instruction_mips: Option<f64>,
    sampled_mips: Option<f64>,
    qemu_per_functional: Option<f64>,
    qemu_per_grid: Option<f64>,
    qemu_per_grid_threads: Option<f64>,
    qemu_per_timed: Option<f64>,
    qemu_per_instruction: Option<f64>,
    instruction_per_timed: Option<f64>,
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
    let json = args.json.as_deref().map(create).transpose()?;
    let not_driven = if args.skip.contains(&Mode::Instruction) {
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
    print(&bench.render(args.skip.contains(&Mode::Qemu)))?;
    if let (Some(mut file), Some(path)) = (json, &args.json) {
        serde_json::to_writer_pretty(&mut file, &bench)
            .with_context(|| format!("{}: cannot be written", path.display()))?;
    }
    Ok(0)
}

fn create(path: &Path) -> anyhow::Result<std::fs::File> {
    std::fs::File::create(path).with_context(|| {
        format!(
            "{}: cannot be written; name a file in a folder that exists",
            path.display()
        )
    })
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
        isas.push(program::DEFAULT_ISA);
    }
    isas
}

/// The programs that were asked for, on each instruction set.
fn subjects(args: &BenchArgs) -> anyhow::Result<Vec<(&'static Workload, Isa)>> {
    let programs = if args.program.is_empty() {
        hps_workloads::all().iter().collect()
    } else {
        let find = |name: &String| {
            hps_workloads::find(name)
                .with_context(|| format!("there is no program `{name}`; hps programs lists them"))
        };
        args.program
            .iter()
            .map(find)
            .collect::<anyhow::Result<Vec<_>>>()?
    };
    let isas = isas(args);
    let on_each = |w: &'static Workload| isas.iter().map(move |&isa| (w, isa)).collect::<Vec<_>>();
    Ok(programs.into_iter().flat_map(on_each).collect())
}

/// What is measured with the images for one instruction set.
struct Set {
    isa: Isa,
    qemu: Option<Qemu>,
    /// By [`MODES`].
    wanted: [bool; MODES.len()],
}

impl Set {
    fn new(isa: Isa, args: &BenchArgs, is_driven: bool) -> anyhow::Result<Set> {
        let qemu = if args.skip.contains(&Mode::Qemu) {
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
        let wanted = MODES.map(|mode| !args.skip.contains(&mode) && is_possible(mode));
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
            grid_mips: grid,
            grid_threads_mips: grid_threads,
            timed_mips: timed,
            instruction_mips: instruction,
            sampled_mips: sampled,
            qemu_per_functional: per(functional),
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
            grid_mips: mean(|m| m.grid_mips),
            grid_threads_mips: mean(|m| m.grid_threads_mips),
            timed_mips: mean(|m| m.timed_mips),
            instruction_mips: mean(|m| m.instruction_mips),
            sampled_mips: mean(|m| m.sampled_mips),
            qemu_per_functional: mean(|m| m.qemu_per_functional),
            qemu_per_grid: mean(|m| m.qemu_per_grid),
            qemu_per_grid_threads: mean(|m| m.qemu_per_grid_threads),
            qemu_per_timed: mean(|m| m.qemu_per_timed),
            qemu_per_instruction: mean(|m| m.qemu_per_instruction),
            instruction_per_timed: mean(|m| m.instruction_per_timed),
            sampled_per_timed: mean(|m| m.sampled_per_timed),
        }
    }

    fn cells(&self) -> [String; 11] {
        let speed = |mips: Option<f64>| mips.map_or("-".to_string(), |mips| format!("{mips:.1}"));
        [
            speed(self.qemu_mips),
            speed(self.functional_mips),
            share(self.qemu_per_functional),
            speed(self.grid_mips),
            share(self.qemu_per_grid),
            speed(self.grid_threads_mips),
            share(self.qemu_per_grid_threads),
            speed(self.timed_mips),
            share(self.qemu_per_timed),
            speed(self.instruction_mips),
            share(self.qemu_per_instruction),
        ]
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

impl Bench {
    fn render(&self, qemu_left_out: bool) -> String {
        let mut out = String::new();
        for of_isa in &self.isas {
            out += &self.table(of_isa);
        }
        out += &format!(
            "\nMillion instructions a second on one thread, the fastest of {} runs; input size {}. `grid` is the\n\
             functional machine with the paper's 20 sampling points of all profile types, `grid, {}` the same on\n\
             {} threads. `{}` is that machine simulated a cycle at a time, `by instruction` the same machine an\n\
             instruction at a time.\n",
            self.runs, self.size, self.threads, self.threads, self.machine
        );
        if let Some(reason) = &self.not_by_instruction {
            out += &format!(
                "{} cannot be timed by instruction: {reason}.\n",
                self.machine
            );
        }
        for of_isa in &self.isas {
            match &of_isa.qemu {
                Some(version) if self.size == "small" => {
                    out += &format!(
                        "{version}. Its time includes its start, which counts at this size (--size large).\n"
                    );
                }
                Some(version) => {
                    out += &format!(
                        "{version}. Its time includes its start, which is small beside the run.\n"
                    )
                }
                None if qemu_left_out => {}
                None => {
                    out += &format!(
                        "qemu-{} was not found, so there are no ratios (Debian package: qemu-user).\n",
                        of_isa.isa
                    );
                }
            }
        }
        for of_isa in &self.isas {
            out += &by_instruction(of_isa);
            out += &self.sampled(of_isa);
        }
        out + &self.side_by_side()
    }

    /// Sampled timing beside exact, if there was any.
    fn sampled(&self, of_isa: &OfIsa) -> String {
        if of_isa.programs.iter().all(|row| row.sampled_cpi.is_none()) {
            return String::new();
        }
        let mut table = Table::new(&[("program", Align::Left)]);
        for name in [
            "sampled",
            "times exact",
            "IPC",
            "sampled",
            "error, %",
            "interval, %",
        ] {
            table.column(name, Align::Right);
        }
        let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_string());
        let speeds = |means: &Means| {
            [
                or_dash(means.sampled_mips.map(|mips| format!("{mips:.1}"))),
                or_dash(means.sampled_per_timed.map(|times| format!("{times:.1}"))),
            ]
        };
        for row in &of_isa.programs {
            let exact = row
                .cycles
                .map(|cycles| row.instructions as f64 / cycles as f64);
            let sampled = row.sampled_cpi.map(|cpi| 1.0 / cpi.mean);
            let error = sampled.zip(exact).map(|(s, e)| 100.0 * (s / e - 1.0));
            let half_width = row.sampled_cpi.map(|cpi| 100.0 * cpi.half_width / cpi.mean);
            let cells = [
                or_dash(exact.map(|ipc| format!("{ipc:.4}"))),
                or_dash(sampled.map(|ipc| format!("{ipc:.4}"))),
                or_dash(error.map(|error| format!("{error:+.2}"))),
                or_dash(half_width.map(|half| format!("± {half:.2}"))),
            ];
            let start = [row.program.to_string()].into_iter();
            table.row(start.chain(speeds(&row.means)).chain(cells));
        }
        let start = ["geometric mean".to_string()].into_iter();
        let rest = std::iter::repeat_n(String::new(), 4);
        table.row(start.chain(speeds(&of_isa.geometric_mean)).chain(rest));
        format!(
            "\n{}: sampled timing beside exact, million instructions a second and IPC; the interval is that of 95%\n{}",
            of_isa.isa,
            table.render()
        )
    }

    /// The name of the grid on several threads.
    fn grid_threads(&self) -> String {
        format!("grid, {}", self.threads)
    }

    fn table(&self, of_isa: &OfIsa) -> String {
        let mut table = Table::new(&[("program", Align::Left), ("instructions", Align::Right)]);
        let grid_threads = self.grid_threads();
        for name in [
            "QEMU",
            "functional",
            "of QEMU",
            "grid",
            "of QEMU",
            &grid_threads,
            "of QEMU",
            self.machine.as_str(),
            "of QEMU",
            "by instruction",
            "of QEMU",
        ] {
            table.column(name, Align::Right);
        }
        for row in &of_isa.programs {
            let start = [row.program.to_string(), grouped(row.instructions)];
            table.row(start.into_iter().chain(row.means.cells()));
        }
        let start = ["geometric mean".to_string(), String::new()];
        table.row(start.into_iter().chain(of_isa.geometric_mean.cells()));
        match self.isas.len() {
            1 => table.render(),
            _ => format!("{}\n{}\n", of_isa.isa, table.render()),
        }
    }

    /// The ratios to QEMU of all instruction sets, and each divided by that of the first one.
    fn side_by_side(&self) -> String {
        let [first, others @ ..] = self.isas.as_slice() else {
            return String::new();
        };
        if others.is_empty() {
            return String::new();
        }
        let mut table = Table::new(&[("program", Align::Left)]);
        let grid_threads = self.grid_threads();
        for mode in [
            "functional",
            "grid",
            &grid_threads,
            self.machine.as_str(),
            "by instruction",
        ] {
            for of_isa in &self.isas {
                table.column(&format!("{mode}, {}", of_isa.isa), Align::Right);
            }
            for other in others {
                table.column(&format!("{}/{}", other.isa, first.isa), Align::Right);
            }
        }
        for (at, row) in first.programs.iter().enumerate() {
            let means = self.isas.iter().map(|of_isa| &of_isa.programs[at].means);
            let start = [row.program.to_string()];
            table.row(
                start
                    .into_iter()
                    .chain(compared(&means.collect::<Vec<_>>())),
            );
        }
        let means = self.isas.iter().map(|of_isa| &of_isa.geometric_mean);
        let start = ["geometric mean".to_string()];
        table.row(
            start
                .into_iter()
                .chain(compared(&means.collect::<Vec<_>>())),
        );
        format!(
            "\n{}\nOf QEMU's speed on the same binary, and how one instruction set's share compares with the other's.\n",
            table.render()
        )
    }
}

/// The instruction-driven core beside the cycle-driven one, if both ran.
fn by_instruction(of_isa: &OfIsa) -> String {
    if of_isa.geometric_mean.instruction_per_timed.is_none() {
        return String::new();
    }
    let mut table = Table::new(&[("program", Align::Left)]);
    for name in [
        "by instruction",
        "times by cycle",
        "IPC",
        "by instruction",
        "error, %",
    ] {
        table.column(name, Align::Right);
    }
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_string());
    let speeds = |means: &Means| {
        [
            or_dash(means.instruction_mips.map(|mips| format!("{mips:.1}"))),
            or_dash(
                means
                    .instruction_per_timed
                    .map(|times| format!("{times:.1}")),
            ),
        ]
    };
    for row in &of_isa.programs {
        let ipc =
            |cycles: Option<u64>| cycles.map(|cycles| row.instructions as f64 / cycles as f64);
        let (exact, driven) = (ipc(row.cycles), ipc(row.instruction_cycles));
        let error = driven.zip(exact).map(|(d, e)| 100.0 * (d / e - 1.0));
        let cells = [
            or_dash(exact.map(|ipc| format!("{ipc:.4}"))),
            or_dash(driven.map(|ipc| format!("{ipc:.4}"))),
            or_dash(error.map(|error| format!("{error:+.3}"))),
        ];
        let start = [row.program.to_string()].into_iter();
        table.row(start.chain(speeds(&row.means)).chain(cells));
    }
    let start = ["geometric mean".to_string()].into_iter();
    let rest = std::iter::repeat_n(String::new(), 3);
    table.row(start.chain(speeds(&of_isa.geometric_mean)).chain(rest));
    format!(
        "\n{}: timed by instruction beside by cycle, million instructions a second and IPC\n{}",
        of_isa.isa,
        table.render()
    )
}

/// The shares of QEMU's speed by mode and instruction set, and each but the first as a multiple of
/// the first.
fn compared(means: &[&Means]) -> Vec<String> {
    let modes: [fn(&Means) -> Option<f64>; 5] = [
        |m| m.qemu_per_functional,
        |m| m.qemu_per_grid,
        |m| m.qemu_per_grid_threads,
        |m| m.qemu_per_timed,
        |m| m.qemu_per_instruction,
    ];
    let mut cells = Vec::new();
    for ratio in modes {
        let ratios: Vec<Option<f64>> = means.iter().map(|m| ratio(m)).collect();
        cells.extend(ratios.iter().map(|r| share(*r)));
        // A share is one by the ratio.
        let multiple = |r: &Option<f64>| Some(ratios[0]? / (*r)?);
        let multiples = ratios[1..].iter().map(multiple);
        cells.extend(multiples.map(|m| m.map_or("-".to_string(), |m| format!("{m:.2}"))));
    }
    cells
}

/// A ratio of QEMU's speed to ours, as ours of QEMU's.
fn share(ratio: Option<f64>) -> String {
    ratio.map_or("-".to_string(), |ratio| format!("1/{ratio:.1}"))
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
        assert_eq!(means.cells()[9..], ["20.0", "1/50.0"]);
        assert_eq!(means.cells()[3..7], ["-", "-", "50.0", "1/20.0"]);
    }
    #[test]
    fn instruction_sets_are_compared_by_their_share_of_qemu() {
        let means = [Some(4.0), Some(5.0)].map(|timed| Means {
            qemu_per_timed: timed,
            qemu_per_grid: Some(10.0),
            qemu_per_instruction: Some(2.0),
            ..Means::default()
        });
        let cells = compared(&[&means[0], &means[1]]);
        let expected = [
            "-", "-", "-", "1/10.0", "1/10.0", "1.00", "-", "-", "-", "1/4.0", "1/5.0", "0.80",
            "1/2.0", "1/2.0", "1.00",
        ];
        assert_eq!(cells, expected);
    }

    #[test]
    fn the_error_of_the_ipc_by_instruction_is_shown() {
        let row = |instruction_cycles: Option<u64>| {
            let seconds = [None, None, None, None, Some(2.0), Some(0.5), None];
            OfIsa {
                isa: "alpha",
                qemu: None,
                geometric_mean: Means::of(1_000_000, &seconds),
                programs: vec![Row {
                    program: "bwt",
                    instructions: 1_000_000,
                    cycles: Some(1_000_000),
                    instruction_cycles,
                    sampled_cpi: None,
                    seconds,
                    means: Means::of(1_000_000, &seconds),
                }],
            }
        };
        // More cycles are fewer instructions a cycle.
        let text = by_instruction(&row(Some(1_002_000)));
        assert!(text.contains("1.0000") && text.contains("0.9980"), "{text}");
        assert!(text.contains("-0.200") && text.contains("4.0"), "{text}");
        let mut alone = row(Some(1_002_000));
        alone.geometric_mean.instruction_per_timed = None;
        assert_eq!(by_instruction(&alone), "");
    }
}
