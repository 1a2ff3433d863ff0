//! Timers: `setitimer` and `timer_create`, on simulated time. Those behind descriptors are in
//! [`timerfd`](super::timerfd).
//!
//! Machines ask [`Linux::deadline_ns`] when something happens next, and come back then
//! ([`Process::attend`](crate::process::Process::attend)).

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

use hps_isa::memory::Memory;

use super::Linux;
use super::errno::Errno;
use super::record::{Record, read_words, write_optional};
use super::signals::{LAST_SIGNAL, SI_KERNEL, SigInfo, Signal, bit};
use super::threads::Threads;
use super::time::{Clock, NANOS_PER_SECOND, pair, read_duration};
use crate::process::Thread;

const SI_TIMER: i32 = -2;
/// `TIMER_ABSTIME` and `TFD_TIMER_ABSTIME`
pub(super) const ABSOLUTE: u64 = 1;
/// Timers that a guest may have: Linux takes them from the limit on pending signals.
const MOST_TIMERS: usize = 4096;
/// No time: an alarm that is due then is never due.
const NEVER_NS: u64 = u64::MAX;

/// A point of time that may come again and again.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Alarm {
    clock: Clock,
    /// When it comes next, by its clock, in nanoseconds; `None` if it is not set.
    next_ns: Option<u64>,
    /// ... and then after each such time; 0: once.
    interval_ns: u64,
    /// Nobody can tell when it comes, until a system call is made or a signal delivered: nobody has to look at it, and
    /// how often it has come is computed then.
    pub is_quiet: bool,
}

impl Alarm {
    pub(super) fn on(clock: Clock) -> Alarm {
        Alarm {
            clock,
            next_ns: None,
            interval_ns: 0,
            is_quiet: false,
        }
    }

    /// How often it has come by now; it waits for the time after that.
    pub(super) fn expire(&mut self, now: &Times) -> u64 {
        let now_ns = now.of(self.clock);
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

    /// When somebody has to look at it next if the threads that run do so until then, in simulated nanoseconds.
    fn due_ns(&self, now: &Times) -> Option<u64> {
        let next_ns = self.next_ns.filter(|_| !self.is_quiet)?;
        let left = next_ns.saturating_sub(now.of(self.clock));
        let left = match self.clock {
            Clock::Epoch | Clock::Start => left,
            Clock::Process(_) => left.div_ceil(now.threads.running().max(1)),
            Clock::Thread(tid) => {
                let (runs, _) = now.threads.processor_ns_of(tid, now.now_ns)?;
                left.max(if runs { 0 } else { NEVER_NS })
            }
        };
        Some(now.now_ns.saturating_add(left)).filter(|due| *due < NEVER_NS)
    }

    /// Sets it to a first time, which is absolute or counts from now, and an interval. A first time of 0 stops it. The
    /// run began on the date `start_ns`.
    pub(super) fn set(
        &mut self,
        now: &Times,
        start_ns: u64,
        (interval_ns, first): (u64, u64),
        flags: u64,
    ) {
        self.next_ns = match first {
            0 => None,
            _ if flags & ABSOLUTE != 0 => Some(first.saturating_sub(self.clock.zero_ns(start_ns))),
            _ => Some(now.of(self.clock).saturating_add(first)),
        };
        self.interval_ns = interval_ns;
        self.is_quiet = false;
    }

    /// `struct itimerspec` (or `struct itimerval`, in units of `unit_ns`): the interval, and what is left.
    pub(super) fn encode(&self, now: &Times, unit_ns: u64) -> Vec<u8> {
        // A timer that is set never says that nothing is left.
        let left = self.next_ns.map_or(0, |next| {
            next.saturating_sub(now.of(self.clock)).max(unit_ns)
        });
        let split = |nanos: u64| pair(nanos / NANOS_PER_SECOND, nanos % NANOS_PER_SECOND / unit_ns);
        Record::new()
            .bytes(&split(self.interval_ns))
            .bytes(&split(left))
            .done()
    }
}

/// Simulated time, and the threads, which have run for a part of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Times<'a> {
    pub now_ns: u64,
    pub threads: &'a Threads,
}

impl Times<'_> {
    /// Time of a clock, in nanoseconds from the start of the run. That of a thread that has ended stands still.
    fn of(&self, clock: Clock) -> u64 {
        match clock {
            Clock::Epoch | Clock::Start => self.now_ns,
            Clock::Process(_) => self.threads.processor_ns(self.now_ns),
            Clock::Thread(tid) => {
                let of_thread = self.threads.processor_ns_of(tid, self.now_ns);
                of_thread.map_or(0, |(_, spent_ns)| spent_ns)
            }
        }
    }
}

