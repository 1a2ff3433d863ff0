//! Puts the library into a process that has no loader to preload it or runs already, and takes it out again.

use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Duration;

use object::elf;
use object::read::elf::{FileHeader, ProgramHeader, Rela};
use object::{Endianness, Object, ObjectSymbol};

use crate::trace::Stopped;

type Header = elf::FileHeader64<Endianness>;

const PAGE: u64 = 4096;
/// Tries to find all threads of a process outside of the library, and the pause between two.
const TRIES: u32 = 200;
const PAUSE: Duration = Duration::from_millis(2);

/// The library in a process.
pub struct Injected {
    process: i32,
    base: u64,
    bytes: u64,
    enter: u64,
    syscall: u64,
    memory: File,
}

impl Injected {
    /// Puts the library into a running process and lets it begin there with the region at this path.
    ///
    /// The calling thread has to end afterwards if this fails.
    ///
    /// # Errors
    /// The reason and the remedy, in words.
    pub fn into_process(process: i32, library: &Path, region: &Path) -> Result<Injected, String> {
        refusal(process).map_or(Ok(()), Err)?;
        let stopped = Stopped::seize(process, process).map_err(|e| in_words(process, &e))?;
        Injected::inject(process, stopped, library, region)
    }

    /// Puts the library into a child of the calling thread that has called [`crate::trace::trace_me`] and now executes
    /// its program.
    ///
    /// # Errors
    /// The reason and the remedy, in words.
    pub fn into_child(process: i32, library: &Path, region: &Path) -> Result<Injected, String> {
        let stopped = Stopped::child(process).map_err(|e| in_words(process, &e))?;
        Injected::inject(process, stopped, library, region)
    }

    fn inject(
        process: i32,
        mut stopped: Stopped,
        library: &Path,
        region: &Path,
    ) -> Result<Injected, String> {
        if !stopped.is_64_bit() {
            return Err("it runs 32-bit code, and only 64-bit x86 code can be copied".to_owned());
        }
        let file = std::fs::read(library).map_err(|e| format!("{}: {e}", library.display()))?;
        let library = Library::parse(&file).map_err(|e| format!("{}: {e}", library.display()))?;
        let fail = |e| in_words(process, &e);
        let memory = File::options()
            .read(true)
            .write(true)
            .open(format!("/proc/{process}/mem"))
            .map_err(fail)?;
        let syscall = find_syscall(process, &memory)
            .ok_or("none of its code that can be read makes system calls")?;
        // The path of the region lies in a page behind the library.
        let bytes = library.bytes + PAGE;
        let anonymous = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        let writable = (libc::PROT_READ | libc::PROT_WRITE) as u64;
        let arguments = [0, bytes, writable, anonymous as u64, u64::MAX, 0];
        let base = stopped
            .call(syscall, libc::SYS_mmap, arguments)
            .map_err(fail)?;
        let injected = Injected {
            process,
            base,
            bytes,
            enter: base + library.enter,
            syscall,
            memory,
        };
        let begun = injected.begin(&mut stopped, &library, region);
        if begun.is_err() {
            let _ = stopped.call(syscall, libc::SYS_munmap, [base, bytes, 0, 0, 0, 0]);
        }
        begun.map(|()| injected)
    }

    /// Writes the library, and calls it.
    fn begin(&self, stopped: &mut Stopped, library: &Library, region: &Path) -> Result<(), String> {
        let fail = |e| in_words(self.process, &e);
        let write = |bytes: &[u8], at: u64| self.memory.write_all_at(bytes, self.base + at);
        for segment in &library.segments {
            write(segment.content, segment.start).map_err(fail)?;
        }
        for (at, addend) in &library.relative {
            write(&self.base.wrapping_add(*addend).to_le_bytes(), *at).map_err(fail)?;
        }
        for segment in &library.segments {
            let (from, to) = (segment.start / PAGE, segment.end.div_ceil(PAGE));
            let (at, bytes) = (self.base + from * PAGE, (to - from) * PAGE);
            let arguments = [at, bytes, segment.protection, 0, 0, 0];
            stopped
                .call(self.syscall, libc::SYS_mprotect, arguments)
                .map_err(fail)?;
        }
        write(region.as_os_str().as_bytes(), library.bytes).map_err(fail)?;
        match stopped
            .enter(self.enter, self.base + library.bytes)
            .map_err(fail)?
        {
            0 => Ok(()),
            error => Err(refused_by_library(-error as i32)),
        }
    }

