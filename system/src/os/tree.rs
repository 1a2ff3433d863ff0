//! Calls on the tree of files: opening, links, changing. Each works on a folder that the kernel holds and
//! one last name ([`paths`](super::paths)).

use std::fs::File;

use crate::host::sys::rustix::fs::{self, AtFlags, Mode, OFlags, RenameFlags};

use hps_isa::memory::Memory;

use super::Linux;
use super::abi::OpenFlags;
use super::attributes::{new_mode, set_mode};
use super::descriptors::{Kind, OpenFile};
use super::errno::Errno;
use super::identity::capability;
use super::outcome::{Outcome, Unserved};
use super::paths::{Entrance, Folder, Last, Node, PATH_MAX, Place, Root};
use super::procfs::Located;
use super::stat::{AT_SYMLINK_NOFOLLOW, S_IFIFO, S_IFMT, mode_of};
use crate::process::Thread;

pub(super) const AT_FDCWD: i32 = -100;
pub(super) const AT_REMOVEDIR: u64 = 0x200;

/// Tries of what somebody else's change may disturb.
const TRIES: u32 = 64;

impl Linux {
    pub(super) fn root(&self) -> Result<&Root, Errno> {
        self.tree.root.as_ref().ok_or(Errno::ENOENT)
    }

    /// A change of the tree is asked for.
    pub(super) fn writable_root(&self) -> Result<&Root, Errno> {
        let root = self.root()?;
        if self.tree.writable {
            Ok(root)
        } else {
            Err(Errno::EROFS)
        }
    }

    pub(super) fn path_argument(&self, mem: &Memory, addr: u64) -> Result<Vec<u8>, Errno> {
        mem.read_cstr(addr, PATH_MAX - 1)?
            .ok_or(Errno::ENAMETOOLONG)
    }

    /// Where a path starts.
    fn start(&self, dirfd: u64, path: &[u8]) -> Result<Folder, Errno> {
        match path.first() {
            None => return Err(Errno::ENOENT),
            Some(b'/') => return Ok(self.root()?.folder()),
            Some(_) => {}
        }
        // Made-up folders are looked at before.
        if dirfd as i32 == AT_FDCWD && self.tree.made_cwd.is_some() {
            return Err(Errno::EACCES);
        }
        if dirfd as i32 == AT_FDCWD {
            return self.tree.cwd.clone().ok_or(Errno::ENOENT);
        }
        self.open_folder(dirfd)
    }

    /// The folder that a descriptor stands for.
    fn open_folder(&self, fd: u64) -> Result<Folder, Errno> {
        self.files.get(fd)?.kind.folder()
    }

    /// Place to which a path leads among the files of the root folder.
    pub(super) fn resolve(&self, dirfd: u64, path: &[u8], follow: bool) -> Result<Place, Errno> {
        let start = self.start(dirfd, path)?;
        self.root()?.find(&start, path, follow)
    }

    /// The last name of a path and its folder, for a call that changes it: made-up files cannot be changed.
    pub(super) fn entrance(&self, dirfd: u64, path: &[u8]) -> Result<Entrance, Errno> {
        let (dirfd, path) = &self.on_host(dirfd, path, false)?;
        let dirfd = *dirfd;
        let start = self.start(dirfd, path)?;
        self.root()?.entrance(&start, path)
    }

    /// A path of the root folder, for a call that changes what is there.
    ///
    /// # Errors
    /// [`Errno::EACCES`] if a made-up file is there.
    pub(super) fn on_host(
        &self,
        dirfd: u64,
        path: &[u8],
        follow: bool,
    ) -> Result<(u64, Vec<u8>), Errno> {
        match self.locate(dirfd, path, follow)? {
            Located::Host(dirfd, path) => Ok((dirfd, path)),
            _ => Err(Errno::EACCES),
        }
    }

