//! Time: all of it comes from simulated nanoseconds, none from the host.

use hps_isa::memory::{Memory, PAGE_SIZE};
use serde::{Deserialize, Serialize};

use super::Linux;
use super::errno::Errno;
use super::identity::capability;
use super::outcome::{Outcome, Unserved};
use super::record::{Record, read_words, write_optional};
use super::threads::WaitFor;
use crate::process::VDSO_NAME;

/// The date on which a run begins unless another one is asked for, in seconds since 1970: 2026-01-01 00:00:00 UTC.
pub const EPOCH_SECONDS: u64 = 1_767_225_600;
/// `AT_CLKTCK` and the unit of `times`.
pub const CLOCK_TICKS_PER_SECOND: u64 = 100;
pub(super) const NANOS_PER_SECOND: u64 = 1_000_000_000;
/// The latest time that a wait ends: half of the range, so that instructions behind it cannot overflow it.
const LAST_NS: u64 = u64::MAX / 2;

/// Kind of time that a clock counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Clock {
    /// Time since 1970.
    Epoch,
    /// Time since the start of the run.
    Start,
    /// Processor time of a process, by its number.
    Process(u32),
    /// Processor time of a thread of the process, by its number.
    Thread(u32),
}

impl Clock {
    /// The time on the clock at the beginning of a run that begins on the date `start_ns`, in nanoseconds.
    pub(super) fn zero_ns(self, start_ns: u64) -> u64 {
        match self {
            Clock::Epoch => start_ns,
            Clock::Start | Clock::Process(_) | Clock::Thread(_) => 0,
        }
    }

    /// Whether it counts the time of processors, which goes on while a thread runs.
    pub(super) fn is_of_processors(self) -> bool {
        matches!(self, Clock::Process(_) | Clock::Thread(_))
    }
}

/// The process or the thread whose processor time a clock with a negative number counts, and whether that is a thread
/// (Linux `include/linux/posix-timers_types.h`); 0 is the caller.
fn processor_clock(id: i32) -> Result<(u32, bool), Errno> {
    const OF_THREAD: i32 = 4;
    const KIND: i32 = 3;
    /// A clock behind a descriptor, of which there are none.
    const DESCRIPTOR: i32 = 3;
    if id & KIND == DESCRIPTOR {
        return Err(Errno::EINVAL);
    }
    Ok((!(id >> 3) as u32, id & OF_THREAD != 0))
}

/// Reads a `struct timespec` that is not negative, in nanoseconds.
pub(super) fn read_duration(mem: &Memory, addr: u64) -> Result<u64, Errno> {
    let [seconds, nanos] = read_words(mem, addr)?;
    if (seconds as i64) < 0 || nanos >= NANOS_PER_SECOND {
        return Err(Errno::EINVAL);
    }
    Ok(seconds
        .saturating_mul(NANOS_PER_SECOND)
        .saturating_add(nanos))
}

/// How a time-out lies in guest memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TimeFormat {
    /// `struct timespec`.
    Nanoseconds,
    /// `struct timeval`, of `select`.
    Microseconds,
    /// `struct timeval` of OSF/1, with 32 bits each.
    Osf,
}

impl TimeFormat {
    /// Reads a time-out that is not negative, in nanoseconds.
    pub(super) fn read(self, mem: &Memory, addr: u64) -> Result<u64, Errno> {
        match self {
            TimeFormat::Nanoseconds => read_duration(mem, addr),
            TimeFormat::Microseconds => {
                // More than a second of microseconds is carried over.
                let [seconds, micros] = read_words(mem, addr)?;
                match (i64::try_from(seconds), i64::try_from(micros)) {
                    (Ok(_), Ok(_)) => Ok(seconds
                        .saturating_mul(NANOS_PER_SECOND)
                        .saturating_add(micros.saturating_mul(1000))),
                    _ => Err(Errno::EINVAL),
                }
            }
            TimeFormat::Osf => {
                let seconds = mem.read::<4>(addr)? as i32;
                let micros = mem.read::<4>(addr.wrapping_add(4))? as i32;
                match (u64::try_from(seconds), u64::try_from(micros)) {
                    (Ok(seconds), Ok(micros)) if micros < 1_000_000 => {
                        Ok(seconds * NANOS_PER_SECOND + micros * 1000)
                    }
                    _ => Err(Errno::EINVAL),
                }
            }
        }
    }

    /// Remaining time of a time-out, in this format; OSF/1 does not tell it.
    pub(super) fn rest(self, nanos: u64) -> Option<Vec<u8>> {
        let (seconds, fraction) = (nanos / NANOS_PER_SECOND, nanos % NANOS_PER_SECOND);
        match self {
            TimeFormat::Nanoseconds => Some(pair(seconds, fraction)),
            TimeFormat::Microseconds => Some(pair(seconds, fraction / 1000)),
            TimeFormat::Osf => None,
        }
    }
}

