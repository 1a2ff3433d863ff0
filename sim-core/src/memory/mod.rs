//! Guest memory: one flat reserve of address space, a permission byte for each page.
//!
//! A guest address is an offset into one lazily committed anonymous mapping of the host, so that
//! an access needs no translation: one lookup of the page byte, one access. Every page byte holds
//! the logical permissions and two bits that make the first write to a page take the slow path
//! once, which is how dirty pages are known.
//!
//! Memory that is mapped reads as zero until it is written, also when the same addresses were
//! used before. Host memory is bounded: what is mapped, and pages of the host that were written
//! and unmapped since, together never exceed twice [`Memory::limit_bytes`].

mod access;
mod follow;
mod regions;
mod view;

use memmap2::{MmapMut, MmapOptions};
use std::ops::Range;

use self::regions::Regions;
use crate::bus::MemFault;

pub(crate) use self::access::Quick;
pub use self::view::ReadOnly;
pub(crate) use self::view::{Bytes, Pages, View};

/// Bytes in a page. Permissions and dirtiness are kept at this grain.
pub const PAGE_SIZE: u64 = 4096;
pub(crate) const PAGE_SHIFT: u32 = 12;
const PAGE_COUNT: usize = (Memory::LIMIT >> PAGE_SHIFT) as usize;

/// What may be done with a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Perm(u8);