    pub(super) fn openat(&mut self, thread: &Thread, mem: &Memory, a: &[u64; 6]) -> Outcome {
        let [dirfd, path, flags, mode, ..] = *a;
        let path = self.path_argument(mem, path)?;
        let flags = self.abi.open_rules().decode(flags);
        if flags.unnamed && !(flags.directory && flags.write && !flags.create) {
            return Err(Errno::EINVAL.into());
        }
        let keeps_link = flags.nofollow || (flags.create && flags.exclusive);
        let (from, way) = match self.locate(dirfd, &path, !keeps_link)? {
            Located::Host(from, way) => (from, way),
            made => return Ok(self.open_made(made, flags, thread, mem)?),
        };
        let mode = new_mode(mode, self.tree.umask);
        if let Some(name) = self.shared_name(&way) {
            return Ok(self.open_shared_name(name, flags, mode)?);
        }
        let opened = self.open_path(from, &way, flags, mode);
        if opened.as_ref().err() == Some(&Errno::ENOENT.into()) && self.names_program(dirfd, &path)
        {
            return Ok(self.open_made(Located::Program, flags, thread, mem)?);
        }
        let file = self.noted(&path, opened)?;
        Ok(self.files.insert(file, self.limits.descriptors())?)
    }

    /// Remembers a refusal that an option of the user's would have avoided.
    pub(super) fn noted<T, E: Copy + Into<Unserved>>(
        &mut self,
        path: &[u8],
        result: Result<T, E>,
    ) -> Result<T, E> {
        if let Err(unserved) = &result
            && let Unserved::Fails(errno) = (*unserved).into()
        {
            self.note_refusal(path, errno);
        }
        result
    }

    fn open_path(
        &mut self,
        dirfd: u64,
        path: &[u8],
        flags: OpenFlags,
        mode: Mode,
    ) -> Outcome<OpenFile> {
        let keeps_link = flags.nofollow || (flags.create && flags.exclusive);
        let mut tries = 0;
        let (place, kind) = loop {
            let place = self.resolve(dirfd, path, !keeps_link)?;
            match self.open_kind(&place, flags, mode) {
                // Somebody else created it meanwhile.
                Err(Unserved::Fails(Errno::EEXIST)) if !flags.exclusive && tries < TRIES => {
                    tries += 1
                }
                kind => break (place, kind?),
            }
        };
        let mut path = self.root()?.path_at(&place.entrance)?;
        if flags.unnamed {
            let number = self.files.fresh_number();
            path = path.child(format!("#{number}").as_ref());
        }
        Ok(OpenFile {
            kind,
            flags,
            path: Some(path),
            number: None,
        })
    }

    fn open_kind(&mut self, place: &Place, flags: OpenFlags, mode: Mode) -> Outcome<Kind> {
        if place.node.is_none() {
            if !flags.create || flags.path_only {
                return Err(Errno::ENOENT.into());
            }
            self.writable_root()?;
            return if place.entrance.slash {
                Err(Errno::EISDIR.into())
            } else {
                Ok(create(&place.entrance, flags, mode)?)
            };
        }
        let node = place.existing()?;
        if flags.path_only {
            let fits = node.is_dir() || !flags.directory;
            return if fits {
                Ok(Kind::Place(node.clone()))
            } else {
                Err(Errno::ENOTDIR.into())
            };
        }
        if flags.create && flags.exclusive {
            return Err(Errno::EEXIST.into());
        }
        if flags.unnamed {
            return Ok(self.open_unnamed(node, flags, mode)?);
        }
        if node.is_dir() {
            let changes = flags.write || flags.create || flags.truncate;
            return if changes {
                Err(Errno::EISDIR.into())
            } else {
                self.permit(node, flags)?;
                Ok(Kind::Directory(self.run.listings.open(node.folder()?)))
            };
        }
        if flags.directory {
            return Err(Errno::ENOTDIR.into());
        }
        if node.is_link() {
            return Err(Errno::ELOOP.into());
        }
        if node.stat.st_mode & S_IFMT == S_IFIFO {
            self.permit(node, flags)?;
            return self.open_fifo(node, flags);
        }
        if flags.write || flags.truncate {
            self.writable_root()?;
        }
        self.permit(node, flags)?;
        Ok(Kind::File(self.root()?.open(node, open_flags(flags))?))
    }

