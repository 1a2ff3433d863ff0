//! The copy of a root that programs work on, in checkpoints: all that has come into it, and what it still lacks.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::paths::{Folder, Node, Root, identity, open_to_list};
use super::scratch::{Identity, OWNER, PERMISSIONS, open_beneath};
use crate::checkpoint::{CheckpointError, FileContent, Written};
use crate::host::sys::fd::{AsFd, OwnedFd};
use crate::host::sys::ffi::OsStrExt;
use crate::host::sys::rustix::fs::{self, AtFlags, FileType, Mode, OFlags};

/// Entries that have come into a copy, folders before what is in them.
#[derive(Serialize, Deserialize)]
pub(crate) struct SavedCopy {
    /// The path in the original of the root folder, if the copy lacks names of it.
    lacks: Option<Vec<u8>>,
    own: Identity,
    entries: Vec<Entry>,
}

#[derive(Serialize, Deserialize)]
struct Entry {
    /// Below the copy.
    path: Vec<u8>,
    identity: Identity,
    mode: u32,
    what: What,
}

#[derive(Serialize, Deserialize)]
enum What {
    /// A folder, with its path in the original if it lacks names.
    Folder(Option<Vec<u8>>),
    /// A file that has not got its content yet, with its path in the original and its length.
    Hole(Vec<u8>, u64),
    File(FileContent),
    /// Another name of a file.
    Name(Vec<u8>),
    Link(Vec<u8>),
    /// A pipe or a socket: `S_IF*`.
    Special(u32),
}

type Put<'a> = &'a mut dyn FnMut(&[u8]) -> Result<Written, CheckpointError>;
type Get<'a> = &'a mut dyn FnMut(&Written) -> Result<Vec<u8>, CheckpointError>;

impl Root {
    /// Whether programs work on a copy of the root.
    pub(crate) fn is_copy(&self) -> bool {
        self.scratch().is_some()
    }

    /// The copy that programs work on, if they do.
    ///
    /// # Errors
    /// I/O errors of the host.
    pub(crate) fn save_copy(&self, put: Put<'_>) -> Result<Option<SavedCopy>, CheckpointError> {
        let Some(scratch) = self.scratch() else {
            return Ok(None);
        };
        let lacking = scratch.lacking();
        let first = self.first();
        let own = identity(&fs::fstat(&*first).map_err(io::Error::from)?);
        let mut saved = SavedCopy {
            lacks: lacking.folders.get(&own).map(|path| to_bytes(path)),
            own,
            entries: Vec::new(),
        };
        let mut names: HashMap<Identity, PathBuf> = HashMap::new();
        let mut folders = vec![(PathBuf::new(), first)];
        while let Some((path, folder)) = folders.pop() {
            for name in names_in(&folder)? {
                let path = path.join(&name);
                let node = Node::named(&folder, &name).map_err(errno)?;
                let number = identity(&node.stat);
                let what = match FileType::from_raw_mode(node.stat.st_mode) {
                    FileType::Directory => {
                        folders.push((path.clone(), node.folder().map_err(errno)?));
                        What::Folder(lacking.folders.get(&number).map(|path| to_bytes(path)))
                    }
                    FileType::Symlink => What::Link(node.link_target().map_err(errno)?),
                    FileType::RegularFile => match (names.get(&number), lacking.files.get(&number))
                    {
                        (Some(first), _) => What::Name(to_bytes(first)),
                        (None, Some(original)) => {
                            What::Hole(to_bytes(original), node.stat.st_size as u64)
                        }
                        (None, None) => What::File(content(&node, put)?),
                    },
                    kind => What::Special(kind.as_raw_mode()),
                };
                names.entry(number).or_insert_with(|| path.clone());
                saved.entries.push(Entry {
                    path: to_bytes(&path),
                    identity: number,
                    mode: node.stat.st_mode & PERMISSIONS,
                    what,
                });
            }
        }
        Ok(Some(saved))
    }

