//! How late branches teach: a core trains its predictors at commit, when it has predicted further
//! branches already. Functional warming knows no time; it takes this from what cores saw last.

/// Branches that can be in flight, a power of two.
const IN_FLIGHT: usize = 256;
/// The longest time that is kept, in branches.
const LONGEST: u32 = 127;
/// What is assumed before a core has run, in branches: a pipeline and a window half full.
const AT_FIRST: u32 = 8;
/// Weight of an observation in the mean.
const WEIGHT: u32 = 16;
/// Times that are kept for each slot.
const KEPT: usize = 8;
/// Seen since [`Delay::watch`].
const FRESH: u8 = 1 << 7;

/// For each slot of a table that is taught at commit: how long that takes, and how many of its
/// branches have been predicted and have not committed.
#[derive(Clone, Debug)]
pub(super) struct Delay {
    seen: Seen,
    /// Whether anybody wants to know: exact runs do not.
    watching: bool,
    /// Which of its times a slot takes next.
    cursor: Box<[u8]>,
    /// Branches in flight.
    in_flight: Box<[u8]>,
    /// Slots of the branches in flight and when they commit, the oldest first.
    queue: Box<[(u16, u32); IN_FLIGHT]>,
    head: u32,
    tail: u32,
}

/// How many branches were predicted from the prediction of a branch to its commit. A branch meets
/// different times in turn, and the counters learn all of them: so the last few are kept, and no mean.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    /// By slot; 0: there is none yet.
    times: Box<[[u8; KEPT]]>,
    /// Where the next of a slot is put, with [`FRESH`].
    next: Box<[u8]>,
    /// The mean over all, times [`WEIGHT`].
    mean: u32,
}

impl Delay {
    pub fn new(slots: usize) -> Self {
        Delay {
            seen: Seen {
                times: vec![[0; KEPT]; slots].into_boxed_slice(),
                next: vec![0; slots].into_boxed_slice(),
                mean: AT_FIRST * WEIGHT,
            },
            watching: false,
            cursor: vec![0; slots].into_boxed_slice(),
            in_flight: vec![0; slots].into_boxed_slice(),
            queue: Box::new([(0, 0); IN_FLIGHT]),
            head: 0,
            tail: 0,
        }
    }

    /// A branch that was predicted right has committed in a core, when `branches` had been predicted
    /// since it was, itself among them. (What was predicted wrong commits soon after it is resolved.)
    /// Nothing is noted before [`watch`](Self::watch).
    #[inline]
    pub fn observe(&mut self, slot: usize, branches: u32) {
        if !self.watching {
            return;
        }
        let branches = branches.min(LONGEST);
        let seen = &mut self.seen;
        seen.mean = seen.mean - seen.mean / WEIGHT + branches;
        let next = &mut seen.next[slot];
        let at = usize::from(*next & !FRESH) % KEPT;
        seen.times[slot][at] = branches as u8;
        *next = FRESH | (at + 1) as u8;
    }

    /// From now on it is known what is observed.
    pub fn watch(&mut self) {
        self.watching = true;
        self.seen.next.iter_mut().for_each(|next| *next &= !FRESH);
    }

    /// What was observed since, among what was before.
    pub fn seen(&self) -> &Seen {
        &self.seen
    }

    /// Takes over what was observed elsewhere.
    pub fn learn(&mut self, other: &Seen) {
        self.seen.mean = other.mean;
        for (slot, next) in other.next.iter().enumerate() {
            if next & FRESH != 0 {
                self.seen.times[slot] = other.times[slot];
                self.seen.next[slot] = next & !FRESH;
            }
        }
    }

    /// How many branches of a slot are in flight.
    #[inline]
    pub fn lacking(&self, slot: usize) -> u32 {
        u32::from(self.in_flight[slot])
    }

    /// A branch is predicted. If it is predicted wrong, it and those before it commit before the next.
    #[inline]
    pub fn pass(&mut self, slot: usize, right: bool) {
        if !right {
            self.settle();
            return;
        }
        let at = self.tail;
        let due = at.wrapping_add(self.next_time(slot));
        self.queue[at as usize % IN_FLIGHT] = (slot as u16, due);
        self.in_flight[slot] += 1;
        self.tail = at.wrapping_add(1);
        // The longest time is shorter than the queue, so that the oldest always leaves in time.
        while self.head != self.tail {
            let (_, due) = self.queue[self.head as usize % IN_FLIGHT];
            if due.wrapping_sub(self.tail) as i32 > 0 {
                break;
            }
            self.commit_oldest();
        }
    }

    #[inline]
    fn next_time(&mut self, slot: usize) -> u32 {
        let cursor = &mut self.cursor[slot];
        *cursor = (*cursor + 1) % KEPT as u8;
        match self.seen.times[slot][usize::from(*cursor)] {
            0 => self.seen.mean / WEIGHT,
            seen => u32::from(seen),
        }
    }

    #[inline]
    fn commit_oldest(&mut self) {
        let (slot, _) = self.queue[self.head as usize % IN_FLIGHT];
        self.in_flight[usize::from(slot)] -= 1;
        self.head = self.head.wrapping_add(1);
    }

    /// Nothing is in flight any more.
    pub fn settle(&mut self) {
        while self.head != self.tail {
            self.commit_oldest();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn observe(delay: &mut Delay, slot: usize, branches: u32) {
        delay.watching = true;
        for _ in 0..KEPT {
            delay.observe(slot, branches);
        }
    }

    #[test]
    fn branches_commit_in_order_and_as_late_as_seen() {
        let mut delay = Delay::new(4);
        observe(&mut delay, 0, 3);
        observe(&mut delay, 1, 1);
        assert_eq!(delay.lacking(0), 0);
        delay.pass(0, true);
        assert_eq!(delay.lacking(0), 1);
        // It could commit at once, but not before what is older.
        delay.pass(1, true);
        assert_eq!((delay.lacking(0), delay.lacking(1)), (1, 1));
        delay.pass(1, true);
        assert_eq!((delay.lacking(0), delay.lacking(1)), (0, 0));
        delay.pass(0, true);
        delay.pass(0, false);
        assert_eq!(delay.lacking(0), 0);
    }

    #[test]
    fn what_was_seen_since_goes_to_another() {
        let (mut here, mut there) = (Delay::new(2), Delay::new(2));
        observe(&mut there, 1, 9);
        there.watch();
        there.observe(0, 5);
        observe(&mut here, 1, 4);
        here.watch();
        here.learn(there.seen());
        assert_eq!(here.seen.times[0][..2], [5, 0]);
        assert_eq!(here.seen.times[1], [4; KEPT]);
        assert_eq!(here.seen.next[..], [1, 8]);
        here.observe(1, 6);
        assert_eq!(here.seen.times[1][0], 6);
    }

    #[test]
    fn the_longest_fits() {
        let mut delay = Delay::new(1);
        observe(&mut delay, 0, u32::MAX);
        for _ in 0..1000 {
            delay.pass(0, true);
            assert!(delay.lacking(0) <= LONGEST);
        }
    }
}
