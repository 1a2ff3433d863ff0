//! Open files of the host in a checkpoint: a table, in which state names them by number.
//!
//! A file under the run's root folder is kept by its path, and by its length and hash if the root stays as it is. A file in
//! memory, or one without a name any more, is kept with its content. If programs work on a copy of the root, the copy is
//! kept as far as it differs from the original.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustc_hash::FxHashMap;
use rustix::fs::{self, FileType, MemfdFlags, Mode, OFlags, SealFlags, Stat};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::CheckpointError;
use super::session::{Loading, Saving};
use crate::image::hex;
use crate::os::{FileRoot, SavedCopy};

type Identity = (u64, u64);

/// Hashes of files by device, number, length and time of the last change.
#[derive(Debug, Default)]
pub struct Digests(FxHashMap<(Identity, i64, (i64, u64)), String>);

/// Bytes in chunks of the store.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Written {
    pub len: u64,
    pub chunks: Vec<u64>,
}

/// The content of a file: its parts that are no holes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct FileContent {
    len: u64,
    parts: Vec<(u64, Written)>,
}

/// Bytes of a part of a content at most.
const PART_BYTES: u64 = 1 << 20;

impl FileContent {
    /// Puts the content of a file into the store.
    pub(crate) fn of(
        file: &File,
        put: &mut dyn FnMut(&[u8]) -> Result<Written, CheckpointError>,
    ) -> Result<FileContent, CheckpointError> {
        let len = file.metadata()?.len();
        let mut parts = Vec::new();
        let mut at = 0;
        // A file system that knows no holes says that all is data.
        while let Ok(start) = fs::seek(file, fs::SeekFrom::Data(at)) {
            let hole = fs::seek(file, fs::SeekFrom::Hole(start));
            let end = hole.unwrap_or(len).min(start + PART_BYTES);
            let mut bytes = vec![0; (end - start) as usize];
            file.read_exact_at(&mut bytes, start)?;
            parts.push((start, put(&bytes)?));
            at = end;
        }
        Ok(FileContent { len, parts })
    }

    /// Writes the content into an empty file.
    pub(crate) fn write(
        &self,
        file: &File,
        get: &mut dyn FnMut(&Written) -> Result<Vec<u8>, CheckpointError>,
    ) -> Result<(), CheckpointError> {
        file.set_len(self.len)?;
        for (start, part) in &self.parts {
            file.write_all_at(&get(part)?, *start)?;
        }
        Ok(())
    }
}

/// An open file.
#[derive(Serialize, Deserialize)]
struct SavedFile {
    place: Place,
    /// How it was opened: `O_*`.
    flags: u32,
    position: u64,
}

#[derive(Serialize, Deserialize)]
enum Place {
    /// A file, a folder or a link under the root.
    UnderRoot {
        /// Path as the host writes it.
        path: Vec<u8>,
        identity: Identity,
        /// Length in bytes and SHA-256, of a file that nobody changes.
        content: Option<(u64, String)>,
        /// The name by which it was opened, if that is gone.
        opened_as: Option<Vec<u8>>,
    },
    /// A place in the table of contents.
    Content(usize),
}

/// A file that is kept with its content, or a folder that has been removed.
#[derive(Serialize, Deserialize)]
struct Content {
    identity: Identity,
    mode: u32,
    /// The path that it had under the root; empty if it never had one.
    path: Option<Vec<u8>>,
    /// Seals of a file in memory.
    seals: Option<u32>,
    /// `None`: a folder.
    bytes: Option<FileContent>,
}

/// Record of the host's files in a checkpoint.
#[derive(Serialize, Deserialize)]
struct Table {
    /// Number of the root folder.
    root: Option<Identity>,
    files: Vec<SavedFile>,
    contents: Vec<Content>,
    copy: Option<SavedCopy>,
}

/// The table while it is written.
pub(super) struct SavedFiles {
    root: Option<FileRoot>,
    table: Table,
    /// Numbers in the table by descriptor of the host.
    known: FxHashMap<i32, u32>,
    digests: Digests,
}

impl SavedFiles {
    pub fn new(root: Option<&FileRoot>, digests: Digests) -> SavedFiles {
        SavedFiles {
            root: root.cloned(),
            table: Table {
                root: None,
                files: Vec::new(),
                contents: Vec::new(),
                copy: None,
            },
            known: FxHashMap::default(),
            digests,
        }
    }

