//! Memory dependence prediction.
//!
//! Store sets (Chrysos and Emer, ISCA 1998): a load that once read too early, and the store that
//! it should have waited for, are put in one set; from then on the load waits for the youngest
//! store of its set that is in flight.

use super::{Ring, UNKNOWN};
use crate::config::MemDep;
use hps_isa::likely::{often, seldom};
use hps_isa::state::{SaveState, Saved, StateError};

const INVALID: u32 = u32::MAX;

/// Which older stores a load waits for before it may read.
#[derive(Clone, Debug)]
pub enum MemoryDependence {
    /// All those whose addresses are not known.
    Conservative,
    /// None.
    Aggressive,
    /// Stores of its store set.
    StoreSets(StoreSets),
    /// All those whose addresses are not known, if it has once read too early.
    StoreWait(StoreWait),
}

/// Stores that a load waits for.
pub enum Wait {
    /// No store.
    Nothing,
    /// The address of one store, if that is in flight.
    Store(u64),
    /// The addresses of all older stores.
    All,
}

impl MemoryDependence {
    /// A load at `pc` is dispatched in cycle `now`: what [`wait`](Self::wait) is to be asked about it.
    #[inline(always)]
    pub fn load(&mut self, now: u64, pc: u64) -> u64 {
        if let MemoryDependence::StoreSets(sets) = self {
            sets.tick(now);
            return sets.load(pc).unwrap_or(UNKNOWN);
        }
        self.wait_of_load(now, pc)
    }

    /// Value for [`wait`](Self::wait) of a load at `pc` if there are no store sets: 0 if a store-wait table says that
    /// the load waits for all older stores, else `UNKNOWN`.
    #[inline(never)]
    fn wait_of_load(&mut self, now: u64, pc: u64) -> u64 {
        let MemoryDependence::StoreWait(table) = self else {
            return UNKNOWN;
        };
        table.tick(now);
        if table.load(pc) { 0 } else { UNKNOWN }
    }

    /// Wait of a load for which [`load`](Self::load) gave `store`.
    #[inline(always)]
    pub fn wait(&self, store: u64) -> Wait {
        match self {
            MemoryDependence::Aggressive => Wait::Nothing,
            MemoryDependence::StoreSets(_) => Wait::Store(store),
            MemoryDependence::StoreWait(_) if store == UNKNOWN => Wait::Nothing,
            MemoryDependence::StoreWait(_) | MemoryDependence::Conservative => Wait::All,
        }
    }

    /// A store at `pc` is dispatched at this position of the store queue.
    #[inline(always)]
    pub fn store(&mut self, pc: u64, position: u64) {
        if let MemoryDependence::StoreSets(sets) = self {
            sets.store(pc, position);
        }
    }

    /// A load has read before a store that it should have waited for.
    pub fn violation(&mut self, load_pc: u64, store_pc: u64) {
        match self {
            MemoryDependence::StoreSets(sets) => sets.violation(load_pc, store_pc),
            MemoryDependence::StoreWait(table) => table.violation(load_pc),
            MemoryDependence::Conservative | MemoryDependence::Aggressive => {}
        }
    }
}

impl SaveState for MemoryDependence {
    fn save_to(&self, to: &mut Vec<u8>) {
        match self {
            MemoryDependence::Conservative | MemoryDependence::Aggressive => {}
            MemoryDependence::StoreSets(sets) => sets.save_to(to),
            MemoryDependence::StoreWait(table) => table.save_to(to),
        }
    }

    fn restore_from(&mut self, from: &mut Saved<'_>) -> Result<(), StateError> {
        match self {
            MemoryDependence::Conservative | MemoryDependence::Aggressive => Ok(()),
            MemoryDependence::StoreSets(sets) => sets.restore_from(from),
            MemoryDependence::StoreWait(table) => table.restore_from(from),
        }
    }
}

impl MemoryDependence {
    /// Whether some load waits for the addresses of all older stores.
    pub fn waits_for_any(&self) -> bool {
        matches!(
            self,
            MemoryDependence::Conservative | MemoryDependence::StoreWait(_)
        )
    }

    /// The predictor that a configuration asks for.
    pub fn new(config: &MemDep) -> Self {
        match config {
            MemDep::Conservative => MemoryDependence::Conservative,
            MemDep::Aggressive => MemoryDependence::Aggressive,
            MemDep::StoreSets(c) => MemoryDependence::StoreSets(StoreSets {
                ssit: Ring::new(c.ssit_entries as usize, INVALID),
                is_empty: true,
                lfst: vec![0; c.lfst_entries.max(1) as usize],
                next_set: 0,
                clear_interval: c.clear_interval_cycles.max(1),
                next_clear: c.clear_interval_cycles.max(1),
            }),
            MemDep::StoreWait(c) => MemoryDependence::StoreWait(StoreWait {
                waits: vec![false; (c.entries as usize).next_power_of_two()].into(),
                clear_interval: c.clear_interval_cycles.max(1),
                next_clear: c.clear_interval_cycles.max(1),
            }),
        }
    }
}

