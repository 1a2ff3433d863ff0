//! Scheduling: how a hardware context goes from one thread of a guest to the next.
//!
//! A thread gives up the context in a system call (it waits, it yields, it ends) or because its time slice is over.
//! The second kind, and all that simulated time brings, happens where a machine comes to the process's deadline
//! ([`Linux::deadline_ns`](crate::os::Linux::deadline_ns)) and asks it to [attend](Process::attend).
//!
//! A machine with several contexts has a process for each, and one guest, which it lends to the one whose turn it is.
//! A context for which no thread is ready is idle; its machine lets it take one as soon as one is.

use hps_isa::editor::DecodeEditor;
use hps_isa::hart::{Hart, NO_RESERVATION};
use hps_isa::ids::DisePc;
use hps_isa::inst::{OpClass, reg};
use hps_isa::trap::TrapCause;

use super::accounts::Accounts;
use super::{Process, Then, Thread};
use crate::image::LoadError;
use crate::os::{LOOK_WORK, Served, SyscallResult};

impl Process {
    /// Serves the system call that the thread makes: see [`Linux::syscall`](crate::os::Linux::syscall). If the thread
    /// cannot go on, the next one is on the context afterwards. If none can, simulated time goes on until one can.
    pub fn syscall(&mut self) -> SyscallResult {
        self.caller = self.thread.tid;
        self.calling_program = self.program;
        self.guest.limit_memory();
        self.guest.os.note_file_changes();
        self.guest.os.threads.receive(&mut self.thread);
        let pid = self.guest.os.pid();
        let reserved = self.guest.reservations.contents(&self.guest.mem);
        let served = self.guest.os.syscall(&mut self.thread, &mut self.guest.mem);
        self.loaded_stack_pointer = match served {
            Served::Returns { stack_pointer } => stack_pointer,
            _ => 0,
        };
        let result = self.settle(served);
        self.note();
        let guest = &mut self.guest;
        match guest.os.pid() == pid {
            true => guest.reservations.keep_unchanged(&reserved, &guest.mem),
            false => guest.reservations.clear(),
        }
        result
    }

    /// The number of the thread that an instruction belongs to which commits now. A system call has been executed
    /// before, and another thread may be on the context since then.
    #[must_use]
    pub fn thread_of(&self, class: OpClass) -> u32 {
        match class {
            OpClass::Syscall => self.caller,
            _ => self.thread.tid,
        }
    }

    /// The stack pointer that the system call which commits now has loaded with all other registers, as the return from
    /// a signal does; 0 if it has not.
    #[must_use]
    pub fn loaded_stack_pointer(&self) -> u64 {
        self.loaded_stack_pointer
    }

    /// The number of the program that an instruction belongs to which commits now, as [`thread_of`](Self::thread_of)
    /// says of its thread: see [`Linux::program_number`](crate::os::Linux::program_number).
    #[must_use]
    pub fn program_of(&self, class: OpClass) -> u32 {
        match class {
            OpClass::Syscall => self.calling_program,
            _ => self.program,
        }
    }

    /// The number of the program on the context, or of the one that was there last.
    #[must_use]
    pub fn program(&self) -> u32 {
        self.program
    }

    /// Does what is due by the operating system's clock, between two instructions of the program: wakes threads,
    /// raises signals of timers, and gives the context to the next thread if the time slice of this one is over.
    /// `hart.counters` hold the time; `pc` is the next instruction, where the editor has laid it out.
    pub fn attend<E: DecodeEditor>(&mut self, editor: &E, pc: u64) -> Then {
        if self.thread.is_observer() {
            return Then::Next;
        }
        let original = editor.original(pc);
        let hart = &mut self.thread.hart;
        (hart.pc, hart.disepc) = (original, DisePc::NONE);
        if self.guest.os.is_late_after(WORK_OF_LOOK) {
            return Then::Fault(TrapCause::Stopped);
        }
        let hart = &self.thread.hart;
        let now_ns = hart.counters.time_ns;
        let tid = self.thread.tid;
        self.guest.os.threads.receive(&mut self.thread);
        self.guest.os.look_at_clock_at(now_ns, &mut self.thread);
        let guest = &mut self.guest;
        guest.os.take_samples(&mut self.thread, &mut guest.mem);
        let has_to_go = self.guest.os.has_to_go(&self.thread);
        let served = if has_to_go || self.guest.os.slice_is_over(now_ns) {
            Served::GivesUp
        } else {
            self.resume()
        };
        let result = self.settle(served);
        self.note();
        let Hart { pc: to, disepc, .. } = self.thread.hart;
        if result == SyscallResult::Continue
            && (self.thread.tid, to, disepc) == (tid, original, DisePc::NONE)
        {
            self.thread.hart.pc = pc;
            return Then::Next;
        }
        self.goes_on(editor, pc, result)
    }

