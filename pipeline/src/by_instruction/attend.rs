//! Runs, and what the operating system has to do on the way at a time, and not in a system call: turns of threads,
//! timers.
//!
//! A run stops at an instruction near the time at which that is due. It comes nearer in ever smaller steps, so that
//! it is late by some hundred cycles at most as long as four cycles suffice for an instruction.

use hps_isa::ids::DisePc;
use hps_isa::trap::Trap;
use hps_sim_core::machine::Stop;
use hps_system::process::Then;

use super::{DecodeEditor, DrivenCore};
use crate::model::{Cause, PipelineProbe, Restart, TIME_SLICE, cycles_of_ns};

impl<E: DecodeEditor, P: PipelineProbe> DrivenCore<E, P> {
    /// Runs to the end of the program.
    pub fn run_to_end(&mut self) -> Stop {
        self.run(u64::MAX)
    }

    /// Runs until `limit` further instructions of the program have committed, or until it ends.
    pub fn run(&mut self, limit: u64) -> Stop {
        self.attend_at = 0;
        self.go_on(limit)
    }

    /// Goes on as if the last [run](Self::run) had not stopped, for up to `limit` further instructions: what the operating
    /// system has to do comes behind the instruction that was planned. A run in parts of any length is one run so.
    pub fn go_on(&mut self, limit: u64) -> Stop {
        let end = self.committed().program.saturating_add(limit);
        if limit == 0 {
            return Stop::Limit;
        }
        loop {
            if self.process.os.is_out_of_time() {
                return Stop::Fault(Trap::stopped(self.process.thread.hart.pc));
            }
            let now = self.committed().program;
            if self.attend_at != 0
                && now >= self.attend_at
                && let Some(stop) = self.attend()
            {
                return stop;
            }
            if now >= self.attend_at {
                let slice = self.process.os.instructions_in_time(TIME_SLICE);
                let slice = slice.min(self.instructions_to_attention());
                self.attend_at = self.committed().program.saturating_add(slice);
            }
            match self.run_until(self.attend_at.min(end)) {
                Stop::Limit if self.committed().program < end => {}
                stop => return stop,
            }
        }
    }

    /// Instructions of the program to run before the operating system is to be asked again.
    pub(super) fn instructions_to_attention(&self) -> u64 {
        /// Fewer are not worth a stop.
        const LEAST: u64 = 64;
        /// Cycles that an instruction is taken to need.
        const CYCLES: u64 = 4;
        match self.process.os.deadline_ns() {
            u64::MAX => u64::MAX,
            deadline => {
                let now_ns = self.guest_counters(self.last_commit()).time_ns;
                let left = cycles_of_ns(deadline.saturating_sub(now_ns), self.params.clock_mhz);
                (left / CYCLES).max(LEAST)
            }
        }
    }

    /// Lets the operating system do what is due, if the last commit ended an instruction of the program. Otherwise it
    /// is asked again behind the next one.
    #[cold]
    #[inline(never)]
    pub(super) fn attend(&mut self) -> Option<Stop> {
        let cycle = self.last_commit();
        self.process.thread.hart.counters = self.guest_counters(cycle);
        if self.process.only_counts()
            || self.process.os.deadline_ns() > self.process.thread.hart.counters.time_ns
        {
            return None;
        }
        let restart = self.next_restart();
        let pc = restart.pc;
        let is_between = restart.disepc == DisePc::NONE
            && restart.link.is_none()
            && self.lines.found.is_none()
            && (!E::RELAYOUT || self.editor.place(pc, self.editor.original(pc)) == pc);
        if !is_between {
            return match self.run_until(self.committed().program + 1) {
                Stop::Limit => None,
                stop => Some(stop),
            };
        }
        let epoch = self.process.mem.code_epoch();
        let then = self.process.attend(&self.editor, pc);
        if self.process.mem.code_epoch() != epoch
            && let Some(mut code) = self.code.take()
        {
            self.code_changes = true;
            self.sync_code(&mut code);
            self.code = Some(code);
        }
        match then {
            Then::Next => None,
            Then::Elsewhere { pc, disepc } => {
                self.branches.rewind(&self.checkpoint());
                self.empty_front_end(&Restart {
                    pc,
                    disepc,
                    link: None,
                });
                self.fetch.redirect(pc, Cause::Serialize, cycle + 1);
                None
            }
            Then::Exit(code) => Some(Stop::Exit(code)),
            Then::Fault(_) => Some(Stop::Fault(Trap::stopped(pc))),
        }
    }
}
