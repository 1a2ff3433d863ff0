//! The time in which the cache line of a tag goes to the observer's CPU and back, if the tag keeps changing.
//! No observer can see new tags at a shorter mean period: it would read one tag twice.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::affinity;
use crate::clock;
use crate::error::ShimError;
use crate::placement::Placement;
use crate::region::{Region, Slot};
use crate::stats::Estimate;

/// New tags between two looks at the clock.
const CHANGES: u32 = 32;

/// Looks at the clock.
const BATCHES: usize = 1024;

/// Reads at most, a fraction of a second: a tag may stand still.
const READS: u64 = 1 << 26;

/// Cycles from one new tag to the next for a reader that does nothing but read, where `write` keeps
/// changing the slot's tag until its second argument is set. The median is the one of interest: a
/// scheduler that holds up one of the two moves the mean.
///
/// # Errors
/// Errors of creating a region and binding to CPUs.
pub fn cycles_per_change(
    placement: &Placement,
    write: impl Fn(&Slot, &AtomicBool) + Sync,
) -> Result<Estimate, ShimError> {
    let region = Region::create()?;
    let over = AtomicBool::new(false);
    let cpu = placement.program.first().copied().unwrap_or(0);
    let panicked = || {
        let panicked = std::io::Error::other("its thread panicked");
        ShimError::system("the changing tag", panicked)
    };
    std::thread::scope(|scope| {
        let Some(slot) = region.take_slot() else {
            let full = std::io::Error::other("all are taken");
            return Err(ShimError::system("taking a slot", full));
        };
        let (write, over) = (&write, &over);
        let writer = scope.spawn(move || -> Result<(), ShimError> {
            affinity::pin(cpu)?;
            write(slot, over);
            Ok(())
        });
        let reader = scope.spawn(move || -> Result<Estimate, ShimError> {
            affinity::pin(placement.observer)?;
            Ok(read(slot))
        });
        let seen = reader.join();
        over.store(true, Ordering::Relaxed);
        writer.join().unwrap_or_else(|_| Err(panicked()))?;
        seen.unwrap_or_else(|_| Err(panicked()))
    })
}

fn read(slot: &Slot) -> Estimate {
    let mut last = slot.tag.load(Ordering::Relaxed);
    let mut batches = Vec::with_capacity(BATCHES);
    let (mut from, mut changes) = (clock::now(), 0);
    for _ in 0..READS {
        let tag = slot.tag.load(Ordering::Relaxed);
        changes += u32::from(tag != last);
        last = tag;
        if changes == CHANGES {
            let now = clock::now();
            batches.push(now.wrapping_sub(from) as f64 / f64::from(CHANGES));
            (from, changes) = (now, 0);
            if batches.len() == BATCHES {
                break;
            }
        }
    }
    // The writer may have begun later.
    Estimate::of(batches.get(1..).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::placement::Seat;

    #[test]
    fn a_tag_that_changes_now_and_then_is_seen_each_time() {
        let cpus = affinity::allowed().unwrap();
        let [program, observer, ..] = cpus[..] else {
            crate::left_out::left_out("changes of tags", "only one CPU may be used");
            return;
        };
        let placement = Placement {
            seat: Seat::Cmp,
            observer,
            program: vec![program],
        };
        // Far apart beside a line's way.
        let seen = cycles_per_change(&placement, |slot, over| {
            let mut tag = 1;
            while !over.load(Ordering::Relaxed) {
                tag += 1;
                slot.set(tag);
                let until = clock::now() + 20_000;
                while clock::now() < until {}
            }
        })
        .unwrap();
        assert!(seen.runs > 0);
        assert!(seen.median >= 19_000.0, "{seen:?}");
    }
}
