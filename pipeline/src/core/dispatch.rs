//! Dispatch: renames, executes functionally, and enters the window.

use hps_sim_core::editor::DecodeEditor;
use hps_sim_core::exec::Outcome;
use hps_sim_core::hart::GuestCounters;
use hps_sim_core::ids::DisePc;
use hps_sim_core::inst::{OpClass, reg};
use hps_sim_core::os::SyscallResult;
use hps_sim_core::riscv;
use hps_sim_core::trap::TrapCause;

use super::calendar::EventKind;
use super::memdep::MemoryDependence;
use super::store_queue::SpeculativeBus;
use super::uop::{Decoded, MicroOp, NO_PRODUCER, UNKNOWN, flag};
use super::{Core, PipelineProbe};

/// Where an instruction says that execution goes on, and with what side effects.
struct Executed {
    next_pc: u64,
    next_disepc: DisePc,
    taken: bool,
    trap: Option<TrapCause>,
}

impl<E: DecodeEditor, P: PipelineProbe> Core<E, P> {
    pub(super) fn dispatch(&mut self) {
        for _ in 0..self.params.dispatch_width {
            let Some(d) = self.decoded.front() else { return };
            if d.ready_cycle > self.now || self.halted.is_some() {
                return;
            }
            let (class, is_serial) = (d.inst.class, is_serializing(d.inst.class));
            if !self.has_room(class) {
                return;
            }
            if is_serial && !(self.rob.is_empty() && self.stores.is_empty()) {
                self.stats.serialize_cycles += 1;
                return;
            }
            let Some(d) = self.decoded.pop_front() else { return };
            self.progressed = true;
            self.enter(&d);
        }
    }

    /// Whether the window can take an instruction of this class; counts what it is full of.
    #[inline]
    fn has_room(&mut self, class: OpClass) -> bool {
        if self.rob.len() >= self.params.rob_entries {
            self.stats.rename_rob_full_cycles += 1;
            return false;
        }
        if self.reservations_used >= self.params.reservation_stations {
            self.stats.rename_reservation_stations_full_cycles += 1;
            return false;
        }
        if matches!(class, OpClass::Load | OpClass::Atomic) && self.loads_used >= self.params.load_queue {
            self.stats.rename_load_queue_full_cycles += 1;
            return false;
        }
        if matches!(class, OpClass::Store | OpClass::Atomic) && self.stores.is_full() {
            self.stats.rename_store_queue_full_cycles += 1;
            return false;
        }
        true
    }

    fn enter(&mut self, d: &Decoded) {
        let position = self.rob.tail;
        let slot = self.rob.slot_of(position);
        let inst = d.inst;
        let hart = &self.process.hart;
        let mut u = MicroOp {
            seq: d.seq,
            inst,
            flags: d.flags,
            addr: hart.r[inst.rs1 as usize].wrapping_add(inst.imm as u64),
            pc: d.pc,
            disepc: d.disepc,
            old_value: hart.r[inst.rd as usize],
            old_producer: self.producers[inst.rd as usize],
            old_fcsr: hart.fcsr,
            gap: d.gap,
            checkpoint: d.checkpoint,
            link: d.link,
            fetch_cycle: d.fetch_cycle,
            decode_cycle: d.decode_cycle,
            dispatch_cycle: self.now,
            ready_cycle: self.now + self.params.dispatch_to_issue,
            store_pos: self.stores.tail,
            ..MicroOp::EMPTY
        };
        self.enter_memory(&mut u, slot);
        let x = self.execute(d);
        u.next_pc = x.next_pc;
        u.next_disepc = x.next_disepc;
        if x.taken {
            u.flags |= flag::TAKEN;
        }
        if let Some(cause) = x.trap {
            u.flags |= flag::TRAP;
            self.traps[slot as usize] = cause;
        } else if (x.next_pc, x.next_disepc) != (d.predicted_next, d.predicted_disepc) {
            u.flags |= flag::MISPREDICTED;
        }
        self.link_sources(&mut u, slot);
        if u.writes_register() {
            self.producers[inst.rd as usize] = position;
        }
        self.reservations_used += 1;
        self.stats.dispatch_instructions += 1;
        let schedule = u.pending == 0;
        let ready = u.ready_cycle;
        *self.rob.at_mut(slot) = u;
        self.rob.tail += 1;
        if schedule {
            self.calendar.push(self.now, ready, EventKind::Ready, slot, d.seq);
        }
        if E::ENABLED && self.decode_waits_for == d.seq {
            self.decode_waits_for = 0;
        }
    }