    pub fn into_digests(self) -> Digests {
        self.digests
    }

    /// The table as bytes, with the copy of the root that programs work on.
    pub fn finish(saving: &mut Saving) -> Result<Vec<u8>, CheckpointError> {
        if let Some(root) = saving.files.root.clone() {
            let stat = fs::fstat(&*root.first()).map_err(std::io::Error::from)?;
            saving.files.table.root = Some(identity(&stat));
            saving.files.table.copy = root.save_copy(&mut |bytes| saving.put(bytes))?;
        }
        postcard::to_extend(&saving.files.table, Vec::new()).map_err(|cause| {
            CheckpointError::NotKept {
                what: cause.to_string(),
            }
        })
    }
}

fn identity(stat: &Stat) -> Identity {
    (stat.st_dev, stat.st_ino)
}

impl Saving {
    /// The number of an open file in the table.
    pub fn file(&mut self, fd: BorrowedFd<'_>) -> Result<u32, CheckpointError> {
        if let Some(&number) = self.files.known.get(&fd.as_raw_fd()) {
            return Ok(number);
        }
        let flags = fs::fcntl_getfl(fd).map_err(std::io::Error::from)?;
        let stat = fs::fstat(fd).map_err(std::io::Error::from)?;
        let kind = FileType::from_raw_mode(stat.st_mode);
        let is_open = kind == FileType::RegularFile && !flags.contains(OFlags::PATH);
        let name = self.name_under_root(fd);
        let place = match self.path_under_root(name.as_deref(), &stat)? {
            Some(path) => {
                let root = self.files.root.as_ref();
                let is_fixed = is_open && root.is_some_and(|root| !root.is_copy());
                let content = match is_fixed {
                    true => Some((stat.st_size as u64, self.digest(fd, &stat)?)),
                    false => None,
                };
                Place::UnderRoot {
                    opened_as: name.filter(|name| *name != path).map(as_removed),
                    path: path.into_os_string().into_vec(),
                    identity: identity(&stat),
                    content,
                }
            }
            None if kind == FileType::RegularFile || has_gone(&stat) => {
                Place::Content(self.content(fd, &stat, name)?)
            }
            None => {
                let what = format!(
                    "it has a folder or a special file open that is no part of its root ({})",
                    name_of(fd).display()
                );
                return Err(CheckpointError::NotKept { what });
            }
        };
        let position = match is_open {
            true => fs::tell(fd).map_err(std::io::Error::from)?,
            false => 0,
        };
        let mut kept = OFlags::ACCMODE | OFlags::APPEND | OFlags::PATH;
        kept.set(OFlags::DIRECTORY, kind == FileType::Directory);
        let number = self.files.table.files.len() as u32;
        self.files.table.files.push(SavedFile {
            place,
            flags: (flags & kept).bits(),
            position,
        });
        self.files.known.insert(fd.as_raw_fd(), number);
        Ok(number)
    }

    /// The name that a file was opened by, below the root; ` (deleted)` behind it says that it is gone.
    fn name_under_root(&self, fd: BorrowedFd<'_>) -> Option<PathBuf> {
        let root = name_of(self.files.root.as_ref()?.first().as_fd());
        name_of(fd).strip_prefix(root).ok().map(Path::to_owned)
    }

    /// The path of a file below the root, if it has one.
    fn path_under_root(
        &self,
        name: Option<&Path>,
        stat: &Stat,
    ) -> Result<Option<PathBuf>, CheckpointError> {
        let Some(root) = &self.files.root else {
            return Ok(None);
        };
        if stat.st_nlink == 0 {
            return Ok(None);
        }
        if let Some(path) = name {
            let found = root.open_beneath(path, OFlags::PATH);
            let found = found.and_then(|found| Ok(fs::fstat(found)?));
            if found.is_ok_and(|found| identity(&found) == identity(stat)) {
                return Ok(Some(path.to_owned()));
            }
        }
        // The name by which it was opened is gone, and it may have another one.
        root.path_in_copy(identity(stat))
    }

