//! The fast part of guest memory alone, for code that handles everything else elsewhere.

use super::{Memory, PAGE_COUNT, PAGE_SHIFT, bits};
use crate::bus::{Bus, MemFault};

/// Every byte of the window; its size is part of the type, so that a reference is one pointer
/// and bounds are constants.
#[cfg(not(target_family = "wasm"))]
pub type Bytes = [u8; Memory::WINDOW as usize];
/// Memory of the window, which has bytes only where something is mapped.
#[cfg(target_family = "wasm")]
pub type Bytes = super::Room;
/// The permission byte of every page of the window.
pub type Pages = [u8; PAGE_COUNT];

/// Guest memory as far as one load of a page byte answers for an access: aligned accesses to readable pages, and to
/// writable pages that are known as dirty. It refuses all other accesses without effect, also those that [`Memory`]
/// would grant (misaligned accesses, the first write to a page): its user then asks [`Memory`] itself.
pub struct View<'a> {
    pub(crate) bytes: &'a mut Bytes,
    pub(crate) pages: &'a Pages,
}

/// Number of the `N`-byte unit of memory that `addr` names, and its page. A misaligned address has its low bits rotated
/// to the top, which puts it outside of memory: one comparison tests both.
#[inline(always)]
const fn unit<const N: usize>(addr: u64) -> (usize, usize) {
    const { assert!(N == 1 || N == 2 || N == 4 || N == 8) };
    let unit = addr.rotate_right(N.trailing_zeros());
    (
        unit as usize,
        page_number(unit >> (PAGE_SHIFT - N.trailing_zeros())),
    )
}

/// A number of a page; of no page if `usize` cannot hold it.
#[inline(always)]
const fn page_number(number: u64) -> usize {
    if number > usize::MAX as u64 {
        usize::MAX
    } else {
        number as usize
    }
}

/// The `unit`-th `N` bytes of the window.
#[cfg(not(target_family = "wasm"))]
#[inline(always)]
fn unit_of<const N: usize>(bytes: &Bytes, unit: usize) -> Option<&[u8; N]> {
    bytes.as_chunks::<N>().0.get(unit)
}

/// The `unit`-th `N` bytes of the window, to be changed.
#[cfg(not(target_family = "wasm"))]
#[inline(always)]
fn unit_of_mut<const N: usize>(bytes: &mut Bytes, unit: usize) -> Option<&mut [u8; N]> {
    bytes.as_chunks_mut::<N>().0.get_mut(unit)
}

#[cfg(target_family = "wasm")]
fn unit_of<const N: usize>(bytes: &Bytes, unit: usize) -> Option<&[u8; N]> {
    bytes.unit(unit)
}

#[cfg(target_family = "wasm")]
fn unit_of_mut<const N: usize>(bytes: &mut Bytes, unit: usize) -> Option<&mut [u8; N]> {
    bytes.unit_mut(unit)
}

/// The error of a refused access. No caller looks at its fields.
const REFUSED: MemFault = MemFault {
    addr: 0,
    unmapped: false,
};

#[inline(always)]
fn load<const N: usize>(bytes: &Bytes, pages: &Pages, addr: u64) -> Result<u64, MemFault> {
    let (unit, page) = unit::<N>(addr);
    if page < PAGE_COUNT
        && pages[page] & bits::R != 0
        && let Some(bytes) = unit_of::<N>(bytes, unit)
    {
        let mut value = [0; 8];
        value[..N].copy_from_slice(bytes);
        Ok(u64::from_le_bytes(value))
    } else {
        Err(REFUSED)
    }
}

impl Bus for View<'_> {
    const ONLY_ALIGNED: bool = true;

    #[inline(always)]
    fn load<const N: usize>(&mut self, addr: u64) -> Result<u64, MemFault> {
        load::<N>(self.bytes, self.pages, addr)
    }

    #[inline(always)]
    fn store<const N: usize>(&mut self, addr: u64, value: u64) -> Result<(), MemFault> {
        let (unit, page) = unit::<N>(addr);
        if page < PAGE_COUNT
            && self.pages[page] & bits::FAST_W != 0
            && let Some(bytes) = unit_of_mut::<N>(self.bytes, unit)
        {
            bytes.copy_from_slice(&value.to_le_bytes()[..N]);
            Ok(())
        } else {
            Err(REFUSED)
        }
    }
}

impl<'a> View<'a> {
    /// Read-only view of the same memory.
    #[inline]
    #[must_use]
    pub fn read_only(self) -> ReadOnly<'a> {
        ReadOnly {
            bytes: self.bytes,
            pages: self.pages,
        }
    }
}

/// Guest memory to look at, as far as a `View` would answer loads. Stores are accepted and
/// forgotten.
pub struct ReadOnly<'a> {
    pub(crate) bytes: &'a Bytes,
    pub(crate) pages: &'a Pages,
}

impl Bus for ReadOnly<'_> {
    const ONLY_ALIGNED: bool = true;

    #[inline]
    fn load<const N: usize>(&mut self, addr: u64) -> Result<u64, MemFault> {
        load::<N>(self.bytes, self.pages, addr)
    }

    #[inline]
    fn store<const N: usize>(&mut self, _addr: u64, _value: u64) -> Result<(), MemFault> {
        Ok(())
    }
}

impl Memory {
    /// The parts that [`View`] works on.
    #[inline]
    pub fn view(&mut self) -> View<'_> {
        View {
            bytes: self.bytes.bytes(),
            pages: &self.pages,
        }
    }
}
