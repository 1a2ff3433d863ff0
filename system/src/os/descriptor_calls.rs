//! Calls on descriptors: duplicates, flags.

use hps_isa::memory::Memory;

use super::Linux;
use super::abi::{FcntlCommand, IoctlRequest};
use super::descriptors::Kind;
use super::errno::Errno;
use super::locks::SetMode;
use super::outcome::Outcome;
use crate::host::sys::rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use crate::process::Thread;

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

    /// `dup2`: equal descriptors are no error.
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

    pub(super) fn fcntl(&mut self, mem: &mut Memory, a: &[u64; 6]) -> Outcome {
        use FcntlCommand::*;
        const FD_CLOEXEC: u64 = 1;
        /// The same on both instruction sets.
        const O_ASYNC: u64 = 0o20000;
        let [fd, command, argument, ..] = *a;
        let file = self.files.get(fd)?;
        let command = self.abi.fcntl_command(command).ok_or(Errno::EINVAL)?;
        let is_of_place = matches!(
            command,
            Duplicate { .. } | GetDescriptorFlags | SetDescriptorFlags | GetStatusFlags
        );
        if file.flags.path_only && !is_of_place {
            return Err(Errno::EBADF.into());
        }
        match command {
            Duplicate { cloexec } => {
                let limit = self.limits.descriptors();
                Ok(self.files.duplicate(fd, argument, cloexec, limit)?)
            }
            GetDescriptorFlags => Ok(u64::from(self.files.cloexec(fd)?)),
            SetDescriptorFlags => {
                self.files.set_cloexec(fd, argument & FD_CLOEXEC != 0)?;
                Ok(0)
            }
            GetStatusFlags => {
                let is_async = self.perf_file(fd)?.is_some_and(|event| event.is_async());
                let flags = self.abi.open_rules().status(self.files.get(fd)?.flags);
                Ok(flags | if is_async { O_ASYNC } else { 0 })
            }
            SetStatusFlags => {
                if let Some(event) = self.perf_file(fd)? {
                    event.set_async((argument & O_ASYNC != 0).then_some(fd as u32));
                }
                // Other flags that can be changed later are not simulated.
                let flags = self.abi.open_rules().decode(argument);
                let file = self.files.get_mut(fd)?;
                if let Kind::File(host) = &file.kind
                    && flags.append != file.flags.append
                {
                    let there = fcntl_getfl(host)?;
                    let wanted = match flags.append {
                        true => there.union(OFlags::APPEND),
                        false => there.difference(OFlags::APPEND),
                    };
                    fcntl_setfl(host, wanted)?;
                }
                file.flags.append = flags.append;
                file.flags.nonblock = flags.nonblock;
                if matches!(file.kind, Kind::Pipe(_)) {
                    file.flags.direct = flags.direct;
                }
                Ok(0)
            }
            GetLock { of_open_file } => Ok(self.get_lock(mem, fd, argument, of_open_file)?),
            SetLock {
                of_open_file,
                waits,
            } => {
                let mode = SetMode {
                    of_open_file,
                    waits,
                };
                self.set_lock(mem, fd, argument, mode)
            }
            AddSeals => Ok(self.add_seals(fd, argument)?),
            GetSeals => Ok(self.get_seals(fd)?),
            GetPipeSize => Ok(self.pipe_size(fd)?),
            SetPipeSize => Ok(self.set_pipe_size(fd, argument)?),
            SetOwner | GetOwner | SetOwnerOfKind | GetOwnerOfKind | SetSignal | GetSignal => {
                Ok(self.control_owner(mem, [fd, argument], command)?)
            }
        }
    }

    /// `ioctl` of whatever the descriptor is.
    pub(super) fn ioctl_any(
        &mut self,
        thread: &mut Thread,
        mem: &mut Memory,
        a: &[u64; 6],
    ) -> Result<u64, Errno> {
        let control = self.files.get(a[0])?.kind.controller();
        control(self, thread, mem, a)
    }

    /// No descriptor is a terminal: output is buffered the same way wherever it goes.
    pub(super) fn ioctl(&mut self, mem: &mut Memory, a: &[u64; 6]) -> Result<u64, Errno> {
        let [fd, request, argument, ..] = *a;
        self.opened(fd)?;
        match self.abi.ioctl_request(request) {
            Some(IoctlRequest::CloseOnExec(set)) => self.files.set_cloexec(fd, set).map(|()| 0),
            Some(IoctlRequest::BytesToRead) => {
                let bytes = self.files.get(fd)?.kind.bytes_to_read()?;
                mem.write_bytes(argument, &bytes.to_le_bytes())?;
                Ok(0)
            }
            Some(IoctlRequest::Nonblock) => {
                let nonblock = mem.read::<4>(argument)? != 0;
                self.files.get_mut(fd)?.flags.nonblock = nonblock;
                Ok(0)
            }
            Some(IoctlRequest::Async) => self.set_async(mem, fd, argument),
            None => Err(Errno::ENOTTY),
        }
    }

    /// `FIOASYNC`: descriptors of all kinds can be told to send no signals when there is something to read (Linux
    /// `fs/ioctl.c`), only some can be told to send them. None are sent.
    fn set_async(&mut self, mem: &Memory, fd: u64, argument: u64) -> Result<u64, Errno> {
        if mem.read::<4>(argument)? == 0 {
            return Ok(0);
        }
        let kind = &self.files.get(fd)?.kind;
        if !kind.is_fifo() && !matches!(kind, Kind::Socket(_) | Kind::Inotify(_)) {
            return Err(Errno::ENOTTY);
        }
        self.run.warnings.once(
            "no SIGIO is sent when a descriptor becomes readable (FIOASYNC), since signal-driven input is not simulated",
        );
        Ok(0)
    }
}
