//! One timed run of a program in each mode.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, bail};
use hps_experiments::{Interval, cycles_per_instruction};
use hps_pipeline::config::MachineConfig;
use hps_pipeline::core::{CoreKind, CoreStats, EitherCore};
use hps_pipeline::sampled::{SampledRun, SamplingPlan};
use hps_productions::{GridProbe, SamplePoint};
use hps_profile::StreamConfig;
use hps_sim_core::editor::NoEditor;
use hps_sim_core::image::{Isa, ProgramImage};
use hps_sim_core::machine::{Machine, Stop};
use hps_sim_core::probe::NoProbe;
use hps_workloads::{Size, Workload};

use crate::cli::Mode;
use crate::commands::programs::expect;
use crate::{host, program};

/// A program to be measured.
pub struct Subject {
    /// The program.
    pub workload: &'static Workload,
    /// Its image.
    pub image: Arc<ProgramImage>,
    /// Its input size.
    pub size: Size,
}

/// QEMU for one instruction set, and a folder for the executables that it needs.
pub struct Qemu {
    /// The emulator.
    pub path: PathBuf,
    folder: tempfile::TempDir,
}

impl Subject {
    /// A program, ready to run.
    pub fn new(workload: &'static Workload, isa: Isa, size: Size) -> anyhow::Result<Self> {
        Ok(Subject {
            workload,
            image: program::load_workload(workload, isa)?,
            size,
        })
    }

    /// Seconds on the functional machine, and the instructions of the program.
    pub fn functional(&self) -> anyhow::Result<(f64, u64)> {
        let mut machine = Machine::new(self.process()?);
        let start = Instant::now();
        let stop = machine.run(&mut NoProbe, u64::MAX);
        let seconds = start.elapsed().as_secs_f64();
        expect(
            self.workload,
            self.size,
            stop,
            machine.process.os.captured_stdout(),
        )?;
        Ok((seconds, machine.retired.program))
    }

    /// Seconds on the functional machine with the paper's whole grid of samplers, all profile
    /// types and the analysis of data streams, on this many threads.
    pub fn grid(&self, threads: usize) -> anyhow::Result<f64> {
        self.sampled_at(grid()?.on_threads(threads))
    }

    /// Seconds of the grid without the analysis of the exhaustive trace of references, on one thread.
    pub fn samplers(&self) -> anyhow::Result<f64> {
        self.sampled_at(grid()?.without_exhaustive_streams())
    }

    fn sampled_at(&self, mut probe: GridProbe<true>) -> anyhow::Result<f64> {
        let mut machine = Machine::new(self.process()?);
        let start = Instant::now();
        let stop = machine.run(&mut probe, u64::MAX);
        let result = probe.finish();
        let seconds = start.elapsed().as_secs_f64();
        expect(
            self.workload,
            self.size,
            stop,
            machine.process.os.captured_stdout(),
        )?;
        if result.points.is_empty() || result.exhaustive.addresses.is_empty() {
            bail!("{}: the samplers saw nothing", self.workload.name);
        }
        Ok(seconds)
    }

    /// Seconds on a core, instructions and cycles.
    pub fn timed(
        &self,
        kind: CoreKind,
        machine: &MachineConfig,
    ) -> anyhow::Result<(f64, u64, u64)> {
        let mut core = EitherCore::with(kind, machine, self.process()?, NoEditor, NoProbe)?;
        let start = Instant::now();
        let stop = core.run_to_end();
        let seconds = start.elapsed().as_secs_f64();
        let stdout = core.process().os.captured_stdout();
        expect(self.workload, self.size, stop, stdout)?;
        let stats = core.stats();
        Ok((seconds, stats.commit_program_instructions, stats.cycles))
    }

    /// Seconds with sampled timing, instructions, and the cycles of one of them, estimated.
    pub fn sampled(&self, machine: &MachineConfig) -> anyhow::Result<(f64, u64, Interval)> {
        let plan = SamplingPlan::default();
        let mut run = SampledRun::new(machine, self.process()?, plan)?;
        let start = Instant::now();
        let stop = run.run(u64::MAX)?;
        let seconds = start.elapsed().as_secs_f64();
        let instructions = run.instructions();
        let (process, samples) = run.finish();
        expect(self.workload, self.size, stop, process.os.captured_stdout())?;
        let cpi = cycles_per_instruction(&plan, &samples, instructions).cpi;
        Ok((seconds, instructions, cpi))
    }

