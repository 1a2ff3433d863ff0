//! Guest memory: a flat reserve of address space, a permission byte for each page.
//!
//! An address below [`Memory::WINDOW`] is an offset into one lazily committed anonymous mapping of the
//! host, so that an access needs no translation: one lookup of the page byte, one access. Every page
//! byte holds the logical permissions and two bits that make the first write to a page take the slow
//! path once, which is how dirty pages are known. Accesses above the window take the slow path each
//! time ([`high`]).
//!
//! Memory that is mapped reads as zero until it is written, also when the same addresses were used before. A
//! reservation ([`Memory::reserve`]) counts only where it has been written. Host memory is bounded: what is mapped, and
//! pages of the host that were written and unmapped since, together never exceed twice [`Memory::limit_bytes`]. Pages
//! that a memory shares with its copies ([`sharing`]) come on top, at most about twice its own.

mod absent;
mod access;
mod first_writes;
mod follow;
mod high;
mod questions;
mod regions;
mod reuse;
#[cfg(not(target_family = "wasm"))]
mod room;
#[cfg(any(target_family = "wasm", test))]
// Natively its tests are built, and not all of it has one.
#[cfg_attr(not(target_family = "wasm"), allow(dead_code))]
mod room_in_parts;
mod saved;
mod sharing;
mod tracked;
mod view;

use std::collections::BTreeMap;
use std::ops::Range;

use self::high::High;
use self::regions::Regions;
#[cfg(not(target_family = "wasm"))]
use self::room::{Layer, PageBytes, Room};
#[cfg(target_family = "wasm")]
use self::room_in_parts::{Layer, PageBytes, Room};
use self::sharing::Shares;
pub use self::tracked::Mirror;
use self::tracked::Tracked;
use crate::bus::MemFault;

pub(crate) use self::access::Quick;
pub use self::first_writes::FirstWrite;
pub use self::view::ReadOnly;
pub use self::view::View;
pub(crate) use self::view::{Bytes, Pages};

/// Bytes in a page. Permissions and dirtiness are kept at this grain.
pub const PAGE_SIZE: u64 = 4096;
pub(crate) const PAGE_SHIFT: u32 = 12;
/// Pages in the window of the fast path.
const PAGE_COUNT: usize = (Memory::WINDOW >> PAGE_SHIFT) as usize;

/// Permissions of a page.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, Default, serde::Serialize, serde::Deserialize,
)]
pub struct Perm(u8);

impl Perm {
    /// No permission: mapped, but every access faults.
    pub const NONE: Perm = Perm(0);
    /// Data reads.
    pub const R: Perm = Perm(bits::R);
    /// Data writes.
    pub const W: Perm = Perm(bits::W);
    /// Instruction fetch.
    pub const X: Perm = Perm(bits::X);
    /// Reads and writes.
    pub const RW: Perm = Perm(bits::R | bits::W);
    /// Reads and fetch.
    pub const RX: Perm = Perm(bits::R | bits::X);
    /// Everything.
    pub const RWX: Perm = Perm(bits::R | bits::W | bits::X);

    /// Both sets of permissions.
    #[must_use]
    pub const fn union(self, other: Perm) -> Perm {
        Perm(self.0 | other.0)
    }

    /// Every permission of `other` is here too.
    #[must_use]
    pub const fn contains(self, other: Perm) -> bool {
        self.0 & other.0 == other.0
    }
}

/// Bits of a page byte. Plain bits: each access of a program looks at one byte.
pub(crate) mod bits {
    /// Readable.
    pub const R: u8 = 1;
    /// Writable.
    pub const W: u8 = 2;
    /// Executable.
    pub const X: u8 = 4;
    /// The permissions.
    pub const PERM: u8 = R | W | X;
    /// Writable, and already known as dirty: stores may take the fast path.
    pub const FAST_W: u8 = 8;
    /// The host page may hold something else than zeros.
    pub const WRITTEN: u8 = 16;
    /// Written (or unmapped with content) since dirty pages were last cleared.
    pub const DIRTY: u8 = 32;
    /// The host page was committed at some time (it stays so when unmapped).
    pub const TOUCHED: u8 = 64;
    /// Part of a reservation that has not been written, and does not count as mapped.
    pub const RESERVED: u8 = 128;
}

