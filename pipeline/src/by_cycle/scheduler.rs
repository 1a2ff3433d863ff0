//! Who may issue when: sets of ROB slots as bits.
//!
//! A waiting instruction is in the set of each producer that it waits for; when its last producer
//! has issued, it goes into the set of the cycle in which it may issue itself; that cycle comes and
//! joins its set to the ready ones. Nothing is searched, and an instruction that is squashed leaves
//! the one place where it is.

use super::rob::Slot;
use crate::model::Ring;

/// Cycles that the calendar covers. A power of two; small, since the walk through it touches all of
/// its memory again and again.
const HORIZON: u64 = 256;

/// The sets of the scheduler.
#[derive(Clone)]
pub struct Scheduler {
    /// Words of a set: one bit for each slot of the ROB. A power of two.
    words: usize,
    ready: Ring<u64>,
    any_ready: bool,
    /// Some of them have become so for the next cycle without the calendar.
    ready_next: bool,
    /// For each slot, the slots that wait for its result to issue.
    waiters: Ring<u64>,
    /// For each slot, the stores that wait for its result as their data.
    data_waiters: Ring<u64>,
    /// For each of the next cycles, the slots that become ready in it.
    calendar: Ring<u64>,
    /// One bit for each cycle of the calendar whose set is not empty.
    occupied: [u64; (HORIZON / 64) as usize],
    /// Slots that become ready beyond the horizon, with their cycles.
    far: Vec<(u64, Slot)>,
    /// The first cycle of those, or the end of time.
    next_far: u64,
}

hps_isa::save_state! {
    Scheduler {
        words: skip, ready, any_ready, ready_next, waiters, data_waiters, calendar, occupied, far,
        next_far,
    }
}

/// Bit of a slot in its word. Sets of slots are plain words: each issue cycle joins and walks them.
#[inline(always)]
fn bit(slot: Slot) -> u64 {
    1 << (slot.index() % 64)
}

impl Scheduler {
    /// Empty sets over `slots` (a power of two, at least 64) slots.
    pub fn new(slots: usize) -> Self {
        let words = slots / 64;
        Scheduler {
            words,
            ready: Ring::new(words, 0),
            any_ready: false,
            ready_next: false,
            waiters: Ring::new(slots * words, 0),
            data_waiters: Ring::new(slots * words, 0),
            calendar: Ring::new(HORIZON as usize * words, 0),
            occupied: [0; (HORIZON / 64) as usize],
            far: Vec::with_capacity(slots),
            next_far: u64::MAX,
        }
    }

    /// Slots that restored sets name.
    pub fn named_slots(&self) -> impl Iterator<Item = Slot> {
        self.far.iter().map(|far| far.1)
    }

    /// Forgets the slots that become ready far away.
    pub fn clear_far(&mut self) {
        self.far.clear();
    }

    /// Words of a set.
    #[inline(always)]
    pub fn words(&self) -> usize {
        self.words
    }

    #[inline(always)]
    fn place(&self, set: usize, slot: Slot) -> usize {
        set * self.words + slot.index() / 64
    }

    /// A slot becomes ready in `cycle`, which must lie after `now`.
    #[inline(always)]
    pub fn schedule(&mut self, now: u64, cycle: u64, slot: Slot) {
        debug_assert!(cycle > now, "an event must lie in the future");
        if cycle - now >= HORIZON {
            self.far.push((cycle, slot));
            self.next_far = self.next_far.min(cycle);
            return;
        }
        let at = (cycle % HORIZON) as usize;
        let place = self.place(at, slot);
        *self.calendar.at_mut(place) |= bit(slot);
        self.occupied[at / 64] |= 1 << (at % 64);
    }

    /// Makes a slot ready in the next cycle, before which the ready slots are not looked at. Shorter than by way of
    /// the calendar.
    #[inline(always)]
    pub fn ready_next(&mut self, slot: Slot) {
        self.insert_ready(slot);
        self.ready_next = true;
    }