    /// Takes places in the load and store queues.
    #[inline]
    fn enter_memory(&mut self, u: &mut MicroOp, slot: u32) {
        if !u.inst.class.is_memory() {
            return;
        }
        if matches!(u.inst.class, OpClass::Load | OpClass::Atomic) {
            self.loads_used += 1;
            if let MemoryDependence::StoreSets(sets) = &mut self.memdep {
                sets.tick(self.now);
                u.store_wait = sets.load(u.pc).unwrap_or(UNKNOWN);
            }
        }
        if matches!(u.inst.class, OpClass::Store | OpClass::Atomic) {
            u.store_pos = self.stores.push(slot, u.seq);
            if let MemoryDependence::StoreSets(sets) = &mut self.memdep {
                sets.store(u.pc, u.store_pos);
            }
            if u.inst.class == OpClass::Atomic {
                self.reservations_before[slot as usize] = self.process.hart.reservation;
            }
        }
    }

    /// Executes functionally.
    #[inline]
    fn execute(&mut self, d: &Decoded) -> Executed {
        let mut x = Executed {
            next_pc: d.predicted_next,
            next_disepc: d.predicted_disepc,
            taken: false,
            trap: d.fault,
        };
        if x.trap.is_some() {
            return x;
        }
        if d.inst.class == OpClass::Csr {
            self.process.hart.counters = self.guest_counters();
        }
        let mut bus = SpeculativeBus { mem: &mut self.process.mem, stores: &mut self.stores };
        let outcome = riscv::execute(&mut self.process.hart, &mut bus, &d.inst, d.pc);
        match outcome {
            Outcome::Next => {
                if d.inst.class == OpClass::Branch {
                    // Not taken: the sequence goes on, or the program behind the branch.
                    x = self.not_taken(d, x);
                } else if d.inst.class == OpClass::DiseBranch || d.inst.class == OpClass::DiseCall {
                    x.next_pc = d.pc;
                    x.next_disepc = following(d);
                }
            }
            Outcome::Taken(target) => {
                x.taken = true;
                x.next_pc = target;
                x.next_disepc = DisePc::NONE;
            }
            Outcome::DiseTaken(index) => {
                x.next_pc = d.pc;
                x.next_disepc = DisePc::new(d.disepc.production().unwrap_or(0), index);
            }
            Outcome::DiseCall(handler) => {
                x.next_pc = handler;
                x.next_disepc = DisePc::NONE;
            }
            Outcome::DiseReturn if d.flags & flag::HANDLER != 0 => {
                x.next_pc = d.link.pc;
                x.next_disepc = d.link.disepc;
            }
            Outcome::Trap(cause) => x.trap = Some(cause),
            other => self.execute_serial(d, other, &mut x),
        }
        x
    }

    fn not_taken(&self, d: &Decoded, mut x: Executed) -> Executed {
        if d.disepc == DisePc::NONE {
            x.next_pc = d.pc.wrapping_add(u64::from(d.inst.len));
            x.next_disepc = DisePc::NONE;
        } else if x.next_disepc == DisePc::NONE && x.next_pc != d.pc.wrapping_add(u64::from(d.inst.len)) {
            // Predicted taken out of the middle of a sequence, but it goes on.
            let next = following(d);
            let more = next
                .production()
                .and_then(|p| self.editor.replacement(p, next.index(), d.pc, &d.inst))
                .is_some();
            x.next_pc = if more { d.pc } else { d.pc.wrapping_add(u64::from(d.inst.len)) };
            x.next_disepc = if more { next } else { DisePc::NONE };
        }
        x
    }

