//! Calls on the tree of files: opening, listing, changing.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};

use super::Linux;
use super::abi::OpenFlags;
use super::abi::short_inode;
use super::descriptors::{Entry, Kind, Listing, OpenFile};
use super::errno::Errno;
use super::paths::{GuestPath, PATH_MAX, Resolved, Root};
use super::record::{Record, write_optional};
use super::stat::{AT_SYMLINK_NOFOLLOW, mode_of};
use crate::memory::Memory;

pub(super) const AT_FDCWD: i32 = -100;
pub(super) const AT_REMOVEDIR: u64 = 0x200;

const DT_UNKNOWN: u8 = 0;
const DT_DIR: u8 = 4;
const DT_REG: u8 = 8;
const DT_LNK: u8 = 10;

impl Linux {
    pub(super) fn root(&self) -> Result<&Root, Errno> {
        self.root.as_ref().ok_or(Errno::ENOENT)
    }

    /// A change of the tree is asked for.
    pub(super) fn writable_root(&self) -> Result<&Root, Errno> {
        let root = self.root()?;
        if self.writable {
            Ok(root)
        } else {
            Err(Errno::EROFS)
        }
    }

    pub(super) fn path_argument(&self, mem: &Memory, addr: u64) -> Result<Vec<u8>, Errno> {
        mem.read_cstr(addr, PATH_MAX - 1)?
            .ok_or(Errno::ENAMETOOLONG)
    }

    /// Where a relative path starts.
    fn start(&self, dirfd: u64, path: &[u8]) -> Result<GuestPath, Errno> {
        if path.first() == Some(&b'/') {
            return Ok(GuestPath::default());
        }
        if dirfd as i32 == AT_FDCWD {
            return Ok(self.cwd.clone());
        }
        let file = self.files.get(dirfd)?;
        file.path.clone().ok_or(Errno::ENOTDIR)
    }

    pub(super) fn resolve(&self, dirfd: u64, path: &[u8], follow: bool) -> Result<Resolved, Errno> {
        let start = self.start(dirfd, path)?;
        self.root()?.resolve(&start, path, follow)
    }

    pub(super) fn openat(&mut self, mem: &Memory, a: &[u64; 6]) -> Result<u64, Errno> {
        let [dirfd, path, flags, mode, ..] = *a;
        let path = self.path_argument(mem, path)?;
        let flags = self.abi.open_rules().decode(flags);
        let limit = self.limits.descriptors();
        if let Some(kind) = self.device(&path) {
            return self.files.insert(
                OpenFile {
                    kind,
                    flags,
                    path: None,
                },
                limit,
            );
        }
        let keeps_link = flags.nofollow || (flags.create && flags.exclusive);
        let place = self.resolve(dirfd, &path, !keeps_link)?;
        let kind = self.open_kind(&place, flags, mode as u32 & !self.umask)?;
        self.files.insert(
            OpenFile {
                kind,
                flags,
                path: Some(place.guest),
            },
            limit,
        )
    }

    /// The few devices that programs take for granted. They exist wherever there are files.
    pub(super) fn device(&self, path: &[u8]) -> Option<Kind> {
        self.root.as_ref()?;
        match path {
            b"/dev/null" => Some(Kind::Null),
            b"/dev/zero" => Some(Kind::Zero),
            b"/dev/random" | b"/dev/urandom" => Some(Kind::Random),
            _ => None,
        }
    }

    fn open_kind(&self, place: &Resolved, flags: OpenFlags, mode: u32) -> Result<Kind, Errno> {
        let Some(found) = &place.found else {
            if !flags.create {
                return Err(Errno::ENOENT);
            }
            self.writable_root()?;
            return if place.wants_directory {
                Err(Errno::EISDIR)
            } else {
                open_file(place, flags, mode)
            };
        };
        place.existing()?;
        if flags.create && flags.exclusive {
            return Err(Errno::EEXIST);
        }
        if flags.path_only {
            let fits = found.is_dir() || !flags.directory;
            return if fits {
                Ok(Kind::Place)
            } else {
                Err(Errno::ENOTDIR)
            };
        }
        if found.is_symlink() {
            return Err(Errno::ELOOP);
        }
        if found.is_dir() {
            let changes = flags.write || flags.create || flags.truncate;
            return if changes {
                Err(Errno::EISDIR)
            } else {
                Ok(Kind::Directory(list(place)?))
            };
        }
        if flags.directory {
            return Err(Errno::ENOTDIR);
        }
        // Opening a pipe or a device of the host could block or reach out of the root.
        if !found.is_file() {
            return Err(Errno::EACCES);
        }
        if flags.write || flags.truncate {
            self.writable_root()?;
        }
        open_file(place, flags, mode)
    }

