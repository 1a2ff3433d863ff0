//! Whom a file of `/proc` tells of: a process of the run, and one of its threads.

use hps_isa::memory::Memory;

use crate::os::Linux;
use crate::process::Thread;

/// A process, and one of its threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Whose {
    pub pid: u32,
    /// The thread, if a file of one is asked for.
    pub tid: Option<u32>,
}

/// The state of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Runs,
    Waits,
    IsStopped,
}

impl State {
    /// The letter and the word of Linux.
    pub(super) fn text(self) -> &'static str {
        match self {
            State::Runs => "R (running)",
            State::Waits => "S (sleeping)",
            State::IsStopped => "T (stopped)",
        }
    }
}

/// A process that has not ended, as the one whose turn it is sees it.
pub(super) struct Subject<'a> {
    pub os: &'a Linux,
    pub mem: &'a Memory,
    /// The thread; `None` if it runs on another context.
    pub thread: Option<&'a Thread>,
    pub tid: u32,
    pub state: State,
}

impl Linux {
    /// The process and the thread that a file tells of. `thread` makes the call, and `mem` is its process's memory.
    pub(super) fn subject<'a>(
        &'a self,
        whose: Whose,
        thread: &'a Thread,
        mem: &'a Memory,
    ) -> Option<Subject<'a>> {
        let (os, mem) = match whose.pid {
            pid if pid == self.pid => (self, mem),
            pid => self.parked_process(pid)?,
        };
        let tid = whose.tid.unwrap_or(whose.pid);
        let is_caller = os.pid == self.pid && thread.tid == tid;
        // Its first thread may have ended before others.
        let is_gone = whose.tid.is_none() && !is_caller && !os.threads.has_other(tid);
        let found = match (is_caller, os.threads.parked(tid)) {
            (true, _) => Some(thread),
            (false, None) if is_gone && os.pid == self.pid => Some(thread),
            (false, None) if is_gone => os.threads.all_parked().next(),
            (false, parked) => parked,
        };
        let waits = found.is_some_and(|found| {
            let blocked = found.blocked.as_ref();
            found.tid != thread.tid && blocked.is_some_and(|blocked| !blocked.is_ready)
        });
        let state = match waits {
            _ if os.is_stopped() => State::IsStopped,
            true => State::Waits,
            // The process waits for its memory.
            false if os.has_lent_memory() => State::Waits,
            false => State::Runs,
        };
        Some(Subject {
            os,
            mem,
            thread: found,
            tid,
            state,
        })
    }

    /// The threads of a process.
    pub(super) fn threads_of(&self, pid: u32) -> Vec<u32> {
        if pid == self.pid {
            return self.threads.numbers(Some(self.call.caller));
        }
        match self.parked_process(pid) {
            Some((os, _)) => os.threads.numbers(None),
            None => vec![pid],
        }
    }
}

impl Subject<'_> {
    /// The thread's name, without what would end its field.
    pub(super) fn name(&self) -> String {
        let own = match self.thread {
            Some(thread) => thread.name,
            None => self.os.first_name(),
        };
        Thread::readable_name(&own)
    }
}
