//! A thread that is stopped by `ptrace`, and runs system calls and functions for the tracer.
//!
//! The thread of this process that stops another one has to make all calls for it, and lets it go at its end at the
//! latest.

use std::io;
use std::time::{Duration, Instant};

/// A thread has to stop within this time. One that waits for a child of `vfork` does not.
const LONGEST_STOP: Duration = Duration::from_secs(5);
/// The system call that ends a function of the library: `hps_shadow_enter` of `preload/shadow.c`.
const END_OF_FUNCTION: u64 = 0x7fff_0001;
const GETSIGMASK: libc::c_long = 0x420a;
const SETSIGMASK: libc::c_long = 0x420b;
/// Segment of 64-bit code.
const CODE_64: u64 = 0x33;

pub type Registers = libc::user_regs_struct;

/// A stopped thread. When it is dropped, the thread goes on as if nothing had been.
pub struct Stopped {
    process: i32,
    thread: i32,
    registers: Registers,
    mask: u64,
    /// Signals that arrived meanwhile.
    kept: Vec<i32>,
}

/// # Safety
/// `data` is what the request asks for.
unsafe fn ptrace(
    request: libc::c_long,
    thread: i32,
    address: usize,
    data: usize,
) -> io::Result<()> {
    // SAFETY: as the caller says.
    let got = unsafe { libc::syscall(libc::SYS_ptrace, request, thread, address, data) };
    if got < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// Lets the calling process, which was just forked, be traced by its parent: it stops when it has executed a program.
pub fn trace_me() -> io::Result<()> {
    // SAFETY: no memory is involved.
    unsafe { ptrace(libc::PTRACE_TRACEME as _, 0, 0, 0) }
}

impl Stopped {
    /// Stops a thread of a process.
    ///
    /// # Errors
    /// `PermissionDenied` if the process may not be traced, `TimedOut` if the thread does not stop, `ESRCH` if it has
    /// ended.
    pub fn seize(process: i32, thread: i32) -> io::Result<Stopped> {
        let options = libc::PTRACE_O_TRACESYSGOOD as usize;
        // SAFETY: no memory is involved.
        unsafe {
            ptrace(libc::PTRACE_SEIZE as _, thread, 0, options)?;
            ptrace(libc::PTRACE_INTERRUPT as _, thread, 0, 0)?;
        }
        Stopped::when_stopped(process, thread)
    }

    /// Takes a child that has called [`trace_me`] and executes a program.
    pub fn child(process: i32) -> io::Result<Stopped> {
        let stopped = Stopped::when_stopped(process, process)?;
        // SAFETY: no memory is involved.
        unsafe {
            ptrace(
                libc::PTRACE_SETOPTIONS as _,
                process,
                0,
                libc::PTRACE_O_TRACESYSGOOD as usize,
            )
        }?;
        Ok(stopped)
    }

    fn when_stopped(process: i32, thread: i32) -> io::Result<Stopped> {
        let began = Instant::now();
        let mut kept = Vec::new();
        loop {
            match wait(thread, libc::WNOHANG)? {
                // The stop that was asked for, by an interrupt or by the execution of a program.
                Some(status) if status >> 16 != 0 || libc::WSTOPSIG(status) == libc::SIGTRAP => {
                    break;
                }
                Some(status) => {
                    kept.push(libc::WSTOPSIG(status));
                    // SAFETY: no memory is involved.
                    unsafe { ptrace(libc::PTRACE_CONT as _, thread, 0, 0) }?;
                }
                None if began.elapsed() > LONGEST_STOP => {
                    return Err(io::ErrorKind::TimedOut.into());
                }
                None => std::thread::sleep(Duration::from_micros(100)),
            }
        }
        // SAFETY: plain data that the call fills; zeros are valid.
        let mut registers: Registers = unsafe { std::mem::zeroed() };
        let mut mask = 0_u64;
        // SAFETY: places of the sizes that the requests ask for.
        unsafe {
            let place = &raw mut registers as usize;
            ptrace(libc::PTRACE_GETREGS as _, thread, 0, place)?;
            ptrace(GETSIGMASK, thread, 8, &raw mut mask as usize)?;
        }
        Ok(Stopped {
            process,
            thread,
            registers,
            mask,
            kept,
        })
    }

    /// Address of the next instruction.
    pub fn pc(&self) -> u64 {
        self.registers.rip
    }

    /// Whether the thread runs 64-bit code.
    pub fn is_64_bit(&self) -> bool {
        self.registers.cs == CODE_64
    }

    /// Makes a system call by the instruction at `at`.
    pub fn call(&mut self, at: u64, number: i64, arguments: [u64; 6]) -> io::Result<u64> {
        let mut registers = self.registers;
        registers.rax = number as u64;
        [
            registers.rdi,
            registers.rsi,
            registers.rdx,
            registers.r10,
            registers.r8,
            registers.r9,
        ] = arguments;
        let result = self.run_until(at, registers, |_| true)?.rax as i64;
        match result {
            -4095..=-1 => Err(io::Error::from_raw_os_error(-result as i32)),
            _ => Ok(result as u64),
        }
    }

    /// Calls the library's function at `at`.
    pub fn enter(&mut self, at: u64, argument: u64) -> io::Result<i64> {
        let mut registers = self.registers;
        registers.rdi = argument;
        let is_end = |registers: &Registers| registers.orig_rax == END_OF_FUNCTION;
        Ok(self.run_until(at, registers, is_end)?.rdi as i64)
    }

    /// Goes on at an address until a system call has been made for which `is_end` holds.
    fn run_until(
        &mut self,
        at: u64,
        mut registers: Registers,
        is_end: impl Fn(&Registers) -> bool,
    ) -> io::Result<Registers> {
        let mut in_call = false;
        registers.rip = at;
        // No system call is under way that the kernel could begin anew.
        registers.orig_rax = u64::MAX;
        self.set(&registers, u64::MAX)?;
        loop {
            // SAFETY: no memory is involved.
            unsafe { ptrace(libc::PTRACE_SYSCALL as _, self.thread, 0, 0) }?;
            let Some(status) = wait(self.thread, 0)? else {
                continue;
            };
            match (libc::WSTOPSIG(status), status >> 16) {
                (signal, 0) if signal == libc::SIGTRAP | 0x80 => {
                    in_call = !in_call;
                    let place = &raw mut registers as usize;
                    // SAFETY: a place of the size that the request asks for.
                    unsafe { ptrace(libc::PTRACE_GETREGS as _, self.thread, 0, place) }?;
                    if !in_call && is_end(&registers) {
                        return Ok(registers);
                    }
                }
                (libc::SIGSEGV | libc::SIGBUS | libc::SIGILL | libc::SIGFPE, 0) => {
                    return Err(io::Error::other("the library failed in it"));
                }
                (signal, 0) => self.kept.push(signal),
                _ => {}
            }
        }
    }

    fn set(&self, registers: &Registers, mask: u64) -> io::Result<()> {
        // SAFETY: places of the sizes that the requests ask for, which are only read.
        unsafe {
            let place = std::ptr::from_ref(registers) as usize;
            ptrace(libc::PTRACE_SETREGS as _, self.thread, 0, place)?;
            ptrace(SETSIGMASK, self.thread, 8, &raw const mask as usize)
        }
    }

    /// Makes the kernel begin a system call anew that it has ended because of the stop, as it does with most of them by
    /// itself. One that a signal has ended stays so.
    fn restart_call(&mut self) {
        const ENDED_BY_STOPS: [i64; 7] = [
            libc::SYS_epoll_wait,
            libc::SYS_epoll_pwait,
            libc::SYS_epoll_pwait2,
            libc::SYS_semop,
            libc::SYS_semtimedop,
            libc::SYS_rt_sigtimedwait,
            libc::SYS_io_getevents,
        ];
        let registers = &mut self.registers;
        if registers.rax as i64 == -i64::from(libc::EINTR)
            && ENDED_BY_STOPS.contains(&(registers.orig_rax as i64))
            && self.kept.is_empty()
            && !has_pending_signal(self.process, self.thread)
        {
            registers.rax = registers.orig_rax;
            registers.rip -= 2;
        }
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        self.restart_call();
        // A call fails here because the thread has ended.
        let _ = self.set(&self.registers, self.mask);
        for signal in &self.kept {
            // SAFETY: no memory is involved.
            unsafe { libc::syscall(libc::SYS_tgkill, self.process, self.thread, *signal) };
        }
        // SAFETY: no memory is involved.
        let _ = unsafe { ptrace(libc::PTRACE_DETACH as _, self.thread, 0, 0) };
    }
}

/// The next stop of a thread; `ESRCH` if it has ended.
fn wait(thread: i32, flags: i32) -> io::Result<Option<i32>> {
    let mut status = 0;
    // SAFETY: a valid place for the answer.
    let got = unsafe { libc::waitpid(thread, &mut status, flags | libc::__WALL) };
    if got == 0 {
        return Ok(None);
    }
    if got < 0 {
        let error = io::Error::last_os_error();
        return match error.raw_os_error() {
            Some(libc::EINTR) => Ok(None),
            Some(libc::ECHILD) => Err(io::Error::from_raw_os_error(libc::ESRCH)),
            _ => Err(error),
        };
    }
    if libc::WIFSTOPPED(status) {
        Ok(Some(status))
    } else {
        Err(io::Error::from_raw_os_error(libc::ESRCH))
    }
}

/// Whether a signal waits to be delivered to a thread.
fn has_pending_signal(process: i32, thread: i32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{process}/task/{thread}/status"));
    let status = status.unwrap_or_default();
    let set = |name| {
        crate::inject::field(&status, name).and_then(|set| u64::from_str_radix(set, 16).ok())
    };
    let pending = set("SigPnd").unwrap_or(0) | set("ShdPnd").unwrap_or(0);
    pending & !set("SigBlk").unwrap_or(0) != 0
}
