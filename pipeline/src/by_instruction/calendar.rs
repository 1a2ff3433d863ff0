//! Which issue slots, units and cache ports are taken in which cycle.
//!
//! Instructions come in program order and take the first cycle in which what they need is free. Since a
//! younger one never comes before an older one, that is what selection of the oldest ready instruction
//! gives, cycle by cycle, for everything that is taken for one cycle.

mod demand;

pub use demand::{Demand, Issues};

use std::ops::Range;

use hps_isa::inst::{ALL_CLASSES, OpClass};
use hps_isa::likely::seldom;
use serde::{Deserialize, Serialize};

use super::path::Path;
use crate::config::UnitTable;
use crate::model::kind;

/// A cycle: lanes of a byte that count up to [`FULL`], from what the capacity leaves below it.
pub type Lanes = u64;

/// A lane in which nothing is free.
const FULL: Lanes = 0x80;
/// Issue slots.
const ISSUE: u32 = 0;
/// Ports of the data cache.
const PORTS: u32 = 1;
/// Lanes of which one is never empty: of a class that takes more than lanes say.
const NEVER_FREE: Lanes = Lanes::MAX;
/// The first pool.
const POOLS: u32 = 2;
/// Pools that fit.
const MOST_POOLS: usize = (Lanes::BITS / 8 - POOLS) as usize;

const fn lane(at: u32) -> Lanes {
    1 << (8 * at)
}

/// Cycles of the ring, a power of two. The search looks ahead for half of them.
const CYCLES: usize = 8192;
const MASK: u64 = CYCLES as u64 - 1;

/// Cycles behind a full one that a search looks at before it asks what has been searched.
const LOOKED_AT: usize = 4;

/// Cycles after which it forgets at the latest. Far less than it holds.
const LONG_AGO: u64 = 512;

/// One in each lane of those that are full there.
#[inline(always)]
fn one_of(full: Lanes) -> Lanes {
    full / FULL
}

/// Resources that a class uses.
#[derive(Clone, Copy, Debug)]
struct Use {
    /// Where its lanes are full; [`NEVER_FREE`] if they do not say all.
    full: Lanes,
    really_full: Lanes,
    interval_cycles: u32,
    /// 1 for a class that takes a station of the floating-point queue, else 0.
    fp: u8,
    pool: u8,
    /// The units of the pool are held one by one, and no lane counts them.
    is_held: bool,
    /// Cycles of which a search has found all full: from, and to before.
    searched: (u64, u64),
}

hps_isa::save_state! {
    Use {
        full: skip, really_full: skip, interval_cycles: skip, fp: skip, pool: skip, is_held: skip,
        searched,
    }
}

/// Stretches of cycles of a unit that may be remembered although they have passed.
const REMEMBERED: usize = 32;

/// Cycles for which a unit is held, in order.
type Held = Vec<(u64, u64)>;

/// How many instructions left their stations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Left {
    /// Instructions of all classes.
    pub all: u32,
    /// Instructions of the floating-point queue.
    pub fp: u32,
}

/// The calendar.
#[derive(Clone)]
pub struct Calendar {
    cycles: [Lanes; CYCLES],
    /// How many instructions leave the queue for floating point in each cycle, if there is one.
    fp_leave: Box<[u8]>,
    fresh: Lanes,
    /// The last cycle of which nothing will be taken any more.
    passed: u64,
    /// The last cycle that is near: half of the ring is left for the search.
    near: u64,
    /// See [`Self::recent`].
    recent: u64,
    /// Where the lane of the pool is full that loads take.
    loads: Lanes,
    uses: [Use; OpClass::COUNT],
    /// The units of each pool that are held.
    held: Vec<Vec<Held>>,
    /// Cycles beyond the ring: what is taken there is not limited, but leaves its station.
    far: Vec<(u64, Left)>,
    /// Cycles of slots used by loads that went back to their stations.
    returned_loads: Vec<u64>,
}

hps_isa::save_state! {
    Calendar {
        cycles, fp_leave, fresh: skip, passed, near, recent, loads: skip, uses, held: nested, far,
        returned_loads,
    }
}