    /// The hash of a file, which is read once as long as it stays the same.
    fn digest(&mut self, fd: BorrowedFd<'_>, stat: &Stat) -> Result<String, CheckpointError> {
        let changed = (stat.st_mtime, stat.st_mtime_nsec);
        let key = (identity(stat), stat.st_size, changed);
        if let Some(known) = self.files.digests.0.get(&key) {
            return Ok(known.clone());
        }
        let digest = hex(&Sha256::digest(content_of(fd)?));
        self.files.digests.0.insert(key, digest.clone());
        Ok(digest)
    }

    fn content(
        &mut self,
        fd: BorrowedFd<'_>,
        stat: &Stat,
        name: Option<PathBuf>,
    ) -> Result<usize, CheckpointError> {
        let number = identity(stat);
        let known = self.files.table.contents.iter();
        if let Some(at) = known.into_iter().position(|known| known.identity == number) {
            return Ok(at);
        }
        let bytes = match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => None,
            _ => Some(FileContent::of(&again(fd)?, &mut |bytes| self.put(bytes))?),
        };
        self.files.table.contents.push(Content {
            identity: number,
            path: name.map(as_removed),
            mode: stat.st_mode & 0o7777,
            seals: fs::fcntl_get_seals(fd).ok().map(|seals| seals.bits()),
            bytes,
        });
        Ok(self.files.table.contents.len() - 1)
    }
}

/// Whether a file or a folder has no name any more.
fn has_gone(stat: &Stat) -> bool {
    let kind = FileType::from_raw_mode(stat.st_mode);
    stat.st_nlink == 0 && matches!(kind, FileType::Directory | FileType::RegularFile)
}

/// The name that the host tells of a file that has none any more; empty for one that never had a name.
fn as_removed(name: PathBuf) -> Vec<u8> {
    let name = name.into_os_string().into_vec();
    let name = name.strip_suffix(b" (deleted)").unwrap_or(&name);
    match name.rsplit(|&byte| byte == b'/').next() {
        Some([b'#', ..]) => Vec::new(),
        _ => name.to_vec(),
    }
}

/// Where a descriptor of the host leads, as the host tells it.
fn name_of(fd: BorrowedFd<'_>) -> PathBuf {
    let link = format!("/proc/self/fd/{}", fd.as_raw_fd());
    std::fs::read_link(link).unwrap_or_default()
}

/// All bytes of a file, also of one that is open for writing alone.
fn content_of(fd: BorrowedFd<'_>) -> Result<Vec<u8>, CheckpointError> {
    Ok(crate::host::read_to_end(again(fd)?, u64::MAX - 1)?)
}

/// Opens a file once more, to read it from its beginning.
fn again(fd: BorrowedFd<'_>) -> Result<File, CheckpointError> {
    Ok(File::open(format!("/proc/self/fd/{}", fd.as_raw_fd()))?)
}

/// Files of a checkpoint, open again.
#[derive(Default)]
pub(super) struct Reopened {
    files: Vec<Arc<File>>,
    /// Numbers of files by those that they had.
    identities: FxHashMap<Identity, Identity>,
}

impl Reopened {
    /// Opens the files of a table, and makes those that the checkpoint has the content of.
    pub fn open(loading: &mut Loading, table: &[u8]) -> Result<(), CheckpointError> {
        let table: Table =
            postcard::from_bytes(table).map_err(|cause| CheckpointError::Damaged {
                what: format!("its table of files: {cause}"),
            })?;
        let mut files = Reopened::default();
        let root = loading.base.root.clone();
        match (&root, table.root) {
            (Some(root), Some(before)) => {
                let stat = fs::fstat(&*root.first()).map_err(std::io::Error::from)?;
                files.identities.insert(before, identity(&stat));
            }
            (None, None) => {}
            (None, Some(_)) => return Err(changed("the run has a root folder; give --root")),
            (Some(_), None) => return Err(changed("the run has no root folder")),
        }
        if let (Some(root), Some(copy)) = (&root, &table.copy) {
            let numbers = root.restore_copy(copy, &mut |written| loading.get(written))?;
            files.identities.extend(numbers);
        }
        let contents = table.contents.iter().map(|content| {
            let made = make(content, root.as_ref(), loading)?;
            let stat = fs::fstat(&made).map_err(std::io::Error::from)?;
            files.identities.insert(content.identity, identity(&stat));
            Ok(made)
        });
        let contents: Vec<File> = contents.collect::<Result<_, CheckpointError>>()?;
        for saved in &table.files {
            let file = saved.open(root.as_ref(), &contents, &mut files.identities)?;
            files.files.push(Arc::new(file));
        }
        loading.files = files;
        Ok(())
    }

