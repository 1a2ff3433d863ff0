//! Starts a program that waits for a word before its first instruction.
//!
//! The program's process must exist before its events can be opened, and must not run before the
//! observer does. So the child reports its id through a pipe and waits in another one, between
//! `fork` and `exec`. `Command::spawn` returns only after `exec`, hence the thread.

use std::ffi::OsString;
use std::io::{Error, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;

use rustix::pipe::{PipeFlags, pipe_with};
use rustix::thread::CpuSet;

use crate::affinity::set_of;
use crate::error::ShimError;

/// The words.
const GO: [u8; 1] = [1];
const NO: [u8; 1] = [0];

/// A program that has a process and has not begun.
#[derive(Debug)]
pub struct Waiting {
    pid: u32,
    program: String,
    go: OwnedFd,
    spawner: JoinHandle<std::io::Result<Child>>,
}

/// Program to start.
#[derive(Debug, Clone, Default)]
pub struct Start {
    /// The program and its arguments.
    pub command: Vec<OsString>,
    /// Variables set beside the inherited ones.
    pub environment: Vec<(OsString, OsString)>,
    /// CPUs that it may use; all of ours if empty.
    pub cpus: Vec<usize>,
    /// Working folder of the program; ours if there is none.
    pub folder: Option<PathBuf>,
    /// File that is its standard input, in place of ours.
    pub input: Option<PathBuf>,
    /// Its standard output goes nowhere.
    pub silent: bool,
    /// A file for what `/proc/PID/stat` says of the program's process before the program runs: who finds it later knows
    /// which process it was.
    pub record: Option<PathBuf>,
}

/// Work of the child between `fork` and `exec`: calls of the kernel only, no allocation.
fn prepare(
    cpus: Option<&CpuSet>,
    report: &OwnedFd,
    wait: &OwnedFd,
    go: RawFd,
) -> std::io::Result<()> {
    // SAFETY: the child's copy of the pipe's other end; with it open, the end of a parent that is
    // killed would not end the wait.
    unsafe { rustix::io::close(go) };
    if let Some(cpus) = cpus {
        rustix::thread::sched_setaffinity(None, cpus)?;
    }
    // SAFETY: the default action is a valid disposition; ours may be "ignore", and is inherited.
    unsafe { libc::signal(libc::SIGINT, libc::SIG_DFL) };
    let pid = rustix::process::getpid().as_raw_nonzero().get();
    rustix::io::write(report, &pid.to_ne_bytes())?;
    let mut word = [0];
    let read = rustix::io::read(wait, &mut word)?;
    if read == 1 && word == GO {
        Ok(())
    } else {
        Err(Error::from_raw_os_error(libc::ECANCELED))
    }
}

fn pipe() -> Result<(OwnedFd, OwnedFd), ShimError> {
    pipe_with(PipeFlags::CLOEXEC).map_err(|e| ShimError::system("pipe", e))
}

impl Waiting {
    /// Starts the process; the program itself waits for [`Waiting::go`].
    ///
    /// # Errors
    /// [`ShimError::NotStarted`] if there is no command or no process to be had.
    pub fn new(start: &Start) -> Result<Self, ShimError> {
        let name = |c: &OsString| c.to_string_lossy().into_owned();
        let program = start.command.first().map(name).unwrap_or_default();
        if program.is_empty() {
            return Err(not_started(
                "(nothing)".to_owned(),
                Error::other("no program was named"),
            ));
        }
        let (reported, report) = pipe()?;
        let (wait, go) = pipe()?;
        let mut command = Command::new(&start.command[0]);
        command
            .args(&start.command[1..])
            .envs(start.environment.iter().cloned());
        if let Some(folder) = &start.folder {
            command.current_dir(folder);
        }
        if let Some(input) = &start.input {
            let opened = std::fs::File::open(input);
            command.stdin(
                opened.map_err(|e| not_started(format!("{program} < {}", input.display()), e))?,
            );
        }
        if start.silent {
            command.stdout(Stdio::null());
        }
        let cpus = (!start.cpus.is_empty()).then(|| set_of(&start.cpus));
        let other = go.as_raw_fd();
        // SAFETY: `prepare` calls nothing that is not safe after `fork`.
        unsafe { command.pre_exec(move || prepare(cpus.as_ref(), &report, &wait, other)) };
        let spawner = std::thread::spawn(move || command.spawn());
        let mut pid = [0; 4];
        let read = std::fs::File::from(reported).read_exact(&mut pid);
        if let Err(source) = read {
            drop(go);
            let source = join(spawner).err().unwrap_or(source);
            return Err(not_started(program, source));
        }
        let pid = u32::from_ne_bytes(pid);
        if let Some(record) = &start.record {
            // Without it, the program is no less observed.
            let stat = std::fs::read(format!("/proc/{pid}/stat"));
            let _ = stat.and_then(|stat| std::fs::write(record, stat));
        }
        Ok(Self {
            pid,
            program,
            go,
            spawner,
        })
    }

    /// The process.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Lets it run.
    ///
    /// # Errors
    /// [`ShimError::NotStarted`] if there is no such program, or it is none.
    pub fn go(self) -> Result<Child, ShimError> {
        let written = std::fs::File::from(self.go).write_all(&GO);
        let child = join(self.spawner).map_err(|e| not_started(self.program.clone(), e))?;
        written.map_err(|e| not_started(self.program, e))?;
        Ok(child)
    }

    /// Lets it end without having run.
    pub fn cancel(self) {
        // A word, since another process that is just being started may hold a copy of the pipe.
        let _ = std::fs::File::from(self.go).write_all(&NO);
        let _ = join(self.spawner);
    }
}

fn not_started(program: String, source: Error) -> ShimError {
    ShimError::NotStarted { program, source }
}

fn join(spawner: JoinHandle<std::io::Result<Child>>) -> std::io::Result<Child> {
    spawner
        .join()
        .unwrap_or_else(|_| Err(Error::other("the thread that starts it panicked")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start(words: &[&str]) -> Start {
        Start {
            command: words.iter().map(OsString::from).collect(),
            ..Start::default()
        }
    }

    #[test]
    fn nothing_runs_before_the_word() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("ran");
        let text = format!("touch {}", file.display());
        let waiting = Waiting::new(&start(&["sh", "-c", &text])).unwrap();
        let pid = waiting.pid();
        assert!(std::path::Path::new(&format!("/proc/{pid}")).exists());
        assert!(!file.exists());
        let mut child = waiting.go().unwrap();
        assert_eq!(child.id(), pid);
        assert!(child.wait().unwrap().success());
        assert!(file.exists());
    }

    #[test]
    fn a_program_that_is_not_there_is_named() {
        let waiting = Waiting::new(&start(&["/nowhere/at-all"])).unwrap();
        let said = waiting.go().unwrap_err().to_string();
        assert!(said.contains("/nowhere/at-all"), "{said}");
        assert!(Waiting::new(&start(&[])).is_err());
    }

    #[test]
    fn a_cancelled_program_never_runs() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("ran");
        let text = format!("touch {}", file.display());
        Waiting::new(&start(&["sh", "-c", &text])).unwrap().cancel();
        assert!(!file.exists());
    }
}