    /// Whether nothing is due yet but a look at counters, whose event has not come often enough for a sample. `hart.counters`
    /// and the thread's events hold what they count.
    #[cold]
    pub fn only_counts(&mut self) -> bool {
        if !self.guest.os.takes_samples() {
            return false;
        }
        let now_ns = self.thread.hart.counters.time_ns;
        self.guest.os.put_off_samples(&self.thread, now_ns);
        self.guest.os.deadline_ns() > now_ns
    }

    /// The context is idle: takes the next thread that may run on it, if there is one. `hart.counters` hold the time.
    /// [`is_idle`](Self::is_idle) says whether it still is.
    pub fn take_thread<E: DecodeEditor>(&mut self, editor: &E) -> Then {
        let now_ns = self.thread.hart.counters.time_ns;
        self.guest.os.set_now(now_ns);
        let result = self.turn_over(true);
        self.note();
        self.goes_on(editor, self.thread.hart.pc, result)
    }

    /// The place at which the context goes on after another thread may have come to it. `pc` is its place before.
    fn goes_on<E: DecodeEditor>(&self, editor: &E, pc: u64, result: SyscallResult) -> Then {
        match result {
            SyscallResult::Exit(code) => Then::Exit(code),
            SyscallResult::Trap => Then::Fault(TrapCause::Stopped),
            SyscallResult::Continue => {
                let Hart { pc: to, disepc, .. } = self.thread.hart;
                let pc = editor.place(pc, to);
                Then::Elsewhere { pc, disepc }
            }
        }
    }

