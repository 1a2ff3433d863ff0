//! Calls on descriptors: duplicates, pipes, flags.

use super::Linux;
use super::abi::{FcntlCommand, IoctlRequest, OpenFlags};
use super::descriptors::{Kind, OpenFile, PIPE_BYTES, PipeEnd};
use super::errno::Errno;
use super::record::Record;
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
        let rules = self.abi.open_rules();
        if flags as u32 as u64 & !rules.cloexec != 0 {
            return Err(Errno::EINVAL);
        }
        let cloexec = rules.decode(flags).cloexec;
        self.files
            .duplicate_to(from, to, cloexec, self.limits.descriptors())
    }

    /// `dup2`: where both are the same, that is no error.
    pub(super) fn dup2(&mut self, a: &[u64; 6]) -> Result<u64, Errno> {
        let [from, to, ..] = *a;
        if from as u32 == to as u32 {
            return self.files.get(from).map(|_| to);
        }
        self.files
            .duplicate_to(from, to, false, self.limits.descriptors())
    }

    pub(super) fn close_range(&mut self, a: &[u64; 6]) -> Result<u64, Errno> {
        const UNSHARE: u32 = 2;
        const CLOEXEC: u32 = 4;
        let [first, last, flags] = [a[0], a[1], a[2]].map(|argument| argument as u32);
        if flags & !(UNSHARE | CLOEXEC) != 0 || first > last {
            return Err(Errno::EINVAL);
        }
        let cloexec = flags & CLOEXEC != 0;
        self.files
            .close_range(u64::from(first), u64::from(last), cloexec);
        Ok(0)
    }

    pub(super) fn pipe2(&mut self, mem: &mut Memory, a: &[u64; 6]) -> Result<u64, Errno> {
        let rules = self.abi.open_rules();
        if a[1] as u32 as u64 & !(rules.cloexec | rules.nonblock) != 0 {
            return Err(Errno::EINVAL);
        }
        let (read_fd, write_fd) = self.open_pipe(a[1])?;
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

    /// A pipe whose descriptors are both results of the call.
    pub(super) fn pipe_pair(&mut self) -> Result<u64, Errno> {
        let (read_fd, write_fd) = self.open_pipe(0)?;
        self.second_result = Some(write_fd);
        Ok(read_fd)
    }

    /// The reader and the writer of a new pipe.
    fn open_pipe(&mut self, flags: u64) -> Result<(u64, u64), Errno> {
        let OpenFlags {
            cloexec, nonblock, ..
        } = self.abi.open_rules().decode(flags);
        let (reader, writer) = PipeEnd::pair();
        let limit = self.limits.descriptors();
        let number = self.files.fresh_number();
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
                    number: Some(number),
                },
                limit,
            )
        };
        let read_fd = open(Kind::PipeReader(reader), true)?;
        match open(Kind::PipeWriter(writer), false) {
            Ok(write_fd) => Ok((read_fd, write_fd)),
            Err(errno) => {
                self.files.close(read_fd)?;
                Err(errno)
            }
        }
    }

    pub(super) fn fcntl(&mut self, mem: &mut Memory, a: &[u64; 6]) -> Result<u64, Errno> {
        use FcntlCommand::*;
        const FD_CLOEXEC: u64 = 1;
        let [fd, command, argument, ..] = *a;
        let file = self.files.get(fd)?;
        let command = self.abi.fcntl_command(command).ok_or(Errno::EINVAL)?;
        let is_of_place = matches!(
            command,
            Duplicate { .. } | GetDescriptorFlags | SetDescriptorFlags | GetStatusFlags
        );
        if file.flags.path_only && !is_of_place {
            return Err(Errno::EBADF);
        }
        match command {
            Duplicate { cloexec } => {
                self.files
                    .duplicate(fd, argument, cloexec, self.limits.descriptors())
            }
            GetDescriptorFlags => Ok(u64::from(self.files.cloexec(fd)?)),
            SetDescriptorFlags => self
                .files
                .set_cloexec(fd, argument & FD_CLOEXEC != 0)
                .map(|()| 0),
            GetStatusFlags => Ok(self.abi.open_rules().status(self.files.get(fd)?.flags)),
            SetStatusFlags => {
                // Files of the host are not reopened, so only waiting can be changed.
                let nonblock = self.abi.open_rules().decode(argument).nonblock;
                self.files.get_mut(fd)?.flags.nonblock = nonblock;
                Ok(0)
            }
            // Nobody else is there to hold a lock.
            GetLock => {
                self.files.get(fd)?;
                mem.write_bytes(argument, &self.abi.unlocked().to_le_bytes())?;
                Ok(0)
            }
            SetLock => self.files.get(fd).map(|_| 0),
            AddSeals => self.add_seals(fd, argument),
            GetSeals => self.get_seals(fd),
            GetPipeSize => match self.files.get(fd)?.kind {
                Kind::PipeReader(_) | Kind::PipeWriter(_) => Ok(PIPE_BYTES as u64),
                _ => Err(Errno::EBADF),
            },
        }
    }

    /// No descriptor is a terminal: output is buffered the same way wherever it goes.
    pub(super) fn ioctl(&mut self, mem: &mut Memory, a: &[u64; 6]) -> Result<u64, Errno> {
        let [fd, request, argument, ..] = *a;
        let file = self.opened(fd)?;
        match (self.abi.ioctl_request(request), &file.kind) {
            (Some(IoctlRequest::CloseOnExec(set)), _) => {
                self.files.set_cloexec(fd, set).map(|()| 0)
            }
            (Some(IoctlRequest::BytesToRead), Kind::PipeReader(end)) => {
                let waiting = end.lock().buffer.len() as u32;
                mem.write_bytes(argument, &waiting.to_le_bytes())?;
                Ok(0)
            }
            _ => Err(Errno::ENOTTY),
        }
    }
}
