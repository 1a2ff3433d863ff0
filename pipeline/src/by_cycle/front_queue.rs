//! The queue from fetch over decode to dispatch.
//!
//! Decode passes nearly every instruction on as it is, so an instruction stays where fetch put it,
//! and decode moves the boundary between what is fetched and what is decoded. Only where DISE puts
//! instructions in does that boundary become a gap.

use super::uop::{Front, NO_CHECKPOINT, flag};
use crate::model::{Cause, Ring};

/// Room that is made at once where instructions are put in.
const GAP: usize = 8;

/// Decoded instructions, a gap, fetched instructions; each oldest first.
#[derive(Clone)]
pub struct FrontQueue {
    ring: Ring<Front>,
    head: usize,
    decoded_end: usize,
    fetched_begin: usize,
    tail: usize,
}

hps_isa::save_state! { FrontQueue { ring, head, decoded_end, fetched_begin, tail } }

impl FrontQueue {
    /// A queue with room for `fetched` and `decoded` instructions.
    pub fn new(fetched: usize, decoded: usize) -> Self {
        FrontQueue {
            ring: Ring::new(fetched + decoded + 2 * GAP, Front::EMPTY),
            head: 0,
            decoded_end: 0,
            fetched_begin: 0,
            tail: 0,
        }
    }

    #[inline(always)]
    pub fn decoded_len(&self) -> usize {
        self.decoded_end.wrapping_sub(self.head)
    }

    #[inline(always)]
    pub fn fetched_len(&self) -> usize {
        self.tail.wrapping_sub(self.fetched_begin)
    }

    /// The oldest decoded instruction.
    #[inline(always)]
    pub fn decoded(&self) -> Option<&Front> {
        if self.decoded_end == self.head {
            None
        } else {
            Some(self.ring.at(self.head))
        }
    }

    /// The oldest fetched instruction.
    #[inline(always)]
    pub fn fetched(&self) -> Option<&Front> {
        if self.tail == self.fetched_begin {
            None
        } else {
            Some(self.ring.at(self.fetched_begin))
        }
    }

    /// The oldest decoded instruction comes late for this reason.
    pub fn set_decoded_gap(&mut self, gap: Cause) {
        debug_assert_ne!(self.decoded_end, self.head);
        self.ring.at_mut(self.head).gap = gap;
    }

    /// Dispatch has taken the oldest decoded instruction.
    #[inline(always)]
    pub fn pop_decoded(&mut self) {
        self.head = self.head.wrapping_add(1);
    }

    /// Fetch adds an instruction.
    #[inline(always)]
    pub fn push_fetched(&mut self, f: Front) {
        debug_assert!(
            self.tail.wrapping_sub(self.head) < self.ring.places(),
            "a stage overfilled its queue"
        );
        *self.ring.at_mut(self.tail) = f;
        self.tail = self.tail.wrapping_add(1);
    }

    /// The oldest fetched instruction is decoded: the caller changes it in its place.
    #[inline(always)]
    pub fn decode(&mut self) -> &mut Front {
        let at = self.decoded_end;
        if at != self.fetched_begin {
            *self.ring.at_mut(at) = *self.ring.at(self.fetched_begin);
        }
        self.decoded_end = at.wrapping_add(1);
        self.fetched_begin = self.fetched_begin.wrapping_add(1);
        self.ring.at_mut(at)
    }

    /// Decodes, in cycle `now`, up to `most` of the program's instructions that were fetched at least
    /// `wait` cycles ago. Returns how many. Nothing has ever been put in: there is no gap.
    #[inline(always)]
    pub fn decode_ripe(&mut self, now: u32, wait: u32, most: usize) -> usize {
        debug_assert_eq!(self.decoded_end, self.fetched_begin);
        let begin = self.fetched_begin;
        let end = begin.wrapping_add(most.min(self.fetched_len()));
        let mut at = begin;
        while at != end {
            let f = self.ring.at_mut(at);
            if now.wrapping_sub(f.cycle) < wait {
                break;
            }
            f.cycle = now;
            f.flags |= flag::PROGRAM as u8;
            at = at.wrapping_add(1);
        }
        self.decoded_end = at;
        self.fetched_begin = at;
        at.wrapping_sub(begin)
    }

