//! `fork`, `vfork`, and `clone` of processes (clone(2), Linux `kernel/fork.c`).
//!
//! A child shares the pages of its parent until one of them writes to them. The child of `vfork` has the memory of its parent itself,
//! and the parent waits, all its threads, until the child executes another program or ends.

use hps_isa::hart::GuestCounters;
use hps_isa::memory::{Memory, MemoryError};

use super::super::account::THREAD_BYTES;
use super::super::dispatch::CurrentCall;
use super::super::errno::Errno;
use super::super::memory::AddressSpace;
use super::super::outcome::{Outcome, Returned, Unserved};
use super::super::run::Run;
use super::super::streams::Streams;
use super::super::threads::{Request, Threads, WaitFor, flag};
use super::super::timers::Timers;
use super::super::warnings::Warnings;
use super::super::{Linux, StopReason};
use super::{Member, ProcessRule, ProcessState};
use crate::process::{Guest, Reservations, Thread};

/// Flags that a process may ask for when it makes another one. `CLONE_SYSVSEM` and `CLONE_IO` share what no guest has.
const KNOWN: u64 = flag::VM
    | flag::VFORK
    | flag::SETTLS
    | flag::PARENT_SETTID
    | flag::CHILD_CLEARTID
    | flag::CHILD_SETTID
    | flag::CLEAR_SIGHAND
    | flag::DETACHED
    | flag::SYSVSEM
    | flag::IO;

/// Memory of the host for a process beside its own memory and its thread, in bytes.
const PROCESS_BYTES: u64 = 16 << 10;

/// After so many refusals the run ends.
const MOST_REFUSED: u32 = 1000;

impl Linux {
    /// Makes a child. Returns its number.
    pub(in super::super) fn make_process(
        &mut self,
        thread: &Thread,
        mem: &mut Memory,
        request: Request,
    ) -> Outcome<Returned> {
        let flags = request.flags;
        let most = self.check_child(flags)?;
        let borrows = flags & flag::VM != 0;
        if borrows {
            self.gather()?;
        }
        let mut child_mem = self.memory_of_child(mem, borrows, most)?;
        self.charge_anyway(THREAD_BYTES + PROCESS_BYTES);
        let pid = self.threads.next_number();
        let number = pid.to_le_bytes();
        if flags & flag::PARENT_SETTID != 0 {
            mem.write_bytes(request.parent_tid, &number)?;
        }
        if borrows {
            std::mem::swap(mem, &mut child_mem);
        }
        if flags & flag::CHILD_SETTID != 0 {
            // As in Linux, a place that cannot be written is no error.
            let _ = child_mem.write_bytes(request.child_tid, &number);
        }
        let mut first = Box::new(thread.forked(pid));
        if flags & flag::CHILD_CLEARTID != 0 {
            first.clear_tid = request.child_tid;
        }
        self.begin_child(&mut first, &request);
        let mut os = self.of_child(pid);
        if flags & flag::CLEAR_SIGHAND != 0 {
            os.signals.reset_handlers();
        }
        if borrows {
            std::mem::swap(&mut self.space, &mut os.space);
            self.state.is_lent = true;
        } else {
            os.space.mappings.inherit(&mut child_mem)?;
            os.track_shared(&mut child_mem);
        }
        os.threads.park(first);
        self.add_child(pid, &request, borrows);
        let image = self.program.started.as_ref().map(|started| &started.image);
        if let Some(image) = image {
            os.program.number = self.family.begin_program(image);
            self.record_fork(&mut os, borrows);
            self.family.park(Box::new(Guest {
                mem: child_mem,
                os: Box::new(os),
                image: image.clone(),
                counters_before: GuestCounters::default(),
                reservations: Reservations::default(),
            }));
        }
        Ok(Returned {
            second: Some(0),
            // The parent goes on when another process has had its turn, or the memory is back.
            yields: borrows,
            ..pid.into()
        })
    }

    /// A program is replaced, or its memory lent, while all threads but the caller have left their contexts. Until they
    /// have, the call waits.
    pub(super) fn gather(&mut self) -> Outcome<()> {
        /// Time until the call looks again, in nanoseconds.
        const A_WHILE: u64 = 1000;
        if !self.threads.others_run() {
            self.state.gathers = None;
            return Ok(());
        }
        // Another thread may wait for the same on its context.
        self.state.gathers = self.state.gathers.or(Some(self.processor()));
        self.threads.let_all_look();
        Err(Unserved::wait(
            WaitFor::Time,
            Some(self.time.now_ns + A_WHILE),
        ))
    }

