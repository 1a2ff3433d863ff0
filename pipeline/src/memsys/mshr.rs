//! Miss status holding registers: lines on their way.

use super::Level;

/// A line on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct InFlight {
    pub line: u64,
    /// Cycle in which the whole line is there.
    pub end: u64,
    /// Where it comes from.
    pub level: Level,
}

/// The registers of one cache.
#[derive(Clone, Debug)]
pub(super) struct Mshrs {
    slots: Box<[InFlight]>,
    /// No line is on its way from this cycle on.
    quiet_from: u64,
}

impl Mshrs {
    pub fn new(count: u32) -> Self {
        let empty = InFlight {
            line: 0,
            end: 0,
            level: Level::L1,
        };
        Mshrs {
            slots: vec![empty; count as usize].into_boxed_slice(),
            quiet_from: 0,
        }
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
        let slot = self.slots.iter().find(|s| s.end > now && s.line == line);
        slot.copied()
    }

    /// A free register, or the cycle in which one becomes free.
    pub fn free(&self, now: u64) -> Result<usize, u64> {
        match self.slots.iter().position(|slot| slot.end <= now) {
            Some(slot) => Ok(slot),
            None => Err(self.next_end(now)),
        }
    }

    /// The cycle, after `now`, in which the next line is there.
    pub fn next_end(&self, now: u64) -> u64 {
        let ends = self.slots.iter().map(|slot| slot.end);
        ends.filter(|end| *end > now).min().unwrap_or(now + 1)
    }

    /// Takes a free register.
    pub fn take(&mut self, slot: usize, line: InFlight) {
        self.slots[slot] = line;
        self.quiet_from = self.quiet_from.max(line.end);
    }
}
