//! The region that the observed program and the observer share, version 2.
//!
//! The region is a memfd sealed against shrinking, so that nothing the program does can take a mapped page
//! away from the observer. `include/hps_shim.h` says the same layout to C; a test compares the two.
//!
//! All words are atomics written and read relaxed: a tag is one plain store for the program and one
//! plain load for the observer.

use std::ffi::CStr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};

use rustix::fs::{MemfdFlags, Mode, OFlags, SealFlags};
use rustix::mm::{MapFlags, ProtFlags};

use crate::error::ShimError;

/// The environment variable that names the region to the observed program.
pub const REGION_VARIABLE: &str = "HPS_SHIM_REGION";
/// The memfd's name, by which `hps shim attach` finds a region among a program's descriptors.
pub const REGION_NAME: &CStr = c"hps-shim";
/// "HPSSHIM1", first in memory the H.
pub const MAGIC: u64 = 0x314d_4948_5353_5048;
/// The version of the layout.
pub const VERSION: u32 = 2;
/// Bytes before the first slot.
pub const HEADER_BYTES: usize = 4096;
/// Threads that a region can show.
pub const SLOTS: usize = 64;
/// Bytes of one thread's slot.
pub const SLOT_BYTES: usize = 2048;
/// Entries of a thread's tag stack.
pub const STACK: usize = 224;
/// Added to `Slot::depth` with each change of the stack.
pub const CHANGE: u64 = 1 << 32;
/// Added to `Slot::depth` by a push.
pub const ENTRY_MORE: u64 = CHANGE + 1;
/// Added to `Slot::depth` for each entry that goes.
pub const ENTRY_GONE: u64 = CHANGE - 1;
/// Software counters of a thread.
pub const COUNTERS: usize = 8;
/// Events that a thread can count for itself.
pub const EVENTS: usize = 4;
/// Names for small tags.
pub const NAMES: usize = 4096;
/// Bytes of one name's text.
pub const NAME_TEXT_BYTES: usize = 120;
/// Bytes of the whole region.
pub const REGION_BYTES: usize = 659_456;
/// The smallest tag that is an address of code; below are small ids.
pub const FIRST_ADDRESS: u64 = 65_536;

/// Value of `Slot::live` in a slot without a thread.
pub const FREE: u32 = 0;
/// Value of `Slot::live` while a thread writes the slot.
pub const LIVE: u32 = 1;
/// Value of `Slot::live` after its thread has ended; the slot may be taken again.
pub const ENDED: u32 = 2;
/// `Name::state`: the text may be read.
pub const NAME_READY: u32 = 2;

/// Header at the region's begin.
#[repr(C)]
pub struct Header {
    /// [`MAGIC`].
    pub magic: AtomicU64,
    /// [`VERSION`].
    pub version: AtomicU32,
    /// [`SLOTS`].
    pub slot_count: AtomicU32,
    /// [`SLOT_BYTES`].
    pub slot_bytes: AtomicU32,
    /// [`NAMES`].
    pub name_count: AtomicU32,
    /// [`REGION_BYTES`].
    pub region_bytes: AtomicU64,
    /// The observed process, 0 until it has mapped the region.
    pub pid: AtomicU32,
    /// Slots taken so far; slots from here on are unused.
    pub threads: AtomicU32,
    /// Number of threads that found no free slot, and so are not observed.
    pub refused: AtomicU32,
    /// Names that did not fit.
    pub names_refused: AtomicU32,
    /// 0: run on; 1: a program that asks for it waits until this is 0.
    pub gate: AtomicU32,
    /// Events that threads are asked to count for themselves, written before the program begins.
    pub event_count: AtomicU32,
    /// Events that threads are asked to count; the first `event_count` are set.
    pub events: [AskedEvent; EVENTS],
    pad: [u8; HEADER_BYTES - 56 - EVENTS * 24],
}

