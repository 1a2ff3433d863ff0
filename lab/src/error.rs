//! Why a run cannot begin or go on, or does not count.

use std::path::PathBuf;

use hps_dise::DiseError;
use hps_isa::layout;
use hps_isa::memory::MemoryError;
use hps_pipeline::config::ConfigError;
use hps_pipeline::core::{NotDriven, NotSimulated, NotTogether};
use hps_pipeline::interrupts::InterruptError;
use hps_pipeline::pmu::PmuError;
use hps_pipeline::sampled::SamplingError;
use hps_productions::{CollectorError, SoftwareError};
use hps_system::image::{Isa, LoadError};

use crate::end::EndError;
use crate::observer::Placement;
#[cfg(not(target_family = "wasm"))]
use crate::root::RootError;

/// Why a run cannot be put together, cannot go on, or does not count.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// No file and no program of the project has this name.
    #[error("{name}: neither a file nor a program that comes with the project ({known})")]
    UnknownProgram {
        /// The name asked for.
        name: String,
        /// The names of the programs that come with the project, separated by commas.
        known: String,
    },
    /// A name that no program of a root, of the host or of the project has.
    #[error(
        "{name}: no folder of PATH under {} (--root) has such a program ({}), and none that comes with the project is called \
         so{}", root.display(), folders.replace(':', ", "), near.as_ref().map_or(String::new(), |near| format!("; did you mean {near}?"))
    )]
    NotOnPath {
        /// The name asked for.
        name: String,
        /// Root folder of the program.
        root: PathBuf,
        /// Folders that were searched, as `PATH` has them.
        folders: String,
        /// A similar name of a file in these folders.
        near: Option<String>,
    },
    /// A path that neither the root of a program nor the host has.
    #[error(
        "{name}: there is no such program under {} (--root), nor on this host; name it as the program will see it",
        root.display()
    )]
    NotUnderRoot {
        /// The path asked for.
        name: String,
        /// Root folder of the program.
        root: PathBuf,
    },
    /// Assembly text has a mistake.
    #[error("{file}:{line}:{column}: {message}")]
    NotAssembled {
        /// The file.
        file: String,
        /// Line of the mistake, from 1.
        line: usize,
        /// Column of the mistake, from 1.
        column: usize,
        /// The mistake.
        message: String,
    },
    /// An edit on the way cannot be made.
    #[error("behind instruction {position}: {why}")]
    NotEdited {
        /// Instructions of the program before the edit.
        position: u64,
        /// Why it cannot.
        why: crate::edit::NotEdited,
    },
    /// A program of the project has no image for an instruction set.
    #[error("{name}: there is no image of it for {isa}")]
    NoImage {
        /// The program.
        name: String,
        /// The instruction set asked for.
        isa: Isa,
    },
    /// A file is a program for another instruction set.
    #[error("{name}: a program for {found}, not for {wanted}")]
    WrongIsa {
        /// The file.
        name: String,
        /// The instruction set of the program.
        found: Isa,
        /// The instruction set asked for.
        wanted: Isa,
    },
    /// A file of a program cannot be read.
    #[error("{}: cannot be read", file.display())]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// The host's error.
        source: std::io::Error,
    },
    /// The root folder of a program cannot be read.
    #[cfg(not(target_family = "wasm"))]
    #[error(transparent)]
    Root(#[from] RootError),
    /// A checkpoint cannot be written or read.
    #[cfg(not(target_family = "wasm"))]
    #[error(transparent)]
    Checkpoint(#[from] crate::checkpoint::CheckpointsError),
    /// The program cannot be loaded, or does not fit into memory.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The host refuses memory for a copy of the program.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// The machine description is wrong, or names no machine.
    #[error(transparent)]
    Machine(#[from] ConfigError),
    /// The machine has no core of the kind asked for.
    #[error("machine {machine} has no instruction-driven core: {reason}")]
    NotDriven {
        /// The machine.
        machine: String,
        /// Feature of the machine that the instruction-driven core lacks.
        reason: NotDriven,
    },
    /// A region begins or ends at a function that the program does not have.
    #[error(
        "{name}: no function of the program, or of a library that it has loaded, has this name (of those that are not inlined, hps profile lists the busiest)"
    )]
    UnknownFunction {
        /// The name asked for.
        name: String,
    },
    /// The program ended before a region began, or before its end.
    #[error(
        "the program ended after {instructions} instructions, before it came to where the region begins or ends (--skip, \
         --from, --until, --between-markers)"
    )]
    NotReached {
        /// Instructions of the program.
        instructions: u64,
    },
    /// A region is to be warmed for a run that takes over no warmth.
    #[error(
        "a region is warmed on machines of one core with one context, timed as a whole (no --sample)"
    )]
    NotWarmed,
    /// A slice would be all run-in.
    #[error(
        "a slice of {length} instructions is no longer than its run-in of {run_in}: fewer slices, or a shorter run-in (--slice-run-in)"
    )]
    RunIn {
        /// Instructions of a slice.
        length: u64,
        /// Instructions of its run-in.
        run_in: u64,
    },
    /// A run on a machine with several contexts is to be cut into slices.
    #[error("machine {machine} has several contexts: slices go with one core of one context")]
    NotSliced {
        /// The machine.
        machine: String,
    },
    /// The machine has several contexts, and something does not go with them.
    #[error("machine {machine}: {reason}")]
    NotTogether {
        /// The machine.
        machine: String,
        /// Part of the run that works with one context only.
        reason: NotTogether,
    },
    /// Sampled timing on a core that cannot do it.
    #[error("sampled timing goes with the cycle-driven core only")]
    SampledCore,
    /// The machine has no context for an observer.
    #[error("machine {machine} has no context for an observer {}", placement.lacking())]
    NoPlace {
        /// The machine.
        machine: String,
        /// Place where the observer is to run.
        placement: Placement,
    },
    /// The machine has no context for shadows.
    #[error(
        "machine {machine} has no context for shadows beside that of the program: take one of several cores or contexts \
         (cmp-4, smt-2), or put shadows on the host"
    )]
    NoShadowContext {
        /// The machine.
        machine: String,
    },
    /// An observer cannot be put beside the program, or its samples not be read.
    #[error("the observer: {0}")]
    Observer(String),
    /// Sampled timing on a machine with several cores.
    #[error(
        "machine {machine} has several cores or contexts (chip.cores, chip.contexts), which sampled timing does not have"
    )]
    SampledCores {
        /// The machine.
        machine: String,
    },
    /// A sampling plan that cannot be followed, or no memory for timing units.
    #[error(transparent)]
    Sampling(#[from] SamplingError),
    /// A production file cannot be used.
    #[error(transparent)]
    Productions(#[from] ProductionsError),
    /// A collector cannot be installed.
    #[error(transparent)]
    Collector(#[from] CollectorError),
    /// A program's code cannot be laid out anew.
    #[error(transparent)]
    Software(#[from] SoftwareError),
    /// Counters that raise no interrupts.
    #[error(transparent)]
    Pmu(#[from] PmuError),
    /// Interrupts that the core cannot take.
    #[error(transparent)]
    Interrupts(#[from] InterruptError),
    /// A period of events, for samples that are collected at their cost.
    #[error("samples that are collected at their cost have periods of cycles or of instructions")]
    CollectedEvents,
    /// The program did not end as it must.
    #[error(transparent)]
    End(#[from] EndError),
    /// An editor that a caller installs itself refused the program.
    #[error("{0}")]
    Editor(String),
}

/// Why production files cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ProductionsError {
    /// No file and no productions of the project have this name.
    #[error(
        "{name}: neither a file nor productions that come with the project; there are: {known}"
    )]
    Unknown {
        /// The name asked for.
        name: String,
        /// The names of the productions that come with the project, separated by commas.
        known: String,
    },
    /// A file cannot be read.
    #[error("{name}: cannot be read; name a production file or a built-in one (hps dise list)")]
    Unreadable {
        /// The file.
        name: String,
        /// The host's error.
        source: std::io::Error,
    },
    /// The production files are wrong.
    #[error(transparent)]
    Dise(#[from] DiseError),
    /// The tables of a machine's DISE engine cannot hold them, not even one at a time.
    #[error("the productions do not fit machine `{machine}`")]
    Fit {
        /// The machine.
        machine: String,
        /// The engine's reason.
        source: DiseError,
    },
    /// The handlers' memory cannot be mapped.
    #[error("the handlers' memory cannot be mapped")]
    Map(#[from] MapError),
}

/// Why the memory of handlers cannot be mapped into a program.
#[derive(Debug, thiserror::Error)]
pub enum MapError {
    /// The error of the guest's memory.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// A page is not there.
    #[error("guest address {addr:#x} cannot be written")]
    Unwritable {
        /// The address.
        addr: u64,
    },
    /// Handlers at the end of the address space.
    #[error("the handlers end beyond all addresses")]
    HandlersEnd,
    /// Data at the end of the address space.
    #[error("the handlers' data ends beyond all addresses")]
    DataEnd,
    /// Data outside of the region for handlers.
    #[error(
        "their data ends at {end:#x}, beyond the region for handlers ({:#x}); use smaller areas",
        layout::HANDLER_END
    )]
    Region {
        /// The address behind the data.
        end: u64,
    },
}

impl LabError {
    /// Why a machine cannot be simulated as it was asked for.
    pub(crate) fn not_simulated(machine: &str, reason: NotSimulated) -> LabError {
        let machine = machine.to_owned();
        match reason {
            NotSimulated::NotDriven(reason) => LabError::NotDriven { machine, reason },
            NotSimulated::NotTogether(reason) => LabError::NotTogether { machine, reason },
        }
    }
}

/// An error with its causes as one message; those that it has already named are not said twice.
#[must_use]
pub fn message(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        let said = inner.to_string();
        if !text.contains(&said) {
            text.push_str(": ");
            text.push_str(&said);
        }
        cause = inner.source();
    }
    text
}