    /// `O_TMPFILE`: a new file in a folder, without a name.
    fn open_unnamed(&self, node: &Node, flags: OpenFlags, mode: Mode) -> Result<Kind, Errno> {
        if !node.is_dir() {
            return Err(Errno::ENOTDIR);
        }
        self.writable_root()?;
        let exclusive = match flags.exclusive {
            true => OFlags::EXCL,
            false => OFlags::empty(),
        };
        let how = open_flags(flags) | OFlags::TMPFILE | OFlags::CLOEXEC | exclusive;
        let fd = fs::openat(&node.folder()?, c".", how, mode)?;
        fs::fchmod(&fd, mode)?;
        Ok(Kind::File(File::from(fd)))
    }

    /// Whether the process may open the file so.
    pub(super) fn permit(&self, node: &Node, flags: OpenFlags) -> Result<(), Errno> {
        let mode = mode_of(&node.stat, self.tree.writable);
        let allowed = self.credentials.access(mode, self.tree.owner, false);
        let lacks = |wanted, bit| wanted && allowed & bit == 0;
        if lacks(flags.read, 4) || lacks(flags.write || flags.truncate, 2) {
            Err(Errno::EACCES)
        } else {
            Ok(())
        }
    }

    pub(super) fn readlinkat(&self, mem: &mut Memory, a: &[u64; 6]) -> Result<u64, Errno> {
        let [dirfd, path, buffer, size, ..] = *a;
        if size as i32 <= 0 {
            return Err(Errno::EINVAL);
        }
        let path = self.path_argument(mem, path)?;
        let target = if path.is_empty() && dirfd as i32 != AT_FDCWD {
            match &self.files.get(dirfd)?.kind {
                Kind::Place(node) if node.is_link() => node.link_target()?,
                Kind::MadeText(open) => self.made_link(open.made()).map_err(|_| Errno::ENOENT)?,
                _ => return Err(Errno::ENOENT),
            }
        } else {
            match self.locate(dirfd, &path, false)? {
                Located::Host(dirfd, path) => {
                    let place = self.resolve(dirfd, &path, false)?;
                    place.existing()?.link_target()?
                }
                Located::Made(made) => self.made_link(&made)?,
                _ => return Err(Errno::EINVAL),
            }
        };
        let len = target.len().min(size as usize);
        mem.write_bytes(buffer, &target[..len])?;
        Ok(len as u64)
    }

    pub(super) fn faccessat(&self, mem: &Memory, a: &[u64; 6], flags: u64) -> Result<u64, Errno> {
        const X_OK: u64 = 1;
        const W_OK: u64 = 2;
        const R_OK: u64 = 4;
        const AT_EACCESS: u64 = 0x200;
        let [dirfd, path, wanted, ..] = *a;
        if wanted & !(R_OK | W_OK | X_OK) != 0 || flags & !(AT_EACCESS | AT_SYMLINK_NOFOLLOW) != 0 {
            return Err(Errno::EINVAL);
        }
        let path = self.path_argument(mem, path)?;
        let follow = flags & AT_SYMLINK_NOFOLLOW == 0;
        let mode = match self.locate(dirfd, &path, follow)? {
            Located::Host(from, way) => match self.resolve(from, &way, follow) {
                Ok(place) if place.node.is_some() => {
                    let node = place.existing()?;
                    if wanted & W_OK != 0 && !self.tree.writable {
                        return Err(Errno::EROFS);
                    }
                    mode_of(&node.stat, self.tree.writable)
                }
                Ok(_) | Err(Errno::ENOENT) if self.names_program(dirfd, &path) => {
                    self.stat_located(&Located::Program)?.mode
                }
                Ok(_) => return Err(Errno::ENOENT),
                Err(errno) => return Err(errno),
            },
            made => self.stat_located(&made)?.mode,
        };
        let by_real = flags & AT_EACCESS == 0;
        if wanted as u32 & !self.credentials.access(mode, self.tree.owner, by_real) != 0 {
            return Err(Errno::EACCES);
        }
        Ok(0)
    }

