//! The memory that the program, its shadows and the supervisor share; `preload/layout.h` says the same to C.
//!
//! The memory is a memfd sealed against shrinking, so that nothing the program does takes a mapped page away. The
//! program can write anything into it: values read from it are checked, and a wrong number makes a wrong profile at
//! worst.

use std::os::fd::{AsRawFd, OwnedFd};
use std::path::PathBuf;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicI32, AtomicU8, AtomicU32, AtomicU64};

use hps_shim::ShimError;
use rustix::fs::{MemfdFlags, SealFlags};
use rustix::mm::{MapFlags, ProtFlags};

/// The variable that names the region to the program.
pub const REGION_VARIABLE: &str = "HPS_SHADOW_REGION";
/// "HSHADOW1" in memory order.
pub const MAGIC: u64 = 0x3157_4f44_4148_5348;
/// Shadows that can be alive at a time, and the program itself in slot 0.
pub const SLOTS: usize = 8;
/// Events of a chunk of a slot's ring.
pub const CHUNK_EVENTS: usize = 16384;
/// Chunks of a slot's ring.
pub const CHUNKS: usize = 16;
/// Units of code that a shadow can make.
pub const UNITS: usize = 1 << 19;
/// Numbers of system calls.
pub const CALLS: usize = 512;
/// Room for actions of a policy.
pub const ACTIONS: usize = 8;
/// Kinds of descriptors of a policy.
pub const DESCRIPTORS: usize = 7;
/// Values of a call beside the events: the registers that have arguments.
pub const CALL_VALUES: usize = 6;
/// Values of a return: the register that has the result.
pub const RETURN_VALUES: usize = 1;
/// Ranges of memory in huge pages that are known.
pub const HUGE_RANGES: usize = 32;
/// The event of control that came from nowhere: a signal.
pub const BREAK: u32 = u32::MAX;
/// Bytes in front of a slot's units, and in front of the slots.
pub const HEADER_BYTES: usize = 65536;

/// `Slot::state`.
pub const FREE: u32 = 0;
/// `Slot::state`: its shadow is being forked.
pub const STARTING: u32 = 1;
/// `Slot::state`: its shadow runs.
pub const RUNNING: u32 = 2;
/// `Slot::state`: its shadow has written all it had.
pub const ENDED: u32 = 3;