    /// Whether no thread runs on the context.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.thread.is_idle()
    }

    /// An idle context beside this one. It has a guest only while this one [lends](Self::lend) it.
    ///
    /// # Errors
    /// If the host refuses memory.
    pub fn beside(&self) -> Result<Process, LoadError> {
        Ok(Process {
            guest: self.guest.vacant()?,
            thread: self.thread.idle(),
            caller: self.caller,
            calling_program: self.calling_program,
            loaded_stack_pointer: 0,
            program: self.program,
            pid: self.pid,
            accounts: Accounts::default(),
        })
    }

    /// Lends the guest to the context of another process that was made [beside](Self::beside) it, whose number among
    /// the guest's processors is given. If the thread there belongs to another process of the run, that process has the
    /// turn then; for an observer it is the process with the memory that the observer reads. `false`: that process has
    /// ended, or no process has that memory any more; see [`lose_thread`](Self::lose_thread).
    #[inline]
    pub fn lend(&mut self, to: &mut Process, processor: usize) -> bool {
        std::mem::swap(&mut self.guest, &mut to.guest);
        to.guest.os.turn_to(processor);
        to.guest.os.pid() == to.pid || to.thread.is_idle() || to.have_turn()
    }

    #[cold]
    fn have_turn(&mut self) -> bool {
        match self.thread.is_observer() {
            true => self.guest.come_to_observed_memory(),
            false => self.guest.switch_to(self.pid),
        }
    }

    /// The process of the thread on this context has ended: no thread is here any more.
    pub fn lose_thread(&mut self) {
        self.thread = self.thread.idle();
        self.note();
    }

    /// Notes the thread, the process and the program on this context.
    pub(super) fn note(&mut self) {
        self.account();
        self.guest.os.threads.note(&self.thread);
        self.pid = self.guest.os.pid();
        self.program = self.guest.os.program_number();
        self.guest.show_thread(self.thread.tid);
        self.accounts.counts_for = (!self.thread.is_idle()).then_some((self.program, self.pid));
    }

    /// Serves the call again that the thread has waited in: see [`Linux::resume`](crate::os::Linux).
    fn resume(&mut self) -> Served {
        self.guest.os.resume(&mut self.thread, &mut self.guest.mem)
    }

    /// Ends the process or gives the context to another thread, if the result of a call demands it.
    fn settle(&mut self, served: Served) -> SyscallResult {
        match self.ends_or_goes_on(served) {
            Ok(SyscallResult::Exit(code)) => self.leave(code),
            Ok(result) => result,
            Err(has_ended) => self.turn_over(has_ended),
        }
    }

    /// Runs the program that a call has asked for. Gives what became of the process, or whether the thread that gives up
    /// its turn has ended.
    fn ends_or_goes_on(&mut self, served: Served) -> Result<SyscallResult, bool> {
        let result = match served {
            Served::Goes(result) => result,
            Served::Returns { .. } => SyscallResult::Continue,
            Served::Executes(execution) => {
                self.execute(&execution);
                let served = self.resume();
                return self.ends_or_goes_on(served);
            }
            Served::GivesUp => return Err(false),
            Served::Ends => return Err(true),
        };
        match result {
            SyscallResult::Continue if self.guest.os.is_stopped() => Err(false),
            result => Ok(result),
        }
    }

    /// The process ends: with the last one the run does, and before that another one has its turn.
    pub(super) fn leave(&mut self, code: i32) -> SyscallResult {
        match self.end(code) {
            Some(code) => SyscallResult::Exit(code),
            None => self.turn_over(true),
        }
    }

    /// The thread that ran gives up its turn, or has ended: puts it where it belongs, and the next one that can go on onto
    /// the context.
    fn turn_over(&mut self, mut has_ended: bool) -> SyscallResult {
        let mut idle_looks = 0;
        // A thread that ends is left in its place until another one takes it.
        let mut is_parked = false;
        loop {
            let os = &mut self.guest.os;
            if os.is_late_after(WORK_OF_LOOK) {
                return SyscallResult::Trap;
            }
            if !is_parked {
                os.leave_context(&mut self.thread);
                if !has_ended {
                    os.threads.park(Box::new(self.thread.clone()));
                }
            }
            is_parked = true;
            self.guest.pass_turn();
            let os = &mut self.guest.os;
            let Some(next) = os.next_thread() else {
                if os.others_run() || os.others_are_ready() {
                    self.thread = self.thread.idle();
                    return SyscallResult::Continue;
                }
                idle_looks += 1;
                if idle_looks > MOST_IDLE_LOOKS && !os.has_sleepers() {
                    os.stop_for_deadlock();
                    return self.end_of_waiting();
                }
                if !os.wait_for_next_event() {
                    return self.end_of_waiting();
                }
                continue;
            };
            let now_ns = os.now_ns();
            let before = std::mem::replace(&mut self.thread, *next);
            self.thread
                .take_context(&before, now_ns, os.threads.tables.registers());
            is_parked = false;
            let served = self.resume();
            match self.ends_or_goes_on(served) {
                Ok(SyscallResult::Exit(code)) => match self.end(code) {
                    Some(code) => return SyscallResult::Exit(code),
                    None => (has_ended, is_parked) = (true, true),
                },
                Ok(result) => return result,
                Err(again) => has_ended = again,
            }
        }
    }
}

/// Number of times that simulated time advances without progress of any thread before that counts as a deadlock, unless
/// a thread waits until a time: a timer comes again and again, and wakes threads that wait for something else.
const MOST_IDLE_LOOKS: u32 = 10_000;

/// Work of a look at the operating system's clock, as [`Linux::is_late_after`](crate::os::Linux) counts it.
const WORK_OF_LOOK: u32 = LOOK_WORK / 8;

impl Thread {
    /// Takes over from another thread what belongs to the hardware context: the DISE registers but for some that are the
    /// thread's `own`, those of interrupts, and the counters. A reservation does not outlive the turn of its thread.
    fn take_context(&mut self, before: &Thread, now_ns: u64, own: &[u8]) {
        let kept: Vec<u64> = own.iter().map(|&r| self.hart.r[usize::from(r)]).collect();
        let dise = usize::from(reg::DISE)..usize::from(reg::DISE + reg::DISE_COUNT);
        let interrupts =
            usize::from(reg::INTERRUPT)..usize::from(reg::INTERRUPT + reg::INTERRUPT_REGISTERS);
        for registers in [dise, interrupts] {
            self.hart.r[registers.clone()].copy_from_slice(&before.hart.r[registers]);
        }
        for (&register, value) in own.iter().zip(kept) {
            self.hart.r[usize::from(register)] = value;
        }
        let left = self.hart.counters;
        self.hart.counters = before.hart.counters;
        self.hart.counters.time_ns = now_ns;
        let passed = self.hart.counters.since(left);
        self.counted_elsewhere = self.counted_elsewhere.plus(passed);
        let passed = before.events.since(self.events);
        self.events = before.events;
        self.events_elsewhere = self.events_elsewhere.plus(passed);
        self.hart.reservation = NO_RESERVATION;
    }
}
