//! Copies between open files: `sendfile` and `copy_file_range`.

use std::fs::File;
use std::io::{Seek, SeekFrom};

use crate::host::sys::unix_fs::FileExt;

use crate::host::sys::rustix::fs::fstat;

use hps_isa::memory::Memory;

use super::Linux;
use super::descriptors::Kind;
use super::errno::Errno;
use super::files::{MAX_TRANSFER_BYTES, PIECE_BYTES, file_offset};
use super::outcome::{Outcome, Unserved};
use super::signals::Signal;
use super::streams::retry;
use crate::process::Thread;

/// Where a copy reads: at an offset in guest memory, or at the file's own position.
#[derive(Clone, Copy, Debug)]
struct Place {
    offset_at: Option<u64>,
    start: u64,
}

impl Linux {
    pub(super) fn sendfile(
        &mut self,
        thread: &mut Thread,
        mem: &mut Memory,
        a: &[u64; 6],
    ) -> Outcome {
        let [out_fd, in_fd, offset_at, count, ..] = *a;
        let source = self.files.get(in_fd)?;
        if !source.flags.read || source.flags.path_only {
            return Err(Errno::EBADF.into());
        }
        if offset_at != 0 && source.kind.is_fifo() {
            return Err(Errno::ESPIPE.into());
        }
        let target = self.files.get(out_fd)?;
        if !target.flags.write || target.flags.path_only {
            return Err(Errno::EBADF.into());
        }
        if target.flags.append || !matches!(source.kind, Kind::File(_)) {
            return Err(Errno::EINVAL.into());
        }
        let from = self.place(mem, in_fd, offset_at)?;
        let count = count.min(MAX_TRANSFER_BYTES);
        let (copied, raised) = self.copy(in_fd, from.start, out_fd, None, count)?;
        if let Some(signal) = raised {
            self.raise_for(thread, signal);
        }
        self.advance(mem, in_fd, from, copied)?;
        Ok(copied)
    }

    pub(super) fn copy_file_range(&mut self, mem: &mut Memory, a: &[u64; 6]) -> Outcome {
        let [in_fd, in_at, out_fd, out_at, count, flags] = *a;
        let (source, target) = (self.files.get(in_fd)?, self.files.get(out_fd)?);
        if source.flags.path_only || target.flags.path_only {
            return Err(Errno::EBADF.into());
        }
        if flags as u32 != 0 {
            return Err(Errno::EINVAL.into());
        }
        let (from_file, to_file) = match (&source.kind, &target.kind) {
            (Kind::Directory(_), _) | (_, Kind::Directory(_)) => return Err(Errno::EISDIR.into()),
            (Kind::File(from), Kind::File(to)) => (fstat(from)?, fstat(to)?),
            _ => return Err(Errno::EINVAL.into()),
        };
        if !source.flags.read || !target.flags.write || target.flags.append {
            return Err(Errno::EBADF.into());
        }
        let from = self.place(mem, in_fd, in_at)?;
        let to = self.place(mem, out_fd, out_at)?;
        let count = count.min(MAX_TRANSFER_BYTES);
        let left = (from_file.st_size as u64).saturating_sub(from.start);
        let count = count.min(left);
        let is_same = (from_file.st_dev, from_file.st_ino) == (to_file.st_dev, to_file.st_ino);
        if is_same && from.start < to.start + count && to.start < from.start + count {
            return Err(Errno::EINVAL.into());
        }
        // Linux looks at the limit on sizes once, before it copies.
        let (copied, _) = self.copy(in_fd, from.start, out_fd, Some(to.start), count)?;
        self.advance(mem, in_fd, from, copied)?;
        self.advance(mem, out_fd, to, copied)?;
        Ok(copied)
    }

    /// The offset at `offset_at`, or the file's position where that is null.
    fn place(&self, mem: &Memory, fd: u64, offset_at: u64) -> Result<Place, Errno> {
        if offset_at == 0 {
            let start = self.host_file(fd)?.stream_position()?;
            return Ok(Place {
                offset_at: None,
                start,
            });
        }
        Ok(Place {
            offset_at: Some(offset_at),
            start: file_offset(mem.read::<8>(offset_at)?)?,
        })
    }

    /// Puts the place behind what was copied.
    fn advance(&self, mem: &mut Memory, fd: u64, place: Place, by: u64) -> Result<(), Errno> {
        let end = place.start + by;
        match place.offset_at {
            Some(at) => mem.write_bytes(at, &end.to_le_bytes())?,
            None => {
                self.host_file(fd)?.seek(SeekFrom::Start(end))?;
            }
        }
        Ok(())
    }

    /// Copies up to `count` bytes; an error counts only if nothing was copied before it. Returns the bytes copied, and the
    /// signal that a later piece raises.
    fn copy(
        &mut self,
        in_fd: u64,
        start: u64,
        out_fd: u64,
        out_start: Option<u64>,
        count: u64,
    ) -> Outcome<(u64, Option<Signal>)> {
        let mut buffer = vec![0; count.min(PIECE_BYTES) as usize];
        let mut done = 0;
        while done < count {
            match self.run.in_time() {
                Err(errno) if done == 0 => return Err(errno.into()),
                Err(_) => break,
                Ok(()) => {}
            }
            let piece = buffer.len().min((count - done) as usize);
            let host = self.host_file(in_fd)?;
            let found = retry(|| host.read_at(&mut buffer[..piece], start + done))?;
            if found == 0 {
                break;
            }
            let offset = out_start.map(|start| start + done);
            match self.write_bytes(out_fd, &buffer[..found], offset) {
                Ok(written) => {
                    done += written;
                    if written < found as u64 {
                        break;
                    }
                }
                Err(unserved) if done == 0 => return Err(unserved),
                Err(Unserved::Raises(signal, _)) => return Ok((done, Some(signal))),
                // Copied bytes count, and a pipe that is full waits for the next call.
                Err(_) => break,
            }
        }
        Ok((done, None))
    }

    pub(super) fn host_file(&self, fd: u64) -> Result<&File, Errno> {
        match &self.files.get(fd)?.kind {
            Kind::File(host) => Ok(host),
            _ => Err(Errno::EINVAL),
        }
    }
}
