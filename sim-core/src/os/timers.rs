//! Timers: `setitimer`, `timer_create` and `timerfd`, on simulated time.
//!
//! Machines ask [`Linux::deadline_ns`] when something happens next, and come back then
//! ([`Process::attend`](crate::process::Process::attend)).

use std::collections::BTreeMap;

use super::Linux;
use super::abi::OpenFlags;
use super::descriptors::{Descriptors, Kind, OpenFile};
use super::errno::Errno;
use super::readiness::READABLE;
use super::record::{Record, read_words, write_optional};
use super::signals::{LAST_SIGNAL, SI_KERNEL, SigInfo, Signal};
use super::time::{Clock, NANOS_PER_SECOND, clock, pair, read_duration};
use crate::memory::Memory;
use crate::process::Thread;

const SI_TIMER: i32 = -2;
/// `TIMER_ABSTIME` and `TFD_TIMER_ABSTIME`
const ABSOLUTE: u64 = 1;
/// Timers that a guest may have: Linux takes them from the limit on pending signals.
const MOST_TIMERS: usize = 4096;

/// A point of time that may come again and again.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Alarm {
    /// When it comes next, by its clock, in nanoseconds; `None` if it is not set.
    next_ns: Option<u64>,
    /// ... and then after each such time; 0: once.
    interval_ns: u64,
    /// Its clock stands still while the program waits.
    is_busy: bool,
}

impl Alarm {
    fn on(clock: Clock) -> Alarm {
        Alarm {
            is_busy: clock == Clock::Busy,
            ..Alarm::default()
        }
    }

    /// How often it has come by now; it waits for the time after that.
    fn expire(&mut self, now: Times) -> u64 {
        let now_ns = self.time(now);
        match self.next_ns {
            Some(next) if next <= now_ns && self.interval_ns == 0 => {
                self.next_ns = None;
                1
            }
            Some(next) if next <= now_ns => {
                let count = (now_ns - next) / self.interval_ns + 1;
                self.next_ns = Some(next.saturating_add(count.saturating_mul(self.interval_ns)));
                count
            }
            _ => 0,
        }
    }

    fn time(&self, now: Times) -> u64 {
        if self.is_busy {
            now.busy_ns
        } else {
            now.now_ns
        }
    }

    /// When it comes next if the program runs until then, in simulated nanoseconds.
    fn due_ns(&self, now: Times) -> Option<u64> {
        let left = self.next_ns?.saturating_sub(self.time(now));
        Some(now.now_ns.saturating_add(left))
    }

    /// `struct itimerspec` (or `struct itimerval`, in units of `unit_ns`): the interval, and what is left.
    fn encode(&self, now: Times, unit_ns: u64) -> Vec<u8> {
        // A timer that is set never says that nothing is left.
        let left = self
            .next_ns
            .map_or(0, |next| next.saturating_sub(self.time(now)).max(unit_ns));
        let split = |nanos: u64| pair(nanos / NANOS_PER_SECOND, nanos % NANOS_PER_SECOND / unit_ns);
        Record::new()
            .bytes(&split(self.interval_ns))
            .bytes(&split(left))
            .done()
    }
}

/// Simulated time, and the part of it in which the program ran.
#[derive(Clone, Copy, Debug)]
struct Times {
    now_ns: u64,
    busy_ns: u64,
}

/// A timer of `timer_create`.
#[derive(Clone, Copy, Debug)]
struct Timer {
    alarm: Alarm,
    clock: Clock,
    /// The signal that it raises; `None`: it only counts.
    signal: Option<u8>,
    value: u64,
    /// The thread that gets the signal; `None`: the process.
    tid: Option<u32>,
    overruns: u64,
}

/// A timer behind a descriptor.
#[derive(Clone, Copy, Debug)]
pub(super) struct TimerFile {
    alarm: Alarm,
    clock: Clock,
    /// How often it has come since it was read.
    count: u64,
    /// How often it has come at all.
    pub arrivals: u64,
}

impl TimerFile {
    /// How often the timer has come since it was last read; `None`: not at all.
    pub(super) fn take(&mut self) -> Option<u64> {
        Some(std::mem::take(&mut self.count)).filter(|count| *count > 0)
    }

    /// What the descriptor is ready for.
    pub(super) fn events(&self) -> u16 {
        if self.count > 0 { READABLE } else { 0 }
    }
}

