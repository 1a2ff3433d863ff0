//! Signals: actions, masks, delivery to handlers of the guest, default actions.

use rustc_hash::FxHashMap;

use super::abi::HandlerEntry;
use super::errno::Errno;
use super::record::{Record, read_words, write_optional};
use super::{Linux, PID, StopReason, UID};
use crate::bus::MemFault;
use crate::hart::Hart;
use crate::ids::DisePc;
use crate::memory::Memory;
use crate::process::layout;
use crate::trap::{Trap, TrapCause};

/// Signals have the numbers 1..=64.
const LAST_SIGNAL: u8 = 64;
/// Size of `siginfo_t`.
pub(super) const SIGINFO_BYTES: usize = 128;
/// Size of the kernel's `sigset_t`.
const SIGSET_BYTES: u64 = 8;

const SIG_DFL: u64 = 0;
const SIG_IGN: u64 = 1;
const SIGKILL: u8 = 9;
const SIGSTOP: u8 = 19;

const SA_ONSTACK: u64 = 0x0800_0000;
const SA_NODEFER: u64 = 0x4000_0000;
const SA_RESETHAND: u64 = 0x8000_0000;

const SS_ONSTACK: u32 = 1;
const SS_DISABLE: u32 = 2;
const SS_AUTODISARM: u32 = 1 << 31;
const MIN_ALT_STACK_BYTES: u64 = 2048;

const SI_USER: i32 = 0;
const SI_KERNEL: i32 = 0x80;
const SI_TKILL: i32 = -6;

/// A signal that the kernel itself raises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// Illegal instruction.
    Illegal,
    /// Breakpoint.
    Trap,
    /// Misaligned access.
    Bus,
    /// Access that memory refuses.
    Segv,
    /// Write to a pipe that nobody reads.
    Pipe,
}

/// What the guest wants done with a signal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Action {
    /// Address of the handler, or 0 (default) or 1 (ignore).
    pub handler: u64,
    /// `SA_*`.
    pub flags: u64,
    /// Signals blocked while the handler runs.
    pub mask: u64,
}

/// Why a signal was raised.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SigInfo {
    /// Its number.
    pub signal: u8,
    /// `si_code`.
    pub code: i32,
    /// The address at fault, for a fault.
    pub addr: Option<u64>,
}

impl SigInfo {
    /// `siginfo_t`.
    pub(super) fn encode(&self) -> Vec<u8> {
        let head = Record::new().u32(u32::from(self.signal)).u32(0).u32(self.code as u32).u32(0);
        let body = match self.addr {
            Some(addr) => head.u64(addr),
            None if self.code == SI_KERNEL => head,
            None => head.u32(PID).u32(UID),
        };
        body.pad_to(SIGINFO_BYTES).done()
    }
}

/// The alternate signal stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AltStack {
    /// Its lowest address.
    pub base: u64,
    /// Its size in bytes; 0 means that there is none.
    pub bytes: u64,
    /// `SS_*` as set.
    pub flags: u32,
}

impl AltStack {
    const NONE: AltStack = AltStack { base: 0, bytes: 0, flags: SS_DISABLE };

    fn holds(&self, sp: u64) -> bool {
        self.bytes != 0 && sp > self.base && sp - self.base <= self.bytes
    }

    /// `stack_t`.
    pub(super) fn encode(&self) -> Vec<u8> {
        Record::new().u64(self.base).u32(self.flags).u32(0).u64(self.bytes).done()
    }

    pub(super) fn read(mem: &Memory, addr: u64) -> Result<AltStack, MemFault> {
        let [base, flags, bytes] = read_words(mem, addr)?;
        Ok(AltStack { base, bytes, flags: flags as u32 })
    }
}

/// The signal state of the process (there is one thread, so of that too).
#[derive(Clone, Debug)]
pub(super) struct Signals {
    actions: [Action; LAST_SIGNAL as usize + 1],
    infos: [SigInfo; LAST_SIGNAL as usize + 1],
    blocked: u64,
    pending: u64,
    alt_stack: AltStack,
    /// The mask to restore after a handler that interrupts `rt_sigsuspend`.
    suspended_mask: Option<u64>,
    /// The place inside an expansion of what a frame interrupted, by the frame's address. It is
    /// kept here because the guest's own frame has no place for it and must not forge it.
    disepcs: FxHashMap<u64, (u64, DisePc)>,
}

