//! Calls that prepare files or say what will be done with them: allocation, write-back, advice.

use super::Linux;
use super::descriptors::{Kind, OpenFile};
use super::errno::Errno;
use super::outcome::Outcome;

impl Linux {
    /// `fallocate`: makes the file as long as asked, with a hole. Space that is set aside beyond the end is
    /// nothing that a program can notice.
    pub(super) fn fallocate(&mut self, a: &[u64; 6]) -> Outcome {
        const KEEP_SIZE: u32 = 1;
        let [fd, mode, offset, len, ..] = *a;
        let file = self.opened(fd)?;
        let (offset, len) = (offset as i64, len as i64);
        if offset < 0 || len <= 0 {
            return Err(Errno::EINVAL.into());
        }
        if mode as u32 & !KEEP_SIZE != 0 {
            return Err(Errno::EOPNOTSUPP.into());
        }
        if !file.flags.write {
            return Err(Errno::EBADF.into());
        }
        let host = match &file.kind {
            Kind::File(host) => host.try_clone()?,
            Kind::Directory(_) => return Err(Errno::EISDIR.into()),
            kind if kind.is_fifo() => return Err(Errno::ESPIPE.into()),
            _ => return Err(Errno::ENODEV.into()),
        };
        let end = offset.checked_add(len).ok_or(Errno::EFBIG)? as u64;
        if mode as u32 & KEEP_SIZE == 0 && end > host.metadata()?.len() {
            self.resize(&host, end)?;
        }
        Ok(0)
    }

    /// `syncfs`. When the host writes its files to a disk is not for a guest to say.
    pub(super) fn syncfs(&self, fd: u64) -> Result<u64, Errno> {
        self.opened(fd).map(|_| 0)
    }

    pub(super) fn sync_file_range(&self, a: &[u64; 6]) -> Result<u64, Errno> {
        const FLAGS: u32 = 7;
        let [fd, offset, len, flags, ..] = *a;
        let file = self.opened(fd)?;
        let (offset, len) = (offset as i64, len as i64);
        let end = offset.checked_add(len);
        if flags as u32 & !FLAGS != 0 || offset < 0 || end.is_none_or(|end| end < offset) {
            return Err(Errno::EINVAL);
        }
        match file.kind {
            Kind::File(_) | Kind::Directory(_) => Ok(0),
            _ => Err(Errno::ESPIPE),
        }
    }

    pub(super) fn readahead(&self, a: &[u64; 6]) -> Result<u64, Errno> {
        let file = self.opened(a[0])?;
        match file.kind {
            _ if !file.flags.read => Err(Errno::EBADF),
            Kind::File(_) => Ok(0),
            _ => Err(Errno::EINVAL),
        }
    }

    pub(super) fn fadvise(&self, a: &[u64; 6]) -> Result<u64, Errno> {
        const LAST_ADVICE: u32 = 5;
        let [fd, _offset, len, advice, ..] = *a;
        if self.opened(fd)?.kind.is_fifo() {
            return Err(Errno::ESPIPE);
        }
        if (len as i64) < 0 || advice as u32 > LAST_ADVICE {
            return Err(Errno::EINVAL);
        }
        Ok(0)
    }

    /// An open file that is more than a place in the tree.
    pub(super) fn opened(&self, fd: u64) -> Result<&OpenFile, Errno> {
        let file = self.files.get(fd)?;
        if file.flags.path_only {
            return Err(Errno::EBADF);
        }
        Ok(file)
    }
}
