//! Loads in time: which stores they wait for, from where they read, what they read too early.

use super::insts::StaticInst;
use super::path::Path;
use super::stores::{Nearest, Stores};
use super::{DecodeEditor, DrivenCore, NEVER, When};
use crate::memsys::{AccessResult, MemorySystem};
use crate::model::{
    Cause, EventSet, MemoryDependence, PipelineProbe, UNKNOWN, Wait, Walk, cause_of_load,
};
use hps_isa::inst::{Op, OpClass};
use hps_isa::likely::{often, seldom};

/// A load, timed.
#[derive(Clone, Copy)]
pub struct Loaded {
    pub when: When,
    pub level: Cause,
    /// Events of the load, if a probe wants to know.
    pub events: EventSet,
    /// Violation, if the load has read before a store that it should have waited for: when that is found, and the
    /// address of the store.
    pub violation: Option<(u64, u64)>,
}

impl Loaded {
    /// A load that a squash comes before.
    const NEVER: Loaded = Loaded {
        when: When {
            result: NEVER,
            issue: NEVER,
        },
        level: Cause::Execute,
        events: EventSet::NONE,
        violation: None,
    };
}

/// Answer of the cache to a load: when the data are there, the cause that its wait is charged to, and its misses.
pub(super) struct Served {
    pub ready: u64,
    pub level: Cause,
    pub events: EventSet,
}

impl Served {
    /// A hit in the first level.
    #[inline(always)]
    fn at_once(ready: u64) -> Served {
        Served {
            ready,
            level: Cause::LoadL1,
            events: EventSet::NONE,
        }
    }
}

/// State of a load between its tries.
struct Tries {
    /// Cycles that its address takes: none once it is computed, and the load has waited for a store.
    address_latency: u64,
    /// See [`Loaded::violation`].
    violation: Option<(u64, u64)>,
}

impl Tries {
    /// Before the first try.
    #[inline(always)]
    fn first(inst: &StaticInst) -> Tries {
        Tries {
            address_latency: inst.latency(),
            violation: None,
        }
    }
}

/// Where a load gets its value from.
enum Source {
    Cache,
    Forward(u64),
    /// From nowhere yet: a store gets on in this cycle.
    Wait(u64),
}

impl<E: DecodeEditor, P: PipelineProbe> DrivenCore<E, P> {
    /// The store that a load has to wait for, asked when it is dispatched.
    #[inline(always)]
    pub(super) fn dependence(&mut self, pc: u64, dispatch: u64) -> u64 {
        self.memdep.load(dispatch, pc)
    }

    /// Issues a load of these bytes, with all stores in the queue older than it; `ALIGNED`: by their number. Most wait
    /// for no store, read from the cache, and hit at once: `Ok`, as for one that a squash comes before.
    #[inline(always)]
    pub(super) fn load<K: Path, const ALIGNED: bool>(
        &mut self,
        inst: &StaticInst,
        ready: u64,
        (addr, size): (u64, u64),
        store: u64,
    ) -> Result<When, Loaded> {
        self.parked.clear();
        let mut ready = ready;
        if seldom(self.params.peculiar_loads) {
            if self.params.separate_addresses {
                ready = self.generate_address::<K>(ready);
            }
            if inst.op == Op::Touch {
                return Err(self.load_carefully::<K>(inst, ready, (addr, size), store));
            }
        }
        if K::IS_WRONG && ready >= self.limit {
            self.stays::<K>(OpClass::Load);
            return Ok(Loaded::NEVER.when);
        }
        if seldom(self.waits_for_stores(store)) {
            return Err(self.load_carefully::<K>(inst, ready, (addr, size), store));
        }
        let bytes = if ALIGNED { 1 } else { size };
        if seldom(self.stores.may_overlap(addr, bytes)) {
            return Err(self.load_beside_stores::<K>(inst, ready, (addr, size), store));
        }
        let (cycle, has_port) = self.calendar.take_with_port::<K>(ready, inst, self.limit);
        if K::IS_WRONG && cycle >= self.limit {
            self.stays::<K>(OpClass::Load);
            return Ok(Loaded::NEVER.when);
        }
        let bytes = if ALIGNED { 1 } else { size as u8 };
        let quickly = |m: &mut MemorySystem| m.hit_quickly(cycle, addr, bytes, false);
        if often(has_port)
            && let Some(ready) = quickly(&mut self.memory)
        {
            return Ok(When {
                result: ready + inst.latency() + inst.load_extra(),
                issue: cycle,
            });
        }
        Err(self.load_slowly::<K>(inst, (cycle, has_port), (addr, size), store))
    }

