//! Linux as a guest sees it: system calls of one process and its threads. Programs of OSF/1 get that
//! system's calls from the same parts.
//!
//! The numbers, structures and conventions of an instruction set lie behind [`abi::Abi`]; the rest
//! is the same for all of them. The guest reaches the host only here: files under one root folder
//! (which is read-only unless asked), the standard streams, nothing else. Time comes from the
//! simulation, randomness from a seed, and what depends on the host's files beyond their content
//! (inode numbers, owners, times, the order of directories) is made up, so that the same inputs
//! give the same run everywhere.

pub mod abi;
pub mod abi_alpha;
pub mod abi_osf;
pub mod abi_riscv64;
mod account;
mod affinity;
mod attributes;
mod call_names;
pub mod calls;
mod control;
mod descriptor_calls;
mod descriptors;
mod dispatch;
mod duplicate;
mod epoll;
pub mod errno;
mod eventfd;
mod extended_attributes;
mod fifos;
mod file_hints;
mod file_mappings;
mod files;
pub mod flags;
pub mod gate;
mod hwprobe;
mod identity;
mod inotify;
mod ipc;
mod kinds;
mod limits;
mod links;
mod listing;
mod locks;
mod memory;
mod memory_advice;
mod memory_files;
mod memory_locks;
mod misc;
mod outcome;
mod paths;
mod pending;
mod perf;
mod pipes;
mod places;
mod processes;
mod procfs;
mod program;
mod ranges;
mod readiness;
mod record;
pub mod refusals;
mod regular;
mod roots;
mod run;
mod saved;
mod schedule;
#[cfg(not(target_family = "wasm"))]
mod scratch;
#[cfg(target_family = "wasm")]
#[path = "scratch_absent.rs"]
mod scratch;
#[cfg(not(target_family = "wasm"))]
mod scratch_saved;
mod shared_mappings;
mod shared_names;
mod signal_calls;
mod signalfd;
mod signals;
pub mod sockets;
mod splice;
mod stat;
mod streams;
mod sysinfo;
mod threads;
mod time;
mod timerfd;
mod timers;
mod transfers;
mod tree;
mod warnings;

use serde::{Deserialize, Serialize};
use std::time::Duration;

use self::abi::Abi;
use self::control::Attributes;
use self::descriptors::Descriptors;
use self::dispatch::CurrentCall;
use self::gate::Gate;
use self::identity::Credentials;
pub(crate) use self::limits::LOOK_WORK;
use self::memory::AddressSpace;
use self::misc::Limits;
pub(crate) use self::paths::Root as FileRoot;
use self::paths::{Root, joined};
use self::perf::Samplers;
use self::processes::{Family, ProcessState};
use self::program::Program;
use self::roots::Tree;
use self::run::{Run, Time};
#[cfg(not(target_family = "wasm"))]
pub(crate) use self::scratch_saved::SavedCopy;
use self::signals::Signals;
use self::streams::Which;
use self::threads::Threads;
use self::timers::Timers;
use crate::image::{FileReader, Isa, LoadError};
use crate::process::{Placement, ProcessConfig, Thread};
use crate::symbols::Recorder;

pub(crate) use self::control::ThreadAttributes;
pub use self::duplicate::DuplicateError;
pub use self::identity::Owner;
pub use self::processes::ProcessRule;
pub(crate) use self::processes::{Changes, Execution};
pub(crate) use self::procfs::Started;
pub(crate) use self::saved::linux as saved_linux;
pub(crate) use self::schedule::Scheduling;
pub(crate) use self::signals::ThreadSignals;
pub use self::signals::{
    Action, AltStack, Fault, SigInfo, Signal, SignalRules, exit_code_of_fault,
};
pub use self::streams::{Output, Stdin};
pub(crate) use self::threads::Blocked;
pub use self::threads::{ThreadRules, ThreadTables};
pub use self::time::{CLOCK_TICKS_PER_SECOND, EPOCH_SECONDS};
pub use self::warnings::WarningSink;

/// Reads files below a folder of the host, as programs see them whose root it is.
///
/// # Errors
/// The folder cannot be opened.
pub(crate) fn reader_under(folder: &std::path::Path) -> std::io::Result<FileReader> {
    Ok(Root::new(folder)?.reader())
}

/// Number of a guest's first process and of the first thread there.
pub const PID: u32 = 1000;
/// Number of the device that holds the files.
const DEVICE: u64 = 1;

/// The operating system whose calls a program makes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum OsInterface {
    /// Linux's, on the program's instruction set.
    #[default]
    Linux,
    /// OSF/1 (Digital Unix), on Alpha.
    Osf1,
}

impl OsInterface {
    /// The unit of memory protection that programs see on an instruction set, in bytes.
    #[must_use]
    pub fn page_bytes(self, isa: Isa) -> u64 {
        self.abi(isa).page_bytes()
    }