/// `struct timespec` or, with microseconds, `struct timeval`.
pub(super) fn pair(seconds: u64, fraction: u64) -> Vec<u8> {
    Record::new().u64(seconds).u64(fraction).done()
}

/// `struct timespec` or `struct timeval` with 32-bit fields.
fn pair32(seconds: u64, fraction: u64) -> Vec<u8> {
    Record::new()
        .u32(seconds as u32)
        .u32(fraction as u32)
        .done()
}

impl Linux {
    /// The date, in seconds since 1970.
    pub(super) fn date_seconds(&self) -> u64 {
        (self.time.start_ns + self.time.now_ns) / NANOS_PER_SECOND
    }

    /// The microseconds behind [`Linux::date_seconds`].
    fn microseconds(&self) -> u64 {
        (self.time.start_ns + self.time.now_ns) % NANOS_PER_SECOND / 1000
    }

    /// `clock_settime`: only the date can be set, by a process that may.
    pub(super) fn clock_settime(&mut self, mem: &mut Memory, a: &[u64; 6]) -> Result<u64, Errno> {
        const REALTIME: u32 = 0;
        if a[0] as u32 != REALTIME {
            return Err(Errno::EINVAL);
        }
        let date_ns = read_duration(mem, a[1])?;
        self.set_date(mem, date_ns)
    }

    /// `settimeofday`.
    pub(super) fn settimeofday(&mut self, mem: &mut Memory, a: &[u64; 6]) -> Result<u64, Errno> {
        let date_ns = match a[0] {
            0 => self.time.start_ns + self.time.now_ns,
            at => TimeFormat::Microseconds.read(mem, at)?,
        };
        self.set_date(mem, date_ns)
    }

    fn set_date(&mut self, mem: &mut Memory, date_ns: u64) -> Result<u64, Errno> {
        if !self.may(capability::SYS_TIME) {
            return Err(Errno::EPERM);
        }
        // A date before the start of the run's own clock cannot be told.
        self.time.start_ns = date_ns.checked_sub(self.time.now_ns).ok_or(Errno::EINVAL)?;
        self.show_date(mem);
        Ok(0)
    }

    /// The date at which simulated time is 0, in nanoseconds since 1970.
    pub(crate) fn date_at_start_ns(&self) -> u64 {
        self.time.start_ns
    }

    /// Tells the vDSO the date at which simulated time is 0.
    pub(crate) fn show_date(&self, mem: &mut Memory) {
        if let Some(at) = self.vdso_data() {
            // The page is there, unless the program has unmapped it.
            let _ = mem.write_bytes_forced(at, &self.time.start_ns.to_le_bytes());
        }
    }

    /// The vDSO's page of data, if the program has a vDSO.
    pub(super) fn vdso_data(&self) -> Option<u64> {
        let started = self.program.started.as_ref()?;
        let mut names = started.loaded.iter().map(|loaded| &loaded.path[..]);
        let has_vdso = names.any(|name| name == VDSO_NAME.as_bytes());
        has_vdso.then_some(self.space.place.vdso)
    }

    /// The clock with a number.
    pub(super) fn clock(&self, id: u64) -> Result<Clock, Errno> {
        let own = || self.threads.tid_here().unwrap_or(self.pid);
        match id as i32 {
            // REALTIME, REALTIME_COARSE, REALTIME_ALARM, TAI
            0 | 5 | 8 | 11 => Ok(Clock::Epoch),
            // PROCESS_CPUTIME_ID, THREAD_CPUTIME_ID
            2 => Ok(Clock::Process(self.pid)),
            3 => Ok(Clock::Thread(own())),
            // MONOTONIC, MONOTONIC_RAW, MONOTONIC_COARSE,
            // BOOTTIME, BOOTTIME_ALARM
            1 | 4 | 6 | 7 | 9 => Ok(Clock::Start),
            id if id < 0 => {
                let clock = match processor_clock(id)? {
                    (0, false) => Clock::Process(self.pid),
                    (0, true) => Clock::Thread(own()),
                    (pid, false) => Clock::Process(pid),
                    (tid, true) => Clock::Thread(tid),
                };
                self.clock_ns(clock).map(|_| clock).ok_or(Errno::EINVAL)
            }
            _ => Err(Errno::EINVAL),
        }
    }

    /// Time of a clock, in nanoseconds; `None` if its process or thread does not exist.
    fn clock_ns(&self, clock: Clock) -> Option<u64> {
        match clock {
            Clock::Epoch | Clock::Start => {
                Some(clock.zero_ns(self.time.start_ns) + self.time.now_ns)
            }
            Clock::Process(pid) if pid == self.pid => Some(self.busy_ns()),
            Clock::Process(pid) => {
                let other = self.other_processes().find(|other| other.pid == pid)?;
                Some(other.threads.processor_ns(self.time.now_ns))
            }
            Clock::Thread(tid) => Some(self.threads.processor_ns_of(tid, self.time.now_ns)?.1),
        }
    }

