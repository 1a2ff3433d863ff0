//! Hardware contexts: which thread runs on each of them.
//!
//! A guest runs on one context unless a machine says otherwise ([`Linux::set_processors`]). With several, a machine
//! lends the guest to the context whose turn it is; the threads on the others are known here by what calls may ask of
//! them. A context without a thread is idle, until its machine finds one that is ready for it.

use serde::{Deserialize, Serialize};

use super::super::signals::SigInfo;
use super::super::{Linux, PID};
use super::Threads;
use crate::process::Thread;

/// Record of a thread on a context.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Running {
    pub(super) tid: u32,
    robust_list: u64,
    /// Signals that it does not take.
    blocked: u64,
    /// The processors that it may run on.
    processors: u64,
    /// Signals to it that other contexts have sent since it looked.
    arrived: Vec<SigInfo>,
}

/// A thread's stay on a context, from which its processor time follows.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Stay {
    tid: u32,
    /// When it came, in simulated nanoseconds.
    since_ns: u64,
    /// Processor time of the thread until then, in nanoseconds.
    before_ns: u64,
}

impl Stay {
    /// Processor time of the thread on this stay, in nanoseconds.
    fn spent_ns(&self, now_ns: u64) -> u64 {
        // Contexts take turns: this one may have come a little further than the one that asks.
        now_ns.saturating_sub(self.since_ns)
    }
}

/// A hardware context.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Context {
    /// The thread there, unless the context is idle.
    running: Option<Running>,
    /// Since when a thread is there.
    stay: Option<Stay>,
    slice_end_ns: u64,
    /// The thread there has to look for signals.
    must_look: bool,
    /// The context belongs to an observer; the guest does not see it.
    is_kept: bool,
}

/// The contexts of a guest, and the one whose turn it is.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Contexts {
    all: Vec<Context>,
    /// [`NOWHERE`] while another process has the turn.
    here: usize,
    /// A call may have changed what another context does next.
    changed: bool,
}

/// The number of no context.
const NOWHERE: usize = usize::MAX;

impl Contexts {
    /// One context, on which the first thread is from the beginning.
    pub(super) fn one() -> Contexts {
        let stay = Stay {
            tid: PID,
            since_ns: 0,
            before_ns: 0,
        };
        let only = Context {
            stay: Some(stay),
            ..Context::default()
        };
        Contexts {
            all: vec![only],
            here: 0,
            changed: false,
        }
    }

    /// Contexts of a child, whose turn it is on none of them.
    pub(super) fn of_child(&self) -> Contexts {
        let without_threads = self.all.iter().map(|context| Context {
            is_kept: context.is_kept,
            ..Context::default()
        });
        Contexts {
            all: without_threads.collect(),
            here: NOWHERE,
            changed: false,
        }
    }

    pub(super) fn set_slice_end(&mut self, slice_end_ns: u64) {
        self.all[self.here].slice_end_ns = slice_end_ns;
    }

    pub(super) fn slice_end_ns(&self) -> u64 {
        self.all[self.here].slice_end_ns
    }

    /// Whether a set of processors, as a mask, has the context whose turn it is.
    pub(super) fn is_here_in(&self, processors: u64) -> bool {
        processors >> self.here & 1 != 0
    }

    pub(super) fn others(&self) -> impl Iterator<Item = &Running> {
        let all = self.all.iter().enumerate();
        let others = all.filter(|(number, _)| *number != self.here);
        others.filter_map(|(_, context)| context.running.as_ref())
    }

    /// Tells a thread something that runs on a context, which has to look at it.
    fn tell(&mut self, tid: u32, what: impl FnOnce(&mut Running)) {
        for context in &mut self.all {
            if let Some(running) = &mut context.running
                && running.tid == tid
            {
                what(running);
                context.must_look = true;
                self.changed = true;
                return;
            }
        }
    }

    /// Threads on contexts other than the one whose turn it is.
    pub(super) fn count_others(&self) -> usize {
        self.others().count()
    }
}

impl Threads {
    /// Whether a thread of these is on the context whose turn it is.
    pub(in super::super) fn is_here(&self, tid: u32) -> bool {
        match &self.contexts.all[..] {
            // Nobody notes who is on an only context.
            [_] => self.contexts.here == 0 && self.parked(tid).is_none(),
            all => all
                .get(self.contexts.here)
                .and_then(|context| context.running.as_ref())
                .is_some_and(|running| running.tid == tid),
        }
    }

    /// Whether a thread runs on another context.
    pub(crate) fn others_run(&self) -> bool {
        self.contexts.count_others() > 0
    }

    /// The turn on the context goes from the process of `before` to the one of these threads.
    pub(in super::super) fn take_turn(&mut self, before: &mut Threads) {
        self.contexts.here = std::mem::replace(&mut before.contexts.here, NOWHERE);
    }

