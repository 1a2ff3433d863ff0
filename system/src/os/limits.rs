//! Limits that end a run or refuse a write: host time, bytes of files, the guest's own `RLIMIT_FSIZE`.
//!
//! Each message names the limit and the option that raises it.

use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::Seek;
use std::time::{Duration, Instant};

use super::errno::Errno;
use super::outcome::{Outcome, Unserved};
use super::run::Run;
use super::signals::Signal;
use super::{Linux, StopReason};

/// After so much work, in system calls that take no time worth speaking of, the run looks at the clock of the host. A
/// look takes about a tenth of such a call.
pub(crate) const LOOK_WORK: u32 = 64;

/// Time of the host that a run may take.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct TimeLimit {
    limit: Duration,
    #[serde(skip)]
    started: Option<Instant>,
    /// Work since the last look at the clock.
    work: u32,
}

impl TimeLimit {
    pub(super) fn new(limit: Duration) -> TimeLimit {
        TimeLimit {
            limit,
            started: None,
            work: 0,
        }
    }

    /// Time that is left. The limit begins to count at the first question.
    pub(super) fn left(&mut self) -> Duration {
        let started = *self.started.get_or_insert_with(Instant::now);
        self.limit.saturating_sub(started.elapsed())
    }

    /// This limit for another run, whose time has not begun.
    pub(super) fn anew(self) -> TimeLimit {
        TimeLimit::new(self.limit)
    }
}

/// Bytes by which the guest may make files grow.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
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

impl Run {
    fn is_out_of_time(&mut self) -> bool {
        let is_over = self.time_left().is_some_and(|left| left.is_zero());
        if is_over && let Some(TimeLimit { limit, .. }) = self.time_limit {
            self.stop = Some(StopReason::TimeLimit { limit });
        }
        is_over
    }

    /// Time of the host that is left to the run; `None`: it has no limit.
    pub(super) fn time_left(&mut self) -> Option<Duration> {
        self.time_limit.as_mut().map(TimeLimit::left)
    }

    /// Whether the run is out of time, where `work` is about to be done ([`LOOK_WORK`] for what may take long). The clock
    /// of the host is looked at once for so much work.
    #[inline]
    pub(super) fn is_late_after(&mut self, work: u32) -> bool {
        let Some(limit) = &mut self.time_limit else {
            return false;
        };
        limit.work += work;
        if limit.work < LOOK_WORK {
            return false;
        }
        limit.work = 0;
        self.is_out_of_time()
    }

    /// Lets a call go on that transfers piece by piece, as long as the run has time.
    ///
    /// # Errors
    /// `EINTR`, which the program does not see: the run ends.
    pub(super) fn in_time(&mut self) -> Result<(), Errno> {
        match self.is_late_after(LOOK_WORK) {
            true => Err(Errno::EINTR),
            false => Ok(()),
        }
    }

    /// How many of `wanted` bytes the program may still put out.
    ///
    /// # Errors
    /// `EFBIG`, which the program does not see, if it may none: the run ends.
    pub(super) fn output_room(&mut self, wanted: u64) -> Result<u64, Errno> {
        match self.output_left {
            Some(0) if wanted > 0 => {
                self.stop_for_output();
                Err(Errno::EFBIG)
            }
            left => Ok(wanted.min(left.unwrap_or(u64::MAX))),
        }
    }

    /// Counts bytes as output.
    pub(super) fn spend_output(&mut self, written: u64) {
        if let Some(left) = &mut self.output_left {
            *left -= written;
        }
    }

    /// The program has put out as much as it may.
    fn stop_for_output(&mut self) {
        let bytes = self.output_limit.unwrap_or(0);
        self.stop = Some(StopReason::OutputLimit { bytes });
    }

    /// Counts bytes as output, all of them or none: `false` if there may be no more.
    pub(super) fn count_output(&mut self, bytes: u64) -> bool {
        match &mut self.output_left {
            Some(left) if *left < bytes => {
                self.stop_for_output();
                false
            }
            Some(left) => {
                *left -= bytes;
                true
            }
            None => true,
        }
    }

    /// Counts what a write of `written` bytes made a file grow by.
    pub(super) fn count_growth(&mut self, span: FileSpan, written: u64) {
        if let Some(limit) = &mut self.file_limit {
            let growth = (span.start + written).saturating_sub(span.size);
            limit.left = limit.left.saturating_sub(growth);
        }
    }

    /// Refuses what is beyond the limit: a file that could never be so long is too large, else the disk is
    /// full.
    fn growth_allowed(&mut self, growth: u64) -> Result<(), Errno> {
        let Some(limit) = self.file_limit.filter(|limit| growth > limit.left) else {
            return Ok(());
        };
        self.warnings.once(&format!(
            "files may grow by {} bytes together; writing more fails, as on a full disk (--file-limit raises it)",
            limit.total
        ));
        Err(if growth > limit.total {
            Errno::EFBIG
        } else {
            Errno::ENOSPC
        })
    }
}

impl Linux {
    /// Instructions that a run may take before it has to ask [`Linux::is_out_of_time`]: `slice`, or without a
    /// limit on time any number.
    #[must_use]
    pub fn instructions_in_time(&self, slice: u64) -> u64 {
        match self.run.time_limit {
            Some(_) => slice,
            None => u64::MAX,
        }
    }

    /// Whether the run has taken all the time of the host that it may take; [`Linux::stop_reason`] then says
    /// so. Time counts from the first question.
    pub fn is_out_of_time(&mut self) -> bool {
        self.run.is_out_of_time()
    }

    /// See [`Run::is_late_after`].
    #[inline]
    pub(crate) fn is_late_after(&mut self, work: u32) -> bool {
        self.run.is_late_after(work)
    }

    /// How many of `len` bytes may be written to a file at `offset` (at its position or, if it is opened for
    /// appending, at its end), and its size before.
    pub(super) fn room_in_file(
        &mut self,
        fd: u64,
        offset: Option<u64>,
        len: u64,
    ) -> Outcome<(u64, FileSpan)> {
        if self.files.get(fd)?.is_in_memory(&self.family.shared_names) {
            self.charge(len, Errno::ENOSPC)?;
        }
        let appends = self.files.get(fd)?.flags.append;
        let host = self.files.own::<File>(fd)?;
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
            return Err(Unserved::Raises(Signal::FileSize, Errno::EFBIG));
        }
        let len = len.min(largest - start);
        let growth = start.saturating_add(len).saturating_sub(size);
        match self.run.growth_allowed(growth) {
            Ok(()) => Ok((len, span)),
            Err(errno) => {
                let left = self.run.file_limit.map_or(0, |limit| limit.left);
                let fits = size.saturating_add(left).saturating_sub(start).min(len);
                if fits == 0 {
                    Err(errno.into())
                } else {
                    Ok((fits, span))
                }
            }
        }
    }

    /// Cuts a file, or makes it longer by a hole.
    pub(super) fn resize(&mut self, host: &File, len: u64) -> Outcome<()> {
        let size = host.metadata()?.len();
        if len > size && len > self.limits.file_bytes() {
            return Err(Unserved::Raises(Signal::FileSize, Errno::EFBIG));
        }
        let growth = len.saturating_sub(size);
        self.run.growth_allowed(growth)?;
        host.set_len(len)?;
        if let Some(limit) = &mut self.run.file_limit {
            limit.left = (limit.left - growth).saturating_add(size.saturating_sub(len));
            limit.left = limit.left.min(limit.total);
        }
        Ok(())
    }
}

/// Where a write begins, and how long the file is before it.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct FileSpan {
    start: u64,
    size: u64,
}
