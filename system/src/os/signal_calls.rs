//! The calls that set up, mask and send signals.

use hps_isa::memory::Memory;

use super::Linux;
use super::errno::Errno;
use super::outcome::{Outcome, Unserved};
use super::record::{Record, read_words, write_optional};
use super::signals::{
    Action, AltStack, LAST_SIGNAL, SI_USER, SIG_DFL, SIG_IGN, SS_AUTODISARM, SS_DISABLE,
    SS_ONSTACK, SigInfo, bit,
};
use super::threads::WaitFor;
use super::time::TimeFormat;
use crate::process::Thread;

/// Size of the kernel's `sigset_t`.
const SIGSET_BYTES: u64 = 8;
const MIN_ALT_STACK_BYTES: u64 = 2048;
const SI_TKILL: i32 = -6;

impl Linux {
    pub(super) fn rt_sigaction(
        &mut self,
        thread: &mut Thread,
        mem: &mut Memory,
        a: &[u64; 6],
    ) -> Result<u64, Errno> {
        let [signal, new, old, set_bytes, restorer, _] = *a;
        let signal = valid_signal(signal)?;
        if set_bytes != SIGSET_BYTES {
            return Err(Errno::EINVAL);
        }
        let action = if new == 0 {
            None
        } else {
            let action = self.abi.read_action(mem, new)?;
            Some(Action { restorer, ..action })
        };
        self.check_action(signal, action.is_some())?;
        if old != 0 {
            self.abi
                .write_action(mem, old, &self.signals.actions[usize::from(signal)])?;
        }
        self.set_action(thread, signal, action);
        Ok(0)
    }

    /// `sigaction` of OSF/1: the handler, the mask, then 32 bits of flags.
    pub(super) fn osf_sigaction(
        &mut self,
        thread: &mut Thread,
        mem: &mut Memory,
        a: &[u64; 6],
    ) -> Result<u64, Errno> {
        let [signal, new, old, ..] = *a;
        let signal = valid_signal(signal)?;
        let action = if new == 0 {
            None
        } else {
            let [handler, mask] = read_words(mem, new)?;
            let flags = mem.read::<4>(new.wrapping_add(16))?;
            Some(Action {
                handler,
                flags,
                mask,
                restorer: 0,
            })
        };
        self.check_action(signal, action.is_some())?;
        let before = self.signals.actions[usize::from(signal)];
        let record = Record::new()
            .u64(before.handler)
            .u64(before.mask)
            .u32(before.flags as u32)
            .u32(0);
        write_optional(mem, old, &record.done())?;
        self.set_action(thread, signal, action);
        Ok(0)
    }

    fn check_action(&self, signal: u8, changes: bool) -> Result<(), Errno> {
        if changes && self.abi.signal_rules().unstoppable() & bit(signal) != 0 {
            Err(Errno::EINVAL)
        } else {
            Ok(())
        }
    }

    fn set_action(&mut self, thread: &mut Thread, signal: u8, action: Option<Action>) {
        let Some(action) = action else { return };
        self.signals.actions[usize::from(signal)] = action;
        let ignored = self.abi.signal_rules().is_ignored_by_default(signal);
        if action.handler == SIG_IGN || (action.handler == SIG_DFL && ignored) {
            self.signals.pending.discard(signal);
            thread.signals.pending.discard(signal);
        }
    }

    pub(super) fn rt_sigprocmask(
        &mut self,
        thread: &mut Thread,
        mem: &mut Memory,
        a: &[u64; 6],
    ) -> Result<u64, Errno> {
        let [how, new, old, set_bytes, ..] = *a;
        if set_bytes != SIGSET_BYTES {
            return Err(Errno::EINVAL);
        }
        let blocked = thread.signals.blocked;
        let after = match new {
            0 => blocked,
            _ => {
                let set = mem.read::<8>(new)?;
                self.changed_mask(thread, how, set)?
            }
        };
        write_optional(mem, old, &blocked.to_le_bytes())?;
        thread.signals.blocked = after;
        Ok(0)
    }

    /// `sigprocmask` of OSF/1: the mask is a value, and so is the old one.
    pub(super) fn osf_sigprocmask(&self, thread: &mut Thread, a: &[u64; 6]) -> Result<u64, Errno> {
        let before = thread.signals.blocked;
        thread.signals.blocked = self.changed_mask(thread, a[0], a[1])?;
        Ok(before)
    }

    fn changed_mask(&self, thread: &Thread, how: u64, set: u64) -> Result<u64, Errno> {
        let rules = self.abi.signal_rules();
        let blocked = thread.signals.blocked;
        let changed = match how {
            how if how == rules.block => blocked | set,
            how if how == rules.unblock => blocked & !set,
            how if how == rules.set_mask => set,
            _ => return Err(Errno::EINVAL),
        };
        Ok(changed & !rules.unstoppable())
    }

    pub(super) fn rt_sigpending(
        &self,
        thread: &Thread,
        mem: &mut Memory,
        a: &[u64; 6],
    ) -> Result<u64, Errno> {
        if a[1] > SIGSET_BYTES {
            return Err(Errno::EINVAL);
        }
        let pending = self.pending(thread) & thread.signals.blocked;
        mem.write_bytes(a[0], &pending.to_le_bytes()[..a[1] as usize])?;
        Ok(0)
    }