    /// The interface on an instruction set. OSF/1 exists on Alpha alone.
    fn abi(self, isa: Isa) -> &'static dyn Abi {
        match (self, isa) {
            (_, Isa::Riscv64) => &abi_riscv64::Riscv64,
            (OsInterface::Linux, Isa::Alpha) => &abi_alpha::LINUX,
            (OsInterface::Osf1, Isa::Alpha) => &abi_osf::OSF1,
        }
    }
}

/// Effect of a system call on the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyscallResult {
    /// The process goes on at `hart.pc`.
    Continue,
    /// The process ended, with this exit code (128 and the number, if a signal ended it).
    Exit(i32),
    /// The process can never go on; [`Linux::stop_reason`] says why.
    Trap,
}

/// How a thread goes on behind its system call.
#[derive(Debug)]
pub(crate) enum Served {
    /// The thread goes on as the result says, or the process ends.
    Goes(SyscallResult),
    /// The thread returns from a signal handler to `hart.pc`. All registers were loaded, the stack pointer with this value.
    Returns { stack_pointer: u64 },
    /// The process runs another program.
    Executes(Box<Execution>),
    /// The thread gives up its turn: it waits, or another thread is to go on.
    GivesUp,
    /// The thread has ended, and others of the process have not.
    Ends,
}

impl From<SyscallResult> for Served {
    fn from(result: SyscallResult) -> Served {
        Served::Goes(result)
    }
}

/// Why a process can never go on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StopReason {
    /// The program waits for something that cannot happen.
    #[error("deadlock: the program waits for {waits_for}")]
    Deadlock {
        /// Description of what the program waits for.
        waits_for: String,
    },
    /// The program wrote too much.
    #[error(
        "the program wrote more than its limit of {bytes} bytes; raise the output limit (--output-limit; in a sweep output_mib of limits) if it really needs more"
    )]
    OutputLimit {
        /// The limit, in bytes.
        bytes: u64,
    },
    /// The program makes processes without end.
    #[error(
        "the program makes processes without end: it may have {limit} at a time, and {refused} more were refused"
    )]
    Processes {
        /// The most processes at a time.
        limit: u32,
        /// How many were refused.
        refused: u32,
    },
    /// The gate did not let a system call through.
    #[error("the run ends in front of the system call {call}")]
    Gate {
        /// The call.
        call: &'static str,
    },
    /// The program ran for too long.
    #[error(
        "the program ran for more than its limit of {} seconds; raise the time limit (--time-limit; in a sweep time_s of limits) if it really needs more",
        limit.as_secs_f64()
    )]
    TimeLimit {
        /// The limit, in time of the host.
        limit: Duration,
    },
}

/// The operating system of one guest: what its threads share of it. What each thread has of its own is in
/// [`Thread`](crate::process::Thread).
#[derive(Serialize, Deserialize)]
pub struct Linux {
    #[serde(with = "saved::abi")]
    abi: &'static dyn Abi,
    /// The number of the process.
    pid: u32,
    state: ProcessState,
    program: Program,
    /// All processes of the run. It is with the one whose turn it is.
    pub(crate) family: Family,
    run: Run,
    time: Time,
    call: CurrentCall,
    files: Descriptors,
    tree: Tree,
    credentials: Credentials,
    attributes: Attributes,
    limits: Limits,
    space: AddressSpace,
    signals: Signals,
    pub(crate) threads: Threads,
    timers: Timers,
    samplers: Samplers,
    /// Decides on system calls before they are served.
    #[serde(skip)]
    gate: Option<Box<dyn Gate>>,
}

impl std::fmt::Debug for Linux {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Linux")
            .field("abi", &self.abi)
            .field("files", &self.files)
            .field("tree", &self.tree)
            .field("space", &self.space)
            .field("run", &self.run)
            .finish_non_exhaustive()
    }
}

impl Linux {
    /// The operating system of a process whose name is `name`, with the calls of `interface` on `isa`. Its address space is
    /// empty.
    ///
    /// # Errors
    /// [`LoadError::Config`] if the root is not a folder that can be read.
    pub fn new(
        isa: Isa,
        interface: OsInterface,
        config: &ProcessConfig,
        name: &str,
    ) -> Result<Linux, LoadError> {
        let abi = interface.abi(isa);
        let tree = Tree::new(config)?;
        let exe = joined(&tree.start(), name.as_bytes());
        let log = config.code.clone().unwrap_or_default();
        if let Some(root) = &tree.root {
            log.set_root(root.reader());
        }
        let recorder = Recorder::of(log, 1);
        let mut os = Linux {
            abi,
            pid: PID,
            state: ProcessState::default(),
            program: Program {
                isa,
                number: 1,
                started: None,
                exe,
                file_name: name.as_bytes().to_vec(),
            },
            family: Family::new(PID, config.owner.uid),
            run: Run::new(config),
            time: Time::new(config),
            call: CurrentCall {
                caller: PID,
                resumed: None,
            },
            files: Descriptors::of_process(PID),
            tree,
            credentials: Credentials::of(config.owner),
            attributes: Attributes::default(),
            limits: Limits::new(abi, config.open_files_limit),
            space: AddressSpace::new(0, Placement::default(), recorder),
            signals: Signals::default(),
            threads: Threads::new(config.threads),
            timers: Timers::of_process(PID),
            samplers: Samplers::default(),
            gate: None,
        };
        os.open_streams();
        Ok(os)
    }

