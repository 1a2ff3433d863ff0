//! The host's memory for a guest: address space that the host commits where it is touched.

use std::fs::File;
use std::ops::{Deref, DerefMut, Range};
use std::os::unix::fs::FileExt;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use memmap2::{MmapMut, MmapOptions};
use rustix::fs::{FallocateFlags, MemfdFlags, fallocate, memfd_create};
use rustix::mm::{MapFlags, ProtFlags, mmap, mmap_anonymous};
use rustix::process::{Resource, getrlimit};

use super::{Memory, MemoryError, PAGE_COUNT, PAGE_SIZE, Pages};

/// The content of pages at one moment, each at its address, in a part of an anonymous file of the host. All layers are in
/// one file: there may be more of them than a process may have open.
pub(super) struct Layer {
    file: &'static File,
    /// Offset of the layer in the file.
    start: u64,
    pages: u64,
}

impl Layer {
    /// A layer without pages.
    pub(super) fn new() -> Result<Layer, MemoryError> {
        static FILE: OnceLock<Result<File, MemoryError>> = OnceLock::new();
        static LAYERS: AtomicU64 = AtomicU64::new(0);
        let file = FILE.get_or_init(Self::make_file).as_ref();
        let file = file.map_err(MemoryError::clone)?;
        let number = LAYERS.fetch_add(1, Ordering::Relaxed);
        if number >= Self::MOST {
            return Err(refused("there have been too many layers"));
        }
        Ok(Layer {
            file,
            start: number * Memory::LIMIT,
            pages: 0,
        })
    }

    /// Layers for which a file of the host has room.
    const MOST: u64 = (1 << 63) / Memory::LIMIT - 1;

    fn make_file() -> Result<File, MemoryError> {
        // The host would end the process for a file that is too long.
        if getrlimit(Resource::Fsize).current.is_some() {
            return Err(refused("files are limited (ulimit -f)"));
        }
        let file = memfd_create("hps-layers", MemfdFlags::CLOEXEC);
        let file = File::from(file.map_err(refused)?);
        file.set_len(Self::MOST * Memory::LIMIT).map_err(refused)?;
        Ok(file)
    }

    /// Puts pages in, before anyone shows the layer.
    pub(super) fn put(&mut self, addr: u64, content: &[u8]) -> Result<(), MemoryError> {
        self.pages += content.len() as u64 / PAGE_SIZE;
        let place = self.start + addr;
        self.file.write_all_at(content, place).map_err(refused)
    }

    /// Pages that were put in.
    pub(super) fn pages(&self) -> u64 {
        self.pages
    }
}

impl Drop for Layer {
    /// Gives the pages back to the host. No room shows them any more.
    fn drop(&mut self) {
        let frees = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        let freed = fallocate(self.file, frees, self.start, Memory::LIMIT);
        debug_assert_eq!(freed, Ok(()));
    }
}

fn refused(cause: impl std::fmt::Display) -> MemoryError {
    MemoryError::Reserve {
        bytes: 0,
        cause: cause.to_string(),
    }
}

/// The byte of each page of the window, zero at first.
///
/// The host commits it where it is touched. An allocator writes zeros to all of its 4 MiB if it has had such a piece before
/// (docs/measurements/duplicates.md says what that takes).
pub(super) struct PageBytes(MmapMut);

impl PageBytes {
    pub(super) fn new() -> Result<PageBytes, MemoryError> {
        Ok(PageBytes(reserved(PAGE_COUNT as u64)?))
    }
}

impl Deref for PageBytes {
    type Target = Pages;

    #[inline(always)]
    fn deref(&self) -> &Pages {
        // SAFETY: the mapping has this length, and is borrowed as long as the result. A slice of it would have to be
        // measured at each access of a guest.
        unsafe { &*self.0.as_ptr().cast() }
    }
}

impl DerefMut for PageBytes {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut Pages {
        // SAFETY: as in `deref`.
        unsafe { &mut *self.0.as_mut_ptr().cast() }
    }
}

/// Address space of the host, committed where it is touched, zero at first.
fn reserved(bytes: u64) -> Result<MmapMut, MemoryError> {
    let refused = |cause: String| MemoryError::Reserve { bytes, cause };
    let len = usize::try_from(bytes).map_err(|_| refused("a 64-bit host is needed".to_owned()))?;
    let reserved = MmapOptions::new()
        .len(len)
        .no_reserve_swap()
        .map_anon()
        .map_err(|e| refused(e.to_string()))?;
    // Huge pages would let a guest that touches one byte in each commit far more host memory
    // than its limit. Hosts without the advice have no huge pages to fear.
    #[cfg(target_os = "linux")]
    let _ = reserved.advise(memmap2::Advice::NoHugePage);
    Ok(reserved)
}

