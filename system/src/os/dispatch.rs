//! A system call from its registers to its result: what is asked before it, and what follows behind it.

use hps_isa::memory::Memory;
use serde::{Deserialize, Serialize};

use super::abi::FrameKind;
use super::calls::Call;
use super::errno::Errno;
use super::limits::LOOK_WORK;
use super::outcome::{Returned, Unserved};
use super::threads::Resumed;
use super::{Linux, Served, SyscallResult};
use crate::process::Thread;

/// Input of the current call beside its arguments.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct CurrentCall {
    /// The thread that makes it.
    pub caller: u32,
    /// The outcome of its wait, if it has waited before.
    pub resumed: Option<Resumed>,
}

impl Linux {
    /// Serves the system call that `thread` makes. `hart.pc` is already behind the instruction. On
    /// return the result is in its register, or a signal handler is about to run.
    pub(crate) fn syscall(&mut self, thread: &mut Thread, mem: &mut Memory) -> Served {
        self.time.now_ns = thread.hart.counters.time_ns;
        self.serve_call(thread, mem)
    }

    /// Serves the call that is in the registers of `thread`.
    pub(super) fn serve_call(&mut self, thread: &mut Thread, mem: &mut Memory) -> Served {
        self.call.caller = thread.tid;
        let number = self.abi.call_number(&thread.hart);
        let arguments = self.abi.arguments(&thread.hart);
        self.write_back(mem);
        let decoded = self.abi.call(number, arguments);
        let is_plain = decoded.is_some_and(|(call, _)| call.is_plain());
        if self.run.is_late_after(if is_plain { 1 } else { LOOK_WORK }) {
            return SyscallResult::Trap.into();
        }
        self.catch_up_on_timers(thread);
        if self.gate.is_some() && !decoded.is_some_and(|(call, _)| call.ends_or_returns()) {
            let (call, arguments) = decoded.unzip();
            let asked = self.ask_gate(call, mem, &arguments.unwrap_or_default());
            if let Some(result) = asked {
                self.abi.set_result(&mut thread.hart, result);
                return self.end_call(thread, mem).into();
            }
        }
        match decoded {
            Some((Call::ExitGroup, arguments)) => {
                SyscallResult::Exit((arguments[0] & 0xff) as i32).into()
            }
            Some((Call::Exit, arguments)) => {
                let code = (arguments[0] & 0xff) as i32;
                self.exit_thread(thread, mem, code)
            }
            Some((call @ (Call::RtSigreturn | Call::Sigreturn), _)) => {
                let kind = match call {
                    Call::Sigreturn => FrameKind::Plain,
                    _ => FrameKind::Realtime,
                };
                let stack_pointer = match self.signal_return(thread, mem, kind) {
                    Ok(stack_pointer) => stack_pointer,
                    Err(code) => return SyscallResult::Exit(code).into(),
                };
                match self.end_call(thread, mem) {
                    SyscallResult::Continue => Served::Returns { stack_pointer },
                    ended => ended.into(),
                }
            }
            Some((call, arguments)) => self.serve_decoded(call, thread, mem, &arguments),
            None => {
                self.warn_of_unserved(number, thread.hart.pc);
                self.abi.set_result(&mut thread.hart, Err(Errno::ENOSYS));
                self.end_call(thread, mem).into()
            }
        }
    }

    fn serve_decoded(
        &mut self,
        call: Call,
        thread: &mut Thread,
        mem: &mut Memory,
        arguments: &[u64; 6],
    ) -> Served {
        self.look_at_signals(thread);
        let foreseen = self.foresee(call, mem, arguments);
        let mut outcome = self.serve(call, thread, mem, arguments);
        if let Ok(Returned { value, .. }) = outcome
            && (self.space.mappings.has_files() || self.family.has_others())
            && let Err(errno) = self.show_changes(mem, call, arguments, value)
        {
            outcome = Err(errno.into());
        }
        if let Some(foreseen) = foreseen {
            let value = outcome.as_ref().ok().map(|done| done.value);
            self.tell_watches(call, mem, arguments, &foreseen, value);
        }
        let outcome = match outcome {
            Ok(returned) => Ok(returned),
            Err(Unserved::Fails(errno)) => Err(errno),
            Err(Unserved::Raises(signal, errno)) => {
                self.raise_for(thread, signal);
                Err(errno)
            }
            Err(Unserved::Waits(blocked)) if self.run.stop.is_none() => {
                return self.begin_wait(call, thread, mem, blocked);
            }
            // The run ends: the program does not see this error.
            Err(Unserved::Waits(_)) => Err(Errno::EINTR),
        };
        let is_alone = self.threads.is_alone() && !self.family.has_others();
        if !is_alone && call.may_change_files() {
            self.wake_on_files();
        }
        let result = outcome
            .as_ref()
            .map(|done| done.value)
            .map_err(|errno| *errno);
        self.abi.set_result(&mut thread.hart, result);
        let Returned {
            second,
            yields,
            program,
            ..
        } = outcome.unwrap_or_default();
        if let Some(second) = second {
            self.abi.set_second_result(&mut thread.hart, second);
        }
        if self.has_lent_memory() {
            // Signals wait until it is back.
            return Served::GivesUp;
        }
        if let Some(program) = program
            && self.run.stop.is_none()
        {
            // Signals that are pending find the actions of the new program.
            return Served::Executes(program);
        }
        match self.end_call(thread, mem) {
            SyscallResult::Continue if yields => Served::GivesUp,
            result => result.into(),
        }
    }

    /// The current call has its result: delivers signals.
    pub(super) fn end_call(&mut self, thread: &mut Thread, mem: &mut Memory) -> SyscallResult {
        if self.run.stop.is_some() {
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
        self.run.warnings.keyed(
            number,
            format!("{call} before pc {pc:#x} is not served: it returns ENOSYS"),
        );
    }
}
