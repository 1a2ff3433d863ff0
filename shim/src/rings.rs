//! Rings of calls that the observed program writes and the observer reads: one for each thread.
//!
//! A memfd sealed against shrinking, with the layout of `preload/hps_shim_calls.c`: a page with a header, then for each
//! ring a page with its two ends, and its words. A ring is read when it is full, and the program writes nothing into
//! a full one, so that nobody writes what is read.

use std::os::fd::{AsRawFd, OwnedFd};
use std::path::PathBuf;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{MemfdFlags, SealFlags};
use rustix::mm::{MapFlags, ProtFlags};

use crate::error::ShimError;

/// The environment variable that names the rings to the program's library.
pub const RINGS_VARIABLE: &str = "HPS_SHIM_RINGS";
/// Rings, and so threads that are observed.
pub const RINGS: usize = 64;

/// "HPSRINGS" in memory order.
const MAGIC: u64 = u64::from_le_bytes(*b"HPSRINGS");
const PAGE: usize = 4096;
/// Places in words of a ring's first page.
const WRITTEN: usize = 0;
const SKIPPED: usize = 1;
const ROOM: usize = 16;
/// Places in words of the header.
const TAKEN: usize = 3;

/// The shared memory.
pub struct Rings {
    at: NonNull<AtomicU64>,
    fd: OwnedFd,
    /// Words of a ring.
    words: usize,
}

// SAFETY: the mapping belongs to the value and all its words are atomics.
unsafe impl Send for Rings {}
// SAFETY: the mapping belongs to the value and all its words are atomics.
unsafe impl Sync for Rings {}

impl Rings {
    /// Empty rings of `bytes` each, a power of two from a page on.
    ///
    /// # Errors
    /// [`ShimError::Region`] with the system call that failed.
    pub fn create(bytes: usize) -> Result<Self, ShimError> {
        let bytes = bytes.max(PAGE).next_power_of_two();
        let fail = |what: &str, e: rustix::io::Errno| ShimError::region("rings of calls", what, e);
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let fd = rustix::fs::memfd_create(c"hps-shim-rings", flags)
            .map_err(|e| fail("memfd_create", e))?;
        let all = all_bytes(bytes);
        rustix::fs::ftruncate(&fd, all as u64).map_err(|e| fail("ftruncate", e))?;
        rustix::fs::fcntl_add_seals(&fd, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)
            .map_err(|e| fail("sealing", e))?;
        // SAFETY: a new mapping at an address of the kernel's choice of a file of this size, which is sealed
        // against shrinking.
        let at = unsafe {
            rustix::mm::mmap(
                std::ptr::null_mut(),
                all,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::SHARED,
                &fd,
                0,
            )
        };
        let at = at.map_err(|e| fail("mmap", e))?;
        let at = NonNull::new(at.cast()).ok_or_else(|| fail("mmap", rustix::io::Errno::NOMEM))?;
        let rings = Rings {
            at,
            fd,
            words: bytes / 8,
        };
        for ring in 0..RINGS {
            rings
                .word(ring, ROOM)
                .store(rings.words as u64, Ordering::Relaxed);
        }
        let header = [rings.words as u64, RINGS as u64, 0];
        for (place, value) in header.into_iter().enumerate() {
            rings.header(place + 1).store(value, Ordering::Relaxed);
        }
        rings.header(0).store(MAGIC, Ordering::Release);
        Ok(rings)
    }