    /// A path of the file of a number in the copy that programs work on, if there are both.
    ///
    /// # Errors
    /// I/O errors of the host.
    pub(crate) fn path_in_copy(
        &self,
        number: Identity,
    ) -> Result<Option<PathBuf>, CheckpointError> {
        let mut folders = match self.is_copy() {
            true => vec![(PathBuf::new(), self.first())],
            false => Vec::new(),
        };
        while let Some((path, folder)) = folders.pop() {
            for name in names_in(&folder)? {
                let path = path.join(&name);
                let node = Node::named(&folder, &name).map_err(errno)?;
                if identity(&node.stat) == number {
                    return Ok(Some(path));
                }
                if node.is_dir() {
                    folders.push((path, node.folder().map_err(errno)?));
                }
            }
        }
        Ok(None)
    }

    /// Brings into an empty copy what another one had. Returns the numbers of its files there and here.
    ///
    /// # Errors
    /// I/O errors of the host; [`CheckpointError::Changed`] if the run works on no copy.
    pub(crate) fn restore_copy(
        &self,
        saved: &SavedCopy,
        get: Get<'_>,
    ) -> Result<Vec<(Identity, Identity)>, CheckpointError> {
        let scratch = self.scratch().ok_or_else(|| CheckpointError::Changed {
            what: "the run works on a copy of its root (--writable=scratch)".to_owned(),
        })?;
        let mut lacking = scratch.lacking();
        let root = self.first();
        let own = identity(&fs::fstat(&*root).map_err(io::Error::from)?);
        lacking.folders.clear();
        lacking.folders.extend(
            saved
                .lacks
                .as_deref()
                .map(|path| (own, to_path(path).to_owned())),
        );
        let mut numbers = vec![(saved.own, own)];
        for entry in &saved.entries {
            let (above, name) = self.entrance_of(to_path(&entry.path))?;
            entry.make(&above, &name, get, |path| self.entrance_of(path))?;
            let stat = fs::statat(&above, &*name, AtFlags::SYMLINK_NOFOLLOW);
            let number = identity(&stat.map_err(io::Error::from)?);
            numbers.push((entry.identity, number));
            match &entry.what {
                What::Folder(Some(original)) => {
                    lacking.folders.insert(number, to_path(original).to_owned());
                }
                What::Hole(original, _) => {
                    lacking.files.insert(number, to_path(original).to_owned());
                }
                _ => {}
            }
        }
        // A folder may be one in which not even its owner can make files.
        for entry in saved.entries.iter().rev() {
            if let What::Folder(_) = entry.what {
                let node =
                    self.open_beneath(to_path(&entry.path), OFlags::PATH | OFlags::DIRECTORY)?;
                let name = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&node));
                fs::chmod(name, Mode::from(entry.mode)).map_err(io::Error::from)?;
            }
        }
        Ok(numbers)
    }

    /// Opens what lies at a path below the folder that the run has begun with, without following links.
    ///
    /// # Errors
    /// I/O errors of the host.
    pub(crate) fn open_beneath(&self, path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
        Ok(open_beneath(self.first().as_fd(), path, flags)?)
    }

    /// Opens a file by a name that is removed again, so that the host tells that name of it.
    ///
    /// # Errors
    /// I/O errors of the host.
    pub(crate) fn open_by_other_name(
        &self,
        path: &Path,
        name: &Path,
        flags: OFlags,
    ) -> io::Result<OwnedFd> {
        let linked = self.entrance_of(path).and_then(|(folder, last)| {
            let (other, name) = self.entrance_of(name)?;
            let linked = fs::linkat(&folder, &*last, &other, &*name, AtFlags::empty());
            linked.map_err(io::Error::from)?;
            Ok((other, name))
        });
        let Ok((folder, last)) = linked else {
            // Another file has the name by now.
            return self.open_beneath(path, flags);
        };
        let open = self.open_beneath(name, flags);
        fs::unlinkat(&folder, &*last, AtFlags::empty())?;
        open
    }

    /// A new file, or a folder, whose name is removed again.
    ///
    /// # Errors
    /// I/O errors of the host.
    pub(crate) fn make_removed(
        &self,
        path: &Path,
        is_folder: bool,
    ) -> Result<OwnedFd, CheckpointError> {
        // Its folder may be gone, too, or another file may have its name.
        let unnamed = || -> Result<_, CheckpointError> {
            let first = fs::openat(&*self.first(), c".", OFlags::PATH, Mode::empty());
            let name = format!("hps-removed-{}", std::process::id());
            Ok((first.map_err(io::Error::from)?, OsString::from(name)))
        };
        let made = |(folder, name): &(OwnedFd, OsString)| match is_folder {
            true => {
                fs::mkdirat(folder, &**name, Mode::from(OWNER))?;
                let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
                let open = fs::openat(folder, &**name, flags, Mode::empty());
                fs::unlinkat(folder, &**name, AtFlags::REMOVEDIR)?;
                open
            }
            false => {
                let new = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
                let open = fs::openat(folder, &**name, new, Mode::from(OWNER))?;
                fs::unlinkat(folder, &**name, AtFlags::empty())?;
                Ok(open)
            }
        };
        let by_name = self.entrance_of(path).ok();
        let by_name = by_name.and_then(|place| made(&place).ok());
        match by_name {
            Some(open) => Ok(open),
            None => Ok(made(&unnamed()?).map_err(io::Error::from)?),
        }
    }

    /// The folder of a path and the last name in it.
    fn entrance_of(&self, path: &Path) -> Result<(OwnedFd, OsString), CheckpointError> {
        let (Some(above), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(CheckpointError::Damaged {
                what: "a file without a name".to_owned(),
            });
        };
        let folder = self.open_beneath(above, OFlags::PATH | OFlags::DIRECTORY)?;
        Ok((folder, name.to_owned()))
    }
}