    /// Reads for a load that has issued, with a port if there was one, and that does not hit at once.
    #[inline(never)]
    fn load_slowly<K: Path>(
        &mut self,
        inst: &StaticInst,
        (cycle, has_port): (u64, bool),
        (addr, size): (u64, u64),
        store: u64,
    ) -> Loaded {
        match self.read_with(has_port, cycle, addr, size) {
            Ok(served) => self.served(inst, cycle, inst.latency(), served),
            Err(again) => {
                self.calendar.return_to_station(cycle);
                self.load_again::<K>(inst, again, (addr, size), store, Tries::first(inst))
            }
        }
    }

    /// Times a load that waits for no store but may read bytes that a store writes. Most such loads get their value from
    /// the youngest store near them.
    #[inline(never)]
    fn load_beside_stores<K: Path>(
        &mut self,
        inst: &StaticInst,
        ready: u64,
        (addr, size): (u64, u64),
        store: u64,
    ) -> Loaded {
        let limit = self.limit;
        let taken = self.calendar.take_load::<K>(ready, inst, limit, |_| None);
        let cycle = match taken {
            Ok(cycle) if !K::IS_WRONG || cycle < limit => cycle,
            _ => {
                self.stays::<K>(OpClass::Load);
                return Loaded::NEVER;
            }
        };
        match self.stores.nearest(cycle, addr, size) {
            Nearest::Gives(data) => return self.forwarded(inst, cycle, inst.latency(), data),
            Nearest::Gone => {
                let has_port = self.calendar.take_port(cycle);
                return self.load_slowly::<K>(inst, (cycle, has_port), (addr, size), store);
            }
            Nearest::Unclear => {}
        }
        let mut tries = Tries::first(inst);
        match self.try_load::<K>(inst, cycle, (addr, size), &mut tries) {
            Ok(loaded) => loaded,
            Err(again) => self.load_again::<K>(inst, again, (addr, size), store, tries),
        }
    }

    /// Whether the dependence policy could make the next load wait for a store: this one, or any.
    #[inline(always)]
    fn waits_for_stores(&self, store: u64) -> bool {
        let (oldest, tail) = (self.stores.oldest(), self.stores.tail);
        if seldom(store != UNKNOWN) && (oldest..tail).contains(&store) {
            return true;
        }
        seldom(self.waits_for_any) && oldest < tail
    }

    /// A load that the cache has served, and that issued in `cycle`. A prefetch does not wait for its line.
    #[inline(always)]
    fn served(
        &mut self,
        inst: &StaticInst,
        cycle: u64,
        address_latency: u64,
        served: Served,
    ) -> Loaded {
        let served = if seldom(inst.op == Op::Touch) {
            self.walk = Walk::NONE;
            Served::at_once(cycle)
        } else {
            served
        };
        Loaded {
            when: When {
                result: served.ready + address_latency + inst.load_extra(),
                issue: cycle,
            },
            level: served.level,
            events: served.events,
            violation: None,
        }
    }

    /// A load whose value a store gives it.
    #[inline(always)]
    fn forwarded(
        &mut self,
        inst: &StaticInst,
        cycle: u64,
        address_latency: u64,
        data: u64,
    ) -> Loaded {
        self.stats.store_forward_events += 1;
        let result = data.max(cycle + address_latency) + self.params.store_forward;
        Loaded {
            when: When {
                result: result + inst.load_extra(),
                issue: cycle,
            },
            level: Cause::LoadL1,
            events: EventSet::FORWARDED,
            violation: None,
        }
    }

    /// [`Self::load`] without fast paths.
    #[inline(never)]
    fn load_carefully<K: Path>(
        &mut self,
        inst: &StaticInst,
        ready: u64,
        bytes: (u64, u64),
        store: u64,
    ) -> Loaded {
        self.load_again::<K>(inst, ready, bytes, store, Tries::first(inst))
    }

    /// Times a load try by try, if it may have read before an older store.
    #[inline(always)]
    fn load_again<K: Path>(
        &mut self,
        inst: &StaticInst,
        mut ready: u64,
        bytes: (u64, u64),
        store: u64,
        mut tries: Tries,
    ) -> Loaded {
        let before = self.stores.tail;
        let never = |violation| Loaded {
            violation,
            ..Loaded::NEVER
        };
        loop {
            if K::IS_WRONG && ready >= self.limit {
                self.stays::<K>(OpClass::Load);
                return never(tries.violation);
            }
            let (calendar, memdep, stores) = (&mut self.calendar, &self.memdep, &self.stores);
            let waits = |cycle| store_to_wait_for(memdep, stores, cycle, store, before);
            let taken = calendar.take_load::<K>(ready, inst, self.limit, waits);
            let cycle = match taken {
                Ok(cycle) => cycle,
                Err((cycle, known)) => {
                    if !K::IS_WRONG || cycle < self.limit {
                        self.park::<K>(cycle, known);
                    }
                    ready = known + 1;
                    continue;
                }
            };
            if K::IS_WRONG && cycle >= self.limit {
                self.stays::<K>(OpClass::Load);
                return never(tries.violation);
            }
            match self.try_load::<K>(inst, cycle, bytes, &mut tries) {
                Ok(loaded) => return loaded,
                Err(again) => ready = again,
            }
        }
    }