    /// A path by which the program can open them, as long as this process lives.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        let (process, fd) = (std::process::id(), self.fd.as_raw_fd());
        PathBuf::from(format!("/proc/{process}/fd/{fd}"))
    }

    /// Threads that found no ring.
    #[must_use]
    pub fn refused(&self) -> u64 {
        let taken = self.header(TAKEN).load(Ordering::Acquire);
        taken.saturating_sub(RINGS as u64)
    }

    /// Rings that threads have taken.
    #[must_use]
    pub fn taken(&self) -> usize {
        let taken = self.header(TAKEN).load(Ordering::Acquire);
        taken.min(RINGS as u64) as usize
    }

    /// Calls, and returns, that found their ring full.
    #[must_use]
    pub fn skipped(&self) -> u64 {
        let of = |ring| self.word(ring, SKIPPED).load(Ordering::Relaxed);
        (0..self.taken()).map(of).sum()
    }

    /// Shows what a ring holds, oldest first, if it is full or `all` is asked for, and makes room.
    #[inline]
    pub fn read(&self, ring: usize, all: bool, mut see: impl FnMut(u64)) -> bool {
        let written = self.word(ring, WRITTEN).load(Ordering::Acquire);
        let room = self.word(ring, ROOM).load(Ordering::Relaxed);
        if written != room && !all {
            return false;
        }
        let (words, first) = (self.words as u64, room.wrapping_sub(self.words as u64));
        // A program may write what it likes: no more than there is room for is read.
        let held = written.wrapping_sub(first).min(words);
        for at in (0..held).map(|n| first.wrapping_add(n)) {
            let place = PAGE / 8 + (at % words) as usize;
            see(self.word(ring, place).load(Ordering::Relaxed));
        }
        let room = first.wrapping_add(held).wrapping_add(words);
        self.word(ring, ROOM).store(room, Ordering::Release);
        true
    }

    fn header(&self, place: usize) -> &AtomicU64 {
        // SAFETY: the header is a page.
        unsafe { self.at.add(place).as_ref() }
    }

    /// A word of a ring, its page included.
    #[inline(always)]
    fn word(&self, ring: usize, place: usize) -> &AtomicU64 {
        debug_assert!(ring < RINGS && place < PAGE / 8 + self.words);
        let first = PAGE / 8 + ring * (PAGE / 8 + self.words);
        // SAFETY: `all_bytes` has room for all words of all rings.
        unsafe { self.at.add(first + place).as_ref() }
    }
}

/// Bytes of all rings.
fn all_bytes(bytes: usize) -> usize {
    PAGE + RINGS * (PAGE + bytes)
}

impl Drop for Rings {
    fn drop(&mut self) {
        // SAFETY: mapped with this size, and no reference outlives the value.
        let _ = unsafe { rustix::mm::munmap(self.at.as_ptr().cast(), all_bytes(8 * self.words)) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Rings {
        /// Writes into a ring as the program's library does.
        pub fn fill(&self, ring: usize, words: &[u64]) {
            self.header(TAKEN)
                .fetch_max(ring as u64 + 1, Ordering::Relaxed);
            assert!(
                words.iter().all(|&word| write(self, ring, word)),
                "it is full"
            );
        }
    }

    /// Writes a word like the program's library; `false` if the ring is full.
    fn write(rings: &Rings, ring: usize, word: u64) -> bool {
        let written = rings.word(ring, WRITTEN);
        let at = written.load(Ordering::Relaxed);
        if at == rings.word(ring, ROOM).load(Ordering::Acquire) {
            return false;
        }
        let place = PAGE / 8 + (at % rings.words as u64) as usize;
        rings.word(ring, place).store(word, Ordering::Relaxed);
        written.store(at + 1, Ordering::Release);
        true
    }

    #[test]
    fn a_full_ring_takes_nothing_until_it_is_read() {
        let rings = Rings::create(4096).expect("rings");
        let mut seen = Vec::new();
        for word in 0..512 {
            assert!(!rings.read(3, false, |w| seen.push(w)));
            assert!(write(&rings, 3, word));
        }
        assert!(!write(&rings, 3, 512), "it is full");
        assert!(rings.read(3, false, |w| seen.push(w)));
        assert_eq!(seen, (0..512).collect::<Vec<u64>>());
        seen.clear();
        for word in 0..5 {
            assert!(write(&rings, 3, word));
        }
        assert!(!rings.read(3, false, |w| seen.push(w)), "it is not full");
        assert!(rings.read(3, true, |w| seen.push(w)));
        assert_eq!(seen, [0, 1, 2, 3, 4]);
        assert!((0..512).all(|word| write(&rings, 3, word)) && !write(&rings, 3, 0));
        seen.clear();
        assert!(rings.read(3, false, |w| seen.push(w)));
        assert_eq!(seen.len(), 512);
    }

    #[test]
    fn a_program_that_writes_nonsense_harms_nobody() {
        let rings = Rings::create(4096).expect("rings");
        rings.word(0, WRITTEN).store(u64::MAX, Ordering::Relaxed);
        let mut count = 0;
        assert!(rings.read(0, true, |_| count += 1));
        assert_eq!(count, 512);
        rings.word(1, ROOM).store(3, Ordering::Relaxed);
        rings.word(1, WRITTEN).store(3, Ordering::Relaxed);
        assert!(rings.read(1, false, |_| count += 1));
        assert_eq!(count, 1024);
        rings.header(TAKEN).store(70, Ordering::Relaxed);
        assert_eq!((rings.taken(), rings.refused()), (RINGS, 6));
    }
}
