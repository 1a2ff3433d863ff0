//! The threads of a guest: which of them run, which wait for their turn, and which wait for something.
//!
//! A hardware context runs one thread, which lies in its [`Process`](crate::process::Process); with several contexts
//! ([`contexts`]) each has one, or none. All others are *parked* here. A thread is parked by a call that waits
//! ([`wait`]) or because its time slice is over, and comes back through one queue, first come, first served. Whatever wakes a thread puts it behind all others that are
//! ready, so that the order of threads follows from the program and the seed alone.

mod clone;
mod contexts;
mod futex;
mod pi;
mod signal;
mod tables;
mod wait;

use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

pub(super) use self::clone::{Request, flag};
use self::contexts::Contexts;
use self::futex::Futexes;
use self::pi::PiFutexes;
pub use self::tables::ThreadTables;
pub(crate) use self::wait::Blocked;
pub(super) use self::wait::{Resumed, WaitFor};
use hps_isa::random::Random;

use super::PID;
use super::signals::Pending;
use crate::process::Thread;

/// How threads share a hardware context.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadRules {
    /// How long a thread runs while others are ready, in simulated nanoseconds. In a functional run an instruction
    /// takes one.
    pub slice_ns: u64,
    /// Slices vary between half of that and one and a half of it, drawn with this seed; `None`: all are equal.
    pub seed: Option<u64>,
    /// The most threads that a guest may have at a time.
    pub limit: u32,
}

impl ThreadRules {
    /// The shortest time slice, in nanoseconds: a thread gets somewhere in it.
    pub const SHORTEST_SLICE_NS: u64 = 100;
}

impl Default for ThreadRules {
    fn default() -> Self {
        ThreadRules {
            slice_ns: 100_000,
            seed: None,
            // Each takes some kilobytes of the host.
            limit: 8192,
        }
    }
}

/// The threads of a guest that no hardware context runs, and what it knows of those that do.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Threads {
    parked: BTreeMap<u32, Box<Thread>>,
    /// Threads that can run, in the order in which they will.
    ready: VecDeque<u32>,
    /// Threads that wait for a time, in nanoseconds, and perhaps for something else.
    sleeping: BTreeSet<(u64, u32)>,
    /// Threads that wait for what another thread may do to a file.
    on_files: Vec<u32>,
    futexes: Futexes,
    pi: PiFutexes,
    last_tid: u32,
    rules: ThreadRules,
    random: Option<Random>,
    contexts: Contexts,
    /// The exit code of the process, if its first thread has ended before others.
    first_code: Option<i32>,
    /// Processor time of all threads until they left their contexts, in nanoseconds.
    processor_ns: u64,
    /// Tables of handlers that threads have of their own.
    pub(crate) tables: tables::Given,
}

impl Threads {
    pub(super) fn new(rules: ThreadRules) -> Threads {
        Threads {
            parked: BTreeMap::new(),
            ready: VecDeque::new(),
            sleeping: BTreeSet::new(),
            on_files: Vec::new(),
            futexes: Futexes::default(),
            pi: PiFutexes::default(),
            last_tid: PID,
            rules,
            random: rules.seed.map(Random::new),
            contexts: Contexts::one(),
            first_code: None,
            processor_ns: 0,
            tables: tables::Given::default(),
        }
    }

    /// Threads of a child, of which there is none yet.
    pub(super) fn of_child(&self) -> Threads {
        Threads {
            random: self.random.clone(),
            contexts: self.contexts.of_child(),
            last_tid: self.last_tid,
            ..Threads::new(self.rules)
        }
    }

    /// A number for a thread or a process, which no other one had.
    pub(super) fn next_number(&mut self) -> u32 {
        self.last_tid += 1;
        self.last_tid
    }

    /// Numbers go on behind those that another process has given.
    pub(super) fn go_on_counting(&mut self, other: &Threads) {
        self.last_tid = other.last_tid;
    }

    /// All threads end but for the one that runs.
    pub(super) fn end_others(&mut self) {
        self.parked.clear();
        self.ready.clear();
        self.sleeping.clear();
        self.on_files.clear();
        self.futexes = Futexes::default();
        self.pi = PiFutexes::default();
        self.first_code = None;
    }

    /// The numbers of all threads, in ascending order. `here` is the one on the context whose turn it is.
    pub(super) fn numbers(&self, here: Option<u32>) -> Vec<u32> {
        let mut numbers: Vec<u32> = self.parked.keys().copied().collect();
        numbers.extend(self.contexts.others().map(|running| running.tid));
        numbers.extend(here);
        numbers.sort_unstable();
        numbers.dedup();
        numbers
    }

    /// How many threads there are, with those that run.
    pub(super) fn count(&self) -> usize {
        self.parked.len() + 1 + self.contexts.count_others()
    }

    /// Whether the thread that makes the call is the only one.
    pub(super) fn is_alone(&self) -> bool {
        self.count() == 1
    }

    /// Whether there can be no more threads.
    fn is_full(&self) -> bool {
        self.count() >= self.rules.limit as usize
    }

    /// Whether another thread waits for its turn.
    pub(crate) fn has_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// The thread with this number, unless it runs.
    pub(crate) fn parked(&self, tid: u32) -> Option<&Thread> {
        self.parked.get(&tid).map(|thread| &**thread)
    }

