//! `execve`: which file it names, and what the new program gets (Linux `fs/exec.c`, `fs/binfmt_script.c`).

use std::fs::File;
use std::sync::Arc;
use std::time::SystemTime;

use super::super::descriptors::Kind;
use super::super::errno::Errno;
use super::super::file_mappings::identity;
use super::super::memory::Heap;
use super::super::paths::joined;
use super::super::procfs::Located;
use super::super::signals::SIG_IGN;
use super::super::stat::mode_of;
use super::super::streams::retry;
use super::super::timers::Timers;
use super::super::tree::AT_FDCWD;
use super::super::{Action, Linux};
use super::ProcessRule;
use crate::host::sys::rustix::fs::OFlags;
use crate::host::sys::unix_fs::{FileExt, MetadataExt};
use crate::image::{LoadError, MAX_FILE_BYTES, ProgramImage};
use crate::memory::Memory;
use crate::process::{Given, Thread};

/// Scripts that one call may lead through.
const MAX_SCRIPTS: u32 = 4;
/// The first line of a script is looked at so far.
const MAX_LINE: usize = 256;
/// The most strings that a program may get.
const MAX_STRINGS: usize = 1 << 20;

/// A program that a process wants to run from now on.
#[derive(Debug)]
pub(crate) struct Execution {
    /// The program.
    pub image: Arc<ProgramImage>,
    /// What it gets.
    pub given: Given,
    /// Where its file lies, as the guest sees it.
    exe: Vec<u8>,
}

/// Programs that have been read, those used last first. All stay, since reports tell of those that processes have run.
#[derive(Debug, Default)]
pub(super) struct Images(Vec<(Key, Arc<ProgramImage>)>);

/// Device and number, size, and time of the last change of a file.
type Key = ((u64, u64), u64, Option<SystemTime>);

impl Images {
    fn find(&mut self, key: &Key) -> Option<Arc<ProgramImage>> {
        let at = self.0.iter().position(|(known, _)| known == key)?;
        self.0[..=at].rotate_right(1);
        Some(Arc::clone(&self.0[0].1))
    }

    fn keep(&mut self, key: Key, image: &Arc<ProgramImage>) {
        self.0.insert(0, (key, Arc::clone(image)));
    }
}

/// How a call names a program.
enum Named {
    /// By a path from an open folder.
    At(u64, Vec<u8>),
    /// By an open file.
    Open(u64),
}

impl Named {
    /// The path by which the program knows itself.
    fn text(&self) -> Vec<u8> {
        match self {
            Named::At(folder, path)
                if *folder as u32 == AT_FDCWD as u32 || path.starts_with(b"/") =>
            {
                path.clone()
            }
            Named::At(folder, path) => {
                let mut text = format!("/dev/fd/{folder}/").into_bytes();
                text.extend(path);
                text
            }
            Named::Open(fd) => format!("/dev/fd/{fd}").into_bytes(),
        }
    }
}

/// What a path leads to.
enum Found {
    Program(Arc<ProgramImage>),
    Script {
        interpreter: Vec<u8>,
        argument: Option<Vec<u8>>,
    },
}

impl Linux {
    /// `execve`. If the program can run, the process runs it in place of its own behind the call.
    pub(in super::super) fn execve(&mut self, mem: &Memory, a: &[u64; 6]) -> Result<u64, Errno> {
        let [path, args, env, ..] = *a;
        let place = Named::At(AT_FDCWD as u64, self.path_argument(mem, path)?);
        self.run_program(mem, place, (args, env))
    }

    /// `execveat`: of a path from a folder, or of an open file.
    pub(in super::super) fn execveat(&mut self, mem: &Memory, a: &[u64; 6]) -> Result<u64, Errno> {
        const SYMLINK_NOFOLLOW: u64 = 0x100;
        const EMPTY_PATH: u64 = 0x1000;
        let [fd, path, args, env, flags, _] = *a;
        let flags = u64::from(flags as u32);
        if flags & !(SYMLINK_NOFOLLOW | EMPTY_PATH) != 0 {
            return Err(Errno::EINVAL);
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
            return Err(Errno::ELOOP);
        }
        self.run_program(mem, place, (args, env))
    }

