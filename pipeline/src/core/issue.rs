//! Issue: the oldest ready instructions go to the units, and wake their consumers.

use hps_sim_core::editor::DecodeEditor;
use hps_sim_core::inst::OpClass;

use super::calendar::EventKind;
use super::uop::{NONE, UNKNOWN, flag};
use super::{Core, PipelineProbe};

/// What became of an instruction that could issue.
enum Attempt {
    Issued,
    /// It has to wait for something other than a unit, and has left the ready set.
    Waits,
    /// No unit of its pool is free in this cycle.
    NoUnit,
}

impl<E: DecodeEditor, P: PipelineProbe> Core<E, P> {
    /// What the calendar holds for this cycle.
    pub(super) fn run_events(&mut self) {
        let mut due = std::mem::take(&mut self.due);
        self.calendar.take(self.now, &mut due);
        for event in &due {
            let position = self.rob.position_of(event.slot);
            if position >= self.rob.tail || self.rob.at(event.slot).seq != event.seq {
                continue;
            }
            self.progressed = true;
            match event.kind {
                EventKind::Ready => self.ready.insert(event.slot, self.rob.at(event.slot).pool),
                EventKind::Resolve => self.resolve(event.slot),
                EventKind::Violation => self.violation(event.slot),
            }
        }
        self.due = due;
    }

    /// Issues the oldest ready instructions for which units are free.
    pub(super) fn issue(&mut self) {
        if !self.ready.any() {
            return;
        }
        let head = self.rob.slot_of(self.rob.head);
        let mut left = self.params.issue_width;
        let mut pools = self.ready.pools();
        let mut step = 0;
        while let Some((mut bits, base)) = self.ready.walk(head, step, pools) {
            while bits != 0 {
                let slot = base + bits.trailing_zeros();
                bits &= bits - 1;
                let pool = self.rob.at(slot).pool;
                if pools >> pool & 1 == 0 {
                    continue;
                }
                match self.try_issue(slot, pool) {
                    Attempt::Issued => left -= 1,
                    Attempt::Waits => continue,
                    Attempt::NoUnit => {
                        pools &= !(1 << pool);
                        continue;
                    }
                }
                if left == 0 {
                    return;
                }
            }
            step += 1;
        }
    }

    #[inline]
    fn try_issue(&mut self, slot: u32, pool: u8) -> Attempt {
        let u = self.rob.at(slot);
        let class = if u.has(flag::TRAP) {
            OpClass::IntAlu
        } else {
            u.inst.class
        };
        if class.is_memory() && !self.may_access_memory(slot) {
            return Attempt::Waits;
        }
        let unit = self.params.units[class as usize];
        let now = self.now;
        let free = self.units[pool as usize]
            .iter_mut()
            .find(|free| **free <= now);
        let Some(free) = free else {
            return Attempt::NoUnit;
        };
        *free = now + u64::from(unit.interval_cycles);
        self.ready.remove(slot, pool);
        self.progressed = true;
        self.send(slot, class, u64::from(unit.latency_cycles));
        Attempt::Issued
    }

    /// Sends an instruction to its unit.
    #[inline]
    fn send(&mut self, slot: u32, class: OpClass, latency: u64) {
        match class {
            OpClass::Load | OpClass::Atomic => self.issue_load(slot, latency),
            OpClass::Store => self.issue_store(slot, latency),
            _ => {
                if self.rob.at(slot).inst.class.is_memory() {
                    self.abandon_store(slot);
                }
                self.complete(slot, self.now + latency);
            }
        }
    }

    /// The result of an issued instruction will be there in `result_cycle`: its consumers learn it.
    #[inline]
    pub(super) fn complete(&mut self, slot: u32, result_cycle: u64) {
        self.leave_reservation_station(slot);
        let complete = result_cycle + self.params.issue_to_execute;
        let u = self.rob.at_mut(slot);
        u.result_cycle = result_cycle;
        u.complete_cycle = complete;
        let (seq, mispredicted) = (u.seq, u.has(flag::MISPREDICTED));
        let mut consumer = std::mem::replace(&mut u.first_consumer, NONE);
        while consumer != NONE {
            consumer = self.wake(consumer / 4, (consumer % 4) as usize, result_cycle);
        }
        if mispredicted {
            self.calendar.push(
                self.now,
                complete.max(self.now + 1),
                EventKind::Resolve,
                slot,
                seq,
            );
        }
    }

    #[inline]
    pub(super) fn leave_reservation_station(&mut self, slot: u32) {
        let now = self.now;
        let u = self.rob.at_mut(slot);
        u.flags |= flag::ISSUED;
        u.issue_cycle = now;
        self.reservations_used -= 1;
    }

    /// Source `k` of a consumer becomes available. Returns the next consumer in the list.
    #[inline]
    fn wake(&mut self, slot: u32, k: usize, cycle: u64) -> u32 {
        let now = self.now;
        let u = self.rob.at_mut(slot);
        u.linked &= !(1 << k);
        let next = u.next_consumer[k];
        if u.inst.class == OpClass::Store && k == 1 {
            self.store_data_arrives(slot, cycle);
            return next;
        }
        u.ready_cycle = u.ready_cycle.max(cycle);
        u.pending -= 1;
        if u.pending == 0 {
            let (ready, seq) = (u.ready_cycle.max(now + 1), u.seq);
            self.calendar.push(now, ready, EventKind::Ready, slot, seq);
        }
        next
    }

    /// A fault's loads and stores never reach memory.
    fn abandon_store(&mut self, slot: u32) {
        let u = *self.rob.at(slot);
        if matches!(u.inst.class, OpClass::Store | OpClass::Atomic) {
            self.address_known(u.store_pos);
            let e = self.stores.get_mut(u.store_pos);
            if e.data_cycle == UNKNOWN {
                e.data_cycle = self.now + 1;
            }
        }
    }
}
