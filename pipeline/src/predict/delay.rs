//! How late branches teach: a core trains its predictors at commit, when it has predicted further
//! branches already. Functional warming knows no time; it takes this from what cores saw last.

/// Branches that can be in flight, a power of two.
const IN_FLIGHT: usize = 256;
/// The longest time that is kept, in branches.
const LONGEST: u32 = 127;
/// Delay that is assumed before a core has run, in branches: a pipeline and a window half full.
const AT_FIRST: u32 = 8;
/// Weight of an observation in the mean.
const WEIGHT: u32 = 16;
/// Times that are kept for each slot.
const KEPT: usize = 8;
/// Seen since [`Delay::watch`].
const FRESH: u8 = 1 << 7;

/// Local histories, which are taught at commit. For each: how long that takes, and how many of its branches
/// have been predicted and have not committed.
#[derive(Clone, Debug)]
pub(super) struct Delay {
    slots: Box<[Slot]>,
    /// The number of the last one.
    last: usize,
    /// The mean over all times, times [`WEIGHT`].
    mean: u32,
    /// Whether anybody wants to know: exact runs do not.
    watching: bool,
    /// Slots of the branches in flight and when they commit, the oldest first.
    queue: Box<[(u16, u32); IN_FLIGHT]>,
    head: u32,
    tail: u32,
}

hps_isa::save_state! { Delay { slots, last: skip, mean, watching, queue, head, tail } }

/// State of a slot: together and aligned, since warming needs all of it for each branch.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(16))]
struct Slot {
    /// How many branches were predicted from the prediction of a branch to its commit; 0: not known. A branch
    /// meets different times in turn, and the counters learn all of them: so the last few are kept, and no mean.
    times: [u8; KEPT],
    /// Directions, the newest in bit 0: more of them than predictors use, since warming leaves out those in
    /// flight.
    history: u32,
    /// Where the next time is put, with [`FRESH`].
    next: u8,
    /// Which of the times comes next.
    cursor: u8,
    /// Branches in flight.
    in_flight: u8,
}

hps_isa::save_state! { Slot { times, history, next, cursor, in_flight } }

/// How late branches taught since [`Delay::watch`].
#[derive(Clone, Debug)]
pub(super) struct Seen {
    /// Slots of which something was seen, with their times and where the next one is put.
    slots: Vec<(u16, [u8; KEPT], u8)>,
    mean: u32,
}

impl Delay {
    pub fn new(slots: usize) -> Self {
        assert!(slots.is_power_of_two(), "their numbers are masked");
        Delay {
            last: slots - 1,
            slots: vec![Slot::default(); slots].into_boxed_slice(),
            mean: AT_FIRST * WEIGHT,
            watching: false,
            queue: Box::new([(0, 0); IN_FLIGHT]),
            head: 0,
            tail: 0,
        }
    }

    /// Whether anybody wants to know what is [observed](Self::observe).
    #[inline(always)]
    pub fn is_watched(&self) -> bool {
        self.watching
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
        self.mean = self.mean - self.mean / WEIGHT + branches;
        let slot = &mut self.slots[slot];
        let at = usize::from(slot.next & !FRESH) % KEPT;
        slot.times[at] = branches as u8;
        slot.next = FRESH | (at + 1) as u8;
    }

    /// From now on it is known what is observed.
    pub fn watch(&mut self) {
        self.watching = true;
        self.slots.iter_mut().for_each(|slot| slot.next &= !FRESH);
    }

    /// Observations since [`Delay::watch`], among those from before.
    pub fn seen(&self) -> Seen {
        let slots = self.slots.iter().enumerate();
        let fresh = slots.filter(|(_, slot)| slot.next & FRESH != 0);
        Seen {
            slots: fresh
                .map(|(number, slot)| (number as u16, slot.times, slot.next & !FRESH))
                .collect(),
            mean: self.mean,
        }
    }

    /// Takes over what was observed elsewhere.
    pub fn learn(&mut self, other: &Seen) {
        self.mean = other.mean;
        for &(number, times, next) in &other.slots {
            let slot = &mut self.slots[usize::from(number)];
            slot.times = times;
            slot.next = next;
        }
    }

    /// The history of a slot.
    #[inline]
    pub fn history(&self, slot: usize) -> u32 {
        // SAFETY: there is a power of two of slots, and so one of each number that is masked like this.
        unsafe { self.slots.get_unchecked(slot & self.last).history }
    }