/// Why memory could not be set up or mapped.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MemoryError {
    /// The host refused the reserve of address space.
    #[error(
        "cannot reserve {} GiB of address space for guest memory ({cause}); the reserve costs no memory, but the host \
         must allow it: set vm.overcommit_memory to 0 or 1 (sysctl vm.overcommit_memory=0) and lift any limit on \
         address space (ulimit -v unlimited)",
        bytes >> 30
    )]
    Reserve {
        /// Size of the reserve, in bytes.
        bytes: u64,
        /// The host's own words.
        cause: String,
    },
    /// The range is not page-aligned, is empty, or is not inside guest memory.
    #[error(
        "guest range {addr:#x} + {len:#x} bytes is no valid range of pages (page-aligned, not empty, below {:#x})",
        Memory::LIMIT
    )]
    BadRange {
        /// Start of the range.
        addr: u64,
        /// Length of the range, in bytes.
        len: u64,
    },
    /// Some page of the range is not mapped.
    #[error("guest page {addr:#x} is not mapped")]
    NotMapped {
        /// The first page that is not mapped.
        addr: u64,
    },
    /// The configured limit would be exceeded.
    #[error(
        "mapping {len} more bytes exceeds the guest's memory limit of {limit} bytes; raise the memory limit if the \
         program really needs more"
    )]
    LimitExceeded {
        /// Bytes asked for.
        len: u64,
        /// The limit, in bytes.
        limit: u64,
    },
}

/// A word of a memory that the operating system keeps for an observer: which thread is on a processor, the number of its
/// process in the upper half and its own in the lower half, 0 while none is. SHIM's authors change their kernel for it
/// (ISCA 2015, section 3).
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub struct ThreadWord {
    /// The processor, from 0.
    pub processor: usize,
    /// Where the word lies.
    pub addr: u64,
}

/// Guest memory. See the module's description.
pub struct Memory {
    bytes: Room,
    pages: PageBytes,
    /// Memory above the window, once something is mapped there.
    high: Option<High>,
    regions: Regions,
    /// Ranges that have ever been mapped. Outside of them all page bytes are 0.
    used: Regions,
    /// Mapped pages that were taken away, with the permissions that they had.
    absent: BTreeMap<usize, Perm>,
    mapped_bytes: u64,
    /// Pages with [`bits::RESERVED`].
    reserved_pages: u64,
    /// True if a mapping or write was refused because of the limit.
    is_refused: bool,
    tracked: Tracked,
    /// Pages that this memory shares with copies, once a copy has been made by sharing.
    shares: Option<Box<Shares>>,
    copied_pages: u64,
    /// Pages with [`bits::TOUCHED`] that are not mapped now, or are reserved.
    retired_pages: u64,
    /// Pages with [`bits::WRITTEN`], and the most that there ever were.
    written_pages: u64,
    peak_written_pages: u64,
    limit_bytes: u64,
    dirty: Vec<FirstWrite>,
    code_epoch: u64,
    layout_epoch: u64,
    /// Word that an observer of this memory reads, if there is one. The word goes where the memory goes: to the child
    /// of a `vfork` and back, and away with the memory that an `execve` replaces.
    pub thread_word: Option<ThreadWord>,
}

impl std::fmt::Debug for Memory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Memory")
            .field("mapped_bytes", &self.mapped_bytes)
            .field("limit_bytes", &self.limit_bytes)
            .field("regions", &self.regions)
            .finish_non_exhaustive()
    }
}

/// Rounds up to whole pages; `None` if that exceeds 64 bits.
#[must_use]
pub const fn page_align_up(value: u64) -> Option<u64> {
    match value.checked_add(PAGE_SIZE - 1) {
        Some(v) => Some(v & !(PAGE_SIZE - 1)),
        None => None,
    }
}

/// Rounds down to whole pages.
#[must_use]
pub const fn page_align_down(value: u64) -> u64 {
    value & !(PAGE_SIZE - 1)
}

impl Memory {
    /// Size of the guest's address space, in bytes: Sv39 has half of that for programs, and QEMU's user mode
    /// more. Nothing at or above it can be mapped.
    pub const LIMIT: u64 = 1 << 39;
    /// Addresses that the fast path serves, in bytes.
    pub const WINDOW: u64 = 1 << 34;
    /// The first address above the window that can be mapped. Addresses between the window and this one are never
    /// mapped, so that no mapping crosses the border.
    pub const HIGH: u64 = Self::WINDOW + (64 << 10);
    /// Limit of mapped memory where no other one is asked for, in bytes.
    pub const DEFAULT_LIMIT_BYTES: u64 = 2 << 30;

