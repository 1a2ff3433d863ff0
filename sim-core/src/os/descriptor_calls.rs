//! Calls on descriptors: duplicates, pipes, flags, readiness.

use super::abi::OpenFlags;
use super::descriptors::{Kind, OpenFile, PIPE_BYTES, PipeEnd};
use super::errno::Errno;
use super::record::Record;
use super::{Linux, StopReason};
use crate::memory::Memory;

impl Linux {
    pub(super) fn dup(&mut self, fd: u64) -> Result<u64, Errno> {
        self.files
            .duplicate(fd, 0, false, self.limits.descriptors())
    }

    pub(super) fn dup3(&mut self, a: &[u64; 6]) -> Result<u64, Errno> {
        let [from, to, flags, ..] = *a;
        if from as u32 == to as u32 {
            return Err(Errno::EINVAL);
        }
        let cloexec = self.abi.open_flags(flags).cloexec;
        self.files
            .duplicate_to(from, to, cloexec, self.limits.descriptors())
    }

    pub(super) fn pipe2(&mut self, mem: &mut Memory, a: &[u64; 6]) -> Result<u64, Errno> {
        let OpenFlags {
            cloexec, nonblock, ..
        } = self.abi.open_flags(a[1]);
        let (reader, writer) = PipeEnd::pair();
        let limit = self.limits.descriptors();
        let mut open = |kind, read| {
            let flags = OpenFlags {
                read,
                write: !read,
                cloexec,
                nonblock,
                ..OpenFlags::default()
            };
            self.files.insert(
                OpenFile {
                    kind,
                    flags,
                    path: None,
                },
                limit,
            )
        };
        let read_fd = open(Kind::PipeReader(reader), true)?;
        let write_fd = match open(Kind::PipeWriter(writer), false) {
            Ok(fd) => fd,
            Err(errno) => {
                self.files.close(read_fd)?;
                return Err(errno);
            }
        };
        let pair = Record::new()
            .u32(read_fd as u32)
            .u32(write_fd as u32)
            .done();
        if mem.write_bytes(a[0], &pair).is_err() {
            self.files.close(read_fd)?;
            self.files.close(write_fd)?;
            return Err(Errno::EFAULT);
        }
        Ok(0)
    }

    pub(super) fn fcntl(&mut self, mem: &mut Memory, a: &[u64; 6]) -> Result<u64, Errno> {
        const DUPFD: u64 = 0;
        const GETFD: u64 = 1;
        const SETFD: u64 = 2;
        const GETFL: u64 = 3;
        const SETFL: u64 = 4;
        const GETLK: u64 = 5;
        const SETLK: u64 = 6;
        const SETLKW: u64 = 7;
        const DUPFD_CLOEXEC: u64 = 1030;
        const GETPIPE_SZ: u64 = 1032;
        const FD_CLOEXEC: u64 = 1;
        const F_UNLCK: u16 = 2;
        let [fd, command, argument, ..] = *a;
        match command {
            DUPFD | DUPFD_CLOEXEC => {
                let cloexec = command == DUPFD_CLOEXEC;
                self.files
                    .duplicate(fd, argument, cloexec, self.limits.descriptors())
            }
            GETFD => Ok(u64::from(self.files.cloexec(fd)?)),
            SETFD => self
                .files
                .set_cloexec(fd, argument & FD_CLOEXEC != 0)
                .map(|()| 0),
            GETFL => Ok(self.abi.status_flags(self.files.get(fd)?.flags)),
            SETFL => {
                // Files of the host are not reopened, so only waiting can be changed.
                let nonblock = self.abi.open_flags(argument).nonblock;
                self.files.get_mut(fd)?.flags.nonblock = nonblock;
                Ok(0)
            }
            // Nobody else is there to hold a lock.
            GETLK => {
                self.files.get(fd)?;
                mem.write_bytes(argument, &F_UNLCK.to_le_bytes())?;
                Ok(0)
            }
            SETLK | SETLKW => self.files.get(fd).map(|_| 0),
            GETPIPE_SZ => match self.files.get(fd)?.kind {
                Kind::PipeReader(_) | Kind::PipeWriter(_) => Ok(PIPE_BYTES as u64),
                _ => Err(Errno::EBADF),
            },
            _ => Err(Errno::EINVAL),
        }
    }

    /// No descriptor is a terminal: output is buffered the same way wherever it goes.
    pub(super) fn ioctl(&mut self, mem: &mut Memory, a: &[u64; 6]) -> Result<u64, Errno> {
        const FIONREAD: u64 = 0x541b;
        const FIOCLEX: u64 = 0x5451;
        const FIONCLEX: u64 = 0x5450;
        let [fd, request, argument, ..] = *a;
        let file = self.files.get(fd)?;
        match (request, &file.kind) {
            (FIOCLEX, _) => self.files.set_cloexec(fd, true).map(|()| 0),
            (FIONCLEX, _) => self.files.set_cloexec(fd, false).map(|()| 0),
            (FIONREAD, Kind::PipeReader(end)) => {
                let waiting = end.lock().buffer.len() as u32;
                mem.write_bytes(argument, &waiting.to_le_bytes())?;
                Ok(0)
            }
            _ => Err(Errno::ENOTTY),
        }
    }

    /// Everything is ready at once, except a pipe that is empty or full.
    pub(super) fn ppoll(&mut self, mem: &mut Memory, a: &[u64; 6]) -> Result<u64, Errno> {
        const POLLIN: u16 = 1;
        const POLLOUT: u16 = 4;
        const POLLHUP: u16 = 16;
        const POLLNVAL: u16 = 32;
        let [fds, count, timeout, ..] = *a;
        if count > self.limits.descriptors() {
            return Err(Errno::EINVAL);
        }
        let mut ready = 0;
        for index in 0..count {
            let at = fds.wrapping_add(index * 8);
            let fd = mem.read::<4>(at)?;
            let wanted = mem.read::<2>(at.wrapping_add(4))? as u16;
            let events = match self.files.get(fd).map(|file| &file.kind) {
                _ if (fd as i32) < 0 => 0,
                Err(_) => POLLNVAL,
                Ok(Kind::PipeReader(end)) => {
                    let pipe = end.lock();
                    let data = if pipe.buffer.is_empty() {
                        0
                    } else {
                        POLLIN & wanted
                    };
                    data | if pipe.writer_closed { POLLHUP } else { 0 }
                }
                Ok(Kind::PipeWriter(end)) if end.lock().buffer.len() >= PIPE_BYTES => 0,
                Ok(_) => wanted & (POLLIN | POLLOUT),
            };
            mem.write_bytes(at.wrapping_add(6), &events.to_le_bytes())?;
            ready += u64::from(events != 0);
        }
        if ready == 0 && timeout == 0 {
            self.stop = Some(StopReason::Deadlock {
                waits_for: "an event (ppoll) that nobody can cause",
            });
        }
        Ok(ready)
    }
}
