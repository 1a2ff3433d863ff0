//! Calls that wait.
//!
//! A call that cannot go on says what it waits for ([`Unserved::Waits`](super::super::outcome::Unserved::Waits)) and
//! changes nothing. Its thread is parked with its arguments still in its registers. When it may go on, the call is served
//! again from its beginning; it then learns what became of its wait ([`Resumed`]). A signal with a handler ends a wait
//! with `EINTR`, or lets the program make the call once more if its action says so.

use serde::{Deserialize, Serialize};
use std::fmt;

use crate::checkpoint::StaticText;

use hps_isa::memory::Memory;

use crate::process::Thread;

use super::super::calls::Call;
use super::super::errno::Errno;
use super::super::{Linux, Served, StopReason};

/// Event for which a thread waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum WaitFor {
    /// A change of a file by another thread: data, room, an event, a lock.
    File(#[serde(with = "crate::checkpoint::text")] StaticText),
    /// A futex that another thread wakes with one of these bits.
    Futex { addr: u64, bits: u32 },
    /// A lock with priority inheritance that its owner gives back; whether the thread was moved there from another futex.
    Lock {
        addr: u64,
        owner: u32,
        is_moved: bool,
    },
    /// To be moved from a futex to a lock.
    Move { addr: u64, lock: u64 },
    /// A signal: one with a handler, or one of a set.
    Signal {
        set: u64,
        #[serde(with = "crate::checkpoint::text")]
        what: StaticText,
    },
    /// The end of a child process.
    Child,
    /// A time.
    Time,
}

impl WaitFor {
    /// The signals that it is for.
    pub(super) fn signals(self) -> u64 {
        match self {
            WaitFor::Signal { set, .. } => set,
            _ => 0,
        }
    }

    /// Whether the call is made again after a handler, whose action asks for that or not.
    fn is_restarted(self, action_restarts: bool) -> bool {
        match self {
            WaitFor::Lock { is_moved, .. } => !is_moved,
            WaitFor::Move { .. } => true,
            _ => action_restarts,
        }
    }

    /// Error that the call returns if a handler ends the wait.
    fn interrupted(self) -> Errno {
        match self {
            WaitFor::Lock { .. } => Errno::EAGAIN,
            _ => Errno::EINTR,
        }
    }
}

impl fmt::Display for WaitFor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WaitFor::File(what) | WaitFor::Signal { what, .. } => f.write_str(what),
            WaitFor::Lock { addr, owner, .. } => {
                write!(f, "the lock at {addr:#x}, which thread {owner} holds")
            }
            WaitFor::Futex { addr, .. } | WaitFor::Move { addr, .. } => {
                write!(f, "the futex at {addr:#x}, which no other thread can wake")
            }
            WaitFor::Child => f.write_str("the end of a child process"),
            WaitFor::Time => f.write_str("a time that never comes"),
        }
    }
}

/// A thread that waits in a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Blocked {
    pub waits_for: WaitFor,
    /// Latest end of the wait, in simulated nanoseconds.
    pub until_ns: Option<u64>,
    /// The event has come.
    pub is_woken: bool,
    /// The thread is in the queue of those that are ready.
    pub is_ready: bool,
    /// Bytes that the call has transferred so far.
    pub done: u64,
}

impl Blocked {
    /// The wait in words, of a thread that others may still wake.
    pub(crate) fn described(&self) -> String {
        let what = match self.waits_for {
            WaitFor::Futex { addr, .. } | WaitFor::Move { addr, .. } => {
                format!("the futex at {addr:#x}")
            }
            WaitFor::Time => "a time".to_owned(),
            other => other.to_string(),
        };
        let until = match self.until_ns {
            Some(until_ns) => format!(", until {until_ns} ns at most"),
            None => String::new(),
        };
        match self.is_ready {
            true => format!("its turn: what it waited for has come ({what})"),
            false => format!("{what}{until}"),
        }
    }

    /// A wait, until `until_ns` of simulated time at most.
    pub(in super::super) fn new(waits_for: WaitFor, until_ns: Option<u64>) -> Blocked {
        Blocked {
            waits_for,
            until_ns,
            is_woken: false,
            is_ready: false,
            done: 0,
        }
    }
}

/// Outcome of the wait of a call that is served again.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Resumed {
    /// Event for which the call waited last.
    pub waits_for: WaitFor,
    /// The end of the wait, as it was when the call was made.
    pub until_ns: Option<u64>,
    /// The event has come.
    pub is_woken: bool,
    /// Bytes that the call has transferred before.
    pub done: u64,
}

impl Linux {
    /// The end of a wait of `nanos` that the current call asks for; if it has waited already, as it was then.
    pub(in super::super) fn wait_end_ns(&self, nanos: u64) -> u64 {
        let resumed = self.call.resumed.and_then(|resumed| resumed.until_ns);
        resumed.unwrap_or_else(|| self.time.now_ns.saturating_add(nanos))
    }