    /// Reserves the address space; at most `limit_bytes` of it can be mapped at a time.
    ///
    /// # Errors
    /// [`MemoryError::Reserve`] if the host refuses.
    pub fn new(limit_bytes: u64) -> Result<Memory, MemoryError> {
        Memory::reserved(Self::WINDOW, limit_bytes)
    }

    /// A memory in which nothing is ever mapped. It stands where another one is lent away.
    pub fn vacant() -> Result<Memory, MemoryError> {
        Memory::reserved(PAGE_SIZE, 0)
    }

    fn reserved(bytes: u64, limit_bytes: u64) -> Result<Memory, MemoryError> {
        let bytes = Room::new(bytes)?;
        Ok(Memory {
            bytes,
            pages: PageBytes::new()?,
            high: None,
            regions: Regions::default(),
            used: Regions::default(),
            absent: BTreeMap::new(),
            mapped_bytes: 0,
            reserved_pages: 0,
            is_refused: false,
            tracked: Tracked::default(),
            shares: None,
            copied_pages: 0,
            retired_pages: 0,
            written_pages: 0,
            peak_written_pages: 0,
            limit_bytes,
            dirty: Vec::new(),
            code_epoch: 0,
            layout_epoch: 0,
            thread_word: None,
        })
    }

    /// Maps zero pages at `addr`, in place of whatever was mapped there.
    ///
    /// # Errors
    /// [`MemoryError::BadRange`]; [`MemoryError::LimitExceeded`] and [`MemoryError::Reserve`] (then nothing has
    /// changed).
    pub fn map(&mut self, addr: u64, len: u64, perm: Perm) -> Result<(), MemoryError> {
        let range = mappable_range(addr, len)?;
        self.prepare(&range)?;
        let already = self.counted_bytes(range.clone());
        let after = self.mapped_bytes - already + len;
        // Host pages that a hostile guest leaves behind by mapping elsewhere each time count too.
        let left_behind = (self.retired_pages - self.retired_in(&range)) * PAGE_SIZE;
        if after > self.limit_bytes || left_behind + after > 2 * self.limit_bytes {
            self.is_refused = true;
            return Err(MemoryError::LimitExceeded {
                len,
                limit: self.limit_bytes,
            });
        }
        self.place(range.clone(), perm, 0);
        self.retired_pages -= count_with(self.page_bytes(page_indices(&range)), bits::TOUCHED);
        self.mapped_bytes += len;
        Ok(())
    }

    /// Maps zero pages at `addr` that do not count as mapped until they are written, in place of
    /// whatever was mapped there.
    ///
    /// # Errors
    /// [`MemoryError::BadRange`], [`MemoryError::Reserve`].
    pub fn reserve(&mut self, addr: u64, len: u64, perm: Perm) -> Result<(), MemoryError> {
        let range = mappable_range(addr, len)?;
        self.prepare(&range)?;
        self.place(range, perm, bits::RESERVED);
        self.reserved_pages += len >> PAGE_SHIFT;
        Ok(())
    }

    /// Maps zero pages with the bits `extra`.
    fn place(&mut self, range: Range<u64>, perm: Perm, extra: u8) {
        self.remove(range.clone());
        for byte in self.page_bytes_mut(page_indices(&range)) {
            *byte = (*byte & !bits::PERM) | perm.0 | extra;
        }
        let fresh: Vec<_> = self.used.holes(range.clone()).collect();
        fresh.into_iter().for_each(|hole| self.used.insert(hole));
        self.regions.insert(range);
        self.layout_epoch += 1;
        if perm.contains(Perm::X) {
            self.code_epoch += 1;
        }
    }

    /// Bytes of a range that count as mapped.
    fn counted_bytes(&self, range: Range<u64>) -> u64 {
        let parts = self.regions.overlaps(range);
        parts
            .map(|part| part.end - part.start - self.reserved_in(&part) * PAGE_SIZE)
            .sum()
    }

