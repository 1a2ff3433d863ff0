//! DISE counters, their flags, and the journal that repairs them after a wrong path.

use hps_isa::inst::reg;
use hps_isa::state::{SaveState, Saved, StateError, save_value};
use serde::{Deserialize, Serialize};

use crate::config::MAX_COUNTERS;
use crate::flags::{overflow_bit, zero_bit};
use crate::tables::Micro;

/// State that a journal entry restores.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Slot {
    Counter(u8),
    /// Latched counter `.1` of production `.0`.
    Latch(u8, u8),
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Undo {
    seq: u64,
    slot: Slot,
    old: u32,
}

/// Old values in the order in which they were overwritten, in a ring that is allocated once.
///
/// When it is full the oldest entry goes: a machine that never commits (because it never squashes)
/// costs no memory, and one that does squash must only reach back less far than the capacity.
#[derive(Clone, Debug)]
struct Journal {
    ring: Vec<Undo>,
    /// Position of the oldest entry.
    head: usize,
    len: usize,
}

impl Journal {
    fn new(capacity: usize) -> Self {
        let empty = Undo {
            seq: 0,
            slot: Slot::Counter(0),
            old: 0,
        };
        Journal {
            ring: vec![empty; capacity.next_power_of_two()],
            head: 0,
            len: 0,
        }
    }

    fn index(&self, position: usize) -> usize {
        (self.head + position) & (self.ring.len() - 1)
    }

    fn push(&mut self, undo: Undo) {
        if self.len == self.ring.len() {
            self.head = self.index(1);
            self.len -= 1;
        }
        let index = self.index(self.len);
        self.ring[index] = undo;
        self.len += 1;
    }

    /// Takes the youngest entry if it is `seq` or younger.
    fn pop_from(&mut self, seq: u64) -> Option<Undo> {
        let last = self.ring[self.index(self.len.checked_sub(1)?)];
        if last.seq < seq {
            return None;
        }
        self.len -= 1;
        Some(last)
    }

    fn trim(&mut self, seq: u64) {
        while self.len > 0 && self.ring[self.head].seq <= seq {
            self.head = self.index(1);
            self.len -= 1;
        }
        if self.len == 0 {
            // Starting over keeps the part of the ring that is in use small, and in the cache.
            self.head = 0;
        }
    }
}

/// The entries that are left, the oldest first.
impl SaveState for Journal {
    fn save_to(&self, to: &mut Vec<u8>) {
        let left = (0..self.len).map(|position| self.ring[self.index(position)]);
        save_value(&left.collect::<Vec<Undo>>(), to);
    }

    fn restore_from(&mut self, from: &mut Saved<'_>) -> Result<(), StateError> {
        let left: Vec<Undo> = from.value()?;
        (self.head, self.len) = (0, 0);
        left.into_iter().for_each(|undo| self.push(undo));
        Ok(())
    }
}

/// The counters with their flags, and the values that expansions latched (`T.COUNT_N`).
#[derive(Clone, Debug)]
pub struct Counters {
    values: [u32; MAX_COUNTERS],
    flags: u32,
    count: usize,
    /// `count` values for each production.
    latched: Vec<u32>,
    journal: Journal,
    repair: bool,
}

hps_isa::save_state! {
    Counters {
        values, flags, count: same, latched: each, journal, repair: skip,
    }
}

/// Decisions with effects that can be in flight at once, at least: more than any machine's
/// decode-to-commit window.
const WINDOW: usize = 4096;

impl Counters {
    /// `count` counters, all zero. `writes` is the most values that one decision can overwrite.
    #[must_use]
    pub fn new(count: usize, productions: usize, writes: usize, repair: bool) -> Self {
        let mut counters = Counters {
            values: [0; MAX_COUNTERS],
            flags: 0,
            count,
            latched: vec![0; count * productions],
            journal: Journal::new(WINDOW * writes.clamp(1, 8)),
            repair,
        };
        for counter in 0..count {
            counters.update_flags(counter as u8);
        }
        counters
    }

