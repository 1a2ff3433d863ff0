//! Time: all of it comes from simulated nanoseconds, none from the host.

use super::Linux;
use super::errno::Errno;
use super::record::{Record, read_words, write_optional};
use crate::memory::{Memory, PAGE_SIZE};

/// The date on which every run begins, in seconds since 1970: 2001-09-09 01:46:40 UTC.
pub const EPOCH_SECONDS: u64 = 1_000_000_000;
/// `AT_CLKTCK` and the unit of `times`.
pub const CLOCK_TICKS_PER_SECOND: u64 = 100;
const NANOS_PER_SECOND: u64 = 1_000_000_000;

/// Since when a clock counts.
enum Clock {
    Epoch,
    Start,
}

fn clock(id: u64) -> Result<Clock, Errno> {
    match id as u32 {
        // REALTIME, REALTIME_COARSE, REALTIME_ALARM, TAI
        0 | 5 | 8 | 11 => Ok(Clock::Epoch),
        // MONOTONIC, PROCESS_CPUTIME_ID, THREAD_CPUTIME_ID, MONOTONIC_RAW, MONOTONIC_COARSE,
        // BOOTTIME, BOOTTIME_ALARM
        1 | 2 | 3 | 4 | 6 | 7 | 9 => Ok(Clock::Start),
        _ => Err(Errno::EINVAL),
    }
}

/// `struct timespec` or, with microseconds, `struct timeval`.
fn pair(seconds: u64, fraction: u64) -> Vec<u8> {
    Record::new().u64(seconds).u64(fraction).done()
}

/// The same with 32 bits each.
fn pair32(seconds: u64, fraction: u64) -> Vec<u8> {
    Record::new()
        .u32(seconds as u32)
        .u32(fraction as u32)
        .done()
}

impl Linux {
    fn seconds(&self) -> u64 {
        self.now_ns / NANOS_PER_SECOND
    }

    fn microseconds(&self) -> u64 {
        self.now_ns % NANOS_PER_SECOND / 1000
    }

    pub(super) fn clock_gettime(&self, mem: &mut Memory, a: &[u64; 6]) -> Result<u64, Errno> {
        let base = match clock(a[0])? {
            Clock::Epoch => EPOCH_SECONDS,
            Clock::Start => 0,
        };
        mem.write_bytes(
            a[1],
            &pair(base + self.seconds(), self.now_ns % NANOS_PER_SECOND),
        )?;
        Ok(0)
    }

    pub(super) fn clock_getres(&self, mem: &mut Memory, a: &[u64; 6]) -> Result<u64, Errno> {
        clock(a[0])?;
        write_optional(mem, a[1], &pair(0, 1))?;
        Ok(0)
    }

    pub(super) fn gettimeofday(&self, mem: &mut Memory, a: &[u64; 6]) -> Result<u64, Errno> {
        write_optional(
            mem,
            a[0],
            &pair(EPOCH_SECONDS + self.seconds(), self.microseconds()),
        )?;
        write_optional(mem, a[1], &[0; 8])?;
        Ok(0)
    }

    /// `gettimeofday` of OSF/1: two 32-bit numbers.
    pub(super) fn gettimeofday32(&self, mem: &mut Memory, a: &[u64; 6]) -> Result<u64, Errno> {
        let seconds = EPOCH_SECONDS + self.seconds();
        write_optional(mem, a[0], &pair32(seconds, self.microseconds()))?;
        write_optional(mem, a[1], &[0; 8])?;
        Ok(0)
    }

    /// `usleep_thread` of OSF/1: nothing is left of the time to sleep.
    pub(super) fn usleep_thread(&self, mem: &mut Memory, a: &[u64; 6]) -> Result<u64, Errno> {
        let seconds = mem.read::<4>(a[0])? as i32;
        let micros = mem.read::<4>(a[0].wrapping_add(4))? as i32;
        if seconds < 0 || !(0..1_000_000).contains(&micros) {
            return Err(Errno::EINVAL);
        }
        write_optional(mem, a[1], &pair32(0, 0))?;
        Ok(0)
    }

    /// Sleeping returns at once: simulated time passes only while instructions run.
    pub(super) fn sleep(&self, mem: &Memory, request: u64) -> Result<u64, Errno> {
        let [seconds, nanos] = read_words(mem, request)?;
        if (seconds as i64) < 0 || nanos >= NANOS_PER_SECOND {
            Err(Errno::EINVAL)
        } else {
            Ok(0)
        }
    }

    pub(super) fn times(&self, mem: &mut Memory, buffer: u64) -> Result<u64, Errno> {
        let ticks = self.now_ns / (NANOS_PER_SECOND / CLOCK_TICKS_PER_SECOND);
        write_optional(mem, buffer, &Record::new().u64(ticks).pad_to(32).done())?;
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
        const OTHER_BYTES: usize = 112;
        let (seconds, micros) = (self.seconds(), self.microseconds());
        let used = match pair_bytes {
            8 => pair32(seconds, micros),
            _ => pair(seconds, micros),
        };
        let record = match a[0] as i32 {
            SELF | THREAD => Record::new()
                .bytes(&used)
                .pad_to(2 * pair_bytes)
                .u64(mem.mapped_bytes() / 1024),
            CHILDREN => Record::new(),
            _ => return Err(Errno::EINVAL),
        };
        let record = record.pad_to(2 * pair_bytes + OTHER_BYTES);
        mem.write_bytes(a[1], &record.done())?;
        Ok(0)
    }

    pub(super) fn sysinfo(&self, mem: &mut Memory, buffer: u64) -> Result<u64, Errno> {
        let total = mem.limit_bytes();
        let record = Record::new()
            .u64(self.seconds())
            .pad_to(32)
            .u64(total)
            .u64(
                total
                    .saturating_sub(mem.mapped_bytes())
                    .next_multiple_of(PAGE_SIZE),
            )
            .pad_to(80)
            .u16(1)
            .pad_to(104)
            .u32(1)
            .pad_to(112);
        mem.write_bytes(buffer, &record.done())?;
        Ok(0)
    }
}