impl Calendar {
    /// An empty calendar. `None`: the machine has more pools than a word has lanes.
    pub fn new(table: &UnitTable, widths: Widths) -> Option<Self> {
        let pools = table.pool_units();
        let is_held = |pool: &usize| {
            ALL_CLASSES.iter().any(|class| {
                let timing = table.timing(*class);
                usize::from(timing.pool) == *pool && timing.interval_cycles > 1
            })
        };
        let is_used = |pool: &usize| {
            let mut classes = ALL_CLASSES.iter();
            classes.any(|class| usize::from(table.timing(*class).pool) == *pool)
        };
        let (held, mut counted): (Vec<usize>, Vec<usize>) =
            (0..pools.len()).filter(is_used).partition(is_held);
        // Where there is a unit for each that may issue, slots say all.
        counted.retain(|pool| (pools[*pool] as usize) < widths.issue);
        if counted.len() > MOST_POOLS || widths.largest(pools) >= 0x80 {
            return None;
        }
        // For several units that are held, lanes cannot tell whether one of them is free for long enough.
        let alone = held.into_iter().filter(|pool| pools[*pool] == 1);
        counted.extend(alone.take(MOST_POOLS - counted.len()));
        let mut fresh = (FULL - widths.issue as Lanes) << (8 * ISSUE)
            | (FULL - Lanes::from(widths.ports)) << (8 * PORTS);
        for (at, pool) in (POOLS..).zip(&counted) {
            fresh |= (FULL - Lanes::from(pools[*pool])) << (8 * at);
        }
        let lane_of = |pool: u8| {
            let at = counted
                .iter()
                .position(|counted| *counted == usize::from(pool));
            at.map(|at| lane(POOLS + at as u32))
        };
        let uses = ALL_CLASSES.map(|class| {
            let timing = table.timing(class);
            let unit = lane_of(timing.pool);
            let one = lane(ISSUE) | unit.unwrap_or(0);
            let fp = u8::from(widths.fp_queue && kind::of(class) & kind::FLOAT != 0);
            let is_held = unit.is_none() && is_held(&usize::from(timing.pool));
            let is_seldom = is_held || timing.interval_cycles > 1 || fp != 0;
            Use {
                full: if is_seldom { NEVER_FREE } else { one * FULL },
                really_full: one * FULL,
                interval_cycles: timing.interval_cycles,
                fp,
                pool: timing.pool,
                is_held,
                searched: (0, 0),
            }
        });
        Some(Calendar {
            cycles: [fresh; CYCLES],
            fp_leave: vec![0; if widths.fp_queue { CYCLES } else { 0 }].into_boxed_slice(),
            fresh,
            passed: 0,
            near: MASK / 2,
            recent: LONG_AGO,
            loads: lane_of(table.timing(OpClass::Load).pool).unwrap_or(0) * FULL,
            uses,
            held: pools
                .iter()
                .map(|units| vec![Held::new(); *units as usize])
                .collect(),
            far: Vec::new(),
            returned_loads: Vec::new(),
        })
    }

    /// Where the lanes of a class are full of which it takes one; [`NEVER_FREE`] if they do not say all.
    #[inline(always)]
    pub fn full(&self, class: OpClass) -> Lanes {
        self.uses[class as usize].full
    }

    #[inline(always)]
    fn at(&mut self, cycle: u64) -> &mut Lanes {
        debug_assert!(cycle > self.passed && cycle - self.passed <= MASK);
        &mut self.cycles[cycle as usize % CYCLES]
    }

    /// Cycles so far ahead are not in the ring.
    #[inline(always)]
    fn is_far(&self, cycle: u64) -> bool {
        debug_assert_eq!(self.near, self.passed + MASK / 2);
        cycle > self.near
    }