/// State that the whole session shares.
#[repr(C)]
pub struct Header {
    /// [`MAGIC`].
    pub magic: AtomicU64,
    /// 0 samples, 1 the whole run, 2 the whole run and shadows end to end.
    pub mode: AtomicU32,
    /// The process that reads.
    pub supervisor: AtomicI32,
    /// The program, once it has begun.
    pub pid: AtomicI32,
    /// Not 0: no shadow may begin any more. The program says so, too, when it ends the monitor.
    pub closing: AtomicU32,
    /// Instructions of a shadow.
    pub sample: AtomicU64,
    /// Processor time between two signals, in nanoseconds.
    pub period_ns: AtomicU64,
    /// Wanted average of live shadows, in millionths.
    pub load_millionths: AtomicU64,
    /// Signals that the monitor took.
    pub signals: AtomicU64,
    /// Live shadows, summed over signals.
    pub live: AtomicU64,
    /// Shadows.
    pub forks: AtomicU64,
    /// Forks that the kernel refused.
    pub failed: AtomicU64,
    /// Signals at which all slots were taken.
    pub crowded: AtomicU64,
    /// Forks while the program had several threads; in a whole run, its threads and processes.
    pub threads: AtomicU64,
    /// Time in the monitor, with forks.
    pub monitor_ns: AtomicU64,
    /// Time in forks.
    pub fork_ns: AtomicU64,
    /// System calls that the signal interrupted and the monitor began anew.
    pub restarted: AtomicU64,
    /// Share of the program's processor time that shadows may cost it, in millionths; 0: no limit.
    pub most_overhead_millionths: AtomicU64,
    /// Forks that this limit prevented.
    pub spared: AtomicU64,
    /// Not 0: the program takes leases, and shadows open no files.
    pub takes_leases: AtomicU32,
    /// Not 0: the supervisor is not the program's parent.
    pub is_attached: AtomicU32,
    /// Not 0: threads are forked in turn.
    pub by_turn: AtomicU32,
    /// Values of each call: 1, or all [`CALL_VALUES`] and those of returns.
    pub call_values: AtomicU32,
    pad: u32,
    /// Entries of `huge`.
    pub huge_ranges: AtomicU32,
    /// Signals at which another thread was waited for.
    pub waited: AtomicU64,
    /// Pages that are resident in the program and its own; the supervisor counts them, if there is a budget.
    pub private_pages: AtomicU64,
    /// Bytes of them in huge pages.
    pub huge_bytes: AtomicU64,
    /// Addresses of these: begin, end.
    pub huge: [[AtomicU64; 2]; HUGE_RANGES],
    /// Processor time of the program in the monitor, with forks, in nanoseconds.
    pub spent_ns: AtomicU64,
    /// Measured cost of a fault, in nanoseconds.
    pub fault_ns: AtomicU64,
    /// Faults because of forks.
    pub copied: AtomicU64,
    /// Cost of these faults, and of code that ran without its huge pages, in nanoseconds.
    pub copied_ns: AtomicU64,
    /// Expected cost of the next fork, in nanoseconds.
    pub expected_ns: AtomicU64,
    /// Private pages at that time.
    pub expected_pages: AtomicU64,
    /// Processor time of the program at the last signal, in nanoseconds.
    pub cpu_ns: AtomicU64,
    /// Instructions of shadows that have run a whole sample.
    pub ended_instructions: AtomicU64,
    /// Time for which these lived, in nanoseconds.
    pub ended_ns: AtomicU64,
    /// When the supervisor last showed that it lives, in nanoseconds of the monotonic clock.
    pub alive_ns: AtomicU64,
    /// Actions by call, kind of descriptor, and whether it writes.
    pub policy: [[[AtomicU8; 2]; DESCRIPTORS]; CALLS],
    /// Condition under which a call is made.
    pub guard: [AtomicU8; CALLS],
    /// The argument that is a descriptor, from 1 on; 0 for none.
    pub descriptor: [AtomicU8; CALLS],
    /// Result of a pretended call.
    pub pretend: [AtomicU8; CALLS],
    /// Calls of shadows by action.
    pub calls: [[AtomicU64; ACTIONS]; CALLS],
}

/// A piece of code that is entered at its start only and left at its end.
#[repr(C)]
pub struct Unit {
    /// First address.
    pub start: AtomicU64,
    /// Address of the last instruction.
    pub last: AtomicU64,
    /// How many instructions it has.
    pub instructions: AtomicU32,
    /// Bytes of the last one, and 16 bits up how it moves control.
    pub end: AtomicU32,
}

