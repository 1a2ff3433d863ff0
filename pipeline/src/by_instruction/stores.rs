//! Stores in time: from dispatch until the cache has taken them.

use super::{DecodeEditor, DrivenCore, NEVER};
use crate::memsys::AccessResult;
use crate::model::{PipelineProbe, Ring, UNKNOWN};
use hps_isa::likely::seldom;

/// Places of the filter.
const FILTER: usize = 1024;

/// A store.
#[derive(Clone, Copy, Debug, Default)]
pub struct Store {
    pub addr: u64,
    /// Bytes; zero: one that failed or faults.
    pub size: u8,
    pub pc: u64,
    /// Cycle from which on the address is known: the store issues.
    pub known: u64,
    /// When it knows what it has computed: loads that read too early are found then, in execution.
    pub found: u64,
    /// When the producer of its data issues, and from when on the data may be forwarded.
    pub data_issue: u64,
    pub data: u64,
    /// The cache takes it; before its turn comes, the first cycle in which it may.
    pub drain: u64,
}

hps_isa::save_state! { Store { addr, size, pc, known, found, data_issue, data, drain } }

impl Store {
    /// Whether it writes any of `size` bytes at `addr`.
    #[inline(always)]
    fn overlaps(&self, addr: u64, size: u64) -> bool {
        self.addr.wrapping_sub(addr) < size || addr.wrapping_sub(self.addr) < u64::from(self.size)
    }

    /// Whether it writes all of `size` bytes at `addr`.
    #[inline]
    pub fn covers(&self, addr: u64, size: u64) -> bool {
        let offset = addr.wrapping_sub(self.addr);
        offset < u64::from(self.size) && offset + size <= u64::from(self.size)
    }
}

/// State of the youngest store near a load's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nearest {
    /// The store gives all of the load's bytes, from this cycle on.
    Gives(u64),
    /// The cache has taken it, and each store before it.
    Gone,
    /// Another one may matter, or it has not got so far.
    Unclear,
}

/// The stores in flight, by positions that only grow but for squashes.
#[derive(Clone)]
pub struct Stores {
    ring: Ring<Store>,
    capacity: u64,
    /// One past the youngest.
    pub tail: u64,
    /// The oldest that has not committed.
    committed: u64,
    /// The oldest that the cache has not taken, as far as that has been followed.
    drained: u64,
    /// The oldest that a load may find: one that the cache has not taken by the cycle of the last dispatch,
    /// and whose place has not been another one's since.
    oldest: u64,
    /// When the cache takes the oldest that it has not taken, if that has committed.
    pub next_drain: u64,
    /// When it took, or may take at the earliest, the youngest that has committed.
    last_drain: u64,
    /// For each 8-byte granule, by a hash: one past the youngest store that touched it.
    filter: [u64; FILTER],
}

hps_isa::save_state! {
    Stores {
        ring, capacity: skip, tail, committed, drained, oldest, next_drain, last_drain, filter,
    }
}

impl Stores {
    pub fn new(capacity: usize) -> Self {
        Stores {
            ring: Ring::new(capacity, Store::default()),
            capacity: capacity as u64,
            tail: 0,
            committed: 0,
            drained: 0,
            oldest: 0,
            next_drain: u64::MAX,
            last_drain: 0,
            filter: [0; FILTER],
        }
    }

    #[inline(always)]
    pub fn is_full(&self) -> bool {
        self.tail - self.drained >= self.capacity
    }

    /// Stores in the queue.
    #[inline(always)]
    pub fn len(&self) -> u64 {
        self.tail - self.drained
    }

    /// Whether `count` places are free.
    #[inline(always)]
    pub fn has_places(&self, count: u64) -> bool {
        self.tail - self.drained + count <= self.capacity
    }

    #[inline(always)]
    pub fn get(&self, position: u64) -> &Store {
        self.ring.at(position as usize)
    }

    /// Adds the youngest store; `ALIGNED`: to as many bytes as its address is a multiple of.
    #[inline(always)]
    pub fn push<const ALIGNED: bool>(&mut self, store: Store) {
        let position = self.tail;
        *self.ring.at_mut(position as usize) = store;
        self.tail += 1;
        // Places that a squashed store has had do not hold what they held before.
        let places = self.ring.places() as u64;
        if seldom(self.tail - self.oldest > places) {
            self.oldest = self.tail - places;
        }
        if ALIGNED {
            debug_assert!(store.addr & 7 <= 8 - u64::from(store.size) && store.size > 0);
            self.filter[(store.addr >> 3) as usize % FILTER] = self.tail;
        } else if store.size > 0 {
            let last = store.addr.wrapping_add(u64::from(store.size) - 1);
            self.filter[(store.addr >> 3) as usize % FILTER] = self.tail;
            self.filter[(last >> 3) as usize % FILTER] = self.tail;
        }
    }

    /// Adds one that no load will ask for: only its place is taken.
    #[inline(always)]
    pub fn push_unknown(&mut self) {
        self.tail += 1;
    }

