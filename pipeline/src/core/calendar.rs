//! The calendar queue: what happens in which cycle.
//!
//! A ring of buckets, one for each of the next [`HORIZON`] cycles. An event further away is put
//! in the last bucket and moved on when that comes round. Buckets keep their capacity, so nothing
//! is allocated once the run has warmed up. A squash does not search the queue: events name the
//! age of their micro-op and are dropped when the slot holds another.

/// Cycles that the ring covers. A power of two; small, since the walk through the buckets touches all
/// of their memory again and again.
const HORIZON: u64 = 256;

/// What to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// The micro-op joins the ready set.
    Ready,
    /// A mispredicted transfer resolves.
    Resolve,
    /// A store has found a younger load that ran too early.
    Violation,
}

/// An event: what, for which ROB slot, and the age of the micro-op meant.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    pub kind: EventKind,
    pub slot: u32,
    pub seq: u64,
    pub cycle: u64,
}

/// Future events by cycle.
pub struct Calendar {
    buckets: Vec<Vec<Event>>,
    /// One bit for each bucket that is not empty.
    occupied: [u64; (HORIZON / 64) as usize],
}

impl Calendar {
    /// An empty calendar; `capacity` events fit into a bucket without growing it.
    pub fn new(capacity: usize) -> Self {
        Calendar {
            buckets: (0..HORIZON).map(|_| Vec::with_capacity(capacity)).collect(),
            occupied: [0; (HORIZON / 64) as usize],
        }
    }

    /// Adds an event for `cycle`, which must lie after `now`.
    #[inline]
    pub fn push(&mut self, now: u64, cycle: u64, kind: EventKind, slot: u32, seq: u64) {
        debug_assert!(cycle > now, "an event must lie in the future");
        let at = cycle.min(now + HORIZON - 1) & (HORIZON - 1);
        self.buckets[at as usize].push(Event {
            kind,
            slot,
            seq,
            cycle,
        });
        self.occupied[(at / 64) as usize] |= 1 << (at % 64);
    }

    /// Takes the events of cycle `now` into `out`, in the order in which they were added.
    #[inline]
    pub fn take(&mut self, now: u64, out: &mut Vec<Event>) {
        out.clear();
        let at = now & (HORIZON - 1);
        if self.occupied[(at / 64) as usize] & (1 << (at % 64)) == 0 {
            return;
        }
        self.occupied[(at / 64) as usize] &= !(1 << (at % 64));
        std::mem::swap(out, &mut self.buckets[at as usize]);
        if out.iter().any(|e| e.cycle > now) {
            let far: Vec<Event> = out.iter().filter(|e| e.cycle > now).copied().collect();
            out.retain(|e| e.cycle <= now);
            for e in far {
                self.push(now, e.cycle, e.kind, e.slot, e.seq);
            }
        }
    }

    /// The next cycle after `now` that has an event, as far as the ring sees.
    #[inline]
    pub fn next_after(&self, now: u64) -> Option<u64> {
        let start = (now + 1) & (HORIZON - 1);
        let words = self.occupied.len();
        let first = (start / 64) as usize;
        for i in 0..=words {
            let w = (first + i) % words;
            let mut bits = self.occupied[w];
            if i == 0 {
                bits &= u64::MAX << (start % 64);
            } else if i == words {
                bits &= !(u64::MAX << (start % 64));
            }
            if bits != 0 {
                let at = w as u64 * 64 + u64::from(bits.trailing_zeros());
                return Some(now + 1 + (at.wrapping_sub(start) & (HORIZON - 1)));
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_in_their_cycle_also_beyond_the_horizon() {
        let mut calendar = Calendar::new(4);
        let mut out = Vec::new();
        let wanted = [1u64, 2, 2, 63, 64, 65, 1023, 1024, 1025, 5000];
        for (i, &cycle) in wanted.iter().enumerate() {
            calendar.push(0, cycle, EventKind::Ready, i as u32, 0);
        }
        let mut seen = Vec::new();
        let mut now = 0;
        while let Some(next) = calendar.next_after(now) {
            assert!(next > now);
            now = next;
            calendar.take(now, &mut out);
            seen.extend(out.iter().map(|e| {
                assert_eq!(e.cycle, now);
                e.slot
            }));
        }
        assert_eq!(seen, (0..wanted.len() as u32).collect::<Vec<_>>());
    }
}