    /// The path of the working folder.
    pub(super) fn cwd_text(&self) -> Result<Vec<u8>, Errno> {
        match (&self.tree.made_cwd, &self.tree.root, &self.tree.cwd) {
            (Some(made), ..) => Ok(made.clone().into_bytes()),
            (None, Some(root), Some(folder)) => Ok(root.current_path(folder)?.text()),
            _ => Ok(b"/".to_vec()),
        }
    }

    pub(super) fn getcwd(&self, mem: &mut Memory, a: &[u64; 6]) -> Result<u64, Errno> {
        let mut text = self.cwd_text()?;
        text.push(0);
        if a[1] < text.len() as u64 {
            return Err(Errno::ERANGE);
        }
        mem.write_bytes(a[0], &text)?;
        Ok(text.len() as u64)
    }

    pub(super) fn chdir(&mut self, mem: &Memory, a: &[u64; 6]) -> Result<u64, Errno> {
        let path = self.path_argument(mem, a[0])?;
        match self.locate(AT_FDCWD as u64, &path, true)? {
            Located::Host(dirfd, path) => {
                let place = self.resolve(dirfd, &path, true)?;
                self.tree.cwd = Some(place.existing()?.folder()?);
                self.tree.made_cwd = None;
            }
            Located::Made(made) => self.tree.made_cwd = Some(made.into_folder()?),
            Located::Descriptor(fd) => return self.fchdir(fd),
            Located::Program | Located::ProgramOf(_) => return Err(Errno::ENOTDIR),
        }
        Ok(0)
    }

    /// `chroot`: the working folder stays where it is, and leads nowhere if that is outside.
    pub(super) fn chroot(&mut self, mem: &Memory, a: &[u64; 6]) -> Result<u64, Errno> {
        let path = self.path_argument(mem, a[0])?;
        let (dirfd, path) = self.on_host(AT_FDCWD as u64, &path, true)?;
        let place = self.resolve(dirfd, &path, true)?;
        let folder = place.existing()?.folder()?;
        if !self.may(capability::SYS_CHROOT) {
            return Err(Errno::EPERM);
        }
        self.tree.root = Some(self.root()?.moved(folder)?);
        Ok(0)
    }

    pub(super) fn fchdir(&mut self, fd: u64) -> Result<u64, Errno> {
        if let Kind::MadeFolder(folder) = &self.files.get(fd)?.kind {
            self.tree.made_cwd = Some(folder.made().clone().into_folder()?);
            return Ok(0);
        }
        self.tree.cwd = Some(self.open_folder(fd)?);
        self.tree.made_cwd = None;
        Ok(0)
    }

    pub(super) fn mkdirat(&mut self, mem: &Memory, a: &[u64; 6]) -> Result<u64, Errno> {
        let done = self.try_mkdirat(mem, a);
        let path = self.path_argument(mem, a[1])?;
        self.noted(&path, done)
    }

    fn try_mkdirat(&self, mem: &Memory, a: &[u64; 6]) -> Result<u64, Errno> {
        let [dirfd, path, mode, ..] = *a;
        let path = self.path_argument(mem, path)?;
        let entrance = self.entrance(dirfd, &path)?;
        let Last::Name(name) = &entrance.last else {
            return Err(Errno::EEXIST);
        };
        if !self.tree.writable {
            let exists = fs::statat(&entrance.folder, name, AtFlags::SYMLINK_NOFOLLOW).is_ok();
            return Err(if exists { Errno::EEXIST } else { Errno::EROFS });
        }
        let mode = new_mode(mode, self.tree.umask);
        fs::mkdirat(&entrance.folder, name, mode)?;
        let node = Node::named(&entrance.folder, name)?;
        if node.is_dir() {
            set_mode(&node, mode)?;
        }
        Ok(0)
    }

    pub(super) fn unlinkat(&mut self, mem: &Memory, a: &[u64; 6]) -> Result<u64, Errno> {
        let path = self.path_argument(mem, a[1])?;
        if let Some(name) = self.shared_name(&path) {
            return self.unlink_shared_name(name);
        }
        let done = self.try_unlinkat(mem, a);
        self.noted(&path, done)
    }

