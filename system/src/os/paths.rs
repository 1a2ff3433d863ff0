//! Guest paths: the kernel resolves them against descriptors of real folders, and nothing leads out of
//! the root.
//!
//! The guest's `/` is the root folder, held by a descriptor, as are its working folder and its open
//! folders (`O_PATH`). A path is text only up to its folders: the kernel finds these, beginning at a held
//! descriptor, and a call then works on the folder's descriptor and one last name. So a folder that is
//! moved, or exchanged for a symbolic link, by the guest or by somebody else, changes at most which file
//! inside the root is meant.
//!
//! - From the root, `openat2` with `RESOLVE_IN_ROOT` finds the folder: `..` stops at the root, and absolute
//!   links begin there, as under `chroot`.
//! - From another folder, `openat2` with `RESOLVE_BENEATH` finds what lies below it. Paths that climb, and
//!   hosts without `openat2`, are walked name by name, each opened with `O_NOFOLLOW` relative to the folder
//!   before it ([`Root::walk`]).
//! - A held folder may have been moved out of the root. Before it is used, and after each `..`, the kernel
//!   is asked where it is ([`Root::path_of`]); outside, there is nothing to be found.
//! - A last name is opened with `O_PATH | O_NOFOLLOW`, which neither waits nor touches a device. Content is
//!   only opened through this descriptor and only of regular files ([`Node::open`]).
//! - The host's `/proc`, `/sys` and their like are never entered, wherever they are mounted, nor anything that is mounted
//!   below them: their files tell of the host and of the simulator. The kernel stops at each mount (`RESOLVE_NO_XDEV`);
//!   paths that cross one are walked, and the file system of each name is looked at.

mod about_host;
mod saved;
mod text;

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;

use super::errno::Errno;
use super::scratch::Scratch;
use crate::host;
use crate::host::sys::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use crate::host::sys::ffi::{OsStrExt, OsStringExt};
use crate::host::sys::rustix::fs::{self, CWD, Mode, OFlags, ResolveFlags, Stat};
use crate::host::sys::{libc, rustix};
use crate::image::{FileReader, MAX_FILE_BYTES};

pub(super) use about_host::is_proc;
use about_host::lies_in_proc;
pub(super) use text::{GuestPath, joined};

/// Longest path, with its zero (`PATH_MAX`).
pub(super) const PATH_MAX: usize = 4096;
pub(super) const NAME_MAX: usize = 255;
const MAX_LINKS: u32 = 40;
/// Tries of what somebody else's change may disturb.
const TRIES: u32 = 64;
/// How places are held: neither content nor devices are opened, links are not followed.
const HOLD: OFlags = OFlags::PATH.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
const HOLD_FOLDER: OFlags = HOLD.union(OFlags::DIRECTORY);

/// A folder inside the root, held by an `O_PATH` descriptor.
pub(super) type Folder = Arc<OwnedFd>;

/// A file of the host, held by an `O_PATH` descriptor: a regular file, a folder, a symbolic link itself,
/// or something that is never opened.
#[derive(Clone, Debug)]
pub(super) struct Node {
    fd: Arc<OwnedFd>,
    /// Status of the file on the host.
    pub stat: Stat,
}

impl Node {
    fn hold(fd: OwnedFd) -> Result<Node, Errno> {
        Ok(Node {
            stat: fs::fstat(&fd)?,
            fd: Arc::new(fd),
        })
    }

    /// Holds the name `name` of `folder` (or the folder itself: `.`).
    pub(super) fn named(folder: impl AsFd, name: &OsStr) -> Result<Node, Errno> {
        Node::hold(fs::openat(folder, name, HOLD, Mode::empty())?)
    }

    fn kind(&self) -> u32 {
        self.stat.st_mode & libc::S_IFMT
    }

    pub(super) fn is_dir(&self) -> bool {
        self.kind() == libc::S_IFDIR
    }

    pub(super) fn is_link(&self) -> bool {
        self.kind() == libc::S_IFLNK
    }

    pub(super) fn is_file(&self) -> bool {
        self.kind() == libc::S_IFREG
    }

    /// The folder that this is.
    pub(super) fn folder(&self) -> Result<Folder, Errno> {
        if self.is_dir() {
            Ok(Arc::clone(&self.fd))
        } else {
            Err(Errno::ENOTDIR)
        }
    }

