//! `execve`: what the new program gets, and what the process forgets (Linux `fs/exec.c`).

use hps_isa::memory::Memory;

use super::super::errno::Errno;
use super::super::outcome::{Outcome, Returned};
use super::super::procfs::Located;
use super::super::signals::SIG_IGN;
use super::super::timers::Timers;
use super::super::tree::AT_FDCWD;
use super::super::{Action, Linux};
use super::ProcessRule;
use super::programs::{FoundProgram, Named, Refused};
use crate::image::LoadError;
use crate::process::{Given, Thread};

/// The most strings that a program may get.
const MAX_STRINGS: usize = 1 << 20;

/// A program that a process wants to run from now on.
#[derive(Debug)]
pub(crate) struct Execution {
    /// The program.
    pub found: FoundProgram,
    /// Name, arguments and environment of the program.
    pub given: Given,
}

impl Linux {
    /// `execve`. If the program can run, the process runs it in place of its own behind the call.
    pub(in super::super) fn execve(&mut self, mem: &Memory, a: &[u64; 6]) -> Outcome<Returned> {
        let [path, args, env, ..] = *a;
        let place = Named::At(AT_FDCWD as u64, self.path_argument(mem, path)?);
        self.run_program(mem, place, (args, env))
    }

    /// `execveat`: of a path from a folder, or of an open file.
    pub(in super::super) fn execveat(&mut self, mem: &Memory, a: &[u64; 6]) -> Outcome<Returned> {
        const SYMLINK_NOFOLLOW: u64 = 0x100;
        const EMPTY_PATH: u64 = 0x1000;
        let [fd, path, args, env, flags, _] = *a;
        let flags = u64::from(flags as u32);
        if flags & !(SYMLINK_NOFOLLOW | EMPTY_PATH) != 0 {
            return Err(Errno::EINVAL.into());
        }
        let is_empty = mem.read::<1>(path)? == 0;
        let place = match is_empty && flags & EMPTY_PATH != 0 {
            true => Named::Open(fd),
            false => Named::At(fd, self.path_argument(mem, path)?),
        };
        if flags & SYMLINK_NOFOLLOW != 0
            && let Named::At(fd, path) = &place
            && self.is_link(*fd, path)?
        {
            return Err(Errno::ELOOP.into());
        }
        self.run_program(mem, place, (args, env))
    }

    /// Whether the last name of a path is one of a symbolic link.
    pub(super) fn is_link(&self, fd: u64, path: &[u8]) -> Result<bool, Errno> {
        match self.locate(fd, path, false)? {
            Located::Host(from, way) => {
                let place = self.resolve(from, &way, false)?;
                Ok(place.existing()?.is_link())
            }
            _ => Ok(false),
        }
    }

    fn run_program(
        &mut self,
        mem: &Memory,
        place: Named,
        (args, env): (u64, u64),
    ) -> Outcome<Returned> {
        if let ProcessRule::Refused(what) = self.family.rule {
            self.run.warnings.once(&format!(
                "execve is refused (ENOSYS): {what} has one program; run it functionally, or timed by the \
                 cycle-driven core, without profilers, productions and sampling"
            ));
            return Err(Errno::ENOSYS.into());
        }
        let mut given = Given {
            args: self.strings(mem, args)?,
            env: self.strings(mem, env)?,
            file_name: place.text(),
        };
        if given.args.is_empty() {
            given.args.push(Vec::new());
        }
        if !given.fits() {
            return Err(Errno::E2BIG.into());
        }
        let found = match self.program_of(&mut given, place) {
            Ok(found) => found,
            Err(refused) => {
                let Refused { errno, cause, .. } = *refused;
                if let Some(cause) = cause {
                    self.run
                        .warnings
                        .once(&format!("execve is refused ({errno:?}): {cause}"));
                }
                return Err(errno.into());
            }
        };
        if !given.fits() {
            return Err(Errno::E2BIG.into());
        }
        self.gather()?;
        Ok(Returned {
            program: Some(Box::new(Execution { found, given })),
            ..Returned::default()
        })
    }

    /// The strings that a list of pointers names, which ends with a null pointer.
    fn strings(&self, mem: &Memory, list: u64) -> Result<Vec<Vec<u8>>, Errno> {
        let mut strings = Vec::new();
        if list == 0 {
            return Ok(strings);
        }
        let mut bytes = 0;
        loop {
            let at = mem.read::<8>(list.wrapping_add(8 * strings.len() as u64))?;
            if at == 0 {
                return Ok(strings);
            }
            let text = mem.read_cstr(at, Given::MOST_BYTES)?.ok_or(Errno::E2BIG)?;
            bytes += text.len();
            if strings.len() >= MAX_STRINGS || bytes > Given::MOST_BYTES {
                return Err(Errno::E2BIG);
            }
            strings.push(text);
        }
    }