impl Entry {
    fn make(
        &self,
        folder: &OwnedFd,
        name: &OsStr,
        get: Get<'_>,
        above: impl FnOnce(&Path) -> Result<(OwnedFd, OsString), CheckpointError>,
    ) -> Result<(), CheckpointError> {
        let new = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let fresh = || fs::openat(folder, name, new, Mode::from(OWNER)).map(File::from);
        let mode = Mode::from(self.mode);
        let made = match &self.what {
            What::Folder(_) => fs::mkdirat(folder, name, Mode::from(OWNER)),
            What::Hole(_, len) => fresh().and_then(|file| {
                fs::ftruncate(&file, *len)?;
                fs::fchmod(&file, mode)
            }),
            What::File(written) => {
                let file = fresh().map_err(io::Error::from)?;
                written.write(&file, get)?;
                fs::fchmod(&file, mode)
            }
            What::Name(first) => {
                let (first_folder, first_name) = above(to_path(first))?;
                fs::linkat(&first_folder, &*first_name, folder, name, AtFlags::empty())
            }
            What::Link(target) => fs::symlinkat(OsStr::from_bytes(target), folder, name),
            What::Special(kind) => {
                let kind = FileType::from_raw_mode(*kind);
                fs::mknodat(folder, name, kind, mode, 0)
            }
        };
        Ok(made.map_err(io::Error::from)?)
    }
}

fn to_bytes(path: &Path) -> Vec<u8> {
    path.as_os_str().as_bytes().to_vec()
}

fn to_path(bytes: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(bytes))
}

fn errno(cause: super::errno::Errno) -> CheckpointError {
    let cause = io::Error::other(format!("{cause:?} in the copy of the root"));
    CheckpointError::Store(cause)
}

fn names_in(folder: &Folder) -> Result<Vec<OsString>, CheckpointError> {
    let listed = open_to_list(folder).map_err(errno)?;
    let mut names = Vec::new();
    for entry in fs::Dir::read_from(&listed).map_err(io::Error::from)? {
        let entry = entry.map_err(io::Error::from)?;
        let name = entry.file_name().to_bytes();
        if name != b"." && name != b".." {
            names.push(OsStr::from_bytes(name).to_owned());
        }
    }
    names.sort_unstable();
    Ok(names)
}

/// All bytes of a file, also of one that may not be read.
fn content(node: &Node, put: Put<'_>) -> Result<FileContent, CheckpointError> {
    let name = node.host_name();
    let mode = Mode::from(node.stat.st_mode & PERMISSIONS);
    fs::chmod(&name, Mode::from(OWNER)).map_err(io::Error::from)?;
    let file = File::open(&name);
    fs::chmod(&name, mode).map_err(io::Error::from)?;
    FileContent::of(&file?, put)
}
