//! Dispatch: renames, executes functionally, and enters the window.

use hps_isa::editor::{self, DecodeEditor};
use hps_isa::exec::{self, Outcome};
use hps_isa::hart::GuestCounters;
use hps_isa::ids::DisePc;
use hps_isa::inst::{Inst, OpClass, reg};
use hps_isa::likely::seldom;
use hps_isa::trap::TrapCause;
use hps_system::process::{Alone, Then};

use super::context::Halt;
use super::fetch::{CodePage, matched_flag};
use super::rob::Slot;
use super::store_queue::{SpeculativeBus, execute};
use super::uop::{Front, Inserted, NO_CHECKPOINT, flag};
use super::{Context, Resources};
use crate::memsys::AddressSpace;
use crate::model::{Cause, CoreStats, EventSet, PipelineProbe, UNKNOWN, kind, not_taken};

/// A counter among the statistics.
type Counter = fn(&mut CoreStats) -> &mut u64;

/// Where an instruction says that execution goes on, unless that is behind it, where fetch has gone on, too;
/// [`flag::TAKEN`] and [`flag::TRAP`].
///
/// The value never stands in memory: rare cases return it by value.
struct Executed {
    next_pc: u64,
    next_disepc: DisePc,
    flags: u16,
}

impl<E: DecodeEditor, P: PipelineProbe> Context<E, P> {
    pub(super) fn dispatch(&mut self, core: &mut Resources) {
        let now = core.now;
        for _ in 0..core.params.dispatch_width {
            let Some(d) = self.front.decoded() else {
                return;
            };
            let waited = u64::from((now as u32).wrapping_sub(d.cycle));
            if waited < core.params.decode_to_dispatch || seldom(self.halted.is_some()) {
                return;
            }
            let kind = kind::of(d.inst.class);
            if seldom(self.rob.len() >= core.params.rob_entries)
                || seldom(core.reservations_used >= core.params.reservation_stations)
                || kind & core.params.limited_kinds != 0
                    && seldom(self.dispatch_stall(core, kind).is_some())
            {
                // `None` if the stations are full, but the instruction goes to another queue.
                if let Some(counter) = self.dispatch_stall_again(core, kind) {
                    *counter(&mut core.stats) += 1;
                    return;
                }
            }
            let d = *d;
            core.progressed = true;
            self.enter(core, &d, kind);
            self.front.pop_decoded();
        }
    }

    /// [`Context::dispatch_stall`] out of line, where speed does not matter.
    #[cold]
    #[inline(never)]
    fn dispatch_stall_again(&self, core: &Resources, kind: u8) -> Option<Counter> {
        self.dispatch_stall(core, kind)
    }

    /// Counter of the stall cycles of an instruction of this kind; `None` if there is room in the window.
    #[inline(always)]
    fn dispatch_stall(&self, core: &Resources, kind: u8) -> Option<Counter> {
        let p = &core.params;
        if self.rob.len() >= p.rob_entries {
            return Some(|s| &mut s.rename_rob_full_cycles);
        }
        if kind & p.limited_kinds & kind::FLOAT != 0 {
            let full = core.fp_queue_used >= p.fp_queue;
            return full.then_some(|s| &mut s.rename_fp_queue_full_cycles);
        }
        // Both queues together hold at least as many as one of them.
        if core.reservations_used >= p.reservation_stations
            && core.reservations_used - core.fp_queue_used >= p.reservation_stations
        {
            return Some(|s| &mut s.rename_reservation_stations_full_cycles);
        }
        if kind & kind::LOADS != 0 && self.loads_used >= p.load_queue {
            return Some(|s| &mut s.rename_load_queue_full_cycles);
        }
        if kind & kind::STORES != 0 && self.stores.is_full() {
            return Some(|s| &mut s.rename_store_queue_full_cycles);
        }
        if seldom(kind & p.shared_kinds != 0) && self.is_memory_queue_full(core) {
            return Some(match kind & kind::STORES {
                0 => |s| &mut s.rename_load_queue_full_cycles,
                _ => |s| &mut s.rename_store_queue_full_cycles,
            });
        }
        if kind & p.alone_kinds != 0
            && !(self.rob.is_empty() && (self.stores.is_empty() || self.reads_early(core)))
        {
            return Some(|s| &mut s.serialize_cycles);
        }
        if kind & p.limited_kinds & kind::ORDERS != 0 && self.fence_waits() {
            return Some(|s| &mut s.serialize_cycles);
        }
        None
    }

