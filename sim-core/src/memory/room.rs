//! The host's memory for a guest: address space that the host commits where it is touched.

use memmap2::{MmapMut, MmapOptions};

use super::MemoryError;

/// Host memory of a range of guest addresses, all of it zero at first.
pub(super) struct Room(MmapMut);

impl Room {
    /// Address space of the host, committed where it is touched.
    pub(super) fn new(bytes: u64) -> Result<Room, MemoryError> {
        let refused = |cause: String| MemoryError::Reserve { bytes, cause };
        let len =
            usize::try_from(bytes).map_err(|_| refused("a 64-bit host is needed".to_owned()))?;
        let reserved = MmapOptions::new()
            .len(len)
            .no_reserve_swap()
            .map_anon()
            .map_err(|e| refused(e.to_string()))?;
        // Huge pages would let a guest that touches one byte in each commit far more host memory
        // than its limit. Hosts without the advice have no huge pages to fear.
        #[cfg(target_os = "linux")]
        let _ = reserved.advise(memmap2::Advice::NoHugePage);
        Ok(Room(reserved))
    }

    /// Whether there is memory for every address.
    pub(super) fn is_whole(&self) -> bool {
        self.0.len() as u64 == super::Memory::WINDOW
    }

    /// Makes sure that there is memory for a range, contiguous with its neighbours. Here there always is.
    #[inline(always)]
    pub(super) fn prepare(&mut self, _: &std::ops::Range<u64>) -> Result<(), MemoryError> {
        Ok(())
    }

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
    /// They lie inside the room.
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
    /// They lie inside the room.
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
