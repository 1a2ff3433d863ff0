//! Loads and stores in time: forwarding, memory dependences, violations, draining.
//!
//! Values are right from dispatch on; what is decided here is when a load may read, from where,
//! and whether it read before a store that it should have waited for.

use hps_isa::editor::DecodeEditor;
use hps_isa::inst::{Op, OpClass, reg};
use hps_isa::layout;
use hps_isa::likely::seldom;

use super::events::EventKind;
use super::rob::Slot;
use super::uop::flag;
use super::{Context, Resources};
use crate::memsys::{Access, AccessResult, Accessor, Level, SharedMemory, TouchKind};
use crate::model::{Cause, EventSet, PipelineProbe, UNKNOWN, Wait, Walk, cause_of_load};

/// Where a load gets its value from.
enum Source {
    Cache,
    /// A store whose data may be forwarded from this cycle on.
    Forward(u64),
    /// A store that has to get on first.
    Wait(u64),
}

impl<E: DecodeEditor, P: PipelineProbe> Context<E, P> {
    /// Whether a ready memory instruction may issue now. If not, it is parked where it will be
    /// found again.
    #[inline]
    pub(super) fn may_access_memory(&mut self, core: &mut Resources, slot: Slot) -> bool {
        let u = self.rob.at(slot);
        match u.class {
            OpClass::Atomic => {
                // Atomics are not speculated: alone at the head, with all older stores in the cache.
                let oldest = self.rob.slot_of(self.rob.head) == slot;
                if oldest && self.stores.head == u.store_pos {
                    return true;
                }
                self.rob.at_mut(slot).flags |= flag::WAITS_FOR_HEAD;
                self.scheduler.remove_ready(slot);
                false
            }
            OpClass::Load => match self.store_to_wait_for(slot) {
                None => true,
                Some(position) => {
                    self.park(core, slot, position);
                    false
                }
            },
            _ => true,
        }
    }

    /// The store that the dependence policy makes this load wait for.
    fn store_to_wait_for(&self, slot: Slot) -> Option<u64> {
        if self.stores.unknown_addresses == 0 {
            return None;
        }
        let u = self.rob.at(slot);
        let is_unknown = |at: u64| !self.stores.get(at).addr_known;
        match self.memdep.wait(u.store_wait) {
            Wait::Nothing => None,
            Wait::Store(at) => {
                let older = self.stores.head..u.store_pos;
                (older.contains(&at) && is_unknown(at)).then_some(at)
            }
            Wait::All => (self.stores.head..u.store_pos)
                .rev()
                .find(|at| is_unknown(*at)),
        }
    }

    fn park(&mut self, core: &mut Resources, slot: Slot, position: u64) {
        core.stats.load_parked_events += 1;
        if P::WANTS_CYCLES {
            self.note_load(slot, EventSet::STORE_WAIT);
        }
        let e = self.stores.get_mut(position);
        let u = self.rob.at_mut(slot);
        self.scheduler.remove_ready(slot);
        u.flags |= flag::PARKED;
        u.next_parked = e.parked;
        u.store_wait = position;
        e.parked = slot;
    }

    /// The store at `position` got on: loads parked there look again in the next cycle.
    fn wake_parked(&mut self, core: &mut Resources, position: u64) {
        let mut slot = std::mem::replace(&mut self.stores.get_mut(position).parked, Slot::NONE);
        while slot != Slot::NONE {
            let u = self.rob.at_mut(slot);
            u.flags &= !flag::PARKED;
            let next = std::mem::replace(&mut u.next_parked, Slot::NONE);
            self.ready_in(core, slot, core.now + 1);
            slot = next;
        }
    }

    /// A load that is squashed leaves the list in which it is parked.
    pub(super) fn unpark(&mut self, slot: Slot) {
        let position = self.rob.at(slot).store_wait;
        let after = self.rob.at(slot).next_parked;
        let e = self.stores.get_mut(position);
        if e.parked == slot {
            e.parked = after;
            return;
        }
        let mut at = e.parked;
        while at != Slot::NONE {
            let next = self.rob.at(at).next_parked;
            if next == slot {
                self.rob.at_mut(at).next_parked = after;
                return;
            }
            at = next;
        }
    }