    /// Takes what an instruction needs, in the first cycle from `from` on in which it is
    /// free. On a wrong path: only if that comes before a squash in `limit`, as `from` does; else nothing is taken, and the
    /// cycle is not before `limit`. So a squash has nothing to give back.
    #[inline(always)]
    pub fn take<K: Path>(&mut self, from: u64, what: &impl Issues, limit: u64) -> u64 {
        debug_assert!(!K::IS_WRONG || from < limit);
        let full = what.full();
        if seldom(self.is_far(from)) {
            return self.take_seldom::<K>(from, (what.class(), what.latency_cycles()), limit);
        }
        let mut cycle = from;
        if seldom(*self.at(cycle) & full != 0) {
            // Full, or of a class to which every cycle seems so.
            if full == NEVER_FREE {
                return self.take_seldom::<K>(from, (what.class(), what.latency_cycles()), limit);
            }
            cycle = self.search::<K>(from, what, limit);
            if K::IS_WRONG && cycle >= limit {
                return cycle;
            }
        }
        *self.at(cycle) += one_of(full);
        cycle
    }

    /// Takes a slot, a unit and a port of the data cache for a load that waits for no store. The second value is
    /// `false` if all ports of that cycle are taken.
    #[inline(always)]
    pub fn take_with_port<K: Path>(
        &mut self,
        from: u64,
        what: &impl Issues,
        limit: u64,
    ) -> (u64, bool) {
        debug_assert!(!K::IS_WRONG || from < limit);
        let full = what.full();
        if seldom(self.is_far(from)) {
            return self.take_seldom_with_port::<K>(from, what.class(), limit);
        }
        let mut cycle = from;
        if seldom(*self.at(cycle) & full != 0) {
            if full == NEVER_FREE {
                return self.take_seldom_with_port::<K>(from, what.class(), limit);
            }
            cycle = self.search::<K>(from, what, limit);
            if K::IS_WRONG && cycle >= limit {
                return (cycle, false);
            }
        }
        let lanes = self.at(cycle);
        let has_port = *lanes & (lane(PORTS) * FULL) == 0;
        *lanes += one_of(full) + if has_port { lane(PORTS) } else { 0 };
        (cycle, has_port)
    }

    #[inline(never)]
    fn take_seldom_with_port<K: Path>(
        &mut self,
        from: u64,
        class: OpClass,
        limit: u64,
    ) -> (u64, bool) {
        let cycle = self.take_seldom::<K>(from, (class, 1), limit);
        let comes = !K::IS_WRONG || cycle < limit;
        (cycle, comes && self.take_port(cycle))
    }

    /// The bit that records, for a full lane of a pool that loads use, that an instruction was refused.
    #[inline(always)]
    fn refusal(&self, full: Lanes) -> Lanes {
        one_of(full & self.loads)
    }

    /// The first cycle behind `from`, which is full, in which there is room for what lanes say all of, or `limit` if
    /// that is before. Notes in each cycle in which it finds its pool full that it was refused.
    #[inline(never)]
    fn search<K: Path>(&mut self, from: u64, what: &impl Issues, limit: u64) -> u64 {
        let full = what.full();
        let refusal = self.refusal(full);
        let mut cycle = from;
        for _ in 0..LOOKED_AT {
            self.refuse(cycle, refusal);
            cycle += 1;
            if K::IS_WRONG && cycle >= limit || *self.at(cycle) & full == 0 {
                return cycle;
            }
        }
        self.search_far::<K>(cycle, what.class(), limit)
    }

    /// Something has been refused in this cycle, if there was a slot for it and that is noted at all.
    #[inline(always)]
    fn refuse(&mut self, cycle: u64, refusal: Lanes) {
        if refusal == 0 {
            return;
        }
        let lanes = self.at(cycle);
        let has_slot = *lanes & (FULL << (8 * ISSUE)) == 0;
        *lanes |= refusal * Lanes::from(has_slot);
    }

    /// Searches from a cycle that is full. Cycles that were searched before are skipped, since no cycle becomes free
    /// again.
    #[inline(never)]
    fn search_far<K: Path>(&mut self, from: u64, class: OpClass, limit: u64) -> u64 {
        let u = &self.uses[class as usize];
        let full = u.full;
        let refusal = self.refusal(full);
        let (since, until) = u.searched;
        let is_known = (since..until).contains(&from);
        let mut cycle = if is_known { until } else { from };
        while (!K::IS_WRONG || cycle < limit) && *self.at(cycle) & full != 0 {
            self.refuse(cycle, refusal);
            cycle += 1;
        }
        let since = if is_known { since } else { from };
        self.uses[class as usize].searched = (since, cycle);
        cycle
    }