    /// The flags of all counters ([`crate::flags::FlagCondition`]).
    #[inline]
    #[must_use]
    pub const fn flags(&self) -> u32 {
        self.flags
    }

    /// The values of all counters.
    #[must_use]
    pub fn values(&self) -> &[u32] {
        &self.values[..self.count]
    }

    /// The counters as production `production` latched them.
    #[must_use]
    pub fn latched(&self, production: u8) -> &[u32] {
        let start = usize::from(production) * self.count;
        self.latched.get(start..start + self.count).unwrap_or(&[])
    }

    /// Clears the journal and sets a counter without leaving a trace.
    pub fn reset(&mut self, initial: impl Iterator<Item = (u8, u32)>) {
        self.journal.len = 0;
        self.latched.fill(0);
        for counter in 0..self.count as u8 {
            self.store(counter, 0);
        }
        for (counter, value) in initial {
            self.store(counter, value);
        }
    }

    /// Adds `by` to a counter as if it had been so much further from the beginning: to its value, and
    /// to every earlier one that a squash would bring back. Flags stay: false, and nothing is
    /// changed, if one of them is or would become zero or the maximum.
    pub fn advance(&mut self, counter: u8, by: u32) -> bool {
        let journal = &mut self.journal;
        let len = journal.len;
        let mut values = vec![&mut self.values[usize::from(counter)]];
        let (wrapped, from_head) = journal.ring.split_at_mut(journal.head);
        let used = from_head.iter_mut().chain(wrapped).take(len);
        values.extend(
            used.filter(|undo| undo.slot == Slot::Counter(counter))
                .map(|undo| &mut undo.old),
        );
        let is_between = |value: u32| value > 0 && value < u32::MAX - by;
        if !values.iter().all(|value| is_between(**value)) {
            return false;
        }
        for value in values {
            *value += by;
        }
        true
    }

    /// Runs a microinstruction of the decision `seq`.
    #[inline]
    pub fn run(&mut self, seq: u64, micro: Micro, regs: &[u64; reg::COUNT]) {
        let counter = micro.counter();
        let old = self.values[usize::from(counter)];
        let new = match micro {
            Micro::Inc(_) => old.saturating_add(1),
            Micro::Dec(_) => old.saturating_sub(1),
            Micro::Set { register, .. } => regs[usize::from(register)] as u32,
        };
        if new != old {
            if self.repair {
                self.journal.push(Undo {
                    seq,
                    slot: Slot::Counter(counter),
                    old,
                });
            }
            self.store(counter, new);
        }
    }

    /// Keeps counter `counter` for `T.COUNT_N` of an expansion of `production`. Latches are part
    /// of the instantiation logic and always repaired.
    pub fn latch(&mut self, seq: u64, production: u8, counter: u8) {
        let index = usize::from(production) * self.count + usize::from(counter);
        let old = self.latched[index];
        self.journal.push(Undo {
            seq,
            slot: Slot::Latch(production, counter),
            old,
        });
        self.latched[index] = self.values[usize::from(counter)];
    }

    /// Undoes everything that decisions of age `seq` or younger did, youngest first.
    pub fn squash(&mut self, seq: u64) {
        while let Some(undo) = self.journal.pop_from(seq) {
            match undo.slot {
                Slot::Counter(counter) => self.store(counter, undo.old),
                Slot::Latch(production, counter) => {
                    self.latched[usize::from(production) * self.count + usize::from(counter)] =
                        undo.old;
                }
            }
        }
    }

    /// Forgets how to undo `seq` and older.
    pub fn commit(&mut self, seq: u64) {
        self.journal.trim(seq);
    }

    fn store(&mut self, counter: u8, value: u32) {
        self.values[usize::from(counter)] = value;
        self.update_flags(counter);
    }