    /// The thread leaves this context at a simulated time.
    pub(in super::super) fn leave_context(&mut self, thread: &mut Thread, now_ns: u64) {
        let here = self.contexts.here;
        self.contexts.all[here].running = None;
        if let Some(stay) = self.contexts.all[here].stay.take() {
            thread.processor_ns = stay.before_ns + stay.spent_ns(now_ns);
            self.processor_ns += stay.spent_ns(now_ns);
        }
    }

    /// A thread comes to this context at a simulated time.
    pub(super) fn come_to_context(&mut self, thread: &Thread, now_ns: u64) {
        self.contexts.all[self.contexts.here].stay = Some(Stay {
            tid: thread.tid,
            since_ns: now_ns,
            before_ns: thread.processor_ns,
        });
    }

    /// The number of the thread on this context, if one is there.
    pub(in super::super) fn tid_here(&self) -> Option<u32> {
        let context = self.contexts.all.get(self.contexts.here)?;
        Some(context.stay?.tid)
    }

    /// The thread on this context has another number from now on.
    pub(in super::super) fn rename_here(&mut self, tid: u32) {
        let here = self.contexts.here;
        if let Some(stay) = &mut self.contexts.all[here].stay {
            stay.tid = tid;
        }
    }

    fn stays(&self) -> impl Iterator<Item = &Stay> {
        let all = self.contexts.all.iter();
        all.filter_map(|context| context.stay.as_ref())
    }

    /// How many threads run.
    pub(in super::super) fn running(&self) -> u64 {
        self.stays().count() as u64
    }

    /// Processor time of all threads together, those that have ended among them, in nanoseconds.
    pub(in super::super) fn processor_ns(&self, now_ns: u64) -> u64 {
        let on_contexts: u64 = self.stays().map(|stay| stay.spent_ns(now_ns)).sum();
        self.processor_ns + on_contexts
    }

    /// Whether a thread is on a context, and its processor time in nanoseconds; `None` if there is no such thread.
    pub(in super::super) fn processor_ns_of(&self, tid: u32, now_ns: u64) -> Option<(bool, u64)> {
        let stay = self.stays().find(|stay| stay.tid == tid);
        let running = stay.map(|stay| (true, stay.before_ns + stay.spent_ns(now_ns)));
        running.or_else(|| Some((false, self.parked(tid)?.processor_ns)))
    }

    /// The lists of locks of the threads on other contexts, with the numbers of these.
    pub(in super::super) fn robust_lists_elsewhere(&self) -> Vec<(u32, u64)> {
        let others = self.contexts.others();
        others.map(|other| (other.tid, other.robust_list)).collect()
    }

    /// Whether there is a thread with this number.
    pub(in super::super) fn has(&self, tid: u32) -> bool {
        self.parked.contains_key(&tid) || self.stays().any(|stay| stay.tid == tid)
    }

    /// How many signals wait for threads other than the one on this context.
    pub(super) fn signals_waiting(&self) -> u64 {
        let parked = self.all_parked();
        let parked: u64 = parked.map(|thread| thread.signals.pending.len()).sum();
        let others = self.contexts.others();
        parked + others.map(|other| other.arrived.len() as u64).sum::<u64>()
    }

    /// Whether there is a thread with this number that is not the caller.
    pub(in super::super) fn has_other(&self, tid: u32) -> bool {
        self.parked.contains_key(&tid) || self.contexts.others().any(|other| other.tid == tid)
    }

    /// The list of locks of a thread that is not the caller.
    pub(super) fn robust_list_of(&self, tid: u32) -> Option<u64> {
        let parked = self.parked(tid).map(|thread| thread.robust_list);
        let mut others = self.contexts.others();
        parked.or_else(|| Some(others.find(|other| other.tid == tid)?.robust_list))
    }

    /// Keeps a signal for a thread that runs on another context.
    pub(super) fn post_elsewhere(&mut self, tid: u32, info: SigInfo) {
        self.contexts
            .tell(tid, |running| running.arrived.push(info));
    }

    /// A signal of the process waits: lets a thread on another context look that takes one of `signals`.
    pub(super) fn let_another_look(&mut self, signals: u64) {
        let contexts = &mut self.contexts;
        let here = contexts.here;
        let mut others = contexts.all.iter_mut().enumerate();
        let taker = others.find(|(number, context)| {
            let running = context.running.as_ref();
            *number != here && running.is_some_and(|running| signals & !running.blocked != 0)
        });
        if let Some((_, context)) = taker {
            context.must_look = true;
            contexts.changed = true;
        }
    }

