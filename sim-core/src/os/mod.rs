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
mod limits;
mod links;
mod listing;
mod locks;
mod memory;
mod memory_advice;
mod memory_files;
mod memory_locks;
mod misc;
mod paths;
mod pending;
mod perf;
mod pipes;
mod processes;
mod procfs;
mod ranges;
mod readiness;
mod record;
pub mod refusals;
mod schedule;
#[cfg(not(target_family = "wasm"))]
mod scratch;
#[cfg(target_family = "wasm")]
#[path = "scratch_absent.rs"]
mod scratch;
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
mod timers;
mod transfers;
mod tree;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustc_hash::FxHashSet;

use self::abi::Abi;
use self::control::Attributes;
use self::descriptors::Descriptors;
use self::file_mappings::FileMappings;
use self::gate::Gate;
use self::identity::Credentials;
pub(crate) use self::limits::LOOK_WORK;
use self::limits::{FileLimit, TimeLimit};
use self::listing::Listings;
use self::memory::Heap;
use self::memory_locks::Locks;
use self::misc::Limits;
use self::paths::{Folder, Root, joined};
use self::perf::Samplers;
use self::processes::Family;
use self::refusals::Refusals;
use self::signals::Signals;
use self::sockets::Network;
use self::streams::{Streams, Which};
use self::threads::{Resumed, Threads};
use self::time::NANOS_PER_SECOND;
use self::timers::Timers;
use crate::image::{Isa, LoadError};
use crate::process::{OfferedEvents, ProcessConfig, Thread};
use crate::random::Random;

pub(crate) use self::control::ThreadAttributes;
pub use self::duplicate::DuplicateError;
pub use self::identity::Owner;
pub use self::processes::ProcessRule;
pub(crate) use self::processes::{Changes, Execution};
pub(crate) use self::procfs::Started;
pub(crate) use self::schedule::Scheduling;
pub(crate) use self::signals::ThreadSignals;
pub use self::signals::{
    Action, AltStack, Fault, SigInfo, Signal, SignalRules, exit_code_of_fault,
};
pub use self::streams::{Output, Stdin};
pub(crate) use self::threads::Blocked;
pub use self::threads::{ThreadRules, ThreadTables};
pub use self::time::{CLOCK_TICKS_PER_SECOND, EPOCH_SECONDS};

/// Number of a guest's first process and of the first thread there.
pub const PID: u32 = 1000;
/// Number of the device that holds the files.
const DEVICE: u64 = 1;

/// The operating system whose calls a program makes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum OsInterface {
    /// Linux's, on the program's instruction set.
    #[default]
    Linux,
    /// Those of OSF/1 (Digital Unix), on Alpha.
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

/// What a system call did to the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyscallResult {
    /// It goes on at `hart.pc`.
    Continue,
    /// It ended, with this exit code (128 and the number, if a signal ended it).
    Exit(i32),
    /// It can never go on; [`Linux::stop_reason`] says why.
    Trap,
}

/// Why a thread does not go on behind its system call, but another one may.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GivesUp {
    /// It waits.
    Waits,
    /// It has given up its turn.
    Yields,
    /// It has ended.
    Ended,
}

/// What a system call did to the process, or why another thread has to go on.
pub(crate) type Served = Result<SyscallResult, GivesUp>;

/// Why a process can never go on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StopReason {
    /// It waits for something that cannot happen.
    #[error("deadlock: the program waits for {waits_for}")]
    Deadlock {
        /// What it waits for.
        waits_for: String,
    },
    /// It wrote too much.
    #[error(
        "the program wrote more than its limit of {bytes} bytes; raise the output limit (--output-limit; in a sweep output_mib of limits) if it really needs more"
    )]
    OutputLimit {
        /// The limit, in bytes.
        bytes: u64,
    },
    /// It makes processes without end.
    #[error(
        "the program makes processes without end: it may have {limit} at a time, and {refused} more were refused"
    )]
    Processes {
        /// The most processes at a time.
        limit: u32,
        /// How many were refused.
        refused: u32,
    },
    /// Its gate let a system call not through.
    #[error("the run ends in front of the system call {call}")]
    Gate {
        /// The call.
        call: &'static str,
    },
    /// It ran for too long.
    #[error(
        "the program ran for more than its limit of {} seconds; raise the time limit (--time-limit; in a sweep time_s of limits) if it really needs more",
        limit.as_secs_f64()
    )]
    TimeLimit {
        /// The limit, in time of the host.
        limit: Duration,
    },
}

