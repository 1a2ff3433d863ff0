//! Which parts of guest memory are mappings of files.
//!
//! Files are mapped by copying them. Their pages can be thrown away (`MADV_DONTNEED`) and have the file's
//! content again, and a mapping can grow, also when the descriptor is closed and the file has no name any
//! more. So each file that is mapped is held open, once, however often it is mapped.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::File;
use std::ops::Range;
use std::sync::{Arc, Weak};

use crate::host::sys::unix_fs::{FileExt, MetadataExt};

use hps_isa::memory::{Memory, Mirror, Perm};

use super::errno::Errno;
use super::paths::GuestPath;
use super::ranges::{Piece, Ranges};
use super::shared_names::SharedNames;
use super::streams::retry;
use crate::symbols::Recorder;

/// A file is read in pieces of this many bytes.
const PIECE_BYTES: u64 = 1 << 20;

/// A range of a file that lies somewhere in guest memory.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct MappedFile {
    #[serde(with = "crate::checkpoint::held")]
    file: Arc<File>,
    /// Where the file was opened, if it has a place.
    path: Option<GuestPath>,
    offset: u64,
    /// Stores here are for others, too.
    pub is_shared: bool,
    /// Changes of the file are seen: it is shared, or private and has never been writable.
    pub shows_file: bool,
    /// Shared, and the file is open for writing: what is written in memory reaches the file.
    pub writes: bool,
    /// Device and number of the file.
    #[serde(with = "crate::checkpoint::identity")]
    pub identity: (u64, u64),
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
    /// Name of the file in `/proc/self/maps`.
    pub(super) fn name(&self) -> Vec<u8> {
        match &self.path {
            Some(path) => path.text(),
            None => b"/memfd: (deleted)".to_vec(),
        }
    }

    /// Whether others can open it.
    pub(super) fn has_place(&self) -> bool {
        self.path.is_some()
    }

    /// Whether the guest has it in memory.
    pub(super) fn is_in_memory(&self, names: &SharedNames) -> bool {
        !self.has_place() || names.may_hold(&self.file)
    }

    pub(super) fn host(&self) -> &File {
        &self.file
    }

    /// Bytes in the file.
    pub(super) fn size(&self) -> Result<u64, Errno> {
        Ok(self.file.metadata()?.len())
    }

    /// The place in the file at which it begins.
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// Lets the pages of the mapping end where a file of `size` bytes does, which had `before` bytes when this was done
    /// last.
    fn fit(
        &self,
        mem: &mut Memory,
        range: Range<u64>,
        page_bytes: u64,
        (before, size): (u64, u64),
    ) -> Result<(), Errno> {
        let len = range.end - range.start;
        let bytes = size.saturating_sub(self.offset).min(len);
        // The length is one of whole pages.
        let end = range.start + bytes.next_multiple_of(page_bytes).min(len);
        if range.start < end {
            for part in mem.give_back(range.start..end) {
                self.skip(part.start - range.start).copy_to(mem, part)?;
            }
        }
        if self.shows_file && size < before && bytes > 0 {
            // The rest of the last page is not the file's any more.
            let rest = range.start + bytes..end;
            let zeros = vec![0; (rest.end - rest.start) as usize];
            mem.write_bytes_forced(rest.start, &zeros)?;
        }
        mem.withhold(end..range.end);
        Ok(())
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
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct FileMappings {
    pub(super) ranges: Ranges<MappedFile>,
    /// Shared mappings of no file.
    pub(super) anonymous: Ranges<()>,
    /// Ranges that children do not have (`MADV_DONTFORK`).
    pub(super) kept_from_children: Ranges<()>,
    /// Ranges that children have as zeros (`MADV_WIPEONFORK`).
    pub(super) wiped_in_children: Ranges<()>,
    /// By device and number of the file, and whether it can be written. A file that is held open keeps its
    /// number.
    #[serde(skip)]
    open: BTreeMap<((u64, u64), bool), Weak<File>>,
    /// How many bytes the files had when their mappings were fitted last.
    #[serde(with = "crate::checkpoint::identities")]
    sizes: BTreeMap<(u64, u64), u64>,
    /// Records which files have code in memory.
    pub(super) code: Recorder,
}

impl FileMappings {
    /// No mappings yet, of a program whose code is recorded there.
    pub(super) fn recorded(code: Recorder) -> FileMappings {
        FileMappings {
            code,
            ..FileMappings::default()
        }
    }

    /// Knows the files that are held open again, after the mappings were read from a checkpoint.
    pub(super) fn find_open(&mut self) {
        for (_, file) in self.ranges.within(0..u64::MAX) {
            let key = (file.identity, file.writes);
            self.open.insert(key, Arc::downgrade(&file.file));
        }
    }

    /// Records the files in a range in which code can be run from now on.
    pub(super) fn record_code(&self, range: Range<u64>) {
        for (part, file) in self.ranges.within(range) {
            self.record(part, &file);
        }
    }

    fn record(&self, range: Range<u64>, file: &MappedFile) {
        let place = (file.name(), &*file.file);
        self.code.add(range, file.offset, file.identity, place);
    }

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
        (is_shared, writes): (bool, bool),
        most: u64,
    ) -> Result<MappedFile, Errno> {
        let identity = identity(host)?;
        let key = (identity, writes);
        let held = self.open.get(&key).and_then(Weak::upgrade);
        let file = match held {
            Some(file) => file,
            None => {
                self.open.retain(|_, file| file.strong_count() > 0);
                if self.open.len() as u64 >= most {
                    return Err(Errno::ENFILE);
                }
                let open = &self.open;
                self.sizes.retain(|file, _| {
                    open.contains_key(&(*file, false)) || open.contains_key(&(*file, true))
                });
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
            shows_file: is_shared,
            writes,
            identity,
        })
    }

    /// Records that a file lies at `range`, where its content is, and takes away the pages behind its end.
    pub(super) fn place(
        &mut self,
        mem: &mut Memory,
        page_bytes: u64,
        range: Range<u64>,
        file: MappedFile,
    ) -> Result<(), Errno> {
        let (identity, size) = (file.identity, file.size()?);
        file.fit(mem, range.clone(), page_bytes, (size, size))?;
        let perm = mem.permissions(range.start);
        if perm.is_some_and(|perm| perm.contains(Perm::X)) {
            self.record(range.clone(), &file);
        }
        self.ranges.insert(range, file);
        self.fit(mem, page_bytes, Some(identity))
    }

    /// Lets the mappings of a file, or of all, end where the files do now: takes away pages behind an end, and gives
    /// back those that lie before it again. Each access to a page that was taken away faults, and leads to SIGBUS.
    pub(super) fn fit(
        &mut self,
        mem: &mut Memory,
        page_bytes: u64,
        identity: Option<(u64, u64)>,
    ) -> Result<(), Errno> {
        let mut sizes = BTreeMap::new();
        for (range, file) in self.ranges.within(0..u64::MAX) {
            if identity.is_some_and(|one| one != file.identity) {
                continue;
            }
            let size = match sizes.get(&file.identity) {
                Some(size) => *size,
                None => file.size()?,
            };
            sizes.insert(file.identity, size);
            let before = self.sizes.get(&file.identity).copied();
            if before != Some(size) {
                let sizes = (before.unwrap_or(size), size);
                file.fit(mem, range, page_bytes, sizes)?;
            }
        }
        self.sizes.append(&mut sizes);
        Ok(())
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
    pub(super) fn relocate(
        &mut self,
        mem: &mut Memory,
        page_bytes: u64,
        (old, kept): (u64, u64),
        target: u64,
    ) -> Result<(), Errno> {
        for (part, file) in self.ranges.within(old..old + kept) {
            let start = target + (part.start - old);
            let range = start..start + (part.end - part.start);
            self.place(mem, page_bytes, range, file)?;
        }
        for marks in [
            &mut self.anonymous,
            &mut self.kept_from_children,
            &mut self.wiped_in_children,
        ] {
            for (part, ()) in marks.within(old..old + kept) {
                let start = target + (part.start - old);
                marks.insert(start..start + (part.end - part.start), ());
            }
        }
        Ok(())
    }

    /// Forgets what was known of a range.
    pub(super) fn forget(&mut self, range: &Range<u64>) {
        self.ranges.remove(range.clone());
        self.anonymous.remove(range.clone());
        self.kept_from_children.remove(range.clone());
        self.wiped_in_children.remove(range.clone());
    }

    /// Makes these the mappings of a child, and its memory what advice says of it.
    pub(super) fn inherit(&mut self, mem: &mut Memory) -> Result<(), Errno> {
        for (range, ()) in self.kept_from_children.within(0..u64::MAX) {
            mem.unmap(range.start, range.end - range.start)?;
            self.forget(&range);
        }
        for (range, ()) in self.wiped_in_children.within(0..u64::MAX) {
            mem.discard(range.start, range.end - range.start)?;
        }
        Ok(())
    }

    /// Lets the mapping that ends at `end`, if one does, reach to `new_end`, where zeros lie.
    pub(super) fn extend(
        &mut self,
        mem: &mut Memory,
        page_bytes: u64,
        end: u64,
        new_end: u64,
    ) -> Result<(), Errno> {
        if let Some((range, ())) = self.anonymous.ending_at(end) {
            self.anonymous.insert(range.start..new_end, ());
        }
        let Some((range, file)) = self.ranges.ending_at(end) else {
            return Ok(());
        };
        let file = file.skip(end - range.start);
        file.copy_to(mem, end..new_end)?;
        self.place(mem, page_bytes, end..new_end, file)
    }

    /// A part of `range` is a shared mapping of a file that is not open for writing.
    pub(super) fn has_read_only(&self, range: Range<u64>) -> bool {
        self.ranges
            .within(range)
            .iter()
            .any(|(_, file)| file.is_shared && !file.writes)
    }

    /// Where shared mappings lie that reach their files.
    pub(super) fn writers(&self) -> Vec<Range<u64>> {
        let all = self.ranges.within(0..u64::MAX).into_iter();
        all.filter_map(|(range, file)| file.writes.then_some(range))
            .collect()
    }

    /// Private mappings in `range` can be written from now on, and keep the content that they have.
    pub(super) fn keep_content(&mut self, range: Range<u64>) {
        for (part, mut file) in self.ranges.within(range) {
            if file.shows_file && !file.is_shared {
                file.shows_file = false;
                self.ranges.insert(part, file);
            }
        }
    }

    /// Which mappings show the same places of files as others whose writes reach the file.
    pub(super) fn mirrors(&self) -> Vec<Mirror> {
        /// With more mappings than that, they agree behind calls alone.
        const MOST: usize = 256;
        let all = self.ranges.within(0..u64::MAX);
        let shown: Vec<_> = all.iter().filter(|(_, file)| file.shows_file).collect();
        if shown.len() > MOST {
            return Vec::new();
        }
        let mut mirrors = Vec::new();
        for (from, source) in shown.iter().filter(|(_, file)| file.writes) {
            for (to, image) in &shown {
                if image.identity != source.identity || from == to {
                    continue;
                }
                // The places of the file that both show.
                let start = source.offset.max(image.offset);
                let end = (source.offset + (from.end - from.start))
                    .min(image.offset + (to.end - to.start));
                if start < end {
                    let at = from.start + (start - source.offset);
                    mirrors.push(Mirror {
                        from: at..at + (end - start),
                        to: to.start + (start - image.offset),
                    });
                }
            }
        }
        mirrors
    }

    /// The file behind an address in shared memory, and the place in it.
    pub(super) fn shared_place(&self, addr: u64) -> Option<((u64, u64), u64)> {
        let (range, file) = self.ranges.within(addr..addr + 1).into_iter().next()?;
        let place = file.offset + (addr - range.start);
        file.is_shared.then_some((file.identity, place))
    }

    /// The addresses at which a place of a file lies in shared memory.
    pub(super) fn addresses_of(&self, identity: (u64, u64), place: u64) -> Vec<u64> {
        let all = self.ranges.within(0..u64::MAX).into_iter();
        all.filter(|(_, file)| file.is_shared && file.identity == identity)
            .filter_map(|(range, file)| {
                let at = range.start + place.checked_sub(file.offset)?;
                range.contains(&at).then_some(at)
            })
            .collect()
    }

    /// Whether a file is mapped.
    pub(super) fn holds(&self, identity: (u64, u64)) -> bool {
        let all = self.ranges.within(0..u64::MAX);
        all.iter().any(|(_, file)| file.identity == identity)
    }

    /// The files in memory that are mapped or held for mappings.
    pub(super) fn files_in_memory(&self, names: &SharedNames) -> Vec<Arc<File>> {
        let all = self.ranges.within(0..u64::MAX).into_iter();
        let in_memory = all.filter(|(_, file)| file.is_in_memory(names));
        in_memory.map(|(_, mapped)| mapped.file).collect()
    }

    /// There are mappings of files.
    pub(super) fn has_files(&self) -> bool {
        self.ranges.any(|_| true)
    }

    /// There are mappings that show what files have now.
    pub(super) fn has_shown(&self) -> bool {
        self.ranges.any(|file| file.shows_file)
    }

    /// There are shared mappings.
    pub(super) fn has_shared(&self) -> bool {
        self.ranges.any(|file| file.is_shared)
    }

    /// The same mappings, whose writes reach no file any more.
    pub(super) fn detached(&self) -> FileMappings {
        let mut copy = self.clone();
        copy.ranges.for_each(|file| file.writes = false);
        copy
    }

    /// Gives the mappings that show a file what it has in `span` now, except the one at `except`.
    pub(super) fn refresh(
        &self,
        mem: &mut Memory,
        identity: (u64, u64),
        span: Range<u64>,
        except: u64,
    ) -> Result<(), Errno> {
        for (range, file) in self.ranges.within(0..u64::MAX) {
            let start = span.start.max(file.offset);
            let end = span.end.min(file.offset + (range.end - range.start));
            if !file.shows_file || file.identity != identity || start >= end {
                continue;
            }
            let at = range.start + (start - file.offset);
            if at != except {
                let part = file.skip(start - file.offset);
                part.copy_to(mem, at..at + (end - start))?;
                mem.invalidate_code();
            }
        }
        Ok(())
    }
}

/// Device and number of a file of the host.
pub(super) fn identity(host: &File) -> Result<(u64, u64), Errno> {
    let metadata = host.metadata()?;
    Ok((metadata.dev(), metadata.ino()))
}