    /// The program cannot run for want of memory: the call fails.
    pub(crate) fn refuse_execution(&mut self, thread: &mut Thread, cause: &LoadError) {
        self.run
            .warnings
            .once(&format!("execve is refused (ENOMEM): {cause}"));
        self.abi.set_result(&mut thread.hart, Err(Errno::ENOMEM));
    }

    /// The process has another program from now on: forgets what belonged to the old one. Its memory, if it was lent, is
    /// given back.
    pub(crate) fn execute(&mut self, thread: &Thread, mem: &mut Memory, execution: &Execution) {
        self.release_robust_lists(thread, mem);
        self.write_back(mem);
        self.give_memory_back(mem);
        self.files.close_all(true);
        self.end_watches();
        self.wake_on_files();
        self.program.exe.clone_from(&execution.found.exe);
        self.program
            .file_name
            .clone_from(&execution.given.file_name);
        self.signals.reset_handlers();
        self.credentials.execute();
        self.timers = Timers::at_exec(&self.timers);
        self.forget_buffers(&(0..Memory::LIMIT));
        self.threads.end_others();
        self.threads.rename_here(self.pid);
        if let Some(member) = self.family.members.get_mut(&self.pid) {
            member.has_executed = true;
        }
    }

    /// The most memory that a new program of this process may have, in bytes. The program that it has counts only if
    /// it belongs to another process.
    pub(crate) fn limit_at_exec(&self, mem: &Memory) -> u64 {
        let left = self.memory_left();
        let member = self.family.members.get(&self.pid);
        match member.is_some_and(|member| member.lender.is_some()) {
            true => left.saturating_sub(mem.mapped_bytes()),
            false => left,
        }
    }
}

impl super::super::signals::Signals {
    /// Signals that have handlers have their default actions instead.
    pub(in super::super) fn reset_handlers(&mut self) {
        for action in &mut self.actions {
            let handler = match action.handler {
                SIG_IGN => SIG_IGN,
                _ => super::super::signals::SIG_DFL,
            };
            *action = Action {
                handler,
                ..Action::default()
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::super::{Signal, SyscallResult};
    use super::super::ProcessRule;
    use crate::image::{Isa, ProgramImage};
    use crate::process::{Process, ProcessConfig};
    use hps_isa::asm::program::assemble;

    const HANDLER: u64 = 0x5000;
    const ALARM: usize = 14;

    /// Executes the own program while SIGALRM, which has a handler, waits for the thread, and is blocked or not.
    fn executes(blocked: u64) -> (SyscallResult, Process) {
        let file = assemble(Isa::Riscv64, ".globl _start\n_start: ecall\n");
        let file = file.expect("a program").file;
        let image = ProgramImage::parse(&file, "prog").expect("a program");
        let mut process =
            Process::new(Arc::new(image), &ProcessConfig::default()).expect("it fits");
        process.os.set_process_rule(ProcessRule::Allowed(8));
        let path = process.thread.hart.r[2] - 64;
        let written = process.mem.write_bytes(path, b"/proc/self/exe\0");
        written.expect("a stack");
        process.thread.hart.r[10..13].copy_from_slice(&[path, 0, 0]);
        process.thread.hart.r[17] = 221;
        process.thread.hart.pc += 4;
        process.guest.os.signals.actions[ALARM].handler = HANDLER;
        process.thread.signals.blocked = blocked;
        let os = &process.guest.os;
        os.raise_for(&mut process.thread, Signal::Alarm);
        (process.syscall(), process)
    }

    /// Linux delivers signals behind the call, when no handler is left (`fs/exec.c`, `flush_signal_handlers`).
    #[test]
    fn a_signal_that_waits_meets_the_actions_of_the_new_program() {
        let (result, _) = executes(0);
        assert_eq!(result, SyscallResult::Exit(128 + ALARM as i32));
        let (result, process) = executes(1 << (ALARM - 1));
        assert_eq!(result, SyscallResult::Continue);
        assert_eq!(process.thread.hart.pc, process.image.entry);
        assert_eq!(process.guest.os.pending(&process.thread), 1 << (ALARM - 1));
    }
}