    pub(super) fn readlinkat(&self, mem: &mut Memory, a: &[u64; 6]) -> Result<u64, Errno> {
        let [dirfd, path, buffer, size, ..] = *a;
        if size as i64 <= 0 {
            return Err(Errno::EINVAL);
        }
        let path = self.path_argument(mem, path)?;
        let target = if path == b"/proc/self/exe" {
            self.exe.clone()
        } else {
            let place = self.resolve(dirfd, &path, false)?;
            if !place.existing()?.is_symlink() {
                return Err(Errno::EINVAL);
            }
            std::fs::read_link(&place.host)?.into_os_string().into_vec()
        };
        let len = target.len().min(size as usize);
        mem.write_bytes(buffer, &target[..len])?;
        Ok(len as u64)
    }

    pub(super) fn faccessat(&self, mem: &Memory, a: &[u64; 6], flags: u64) -> Result<u64, Errno> {
        const X_OK: u64 = 1;
        const W_OK: u64 = 2;
        let [dirfd, path, wanted, ..] = *a;
        let path = self.path_argument(mem, path)?;
        if self.device(&path).is_some() {
            return if wanted & X_OK == 0 {
                Ok(0)
            } else {
                Err(Errno::EACCES)
            };
        }
        let place = self.resolve(dirfd, &path, flags & AT_SYMLINK_NOFOLLOW == 0)?;
        let found = place.existing()?;
        if wanted & W_OK != 0 && !self.writable {
            return Err(Errno::EROFS);
        }
        if wanted & W_OK != 0 && found.permissions().readonly() {
            return Err(Errno::EACCES);
        }
        if wanted & X_OK != 0 && mode_of(found) & 0o100 == 0 {
            return Err(Errno::EACCES);
        }
        Ok(0)
    }

    pub(super) fn getcwd(&self, mem: &mut Memory, a: &[u64; 6]) -> Result<u64, Errno> {
        let mut text = self.cwd.text();
        text.push(0);
        if (a[1] as usize) < text.len() {
            return Err(Errno::ERANGE);
        }
        mem.write_bytes(a[0], &text)?;
        Ok(text.len() as u64)
    }

    pub(super) fn chdir(&mut self, mem: &Memory, a: &[u64; 6]) -> Result<u64, Errno> {
        let path = self.path_argument(mem, a[0])?;
        let place = self.resolve(AT_FDCWD as u64, &path, true)?;
        if !place.existing()?.is_dir() {
            return Err(Errno::ENOTDIR);
        }
        self.cwd = place.guest;
        Ok(0)
    }

    pub(super) fn fchdir(&mut self, fd: u64) -> Result<u64, Errno> {
        let file = self.files.get(fd)?;
        match (&file.kind, &file.path) {
            (Kind::Directory(_) | Kind::Place, Some(path)) => {
                if !std::fs::symlink_metadata(self.root()?.host(path))?.is_dir() {
                    return Err(Errno::ENOTDIR);
                }
                self.cwd = path.clone();
                Ok(0)
            }
            _ => Err(Errno::ENOTDIR),
        }
    }

    pub(super) fn getdents64(&mut self, mem: &mut Memory, a: &[u64; 6]) -> Result<u64, Errno> {
        self.list_entries(mem, a, dirent)
    }