    /// Processor time of the process, in nanoseconds.
    pub(super) fn busy_ns(&self) -> u64 {
        self.threads.processor_ns(self.time.now_ns)
    }

    /// Processor time of the thread that makes the call, in nanoseconds.
    fn own_busy_ns(&self) -> u64 {
        let own = self.threads.tid_here();
        let of_thread = own.and_then(|tid| self.threads.processor_ns_of(tid, self.time.now_ns));
        of_thread.map_or(0, |(_, spent_ns)| spent_ns)
    }

    /// Simulated time in which any process ran, in nanoseconds.
    pub(super) fn all_busy_ns(&self) -> u64 {
        self.time.now_ns.saturating_sub(self.time.idle_ns)
    }

    pub(super) fn clock_gettime(&self, mem: &mut Memory, a: &[u64; 6]) -> Result<u64, Errno> {
        let clock = self.clock(a[0])?;
        let nanos = self.clock_ns(clock).ok_or(Errno::EINVAL)?;
        mem.write_bytes(
            a[1],
            &pair(nanos / NANOS_PER_SECOND, nanos % NANOS_PER_SECOND),
        )?;
        Ok(0)
    }

    pub(super) fn clock_getres(&self, mem: &mut Memory, a: &[u64; 6]) -> Result<u64, Errno> {
        self.clock(a[0])?;
        write_optional(mem, a[1], &pair(0, 1))?;
        Ok(0)
    }

    /// `adjtimex`: an unsynchronized clock, which cannot be adjusted without privileges.
    pub(super) fn adjtimex(&self, mem: &mut Memory, buffer: u64) -> Result<u64, Errno> {
        const BYTES: usize = 208;
        const UNSYNCHRONIZED: u32 = 0x40;
        const TIME_ERROR: u64 = 5;
        /// Asks for what is left of an adjustment.
        const OFFSET_READ: u64 = 0xa001;
        let modes = mem.read::<4>(buffer)?;
        if modes != 0 && modes != OFFSET_READ {
            return Err(Errno::EPERM);
        }
        let seconds = self.date_seconds();
        let record = Record::new()
            .u32(modes as u32)
            .pad_to(40)
            .u32(UNSYNCHRONIZED)
            .pad_to(64)
            .u64(1)
            .u64(seconds)
            .u64(self.microseconds())
            .u64(1_000_000 / CLOCK_TICKS_PER_SECOND)
            .pad_to(BYTES);
        mem.write_bytes(buffer, &record.done())?;
        Ok(TIME_ERROR)
    }

    pub(super) fn gettimeofday(&self, mem: &mut Memory, a: &[u64; 6]) -> Result<u64, Errno> {
        write_optional(mem, a[0], &pair(self.date_seconds(), self.microseconds()))?;
        write_optional(mem, a[1], &[0; 8])?;
        Ok(0)
    }

    /// `gettimeofday` of OSF/1: two 32-bit numbers.
    pub(super) fn gettimeofday32(&self, mem: &mut Memory, a: &[u64; 6]) -> Result<u64, Errno> {
        let seconds = self.date_seconds();
        write_optional(mem, a[0], &pair32(seconds, self.microseconds()))?;
        write_optional(mem, a[1], &[0; 8])?;
        Ok(0)
    }

    /// `usleep_thread` of OSF/1: nothing is left of the time to sleep.
    pub(super) fn usleep_thread(&mut self, mem: &mut Memory, a: &[u64; 6]) -> Outcome {
        let nanos = TimeFormat::Osf.read(mem, a[0])?;
        let slept = self.sleep_until(self.wait_end_ns(nanos))?;
        write_optional(mem, a[1], &pair32(0, 0))?;
        Ok(slept)
    }

    /// `nanosleep`: simulated time goes on by what the program asks for.
    pub(super) fn sleep(&mut self, mem: &mut Memory, a: &[u64; 6]) -> Outcome {
        let nanos = read_duration(mem, a[0])?;
        let slept = self.sleep_until(self.wait_end_ns(nanos));
        self.write_rest_of_sleep(mem, a[1], nanos, slept)
    }

    /// Waits until a simulated time, in nanoseconds.
    fn sleep_until(&mut self, end_ns: u64) -> Outcome {
        let end_ns = end_ns.min(LAST_NS);
        if end_ns <= self.time.now_ns {
            return Ok(0);
        }
        Err(Unserved::wait(WaitFor::Time, Some(end_ns)))
    }