    /// Present status of the file on the host.
    pub(super) fn stat_now(&self) -> Result<Stat, Errno> {
        Ok(fs::fstat(&self.fd)?)
    }

    /// The text of the symbolic link that this is.
    pub(super) fn link_target(&self) -> Result<Vec<u8>, Errno> {
        if !self.is_link() {
            return Err(Errno::EINVAL);
        }
        Ok(fs::readlinkat(&self.fd, c"", Vec::new())?.into_bytes())
    }

    /// Opens the content of the regular file that this is, and no other one.
    fn open(&self, flags: OFlags) -> Result<File, Errno> {
        // Opening a pipe or a device of the host could block or reach out of the root.
        if !self.is_file() {
            return Err(Errno::EACCES);
        }
        let flags = flags | OFlags::CLOEXEC | OFlags::NOCTTY;
        Ok(fs::open(self.host_name(), flags, Mode::empty())?.into())
    }

    /// A name of exactly this file for calls of the host that take no descriptor.
    pub(super) fn host_name(&self) -> String {
        host_name(self.fd.as_fd())
    }
}

/// Opens a folder to list it.
pub(super) fn open_to_list(folder: &Folder) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(fs::openat(folder, c".", flags, Mode::empty())?)
}

/// A name of exactly this folder for calls of the host that take no descriptor.
pub(super) fn folder_name(folder: &Folder) -> String {
    host_name(folder.as_fd())
}

fn host_name(fd: BorrowedFd<'_>) -> String {
    format!("/proc/self/fd/{}", fd.as_raw_fd())
}

/// The last component of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Last {
    /// A name in its folder.
    Name(OsString),
    /// `.`
    Dot,
    /// `..`
    DotDot,
    /// The path is `/` and has no last name.
    Root,
}

/// The last name of a path and the folder that it is in, or would be.
#[derive(Debug)]
pub(super) struct Entrance {
    /// The folder; for [`Last::Dot`] and its like, what the path leads to.
    pub folder: Folder,
    pub last: Last,
    /// The path ends in `/`: what it leads to must be a folder.
    pub slash: bool,
}

impl Entrance {
    /// The last name for calls of the host that do not follow it, with the `/` that was behind it.
    ///
    /// # Errors
    /// [`Errno::EBUSY`] if there is no last name.
    pub(super) fn host_name(&self) -> Result<OsString, Errno> {
        let Last::Name(name) = &self.last else {
            return Err(Errno::EBUSY);
        };
        let mut name = name.clone();
        if self.slash {
            name.push("/");
        }
        Ok(name)
    }
}

/// Where a path leads.
#[derive(Debug)]
pub(super) struct Place {
    /// The last name and its folder, behind all links that were followed.
    pub entrance: Entrance,
    /// The node at the path (a link only if the last one was not to be followed); `None` if there is none.
    pub node: Option<Node>,
}

impl Place {
    /// File at the place.
    pub(super) fn existing(&self) -> Result<&Node, Errno> {
        let node = self.node.as_ref().ok_or(Errno::ENOENT)?;
        if self.entrance.slash && !node.is_dir() {
            Err(Errno::ENOTDIR)
        } else {
            Ok(node)
        }
    }
}

/// The root folder of a guest.
#[derive(Clone, Debug)]
pub(crate) struct Root {
    folder: Folder,
    /// The root folder that the run has begun with.
    first: Folder,
    /// Device and number on the host.
    identity: (u64, u64),
    /// The folder is a copy, into which files come when the guest looks at them.
    scratch: Option<Arc<Scratch>>,
}

/// The names still to be walked.
type Pending = VecDeque<OsString>;

/// Counts the symbolic links that a path has led through, since their number is limited.
#[derive(Default)]
struct Links(u32);

impl Links {
    fn follow(&mut self, link: &Node) -> Result<Vec<u8>, Errno> {
        self.0 += 1;
        if self.0 > MAX_LINKS {
            return Err(Errno::ELOOP);
        }
        match link.link_target()? {
            target if target.is_empty() => Err(Errno::ENOENT),
            target => Ok(target),
        }
    }
}