/// The timers of a guest.
#[derive(Clone, Debug)]
pub(super) struct Timers {
    /// Those of `setitimer`: of real time, of the program's own time, and of that with the kernel's.
    intervals: [Alarm; 3],
    created: BTreeMap<u32, Timer>,
}

impl Default for Timers {
    fn default() -> Self {
        Timers {
            intervals: [Clock::Start, Clock::Busy, Clock::Busy].map(Alarm::on),
            created: BTreeMap::new(),
        }
    }
}

impl Timers {
    /// Those that a process keeps when it runs another program.
    pub(super) fn at_exec(before: &Timers) -> Timers {
        Timers {
            intervals: before.intervals,
            created: BTreeMap::new(),
        }
    }

    fn alarms(&self) -> impl Iterator<Item = &Alarm> {
        let created = self.created.values().map(|timer| &timer.alarm);
        self.intervals.iter().chain(created)
    }
}

fn read_alarm(mem: &Memory, addr: u64, unit_ns: u64) -> Result<(u64, u64), Errno> {
    if unit_ns == 1 {
        return Ok((
            read_duration(mem, addr)?,
            read_duration(mem, addr.wrapping_add(16))?,
        ));
    }
    let read = |addr: u64| {
        let [seconds, micros] = read_words(mem, addr)?;
        if (seconds as i64) < 0 || micros >= NANOS_PER_SECOND / unit_ns {
            return Err(Errno::EINVAL);
        }
        Ok(seconds
            .saturating_mul(NANOS_PER_SECOND)
            .saturating_add(micros * unit_ns))
    };
    Ok((read(addr)?, read(addr.wrapping_add(16))?))
}

impl Linux {
    fn times_now(&self) -> Times {
        Times {
            now_ns: self.now_ns,
            busy_ns: self.busy_ns(),
        }
    }

    /// When the operating system has to look at its clock again if the program runs on, in simulated nanoseconds;
    /// `u64::MAX`: at no time.
    #[must_use]
    pub fn deadline_ns(&self) -> u64 {
        let now = self.times_now();
        let alarms = self.timers.alarms().chain(self.files.alarms());
        let timers = alarms.filter_map(|alarm| alarm.due_ns(now));
        timers
            .chain(self.threads.deadline_ns(self.family.has_ready()))
            .chain(self.next_event_of_others_ns())
            .chain(self.sampling_deadline_ns())
            .min()
            .unwrap_or(u64::MAX)
    }

    /// Whether there is such a time.
    #[must_use]
    pub fn has_deadline(&self) -> bool {
        self.deadline_ns() != u64::MAX
    }

    /// When something happens next while no thread runs, in simulated nanoseconds.
    pub(super) fn next_event_ns(&self) -> Option<u64> {
        let now = self.times_now();
        let alarms = self.timers.alarms().chain(self.files.alarms());
        let timers = alarms
            .filter(|alarm| !alarm.is_busy)
            .filter_map(|alarm| alarm.due_ns(now));
        timers.chain(self.threads.first_wake_ns()).min()
    }

    /// Raises the signals of timers whose time has come, and wakes who waits for their descriptors. `running` is the
    /// thread that runs, if one does.
    pub(super) fn expire_timers(&mut self, mut running: Option<&mut Thread>) {
        let now = self.times_now();
        let signals = [Signal::Alarm, Signal::VirtualAlarm, Signal::Profiling];
        for (index, signal) in signals.into_iter().enumerate() {
            if self.timers.intervals[index].expire(now) > 0 {
                let signal = self.abi.signal_number(signal);
                self.send_to_process(SigInfo {
                    signal,
                    code: SI_KERNEL,
                    ..SigInfo::default()
                });
            }
        }
        let mut raised = Vec::new();
        for (id, timer) in &mut self.timers.created {
            let count = timer.alarm.expire(now);
            if count > 0 {
                timer.overruns = count - 1;
                raised.push((*id, *timer));
            }
        }
        for (id, timer) in raised {
            let Some(signal) = timer.signal else { continue };
            let info = SigInfo {
                signal,
                code: SI_TIMER,
                sender: Some((id, timer.overruns as u32)),
                value: timer.value,
                ..SigInfo::default()
            };
            match timer.tid {
                Some(tid) => self.send_to_thread(running.as_deref_mut(), tid, info),
                None => self.send_to_process(info),
            }
        }
        self.expire_timer_files();
    }

