//! Miss status holding registers: lines on their way.
//!
//! Accesses may come a little out of order of time (see [`super`]), so a register also knows since when
//! its line is on its way: before that it is free to an access that comes later but lies earlier.

use super::Level;

/// Places for each register where accesses come out of order: what is taken for later does not keep an
/// earlier access out.
const PLACES_OUT_OF_ORDER: usize = 4;

/// A line on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct InFlight {
    pub line: u64,
    /// Cycle of the access that asked for it.
    pub start: u64,
    /// Cycle in which the whole line is there.
    pub end: u64,
    /// Where it comes from.
    pub level: Level,
}

impl InFlight {
    /// The start of a fill for an access at `now`. A cycle early, since the second half of an access
    /// to two lines begins in the cycle after its own.
    #[inline]
    pub fn started(now: u64) -> u64 {
        now.saturating_sub(1)
    }

    /// Whether it takes a register in this cycle.
    #[inline]
    pub fn is_busy(&self, now: u64) -> bool {
        self.start <= now && self.end > now
    }

    /// Cycle in which the whole line is there for an access at `now`. One that lies before the access
    /// that asked for the line would have asked itself, and had it so much earlier.
    #[inline]
    pub fn end_for(&self, now: u64) -> u64 {
        self.end - self.start.saturating_sub(now)
    }
}

/// The registers of one cache.
#[derive(Clone, Debug)]
pub(super) struct Mshrs {
    slots: Box<[InFlight]>,
    /// The lines of the slots once more, close together: they are searched at each access that may miss.
    lines: Box<[u64]>,
    count: usize,
    /// No line is on its way from this cycle on.
    quiet_from: u64,
}

impl Mshrs {
    pub fn new(count: u32) -> Self {
        let empty = InFlight {
            line: 0,
            start: 0,
            end: 0,
            level: Level::L1,
        };
        Mshrs {
            slots: vec![empty; count as usize].into_boxed_slice(),
            lines: vec![empty.line; count as usize].into_boxed_slice(),
            count: count as usize,
            quiet_from: 0,
        }
    }

    /// Empty registers for accesses that do not come in order of time.
    pub fn out_of_order(count: u32) -> Self {
        let mut mshrs = Mshrs::new(count);
        mshrs.slots = mshrs.slots.repeat(PLACES_OUT_OF_ORDER).into_boxed_slice();
        mshrs.lines = mshrs.lines.repeat(PLACES_OUT_OF_ORDER).into_boxed_slice();
        mshrs
    }

    /// Whether no line is on its way.
    #[inline(always)]
    pub fn is_quiet(&self, now: u64) -> bool {
        now >= self.quiet_from
    }

    /// The register of a line that is on its way.
    #[inline]
    pub fn find(&self, now: u64, line: u64) -> Option<InFlight> {
        if self.is_quiet(now) {
            return None;
        }
        self.find_busy(now, line)
    }

    fn find_busy(&self, now: u64, line: u64) -> Option<InFlight> {
        let slots = self.lines.iter().zip(&self.slots);
        let mut same = slots.filter(|(of_slot, _)| **of_slot == line);
        same.find(|(_, slot)| slot.end > now).map(|found| *found.1)
    }

    /// A free register, or the cycle in which one becomes free.
    pub fn free(&self, now: u64) -> Result<usize, u64> {
        let (mut busy, mut next_end) = (0, u64::MAX);
        // The one that has been free for longest.
        let (mut least_end, mut free) = (u64::MAX, 0);
        for (at, slot) in self.slots.iter().enumerate() {
            if slot.is_busy(now) {
                busy += 1;
                next_end = next_end.min(slot.end);
            }
            if slot.end < least_end {
                (least_end, free) = (slot.end, at);
            }
        }
        if busy >= self.count {
            return Err(next_end);
        }
        Ok(free)
    }

    /// The cycle, after `now`, in which the next line is there.
    pub fn next_end(&self, now: u64) -> u64 {
        let busy = self.slots.iter().filter(|slot| slot.is_busy(now));
        busy.map(|slot| slot.end).min().unwrap_or(now + 1)
    }

    /// Takes a free register.
    pub fn take(&mut self, slot: usize, line: InFlight) {
        self.lines[slot] = line.line;
        self.slots[slot] = line;
        self.quiet_from = self.quiet_from.max(line.end);
    }
}
