//! The host's memory for a guest where address space is scarce, as in a browser: only what is mapped has any.
//!
//! Guest addresses are divided into granules. Granules that follow each other lie in one part, so that every mapped
//! range is contiguous in the host's memory. A part that grows downwards takes room for as much again, so that
//! mappings that are placed one below the other are copied seldom.

use std::ops::{Deref, DerefMut, Range};

use super::{MemoryError, PAGE_COUNT, PAGE_SIZE, Pages};

const GRANULE: u64 = 64 * PAGE_SIZE;
/// Stands for no part.
const NONE: u16 = u16::MAX;

/// The byte of each page of the window, zero at first.
pub(super) struct PageBytes(Box<Pages>);

impl PageBytes {
    pub(super) fn new() -> Result<PageBytes, MemoryError> {
        let pages = vec![0; PAGE_COUNT].into_boxed_slice().try_into();
        let refused = |_| refused(PAGE_COUNT as u64, "the number of pages is another one");
        Ok(PageBytes(pages.map_err(refused)?))
    }
}

impl Deref for PageBytes {
    type Target = Pages;

    #[inline(always)]
    fn deref(&self) -> &Pages {
        &self.0
    }
}

impl DerefMut for PageBytes {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut Pages {
        &mut self.0
    }
}

/// A layer of shared pages. Rooms in parts share none, so the type has no values.
pub(super) enum Layer {}

impl Layer {
    pub(super) fn new() -> Result<Layer, MemoryError> {
        Err(refused(0, "memory is not shared here"))
    }

    pub(super) fn put(&mut self, _: u64, _: &[u8]) -> Result<(), MemoryError> {
        match *self {}
    }

    pub(super) fn pages(&self) -> u64 {
        match *self {}
    }
}

/// Host memory of a range of guest addresses, all of it zero at first.
pub(crate) struct Room {
    /// The part of each granule.
    parts_of: Vec<u16>,
    /// Parts, of which those that were joined to others are empty.
    parts: Vec<Part>,
}

#[derive(Default)]
struct Part {
    /// Guest address of the first byte.
    start: u64,
    bytes: Vec<u8>,
}

impl Part {
    fn end(&self) -> u64 {
        self.start + self.bytes.len() as u64
    }
}

impl Room {
    /// Room for guest addresses below `bytes`, of which none has memory yet.
    pub(super) fn new(bytes: u64) -> Result<Room, MemoryError> {
        if bytes > super::Memory::WINDOW {
            return Err(refused(bytes, "there is no memory above 16 GiB here"));
        }
        Ok(Room {
            parts_of: vec![NONE; bytes.div_ceil(GRANULE) as usize],
            parts: Vec::new(),
        })
    }

    /// Shows a layer. It is never called, since the type has no values.
    pub(super) fn show(&mut self, _: Range<u64>, layer: &Layer, _: u64) -> Result<(), MemoryError> {
        match *layer {}
    }

    /// Makes a range zero.
    pub(super) fn clear(&mut self, range: Range<u64>) -> Result<(), MemoryError> {
        let len = (range.end - range.start) as usize;
        self.part_mut(range.start, len).fill(0);
        Ok(())
    }

    /// Whether there is memory for every address, without asking.
    pub(super) fn is_whole(&self) -> bool {
        false
    }

    /// Makes sure that there is memory for a range, contiguous with its neighbours.
    pub(super) fn prepare(&mut self, range: &Range<u64>) -> Result<(), MemoryError> {
        let mut start = range.start / GRANULE * GRANULE;
        let mut end = range.end.next_multiple_of(GRANULE);
        let first = (start / GRANULE) as usize;
        let part = self.parts_of[first];
        if part != NONE && self.parts[usize::from(part)].end() >= end {
            return Ok(());
        }
        let last = (end / GRANULE) as usize;
        let around = first.saturating_sub(1)..(last + 1).min(self.parts_of.len());
        let mut joined: Vec<u16> = self.parts_of[around].to_vec();
        joined.retain(|&part| part != NONE);
        joined.dedup();
        if let Some(&lowest) = joined.first() {
            let lowest = self.parts[usize::from(lowest)].start;
            if lowest > start {
                start = self.with_slack(start, end);
            }
            start = start.min(lowest);
        }
        if let Some(&highest) = joined.last() {
            end = end.max(self.parts[usize::from(highest)].end());
        }
        self.join(start..end, &joined)
    }

    /// Begin of a part that needs memory from `start` on, with slack below it as far as memory is free there.
    fn with_slack(&self, start: u64, end: u64) -> u64 {
        let wanted = start.saturating_sub(end - start) / GRANULE * GRANULE;
        let granules = (wanted / GRANULE) as usize..(start / GRANULE) as usize;
        let taken = self.parts_of[granules.clone()]
            .iter()
            .rposition(|&part| part != NONE);
        match taken {
            // A granule stays free between two parts: neighbours would have to be joined.
            Some(at) => ((granules.start + at + 2) as u64 * GRANULE).min(start),
            None => wanted,
        }
    }

