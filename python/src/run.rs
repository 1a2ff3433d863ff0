//! Runs, functional or timed.

use hps_lab::{CoreKind, Lab, LabError, Ran, TimedMachine, Timing};
use hps_pipeline::config::MachineConfig;
use hps_pipeline::core::Cause;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::error::{Attention, FUNCTIONAL_PART, TIMED_PART, said};
use crate::frame::{Column, Data, Frame};
use crate::machine::{AnyMachine, object};
use crate::program::AnyProgram;

/// The core of a name.
pub fn core_of(name: &str) -> PyResult<CoreKind> {
    match name {
        "cycle" => Ok(CoreKind::Cycle),
        "instruction" => Ok(CoreKind::Instruction),
        _ => Err(PyValueError::new_err(format!(
            "{name}: no such core; there are cycle and instruction"
        ))),
    }
}

/// A machine with the core that simulates it.
pub fn timed(config: MachineConfig, core: &str) -> PyResult<TimedMachine> {
    Ok(TimedMachine {
        config,
        core: core_of(core)?,
    })
}

/// The result of a run.
#[pyclass(frozen, module = "hps._hps")]
pub struct Run {
    program: String,
    machine: Option<String>,
    core: Option<&'static str>,
    instructions: u64,
    exit_code: i32,
    end: String,
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    host_seconds: f64,
    timing: Option<Timing>,
}

impl Run {
    /// Results of a run as Python has them.
    pub fn of<E, P, T>(ran: &Ran<E, P, T>, timing: Option<Timing>) -> Run {
        let machine = ran.provenance.machine.as_ref();
        Run {
            program: ran.provenance.program.clone(),
            machine: machine.map(|machine| machine.config.name.clone()),
            core: machine.map(|machine| machine.core.name()),
            instructions: ran.instructions(),
            exit_code: ran.exit_code(),
            end: ran.end().to_string(),
            stdout: ran.stdout().to_vec(),
            stderr: ran.process.os.captured_stderr().to_vec(),
            host_seconds: ran.host_seconds,
            timing,
        }
    }
}

#[pymethods]
impl Run {
    /// Name of the program.
    #[getter]
    fn program(&self) -> &str {
        &self.program
    }

    /// Name of the machine; none of a functional run.
    #[getter]
    fn machine(&self) -> Option<&str> {
        self.machine.as_deref()
    }

    /// Instructions of the program.
    #[getter]
    fn instructions(&self) -> u64 {
        self.instructions
    }

    /// Cycles; none of a functional run.
    #[getter]
    fn cycles(&self) -> Option<u64> {
        self.timing.as_ref().map(|timing| timing.core.cycles)
    }

    /// Instructions a cycle; none of a functional run.
    #[getter]
    fn ipc(&self) -> Option<f64> {
        self.cycles()
            .map(|cycles| self.instructions as f64 / cycles.max(1) as f64)
    }

    /// The exit code of the program, or 128 plus the number of the signal that ended it.
    #[getter]
    fn exit_code(&self) -> i32 {
        self.exit_code
    }

    /// How the program ended.
    #[getter]
    fn end(&self) -> &str {
        &self.end
    }

    /// Standard output of the program.
    #[getter]
    fn stdout<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.stdout)
    }

    /// Standard error of the program.
    #[getter]
    fn stderr<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.stderr)
    }

    /// Seconds of the host that the simulation took.
    #[getter]
    fn host_seconds(&self) -> f64 {
        self.host_seconds
    }

    /// Counters of the core, its caches, TLBs and buses, by name; none of a functional run.
    #[getter]
    fn counters<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let mut all = serde_json::Map::new();
        if let Some(timing) = &self.timing {
            if let serde_json::Value::Object(core) =
                serde_json::to_value(timing.core).map_err(said)?
            {
                all.extend(core);
            }
            let memory = timing.memory.entries();
            all.extend(
                memory
                    .into_iter()
                    .map(|(name, count)| (name.to_owned(), count.into())),
            );
        }
        object(py, &serde_json::Value::Object(all))
    }

    /// Cycles by cause: each commit slot of each cycle has one owner.
    fn cpi_stack(&self) -> PyResult<Frame> {
        let timing = self.timing.as_ref();
        let slots: Vec<u64> = Cause::ALL
            .iter()
            .map(|&cause| timing.map_or(0, |timing| timing.cpi.get(cause)))
            .collect();
        let all = slots.iter().sum::<u64>().max(1) as f64;
        let cycles = self.cycles().unwrap_or(0) as f64;
        let names = Cause::ALL.iter().map(|cause| Some(cause.name()));
        let each = |scale: f64| {
            slots
                .iter()
                .map(|&n| n as f64 / all * scale)
                .collect::<Vec<f64>>()
        };
        Frame::of(vec![
            Column::new(
                "cause",
                "text",
                "what the cycles were spent on",
                names.collect::<Data>(),
            ),
            Column::new("cycles", "cycles", "cycles of this cause", each(cycles)),
            Column::new("share", "share", "share of all cycles", each(1.0)),
            Column::new(
                "cpi",
                "cycles/instruction",
                "cycles for each instruction",
                each(cycles / self.instructions.max(1) as f64),
            ),
        ])
    }

    fn __repr__(&self) -> String {
        let timed = match (&self.machine, self.cycles(), self.ipc()) {
            (Some(machine), Some(cycles), Some(ipc)) => {
                let core = self.core.unwrap_or_default();
                format!(" in {cycles} cycles on {machine} (core by {core}), IPC {ipc:.3}")
            }
            _ => String::new(),
        };
        format!(
            "<Run {}: {} instructions{timed}; {}>",
            self.program, self.instructions, self.end
        )
    }
}

/// Runs a program: timed on a machine, or functionally without one. `limit` is in instructions.
#[pyfunction]
#[pyo3(signature = (program, machine=None, *, core="cycle", limit=None))]
pub fn run<'py>(
    py: Python<'py>,
    program: AnyProgram<'py>,
    machine: Option<AnyMachine<'py>>,
    core: &str,
    limit: Option<u64>,
) -> PyResult<Bound<'py, PyAny>> {
    let attention = Attention::default();
    let program = program.program()?;
    let lab = Lab::of(&program).limit(limit.unwrap_or(u64::MAX));
    let run = match machine {
        None => {
            let lab = lab.in_parts(FUNCTIONAL_PART, attention.watching());
            attention.run(py, || Ok(Run::of(&lab.run()?, None)))?
        }
        Some(machine) => {
            let machine = timed(machine.config()?, core)?;
            let lab = lab
                .timed_by(&machine)
                .in_parts(TIMED_PART, attention.watching());
            attention.run(py, || {
                let ran = lab.run()?;
                let timing = ran.timing.clone();
                Ok(Run::of(&ran, Some(timing)))
            })?
        }
    };
    attention.result(py, run.map_err(|error: LabError| said(error))?)
}
