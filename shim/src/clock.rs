//! The time stamp counter.
//!
//! x86-64: `rdtscp`, which waits for all earlier instructions, and a fence behind it so that no later
//! one starts early. aarch64: `isb` and `cntvct_el0`. riscv64: fences and `rdtime`. Stamps are in the counter's own
//! ticks, called cycles everywhere in this crate; they are the core's cycles only where both run at one frequency.

use std::time::{Duration, Instant};

/// Reads time stamps for an observer. The machine's clock, or one that a test disturbs.
pub trait Clock {
    /// The stamp before the counters are read.
    fn start(&mut self) -> u64;
    /// The stamp after the counters were read.
    fn end(&mut self) -> u64;
}

/// The machine's time stamp counter.
#[derive(Debug, Clone, Copy, Default)]
pub struct Tsc;

impl Clock for Tsc {
    #[inline(always)]
    fn start(&mut self) -> u64 {
        serialized()
    }

    #[inline(always)]
    fn end(&mut self) -> u64 {
        serialized()
    }
}

/// The counter now, not ordered with what stands around it.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
#[must_use]
pub fn now() -> u64 {
    // SAFETY: every x86-64 has the instruction; where user space may not read it, the kernel's
    // `PR_TSC_SIGSEGV` was asked for by this very process.
    unsafe { core::arch::x86_64::_rdtsc() }
}

/// The counter behind everything before it (the paper's `rdtscp()`).
#[cfg(target_arch = "x86_64")]
#[inline(always)]
#[must_use]
pub fn serialized() -> u64 {
    let mut cpu = 0;
    // SAFETY: as `now`; `rdtscp` is in every x86-64 of the last fifteen years, and `Machine::find`
    // refuses those without.
    unsafe {
        let stamp = core::arch::x86_64::__rdtscp(&mut cpu);
        core::arch::x86_64::_mm_lfence();
        stamp
    }
}

/// The counter now, not ordered with what stands around it.
#[cfg(target_arch = "aarch64")]
#[inline(always)]
#[must_use]
pub fn now() -> u64 {
    let ticks: u64;
    // SAFETY: Linux lets user space read the virtual counter.
    unsafe { core::arch::asm!("mrs {}, cntvct_el0", out(reg) ticks, options(nomem, nostack)) };
    ticks
}

/// The counter behind everything before it.
#[cfg(target_arch = "aarch64")]
#[inline(always)]
#[must_use]
pub fn serialized() -> u64 {
    let ticks: u64;
    // SAFETY: as `now`. Not `nomem`: reads of counters and tags must not move across it.
    unsafe {
        core::arch::asm!("isb", "mrs {}, cntvct_el0", "isb", out(reg) ticks, options(nostack))
    };
    ticks
}

/// The counter now, not ordered with what stands around it.
#[cfg(target_arch = "riscv64")]
#[inline(always)]
#[must_use]
pub fn now() -> u64 {
    let ticks: u64;
    // SAFETY: Linux lets user space read the timer.
    unsafe { core::arch::asm!("rdtime {}", out(reg) ticks, options(nomem, nostack)) };
    ticks
}

/// The counter behind everything before it.
#[cfg(target_arch = "riscv64")]
#[inline(always)]
#[must_use]
pub fn serialized() -> u64 {
    let ticks: u64;
    // Reads of the timer are device input to a fence (RISC-V, Zicntr).
    // SAFETY: as `now`. Not `nomem`: reads of counters and tags must not move across it.
    unsafe {
        core::arch::asm!(
            "fence iorw, iorw", "rdtime {}", "fence iorw, iorw", out(reg) ticks, options(nostack)
        )
    };
    ticks
}

/// Asks for the cache line of `place` without waiting for it: a serializing read of the clock waits for
/// earlier loads, but not for a prefetch.
#[inline(always)]
pub fn fetch_ahead<T>(place: &T) {
    let place = std::ptr::from_ref(place);
    // SAFETY: a prefetch has no effect that a program can see, whatever the address.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(place.cast());
    }
    // SAFETY: a prefetch has no effect that a program can see, whatever the address.
    #[cfg(target_arch = "aarch64")]
    unsafe {
        core::arch::asm!("prfm pldl1keep, [{}]", in(reg) place, options(nostack, readonly));
    }
    // SAFETY: `prefetch.r` is an `ori` with x0 as its destination, which processors without Zicbop pass over.
    #[cfg(target_arch = "riscv64")]
    unsafe {
        core::arch::asm!(".insn i 0x13, 6, x0, {}, 1", in(reg) place, options(nostack, readonly));
    }
}

/// Waits without work for a moment: the paper's `nop`s.
#[inline(always)]
pub fn pause() {
    std::hint::spin_loop();
}

/// Ticks of the counter in one second, measured against the system's monotonic clock.
///
/// Takes about 20 ms; the best of several short runs, since a busy host delays single readings.
#[must_use]
pub fn ticks_per_second() -> f64 {
    let mut best: Option<(Duration, f64)> = None;
    for _ in 0..4 {
        let before = Instant::now();
        let from = serialized();
        std::thread::sleep(Duration::from_millis(5));
        let to = serialized();
        let elapsed = before.elapsed();
        let rate = to.wrapping_sub(from) as f64 / elapsed.as_secs_f64();
        // The shortest run was delayed least, so its two clocks agree best.
        if best.is_none_or(|(shortest, _)| elapsed < shortest) {
            best = Some((elapsed, rate));
        }
    }
    best.map_or(0.0, |(_, rate)| rate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_go_forward() {
        let mut last = serialized();
        for _ in 0..10_000 {
            let next = serialized();
            assert!(next >= last);
            last = next;
        }
    }

    #[test]
    fn the_frequency_is_that_of_a_processor() {
        let hertz = ticks_per_second();
        assert!((1e6..1e11).contains(&hertz), "{hertz}");
    }
}