    /// One queue holds loads and stores, and it is full.
    pub(super) fn is_memory_queue_full(&self, core: &Resources) -> bool {
        self.loads_used + self.stores.len() as u32 >= core.params.memory_queue
    }

    /// Counts skipped cycles for what keeps dispatch waiting in each of them.
    pub(super) fn account_dispatch_stall(&mut self, core: &mut Resources, cycles: u64) {
        let Some(d) = self.front.decoded() else {
            return;
        };
        if d.since(core.now) + core.params.decode_to_dispatch <= core.now
            && let Some(counter) = self.dispatch_stall_again(core, kind::of(d.inst.class))
        {
            *counter(&mut core.stats) += cycles;
        }
    }

    /// Renames, enters the window and the scheduler, and executes. What needs the registers before
    /// the instruction comes first and goes to memory at once: execution is one large `match`, across
    /// which nothing stays in a host register.
    #[inline(always)]
    fn enter(&mut self, core: &mut Resources, d: &Front, kind: u8) {
        let position = self.rob.tail;
        let slot = self.rob.slot_of(position);
        let inst = d.inst;
        if kind & (kind::LOADS | kind::STORES | kind::FLOAT) != 0 {
            if kind & kind::FLOAT != 0 {
                core.fp_queue_used += core.params.fp_queue_place;
            } else {
                self.enter_memory(core, d, kind, slot);
            }
        }
        let hart = &self.process.thread.hart;
        let ready_cycle = core.now + core.params.dispatch_to_issue;
        // Field by field: all other fields are either written before they are read, or have no
        // meaning for this class.
        let place = self.rob.at_mut(slot);
        place.front = *d;
        place.front.cycle = core.now as u32;
        place.complete_cycle = UNKNOWN;
        place.old_value = hart.r[inst.rd as usize];
        place.old_producer = self.producers[inst.rd as usize];
        place.old_fcsr = hart.fcsr;
        if kind & (kind::LOADS | kind::STORES) == kind::STORES {
            self.link_store(core, &inst, slot, ready_cycle);
        } else {
            self.link_sources(core, &inst, slot, ready_cycle);
        }
        if inst.rd != reg::SINK {
            self.producers[inst.rd as usize] = position;
        }
        core.reservations_used += 1;
        core.stats.dispatch_instructions += 1;
        if E::ENABLED && self.decode_waits_for == position {
            self.decode_waits_for = 0;
        }
        self.execute_in(core, slot, position, d);
        if seldom(kind & core.params.watched_kinds != 0) {
            self.watch(core, slot, kind);
        }
        self.rob.tail += 1;
    }

    /// Performs an atomic where contexts share memory, and separates an address from its access where the machine does.
    #[cold]
    fn watch(&mut self, core: &Resources, slot: Slot, kind: u8) {
        if kind & kind::ATOMIC != 0 {
            if core.params.has_peers {
                self.perform_atomic(core, slot);
            }
        } else if core.params.separate_addresses && !self.rob.at(slot).has(flag::TRAP) {
            // The access issues as an addition first, and as itself afterwards.
            let place = self.rob.at_mut(slot);
            place.flags |= flag::GENERATES;
            place.class = OpClass::IntAlu;
        }
    }

    /// Executes an instruction, and finds out whether fetch went where it goes.
    #[inline(always)]
    fn execute_in(&mut self, core: &mut Resources, slot: Slot, position: u64, d: &Front) {
        let inserted = if E::ENABLED && d.has(flag::INSERTED) {
            Some(*self.inserted.at(position as usize))
        } else {
            None
        };
        let executed = self.execute(core, slot, d, inserted.as_ref());
        let place = self.rob.at_mut(slot);
        place.class = d.inst.class;
        let Some(x) = executed else {
            place.flags = u16::from(d.flags);
            if E::ENABLED {
                place.next_disepc = DisePc::NONE;
            }
            return;
        };
        // Next address and position as fetch and decode predicted them.
        let (predicted_next, predicted_disepc) = match inserted {
            Some(i) => (i.predicted_next, i.predicted_disepc),
            None => (self.fetched_next(d), DisePc::NONE),
        };
        let place = self.rob.at_mut(slot);
        place.flags = u16::from(d.flags) | x.flags;
        place.next_pc = x.next_pc;
        place.next_disepc = x.next_disepc;
        if seldom(x.flags & flag::TRAP != 0) {
            place.class = OpClass::IntAlu;
        } else if seldom(x.next_pc != predicted_next || x.next_disepc != predicted_disepc) {
            place.flags |= flag::MISPREDICTED;
        }
    }