impl Perm {
    /// Nothing: mapped, but every access faults.
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
mod bits {
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
}

/// Why memory could not be set up or mapped.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MemoryError {
    /// The host refused the reserve of address space.
    #[error(
        "cannot reserve {} GiB of address space for guest memory ({cause}); the reserve costs no memory, but the host \
         must allow it: set vm.overcommit_memory to 0 or 1 (sysctl vm.overcommit_memory=0) and lift any limit on \
         address space (ulimit -v unlimited)",
        Memory::LIMIT >> 30
    )]
    Reserve {
        /// The host's own words.
        cause: String,
    },
    /// Not page-aligned, empty, or not inside guest memory.
    #[error(
        "guest range {addr:#x} + {len:#x} bytes is no valid range of pages (page-aligned, not empty, below {:#x})",
        Memory::LIMIT
    )]
    BadRange {
        /// Start of the range.
        addr: u64,
        /// Its length, in bytes.
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

/// Guest memory. See the module's description.
pub struct Memory {
    bytes: MmapMut,
    pages: Box<[u8; PAGE_COUNT]>,
    regions: Regions,
    mapped_bytes: u64,
    /// Pages with [`bits::TOUCHED`] that are not mapped now.
    retired_pages: u64,
    /// Pages with [`bits::WRITTEN`], and the most that there ever were.
    written_pages: u64,
    peak_written_pages: u64,
    limit_bytes: u64,
    dirty: Vec<u32>,
    code_epoch: u64,
    layout_epoch: u64,
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
    /// Size of the guest's address space, in bytes. Nothing at or above it can be mapped.
    pub const LIMIT: u64 = 1 << 34;
    /// How much may be mapped where nothing else is asked for, in bytes.
    pub const DEFAULT_LIMIT_BYTES: u64 = 2 << 30;

    /// Reserves the address space; at most `limit_bytes` of it can be mapped at a time.
    ///
    /// # Errors
    /// [`MemoryError::Reserve`] if the host refuses.
    pub fn new(limit_bytes: u64) -> Result<Memory, MemoryError> {
        let reserve = |cause: String| MemoryError::Reserve { cause };
        let len = usize::try_from(Self::LIMIT)
            .map_err(|_| reserve("a 64-bit host is needed".to_owned()))?;
        let bytes = MmapOptions::new()
            .len(len)
            .no_reserve_swap()
            .map_anon()
            .map_err(|e| reserve(e.to_string()))?;
        // Huge pages would let a guest that touches one byte in each commit far more host memory
        // than its limit. Hosts without the advice have no huge pages to fear.
        #[cfg(target_os = "linux")]
        let _ = bytes.advise(memmap2::Advice::NoHugePage);
        let pages = vec![0u8; PAGE_COUNT].into_boxed_slice();
        let pages = pages
            .try_into()
            .map_err(|_| reserve("page table of the wrong size".to_owned()))?;
        Ok(Memory {
            bytes,
            pages,
            regions: Regions::default(),
            mapped_bytes: 0,
            retired_pages: 0,
            written_pages: 0,
            peak_written_pages: 0,
            limit_bytes,
            dirty: Vec::new(),
            code_epoch: 0,
            layout_epoch: 0,
        })
    }

    /// A copy of this memory: content, permissions, limits.
    ///
    /// # Errors
    /// [`MemoryError::Reserve`] if the host refuses.
    pub fn duplicate(&self) -> Result<Memory, MemoryError> {
        let mut copy = Memory::new(self.limit_bytes)?;
        // Nothing but zeros lies outside what is mapped and what was.
        let mut first = 0;
        for pages in self.pages.chunk_by(|a, b| (*a == 0) == (*b == 0)) {
            let range = first..first + pages.len();
            first = range.end;
            if pages[0] == 0 {
                continue;
            }
            copy.pages[range.clone()].copy_from_slice(pages);
            for page in range {
                if self.pages[page] & bits::WRITTEN != 0 {
                    let bytes = page << PAGE_SHIFT..(page + 1) << PAGE_SHIFT;
                    copy.bytes[bytes.clone()].copy_from_slice(&self.bytes[bytes]);
                }
            }
        }
        copy.regions = self.regions.clone();
        copy.mapped_bytes = self.mapped_bytes;
        copy.retired_pages = self.retired_pages;
        copy.written_pages = self.written_pages;
        copy.peak_written_pages = self.peak_written_pages;
        copy.dirty = self.dirty.clone();
        copy.code_epoch = self.code_epoch;
        copy.layout_epoch = self.layout_epoch;
        Ok(copy)
    }

    /// Maps zero pages at `addr`, in place of whatever was mapped there.
    ///
    /// # Errors
    /// [`MemoryError::BadRange`]; [`MemoryError::LimitExceeded`] (then nothing has changed).
    pub fn map(&mut self, addr: u64, len: u64, perm: Perm) -> Result<(), MemoryError> {
        let range = checked_range(addr, len)?;
        let already = self.regions.covered_bytes(range.clone());
        let after = self.mapped_bytes - already + len;
        // Host pages that a hostile guest leaves behind by mapping elsewhere each time count too.
        let retired_here = if self.retired_pages == 0 {
            0
        } else {
            self.retired_in(&range)
        };
        let left_behind = (self.retired_pages - retired_here) * PAGE_SIZE;
        if after > self.limit_bytes || left_behind + after > 2 * self.limit_bytes {
            return Err(MemoryError::LimitExceeded {
                len,
                limit: self.limit_bytes,
            });
        }
        self.remove(range.clone());
        self.retired_pages -= if self.retired_pages == 0 {
            0
        } else {
            self.retired_in(&range)
        };
        for page in page_indices(&range) {
            self.pages[page] = (self.pages[page] & !bits::PERM) | perm.0;
        }
        self.regions.insert(range);
        self.mapped_bytes = after;
        self.layout_epoch += 1;
        if perm.contains(Perm::X) {
            self.code_epoch += 1;
        }
        Ok(())
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
            while let Some(skipped) = self.pages[start..end]
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
        let start = page << PAGE_SHIFT;
        self.bytes[start..start + PAGE_SIZE as usize].fill(0);
        // The next write has to note again that the page is written.
        self.pages[page] &= !(bits::WRITTEN | bits::FAST_W);
        self.written_pages -= 1;
        self.code_epoch += u64::from(self.pages[page] & bits::X != 0);
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
        for page in page_indices(&range) {
            let byte = &mut self.pages[page];
            code |= *byte & bits::X != 0;
            let fast = if perm.contains(Perm::W) && *byte & bits::DIRTY != 0 {
                bits::FAST_W
            } else {
                0
            };
            *byte = (*byte & !(bits::PERM | bits::FAST_W)) | perm.0 | fast;
        }
        self.code_epoch += u64::from(code);
        self.layout_epoch += 1;
        Ok(())
    }

    /// The highest address at which `len` bytes (whole pages) are free, between `floor` and
    /// `below`; `None` if there is no such gap.
    #[must_use]
    pub fn find_gap(&self, len: u64, floor: u64, below: u64) -> Option<u64> {
        self.regions.find_gap(len, floor, below.min(Self::LIMIT))
    }

    /// Bytes mapped now, with any permission.
    #[must_use]
    pub fn mapped_bytes(&self) -> u64 {
        self.mapped_bytes
    }

    /// Bytes of mapped pages that have been written since they were mapped or discarded.
    #[must_use]
    pub fn resident_bytes(&self) -> u64 {
        self.written_pages * PAGE_SIZE
    }

    /// The most that [`Memory::resident_bytes`] has ever been.
    #[must_use]
    pub fn peak_resident_bytes(&self) -> u64 {
        self.peak_written_pages * PAGE_SIZE
    }

    /// The mapped ranges in ascending order, each of one set of permissions.
    pub fn mapped_parts(&self) -> impl Iterator<Item = (Range<u64>, Perm)> + '_ {
        self.regions.iter().flat_map(|range| {
            let mut start = range.start;
            let same = |a: &u8, b: &u8| a & bits::PERM == b & bits::PERM;
            self.pages[page_indices(&range)]
                .chunk_by(same)
                .map(move |pages| {
                    let part = start..start + pages.len() as u64 * PAGE_SIZE;
                    start = part.end;
                    (part, Perm(pages[0] & bits::PERM))
                })
        })
    }

    /// The most that may be mapped, in bytes.
    #[must_use]
    pub fn limit_bytes(&self) -> u64 {
        self.limit_bytes
    }

    /// Changes whenever a page that is or becomes executable is mapped, unmapped or re-protected.
    #[must_use]
    pub fn code_epoch(&self) -> u64 {
        self.code_epoch
    }

    /// Declares that code was changed by other means than mapping, so that whoever keeps decoded
    /// instructions throws them away.
    pub fn invalidate_code(&mut self) {
        self.code_epoch += 1;
    }

    /// Every byte of the range is mapped (with any permission, or none).
    #[must_use]
    pub fn is_mapped(&self, addr: u64, len: u64) -> bool {
        len == 0
            || addr.checked_add(len).is_some_and(|end| {
                end <= Self::LIMIT && self.regions.first_hole(addr..end).is_none()
            })
    }

    /// No byte of the range is mapped.
    #[must_use]
    pub fn is_free(&self, addr: u64, len: u64) -> bool {
        self.regions.covered_bytes(addr..addr.saturating_add(len)) == 0
    }

    /// The page that holds `addr` has been written since it was mapped or discarded.
    #[must_use]
    pub fn is_written(&self, addr: u64) -> bool {
        let page = self.pages.get((addr >> PAGE_SHIFT) as usize);
        page.is_some_and(|byte| byte & bits::WRITTEN != 0)
    }

    /// Permissions of the page that holds `addr`; `None` where nothing is mapped.
    #[must_use]
    pub fn permissions(&self, addr: u64) -> Option<Perm> {
        let mapped = addr < Self::LIMIT && self.regions.contains(addr);
        mapped.then(|| Perm(self.pages[(addr >> PAGE_SHIFT) as usize] & bits::PERM))
    }

    /// The mapped parts of `range` in ascending order. Neighbours are merged.
    pub fn mapped_within(&self, range: Range<u64>) -> impl Iterator<Item = Range<u64>> + '_ {
        self.regions.overlaps(range)
    }

    /// The mapped ranges in ascending order. Neighbours are merged, whatever their permissions.
    pub fn mapped_ranges(&self) -> impl Iterator<Item = Range<u64>> + '_ {
        self.regions.iter()
    }

    /// Addresses of the pages whose content changed since [`Memory::clear_dirty`] (since creation,
    /// if it was never called), in the order of their first change. A page that was unmapped since
    /// is among them.
    pub fn dirty_pages(&self) -> impl Iterator<Item = u64> + '_ {
        self.dirty.iter().map(|&page| u64::from(page) << PAGE_SHIFT)
    }

    /// Starts a new list of dirty pages.
    pub fn clear_dirty(&mut self) {
        for page in std::mem::take(&mut self.dirty) {
            self.pages[page as usize] &= !(bits::DIRTY | bits::FAST_W);
        }
    }

    /// Notes that the content of a page changes.
    fn mark_written(&mut self, page: usize) {
        let byte = &mut self.pages[page];
        if *byte & bits::DIRTY == 0 {
            self.dirty.push(page as u32);
        }
        if *byte & bits::WRITTEN == 0 {
            self.written_pages += 1;
            self.peak_written_pages = self.peak_written_pages.max(self.written_pages);
        }
        *byte |= bits::DIRTY | bits::WRITTEN | bits::TOUCHED;
        if *byte & bits::W != 0 {
            *byte |= bits::FAST_W;
        }
    }

    /// Unmaps the mapped parts of a range and zeroes what was written there.
    fn remove(&mut self, range: Range<u64>) {
        let mut code = false;
        for part in self.regions.remove(range) {
            self.mapped_bytes -= part.end - part.start;
            for page in page_indices(&part) {
                let byte = self.pages[page];
                code |= byte & bits::X != 0;
                if byte & bits::WRITTEN != 0 {
                    self.mark_written(page);
                    let start = page << PAGE_SHIFT;
                    self.bytes[start..start + PAGE_SIZE as usize].fill(0);
                    self.written_pages -= 1;
                }
                self.retired_pages += u64::from(byte & bits::TOUCHED != 0);
                self.pages[page] &= bits::DIRTY | bits::TOUCHED;
            }
        }
        self.code_epoch += u64::from(code);
        self.layout_epoch += 1;
    }

    /// Pages of an unmapped range (or of the unmapped parts of one) whose host page is committed.
    fn retired_in(&self, range: &Range<u64>) -> u64 {
        let mut count = 0;
        for hole in self.regions.holes(range.clone()) {
            let pages = page_indices(&hole);
            count += self.pages[pages]
                .iter()
                .filter(|&&b| b & bits::TOUCHED != 0)
                .count() as u64;
        }
        count
    }
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

/// Page numbers of a page-aligned range.
fn page_indices(range: &Range<u64>) -> Range<usize> {
    (range.start >> PAGE_SHIFT) as usize..(range.end >> PAGE_SHIFT) as usize
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
