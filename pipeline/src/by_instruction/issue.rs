//! Dispatch into the window, and issue of what does not touch memory.

use super::calendar::Issues;
use super::insts::StaticInst;
use super::path::{Path, WrongPath};
use super::{DecodeEditor, DrivenCore, Full, NEVER, When};
use crate::model::{DEADLOCK_CYCLES, PipelineProbe, kind};
use hps_isa::inst::{Inst, OpClass, reg};
use hps_isa::likely::{often, seldom};

impl<E: DecodeEditor, P: PipelineProbe> DrivenCore<E, P> {
    /// How many of the cycles from `from` to `to` come before the next squash.
    #[inline(always)]
    pub(super) fn until_limit<K: Path>(&self, from: u64, to: u64) -> u64 {
        let to = if K::IS_WRONG { to.min(self.limit) } else { to };
        to.saturating_sub(from)
    }

    /// Frees the stations of instructions that issue up to this cycle.
    #[inline(always)]
    pub(super) fn pass<K: Path>(&mut self, cycle: u64) {
        // A squash gives back what was taken from its cycle on.
        let cycle = if K::IS_WRONG {
            cycle.min(self.limit - 1)
        } else {
            cycle
        };
        if let Some(left) = self.calendar.pass(cycle) {
            self.waiting -= left.all - left.fp;
            self.fp_waiting -= left.fp;
        }
    }

    /// There is no station for an instruction of a limited kind, or of any other.
    #[inline(always)]
    fn is_full(&self, limited: u8) -> bool {
        if limited & kind::FLOAT != 0 {
            self.fp_waiting >= self.params.fp_queue
        } else {
            self.waiting >= self.params.reservation_stations
        }
    }

    /// Whether `count` instructions find stations, those of the floating-point queue excepted.
    #[inline(always)]
    pub(super) fn has_stations(&self, count: u32) -> bool {
        self.waiting + count <= self.params.reservation_stations
    }

    /// Whether an instruction of this kind finds room in its queues in this cycle at once.
    #[inline(always)]
    pub(super) fn is_open<K: Path>(&self, kind: u8, cycle: u64) -> bool {
        if kind & kind::LIMITED == 0 {
            return true;
        }
        let mut is_open = true;
        if kind & kind::LOADS != 0 {
            let queue = u64::from(self.params.load_queue);
            let place = self.loads.wrapping_sub(queue) as usize;
            is_open = *self.loads_committed.at(place) <= cycle
                && !(K::IS_WRONG && self.loads >= self.loads_end);
        }
        if kind & kind::STORES != 0 {
            is_open &= !self.stores.is_full();
        }
        if kind & (kind::LOADS | kind::STORES) != 0 {
            is_open &= self.has_memory_places(1);
        }
        is_open && (kind & kind::FLOAT == 0 || self.fp_waiting < self.params.fp_queue)
    }

    /// Whether `count` instructions of these kinds all find room in their queues in this cycle.
    #[inline(always)]
    pub(super) fn is_open_to<K: Path>(&self, kinds: u8, count: u32, cycle: u64) -> bool {
        let places = u64::from(count);
        let mut is_open = true;
        if kinds & kind::LOADS != 0 {
            // Loads commit in order: if there is a place for the last, there is one for each.
            let last = self.loads + places - 1;
            let queue = u64::from(self.params.load_queue);
            let place = last.wrapping_sub(queue) as usize;
            is_open = *self.loads_committed.at(place) <= cycle
                && !(K::IS_WRONG && last >= self.loads_end);
        }
        if kinds & kind::STORES != 0 {
            is_open &= self.stores.has_places(places);
        }
        if kinds & (kind::LOADS | kind::STORES) != 0 {
            is_open &= self.has_memory_places(places);
        }
        is_open && (kinds & kind::FLOAT == 0 || self.fp_waiting + count <= self.params.fp_queue)
    }

    /// Whether so many loads and stores surely find places where one queue holds both.
    #[inline(always)]
    fn has_memory_places(&self, places: u64) -> bool {
        often(self.params.memory_queue == u32::MAX)
            || self.memory_queue_used() + places <= u64::from(self.params.memory_queue)
    }

