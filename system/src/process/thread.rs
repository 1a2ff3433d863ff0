//! State that each thread of a guest has of its own.

use hps_isa::hart::{GuestCounters, Hart, NO_RESERVATION};
use serde::{Deserialize, Serialize};

use super::HardwareEvents;
use crate::os::{Blocked, PID, Scheduling, ThreadAttributes, ThreadSignals};

/// A thread of a guest. State that it shares with other threads lies in its [`Guest`](super::Guest).
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Thread {
    /// The registers.
    pub hart: Hart,
    /// Counts of the contexts while the thread was on none of them.
    pub(crate) counted_elsewhere: GuestCounters,
    /// Events of the thread's contexts, if the machine [offers](super::OfferedEvents) them.
    pub events: HardwareEvents,
    /// Events of the contexts while the thread was on none of them.
    pub(crate) events_elsewhere: HardwareEvents,
    /// Processor time of the thread until it left its last context, in nanoseconds.
    pub(crate) processor_ns: u64,
    /// Number of the thread, as `gettid` tells it.
    pub tid: u32,
    /// Name of the thread (`PR_SET_NAME`), padded with zeros.
    pub name: [u8; Thread::NAME_BYTES],
    /// Address of the word that is cleared when the thread ends (`set_tid_address`); 0: none.
    pub clear_tid: u64,
    /// The head of the list of locks that the thread may hold when it ends (`set_robust_list`);
    /// 0: none.
    pub robust_list: u64,
    /// Mask, alternate stack, signals sent to this thread.
    pub(crate) signals: ThreadSignals,
    pub(crate) attributes: ThreadAttributes,
    pub(crate) scheduling: Scheduling,
    /// Alpha: what to do with accesses that are not aligned (`UAC_*`).
    pub(crate) unaligned_control: u64,
    /// The call that it waits in, if it does.
    pub(crate) blocked: Option<Blocked>,
}

impl Thread {
    /// Bytes of a name, the closing zero among them.
    pub const NAME_BYTES: usize = 16;

    /// A name as text, up to the byte that ends it.
    pub(crate) fn readable_name(name: &[u8; Thread::NAME_BYTES]) -> String {
        let len = name.iter().position(|&b| b == 0).unwrap_or(name.len());
        String::from_utf8_lossy(&name[..len]).into_owned()
    }
    /// The number of no thread.
    const NOBODY: u32 = 0;
    /// The number of an observer, which no thread of a guest gets.
    const OBSERVER: u32 = u32::MAX;

    /// The first thread of a guest, which has the guest's number.
    #[must_use]
    pub fn first(hart: Hart) -> Thread {
        Thread {
            hart,
            counted_elsewhere: GuestCounters::default(),
            events: HardwareEvents::default(),
            events_elsewhere: HardwareEvents::default(),
            processor_ns: 0,
            tid: PID,
            name: [0; Thread::NAME_BYTES],
            clear_tid: 0,
            robust_list: 0,
            signals: ThreadSignals::default(),
            attributes: ThreadAttributes::default(),
            scheduling: Scheduling::default(),
            unaligned_control: 0,
            blocked: None,
        }
    }

    /// Counts of the thread's contexts, without those while it was on none of them, from some point on.
    #[must_use]
    pub(crate) fn own_counters(&self) -> GuestCounters {
        self.hart.counters.since(self.counted_elsewhere)
    }

    /// Events of the thread's contexts, without those while it was on none of them, from some point on.
    #[must_use]
    pub(crate) fn own_events(&self) -> HardwareEvents {
        self.events.since(self.events_elsewhere)
    }

    /// The idle context that this thread leaves: its registers and counts, and no thread.
    #[must_use]
    pub(crate) fn idle(&self) -> Thread {
        Thread {
            tid: Thread::NOBODY,
            events: self.events,
            ..Thread::first(self.hart.clone())
        }
    }

    /// Whether this is an idle context and no thread.
    pub(crate) fn is_idle(&self) -> bool {
        self.tid == Thread::NOBODY
    }

    /// An observer: no thread of the guest, and unknown to its operating system, but in its memory.
    #[must_use]
    pub fn observer(hart: Hart) -> Thread {
        Thread {
            tid: Thread::OBSERVER,
            ..Thread::first(hart)
        }
    }

    /// Whether this is an observer.
    #[must_use]
    pub fn is_observer(&self) -> bool {
        self.tid == Thread::OBSERVER
    }

    /// The first thread of a process that this one makes, as it is at that time: a thread with the same alternate stack.
    #[must_use]
    pub(crate) fn forked(&self, pid: u32) -> Thread {
        Thread {
            signals: self.signals.of_process(),
            ..self.child(pid)
        }
    }

    /// A thread that this one makes, as it is at that time. It has the registers, the name and the mask of
    /// signals, but no signals of its own and no alternate stack.
    #[must_use]
    pub(crate) fn child(&self, tid: u32) -> Thread {
        Thread {
            hart: Hart {
                reservation: NO_RESERVATION,
                ..self.hart.clone()
            },
            tid,
            processor_ns: 0,
            clear_tid: 0,
            robust_list: 0,
            signals: self.signals.of_child(),
            blocked: None,
            ..self.clone()
        }
    }
}
