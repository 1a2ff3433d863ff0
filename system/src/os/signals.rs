//! Signals: actions, masks, delivery to handlers of the guest, default actions.

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::OsInterface;
use super::abi::HandlerEntry;
pub(crate) use super::pending::Pending;
use hps_isa::bus::MemFault;
use hps_isa::ids::DisePc;
use hps_isa::isa::Isa;
use hps_isa::layout;
use hps_isa::memory::{Memory, PAGE_SIZE, Perm, page_align_down};
use hps_isa::trap::{Trap, TrapCause};

use super::record::{Record, read_words};
use super::{Linux, PID};
use crate::process::Thread;

/// Signals have the numbers 1..=64.
pub(super) const LAST_SIGNAL: u8 = 64;
/// Size of `siginfo_t`.
pub(super) const SIGINFO_BYTES: usize = 128;
pub(super) const SIG_DFL: u64 = 0;
pub(super) const SIG_IGN: u64 = 1;
pub(super) const SIGKILL: u8 = 9;
/// Signals from here on are queued.
pub(super) const FIRST_REALTIME: u8 = 32;

pub(super) const SS_ONSTACK: u32 = 1;
pub(super) const SS_DISABLE: u32 = 2;
pub(super) const SS_AUTODISARM: u32 = 1 << 31;
pub(super) const SI_USER: i32 = 0;
pub(super) const SI_KERNEL: i32 = 0x80;

/// A signal that the kernel itself raises.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Signal {
    /// Illegal instruction.
    Illegal,
    /// Breakpoint.
    Trap,
    /// Misaligned access, or one behind the end of a mapped file.
    Bus,
    /// Access that memory refuses.
    Segv,
    /// Write to a pipe without a reader.
    Pipe,
    /// Arithmetic exception.
    Fpe,
    /// Write beyond the largest size that a file may have.
    FileSize,
    /// A timer of real time.
    Alarm,
    /// A timer of the time in which the program runs, without the kernel's.
    VirtualAlarm,
    /// A timer of the time in which the program runs.
    Profiling,
    /// A descriptor is ready.
    Io,
}

impl Signal {
    /// The signal that a fault raises everywhere.
    #[must_use]
    pub fn of(trap: &Trap) -> Signal {
        match trap.cause {
            TrapCause::IllegalInstruction => Signal::Illegal,
            TrapCause::FetchFault | TrapCause::LoadFault { .. } | TrapCause::StoreFault { .. } => {
                Signal::Segv
            }
            TrapCause::FetchMisaligned
            | TrapCause::BehindFile { .. }
            | TrapCause::MisalignedAtomic { .. }
            | TrapCause::Misaligned { .. } => Signal::Bus,
            TrapCause::Stopped | TrapCause::Breakpoint => Signal::Trap,
            TrapCause::Arithmetic { .. } | TrapCause::Raised { .. } => Signal::Fpe,
        }
    }
}

/// Disposition of a signal, as the guest wants it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Action {
    /// Address of the handler, or 0 (default) or 1 (ignore).
    pub handler: u64,
    /// `SA_*`.
    pub flags: u64,
    /// Signals blocked while the handler runs.
    pub mask: u64,
    /// Where the handler returns to; 0: to the kernel's own code.
    pub restorer: u64,
}

/// Flags, masks and numbers of signals in one system call interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SignalRules {
    /// `SA_ONSTACK`
    pub on_stack: u64,
    /// `SA_NODEFER`
    pub no_defer: u64,
    /// `SA_RESTART`
    pub restart: u64,
    /// `SA_RESETHAND`
    pub reset_handler: u64,
    /// `SIG_BLOCK`
    pub block: u64,
    /// `SIG_UNBLOCK`
    pub unblock: u64,
    /// `SIG_SETMASK`
    pub set_mask: u64,
    /// `SA_NOCLDWAIT`
    pub no_child_wait: u64,
    /// `SA_NOCLDSTOP`
    pub no_child_stop: u64,
    /// The number of SIGSTOP.
    pub stop: u8,
    /// Signals that stop the process by default: SIGSTOP, SIGTSTP, SIGTTIN and SIGTTOU.
    pub stops: [u8; 4],
    /// The number of SIGCONT.
    pub go_on: u8,
    /// The number of SIGCHLD.
    pub child: u8,
    /// Signals that do nothing by default, or nothing but let a stopped process go on.
    pub ignored: [u8; 4],
}

impl SignalRules {
    /// The signals that can be neither caught nor blocked nor ignored.
    pub(super) fn unstoppable(&self) -> u64 {
        bit(SIGKILL) | bit(self.stop)
    }