impl Default for Signals {
    fn default() -> Self {
        Signals {
            actions: [Action::default(); LAST_SIGNAL as usize + 1],
            infos: [SigInfo::default(); LAST_SIGNAL as usize + 1],
            blocked: 0,
            pending: 0,
            alt_stack: AltStack::NONE,
            suspended_mask: None,
            disepcs: FxHashMap::default(),
        }
    }
}

const fn bit(signal: u8) -> u64 {
    1 << (signal - 1)
}

/// Neither can be caught, blocked or ignored.
const UNSTOPPABLE: u64 = bit(SIGKILL) | bit(SIGSTOP);

/// SIGCHLD, SIGCONT, SIGURG and SIGWINCH do nothing by default. The stop signals end the process,
/// because nobody could ever continue it.
const fn ignored_by_default(signal: u8) -> bool {
    matches!(signal, 17 | 18 | 23 | 28)
}

fn signal_of(trap: &Trap) -> Signal {
    match trap.cause {
        TrapCause::Stopped => Signal::Trap,
        TrapCause::IllegalInstruction => Signal::Illegal,
        TrapCause::FetchFault | TrapCause::LoadFault { .. } | TrapCause::StoreFault { .. } => Signal::Segv,
        TrapCause::FetchMisaligned | TrapCause::MisalignedAtomic { .. } => Signal::Bus,
        TrapCause::Breakpoint => Signal::Trap,
    }
}

/// The exit code of a process that a fault ends, as a shell shows it: 128 and the signal's number.
#[must_use]
pub fn exit_code_of_fault(trap: &Trap) -> i32 {
    use super::abi::Abi;
    128 + i32::from(super::abi_riscv64::Riscv64.signal_number(signal_of(trap)))
}

impl Linux {
    /// Gives a fault to the guest's handler: `hart.pc` is then the handler. False if the guest has
    /// none that can run: the fault ends the process.
    pub fn deliver_fault(&mut self, trap: &Trap, hart: &mut Hart, mem: &mut Memory) -> bool {
        let signal = self.abi.signal_number(signal_of(trap));
        let addr = match trap.cause {
            TrapCause::LoadFault { addr }
            | TrapCause::StoreFault { addr }
            | TrapCause::MisalignedAtomic { addr } => addr,
            _ => trap.pc,
        };
        // SEGV_ACCERR is 2; SEGV_MAPERR, ILL_ILLOPC, TRAP_BRKPT and BUS_ADRALN are 1.
        let denied = signal_of(trap) == Signal::Segv && mem.permissions(addr).is_some();
        let info = SigInfo { signal, code: if denied { 2 } else { 1 }, addr: Some(addr) };
        let action = self.signals.actions[usize::from(signal)];
        if action.handler == SIG_DFL || action.handler == SIG_IGN || self.signals.blocked & bit(signal) != 0 {
            return false;
        }
        hart.pc = trap.pc;
        self.enter_handler(info, hart, mem).is_ok()
    }

    /// Makes a signal pending that the kernel raises because of a system call.
    pub(super) fn raise(&mut self, signal: Signal) {
        let signal = self.abi.signal_number(signal);
        self.post(SigInfo { signal, code: SI_KERNEL, addr: None });
    }

    fn post(&mut self, info: SigInfo) {
        if self.signals.pending & bit(info.signal) == 0 {
            self.signals.pending |= bit(info.signal);
            self.signals.infos[usize::from(info.signal)] = info;
        }
    }

    /// Delivers what is pending and not blocked. `Some` is the exit code if a signal ends the
    /// process.
    pub(super) fn deliver_pending(&mut self, hart: &mut Hart, mem: &mut Memory) -> Option<i32> {
        loop {
            let ready = self.signals.pending & !self.signals.blocked;
            if ready == 0 {
                return None;
            }
            let signal = ready.trailing_zeros() as u8 + 1;
            self.signals.pending &= !bit(signal);
            let info = self.signals.infos[usize::from(signal)];
            match self.signals.actions[usize::from(signal)].handler {
                SIG_IGN => {}
                SIG_DFL if ignored_by_default(signal) => {}
                SIG_DFL => return Some(128 + i32::from(signal)),
                _ => {
                    if self.enter_handler(info, hart, mem).is_err() {
                        // No room for the frame: Linux ends the process with SIGSEGV.
                        return Some(128 + i32::from(self.abi.signal_number(Signal::Segv)));
                    }
                }
            }
        }
    }

