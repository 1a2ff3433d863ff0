//! Dispatch: renames, executes functionally, and enters the window.

use hps_sim_core::editor::DecodeEditor;
use hps_sim_core::exec::Outcome;
use hps_sim_core::hart::GuestCounters;
use hps_sim_core::ids::DisePc;
use hps_sim_core::inst::{Inst, OpClass, reg};
use hps_sim_core::os::SyscallResult;
use hps_sim_core::riscv;
use hps_sim_core::trap::TrapCause;

use super::calendar::EventKind;
use super::cpi::Cause;
use super::memdep::MemoryDependence;
use super::store_queue::SpeculativeBus;
use super::uop::{Decoded, MicroOp, NONE, UNKNOWN, flag};
use super::{Core, CoreStats, PipelineProbe};

/// A counter among the statistics.
type Counter = fn(&mut CoreStats) -> &mut u64;

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
            let Some(d) = self.decoded.front() else {
                return;
            };
            if d.ready_cycle > self.now || self.halted.is_some() {
                return;
            }
            if let Some(counter) = self.dispatch_stall(d.inst.class) {
                *counter(&mut self.stats) += 1;
                return;
            }
            let d = *d;
            self.decoded.pop_front();
            self.progressed = true;
            self.enter(&d);
        }
    }

    /// What keeps an instruction of this class out of the window: the counter of such cycles.
    #[inline]
    fn dispatch_stall(&self, class: OpClass) -> Option<Counter> {
        let p = &self.params;
        if self.rob.len() >= p.rob_entries {
            return Some(|s| &mut s.rename_rob_full_cycles);
        }
        if self.reservations_used >= p.reservation_stations {
            return Some(|s| &mut s.rename_reservation_stations_full_cycles);
        }
        if matches!(class, OpClass::Load | OpClass::Atomic) && self.loads_used >= p.load_queue {
            return Some(|s| &mut s.rename_load_queue_full_cycles);
        }
        if matches!(class, OpClass::Store | OpClass::Atomic) && self.stores.is_full() {
            return Some(|s| &mut s.rename_store_queue_full_cycles);
        }
        if is_serializing(class) && !(self.rob.is_empty() && self.stores.is_empty()) {
            return Some(|s| &mut s.serialize_cycles);
        }
        None
    }

    /// Counts skipped cycles for what keeps dispatch waiting in each of them.
    pub(super) fn account_dispatch_stall(&mut self, cycles: u64) {
        let Some(d) = self.decoded.front() else {
            return;
        };
        if d.ready_cycle <= self.now
            && let Some(counter) = self.dispatch_stall(d.inst.class)
        {
            *counter(&mut self.stats) += cycles;
        }
    }

    fn enter(&mut self, d: &Decoded) {
        let position = self.rob.tail;
        let slot = self.rob.slot_of(position);
        let inst = d.inst;
        let hart = &self.process.hart;
        let addr = hart.r[inst.rs1 as usize].wrapping_add(inst.imm as u64);
        let (old_value, old_fcsr) = (hart.r[inst.rd as usize], hart.fcsr);
        let (store_pos, store_wait) = if inst.class.is_memory() {
            self.enter_memory(d, slot)
        } else {
            (0, UNKNOWN)
        };
        let x = self.execute(d);
        let mut flags = d.flags;
        if x.taken {
            flags |= flag::TAKEN;
        }
        let mut class = inst.class;
        if let Some(cause) = x.trap {
            flags |= flag::TRAP;
            self.traps[slot as usize] = cause;
            class = OpClass::IntAlu;
        } else if (x.next_pc, x.next_disepc) != (d.predicted_next, d.predicted_disepc) {
            flags |= flag::MISPREDICTED;
        }
        let now = self.now;
        let ready_cycle = now + self.params.dispatch_to_issue;
        let pool = self.params.units[class as usize].pool;
        let old_producer = self.producers[inst.rd as usize];
        // Nothing that can panic stands between finding the place and writing it: it is written in
        // place.
        let place = self.rob.at_mut(slot);
        *place = MicroOp {
            seq: d.seq,
            inst,
            result_cycle: UNKNOWN,
            complete_cycle: UNKNOWN,
            ready_cycle,
            first_consumer: NONE,
            next_consumer: [NONE; 3],
            producer: [NONE; 3],
            pending: 0,
            linked: 0,
            flags,
            pool,
            store_pos,
            store_wait,
            addr,
            pc: d.pc,
            next_pc: x.next_pc,
            next_disepc: x.next_disepc,
            disepc: d.disepc,
            old_value,
            old_producer,
            old_fcsr,
            level: Cause::Execute,
            gap: d.gap,
            checkpoint: d.checkpoint,
            next_parked: NONE,
            link: d.link,
            fetch_cycle: d.fetch_cycle,
            decode_cycle: d.decode_cycle,
            dispatch_cycle: now,
            issue_cycle: UNKNOWN,
        };
        self.link_sources(&inst, slot, store_pos);
        if inst.rd != reg::SINK {
            self.producers[inst.rd as usize] = position;
        }
        self.reservations_used += 1;
        self.stats.dispatch_instructions += 1;
        self.rob.tail += 1;
        let u = self.rob.at(slot);
        if u.pending == 0 {
            self.calendar
                .push(self.now, u.ready_cycle, EventKind::Ready, slot, d.seq);
        }
        if E::ENABLED && self.decode_waits_for == d.seq {
            self.decode_waits_for = 0;
        }
    }

    /// Takes places in the load and store queues. Returns the position in the store queue (of a
    /// load: one past the youngest older store), and the store that a load's set makes it wait for.
    #[inline]
    fn enter_memory(&mut self, d: &Decoded, slot: u32) -> (u64, u64) {
        let class = d.inst.class;
        let mut at = (self.stores.tail, UNKNOWN);
        if class != OpClass::Store {
            self.loads_used += 1;
            if let MemoryDependence::StoreSets(sets) = &mut self.memdep {
                sets.tick(self.now);
                at.1 = sets.load(d.pc).unwrap_or(UNKNOWN);
            }
        }
        if class != OpClass::Load {
            at.0 = self.stores.push();
            if let Some(oracle) = &mut self.oracle {
                oracle.store_dispatched(d.pc, d.flags);
            }
            if let MemoryDependence::StoreSets(sets) = &mut self.memdep {
                sets.store(d.pc, at.0);
            }
            if class == OpClass::Atomic {
                self.reservations_before[slot as usize] = self.process.hart.reservation;
            }
        }
        at
    }

    /// Executes functionally. It has one caller, and its result is too large for registers: a
    /// call would pass it through memory.
    #[inline(always)]
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
        let mut bus = SpeculativeBus {
            mem: &mut self.process.mem,
            stores: &mut self.stores,
        };
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
        } else if x.next_disepc == DisePc::NONE
            && x.next_pc != d.pc.wrapping_add(u64::from(d.inst.len))
        {
            // Predicted taken out of the middle of a sequence, but it goes on.
            let next = following(d);
            let more = next
                .production()
                .and_then(|p| self.editor.replacement(p, next.index(), d.pc, &d.inst))
                .is_some();
            x.next_pc = if more {
                d.pc
            } else {
                d.pc.wrapping_add(u64::from(d.inst.len))
            };
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
                let result = self
                    .process
                    .os
                    .syscall(&mut self.process.hart, &mut self.process.mem);
                match result {
                    SyscallResult::Continue => {
                        if self.process.hart.pc != next || self.process.hart.disepc != DisePc::NONE
                        {
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
                self.editor
                    .drain(&mut |addr, buf| mem.read_bytes(addr, buf).is_ok());
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
        let Core {
            code,
            process,
            editor,
            fetched,
            decoded,
            ..
        } = self;
        fetched.for_each(|f| match code.lookup(f.pc, &process.mem, editor) {
            Ok(slot) => {
                f.inst = slot.inst;
                f.mask = slot.mask;
                f.fault = None;
            }
            Err(cause) => f.fault = Some(cause),
        });
        decoded.for_each(|d| {
            if d.disepc != DisePc::NONE {
                return;
            }
            match code.lookup(d.pc, &process.mem, editor) {
                Ok(slot) => {
                    d.inst = slot.inst;
                    d.fault = None;
                }
                Err(cause) => d.fault = Some(cause),
            }
        });
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
    fn link_sources(&mut self, inst: &Inst, slot: u32, store_pos: u64) {
        let is_store = inst.class == OpClass::Store;
        for (k, r) in [inst.rs1, inst.rs2, inst.rs3].into_iter().enumerate() {
            if r == reg::ZERO {
                continue;
            }
            let position = self.producers[r as usize];
            if position < self.rob.head {
                continue;
            }
            let is_data = is_store && k == 1;
            let at = self.rob.slot_of(position);
            let producer = self.rob.at_mut(at);
            let result_cycle = producer.result_cycle;
            if result_cycle == UNKNOWN {
                let next = std::mem::replace(&mut producer.first_consumer, slot * 4 + k as u32);
                let u = self.rob.at_mut(slot);
                u.next_consumer[k] = next;
                u.producer[k] = at;
                u.linked |= 1 << k;
                u.pending += u8::from(!is_data);
            } else if is_data {
                self.stores.get_mut(store_pos).data_cycle = result_cycle.max(self.now + 1);
            } else {
                let u = self.rob.at_mut(slot);
                u.ready_cycle = u.ready_cycle.max(result_cycle);
            }
        }
        if is_store && self.rob.at(slot).linked & 2 == 0 {
            let e = self.stores.get_mut(store_pos);
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
    matches!(
        class,
        OpClass::Syscall | OpClass::FenceI | OpClass::DiseDrain | OpClass::Csr
    )
}