    /// Makes one part of a range and of the parts that are in it, which follow each other.
    fn join(&mut self, range: Range<u64>, joined: &[u16]) -> Result<(), MemoryError> {
        let len = (range.end - range.start) as usize;
        let keeps = joined
            .first()
            .filter(|&&part| self.parts[usize::from(part)].start == range.start);
        let (index, mut bytes) = match keeps {
            Some(&part) => (
                part,
                std::mem::take(&mut self.parts[usize::from(part)].bytes),
            ),
            None => {
                let free = self.parts.iter().position(|part| part.bytes.is_empty());
                let index = free.unwrap_or(self.parts.len());
                if index == self.parts.len() {
                    self.parts.push(Part::default());
                }
                (index as u16, Vec::new())
            }
        };
        let before = bytes.len();
        if bytes.try_reserve(len - before).is_err() {
            self.parts[usize::from(index)].bytes = bytes;
            return Err(refused(len as u64, "the browser gives no more memory"));
        }
        bytes.resize(len, 0);
        for &other in joined.iter().filter(|&&other| other != index) {
            let other = std::mem::take(&mut self.parts[usize::from(other)]);
            let at = (other.start - range.start) as usize;
            bytes[at..at + other.bytes.len()].copy_from_slice(&other.bytes);
        }
        self.parts[usize::from(index)] = Part {
            start: range.start,
            bytes,
        };
        let granules = (range.start / GRANULE) as usize..(range.end / GRANULE) as usize;
        self.parts_of[granules].fill(index);
        Ok(())
    }

    /// The part with an address, and the place of the address in it.
    #[inline]
    fn locate(&self, addr: u64) -> (usize, usize) {
        let part = usize::from(self.parts_of[(addr / GRANULE) as usize]);
        (part, (addr - self.parts[part].start) as usize)
    }

    /// `len` bytes at `addr`.
    pub(super) fn part(&self, addr: u64, len: usize) -> &[u8] {
        let (part, at) = self.locate(addr);
        &self.parts[part].bytes[at..at + len]
    }

    /// `len` bytes at `addr`, to be changed.
    pub(super) fn part_mut(&mut self, addr: u64, len: usize) -> &mut [u8] {
        let (part, at) = self.locate(addr);
        &mut self.parts[part].bytes[at..at + len]
    }

    /// `N` bytes at `addr`.
    ///
    /// # Safety
    /// No promise is needed: bounds are checked here.
    #[inline]
    pub(super) unsafe fn array<const N: usize>(&self, addr: u64) -> &[u8] {
        self.part(addr, N)
    }

    /// `N` bytes at `addr`, to be changed.
    ///
    /// # Safety
    /// No promise is needed: bounds are checked here.
    #[inline]
    pub(super) unsafe fn array_mut<const N: usize>(&mut self, addr: u64) -> &mut [u8] {
        self.part_mut(addr, N)
    }

    /// The `unit`-th `N` bytes of the window, if there is memory.
    #[inline]
    pub(super) fn unit<const N: usize>(&self, unit: usize) -> Option<&[u8; N]> {
        let addr = unit as u64 * N as u64;
        let part = *self.parts_of.get((addr / GRANULE) as usize)?;
        let part = self.parts.get(usize::from(part))?;
        part.bytes[(addr - part.start) as usize..].first_chunk()
    }

    /// The `unit`-th `N` bytes of the window, to be changed, if there is memory.
    #[inline]
    pub(super) fn unit_mut<const N: usize>(&mut self, unit: usize) -> Option<&mut [u8; N]> {
        let addr = unit as u64 * N as u64;
        let part = *self.parts_of.get((addr / GRANULE) as usize)?;
        let part = self.parts.get_mut(usize::from(part))?;
        part.bytes[(addr - part.start) as usize..].first_chunk_mut()
    }

    /// The room as what [`View`](super::View) works on.
    #[cfg(target_family = "wasm")]
    #[inline]
    pub(super) fn bytes(&mut self) -> &mut super::Bytes {
        self
    }
}

fn refused(bytes: u64, cause: &str) -> MemoryError {
    MemoryError::Reserve {
        bytes,
        cause: cause.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Content that tells each address from its neighbours.
    fn mark(addr: u64) -> u8 {
        ((addr / 7) ^ (addr >> 13)) as u8
    }

    #[test]
    fn ranges_are_contiguous_and_keep_their_content() {
        let mut room = Room::new(1 << 34).expect("room");
        // Granules of 256 KiB: apart, next to each other, over each other, downwards, and up to the end.
        let ranges = [
            (0x10_0000, 0x1000),
            (0x4000_0000, 0x10_0000),
            (0x14_0000, 0x1000),
            (0xf_0000, 0x20_0000),
            (0x3fff_0000, 0x1_0000),
            (0x3ff0_0000, 0x1_0000),
            (0x3f00_0000, 0xf0_0000),
            ((1 << 34) - 0x1000, 0x1000),
        ];
        for (at, &(start, len)) in ranges.iter().enumerate() {
            room.prepare(&(start..start + len)).expect("memory");
            let fresh = room.part_mut(start, len as usize);
            for (offset, byte) in fresh.iter_mut().enumerate() {
                let wanted = mark(start + offset as u64);
                assert!(*byte == 0 || *byte == wanted, "{start:#x}+{offset:#x}");
                *byte = wanted;
            }
            for &(start, len) in &ranges[..=at] {
                let part = room.part(start, len as usize);
                assert!((start..).zip(part).all(|(addr, byte)| *byte == mark(addr)));
                let unit = room.unit::<8>((start / 8) as usize).expect("memory");
                assert_eq!(unit[3], mark(start + 3));
            }
        }
        assert!(room.unit::<8>(0x8000_0000 / 8).is_none());
        assert!(Room::new(1 << 35).is_err());
    }
}
