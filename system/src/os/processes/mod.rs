//! The processes of a run: who they are to each other, and where those are that do not run.
//!
//! A process is a [`Guest`]. The one whose turn it is lies in its [`Process`](crate::process::Process); the others are
//! *parked* in the [`Family`]. The family, and all that Linux has once for all processes (open files, streams, limits
//! of the run), is with the guest whose turn it is and [goes on](Linux::hand_over) with the turn, so that a run of one
//! process pays nothing. Each guest has its own memory, descriptors, working folder, signals, timers and threads.
//!
//! [`fork`] makes processes, [`exec`] gives them other programs, which [`programs`] finds, [`end`] takes them away,
//! [`wait`] tells their parents, [`groups`] names several at once, [`stop`] stops and continues them. Whose turn it is follows in [`turns`](crate::process).

mod descriptor;
mod end;
mod exec;
mod fork;
mod groups;
mod programs;
mod shared;
mod stop;
mod wait;

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crate::checkpoint::StaticText;

pub(super) use self::descriptor::ProcessFile;
pub(crate) use self::end::End;
pub(crate) use self::exec::Execution;
use self::programs::Images;
pub(crate) use self::shared::Changes;
use hps_isa::memory::{Memory, MemoryError};

use self::stop::Change;
use super::Linux;
use super::account::Account;
use super::fifos::Fifo;
use super::ipc::Ipc;
use super::shared_names::SharedNames;
use crate::image::ProgramImage;
use crate::process::{Guest, ProgramUsage, Thread};
use crate::symbols::CodeLog;

/// The number of the process that takes care of those whose parent has ended. It is none of the run's.
const INIT: u32 = 1;

/// Whether a program may have child processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ProcessRule {
    /// No child processes: `fork` returns ENOSYS. The text says what stands in the way, as the subject of a sentence.
    Refused(#[serde(with = "crate::checkpoint::text")] StaticText),
    /// Child processes, with up to this number of processes at a time.
    Allowed(u32),
}

impl ProcessRule {
    /// Processes at a time where nothing else is asked for.
    pub const MOST: u32 = 128;
    /// Rule where nobody says that children can be simulated.
    pub(crate) const BY_DEFAULT: ProcessRule = ProcessRule::Refused("a run of this kind");
}

/// Record of a process, also after its end.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Member {
    pub parent: u32,
    /// The real user of the process.
    pub uid: u32,
    pub group: u32,
    pub session: u32,
    /// The signal that tells its parent of its end; 0: none.
    pub end_signal: u8,
    /// Whether the process runs another program than it did when it was made.
    pub has_executed: bool,
    /// The parent whose memory it uses.
    pub lender: Option<u32>,
    /// How it has ended, if its parent has not asked yet.
    pub end: Option<End>,
    /// That it was stopped or goes on, if its parent has not asked yet.
    pub change: Option<Change>,
    /// For how long it and the children that it waited for had run at its end, in nanoseconds.
    pub used_ns: u64,
    /// The name of its program, at its end.
    pub name: [u8; Thread::NAME_BYTES],
}

/// State of a process in its family: stops, lent memory, seen changes, children and end.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct ProcessState {
    /// The process has lent its memory to a child, and waits until that is back.
    pub is_lent: bool,
    /// The process is stopped until a signal lets it go on.
    pub is_stopped: bool,
    /// A thread on this context waits for all others of the process to leave theirs.
    pub gathers: Option<usize>,
    /// Up to which change of shared memory, and which of them by stores, as the family counts them, it has seen what others
    /// have written.
    pub seen_changes: (u64, u64),
    /// The signal that has ended it.
    pub killed_by: Option<u8>,
    /// Processor time of the children that it waited for, in nanoseconds.
    pub children_ns: u64,
}