    /// Counts how often timers behind descriptors have come, and wakes who waits for them.
    fn expire_timer_files(&mut self) {
        let now = self.times_now();
        let mut is_due = false;
        for file in self.files.timers_mut() {
            let count = file.alarm.expire(now);
            file.count += count;
            file.arrivals += count;
            is_due |= count > 0;
        }
        if is_due {
            self.wake_on_files();
        }
    }

    pub(super) fn getitimer(&self, mem: &mut Memory, a: &[u64; 6]) -> Result<u64, Errno> {
        let index = interval_index(a[0])?;
        let alarm = self.timers.intervals[index].encode(self.times_now(), 1000);
        mem.write_bytes(a[1], &alarm)?;
        Ok(0)
    }

    pub(super) fn setitimer(&mut self, mem: &mut Memory, a: &[u64; 6]) -> Result<u64, Errno> {
        let index = interval_index(a[0])?;
        let (interval_ns, first) = match a[1] {
            0 => (0, 0),
            at => read_alarm(mem, at, 1000)?,
        };
        let now = self.times_now();
        let alarm = &mut self.timers.intervals[index];
        let before = alarm.encode(now, 1000);
        alarm.next_ns = (first > 0).then(|| alarm.time(now).saturating_add(first));
        alarm.interval_ns = interval_ns;
        write_optional(mem, a[2], &before)?;
        Ok(0)
    }

    pub(super) fn timer_create(&mut self, mem: &mut Memory, a: &[u64; 6]) -> Result<u64, Errno> {
        const SIGEV_SIGNAL: u32 = 0;
        const SIGEV_NONE: u32 = 1;
        const SIGEV_THREAD: u32 = 2;
        const SIGEV_THREAD_ID: u32 = 4;
        let [clock_id, event, id_at, ..] = *a;
        let clock = clock(clock_id)?;
        if self.timers.created.len() >= MOST_TIMERS {
            return Err(Errno::EAGAIN);
        }
        let id = (0..)
            .find(|id| !self.timers.created.contains_key(id))
            .unwrap_or(0);
        let mut timer = Timer {
            alarm: Alarm::on(clock),
            clock,
            signal: Some(self.abi.signal_number(Signal::Alarm)),
            value: u64::from(id),
            tid: None,
            overruns: 0,
        };
        if event != 0 {
            let value = mem.read::<8>(event)?;
            let signal = mem.read::<4>(event.wrapping_add(8))? as u32;
            let notify = mem.read::<4>(event.wrapping_add(12))? as u32;
            let tid = mem.read::<4>(event.wrapping_add(16))? as u32;
            let is_signal = (1..=u32::from(LAST_SIGNAL)).contains(&signal);
            timer.value = value;
            timer.signal = match notify {
                SIGEV_NONE => None,
                SIGEV_SIGNAL | SIGEV_THREAD | SIGEV_THREAD_ID if is_signal => Some(signal as u8),
                _ => return Err(Errno::EINVAL),
            };
            timer.tid = (notify == SIGEV_THREAD_ID).then_some(tid);
        }
        mem.write_bytes(id_at, &id.to_le_bytes())?;
        self.timers.created.insert(id, timer);
        Ok(0)
    }

    pub(super) fn timer_settime(&mut self, mem: &mut Memory, a: &[u64; 6]) -> Result<u64, Errno> {
        let [id, flags, new, old, ..] = *a;
        let (interval_ns, first) = read_alarm(mem, new, 1)?;
        let now = self.times_now();
        let timer = self
            .timers
            .created
            .get_mut(&(id as u32))
            .ok_or(Errno::EINVAL)?;
        let before = timer.alarm.encode(now, 1);
        set_alarm(
            &mut timer.alarm,
            timer.clock,
            now,
            (interval_ns, first),
            flags,
        );
        timer.overruns = 0;
        write_optional(mem, old, &before)?;
        Ok(0)
    }

    pub(super) fn timer_gettime(&self, mem: &mut Memory, a: &[u64; 6]) -> Result<u64, Errno> {
        let timer = self
            .timers
            .created
            .get(&(a[0] as u32))
            .ok_or(Errno::EINVAL)?;
        mem.write_bytes(a[1], &timer.alarm.encode(self.times_now(), 1))?;
        Ok(0)
    }

