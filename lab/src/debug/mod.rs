//! A debugger server that goes backwards: gdb's remote protocol over a run that is replayed from checkpoints.
//!
//! | file | holds |
//! | --- | --- |
//! | `machine.rs` | machines as a debugger sees them: stopped between two instructions of the program |
//! | `history.rs`, `pages.rs` | the run, its checkpoints in memory, and the way to any position |
//! | `stops.rs` | breakpoints, watchpoints and steps, forward and back |
//! | `registers.rs` | registers as gdb numbers them |
//! | `target.rs` | the protocol, by the crate `gdbstub` |
//! | `files.rs` | files of the guest's root, for gdb |
//! | `monitor.rs` | the commands behind `monitor` |
//! | `server.rs` | the connection |

mod files;
mod history;
mod machine;
mod monitor;
mod pages;
mod registers;
mod server;
mod stops;
mod target;

use hps_isa::hart::Hart;
use hps_isa::probe::NoProbe;
use hps_system::checkpoint::CheckpointError;
use hps_system::os::Output;
use hps_system::process::Process;

use self::history::History;
use crate::checkpoint::run::Watched;
use crate::error::LabError;
use crate::install::Install;
use crate::lab::Lab;
use crate::loops::{FunctionalLoop, TimedLoop};
use crate::mode::{Functional, Timed};
use crate::processes::{functional, timed};

pub use self::history::{End, Told};
pub use self::machine::ShownEditor;
pub use self::server::Ended;
pub use self::stops::{Halt, Stops, Watch, WatchKind};
pub use crate::edit::Edit;

/// Why a program cannot be debugged, or not any more.
#[derive(Debug, thiserror::Error)]
pub enum DebugError {
    /// The run cannot begin.
    #[error(transparent)]
    Lab(#[from] Box<LabError>),
    /// The machine has several contexts.
    #[error(
        "machine {machine} has several cores or contexts (chip.cores, chip.contexts); a debugger steps machines of one: the \
         threads of a program take turns there"
    )]
    Contexts {
        /// The machine.
        machine: String,
    },
    /// The run has what no checkpoint keeps, so that there is no way back.
    #[error("there is no way back in this run: {0}")]
    Checkpoint(#[from] CheckpointError),
    /// A checkpoint cannot be restored.
    #[error("a checkpoint cannot be restored: {0}")]
    State(String),
    /// A position behind the end of the run.
    #[error("the run ends behind {position} instructions")]
    Ended {
        /// The last position.
        position: u64,
    },
    /// The connection to gdb.
    #[error("the connection to gdb: {0}")]
    Connection(String),
}

impl From<LabError> for DebugError {
    fn from(cause: LabError) -> Self {
        DebugError::Lab(Box::new(cause))
    }
}

/// A run that goes forward and back between two instructions of the program.
pub struct Debugger<'a> {
    history: History<'a>,
}

impl<'a, M, I, P> Lab<'a, M, I, P> {
    /// Captures what the program writes to the lab's own streams: it reaches them once, however often it is written.
    fn captured(mut self) -> Self {
        let process = &mut self.program.to_mut().process;
        for stream in [&mut process.stdout, &mut process.stderr] {
            if *stream == Output::Inherit {
                *stream = Output::Capture;
            }
        }
        // Warnings come once, too.
        self.warn = None;
        self
    }
}

impl<'a, I: Install> Lab<'a, Functional, I, NoProbe>
where
    I::Editor: FunctionalLoop<NoProbe> + ShownEditor + 'a,
{
    /// The run in a debugger, at the beginning of the program. `sink` takes what the program writes.
    ///
    /// # Errors
    /// The run cannot begin, or has what no checkpoint keeps.
    pub fn debugged(self, sink: impl FnMut(Told<'_>) + 'a) -> Result<Debugger<'a>, DebugError> {
        let lab = self.captured();
        let config = lab.program.process.clone();
        let machine = Watched {
            machine: lab.open()?,
            probe: NoProbe,
        };
        let rule = functional::<I::Editor, NoProbe>();
        let history = History::new(Box::new(machine), (config, rule), Box::new(sink))?;
        Ok(Debugger { history })
    }
}

impl<'a, I: Install> Lab<'a, Timed<'a>, I, NoProbe>
where
    I::Editor: TimedLoop<NoProbe> + ShownEditor + 'a,
{
    /// The timed run in a debugger, at the beginning of the program. `sink` takes what the program writes.
    ///
    /// # Errors
    /// The run cannot begin, has what no checkpoint keeps, or is on a machine with several contexts.
    pub fn debugged(self, sink: impl FnMut(Told<'_>) + 'a) -> Result<Debugger<'a>, DebugError> {
        if self.machine().chip.has_peers() {
            let machine = self.machine().name.clone();
            return Err(DebugError::Contexts { machine });
        }
        let lab = self.captured();
        let config = lab.program.process.clone();
        let rule = timed::<I::Editor, NoProbe>(lab.core_kind());
        let core = lab.open()?.into_inner();
        let history = History::new(Box::new(core), (config, rule), Box::new(sink))?;
        Ok(Debugger { history })
    }
}

impl Debugger<'_> {
    /// Instructions of the program so far.
    #[must_use]
    pub fn position(&self) -> u64 {
        self.history.position()
    }

    /// Goes to a position, back or on.
    ///
    /// # Errors
    /// [`DebugError::Ended`] if the run ends before.
    pub fn go_to(&mut self, position: u64) -> Result<(), DebugError> {
        self.history.go_to(position)
    }

    /// Registers of the thread on the context behind the last instruction that was executed, or has committed, with the
    /// address of the next one.
    #[must_use]
    pub fn hart(&self) -> Hart {
        self.history.machine().hart()
    }

    /// The process on the context. Registers of the thread there are those of [`hart`](Self::hart).
    #[must_use]
    pub fn process(&self) -> &Process {
        self.history.machine().process()
    }

    /// Cycles so far, of a timed run.
    #[must_use]
    pub fn cycles(&self) -> Option<u64> {
        let (stats, ..) = self.history.machine().timing()?;
        Some(stats.cycles)
    }

    /// Makes a change at this position. What the run has done behind it is forgotten. `false` if it cannot be made.
    pub fn edit(&mut self, edit: Edit) -> bool {
        self.history.edit(edit)
    }
}
