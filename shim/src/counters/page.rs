//! A counter read in user space: the page that the kernel maps for an event, and `rdpmc` (x86-64), `pmccntr_el0` and
//! `pmevcntrN_el0` (aarch64), or `cycle`, `instret` and `hpmcounterN` (riscv64).
//!
//! The protocol is the one in `perf_event.h`: the kernel changes the page under a sequence lock that
//! is odd while it writes. A reader takes the lock's value, the fields and the hardware counter, and
//! starts again if the lock has moved. `index` is the hardware counter plus one, 0 while the event is
//! not on the processor. An observer reads events that count where it runs, while it runs: an event that is not on the
//! processor then has no counter, and its value stands still. The hardware counter has `pmc_width` bits
//! and is sign-extended before it is added, because the kernel starts it at a negative number.

use std::sync::atomic::{AtomicI64, AtomicU16, AtomicU32, AtomicU64, Ordering, fence};

use crate::clock;

/// Attempts until a page counts as never resting.
pub const TRIES: u32 = 10_000;
/// `capabilities`: user space may read the hardware counter.
pub const CAP_USER_RDPMC: u64 = 1 << 2;

/// The fields of `struct perf_event_mmap_page` that a reader needs, at their places.
#[repr(C)]
#[derive(Debug, Default)]
pub struct CounterPage {
    /// Version of the structure.
    pub version: AtomicU32,
    /// The lowest version that it is compatible with.
    pub compat_version: AtomicU32,
    /// The sequence lock: odd while the page is being written.
    pub lock: AtomicU32,
    /// Hardware counter plus one; 0: not on the processor.
    pub index: AtomicU32,
    /// To be added to the hardware counter.
    pub offset: AtomicI64,
    /// Nanoseconds that the event was enabled.
    pub time_enabled: AtomicU64,
    /// Nanoseconds of these in which it counted.
    pub time_running: AtomicU64,
    /// Flags, [`CAP_USER_RDPMC`] among them.
    pub capabilities: AtomicU64,
    /// Bits of the hardware counter.
    pub pmc_width: AtomicU16,
}

/// Reads hardware counters: the processor, or a test.
pub trait Pmc {
    /// The hardware counter of this index, its low `pmc_width` bits.
    fn read(&self, index: u32) -> u64;
}

/// The processor's own counters.
#[derive(Debug, Clone, Copy)]
pub struct Processor;

impl Pmc for Processor {
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    fn read(&self, index: u32) -> u64 {
        let (low, high): (u32, u32);
        // SAFETY: called only with an index from a page whose capabilities allow `rdpmc`, which the
        // kernel sets together with the processor's permission for this process.
        unsafe {
            core::arch::asm!(
                "rdpmc", in("ecx") index, out("eax") low, out("edx") high,
                options(nomem, nostack, preserves_flags)
            );
        }
        u64::from(high) << 32 | u64::from(low)
    }

    /// Counter 31 is the cycle counter, as the kernel numbers them for user space.
    #[cfg(target_arch = "aarch64")]
    #[inline(always)]
    fn read(&self, index: u32) -> u64 {
        numbered!(index, "mrs {}, pmevcntr", "_el0", {
            let cycles: u64;
            // SAFETY: as below.
            unsafe {
                core::arch::asm!("mrs {}, pmccntr_el0", out(reg) cycles, options(nomem, nostack));
            }
            cycles
        })
    }

    /// Counter 0 is `cycle`, 2 `instret`, the others `hpmcounter3` to `hpmcounter31`: the offset from the CSR of `cycle`.
    #[cfg(target_arch = "riscv64")]
    #[inline(always)]
    fn read(&self, index: u32) -> u64 {
        numbered!(index, "csrr {}, 0xc00 + ", "", {
            let last: u64;
            // SAFETY: as below.
            unsafe {
                core::arch::asm!("csrr {}, 0xc00 + 31", out(reg) last, options(nomem, nostack))
            };
            last
        })
    }
}

