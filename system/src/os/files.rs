//! Calls on the content of open files: reading, writing, positions, sizes.

use hps_isa::memory::Memory;

use super::Linux;
use super::abi::OpenFlags;
use super::descriptors::Kind;
use super::errno::Errno;
use super::kinds::Span;
use super::outcome::{Outcome, Unserved};
use super::record::read_words;
use super::streams::{Input, Which};
use super::threads::Blocked;
use crate::process::Thread;

/// No call transfers more (Linux `MAX_RW_COUNT`).
pub(super) const MAX_TRANSFER_BYTES: u64 = 0x7fff_f000;
const MAX_IOVECS: u64 = 1024;
/// Regular files are read in pieces, so that a call for much more than there is does not dirty
/// its whole buffer.
pub(super) const PIECE_BYTES: u64 = 1 << 20;

/// Place from which an offset of `lseek` counts, or content that it looks for.
pub(super) mod whence {
    pub const SET: u64 = 0;
    pub const CURRENT: u64 = 1;
    pub const END: u64 = 2;
    pub const DATA: u64 = 3;
    pub const HOLE: u64 = 4;
}

impl Linux {
    /// The standard descriptors 0, 1 and 2.
    pub(super) fn open_streams(&mut self) {
        let read = OpenFlags {
            read: true,
            ..OpenFlags::default()
        };
        let write = OpenFlags {
            write: true,
            ..OpenFlags::default()
        };
        for (kind, flags) in [
            (Kind::Input(Input), read),
            (Kind::Output(Which::Stdout), write),
            (Kind::Output(Which::Stderr), write),
        ] {
            // Three descriptors are always below the limit.
            let _ = self.open_unplaced(kind, flags);
        }
    }

    pub(super) fn read(&mut self, thread: &mut Thread, mem: &mut Memory, a: &[u64; 6]) -> Outcome {
        let [fd, addr, len, ..] = *a;
        self.read_from(thread, mem, (fd, None), (addr, len))
    }

    pub(super) fn write(&mut self, mem: &Memory, a: &[u64; 6]) -> Outcome {
        let [fd, addr, len, ..] = *a;
        // A pipe or a socket takes what fits, and the rest when there is room.
        let before = self.call.resumed.map_or(0, |resumed| resumed.done).min(len);
        let at = addr.wrapping_add(before);
        let done = match self.write_to(mem, fd, at, len - before, None) {
            Err(Unserved::Waits(wait)) => {
                return Err(Unserved::Waits(Blocked {
                    done: before,
                    ..wait
                }));
            }
            written => before + written?,
        };
        let file = self.files.get(fd)?;
        if done < len
            && !file.flags.nonblock
            && let Some(waits_for) = file.kind.waits_for_room()
            && mem.readable(addr.wrapping_add(done), 1).is_ok()
        {
            return Err(Unserved::wait_behind(done, waits_for));
        }
        Ok(done)
    }

    pub(super) fn pread(&mut self, thread: &mut Thread, mem: &mut Memory, a: &[u64; 6]) -> Outcome {
        let [fd, addr, len, offset, ..] = *a;
        let offset = Some(file_offset(offset)?);
        self.read_from(thread, mem, (fd, offset), (addr, len))
    }

    pub(super) fn pwrite(&mut self, mem: &Memory, a: &[u64; 6]) -> Outcome {
        let [fd, addr, len, offset, ..] = *a;
        self.write_to(mem, fd, addr, len, Some(file_offset(offset)?))
    }

    /// `readv`, and `preadv` with an offset.
    pub(super) fn readv(
        &mut self,
        thread: &mut Thread,
        mem: &mut Memory,
        a: &[u64; 6],
        offset: Option<u64>,
    ) -> Outcome {
        self.opened(a[0])?;
        let offset = offset.map(file_offset).transpose()?;
        let vectors = iovecs(mem, a[1], a[2])?;
        transfer(&vectors, |addr, len, done| {
            self.read_from(thread, mem, (a[0], offset.map(|o| o + done)), (addr, len))
        })
    }

    /// `writev`, and `pwritev` with an offset.
    pub(super) fn writev(&mut self, mem: &Memory, a: &[u64; 6], offset: Option<u64>) -> Outcome {
        self.opened(a[0])?;
        let offset = offset.map(file_offset).transpose()?;
        let vectors = iovecs(mem, a[1], a[2])?;
        transfer(&vectors, |addr, len, done| {
            self.write_to(mem, a[0], addr, len, offset.map(|o| o + done))
        })
    }

    pub(super) fn readv2(
        &mut self,
        thread: &mut Thread,
        mem: &mut Memory,
        a: &[u64; 6],
    ) -> Outcome {
        self.readv(thread, mem, a, Linux::vector_offset(a)?)
    }

    pub(super) fn writev2(&mut self, mem: &Memory, a: &[u64; 6]) -> Outcome {
        self.writev(mem, a, Linux::vector_offset(a)?)
    }

    /// The flags of `preadv2` and `pwritev2` that make no difference here; an offset of -1 is the position.
    fn vector_offset(a: &[u64; 6]) -> Result<Option<u64>, Errno> {
        const HIPRI_DSYNC_SYNC: u32 = 7;
        if a[5] as u32 & !HIPRI_DSYNC_SYNC != 0 {
            return Err(Errno::EOPNOTSUPP);
        }
        Ok(Some(a[3]).filter(|&offset| offset != u64::MAX))
    }

