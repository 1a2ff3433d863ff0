//! A process that gives a program its CPUs back if the observer is killed.
//!
//! A program is bound to its CPUs before its first instruction. If the observer dies, by whatever signal, the program
//! goes on, and nobody is left to unbind it. So a second process waits at a pipe whose other end only the observer
//! holds: the kernel closes that end for everybody who dies.
//!
//! The guardian is forked from a process with threads, so it makes calls of the kernel only and allocates nothing.

use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags, RawDir, open};
use rustix::io::{Errno, read};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, WaitOptions, waitpid};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::affinity::set_of;
use crate::error::ShimError;

/// Processes, children included, that get their CPUs back.
const MAX_PROCESSES: usize = 256;

/// Passes over all threads: those that begin during one are found by the next.
const MAX_PASSES: usize = 16;

/// A guardian of one program. Dropped, it unbinds the program unless this has ended, and ends.
#[derive(Debug)]
pub struct Guardian {
    /// Only this process holds this end. Nothing is written to it.
    alive: Option<OwnedFd>,
    process: Pid,
}

/// Task of a guardian: to let the program use all its CPUs again.
struct Task {
    program: Pid,
    /// CPUs to which the program was bound.
    bound: CpuSet,
    /// CPUs that the program may use again.
    allowed: CpuSet,
}

impl Guardian {
    /// Guards the process `pid`, which `program` names and which is bound to the CPUs `bound`: if this process dies, all
    /// its threads, and its children's, that are still bound so may use `allowed` again.
    ///
    /// # Errors
    /// [`ShimError::System`] if there is no process to be had for it.
    pub fn new(
        pid: Pid,
        program: &OwnedFd,
        bound: &[usize],
        allowed: &[usize],
    ) -> Result<Self, ShimError> {
        let task = Task {
            program: pid,
            bound: set_of(bound),
            allowed: set_of(allowed),
        };
        let (wait, alive) =
            pipe_with(PipeFlags::CLOEXEC).map_err(|e| ShimError::system("pipe", e))?;
        // SAFETY: the child calls nothing that is not safe after `fork`, and never returns.
        match unsafe { libc::fork() } {
            -1 => Err(ShimError::system("fork", std::io::Error::last_os_error())),
            0 => {
                task.guard(&wait, program);
                // SAFETY: ends the child without running what the parent has registered for its own end.
                unsafe { libc::_exit(0) }
            }
            child => Ok(Guardian {
                alive: Some(alive),
                process: Pid::from_raw(child).unwrap_or(Pid::INIT),
            }),
        }
    }
}

impl Drop for Guardian {
    fn drop(&mut self) {
        self.alive = None;
        let _ = waitpid(Some(self.process), WaitOptions::empty());
    }
}

impl Task {
    /// Waits until nobody holds the other end of the pipe.
    fn guard(&self, wait: &OwnedFd, program: &OwnedFd) {
        // Signals to the observer's group are not for the guardian.
        let _ = rustix::process::setsid();
        for signal in [libc::SIGTERM, libc::SIGINT, libc::SIGHUP] {
            // SAFETY: "ignore" is a valid disposition.
            unsafe { libc::signal(signal, libc::SIG_IGN) };
        }
        close_all_but(wait.as_raw_fd(), program.as_raw_fd());
        let mut word = [0];
        while read(wait, &mut word) == Err(Errno::INTR) {}
        if is_alive(program.as_fd()) {
            self.unbind_all();
        }
    }

    fn unbind_all(&self) {
        for _ in 0..MAX_PASSES {
            let mut pass = Pass {
                task: self,
                processes: [0; MAX_PROCESSES],
                found: 0,
                changed: 0,
            };
            pass.add(self.program.as_raw_nonzero().get());
            let mut at = 0;
            while at < pass.found {
                pass.process(pass.processes[at]);
                at += 1;
            }
            if pass.changed == 0 {
                return;
            }
        }
    }
}