/// The processes of a run.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Family {
    rule: ProcessRule,
    members: BTreeMap<u32, Member>,
    /// All processes that have not ended, but for the one whose turn it is.
    parked: BTreeMap<u32, Box<Guest>>,
    /// The first process, once it has ended before others, and its exit code.
    first: Option<(Box<Guest>, i32)>,
    /// Processes of which there are descriptors: whether they have ended.
    #[serde(with = "crate::checkpoint::kept")]
    watched: BTreeMap<u32, Arc<AtomicBool>>,
    /// How many events of `perf_event_open` there have been.
    events: u64,
    /// How many processes there have been, and how many were refused.
    made: u64,
    refused: u32,
    /// Pipes with names that are open, by device and number of the name.
    #[serde(with = "crate::checkpoint::identities")]
    pub(super) fifos: BTreeMap<(u64, u64), Fifo>,
    /// Objects of System V.
    pub(super) ipc: Ipc,
    /// Files of `/dev/shm`, where the root folder has none.
    pub(super) shared_names: SharedNames,
    /// Counts what may have changed the memory that processes share.
    changes: u64,
    /// How often a process has stored into shared memory in a turn.
    pub(super) stores: u64,
    /// When each file was written last, by `changes`, by device and number; for want of room a file that is not known.
    #[serde(with = "crate::checkpoint::identities")]
    written: BTreeMap<(u64, u64), u64>,
    any_written: u64,
    /// Numbers of files that processes have shared in memory, in the order in which they did, by device and number.
    #[serde(with = "crate::checkpoint::identities")]
    pub(super) shared_files: BTreeMap<(u64, u64), u64>,
    /// How many address spaces there have been besides the first one.
    spaces: u64,
    images: Images,
    /// The programs that processes have begun, without the first one.
    #[serde(with = "crate::checkpoint::kept")]
    programs: Vec<Arc<ProgramImage>>,
    /// Usage of each program, the first one among them.
    pub(crate) usage: Vec<ProgramUsage>,
    /// Empty memories of processes that have ended.
    #[serde(skip)]
    spare: Vec<Memory>,
    /// Pages that memories have copied which are no more.
    copied_pages: u64,
    /// The memory that an observer has read, once no process has it any more.
    observed: Option<Box<Memory>>,
    /// Memory of the host for all objects.
    pub(super) account: Account,
}

impl Family {
    /// One process of a user, which leads its group and its session.
    pub(super) fn new(pid: u32, uid: u32) -> Family {
        let first = Member {
            parent: INIT,
            uid,
            group: pid,
            session: pid,
            end_signal: 0,
            has_executed: true,
            lender: None,
            end: None,
            change: None,
            used_ns: 0,
            name: [0; Thread::NAME_BYTES],
        };
        Family {
            rule: ProcessRule::BY_DEFAULT,
            members: BTreeMap::from([(pid, first)]),
            parked: BTreeMap::new(),
            first: None,
            watched: BTreeMap::new(),
            events: 0,
            made: 1,
            refused: 0,
            fifos: BTreeMap::new(),
            ipc: Ipc::default(),
            shared_names: SharedNames::default(),
            changes: 0,
            stores: 0,
            written: BTreeMap::new(),
            any_written: 0,
            shared_files: BTreeMap::new(),
            spaces: 0,
            images: Images::default(),
            programs: Vec::new(),
            usage: Vec::new(),
            spare: Vec::new(),
            copied_pages: 0,
            observed: None,
            account: Account::default(),
        }
    }

    /// Whether there are processes besides the one whose turn it is.
    pub(crate) fn has_others(&self) -> bool {
        !self.parked.is_empty()
    }

    /// Whether there is, or was, more than one process, so that the end of one is not the end of the run.
    pub(crate) fn is_shared(&self) -> bool {
        self.has_others() || self.first.is_some()
    }

    /// Whether a process that does not run has a thread that can.
    pub(super) fn has_ready(&self) -> bool {
        self.parked.values().any(|guest| guest.os.is_ready())
    }

    /// Whether a process whose turn it is not has a thread that a context may run.
    pub(super) fn has_ready_for(&self, context: usize) -> bool {
        self.others().any(|os| os.has_own_thread_for(context))
    }

    /// The process behind `pid`, in order of numbers and round, that has a thread that a context may run.
    pub(crate) fn next_ready(&self, pid: u32, context: usize) -> Option<u32> {
        let is_ready = |pid: &&u32| self.parked[*pid].os.has_own_thread_for(context);
        let mut behind = self.parked.range(pid..).map(|(pid, _)| pid);
        let first = || self.parked.keys().find(is_ready);
        behind.find(is_ready).or_else(first).copied()
    }