    /// Pages of a range that are reserved and not written.
    fn reserved_in(&self, range: &Range<u64>) -> u64 {
        match self.reserved_pages {
            0 => 0,
            _ => count_with(self.page_bytes(page_indices(range)), bits::RESERVED),
        }
    }

    /// Whether pages of the range are part of a reservation and have not been written.
    #[must_use]
    pub fn has_reserved(&self, addr: u64, len: u64) -> bool {
        checked_range(addr, len).is_ok_and(|range| self.reserved_in(&range) > 0)
    }

    /// Whether a mapping or write was refused because of the limit.
    #[must_use]
    pub fn is_limit_reached(&self) -> bool {
        self.is_refused
    }

    /// Whether the limit allows all of a range to be written.
    fn has_room_for(&mut self, range: &Range<u64>) -> bool {
        let wanted = self.reserved_in(range) * PAGE_SIZE;
        let left_behind = self.retired_pages * PAGE_SIZE;
        let after = self.mapped_bytes + wanted;
        let fits =
            wanted == 0 || after <= self.limit_bytes && left_behind + after <= 2 * self.limit_bytes;
        self.is_refused |= !fits;
        fits
    }

    /// Unmaps whatever of the range is mapped.
    ///
    /// # Errors
    /// [`MemoryError::BadRange`].
    pub fn unmap(&mut self, addr: u64, len: u64) -> Result<(), MemoryError> {
        let range = checked_range(addr, len)?;
        self.remove(range);
        Ok(())
    }

    /// Makes whatever of the range is mapped zero again, and leaves its permissions.
    ///
    /// # Errors
    /// [`MemoryError::BadRange`].
    pub fn discard(&mut self, addr: u64, len: u64) -> Result<(), MemoryError> {
        let range = checked_range(addr, len)?;
        let parts: Vec<_> = self.regions.overlaps(range).collect();
        for part in parts {
            let Range { mut start, end } = page_indices(&part);
            while let Some(skipped) = self
                .page_bytes(start..end)
                .iter()
                .position(|byte| byte & bits::WRITTEN != 0)
            {
                self.zero_page(start + skipped);
                start += skipped + 1;
            }
        }
        Ok(())
    }

    fn zero_page(&mut self, page: usize) {
        self.mark_written(page);
        self.page_content_mut(page).fill(0);
        // The next write has to note again that the page is written.
        let byte = self.page_byte_mut(page);
        *byte &= !(bits::WRITTEN | bits::FAST_W);
        let is_code = *byte & bits::X != 0;
        self.written_pages -= 1;
        self.code_epoch += u64::from(is_code);
    }

    /// Changes the permissions of a range that is mapped as a whole.
    ///
    /// # Errors
    /// [`MemoryError::BadRange`]; [`MemoryError::NotMapped`] (then nothing has changed).
    pub fn protect(&mut self, addr: u64, len: u64, perm: Perm) -> Result<(), MemoryError> {
        let range = checked_range(addr, len)?;
        if let Some(hole) = self.regions.first_hole(range.clone()) {
            return Err(MemoryError::NotMapped { addr: hole });
        }
        let mut code = perm.contains(Perm::X);
        for byte in self.page_bytes_mut(page_indices(&range)) {
            code |= *byte & bits::X != 0;
            const KNOWN: u8 = bits::DIRTY | bits::WRITTEN;
            let fast = if perm.contains(Perm::W) && *byte & KNOWN == KNOWN {
                bits::FAST_W
            } else {
                0
            };
            *byte = (*byte & !(bits::PERM | bits::FAST_W)) | perm.0 | fast;
        }
        self.protect_absent(&range, perm);
        self.slow_tracked_down();
        self.slow_shared_down(&range);
        self.code_epoch += u64::from(code);
        self.layout_epoch += 1;
        Ok(())
    }