    /// The current call has asked to wait: parks its thread, or ends the wait at once if a signal does.
    pub(in super::super) fn begin_wait(
        &mut self,
        call: Call,
        thread: &mut Thread,
        mem: &mut Memory,
        blocked: Blocked,
    ) -> Served {
        // To be stopped ends no wait.
        self.take_stops(thread);
        if let Some(action_restarts) = self.interrupting(thread)
            && !self.is_stopped()
        {
            self.state.gathers = None;
            if blocked.done > 0 {
                self.abi.set_result(&mut thread.hart, Ok(blocked.done));
            } else if blocked.waits_for.is_restarted(action_restarts) && call.is_restarted() {
                thread.hart.pc = thread.hart.pc.wrapping_sub(CALL_BYTES);
            } else {
                let refusal = blocked.waits_for.interrupted();
                self.abi.set_result(&mut thread.hart, Err(refusal));
            }
            return self.end_call(thread, mem).into();
        }
        if blocked.done > 0 {
            // What has been transferred so far may be what others wait for.
            self.wake_on_files();
        }
        thread.blocked = Some(blocked);
        Served::GivesUp
    }

    /// Serves the call again that a thread has waited in, or delivers the signals of one that had no turn.
    pub(crate) fn resume(&mut self, thread: &mut Thread, mem: &mut Memory) -> Served {
        match thread.blocked.take() {
            None => self.end_call(thread, mem).into(),
            Some(blocked) => {
                self.call.resumed = Some(Resumed {
                    waits_for: blocked.waits_for,
                    until_ns: blocked.until_ns,
                    is_woken: blocked.is_woken,
                    done: blocked.done,
                });
                let result = self.serve_call(thread, mem);
                self.call.resumed = None;
                result
            }
        }
    }

    /// Nobody can run: simulated time goes on to what happens next. False: nothing ever does, which ends the run.
    pub(crate) fn wait_for_next_event(&mut self) -> bool {
        let others = self.next_event_of_others_ns();
        match self.next_event_ns().into_iter().chain(others).min() {
            Some(next) => {
                self.idle_until(next);
                self.look_at_clock(None);
                self.look_at_clocks_of_others();
                true
            }
            None => {
                self.stop_for_deadlock();
                false
            }
        }
    }

    /// Whether somebody waits until a time at most, in any process.
    pub(crate) fn has_sleepers(&self) -> bool {
        let mut all = std::iter::once(self).chain(self.other_processes());
        all.any(|os| os.threads.first_wake_ns().is_some())
    }

    /// Nobody ever runs again.
    pub(crate) fn stop_for_deadlock(&mut self) {
        self.run.stop = Some(StopReason::Deadlock {
            waits_for: self.what_threads_wait_for(),
        });
    }

    /// Simulated time at the current call, in nanoseconds.
    pub(crate) fn now_ns(&self) -> u64 {
        self.time.now_ns
    }

    /// Simulated time is `now_ns`.
    pub(crate) fn set_now(&mut self, now_ns: u64) {
        self.time.now_ns = now_ns;
    }

    /// Simulated time is `now_ns`, and `thread` runs: does what is due.
    pub(crate) fn look_at_clock_at(&mut self, now_ns: u64, thread: &mut Thread) {
        self.time.now_ns = now_ns;
        self.look_at_clock(Some(thread));
        self.look_at_clocks_of_others();
    }

    /// Wakes threads and raises signals whose time has come. `running` is the thread that runs, if one does.
    pub(in super::super) fn look_at_clock(&mut self, running: Option<&mut Thread>) {
        self.expire_timers(running);
        self.threads.wake_sleepers(self.time.now_ns);
    }

    fn what_threads_wait_for(&self) -> String {
        /// Threads that are named, at most.
        const NAMED: usize = 8;
        let waits = |(os, thread): (&Linux, &Thread)| match &thread.blocked {
            _ if os.is_stopped() => "a signal that lets its stopped process go on".to_string(),
            Some(blocked) => blocked.waits_for.to_string(),
            None => "nothing".to_string(),
        };
        let all = || {
            let processes = std::iter::once(self).chain(self.other_processes());
            processes.flat_map(|os| os.threads.all_parked().map(move |thread| (os, thread)))
        };
        let count = all().count();
        if count == 1 {
            return all().next().map(waits).unwrap_or_default();
        }
        let are_processes = self.family.is_shared();
        let name = |os: &Linux, thread: &Thread| match (are_processes, os.threads.count()) {
            (true, 0 | 1) => format!("process {}", os.pid),
            (true, _) => format!("process {}, thread {}", os.pid, thread.tid),
            (false, _) => format!("thread {}", thread.tid),
        };
        let named: Vec<String> = all()
            .take(NAMED)
            .map(|(os, thread)| format!("{}: {}", name(os, thread), waits((os, thread))))
            .collect();
        let more = match count - named.len() {
            0 => String::new(),
            more => format!("; and {more} more threads"),
        };
        format!(
            "what its {} keep from each other: {}{more}",
            if are_processes {
                "processes"
            } else {
                "threads"
            },
            named.join("; ")
        )
    }
}

/// Size of the instruction that makes a system call, in both instruction sets.
const CALL_BYTES: u64 = 4;
