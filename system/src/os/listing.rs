//! Open folders: what is in them, in the order of names, because the host's order depends on the host.
//!
//! A folder's names are read when the program asks for the first of them, not when it opens the folder, and
//! only the lists that were read last are kept ([`KEPT_BYTES`]). A folder whose list is gone is read again
//! and goes on behind the last name that the program has seen. So any number of open folders takes no more
//! memory than a few of them, and that counts towards the program's memory limit.

use serde::{Deserialize, Serialize};
use std::sync::Arc;

use crate::host::sys::rustix;
use crate::host::sys::rustix::fs::{self, AtFlags};

use hps_isa::memory::Memory;

use super::Linux;
use super::abi::{FileStat, short_inode};
use super::descriptors::Kind;
use super::duplicate::DuplicateError;
use super::errno::Errno;
use super::files::{folder_target, whence};
use super::gate::DescriptorKind;
use super::kinds::{Operations, Span, Whereabouts};
use super::outcome::Outcome;
use super::paths::{Folder, GuestPath, open_to_list};
use super::procfs::MadeFolder;
use super::record::{Record, write_optional};
use super::stat::stat_of;
use crate::host::sys::fd::{AsFd, BorrowedFd};
use crate::process::Thread;

/// Lists are kept up to this much together, beside the one in use.
const KEPT_BYTES: usize = 16 << 20;
/// `DT_DIR`
const DT_DIR: u8 = 4;
/// `.` and `..`, which are told first.
const SPECIAL: [&[u8]; 2] = [b".", b".."];

/// An open folder and how far the program has read it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Listing {
    #[serde(with = "crate::checkpoint::folder")]
    folder: Folder,
    /// Stands for its list in [`Listings`].
    key: u64,
    position: usize,
    /// The last name that was told.
    last: Option<Box<[u8]>>,
    /// The names are to be read again, since the program has rewound the folder.
    stale: bool,
}

impl Listing {
    pub(super) fn folder(&self) -> &Folder {
        &self.folder
    }
}

impl Operations for Listing {
    fn role(&self, _has_place: bool) -> DescriptorKind {
        DescriptorKind::File
    }

    fn stat(&self, at: &Whereabouts) -> Result<FileStat, Errno> {
        let path = at.path.ok_or(Errno::EBADF)?;
        Ok(stat_of(&fs::fstat(&self.folder)?, path, at.is_writable))
    }

    fn on_host(&self) -> Option<BorrowedFd<'_>> {
        Some(self.folder.as_fd())
    }

    fn folder(&self) -> Result<Folder, Errno> {
        Ok(self.folder.clone())
    }

    /// At the first entry, the folder is read again.
    fn seek(&mut self, offset: i64, whence: u64) -> Result<u64, Errno> {
        self.position = folder_target(self.position, offset, whence)?;
        self.last = None;
        self.stale |= self.position == 0;
        Ok(self.position as u64)
    }

    fn duplicate(&self, _has_place: bool) -> Result<Kind, DuplicateError> {
        Ok(Kind::Directory(self.clone()))
    }

    fn read(_: &mut Linux, _: &mut Thread, mem: &mut Memory, span: &Span) -> Outcome {
        span.room(mem)?;
        Err(Errno::EISDIR.into())
    }
}

/// The names in a folder, sorted, one after the other.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Names {
    path: GuestPath,
    bytes: Vec<u8>,
    entries: Vec<Name>,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Name {
    start: u32,
    len: u16,
    /// `DT_*`
    kind: u8,
}

/// An entry of a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry<'a> {
    pub name: &'a [u8],
    pub inode: u64,
    /// `DT_*`.
    pub kind: u8,
}