    /// Whether the process still has the memory into which the library was put: it has neither ended nor executed
    /// another program.
    pub fn is_there(&self) -> bool {
        let mut magic = [0; 4];
        let read = self.memory.read_exact_at(&mut magic, self.base);
        read.is_ok() && magic == elf::ELFMAG
    }

    /// Ends the monitor and takes the library out of the process again, unless it has ended.
    ///
    /// # Errors
    /// The reason, in words: the library stays there without a timer, and the program goes on.
    pub fn remove(&self) -> Result<(), String> {
        for _ in 0..TRIES {
            let mut threads = match stop_all(self.process) {
                Ok(threads) => threads,
                Err(error) if error.raw_os_error() == Some(libc::ESRCH) => return Ok(()),
                Err(error) => return Err(in_words(self.process, &error)),
            };
            if !self.is_there() {
                return Ok(());
            }
            let own = self.base..self.base + self.bytes;
            // The monitor's handler lets no other signal in: whoever is in it has an address of the library.
            if threads.iter().all(|thread| !own.contains(&thread.pc()))
                && let Some(first) = threads.first_mut()
            {
                let ended = first.enter(self.enter, 0).and_then(|_| {
                    let whole = [self.base, self.bytes, 0, 0, 0, 0];
                    first.call(self.syscall, libc::SYS_munmap, whole)
                });
                return ended.map(|_| ()).map_err(|e| in_words(self.process, &e));
            }
            drop(threads);
            std::thread::sleep(PAUSE);
        }
        Err("one of its threads does not leave the monitor".to_owned())
    }
}

/// Stops all threads of a process.
fn stop_all(process: i32) -> io::Result<Vec<Stopped>> {
    let mut stopped: Vec<(i32, Stopped)> = Vec::new();
    loop {
        let before = stopped.len();
        let tasks = std::fs::read_dir(format!("/proc/{process}/task"))
            .map_err(|_| io::Error::from_raw_os_error(libc::ESRCH))?;
        for task in tasks.flatten() {
            let thread = task.file_name().to_string_lossy().parse();
            let Ok(thread) = thread else { continue };
            if stopped.iter().any(|(known, _)| *known == thread) {
                continue;
            }
            match Stopped::seize(process, thread) {
                Ok(new) => stopped.push((thread, new)),
                Err(_) if has_ended(process, thread) => {}
                Err(error) => return Err(error),
            }
        }
        // Threads that run make new ones.
        if stopped.len() == before {
            return Ok(stopped.into_iter().map(|(_, thread)| thread).collect());
        }
    }
}

/// Whether a thread has ended; the first one stays in the list until all others have ended.
fn has_ended(process: i32, thread: i32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{process}/task/{thread}/status"));
    status.map_or(true, |status| {
        field(&status, "State").is_none_or(|state| state.starts_with(['Z', 'X']))
    })
}

/// The address of a `syscall` instruction in the process, best of its vDSO.
fn find_syscall(process: i32, memory: &File) -> Option<u64> {
    const SYSCALL: [u8; 2] = [0x0f, 0x05];
    let maps = std::fs::read_to_string(format!("/proc/{process}/maps")).ok()?;
    let code = maps.lines().filter(|line| line.contains(" r-xp "));
    let (kernels, others): (Vec<_>, Vec<_>) = code.partition(|line| line.ends_with("[vdso]"));
    kernels.into_iter().chain(others).find_map(|line| {
        let (start, end) = line.split(' ').next()?.split_once('-')?;
        let start = u64::from_str_radix(start, 16).ok()?;
        let end = u64::from_str_radix(end, 16).ok()?;
        let mut code = vec![0; usize::try_from(end - start).ok()?];
        memory.read_exact_at(&mut code, start).ok()?;
        let at = code.windows(2).position(|bytes| bytes == SYSCALL)?;
        Some(start + at as u64)
    })
}