    /// Writes the remaining time of a sleep that a signal ends. The time is written at each look, since the call cannot
    /// know which one is the last.
    fn write_rest_of_sleep(
        &self,
        mem: &mut Memory,
        rest_at: u64,
        nanos: u64,
        slept: Outcome,
    ) -> Outcome {
        if slept.is_err() && rest_at != 0 {
            let rest = self.wait_end_ns(nanos).saturating_sub(self.time.now_ns);
            // A place that cannot be written does not end the sleep.
            let _ = mem.write_bytes(
                rest_at,
                &pair(rest / NANOS_PER_SECOND, rest % NANOS_PER_SECOND),
            );
        }
        slept
    }

    /// `clock_nanosleep`: a duration, or with `TIMER_ABSTIME` a time of the clock.
    pub(super) fn clock_nanosleep(&mut self, mem: &mut Memory, a: &[u64; 6]) -> Outcome {
        const TIMER_ABSTIME: u64 = 1;
        let [id, flags, request, rest, ..] = *a;
        let clock = self.clock(id)?;
        if clock.is_of_processors() {
            // A thread does not run while it waits: its own clock would never get there.
            return Err(Errno::EOPNOTSUPP.into());
        }
        let nanos = read_duration(mem, request)?;
        if flags & TIMER_ABSTIME != 0 {
            return self.sleep_until(nanos.saturating_sub(clock.zero_ns(self.time.start_ns)));
        }
        let slept = self.sleep_until(self.wait_end_ns(nanos));
        self.write_rest_of_sleep(mem, rest, nanos, slept)
    }

    /// Lets simulated time jump to `end_ns`, if that lies ahead.
    pub(super) fn idle_until(&mut self, end_ns: u64) {
        let waits = end_ns.min(LAST_NS).saturating_sub(self.time.now_ns);
        self.time.idle_ns += waits;
        self.time.now_ns += waits;
    }

    pub(super) fn times(&self, mem: &mut Memory, buffer: u64) -> Result<u64, Errno> {
        let ticks = self.time.now_ns / (NANOS_PER_SECOND / CLOCK_TICKS_PER_SECOND);
        let in_ticks = |nanos: u64| nanos / (NANOS_PER_SECOND / CLOCK_TICKS_PER_SECOND);
        // Of the process and of its children that were waited for, for user and system.
        let record = Record::new()
            .u64(in_ticks(self.busy_ns()))
            .u64(0)
            .u64(in_ticks(self.state.children_ns))
            .u64(0);
        write_optional(mem, buffer, &record.done())?;
        Ok(ticks)
    }

    /// `getrusage`, whose two times take `pair_bytes` each: two numbers of 64 bits, or of 32 in OSF/1.
    pub(super) fn getrusage(
        &self,
        mem: &mut Memory,
        a: &[u64; 6],
        pair_bytes: usize,
    ) -> Result<u64, Errno> {
        const SELF: i32 = 0;
        const THREAD: i32 = 1;
        const CHILDREN: i32 = -1;
        let (busy_ns, memory_bytes) = match a[0] as i32 {
            SELF => (self.busy_ns(), mem.mapped_bytes()),
            THREAD => (self.own_busy_ns(), mem.mapped_bytes()),
            CHILDREN => (self.state.children_ns, 0),
            _ => return Err(Errno::EINVAL),
        };
        mem.write_bytes(a[1], &used(busy_ns, memory_bytes, pair_bytes))?;
        Ok(0)
    }

    pub(super) fn sysinfo(&self, mem: &mut Memory, buffer: u64) -> Result<u64, Errno> {
        let (total, free) = self.memory_in_all(mem);
        let record = Record::new()
            .u64(self.time.now_ns / NANOS_PER_SECOND)
            .pad_to(32)
            .u64(total)
            .u64(free.next_multiple_of(PAGE_SIZE))
            .pad_to(80)
            .u16(1)
            .pad_to(104)
            .u32(1)
            .pad_to(112);
        mem.write_bytes(buffer, &record.done())?;
        Ok(0)
    }
}

/// `struct rusage` of a process that has run for this time, with these most bytes of memory. Its two times take
/// `pair_bytes` each.
pub(super) fn used(busy_ns: u64, memory_bytes: u64, pair_bytes: usize) -> Vec<u8> {
    const OTHER_BYTES: usize = 112;
    let (seconds, micros) = (
        busy_ns / NANOS_PER_SECOND,
        busy_ns % NANOS_PER_SECOND / 1000,
    );
    let time = match pair_bytes {
        8 => pair32(seconds, micros),
        _ => pair(seconds, micros),
    };
    Record::new()
        .bytes(&time)
        .pad_to(2 * pair_bytes)
        .u64(memory_bytes / 1024)
        .pad_to(2 * pair_bytes + OTHER_BYTES)
        .done()
}