    /// Waits for a signal. With one thread and no timers only a pending one can come.
    pub(super) fn rt_sigsuspend(
        &mut self,
        thread: &mut Thread,
        mem: &Memory,
        a: &[u64; 6],
    ) -> Outcome {
        if a[1] != SIGSET_BYTES {
            return Err(Errno::EINVAL.into());
        }
        self.suspend(thread, mem.read::<8>(a[0])?)
    }

    /// Waits with `mask` blocked.
    pub(super) fn suspend(&mut self, thread: &mut Thread, mask: u64) -> Outcome {
        let mask = mask & !self.abi.signal_rules().unstoppable();
        thread.signals.suspend(mask);
        let what = "a signal that nobody can send";
        Err(Unserved::wait(WaitFor::Signal { set: 0, what }, None))
    }

    pub(super) fn sigaltstack(
        &mut self,
        thread: &mut Thread,
        mem: &mut Memory,
        a: &[u64; 6],
    ) -> Result<u64, Errno> {
        let [new, old, ..] = *a;
        let current = thread.signals.alt_stack;
        let active = current.holds(self.abi.stack_pointer(&thread.hart));
        let wanted = if new == 0 {
            None
        } else {
            Some(AltStack::read(mem, new)?)
        };
        if old != 0 {
            let flags = if active {
                current.flags | SS_ONSTACK
            } else {
                current.flags
            };
            mem.write_bytes(old, &AltStack { flags, ..current }.encode())?;
        }
        if let Some(wanted) = wanted {
            if active {
                return Err(Errno::EPERM);
            }
            thread.signals.alt_stack = match wanted.flags & !SS_AUTODISARM {
                SS_DISABLE => AltStack::NONE,
                0 | SS_ONSTACK if wanted.bytes < MIN_ALT_STACK_BYTES => return Err(Errno::ENOMEM),
                0 | SS_ONSTACK => AltStack {
                    flags: wanted.flags & SS_AUTODISARM,
                    ..wanted
                },
                _ => return Err(Errno::EINVAL),
            };
        }
        Ok(0)
    }

    /// `sigstack`: the predecessor of `sigaltstack`, which names the top of the stack and no size.
    pub(super) fn sigstack(
        &mut self,
        thread: &mut Thread,
        mem: &mut Memory,
        a: &[u64; 6],
    ) -> Result<u64, Errno> {
        /// Size that the stack below the top is assumed to have.
        const ASSUMED_BYTES: u64 = 8192;
        let [new, old, ..] = *a;
        let current = thread.signals.alt_stack;
        let active = current.holds(self.abi.stack_pointer(&thread.hart));
        let wanted = if new == 0 {
            None
        } else {
            Some(mem.read::<8>(new)?)
        };
        let top = current.base.wrapping_add(current.bytes);
        let record = Record::new().u64(top).u32(u32::from(active)).u32(0);
        write_optional(mem, old, &record.done())?;
        if let Some(top) = wanted {
            if active {
                return Err(Errno::EPERM);
            }
            thread.signals.alt_stack = AltStack {
                base: top.wrapping_sub(ASSUMED_BYTES),
                bytes: ASSUMED_BYTES,
                flags: 0,
            };
        }
        Ok(0)
    }

    /// `kill`.
    pub(super) fn kill(&mut self, a: &[u64; 6]) -> Result<u64, Errno> {
        let info = match a[1] as u32 {
            0 => None,
            signal => Some(SigInfo {
                signal: valid_signal(u64::from(signal))?,
                ..SigInfo::with_code(SI_USER)
            }),
        };
        self.send_to_processes(self.leader_of(a[0] as i32), info)
    }

    /// `tgkill` to a thread of another process.
    pub(super) fn tgkill(&mut self, thread: &mut Thread, a: &[u64; 6]) -> Result<u64, Errno> {
        if a[0] as u32 == self.pid {
            self.tkill(thread, a[1], a[2])
        } else {
            self.tgkill_elsewhere(thread, a)
        }
    }

    fn tgkill_elsewhere(&mut self, thread: &Thread, a: &[u64; 6]) -> Result<u64, Errno> {
        let sender = Some((self.pid, self.credentials.uid()));
        let pid = a[0] as u32;
        let tid = a[1] as u32;
        if (pid as i32) <= 0 || (tid as i32) <= 0 {
            return Err(Errno::EINVAL);
        }
        let other = self.other_process(pid).ok_or(Errno::ESRCH)?;
        if !other.threads.has(tid) {
            return Err(Errno::ESRCH);
        }
        if a[2] as u32 != 0 {
            let info = SigInfo {
                signal: valid_signal(u64::from(a[2] as u32))?,
                sender,
                ..SigInfo::with_code(SI_TKILL)
            };
            self.check_queue(thread, info)?;
            let other = self.other_process(pid).ok_or(Errno::ESRCH)?;
            let was_stopped = other.is_stopped();
            other.send_to_thread(None, tid, info);
            if was_stopped {
                self.note_continued(pid);
            }
        }
        Ok(0)
    }

