//! Issue: the oldest ready instructions go to the units, and wake their consumers.

use hps_isa::editor::DecodeEditor;
use hps_isa::inst::OpClass;
use hps_isa::likely::seldom;

use super::events::EventKind;
use super::rob::Slot;
use super::uop::flag;
use super::{Context, Resources};
use crate::memsys::SharedMemory;
use crate::model::{PipelineProbe, UNKNOWN, kind};

impl<E: DecodeEditor, P: PipelineProbe> Context<E, P> {
    /// Handles the events that are due in this cycle.
    #[inline(always)]
    pub(super) fn run_events(&mut self, core: &mut Resources) {
        core.progressed |= self.scheduler.advance(core.now);
        if self.events.next() <= core.now {
            self.run_events_until(core, core.now);
        }
    }

    /// Handles the events up to a cycle.
    pub(super) fn run_events_until(&mut self, core: &mut Resources, cycle: u64) {
        while let Some(event) = self.events.take_due(cycle) {
            core.progressed = true;
            let slot = self.rob.slot_of(event.position);
            match event.kind {
                EventKind::Resolve => self.resolve(core, slot),
                EventKind::Violation => self.violation(core, slot),
            }
        }
    }

    /// Issues the oldest ready instructions for which units are free.
    #[inline(always)]
    pub(super) fn issue(&mut self, core: &mut Resources, shared: &mut SharedMemory) {
        if seldom(self.in_order.is_some()) {
            self.issue_in_order(core, shared);
        } else if self.scheduler.any_ready() {
            if seldom(core.shares) {
                self.issue_beside_hardware_threads(core, shared);
            } else {
                self.issue_ready(core, shared, core.params.issue_width);
            }
            self.scheduler.look();
        }
    }

    /// Issues what is left for this context of the width of its core.
    #[inline(never)]
    fn issue_beside_hardware_threads(&mut self, core: &mut Resources, shared: &mut SharedMemory) {
        let width = core.params.issue_width;
        if width > 0 {
            core.issue_left = self.issue_ready(core, shared, width);
        }
    }

    /// Issues up to `width` instructions, at least one. Returns how many more might have.
    #[inline(always)]
    fn issue_ready(
        &mut self,
        core: &mut Resources,
        shared: &mut SharedMemory,
        width: usize,
    ) -> usize {
        let head = self.rob.slot_of(self.rob.head);
        debug_assert!(width > 0, "nothing is left to issue");
        let mut left = width;
        // Pools without a free unit in this cycle, as bits.
        let mut busy = 0u64;
        for step in 0..=self.scheduler.words() {
            let (mut bits, word) = self.scheduler.walk(head, step);
            while bits != 0 {
                let slot = Slot::of_bit(word, bits.trailing_zeros());
                bits &= bits - 1;
                let class = self.rob.at(slot).class;
                let unit = core.units.timing(class);
                if seldom(busy >> unit.pool & 1 != 0) {
                    continue;
                }
                if class.is_memory() && seldom(!self.may_access_memory(core, slot)) {
                    // The access waits for something other than a unit, and has left the ready ones.
                    continue;
                }
                if seldom(!core.units.take(core.now, unit.pool, unit.interval_cycles)) {
                    busy |= 1 << unit.pool;
                    continue;
                }
                self.scheduler.remove_ready(slot);
                core.progressed = true;
                self.send(core, shared, slot, class, u64::from(unit.latency_cycles));
                left -= 1;
                if left == 0 {
                    return 0;
                }
            }
        }
        left
    }

    /// Sends an instruction to its unit.
    #[inline(always)]
    fn send(
        &mut self,
        core: &mut Resources,
        shared: &mut SharedMemory,
        slot: Slot,
        class: OpClass,
        latency: u64,
    ) {
        // One call of `complete`, so that it stays in line.
        let latency = match class {
            OpClass::Load | OpClass::Atomic => return self.issue_load(core, shared, slot, latency),
            OpClass::Store => return self.issue_store(core, slot, latency),
            OpClass::IntMul | OpClass::IntDiv => {
                let op = self.rob.at(slot).front.inst.op;
                core.units.begin(core.now, class, op)
            }
            OpClass::FpAdd
            | OpClass::FpMul
            | OpClass::FpFma
            | OpClass::FpDiv
            | OpClass::FpSqrt
            | OpClass::FpCvt => {
                core.fp_queue_used -= core.params.fp_queue_place;
                let op = self.rob.at(slot).front.inst.op;
                core.units.begin(core.now, class, op)
            }
            _ => {
                if seldom(self.rob.at(slot).flags & (flag::TRAP | flag::GENERATES) != 0) {
                    if self.rob.at(slot).has(flag::GENERATES) {
                        return self.generate_address(core, slot, latency);
                    }
                    self.abandon_store(core, slot);
                }
                latency
            }
        };
        self.complete(core, slot, core.now + latency);
    }