/// Reads the counter of a number that the instruction itself holds: `$before`, the number, `$after`; `$last` for 31.
#[cfg(any(target_arch = "aarch64", target_arch = "riscv64"))]
macro_rules! numbered {
    ($index:expr, $before:literal, $after:literal, $last:expr) => {
        numbered!(@ $index, $before, $after, $last,
            0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30)
    };
    (@ $index:expr, $before:literal, $after:literal, $last:expr, $($number:literal)*) => {
        match $index {
            $($number => {
                let count: u64;
                // SAFETY: called only with an index from a page whose capabilities allow the read, which the kernel sets
                // together with the processor's permission for this process.
                unsafe {
                    core::arch::asm!(
                        concat!($before, $number, $after), out(reg) count, options(nomem, nostack)
                    );
                }
                count
            })*
            _ => $last,
        }
    };
}
#[cfg(any(target_arch = "aarch64", target_arch = "riscv64"))]
use numbered;

/// Why a page gave no value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageFault {
    /// The event does not have its hardware counter to itself.
    Multiplexed {
        /// Nanoseconds enabled.
        enabled_ns: u64,
        /// Nanoseconds counted.
        running_ns: u64,
    },
    /// The event has no hardware counter: nothing is counted.
    NoCounter,
    /// The lock moved in each of [`TRIES`] attempts.
    Unstable,
}