    /// The history goes on.
    #[inline]
    pub fn push(&mut self, slot: usize, taken: bool) {
        // SAFETY: the mask keeps the index below the power of two that is the number of slots.
        let history = unsafe { &mut self.slots.get_unchecked_mut(slot & self.last).history };
        *history = (*history << 1) | u32::from(taken);
    }

    /// The history of a slot without the branches in flight, of which `most` at most can be left out.
    #[inline(always)]
    pub fn committed_history(&self, slot: usize, most: u32) -> u32 {
        let slot = &self.slots[slot];
        slot.history >> u32::from(slot.in_flight).min(most)
    }

    /// A branch is predicted. If it is predicted wrong, it and those before it commit before the next.
    #[inline(always)]
    pub fn pass(&mut self, slot: usize, taken: bool, right: bool) {
        let Delay { slots, queue, .. } = self;
        let slots = &mut slots[..];
        let number = slot as u16;
        let slot = &mut slots[slot];
        slot.history = (slot.history << 1) | u32::from(taken);
        if !right {
            self.settle();
            return;
        }
        slot.cursor = (slot.cursor + 1) % KEPT as u8;
        let time = match slot.times[usize::from(slot.cursor)] {
            0 => self.mean / WEIGHT,
            seen => u32::from(seen),
        };
        slot.in_flight += 1;
        let at = self.tail;
        queue[at as usize % IN_FLIGHT] = (number, at.wrapping_add(time));
        let tail = at.wrapping_add(1);
        self.tail = tail;
        // The longest time is shorter than the queue, so the oldest branch always leaves in time. The host cannot
        // predict whether a branch leaves, so the first one takes no branch of the host; more than one are rare.
        let mut head = self.head;
        let (number, due) = queue[head as usize % IN_FLIGHT];
        let leaves = has_come(due, tail) & (head != tail);
        slots[usize::from(number)].in_flight -= u8::from(leaves);
        head = head.wrapping_add(u32::from(leaves));
        while head != tail {
            let (number, due) = queue[head as usize % IN_FLIGHT];
            if !has_come(due, tail) {
                break;
            }
            slots[usize::from(number)].in_flight -= 1;
            head = head.wrapping_add(1);
        }
        self.head = head;
    }

    /// Nothing is in flight any more.
    #[inline(never)]
    pub fn settle(&mut self) {
        while self.head != self.tail {
            let (slot, _) = self.queue[self.head as usize % IN_FLIGHT];
            self.slots[usize::from(slot)].in_flight -= 1;
            self.head = self.head.wrapping_add(1);
        }
    }
}

/// Whether a time, counted in branches, is not after `now`.
#[inline(always)]
fn has_come(time: u32, now: u32) -> bool {
    time.wrapping_sub(now) as i32 <= 0
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

    fn lacking(delay: &Delay, slot: usize) -> u32 {
        u32::from(delay.slots[slot].in_flight)
    }

    #[test]
    fn branches_commit_in_order_and_as_late_as_seen() {
        let mut delay = Delay::new(4);
        observe(&mut delay, 0, 3);
        observe(&mut delay, 1, 1);
        assert_eq!(lacking(&delay, 0), 0);
        delay.pass(0, true, true);
        assert_eq!(lacking(&delay, 0), 1);
        // The branch could commit at once, but not before older ones.
        delay.pass(1, true, true);
        assert_eq!((lacking(&delay, 0), lacking(&delay, 1)), (1, 1));
        delay.pass(1, true, true);
        assert_eq!((lacking(&delay, 0), lacking(&delay, 1)), (0, 0));
        delay.pass(0, true, true);
        delay.pass(0, true, false);
        assert_eq!(lacking(&delay, 0), 0);
    }

    #[test]
    fn what_was_seen_since_goes_to_another() {
        let (mut here, mut there) = (Delay::new(2), Delay::new(2));
        observe(&mut there, 1, 9);
        there.watch();
        there.observe(0, 5);
        observe(&mut here, 1, 4);
        here.watch();
        here.learn(&there.seen());
        assert_eq!(here.slots[0].times[..2], [5, 0]);
        assert_eq!(here.slots[1].times, [4; KEPT]);
        assert_eq!([here.slots[0].next, here.slots[1].next], [1, 8]);
        here.observe(1, 6);
        assert_eq!(here.slots[1].times[0], 6);
    }

    #[test]
    fn the_longest_fits() {
        let mut delay = Delay::new(1);
        observe(&mut delay, 0, u32::MAX);
        for _ in 0..1000 {
            delay.pass(0, true, true);
            assert!(lacking(&delay, 0) <= LONGEST);
        }
    }
}