    /// A load, or an atomic, goes to the store queue and the cache.
    #[inline]
    pub(super) fn issue_load(
        &mut self,
        core: &mut Resources,
        shared: &mut SharedMemory,
        slot: Slot,
        address_latency: u64,
    ) {
        let u = self.rob.at(slot);
        let (addr, store_pos) = (u.addr, u.store_pos);
        let address_latency = match seldom(u.flags & flag::HAS_ADDRESS != 0) {
            true => 0,
            false => address_latency,
        };
        let size = u64::from(u.front.inst.op.access_bytes());
        let is_atomic = u.class == OpClass::Atomic;
        let source = if is_atomic {
            Source::Cache
        } else {
            self.find_source(slot, store_pos, addr, size)
        };
        let result = match source {
            Source::Wait(position) => {
                self.rob.at_mut(slot).flags |= flag::HAS_ADDRESS;
                self.park(core, slot, position);
                return;
            }
            Source::Forward(data_cycle) => {
                core.stats.store_forward_events += 1;
                if P::WANTS_CYCLES {
                    self.note_load(slot, EventSet::FORWARDED);
                }
                self.rob.at_mut(slot).level = Cause::LoadL1;
                data_cycle.max(core.now + address_latency) + core.params.store_forward
            }
            Source::Cache => match self.access_cache(core, shared, slot, addr, size as u8) {
                AccessResult::Retry { at_cycle } => {
                    self.ready_in(core, slot, at_cycle.max(core.now + 1));
                    return;
                }
                AccessResult::Done(access) => {
                    if P::WANTS_CYCLES {
                        self.note_load(slot, EventSet::of_load(&access));
                    }
                    self.rob.at_mut(slot).level = cause_of_load(&access);
                    if seldom(access.tlb_miss) {
                        *self.walks.at_mut(slot.index()) = Walk::of(&access, core.now);
                    }
                    access.ready_cycle + address_latency
                }
            },
        };
        let result = result + self.fp_load_extra(core, slot);
        if is_atomic {
            self.address_known(store_pos);
            let e = self.stores.get_mut(store_pos);
            e.data_cycle = result;
            if e.violator != UNKNOWN {
                let found = result + core.params.issue_to_execute;
                let position = self.rob.position_of(slot);
                self.events.push(EventKind::Violation, position, found);
            }
            self.wake_parked(core, store_pos);
        }
        self.complete(core, slot, result);
    }

    /// Reads the cache. Where other cores have caches, too, an atomic gets its line for writing. A prefetch does not wait.
    #[inline(always)]
    fn access_cache(
        &mut self,
        core: &mut Resources,
        shared: &mut SharedMemory,
        slot: Slot,
        addr: u64,
        size: u8,
    ) -> AccessResult {
        if seldom(core.params.peculiar_accesses) {
            if core.params.tells_instructions {
                core.memory.tell_instruction(self.rob.at(slot).front.pc);
            }
            if seldom(shared.records_contention()) {
                self.announce_load(core, shared, slot, (addr, size));
            }
            if self.rob.at(slot).front.inst.op == Op::Touch {
                return core
                    .memory
                    .load(shared, core.now, addr, size)
                    .without_wait(core.now);
            }
            if self.rob.at(slot).class == OpClass::Atomic && core.memory.has_peers() {
                return core.memory.store_together(shared, core.now, addr, size);
            }
            if core.params.quiet_read > 0
                && self.process.thread.is_observer()
                && layout::is_signal(addr)
            {
                return AccessResult::Done(Access {
                    ready_cycle: core.now + core.params.quiet_read,
                    level: Level::Core,
                    walk_cycles: 0,
                    tlb_miss: false,
                });
            }
        }
        core.memory.load(shared, core.now, addr, size)
    }

    /// A load, an atomic or a prefetch accesses the cache next.
    #[cold]
    fn announce_load(
        &self,
        core: &Resources,
        shared: &mut SharedMemory,
        slot: Slot,
        (addr, size): (u64, u8),
    ) {
        let u = self.rob.at(slot);
        let kind = match u.class {
            OpClass::Atomic => TouchKind::Atomic,
            _ if u.front.inst.op == Op::Touch => TouchKind::Prefetch,
            _ => TouchKind::Load,
        };
        let by = Accessor {
            program: self.process.program(),
            pc: u.front.pc,
            addr,
            size,
            kind,
        };
        core.memory.announce(shared, by);
    }

    /// Something happens to a load of the window.
    fn note_load(&mut self, slot: Slot, events: EventSet) {
        let noted = self.load_events.at_mut(slot.index());
        *noted = noted.with(events);
    }

    /// How much longer a load takes since it goes to a floating-point register.
    #[inline(always)]
    fn fp_load_extra(&self, core: &Resources, slot: Slot) -> u64 {
        let extra = core.params.fp_load_extra;
        if extra == 0 {
            return 0;
        }
        let to_fp = (reg::FP..reg::DISE).contains(&self.rob.at(slot).front.inst.rd);
        if to_fp { extra } else { 0 }
    }

