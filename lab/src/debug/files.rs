//! Files of the guest's root for gdb (`vFile`): the program and its libraries, to be read only.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use gdbstub::target::ext::host_io::{
    FsKind, HostIo, HostIoClose, HostIoCloseOps, HostIoErrno, HostIoError, HostIoFstat,
    HostIoFstatOps, HostIoOpen, HostIoOpenFlags, HostIoOpenMode, HostIoOpenOps, HostIoPread,
    HostIoPreadOps, HostIoResult, HostIoSetfs, HostIoSetfsOps, HostIoStat,
};

use super::DebugError;
use super::target::Session;

/// Files that gdb has open at a time.
const MOST_OPEN: usize = 64;

/// Files that gdb has opened, whole.
#[derive(Default)]
pub(super) struct Opened(Vec<Option<Vec<u8>>>);

impl Opened {
    fn get(&self, number: u32) -> Option<&[u8]> {
        self.0.get(number as usize)?.as_deref()
    }
}

fn errno<T>(errno: HostIoErrno) -> Result<T, HostIoError<DebugError>> {
    Err(HostIoError::Errno(errno))
}

impl HostIo for Session<'_, '_> {
    fn support_open(&mut self) -> Option<HostIoOpenOps<'_, Self>> {
        Some(self)
    }

    fn support_close(&mut self) -> Option<HostIoCloseOps<'_, Self>> {
        Some(self)
    }

    fn support_pread(&mut self) -> Option<HostIoPreadOps<'_, Self>> {
        Some(self)
    }

    fn support_fstat(&mut self) -> Option<HostIoFstatOps<'_, Self>> {
        Some(self)
    }

    fn support_setfs(&mut self) -> Option<HostIoSetfsOps<'_, Self>> {
        Some(self)
    }
}

impl HostIoOpen for Session<'_, '_> {
    fn open(
        &mut self,
        filename: &[u8],
        flags: HostIoOpenFlags,
        _mode: HostIoOpenMode,
    ) -> HostIoResult<u32, Self> {
        let changes = HostIoOpenFlags::O_WRONLY | HostIoOpenFlags::O_RDWR;
        if flags.intersects(changes) {
            return errno(HostIoErrno::EROFS);
        }
        let Some(reader) = self.debugger.process().os.file_reader() else {
            return errno(HostIoErrno::ENOENT);
        };
        let Ok(content) = reader.read(Path::new(OsStr::from_bytes(filename))) else {
            return errno(HostIoErrno::ENOENT);
        };
        let files = &mut self.files.0;
        let number = match files.iter().position(Option::is_none) {
            Some(number) => number,
            None if files.len() >= MOST_OPEN => return errno(HostIoErrno::EMFILE),
            None => {
                files.push(None);
                files.len() - 1
            }
        };
        files[number] = Some(content);
        Ok(number as u32)
    }
}

impl HostIoClose for Session<'_, '_> {
    fn close(&mut self, fd: u32) -> HostIoResult<(), Self> {
        match self.files.0.get_mut(fd as usize).and_then(Option::take) {
            Some(_) => Ok(()),
            None => errno(HostIoErrno::EBADF),
        }
    }
}

impl HostIoPread for Session<'_, '_> {
    fn pread(
        &mut self,
        fd: u32,
        count: usize,
        offset: u64,
        buf: &mut [u8],
    ) -> HostIoResult<usize, Self> {
        match self.files.get(fd) {
            Some(content) => Ok(copy_range(content, offset, count, buf)),
            None => errno(HostIoErrno::EBADF),
        }
    }
}

impl HostIoFstat for Session<'_, '_> {
    fn fstat(&mut self, fd: u32) -> HostIoResult<HostIoStat, Self> {
        let Some(content) = self.files.get(fd) else {
            return errno(HostIoErrno::EBADF);
        };
        Ok(HostIoStat {
            st_dev: 0,
            st_ino: 0,
            st_mode: HostIoOpenMode::S_IFREG | HostIoOpenMode::S_IRUSR,
            st_nlink: 1,
            st_uid: 0,
            st_gid: 0,
            st_rdev: 0,
            st_size: content.len() as u64,
            st_blksize: 4096,
            st_blocks: (content.len() as u64).div_ceil(512),
            st_atime: 0,
            st_mtime: 0,
            st_ctime: 0,
        })
    }
}

impl HostIoSetfs for Session<'_, '_> {
    /// All processes see one root.
    fn setfs(&mut self, _fs: FsKind) -> HostIoResult<(), Self> {
        Ok(())
    }
}

/// Copies the part of `data` that begins at `offset` and has `length` bytes at most. Returns how many bytes there were.
pub(super) fn copy_range(data: &[u8], offset: u64, length: usize, into: &mut [u8]) -> usize {
    let rest = data.get(offset as usize..).unwrap_or_default();
    let len = rest.len().min(length).min(into.len());
    into[..len].copy_from_slice(&rest[..len]);
    len
}
