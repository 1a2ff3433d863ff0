//! Status of a file for the guest: `stat`, `statx`.

use crate::host::sys::rustix::fs::Stat;

use hps_isa::memory::Memory;

use super::Linux;
use super::abi::{BLOCK_BYTES, FileStat, FsStat, StatFormat};
use super::errno::Errno;
use super::kinds::Whereabouts;
use super::paths::GuestPath;
use super::procfs::Located;
use super::record::Record;
use super::time::NANOS_PER_SECOND;
use super::tree::AT_FDCWD;

pub(super) const AT_SYMLINK_NOFOLLOW: u64 = 0x100;
pub(super) const AT_EMPTY_PATH: u64 = 0x1000;
const AT_NO_AUTOMOUNT: u64 = 0x800;
/// The flags that `fstatat` knows.
const FLAGS: u64 = AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH | AT_NO_AUTOMOUNT;
/// How `statx` is to synchronize with a file system elsewhere: both bits together mean nothing.
const AT_STATX_SYNC_TYPE: u64 = 0x6000;
/// A bit of the mask that `statx` keeps for later.
const STATX_RESERVED: u64 = 0x8000_0000;

pub(super) const S_IFIFO: u32 = 0o010_000;
pub(super) const S_IFCHR: u32 = 0o020_000;
pub(super) const S_IFDIR: u32 = 0o040_000;
pub(super) const S_IFREG: u32 = 0o100_000;
pub(super) const S_IFLNK: u32 = 0o120_000;
pub(super) const S_IFSOCK: u32 = 0o140_000;
pub(super) const S_IFMT: u32 = 0o170_000;

/// The mode that the guest sees. If it may change files, these are the host's bits. Otherwise it is the
/// kind, and whether it can be executed: which other bits the host has depends on how the files came
/// there.
pub(super) fn mode_of(found: &Stat, is_writable: bool) -> u32 {
    let kind = found.st_mode & S_IFMT;
    match kind {
        S_IFLNK => S_IFLNK | 0o777,
        _ if is_writable => found.st_mode,
        S_IFDIR => S_IFDIR | 0o755,
        S_IFREG if found.st_mode & 0o100 != 0 => S_IFREG | 0o755,
        kind => kind | 0o644,
    }
}

pub(super) fn stat_of(found: &Stat, path: &GuestPath, is_writable: bool) -> FileStat {
    let kind = found.st_mode & S_IFMT;
    FileStat {
        device: super::DEVICE,
        inode: path.inode(),
        mode: mode_of(found, is_writable),
        links: match kind {
            S_IFDIR => 2,
            _ if is_writable => found.st_nlink as u32,
            _ => 1,
        },
        rdev: 0,
        size_bytes: match kind {
            S_IFDIR => u64::from(BLOCK_BYTES),
            _ => found.st_size as u64,
        },
        ..FileStat::UNFILLED
    }
}

/// The answer of `stat` for a file without a place.
pub(super) fn special_stat(mode: u32, number: u64) -> FileStat {
    FileStat {
        device: super::DEVICE,
        inode: number,
        mode,
        links: 1,
        rdev: 0,
        ..FileStat::UNFILLED
    }
}

/// An ext2 file system of 4 GiB, half full.
pub(super) const FILE_SYSTEM: FsStat = FsStat {
    kind: 0xef53,
    blocks: 1 << 20,
    free: 1 << 19,
    files: 1 << 18,
    free_files: 1 << 17,
    name_bytes: 255,
};

fn statx_bytes(stat: &FileStat) -> Vec<u8> {
    const BASIC_STATS: u32 = 0x7ff;
    let mut record = Record::new()
        .u32(BASIC_STATS)
        .u32(BLOCK_BYTES)
        .u64(0)
        .u32(stat.links)
        .u32(stat.owner.uid)
        .u32(stat.owner.gid)
        .u16(stat.mode as u16)
        .u16(0)
        .u64(stat.inode)
        .u64(stat.size_bytes)
        .u64(stat.blocks())
        .u64(0);
    for _ in ["access", "birth", "change", "modification"] {
        record = record.u64(stat.time_seconds).u64(0);
    }
    // Numbers of the device that it is and of the one that holds it, major and minor.
    let [own, holding] = [stat.rdev, stat.device].map(|device| device as u32);
    record
        .u32(own >> 8)
        .u32(own & 0xff)
        .u32(holding >> 8)
        .u32(holding & 0xff)
        .pad_to(256)
        .done()
}

impl Linux {
    /// With the owner of all files, and the date on which the run begins, which all their times are.
    fn filled(&self, stat: FileStat) -> FileStat {
        FileStat {
            time_seconds: self.time.start_ns / NANOS_PER_SECOND,
            owner: self.tree.owner,
            ..stat
        }
    }

