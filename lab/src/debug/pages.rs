//! Chunks of checkpoints in memory: each is kept once, for as long as a checkpoint refers to it.

use std::hash::Hasher;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hps_isa::chunks::Chunks;
use rustc_hash::{FxHashMap, FxHasher};

/// A chunk, and how many checkpoints refer to it.
struct Chunk {
    bytes: Box<[u8]>,
    hash: u64,
    users: u32,
}

#[derive(Default)]
struct Inner {
    chunks: FxHashMap<u64, Chunk>,
    /// Numbers of the chunks with a hash.
    by_hash: FxHashMap<u64, Vec<u64>>,
    last: u64,
    bytes: u64,
}

/// Chunks that several checkpoints share.
#[derive(Clone, Default)]
pub(super) struct Pages(Arc<Mutex<Inner>>);

impl Pages {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Bytes of all chunks.
    pub(super) fn bytes(&self) -> u64 {
        self.inner().bytes
    }

    /// Lends the chunks for a checkpoint that is written or read.
    pub(super) fn lend(&self) -> Lent {
        Lent {
            pages: self.clone(),
            used: Vec::new(),
        }
    }

    /// A checkpoint is given up that has referred to these chunks, each as often as it was put.
    pub(super) fn release(&self, used: &[u64]) {
        let inner = &mut *self.inner();
        for number in used {
            let Some(chunk) = inner.chunks.get_mut(number) else {
                continue;
            };
            chunk.users -= 1;
            if chunk.users > 0 {
                continue;
            }
            inner.bytes -= chunk.bytes.len() as u64;
            let hash = chunk.hash;
            inner.chunks.remove(number);
            if let Some(same) = inner.by_hash.get_mut(&hash) {
                same.retain(|other| other != number);
                if same.is_empty() {
                    inner.by_hash.remove(&hash);
                }
            }
        }
    }
}

/// The chunks, and the numbers of those that were put.
pub(super) struct Lent {
    pages: Pages,
    pub(super) used: Vec<u64>,
}

impl Chunks for Lent {
    fn put(&mut self, bytes: &[u8]) -> io::Result<u64> {
        let mut hasher = FxHasher::default();
        hasher.write(bytes);
        let hash = hasher.finish();
        let inner = &mut *self.pages.inner();
        let same = inner.by_hash.entry(hash).or_default();
        let known = same
            .iter()
            .find(|number| *inner.chunks[*number].bytes == *bytes);
        let number = match known {
            Some(&number) => number,
            None => {
                inner.last += 1;
                same.push(inner.last);
                inner.bytes += bytes.len() as u64;
                let chunk = Chunk {
                    bytes: bytes.into(),
                    hash,
                    users: 0,
                };
                inner.chunks.insert(inner.last, chunk);
                inner.last
            }
        };
        if let Some(chunk) = inner.chunks.get_mut(&number) {
            chunk.users += 1;
        }
        self.used.push(number);
        Ok(number)
    }

    fn get(&mut self, number: u64, into: &mut Vec<u8>) -> io::Result<()> {
        let inner = self.pages.inner();
        let chunk = inner.chunks.get(&number);
        let chunk = chunk.ok_or(io::ErrorKind::InvalidData)?;
        into.extend_from_slice(&chunk.bytes);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_kept_once_and_as_long_as_they_are_used() {
        let pages = Pages::default();
        let (mut first, mut second) = (pages.lend(), pages.lend());
        let one = first.put(&[1; 4096]).unwrap();
        assert_eq!(second.put(&[1; 4096]).unwrap(), one);
        let two = second.put(&[2; 100]).unwrap();
        assert_eq!(pages.bytes(), 4196);
        pages.release(&second.used);
        assert_eq!(pages.bytes(), 4096);
        assert!(pages.lend().get(two, &mut Vec::new()).is_err());
        let mut bytes = Vec::new();
        pages.lend().get(one, &mut bytes).unwrap();
        assert_eq!(bytes, [1; 4096]);
        pages.release(&first.used);
        assert_eq!(pages.bytes(), 0);
    }
}