    /// Like [`Self::take`], for a load that may have to wait for a store: `waits` says for a cycle until when. As in
    /// the cycle-driven core it is asked in each cycle in which the load comes to its turn, which it does
    /// as long as nothing older has found all units of the pool taken. `Err`: in this cycle it begins to
    /// wait, until that one.
    #[inline(always)]
    pub fn take_load<K: Path>(
        &mut self,
        from: u64,
        what: &impl Issues,
        limit: u64,
        waits: impl Fn(u64) -> Option<u64>,
    ) -> Result<u64, (u64, u64)> {
        let full = what.full();
        let refusal = self.refusal(full);
        if self.is_far(from) || full == NEVER_FREE {
            return match waits(from) {
                Some(until) => Err((from, until)),
                None => Ok(self.take_seldom::<K>(from, (what.class(), 1), limit)),
            };
        }
        let mut cycle = from;
        while !K::IS_WRONG || cycle < limit {
            let lanes = *self.at(cycle);
            let refused = lanes & (lanes >> 7) & refusal != 0;
            if lanes & (FULL << (8 * ISSUE)) == 0 && !refused {
                if let Some(until) = waits(cycle) {
                    return Err((cycle, until));
                }
                if lanes & full == 0 {
                    *self.at(cycle) += one_of(full);
                    break;
                }
                *self.at(cycle) |= refusal;
            }
            cycle += 1;
        }
        Ok(cycle)
    }

    #[inline(never)]
    fn take_seldom<K: Path>(
        &mut self,
        from: u64,
        (class, latency_cycles): (OpClass, u64),
        limit: u64,
    ) -> u64 {
        let u = self.uses[class as usize];
        let limit = if K::IS_WRONG { limit } else { u64::MAX };
        // An instruction that is faster than its class holds its unit no longer than its latency.
        let cycles = u64::from(u.interval_cycles).min(latency_cycles).max(1);
        let cycle = if u.is_held {
            self.hold(from, u, cycles, limit)
        } else {
            self.hold_lane(from, u, cycles, limit)
        };
        if cycle >= limit {
            return cycle;
        }
        if self.is_far(cycle) {
            let left = Left {
                all: 1,
                fp: u32::from(u.fp),
            };
            self.far.push((cycle, left));
        } else {
            *self.at(cycle) += one_of(u.really_full);
            if u.fp != 0 {
                self.fp_leave[(cycle & MASK) as usize] += 1;
            }
        }
        cycle
    }

    /// The first gap of a unit from `from` on in a cycle in which an instruction may issue; a unit is held from
    /// then on, unless that is not before `limit`.
    fn hold(&mut self, mut from: u64, u: Use, cycles: u64, limit: u64) -> u64 {
        let passed = self.passed;
        loop {
            let (mut unit, mut start) = (0, u64::MAX);
            for (at, held) in self.held[usize::from(u.pool)].iter_mut().enumerate() {
                let gap = first_gap(held, passed, from, cycles);
                if gap < start {
                    (unit, start) = (at, gap);
                }
                if gap == from {
                    break;
                }
            }
            if start >= limit {
                return start;
            }
            if !self.is_far(start) && *self.at(start) & u.really_full != 0 {
                from = start + 1;
                continue;
            }
            let held = &mut self.held[usize::from(u.pool)][unit];
            let behind = held.iter().rposition(|h| h.0 < start);
            let place = behind.map_or(0, |last| last + 1);
            held.insert(place, (start, start + cycles));
            return start;
        }
    }

    /// Holds a unit of a pool that a lane counts: a pool of one unit, or units that are taken for one cycle. Takes all
    /// cycles but the first.
    fn hold_lane(&mut self, mut from: u64, u: Use, cycles: u64, limit: u64) -> u64 {
        let unit = u.really_full & !(FULL << (8 * ISSUE));
        loop {
            while from < limit && !self.is_far(from) && *self.at(from) & u.really_full != 0 {
                from += 1;
            }
            if from >= limit || self.is_far(from) {
                return from;
            }
            let held = from + 1..(from + cycles).min(self.passed + CYCLES as u64);
            let taken = held.clone().rev().find(|at| *self.at(*at) & unit != 0);
            let Some(taken) = taken else {
                for cycle in held {
                    *self.at(cycle) += one_of(unit);
                }
                return from;
            };
            from = taken + 1;
        }
    }

