//! Execution of loads, stores and atomics, and the cycles behind their dispatch.

use hps_isa::editor;
use hps_isa::exec::Outcome;
use hps_isa::inst::{OpClass, reg};
use hps_isa::likely::{often, seldom};
use hps_isa::trap::TrapCause;

use super::calendar::{Demand, Issues};
use super::commit::Seen;
use super::execute::{Ready, cause_of};
use super::insts::StaticInst;
use super::path::{Path, RightPath, WrongPath};
use super::stores::Store;
use super::work::Kind;
use super::{DecodeEditor, DrivenCore, NEVER, Passing, When};
use crate::model::{Cause, ContextId, EventSet, Origin, PipelineProbe, Stored};

impl<E: DecodeEditor, P: PipelineProbe> DrivenCore<E, P> {
    /// Why the program may not access what an editor has put into its memory.
    #[inline(always)]
    pub(super) fn refused(&self, i: Passing<'_>, addr: u64) -> Option<TrapCause> {
        if !E::ENABLED || self.edit.here.origin != Origin::Program {
            return None;
        }
        editor::refused(i.inst, addr)
    }

    /// Executes a load, and gives it its further cycles, and then its register the value.
    #[inline(never)]
    pub(super) fn execute_load<K: Path>(&mut self, i: Passing<'_>) -> bool {
        self.execute_load_here::<K>(i)
    }

    #[inline(always)]
    pub(super) fn execute_load_here<K: Path>(&mut self, i: Passing<'_>) -> bool {
        debug_assert_eq!((i.inst.rs2, i.inst.rs3), (reg::ZERO, reg::ZERO));
        let addr = i.inst.address(&self.process.thread.hart.r);
        let ready = (self.ready_by_first(i.inst), addr);
        if let Some(cause) = self.refused(i, addr) {
            return self.faults::<K>(i, ready, cause);
        }
        // A wrong path sees its own stores.
        if i.inst.kind() == Kind::Load
            && (!K::IS_WRONG || often(self.is_untouched(addr, i.inst.bytes())))
            && let Some(value) = i.inst.plain().load(&self.process.mem, addr)
        {
            return self.finish_load::<K, true>(i, ready, value);
        }
        self.execute_load_slowly::<K>(i, ready)
    }

    #[inline(never)]
    fn execute_load_slowly<K: Path>(&mut self, i: Passing<'_>, ready: Ready) -> bool {
        if K::IS_WRONG && self.process.mem.is_unreadable(ready.1) {
            // Wrong paths take pointers from anywhere.
            return self.wrong_path_load_faults(i.inst, ready.0);
        }
        let rd = usize::from(i.inst.rd);
        let old_value = self.process.thread.hart.r[rd];
        match self.evaluate::<K>(i.inst, i.inst.pc) {
            Outcome::Next => {
                let value = std::mem::replace(&mut self.process.thread.hart.r[rd], old_value);
                self.finish_load::<K, false>(i, ready, value)
            }
            outcome => self.faults::<K>(i, ready, cause_of(outcome)),
        }
    }

    /// Executes a store and gives it its cycles.
    #[inline(never)]
    pub(super) fn execute_store<K: Path>(&mut self, i: Passing<'_>) -> bool {
        self.execute_store_here::<K>(i)
    }

    #[inline(always)]
    pub(super) fn execute_store_here<K: Path>(&mut self, i: Passing<'_>) -> bool {
        // The store issues by its address alone, see `time_store`.
        let addr = i.inst.address(&self.process.thread.hart.r);
        if let Some(cause) = self.refused(i, addr) {
            return self.faults::<K>(i, (0, addr), cause);
        }
        if K::IS_WRONG && self.process.mem.is_unwritable(addr) {
            return self.wrong_path_store_faults(i, addr);
        }
        if !K::IS_WRONG && i.inst.kind() == Kind::Store {
            let (hart, mem) = self.process.hart_and_memory();
            let data = hart.r[usize::from(i.inst.rs2)];
            if often(i.inst.plain().store(mem, addr, data)) {
                self.finish_store::<K, true>(i, (addr, i.inst.bytes()));
                return true;
            }
        }
        self.execute_store_slowly::<K>(i, addr)
    }

