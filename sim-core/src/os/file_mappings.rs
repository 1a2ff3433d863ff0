//! Which parts of guest memory are mappings of files.
//!
//! Files are mapped by copying them. Their pages can be thrown away (`MADV_DONTNEED`) and have the file's
//! content again, and a mapping can grow, also when the descriptor is closed and the file has no name any
//! more. So each file that is mapped is held open, once, however often it is mapped.

use std::collections::BTreeMap;
use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::sync::{Arc, Weak};

use super::errno::Errno;
use super::paths::GuestPath;
use super::ranges::{Piece, Ranges};
use super::streams::retry;
use crate::memory::Memory;

/// A file is read in pieces of this many bytes.
const PIECE_BYTES: u64 = 1 << 20;

/// A range of a file that lies somewhere in guest memory.
#[derive(Clone, Debug)]
pub(super) struct MappedFile {
    file: Arc<File>,
    /// Where the file was opened, if it has a place.
    path: Option<GuestPath>,
    offset: u64,
    /// Writes would have to reach the file, so its pages cannot become writable.
    pub is_shared: bool,
}

impl Piece for MappedFile {
    fn skip(&self, bytes: u64) -> MappedFile {
        MappedFile {
            offset: self.offset + bytes,
            ..self.clone()
        }
    }
}

impl MappedFile {
    /// What `/proc/self/maps` says of it.
    pub(super) fn name(&self) -> Vec<u8> {
        match &self.path {
            Some(path) => path.text(),
            None => b"/memfd: (deleted)".to_vec(),
        }
    }

    /// The place in the file at which it begins.
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// Copies the file to where it is mapped. Behind its end the pages stay as they are.
    pub(super) fn copy_to(&self, mem: &mut Memory, range: Range<u64>) -> Result<(), Errno> {
        let len = range.end - range.start;
        let mut buffer = vec![0; len.min(PIECE_BYTES) as usize];
        let mut done = 0;
        while done < len {
            let piece = (len - done).min(buffer.len() as u64) as usize;
            let count = retry(|| self.file.read_at(&mut buffer[..piece], self.offset + done))?;
            if count == 0 {
                break;
            }
            mem.write_bytes_forced(range.start + done, &buffer[..count])?;
            done += count as u64;
        }
        Ok(())
    }
}

/// The mappings of files, and the files that they hold open.
#[derive(Clone, Debug, Default)]
pub(super) struct FileMappings {
    pub(super) ranges: Ranges<MappedFile>,
    /// By device and number of the file. A file that is held open keeps its number.
    open: BTreeMap<(u64, u64), Weak<File>>,
}

impl FileMappings {
    /// The part of `host` from `offset` on, ready to be mapped. At most `most` files are held open for
    /// mappings: a guest could map without end where it has to close.
    ///
    /// # Errors
    /// [`Errno::ENFILE`] beyond `most` files; those of the host.
    pub(super) fn hold(
        &mut self,
        host: &File,
        path: Option<&GuestPath>,
        offset: u64,
        is_shared: bool,
        most: u64,
    ) -> Result<MappedFile, Errno> {
        let metadata = host.metadata()?;
        let key = (metadata.dev(), metadata.ino());
        let held = self.open.get(&key).and_then(Weak::upgrade);
        let file = match held {
            Some(file) => file,
            None => {
                self.open.retain(|_, file| file.strong_count() > 0);
                if self.open.len() as u64 >= most {
                    return Err(Errno::ENFILE);
                }
                let file = Arc::new(host.try_clone()?);
                self.open.insert(key, Arc::downgrade(&file));
                file
            }
        };
        Ok(MappedFile {
            file,
            path: path.cloned(),
            offset,
            is_shared,
        })
    }

    /// Gives the pages of files in `range` their content again.
    pub(super) fn restore(&self, mem: &mut Memory, range: Range<u64>) -> Result<(), Errno> {
        for (part, file) in self.ranges.within(range) {
            file.copy_to(mem, part)?;
            mem.invalidate_code();
        }
        Ok(())
    }

    /// Records that `kept` bytes at `old` lie at `target` now.
    pub(super) fn relocate(&mut self, old: u64, kept: u64, target: u64) {
        for (part, file) in self.ranges.within(old..old + kept) {
            let start = target + (part.start - old);
            self.ranges
                .insert(start..start + (part.end - part.start), file);
        }
    }

    /// Lets the mapping that ends at `end`, if one does, reach to `new_end`, where zeros lie.
    pub(super) fn extend(&mut self, mem: &mut Memory, end: u64, new_end: u64) -> Result<(), Errno> {
        let Some((range, file)) = self.ranges.ending_at(end) else {
            return Ok(());
        };
        let file = file.skip(end - range.start);
        file.copy_to(mem, end..new_end)?;
        self.ranges.insert(end..new_end, file);
        Ok(())
    }

    /// A part of `range` is a shared mapping of a file.
    pub(super) fn has_shared(&self, range: Range<u64>) -> bool {
        self.ranges
            .within(range)
            .iter()
            .any(|(_, file)| file.is_shared)
    }
}