    /// The number of an event, which no other one has.
    pub(super) fn next_event(&mut self) -> u64 {
        self.events += 1;
        self.events
    }

    /// The real user of a process.
    fn user_of(&self, pid: u32) -> u32 {
        self.members.get(&pid).map_or(0, |member| member.uid)
    }

    /// Any process that does not run.
    pub(crate) fn any(&self) -> Option<u32> {
        self.parked.keys().next().copied()
    }

    pub(crate) fn park(&mut self, guest: Box<Guest>) {
        self.parked.insert(guest.os.pid, guest);
    }

    pub(crate) fn unpark(&mut self, pid: u32) -> Option<Box<Guest>> {
        self.parked.remove(&pid)
    }

    /// Keeps the first process, which has ended before others.
    pub(crate) fn keep_first(&mut self, guest: Box<Guest>, code: i32) {
        self.first = Some((guest, code));
    }

    /// The first process and its exit code, if it has ended before others.
    pub(crate) fn take_first(&mut self) -> Option<(Box<Guest>, i32)> {
        self.first.take()
    }

    /// Whether the first process has ended.
    pub(crate) fn has_lost_first(&self) -> bool {
        self.first.is_some()
    }

    /// Bytes that count as mapped in the processes that do not run.
    pub(crate) fn mapped_bytes(&self) -> u64 {
        let parked = self.parked.values();
        parked.map(|guest| guest.mem.mapped_bytes()).sum()
    }

    /// A process begins to run a program, by `fork` or by `execve`. Returns the number of that.
    pub(crate) fn begin_program(&mut self, image: &Arc<ProgramImage>) -> u32 {
        self.programs.push(Arc::clone(image));
        self.programs.len() as u32 + 1
    }

    /// An empty memory for a process, of an address space of its own.
    ///
    /// # Errors
    /// If the host refuses memory.
    pub(crate) fn new_memory(&mut self, limit_bytes: u64) -> Result<Memory, MemoryError> {
        let mut mem = match self.spare.pop() {
            Some(spare) => spare,
            None => Memory::new(limit_bytes)?,
        };
        mem.set_limit(limit_bytes);
        self.begin_space(&mut mem);
        Ok(mem)
    }

    /// Gives a memory the number of an address space.
    pub(super) fn begin_space(&mut self, mem: &mut Memory) {
        self.spaces += 1;
        mem.begin_space(self.spaces);
    }

    /// A process has ended, or runs another program: its memory can serve another one.
    pub(crate) fn keep_memory(&mut self, mut mem: Memory) {
        /// Each holds up to 16 MiB of the host.
        const MOST: usize = 4;
        self.count_copies(&mem);
        if mem.thread_word.is_some() {
            self.observed = Some(Box::new(mem));
        } else if self.spare.len() < MOST && mem.is_worth_reuse() && mem.empty().is_ok() {
            self.spare.push(mem);
        }
    }

    /// A memory is given up: what it has copied still counts.
    pub(crate) fn count_copies(&mut self, mem: &Memory) {
        self.copied_pages += mem.copied_pages();
    }

    /// The process that has the memory that an observer reads, if it is one of those that do not run.
    pub(crate) fn observed_process(&self) -> Option<u32> {
        let mut parked = self.parked.iter();
        let (pid, _) = parked.find(|(_, guest)| guest.mem.thread_word.is_some())?;
        Some(*pid)
    }

    /// That process.
    pub(crate) fn observed_guest(&mut self) -> Option<&mut Guest> {
        self.parked_mut(self.observed_process()?)
    }

    /// The memory that an observer has read, if its process has ended or runs another program.
    pub(crate) fn left_memory(&mut self) -> Option<&mut Memory> {
        match (&mut self.first, &mut self.observed) {
            (Some((first, _)), _) if first.mem.thread_word.is_some() => Some(&mut first.mem),
            (_, observed) => observed.as_deref_mut(),
        }
    }