/// A timer of `timer_create`.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Timer {
    alarm: Alarm,
    /// The signal that it raises; `None`: it only counts.
    signal: Option<u8>,
    value: u64,
    /// The thread that gets the signal; `None`: the process.
    tid: Option<u32>,
    overruns: u64,
}

/// The timers of a guest.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Timers {
    /// Timers of `setitimer`: of real time, of the program's own time, and of that with the kernel's.
    intervals: [Alarm; 3],
    created: BTreeMap<u32, Timer>,
}

impl Timers {
    /// Timers of a new process, none of which is set.
    pub(super) fn of_process(pid: u32) -> Timers {
        let own = Clock::Process(pid);
        Timers {
            intervals: [Clock::Start, own, own].map(Alarm::on),
            created: BTreeMap::new(),
        }
    }

    /// Timers that a process keeps when it runs another program.
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

pub(super) fn read_alarm(mem: &Memory, addr: u64, unit_ns: u64) -> Result<(u64, u64), Errno> {
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
    pub(super) fn times_now(&self) -> Times<'_> {
        Times {
            now_ns: self.time.now_ns,
            threads: &self.threads,
        }
    }

    /// When the operating system has to look at its clock again if the program runs on, in simulated nanoseconds;
    /// `u64::MAX`: at no time.
    #[must_use]
    pub fn deadline_ns(&self) -> u64 {
        let now = self.times_now();
        let alarms = self.timers.alarms().chain(self.files.alarms());
        let timers = alarms.filter_map(|alarm| alarm.due_ns(&now));
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
            .filter(|alarm| !alarm.clock.is_of_processors())
            .filter_map(|alarm| alarm.due_ns(&now));
        timers.chain(self.threads.first_wake_ns()).min()
    }

    /// Raises the signals of timers whose time has come, and wakes who waits for their descriptors. `running` is the
    /// thread that runs, if one does.
    pub(super) fn expire_timers(&mut self, mut running: Option<&mut Thread>) {
        let now = Times {
            now_ns: self.time.now_ns,
            threads: &self.threads,
        };
        let intervals = &mut self.timers.intervals;
        let come = intervals.each_mut().map(|alarm| alarm.expire(&now) > 0);
        let created = self.timers.created.iter_mut();
        let raised: Vec<_> = created
            .map(|(id, timer)| (*id, timer.alarm.expire(&now)))
            .filter(|(_, count)| *count > 0)
            .collect();
        let signals = [Signal::Alarm, Signal::VirtualAlarm, Signal::Profiling];
        for (index, signal) in signals.into_iter().enumerate() {
            if come[index] {
                let signal = self.abi.signal_number(signal);
                let is_taken = self.is_taken(signal, running.as_deref());
                if is_taken && self.signals.pending.set & bit(signal) == 0 {
                    self.send_to_process(SigInfo {
                        signal,
                        code: SI_KERNEL,
                        ..SigInfo::default()
                    });
                }
                self.timers.intervals[index].is_quiet = true;
            }
        }
        for (id, count) in raised {
            self.raise_timer(id, count, running.as_deref_mut());
        }
        self.expire_timer_files();
    }

    /// A timer has come `count` times. Its signal waits once at a time, and says how often the timer has come since.
    fn raise_timer(&mut self, id: u32, count: u64, mut running: Option<&mut Thread>) {
        let Some(timer) = self.timers.created.get_mut(&id) else {
            return;
        };
        let (Some(signal), to) = (timer.signal, timer.tid) else {
            return;
        };
        let is_here = to.is_some() && running.as_ref().map(|thread| thread.tid) == to;
        let pending = match (to, &mut running) {
            (None, _) => Some(&mut self.signals.pending),
            (Some(_), Some(thread)) if is_here => Some(&mut thread.signals.pending),
            (Some(tid), _) => self.threads.pending_of(tid),
        };
        // Waits for a thread on another context are not known here.
        timer.alarm.is_quiet = pending.is_some();
        let waits = pending.and_then(|pending| pending.waiting(signal, SI_TIMER, id));
        if let Some(info) = waits {
            timer.overruns += count;
            if info.code == SI_TIMER && info.sender.is_some_and(|(of, _)| of == id) {
                info.sender = Some((id, timer.overruns as u32));
            }
            return;
        }
        timer.overruns = count - 1;
        let info = SigInfo {
            signal,
            code: SI_TIMER,
            sender: Some((id, timer.overruns as u32)),
            value: timer.value,
            ..SigInfo::default()
        };
        match to {
            _ if !self.is_taken(signal, running.as_deref()) => {}
            Some(tid) => self.send_to_thread(running, tid, info),
            None => self.send_to_process(info),
        }
    }

