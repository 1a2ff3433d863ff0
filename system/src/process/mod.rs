//! A program about to run: memory laid out, stack filled, operating system attached.

mod accounts;
mod events;
mod first;
mod guest;
mod inspected;
mod observed;
mod placement;
mod processes;
mod reservations;
mod saved;
mod scheduler;
mod serializing;
mod stack;
mod stop;
mod thread;
mod vdso;

use serde::{Deserialize, Serialize};
use std::ops::{Deref, DerefMut};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use hps_isa::hart::{GuestCounters, Hart};
use hps_isa::layout;
use hps_isa::memory::{Memory, MemoryError, PAGE_SIZE, Perm};
use hps_isa::trap::Trap;

use crate::image::{LoadError, ProgramImage, Segment};
use crate::os::abi::ProgramStart;
use crate::os::{
    DuplicateError, EPOCH_SECONDS, Linux, OsInterface, Output, Owner, PID, Started, Stdin,
    ThreadRules,
};
use crate::symbols::CodeLog;

pub use self::accounts::ProgramUsage;
pub use self::events::{HardwareEvents, OfferedEvents};
pub use self::first::{DEFAULT_PATH, FirstProgram};
pub use self::guest::Guest;
pub use self::inspected::ThreadView;
pub(crate) use self::placement::Placement;
pub use self::serializing::{Alone, Done, Then};

use self::accounts::Accounts;
pub use self::reservations::Reservations;
pub(crate) use self::stack::Given;
pub use self::stop::Stop;
pub use self::thread::Thread;
pub(crate) use self::vdso::NAME as VDSO_NAME;

/// Surroundings of a guest process. The default: no arguments, no environment, no files, empty input, discarded output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessConfig {
    /// The arguments, the program's name first. Empty: only the image's file name.
    pub args: Vec<String>,
    /// The path under which the program is started, as it sees it. `None`: the first argument.
    pub file_name: Option<String>,
    /// The environment, as name and value.
    pub env: Vec<(String, String)>,
    /// The host folder that the guest sees as `/`; `None` if it sees no files.
    pub root: Option<PathBuf>,
    /// The folder that the guest starts in, as it sees it. Without a root it means nothing.
    pub cwd: String,
    /// The guest may change files under the root.
    pub writable: bool,
    /// The guest works on a copy of the root, which stays as it is. The copy is a new folder in this folder of the host,
    /// and is removed in the end unless [`Linux::keep_scratch`] is asked to keep it.
    pub scratch: Option<PathBuf>,
    /// Rules by which threads share a hardware context.
    pub threads: ThreadRules,
    /// Seed of all randomness that the guest can see.
    pub seed: u64,
    /// Seed by which the addresses of the program, its loader, heap, stack and mappings are drawn as Linux draws them;
    /// `None`: they are the same in each run.
    pub address_seed: Option<u64>,
    /// The most memory that the guest can have mapped, in bytes.
    pub memory_limit_bytes: u64,
    /// The most that the guest may write to streams and files together, in bytes; the run stops
    /// beyond.
    pub output_limit_bytes: Option<u64>,
    /// The most by which the guest may make files longer, all together, in bytes; holes count.
    pub file_limit_bytes: Option<u64>,
    /// The most time of the host that a run may take; the run stops beyond.
    pub time_limit: Option<Duration>,
    /// Files that the guest may have open (`RLIMIT_NOFILE`).
    pub open_files_limit: u64,
    /// User and group of the program, whose all files are. User 0 is root.
    pub owner: Owner,
    /// The date on which the run begins, in seconds since 1970.
    pub start_seconds: u64,
    /// Record of the code that programs map, from an observer that is there before the run; `None`: the run makes its own
    /// ([`Linux::code_log`]).
    pub code: Option<CodeLog>,
    /// Standard input.
    pub stdin: Stdin,
    /// Standard output.
    pub stdout: Output,
    /// Standard error.
    pub stderr: Output,
}