    /// Looks through the older stores for one that writes what this load reads.
    fn find_source(&mut self, slot: Slot, store_pos: u64, addr: u64, size: u64) -> Source {
        if !self.stores.may_overlap(addr, size) {
            return Source::Cache;
        }
        let Some(position) = self.stores.youngest_overlapping(store_pos, addr, size) else {
            return Source::Cache;
        };
        let load_position = self.rob.position_of(slot);
        let e = self.stores.get_mut(position);
        if !e.addr_known {
            // The machine does not know yet that they overlap: the load reads a stale value, and
            // the store will find out.
            e.violator = e.violator.min(load_position);
            return Source::Cache;
        }
        if !e.covers(addr, size) || e.data_cycle == UNKNOWN {
            // Bytes from several places (or data not there yet): wait for the store to get on.
            return Source::Wait(position);
        }
        Source::Forward(e.data_cycle)
    }

    /// The address of a store is computed.
    #[inline]
    pub(super) fn issue_store(&mut self, core: &mut Resources, slot: Slot, latency: u64) {
        let now = core.now;
        let position = self.rob.at(slot).store_pos;
        self.leave_reservation_station(core, slot);
        self.address_known(position);
        let data_cycle = self.stores.get(position).data_cycle;
        let violated = self.stores.get(position).violator != UNKNOWN;
        let execute = core.params.issue_to_execute;
        let u = self.rob.at_mut(slot);
        u.ready_cycle = now + latency;
        if data_cycle != UNKNOWN {
            u.complete_cycle = data_cycle.max(now + latency) + execute;
        }
        if violated {
            let store = self.rob.position_of(slot);
            let found = now + latency + execute;
            self.events.push(EventKind::Violation, store, found);
        }
        self.wake_parked(core, position);
    }

    pub(super) fn address_known(&mut self, position: u64) {
        let e = self.stores.get_mut(position);
        if !e.addr_known {
            e.addr_known = true;
            self.stores.unknown_addresses -= 1;
        }
    }

    /// The producer of a store's data has issued.
    pub(super) fn store_data_arrives(&mut self, core: &mut Resources, slot: Slot, cycle: u64) {
        let position = self.rob.at(slot).store_pos;
        self.stores.get_mut(position).data_cycle = cycle;
        let execute = core.params.issue_to_execute;
        let u = self.rob.at_mut(slot);
        if u.has(flag::ISSUED) && !u.has(flag::TRAP) {
            u.complete_cycle = cycle.max(u.ready_cycle) + execute;
        }
        self.wake_parked(core, position);
    }

    /// A store has found that a younger load overlapping it has read already: everything from
    /// that load on runs again.
    pub(super) fn violation(&mut self, core: &mut Resources, slot: Slot) {
        let position = self.rob.at(slot).store_pos;
        let violator = std::mem::replace(&mut self.stores.get_mut(position).violator, UNKNOWN);
        if violator == UNKNOWN {
            return;
        }
        core.stats.memory_violation_events += 1;
        let load = self.rob.slot_of(violator);
        let load_pc = self.rob.at(load).front.pc;
        let store_pc = self.rob.at(slot).front.pc;
        self.memdep.violation(load_pc, store_pc);
        self.restart_from(core, violator, Cause::Replay);
    }

    /// The oldest committed store goes to the cache.
    #[inline(always)]
    pub(super) fn drain_store(&mut self, core: &mut Resources, shared: &mut SharedMemory) {
        if self.stores.head != self.stores.commit && core.now >= self.drain_retry {
            self.drain_oldest_store(core, shared);
        }
    }

    #[inline]
    fn drain_oldest_store(&mut self, core: &mut Resources, shared: &mut SharedMemory) {
        let e = *self.stores.get(self.stores.head);
        if e.size != 0 && !e.is_performed {
            if seldom(core.params.tells_instructions) {
                let (pc, _) = self.stores.instruction(self.stores.head);
                core.memory.tell_instruction(pc);
            }
            if seldom(shared.records_contention()) {
                let (pc, program) = self.stores.instruction(self.stores.head);
                let by = Accessor {
                    program,
                    pc,
                    addr: e.addr,
                    size: e.size,
                    kind: TouchKind::Store,
                };
                core.memory.announce(shared, by);
            }
            match core.memory.store(shared, core.now, e.addr, e.size) {
                AccessResult::Done(_) => {}
                AccessResult::Retry { at_cycle } => {
                    self.drain_retry = at_cycle;
                    return;
                }
            }
        }
        core.progressed = true;
        self.wake_parked(core, self.stores.head);
        self.stores.pop_oldest();
    }

    /// An atomic at the head of the ROB that has waited for being there.
    #[inline(always)]
    pub(super) fn wake_head(&mut self) {
        let Some(head) = self.rob.head() else { return };
        if head.has(flag::WAITS_FOR_HEAD) && self.stores.head == head.store_pos {
            let slot = self.rob.slot_of(self.rob.head);
            self.rob.at_mut(slot).flags &= !flag::WAITS_FOR_HEAD;
            self.scheduler.insert_ready(slot);
        }
    }
}
