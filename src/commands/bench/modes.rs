//! Timed runs of a program, one in each mode.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, bail};
use hps_experiments::{Interval, cycles_per_instruction};
use hps_lab::counted::grid;
use hps_lab::work_folder::WorkFolder;
use hps_lab::{EndError, Lab, LabError, Program, Ran, image_of};
use hps_pipeline::config::MachineConfig;
use hps_pipeline::core::{CoreKind, CoreStats};
use hps_pipeline::sampled::SamplingPlan;
use hps_productions::GridProbe;
use hps_system::image::Isa;
use hps_workloads::{Size, Workload};

use crate::host;

/// A program to be measured.
pub struct Subject {
    /// The program as it comes with the project.
    pub workload: &'static Workload,
    /// The size of the program's input.
    pub size: Size,
    /// The program with this input.
    pub program: Program,
}

/// QEMU for one instruction set, and a folder for the executables that it needs.
pub struct Qemu {
    /// The emulator.
    pub path: PathBuf,
    folder: WorkFolder,
}

impl Subject {
    /// A program, ready to run.
    pub fn new(workload: &'static Workload, isa: Isa, size: Size) -> anyhow::Result<Self> {
        Ok(Subject {
            workload,
            size,
            program: Program::workload(workload, isa, size)?,
        })
    }

    /// Seconds on the functional machine, and the instructions of the program.
    pub fn functional(&self) -> anyhow::Result<(f64, u64)> {
        let ran = self.expected(self.lab().run())?;
        Ok((ran.host_seconds, ran.instructions()))
    }

    /// Seconds on the functional machine with the paper's whole grid of samplers, all profile
    /// types and the analysis of data streams, on this many threads.
    pub fn grid(&self, threads: usize) -> anyhow::Result<f64> {
        self.sampled_at(
            grid()
                .map_err(anyhow::Error::from_boxed)?
                .on_threads(threads),
        )
    }

    /// Seconds of the grid without the analysis of the exhaustive trace of references, on one thread.
    pub fn samplers(&self) -> anyhow::Result<f64> {
        self.sampled_at(
            grid()
                .map_err(anyhow::Error::from_boxed)?
                .without_exhaustive_streams(),
        )
    }

    fn sampled_at(&self, probe: GridProbe<true>) -> anyhow::Result<f64> {
        let ran = self.expected(self.lab().watched_by(probe).run())?;
        let start = Instant::now();
        let result = ran.probe.finish();
        let seconds = ran.host_seconds + start.elapsed().as_secs_f64();
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
        let ran = self.expected(self.lab().on_machine(machine).core(kind).run())?;
        Ok((ran.host_seconds, ran.instructions(), ran.cycles()))
    }

    /// Seconds with sampled timing, instructions, and the cycles of one of them, estimated.
    pub fn sampled(&self, machine: &MachineConfig) -> anyhow::Result<(f64, u64, Interval)> {
        let plan = SamplingPlan::default();
        let ran = self.expected(self.lab().on_machine(machine).sampled(plan)?.run())?;
        let instructions = ran.instructions();
        let cpi = cycles_per_instruction(machine, &plan, &ran.timing.samples, instructions).cpi;
        Ok((ran.host_seconds, instructions, cpi))
    }

    /// The first instructions of the program on a core.
    pub fn core_prefix(
        &self,
        kind: CoreKind,
        machine: &MachineConfig,
        instructions: u64,
    ) -> anyhow::Result<CoreStats> {
        let lab = self.lab().on_machine(machine).core(kind);
        let ran = lab.limit(instructions).run()?;
        self.is_prefix(ran.end(), instructions)?;
        Ok(ran.timing.core)
    }

    fn lab(&self) -> Lab<'_> {
        Lab::of(&self.program)
    }

    /// A run whose program ended as it must.
    fn expected<E, P, T>(
        &self,
        ran: Result<Ran<E, P, T>, LabError>,
    ) -> anyhow::Result<Ran<E, P, T>> {
        ran.and_then(Ran::successful)
            .with_context(|| format!("{}, {}", self.program.title(), self.size.arg()))
    }

    /// Checks that the program has not ended before `instructions` instructions.
    fn is_prefix(&self, end: EndError, instructions: u64) -> anyhow::Result<()> {
        if end != EndError::Limit {
            let name = self.workload.name;
            bail!("{name}: it was to run {instructions} instructions: {end}");
        }
        Ok(())
    }
}

impl Qemu {
    /// QEMU for an instruction set, if the host has it.
    pub fn find(isa: Isa) -> anyhow::Result<Option<Self>> {
        let Some(path) = host::qemu(isa) else {
            return Ok(None);
        };
        let folder = WorkFolder::new("bench")
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
            let image = image_of(subject.workload, subject.program.image.isa)?;
            host::write_executable(&file, image)
                .with_context(|| format!("{}: cannot be written", file.display()))?;
        }
        Ok(file)
    }
}