    /// Loads that have not committed, as far as is known, and stores.
    fn memory_queue_used(&self) -> u64 {
        let most = self.loads.saturating_sub(u64::from(self.params.load_queue));
        let loads = self.loads - self.memory_left.max(most);
        loads + self.stores.len()
    }

    /// Waits for a place in the queue that loads and stores share.
    #[cold]
    #[inline(never)]
    fn wait_for_memory_queue<K: Path>(
        &mut self,
        mut cycle: u64,
        limited: u8,
        position: u64,
    ) -> u64 {
        let since = cycle;
        let queue = u64::from(self.params.load_queue);
        // Loads of a wrong path never commit.
        let known = if K::IS_WRONG {
            self.loads_end - queue
        } else {
            self.loads
        };
        self.memory_left = self
            .memory_left
            .max(self.loads.saturating_sub(queue))
            .min(known);
        loop {
            let load = if self.memory_left < known {
                *self.loads_committed.at(self.memory_left as usize)
            } else {
                NEVER
            };
            if load <= cycle {
                self.memory_left += 1;
                continue;
            }
            let store = self.stores.next_drain;
            if store <= cycle {
                self.drain_next();
                continue;
            }
            let is_over = K::IS_WRONG && cycle >= self.limit;
            if is_over || self.memory_queue_used() < u64::from(self.params.memory_queue) {
                break;
            }
            cycle = load.min(store);
            if K::IS_WRONG {
                cycle = cycle.min(self.limit);
            }
        }
        if cycle > since {
            self.full = Full {
                position,
                until: cycle,
            };
            let waited = self.until_limit::<K>(since, cycle);
            if limited & kind::STORES != 0 {
                self.stats.rename_store_queue_full_cycles += waited;
            } else {
                self.stats.rename_load_queue_full_cycles += waited;
            }
        }
        cycle
    }

    /// When an access whose address is computed by an operation of its own may issue, that operation being ready in this
    /// cycle. It stays in its station.
    #[cold]
    #[inline(never)]
    pub(super) fn generate_address<K: Path>(&mut self, ready: u64) -> u64 {
        if K::IS_WRONG && ready >= self.limit {
            return ready;
        }
        let what = self.address_operation;
        let cycle = self.calendar.take::<K>(ready, &what, self.limit);
        if K::IS_WRONG && cycle >= self.limit {
            return cycle;
        }
        self.calendar.return_to_station(cycle);
        cycle + what.latency_cycles
    }

    /// Waits for a station, for places in the load and store queues, or, if the instruction executes
    /// alone, for an empty window.
    #[inline(always)]
    pub(super) fn wait_for_room<K: Path>(
        &mut self,
        mut cycle: u64,
        limited: u8,
        position: u64,
    ) -> u64 {
        if self.is_full(limited) {
            self.pass::<K>(cycle);
            if self.is_full(limited) {
                cycle = self.wait_for_station::<K>(cycle, limited);
            }
        }
        if limited & kind::LOADS != 0 {
            let queue = u64::from(self.params.load_queue);
            let free = if K::IS_WRONG && self.loads >= self.loads_end {
                self.limit
            } else {
                *self
                    .loads_committed
                    .at(self.loads.wrapping_sub(queue) as usize)
            };
            if free > cycle {
                self.stats.rename_load_queue_full_cycles += self.until_limit::<K>(cycle, free);
                cycle = free;
            }
        }
        if (limited & kind::STORES != 0) & self.stores.is_full() {
            let free = self.drain_one();
            if free > cycle {
                self.full = Full {
                    position,
                    until: free,
                };
                self.stats.rename_store_queue_full_cycles += self.until_limit::<K>(cycle, free);
                cycle = free;
            }
        }
        if limited & (kind::LOADS | kind::STORES) != 0
            && seldom(self.params.memory_queue != u32::MAX)
        {
            cycle = self.wait_for_memory_queue::<K>(cycle, limited, position);
        }
        if limited & kind::SERIALIZES != 0 {
            let alone = if K::IS_WRONG {
                self.limit
            } else {
                self.drain_all().max(self.last_commit())
            };
            if alone > cycle {
                self.stats.serialize_cycles += self.until_limit::<K>(cycle, alone);
                cycle = alone;
            }
        }
        cycle
    }