    /// The number of a file that had this one. Files that no checkpoint knows have kept theirs.
    pub fn identity(&self, before: Identity) -> Identity {
        self.identities.get(&before).copied().unwrap_or(before)
    }

    pub fn file(&self, number: u32) -> Option<Arc<File>> {
        self.files.get(number as usize).cloned()
    }

    /// The device of files that had this one.
    pub fn device(&self, before: u64) -> u64 {
        let mut known = self.identities.iter();
        let known = known.find(|((device, _), _)| *device == before);
        known.map_or(before, |(_, now)| now.0)
    }
}

fn changed(what: impl Into<String>) -> CheckpointError {
    CheckpointError::Changed { what: what.into() }
}

/// A file with this content, in memory; or in the copy of the root, with the name that it had until that is removed again.
fn make(
    content: &Content,
    root: Option<&FileRoot>,
    loading: &mut Loading,
) -> Result<File, CheckpointError> {
    let copy = root.filter(|root| root.is_copy());
    let made = match (&content.path, copy) {
        (Some(path), Some(root)) if path.is_empty() => {
            root.open_beneath(Path::new(""), OFlags::TMPFILE | OFlags::RDWR)?
        }
        (Some(path), Some(root)) => {
            let path = Path::new(OsStr::from_bytes(path));
            root.make_removed(path, content.bytes.is_none())?
        }
        _ => {
            let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
            fs::memfd_create("hps", flags).map_err(std::io::Error::from)?
        }
    };
    let file = File::from(made);
    let mut get = |written: &Written| loading.get(written);
    if let Some(bytes) = &content.bytes {
        bytes.write(&file, &mut get)?;
        fs::fchmod(&file, Mode::from(content.mode)).map_err(std::io::Error::from)?;
    }
    if let Some(seals) = content.seals.filter(|_| content.path.is_none()) {
        let seals = SealFlags::from_bits_retain(seals);
        fs::fcntl_add_seals(&file, seals).map_err(std::io::Error::from)?;
    }
    Ok(file)
}

impl SavedFile {
    fn open(
        &self,
        root: Option<&FileRoot>,
        contents: &[File],
        identities: &mut FxHashMap<Identity, Identity>,
    ) -> Result<File, CheckpointError> {
        let flags = OFlags::from_bits_retain(self.flags) | OFlags::CLOEXEC;
        let mut file = match &self.place {
            Place::Content(at) => {
                let content = contents.get(*at).ok_or_else(|| CheckpointError::Damaged {
                    what: "a file refers to a content that is not there".to_owned(),
                })?;
                let name = format!("/proc/self/fd/{}", content.as_raw_fd());
                File::from(fs::open(name, flags, Mode::empty()).map_err(std::io::Error::from)?)
            }
            Place::UnderRoot {
                path,
                identity: before,
                content,
                opened_as,
            } => {
                let root = root.ok_or_else(|| changed("the run has a root folder; give --root"))?;
                let path = Path::new(OsStr::from_bytes(path));
                let missing = |cause: std::io::Error| {
                    changed(format!("{} under the root: {cause}", path.display()))
                };
                let file = match opened_as {
                    None => root.open_beneath(path, flags),
                    Some(name) => {
                        let name = Path::new(OsStr::from_bytes(name));
                        root.open_by_other_name(path, name, flags)
                    }
                };
                let file = file.map_err(missing)?;
                let stat = fs::fstat(&file).map_err(std::io::Error::from)?;
                if let Some((len, digest)) = content {
                    let is_same = stat.st_size as u64 == *len
                        && hex(&Sha256::digest(content_of(file.as_fd())?)) == *digest;
                    if !is_same {
                        let path = path.display();
                        return Err(changed(format!(
                            "{path} under the root is another file than it was (SHA-256 was {digest})"
                        )));
                    }
                }
                identities.insert(*before, identity(&stat));
                File::from(file)
            }
        };
        if self.position > 0 {
            file.seek(SeekFrom::Start(self.position))?;
        }
        Ok(file)
    }
}

/// A folder or a node, which state holds by a descriptor of its own.
pub(super) fn descriptor(file: &File) -> Result<OwnedFd, CheckpointError> {
    Ok(OwnedFd::from(file.try_clone()?))
}
