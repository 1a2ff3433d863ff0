//! `splice`, `tee` and `vmsplice`: what goes into pipes and out of them without passing the program's memory (Linux
//! `fs/splice.c`). Here it is copied.

use std::io::{Seek, SeekFrom};

use crate::host::sys::unix_fs::FileExt;

use hps_isa::memory::Memory;

use super::Linux;
use super::descriptors::Kind;
use super::errno::Errno;
use super::files::{MAX_TRANSFER_BYTES, PIECE_BYTES, file_offset};
use super::outcome::{Outcome, Unserved};
use super::pipes::{NO_DATA, NO_ROOM};
use super::streams::retry;
use crate::process::Thread;

const NONBLOCK: u64 = 2;
/// `SPLICE_F_MOVE`, `_NONBLOCK`, `_MORE` and `_GIFT`.
const FLAGS: u64 = 15;

impl Linux {
    pub(super) fn splice(&mut self, mem: &mut Memory, a: &[u64; 6]) -> Outcome {
        let [in_fd, in_at, out_fd, out_at, len, flags] = *a;
        if len == 0 {
            return Ok(0);
        }
        check_flags(flags)?;
        let (from_pipe, to_pipe) = self.check_ends(in_fd, out_fd)?;
        if from_pipe && in_at != 0 || to_pipe && out_at != 0 {
            return Err(Errno::ESPIPE.into());
        }
        if !from_pipe && !to_pipe {
            return Err(Errno::EINVAL.into());
        }
        let len = len.min(PIECE_BYTES) as usize;
        let nonblock = flags & NONBLOCK != 0;
        let room = match to_pipe {
            true => self.room_in_pipe(out_fd, nonblock)?,
            false => len,
        };
        let most = len.min(room);
        let bytes = match from_pipe {
            true => match self.peek_pipe(in_fd, most, nonblock)? {
                Some(bytes) => bytes,
                None => return Ok(0),
            },
            false => self.read_for_splice(mem, in_fd, in_at, most)?,
        };
        let offset = match out_at {
            0 => None,
            at => Some(file_offset(mem.read::<8>(at)?)?),
        };
        if bytes.is_empty() {
            return Ok(0);
        }
        let done = self.write_bytes(out_fd, &bytes, offset)?;
        if let Some(offset) = offset {
            mem.write_bytes(out_at, &(offset + done).to_le_bytes())?;
        }
        if from_pipe {
            self.pipe_end(in_fd)?.lock().read(done as usize);
        } else {
            self.advance_for_splice(mem, in_fd, in_at, done)?;
        }
        Ok(done)
    }

    pub(super) fn tee(&mut self, a: &[u64; 6]) -> Outcome {
        let [in_fd, out_fd, len, flags, ..] = *a;
        check_flags(flags)?;
        if self.check_ends(in_fd, out_fd)? != (true, true) {
            return Err(Errno::EINVAL.into());
        }
        if len == 0 {
            return Ok(0);
        }
        let nonblock = flags & NONBLOCK != 0;
        let len = len.min(MAX_TRANSFER_BYTES) as usize;
        let most = len.min(self.room_in_pipe(out_fd, nonblock)?);
        match self.peek_pipe(in_fd, most, nonblock)? {
            Some(bytes) => self.write_bytes(out_fd, &bytes, None),
            None => Ok(0),
        }
    }

    /// `vmsplice`, which writes to a pipe what lies in memory, or reads it from there.
    pub(super) fn vmsplice(
        &mut self,
        thread: &mut Thread,
        mem: &mut Memory,
        a: &[u64; 6],
    ) -> Outcome {
        let [fd, vectors, count, flags, ..] = *a;
        check_flags(flags)?;
        let writes = self.pipe_end(fd)?.writes;
        let nonblock = flags & NONBLOCK != 0;
        let a = &[fd, vectors, count, 0, 0, 0];
        let result = match writes {
            true => self.writev(mem, a, None),
            false => self.readv(thread, mem, a, None),
        };
        match result {
            Err(Unserved::Waits(_)) if nonblock => Err(Errno::EAGAIN.into()),
            result => result,
        }
    }

    /// Whether the two descriptors are pipes. One must be open for reading, the other one for writing.
    fn check_ends(&self, in_fd: u64, out_fd: u64) -> Result<(bool, bool), Errno> {
        let (source, target) = (self.files.get(in_fd)?, self.files.get(out_fd)?);
        let is_open = |flags: &super::abi::OpenFlags, wanted: bool| wanted && !flags.path_only;
        if !is_open(&source.flags, source.flags.read) || !is_open(&target.flags, target.flags.write)
        {
            return Err(Errno::EBADF);
        }
        match (&source.kind, &target.kind) {
            (Kind::Pipe(from), Kind::Pipe(to)) if from.is_of(to) => Err(Errno::EINVAL),
            (Kind::Pipe(_), Kind::Pipe(_)) => Ok((true, true)),
            (Kind::Pipe(_), _) if target.flags.append => Err(Errno::EINVAL),
            (Kind::Pipe(_), _) => Ok((true, false)),
            (_, Kind::Pipe(_)) => Ok((false, true)),
            _ => Ok((false, false)),
        }
    }

    /// Bytes for which there is room; waits where there is none.
    fn room_in_pipe(&mut self, fd: u64, nonblock: bool) -> Outcome<usize> {
        let file = self.files.get(fd)?;
        let nonblock = nonblock || file.flags.nonblock;
        let (room, has_reader) = {
            let pipe = self.pipe_end(fd)?.lock();
            (pipe.room(), pipe.has_reader())
        };
        if room == 0 && has_reader {
            return Err(Unserved::on_file(nonblock, NO_ROOM));
        }
        // Without a reader the write fails.
        Ok(room.max(1))
    }

    /// The bytes in a pipe, which stay there; `None` if none will ever come. Waits for those that may come.
    fn peek_pipe(&mut self, fd: u64, most: usize, nonblock: bool) -> Outcome<Option<Vec<u8>>> {
        let nonblock = nonblock || self.files.get(fd)?.flags.nonblock;
        let (bytes, has_writer) = {
            let pipe = self.pipe_end(fd)?.lock();
            (pipe.peek(most), pipe.has_writer())
        };
        if !bytes.is_empty() {
            return Ok(Some(bytes));
        }
        if !has_writer {
            return Ok(None);
        }
        Err(Unserved::on_file(nonblock, NO_DATA))
    }

    fn read_for_splice(
        &mut self,
        mem: &Memory,
        fd: u64,
        at: u64,
        most: usize,
    ) -> Result<Vec<u8>, Errno> {
        let host = self.host_file(fd)?;
        let start = match at {
            0 => (&*host).stream_position()?,
            at => file_offset(mem.read::<8>(at)?)?,
        };
        let mut bytes = vec![0; most];
        let found = retry(|| host.read_at(&mut bytes, start))?;
        bytes.truncate(found);
        Ok(bytes)
    }

    fn advance_for_splice(
        &mut self,
        mem: &mut Memory,
        fd: u64,
        at: u64,
        by: u64,
    ) -> Result<(), Errno> {
        let host = self.host_file(fd)?;
        match at {
            0 => {
                (&*host).seek(SeekFrom::Current(by as i64))?;
            }
            at => {
                let start = mem.read::<8>(at)?;
                mem.write_bytes(at, &(start + by).to_le_bytes())?;
            }
        }
        Ok(())
    }
}

fn check_flags(flags: u64) -> Result<(), Errno> {
    match u64::from(flags as u32) & !FLAGS {
        0 => Ok(()),
        _ => Err(Errno::EINVAL),
    }
}