    fn enter_handler(&mut self, info: SigInfo, hart: &mut Hart, mem: &mut Memory) -> Result<(), MemFault> {
        let action = self.signals.actions[usize::from(info.signal)];
        let sp = self.abi.stack_pointer(hart);
        let alt = self.signals.alt_stack;
        let on_alt_stack = alt.holds(sp);
        let use_alt = action.flags & SA_ONSTACK != 0 && alt.bytes != 0 && !on_alt_stack;
        let mut saved_stack = alt;
        saved_stack.flags = alt.flags & !SS_ONSTACK | if on_alt_stack { SS_ONSTACK } else { 0 };
        let entry = HandlerEntry {
            info,
            handler: action.handler,
            mask: self.signals.suspended_mask.unwrap_or(self.signals.blocked),
            alt_stack: saved_stack,
            stack_top: if use_alt { alt.base.wrapping_add(alt.bytes) } else { sp },
            trampoline: layout::TRAMPOLINE,
        };
        let (pc, disepc) = (hart.pc, hart.disepc);
        let frame = self.abi.enter_handler(hart, mem, &entry)?;
        hart.disepc = DisePc::NONE;
        self.signals.disepcs.remove(&frame);
        if disepc != DisePc::NONE {
            self.signals.disepcs.insert(frame, (pc, disepc));
        }
        self.signals.suspended_mask = None;
        if alt.flags & SS_AUTODISARM != 0 && use_alt {
            self.signals.alt_stack = AltStack::NONE;
        }
        self.signals.blocked |= action.mask & !UNSTOPPABLE;
        if action.flags & SA_NODEFER == 0 {
            self.signals.blocked |= bit(info.signal);
        }
        if action.flags & SA_RESETHAND != 0 {
            self.signals.actions[usize::from(info.signal)].handler = SIG_DFL;
        }
        Ok(())
    }

    /// `rt_sigreturn`. An unreadable frame ends the process with SIGSEGV, as under Linux.
    pub(super) fn signal_return(&mut self, hart: &mut Hart, mem: &Memory) -> Result<(), i32> {
        let Ok(restored) = self.abi.leave_handler(hart, mem) else {
            return Err(128 + i32::from(self.abi.signal_number(Signal::Segv)));
        };
        self.signals.blocked = restored.mask & !UNSTOPPABLE;
        self.signals.alt_stack = AltStack { flags: restored.alt_stack.flags & !SS_ONSTACK, ..restored.alt_stack };
        hart.disepc = match self.signals.disepcs.remove(&restored.frame) {
            // A handler that changed the program counter goes on at an instruction of its own.
            Some((pc, disepc)) if pc == hart.pc => disepc,
            _ => DisePc::NONE,
        };
        Ok(())
    }

    pub(super) fn rt_sigaction(&mut self, mem: &mut Memory, a: &[u64; 6]) -> Result<u64, Errno> {
        let [signal, new, old, set_bytes, ..] = *a;
        let signal = valid_signal(signal)?;
        if set_bytes != SIGSET_BYTES || (new != 0 && UNSTOPPABLE & bit(signal) != 0) {
            return Err(Errno::EINVAL);
        }
        let action = if new == 0 { None } else { Some(self.abi.read_action(mem, new)?) };
        if old != 0 {
            self.abi.write_action(mem, old, &self.signals.actions[usize::from(signal)])?;
        }
        if let Some(action) = action {
            self.signals.actions[usize::from(signal)] = action;
            if action.handler == SIG_IGN || (action.handler == SIG_DFL && ignored_by_default(signal)) {
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
            self.stop = Some(StopReason::Deadlock { waits_for: "a signal that nobody can send" });
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

    pub(super) fn sigaltstack(&mut self, hart: &Hart, mem: &mut Memory, a: &[u64; 6]) -> Result<u64, Errno> {
        let [new, old, ..] = *a;
        let current = self.signals.alt_stack;
        let active = current.holds(self.abi.stack_pointer(hart));
        let wanted = if new == 0 { None } else { Some(AltStack::read(mem, new)?) };
        if old != 0 {
            let flags = if active { current.flags | SS_ONSTACK } else { current.flags };
            mem.write_bytes(old, &AltStack { flags, ..current }.encode())?;
        }
        if let Some(wanted) = wanted {
            if active {
                return Err(Errno::EPERM);
            }
            self.signals.alt_stack = match wanted.flags & !SS_AUTODISARM {
                SS_DISABLE => AltStack::NONE,
                0 | SS_ONSTACK if wanted.bytes < MIN_ALT_STACK_BYTES => return Err(Errno::ENOMEM),
                0 | SS_ONSTACK => AltStack { flags: wanted.flags & SS_AUTODISARM, ..wanted },
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
            self.post(SigInfo { signal, code, addr: None });
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