    fn update_flags(&mut self, counter: u8) {
        let value = self.values[usize::from(counter)];
        let (overflow, zero) = (overflow_bit(counter), zero_bit(counter));
        self.flags &= !(overflow | zero);
        if value == u32::MAX {
            self.flags |= overflow;
        } else if value == 0 {
            self.flags |= zero;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NO_REGS: [u64; reg::COUNT] = [0; reg::COUNT];

    #[test]
    fn counters_saturate_and_flags_follow() {
        let mut c = Counters::new(2, 0, 1, true);
        assert_eq!(c.flags(), zero_bit(0) | zero_bit(1));
        c.run(1, Micro::Dec(0), &NO_REGS);
        assert_eq!(c.values(), [0, 0]);
        let mut regs = NO_REGS;
        regs[64] = 0xdead_0000_ffff_fffe;
        c.run(
            2,
            Micro::Set {
                counter: 1,
                register: 64,
            },
            &regs,
        );
        assert_eq!((c.values()[1], c.flags()), (u32::MAX - 1, zero_bit(0)));
        c.run(3, Micro::Inc(1), &NO_REGS);
        assert_eq!(c.flags(), zero_bit(0) | overflow_bit(1));
        c.run(4, Micro::Inc(1), &NO_REGS);
        assert_eq!(c.values()[1], u32::MAX);
        c.squash(3);
        assert_eq!(c.values()[1], u32::MAX - 1);
        c.squash(0);
        assert_eq!(c.values(), [0, 0]);
    }

    #[test]
    fn a_full_journal_drops_the_oldest() {
        let mut c = Counters::new(1, 0, 1, true);
        for seq in 0..WINDOW as u64 + 10 {
            c.run(seq, Micro::Inc(0), &NO_REGS);
        }
        c.squash(0);
        assert_eq!(
            c.values()[0],
            10,
            "the ten oldest updates cannot be undone any more"
        );
    }

    #[test]
    fn committed_decisions_are_not_undone() {
        let mut c = Counters::new(1, 0, 1, true);
        for seq in 1..=5 {
            c.run(seq, Micro::Inc(0), &NO_REGS);
        }
        c.commit(3);
        c.squash(0);
        assert_eq!(c.values()[0], 3);
    }

    #[test]
    fn an_advanced_counter_is_squashed_as_if_it_had_begun_there() {
        let start = |value: u32| {
            let mut c = Counters::new(2, 0, 1, true);
            c.reset([(0, value), (1, 77)].into_iter());
            for seq in 1..=30 {
                c.run(seq, Micro::Inc(seq as u8 % 2), &NO_REGS);
            }
            c.commit(10);
            c
        };
        let (mut advanced, mut straight) = (start(100), start(1100));
        assert!(advanced.advance(0, 1000));
        for seq in [28, 20, 11, 0] {
            advanced.squash(seq);
            straight.squash(seq);
            assert_eq!(advanced.values(), straight.values());
            assert_eq!(advanced.flags(), straight.flags());
        }
    }

    #[test]
    fn a_counter_is_not_advanced_to_where_flags_change() {
        let mut c = Counters::new(1, 0, 1, true);
        assert!(!c.advance(0, 1), "zero is a flag");
        c.reset([(0, u32::MAX - 10)].into_iter());
        c.run(1, Micro::Inc(0), &NO_REGS);
        assert!(!c.advance(0, 9));
        assert_eq!(c.values()[0], u32::MAX - 9);
        assert!(c.advance(0, 8));
        assert_eq!(c.flags(), 0);
    }

    #[test]
    fn without_repair_only_latches_are_undone() {
        let mut c = Counters::new(1, 1, 2, false);
        c.run(1, Micro::Inc(0), &NO_REGS);
        c.latch(2, 0, 0);
        c.run(2, Micro::Inc(0), &NO_REGS);
        assert_eq!(c.latched(0), [1]);
        c.squash(1);
        assert_eq!((c.values()[0], c.latched(0)[0]), (2, 0));
    }
}