    /// The system call interface.
    #[must_use]
    pub fn abi(&self) -> &'static dyn Abi {
        self.abi
    }

    /// The code of the page at [`layout::TRAMPOLINE`](hps_isa::layout::TRAMPOLINE).
    #[must_use]
    pub fn trampoline(&self) -> &'static [u8] {
        self.abi.trampoline()
    }

    /// Puts the copy of the root folder that the program has worked on to a place of the host, where nothing or an empty
    /// folder is; all that the program has not looked at comes into it ([`ProcessConfig::scratch`]).
    ///
    /// # Errors
    /// I/O errors of the host.
    pub fn keep_scratch(&self, place: &std::path::Path) -> std::io::Result<()> {
        match self.tree.root.as_ref().and_then(Root::scratch) {
            Some(scratch) => scratch.keep(place),
            None => Ok(()),
        }
    }

    /// Says where the first program's file lies under the root, behind links, if it does.
    pub(crate) fn locate_first_program(&mut self, file_name: &str) {
        let place = self.resolve(tree::AT_FDCWD as u64, file_name.as_bytes(), true);
        if let (Ok(place), Some(root)) = (place, &self.tree.root)
            && place.node.is_some()
            && let Ok(path) = root.path_at(&place.entrance)
        {
            self.program.exe = path.text();
        }
    }

    /// Says what was started, which the files in `/proc` tell of.
    pub(crate) fn set_started(&mut self, started: Started) {
        self.program.started = Some(started);
    }

    /// The file name of the program, as the first thread's name.
    pub(crate) fn first_name(&self) -> [u8; Thread::NAME_BYTES] {
        self.program.first_name()
    }

    /// Draws from the guest's randomness.
    pub fn fill_random(&mut self, bytes: &mut [u8]) {
        self.run.random.fill(bytes);
    }

    /// Simulated time that the program has spent waiting, in nanoseconds. Machines add it to the time
    /// that their instructions or cycles take.
    #[must_use]
    pub fn idle_ns(&self) -> u64 {
        self.time.idle_ns
    }

    /// Threads of the process.
    #[must_use]
    pub fn thread_count(&self) -> usize {
        self.threads.count()
    }

    /// Lets what the guest writes to its output from now on go nowhere.
    pub fn silence(&mut self) {
        self.run.streams = self.run.streams.shadow();
    }

    /// Bytes that the guest wrote to standard output, if it is captured.
    #[must_use]
    pub fn captured_stdout(&self) -> &[u8] {
        self.run.streams.captured(Which::Stdout)
    }

    /// Bytes that the guest wrote to standard error, if it is captured.
    #[must_use]
    pub fn captured_stderr(&self) -> &[u8] {
        self.run.streams.captured(Which::Stderr)
    }

    /// Takes what the guest wrote to standard output and to standard error since it was taken last, if it is captured.
    pub fn take_captured(&mut self) -> [Vec<u8>; 2] {
        self.run.streams.take_captured()
    }

    /// The number of the signal that has ended the process, or is about to.
    #[must_use]
    pub fn killed_by(&self) -> Option<u8> {
        self.state.killed_by
    }

    /// The path of the program that the process runs, as the guest sees it.
    #[must_use]
    pub fn executable(&self) -> &[u8] {
        &self.program.exe
    }

    /// Reads files of the root folder as the guest sees them; `None` if it sees no files.
    #[must_use]
    pub fn file_reader(&self) -> Option<FileReader> {
        Some(self.tree.root.as_ref()?.reader())
    }

    /// The addresses of the auxiliary vector with which the program began.
    #[must_use]
    pub fn auxiliary(&self) -> Option<std::ops::Range<u64>> {
        Some(self.program.started.as_ref()?.auxiliary.clone())
    }

    /// Why the process can never go on, after [`SyscallResult::Trap`].
    #[must_use]
    pub fn stop_reason(&self) -> Option<&StopReason> {
        self.run.stop.as_ref()
    }

    /// Every warning so far, in order.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        self.run.warnings.all()
    }

    /// Passes warnings on as they come. Without a sink they are only collected.
    pub fn set_warning_sink(&mut self, sink: WarningSink) {
        self.run.warnings.pass_on(sink);
    }
}
