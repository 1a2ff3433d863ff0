//! Structures in guest memory, built and read field by field (little-endian).

use hps_isa::bus::MemFault;
use hps_isa::memory::Memory;

/// A structure under construction.
#[derive(Clone, Debug, Default)]
pub(super) struct Record(Vec<u8>);

impl Record {
    pub(super) fn new() -> Record {
        Record::default()
    }

    pub(super) fn u16(mut self, value: u16) -> Self {
        self.0.extend(value.to_le_bytes());
        self
    }

    pub(super) fn u32(mut self, value: u32) -> Self {
        self.0.extend(value.to_le_bytes());
        self
    }

    pub(super) fn u64(mut self, value: u64) -> Self {
        self.0.extend(value.to_le_bytes());
        self
    }

    pub(super) fn bytes(mut self, value: &[u8]) -> Self {
        self.0.extend(value);
        self
    }

    /// Zeros up to offset `offset`.
    pub(super) fn pad_to(mut self, offset: usize) -> Self {
        self.0.resize(self.0.len().max(offset), 0);
        self
    }

    pub(super) fn done(self) -> Vec<u8> {
        self.0
    }
}

/// Writes a structure; a null address means that the caller does not want it.
pub(super) fn write_optional(mem: &mut Memory, addr: u64, bytes: &[u8]) -> Result<(), MemFault> {
    if addr == 0 {
        Ok(())
    } else {
        mem.write_bytes(addr, bytes)
    }
}

/// Reads consecutive 64-bit words.
pub(super) fn read_words<const N: usize>(mem: &Memory, addr: u64) -> Result<[u64; N], MemFault> {
    let bytes = mem.readable(addr, N as u64 * 8)?;
    let mut words = [0; N];
    for (word, chunk) in words.iter_mut().zip(bytes.as_chunks::<8>().0) {
        *word = u64::from_le_bytes(*chunk);
    }
    Ok(words)
}
