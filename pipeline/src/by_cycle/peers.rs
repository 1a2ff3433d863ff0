//! Several contexts that share the memory of a program.
//!
//! # The memory model
//! Memory is in total store order. A load reads in program order, when it is dispatched, and finds the stores of its
//! own context that are in flight. A store becomes visible to all other contexts at once, when it commits, in program
//! order. The only reordering that a program can see is therefore a store behind a younger load of another place. A
//! fence that orders that, `fence` from writes to reads on RISC-V and `mb` on Alpha, waits until the store queue is
//! empty; so do atomics, which besides execute alone: they read and write in one step, when they are dispatched with
//! nothing older in flight. A reservation is lost by a store of another context to its block of 64 bytes, and by a
//! system call. All that is legal under RVWMO (RISC-V unprivileged manual, chapter "RVWMO") and under Alpha's rules
//! (Architecture Reference Manual, section 5.6), which allow more.
//!
//! Time follows its own rules: when a load has its data, and when a store has its line, is what
//! [`memsys`](crate::memsys) says, as with one context.
//!
//! # Turns of the guest
//! The contexts of a chip share one guest. It is lent to the context whose turn it is; what another context does next,
//! a call can change only at the end of such a turn ([`Resources::until`]). A program of several processes has one guest
//! for each, and a context has that of its thread when it has its turn. Processes have memory of their own, so that
//! a store is seen by another process, where they share memory, when that one has its turn next.

use std::ops::ControlFlow;

use hps_isa::bus::Bus;
use hps_isa::editor::DecodeEditor;
use hps_isa::hart::NO_RESERVATION;
use hps_isa::inst::{Inst, Op};
use hps_sim_core::machine::Stop;

use super::context::Halt;
use super::rob::Slot;
use super::uop::flag;
use super::{Context, Resources};
use crate::model::{Cause, PipelineProbe};

impl<E: DecodeEditor, P: PipelineProbe> Context<E, P> {
    /// An atomic is about to execute: forgets a reservation that another context has broken.
    #[cold]
    pub(super) fn look_at_reservation(&mut self) {
        let hart = &mut self.process.thread.hart;
        let reservations = &self.process.guest.reservations;
        if hart.reservation != NO_RESERVATION
            && !reservations.is_held(self.id.processor, hart.reservation)
        {
            hart.reservation = NO_RESERVATION;
        }
    }

    /// An atomic has executed with nothing older in flight: takes effect at once.
    #[cold]
    pub(super) fn perform_atomic(&mut self, core: &Resources, slot: Slot) {
        let u = self.rob.at(slot);
        if u.has(flag::TRAP) {
            return;
        }
        let position = u.store_pos;
        self.stores_to_memory(position);
        self.tell_of_store(position);
        if P::WANTS_STORES && self.probe.wants_stores() {
            self.show_store(core.now, position);
        }
        let guest = &mut self.process.guest;
        match self.process.thread.hart.reservation {
            NO_RESERVATION => guest.reservations.drop_of(self.id.processor),
            addr => guest.reservations.take(self.id.processor, addr),
        }
    }

    /// The store at `position` reaches guest memory; the cache takes it later.
    #[inline]
    pub(super) fn stores_to_memory(&mut self, position: u64) -> bool {
        let e = self.stores.get(position);
        let (addr, data, size) = (e.addr, e.data, e.size);
        let mem = &mut self.process.mem;
        let stored = match size {
            1 => mem.store::<1>(addr, data),
            2 => mem.store::<2>(addr, data),
            4 => mem.store::<4>(addr, data),
            8 => mem.store::<8>(addr, data),
            _ => Ok(()),
        };
        stored.is_ok()
    }

    /// A store of this context has reached memory: other contexts lose their reservations there.
    #[cold]
    pub(super) fn tell_of_store(&mut self, position: u64) {
        let e = self.stores.get(position);
        if e.size > 0 {
            let (addr, size) = (e.addr, e.size);
            let reservations = &mut self.process.guest.reservations;
            reservations.stored(self.id.processor, addr, size);
        }
    }

    /// Whether the fence that is dispatched next has to wait for older stores.
    #[cold]
    pub(super) fn fence_waits(&self) -> bool {
        let fence = self.front.decoded();
        !self.stores.is_empty() && fence.is_some_and(|d| orders_stores_before_loads(&d.inst))
    }