    /// A load goes back to its station, from which it has not left after all.
    #[cold]
    pub fn return_to_station(&mut self, cycle: u64) {
        self.returned_loads.push(cycle);
    }

    /// Takes a port of the data cache. False if all are taken in this cycle.
    #[inline(always)]
    pub fn take_port(&mut self, cycle: u64) -> bool {
        if seldom(self.is_far(cycle) | (cycle <= self.passed)) {
            return true;
        }
        let lanes = self.at(cycle);
        if *lanes & (lane(PORTS) * FULL) != 0 {
            return false;
        }
        *lanes += lane(PORTS);
        true
    }

    /// The last cycle up to which [`pass`](Self::pass) need not be called.
    #[inline(always)]
    pub fn recent(&self) -> u64 {
        self.recent
    }

    /// Nothing is taken in this cycle and before any more: how many instructions left their stations
    /// since the last call.
    #[inline(always)]
    pub fn pass(&mut self, cycle: u64) -> Option<Left> {
        (cycle > self.passed).then(|| self.pass_to(cycle))
    }

    #[inline(never)]
    fn pass_to(&mut self, cycle: u64) -> Left {
        let mut left = Left::default();
        let fresh = self.fresh;
        let first = self.passed + 1;
        for cycles in stretches(first, cycle + 1, MASK) {
            for lanes in &mut self.cycles[cycles] {
                let was = std::mem::replace(lanes, fresh);
                left.all += u32::from(was as u8 - fresh as u8);
            }
        }
        if !self.fp_leave.is_empty() {
            for cycles in stretches(first, cycle + 1, MASK) {
                for fp in &mut self.fp_leave[cycles] {
                    left.fp += u32::from(std::mem::take(fp));
                }
            }
        }
        self.passed = cycle;
        self.near = cycle + MASK / 2;
        self.recent = cycle + LONG_AGO;
        if !self.far.is_empty() {
            self.pass_far(&mut left);
        }
        if !self.returned_loads.is_empty() {
            let before = self.returned_loads.len();
            self.returned_loads.retain(|at| *at > cycle);
            left.all -= (before - self.returned_loads.len()) as u32;
        }
        left
    }

    #[cold]
    fn pass_far(&mut self, left: &mut Left) {
        let passed = self.passed;
        self.far.retain(|(cycle, one)| {
            let stays = *cycle > passed;
            if !stays {
                left.all += one.all;
                left.fp += one.fp;
            }
            stays
        });
    }
}

/// The places of the cycles from `from` to before `to` in a ring, as two stretches without a turn.
fn stretches(from: u64, to: u64, mask: u64) -> [Range<usize>; 2] {
    let (first, count) = ((from & mask) as usize, (to - from).min(mask + 1) as usize);
    let places = mask as usize + 1;
    let straight = count.min(places - first);
    [first..first + straight, 0..count - straight]
}

/// The first cycle from `from` on from which a unit is free for `cycles` cycles.
fn first_gap(held: &mut Held, passed: u64, from: u64, cycles: u64) -> u64 {
    if held.len() >= REMEMBERED {
        held.retain(|h| h.1 > passed);
    }
    let before = held.iter().rposition(|h| h.1 <= from);
    let mut start = from;
    for &(taken, free) in &held[before.map_or(0, |before| before + 1)..] {
        if start + cycles <= taken {
            break;
        }
        start = start.max(free);
    }
    start
}

/// Capacities of a cycle.
#[derive(Clone, Copy, Debug)]
pub struct Widths {
    /// Instructions that may issue.
    pub issue: usize,
    /// Ports of the data cache.
    pub ports: u32,
    /// There is a queue for floating point.
    pub fp_queue: bool,
}

impl Widths {
    fn largest(&self, pools: &[u32]) -> u32 {
        let most = pools.iter().copied().max().unwrap_or(0);
        most.max(self.issue as u32).max(self.ports)
    }
}

#[cfg(test)]
mod tests;