    #[inline(never)]
    fn execute_store_slowly<K: Path>(&mut self, i: Passing<'_>, addr: u64) -> bool {
        match self.evaluate::<K>(i.inst, i.inst.pc) {
            Outcome::Next => {
                let size = std::mem::take(&mut self.stored);
                self.finish_store::<K, false>(i, (addr, size));
                true
            }
            outcome => self.faults::<K>(i, (0, addr), cause_of(outcome)),
        }
    }

    #[inline(always)]
    fn finish_load<K: Path, const ALIGNED: bool>(
        &mut self,
        i: Passing<'_>,
        (ready, addr): Ready,
        value: u64,
    ) -> bool {
        let inst = i.inst;
        let store = self.dependence(i.inst.pc, self.dispatched);
        self.loads += 1;
        let size = u64::from(inst.bytes());
        let mut events = EventSet::NONE;
        let (when, level) = match self.load::<K, ALIGNED>(inst, ready, (addr, size), store) {
            Ok(when) => (when, Cause::LoadL1),
            Err(loaded) => {
                if let Some((found, store_pc)) = loaded.violation
                    && (!K::IS_WRONG || found < self.limit)
                {
                    self.runs_again(i, found, store_pc);
                    self.process.thread.hart.r[usize::from(inst.rd)] = value;
                    self.set_when(inst.rd, loaded.when);
                    return false;
                }
                if P::WANTS_CYCLES {
                    let waited = EventSet::STORE_WAIT.when(!self.parked.is_empty());
                    events = loaded.events.with(waited);
                }
                (loaded.when, loaded.level)
            }
        };
        self.process.thread.hart.r[usize::from(inst.rd)] = value;
        self.set_when(inst.rd, when);
        if !K::IS_WRONG {
            let done = self.done(when, level);
            let seen = Seen {
                addr,
                events,
                ..Seen::straight(i.inst)
            };
            let commit = self.commit(i.inst, done, seen);
            self.stats.load_committed_events += 1;
            *self.loads_committed.at_mut(self.loads as usize - 1) = commit;
        }
        true
    }

    #[inline(always)]
    fn finish_store<K: Path, const ALIGNED: bool>(
        &mut self,
        i: Passing<'_>,
        (addr, size): (u64, u8),
    ) {
        debug_assert!(size > 0);
        self.follows_store(i.inst.pc);
        let (when, store) = self.time_store::<K>(i, (addr, size), i.inst);
        self.set_when(i.inst.rd, when);
        if K::IS_WRONG {
            self.stores.push::<false>(store);
            return;
        }
        let mut done = self.done(when, Cause::Execute);
        done.result = done.result.max(store.data);
        let seen = Seen {
            addr,
            ..Seen::straight(i.inst)
        };
        let commit = self.commit(i.inst, done, seen);
        if P::WANTS_STORES && self.probe.wants_stores() {
            self.show_store(&store, commit);
        }
        self.stats.store_committed_events += 1;
        self.commit_store::<ALIGNED>(store, commit);
    }

    /// Tells the probe of a store that has committed, if it has stored anything.
    #[cold]
    #[inline(never)]
    fn show_store(&mut self, store: &Store, cycle: u64) {
        let (memory, addr) = (&self.process.mem, store.addr);
        let value = match store.size {
            1 => memory.read::<1>(addr),
            2 => memory.read::<2>(addr),
            4 => memory.read::<4>(addr),
            8 => memory.read::<8>(addr),
            _ => return,
        };
        // A page that can be written to need not be readable.
        let Ok(value) = value else { return };
        let stored = Stored {
            context: ContextId::FIRST,
            program: self.process.program(),
            cycle,
            addr,
            size: store.size,
            value,
        };
        self.probe.stored(&stored, memory);
    }

    /// A store that faults.
    pub(super) fn finish_faulting_store<K: Path>(&mut self, i: Passing<'_>, addr: u64) -> When {
        let what = self.faulting(i.inst);
        let (when, store) = self.time_store::<K>(i, (addr, 0), &what);
        self.set_when(i.inst.rd, when);
        self.stores.push::<false>(store);
        when
    }

