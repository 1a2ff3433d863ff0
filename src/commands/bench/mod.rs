//! `hps bench`: how fast each mode is, beside QEMU's user mode on the same binary.

mod counts;
mod modes;

use std::path::Path;

use anyhow::{Context, bail};
use hps_pipeline::config::MachineConfig;
use hps_workloads::Workload;
use serde::Serialize;

use crate::cli::{BenchArgs, Mode};
use crate::commands::programs::workload_size;
use crate::progress;
use crate::text::{Align, Table, grouped, print};
use modes::{Qemu, Subject};

/// The modes in the order of the table.
const MODES: [Mode; 4] = [Mode::Qemu, Mode::Functional, Mode::Grid, Mode::Timed];

/// What was measured.
#[derive(Debug, Serialize)]
struct Bench {
    version: &'static str,
    size: &'static str,
    machine: String,
    runs: usize,
    qemu: Option<String>,
    programs: Vec<Row>,
    /// Geometric means over the programs.
    geometric_mean: Means,
}

/// One program. Speeds are in million instructions of the program a host second, on one thread.
#[derive(Debug, Serialize)]
struct Row {
    program: &'static str,
    instructions: u64,
    /// Cycles on the machine, if it was timed.
    cycles: Option<u64>,
    /// The fastest run of each mode in seconds, in the order of [`MODES`]: QEMU, functional, grid,
    /// timed.
    seconds: [Option<f64>; 4],
    #[serde(flatten)]
    means: Means,
}

/// Speeds and QEMU's speed divided by that of each mode.
#[derive(Debug, Default, Serialize)]
struct Means {
    qemu_mips: Option<f64>,
    functional_mips: Option<f64>,
    grid_mips: Option<f64>,
    timed_mips: Option<f64>,
    qemu_per_functional: Option<f64>,
    qemu_per_grid: Option<f64>,
    qemu_per_timed: Option<f64>,
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
    let programs = chosen(&args.program)?;
    let size = workload_size(args.size);
    let json = args.json.as_deref().map(create).transpose()?;
    let qemu = if args.skip.contains(&Mode::Qemu) {
        None
    } else {
        Qemu::find()?
    };
    let wanted =
        MODES.map(|mode| !args.skip.contains(&mode) && (mode != Mode::Qemu || qemu.is_some()));
    if !wanted.contains(&true) {
        bail!("there is nothing to measure: every mode is left out");
    }

    let steps = programs.len() * args.runs * wanted.iter().filter(|w| **w).count();
    let bar = progress::bar(steps as u64, "bench");
    let mut rows = Vec::new();
    for workload in programs {
        let subject = Subject::new(workload, size)?;
        bar.set_message(workload.name);
        rows.push(measure(
            &subject,
            wanted,
            args.runs,
            &machine,
            qemu.as_ref(),
            &bar,
        )?);
    }
    bar.finish_and_clear();