    pub(super) fn is_ignored_by_default(&self, signal: u8) -> bool {
        self.ignored.contains(&signal)
    }
}

/// The kinds of signal frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameKind {
    /// That of `rt_sigreturn`.
    Realtime,
    /// That of the older `sigreturn`.
    Plain,
}

/// State that a handler's frame restores besides the registers.
#[derive(Clone, Copy, Debug)]
pub struct Restored {
    /// The address of the frame.
    pub frame: u64,
    /// The signals to block.
    pub mask: u64,
    /// The alternate stack, if the frame holds it.
    pub alt_stack: Option<AltStack>,
}

/// A fault as a program's handler sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// `si_code`
    pub code: i32,
    /// `si_addr`
    pub addr: u64,
    /// The code of the trap, which some interfaces report (`si_trapno`).
    pub trap_number: i32,
    /// Where the program goes on after the handler.
    pub resume: u64,
}

impl Fault {
    /// Fault of a trap, as far as it is common to the interfaces.
    #[must_use]
    pub fn of(trap: &Trap, is_mapped: bool) -> Fault {
        let signal = Signal::of(trap);
        let addr = match trap.cause {
            TrapCause::LoadFault { addr }
            | TrapCause::StoreFault { addr }
            | TrapCause::BehindFile { addr }
            | TrapCause::MisalignedAtomic { addr }
            | TrapCause::Misaligned { addr } => addr,
            _ => trap.pc,
        };
        // SEGV_ACCERR and BUS_ADRERR are 2; SEGV_MAPERR, ILL_ILLOPC, TRAP_BRKPT and BUS_ADRALN are 1.
        let is_second = match trap.cause {
            TrapCause::BehindFile { .. } => true,
            _ => signal == Signal::Segv && is_mapped,
        };
        Fault {
            code: 1 + i32::from(is_second),
            addr,
            trap_number: 0,
            resume: trap.pc,
        }
    }

    /// The first byte that could not be accessed. Of an instruction that begins in a page that may be executed,
    /// that is the first byte of the next page.
    fn accessed(trap: &Trap, mem: &Memory) -> u64 {
        let is_executable = |addr| mem.permissions(addr).is_some_and(|p| p.contains(Perm::X));
        match trap.cause {
            TrapCause::LoadFault { addr } | TrapCause::StoreFault { addr } => addr,
            TrapCause::FetchFault if is_executable(trap.pc) => {
                page_align_down(trap.pc).wrapping_add(PAGE_SIZE)
            }
            _ => trap.pc,
        }
    }
}

/// Why a signal was raised.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SigInfo {
    /// Number of the signal.
    pub signal: u8,
    /// `si_code`.
    pub code: i32,
    /// The address at fault, for a fault.
    pub addr: Option<u64>,
    /// `si_trapno`, for a fault.
    pub trap_number: i32,
    /// Who sent it, as process and user, or the number of a timer and its overruns; `None`: the guest itself.
    pub sender: Option<(u32, u32)>,
    /// `si_value`.
    pub value: u64,
}

impl SigInfo {
    /// One without a number yet.
    pub(super) fn with_code(code: i32) -> SigInfo {
        SigInfo {
            code,
            ..SigInfo::default()
        }
    }

    /// `siginfo_t`.
    pub(super) fn encode(&self) -> Vec<u8> {
        let head = Record::new()
            .u32(u32::from(self.signal))
            .u32(0)
            .u32(self.code as u32)
            .u32(0);
        let body = match self.addr {
            Some(addr) => head.u64(addr).u32(self.trap_number as u32),
            None if self.code == SI_KERNEL => head,
            None => {
                let (first, second) = self.sender.unwrap_or((PID, super::Owner::default().uid));
                head.u32(first).u32(second).u64(self.value)
            }
        };
        body.pad_to(SIGINFO_BYTES).done()
    }
}

/// The alternate signal stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AltStack {
    /// Lowest address of the stack.
    pub base: u64,
    /// Size of the stack in bytes; 0 means that there is none.
    pub bytes: u64,
    /// `SS_*` as set.
    pub flags: u32,
}

impl AltStack {
    pub(super) const NONE: AltStack = AltStack {
        base: 0,
        bytes: 0,
        flags: SS_DISABLE,
    };

    pub(super) fn holds(&self, sp: u64) -> bool {
        self.bytes != 0 && sp > self.base && sp - self.base <= self.bytes
    }

    /// `stack_t`.
    pub(super) fn encode(&self) -> Vec<u8> {
        Record::new()
            .u64(self.base)
            .u32(self.flags)
            .u32(0)
            .u64(self.bytes)
            .done()
    }