    fn parked_mut(&mut self, pid: u32) -> Option<&mut Guest> {
        self.parked.get_mut(&pid).map(|guest| &mut **guest)
    }

    /// The processes that do not run, in the order of their numbers.
    pub(crate) fn parked_guests(&self) -> impl Iterator<Item = &Guest> {
        self.parked.values().map(|guest| &**guest)
    }

    /// The first process that does not run of which something holds.
    pub(crate) fn parked_guest_mut(
        &mut self,
        is_it: impl Fn(&Guest) -> bool,
    ) -> Option<&mut Guest> {
        let mut parked = self.parked.values_mut().map(|guest| &mut **guest);
        parked.find(|guest| is_it(guest))
    }

    fn others(&self) -> impl Iterator<Item = &Linux> {
        self.parked.values().map(|guest| &*guest.os)
    }

    fn others_mut(&mut self) -> impl Iterator<Item = &mut Linux> {
        self.parked.values_mut().map(|guest| &mut *guest.os)
    }
}

impl Linux {
    /// Says whether the program may have child processes. Unless this is called, it may not.
    pub fn set_process_rule(&mut self, rule: ProcessRule) {
        self.family.rule = rule;
    }

    /// The number of the process (`getpid`).
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// The number of the program that the process runs. Each `fork` and each `execve` begins one; that of the run is
    /// number 1.
    #[must_use]
    pub fn program_number(&self) -> u32 {
        self.program.number
    }

    /// The programs that processes have begun behind the first one of the run, from number 2 on.
    #[must_use]
    pub fn later_programs(&self) -> &[Arc<ProgramImage>] {
        &self.family.programs
    }

    /// Another program runs in the process.
    pub(crate) fn begin_program(&mut self, image: &Arc<ProgramImage>) {
        self.program.number = self.family.begin_program(image);
        self.space.mappings.code.turn_to(self.program.number);
        self.record_program(image);
    }

    /// Records the code with which a program begins.
    pub(crate) fn record_program(&self, image: &Arc<ProgramImage>) {
        let started = self.program.started.as_ref();
        let loaded = started.map_or(&[][..], |started| &started.loaded);
        let log = self.space.mappings.code.log();
        log.begin(
            (self.program.number, self.pid),
            (image, &self.program.exe),
            loaded,
        );
    }

    /// Records the code with which a child begins. A child that borrows the memory of this process maps code for this
    /// process.
    fn record_fork(&self, child: &mut Linux, borrows: bool) {
        if !borrows {
            child.space.mappings.code.turn_to(child.program.number);
        }
        let log = child.space.mappings.code.log();
        log.fork(self.program.number, (child.program.number, child.pid));
    }

    /// The record of the code that programs of the run have mapped.
    #[must_use]
    pub fn code_log(&self) -> &CodeLog {
        self.space.mappings.code.log()
    }