    /// Lets the threads on all other contexts look whether they may stay there.
    pub(in super::super) fn let_all_look(&mut self) {
        let contexts = &mut self.contexts;
        for (number, context) in contexts.all.iter_mut().enumerate() {
            context.must_look |= number != contexts.here && context.running.is_some();
        }
        contexts.changed = true;
    }

    /// The processors that a thread may run on that is not the caller, as a mask.
    pub(in super::super) fn processors_of(&self, tid: u32) -> Option<u64> {
        let parked = self
            .parked(tid)
            .map(|thread| thread.scheduling.processors());
        let mut others = self.contexts.others();
        parked.or_else(|| Some(others.find(|other| other.tid == tid)?.processors))
    }

    /// Says which processors a thread may run on that is not the caller.
    pub(in super::super) fn set_processors_of(&mut self, tid: u32, processors: u64) {
        if let Some(thread) = self.parked_mut(tid) {
            thread.scheduling.set_processors(processors);
        }
        self.contexts
            .tell(tid, |running| running.processors = processors);
    }

    /// Hands the thread on this context what other contexts have sent to it.
    pub(crate) fn receive(&mut self, thread: &mut Thread) {
        let context = &mut self.contexts.all[self.contexts.here];
        if let Some(running) = &mut context.running {
            thread.scheduling.set_processors(running.processors);
            for info in running.arrived.drain(..) {
                thread.signals.pending.post(info);
            }
        }
    }

    /// Notes what others may ask of the thread on this context, after it has made a call.
    pub(crate) fn note(&mut self, thread: &Thread) {
        let contexts = &mut self.contexts;
        if contexts.all.len() == 1 {
            return;
        }
        contexts.changed = true;
        let context = &mut contexts.all[contexts.here];
        if thread.is_idle() {
            context.running = None;
            return;
        }
        let before = context.running.take();
        let arrived = before.map_or_else(Vec::new, |running| {
            // What has come for a thread that has left meanwhile has been received before.
            running.arrived
        });
        context.running = Some(Running {
            tid: thread.tid,
            robust_list: thread.robust_list,
            blocked: thread.signals.blocked,
            processors: thread.scheduling.processors(),
            arrived,
        });
    }

    /// Whether the thread on this context may not run there any more.
    pub(in super::super) fn has_to_go(&self, thread: &Thread) -> bool {
        !self.contexts.is_here_in(thread.scheduling.processors())
    }

    /// Whether a thread is ready that a context may run.
    pub(in super::super) fn has_ready_for(&self, context: usize) -> bool {
        if self.contexts.all[context].is_kept {
            return false;
        }
        self.ready.iter().any(|tid| {
            self.parked(*tid)
                .is_some_and(|t| t.scheduling.processors() >> context & 1 != 0)
        })
    }
}

impl Linux {
    /// The most processors that a guest can have.
    pub const MOST_PROCESSORS: usize = 64;

    /// The guest runs on a number of hardware contexts, up to [`MOST_PROCESSORS`](Self::MOST_PROCESSORS). Those
    /// behind the first are idle.
    pub fn set_processors(&mut self, count: usize, first: &Thread) {
        let count = count.clamp(1, Self::MOST_PROCESSORS);
        let stay = self.threads.contexts.all[0].stay;
        self.threads.contexts.all = vec![Context::default(); count];
        self.threads.contexts.all[0].stay = stay;
        self.threads.contexts.here = 0;
        self.threads.note(first);
    }

    /// Keeps a context for an observer. Observers have the last contexts.
    pub fn keep_for_observer(&mut self, context: usize) {
        self.threads.contexts.all[context].is_kept = true;
    }

    /// How many processors the guest sees.
    pub(in super::super) fn processors(&self) -> usize {
        let all = self.threads.contexts.all.iter();
        all.filter(|context| !context.is_kept).count()
    }

    /// The processor that makes the current call.
    pub(crate) fn processor(&self) -> usize {
        self.threads.contexts.here
    }

    /// The guest is lent to a context, whose turn it is from now on.
    pub(crate) fn turn_to(&mut self, context: usize) {
        self.threads.contexts.here = context;
    }

    /// Whether a call has changed, since this was asked, what contexts other than its own do next.
    pub fn take_changes(&mut self) -> bool {
        std::mem::take(&mut self.threads.contexts.changed)
    }

    /// Notes that contexts other than the one whose turn it is may do something else next.
    pub fn note_change(&mut self) {
        self.threads.contexts.changed = true;
    }

    /// Whether a thread of any process is ready that a context may run.
    #[must_use]
    pub fn has_thread_for(&self, context: usize) -> bool {
        self.has_own_thread_for(context) || self.family.has_ready_for(context)
    }

    /// Whether the thread on a context has to look for signals at once. It is asked for only once.
    pub fn take_look(&mut self, context: usize) -> bool {
        std::mem::take(&mut self.threads.contexts.all[context].must_look)
    }
}