    /// Takes the oldest fetched instruction out: a sequence comes in its place.
    pub fn take_fetched(&mut self) {
        self.fetched_begin = self.fetched_begin.wrapping_add(1);
        if self.fetched_begin.wrapping_sub(self.decoded_end) > GAP {
            self.move_fetched(self.decoded_end.wrapping_add(1));
        }
    }

    /// Puts a decoded instruction in.
    pub fn insert_decoded(&mut self, d: Front) {
        if self.decoded_end == self.fetched_begin {
            self.move_fetched(self.decoded_end.wrapping_add(GAP));
        }
        *self.ring.at_mut(self.decoded_end) = d;
        self.decoded_end = self.decoded_end.wrapping_add(1);
    }

    /// Moves the fetched instructions so that they begin at `to`.
    fn move_fetched(&mut self, to: usize) {
        let (from, count) = (self.fetched_begin, self.fetched_len());
        let up = to.wrapping_sub(from) <= GAP;
        for i in 0..count {
            let i = if up { count - 1 - i } else { i };
            *self.ring.at_mut(to.wrapping_add(i)) = *self.ring.at(from.wrapping_add(i));
        }
        self.fetched_begin = to;
        self.tail = to.wrapping_add(count);
    }

    /// Drops what has been fetched and not decoded.
    pub fn clear_fetched(&mut self) {
        self.fetched_begin = self.decoded_end;
        self.tail = self.decoded_end;
    }

    /// Drops everything.
    pub fn clear(&mut self) {
        self.decoded_end = self.head;
        self.clear_fetched();
    }

    /// All decoded instructions.
    pub fn all_decoded(&self) -> impl DoubleEndedIterator<Item = &Front> + ExactSizeIterator {
        (0..self.decoded_len()).map(|i| self.ring.at(self.head.wrapping_add(i)))
    }

    /// All fetched instructions.
    pub fn all_fetched(&self) -> impl DoubleEndedIterator<Item = &Front> + ExactSizeIterator {
        (0..self.fetched_len()).map(|i| self.ring.at(self.fetched_begin.wrapping_add(i)))
    }
}

/// The oldest checkpoint among instructions.
pub fn oldest_checkpoint<'a>(mut from: impl Iterator<Item = &'a Front>) -> Option<u16> {
    from.find(|f| f.checkpoint != NO_CHECKPOINT)
        .map(|f| f.checkpoint)
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;
    use crate::predict::tests::Random;

    fn named(pc: u64) -> Front {
        Front { pc, ..Front::EMPTY }
    }

    #[test]
    fn it_is_two_queues_one_behind_the_other() {
        let (most_fetched, most_decoded) = (6, 9);
        let mut queue = FrontQueue::new(most_fetched, most_decoded);
        let (mut fetched, mut decoded) = (VecDeque::new(), VecDeque::new());
        let mut random = Random::new(21);
        for step in 0..50_000 {
            let (f, d) = (fetched.len(), decoded.len());
            match random.below(16) {
                0..=5 if f < most_fetched => {
                    queue.push_fetched(named(step));
                    fetched.push_back(step);
                }
                6..=8 if f > 0 && d < most_decoded => {
                    queue.decode().pc += 1;
                    decoded.extend(fetched.pop_front().map(|pc| pc + 1));
                }
                9..=10 if d < most_decoded => {
                    queue.insert_decoded(named(step));
                    decoded.push_back(step);
                }
                11 if f > 0 => {
                    queue.take_fetched();
                    fetched.pop_front();
                }
                12..=14 if d > 0 => {
                    queue.pop_decoded();
                    decoded.pop_front();
                }
                15 if step % 7 == 0 => {
                    queue.clear_fetched();
                    fetched.clear();
                }
                15 if step % 11 == 0 => {
                    queue.clear();
                    fetched.clear();
                    decoded.clear();
                }
                _ => {}
            }
            assert!(
                queue
                    .all_fetched()
                    .map(|f| f.pc)
                    .eq(fetched.iter().copied())
            );
            assert!(
                queue
                    .all_decoded()
                    .map(|f| f.pc)
                    .eq(decoded.iter().copied())
            );
            assert_eq!(queue.fetched().map(|f| f.pc), fetched.front().copied());
            assert_eq!(queue.decoded().map(|f| f.pc), decoded.front().copied());
        }
    }
}
