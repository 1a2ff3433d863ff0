//! Events that the observer can count: hardware and software events, and the program's own counters.

mod event;
pub mod page;
mod perf;
pub mod pmu;
#[cfg(test)]
mod recorded;
mod way;

use std::sync::atomic::Ordering;

pub use event::{Event, EventKind};
pub use perf::{PerfEvent, Target};
pub(crate) use perf::{USER_ACCESS, paranoid, remedy, user_access};
pub use pmu::Pmu;
pub use way::{Asked, Reach, Way};

use crate::error::ShimError;
use crate::region::Slot;

/// A counter that the observer reads.
#[derive(Debug)]
pub enum Counter {
    /// An event of the kernel's perf subsystem.
    Perf(PerfEvent),
    /// Cycles of the observer's own thread: the clock of the core that it shares with the program.
    CoreClock(PerfEvent),
    /// The count of a whole core minus the observer's own: what the sibling did (SHIM, section 3).
    CoreMinusOwn {
        /// Over all threads of the core.
        core: PerfEvent,
        /// The event counted for the observer alone.
        own: PerfEvent,
    },
    /// A counter in the observed thread's slot.
    Region(usize),
    /// An event that the observed thread counts for itself, by its place in the slot.
    AtTags(usize),
}

impl Counter {
    /// The value now. `slot` is the observed thread's; without one, region counters read 0.
    ///
    /// # Errors
    /// See [`PerfEvent::read`].
    #[inline]
    pub fn read(&mut self, slot: Option<&Slot>) -> Result<u64, ShimError> {
        match self {
            Self::Perf(event) | Self::CoreClock(event) => event.read(),
            Self::CoreMinusOwn { core, own } => {
                let whole = core.read()?;
                Ok(whole.wrapping_sub(own.read()?))
            }
            Self::Region(index) => {
                Ok(slot.map_or(0, |slot| slot.counters[*index].load(Ordering::Relaxed)))
            }
            Self::AtTags(index) => {
                Ok(slot.map_or(0, |slot| slot.events[*index].load(Ordering::Relaxed)))
            }
        }
    }

    /// Loads a counter of the region, so that its cache line is there when it is read between two stamps: a miss there
    /// would take the intervals with events out of double-time error correction.
    #[inline]
    pub fn fetch(&self, slot: Option<&Slot>) {
        if let (Self::Region(index), Some(slot)) = (self, slot) {
            std::hint::black_box(slot.counters[*index].load(Ordering::Relaxed));
        }
    }

    /// How it is read, and what that costs the program.
    #[must_use]
    pub fn path(&self) -> &'static str {
        match self {
            Self::Perf(_) => "read(2), an interrupt of the program for each sample",
            Self::CoreClock(event) if event.user_readable() => "rdpmc, the core's clock",
            Self::CoreClock(_) => "read(2), the core's clock",
            Self::CoreMinusOwn { core, own } if core.user_readable() && own.user_readable() => {
                "rdpmc, the core minus the observer"
            }
            Self::CoreMinusOwn { .. } => "read(2), the core minus the observer",
            Self::Region(_) => "memory",
            Self::AtTags(_) => "memory, counted by the program's threads with each tag",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs on every machine and says which of the two it did.
    #[test]
    fn instructions_are_counted_where_there_is_a_pmu_and_refused_in_words_where_not() {
        let event: Event = "instructions:u".parse().unwrap();
        match PerfEvent::open(&event, Target::OwnThread) {
            Ok(mut counter) => {
                let before = counter.read().unwrap();
                let work = (0..100_000_u64).fold(0, |a, b| std::hint::black_box(a ^ b));
                let counted = counter.read().unwrap() - before;
                eprintln!(
                    "PMU found (read by {}): {counted} instructions, work {work}",
                    Counter::Perf(counter).path()
                );
                assert!((100_000..100_000_000).contains(&counted), "{counted}");
            }
            Err(error) => {
                eprintln!("no PMU: {error}");
                assert!(matches!(error, ShimError::Event { .. }), "{error}");
            }
        }
    }

    #[test]
    fn software_events_count_or_say_what_is_missing() {
        let event: Event = "page-faults:u".parse().unwrap();
        match PerfEvent::open(&event, Target::OwnThread) {
            Ok(mut counter) => {
                let before = counter.read().unwrap();
                let pages = vec![1_u8; 4 << 20];
                assert_eq!(std::hint::black_box(&pages)[4096], 1);
                let counted = counter.read().unwrap() - before;
                eprintln!("software events found: {counted} page faults");
                assert!(counted > 0);
            }
            Err(error) => eprintln!("no software events: {error}"),
        }
    }

    #[test]
    fn a_process_that_is_gone_is_said_so() {
        let event: Event = "task-clock:u".parse().unwrap();
        let error = PerfEvent::open(&event, Target::Process(i32::MAX as u32)).unwrap_err();
        assert!(error.to_string().contains("task-clock:u"), "{error}");
    }
}