    /// A system call has been served: it may concern other contexts, and may have left none for this one.
    #[cold]
    pub(super) fn after_call(&mut self, core: &mut Resources) {
        core.until = core.now;
        if self.process.thread.is_observer() {
            self.halted = Some(Halt::Sleeps);
            return;
        }
        if self.process.is_idle() && self.halted.is_none() {
            self.halted = Some(Halt::Idle);
        }
    }

    /// The system call has committed behind which no thread is left for this context.
    #[cold]
    pub(super) fn stop_for_idleness(&mut self, core: &mut Resources) {
        self.halted = None;
        self.empty_pipeline(core);
        core.until = core.now;
        self.rest();
    }

    /// The observer's call has committed with which it sleeps, for as many cycles as the first argument says.
    #[cold]
    pub(super) fn sleep(&mut self, core: &mut Resources) {
        self.halted = None;
        self.empty_pipeline(core);
        let argument = self.process.image.isa.first_argument();
        let cycles = self.process.thread.hart.r[usize::from(argument)];
        let until = core.now.saturating_add(cycles.max(1));
        self.fetch.redirect(self.fetch.pc, Cause::Idle, until);
        self.last_commit = core.now;
    }

    /// Empties the pipeline between two cycles: what is ready in the next one counts as ready already there.
    pub(super) fn empty_between_cycles(&mut self, core: &mut Resources) {
        self.drain_to_boundary(core);
        self.scheduler.clear_ready();
    }

    /// The operating system has the context, whose pipeline is empty, for a number of cycles, or, if that is not known
    /// yet, until the context is woken. Returns the cycle in which it goes on.
    pub(super) fn occupy(&mut self, now: u64, cycles: Option<u64>) -> u64 {
        match cycles {
            Some(cycles) => _ = self.fetch.hold(now, cycles),
            None => self.fetch.sleep(now),
        }
        self.fetch.redirect(self.fetch.pc, Cause::Idle, now);
        self.last_commit = now;
        self.fetch.held_until()
    }

    /// Whether nothing is in flight, and nothing will be before a later cycle: a sleeping observer.
    pub(super) fn is_asleep(&self, cycle: u64) -> bool {
        self.fetch.gap == Cause::Idle
            && self.fetch.stall_until > cycle
            && self.rob.is_empty()
            && self.stores.is_empty()
    }

    /// The context is idle from here on, with an empty pipeline.
    pub(super) fn rest(&mut self) {
        self.fetch.redirect(self.fetch.pc, Cause::Idle, u64::MAX);
        self.attend_at = u64::MAX;
        self.rests = true;
        // A thread may have become ready since the last one has left.
        self.process.os.note_change();
    }

    /// The context is idle, and a thread is ready for it: goes on with that from the next cycle on.
    pub(super) fn take_thread(&mut self, core: &mut Resources) -> ControlFlow<Stop> {
        self.show_all_counters(core);
        let then = self.process.take_thread(&self.editor);
        self.last_commit = core.now;
        self.rests = false;
        self.go_on(core, then)
    }

    /// The process of the context's thread has ended on another context: nothing of it goes on here.
    pub(super) fn lose_thread(&mut self, core: &mut Resources) {
        self.halted = None;
        self.empty_between_cycles(core);
        self.show_all_counters(core);
        self.process.lose_thread();
        self.rest();
    }

    /// The context looks for signals, for its turn's end and for changed code as soon as it can.
    pub(super) fn attend_soon(&mut self, core: &Resources) {
        if !self.process.is_idle() {
            self.attend_at = core.now + 1;
        }
    }

    /// Whether what this context has decoded may not be what memory holds.
    pub(super) fn has_old_code(&self) -> bool {
        !self.code.is_in_step(self.process.mem.code_epoch())
    }
}

/// Whether a fence keeps a younger load behind older stores.
fn orders_stores_before_loads(inst: &Inst) -> bool {
    /// In the immediate of `fence`: its mode, whether writes come before, and whether reads come behind it.
    const TSO: i64 = 0b1000 << 8;
    const WRITES_BEFORE: i64 = 1 << 4;
    const READS_BEHIND: i64 = 1 << 1;
    match inst.op {
        Op::Fence => {
            inst.imm & (TSO | WRITES_BEFORE | READS_BEHIND) == WRITES_BEFORE | READS_BEHIND
        }
        Op::AlphaMb => true,
        _ => false,
    }
}