/// An event that threads are asked to count: fields of `perf_event_attr`.
#[repr(C)]
pub struct AskedEvent {
    /// `type`.
    pub type_number: AtomicU32,
    /// Not 0: kernel and hypervisor are left out.
    pub user_only: AtomicU32,
    /// `config`.
    pub config: AtomicU64,
    /// `config1`.
    pub config1: AtomicU64,
}

/// One thread's words.
#[repr(C, align(128))]
pub struct Slot {
    /// Current tag of the thread: 0 nothing, below [`FIRST_ADDRESS`] a small id, else an address.
    pub tag: AtomicU64,
    /// Entries on the stack ([`depth_of`]), which may exceed [`STACK`], then the rest is lost; and how
    /// many entries came and went so far ([`changes_of`]).
    pub depth: AtomicU64,
    /// Counts of the header's events when the tag was written.
    pub events: [AtomicU64; EVENTS],
    pad0: [u64; 14 - EVENTS],
    /// [`FREE`], [`LIVE`] or [`ENDED`].
    pub live: AtomicU32,
    /// The kernel's thread id.
    pub tid: AtomicU32,
    /// How often the slot was taken.
    pub generation: AtomicU64,
    /// Events that the thread counts: none, or all of the header's.
    pub counting: AtomicU32,
    /// Why it counts none, or not any more: the kernel's `errno`.
    pub refused: AtomicU32,
    pad1: [u64; 5],
    /// Software counters, wrapping.
    pub counters: [AtomicU64; COUNTERS],
    /// The tags that the thread is in, outermost first.
    pub stack: [AtomicU64; STACK],
}

/// Entries on the stack, of the word `Slot::depth`.
#[inline(always)]
#[must_use]
pub fn depth_of(word: u64) -> usize {
    word as u32 as usize
}

/// Entries that came and went, of the word `Slot::depth`; it wraps.
#[inline(always)]
#[must_use]
pub fn changes_of(word: u64) -> u32 {
    (word >> 32) as u32
}

/// The word `Slot::depth` when all its entries have gone.
fn emptied(word: u64) -> u64 {
    word.wrapping_add(ENTRY_GONE.wrapping_mul(depth_of(word) as u64))
}

/// A small tag's text.
#[repr(C)]
pub struct Name {
    /// 0 empty, 1 being written, [`NAME_READY`].
    pub state: AtomicU32,
    /// Bytes of text.
    pub length: AtomicU32,
    /// UTF-8, not terminated.
    pub text: [AtomicU8; NAME_TEXT_BYTES],
}

/// The whole region.
#[repr(C)]
pub struct Layout {
    /// Sizes and identity.
    pub header: Header,
    /// One for each thread.
    pub slots: [Slot; SLOTS],
    /// Indexed by small tags.
    pub names: [Name; NAMES],
}

const _: () = assert!(size_of::<Header>() == HEADER_BYTES);
const _: () = assert!(size_of::<Slot>() == SLOT_BYTES);
const _: () = assert!(size_of::<Layout>() == REGION_BYTES);

/// A mapped region. Mapped until dropped, whatever happens to the program.
pub struct Region {
    at: NonNull<Layout>,
    fd: OwnedFd,
}

// SAFETY: the mapping belongs to the value and all its words are atomics.
unsafe impl Send for Region {}
// SAFETY: the mapping belongs to the value and all its words are atomics.
unsafe impl Sync for Region {}

impl Region {
    /// Makes a new region, empty and sealed.
    ///
    /// # Errors
    /// [`ShimError::Region`] if the kernel gives no memfd or no mapping.
    pub fn create() -> Result<Self, ShimError> {
        let fail = |what: &str, e: rustix::io::Errno| ShimError::region("a new region", what, e);
        let fd =
            rustix::fs::memfd_create(REGION_NAME, MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)
                .map_err(|e| fail("memfd_create", e))?;
        rustix::fs::ftruncate(&fd, REGION_BYTES as u64).map_err(|e| fail("ftruncate", e))?;
        rustix::fs::fcntl_add_seals(&fd, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)
            .map_err(|e| fail("sealing", e))?;
        let region = Self::map(fd).map_err(|e| fail("mmap", e))?;
        let header = &region.layout().header;
        header.version.store(VERSION, Ordering::Relaxed);
        header.slot_count.store(SLOTS as u32, Ordering::Relaxed);
        header
            .slot_bytes
            .store(SLOT_BYTES as u32, Ordering::Relaxed);
        header.name_count.store(NAMES as u32, Ordering::Relaxed);
        header
            .region_bytes
            .store(REGION_BYTES as u64, Ordering::Relaxed);
        header.magic.store(MAGIC, Ordering::Release);
        Ok(region)
    }