    pub(super) fn read(mem: &Memory, addr: u64) -> Result<AltStack, MemFault> {
        let [base, flags, bytes] = read_words(mem, addr)?;
        Ok(AltStack {
            base,
            bytes,
            flags: flags as u32,
        })
    }
}

/// Signal state that threads share.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Signals {
    #[serde(with = "hps_isa::state::array")]
    pub(super) actions: [Action; LAST_SIGNAL as usize + 1],
    /// Signals sent to the process, which any thread may take.
    pub(super) pending: Pending,
}

impl Default for Signals {
    fn default() -> Self {
        Signals {
            actions: [Action::default(); LAST_SIGNAL as usize + 1],
            pending: Pending::default(),
        }
    }
}

/// Signal state of a thread.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct ThreadSignals {
    pub(super) blocked: u64,
    /// Signals sent to this thread.
    pub(super) pending: Pending,
    pub(super) alt_stack: AltStack,
    /// The mask to restore after a handler that interrupts `rt_sigsuspend`.
    pub(super) suspended_mask: Option<u64>,
    /// The place inside an expansion of what a frame interrupted, by the frame's address. It is
    /// kept here because the guest's own frame has no place for it and must not forge it.
    disepcs: FxHashMap<u64, (u64, DisePc)>,
}

impl Default for ThreadSignals {
    fn default() -> Self {
        ThreadSignals {
            blocked: 0,
            pending: Pending::default(),
            alt_stack: AltStack::NONE,
            suspended_mask: None,
            disepcs: FxHashMap::default(),
        }
    }
}

impl ThreadSignals {
    /// Signal state of a thread that this one makes: only the mask is handed on.
    pub(crate) fn of_child(&self) -> ThreadSignals {
        ThreadSignals {
            blocked: self.blocked,
            ..ThreadSignals::default()
        }
    }

    /// Signal state of a process that this thread makes: the alternate stack is handed on as well.
    pub(crate) fn of_process(&self) -> ThreadSignals {
        ThreadSignals {
            alt_stack: self.alt_stack,
            ..self.of_child()
        }
    }

    /// Signal state of a thread that begins with another program.
    pub(crate) fn at_exec(&self) -> ThreadSignals {
        ThreadSignals {
            blocked: self.blocked,
            pending: self.pending.clone(),
            ..ThreadSignals::default()
        }
    }

    /// Lets a call wait with other signals blocked. A call that waits on keeps the mask of its first look.
    pub(super) fn suspend(&mut self, mask: u64) {
        self.suspended_mask.get_or_insert(self.blocked);
        self.blocked = mask;
    }

    /// After a suspension without a handler: the old mask again.
    pub(super) fn end_suspension(&mut self) {
        if let Some(mask) = self.suspended_mask.take() {
            self.blocked = mask;
        }
    }
}

pub(super) const fn bit(signal: u8) -> u64 {
    1 << (signal - 1)
}

/// The exit code of a process that a fault ends, as a shell shows it: 128 and the signal's number,
/// which all interfaces of an instruction set have in common.
#[must_use]
pub fn exit_code_of_fault(isa: Isa, trap: &Trap) -> i32 {
    let abi = OsInterface::Linux.abi(isa);
    128 + i32::from(abi.signal_number(abi.fault_signal(trap)))
}

impl Linux {
    /// Gives a fault to the guest's handler: `hart.pc` is then the handler. False if the guest has
    /// none that can run: the fault ends the process.
    pub fn deliver_fault(&mut self, trap: &Trap, thread: &mut Thread, mem: &mut Memory) -> bool {
        // The program may end here.
        self.write_back(mem);
        let signal = self.abi.signal_number(self.abi.fault_signal(trap));
        let action = self.signals.actions[usize::from(signal)];
        if action.handler == SIG_DFL
            || action.handler == SIG_IGN
            || thread.signals.blocked & bit(signal) != 0
        {
            return false;
        }
        let accessed = Fault::accessed(trap, mem);
        let is_mapped = mem.permissions(accessed).is_some();
        let mut fault = self.abi.fault(trap, &mut thread.hart, is_mapped);
        if trap.cause == TrapCause::FetchFault {
            fault.addr = accessed;
        }
        let info = SigInfo {
            signal,
            code: fault.code,
            addr: Some(fault.addr),
            trap_number: fault.trap_number,
            ..SigInfo::default()
        };
        thread.hart.pc = fault.resume;
        self.enter_handler(info, thread, mem).is_ok()
    }

    /// Makes a signal pending that the kernel raises because of a system call.
    pub(super) fn raise_for(&self, thread: &mut Thread, signal: Signal) {
        thread.signals.pending.post(SigInfo {
            signal: self.abi.signal_number(signal),
            code: SI_KERNEL,
            ..SigInfo::default()
        });
    }