impl Names {
    /// Reads a folder whose names may take up to `room` bytes.
    fn read(folder: &Folder, path: GuestPath, room: u64) -> Result<Names, Errno> {
        let mut names = Names {
            path,
            ..Names::default()
        };
        for entry in fs::Dir::new(open_to_list(folder)?)? {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if SPECIAL.contains(&name) {
                continue;
            }
            let kind = match entry.file_type() {
                fs::FileType::Unknown => {
                    match fs::statat(folder, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW) {
                        Ok(stat) => fs::FileType::from_raw_mode(stat.st_mode),
                        Err(rustix::io::Errno::NOENT) => continue,
                        Err(errno) => return Err(errno.into()),
                    }
                }
                kind => kind,
            };
            let start = u32::try_from(names.bytes.len()).map_err(|_| Errno::ENOMEM)?;
            names.bytes.extend(name);
            names.entries.push(Name {
                start,
                len: name.len() as u16,
                kind: (kind.as_raw_mode() >> 12) as u8,
            });
            if names.host_bytes() as u64 > room {
                return Err(Errno::ENOMEM);
            }
        }
        let bytes = std::mem::take(&mut names.bytes);
        names.entries.sort_by_key(|name| text(&bytes, *name));
        names.bytes = bytes;
        names.bytes.shrink_to_fit();
        names.entries.shrink_to_fit();
        Ok(names)
    }

    fn host_bytes(&self) -> usize {
        self.bytes.len() + self.entries.len() * size_of::<Name>()
    }

    fn count(&self) -> usize {
        SPECIAL.len() + self.entries.len()
    }

    fn entry(&self, position: usize) -> Option<Entry<'_>> {
        let special = |inode| Entry {
            name: SPECIAL[position],
            inode,
            kind: DT_DIR,
        };
        match position {
            0 => Some(special(self.path.inode())),
            1 => Some(special(self.path.parent().inode())),
            _ => {
                let entry = *self.entries.get(position - SPECIAL.len())?;
                let name = text(&self.bytes, entry);
                Some(Entry {
                    name,
                    inode: self
                        .path
                        .child(crate::host::sys::ffi::OsStrExt::from_bytes(name))
                        .inode(),
                    kind: entry.kind,
                })
            }
        }
    }

    /// The position behind a name, which may be gone.
    fn position_behind(&self, name: &[u8]) -> usize {
        match SPECIAL.iter().position(|special| *special == name) {
            Some(special) => special + 1,
            None => {
                SPECIAL.len()
                    + self
                        .entries
                        .partition_point(|e| text(&self.bytes, *e) <= name)
            }
        }
    }
}

fn text(bytes: &[u8], name: Name) -> &[u8] {
    &bytes[name.start as usize..][..usize::from(name.len)]
}

/// The lists that are kept, those used last first.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Listings {
    last_key: u64,
    #[serde(with = "crate::checkpoint::kept")]
    kept: Vec<(u64, Arc<Names>)>,
}

impl Listings {
    /// Begins to list a folder.
    pub(super) fn open(&mut self, folder: Folder) -> Listing {
        self.last_key += 1;
        Listing {
            folder,
            key: self.last_key,
            position: 0,
            last: None,
            stale: true,
        }
    }

    fn find(&mut self, key: u64) -> Option<Arc<Names>> {
        let at = self.kept.iter().position(|kept| kept.0 == key)?;
        self.kept[..=at].rotate_right(1);
        Some(Arc::clone(&self.kept[0].1))
    }

    fn keep(&mut self, key: u64, names: Arc<Names>) {
        self.kept.retain(|kept| kept.0 != key);
        self.kept.insert(0, (key, names));
        let mut left = KEPT_BYTES;
        let mut is_first = true;
        self.kept.retain(|(_, names)| {
            let bytes = names.host_bytes() + size_of::<Names>();
            let fits = bytes <= left;
            left = left.saturating_sub(bytes);
            std::mem::take(&mut is_first) || fits
        });
    }
}

impl Linux {
    pub(super) fn getdents64(&mut self, mem: &mut Memory, a: &[u64; 6]) -> Result<u64, Errno> {
        self.list_entries(mem, a, dirent)
    }

    /// `getdirentries` of OSF/1, which also tells where in the directory it began.
    pub(super) fn osf_getdirentries(
        &mut self,
        mem: &mut Memory,
        a: &[u64; 6],
    ) -> Result<u64, Errno> {
        let start = match &mut self.files.get_mut(a[0])?.kind {
            // `seek` would forget the last name.
            Kind::Directory(listing) => listing.position as u64,
            // Other kinds than folders have no entries either.
            kind => kind.seek(0, whence::CURRENT).unwrap_or(0),
        };
        let count = self.list_entries(mem, a, osf_dirent)?;
        write_optional(mem, a[3], &start.to_le_bytes())?;
        Ok(count)
    }