    /// Reads from a descriptor, at an offset if there is one, into memory.
    fn read_from(
        &mut self,
        thread: &mut Thread,
        mem: &mut Memory,
        (fd, offset): (u64, Option<u64>),
        (addr, len): (u64, u64),
    ) -> Outcome {
        self.run.in_time()?;
        let file = self.files.get(fd)?;
        if !file.flags.read || file.flags.path_only {
            return Err(Errno::EBADF.into());
        }
        let span = Span {
            fd,
            addr,
            len: len.min(MAX_TRANSFER_BYTES),
            offset,
            nonblock: file.flags.nonblock,
        };
        let read = file.kind.reader();
        read(self, thread, mem, &span)
    }

    fn write_to(
        &mut self,
        mem: &Memory,
        fd: u64,
        addr: u64,
        len: u64,
        offset: Option<u64>,
    ) -> Outcome {
        self.run.in_time()?;
        let file = self.files.get(fd)?;
        if !file.flags.write || file.flags.path_only {
            return Err(Errno::EBADF.into());
        }
        let allowed = mem.readable_prefix_bytes(addr, len.min(MAX_TRANSFER_BYTES));
        if allowed == 0 && len > 0 {
            return Err(Errno::EFAULT.into());
        }
        self.write_bytes(fd, mem.readable(addr, allowed)?, offset)
    }

    /// Writes to a descriptor that is open for writing.
    pub(super) fn write_bytes(&mut self, fd: u64, bytes: &[u8], offset: Option<u64>) -> Outcome {
        let write = self.files.get(fd)?.kind.writer();
        write(self, fd, bytes, offset)
    }

    pub(super) fn close(&mut self, fd: u64) -> Result<u64, Errno> {
        self.files.close(fd).map(|()| 0)
    }

    pub(super) fn lseek(&mut self, a: &[u64; 6]) -> Result<u64, Errno> {
        let [fd, offset, whence, ..] = *a;
        self.files.get_mut(fd)?.kind.seek(offset as i64, whence)
    }

    pub(super) fn ftruncate(&mut self, fd: u64, len: u64) -> Outcome {
        let len = file_offset(len)?;
        let file = self.files.get(fd)?;
        match &file.kind {
            Kind::File(host) if file.flags.write => {
                let host = host.try_clone()?;
                self.resize(&host, len).map(|()| 0)
            }
            Kind::File(_) if !self.tree.writable => Err(Errno::EROFS.into()),
            _ => Err(Errno::EINVAL.into()),
        }
    }

    pub(super) fn fsync(&mut self, fd: u64) -> Result<u64, Errno> {
        match &self.opened(fd)?.kind {
            Kind::File(host) if self.tree.writable => Ok(host.sync_all().map(|()| 0)?),
            Kind::File(_) | Kind::Directory(_) | Kind::MadeFolder(_) => Ok(0),
            _ => Err(Errno::EINVAL),
        }
    }
}

/// Where a folder goes on: at a number of entries from its start, or from the next one.
pub(super) fn folder_target(position: usize, offset: i64, whence: u64) -> Result<usize, Errno> {
    let target = match whence {
        whence::SET => offset,
        whence::CURRENT => (position as i64).saturating_add(offset),
        _ => return Err(Errno::EINVAL),
    };
    usize::try_from(target).map_err(|_| Errno::EINVAL)
}

/// Offsets are signed 64-bit numbers that must not be negative; room is left for the length.
pub(super) fn file_offset(offset: u64) -> Result<u64, Errno> {
    if offset <= i64::MAX as u64 - MAX_TRANSFER_BYTES {
        Ok(offset)
    } else {
        Err(Errno::EINVAL)
    }
}

/// The buffers of a vectored call, together at most [`MAX_TRANSFER_BYTES`].
pub(super) fn iovecs(mem: &Memory, addr: u64, count: u64) -> Result<Vec<(u64, u64)>, Errno> {
    if count > MAX_IOVECS {
        return Err(Errno::EINVAL);
    }
    let mut left = MAX_TRANSFER_BYTES;
    let mut vectors = Vec::with_capacity(count as usize);
    for index in 0..count {
        let [base, len] = read_words(mem, addr.wrapping_add(index * 16))?;
        if len > i64::MAX as u64 {
            return Err(Errno::EINVAL);
        }
        let len = len.min(left);
        left -= len;
        vectors.push((base, len));
    }
    Ok(vectors)
}

/// Goes through the buffers until one is transferred only in part. An error counts only if nothing
/// was transferred before it.
fn transfer(vectors: &[(u64, u64)], mut step: impl FnMut(u64, u64, u64) -> Outcome) -> Outcome {
    let mut total = 0;
    for &(base, len) in vectors.iter().filter(|v| v.1 > 0) {
        match step(base, len, total) {
            Ok(count) => {
                total += count;
                if count < len {
                    break;
                }
            }
            Err(errno) if total == 0 => return Err(errno),
            Err(_) => break,
        }
    }
    Ok(total)
}