    /// The numbers of all processes of the run, also of those that have ended and whose parents have not asked yet.
    pub(super) fn process_numbers(&self) -> impl Iterator<Item = u32> + '_ {
        self.family.members.keys().copied()
    }

    /// A process that does not run, and its memory.
    pub(super) fn parked_process(&self, pid: u32) -> Option<(&Linux, &Memory)> {
        let guest = self.family.parked.get(&pid)?;
        Some((&*guest.os, &guest.mem))
    }

    /// Parent, group and session of a process.
    pub(super) fn place_of(&self, pid: u32) -> (u32, u32, u32) {
        let member = self.family.members.get(&pid);
        member.map_or((INIT, pid, pid), |member| {
            (member.parent, member.group, member.session)
        })
    }

    /// Parent, group, session and name of a process that has ended and whose parent has not asked yet.
    pub(super) fn ended_process(
        &self,
        pid: u32,
    ) -> Option<(u32, u32, u32, [u8; Thread::NAME_BYTES])> {
        let member = self.family.members.get(&pid)?;
        member.end?;
        Some((member.parent, member.group, member.session, member.name))
    }

    /// Whether there is, or was, another process.
    #[inline]
    #[must_use]
    pub fn has_other_processes(&self) -> bool {
        self.family.is_shared()
    }

    /// How many processes have been made, the first one among them.
    #[must_use]
    pub fn processes_made(&self) -> u64 {
        self.family.made
    }

    /// Pages that processes have copied because they wrote to them while others shared them. `mem` is the memory of this
    /// one.
    #[must_use]
    pub fn copied_pages(&self, mem: &Memory) -> u64 {
        let family = &self.family;
        let first = family.first.iter().map(|(guest, _)| &guest.mem);
        let parked = family.parked.values().map(|guest| &guest.mem);
        let alive: u64 = first.chain(parked).map(Memory::copied_pages).sum();
        family.copied_pages + mem.copied_pages() + alive
    }

    /// Whether the process waits until a child gives its memory back.
    pub(super) fn has_lent_memory(&self) -> bool {
        self.state.is_lent
    }

    /// Whether a thread of this process waits for its turn and can have it.
    pub(crate) fn is_ready(&self) -> bool {
        !self.state.is_lent && !self.state.is_stopped && self.threads.has_ready()
    }

    /// Whether a thread of this process is ready that a context may run.
    pub(super) fn has_own_thread_for(&self, context: usize) -> bool {
        let is_ready = match self.state.gathers {
            None => self.threads.has_ready_for(context),
            Some(home) => home == context && self.threads.has_ready(),
        };
        is_ready && !self.state.is_lent && !self.state.is_stopped
    }

    /// The thread whose turn it is on this context, to which it comes: see [`Threads::next`](super::threads::Threads).
    pub(crate) fn next_thread(&mut self) -> Option<Box<Thread>> {
        if !self.has_own_thread_for(self.processor()) {
            return None;
        }
        self.threads
            .next(self.time.now_ns, self.state.gathers.is_some())
    }

    /// The thread leaves this context.
    pub(crate) fn leave_context(&mut self, thread: &mut Thread) {
        self.threads.leave_context(thread, self.time.now_ns);
    }

    /// Whether a thread of any process runs on another context.
    pub(crate) fn others_run(&self) -> bool {
        self.threads.others_run() || self.family.others().any(|os| os.threads.others_run())
    }

    /// Whether the thread on this context may not run there any more.
    pub(crate) fn has_to_go(&self, thread: &Thread) -> bool {
        let gathers_elsewhere = match self.state.gathers {
            None => self.threads.has_to_go(thread),
            Some(home) => home != self.processor(),
        };
        gathers_elsewhere || self.state.is_stopped
    }

    /// Whether another thread or process waits for its turn.
    pub(crate) fn others_are_ready(&self) -> bool {
        self.is_ready() || self.family.has_ready()
    }

    /// Whether the running thread has had its share while others wait for theirs.
    pub(crate) fn slice_is_over(&self, now_ns: u64) -> bool {
        self.threads.slice_is_over(now_ns, self.family.has_ready())
    }

    /// A file has changed: whoever waits for one looks again.
    pub(super) fn wake_on_files(&mut self) {
        self.threads.wake_on_files();
        for other in self.family.others_mut() {
            other.threads.wake_on_files();
        }
    }

    /// Lets the processes that do not run do what is due by the clock.
    pub(super) fn look_at_clocks_of_others(&mut self) {
        let time = self.time;
        for other in self.family.others_mut() {
            other.time = time;
            other.look_at_clock(None);
        }
    }

    /// When something happens next in processes that do not run, in simulated nanoseconds.
    pub(super) fn next_event_of_others_ns(&self) -> Option<u64> {
        self.family.others().filter_map(Linux::next_event_ns).min()
    }

    /// The processes that do not run.
    pub(super) fn other_processes(&self) -> impl Iterator<Item = &Linux> {
        self.family.others()
    }

    /// Hands what there is once for all processes to the one whose turn it is.
    pub(crate) fn hand_over(&mut self, to: &mut Linux) {
        use std::mem::swap;
        self.files.hand_over(&mut to.files);
        swap(&mut self.family, &mut to.family);
        swap(&mut self.run, &mut to.run);
        to.time = self.time;
        to.threads.go_on_counting(&self.threads);
        to.threads.take_turn(&mut self.threads);
    }
}