    /// A store waits for its address; its data come when they come. It issues as itself, or as what faults.
    #[inline(always)]
    fn time_store<K: Path>(
        &mut self,
        i: Passing<'_>,
        (addr, size): (u64, u8),
        what: &impl Issues,
    ) -> (When, Store) {
        let inst = i.inst;
        let mut ready = self.ready_by_first(inst);
        if seldom(self.params.separate_addresses) && what.class() == OpClass::Store {
            ready = self.generate_address::<K>(ready);
        }
        let when = self.issue::<K>(ready, what);
        let data = self.results[usize::from(inst.rs2)].max(self.dispatched + 1);
        let store = Store {
            addr,
            size,
            pc: i.inst.pc,
            known: when.issue,
            found: when.result,
            data_issue: self.issues[usize::from(inst.rs2)],
            data,
            drain: NEVER,
        };
        (when, store)
    }

    /// Loads that depend on this store find it from now on.
    #[inline(always)]
    pub(super) fn follows_store(&mut self, pc: u64) {
        self.memdep.store(pc, self.stores.tail);
    }

    /// An atomic is not speculated: it issues as the oldest instruction, all older stores in the cache.
    #[inline(never)]
    pub(super) fn finish_atomic<K: Path>(&mut self, i: Passing<'_>, (ready, addr): Ready) -> bool {
        let inst = i.inst;
        self.dependence(i.inst.pc, self.dispatched);
        self.follows_store(i.inst.pc);
        self.loads += 1;
        let mut store = Store {
            addr,
            size: std::mem::take(&mut self.stored),
            pc: i.inst.pc,
            known: NEVER,
            found: NEVER,
            data_issue: NEVER,
            data: NEVER,
            drain: NEVER,
        };
        if K::IS_WRONG {
            let never = When {
                result: NEVER,
                issue: NEVER,
            };
            self.stays::<K>(inst.class);
            self.set_when(inst.rd, never);
            self.stores.push::<false>(store);
            return true;
        }
        let mut ready = ready.max(self.last_commit()).max(self.drain_all());
        let size = u64::from(inst.bytes());
        let address = inst.latency();
        let of_a_cycle = Demand {
            full: inst.full(),
            class: inst.class,
            latency_cycles: 1,
        };
        let (cycle, served) = loop {
            let cycle = self.calendar.take::<RightPath>(ready, &of_a_cycle, NEVER);
            match self.read(cycle, addr, size) {
                Ok(served) => break (cycle, served),
                Err(again) => {
                    self.calendar.return_to_station(cycle);
                    ready = again;
                }
            }
        };
        let result = served.ready + address + inst.load_extra();
        let when = When {
            result,
            issue: cycle,
        };
        self.set_when(inst.rd, when);
        store.known = cycle;
        store.found = result;
        store.data_issue = cycle;
        store.data = result;
        let done = self.done(when, served.level);
        let seen = Seen {
            addr,
            events: served.events,
            ..Seen::straight(i.inst)
        };
        let commit = self.commit(i.inst, done, seen);
        if P::WANTS_STORES && self.probe.wants_stores() {
            self.show_store(&store, commit);
        }
        self.stats.atomic_committed_events += 1;
        *self.loads_committed.at_mut(self.loads as usize - 1) = commit;
        self.commit_store::<false>(store, commit);
        true
    }

    /// A wrong-path load that faults: it issues as a faulting instruction, and the cause is not looked up.
    #[inline(never)]
    fn wrong_path_load_faults(&mut self, inst: &StaticInst, ready: u64) -> bool {
        self.dependence(inst.pc, self.dispatched);
        self.loads += 1;
        let when = self.issue::<WrongPath>(ready, &self.faulting(inst));
        self.set_when(inst.rd, when);
        true
    }

    /// A wrong-path store that faults: it issues as a faulting instruction, and the cause is not looked up.
    #[inline(never)]
    fn wrong_path_store_faults(&mut self, i: Passing<'_>, addr: u64) -> bool {
        self.follows_store(i.inst.pc);
        self.finish_faulting_store::<WrongPath>(i, addr);
        true
    }
}