impl Default for ProcessConfig {
    fn default() -> Self {
        ProcessConfig {
            args: Vec::new(),
            file_name: None,
            env: Vec::new(),
            root: None,
            cwd: "/".to_string(),
            writable: false,
            scratch: None,
            threads: ThreadRules::default(),
            seed: 0,
            address_seed: None,
            memory_limit_bytes: Memory::DEFAULT_LIMIT_BYTES,
            output_limit_bytes: Some(1 << 30),
            file_limit_bytes: Some(1 << 34),
            time_limit: None,
            open_files_limit: 1024,
            owner: Owner::default(),
            start_seconds: EPOCH_SECONDS,
            code: None,
            stdin: Stdin::Empty,
            stdout: Output::Discard,
            stderr: Output::Discard,
        }
    }
}

/// A file that Linux puts beside a dynamic program: the loader, which it starts, or the vDSO.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Loaded {
    /// The file.
    #[serde(with = "crate::checkpoint::kept")]
    pub image: Arc<ProgramImage>,
    /// Path of the file, as the guest sees it; of the vDSO its name.
    pub path: Vec<u8>,
}

/// A guest process on a hardware context: the state that its threads share, and the thread that runs. The other threads
/// are with the operating system layer.
///
/// A process dereferences to its guest, so that memory, files and program are reached without naming it. Code that
/// needs the registers and the memory at once takes the two parts.
#[derive(Debug, Serialize, Deserialize)]
pub struct Process {
    /// State that threads share.
    pub guest: Guest,
    /// The thread.
    pub thread: Thread,
    /// The number of the thread that made the last system call.
    caller: u32,
    /// The stack pointer that the last system call has loaded with all other registers; 0 if it has not.
    loaded_stack_pointer: u64,
    /// The number of the program that made the last system call.
    calling_program: u32,
    /// The number of the program that runs, or has run last, on this context.
    program: u32,
    /// The number of the process that the thread belongs to, or that one on this context has belonged to last.
    pid: u32,
    accounts: Accounts,
}

impl Process {
    /// The registers and the memory.
    #[inline(always)]
    pub fn hart_and_memory(&mut self) -> (&mut Hart, &mut Memory) {
        (&mut self.thread.hart, &mut self.guest.mem)
    }

    /// Gives a fault of the thread to its handler: see [`Linux::deliver_fault`].
    pub fn deliver_fault(&mut self, trap: &Trap) -> bool {
        self.guest
            .os
            .deliver_fault(trap, &mut self.thread, &mut self.guest.mem)
    }
}

impl Deref for Process {
    type Target = Guest;

    #[inline(always)]
    fn deref(&self) -> &Guest {
        &self.guest
    }
}

impl DerefMut for Process {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut Guest {
        &mut self.guest
    }
}

impl Process {
    /// Lays the program out in fresh memory, as `execve` does, ready for its first instruction.
    ///
    /// # Errors
    /// [`LoadError`] if the image and its stack do not fit, the host refuses memory, or the
    /// configuration cannot be used.
    pub fn new(image: Arc<ProgramImage>, config: &ProcessConfig) -> Result<Process, LoadError> {
        let args = arguments(&image, config);
        let given = Given::of(config, &args)?;
        let file_name = config.file_name.as_ref().unwrap_or(&args[0]);
        let mut os = Linux::new(image.isa, image.os, config, file_name)?;
        let place = os.draw_placement(&image);
        let image = place.of_program(&image);
        os.begin_space(heap_start(&image, place), place);
        if let Some(file_name) = &config.file_name {
            os.locate_first_program(file_name);
        }
        let interpreter = os.interpreter_of(&image);
        let interpreter = interpreter.map_err(|refused| refused.at_start(image.name.as_bytes()))?;
        let memory_error = |source| LoadError::Memory {
            file: image.name.clone(),
            source,
        };
        let mut mem = Memory::new(config.memory_limit_bytes).map_err(memory_error)?;
        let hart = lay_out((&image, interpreter), &given, place, &mut mem, &mut os)?;
        os.record_program(&image);
        let mut thread = Thread::first(hart);
        thread.name = os.first_name();
        let guest = Guest {
            mem,
            os: Box::new(os),
            image,
            counters_before: GuestCounters::default(),
            reservations: Reservations::default(),
        };
        Ok(Process {
            guest,
            thread,
            caller: PID,
            loaded_stack_pointer: 0,
            calling_program: 1,
            program: 1,
            pid: PID,
            accounts: Accounts::of_first(),
        })
    }

