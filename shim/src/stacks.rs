//! Stacks of tags beside each sample.

use std::sync::atomic::Ordering;

use crate::contexts::{Context, Contexts};
use crate::region::{LIVE, Region, SLOTS, STACK, Slot};
use crate::sample::{Sample, Sink};
use crate::stack_read::{DEEPER, Reading, read_stack, vanished};

/// Counts of the stacks of all samples, `sampled = whole + torn`, and their tree.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Stacks {
    /// Samples with a stack: all that were sent.
    pub sampled: u64,
    /// Stacks that did not change while they were read.
    pub whole: u64,
    /// Stacks that did; their outermost frames and their tag are known.
    pub torn: u64,
    /// Stacks deeper than a slot shows, whole or torn.
    pub deeper: u64,
    /// Samples for which the tree had no room; they are not in `contexts`.
    pub lost: u64,
    /// The tree.
    pub contexts: Vec<Context>,
}

/// Reads the stack of each sample's thread into a tree and gives the sample to another sink.
pub struct WithStacks<'a, S> {
    region: &'a Region,
    inner: &'a mut S,
    contexts: Contexts,
    path: Vec<u64>,
    /// The slot behind the last one: the observer goes round.
    next: usize,
    counts: Stacks,
}

impl<'a, S: Sink> WithStacks<'a, S> {
    /// A reader of stacks with room for `room` calling contexts.
    pub fn new(region: &'a Region, inner: &'a mut S, room: usize) -> Self {
        Self {
            region,
            inner,
            contexts: Contexts::new(room),
            path: Vec::with_capacity(STACK + 2),
            next: 0,
            counts: Stacks::default(),
        }
    }

    /// Counts and tree of the stacks that were read.
    pub fn finish(self) -> Stacks {
        Stacks {
            lost: self.contexts.lost(),
            contexts: self.contexts.listing(),
            ..self.counts
        }
    }

    /// The slot that a thread writes now.
    #[inline(always)]
    fn slot_of(&mut self, thread: u64) -> Option<&'a Slot> {
        let layout = self.region.layout();
        let used = (layout.header.threads.load(Ordering::Relaxed) as usize).min(SLOTS);
        for step in 0..used {
            let at = (self.next + step) % used;
            let slot = &layout.slots[at];
            if is_of(slot, thread) {
                self.next = at + 1;
                return Some(slot);
            }
        }
        None
    }
}

#[inline(always)]
fn is_of(slot: &Slot, thread: u64) -> bool {
    u64::from(slot.tid.load(Ordering::Relaxed)) == thread
        && slot.live.load(Ordering::Relaxed) == LIVE
}

impl<S: Sink> Sink for WithStacks<'_, S> {
    #[inline(always)]
    fn take(&mut self, sample: &Sample) -> bool {
        let reading = match self.slot_of(sample.thread) {
            Some(slot) => {
                let reading = read_stack(slot, &mut self.path);
                // Another thread may have taken the slot meanwhile.
                if is_of(slot, sample.thread) {
                    reading
                } else {
                    vanished(sample.tag, &mut self.path)
                }
            }
            None => vanished(sample.tag, &mut self.path),
        };
        self.counts.sampled += 1;
        match reading {
            Reading::Whole => self.counts.whole += 1,
            Reading::Torn => self.counts.torn += 1,
        }
        self.counts.deeper += u64::from(self.path.contains(&DEEPER));
        self.contexts.add(sample.thread, &self.path);
        self.inner.take(sample)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::region::{CHANGE, ENDED};
    use crate::stack_read::MISSING;

    #[test]
    fn each_sample_has_a_stack_and_goes_on() {
        let region = Region::create().unwrap();
        let thread = u64::from(
            rustix::thread::gettid()
                .as_raw_nonzero()
                .get()
                .unsigned_abs(),
        );
        let slot = region.take_slot().unwrap();
        slot.depth.store(2 | CHANGE, Ordering::Relaxed);
        slot.stack[0].store(100, Ordering::Relaxed);
        slot.stack[1].store(200, Ordering::Relaxed);
        slot.set(200);
        let mut samples: Vec<Sample> = Vec::new();
        let mut sink = WithStacks::new(&region, &mut samples, 16);
        let sample = |thread, tag| Sample {
            thread,
            tag,
            ..Sample::default()
        };
        for _ in 0..3 {
            assert!(sink.take(&sample(thread, 200)));
        }
        // A thread that has gone since its tag was read.
        slot.live.store(ENDED, Ordering::Relaxed);
        assert!(sink.take(&sample(thread, 200)));
        let stacks = sink.finish();
        assert_eq!((stacks.sampled, stacks.whole, stacks.torn), (4, 3, 1));
        assert_eq!(samples.len(), 4);
        let seen: Vec<(u64, u64)> = stacks.contexts.iter().map(|c| (c.tag, c.samples)).collect();
        let expected = [(thread, 0), (100, 0), (200, 3), (MISSING, 0), (200, 1)];
        assert_eq!(seen, expected);
    }
}
