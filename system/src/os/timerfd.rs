//! `timerfd`: a timer behind a descriptor, which is read for how often it has come.

use hps_isa::memory::Memory;
use serde::{Deserialize, Serialize};

use super::Linux;
use super::descriptors::{Descriptors, Kind};
use super::duplicate::DuplicateError;
use super::errno::Errno;
use super::kinds::{OfKind, Operations, Span};
use super::outcome::Outcome;
use super::readiness::READABLE;
use super::record::write_optional;
use super::timers::{ABSOLUTE, Alarm, Times, read_alarm};
use crate::process::Thread;

/// A timer behind a descriptor.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct TimerFile {
    alarm: Alarm,
    /// Expirations since the last read.
    count: u64,
    /// Expirations since the timer was made.
    arrivals: u64,
}

impl TimerFile {
    /// How often the timer has come since it was last read; `None`: not at all.
    fn take(&mut self) -> Option<u64> {
        Some(std::mem::take(&mut self.count)).filter(|count| *count > 0)
    }
}

impl Operations for TimerFile {
    fn anonymous(&self) -> Option<&'static str> {
        Some("[timerfd]")
    }

    fn events(&self) -> u16 {
        if self.count > 0 { READABLE } else { 0 }
    }

    fn activity(&self, _events: u32) -> Option<u64> {
        Some(self.arrivals)
    }

    fn duplicate(&self, _has_place: bool) -> Result<Kind, DuplicateError> {
        Ok(Kind::Timer(*self))
    }

    fn read(os: &mut Linux, _: &mut Thread, mem: &mut Memory, span: &Span) -> Outcome {
        span.room_for_count(mem)?;
        let taken = os.files.own::<TimerFile>(span.fd)?.take();
        span.give_count(mem, taken, "a timerfd that is not set")
    }
}

impl Linux {
    pub(super) fn timerfd_create(&mut self, a: &[u64; 6]) -> Result<u64, Errno> {
        let [clock_id, flags, ..] = *a;
        let clock = self.clock(clock_id)?;
        let flags = self.abi.open_rules().unplaced(flags)?;
        if clock.is_of_processors() {
            return Err(Errno::EINVAL);
        }
        let timer = TimerFile {
            alarm: Alarm::on(clock),
            count: 0,
            arrivals: 0,
        };
        self.files.has_timers = true;
        self.open_unplaced(Kind::Timer(timer), flags)
    }

    pub(super) fn timerfd_settime(&mut self, mem: &mut Memory, a: &[u64; 6]) -> Result<u64, Errno> {
        /// `TFD_TIMER_CANCEL_ON_SET`: the clock is never set.
        const CANCEL_ON_SET: u64 = 2;
        let [fd, flags, new, old, ..] = *a;
        if flags & !(ABSOLUTE | CANCEL_ON_SET) != 0 {
            return Err(Errno::EINVAL);
        }
        let times = read_alarm(mem, new, 1)?;
        let mut alarm = self.files.own::<TimerFile>(fd)?.alarm;
        let before = alarm.encode(&self.times_now(), 1);
        alarm.set(&self.times_now(), self.time.start_ns, times, flags);
        let file = self.files.own::<TimerFile>(fd)?;
        (file.alarm, file.count) = (alarm, 0);
        write_optional(mem, old, &before)?;
        self.expire_timer_files();
        Ok(0)
    }

    pub(super) fn timerfd_gettime(&mut self, mem: &mut Memory, a: &[u64; 6]) -> Result<u64, Errno> {
        let alarm = self.files.own::<TimerFile>(a[0])?.alarm;
        mem.write_bytes(a[1], &alarm.encode(&self.times_now(), 1))?;
        Ok(0)
    }

    /// Counts how often timers behind descriptors have come, and wakes who waits for them.
    pub(super) fn expire_timer_files(&mut self) {
        if !self.files.has_timers {
            return;
        }
        // A level tells of nothing new.
        let is_level = !self.files.watches_edges();
        let now = Times {
            now_ns: self.time.now_ns,
            threads: &self.threads,
        };
        let mut is_due = false;
        for file in self.files.timers_mut() {
            let count = file.alarm.expire(&now);
            file.count += count;
            file.arrivals += count;
            file.alarm.is_quiet = file.count > 0 && is_level;
            is_due |= count > 0;
        }
        if is_due {
            self.wake_on_files();
        }
    }
}

impl Descriptors {
    fn timers_mut(&mut self) -> impl Iterator<Item = &mut TimerFile> {
        let open = if self.has_timers { self.files.len() } else { 0 };
        let open = self.files[..open].iter_mut().flatten();
        open.filter_map(|(file, _)| TimerFile::of(&mut file.kind))
    }

    pub(super) fn alarms_mut(&mut self) -> impl Iterator<Item = &mut Alarm> {
        self.timers_mut().map(|timer| &mut timer.alarm)
    }

    pub(super) fn alarms(&self) -> impl Iterator<Item = &Alarm> {
        let open = if self.has_timers { self.files.len() } else { 0 };
        let open = self.files[..open].iter().flatten();
        open.filter_map(|(file, _)| match &file.kind {
            Kind::Timer(timer) => Some(&timer.alarm),
            _ => None,
        })
    }
}