    /// The oldest store that a load may find. An atomic that waits for all stores lets the cache take
    /// them ahead of time, so they are looked at by their cycles.
    #[inline(always)]
    pub fn oldest(&self) -> u64 {
        self.oldest
    }

    /// Whether a store in flight may touch these bytes; `false` is exact. A squashed store hides older ones and gives
    /// `true` as long as they may be in flight.
    #[inline(always)]
    pub fn may_overlap(&self, addr: u64, size: u64) -> bool {
        self.youngest_near(addr, size) > self.oldest()
    }

    /// One past the youngest store, or a squashed one behind it, that touches these bytes or others that the
    /// filter takes for them.
    #[inline(always)]
    fn youngest_near(&self, addr: u64, size: u64) -> u64 {
        let last = addr.wrapping_add(size - 1);
        let first = self.filter[(addr >> 3) as usize % FILTER];
        first.max(self.filter[(last >> 3) as usize % FILTER])
    }

    /// The first cycle in which the cache may take a store that is in the queue: one of which it wants
    /// another try later holds up those behind it.
    #[inline]
    fn drain_of(&self, position: u64) -> u64 {
        let own = self.get(position).drain;
        if self.next_drain == u64::MAX || position < self.drained {
            own
        } else {
            own.max(self.next_drain + (position - self.drained))
        }
    }

    /// The stores before position `before` that are in the queue in this cycle, the youngest first, each
    /// with the first cycle, a later one, in which the cache may take it.
    fn queued(&self, cycle: u64, before: u64) -> impl Iterator<Item = (&Store, u64)> {
        let positions = (self.oldest()..before).rev();
        let stores = positions.map(|position| (self.get(position), self.drain_of(position)));
        stores.take_while(move |(_, drain)| *drain > cycle)
    }

    /// The youngest store before position `before` that writes any of these bytes and is in the queue
    /// in this cycle, and the first cycle, a later one, in which the cache may take it.
    pub fn youngest_overlapping(
        &self,
        cycle: u64,
        before: u64,
        addr: u64,
        size: u64,
    ) -> Option<(&Store, u64)> {
        // None that is younger touches these bytes. Of those that do only the youngest matters: if it has left
        // the queue, those before it have.
        let last = before.min(self.youngest_near(addr, size));
        let mut positions = (self.oldest()..last).rev();
        let found = positions.find(|position| {
            let store = self.get(*position);
            store.size != 0 && store.overlaps(addr, size)
        })?;
        let drain = self.drain_of(found);
        (drain > cycle).then(|| (self.get(found), drain))
    }

    /// State of the youngest store near these bytes, for a load that issues in this cycle.
    #[inline(always)]
    pub fn nearest(&self, cycle: u64, addr: u64, size: u64) -> Nearest {
        let position = self.youngest_near(addr, size) - 1;
        if position >= self.tail {
            return Nearest::Unclear;
        }
        if self.drain_of(position) <= cycle {
            // And so those before it.
            return Nearest::Gone;
        }
        let store = self.get(position);
        let gives = store.covers(addr, size) & (store.known <= cycle) & (store.data_issue <= cycle);
        if gives {
            Nearest::Gives(store.data)
        } else {
            Nearest::Unclear
        }
    }

    /// When the address of the youngest store before `before` that is not known in this cycle will be.
    pub fn youngest_unknown(&self, cycle: u64, before: u64) -> Option<u64> {
        let mut stores = self.queued(cycle, before);
        let unknown = stores.find(|(store, _)| store.known > cycle);
        unknown.map(|(store, _)| store.known)
    }

    /// If a store is in the queue in this cycle, its address still unknown: when it will be known.
    #[inline]
    pub fn unknown(&self, cycle: u64, position: u64, before: u64) -> Option<u64> {
        if position == UNKNOWN || position < self.oldest() || position >= before {
            return None;
        }
        let known = self.get(position).known;
        (known > cycle && self.drain_of(position) > cycle).then_some(known)
    }
}

impl<E: DecodeEditor, P: PipelineProbe> DrivenCore<E, P> {
    /// Adds the youngest store, which commits in this cycle, as all before it have committed; the cache takes one in a
    /// cycle.
    #[inline(always)]
    pub(super) fn commit_store<const ALIGNED: bool>(&mut self, store: Store, commit: u64) {
        let s = &mut self.stores;
        let drain = (commit + 1).max(s.last_drain + 1);
        s.last_drain = drain;
        debug_assert_eq!(s.committed, s.tail);
        if s.tail == s.drained {
            s.next_drain = drain;
        }
        let has_port = ALIGNED || store.size > 0;
        s.push::<ALIGNED>(Store { drain, ..store });
        s.committed = s.tail;
        if has_port {
            self.calendar.take_port(drain);
        }
    }

    /// Everything that the cache takes up to this cycle, in which an instruction is dispatched, at least one store.
    #[inline(never)]
    pub(super) fn drain_until(&mut self, cycle: u64) {
        self.drain_until_here(cycle);
    }

    #[inline(always)]
    pub(super) fn drain_until_here(&mut self, cycle: u64) {
        debug_assert!(self.stores.next_drain <= cycle);
        self.take_until(cycle);
        // Stores that were taken ahead of time came before these, and so before this cycle.
        let s = &mut self.stores;
        debug_assert!((s.oldest..s.drained).all(|at| s.get(at).drain <= cycle));
        s.oldest = s.drained;
    }

