//! Reads and writes: the fast path of single accesses, and whole ranges.

use super::{Memory, PAGE_COUNT, PAGE_SHIFT, PAGE_SIZE, bits, fault, page_align_down, page_of};
use crate::bus::{Bus, MemFault};

const PAGE: usize = PAGE_SIZE as usize;

/// The fast path: the address is inside the window (there is a page; `% PAGE_COUNT` only tells the
/// compiler that the page byte then exists), the page byte allows it, and the access stays in its
/// page. Everything else (faults, first writes, accesses that cross a page) goes to the
/// out-of-line path.
impl Bus for Memory {
    #[inline(always)]
    fn load<const N: usize>(&mut self, addr: u64) -> Result<u64, MemFault> {
        self.read::<N>(addr)
    }

    #[inline(always)]
    fn store<const N: usize>(&mut self, addr: u64, value: u64) -> Result<(), MemFault> {
        if self.write_quickly::<N>(addr, value) {
            return Ok(());
        }
        self.store_slow(addr, &value.to_le_bytes()[..N])
    }
}

/// Memory for callers that ask [`Memory`] again after a refusal: it refuses each access that the fast path cannot do,
/// allowed or not.
pub(crate) struct Quick<'a>(pub &'a mut Memory);

impl Quick<'_> {
    /// The error of a refused access. No caller looks at its fields.
    const REFUSED: MemFault = MemFault {
        addr: 0,
        unmapped: false,
    };
}

impl Bus for Quick<'_> {
    #[inline(always)]
    fn load<const N: usize>(&mut self, addr: u64) -> Result<u64, MemFault> {
        self.0.read_quickly::<N>(addr).ok_or(Self::REFUSED)
    }

    #[inline(always)]
    fn store<const N: usize>(&mut self, addr: u64, value: u64) -> Result<(), MemFault> {
        let quick = self.0.write_quickly::<N>(addr, value);
        if quick { Ok(()) } else { Err(Self::REFUSED) }
    }
}

impl Memory {
    /// Reads `N` (1, 2, 4 or 8) bytes, little-endian, zero-extended. Any alignment.
    ///
    /// # Errors
    /// The first byte that is not readable.
    #[inline(always)]
    pub fn read<const N: usize>(&self, addr: u64) -> Result<u64, MemFault> {
        match self.read_quickly::<N>(addr) {
            Some(value) => Ok(value),
            None => self.load_slow(addr, N),
        }
    }

    /// Reads `N` bytes inside one readable page; `None` for any other read.
    #[inline(always)]
    pub(crate) fn read_quickly<const N: usize>(&self, addr: u64) -> Option<u64> {
        const { assert!(N == 1 || N == 2 || N == 4 || N == 8) };
        let page = self.pages.get(page_of(addr))?;
        if page & bits::R == 0 || addr as usize % PAGE > PAGE - N {
            return None;
        }
        let mut value = [0; 8];
        // SAFETY: there is such a page, all its bytes are there, and none of these lies in the next one.
        value[..N].copy_from_slice(unsafe { self.bytes.array::<N>(addr) });
        Some(u64::from_le_bytes(value))
    }

    /// Writes `N` bytes inside a page that may be written to at once. `false` if nothing was written.
    #[inline(always)]
    pub(crate) fn write_quickly<const N: usize>(&mut self, addr: u64, value: u64) -> bool {
        const { assert!(N == 1 || N == 2 || N == 4 || N == 8) };
        let page = self.pages.get(page_of(addr));
        if page.is_none_or(|page| page & bits::FAST_W == 0) || addr as usize % PAGE > PAGE - N {
            return false;
        }
        // SAFETY: as in `read_quickly`.
        let slot = unsafe { self.bytes.array_mut::<N>(addr) };
        slot.copy_from_slice(&value.to_le_bytes()[..N]);
        true
    }

    /// The aligned eight bytes around an address, little-endian, if their page may be read.
    #[inline(always)]
    pub(crate) fn read_around(&self, addr: u64) -> Option<u64> {
        let page = self.pages.get(page_of(addr))?;
        if page & bits::R == 0 {
            return None;
        }
        let first = addr & !7;
        let mut value = [0; 8];
        // SAFETY: there is such a page, all its bytes are there, and none of these lies in the next one.
        value.copy_from_slice(unsafe { self.bytes.array::<8>(first) });
        Some(u64::from_le_bytes(value))
    }

    /// The eight aligned bytes around an address, if their page may be written to at once.
    #[inline(always)]
    pub(crate) fn quick_around(&mut self, addr: u64) -> Option<&mut [u8; 8]> {
        let page = self.pages.get(page_of(addr))?;
        if page & bits::FAST_W == 0 {
            return None;
        }
        let first = addr & !7;
        // SAFETY: as in `read_around`.
        unsafe { self.bytes.array_mut::<8>(first) }.try_into().ok()
    }

