//! Dispatch into the window, and issue of what does not touch memory.

use super::super::uop::kind;
use super::{DrivenCore, NEVER, PipelineProbe, When};
use hps_sim_core::inst::{Inst, OpClass};

impl<P: PipelineProbe> DrivenCore<P> {
    /// The cycle in which an instruction is dispatched, not before the next squash if that comes first.
    /// Up to then what has issued has left its station, and the cache has taken its stores.
    #[inline(always)]
    pub(super) fn dispatch_cycle<const ASTRAY: bool>(
        &mut self,
        position: u64,
        full_until: &mut u64,
        decode: u64,
        kind: u8,
    ) -> u64 {
        let p = &self.params;
        let ripe = decode + p.decode_to_dispatch;
        let mut cycle = self.dispatch.next(ripe, p.dispatch_width as u32);
        let window = if ASTRAY && position >= self.first_astray.saturating_add(p.rob_entries) {
            self.limit
        } else {
            self.stamps[super::at(position, p.rob_entries)].commit
        };
        if window > cycle {
            self.stats.rename_rob_full_cycles += self.until_limit::<ASTRAY>(cycle, window);
            cycle = window;
        }
        self.pass::<ASTRAY>(cycle);
        if self.is_full(kind) {
            cycle = self.wait_for_station::<ASTRAY>(cycle, kind);
        }
        if kind & (kind::LOADS | kind::STORES | kind::SERIALIZES) != 0 {
            cycle = self.wait_for_queues::<ASTRAY>(cycle, kind, full_until);
            self.pass::<ASTRAY>(cycle);
        }
        if self.stores.next_drain <= cycle && !(ASTRAY && cycle >= self.limit) {
            self.drain_until(cycle);
        }
        cycle
    }

    /// How many of the cycles from `from` to `to` come before the next squash.
    #[inline(always)]
    fn until_limit<const ASTRAY: bool>(&self, from: u64, to: u64) -> u64 {
        let to = if ASTRAY { to.min(self.limit) } else { to };
        to.saturating_sub(from)
    }

    /// What issues up to this cycle has left its station.
    #[inline(always)]
    fn pass<const ASTRAY: bool>(&mut self, cycle: u64) {
        // A squash gives back what was taken from its cycle on.
        let cycle = if ASTRAY {
            cycle.min(self.limit - 1)
        } else {
            cycle
        };
        if let Some(left) = self.calendar.pass(cycle) {
            self.waiting -= left.all;
            self.fp_waiting -= left.fp;
        }
    }

    /// There is no station for an instruction of this kind.
    #[inline(always)]
    fn is_full(&self, kind: u8) -> bool {
        if kind & self.params.limited_kinds & kind::FLOAT != 0 {
            self.fp_waiting >= self.params.fp_queue
        } else {
            self.waiting - self.fp_waiting >= self.params.reservation_stations
        }
    }

    #[inline(never)]
    fn wait_for_station<const ASTRAY: bool>(&mut self, mut cycle: u64, kind: u8) -> u64 {
        let since = cycle;
        while self.is_full(kind) && !(ASTRAY && cycle >= self.limit) {
            cycle += 1;
            self.pass::<ASTRAY>(cycle);
        }
        let waited = self.until_limit::<ASTRAY>(since, cycle);
        if kind & self.params.limited_kinds & kind::FLOAT != 0 {
            self.stats.rename_fp_queue_full_cycles += waited;
        } else {
            self.stats.rename_reservation_stations_full_cycles += waited;
        }
        cycle
    }

    /// Waits for places in the load and store queues, or, if the instruction executes alone, for an
    /// empty window.
    #[inline(always)]
    fn wait_for_queues<const ASTRAY: bool>(
        &mut self,
        mut cycle: u64,
        kind: u8,
        full_until: &mut u64,
    ) -> u64 {
        if kind & kind::LOADS != 0 {
            let queue = u64::from(self.params.load_queue);
            let free = if ASTRAY && self.loads >= self.first_astray_load.saturating_add(queue) {
                self.limit
            } else {
                *self
                    .loads_committed
                    .at(self.loads.wrapping_sub(queue) as usize)
            };
            if free > cycle {
                self.stats.rename_load_queue_full_cycles += self.until_limit::<ASTRAY>(cycle, free);
                cycle = free;
            }
        }
        if kind & kind::STORES != 0 && self.stores.is_full() {
            let free = self.drain_one();
            *full_until = free;
            if free > cycle {
                self.stats.rename_store_queue_full_cycles +=
                    self.until_limit::<ASTRAY>(cycle, free);
                cycle = free;
            }
        }
        if kind & kind::SERIALIZES != 0 {
            let alone = if ASTRAY {
                self.limit
            } else {
                self.drain_all().max(self.commits.cycle)
            };
            if alone > cycle {
                self.stats.serialize_cycles += self.until_limit::<ASTRAY>(cycle, alone);
                cycle = alone;
            }
        }
        cycle
    }

    /// Takes a station.
    #[inline(always)]
    pub(super) fn enter(&mut self, kind: u8) {
        self.waiting += 1;
        if kind & self.params.limited_kinds & kind::FLOAT != 0 {
            self.fp_waiting += 1;
        }
    }

    /// When the sources of an instruction that was dispatched in this cycle allow it to issue.
    #[inline(always)]
    pub(super) fn ready(&self, inst: &Inst, dispatch: u64) -> u64 {
        let mut ready = dispatch + self.params.dispatch_to_issue;
        ready = ready.max(self.when(inst.rs1).result);
        ready = ready.max(self.when(inst.rs2).result);
        ready.max(self.when(inst.rs3).result)
    }

    #[inline(always)]
    pub(super) fn when(&self, register: u8) -> When {
        self.when[usize::from(register) % super::PLACES]
    }

    #[inline(always)]
    pub(super) fn set_when(&mut self, register: u8, when: When) {
        self.when[usize::from(register) % super::PLACES] = when;
    }

    /// Issues an instruction that does not touch memory: when, and when its result is there.
    #[inline(always)]
    pub(super) fn issue<const ASTRAY: bool>(
        &mut self,
        ready: u64,
        class: OpClass,
        latency: u64,
    ) -> When {
        if ASTRAY && ready >= self.limit {
            self.stays::<ASTRAY>(class);
            return When {
                result: NEVER,
                issue: NEVER,
            };
        }
        let issue = self.calendar.take::<ASTRAY>(ready, class, latency);
        if ASTRAY && issue >= self.limit {
            self.stays::<ASTRAY>(class);
        }
        When {
            result: issue + latency,
            issue,
        }
    }

    /// An instruction of a wrong path is still in its station when it is squashed.
    #[inline(always)]
    pub(super) fn stays<const ASTRAY: bool>(&mut self, class: OpClass) {
        if ASTRAY {
            let episode = &mut self.episodes[self.depth - 1];
            episode.stay += 1;
            if kind::of(class) & kind::FLOAT != 0 {
                episode.fp_stay += self.params.fp_queue_place;
            }
        }
    }
}