    /// Fills a buffer with the next entries of a directory, each as `encode` has it.
    fn list_entries(
        &mut self,
        mem: &mut Memory,
        a: &[u64; 6],
        encode: fn(&Entry, u64) -> Vec<u8>,
    ) -> Result<u64, Errno> {
        let [fd, buffer, size, ..] = *a;
        self.refresh_folder(fd);
        if let Kind::MadeFolder(folder) = &mut self.files.get_mut(fd)?.kind {
            return list_made(folder, mem, buffer, size, encode);
        }
        let names = self.names(fd, mem.limit_bytes().saturating_sub(mem.mapped_bytes()))?;
        let Kind::Directory(listing) = &mut self.files.get_mut(fd)?.kind else {
            return Err(Errno::ENOTDIR);
        };
        let mut bytes = Vec::new();
        let mut position = listing.position;
        let mut last = None;
        while let Some(entry) = names.entry(position) {
            let record = encode(&entry, position as u64 + 1);
            if (bytes.len() + record.len()) as u64 > u64::from(size as u32) {
                break;
            }
            bytes.extend(record);
            position += 1;
            last = Some(entry.name);
        }
        if bytes.is_empty() && position < names.count() {
            return Err(Errno::EINVAL);
        }
        mem.write_bytes(buffer, &bytes)?;
        listing.position = position;
        if let Some(name) = last {
            listing.last = Some(name.into());
        }
        Ok(bytes.len() as u64)
    }

    /// The names in an open folder, read if they are not kept; they may take `room` bytes.
    fn names(&mut self, fd: u64, room: u64) -> Result<Arc<Names>, Errno> {
        let Kind::Directory(listing) = &mut self.files.get_mut(fd)?.kind else {
            return Err(Errno::ENOTDIR);
        };
        let known = self.run.listings.find(listing.key);
        if let Some(names) = known
            && !listing.stale
        {
            return Ok(names);
        }
        let root = self.tree.root.as_ref().ok_or(Errno::ENOENT)?;
        let path = root
            .current_path(&listing.folder)
            .or_else(|errno| match errno {
                Errno::ENAMETOOLONG => root.path_of(&listing.folder),
                other => Err(other),
            })?;
        if let Some(scratch) = root.scratch() {
            scratch.complete(&listing.folder)?;
        }
        let names = Arc::new(Names::read(&listing.folder, path, room)?);
        if let Some(last) = &listing.last {
            listing.position = names.position_behind(last);
        }
        listing.stale = false;
        self.run.listings.keep(listing.key, Arc::clone(&names));
        Ok(names)
    }
}

/// Fills a buffer with the next entries of a made-up folder.
fn list_made(
    folder: &mut MadeFolder,
    mem: &mut Memory,
    buffer: u64,
    size: u64,
    encode: fn(&Entry, u64) -> Vec<u8>,
) -> Result<u64, Errno> {
    let mut bytes = Vec::new();
    let is_left = folder.list(|entry, position| {
        let record = encode(entry, position as u64 + 1);
        let fits = (bytes.len() + record.len()) as u64 <= u64::from(size as u32);
        if fits {
            bytes.extend(record);
        }
        fits
    });
    if bytes.is_empty() && is_left {
        return Err(Errno::EINVAL);
    }
    mem.write_bytes(buffer, &bytes)?;
    Ok(bytes.len() as u64)
}

/// `struct linux_dirent64`.
fn dirent(entry: &Entry, next: u64) -> Vec<u8> {
    const NAME_OFFSET: usize = 19;
    let name = entry.name;
    let len = (NAME_OFFSET + name.len() + 1).next_multiple_of(8);
    let head = Record::new().u64(entry.inode).u64(next).u16(len as u16);
    head.bytes(&[entry.kind]).bytes(name).pad_to(len).done()
}

/// `struct dirent` of OSF/1: 32 bits of the file's number, the lengths of the record and of the name,
/// the name.
fn osf_dirent(entry: &Entry, _: u64) -> Vec<u8> {
    const NAME_OFFSET: usize = 8;
    let name = entry.name;
    let len = (NAME_OFFSET + name.len() + 1).next_multiple_of(4);
    let head = Record::new()
        .u32(short_inode(entry.inode))
        .u16(len as u16)
        .u16(name.len() as u16);
    head.bytes(name).pad_to(len).done()
}
