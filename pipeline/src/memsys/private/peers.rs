//! Stores and atomics where other cores have caches, too, and what other cores want of the lines of this one.

use super::PrivateMemory;
use crate::memsys::coherence::Order;
use crate::memsys::{Access, AccessResult, Level, SharedMemory};

impl PrivateMemory {
    /// An atomic access where other cores have caches, too: like a store, to lines that this core alone has.
    pub(crate) fn store_together(
        &mut self,
        shared: &mut SharedMemory,
        now: u64,
        addr: u64,
        size: u8,
    ) -> AccessResult {
        let place = self.space.of(addr);
        self.store_alone(shared, now, (place, size), true)
    }

    /// A store where other cores have caches, too: into lines that this core alone has. `reads`: an atomic, which has to
    /// find what other cores have written.
    pub(super) fn store_alone(
        &mut self,
        shared: &mut SharedMemory,
        now: u64,
        (addr, size): (u64, u8),
        reads: bool,
    ) -> AccessResult {
        if !self.l1d.take_port(now) {
            return AccessResult::Retry { at_cycle: now + 1 };
        }
        let mut access = match self.store_in_line(shared, now, addr, reads) {
            AccessResult::Done(access) => access,
            retry => return retry,
        };
        if self.l1d.crosses(addr, size) {
            let next = self.l1d.next_line(addr);
            match self.store_in_line(shared, now + 1, next, reads) {
                AccessResult::Done(second) => access = access.and(second),
                retry => return retry,
            }
        }
        AccessResult::Done(access)
    }

    fn store_in_line(
        &mut self,
        shared: &mut SharedMemory,
        now: u64,
        addr: u64,
        reads: bool,
    ) -> AccessResult {
        let line = addr >> self.l1d.line_shift;
        if !reads {
            if let Some(at_cycle) = self.l1d.awaited_until(now, line) {
                return AccessResult::Retry { at_cycle };
            }
            if self.l1d.may_still_store(now, line) {
                return AccessResult::Done(Access {
                    ready_cycle: now,
                    level: Level::Core,
                    walk_cycles: 0,
                    tlb_miss: false,
                });
            }
        }
        let mut owned = 0;
        if self.l1d.tags.holds(line) {
            match self.l1d.own((&mut self.link, shared), now, 0, addr) {
                Ok(cycle) => owned = cycle,
                Err(at_cycle) => return AccessResult::Retry { at_cycle },
            }
        }
        match self.data_in_line(shared, now, addr, true) {
            AccessResult::Done(mut access) => {
                access.ready_cycle = access.ready_cycle.max(owned);
                if !reads
                    && access.level == Level::Core
                    && let Some(at_cycle) = self.l1d.await_line(now, line)
                {
                    // The store keeps its place in the store queue, and is performed when the line comes.
                    return AccessResult::Retry { at_cycle };
                }
                AccessResult::Done(access)
            }
            retry => retry,
        }
    }

    /// Whether a store that is not accepted waits for lines that come from other cores.
    pub(crate) fn store_waits_for_cores(&self, now: u64, addr: u64) -> bool {
        let line = self.space.of(addr) >> self.l1d.line_shift;
        let mshrs = &self.l1d.mshrs;
        self.l1d.awaited_until(now, line).is_some()
            || match mshrs.find(now, line) {
                Some(fill) => fill.level == Level::Core,
                None => mshrs.wait_for_cores(now),
            }
    }

    /// Does what other cores want of lines of this one, before it makes any further access.
    pub(crate) fn obey(&mut self, shared: &mut SharedMemory, now: u64) {
        let core = self.link.core;
        let Some(coherence) = &mut shared.coherence else {
            return;
        };
        if !coherence.has_orders(core) {
            return;
        }
        let orders = coherence.take_orders(core);
        for &(line, order) in &orders {
            for own in self.l1d.lines_in(line, shared.line_shift) {
                match order {
                    Order::Keep { until } => {
                        self.l1d.keep_until(now, own, until);
                        self.l1d.tags.clean(own);
                    }
                    Order::Drop { until } => {
                        self.l1d.keep_until(now, own, until);
                        self.l1d.pass_on(own);
                    }
                    Order::Leave => {
                        if self.l1d.remove(own) {
                            let addr = own << self.l1d.line_shift;
                            shared.write_orphan(now, addr, self.l1d.line_bytes);
                        }
                    }
                }
            }
            if order == Order::Leave {
                for own in self.l1i.lines_in(line, shared.line_shift) {
                    self.l1i.tags.remove(own);
                }
            }
        }
        if let Some(coherence) = &mut shared.coherence {
            coherence.give_back(core, orders);
        }
    }
}
