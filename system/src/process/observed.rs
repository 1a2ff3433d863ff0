//! An observer: a thread of instructions in the memory of a process that the operating system does not know
//! (SHIM, ISCA 2015).
//!
//! An observer reads the memory of one program: the one that ran when the observer came. The observer follows that
//! memory. Children have copies, which it does not see; a child of `vfork` has the memory itself for a while. When the
//! program has ended, or its process executes another one, the memory has no owner any more: the observer leaves its
//! context, and what it has left in the memory is [kept](Process::observed_memory).

use hps_isa::bus::Bus;
use hps_isa::hart::Hart;
use hps_isa::memory::{Memory, ThreadWord};

use super::{Guest, Process, Thread};

/// The number of no process. The context of an observer belongs to none.
const NO_PROCESS: u32 = 0;

impl Process {
    /// An observer of this process, with these registers, is on the context from now on, where no thread is.
    pub fn begin_observer(&mut self, hart: Hart) {
        self.thread = Thread::observer(hart);
        self.pid = NO_PROCESS;
    }

    /// Keeps a word of memory for an observer from now on: the thread of any process that is on the processor whose
    /// turn it is now, as `process << 32 | thread`; 0 while no thread is there.
    pub fn show_thread_at(&mut self, addr: u64) {
        self.guest.mem.thread_word = Some(ThreadWord {
            processor: self.guest.os.processor(),
            addr,
        });
        self.guest.show_thread(self.thread.tid);
    }

    /// The process that has the memory that an observer reads; `None` if none has it any more.
    pub fn observed_guest(&mut self) -> Option<&mut Guest> {
        match self.guest.mem.thread_word {
            Some(_) => Some(&mut self.guest),
            None => self.guest.os.family.observed_guest(),
        }
    }

    /// The memory that an observer reads, or has read; `None` without an observer.
    pub fn observed_memory(&mut self) -> Option<&mut Memory> {
        if self.guest.mem.thread_word.is_some() {
            return Some(&mut self.guest.mem);
        }
        let family = &mut self.guest.os.family;
        match family.observed_process() {
            Some(_) => family.observed_guest().map(|guest| &mut guest.mem),
            None => family.left_memory(),
        }
    }
}

impl Guest {
    /// The turn goes to the process that has the memory that an observer reads, if there is one.
    pub(super) fn come_to_observed_memory(&mut self) -> bool {
        if self.mem.thread_word.is_some() {
            return true;
        }
        let process = self.os.family.observed_process();
        process.is_some_and(|pid| self.switch_to(pid))
    }

    /// Shows observers that this thread is on the processor that has the turn now.
    pub(super) fn show_thread(&mut self, thread: u32) {
        let (process, processor) = (u64::from(self.os.pid()), self.os.processor());
        let mem = match self.mem.thread_word {
            Some(_) => &mut self.mem,
            None if !self.os.family.has_others() => return,
            None => match self.os.family.observed_guest() {
                Some(guest) => &mut guest.mem,
                None => return,
            },
        };
        let Some(word) = mem.thread_word.filter(|word| word.processor == processor) else {
            return;
        };
        let shown = match thread {
            0 => 0,
            thread => process << 32 | u64::from(thread),
        };
        // Memory that the guest has taken away shows nothing any more.
        _ = Bus::store::<8>(mem, word.addr, shown);
    }
}