    /// Takes places in the load and store queues.
    #[inline(always)]
    fn enter_memory(&mut self, core: &mut Resources, d: &Front, kind: u8, slot: Slot) {
        let base = self.process.thread.hart.r[d.inst.rs1 as usize];
        let place = self.rob.at_mut(slot);
        place.addr = d.inst.data_address(base);
        place.level = Cause::Execute;
        place.store_pos = self.stores.tail;
        if kind & kind::LOADS != 0 {
            self.loads_used += 1;
            if P::WANTS_CYCLES {
                *self.load_events.at_mut(slot.index()) = EventSet::NONE;
            }
            place.store_wait = self.memdep.load(core.now, d.pc);
        }
        if kind & kind::STORES != 0 {
            let position = self.stores.push();
            if let Some(oracle) = &mut self.oracle {
                // Whatever a new layout inserts has been fetched.
                let fetched = if E::RELAYOUT { flag::PROGRAM } else { 0 };
                oracle.store_dispatched(d.pc, u16::from(d.flags) | fetched);
            }
            self.memdep.store(d.pc, position);
            if kind & kind::LOADS != 0 {
                if seldom(core.params.has_peers) {
                    self.look_at_reservation();
                }
                *self.reservations_before.at_mut(slot.index()) =
                    self.process.thread.hart.reservation;
            }
        }
    }

    /// Executes functionally. `None`: execution goes on behind the instruction, and so has fetch.
    #[inline(always)]
    fn execute(
        &mut self,
        core: &mut Resources,
        slot: Slot,
        d: &Front,
        inserted: Option<&Inserted>,
    ) -> Option<Executed> {
        if seldom(d.has(flag::FETCH_FAULT)) {
            let cause = self.fetch_fault(d.pc);
            return Some(self.trapped(slot, cause));
        }
        if seldom(d.inst.class == OpClass::Csr) {
            self.show_counters(core, &d.inst);
        }
        if E::ENABLED
            && d.has(flag::PROGRAM)
            && let Some(cause) = editor::refused(&d.inst, self.rob.at(slot).addr)
        {
            return Some(self.trapped(slot, cause));
        }
        let mut bus = SpeculativeBus {
            mem: &mut self.process.guest.mem,
            stores: &mut self.stores,
        };
        let hart = &mut self.process.thread.hart;
        // Without a call where speed counts most.
        let outcome = if P::ENABLED || cfg!(debug_assertions) {
            execute(hart, &mut bus, &d.inst, d.pc)
        } else {
            exec::execute(hart, &mut bus, &d.inst, d.pc)
        };
        let goes_on = match outcome {
            Outcome::Next if !E::ENABLED || inserted.is_none() => {
                // Without a prediction, fetch knows no other way.
                if d.checkpoint == NO_CHECKPOINT {
                    return None;
                }
                Executed {
                    next_pc: d.fallthrough(),
                    next_disepc: DisePc::NONE,
                    flags: 0,
                }
            }
            Outcome::Taken(target) if E::RELAYOUT && !d.has(flag::MATCHED) => Executed {
                next_pc: editor::transfer(
                    &self.editor,
                    &mut self.process.thread.hart,
                    &d.inst,
                    d.pc,
                    target,
                ),
                next_disepc: DisePc::NONE,
                flags: flag::TAKEN,
            },
            Outcome::Taken(target) => Executed {
                next_pc: target,
                next_disepc: DisePc::NONE,
                flags: flag::TAKEN,
            },
            Outcome::Trap(cause) => self.trapped(slot, cause),
            other => match inserted {
                Some(i) if E::ENABLED => self.execute_inserted(core, slot, d, i, other),
                _ => {
                    let next_pc = self.fetched_next(d);
                    self.execute_serial(core, slot, d, other, next_pc, DisePc::NONE)
                }
            },
        };
        Some(goes_on)
    }

    /// Marks an instruction that faults when it commits.
    #[cold]
    fn trapped(&mut self, slot: Slot, cause: TrapCause) -> Executed {
        *self.traps.at_mut(slot.index()) = cause;
        Executed {
            next_pc: 0,
            next_disepc: DisePc::NONE,
            flags: flag::TRAP,
        }
    }

    /// Why an instruction could not be fetched.
    #[cold]
    fn fetch_fault(&mut self, pc: u64) -> TrapCause {
        let looked_up = self.code.lookup(pc, &self.process.mem, &self.editor);
        looked_up.err().unwrap_or(TrapCause::FetchFault)
    }