/// Receives warnings, each once.
pub type WarningSink = Box<dyn FnMut(&str) + Send>;

/// The operating system of one guest: what its threads share of it. What each thread has of its own is in
/// [`Thread`](crate::process::Thread).
pub struct Linux {
    abi: &'static dyn Abi,
    /// The number of the process.
    pid: u32,
    /// The number of the program that it runs, among all that processes of the run have begun, from 1.
    program_number: u32,
    /// All processes of the run. It is with the one whose turn it is.
    pub(crate) family: Family,
    /// The process has lent its memory to a child, and waits until it is back.
    is_lent: bool,
    /// The process is stopped until a signal lets it go on.
    is_stopped: bool,
    /// A thread on this context waits for all others of the process to leave theirs.
    gathers: Option<usize>,
    /// Up to which change of shared memory, and which of them by stores, as the family counts them, this process has seen
    /// what others have written.
    seen_changes: (u64, u64),
    /// The program that the current call wants to run instead of this one.
    execution: Option<Box<Execution>>,
    /// The signal that has ended the process.
    killed_by: Option<u8>,
    /// The stack pointer that the last call has loaded with all other registers (`sigreturn`); 0 if it has not.
    pub(crate) loaded_stack_pointer: u64,
    files: Descriptors,
    network: Arc<Mutex<Network>>,
    streams: Streams,
    root: Option<Root>,
    writable: bool,
    /// The working folder, where there are files.
    cwd: Option<Folder>,
    /// The working folder, if it is a made-up one.
    made_cwd: Option<String>,
    isa: Isa,
    started: Option<Started>,
    listings: Listings,
    refusals: Refusals,
    /// Where the program's file lies, as the guest sees it.
    exe: Vec<u8>,
    /// The path under which the program was started.
    file_name: Vec<u8>,
    umask: u32,
    /// Whose all files are.
    owner: Owner,
    credentials: Credentials,
    heap: Heap,
    mappings: FileMappings,
    locks: Locks,
    signals: Signals,
    pub(crate) threads: Threads,
    timers: Timers,
    random: Random,
    limits: Limits,
    output_limit: Option<u64>,
    output_left: Option<u64>,
    file_limit: Option<FileLimit>,
    time_limit: Option<TimeLimit>,
    attributes: Attributes,
    /// The thread that makes the current call.
    caller: u32,
    /// The current call gives up the thread's turn.
    yields: bool,
    /// The current call waits.
    wait: Option<Blocked>,
    /// The current call has waited before.
    resumed: Option<Resumed>,
    /// Events that the machine counts for threads.
    offered_events: OfferedEvents,
    /// Events that take samples of threads.
    samplers: Samplers,
    /// The second result of the current call.
    second_result: Option<u64>,
    /// The signal that the current call raises for its thread.
    raised: Option<Signal>,
    /// Simulated time at the current call.
    now_ns: u64,
    /// The date at the beginning of simulated time, in nanoseconds since 1970.
    start_ns: u64,
    /// Simulated time that the program has spent waiting, in nanoseconds.
    idle_ns: u64,
    /// Processor time of the children that the process waited for, in nanoseconds.
    children_ns: u64,
    stop: Option<StopReason>,
    warnings: Vec<String>,
    warned: FxHashSet<u64>,
    sink: Option<WarningSink>,
    /// Decides on system calls before they are served.
    gate: Option<Box<dyn Gate>>,
}