    /// Notes that the content of a page changes.
    fn mark_written(&mut self, page: usize) {
        self.tracked.note(page);
        let mut byte = self.page_byte(page);
        if byte & bits::DIRTY == 0 {
            self.dirty
                .push(FirstWrite::new(page, byte & bits::WRITTEN != 0));
        }
        if byte & bits::WRITTEN == 0 {
            self.written_pages += 1;
            self.peak_written_pages = self.peak_written_pages.max(self.written_pages);
        }
        if byte & bits::RESERVED != 0 {
            byte &= !bits::RESERVED;
            self.reserved_pages -= 1;
            self.mapped_bytes += PAGE_SIZE;
            self.retired_pages -= u64::from(byte & bits::TOUCHED != 0);
        }
        byte |= bits::DIRTY | bits::WRITTEN | bits::TOUCHED;
        if byte & bits::W != 0 && !self.tracked.has_mirror(page) {
            byte |= bits::FAST_W;
        }
        *self.page_byte_mut(page) = byte;
    }

    /// Unmaps the mapped parts of a range and zeroes what was written there.
    fn remove(&mut self, range: Range<u64>) {
        /// Large reservations are looked at in parts of this many pages.
        const PART: usize = 4096;
        let mut code = false;
        self.forget_absent(&range);
        for part in self.regions.remove(range) {
            let reserved = self.reserved_in(&part);
            self.reserved_pages -= reserved;
            self.mapped_bytes -= part.end - part.start - reserved * PAGE_SIZE;
            let Range { start, end } = page_indices(&part);
            for first in (start..end).step_by(PART) {
                let pages = self.page_bytes_mut(first..end.min(first + PART));
                let all = pages.iter().fold(0, |all, byte| all | byte);
                code |= all & bits::X != 0;
                if all & (bits::WRITTEN | bits::TOUCHED | bits::DIRTY) == 0 {
                    pages.fill(0);
                } else {
                    self.remove_pages(first..end.min(first + PART));
                }
            }
        }
        self.code_epoch += u64::from(code);
        self.layout_epoch += 1;
    }

    fn remove_pages(&mut self, pages: Range<usize>) {
        for page in pages {
            let byte = self.page_byte(page);
            if byte & bits::WRITTEN != 0 {
                self.mark_written(page);
                self.page_content_mut(page).fill(0);
                self.written_pages -= 1;
            }
            let is_retired = byte & (bits::TOUCHED | bits::RESERVED) == bits::TOUCHED;
            self.retired_pages += u64::from(is_retired);
            *self.page_byte_mut(page) &= bits::DIRTY | bits::TOUCHED;
        }
    }

    /// Pages of an unmapped range (or of the unmapped parts of one) whose host page is committed.
    fn retired_in(&self, range: &Range<u64>) -> u64 {
        if self.retired_pages == 0 {
            return 0;
        }
        let holes = self.regions.holes(range.clone());
        holes
            .map(|hole| count_with(self.page_bytes(page_indices(&hole)), bits::TOUCHED))
            .sum()
    }
}

/// Number of page bytes that have this bit.
fn count_with(pages: &[u8], bit: u8) -> u64 {
    let shift = bit.trailing_zeros();
    pages.iter().map(|byte| u64::from(byte >> shift & 1)).sum()
}

fn checked_range(addr: u64, len: u64) -> Result<Range<u64>, MemoryError> {
    let bad = MemoryError::BadRange { addr, len };
    if len == 0 || !addr.is_multiple_of(PAGE_SIZE) || !len.is_multiple_of(PAGE_SIZE) {
        return Err(bad);
    }
    match addr.checked_add(len) {
        Some(end) if end <= Memory::LIMIT => Ok(addr..end),
        _ => Err(bad),
    }
}

/// A range that can be mapped: on one side of the window's border.
fn mappable_range(addr: u64, len: u64) -> Result<Range<u64>, MemoryError> {
    let range = checked_range(addr, len)?;
    if range.start < Memory::HIGH && range.end > Memory::WINDOW {
        return Err(MemoryError::BadRange { addr, len });
    }
    Ok(range)
}

/// The page that an address is in. Numbers of pages that `usize` cannot hold are those of no page.
#[inline(always)]
fn page_of(addr: u64) -> usize {
    usize::try_from(addr >> PAGE_SHIFT).unwrap_or(usize::MAX)
}

/// Page numbers of a page-aligned range.
fn page_indices(range: &Range<u64>) -> Range<usize> {
    page_of(range.start)..page_of(range.end)
}

/// The refusal of an access at `addr`.
fn fault(memory: &Memory, addr: u64) -> MemFault {
    MemFault {
        addr,
        unmapped: memory.permissions(addr).is_none(),
    }
}

#[cfg(test)]
mod tests;