/// The parts of the library's file that a loader has to know.
struct Library<'a> {
    segments: Vec<Segment<'a>>,
    /// Words that hold an address of the library: where, and the address from its start on.
    relative: Vec<(u64, u64)>,
    /// From its start to its end, in whole pages.
    bytes: u64,
    /// The function that a tracer calls.
    enter: u64,
}

struct Segment<'a> {
    start: u64,
    end: u64,
    content: &'a [u8],
    protection: u64,
}

impl Library<'_> {
    /// Reads the library's file. What it asks of other libraries is weak and stays 0.
    fn parse(file: &[u8]) -> object::read::Result<Library<'_>> {
        let header = Header::parse(file)?;
        let endian = header.endian()?;
        let mut segments = Vec::new();
        for segment in header.program_headers(endian, file)? {
            if segment.p_type(endian) == elf::PT_LOAD {
                let start = segment.p_vaddr(endian);
                let flags = u64::from(segment.p_flags(endian).0);
                segments.push(Segment {
                    start,
                    end: start + segment.p_memsz(endian),
                    content: segment.data(endian, file).unwrap_or_default(),
                    // The file has execute, write, read from the lowest bit on; the kernel read, write, execute.
                    protection: (flags & 2) | (flags & 4) >> 2 | (flags & 1) << 2,
                });
            }
        }
        let sections = header.sections(endian, file)?;
        let mut relative = Vec::new();
        for section in sections.iter() {
            if let Some((entries, _)) =
                object::read::elf::SectionHeader::rela(section, endian, file)?
            {
                let of_library = entries
                    .iter()
                    .filter(|r| r.r_type(endian, false) == elf::R_X86_64_RELATIVE);
                relative
                    .extend(of_library.map(|r| (r.r_offset(endian), r.r_addend(endian) as u64)));
            }
        }
        let symbols = object::File::parse(file)?;
        let enter = symbols
            .dynamic_symbols()
            .find(|symbol| symbol.name() == Ok("hps_shadow_enter"))
            .map_or(0, |symbol| symbol.address());
        let end = segments.iter().map(|segment| segment.end).max();
        Ok(Library {
            segments,
            relative,
            bytes: end.unwrap_or(0).next_multiple_of(PAGE),
            enter,
        })
    }
}

/// A field of `/proc/PID/status`.
pub fn field<'a>(status: &'a str, name: &str) -> Option<&'a str> {
    let fields = status.lines().filter_map(|line| line.split_once(':'));
    let mut named = fields.filter(|(field, _)| *field == name);
    named.next().map(|(_, value)| value.trim())
}

/// Why a process cannot be profiled, as far as it can be seen from outside.
fn refusal(process: i32) -> Option<String> {
    let text = |name: &str| std::fs::read_to_string(format!("/proc/{process}/{name}"));
    let Ok(status) = text("status") else {
        return Some("there is no such process".to_owned());
    };
    let number = |name| field(&status, name).and_then(|value| value.parse::<i32>().ok());
    let space = |of: &str| std::fs::read_link(format!("/proc/{of}/ns/pid")).ok();
    let other = space(&process.to_string()).zip(space("self"));
    let reason = match () {
        () if process == std::process::id() as i32 => "it is hps itself".to_owned(),
        () if field(&status, "State").is_some_and(|state| state.starts_with(['Z', 'X'])) => {
            "it has ended".to_owned()
        }
        () if field(&status, "VmSize").is_none() => {
            "it is a thread of the kernel, without a program".to_owned()
        }
        () if number("Tgid") != Some(process) => format!(
            "it is a thread: give the number of its process, {}",
            number("Tgid").unwrap_or(0)
        ),
        () if number("TracerPid").is_some_and(|tracer| tracer != 0) => format!(
            "process {} traces it (a debugger, strace): end that first",
            number("TracerPid").unwrap_or(0)
        ),
        () if other.is_some_and(|(its, own)| its != own) => {
            "it has process numbers of its own (a container): run hps in there".to_owned()
        }
        () if number("Seccomp").is_some_and(|mode| mode != 0) => {
            "it filters its system calls (seccomp), and the monitor's would be filtered, too: run it without".to_owned()
        }
        () if text("maps").is_ok_and(|maps| maps.contains("memfd:hps-shadow")) => {
            "hps profiles it already".to_owned()
        }
        () => return None,
    };
    Some(reason)
}