    /// The signals that wait for a thread: its own, and those of the process.
    pub(super) fn pending(&self, thread: &Thread) -> u64 {
        thread.signals.pending.set | self.signals.pending.set
    }

    /// Delivers what is pending and not blocked, first what was sent to the thread. `Some` is the exit
    /// code if a signal ends the process.
    pub(super) fn deliver_pending(&mut self, thread: &mut Thread, mem: &mut Memory) -> Option<i32> {
        loop {
            self.take_stops(thread);
            if self.is_stopped() {
                // All others wait until it goes on.
                return None;
            }
            let allowed = !thread.signals.blocked;
            let own = thread.signals.pending.take(allowed);
            let info = own.or_else(|| self.signals.pending.take(allowed))?;
            self.look_at_timers_again();
            let signal = info.signal;
            match self.signals.actions[usize::from(signal)].handler {
                SIG_IGN => {}
                SIG_DFL if self.abi.signal_rules().is_ignored_by_default(signal) => {}
                SIG_DFL => return Some(self.killed(signal)),
                _ => {
                    if self.enter_handler(info, thread, mem).is_err() {
                        // No room for the frame: Linux ends the process with SIGSEGV.
                        let segv = self.abi.signal_number(Signal::Segv);
                        return Some(self.killed(segv));
                    }
                }
            }
        }
    }

    fn enter_handler(
        &mut self,
        info: SigInfo,
        thread: &mut Thread,
        mem: &mut Memory,
    ) -> Result<(), MemFault> {
        let rules = self.abi.signal_rules();
        let action = self.signals.actions[usize::from(info.signal)];
        let sp = self.abi.stack_pointer(&thread.hart);
        let alt = thread.signals.alt_stack;
        let on_alt_stack = alt.holds(sp);
        let use_alt = action.flags & rules.on_stack != 0 && alt.bytes != 0 && !on_alt_stack;
        let mut saved_stack = alt;
        saved_stack.flags = alt.flags & !SS_ONSTACK | if on_alt_stack { SS_ONSTACK } else { 0 };
        let entry = HandlerEntry {
            info,
            handler: action.handler,
            mask: thread
                .signals
                .suspended_mask
                .unwrap_or(thread.signals.blocked),
            alt_stack: saved_stack,
            stack_top: if use_alt {
                alt.base.wrapping_add(alt.bytes)
            } else {
                sp
            },
            flags: action.flags,
            restorer: action.restorer,
            trampoline: layout::TRAMPOLINE,
        };
        let (pc, disepc) = (thread.hart.pc, thread.hart.disepc);
        let frame = self.abi.enter_handler(&mut thread.hart, mem, &entry)?;
        thread.hart.disepc = DisePc::NONE;
        thread.signals.disepcs.remove(&frame);
        if disepc != DisePc::NONE {
            thread.signals.disepcs.insert(frame, (pc, disepc));
        }
        thread.signals.suspended_mask = None;
        if alt.flags & SS_AUTODISARM != 0 && use_alt {
            thread.signals.alt_stack = AltStack::NONE;
        }
        thread.signals.blocked |= action.mask & !rules.unstoppable();
        if action.flags & rules.no_defer == 0 {
            thread.signals.blocked |= bit(info.signal);
        }
        if action.flags & rules.reset_handler != 0 {
            self.signals.actions[usize::from(info.signal)].handler = SIG_DFL;
        }
        Ok(())
    }

    /// `rt_sigreturn` and `sigreturn`. Gives the stack pointer that it has loaded. An unreadable frame ends the process with
    /// SIGSEGV, as under Linux.
    pub(super) fn signal_return(
        &mut self,
        thread: &mut Thread,
        mem: &Memory,
        kind: FrameKind,
    ) -> Result<u64, i32> {
        let Ok(restored) = self.abi.leave_handler(&mut thread.hart, mem, kind) else {
            return Err(self.killed(self.abi.signal_number(Signal::Segv)));
        };
        let stack_pointer = self.abi.stack_pointer(&thread.hart);
        thread.signals.blocked = restored.mask & !self.abi.signal_rules().unstoppable();
        if let Some(stack) = restored.alt_stack {
            let flags = stack.flags & !SS_ONSTACK;
            thread.signals.alt_stack = AltStack { flags, ..stack };
        }
        thread.hart.disepc = match thread.signals.disepcs.remove(&restored.frame) {
            // A handler that changed the program counter goes on at an instruction of its own.
            Some((pc, disepc)) if pc == thread.hart.pc => disepc,
            _ => DisePc::NONE,
        };
        Ok(stack_pointer)
    }
}