    /// Takes a slot, scheduled for `cycle`, out again, or out of the ready ones.
    pub fn unschedule(&mut self, now: u64, cycle: u64, slot: Slot) {
        if cycle <= now {
            self.remove_ready(slot);
            return;
        }
        let place = self.place((cycle % HORIZON) as usize, slot);
        *self.calendar.at_mut(place) &= !bit(slot);
        if self.next_far != u64::MAX {
            self.far.retain(|f| f.1 != slot);
            self.next_far = self.far.iter().map(|f| f.0).min().unwrap_or(u64::MAX);
        }
    }

    /// The slots of cycle `now` become ready. Returns whether there were any.
    #[inline(always)]
    pub fn advance(&mut self, now: u64) -> bool {
        if self.next_far <= now {
            self.take_far(now);
        }
        let at = (now % HORIZON) as usize;
        let early = std::mem::take(&mut self.ready_next);
        if self.occupied[at / 64] & (1 << (at % 64)) == 0 {
            return early;
        }
        self.occupied[at / 64] &= !(1 << (at % 64));
        let mut any = 0;
        let due = self.calendar.run_mut(at * self.words, self.words);
        for (ready, due) in self.ready.run_mut(0, self.words).iter_mut().zip(due) {
            any |= *due;
            *ready |= std::mem::take(due);
        }
        self.any_ready |= any != 0;
        early || any != 0
    }

    #[cold]
    fn take_far(&mut self, now: u64) {
        for (cycle, slot) in std::mem::take(&mut self.far) {
            if cycle <= now {
                self.insert_ready(slot);
            } else {
                self.far.push((cycle, slot));
            }
        }
        self.next_far = self.far.iter().map(|f| f.0).min().unwrap_or(u64::MAX);
    }