/// Host memory of a range of guest addresses, all of it zero at first.
pub(super) struct Room(MmapMut);

impl Room {
    /// Address space of the host, committed where it is touched.
    pub(super) fn new(bytes: u64) -> Result<Room, MemoryError> {
        Ok(Room(reserved(bytes)?))
    }

    /// Whether there is memory for every address.
    pub(super) fn is_whole(&self) -> bool {
        self.0.len() as u64 == super::Memory::WINDOW
    }

    /// Makes sure that there is memory for a range, contiguous with its neighbours. Here there always is.
    #[inline(always)]
    pub(super) fn prepare(&mut self, _: &Range<u64>) -> Result<(), MemoryError> {
        Ok(())
    }

    /// Shows what a layer has from an address on, in place of what was in a range of whole pages. A write gives this room
    /// a page of its own. (docs/measurements/several-cores.md has what that saves.)
    pub(super) fn show(
        &mut self,
        range: Range<u64>,
        layer: &Layer,
        from: u64,
    ) -> Result<(), MemoryError> {
        let place = self.part_mut(range.start, (range.end - range.start) as usize);
        let (prot, flags) = Self::REPLACES;
        // SAFETY: the place lies inside this room's own mapping, to which there is no other reference, and is readable and
        // writable memory afterwards. Nobody writes to the layer any more.
        let shown = unsafe {
            let at = place.as_mut_ptr().cast();
            mmap(at, place.len(), prot, flags, layer.file, layer.start + from)
        };
        shown.map(|_| ()).map_err(refused)
    }

    /// Makes a range of whole pages zero, in one step.
    pub(super) fn clear(&mut self, range: Range<u64>) -> Result<(), MemoryError> {
        let len = (range.end - range.start) as usize;
        let place = self.part_mut(range.start, len);
        let (prot, flags) = Self::REPLACES;
        // SAFETY: as in `show`.
        let cleared =
            unsafe { mmap_anonymous(place.as_mut_ptr().cast(), place.len(), prot, flags) };
        cleared.map_err(refused)?;
        #[cfg(target_os = "linux")]
        let _ = self
            .0
            .advise_range(memmap2::Advice::NoHugePage, range.start as usize, len);
        Ok(())
    }

    /// Protection and flags of a mapping that replaces another one.
    const REPLACES: (ProtFlags, MapFlags) = (
        ProtFlags::READ.union(ProtFlags::WRITE),
        MapFlags::PRIVATE
            .union(MapFlags::FIXED)
            .union(MapFlags::NORESERVE),
    );

    /// `len` bytes at `addr`.
    pub(super) fn part(&self, addr: u64, len: usize) -> &[u8] {
        &self.0[addr as usize..addr as usize + len]
    }

    /// `len` bytes at `addr`, to be changed.
    pub(super) fn part_mut(&mut self, addr: u64, len: usize) -> &mut [u8] {
        &mut self.0[addr as usize..addr as usize + len]
    }

    /// `N` bytes at `addr`.
    ///
    /// # Safety
    /// Both lie inside the room.
    #[inline(always)]
    pub(super) unsafe fn array<const N: usize>(&self, addr: u64) -> &[u8] {
        let first = addr as usize;
        debug_assert!(first + N <= self.0.len());
        // SAFETY: the caller promises it.
        unsafe { self.0.get_unchecked(first..first + N) }
    }

    /// `N` bytes at `addr`, to be changed.
    ///
    /// # Safety
    /// Both lie inside the room.
    #[inline(always)]
    pub(super) unsafe fn array_mut<const N: usize>(&mut self, addr: u64) -> &mut [u8] {
        let first = addr as usize;
        debug_assert!(first + N <= self.0.len());
        // SAFETY: the caller promises it.
        unsafe { self.0.get_unchecked_mut(first..first + N) }
    }

    /// The room as what [`View`](super::View) works on.
    #[inline]
    pub(super) fn bytes(&mut self) -> &mut super::Bytes {
        let Ok(bytes) = <&mut super::Bytes>::try_from(&mut self.0[..]) else {
            unreachable!("the reserve is as long as the address space")
        };
        bytes
    }
}

#[cfg(test)]
mod tests {
    use rustix::fs::{SeekFrom, seek};

    use super::*;

    #[test]
    fn a_layer_that_is_gone_holds_no_memory_of_the_host() {
        let mut layer = Layer::new().expect("a layer");
        layer.put(0x5000, &[7; 4096]).expect("memory");
        let (file, start) = (layer.file, layer.start);
        let first_page = || seek(file, SeekFrom::Data(start)).unwrap_or(u64::MAX);
        assert_eq!(first_page(), start + 0x5000);
        drop(layer);
        assert!(first_page() >= start + Memory::LIMIT);
    }
}