    /// Maps the region at `path`, such as `/proc/PID/fd/N`.
    ///
    /// # Errors
    /// [`ShimError::Region`] if it cannot be opened, is not sealed against shrinking (a page that
    /// vanishes would kill the observer), is too small, or is not a region of this version.
    pub fn open(path: &Path) -> Result<Self, ShimError> {
        let name = path.display().to_string();
        let fd = rustix::fs::open(path, OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())
            .map_err(|e| ShimError::region(&name, "open", e))?;
        let refuse = |why: String| ShimError::NotARegion {
            path: name.clone(),
            why,
        };
        let seals = rustix::fs::fcntl_get_seals(&fd).unwrap_or(SealFlags::empty());
        if !seals.contains(SealFlags::SHRINK) {
            return Err(refuse(
                "it is not sealed against shrinking: only a memfd with F_SEAL_SHRINK is read, \
                 because a page that vanishes would kill the observer"
                    .to_owned(),
            ));
        }
        let size = rustix::fs::fstat(&fd)
            .map_err(|e| ShimError::region(&name, "fstat", e))?
            .st_size;
        if (size as u64) < REGION_BYTES as u64 {
            return Err(refuse(format!(
                "it has {size} bytes, {REGION_BYTES} are needed"
            )));
        }
        let region = Self::map(fd).map_err(|e| ShimError::region(&name, "mmap", e))?;
        let header = &region.layout().header;
        let magic = header.magic.load(Ordering::Acquire);
        if magic != MAGIC {
            return Err(refuse(format!(
                "it begins with {magic:#x} instead of {MAGIC:#x}"
            )));
        }
        let version = header.version.load(Ordering::Relaxed);
        if version != VERSION {
            return Err(refuse(format!(
                "it has version {version}, this build reads {VERSION}"
            )));
        }
        Ok(region)
    }

    /// Finds the region among the descriptors of process `pid` and maps it.
    ///
    /// # Errors
    /// [`ShimError::NoRegion`] if the process has none, [`ShimError::NoProcess`] if its
    /// descriptors cannot be listed, and those of [`Region::open`].
    pub fn of_process(pid: u32) -> Result<Self, ShimError> {
        let folder = PathBuf::from(format!("/proc/{pid}/fd"));
        let entries =
            std::fs::read_dir(&folder).map_err(|source| ShimError::NoProcess { pid, source })?;
        let wanted = format!("/memfd:{}", REGION_NAME.to_string_lossy());
        for entry in entries.flatten() {
            let Ok(target) = std::fs::read_link(entry.path()) else {
                continue;
            };
            if target.to_string_lossy().starts_with(&wanted) {
                return Self::open(&entry.path());
            }
        }
        Err(ShimError::NoRegion { pid })
    }

    fn map(fd: OwnedFd) -> Result<Self, rustix::io::Errno> {
        // SAFETY: a new mapping at an address of the kernel's choice; the file has at least
        // `REGION_BYTES` bytes and is sealed against shrinking, checked by the callers.
        let at = unsafe {
            rustix::mm::mmap(
                std::ptr::null_mut(),
                REGION_BYTES,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::SHARED,
                &fd,
                0,
            )?
        };
        Ok(Self {
            at: NonNull::new(at.cast()).ok_or(rustix::io::Errno::NOMEM)?,
            fd,
        })
    }

