//! Events of the kernel's perf subsystem.

use std::fs::File;
use std::io::Read;
use std::mem::size_of;
use std::os::fd::{FromRawFd, RawFd};
use std::ptr::NonNull;
use std::sync::atomic::Ordering;

use perf_event_open_sys as perf;
use perf_event_open_sys::bindings as sys;
use rustix::mm::{MapFlags, ProtFlags};

use super::event::Event;
use super::page::{self, CAP_USER_RDPMC, CounterPage, PageFault, Processor};
use super::way::{Asked, Reach};
use crate::error::ShimError;

const PAGE_BYTES: usize = 4096;

/// Whom an event is counted for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// A process, with what it starts later, wherever it runs.
    Process(u32),
    /// A process, with what it starts later, from the program on that it executes next.
    Program(u32),
    /// The calling thread.
    OwnThread,
    /// Whatever runs on a CPU.
    Cpu(usize),
}

/// An open event. Closed, and its page unmapped, when dropped.
#[derive(Debug)]
pub struct PerfEvent {
    name: String,
    file: File,
    page: Option<NonNull<CounterPage>>,
}

// SAFETY: the page belongs to the value, all words that are read of it are atomics.
unsafe impl Send for PerfEvent {}

impl PerfEvent {
    /// Opens an event on whatever PMU the kernel chooses, and starts it.
    ///
    /// # Errors
    /// [`ShimError::Event`] with what the kernel's reason means and what to do.
    pub fn open(event: &Event, target: Target) -> Result<Self, ShimError> {
        match Asked::plain(event) {
            Some(asked) => Self::open_asked(&asked, target),
            None => Err(ShimError::Event {
                event: event.name.clone(),
                source: std::io::Error::from_raw_os_error(libc::EINVAL),
                remedy: "it is a counter of the program's own".to_owned(),
            }),
        }
    }

    /// Opens an event and starts it.
    ///
    /// # Errors
    /// The errors of [`PerfEvent::open`].
    pub fn open_asked(event: &Asked, target: Target) -> Result<Self, ShimError> {
        let mut attr = sys::perf_event_attr {
            size: size_of::<sys::perf_event_attr>() as u32,
            type_: event.type_number,
            config: event.config,
            read_format: u64::from(
                sys::PERF_FORMAT_TOTAL_TIME_ENABLED | sys::PERF_FORMAT_TOTAL_TIME_RUNNING,
            ),
            ..Default::default()
        };
        attr.set_exclude_kernel(u64::from(event.user_only));
        attr.set_exclude_hv(u64::from(event.user_only));
        let (pid, cpu) = match target {
            Target::Process(pid) | Target::Program(pid) => (pid as i32, -1),
            Target::OwnThread => (0, -1),
            Target::Cpu(cpu) => (-1, cpu as i32),
        };
        if target == Target::OwnThread && event.needs_pmu {
            attr.__bindgen_anon_3.config1 = user_access();
        }
        // Threads that the program starts later count too; such an event has no page to read.
        let of_another = matches!(target, Target::Process(_) | Target::Program(_));
        attr.set_inherit(u64::from(of_another));
        let begins_later = u64::from(matches!(target, Target::Program(_)));
        attr.set_disabled(begins_later);
        attr.set_enable_on_exec(begins_later);
        let flags = u64::from(sys::PERF_FLAG_FD_CLOEXEC);
        // SAFETY: `attr` is a complete structure of the size that it names.
        let fd: RawFd = unsafe { perf::perf_event_open(&mut attr, pid, cpu, -1, flags) };
        if fd < 0 {
            let errno = std::io::Error::last_os_error().raw_os_error().unwrap_or(0);
            return Err(ShimError::Event {
                event: event.name.clone(),
                source: std::io::Error::from_raw_os_error(errno),
                remedy: remedy(event, target, errno, paranoid()),
            });
        }
        // SAFETY: the kernel has just returned this descriptor, and nothing else owns it.
        let file = unsafe { File::from_raw_fd(fd) };
        let page = match target {
            _ if of_another => None,
            _ if event.needs_pmu => map(&file),
            _ => None,
        };
        Ok(Self {
            name: event.name.clone(),
            file,
            page,
        })
    }

    /// Whether its count is read in user space, on the CPU that it is counted on.
    #[must_use]
    pub fn user_readable(&self) -> bool {
        self.page()
            .is_some_and(|p| p.capabilities.load(Ordering::Relaxed) & CAP_USER_RDPMC != 0)
    }

    fn page(&self) -> Option<&CounterPage> {
        // SAFETY: mapped for the value's life; the kernel writes it under the sequence lock.
        self.page.map(|page| unsafe { page.as_ref() })
    }

    /// The count so far.
    ///
    /// # Errors
    /// [`ShimError::Multiplexed`], [`ShimError::PageUnstable`], or the kernel's reason.
    #[inline]
    pub fn read(&mut self) -> Result<u64, ShimError> {
        if self.user_readable()
            && let Some(page) = self.page()
        {
            return page::read(page, &Processor).map_err(|fault| self.fault(fault));
        }
        self.read_by_call()
    }