    /// `getdirentries` of OSF/1, which also tells where in the directory it began.
    pub(super) fn osf_getdirentries(
        &mut self,
        mem: &mut Memory,
        a: &[u64; 6],
    ) -> Result<u64, Errno> {
        let start = match &self.files.get(a[0])?.kind {
            Kind::Directory(listing) => listing.position as u64,
            _ => return Err(Errno::ENOTDIR),
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
        let Kind::Directory(listing) = &mut self.files.get_mut(fd)?.kind else {
            return Err(Errno::ENOTDIR);
        };
        let mut bytes = Vec::new();
        let mut position = listing.position;
        while let Some(entry) = listing.entries.get(position) {
            let record = encode(entry, position as u64 + 1);
            if (bytes.len() + record.len()) as u64 > size {
                break;
            }
            bytes.extend(record);
            position += 1;
        }
        if bytes.is_empty() && position < listing.entries.len() {
            return Err(Errno::EINVAL);
        }
        mem.write_bytes(buffer, &bytes)?;
        listing.position = position;
        Ok(bytes.len() as u64)
    }

    pub(super) fn mkdirat(&self, mem: &Memory, a: &[u64; 6]) -> Result<u64, Errno> {
        let [dirfd, path, mode, ..] = *a;
        let path = self.path_argument(mem, path)?;
        let place = self.resolve(dirfd, &path, false)?;
        if place.found.is_some() {
            return Err(Errno::EEXIST);
        }
        self.writable_root()?;
        let mode = mode as u32 & 0o777 & !self.umask;
        std::fs::DirBuilder::new().mode(mode).create(&place.host)?;
        Ok(0)
    }

    pub(super) fn unlinkat(&self, mem: &Memory, a: &[u64; 6]) -> Result<u64, Errno> {
        let [dirfd, path, flags, ..] = *a;
        let path = self.path_argument(mem, path)?;
        let place = self.resolve(dirfd, &path, false)?;
        let found = place.existing()?;
        self.writable_root()?;
        if place.guest == GuestPath::default() {
            return Err(Errno::EBUSY);
        }
        match (flags & AT_REMOVEDIR != 0, found.is_dir()) {
            (true, true) => std::fs::remove_dir(&place.host)?,
            (true, false) => return Err(Errno::ENOTDIR),
            (false, true) => return Err(Errno::EISDIR),
            (false, false) => std::fs::remove_file(&place.host)?,
        }
        Ok(0)
    }

    pub(super) fn renameat(&self, mem: &Memory, a: &[u64; 6], flags: u64) -> Result<u64, Errno> {
        const NOREPLACE: u64 = 1;
        let [from_dir, from, to_dir, to, ..] = *a;
        let from = self.resolve(from_dir, &self.path_argument(mem, from)?, false)?;
        from.existing()?;
        let to = self.resolve(to_dir, &self.path_argument(mem, to)?, false)?;
        if flags & !NOREPLACE != 0 {
            return Err(Errno::EINVAL);
        }
        if flags & NOREPLACE != 0 && to.found.is_some() {
            return Err(Errno::EEXIST);
        }
        self.writable_root()?;
        let top = GuestPath::default();
        if from.guest == top || to.guest == top {
            return Err(Errno::EBUSY);
        }
        std::fs::rename(&from.host, &to.host)?;
        Ok(0)
    }

    /// Modes, owners and times are not kept, except that the file must exist.
    pub(super) fn change_at(&self, mem: &Memory, a: &[u64; 6]) -> Result<u64, Errno> {
        let place = self.resolve(a[0], &self.path_argument(mem, a[1])?, true)?;
        place.existing()?;
        self.writable_root().map(|_| 0)
    }

    /// The same for an open file.
    pub(super) fn change_open(&self, fd: u64) -> Result<u64, Errno> {
        self.files.get(fd)?;
        self.writable_root().map(|_| 0)
    }
}

fn open_file(place: &Resolved, flags: OpenFlags, mode: u32) -> Result<Kind, Errno> {
    let mut options = OpenOptions::new();
    options
        .read(flags.read)
        .write(flags.write && !flags.append)
        .append(flags.write && flags.append);
    // The last component was resolved, so a link there now was put there behind our back.
    options.mode(mode & 0o777).custom_flags(libc::O_NOFOLLOW);
    let creates = flags.create && place.found.is_none();
    // std insists on write access for these; a file that is only read is created first.
    if creates && !flags.write {
        File::create_new(&place.host)?;
    } else if creates {
        options.create_new(true);
    }
    let file = options.open(&place.host)?;
    if flags.truncate && flags.write {
        file.set_len(0)?;
    }
    Ok(Kind::File(file))
}

/// The entries of a directory, sorted by name: the host's order depends on the host.
fn list(place: &Resolved) -> Result<Listing, Errno> {
    let mut entries = Vec::new();
    for entry in std::fs::read_dir(&place.host)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        let kind = match (kind.is_dir(), kind.is_symlink(), kind.is_file()) {
            (true, ..) => DT_DIR,
            (_, true, _) => DT_LNK,
            (_, _, true) => DT_REG,
            _ => DT_UNKNOWN,
        };
        let name = entry.file_name();
        entries.push(Entry {
            inode: place.guest.child(&name).inode(),
            name,
            kind,
        });
    }
    entries.sort_by(|a, b| a.name.cmp(&b.name));
    let special = [(".", place.guest.clone()), ("..", place.guest.parent())];
    let special = special.map(|(name, path)| Entry {
        name: name.into(),
        inode: path.inode(),
        kind: DT_DIR,
    });
    entries.splice(0..0, special);
    Ok(Listing {
        entries,
        position: 0,
    })
}

/// `struct linux_dirent64`.
fn dirent(entry: &Entry, next: u64) -> Vec<u8> {
    const NAME_OFFSET: usize = 19;
    let name = entry.name.as_bytes();
    let len = (NAME_OFFSET + name.len() + 1).next_multiple_of(8);
    let head = Record::new().u64(entry.inode).u64(next).u16(len as u16);
    head.bytes(&[entry.kind]).bytes(name).pad_to(len).done()
}

/// `struct dirent` of OSF/1: 32 bits of the file's number, the lengths of the record and of the name,
/// the name.
fn osf_dirent(entry: &Entry, _: u64) -> Vec<u8> {
    const NAME_OFFSET: usize = 8;
    let name = entry.name.as_bytes();
    let len = (NAME_OFFSET + name.len() + 1).next_multiple_of(4);
    let head = Record::new()
        .u32(short_inode(entry.inode))
        .u16(len as u16)
        .u16(name.len() as u16);
    head.bytes(name).pad_to(len).done()
}

/// Checks the root folder of a configuration.
pub(super) fn open_root(path: &std::path::Path) -> io::Result<Root> {
    Root::new(path)
}