    /// All of it.
    #[must_use]
    pub fn layout(&self) -> &Layout {
        // SAFETY: mapped for the value's life with the layout's size and a page's alignment; all
        // bit patterns are valid, and whatever others write are atomics.
        unsafe { self.at.as_ref() }
    }

    /// The path by which another process of the same user opens this region.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        PathBuf::from(format!(
            "/proc/{}/fd/{}",
            std::process::id(),
            self.fd.as_raw_fd()
        ))
    }

    /// Slots that a thread has taken, with their indices.
    pub fn used_slots(&self) -> impl Iterator<Item = (usize, &Slot)> {
        let layout = self.layout();
        let used = layout.header.threads.load(Ordering::Acquire) as usize;
        layout.slots.iter().enumerate().take(used.min(SLOTS))
    }

    /// The text of small tag `tag`, if the program gave it one.
    #[must_use]
    pub fn name(&self, tag: u64) -> Option<String> {
        let name = self.layout().names.get(usize::try_from(tag).ok()?)?;
        if name.state.load(Ordering::Acquire) != NAME_READY {
            return None;
        }
        let length = (name.length.load(Ordering::Relaxed) as usize).min(NAME_TEXT_BYTES);
        let bytes: Vec<u8> = name.text[..length]
            .iter()
            .map(|b| b.load(Ordering::Relaxed))
            .collect();
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Takes a slot for the calling thread, as the C header's `hps_shim_thread` does.
    ///
    /// `None`, counted in the header, if all are taken.
    #[must_use]
    pub fn take_slot(&self) -> Option<&Slot> {
        let layout = self.layout();
        for (index, slot) in layout.slots.iter().enumerate() {
            let seen = slot.live.load(Ordering::Relaxed);
            let free = seen == FREE || seen == ENDED;
            if free
                && slot
                    .live
                    .compare_exchange(seen, LIVE, Ordering::AcqRel, Ordering::Relaxed)
                    .is_ok()
            {
                let tid = rustix::thread::gettid().as_raw_nonzero().get() as u32;
                slot.tid.store(tid, Ordering::Relaxed);
                slot.tag.store(0, Ordering::Relaxed);
                slot.depth.store(
                    emptied(slot.depth.load(Ordering::Relaxed)),
                    Ordering::Relaxed,
                );
                slot.generation.fetch_add(1, Ordering::Relaxed);
                layout
                    .header
                    .threads
                    .fetch_max(index as u32 + 1, Ordering::Release);
                return Some(slot);
            }
        }
        layout.header.refused.fetch_add(1, Ordering::Relaxed);
        None
    }

    /// Gives small tag `tag` a text, cut to [`NAME_TEXT_BYTES`]. False if the table has no such row.
    pub fn set_name(&self, tag: u64, text: &str) -> bool {
        let Some(name) = usize::try_from(tag)
            .ok()
            .and_then(|i| self.layout().names.get(i))
        else {
            self.layout()
                .header
                .names_refused
                .fetch_add(1, Ordering::Relaxed);
            return false;
        };
        let mut length = text.len().min(NAME_TEXT_BYTES);
        while !text.is_char_boundary(length) {
            length -= 1;
        }
        name.state.store(1, Ordering::Relaxed);
        for (to, from) in name.text.iter().zip(text[..length].bytes()) {
            to.store(from, Ordering::Relaxed);
        }
        name.length.store(length as u32, Ordering::Relaxed);
        name.state.store(NAME_READY, Ordering::Release);
        true
    }
}

impl Slot {
    /// Says what the thread is in: one plain store.
    #[inline(always)]
    pub fn set(&self, tag: u64) {
        self.tag.store(tag, Ordering::Relaxed);
    }
}

impl AsFd for Region {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: mapped by `map` with this size, and no reference outlives the value.
        let _ = unsafe { rustix::mm::munmap(self.at.as_ptr().cast(), REGION_BYTES) };
    }
}

#[cfg(test)]
mod tests;