    /// Checks what is asked for. Returns how many processes there may be.
    fn check_child(&mut self, flags: u64) -> Result<u32, Errno> {
        let limit = match self.family.rule {
            ProcessRule::Allowed(limit) => limit,
            ProcessRule::Refused(what) => {
                self.run.warnings.once(&format!(
                    "a second process is refused (ENOSYS): {what} has one process; run the program functionally, or \
                     timed by the cycle-driven core, without profilers, productions and sampling"
                ));
                return Err(Errno::ENOSYS);
            }
        };
        let is_concurrent = flags & flag::VM != 0 && flags & flag::VFORK == 0;
        if is_concurrent || flags & !KNOWN != 0 {
            self.run.warnings.once(&format!(
                "a child process is refused (ENOSYS): clone with flags {flags:#x} shares more than fork, vfork and \
                 posix_spawn do"
            ));
            return Err(Errno::ENOSYS);
        }
        if self.family.members.len() >= limit as usize {
            self.run.warnings.once(&format!(
                "a child process is refused (EAGAIN): the program has {limit}, as many as it may have"
            ));
            self.count_refusal(limit);
            return Err(Errno::EAGAIN);
        }
        Ok(limit)
    }

    /// A program that asks again and again gets no further.
    fn count_refusal(&mut self, limit: u32) {
        self.family.refused += 1;
        let refused = self.family.refused;
        if refused >= MOST_REFUSED {
            self.run.stop = Some(StopReason::Processes { limit, refused });
        }
    }

    fn memory_of_child(
        &mut self,
        mem: &mut Memory,
        borrows: bool,
        most: u32,
    ) -> Result<Memory, Errno> {
        if borrows {
            let mem = self.family.new_memory(0);
            return mem.map_err(|cause| self.no_memory(&cause));
        }
        let limit = self.share_account(mem);
        if self.memory_left() < 2 * mem.mapped_bytes() + PROCESS_BYTES {
            self.run.warnings.once(
                "a child process is refused (ENOMEM): all processes together may have as much memory as the limit \
                 says (--memory-limit raises it)",
            );
            self.count_refusal(most);
            return Err(Errno::ENOMEM);
        }
        self.write_back(mem);
        self.share_anonymous(mem)?;
        let copied = self.family.new_memory(limit).and_then(|mut copy| {
            mem.share_with(&mut copy)?;
            copy.clear_dirty();
            self.family.begin_space(&mut copy);
            Ok(copy)
        });
        copied.map_err(|cause| self.no_memory(&cause))
    }

    pub(super) fn no_memory(&mut self, cause: &MemoryError) -> Errno {
        self.run
            .warnings
            .once(&format!("a process is refused (ENOMEM): {cause}"));
        Errno::ENOMEM
    }

    /// The operating system of a child: what it inherits. What all processes have in common stays with this one.
    fn of_child(&mut self, pid: u32) -> Linux {
        let mut signals = self.signals.clone();
        signals.pending = Default::default();
        Linux {
            pid,
            state: ProcessState::default(),
            call: CurrentCall {
                resumed: None,
                ..self.call
            },
            files: self.files.of_child(pid),
            tree: self.tree.clone(),
            signals,
            space: AddressSpace {
                locks: Default::default(),
                ..self.space.clone()
            },
            timers: Timers::of_process(pid),
            threads: Threads::of_child(&self.threads),
            run: Run {
                warnings: Warnings::default(),
                ..self.run.over(Streams::closed())
            },
            ..self.over(Default::default(), Streams::closed())
        }
    }

    fn add_child(&mut self, pid: u32, request: &Request, borrows: bool) {
        self.family.made += 1;
        let Some(parent) = self.family.members.get(&self.pid).copied() else {
            return;
        };
        let child = Member {
            parent: self.pid,
            end_signal: request.signal,
            has_executed: false,
            lender: borrows.then_some(self.pid),
            end: None,
            change: None,
            used_ns: 0,
            ..parent
        };
        self.family.members.insert(pid, child);
    }
}
