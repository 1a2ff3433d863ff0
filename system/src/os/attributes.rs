//! Permissions, owners and times of files. Permissions are those of the host's file. Owners and times are
//! made up ([`stat`](super::stat)), so that changing them succeeds and has no effect.

use crate::host::sys::rustix::fs::{self, Mode};

use hps_isa::memory::Memory;

use super::Linux;
use super::descriptors::Kind;
use super::errno::Errno;
use super::paths::{Node, folder_name};
use super::stat::{AT_EMPTY_PATH, AT_SYMLINK_NOFOLLOW};
use super::tree::AT_FDCWD;

/// Bits that the guest can give to a file of the host.
const PERMISSIONS: u32 = 0o1777;
/// `S_ISUID` and `S_ISGID` would make others run the guest's files as the host's user.
const OTHER_IDENTITY: u32 = 0o6000;

impl Linux {
    pub(super) fn fchmod(&self, fd: u64, mode: u64) -> Result<u64, Errno> {
        let kind = &self.files.get(fd)?.kind;
        if matches!(kind, Kind::Place(_)) {
            return Err(Errno::EBADF);
        }
        self.writable_root()?;
        self.check_owned()?;
        let mode = permissions(mode)?;
        match kind {
            Kind::File(file) => fs::fchmod(file, mode)?,
            Kind::Directory(listing) => fs::chmod(folder_name(listing.folder()), mode)?,
            _ => {}
        }
        Ok(0)
    }

    pub(super) fn fchmodat(&mut self, mem: &Memory, a: &[u64; 6]) -> Result<u64, Errno> {
        let [dirfd, path, mode, ..] = *a;
        let path = self.path_argument(mem, path)?;
        let done = self.change_mode(dirfd, &path, mode, true);
        self.noted(&path, done)
    }

    /// `fchmodat` with flags.
    pub(super) fn fchmodat2(&mut self, mem: &Memory, a: &[u64; 6]) -> Result<u64, Errno> {
        let [dirfd, path, mode, flags, ..] = *a;
        if flags & !(AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH) != 0 {
            return Err(Errno::EINVAL);
        }
        let mut path = self.path_argument(mem, path)?;
        if path.is_empty() && flags & AT_EMPTY_PATH != 0 {
            if dirfd as i32 != AT_FDCWD {
                return self.fchmod(dirfd, mode);
            }
            path = b".".to_vec();
        }
        let done = self.change_mode(dirfd, &path, mode, flags & AT_SYMLINK_NOFOLLOW == 0);
        self.noted(&path, done)
    }

    fn change_mode(&self, dirfd: u64, path: &[u8], mode: u64, follow: bool) -> Result<u64, Errno> {
        let (dirfd, path) = self.on_host(dirfd, path, follow)?;
        let place = self.resolve(dirfd, &path, follow)?;
        let node = place.existing()?;
        self.writable_root()?;
        if node.is_link() {
            return Err(Errno::EOPNOTSUPP);
        }
        self.check_owned()?;
        set_mode(node, permissions(mode)?)?;
        Ok(0)
    }

    /// All files are the user's as whom the program was started.
    fn check_owned(&self) -> Result<(), Errno> {
        match self.credentials.owns(self.tree.owner) {
            true => Ok(()),
            false => Err(Errno::EPERM),
        }
    }

    /// `fchownat`.
    pub(super) fn chown_at(&self, mem: &Memory, a: &[u64; 6]) -> Result<u64, Errno> {
        self.change_at(mem, a)?;
        self.credentials
            .check_new_owner(self.tree.owner, [a[2], a[3]])?;
        Ok(0)
    }

    /// `fchown`.
    pub(super) fn chown_open(&self, a: &[u64; 6]) -> Result<u64, Errno> {
        self.change_open(a[0])?;
        self.credentials
            .check_new_owner(self.tree.owner, [a[1], a[2]])?;
        Ok(0)
    }

    /// `utimensat`; without a path it is `futimens`.
    pub(super) fn utimensat(&self, mem: &Memory, a: &[u64; 6]) -> Result<u64, Errno> {
        match a[1] {
            0 => self.change_open(a[0]),
            _ => self.change_at(mem, a),
        }
    }

    /// Owners and times are not kept, except that the file must exist.
    pub(super) fn change_at(&self, mem: &Memory, a: &[u64; 6]) -> Result<u64, Errno> {
        let (dirfd, path) = self.on_host(a[0], &self.path_argument(mem, a[1])?, true)?;
        self.resolve(dirfd, &path, true)?.existing()?;
        self.writable_root().map(|_| 0)
    }

    /// Owners and times of an open file.
    pub(super) fn change_open(&self, fd: u64) -> Result<u64, Errno> {
        if matches!(self.files.get(fd)?.kind, Kind::Place(_)) {
            return Err(Errno::EBADF);
        }
        self.writable_root().map(|_| 0)
    }
}

/// Gives a file of the host exactly this mode.
pub(super) fn set_mode(node: &Node, mode: Mode) -> Result<(), Errno> {
    Ok(fs::chmod(node.host_name(), mode)?)
}

/// The mode that is asked for.
///
/// # Errors
/// [`Errno::EPERM`] if others would run the file as its owner.
fn permissions(mode: u64) -> Result<Mode, Errno> {
    if mode as u32 & OTHER_IDENTITY != 0 {
        Err(Errno::EPERM)
    } else {
        Ok(Mode::from(mode as u32 & PERMISSIONS))
    }
}

/// The mode of a file that is created.
pub(super) fn new_mode(mode: u64, umask: u32) -> Mode {
    Mode::from(mode as u32 & PERMISSIONS & !umask)
}