    pub(super) fn parked_mut(&mut self, tid: u32) -> Option<&mut Thread> {
        self.parked.get_mut(&tid).map(|thread| &mut **thread)
    }

    /// The signals that wait for a thread that does not run.
    pub(super) fn pending_of(&mut self, tid: u32) -> Option<&mut Pending> {
        Some(&mut self.parked_mut(tid)?.signals.pending)
    }

    /// All threads that do not run, by their numbers.
    pub(crate) fn all_parked(&self) -> impl Iterator<Item = &Thread> {
        self.parked.values().map(|thread| &**thread)
    }

    /// Takes a thread that does not run any more: one that waits for something, or one that is ready.
    pub(crate) fn park(&mut self, thread: Box<Thread>) {
        let tid = thread.tid;
        match &thread.blocked {
            None => self.ready.push_back(tid),
            Some(blocked) => {
                if let Some(until) = blocked.until_ns {
                    self.sleeping.insert((until, tid));
                }
                match blocked.waits_for {
                    WaitFor::File(_) => self.on_files.push(tid),
                    WaitFor::Futex { addr, bits } => self.futexes.wait(addr, tid, bits),
                    WaitFor::Lock { addr, owner, .. } => self.pi.wait_for_lock(addr, owner, tid),
                    WaitFor::Move { addr, lock } => self.pi.wait_to_move(addr, lock, tid),
                    WaitFor::Signal { .. } | WaitFor::Child | WaitFor::Time => {}
                }
            }
        }
        self.parked.insert(tid, thread);
    }

    /// The thread whose turn it is on this context, which gets a new time slice from `now_ns` on. Threads that go
    /// anywhere do so whatever processors they asked for.
    pub(super) fn next(&mut self, now_ns: u64, goes_anywhere: bool) -> Option<Box<Thread>> {
        let first = self.ready.iter().position(|tid| {
            let thread = self.parked(*tid);
            goes_anywhere
                || thread.is_some_and(|t| self.contexts.is_here_in(t.scheduling.processors()))
        });
        let tid = self.ready.remove(first?)?;
        let slice_ns = self.draw_slice();
        self.contexts.set_slice_end(now_ns.saturating_add(slice_ns));
        let thread = self.parked.remove(&tid)?;
        self.come_to_context(&thread, now_ns);
        Some(thread)
    }

    fn draw_slice(&mut self) -> u64 {
        let slice_ns = self.rules.slice_ns.max(ThreadRules::SHORTEST_SLICE_NS);
        match &mut self.random {
            None => slice_ns,
            Some(random) => slice_ns / 2 + random.below(slice_ns + 1),
        }
    }

    /// A signal does not wait for any thread that is parked.
    pub(super) fn discard_signal(&mut self, signal: u8) {
        for thread in self.parked.values_mut() {
            thread.signals.pending.discard(signal);
        }
    }

    /// The thread stops to wait, and looks again at what it waits for when its turn comes.
    pub(super) fn wake(&mut self, tid: u32) {
        let thread = self.parked.get_mut(&tid);
        let Some(blocked) = thread.and_then(|thread| thread.blocked.as_mut()) else {
            return;
        };
        if std::mem::replace(&mut blocked.is_ready, true) {
            return;
        }
        self.ready.push_back(tid);
        if let Some(until) = blocked.until_ns {
            self.sleeping.remove(&(until, tid));
        }
        match blocked.waits_for {
            WaitFor::File(_) => self.on_files.retain(|other| *other != tid),
            WaitFor::Futex { addr, .. } => self.futexes.forget(addr, tid),
            WaitFor::Lock { addr, .. } => self.pi.leave_lock(addr, tid),
            WaitFor::Move { addr, .. } => self.pi.leave_condition(addr, tid),
            WaitFor::Signal { .. } | WaitFor::Child | WaitFor::Time => {}
        }
    }

    /// A file has changed: whoever waits for one looks again.
    pub(super) fn wake_on_files(&mut self) {
        for tid in std::mem::take(&mut self.on_files) {
            self.wake(tid);
        }
    }

    /// Wakes those that have waited until now.
    pub(super) fn wake_sleepers(&mut self, now_ns: u64) {
        while let Some((until, tid)) = self.sleeping.first().copied()
            && until <= now_ns
        {
            self.sleeping.remove(&(until, tid));
            self.wake(tid);
        }
    }

    /// When the first sleeper wakes, in nanoseconds.
    pub(super) fn first_wake_ns(&self) -> Option<u64> {
        self.sleeping.first().map(|(until, _)| *until)
    }

    /// Whether the running thread has had its share while others wait for theirs.
    pub(super) fn slice_is_over(&self, now_ns: u64, others_are_ready: bool) -> bool {
        (self.has_ready() || others_are_ready) && now_ns >= self.contexts.slice_end_ns()
    }

    /// When the operating system has to look at its threads again, in nanoseconds.
    pub(super) fn deadline_ns(&self, others_are_ready: bool) -> Option<u64> {
        let has_ready = self.has_ready() || others_are_ready;
        let slice = has_ready.then(|| self.contexts.slice_end_ns());
        slice.into_iter().chain(self.first_wake_ns()).min()
    }
}
