//! The calls that set up, mask and send signals.

use super::errno::Errno;
use super::record::write_optional;
use super::signals::{
    AltStack, LAST_SIGNAL, SIG_DFL, SIG_IGN, SS_AUTODISARM, SS_DISABLE, SS_ONSTACK, SigInfo,
    UNSTOPPABLE, bit, ignored_by_default,
};
use super::{Linux, PID, StopReason};
use crate::hart::Hart;
use crate::memory::Memory;

/// Size of the kernel's `sigset_t`.
const SIGSET_BYTES: u64 = 8;
const MIN_ALT_STACK_BYTES: u64 = 2048;
const SI_USER: i32 = 0;
const SI_TKILL: i32 = -6;

impl Linux {
    pub(super) fn rt_sigaction(&mut self, mem: &mut Memory, a: &[u64; 6]) -> Result<u64, Errno> {
        let [signal, new, old, set_bytes, ..] = *a;
        let signal = valid_signal(signal)?;
        if set_bytes != SIGSET_BYTES || (new != 0 && UNSTOPPABLE & bit(signal) != 0) {
            return Err(Errno::EINVAL);
        }
        let action = if new == 0 {
            None
        } else {
            Some(self.abi.read_action(mem, new)?)
        };
        if old != 0 {
            self.abi
                .write_action(mem, old, &self.signals.actions[usize::from(signal)])?;
        }
        if let Some(action) = action {
            self.signals.actions[usize::from(signal)] = action;
            if action.handler == SIG_IGN
                || (action.handler == SIG_DFL && ignored_by_default(signal))
            {
                self.signals.pending &= !bit(signal);
            }
        }
        Ok(0)
    }

    pub(super) fn rt_sigprocmask(&mut self, mem: &mut Memory, a: &[u64; 6]) -> Result<u64, Errno> {
        const BLOCK: u64 = 0;
        const UNBLOCK: u64 = 1;
        const SETMASK: u64 = 2;
        let [how, new, old, set_bytes, ..] = *a;
        if set_bytes != SIGSET_BYTES {
            return Err(Errno::EINVAL);
        }
        let blocked = self.signals.blocked;
        let after = match (new, how) {
            (0, _) => blocked,
            (_, BLOCK) => blocked | mem.read::<8>(new)?,
            (_, UNBLOCK) => blocked & !mem.read::<8>(new)?,
            (_, SETMASK) => mem.read::<8>(new)?,
            _ => return Err(Errno::EINVAL),
        };
        write_optional(mem, old, &blocked.to_le_bytes())?;
        self.signals.blocked = after & !UNSTOPPABLE;
        Ok(0)
    }

    pub(super) fn rt_sigpending(&self, mem: &mut Memory, a: &[u64; 6]) -> Result<u64, Errno> {
        if a[1] > SIGSET_BYTES {
            return Err(Errno::EINVAL);
        }
        let pending = self.signals.pending & self.signals.blocked;
        mem.write_bytes(a[0], &pending.to_le_bytes()[..a[1] as usize])?;
        Ok(0)
    }

    /// Waits for a signal. With one thread and no timers only a pending one can come.
    pub(super) fn rt_sigsuspend(&mut self, mem: &Memory, a: &[u64; 6]) -> Result<u64, Errno> {
        if a[1] != SIGSET_BYTES {
            return Err(Errno::EINVAL);
        }
        let mask = mem.read::<8>(a[0])? & !UNSTOPPABLE;
        if self.signals.pending & !mask == 0 {
            self.stop = Some(StopReason::Deadlock {
                waits_for: "a signal that nobody can send",
            });
        } else {
            self.signals.suspended_mask = Some(self.signals.blocked);
            self.signals.blocked = mask;
        }
        Err(Errno::EINTR)
    }

    /// After `rt_sigsuspend` without a handler: the old mask again.
    pub(super) fn end_suspension(&mut self) {
        if let Some(mask) = self.signals.suspended_mask.take() {
            self.signals.blocked = mask;
        }
    }

    pub(super) fn sigaltstack(
        &mut self,
        hart: &Hart,
        mem: &mut Memory,
        a: &[u64; 6],
    ) -> Result<u64, Errno> {
        let [new, old, ..] = *a;
        let current = self.signals.alt_stack;
        let active = current.holds(self.abi.stack_pointer(hart));
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
            self.signals.alt_stack = match wanted.flags & !SS_AUTODISARM {
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

    /// `kill`: only this process exists, alone in its group.
    pub(super) fn kill(&mut self, a: &[u64; 6]) -> Result<u64, Errno> {
        let pid = a[0] as i32;
        if pid != 0 && pid.unsigned_abs() != PID {
            return Err(Errno::ESRCH);
        }
        self.send(a[1], SI_USER)
    }

    pub(super) fn tkill(&mut self, tid: u64, signal: u64) -> Result<u64, Errno> {
        if tid as i32 <= 0 {
            return Err(Errno::EINVAL);
        }
        if tid as u32 != PID {
            return Err(Errno::ESRCH);
        }
        self.send(signal, SI_TKILL)
    }

    fn send(&mut self, signal: u64, code: i32) -> Result<u64, Errno> {
        if signal as u32 != 0 {
            let signal = valid_signal(u64::from(signal as u32))?;
            self.post(SigInfo {
                signal,
                code,
                addr: None,
            });
        }
        Ok(0)
    }
}

fn valid_signal(number: u64) -> Result<u8, Errno> {
    match u8::try_from(number) {
        Ok(signal @ 1..=LAST_SIGNAL) => Ok(signal),
        _ => Err(Errno::EINVAL),
    }
}
