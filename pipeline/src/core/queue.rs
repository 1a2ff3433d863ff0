//! The queue between two stages: a ring of fixed size whose entries are written in place.
//!
//! `VecDeque::push_back` takes an entry by value, which for the large entries of the front-end means
//! building it on the stack and copying it.

/// A ring of `Copy` entries.
pub struct Queue<T> {
    ring: Vec<T>,
    mask: usize,
    head: usize,
    len: usize,
}

impl<T: Copy> Queue<T> {
    /// Room for at least `capacity` entries.
    pub fn new(capacity: usize, empty: T) -> Self {
        let size = capacity.next_power_of_two().max(2);
        Queue {
            ring: vec![empty; size],
            mask: size - 1,
            head: 0,
            len: 0,
        }
    }

    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    #[inline]
    pub fn front(&self) -> Option<&T> {
        if self.len == 0 {
            None
        } else {
            Some(&self.ring[self.head & self.mask])
        }
    }

    /// The place of a new youngest entry, to be written by the caller. The stages never put more
    /// into a queue than it was made for.
    #[inline]
    pub fn push(&mut self) -> &mut T {
        debug_assert!(self.len <= self.mask, "a stage overfilled its queue");
        let at = (self.head + self.len) & self.mask;
        self.len += 1;
        &mut self.ring[at]
    }

    #[inline]
    pub fn pop_front(&mut self) {
        self.head = (self.head + 1) & self.mask;
        self.len -= 1;
    }

    #[inline]
    pub fn back_mut(&mut self) -> Option<&mut T> {
        let at = (self.head + self.len).wrapping_sub(1) & self.mask;
        if self.len == 0 {
            None
        } else {
            Some(&mut self.ring[at])
        }
    }

    #[inline]
    pub fn pop_back(&mut self) -> Option<T> {
        let entry = *self.back_mut()?;
        self.len -= 1;
        Some(entry)
    }

    /// All entries, oldest first.
    pub fn for_each(&mut self, mut change: impl FnMut(&mut T)) {
        for i in 0..self.len {
            change(&mut self.ring[(self.head + i) & self.mask]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Queue;

    #[test]
    fn it_is_a_queue_at_both_ends() {
        let mut queue = Queue::new(3, 0);
        for round in 0..10 {
            for i in 0..3 {
                *queue.push() = round * 10 + i;
            }
            assert_eq!((queue.front(), queue.len()), (Some(&(round * 10)), 3));
            queue.pop_front();
            assert_eq!(queue.pop_back(), Some(round * 10 + 2));
            queue.for_each(|x| *x += 1);
            assert_eq!(queue.pop_back(), Some(round * 10 + 2));
            assert!(queue.pop_back().is_none() && queue.front().is_none());
        }
    }
}