    fn try_unlinkat(&self, mem: &Memory, a: &[u64; 6]) -> Result<u64, Errno> {
        let [dirfd, path, flags, ..] = *a;
        if flags & !AT_REMOVEDIR != 0 {
            return Err(Errno::EINVAL);
        }
        let path = self.path_argument(mem, path)?;
        let entrance = self.entrance(dirfd, &path)?;
        let removes_folder = flags & AT_REMOVEDIR != 0;
        match &entrance.last {
            Last::Name(_) => {}
            _ if !removes_folder => return Err(Errno::EISDIR),
            Last::Dot => return Err(Errno::EINVAL),
            Last::DotDot => return Err(Errno::ENOTEMPTY),
            Last::Root => return Err(Errno::EBUSY),
        }
        self.writable_root()?;
        let flags = if removes_folder {
            AtFlags::REMOVEDIR
        } else {
            AtFlags::empty()
        };
        fs::unlinkat(&entrance.folder, entrance.host_name()?, flags)?;
        Ok(0)
    }

    pub(super) fn renameat(&self, mem: &Memory, a: &[u64; 6], flags: u64) -> Result<u64, Errno> {
        const NOREPLACE: u64 = 1;
        const EXCHANGE: u64 = 2;
        let [from_dir, from, to_dir, to, ..] = *a;
        if flags & !(NOREPLACE | EXCHANGE) != 0 || flags == NOREPLACE | EXCHANGE {
            return Err(Errno::EINVAL);
        }
        let from = self.entrance(from_dir, &self.path_argument(mem, from)?)?;
        let to = self.entrance(to_dir, &self.path_argument(mem, to)?)?;
        match (&from.last, &to.last) {
            (Last::Name(_), Last::Name(_)) => {}
            (Last::Name(_), _) if flags & NOREPLACE != 0 => return Err(Errno::EEXIST),
            _ => return Err(Errno::EBUSY),
        }
        self.writable_root()?;
        let flags = RenameFlags::from_bits_truncate(flags as u32);
        let (old, new) = (from.host_name()?, to.host_name()?);
        if flags.is_empty() {
            fs::renameat(&from.folder, old, &to.folder, new)?;
        } else {
            fs::renameat_with(&from.folder, old, &to.folder, new, flags)?;
        }
        Ok(0)
    }

    pub(super) fn truncate(&mut self, mem: &Memory, a: &[u64; 6]) -> Outcome {
        let len = super::files::file_offset(a[1])?;
        let path = self.path_argument(mem, a[0])?;
        let (dirfd, path) = self.on_host(AT_FDCWD as u64, &path, true)?;
        let place = self.resolve(dirfd, &path, true)?;
        let node = place.existing()?;
        if node.is_dir() {
            return Err(Errno::EISDIR.into());
        }
        if !node.is_file() {
            return Err(Errno::EINVAL.into());
        }
        self.writable_root()?;
        let write = OpenFlags {
            write: true,
            ..OpenFlags::default()
        };
        self.permit(node, write)?;
        let host = self.root()?.open(node, OFlags::WRONLY)?;
        self.resize(&host, len).map(|()| 0)
    }
}

/// Creates a regular file that does not exist.
fn create(entrance: &Entrance, flags: OpenFlags, mode: Mode) -> Result<Kind, Errno> {
    let Last::Name(name) = &entrance.last else {
        return Err(Errno::EISDIR);
    };
    let new = OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::NOCTTY | OFlags::CLOEXEC;
    let fd = fs::openat(&entrance.folder, name, open_flags(flags) | new, mode)?;
    // The host's own umask says nothing about the guest's files.
    fs::fchmod(&fd, mode)?;
    Ok(Kind::File(File::from(fd)))
}

/// How the host opens a regular file.
pub(super) fn open_flags(flags: OpenFlags) -> OFlags {
    let access = match (flags.read, flags.write) {
        (_, false) => OFlags::RDONLY,
        (false, true) => OFlags::WRONLY,
        (true, true) => OFlags::RDWR,
    };
    let set = |wanted, flag| if wanted { flag } else { OFlags::empty() };
    access | set(flags.append, OFlags::APPEND) | set(flags.truncate, OFlags::TRUNC)
}
