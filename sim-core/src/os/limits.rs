//! Limits that end a run or refuse a write: host time, bytes of files, the guest's own `RLIMIT_FSIZE`.
//!
//! Each message names the limit and the option that raises it.

use std::fs::File;
use std::io::Seek;
use std::time::{Duration, Instant};

use super::errno::Errno;
use super::signals::Signal;
use super::{Linux, StopReason};

/// The key of the warning about files that cannot grow; system calls have smaller numbers.
const FILE_WARNING: u64 = u64::MAX;

/// Time of the host that a run may take.
#[derive(Clone, Copy, Debug)]
pub(super) struct TimeLimit {
    seconds: u64,
    started: Option<Instant>,
}

impl TimeLimit {
    pub(super) fn new(seconds: u64) -> TimeLimit {
        TimeLimit {
            seconds,
            started: None,
        }
    }

    /// This limit for another run, whose time has not begun.
    pub(super) fn anew(self) -> TimeLimit {
        TimeLimit::new(self.seconds)
    }
}

/// Bytes by which the guest may make files grow.
#[derive(Clone, Copy, Debug)]
pub(super) struct FileLimit {
    total: u64,
    left: u64,
}

impl FileLimit {
    pub(super) fn new(bytes: u64) -> FileLimit {
        FileLimit {
            total: bytes,
            left: bytes,
        }
    }
}

impl Linux {
    /// Instructions that a run may take before it has to ask [`Linux::is_out_of_time`]: `slice`, or without a
    /// limit on time any number.
    #[must_use]
    pub fn instructions_in_time(&self, slice: u64) -> u64 {
        match self.time_limit {
            Some(_) => slice,
            None => u64::MAX,
        }
    }

    /// Whether the run has taken all the time of the host that it may take; [`Linux::stop_reason`] then says
    /// so. Time counts from the first question.
    pub fn is_out_of_time(&mut self) -> bool {
        let Some(limit) = &mut self.time_limit else {
            return false;
        };
        let started = *limit.started.get_or_insert_with(Instant::now);
        let seconds = limit.seconds;
        let is_over = started.elapsed() >= Duration::from_secs(seconds);
        if is_over {
            self.stop = Some(StopReason::TimeLimit { seconds });
        }
        is_over
    }

    /// How many of `len` bytes may be written to a file at `offset` (at its position or, if it is opened for
    /// appending, at its end), and its size before.
    pub(super) fn room_in_file(
        &mut self,
        fd: u64,
        offset: Option<u64>,
        len: u64,
    ) -> Result<(u64, FileSpan), Errno> {
        let open = self.files.get_mut(fd)?;
        let appends = open.flags.append;
        let super::descriptors::Kind::File(host) = &mut open.kind else {
            return Err(Errno::EBADF);
        };
        let size = host.metadata()?.len();
        let start = match offset {
            _ if appends => size,
            Some(offset) => offset,
            None => host.stream_position()?,
        };
        let span = FileSpan { start, size };
        if len == 0 {
            return Ok((0, span));
        }
        let largest = self.limits.file_bytes();
        if start >= largest {
            self.raise(Signal::FileSize);
            return Err(Errno::EFBIG);
        }
        let len = len.min(largest - start);
        let growth = start.saturating_add(len).saturating_sub(size);
        match self.growth_allowed(growth) {
            Ok(()) => Ok((len, span)),
            Err(errno) => {
                let left = self.file_limit.map_or(0, |limit| limit.left);
                let fits = size.saturating_add(left).saturating_sub(start).min(len);
                if fits == 0 {
                    Err(errno)
                } else {
                    Ok((fits, span))
                }
            }
        }
    }

    /// Counts what a write of `written` bytes made a file grow by.
    pub(super) fn count_growth(&mut self, span: FileSpan, written: u64) {
        if let Some(limit) = &mut self.file_limit {
            let growth = (span.start + written).saturating_sub(span.size);
            limit.left = limit.left.saturating_sub(growth);
        }
    }

    /// Cuts a file, or makes it longer by a hole.
    pub(super) fn resize(&mut self, host: &File, len: u64) -> Result<(), Errno> {
        let size = host.metadata()?.len();
        if len > size && len > self.limits.file_bytes() {
            self.raise(Signal::FileSize);
            return Err(Errno::EFBIG);
        }
        let growth = len.saturating_sub(size);
        self.growth_allowed(growth)?;
        host.set_len(len)?;
        if let Some(limit) = &mut self.file_limit {
            limit.left = (limit.left - growth).saturating_add(size.saturating_sub(len));
            limit.left = limit.left.min(limit.total);
        }
        Ok(())
    }

    /// Refuses what is beyond the limit: a file that could never be so long is too large, else the disk is
    /// full.
    fn growth_allowed(&mut self, growth: u64) -> Result<(), Errno> {
        let Some(limit) = self.file_limit.filter(|limit| growth > limit.left) else {
            return Ok(());
        };
        self.warn(
            FILE_WARNING,
            format!(
                "files may grow by {} bytes together; writing more fails, as on a full disk (--file-limit \
                 raises it)",
                limit.total
            ),
        );
        Err(if growth > limit.total {
            Errno::EFBIG
        } else {
            Errno::ENOSPC
        })
    }
}

/// Where a write begins, and how long the file is before it.
#[derive(Clone, Copy, Debug)]
pub(super) struct FileSpan {
    start: u64,
    size: u64,
}
