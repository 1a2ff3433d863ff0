//! Regular files of the host behind descriptors.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};

use hps_isa::memory::Memory;

use super::Linux;
use super::abi::FileStat;
use super::account::Seen;
use super::duplicate::DuplicateError;
use super::errno::Errno;
use super::files::{PIECE_BYTES, whence};
use super::gate::DescriptorKind;
use super::kinds::{Kind, Operations, Span, Whereabouts};
use super::memory_files::copy_memory_file;
use super::outcome::Outcome;
use super::stat::{S_IFREG, special_stat, stat_of};
use super::streams::retry;
use crate::host::sys::fd::{AsFd, AsRawFd, BorrowedFd};
use crate::host::sys::rustix;
use crate::host::sys::rustix::fs::{SealFlags, fcntl_get_seals};
use crate::host::sys::unix_fs::FileExt;
use crate::process::Thread;

impl Operations for File {
    fn role(&self, has_place: bool) -> DescriptorKind {
        match has_place {
            true => DescriptorKind::File,
            false => DescriptorKind::MemoryFile,
        }
    }

    fn link(&self, _number: u64) -> String {
        "/memfd: (deleted)".to_owned()
    }

    fn stat(&self, at: &Whereabouts) -> Result<FileStat, Errno> {
        match at.path {
            Some(path) => Ok(stat_of(&rustix::fs::fstat(self)?, path, at.is_writable)),
            None => Ok(FileStat {
                size_bytes: self.metadata()?.len(),
                ..special_stat(S_IFREG | 0o777, at.number)
            }),
        }
    }

    fn on_host(&self) -> Option<BorrowedFd<'_>> {
        Some(self.as_fd())
    }

    fn seek(&mut self, offset: i64, whence: u64) -> Result<u64, Errno> {
        let target = match whence {
            whence::SET => SeekFrom::Start(u64::try_from(offset).map_err(|_| Errno::EINVAL)?),
            whence::CURRENT => SeekFrom::Current(offset),
            whence::END => SeekFrom::End(offset),
            whence::DATA | whence::HOLE => {
                return seek_content(self, offset, whence == whence::DATA);
            }
            _ => return Err(Errno::EINVAL),
        };
        Ok(Seek::seek(self, target)?)
    }

    fn bytes_to_read(&self) -> Result<u32, Errno> {
        let position = (&*self).stream_position()?;
        Ok(self.metadata()?.len().wrapping_sub(position) as u32)
    }

    fn held_bytes(&self, has_place: bool, seen: &mut Seen<'_>) -> u64 {
        // Files of the host have no such seal.
        let is_sealed = || {
            let seals = fcntl_get_seals(self);
            seals.is_ok_and(|seals| seals.intersects(SealFlags::WRITE))
        };
        match !has_place || seen.names.may_hold(self) || is_sealed() {
            true => seen.memory_file_bytes(self),
            false => 0,
        }
    }

    fn duplicate(&self, has_place: bool) -> Result<Kind, DuplicateError> {
        let copy = match has_place {
            true => reopen(self),
            false => copy_memory_file(self),
        };
        Ok(Kind::File(copy.map_err(|e| DuplicateError::File {
            cause: e.to_string(),
        })?))
    }

    /// Fewer bytes than there is room for come at the end, or if the run is out of time.
    fn read(os: &mut Linux, _: &mut Thread, mem: &mut Memory, span: &Span) -> Outcome {
        let room = span.room(mem)?;
        let host = os.files.own::<File>(span.fd)?;
        let mut is_late = || os.run.time_left().is_some_and(|left| left.is_zero());
        let mut done = 0;
        while done < room && (done == 0 || !is_late()) {
            let piece = (room - done).min(PIECE_BYTES);
            let buffer = mem.writable(span.addr + done, piece)?;
            let count = match span.offset {
                Some(offset) => retry(|| host.read_at(buffer, offset + done)),
                None => retry(|| Read::read(host, buffer)),
            };
            match count {
                Ok(0) => break,
                Ok(count) => done += count as u64,
                Err(_) if done > 0 => break,
                Err(errno) => return Err(errno.into()),
            }
        }
        Ok(done)
    }

    fn write(os: &mut Linux, fd: u64, bytes: &[u8], offset: Option<u64>) -> Outcome {
        let within = os.run.output_room(bytes.len() as u64)?;
        let (within, span) = os.room_in_file(fd, offset, within)?;
        let bytes = &bytes[..within as usize];
        let host = os.files.own::<File>(fd)?;
        let written = match offset {
            Some(offset) => retry(|| host.write_at(bytes, offset))?,
            None => retry(|| Write::write(host, bytes))?,
        };
        os.run.spend_output(written as u64);
        os.run.count_growth(span, written as u64);
        Ok(written as u64)
    }
}

/// Opens a file once more, with a position of its own. (Duplicated descriptors share theirs.)
fn reopen(file: &File) -> std::io::Result<File> {
    let position = (&*file).stream_position()?;
    let mut copy = File::open(format!("/proc/self/fd/{}", file.as_raw_fd()))?;
    Seek::seek(&mut copy, SeekFrom::Start(position))?;
    Ok(copy)
}

/// `SEEK_DATA` and `SEEK_HOLE`: the next content or hole from `offset` on.
fn seek_content(host: &File, offset: i64, wants_data: bool) -> Result<u64, Errno> {
    use rustix::fs::SeekFrom::{Data, Hole};
    let from = u64::try_from(offset).map_err(|_| Errno::ENXIO)?;
    let target = if wants_data { Data(from) } else { Hole(from) };
    rustix::fs::seek(host, target).map_err(|e| std::io::Error::from(e).into())
}