    /// Goes on from an instruction of a sequence or a handler.
    fn execute_inserted(
        &mut self,
        core: &mut Resources,
        slot: Slot,
        d: &Front,
        i: &Inserted,
        outcome: Outcome,
    ) -> Executed {
        let (next_pc, next_disepc) = match outcome {
            // Not taken: the sequence goes on, or the program behind the branch.
            Outcome::Next if d.inst.class == OpClass::Branch => {
                let predicted = (i.predicted_next, i.predicted_disepc);
                not_taken(&self.editor, &d.inst, d.pc, i.disepc, predicted)
            }
            Outcome::Next => {
                if matches!(d.inst.class, OpClass::DiseBranch | OpClass::DiseCall) {
                    (d.pc, i.disepc.following())
                } else {
                    (i.predicted_next, i.predicted_disepc)
                }
            }
            Outcome::DiseTaken(index) => {
                let production = i.disepc.production().unwrap_or(0);
                (d.pc, DisePc::new(production, index))
            }
            Outcome::DiseCall(handler) => (handler, DisePc::NONE),
            Outcome::DiseReturn if d.has(flag::HANDLER) => (i.link.pc, i.link.disepc),
            other => {
                return self.execute_serial(
                    core,
                    slot,
                    d,
                    other,
                    i.predicted_next,
                    i.predicted_disepc,
                );
            }
        };
        Executed {
            next_pc,
            next_disepc,
            flags: 0,
        }
    }

    /// Executes an instruction that may only execute when nothing else is in flight.
    #[cold]
    fn execute_serial(
        &mut self,
        core: &mut Resources,
        slot: Slot,
        d: &Front,
        outcome: Outcome,
        mut next_pc: u64,
        mut next_disepc: DisePc,
    ) -> Executed {
        let what = match Alone::of(outcome, d.has(flag::HANDLER)) {
            Ok(what) => what,
            Err(cause) => return self.trapped(slot, cause),
        };
        if what == Alone::Syscall {
            core.stats.syscall_events += 1;
        }
        self.show_all_counters(core);
        let done = self
            .process
            .execute_serializing(&mut self.editor, what, d.pc, d.fallthrough());
        if what == Alone::Syscall {
            self.plan_attention(core);
            if seldom(self.process.os.has_other_processes()) {
                self.follow_place(core);
            }
            if seldom(core.params.has_peers) {
                self.after_call(core);
            }
        }
        let stale = done.code_changed && self.refresh_code(core);
        match done.then {
            Then::Next => {}
            Then::Elsewhere { pc, disepc } => (next_pc, next_disepc) = (pc, disepc),
            Then::Exit(code) => self.halted = Some(Halt::Exit(code)),
            Then::Fault(cause) => return self.trapped(slot, cause),
        }
        // Stale instructions are a wrong path: they are squashed when this instruction resolves.
        Executed {
            next_pc,
            next_disepc,
            flags: if stale { flag::MISPREDICTED } else { 0 },
        }
    }

    /// Follows a change of code. Returns whether the front-end holds instructions that memory does not
    /// hold any more: everything behind the serializing instruction has to be fetched again.
    fn refresh_code(&mut self, core: &mut Resources) -> bool {
        self.follow_code(core) && self.front_is_stale()
    }

    /// Another process is on the context, or it may share other memory with its relatives.
    #[cold]
    pub(super) fn follow_place(&mut self, core: &mut Resources) {
        let shared = self.process.os.shared_places();
        self.addresses = AddressSpace::new(self.process.mem.space(), shared);
        core.memory.set_address_space(&self.addresses);
    }

    /// Forgets decoded code if memory has other code by now, or the process is another one. Returns whether it did.
    pub(super) fn follow_code(&mut self, core: &mut Resources) -> bool {
        if E::ENABLED {
            self.editor.turn_to(self.process.program());
        }
        let is_stale = self.code.sync(&self.process.mem, &self.editor);
        if is_stale {
            self.code_page = CodePage::NONE;
            let space = self.process.mem.space();
            if std::mem::replace(&mut self.space, space) != space {
                core.memory.forget_translations();
                self.follow_place(core);
            }
        }
        is_stale
    }

