//! The queue between two stages: a ring of fixed size whose entries are written in place.

use super::ring::Ring;

/// A queue of `Copy` entries. The stages never put more into it than it was made for.
pub struct Queue<T> {
    ring: Ring<T>,
    head: usize,
    tail: usize,
}

impl<T: Copy> Queue<T> {
    /// Room for at least `capacity` entries.
    pub fn new(capacity: usize, empty: T) -> Self {
        Queue {
            ring: Ring::new(capacity, empty),
            head: 0,
            tail: 0,
        }
    }

    #[inline(always)]
    pub fn len(&self) -> usize {
        self.tail.wrapping_sub(self.head)
    }

    #[inline(always)]
    pub fn front(&self) -> Option<&T> {
        if self.tail == self.head {
            None
        } else {
            Some(self.ring.at(self.head))
        }
    }

    #[inline(always)]
    pub fn push(&mut self, entry: T) {
        debug_assert!(
            self.len() < self.ring.places(),
            "a stage overfilled its queue"
        );
        *self.ring.at_mut(self.tail) = entry;
        self.tail = self.tail.wrapping_add(1);
    }

    #[inline(always)]
    pub fn pop_front(&mut self) {
        self.head = self.head.wrapping_add(1);
    }

    /// Drops everything.
    pub fn clear(&mut self) {
        self.head = self.tail;
    }

    /// All entries, oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &T> + ExactSizeIterator {
        (0..self.len()).map(|i| self.ring.at(self.head.wrapping_add(i)))
    }

    /// Changes all entries, oldest first.
    pub fn for_each(&mut self, mut change: impl FnMut(usize, &mut T)) {
        for i in 0..self.len() {
            change(i, self.ring.at_mut(self.head.wrapping_add(i)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Queue;

    #[test]
    fn first_in_first_out_across_the_end_of_the_ring() {
        let mut queue = Queue::new(3, 0);
        for round in 0..10 {
            for i in 0..3 {
                queue.push(round * 10 + i);
            }
            assert_eq!((queue.front(), queue.len()), (Some(&(round * 10)), 3));
            queue.pop_front();
            queue.for_each(|i, x| *x += 100 * i);
            let left: Vec<_> = queue.iter().copied().collect();
            assert_eq!(left, [round * 10 + 1, round * 10 + 102]);
            assert_eq!(queue.iter().next_back(), Some(&(round * 10 + 102)));
            queue.clear();
            assert!(queue.front().is_none() && queue.len() == 0);
        }
    }
}