/// An error of the library's `begin`.
fn refused_by_library(error: i32) -> String {
    match error {
        libc::ENOENT | libc::EACCES | libc::EPERM => "it cannot open the memory that it shares with hps by its path in \
             /proc (a container or chroot of its own, another user): run hps in there, as that user"
            .to_owned(),
        libc::ECHILD => "it adopts orphans (it is the first process of its container, or a subreaper), and would hear \
                         of its shadows: let it be started by another process, such as docker --init"
            .to_owned(),
        libc::ETIME => {
            "its clock is not that of hps (a time namespace), or hps had to wait for a processor for seconds".to_owned()
        }
        _ => {
            let error = io::Error::from_raw_os_error(error);
            format!("the monitor could not begin in it: {error}")
        }
    }
}

/// An error of the kernel about a process.
fn in_words(process: i32, error: &io::Error) -> String {
    match error.raw_os_error() {
        Some(libc::ESRCH) => "it has ended".to_owned(),
        Some(libc::EPERM | libc::EACCES) => {
            let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
            let user = field(&status, "Uid").and_then(|ids| ids.split_whitespace().next()?.parse().ok());
            let scope = std::fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope");
            let scope = scope.ok().and_then(|scope| scope.trim().parse().ok());
            not_permitted(rustix::process::geteuid().as_raw(), user, scope)
        }
        _ if error.kind() == io::ErrorKind::TimedOut => {
            "it does not stop (it waits for a device, or for a child to execute a program): try again".to_owned()
        }
        _ => error.to_string(),
    }
}

/// Why the kernel does not permit a user to trace a process of another one or of its own.
fn not_permitted(own: u32, user: Option<u32>, scope: Option<u32>) -> String {
    match (user, scope) {
        (Some(user), _) if own != 0 && user != own => {
            format!("it belongs to user {user}: run hps as that user, or as root")
        }
        (_, Some(1)) => "/proc/sys/kernel/yama/ptrace_scope is 1, which permits to trace children alone: start it by \
                         `hps shadow run`, run hps as root, or `sysctl kernel.yama.ptrace_scope=0`"
            .to_owned(),
        (_, Some(2)) => "/proc/sys/kernel/yama/ptrace_scope is 2, which permits to trace to root alone: run hps as root"
            .to_owned(),
        (_, Some(3)) => "/proc/sys/kernel/yama/ptrace_scope is 3, which forbids to trace until the next boot: start it \
                         by `hps shadow run`, if it is dynamically linked"
            .to_owned(),
        _ => "the kernel does not permit to trace it (it has capabilities, or this container forbids ptrace): run hps \
              as root, and the container with --cap-add SYS_PTRACE"
            .to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_permitted_has_a_remedy() {
        assert!(not_permitted(1000, Some(0), Some(0)).contains("user 0"));
        assert!(not_permitted(1000, Some(1000), Some(1)).contains("kernel.yama.ptrace_scope=0"));
        assert!(not_permitted(1000, Some(1000), Some(3)).contains("hps shadow run"));
        assert!(not_permitted(0, Some(1000), None).contains("SYS_PTRACE"));
        assert!(refused_by_library(libc::ENOENT).contains("chroot"));
        assert!(refused_by_library(libc::ECHILD).contains("subreaper"));
        assert!(refused_by_library(libc::ENOMEM).contains("memory"));
    }
}