    /// Whether a signal makes a difference: it is not ignored, or a thread blocks it or waits for it.
    fn is_taken(&self, signal: u8, running: Option<&Thread>) -> bool {
        let parked = self.threads.all_parked();
        let mut threads = running.into_iter().chain(parked);
        !self.is_ignored(signal) || threads.any(|thread| thread.keeps(signal))
    }

    /// A system call is about to be made, or a signal has been delivered: all timers are to be looked at again.
    pub(super) fn look_at_timers_again(&mut self) {
        for timer in self.timers.created.values_mut() {
            timer.alarm.is_quiet = timer.signal.is_none();
        }
        let files = self.files.alarms_mut();
        for alarm in self.timers.intervals.iter_mut().chain(files) {
            alarm.is_quiet = false;
        }
    }

    /// Lets timers that nobody has looked at come as often as they should have by now: the system call that `thread`
    /// makes may make a difference to what they do.
    pub(super) fn catch_up_on_timers(&mut self, thread: &mut Thread) {
        let has_quiet = {
            let mut all = self.timers.alarms().chain(self.files.alarms());
            all.any(|alarm| alarm.is_quiet)
        };
        if has_quiet {
            self.expire_timers(Some(thread));
            self.look_at_timers_again();
        }
    }

    pub(super) fn getitimer(&self, mem: &mut Memory, a: &[u64; 6]) -> Result<u64, Errno> {
        let index = interval_index(a[0])?;
        let alarm = self.timers.intervals[index].encode(&self.times_now(), 1000);
        mem.write_bytes(a[1], &alarm)?;
        Ok(0)
    }

    pub(super) fn setitimer(&mut self, mem: &mut Memory, a: &[u64; 6]) -> Result<u64, Errno> {
        let index = interval_index(a[0])?;
        let (interval_ns, first) = match a[1] {
            0 => (0, 0),
            at => read_alarm(mem, at, 1000)?,
        };
        let now = Times {
            now_ns: self.time.now_ns,
            threads: &self.threads,
        };
        let alarm = &mut self.timers.intervals[index];
        let before = alarm.encode(&now, 1000);
        alarm.set(&now, self.time.start_ns, (interval_ns, first), 0);
        write_optional(mem, a[2], &before)?;
        Ok(0)
    }

    pub(super) fn timer_create(&mut self, mem: &mut Memory, a: &[u64; 6]) -> Result<u64, Errno> {
        const SIGEV_SIGNAL: u32 = 0;
        const SIGEV_NONE: u32 = 1;
        const SIGEV_THREAD: u32 = 2;
        const SIGEV_THREAD_ID: u32 = 4;
        let [clock_id, event, id_at, ..] = *a;
        let clock = self.clock(clock_id)?;
        if matches!(clock, Clock::Process(pid) if pid != self.pid) {
            return Err(Errno::EINVAL);
        }
        if self.timers.created.len() >= MOST_TIMERS {
            return Err(Errno::EAGAIN);
        }
        let id = (0..)
            .find(|id| !self.timers.created.contains_key(id))
            .unwrap_or(0);
        let mut timer = Timer {
            alarm: Alarm::on(clock),
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
        let now = Times {
            now_ns: self.time.now_ns,
            threads: &self.threads,
        };
        let start_ns = self.time.start_ns;
        let timer = self
            .timers
            .created
            .get_mut(&(id as u32))
            .ok_or(Errno::EINVAL)?;
        let before = timer.alarm.encode(&now, 1);
        timer.alarm.set(&now, start_ns, (interval_ns, first), flags);
        timer.alarm.is_quiet = timer.signal.is_none();
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
        mem.write_bytes(a[1], &timer.alarm.encode(&self.times_now(), 1))?;
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
}

fn interval_index(which: u64) -> Result<usize, Errno> {
    usize::try_from(which)
        .ok()
        .filter(|which| *which < 3)
        .ok_or(Errno::EINVAL)
}