    fn fault(&self, fault: PageFault) -> ShimError {
        let event = self.name.clone();
        match fault {
            PageFault::Multiplexed { running_ns: 0, .. } | PageFault::NoCounter => {
                ShimError::NeverCounted { event }
            }
            PageFault::Multiplexed {
                enabled_ns,
                running_ns,
            } => ShimError::Multiplexed {
                event,
                enabled_ns,
                running_ns,
            },
            PageFault::Unstable => ShimError::PageUnstable {
                event,
                tries: page::TRIES,
            },
        }
    }

    /// The count so far, by system call.
    ///
    /// # Errors
    /// [`ShimError::Multiplexed`], [`ShimError::NeverCounted`], or the kernel's reason.
    pub fn read_by_call(&mut self) -> Result<u64, ShimError> {
        let mut bytes = [0; 24];
        self.file
            .read_exact(&mut bytes)
            .map_err(|source| ShimError::system(&format!("reading event {}", self.name), source))?;
        let word = |i: usize| {
            let mut word = [0; 8];
            word.copy_from_slice(&bytes[8 * i..8 * i + 8]);
            u64::from_ne_bytes(word)
        };
        let (count, enabled_ns, running_ns) = (word(0), word(1), word(2));
        if enabled_ns == running_ns {
            return Ok(count);
        }
        Err(self.fault(PageFault::Multiplexed {
            enabled_ns,
            running_ns,
        }))
    }
}

impl Drop for PerfEvent {
    fn drop(&mut self) {
        if let Some(page) = self.page {
            // SAFETY: mapped by `map` with this size.
            let _ = unsafe { rustix::mm::munmap(page.as_ptr().cast(), PAGE_BYTES) };
        }
    }
}

/// `config1` of an event that the thread itself reads: Arm's kernels want to be asked (bit 1), and refuse other threads'.
/// Without `kernel.perf_user_access` the page would say that the counter may be read, and name none.
pub(crate) fn user_access() -> u64 {
    const READ_BY_USER: u64 = 2;
    let allowed = || std::fs::read_to_string(USER_ACCESS).is_ok_and(|text| text.trim() != "0");
    if cfg!(target_arch = "aarch64") && allowed() {
        READ_BY_USER
    } else {
        0
    }
}

/// The switch that lets programs read counters, on Arm and RISC-V.
pub(crate) const USER_ACCESS: &str = "/proc/sys/kernel/perf_user_access";

/// The event's page; `None` where the kernel gives none, then the count is read by system call.
fn map(file: &File) -> Option<NonNull<CounterPage>> {
    // SAFETY: a new mapping at an address of the kernel's choice.
    let at = unsafe {
        rustix::mm::mmap(
            std::ptr::null_mut(),
            PAGE_BYTES,
            ProtFlags::READ,
            MapFlags::SHARED,
            file,
            0,
        )
    };
    NonNull::new(at.ok()?.cast())
}

/// The value of `kernel.perf_event_paranoid`, if the kernel has perf events.
pub(crate) fn paranoid() -> Option<i32> {
    let text = std::fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").ok()?;
    text.trim().parse().ok()
}

/// Remedy when the kernel refuses an event.
pub(crate) fn remedy(event: &Asked, target: Target, errno: i32, paranoid: Option<i32>) -> String {
    let whole_cpu = matches!(target, Target::Cpu(_));
    let reach = Reach::of(paranoid, false);
    let text = match errno {
        libc::EACCES | libc::EPERM if whole_cpu => {
            "counting a whole CPU needs kernel.perf_event_paranoid <= 0 (`sysctl \
             kernel.perf_event_paranoid=0`) or the capability CAP_PERFMON"
        }
        libc::EACCES | libc::EPERM if reach == Reach::Nothing => {
            return format!(
                "kernel.perf_event_paranoid is {}, which refuses every event to users without the capability \
                 CAP_PERFMON: `sysctl kernel.perf_event_paranoid=2` allows user space of own programs (:u), 1 all of \
                 them, 0 whole CPUs",
                paranoid.unwrap_or_default()
            );
        }
        libc::EACCES | libc::EPERM if reach == Reach::User && !event.user_only => {
            "ask for user space only (append :u), or lower kernel.perf_event_paranoid (`sysctl \
             kernel.perf_event_paranoid=1`), or run with the capability CAP_PERFMON"
        }
        libc::EACCES | libc::EPERM => {
            "the program is another user's, or a container's filter refuses perf events; the capability CAP_PERFMON \
             lifts the former"
        }
        libc::ENOENT | libc::ENODEV | libc::EOPNOTSUPP if event.needs_pmu => {
            "this machine shows no performance monitoring unit with such an event; in a virtual \
             machine the host must pass one on. Software events (task-clock, context-switches, …), \
             tags and soft:N work without"
        }
        libc::ESRCH => "the process has ended",
        libc::EMFILE | libc::ENFILE => "too many open files: raise `ulimit -n`",
        libc::ENOSYS => "this kernel has no perf events (or a container's filter hides them)",
        _ => "see perf_event_open(2)",
    };
    text.to_owned()
}
