//! Several processes: whose turn it is on a hardware context, what a process becomes by `execve`, and the end of each.
//!
//! Processes have their turns in the order of their numbers, round and round; a process without a thread that is ready
//! for the context is passed over. The guest whose turn it is lies in the [`Process`]; the others are parked with their
//! family ([`processes`](crate::os)), those among them that have threads on other contexts.

use std::mem;

use hps_isa::hart::Hart;
use hps_isa::inst::reg;
use hps_isa::trap::Trap;

use super::{Guest, Process, Thread, heap_start, lay_out};
use crate::image::LoadError;
use crate::os::{Changes, Execution, PID, SyscallResult, exit_code_of_fault};

impl Guest {
    /// The turn goes to the next process that has a thread that is ready, if there is another one.
    pub(super) fn pass_turn(&mut self) {
        if !self.os.family.has_others() {
            return;
        }
        if let Some(next) = (self.os.family).next_ready(self.os.pid(), self.os.processor()) {
            self.switch_to(next);
        }
    }

    /// The turn goes to a process that is parked, if there is one with this number.
    pub(super) fn switch_to(&mut self, pid: u32) -> bool {
        let before = self.turn_to(pid);
        let is_there = before.is_some();
        if let Some(before) = before {
            self.os.family.park(before);
        }
        is_there
    }

    /// The turn goes to a process that is parked. Returns the one that had it.
    fn turn_to(&mut self, pid: u32) -> Option<Box<Guest>> {
        let mut next = self.os.family.unpark(pid)?;
        self.os.write_back(&mut self.mem);
        let date = next.os.date_at_start_ns();
        self.os.hand_over(&mut next.os);
        if next.os.date_at_start_ns() != date {
            next.os.show_date(&mut next.mem);
        }
        let reserved = next.reservations.contents(&next.mem);
        match next.os.see_changes(&mut next.mem) {
            Changes::None => {}
            Changes::OfCalls => next.reservations.keep_unchanged(&reserved, &next.mem),
            Changes::OfStores => {
                next.reservations.keep_unchanged(&reserved, &next.mem);
                let os = &next.os;
                next.reservations
                    .stored_by_others(|addr| os.is_shared(addr));
            }
        }
        next.counters_before = self.counters_before;
        mem::swap(self, &mut next);
        Some(next)
    }
}

impl Process {
    /// The process ends with an exit code. `Some` is that of the run, which ends with its last process; else another
    /// process has the turn, and its threads are parked.
    pub(super) fn end(&mut self, code: i32) -> Option<i32> {
        let guest = &mut self.guest;
        if !guest.os.family.has_others() {
            return Some(self.bring_first_back().unwrap_or(code));
        }
        guest.os.end_process(&self.thread, &mut guest.mem, code);
        let (family, context) = (&guest.os.family, guest.os.processor());
        let next = family.next_ready(guest.os.pid(), context);
        let next = next.or_else(|| family.any())?;
        let ended = guest.turn_to(next)?;
        if ended.os.pid() == PID {
            self.guest.os.family.keep_first(ended, code);
        } else {
            self.guest.os.family.keep_memory(ended.mem);
        }
        None
    }

    /// A fault that the process cannot handle ends it, while there are others: `Some` says how the run goes on.
    pub(super) fn end_by_fault(&mut self, trap: &Trap) -> Option<SyscallResult> {
        if self.guest.os.pid() == PID || !self.guest.os.family.is_shared() {
            return None;
        }
        let code = exit_code_of_fault(self.guest.image.isa, trap);
        self.guest.os.killed((code - 128) as u8);
        let result = self.leave(code);
        self.note();
        Some(result)
    }

    /// Ends a wait in which no process can ever go on. If the first process has ended, so has the run.
    pub(super) fn end_of_waiting(&mut self) -> SyscallResult {
        if !self.guest.os.family.has_lost_first() {
            return SyscallResult::Trap;
        }
        self.guest.os.give_up_orphans();
        let code = self.bring_first_back();
        SyscallResult::Exit(code.unwrap_or(0))
    }

    /// Puts the first process, which has ended, in place of the last one. Returns its exit code.
    fn bring_first_back(&mut self) -> Option<i32> {
        let (mut first, code) = self.guest.os.family.take_first()?;
        self.guest.os.hand_over(&mut first.os);
        mem::swap(&mut self.guest, &mut first);
        self.guest.os.family.count_copies(&first.mem);
        Some(code)
    }

    /// Runs another program in place of the own one. If it cannot for want of memory, the call fails.
    pub(super) fn execute(&mut self, execution: &Execution) {
        let guest = &mut self.guest;
        let place = guest.os.draw_placement(&execution.found.image);
        let image = &place.of_program(&execution.found.image);
        let limit = guest.os.limit_at_exec(&guest.mem);
        let mem = guest.os.family.new_memory(limit);
        let laid_out = mem
            .map_err(|source| LoadError::Memory {
                file: image.name.clone(),
                source,
            })
            .and_then(|mut mem| {
                let interpreter = execution.found.interpreter.clone();
                let hart = lay_out(
                    (image, interpreter),
                    &execution.given,
                    place,
                    &mut mem,
                    &mut guest.os,
                )?;
                Ok((mem, hart))
            });
        let (mut mem, hart) = match laid_out {
            Ok(laid_out) => laid_out,
            Err(cause) => {
                guest.os.refuse_execution(&mut self.thread, &cause);
                return;
            }
        };
        guest.os.execute(&self.thread, &mut guest.mem, execution);
        guest.os.begin_space(heap_start(image, place), place);
        mem::swap(&mut guest.mem, &mut mem);
        guest.os.family.keep_memory(mem);
        guest.image = image.clone();
        guest.os.begin_program(image);
        guest.reservations.clear();
        self.thread.begin(guest.os.pid(), hart);
        self.thread.name = guest.os.first_name();
    }
}

impl Thread {
    /// The thread goes on as the only one of its process, with another program.
    fn begin(&mut self, pid: u32, hart: Hart) {
        let mut hart = Hart {
            counters: self.hart.counters,
            ..hart
        };
        let dise = usize::from(reg::DISE)..usize::from(reg::DISE + reg::DISE_COUNT);
        hart.r[dise.clone()].copy_from_slice(&self.hart.r[dise]);
        *self = Thread {
            hart,
            tid: pid,
            clear_tid: 0,
            robust_list: 0,
            signals: self.signals.at_exec(),
            unaligned_control: 0,
            blocked: None,
            ..self.clone()
        };
    }
}