    /// [`Context::send`] out of line, where speed does not matter, since its code is large.
    #[inline(never)]
    pub(super) fn send_in_order(
        &mut self,
        core: &mut Resources,
        shared: &mut SharedMemory,
        slot: Slot,
        class: OpClass,
        latency: u64,
    ) {
        self.send(core, shared, slot, class, latency);
    }

    /// The result of an issued instruction will be there in `result_cycle`: its consumers learn it.
    #[inline(always)]
    pub(super) fn complete(&mut self, core: &mut Resources, slot: Slot, result_cycle: u64) {
        self.leave_reservation_station(core, slot);
        let complete = result_cycle + core.params.issue_to_execute;
        let u = self.rob.at_mut(slot);
        u.complete_cycle = complete;
        let flags = u.flags;
        if flags & flag::WAITED_FOR != 0 {
            self.wake_waiters(core, slot, result_cycle);
        }
        if flags & (flag::FEEDS_STORE | flag::MISPREDICTED) != 0 {
            self.complete_rarely(core, slot, flags, result_cycle);
        }
    }

    #[inline(always)]
    fn wake_waiters(&mut self, core: &mut Resources, slot: Slot, result_cycle: u64) {
        for word in 0..self.scheduler.words() {
            let mut bits = self.scheduler.take_waiters(slot, word);
            while bits != 0 {
                self.wake(
                    core,
                    Slot::of_bit(word, bits.trailing_zeros()),
                    result_cycle,
                );
                bits &= bits - 1;
            }
        }
    }

    #[inline(never)]
    fn complete_rarely(&mut self, core: &mut Resources, slot: Slot, flags: u16, result_cycle: u64) {
        if flags & flag::FEEDS_STORE != 0 {
            for word in 0..self.scheduler.words() {
                let mut bits = self.scheduler.take_data_waiters(slot, word);
                while bits != 0 {
                    let store = Slot::of_bit(word, bits.trailing_zeros());
                    self.store_data_arrives(core, store, result_cycle);
                    bits &= bits - 1;
                }
            }
        }
        if flags & flag::MISPREDICTED != 0 {
            let complete = result_cycle + core.params.issue_to_execute;
            let position = self.rob.position_of(slot);
            let cycle = complete.max(core.now + 1);
            self.events.push(EventKind::Resolve, position, cycle);
        }
    }

    #[inline(always)]
    pub(super) fn leave_reservation_station(&mut self, core: &mut Resources, slot: Slot) {
        self.rob.at_mut(slot).flags |= flag::ISSUED;
        core.reservations_used -= 1;
        if P::WANTS_STAGES {
            let position = self.rob.position_of(slot) as usize;
            self.stage_cycles.at_mut(position).issue = core.now;
        }
    }

    /// A source of a consumer becomes available.
    #[inline(always)]
    fn wake(&mut self, core: &mut Resources, slot: Slot, cycle: u64) {
        let now = core.now;
        let u = self.rob.at_mut(slot);
        u.ready_cycle = u.ready_cycle.max(cycle);
        u.pending -= 1;
        if u.pending == 0 {
            u.ready_cycle = u.ready_cycle.max(now + 1);
            self.scheduler.schedule(now, u.ready_cycle, slot);
        }
    }

    /// Makes an instruction ready in `cycle`, for the first time or again.
    #[inline]
    pub(super) fn ready_in(&mut self, core: &mut Resources, slot: Slot, cycle: u64) {
        self.rob.at_mut(slot).ready_cycle = cycle;
        self.scheduler.schedule(core.now, cycle, slot);
    }

    /// The address of an access is computed, which issues next.
    #[cold]
    fn generate_address(&mut self, core: &mut Resources, slot: Slot, latency: u64) {
        let u = self.rob.at_mut(slot);
        u.flags &= !flag::GENERATES;
        u.class = u.inst_class();
        self.ready_in(core, slot, core.now + latency);
    }

    /// A fault's loads and stores never reach memory; it leaves the queue of its own class.
    #[cold]
    fn abandon_store(&mut self, core: &mut Resources, slot: Slot) {
        let u = self.rob.at(slot);
        let (class, position) = (u.inst_class(), u.store_pos);
        if kind::of(class) & kind::FLOAT != 0 {
            core.fp_queue_used -= core.params.fp_queue_place;
        }
        if matches!(class, OpClass::Store | OpClass::Atomic) {
            self.address_known(position);
            let e = self.stores.get_mut(position);
            if e.data_cycle == UNKNOWN {
                e.data_cycle = core.now + 1;
            }
        }
    }
}
