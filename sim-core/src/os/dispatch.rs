//! A system call from its registers to its result: what is asked before it, and what follows behind it.

use super::abi::FrameKind;
use super::calls::Call;
use super::errno::Errno;
use super::limits::LOOK_WORK;
use super::{GivesUp, Linux, Served, SyscallResult};
use crate::memory::Memory;
use crate::process::Thread;

impl Linux {
    /// Serves the system call that `thread` makes. `hart.pc` is already behind the instruction. On
    /// return the result is in its register, or a signal handler is about to run.
    pub(crate) fn syscall(&mut self, thread: &mut Thread, mem: &mut Memory) -> Served {
        self.now_ns = thread.hart.counters.time_ns;
        self.serve_call(thread, mem)
    }

    /// Serves the call that is in the registers of `thread`.
    pub(super) fn serve_call(&mut self, thread: &mut Thread, mem: &mut Memory) -> Served {
        self.caller = thread.tid;
        let number = self.abi.call_number(&thread.hart);
        let arguments = self.abi.arguments(&thread.hart);
        self.write_back(mem);
        let decoded = self.abi.call(number, arguments);
        let is_plain = decoded.is_some_and(|(call, _)| call.is_plain());
        if self.is_late_after(if is_plain { 1 } else { LOOK_WORK }) {
            return Ok(SyscallResult::Trap);
        }
        self.catch_up_on_timers(thread);
        if self.gate.is_some() && !decoded.is_some_and(|(call, _)| call.ends_or_returns()) {
            let (call, arguments) = decoded.unzip();
            let asked = self.ask_gate(call, mem, &arguments.unwrap_or_default());
            if let Some(result) = asked {
                self.abi.set_result(&mut thread.hart, result);
                return Ok(self.end_call(thread, mem));
            }
        }
        match decoded {
            Some((Call::ExitGroup, arguments)) => {
                return Ok(SyscallResult::Exit((arguments[0] & 0xff) as i32));
            }
            Some((Call::Exit, arguments)) => {
                let code = (arguments[0] & 0xff) as i32;
                return self.exit_thread(thread, mem, code);
            }
            Some((call @ (Call::RtSigreturn | Call::Sigreturn), _)) => {
                let kind = match call {
                    Call::Sigreturn => FrameKind::Plain,
                    _ => FrameKind::Realtime,
                };
                if let Err(code) = self.signal_return(thread, mem, kind) {
                    return Ok(SyscallResult::Exit(code));
                }
            }
            Some((call, arguments)) => {
                self.look_at_signals(thread);
                let foreseen = self.foresee(call, mem, &arguments);
                let mut result = self.serve(call, thread, mem, &arguments);
                if let Ok(value) = result
                    && (self.mappings.has_files() || self.family.has_others())
                    && let Err(errno) = self.show_changes(mem, call, &arguments, value)
                {
                    result = Err(errno);
                }
                if let Some(foreseen) = foreseen {
                    self.tell_watches(call, mem, &arguments, &foreseen, result);
                }
                if let Some(signal) = self.raised.take() {
                    self.raise_for(thread, signal);
                }
                if self.stop.is_none()
                    && let Some(blocked) = self.wait.take()
                    && result.is_err()
                {
                    return self.begin_wait(call, thread, mem, blocked);
                }
                let is_alone = self.threads.is_alone() && !self.family.has_others();
                if !is_alone && call.may_change_files() {
                    self.wake_on_files();
                }
                let hart = &mut thread.hart;
                self.abi.set_result(hart, result);
                if let Some(second) = self.second_result.take() {
                    self.abi.set_second_result(hart, second);
                }
            }
            None => {
                self.warn_of_unserved(number, thread.hart.pc);
                self.abi.set_result(&mut thread.hart, Err(Errno::ENOSYS));
            }
        }
        if self.has_lent_memory() {
            // Signals wait until it is back.
            self.yields = false;
            return Err(GivesUp::Yields);
        }
        let result = self.end_call(thread, mem);
        if result == SyscallResult::Continue && std::mem::take(&mut self.yields) {
            return Err(GivesUp::Yields);
        }
        Ok(result)
    }

    /// The current call has its result: delivers signals.
    pub(super) fn end_call(&mut self, thread: &mut Thread, mem: &mut Memory) -> SyscallResult {
        if self.stop.is_some() {
            return SyscallResult::Trap;
        }
        let ended = self.deliver_pending(thread, mem);
        thread.signals.end_suspension();
        ended.map_or(SyscallResult::Continue, SyscallResult::Exit)
    }

    /// Says which call the lab does not serve. `pc` is behind the instruction that makes it.
    fn warn_of_unserved(&mut self, number: u64, pc: u64) {
        let call = match self.abi.call_name(number) {
            Some(name) => format!("system call {name} ({number})"),
            None => format!("system call {number}"),
        };
        self.warn(
            number,
            format!("{call} before pc {pc:#x} is not served: it returns ENOSYS"),
        );
    }
}