    /// `tkill` and the end of `tgkill`.
    pub(super) fn tkill(
        &mut self,
        thread: &mut Thread,
        tid: u64,
        signal: u64,
    ) -> Result<u64, Errno> {
        if tid as i32 <= 0 {
            return Err(Errno::EINVAL);
        }
        self.send(
            Some((thread, tid as u32)),
            signal,
            SigInfo::with_code(SI_TKILL),
        )
    }

    /// Sends a signal to a thread, or to the process. The thread that calls is given for the case that it is meant.
    fn send(
        &mut self,
        to: Option<(&mut Thread, u32)>,
        signal: u64,
        info: SigInfo,
    ) -> Result<u64, Errno> {
        if let Some((thread, tid)) = &to
            && thread.tid != *tid
            && !self.threads.has_other(*tid)
        {
            return Err(Errno::ESRCH);
        }
        if signal as u32 == 0 {
            return Ok(0);
        }
        let signal = valid_signal(u64::from(signal as u32))?;
        let info = SigInfo {
            signal,
            sender: info.sender.or(Some((self.pid, self.credentials.uid()))),
            ..info
        };
        match to {
            None => self.send_to_process(info),
            Some((thread, tid)) => {
                self.check_queue(thread, info)?;
                self.send_to_thread(Some(thread), tid, info);
            }
        }
        Ok(0)
    }

    /// The process that a number names, which may be that of any of its threads; a number that names none stays.
    fn leader_of(&self, id: i32) -> i32 {
        let has_it = |os: &&Linux| os.threads.has(id as u32);
        if id <= 0 || self.has_process(id as u64) {
            return id;
        }
        let mut all = std::iter::once(self).chain(self.other_processes());
        all.find(has_it).map_or(id, |os| os.pid as i32)
    }

    /// `rt_sigqueueinfo`, and with a thread `rt_tgsigqueueinfo`: a signal with the information that the program
    /// made up. It cannot pretend to be the kernel, except to itself.
    pub(super) fn queue_signal(
        &mut self,
        thread: &mut Thread,
        mem: &Memory,
        [pid, tid, signal, info]: [u64; 4],
        to_thread: bool,
    ) -> Result<u64, Errno> {
        let pid = match to_thread {
            true => pid,
            false => self.leader_of(pid as i32) as u64,
        };
        let code = mem.read::<4>(info.wrapping_add(8))? as i32;
        let first = mem.read::<4>(info.wrapping_add(16))? as u32;
        let second = mem.read::<4>(info.wrapping_add(20))? as u32;
        let value = mem.read::<8>(info.wrapping_add(24))?;
        let info = SigInfo {
            sender: Some((first, second)),
            value,
            ..SigInfo::with_code(code)
        };
        if pid as u32 != self.pid {
            if to_thread || (pid as i32) <= 0 || !self.has_process(pid) {
                return Err(Errno::ESRCH);
            }
            if code >= 0 || code == SI_TKILL {
                return Err(Errno::EPERM);
            }
            let signal = match signal as u32 {
                0 => return Ok(0),
                signal => valid_signal(u64::from(signal))?,
            };
            let info = SigInfo { signal, ..info };
            self.check_queue(thread, info)?;
            return self.send_to_processes(pid as i32, Some(info));
        }
        if !to_thread && signal as u32 != 0 {
            let signal = valid_signal(u64::from(signal as u32))?;
            self.check_queue(thread, SigInfo { signal, ..info })?;
        }
        let to = to_thread.then_some((thread, tid as u32));
        self.send(to, signal, info)
    }

    /// `rt_sigtimedwait`: takes a signal of a set that waits, or waits for one.
    pub(super) fn rt_sigtimedwait(
        &mut self,
        thread: &mut Thread,
        mem: &mut Memory,
        a: &[u64; 6],
    ) -> Outcome {
        let [set, info, timeout, set_bytes, ..] = *a;
        if set_bytes != SIGSET_BYTES {
            return Err(Errno::EINVAL.into());
        }
        let set = mem.read::<8>(set)? & !self.abi.signal_rules().unstoppable();
        let until = match timeout {
            0 => None,
            at => Some(self.wait_end_ns(TimeFormat::Nanoseconds.read(mem, at)?)),
        };
        let own = thread.signals.pending.take(set);
        if let Some(taken) = own.or_else(|| self.signals.pending.take(set)) {
            write_optional(mem, info, &taken.encode())?;
            return Ok(u64::from(taken.signal));
        }
        if until.is_some_and(|until| until <= self.time.now_ns) {
            return Err(Errno::EAGAIN.into());
        }
        let what = "a signal (sigwait) that nobody can send";
        Err(Unserved::wait(WaitFor::Signal { set, what }, until))
    }
}

pub(super) fn valid_signal(number: u64) -> Result<u8, Errno> {
    match u8::try_from(number) {
        Ok(signal @ 1..=LAST_SIGNAL) => Ok(signal),
        _ => Err(Errno::EINVAL),
    }
}