    pub(super) fn fstat(
        &self,
        mem: &mut Memory,
        a: &[u64; 6],
        format: StatFormat,
    ) -> Result<u64, Errno> {
        let stat = self.filled(self.stat_descriptor(a[0])?);
        mem.write_bytes(a[1], &self.abi.stat(&stat, format))?;
        Ok(0)
    }

    pub(super) fn stat_descriptor(&self, fd: u64) -> Result<FileStat, Errno> {
        let file = self.files.get(fd)?;
        let number = file.number.unwrap_or(u64::from(fd as u32) + 1);
        file.kind.stat(&Whereabouts {
            path: file.path.as_ref(),
            number,
            is_writable: self.tree.writable,
        })
    }

    pub(super) fn stat_path(
        &self,
        mem: &Memory,
        dirfd: u64,
        path: u64,
        flags: u64,
    ) -> Result<FileStat, Errno> {
        // Since 6.11 a null path means the descriptor itself, too.
        let path = if path == 0 && flags & AT_EMPTY_PATH != 0 {
            Vec::new()
        } else {
            self.path_argument(mem, path)?
        };
        if path.is_empty() && flags & AT_EMPTY_PATH != 0 && dirfd as i32 != AT_FDCWD {
            return self.stat_descriptor(dirfd);
        }
        let path = if path.is_empty() && flags & AT_EMPTY_PATH != 0 {
            b".".to_vec()
        } else {
            path
        };
        let follow = flags & AT_SYMLINK_NOFOLLOW == 0;
        let found = match self.locate(dirfd, &path, follow)? {
            Located::Host(dirfd, path) => self.stat_host(dirfd, &path, follow),
            made => return self.stat_located(&made),
        };
        match found {
            Err(Errno::ENOENT) if self.names_program(dirfd, &path) => {
                self.stat_located(&Located::Program)
            }
            found => found,
        }
    }

    fn stat_host(&self, dirfd: u64, path: &[u8], follow: bool) -> Result<FileStat, Errno> {
        let place = self.resolve(dirfd, path, follow)?;
        let path = self.root()?.path_at(&place.entrance)?;
        Ok(stat_of(&place.existing()?.stat, &path, self.tree.writable))
    }

    pub(super) fn newfstatat(
        &self,
        mem: &mut Memory,
        a: &[u64; 6],
        format: StatFormat,
    ) -> Result<u64, Errno> {
        let [dirfd, path, buffer, flags, ..] = *a;
        let flags = u64::from(flags as u32);
        if flags & !FLAGS != 0 {
            return Err(Errno::EINVAL);
        }
        let stat = self.filled(self.stat_path(mem, dirfd, path, flags)?);
        mem.write_bytes(buffer, &self.abi.stat(&stat, format))?;
        Ok(0)
    }

    pub(super) fn statfs(&self, mem: &mut Memory, a: &[u64; 6]) -> Result<u64, Errno> {
        let path = self.path_argument(mem, a[0])?;
        let system = match self.locate(AT_FDCWD as u64, &path, true)? {
            Located::Host(dirfd, path) => {
                self.resolve(dirfd, &path, true)?.existing()?;
                FILE_SYSTEM
            }
            Located::Made(made) => made.file_system(),
            Located::Program | Located::ProgramOf(_) => FILE_SYSTEM,
            Located::Descriptor(fd) => self.file_system_of(fd)?,
        };
        mem.write_bytes(a[1], &self.abi.statfs(&system))?;
        Ok(0)
    }

    pub(super) fn fstatfs(&self, mem: &mut Memory, a: &[u64; 6]) -> Result<u64, Errno> {
        let system = self.file_system_of(a[0])?;
        mem.write_bytes(a[1], &self.abi.statfs(&system))?;
        Ok(0)
    }

    fn file_system_of(&self, fd: u64) -> Result<FsStat, Errno> {
        Ok(self.files.get(fd)?.kind.file_system())
    }

    pub(super) fn statx(&self, mem: &mut Memory, a: &[u64; 6]) -> Result<u64, Errno> {
        let [dirfd, path, flags, mask, buffer, _] = *a;
        let flags = u64::from(flags as u32);
        if flags & !(FLAGS | AT_STATX_SYNC_TYPE) != 0
            || flags & AT_STATX_SYNC_TYPE == AT_STATX_SYNC_TYPE
            || mask & STATX_RESERVED != 0
        {
            return Err(Errno::EINVAL);
        }
        let stat = self.filled(self.stat_path(mem, dirfd, path, flags)?);
        mem.write_bytes(buffer, &statx_bytes(&stat))?;
        Ok(0)
    }
}
