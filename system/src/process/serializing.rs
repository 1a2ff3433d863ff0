//! Instructions that execute with nothing else in flight, and faults.
//!
//! The functional machine and both cores of the pipeline serve system calls, fences of code, drains of
//! buffers and faults here. They differ in when they do it and in what they do with the result.

use hps_isa::code::trap_at;
use hps_isa::editor::DecodeEditor;
use hps_isa::exec::{Outcome, execute_wide};
use hps_isa::hart::Hart;
use hps_isa::ids::DisePc;
use hps_isa::memory::{PAGE_SIZE, Perm, page_align_down};
use hps_isa::trap::{Trap, TrapCause};

use super::Process;
use super::Stop;
use crate::os::SyscallResult;

/// Request of an instruction that executes alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alone {
    /// A system call of the program.
    Syscall,
    /// Code may have been modified.
    FenceI,
    /// An access that is wider than a register.
    Wide,
    /// The profile consumer reads its buffer, for a handler.
    Drain,
}

impl Alone {
    /// The request of an outcome. Handlers cannot make system calls, and the program cannot drain buffers.
    ///
    /// # Errors
    /// The cause of the fault if the outcome is not of an instruction that executes alone there.
    pub fn of(outcome: Outcome, in_handler: bool) -> Result<Alone, TrapCause> {
        match outcome {
            Outcome::Syscall if !in_handler => Ok(Alone::Syscall),
            Outcome::FenceI => Ok(Alone::FenceI),
            Outcome::Wide => Ok(Alone::Wide),
            Outcome::DiseDrain if in_handler => Ok(Alone::Drain),
            Outcome::Trap(cause) => Err(cause),
            _ => Err(TrapCause::IllegalInstruction),
        }
    }
}

/// Place at which execution goes on after an instruction that executes alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    /// Behind the instruction.
    Next,
    /// Somewhere else: a signal was delivered, or the handler of a signal returned.
    Elsewhere {
        /// The next instruction, where the editor has laid it out.
        pc: u64,
        /// The position in its expansion.
        disepc: DisePc,
    },
    /// Nowhere: the program ended with this exit code.
    Exit(i32),
    /// The instruction faults.
    Fault(TrapCause),
}

/// Result of an instruction that executed alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Done {
    /// Place at which execution goes on.
    pub then: Then,
    /// True if code has changed: instructions fetched before may not hold any more.
    pub code_changed: bool,
}

impl Process {
    /// Executes the instruction at `pc`, behind which `next` lies, with nothing else in flight.
    /// `hart.counters` hold what the guest may read. After a system call `hart.pc` is an address as
    /// the program knows it; the others leave `hart.pc` alone.
    pub fn execute_serializing<E: DecodeEditor>(
        &mut self,
        editor: &mut E,
        what: Alone,
        pc: u64,
        next: u64,
    ) -> Done {
        let (epoch, program) = (self.mem.code_epoch(), self.program);
        let then = match what {
            // An observer sleeps; its machine knows for how long.
            Alone::Syscall if self.thread.is_observer() => Then::Next,
            Alone::Syscall => self.make_syscall(editor, pc, next),
            Alone::FenceI => {
                // Other machines that run this process later have to know, too.
                self.mem.invalidate_code();
                Then::Next
            }
            Alone::Wide => self.access_widely(editor, pc),
            Alone::Drain => {
                let mem = &self.mem;
                editor.drain(&mut |addr, buf| mem.read_bytes(addr, buf).is_ok());
                Then::Next
            }
        };
        Done {
            then,
            code_changed: self.mem.code_epoch() != epoch || E::ENABLED && self.program != program,
        }
    }

    /// The cause of a fault of the instruction at `pc`, with why memory has refused an access.
    fn cause_of_fault(&self, pc: u64, cause: TrapCause) -> TrapCause {
        let mem = &self.mem;
        let is_executable = mem
            .permissions(pc)
            .is_some_and(|perm| perm.contains(Perm::X));
        let (addr, wanted) = match cause {
            TrapCause::LoadFault { addr } => (addr, Perm::R),
            TrapCause::StoreFault { addr } => (addr, Perm::W),
            // The second part of the instruction, if its first one is there.
            TrapCause::FetchFault if is_executable && !mem.is_absent(pc, Perm::X) => {
                (page_align_down(pc).wrapping_add(PAGE_SIZE), Perm::X)
            }
            TrapCause::FetchFault => (pc, Perm::X),
            _ => return cause,
        };
        match mem.is_absent(addr, wanted) {
            true => TrapCause::BehindFile { addr },
            false => cause,
        }
    }

    fn access_widely<E: DecodeEditor>(&mut self, editor: &E, pc: u64) -> Then {
        let isa = self.image.isa;
        let encoding = trap_at(&self.mem, isa, editor.original(pc), TrapCause::Stopped).encoding;
        let inst = isa.decode(encoding);
        let (hart, mem) = (&mut self.thread.hart, &mut self.guest.mem);
        match execute_wide(hart, mem, &inst) {
            Ok(()) => Then::Next,
            Err(cause) => Then::Fault(cause),
        }
    }

    fn make_syscall<E: DecodeEditor>(&mut self, editor: &E, pc: u64, next: u64) -> Then {
        let behind = if E::RELAYOUT {
            editor.original(pc).wrapping_add(next.wrapping_sub(pc))
        } else {
            next
        };
        self.thread.hart.pc = behind;
        self.thread.hart.disepc = DisePc::NONE;
        match self.syscall() {
            SyscallResult::Continue => {
                let Hart { pc: to, disepc, .. } = self.thread.hart;
                if (to, disepc) == (behind, DisePc::NONE) {
                    return Then::Next;
                }
                let pc = editor.place(pc, to);
                Then::Elsewhere { pc, disepc }
            }
            SyscallResult::Exit(code) => Then::Exit(code),
            SyscallResult::Trap => Then::Fault(TrapCause::Stopped),
        }
    }

    /// Takes the fault of the instruction at `pc`, at `disepc` of its expansion, in precise state.
    /// Returns where execution goes on, where the editor has laid it out: in the program's handler, or in another
    /// process if the fault has ended this one, which is a child.
    ///
    /// # Errors
    /// The trap if it ends the program: there is no handler that can run, or the fault is one of a
    /// profile handler, which the program must not see, or the operating system has stopped the
    /// program.
    pub fn take_fault<E: DecodeEditor>(
        &mut self,
        editor: &E,
        (pc, disepc): (u64, DisePc),
        cause: TrapCause,
        in_handler: bool,
    ) -> Result<u64, Stop> {
        let original = editor.original(pc);
        let cause = self.cause_of_fault(original, cause);
        let trap = trap_at(&self.mem, self.image.isa, original, cause);
        self.thread.hart.pc = original;
        self.thread.hart.disepc = disepc;
        let is_programs = !in_handler && !self.thread.is_observer();
        let may_handle = is_programs && cause != TrapCause::Stopped;
        if !may_handle {
            return Err(Stop::Fault(trap));
        }
        if self.deliver_fault(&trap) {
            return Ok(editor.place(pc, self.thread.hart.pc));
        }
        match self.end_by_fault(&trap) {
            None => Err(Stop::Fault(trap)),
            Some(SyscallResult::Continue) => Ok(editor.place(pc, self.thread.hart.pc)),
            Some(SyscallResult::Exit(code)) => Err(Stop::Exit(code)),
            Some(SyscallResult::Trap) => Err(Stop::Fault(Trap::stopped(original))),
        }
    }
}