    /// The next cycle after `now` in which a slot may become ready.
    pub fn next_after(&self, now: u64) -> u64 {
        let start = (now + 1) % HORIZON;
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
                let near = now + 1 + (at.wrapping_sub(start) % HORIZON);
                return near.min(self.next_far);
            }
        }
        self.next_far
    }

    /// Whether anything may be ready.
    #[inline(always)]
    pub fn any_ready(&self) -> bool {
        self.any_ready
    }

    /// Whether a slot is ready.
    #[inline]
    pub fn is_ready(&self, slot: Slot) -> bool {
        self.ready.at(slot.index() / 64) & bit(slot) != 0
    }

    #[inline(always)]
    pub fn insert_ready(&mut self, slot: Slot) {
        *self.ready.at_mut(slot.index() / 64) |= bit(slot);
        self.any_ready = true;
    }

    #[inline(always)]
    pub fn remove_ready(&mut self, slot: Slot) {
        *self.ready.at_mut(slot.index() / 64) &= !bit(slot);
    }

    /// No slot is ready, also not in the next cycle: the window is empty.
    #[cold]
    pub fn clear_ready(&mut self) {
        for word in 0..self.words {
            *self.ready.at_mut(word) = 0;
        }
        (self.any_ready, self.ready_next) = (false, false);
    }

    /// A walk through the ready slots has begun: whether there are any is known again.
    #[inline(always)]
    pub fn look(&mut self) -> bool {
        let mut any = 0;
        for word in 0..self.words {
            any |= self.ready.at(word);
        }
        self.any_ready = any != 0;
        self.any_ready
    }

    /// Word `step` of the walk from the oldest instruction, whose slot is `head`: its ready slots as
    /// bits, and its number. The word of the head comes twice, its upper part first and its lower
    /// part last, as step `words`.
    #[inline(always)]
    pub fn walk(&self, head: Slot, step: usize) -> (u64, usize) {
        let word = (head.index() / 64 + step) & (self.words - 1);
        let mut bits = *self.ready.at(word);
        let above = u64::MAX << (head.index() % 64);
        if step == 0 {
            bits &= above;
        } else if step == self.words {
            bits &= !above;
        }
        (bits, word)
    }

    /// `consumer` waits for `producer`. False if it did already.
    #[inline(always)]
    pub fn wait(&mut self, consumer: Slot, producer: Slot) -> bool {
        let place = self.place(producer.index(), consumer);
        let set = self.waiters.at_mut(place);
        let new = *set & bit(consumer) == 0;
        *set |= bit(consumer);
        new
    }

    /// `store` waits for its data from `producer`.
    #[inline(always)]
    pub fn wait_for_data(&mut self, store: Slot, producer: Slot) {
        let place = self.place(producer.index(), store);
        *self.data_waiters.at_mut(place) |= bit(store);
    }

    /// `consumer` does not wait for `producer` any more, in neither way.
    #[inline]
    pub fn forget(&mut self, consumer: Slot, producer: Slot) {
        let place = self.place(producer.index(), consumer);
        *self.waiters.at_mut(place) &= !bit(consumer);
        *self.data_waiters.at_mut(place) &= !bit(consumer);
    }

    /// Takes word `word` of those that wait for `producer`.
    #[inline(always)]
    pub fn take_waiters(&mut self, producer: Slot, word: usize) -> u64 {
        std::mem::take(self.waiters.at_mut(producer.index() * self.words + word))
    }

    /// Takes word `word` of the stores that wait for data from `producer`.
    #[inline(always)]
    pub fn take_data_waiters(&mut self, producer: Slot, word: usize) -> u64 {
        std::mem::take(
            self.data_waiters
                .at_mut(producer.index() * self.words + word),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ready(set: &Scheduler, head: u32) -> Vec<u32> {
        let mut found = Vec::new();
        for step in 0..=set.words() {
            let (mut bits, word) = set.walk(Slot::new(head), step);
            while bits != 0 {
                found.push(word as u32 * 64 + bits.trailing_zeros());
                bits &= bits - 1;
            }
        }
        found
    }

    #[test]
    fn the_ready_are_walked_in_age_order_across_the_end_of_the_ring() {
        for slots in [64, 128, 256] {
            let mut set = Scheduler::new(slots);
            for slot in [3, 40, 41, 63] {
                set.insert_ready(Slot::new(slot));
            }
            assert_eq!(ready(&set, 41), [41, 63, 3, 40]);
            assert_eq!(ready(&set, 0), [3, 40, 41, 63]);
            for slot in [3, 40, 41, 63] {
                set.remove_ready(Slot::new(slot));
            }
            assert!(set.any_ready() && !set.look());
        }
    }

    #[test]
    fn slots_become_ready_in_their_cycle_also_beyond_the_horizon() {
        let mut set = Scheduler::new(64);
        let wanted = [1u64, 2, 2, 63, 64, 65, 255, 256, 257, 1023, 5000];
        for (i, &cycle) in wanted.iter().enumerate() {
            set.schedule(0, cycle, Slot::new(i as u32));
        }
        set.schedule(0, 70, Slot::new(20));
        set.unschedule(0, 70, Slot::new(20));
        set.schedule(0, 700, Slot::new(21));
        set.unschedule(0, 700, Slot::new(21));
        let mut seen = Vec::new();
        let mut now = 0;
        while set.next_after(now) != u64::MAX {
            now = set.next_after(now);
            set.advance(now);
            for slot in ready(&set, 0) {
                assert_eq!(wanted[slot as usize], now);
                set.remove_ready(Slot::new(slot));
                seen.push(slot);
            }
        }
        assert_eq!(seen, (0..wanted.len() as u32).collect::<Vec<_>>());
    }

    #[test]
    fn a_producer_knows_who_waits_once() {
        let mut set = Scheduler::new(128);
        let [a, b, c, producer] = [100, 3, 9, 7].map(Slot::new);
        assert!(set.wait(a, producer));
        assert!(!set.wait(a, producer));
        assert!(set.wait(b, producer));
        set.wait_for_data(c, producer);
        set.forget(b, producer);
        assert_eq!(
            (set.take_waiters(producer, 0), set.take_waiters(producer, 1)),
            (0, 1 << 36)
        );
        assert_eq!(set.take_data_waiters(producer, 0), 1 << 9);
        assert_eq!(
            (
                set.take_waiters(producer, 1),
                set.take_data_waiters(producer, 0)
            ),
            (0, 0)
        );
    }
}