    let bench = Bench {
        version: env!("CARGO_PKG_VERSION"),
        size: size.arg(),
        machine: machine.name,
        runs: args.runs,
        qemu: qemu
            .as_ref()
            .map(|q| crate::host::version(&q.path).unwrap_or_else(|| q.path.display().to_string())),
        geometric_mean: Means::geometric(&rows),
        programs: rows,
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

fn chosen(names: &[String]) -> anyhow::Result<Vec<&'static Workload>> {
    if names.is_empty() {
        return Ok(hps_workloads::all().iter().collect());
    }
    let find = |name: &String| {
        hps_workloads::find(name)
            .with_context(|| format!("there is no program `{name}`; hps programs lists them"))
    };
    names.iter().map(find).collect()
}

/// The fastest of some runs of each mode. Modes take turns, so that a busy moment of the host does
/// not fall on one of them alone.
fn measure(
    subject: &Subject,
    wanted: [bool; 4],
    runs: usize,
    machine: &MachineConfig,
    qemu: Option<&Qemu>,
    bar: &indicatif::ProgressBar,
) -> anyhow::Result<Row> {
    let mut best: [Option<f64>; 4] = [None; 4];
    let mut instructions = None;
    let mut cycles = None;
    for _ in 0..runs {
        for (at, mode) in MODES.into_iter().enumerate().filter(|(at, _)| wanted[*at]) {
            let seconds = match (mode, qemu) {
                (Mode::Qemu, Some(qemu)) => qemu.run(subject)?,
                (Mode::Qemu, None) => continue,
                (Mode::Functional, _) => {
                    let (seconds, retired) = subject.functional()?;
                    instructions = Some(retired);
                    seconds
                }
                (Mode::Grid, _) => subject.grid()?,
                (Mode::Timed, _) => {
                    let (seconds, retired, took) = subject.timed(machine)?;
                    instructions = Some(retired);
                    cycles = Some(took);
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
        seconds: best,
        means: Means::of(instructions, &best),
    })
}

impl Means {
    fn of(instructions: u64, seconds: &[Option<f64>; 4]) -> Self {
        let [qemu, functional, grid, timed] = seconds.map(|s| {
            s.filter(|s| *s > 0.0)
                .map(|s| instructions as f64 / s / 1e6)
        });
        let per = |mode: Option<f64>| Some(qemu? / mode?);
        Means {
            qemu_mips: qemu,
            functional_mips: functional,
            grid_mips: grid,
            timed_mips: timed,
            qemu_per_functional: per(functional),
            qemu_per_grid: per(grid),
            qemu_per_timed: per(timed),
        }
    }

    fn geometric(rows: &[Row]) -> Self {
        let mean =
            |of: fn(&Means) -> Option<f64>| geometric_mean(rows.iter().map(|row| of(&row.means)));
        Means {
            qemu_mips: mean(|m| m.qemu_mips),
            functional_mips: mean(|m| m.functional_mips),
            grid_mips: mean(|m| m.grid_mips),
            timed_mips: mean(|m| m.timed_mips),
            qemu_per_functional: mean(|m| m.qemu_per_functional),
            qemu_per_grid: mean(|m| m.qemu_per_grid),
            qemu_per_timed: mean(|m| m.qemu_per_timed),
        }
    }

    fn cells(&self) -> [String; 7] {
        let speed = |mips: Option<f64>| mips.map_or("-".to_string(), |mips| format!("{mips:.1}"));
        let share =
            |ratio: Option<f64>| ratio.map_or("-".to_string(), |ratio| format!("1/{ratio:.1}"));
        [
            speed(self.qemu_mips),
            speed(self.functional_mips),
            share(self.qemu_per_functional),
            speed(self.grid_mips),
            share(self.qemu_per_grid),
            speed(self.timed_mips),
            share(self.qemu_per_timed),
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
        let mut table = Table::new(&[("program", Align::Left), ("instructions", Align::Right)]);
        for name in [
            "QEMU",
            "functional",
            "of QEMU",
            "grid",
            "of QEMU",
            self.machine.as_str(),
            "of QEMU",
        ] {
            table.column(name, Align::Right);
        }
        for row in &self.programs {
            let start = [row.program.to_string(), grouped(row.instructions)];
            table.row(start.into_iter().chain(row.means.cells()));
        }
        let start = ["geometric mean".to_string(), String::new()];
        table.row(start.into_iter().chain(self.geometric_mean.cells()));
        let mut out = table.render();
        out += &format!(
            "\nMillion instructions a second on one thread, the fastest of {} runs; input size {}. `grid` is the\n\
             functional machine with the paper's 20 sampling points of all profile types.\n",
            self.runs, self.size
        );
        match &self.qemu {
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
                out += "qemu-riscv64 was not found, so there are no ratios (Debian package: qemu-user).\n"
            }
        }
        out
    }
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
        let means = Means::of(100_000_000, &[Some(0.1), Some(1.0), None, Some(25.0)]);
        assert!((means.functional_mips.expect("measured") - 100.0).abs() < 1e-9);
        assert!((means.qemu_per_functional.expect("measured") - 10.0).abs() < 1e-9);
        assert!((means.qemu_per_timed.expect("measured") - 250.0).abs() < 1e-9);
        assert_eq!(means.cells()[3..5], ["-".to_string(), "-".to_string()]);
    }
}
