//! Calls on the content of open files: reading, writing, positions, sizes.

use crate::host::sys::unix_fs::FileExt;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};

use super::abi::OpenFlags;
use super::descriptors::{Kind, OpenFile};
use super::errno::Errno;
use super::outcome::{Outcome, Unserved};
use super::record::read_words;
use super::signals::Signal;
use super::streams::{Which, retry};
use super::threads::Blocked;
use super::{Linux, StopReason};
use crate::memory::Memory;
use crate::process::Thread;

/// No call transfers more (Linux `MAX_RW_COUNT`).
pub(super) const MAX_TRANSFER_BYTES: u64 = 0x7fff_f000;
const MAX_IOVECS: u64 = 1024;
/// Regular files are read in pieces, so that a call for much more than there is does not dirty
/// its whole buffer.
pub(super) const PIECE_BYTES: u64 = 1 << 20;

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
            (Kind::Stdin, read),
            (Kind::Output(Which::Stdout), write),
            (Kind::Output(Which::Stderr), write),
        ] {
            // Three descriptors are always below the limit.
            let _ = self.files.insert(
                OpenFile {
                    kind,
                    flags,
                    path: None,
                    number: None,
                },
                self.limits.descriptors(),
            );
        }
    }

    /// The files of the process, among which a made-up one shows what is now the case if it is read from its start.
    pub(super) fn fresh(
        &mut self,
        thread: &Thread,
        mem: &Memory,
        fd: u64,
        offset: Option<u64>,
    ) -> &mut Linux {
        self.refresh_made(thread, mem, fd, offset);
        self
    }

    /// `read` of whatever the descriptor is.
    pub(super) fn read_any(
        &mut self,
        thread: &mut Thread,
        mem: &mut Memory,
        a: &[u64; 6],
    ) -> Outcome {
        if self.is_event(a[0]) {
            Ok(self.read_event(thread, mem, a)?)
        } else if self.is_signal_file(a[0]) {
            self.read_signals(thread, mem, a)
        } else {
            self.fresh(thread, mem, a[0], None).read(mem, a)
        }
    }

    fn read(&mut self, mem: &mut Memory, a: &[u64; 6]) -> Outcome {
        let [fd, addr, len, ..] = *a;
        self.read_from(mem, fd, addr, len, None)
    }

    pub(super) fn write(&mut self, mem: &Memory, a: &[u64; 6]) -> Outcome {
        let [fd, addr, len, ..] = *a;
        // A pipe or a socket takes what fits, and the rest when there is room.
        let before = self.resumed.map_or(0, |resumed| resumed.done).min(len);
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
        if done < len
            && let Some(waits_for) = self.waits_for_room(fd)
            && mem.readable(addr.wrapping_add(done), 1).is_ok()
        {
            return Err(Unserved::wait_behind(done, waits_for));
        }
        Ok(done)
    }

    pub(super) fn pread(&mut self, mem: &mut Memory, a: &[u64; 6]) -> Outcome {
        let [fd, addr, len, offset, ..] = *a;
        self.read_from(mem, fd, addr, len, Some(file_offset(offset)?))
    }

    pub(super) fn pwrite(&mut self, mem: &Memory, a: &[u64; 6]) -> Outcome {
        let [fd, addr, len, offset, ..] = *a;
        self.write_to(mem, fd, addr, len, Some(file_offset(offset)?))
    }

    /// `readv`, and `preadv` with an offset.
    pub(super) fn readv(&mut self, mem: &mut Memory, a: &[u64; 6], offset: Option<u64>) -> Outcome {
        self.opened(a[0])?;
        let offset = offset.map(file_offset).transpose()?;
        let vectors = iovecs(mem, a[1], a[2])?;
        transfer(&vectors, |addr, len, done| {
            self.read_from(mem, a[0], addr, len, offset.map(|o| o + done))
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

    pub(super) fn readv2(&mut self, mem: &mut Memory, a: &[u64; 6]) -> Outcome {
        self.readv(mem, a, Linux::vector_offset(a)?)
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

    fn read_from(
        &mut self,
        mem: &mut Memory,
        fd: u64,
        addr: u64,
        len: u64,
        offset: Option<u64>,
    ) -> Outcome {
        self.in_time()?;
        let file = self.files.get_mut(fd)?;
        if !file.flags.read || file.flags.path_only {
            return Err(Errno::EBADF.into());
        }
        let allowed = mem.writable_prefix_bytes(addr, len.min(MAX_TRANSFER_BYTES));
        if allowed == 0 && len > 0 {
            return Err(Errno::EFAULT.into());
        }
        if matches!(file.kind, Kind::Socket(_)) {
            return match offset {
                Some(_) => Err(Errno::ESPIPE.into()),
                None => self.read_socket(mem, fd, addr, allowed),
            };
        }
        match &mut file.kind {
            Kind::File(host) => {
                let time = &mut self.time_limit;
                let is_late = || time.as_mut().is_some_and(|time| time.left().is_zero());
                Ok(read_file(host, mem, (addr, allowed), offset, is_late)?)
            }
            Kind::Directory(_) | Kind::MadeFolder(_) => Err(Errno::EISDIR.into()),
            Kind::MadeText(text) => {
                let bytes = text.read(allowed, offset);
                mem.write_bytes(addr, bytes)?;
                Ok(bytes.len() as u64)
            }
            Kind::Null | Kind::Zero | Kind::Full | Kind::Random => {
                self.read_device(mem, fd, addr, allowed)
            }
            _ if offset.is_some() => Err(Errno::ESPIPE.into()),
            Kind::Stdin => {
                let left = self.time_left();
                let buffer = mem.writable(addr, allowed.min(PIECE_BYTES))?;
                Ok(self.streams.read(buffer, left)? as u64)
            }
            Kind::Pipe(end) => {
                let mut pipe = end.lock();
                if pipe.is_empty() && pipe.has_writer() && len > 0 {
                    let nonblock = file.flags.nonblock;
                    return Err(Unserved::on_file(
                        nonblock,
                        "data in a pipe that only it writes",
                    ));
                }
                let taken = pipe.read(allowed as usize);
                mem.write_bytes(addr, &taken)?;
                Ok(taken.len() as u64)
            }
            Kind::Event(_) | Kind::Timer(_) if len < 8 => Err(Errno::EINVAL.into()),
            Kind::Event(_) | Kind::Timer(_) if allowed < 8 => Err(Errno::EFAULT.into()),
            Kind::Timer(timer) => match timer.take() {
                Some(count) => {
                    mem.write_bytes(addr, &count.to_le_bytes())?;
                    Ok(8)
                }
                None => Err(Unserved::on_file(
                    file.flags.nonblock,
                    "a timerfd that is not set",
                )),
            },
            Kind::Event(counter) => match counter.take() {
                Some(value) => {
                    mem.write_bytes(addr, &value.to_le_bytes())?;
                    Ok(8)
                }
                None => Err(Unserved::on_file(
                    file.flags.nonblock,
                    "an eventfd that only it writes",
                )),
            },
            Kind::Inotify(_) => self.read_notices(mem, fd, addr, len),
            Kind::Epoll(_) | Kind::Process(_) | Kind::Signal(_) | Kind::Perf(_) => {
                Err(Errno::EINVAL.into())
            }
            Kind::Output(_) | Kind::Socket(_) | Kind::Place(_) => Err(Errno::EBADF.into()),
        }
    }

    /// Reads `len` bytes of a device.
    fn read_device(&mut self, mem: &mut Memory, fd: u64, addr: u64, len: u64) -> Outcome {
        match self.files.get(fd)?.kind {
            Kind::Null => return Ok(0),
            Kind::Random => self.random.fill(mem.writable(addr, len)?),
            _ => mem.writable(addr, len)?.fill(0),
        }
        Ok(len)
    }

    fn write_to(
        &mut self,
        mem: &Memory,
        fd: u64,
        addr: u64,
        len: u64,
        offset: Option<u64>,
    ) -> Outcome {
        self.in_time()?;
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
        let file = self.files.get(fd)?;
        if matches!(file.kind, Kind::Socket(_)) {
            return match offset {
                Some(_) => Err(Errno::ESPIPE.into()),
                None => self.write_socket(fd, bytes),
            };
        }
        let allowed = bytes.len() as u64;
        let is_limited = matches!(file.kind, Kind::File(_) | Kind::Output(_));
        let within = if is_limited {
            allowed.min(self.output_left.unwrap_or(u64::MAX))
        } else {
            allowed
        };
        if within == 0 && allowed > 0 {
            self.stop = Some(StopReason::OutputLimit {
                bytes: self.output_limit.unwrap_or(0),
            });
            return Err(Errno::EFBIG.into());
        }
        let (within, span) = match file.kind {
            Kind::File(_) => self
                .room_in_file(fd, offset, within)
                .map(|(within, span)| (within, Some(span)))?,
            _ => (within, None),
        };
        let bytes = &bytes[..within as usize];
        self.charge_pipe(fd, bytes)?;
        let left = self.time_left();
        let file = self.files.get_mut(fd)?;
        let written = match &mut file.kind {
            Kind::File(host) => match offset {
                Some(offset) => retry(|| host.write_at(bytes, offset))?,
                None => retry(|| host.write(bytes))?,
            },
            Kind::Null | Kind::Zero | Kind::Random => bytes.len(),
            Kind::Full if bytes.is_empty() => 0,
            Kind::Full => return Err(Errno::ENOSPC.into()),
            _ if offset.is_some() => return Err(Errno::ESPIPE.into()),
            Kind::Output(which) => match self.streams.write(*which, bytes, left) {
                Err(Errno::EPIPE) => {
                    return Err(Unserved::Raises(Signal::Pipe, Errno::EPIPE));
                }
                result => result?,
            },
            Kind::Pipe(end) => {
                let mut pipe = end.lock();
                let has_reader = pipe.has_reader();
                let count = match has_reader {
                    true => pipe.write(bytes, file.flags.direct),
                    false => 0,
                };
                drop(pipe);
                if !has_reader {
                    return Err(Unserved::Raises(Signal::Pipe, Errno::EPIPE));
                }
                if count == 0 && !bytes.is_empty() {
                    let nonblock = file.flags.nonblock;
                    return Err(Unserved::on_file(
                        nonblock,
                        "room in a pipe that only it reads",
                    ));
                }
                count
            }
            Kind::Event(counter) => {
                let Some(bytes) = bytes.first_chunk() else {
                    return Err(Errno::EINVAL.into());
                };
                if counter.add(u64::from_le_bytes(*bytes))?.is_none() {
                    let nonblock = file.flags.nonblock;
                    return Err(Unserved::on_file(
                        nonblock,
                        "room in an eventfd that only it reads",
                    ));
                }
                8
            }
            Kind::Epoll(_)
            | Kind::Timer(_)
            | Kind::Process(_)
            | Kind::Signal(_)
            | Kind::Perf(_) => {
                return Err(Errno::EINVAL.into());
            }
            Kind::Stdin
            | Kind::Inotify(_)
            | Kind::Socket(_)
            | Kind::Directory(_)
            | Kind::MadeText(_)
            | Kind::MadeFolder(_)
            | Kind::Place(_) => {
                return Err(Errno::EBADF.into());
            }
        };
        if is_limited && let Some(left) = &mut self.output_left {
            *left -= written as u64;
        }
        if let Some(span) = span {
            self.count_growth(span, written as u64);
        }
        Ok(written as u64)
    }

    pub(super) fn close(&mut self, fd: u64) -> Result<u64, Errno> {
        self.files.close(fd).map(|()| 0)
    }

    pub(super) fn lseek(&mut self, a: &[u64; 6]) -> Result<u64, Errno> {
        const SET: u64 = 0;
        const CURRENT: u64 = 1;
        const END: u64 = 2;
        const DATA: u64 = 3;
        const HOLE: u64 = 4;
        let [fd, offset, whence, ..] = *a;
        let offset = offset as i64;
        match &mut self.files.get_mut(fd)?.kind {
            Kind::File(host) => {
                let target = match whence {
                    SET => SeekFrom::Start(u64::try_from(offset).map_err(|_| Errno::EINVAL)?),
                    CURRENT => SeekFrom::Current(offset),
                    END => SeekFrom::End(offset),
                    DATA | HOLE => return seek_content(host, offset, whence == DATA),
                    _ => return Err(Errno::EINVAL),
                };
                Ok(host.seek(target)?)
            }
            Kind::Directory(listing) => {
                let target = match whence {
                    SET => offset,
                    CURRENT => (listing.position() as i64).saturating_add(offset),
                    _ => return Err(Errno::EINVAL),
                };
                listing.seek(usize::try_from(target).map_err(|_| Errno::EINVAL)?);
                Ok(listing.position())
            }
            Kind::MadeText(text) if whence <= CURRENT => text.seek(offset, whence == SET),
            Kind::MadeText(_) => Err(Errno::EINVAL),
            Kind::MadeFolder(folder) => {
                let target = match whence {
                    SET => offset,
                    CURRENT => (folder.position() as i64).saturating_add(offset),
                    _ => return Err(Errno::EINVAL),
                };
                folder.seek(usize::try_from(target).map_err(|_| Errno::EINVAL)?);
                Ok(folder.position())
            }
            Kind::Null
            | Kind::Zero
            | Kind::Full
            | Kind::Random
            | Kind::Event(_)
            | Kind::Timer(_)
            | Kind::Process(_)
            | Kind::Signal(_)
            | Kind::Inotify(_)
            | Kind::Perf(_)
            | Kind::Epoll(_) => Ok(0),
            Kind::Place(_) => Err(Errno::EBADF),
            _ => Err(Errno::ESPIPE),
        }
    }

    pub(super) fn ftruncate(&mut self, fd: u64, len: u64) -> Outcome {
        let len = file_offset(len)?;
        let file = self.files.get(fd)?;
        match &file.kind {
            Kind::File(host) if file.flags.write => {
                let host = host.try_clone()?;
                self.resize(&host, len).map(|()| 0)
            }
            Kind::File(_) if !self.writable => Err(Errno::EROFS.into()),
            _ => Err(Errno::EINVAL.into()),
        }
    }

    pub(super) fn fsync(&mut self, fd: u64) -> Result<u64, Errno> {
        match &self.opened(fd)?.kind {
            Kind::File(host) if self.writable => Ok(host.sync_all().map(|()| 0)?),
            Kind::File(_) | Kind::Directory(_) | Kind::MadeFolder(_) => Ok(0),
            _ => Err(Errno::EINVAL),
        }
    }
}

/// `SEEK_DATA` and `SEEK_HOLE`: the next content or hole from `offset` on.
fn seek_content(host: &File, offset: i64, wants_data: bool) -> Result<u64, Errno> {
    use crate::host::sys::rustix::fs::SeekFrom::{Data, Hole};
    let from = u64::try_from(offset).map_err(|_| Errno::ENXIO)?;
    let target = if wants_data { Data(from) } else { Hole(from) };
    crate::host::sys::rustix::fs::seek(host, target).map_err(|e| std::io::Error::from(e).into())
}

/// Reads `len` bytes to `addr`, or fewer if there are no more or the run is out of time.
fn read_file(
    host: &mut File,
    mem: &mut Memory,
    (addr, len): (u64, u64),
    offset: Option<u64>,
    mut is_late: impl FnMut() -> bool,
) -> Result<u64, Errno> {
    let mut done = 0;
    while done < len && (done == 0 || !is_late()) {
        let piece = (len - done).min(PIECE_BYTES);
        let buffer = mem.writable(addr + done, piece)?;
        let count = match offset {
            Some(offset) => retry(|| host.read_at(buffer, offset + done)),
            None => retry(|| host.read(buffer)),
        };
        match count {
            Ok(0) => break,
            Ok(count) => done += count as u64,
            Err(_) if done > 0 => break,
            Err(errno) => return Err(errno),
        }
    }
    Ok(done)
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
