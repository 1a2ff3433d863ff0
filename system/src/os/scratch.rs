//! A root that stays as it is: the program works on a copy of it, which comes into being where the program looks.
//!
//! The copy is a folder that begins empty. A path is walked name by name ([`Root`](super::paths)); each name that the copy
//! lacks is brought from the original folder: a folder empty, a file as a hole of its size, a link as it is. A file gets its
//! content when it is opened, so that all descriptors of it are of one file; a folder gets all its names when it is listed,
//! or when something in it is made, renamed or removed. What is removed from the copy is thus never looked for again.
//!
//! Files and folders that are not there as a whole are known by their numbers. None of them can be removed: a change of a
//! name first makes whole what has the name ([`Scratch::settle`]), so that no number is used twice.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustc_hash::FxHashMap;

use super::errno::Errno;
use super::paths::{Entrance, Folder, Last, Node, identity, is_proc};
use crate::host::sys::fd::{AsFd, BorrowedFd, OwnedFd};
use crate::host::sys::ffi::OsStrExt;
use crate::host::sys::rustix::fs::{AtFlags, FileType, FlockOperation, Mode, OFlags};
use crate::host::sys::rustix::{self, fs};
use crate::host::sys::unix_fs::MetadataExt;

/// Bits of a mode that files of the copy have.
pub(super) const PERMISSIONS: u32 = 0o1777;
/// The copy's owner can always work on folders.
pub(super) const OWNER: u32 = 0o700;

pub(super) type Identity = (u64, u64);

/// A copy of a root folder. It is removed with this value.
#[derive(Debug)]
pub(super) struct Scratch {
    original: OwnedFd,
    /// The device that the original lies on.
    device: u64,
    /// Where the copy lies on the host, and its number.
    path: PathBuf,
    own: Identity,
    _reserved: Reserved,
    lacking: Mutex<Lacking>,
}

/// Folders and files that the copy does not have as a whole, with their paths in the original.
#[derive(Debug, Default)]
pub(super) struct Lacking {
    /// Folders of which names are missing.
    pub folders: FxHashMap<Identity, PathBuf>,
    /// Files without their content.
    pub files: FxHashMap<Identity, PathBuf>,
}

impl Scratch {
    /// An empty copy of `original` in a new folder in `parent`, and the copy's folder.
    pub(super) fn new(original: OwnedFd, parent: &Path) -> io::Result<(Scratch, Folder)> {
        remove_abandoned(parent);
        let (path, reserved) = fresh_folder(parent)?;
        let made = Scratch::at(original, path.clone(), reserved);
        if made.is_err() {
            // The folder is empty; another error does not matter beside the first.
            let _ = std::fs::remove_dir(&path);
        }
        made
    }

    fn at(original: OwnedFd, path: PathBuf, reserved: Reserved) -> io::Result<(Scratch, Folder)> {
        let stat = fs::fstat(&original)?;
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let folder = fs::open(&path, flags, Mode::empty())?;
        fs::chmod(&path, Mode::from(stat.st_mode & PERMISSIONS | OWNER))?;
        let own = identity(&fs::fstat(&folder)?);
        let mut lacking = Lacking::default();
        lacking.folders.insert(own, PathBuf::new());
        let scratch = Scratch {
            device: stat.st_dev,
            original,
            path,
            own,
            _reserved: reserved,
            lacking: Mutex::new(lacking),
        };
        Ok((scratch, Folder::new(folder)))
    }