    /// The first instructions of the program on a core.
    pub fn core_prefix(
        &self,
        kind: CoreKind,
        machine: &MachineConfig,
        instructions: u64,
    ) -> anyhow::Result<CoreStats> {
        let mut core = EitherCore::with(kind, machine, self.process()?, NoEditor, NoProbe)?;
        self.is_prefix(core.run(instructions), instructions)?;
        Ok(*core.stats())
    }

    /// The first instructions of the program in a mode.
    pub fn prefix(
        &self,
        mode: Mode,
        machine: &MachineConfig,
        instructions: u64,
    ) -> anyhow::Result<()> {
        let stop = match mode {
            Mode::Timed => {
                let run = self.core_prefix(CoreKind::Cycle, machine, instructions);
                return run.map(drop);
            }
            Mode::Instruction => {
                let run = self.core_prefix(CoreKind::Instruction, machine, instructions);
                return run.map(drop);
            }
            Mode::Sampled => SampledRun::new(machine, self.process()?, SamplingPlan::default())?
                .run(instructions)?,
            Mode::Samplers | Mode::Grid | Mode::GridThreads => {
                let mut probe = grid()?;
                if mode == Mode::Samplers {
                    probe = probe.without_exhaustive_streams();
                }
                let stop = Machine::new(self.process()?).run(&mut probe, instructions);
                let _ = probe.finish();
                stop
            }
            Mode::Functional | Mode::Qemu => {
                Machine::new(self.process()?).run(&mut NoProbe, instructions)
            }
        };
        self.is_prefix(stop, instructions)
    }

    /// Checks that the program has not ended before `instructions` instructions.
    fn is_prefix(&self, stop: Stop, instructions: u64) -> anyhow::Result<()> {
        if stop != Stop::Limit {
            bail!(
                "{}: ended before {instructions} instructions: {stop:?}",
                self.workload.name
            );
        }
        Ok(())
    }

    fn process(&self) -> anyhow::Result<hps_sim_core::process::Process> {
        program::process(&self.image, &program::captured(self.workload, self.size))
    }
}

/// The samplers of the paper's whole grid.
fn grid() -> anyhow::Result<GridProbe<true>> {
    let points = SamplePoint::paper_grid();
    Ok(GridProbe::with_memory(
        &points,
        Some(&StreamConfig::default()),
    )?)
}

impl Qemu {
    /// QEMU for an instruction set, if the host has it.
    pub fn find(isa: Isa) -> anyhow::Result<Option<Self>> {
        let Some(path) = host::qemu(isa) else {
            return Ok(None);
        };
        let folder = tempfile::tempdir()
            .context("no temporary folder for QEMU's executables can be made")?;
        Ok(Some(Qemu { path, folder }))
    }

    /// Seconds under QEMU, its start included.
    pub fn run(&self, subject: &Subject) -> anyhow::Result<f64> {
        let file = self.executable(subject)?;
        let mut command = Command::new(&self.path);
        command
            .arg(&file)
            .args(subject.workload.args(subject.size))
            .stdin(Stdio::null());
        let start = Instant::now();
        let output = command
            .output()
            .with_context(|| format!("{}: cannot be run", self.path.display()))?;
        let seconds = start.elapsed().as_secs_f64();
        let expected = subject.workload.expected(subject.size).as_bytes();
        if !output.status.success() || output.stdout != expected {
            bail!(
                "{} {} under {}: {}, or not the expected output",
                subject.workload.name,
                subject.size.arg(),
                self.path.display(),
                output.status
            );
        }
        Ok(seconds)
    }

    /// The program as a file, which QEMU needs.
    fn executable(&self, subject: &Subject) -> anyhow::Result<PathBuf> {
        let file: PathBuf = Path::new(self.folder.path()).join(subject.workload.name);
        if !file.exists() {
            let image = program::image_of(subject.workload, subject.image.isa)?;
            host::write_executable(&file, image)
                .with_context(|| format!("{}: cannot be written", file.display()))?;
        }
        Ok(file)
    }
}