    pub(super) fn timer_getoverrun(&self, id: u64) -> Result<u64, Errno> {
        let timer = self.timers.created.get(&(id as u32)).ok_or(Errno::EINVAL)?;
        Ok(timer.overruns.min(i32::MAX as u64))
    }

    pub(super) fn timer_delete(&mut self, id: u64) -> Result<u64, Errno> {
        self.timers
            .created
            .remove(&(id as u32))
            .map(|_| 0)
            .ok_or(Errno::EINVAL)
    }

    pub(super) fn timerfd_create(&mut self, a: &[u64; 6]) -> Result<u64, Errno> {
        let rules = self.abi.open_rules();
        let [clock_id, flags, ..] = *a;
        let flags = u64::from(flags as u32);
        let clock = clock(clock_id)?;
        if flags & !(rules.cloexec | rules.nonblock) != 0 || clock == Clock::Busy {
            return Err(Errno::EINVAL);
        }
        let timer = TimerFile {
            alarm: Alarm::on(clock),
            clock,
            count: 0,
            arrivals: 0,
        };
        self.files.has_timers = true;
        let flags = OpenFlags {
            read: true,
            write: true,
            cloexec: flags & rules.cloexec != 0,
            nonblock: flags & rules.nonblock != 0,
            ..OpenFlags::default()
        };
        let file = OpenFile {
            kind: Kind::Timer(timer),
            flags,
            path: None,
            number: None,
        };
        self.files.insert(file, self.limits.descriptors())
    }

    fn timer_file(&mut self, fd: u64) -> Result<&mut TimerFile, Errno> {
        match &mut self.files.get_mut(fd)?.kind {
            Kind::Timer(timer) => Ok(timer),
            _ => Err(Errno::EINVAL),
        }
    }

    pub(super) fn timerfd_settime(&mut self, mem: &mut Memory, a: &[u64; 6]) -> Result<u64, Errno> {
        /// `TFD_TIMER_CANCEL_ON_SET`: the clock is never set.
        const CANCEL_ON_SET: u64 = 2;
        let [fd, flags, new, old, ..] = *a;
        if flags & !(ABSOLUTE | CANCEL_ON_SET) != 0 {
            return Err(Errno::EINVAL);
        }
        let times = read_alarm(mem, new, 1)?;
        let now = self.times_now();
        let file = self.timer_file(fd)?;
        let before = file.alarm.encode(now, 1);
        set_alarm(&mut file.alarm, file.clock, now, times, flags);
        file.count = 0;
        write_optional(mem, old, &before)?;
        self.expire_timer_files();
        Ok(0)
    }

    pub(super) fn timerfd_gettime(&mut self, mem: &mut Memory, a: &[u64; 6]) -> Result<u64, Errno> {
        let now = self.times_now();
        let alarm = self.timer_file(a[0])?.alarm;
        mem.write_bytes(a[1], &alarm.encode(now, 1))?;
        Ok(0)
    }
}

impl Descriptors {
    fn timers_mut(&mut self) -> impl Iterator<Item = &mut TimerFile> {
        let files = if self.has_timers {
            &mut self.files[..]
        } else {
            &mut []
        };
        files
            .iter_mut()
            .flatten()
            .filter_map(|(file, _)| match &mut file.kind {
                Kind::Timer(timer) => Some(timer),
                _ => None,
            })
    }

    fn alarms(&self) -> impl Iterator<Item = &Alarm> {
        let files = if self.has_timers {
            &self.files[..]
        } else {
            &[]
        };
        files
            .iter()
            .flatten()
            .filter_map(|(file, _)| match &file.kind {
                Kind::Timer(timer) => Some(&timer.alarm),
                _ => None,
            })
    }
}

/// Sets an alarm to a first time, which is absolute or counts from now, and an interval. A first time of 0 stops it.
fn set_alarm(
    alarm: &mut Alarm,
    clock: Clock,
    now: Times,
    (interval_ns, first): (u64, u64),
    flags: u64,
) {
    let first = match first {
        0 => None,
        _ if flags & ABSOLUTE != 0 => Some(first.saturating_sub(clock.zero_ns())),
        _ => Some(alarm.time(now).saturating_add(first)),
    };
    alarm.next_ns = first;
    alarm.interval_ns = interval_ns;
}

fn interval_index(which: u64) -> Result<usize, Errno> {
    usize::try_from(which)
        .ok()
        .filter(|which| *which < 3)
        .ok_or(Errno::EINVAL)
}
