//! Memory of the host for compiled code: never writable and executable at the same time.

use memmap2::{Mmap, MmapMut};

/// Bytes that are asked of the host at a time.
const CHUNK: usize = 1 << 20;
/// Alignment of a unit's code in bytes.
const ALIGN: usize = 16;

/// Compiled code, at addresses that do not change.
#[derive(Default)]
pub(crate) struct Arena {
    chunks: Vec<Mmap>,
    /// Bytes in use of the last chunk.
    used: usize,
}

impl Arena {
    /// Puts code in, ready to be executed, and gives its address. `None` if the host refuses.
    pub(crate) fn put(&mut self, code: &[u8]) -> Option<*const u8> {
        let chunk = match self.chunks.pop() {
            Some(chunk) if self.used + code.len() <= chunk.len() => chunk.make_mut().ok()?,
            full => {
                self.chunks.extend(full);
                self.used = 0;
                MmapMut::map_anon(CHUNK.max(code.len())).ok()?
            }
        };
        let mut chunk = chunk;
        let place = self.used;
        chunk[place..place + code.len()].copy_from_slice(code);
        self.used = (place + code.len()).next_multiple_of(ALIGN);
        let chunk = chunk.make_exec().ok()?;
        let at = chunk[place..].as_ptr();
        self.chunks.push(chunk);
        Some(at)
    }

    /// Bytes that the host has given.
    pub(crate) fn bytes(&self) -> usize {
        self.chunks.iter().map(|chunk| chunk.len()).sum()
    }

    /// Gives everything back to the host. No code of it may run any more.
    pub(crate) fn clear(&mut self) {
        self.chunks.clear();
        self.used = 0;
    }
}