    /// A second process in the same state. Neither sees what the other one does.
    ///
    /// # Errors
    /// Like [`Guest::duplicate`].
    pub fn duplicate(&mut self) -> Result<Process, DuplicateError> {
        Ok(Process {
            guest: self.guest.duplicate()?,
            thread: self.thread.clone(),
            caller: self.caller,
            loaded_stack_pointer: self.loaded_stack_pointer,
            calling_program: self.calling_program,
            program: self.program,
            pid: self.pid,
            accounts: self.accounts,
        })
    }

    /// A second process in the same state, for a run without effects on the host: see
    /// [`Linux::shadow`].
    ///
    /// # Errors
    /// If the host refuses memory.
    pub fn shadow(&mut self) -> Result<Process, MemoryError> {
        Ok(Process {
            guest: self.guest.shadow()?,
            thread: self.thread.clone(),
            caller: self.caller,
            loaded_stack_pointer: self.loaded_stack_pointer,
            calling_program: self.calling_program,
            program: self.program,
            pid: self.pid,
            accounts: self.accounts,
        })
    }

    /// A second process in the same state, for a run without effects on the host, in which pipes stay open: see
    /// [`Linux::forked`].
    ///
    /// # Errors
    /// If the host refuses memory.
    pub fn forked(&mut self) -> Result<Process, MemoryError> {
        let mut process = self.shadow()?;
        *process.os = self.os.forked();
        Ok(process)
    }

    /// Makes this process what [`Process::shadow`] of `source` would be, where it was one before.
    /// `pages` are the addresses of all pages that have changed in one of the two since then; `None`
    /// makes a new copy, which is needed if this process has mapped or unmapped something itself.
    ///
    /// # Errors
    /// If the host refuses memory.
    pub fn follow(
        &mut self,
        source: &mut Process,
        pages: Option<&[u64]>,
    ) -> Result<(), MemoryError> {
        let os = source.os.shadow();
        self.follow_as(source, pages, os)
    }

    /// Follows `source` as [`Process::follow`] does, with an operating system that was made from that of `source`.
    pub fn follow_as(
        &mut self,
        source: &mut Process,
        pages: Option<&[u64]>,
        os: Linux,
    ) -> Result<(), MemoryError> {
        match pages {
            Some(pages) => {
                self.guest.follow(&source.guest, pages)?;
                self.thread = source.thread.clone();
                self.caller = source.caller;
                self.loaded_stack_pointer = source.loaded_stack_pointer;
                self.calling_program = source.calling_program;
                self.program = source.program;
                self.pid = source.pid;
            }
            None => *self = source.shadow()?,
        }
        *self.guest.os = os;
        Ok(())
    }
}

