//! `symlinkat` and `linkat`. Where a symbolic link leads is decided when it is followed, inside the root.

use crate::host::sys::fd::AsRawFd;
use crate::host::sys::rustix::fs::{self, AtFlags};

use hps_isa::memory::Memory;

use super::Linux;
use super::descriptors::Kind;
use super::errno::Errno;
use super::paths::{Entrance, Last, PATH_MAX};
use super::procfs::Located;

const AT_SYMLINK_FOLLOW: u64 = 0x400;
const AT_EMPTY_PATH: u64 = 0x1000;

impl Linux {
    pub(super) fn symlinkat(&mut self, mem: &Memory, a: &[u64; 6]) -> Result<u64, Errno> {
        let [target, dirfd, path, ..] = *a;
        let target = self.path_argument(mem, target)?;
        if target.is_empty() {
            return Err(Errno::ENOENT);
        }
        if target.len() >= PATH_MAX {
            return Err(Errno::ENAMETOOLONG);
        }
        let path = self.path_argument(mem, path)?;
        let done = self.make_symlink(&target, dirfd, &path);
        self.noted(&path, done)
    }

    fn make_symlink(&self, target: &[u8], dirfd: u64, path: &[u8]) -> Result<u64, Errno> {
        let new = self.entrance(dirfd, path)?;
        self.can_be_made(&new)?;
        fs::symlinkat(target, &new.folder, new.host_name()?)?;
        Ok(0)
    }

    pub(super) fn linkat(&mut self, mem: &Memory, a: &[u64; 6]) -> Result<u64, Errno> {
        let [old_dir, old, new_dir, new, flags, _] = *a;
        if flags & !(AT_SYMLINK_FOLLOW | AT_EMPTY_PATH) != 0 {
            return Err(Errno::EINVAL);
        }
        let old = self.path_argument(mem, old)?;
        let new = self.path_argument(mem, new)?;
        let follows = flags & AT_SYMLINK_FOLLOW != 0;
        let may_be_open = flags & AT_EMPTY_PATH != 0;
        if let (Some(old), Some(new)) = (self.shared_name(&old), self.shared_name(&new)) {
            return self.link_shared_name(old, new, false);
        }
        let done = self.make_link((old_dir, &old), (new_dir, &new), follows, may_be_open);
        self.noted(&new, done)
    }

    fn make_link(
        &self,
        old: (u64, &[u8]),
        new: (u64, &[u8]),
        follows: bool,
        may_be_open: bool,
    ) -> Result<u64, Errno> {
        if old.1.is_empty() && may_be_open {
            return self.link_open(old.0, new);
        }
        if let Located::Descriptor(fd) = self.locate(old.0, old.1, follows)? {
            return self.link_open(fd, new);
        }
        let (dirfd, path) = self.on_host(old.0, old.1, follows)?;
        let place = self.resolve(dirfd, &path, follows)?;
        if place.existing()?.is_dir() {
            return Err(Errno::EPERM);
        }
        let new = self.entrance(new.0, new.1)?;
        self.can_be_made(&new)?;
        let (from, to) = (place.entrance.host_name()?, new.host_name()?);
        // If somebody puts a link in place of the file now, that link is what gets a second name.
        fs::linkat(
            &place.entrance.folder,
            from,
            &new.folder,
            to,
            AtFlags::empty(),
        )?;
        Ok(0)
    }

    /// Gives an open file of the root folder a name, also if it has none yet (`O_TMPFILE`).
    fn link_open(&self, fd: u64, new: (u64, &[u8])) -> Result<u64, Errno> {
        let file = self.files.get(fd)?;
        let host = match (&file.kind, &file.path) {
            (Kind::File(host), Some(_)) => host,
            (Kind::Directory(_), _) => return Err(Errno::EPERM),
            // On another file system.
            _ => return Err(Errno::EXDEV),
        };
        let new = self.entrance(new.0, new.1)?;
        self.can_be_made(&new)?;
        let name = format!("/proc/self/fd/{}", host.as_raw_fd());
        fs::linkat(
            fs::CWD,
            name,
            &new.folder,
            new.host_name()?,
            AtFlags::SYMLINK_FOLLOW,
        )?;
        Ok(0)
    }

    /// Whether a name can be made: nothing has it, and the root can be written.
    pub(super) fn can_be_made(&self, new: &Entrance) -> Result<(), Errno> {
        let Last::Name(name) = &new.last else {
            return Err(Errno::EEXIST);
        };
        if fs::statat(&new.folder, name, AtFlags::SYMLINK_NOFOLLOW).is_ok() {
            return Err(Errno::EEXIST);
        }
        if new.slash {
            return Err(Errno::ENOENT);
        }
        self.writable_root().map(|_| ())
    }
}