/// One pass over all threads of all processes.
struct Pass<'a> {
    task: &'a Task,
    processes: [i32; MAX_PROCESSES],
    found: usize,
    changed: usize,
}

impl Pass<'_> {
    fn add(&mut self, pid: i32) {
        if let Some(free) = self.processes.get_mut(self.found) {
            *free = pid;
            self.found += 1;
        }
    }

    fn process(&mut self, pid: i32) {
        let mut path = Path::new();
        path.push(b"/proc/").push_number(pid).push(b"/task");
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let Ok(folder) = open(path.text(), flags, Mode::empty()) else {
            return;
        };
        let mut room = [MaybeUninit::uninit(); 4096];
        let mut threads = RawDir::new(folder, &mut room);
        while let Some(Ok(entry)) = threads.next() {
            if let Some(thread) = number(entry.file_name().to_bytes()) {
                self.thread(pid, thread);
            }
        }
    }

    fn thread(&mut self, pid: i32, thread: i32) {
        let id = Pid::from_raw(thread);
        if id.is_some() && sched_getaffinity(id).is_ok_and(|now| now == self.task.bound) {
            self.changed += usize::from(sched_setaffinity(id, &self.task.allowed).is_ok());
        }
        let mut path = Path::new();
        path.push(b"/proc/").push_number(pid).push(b"/task/");
        path.push_number(thread).push(b"/children");
        let Ok(file) = open(path.text(), OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()) else {
            return;
        };
        let mut list = [0; 4096];
        let length = read(&file, &mut list).unwrap_or(0);
        for child in list[..length].split(|&byte| byte == b' ') {
            if let Some(child) = number(child) {
                self.add(child);
            }
        }
    }
}

/// A path in fixed room.
struct Path {
    bytes: [u8; 64],
    length: usize,
}

impl Path {
    fn new() -> Self {
        Path {
            bytes: [0; 64],
            length: 0,
        }
    }

    /// Appends what there is room for, a zero byte beside it.
    fn push(&mut self, text: &[u8]) -> &mut Self {
        for &byte in text {
            if self.length + 1 < self.bytes.len() {
                self.bytes[self.length] = byte;
                self.length += 1;
            }
        }
        self
    }

    fn push_number(&mut self, number: i32) -> &mut Self {
        let mut digits = [0; 10];
        let (mut rest, mut at) = (number.unsigned_abs(), digits.len());
        while at == digits.len() || rest > 0 {
            at -= 1;
            digits[at] = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
        self.push(&digits[at..])
    }

    fn text(&self) -> &CStr {
        CStr::from_bytes_until_nul(&self.bytes).unwrap_or(c"")
    }
}

/// The number that the text is; `None` if it is none.
fn number(text: &[u8]) -> Option<i32> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// Whether the process of this file descriptor has not ended.
fn is_alive(process: BorrowedFd<'_>) -> bool {
    let now = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    let mut fds = [PollFd::from_borrowed_fd(process, PollFlags::IN)];
    poll(&mut fds, Some(&now)) == Ok(0)
}

/// Closes all file descriptors but two, so that nobody waits for this process at the other end of a pipe.
fn close_all_but(one: i32, other: i32) {
    let (first, second) = (one.min(other), one.max(other));
    close_range(0, first - 1);
    close_range(first + 1, second - 1);
    close_range(second + 1, i32::MAX);
}

fn close_range(first: i32, last: i32) {
    if first <= last {
        // SAFETY: the descriptors are the child's own copies, and nothing in it uses them.
        unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_and_numbers_are_written_and_read() {
        let mut path = Path::new();
        path.push(b"/proc/")
            .push_number(1_234_567_890)
            .push(b"/task/");
        path.push_number(7).push(b"/children");
        assert_eq!(path.text(), c"/proc/1234567890/task/7/children");
        assert_eq!(number(b"4711"), Some(4711));
        assert_eq!([number(b""), number(b"."), number(b"x1")], [None; 3]);
        let mut zero = Path::new();
        assert_eq!(zero.push_number(0).text(), c"0");
    }
}