/// Puts a program, and the loader that it asks for, into an empty memory. Returns the registers with which it begins. The
/// operating system learns where its arguments lie.
fn lay_out(
    (image, interpreter): (&Arc<ProgramImage>, Option<Loaded>),
    given: &Given,
    place: Placement,
    mem: &mut Memory,
    os: &mut Linux,
) -> Result<Hart, LoadError> {
    let memory_error = |source| LoadError::Memory {
        file: image.name.clone(),
        source,
    };
    let page_bytes = image.os.page_bytes(image.isa);
    place_image(mem, image, page_bytes)?;
    let interpreter = interpreter.map(|loader| Loaded {
        image: place.of_loader(&loader.image),
        ..loader
    });
    let vdso = interpreter.as_ref().and_then(|_| vdso::of(image, place));
    if vdso.is_some() {
        vdso::map_data(mem, place).map_err(memory_error)?;
        write(mem, place.vdso, &os.date_at_start_ns().to_le_bytes(), image)?;
    }
    let (loader, vdso_image) = (image_of(&interpreter), image_of(&vdso));
    for loaded in [loader, vdso_image].into_iter().flatten() {
        place_image(mem, loaded, page_bytes)?;
    }
    let stack_bottom = align_down(place.stack_top - layout::STACK_BYTES, page_bytes);
    let stack_end = place.stack_top.next_multiple_of(page_bytes);
    let stack_perm = if image.has_executable_stack {
        Perm::RWX
    } else {
        Perm::RW
    };
    mem.map(stack_bottom, stack_end - stack_bottom, stack_perm)
        .map_err(memory_error)?;
    mem.map(layout::TRAMPOLINE, PAGE_SIZE, Perm::RX)
        .map_err(memory_error)?;
    write(mem, layout::TRAMPOLINE, os.trampoline(), image)?;

    let stack = stack::build((image, loader, vdso_image), given, place, os);
    write(mem, stack.pointer, &stack.bytes, image)?;
    let entry = loader.map_or(image.entry, |loader| loader.entry);
    let mut hart = Hart {
        pc: entry,
        ..Hart::default()
    };
    os.abi().set_stack_pointer(&mut hart, stack.pointer);
    let start = ProgramStart {
        entry,
        global_pointer: image.global_pointer,
        stack: stack.pointer,
        argument_count: given.args.len() as u64,
    };
    os.abi().set_initial_registers(&mut hart, &start);
    os.set_started(Started {
        image: Arc::clone(image),
        loaded: interpreter.into_iter().chain(vdso).collect(),
        stack: stack.pointer,
        arguments: stack.arguments,
        environment: stack.environment,
        auxiliary: stack.auxiliary,
    });
    Ok(hart)
}

fn image_of(loaded: &Option<Loaded>) -> Option<&ProgramImage> {
    loaded.as_ref().map(|loaded| &*loaded.image)
}

/// The arguments with the program's name, without the folders of the host.
fn arguments(image: &ProgramImage, config: &ProcessConfig) -> Vec<String> {
    if config.args.is_empty() {
        let name = image.name.rsplit('/').next().unwrap_or_default();
        vec![name.to_owned()]
    } else {
        config.args.clone()
    }
}

fn align_down(value: u64, unit: u64) -> u64 {
    value - value % unit
}

/// Start of the heap of a program that lies in its place. Programs of OSF/1 take it for granted that the heap begins at
/// the very end of the image; Linux tells them.
fn heap_start(image: &ProgramImage, place: Placement) -> u64 {
    let page_bytes = image.os.page_bytes(image.isa);
    match image.os {
        // Segments end below the end of memory, so this cannot overflow.
        OsInterface::Linux => image.end().next_multiple_of(page_bytes) + place.heap,
        OsInterface::Osf1 => image.end(),
    }
}

fn place_image(mem: &mut Memory, image: &ProgramImage, page_bytes: u64) -> Result<(), LoadError> {
    let memory_error = |source| LoadError::Memory {
        file: image.name.clone(),
        source,
    };
    for segment in &image.segments {
        map_segment(mem, segment, page_bytes).map_err(memory_error)?;
    }
    for segment in &image.segments {
        write(mem, segment.addr, image.segment_bytes(segment), image)?;
    }
    Ok(())
}

/// Maps a segment. Pages that it shares with the segment before it get the permissions of both.
fn map_segment(mem: &mut Memory, segment: &Segment, page_bytes: u64) -> Result<(), MemoryError> {
    let too_large = MemoryError::BadRange {
        addr: segment.addr,
        len: segment.mem_bytes,
    };
    let mut start = align_down(segment.addr, page_bytes).max(layout::LOWEST);
    let end = segment
        .end()
        .checked_next_multiple_of(page_bytes)
        .ok_or(too_large)?;
    while start < end
        && let Some(shared) = mem.permissions(start)
    {
        mem.protect(start, PAGE_SIZE, shared.union(segment.perm))?;
        start += PAGE_SIZE;
    }
    if start < end {
        mem.map(start, end - start, segment.perm)
    } else {
        Ok(())
    }
}

fn write(mem: &mut Memory, addr: u64, bytes: &[u8], image: &ProgramImage) -> Result<(), LoadError> {
    mem.write_bytes_forced(addr, bytes)
        .map_err(|fault| LoadError::Memory {
            file: image.name.clone(),
            source: MemoryError::NotMapped { addr: fault.addr },
        })
}