/// One consistent value of the event's count.
///
/// # Errors
/// [`PageFault::Multiplexed`] if the event did not count all the time that it was enabled: scaling
/// would be a guess. [`PageFault::NoCounter`] if it does not count now, [`PageFault::Unstable`] if the page never rests.
#[inline(always)]
pub fn read(page: &CounterPage, pmc: &impl Pmc) -> Result<u64, PageFault> {
    for _ in 0..TRIES {
        let lock = page.lock.load(Ordering::Acquire);
        if lock & 1 != 0 {
            clock::pause();
            continue;
        }
        let enabled_ns = page.time_enabled.load(Ordering::Relaxed);
        let running_ns = page.time_running.load(Ordering::Relaxed);
        let index = page.index.load(Ordering::Relaxed);
        let mut count = page.offset.load(Ordering::Relaxed);
        if index != 0 {
            let width = u32::from(page.pmc_width.load(Ordering::Relaxed)).clamp(1, 64);
            let raw = pmc.read(index - 1);
            let extended = ((raw << (64 - width)) as i64) >> (64 - width);
            count = count.wrapping_add(extended);
        }
        fence(Ordering::Acquire);
        if page.lock.load(Ordering::Relaxed) != lock {
            clock::pause();
            continue;
        }
        if enabled_ns != running_ns {
            return Err(PageFault::Multiplexed {
                enabled_ns,
                running_ns,
            });
        }
        if index == 0 {
            return Err(PageFault::NoCounter);
        }
        return Ok(count as u64);
    }
    Err(PageFault::Unstable)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicBool;

    struct Fixed(u64);
    impl Pmc for Fixed {
        fn read(&self, _index: u32) -> u64 {
            self.0
        }
    }

    fn page(index: u32, offset: i64, width: u16) -> CounterPage {
        CounterPage {
            index: index.into(),
            offset: offset.into(),
            pmc_width: width.into(),
            ..CounterPage::default()
        }
    }

    #[test]
    fn fields_stand_where_the_kernel_has_them() {
        use perf_event_open_sys::bindings::perf_event_mmap_page as Kernel;
        use std::mem::offset_of;
        assert_eq!(offset_of!(CounterPage, lock), offset_of!(Kernel, lock));
        assert_eq!(offset_of!(CounterPage, index), offset_of!(Kernel, index));
        assert_eq!(offset_of!(CounterPage, offset), offset_of!(Kernel, offset));
        assert_eq!(
            offset_of!(CounterPage, time_enabled),
            offset_of!(Kernel, time_enabled)
        );
        assert_eq!(
            offset_of!(CounterPage, time_running),
            offset_of!(Kernel, time_running)
        );
        assert_eq!(
            offset_of!(CounterPage, pmc_width),
            offset_of!(Kernel, pmc_width)
        );
        let mut kernel = Kernel::default();
        // SAFETY: both members of the union are 64 bits without invalid patterns.
        let capabilities = unsafe {
            let flags = &mut kernel.__bindgen_anon_1.__bindgen_anon_1;
            flags.set_cap_user_rdpmc(1);
            kernel.__bindgen_anon_1.capabilities
        };
        assert_eq!(capabilities, CAP_USER_RDPMC);
    }

    #[test]
    fn an_event_without_a_counter_has_no_value() {
        // Never scheduled: the kernel has not written the page, and all of it is 0.
        let untouched = CounterPage::default();
        assert_eq!(read(&untouched, &Fixed(5)), Err(PageFault::NoCounter));
        assert_eq!(read(&page(0, 77, 48), &Fixed(5)), Err(PageFault::NoCounter));
    }

    #[test]
    fn the_hardware_counter_is_sign_extended() {
        // The kernel starts a counter at minus its period: 48 bits of 2^48 - 1000.
        let started = (1 << 48) - 1000_u64;
        assert_eq!(read(&page(1, 1000, 48), &Fixed(started)), Ok(0));
        assert_eq!(read(&page(1, 1000, 48), &Fixed(started + 400)), Ok(400));
        // The counter passed zero.
        assert_eq!(read(&page(1, 1000, 48), &Fixed(250)), Ok(1250));
        // Bits above the width are not the counter's.
        assert_eq!(read(&page(1, 0, 40), &Fixed(0xff00_0000_0000_0007)), Ok(7));
        assert_eq!(read(&page(1, 0, 64), &Fixed(u64::MAX)), Ok(u64::MAX));
    }

    #[test]
    fn a_shared_counter_is_refused() {
        let shared = page(1, 0, 48);
        shared.time_enabled.store(900, Ordering::Relaxed);
        shared.time_running.store(300, Ordering::Relaxed);
        let refused = PageFault::Multiplexed {
            enabled_ns: 900,
            running_ns: 300,
        };
        assert_eq!(read(&shared, &Fixed(1)), Err(refused));
    }

    #[test]
    fn a_page_that_never_rests_is_given_up() {
        let busy = page(1, 0, 48);
        busy.lock.store(1, Ordering::Relaxed);
        assert_eq!(read(&busy, &Fixed(1)), Err(PageFault::Unstable));
    }

    /// A counter whose page is rewritten all the time, as by a kernel that moves the event between
    /// hardware counters: offset and counter change together, their sum never goes back.
    #[test]
    fn concurrent_updates_are_never_seen_torn() {
        struct Moving<'a>(&'a [AtomicU64; 2]);
        impl Pmc for Moving<'_> {
            fn read(&self, index: u32) -> u64 {
                self.0[index as usize].load(Ordering::Acquire)
            }
        }
        const WIDTH: u16 = 20;
        let hardware = [AtomicU64::new(0), AtomicU64::new(0)];
        let shared = page(1, 0, WIDTH);
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut count = 0_i64;
                let mut turn = 0_u32;
                while !stop.load(Ordering::Relaxed) {
                    let lock = shared.lock.load(Ordering::Relaxed);
                    shared.lock.store(lock + 1, Ordering::Relaxed);
                    fence(Ordering::Release);
                    turn += 1;
                    // 0, 1, 2: off the processor, or on one of two counters with any start value.
                    let index = turn % 3;
                    let start = i64::from(turn.wrapping_mul(40_503) % 1000) - 500;
                    shared.index.store(index, Ordering::Relaxed);
                    if index == 0 {
                        shared.offset.store(count, Ordering::Relaxed);
                    } else {
                        let raw = start as u64 & ((1 << WIDTH) - 1);
                        hardware[index as usize - 1].store(raw, Ordering::Release);
                        shared.offset.store(count - start, Ordering::Relaxed);
                    }
                    shared.lock.store(lock + 2, Ordering::Release);
                    if index != 0 {
                        let counter = &hardware[index as usize - 1];
                        for step in 1..=20_i64 {
                            let raw = (start + step) as u64 & ((1 << WIDTH) - 1);
                            counter.store(raw, Ordering::Release);
                        }
                        count += 20;
                    }
                }
            });
            let mut last = 0;
            let mut seen = 0_u32;
            let mut torn = None;
            while torn.is_none() && (seen < 200_000 || last < 20_000) {
                if let Ok(now) = read(&shared, &Moving(&hardware)) {
                    if now < last || now >= 1 << 40 {
                        torn = Some((last, now));
                    }
                    last = now;
                    seen += 1;
                }
            }
            stop.store(true, Ordering::Relaxed);
            assert_eq!(torn, None, "a count that went back: before, after");
        });
    }
}
