//! How long the observer waits between samples.

use std::str::FromStr;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

use crate::clock;
use crate::error::ShimError;

/// A wait between samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pace {
    /// No wait.
    Fast,
    /// This number of the processor's pause instructions.
    Pause(u32),
    /// Mean cycles from sample to sample. Each wait is drawn from 3/4 to 5/4 of them, since regular samples
    /// would be biased (SHIM, section 4.2).
    Cycles(u64),
    /// Sleep for this number of nanoseconds: the CPU is free meanwhile.
    Sleep(u64),
}

impl FromStr for Pace {
    type Err = ShimError;

    fn from_str(text: &str) -> Result<Self, ShimError> {
        let bad = || ShimError::Period {
            text: text.to_owned(),
        };
        if text == "fast" {
            return Ok(Self::Fast);
        }
        if let Some(count) = text.strip_prefix("pause:") {
            return count.parse().map(Self::Pause).map_err(|_| bad());
        }
        let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let number: u64 = digits.parse().map_err(|_| bad())?;
        let scaled = |by: u64| number.checked_mul(by).map(Self::Sleep).ok_or_else(bad);
        match &text[digits.len()..] {
            _ if number == 0 => Err(bad()),
            "" | "c" => Ok(Self::Cycles(number)),
            "ns" => scaled(1),
            "us" => scaled(1_000),
            "ms" => scaled(1_000_000),
            _ => Err(bad()),
        }
    }
}

impl std::fmt::Display for Pace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Fast => f.write_str("fast"),
            Self::Pause(n) => write!(f, "pause:{n}"),
            Self::Cycles(n) => write!(f, "{n}"),
            Self::Sleep(ns) if ns % 1_000_000 == 0 => write!(f, "{}ms", ns / 1_000_000),
            Self::Sleep(ns) if ns % 1_000 == 0 => write!(f, "{}us", ns / 1_000),
            Self::Sleep(ns) => write!(f, "{ns}ns"),
        }
    }
}

/// Waits as a [`Pace`] says.
#[derive(Debug)]
pub struct Pacer {
    pace: Pace,
    next: u64,
    due_ns: u64,
    random: u64,
}

impl Pacer {
    /// A pacer whose first wait begins now.
    #[must_use]
    pub fn new(pace: Pace) -> Self {
        let now = clock::now();
        Self {
            pace,
            next: now,
            due_ns: monotonic_ns(),
            random: now | 1,
        }
    }

    /// Waits once; returns early when `stop` is set.
    #[inline(always)]
    pub fn wait(&mut self, stop: &AtomicBool) {
        match self.pace {
            Pace::Fast => {}
            Pace::Pause(count) => {
                for _ in 0..count {
                    clock::pause();
                }
            }
            Pace::Cycles(cycles) => self.spin(cycles, stop),
            Pace::Sleep(ns) => self.sleep(ns, stop),
        }
    }

    /// Sleeps until a period after the end of the sleep before, so that what waking and sampling take does not make
    /// periods longer; in slices, so that a stop is seen within 10 ms.
    #[inline(never)]
    fn sleep(&mut self, ns: u64, stop: &AtomicBool) {
        const SLICE: u64 = 10_000_000;
        let mut now = monotonic_ns();
        self.due_ns = self.due_ns.saturating_add(ns);
        // Behind by more than a period: the missed samples are not made up for.
        if now > self.due_ns.saturating_add(ns) {
            self.due_ns = now;
        }
        while now < self.due_ns && !stop.load(Ordering::Relaxed) {
            let until = self.due_ns.min(now + SLICE);
            let time = libc::timespec {
                tv_sec: (until / 1_000_000_000) as libc::time_t,
                tv_nsec: (until % 1_000_000_000) as libc::c_long,
            };
            // SAFETY: a valid time; nothing is written without a place for what is left.
            unsafe {
                libc::clock_nanosleep(
                    libc::CLOCK_MONOTONIC,
                    libc::TIMER_ABSTIME,
                    &raw const time,
                    std::ptr::null_mut(),
                )
            };
            now = monotonic_ns();
        }
    }

    #[inline(always)]
    fn spin(&mut self, cycles: u64, stop: &AtomicBool) {
        // xorshift64: one draw a sample, no state shared with anybody.
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        let part = (cycles / 2).max(1);
        // The high half of a product is a draw below `part` without a division.
        let draw = ((u128::from(self.random) * u128::from(part)) >> 64) as u64;
        self.next = self.next.wrapping_add(cycles - cycles / 4 + draw);
        let mut now = clock::now();
        // Behind by more than a period (preempted): the missed samples are not made up for.
        if now.wrapping_sub(self.next) as i64 > cycles as i64 {
            self.next = now;
            return;
        }
        while (now.wrapping_sub(self.next) as i64) < 0 && !stop.load(Ordering::Relaxed) {
            now = clock::now();
        }
    }
}

/// Takes away the slack that the kernel gives the calling thread's timers, 50 µs unless somebody changed it: sleeps would
/// be longer by it.
pub fn wake_on_time() {
    // SAFETY: no memory is involved. 1 ns is the least; 0 would mean the default.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1_usize) };
}

/// Nanoseconds of the system's clock that only goes forward.
fn monotonic_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn periods_are_read_and_written() {
        for (text, pace) in [
            ("fast", Pace::Fast),
            ("pause:7", Pace::Pause(7)),
            ("1200", Pace::Cycles(1200)),
            ("50us", Pace::Sleep(50_000)),
            ("2ms", Pace::Sleep(2_000_000)),
            ("7ns", Pace::Sleep(7)),
        ] {
            assert_eq!(text.parse::<Pace>().unwrap(), pace);
            assert_eq!(pace.to_string(), text);
        }
        assert_eq!("1200c".parse::<Pace>().unwrap(), Pace::Cycles(1200));
        for bad in ["", "0", "slow", "pause:", "-3", "3h", "99999999999999999ms"] {
            assert!(bad.parse::<Pace>().is_err(), "{bad}");
        }
    }

    #[test]
    fn sleeps_have_no_slack_once_it_is_taken_away() {
        std::thread::spawn(|| {
            wake_on_time();
            // SAFETY: no memory is involved.
            let slack = unsafe { libc::prctl(libc::PR_GET_TIMERSLACK) };
            assert_eq!(slack, 1);
        })
        .join()
        .unwrap();
    }

    #[test]
    fn sleeps_end_a_period_after_the_one_before_and_what_is_missed_is_not_made_up_for() {
        const PERIOD: u64 = 60_000_000_000;
        let stop = AtomicBool::new(true);
        let mut pacer = Pacer::new(Pace::Sleep(PERIOD));
        let first = pacer.due_ns;
        for waits in 1..4 {
            pacer.wait(&stop);
            assert_eq!(pacer.due_ns, first + waits * PERIOD);
        }
        pacer.due_ns = 0;
        let before = monotonic_ns();
        pacer.pace = Pace::Sleep(1);
        pacer.wait(&stop);
        assert!(pacer.due_ns >= before);
    }

    #[test]
    fn waits_have_the_period_that_was_asked_for_on_average() {
        let stop = AtomicBool::new(true);
        let mut pacer = Pacer::new(Pace::Cycles(1_000_000));
        let mut sum = 0;
        for _ in 0..200 {
            pacer.next = clock::now();
            let before = pacer.next;
            pacer.wait(&stop);
            let drawn = pacer.next - before;
            assert!((750_000..1_250_000).contains(&drawn), "{drawn}");
            sum += drawn;
        }
        assert!((950_000..1_050_000).contains(&(sum / 200)), "{}", sum / 200);
    }
}