    /// What may only execute when nothing else is in flight.
    #[cold]
    fn execute_serial(&mut self, d: &Decoded, outcome: Outcome, x: &mut Executed) {
        let in_handler = d.flags & flag::HANDLER != 0;
        match outcome {
            Outcome::Syscall if !in_handler => {
                self.stats.syscall_events += 1;
                self.process.hart.counters = self.guest_counters();
                let next = d.pc.wrapping_add(u64::from(d.inst.len));
                self.process.hart.pc = next;
                self.process.hart.disepc = DisePc::NONE;
                let result = self.process.os.syscall(&mut self.process.hart, &mut self.process.mem);
                match result {
                    SyscallResult::Continue => {
                        if self.process.hart.pc != next || self.process.hart.disepc != DisePc::NONE {
                            // A signal was delivered, or a handler of one returned.
                            x.next_pc = self.process.hart.pc;
                            x.next_disepc = self.process.hart.disepc;
                        }
                    }
                    SyscallResult::Exit(code) => self.halted = Some(code),
                    SyscallResult::Trap => x.trap = Some(TrapCause::Stopped),
                }
                self.refresh_code();
            }
            Outcome::FenceI => {
                self.code.clear();
                self.refetch_decoded();
            }
            Outcome::DiseDrain if in_handler => {
                let mem = &self.process.mem;
                self.editor.drain(&mut |addr, buf| mem.read_bytes(addr, buf).is_ok());
            }
            _ => x.trap = Some(TrapCause::IllegalInstruction),
        }
    }

    /// A system call may have changed what is executable.
    fn refresh_code(&mut self) {
        if self.code.sync(&self.process.mem, &self.editor) {
            self.refetch_decoded();
        }
    }

    /// Instructions in the front-end may be stale: they are decoded again in place. Their number
    /// and order hardly ever change; where they do, the misprediction check finds it.
    fn refetch_decoded(&mut self) {
        for f in &mut self.fetched {
            match self.code.lookup(f.pc, &self.process.mem, &self.editor) {
                Ok(slot) => {
                    f.inst = slot.inst;
                    f.mask = slot.mask;
                    f.fault = None;
                }
                Err(cause) => f.fault = Some(cause),
            }
        }
        for d in &mut self.decoded {
            if d.disepc != DisePc::NONE {
                continue;
            }
            match self.code.lookup(d.pc, &self.process.mem, &self.editor) {
                Ok(slot) => {
                    d.inst = slot.inst;
                    d.fault = None;
                }
                Err(cause) => d.fault = Some(cause),
            }
        }
    }

    /// Guest time: cycles, and nanoseconds by the clock of the machine.
    fn guest_counters(&self) -> GuestCounters {
        GuestCounters {
            cycle: self.now,
            time_ns: self.now.saturating_mul(1000) / self.params.clock_mhz.max(1),
            instret: self.stats.commit_program_instructions,
        }
    }

    /// Enters the consumer lists of producers that have not issued yet.
    #[inline]
    fn link_sources(&mut self, u: &mut MicroOp, slot: u32) {
        let is_store = u.inst.class == OpClass::Store;
        for (k, r) in u.sources().into_iter().enumerate() {
            if r == reg::ZERO {
                continue;
            }
            let position = self.producers[r as usize];
            if position < self.rob.head || position == NO_PRODUCER {
                continue;
            }
            let at = self.rob.slot_of(position);
            let producer = self.rob.at_mut(at);
            let is_data = is_store && k == 1;
            if producer.result_cycle != UNKNOWN {
                if !is_data {
                    u.ready_cycle = u.ready_cycle.max(producer.result_cycle);
                } else {
                    self.stores.get_mut(u.store_pos).data_cycle = producer.result_cycle.max(self.now + 1);
                }
                continue;
            }
            u.next_consumer[k] = producer.first_consumer;
            u.producer[k] = at;
            producer.first_consumer = slot * 4 + k as u32;
            u.linked |= 1 << k;
            if !is_data {
                u.pending += 1;
            }
        }
        if is_store && u.linked & 2 == 0 {
            let e = self.stores.get_mut(u.store_pos);
            if e.data_cycle == UNKNOWN {
                e.data_cycle = self.now + 1;
            }
        }
    }
}

/// The next position of the sequence that an instruction stands in.
fn following(d: &Decoded) -> DisePc {
    match d.disepc.production() {
        Some(p) => DisePc::new(p, d.disepc.index().wrapping_add(1)),
        None => DisePc::NONE,
    }
}

/// Instructions that execute alone: everything older has committed and left the store queue.
fn is_serializing(class: OpClass) -> bool {
    matches!(class, OpClass::Syscall | OpClass::FenceI | OpClass::DiseDrain | OpClass::Csr)
}