    /// Whether every read that begins at this address faults. This takes less time than a read that finds out why.
    #[inline(always)]
    #[must_use]
    pub fn is_unreadable(&self, addr: u64) -> bool {
        match self.pages.get(page_of(addr)) {
            Some(page) => page & bits::R == 0,
            None => self.high_lacks(addr, bits::R),
        }
    }

    /// Whether every write that begins at this address faults.
    #[inline(always)]
    #[must_use]
    pub fn is_unwritable(&self, addr: u64) -> bool {
        match self.pages.get(page_of(addr)) {
            Some(page) => page & bits::W == 0,
            None => self.high_lacks(addr, bits::W),
        }
    }

    #[cold]
    #[inline(never)]
    fn load_slow(&self, addr: u64, len: usize) -> Result<u64, MemFault> {
        let mut value = [0; 8];
        value[..len].copy_from_slice(self.readable(addr, len as u64)?);
        Ok(u64::from_le_bytes(value))
    }

    /// Checks that a store of `N` bytes would be allowed; stores nothing.
    ///
    /// # Errors
    /// The first byte that is not writable.
    #[inline(always)]
    pub fn check_store<const N: usize>(&mut self, addr: u64) -> Result<(), MemFault> {
        let page = page_of(addr);
        if addr < Self::WINDOW
            && self.pages[page % PAGE_COUNT] & bits::FAST_W != 0
            && addr as usize % PAGE <= PAGE - N
        {
            return Ok(());
        }
        self.writable(addr, N as u64).map(|_| ())
    }

    #[cold]
    #[inline(never)]
    fn store_slow(&mut self, addr: u64, value: &[u8]) -> Result<(), MemFault> {
        self.write_bytes(addr, value)
    }

    /// Number of bytes from `addr` on, at most `len`, in front of the first page without the bits `wanted`.
    fn allowed_prefix(&self, addr: u64, len: u64, wanted: u8) -> u64 {
        let end = addr.saturating_add(len).min(Self::LIMIT);
        let mut at = addr;
        while at < end && self.page_byte(page_of(at)) & wanted == wanted {
            at = page_align_down(at) + PAGE_SIZE;
        }
        at.min(end).saturating_sub(addr)
    }

    fn check(&self, addr: u64, len: u64, wanted: u8) -> Result<(), MemFault> {
        let allowed = self.allowed_prefix(addr, len, wanted);
        if allowed == len {
            Ok(())
        } else {
            Err(fault(self, addr.wrapping_add(allowed)))
        }
    }

    fn mark_range_written(&mut self, addr: u64, len: u64) {
        if len == 0 {
            return;
        }
        for page in (addr >> PAGE_SHIFT)..=((addr + len - 1) >> PAGE_SHIFT) {
            if self.page_byte(page as usize) & bits::FAST_W == 0 {
                self.part_with(page as usize);
                self.mark_written(page as usize);
            }
        }
    }

    /// The bytes of a range that is readable as a whole.
    ///
    /// # Errors
    /// The first byte that is not readable.
    pub fn readable(&self, addr: u64, len: u64) -> Result<&[u8], MemFault> {
        self.check(addr, len, bits::R)?;
        Ok(if len == 0 {
            &[]
        } else {
            self.content(addr, len as usize)
        })
    }

    /// The bytes of a range that is writable as a whole, to be written: its pages become dirty.
    ///
    /// # Errors
    /// The first byte that is not writable.
    pub fn writable(&mut self, addr: u64, len: u64) -> Result<&mut [u8], MemFault> {
        self.check(addr, len, bits::W)?;
        if len == 0 {
            return Ok(&mut []);
        }
        if self.reserved_pages > 0 {
            let end = (addr + len).next_multiple_of(PAGE_SIZE);
            if !self.has_room_for(&(page_align_down(addr)..end)) {
                return Err(MemFault {
                    addr,
                    unmapped: false,
                });
            }
        }
        self.mark_range_written(addr, len);
        Ok(self.content_mut(addr, len as usize))
    }

    /// Number of bytes from `addr` on, at most `len`, that are readable without a gap.
    #[must_use]
    pub fn readable_prefix_bytes(&self, addr: u64, len: u64) -> u64 {
        self.allowed_prefix(addr, len, bits::R)
    }

    /// Number of bytes from `addr` on, at most `len`, that are writable without a gap.
    #[must_use]
    pub fn writable_prefix_bytes(&self, addr: u64, len: u64) -> u64 {
        self.allowed_prefix(addr, len, bits::W)
    }