    /// A load that issues in `cycle`. `Err`: it goes back to its station, and may issue again from that cycle
    /// on.
    #[inline(always)]
    fn try_load<K: Path>(
        &mut self,
        inst: &StaticInst,
        cycle: u64,
        (addr, size): (u64, u64),
        tries: &mut Tries,
    ) -> Result<Loaded, u64> {
        let source = if self.stores.may_overlap(addr, size) {
            self.source(cycle, (addr, size), &mut tries.violation)
        } else {
            Source::Cache
        };
        let address_latency = tries.address_latency;
        let loaded = match source {
            Source::Cache => match self.read(cycle, addr, size) {
                Ok(served) => self.served(inst, cycle, address_latency, served),
                Err(again) => {
                    self.calendar.return_to_station(cycle);
                    return Err(again);
                }
            },
            Source::Forward(data) => self.forwarded(inst, cycle, address_latency, data),
            Source::Wait(until) => {
                debug_assert!(until > cycle);
                tries.address_latency = 0;
                self.calendar.return_to_station(cycle);
                self.park::<K>(cycle, until);
                return Err(until + 1);
            }
        };
        Ok(Loaded {
            violation: tries.violation,
            ..loaded
        })
    }

    /// Reads the cache in this cycle: when the data are there and from where, or when to try again.
    #[inline(always)]
    pub(super) fn read(&mut self, cycle: u64, addr: u64, size: u64) -> Result<Served, u64> {
        let has_port = self.calendar.take_port(cycle);
        self.memory.pass(self.dispatched);
        if has_port && let Some(ready) = self.memory.hit_quickly(cycle, addr, size as u8, false) {
            return Ok(Served::at_once(ready));
        }
        self.read_with(has_port, cycle, addr, size)
    }

    /// Reads with a port that has been taken, if there was one.
    #[inline(always)]
    fn read_with(
        &mut self,
        has_port: bool,
        cycle: u64,
        addr: u64,
        size: u64,
    ) -> Result<Served, u64> {
        if !has_port {
            self.memory.count_busy_port();
            return Err(cycle + 1);
        }
        self.memory.pass(self.dispatched);
        match self.memory.access_on_port(cycle, addr, size as u8, false) {
            AccessResult::Retry { at_cycle } => Err(at_cycle.max(cycle + 1)),
            AccessResult::Done(access) => {
                if seldom(access.tlb_miss) {
                    self.walk = Walk::of(&access, cycle);
                }
                Ok(Served {
                    ready: access.ready_cycle,
                    level: cause_of_load(&access),
                    events: EventSet::of_load(&access),
                })
            }
        }
    }

    /// A load waits from one cycle until a store gets on in another.
    #[cold]
    fn park<K: Path>(&mut self, from: u64, until: u64) {
        self.stats.load_parked_events += 1;
        if !K::IS_WRONG {
            self.parked.push((from, until));
        }
    }

    /// Looks through the older stores for one that writes what this load reads.
    #[inline(never)]
    fn source(
        &mut self,
        cycle: u64,
        (addr, size): (u64, u64),
        violation: &mut Option<(u64, u64)>,
    ) -> Source {
        let before = self.stores.tail;
        let found = self.stores.youngest_overlapping(cycle, before, addr, size);
        let Some((store, drain)) = found else {
            return Source::Cache;
        };
        if store.known > cycle {
            // The overlap is not known yet: the load reads a stale value, and the store will
            // find out.
            let found = store.found + self.params.issue_to_execute;
            *violation = violation.or(Some((found, store.pc)));
            return Source::Cache;
        }
        if store.data_issue > cycle {
            return Source::Wait(store.data_issue);
        }
        if !store.covers(addr, size) {
            return Source::Wait(drain);
        }
        Source::Forward(store.data)
    }
}

/// When the store that the dependence policy makes a load wait for in this cycle has its address.
#[inline(always)]
fn store_to_wait_for(
    memdep: &MemoryDependence,
    stores: &Stores,
    cycle: u64,
    store: u64,
    before: u64,
) -> Option<u64> {
    match memdep.wait(store) {
        Wait::Nothing => None,
        Wait::Store(store) => stores.unknown(cycle, store, before),
        Wait::All => stores.youngest_unknown(cycle, before),
    }
}