    /// Whether any instruction behind the serializing one, which is the oldest decoded, differs from
    /// what its address holds now.
    fn front_is_stale(&mut self) -> bool {
        let Context {
            code,
            process,
            editor,
            front,
            inserted,
            expansion,
            rob,
            ..
        } = self;
        let mut is_stale = |f: &Front, disepc: DisePc| {
            let Ok(slot) = code.lookup(f.pc, &process.mem, editor) else {
                return !f.has(flag::FETCH_FAULT);
            };
            if f.has(flag::FETCH_FAULT) {
                return true;
            }
            let Some(production) = disepc.production() else {
                let matched = if E::ENABLED || E::RELAYOUT {
                    matched_flag::<E>(slot) & flag::MATCHED != 0
                } else {
                    false
                };
                return f.inst != slot.inst || f.has(flag::MATCHED) != matched;
            };
            let trigger = slot.inst;
            let still = editor.replacement(production, disepc.index(), f.pc, &trigger);
            slot.mask & (1 << production) == 0 || still.is_none_or(|r| r.inst != f.inst)
        };
        let first = rob.tail;
        let decoded = front.all_decoded().enumerate().skip(1).any(|(at, d)| {
            let disepc = if E::ENABLED && d.has(flag::INSERTED) {
                inserted.at((first + at as u64) as usize).disepc
            } else {
                DisePc::NONE
            };
            is_stale(d, disepc)
        });
        decoded
            || expansion
                .as_ref()
                .is_some_and(|x| is_stale(x.trigger(), DisePc::NONE))
            || front.all_fetched().any(|f| is_stale(f, DisePc::NONE))
    }

    /// Counters that the program reads.
    pub(crate) fn guest_counters(&self, core: &Resources) -> GuestCounters {
        let committed = core.stats.commit_program_instructions;
        core.params
            .guest_counters(&self.process, core.now, committed)
    }

    /// Waits for the producers that have not issued yet, or goes into the calendar.
    #[inline(always)]
    fn link_sources(&mut self, core: &mut Resources, inst: &Inst, slot: Slot, ready_cycle: u64) {
        let (mut pending, mut ready) = (0, ready_cycle);
        self.link_source(core, inst.rs1, slot, &mut pending, &mut ready);
        self.link_source(core, inst.rs2, slot, &mut pending, &mut ready);
        if inst.rs3 != reg::ZERO {
            self.link_source(core, inst.rs3, slot, &mut pending, &mut ready);
        }
        self.enter_scheduler(core, slot, pending, ready);
    }

    /// A store waits for its address; its data are followed in the store queue.
    #[inline(always)]
    fn link_store(&mut self, core: &mut Resources, inst: &Inst, slot: Slot, ready_cycle: u64) {
        let (mut pending, mut ready) = (0, ready_cycle);
        self.link_source(core, inst.rs1, slot, &mut pending, &mut ready);
        let producer = self.producers[inst.rs2 as usize];
        let mut data_cycle = core.now + 1;
        if producer >= self.rob.head {
            let at = self.rob.slot_of(producer);
            let p = self.rob.at_mut(at);
            if p.complete_cycle == UNKNOWN {
                p.flags |= flag::FEEDS_STORE;
                self.scheduler.wait_for_data(slot, at);
                data_cycle = UNKNOWN;
            } else {
                let result_cycle = p.complete_cycle - core.params.issue_to_execute;
                data_cycle = data_cycle.max(result_cycle);
            }
        }
        let store_pos = self.rob.at(slot).store_pos;
        self.stores.get_mut(store_pos).data_cycle = data_cycle;
        self.enter_scheduler(core, slot, pending, ready);
    }

    #[inline(always)]
    fn link_source(
        &mut self,
        core: &mut Resources,
        register: u8,
        slot: Slot,
        pending: &mut u8,
        ready: &mut u64,
    ) {
        // The zero register never has a producer.
        let producer = self.producers[register as usize];
        if producer < self.rob.head {
            return;
        }
        let at = self.rob.slot_of(producer);
        let p = self.rob.at_mut(at);
        let complete_cycle = p.complete_cycle;
        if complete_cycle == UNKNOWN {
            p.flags |= flag::WAITED_FOR;
            *pending += u8::from(self.scheduler.wait(slot, at));
        } else {
            *ready = (*ready).max(complete_cycle - core.params.issue_to_execute);
        }
    }

    #[inline(always)]
    fn enter_scheduler(&mut self, core: &mut Resources, slot: Slot, pending: u8, ready: u64) {
        let u = self.rob.at_mut(slot);
        u.pending = pending;
        u.ready_cycle = ready;
        if pending == 0 {
            if ready <= core.now + 1 {
                // Issue has been in this cycle, unless the stages are in step.
                self.scheduler.ready_next(slot);
            } else {
                self.scheduler.schedule(core.now, ready, slot);
            }
        }
    }
}
