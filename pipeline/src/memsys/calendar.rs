//! Which cycles of a resource are taken: past the present, an access may book cycles that later
//! accesses with earlier needs leave alone or find gaps before.

/// Intervals that a calendar holds before it grows.
const RESERVED: usize = 512;

/// Booked cycles as sorted, disjoint intervals `start..end`.
#[derive(Clone, Debug)]
pub(super) struct Calendar {
    booked: Vec<(u64, u64)>,
}

hps_isa::save_state! { Calendar { booked } }

impl Calendar {
    pub fn new() -> Self {
        Calendar {
            booked: Vec::with_capacity(RESERVED),
        }
    }

    /// The first cycle, not before `from`, from which `cycles` cycles are free.
    pub fn find(&self, from: u64, cycles: u64) -> u64 {
        self.gap(from, cycles).0
    }

    /// The first such cycle, and the index of the first booked interval behind it.
    #[inline]
    fn gap(&self, from: u64, cycles: u64) -> (u64, usize) {
        // Accesses come nearly in order of time: most intervals lie before.
        let before = self.booked.iter().rposition(|(_, free)| *free <= from);
        let mut at = before.map_or(0, |before| before + 1);
        let mut start = from;
        while let Some(&(taken, free)) = self.booked.get(at)
            && start + cycles > taken
        {
            start = start.max(free);
            at += 1;
        }
        (start, at)
    }

    /// Takes what [`find`](Self::find) gives; forgets what ended before `now`.
    pub fn book(&mut self, now: u64, from: u64, cycles: u64) -> u64 {
        if self.booked.first().is_some_and(|(_, end)| *end <= now) {
            let past = self.booked.partition_point(|(_, end)| *end <= now);
            self.booked.drain(..past);
        }
        let (start, at) = self.gap(from, cycles);
        let end = start + cycles;
        let joins_next = self.booked.get(at).is_some_and(|next| next.0 == end);
        let joins_last = at > 0 && self.booked[at - 1].1 == start;
        match (joins_last, joins_next) {
            (true, true) => {
                self.booked[at - 1].1 = self.booked[at].1;
                self.booked.remove(at);
            }
            (true, false) => self.booked[at - 1].1 = end,
            (false, true) => self.booked[at].0 = start,
            (false, false) => self.booked.insert(at, (start, end)),
        }
        start
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::predict::tests::Random;

    #[test]
    fn books_the_first_gap() {
        let mut calendar = Calendar::new();
        assert_eq!(calendar.book(0, 100, 4), 100);
        assert_eq!(calendar.book(0, 10, 4), 10);
        assert_eq!(calendar.book(0, 98, 2), 98);
        assert_eq!(calendar.book(0, 97, 2), 104);
        assert_eq!(calendar.book(0, 12, 84), 14);
        assert_eq!(calendar.booked, [(10, 106)]);
    }

    #[test]
    fn is_what_a_set_of_cycles_gives() {
        let mut random = Random::new(5);
        let mut calendar = Calendar::new();
        let mut taken = std::collections::BTreeSet::new();
        let mut now = 0;
        for _ in 0..3000 {
            now += random.below(4);
            let (from, cycles) = (now + random.below(60), 1 + random.below(5));
            let mut expected = from;
            while (expected..expected + cycles).any(|cycle| taken.contains(&cycle)) {
                expected += 1;
            }
            taken.extend(expected..expected + cycles);
            assert_eq!(calendar.book(now, from, cycles), expected);
        }
    }
}
