//! Probes in Python: commits of a run in batches, as columns.

use hps_isa::inst::ALL_CLASSES;
use hps_isa::probe::Probe;
use hps_lab::{Lab, LabError};
use hps_pipeline::core::{Commit, EventSet, Origin, PipelineProbe};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::error::{Attention, TIMED_PART, said};
use crate::frame::{Column, Data, Frame};
use crate::machine::AnyMachine;
use crate::program::AnyProgram;
use crate::run::{Run, timed};

/// A column of batches: what a probe may ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Cycle,
    Address,
    DispatchCycle,
    Class,
    Events,
    MemoryAddress,
    Target,
    Taken,
    Thread,
    Processor,
    IsProgram,
}

/// The columns with their names, units and meanings.
const KINDS: [(Kind, &str, &str, &str); 11] = [
    (
        Kind::Cycle,
        "cycle",
        "cycles",
        "cycle in which the instruction committed",
    ),
    (
        Kind::Address,
        "address",
        "address",
        "address of the instruction",
    ),
    (
        Kind::DispatchCycle,
        "dispatch_cycle",
        "cycles",
        "cycle in which it was dispatched",
    ),
    (
        Kind::Class,
        "class",
        "number",
        "its class, a place in hps.CLASSES",
    ),
    (
        Kind::Events,
        "events",
        "bits",
        "what happened to it: bits in the order of hps.EVENTS",
    ),
    (
        Kind::MemoryAddress,
        "memory_address",
        "address",
        "address that a memory instruction reads or writes; of others it says nothing",
    ),
    (
        Kind::Target,
        "target",
        "address",
        "address of the instruction executed next by a control transfer",
    ),
    (
        Kind::Taken,
        "taken",
        "true or false",
        "a control transfer that was taken",
    ),
    (Kind::Thread, "thread", "number", "number of its thread"),
    (
        Kind::Processor,
        "processor",
        "number",
        "number of the hardware context",
    ),
    (
        Kind::IsProgram,
        "is_program",
        "true or false",
        "an instruction of the program, and of no handler",
    ),
];

/// Names of the classes of instructions, by number.
pub fn classes() -> Vec<String> {
    ALL_CLASSES
        .iter()
        .map(|class| format!("{class:?}"))
        .collect()
}

/// Names of the events of instructions, by the number of their bits.
pub fn events() -> Vec<&'static str> {
    EventSet::ALL.iter().map(|(_, name)| *name).collect()
}

/// Gathers commits and hands them over, batch by batch.
struct Batches {
    columns: Vec<Kind>,
    length: usize,
    commits: Vec<Commit>,
    told: Py<PyAny>,
    attention: Attention,
}

impl Batches {
    fn hand_over(&mut self) {
        let commits = std::mem::take(&mut self.commits);
        if commits.is_empty() || self.attention.has_ended() {
            return;
        }
        let frame = Frame::of(
            self.columns
                .iter()
                .map(|&kind| column(kind, &commits))
                .collect(),
        );
        let told = Python::attach(|py| self.told.call1(py, (frame?,)).map(drop));
        if let Err(error) = told {
            self.attention.end_with(error);
        }
        self.commits = commits;
        self.commits.clear();
    }
}

/// A column of these commits.
fn column(kind: Kind, commits: &[Commit]) -> Column {
    fn each<T>(commits: &[Commit], of: impl Fn(&Commit) -> T) -> Data
    where
        Data: From<Vec<T>>,
    {
        commits.iter().map(of).collect::<Vec<T>>().into()
    }
    let data = match kind {
        Kind::Cycle => each(commits, |c| c.cycle),
        Kind::Address => each(commits, |c| c.pc),
        Kind::DispatchCycle => each(commits, |c| c.dispatch_cycle),
        Kind::Class => each(commits, |c| c.class as u8),
        Kind::Events => each(commits, |c| c.events.bits()),
        Kind::MemoryAddress => each(commits, |c| c.addr),
        Kind::Target => each(commits, |c| c.target),
        Kind::Taken => each(commits, |c| c.taken),
        Kind::Thread => each(commits, |c| c.thread),
        Kind::Processor => each(commits, |c| c.context.processor),
        Kind::IsProgram => each(commits, |c| c.origin == Origin::Program),
    };
    let (_, name, unit, about) = KINDS[kind as usize];
    Column::new(name, unit, about, data)
}

impl Probe for Batches {}

impl PipelineProbe for Batches {
    const WANTS_CYCLES: bool = true;

    fn stand_in(&self) -> Option<Self> {
        // A stand-in is told nothing.
        let told = Python::attach(|py| self.told.clone_ref(py));
        Some(Batches {
            columns: Vec::new(),
            length: self.length,
            commits: Vec::new(),
            told,
            attention: self.attention.clone(),
        })
    }

    fn committed(&mut self, commit: &Commit) {
        self.commits.push(*commit);
        if self.commits.len() >= self.length {
            self.hand_over();
        }
    }
}

hps_lab::attach! { CyclesProbe: Batches }

/// Runs a program on a machine and hands its commits to a function, `batch` at a time, as a frame of columns. A function
/// that raises ends the run.
#[pyfunction]
#[pyo3(signature = (program, probe, machine=None, *, columns=None, batch=65536, core="cycle", limit=None))]
#[expect(
    clippy::too_many_arguments,
    reason = "keyword arguments, each with a default"
)]
pub fn watch<'py>(
    py: Python<'py>,
    program: AnyProgram<'py>,
    probe: Py<PyAny>,
    machine: Option<AnyMachine<'py>>,
    columns: Option<Vec<String>>,
    batch: usize,
    core: &str,
    limit: Option<u64>,
) -> PyResult<Bound<'py, PyAny>> {
    let columns = columns.unwrap_or_else(|| vec!["cycle".to_owned(), "address".to_owned()]);
    let kinds = columns.iter().map(|asked| {
        let found = KINDS.iter().find(|(_, name, ..)| name == asked);
        found.map(|(kind, ..)| *kind).ok_or_else(|| {
            let all = KINDS.map(|(_, name, ..)| name).join(", ");
            PyValueError::new_err(format!("{asked}: there is no such column; there are {all}"))
        })
    });
    let attention = Attention::default();
    let length = batch.clamp(1, 1 << 24);
    let batches = Batches {
        columns: kinds.collect::<PyResult<_>>()?,
        length,
        commits: Vec::with_capacity(length),
        told: probe,
        attention: attention.clone(),
    };
    let program = program.program()?;
    let machine = timed(AnyMachine::or_standard(machine)?, core)?;
    let asks = attention.clone();
    let lab = Lab::of(&program)
        .timed_by(&machine)
        .limit(limit.unwrap_or(u64::MAX))
        .in_parts(TIMED_PART, asks.watching())
        .watched_by(batches);
    let run = attention.run(py, || {
        let (ran, mut batches) = lab.run()?.without_probe();
        batches.hand_over();
        let timing = ran.timing.clone();
        Ok(Run::of(&ran, Some(timing)))
    })?;
    attention.result(py, run.map_err(|error: LabError| said(error))?)
}