impl Root {
    /// The folder must exist, and the host must have a `/proc`, by which it tells where a folder is.
    pub(super) fn new(dir: &Path) -> io::Result<Root> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = Arc::new(fs::open(dir, flags, Mode::empty())?);
        if lies_in_proc(&folder).unwrap_or(true) {
            return Err(io::Error::from(io::ErrorKind::PermissionDenied));
        }
        host_path(folder.as_fd())
            .map_err(|_| io::Error::other("the host has no /proc that says where folders are"))?;
        Ok(Root::at(folder.clone(), folder, None)?)
    }

    /// A copy of the root, in a new folder in `parent`.
    pub(super) fn copied(&self, parent: &Path) -> io::Result<Root> {
        let (scratch, folder) = Scratch::new(self.folder.try_clone()?, parent)?;
        Ok(Root::at(folder.clone(), folder, Some(Arc::new(scratch)))?)
    }

    /// The root of a process that has chosen a folder below this one for it (`chroot`).
    pub(super) fn moved(&self, folder: Folder) -> Result<Root, rustix::io::Errno> {
        Root::at(folder, self.first.clone(), self.scratch.clone())
    }

    fn at(
        folder: Folder,
        first: Folder,
        scratch: Option<Arc<Scratch>>,
    ) -> Result<Root, rustix::io::Errno> {
        let identity = identity(&fs::fstat(&folder)?);
        Ok(Root {
            folder,
            first,
            identity,
            scratch,
        })
    }

    /// The copy of a root folder that this is, if it is one.
    pub(super) fn scratch(&self) -> Option<&Scratch> {
        self.scratch.as_deref()
    }

    /// Opens the content of the regular file at a node, and no other one.
    pub(super) fn open(&self, node: &Node, flags: OFlags) -> Result<File, Errno> {
        if let Some(scratch) = &self.scratch {
            scratch.fill(node, flags.intersects(OFlags::TRUNC))?;
        }
        node.open(flags)
    }

    /// Reads files as a program sees them which has this root.
    pub(crate) fn reader(&self) -> FileReader {
        let root = self.clone();
        FileReader::new(move |path| {
            let find = || {
                let place = root.find(&root.folder(), path.as_os_str().as_bytes(), true)?;
                let node = place.existing()?;
                match node.is_file() {
                    true => root.open(node, OFlags::RDONLY),
                    false => Err(Errno::EACCES),
                }
            };
            let file = find().map_err(|_| io::Error::from(io::ErrorKind::NotFound))?;
            host::read_open(&file, MAX_FILE_BYTES)
        })
    }

    /// The root folder itself.
    pub(super) fn folder(&self) -> Folder {
        Arc::clone(&self.folder)
    }

    /// The last name of `path` and its folder, for a call that changes the name. `path` begins at `start`, or at the root
    /// if it is absolute. Links that lead to the folder are followed, a link of the last name is not.
    ///
    /// # Errors
    /// If the folder is not there, or `path` is empty or too long.
    pub(super) fn entrance(&self, start: &Folder, path: &[u8]) -> Result<Entrance, Errno> {
        let entrance = self.enter(start, path, &mut Links::default())?;
        if let Some(scratch) = &self.scratch {
            scratch.settle(&entrance)?;
        }
        Ok(entrance)
    }

    /// Place to which `path` leads. The last component may be missing; if it is a link, it is followed if `follow` asks
    /// for that or the path ends in `/`.
    ///
    /// # Errors
    /// If something before the last component is not there, there are too many links, or `path` is
    /// empty or too long.
    pub(super) fn find(&self, start: &Folder, path: &[u8], follow: bool) -> Result<Place, Errno> {
        let mut links = Links::default();
        let mut entrance = self.enter(start, path, &mut links)?;
        loop {
            let Last::Name(name) = &entrance.last else {
                let node = Node::named(&entrance.folder, OsStr::new("."))?;
                return Ok(Place {
                    entrance,
                    node: Some(node),
                });
            };
            let node = match self.step(&entrance.folder, name) {
                Err(Errno::ENOENT) => None,
                found => Some(found?),
            };
            match &node {
                Some(link) if link.is_link() && (follow || entrance.slash) => {
                    let target = links.follow(link)?;
                    let slash = entrance.slash;
                    entrance = self.enter(&entrance.folder, &target, &mut links)?;
                    entrance.slash |= slash;
                }
                _ => return Ok(Place { entrance, node }),
            }
        }
    }

    fn enter(&self, start: &Folder, path: &[u8], links: &mut Links) -> Result<Entrance, Errno> {
        if path.is_empty() {
            return Err(Errno::ENOENT);
        }
        if path.len() >= PATH_MAX {
            return Err(Errno::ENAMETOOLONG);
        }
        let is_absolute = path[0] == b'/';
        let end = path.iter().rposition(|&b| b != b'/').map_or(0, |at| at + 1);
        let (trimmed, slash) = (&path[..end], end < path.len());
        let begin = trimmed
            .iter()
            .rposition(|&b| b == b'/')
            .map_or(0, |at| at + 1);
        let (before, last) = trimmed.split_at(begin);
        let (way, last) = match last {
            b"" => (trimmed, Last::Root),
            b"." => (trimmed, Last::Dot),
            b".." => (trimmed, Last::DotDot),
            name if name.len() > NAME_MAX => return Err(Errno::ENAMETOOLONG),
            name => (before, Last::Name(OsStr::from_bytes(name).to_owned())),
        };
        let start = if is_absolute { &self.folder } else { start };
        Ok(Entrance {
            folder: self.reach(start, way, links)?,
            last,
            slash,
        })
    }

    /// The folder that `way` leads to from `start`.
    fn reach(&self, start: &Folder, way: &[u8], links: &mut Links) -> Result<Folder, Errno> {
        let names: Vec<u8> = match way.iter().position(|&b| b != b'/') {
            None => b".".to_vec(),
            Some(first) => way[first..].to_vec(),
        };
        let from_root = self.is_root(start)?;
        if !from_root {
            self.path_of(start)?;
        }
        let rule = if from_root {
            ResolveFlags::IN_ROOT
        } else {
            ResolveFlags::BENEATH
        };
        if self.scratch.is_some() {
            return self.walk(start, &names, links);
        }
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let found = fs::openat2(
            start,
            &names[..],
            flags,
            Mode::empty(),
            rule | ResolveFlags::NO_MAGICLINKS | ResolveFlags::NO_XDEV,
        );
        let folder = match found {
            Ok(folder) => Arc::new(folder),
            // The way climbs or crosses a mount, somebody changes it meanwhile, or the host doesn't know the call
            // (which filters of system calls say with EPERM).
            Err(
                rustix::io::Errno::XDEV
                | rustix::io::Errno::AGAIN
                | rustix::io::Errno::NOSYS
                | rustix::io::Errno::PERM,
            ) => self.walk(start, &names, links)?,
            Err(errno) => return Err(errno.into()),
        };
        self.keep_out_of_proc(folder.as_fd())?;
        Ok(folder)
    }

    /// Walks from `start`, which is inside the root, name by name.
    fn walk(&self, start: &Folder, way: &[u8], links: &mut Links) -> Result<Folder, Errno> {
        let mut at = Arc::clone(start);
        let mut pending = Pending::new();
        push_front(&mut pending, way);
        while let Some(name) = pending.pop_front() {
            if name == ".." {
                at = self.above(&at)?;
                continue;
            }
            let node = self.step(&at, &name)?;
            if node.is_link() {
                let target = links.follow(&node)?;
                if target[0] == b'/' {
                    at = self.folder();
                }
                push_front(&mut pending, &target);
            } else {
                at = node.folder()?;
            }
        }
        Ok(at)
    }

    /// Holds one name of a folder.
    fn step(&self, folder: &Folder, name: &OsStr) -> Result<Node, Errno> {
        if let Some(scratch) = &self.scratch {
            scratch.bring(folder, name)?;
        }
        let node = Node::named(folder, name)?;
        if node.stat.st_dev != self.identity.0 {
            self.keep_out_of_proc(node.fd.as_fd())?;
        }
        Ok(node)
    }

    /// The folder above one that is inside the root: the root is above itself.
    fn above(&self, folder: &Folder) -> Result<Folder, Errno> {
        if self.is_root(folder)? {
            return Ok(self.folder());
        }
        let above = Arc::new(fs::openat(folder, c"..", HOLD_FOLDER, Mode::empty())?);
        // Somebody may have moved it out of the root meanwhile.
        self.path_of(&above)?;
        Ok(above)
    }

    fn is_root(&self, folder: &Folder) -> Result<bool, Errno> {
        Ok(Arc::ptr_eq(folder, &self.folder) || identity(&fs::fstat(folder)?) == self.identity)
    }

    /// Where in the guest's tree a held folder is now, as the kernel says.
    ///
    /// # Errors
    /// [`Errno::ENOENT`] if it lies outside of the root.
    pub(super) fn path_of(&self, folder: &Folder) -> Result<GuestPath, Errno> {
        if self.is_root(folder)? {
            return Ok(GuestPath::default());
        }
        for _ in 0..TRIES {
            let root = host_path(self.folder.as_fd())?;
            let path = match host_path(folder.as_fd()) {
                Err(Errno::ENAMETOOLONG) => return self.deep_path_of(folder),
                path => path?,
            };
            // The root itself may be on the move: then the two answers don't belong together.
            if host_path(self.folder.as_fd())? == root {
                return below(&root, &path).ok_or(Errno::ENOENT);
            }
        }
        Err(Errno::ENOENT)
    }

    /// Where a folder is whose path is longer than the kernel tells: the path of a folder above it, and
    /// how far it is below that one.
    fn deep_path_of(&self, folder: &Folder) -> Result<GuestPath, Errno> {
        let root = host_path(self.folder.as_fd())?;
        let mut at = Arc::clone(folder);
        let mut levels = 0;
        let mut step = 1 << 10;
        loop {
            let climb = "../".repeat(step);
            let above = Arc::new(fs::openat(&at, climb, HOLD_FOLDER, Mode::empty())?);
            match host_path(above.as_fd()) {
                Err(Errno::ENAMETOOLONG) => {
                    at = above;
                    levels += step;
                }
                // Too far: the nearest folder with a path is looked for.
                Ok(_) if step > 1 => step /= 2,
                path => {
                    let levels = (levels + step).to_string();
                    let path = below(&root, &path?).ok_or(Errno::ENOENT)?;
                    return Ok(path.child(OsStr::new(&levels)));
                }
            }
        }
    }

    /// Where in the guest's tree something is, or would be.
    pub(super) fn path_at(&self, entrance: &Entrance) -> Result<GuestPath, Errno> {
        let folder = self.path_of(&entrance.folder)?;
        Ok(match &entrance.last {
            Last::Name(name) => folder.child(name),
            _ => folder,
        })
    }

    /// The text of a held folder's path, for `getcwd`.
    ///
    /// # Errors
    /// [`Errno::ENOENT`] if it was removed or lies outside of the root, [`Errno::ENAMETOOLONG`] if its
    /// path is longer than any.
    pub(super) fn current_path(&self, folder: &Folder) -> Result<GuestPath, Errno> {
        if !self.is_root(folder)? {
            let path = host_path(folder.as_fd())?;
            // The kernel marks the path of a folder that was removed.
            let removed = path.ends_with(b" (deleted)")
                && !fs::stat(OsStr::from_bytes(&path)).is_ok_and(|s| {
                    Some(identity(&s)) == fs::fstat(folder).ok().map(|s| identity(&s))
                });
            if removed {
                return Err(Errno::ENOENT);
            }
        }
        self.path_of(folder)
    }

    fn keep_out_of_proc(&self, fd: BorrowedFd<'_>) -> Result<(), Errno> {
        if identity(&fs::fstat(fd)?).0 != self.identity.0 && is_proc(fd)? {
            Err(Errno::EACCES)
        } else {
            Ok(())
        }
    }
}

/// The device and the number of a file.
pub(super) fn identity(stat: &Stat) -> (u64, u64) {
    (stat.st_dev, stat.st_ino)
}

/// Where the host's kernel says that a descriptor's file is.
pub(super) fn host_path(fd: BorrowedFd<'_>) -> Result<Vec<u8>, Errno> {
    Ok(fs::readlinkat(CWD, host_name(fd), Vec::new())?.into_bytes())
}

/// The rest of `path` below `root`.
fn below(root: &[u8], path: &[u8]) -> Option<GuestPath> {
    let root = root.strip_suffix(b"/").unwrap_or(root);
    let rest = path.strip_prefix(root)?;
    (rest.is_empty() || rest[0] == b'/').then(|| GuestPath::new(rest))
}

/// Puts the components of a path before those that are pending.
fn push_front(pending: &mut Pending, path: &[u8]) {
    for name in path
        .rsplit(|&b| b == b'/')
        .filter(|name| !name.is_empty() && *name != b".")
    {
        pending.push_front(OsString::from_vec(name.to_vec()));
    }
}

#[cfg(test)]
mod tests;