impl std::fmt::Debug for Linux {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Linux")
            .field("abi", &self.abi)
            .field("files", &self.files)
            .field("root", &self.root)
            .field("heap", &self.heap)
            .field("stop", &self.stop)
            .field("warnings", &self.warnings)
            .finish_non_exhaustive()
    }
}

impl Linux {
    /// The operating system of a process whose name is `name` and whose heap begins at
    /// `heap_start`, with the calls of `interface` on `isa`.
    ///
    /// # Errors
    /// [`LoadError::Config`] if the root is not a folder that can be read.
    pub fn new(
        isa: Isa,
        interface: OsInterface,
        config: &ProcessConfig,
        name: &str,
        heap_start: u64,
    ) -> Result<Linux, LoadError> {
        let abi = interface.abi(isa);
        let root = match &config.root {
            None => None,
            Some(path) => Some(Root::new(path).map_err(|cause| LoadError::Config {
                place: "root",
                problem: format!("{}: {cause}", path.display()),
                remedy: "name a folder that exists and can be read",
            })?),
        };
        let root = match (root, &config.scratch) {
            (Some(root), Some(parent)) => {
                Some(root.copied(parent).map_err(|cause| LoadError::Config {
                    place: "scratch",
                    problem: format!("{}: {cause}", parent.display()),
                    remedy: "name a folder in which files can be made",
                })?)
            }
            (root, _) => root,
        };
        let cwd = match &root {
            None => None,
            Some(root) => Some(starting_folder(root, &config.cwd)?),
        };
        let start = match (&root, &cwd) {
            (Some(root), Some(folder)) => root.current_path(folder).map(|path| path.text()),
            _ => Ok(Vec::new()),
        };
        let exe = joined(&start.unwrap_or_default(), name.as_bytes());
        let mut os = Linux {
            abi,
            pid: PID,
            program_number: 1,
            family: Family::new(PID, config.owner.uid),
            is_lent: false,
            is_stopped: false,
            gathers: None,
            seen_changes: (0, 0),
            execution: None,
            killed_by: None,
            loaded_stack_pointer: 0,
            files: Descriptors::of_process(PID),
            network: Arc::default(),
            cwd,
            made_cwd: None,
            isa,
            started: None,
            streams: Streams::new(config.stdin.clone(), config.stdout, config.stderr),
            root,
            writable: config.writable,
            listings: Listings::default(),
            refusals: Refusals::default(),
            exe,
            file_name: name.as_bytes().to_vec(),
            umask: 0o022,
            owner: config.owner,
            credentials: Credentials::of(config.owner),
            heap: Heap::new(heap_start),
            mappings: FileMappings::default(),
            locks: Locks::default(),
            signals: Signals::default(),
            threads: Threads::new(config.threads),
            timers: Timers::of_process(PID),
            caller: PID,
            yields: false,
            wait: None,
            offered_events: OfferedEvents::default(),
            samplers: Samplers::default(),
            resumed: None,
            random: Random::new(config.seed),
            limits: Limits::new(abi, config.open_files_limit),
            second_result: None,
            raised: None,
            output_limit: config.output_limit_bytes,
            output_left: config.output_limit_bytes,
            file_limit: config.file_limit_bytes.map(FileLimit::new),
            time_limit: config.time_limit.map(TimeLimit::new),
            attributes: Attributes::default(),
            now_ns: 0,
            start_ns: config.start_seconds.saturating_mul(NANOS_PER_SECOND),
            idle_ns: 0,
            children_ns: 0,
            stop: None,
            warnings: Vec::new(),
            warned: FxHashSet::default(),
            sink: None,
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

    /// The code of the page at [`layout::TRAMPOLINE`](crate::process::layout::TRAMPOLINE).
    #[must_use]
    pub fn trampoline(&self) -> &'static [u8] {
        self.abi.trampoline()
    }

    /// Puts the copy of the root folder that the program has worked on to a place of the host, where nothing or an empty
    /// folder is; all that the program has not looked at comes into it ([`ProcessConfig::scratch`]).
    ///
    /// # Errors
    /// Those of the host.
    pub fn keep_scratch(&self, place: &std::path::Path) -> std::io::Result<()> {
        match self.root.as_ref().and_then(Root::scratch) {
            Some(scratch) => scratch.keep(place),
            None => Ok(()),
        }
    }

    /// Says where the first program's file lies under the root, behind links, if it does.
    pub(crate) fn locate_first_program(&mut self, file_name: &str) {
        let place = self.resolve(tree::AT_FDCWD as u64, file_name.as_bytes(), true);
        if let (Ok(place), Some(root)) = (place, &self.root)
            && place.node.is_some()
            && let Ok(path) = root.path_at(&place.entrance)
        {
            self.exe = path.text();
        }
    }

    /// Says what was started, which the files in `/proc` tell of.
    pub(crate) fn set_started(&mut self, started: Started) {
        self.started = Some(started);
    }

    /// The file name of the program, as the first thread's name.
    pub(crate) fn first_name(&self) -> [u8; Thread::NAME_BYTES] {
        let name = &self.file_name[..];
        let start = name.iter().rposition(|&b| b == b'/');
        let name = &name[start.map_or(0, |at| at + 1)..];
        let len = name.len().min(Thread::NAME_BYTES - 1);
        let mut padded = [0; Thread::NAME_BYTES];
        padded[..len].copy_from_slice(&name[..len]);
        padded
    }

    /// Draws from the guest's randomness.
    pub fn fill_random(&mut self, bytes: &mut [u8]) {
        self.random.fill(bytes);
    }

    /// Simulated time that the program has spent waiting, in nanoseconds. Machines add it to the time
    /// that their instructions or cycles take.
    #[must_use]
    pub fn idle_ns(&self) -> u64 {
        self.idle_ns
    }

    /// Threads of the process.
    #[must_use]
    pub fn thread_count(&self) -> usize {
        self.threads.count()
    }

    /// What the guest wrote to standard output, if it is captured.
    #[must_use]
    pub fn captured_stdout(&self) -> &[u8] {
        self.streams.captured(Which::Stdout)
    }

    /// What the guest wrote to standard error, if it is captured.
    #[must_use]
    pub fn captured_stderr(&self) -> &[u8] {
        self.streams.captured(Which::Stderr)
    }

    /// Why the process can never go on, after [`SyscallResult::Trap`].
    #[must_use]
    pub fn stop_reason(&self) -> Option<&StopReason> {
        self.stop.as_ref()
    }

    /// Every warning so far, in order.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Passes warnings on as they come. Without a sink they are only collected.
    pub fn set_warning_sink(&mut self, sink: WarningSink) {
        self.sink = Some(sink);
    }

    /// Warns, once for each text.
    fn warn_once(&mut self, text: &str) {
        if !self.warnings.iter().any(|warning| warning == text) {
            // No call has such a number.
            self.warn(u64::MAX - self.warnings.len() as u64, text.to_owned());
        }
    }

    /// Warns, once for each call number.
    fn warn(&mut self, number: u64, text: String) {
        // A hostile guest has 2^64 numbers to try.
        const MAX_WARNINGS: usize = 1000;
        if self.warnings.len() < MAX_WARNINGS && self.warned.insert(number) {
            if let Some(sink) = &mut self.sink {
                sink(&text);
            }
            self.warnings.push(text);
        }
    }
}

/// The folder that a process starts in.
fn starting_folder(root: &Root, path: &str) -> Result<Folder, LoadError> {
    let found = root.find(&root.folder(), path.as_bytes(), true);
    let folder = found.and_then(|place| place.existing()?.folder());
    folder.map_err(|_| LoadError::Config {
        place: "cwd",
        problem: format!("{path}: there is no such folder under the root"),
        remedy: "name a folder as the program sees it, from the root on",
    })
}