/// One shadow's memory.
#[repr(C)]
pub struct Slot {
    /// [`FREE`] to [`ENDED`].
    pub state: AtomicU32,
    /// Process of the shadow.
    pub pid: AtomicI32,
    /// Why it ended.
    pub ending: AtomicU32,
    /// Which call or signal ended it.
    pub detail: AtomicU32,
    /// Which shadow of the session it is, from 1 on.
    pub sequence: AtomicU64,
    /// Instructions so far.
    pub instructions: AtomicU64,
    /// Units entered so far.
    pub events: AtomicU64,
    /// Units made so far.
    pub units: AtomicU32,
    /// Chunks written.
    pub head: AtomicU32,
    /// Chunks read.
    pub tail: AtomicU32,
    /// How often all copies were thrown away.
    pub flushes: AtomicU32,
    /// Time from the fork to the first instruction.
    pub start_ns: AtomicU64,
    /// Time from the fork to the end.
    pub life_ns: AtomicU64,
    /// How long the program's descriptors had a second holder.
    pub held_ns: AtomicU64,
    /// First event of each chunk.
    pub first: [AtomicU32; CHUNKS],
    /// Events of each chunk.
    pub count: [AtomicU32; CHUNKS],
    /// Bytes of `maps`.
    pub maps_bytes: AtomicU32,
    /// Values of the unit that it begins in: that ends with a call or a return.
    pub in_call: AtomicU32,
    /// Not 0: it holds nothing of the program's, which may go on.
    pub is_apart: AtomicU32,
    /// Not 0: it opens files, or has opened some.
    pub opens_files: AtomicU32,
    /// Length of its sample, in instructions.
    pub sample: AtomicU64,
    /// Number of the thread that it goes on as.
    pub thread: AtomicU32,
    pad: u32,
    /// Name of that thread.
    pub name: [AtomicU8; 16],
    /// Lines of its `/proc/self/maps` with code.
    pub maps: [AtomicU8; HEADER_BYTES - 128 - 8 * CHUNKS],
    /// The units.
    pub unit: [Unit; UNITS],
    /// The events: numbers of units.
    pub ring: [[AtomicU32; CHUNK_EVENTS]; CHUNKS],
    /// Values of each call and return, in the order of events.
    pub value: [[AtomicU64; CALL_VALUES * CHUNK_EVENTS]; CHUNKS],
}

/// All of it.
#[repr(C)]
pub struct Layout {
    /// State that the session shares.
    pub header: Header,
    pad: [u8; HEADER_BYTES - size_of::<Header>()],
    /// Slots by number.
    pub slots: [Slot; SLOTS],
}

/// A mapped region.
pub struct Region {
    at: NonNull<Layout>,
    fd: OwnedFd,
}

// SAFETY: the mapping belongs to the value and all its words are atomics.
unsafe impl Send for Region {}
// SAFETY: the mapping belongs to the value and all its words are atomics.
unsafe impl Sync for Region {}

impl Region {
    /// Makes an empty region. Pages are there when they are touched.
    ///
    /// # Errors
    /// [`ShimError::System`] if the kernel gives no memfd or no mapping.
    pub fn create() -> Result<Region, ShimError> {
        let fail = |what: &str, e: rustix::io::Errno| ShimError::System {
            what: format!("{what} of the shadows' memory"),
            source: e.into(),
        };
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let fd =
            rustix::fs::memfd_create(c"hps-shadow", flags).map_err(|e| fail("memfd_create", e))?;
        let bytes = size_of::<Layout>();
        rustix::fs::ftruncate(&fd, bytes as u64).map_err(|e| fail("ftruncate", e))?;
        rustix::fs::fcntl_add_seals(&fd, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)
            .map_err(|e| fail("sealing", e))?;
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping at an address of the kernel's choice of a file that has these bytes and cannot shrink.
        let at = unsafe {
            rustix::mm::mmap(
                std::ptr::null_mut(),
                bytes,
                protection,
                MapFlags::SHARED,
                &fd,
                0,
            )
        };
        let at = at.map_err(|e| fail("mmap", e))?;
        let at = NonNull::new(at.cast()).ok_or(fail("mmap", rustix::io::Errno::NOMEM))?;
        Ok(Region { at, fd })
    }

    /// All of it.
    #[must_use]
    pub fn layout(&self) -> &Layout {
        // SAFETY: mapped for the value's life with the layout's size and a page's alignment; all bit patterns are valid,
        // and whatever others write are atomics.
        unsafe { self.at.as_ref() }
    }

    /// State that the session shares.
    #[must_use]
    pub fn header(&self) -> &Header {
        &self.layout().header
    }

    /// The path by which the program opens this region.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        PathBuf::from(format!(
            "/proc/{}/fd/{}",
            std::process::id(),
            self.fd.as_raw_fd()
        ))
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: the mapping belongs to the value, and nobody can have a reference into it any more.
        let _ = unsafe { rustix::mm::munmap(self.at.as_ptr().cast(), size_of::<Layout>()) };
    }
}