impl MemoryDependence {
    /// Takes over what another predictor has learned in a run of `cycles` cycles that began with an empty pipeline and
    /// with the state that this predictor had then.
    pub fn learn(&mut self, other: &MemoryDependence, cycles: u64) {
        match (self, other) {
            (MemoryDependence::StoreSets(mine), MemoryDependence::StoreSets(theirs)) => {
                mine.learn(theirs, cycles);
            }
            (MemoryDependence::StoreWait(mine), MemoryDependence::StoreWait(theirs)) => {
                mine.learn(theirs, cycles);
            }
            _ => {}
        }
    }
}

/// The two tables of the store set predictor.
#[derive(Clone, Debug)]
pub struct StoreSets {
    /// Store set of an instruction, by a hash of its address.
    ssit: Ring<u32>,
    /// No instruction has one.
    is_empty: bool,
    /// Store queue position plus one of the last store of a set, zero: none.
    lfst: Vec<u64>,
    next_set: u32,
    clear_interval: u64,
    next_clear: u64,
}

hps_isa::save_state! {
    StoreSets {
        ssit, is_empty, lfst: each, next_set, clear_interval: skip, next_clear,
    }
}

impl StoreSets {
    /// The store set of the instruction at `pc`, at this index of the ring.
    #[inline(always)]
    fn index(pc: u64) -> usize {
        (pc >> 1) as usize
    }

    /// A load is dispatched: the store queue position of the store to wait for.
    #[inline(always)]
    pub fn load(&self, pc: u64) -> Option<u64> {
        if self.is_empty {
            return None;
        }
        let set = *self.ssit.at(Self::index(pc));
        if often(set == INVALID) {
            return None;
        }
        self.lfst[set as usize].checked_sub(1)
    }

    /// A store is dispatched at this position of the store queue.
    #[inline(always)]
    pub fn store(&mut self, pc: u64, position: u64) {
        if self.is_empty {
            return;
        }
        let set = *self.ssit.at(Self::index(pc));
        if seldom(set != INVALID) {
            self.lfst[set as usize] = position + 1;
        }
    }

    /// A load read before a store that it should have waited for.
    pub fn violation(&mut self, load_pc: u64, store_pc: u64) {
        let (l, s) = (Self::index(load_pc), Self::index(store_pc));
        let set = match (*self.ssit.at(l), *self.ssit.at(s)) {
            (INVALID, INVALID) => {
                let set = self.next_set;
                self.next_set = (self.next_set + 1) % self.lfst.len() as u32;
                set
            }
            (set, INVALID) | (INVALID, set) => set,
            // The paper's rule: the smaller of two sets wins, so that merging ends.
            (a, b) => a.min(b),
        };
        *self.ssit.at_mut(l) = set;
        *self.ssit.at_mut(s) = set;
        self.is_empty = false;
    }

    /// The clock of this one stands still meanwhile: it is nearer to forgetting everything.
    fn learn(&mut self, other: &StoreSets, cycles: u64) {
        for at in 0..self.ssit.places() {
            if *self.ssit.at(at) == INVALID {
                *self.ssit.at_mut(at) = *other.ssit.at(at);
            }
        }
        self.is_empty &= other.is_empty;
        self.next_set = other.next_set;
        self.next_clear = self.next_clear.saturating_sub(cycles);
        self.tick(0);
    }

    /// Forgets everything now and then, so that sets cannot only grow.
    #[inline(always)]
    pub fn tick(&mut self, now: u64) {
        if seldom(now >= self.next_clear) {
            self.ssit.fill(INVALID);
            self.is_empty = true;
            self.lfst.fill(0);
            self.next_clear = now + self.clear_interval;
        }
    }
}

/// The store-wait table of the Alpha 21264 (Kessler, "The Alpha 21264 Microprocessor", 1999): a bit
/// for each load, by its address.
#[derive(Clone, Debug)]
pub struct StoreWait {
    /// A byte for each bit: each load that is dispatched reads one.
    waits: Box<[bool]>,
    clear_interval: u64,
    next_clear: u64,
}

hps_isa::save_state! { StoreWait { waits, clear_interval: skip, next_clear } }

impl StoreWait {
    #[inline]
    fn index(&self, pc: u64) -> usize {
        // Alpha's instructions are words; compressed ones of RISC-V share the bit of their word.
        ((pc >> 2) as usize) & (self.waits.len() - 1)
    }

    /// Whether a load waits for the addresses of all older stores.
    #[inline]
    pub fn load(&self, pc: u64) -> bool {
        self.waits[self.index(pc)]
    }

    /// See [`StoreSets::learn`].
    fn learn(&mut self, other: &StoreWait, cycles: u64) {
        for (mine, theirs) in self.waits.iter_mut().zip(&other.waits) {
            *mine |= theirs;
        }
        self.next_clear = self.next_clear.saturating_sub(cycles);
        self.tick(0);
    }

    /// A load read before a store that it should have waited for.
    pub fn violation(&mut self, load_pc: u64) {
        let at = self.index(load_pc);
        self.waits[at] = true;
    }

    /// Forgets everything now and then: most conflicts do not come back.
    #[inline]
    pub fn tick(&mut self, now: u64) {
        if now >= self.next_clear {
            self.waits.fill(false);
            self.next_clear = now + self.clear_interval;
        }
    }
}