    /// Whether the last name of a path is one of a symbolic link.
    fn is_link(&self, fd: u64, path: &[u8]) -> Result<bool, Errno> {
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
        mut place: Named,
        (args, env): (u64, u64),
    ) -> Result<u64, Errno> {
        if let ProcessRule::Refused(what) = self.family.rule {
            self.warn_once(&format!(
                "execve is refused (ENOSYS): {what} has one program; run it functionally, or timed by the \
                 cycle-driven core, without profilers, productions and sampling"
            ));
            return Err(Errno::ENOSYS);
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
            return Err(Errno::E2BIG);
        }
        for _ in 0..=MAX_SCRIPTS {
            match self.program_at(&place)? {
                Found::Program(image) => {
                    if !given.fits() {
                        return Err(Errno::E2BIG);
                    }
                    self.gather()?;
                    self.execution = Some(Box::new(Execution {
                        image,
                        given,
                        exe: joined(&self.cwd_text().unwrap_or_default(), &place.text()),
                    }));
                    return Ok(0);
                }
                Found::Script {
                    interpreter,
                    argument,
                } => {
                    let mut args = vec![interpreter.clone()];
                    args.extend(argument);
                    args.push(place.text());
                    args.extend(given.args.drain(1..));
                    given.args = args;
                    place = Named::At(AT_FDCWD as u64, interpreter);
                }
            }
        }
        Err(Errno::ELOOP)
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

    fn program_at(&mut self, place: &Named) -> Result<Found, Errno> {
        let (folder, path) = match place {
            Named::At(folder, path) => (*folder, path),
            Named::Open(fd) => {
                let file = match &self.files.get(*fd)?.kind {
                    Kind::File(file) => file.try_clone()?,
                    _ => return Err(Errno::EACCES),
                };
                if file.metadata()?.mode() & 0o100 == 0 {
                    return Err(Errno::EACCES);
                }
                return self.program_in(&file, &place.text());
            }
        };
        let own = |os: &Linux| {
            let started = os.started.as_ref().ok_or(Errno::ENOENT)?;
            Ok(Found::Program(Arc::clone(&started.image)))
        };
        let (from, way) = match self.locate(folder, path, true)? {
            Located::Host(from, way) => (from, way),
            Located::Program => return own(self),
            _ => return Err(Errno::EACCES),
        };
        let place = match self.resolve(from, &way, true) {
            Ok(place) if place.node.is_some() => place,
            Ok(_) | Err(Errno::ENOENT) if self.names_program(folder, path) => return own(self),
            Ok(_) => return self.noted(path, Err(Errno::ENOENT)),
            Err(errno) => return self.noted(path, Err(errno)),
        };
        let node = place.existing()?;
        let mode = mode_of(&node.stat, self.writable);
        if !node.is_file() || self.credentials.access(mode, self.owner, false) & 1 == 0 {
            return Err(Errno::EACCES);
        }
        let file = node.open(OFlags::RDONLY)?;
        self.program_in(&file, path)
    }

    fn program_in(&mut self, file: &File, path: &[u8]) -> Result<Found, Errno> {
        let metadata = file.metadata()?;
        let key = (identity(file)?, metadata.len(), metadata.modified().ok());
        if let Some(image) = self.family.images.find(&key) {
            return Ok(Found::Program(image));
        }
        let mut start = [0; MAX_LINE];
        let len = retry(|| file.read_at(&mut start, 0))?;
        let start = &start[..len];
        if let Some(line) = start.strip_prefix(b"#!") {
            return script(line);
        }
        let read = |buffer: &mut [u8], at| file.read_exact_at(buffer, at);
        let needed = ProgramImage::needed_bytes(start, metadata.len(), read);
        let needed = needed.filter(|needed| *needed <= MAX_FILE_BYTES);
        let name = String::from_utf8_lossy(path).into_owned();
        let Some(needed) = needed else {
            if start.starts_with(b"\x7fELF") {
                self.warn_once(&format!(
                    "execve is refused (ENOEXEC): {name} has headers that lead out of the file, or is too large"
                ));
            }
            return Err(Errno::ENOEXEC);
        };
        // The bytes are there twice for a moment.
        self.check_room(2 * needed, Errno::ENOMEM)?;
        let mut bytes = vec![0; needed as usize];
        file.read_exact_at(&mut bytes, 0)
            .map_err(|_| Errno::ENOEXEC)?;
        let image = match ProgramImage::parse(&bytes, &name) {
            Ok(image) => image,
            Err(cause) => {
                if bytes.starts_with(b"\x7fELF") {
                    self.warn_once(&format!("execve is refused (ENOEXEC): {cause}"));
                }
                return Err(Errno::ENOEXEC);
            }
        };
        let own = self.started.as_ref().map(|s| (s.image.isa, s.image.os));
        if own != Some((image.isa, image.os)) {
            self.warn_once(&format!(
                "execve is refused (ENOEXEC): {name} is a program for another instruction set or operating system"
            ));
            return Err(Errno::ENOEXEC);
        }
        let image = Arc::new(image);
        self.charge_program(image.held_bytes());
        self.family.images.keep(key, &image);
        Ok(Found::Program(image))
    }

    /// The program that the last call wants to run.
    #[inline]
    pub(crate) fn take_execution(&mut self) -> Option<Box<Execution>> {
        self.execution.take()
    }

    /// The program cannot run for want of memory: the call fails.
    pub(crate) fn refuse_execution(&mut self, thread: &mut Thread, cause: &LoadError) {
        self.warn_once(&format!("execve is refused (ENOMEM): {cause}"));
        self.abi.set_result(&mut thread.hart, Err(Errno::ENOMEM));
    }

    /// The process has another program from now on, whose heap begins at `heap_start`: forgets what belonged to the old
    /// one. Its memory, if it was lent, is given back.
    pub(crate) fn execute(
        &mut self,
        thread: &Thread,
        mem: &mut Memory,
        execution: &Execution,
        heap_start: u64,
    ) {
        self.release_robust_lists(thread, mem);
        self.write_back(mem);
        self.give_memory_back(mem);
        self.files.close_all(true);
        self.end_watches();
        self.wake_on_files();
        self.exe.clone_from(&execution.exe);
        self.heap = Heap::new(heap_start);
        self.mappings = Default::default();
        self.locks = Default::default();
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

/// The interpreter in the first line of a script, behind `#!`, and the rest of the line as one argument.
fn script(line: &[u8]) -> Result<Found, Errno> {
    let line = &line[..line.len().min(MAX_LINE)];
    let end = line.iter().position(|byte| *byte == b'\n');
    let line = line[..end.unwrap_or(line.len())].trim_ascii();
    let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t');
    let end = line.iter().position(is_blank).unwrap_or(line.len());
    let (interpreter, argument) = line.split_at(end);
    if interpreter.is_empty() {
        return Err(Errno::ENOEXEC);
    }
    let argument = argument.trim_ascii();
    Ok(Found::Script {
        interpreter: interpreter.to_vec(),
        argument: (!argument.is_empty()).then(|| argument.to_vec()),
    })
}