    #[inline(never)]
    fn wait_for_station<K: Path>(&mut self, mut cycle: u64, limited: u8) -> u64 {
        let since = cycle;
        while self.is_full(limited) && !(K::IS_WRONG && cycle >= self.limit) {
            cycle += 1;
            self.pass::<K>(cycle);
            assert!(
                cycle - since < DEADLOCK_CYCLES,
                "no station becomes free from cycle {since} on: {} wait, {} for floating point",
                self.waiting,
                self.fp_waiting
            );
        }
        let waited = self.until_limit::<K>(since, cycle);
        if limited & kind::FLOAT != 0 {
            self.stats.rename_fp_queue_full_cycles += waited;
        } else {
            self.stats.rename_reservation_stations_full_cycles += waited;
        }
        cycle
    }

    /// When the sources of the instruction that was dispatched last allow it to issue.
    #[inline(always)]
    pub(super) fn ready(&self, inst: &Inst) -> u64 {
        let ready = self
            .ready_by_first(inst)
            .max(self.results[usize::from(inst.rs2)]);
        ready.max(self.results[usize::from(inst.rs3)])
    }

    /// The cycle in which the operands of an instruction without a third source are ready.
    #[inline(always)]
    pub(super) fn ready_by_two(&self, inst: &Inst) -> u64 {
        debug_assert_eq!(inst.rs3, reg::ZERO);
        let ready = self.ready_by_first(inst);
        ready.max(self.results[usize::from(inst.rs2)])
    }

    /// The cycle in which the first source is ready, for which loads and addresses of stores wait.
    #[inline(always)]
    pub(super) fn ready_by_first(&self, inst: &Inst) -> u64 {
        let ready = self.dispatched + self.params.dispatch_to_issue;
        ready.max(self.results[usize::from(inst.rs1)])
    }

    /// A register gets its value.
    #[inline(always)]
    pub(super) fn set_when(&mut self, register: u8, when: When) {
        self.results[usize::from(register)] = when.result;
        self.issues[usize::from(register)] = when.issue;
    }

    /// Issues an instruction that does not touch memory, or the address of a store: when, and when its result is there.
    #[inline(always)]
    pub(super) fn issue<K: Path>(&mut self, ready: u64, what: &impl Issues) -> When {
        if K::IS_WRONG && ready >= self.limit {
            self.stays::<K>(what.class());
            return When {
                result: NEVER,
                issue: NEVER,
            };
        }
        let issue = self.calendar.take::<K>(ready, what, self.limit);
        if K::IS_WRONG && issue >= self.limit {
            self.stays::<K>(what.class());
        }
        When {
            result: issue + what.latency_cycles(),
            issue,
        }
    }

    /// An instruction of a wrong path is dispatched so late that no sources allow it to issue before the squash.
    #[inline(always)]
    pub(super) fn waits_until_squash(&mut self, inst: &StaticInst) {
        if inst.kind().has(kind::FLOAT) {
            self.fp_waiting += 1;
        } else {
            self.waiting += 1;
        }
        self.stays::<WrongPath>(inst.class);
        if inst.kind().has(kind::LOADS) {
            self.dependence(inst.pc, self.dispatched);
            self.loads += 1;
        }
        if inst.kind().has(kind::STORES) {
            self.follows_store(inst.pc);
            self.stores.push_unknown();
        }
    }

    /// An instruction of a wrong path is still in its station when it is squashed.
    #[inline(always)]
    pub(super) fn stays<K: Path>(&mut self, class: OpClass) {
        if K::IS_WRONG {
            if self.kinds[class as usize] & kind::FLOAT != 0 {
                self.fp_stay += 1;
            } else {
                self.stay += 1;
            }
        }
    }
}