    /// Copies guest memory out.
    ///
    /// # Errors
    /// The first byte that is not readable; `buf` is then unchanged.
    pub fn read_bytes(&self, addr: u64, buf: &mut [u8]) -> Result<(), MemFault> {
        buf.copy_from_slice(self.readable(addr, buf.len() as u64)?);
        Ok(())
    }

    /// Copies into guest memory.
    ///
    /// # Errors
    /// The first byte that is not writable; nothing is then written.
    pub fn write_bytes(&mut self, addr: u64, bytes: &[u8]) -> Result<(), MemFault> {
        self.writable(addr, bytes.len() as u64)?
            .copy_from_slice(bytes);
        if !self.tracked.mirrors.is_empty() {
            self.mirror(addr, bytes);
        }
        Ok(())
    }

    /// Copies into mapped guest memory whatever its permissions, as a loader or a debugger does. A caller that changes
    /// code must throw decoded instructions away.
    ///
    /// # Errors
    /// The first byte that is not mapped; nothing is then written.
    pub fn write_bytes_forced(&mut self, addr: u64, bytes: &[u8]) -> Result<(), MemFault> {
        let len = bytes.len() as u64;
        if len == 0 {
            return Ok(());
        }
        let end = match addr.checked_add(len) {
            Some(end) if end <= Self::LIMIT => end,
            _ => {
                return Err(MemFault {
                    addr: addr.max(Self::LIMIT),
                    unmapped: true,
                });
            }
        };
        if let Some(hole) = self.regions.first_hole(addr..end) {
            return Err(MemFault {
                addr: hole,
                unmapped: true,
            });
        }
        self.mark_range_written(addr, len);
        self.content_mut(addr, bytes.len()).copy_from_slice(bytes);
        Ok(())
    }

    /// Copies mapped guest memory out whatever its permissions.
    ///
    /// # Errors
    /// The first byte that is not mapped; `buf` is then unchanged.
    pub fn read_bytes_forced(&self, addr: u64, buf: &mut [u8]) -> Result<(), MemFault> {
        if buf.is_empty() {
            return Ok(());
        }
        let end = match addr.checked_add(buf.len() as u64) {
            Some(end) if end <= Self::LIMIT => end,
            _ => {
                return Err(MemFault {
                    addr: addr.max(Self::LIMIT),
                    unmapped: true,
                });
            }
        };
        if let Some(hole) = self.regions.first_hole(addr..end) {
            return Err(MemFault {
                addr: hole,
                unmapped: true,
            });
        }
        buf.copy_from_slice(self.content(addr, buf.len()));
        Ok(())
    }

    /// Reads a zero-terminated string (without the zero) of at most `max_len` bytes; `Ok(None)` if
    /// it is longer.
    ///
    /// # Errors
    /// The first byte that is not readable, if it comes before the end of the string.
    pub fn read_cstr(&self, addr: u64, max_len: usize) -> Result<Option<Vec<u8>>, MemFault> {
        let wanted = max_len as u64 + 1;
        let allowed = self.allowed_prefix(addr, wanted, bits::R);
        let bytes = self.readable(addr, allowed)?;
        match bytes.iter().position(|&b| b == 0) {
            Some(len) => Ok(Some(bytes[..len].to_vec())),
            None if allowed == wanted => Ok(None),
            None => Err(fault(self, addr.wrapping_add(allowed))),
        }
    }

    /// Fetches the RISC-V instruction at `pc`: two bytes, and two more if they begin a 32-bit encoding
    /// (which may lie in another page). A 16-bit encoding is returned in the low half.
    ///
    /// # Errors
    /// The first byte that is not executable.
    pub fn fetch_word(&self, pc: u64) -> Result<u32, MemFault> {
        let low = self.fetch_half(pc)?;
        if low & 3 != 3 {
            return Ok(u32::from(low));
        }
        let high = self.fetch_half(pc.wrapping_add(2))?;
        Ok(u32::from(high) << 16 | u32::from(low))
    }

    /// Fetches four bytes at `pc`, whatever they are.
    ///
    /// # Errors
    /// The first byte that is not executable.
    pub fn fetch_four_bytes(&self, pc: u64) -> Result<u32, MemFault> {
        let (low, high) = (self.fetch_half(pc)?, self.fetch_half(pc.wrapping_add(2))?);
        Ok(u32::from(high) << 16 | u32::from(low))
    }

    fn fetch_half(&self, addr: u64) -> Result<u16, MemFault> {
        self.check(addr, 2, bits::X)?;
        let half = self.content(addr, 2);
        Ok(u16::from_le_bytes([half[0], half[1]]))
    }
}