    pub(super) fn lacking(&self) -> MutexGuard<'_, Lacking> {
        self.lacking.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Brings one name of a folder, if the copy lacks it.
    pub(super) fn bring(&self, folder: &Folder, name: &OsStr) -> Result<(), Errno> {
        let mut lacking = self.lacking();
        if lacking.folders.is_empty() || name == "." || name == ".." {
            return Ok(());
        }
        let number = identity(&fs::fstat(folder)?);
        let Some(path) = lacking.folders.get(&number) else {
            return Ok(());
        };
        if fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).is_ok() {
            return Ok(());
        }
        let path = path.clone();
        let original = self.open_original(&path, OFlags::PATH | OFlags::DIRECTORY)?;
        match self.copy_name(&mut lacking, (&original, &path), folder, name) {
            Err(Errno::ENOENT) => Ok(()),
            done => done,
        }
    }

    /// Brings all names of a folder that the copy lacks.
    pub(super) fn complete(&self, folder: &Folder) -> Result<(), Errno> {
        let mut lacking = self.lacking();
        let number = identity(&fs::fstat(folder)?);
        let Some(path) = lacking.folders.get(&number).cloned() else {
            return Ok(());
        };
        let original = self.open_original(&path, OFlags::RDONLY | OFlags::DIRECTORY)?;
        for entry in fs::Dir::read_from(&original)? {
            let entry = entry?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name == "."
                || name == ".."
                || fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).is_ok()
            {
                continue;
            }
            match self.copy_name(&mut lacking, (&original, &path), folder, name) {
                // Somebody has removed it meanwhile.
                Ok(()) | Err(Errno::ENOENT) => {}
                failed => return failed,
            }
        }
        lacking.folders.remove(&number);
        Ok(())
    }

    /// Makes whole what a change of a name touches: the names of its folder, and what has the name.
    pub(super) fn settle(&self, entrance: &Entrance) -> Result<(), Errno> {
        self.complete(&entrance.folder)?;
        let Last::Name(name) = &entrance.last else {
            return Ok(());
        };
        match Node::named(&entrance.folder, name) {
            Ok(node) if node.is_dir() => self.complete(&node.folder()?),
            Ok(node) => self.fill(&node, false),
            Err(_) => Ok(()),
        }
    }

    /// Copies the content of a file that has not got it yet; `is_emptied` says that nobody will see it.
    pub(super) fn fill(&self, node: &Node, is_emptied: bool) -> Result<(), Errno> {
        let mut lacking = self.lacking();
        let number = identity(&node.stat);
        let Some(path) = lacking.files.get(&number) else {
            return Ok(());
        };
        if !is_emptied {
            let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
            let mut from = File::from(self.open_original(path, flags)?);
            if !from.metadata()?.is_file() {
                return Err(Errno::EACCES);
            }
            let mode = Mode::from(node.stat_now()?.st_mode & PERMISSIONS);
            let name = node.host_name();
            fs::chmod(&name, Mode::from(OWNER))?;
            let flags = OFlags::WRONLY | OFlags::TRUNC | OFlags::CLOEXEC;
            let mut to = File::from(fs::open(&name, flags, Mode::empty())?);
            let copied = io::copy(&mut from, &mut to);
            fs::chmod(&name, mode)?;
            copied?;
        }
        lacking.files.remove(&number);
        Ok(())
    }

    /// Brings all that the copy lacks, and puts the copy where the user wants to have it.
    pub(super) fn keep(&self, place: &Path) -> io::Result<()> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let folder = Folder::new(fs::open(&self.path, flags, Mode::empty())?);
        self.finish(&folder).map_err(|errno| {
            io::Error::other(format!("the rest of the root cannot be copied ({errno:?})"))
        })?;
        std::fs::rename(&self.path, place)
    }

    fn finish(&self, folder: &Folder) -> Result<(), Errno> {
        self.complete(folder)?;
        let names: Vec<OsString> = {
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
            let listed = fs::openat(folder, c".", flags, Mode::empty())?;
            let entries = fs::Dir::read_from(&listed)?.map(|entry| {
                entry.map(|entry| OsStr::from_bytes(entry.file_name().to_bytes()).to_owned())
            });
            entries.collect::<Result<_, _>>()?
        };
        for name in names {
            if name == "." || name == ".." {
                continue;
            }
            let node = Node::named(folder, &name)?;
            match node.is_dir() {
                true => self.finish(&node.folder()?)?,
                false => self.fill(&node, false)?,
            }
        }
        Ok(())
    }

    /// Opens what is at a path of the original, without following links.
    fn open_original(&self, path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
        Ok(open_beneath(self.original.as_fd(), path, flags)?)
    }

    /// Brings a name from a folder of the original into a folder of the copy.
    fn copy_name(
        &self,
        lacking: &mut Lacking,
        (original, path): (&OwnedFd, &Path),
        folder: &Folder,
        name: &OsStr,
    ) -> Result<(), Errno> {
        let stat = fs::statat(original, name, AtFlags::SYMLINK_NOFOLLOW)?;
        if self.is_outside(original, name, stat.st_dev)? || identity(&stat) == self.own {
            return Ok(());
        }
        let mode = stat.st_mode & PERMISSIONS;
        let below = || path.join(name);
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => {
                fs::mkdirat(folder, name, Mode::from(OWNER))?;
                let node = Node::named(folder, name)?;
                fs::chmod(node.host_name(), Mode::from(mode | OWNER))?;
                lacking.folders.insert(identity(&node.stat), below());
            }
            FileType::Symlink => {
                let target = fs::readlinkat(original, name, Vec::new())?;
                fs::symlinkat(target, folder, name)?;
            }
            FileType::RegularFile => {
                let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
                let file = fs::openat(folder, name, flags, Mode::from(OWNER))?;
                if stat.st_size > 0 {
                    fs::ftruncate(&file, stat.st_size as u64)?;
                    lacking.files.insert(identity(&fs::fstat(&file)?), below());
                }
                fs::fchmod(&file, Mode::from(mode))?;
            }
            kind @ (FileType::Fifo | FileType::Socket) => {
                fs::mknodat(folder, name, kind, Mode::from(OWNER), 0)?;
                fs::chmod(Node::named(folder, name)?.host_name(), Mode::from(mode))?;
            }
            // Devices of the host are never opened.
            _ => {}
        }
        Ok(())
    }

    /// Whether a name leads to files that tell of the host.
    fn is_outside(&self, original: &OwnedFd, name: &OsStr, device: u64) -> Result<bool, Errno> {
        if device == self.device {
            return Ok(false);
        }
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        is_proc(fs::openat(original, name, flags, Mode::empty())?.as_fd())
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // It has been moved if the user keeps it. Nobody is left to be told of an error.
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

/// Opens what is at a path below a folder, without following links.
pub(super) fn open_beneath(
    folder: BorrowedFd<'_>,
    path: &Path,
    flags: OFlags,
) -> Result<OwnedFd, rustix::io::Errno> {
    let hold = OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let on_the_way = OFlags::PATH | OFlags::DIRECTORY | hold;
    let names: Vec<_> = path.iter().collect();
    let Some((last, above)) = names.split_last() else {
        return fs::openat(folder, c".", flags | hold, Mode::empty());
    };
    let mut at = fs::openat(folder, c".", on_the_way, Mode::empty())?;
    for name in above {
        at = fs::openat(&at, *name, on_the_way, Mode::empty())?;
    }
    fs::openat(&at, *last, flags | hold, Mode::empty())
}

/// Beginning of the names of copies, and the end of the name of the file that is locked while a copy is in use.
const NAME: &str = "hps-scratch-";
const LOCK: &str = ".lock";

/// The lock file of a copy in use. The file is removed with this value; the host releases the lock of a killed command.
#[derive(Debug)]
struct Reserved {
    _locked: File,
    path: PathBuf,
}

impl Reserved {
    /// Takes the lock of a file; `None` if another command has it, or has removed the file meanwhile.
    fn take(path: PathBuf, create: bool) -> io::Result<Option<Reserved>> {
        let mut options = File::options();
        options.read(true).write(true).create_new(create);
        let file = options.open(&path)?;
        let is_mine = fs::flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok()
            && file.metadata()?.nlink() > 0;
        // A value that is made and dropped would remove the file of another command.
        Ok(is_mine.then(|| Reserved {
            _locked: file,
            path,
        }))
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        // Nobody is left to be told of an error.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// A new folder that nobody else has, and what keeps others from removing it.
fn fresh_folder(parent: &Path) -> io::Result<(PathBuf, Reserved)> {
    static SERIAL: AtomicU32 = AtomicU32::new(0);
    loop {
        let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
        let name = format!("{NAME}{}-{serial}", std::process::id());
        let reserved = match Reserved::take(parent.join(format!("{name}{LOCK}")), true) {
            Ok(Some(reserved)) => reserved,
            Ok(None) => continue,
            Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => continue,
            Err(cause) => return Err(cause),
        };
        let path = parent.join(name);
        let mut builder = std::fs::DirBuilder::new();
        match std::os::unix::fs::DirBuilderExt::mode(&mut builder, OWNER).create(&path) {
            Ok(()) => return Ok((path, reserved)),
            Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => {}
            Err(cause) => return Err(cause),
        }
    }
}

/// Removes copies that killed commands have left: those whose lock nobody has. Errors are no reason not to begin.
fn remove_abandoned(parent: &Path) {
    for entry in std::fs::read_dir(parent).into_iter().flatten().flatten() {
        let path = entry.path();
        let name = entry.file_name();
        let Some(copy) = name.to_str().and_then(|name| name.strip_suffix(LOCK)) else {
            continue;
        };
        let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
        if !copy.starts_with(NAME) || !is_file {
            continue;
        }
        if let Ok(Some(_reserved)) = Reserved::take(path, false) {
            let _ = std::fs::remove_dir_all(parent.join(copy));
        }
    }
}