    #[inline(always)]
    fn take_until(&mut self, cycle: u64) {
        self.memory.pass(self.dispatched);
        while self.stores.next_drain <= cycle {
            self.try_drain();
        }
    }

    /// Drains until there is room for a store. Returns when there is.
    #[inline(never)]
    pub(super) fn drain_one(&mut self) -> u64 {
        let mut last = 0;
        while self.stores.is_full() {
            if self.stores.next_drain == u64::MAX {
                // The oldest one is on the wrong path itself.
                return self.limit;
            }
            last = self.stores.next_drain;
            self.try_drain();
        }
        last
    }

    /// The next store drains, if the cache takes it.
    pub(super) fn drain_next(&mut self) {
        self.memory.pass(self.dispatched);
        self.try_drain();
    }

    /// Drains all stores, which have all committed. Returns when the last one is gone.
    #[inline(never)]
    pub(super) fn drain_all(&mut self) -> u64 {
        self.take_until(NEVER);
        self.stores.last_drain
    }

    /// The oldest store goes to the cache, unless that wants it later.
    #[inline(always)]
    fn try_drain(&mut self) {
        let s = &self.stores;
        let cycle = s.next_drain;
        let &Store { addr, size, .. } = s.get(s.drained);
        if size > 0
            && self.memory.hit_quickly(cycle, addr, size, true).is_none()
            && let AccessResult::Retry { at_cycle } =
                self.memory.access_on_port(cycle, addr, size, true)
        {
            let s = &mut self.stores;
            let retry = at_cycle.max(cycle + 1);
            s.ring.at_mut(s.drained as usize).drain = retry;
            s.next_drain = retry;
            s.last_drain = s.last_drain.max(retry);
            return;
        }
        let s = &mut self.stores;
        s.drained += 1;
        if s.drained < s.committed {
            let next = s.ring.at_mut(s.drained as usize);
            next.drain = next.drain.max(cycle + 1);
            s.next_drain = next.drain;
            s.last_drain = s.last_drain.max(next.drain);
        } else {
            s.next_drain = u64::MAX;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::predict::tests::Random;

    #[test]
    fn the_filter_never_hides_a_store_also_behind_squashed_ones() {
        let mut random = Random::new(3);
        let mut stores = Stores::new(16);
        let mut forwarded = 0;
        for _ in 0..20_000 {
            let (addr, size) = (random.below(300), 1 << random.below(4));
            let brute = (stores.drained..stores.tail).rev().find(|at| {
                let store = stores.get(*at);
                let bytes = store.addr..store.addr + u64::from(store.size);
                (addr..addr + size).any(|byte| bytes.contains(&byte))
            });
            let found = stores.youngest_overlapping(0, stores.tail, addr, size);
            assert_eq!(found.map(|(store, _)| store.pc), brute);
            assert!(stores.may_overlap(addr, size) || brute.is_none());
            if stores.may_overlap(addr, size)
                && let Nearest::Gives(data) = stores.nearest(0, addr, size)
            {
                let source = found.map(|(store, _)| (store.data, store.covers(addr, size)));
                assert_eq!(source, Some((data, true)));
                forwarded += 1;
            }
            match random.below(4) {
                0 if stores.drained < stores.tail => {
                    stores.drained += 1;
                    stores.oldest = stores.oldest.max(stores.drained);
                }
                1 => stores.tail -= random.below(1 + (stores.tail - stores.drained).min(4)),
                _ if stores.is_full() => {}
                _ => stores.push::<false>(Store {
                    addr,
                    size: if random.below(8) == 0 { 0 } else { size as u8 },
                    // Names it.
                    pc: stores.tail,
                    data: random.next(),
                    drain: NEVER,
                    ..Store::default()
                }),
            }
        }
        assert!(forwarded > 200, "{forwarded}");
    }

    #[test]
    fn a_store_that_is_wanted_later_keeps_those_behind_it_in_the_queue() {
        let mut stores = Stores::new(4);
        for (pc, drain) in [(0, 10), (1, 11)] {
            stores.push::<false>(Store {
                addr: 64,
                size: 8,
                pc,
                drain,
                ..Store::default()
            });
        }
        stores.committed = 2;
        stores.next_drain = 30;
        let found = |cycle| {
            let store = stores.youngest_overlapping(cycle, 2, 64, 8);
            store.map(|(store, drain)| (store.pc, drain))
        };
        // Also when its own turn, in cycle 11, is over: who waits for it waits for a later cycle.
        let last = Some((1, 31));
        assert_eq!((found(9), found(20), found(30)), (last, last, last));
        assert_eq!(found(31), None);
        assert_ne!(stores.nearest(30, 64, 8), Nearest::Gone);
        assert_eq!(stores.nearest(31, 64, 8), Nearest::Gone);
        // Neither is left, whatever of these bytes the youngest writes.
        assert_eq!(stores.nearest(31, 71, 8), Nearest::Gone);
    }
}
